#include "io/key_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "../../../src/files/block_io.hpp"
#include "io/printable.hpp"
#include "io/text.hpp"

namespace app {

using sortium::Field;
using sortium::FieldType;
using sortium::KeyType;

namespace {

constexpr unsigned most_string = 32;  // bytes of a string that is a field of a key
constexpr const char* field_options =
    "asc, desc, nan-last, nan-first, nan-bits, zeros-tied, zeros-distinct";

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> out(1);
  for (const char c : text)
    if (c == separator)
      out.emplace_back();
    else
      out.back() += c;
  return out;
}

std::optional<unsigned> number_of(std::string_view text) {
  unsigned out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return out;
}

// Applies one of the words that follow a field's name. Returns false if there is no such word.
bool set_option(Field& f, const std::string& word) {
  using enum sortium::NanOrder;
  using enum sortium::ZeroOrder;
  if (word == "asc")
    f.order = sortium::Order::ascending;
  else if (word == "desc")
    f.order = sortium::Order::descending;
  else if (word == "nan-last")
    f.nan = last;
  else if (word == "nan-first")
    f.nan = first;
  else if (word == "nan-bits")
    f.nan = bits;
  else if (word == "zeros-tied")
    f.zeros = tied;
  else if (word == "zeros-distinct")
    f.zeros = distinct;
  else
    return false;
  return true;
}

bool is_float(const FieldType& type) {
  return type.kind() == FieldType::Kind::number && sortium::info(type.key()).is_float;
}

// Applies the options of a field: `words` are its name and, from the second on, its options.
void set_options(KeyField& f, const std::string& option, const std::vector<std::string>& words) {
  const std::string name = printable(f.name);
  std::vector<std::string> groups;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (!set_option(f.field, words[i]))
      throw Failure(exit_usage, fmt::format("{}: '{}' of field {} is not one of {}", option,
                                            printable(words[i]), name, field_options));
    const auto group = words[i].starts_with("nan")     ? "nan"
                       : words[i].starts_with("zeros") ? "zeros"
                                                       : "order";
    if (group != std::string_view("order") && !is_float(f.field.type))
      throw Failure(exit_usage, fmt::format("{}: '{}' of field {}, which is not a float but {}",
                                            option, words[i], name, f.field.type.name()));
    if (std::ranges::find(groups, group) != groups.end())
      throw Failure(exit_usage,
                    fmt::format("{}: '{}' of field {} repeats or contradicts an option before it",
                                option, words[i], name));
    groups.emplace_back(group);
  }
}

// Refuses fields that share bytes: certainly a mistake.
void check_overlaps(const std::vector<KeyField>& key, const std::string& option) {
  for (auto b = key.begin(); b != key.end(); ++b)
    for (auto a = key.begin(); a != b; ++a) {
      const auto end = [](const auto& f) { return f->field.offset + f->field.type.size(); };
      if (a->name == b->name)
        throw Failure(exit_usage,
                      fmt::format("{}: field {} is there twice", option, printable(a->name)));
      if (a->field.offset < end(b) && b->field.offset < end(a))
        throw Failure(exit_usage, fmt::format("{}: the fields {} and {} overlap", option,
                                              printable(a->name), printable(b->name)));
    }
}

// Returns the field's type; nothing if a key cannot have it.
std::optional<FieldType> type_of(const NpyField& field) {
  const std::string& d = field.descr;
  if (field.is_array || d.size() < 3) return std::nullopt;
  if (d[1] == 'S' && field.bytes >= 1 && field.bytes <= most_string)
    return FieldType::bytes(field.bytes);
  if (d.substr(1) == "b1") return KeyType::u8;
  for (const auto type : sortium::all_key_types) {
    const auto& t = sortium::info(type);
    if (type != KeyType::bf16 && d.substr(1) == fmt::format("{}{}",
                                                            t.is_float    ? 'f'
                                                            : t.is_signed ? 'i'
                                                                          : 'u',
                                                            t.bytes))
      return type;
  }
  return std::nullopt;
}

// Sets the type and the offset of a field from its name: "f32@12", "bytes[0:10]".
void set_place(KeyField& f, const std::string& option) {
  const auto refuse = [&] {
    throw Failure(
        exit_usage,
        fmt::format(
            "{}: '{}' is not a field; write bytes[0:10] for a string of the bytes 0 to 9, or "
            "f32@12 for a number at byte 12, of type {}, u128 or i128",
            option, printable(f.name), key_type_names()));
  };
  if (f.name.starts_with("bytes[") && f.name.ends_with(']')) {
    const auto ends = split(f.name.substr(6, f.name.size() - 7), ':');
    const auto begin = number_of(ends[0]),
               end = ends.size() == 2 ? number_of(ends[1]) : std::nullopt;
    if (!begin || !end) refuse();
    if (*begin >= *end)
      throw Failure(exit_usage,
                    fmt::format("{}: '{}' is empty; it must end after it begins", option, f.name));
    if (*end - *begin > most_string)
      throw Failure(
          exit_usage,
          fmt::format(
              "{}: '{}' has {} bytes; a string may have up to {} (several fields one after the "
              "other make a longer one)",
              option, f.name, *end - *begin, most_string));
    f.field.offset = *begin;
    f.field.type = FieldType::bytes(*end - *begin);
    return;
  }
  const auto at = f.name.find('@');
  const auto offset =
      at == std::string::npos ? std::nullopt : number_of(std::string_view(f.name).substr(at + 1));
  if (!offset) refuse();
  f.field.offset = *offset;
  const std::string type = f.name.substr(0, at);
  if (type == "u128")
    f.field.type = FieldType::u128();
  else if (type == "i128")
    f.field.type = FieldType::i128();
  else if (const auto known = std::ranges::find(sortium::all_key_types, type,
                                                [](auto t) { return sortium::info(t).name; });
           known != sortium::all_key_types.end())
    f.field.type = *known;
  else
    refuse();
}

}  // namespace

