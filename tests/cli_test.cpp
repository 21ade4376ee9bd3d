// The program `sortium`, run as a user runs it: files in a directory of the test's own, exit codes,
// messages.
#include "cli.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "io/host_check.hpp"

namespace {

std::vector<std::uint32_t> random_keys(std::size_t count, std::uint32_t mask = ~0u) {
  std::mt19937 random(7);
  std::vector<std::uint32_t> out(count);
  for (auto& k : out) k = random() & mask;
  return out;
}

// ---------------------------------------------------------------------------------------------
// sort: kinds of files
// ---------------------------------------------------------------------------------------------

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
  // To text and back: .npy goes by its name, the other file is text.
  this->write("in.npy", npy(fmt::format("'<{}{}'", name[0], sizeof(T)),
                            fmt::format("({},)", keys.size()), bytes_of(keys)));
  ASSERT_EQ(this->run("sort in.npy --text -o sorted.txt").code, 0);
  const Result r = this->run("sort sorted.txt --text --type " + name + " -o again.npy");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(npy_data(this->read("again.npy")), this->read("sorted.bin"));
}

// ---------------------------------------------------------------------------------------------
// sort: floats of 16 bits
// ---------------------------------------------------------------------------------------------

// Their number, by the definition of the format: `exponent_bits` of the 15 below the sign.
double number_of(std::uint16_t bits, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits & 0x7fff) >> fraction_bits,
            fraction = bits & ((1 << fraction_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 2 * bias + 1) return fraction != 0 ? std::nan("") : sign * HUGE_VAL;
  return sign * (exponent == 0 ? std::ldexp(fraction, 1 - bias - fraction_bits)
                               : std::ldexp(fraction + (1 << fraction_bits),
                                            exponent - bias - fraction_bits));
}

struct NarrowFloat {
  const char* name;
  int exponent_bits;
};
class CliNarrow : public Cli, public testing::WithParamInterface<NarrowFloat> {
 protected:
  [[nodiscard]] double number(std::uint16_t bits) const {
    return number_of(bits, GetParam().exponent_bits);
  }
  // All there are, in a random order.
  [[nodiscard]] static std::vector<std::uint16_t> all() {
    std::vector<std::uint16_t> out(1 << 16);
    std::iota(out.begin(), out.end(), std::uint16_t{0});
    std::ranges::shuffle(out, std::mt19937(3));
    return out;
  }
};
INSTANTIATE_TEST_SUITE_P(Floats, CliNarrow,
                         testing::Values(NarrowFloat{"f16", 5}, NarrowFloat{"bf16", 8}),
                         [](const auto& of) { return of.param.name; });

TEST_P(CliNarrow, EveryNumberInEveryPolicy) {
  write("in.bin", bytes_of(all()));
  const auto sign = [](std::uint16_t k) { return (k & 0x8000) != 0; };
  for (const bool down : {false, true})
    for (const std::string nan : {"last", "first", "bits"})
      for (const bool distinct : {false, true}) {
        // NaN of either end: -1 before all numbers, +1 after them.
        const auto before = [&](std::uint16_t a, std::uint16_t b) {
          const auto side = [&](std::uint16_t k) {
            if (!std::isnan(number(k))) return 0;
            return nan == "last" ? 1 : nan == "first" ? -1 : sign(k) != down ? -1 : 1;
          };
          if (side(a) != side(b)) return side(a) < side(b);
          if (side(a) != 0) {
            if (nan != "bits") return false;
            const int x = sign(a) ? -int{a} : int{a}, y = sign(b) ? -int{b} : int{b};
            return down ? x > y : x < y;
          }
          const double x = number(a), y = number(b);
          if (x == 0 && y == 0) return distinct && sign(a) != sign(b) && sign(down ? b : a);
          return down ? x > y : x < y;
        };
        auto expected = all();
        std::ranges::stable_sort(expected, before);
        const std::string how =
            fmt::format(" --type {} --nan {} --zeros {}{}", GetParam().name, nan,
                        distinct ? "distinct" : "tied", down ? " --descending" : "");
        for (const char* algorithm : {"auto", "std::stable_sort"}) {
          const Result r =
              run(fmt::format("sort in.bin -o out.bin --verify --algorithm {}{}", algorithm, how));
          ASSERT_EQ(r.code, 0) << r.err;
          EXPECT_TRUE(read("out.bin") == bytes_of(expected)) << algorithm << how;
        }
        EXPECT_EQ(run("check out.bin" + how).code, 0) << how;
        EXPECT_EQ(run("check out.bin" + how + (down ? "" : " --descending")).code, down ? 0 : 1)
            << how;
      }
}

