// Lists that are partly in order, on cpu:0: the choices of `sample` for sorted and reversed lists,
// tails, runs, interleaved runs, and keys near their places. Every list is compared with a stable
// sort. Lists of floats also have zeros and NaN of different bits, which must keep their order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <sortium/sortium.hpp>
#include <tuple>
#include <utility>

#include "algorithms/sample/order_words.hpp"
#include "algorithms/sample/positions.hpp"
#include "keys.hpp"
#include "support.hpp"

namespace sortium::test {
namespace {

struct Shape {
  const char* name;
  // Returns which of `count` sorted keys is key `i`.
  std::function<std::uint64_t(std::uint64_t i, std::uint64_t count, Random&)> place;
};

std::uint64_t in_runs(std::uint64_t i, std::uint64_t count, std::uint64_t runs) {
  const std::uint64_t run = std::max<std::uint64_t>(1, count / runs);
  return i % run * (count / run);
}
// Ascending, but the last `tail` keys are anywhere.
std::uint64_t with_tail(std::uint64_t i, std::uint64_t count, std::uint64_t tail, Random& random) {
  return i + tail < count ? i : random.below(count);
}
std::uint64_t interleaved(std::uint64_t i, std::uint64_t count, std::uint64_t runs) {
  return std::min(count - 1, i % runs * (count / runs) + i / runs);
}

const std::vector<Shape>& shapes() {
  using N = std::uint64_t;
  static const std::vector<Shape> all{
      {"sorted", [](N i, N, Random&) { return i; }},
      {"reversed", [](N i, N n, Random&) { return n - 1 - i; }},
      {"the last is the first", [](N i, N n, Random&) { return (i + 1) % n; }},
      {"the first is the last", [](N i, N n, Random&) { return i == 0 ? n - 1 : i - 1; }},
      {"tail of 2 %", [](N i, N n, Random& r) { return with_tail(i, n, n / 50, r); }},
      {"the longest tail", [](N i, N n, Random& r) { return with_tail(i, n, n / 16, r); }},
      {"too long a tail", [](N i, N n, Random& r) { return with_tail(i, n, n / 10, r); }},
      {"tail before all", [](N i, N n, Random&) { return (i + n / 20) % n; }},
      {"tail in the middle",
       [](N i, N n, Random&) { return i + n / 32 < n ? i : n / 2 + (i + n / 32 - n) / 2; }},
      {"2 runs", [](N i, N n, Random&) { return in_runs(i, n, 2); }},
      {"8 runs", [](N i, N n, Random&) { return in_runs(i, n, 8); }},
      {"6 runs of random keys",
       [](N i, N n, Random& r) { return i % std::max<N>(1, n / 6) * 6 + r.below(n > 6 ? 6 : 1); }},
      {"9 runs", [](N i, N n, Random&) { return in_runs(i, n, 9); }},
      {"64 runs", [](N i, N n, Random&) { return in_runs(i, n, 64); }},
      {"300 runs", [](N i, N n, Random&) { return in_runs(i, n, 300); }},
      {"2000 runs", [](N i, N n, Random&) { return in_runs(i, n, 2000); }},
      {"runs of random keys",
       [](N i, N n, Random& r) { return (i % 5000 + r.below(2)) * (n / 5001); }},
      {"5 runs and a tail",
       [](N i, N n, Random& r) { return i + n / 30 < n ? in_runs(i, n, 5) : r.below(n); }},
      {"30 up and down",
       [](N i, N n, Random&) {
         const N at = in_runs(i, n, 30);
         return i / std::max<N>(1, n / 30) % 2 == 0 ? at : n - 1 - std::min(n - 1, at);
       }},
      {"3 falling runs",
       [](N i, N n, Random&) { return n - 1 - std::min(n - 1, in_runs(i, n, 3)); }},
      {"up and down", [](N i, N n, Random&) { return 2 * std::min(i, n - 1 - i); }},
      {"2 interleaved", [](N i, N n, Random&) { return interleaved(i, n, 2); }},
      {"5 interleaved", [](N i, N n, Random&) { return interleaved(i, n, 5); }},
      {"7 interleaved, falling",
       [](N i, N n, Random&) { return interleaved(i / 7 * 7 + 6 - i % 7, n, 7); }},
      {"20 interleaved that overlap",
       [](N i, N n, Random&) { return std::min(n - 1, i % 20 * (n / 99) + i / 20 * 16); }},
      {"64 interleaved", [](N i, N n, Random&) { return interleaved(i, n, 64); }},
      {"65 interleaved", [](N i, N n, Random&) { return interleaved(i, n, 65); }},
      {"near their places", [](N i, N n, Random& r) { return std::min(n - 1, i + r.below(300)); }},
      {"1 % elsewhere", [](N i, N n, Random& r) { return r.below(100) == 0 ? r.below(n) : i; }},
      {"6 % elsewhere", [](N i, N n, Random& r) { return r.below(16) == 0 ? r.below(n) : i; }},
      {"neighbours elsewhere", [](N i, N n, Random&) { return i % 900 < 20 ? (i * 7) % n : i; }},
      {"neighbours far up", [](N i, N n, Random&) { return i % 900 < 20 ? n - 1 - i / 900 : i; }},
      {"sorted blocks",
       [](N i, N n, Random& r) {
         return std::min(n - 1, i % 256 * (n / 256) + r.below(n / 256 + 1));
       }},
      {"half of them one key", [](N i, N n, Random& r) { return i % 2 == 0 ? n / 3 : r.below(n); }},
      {"sorted, few", [](N i, N n, Random&) { return i * 5 / n * (n / 5); }},
      {"random", [](N, N n, Random& r) { return r.below(n); }},
  };
  return all;
}

// Returns sorted keys; of floats, one in `special` is a zero or a NaN. Keeps those of the last
// length.
const std::vector<std::uint64_t>& sorted_keys(const Problem& p, std::uint64_t special) {
  static std::uint64_t count = 0;
  static std::map<std::tuple<KeyType, Order, std::uint64_t>, std::vector<std::uint64_t>> kept;
  if (std::exchange(count, p.count) != p.count) kept.clear();
  auto& keys = kept[{p.key, p.order, special}];
  if (!keys.empty()) return keys;
  Random random(p.count);
  const auto& type = info(p.key);
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - type.bits()), sign = all ^ (all >> 1);
  keys.resize(p.count);
  for (auto& key : keys) {
    key = random.next() & all;
    if (!type.is_float) continue;
    if ((key & type.infinity) == type.infinity) key ^= type.infinity;  // a number
    if (special == 0 || random.below(special) != 0) continue;
    key &= sign;  // a zero
    if (random.below(2) == 0) key |= type.infinity + 1 + random.below(3);
  }
  std::stable_sort(keys.begin(), keys.end(),
                   [&](std::uint64_t a, std::uint64_t b) { return rank_of(a, p) < rank_of(b, p); });
  return keys;
}

// The bytes of keys or values.
std::vector<std::byte> packed(const std::vector<std::uint64_t>& numbers, unsigned bytes) {
  std::vector<std::byte> out(numbers.size() * bytes);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    std::memcpy(out.data() + i * bytes, &numbers[i], bytes);
  return out;
}

void expect_sorted(Problem p, const Shape& shape, std::uint64_t special, bool in_place,
                   bool by_many_threads) {
  SCOPED_TRACE(fmt::format("{} {} {}{}{}{}", p.count, info(p.key).name, shape.name,
                           p.order == Order::descending ? ", descending" : "",
                           special != 0 ? ", with zeros and NaN" : "",
                           by_many_threads ? ", by 16 threads" : ""));
  Random random(p.count + special);
  const auto& from = sorted_keys(p, special);
  std::vector<std::uint64_t> keys(p.count), order(p.count), expected(p.count);
  for (std::uint64_t i = 0; i < p.count; ++i) keys[i] = from[shape.place(i, p.count, random)];
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranks(p.count);  // and positions: no ties
  for (std::uint64_t i = 0; i < p.count; ++i) ranks[i] = {rank_of(keys[i], p), i};
  std::sort(ranks.begin(), ranks.end());
  for (std::uint64_t i = 0; i < p.count; ++i) {
    order[i] = ranks[i].second;
    expected[i] = keys[order[i]];
  }

  const unsigned bytes = info(p.key).bytes;
  auto in = packed(keys, bytes);
  std::vector<std::uint64_t> places(p.count);
  std::iota(places.begin(), places.end(), std::uint64_t{0});
  auto values_in = packed(places, p.value_bytes);
  std::vector<std::byte> keys_out(in.size()), values_out(values_in.size());
  HostOperands o{in.data(), in_place ? in.data() : keys_out.data()};
  const bool moves = p.payload == Payload::values;
  if (moves) o.values_in = values_in.data();
  if (p.payload != Payload::none)
    o.values_out = moves && in_place ? values_in.data() : values_out.data();
  Options options{.device = "cpu:0"};
  if (by_many_threads) options.algorithm = "sample", options.parameters = "threads=16";
  sort_host(p, o, options);
  EXPECT_TRUE((in_place ? in : keys_out) == packed(expected, bytes)) << "keys";
  if (p.payload != Payload::none) {
    EXPECT_TRUE((moves && in_place ? values_in : values_out) == packed(order, p.value_bytes))
        << "values";
  }
}

// For each length another way of the sort: a network, one thread, all threads without a search for
// runs, and with it. (Lengths at which a choice changes: 2^15 and 2^16; with 16 threads also
// 2^13 and 2^14.)
TEST(HostOrder, OfAllShapes) {
  unsigned turn = 0;
  for (const std::uint64_t count : {16u, 100u, 4'000u, 20'011u, 32'769u, 65'536u, 300'007u})
    for (const auto& shape : shapes())
      for (const auto key : {KeyType::u32, KeyType::f32, KeyType::i64, KeyType::f64, KeyType::i8,
                             KeyType::u16, KeyType::f16}) {
        ++turn;
        if (count > 20'000 && !is_drawn(turn)) continue;
        Problem p{.key = key, .count = count};
        if (turn % 3 == 0) p.order = Order::descending;
        p.payload = std::array{Payload::positions, Payload::values, Payload::none, Payload::values,
                               Payload::none}[turn % 5];
        if (turn % 10 == 0) p.value_bytes = 8;
        const std::uint64_t special = info(key).is_float ? std::array{0, 50, 1}[turn / 7 % 3] : 0;
        expect_sorted(p, shape, special, turn % 2 == 0, turn % 11 < 4);
        if (HasFailure()) return;
      }
}

// The strays of a sorted list are moved behind the others, and few others with them.
TEST(HostOrder, StraysAreMoved) {
  constexpr std::size_t count = 10'000, most = count / 16;
  const auto moved = [](std::vector<std::uint32_t> words) {
    auto before = words;
    std::vector<std::uint32_t> strays(most);
    const std::size_t kept = sample::move_strays(words.data(), count, strays.data(), most);
    EXPECT_TRUE(std::is_sorted(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(kept)));
    std::sort(before.begin(), before.end());
    std::sort(words.begin(), words.end());
    EXPECT_EQ(words, before);
    return count - kept;
  };
  std::vector<std::uint32_t> sorted(count);
  std::iota(sorted.begin(), sorted.end(), 1000u);
  EXPECT_EQ(moved(sorted), 0u);
  auto keys = sorted;
  for (std::size_t i = 50; i < count; i += 100) keys[i] = i % 200 == 50 ? 0 : 100'000;
  EXPECT_EQ(moved(keys), 100u);
  keys = sorted;
  for (std::size_t i = 500; i < count; i += 1000)
    for (std::size_t k = 0; k < 12; ++k) keys[i + k] = 100'000 + static_cast<std::uint32_t>(k);
  EXPECT_LE(moved(keys), 150u);
  keys = sorted;
  for (std::size_t i = 0; i < count; i += 10) keys[i] = 5;
  EXPECT_EQ(moved(keys), count);  // too many
  std::reverse(sorted.begin(), sorted.end());
  EXPECT_EQ(moved(sorted), count);
}

// Merges of lists of all lengths and overlaps, up to several vectors, and of one word that ties.
template <class Word>
void expect_merges() {
  Random random(9);
  for (unsigned turn = 0; turn < 4'000; ++turn) {
    const std::uint64_t longest = turn % 50 == 0 ? 3'000 : 150;
    const std::uint64_t high = std::array{~std::uint64_t{0}, std::uint64_t{5}}[turn % 2];
    std::vector<Word> lists[2];
    for (auto& list : lists) {
      list.resize(random.below(longest));
      const std::uint64_t from = random.below(3) == 0 ? high - high / 5 : 0;
      for (auto& word : list)
        word = random.below(9) == 0 ? static_cast<Word>(~Word{0})
                                    : static_cast<Word>(from + random.next() % (high - from));
      std::sort(list.begin(), list.end());
    }
    const auto& [a, b] = lists;
    std::vector<Word> expected(a.size() + b.size()), merged(expected.size() + 1, 77);
    std::merge(a.begin(), a.end(), b.begin(), b.end(), expected.begin());
    expected.push_back(77);
    sample::merge_words(a.data(), a.size(), b.data(), b.size(), merged.data());
    ASSERT_EQ(merged, expected) << a.size() << " and " << b.size();
  }
}
TEST(HostOrder, Merges) {
  expect_merges<std::uint32_t>();
  expect_merges<std::uint64_t>();
}

// Returns keys that are random, tie, or differ in their last bits alone, all over the type's range.
std::vector<std::uint64_t> mixed_keys(const Problem& p, Random& random) {
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - info(p.key).bits());
  std::vector<std::uint64_t> keys(p.count);
  for (std::uint64_t i = 0; i < p.count; ++i) {
    const std::uint64_t kind = random.below(4);
    keys[i] = (kind == 0             ? random.next()
               : kind == 1           ? random.below(3) << (info(p.key).bits() - 2)
               : i != 0 && kind == 2 ? keys[i - 1] + random.below(3)
                                     : random.below(10)) &
              all;
  }
  return keys;
}

// Segments in host memory, in groups of up to 2^11 records and longer, of every type and order. Two
// fifths of the lists have segments of one length, without offsets.
TEST(HostOrder, OfSegments) {
  const std::vector<std::uint64_t> lengths{0,   1,    2, 3,    10,   17, 100, 0,
                                           900, 2047, 1, 2048, 2049, 7,  5000};
  Random random(7);
  unsigned turn = 0;
  for (const auto key : {KeyType::u8, KeyType::i16, KeyType::f16, KeyType::bf16, KeyType::u32,
                         KeyType::f32, KeyType::i64, KeyType::f64})
    for (unsigned i = 0; i < 24; ++i, ++turn) {
      const bool rows = turn % 5 < 2;
      const std::uint64_t row_length = lengths[random.below(lengths.size())];
      std::vector<std::uint64_t> offsets{0};
      for (unsigned k = 0; k < 40; ++k)
        offsets.push_back(offsets.back() +
                          (rows ? row_length : lengths[random.below(lengths.size())]));
      Problem p{.key = key, .count = offsets.back()};
      p.order = turn % 2 == 0 ? Order::ascending : Order::descending;
      p.payload = std::array{Payload::none, Payload::positions, Payload::values}[turn % 3];
      p.value_bytes = turn % 4 < 2 ? 4 : 8;
      p.nan = std::array{NanOrder::last, NanOrder::first, NanOrder::bits}[turn / 3 % 3];
      p.zeros = turn % 5 == 0 ? ZeroOrder::distinct : ZeroOrder::tied;
      if (turn % 7 == 0) p.begin_bit = 3, p.end_bit = info(key).bits() - 1;
      p.segments = offsets.size() - 1;
      p.offset_bytes = rows ? 0 : 8;
      SCOPED_TRACE(fmt::format("{}, turn {}", info(key).name, turn));
      const auto keys = mixed_keys(p, random);
      std::vector<std::uint64_t> order(p.count), expected(p.count);
      std::iota(order.begin(), order.end(), std::uint64_t{0});
      for (std::size_t s = 0; s < p.segments; ++s)
        std::stable_sort(order.begin() + static_cast<std::ptrdiff_t>(offsets[s]),
                         order.begin() + static_cast<std::ptrdiff_t>(offsets[s + 1]),
                         [&](auto a, auto b) { return rank_of(keys[a], p) < rank_of(keys[b], p); });
      std::transform(order.begin(), order.end(), expected.begin(),
                     [&](auto at) { return keys[at]; });

      const unsigned bytes = info(key).bytes;
      auto in = packed(keys, bytes);
      std::vector<std::uint64_t> places(p.count);
      std::iota(places.begin(), places.end(), std::uint64_t{0});
      auto values_in = packed(places, p.value_bytes);
      const bool in_place = i % 2 == 0;
      std::vector<std::byte> keys_out(in.size()), values_out(values_in.size());
      HostOperands o{in.data(), in_place ? in.data() : keys_out.data()};
      if (!rows) o.offsets = offsets.data();
      const bool moves = p.payload == Payload::values;
      if (moves) o.values_in = values_in.data();
      if (p.payload != Payload::none)
        o.values_out = moves && in_place ? values_in.data() : values_out.data();
      sort_host(p, o, {.device = "cpu:0"});
      EXPECT_TRUE((in_place ? in : keys_out) == packed(expected, bytes)) << "keys";
      if (p.payload != Payload::none) {
        EXPECT_TRUE((moves && in_place ? values_in : values_out) == packed(order, p.value_bytes))
            << "values";
      }
      if (HasFailure()) return;
    }
}

// Segments of floats without values, in which all NaNs have the same bits or not: those that are
// sorted without codes, and their neighbours. Segments of one length have no offsets.
TEST(HostOrder, OfSegmentsWithNan) {
  Random random(9);
  unsigned turn = 0;
  for (const auto key : {KeyType::f32, KeyType::f64, KeyType::f16})
    for (const auto d : {Distribution::one_nan, Distribution::other_nan, Distribution::ties})
      for (const std::uint64_t length : {0, 5, 40, 300, 3000})  // 0: of all lengths up to 200
        for (const bool in_place : {false, true}) {
          std::vector<std::uint64_t> offsets{0};
          for (unsigned s = 0; s < 60; ++s)
            offsets.push_back(offsets.back() + (length != 0 ? length : random.below(200)));
          Problem p{.key = key, .count = offsets.back(), .segments = offsets.size() - 1};
          p.offset_bytes = length != 0 ? 0 : 8;
          const auto keys = make_keys(d, p, ++turn);
          auto sorted = keys;
          for (std::size_t s = 0; s < p.segments; ++s)
            std::stable_sort(sorted.begin() + static_cast<std::ptrdiff_t>(offsets[s]),
                             sorted.begin() + static_cast<std::ptrdiff_t>(offsets[s + 1]),
                             [&](auto a, auto b) { return rank_of(a, p) < rank_of(b, p); });
          auto in = packed(keys, info(key).bytes);
          std::vector<std::byte> out(in.size());
          HostOperands o{in.data(), in_place ? in.data() : out.data()};
          if (length == 0) o.offsets = offsets.data();
          sort_host(p, o, {.device = "cpu:0"});
          ASSERT_TRUE((in_place ? in : out) == packed(sorted, info(key).bytes))
              << info(key).name << ", " << name(d) << ", length " << length << ", turn " << turn;
        }
}

// The first records of segments of up to 2^11 records, and of segments of which one is longer. What
// a short segment lacks stays as it was. Two fifths of the lists have segments of one length,
// without offsets.
TEST(HostOrder, FirstOfSegments) {
  Random random(8);
  unsigned turn = 0;
  for (const auto key :
       {KeyType::u8, KeyType::f16, KeyType::u32, KeyType::f32, KeyType::i64, KeyType::f64})
    for (const std::uint64_t limit : {1, 3, 40, 3000})
      for (const std::uint64_t longest : {20, 300, 2048, 2049}) {
        ++turn;
        const bool rows = turn % 5 < 2;
        std::vector<std::uint64_t> offsets{0, rows ? longest : 0};
        while (offsets.size() < 23)
          offsets.push_back(offsets.back() +
                            (rows || offsets.size() == 2 ? longest : random.below(longest + 1)));
        Problem p{.key = key, .count = offsets.back()};
        if (limit > p.count) continue;
        p.limit = limit;
        p.order = turn % 2 == 0 ? Order::ascending : Order::descending;
        p.payload = std::array{Payload::none, Payload::positions, Payload::values}[turn % 3];
        p.value_bytes = turn % 4 < 2 ? 4 : 8;
        p.segments = offsets.size() - 1;
        p.offset_bytes = rows ? 0 : 8;
        SCOPED_TRACE(fmt::format("{}, {} of up to {}", info(key).name, limit, longest));
        const auto keys = mixed_keys(p, random);
        std::vector<std::uint64_t> order(p.count), all(p.count);
        std::iota(order.begin(), order.end(), std::uint64_t{0});
        all = order;
        const unsigned bytes = info(key).bytes;
        const auto poison = std::byte{0xa5};
        std::vector<std::byte> expected_keys(p.segments * limit * bytes, poison),
            expected_values(p.segments * limit * p.value_bytes, poison);
        auto keys_out = expected_keys, values_out = expected_values;
        for (std::size_t s = 0; s < p.segments; ++s) {
          const auto begin = order.begin() + static_cast<std::ptrdiff_t>(offsets[s]);
          const auto end = order.begin() + static_cast<std::ptrdiff_t>(offsets[s + 1]);
          std::stable_sort(begin, end, [&](auto a, auto b) {
            return rank_of(keys[a], p) < rank_of(keys[b], p);
          });
          for (std::uint64_t i = 0; i < std::min(limit, offsets[s + 1] - offsets[s]); ++i) {
            const std::uint64_t from = begin[static_cast<std::ptrdiff_t>(i)], to = s * limit + i;
            std::memcpy(expected_keys.data() + to * bytes, &keys[from], bytes);
            std::memcpy(expected_values.data() + to * p.value_bytes, &from, p.value_bytes);
          }
        }
        const auto in = packed(keys, bytes), values_in = packed(all, p.value_bytes);
        HostOperands o{in.data(), keys_out.data()};
        if (!rows) o.offsets = offsets.data();
        if (p.payload == Payload::values) o.values_in = values_in.data();
        if (p.payload != Payload::none) o.values_out = values_out.data();
        sort_host(p, o, {.device = "cpu:0"});
        EXPECT_TRUE(keys_out == expected_keys) << "keys";
        if (p.payload != Payload::none) {
          EXPECT_TRUE(values_out == expected_values) << "values";
        }
        if (HasFailure()) return;
      }
}

// Keys whose sample says nothing about them: almost all are in one part, which is larger than the
// memory that a thread has for a part.
TEST(HostOrder, OfUnsampledKeys) {
  for (const auto key : {KeyType::u32, KeyType::f64})
    for (const auto payload : {Payload::none, Payload::values}) {
      const std::uint64_t count = 200'000;
      Random random(count);
      std::vector<std::uint64_t> keys(count), order(count);
      for (auto& k : keys) k = info(key).infinity / 2 + random.below(1u << 30) + 10'000;
      sample::Positions positions(sample::Positions::splitters_seed);
      for (std::uint64_t i = 0; i < 10'000; ++i) keys[positions.next(count)] = i;
      std::iota(order.begin(), order.end(), std::uint64_t{0});
      std::stable_sort(order.begin(), order.end(),
                       [&](std::uint64_t a, std::uint64_t b) { return keys[a] < keys[b]; });
      auto bytes = packed(keys, info(key).bytes);
      std::vector<std::uint64_t> expected(count), values(count);
      for (std::uint64_t i = 0; i < count; ++i) expected[i] = keys[order[i]], values[i] = i;
      auto value_bytes = packed(values, 4);
      HostOperands o{bytes.data(), bytes.data()};
      if (payload == Payload::values) o.values_in = o.values_out = value_bytes.data();
      sort_host({.key = key, .count = count, .payload = payload}, o, {.device = "cpu:0"});
      EXPECT_TRUE(bytes == packed(expected, info(key).bytes)) << info(key).name;
      if (payload == Payload::values) {
        EXPECT_TRUE(value_bytes == packed(order, 4)) << info(key).name;
      }
    }
}

// Keys of 8 bytes within 2^32, and just beyond: they are sorted by 4 bytes, or not.
TEST(HostOrder, OfNarrowRanges) {
  for (const std::uint64_t count : {50u, 5'000u, 200'000u})
    for (const std::uint64_t span : {std::uint64_t{1000}, (std::uint64_t{1} << 32) - 1,
                                     std::uint64_t{1} << 32, (std::uint64_t{1} << 32) + 1}) {
      Random random(count + span);
      std::vector<std::uint64_t> keys(count);
      for (auto& key : keys) key = 0x123456789abcdef0u + random.below(span) + 1;
      keys[count / 2] = 0x123456789abcdef0u;
      keys[count / 3] = 0x123456789abcdef0u + span;
      auto expected = keys;
      std::sort(expected.begin(), expected.end());
      sort(keys, {.device = "cpu:0"});
      EXPECT_EQ(keys, expected) << count << " keys within " << span;
    }
}

}  // namespace
}  // namespace sortium::test
