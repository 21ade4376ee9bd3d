// Tests detail/key_order.h against a reference in this file, on the host and on the device under
// test. Tests every faster encoding against detail/key_order.h, and float fields of records with
// bit ranges on every device.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "algorithms/counting/ranks.hpp"
#include "algorithms/sample/codes.hpp"
#include "device_array.hpp"
#include "kernels/kernels.hpp"
#include "keys.hpp"
#include "test_kernels.hpp"

namespace sortium::test {
namespace {

struct Policy {
  Order order;
  NanOrder nan;
  ZeroOrder zeros;
};

// Integers have one policy for each direction.
std::vector<Policy> policies(const KeyTypeInfo& type) {
  std::vector<Policy> out;
  for (const auto order : {Order::ascending, Order::descending})
    for (const auto nan : {NanOrder::last, NanOrder::first, NanOrder::bits})
      for (const auto zeros : {ZeroOrder::tied, ZeroOrder::distinct})
        if (type.is_float || (nan == NanOrder::last && zeros == ZeroOrder::tied))
          out.push_back({order, nan, zeros});
  return out;
}

std::string describe(const KeyTypeInfo& type, const Policy& p) {
  constexpr std::array nans{"last", "first", "by bits"};
  return fmt::format("{} {}, NaN {}, zeros {}", type.name,
                     p.order == Order::ascending ? "ascending" : "descending",
                     nans[static_cast<unsigned>(p.nan)],
                     p.zeros == ZeroOrder::tied ? "tied" : "distinct");
}

// The reference: a key's rank among all values of its type.
std::uint64_t reference(std::uint64_t key, const KeyTypeInfo& type, const Policy& p) {
  using Place = __int128;
  const Place half = Place{1} << (type.bits() - 1), all = 2 * half - 1;
  const bool high = static_cast<Place>(key) >= half;
  const Place magnitude = high ? key - half : key;  // of a float
  const Place infinity = type.infinity;
  if (type.is_float && magnitude > infinity && p.nan != NanOrder::bits)
    return static_cast<std::uint64_t>(p.nan == NanOrder::last ? all : 0);
  Place place = key;
  if (type.is_signed) place = high ? key - half : key + half;
  if (type.is_float) {
    place = high ? half - 1 - magnitude : half + magnitude;
    if (magnitude == 0 && p.zeros == ZeroOrder::tied) place = half;
  }
  if (p.order == Order::descending) place = all - place;
  if (type.is_float && p.nan == NanOrder::first) {
    const Place last = half + infinity;  // of +inf ascending, and of -inf descending
    place += all - last;
  }
  return static_cast<std::uint64_t>(place);
}

// All keys of 8 and 16 bits; for wider types the special keys, their neighbours and random ones.
std::vector<std::uint64_t> keys_of(const KeyTypeInfo& type) {
  std::vector<std::uint64_t> keys;
  if (type.bits() <= 16) {
    keys.resize(std::size_t{1} << type.bits());
    std::iota(keys.begin(), keys.end(), std::uint64_t{0});
    return keys;
  }
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - type.bits());
  for (const auto key : special_keys(type.type))
    for (std::uint64_t d = 0; d < 5; ++d) keys.push_back((key + d - 2) & all);
  for (Random random(3); keys.size() < 5000;)
    keys.push_back((random.next() >> random.below(type.bits())) & all);
  return keys;
}

struct Range {
  unsigned begin, end;
};
std::vector<Range> ranges(const KeyTypeInfo& type) {
  const unsigned bits = type.bits();
  return {{0, bits},           {0, 1},
          {bits - 1, bits},    {bits * 5 / 8, bits},
          {0, bits / 2},       {bits / 4, bits * 3 / 4},
          {bits / 2, bits - 1}};
}
std::uint64_t within(std::uint64_t order, Range r) {
  return r.end - r.begin == 64 ? order
                               : order >> r.begin & ((std::uint64_t{1} << (r.end - r.begin)) - 1);
}

class KeyOrder : public testing::TestWithParam<KeyType> {
 protected:
  const KeyTypeInfo& type = info(GetParam());
  std::vector<std::uint64_t> keys = keys_of(type);
};

class IntegerOrder : public KeyOrder {};
class FloatOrder : public KeyOrder {};
#ifdef SORTIUM_WITH_HOST
class WideKeyOrder : public KeyOrder {};
#endif
class WideFloatOrder : public KeyOrder {};

TEST_P(KeyOrder, IsTheReferencesOnTheHost) {
  for (const auto& p : policies(type))
    for (const auto range : ranges(type)) {
      const KeyRank rank(Problem{.key = type.type,
                                 .order = p.order,
                                 .begin_bit = range.begin,
                                 .end_bit = range.end,
                                 .nan = p.nan,
                                 .zeros = p.zeros});
      for (const auto key : keys) {
        const auto order = reference(key, type, p);
        ASSERT_EQ(order_bits(key, type, p.order, p.nan, p.zeros), order)
            << describe(type, p) << std::hex << ' ' << key;
        ASSERT_EQ(rank(key), within(order, range)) << describe(type, p) << std::hex << ' ' << key;
      }
    }
}

// Checks key_may_tie(): it returns true if another key has the same order bits.
TEST_P(KeyOrder, SaysWhichKeysTieAndReturnsThem) {
  const std::uint64_t sign = std::uint64_t{1} << (type.bits() - 1);
  for (const auto& p : policies(type)) {
    const auto o = detail::key_order(type, p.order, p.nan, p.zeros);
    for (const auto key : keys) {
      const auto order = reference(key, type, p);
      const bool is_nan = type.is_float && (key & (sign - 1)) > type.infinity;
      const bool ties = (is_nan && p.nan != NanOrder::bits) ||
                        (type.is_float && p.zeros == ZeroOrder::tied && key == sign);
      ASSERT_EQ(detail::key_may_tie(key, o) != 0, ties) << describe(type, p) << std::hex << key;
      const auto back = detail::key_with_order(order, o);
      if (!ties) {
        ASSERT_EQ(detail::order_of_untied_key(key, o), order) << describe(type, p);
        ASSERT_EQ(back, key) << describe(type, p);
      } else if (!(is_nan && p.nan == NanOrder::first)) {  // 0: the number that sorts first
        ASSERT_EQ(reference(back, type, p), order) << describe(type, p);
      }
    }
    ASSERT_EQ(reference(detail::last_key(o), type, p), sign | (sign - 1)) << describe(type, p);
  }
}

TEST_P(KeyOrder, IsTheSameOnTheDevice) {
  if (on_host()) GTEST_SKIP() << "kernels run on devices";
  constexpr unsigned wg = 64;
  kernels::Defines defines;
  defines.problem({.count = 1})
      .set("SAY_ORDERS", 1)
      .set("SAY_SPREAD", 0)
      .set("SPREAD_BITS", 0)
      .set("WG", wg);
  const auto& device = test_device();
  const auto module =
      kernels::build(*device, capabilities(*device),
                     kernels::Source{"key_order_test.cl", key_order_test_cl}, defines);
  const auto kernel = module->kernel("say_orders");
  const auto queue = device->make_queue();
  const DeviceArray<std::uint64_t> in(*queue, keys), orders(*queue, keys.size()),
      untied(*queue, keys.size()), with(*queue, keys.size()), ranks(*queue, keys.size());
  const DeviceArray<std::uint32_t> ties(*queue, keys.size());
  unsigned turn = 0;
  for (const auto& p : policies(type)) {
    const auto o = detail::key_order(type, p.order, p.nan, p.zeros);
    const auto all_ranges = ranges(type);
    const auto range = all_ranges[turn++ % all_ranges.size()];
    const Arg args[] = {{"keys", in.memory()},
                        {"orders", orders.memory()},
                        {"untied", untied.memory()},
                        {"with", with.memory()},
                        {"ranks", ranks.memory()},
                        {"ties", ties.memory()},
                        {"bits", o.bits},
                        {"is_signed", o.is_signed},
                        {"infinity", std::uint64_t{o.infinity}},
                        {"nan", o.nan},
                        {"zeros", o.zeros},
                        {"descending", o.descending},
                        {"begin_bit", range.begin},
                        {"rank_bits", range.end - range.begin},
                        {"n", std::uint64_t{keys.size()}}};
    queue->launch(
        {*kernel, static_cast<std::uint32_t>((keys.size() + wg - 1) / wg), wg, args, "test"});
    const auto order = orders.read(), fast = untied.read(), back = with.read(), rank = ranks.read();
    const auto tie = ties.read();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto expected = detail::order_of_key(keys[i], o);
      ASSERT_EQ(order[i], expected) << describe(type, p) << std::hex << ' ' << keys[i];
      ASSERT_EQ(fast[i], detail::order_of_untied_key(keys[i], o)) << describe(type, p);
      ASSERT_EQ(back[i], detail::key_with_order(expected, o)) << describe(type, p);
      ASSERT_EQ(rank[i], within(expected, range)) << describe(type, p);
      ASSERT_EQ(tie[i], detail::key_may_tie(keys[i], o)) << describe(type, p);
    }
  }
}

