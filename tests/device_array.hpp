// An array on the device under test, with given initial contents. The host can read it back.
#pragma once

#include <vector>

#include "support.hpp"

namespace sortium::test {

template <class T>
class DeviceArray {
 public:
  DeviceArray(Queue& queue, const std::vector<T>& from)
      : queue_(queue),
        count_(from.size()),
        buffer_(queue.device().allocate(from.size() * sizeof(T))) {
    queue.write(buffer_->memory(), from.data(), count_ * sizeof(T));
  }
  DeviceArray(Queue& queue, std::size_t count, T value = T(0xa5a5a5a5a5a5a5a5u))
      : DeviceArray(queue, std::vector<T>(count, value)) {}

  [[nodiscard]] std::vector<T> read() const {
    std::vector<T> out(count_);
    queue_.read(out.data(), buffer_->memory(), count_ * sizeof(T));
    return out;
  }
  [[nodiscard]] Memory memory() const { return buffer_->memory(); }
  operator Memory() const { return memory(); }

 private:
  Queue& queue_;
  std::size_t count_;
  std::unique_ptr<Buffer> buffer_;
};

}  // namespace sortium::test
