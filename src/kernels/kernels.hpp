// Floor 2: builds kernels from a source and the problem's types; probes a device's capabilities.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <map>
#include <memory>
#include <sortium/capabilities.hpp>
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

// The parameters for which the kernels of a module are compiled, as lines of #define. A source
// declares each parameter with a line PARAMETER(NAME). build() throws if a parameter is missing or
// unknown.
class Defines {
 public:
  // Sets a parameter of the source. Throws Error(invalid_argument) if it is set already.
  template <class T>
  Defines& set(std::string_view parameter, const T& value) {
    note_parameter(parameter);
    return define(parameter, value);
  }
  // Sets the types and the order of the records, which primitives.cl needs.
  Defines& problem(const Problem& problem);
  // Sets RESIDENT: at least `groups` work-groups of `work_group` work-items must share a compute
  // unit. This limits the registers of a work-item.
  Defines& resident(unsigned groups, unsigned work_group) {
    resident_work_items_ = groups * work_group;
    return set("RESIDENT", groups);
  }
  // Sets the bytes that a launch provides for the kernel's LOCAL_STRUCT(type, …). The kernel's
  // compiler refuses a structure that is larger.
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

// Bytes of index_t, the kernels' type for counts and positions of `count` records.
[[nodiscard]] unsigned index_bytes(std::uint64_t count);
// Bytes of local memory that wg_scan_add needs for `work_items` work-items: SCAN_WORDS(work_items)
// words of index_t.
[[nodiscard]] std::uint64_t scan_bytes(const Problem& problem, const Capabilities& capabilities,
                                       std::uint64_t work_items);
// Bytes of local memory that a work-group needs for ranking: SG_RANK_WORDS(bins) words of u32 for
// each of its sub-groups.
[[nodiscard]] std::uint64_t rank_bytes(const Capabilities& capabilities, std::uint64_t work_items,
                                       std::uint64_t bins);

// The whole text for the device's compiler: defines, the device's dialect, primitives, then the
// sources. Each source may use those before it. Throws the errors of build(), except those of the
// compiler.
[[nodiscard]] std::string full_text(const Capabilities& capabilities,
                                    const std::vector<Source>& sources, const Defines& defines);

// Returns the module of the sources: from memory, from the cache on disk, or from the device's
// compiler. Several threads and processes may call it concurrently. Throws Error(build_failed) with
// the compiler's log, or naming the kernel or parameter for which sources and defines do not match.
[[nodiscard]] std::shared_ptr<Module> build(Device& device, const Capabilities& capabilities,
                                            const std::vector<Source>& sources,
                                            const Defines& defines);
[[nodiscard]] inline std::shared_ptr<Module> build(Device& device, const Capabilities& capabilities,
                                                   const Source& source, const Defines& defines) {
  return build(device, capabilities, std::vector{source}, defines);
}

// A directory of files. Several processes may write concurrently, and may be killed while they
// write: an entry appears by rename, carries its key and a checksum, and is ignored if it is
// incomplete. If the directory cannot be written, nothing is kept and no call fails.
namespace cache {
// The cache directory: SORTIUM_CACHE_DIR ("off" or empty: no cache), else $XDG_CACHE_HOME/sortium,
// else ~/.cache/sortium. Empty: no cache.
[[nodiscard]] std::string directory();
[[nodiscard]] bool load(const std::string& key, std::vector<std::byte>& payload);
void store(const std::string& key, std::span<const std::byte> payload);
[[nodiscard]] std::string file_of(const std::string& key);  // path of the key's entry; for tests
}  // namespace cache

}  // namespace sortium::kernels
