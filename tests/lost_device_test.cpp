// A GPU that fails in the middle: a kernel writes where there is no memory, after which CUDA
// refuses every call of this process. Each call of the library must then throw an error and end,
// input in host memory must be as it was, and other devices must still sort. A program of its own,
// because CUDA does not recover.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <sortium/sortium.hpp>

#include "device_array.hpp"
#include "expect_error.hpp"
#include "kernels/kernels.hpp"
#include "support.hpp"

namespace sortium::test {
namespace {

constexpr char astray_cl[] = R"(
PARAMETER(WG)  // work-items of a work-group
// Stores far behind the end of `at`.
KERNEL(WG)
void go_astray(GLOBAL u32* at) { at[((u64)1 << 40) + local_id()] = 1; }
)";

std::vector<std::uint32_t> some_keys(std::uint64_t count) {
  Random random(3);
  std::vector<std::uint32_t> keys(count);
  for (auto& k : keys) k = static_cast<std::uint32_t>(random.next());
  return keys;
}

template <class Call>
void fails(const char* what, Call&& call) {
  try {
    call();
    ADD_FAILURE() << what << " succeeded";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()), "") << what;
    fmt::print("{}: {}\n", what, e.what());
  }
}

TEST(LostDevice, EveryCallFailsAndNothingIsLost) {
  const auto device = test_device();
  if (device->info().claimed.backend != Backend::cuda)
    GTEST_SKIP() << "only CUDA refuses every call after a wrong access; the device is "
                 << device->info().id;
  constexpr std::uint64_t few = 1000, many = 1u << 20;
  const Options here{.device = device->info().id};
  auto sorted = some_keys(many);
  sort(std::span(sorted), here);
  ASSERT_TRUE(std::ranges::is_sorted(sorted));

  const Plan plan(device, {.count = many});
  const auto queue = device->make_queue(), other_queue = device->make_queue();
  const auto keys = device->allocate(many * 4), out = device->allocate(many * 4),
             scratch = device->allocate(plan.scratch_bytes());
  queue->write(keys->memory(), some_keys(many).data(), many * 4);
  const auto run = [&](Queue& on) {
    plan.run(on,
             {.keys_in = keys->memory(), .keys_out = out->memory(), .scratch = scratch->memory()});
    on.finish();
  };
  run(*queue);

  // The wrong access is in the middle of sorts that are enqueued.
  kernels::Defines defines;
  defines.problem({.count = 1}).set("WG", 32);
  const auto module = kernels::build(*device, capabilities(*device),
                                     kernels::Source{"astray.cl", astray_cl}, defines);
  const auto astray = module->kernel("go_astray");
  const Arg args[] = {{"at", out->memory()}};
  fails("the sort beside the wrong access", [&] {
    const Operands o{
        .keys_in = keys->memory(), .keys_out = out->memory(), .scratch = scratch->memory()};
    plan.run(*queue, o);
    queue->launch({*astray, 1, 32, args, "astray"});
    plan.run(*queue, o);
    queue->finish();
  });

  fails("a sort on the same queue", [&] { run(*queue); });
  fails("a sort on another queue", [&] { run(*other_queue); });
  fails("an allocation", [&] { (void)device->allocate(few); });
  fails("a new queue", [&] { run(*device->make_queue()); });
  fails("a copy", [&] { queue->write(keys->memory(), sorted.data(), few * 4); });
  fails("the free memory", [&] { (void)device->free_memory(); });
  for (const std::uint64_t count : {few, many}) {
    const auto input = some_keys(count);
    auto list = input;
    fails("a sort of host memory", [&] { sort(std::span(list), here); });
    EXPECT_EQ(list, input);
    std::vector<std::uint32_t> values(count);
    std::iota(values.begin(), values.end(), 0u);
    const auto first_values = values;
    fails("a sort of host memory with values",
          [&] { sort(std::span(list), std::span(values), here); });
    EXPECT_EQ(list, input);
    EXPECT_EQ(values, first_values);
  }
  auto list = some_keys(many);
  sort(std::span(list), {.device = "cpu:0"});
  EXPECT_EQ(list, sorted);
}

}  // namespace
}  // namespace sortium::test
