// What all commands of the program share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <sortium/core.hpp>
#include <stdexcept>
#include <string>

#include "protocol/basics.hpp"

namespace app {

enum Exit : int {
  exit_success = 0,
  exit_wrong = 1,    // a check said no, or a result is not what it should be
  exit_usage = 2,    // the command line or an input file
  exit_runtime = 3,  // the device, the disk, memory
};

// An error of the program itself; the library's are sortium::Error.
class Failure : public std::runtime_error {
 public:
  Failure(Exit code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] Exit code() const { return code_; }

 private:
  Exit code_;
};

// Host memory for records: on a page boundary, so that a CPU device can use it where it lies, and
// not set to zero first, which would cost as much as reading it.
class Bytes {
 public:
  Bytes() = default;
  explicit Bytes(std::uint64_t size) : size_(size) {
    constexpr std::uint64_t page = 4096;
    data_.reset(static_cast<std::byte*>(std::aligned_alloc(page, (size / page + 1) * page)));
    if (!data_) throw std::bad_alloc();
  }
  [[nodiscard]] std::byte* data() { return data_.get(); }
  [[nodiscard]] const std::byte* data() const { return data_.get(); }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  void shrink(std::uint64_t size) { size_ = size; }

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte, Free> data_;
  std::uint64_t size_ = 0;
};

// The raw bits of element `i` of 1, 2, 4 or 8 bytes.
[[nodiscard]] inline std::uint64_t element(const void* data, unsigned width, std::uint64_t i) {
  return with_word(width, [&](auto word) -> std::uint64_t {
    return static_cast<const decltype(word)*>(data)[i];
  });
}

// What decides the place of a key in the problem's order: its order_bits, within the bit range.
[[nodiscard]] inline std::uint64_t rank(const sortium::Problem& p, std::uint64_t key) {
  return sortium::KeyRank(p)(key);
}

[[nodiscard]] std::string key_type_names();  // "u32, i32, ..."

}  // namespace app