// sort() of integers by a network uses key ^ (order of 0).
TEST_P(IntegerOrder, IsOneExclusiveOr) {
  for (const auto& p : policies(type)) {
    const auto flip = order_bits(0, type, p.order);
    for (const auto key : keys) ASSERT_EQ(key ^ flip, reference(key, type, p));
  }
}

// sort() of three keys or fewer.
TEST_P(FloatOrder, IsThatOfTheSignedDefaultOrder) {
  const std::uint64_t sign = std::uint64_t{1} << (type.bits() - 1), all = sign | (sign - 1);
  for (const auto key : keys) {
    const auto code = detail::signed_default_order(key, type.infinity, type.bits());
    ASSERT_EQ((code ^ sign) & all,
              reference(key, type, {Order::ascending, NanOrder::last, ZeroOrder::tied}));
  }
}

// onesweep sorts floats by digits of codes. With the flips applied, these must equal the digits of
// the order bits. With NaN first, onesweep uses codes only if all bits are significant; then each
// number's code is its order bits plus a constant, which changes no comparison.
TEST_P(FloatOrder, IsThatOfFloatCodes) {
  const unsigned bits = type.bits();
  const auto mask = detail::float_code_mask(bits), all = mask << 1 | 1;
  for (const auto order : {Order::ascending, Order::descending}) {
    const Policy total{order, NanOrder::bits, ZeroOrder::distinct};
    for (const unsigned shift : {0u, bits / 2 - 3, bits - 8, bits - 5})
      for (const auto key : keys) {
        const auto code = detail::float_code(key, mask, bits);
        ASSERT_EQ(detail::float_code(code & all, mask, bits) & all, key);
        ASSERT_EQ(detail::float_code(key, 0, bits), key);
        const unsigned digit = (1u << std::min(8u, bits - shift)) - 1;
        const auto flip =
            detail::float_code_flip(shift, digit, bits, order == Order::descending ? 1 : 0);
        ASSERT_EQ(((code & all) >> shift & digit) ^ flip,
                  reference(key, type, total) >> shift & digit)
            << describe(type, total) << std::hex << ' ' << key << ' ' << shift;
      }
  }
}

