// Writes records to many places of memory at once, a cache line at a time and past the caches. A
// store of each record would first read its line, and would need more TLB entries than there are.
#pragma once

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sortium::counting {

// Lines of one output array, one for each of `places` places that advance from record to record.
template <class T, std::size_t places>
class Lines {
  static constexpr std::size_t line_bytes = 64, length = line_bytes / sizeof(T);  // of a line

 public:
  explicit Lines(T* out)
      : out_(out), shift_(reinterpret_cast<std::uintptr_t>(out) % line_bytes / sizeof(T)) {}

  // Writes `value` as record `at` of the output. The place's records come one after the other, and
  // its first one is record `begin`.
  void put(std::size_t place, std::uint64_t at, std::uint64_t begin, T value) {
    const std::size_t slot = (at + shift_) % length;
    lines_[place][slot] = value;
    if (slot == length - 1) flush(place, at + 1, begin);
  }
  // Writes the records of the place's last line. The place ends before record `end`.
  void finish(std::size_t place, std::uint64_t end, std::uint64_t begin) {
    const std::uint64_t some = std::min<std::uint64_t>((end + shift_) % length, end - begin);
    copy(place, end - some, some);
  }

 private:
  void flush(std::size_t place, std::uint64_t end, std::uint64_t begin) {
    if (end - begin < length) return copy(place, begin, end - begin);
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::FixedTag<T, 16 / sizeof(T)> d;
    for (std::size_t i = 0; i < length; i += 16 / sizeof(T))
      hn::Stream(hn::Load(d, &lines_[place][i]), d, out_ + end - length + i);
  }
  // The records are the first of the output's line, or its last ones.
  void copy(std::size_t place, std::uint64_t begin, std::uint64_t count) {
    std::memcpy(out_ + begin, &lines_[place][(begin + shift_) % length], count * sizeof(T));
  }

  T* out_;
  std::size_t shift_;
  alignas(line_bytes) T lines_[places][length];
};

}  // namespace sortium::counting
