// Tests the companions (unique, merge, …) on device memory, with canaries around all operands,
// and on host memory. Compares their results with the simplest implementation.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "expect_error.hpp"
#include "keys.hpp"
#include "support.hpp"

namespace sortium::test {
namespace {

using Numbers = std::vector<std::uint64_t>;

// Operands in one allocation. The bytes between them, and inputs, must not change.
class Field {
 public:
  explicit Field(std::shared_ptr<Device> device)
      : device_(std::move(device)), queue_(device_->make_queue()) {}

  std::size_t add(std::uint64_t bytes, bool written) {
    areas_.push_back({total_, bytes, written});
    total_ += (bytes + boundary - 1) / boundary * boundary + boundary;
    return areas_.size() - 1;
  }
  std::size_t add(const Numbers& numbers, unsigned bytes) {
    const auto area = add(numbers.size() * bytes, false);
    numbers_.push_back({area, bytes, numbers});
    return area;
  }
  void place() {
    before_.resize(total_);
    for (std::uint64_t i = 0; i < total_; ++i)
      before_[i] = static_cast<std::byte>(0xa5 ^ (i * 0x9d >> 3));
    for (const auto& n : numbers_)
      for (std::uint64_t i = 0; i < n.numbers.size(); ++i)
        std::memcpy(before_.data() + areas_[n.area].offset + i * n.bytes, &n.numbers[i], n.bytes);
    buffer_ = device_->allocate(total_);
    queue_->write(buffer_->memory(), before_.data(), total_);
  }
  [[nodiscard]] Memory memory(std::size_t area) const {
    return areas_[area].bytes == 0
               ? Memory{}
               : buffer_->memory().slice(areas_[area].offset, areas_[area].bytes);
  }
  Queue& queue() { return *queue_; }
  // Reads the memory back. Returns false if a byte changed that must not.
  bool finish() {
    after_.resize(total_);
    queue_->read(after_.data(), buffer_->memory(), total_);
    std::uint64_t from = 0;
    const auto same_until = [&](std::uint64_t end) {
      return std::memcmp(before_.data() + from, after_.data() + from, end - from) == 0;
    };
    for (const auto& a : areas_) {
      if (!a.written) continue;
      if (!same_until(a.offset)) return false;
      from = a.offset + a.bytes;
    }
    return same_until(total_);
  }
  [[nodiscard]] Numbers numbers(std::size_t area, unsigned bytes, std::uint64_t count) const {
    Numbers out(count);
    for (std::uint64_t i = 0; i < count; ++i)
      std::memcpy(&out[i], after_.data() + areas_[area].offset + i * bytes, bytes);
    return out;
  }