TEST_P(CliNarrow, TextIsShortAndReadsBack) {
  const auto keys = all();
  write("in.bin", bytes_of(keys));
  const std::string type = fmt::format(" --type {}", GetParam().name);
  ASSERT_EQ(run("sort in.bin -o sorted.bin --zeros distinct --nan bits" + type).code, 0);
  const auto sorted = numbers_of<std::uint16_t>(read("sorted.bin"));
  std::string text;
  for (const auto k : sorted) {
    const double x = number(k);
    if (std::isnan(x)) continue;
    text += fmt::format("{:.20g}\n", x);
  }
  write("long.txt", text);
  const Result r = run("sort long.txt --text -o short.txt --zeros distinct" + type);
  ASSERT_EQ(r.code, 0) << r.err;
  const Result again = run("sort short.txt --text -o again.txt --zeros distinct" + type);
  ASSERT_EQ(again.code, 0) << again.err;
  const std::string lines = read("short.txt");
  EXPECT_EQ(read("again.txt"), lines);
  // Each line is nearest to its own number of all there are, and no line is long.
  std::istringstream in(lines);
  auto k = sorted.begin();
  for (std::string line; std::getline(in, line); ++k) {
    while (std::isnan(number(*k))) ++k;
    const double x = std::strtod(line.c_str(), nullptr), mine = number(*k);
    ASSERT_LE(line.size(), 12u) << line;
    ASSERT_EQ(std::signbit(x), std::signbit(mine)) << line;
    if (std::isinf(mine)) {
      ASSERT_EQ(x, mine);
      continue;
    }
    for (const int step : {-1, 1}) {
      const double other = number(static_cast<std::uint16_t>(*k + step));
      if (std::isfinite(other)) {
        ASSERT_LE(std::fabs(x - mine), std::fabs(x - other)) << line;
      }
    }
  }
}

TEST_F(Cli, NarrowFloatsRoundOnce) {
  const auto bits = [&](const std::string& type, const std::string& text) {
    write("in.txt", text + "\n");
    const Result r = run("sort in.txt --text --type " + type + " -o out.npy");
    return r.code == 0 ? int{numbers_of<std::uint16_t>(npy_data(read("out.npy"))).at(0)} : -1;
  };
  EXPECT_EQ(bits("f16", "1"), 0x3c00);
  EXPECT_EQ(bits("f16", "-0.0"), 0x8000);
  EXPECT_EQ(bits("f16", "2049"), 0x6800);  // a tie: to even
  EXPECT_EQ(bits("f16", "2051"), 0x6802);
  // As a double, let alone a float, each is that tie.
  EXPECT_EQ(bits("f16", "2049.00000000000000000000000000000000001"), 0x6801);
  EXPECT_EQ(bits("f16", "2050.99999999999999999999999999999999999"), 0x6801);
  EXPECT_EQ(bits("f16", "65504"), 0x7bff);
  EXPECT_EQ(bits("f16", "65519.9999999999999999999999999999999"), 0x7bff);
  EXPECT_EQ(bits("f16", "5.9604644775390625e-08"), 0x0001);
  EXPECT_EQ(bits("f16", "2.98023223876953125e-08"), 0x0000);
  EXPECT_EQ(bits("f16", "2.980232238769531250000000000000001e-08"), 0x0001);
  EXPECT_EQ(bits("f16", "1e-999"), 0x0000);
  EXPECT_EQ(bits("f16", "inf"), 0x7c00);
  EXPECT_EQ(bits("f16", "-nan"), 0xfe00);
  for (const char* text : {"65520", "-1e5", "1e999"}) {
    write("large.txt", std::string("1\n") + text + "\n");
    refuses("sort large.txt --text --type f16 -o bad.txt", 2,
            {"line 2", text, "out of range for f16", "-65504 to 65504"});
  }
  write("large.txt", "3.4e38\n");
  refuses("sort large.txt --text --type bf16 -o bad.txt", 2, {"3.4e38", "out of range for bf16"});
  refuses("sort large.txt --text --type f16 -o bad.txt", 2, {"3.4e38"});
  // Half of bf16's last bit above 1 is a tie, and as a float a little more than that still is.
  EXPECT_EQ(shell("printf '1.00390625\\n' | $S sort - --text --type bf16 -o -").out, "1\n");
  EXPECT_EQ(
      shell("printf '1.0039062500000000000000000001\\n' | $S sort - --text --type bf16 -o -").out,
      "1.01\n");
}

