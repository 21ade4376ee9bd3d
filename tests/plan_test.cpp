// Plan: sorts in device memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <thread>

#include "device_array.hpp"
#include "expect_error.hpp"
#include "methods.hpp"
#include "support.hpp"

namespace sortium::test {
namespace {

constexpr auto bad = ErrorCode::invalid_argument;

// Pairs of u32 key and u32 value on the device, each operand at a different offset in one
// allocation.
class Pairs : public testing::Test {
 protected:
  static constexpr std::uint64_t count = 1000, bytes = 4 * count, step = 4096;

  // lsd, or cpu:0's algorithm: both need scratch memory and several phases for any number of
  // records.
  Pairs()
      : plan(test_device(), problem, {on_host() ? "sample" : "lsd", ""}),
        scratch(test_device()->allocate(plan.scratch_bytes())) {
    Random random(3);
    for (auto& k : keys) k = static_cast<std::uint32_t>(random.below(500));
    std::iota(values.begin(), values.end(), 0u);
    operands = {place(0), place(1), place(2), place(3), scratch->memory()};
    std::iota(sorted_values.begin(), sorted_values.end(), 0u);
    std::ranges::stable_sort(sorted_values, {}, [&](auto v) { return keys[v]; });
    for (std::uint64_t i = 0; i < count; ++i) sorted_keys[i] = keys[sorted_values[i]];
    upload();
  }
  [[nodiscard]] Memory place(std::uint64_t index) const {
    return arena->memory().slice(step * index, bytes);
  }
  void upload() {
    queue->write(operands.keys_in, keys.data(), bytes);
    queue->write(operands.values_in, values.data(), bytes);
  }
  [[nodiscard]] std::vector<std::uint32_t> read(Memory m) const {
    std::vector<std::uint32_t> out(count);
    queue->read(out.data(), m, bytes);
    return out;
  }
  void expect_refused(const Operands& o, std::initializer_list<std::string_view> words) {
    expect_error([&] { plan.run(*queue, o); }, bad, words);
  }

