// Tests the words of the kernel dialect for keys and records: each does on the device what its
// counterpart does on the host.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

#include "device_array.hpp"
#include "kernels/kernels.hpp"
#include "keys.hpp"
#include "test_kernels.hpp"

namespace sortium::test {
namespace {

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

}  // namespace
}  // namespace sortium::test
