// The library on a context and a queue that the caller has made.
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "expect_error.hpp"
#include "support.hpp"

namespace sortium::test {
namespace {

constexpr auto bad = ErrorCode::invalid_argument;

class OpenCl : public testing::Test {
 protected:
  void SetUp() override {
    if (test_device()->info().claimed.backend != Backend::opencl)
      GTEST_SKIP() << "the device under test is CUDA's";
    const auto theirs = static_cast<cl_context>(test_device()->native_context());
    ASSERT_EQ(clGetContextInfo(theirs, CL_CONTEXT_DEVICES, sizeof device, &device, nullptr),
              CL_SUCCESS);
    context = make_context();
    queue = make_queue(context);
  }
  ~OpenCl() override {
    if (queue != nullptr) clReleaseCommandQueue(queue);
    if (context != nullptr) clReleaseContext(context);
  }
  [[nodiscard]] cl_context make_context() const {
    cl_int error = CL_SUCCESS;
    const auto out = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
    EXPECT_EQ(error, CL_SUCCESS);
    return out;
  }
  [[nodiscard]] cl_command_queue make_queue(cl_context of,
                                            cl_command_queue_properties properties = 0) const {
    cl_int error = CL_SUCCESS;
    const auto out = clCreateCommandQueue(of, device, properties, &error);
    EXPECT_EQ(error, CL_SUCCESS);
    return out;
  }

  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
};

TEST_F(OpenCl, SortsTheCallersBuffers) {
  const auto wrapped = wrap_opencl(context, queue);
  EXPECT_EQ(wrapped->native(), queue);
  EXPECT_EQ(wrapped->device().native_context(), context);

  std::vector<std::uint32_t> keys(1009);
  Random random(5);
  for (auto& k : keys) k = static_cast<std::uint32_t>(random.next());
  const std::size_t bytes = keys.size() * 4;
  const Plan plan(wrapped->device().shared_from_this(), {.count = keys.size()});
  const auto make = [&](std::size_t size) {
    return clCreateBuffer(context, CL_MEM_READ_WRITE, size, nullptr, nullptr);
  };
  const cl_mem in = make(bytes), out = make(bytes + 4096), scratch = make(plan.scratch_bytes());
  // A sub-buffer of the caller, and an offset into it.
  const cl_buffer_region region{2048, bytes + 2048};
  cl_int error = CL_SUCCESS;
  const cl_mem part =
      clCreateSubBuffer(out, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  ASSERT_EQ(clEnqueueWriteBuffer(queue, in, CL_FALSE, 0, bytes, keys.data(), 0, nullptr, nullptr),
            CL_SUCCESS);
  plan.run(*wrapped, {.keys_in = {in},
                      .keys_out = {part, 1024},
                      .values_in = {},
                      .values_out = {},
                      .scratch = {scratch}});
  std::vector<std::uint32_t> got(keys.size());
  ASSERT_EQ(
      clEnqueueReadBuffer(queue, out, CL_TRUE, 2048 + 1024, bytes, got.data(), 0, nullptr, nullptr),
      CL_SUCCESS);
  std::ranges::sort(keys);
  EXPECT_EQ(got, keys);

  // The queue has no profiling, so profile() must fail.
  expect_error(
      [&] {
        (void)plan.profile(*wrapped, {.keys_in = {in}, .keys_out = {out}, .scratch = {scratch}});
      },
      ErrorCode::unsupported, {"PROFILING"});
  for (const auto m : {in, part, out, scratch}) clReleaseMemObject(m);
}

TEST_F(OpenCl, OutlivesTheCallersHandles) {
  const auto wrapped = wrap_opencl(context, queue);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  queue = nullptr;
  context = nullptr;
  const auto buffer = wrapped->device().allocate(64);
  std::uint32_t there = 42, back = 0;
  wrapped->write(buffer->memory(), &there, sizeof there);
  wrapped->read(&back, buffer->memory(), sizeof back);
  EXPECT_EQ(back, there);
}

TEST_F(OpenCl, BadHandlesAreRefused) {
  expect_error([&] { (void)wrap_opencl(nullptr, queue); }, bad, {"cl_context"});
  expect_error([&] { (void)wrap_opencl(context, nullptr); }, bad, {"cl_command_queue"});

  const auto other_context = make_context();
  const auto other_queue = make_queue(other_context);
  expect_error([&] { (void)wrap_opencl(context, other_queue); }, bad, {"another context"});
  clReleaseCommandQueue(other_queue);
  clReleaseContext(other_context);

  cl_command_queue_properties can = 0;
  clGetDeviceInfo(device, CL_DEVICE_QUEUE_PROPERTIES, sizeof can, &can, nullptr);
  if (can & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) {
    const auto disorderly = make_queue(context, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    expect_error([&] { (void)wrap_opencl(context, disorderly); }, bad, {"out of order"});
    clReleaseCommandQueue(disorderly);
  }
}

TEST_F(OpenCl, APlanIsForOneContext) {
  const auto wrapped = wrap_opencl(context, queue);
  const Plan plan(test_device(), {.count = 10});
  const auto memory = test_device()->allocate(4096),
             scratch = test_device()->allocate(plan.scratch_bytes());
  const Memory m = memory->memory().slice(0, 40);
  expect_error(
      [&] {
        plan.run(*wrapped, {m, m, {}, {}, scratch->memory()});
      },
      bad, {"queue", "another"});
}

TEST(Cuda, SortsOnTheCallersStream) {
  const auto& device = test_device();
  if (device->info().claimed.backend != Backend::cuda)
    GTEST_SKIP() << "the device under test is not CUDA's";
  const auto own = device->make_queue();
  const auto wrapped = wrap_cuda(device->native_context(), own->native());
  EXPECT_EQ(wrapped->native(), own->native());
  std::vector<std::uint32_t> keys{3, 1, 2}, got(3);
  const Plan plan(wrapped->device().shared_from_this(), {.count = keys.size()});
  const auto buffer = wrapped->device().allocate(12),
             scratch = wrapped->device().allocate(plan.scratch_bytes());
  wrapped->write(buffer->memory(), keys.data(), 12);
  plan.run(*wrapped, {buffer->memory(), buffer->memory(), {}, {}, scratch->memory()});
  own->read(got.data(), buffer->memory(), 12);
  EXPECT_EQ(got, (std::vector<std::uint32_t>{1, 2, 3}));
}

TEST(Cuda, ANullContextIsRefused) {
  expect_error([] { (void)wrap_cuda(nullptr, nullptr); }, bad, {"cu_context"});
}

}  // namespace
}  // namespace sortium::test