TEST_F(Cli, NarrowKeysAndFiles) {
  write("half.npy",
        npy("'>f2'", "(4,)", bytes_of<std::uint16_t>({0xc000, 0x7e00, 0x3c00, 0xfc00}, true)));
  Result r = run("sort half.npy -o out.npy --verify");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.err.find("4 f16 keys"), std::string::npos) << r.err;
  EXPECT_NE(read("out.npy").find("'>f2'"), std::string::npos);
  EXPECT_EQ(npy_data(read("out.npy")),
            bytes_of<std::uint16_t>({0xfc00, 0xc000, 0x3c00, 0x7e00}, true));
  ASSERT_EQ(run("sort half.npy --argsort --nan first -o order.npy --verify").code, 0);
  EXPECT_EQ(npy_data(read("order.npy")), bytes_of<std::uint32_t>({1, 3, 0, 2}));
  // NumPy has no bf16.
  write("b.bin", bytes_of<std::uint16_t>({0x3f80, 0xbf80}));
  ASSERT_EQ(run("sort b.bin --type bf16 -o out.bin --verify").code, 0);
  EXPECT_EQ(read("out.bin"), bytes_of<std::uint16_t>({0xbf80, 0x3f80}));
  EXPECT_EQ(run("sort b.bin --type bf16 --argsort -o order.npy").code, 0);
  refuses("sort b.bin --type bf16 -o bad.npy", 2, {"bad.npy", "no name for bf16", "raw"});
  refuses("sort half.npy --type bf16 -o bad.bin", 2, {"half.npy", "bf16"});
  write("b.npy", npy("'<V2'", "(2,)", "1234"));
  refuses("sort b.npy -o bad.npy", 2, {"b.npy", "<V2", "f2"});
  // Bytes: the byte order says nothing.
  write("u.npy", npy("'|u1'", "(3,)", std::string("\xff\x01\x80", 3)));
  ASSERT_EQ(run("sort u.npy -o out.npy").code, 0);
  EXPECT_EQ(npy_data(read("out.npy")), std::string("\x01\x80\xff", 3));
  EXPECT_NE(read("out.npy").find("'|u1'"), std::string::npos);
  EXPECT_EQ(shell("printf '200\\n3\\n+255\\n' | $S sort - --text --type u8 -o - --bits 0:2").out,
            "200\n3\n255\n");
  EXPECT_EQ(shell("printf '100\\n-128\\n-3\\n' | $S sort - --text --type i8 -o - --descending").out,
            "100\n-3\n-128\n");
  write("wide.txt", "255\n256\n");
  refuses("sort wide.txt --text --type u8 -o bad.txt", 2,
          {"line 2", "256", "out of range for u8 (0 to 255)"});
  refuses("sort wide.txt --text --type i8 -o bad.txt", 2, {"line 1", "255", "(-128 to 127)"});
  refuses("sort u.npy --bits 0:9 -o bad.npy", 2, {"0:9", "0:8"});
}