#ifdef SORTIUM_WITH_HOST
// sample's codes must have the order of the keys. Keys that tie share one code after
// Ties::shared().
template <class Word>
void expect_codes(const KeyTypeInfo& type, const std::vector<std::uint64_t>& keys, Order order) {
  const Policy policy{order, NanOrder::last, ZeroOrder::tied};
  const auto coding = sample::coding_of<Word>(Problem{.key = type.type, .order = order});
  const std::vector<Word> in(keys.begin(), keys.end());
  std::vector<Word> codes(in.size());
  sample::encode(in.data(), codes.data(), in.size(), coding);
  std::vector<std::pair<std::uint64_t, Word>> by_order;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const Word code = type.is_float && sample::Ties<Word>::has(codes[i])
                          ? sample::Ties<Word>::shared(codes[i])
                          : codes[i];
    by_order.emplace_back(reference(in[i], type, policy), code);
  }
  std::ranges::sort(by_order);
  for (std::size_t i = 1; i < by_order.size(); ++i) {
    const auto& [a, code_a] = by_order[i - 1];
    const auto& [b, code_b] = by_order[i];
    ASSERT_EQ(a == b, code_a == code_b) << describe(type, policy) << std::hex << ' ' << a;
    ASSERT_LE(code_a, code_b) << describe(type, policy) << std::hex << ' ' << a;
  }
  sample::decode(codes.data(), codes.size(), coding);
  ASSERT_EQ(codes, in) << describe(type, policy);
}
// The ranks of `counting` must ascend in the order of the keys, whichever encoding computes them.
TEST(NarrowKeyOrder, IsThatOfTheRanks) {
  for (const char* name : {"u8", "i8", "u16", "i16", "f16", "bf16"}) {
    const auto& type = info(parse_key_type(name));
    for (const auto& policy : policies(type))
      for (const unsigned cut : {0u, 3u}) {
        Problem p{.key = type.type, .order = policy.order};
        p.nan = policy.nan, p.zeros = policy.zeros;
        p.begin_bit = cut, p.end_bit = type.bits() - cut;
        std::vector<std::uint16_t> all(std::size_t{1} << type.bits()), ranks(all.size());
        std::iota(all.begin(), all.end(), std::uint16_t{0});
        counting::BlockRanks(p).of(all.data(), ranks.data(), all.size());
        std::vector<std::pair<std::uint64_t, std::uint16_t>> by_order;
        for (std::size_t i = 0; i < all.size(); ++i)
          by_order.emplace_back(within(reference(all[i], type, policy), {cut, type.bits() - cut}),
                                ranks[i]);
        std::ranges::sort(by_order);
        for (std::size_t i = 1; i < by_order.size(); ++i) {
          const auto& [a, rank_a] = by_order[i - 1];
          const auto& [b, rank_b] = by_order[i];
          ASSERT_EQ(a == b, rank_a == rank_b) << describe(type, policy) << std::hex << ' ' << a;
          ASSERT_LE(rank_a, rank_b) << describe(type, policy) << std::hex << ' ' << a;
        }
      }
  }
}

