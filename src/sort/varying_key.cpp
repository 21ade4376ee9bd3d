#include "varying_key.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "../kernels/kernels.hpp"
#include "element_loops.hpp"
#include "embedded.hpp"
#include "records.hpp"

namespace sortium {
namespace {

constexpr unsigned moves = 6;           // that bring any bits of a number together: log2(64)
constexpr std::size_t most_parts = 16;  // more would not stay in a work-item's registers

// The byte in varying_t of varying.cl where its member `used` begins, and the size of varying_t.
std::uint64_t word_flags_at(std::uint64_t parts, std::uint64_t words) {
  return parts * (8 + moves * 8 + 4 * 4) + words * 4;
}
std::uint64_t bytes_of_table(std::uint64_t parts, std::uint64_t words) {
  return ceil_div(word_flags_at(parts, words) + words * 4 + 3 * 4, 8) * 8;
}

// The arguments for a key's columns.
using ColumnArgs = std::array<Memory, columns_of_a_word>;

}  // namespace

VaryingKey::VaryingKey(const RecordProblem& problem, unsigned position_bytes)
    : problem_(problem), position_bytes_(position_bytes), parts_(parts_of(problem.key)) {
  for (const auto& p : parts_) {
    bits_ += p.bits;
    if (std::ranges::count(columns_, p.column) == 0) columns_.push_back(p.column);
  }
}

bool VaryingKey::is_supported() const {
  return parts_.size() <= most_parts && columns_.size() <= columns_of_a_word;
}

bool VaryingKey::has_all_bits_of(unsigned column) const {
  std::vector<bool> known(problem_.columns[column].bytes, false);
  for (const auto& p : parts_)
    if (p.column == column && p.bits == p.number.bits())
      std::fill_n(known.begin() + static_cast<std::ptrdiff_t>(p.offset), p.number.bytes, true);
  return std::ranges::count(known, false) == 0;
}

bool VaryingKey::may_have_tails() const {
  if (words() < 2 || problem_.position_bytes != 0 || position_bytes_ != 4) return false;
  for (unsigned c = 0; c < problem_.columns.size(); ++c)
    if (problem_.columns[c].moved != Moved::no && !has_all_bits_of(c)) return false;
  return true;
}

bool VaryingKey::is_in_first_word(unsigned column) const {
  return words() == 1 && has_all_bits_of(column) &&
         std::ranges::none_of(parts_, [&](const auto& p) {
           return p.column == column && p.number.infinity != 0 &&
                  (p.field->nan != NanOrder::bits || p.field->zeros == ZeroOrder::tied);
         });
}

std::uint64_t VaryingKey::table_bytes() const { return bytes_of_table(parts_.size(), words()); }

Memory VaryingKey::word_has_bits(Memory table, unsigned w) const {
  return table.slice(word_flags_at(parts_.size(), words()) + w * std::uint64_t{4}, 4);
}

std::string VaryingKey::load_text() const {
  std::string text;
  for (std::size_t p = 0; p < parts_.size(); ++p)
    text += fmt::format("x[{}] = {}; ", p, part_text(parts_[p], columns_, problem_.columns));
  return text;
}

std::string VaryingKey::full_word_text() const {
  std::string text;
  unsigned from = bits_;
  const unsigned low = bits_ > 64 ? bits_ - 64 : 0;
  for (std::size_t p = 0; p < parts_.size() && from > low; ++p) {
    from -= parts_[p].bits;
    text += fmt::format("{}shifted_part(x[{}], {}u, {}u, {}u)", p == 0 ? "" : " | ", p, from,
                        parts_[p].bits, low);
  }
  return text;
}

// Returns an expression: 1 if another number may have the same order bits as a number of record
// `at` that is to be computed from them.
std::string VaryingKey::may_tie_text() const {
  std::string text = "0u";
  for (const auto& p : parts_)
    if (may_have_tails() && problem_.columns[p.column].moved != Moved::no && p.number.infinity != 0)
      text += fmt::format(" | number_may_tie({}, {}, {}UL, {}, {})",
                          number_text(p, columns_, problem_.columns), p.number.bits(),
                          p.number.infinity, static_cast<int>(p.field->nan),
                          static_cast<int>(p.field->zeros));
  return text;
}

// Returns the statements for a column: they compute its parts and store the numbers, or copy the
// element if they cannot.
std::string VaryingKey::store_text(unsigned column) const {
  const auto index = std::ranges::find(columns_, column) - columns_.begin();
  std::string known, parts, shared, stores;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const auto& part = parts_[p];
    if (part.column != column || part.bits != part.number.bits()) continue;
    const std::string order = order_text(part);
    known += fmt::format("{}part_is_known(key, {}u)", known.empty() ? "" : " & ", p);
    parts += fmt::format(
        "const u64 part{0} = part_of_word(key, {0}u, word, tail); const key_order_t order{0} = "
        "{1}; ",
        p, order);
    shared += fmt::format("{0}order_is_shared(part{1}, order{1})", shared.empty() ? "" : " | ", p);
    stores += fmt::format(
        "store_number(o{} + i * {} + {}, key_with_order(part{}, order{}), {}, {}, {}); ", index,
        problem_.columns[column].bytes, part.offset, p, p, part.number.bytes,
        unit_of_part(part, problem_.columns), int{part.big_endian});
  }
  const unsigned bytes = problem_.columns[column].bytes;
  return fmt::format(
      "if (columns >> {0} & 1u) {{ u32 unknown = ({1}) ^ 1u; if (!unknown) {{ {2}unknown = "
      "key->tails ? 0u : {3}; if (!unknown) {{ {4}}} }} if (unknown) copy_element(c{0} + "
      "(u64)values[i] * {5}, o{0} + i * {5}, {5}, {6}); }} ",
      index, known, parts, shared, stores, bytes, std::min(unit_of(bytes), 8u));
}