TEST_F(Cli, PoliciesOfFloatsOnly) {
  write("k.bin", bytes_of<std::uint32_t>({1, 2}));
  refuses("sort k.bin --type u32 -o bad.bin --nan first", 2, {"--nan first", "u32"});
  refuses("check k.bin --type i32 --zeros distinct", 2, {"--zeros distinct", "i32"});
  refuses("sort k.bin --type f32 -o bad.bin --nan middle", 2, {"--nan", "middle", "last"});
  refuses("sort k.bin --type f32 -o bad.bin --zeros none", 2, {"--zeros", "none", "tied"});
  refuses("bench --n 2^8 --type u32,u8 --nan bits", 2, {"--nan bits", "no floats"});
  refuses("bench --n 2^8 --type f32 --zeros distinct --peers .", 2,
          {"--zeros distinct", "--peers"});
  refuses("bench --n 2^8 --type u32,f16 --peers .", 2, {"--type f16", "--peers"});
  write("f.txt", "0\n-0\nnan\n-nan\n-1\n");
  EXPECT_EQ(run("sort f.txt --text --type f64 --nan bits --zeros distinct --verify -o -").out,
            "-nan\n-1\n-0\n0\nnan\n");
  EXPECT_EQ(run("sort f.txt --text --type f64 --nan first --descending --verify -o -").out,
            "nan\n-nan\n0\n-0\n-1\n");
  ASSERT_EQ(run("sort f.txt --text --type f32 --nan first -o out.txt").code, 0);
  Result r = run("check out.txt --text --type f32");
  EXPECT_EQ(r.code, 1);
  r = run("check out.txt --text --type f32 --nan first");
  EXPECT_EQ(r.code, 0);
  EXPECT_NE(r.out.find("NaN first"), std::string::npos) << r.out;
  EXPECT_EQ(run("check out.txt --text --type f32 --nan first --zeros distinct").code, 1);
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
  // More than one read() of a pipe, and more than the first guess at the size.
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
  // Both zeros tie: they stay in the order of the input. NaN comes last.
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

// ---------------------------------------------------------------------------------------------
// sort: what is sorted, and how
// ---------------------------------------------------------------------------------------------

TEST_F(Cli, ValuesMoveWithTheirKeys) {
  const auto keys = random_keys(5000, 0xff);
  std::vector<std::uint64_t> values(keys.size());
  std::iota(values.begin(), values.end(), std::uint64_t{1} << 40);
  auto order = values;
  std::ranges::stable_sort(order,
                           [&](auto a, auto b) { return keys[a & 0xffff] > keys[b & 0xffff]; });
  write("k.bin", bytes_of(keys));
  write("v.npy", npy("'>M8[ns]'", "(5000,)", bytes_of(values)));
  const Result r =
      run("sort k.bin --type u32 -o k2.bin --values v.npy -o2 v2.npy --descending --verify");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(npy_data(read("v2.npy")), bytes_of(order));
  EXPECT_NE(read("v2.npy").find("'>M8[ns]'"), std::string::npos);
  EXPECT_NE(r.err.find("verified"), std::string::npos);

  // Raw values of 4 bytes; and by the host's sort, which must agree.
  std::vector<std::uint32_t> small(keys.size());
  std::iota(small.begin(), small.end(), 0u);
  write("v.bin", bytes_of(small));
  ASSERT_EQ(
      run("sort k.bin --type u32 -o a.bin --values v.bin --value-bytes 4 -o2 av.bin --bits 2:5")
          .code,
      0);
  ASSERT_EQ(run("sort k.bin --type u32 -o b.bin --values v.bin --value-bytes 4 -o2 bv.bin --bits "
                "2:5 --verify "
                "--algorithm std::sort")
                .code,
            0);
  EXPECT_EQ(read("a.bin"), read("b.bin"));
  EXPECT_EQ(read("av.bin"), read("bv.bin"));
  EXPECT_NE(read("av.bin"), read("v.bin"));
}

TEST_F(Cli, BadValues) {
  write("k.bin", bytes_of<std::uint32_t>({1, 2, 3}));
  write("v.bin", bytes_of<std::uint32_t>({1, 2}));
  const std::string sort = "sort k.bin --type u32 -o bad.bin ";
  refuses(sort + "--values v.bin --value-bytes 4 -o2 bad2.bin", 2, {"v.bin", "2 records", "3"});
  refuses(sort + "--values v.bin -o2 bad2.bin", 2, {"v.bin", "--value-bytes", "1 to 256"});
  refuses(sort + "--values v.bin --value-bytes 5 -o2 bad2.bin", 2,
          {"v.bin", "truncated", "multiple of 5"});
  refuses(sort + "--values v.bin --value-bytes 0 -o2 bad2.bin", 2, {"--value-bytes", "0"});
  refuses(sort + "--values v.bin --value-bytes 257 -o2 bad2.bin", 2, {"--value-bytes", "257"});
  refuses(sort + "--values v.bin --value-bytes 4", 2, {"--values", "-o2"});
  refuses(sort + "-o2 bad2.bin", 2, {"--values", "-o2"});
  refuses(sort + "--values v.bin --value-bytes 4 -o2 ./bad.bin", 2, {"same file"});
  refuses(sort + "--values v.bin --value-bytes 4 -o2 bad2.bin --argsort", 2,
          {"--argsort", "--values"});
  refuses(sort + "--values none.bin --value-bytes 4 -o2 bad2.bin", 2, {"none.bin", "No such file"});
  write("v.npy", npy("'|S300'", "(3,)", std::string(900, 'x')));
  refuses(sort + "--values v.npy -o2 bad2.npy", 2, {"v.npy", "|S300", "1 to 256"});
  write("o.npy", npy("'|O8'", "(3,)", std::string(24, 'x')));
  refuses(sort + "--values o.npy -o2 bad2.npy", 2, {"o.npy", "|O8"});
}

TEST_F(Cli, Argsort) {
  const auto keys = random_keys(4000, 0x3f);
  std::vector<std::uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, {}, [&](auto i) { return keys[i]; });
  write("k.npy", npy("'>u4'", "(4000,)", bytes_of(keys, true)));
  ASSERT_EQ(run("sort k.npy --argsort -o p.npy --verify").code, 0);
  EXPECT_EQ(npy_data(read("p.npy")), bytes_of(order));
  EXPECT_NE(read("p.npy").find("'<u4'"), std::string::npos);
  EXPECT_EQ(npy_data(read("k.npy")), bytes_of(keys, true));

  ASSERT_EQ(run("sort k.npy --argsort --index-bytes 8 -o p8.bin --verify").code, 0);
  EXPECT_EQ(read("p8.bin"), bytes_of(std::vector<std::uint64_t>(order.begin(), order.end())));
  ASSERT_EQ(run("sort k.npy --argsort -o peer.npy --verify --algorithm std::sort").code, 0);
  EXPECT_EQ(read("peer.npy"), read("p.npy"));
  EXPECT_EQ(shell("printf '30\\n10\\n20\\n' | $S sort - --text --type u32 --argsort -o -").out,
            "1\n2\n0\n");
  refuses("sort k.npy --argsort --index-bytes 2 -o bad.npy", 2, {"--index-bytes", "2", "4"});
}

