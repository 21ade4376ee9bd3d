// Floor 2: from a kernel source and the types asked for to built kernels; and what a probe found of
// a device.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <map>
#include <memory>
#include <sortium/device.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sortium::kernels {

// A kernel source file, embedded when Sortium was built.
struct Source {
  std::string_view name;  // "lsd.cl"
  std::string_view text;
};

// What the kernels of a module are specialised for: a list of #define lines. A source declares each
// parameter with a line PARAMETER(NAME); build() throws if one is missing or unknown.
class Defines {
 public:
  // A parameter of the source. Throws Error(invalid_argument) if it is set already.
  template <class T>
  Defines& set(std::string_view parameter, const T& value) {
    note_parameter(parameter);
    return define(parameter, value);
  }
  // The types and the order of the records, which primitives.cl needs.
  Defines& problem(const Problem& problem);
  // RESIDENT: at least `groups` work-groups of `work_group` work-items share a compute unit, which
  // bounds their registers.
  Defines& resident(unsigned groups, unsigned work_group) {
    resident_work_items_ = groups * work_group;
    return set("RESIDENT", groups);
  }
  // The bytes that a launch provides for the kernel's LOCAL_STRUCT(type, …). The kernel's compiler
  // refuses a structure that is larger.
  Defines& local_struct(std::string_view type, std::uint64_t bytes);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::vector<std::string>& parameters() const { return parameters_; }
  // Work-items that share a compute unit; 0: resident() was not called.
  [[nodiscard]] unsigned resident_work_items() const { return resident_work_items_; }
  // The bytes of a LOCAL_STRUCT; 0: local_struct() was not called for it.
  [[nodiscard]] unsigned local_bytes(std::string_view type) const;

 private:
  template <class T>
  Defines& define(std::string_view name, const T& value) {
    text_ += fmt::format("#define {} {}\n", name, value);
    return *this;
  }
  void note_parameter(std::string_view name);

  std::string text_;
  std::vector<std::string> parameters_;
  std::map<std::string, unsigned, std::less<>> local_bytes_;
  unsigned resident_work_items_ = 0;
};

// Bytes of the type that counts and addresses `count` records in kernels (index_t).
[[nodiscard]] unsigned index_bytes(std::uint64_t count);
// Bytes of the local memory that wg_scan_add wants for `work_items`: SCAN_WORDS of index_t.
[[nodiscard]] std::uint64_t scan_bytes(const Problem& problem, const Capabilities& capabilities,
                                       std::uint64_t work_items);
// Bytes of the local memory in which a work-group's sub-groups rank: SG_RANK_WORDS(bins) of u32 for
// each.
[[nodiscard]] std::uint64_t rank_bytes(const Capabilities& capabilities, std::uint64_t work_items,
                                       std::uint64_t bins);

// The whole text that a device compiler gets: defines, the dialect for the device, primitives, the
// sources, each of which may use those before it. Throws as build() does, but for the compiler.
[[nodiscard]] std::string full_text(const Capabilities& capabilities,
                                    const std::vector<Source>& sources, const Defines& defines);

// The module of the sources, from memory, from the cache on disk, or from the device's compiler.
// Several threads and processes may call it at once. Throws Error(build_failed) with the compiler's
// log, or naming the kernel or parameter where sources and defines do not match.
[[nodiscard]] std::shared_ptr<Module> build(Device& device, const Capabilities& capabilities,
                                            const std::vector<Source>& sources,
                                            const Defines& defines);
[[nodiscard]] inline std::shared_ptr<Module> build(Device& device, const Capabilities& capabilities,
                                                   const Source& source, const Defines& defines) {
  return build(device, capabilities, std::vector{source}, defines);
}

// A directory of files that survive being written by several processes at once, and processes that
// are killed while they write: entries appear by rename, carry their key and a checksum, and are
// ignored where they are not whole. Best effort: where the directory cannot be written, nothing is
// kept.
namespace cache {
// SORTIUM_CACHE_DIR ("off" or empty: none), else $XDG_CACHE_HOME/sortium, else ~/.cache/sortium.
// Empty: disabled.
[[nodiscard]] std::string directory();
[[nodiscard]] bool load(const std::string& key, std::vector<std::byte>& payload);
void store(const std::string& key, std::span<const std::byte> payload);
[[nodiscard]] std::string file_of(const std::string& key);  // its path; for tests
}  // namespace cache

}  // namespace sortium::kernels
