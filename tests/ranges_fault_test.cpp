// Makes every allocation of the thread that calls a sort in ranges fail, once or from that one on.
// The sort must then throw and lose no record, or do without the allocation.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "faults.hpp"
#include "sort/ranges.hpp"
#include "support.hpp"

namespace sortium::test {
namespace {

constexpr std::uint64_t count = 20'000;

// Keys and values. Values number the keys.
struct Lists {
  std::vector<std::uint32_t> keys = std::vector<std::uint32_t>(count), values = keys;
  Lists() {
    Random random(21);
    for (auto& key : keys) key = static_cast<std::uint32_t>(random.below(5000));
    std::iota(values.begin(), values.end(), 0);
  }
  bool operator==(const Lists&) const = default;
};

// `to` is `from` for a sort in place. cpu:0 sorts in ranges only here: it has no limit of its own.
// Nothing that it needs is allocated by a driver, which might not survive.
void sort(const std::shared_ptr<Device>& device, Lists& from, Lists& to) {
  const Moved moved = &from == &to ? Moved::in_place : Moved::out;
  const RecordProblem problem{
      .count = count, .columns = {{4, moved}, {4, moved}}, .key = {{.type = KeyType::u32}}};
  const void* const in[] = {from.keys.data(), from.values.data()};
  void* const out[] = {to.keys.data(), to.values.data()};
  sort_in_ranges(device, problem, {in, out, nullptr}, {});
}

// The same records, in any order.
bool has_all(const Lists& lists) {
  static const Lists before;
  std::vector<bool> seen(count, false);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t value = lists.values[i];
    if (value >= count || seen[value] || lists.keys[i] != before.keys[value]) return false;
    seen[value] = true;
  }
  return true;
}

class RangeAllocations : public testing::TestWithParam<std::tuple<bool, bool>> {};

TEST_P(RangeAllocations, LoseNoRecord) {
  const auto [in_place, lasting] = GetParam();
  const Lists before;
  const auto device = find_device("cpu:0");
  Lists from, apart;
  Lists sorted;
  sort(device, sorted, sorted);
  ASSERT_TRUE(std::ranges::is_sorted(sorted.keys));
  ASSERT_TRUE(has_all(sorted));

  std::uint64_t failures = 0, n = 1;
  for (;; ++n) {
    from = before;
    bool threw = false;
    fail_allocation(n, lasting);
    try {
      sort(device, from, in_place ? from : apart);
    } catch (const std::bad_alloc&) {
      threw = true;
    } catch (const Error& e) {
      threw = e.code() == ErrorCode::out_of_memory;
    }
    const bool failed = stop_failing();
    ASSERT_TRUE(has_all(from)) << "allocation " << n;
    ASSERT_TRUE(in_place || from == before) << "allocation " << n;
    ASSERT_TRUE(threw || (in_place ? from : apart) == sorted) << "allocation " << n;
    if (!failed) break;
    if (threw) ++failures;
  }
  EXPECT_GT(failures, 100u);
  fmt::print("{} allocations, of which {} were done without\n", n - 1, n - 1 - failures);
}

INSTANTIATE_TEST_SUITE_P(Host, RangeAllocations, testing::Combine(testing::Bool(), testing::Bool()),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param) ? "in_place" : "apart") +
                                  (std::get<1>(test.param) ? "_lasting" : "_once");
                         });

}  // namespace
}  // namespace sortium::test
