// Makes every call of a device fail, once or from that call on: allocations, builds, launches,
// copies. The sort or other operation must then throw that error or work without the call. Its
// input must not change, nothing may leak, and the next call must work. The same for every call of
// OpenCL in sorts of host memory in place, which a CPU reads itself.
#define SORTIUM_OPENCL_API_CPP  // the names of the entry points themselves
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <ostream>
#include <sortium/permute.hpp>
#include <sortium/records.hpp>
#include <sortium/search.hpp>
#include <tuple>
#include <type_traits>
#include <utility>

#include "device/opencl_api.hpp"
#include "faulty_device.hpp"
#include "support.hpp"

namespace sortium::test {
namespace {

struct Kind {
  const char* name;
  Problem problem;
  std::string algorithm = "auto";
  std::string parameters{};
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
      {"first_by_sample",
       {.key = KeyType::f32, .count = n, .payload = Payload::positions, .limit = 100},
       "topk",
       "method=sample"},
      {"first_of_segments", {.count = n, .segments = 3, .limit = 100}},
      // Only GPUs have these.
      {"onesweep", {.count = n, .payload = Payload::values}, "onesweep"},
      {"msd", {.key = KeyType::f32, .count = n}, "msd"},
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
    const Plan plan(device_, p, {kind_.algorithm, kind_.parameters});
    const auto queue = device_->make_queue();
    const std::uint64_t values = p.payload == Payload::none ? 0 : p.count * p.value_bytes;
    const auto keys_out = device_->allocate(key_bytes_);
    const auto values_in = device_->allocate(values + 16),
               values_out = device_->allocate(values + 16);
    const auto scratch = device_->allocate(plan.scratch_bytes() + 16);
    const auto offsets = device_->allocate(64);
    const std::uint32_t ends[] = {0, 5000, 5000, static_cast<std::uint32_t>(p.count)};
    queue->write(offsets->memory(), ends, sizeof ends);
    queue->fill(keys_out->memory(), 0, key_bytes_);  // short segments leave some of it
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
  try {
    const Plan plan(test_device(), kind.problem, {kind.algorithm, kind.parameters});
  } catch (const Error& e) {
    if (e.code() != ErrorCode::unsupported) throw;
    GTEST_SKIP() << e.what();
  }
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

// One call of an operation other than a sort, with memory of its own.
class OneCall {
 public:
  explicit OneCall(std::shared_ptr<Device> device)
      : device_(std::move(device)), queue_(device_->make_queue()) {}
  [[nodiscard]] const std::shared_ptr<Device>& device() const { return device_; }
  Queue& queue() { return *queue_; }
  Memory out(std::uint64_t bytes) {
    buffers_.push_back(device_->allocate(bytes + 16));
    return buffers_.back()->memory().slice(0, bytes);
  }
  template <class T>
  Memory in(const std::vector<T>& numbers) {
    const Memory memory = out(numbers.size() * sizeof(T));
    queue_->write(memory, numbers.data(), memory.bytes);
    return memory;
  }
  // Returns what the call has written.
  std::vector<std::byte> read(const Memory& memory) {
    std::vector<std::byte> out(memory.bytes);
    queue_->read(out.data(), memory, memory.bytes);
    return out;
  }

