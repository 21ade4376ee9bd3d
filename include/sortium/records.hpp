// Records: keys of several fields, byte strings, 128-bit keys, elements of any size.
// docs/records.md explains how plain sorts implement such a sort, and what it costs.
//
//   sortium::sort_records(particles, {sortium::by(&Particle::mass, sortium::Order::descending),
//                                     sortium::by(&Particle::id)});
//   // Lines of 100 bytes by their first 10:
//   sortium::sort_records(lines, 100, count, {{.type = sortium::FieldType::bytes(10)}});
//   sortium::sort_columns({sortium::by(mass), sortium::by(id)},
//                         {sortium::column(x), sortium::column(y)});
#pragma once

#include <sortium/export.h>

#include <array>
#include <cstddef>
#include <memory>
#include <sortium/host.hpp>
#include <sortium/permute.hpp>
#include <sortium/plan.hpp>
#include <span>
#include <string>
#include <vector>

namespace sortium {

// ---------------------------------------------------------------------------------------------
// Keys, columns, problem, operands
// ---------------------------------------------------------------------------------------------

// A 128-bit number, little-endian: the lower half comes first in memory.
struct u128 {
  std::uint64_t low = 0, high = 0;
  friend constexpr bool operator==(const u128&, const u128&) = default;
};

// The type of a field: a number of a KeyType, a 128-bit number (little-endian), or a string of
// bytes in memcmp's order.
class SORTIUM_API FieldType {
 public:
  enum class Kind : std::uint8_t { number, u128, i128, bytes };

  constexpr FieldType(KeyType key) : key_(key) {}
  static constexpr FieldType u128() { return {Kind::u128, 16}; }
  static constexpr FieldType i128() { return {Kind::i128, 16}; }
  static constexpr FieldType bytes(unsigned length) { return {Kind::bytes, length}; }  // 1 to 32

  [[nodiscard]] constexpr Kind kind() const { return kind_; }
  [[nodiscard]] constexpr KeyType key() const { return key_; }  // for numbers of a KeyType
  [[nodiscard]] unsigned size() const { return kind_ == Kind::number ? info(key_).bytes : length_; }
  [[nodiscard]] std::string name() const;  // "f32", "u128", "bytes(10)"

