// Tests that every word of the kernel dialect, and every primitive, does what dialect.md says.
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

// Runs only by name: shows that the simulator reports errors.
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

// ---------------------------------------------------------------------------------------------

struct Policy {
  NanOrder nan;
  ZeroOrder zeros;
};
using TypeAndOrder = std::tuple<KeyType, Order, Policy>;

class Keys : public testing::TestWithParam<TypeAndOrder> {
 protected:
  // Builds the kernels of one part of dialect_records_test.cl.
  void load(const char* part, unsigned begin_bit = 0, unsigned end_bit = 0,
            unsigned value_bytes = 0) {
    p.key = std::get<0>(GetParam());
    p.order = std::get<1>(GetParam());
    p.nan = std::get<2>(GetParam()).nan;
    p.zeros = std::get<2>(GetParam()).zeros;
    p.begin_bit = begin_bit;
    p.end_bit = end_bit;
    p.payload = value_bytes == 0 ? Payload::none : Payload::values;
    p.value_bytes = value_bytes;
    kernels::Defines defines;
    defines.problem(p).set("WG", wg);
    for (const std::string_view each : {"SAY_KEYS", "SAY_RECORDS", "SAY_COMPARISONS"})
      defines.set(each, int{each == part});
    module = kernels::build(*test_device(), capabilities(*test_device()),
                            kernels::Source{"dialect_records_test.cl", dialect_records_test_cl},
                            defines);
  }
  void launch(const char* name, std::uint32_t count, std::vector<Arg> args) {
    const auto kernel = module->kernel(name);
    queue->launch({*kernel, (count + wg - 1) / wg, wg, args, "test"});
  }
  // Special keys, their neighbours, and random ones of every magnitude.
  [[nodiscard]] std::vector<std::uint64_t> some_keys(std::size_t count) {
    const std::uint64_t all = ~std::uint64_t{0} >> (64 - info(p.key).bits());
    auto keys = special_keys(p.key);
    while (keys.size() < count) {
      const auto r = random.next();
      keys.push_back((random.below(2) != 0 ? r : keys[r % keys.size()] ^ (r >> 40 & 3)) & all);
    }
    keys.resize(count);
    return keys;
  }
  template <class Check>
  void with_key_type(Check&& check) {
    switch (info(p.key).bytes) {
      case 1:
        return check(std::uint8_t{});
      case 2:
        return check(std::uint16_t{});
      case 4:
        return check(std::uint32_t{});
      default:
        check(std::uint64_t{});
    }
  }
  template <class K>
  static std::vector<K> narrow(const std::vector<std::uint64_t>& keys) {
    return {keys.begin(), keys.end()};
  }

  static constexpr unsigned wg = 64;
  Problem p;
  std::unique_ptr<Queue> queue = test_device()->make_queue();
  std::shared_ptr<Module> module;
  Random random{7};
};

