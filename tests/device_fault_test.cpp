// Makes every call of a device fail, once or from that call on: allocations, builds, launches,
// copies. The sort must then throw that error or work without the call. Its input must not change,
// nothing may leak, and the next sort must work. The same for launches of sorts of host memory in
// place by a CPU through OpenCL, which reads that memory itself.
#define SORTIUM_OPENCL_API_CPP  // the names of the entry points themselves
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <ostream>
#include <sortium/records.hpp>

#include "device/opencl_api.hpp"
#include "faulty_device.hpp"
#include "support.hpp"

namespace sortium::test {
namespace {

struct Kind {
  const char* name;
  Problem problem;
  std::string algorithm = "auto";
};
void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

const std::vector<Kind>& kinds() {
  constexpr std::uint64_t n = 20'000;
  static const std::vector<Kind> all{
      {"keys", {.count = n}},
      {"values", {.count = n, .payload = Payload::values, .value_bytes = 8}},
      {"argsort", {.key = KeyType::u64, .count = n, .payload = Payload::positions}},
      {"merge", {.count = n}, "merge"},
      {"segments", {.count = n, .segments = 3}},
      {"first", {.count = n, .limit = 100}},
  };
  return all;
}

class DeviceFaults : public ::testing::TestWithParam<std::tuple<Kind, bool>> {};

// One sort. Its keys are in memory that cannot fail.
class Sort {
 public:
  Sort(std::shared_ptr<FaultyDevice> device, const Kind& kind)
      : device_(std::move(device)),
        kind_(kind),
        real_(device_->real().make_queue()),
        key_bytes_(kind.problem.count * info(kind.problem.key).bytes),
        keys_(key_bytes_) {
    Random random(1);
    for (auto& b : keys_) b = static_cast<std::byte>(random.next());
    keys_in_ = device_->real().allocate(key_bytes_);
    real_->write(keys_in_->memory(), keys_.data(), key_bytes_);
  }

  // Returns the keys or positions.
  std::vector<std::byte> run() {
    const Problem& p = kind_.problem;
    const Plan plan(device_, p, {.algorithm = kind_.algorithm});
    const auto queue = device_->make_queue();
    const std::uint64_t values = p.payload == Payload::none ? 0 : p.count * p.value_bytes;
    const auto keys_out = device_->allocate(key_bytes_);
    const auto values_in = device_->allocate(values + 16),
               values_out = device_->allocate(values + 16);
    const auto scratch = device_->allocate(plan.scratch_bytes() + 16);
    const auto offsets = device_->allocate(64);
    const std::uint32_t ends[] = {0, 5000, 5000, static_cast<std::uint32_t>(p.count)};
    queue->write(offsets->memory(), ends, sizeof ends);
    if (values != 0) queue->fill(values_in->memory(), 7, values);
    Operands o{.keys_in = keys_in_->memory(), .keys_out = keys_out->memory()};
    o.scratch = scratch->memory();
    if (p.payload == Payload::values) o.values_in = values_in->memory();
    if (p.payload != Payload::none) o.values_out = values_out->memory();
    if (p.segments != 0) o.offsets = offsets->memory();
    plan.run(*queue, o);
    queue->finish();
    std::vector<std::byte> out(records_out(p) * info(p.key).bytes);
    queue->read(out.data(), keys_out->memory(), out.size());
    return out;
  }

  bool input_is_as_it_was() {
    std::vector<std::byte> now(key_bytes_);
    real_->finish();
    real_->read(now.data(), keys_in_->memory(), key_bytes_);
    return now == keys_;
  }

