#include "io/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <vector>

#include "cli/common.hpp"
#include "io/files.hpp"

namespace app {

namespace {

constexpr std::uint64_t most_record =
    1 << 20;  // bytes: far more than can be sorted, and their sums cannot overflow

// Of the Python dictionary that a header is: strings, True and False, tuples of numbers.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  char peek() {
    while (!text_.empty() && std::strchr(" \t\r\n", text_.front()) != nullptr)
      text_.remove_prefix(1);
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
    if (end == std::string_view::npos)
      throw Failure(exit_usage, "its header has a string without an end");
    const std::string out(text_.substr(0, end));
    text_.remove_prefix(end + 1);
    return out;
  }
  [[nodiscard]] std::string_view rest() const { return text_; }
  std::vector<std::uint64_t> tuple() {
    std::vector<std::uint64_t> out;
    expect('(');
    while (!accept(')')) {
      peek();
      std::uint64_t number = 0;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), number);
      if (error != std::errc{})
        throw Failure(exit_usage, "its header's shape is not a tuple of sizes");
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

unsigned bytes_of(const std::string& descr);

// "[('x', '<f4'), ('y', '>i8', (3,)), (('its title', 'name'), 'S10')]"
std::vector<NpyField> parse_fields(Parser& p) {
  std::vector<NpyField> fields;
  std::uint64_t end = 0;
  p.expect('[');
  while (!p.accept(']')) {
    NpyField field;
    field.offset = end;
    p.expect('(');
    const bool titled = p.accept('(');
    if (titled) {
      p.string();
      p.expect(',');
    }
    field.name = p.string();
    if (titled) p.expect(')');
    p.expect(',');
    if (p.peek() == '[')
      throw Failure(exit_usage,
                    fmt::format("its field '{}' has fields of its own; only plain ones can be read",
                                field.name));
    field.descr = p.string();
    std::uint64_t bytes = bytes_of(field.descr);
    if (bytes == 0 && field.descr != "|S0" && field.descr != "|V0")
      throw Failure(exit_usage,
                    fmt::format("its field '{}' is '{}', which is no type of a fixed size",
                                field.name, field.descr));
    if (p.accept(',') && p.peek() == '(') {
      for (const auto n : p.tuple()) bytes = n > most_record ? n : bytes * n;
      field.is_array = true;
      p.accept(',');
    }
    p.expect(')');
    if (p.peek() != ']') p.expect(',');
    end += bytes;
    if (bytes > most_record || end > most_record)
      throw Failure(exit_usage, fmt::format("its records have more than {} bytes", most_record));
    field.bytes = static_cast<unsigned>(bytes);
    fields.push_back(std::move(field));
  }
  if (end == 0) throw Failure(exit_usage, "its records have no fields");
  return fields;
}

NpyHeader parse(std::string_view text) {
  Parser p(text);
  std::optional<std::string> descr;
  std::vector<NpyField> fields;
  std::optional<std::vector<std::uint64_t>> shape;
  bool fortran = false;
  p.expect('{');
  while (!p.accept('}')) {
    const std::string key = p.string();
    p.expect(':');
    if (key == "descr") {
      if (p.peek() == '[') {
        const std::string_view from = p.rest();
        fields = parse_fields(p);
        descr = std::string(from.substr(0, from.size() - p.rest().size()));
      } else {
        descr = p.string();
      }
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
  if (!descr || !shape || !fortran)
    throw Failure(exit_usage, "its header lacks one of descr, fortran_order, shape");
  if (shape->size() != 1)
    throw Failure(exit_usage, fmt::format("it has {} dimensions; one is needed", shape->size()));
  return {*descr, shape->front(), std::move(fields)};
}

// Header versions 1 and 2 are in Latin-1.
std::string utf8_of_latin1(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x80)
      out += c;
    else
      (out += static_cast<char>(0xc0 | code >> 6)) += static_cast<char>(0x80 | (code & 0x3f));
  }
  return out;
}

NpyHeader read(Input& input) {
  unsigned char start[8];
  if (input.read(start, sizeof start) != sizeof start || std::memcmp(start, "\x93NUMPY", 6) != 0)
    throw Failure(exit_usage, "it is not an .npy file (it does not begin with \\x93NUMPY)");
  const unsigned version = start[6];
  if (version < 1 || version > 3 || start[7] != 0)
    throw Failure(exit_usage,
                  fmt::format("it has .npy format version {}.{}; 1.0, 2.0 and 3.0 are known",
                              version, unsigned{start[7]}));
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
  return parse(version < 3 ? utf8_of_latin1(text) : text);
}

unsigned bytes_of(const std::string& descr) {
  if (descr.size() < 3 || std::strchr("<>=|", descr[0]) == nullptr) return 0;
  if (std::strchr("?biufcmMSUV", descr[1]) == nullptr)
    return 0;  // above all: not 'O', pickled objects
  unsigned bytes = 0;
  const char* const last = descr.data() + descr.size();
  const auto [end, error] = std::from_chars(descr.data() + 2, last, bytes);
  const bool whole =
      end == last || (*end == '[' && (descr[1] == 'm' || descr[1] == 'M'));  // "<M8[ns]"
  if (error != std::errc{} || !whole) return 0;
  return descr[1] == 'U' ? bytes * 4 : bytes;
}

}  // namespace

bool NpyHeader::swapped() const { return !descr.empty() && descr.front() == foreign_order; }

unsigned NpyHeader::item_bytes() const {
  return fields.empty() ? bytes_of(descr)
                        : static_cast<unsigned>(fields.back().offset + fields.back().bytes);
}

NpyHeader read_npy_header(Input& input) {
  try {
    return read(input);
  } catch (const Failure& failure) {
    throw Failure(failure.code(), fmt::format("cannot read {}: {}", input.name(), failure.what()));
  }
}

std::string format_npy_header(const NpyHeader& header) {
  const char* const quote = header.descr.starts_with('[') ? "" : "'";
  std::string text =
      fmt::format("{{'descr': {0}{1}{0}, 'fortran_order': False, 'shape': ({2},), }}", quote,
                  header.descr, header.count);
  // The oldest version that can say it: long headers need the second, names in other letters the
  // third.
  const bool ascii =
      std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
  constexpr std::size_t unit = 64, most_of_first = 0xffff - unit;
  const int version = !ascii                        ? 3
                      : text.size() > most_of_first ? 2
                                                    : 1,
            width = version == 1 ? 2 : 4;
  // Records begin at a multiple of 64 bytes, as numpy.save has it.
  const std::size_t fixed = 8 + static_cast<std::size_t>(width);
  text.append((unit - (fixed + text.size() + 1) % unit) % unit, ' ');
  text += '\n';
  std::string out = "\x93NUMPY";
  out += static_cast<char>(version);
  out += '\0';
  for (int i = 0; i < width; ++i) out += static_cast<char>(text.size() >> 8 * i & 0xff);
  return out + text;
}

}  // namespace app
