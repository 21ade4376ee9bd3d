#include "io/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cfenv>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "io/printable.hpp"
#include "protocol/narrow.hpp"

namespace app {

using sortium::KeyType;

namespace {

// Calls `f` with a zero of the C++ type that corresponds to `type`.
template <class F>
decltype(auto) with_type(KeyType type, F&& f) {
  switch (type) {
    case KeyType::u32:
      return f(std::uint32_t{});
    case KeyType::i32:
      return f(std::int32_t{});
    case KeyType::f32:
      return f(float{});
    case KeyType::u64:
      return f(std::uint64_t{});
    case KeyType::i64:
      return f(std::int64_t{});
    case KeyType::u8:
      return f(std::uint8_t{});
    case KeyType::i8:
      return f(std::int8_t{});
    case KeyType::u16:
      return f(std::uint16_t{});
    case KeyType::i16:
      return f(std::int16_t{});
    case KeyType::f16:
      return f(sortium::f16{});
    case KeyType::bf16:
      return f(sortium::bf16{});
    case KeyType::f64:
      break;
  }
  return f(double{});
}

template <class T>
constexpr bool is_narrow_float =
    std::is_same_v<T, sortium::f16> || std::is_same_v<T, sortium::bf16>;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view trim(std::string_view line) {
  while (!line.empty() && is_space(line.front())) line.remove_prefix(1);
  while (!line.empty() && is_space(line.back())) line.remove_suffix(1);
  return line;
}

// Returns `text`, cut to a length that suits a message.
std::string excerpt(std::string_view text) {
  constexpr std::size_t most = 40;
  if (text.size() <= most) return printable(text);
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // UTF-8
  return printable(text.substr(0, end)) + "…";
}

[[noreturn]] void refuse(std::uint64_t line, std::string_view text, const std::string& why) {
  throw Failure(exit_usage, fmt::format("line {}: '{}' {}", line, excerpt(text), why));
}

// Returns the number that strtod() reads, rounded to odd: towards zero, with the last bit set if
// anything was lost. Rounding the result once more, to fewer bits, is then the same as rounding the
// text once (Boldo, Melquiond: Emulation of FMA and correctly rounded sums, 2008).
double rounded_to_odd(const std::string& digits) {
  const int mode = std::fegetround();
  std::fesetround(FE_TOWARDZERO);
  std::feclearexcept(FE_INEXACT);
  const double number = std::strtod(digits.c_str(), nullptr);
  const bool lost = std::fetestexcept(FE_INEXACT) != 0;
  std::fesetround(mode);
  return lost ? std::bit_cast<double>(std::bit_cast<std::uint64_t>(number) | 1) : number;
}

template <class T>
[[noreturn]] void refuse_range(std::uint64_t line, std::string_view text, KeyType type, T lowest,
                               T largest) {
  refuse(
      line, text,
      fmt::format("is out of range for {} ({} to {})", sortium::info(type).name, lowest, largest));
}

// Returns the number as a narrow float. `number` is the result of from_chars() if `fits`.
template <class T>
T narrow_number(std::string_view digits, double number, bool fits, std::uint64_t line,
                std::string_view text, KeyType type) {
  const bool special = fits && !std::isfinite(number);  // NaN and infinity, spelled out
  const T out{to_narrow(special ? number : rounded_to_odd(std::string(digits)), type)};
  const auto infinity = static_cast<std::uint16_t>(sortium::info(type).infinity);
  if ((out.bits & 0x7fff) == infinity && !special) {
    const double largest = from_narrow(infinity - 1, type);
    refuse_range(line, text, type, -largest, largest);
  }
  return out;
}

template <class T>
T parse_number(std::string_view text, std::uint64_t line, KeyType type) {
  const std::string_view digits =
      text.starts_with('+') && !text.starts_with("+-") ? text.substr(1) : text;
  std::conditional_t<is_narrow_float<T>, double, T> number{};
  const char* const last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, number);
  if (error == std::errc::invalid_argument || end != last)
    refuse(line, text, fmt::format("is not a number of type {}", sortium::info(type).name));
  const bool fits = error == std::errc{};
  if constexpr (is_narrow_float<T>) {
    return narrow_number<T>(digits, number, fits, line, text, type);
  } else {
    if (fits) return number;
    if constexpr (std::is_floating_point_v<T>) {
      // A number that is too small is rounded; one that is too large is an error, not infinity.
      const std::string copy(digits);
      number = sizeof(T) == 4 ? static_cast<T>(std::strtof(copy.c_str(), nullptr))
                              : static_cast<T>(std::strtod(copy.c_str(), nullptr));
      if (!std::isinf(number)) return number;
    }
    refuse_range(line, text, type, std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max());
  }
}

// Writes the fewest digits that read back to the same bits, in the format that to_chars() uses for
// a double with these digits. Returns their end.
template <class T>
char* print_narrow(char* first, char* last, T number, KeyType type) {
  const double exact = from_narrow(number.bits, type);
  if (!std::isfinite(exact)) return std::to_chars(first, last, exact).ptr;
  constexpr int most = 5;  // digits that distinguish all significands of 11 bits
  double read = 0;
  for (int digits = 1; digits <= most; ++digits) {
    const char* const end =
        std::to_chars(first, last, exact, std::chars_format::scientific, digits - 1).ptr;
    std::from_chars(first, end, read);
    if (to_narrow(read, type) == number.bits) break;
  }
  return std::to_chars(first, last, read).ptr;
}

}  // namespace

