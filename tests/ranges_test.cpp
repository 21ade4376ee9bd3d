// Tests sorts that need more device memory than they may use: results, device memory, errors,
// failures and cancellation.
#include "sort/ranges.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <ostream>

#include "expect_error.hpp"
#include "faulty_device.hpp"
#include "keys.hpp"
#include "sort/record_blocks.hpp"
#include "sort/split_runs.hpp"
#include "support.hpp"

namespace sortium::test {
namespace {

using Bytes = std::vector<std::byte>;

// ---- split_runs ----

struct SortedRuns {
  std::vector<std::vector<int>> runs;
  [[nodiscard]] std::size_t count() const { return runs.size(); }
  [[nodiscard]] int key(std::size_t run, std::uint64_t i) const { return runs[run][i]; }
  [[nodiscard]] bool before(std::size_t run, std::uint64_t i, int key, bool or_equal) const {
    return runs[run][i] < key || (or_equal && runs[run][i] == key);
  }
};

TEST(SplitRuns, AgreesWithMergingAtEveryRank) {
  Random random(7);
  for (int trial = 0; trial < 60; ++trial) {
    SortedRuns sorted;
    sorted.runs.resize(1 + random.below(9));
    const std::uint64_t distinct = 1 + random.below(trial % 3 == 0 ? 3 : 50);
    std::vector<std::pair<int, std::size_t>> merged;  // keys, and the runs that they are from
    for (std::size_t r = 0; r < sorted.runs.size(); ++r) {
      sorted.runs[r].resize(random.below(40));
      for (auto& key : sorted.runs[r]) key = static_cast<int>(random.below(distinct));
      std::ranges::sort(sorted.runs[r]);
      for (const int key : sorted.runs[r]) merged.emplace_back(key, r);
    }
    std::ranges::sort(merged);
    const std::vector<std::uint64_t> none(sorted.runs.size(), 0);
    std::vector<std::uint64_t> all, expected = none;
    for (const auto& run : sorted.runs) all.push_back(run.size());
    std::vector<std::vector<std::uint64_t>> known;
    for (std::uint64_t rank = 0; rank <= merged.size(); ++rank) {
      known.push_back(split_runs(sorted, rank, none, all));
      ASSERT_EQ(known.back(), expected) << "rank " << rank << " of " << merged.size();
      if (rank < merged.size()) ++expected[merged[rank].second];
    }
    // Between known splits.
    for (std::uint64_t rank = 0; rank <= merged.size(); ++rank) {
      const auto& low = known[rank - random.below(rank + 1)];
      const auto& high = known[rank + random.below(merged.size() - rank + 1)];
      ASSERT_EQ(split_runs(sorted, rank, low, high), known[rank]) << "rank " << rank;
    }
  }
}

// ---- RecordBlocks ----

// Writes numbered blocks to random places and puts them in order.
TEST(RecordBlocks, PutsBlocksInOrder) {
  Random random(11);
  for (int trial = 0; trial < 50; ++trial) {
    const std::uint64_t block = 1 + random.below(5), count = 1 + random.below(100), spare = 4;
    std::vector<std::uint32_t> list(count), values(count);
    RecordBlocks blocks({{4, nullptr, reinterpret_cast<std::byte*>(list.data())},
                         {4, nullptr, reinterpret_cast<std::byte*>(values.data())}},
                        count, block, spare);
    std::vector<RecordBlocks::Block> result;
    for (std::uint64_t first = 0; first < count; first += block)
      result.push_back(blocks.take(random.below(count / block + 1 + spare)));
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto x = static_cast<std::uint32_t>(i), y = ~x;
      std::memcpy(blocks.at(0, result[i / block], i % block), &x, 4);
      std::memcpy(blocks.at(1, result[i / block], i % block), &y, 4);
    }
    blocks.finish(result);
    for (std::uint64_t i = 0; i < count; ++i) {
      ASSERT_EQ(list[i], i);
      ASSERT_EQ(values[i], ~static_cast<std::uint32_t>(i));
    }
  }
}

// ---- sorts ----

// Counts the bytes that are allocated.
class MeasuredDevice final : public WrappedDevice {
 public:
  using WrappedDevice::WrappedDevice;
  std::unique_ptr<Buffer> allocate(std::uint64_t bytes) override {
    allocated += bytes;
    return WrappedDevice::allocate(bytes);
  }
  std::atomic<std::uint64_t> allocated{0};
};

// One sort of keys, and its expected result.
struct Case {
  Problem problem;
  Distribution distribution;
  bool in_place = true;
};

std::string text(const Case& c) {
  const auto& p = c.problem;
  return fmt::format(
      "{} {} {}, payload {} of {} bytes, keys_out {}, order {}, bits {}:{}, nan {}, "
      "zeros {}, in place {}",
      p.count, info(p.key).name, name(c.distribution), static_cast<int>(p.payload), p.value_bytes,
      p.keys_out, static_cast<int>(p.order), p.begin_bit, p.end_bit, static_cast<int>(p.nan),
      static_cast<int>(p.zeros), c.in_place);
}

// Arrays of a case, as sort_host() takes them.
struct Arrays {
  Bytes keys, keys_out, values, values_out;

