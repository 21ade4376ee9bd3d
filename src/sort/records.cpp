// Sorts of records, made of plain ones: a key's fields are packed into words, words are sorted with
// positions from the least significant on (Knuth, The Art of Computer Programming, volume
// 3, 5.2.5), and columns are gathered.
#include "records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <sortium/sortium.hpp>

#include "../algorithms/algorithm.hpp"
#include "../kernels/kernels.hpp"
#include "embedded.hpp"
#include "profiled.hpp"

#ifdef SORTIUM_WITH_HOST
#include "../device/host_threads.hpp"
#endif

namespace sortium {

namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, message);
}

constexpr unsigned most_bytes = 256;  // of an element
constexpr std::size_t columns_of_a_kernel =
    8;  // that one word may have parts from: records_pack's parameters

unsigned lowest_bit(std::uint64_t x) { return static_cast<unsigned>(x & (~x + 1)); }

// How a kernel over `items` is launched. GPUs: enough work-items to fill the device, each with
// several turns of its loop. CPUs run a work-item to its end before the next: one turn each, so
// that memory is walked through in order.
unsigned work_group_of(const Capabilities& c) { return std::min(c.max_work_group, 256u); }
std::uint64_t groups_of(const Capabilities& c, std::uint64_t items) {
  const std::uint64_t all = ceil_div(items, work_group_of(c));
  return c.kind == DeviceKind::cpu ? all : std::min<std::uint64_t>(all, c.compute_units * 32u);
}

std::byte* at(const Memory& m) { return static_cast<std::byte*>(m.handle) + m.offset; }

// On cpu:0: calls work(begin, end) for ranges of [0, count), on all cores; for a range perhaps
// twice.
template <class Work>
void on_host(Queue& queue, std::string_view phase, std::uint64_t count, const Work& work) {
#ifdef SORTIUM_WITH_HOST
  host::call(queue, phase, [&] {
    host::repeatable_for_all(tbb::blocked_range<std::uint64_t>(0, count, 1 << 14),
                             [&](const auto& range) { work(range.begin(), range.end()); });
  });
#else
  queue.call(phase, [&] { work(std::uint64_t{0}, count); });
#endif
}

// -----------------------------------------------------------------------------------------------
// Fields and words
// -----------------------------------------------------------------------------------------------

// Bits of a word: those from `down` on of what orders a number of up to 8 bytes, put at `up`.
struct Part {
  unsigned column;
  std::uint64_t offset;
  KeyTypeInfo number;
  bool big_endian;
  const Field* field;  // its order and policies
  unsigned down, bits, up;

  [[nodiscard]] std::uint64_t of(const std::byte* element) const {
    std::uint64_t x = 0;
    std::memcpy(&x, element + offset, number.bytes);
    if (big_endian) x = __builtin_bswap64(x) >> (64 - number.bits());
    const auto order = order_bits(x, number, field->order, field->nan, field->zeros);
    return detail::bits_of_order(order, down, bits) << up;
  }
};

struct Word {
  std::vector<Part> parts;
  std::vector<unsigned> columns;  // that the parts are from
  unsigned bits = 0;
  [[nodiscard]] KeyType key() const { return bits <= 32 ? KeyType::u32 : KeyType::u64; }
};

unsigned end_bit(const Field& f) { return f.end_bit == 0 ? f.type.size() * 8 : f.end_bit; }

// Makes the words of a key, least significant first.
class WordPacker {
 public:
  [[nodiscard]] std::vector<Word> pack(const std::vector<Field>& key) && {
    for (auto f = key.rbegin(); f != key.rend(); ++f)
      if (f->type.kind() == FieldType::Kind::number)
        add_number(*f);
      else
        add_bytes(*f);
    return std::move(words_);
  }

 private:
  // The last word, or a new one if the last has no room for `least` more bits, or for a part of one
  // more column.
  Word& word_for(unsigned column, unsigned least) {
    const auto has = [&] { return std::ranges::count(words_.back().columns, column) != 0; };
    if (words_.empty() || words_.back().bits + least > 64 ||
        (!has() && words_.back().columns.size() == columns_of_a_kernel))
      words_.emplace_back();
    if (!has()) words_.back().columns.push_back(column);
    return words_.back();
  }

