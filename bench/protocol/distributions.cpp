#include "protocol/distributions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <fstream>
#include <numbers>
#include <optional>
#include <system_error>
#include <thread>

#include "protocol/basics.hpp"
#include "protocol/narrow.hpp"

namespace app {

using sortium::KeyType;

namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw sortium::Error(sortium::ErrorCode::invalid_argument, message);
}

// ---- random numbers of a position ----

// Returns the i-th number of SplitMix64 (Steele, Lea, Flood), without computing those before it.
std::uint64_t random_bits(std::uint64_t i) {
  std::uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
// Returns a number in [0, 1).
double unit(std::uint64_t bits) { return std::ldexp(static_cast<double>(bits >> 11), -53); }
// Returns a number in (0, 1], so that its logarithm is finite.
double positive_unit(std::uint64_t bits) { return 1 - unit(bits); }

// A stream of random numbers for key `i`, for distributions that need several.
class Draws {
 public:
  explicit Draws(std::uint64_t i) : state_(random_bits(i)) {}
  std::uint64_t bits() { return random_bits(state_++); }
  double unit() { return app::unit(bits()); }
  double exponential() { return -std::log(positive_unit(bits())); }
  // Box and Muller's transform; its second number is not used.
  double normal() {
    const double radius = std::sqrt(2 * exponential());
    return radius * std::cos(2 * std::numbers::pi * unit());
  }
  // Marsaglia and Tsang, 2000. A number of a shape below 1 is made from one of a shape above 1.
  double gamma(double shape) {
    if (shape < 1) {
      const double power = std::pow(positive_unit(bits()), 1 / shape);
      return gamma(shape + 1) * power;
    }
    const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
    for (;;) {
      const double x = normal(), root = 1 + c * x;
      if (root <= 0) continue;
      const double v = root * root * root;
      if (std::log(positive_unit(bits())) < x * x / 2 + d * (1 - v + std::log(v))) return d * v;
    }
  }

 private:
  std::uint64_t state_;
};

// ---- from numbers to keys ----

unsigned bits_of(KeyType type) { return sortium::info(type).bits(); }
std::uint64_t low_bits(unsigned n) {
  return n == 0 ? 0 : ~std::uint64_t{0} >> (64 - std::min(n, 64u));
}

std::uint64_t float_key(double number, KeyType type) {
  switch (bits_of(type)) {
    case 16:
      return to_narrow(number, type);
    case 32:
      return std::bit_cast<std::uint32_t>(static_cast<float>(number));
    default:
      return std::bit_cast<std::uint64_t>(number);
  }
}

// Maps [0, 2^64) to all numbers of an integer type, or to floats in [-1, 1]. Monotone.
std::uint64_t spread_key(std::uint64_t x, KeyType type) {
  const auto& t = sortium::info(type);
  if (t.is_float) return float_key(std::ldexp(static_cast<double>(x), -63) - 1, type);
  if (t.is_signed) x ^= std::uint64_t{1} << 63;
  return x >> (64 - t.bits());
}

// Converts the number x to the nearest float, or to the low bits of an integer type.
std::uint64_t count_key(std::uint64_t x, KeyType type) {
  return sortium::info(type).is_float ? float_key(static_cast<double>(x), type)
                                      : x & low_bits(bits_of(type));
}

// Converts a real number to a key. For integers, x is multiplied by 2^(bits - `scale`), where
// `scale` is limited to half of the bits, then rounded and clamped to the type's range. Unsigned
// integers of symmetric distributions are centred in the middle of the range.
std::uint64_t real_key(double x, KeyType type, int scale, bool is_symmetric) {
  const auto& t = sortium::info(type);
  if (t.is_float) return float_key(x, type);
  const int bits = static_cast<int>(t.bits());
  double number = std::ldexp(x, bits - std::min(scale, bits / 2));
  if (t.is_signed) {
    const double most = std::ldexp(1.0, bits - 1);
    number = std::clamp(std::round(number), -most, most - 1);
    if (number >= 0x1p63) return low_bits(63);  // rounded up to 2^63 in a double
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(number)) & low_bits(t.bits());
  }
  if (is_symmetric) number += std::ldexp(1.0, bits - 1);
  number = std::clamp(std::round(number), 0.0, std::ldexp(1.0, bits) - 1);
  return number >= 0x1p64 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(number);
}

// ---- distributions ----

