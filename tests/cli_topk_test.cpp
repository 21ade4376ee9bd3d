// The program `sortium`: the first records, and values of any size.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "cli_records.hpp"

namespace {

TEST_F(Cli, TopkIsTheStartOfTheSort) {
  std::mt19937 random(29);
  std::vector<float> keys(30000);
  for (auto& k : keys) k = static_cast<float>(random() % 5000) - 2500;
  keys[100] = keys[200] = std::nanf("");
  std::vector<std::uint64_t> ids(keys.size());
  std::iota(ids.begin(), ids.end(), std::uint64_t{1} << 33);
  write("k.npy", npy("'>f4'", "(30000,)", bytes_of(keys, true)));
  write("v.npy", npy("'<u8'", "(30000,)", bytes_of(ids)));
  for (const bool largest : {false, true}) {
    std::vector<std::uint32_t> order(keys.size());
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::stable_sort(order, [&](auto a, auto b) {
      if (std::isnan(keys[a]) || std::isnan(keys[b]))
        return !std::isnan(keys[a]) && std::isnan(keys[b]);
      return largest ? keys[a] > keys[b] : keys[a] < keys[b];
    });
    for (const std::size_t k : {1, 100, 20000, 30000}) {
      std::vector<float> best;
      std::vector<std::uint64_t> moved;
      for (std::size_t i = 0; i < k; ++i) {
        best.push_back(keys[order[i]]);
        moved.push_back(ids[order[i]]);
      }
      const std::string topk =
          fmt::format("topk {} k.npy --verify{}", k, largest ? " --largest" : "");
      Result r = run(topk + " -o out.npy --values v.npy -o2 v2.npy");
      ASSERT_EQ(r.code, 0) << r.err;
      EXPECT_TRUE(npy_data(read("out.npy")) == bytes_of(best, true)) << topk;
      EXPECT_NE(read("out.npy").find(fmt::format("'shape': ({},)", k)), std::string::npos);
      EXPECT_TRUE(npy_data(read("v2.npy")) == bytes_of(moved)) << topk;
      EXPECT_NE(r.err.find(fmt::format("the first {} of 30000 f32 keys", k)), std::string::npos)
          << r.err;
      r = run(topk + " -o order.bin --argsort");
      ASSERT_EQ(r.code, 0) << r.err;
      EXPECT_TRUE(read("order.bin") ==
                  bytes_of(std::vector<std::uint32_t>(
                      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k))))
          << topk;
      ASSERT_EQ(run(topk + " -o out.bin").code, 0);
      EXPECT_TRUE(read("out.bin") == bytes_of(best)) << topk;
    }
  }
  std::string wide;
  for (const auto i : ids) wide += fmt::format("{:013}", i - ids[0]);
  write("w.bin", wide);
  const Result r =
      run("topk 50 k.npy -o out.npy --values w.bin --value-bytes 13 -o2 w2.bin --verify");
  ASSERT_EQ(r.code, 0) << r.err;
  ASSERT_EQ(run("topk 50 k.npy -o order.bin --argsort").code, 0);
  std::string expected;
  for (const auto i : numbers_of<std::uint32_t>(read("order.bin")))
    expected += wide.substr(i * 13, 13);
  EXPECT_EQ(read("w2.bin"), expected);
  EXPECT_EQ(shell("printf '5\\n9\\n7\\n' | $S topk 2 - --text --type u8 --largest -o -").out,
            "9\n7\n");
}

TEST_F(Cli, TopkThatIsWrong) {
  write("k.bin", bytes_of<std::uint32_t>({4, 3, 2, 1}));
  refuses("topk 0 k.bin --type u32 -o bad.bin", 2, {"K 0"});
  refuses("topk 5 k.bin --type u32 -o bad.bin", 2, {"K 5", "k.bin", "4 records"});
  refuses("topk some k.bin --type u32 -o bad.bin", 2, {"K", "some"});
  refuses("topk 2", 2, {"IN"});
  refuses("topk 2 k.bin --type u32 -o bad.bin --algorithm std::sort", 2,
          {"std::sort", "first records"});
  refuses("topk 2 k.bin --type u32 -o bad.bin --algorithm lsd", 3, {"lsd"});
  refuses("topk 2 k.bin --type u32 -o bad.bin --by x", 2, {"--by", "--type"});
  refuses("topk 2 k.bin -o bad.bin --by x", 2, {"--by", "k.bin", "--record"});
  refuses("topk 2 k.bin -o bad.bin --record 8 --key u32@0 --largest", 2,
          {"--record", "--largest", "desc"});
  refuses("topk 2 k.bin -o bad.bin --record 8", 2, {"--key is needed"});
  refuses("topk 3 k.bin -o bad.bin --record 8 --key u32@0", 2, {"K 3", "k.bin", "2 records"});
  refuses("topk 2 k.bin -o bad.bin --record 8 --key u32@0 --values k.bin -o2 bad2.bin", 2,
          {"--values", "whole records"});
  refuses("topk 2 k.bin -o bad.bin --record 8 --key u32@0 --algorithm lsd", 3, {"lsd"});
  refuses("topk 2 k.bin -o bad.bin --type u32 --segments k.bin", 2, {"--segments"});
}

