// Every way in which cpu:0 sorts, at lengths from one thread's to such that do not fit any cache.
// The table of test_conformance has many more cases, of at most 2^20 records.
//
//   SORTIUM_TEST_FULL=1   lists of 2^27 records, too: 5 GB of memory
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <sortium/sortium.hpp>

#include "algorithms/catalog.hpp"
#include "algorithms/sample/pair_steps.hpp"
#include "keys.hpp"
#include "support.hpp"

namespace sortium::test {
namespace {

using Bytes = std::vector<std::byte>;

std::uint64_t key_at(const Bytes& keys, std::uint64_t i, unsigned bytes) {
  std::uint64_t key = 0;
  std::memcpy(&key, keys.data() + i * bytes, bytes);
  return key;
}

// Keys of random bits, so that floats have NaN; of some lists, half of the keys are one of eight.
Bytes some_keys(const Problem& p, bool repeated) {
  const unsigned bytes = info(p.key).bytes;
  Bytes keys(p.count * bytes);
  Random random(p.count);
  for (std::uint64_t i = 0; i < p.count; ++i) {
    const std::uint64_t key = random.next();
    const std::uint64_t chosen =
        repeated && key % 2 == 0 ? (key >> 1 & 7) * 0x3f1b3f1b3f1b3f1bu : key;
    std::memcpy(keys.data() + i * bytes, &chosen, bytes);
  }
  return keys;
}

// The same for every order of the records. `values` may be empty.
std::uint64_t sum_of(const Bytes& keys, const std::vector<std::uint32_t>& values,
                     std::uint64_t count, unsigned bytes) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t key = Random(key_at(keys, i, bytes)).next();
    sum += values.empty() ? key : Random(key + values[i]).next();
  }
  return sum;
}

void expect_sorted(const Problem& p, bool repeated) {
  SCOPED_TRACE(fmt::format("{} {}, payload {}, {}", p.count, info(p.key).name,
                           static_cast<int>(p.payload), repeated ? "repeated" : "random"));
  const unsigned bytes = info(p.key).bytes;
  const Bytes in = some_keys(p, repeated);
  Bytes out(p.keys_out ? in.size() : 0);
  const bool has_values = p.payload != Payload::none;
  std::vector<std::uint32_t> places(has_values ? p.count : 0), values_out(places.size());
  std::iota(places.begin(), places.end(), 0u);
  sort_host(p,
            {in.data(), out.data(), p.payload == Payload::values ? places.data() : nullptr,
             values_out.data()},
            {.device = "cpu:0"});

  if (p.keys_out) {  // the same records: no look-ups at random, which take a minute
    EXPECT_EQ(sum_of(out, values_out, p.count, bytes), sum_of(in, places, p.count, bytes));
  }
  std::vector<bool> seen(p.keys_out ? 0 : p.count);
  std::uint64_t before = 0;
  for (std::uint64_t i = 0; i < p.count; ++i) {
    const std::uint64_t from = has_values ? values_out[i] : 0;
    ASSERT_LT(from, p.count);
    if (!p.keys_out) {
      ASSERT_FALSE(seen[from]) << "record " << i;
      seen[from] = true;
    }
    const std::uint64_t rank =
        rank_of(p.keys_out ? key_at(out, i, bytes) : key_at(in, from, bytes), p);
    ASSERT_LE(before, rank) << "record " << i;
    ASSERT_TRUE(!has_values || i == 0 || before < rank || values_out[i - 1] < from)
        << "record " << i;
    before = rank;
  }
}

// Segments that all threads sort one after the other share the scratch memory of the whole list.
// A shorter list may be divided into fewer parts, which are larger.
TEST(HostSizes, OfShorterSegments) {
  const auto device = find_device("cpu:0");
  for (const unsigned threads : {1u, 2u, 3u, 4u, 16u})
    for (const auto key : {KeyType::u32, KeyType::u64, KeyType::f32})
      for (const unsigned value_bytes : {0u, 4u, 8u})
        for (std::uint64_t count = 40'000; count < 3'000'000; count += count / 13) {
          Problem p{.key = key, .count = count, .segments = 2};
          if (value_bytes != 0) p.payload = Payload::values, p.value_bytes = value_bytes;
          const std::uint64_t bytes =
              Plan(device, p, {"segmented-host", fmt::format("threads={}", threads)})
                  .scratch_bytes();
          p.segments = 0;
          for (p.count = count; p.count > count / 2; p.count -= count / 61) {
            ASSERT_LE(catalog::sample_in_arena_scratch(p, threads), bytes)
                << info(key).name << ' ' << value_bytes << ' ' << threads << ' ' << count << ' '
                << p.count;
          }
        }
}