TEST_P(WideKeyOrder, IsThatOfTheVectorUnitsCodes) {
  for (const auto order : {Order::ascending, Order::descending}) {
    if (type.bytes == 4) expect_codes<std::uint32_t>(type, keys, order);
    if (type.bytes == 8) expect_codes<std::uint64_t>(type, keys, order);
  }
}
#endif

// msd's spread orders must have the order of the keys, and the tables must convert them back to the
// order bits.
template <class Word>
void expect_spread(const KeyTypeInfo& type) {
  constexpr unsigned wg = 64;
  const unsigned lead_bits = type.bits() - static_cast<unsigned>(std::countr_zero(type.infinity));
  const unsigned low = type.bits() - lead_bits, leads = 1u << lead_bits;
  const auto& device = test_device();
  kernels::Defines defines;
  defines.problem({.key = type.type, .count = 1});
  defines.set("SAY_ORDERS", 0).set("SAY_SPREAD", 1).set("SPREAD_BITS", lead_bits).set("WG", wg);
  const auto module =
      kernels::build(*device, capabilities(*device),
                     kernels::Source{"key_order_test.cl", key_order_test_cl}, defines);
  // Some leading values get 2^k times their share of the spread orders, others none.
  std::vector<std::uint32_t> spread(leads, ~0u), back(leads, 0);
  std::vector<Word> orders;
  Random random(5);
  std::uint32_t first = 0;
  for (std::uint32_t lead = random.below(9); lead < leads; lead += 1 + random.below(30)) {
    const auto log2_times = static_cast<std::uint32_t>(random.below(6));
    if (first + (1u << log2_times) > leads) break;
    spread[lead] = first << 4 | log2_times;
    for (std::uint32_t r = 0; r < 1u << log2_times; ++r)
      back[first + r] = lead << 16 | first << 4 | log2_times;
    first += 1u << log2_times;
    const Word lowest = static_cast<Word>(Word{lead} << low), mask = (Word{1} << low) - 1;
    for (const Word bits : {Word{0}, Word{1}, mask, static_cast<Word>(mask - 1)})
      orders.push_back(lowest | bits);
    for (int i = 0; i < 20; ++i)
      orders.push_back(lowest | (static_cast<Word>(random.next()) & mask));
  }
  std::ranges::sort(orders);
  const auto queue = device->make_queue();
  const DeviceArray<Word> in(*queue, orders), to(*queue, orders.size()),
      from(*queue, orders.size());
  const DeviceArray<std::uint32_t> table(*queue, spread), table_back(*queue, back);
  const auto kernel = module->kernel("say_spread");
  const Arg args[] = {{"orders", in.memory()},       {"spread", table.memory()},
                      {"back", table_back.memory()}, {"spread_orders", to.memory()},
                      {"gathered", from.memory()},   {"n", std::uint64_t{orders.size()}}};
  queue->launch(
      {*kernel, static_cast<std::uint32_t>((orders.size() + wg - 1) / wg), wg, args, "test"});
  const auto spread_orders = to.read();
  ASSERT_GT(orders.size(), 100u);
  for (std::size_t i = 1; i < orders.size(); ++i)
    ASSERT_EQ(spread_orders[i - 1] < spread_orders[i], orders[i - 1] < orders[i])
        << std::hex << orders[i - 1] << ' ' << orders[i];
  ASSERT_EQ(from.read(), orders);
}
TEST_P(WideFloatOrder, IsThatOfSpreadOrders) {
  if (on_host()) GTEST_SKIP() << "kernels run on devices";
  if (type.bytes == 4) expect_spread<std::uint32_t>(type);
  if (type.bytes == 8) expect_spread<std::uint64_t>(type);
}