TEST_F(Cli, DescendingIsStable) {
  const auto keys = random_keys(4000, 0xf);
  std::vector<std::uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, std::greater<>{}, [&](auto i) { return keys[i]; });
  write("k.bin", bytes_of(keys));
  ASSERT_EQ(run("sort k.bin --type u32 --descending --argsort -o p.bin").code, 0);
  EXPECT_EQ(read("p.bin"), bytes_of(order));
}

TEST_F(Cli, BitRange) {
  auto keys = random_keys(4000);
  write("k.bin", bytes_of(keys));
  std::ranges::stable_sort(keys, {}, [](auto k) { return k >> 4 & 0xff; });
  ASSERT_EQ(run("sort k.bin --type u32 --bits 4:12 -o out.bin --verify").code, 0);
  EXPECT_EQ(read("out.bin"), bytes_of(keys));
  EXPECT_EQ(run("check out.bin --type u32 --bits 4:12").code, 0);
  EXPECT_EQ(run("check out.bin --type u32").code, 1);
  for (const char* bits : {"5:3", "4:4", "0", "a:b", "0:8x", "-1:8", ":8", "0:99999999999"})
    refuses(std::string("sort k.bin --type u32 -o bad.bin --bits=") + bits, 2, {"--bits", bits});
  refuses("sort k.bin --type u32 -o bad.bin --bits 0:33", 2, {"--bits", "0:33", "0:32"});
  refuses("check k.bin --type u32 --bits 5:3", 2, {"--bits", "5:3"});
}

TEST_F(Cli, AlgorithmsAndParameters) {
  write("k.bin", bytes_of(random_keys(10000)));
  const Result r =
      run("sort k.bin --type u32 -o out.bin --algorithm lsd --params groups=3 --verify");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.err.find("lsd("), std::string::npos);
  EXPECT_NE(r.err.find("groups=3"), std::string::npos);
  EXPECT_EQ(run("check out.bin --type u32").code, 0);
  EXPECT_EQ(run("check out.bin k.bin --type u32").code, 0);
  const std::string sort = "sort k.bin --type u32 -o bad.bin ";
  refuses(sort + "--algorithm quick", 2, {"--algorithm", "quick", "lsd", "radix", "std::sort"});
  refuses(sort + "--algorithm lsd --params speed=9", 2, {"speed", "groups"});
  refuses(sort + "--algorithm lsd --params groups=0", 2, {"groups=0", "1 to"});
  refuses(sort + "--algorithm lsd --params groups", 2, {"groups", "name=value"});
  refuses(sort + "--algorithm std::sort --params groups=1", 2, {"--params", "std::sort"});
  refuses(sort + "--device nowhere:9", 2, {"nowhere:9"});
}