std::vector<KeyField> parse_by(const std::string& text, const std::vector<NpyField>& fields) {
  const std::string option = "--by " + printable(text);
  std::string names;
  for (const auto& f : fields)
    if (!f.name.empty())
      names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", printable(f.name),
                           printable(f.descr));
  std::vector<KeyField> key;
  for (const auto& item : split(text, ',')) {
    const auto words = split(item, ':');
    const auto known = std::ranges::find(fields, words[0], &NpyField::name);
    if (words[0].empty() || known == fields.end())
      throw Failure(exit_usage, fmt::format("{}: there is no field '{}'; there are {}", option,
                                            printable(words[0]), names));
    const auto type = type_of(*known);
    if (!type)
      throw Failure(
          exit_usage,
          fmt::format(
              "{}: field {} is '{}'{}, which a key cannot have; integers of 1 to 8 bytes, floats "
              "of 2 to 8, and strings S1 to S{} can",
              option, printable(known->name), printable(known->descr),
              known->is_array ? ", several of them" : "", most_string));
    KeyField f{known->name,
               {0, known->offset, *type},
               known->descr.front() == foreign_order && type->size() > 1 &&
                   type->kind() == FieldType::Kind::number};
    set_options(f, option, words);
    key.push_back(std::move(f));
  }
  check_overlaps(key, option);
  return key;
}

std::vector<KeyField> parse_key(const std::string& text, unsigned record_bytes) {
  const std::string option = "--key " + printable(text);
  std::vector<KeyField> key;
  // Options follow the first ':' after "bytes[0:10]", not the one within it.
  for (const auto& item : split(text, ',')) {
    const auto bracket = item.find(']');
    const auto colon = item.find(':', bracket == std::string::npos ? 0 : bracket);
    KeyField f;
    f.name = item.substr(0, colon);
    set_place(f, option);
    if (f.field.offset + f.field.type.size() > record_bytes)
      throw Failure(
          exit_usage,
          fmt::format("{}: '{}' goes to byte {}, past the record's {} bytes (--record)", option,
                      f.name, f.field.offset + f.field.type.size(), record_bytes));
    set_options(f, option, split(item.substr(std::min(item.size(), colon)), ':'));
    key.push_back(std::move(f));
  }
  check_overlaps(key, option);
  return key;
}

void swap_fields(const std::vector<KeyField>& key, std::byte* records, unsigned record_bytes,
                 std::uint64_t count) {
  if (std::none_of(key.begin(), key.end(), [](const KeyField& f) { return f.swapped; })) return;
  using sortium::files::block_bytes;
  sortium::files::for_blocks(
      sortium::all_cores(), count * record_bytes, block_bytes / record_bytes * record_bytes,
      [&](std::uint64_t begin, std::uint64_t end) {
        for (std::byte* record = records + begin; record != records + end; record += record_bytes)
          for (const auto& f : key)
            if (f.swapped)
              std::reverse(record + f.field.offset, record + f.field.offset + f.field.type.size());
      });
}

std::vector<Field> fields_of(const std::vector<KeyField>& key) {
  std::vector<Field> out;
  for (const auto& f : key) out.push_back(f.field);
  return out;
}

std::string describe(const std::vector<KeyField>& key, const std::byte* record) {
  std::string out;
  for (const auto& f : key) {
    const std::byte* const at = record + f.field.offset;
    const unsigned size = f.field.type.size();
    out += fmt::format("{}{} ", out.empty() ? "" : ", ", printable(f.name));
    if (f.field.type.kind() == FieldType::Kind::number) {
      with_word(size, [&](auto word) {
        std::memcpy(&word, at, sizeof word);
        out += format_key(word, f.field.type.key());
      });
    } else if (f.field.type.kind() == FieldType::Kind::bytes) {
      out += '\'';
      for (unsigned i = 0; i < size; ++i) {
        const auto c = static_cast<unsigned char>(at[i]);
        if (c >= ' ' && c <= '~')
          out += static_cast<char>(c);
        else if (c != 0 || std::any_of(at + i, at + size, [](auto b) { return b != std::byte{}; }))
          out += fmt::format("\\x{:02x}", c);
      }
      out += '\'';
    } else {
      out += "0x";
      for (unsigned i = size; i-- > 0;) out += fmt::format("{:02x}", static_cast<unsigned>(at[i]));
    }
  }
  return out;
}

}  // namespace app
