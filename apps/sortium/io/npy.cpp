#include "io/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <set>
#include <vector>

#include "cli/common.hpp"
#include "io/input.hpp"
#include "io/printable.hpp"

namespace app {

namespace {

constexpr std::string_view magic{"\x93NUMPY", 6};

// Far more than can be sorted, and small enough that products of two such numbers fit in 64 bits.
constexpr std::uint64_t most_record_bytes = 1 << 20;
constexpr std::uint64_t most_header_bytes = 1 << 20;  // NumPy's own headers have about 100 bytes

void append_utf8(std::string& out, std::uint32_t code) {
  const auto add = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  const auto tail = [&](unsigned shift) { add(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xc0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    add(0xe0 | code >> 12);
    tail(6);
    tail(0);
  } else {
    add(0xf0 | code >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

// Reads a header, which is a Python dictionary of strings, True and False, and tuples of numbers.
// Every member function skips blanks first, and throws Failure if the text is not of its kind.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  // Returns the next character without taking it, or NUL at the end.
  char peek() {
    while (!text_.empty() && is_blank(text_.front())) text_.remove_prefix(1);
    return text_.empty() ? '\0' : text_.front();
  }
  bool accept(char c) {
    if (peek() != c || text_.empty()) return false;
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
    if (!accept(c)) refuse(fmt::format("its header lacks a '{}'", c));
  }
  void expect_end() {
    peek();
    if (!text_.empty())
      refuse(fmt::format("its header does not end after its dictionary but goes on with '{}'",
                         printable(text_.substr(0, 20))));
  }
  // The text that has not been read yet.
  [[nodiscard]] std::string_view rest() const { return text_; }

  // A string in single or double quotes, its escapes resolved as Python does.
  std::string string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') refuse("its header lacks a string");
    text_.remove_prefix(1);
    std::string out;
    for (;;) {
      const char c = take();
      if (c == quote) return out;
      if (c == '\\')
        escape(out);
      else
        out += c;
    }
  }

  // A tuple of numbers, such as "(3, 4)".
  std::vector<std::uint64_t> tuple() {
    std::vector<std::uint64_t> out;
    expect('(');
    while (!accept(')')) {
      peek();
      std::uint64_t number = 0;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), number);
      if (error != std::errc{}) refuse("its header's shape is not a tuple of sizes");
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      accept('L');  // Python 2 wrote an L behind long integers
      out.push_back(number);
      if (peek() != ')') expect(',');
    }
    return out;
  }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

  // Reads the next character of a string. Python allows no line end within one.
  char take() {
    if (text_.empty() || text_.front() == '\n' || text_.front() == '\r' || text_.front() == '\0')
      refuse("its header has a string without an end");
    const char c = text_.front();
    text_.remove_prefix(1);
    return c;
  }

  // Appends the character that an escape sequence stands for. The backslash has been read.
  void escape(std::string& out) {
    const char c = take();
    switch (c) {
      case '\\':
      case '\'':
      case '"':
        out += c;
        return;
      case 'n':
        out += '\n';
        return;
      case 'r':
        out += '\r';
        return;
      case 't':
        out += '\t';
        return;
      case 'x':
        return append_utf8(out, code(2));
      case 'u':
        return append_utf8(out, code(4));
      case 'U':
        return append_utf8(out, code(8));
      default:  // NumPy writes headers with repr(), which makes no others
        refuse(fmt::format("its header has the unknown escape '\\{}'", printable({&c, 1})));
    }
  }

  // Reads the character's code from this many hexadecimal digits.
  std::uint32_t code(std::size_t digits) {
    std::string text;
    for (std::size_t i = 0; i < digits; ++i) text += take();
    std::uint32_t out = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + digits, out, 16);
    const bool is_surrogate = out >= 0xd800 && out < 0xe000;
    if (error != std::errc{} || end != text.data() + digits || out > 0x10ffff || is_surrogate)
      refuse(fmt::format("its header has the escape '{}', which stands for no character",
                         printable(text)));
    return out;
  }