TEST_F(Cli, KeepsToACeilingForTemporaryMemory) {
  write("k.bin",
        bytes_of(random_keys(300'000)));  // more than the sorts that need no scratch memory take
  const Result r = run("sort k.bin --type u32 -o out.bin --max-scratch 900000 --verify");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.err.find("-in-place("), std::string::npos) << r.err;
  EXPECT_EQ(run("check out.bin k.bin --type u32").code, 0);
  refuses("sort k.bin --type u32 -o bad.bin --max-scratch 1", 2,
          {"max_scratch_bytes is 1", "are needed"});
  refuses("sort k.bin --type u32 -o bad.bin --max-scratch 0", 2, {"--max-scratch"});
  refuses("sort k.bin --type u32 -o bad.bin --max-scratch 1000000 --algorithm std::sort", 2,
          {"--max-scratch", "std::sort"});
}

TEST_F(Cli, PartialSortSaysSo) {
  write("k.bin", bytes_of(random_keys(5000)));
  Result r = run("sort k.bin --type u32 -o out.bin --algorithm selection-local --verify");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.err.find("SORTED RUNS of"), std::string::npos) << r.err;
  EXPECT_EQ(run("check out.bin --type u32").code, 1);
  r = run("sort k.bin --type u32 -o out.bin --algorithm selection-local --quiet");
  EXPECT_NE(r.err.find("SORTED RUNS of"), std::string::npos) << r.err;
}

TEST_F(Cli, ParallelPeer) {
  write("k.bin", bytes_of(random_keys(100000)));
  const Result r = run("sort k.bin --type u32 -o out.bin --algorithm std::sort-parallel --verify");
  if (r.code == 2) {
    EXPECT_NE(r.err.find("TBB"), std::string::npos) << r.err;
    EXPECT_FALSE(exists("out.bin"));
    return;
  }
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(run("check out.bin --type u32").code, 0);
  EXPECT_EQ(run("check out.bin k.bin --type u32").code, 0);
}

TEST_F(Cli, Summary) {
  write("k.bin", bytes_of(random_keys(1000)));
  const Result r = run("sort k.bin --type u32 -o out.bin");
  EXPECT_EQ(std::ranges::count(r.err, '\n'), 1) << r.err;
  for (const char* word : {"1000 u32 keys", "reading", "transfer", "sorting", "writing", "Mkey/s"})
    EXPECT_NE(r.err.find(word), std::string::npos) << r.err;
  EXPECT_EQ(r.err.find('\r'), std::string::npos) << "a bar in a pipe";
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(run("sort k.bin --type u32 -o out.bin --quiet").err, "");
}

// ---------------------------------------------------------------------------------------------
// sort: output whole or not at all
// ---------------------------------------------------------------------------------------------

TEST_F(Cli, InPlaceAndThroughLinks) {
  auto keys = random_keys(1000);
  write("k.bin", bytes_of(keys));
  fs::permissions(dir_ / "k.bin", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("k.bin", dir_ / "link.bin");
  ASSERT_EQ(run("sort k.bin --type u32 -o link.bin").code, 0);
  std::ranges::sort(keys);
  EXPECT_EQ(read("k.bin"), bytes_of(keys));
  EXPECT_TRUE(fs::is_symlink(dir_ / "link.bin"));
  EXPECT_EQ(fs::status(dir_ / "k.bin").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(files(), (std::vector<std::string>{"io", "k.bin", "link.bin"}));
}

TEST_F(Cli, OutputThatCannotBe) {
  write("k.bin", bytes_of(random_keys(100)));
  refuses("sort k.bin --type u32 -o none/out.bin", 2, {"none/out.bin", "No such file"});
  refuses("sort k.bin --type u32 -o /dev/full/out.bin", 2,
          {"/dev/full/out.bin", "Not a directory"});
  refuses("sort k.bin --type u32 -o io", 2, {"io", "directory"});
  refuses("sort k.bin --type u32 -o /dev/full", 3, {"/dev/full", "No space left"});
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  const Result r = shell("$S sort k.bin --type u32 -o - > /dev/full");
  EXPECT_EQ(r.code, 3);
  EXPECT_NE(r.err.find("No space left"), std::string::npos) << r.err;
}

TEST_F(Cli, DiskThatFillsUp) {
  write("k.bin", bytes_of(random_keys(1 << 20)));
  write("out.bin", "what was there");
  // A limit on the file's size is what a test can have of a full disk.
  std::string lines;
  for (int i = 0; i < 200'000; ++i) lines += std::to_string(i * 7919 % 200'000) + "\n";
  write("k.txt", lines);
  for (const char* arguments :
       {"k.bin --type u32 -o out.bin", "k.txt --type u32 --text --argsort -o out.txt",
        "k.bin --type u32 -o out.npy --values k.bin --value-bytes 4 -o2 v.npy"}) {
    const auto before = files();
    const Result r = shell(std::string("ulimit -f 100; $S sort ") + arguments);
    EXPECT_EQ(r.code, 3) << r.err;
    EXPECT_NE(r.err.find("cannot write"), std::string::npos) << r.err;
    EXPECT_EQ(files(), before);
  }
  EXPECT_EQ(read("out.bin"), "what was there");
}

TEST_F(Cli, FailureLeavesOldOutput) {
  write("bad.txt", "x\n");
  write("out.txt", "old");
  EXPECT_EQ(run("sort bad.txt --text --type u32 -o out.txt").code, 2);
  EXPECT_EQ(read("out.txt"), "old");
  EXPECT_EQ(files(), (std::vector<std::string>{"bad.txt", "io", "out.txt"}));
}

TEST_F(Cli, SignalsRemoveTheTemporary) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    Waiting run(dir_, {"sort", "-", "--text", "--type", "u32", "-o", "out.txt"}, null);
    run.feed("1\n");
    const auto has_temporary = [&] {
      return std::ranges::any_of(files(),
                                 [](const auto& name) { return name.starts_with(".sortium-"); });
    };
    for (int i = 0; i < 6000 && !has_temporary(); ++i) ::usleep(10'000);
    ASSERT_TRUE(has_temporary());
    run.signal(number);
    const int status = run.wait();
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), number);
    EXPECT_EQ(files(), std::vector<std::string>{"io"});
    ::close(null);
  }
}

