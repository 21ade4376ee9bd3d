// Few records on cpu:0: the orders of places by words of 4 and of 8 bytes, the merges of a few
// runs, and the first records. Every result is compared with a stable sort.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <sortium/sortium.hpp>

#include "keys.hpp"
#include "support.hpp"

namespace sortium::test {
namespace {

using Keys = std::vector<std::uint64_t>;

// What decides how the places are ordered.
const std::vector<const char*> kinds{"random",      "one far away",   "clusters",     "few",
                                     "rising runs", "70 rising runs", "falling runs", "rising",
                                     "falling",     "falling, ties",  "zeros and NaN"};

Keys keys_of(const std::string& kind, const Problem& p, Random& random) {
  const auto& type = info(p.key);
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - type.bits()), n = p.count;
  Keys keys(n);
  for (auto& key : keys) {
    key = random.next() & all;
    if (kind == "one far away") key = 0x12345678 + random.below(3 * n);
    if (kind == "clusters") key = (random.below(5) << (type.bits() - 4)) + random.below(n);
    if (kind == "few") key = random.below(7) << (type.bits() - 4) | random.below(3);
    if (kind == "falling, ties") key = random.below(1 + n / 3);
    if (kind == "zeros and NaN" && random.below(20) == 0)
      key = random.below(2) << (type.bits() - 1) | (random.below(2) == 0 ? 0 : all >> 1);
  }
  if (kind == "one far away") keys[n / 2] = all >> 2;
  const auto before = [&](std::uint64_t a, std::uint64_t b) {
    return rank_of(a, p) < rank_of(b, p);
  };
  const std::uint64_t run = 1 + (kind.find("runs") == std::string::npos ? n
                                 : kind.find("70") != std::string::npos ? n / 70
                                                                        : n / 6);
  if (kind.find("rising") != std::string::npos || kind.find("falling") != std::string::npos)
    for (std::uint64_t begin = 0; begin < n; begin += run) {
      const auto first = keys.begin() + static_cast<std::ptrdiff_t>(begin),
                 last = keys.begin() + static_cast<std::ptrdiff_t>(std::min(n, begin + run));
      std::stable_sort(first, last, before);
      if (kind.find("falling") != std::string::npos) std::reverse(first, last);
    }
  return keys;
}

std::vector<std::byte> packed(const Keys& numbers, unsigned bytes) {
  std::vector<std::byte> out(numbers.size() * bytes);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    std::memcpy(out.data() + i * bytes, &numbers[i], bytes);
  return out;
}

void expect_first(const Problem& p, const Keys& keys, bool in_place) {
  Keys order(p.count), values(p.count);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::uint64_t a, std::uint64_t b) {
    return rank_of(keys[a], p) < rank_of(keys[b], p);
  });
  for (std::uint64_t i = 0; i < p.count; ++i)
    values[i] = p.payload == Payload::values ? 3 * i + 1 : i;
  order.resize(p.limit == 0 ? p.count : p.limit);
  Keys expected(order.size()), expected_values(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    expected[i] = keys[order[i]], expected_values[i] = values[order[i]];

  const unsigned bytes = info(p.key).bytes;
  auto in = packed(keys, bytes), values_in = packed(values, p.value_bytes);
  std::vector<std::byte> out(order.size() * bytes), values_out(order.size() * p.value_bytes);
  HostOperands o{in.data(), p.keys_out ? (in_place ? in.data() : out.data()) : nullptr};
  if (p.payload == Payload::values) o.values_in = values_in.data();
  if (p.payload != Payload::none)
    o.values_out = in_place && p.payload == Payload::values ? values_in.data() : values_out.data();
  sort_host(p, o, {.device = "cpu:0"});
  if (p.keys_out) {
    EXPECT_TRUE((in_place ? in : out) == packed(expected, bytes)) << "keys";
  }
  if (p.payload != Payload::none) {
    EXPECT_TRUE((in_place && p.payload == Payload::values ? values_in : values_out) ==
                packed(expected_values, p.value_bytes))
        << "values";
  }
}

void expect_all_first(Problem p, const Keys& keys, unsigned turn) {
  if (turn % 3 == 0) p.order = Order::descending;
  p.payload = std::array{Payload::positions, Payload::values, Payload::positions}[turn / 3 % 3];
  p.value_bytes = turn % 2 == 0 ? 4 : 8;
  p.keys_out = p.payload == Payload::values || turn % 4 != 0;
  expect_first(p, keys, p.keys_out && turn % 5 == 0);
  for (const std::uint64_t limit : {std::uint64_t{1}, 1 + p.count / 20, p.count / 3 + 1, p.count}) {
    p.limit = limit;
    if (turn % 7 == 0) p.payload = Payload::none, p.keys_out = true;
    expect_first(p, keys, false);
  }
}

TEST(HostFew, AreSorted) {
  unsigned turn = 0;
  for (const std::uint64_t count :
       {17u, 64u, 300u, 1'030u, 3'000u, 8'192u, 16'384u, 16'385u, 32'768u, 70'000u, 150'001u})
    for (const auto* kind : kinds)
      for (const auto key :
           {KeyType::u32, KeyType::i32, KeyType::f32, KeyType::u64, KeyType::f64}) {
        ++turn;
        if (count > 10'000 && !is_drawn(turn)) continue;
        if (count > 100'000 && std::string(kind).find("runs") == std::string::npos) continue;
        const Problem p{.key = key, .count = count};
        Random random(turn);
        SCOPED_TRACE(fmt::format("{} {} {}", count, info(key).name, kind));
        expect_all_first(p, keys_of(kind, p, random), turn);
        if (HasFailure()) return;
      }
}

}  // namespace
}  // namespace sortium::test
