#include "protocol/data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <set>
#include <string_view>
#include <thread>

#include "protocol/basics.hpp"
#include "protocol/narrow.hpp"

namespace app {

using sortium::KeyType;

namespace {

// Returns the i-th number of SplitMix64 (Steele, Lea, Flood), without computing those before
// it.
std::uint64_t random_bits(std::uint64_t i) {
  std::uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Makes a key of a 64-bit number. A larger number never makes an earlier key. Floats are in
// [-1, 1].
template <class Word>
Word to_key(std::uint64_t x, KeyType type) {
  const auto& t = sortium::info(type);
  if (t.is_float) {
    const double f = std::ldexp(static_cast<double>(x), -63) - 1;
    if constexpr (sizeof(Word) <= 2)
      return static_cast<Word>(to_narrow(f, type));
    else if constexpr (sizeof(Word) == 4)
      return std::bit_cast<std::uint32_t>(static_cast<float>(f));
    else
      return std::bit_cast<std::uint64_t>(f);
  }
  if (t.is_signed) x ^= std::uint64_t{1} << 63;
  return static_cast<Word>(x >> (64 - t.bits()));
}

template <class Word, class Number>
void fill(KeyType type, std::uint64_t first, std::uint64_t count, Word* out, Number number) {
  for (std::uint64_t i = 0; i < count; ++i) out[i] = to_key<Word>(number(first + i), type);
}

// Returns K of "distinctK"; 0 if `name` does not have that form.
std::uint64_t distinct_keys(std::string_view name) {
  constexpr std::string_view word = "distinct";
  std::uint64_t k = 0;
  if (!name.starts_with(word)) return 0;
  const auto [end, error] =
      std::from_chars(name.data() + word.size(), name.data() + name.size(), k);
  return error == std::errc{} && end == name.data() + name.size() && k <= std::uint64_t{1} << 32
             ? k
             : 0;
}

[[noreturn]] void refuse(const std::string& message) {
  throw sortium::Error(sortium::ErrorCode::invalid_argument, message);
}

template <class Word>
void make(const std::string& distribution, KeyType type, std::uint64_t total, std::uint64_t first,
          std::uint64_t count, Word* out) {
  const std::uint64_t step = total == 0 ? 0 : ~std::uint64_t{0} / total;
  const auto make_of = [&](auto number) { fill(type, first, count, out, number); };
  const auto distinct = [&](std::uint64_t k) {
    make_of([=](std::uint64_t i) { return random_bits(random_bits(i) % k); });
  };
  if (distribution == "uniform") make_of(random_bits);
  if (distribution == "sorted") make_of([=](std::uint64_t i) { return i * step; });
  if (distribution == "reversed") make_of([=](std::uint64_t i) { return (total - 1 - i) * step; });
  if (distribution == "nearly")  // sorted, but one key in a hundred has a random place
    make_of([=](std::uint64_t i) {
      const std::uint64_t r = random_bits(i);
      return (r % 100 == 0 ? random_bits(r) % total : i) * step;
    });
  if (distribution == "constant") make_of([](std::uint64_t) { return random_bits(0); });
  if (distribution == "few") distinct(16);
  if (distribution == "zipf")  // rank r occurs about as often as 1/r, with a million ranks
    make_of([](std::uint64_t i) {
      const double u = std::ldexp(static_cast<double>(random_bits(i)), -64);
      return random_bits(static_cast<std::uint64_t>(std::exp2(20 * u)));
    });
  if (distribution.starts_with("and")) {  // "and3": a bit is set in one key of eight
    const auto words = static_cast<std::uint64_t>(distribution.back() - '0');
    make_of([=](std::uint64_t i) {
      std::uint64_t x = ~std::uint64_t{0};
      for (std::uint64_t w = 0; w < words; ++w) x &= random_bits(8 * i + w);
      return x;
    });
  }
  if (distribution == "organ-pipe")  // ascending, then descending
    make_of([=](std::uint64_t i) { return 2 * std::min(i, total - 1 - i) * step; });
  if (const auto k = distinct_keys(distribution); k != 0) distinct(k);
}

}  // namespace

std::uint64_t parse_size(std::string_view text, const std::string& argument, unsigned most) {
  const auto number = [](std::string_view s, std::uint64_t& out) {
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), out);
    return error == std::errc{} && end == s.data() + s.size();
  };
  std::uint64_t n = 0;
  const bool power = text.starts_with("2^");
  const bool good =
      number(power ? text.substr(2) : text, n) && n <= (power ? most : std::uint64_t{1} << most);
  if (!good)
    refuse(
        fmt::format("{}: '{}' is not a number of records, such as 1000 or 2^20; up to 2^{} are "
                    "allowed",
                    argument, text, most));
  return power ? std::uint64_t{1} << n : n;
}

std::vector<std::uint64_t> parse_sizes(const std::string& all, unsigned most) {
  std::set<std::uint64_t> out;
  const std::string argument = "--n " + all;
  for (std::string_view rest = all; !rest.empty();) {
    const auto item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const auto colon = item.find(':');
    const std::uint64_t from = parse_size(item.substr(0, colon), argument, most);
    if (colon == std::string_view::npos) {
      out.insert(from);
      continue;
    }
    const std::uint64_t to = parse_size(item.substr(colon + 1), argument, most);
    if (!std::has_single_bit(from) || from > to)
      refuse(fmt::format("--n {}: '{}' does not go from a power of two to one as large or larger",
                         all, item));
    for (std::uint64_t n = from; n <= to; n *= 2) out.insert(n);
  }
  if (out.empty()) refuse(fmt::format("--n '{}': it has no sizes", all));
  return {out.begin(), out.end()};
}

const std::vector<std::string>& distributions() {
  static const std::vector<std::string> all{"uniform",  "sorted", "reversed", "nearly",
                                            "constant", "few",    "zipf",     "and2",
                                            "and3",     "and4",   "and5",     "organ-pipe"};
  return all;
}

void check_distribution(const std::string& name) {
  if (std::ranges::find(distributions(), name) != distributions().end() || distinct_keys(name) != 0)
    return;
  std::string names;
  for (const auto& known : distributions()) names += known + ", ";
  refuse(fmt::format(
      "--distribution {}: there is no such distribution; there are {}and distinctK for K "
      "different keys, such as distinct1000",
      name, names));
}

void make_keys(const std::string& distribution, KeyType type, std::uint64_t total,
               std::uint64_t first, std::uint64_t count, void* out) {
  const auto part = [&](std::uint64_t from, std::uint64_t n) {
    with_word(sortium::info(type).bytes, [&](auto word) {
      make(distribution, type, total, first + from, n, static_cast<decltype(word)*>(out) + from);
    });
  };
  // On all cores: making the keys takes a large part of a benchmark's time.
  constexpr std::uint64_t least = std::uint64_t{1} << 16;
  const std::uint64_t parts = std::clamp<std::uint64_t>(
      count / least, 1, std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::jthread> others;
  for (std::uint64_t p = 1; p < parts; ++p)
    others.emplace_back(
        [=] { part(count * p / parts, count * (p + 1) / parts - count * p / parts); });
  part(0, count / parts);
}

}  // namespace app
