// Fuzzes the keys of lines. The first two bytes are the field and the separator; the rest is a
// text. Words must order keys as comparisons do, and comparisons as a plain reference does; lines
// must be found again from the places of their keys.
#include <algorithm>
#include <compare>
#include <string>
#include <vector>

#include "files/line_key.hpp"
#include "fuzz.hpp"

namespace {

using namespace sortium::files;

// The number with which a key begins, in plain form: no zeros that change nothing.
struct PlainNumber {
  explicit PlainNumber(std::string_view key) {
    std::size_t at = key.find_first_not_of(" \t");
    if (at == key.npos) return;
    const bool minus = key[at] == '-';
    if (minus) ++at;
    for (; at < key.size() && is_digit(key[at]); ++at)
      if (!whole.empty() || key[at] != '0') whole += key[at];
    if (at < key.size() && key[at] == '.')
      for (++at; at < key.size() && is_digit(key[at]); ++at) fraction += key[at];
    while (!fraction.empty() && fraction.back() == '0') fraction.pop_back();
    negative = minus && (!whole.empty() || !fraction.empty());
  }
  [[nodiscard]] int compare(const PlainNumber& other) const {
    if (negative != other.negative) return negative ? -1 : 1;
    int order = static_cast<int>(whole.size() > other.whole.size()) -
                static_cast<int>(whole.size() < other.whole.size());
    if (order == 0) order = whole.compare(other.whole);
    if (order == 0) order = fraction.compare(other.fraction);
    return negative ? -order : order;
  }
  bool negative = false;
  std::string whole, fraction;
};

int sign(int order) { return static_cast<int>(order > 0) - static_cast<int>(order < 0); }

// Compares two keys by their words, word after word.
template <class Keys>
int compare_words(std::string_view a, std::string_view b) {
  for (std::uint64_t depth = 0;; depth += Keys::step) {
    const auto x = Keys::word(a, depth), y = Keys::word(b, depth);
    if (x != y) return x < y ? -1 : 1;
    if (!Keys::continues(x)) return 0;
  }
}

void check(std::string_view a, std::string_view b) {
  const int bytes = sign(a.compare(b));
  fuzz::require(sign(ByteKeys::compare(a, b, 0)) == bytes, "bytes are compared as memcmp does");
  fuzz::require(compare_words<ByteKeys>(a, b) == bytes, "words of bytes are in their order");
  const std::uint64_t common = ByteKeys::common(a, b, 0);
  fuzz::require(
      common <= std::min(a.size(), b.size()) && a.substr(0, common) == b.substr(0, common),
      "the common beginning is common");
  const int numbers = sign(PlainNumber(a).compare(PlainNumber(b)));
  fuzz::require(sign(NumberKeys::compare(a, b, 0)) == numbers, "numbers are compared as numbers");
  fuzz::require(compare_words<NumberKeys>(a, b) == numbers, "words of numbers are in their order");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  sortium::LineOptions options{.field = data[0] % 5u};
  if (data[0] >= 128) options.separator = static_cast<char>(data[1]);
  if (options.separator == '\n') options.separator = ',';
  std::string text(reinterpret_cast<const char*>(data) + 2, size - 2);
  if (text.empty() || text.back() != '\n') text += '\n';
  const std::size_t end = text.size();
  text.append(ByteKeys::readable, '\xff');  // words may read it, and must not depend on it

  const LineText lines(std::string_view(text).substr(0, end), KeyFinder(options));
  std::vector<std::string_view> keys;
  for (std::size_t at = 0; at < end;) {
    const std::string_view line = std::string_view(text).substr(at, text.find('\n', at) - at);
    const auto place = lines.place(line);
    fuzz::require(lines.line(place) == std::string_view(text).substr(at, line.size() + 1),
                  "a line is found from the place of its key");
    keys.push_back(lines.key(place));
    fuzz::require(keys.back().data() >= line.data() &&
                      keys.back().data() + keys.back().size() <= line.data() + line.size(),
                  "a key lies within its line");
    at += line.size() + 1;
  }
  constexpr std::size_t most = 24;  // pairs of all lines would take long
  for (std::size_t i = 0; i < std::min(keys.size(), most); ++i)
    for (std::size_t j = 0; j < std::min(keys.size(), most); ++j) check(keys[i], keys[j]);
  return 0;
}
