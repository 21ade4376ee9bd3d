// Which of its ways msd takes, and floats, whose ways differ most. The table has few such lists.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "conformance_trials.hpp"
#include "device_array.hpp"
#include "sort/self_test.hpp"
#include "support.hpp"
#include "table.hpp"
#include "trial.hpp"

namespace sortium::test {
namespace {

// Leaves out the launches of some phases, and all launches after the first `most` ones.
class QueueWithout final : public Queue {
 public:
  QueueWithout(Queue& queue, std::vector<std::string_view> phases, unsigned most = ~0u)
      : queue_(queue), phases_(std::move(phases)), most_(most) {}
  Device& device() const override { return queue_.device(); }
  void launch(const Launch& l) override {
    if (launched_++ < most_ && std::ranges::find(phases_, l.phase) == phases_.end())
      queue_.launch(l);
  }
  [[nodiscard]] unsigned launched() const { return launched_; }
  void copy(Memory to, Memory from, std::uint64_t bytes, std::string_view phase) override {
    queue_.copy(to, from, bytes, phase);
  }
  void fill(Memory to, std::uint32_t pattern, std::uint64_t bytes,
            std::string_view phase) override {
    queue_.fill(to, pattern, bytes, phase);
  }
  void flush() override { queue_.flush(); }
  void write(Memory to, const void* from, std::uint64_t bytes) override {
    queue_.write(to, from, bytes);
  }
  void read(void* to, Memory from, std::uint64_t bytes) override { queue_.read(to, from, bytes); }
  void finish() override { queue_.finish(); }
  void begin_trace() override { queue_.begin_trace(); }
  std::vector<TraceEntry> end_trace() override { return queue_.end_trace(); }
  void* native() const override { return queue_.native(); }

