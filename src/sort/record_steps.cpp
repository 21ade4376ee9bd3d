#include "record_steps.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "record_rows.hpp"
#include "record_ties.hpp"
#include "records.hpp"

namespace sortium {

namespace {

void validate_method(const Method& method) {
  if (method.algorithm == "auto") return;
  const auto& algorithm = find_algorithm(method.algorithm).info();
  if (!algorithm.stable || algorithm.partial)
    throw Error(ErrorCode::unsupported,
                fmt::format("{}: {}; records need a stable sort", method.algorithm,
                            algorithm.partial ? "leaves sorted runs" : "is not stable"));
}

// True if records of this problem may be sorted by words that leave out equal bits (VaryingKey).
// Counts of records that tie have 32 bits.
bool may_leave_out_bits(const RecordProblem& p, const Capabilities& device, const Method& method) {
  constexpr std::uint64_t most = std::uint64_t{1} << 31;
  return device.backend != Backend::host && p.segments == 0 && p.limit == 0 && p.count <= most &&
         method.algorithm == "auto" && method.max_scratch_bytes == 0;
}

// True if that takes less time. The sort of ties has some 30 launches, most of which find nothing
// to do. So on a GPU, short lists of several words are sorted faster by every word
// (docs/lab-notebook/records.md).
bool is_worth_it(const VaryingKey& key, std::uint64_t count, const Capabilities& device) {
  const bool has_ties = key.words() > 1 && device.kind != DeviceKind::cpu;
  return key.is_supported() && key.bits() > 32 && count >= std::uint64_t{1} << (has_ties ? 19 : 16);
}

}  // namespace

RecordSteps::RecordSteps(const RecordProblem& p, const Capabilities& device, const Method& method)
    : problem(p), inner_method(method) {
  validate_record_problem(problem);
  validate_method(method);
  key = plain_column(problem);
  if (key < 0) words = words_of(problem.key);
  if (key < 0 && may_leave_out_bits(problem, device, method)) {
    varying.emplace(problem, index_bytes());
    if (!is_worth_it(*varying, problem.count, device)) varying.reset();
  }
  choose_columns();
  moves_rows = !gathered.empty() && record_rows::suits(problem, device, method);
  if (varying) {
    ties.emplace(problem.count, index_bytes(), varying->bits(), device);
    sorts.push_back(sort_of_varying());
    lay_out_varying(device);
    return;
  }
  sorts_ties = words.size() > 1 && words.back().key() == KeyType::u64 &&
               record_ties::suits(problem, device, method);
  if (key >= 0)
    sorts.push_back(sort_of_column());
  else
    for (std::size_t w = sorts_ties ? words.size() - 1 : 0; w < words.size(); ++w)
      sorts.push_back(sort_of_word(w, device.backend));
  lay_out(device);
}

unsigned RecordSteps::index_bytes() const {
  return problem.position_bytes != 0                 ? problem.position_bytes
         : problem.count <= (std::uint64_t{1} << 32) ? 4
                                                     : 8;
}

// Decides which columns are gathered, and whether one moves with its key instead.
void RecordSteps::choose_columns() {
  const auto& columns = problem.columns;
  bool words_suffice = true;  // the first words determine all elements of the unpacked columns
  for (unsigned c = 0; c < columns.size(); ++c) {
    if (columns[c].moved == Moved::no || static_cast<int>(c) == key) continue;
    const bool unpacks = varying && varying->has_all_bits_of(c);
    (unpacks ? unpacked : gathered).push_back(c);
    words_suffice = words_suffice && (!unpacks || varying->is_in_first_word(c));
  }
  const std::size_t key_words = varying ? varying->words() : words.size();

  // A single value of 4 or 8 bytes need not be gathered: it moves with its key, in place if the key
  // does. The exception is a packed key with a limit: all values would be copied first, which costs
  // more than gathering the few within the limit.
  if (problem.position_bytes == 0 && gathered.size() == 1 && words_suffice &&
      key_words <= (problem.limit == 0 ? 1u : 0u)) {
    const unsigned c = gathered[0];
    if ((columns[c].bytes == 4 || columns[c].bytes == 8) &&
        (key < 0 || columns[static_cast<unsigned>(key)].moved == columns[c].moved)) {
      value = static_cast<int>(c);
      gathered.clear();
    }
  }
  has_positions = problem.position_bytes != 0 || !gathered.empty() || !words_suffice ||
                  (varying && key_words > 1);
}

// The sort of a key that is a whole column, without packing.
Problem RecordSteps::sort_of_column() const {
  const auto& f = problem.key[0];
  return {.key = f.type.key(),
          .count = problem.count,
          .payload = value >= 0      ? Payload::values
                     : has_positions ? Payload::positions
                                     : Payload::none,
          .value_bytes =
              value >= 0 ? problem.columns[static_cast<unsigned>(value)].bytes : index_bytes(),
          .keys_out = problem.columns[static_cast<unsigned>(key)].moved != Moved::no,
          .order = f.order,
          .begin_bit = f.begin_bit,
          .end_bit = f.end_bit,
          .nan = f.nan,
          .zeros = f.zeros,
          .segments = problem.segments,
          .offset_bytes = problem.offset_bytes,
          .limit = problem.limit,
          .stride = problem.stride};
}

// The sort by word `w`. The first sort makes the positions; later sorts move them. cpu:0's `sample`
// sorts by all bits faster than by some, and a word's other bits are zero.
Problem RecordSteps::sort_of_word(std::size_t w, Backend backend) const {
  const bool by_all = backend == Backend::host && words[w].bits > most_counted_bits;
  Problem s{.key = words[w].key(),
            .count = problem.count,
            .payload = Payload::values,
            .value_bytes = index_bytes(),
            .end_bit = by_all ? 0 : words[w].bits,
            .segments = problem.segments,
            .offset_bytes = problem.offset_bytes,
            .limit = w + 1 == words.size() ? problem.limit : 0,
            .stride = problem.stride};
  if (value >= 0)
    s.value_bytes = problem.columns[static_cast<unsigned>(value)].bytes;
  else if (w == 0 || sorts_ties)
    s.payload = Payload::positions, s.keys_out = sorts_ties;
  return s;
}

// The sort by the first word of the bits that differ.
Problem RecordSteps::sort_of_varying() const {
  Problem s{.key = KeyType::u64, .count = problem.count};
  if (value >= 0) {
    s.payload = Payload::values;
    s.value_bytes = problem.columns[static_cast<unsigned>(value)].bytes;
  } else if (has_positions) {
    s.payload = varying->may_have_tails() ? Payload::values : Payload::positions;
    s.value_bytes = index_bytes();
    s.keys_out = !unpacked.empty() || varying->words() > 1;
  }
  return s;
}

// Lays out scratch memory for a key of the bits that differ: the words are used until the end, so a
// column that is moved in place is made in the memory of the sorts.
void RecordSteps::lay_out_varying(const Capabilities& device) {
  const std::uint64_t n = problem.count;
  std::uint64_t column_bytes = 0;
  const auto made_elsewhere = [&](unsigned c) {
    if (problem.columns[c].moved == Moved::in_place)
      column_bytes = std::max<std::uint64_t>(column_bytes, problem.columns[c].bytes);
  };
  for (const auto c : gathered) made_elsewhere(c);
  for (const auto c : unpacked)
    if (!varying->is_in_first_word(c)) made_elsewhere(c);
  if (problem.position_bytes == 0 && has_positions) positions = layout.add(n * index_bytes());
  table = layout.add(varying->table_bytes());
  keys = layout.add(n * info(KeyType::u64).bytes);
  inner = layout.add(std::max({Plan::scratch_bytes_for(sorts[0], device, inner_method),
                               ties->layout.bytes(), n * column_bytes}));
  column = {inner.offset, n * column_bytes};
}

// Lays out scratch memory: positions, then words and the sorts' scratch memory. A column that is
// moved in place is first gathered into the words' memory, which is free by then.
void RecordSteps::lay_out(const Capabilities& device) {
  const std::uint64_t n = problem.count, out = records_out(problem);
  std::uint64_t key_bytes = 0, column_bytes = 0;
  for (const auto& w : words) key_bytes = std::max<std::uint64_t>(key_bytes, info(w.key()).bytes);
  for (const auto c : gathered)
    if (problem.columns[c].moved == Moved::in_place)
      column_bytes = std::max<std::uint64_t>(column_bytes, problem.columns[c].bytes);
  if (problem.position_bytes == 0 && has_positions) positions = layout.add(out * index_bytes());
  ScratchLayout sorting;
  keys = sorting.add(n * key_bytes);
  if (problem.limit != 0 && words.size() > 1) {
    all_positions = sorting.add(n * index_bytes());
    first_keys = sorting.add(out * info(words.back().key()).bytes);
  }
  limit_inner_scratch(sorting.bytes(), n * column_bytes);
  std::uint64_t most = 0;
  for (const auto& s : sorts)
    most = std::max(most, Plan::scratch_bytes_for(s, device, inner_method));
  if (sorts_ties) most = std::max(most, record_ties::scratch_bytes(n, index_bytes()));
  inner = sorting.add(most);
  column = layout.add(std::max(sorting.bytes(), n * column_bytes));
  for (auto* slice : {&keys, &all_positions, &first_keys, &inner}) slice->offset += column.offset;
  if (!moves_rows) return;
  const std::uint64_t others = layout.bytes(), own = record_rows::scratch_bytes(problem);
  if (own > others) layout.add(own - others);
}

// Limits the scratch memory of the inner sorts to what the other steps leave of max_scratch_bytes.
void RecordSteps::limit_inner_scratch(std::uint64_t sorting_bytes, std::uint64_t column_bytes) {
  const std::uint64_t limit = inner_method.max_scratch_bytes;
  if (limit == 0) return;
  const std::uint64_t own = layout.bytes() + std::max(sorting_bytes, column_bytes);
  const std::uint64_t left = own < limit ? limit - layout.bytes() - sorting_bytes : 0;
  inner_method.max_scratch_bytes = left / ScratchLayout::alignment * ScratchLayout::alignment;
  if (inner_method.max_scratch_bytes == 0)
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format(
            "max_scratch_bytes is {}; these records need {} beside what their keys' sorts need",
            limit, own));
}

}  // namespace sortium
