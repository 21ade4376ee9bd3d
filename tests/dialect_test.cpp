// Tests that every word of the kernel dialect, and every primitive, does what dialect.md says.
// Words for keys and records are in dialect_records_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "device_array.hpp"
#include "kernels/kernels.hpp"
#include "keys.hpp"
#include "test_kernels.hpp"

namespace sortium::test {
namespace {

constexpr std::uint32_t groups = 37;

// A way to implement the sub-group words.
struct Manner {
  std::string name;
  unsigned emulated_lanes = 0;  // 0: the device's own sub-groups
  bool ordered_atomics = true;  // if the device has ordered atomics
};
void PrintTo(const Manner& m, std::ostream* out) { *out << m.name; }

// Sets the capabilities that `m` needs. Returns false if the device does not support them.
bool speak(const Manner& m, Capabilities& c) {
  c = capabilities(*test_device());
  if (m.emulated_lanes == 0 && m.ordered_atomics) return true;
  if (m.emulated_lanes == 0) return std::exchange(c.ordered_local_atomics, false);
  if (c.backend == Backend::cuda) return false;
  c.ordered_local_atomics = false;
  c.sub_group_words = SubGroupWords::emulated;
  c.sub_group_size = m.emulated_lanes;
  return true;
}

class Words : public testing::Test {
 protected:
  // Builds the kernels of one part of dialect_test.cl.
  void load(const char* part, unsigned work_group, kernels::Defines more = {},
            std::uint64_t count = 1) {
    wg = work_group;
    Problem p;
    p.count = count;
    auto defines = more.problem(p).set("WG", wg);
    for (const std::string_view each :
         {"SAY_WORDS", "SAY_SUB_GROUP", "SAY_SCAN", "SAY_RANK", "SAY_CLUSTER", "SAY_WRONG"})
      defines.set(each, int{each == part});
    for (const std::string_view each : {"BINS", "CALLS", "GROUPS"})  // of other parts
      if (std::ranges::find(defines.parameters(), each) == defines.parameters().end())
        defines.set(each, 0);
    module = kernels::build(*test_device(), caps,
                            kernels::Source{"dialect_test.cl", dialect_test_cl}, defines);
  }
  void launch(const char* name, std::vector<Arg> args) {
    const auto kernel = module->kernel(name);
    queue->launch({*kernel, groups, wg, args, "test"});
  }
  [[nodiscard]] std::uint32_t items() const { return groups * wg; }