  Problem problem{.count = count, .payload = Payload::values};
  Plan plan;
  std::unique_ptr<Queue> queue = test_device()->make_queue(true);
  std::unique_ptr<Buffer> arena = test_device()->allocate(8 * step);
  std::unique_ptr<Buffer> scratch;
  Operands operands;
  std::vector<std::uint32_t> keys = std::vector<std::uint32_t>(count), values = keys,
                             sorted_keys = keys, sorted_values = keys;
};

TEST_F(Pairs, OutOfPlace) {
  for (int round = 0; round < 2; ++round)
    plan.run(*queue, operands);  // a plan runs any number of times
  EXPECT_EQ(read(operands.keys_out), sorted_keys);
  EXPECT_EQ(read(operands.values_out), sorted_values);
  EXPECT_EQ(read(operands.keys_in), keys);
  EXPECT_EQ(read(operands.values_in), values);
}

TEST_F(Pairs, InPlace) {
  operands.keys_out = operands.keys_in;
  operands.values_out = operands.values_in;
  plan.run(*queue, operands);
  EXPECT_EQ(read(operands.keys_in), sorted_keys);
  EXPECT_EQ(read(operands.values_in), sorted_values);
}

TEST_F(Pairs, SizesNeedNotBeKnown) {
  for (auto* m : {&operands.keys_in, &operands.keys_out, &operands.values_in, &operands.values_out,
                  &operands.scratch})
    m->bytes = 0;
  plan.run(*queue, operands);
  EXPECT_EQ(read(operands.keys_out), sorted_keys);
  EXPECT_EQ(read(operands.values_out), sorted_values);
}

// Operands at any multiple of an element: OpenCL's alignment of sub-buffers is no limit.
TEST_F(Pairs, RecordsMayBeginAtAnyElement) {
  const auto memory = test_device()->allocate(4 * (bytes + 8));
  const auto at = [&](std::uint64_t i) {
    return memory->memory().slice((bytes + 8) * i + 4, bytes);
  };
  queue->write(at(0), keys.data(), bytes);
  queue->write(at(1), values.data(), bytes);
  plan.run(*queue, {at(0), at(2), at(1), at(3), operands.scratch});
  EXPECT_EQ(read(at(2)), sorted_keys);
  EXPECT_EQ(read(at(3)), sorted_values);
  EXPECT_EQ(read(at(0)), keys);
  EXPECT_EQ(read(at(1)), values);
}

TEST_F(Pairs, APlanMovesHouse) {
  Plan moved = std::move(plan);
  moved.run(*queue, operands);
  EXPECT_EQ(read(operands.keys_out), sorted_keys);
  EXPECT_EQ(moved.problem().count, count);
}

TEST_F(Pairs, EveryOverlapIsRefused) {
  // The scratch memory has the size of the gaps in the arena, so that it can overlap operands from
  // both sides.
  const auto big = test_device()->allocate(16 * step + 2 * plan.scratch_bytes());
  struct Named {
    const char* name;
    Memory Operands::*member;
  };
  const Named all[] = {{"keys_in", &Operands::keys_in},
                       {"keys_out", &Operands::keys_out},
                       {"values_in", &Operands::values_in},
                       {"values_out", &Operands::values_out},
                       {"scratch", &Operands::scratch}};
  for (std::uint64_t i = 0; i < 4; ++i)
    operands.*all[i].member = big->memory().slice(step * i, bytes);
  operands.scratch = big->memory().slice(16 * step, plan.scratch_bytes());
  plan.run(*queue, operands);  // valid operands

  // Multiples of 512 bytes. `bytes` is not one, so that one operand's last slice overlaps the other
  // operand's first.
  constexpr std::uint64_t nearly = bytes / 512 * 512;
  for (const auto& a : all)
    for (const auto& b : all) {
      if (a.member == b.member) continue;
      for (const auto distance : {std::uint64_t{0}, std::uint64_t{512}, nearly}) {
        Operands o = operands;
        (o.*a.member).offset = (o.*b.member).offset + distance;
        expect_refused(o, distance == 0
                              ? std::initializer_list<std::string_view>{}
                              : std::initializer_list<std::string_view>{a.name, b.name, "overlap"});
      }
    }
}

TEST_F(Pairs, HalfInPlaceIsRefused) {
  Operands o = operands;
  o.keys_out = o.keys_in;
  expect_refused(o, {"keys", "values", "in place"});
  o = operands;
  o.values_out = o.values_in;
  expect_refused(o, {"keys", "values", "in place"});
}

TEST_F(Pairs, MissingSmallAndMisalignedOperandsAreNamed) {
  const std::pair<const char*, Memory Operands::*> all[] = {{"keys_in", &Operands::keys_in},
                                                            {"keys_out", &Operands::keys_out},
                                                            {"values_in", &Operands::values_in},
                                                            {"values_out", &Operands::values_out},
                                                            {"scratch", &Operands::scratch}};
  for (const auto& [name, member] : all) {
    Operands o = operands;
    o.*member = {};
    expect_refused(o, {name, "missing"});
    o = operands;
    --(o.*member).bytes;
    expect_refused(
        o, {name, std::to_string((o.*member).bytes), std::to_string((operands.*member).bytes)});
    o = operands;
    (o.*member).offset += 1;
    expect_refused(o, {name, "multiple"});
  }
  EXPECT_EQ(read(operands.keys_in), keys) << "nothing was touched";
}

TEST_F(Pairs, PhasesHaveNamesAndTimes) {
  for (int round = 0; round < 2; ++round) {
    double seconds = 0;
    unsigned launches = 0;
    const auto phases = plan.profile(*queue, operands);
    EXPECT_FALSE(phases.empty());
    for (const auto& p : phases) {
      EXPECT_FALSE(p.name.empty());
      EXPECT_EQ(std::ranges::count(phases, p.name, &Plan::Phase::name), 1);
      EXPECT_GE(p.seconds, 0);
      seconds += p.seconds;
      launches += p.launches;
    }
    EXPECT_GT(seconds, 0);
    EXPECT_LT(seconds, 60);
    EXPECT_GE(launches, phases.size());
  }
  EXPECT_EQ(read(operands.keys_out), sorted_keys);

  Operands o = operands;
  o.scratch = {};
  expect_error([&] { (void)plan.profile(*queue, o); }, bad, {"scratch"});
  EXPECT_FALSE(plan.profile(*queue, operands).empty()) << "the queue can still trace";
}

TEST_F(Pairs, OpenClNeedsATracingQueueForPhases) {
  if (test_device()->info().claimed.backend != Backend::opencl)
    GTEST_SKIP() << "other queues always trace";
  const auto plain = test_device()->make_queue();
  expect_error([&] { (void)plan.profile(*plain, operands); }, ErrorCode::unsupported,
               {"PROFILING"});
}

// One Plan, several threads, each with its own scratch memory, on separate queues or on a shared
// one.
TEST_F(Pairs, ThreadsShareAPlan) {
  for (const bool one_queue : {false, true}) {
    constexpr std::size_t many = 4;
    std::vector<std::thread> threads;
    std::vector<std::string> wrong(many);
    for (std::size_t t = 0; t < many; ++t)
      threads.emplace_back([&, t] {
        try {
          const auto own = test_device()->make_queue();
          Queue& q = one_queue ? *queue : *own;
          const auto mine = test_device()->allocate(4 * step),
                     my_scratch = test_device()->allocate(plan.scratch_bytes());
          const auto at = [&](std::uint64_t i) { return mine->memory().slice(step * i, bytes); };
          for (int round = 0; round < 10; ++round) {
            q.write(at(0), keys.data(), bytes);
            q.write(at(1), values.data(), bytes);
            plan.run(q, {at(0), at(2), at(1), at(3), my_scratch->memory()});
            std::vector<std::uint32_t> k(count), v(count);
            q.read(k.data(), at(2), bytes);
            q.read(v.data(), at(3), bytes);
            if (k != sorted_keys || v != sorted_values) wrong[t] = "sorted wrongly";
          }
        } catch (const std::exception& e) {
          wrong[t] = e.what();
        }
      });
    for (auto& t : threads) t.join();
    for (const auto& w : wrong) EXPECT_EQ(w, "") << (one_queue ? "one queue" : "a queue each");
  }
}

// 64-bit keys in two narrow clusters that are far apart. The leading bits separate only the
// clusters, so a sort by leading bits must also sort by the lower bits.
TEST(PlanKeys, ClustersFarApart) {
  constexpr std::uint64_t n = 150'000;
  const auto queue = test_device()->make_queue();
  Random random(7);
  for (const auto type : {KeyType::u64, KeyType::f64}) {
    std::vector<std::uint64_t> in(n), positions(n), should(n), got(n);
    for (auto& k : in)
      k = (random.below(2) << 62) +
          random.below(random.below(2) == 0 ? 50 : std::uint64_t{1} << 30) + 1;
    std::iota(should.begin(), should.end(), 0u);
    std::ranges::stable_sort(should, {}, [&](auto i) { return in[i]; });
    const Problem problem{.key = type,
                          .count = n,
                          .payload = Payload::positions,
                          .value_bytes = 8,
                          .keys_out = false};
    const Plan plan(test_device(), problem);
    const DeviceArray<std::uint64_t> keys(*queue, in), out(*queue, n);
    const auto scratch = test_device()->allocate(plan.scratch_bytes());
    plan.run(*queue, {keys.memory(), {}, {}, out.memory(), scratch->memory()});
    EXPECT_TRUE(out.read() == should) << info(type).name;
  }
}

// A device for which no plan was made: it has a context of its own.
class OtherDevice final : public WrappedDevice {
 public:
  using WrappedDevice::WrappedDevice;
  void* native_context() override { return this; }
};

TEST_F(Pairs, AnotherDevicesQueueIsRefused) {
  const auto other = std::make_shared<OtherDevice>(test_device())->make_queue();
  expect_error([&] { plan.run(*other, operands); }, bad, {"queue"});
}

TEST(PlanOperands, WhatAPlanHasNoUseForIsRefused) {
  const auto queue = test_device()->make_queue();
  const auto a = test_device()->allocate(4096), b = test_device()->allocate(4096),
             c = test_device()->allocate(4096);
  const auto with = [&](Problem p, Operands o) {
    const Plan plan(test_device(), p);
    const auto scratch = test_device()->allocate(plan.scratch_bytes());
    o.scratch = scratch->memory();
    plan.run(*queue, o);
    queue->finish();
  };
  const Memory m = a->memory(), n = b->memory(), o = c->memory();
  expect_error([&] { with({.count = 100}, {m, n, o, {}, {}}); }, bad, {"values_in"});
  expect_error([&] { with({.count = 100}, {m, n, {}, o, {}}); }, bad, {"values_out"});
  const Problem argsort{.count = 100, .payload = Payload::positions, .keys_out = false};
  expect_error([&] { with(argsort, {m, n, {}, o, {}}); }, bad, {"keys_out"});
  expect_error([&] { with(argsort, {m, {}, n, o, {}}); }, bad, {"values_in"});
  EXPECT_NO_THROW(with(argsort, {m, {}, {}, o, {}}));
  EXPECT_NO_THROW(with({.count = 0}, {}));
  const Problem rows{.count = 100, .segments = 10, .offset_bytes = 0};
  expect_error([&] { with(rows, {m, n, {}, {}, {}, o}); }, bad, {"offsets"});
  EXPECT_NO_THROW(with(rows, {m, n}));
}

TEST(PlanProblem, BadOnesAreRefusedByName) {
  const auto refuse = [](Problem p, std::initializer_list<std::string_view> words) {
    expect_error([&] { Plan(test_device(), p); }, bad, words);
    expect_error([&] { (void)Plan::scratch_bytes_for(p, {}); }, bad, words);
  };
  refuse({.count = 1, .begin_bit = 10, .end_bit = 5}, {"10:5", "32"});
  refuse({.count = 1, .begin_bit = 5, .end_bit = 5}, {"5:5"});
  refuse({.count = 1, .end_bit = 33}, {"0:33", "32", "u32"});
  refuse({.count = 1, .begin_bit = 32}, {"32:0"});
  refuse({.key = KeyType::f64, .count = 1, .end_bit = 65}, {"0:65", "64", "f64"});
  refuse({.count = 1, .payload = Payload::values, .value_bytes = 3},
         {"value_bytes", "3", "4", "8"});
  refuse({.count = 1, .payload = Payload::positions, .value_bytes = 16}, {"value_bytes", "16"});
  refuse({.count = 1, .keys_out = false}, {"keys_out"});
  refuse({.count = 1, .payload = Payload::values, .keys_out = false}, {"keys_out"});
  refuse({.count = (std::uint64_t{1} << 32) + 1, .payload = Payload::positions},
         {"4294967297", "4-byte"});
  refuse({.count = (std::uint64_t{1} << 40) + 1}, {"1099511627777"});
  refuse({.key = static_cast<KeyType>(77), .count = 1}, {"key is the number 77", "0 to 11"});
  refuse({.count = 1, .payload = static_cast<Payload>(3)}, {"payload is the number 3", "0 to 2"});
  refuse({.count = 1, .order = static_cast<Order>(2)}, {"order is the number 2"});
  refuse({.count = 1, .nan = static_cast<NanOrder>(3)}, {"nan is the number 3"});
  refuse({.count = 1, .zeros = static_cast<ZeroOrder>(2)}, {"zeros is the number 2"});
  refuse({.count = 7, .segments = 3, .offset_bytes = 0}, {"count is 7", "multiple of segments, 3"});
  refuse({.count = 3, .segments = 7, .offset_bytes = 0}, {"count is 3", "multiple of segments, 7"});
  refuse({.count = 7, .segments = 7, .offset_bytes = 1}, {"offset_bytes is 1", "4 and 8", "0"});
}

TEST(PlanMethod, BadOnesAreRefusedByName) {
  const auto refuse = [](Method m, ErrorCode code, std::initializer_list<std::string_view> words) {
    expect_error([&] { Plan(test_device(), {.count = 10}, m); }, code, words);
  };
  refuse({"quantum", ""}, ErrorCode::not_found, {"quantum", "auto", "lsd", "radix"});
  refuse({"", ""}, ErrorCode::not_found, {"lsd"});
  if (on_host()) {
    refuse({"lsd", ""}, ErrorCode::unsupported, {"lsd", "kernels", "cpu:0"});
    refuse({"sample", "parts=0"}, bad, {"parts=0", "1 to"});
    refuse({"sample", "r=5"}, bad, {"'r'", "threads"});
    return;
  }
  if (std::ranges::any_of(algorithms(), &AlgorithmInfo::host))
    refuse({"sample", ""}, ErrorCode::unsupported, {"sample", "cpu:0"});
  refuse({"radix", "q=5"}, bad, {"'q'", "items", "splits"});
  refuse({"radix", "r"}, bad, {"'r'", "name=value"});
  refuse({"radix", "r="}, bad, {"r="});
  refuse({"radix", "r=99"}, bad, {"r=99", "1 to 12"});
  refuse({"radix", "r=0"}, bad, {"r=0"});
  refuse({"radix", "r=-3"}, bad, {"r=-3"});
  refuse({"radix", "r=3x"}, bad, {"r=3x"});
  refuse({"radix", "r=99999999999999999999999"}, bad, {"r=999"});
  refuse({"radix", "r=3,r=4"}, bad, {"'r'", "twice"});
  refuse({"radix", "transpose=maybe"}, bad, {"transpose=maybe", "on, off"});
  refuse({"radix", "b=33"}, bad, {"b=33", "32"});
  refuse({"lsd", "variant=cpu,items=2"}, bad, {"items", "variant=gpu"});
  refuse({"lsd", "variant=gpu,work_group=48"}, ErrorCode::unsupported, {"work_group=48"});
  refuse({"radix", "r=12,items=4096"}, ErrorCode::unsupported, {"items=4096", "local memory"});
}

TEST(PlanScratch, IsKnownWithoutTheDevice) {
  const auto& found = capabilities(*test_device());
  for (const auto& a : algorithms())
    for (const std::uint64_t count : {0, 1, 1000, 4096}) {
      if (is_limited(a) || a.host != on_host() || (a.limit && count == 0)) continue;
      const Problem p{.count = count,
                      .payload = Payload::values,
                      .segments = a.segments ? 7u : 0u,
                      .limit = a.limit ? (count + 1) / 2 : 0};
      const Plan plan(test_device(), p, {a.name, ""});
      EXPECT_EQ(plan.scratch_bytes(), Plan::scratch_bytes_for(p, found, {a.name, ""}))
          << a.name << ' ' << count;
      EXPECT_EQ(plan.algorithm().name, a.name);
      EXPECT_EQ(plan.run_length() != 0, a.partial) << a.name;
    }
}

// Rows need no more than segments with offsets, except that cpu:0 makes the offsets. A matrix
// without columns is sorted, too.
TEST(PlanScratch, OfRows) {
  const auto& found = capabilities(*test_device());
  constexpr std::uint64_t rows = 7, slice_unit = 512;
  const std::uint64_t made = on_host() ? 8 * (rows + 1) + 2 * slice_unit : 0;
  for (const std::uint64_t limit : {0, 3})
    for (const std::uint64_t length : {0, 1, 10, 100, 3000, 100'000}) {
      if (limit > rows * length) continue;
      Problem p{.count = rows * length, .segments = rows, .offset_bytes = 0, .limit = limit};
      const Plan plan(test_device(), p);
      EXPECT_EQ(plan.scratch_bytes(), Plan::scratch_bytes_for(p, found)) << length;
      EXPECT_NE(plan.algorithm().name.find("segmented"), std::string_view::npos) << length;
      p.offset_bytes = 8;
      EXPECT_LE(plan.scratch_bytes(), Plan::scratch_bytes_for(p, found) + made) << length;
    }
}

Capabilities gpu_that_is_not_here() {
  Capabilities gpu;
  gpu.compute_units = 132;
  gpu.max_work_group = 1024;
  gpu.local_memory = 49152;
  gpu.sub_group_words = SubGroupWords::cuda;
  return gpu;
}

// Rows of every length can be planned for a GPU, also rows without records.
TEST(PlanScratch, OfRowsOnAGpuThatIsNotHere) {
  Capabilities gpu = gpu_that_is_not_here();
  gpu.local_struct = 232448;
  for (const std::uint64_t rows : {1, 7, 1 << 20})
    for (const std::uint64_t length : {0, 1, 3, 4, 5, 100, 129, 256, 257, 19456, 19457})
      for (const auto payload : {Payload::none, Payload::positions})
        for (const std::uint64_t limit : {0, 2}) {
          if (limit > rows * length) continue;
          const Problem p{.count = rows * length,
                          .payload = payload,
                          .value_bytes = 8,
                          .segments = rows,
                          .offset_bytes = 0,
                          .limit = limit};
          EXPECT_NO_THROW((void)Plan::scratch_bytes_for(p, gpu)) << rows << " of " << length;
        }
  // The first records of long rows are those of their pieces: no copy of whole rows is needed.
  const Problem long_rows{.count = 1200 * 50'000, .segments = 1200, .offset_bytes = 0, .limit = 10};
  EXPECT_LT(Plan::scratch_bytes_for(long_rows, gpu), long_rows.count * 4 / 5);
}

TEST(PlanScratch, OfADeviceThatIsNotHere) {
  const Capabilities gpu = gpu_that_is_not_here();
  for (const auto& a : algorithms()) {
    if (a.quadratic || is_limited(a) || a.host) continue;
    Problem small{.count = 1000, .payload = Payload::values},
        large{.count = std::uint64_t{1} << 33, .payload = Payload::values};
    if (a.segments) small.segments = large.segments = 7, large.offset_bytes = 8;
    if (a.limit) small.limit = large.limit = 100;
    EXPECT_LE(Plan::scratch_bytes_for(small, gpu, {a.name, ""}),
              Plan::scratch_bytes_for(large, gpu, {a.name, ""}))
        << a.name;
  }
  const Problem large{.count = std::uint64_t{1} << 33};
  EXPECT_GE(Plan::scratch_bytes_for(large, gpu, {"lsd", ""}), large.count * 4)
      << "space for the other half";
}

Capabilities large_gpu() {
  Capabilities h200;
  h200.backend = Backend::cuda;
  h200.compute_units = 132;
  h200.max_work_group = 1024;
  h200.local_memory = 49152;
  h200.local_struct = 232448;
  h200.sub_group_words = SubGroupWords::cuda;
  h200.sub_group_size = 32;
  h200.forward_progress = h200.ordered_local_atomics = true;
  h200.cluster_groups = 16;
  return h200;
}

// Capabilities with arbitrary numbers in their fields. The call must soon return a number of bytes
// or throw Error.
TEST(PlanScratch, OfCapabilitiesThatNoDeviceHas) {
  const auto refuse = [](const char* field, std::uint64_t value, auto&& change) {
    Capabilities c = large_gpu();
    change(c);
    expect_error([&] { (void)Plan::scratch_bytes_for({.count = 1000}, c); }, bad,
                 {std::string("capabilities.") + field, std::to_string(value)});
    expect_error(
        [&] {
          (void)RecordPlan::scratch_bytes_for({.count = 1000, .columns = {{8}}, .key = {{}}}, c);
        },
        bad, {std::string("capabilities.") + field});
  };
  refuse("compute_units", 0, [](auto& c) { c.compute_units = 0; });
  refuse("max_work_group", 0, [](auto& c) { c.max_work_group = 0; });
  refuse("sub_group_size", 0, [](auto& c) { c.sub_group_size = 0; });
  refuse("sub_group_size", 48, [](auto& c) { c.sub_group_size = 48; });
  refuse("cluster_groups", 0, [](auto& c) { c.cluster_groups = 0; });
  refuse("local_memory", 0, [](auto& c) { c.local_memory = 0; });
  refuse("local_struct", 0, [](auto& c) { c.local_struct = 0; });

  Random random(7);
  const auto pick = [&](std::initializer_list<std::uint64_t> of) {
    return of.begin()[random.below(of.size())];
  };
  const auto all = algorithms();
  for (int round = 0; round < 4000; ++round) {
    Capabilities c;
    c.backend = static_cast<Backend>(random.below(3));
    c.kind = static_cast<DeviceKind>(random.below(3));
    c.compute_units = static_cast<unsigned>(pick({0, 1, 2, 132, 1u << 20, ~0u}));
    c.max_work_group = static_cast<unsigned>(pick({0, 1, 2, 3, 32, 100, 1024, ~0u}));
    c.local_memory = pick({0, 1, 1024, 1025, 4096, 32768, 49152, 232448, ~std::uint64_t{0}});
    c.local_struct = pick({0, 1, 1024, 1025, 4096, 32768, 49152, 232448, ~std::uint64_t{0}});
    c.sub_group_words = static_cast<SubGroupWords>(random.below(4));
    c.sub_group_size = static_cast<unsigned>(pick({0, 1, 2, 3, 8, 16, 32, 64, 128, ~0u}));
    c.forward_progress = random.below(2) != 0;
    c.cluster_groups = static_cast<unsigned>(pick({0, 1, 2, 8, 16, ~0u}));
    c.ordered_local_atomics = random.below(2) != 0;
    const auto& algorithm = all[random.below(all.size())];
    Problem p{.key = all_key_types[random.below(all_key_types.size())],
              .count = pick({0, 1, 97, 5000, 1u << 20, std::uint64_t{1} << 33}),
              .payload = static_cast<Payload>(random.below(2)),
              .value_bytes = random.below(2) != 0 ? 4u : 8u};
    if (algorithm.segments) p.segments = 7, p.offset_bytes = 8;
    if (algorithm.limit) p.limit = p.count / 2;
    try {
      (void)Plan::scratch_bytes_for(p, c, {random.below(2) != 0 ? "auto" : algorithm.name, ""});
    } catch (const Error&) {
    }
  }
}

// The default algorithm needs at most 1.02 times the records' bytes plus 1 MiB of scratch memory.
TEST(PlanScratch, OfTheDefaultOnALargeGpu) {
  const Capabilities h200 = large_gpu();
  for (const auto key : {KeyType::u32, KeyType::f32, KeyType::u64, KeyType::f64})
    for (const unsigned value : {0, 4, 8})
      for (unsigned log2 = 8; log2 <= 34; ++log2)
        for (const unsigned bits : {0, 16}) {
          const Problem p{.key = key,
                          .count = std::uint64_t{1} << log2,
                          .payload = value == 0 ? Payload::none : Payload::values,
                          .value_bytes = value == 0 ? 4 : value,
                          .end_bit = bits};
          const std::uint64_t records = p.count * (info(key).bytes + value);
          EXPECT_LE(Plan::scratch_bytes_for(p, h200),
                    records + records / 50 + (std::uint64_t{1} << 20))
              << info(key).name << ' ' << value << " 2^" << log2 << ' ' << bits;
        }
}

// Distinguishes onesweep from lsd by the scratch memory: onesweep has an additional table. With
// fewer compute units, each could count too many keys.
TEST(PlanScratch, OfMoreRecordsThan32BitsCount) {
  const Problem p{.key = KeyType::u32, .count = (std::uint64_t{1} << 32) + 1};
  Capabilities gpu = large_gpu();
  EXPECT_EQ(Plan::scratch_bytes_for(p, gpu), Plan::scratch_bytes_for(p, gpu, {"onesweep", ""}));
  EXPECT_NE(Plan::scratch_bytes_for(p, gpu), Plan::scratch_bytes_for(p, gpu, {"lsd", ""}));
  expect_error(
      [&] {
        (void)Plan::scratch_bytes_for(p, gpu, {"msd", ""});
      },
      ErrorCode::unsupported, {"msd", "4294967297", "2^32"});
  gpu.compute_units = 15;
  EXPECT_EQ(Plan::scratch_bytes_for(p, gpu), Plan::scratch_bytes_for(p, gpu, {"lsd", ""}));
  expect_error(
      [&] {
        (void)Plan::scratch_bytes_for(p, gpu, {"onesweep", ""});
      },
      ErrorCode::unsupported, {"4294967297", "15", "4026531840"});
}

TEST(PlanScratch, KeepsToACeiling) {
  Random random(5);
  for (const auto payload : {Payload::none, Payload::values}) {
    const Problem p{.key = KeyType::u64, .count = 300'007, .payload = payload, .value_bytes = 8};
    const Plan free_plan(test_device(), p);
    for (const std::uint64_t share : {1, 3, 10}) {
      const std::uint64_t ceiling = free_plan.scratch_bytes() / share;
      Method method;
      method.max_scratch_bytes = ceiling;
      const Plan plan(test_device(), p, method);
      EXPECT_LE(plan.scratch_bytes(), ceiling);
      EXPECT_EQ(plan.algorithm().name == free_plan.algorithm().name, share == 1)
          << plan.algorithm().name;
      EXPECT_TRUE(plan.algorithm().stable);
    }
    // The same on host memory.
    std::vector<std::uint64_t> keys(p.count), values(p.count);
    for (std::uint64_t i = 0; i < p.count; ++i) keys[i] = random.next() >> 50, values[i] = i;
    Options options;
    options.device = test_device()->info().id;
    options.max_scratch_bytes = free_plan.scratch_bytes() / 4;
    const auto report = sortium::sort(keys, values, options);
    EXPECT_NE(report.algorithm, free_plan.algorithm().name);
    for (std::uint64_t i = 1; i < p.count; ++i)
      ASSERT_TRUE(keys[i - 1] < keys[i] || (keys[i - 1] == keys[i] && values[i - 1] < values[i]))
          << i;
  }

  const Problem p{.count = 300'000};  // too many for the sorts without scratch memory
  const auto refused = [&](const Method& method, std::initializer_list<const char*> words) {
    try {
      (void)Plan(test_device(), p, method);
      ADD_FAILURE() << method.algorithm << " was not refused";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
      for (const auto* word : words)
        EXPECT_NE(std::string(e.what()).find(word), std::string::npos) << e.what();
    }
  };
  refused({.algorithm = "auto", .parameters = "", .max_scratch_bytes = 1},
          {"max_scratch_bytes is 1", "are needed", "in-place"});
  const std::string fast = on_host() ? "sample" : "lsd";
  refused({.algorithm = fast, .parameters = "", .max_scratch_bytes = 1000},
          {"max_scratch_bytes is 1000", fast.c_str(), "needs"});
}

TEST(Host, FloatsBySeveralPolicies) {
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  const std::vector<float> keys{1.f, nan, 0.f, -0.f, -inf, std::copysign(nan, -1.f), -1.f};
  using Positions = std::vector<std::uint32_t>;
  Options options;
  options.device = test_device()->info().id;
  EXPECT_EQ(argsort(keys, options), (Positions{4, 6, 2, 3, 0, 1, 5}));
  options.nan = NanOrder::first;
  EXPECT_EQ(argsort(keys, options), (Positions{1, 5, 4, 6, 2, 3, 0}));
  options.zeros = ZeroOrder::distinct;
  EXPECT_EQ(argsort(keys, options), (Positions{1, 5, 4, 6, 3, 2, 0}));
  options.nan = NanOrder::bits;
  EXPECT_EQ(argsort(keys, options), (Positions{5, 4, 6, 3, 2, 0, 1}));
  options.order = Order::descending;
  EXPECT_EQ(argsort(keys, options), (Positions{1, 0, 2, 3, 6, 4, 5}));
}

}  // namespace
}  // namespace sortium::test