 private:
  std::shared_ptr<Device> device_;
  std::unique_ptr<Queue> queue_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
};

constexpr std::uint64_t operation_count = 20'000;

// Sorted keys, of which some are equal.
std::vector<std::uint32_t> some_keys() {
  std::vector<std::uint32_t> keys(operation_count);
  for (std::uint32_t i = 0; i < keys.size(); ++i) keys[i] = i / 3 * 7;
  return keys;
}
std::vector<std::uint32_t> falling_positions() {
  std::vector<std::uint32_t> positions(operation_count);
  std::iota(positions.rbegin(), positions.rend(), 0u);
  return positions;
}

struct Operation {
  const char* name;
  std::function<std::vector<std::byte>(OneCall&)> run;
};
void PrintTo(const Operation& operation, std::ostream* out) { *out << operation.name; }

const std::vector<Operation>& operations() {
  constexpr std::uint64_t n = operation_count;
  static const std::vector<Operation> all{
      {"is_sorted",
       [](OneCall& c) {
         const IsSortedPlan plan(c.device(), {.count = n});
         const Memory result = c.out(8);
         plan.run(c.queue(), {c.in(some_keys()), result, c.out(plan.scratch_bytes())});
         return c.read(result);
       }},
      {"unique",
       [](OneCall& c) {
         const UniquePlan plan(c.device(), {.count = n, .payload = Payload::values}, 4);
         const Memory values = c.out(4 * n);
         plan.run(c.queue(), {.keys_in = c.in(some_keys()),
                              .keys_out = c.out(4 * n),
                              .values_in = c.in(falling_positions()),
                              .values_out = values,
                              .lengths = c.out(4 * n),
                              .runs = c.out(8),
                              .scratch = c.out(plan.scratch_bytes())});
         return c.read(values.slice(0, (n + 2) / 3 * 4));
       }},
      {"merge",
       [](OneCall& c) {
         const MergePlan plan(c.device(), {.count = 2 * n}, n);
         MergePlan::Operands o;
         o.a_keys = c.in(some_keys());
         o.b_keys = c.in(some_keys());
         o.keys_out = c.out(8 * n);
         o.scratch = c.out(plan.scratch_bytes());
         plan.run(c.queue(), o);
         return c.read(o.keys_out);
       }},
      {"search",
       [](OneCall& c) {
         const SearchPlan plan(c.device(), {.count = n}, n, Bound::lower);
         const Memory places = c.out(4 * n);
         plan.run(c.queue(), {c.in(some_keys()), c.in(falling_positions()), places});
         return c.read(places);
       }},
      {"nth_element",
       [](OneCall& c) {
         const NthElementPlan plan(c.device(), {.count = n}, n / 3);
         const Memory keys = c.out(4 * n);
         plan.run(c.queue(), {.keys_in = c.in(falling_positions()),
                              .keys_out = keys,
                              .scratch = c.out(plan.scratch_bytes())});
         return c.read(keys);
       }},
      {"permute",
       [](OneCall& c) {
         const Permute plan(c.device(), {Direction::scatter, n});
         const Memory out = c.out(4 * n);
         plan.run(c.queue(), c.in(some_keys()), c.in(falling_positions()), out);
         return c.read(out);
       }},
      {"records", [](OneCall& c) {
         const RecordProblem problem{.count = n,
                                     .columns = {{4, Moved::out}, {12, Moved::out}},
                                     .key = {{0, 0, KeyType::u32}, {1, 8, KeyType::f32}}};
         const RecordPlan plan(c.device(), problem);
         const Memory in[] = {c.in(falling_positions()),
                              c.in(std::vector<std::uint32_t>(3 * n, 7))};
         const Memory out[] = {c.out(4 * n), c.out(12 * n)};
         plan.run(c.queue(),
                  {.columns_in = in, .columns_out = out, .scratch = c.out(plan.scratch_bytes())});
         return c.read(out[0]);
       }}};
  return all;
}

class OperationFaults : public ::testing::TestWithParam<std::tuple<Operation, bool>> {};

TEST_P(OperationFaults, EveryCall) {
  const auto& [operation, lost] = GetParam();
  const auto run = [&run_it = operation.run](const std::shared_ptr<Device>& device) {
    OneCall call(device);
    return run_it(call);
  };
  const auto right = run(test_device());
  std::uint64_t n = 1;
  for (;; ++n) {
    const auto device = std::make_shared<FaultyDevice>(test_device());
    device->fail(n, lost);
    std::string error;
    std::vector<std::byte> out;
    try {
      out = run(device);
    } catch (const Error& e) {
      error = e.what();
    }
    const bool failed = device->stop_failing();
    ASSERT_EQ(device->buffers(), 0) << n;
    if (error.empty()) {
      ASSERT_TRUE(out == right) << "wrong result after failure of call " << n;
      if (!failed) break;
    } else {
      ASSERT_TRUE(failed);
      ASSERT_NE(error.find("injected"), error.npos) << error;
    }
    ASSERT_TRUE(run(device) == right) << "the next call, after failure of call " << n;
  }
  EXPECT_GT(n, 5u) << "it allocates, builds, writes, launches and reads";
}

INSTANTIATE_TEST_SUITE_P(Table, OperationFaults,
                         ::testing::Combine(::testing::ValuesIn(operations()), ::testing::Bool()),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).name) +
                                  (std::get<1>(test.param) ? "_lost" : "_once");
                         });

// Makes the n-th call (1: the next one) of an entry point of OpenCL fail that allocates, launches,
// copies or waits.
class FailingCall {
 public:
  explicit FailingCall(std::uint64_t n) {
    until_failure_ = n;
    copies_back_ = false;
    for_each_entry([]<class Hook>(Hook) { Hook::install(); });
  }
  ~FailingCall() {
    for_each_entry([]<class Hook>(Hook) { Hook::remove(); });
  }
  FailingCall(const FailingCall&) = delete;
  FailingCall& operator=(const FailingCall&) = delete;
  [[nodiscard]] static bool failed() { return until_failure_ == 0; }
  // True if the call that failed copies a list to host memory, or comes after such a call.
  [[nodiscard]] static bool copies_back() { return copies_back_; }