  // A float's order needs all of its bits: a field on two words is read whole for both.
  void add_number(const Field& f) {
    for (unsigned bit = f.begin_bit; bit < end_bit(f);) {
      Word& w = word_for(f.column, 1);
      const unsigned bits = std::min(end_bit(f) - bit, 64 - w.bits);
      w.parts.push_back({f.column, f.offset, info(f.type.key()), false, &f, bit, bits, w.bits});
      w.bits += bits;
      bit += bits;
    }
  }

  // Byte strings and 128-bit numbers, from their least significant bytes on.
  void add_bytes(const Field& f) {
    const bool big_endian = f.type.kind() == FieldType::Kind::bytes;
    const unsigned size = f.type.size();
    for (unsigned left = size; left != 0;) {  // bytes: the most significant ones
      Word& w = word_for(f.column, 8);
      const unsigned bytes = std::min(left, (64 - w.bits) / 8);
      left -= bytes;
      const bool is_signed = f.type.kind() == FieldType::Kind::i128 && left == 0;
      const std::uint64_t offset = f.offset + (big_endian ? left : size - left - bytes);
      const KeyTypeInfo number{KeyType::u64, "", bytes, is_signed, false};
      w.parts.push_back({f.column, offset, number, big_endian, &f, 0, bytes * 8, w.bits});
      w.bits += bytes * 8;
    }
  }

  std::vector<Word> words_;
};

// PACK of records.cl.
std::string pack_text(const Word& word, const std::vector<Column>& columns) {
  std::string text;
  for (const auto& p : word.parts) {
    const unsigned stride = columns[p.column].bytes;
    const unsigned unit = lowest_bit(stride | p.offset | p.number.bytes | 8);
    text += fmt::format(
        "{}(number_order(load_number(c{} + at * {} + {}, {}, {}, {}), {}, {}, {}UL, {}, {}, {}, "
        "{}, {}) << {})",
        text.empty() ? "" : " | ", std::ranges::find(word.columns, p.column) - word.columns.begin(),
        stride, p.offset, p.number.bytes, unit, int{p.big_endian}, p.number.bits(),
        int{p.number.is_signed}, p.number.infinity, static_cast<int>(p.field->nan),
        static_cast<int>(p.field->zeros), int{p.field->order == Order::descending}, p.down, p.bits,
        p.up);
  }
  return text;
}

// The column that is the whole key, as it lies there; -1 where there is none.
int plain_column(const RecordProblem& p) {
  const auto& f = p.key[0];
  const bool plain = p.key.size() == 1 && f.type.kind() == FieldType::Kind::number &&
                     f.offset == 0 && p.columns[f.column].bytes == f.type.size();
  return plain ? static_cast<int>(f.column) : -1;
}

}  // namespace

std::string FieldType::name() const {
  switch (kind_) {
    case Kind::number:
      return std::string(info(key_).name);
    case Kind::u128:
      return "u128";
    case Kind::i128:
      return "i128";
    case Kind::bytes:
      return fmt::format("bytes({})", length_);
  }
  return "?";
}

namespace {

void validate_counts(const RecordProblem& p) {
  if (p.count > (std::uint64_t{1} << 40))
    refuse(fmt::format("count is {}; up to 2^40 is allowed", p.count));
  if (p.columns.empty() || p.columns.size() > max_columns)
    refuse(fmt::format("there are {} columns; 1 to {} are allowed", p.columns.size(), max_columns));
  if (p.key.empty() || p.key.size() > max_fields)
    refuse(fmt::format("the key has {} fields; 1 to {} are allowed", p.key.size(), max_fields));
  if (p.position_bytes != 0 && p.position_bytes != 4 && p.position_bytes != 8)
    refuse(
        fmt::format("position_bytes is {}; 4, 8 and (for none) 0 are allowed", p.position_bytes));
  if (p.position_bytes == 4 && p.count > (std::uint64_t{1} << 32))
    refuse(fmt::format("count is {}; 4-byte positions reach 2^32 records (take 8)", p.count));
  validate_problem(Problem{
      .count = p.count, .segments = p.segments, .offset_bytes = p.offset_bytes, .limit = p.limit});
}

void validate_column(const RecordProblem& p, std::size_t c) {
  if (p.columns[c].bytes == 0 || p.columns[c].bytes > most_bytes)
    refuse(fmt::format("column {} has elements of {} bytes; 1 to {} are allowed", c,
                       p.columns[c].bytes, most_bytes));
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
  const unsigned bytes = p.columns[f.column].bytes;
  if (f.offset > bytes || f.offset + f.type.size() > bytes)
    refuse(p.columns.size() == 1
               ? fmt::format("{} reaches past the record's {} bytes", what, bytes)
               : fmt::format("{} reaches past the {} bytes of column {}", what, bytes, f.column));
  const unsigned bits = f.type.size() * 8;
  if (f.type.kind() != FieldType::Kind::number && (f.begin_bit != 0 || f.end_bit != 0))
    refuse(fmt::format(
        "{}: bits {}:{} are given, which only numbers of up to 64 bits may be sorted by", what,
        f.begin_bit, f.end_bit));
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
    refuse("nothing comes out: no column is moved, and positions are not wanted");
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
  add("offsets", o.offsets, p.segments == 0 ? 0 : (p.segments + 1) * p.offset_bytes, p.offset_bytes,
      false);
  validate_operands(all, space);
}

// -----------------------------------------------------------------------------------------------
// RecordPlan
// -----------------------------------------------------------------------------------------------

namespace {

// Packs one word of every record.
class Packer {
 public:
  Packer(const Word& word, const RecordProblem& problem, unsigned position_bytes)
      : word_(word), problem_(problem), position_bytes_(position_bytes) {}