std::string type_name(const testing::TestParamInfo<KeyType>& instance) {
  return std::string(sortium::info(instance.param).name);
}
using enum KeyType;
INSTANTIATE_TEST_SUITE_P(Of, KeyOrder, testing::ValuesIn(all_key_types), type_name);
INSTANTIATE_TEST_SUITE_P(Of, IntegerOrder, testing::Values(u8, i8, u16, i16, u32, i32, u64, i64),
                         type_name);
INSTANTIATE_TEST_SUITE_P(Of, FloatOrder, testing::Values(f16, bf16, f32, f64), type_name);
#ifdef SORTIUM_WITH_HOST
INSTANTIATE_TEST_SUITE_P(Of, WideKeyOrder, testing::Values(u32, i32, f32, u64, i64, f64),
                         type_name);
#endif
INSTANTIATE_TEST_SUITE_P(Of, WideFloatOrder, testing::Values(f32, f64), type_name);

// -------------------------------------------------------------------------------------------------
// Records
// -------------------------------------------------------------------------------------------------

struct FieldCase {
  KeyType type;
  Policy policy;
  Range range;
};

// Float fields: every policy with every bit range on cpu:0. Other devices compile a kernel for each
// case: there every policy is tested with one of the ranges, by the seed.
std::vector<FieldCase> field_cases(bool all) {
  std::vector<FieldCase> out;
  std::uint64_t turn = run_seed();
  for (const auto type : {KeyType::f32, KeyType::f64, KeyType::f16, KeyType::bf16}) {
    const unsigned bits = info(type).bits();
    const std::vector<Range> some{
        {0, bits}, {bits * 5 / 8, bits}, {0, bits * 3 / 8}, {bits / 4, bits - 2}};
    for (const auto& policy : policies(info(type))) {
      ++turn;
      for (unsigned r = 0; r < some.size(); ++r)
        if (all || r == turn % some.size()) out.push_back({type, policy, some[r]});
    }
  }
  return out;
}

constexpr unsigned record_bytes = 13;  // with up to 8 bytes of key, which are not aligned
constexpr unsigned key_offset = 5;

std::vector<std::byte> make_records(const std::vector<std::uint64_t>& keys) {
  std::vector<std::byte> out(keys.size() * record_bytes);
  for (std::size_t i = 0; i < keys.size(); ++i)
    std::memcpy(out.data() + i * record_bytes + key_offset, &keys[i], sizeof keys[i]);
  return out;
}

TEST(FieldOrder, IsTheReferencesOnEveryDevice) {
  std::vector<std::shared_ptr<Device>> under_test{test_device()};
  for (const auto& device : devices())
    if (device != test_device() && !is_set("SORTIUM_TEST_SMALL")) under_test.push_back(device);
  const std::size_t count = is_set("SORTIUM_TEST_SMALL") ? 97 : 3000;
  for (const auto& device : under_test) {
    const bool host = device->info().claimed.backend == Backend::host;
    unsigned cases = 0, wrong = 0;
    for (const auto& [key, policy, range] : field_cases(host || is_set("SORTIUM_TEST_FULL"))) {
      if (is_set("SORTIUM_TEST_SMALL") && cases == 3) break;
      const auto& type = info(key);
      auto keys = make_keys(Distribution::special, {.key = key, .count = count}, 11);
      Random random(12);
      for (std::size_t i = 0; i < keys.size(); i += 3)
        keys[i] = random.next() >> (64 - type.bits());
      std::vector<std::uint64_t> ranks(count);
      std::ranges::transform(keys, ranks.begin(), [&, &p = policy, &r = range](auto k) {
        return within(reference(k, type, p), r);
      });
      std::vector<std::uint32_t> expected(count);
      std::iota(expected.begin(), expected.end(), 0u);
      std::ranges::stable_sort(expected, {}, [&](auto i) { return ranks[i]; });

      const auto records = make_records(keys);
      const auto got = argsort_records(records.data(), record_bytes, count,
                                       {{.offset = key_offset,
                                         .type = key,
                                         .order = policy.order,
                                         .nan = policy.nan,
                                         .zeros = policy.zeros,
                                         .begin_bit = range.begin,
                                         .end_bit = range.end}},
                                       {.device = device->info().id, .algorithm = "auto"});
      ++cases;
      if (got == expected) continue;
      const auto at = std::ranges::mismatch(got, expected).in1 - got.begin();
      ADD_FAILURE() << device->info().id << ", " << describe(type, policy) << ", bits "
                    << range.begin << ':' << range.end << ": record " << at << " differs";
      if (++wrong == 5) break;
    }
    EXPECT_GT(cases, 2u);
  }
}

}  // namespace
}  // namespace sortium::test
