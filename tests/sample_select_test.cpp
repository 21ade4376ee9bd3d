// Tests how many records a selection by a sample copies: a pure function of the problem and the
// capabilities.
#include "algorithms/topk/sample_select.hpp"

#include <gtest/gtest.h>

#include <string_view>

#include "expect_error.hpp"

namespace sortium {
namespace {

Capabilities gpu() {
  Capabilities c;
  c.backend = Backend::cuda;
  c.kind = DeviceKind::gpu;
  c.sub_group_words = SubGroupWords::cuda;
  c.compute_units = 132;
  c.max_work_group = 1024;
  return c;
}

SampleSelect select(std::uint64_t count, std::uint64_t k, std::string_view parameters = {}) {
  const Problem p{.key = KeyType::f32, .count = count, .limit = k};
  return {p, gpu(), {parameters, find_algorithm("topk").info()}, k};
}

TEST(SampleSelect, CopiesFewMoreRecordsThanAreWanted) {
  for (unsigned log_n = 18; log_n < 40; ++log_n)
    for (unsigned log_k = 0; log_k <= log_n - 2; ++log_k) {
      const std::uint64_t n = std::uint64_t{1} << log_n, k = std::uint64_t{1} << log_k;
      const std::uint64_t selected = select(n, k).selected();
      EXPECT_GE(selected, k);
      // A few dozens of the ranges between samples, or a small share of many.
      EXPECT_LE(selected, 3 * k + n / 100) << n << ", " << k;
    }
  EXPECT_LT(select(std::uint64_t{1} << 28, 1 << 24).selected(), (1u << 24) * 1.3);
}

TEST(SampleSelect, CopiesAtMostAllRecords) {
  for (const std::uint64_t n : {1, 2, 3, 100, 8192, 8193})
    for (const std::uint64_t k : {std::uint64_t{1}, n / 2, n})
      for (const char* parameters : {"", "samples=1", "samples=7"}) {
        if (k == 0) continue;
        const auto s = select(n, k, parameters);
        EXPECT_GE(s.selected(), k);
        EXPECT_LE(s.selected(), n);
      }
}

TEST(SampleSelect, RefusesWorkGroupsThatTheKernelsCannotUse) {
  test::expect_error([] { (void)select(1000, 1, "work_group=48"); }, ErrorCode::unsupported,
                     {"work_group=48", "32", "1024"});
}

}  // namespace
}  // namespace sortium