  void build(Device& device, const Capabilities& c) {
    if (c.backend == Backend::host) return;
    kernels::Defines defines;
    defines
        .problem({.key = word_.key(),
                  .count = problem_.count,
                  .payload = Payload::values,
                  .value_bytes = position_bytes_})
        .set("WG", work_group_of(c))
        .set("PACK", pack_text(word_, problem_.columns));
    module_ = kernels::build(device, c, kernels::embedded::records_cl, defines);
    kernel_ = module_->kernel("records_pack");
    work_group_ = work_group_of(c);
    groups_ = groups_of(c, problem_.count);
  }

  // `positions`: of the records, in the order of their words; or none.
  void enqueue(Queue& queue, std::span<const Memory> columns, Memory positions,
               Memory words) const {
    if (!kernel_) {
      if (word_.key() == KeyType::u32)
        pack_on_host<std::uint32_t>(queue, columns, positions, words);
      else
        pack_on_host<std::uint64_t>(queue, columns, positions, words);
      return;
    }
    Memory c[columns_of_a_kernel] = {};
    for (std::size_t i = 0; i < word_.columns.size(); ++i) c[i] = columns[word_.columns[i]];
    const Arg args[] = {{"c0", c[0]},     {"c1", c[1]},         {"c2", c[2]},
                        {"c3", c[3]},     {"c4", c[4]},         {"c5", c[5]},
                        {"c6", c[6]},     {"c7", c[7]},         {"positions", positions},
                        {"words", words}, {"n", problem_.count}};
    queue.launch({*kernel_, groups_, work_group_, args, "pack"});
  }

 private:
  template <class W>
  void pack_on_host(Queue& queue, std::span<const Memory> columns, Memory positions,
                    Memory words) const {
    on_host(queue, "pack", problem_.count, [&](std::uint64_t begin, std::uint64_t end) {
      W* const out = reinterpret_cast<W*>(at(words));
      for (std::uint64_t i = begin; i < end; ++i) out[i] = 0;
      for (const auto& part : word_.parts) {
        const std::byte* const column = at(columns[part.column]);
        const std::uint64_t stride = problem_.columns[part.column].bytes;
        for (std::uint64_t i = begin; i < end; ++i) {
          const std::uint64_t record =
              !positions             ? i
              : position_bytes_ == 4 ? reinterpret_cast<const std::uint32_t*>(at(positions))[i]
                                     : reinterpret_cast<const std::uint64_t*>(at(positions))[i];
          out[i] |= static_cast<W>(part.of(column + record * stride));
        }
      }
    });
  }

  const Word& word_;
  const RecordProblem& problem_;
  unsigned position_bytes_;
  unsigned work_group_ = 0;
  std::uint64_t groups_ = 0;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> kernel_;
};

// What is done for a problem, known without a device.
struct Steps {
  RecordProblem problem;
  std::vector<Word> words;     // least significant first; none where a column is sorted as it is
  std::vector<Problem> sorts;  // one a word, or the column's
  int key = -1;                // that column
  int value = -1;              // the column that moves with the keys, if there is one
  bool has_positions = true;   // the sorts make the permutation; else nothing is left to gather
  std::vector<unsigned> gathered;  // columns that are
  ScratchLayout layout;
  ScratchLayout::Slice keys, positions, column, inner;
  // Of a limit on several words: the permutation by all but the last word, of all records, and the
  // last word's sorted ones.
  ScratchLayout::Slice all_positions, first_keys;
  Method inner_method;  // of the sorts

