#include "keys.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "support.hpp"

namespace sortium::test {

namespace {
std::uint64_t all_bits(KeyType type) { return ~std::uint64_t{0} >> (64 - info(type).bits()); }
}  // namespace

std::string_view name(Distribution distribution) {
  switch (distribution) {
    case Distribution::random:
      return "random";
    case Distribution::sorted:
      return "sorted";
    case Distribution::reversed:
      return "reversed";
    case Distribution::constant:
      return "constant";
    case Distribution::few_distinct:
      return "few distinct";
    case Distribution::organ_pipe:
      return "organ pipe";
    case Distribution::zipf:
      return "Zipf";
    case Distribution::special:
      return "special";
    case Distribution::last:
      return "all last";
    case Distribution::digits:
      return "some digits";
    case Distribution::numbers:
      return "numbers";
    case Distribution::runs:
      return "runs";
    case Distribution::leads:
      return "leads";
    case Distribution::classes:
      return "classes of equal keys";
    case Distribution::ties:
      return "floats, and keys that tie";
    case Distribution::one_nan:
      return "floats and one NaN";
    case Distribution::other_nan:
      return "floats and two NaNs";
    case Distribution::clusters:
      return "clusters";
    case Distribution::peaks:
      return "peaks";
    case Distribution::range:
      return "range";
    case Distribution::hill:
      return "hill";
    case Distribution::three_digits:
      return "three digits";
    case Distribution::groups:
      return "groups";
    case Distribution::common:
      return "common";
    case Distribution::letters:
      return "letters";
    case Distribution::fields:
      return "fields";
  }
  return "?";
}

std::vector<std::uint64_t> special_keys(KeyType type) {
  const std::uint64_t all = all_bits(type), sign = all ^ (all >> 1);
  std::vector<std::uint64_t> keys{0, 1, 2, all, all - 1, sign, sign + 1, sign - 1, sign - 2};
  if (info(type).is_float) {
    const std::uint64_t infinity = info(type).infinity;
    const std::uint64_t smallest_normal = infinity & (~infinity + 1);
    const std::uint64_t quiet = smallest_normal >> 1;
    for (const auto s : {std::uint64_t{0}, sign})
      for (const auto magnitude :
           {infinity, infinity - 1, infinity + 1, infinity | quiet, infinity | quiet | 0x1234,
            smallest_normal, smallest_normal - 1, smallest_normal + 1, smallest_normal / 3,
            infinity / 2, std::uint64_t{3}})
        keys.push_back(s | (magnitude & (sign - 1)));
  }
  return keys;
}

std::uint64_t rank_of(std::uint64_t key, const Problem& problem) {
  const unsigned bits = info(problem.key).bits();
  const unsigned end = problem.end_bit == 0 ? bits : problem.end_bit;
  const std::uint64_t below_end = ~std::uint64_t{0} >> (64 - end);
  return (order_bits(key, problem) & below_end) >> problem.begin_bit;
}

std::vector<std::uint64_t> make_keys(Distribution distribution, const Problem& problem,
                                     std::uint64_t seed) {
  Random random(seed);
  const std::uint64_t all = all_bits(problem.key);
  std::vector<std::uint64_t> keys(problem.count);
  const auto fill = [&](auto&& one) {
    for (auto& k : keys) k = one() & all;
  };
  const auto sort_part = [&](std::size_t from, std::size_t to, bool descending) {
    std::stable_sort(keys.begin() + static_cast<std::ptrdiff_t>(from),
                     keys.begin() + static_cast<std::ptrdiff_t>(to), [&](auto a, auto b) {
                       return descending ? rank_of(b, problem) < rank_of(a, problem)
                                         : rank_of(a, problem) < rank_of(b, problem);
                     });
  };
  switch (distribution) {
    case Distribution::random:
      fill([&] { return random.next(); });
      break;
    case Distribution::sorted:
    case Distribution::reversed:
      fill([&] { return random.next(); });
      sort_part(0, keys.size(), distribution == Distribution::reversed);
      break;
    case Distribution::constant: {
      const auto key = random.next();
      fill([&] { return key; });
      break;
    }
    case Distribution::few_distinct: {
      // Bins have one of them, or several.
      std::vector<std::uint64_t> some(std::array{2, 5, 5, 40, 150, 255, 257, 400}[seed % 8]);
      for (auto& k : some) k = random.next();
      fill([&] { return some[random.below(some.size())]; });
      break;
    }
    case Distribution::common: {
      const auto numbers = make_keys(Distribution::numbers, problem, seed ^ 1);
      const std::uint64_t some =
          std::min<std::uint64_t>(std::array{2, 200, 255, 256, 300, 700}[seed % 6], numbers.size());
      fill([&] { return numbers[random.below(random.below(40) != 0 ? some : numbers.size())]; });
      break;
    }
    case Distribution::organ_pipe:
      fill([&] { return random.next(); });
      sort_part(0, keys.size() / 2, false);
      sort_part(keys.size() / 2, keys.size(), true);
      break;
    case Distribution::zipf:  // rank r has a probability of about 1/r; keys are not in the order
                              // of the ranks
      fill([&] {
        return Random(static_cast<std::uint64_t>(std::exp(random.unit() * std::log(1e6)))).next();
      });
      break;
    case Distribution::special: {
      const auto some = special_keys(problem.key);
      fill([&] { return some[random.below(some.size())]; });
      break;
    }
    case Distribution::digits: {
      std::uint64_t random_bytes = 0;
      for (unsigned b = 0; b < 8; ++b)
        random_bytes |= (random.below(2) != 0 ? std::uint64_t{0xff} : 0) << (8 * b);
      const auto key = random.next();
      fill([&] { return key ^ (random.next() & random_bytes); });
      break;
    }
    case Distribution::numbers: {
      const unsigned bits = info(problem.key).bits();
      if (!info(problem.key)
               .is_float) {  // as often below 2^k as from 2^k to 2^(k + 1), of both signs
        fill([&] {
          const std::uint64_t magnitude = random.next() >> (64 - 1 - random.below(bits - 1));
          return random.below(2) != 0 ? magnitude : ~magnitude;
        });
        break;
      }
      // Uniform in a range: each exponent occurs half as often as the next one.
      const auto fraction_bits =
          static_cast<unsigned>(std::countr_zero(info(problem.key).infinity));
      const std::uint64_t exponents = info(problem.key).infinity >> fraction_bits,
                          largest = 1 + random.below(exponents - 1);
      const bool both_signs = random.below(4) != 0;
      fill([&] {
        std::uint64_t exponent = largest;
        while (exponent > 0 && random.below(2) != 0) --exponent;
        const std::uint64_t fraction = random.next() >> (64 - fraction_bits),
                            sign = both_signs ? random.below(2) : 0;
        return sign << (bits - 1) | exponent << fraction_bits |
               (exponent == 0 && fraction == 0 ? 1 : fraction);
      });
      break;
    }
    case Distribution::runs: {
      const auto kind =
          random.below(3);  // many ties in and between runs; every other key special; neither
      const auto some = special_keys(problem.key);
      fill([&] {
        if (kind == 0) return Random(random.below(100)).next();
        return kind == 1 && random.below(2) == 0 ? some[random.below(some.size())] : random.next();
      });
      const std::size_t runs = 1 + seed % 9;
      const bool alternates = random.below(4) != 0;
      bool falls = random.below(2) == 0;
      for (std::size_t r = 0; r < runs; ++r, falls ^= alternates)
        sort_part(r * keys.size() / runs, (r + 1) * keys.size() / runs, falls);
      break;
    }
    case Distribution::classes: {
      keys = make_keys(Distribution::numbers, problem, seed);
      const std::uint64_t infinity = info(problem.key).infinity, sign = all ^ (all >> 1);
      if (infinity == 0) break;  // integers have no such keys
      const std::uint64_t of_thousand = std::array{1, 100, 500, 1000}[seed % 4],
                          kind = seed / 4 % 3;
      const bool beside_zero = random.below(4) != 0, beside_nan = random.below(2) == 0;
      for (auto& key : keys) {
        if (random.below(1000) >= of_thousand) {
          if (beside_zero && random.below(16) == 0) key = random.below(4) | (key & sign);
          if (beside_nan && random.below(16) == 0) key = (infinity - 1) | (key & sign);
          continue;
        }
        const bool is_nan = kind == 0 || (kind == 1 && random.below(2) == 0);
        const std::uint64_t payload = 1 + random.below((infinity & (~infinity + 1)) - 1);
        key = (is_nan ? infinity | payload : 0) | (random.below(2) == 0 ? sign : 0);
      }
      break;
    }
    case Distribution::ties: {
      const std::uint64_t infinity = info(problem.key).infinity, sign = all ^ (all >> 1),
                          of_thousand = std::array{1, 100, 500}[seed % 3], kind = seed / 3 % 3;
      if (infinity == 0) return make_keys(Distribution::random, problem, seed);
      const std::uint64_t exponent = infinity & (~infinity + 1);  // the unit of exponents
      fill([&] {
        const std::uint64_t fraction = random.below(exponent), negative = random.next() & sign;
        if (random.below(1000) >= of_thousand)
          return negative | ((infinity / 2 & infinity) - random.below(4) * exponent) | fraction;
        const bool is_nan = kind == 0 || random.below(2) == 0;
        if (kind == 2) return is_nan ? infinity | exponent / 2 : sign;
        return negative | (is_nan ? infinity | fraction | 1 : 0);
      });
      break;
    }
    case Distribution::one_nan:
    case Distribution::other_nan: {
      const std::uint64_t infinity = info(problem.key).infinity, sign = all ^ (all >> 1),
                          of_thousand = std::array{1, 100, 500, 999, 1000}[seed % 5];
      if (infinity == 0) return make_keys(Distribution::random, problem, seed);
      const std::uint64_t exponent = infinity & (~infinity + 1);  // the unit of exponents
      const bool is_negative =
          (problem.order == Order::descending) != (problem.nan == NanOrder::first);
      const std::uint64_t nan = infinity | exponent / 2 | (is_negative ? sign : 0);
      fill([&] {
        const std::uint64_t fraction = random.below(exponent), negative = random.next() & sign;
        if (random.below(1000) < of_thousand) return nan;
        return negative | ((infinity / 2 & infinity) - random.below(4) * exponent) | fraction;
      });
      if (distribution == Distribution::other_nan && !keys.empty())
        keys[random.below(keys.size())] = nan ^ sign;
      break;
    }
    case Distribution::clusters: {
      const std::uint64_t middle = random.next() & all, window = all >> 9, narrow = all >> 40;
      const std::uint64_t outlier = seed % 2 == 0 ? 3000 : 64;
      fill([&] {
        if (random.below(outlier) == 0) return random.next();
        const std::uint64_t kind = random.below(64);
        if (kind < 12) return middle;                                          // the frequent key
        if (kind < 20) return middle + window / 3 + random.below(narrow + 2);  // the cluster
        return middle + random.below(window);
      });
      break;
    }
    case Distribution::peaks: {
      const std::uint64_t infinity = info(problem.key).infinity, sign = all ^ (all >> 1);
      if (infinity == 0) return make_keys(Distribution::random, problem, seed);
      const std::uint64_t exponent = infinity & (~infinity + 1), one = infinity / 2;
      const std::uint64_t others = std::array<std::uint64_t, 4>{0, 1, 50, 500'000}[seed % 4];
      fill([&] {
        const std::uint64_t at = one + random.below(5) * exponent * 3;  // a peak
        std::uint64_t key = at + random.below(exponent / (1 + random.below(40)) + 1);
        if (random.below(1'000) == 0) key = random.below(infinity);
        return random.below(1'000'000) < others ? key | sign : key;
      });
      break;
    }
    case Distribution::range: {
      const std::uint64_t last = all >> random.below(10),
                          width = last - random.below(last / 2) / (1 + seed % 3),
                          begin = seed % 4 == 0 ? 0 : random.next();
      fill([&] { return begin + random.below(width); });
      if (seed % 5 == 0 && !keys.empty()) keys[random.below(keys.size())] = (begin + width) & all;
      break;
    }
    case Distribution::three_digits: {
      const std::uint64_t low = 0xfffff, leading = random.next() & ~low;
      fill([&] { return leading | (random.next() & low); });
      break;
    }
    case Distribution::hill: {
      const unsigned bits = info(problem.key).bits();
      const std::uint64_t width = all >> seed * 5 % (bits - 15),
                          begin = random.next() & ~(width / 4);
      const std::uint64_t outlier = seed % 2 == 0 ? 3000 : 64;
      const std::array<std::uint64_t, 4> frequent{begin + width / 2, begin + width / 2 - 1, 0, all};
      fill([&] {
        if (random.below(outlier) == 0) return random.next();
        if (seed % 3 != 0 && random.below(seed % 3 == 1 ? 8 : 300) == 0)
          return frequent[random.below(frequent.size())];
        std::uint64_t key = begin;
        for (unsigned i = 0; i < 4; ++i) key += random.below(width / 4 + 1);
        return key;
      });
      break;
    }
    case Distribution::groups: {
      const unsigned low = info(problem.key).bits() * 3 / 8;
      const std::uint64_t length = std::array{2, 7, 9, 40, 300, 700}[seed % 6];
      const std::uint64_t groups = keys.size() / 200 / length + 1, any = random.next();
      fill([&] {
        const std::uint64_t key = random.next();
        if (random.below(200) != 0) return key;
        const std::uint64_t group = (any + random.below(groups)) * 0x9e3779b97f4a7c15u;
        return (group >> (64 - info(problem.key).bits()) >> low << low) |
               (key & ((std::uint64_t{1} << low) - 1));
      });
      break;
    }
    case Distribution::leads: {
      const unsigned low = info(problem.key).bits() - 14;
      const std::uint64_t first = random.below(8000), leads = keys.size() / 800 + 1;
      fill([&] {
        return (first + random.below(leads)) << low |
               (random.next() & ((std::uint64_t{1} << low) - 1));
      });
      break;
    }
    case Distribution::letters: {
      const unsigned bits = info(problem.key).bits(),
                     letters = std::min(bits / 5, bits < 64 ? 6u : 7u);
      fill([&] {
        std::uint64_t word = 0;
        for (unsigned k = 0; k < letters; ++k) word = word << 5 | random.below(26);
        return word;
      });
      break;
    }
    case Distribution::fields: {
      const std::uint64_t values = problem.count / 150 + 2, apart = (all >> 9) / values;
      const bool repeats = seed % 4 == 3;
      fill([&] {
        if (random.below(100) == 0) return random.next();
        const std::uint64_t field = apart * random.below(values);
        const bool common = repeats && random.below(4) != 0;
        return field + (common ? random.below(2) : random.below(apart >> 6));
      });
      break;
    }
    case Distribution::last: {
      auto some = special_keys(problem.key);
      std::uint64_t most = 0;
      for (const auto k : some) most = std::max(most, order_bits(k, problem));
      std::erase_if(some, [&](auto k) { return order_bits(k, problem) != most; });
      fill([&] { return some[random.below(some.size())]; });
      break;
    }
  }
  return keys;
}

}  // namespace sortium::test