struct List {
  KeyType type;
  std::uint64_t total, step;  // step: the largest for which total · step fits 64 bits
  double k;
  [[nodiscard]] std::uint64_t whole() const { return static_cast<std::uint64_t>(k); }
  [[nodiscard]] unsigned bits() const { return bits_of(type); }
  [[nodiscard]] unsigned small() const { return std::min(static_cast<unsigned>(k), bits()); }
};
using MakeKey = std::uint64_t (*)(const List&, std::uint64_t i);

// Returns the integer part of a random x in [1, 2^20) with density proportional to x^-s.
std::uint64_t zipf_rank(std::uint64_t i, double s) {
  constexpr double most = 0x1p20;
  const double u = unit(random_bits(i));
  return static_cast<std::uint64_t>(
      std::fabs(s - 1) < 1e-9 ? std::pow(most, u)
                              : std::pow(u * (std::pow(most, 1 - s) - 1) + 1, 1 / (1 - s)));
}

// Puts two zero bits between neighbouring bits of x's low 21 bits.
std::uint64_t with_gaps(std::uint64_t x) {
  std::uint64_t out = 0;
  for (unsigned b = 0; b < 21; ++b) out |= (x >> b & 1) << (3 * b);
  return out;
}

// Returns one random coordinate of a particle in a cloud: an integer below 2^bits.
std::uint64_t coordinate(Draws& draws, unsigned bits) {
  const double x = std::clamp(0.5 + draws.normal() / 8, 0.0, std::nextafter(1.0, 0.0));
  return static_cast<std::uint64_t>(std::ldexp(x, static_cast<int>(bits)));
}

struct Made {
  DistributionWord words;
  MakeKey key;
};

// A word that takes no number has least = none and most = never, so that least > most.
constexpr double none = 0, never = -1;

