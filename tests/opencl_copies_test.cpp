// Tests the copies of OpenCL devices that have memory of their own, on a CPU that says so
// (discrete_opencl.cpp): every byte arrives, and the driver copies memory that it has mapped.
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "device/staging.hpp"
#include "support.hpp"

namespace sortium::test {
namespace {

// A function of the layer.
template <class F>
F* layer(const char* name) {
  static void* const library = ::dlopen(std::getenv("OPENCL_LAYERS"), RTLD_NOW | RTLD_NOLOAD);
  auto* const function = library == nullptr ? nullptr : ::dlsym(library, name);
  if (function == nullptr)
    throw std::runtime_error(fmt::format("no {}: is OPENCL_LAYERS set as ctest does?", name));
  return reinterpret_cast<F*>(function);
}
std::uint64_t pageable_copies() {
  return layer<std::uint64_t()>("discrete_opencl_pageable_copies")();
}

// Arrays of `bytes` bytes together, behind one another.
struct Arrays {
  Arrays(std::uint64_t bytes, unsigned count) : data(bytes) {
    for (unsigned i = 0; i < count; ++i) {
      const std::uint64_t first = bytes * i / count, end = bytes * (i + 1) / count;
      sources.push_back({&data[first], end - first});
      targets.push_back({&data[first], end - first});
    }
  }
  std::vector<std::byte> data;
  std::vector<HostSource> sources;
  std::vector<HostTarget> targets;
};

class OpenClCopies : public testing::Test {
 protected:
  void SetUp() override {
    for (const auto& device : devices())
      if (device_ == nullptr && device->info().claimed.backend == Backend::opencl) device_ = device;
    if (device_ == nullptr) GTEST_SKIP() << "there is no OpenCL device";
    ASSERT_EQ(device_->info().claimed.kind, DeviceKind::gpu) << "OpenCL's loader has no layers";
  }

  void copy_there_and_back(std::uint64_t bytes, unsigned count) const {
    SCOPED_TRACE(fmt::format("{} bytes in {} arrays", bytes, count));
    Arrays from(bytes, count), to(bytes, count + 2);
    Random random(bytes);
    for (auto& b : from.data) b = static_cast<std::byte>(random.next());
    const auto queue = device_->make_queue();
    const auto buffer = device_->allocate(bytes + 128);
    queue->fill(buffer->memory(), 0x5a5a5a5a, bytes / 4 * 4 + 128);
    const Memory memory = buffer->memory().slice(64, bytes);
    queue->write_all(memory, from.sources);
    queue->read_all(to.targets, memory);
    EXPECT_TRUE(from.data == to.data);
    std::byte margin{};
    for (const std::uint64_t at : {std::uint64_t{63}, bytes + 64}) {
      queue->read(&margin, buffer->memory().slice(at, 1), 1);
      EXPECT_EQ(margin, std::byte{0x5a}) << at;
    }
  }

  std::shared_ptr<Device> device_;
};

TEST_F(OpenClCopies, MoveEveryByte) {
  for (const std::uint64_t bytes :
       {std::uint64_t{1}, Staging::least_bytes - 1, Staging::least_bytes, Staging::least_bytes + 1,
        9 * Staging::slot_bytes + 5})
    for (const unsigned count : {1u, 4u}) copy_there_and_back(bytes, count);
}

TEST_F(OpenClCopies, LetTheDriverCopyOnlyWhatItHasMapped) {
  const auto queue = device_->make_queue();
  for (const std::uint64_t bytes : {Staging::least_bytes - 1, Staging::least_bytes}) {
    Arrays array(bytes, 1);
    const auto buffer = device_->allocate(bytes);
    const auto before = pageable_copies();
    queue->write(buffer->memory(), array.data.data(), bytes);
    queue->read(array.data.data(), buffer->memory(), bytes);
    EXPECT_EQ(pageable_copies() - before, bytes < Staging::least_bytes ? 2u : 0u) << bytes;
  }
}

// One queue is written while another is read, as in a sort in ranges.
TEST_F(OpenClCopies, InBothDirectionsAtOnce) {
  std::thread other([&] { copy_there_and_back(Staging::slot_bytes * 10 + 3, 7); });
  copy_there_and_back(Staging::slot_bytes * 11 + 9, 5);
  other.join();
}

// A copy sees what the queue has done before.
TEST_F(OpenClCopies, KeepTheOrderOfTheirQueue) {
  constexpr std::uint64_t bytes = 8 * Staging::slot_bytes;
  const auto queue = device_->make_queue();
  const auto first = device_->allocate(bytes), second = device_->allocate(bytes);
  for (unsigned round = 1; round <= 3; ++round) {
    Arrays from(bytes, 1), to(bytes, 1);
    std::ranges::fill(from.data, static_cast<std::byte>(round));
    queue->fill(first->memory(), 0, bytes);
    queue->write(first->memory(), from.data.data(), bytes);
    queue->copy(second->memory(), first->memory(), bytes);
    queue->read(to.data.data(), second->memory(), bytes);
    EXPECT_TRUE(from.data == to.data) << "round " << round;
  }
}

TEST_F(OpenClCopies, ThrowWhenACopyFailsAndWorkAfterwards) {
  auto* const fail_at = layer<void(std::uint64_t)>("discrete_opencl_fail_at");
  constexpr std::uint64_t bytes = 8 * Staging::slot_bytes;
  Arrays array(bytes, 1);
  const auto queue = device_->make_queue();
  const auto buffer = device_->allocate(bytes);
  for (const std::uint64_t n : {1, 2, 5, 8}) {
    fail_at(n);
    EXPECT_THROW(queue->write(buffer->memory(), array.data.data(), bytes), Error) << n;
    fail_at(n);
    EXPECT_THROW(queue->read(array.data.data(), buffer->memory(), bytes), Error) << n;
    fail_at(0);
    copy_there_and_back(bytes, 3);
  }
}

// A device that wraps the caller's context returns its blocks when its last queue ends.
TEST_F(OpenClCopies, UnmapTheirBlocks) {
  auto* const mapped = layer<std::uint64_t()>("discrete_opencl_mapped");
  const auto context = static_cast<cl_context>(device_->native_context());
  cl_device_id id = nullptr;
  ASSERT_EQ(clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof id, &id, nullptr), CL_SUCCESS);
  const auto theirs = clCreateCommandQueue(context, id, 0, nullptr);
  const auto before = mapped();
  {
    const auto queue = wrap_opencl(context, theirs);
    Arrays array(Staging::least_bytes, 1);
    const auto buffer = queue->device().allocate(Staging::least_bytes);
    queue->write(buffer->memory(), array.data.data(), Staging::least_bytes);
    EXPECT_GT(mapped(), before);
  }
  EXPECT_EQ(mapped(), before);
  clReleaseCommandQueue(theirs);
}

}  // namespace
}  // namespace sortium::test
