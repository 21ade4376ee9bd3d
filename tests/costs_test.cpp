// Tests how `auto` chooses a device for host memory.
#include "sort/costs.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <vector>

#include "support.hpp"

namespace sortium::test {
namespace {

using costs::Candidate;
using costs::Kind;
using costs::Times;

TEST(Costs, InterpolateOnLines) {
  const Times times{1e-3, 2e-3, 16e-3};
  for (std::size_t i = 0; i < times.size(); ++i)
    EXPECT_DOUBLE_EQ(costs::seconds(times, costs::counts[i]), times[i]);
  const std::uint64_t middle = (costs::counts[0] + costs::counts[1]) / 2;
  EXPECT_NEAR(costs::seconds(times, middle), 1.5e-3, 1e-8);
  const double slope = 14e-3 / static_cast<double>(costs::counts[2] - costs::counts[1]);
  EXPECT_NEAR(costs::seconds(times, 1u << 28),
              16e-3 + slope * static_cast<double>((1u << 28) - costs::counts[2]), 1e-9);
  EXPECT_GE(costs::seconds({1e-3, 100e-3, 200e-3}, 1), 0);
}

// Times in milliseconds of cpu:0 and of a GPU, as measured with 16 cores and an H200
// (host-memory.md) or with two cores.
TEST(Costs, FastestOfATable) {
  const Times many_cores{0.05e-3, 0.6e-3, 4.7e-3}, two_cores{0.25e-3, 3.6e-3, 33e-3},
      gpu{0.6e-3, 1.35e-3, 3.2e-3}, slow_link{0.6e-3, 3e-3, 20e-3};
  struct Row {
    Times host, device;
    std::uint64_t count;
    bool in_ranges;
    std::size_t expected;  // 0: the GPU, 1: cpu:0
  };
  const std::vector<Row> table{
      {many_cores, gpu, 1u << 16, false, 1},       {many_cores, gpu, 1u << 20, false, 1},
      {many_cores, gpu, 1u << 22, false, 0},       {many_cores, gpu, 1u << 28, false, 0},
      {many_cores, gpu, 1u << 28, true, 0},        {many_cores, slow_link, 1u << 28, false, 1},
      {two_cores, gpu, 1u << 16, false, 1},        {two_cores, gpu, 1u << 18, false, 0},
      {two_cores, gpu, 1u << 20, false, 0},        {two_cores, gpu, 1ull << 32, false, 0},
      {two_cores, slow_link, 1u << 28, false, 0},  {two_cores, slow_link, 1u << 28, true, 1},
      {many_cores, slow_link, 1u << 16, false, 1}, {two_cores, slow_link, 1u << 17, false, 1},
  };
  for (std::size_t r = 0; r < table.size(); ++r) {
    const auto& row = table[r];
    const Candidate both[] = {{row.device, row.in_ranges}, {row.host, false}};
    EXPECT_EQ(costs::fastest(both, row.count), row.expected) << "row " << r;
  }
}

TEST(Costs, DevicesThatFailAreNotTaken) {
  const Times slow{1, 2, 3};
  const Candidate second[] = {{std::nullopt, false}, {slow, true}};
  EXPECT_EQ(costs::fastest(second, 1u << 20), 1u);
  const Candidate none[] = {{std::nullopt, false}, {std::nullopt, false}};
  EXPECT_EQ(costs::fastest(none, 1u << 20), 0u);
  const Candidate equal[] = {{slow, false}, {slow, false}};
  EXPECT_EQ(costs::fastest(equal, 1u << 20), 0u);
}

TEST(Costs, PlausibleTimes) {
  EXPECT_TRUE(costs::are_plausible({1e-4, 1e-3, 1e-2}));
  EXPECT_TRUE(costs::are_plausible({1e-3, 1e-3, 1e-3}));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Times& times :
       {Times{0, 1e-3, 1e-2}, Times{-1, 1, 2}, Times{1e-3, nan, 1}, Times{nan, nan, nan},
        Times{1e-3, 1e-2, 1e9}, Times{1e-3, 1e-2, INFINITY}, Times{1e-2, 1e-3, 1}})
    EXPECT_FALSE(costs::are_plausible(times)) << times[0] << " " << times[1] << " " << times[2];
}

TEST(Costs, MeasureTakesTheLesserOfTwo) {
  std::vector<std::uint64_t> prepared, sorted;
  const Times times = costs::measure([&](std::uint64_t n) { prepared.push_back(n); },
                                     [&](std::uint64_t n) { sorted.push_back(n); });
  const std::vector<std::uint64_t> twice{1u << 16, 1u << 16, 1u << 20,
                                         1u << 20, 1u << 23, 1u << 23};
  EXPECT_EQ(prepared, twice);
  EXPECT_EQ(sorted, twice);
  EXPECT_TRUE(std::ranges::is_sorted(times));
}

TEST(Costs, Kinds) {
  EXPECT_EQ(costs::kind_of({.key = KeyType::f32}), (Kind{.key_bytes = 4}));
  EXPECT_EQ(costs::kind_of({.key = KeyType::u64, .begin_bit = 8, .end_bit = 20}),
            (Kind{.key_bytes = 8, .few_bits = true}));
  EXPECT_EQ(costs::kind_of({.key = KeyType::i16, .payload = Payload::positions, .value_bytes = 8}),
            (Kind{.key_bytes = 2, .payload = Payload::positions, .value_bytes = 8}));
  EXPECT_EQ(costs::kind_of_records(100).record_bytes, 128u);
  EXPECT_EQ(costs::kind_of_records(1).record_bytes, 8u);
  EXPECT_EQ(costs::kind_of_records(5000).record_bytes, 256u);
  EXPECT_NE(costs::kind_of_records(16).text(), costs::kind_of_records(32).text());
}

// Each measurement is kept in a file of its own. Broken and foreign files are measured anew.
TEST(Costs, AreKeptAndValidated) {
  namespace fs = std::filesystem;
  const fs::path where = fs::temp_directory_path() / fmt::format("sortium-costs-{}", ::getpid());
  fs::remove_all(where);
  const char* const before = std::getenv("SORTIUM_CACHE_DIR");
  const std::string restored = before == nullptr ? "" : before;
  ::setenv("SORTIUM_CACHE_DIR", where.c_str(), 1);

  const auto files = [&] {
    std::vector<fs::path> out;
    for (const auto& f : fs::directory_iterator(where)) out.push_back(f.path());
    return out;
  };
  const auto host = devices().back();
  const Kind kind{.key_bytes = 1};
  const auto times = costs::kept_times_of(*host, kind);
  ASSERT_TRUE(times && costs::are_plausible(*times));
  EXPECT_EQ(costs::kept_times_of(*host, kind), times);
  if (host->info().claimed.backend == Backend::host) {
    ASSERT_EQ(files().size(), 1u);  // no kernels beside it
    const auto file = files().front();
    const auto size = fs::file_size(file);
    EXPECT_GT(size, sizeof(Times));
    const auto read_again = [&] { return costs::kept_times_of(*host, kind); };
    EXPECT_EQ(read_again(), times);
    for (const std::string_view broken : {"", "x", "SORTIUM1 but something else entirely"}) {
      std::ofstream(file, std::ios::trunc) << broken;
      const auto anew = read_again();
      ASSERT_TRUE(anew && costs::are_plausible(*anew));
      EXPECT_EQ(fs::file_size(file), size) << "the measurement was not kept";
    }
  }
  if (before == nullptr)
    ::unsetenv("SORTIUM_CACHE_DIR");
  else
    ::setenv("SORTIUM_CACHE_DIR", restored.c_str(), 1);
  fs::remove_all(where);
}

TEST(Costs, OfTheDeviceUnderTest) {
  const auto times = host_sort_times(*test_device());
  ASSERT_EQ(times.size(), costs::counts.size());
  EXPECT_EQ(times[1].count, 1u << 20);
  EXPECT_GT(times[0].seconds, 0);
  EXPECT_LE(times[0].seconds, times[2].seconds);
  const auto records = costs::times_of(*test_device(), costs::kind_of_records(16));
  ASSERT_TRUE(records);
}

}  // namespace
}  // namespace sortium::test
