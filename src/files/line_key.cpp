#include "line_key.hpp"

namespace sortium::files {

namespace {

std::string_view leading_digits(std::string_view text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

// Returns `count` digits of the number from digit `first` on, as a number; absent ones are zeros.
std::uint64_t some_digits(const Number& number, std::uint64_t first, unsigned count) {
  std::uint64_t out = 0;
  const auto append = [&](std::string_view digits) {
    digits.remove_prefix(std::min<std::uint64_t>(first, digits.size()));
    for (const char digit : digits.substr(0, count)) {
      out = out * 10 + static_cast<std::uint64_t>(digit - '0');
      --count;
    }
  };
  append(number.whole);
  first -= std::min<std::uint64_t>(first, number.whole.size());
  append(number.fraction);
  for (; count > 0; --count) out *= 10;
  return out;
}

// 10^16 < 2^54 and 10^18 < 2^60, so a word also has its highest bit for the sign, and its lowest
// one for "more digits follow".
constexpr unsigned first_digits = 16, next_digits = 18;
constexpr unsigned digits_bits = 54;
// Longer numbers have their number of digits in place of the first digits.
constexpr std::uint64_t longest = 255;

}  // namespace

Number::Number(std::string_view key) {
  std::size_t at = 0;
  const auto is = [&](char c) { return at < key.size() && key[at] == c; };
  while (at < key.size() && is_blank(key[at])) ++at;
  negative = is('-');
  if (negative) ++at;
  while (is('0')) ++at;
  whole = leading_digits(key.substr(at));
  at += whole.size();
  if (is('.')) {
    fraction = leading_digits(key.substr(at + 1));
    while (fraction.ends_with('0')) fraction.remove_suffix(1);
  }
  if (digits() == 0) negative = false;
}

std::uint64_t NumberKeys::word(std::string_view key, std::uint64_t depth) {
  const Number n(key);
  const bool is_long = n.whole.size() >= longest;
  std::uint64_t bits = 0, end = is_long ? 0 : first_digits;
  if (depth == 0) {
    const std::uint64_t size = std::min<std::uint64_t>(n.whole.size(), longest);
    bits = size << digits_bits | (is_long ? n.whole.size() : some_digits(n, 0, first_digits));
  } else {
    const std::uint64_t first = end + (depth - 1) * next_digits;
    bits = some_digits(n, first, next_digits);
    end = first + next_digits;
  }
  const bool more = n.digits() > end;
  const std::uint64_t word = std::uint64_t{1} << 63 | bits << 1 | (more ? 1 : 0);
  return n.negative ? ~word : word;
}

int NumberKeys::compare(std::string_view a, std::string_view b, std::uint64_t) {
  const Number x(a), y(b);
  if (x.negative != y.negative) return x.negative ? -1 : 1;
  int order = x.whole.size() == y.whole.size()  ? x.whole.compare(y.whole)
              : x.whole.size() < y.whole.size() ? -1
                                                : 1;
  if (order == 0) order = x.fraction.compare(y.fraction);
  return x.negative ? -order : order;
}

}  // namespace sortium::files
