// The program `sortium`, run as a user runs it: kinds of files.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "cli.hpp"

namespace {

template <class T>
std::vector<T> some_numbers() {
  std::mt19937_64 random(11);
  std::vector<T> out(3000);
  for (auto& x : out)
    if constexpr (std::is_floating_point_v<T>)
      x = static_cast<T>(static_cast<double>(random()) * 1e-3 - 9e15);
    else
      x = static_cast<T>(random());
  return out;
}

template <class T>
class CliTypes : public Cli {};
using KeyTypes = testing::Types<std::uint32_t, std::int32_t, float, std::uint64_t, std::int64_t,
                                double, std::uint8_t, std::int8_t, std::uint16_t, std::int16_t>;
TYPED_TEST_SUITE(CliTypes, KeyTypes);

TYPED_TEST(CliTypes, SortsNpyOfBothByteOrdersAndRaw) {
  using T = TypeParam;
  const std::string letter = std::is_floating_point_v<T> ? "f" : std::is_signed_v<T> ? "i" : "u";
  const std::string name = letter + std::to_string(sizeof(T) * 8),
                    descr = letter + std::to_string(sizeof(T));
  const auto keys = some_numbers<T>();
  auto expected = keys;
  std::ranges::sort(expected);

  for (const bool swapped : {false, true}) {
    const std::string order = swapped ? ">" : "<";
    this->write("in.npy", npy("'" + order + descr + "'", "(3000,)", bytes_of(keys, swapped)));
    const Result r = this->run("sort in.npy -o out.npy --verify");
    ASSERT_EQ(r.code, 0) << r.err;
    const std::string out = this->read("out.npy");
    EXPECT_EQ(npy_data(out), bytes_of(expected, swapped));
    EXPECT_NE(out.find("'descr': '" + order + descr + "'"), std::string::npos);
    EXPECT_NE(out.find("'shape': (3000,)"), std::string::npos);
    EXPECT_EQ((out.size() - expected.size() * sizeof(T)) % 64, 0u);
    EXPECT_EQ(this->run("check out.npy").code, 0);
    EXPECT_EQ(this->run("check out.npy in.npy").code, 0);
    EXPECT_EQ(this->run("check in.npy").code, 1);
    ASSERT_EQ(this->run("sort in.npy -o peer.npy --verify --algorithm std::sort").code, 0);
    EXPECT_EQ(this->read("peer.npy"), out);
  }
  this->write("in.bin", bytes_of(keys));
  ASSERT_EQ(this->run("sort in.bin --type " + name + " -o out.bin").code, 0);
  EXPECT_EQ(this->read("out.bin"), bytes_of(expected));
}

TYPED_TEST(CliTypes, TextReadsBackToTheSameValue) {
  using T = TypeParam;
  const std::string name = (std::is_floating_point_v<T> ? "f"
                            : std::is_signed_v<T>       ? "i"
                                                        : "u") +
                           std::to_string(sizeof(T) * 8);
  auto keys = some_numbers<T>();
  keys.push_back(std::numeric_limits<T>::max());
  keys.push_back(std::numeric_limits<T>::lowest());
  if constexpr (std::is_floating_point_v<T>) keys.push_back(std::numeric_limits<T>::denorm_min());
  this->write("in.bin", bytes_of(keys));
  ASSERT_EQ(this->run("sort in.bin --type " + name + " -o sorted.bin").code, 0);
  // To text and back: a name ending in .npy selects that format, the other file is text.
  this->write("in.npy", npy(fmt::format("'<{}{}'", name[0], sizeof(T)),
                            fmt::format("({},)", keys.size()), bytes_of(keys)));
  ASSERT_EQ(this->run("sort in.npy --text -o sorted.txt").code, 0);
  const Result r = this->run("sort sorted.txt --text --type " + name + " -o again.npy");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(npy_data(this->read("again.npy")), this->read("sorted.bin"));
}

TEST_F(Cli, NpyFormatVersions) {
  const std::vector<std::int32_t> keys{3, -1, 2};
  const std::vector<std::int32_t> expected{-1, 2, 3};
  for (const int version : {1, 2, 3}) {
    write("in.npy", npy("'<i4'", "(3,)", bytes_of(keys), version));
    ASSERT_EQ(run("sort in.npy -o out.npy").code, 0);
    EXPECT_EQ(npy_data(read("out.npy")), bytes_of(expected));
  }
  write("v4.npy", npy("'<i4'", "(3,)", bytes_of(keys), 4));
  refuses("sort v4.npy -o bad.npy", 2, {"v4.npy", "version 4.0"});
}

TEST_F(Cli, NpyThatPythonTwoWrote) {
  write("in.npy", npy("\"<u4\"", "(2L,)", bytes_of<std::uint32_t>({9, 4})));
  ASSERT_EQ(run("sort in.npy -o out.npy").code, 0);
  EXPECT_EQ(npy_data(read("out.npy")), bytes_of<std::uint32_t>({4, 9}));
}

TEST_F(Cli, BadNpy) {
  const std::string data = bytes_of<std::uint32_t>({3, 2, 1, 0});
  write("flat.npy", npy("'<u4'", "(2, 2)", data));
  refuses("sort flat.npy -o bad.npy", 2, {"flat.npy", "2 dimensions"});
  write("scalar.npy", npy("'<u4'", "()", data.substr(0, 4)));
  refuses("sort scalar.npy -o bad.npy", 2, {"scalar.npy", "0 dimensions"});
  write("short.npy", npy("'<u4'", "(5,)", data));
  refuses("sort short.npy -o bad.npy", 2, {"short.npy", "truncated", "5", "4"});
  write("huge.npy", npy("'<u4'", "(9223372036854775807,)", data));
  refuses("sort huge.npy -o bad.npy", 2, {"huge.npy", "truncated"});
  write("long.npy", npy("'<u4'", "(3,)", data));
  refuses("sort long.npy -o bad.npy", 2, {"long.npy", "follow"});
  write("cut.npy", npy("'<u4'", "(4,)", data).substr(0, 50));
  refuses("sort cut.npy -o bad.npy", 2, {"cut.npy", "truncated", "header"});
  write("empty.npy", "");
  refuses("sort empty.npy -o bad.npy", 2, {"empty.npy", "not an .npy file"});
  write("text.npy", "1\n2\n3\n4\n5\n6\n");
  refuses("sort text.npy -o bad.npy", 2, {"text.npy", "not an .npy file"});
  write("long.npy", npy("'<f16'", "(1,)", data));
  refuses("sort long.npy -o bad.npy", 2, {"long.npy", "<f16", "f4", "f2", "u1"});
  write("bool.npy", npy("'|b1'", "(16,)", data));
  refuses("sort bool.npy -o bad.npy", 2, {"bool.npy", "|b1"});
  write("object.npy", npy("'|O8'", "(2,)", data));
  refuses("sort object.npy -o bad.npy", 2, {"object.npy", "|O8"});
  write("fields.npy", npy("[('a', '<u4')]", "(4,)", data));
  refuses("sort fields.npy -o bad.npy", 2, {"fields.npy", "several fields"});
  write("keyless.npy", npy("'<u4', 'x': 'y'", "(4,)", data));
  refuses("sort keyless.npy -o bad.npy", 2, {"keyless.npy", "unknown key 'x'"});
  write("good.npy", npy("'<u4'", "(4,)", data));
  refuses("sort good.npy --type f32 -o bad.npy", 2, {"good.npy", "u32", "f32", "--type"});
  EXPECT_EQ(run("sort good.npy --type u32 -o fine.npy").code, 0);
}

TEST_F(Cli, NoRecordsAndOne) {
  write("none.npy", npy("'>f8'", "(0,)", ""));
  ASSERT_EQ(run("sort none.npy -o out.npy --verify").code, 0);
  EXPECT_NE(read("out.npy").find("(0,)"), std::string::npos);
  EXPECT_EQ(npy_data(read("out.npy")), "");
  ASSERT_EQ(run("sort none.npy --argsort -o positions.npy --verify").code, 0);
  EXPECT_EQ(npy_data(read("positions.npy")), "");
  write("none", "");
  ASSERT_EQ(run("sort none --type u64 -o out.bin").code, 0);
  EXPECT_TRUE(exists("out.bin"));
  EXPECT_EQ(read("out.bin"), "");
  ASSERT_EQ(run("sort none --text --type u64 -o out.txt --algorithm std::sort --verify").code, 0);
  EXPECT_EQ(read("out.txt"), "");
  EXPECT_EQ(run("check none --type u64").code, 0);
  EXPECT_EQ(run("check none none --type u64").code, 0);
  const Result r = shell("printf 5 | $S sort - --text --type i32 -o - --verify");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "5\n");
}

