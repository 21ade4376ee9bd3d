// Shared by all tests: the device under test, and pseudorandom numbers.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <sortium/sortium.hpp>
#include <string>

#include "wrapped_device.hpp"

namespace sortium::test {

inline bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' && std::string(value) != "0";
}

// Returns the device that SORTIUM_TEST_DEVICE or else SORTIUM_DEVICE names, or the best device that
// runs kernels.
inline std::string device_spec() {
  const char* spec = std::getenv("SORTIUM_TEST_DEVICE");
  return spec != nullptr ? spec : "";
}

// The device, as if it were a GPU with sub-groups of SORTIUM_TEST_AS_GPU lanes, if that is set: so
// a CPU whose OpenCL has native sub-groups runs the algorithms for GPUs.
class AsGpu final : public WrappedDevice {
 public:
  AsGpu(std::shared_ptr<Device> real, unsigned lanes) : WrappedDevice(real), info_(real->info()) {
    info_.claimed.kind = DeviceKind::gpu;
    info_.claimed.sub_group_size = lanes;
  }
  const DeviceInfo& info() const override { return info_; }

 private:
  DeviceInfo info_;
};

inline const std::shared_ptr<Device>& test_device() {
  // Never destroyed: at exit, some drivers are gone before it.
  static const auto& device = *new std::shared_ptr<Device>([] {
    auto found = find_device(device_spec(), true);
    if (const char* lanes = std::getenv("SORTIUM_TEST_AS_GPU"); lanes != nullptr)
      found = std::make_shared<AsGpu>(std::move(found), std::stoi(lanes));
    fmt::print("device under test: {} {} ({})\n", found->info().id, found->info().name,
               found->info().language);
    std::fflush(stdout);
    return found;
  }());
  return device;
}

// True if the device is cpu:0, which has only its own algorithms.
inline bool on_host() { return test_device()->info().claimed.backend == Backend::host; }

// Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (2014): the same numbers on
// every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t limit) { return next() % limit; }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

// The seed of this run's random inputs: SORTIUM_TEST_SEED, or a different one in each run. It is
// printed, so that a failure can be repeated.
inline std::uint64_t run_seed() {
  static const std::uint64_t seed = [] {
    const char* text = std::getenv("SORTIUM_TEST_SEED");
    const std::uint64_t drawn =
        text != nullptr ? std::strtoull(text, nullptr, 0)
                        : std::uint64_t{std::random_device{}()} << 32 | std::random_device{}();
    fmt::print("SORTIUM_TEST_SEED={:#x}\n", drawn);
    std::fflush(stdout);
    return drawn;
  }();
  return seed;
}

// True for every second number, by the seed. Usual runs of long tests have these cases, and those
// with SORTIUM_TEST_FULL all.
inline bool is_drawn(std::uint64_t number) {
  return is_set("SORTIUM_TEST_FULL") || (number + run_seed()) % 2 == 0;
}

}  // namespace sortium::test