TEST_P(Keys, AreOrderedAsOnTheHost) {
  const unsigned all = info(std::get<0>(GetParam())).bits();
  for (const auto& [begin, end] : {std::pair{0u, 0u}, {5u, std::min(21u, all - 1)}}) {
    if (end != 0 && std::get<1>(GetParam()) == Order::ascending)
      continue;  // every case builds kernels
    load("SAY_KEYS", begin, end);
    const auto keys = some_keys(10'000);
    with_key_type([&]<class K>(K) {
      DeviceArray<K> in(*queue, narrow<K>(keys)), orders(*queue, keys.size()),
          ranks(*queue, keys.size() + 1), untied(*queue, keys.size()), back(*queue, keys.size());
      DeviceArray<std::uint32_t> digits(*queue, keys.size()), ties(*queue, keys.size());
      launch("say_key_order", static_cast<std::uint32_t>(keys.size()),
             {{"keys", in},
              {"orders", orders},
              {"ranks", ranks},
              {"digits", digits},
              {"untied", untied},
              {"back", back},
              {"ties", ties},
              {"n", keys.size()}});
      const auto order = orders.read(), rank = ranks.read(), fast = untied.read(),
                 key_back = back.read();
      const auto digit = digits.read(), tie = ties.read();
      const auto o = detail::key_order(info(p.key), p.order, p.nan, p.zeros);
      ASSERT_EQ(rank.back(), detail::key_mask(o)) << "of KEY_LAST";
      for (std::size_t i = 0; i < keys.size(); ++i) {
        ASSERT_EQ(order[i], order_bits(keys[i], p)) << std::hex << keys[i];
        ASSERT_EQ(rank[i], rank_of(keys[i], p)) << std::hex << keys[i];
        ASSERT_EQ(digit[i], static_cast<std::uint64_t>(order[i]) >> (all - 7));
        ASSERT_EQ(fast[i], detail::order_of_untied_key(keys[i], o)) << std::hex << keys[i];
        ASSERT_EQ(key_back[i], detail::key_with_order(order[i], o)) << std::hex << keys[i];
        ASSERT_EQ(tie[i], detail::key_may_tie(keys[i], o)) << std::hex << keys[i];
      }
    });
  }
}

class Records : public Keys {};

TEST_P(Records, AreLoadedAndStored) {
  for (const unsigned value_bytes : {0u, 4u, 8u}) {
    load("SAY_RECORDS", 0, 0, value_bytes);
    const std::uint32_t n = 1009;
    const auto keys = some_keys(n);
    with_key_type([&]<class K>(K) {
      const auto check = [&]<class V>(V) {
        std::vector<V> values(n);
        for (auto& v : values) v = static_cast<V>(random.next());
        DeviceArray<K> keys_in(*queue, narrow<K>(keys)), keys_out(*queue, n);
        DeviceArray<V> values_in(*queue, values), values_out(*queue, n);
        const Memory none;
        // With given values, with positions, and without keys_out.
        for (const bool read : {true, false}) {
          launch("say_records", n,
                 {{"keys_in", keys_in},
                  {"values_in", read && value_bytes ? values_in.memory() : none},
                  {"keys_out", keys_out},
                  {"values_out", value_bytes ? values_out.memory() : none},
                  {"n", std::uint64_t{n}}});
          const auto k = keys_out.read();
          const auto v = values_out.read();
          for (std::uint32_t i = 0; i < n; ++i) {
            ASSERT_EQ(k[n - 1 - i], keys[i]);
            if (value_bytes == 0) continue;
            ASSERT_EQ(v[n - 1 - i], read ? values[i] : i);
          }
        }
        if (value_bytes == 0) return;
        DeviceArray<V> positions(*queue, n);
        launch("say_records", n,
               {{"keys_in", keys_in},
                {"values_in", none},
                {"keys_out", none},
                {"values_out", positions},
                {"n", std::uint64_t{n}}});
        const auto v = positions.read();
        for (std::uint32_t i = 0; i < n; ++i) ASSERT_EQ(v[n - 1 - i], i);
      };
      value_bytes == 8 ? check(std::uint64_t{}) : check(std::uint32_t{});
    });
  }
}

TEST_P(Records, CompareExchangeKeepsTiesAndWhatIsNotThere) {
  load("SAY_COMPARISONS", 3, std::min(20u, info(std::get<0>(GetParam())).bits() - 1), 4);
  constexpr std::uint32_t n = 20 * wg;  // pairs
  const auto keys = some_keys(2 * n);
  std::vector<std::uint32_t> values(2 * n), there(n);
  std::iota(values.begin(), values.end(), 0u);
  for (auto& t : there) t = random.below(4) != 0;
  with_key_type([&]<class K>(K) {
    DeviceArray<K> keys_in(*queue, narrow<K>(keys)), keys_out(*queue, 2 * n);
    DeviceArray<std::uint32_t> values_in(*queue, values), values_out(*queue, 2 * n),
        both(*queue, there);
    launch("say_compare_exchange", n,
           {{"keys_in", keys_in},
            {"values_in", values_in},
            {"keys_out", keys_out},
            {"values_out", values_out},
            {"both_there", both}});
    const auto k = keys_out.read();
    const auto v = values_out.read();
    for (std::uint32_t i = 0; i < n; ++i) {
      const auto a = rank_of(keys[2 * i], p), b = rank_of(keys[2 * i + 1], p);
      const bool swap = there[i] != 0 && (i / wg % 2 != 0 ? a < b : b < a);
      for (const std::uint32_t side : {0u, 1u}) {
        ASSERT_EQ(v[2 * i + side], 2 * i + (swap ? 1 - side : side));
        ASSERT_EQ(k[2 * i + side], keys[v[2 * i + side]]);
      }
    }
  });
}

TEST_P(Records, RankInRun) {
  load("SAY_COMPARISONS", 2, std::min(30u, info(std::get<0>(GetParam())).bits() - 1), 4);
  for (const std::uint32_t n : {0u, 1u, 2u, 37u, 64u}) {
    auto run = some_keys(wg);
    std::sort(run.begin(), run.begin() + n,
              [&](auto a, auto b) { return rank_of(a, p) < rank_of(b, p); });
    const auto keys = some_keys(10 * wg);
    with_key_type([&]<class K>(K) {
      DeviceArray<K> device_run(*queue, narrow<K>(run)), device_keys(*queue, narrow<K>(keys));
      DeviceArray<std::uint32_t> out(*queue, 4 * keys.size());
      launch("say_rank_in_run", static_cast<std::uint32_t>(keys.size()),
             {{"run", device_run}, {"keys", device_keys}, {"out", out}, {"n", n}});
      const auto got = out.read();
      for (std::size_t i = 0; i < keys.size(); ++i) {
        const auto rank = rank_of(keys[i], p);
        const auto smaller = std::count_if(run.begin(), run.begin() + n,
                                           [&](auto k) { return rank_of(k, p) < rank; });
        const auto ties = std::count_if(run.begin(), run.begin() + n,
                                        [&](auto k) { return rank_of(k, p) == rank; });
        for (const int memory : {0, 2}) {
          ASSERT_EQ(got[4 * i + memory], smaller) << n;
          ASSERT_EQ(got[4 * i + memory + 1], smaller + ties) << n;
        }
      }
    });
  }
}

std::string name_of(const testing::TestParamInfo<TypeAndOrder>& instance) {
  return std::string(info(std::get<0>(instance.param)).name) +
         (std::get<1>(instance.param) == Order::ascending ? "_ascending" : "_descending") +
         std::array{"", "_nan_first",
                    "_nan_bits"}[static_cast<unsigned>(std::get<2>(instance.param).nan)] +
         (std::get<2>(instance.param).zeros == ZeroOrder::tied ? "" : "_zeros_distinct");
}
INSTANTIATE_TEST_SUITE_P(All, Keys,
                         testing::Combine(testing::ValuesIn(all_key_types),
                                          testing::Values(Order::ascending, Order::descending),
                                          testing::Values(Policy{NanOrder::last, ZeroOrder::tied})),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Policies, Keys,
                         testing::Combine(testing::Values(KeyType::f32, KeyType::f16),
                                          testing::Values(Order::ascending, Order::descending),
                                          testing::Values(Policy{NanOrder::first, ZeroOrder::tied},
                                                          Policy{NanOrder::bits,
                                                                 ZeroOrder::distinct},
                                                          Policy{NanOrder::bits, ZeroOrder::tied})),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Some, Records,
                         testing::Values(TypeAndOrder{KeyType::f32, Order::descending, {}},
                                         TypeAndOrder{KeyType::i64, Order::ascending, {}},
                                         TypeAndOrder{KeyType::f16,
                                                      Order::ascending,
                                                      {NanOrder::first, ZeroOrder::tied}},
                                         TypeAndOrder{KeyType::u8, Order::descending, {}}),
                         name_of);

// Options in a source's first line reach the compiler, also when it compiles a cached binary.
TEST(Options, OfAFirstLine) {
  const auto device = test_device();
  if (capabilities(*device).backend != Backend::opencl)
    GTEST_SKIP() << "CUDA's kernels say it themselves";
  const std::string kernel = "__kernel void answer(__global uint *to) { to[0] = ANSWER; }\n";
  std::vector<std::byte> binary;
  EXPECT_NE(device->compile("//! -DANSWER=42\n" + kernel, binary)->kernel("answer"), nullptr);
  if (!binary.empty()) {
    EXPECT_NE(device->load(binary)->kernel("answer"), nullptr);
  }
  EXPECT_THROW((void)device->compile(kernel, binary), Error);
}

// A value of SORTIUM_OPENCL_OPTIONS, as long as this lives.
class OpenClOptions {
 public:
  explicit OpenClOptions(const char* value) {
    if (const char* before = std::getenv(name)) before_ = before;
    *value == '\0' ? ::unsetenv(name) : ::setenv(name, value, 1);
  }
  ~OpenClOptions() { before_ ? ::setenv(name, before_->c_str(), 1) : ::unsetenv(name); }

 private:
  static constexpr const char* name = "SORTIUM_OPENCL_OPTIONS";
  std::optional<std::string> before_;
};

// Returns the text of a kernel for OpenCL, with the defines of `resident` work-groups of
// `work_items`; 0: no bound.
std::string bounded_text(SubGroupWords words, unsigned resident, unsigned work_items) {
  Capabilities c;
  c.backend = Backend::opencl;
  c.sub_group_words = words;
  kernels::Defines defines;
  defines.problem({});
  if (resident == 0)
    defines.set("WG", work_items);
  else
    defines.resident(resident, work_items);
  const auto* const source = resident == 0 ? "\nPARAMETER(WG)\n" : "\nPARAMETER(RESIDENT)\n";
  return kernels::full_text(c, {kernels::Source{"some.cl", source}}, defines);
}

// NVIDIA's OpenCL has no attribute for the number of work-groups that share a compute unit. A
// compiler option bounds the registers instead.
TEST(Options, BoundRegistersOnNvidiasOpenCl) {
  const OpenClOptions none("");
  using enum SubGroupWords;
  EXPECT_TRUE(bounded_text(ptx, 2, 256).starts_with("//! -cl-nv-maxrregcount=128\n"));
  EXPECT_TRUE(bounded_text(ptx, 1, 128).starts_with("//! -cl-nv-maxrregcount=255\n"));
  EXPECT_TRUE(bounded_text(ptx, 0, 256).starts_with("#define"));
  EXPECT_TRUE(bounded_text(khr, 2, 256).starts_with("#define"));
}

TEST(Options, OfTheEnvironmentFollow) {
  const OpenClOptions more("-cl-opt-disable -w");
  using enum SubGroupWords;
  EXPECT_TRUE(
      bounded_text(ptx, 2, 256).starts_with("//! -cl-nv-maxrregcount=128 -cl-opt-disable -w\n"));
  EXPECT_TRUE(bounded_text(khr, 0, 256).starts_with("//! -cl-opt-disable -w\n"));
}

}  // namespace
}  // namespace sortium::test