TEST_F(Cli, TopkOfRecords) {
  const auto records = particles(20000);
  write("in.npy", npy(particle, "(20000,)", joined(records)));
  write("in.bin", joined(records));
  const auto first = [](const std::vector<std::uint32_t>& order, std::size_t k) {
    return std::vector(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k));
  };
  const auto by_several = order_of(records, by_energy_name_t);
  const auto by_id = order_of(records, [](const auto& a, const auto& b) {
    return get<std::uint16_t>(a, id_at) > get<std::uint16_t>(b, id_at);
  });
  for (const std::size_t k : {1, 100, 20000}) {
    const auto several = first(by_several, k), one = first(by_id, k);
    for (const char* verify : {"", " --verify"}) {
      const Result r = run(fmt::format(
          "topk {} in.npy -o out.npy --by energy:desc:nan-first,name,t:desc{}", k, verify));
      ASSERT_EQ(r.code, 0) << r.err;
      EXPECT_TRUE(npy_data(read("out.npy")) == cut(records, several)) << k;
      EXPECT_NE(r.err.find(fmt::format("the first {} of 20000 records of 42 bytes by energy", k)),
                std::string::npos)
          << r.err;
      EXPECT_NE(read("out.npy").find(fmt::format("'shape': ({},)", k)), std::string::npos);
      EXPECT_NE(read("out.npy").find(particle), std::string::npos);
    }
    ASSERT_EQ(
        run(fmt::format("topk {} in.bin -o out.bin --record 42 --key u16@4:desc --verify", k)).code,
        0);
    EXPECT_TRUE(read("out.bin") == cut(records, one)) << k;
    ASSERT_EQ(
        run(fmt::format(
                "topk {} in.bin -o order.npy --argsort --record 42 --key u16@4:desc --verify", k))
            .code,
        0);
    EXPECT_TRUE(npy_data(read("order.npy")) == bytes_of(one)) << k;
  }
  EXPECT_EQ(run("check out.bin --record 42 --key u16@4:desc").code, 0);
  EXPECT_TRUE(read("in.npy") == npy(particle, "(20000,)", joined(records))) << "the input stays";
  ASSERT_EQ(run("topk 7 in.npy -o in.npy --by id:desc --quiet").code, 0) << "over the input";
  EXPECT_TRUE(npy_data(read("in.npy")) == cut(records, first(by_id, 7)));
}

TEST_F(Cli, ValuesOfAnySize) {
  std::mt19937 random(31);
  std::vector<std::uint8_t> keys(4000);
  for (auto& k : keys) k = static_cast<std::uint8_t>(random() % 50);
  write("k.bin", bytes_of(keys));
  std::vector<std::uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, {}, [&](auto i) { return keys[i]; });
  for (const std::size_t bytes : {1, 2, 3, 12, 16, 100, 256}) {
    const auto values = random_records(keys.size(), bytes, 256);
    write("v.bin", joined(values));
    const Result r = run(fmt::format(
        "sort k.bin --type u8 -o out.bin --values v.bin --value-bytes {} -o2 v2.bin --verify",
        bytes));
    ASSERT_EQ(r.code, 0) << r.err;
    EXPECT_TRUE(read("v2.bin") == cut(values, order)) << bytes;
    EXPECT_NE(r.err.find(fmt::format("+ {}-byte values", bytes)), std::string::npos) << r.err;
  }
  const auto values = random_records(keys.size(), 12, 256);
  for (const char* descr : {"'<U3'", "'|S12'", "[('x', '<f4'), ('y', '>f8')]"}) {
    write("v.npy", npy(descr, "(4000,)", joined(values)));
    const Result r =
        run("sort k.bin --type u8 -o out.bin --values v.npy -o2 v2.npy --algorithm std::sort");
    ASSERT_EQ(r.code, 0) << r.err;
    EXPECT_TRUE(npy_data(read("v2.npy")) == cut(values, order)) << descr;
    EXPECT_NE(read("v2.npy").find(descr), std::string::npos);
  }
  write("none.bin", "");
  EXPECT_EQ(run("sort none.bin --type u8 -o out.bin --values none.bin --value-bytes 3 -o2 v2.bin "
                "--verify")
                .code,
            0);
  EXPECT_EQ(read("v2.bin"), "");
}

}  // namespace