// The words, codes and values of a part lie within the memory that is counted for it. Codes of 4
// bytes are padded if their number is odd.
template <class Key, class Moved>
void expect_parts_fit(KeyType key) {
  const Problem p{
      .key = key, .count = 100'000, .payload = Payload::values, .value_bytes = sizeof(Moved)};
  const sample::Layout layout(p, 1, {});
  const sample::Ranks ranks(p, layout.coded);
  std::vector<std::uint64_t> scratch(layout.scratch.bytes() / 8 + 1);
  Operands o;
  o.scratch = Memory{scratch.data()};
  const sample::Context context{layout, ranks, o};
  using Steps = sample::PairSteps<Key, Moved, Moved>;
  const Steps steps(context);
  for (std::uint64_t count = 1; count < 20; ++count) {
    const auto part = steps.part(0, count);
    EXPECT_LE(static_cast<const void*>(part.values + count),
              static_cast<const void*>(part.words + Steps::words_of(count)))
        << info(key).name << ' ' << sizeof(Moved) << ' ' << count;
    EXPECT_LE(static_cast<const void*>(part.codes + count), static_cast<const void*>(part.values));
  }
}
TEST(HostSizes, OfPartsOfPairs) {
  expect_parts_fit<std::uint32_t, std::uint32_t>(KeyType::f32);
  expect_parts_fit<std::uint32_t, std::uint64_t>(KeyType::u32);
  expect_parts_fit<std::uint64_t, std::uint32_t>(KeyType::u64);
  expect_parts_fit<std::uint64_t, std::uint64_t>(KeyType::f64);
}

TEST(HostSizes, OfEveryPath) {
  std::vector<std::uint64_t> counts{1u << 12, 1u << 16, 1u << 20};
  if (is_set("SORTIUM_TEST_FULL")) counts = {1u << 27};
  bool repeated = false;
  for (const auto count : counts)
    for (const auto payload : {Payload::none, Payload::values, Payload::positions})
      for (const auto key : {KeyType::u8, KeyType::i16, KeyType::f16, KeyType::u32, KeyType::f32,
                             KeyType::i64, KeyType::f64}) {
        repeated = !repeated;
        expect_sorted({.key = key,
                       .count = count,
                       .payload = payload,
                       .keys_out = payload != Payload::positions,
                       .order = repeated ? Order::descending : Order::ascending},
                      repeated);
      }
}

// Long lists of up to 16 significant bits: they are partitioned by the high digit first, but those
// of which most keys have one high digit.
TEST(HostSizes, OfLongNarrowKeys) {
  const std::uint64_t count = (1u << 21) + 5;
  bool repeated = false;
  for (const auto payload : {Payload::none, Payload::values, Payload::positions})
    for (const auto key : {KeyType::u16, KeyType::i16, KeyType::f16, KeyType::bf16, KeyType::u32}) {
      repeated = !repeated;
      Problem p{.key = key,
                .count = count,
                .payload = payload,
                .keys_out = payload != Payload::positions,
                .order = repeated ? Order::ascending : Order::descending};
      if (key == KeyType::u32) p.begin_bit = 3, p.end_bit = 14 + (repeated ? 0 : 5);
      expect_sorted(p, repeated);
    }
  expect_sorted({.key = KeyType::u16, .count = 1u << 24, .payload = Payload::values}, false);
  expect_sorted({.key = KeyType::u32,
                 .count = count,
                 .payload = Payload::values,
                 .begin_bit = 0,
                 .end_bit = 9},
                false);
}

// Few keys of one byte: below 768 they are sorted, from there on counted.
TEST(HostSizes, OfFewBytes) {
  for (const std::uint64_t count : {17, 255, 256, 767, 768, 1023})
    for (const auto key : {KeyType::u8, KeyType::i8})
      for (const auto order : {Order::ascending, Order::descending})
        expect_sorted({.key = key, .count = count, .order = order}, count % 2 == 0);
}

}  // namespace
}  // namespace sortium::test