  Steps(const RecordProblem& p, const Capabilities& device, const Method& method)
      : problem(p), inner_method(method) {
    validate_record_problem(problem);
    validate_method(method);
    key = plain_column(problem);
    if (key < 0) words = WordPacker().pack(problem.key);
    choose_columns();
    if (key >= 0)
      sorts.push_back(sort_of_column());
    else
      for (std::size_t w = 0; w < words.size(); ++w) sorts.push_back(sort_of_word(w));
    lay_out(device);
  }
  Steps(const Steps&) = delete;  // words point into the problem
  Steps& operator=(const Steps&) = delete;

  // Of the permutation.
  unsigned index_bytes() const {
    return problem.position_bytes != 0                 ? problem.position_bytes
           : problem.count <= (std::uint64_t{1} << 32) ? 4
                                                       : 8;
  }

 private:
  static void validate_method(const Method& method) {
    if (method.algorithm == "auto") return;
    const auto& can = find_algorithm(method.algorithm).info();
    if (!can.stable || can.partial)
      throw Error(ErrorCode::unsupported,
                  fmt::format("{}: {}; records need a stable sort", method.algorithm,
                              can.partial ? "leaves sorted runs" : "is not stable"));
  }

  // Which columns are gathered, and whether one moves with its key instead.
  void choose_columns() {
    const auto& columns = problem.columns;
    for (unsigned c = 0; c < columns.size(); ++c)
      if (columns[c].moved != Moved::no && static_cast<int>(c) != key) gathered.push_back(c);

    // A single value of 4 or 8 bytes need not be gathered: it moves with its key, in place if the
    // key does. (Beside a word, it would be copied first, which costs more than to gather a few.)
    if (problem.position_bytes == 0 && gathered.size() == 1 &&
        words.size() <= (problem.limit == 0 ? 1u : 0u)) {
      const unsigned c = gathered[0];
      if ((columns[c].bytes == 4 || columns[c].bytes == 8) &&
          (key < 0 || columns[static_cast<unsigned>(key)].moved == columns[c].moved)) {
        value = static_cast<int>(c);
        gathered.clear();
      }
    }
    has_positions = problem.position_bytes != 0 || !gathered.empty();
  }

  // The sort of a key that is a column as it lies there.
  [[nodiscard]] Problem sort_of_column() const {
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
            .limit = problem.limit};
  }

  // The sort by word `w`. The first one makes the positions that the others move.
  [[nodiscard]] Problem sort_of_word(std::size_t w) const {
    Problem s{.key = words[w].key(),
              .count = problem.count,
              .payload = Payload::values,
              .value_bytes = index_bytes(),
              .end_bit = words[w].bits,
              .segments = problem.segments,
              .offset_bytes = problem.offset_bytes,
              .limit = w + 1 == words.size() ? problem.limit : 0};
    if (value >= 0)
      s.value_bytes = problem.columns[static_cast<unsigned>(value)].bytes;
    else if (w == 0)
      s.payload = Payload::positions, s.keys_out = false;
    return s;
  }

  // Scratch memory: positions, then words and what their sorts need. A column that is gathered in
  // place takes the words' place: then they are done with.
  void lay_out(const Capabilities& device) {
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
    inner = sorting.add(most);
    column = layout.add(std::max(sorting.bytes(), n * column_bytes));
    for (auto* slice : {&keys, &all_positions, &first_keys, &inner}) slice->offset += column.offset;
  }

  // The inner sorts may use what the caller's max_scratch_bytes leaves.
  void limit_inner_scratch(std::uint64_t sorting_bytes, std::uint64_t column_bytes) {
    const std::uint64_t limit = inner_method.max_scratch_bytes;
    if (limit == 0) return;
    const std::uint64_t own = layout.bytes() + std::max(sorting_bytes, column_bytes);
    const std::uint64_t left = own < limit ? limit - layout.bytes() - sorting_bytes : 0;
    inner_method.max_scratch_bytes = left / ScratchLayout::alignment * ScratchLayout::alignment;
    if (inner_method.max_scratch_bytes == 0)
      refuse(fmt::format(
          "max_scratch_bytes is {}; these records need {} beside what their keys' sorts need",
          limit, own));
  }
};

}  // namespace

