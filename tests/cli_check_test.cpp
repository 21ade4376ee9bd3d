// The program `sortium` as a user runs it: `check`, and the check that --verify uses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cli.hpp"
#include "io/host_check.hpp"

namespace {

struct Verify : testing::Test {
  std::vector<std::uint32_t> in{5, 1, 5, 3, 1, 9}, values{0, 1, 2, 3, 4, 5};
  std::vector<std::uint32_t> out{1, 1, 3, 5, 5, 9}, moved{1, 4, 3, 0, 2, 5};
  sortium::Problem problem{
      .key = sortium::KeyType::u32, .count = 6, .payload = sortium::Payload::values};
  bool wrong(bool stable = true, std::uint64_t run_length = 0) const {
    sortium::HostOperands o{in.data(), const_cast<std::uint32_t*>(out.data()), values.data(),
                            const_cast<std::uint32_t*>(moved.data())};
    if (!problem.keys_out) o.keys_out = nullptr;
    return app::find_mistake(problem, o, stable, run_length).has_value();
  }
};

TEST_F(Verify, AcceptsWhatIsRight) {
  EXPECT_FALSE(wrong(true));
  EXPECT_FALSE(wrong(false));
  problem.payload = sortium::Payload::positions;
  EXPECT_FALSE(wrong(true));
  problem.keys_out = false;
  EXPECT_FALSE(wrong(true));
  EXPECT_FALSE(wrong(false));
}

TEST_F(Verify, SeesWrongOrder) {
  std::swap(out[2], out[3]);
  std::swap(moved[2], moved[3]);
  EXPECT_TRUE(wrong(true));
  EXPECT_TRUE(wrong(false));
}

TEST_F(Verify, SeesALostRecord) {
  out[5] = 8;
  EXPECT_TRUE(wrong(true));
  EXPECT_TRUE(wrong(false));
}

TEST_F(Verify, SeesAValueThatLeftItsKey) {
  std::swap(moved[2], moved[5]);
  EXPECT_TRUE(wrong(true));
  EXPECT_TRUE(wrong(false));
}

TEST_F(Verify, SeesTiesOutOfOrder) {
  std::swap(moved[3], moved[4]);
  EXPECT_TRUE(wrong(true));
  EXPECT_FALSE(wrong(false)) << "which is what not being stable means";
}

TEST_F(Verify, SeesWrongPositions) {
  problem.payload = sortium::Payload::positions;
  problem.keys_out = false;
  moved[0] = 4;  // a position twice
  EXPECT_TRUE(wrong(true));
  EXPECT_TRUE(wrong(false));
  moved[0] = 77;  // past the last record
  EXPECT_TRUE(wrong(true));
  EXPECT_TRUE(wrong(false));
}

TEST_F(Verify, SeesTheBitRange) {
  problem.begin_bit = 1;
  problem.end_bit = 2;  // only 3 has this bit
  out = {5, 1, 5, 1, 9, 3};
  moved = {0, 1, 2, 4, 5, 3};
  EXPECT_FALSE(wrong());
  std::swap(out[4], out[5]);
  std::swap(moved[4], moved[5]);
  EXPECT_TRUE(wrong());
}

TEST_F(Verify, SortedRuns) {
  EXPECT_TRUE(wrong(true, 3));
  out = {1, 5, 5, 1, 3, 9};
  moved = {1, 0, 2, 4, 3, 5};
  EXPECT_FALSE(wrong(true, 3));
  EXPECT_TRUE(wrong(true, 2));
  EXPECT_TRUE(wrong(true));
}

TEST_F(Verify, WideKeysAndValues) {
  const std::vector<double> keys{0.5, -0.0, std::nan(""), 0.0, -2};
  const std::vector<std::uint64_t> ids{10, 11, 12, 13, 14};
  std::vector<double> sorted{-2, -0.0, 0.0, 0.5, keys[2]};
  std::vector<std::uint64_t> sorted_ids{14, 11, 13, 10, 12};
  const sortium::Problem p{.key = sortium::KeyType::f64,
                           .count = 5,
                           .payload = sortium::Payload::values,
                           .value_bytes = 8};
  const sortium::HostOperands o{keys.data(), sorted.data(), ids.data(), sorted_ids.data()};
  EXPECT_FALSE(app::find_mistake(p, o, true, 0));
  std::swap(sorted[1], sorted[2]);  // the zeros tie, but their values are exchanged
  EXPECT_TRUE(app::find_mistake(p, o, false, 0));
  std::swap(sorted_ids[1], sorted_ids[2]);
  EXPECT_FALSE(app::find_mistake(p, o, false, 0));
  EXPECT_TRUE(app::find_mistake(p, o, true, 0));
}

// Lists of several ranges of the check: few ties, which it sorts by themselves; many, for which it
// sorts the list; keys alone whose ties have different bits; positions.
class VerifyLongLists : public testing::TestWithParam<std::uint32_t> {  // different keys, at most
 protected:
  static constexpr std::uint32_t count = 300000;
  std::vector<std::uint32_t> in, out, values, moved, positions;
  void SetUp() override {
    std::mt19937 random(GetParam());
    for (std::uint32_t i = 0; i < count; ++i) {
      in.push_back(random() % GetParam());
      values.push_back(random());
      positions.push_back(i);
    }
    std::ranges::stable_sort(positions, {}, [&](std::uint32_t i) { return in[i] >> 1; });
    for (const auto i : positions) {
      out.push_back(in[i]);
      moved.push_back(values[i]);
    }
  }
  // The keys' lowest bit does not count, so that ties may have different bits.
  bool wrong(sortium::Payload payload, bool stable) {
    const sortium::Problem p{.key = sortium::KeyType::u32,
                             .count = count,
                             .payload = payload,
                             .keys_out = payload != sortium::Payload::positions,
                             .begin_bit = 1};
    const bool by_position = payload == sortium::Payload::positions;
    return app::find_mistake(p,
                             {in.data(), p.keys_out ? out.data() : nullptr, values.data(),
                              by_position ? positions.data() : moved.data()},
                             stable, 0)
        .has_value();
  }
};

TEST_P(VerifyLongLists, SeesEveryKindOfFault) {
  using sortium::Payload;
  for (const auto payload : {Payload::none, Payload::values, Payload::positions})
    for (const bool stable : {false, true}) EXPECT_FALSE(wrong(payload, stable));
  std::size_t tied = 100000;  // ties with the next one, which has another key and another value
  while (out[tied] >> 1 != out[tied + 1] >> 1 || out[tied] == out[tied + 1]) ++tied;

  const auto exchange = [&](std::size_t a, std::size_t b) {
    std::swap(out[a], out[b]);
    std::swap(moved[a], moved[b]);
    std::swap(positions[a], positions[b]);
  };
  exchange(tied, tied + 1);
  for (const auto payload : {Payload::none, Payload::values, Payload::positions}) {
    EXPECT_TRUE(wrong(payload, true)) << "ties out of order";
    EXPECT_FALSE(wrong(payload, false));
  }
  exchange(tied, tied + 1);

  exchange(17, count - 17);
  for (const auto payload : {Payload::none, Payload::values, Payload::positions})
    EXPECT_TRUE(wrong(payload, false)) << "out of order";
  exchange(17, count - 17);

  const auto key = std::exchange(out[tied], out[tied + 1]);
  EXPECT_TRUE(wrong(Payload::none, false)) << "a record twice, another one lost";
  EXPECT_TRUE(wrong(Payload::values, false));
  out[tied] = key;

  std::swap(moved[0], moved[count - 1]);
  EXPECT_TRUE(wrong(Payload::values, false)) << "values exchanged";
  std::swap(moved[0], moved[count - 1]);

  const auto position = std::exchange(positions[tied], positions[tied + 1]);
  EXPECT_TRUE(wrong(Payload::positions, false)) << "a position twice";
  positions[tied] = count;
  EXPECT_TRUE(wrong(Payload::positions, false)) << "a position past the end";
  positions[tied] = position;
}

INSTANTIATE_TEST_SUITE_P(All, VerifyLongLists, testing::Values(6, 100000, 0x7fffffff));

TEST_F(Cli, CheckSorted) {
  write("up.bin", bytes_of<std::int32_t>({-5, -5, 0, 7}));
  Result r = run("check up.bin --type i32");
  EXPECT_EQ(r.code, 0);
  EXPECT_NE(r.out.find("4 i32 keys in ascending order"), std::string::npos) << r.out;
  r = run("check up.bin --type i32 --descending");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.out.find("record 2 is 0, after -5"), std::string::npos) << r.out;
  r = run("check up.bin --type u32");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.out.find("record 2 is 0, after 4294967291"), std::string::npos) << r.out;
  write("down.txt", "2.5\n-0\n0\n-1\nnan\n");
  EXPECT_EQ(run("check down.txt --text --type f64 --descending").code, 0);
  EXPECT_EQ(run("check down.txt --text --type f64").code, 1);
  EXPECT_EQ(run("check down.txt --text --type f64 --quiet").out, "");
  EXPECT_EQ(shell("printf '1\\n2\\n' | $S check - --text --type u32").code, 0);
  refuses("check none.bin --type u32", 2, {"none.bin"});
  refuses("check", 2, {"FILE"});
  refuses("check up.bin up.bin up.bin --type u32", 2, {});
  refuses("check up.bin", 2, {"--type"});
}