 private:
  static constexpr std::uint64_t boundary = 512;
  struct Area {
    std::uint64_t offset, bytes;
    bool written;
  };
  struct Given {
    std::size_t area;
    unsigned bytes;
    Numbers numbers;
  };
  std::shared_ptr<Device> device_;
  std::unique_ptr<Queue> queue_;
  std::uint64_t total_ = boundary;
  std::vector<Area> areas_;
  std::vector<Given> numbers_;
  std::vector<std::byte> before_, after_;
  std::unique_ptr<Buffer> buffer_;
};

struct Kind {
  std::string name;
  Problem problem;
};
void PrintTo(const Kind& k, std::ostream* out) { *out << k.name; }

// A test case: a kind of problem with a size and a distribution.
struct Input {
  Problem problem;
  std::string what;
  Numbers keys, ranks, values;
  unsigned key_bytes, value_bytes;
  Input(Problem p, std::uint64_t count, Distribution d, bool sorted) : problem(p) {
    problem.count = count;
    key_bytes = info(p.key).bytes;
    value_bytes = p.payload == Payload::none ? 0 : p.value_bytes;
    what = fmt::format("{} records, {}", count, name(d));
    if (count != 0) keys = make_keys(d, problem, count + 7);
    if (sorted) std::ranges::stable_sort(keys, {}, [&](auto k) { return rank_of(k, problem); });
    for (const auto k : keys) ranks.push_back(rank_of(k, problem));
    for (std::uint64_t i = 0; i < count; ++i) values.push_back(value(i));
  }
  [[nodiscard]] std::uint64_t value(std::uint64_t i) const {
    return problem.payload == Payload::values && problem.value_bytes == 8
               ? i | (i ^ 0x5bd1e995u) << 32
               : i;
  }
  [[nodiscard]] bool reads_values() const { return problem.payload == Payload::values; }
};

template <class T>
Numbers taken(const Numbers& from, const T& order) {
  Numbers out;
  for (const auto i : order) out.push_back(from[i]);
  return out;
}

class Companions : public testing::TestWithParam<Kind> {
 protected:
  template <class Body>
  void each(bool sorted, std::uint64_t least, const Body& body) {
    std::vector<std::uint64_t> counts{0,    1,    2,    3,    97,    1023,  1024,
                                      1025, 2049, 4097, 5889, 10007, 70'001};
    if (is_set("SORTIUM_TEST_SMALL")) counts = {1, 97, 1100};
    if (is_set("SORTIUM_TEST_FULL"))
      counts.insert(counts.end(), {2047, 2048, 65536, (1u << 20) + 1});
    unsigned turn = 0;
    for (const auto count : counts)
      for (const auto d : all_distributions)
        if ((!is_set("SORTIUM_TEST_SMALL") || d == Distribution::random ||
             d == Distribution::few_distinct) &&
            (d != Distribution::last ||
             GetParam().problem.nan != NanOrder::first) &&  // then no key is the last key
            count >= least &&
            (count < 5000 || turn++ % 3 == 0 || d == Distribution::constant)) {
          if (HasFatalFailure()) return;
          body(Input(GetParam().problem, count, d, sorted));
        }
  }
};

TEST_P(Companions, IsSorted) {
  each(false, 0, [&](Input in) {
    for (const bool sorted : {false, true}) {
      if (sorted) std::ranges::sort(in.ranks);
      if (sorted)
        std::ranges::stable_sort(in.keys, {}, [&](auto k) { return rank_of(k, in.problem); });
      const IsSortedPlan plan(test_device(), in.problem);
      Field f(test_device());
      const auto keys = f.add(in.keys, in.key_bytes), result = f.add(8, true),
                 scratch = f.add(plan.scratch_bytes(), true);
      f.place();
      plan.run(f.queue(), {f.memory(keys), f.memory(result), f.memory(scratch)});
      ASSERT_TRUE(f.finish()) << in.what;
      const auto end = std::ranges::is_sorted_until(in.ranks);
      const auto expected = end == in.ranks.end()
                                ? in.problem.count
                                : static_cast<std::uint64_t>(end - in.ranks.begin() - 1);
      ASSERT_EQ(f.numbers(result, 8, 1)[0], expected) << in.what;
    }
  });
}

TEST_P(Companions, Unique) {
  for (const unsigned length_bytes : {0u, 4u, 8u}) {
    if (length_bytes == (GetParam().problem.value_bytes == 8 ? 4 : 8))
      continue;  // test only one of them
    each(true, 0, [&](const Input& in) {
      const auto& p = in.problem;
      const UniquePlan plan(test_device(), p, length_bytes);
      Field f(test_device());
      const auto keys = f.add(in.keys, in.key_bytes),
                 keys_out = f.add(p.keys_out ? p.count * in.key_bytes : 0, true);
      const auto values =
          f.add(in.reads_values() ? in.values : Numbers{}, std::max(in.value_bytes, 4u));
      const auto values_out = f.add(p.count * in.value_bytes, true),
                 lengths = f.add(p.count * length_bytes, true);
      const auto runs = f.add(8, true), scratch = f.add(plan.scratch_bytes(), true);
      f.place();
      plan.run(f.queue(),
               {f.memory(keys), f.memory(keys_out), f.memory(values), f.memory(values_out),
                f.memory(lengths), f.memory(runs), f.memory(scratch)});
      ASSERT_TRUE(f.finish()) << in.what;
      Numbers heads;
      for (std::uint64_t i = 0; i < p.count; ++i)
        if (i == 0 || in.ranks[i] != in.ranks[i - 1]) heads.push_back(i);
      ASSERT_EQ(f.numbers(runs, 8, 1)[0], heads.size()) << in.what;
      if (p.keys_out) {
        ASSERT_EQ(f.numbers(keys_out, in.key_bytes, heads.size()), taken(in.keys, heads))
            << in.what;
      }
      if (in.value_bytes != 0) {
        ASSERT_EQ(f.numbers(values_out, in.value_bytes, heads.size()), taken(in.values, heads))
            << in.what;
      }
      if (length_bytes == 0) return;
      Numbers expected;
      for (std::size_t r = 0; r < heads.size(); ++r)
        expected.push_back((r + 1 < heads.size() ? heads[r + 1] : p.count) - heads[r]);
      ASSERT_EQ(f.numbers(lengths, length_bytes, heads.size()), expected) << in.what;
    });
  }
}

// Values of sizes that sorts do not move themselves. One key type is enough.
TEST_P(Companions, UniqueWithElements) {
  if (GetParam().problem.payload != Payload::values) GTEST_SKIP() << "without values";
  for (const unsigned bytes : {1u, 12u, 32u})
    for (const unsigned length_bytes : {0u, 8u}) {
      if (!on_host() && (bytes == 1) != (length_bytes == 8)) continue;
      auto p = GetParam().problem;
      p.value_bytes = bytes;
      for (const std::uint64_t count : {0u, 1u, 97u, 2049u}) {
        const Input in(GetParam().problem, count, Distribution::few_distinct, true);
        p.count = count;
        Numbers elements(count * bytes), heads;  // an element is several bytes
        for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = (i * 0x9d >> 3) & 0xff;
        for (std::uint64_t i = 0; i < count; ++i)
          if (i == 0 || in.ranks[i] != in.ranks[i - 1]) heads.push_back(i);
        const UniquePlan plan(test_device(), p, length_bytes);
        EXPECT_EQ(plan.problem().value_bytes, bytes);
        Field f(test_device());
        const auto keys = f.add(in.keys, in.key_bytes),
                   keys_out = f.add(count * in.key_bytes, true);
        const auto values = f.add(elements, 1), values_out = f.add(count * bytes, true),
                   lengths = f.add(count * length_bytes, true);
        const auto runs = f.add(8, true), scratch = f.add(plan.scratch_bytes(), true);
        f.place();
        plan.run(f.queue(),
                 {f.memory(keys), f.memory(keys_out), f.memory(values), f.memory(values_out),
                  f.memory(lengths), f.memory(runs), f.memory(scratch)});
        ASSERT_TRUE(f.finish()) << bytes;
        ASSERT_EQ(f.numbers(runs, 8, 1)[0], heads.size());
        ASSERT_EQ(f.numbers(keys_out, in.key_bytes, heads.size()), taken(in.keys, heads));
        Numbers should;
        for (const auto h : heads)
          should.insert(should.end(), elements.begin() + static_cast<std::ptrdiff_t>(h * bytes),
                        elements.begin() + static_cast<std::ptrdiff_t>((h + 1) * bytes));
        ASSERT_EQ(f.numbers(values_out, 1, should.size()), should)
            << bytes << " bytes, " << count << " records";
      }
    }
}

TEST_P(Companions, Merge) {
  if (GetParam().problem.payload == Payload::positions)
    GTEST_SKIP() << "a merge moves values or none";
  each(false, 0, [&](Input in) {
    const auto& p = in.problem;
    for (const std::uint64_t a_count : {std::uint64_t{0}, p.count / 3, p.count / 2, p.count}) {
      Numbers order(p.count);
      std::iota(order.begin(), order.end(), 0);
      const auto rank = [&](auto i) { return in.ranks[i]; };
      std::ranges::stable_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(a_count),
                               {}, rank);
      std::ranges::stable_sort(order.begin() + static_cast<std::ptrdiff_t>(a_count), order.end(),
                               {}, rank);
      const Numbers a(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(a_count));
      const Numbers b(order.begin() + static_cast<std::ptrdiff_t>(a_count), order.end());
      const MergePlan plan(test_device(), p, a_count);
      Field f(test_device());
      const unsigned value = std::max(in.value_bytes, 4u);
      const auto a_keys = f.add(taken(in.keys, a), in.key_bytes),
                 b_keys = f.add(taken(in.keys, b), in.key_bytes);
      const auto keys_out = f.add(p.count * in.key_bytes, true);
      const auto a_values = f.add(in.reads_values() ? taken(in.values, a) : Numbers{}, value);
      const auto b_values = f.add(in.reads_values() ? taken(in.values, b) : Numbers{}, value);
      const auto values_out = f.add(p.count * in.value_bytes, true),
                 scratch = f.add(plan.scratch_bytes(), true);
      f.place();
      plan.run(f.queue(),
               {f.memory(a_keys), f.memory(b_keys), f.memory(keys_out), f.memory(a_values),
                f.memory(b_values), f.memory(values_out), f.memory(scratch)});
      ASSERT_TRUE(f.finish()) << in.what;
      std::ranges::stable_sort(order, {}, rank);
      ASSERT_EQ(f.numbers(keys_out, in.key_bytes, p.count), taken(in.keys, order))
          << in.what << ", a " << a_count;
      if (in.value_bytes != 0) {
        ASSERT_EQ(f.numbers(values_out, in.value_bytes, p.count), taken(in.values, order))
            << in.what << ", a " << a_count;
      }
    }
  });
}

TEST_P(Companions, Search) {
  each(true, 0, [&](const Input& in) {
    auto wanted = in.problem;
    wanted.count = in.problem.count % 100 + (in.problem.count % 2 == 0 ? 30 : 250);
    auto needles = make_keys(Distribution::random, wanted, 3);
    for (std::size_t i = 0; i < needles.size() && !in.keys.empty(); i += 2)
      needles[i] = in.keys[i * 7919 % in.keys.size()];
    for (const auto bound : {Bound::lower, Bound::upper}) {
      const SearchPlan plan(test_device(), in.problem, needles.size(), bound);
      Field f(test_device());
      const unsigned bytes = in.problem.value_bytes;
      const auto keys = f.add(in.keys, in.key_bytes), n = f.add(needles, in.key_bytes),
                 places = f.add(needles.size() * bytes, true);
      f.place();
      plan.run(f.queue(), {f.memory(keys), f.memory(n), f.memory(places)});
      ASSERT_TRUE(f.finish()) << in.what;
      Numbers expected;
      for (const auto needle : needles) {
        const auto r = rank_of(needle, in.problem);
        expected.push_back(static_cast<std::uint64_t>(
            (bound == Bound::lower ? std::ranges::lower_bound(in.ranks, r)
                                   : std::ranges::upper_bound(in.ranks, r)) -
            in.ranks.begin()));
      }
      ASSERT_EQ(f.numbers(places, bytes, needles.size()), expected) << in.what;
    }
  });
}

TEST_P(Companions, NthElement) {
  each(false, 1, [&](const Input& in) {
    const auto& p = in.problem;
    for (const std::uint64_t n : {std::uint64_t{0}, p.count / 3, p.count - 1}) {
      const NthElementPlan plan(test_device(), p, n);
      Field f(test_device());
      const auto keys = f.add(in.keys, in.key_bytes),
                 keys_out = f.add(p.keys_out ? p.count * in.key_bytes : 0, true);
      const auto values =
          f.add(in.reads_values() ? in.values : Numbers{}, std::max(in.value_bytes, 4u));
      const auto values_out = f.add(p.count * in.value_bytes, true),
                 scratch = f.add(plan.scratch_bytes(), true);
      f.place();
      Operands o{f.memory(keys),       f.memory(keys_out), f.memory(values),
                 f.memory(values_out), f.memory(scratch),  {}};
      plan.run(f.queue(), o);
      ASSERT_TRUE(f.finish()) << in.what;
      auto sorted = in.ranks;
      std::ranges::sort(sorted);
      Numbers order(p.count);
      std::iota(order.begin(), order.end(), 0);
      std::ranges::stable_sort(order, {}, [&](auto i) {
        return in.ranks[i] < sorted[n] ? 0 : in.ranks[i] == sorted[n] ? 1 : 2;
      });
      if (p.keys_out) {
        ASSERT_EQ(f.numbers(keys_out, in.key_bytes, p.count), taken(in.keys, order))
            << in.what << ", n " << n;
      }
      if (in.value_bytes != 0) {
        ASSERT_EQ(f.numbers(values_out, in.value_bytes, p.count), taken(in.values, order))
            << in.what << ", n " << n;
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Of, Companions,
                         testing::Values(Kind{"u32", {}},
                                         Kind{"f32_values",
                                              {.key = KeyType::f32,
                                               .payload = Payload::values,
                                               .order = Order::descending}},
                                         Kind{"i16_positions",
                                              {.key = KeyType::i16,
                                               .payload = Payload::positions,
                                               .value_bytes = 8,
                                               .keys_out = false}},
                                         Kind{"f16", {.key = KeyType::f16}},
                                         Kind{"u64_positions8",
                                              {.key = KeyType::u64,
                                               .payload = Payload::positions,
                                               .value_bytes = 8,
                                               .keys_out = false}},
                                         Kind{"u64_some_bits_values8",
                                              {.key = KeyType::u64,
                                               .payload = Payload::values,
                                               .value_bytes = 8,
                                               .begin_bit = 3,
                                               .end_bit = 28}},
                                         Kind{"f64_nan_first_positions",
                                              {.key = KeyType::f64,
                                               .payload = Payload::positions,
                                               .nan = NanOrder::first,
                                               .zeros = ZeroOrder::distinct}},
                                         Kind{"u8",
                                              {.key = KeyType::u8, .order = Order::descending}}),
                         [](const auto& instance) { return instance.param.name; });

// The functions on host memory. The results must be the same on all devices.
class OnHostMemory : public testing::Test {
 protected:
  const Options there{.device = test_device()->info().id};
};

TEST_F(OnHostMemory, Topk) {
  Random random(1);
  const std::uint64_t n = is_set("SORTIUM_TEST_SMALL") ? 300 : 20'000;
  std::vector<float> keys(n);
  std::vector<std::uint32_t> ids(keys.size());
  for (auto& k : keys) k = static_cast<float>(random.below(5000)) - 1000;
  std::iota(ids.begin(), ids.end(), 7);
  Options down = there;
  down.order = Order::descending;
  std::vector<std::uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](auto a, auto b) { return keys[a] > keys[b]; });
  for (const std::uint64_t k : {std::uint64_t{1}, n / 20, n - 1, n}) {
    order.resize(keys.size());
    const auto best = sortium::topk(keys, k, down);
    const auto [pair_keys, pair_ids] = sortium::topk(keys, ids, k, down);
    const auto positions = sortium::argtopk(keys, k, down);
    const auto wide = sortium::argtopk<std::uint64_t>(keys, k, down);
    ASSERT_EQ(best.size(), k);
    ASSERT_EQ(positions,
              std::vector(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k)));
    for (std::uint64_t i = 0; i < k; ++i) {
      ASSERT_EQ(best[i], keys[order[i]]);
      ASSERT_EQ(pair_keys[i], keys[order[i]]);
      ASSERT_EQ(pair_ids[i], ids[order[i]]);
      ASSERT_EQ(wide[i], order[i]);
    }
  }
  expect_error([&] { (void)topk(keys, 0, there); }, ErrorCode::invalid_argument,
               {"k is 0", std::to_string(n)});
  expect_error([&] { (void)topk(keys, n + 1, there); }, ErrorCode::invalid_argument,
               {"k is", std::to_string(n + 1)});
  expect_error([&] { (void)argtopk(keys, n + 1, there); }, ErrorCode::invalid_argument, {"k is"});
  expect_error(
      [&] {
        sort_host({.key = KeyType::f32, .count = 5, .limit = 2}, {keys.data(), keys.data()}, there);
      },
      ErrorCode::invalid_argument, {"limit", "keys_out"});
}

// If a segment is shorter than the limit, the rest of its output must not change, even on devices
// that sort a copy of the records.
TEST_F(OnHostMemory, FirstOfSegments) {
  const std::vector<std::uint32_t> keys{5, 1, 4, 9, 8}, offsets{0, 3, 3, 4, 5};
  const Problem p{.count = 5, .payload = Payload::positions, .segments = 4, .limit = 2};
  std::vector<std::uint32_t> best(records_out(p), 77), where(records_out(p), 88);
  sort_host(p,
            {.keys_in = keys.data(),
             .keys_out = best.data(),
             .values_out = where.data(),
             .offsets = offsets.data()},
            there);
  EXPECT_EQ(best, (std::vector<std::uint32_t>{1, 4, 77, 77, 9, 77, 8, 77}));
  EXPECT_EQ(where, (std::vector<std::uint32_t>{1, 2, 88, 88, 3, 88, 4, 88}));
}

// More records than cpu:0 selects from with one thread.
TEST_F(OnHostMemory, NthOfManyRecords) {
  const std::uint64_t count = 140'001, n = count / 3;
  std::vector<float> keys(count), parted(count);
  std::mt19937 random(1);
  for (auto& key : keys) key = static_cast<float>(static_cast<int>(random() % 50'000) - 20'000);
  std::vector<std::uint32_t> positions(count), expected(count);
  auto sorted = keys;
  std::ranges::sort(sorted);
  std::iota(expected.begin(), expected.end(), 0);
  std::ranges::stable_sort(expected, {}, [&](auto i) {
    return keys[i] < sorted[n] ? 0 : keys[i] == sorted[n] ? 1 : 2;
  });
  Problem p{.key = KeyType::f32, .count = count};
  nth_element_host(p, n, {keys.data(), parted.data()}, there.device);
  p.payload = Payload::positions;
  p.keys_out = false;
  nth_element_host(p, n, {keys.data(), nullptr, nullptr, positions.data()}, there.device);
  EXPECT_EQ(positions, expected);
  for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(parted[i], keys[expected[i]]) << i;
}

TEST_F(OnHostMemory, TheOthers) {
  std::vector<std::int32_t> keys{5, -3, 5, 2, 2, 2, -3, 9};
  EXPECT_FALSE(sortium::is_sorted(keys, there));
  sortium::nth_element(keys, 3, there);
  EXPECT_EQ(keys, (std::vector<std::int32_t>{-3, -3, 2, 2, 2, 5, 5, 9}));
  EXPECT_TRUE(sortium::is_sorted(keys, there));
  EXPECT_EQ(sortium::lower_bound(keys, std::vector<std::int32_t>{-4, 2, 5, 10}, there),
            (std::vector<std::uint32_t>{0, 2, 5, 8}));
  EXPECT_EQ(
      sortium::upper_bound<std::uint64_t>(keys, std::vector<std::int32_t>{-4, 2, 5, 10}, there),
      (std::vector<std::uint64_t>{0, 5, 7, 8}));
  EXPECT_EQ(sortium::merge(keys, std::vector<std::int32_t>{-9, 2, 20}, there),
            (std::vector<std::int32_t>{-9, -3, -3, 2, 2, 2, 2, 5, 5, 9, 20}));
  std::vector<double> values{0, 1, 2, 3, 4, 5, 6, 7};
  auto copy = keys;
  EXPECT_EQ(sortium::unique(copy, values, there), 4u);
  EXPECT_EQ(std::vector(values.begin(), values.begin() + 4), (std::vector<double>{0, 2, 5, 7}));
  EXPECT_EQ(sortium::unique(keys, there), 4u);
  EXPECT_EQ(std::vector(keys.begin(), keys.begin() + 4), (std::vector<std::int32_t>{-3, 2, 5, 9}));
  const std::vector<std::int32_t> none;
  EXPECT_TRUE(sortium::is_sorted(none, there));
  EXPECT_TRUE(sortium::merge(none, none, there).empty());
  EXPECT_EQ(sortium::lower_bound(none, copy, there), std::vector<std::uint32_t>(copy.size(), 0));
}

// Keys that are not sorted: unique() keeps the first key of each run, in the order of the input.
TEST_F(OnHostMemory, RunsOfUnsortedKeys) {
  Random random(11);
  for (const std::uint64_t distinct : {2, 5, 256})
    for (const std::uint64_t longest : {1, 7, 5000}) {
      std::vector<std::uint8_t> keys;
      while (keys.size() < 20'000)
        keys.insert(keys.end(), 1 + random.below(longest),
                    static_cast<std::uint8_t>(random.below(distinct)));
      std::vector<std::uint32_t> heads, values(keys.size());
      std::iota(values.begin(), values.end(), 0u);
      for (std::uint32_t i = 0; i < keys.size(); ++i)
        if (i == 0 || keys[i] != keys[i - 1]) heads.push_back(i);
      auto expected = keys;
      expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
      const auto runs = sortium::unique(keys, values, there);
      ASSERT_EQ(runs, expected.size()) << distinct << " distinct, up to " << longest;
      keys.resize(runs), values.resize(runs);
      EXPECT_TRUE(keys == expected) << distinct << " distinct, up to " << longest;
      EXPECT_TRUE(values == heads) << distinct << " distinct, up to " << longest;
    }
}

TEST_F(OnHostMemory, Refusals) {
  std::vector<std::uint32_t> keys(10);
  const auto bad = ErrorCode::invalid_argument;
  expect_error([&] { sortium::nth_element(keys, 10, there); }, bad, {"n is 10", "10"});
  expect_error([&] { MergePlan(test_device(), {.count = 10}, 11); }, bad, {"a_count is 11", "10"});
  expect_error([&] { MergePlan(test_device(), {.count = 10, .payload = Payload::positions}, 1); },
               bad, {"positions"});
  expect_error([&] { UniquePlan(test_device(), {.count = 10}, 3); }, bad, {"length_bytes is 3"});
  expect_error([&] { IsSortedPlan(test_device(), {.count = 10, .limit = 3}); }, bad, {"limit"});
  const auto queue = test_device()->make_queue();
  expect_error([&] { IsSortedPlan(test_device(), {.count = 10}).run(*queue, {}); }, bad,
               {"keys", "40 bytes"});
  expect_error([&] { (void)first_unsorted_host({.count = 10}, nullptr, there.device); }, bad,
               {"keys is null"});
  expect_error([&] { (void)is_sorted(keys, {.algorithm = "lsd"}); }, bad, {"options.algorithm"});
  expect_error([&] { unique(keys, {.parameters = "items=1"}); }, bad, {"options.parameters"});
  expect_error([&] { nth_element(keys, 1, {.max_scratch_bytes = 1}); }, bad,
               {"options.max_scratch_bytes", "nth_element"});
}

}  // namespace
}  // namespace sortium::test