struct RecordPlan::Implementation {
  Implementation(std::shared_ptr<Device> d, const RecordProblem& p, const Method& method)
      : device(std::move(d)), steps(p, capabilities(*device), method) {
    for (const auto& s : steps.sorts) plans.emplace_back(device, s, steps.inner_method);
    for (const auto& w : steps.words) {
      packers.emplace_back(w, steps.problem, steps.index_bytes());
      packers.back().build(*device, capabilities(*device));
    }
    Places places;
    if (p.segments != 0 && p.limit != 0)
      places = {Places::Kind::of_segments, p.limit, p.offset_bytes};
    for (const auto c : steps.gathered)
      gathers.emplace_back(*device,
                           PermuteProblem{Direction::gather, records_out(p), p.columns[c].bytes,
                                          steps.index_bytes(), p.count},
                           places);
  }

  void enqueue(Queue& queue, const RecordOperands& o) const {
    if (steps.key >= 0) sort_by_column(queue, o);
    for (std::size_t w = 0; w < packers.size(); ++w) sort_by_word(queue, o, w);
    for (std::size_t g = 0; g < gathers.size(); ++g) gather(queue, o, g);
  }

  static Memory slice(const RecordOperands& o, const ScratchLayout::Slice& s) {
    return s.bytes == 0 ? Memory{} : o.scratch.slice(s.offset, s.bytes);
  }
  static Memory in(const RecordOperands& o, int column) {
    return o.columns_in[static_cast<unsigned>(column)];
  }
  // Where the sorted column goes; none if it is not moved.
  [[nodiscard]] Memory out(const RecordOperands& o, int column) const {
    const auto moved = steps.problem.columns[static_cast<unsigned>(column)].moved;
    return moved == Moved::no         ? Memory{}
           : moved == Moved::in_place ? in(o, column)
                                      : o.columns_out[static_cast<unsigned>(column)];
  }
  [[nodiscard]] Memory positions(const RecordOperands& o) const {
    return steps.problem.position_bytes != 0 ? o.positions : slice(o, steps.positions);
  }

  void sort_by_column(Queue& queue, const RecordOperands& o) const {
    Operands a{.keys_in = in(o, steps.key),
               .keys_out = out(o, steps.key),
               .scratch = slice(o, steps.inner),
               .offsets = o.offsets};
    if (steps.value >= 0)
      a.values_in = in(o, steps.value), a.values_out = out(o, steps.value);
    else if (steps.has_positions)
      a.values_out = positions(o);
    plans[0].run(queue, a);
  }

  void sort_by_word(Queue& queue, const RecordOperands& o, std::size_t w) const {
    const bool apart = steps.all_positions.bytes != 0;
    const Memory words = slice(o, steps.keys), inner = slice(o, steps.inner);
    const Memory all = apart ? slice(o, steps.all_positions) : positions(o);
    packers[w].enqueue(queue, o.columns_in, w == 0 ? Memory{} : all, words);
    if (steps.value >= 0) {
      const Memory value = out(o, steps.value);
      if (!same(value, in(o, steps.value)))
        queue.copy(value, in(o, steps.value), steps.problem.count * steps.sorts[w].value_bytes);
      plans[w].run(queue, {words, words, value, value, inner, o.offsets});
    } else if (w == 0) {
      plans[w].run(queue, {words, {}, {}, all, inner, o.offsets});
    } else if (apart && w + 1 == packers.size()) {
      plans[w].run(queue, {words, slice(o, steps.first_keys), all, positions(o), inner, o.offsets});
    } else {
      plans[w].run(queue, {words, words, all, all, inner, o.offsets});
    }
  }

  void gather(Queue& queue, const RecordOperands& o, std::size_t g) const {
    const unsigned c = steps.gathered[g];
    const auto& column = steps.problem.columns[c];
    const int index = static_cast<int>(c);
    const bool in_place = column.moved == Moved::in_place;
    const Memory to = in_place ? slice(o, steps.column) : out(o, index);
    gathers[g].enqueue(queue, in(o, index), positions(o), to, o.offsets);
    if (in_place) queue.copy(in(o, index), to, steps.problem.count * column.bytes);
  }

  std::shared_ptr<Device> device;
  Steps steps;
  std::vector<Plan> plans;
  std::vector<Packer> packers;
  std::vector<Mover> gathers;
};