TEST_F(Cli, CheckPermutation) {
  write("a.bin", bytes_of<std::int64_t>({3, -1, 3, 2}));
  write("b.npy", npy("'>i8'", "(4,)", bytes_of<std::int64_t>({-1, 2, 3, 3}, true)));
  write("c.bin", bytes_of<std::int64_t>({-1, 2, 2, 3}));
  write("d.bin", bytes_of<std::int64_t>({-1, 2, 3}));
  write("e.npy", npy("'<f8'", "(4,)", bytes_of<double>({-1, 2, 3, 3})));
  EXPECT_EQ(run("check a.bin b.npy --type i64").code, 0);
  EXPECT_EQ(run("check b.npy a.bin --type i64").code, 0);
  Result r = run("check a.bin c.bin --type i64");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.out.find("first difference is 2, 1 times in a.bin and 2 times in c.bin"),
            std::string::npos)
      << r.out;
  r = run("check a.bin c.bin --type i64 --descending");
  EXPECT_NE(r.out.find("first difference is 3, 2 times in a.bin and 1 times in c.bin"),
            std::string::npos)
      << r.out;
  r = run("check d.bin a.bin --type i64");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.out.find("first difference is 3, 1 times in d.bin and 2 times in a.bin"),
            std::string::npos)
      << r.out;
  // Negative keys come first although their bits are larger numbers.
  write("f.bin", bytes_of<std::int64_t>({-7, 9}));
  write("g.bin", bytes_of<std::int64_t>({-8, 10}));
  EXPECT_NE(run("check f.bin g.bin --type i64").out.find("first difference is -8"),
            std::string::npos);
  refuses("check b.npy e.npy", 2, {"b.npy", "i64", "e.npy", "f64"});
  // -0.0 and +0.0 tie in the order, but have different bits: the files are not permutations.
  write("z.txt", "0\n-0\n");
  write("zz.txt", "0\n0\n");
  EXPECT_EQ(run("check z.txt zz.txt --text --type f32").code, 1);
}

}  // namespace
