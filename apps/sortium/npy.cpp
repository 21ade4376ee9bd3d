#include "npy.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <vector>

#include "common.hpp"
#include "files.hpp"

namespace app {

namespace {

// Of the Python dictionary that a header is: strings, True and False, tuples of numbers.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  char peek() {
    while (!text_.empty() && std::strchr(" \t\r\n", text_.front()) != nullptr) text_.remove_prefix(1);
    return text_.empty() ? '\0' : text_.front();
  }
  bool accept(char c) {
    if (peek() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool accept(std::string_view word) {
    peek();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  void expect(char c) {
    if (!accept(c)) throw Failure(exit_usage, fmt::format("its header lacks a '{}'", c));
  }
  std::string string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') throw Failure(exit_usage, "its header lacks a string");
    text_.remove_prefix(1);
    const auto end = text_.find(quote);
    if (end == std::string_view::npos) throw Failure(exit_usage, "its header has a string without an end");
    const std::string out(text_.substr(0, end));
    text_.remove_prefix(end + 1);
    return out;
  }
  std::vector<std::uint64_t> tuple() {
    std::vector<std::uint64_t> out;
    expect('(');
    while (!accept(')')) {
      peek();
      std::uint64_t number = 0;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), number);
      if (error != std::errc{}) throw Failure(exit_usage, "its header's shape is not a tuple of sizes");
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      accept('L');  // Python 2
      out.push_back(number);
      if (peek() != ')') expect(',');
    }
    return out;
  }

 private:
  std::string_view text_;
};

NpyHeader parse(std::string_view text) {
  Parser p(text);
  std::optional<std::string> descr;
  std::optional<std::vector<std::uint64_t>> shape;
  bool fortran = false;
  p.expect('{');
  while (!p.accept('}')) {
    const std::string key = p.string();
    p.expect(':');
    if (key == "descr") {
      if (p.peek() == '[') throw Failure(exit_usage, "its records have several fields; single numbers are needed");
      descr = p.string();
    } else if (key == "fortran_order") {
      if (!p.accept("True") && !p.accept("False"))
        throw Failure(exit_usage, "its header's fortran_order is neither True nor False");
      fortran = true;
    } else if (key == "shape") {
      shape = p.tuple();
    } else {
      throw Failure(exit_usage, fmt::format("its header has an unknown key '{}'", key));
    }
    if (p.peek() != '}') p.expect(',');
  }
  if (!descr || !shape || !fortran) throw Failure(exit_usage, "its header lacks one of descr, fortran_order, shape");
  if (shape->size() != 1)
    throw Failure(exit_usage, fmt::format("it has {} dimensions; one is needed", shape->size()));
  return {*descr, shape->front()};
}

NpyHeader read(Input& input) {
  unsigned char start[8];
  if (input.read(start, sizeof start) != sizeof start || std::memcmp(start, "\x93NUMPY", 6) != 0)
    throw Failure(exit_usage, "it is not an .npy file (it does not begin with \\x93NUMPY)");
  const unsigned version = start[6];
  if (version < 1 || version > 3 || start[7] != 0)
    throw Failure(exit_usage, fmt::format("it has .npy format version {}.{}; 1.0, 2.0 and 3.0 are known", version,
                                          unsigned{start[7]}));
  unsigned char length_bytes[4] = {};
  const std::size_t width = version == 1 ? 2 : 4;
  std::uint64_t length = 0;
  const bool whole = input.read(length_bytes, width) == width;
  for (std::size_t i = width; i-- > 0;) length = length << 8 | length_bytes[i];
  constexpr std::uint64_t most = 1 << 20;  // real headers have about 100 bytes
  if (length > most) throw Failure(exit_usage, fmt::format("its header claims {} bytes", length));
  std::string text(length, '\0');
  if (!whole || input.read(text.data(), length) != length)
    throw Failure(exit_usage, "it is truncated: it ends within its header");
  return parse(text);
}

}  // namespace

bool NpyHeader::swapped() const {
  constexpr char foreign = std::endian::native == std::endian::little ? '>' : '<';
  return !descr.empty() && descr.front() == foreign;
}

unsigned NpyHeader::item_bytes() const {
  if (descr.size() < 3 || std::strchr("<>=|", descr[0]) == nullptr) return 0;
  if (std::strchr("?biufcmMSUV", descr[1]) == nullptr) return 0;  // above all: not 'O', pickled objects
  unsigned bytes = 0;
  const char* const last = descr.data() + descr.size();
  const auto [end, error] = std::from_chars(descr.data() + 2, last, bytes);
  const bool whole = end == last || (*end == '[' && (descr[1] == 'm' || descr[1] == 'M'));  // "<M8[ns]"
  if (error != std::errc{} || !whole) return 0;
  return descr[1] == 'U' ? bytes * 4 : bytes;
}

NpyHeader read_npy_header(Input& input) {
  try {
    return read(input);
  } catch (const Failure& failure) {
    throw Failure(failure.code(), fmt::format("cannot read {}: {}", input.name(), failure.what()));
  }
}

std::string format_npy_header(const NpyHeader& header) {
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}", header.descr, header.count);
  // Records begin at a multiple of 64 bytes, as numpy.save has it.
  constexpr std::size_t fixed = 10, unit = 64;
  text.append((unit - (fixed + text.size() + 1) % unit) % unit, ' ');
  text += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(text.size() & 0xff);
  out += static_cast<char>(text.size() >> 8);
  return out + text;
}

}  // namespace app