// Minutes are announced before they pass, quiet or not, and Ctrl-C ends them at once.
TEST_F(Cli, AQuadraticSortWarnsAndCanBeInterrupted) {
  std::vector<std::uint32_t> keys(std::size_t{1} << 22);
  std::iota(keys.begin(), keys.end(), 0u);
  write("many.u32", bytes_of(keys));
  const auto before = files();
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  Waiting run(
      dir_,
      {"sort", "many.u32", "--type", "u32", "-o", "out.u32", "--algorithm", "selection", "--quiet"},
      ends[1]);
  ::close(ends[1]);
  std::string said;
  char part[512];
  // Drivers may say something of their own first.
  for (ssize_t n;
       said.find("minutes") == std::string::npos && (n = ::read(ends[0], part, sizeof part)) > 0;)
    said.append(part, static_cast<std::size_t>(n));
  EXPECT_NE(said.find("warning: selection"), std::string::npos) << said;
  EXPECT_NE(said.find("4194304 records"), std::string::npos) << said;
  EXPECT_NE(said.find("minutes"), std::string::npos) << said;
  ::usleep(300'000);    // by now it sorts
  run.signal(SIGTERM);  // not SIGINT: a shell's background jobs ignore it
  const int status = run.wait();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
  EXPECT_EQ(files(), before);
  ::close(ends[0]);
}

TEST_F(Cli, ProgressBarOnATerminalOnly) {
  int primary = -1, secondary = -1;
  if (::openpty(&primary, &secondary, nullptr, nullptr, nullptr) != 0)
    GTEST_SKIP() << "no pseudo-terminal here (a bare chroot?): " << std::strerror(errno);
  ::fcntl(primary, F_SETFL, O_NONBLOCK);
  std::string shown;
  const auto look = [&] {
    char part[4096];
    for (ssize_t n; (n = ::read(primary, part, sizeof part)) > 0;)
      shown.append(part, static_cast<std::size_t>(n));
  };
  Waiting run(dir_, {"sort", "-", "--text", "--type", "u32", "-o", "out.txt"}, secondary);
  run.feed("2\n1\n");
  for (int i = 0; i < 6000 && shown.find("reading") == std::string::npos; ++i) {
    ::usleep(10'000);
    look();
  }
  EXPECT_NE(shown.find("\r\033[Kreading standard input"), std::string::npos) << shown;
  EXPECT_EQ(run.wait(), 0);
  EXPECT_EQ(read("out.txt"), "1\n2\n");
  look();
  EXPECT_NE(shown.find("2 u32 keys"), std::string::npos) << shown;
  ::close(primary);
  ::close(secondary);
}

TEST_F(Cli, NoProgressBarWhenQuietOrInAPipe) {
  write("k.txt", "2\n1\n");
  const Result piped = shell("(sleep 1.5; cat k.txt) | $S sort - --text --type u32 -o out.txt");
  EXPECT_EQ(piped.code, 0);
  EXPECT_EQ(piped.err.find("reading standard"), std::string::npos) << piped.err;

  int primary = -1, secondary = -1;
  if (::openpty(&primary, &secondary, nullptr, nullptr, nullptr) != 0)
    GTEST_SKIP() << "no pseudo-terminal here (a bare chroot?): " << std::strerror(errno);
  ::fcntl(primary, F_SETFL, O_NONBLOCK);
  Waiting run(dir_, {"sort", "-", "--text", "--type", "u32", "-o", "out.txt", "--quiet"},
              secondary);
  run.feed("2\n1\n");
  ::usleep(1'500'000);
  EXPECT_EQ(run.wait(), 0);
  char part[64];
  EXPECT_LE(::read(primary, part, sizeof part), 0) << std::string_view(part, 20);
  ::close(primary);
  ::close(secondary);
}

// ---------------------------------------------------------------------------------------------
// --verify
// ---------------------------------------------------------------------------------------------

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
  moved[0] = 4;  // twice the same
  EXPECT_TRUE(wrong(true));
  EXPECT_TRUE(wrong(false));
  moved[0] = 77;  // there is no such record
  EXPECT_TRUE(wrong(true));
  EXPECT_TRUE(wrong(false));
}

TEST_F(Verify, SeesTheBitRange) {
  problem.begin_bit = 1;
  problem.end_bit = 2;  // 3 alone has it
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
  std::swap(sorted[1], sorted[2]);  // the zeros tie, but each has its value
  EXPECT_TRUE(app::find_mistake(p, o, false, 0));
  std::swap(sorted_ids[1], sorted_ids[2]);
  EXPECT_FALSE(app::find_mistake(p, o, false, 0));
  EXPECT_TRUE(app::find_mistake(p, o, true, 0));
}

// ---------------------------------------------------------------------------------------------
// check
// ---------------------------------------------------------------------------------------------

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
  // Negative keys come first though their bits are the larger numbers.
  write("f.bin", bytes_of<std::int64_t>({-7, 9}));
  write("g.bin", bytes_of<std::int64_t>({-8, 10}));
  EXPECT_NE(run("check f.bin g.bin --type i64").out.find("first difference is -8"),
            std::string::npos);
  refuses("check b.npy e.npy", 2, {"b.npy", "i64", "e.npy", "f64"});
  // -0.0 and +0.0 tie in the order, but one is no permutation of the other.
  write("z.txt", "0\n-0\n");
  write("zz.txt", "0\n0\n");
  EXPECT_EQ(run("check z.txt zz.txt --text --type f32").code, 1);
}