TEST_F(Cli, BadRaw) {
  write("in.bin", "1234567");
  refuses("sort in.bin --type u32 -o bad.bin", 2,
          {"in.bin", "truncated", "7 bytes", "multiple of 4"});
  refuses("sort in.bin -o bad.bin", 2, {"in.bin", "--type", "u32"});
  refuses("sort in.bin --type u33 -o bad.bin", 2, {"--type", "u33", "u32", "f64"});
  refuses("sort missing.bin --type u32 -o bad.bin", 2, {"missing.bin", "No such file"});
  refuses("sort io --type u32 -o bad.bin", 2, {"io", "directory"});
}

TEST_F(Cli, TextThroughPipes) {
  const Result r = shell("printf '10\\n-3\\r\\n +7\\t\\n0' | $S sort - --text --type i32 -o -");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "-3\n0\n7\n10\n");
  EXPECT_EQ(shell("printf '1\\n2\\n\\n\\n' | $S sort - --text --type i32 -o - --descending").out,
            "2\n1\n");
}

TEST_F(Cli, RawThroughPipes) {
  // A pipe with more bytes than one read() returns, and more than the first allocation holds.
  const auto keys = random_keys(3'000'000);
  auto expected = keys;
  std::ranges::sort(expected);
  write("in.bin", bytes_of(keys));
  const Result r = shell("cat in.bin | $S sort - --type u32 -o - | cat");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(r.out == bytes_of(expected));
}

