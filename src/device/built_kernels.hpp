// Kernels that were compiled when the package was built, so that the usual sorts need no NVRTC. A
// file for each architecture lies beside the library. Kernels are found by the hash of their
// complete source, so a kernel of another version is never used by mistake.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sortium::cuda {

// What kernels are compiled for: the machine code of sm_90, or PTX, which the drivers of later
// architectures compile.
struct Target {
  int arch = 0;  // 90 for sm_90
  bool ptx = false;
  [[nodiscard]] std::string name() const;  // "sm_90", "ptx_90"
};

class BuiltKernels {
 public:
  // The kernels that run on compute capability `arch`: machine code of that architecture or of an
  // earlier one with the same first digit; else PTX. Looks in SORTIUM_BUILT_KERNELS ("off":
  // nowhere), else beside the library and where it is installed. A file that other users could have
  // written, or that is damaged, is ignored with a warning. nullptr: there are none.
  [[nodiscard]] static std::unique_ptr<const BuiltKernels> find_for(int arch);

  // Opens one file. Throws Error(invalid_argument) saying why the file is not trusted, or that it
  // is damaged.
  explicit BuiltKernels(const std::string& path);
  ~BuiltKernels();
  BuiltKernels(const BuiltKernels&) = delete;
  BuiltKernels& operator=(const BuiltKernels&) = delete;

  // Returns the code compiled from `source`, a text that kernels::full_text returned. Empty if the
  // file does not contain it.
  [[nodiscard]] std::vector<std::byte> find(std::string_view source) const;
  [[nodiscard]] std::size_t count() const;

 private:
  struct File;
  std::unique_ptr<File> file_;
};

// True for machine code (an ELF file), false for PTX.
[[nodiscard]] bool is_machine_code(std::span<const std::byte> code);

// Writes a file that BuiltKernels can read. `kernels` are pairs of source and code, for one target.
// Similar codes are compressed together. Throws Error(device_failed) if the file cannot be written.
void write_built_kernels(
    const std::string& path,
    const std::vector<std::pair<std::string, std::vector<std::byte>>>& kernels);

}  // namespace sortium::cuda