 private:
  constexpr FieldType(Kind kind, unsigned length) : kind_(kind), length_(length) {}
  Kind kind_ = Kind::number;
  KeyType key_ = KeyType::u32;
  unsigned length_ = 0;
};

// One field of a key.
struct Field {
  unsigned column = 0;       // the index of the column that holds it
  std::uint64_t offset = 0;  // bytes from the start of that column's element; need not be aligned
  FieldType type = KeyType::u32;
  Order order = Order::ascending;
  NanOrder nan = NanOrder::last;  // for floats
  ZeroOrder zeros = ZeroOrder::tied;
  unsigned begin_bit = 0, end_bit = 0;  // for numbers of a KeyType: as in Problem
};

enum class Moved : std::uint8_t {
  no,        // read only: it holds fields of the key
  in_place,  // sorted in place
  out,       // the sorted column is written elsewhere; the input stays unchanged
};

struct Column {
  unsigned bytes = 4;  // bytes of an element: 1 to 256
  Moved moved = Moved::in_place;
};

inline constexpr std::size_t max_fields = 32, max_columns = 64;  // limits for a RecordProblem

// Record i is element i of every column. The records are sorted by the key's fields, the most
// significant first; the sort is stable. It writes the moved columns, the sorted records' positions
// in the input, or both.
struct RecordProblem {
  std::uint64_t count = 0;        // records: 0 to 2^40
  std::vector<Column> columns{};  // 1 to 64; each is moved or holds a field of the key
  std::vector<Field> key{};       // 1 to 32 fields
  unsigned position_bytes = 0;    // 4 (count up to 2^32) or 8; 0: no positions are written
  // As in Problem: the number of segments, the number of sorted records to return (from each
  // segment), and the stride. With a limit no column is moved in place.
  std::uint64_t segments = 0;
  unsigned offset_bytes = 4;  // 0: segments of equal length
  std::uint64_t limit = 0;
  std::uint64_t stride = 1;  // from one record of a segment to the next
};
// The number of records in columns_out and positions.
[[nodiscard]] constexpr std::uint64_t records_out(const RecordProblem& p) {
  return records_out(Problem{.count = p.count, .segments = p.segments, .limit = p.limit});
}

// The memory that one sort of records reads and writes. A column begins at a multiple of the
// largest power of two, up to 16, that divides its element's bytes. No output overlaps another
// operand, except a column that is sorted in place.
struct RecordOperands {
  std::span<const Memory> columns_in{};  // one for each column
  // One for each column, or an empty span if no column is Moved::out. An entry counts only for a
  // column that is Moved::out; leave the others empty or equal to columns_in's.
  std::span<const Memory> columns_out{};
  Memory positions{};  // if position_bytes is not 0
  Memory scratch{};    // RecordPlan::scratch_bytes() bytes
  Memory offsets{};    // for segments: RecordProblem::segments + 1 numbers
};

// ---------------------------------------------------------------------------------------------
// Device memory
// ---------------------------------------------------------------------------------------------

// A plan to sort records on one device. Its constructor plans and compiles; run() only sorts.
//
// 1. Pack: the fields' order bits are concatenated and cut into words of 64 bits, from the most
//    significant bit on. The last word has 32 bits if they suffice.
// 2. Sort by each word, the least significant first (Knuth, The Art of Computer Programming, volume
//    3, 5.2.5: distribution from the right). Stable Plans move the records' positions.
// 3. Gather the columns by the sorted positions.
//
// cpu:0, and other devices if the list is long, sort all records by the most significant word only;
// records that tie are then sorted by the next word, and so on. On other devices, these words leave
// out bits in which no records differ, and columns that the words determine are not gathered. A key
// that is one whole column of a KeyType is not packed. A single value of 4 or 8 bytes moves with
// its key. With a limit, the most significant word selects the first records.
class SORTIUM_API RecordPlan {
 public:
  // `method` names the algorithm of the inner sorts, which must be stable and not partial; its
  // max_scratch_bytes bounds the whole plan. Throws Error as Plan does. The message names the field
  // or column and what is wrong with it.
  RecordPlan(std::shared_ptr<Device> device, const RecordProblem& problem,
             const Method& method = {});
  RecordPlan(RecordPlan&&) noexcept;
  RecordPlan& operator=(RecordPlan&&) noexcept;
  ~RecordPlan();

  // Bytes of scratch memory: for words and positions, for a column that is moved in place, and for
  // the inner sorts; docs/records.md has the amounts. With Method::max_scratch_bytes, all records
  // are sorted by each word, which needs least.
  [[nodiscard]] std::uint64_t scratch_bytes() const;
  [[nodiscard]] static std::uint64_t scratch_bytes_for(const RecordProblem& problem,
                                                       const Capabilities& capabilities,
                                                       const Method& method = {});

  // Only enqueues, as Plan::run().
  void run(Queue& queue, const RecordOperands& operands) const;
  // Runs once and waits. Returns the device time by phase, as Plan::profile(). RecordPlan's own
  // phases are "bits", "pack", "ties", "scatter", "unpack", "gather" and "copy".
  [[nodiscard]] std::vector<Plan::Phase> profile(Queue& queue,
                                                 const RecordOperands& operands) const;

