// A device whose n-th call fails: allocation, build, launch or copy.
#pragma once

#include <atomic>

#include "wrapped_device.hpp"

namespace sortium::test {

class FaultyDevice final : public WrappedDevice {
 public:
  using WrappedDevice::WrappedDevice;

  // Makes the n-th call from now on fail, or all calls from that one on, as if the device were
  // lost.
  void fail(std::uint64_t n, bool lost) {
    failed_ = false;
    lost_ = lost;
    until_failure_ = n;
  }
  // Ends the effect of fail(). Returns true if a call failed.
  bool stop_failing() {
    until_failure_ = 0;
    return failed_.exchange(false);
  }

 private:
  void pass(ErrorCode code, const std::string& what) override {
    std::uint64_t left = until_failure_.load();
    while (left != 0 &&
           !until_failure_.compare_exchange_weak(left, left == 1 && lost_ ? 1 : left - 1)) {
    }
    if (left != 1) return;
    failed_ = true;
    throw Error(code, "injected: " + what + " failed");
  }

  std::atomic<std::uint64_t> until_failure_{0};
  std::atomic<bool> failed_{false}, lost_{false};
};

}  // namespace sortium::test
