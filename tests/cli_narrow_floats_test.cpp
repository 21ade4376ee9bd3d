// The program `sortium`, run as a user runs it: floats of 16 bits.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "cli.hpp"

namespace {

// Returns the number that the bits represent in the format with this many exponent bits.
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
  // All numbers of the format, in a random order.
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
        // NaN: -1 sorts before all numbers, +1 after them.
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
  // Each line must be nearer to its own number than to any other, and short.
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
  // If these texts were first rounded to double, each would be exactly that tie.
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
  // 1 plus half of bf16's last bit is a tie. If numbers a little larger were first rounded to
  // float, they would become that tie, too.
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
  // One-byte types: the byte order has no effect.
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

}  // namespace