const std::vector<Made>& all_made() {
  static const std::vector<Made> all{
      {{"uniform", none, never, none, "all numbers of an integer type; floats in [-1, 1]"},
       [](const List& l, std::uint64_t i) { return spread_key(random_bits(i), l.type); }},
      {{"bits", none, never, none, "random bits; floats are never NaN, infinite or zero"},
       [](const List& l, std::uint64_t i) {
         const std::uint64_t x = random_bits(i) >> (64 - l.bits());
         const auto& t = sortium::info(l.type);
         const bool is_special =
             t.is_float && ((x & t.infinity) == t.infinity || (x & low_bits(l.bits() - 1)) == 0);
         return is_special ? x ^ std::uint64_t{3} << (l.bits() - 3) : x;
       }},
      // continuous
      {{"normal", none, never, none, "a bell curve: floats have mean 0 and deviation 1"},
       [](const List& l, std::uint64_t i) { return real_key(Draws(i).normal(), l.type, 4, true); }},
      {{"exponential", none, never, none, "a falling curve: floats have mean 1"},
       [](const List& l, std::uint64_t i) {
         return real_key(Draws(i).exponential(), l.type, 6, false);
       }},
      {{"lognormal", 0.01, 8, 1, "e to the power of a normal number of deviation K"},
       [](const List& l, std::uint64_t i) {
         return real_key(std::exp(l.k * Draws(i).normal()), l.type, 12, false);
       }},
      {{"cauchy", none, never, none, "long tails on both sides"},
       [](const List& l, std::uint64_t i) {
         return real_key(std::tan(std::numbers::pi * (unit(random_bits(i)) - 0.5)), l.type, 20,
                         true);
       }},
      {{"gamma", 0.01, 1000, 2, "a skewed curve, of shape K: below 1 with a peak at 0"},
       [](const List& l, std::uint64_t i) {
         return real_key(Draws(i).gamma(l.k), l.type, l.k < 16 ? 8 : 12, false);
       }},
      {{"mixture", 1, 1e6, 4, "K narrow bell curves of deviation 0.01, centres in [-2, 2]"},
       [](const List& l, std::uint64_t i) {
         Draws draws(i);
         const double centre = 4 * unit(random_bits(~(draws.bits() % l.whole()))) - 2;
         return real_key(centre + 0.01 * draws.normal(), l.type, 4, true);
       }},
      // windows
      {{"ids", 1, 64, 22, "integers below 2^K"},
       [](const List& l, std::uint64_t i) {
         return count_key(random_bits(i) >> (64 - l.small()), l.type);
       }},
      {{"offset", 1, 64, 20, "the low K bits vary above one fixed number"},
       [](const List& l, std::uint64_t i) {
         const std::uint64_t number = 0x2b7e151628aed2a6 >> (64 - l.bits());
         return (number + (random_bits(i) >> (64 - l.small()))) & low_bits(l.bits());
       }},
      {{"prefix", 1, 32, 16,
        "the leading K bits, at most half, are the same in all keys; the others are random"},
       [](const List& l, std::uint64_t i) {
         const std::uint64_t rest = low_bits(l.bits() - std::min(l.small(), l.bits() / 2));
         const std::uint64_t number = 0x3c6ef372fe94f82b >> (64 - l.bits());
         return (number & ~rest) | (random_bits(i) & rest);
       }},
      {{"multiples", 1, 32, 12, "uniform, but the low K bits, at most half, are zero"},
       [](const List& l, std::uint64_t i) {
         return spread_key(random_bits(i), l.type) & ~low_bits(std::min(l.small(), l.bits() / 2));
       }},
      {{"timestamps", 1, 1e9, 1000, "ascending by one, and each raised by a random number below K"},
       [](const List& l, std::uint64_t i) {
         const std::uint64_t base = std::uint64_t{1} << (l.bits() - 2),
                             number = i + random_bits(i) % l.whole();
         const int spare = static_cast<int>(std::bit_width(l.total + l.whole())) -
                           (static_cast<int>(l.bits()) - 2);
         return count_key(base + (number >> std::max(spare, 0)), l.type);
       }},
      {{"packed", none, never, none,
        "a key of three bit fields: one of 5 kinds, a small level, an id"},
       [](const List& l, std::uint64_t i) {
         Draws draws(i);
         const unsigned field = l.bits() / 4;
         const std::uint64_t kind = draws.bits() % 5;
         const auto level = static_cast<std::uint64_t>(draws.exponential()) & low_bits(field);
         const std::uint64_t id = draws.bits() % (low_bits(2 * field) / 3 + 1);
         return kind << (l.bits() - 4) | level << (2 * field) | id;
       }},
      {{"cells", none, never, none, "cell numbers, row by row, of a cloud of particles in space"},
       [](const List& l, std::uint64_t i) {
         Draws draws(i);
         const unsigned axis = l.bits() / 4;
         std::uint64_t cell = coordinate(draws, axis);
         cell = cell << axis | coordinate(draws, axis);
         return count_key(cell << axis | coordinate(draws, axis), l.type);
       }},
      {{"morton", none, never, none, "Morton codes of a cloud of particles in space"},
       [](const List& l, std::uint64_t i) {
         Draws draws(i);
         const unsigned axis = l.bits() / 3;
         std::uint64_t code = with_gaps(coordinate(draws, axis));
         code |= with_gaps(coordinate(draws, axis)) << 1;
         return count_key(code | with_gaps(coordinate(draws, axis)) << 2, l.type);
       }},
      // frequent values
      {{"constant", none, never, none, "one key"},
       [](const List& l, std::uint64_t) { return spread_key(random_bits(0), l.type); }},
      {{"distinct", 1, 0x1p32, 16, "K different keys"},
       [](const List& l, std::uint64_t i) {
         return spread_key(random_bits(random_bits(i) % l.whole()), l.type);
       }},
      {{"zipf", 0, 4, 1, "a million keys; the r-th is about as frequent as r to the power of -K"},
       [](const List& l, std::uint64_t i) {
         return spread_key(random_bits(zipf_rank(i, l.k)), l.type);
       }},
      {{"half", none, never, none, "half of the keys are one number, the others are uniform"},
       [](const List& l, std::uint64_t i) {
         Draws draws(i);
         return spread_key(draws.bits() % 2 == 0 ? random_bits(1) : draws.bits(), l.type);
       }},
      {{"and", 2, 8, 3, "the AND of K random numbers: low entropy"},
       [](const List& l, std::uint64_t i) {
         std::uint64_t x = ~std::uint64_t{0};
         for (std::uint64_t w = 0; w < l.whole(); ++w) x &= random_bits(8 * i + w);
         return spread_key(x, l.type);
       }},
      {{"bucket", 1, 65536, 1, "the leading 16 bits have K different values"},
       [](const List& l, std::uint64_t i) {
         const std::uint64_t r = random_bits(i), bucket = random_bits(r % l.whole()) >> 48;
         return spread_key(bucket << 48 | random_bits(r) >> 16, l.type);
       }},
      {{"alternating", none, never, none, "two narrow ranges of keys alternate"},
       [](const List& l, std::uint64_t i) {
         return spread_key(random_bits(i % 2) ^ (random_bits(i) >> 24), l.type);
       }},
      // order
      {{"sorted", none, never, none, "ascending"},
       [](const List& l, std::uint64_t i) { return spread_key(i * l.step, l.type); }},
      {{"reversed", none, never, none, "descending"},
       [](const List& l, std::uint64_t i) {
         return spread_key((l.total - 1 - i) * l.step, l.type);
       }},
      {{"nearly", none, never, none, "ascending, but one key in a hundred has a random place"},
       [](const List& l, std::uint64_t i) {
         const std::uint64_t r = random_bits(i);
         return spread_key((r % 100 == 0 ? random_bits(r) % l.total : i) * l.step, l.type);
       }},
      {{"tail", 0.001, 100, 1, "ascending, but the last K percent are random"},
       [](const List& l, std::uint64_t i) {
         const auto tail = static_cast<std::uint64_t>(static_cast<double>(l.total) * l.k / 100);
         const bool is_tail = i >= l.total - tail;
         return spread_key(is_tail ? random_bits(i) : i * l.step, l.type);
       }},
      {{"sawtooth", 1, 0x1p32, 64, "K ascending runs, one after the other"},
       [](const List& l, std::uint64_t i) {
         const std::uint64_t run = std::max<std::uint64_t>(1, l.total / l.whole());
         return spread_key(i % run * (~std::uint64_t{0} / run), l.type);
       }},
      {{"blocks", 1, 0x1p32, 1024, "sorted blocks of K keys each"},
       [](const List& l, std::uint64_t i) {
         const std::uint64_t n = l.whole(), step = ~std::uint64_t{0} / n;
         return spread_key(i % n * step + random_bits(i) % step, l.type);
       }},
      {{"interleaved", 1, 0x1p32, 4, "K ascending runs, interleaved key by key"},
       [](const List& l, std::uint64_t i) {
         const std::uint64_t run = i % l.whole(), length = l.total / l.whole() + 1;
         const std::uint64_t place = std::min(run * length + i / l.whole(), l.total - 1);
         return spread_key(place * l.step, l.type);
       }},
      {{"organ-pipe", none, never, none, "ascending, then descending"},
       [](const List& l, std::uint64_t i) {
         return spread_key(2 * std::min(i, l.total - 1 - i) * l.step, l.type);
       }},
  };
  return all;
}