  std::string_view text_;
};

// Returns the bytes of one number or string of type `descr`, at most most_record_bytes + 1. Returns
// 0 if `descr` is not a type of a fixed size.
unsigned bytes_of(const std::string& descr) {
  if (descr.size() < 3 || std::strchr("<>=|", descr[0]) == nullptr) return 0;
  const char kind = descr[1];
  if (std::strchr("?biufcmMSUV", kind) == nullptr) return 0;  // above all 'O': pickled objects
  std::uint64_t bytes = 0;
  const char* const last = descr.data() + descr.size();
  const auto [end, error] = std::from_chars(descr.data() + 2, last, bytes);
  if (error == std::errc::invalid_argument) return 0;
  constexpr std::uint64_t too_many = most_record_bytes + 1;
  if (error != std::errc{} || bytes > most_record_bytes) bytes = too_many;
  // Dates and spans of time have a unit: "<M8[ns]", "<m8[25us]".
  const std::string_view unit(end, static_cast<std::size_t>(last - end));
  const bool has_unit = (kind == 'm' || kind == 'M') && unit.size() > 2 && unit.front() == '[' &&
                        unit.back() == ']' &&
                        std::ranges::all_of(unit.substr(1, unit.size() - 2), [](char c) {
                          return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                                 (c >= 'A' && c <= 'Z') || c == '/';
                        });
  if (!unit.empty() && !has_unit) return 0;
  constexpr unsigned bytes_of_character = 4;  // NumPy keeps texts as UCS-4
  if (kind == 'U') bytes *= bytes_of_character;
  return static_cast<unsigned>(std::min(bytes, too_many));
}

[[noreturn]] void refuse_large_records() {
  refuse(fmt::format("its records have more than {} bytes", most_record_bytes));
}

// Returns `bytes` times every size of `shape`. Throws Failure if the product exceeds the bytes that
// a record may have.
std::uint64_t array_bytes(std::uint64_t bytes, const std::vector<std::uint64_t>& shape) {
  for (const auto size : shape) {
    if (size > most_record_bytes) refuse_large_records();
    bytes *= size;
    if (bytes > most_record_bytes) refuse_large_records();
  }
  return bytes;
}

// One field: "('x', '<f4')", "('y', '>i8', (3,))" or "(('its title', 'name'), 'S10')". `names` has
// the names and titles of the fields before.
NpyField parse_field(Parser& p, std::set<std::string>& names) {
  const auto name = [&] {
    std::string out = p.string();
    if (!out.empty() && !names.insert(out).second)
      refuse(fmt::format("two of its fields are called '{}'", printable(out)));
    return out;
  };
  NpyField field;
  p.expect('(');
  if (p.accept('(')) {
    (void)name();  // the title
    p.expect(',');
    field.name = name();
    p.expect(')');
  } else {
    field.name = name();
  }
  p.expect(',');
  if (p.peek() == '[')
    refuse(fmt::format("its field '{}' has fields of its own; only plain ones can be read",
                       printable(field.name)));
  field.descr = p.string();
  std::uint64_t bytes = bytes_of(field.descr);
  if (bytes == 0 && field.descr != "|S0" && field.descr != "|V0")
    refuse(fmt::format("its field '{}' is '{}', which is not a type of a fixed size",
                       printable(field.name), printable(field.descr)));
  if (p.accept(',') && p.peek() == '(') {
    bytes = array_bytes(bytes, p.tuple());
    field.is_array = true;
    p.accept(',');
  }
  p.expect(')');
  field.bytes = static_cast<unsigned>(bytes);
  return field;
}

std::vector<NpyField> parse_fields(Parser& p) {
  std::vector<NpyField> fields;
  std::set<std::string> names;
  std::uint64_t end = 0;
  p.expect('[');
  while (!p.accept(']')) {
    NpyField field = parse_field(p, names);
    field.offset = end;
    end += field.bytes;
    if (end > most_record_bytes) refuse_large_records();
    fields.push_back(std::move(field));
    if (p.peek() != ']') p.expect(',');
  }
  if (end == 0) refuse("its records have no fields");
  return fields;
}

NpyHeader parse(std::string_view text) {
  Parser p(text);
  NpyHeader header;
  std::vector<std::uint64_t> shape;
  std::set<std::string> keys;
  p.expect('{');
  while (!p.accept('}')) {
    const std::string key = p.string();
    if (!keys.insert(key).second) refuse(fmt::format("its header has '{}' twice", printable(key)));
    p.expect(':');
    if (key == "descr" && p.peek() == '[') {
      const std::string_view from = p.rest();
      header.fields = parse_fields(p);
      header.descr = std::string(from.substr(0, from.size() - p.rest().size()));
    } else if (key == "descr") {
      header.descr = p.string();
    } else if (key == "fortran_order") {  // of one dimension, both orders are the same
      if (!p.accept("True") && !p.accept("False"))
        refuse("its header's fortran_order is neither True nor False");
    } else if (key == "shape") {
      shape = p.tuple();
    } else {
      refuse(fmt::format("its header has an unknown key '{}'", printable(key)));
    }
    if (p.peek() != '}') p.expect(',');
  }
  p.expect_end();
  for (const char* key : {"descr", "fortran_order", "shape"})
    if (!keys.contains(key)) refuse(fmt::format("its header lacks '{}'", key));
  if (shape.size() != 1) refuse(fmt::format("it has {} dimensions; one is needed", shape.size()));
  header.count = shape.front();
  return header;
}

std::string utf8_of_latin1(std::string_view text) {
  std::string out;
  for (const char c : text) append_utf8(out, static_cast<unsigned char>(c));
  return out;
}

NpyHeader read(Input& input) {
  char start[npy_magic_bytes];
  const std::uint64_t have = input.read(start, sizeof start);
  if (!std::string_view(start, have).starts_with(magic) || have < sizeof start)
    refuse("it is not an .npy file (it does not begin with \\x93NUMPY)");
  const unsigned version = static_cast<unsigned char>(start[6]),
                 minor = static_cast<unsigned char>(start[7]);
  if (!is_npy_magic({start, sizeof start}))
    refuse(fmt::format("it has .npy format version {}.{}; 1.0, 2.0 and 3.0 are known", version,
                       minor));
  unsigned char length_bytes[4] = {};
  const std::size_t width = version == 1 ? 2 : 4;
  const bool whole = input.read(length_bytes, width) == width;
  std::uint64_t length = 0;
  for (std::size_t i = width; i-- > 0;) length = length << 8 | length_bytes[i];
  if (length > most_header_bytes)
    refuse(fmt::format("its header claims {} bytes; up to {} are read", length, most_header_bytes));
  std::string text(length, '\0');
  if (!whole || input.read(text.data(), length) != length)
    refuse("it is truncated: it ends within its header");
  // Versions 1 and 2 are in Latin-1, version 3 is in UTF-8.
  if (version < 3) return parse(utf8_of_latin1(text));
  if (!is_utf8(text)) refuse("its header is not in UTF-8, as format version 3 has it");
  return parse(text);
}

}  // namespace

bool is_npy_magic(std::string_view start) {
  return start.size() >= npy_magic_bytes && start.starts_with(magic) && start[6] >= 1 &&
         start[6] <= 3 && start[7] == 0;
}

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
  // The oldest version that can represent it: version 2 for long headers, version 3 for non-ASCII
  // names.
  const bool ascii =
      std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
  constexpr std::size_t unit = 64, most_of_first = 0xffff - unit;
  const int version = !ascii ? 3 : text.size() > most_of_first ? 2 : 1;
  const std::size_t width = version == 1 ? 2 : 4;
  const std::size_t fixed = npy_magic_bytes + width;
  text.append((unit - (fixed + text.size() + 1) % unit) % unit, ' ');
  text += '\n';
  std::string out(magic);
  out += static_cast<char>(version);
  out += '\0';
  for (std::size_t i = 0; i < width; ++i) out += static_cast<char>(text.size() >> 8 * i & 0xff);
  return out + text;
}

}  // namespace app
