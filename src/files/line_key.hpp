// Keys of lines: where they are in a text, and words of 64 bits that have their order.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <sortium/lines.hpp>
#include <string_view>

namespace sortium::files {

[[nodiscard]] constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }
[[nodiscard]] constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Finds the key of a line.
class KeyFinder {
 public:
  explicit KeyFinder(const LineOptions& options)
      : field_(options.field), separator_(options.separator) {}

  [[nodiscard]] bool is_whole_line() const { return field_ == 0; }
  // Returns the key of a line, which has no newline. An empty one may lie at the line's end.
  [[nodiscard]] std::string_view find(std::string_view line) const {
    for (std::uint64_t i = 1; i < field_ && !line.empty(); ++i) {
      line.remove_prefix(length(line));
      if (separator_ && !line.empty()) line.remove_prefix(1);
    }
    return is_whole_line() ? line : line.substr(0, length(line));
  }
  // Returns the length of the key with which `rest`, the rest of a line, begins.
  [[nodiscard]] std::size_t length(std::string_view rest) const {
    if (is_whole_line()) return rest.size();
    if (separator_) return std::min(rest.find(*separator_), rest.size());
    const auto word = std::find_if_not(rest.begin(), rest.end(), is_blank);
    return static_cast<std::size_t>(std::find_if(word, rest.end(), is_blank) - rest.begin());
  }

 private:
  std::uint64_t field_;
  std::optional<char> separator_;
};

// A word orders keys that agree in what precedes it, from a `depth` on. If continues(word), keys
// with this word may differ behind it, from depth + step on; else they are equal.

// Keys in the order of memcmp. A depth is a number of bytes.
struct ByteKeys {
  static constexpr unsigned step = 7;
  // Bytes that must be readable behind a key.
  static constexpr unsigned readable = 8;
  // The depth from which on comparisons are faster than words.
  static constexpr std::uint64_t deep = ~std::uint64_t{0};

  // Seven bytes, zeros if there are fewer, and how many bytes there are: up to 8.
  [[nodiscard]] static std::uint64_t word(std::string_view key, std::uint64_t depth) {
    const std::uint64_t left = std::min<std::uint64_t>(key.size() - depth, step + 1);
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, key.data() + depth, sizeof bytes);
    if constexpr (std::endian::native == std::endian::little) bytes = __builtin_bswap64(bytes);
    const std::uint64_t missing = 8 * (step + 1 - std::min<std::uint64_t>(left, step));
    return (missing == 64 ? 0 : bytes >> missing << missing) | left;
  }
  [[nodiscard]] static bool continues(std::uint64_t word) { return (word & 0xff) > step; }
  [[nodiscard]] static int compare(std::string_view a, std::string_view b, std::uint64_t depth) {
    return a.substr(depth).compare(b.substr(depth));
  }
  // Returns a depth up to which two keys agree that agree up to `depth`.
  [[nodiscard]] static std::uint64_t common(std::string_view a, std::string_view b,
                                            std::uint64_t depth) {
    const std::size_t end = std::min(a.size(), b.size());
    for (; depth + sizeof(std::uint64_t) <= end; depth += sizeof(std::uint64_t))
      if (std::memcmp(a.data() + depth, b.data() + depth, sizeof(std::uint64_t)) != 0) break;
    while (depth < end && a[depth] == b[depth]) ++depth;
    return depth;
  }
};

// The number with which a key begins. Equal numbers have equal members.
struct Number {
  explicit Number(std::string_view key);

  [[nodiscard]] std::size_t digits() const { return whole.size() + fraction.size(); }

  bool negative = false;
  std::string_view whole;     // digits before the point, without leading zeros
  std::string_view fraction;  // digits behind it, without trailing zeros
};

// Keys in the order of their numbers. A depth is a number of words.
struct NumberKeys {
  static constexpr unsigned step = 1;
  static constexpr unsigned readable = 0;
  static constexpr std::uint64_t deep = 4;

  // The first word has the sign, the number of digits of the whole part, and leading digits; the
  // others have digits.
  [[nodiscard]] static std::uint64_t word(std::string_view key, std::uint64_t depth);
  [[nodiscard]] static bool continues(std::uint64_t word) { return (word & 1) == word >> 63; }
  [[nodiscard]] static int compare(std::string_view a, std::string_view b, std::uint64_t depth);
  [[nodiscard]] static std::uint64_t common(std::string_view, std::string_view,
                                            std::uint64_t depth) {
    return depth;
  }
};

// Compares lines, without their newlines, by their keys.
class LineOrder {
 public:
  explicit LineOrder(const LineOptions& options)
      : finder_(options),
        is_numeric_(options.numeric),
        is_descending_(options.order == Order::descending) {}

  // Returns less than 0 if the key of `a` comes before that of `b`, 0 if they are equal.
  [[nodiscard]] int compare(std::string_view a, std::string_view b) const {
    const int order = compare_keys(finder_.find(a), finder_.find(b));
    return is_descending_ ? -order : order;
  }
  // The same for keys, in ascending order.
  [[nodiscard]] int compare_keys(std::string_view a, std::string_view b) const {
    return is_numeric_ ? NumberKeys::compare(a, b, 0) : ByteKeys::compare(a, b, 0);
  }

 private:
  KeyFinder finder_;
  bool is_numeric_, is_descending_;
};

// Lines that all end with a newline, and the places of their keys.
class LineText {
 public:
  // Where a key lies: its position in the upper bits, its length in the lower ones. The largest
  // length stands for all that are not less. Places of later keys are larger.
  using Place = std::uint64_t;
  static constexpr unsigned length_bits = 24;
  static constexpr Place longest = (Place{1} << length_bits) - 1;
  static constexpr std::uint64_t max_bytes = std::uint64_t{1} << (64 - length_bits);

  LineText(std::string_view text, const KeyFinder& finder) : text_(text), finder_(finder) {}

  [[nodiscard]] std::string_view text() const { return text_; }
  // Returns the place of a line's key; the line is a part of text(), without its newline.
  [[nodiscard]] Place place(std::string_view line) const {
    const auto key = finder_.find(line);
    return static_cast<Place>(key.data() - text_.data()) << length_bits |
           std::min<Place>(key.size(), longest);
  }
  [[nodiscard]] const char* begin(Place place) const {
    return text_.data() + (place >> length_bits);
  }
  [[nodiscard]] std::string_view key(Place place) const {
    const char* const from = begin(place);
    const Place length = place & longest;
    if (length < longest) return {from, length};
    return {from, finder_.length({from, static_cast<std::size_t>(newline(from) - from)})};
  }
  // Returns the key's line with its newline.
  [[nodiscard]] std::string_view line(Place place) const {
    const auto found = key(place);
    const char* from = found.data();
    const char* end = from + found.size();
    if (!finder_.is_whole_line()) {
      end = newline(end);
      from = line_begin(text_, from);
    }
    return {from, static_cast<std::size_t>(end - from) + 1};
  }
  // Returns where the line begins that `at` is in or behind, if `at` follows no newline.
  [[nodiscard]] static const char* line_begin(std::string_view text, const char* at) {
    const void* const newline =
        ::memrchr(text.data(), '\n', static_cast<std::size_t>(at - text.data()));
    return newline == nullptr ? text.data() : static_cast<const char*>(newline) + 1;
  }

 private:
  [[nodiscard]] const char* newline(const char* from) const {
    const char* const end = text_.data() + text_.size();
    return static_cast<const char*>(std::memchr(from, '\n', static_cast<std::size_t>(end - from)));
  }

  std::string_view text_;
  KeyFinder finder_;
};

}  // namespace sortium::files