  [[nodiscard]] const RecordProblem& problem() const;
  [[nodiscard]] const AlgorithmInfo& algorithm()
      const;  // of the last inner sort, by the most significant word
  [[nodiscard]] std::string parameters() const;  // of the same inner sort
  // Returns how many bits each word of the key has, the most significant word first. Words that
  // leave out equal bits may have fewer. Empty if the key is one column that is sorted without
  // packing.
  [[nodiscard]] std::vector<unsigned> word_bits() const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

// ---------------------------------------------------------------------------------------------
// Host memory
// ---------------------------------------------------------------------------------------------

struct RecordHostOperands {
  std::span<const void* const> columns_in{};
  std::span<void* const>
      columns_out{};  // as in RecordOperands; in-place columns are written through columns_in
  void* positions = nullptr;
  const void* offsets = nullptr;  // for segments: RecordProblem::segments + 1 numbers
};

// Sorts records in host memory; the functions below call it. Waits, costs and throws as sort_host()
// does. options.order, begin_bit, end_bit, nan and zeros must have their defaults: fields have
// their own. Host memory need not be aligned; misaligned columns are copied.
SORTIUM_API HostReport sort_records_host(const RecordProblem& problem,
                                         const RecordHostOperands& operands,
                                         const Options& options = {});

// The FieldType of T: a Key, a 128-bit number, or std::array of unsigned char or std::byte, of 1 to
// 32 elements.
template <class T>
struct field_type_of;  // undefined: T is not a field type
template <Key T>
struct field_type_of<T> {
  static constexpr FieldType value = key_type_of<std::remove_const_t<T>>::value;
};
template <>
struct field_type_of<u128> {
  static constexpr FieldType value = FieldType::u128();
};
template <std::size_t N>
requires(N >= 1 && N <= 32) struct field_type_of<std::array<unsigned char, N>> {
  static constexpr FieldType value = FieldType::bytes(N);
};
template <std::size_t N>
requires(N >= 1 && N <= 32) struct field_type_of<std::array<std::byte, N>> {
  static constexpr FieldType value = FieldType::bytes(N);
};
#ifdef __SIZEOF_INT128__
template <>
struct field_type_of<unsigned __int128> {
  static constexpr FieldType value = FieldType::u128();
};
template <>
struct field_type_of<__int128> {
  static constexpr FieldType value = FieldType::i128();
};
#endif

template <class T>
concept FieldValue = requires {
  field_type_of<std::remove_const_t<T>>::value;
};
template <class T>
concept WideKey = FieldValue<T> && !Key<T>;  // selects the overloads of sort() for wide keys
template <class R>
concept WideKeyRange = std::ranges::contiguous_range<R> && WideKey<std::ranges::range_value_t<R>>;
// Names a member of a struct as a field: sort_records(particles, {by(&Particle::mass), …}).
template <class Record, FieldValue T>
requires std::is_default_constructible_v<Record>
[[nodiscard]] Field by(T Record::*member, Order order = Order::ascending,
                       NanOrder nan = NanOrder::last, ZeroOrder zeros = ZeroOrder::tied) {
  const Record record{};
  const auto offset =
      reinterpret_cast<const char*>(&(record.*member)) - reinterpret_cast<const char*>(&record);
  return {0,
          static_cast<std::uint64_t>(offset),
          field_type_of<std::remove_const_t<T>>::value,
          order,
          nan,
          zeros};
}

// Sorts whole records in place. `record_bytes` is 1 to 256.
SORTIUM_API HostReport sort_records(void* records, unsigned record_bytes, std::uint64_t count,
                                    const std::vector<Field>& key, const Options& options = {});
// The same out of place: `records` is only read.
SORTIUM_API HostReport sort_records(const void* records, void* records_out, unsigned record_bytes,
                                    std::uint64_t count, const std::vector<Field>& key,
                                    const Options& options = {});
template <ElementRange Records>
HostReport sort_records(Records&& records, const std::vector<Field>& key,
                        const Options& options = {}) {
  return sort_records(static_cast<void*>(std::ranges::data(records)),
                      sizeof(std::ranges::range_value_t<Records>), std::ranges::size(records), key,
                      options);
}

// Returns the positions of the records in sorted order.
template <Index I = std::uint32_t>
[[nodiscard]] std::vector<I> argsort_records(const void* records, unsigned record_bytes,
                                             std::uint64_t count, const std::vector<Field>& key,
                                             const Options& options = {}) {
  auto out = detail::vector_of<I>(count);
  sort_records_host({count, {{record_bytes, Moved::no}}, key, sizeof(I)},
                    {{&records, 1}, {}, out.data()}, options);
  return out;
}
template <Index I = std::uint32_t, ElementRange Records>
[[nodiscard]] std::vector<I> argsort_records(const Records& records, const std::vector<Field>& key,
                                             const Options& options = {}) {
  return argsort_records<I>(static_cast<const void*>(std::ranges::data(records)),
                            sizeof(std::ranges::range_value_t<Records>), std::ranges::size(records),
                            key, options);
}

// Returns the first k records of the sorted order, sorted. Throws Error(invalid_argument) unless 1
// <= k <= the number of records.
template <ElementRange Records>
[[nodiscard]] auto topk_records(const Records& records, std::uint64_t k,
                                const std::vector<Field>& key, const Options& options = {}) {
  using R = std::remove_cv_t<std::ranges::range_value_t<Records>>;
  const std::uint64_t count = std::ranges::size(records);
  detail::check_k(k, count);
  auto out = detail::vector_of<R>(k);
  const void* const in = std::ranges::data(records);
  void* const to = out.data();
  sort_records_host({.count = count, .columns = {{sizeof(R), Moved::out}}, .key = key, .limit = k},
                    {{&in, 1}, {&to, 1}}, options);
  return out;
}
// Returns the positions of those records.
template <Index I = std::uint32_t, ElementRange Records>
[[nodiscard]] std::vector<I> argtopk_records(const Records& records, std::uint64_t k,
                                             const std::vector<Field>& key,
                                             const Options& options = {}) {
  const std::uint64_t count = std::ranges::size(records);
  detail::check_k(k, count);
  auto out = detail::vector_of<I>(k);
  const void* const in = std::ranges::data(records);
  sort_records_host(
      {count, {{sizeof(std::ranges::range_value_t<Records>), Moved::no}}, key, sizeof(I), 0, 4, k},
      {{&in, 1}, {}, out.data()}, options);
  return out;
}

namespace detail {
// Sorts keys that each consist of `field`, in the options' order, and moves values of any size with
// them (nullptr: no values).
SORTIUM_API HostReport sort_wide(Field field, void* keys, std::uint64_t count, void* values,
                                 unsigned value_bytes, Options options);
}  // namespace detail

// Sorts 128-bit numbers or byte strings in place, by options.order. Bit ranges are not supported.
template <WideKeyRange Keys>
HostReport sort(Keys&& keys, const Options& options = {}) {
  using K = std::ranges::range_value_t<Keys>;
  return detail::sort_wide({.type = field_type_of<K>::value}, std::ranges::data(keys),
                           std::ranges::size(keys), nullptr, 0, options);
}
// The same, and moves `values` with them.
template <WideKeyRange Keys, ValueRange Values>
HostReport sort(Keys&& keys, Values&& values, const Options& options = {}) {
  using K = std::ranges::range_value_t<Keys>;
  detail::check_lengths(std::ranges::size(keys), std::ranges::size(values));
  return detail::sort_wide({.type = field_type_of<K>::value}, std::ranges::data(keys),
                           std::ranges::size(keys), std::ranges::data(values),
                           sizeof(std::ranges::range_value_t<Values>), options);
}
template <Index I = std::uint32_t, WideKeyRange Keys>
[[nodiscard]] std::vector<I> argsort(const Keys& keys, Options options = {}) {
  const Field field{.type = field_type_of<std::ranges::range_value_t<Keys>>::value,
                    .order = options.order};
  options.order = Order::ascending;  // the field already has the order
  return argsort_records<I>(keys, {field}, options);
}

// A column of host memory.
struct HostColumn {
  void* data = nullptr;
  unsigned bytes = 0;  // bytes of an element
  std::uint64_t count = 0;
};
// A column of host memory that holds one field of the key.
struct KeyColumn {
  HostColumn column;
  Field field;  // its member `column` is ignored
};
template <ElementRange Values>
[[nodiscard]] HostColumn column(Values& values) {
  return {std::ranges::data(values), sizeof(std::ranges::range_value_t<Values>),
          std::ranges::size(values)};
}
template <ElementRange Keys>
requires FieldValue<std::ranges::range_value_t<Keys>>
[[nodiscard]] KeyColumn by(Keys& keys, Order order = Order::ascending,
                           NanOrder nan = NanOrder::last, ZeroOrder zeros = ZeroOrder::tied) {
  return {column(keys),
          {0, 0, field_type_of<std::ranges::range_value_t<Keys>>::value, order, nan, zeros}};
}

// Sorts key columns and `values` in place by the keys, the most significant first. All must have
// equally many elements.
SORTIUM_API HostReport sort_columns(const std::vector<KeyColumn>& keys,
                                    const std::vector<HostColumn>& values = {},
                                    const Options& options = {});

}  // namespace sortium