 private:
  template <auto entry, class R, class... A>
  struct Hook {
    inline static R (*real)(A...) = nullptr;
    static void install() { real = std::exchange(opencl::api.*entry, call); }
    static void remove() { opencl::api.*entry = real; }
    static R call(A... arguments) {
      // No other entry point has this type. The other reads are of few bytes.
      if constexpr (std::is_same_v<decltype(entry), decltype(&opencl::Api::clEnqueueReadBuffer)>)
        if (until_failure_ != 0 && std::get<4>(std::tuple(arguments...)) >= list_bytes)
          copies_back_ = true;
      if (until_failure_ == 0 || --until_failure_ != 0) return real(arguments...);
      // What a queue has begun ends before its wait fails: it may write to memory of the caller.
      if constexpr (std::is_same_v<decltype(entry), decltype(&opencl::Api::clFinish)>)
        real(arguments...);
      constexpr bool returns_code = std::is_same_v<R, cl_int>;
      if constexpr (returns_code) {
        return CL_OUT_OF_RESOURCES;
      } else {  // the last argument receives the code
        if (cl_int* code = std::get<sizeof...(A) - 1>(std::tuple(arguments...)); code != nullptr)
          *code = CL_OUT_OF_RESOURCES;
        return nullptr;
      }
    }
  };
  template <auto entry, class R, class... A>
  static Hook<entry, R, A...> hook_of(R (*opencl::Api::*)(A...)) {
    return {};
  }
  template <class Action>
  static void for_each_entry(const Action& action) {
    using opencl::Api;
    action(hook_of<&Api::clCreateBuffer>(&Api::clCreateBuffer));
    action(hook_of<&Api::clEnqueueCopyBuffer>(&Api::clEnqueueCopyBuffer));
    action(hook_of<&Api::clEnqueueFillBuffer>(&Api::clEnqueueFillBuffer));
    action(hook_of<&Api::clEnqueueMapBuffer>(&Api::clEnqueueMapBuffer));
    action(hook_of<&Api::clEnqueueNDRangeKernel>(&Api::clEnqueueNDRangeKernel));
    action(hook_of<&Api::clEnqueueReadBuffer>(&Api::clEnqueueReadBuffer));
    action(hook_of<&Api::clEnqueueUnmapMemObject>(&Api::clEnqueueUnmapMemObject));
    action(hook_of<&Api::clEnqueueWriteBuffer>(&Api::clEnqueueWriteBuffer));
    action(hook_of<&Api::clFinish>(&Api::clFinish));
  }

  inline static std::uint64_t until_failure_;
  static constexpr std::size_t list_bytes = 65536;
  inline static bool copies_back_;
};

TEST(HostMemory, IsAsItWasIfACallOfOpenClFails) {
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
  for (auto& key : before.keys) key = static_cast<std::uint32_t>(random.below(5000));
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
      {"unique", [&](Lists& l) { sortium::unique(l.keys, l.values, options); }},
      {"nth_element", [&](Lists& l) { sortium::nth_element(l.keys, l.values, n / 2, options); }},
      {"columns", [&](Lists& l) {
         sort_columns({by(l.keys, Order::descending)}, {column(l.values)}, options);
       }}};
  for (const auto& [name, sort] : calls) {
    SCOPED_TRACE(name);
    Lists sorted = before;
    sort(sorted);
    ASSERT_FALSE(sorted == before);
    std::uint64_t at = 1, copies_back = 0;
    for (;; ++at) {
      Lists lists = before;
      const FailingCall failing(at);
      bool threw = false;
      try {
        sort(lists);
      } catch (const Error&) {
        threw = true;
      }
      if (!failing.failed()) {
        ASSERT_TRUE(lists == sorted);
        break;
      }
      EXPECT_TRUE(threw) << "call " << at;
      // What a failed copy back leaves is not promised.
      copies_back += failing.copies_back() ? 1 : 0;
      if (failing.copies_back()) continue;
      lists.positions = before.positions;  // only an output: what it holds now does not matter
      ASSERT_TRUE(lists == before) << "call " << at;
    }
    EXPECT_GT(at, 5 + copies_back) << "it allocates, launches and waits";
  }
}

}  // namespace
}  // namespace sortium::test