 private:
  Queue& queue_;
  std::vector<std::string_view> phases_;
  unsigned most_, launched_ = 0;
};

// msd sorts a list by one path only: by the partition and the local sort, or by onesweep's passes.
// The launches of the other path do not touch the output. Sorts the case by each kind of launches
// alone, then by all. Returns 1 if the list is partitioned.
bool is_partitioned(Trial& trial, const Case& c, const char* parameters) {
  const Plan plan(test_device(), c.problem, {"msd", parameters});
  bool is = false;
  const auto sort = [&](Queue& q, const Operands& o) {
    QueueWithout partitions(q, {"sort"}), passes(q, {"partition", "local"});
    std::vector<char> before(c.problem.count * info(c.problem.key).bytes), after(before.size());
    const auto changes = [&](Queue& queue) {
      q.read(before.data(), o.keys_out, before.size());
      plan.run(queue, o);
      q.read(after.data(), o.keys_out, after.size());
      return before != after;
    };
    is = !changes(passes);
    EXPECT_EQ(changes(partitions), is) << describe(c);
  };
  EXPECT_EQ(trial.run(c, {plan.scratch_bytes(), plan.run_length(), true, sort}), "") << describe(c);
  return is;
}

// These lists are partitioned, except a few of them in which a bucket is just too large: then the
// next seed is tried.
TEST(SampledKeys, TakeOnePath) {
  if (on_host()) GTEST_SKIP() << "kernels run on devices";
  const std::uint64_t count = is_set("SORTIUM_TEST_SMALL") ? 9'001 : 1'300'007;
  Trial trial(test_device(), Placement::guarded);
  for (const auto d : {Distribution::hill, Distribution::random, Distribution::range})
    for (const auto payload : {Payload::none, Payload::values}) {
      if (is_simulated() && (d != Distribution::hill || payload != Payload::none)) continue;
      bool is = false;
      try {
        for (std::uint64_t seed = 6; seed < 10 && !is; ++seed)
          is = is_partitioned(
              trial, {{.key = KeyType::u32, .count = count, .payload = payload}, false, d, seed},
              "bits=12,sample=1");
      } catch (const Error& e) {
        if (e.code() != ErrorCode::unsupported) throw;
        GTEST_SKIP() << e.what();
      }
      EXPECT_TRUE(is) << name(d);
    }
}

// Passes over three digits take less time than stretching keys of 64 bits. Short lists of u32 keys
// are stretched.
TEST(SampledKeys, OfFewDigitsTakePasses) {
  if (on_host()) GTEST_SKIP() << "kernels run on devices";
  const bool small = is_set("SORTIUM_TEST_SMALL");
  Trial trial(test_device(), Placement::guarded);
  for (const auto key : {KeyType::u64, KeyType::i64, KeyType::u32}) {
    if (small && key != KeyType::u64) continue;
    try {
      EXPECT_EQ(is_partitioned(trial,
                               {{.key = key, .count = small ? 3'001u : 300'007u},
                                false,
                                Distribution::three_digits,
                                1},
                               "bits=12,sample=1"),
                key == KeyType::u32)
          << info(key).name;
    } catch (const Error& e) {
      if (e.code() != ErrorCode::unsupported) throw;
      GTEST_SKIP() << e.what();
    }
  }
}

// NaNs and zeros have digits of their own or are set aside, however many they are.
TEST(Floats, ClassesHaveDigits) {
  if (on_host()) GTEST_SKIP() << "kernels run on devices";
  const std::uint64_t count = is_set("SORTIUM_TEST_SMALL") ? 3'001 : 700'001;
  std::vector<Case> cases;
  for (const auto key : {KeyType::f32, KeyType::f64})
    for (const auto payload : {Payload::none, Payload::values, Payload::positions})
      for (std::uint64_t seed = 0; seed < 9; ++seed) {
        const auto i = cases.size();
        cases.push_back({{.key = key,
                          .count = count,
                          .payload = payload,
                          .order = i % 3 == 0 ? Order::descending : Order::ascending,
                          .nan = i % 2 == 0 ? NanOrder::last : NanOrder::first},
                         i % 7 == 0,
                         Distribution::ties,
                         seed});
      }
  if (is_simulated()) {
    for (std::size_t i = 0; 5 * i + 3 < cases.size(); ++i) cases[i] = cases[5 * i + 3];
    cases.resize(cases.size() / 5 + 1);
  }
  thin_out(cases);
  Trial trial(test_device(), Placement::guarded);
  for (const auto& c : cases) {
    const bool one_digit = c.problem.key == KeyType::f32 && c.seed % 4 == 0;
    try {
      EXPECT_TRUE(is_partitioned(trial, c, one_digit ? "bits=8" : "bits=12")) << describe(c);
    } catch (const Error& e) {
      if (e.code() != ErrorCode::unsupported) throw;
      GTEST_SKIP() << e.what();
    }
  }
}

// Returns true if the keys are sorted without some launches: those of `phases`, or the last one if
// there are no phases.
bool is_sorted_without(Trial& trial, const Case& c, const Method& method,
                       const std::vector<std::string_view>& phases) {
  const Plan plan(test_device(), c.problem, method);
  bool is = false;
  const auto sort = [&](Queue& q, const Operands& o) {
    QueueWithout all(q, {});
    std::vector<char> whole(c.problem.count * info(c.problem.key).bytes), part(whole.size());
    plan.run(all, o);
    q.read(whole.data(), o.keys_out, whole.size());
    QueueWithout some(q, phases, phases.empty() ? all.launched() - 1 : ~0u);
    q.write(o.keys_out, part.data(), part.size());
    plan.run(some, o);
    q.read(part.data(), o.keys_out, part.size());
    is = whole == part;
    plan.run(q, o);
  };
  EXPECT_EQ(trial.run(c, {plan.scratch_bytes(), plan.run_length(), true, sort}), "") << describe(c);
  return is;
}

// Codes sort a list whose only NaN is the one that they place where NaNs belong. onesweep's last
// launch sorts without codes.
TEST(Floats, OneNanHasACode) {
  if (on_host()) GTEST_SKIP() << "kernels run on devices";
  const std::uint64_t count = is_set("SORTIUM_TEST_SMALL") ? 3'001 : 200'003;
  Trial trial(test_device(), Placement::guarded);
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const Case c{{.key = seed % 3 == 0 ? KeyType::f64 : KeyType::f32,
                  .count = count,
                  .payload = seed % 2 == 0 ? Payload::values : Payload::none,
                  .order = seed / 2 % 2 == 0 ? Order::ascending : Order::descending,
                  .nan = seed / 4 == 0 ? NanOrder::last : NanOrder::first},
                 false,
                 Distribution::one_nan,
                 seed};
    try {
      const Method method{"onesweep", seed % 3 != 1 ? "look_back=0" : "look_back=1"};
      EXPECT_TRUE(is_sorted_without(trial, c, method, {})) << describe(c);
    } catch (const Error& e) {
      if (e.code() != ErrorCode::unsupported) throw;
      GTEST_SKIP() << e.what();
    }
  }
}

// Short lists of f64 are sorted by cells, which leave NaNs out.
TEST(Floats, OneNanIsInNoCell) {
  if (on_host() || is_simulated()) GTEST_SKIP() << "kernels that a simulator takes minutes for";
  Trial trial(test_device(), Placement::guarded);
  for (const std::uint64_t seed : {0u, 2u, 4u}) {
    const Case c{{.key = KeyType::f64, .count = 200'003}, false, Distribution::one_nan, seed};
    try {
      EXPECT_TRUE(is_sorted_without(trial, c, {"msd", ""}, {"sort"})) << describe(c);
    } catch (const Error& e) {
      if (e.code() != ErrorCode::unsupported) throw;
      GTEST_SKIP() << e.what();
    }
  }
}

// Floats like those of programs: msd uses spread orders for them. The table has few such lists.
// Some of the floats here have no space in the table of spread orders.
TEST(Floats, SpreadByTheirExponents) {
  const auto known = algorithms();
  const auto& msd = *std::ranges::find(known, "msd", &AlgorithmInfo::name);
  Trial trial(test_device(), Placement::guarded);
  const std::vector<std::uint64_t> counts =
      is_set("SORTIUM_TEST_SMALL") ? std::vector<std::uint64_t>{97, 3000}
                                   : std::vector<std::uint64_t>{97, 100'003, 5'000'000};
  unsigned turn = 0;  // varies the order, for which the kernels are compiled
  for (const auto key : {KeyType::f32, KeyType::f64})
    for (const auto payload : {Payload::none, Payload::values, Payload::positions}) {
      Case c;
      c.problem = {.key = key,
                   .payload = payload,
                   .order = std::array{Order::ascending, Order::descending}[turn % 2],
                   .nan = std::array{NanOrder::last, NanOrder::first, NanOrder::bits}[turn % 3]};
      for (const auto count : counts) {
        c.problem.count = count;
        c.distribution = count < 1000    ? Distribution::random
                         : turn % 2 == 0 ? Distribution::numbers
                                         : Distribution::peaks;
        c.seed = 100 * turn + turn / 2;
        ++turn;
        if (is_simulated() && turn % 3 != 1) continue;
        try {
          const Plan plan(test_device(), c.problem, {"msd", count < 1000 ? "bits=12" : ""});
          const auto what = trial.run(c, {plan.scratch_bytes(), plan.run_length(), msd.stable,
                                          [&](Queue& q, const Operands& o) { plan.run(q, o); }});
          EXPECT_EQ(what, "") << describe(c) << " (" << plan.parameters() << ")";
        } catch (const Error& e) {
          if (e.code() != ErrorCode::unsupported) throw;
          GTEST_SKIP() << e.what();
        }
      }
    }
}

// NaNs are equal keys of different bits, and so are zeros. msd gives them digits of their own or,
// without values, sets them aside. It partitions the others by one digit or two, whose buckets have
// one exponent or several. NanOrder and ZeroOrder decide which keys are equal. Without the
// parameter only long lists have a launch that sets aside.
TEST(Floats, SetAsideIfTheyTie) {
  const bool small = is_set("SORTIUM_TEST_SMALL");
  const std::vector<std::uint64_t> counts = small ? std::vector<std::uint64_t>{97, 3'000}
                                                  : std::vector<std::uint64_t>{97, 30'011, 700'001};
  const std::array policies{
      std::pair{NanOrder::last, ZeroOrder::tied}, std::pair{NanOrder::first, ZeroOrder::tied},
      std::pair{NanOrder::last, ZeroOrder::distinct}, std::pair{NanOrder::bits, ZeroOrder::tied}};
  for (const auto* parameters : {"bits=8", "bits=9", "bits=12"}) {
    std::vector<Case> cases;
    for (const auto key : {KeyType::f32, KeyType::f64})
      for (const auto payload : {Payload::none, Payload::none, Payload::values})
        for (const auto count : counts)
          for (unsigned share = 0; share < 4; ++share) {
            const auto i = static_cast<unsigned>(cases.size());  // everything meets everything
            const auto [nan, zeros] = policies[(i + i / 4) % 4];
            cases.push_back(
                {{.key = key,
                  .count = count,
                  .payload = payload,
                  .order = (i / 2 + i / 8) % 2 == 0 ? Order::ascending : Order::descending,
                  .nan = nan,
                  .zeros = zeros},
                 (i + i / 16) % 2 == 0,
                 Distribution::classes,
                 i % 3 * 4 + share + 12 * std::uint64_t{i}});
          }
    expect_stable(std::move(cases), {"msd", parameters});
  }
}

}  // namespace
}  // namespace sortium::test
