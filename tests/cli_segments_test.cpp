// The program `sortium`: segments and rows.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
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

TEST_F(Cli, RowsAreSortedByThemselves) {
  std::mt19937 random(29);
  std::vector<std::int16_t> keys(3000);
  for (auto& k : keys) k = static_cast<std::int16_t>(random() % 100 - 50);
  std::string wide;
  for (std::size_t i = 0; i < keys.size(); ++i) wide += fmt::format("{:>11}", i);
  write("k.npy", npy("'>i2'", "(3000,)", bytes_of(keys, true)));
  write("w.bin", wide);
  for (const std::size_t length : {1, 7, 1000, 3000}) {
    SCOPED_TRACE(length);
    if (keys.size() % length != 0) {
      refuses(fmt::format("sort k.npy -o bad.bin --row-length {}", length), 2,
              {fmt::format("--row-length {}: k.npy has 3000 keys", length), "multiple"});
      refuses(fmt::format("check k.npy --row-length {}", length), 2, {"3000 keys", "multiple"});
      continue;
    }
    std::vector<std::uint32_t> order(keys.size());
    std::iota(order.begin(), order.end(), 0u);
    for (auto row = order.begin(); row != order.end(); row += static_cast<std::ptrdiff_t>(length))
      std::stable_sort(row, row + static_cast<std::ptrdiff_t>(length),
                       [&](auto a, auto b) { return keys[a] > keys[b]; });
    // The positions, keys and values of the first `limit` records of each row.
    const auto first = [&](std::size_t limit) {
      std::vector<std::uint32_t> positions;
      std::vector<std::int16_t> found;
      std::string values;
      for (std::size_t i = 0; i < order.size(); ++i) {
        if (i % length >= limit) continue;
        positions.push_back(order[i]);
        found.push_back(keys[order[i]]);
        values += wide.substr(order[i] * 11, 11);
      }
      return std::tuple(positions, found, values);
    };
    const auto expect = [&](const std::string& command, std::size_t limit, const char* summary) {
      const std::string rows = fmt::format(" --row-length {} --verify", length);
      const auto [positions, found, values] = first(limit);
      Result r = run(command + " -o out.npy --values w.bin --value-bytes 11 -o2 w2.bin" + rows);
      ASSERT_EQ(r.code, 0) << r.err;
      EXPECT_NE(r.err.find(fmt::format(fmt::runtime(summary), limit, keys.size() / length)),
                std::string::npos)
          << r.err;
      EXPECT_TRUE(npy_data(read("out.npy")) == bytes_of(found, true));
      EXPECT_TRUE(read("w2.bin") == values);
      r = run(command + " --argsort -o order.bin" + rows);
      ASSERT_EQ(r.code, 0) << r.err;
      EXPECT_TRUE(read("order.bin") == bytes_of(positions));
      r = run(fmt::format("check out.npy --descending --row-length {}", limit));
      EXPECT_EQ(r.code, 0);
      EXPECT_NE(
          r.out.find(fmt::format("in {} rows, each in descending order", keys.size() / length)),
          std::string::npos)
          << r.out;
    };
    expect("sort k.npy --descending", length, "3000 i16 keys in {1} rows");
    for (const std::size_t k : {1, 5, 1000})
      if (k <= length)
        expect(fmt::format("topk {} k.npy --largest", k), k,
               "the first {} of each row: 3000 i16 keys in {} rows");
  }
  EXPECT_EQ(run("check k.npy --descending --row-length 1000").code, 1);
  write("none.bin", "");
  EXPECT_EQ(run("sort none.bin --type u32 -o out.bin --row-length 7 --verify").code, 0);
  EXPECT_EQ(read("out.bin"), "");
  EXPECT_EQ(shell("printf '5\\n9\\n7\\n1\\n' | $S sort - --text --type u8 --row-length 2 -o -").out,
            "5\n9\n1\n7\n");
}

TEST_F(Cli, RowsThatAreWrong) {
  write("k.bin", bytes_of<std::uint32_t>({4, 3, 2, 1}));
  write("o.bin", bytes_of<std::uint32_t>({0, 4}));
  const std::string sort = "sort k.bin --type u32 -o bad.bin --row-length ";
  refuses(sort + "0", 2, {"--row-length", "0"});
  refuses(sort + "-2", 2, {"--row-length", "-2"});
  refuses(sort + "two", 2, {"--row-length", "two"});
  refuses(sort + "8", 2, {"--row-length 8: k.bin has 4 keys", "multiple"});
  refuses(sort + "2 --segments o.bin --offset-bytes 4", 2, {"--segments and --row-length"});
  refuses(sort + "2 --algorithm std::sort", 2, {"std::sort", "rows"});
  refuses(sort + "2 --algorithm lsd", 3, {"lsd"});
  refuses(sort + "2 --memory 500M", 2, {"--row-length and --memory"});
  refuses("sort k.bin --lines -o bad.bin --row-length 2", 2, {"--row-length and --lines"});
  refuses("sort k.bin --record 8 --key u32@0 -o bad.bin --row-length 2", 2,
          {"--record and --row-length", "single keys"});
  refuses("topk 3 k.bin --type u32 -o bad.bin --row-length 2", 2,
          {"K 3", "2 keys", "--row-length"});
  refuses("check k.bin k.bin --type u32 --row-length 2", 2, {"--row-length 2"});
  refuses("check k.bin --records --row-length 2", 2, {"--row-length and --records"});
  refuses("check k.bin --type u32 --row-length 2 --segments o.bin --offset-bytes 4", 2,
          {"--segments and --row-length"});
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