  Capabilities caps = capabilities(*test_device());
  unsigned wg = 0;
  std::unique_ptr<Queue> queue = test_device()->make_queue();
  std::shared_ptr<Module> module;
  Random random{42};
};

// Memory that lies across the buffer's byte 2^33, or begins far behind it. (NVIDIA's OpenCL fails
// here, so the library makes no such buffers there.)
TEST_F(Words, MemoryFarInABuffer) {
  load("SAY_WORDS", 128);
  const std::uint64_t bytes = 2 * items() * 4, around = 4;
  const std::uint64_t places[] = {(std::uint64_t{1} << 33) - 4096, (std::uint64_t{1} << 33) + 4096,
                                  std::uint64_t{9'600'000'000} / 512 * 512};
  std::shared_ptr<Buffer> buffer;
  try {
    buffer = test_device()->allocate(places[2] + (1u << 20));
  } catch (const Error& e) {
    GTEST_SKIP() << e.what();
  }
  for (const std::uint64_t place : places) {
    const Memory memory = buffer->memory().slice(place, bytes + 2 * around);
    std::vector<std::uint32_t> got(memory.bytes / 4, 7);
    queue->write(memory, got.data(), memory.bytes);
    queue->fill(memory.slice(around, bytes), 0x12345678, bytes);
    queue->read(got.data(), memory, memory.bytes);
    EXPECT_EQ(got.front(), 7u) << place;
    EXPECT_EQ(got.back(), 7u) << place;
    EXPECT_EQ(static_cast<std::uint64_t>(std::ranges::count(got, 0x12345678u)), bytes / 4) << place;

    DeviceArray<std::uint32_t> sums(*queue, groups * (wg / 32 + 1)), largest(*queue, groups),
        seen(*queue, groups, 0);
    const Memory next = memory.slice(0, 4), tickets = memory.slice(4, bytes);
    queue->fill(next, 0, 4);
    launch("say_atomics", {{"next", next},
                           {"tickets", tickets},
                           {"sums", sums},
                           {"largest", largest},
                           {"seen", seen}});
    queue->read(got.data(), memory, memory.bytes);
    EXPECT_EQ(got[0], 3 * items()) << place;
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < items(); ++i) sum += got[1 + 2 * i + 1];
    EXPECT_EQ(sum, 3 * items() * (items() - 1) / 2) << place;
  }
}

TEST_F(Words, Ids) {
  load("SAY_WORDS", 128);
  DeviceArray<std::uint32_t> out(*queue, 3 * items());
  launch("say_ids", {{"out", out}});
  const auto got = out.read();
  for (std::uint32_t i = 0; i < items(); ++i) {
    ASSERT_EQ(got[3 * i], i % wg);
    ASSERT_EQ(got[3 * i + 1], i / wg);
    ASSERT_EQ(got[3 * i + 2], groups);
  }
}

TEST_F(Words, BarriersShowWhatOthersWrote) {
  load("SAY_WORDS", 128);
  DeviceArray<std::uint32_t> cells(*queue, items()), wrong(*queue, items());
  launch("say_barriers", {{"cells", cells}, {"wrong", wrong}});
  EXPECT_EQ(wrong.read(), std::vector<std::uint32_t>(items(), 0)) << "1: local, 2: global memory";
}

TEST_F(Words, Atomics) {
  load("SAY_WORDS", 128);
  DeviceArray<std::uint32_t> next(*queue, 1, 0), tickets(*queue, 2 * items()),
      sums(*queue, groups * (wg / 32 + 1)), largest(*queue, groups), seen(*queue, groups, 0);
  launch(
      "say_atomics",
      {{"next", next}, {"tickets", tickets}, {"sums", sums}, {"largest", largest}, {"seen", seen}});
  const auto got = tickets.read(), per_group = sums.read();
  EXPECT_EQ(next.read()[0], 3 * items());
  std::vector<std::uint32_t> all(items());
  for (std::uint32_t g = 0; g < groups; ++g) {
    std::vector<std::uint32_t> local(wg), should(wg);
    std::iota(should.begin(), should.end(), 0u);
    for (std::uint32_t t = 0; t < wg; ++t) {
      local[t] = got[2 * (g * wg + t)];
      all[g * wg + t] = got[2 * (g * wg + t) + 1];
    }
    std::ranges::sort(local);
    ASSERT_EQ(local, should) << "local_add returns a different number to each work-item";
    ASSERT_EQ(per_group[g * (wg / 32 + 1)], wg);
    std::uint32_t most = 0;
    for (std::uint32_t t = 0; t < wg; ++t) most = std::max(most, (g * wg + t) * 2654435761u);
    ASSERT_EQ(largest.read()[g], most);
    std::uint32_t bits = 0;
    for (std::uint32_t t = 0; t < wg; ++t) bits |= t % 5 != 0 ? 1u << (t % 32) : 0;
    ASSERT_EQ(seen.read()[g], bits);
    for (std::uint32_t t = 0; t < wg; ++t)
      ASSERT_EQ(per_group[g * (wg / 32 + 1) + 1 + t / 32] >> (t % 32) & 1, t % 3 != 0 ? 1u : 0u);
  }
  std::ranges::sort(all);
  for (std::uint32_t i = 0; i < items(); ++i)
    ASSERT_EQ(all[i], 3 * i) << "global_add returns a different number to each work-item";
}

TEST_F(Words, Popcount) {
  load("SAY_WORDS", 128);
  std::vector<std::uint32_t> in(items());
  for (auto& x : in) x = static_cast<std::uint32_t>(random.next() & random.next());
  in[0] = 0;
  in[1] = ~0u;
  in[2] = 1u << 31;
  DeviceArray<std::uint32_t> device_in(*queue, in), out(*queue, items());
  launch("say_popcount", {{"in", device_in}, {"out", out}});
  const auto got = out.read();
  for (std::uint32_t i = 0; i < items(); ++i)
    ASSERT_EQ(got[i], static_cast<unsigned>(std::popcount(in[i])));
}

TEST_F(Words, AcquireSeesWhatWasReleased) {
  if (test_device()->info().platform == "Oclgrind")
    GTEST_SKIP() << "Oclgrind takes whatever passes from one work-group to another for a race";
  load("SAY_WORDS", 128);
  DeviceArray<std::uint32_t> next(*queue, 1, 0), flags(*queue, groups, 0),
      messages(*queue, items()), out(*queue, items());
  launch("say_acquire_release",
         {{"next", next}, {"flags", flags}, {"messages", messages}, {"got", out}});
  EXPECT_EQ(flags.read(), std::vector<std::uint32_t>(groups, 7));
  const auto got = out.read();
  std::uint32_t gave_up = 0;
  for (std::uint32_t i = 0; i < items(); ++i) {
    const std::uint32_t ticket = i / wg, from = ticket == 0 ? 0 : ticket - 1;
    gave_up += got[i] == ~0u;
    ASSERT_EQ(got[i], got[i] == ~0u ? ~0u : from * 1000 + (i % wg + 1) % wg) << "ticket " << ticket;
  }
  EXPECT_TRUE(gave_up == 0 || !caps.forward_progress);
}

TEST_F(Words, ClustersSend) {
  const unsigned cluster = caps.cluster_groups;
  if (cluster < 2)
    GTEST_SKIP() << "this device's work-groups cannot reach each other's local memory";
  const unsigned bytes_for_each = 16 * 3 + 8 * 2 + 4 * 2;
  load("SAY_CLUSTER", 128,
       kernels::Defines()
           .set("GROUPS", cluster)
           .local_struct("say_cluster_memory_t", cluster * bytes_for_each + 16));
  DeviceArray<std::uint32_t> wrong(*queue, 3 * cluster * wg);
  const auto kernel = module->kernel("say_cluster");
  const Arg args[] = {{"wrong", wrong}};
  queue->launch({*kernel, 3 * cluster, wg, args, "test", cluster});
  EXPECT_EQ(wrong.read(), std::vector<std::uint32_t>(3 * cluster * wg, 0))
      << "1: 4 bytes, 2: 8, 4: 16";
}

// Runs only by name: shows that the simulator reports errors.
TEST_F(Words, DISABLED_Wrong) {
  load("SAY_WRONG", 64);
  DeviceArray<std::uint32_t> out(*queue, items());
  launch("say_wrong", {{"out", out}});
  queue->finish();
}

// The words and primitives that depend on the variant of sub-groups.
class SubGroups : public Words, public testing::WithParamInterface<Manner> {
 protected:
  void SetUp() override {
    if (!speak(GetParam(), caps)) GTEST_SKIP() << "this device does not speak so";
    lanes = std::min(caps.sub_group_size, 32u);
  }
  unsigned lanes = 0;
};

TEST_P(SubGroups, BallotAndShuffle) {
  for (const unsigned work_group : {64u, 256u}) {
    load("SAY_SUB_GROUP", work_group);
    std::vector<std::uint32_t> predicates(items()), from(items());
    for (auto& p : predicates)
      p = random.below(2) != 0 ? static_cast<std::uint32_t>(random.next() | 0x100) : 0;
    for (auto& f : from) f = static_cast<std::uint32_t>(random.below(lanes));
    std::fill_n(predicates.begin(), 64, 0u);
    DeviceArray<std::uint32_t> device_predicates(*queue, predicates), device_from(*queue, from),
        out(*queue, 4 * items());
    launch("say_sub_group",
           {{"predicates", device_predicates}, {"from_lanes", device_from}, {"out", out}});
    const auto got = out.read();
    for (std::uint32_t i = 0; i < items(); ++i) {
      const std::uint32_t first = i / lanes * lanes;
      std::uint32_t ballot = 0;
      for (std::uint32_t lane = 0; lane < lanes; ++lane)
        ballot |= (predicates[first + lane] != 0 ? 1u : 0u) << lane;
      ASSERT_EQ(got[4 * i], i % wg % lanes);
      ASSERT_EQ(got[4 * i + 1], i % wg / lanes);
      ASSERT_EQ(got[4 * i + 2], ballot) << "work-item " << i;
      ASSERT_EQ(got[4 * i + 3], (first + from[i]) * 2654435761u) << "work-item " << i;
    }
  }
}

TEST_P(SubGroups, SubGroupBarrier) {
  load("SAY_SUB_GROUP", 256);
  DeviceArray<std::uint32_t> wrong(*queue, items());
  launch("say_sub_group_barrier", {{"wrong", wrong}});
  EXPECT_EQ(wrong.read(), std::vector<std::uint32_t>(items(), 0));
}

// Scans by fewer work-items than a sub-group has lanes, by one sub-group, and by several. The other
// work-items pass numbers, too, which must not be added.
TEST_P(SubGroups, Scan) {
  const auto check = [&]<class Index>(Index, std::uint64_t count, unsigned scan) {
    load("SAY_SCAN", 256, {}, count);
    std::vector<Index> in(items());
    for (auto& x : in) x = static_cast<Index>(random.next());  // sums wrap around
    DeviceArray<Index> device_in(*queue, in), out(*queue, 2 * items()), totals(*queue, 2 * items());
    launch("say_scan",
           {{"in", device_in}, {"out", out}, {"totals", totals}, {"width", std::uint32_t{scan}}});
    const auto got = out.read(), total = totals.read();
    for (std::uint32_t g = 0; g < groups; ++g) {
      Index once = 0, twice = 0;
      for (std::uint32_t t = 0; t < scan; ++t) {
        const std::uint32_t i = g * wg + t;
        ASSERT_EQ(got[i], once) << "scan of " << scan << ", work-item " << t;
        ASSERT_EQ(got[items() + i], twice);
        twice = static_cast<Index>(twice + once);
        once = static_cast<Index>(once + in[i]);
      }
      for (std::uint32_t i = g * wg; i < (g + 1) * wg; ++i) {
        ASSERT_EQ(total[2 * i], once) << "scan of " << scan << ", total";
        ASSERT_EQ(total[2 * i + 1], twice) << "scan of " << scan << ", total of the second";
      }
    }
  };
  for (const unsigned scan : {1u, 2u, 8u, 32u, 64u, 256u}) {
    check(std::uint32_t{}, 1, scan);
    check(std::uint64_t{}, std::uint64_t{1} << 40, scan);
  }
}

TEST_P(SubGroups, Rank) {
  constexpr unsigned calls = 5;
  for (const unsigned bins : {1u, 2u, 17u, 257u}) {
    load("SAY_RANK", 256, kernels::Defines().set("BINS", 257).set("CALLS", calls));
    std::vector<std::uint32_t> in(calls * items());
    for (auto& b : in) b = static_cast<std::uint32_t>(random.below(bins) * random.below(2));
    DeviceArray<std::uint32_t> device_in(*queue, in), out(*queue, in.size());
    launch("say_rank", {{"bins", device_in}, {"ranks", out}});
    const auto got = out.read();
    for (std::uint32_t first = 0; first < items(); first += lanes) {
      std::vector<std::uint32_t> seen(bins);
      for (unsigned call = 0; call < calls; ++call)
        for (std::uint32_t i = first; i < first + lanes; ++i) {
          const auto at = call * items() + i;
          ASSERT_EQ(got[at], seen[in[at]]++)
              << bins << " bins, call " << call << ", work-item " << i;
        }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Spoken, SubGroups,
                         testing::Values(Manner{"as_the_device_does"},
                                         Manner{"unordered_atomics", 0, false},
                                         Manner{"emulated_8", 8}, Manner{"emulated_16", 16},
                                         Manner{"emulated_32", 32}, Manner{"emulated_64", 64}),
                         [](const auto& instance) { return instance.param.name; });

// Kernels that fill local memory with their struct must leave room for these words.
TEST(EmulatedSubGroups, HaveRoomForTheirWords) {
  const Capabilities& c = capabilities(*test_device());
  const std::uint64_t words =
      c.sub_group_words == SubGroupWords::emulated ? std::min(c.max_work_group, 1024u) : 0;
  if (c.backend == Backend::opencl) {
    EXPECT_LE(c.local_struct + 4 * words, c.local_memory);
  }
}

}  // namespace
}  // namespace sortium::test