Bytes parse_text(std::string_view text, KeyType type, Progress& progress,
                 std::uint64_t lines_before) {
  const auto lines = static_cast<std::uint64_t>(std::ranges::count(text, '\n')) + 1;
  return with_type(type, [&](auto zero) {
    using T = decltype(zero);
    Bytes out(lines * sizeof(T));
    std::uint64_t count = 0;
    const char* const begin = text.data();
    const char* const end = begin + text.size();
    const char* reported = begin;
    for (const char* p = begin; p < end;) {
      const auto* newline =
          static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p)));
      const char* const stop = newline == nullptr ? end : newline;
      const std::string_view line = trim({p, static_cast<std::size_t>(stop - p)});
      p = newline == nullptr ? end : newline + 1;
      if (line.empty()) {
        // Empty lines at the end are common; elsewhere an empty line may be a missing record.
        const bool more = std::any_of(p, end, [](char c) { return c != '\n' && !is_space(c); });
        if (more)
          refuse(
              lines_before + count + 1, line,
              fmt::format("is empty; one number of type {} is needed", sortium::info(type).name));
        break;
      }
      const T number = parse_number<T>(line, lines_before + count + 1, type);
      std::memcpy(out.data() + count * sizeof(T), &number, sizeof(T));
      if (++count % (1 << 16) == 0) {
        progress.advance(static_cast<std::uint64_t>(p - reported));
        reported = p;
      }
    }
    out.shrink(count * sizeof(T));
    return out;
  });
}

void format_text(std::string& out, const void* keys, std::uint64_t count, KeyType type) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    char line[64];
    for (std::uint64_t i = 0; i < count; ++i) {
      T number;
      std::memcpy(&number, static_cast<const char*>(keys) + i * sizeof(T), sizeof(T));
      char* end = nullptr;
      if constexpr (is_narrow_float<T>)
        end = print_narrow(line, line + sizeof line - 1, number, type);
      else
        end = std::to_chars(line, line + sizeof line - 1, number).ptr;
      *end = '\n';
      out.append(line, static_cast<std::size_t>(end - line) + 1);
    }
  });
}

std::string format_key(std::uint64_t bits, KeyType type) {
  const auto& t = sortium::info(type);
  std::string out;
  with_word(t.bytes, [&](auto word) {
    word = static_cast<decltype(word)>(bits);
    format_text(out, &word, 1, type);
  });
  out.pop_back();
  if (out.ends_with("nan")) out += fmt::format(" (0x{:0{}x})", bits, t.bytes * 2);
  return out;
}

}  // namespace app