// ---- names ----

constexpr std::string_view file_word = "file:";

// A parsed name.
struct Distribution {
  const Made* made = nullptr;
  double k = 0;
  double nan_percent = 0, zero_percent = 0;
};

std::optional<double> number_of(std::string_view text) {
  double k = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), k);
  if (error != std::errc{} || end != text.data() + text.size()) return {};
  return k;
}

std::string allowed_names() {
  std::string out;
  for (const auto& made : all_made())
    out += fmt::format("{}{}, ", made.words.word, made.words.least <= made.words.most ? "K" : "");
  return out + "file:PATH; each but the last with +nanP or +zeroP for P percent";
}

void parse_addition(std::string_view name, std::string_view addition, Distribution& out) {
  const bool is_nan = addition.starts_with("nan"), is_zero = addition.starts_with("zero");
  const auto percent = number_of(addition.substr(is_nan ? 3 : is_zero ? 4 : addition.size()));
  if (!percent || !(*percent >= 0 && *percent <= 100))
    refuse(
        fmt::format("--distribution {}: '+{}' is neither +nanP nor +zeroP for P percent, 0 to "
                    "100, such as +nan0.1",
                    name, addition));
  (is_nan ? out.nan_percent : out.zero_percent) = *percent;
}

Distribution parse(std::string_view name) {
  Distribution out;
  const auto plus = std::min(name.find('+'), name.size());
  const std::string_view plain = name.substr(0, plus);
  for (const auto& made : all_made())  // no other word is the beginning of "interleaved4"
    if (plain.starts_with(made.words.word) &&
        (out.made == nullptr || made.words.word.size() > out.made->words.word.size()))
      out.made = &made;
  const auto unknown = [&] {
    refuse(fmt::format("--distribution {}: there is no such distribution; there are {}", name,
                       allowed_names()));
  };
  if (out.made == nullptr) unknown();
  const auto& words = out.made->words;
  const auto text = plain.substr(words.word.size());
  const auto number = text.empty() ? std::optional(words.usual) : number_of(text);
  if (!number || (!text.empty() && words.least > words.most)) unknown();
  out.k = *number;
  if (words.least <= words.most && !(out.k >= words.least && out.k <= words.most))
    refuse(fmt::format("--distribution {}: the number after {} is {} to {}", name, words.word,
                       words.least, words.most));
  if (plus < name.size()) parse_addition(name, name.substr(plus + 1), out);
  return out;
}

