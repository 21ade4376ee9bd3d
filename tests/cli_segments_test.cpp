// The program `sortium`: segments.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "cli.hpp"

namespace {

TEST_F(Cli, SegmentsAreSortedByThemselves) {
  std::mt19937 random(23);
  for (const std::size_t count : {std::size_t{3000}, std::size_t{50000}}) {
    std::vector<std::uint32_t> offsets{0};
    while (offsets.back() < count)
      offsets.push_back(static_cast<std::uint32_t>(std::min<std::size_t>(
          count, offsets.back() + random() % (random() % 8 == 0 ? 5000 : 20))));
    std::vector<std::int16_t> keys(count);
    std::vector<std::uint32_t> ids(count);
    for (auto& k : keys) k = static_cast<std::int16_t>(random() % 100 - 50);
    std::iota(ids.begin(), ids.end(), 7u);
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0u);
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
      std::stable_sort(order.begin() + offsets[s], order.begin() + offsets[s + 1],
                       [&](auto a, auto b) { return keys[a] > keys[b]; });
    std::vector<std::int16_t> sorted;
    std::vector<std::uint32_t> moved;
    for (const auto i : order) {
      sorted.push_back(keys[i]);
      moved.push_back(ids[i]);
    }
    write("k.npy", npy("'>i2'", fmt::format("({},)", count), bytes_of(keys, true)));
    write("o.npy", npy("'>u4'", fmt::format("({},)", offsets.size()), bytes_of(offsets, true)));
    write("o.bin", bytes_of(std::vector<std::uint64_t>(offsets.begin(), offsets.end())));
    write("v.bin", bytes_of(ids));
    const std::string down = " --descending --verify";
    Result r = run(
        "sort k.npy -o out.npy --segments o.npy --values v.bin --value-bytes 4 -o2 v2.bin" + down);
    ASSERT_EQ(r.code, 0) << r.err;
    EXPECT_NE(r.err.find(fmt::format("in {} segments", offsets.size() - 1)), std::string::npos)
        << r.err;
    EXPECT_TRUE(npy_data(read("out.npy")) == bytes_of(sorted, true));
    EXPECT_TRUE(read("v2.bin") == bytes_of(moved));
    r = run("sort k.npy -o order.bin --argsort --segments o.bin --offset-bytes 8" + down);
    ASSERT_EQ(r.code, 0) << r.err;
    EXPECT_TRUE(read("order.bin") == bytes_of(order));
    r = run("check out.npy --descending --segments o.npy");
    EXPECT_EQ(r.code, 0);
    EXPECT_NE(
        r.out.find(fmt::format("in {} segments, each in descending order", offsets.size() - 1)),
        std::string::npos)
        << r.out;
    EXPECT_EQ(run("check out.npy --descending").code, 1);
    EXPECT_EQ(run("check k.npy --descending --segments o.npy").code, 1);
    // Values of sizes that no algorithm moves.
    std::string wide, wide_moved;
    for (const auto i : ids) wide += fmt::format("{:>11}", i);
    for (const auto i : moved) wide_moved += fmt::format("{:>11}", i);
    write("w.bin", wide);
    r = run("sort k.npy -o out.npy --segments o.npy --values w.bin --value-bytes 11 -o2 w2.bin" +
            down);
    ASSERT_EQ(r.code, 0) << r.err;
    EXPECT_TRUE(read("w2.bin") == wide_moved);
  }
}

TEST_F(Cli, SegmentsThatAreWrong) {
  write("k.bin", bytes_of<std::uint32_t>({4, 3, 2, 1}));
  const auto offsets = [&](const std::vector<std::uint32_t>& numbers) {
    write("o.bin", bytes_of(numbers));
  };
  const std::string sort = "sort k.bin --type u32 -o bad.bin --segments o.bin --offset-bytes 4";
  offsets({0, 2, 1, 4});
  refuses(sort, 2, {"o.bin", "offset 2 is 1", "2", "ascend"});
  refuses("check k.bin --type u32 --segments o.bin --offset-bytes 4", 2,
          {"o.bin", "offset 2 is 1"});
  offsets({1, 4});
  refuses(sort, 2, {"o.bin", "offset 0 is 1"});
  offsets({0, 3});
  refuses(sort, 2, {"o.bin", "last offset is 3", "4"});
  offsets({});
  refuses(sort, 2, {"o.bin", "no offsets"});
  offsets({0});
  refuses(sort, 2, {"o.bin", "last offset is 0", "4"});
  offsets({0, 4});
  refuses("sort k.bin --type u32 -o bad.bin --segments o.bin", 2, {"o.bin", "--offset-bytes"});
  refuses("sort k.bin --type u32 -o bad.bin --segments o.bin --offset-bytes 2", 2,
          {"--offset-bytes", "2"});
  refuses("sort k.bin --type u32 -o bad.bin --segments none.bin --offset-bytes 4", 2,
          {"none.bin", "No such file"});
  refuses(sort + " --algorithm std::sort", 2, {"std::sort", "segments"});
  refuses(sort + " --algorithm lsd", 3, {"lsd"});
  refuses("check k.bin k.bin --type u32 --segments o.bin --offset-bytes 4", 2,
          {"--segments o.bin"});
  write("o.npy", npy("'<i4'", "(2,)", bytes_of<std::int32_t>({0, 4})));
  refuses("sort k.bin --type u32 -o bad.bin --segments o.npy", 2, {"o.npy", "<i4", "u4 and u8"});
  write("o8.npy", npy("'<u8'", "(2,)", bytes_of<std::uint64_t>({0, 4})));
  refuses("sort k.bin --type u32 -o bad.bin --segments o8.npy --offset-bytes 4", 2,
          {"o8.npy", "8 bytes"});
  ASSERT_EQ(run("sort k.bin --type u32 -o out.bin --segments o8.npy --verify").code, 0);
  EXPECT_EQ(read("out.bin"), bytes_of<std::uint32_t>({1, 2, 3, 4}));
  // No records, without segments and with empty ones.
  write("none.bin", "");
  offsets({0});
  EXPECT_EQ(run("sort none.bin --type u32 -o out.bin --segments o.bin --offset-bytes 4").code, 0);
  EXPECT_EQ(run("check none.bin --type u32 --segments o.bin --offset-bytes 4").code, 0);
  offsets({0, 0, 0});
  EXPECT_EQ(
      run("sort none.bin --type u32 -o out.bin --segments o.bin --offset-bytes 4 --verify").code,
      0);
  EXPECT_EQ(read("out.bin"), "");
}

}  // namespace
