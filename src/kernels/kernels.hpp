// Floor 2: from a kernel source and the types asked for to built kernels; and what a probe found of
// a device.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <sortium/device.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sortium::kernels {

// A kernel source file, embedded when Sortium was built.
struct Source {
  std::string_view name;  // "lsd.cl"
  std::string_view text;
};

// What a kernel is specialised for. Grows a list of #define lines.
class Defines {
 public:
  template <class T>
  Defines& set(std::string_view name, const T& value) {
    text_ += fmt::format("#define {} {}\n", name, value);
    return *this;
  }
  // RESIDENT: how many work-groups of so many work-items a compute unit is to have room for, which
  // bounds their registers.
  Defines& resident(unsigned groups, unsigned work_group) {
    resident_work_items_ = groups * work_group;
    return set("RESIDENT", groups);
  }
  [[nodiscard]] unsigned resident_work_items() const {
    return resident_work_items_;
  }  // 0: not said
  // What primitives.cl needs to know of the records.
  Defines& problem(const Problem& problem);
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
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
// source.
[[nodiscard]] std::string full_text(const Capabilities& capabilities, const Source& source,
                                    const Defines& defines);

// The module, from memory, from the cache on disk, or from the device's compiler. Several threads
// and processes may ask at once. Throws Error(build_failed) with the compiler's log.
[[nodiscard]] std::shared_ptr<Module> build(Device& device, const Capabilities& capabilities,
                                            const Source& source, const Defines& defines);
// Of several files, each of which needs those before it.
[[nodiscard]] std::shared_ptr<Module> build_joined(Device& device, const Capabilities& capabilities,
                                                   const std::vector<Source>& sources,
                                                   const Defines& defines);

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