 private:
  std::shared_ptr<FaultyDevice> device_;
  const Kind& kind_;
  std::unique_ptr<Queue> real_;
  std::uint64_t key_bytes_;
  std::vector<std::byte> keys_;
  std::unique_ptr<Buffer> keys_in_;
};

TEST_P(DeviceFaults, EveryCall) {
  const auto& [kind, lost] = GetParam();
  const auto sorted = Sort(std::make_shared<FaultyDevice>(test_device()), kind).run();

  std::uint64_t n = 1, survived = 0;
  for (;; ++n) {
    // A new device each time, so that no kernels are built yet.
    const auto device = std::make_shared<FaultyDevice>(test_device());
    Sort sort(device, kind);
    device->fail(n, lost);
    std::string error;
    std::vector<std::byte> out;
    try {
      out = sort.run();
    } catch (const Error& e) {
      error = e.what();
    }
    const bool failed = device->stop_failing();
    EXPECT_EQ(device->buffers(), 0) << n;
    EXPECT_TRUE(sort.input_is_as_it_was()) << n;
    if (!error.empty()) {
      ASSERT_TRUE(failed);
      EXPECT_NE(error.find("injected"), error.npos) << error;
    } else {
      EXPECT_TRUE(out == sorted) << "wrong result after failure of call " << n;
      if (!failed) break;
      ++survived;
    }
    EXPECT_TRUE(sort.run() == sorted) << "the next sort, after failure of call " << n;
    if (HasFailure()) break;
  }
  fmt::print("{}: {} calls, of which {} were done without\n", kind.name, n - 1, survived);
}

INSTANTIATE_TEST_SUITE_P(Table, DeviceFaults,
                         ::testing::Combine(::testing::ValuesIn(kinds()), ::testing::Bool()),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).name) +
                                  (std::get<1>(test.param) ? "_lost" : "_once");
                         });

// Makes the n-th launch (1: the next one) of any OpenCL device fail.
class FailingLaunch {
 public:
  explicit FailingLaunch(std::uint64_t n) {
    real_ = opencl::api.clEnqueueNDRangeKernel;
    until_failure_ = n;
    opencl::api.clEnqueueNDRangeKernel = launch;
  }
  ~FailingLaunch() { opencl::api.clEnqueueNDRangeKernel = real_; }
  FailingLaunch(const FailingLaunch&) = delete;
  FailingLaunch& operator=(const FailingLaunch&) = delete;
  [[nodiscard]] static bool failed() { return until_failure_ == 0; }

 private:
  static cl_int launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                       const size_t* offset, const size_t* global, const size_t* local,
                       cl_uint waits, const cl_event* wait_for, cl_event* event) {
    if (until_failure_ != 0 && --until_failure_ == 0) return CL_OUT_OF_RESOURCES;
    return real_(queue, kernel, dimensions, offset, global, local, waits, wait_for, event);
  }
  inline static decltype(&::clEnqueueNDRangeKernel) real_;
  inline static std::uint64_t until_failure_;
};

TEST(HostMemory, IsAsItWasIfALaunchFails) {
  const auto& device = test_device()->info();
  if (device.claimed.backend != Backend::opencl)
    GTEST_SKIP() << device.id << " launches nothing through OpenCL";
  constexpr std::size_t n = 20'000;
  const Options options{.device = device.id};
  struct Lists {
    std::vector<std::uint32_t> keys = std::vector<std::uint32_t>(n);
    std::vector<std::uint64_t> values = std::vector<std::uint64_t>(n);
    std::vector<std::uint32_t> positions = std::vector<std::uint32_t>(n);
    bool operator==(const Lists&) const = default;
  } before;
  Random random(2);
  for (auto& key : before.keys) key = static_cast<std::uint32_t>(random.next());
  std::iota(before.values.begin(), before.values.end(), 0);
  const std::pair<const char*, std::function<void(Lists&)>> calls[] = {
      {"keys", [&](Lists& l) { sortium::sort(l.keys, options); }},
      {"values", [&](Lists& l) { sortium::sort(l.keys, l.values, options); }},
      {"keys in place, values apart",
       [&](Lists& l) {
         sort_host({.count = n, .payload = Payload::positions, .value_bytes = 4},
                   {.keys_in = l.keys.data(),
                    .keys_out = l.keys.data(),
                    .values_out = l.positions.data()},
                   options);
       }},
      {"columns", [&](Lists& l) {
         sort_columns({by(l.keys, Order::descending)}, {column(l.values)}, options);
       }}};
  for (const auto& [name, sort] : calls) {
    SCOPED_TRACE(name);
    Lists sorted = before;
    sort(sorted);
    ASSERT_FALSE(sorted == before);
    for (std::uint64_t at = 1;; ++at) {
      Lists lists = before;
      const FailingLaunch failing(at);
      bool threw = false;
      try {
        sort(lists);
      } catch (const Error&) {
        threw = true;
      }
      if (!failing.failed()) {
        EXPECT_GT(at, 1u);
        ASSERT_TRUE(lists == sorted);
        break;
      }
      EXPECT_TRUE(threw) << "launch " << at;
      lists.positions = before.positions;  // only an output: what it holds now does not matter
      ASSERT_TRUE(lists == before) << "launch " << at;
    }
  }
}

}  // namespace
}  // namespace sortium::test