RecordPlan::RecordPlan(std::shared_ptr<Device> device, const RecordProblem& problem,
                       const Method& method)
    : it_(std::make_unique<Implementation>(std::move(device), problem, method)) {}
RecordPlan::RecordPlan(RecordPlan&&) noexcept = default;
RecordPlan& RecordPlan::operator=(RecordPlan&&) noexcept = default;
RecordPlan::~RecordPlan() = default;

std::uint64_t RecordPlan::scratch_bytes() const { return it_->steps.layout.bytes(); }
std::uint64_t RecordPlan::scratch_bytes_for(const RecordProblem& problem,
                                            const Capabilities& capabilities,
                                            const Method& method) {
  return Steps(problem, capabilities, method).layout.bytes();
}
const RecordProblem& RecordPlan::problem() const { return it_->steps.problem; }
const AlgorithmInfo& RecordPlan::algorithm() const { return it_->plans.back().algorithm(); }
std::string RecordPlan::parameters() const { return it_->plans.back().parameters(); }
std::vector<unsigned> RecordPlan::word_bits() const {
  std::vector<unsigned> bits;
  for (auto w = it_->steps.words.rbegin(); w != it_->steps.words.rend(); ++w)
    bits.push_back(w->bits);
  return bits;
}

void RecordPlan::run(Queue& queue, const RecordOperands& operands) const {
  if (problem().count == 0) return;
  validate_queue(queue, *it_->device);
  validate_record_operands(problem(), operands, scratch_bytes(),
                           space_of(it_->device->info().claimed.backend));
  it_->enqueue(queue, operands);
}

std::vector<Plan::Phase> RecordPlan::profile(Queue& queue, const RecordOperands& operands) const {
  return profiled(queue, [&] { run(queue, operands); });
}

// -----------------------------------------------------------------------------------------------
// Permute
// -----------------------------------------------------------------------------------------------

void validate_permute_problem(const PermuteProblem& p) {
  if (p.count > (std::uint64_t{1} << 40))
    refuse(fmt::format("count is {}; up to 2^40 is allowed", p.count));
  if (p.elements > (std::uint64_t{1} << 40))
    refuse(fmt::format("elements is {}; up to 2^40 is allowed", p.elements));
  if (p.element_bytes == 0 || p.element_bytes > most_bytes)
    refuse(fmt::format("element_bytes is {}; 1 to {} are allowed", p.element_bytes, most_bytes));
  if (p.index_bytes != 4 && p.index_bytes != 8)
    refuse(fmt::format("index_bytes is {}; 4 and 8 are allowed", p.index_bytes));
}

Mover::Mover(Device& device, const PermuteProblem& problem, const Places& places)
    : problem_(problem), places_(places) {
  const auto& c = capabilities(device);
  const unsigned unit = unit_of(problem.element_bytes);
  units_ = problem.element_bytes / unit;
  work_group_ = work_group_of(c);
  groups_ = groups_of(c, problem.count * units_);
  if (c.backend == Backend::host) return;
  kernels::Defines defines;
  defines
      .problem({.count = problem.count * units_,
                .payload = Payload::values,
                .value_bytes = problem.index_bytes})
      .set("WG", work_group_)
      .set("UNIT_BYTES", unit)
      .set("ONE_UNIT", int{units_ == 1})
      .set("SCATTER", int{problem.direction == Direction::scatter})
      .set("PLACES", static_cast<int>(places.kind))
      .set("OFFSET_BITS", places.kind == Places::Kind::of_segments ? 8 * places.offset_bytes : 64);
  module_ = kernels::build(device, c, kernels::embedded::records_cl, defines);
  kernel_ = module_->kernel("records_permute");
}