TEST_F(Cli, BadText) {
  write("garbage.txt", "1\n2\nthree\n");
  refuses("sort garbage.txt --text --type u32 -o bad.txt", 2,
          {"garbage.txt", "line 3", "three", "u32"});
  write("tail.txt", "1\n2x\n");
  refuses("sort tail.txt --text --type u32 -o bad.txt", 2, {"line 2", "2x"});
  write("negative.txt", "-1\n");
  refuses("sort negative.txt --text --type u32 -o bad.txt", 2, {"line 1", "-1"});
  write("large.txt", "4294967295\n4294967296\n");
  refuses("sort large.txt --text --type u32 -o bad.txt", 2,
          {"line 2", "4294967296", "out of range", "4294967295"});
  EXPECT_EQ(run("sort large.txt --text --type u64 -o fine.txt").code, 0);
  write("small.txt", "-2147483649\n");
  refuses("sort small.txt --text --type i32 -o bad.txt", 2,
          {"line 1", "out of range", "-2147483648"});
  write("fraction.txt", "1.5\n");
  refuses("sort fraction.txt --text --type i64 -o bad.txt", 2, {"1.5", "i64"});
  write("float.txt", "1\n1e39\n");
  refuses("sort float.txt --text --type f32 -o bad.txt", 2, {"line 2", "1e39", "out of range"});
  EXPECT_EQ(run("sort float.txt --text --type f64 -o fine.txt").code, 0);
  write("gap.txt", "1\n\n2\n");
  refuses("sort gap.txt --text --type u32 -o bad.txt", 2, {"line 2", "empty"});
  write("two.txt", "1 2\n");
  refuses("sort two.txt --text --type u32 -o bad.txt", 2, {"line 1", "1 2"});
  refuses("sort two.txt --text -o bad.txt", 2, {"two.txt", "--type"});
}

TEST_F(Cli, SpecialFloatsInText) {
  write("in.txt", "nan\n1e-999\n-0.0\n0\ninf\n-inf\n-1.5\nNaN\n0.0\n-0\n1e-45\n");
  // The zeros tie and keep the order of the input. NaN comes last.
  const std::string up = "-inf\n-1.5\n0\n-0\n0\n0\n-0\n1e-45\ninf\nnan\nnan\n";
  const std::string down = "inf\n1e-45\n0\n-0\n0\n0\n-0\n-1.5\n-inf\nnan\nnan\n";
  ASSERT_EQ(run("sort in.txt --text --type f32 -o up.txt --verify").code, 0);
  EXPECT_EQ(read("up.txt"), up);
  ASSERT_EQ(run("sort in.txt --text --type f32 -o down.txt --descending --verify").code, 0);
  EXPECT_EQ(read("down.txt"), down);
  for (const char* algorithm : {"std::sort", "std::stable_sort"}) {
    ASSERT_EQ(run(std::string("sort in.txt --text --type f32 -o peer.txt --verify --algorithm ") +
                  algorithm)
                  .code,
              0);
    EXPECT_EQ(run("check peer.txt --text --type f32").code, 0) << algorithm;
    EXPECT_EQ(run("check peer.txt in.txt --text --type f32").code, 0) << algorithm;
  }
}

TEST_F(Cli, SpecialFloatsKeepTheirBits) {
  const std::vector<std::uint32_t> keys{0x7fc01234, 0x80000000, 0xffc00001, 0x00000000,
                                        0x00000001, 0xff800000, 0x7f800000};
  const std::vector<std::uint32_t> sorted{0xff800000, 0x80000000, 0x00000000, 0x00000001,
                                          0x7f800000, 0x7fc01234, 0xffc00001};
  write("in.npy", npy("'>f4'", "(7,)", bytes_of(keys, true)));
  ASSERT_EQ(run("sort in.npy -o out.npy --verify").code, 0);
  EXPECT_EQ(npy_data(read("out.npy")), bytes_of(sorted, true));
  EXPECT_EQ(run("check out.npy").code, 0);
}

}  // namespace
