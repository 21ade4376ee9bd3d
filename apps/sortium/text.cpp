#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace app {

using sortium::KeyType;

namespace {

// Calls `f` with a number of the C++ type that `type` stands for.
template <class F>
decltype(auto) with_type(KeyType type, F&& f) {
  switch (type) {
    case KeyType::u32: return f(std::uint32_t{});
    case KeyType::i32: return f(std::int32_t{});
    case KeyType::f32: return f(float{});
    case KeyType::u64: return f(std::uint64_t{});
    case KeyType::i64: return f(std::int64_t{});
    case KeyType::f64: break;
  }
  return f(double{});
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view trim(std::string_view line) {
  while (!line.empty() && is_space(line.front())) line.remove_prefix(1);
  while (!line.empty() && is_space(line.back())) line.remove_suffix(1);
  return line;
}

[[noreturn]] void refuse(std::uint64_t line, std::string_view text, const std::string& why) {
  constexpr std::size_t most = 40;
  throw Failure(exit_usage, fmt::format("line {}: '{}{}' {}", line, text.substr(0, most),
                                        text.size() > most ? "…" : "", why));
}

template <class T>
T parse_number(std::string_view text, std::uint64_t line, KeyType type) {
  const std::string_view digits = text.starts_with('+') && !text.starts_with("+-") ? text.substr(1) : text;
  T number{};
  const char* const last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, number);
  const std::string_view name = sortium::info(type).name;
  if (error == std::errc::invalid_argument || end != last) refuse(line, text, fmt::format("is not a number of type {}", name));
  if (error == std::errc::result_out_of_range) {
    if constexpr (std::is_floating_point_v<T>) {
      // Too small is no error, it is rounded like any other number; too large would become infinity unasked.
      const std::string copy(digits);
      number = sizeof(T) == 4 ? static_cast<T>(std::strtof(copy.c_str(), nullptr))
                              : static_cast<T>(std::strtod(copy.c_str(), nullptr));
      if (!std::isinf(number)) return number;
    }
    refuse(line, text, fmt::format("is out of range for {} ({} to {})", name, std::numeric_limits<T>::lowest(),
                                   std::numeric_limits<T>::max()));
  }
  return number;
}

}  // namespace

Bytes parse_text(std::string_view text, KeyType type, Progress& progress) {
  const auto lines = static_cast<std::uint64_t>(std::ranges::count(text, '\n')) + 1;
  return with_type(type, [&](auto zero) {
    using T = decltype(zero);
    Bytes out(lines * sizeof(T));
    std::uint64_t count = 0;
    const char* const begin = text.data();
    const char* const end = begin + text.size();
    const char* reported = begin;
    for (const char* p = begin; p < end;) {
      const auto* newline = static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p)));
      const char* const stop = newline == nullptr ? end : newline;
      const std::string_view line = trim({p, static_cast<std::size_t>(stop - p)});
      p = newline == nullptr ? end : newline + 1;
      if (line.empty()) {
        // Empty lines at the end are common; one elsewhere may be a record that is missing.
        const bool more = std::any_of(p, end, [](char c) { return c != '\n' && !is_space(c); });
        if (more) refuse(count + 1, line, fmt::format("is empty; one number of type {} is needed", sortium::info(type).name));
        break;
      }
      const T number = parse_number<T>(line, count + 1, type);
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
      char* const end = std::to_chars(line, line + sizeof line - 1, number).ptr;
      *end = '\n';
      out.append(line, static_cast<std::size_t>(end - line) + 1);
    }
  });
}

std::string format_key(std::uint64_t bits, KeyType type) {
  const auto& t = sortium::info(type);
  const auto low = static_cast<std::uint32_t>(bits);
  std::string out;
  format_text(out, t.bytes == 4 ? static_cast<const void*>(&low) : &bits, 1, type);
  out.pop_back();
  if (out.ends_with("nan")) out += fmt::format(" (0x{:0{}x})", bits, t.bytes * 2);
  return out;
}

}  // namespace app