// ---------------------------------------------------------------------------------------------
// devices, algorithms, help
// ---------------------------------------------------------------------------------------------

TEST_F(Cli, DevicesAndAlgorithms) {
  Result r = run("devices");
  EXPECT_EQ(r.code, 0) << r.err;
  for (const char* word : {"opencl", "cuda", "memory", "sub-groups", "forward progress"})
    EXPECT_NE(r.out.find(word), std::string::npos) << r.out;
  r = run("algorithms");
  EXPECT_EQ(r.code, 0);
  for (const char* word : {"lsd", "radix", "std::sort-parallel", "stable", "work_group", "Satish"})
    EXPECT_NE(r.out.find(word), std::string::npos) << r.out;
}

TEST_F(Cli, HelpAndUsage) {
  EXPECT_EQ(run("--version").out, "sortium 0.1.0\n");
  const Result r = run("--help");
  EXPECT_EQ(r.code, 0);
  for (const char* command : {"devices", "algorithms", "sort", "topk", "check", "bench", "pic"}) {
    EXPECT_NE(r.out.find(command), std::string::npos);
    const Result help = run(std::string(command) + " --help");
    EXPECT_EQ(help.code, 0);
    EXPECT_NE(help.out.find("Example"), std::string::npos) << help.out;
    EXPECT_NE(help.out.find(std::string("sortium ") + command), std::string::npos) << help.out;
  }
  refuses("", 2, {"command", "devices", "sort"});
  refuses("frobnicate", 2, {"frobnicate"});
  refuses("sort", 2, {"IN"});
  refuses("sort in.npy", 2, {"--output"});
  refuses("sort in.npy -o out.npy --sideways", 2, {"--sideways"});
}

}  // namespace

int main(int argc, char** argv) { return run_cli_tests(argc, argv); }