std::string VaryingKey::store_text() const {
  std::string text;
  for (const unsigned c : columns_)
    if (has_all_bits_of(c)) text += store_text(c);
  return text;
}

void VaryingKey::build(Device& device, const Capabilities& c) {
  work_group_ = work_group_size(c);
  work_groups_ = work_groups_for(c, problem_.count);
  kernels::Defines defines;
  defines
      .problem({.key = KeyType::u64,
                .count = problem_.count,
                .payload = Payload::values,
                .value_bytes = position_bytes_})
      .set("WG", work_group_)
      .set("MOVES", moves)
      .set("PARTS", parts_.size())
      .set("WORDS", words())
      .set("LOAD_PARTS", load_text())
      .set("FULL_BITS", bits_)
      .set("FULL_WORD", full_word_text())
      .set("TAILS", int{may_have_tails()})
      .set("MAY_TIE", may_tie_text())
      .set("STORE_COLUMNS", store_text());
  module_ = kernels::build(device, c, {kernels::embedded::fields_cl, kernels::embedded::varying_cl},
                           defines);
  differ_ = module_->kernel("records_differ");
  lay_out_ = module_->kernel("records_places");
  pack_ = module_->kernel("records_pack_varying");
  unpack_ = module_->kernel("records_unpack");
}

namespace {

ColumnArgs arguments_of(const std::vector<unsigned>& columns, std::span<const Memory> all) {
  ColumnArgs c{};
  for (std::size_t i = 0; i < columns.size(); ++i) c[i] = all[columns[i]];
  return c;
}

}  // namespace

void VaryingKey::pack(Queue& queue, std::span<const Memory> columns, Memory table, Memory words,
                      Memory values) const {
  const ColumnArgs c = arguments_of(columns_, columns);
  queue.fill(table, 0, table_bytes(), "bits");
  const Arg differ_args[] = {{"c0", c[0]},   {"c1", c[1]},     {"c2", c[2]},         {"c3", c[3]},
                             {"c4", c[4]},   {"c5", c[5]},     {"c6", c[6]},         {"c7", c[7]},
                             {"key", table}, {"words", words}, {"n", problem_.count}};
  queue.launch({*differ_, work_groups_, work_group_, differ_args, "bits"});
  const Arg lay_out_args[] = {{"c0", c[0]}, {"c1", c[1]}, {"c2", c[2]}, {"c3", c[3]},  {"c4", c[4]},
                              {"c5", c[5]}, {"c6", c[6]}, {"c7", c[7]}, {"key", table}};
  queue.launch({*lay_out_, 1, work_group_, lay_out_args, "bits"});
  launch_pack(queue, columns, table, 0, words, {}, {}, may_have_tails() ? values : Memory{});
}

void VaryingKey::pack_word(Queue& queue, std::span<const Memory> columns, Memory table, unsigned w,
                           Memory words, Memory values, Memory count) const {
  launch_pack(queue, columns, table, w, words, values, count, {});
}

void VaryingKey::launch_pack(Queue& queue, std::span<const Memory> columns, Memory table,
                             unsigned w, Memory words, Memory values, Memory count,
                             Memory new_values) const {
  const ColumnArgs c = arguments_of(columns_, columns);
  const Arg args[] = {{"c0", c[0]},
                      {"c1", c[1]},
                      {"c2", c[2]},
                      {"c3", c[3]},
                      {"c4", c[4]},
                      {"c5", c[5]},
                      {"c6", c[6]},
                      {"c7", c[7]},
                      {"key", table},
                      {"values", values},
                      {"count", count},
                      {"words", words},
                      {"new_values", new_values},
                      {"w", std::uint32_t{w}},
                      {"n", problem_.count}};
  queue.launch({*pack_, work_groups_, work_group_, args, "pack"});
}

void VaryingKey::unpack(Queue& queue, std::span<const Unpacked> all, Memory words, Memory values,
                        Memory table) const {
  ColumnArgs in{}, out{};
  std::uint32_t columns = 0;
  for (const auto& u : all) {
    const auto i =
        static_cast<std::size_t>(std::ranges::find(columns_, u.column) - columns_.begin());
    in[i] = u.in;
    out[i] = u.out;
    columns |= std::uint32_t{1} << i;
  }
  const Arg args[] = {{"c0", in[0]},  {"c1", in[1]},         {"c2", in[2]},
                      {"c3", in[3]},  {"c4", in[4]},         {"c5", in[5]},
                      {"c6", in[6]},  {"c7", in[7]},         {"o0", out[0]},
                      {"o1", out[1]}, {"o2", out[2]},        {"o3", out[3]},
                      {"o4", out[4]}, {"o5", out[5]},        {"o6", out[6]},
                      {"o7", out[7]}, {"words", words},      {"values", values},
                      {"key", table}, {"n", problem_.count}, {"columns", columns}};
  queue.launch({*unpack_, work_groups_, work_group_, args, "unpack"});
}

}  // namespace sortium