namespace {

std::uint64_t number_at(const Memory& m, std::uint64_t i, unsigned bytes) {
  std::uint64_t x = 0;
  std::memcpy(&x, at(m) + i * bytes, bytes);
  return x;
}

// Elements [begin, end) of `size` bytes, a constant or the number.
template <class Index, class Size>
void move_elements(bool gathers, const std::byte* in, const Index* positions, std::byte* out,
                   std::uint64_t begin, std::uint64_t end, Size size) {
  for (std::uint64_t i = begin; i < end; ++i) {
    const std::uint64_t other = positions[i];
    if (gathers)
      std::memcpy(out + i * size, in + other * size, size);
    else
      std::memcpy(out + other * size, in + i * size, size);
  }
}

template <class Index>
void move_elements(const PermuteProblem& p, const std::byte* in, const Index* positions,
                   std::byte* out, std::uint64_t begin, std::uint64_t end) {
  const auto all = [&](auto size) {
    move_elements(p.direction == Direction::gather, in, positions, out, begin, end, size);
  };
  switch (p.element_bytes) {
    case 1:
      return all(std::integral_constant<std::size_t, 1>{});
    case 2:
      return all(std::integral_constant<std::size_t, 2>{});
    case 4:
      return all(std::integral_constant<std::size_t, 4>{});
    case 8:
      return all(std::integral_constant<std::size_t, 8>{});
    case 12:
      return all(std::integral_constant<std::size_t, 12>{});
    case 16:
      return all(std::integral_constant<std::size_t, 16>{});
    case 32:
      return all(std::integral_constant<std::size_t, 32>{});
    default:
      return all(std::size_t{p.element_bytes});
  }
}

}  // namespace

void Mover::move_on_host(Queue& queue, Memory in, Memory positions, Memory out,
                         Memory places_memory) const {
  const auto move = [&](std::uint64_t begin, std::uint64_t end) {
    if (problem_.index_bytes == 4)
      move_elements(problem_, at(in), reinterpret_cast<const std::uint32_t*>(at(positions)),
                    at(out), begin, end);
    else
      move_elements(problem_, at(in), reinterpret_cast<const std::uint64_t*>(at(positions)),
                    at(out), begin, end);
  };
  const std::string_view phase = problem_.direction == Direction::gather ? "gather" : "scatter";
  switch (places_.kind) {
    case Places::Kind::all:
      return on_host(queue, phase, problem_.count, move);
    case Places::Kind::counted:
      return on_host(queue, phase, number_at(places_memory, 0, 8), move);
    case Places::Kind::of_segments:
      return on_host(queue, phase, problem_.count, [&](std::uint64_t begin, std::uint64_t end) {
        const auto offset = [&](std::uint64_t s) {
          return number_at(places_memory, s, places_.offset_bytes);
        };
        for (auto i = begin; i < end;) {
          const std::uint64_t s = i / places_.limit, skipped = i - s * places_.limit,
                              length = offset(s + 1) - offset(s);
          const std::uint64_t places = std::min(places_.limit - skipped, end - i);
          if (skipped < length) move(i, i + std::min(places, length - skipped));
          i += places;
        }
      });
  }
}

void Mover::enqueue(Queue& queue, Memory in, Memory positions, Memory out,
                    Memory places_memory) const {
  if (!kernel_) return move_on_host(queue, in, positions, out, places_memory);
  const Memory places = places_.kind == Places::Kind::all ? Memory{} : places_memory;
  const Arg args[] = {{"in", in},
                      {"positions", positions},
                      {"out", out},
                      {"places", places},
                      {"n", problem_.count * units_},
                      {"units", units_},
                      {"limit", places_.limit}};
  queue.launch({*kernel_, groups_, work_group_, args,
                problem_.direction == Direction::gather ? "gather" : "scatter"});
}

Permute::Permute(std::shared_ptr<Device> device, const PermuteProblem& problem)
    : device_(std::move(device)), problem_(problem) {
  validate_permute_problem(problem_);
  mover_ = std::make_unique<Mover>(*device_, problem_);
}

Permute::Permute(Permute&&) noexcept = default;
Permute& Permute::operator=(Permute&&) noexcept = default;
Permute::~Permute() = default;

void Permute::run(Queue& queue, Memory in, Memory positions, Memory out) const {
  if (problem_.count == 0) return;
  const bool gathers = problem_.direction == Direction::gather;
  const std::uint64_t elements = problem_.elements == 0 ? problem_.count : problem_.elements;
  const unsigned unit = unit_of(problem_.element_bytes);
  const Operand all[] = {
      {"in", in, (gathers ? elements : problem_.count) * problem_.element_bytes, unit, false},
      {"positions", positions, problem_.count * problem_.index_bytes, problem_.index_bytes, false},
      {"out", out, (gathers ? problem_.count : elements) * problem_.element_bytes, unit}};
  validate_queue(queue, *device_);
  validate_operands(all, space_of(device_->info().claimed.backend));
  mover_->enqueue(queue, in, positions, out);
}

}  // namespace sortium