// ---- lists ----

void read_keys(const std::string& path, KeyType type, std::uint64_t total, std::uint64_t first,
               std::uint64_t count, void* out) {
  const unsigned bytes = sortium::info(type).bytes;
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) refuse(fmt::format("--distribution file:{}: the file cannot be read", path));
  const auto there = static_cast<std::uint64_t>(in.tellg()) / bytes;
  if (there < total)
    refuse(
        fmt::format("--distribution file:{}: the file has {} keys of {} bytes, and {} are needed",
                    path, there, bytes, total));
  in.seekg(static_cast<std::streamoff>(first * bytes));
  in.read(static_cast<char*>(out), static_cast<std::streamsize>(count * bytes));
  if (!in) refuse(fmt::format("--distribution file:{}: the file cannot be read", path));
}

template <class Word>
void fill(const Distribution& d, const List& list, std::uint64_t first, std::uint64_t count,
          Word* out) {
  for (std::uint64_t i = 0; i < count; ++i)
    out[i] = static_cast<Word>(d.made->key(list, first + i));
  if (d.nan_percent == 0 && d.zero_percent == 0) return;
  const auto& t = sortium::info(list.type);
  // The quiet NaN whose sign bit is 0.
  const std::uint64_t nan = t.infinity | (t.infinity & ~(t.infinity << 1)) >> 1;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t r = random_bits(~(first + i));
    if (100 * unit(r) < d.nan_percent) out[i] = static_cast<Word>(nan);
    if (100 * unit(r) < d.zero_percent) out[i] = static_cast<Word>((r & 1) << (t.bits() - 1));
  }
}

}  // namespace

const std::vector<DistributionWord>& distribution_words() {
  static const std::vector<DistributionWord> words = [] {
    std::vector<DistributionWord> out;
    for (const auto& made : all_made()) out.push_back(made.words);
    return out;
  }();
  return words;
}

const std::vector<std::string>& distributions() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> out;
    for (const auto& w : distribution_words())
      out.push_back(w.least <= w.most ? fmt::format("{}{}", w.word, w.usual) : std::string(w.word));
    return out;
  }();
  return all;
}

std::string distribution_help() {
  std::string out;
  for (const auto& w : distribution_words())
    out += fmt::format(
        "  {:<14} {}{}\n", fmt::format("{}{}", w.word, w.least <= w.most ? "K" : ""), w.meaning,
        w.least <= w.most ? fmt::format(" ({} to {}; {})", w.least, w.most, w.usual) : "");
  return out +
         "  file:PATH      the numbers of a file, in its order\n"
         "  NAME+nanP      of float keys, P percent are NaN: normal+nan10\n"
         "  NAME+zeroP     of float keys, P percent are -0.0 or +0.0\n";
}

void check_distribution(std::string_view name) {
  if (!name.starts_with(file_word)) (void)parse(name);
}

void make_keys(std::string_view name, KeyType type, std::uint64_t total, std::uint64_t first,
               std::uint64_t count, void* out) {
  if (name.starts_with(file_word))
    return read_keys(std::string(name.substr(file_word.size())), type, total, first, count, out);
  const Distribution d = parse(name);
  if ((d.nan_percent != 0 || d.zero_percent != 0) && !sortium::info(type).is_float)
    refuse(fmt::format("--distribution {}: keys of type {} have neither NaN nor two zeros", name,
                       sortium::info(type).name));
  const List list{type, total, total == 0 ? 0 : ~std::uint64_t{0} / total, d.k};
  const auto part = [&](std::uint64_t from, std::uint64_t to) {
    with_word(sortium::info(type).bytes, [&](auto word) {
      fill(d, list, first + from, to - from, static_cast<decltype(word)*>(out) + from);
    });
  };
  // Uses all cores, because making keys takes a large part of a benchmark's time.
  constexpr std::uint64_t least = std::uint64_t{1} << 16;
  const std::uint64_t parts = std::clamp<std::uint64_t>(
      count / least, 1, std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::jthread> others;
  for (std::uint64_t p = 1; p < parts; ++p) {
    const auto make = [=] { part(count * p / parts, count * (p + 1) / parts); };
    try {
      others.emplace_back(make);
    } catch (const std::system_error&) {  // no more threads
      make();
    }
  }
  part(0, count / parts);
}

}  // namespace app
