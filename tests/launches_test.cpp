// Every algorithm plans, builds and enqueues on devices that compile and run nothing. Each launch
// must pass the arguments that its kernel declares, and each module all parameters that its source
// declares. Needs no GPU, no driver and no compiler; conformance tests the results.
#include <gtest/gtest.h>

#include <sortium/verify.hpp>

#include "algorithms/algorithm.hpp"
#include "checking_queue.hpp"
#include "methods.hpp"
#include "support.hpp"

namespace sortium::test {
namespace {

// A device whose compiler accepts every text as a program that has every kernel.
class TextDevice final : public Device {
 public:
  explicit TextDevice(Capabilities c) {
    info_.id = "none";
    info_.name = c.model = "no device";
    info_.claimed = std::move(c);
  }
  const DeviceInfo& info() const override { return info_; }
  std::unique_ptr<Module> compile(const std::string&, std::vector<std::byte>& binary) override {
    binary.clear();
    return std::make_unique<AnyKernel>();
  }
  std::unique_ptr<Module> load(std::span<const std::byte>) override {
    throw Error(ErrorCode::build_failed, "nothing is kept of this device");
  }
  std::unique_ptr<Buffer> allocate(std::uint64_t) override { return std::make_unique<NoBuffer>(); }
  std::unique_ptr<Buffer> adopt(void*, std::uint64_t) override { return nullptr; }
  void sync_host(Queue&, Buffer&) override {}
  std::unique_ptr<Queue> make_queue(bool) override {
    return std::make_unique<CheckingQueue>(shared_from_this());
  }
  std::uint64_t free_memory() override { return std::uint64_t{1} << 36; }
  void* native_context() override { return this; }

 private:
  class AnyKernel final : public Module {
   public:
    std::unique_ptr<Kernel> kernel(const std::string& name) override {
      return std::make_unique<NamedKernel>(name);
    }
  };
  DeviceInfo info_;
};

Capabilities a_large_gpu() {
  Capabilities c;
  c.backend = Backend::cuda;
  c.compute_units = 132;
  c.max_work_group = 1024;
  c.local_memory = 49152;
  c.local_struct = 232448;
  c.global_memory = c.max_allocation = std::uint64_t{139} << 30;
  c.sub_group_words = SubGroupWords::cuda;
  c.forward_progress = c.ordered_local_atomics = true;
  c.cluster_groups = 16;
  return c;
}

Capabilities a_small_gpu() {
  Capabilities c;
  c.compute_units = 16;
  c.max_work_group = 1024;
  c.local_memory = c.local_struct = 49152;
  c.global_memory = c.max_allocation = std::uint64_t{16} << 30;
  c.sub_group_words = SubGroupWords::ptx;
  c.forward_progress = true;
  return c;
}

Capabilities a_cpu() {
  Capabilities c = a_small_gpu();
  c.kind = DeviceKind::cpu;
  c.max_work_group = 4096;
  c.sub_group_words = SubGroupWords::emulated;
  c.forward_progress = false;
  return c;
}

class Launched : public testing::TestWithParam<MethodUnderTest> {};

TEST_P(Launched, AsTheKernelsDeclare) {
  const auto& m = GetParam();
  const auto& algorithm = find_algorithm(m.algorithm.name);
  const Parameters parameters(m.parameters, algorithm.info());
  const Problem kinds[] = {
      {.key = KeyType::u32},
      {.key = KeyType::f64, .payload = Payload::values, .value_bytes = 8},
      {.key = KeyType::i32, .payload = Payload::positions, .keys_out = false, .begin_bit = 5},
      {.key = KeyType::f32, .payload = Payload::positions, .value_bytes = 8},
      {.key = KeyType::u64, .payload = Payload::values},
  };
  unsigned launches = 0;
  for (const auto& capabilities : {a_large_gpu(), a_small_gpu(), a_cpu()})
    for (const std::uint64_t count : {100u, 10'000u, 1'000'000u, 100'000'000u})
      for (Problem problem : kinds) {
        if (m.algorithm.quadratic && count > 10'000) continue;
        problem.count = count;
        problem.limit = m.algorithm.limit ? count / 10 : 0;
        if (m.algorithm.segments) problem.segments = 10;
        const auto device = std::make_shared<TextDevice>(capabilities);
        CheckingQueue queue(device);
        try {
          const auto sorter = algorithm.plan(problem, capabilities, parameters);
          sorter->build(*device, capabilities);
          sorter->enqueue(queue, some_operands(problem, sorter->scratch_bytes()));
        } catch (const Error& e) {
          if (e.code() == ErrorCode::unsupported)
            continue;  // this device does not support the algorithm
          ADD_FAILURE() << info(problem.key).name << ", " << count << " records: " << e.what();
        }
        launches += queue.launches;
      }
  EXPECT_GT(launches, 0u);
}

std::vector<MethodUnderTest> methods_of_kernels() {
  auto all = methods();
  std::erase_if(all, [](const auto& m) { return m.algorithm.host; });
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, Launched, testing::ValuesIn(methods_of_kernels()),
                         [](const auto& instance) { return test_name(instance.param); });

class LaunchedBy : public testing::Test {
 protected:
  std::shared_ptr<TextDevice> device = std::make_shared<TextDevice>(a_cpu());
  CheckingQueue queue{device};
};

TEST_F(LaunchedBy, Companions) {
  constexpr std::uint64_t n = 100'000;
  const auto at = [](unsigned number) { return somewhere(number, std::uint64_t{1} << 36); };
  const Problem p{.key = KeyType::u32, .count = n, .payload = Payload::values};
  IsSortedPlan(device, p).run(queue, {.keys = at(0), .result = at(1), .scratch = at(2)});
  UniquePlan(device, p, 8)
      .run(queue, {.keys_in = at(0),
                   .keys_out = at(1),
                   .values_in = at(2),
                   .values_out = at(3),
                   .lengths = at(4),
                   .runs = at(5),
                   .scratch = at(6)});
  MergePlan(device, p, 10)
      .run(queue, {.a_keys = at(0),
                   .b_keys = at(1),
                   .keys_out = at(2),
                   .a_values = at(3),
                   .b_values = at(4),
                   .values_out = at(5),
                   .scratch = at(6)});
  SearchPlan(device, p, 100, Bound::upper)
      .run(queue, {.keys = at(0), .needles = at(1), .places = at(2)});
  EXPECT_GE(queue.launches, 8u);
}

TEST_F(LaunchedBy, Verify) {
  (void)verify(queue, {.key = KeyType::u32, .count = 1000}, somewhere(0, 4000), {}, 0);
  EXPECT_EQ(queue.launches, 1u);
}

}  // namespace
}  // namespace sortium::test
