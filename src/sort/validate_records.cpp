#include <fmt/format.h>

#include <algorithm>

#include "../core/refuse.hpp"
#include "record_words.hpp"
#include "records.hpp"

namespace sortium {

namespace {

constexpr unsigned max_element_bytes = 256;

void validate_counts(const RecordProblem& p) {
  if (p.count > (std::uint64_t{1} << 40))
    refuse(fmt::format("count is {}; up to 2^40 is allowed", p.count));
  if (p.columns.empty() || p.columns.size() > max_columns)
    refuse(fmt::format("there are {} columns; 1 to {} are allowed", p.columns.size(), max_columns));
  if (p.key.empty() || p.key.size() > max_fields)
    refuse(fmt::format("the key has {} fields; 1 to {} are allowed", p.key.size(), max_fields));
  if (p.position_bytes != 0 && p.position_bytes != 4 && p.position_bytes != 8)
    refuse(fmt::format("position_bytes is {}; 4, 8 and 0 (no positions) are allowed",
                       p.position_bytes));
  if (p.position_bytes == 4 && p.count > (std::uint64_t{1} << 32))
    refuse(fmt::format("count is {}; 4-byte positions reach 2^32 records (use 8)", p.count));
  validate_problem(Problem{.count = p.count,
                           .segments = p.segments,
                           .offset_bytes = p.offset_bytes,
                           .limit = p.limit,
                           .stride = p.stride});
}

void validate_column(const RecordProblem& p, std::size_t c) {
  if (p.columns[c].bytes == 0 || p.columns[c].bytes > max_element_bytes)
    refuse(fmt::format("column {} has elements of {} bytes; 1 to {} are allowed", c,
                       p.columns[c].bytes, max_element_bytes));
  validate_enumeration(p.columns[c].moved, Moved::out, "moved");
  if (p.limit != 0 && p.columns[c].moved == Moved::in_place)
    refuse(fmt::format("column {} is moved in place; with a limit, columns are moved out", c));
}

void validate_field(const RecordProblem& p, std::size_t i) {
  const auto& f = p.key[i];
  const std::string what = fmt::format("key field {} ({} at byte {})", i, f.type.name(), f.offset);
  if (f.type.kind() == FieldType::Kind::bytes && (f.type.size() == 0 || f.type.size() > 32))
    refuse(fmt::format("{}: 1 to 32 bytes are allowed", what));
  if (f.column >= p.columns.size())
    refuse(fmt::format("{}: column is {}; there are {}", what, f.column, p.columns.size()));
  validate_enumeration(f.order, Order::descending, "order");
  validate_enumeration(f.nan, NanOrder::bits, "nan");
  validate_enumeration(f.zeros, ZeroOrder::distinct, "zeros");
  const unsigned bytes = p.columns[f.column].bytes;
  if (f.offset > bytes || f.offset + f.type.size() > bytes)
    refuse(p.columns.size() == 1
               ? fmt::format("{} reaches past the record's {} bytes", what, bytes)
               : fmt::format("{} reaches past the {} bytes of column {}", what, bytes, f.column));
  const unsigned bits = f.type.size() * 8;
  if (f.type.kind() != FieldType::Kind::number && (f.begin_bit != 0 || f.end_bit != 0))
    refuse(
        fmt::format("{}: bits {}:{} are given; only numbers of up to 64 bits may have a bit range",
                    what, f.begin_bit, f.end_bit));
  if (f.begin_bit >= end_bit(f) || end_bit(f) > bits)
    refuse(fmt::format("{}: bits {}:{} are not a range of its {}", what, f.begin_bit, f.end_bit,
                       bits));
}

}  // namespace

void validate_record_problem(const RecordProblem& p) {
  validate_counts(p);
  std::vector<bool> used(p.columns.size());
  for (std::size_t c = 0; c < p.columns.size(); ++c) {
    validate_column(p, c);
    used[c] = p.columns[c].moved != Moved::no;
  }
  if (std::ranges::count(used, true) == 0 && p.position_bytes == 0)
    refuse("the problem has no output: no column is moved, and position_bytes is 0");
  for (std::size_t i = 0; i < p.key.size(); ++i) {
    validate_field(p, i);
    used[p.key[i].column] = true;
  }
  for (std::size_t c = 0; c < used.size(); ++c)
    if (!used[c]) refuse(fmt::format("column {} is neither moved nor has a field of the key", c));
}

void validate_record_operands(const RecordProblem& p, const RecordOperands& o,
                              std::uint64_t scratch_bytes, Space space) {
  const std::size_t columns = p.columns.size();
  if (o.columns_in.size() != columns)
    refuse(fmt::format("columns_in has {} entries; the problem has {} columns", o.columns_in.size(),
                       columns));
  if (!o.columns_out.empty() && o.columns_out.size() != columns)
    refuse(fmt::format("columns_out has {} entries; the problem has {} columns",
                       o.columns_out.size(), columns));
  std::vector<Operand> all;
  all.reserve(2 * columns + 3);
  const auto add = [&](const char* name, const Memory& memory, std::uint64_t bytes, unsigned unit,
                       bool written, int column = -1) {
    all.push_back({name, memory, bytes, unit, written, column});
  };
  for (std::size_t c = 0; c < columns; ++c) {
    const auto& column = p.columns[c];
    add("columns_in", o.columns_in[c], p.count * column.bytes, unit_of(column.bytes),
        column.moved == Moved::in_place, static_cast<int>(c));
    const Memory out = o.columns_out.empty() ? Memory{} : o.columns_out[c];
    if (column.moved == Moved::in_place && out) {
      if (!same(out, o.columns_in[c]))
        refuse(fmt::format(
            "columns_out[{0}] is not columns_in[{0}], but the column is moved in place", c));
      continue;
    }
    add("columns_out", out, column.moved == Moved::out ? records_out(p) * column.bytes : 0,
        unit_of(column.bytes), true, static_cast<int>(c));
  }
  add("positions", o.positions, records_out(p) * p.position_bytes, std::max(p.position_bytes, 1u),
      true);
  add("scratch", o.scratch, scratch_bytes, 16, true);
  add("offsets", o.offsets, offsets_bytes(p.segments, p.offset_bytes), p.offset_bytes, false);
  validate_operands(all, space);
}

void validate_permute_problem(const PermuteProblem& p) {
  validate_enumeration(p.direction, Direction::scatter, "direction");
  if (p.count > (std::uint64_t{1} << 40))
    refuse(fmt::format("count is {}; up to 2^40 is allowed", p.count));
  if (p.elements > (std::uint64_t{1} << 40))
    refuse(fmt::format("elements is {}; up to 2^40 is allowed", p.elements));
  if (p.element_bytes == 0 || p.element_bytes > max_element_bytes)
    refuse(fmt::format("element_bytes is {}; 1 to {} are allowed", p.element_bytes,
                       max_element_bytes));
  if (p.index_bytes != 4 && p.index_bytes != 8)
    refuse(fmt::format("index_bytes is {}; 4 and 8 are allowed", p.index_bytes));
}

}  // namespace sortium