  explicit Arrays(const Case& c) {
    const auto& p = c.problem;
    const unsigned key_bytes = info(p.key).bytes;
    const auto numbers = make_keys(c.distribution, p, p.count);
    keys.resize(p.count * key_bytes);
    for (std::uint64_t i = 0; i < p.count; ++i)
      std::memcpy(&keys[i * key_bytes], &numbers[i], key_bytes);
    keys_out.resize(keys.size());
    if (p.payload == Payload::none) return;
    values_out.resize(p.count * p.value_bytes);
    if (p.payload == Payload::values) values.resize(values_out.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::byte>(i * 37 >> 3);
  }
  HostOperands operands(const Case& c) {
    const bool in_place = c.in_place && c.problem.payload != Payload::positions;
    HostOperands o{.keys_in = keys.data()};
    if (c.problem.keys_out) o.keys_out = in_place ? keys.data() : keys_out.data();
    if (c.problem.payload == Payload::values) o.values_in = values.data();
    if (c.problem.payload != Payload::none)
      o.values_out = in_place ? values.data() : values_out.data();
    return o;
  }
};

// The order that a stable sort returns.
std::vector<std::uint64_t> sorted_positions(const Case& c, const Bytes& keys) {
  const unsigned bytes = info(c.problem.key).bytes;
  std::vector<std::uint64_t> ranks(c.problem.count), at(c.problem.count);
  for (std::uint64_t i = 0; i < ranks.size(); ++i) {
    std::uint64_t key = 0;
    std::memcpy(&key, &keys[i * bytes], bytes);
    ranks[i] = rank_of(key, c.problem);
  }
  std::iota(at.begin(), at.end(), 0);
  std::ranges::stable_sort(at, {}, [&](std::uint64_t i) { return ranks[i]; });
  return at;
}

Bytes gathered(const Bytes& from, unsigned bytes, const std::vector<std::uint64_t>& at) {
  Bytes out(from.size());
  for (std::size_t i = 0; i < at.size(); ++i)
    std::memcpy(&out[i * bytes], &from[at[i] * bytes], bytes);
  return out;
}

Bytes as_bytes(const std::vector<std::uint64_t>& numbers, unsigned bytes) {
  Bytes out(numbers.size() * bytes);
  for (std::size_t i = 0; i < numbers.size(); ++i) std::memcpy(&out[i * bytes], &numbers[i], bytes);
  return out;
}

// Sorts with `limit` bytes of device memory, and compares every byte.
void check(const Case& c, std::uint64_t limit) {
  SCOPED_TRACE(text(c));
  const auto& p = c.problem;
  const Arrays given(c);
  Arrays arrays(c);
  const auto o = arrays.operands(c);
  sort_host(p, o,
            {.order = p.order,
             .begin_bit = p.begin_bit,
             .end_bit = p.end_bit,
             .nan = p.nan,
             .zeros = p.zeros,
             .device = device_spec().empty() ? test_device()->info().id : device_spec(),
             .max_device_bytes = limit});
  const auto at = sorted_positions(c, given.keys);
  const unsigned key_bytes = info(p.key).bytes;
  if (p.keys_out) {
    const auto& keys = o.keys_out == o.keys_in ? arrays.keys : arrays.keys_out;
    ASSERT_TRUE(keys == gathered(given.keys, key_bytes, at)) << "keys";
  }
  if (o.keys_out != o.keys_in) {
    ASSERT_TRUE(arrays.keys == given.keys) << "the input changed";
  }
  if (p.payload == Payload::values) {
    const auto& values = o.values_out == o.values_in ? arrays.values : arrays.values_out;
    ASSERT_TRUE(values == gathered(given.values, p.value_bytes, at)) << "values";
  } else if (p.payload == Payload::positions) {
    ASSERT_TRUE(arrays.values_out == as_bytes(at, p.value_bytes)) << "positions";
  }
}

constexpr std::uint64_t few = 20'001,
                        little = 100'000;  // records; bytes, some 3 to 8 ranges' worth

class EveryKeyType : public testing::TestWithParam<KeyType> {};

TEST_P(EveryKeyType, Payloads) {
  const KeyType key = GetParam();
  for (const auto distribution : {Distribution::random, Distribution::special})
    for (const bool in_place : {true, false}) {
      check({{.key = key, .count = few}, distribution, in_place}, little);
      check({{.key = key, .count = few, .payload = Payload::values}, distribution, in_place},
            2 * little);
      check({{.key = key, .count = few, .payload = Payload::values, .value_bytes = 8},
             distribution,
             in_place},
            3 * little);
    }
  check({{.key = key, .count = few, .payload = Payload::positions}, Distribution::special},
        2 * little);
  check({{.key = key, .count = few, .payload = Payload::positions, .keys_out = false},
         Distribution::few_distinct},
        2 * little);
  check({{.key = key,
          .count = few,
          .payload = Payload::positions,
          .value_bytes = 8,
          .keys_out = false},
         Distribution::random},
        3 * little);
}

INSTANTIATE_TEST_SUITE_P(Ranges, EveryKeyType, testing::ValuesIn(all_key_types),
                         [](const auto& test) {
                           return std::string(sortium::info(test.param).name);
                         });

TEST(Ranges, Distributions) {
  for (const auto distribution : all_distributions) {
    check({{.count = few, .payload = Payload::values}, distribution}, 2 * little);
    check({{.key = KeyType::u64, .count = few}, distribution}, 2 * little);
    check({{.key = KeyType::f64, .count = few, .payload = Payload::positions}, distribution},
          3 * little);
  }
}

TEST(Ranges, OrdersOfFloatsAndBits) {
  for (const auto order : {Order::ascending, Order::descending}) {
    for (const auto nan : {NanOrder::last, NanOrder::first, NanOrder::bits})
      for (const auto zeros : {ZeroOrder::tied, ZeroOrder::distinct})
        check(
            {{.key = KeyType::f32,
              .count = few,
              .payload = (order == Order::ascending) == (zeros == ZeroOrder::tied) ? Payload::values
                                                                                   : Payload::none,
              .order = order,
              .nan = nan,
              .zeros = zeros},
             Distribution::special},
            2 * little);
    check(
        {{.count = few, .payload = Payload::values, .order = order, .begin_bit = 5, .end_bit = 12},
         Distribution::random},
        2 * little);
    check({{.key = KeyType::u64, .count = few, .order = order, .begin_bit = 20, .end_bit = 61},
           Distribution::random},
          2 * little);
  }
}

TEST(Ranges, ValuesOfEverySize) {
  for (const unsigned bytes : {1u, 3u, 12u, 16u, 100u})
    for (const bool in_place : {true, false})
      check({{.count = few, .payload = Payload::values, .value_bytes = bytes},
             Distribution::few_distinct,
             in_place},
            (8 + bytes) * (little / 4));
}

// A limit that all or nothing fits, and lengths at the borders of ranges and blocks.
TEST(Ranges, Lengths) {
  const std::uint64_t all =
      few * 8 + Plan::scratch_bytes_for({.count = few, .payload = Payload::values},
                                        capabilities(*test_device()));
  for (const auto limit : {all - 1, all, all + 1})
    check({{.count = few, .payload = Payload::values}, Distribution::random}, limit);
  for (const std::uint64_t count : {2, 15, 16, 17, 31, 32, 33, 511, 512, 513, 1000, 8192, 8193})
    for (const bool in_place : {true, false})
      check({{.count = count, .payload = Payload::values}, Distribution::random, in_place},
            count * 8 > 4096 ? count * 6 : 4096);
}

TEST(Ranges, Records) {
  struct Record {
    std::uint32_t id;
    float mass;
    std::array<unsigned char, 7> name;
    std::uint8_t kind;
    bool operator==(const Record&) const = default;
  };
  std::vector<Record> records(few);
  Random random(3);
  for (std::uint32_t i = 0; i < few; ++i) {
    records[i] = {i, static_cast<float>(random.below(5)), {}, static_cast<std::uint8_t>(i % 3)};
    for (auto& c : records[i].name) c = static_cast<unsigned char>('a' + random.below(2));
  }
  auto expected = records;
  std::ranges::stable_sort(expected, [](const Record& a, const Record& b) {
    if (a.mass != b.mass) return a.mass > b.mass;
    return a.name < b.name;
  });
  const std::vector<Field> key{by(&Record::mass, Order::descending), by(&Record::name)};
  const Options options{.device = test_device()->info().id, .max_device_bytes = 400'000};
  const auto order = argsort_records(records, key, options);
  auto sorted = records;
  sort_records(sorted, key, options);
  EXPECT_TRUE(sorted == expected);
  for (std::size_t i = 0; i < few; ++i) ASSERT_EQ(order[i], expected[i].id);
}

TEST(Ranges, WideKeysAndColumns) {
  const Options options{.device = test_device()->info().id, .max_device_bytes = 600'000};
  std::vector<u128> keys(few);
  std::vector<std::uint32_t> values(few), first(few), second(few);
  Random random(5);
  for (std::uint32_t i = 0; i < few; ++i) {
    keys[i] = {random.below(9), random.below(3)};
    values[i] = i;
    first[i] = static_cast<std::uint32_t>(random.below(20));
    second[i] = static_cast<std::uint32_t>(random.next());
  }
  std::vector<std::uint32_t> at(few);
  std::iota(at.begin(), at.end(), 0);
  std::ranges::stable_sort(at, [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(keys[a].high, keys[a].low) < std::pair(keys[b].high, keys[b].low);
  });
  sortium::sort(keys, values, options);
  EXPECT_TRUE(values == at);

  auto given_first = first, given_second = second;
  std::iota(at.begin(), at.end(), 0);
  std::ranges::stable_sort(at, [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(first[a], ~second[a]) < std::pair(first[b], ~second[b]);
  });
  sort_columns({by(first), by(second, Order::descending)}, {column(values)}, options);
  for (std::size_t i = 0; i < few; ++i) {
    ASSERT_EQ(first[i], given_first[at[i]]);
    ASSERT_EQ(second[i], given_second[at[i]]);
  }
}

// Keys and values that are not aligned to their size.
TEST(Ranges, MisalignedMemory) {
  const Case c{{.key = KeyType::u64, .count = few, .payload = Payload::values},
               Distribution::random};
  const Arrays given(c);
  Bytes keys(given.keys.size() + 1), values(given.values.size() + 1);
  std::memcpy(&keys[1], given.keys.data(), given.keys.size());
  std::memcpy(&values[1], given.values.data(), given.values.size());
  sort_host(c.problem, {&keys[1], &keys[1], &values[1], &values[1]},
            {.device = test_device()->info().id, .max_device_bytes = 3 * little});
  const auto at = sorted_positions(c, given.keys);
  EXPECT_TRUE(Bytes(keys.begin() + 1, keys.end()) == gathered(given.keys, 8, at));
  EXPECT_TRUE(Bytes(values.begin() + 1, values.end()) == gathered(given.values, 4, at));
}

// ---- device memory, errors ----

constexpr std::uint64_t key_count = 30'000;

const RecordProblem& keys_in_place() {
  static const RecordProblem problem{
      .count = key_count, .columns = {{4, Moved::in_place}}, .key = {{.type = KeyType::u32}}};
  return problem;
}

std::vector<std::uint32_t> random_keys() {
  std::vector<std::uint32_t> keys(key_count);
  Random random(9);
  for (auto& key : keys) key = static_cast<std::uint32_t>(random.next());
  return keys;
}

TEST(Ranges, KeepToTheLimit) {
  for (const std::uint64_t limit : {20'000, 50'000, 120'000}) {
    const auto device = std::make_shared<MeasuredDevice>(test_device());
    (void)capabilities(*device);  // the probe's memory is not the sort's
    auto keys = random_keys();
    const RecordPlan self_tested(
        device, {.count = 1000, .columns = keys_in_place().columns, .key = keys_in_place().key});
    auto sorted = keys;
    std::ranges::sort(sorted);
    const void* in = keys.data();
    sort_in_ranges(device, keys_in_place(), {{&in, 1}}, {.max_device_bytes = limit});  // warms up
    std::ranges::copy(random_keys(), keys.begin());
    device->allocated = 0;
    sort_in_ranges(device, keys_in_place(), {{&in, 1}}, {.max_device_bytes = limit});
    EXPECT_TRUE(keys == sorted);
    EXPECT_LE(device->allocated, limit);
    EXPECT_GE(device->allocated, std::min<std::uint64_t>(limit / 2, key_count * 4 * 3 / 40));
    EXPECT_EQ(device->buffers(), 0);
  }
}

TEST(Ranges, RefuseTooLittleMemory) {
  auto keys = random_keys();
  const auto before = keys;
  const Options options{.device = test_device()->info().id, .max_device_bytes = 100};
  expect_error([&] { sortium::sort(keys, options); }, ErrorCode::invalid_argument,
               {"max_device_bytes is 100", "30000 records of 4 bytes", "need at least"});
  const std::vector<std::uint32_t> offsets{0, 5, key_count};
  expect_error([&] { sort_segments(keys, offsets, options); }, ErrorCode::invalid_argument,
               {"max_device_bytes is 100", "segments", "cpu:0"});
  expect_error([&] { (void)topk(keys, 5, options); }, ErrorCode::invalid_argument,
               {"max_device_bytes is 100", "first records"});
  Options unstable = options;
  unstable.max_device_bytes = little;
  for (const auto& a : algorithms()) {
    if (a.host || a.segments || a.limit || (a.stable && !a.partial)) continue;
    unstable.algorithm = a.name;
    expect_error([&] { sortium::sort(keys, unstable); }, ErrorCode::unsupported, {a.name});
  }
  EXPECT_TRUE(keys == before);
}

TEST(Ranges, ReportThemselves) {
  auto keys = random_keys();
  const auto report = sortium::sort(
      keys,
      {.device = test_device()->info().id, .algorithm = "lsd", .max_device_bytes = 2 * little});
  EXPECT_TRUE(std::ranges::is_sorted(keys));
  EXPECT_EQ(report.device, test_device()->info().name);
  EXPECT_EQ(report.algorithm, "lsd");
  EXPECT_TRUE(report.stable);
  EXPECT_GT(report.sort_seconds, 0);
  EXPECT_GT(report.transfer_seconds, 0);
}

// ---- failures and cancellation ----

// The arrays of a sort of records: keys and values in place, or only read, with positions.
struct Records {
  std::vector<std::uint32_t> keys = random_keys(), values = std::vector<std::uint32_t>(key_count),
                             positions = values;
  Records() { std::iota(values.begin(), values.end(), 0); }

  void sort(const std::shared_ptr<Device>& device, bool in_place,
            const std::atomic<bool>* stop = nullptr) {
    const Moved moved = in_place ? Moved::in_place : Moved::no;
    RecordProblem problem{
        .count = key_count, .columns = {{4, moved}}, .key = {{.type = KeyType::u32}}};
    const void* const in[] = {keys.data(), values.data()};
    if (in_place)
      problem.columns.push_back({4, moved});
    else
      problem.position_bytes = 4;
    sort_in_ranges(device, problem,
                   {{in, problem.columns.size()}, {}, in_place ? nullptr : positions.data()},
                   {.max_device_bytes = 120'000, .stop = stop});
  }
  [[nodiscard]] bool is_sorted() const { return std::ranges::is_sorted(keys); }
  // True if the same keys with the same values are there, in any order.
  [[nodiscard]] bool is_complete() const {
    static const Records before;
    std::vector<bool> seen(key_count, false);
    for (std::size_t i = 0; i < key_count; ++i) {
      if (values[i] >= key_count || seen[values[i]] || keys[i] != before.keys[values[i]])
        return false;
      seen[values[i]] = true;
    }
    return true;
  }
};

class RangeFaults : public testing::TestWithParam<std::tuple<bool, bool>> {};

TEST_P(RangeFaults, LoseNoRecord) {
  const auto [in_place, lost] = GetParam();
  const Records before;
  int failures = 0;
  const auto device = std::make_shared<FaultyDevice>(test_device());
  Records().sort(device, in_place);
  for (std::uint64_t n = 1;; n += 1 + n / 8) {
    Records records;
    device->fail(n, lost);
    std::string error;
    try {
      records.sort(device, in_place);
    } catch (const Error& e) {
      error = e.what();
    }
    const bool failed = device->stop_failing();
    EXPECT_EQ(device->buffers(), 0) << n;
    ASSERT_TRUE(records.is_complete()) << "call " << n << ": " << error;
    ASSERT_TRUE(in_place || records.keys == before.keys) << "call " << n;
    if (error.empty()) {
      ASSERT_TRUE(!in_place || records.is_sorted()) << n;
      if (!failed) break;
    } else {
      EXPECT_NE(error.find("injected"), error.npos) << error;
      ++failures;
    }
  }
  EXPECT_GT(failures, 20);
}

INSTANTIATE_TEST_SUITE_P(Ranges, RangeFaults, testing::Combine(testing::Bool(), testing::Bool()),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param) ? "in_place" : "positions") +
                                  (std::get<1>(test.param) ? "_lost" : "_once");
                         });

// Sets the caller's flag in the n-th call.
class StoppingDevice final : public WrappedDevice {
 public:
  using WrappedDevice::WrappedDevice;
  std::atomic<bool> stop{false};
  std::atomic<int> calls_left{0};

 private:
  void pass(ErrorCode, const std::string&) override {
    if (--calls_left == 0) stop = true;
  }
};

TEST(Ranges, EndWhenTheCallerStopsThem) {
  const auto device = std::make_shared<StoppingDevice>(test_device());
  int cancelled = 0;
  for (const bool in_place : {true, false})
    for (int n = 1; n < 2000; n += 1 + n / 8) {
      Records records;
      device->stop = false;
      device->calls_left = n;
      try {
        records.sort(device, in_place, &device->stop);
        EXPECT_TRUE(!in_place || records.is_sorted());
      } catch (const Error& e) {
        ASSERT_EQ(e.code(), ErrorCode::cancelled) << e.what();
        ++cancelled;
      }
      EXPECT_EQ(device->buffers(), 0);
      ASSERT_TRUE(records.is_complete());
    }
  EXPECT_GT(cancelled, 10);
}

}  // namespace
}  // namespace sortium::test
