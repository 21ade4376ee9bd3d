// The files of a compiler that is a program of its own.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace sortium::test {

inline std::string environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value ? value : otherwise;
}

// A temporary folder with a kernel's source, and names for what the compiler writes.
class CompilerFiles {
 public:
  explicit CompilerFiles(const std::string& text) { std::ofstream(source) << text; }
  ~CompilerFiles() { std::filesystem::remove_all(folder_); }
  CompilerFiles(const CompilerFiles&) = delete;
  CompilerFiles& operator=(const CompilerFiles&) = delete;

  [[nodiscard]] std::vector<std::byte> machine_code() const {
    const auto text = contents(code);
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
  }
  [[nodiscard]] static std::string contents(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  const std::filesystem::path folder_ = [] {
    std::string name =
        (std::filesystem::temp_directory_path() / "sortium-compiler-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("cannot make " + name);
    return name;
  }();

 public:
  const std::filesystem::path source = folder_ / "kernel.cl", code = folder_ / "kernel.bin",
                              log = folder_ / "log";
};

}  // namespace sortium::test
