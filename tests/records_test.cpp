// Compares sorts of records with std::stable_sort. The reference compares each field as numbers,
// without order_bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "expect_error.hpp"
#include "keys.hpp"
#include "sort/device_ties.hpp"
#include "sort/record_rows.hpp"
#include "sort/record_steps.hpp"
#include "support.hpp"

namespace sortium::test {
namespace {

// -----------------------------------------------------------------------------------------------
// The reference
// -----------------------------------------------------------------------------------------------

template <class T>
T load(const std::byte* p) {
  T x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

template <class T>
int compare(T a, T b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

// A float of any type: its value, and its sign and magnitude as one number.
struct Decoded {
  double value;
  bool negative;
  std::int64_t total;  // in IEEE 754's total order
};

Decoded decode(KeyType type, const std::byte* p) {
  const unsigned bits = info(type).bits();
  std::uint64_t raw = 0;
  std::memcpy(&raw, p, bits / 8);
  const bool negative = raw >> (bits - 1) != 0;
  const auto magnitude = static_cast<std::int64_t>(raw & ~(std::uint64_t{1} << (bits - 1)));
  Decoded d{0, negative, negative ? -1 - magnitude : magnitude};
  if (type == KeyType::f64) d.value = load<double>(p);
  if (type == KeyType::f32) d.value = load<float>(p);
  if (type == KeyType::bf16) d.value = std::bit_cast<float>(static_cast<std::uint32_t>(raw) << 16);
  if (type == KeyType::f16) {
    const int exponent = static_cast<int>(magnitude >> 10);
    const double fraction = static_cast<double>(magnitude & 0x3ff) / 1024;
    d.value = exponent == 31  ? (fraction == 0 ? INFINITY : NAN)
              : exponent == 0 ? std::ldexp(fraction, -14)
                              : std::ldexp(1 + fraction, exponent - 15);
    if (negative) d.value = -d.value;
  }
  return d;
}

int compare_floats(const Field& f, const std::byte* a, const std::byte* b) {
  const Decoded x = decode(f.type.key(), a), y = decode(f.type.key(), b);
  const int turn = f.order == Order::descending ? -1 : 1;
  if (std::isnan(x.value) || std::isnan(y.value)) {
    if (f.nan == NanOrder::bits) return turn * compare(x.total, y.total);
    const int later = compare(std::isnan(x.value), std::isnan(y.value));
    return f.nan == NanOrder::last ? later : -later;
  }
  if (x.value == 0 && y.value == 0 && f.zeros == ZeroOrder::distinct)
    return turn * compare(!x.negative, !y.negative);
  return turn * compare(x.value, y.value);
}

int compare_numbers(const Field& f, const std::byte* a, const std::byte* b) {
  const auto as = [&]<class T>(T) {
    if (f.begin_bit == 0 && f.end_bit == 0) return compare(load<T>(a), load<T>(b));
    const unsigned end = f.end_bit == 0 ? sizeof(T) * 8 : f.end_bit;  // of unsigned numbers only
    const auto part = [&](const std::byte* p) {
      return static_cast<std::uint64_t>(load<T>(p)) >> f.begin_bit &
             ~std::uint64_t{0} >> (64 - (end - f.begin_bit));
    };
    return compare(part(a), part(b));
  };
  switch (f.type.key()) {
    case KeyType::u8:
      return as(std::uint8_t{});
    case KeyType::i8:
      return as(std::int8_t{});
    case KeyType::u16:
      return as(std::uint16_t{});
    case KeyType::i16:
      return as(std::int16_t{});
    case KeyType::u32:
      return as(std::uint32_t{});
    case KeyType::i32:
      return as(std::int32_t{});
    case KeyType::u64:
      return as(std::uint64_t{});
    case KeyType::i64:
      return as(std::int64_t{});
    default:
      return 0;
  }
}

int compare_field(const Field& f, const std::byte* a, const std::byte* b) {
  if (f.type.kind() == FieldType::Kind::number && info(f.type.key()).is_float)
    return compare_floats(f, a, b);
  int c = 0;
  switch (f.type.kind()) {
    case FieldType::Kind::number:
      c = compare_numbers(f, a, b);
      break;
    case FieldType::Kind::u128:
      c = compare(load<unsigned __int128>(a), load<unsigned __int128>(b));
      break;
    case FieldType::Kind::i128:
      c = compare(load<__int128>(a), load<__int128>(b));
      break;
    case FieldType::Kind::bytes:
      c = std::memcmp(a, b, f.type.size());
      break;
  }
  return f.order == Order::descending ? -c : c;
}

using Bytes = std::vector<std::byte>;

using Numbers = std::vector<std::uint64_t>;

// Returns where each segment begins, and the end of the last one. If a problem has offsets, lengths
// vary widely; some are 0.
Numbers make_offsets(const RecordProblem& p) {
  if (p.segments == 0) return {0, p.count};
  Numbers offsets{0};
  for (std::uint64_t s = 1; s < p.segments; ++s)
    offsets.push_back(p.offset_bytes == 0
                          ? s * (p.count / p.segments)
                          : std::min(p.count, offsets.back() + (s % 4 == 2 ? 0 : s * s % 61)));
  offsets.push_back(p.count);
  return offsets;
}

// Returns, for each position of the output, its record's position in the input, or `none` if a
// segment is shorter than the limit.
constexpr std::uint64_t none = ~std::uint64_t{0};
Numbers sorted_positions(const RecordProblem& p, const std::vector<Bytes>& columns) {
  Numbers order(p.count);
  std::iota(order.begin(), order.end(), 0u);
  const auto less = [&](std::uint64_t i, std::uint64_t j) {
    for (const auto& f : p.key) {
      const std::uint64_t bytes = p.columns[f.column].bytes;
      const std::byte* const column = columns[f.column].data() + f.offset;
      if (const int c = compare_field(f, column + i * bytes, column + j * bytes)) return c < 0;
    }
    return false;
  };
  if (p.stride != 1) {  // the output has the shape (matrices, wanted, stride)
    const std::uint64_t length = p.count / p.segments, wanted = p.limit == 0 ? length : p.limit;
    Numbers out(p.segments * wanted), column(length);
    for (std::uint64_t s = 0; s < p.segments; ++s) {
      const std::uint64_t matrix = s / p.stride, first = s % p.stride;
      for (std::uint64_t j = 0; j < length; ++j)
        column[j] = (matrix * length + j) * p.stride + first;
      std::ranges::stable_sort(column, less);
      for (std::uint64_t j = 0; j < wanted; ++j)
        out[(matrix * wanted + j) * p.stride + first] = column[j];
    }
    return out;
  }
  const auto offsets = make_offsets(p);
  Numbers out;
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    const std::span segment(order.data() + offsets[s], order.data() + offsets[s + 1]);
    std::ranges::stable_sort(segment, less);
    for (std::uint64_t i = 0; i < (p.limit == 0 ? segment.size() : p.limit); ++i)
      out.push_back(i < segment.size() ? segment[i] : none);
  }
  return out;
}

// Columns with few distinct values in each field, special ones included, so that every field
// decides some comparisons. Long lists of an odd seed have many distinct values.
std::vector<Bytes> make_columns(const RecordProblem& p, std::uint64_t seed) {
  Random random(seed);
  std::vector<Bytes> columns;
  for (const auto& c : p.columns) {
    columns.emplace_back(p.count * c.bytes);
    for (auto& b : columns.back()) b = static_cast<std::byte>(random.next());
  }
  for (const auto& f : p.key) {
    const bool many = p.count >= 1u << 16 && seed % 2 != 0;
    std::vector<Bytes> some(many ? 30'000 : 5, Bytes(f.type.size()));
    for (auto& value : some) {
      if (f.type.kind() == FieldType::Kind::number) {
        const auto special = special_keys(f.type.key());
        const std::uint64_t x =
            random.below(3) == 0 ? random.next() : special[random.below(special.size())];
        std::memcpy(value.data(), &x, value.size());
      } else {
        constexpr std::uint8_t awkward[] = {0, 1, 0x7f, 0x80, 0xff};
        value = some[0];  // they differ in one byte or two, anywhere
        for (int k = 0; k < 2; ++k)
          value[random.below(value.size())] = static_cast<std::byte>(awkward[random.below(5)]);
      }
    }
    const std::uint64_t bytes = p.columns[f.column].bytes;
    for (std::uint64_t i = 0; i < p.count; ++i)
      std::ranges::copy(
          some[random.below(some.size())],
          columns[f.column].begin() + static_cast<std::ptrdiff_t>(i * bytes + f.offset));
  }
  return columns;
}

// Columns whose records differ in some bits only. For each byte of an element, a random mask
// selects the bits that may differ: a quarter of them or, if the seed is odd, three quarters. A
// column has up to 300 different elements, so that records tie.
std::vector<Bytes> make_columns_with_gaps(const RecordProblem& p, std::uint64_t seed) {
  Random random(seed);
  std::vector<Bytes> columns;
  const auto mask = [&] {
    const std::uint64_t a = random.next(), b = random.next();
    return static_cast<std::byte>(seed % 2 == 0 ? a & b : a | b);
  };
  for (const auto& column : p.columns) {
    std::vector<Bytes> some(300, Bytes(column.bytes));
    for (std::uint64_t b = 0; b < column.bytes; ++b) {
      const auto differ = mask(), same = static_cast<std::byte>(random.next());
      for (auto& element : some)
        element[b] = (static_cast<std::byte>(random.next()) & differ) | (same & ~differ);
    }
    columns.emplace_back();
    for (std::uint64_t i = 0; i < p.count; ++i) {
      const auto& element = some[random.below(some.size())];
      columns.back().insert(columns.back().end(), element.begin(), element.end());
    }
  }
  return columns;
}

// -----------------------------------------------------------------------------------------------
// A trial on device memory
// -----------------------------------------------------------------------------------------------

struct Area {
  std::string name;
  std::uint64_t bytes, unit;
  bool written;
  std::uint64_t offset = 0;
};

unsigned alignment_of(unsigned bytes) { return (bytes | 16) & (~(bytes | 16) + 1); }
std::byte canary(std::uint64_t at) { return static_cast<std::byte>(0xa5 ^ (at * 0x9d >> 3)); }

// Areas one after the other in a buffer, with the least alignment that is allowed, and canaries
// between them.
std::uint64_t place(std::vector<Area>& areas) {
  std::uint64_t total = 512;
  for (auto& a : areas) {
    a.offset = total + a.unit;
    total = (a.offset + a.bytes + 511) / 512 * 512 + 512;
  }
  return total;
}

// Runs run(queue, operands), which sorts `columns`. Returns a description of the first error, or
// nothing.
template <class Run>
std::string trial_of(const RecordProblem& p, const std::vector<Bytes>& columns,
                     std::uint64_t scratch_bytes, const Run& run) {
  const auto& device = test_device();

  std::vector<Area> areas;
  std::vector<std::size_t> in, out;
  for (const auto& c : p.columns) {
    in.push_back(areas.size());
    areas.push_back({"in", p.count * c.bytes, alignment_of(c.bytes), c.moved == Moved::in_place});
    out.push_back(c.moved == Moved::in_place ? in.back() : areas.size());
    if (c.moved == Moved::out)
      areas.push_back({"out", records_out(p) * c.bytes, alignment_of(c.bytes), true});
  }
  const std::size_t positions = areas.size(), offsets = positions + 1;
  areas.push_back(
      {"positions", records_out(p) * p.position_bytes, std::max(p.position_bytes, 1u), true});
  areas.push_back({"offsets", offsets_bytes(p.segments, p.offset_bytes), p.offset_bytes, false});
  areas.push_back({"scratch", scratch_bytes, 16, true});
  std::vector<std::byte> before(place(areas));
  for (std::uint64_t i = 0; i < before.size(); ++i) before[i] = canary(i);
  for (std::size_t c = 0; c < columns.size(); ++c)
    std::ranges::copy(columns[c],
                      before.begin() + static_cast<std::ptrdiff_t>(areas[in[c]].offset));
  if (areas[offsets].bytes != 0)
    for (std::uint64_t s = 0; const auto offset : make_offsets(p))
      std::memcpy(before.data() + areas[offsets].offset + s++ * p.offset_bytes, &offset,
                  p.offset_bytes);

  const auto queue = device->make_queue();
  const auto buffer = device->allocate(before.size());
  queue->write(buffer->memory(), before.data(), before.size());
  const auto memory = [&](std::size_t area) {
    return areas[area].bytes == 0 ? Memory{}
                                  : buffer->memory().slice(areas[area].offset, areas[area].bytes);
  };
  std::vector<Memory> columns_in, columns_out;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    columns_in.push_back(memory(in[c]));
    columns_out.push_back(p.columns[c].moved == Moved::no ? Memory{} : memory(out[c]));
  }
  run(*queue,
      {columns_in, columns_out, memory(positions), memory(areas.size() - 1), memory(offsets)});
  auto after = before;
  queue->read(after.data(), buffer->memory(), after.size());

  auto should = before;
  const auto order = sorted_positions(p, columns);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (p.columns[c].moved == Moved::no) continue;
    const std::uint64_t bytes = p.columns[c].bytes;
    for (std::uint64_t i = 0; i < order.size(); ++i)
      if (order[i] != none)
        std::memcpy(should.data() + areas[out[c]].offset + i * bytes,
                    columns[c].data() + order[i] * bytes, bytes);
  }
  for (std::uint64_t i = 0; i < order.size(); ++i)
    if (order[i] != none)
      std::memcpy(should.data() + areas[positions].offset + i * p.position_bytes, &order[i],
                  p.position_bytes);
  const auto& scratch = areas.back();
  std::copy_n(after.begin() + static_cast<std::ptrdiff_t>(scratch.offset), scratch.bytes,
              should.begin() + static_cast<std::ptrdiff_t>(scratch.offset));
  const auto at =
      static_cast<std::uint64_t>(std::ranges::mismatch(after, should).in1 - after.begin());
  if (at == after.size()) return "";
  std::string near;
  for (const auto& a : areas)
    near += fmt::format(" {} {}:{}", a.name, a.offset, a.offset + a.bytes);
  return fmt::format("byte {} is {:#x}, should be {:#x}; there are{}", at,
                     static_cast<int>(after[at]), static_cast<int>(should[at]), near);
}

std::string trial(const RecordProblem& p, const std::vector<Bytes>& columns,
                  const Method& method = {}) {
  const auto& device = test_device();
  const RecordPlan plan(device, p, method);
  if (plan.scratch_bytes() != RecordPlan::scratch_bytes_for(p, capabilities(*device), method))
    return "scratch_bytes_for differs";
  return trial_of(p, columns, plan.scratch_bytes(),
                  [&](Queue& queue, const RecordOperands& o) { plan.run(queue, o); });
}
std::string trial(const RecordProblem& p, std::uint64_t seed, const Method& method = {}) {
  return trial(p, make_columns(p, seed), method);
}

std::vector<std::uint64_t> counts() {
  if (is_set("SORTIUM_TEST_SMALL")) return {0, 1, 97};
  return {0, 1, 2, 97, 1009, 4097, 10007};
}

void expect_sorted(RecordProblem p, std::string_view what,
                   std::vector<std::uint64_t> sizes = counts()) {
  for (const auto count : sizes) {
    p.count = count;
    EXPECT_EQ(trial(p, count * 31 + 7), "") << what << ", " << count << " records";
  }
}

// Only some sizes, because there are many cases.
std::vector<std::uint64_t> few_counts() {
  if (is_set("SORTIUM_TEST_SMALL")) return {97};
  return {1, 97, 4097};
}
// Returns the cases to run: all on cpu:0, some on devices that compile kernels for each case, few
// on a simulator.
template <class T>
T cases(T host, T kernels, T small) {
  return is_set("SORTIUM_TEST_SMALL") ? small : on_host() ? host : kernels;
}
using Sizes = std::vector<unsigned>;
Sizes up_to(unsigned last) {
  Sizes all(last);
  std::iota(all.begin(), all.end(), 1u);
  return all;
}

TEST(Records, FloatsOfEveryPolicy) {
  constexpr KeyType types[] = {KeyType::f32, KeyType::f16, KeyType::f64, KeyType::bf16};
  for (unsigned k = 0; k < 12; k += cases(1, 2, 12)) {
    RecordProblem p{.columns = {{21}}, .position_bytes = 4};
    std::uint64_t offset = k % 5;
    for (unsigned j = 0; j < 4; ++j) {
      const unsigned policy = (k + 3 * j) % 12;
      const KeyType type = types[(j + k / 3) % 4];
      p.key.push_back(
          {0, offset, type, Order(policy % 2), NanOrder(policy / 2 % 3), ZeroOrder(policy / 6)});
      offset += info(type).bytes;
    }
    expect_sorted(p, fmt::format("policies from {} on", k), few_counts());
  }
}

// Whole columns as keys: sorted without packing if the algorithms support it.
TEST(Records, FloatColumnsOfEveryPolicy) {
  for (const auto type : {KeyType::f32, KeyType::f64, KeyType::f16, KeyType::bf16})
    for (unsigned policy = 0; policy < 12; policy += cases(1, 12, 12))
      expect_sorted({.columns = {{info(type).bytes}, {4}},
                     .key = {{0, 0, type, Order(policy % 2), NanOrder(policy / 2 % 3),
                              ZeroOrder(policy / 6)}}},
                    fmt::format("{}, policy {}", info(type).name, policy), {1009});
}

TEST(Records, IntegersOfEveryWidth) {
  const std::vector<KeyType> types{KeyType::u8, KeyType::i16, KeyType::u32, KeyType::i64,
                                   KeyType::i8, KeyType::u16, KeyType::i32, KeyType::u64};
  for (unsigned k = 0; k < cases(4u, 2u, 1u); ++k) {
    RecordProblem p{.columns = {{30 + 3 * k, Moved::out}}};
    std::uint64_t offset = k;
    for (unsigned j = 0; j < cases(8u, 8u, 4u);
         ++j) {  // Oclgrind knows no funnel shift, which numbers across words make
      const auto type = types[(j + 2 * k) % 8];
      p.key.push_back({0, offset, type, Order((j + k) % 2)});
      offset += info(type).bytes;
    }
    expect_sorted(p, fmt::format("rotated by {}", k), few_counts());
  }
  for (const auto type : all_key_types)
    if (on_host() || info(type).bytes == 4)
      expect_sorted({.columns = {{info(type).bytes}, {8, Moved::out}},
                     .key = {{0, 0, type, Order::descending}},
                     .position_bytes = 8},
                    info(type).name, {1009});
}

TEST(Records, ByteStrings) {
  for (const unsigned n : cases(up_to(32), {1, 2, 3, 5, 8, 9, 15, 31}, {3, 13})) {
    RecordProblem p{.columns = {{n + n % 4, n % 2 == 0 ? Moved::in_place : Moved::out}}};
    p.key = {{0, n % 4, FieldType::bytes(n), n % 3 == 0 ? Order::descending : Order::ascending}};
    expect_sorted(p, fmt::format("{} bytes", n), few_counts());
  }
  // Records of 100 bytes, sorted by 10 of them.
  expect_sorted({.columns = {{100}}, .key = {{.type = FieldType::bytes(10)}}}, "100 bytes");
}

TEST(Records, Numbers128) {
  for (const auto order : {Order::ascending, Order::descending})
    for (const auto type : {FieldType::u128(), FieldType::i128()}) {
      if (!on_host() && (order == Order::descending) != (type.kind() == FieldType::Kind::i128))
        continue;
      expect_sorted({.columns = {{16}}, .key = {{.type = type, .order = order}}}, type.name());
      // Three of the words begin within it.
      expect_sorted({.columns = {{24, Moved::no}, {2}},
                     .key = {{0, 5, type, order}, {1, 0, KeyType::u16}},
                     .position_bytes = 8},
                    type.name(), few_counts());
    }
}

TEST(Records, ColumnsInAndOutOfPlace) {
  const std::vector<Field> key{{1, 0, KeyType::f32, Order::descending}, {0, 2, KeyType::u16}};
  expect_sorted({.columns = {{12}, {4, Moved::out}, {1}, {256, Moved::out}, {7, Moved::out}},
                 .key = key,
                 .position_bytes = 4},
                "all");
  expect_sorted({.columns = {{4, Moved::no}, {4, Moved::no}}, .key = key, .position_bytes = 4},
                "positions alone");
  expect_sorted({.columns = {{4, Moved::no}, {4, Moved::no}, {8, Moved::out}}, .key = key},
                "a value moves with its key");
  expect_sorted({.columns = {{4, Moved::no}, {4, Moved::no}, {4}}, .key = key}, "in place");
  expect_sorted({.columns = {{8}}, .key = {{0, 4, KeyType::f32}, {0, 0, KeyType::i32}}},
                "records of 8 bytes");
  for (const auto moved : {Moved::no, Moved::in_place, Moved::out})
    for (const auto value : {Moved::in_place, Moved::out})
      for (const unsigned bytes : {4u, 8u, 12u})
        expect_sorted({.columns = {{8, moved}, {bytes, value}},
                       .key = {{.type = KeyType::i64, .order = Order::descending}}},
                      fmt::format("column as it is, {} {} {}", int(moved), int(value), bytes),
                      few_counts());
  expect_sorted({.columns = {{4}}, .key = {{.type = KeyType::u32}}}, "keys alone");
  expect_sorted({.columns = {{4, Moved::no}},
                 .key = {{.type = KeyType::u32, .begin_bit = 3, .end_bit = 17}},
                 .position_bytes = 8},
                "bits");
}

// Returns a key of two words. Oclgrind does not support the funnel shift that packs an i16 beside a
// string.
std::vector<Field> two_words() {
  if (is_set("SORTIUM_TEST_SMALL")) return {{0, 8, FieldType::bytes(13)}};
  return {{0, 4, KeyType::i16}, {0, 8, FieldType::bytes(11)}};
}

// Values of every kind of size, with a key that is a whole column, one word, or several words.
TEST(Records, Segments) {
  const auto each = [](const RecordProblem& p, std::string_view what) {
    RecordProblem q = p;
    for (const std::uint64_t segments : cases(Numbers{1, 2, 50, 600}, {50}, {20})) {
      q.segments = segments;
      expect_sorted(q, fmt::format("{}, {} segments", what, segments), few_counts());
    }
  };
  for (const unsigned bytes : cases(Sizes{1, 2, 3, 4, 8, 12, 16, 100, 256}, {1, 4, 12, 256}, {12}))
    for (const auto moved : {Moved::in_place, Moved::out})
      each({.columns = {{4, moved}, {bytes, moved}},
            .key = {{.type = KeyType::f32, .order = Order::descending}},
            .offset_bytes = bytes % 8 == 0 ? 8u : 4u},
           fmt::format("values of {} bytes", bytes));
  each({.columns = {{8}}, .key = {{0, 4, KeyType::i16}, {0, 1, KeyType::u8}}},
       "a value moves with its word");
  each({.columns = {{24, Moved::out}}, .key = two_words(), .position_bytes = 4, .offset_bytes = 8},
       "two words");
  each({.columns = {{24, Moved::no}}, .key = two_words(), .position_bytes = 8}, "positions alone");
}

// Segments without offsets, and the first records of some; also along another axis.
TEST(Records, Rows) {
  Random random(run_seed());
  const auto each = [&](RecordProblem p, std::string_view what) {
    p.offset_bytes = 0;
    for (const std::uint64_t length : cases(Numbers{1, 7, 100, 3000}, {1, 100}, {20}))
      for (unsigned i = 0; i < 3; ++i) {
        p.stride = i == 2 ? 1 + random.below(9) : 1;
        p.segments = (1 + random.below(i == 0 ? 5 : i == 1 ? 60 : 4)) * p.stride;
        p.count = p.segments * length;
        p.limit = p.columns[0].moved == Moved::in_place || i == 0 ? 0 : 1 + random.below(length);
        EXPECT_EQ(trial(p, random.next()), "")
            << what << ", " << p.segments << " rows of " << length << " records, stride "
            << p.stride << ", limit " << p.limit;
      }
  };
  each({.columns = {{4}, {12}}, .key = {{.type = KeyType::f32}}}, "values of 12 bytes");
  each({.columns = {{4, Moved::out}, {8, Moved::out}},
        .key = {{.type = KeyType::f32, .order = Order::descending}},
        .position_bytes = 4},
       "values of 8 bytes");
  each({.columns = {{24, Moved::out}}, .key = two_words(), .position_bytes = 8}, "two words");
}

TEST(Records, FirstOnes) {
  const auto each = [](const RecordProblem& p, std::string_view what) {
    for (const auto count : few_counts())
      for (const std::uint64_t k : {std::uint64_t{1}, count / 3, count}) {
        if (k == 0) continue;
        RecordProblem q = p;
        q.count = count;
        q.limit = k;
        EXPECT_EQ(trial(q, count * 31 + k), "")
            << what << ", the first " << k << " of " << count << " records";
      }
  };
  for (const unsigned bytes : cases(Sizes{1, 2, 3, 4, 8, 12, 16, 100, 256}, {1, 4, 12, 256}, {12}))
    for (const auto moved : {Moved::no, Moved::out})
      each({.columns = {{4, moved}, {bytes, Moved::out}},
            .key = {{.type = KeyType::f32, .order = Order::descending}}},
           fmt::format("values of {} bytes, keys {}", bytes, moved == Moved::out));
  each({.columns = {{8, Moved::out}}, .key = {{0, 4, KeyType::i16}, {0, 1, KeyType::u8}}},
       "records of 8 bytes");
  each({.columns = {{24, Moved::out}}, .key = two_words(), .position_bytes = 4}, "two words");
  each({.columns = {{16, Moved::no}},
        .key = {{0, 0, FieldType::u128(), Order::descending}},
        .position_bytes = 8},
       "positions alone");
}

TEST(Records, FirstOnesOfSegments) {
  const auto each = [](RecordProblem p, std::string_view what) {
    for (const auto count : few_counts())
      for (const std::uint64_t k : cases(Numbers{1, 7, 60}, {7}, {7})) {
        if (k > count) continue;
        p.count = count;
        p.segments = 50;
        p.limit = k;
        EXPECT_EQ(trial(p, count * 31 + k), "")
            << what << ", the first " << k << " of segments of " << count << " records";
      }
  };
  for (const unsigned bytes : cases(Sizes{1, 4, 8, 12, 16, 100}, {2, 8, 100}, {12}))
    each({.columns = {{4, Moved::out}, {bytes, Moved::out}},
          .key = {{.type = KeyType::f32}},
          .position_bytes = 4,
          .offset_bytes = bytes > 12 ? 8u : 4u},
         fmt::format("values of {} bytes", bytes));
  each({.columns = {{24, Moved::out}}, .key = two_words()}, "two words");
}

TEST(Records, MoreColumnsThanAKernelTakes) {
  RecordProblem p;
  for (unsigned c = 0; c < 11; ++c) {
    p.columns.push_back({2 + c % 3});
    p.key.push_back({c, 1, KeyType::u8, Order(c % 2), {}, {}, 2, 3 + c % 5});
    if (c % 2 != 0) p.key.back() = {c, 0, KeyType::u16, Order::ascending, {}, {}, 9, 12};
  }
  const RecordPlan plan(test_device(), p);
  EXPECT_EQ(plan.word_bits().size(), 2u);
  expect_sorted(p, "eleven columns");
}

TEST(Records, WordsAreAsFewAsTheirBitsNeed) {
  const auto words = [](std::vector<Column> columns, std::vector<Field> key) {
    return RecordPlan(test_device(), {10, std::move(columns), std::move(key)}).word_bits();
  };
  using Bits = std::vector<unsigned>;
  EXPECT_EQ(words({{6}}, {{0, 0, KeyType::f32}, {0, 4, KeyType::u16}}), Bits{48});
  EXPECT_EQ(words({{100}}, {{.type = FieldType::bytes(10)}}), (Bits{64, 16}));
  EXPECT_EQ(words({{16}}, {{.type = FieldType::u128()}}), (Bits{64, 64}));
  EXPECT_EQ(words({{4}}, {{.type = KeyType::f32}}), Bits{});
  EXPECT_EQ(words({{32}}, {{.type = FieldType::bytes(32)}}), (Bits{64, 64, 64, 64}));
  EXPECT_EQ(words({{8}},
                  {{0, 0, KeyType::u32, {}, {}, {}, 0, 20}, {0, 4, KeyType::u8, {}, {}, {}, 0, 3}}),
            Bits{23});
}

// Keys of several words, each with few distinct ones. cpu:0 sorts groups that tie by the next word:
// here groups of all sizes, from two records to more than one thread sorts.
TEST(Records, GroupsThatTie) {
  if (!on_host()) GTEST_SKIP() << "other devices have tests of their own";
  const std::vector<std::uint64_t> sizes{97, 4097, 200'003};
  RecordProblem p{.columns = {{60, Moved::out}, {4, Moved::in_place}}};
  for (unsigned f = 0; f < 6; ++f)
    p.key.push_back({0, f * 9, f % 2 == 0 ? FieldType::bytes(8) : KeyType::u64,
                     f % 3 == 0 ? Order::descending : Order::ascending});
  expect_sorted(p, "six words", sizes);
  p.position_bytes = 8;
  p.key.insert(p.key.begin() + 1, {1, 0, KeyType::f32, Order::descending});
  expect_sorted(p, "seven words, cut in the middle of fields", few_counts());
  p.key = {{0, 1, FieldType::i128()}, {0, 20, FieldType::bytes(31), Order::descending}};
  p.position_bytes = 4;
  expect_sorted(p, "wide numbers and strings", few_counts());
}

// Sorts records as rows, however few they are. The first field, a number, gets one of `distinct`
// values.
std::string trial_as_rows(const RecordProblem& p, std::uint64_t distinct) {
  auto columns = make_columns(p, run_seed() | 1);
  Random random(run_seed() + distinct);
  const auto& first = p.key[0];
  const std::uint64_t bytes = p.columns[first.column].bytes;
  for (std::uint64_t i = 0; i < p.count; ++i) {
    const std::uint64_t x = random.below(distinct) * 0x9e3779b97f4a7c15u;
    std::memcpy(columns[first.column].data() + i * bytes + first.offset, &x, first.type.size());
  }
  bool sorted = false;
  const auto what = trial_of(
      p, columns, record_rows::scratch_bytes(p), [&](Queue& queue, const RecordOperands& o) {
        sorted = record_rows::sort(queue, p, o.columns_in, o.columns_out, o.scratch);
      });
  return sorted ? what : "not sorted";
}

TEST(Records, AsRows) {
  if (!on_host()) GTEST_SKIP() << "devices gather";
  const Field number{0, 0, KeyType::u32}, down{0, 0, KeyType::u64, Order::descending};
  const std::vector<RecordProblem> problems{
      {.columns = {{4, Moved::out}, {2, Moved::out}, {8, Moved::out}},
       .key = {number, {1, 0, KeyType::f16, Order::descending}, {2, 0, KeyType::f64}}},
      {.columns = {{4}, {2}, {8, Moved::no}, {3}}, .key = {number, {2, 0, KeyType::u64}}},
      {.columns = {{8, Moved::no}, {12}}, .key = {down}},
      {.columns = {{4, Moved::out}, {1}}, .key = {number}},
      {.columns = {{32}}, .key = {down, {0, 8, FieldType::bytes(24)}}},
      {.columns = {{17, Moved::out}}, .key = {{0, 3, KeyType::i32}, {0, 7, FieldType::bytes(10)}}}};
  for (auto p : problems)
    for (const std::uint64_t count : {32'769, 100'003})
      for (const std::uint64_t distinct : {count, count / 40, std::uint64_t{300}}) {
        p.count = count;
        EXPECT_EQ(trial_as_rows(p, distinct), "")
            << p.columns.size() << " columns, " << p.columns[0].bytes << " bytes in the first, "
            << count << " records, " << distinct << " values";
      }
}

// Words so frequent that one thread would sort too many rows, and records in order, are left to the
// sort by words.
TEST(Records, NotAsRows) {
  if (!on_host()) GTEST_SKIP() << "devices gather";
  RecordProblem p{.count = 40'000,
                  .columns = {{8, Moved::out}, {8, Moved::out}},
                  .key = {{0, 0, KeyType::u64}, {1, 0, KeyType::u64}}};
  EXPECT_EQ(trial_as_rows(p, 4), "not sorted");
  p.key.pop_back();
  for (const std::uint64_t distinct : {4, 16})  // 16: perhaps parts larger than a thread's memory
    EXPECT_EQ(trial_as_rows(p, distinct), "");
  EXPECT_EQ(trial_as_rows(p, 1), "not sorted");  // in order
}

TEST(Records, RowsAreMovedIfColumnsWouldBeGathered) {
  if (!on_host()) GTEST_SKIP() << "devices gather";
  const auto& device = capabilities(*test_device());
  const auto moves_rows = [&](std::uint64_t count, std::vector<Column> columns) {
    const std::vector<Field> key{{0, 0, KeyType::u64}};
    return RecordSteps({count, std::move(columns), key}, device, {}).moves_rows;
  };
  constexpr std::uint64_t many = 1 << 23;
  EXPECT_FALSE(moves_rows(many, {{8}})) << "keys alone";
  EXPECT_FALSE(moves_rows(many, {{8}, {4}})) << "a value moves with its key";
  EXPECT_TRUE(moves_rows(many, {{8}, {4}, {2}}));
  EXPECT_FALSE(moves_rows(many - 1, {{8}, {4}, {2}})) << "few";
  EXPECT_FALSE(moves_rows(many, {{8}, {25}})) << "rows of 33 bytes";
}

TEST(Records, SoManyThatRowsAreMoved) {
  if (!on_host()) GTEST_SKIP() << "devices gather";
  const std::vector<Field> key{{0, 0, KeyType::u32}, {1, 0, KeyType::f64, Order::descending}};
  expect_sorted({.columns = {{4, Moved::out}, {8}, {2}}, .key = key}, "rows", {(1 << 20) + 1});
}

// Long lists on devices: the bits in which records differ become words, and records that tie are
// sorted by the next word. The odd sizes have few distinct values in each field.
TEST(Records, BitsThatDiffer) {
  if (on_host()) GTEST_SKIP() << "cpu:0 sorts by all bits";
  if (is_set("SORTIUM_TEST_SMALL")) GTEST_SKIP() << "such lists are long";
  const bool of_gpu = capabilities(*test_device()).kind == DeviceKind::gpu;
  const std::vector<std::uint64_t> sizes{of_gpu ? 1u << 19 : 1u << 16, of_gpu ? 600'001u : 70'001u};
  const std::vector<Field> three{
      {0, 0, KeyType::f32, Order::descending}, {1, 0, KeyType::u16}, {2, 0, KeyType::u64}};
  std::uint64_t number = 0;
  const auto expect = [&](const RecordProblem& p, const char* what) {
    if (is_drawn(number++) || of_gpu) expect_sorted(p, what, sizes);
  };
  expect({.columns = {{4, Moved::out}, {2, Moved::out}, {8, Moved::out}}, .key = three},
         "columns that are the key");
  expect({.columns = {{4}, {2}, {8}, {3}}, .key = three, .position_bytes = 8},
         "the same in place, with another column and positions");
  expect({.columns = {{8}}, .key = {{0, 4, KeyType::i32}, {0, 0, KeyType::u32}}},
         "records that are one word");
  expect({.columns = {{8, Moved::out}, {8, Moved::out}},
          .key = {{0, 4, KeyType::i32}, {0, 0, KeyType::u32}}},
         "a value moves with a word");
  expect({.columns = {{8, Moved::no}, {12}}, .key = {{0, 1, FieldType::bytes(5)}}},
         "a word with another column");
  expect({.columns = {{33, Moved::out}}, .key = {{0, 1, FieldType::bytes(32), Order::descending}}},
         "strings of four words");
  expect({.columns = {{24}},
          .key = {{0, 8, FieldType::i128(), Order::descending},
                  {0, 0, KeyType::f64, {}, NanOrder::first, ZeroOrder::distinct}}},
         "three words");
  expect({.columns = {{6, Moved::out}, {7, Moved::no}},
          .key = {{1, 1, KeyType::f16, Order::descending, NanOrder::bits},
                  {0, 0, KeyType::i16},
                  {1, 3, KeyType::u32, {}, {}, {}, 3, 29},
                  {0, 2, KeyType::f32, {}, NanOrder::first}}},
         "bits of fields");
}

// Bits between those that differ are the same in all records.
TEST(Records, BitsThatDifferWithGaps) {
  if (on_host()) GTEST_SKIP() << "cpu:0 sorts by all bits";
  if (is_set("SORTIUM_TEST_SMALL")) GTEST_SKIP() << "such lists are long";
  const bool of_gpu = capabilities(*test_device()).kind == DeviceKind::gpu;
  const std::uint64_t count = of_gpu ? 600'001u : 70'001u;
  const RecordProblem problems[] = {
      {.count = count, .columns = {{16}}, .key = {{0, 0, FieldType::bytes(16)}}},
      {.count = count,
       .columns = {{4, Moved::out}, {2}, {8, Moved::out}},
       .key = {{0, 0, KeyType::f32, Order::descending},
               {1, 0, KeyType::u16},
               {2, 0, KeyType::i64}}},
      {.count = count,
       .columns = {{24, Moved::out}},
       .key = {{0, 8, FieldType::u128()}, {0, 3, KeyType::u32, {}, {}, {}, 3, 29}}},
      {.count = count,
       .columns = {{8}},
       .key = {{0, 4, KeyType::i32}, {0, 0, KeyType::f32}},
       .position_bytes = 4},
  };
  std::uint64_t number = 0;
  for (const auto& p : problems) {
    if (!is_drawn(number++) && !of_gpu) continue;
    for (int k = 0; k < 3; ++k) {
      const std::uint64_t seed = run_seed() + static_cast<std::uint64_t>(k);
      EXPECT_EQ(trial(p, make_columns_with_gaps(p, seed)), "")
          << "columns of " << p.columns[0].bytes << " bytes and more, seed " << seed;
    }
  }
}

// The same steps for few records, so that a simulator can run their kernels. The host sorts by the
// first word in place of a plan. Returns what is wrong. Sets `positions`: the values were
// positions, not tails.
std::string trial_of_few(const RecordProblem& p, const std::vector<Bytes>& columns,
                         bool& positions) {
  const auto& device = test_device();
  const auto& c = capabilities(*device);
  VaryingKey key(p, 4);
  TieSteps steps(p.count, 4, key.bits(), c);
  key.build(*device, c);
  const DeviceTies ties(device, steps);
  const auto queue = device->make_queue();
  std::vector<std::unique_ptr<Buffer>> buffers;
  const auto array = [&](std::uint64_t bytes) {
    return buffers.emplace_back(device->allocate(bytes))->memory();
  };
  const Memory table = array(key.table_bytes()), words = array(p.count * 8),
               values = array(p.count * 4), scratch = array(steps.layout.bytes());
  std::vector<Memory> in;
  for (const auto& column : columns) {
    in.push_back(array(column.size()));
    queue->write(in.back(), column.data(), column.size());
  }
  std::vector<std::uint32_t> order(p.count), host_values, sorted_values;
  std::iota(order.begin(), order.end(), 0u);
  host_values = order;
  queue->write(values, order.data(), p.count * 4);
  key.pack(*queue, in, table, words, values);

  Numbers host_words(p.count), sorted_words;
  queue->read(host_words.data(), words, p.count * 8);
  queue->read(host_values.data(), values, p.count * 4);
  positions = host_values == order;
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return host_words[i]; });
  for (const auto i : order) {
    sorted_words.push_back(host_words[i]);
    sorted_values.push_back(host_values[i]);
  }
  queue->write(words, sorted_words.data(), p.count * 8);
  queue->write(values, sorted_values.data(), p.count * 4);
  ties.enqueue(*queue, key, in, table, words, values, scratch);
  const auto should = sorted_positions(p, columns);
  if (positions) {
    queue->read(order.data(), values, p.count * 4);
    for (std::uint64_t i = 0; i < p.count; ++i)
      if (order[i] != should[i]) return fmt::format("position {} is wrong", i);
  }
  for (unsigned column = 0; column < columns.size(); ++column) {
    const unsigned bytes = p.columns[column].bytes;
    const Memory out = array(p.count * bytes);
    const VaryingKey::Unpacked unpacked{column, in[column], out};
    key.unpack(*queue, {&unpacked, 1}, words, values, table);
    Bytes got(p.count * bytes);
    queue->read(got.data(), out, got.size());
    for (std::uint64_t i = 0; i < p.count; ++i)
      if (std::memcmp(&got[i * bytes], &columns[column][should[i] * bytes], bytes) != 0)
        return fmt::format("column {}, record {} is wrong", column, i);
  }
  return {};
}

TEST(Records, BitsThatDifferOfFewRecords) {
  if (on_host()) GTEST_SKIP() << "cpu:0 sorts by all bits";
  RecordProblem p{.count = 97,
                  .columns = {{16, Moved::out}, {4, Moved::out}},
                  .key = {{0, 0, FieldType::bytes(16)}, {1, 0, KeyType::f32, Order::descending}}};
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    const auto columns = seed < 3 ? make_columns(p, seed) : make_columns_with_gaps(p, seed);
    bool positions = false;
    EXPECT_EQ(trial_of_few(p, columns, positions), "") << "seed " << seed;
    if (seed == 3) {
      EXPECT_TRUE(positions) << "three quarters of 160 bits differ";
    }
  }
}

// Strings that differ in `bits` random bits, and floats. The first eight bytes have five values, so
// that many records tie by their first word.
std::vector<Bytes> strings_that_differ(std::uint64_t count, unsigned bits,
                                       const std::vector<float>& floats) {
  Random random(run_seed() + bits);
  std::vector<unsigned> places(128);
  std::iota(places.begin(), places.end(), 0u);
  for (unsigned b = 0; b < 128; ++b) std::swap(places[b], places[b + random.below(128 - b)]);
  std::array<std::uint64_t, 2> mask{}, same{random.next(), random.next()};
  for (unsigned b = 0; b < bits; ++b) mask[places[b] / 64] |= std::uint64_t{1} << places[b] % 64;
  std::array<std::uint64_t, 5> firsts{0, ~std::uint64_t{0}};
  for (unsigned k = 2; k < 5; ++k) firsts[k] = random.next();
  std::vector<Bytes> columns{Bytes(count * 16), Bytes(count * 4)};
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::array<std::uint64_t, 2> x{firsts[i < 2 ? i : random.below(5)], random.next()};
    for (unsigned h = 0; h < 2; ++h) {
      const std::uint64_t half = (x[h] & mask[h]) | (same[h] & ~mask[h]);
      std::memcpy(&columns[0][i * 16 + h * 8], &half, 8);
    }
    std::memcpy(&columns[1][i * 4], &floats[i % floats.size()], 4);
  }
  return columns;
}

// Values are tails if the bits that differ fit, and if the order bits of all floats tell them.
TEST(Records, TailsInPlaceOfPositions) {
  if (on_host()) GTEST_SKIP() << "cpu:0 sorts by all bits";
  RecordProblem p{.count = is_set("SORTIUM_TEST_SMALL") ? 97u : 5'000u,
                  .columns = {{16, Moved::out}, {4, Moved::out}},
                  .key = {{1, 0, KeyType::f32, Order::descending}, {0, 0, FieldType::bytes(16)}}};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto expect = [&](unsigned bits, const std::vector<float>& floats, bool by_positions) {
    bool positions = false;
    EXPECT_EQ(trial_of_few(p, strings_that_differ(p.count, bits, floats), positions), "")
        << bits << " bits, the last float is " << floats.back() << ", seed " << run_seed();
    EXPECT_EQ(positions, by_positions) << bits << " bits";
  };
  for (const unsigned bits : {20, 64, 65, 90, 96}) expect(bits, {1.5f}, false);
  for (const unsigned bits : {97, 128}) expect(bits, {1.5f}, true);
  expect(80, {1, 2, 0, 1.5f}, false);
  expect(80, {0, 1, -0.0f}, true);
  expect(80, {1, nan}, true);
  p.key[0].nan = NanOrder::bits;
  p.key[0].zeros = ZeroOrder::distinct;
  expect(60, {0, 1, nan, -0.0f}, false);
  EXPECT_TRUE(VaryingKey(p, 4).may_have_tails());
  EXPECT_FALSE(VaryingKey(p, 8).may_have_tails());
  p.columns[1].moved = Moved::no;
  EXPECT_TRUE(VaryingKey(p, 4).may_have_tails());
  p.columns.push_back({4, Moved::out});
  EXPECT_FALSE(VaryingKey(p, 4).may_have_tails()) << "a column beside the key";
  p.columns.pop_back();
  p.position_bytes = 4;
  EXPECT_FALSE(VaryingKey(p, 4).may_have_tails()) << "positions are wanted";
}

TEST(Records, EverySizeOfRecord) {
  for (const unsigned bytes : cases(up_to(256), {1, 7, 36, 256}, {7, 36}))
    expect_sorted({.columns = {{bytes, bytes % 2 == 0 ? Moved::in_place : Moved::out}},
                   .key = {{0, bytes - 1, KeyType::i8}}},
                  fmt::format("{} bytes", bytes), {257});
}

TEST(Records, AlgorithmsByName) {
  const RecordProblem p{.count = 1009, .columns = {{10}}, .key = {{.type = FieldType::bytes(10)}}};
  EXPECT_EQ(trial(p, 1, on_host() ? Method{"sample", "threads=2"} : Method{"merge"}), "");
  expect_error([&] { RecordPlan(test_device(), p, {"selection-local"}); }, ErrorCode::unsupported,
               {"selection-local", "runs"});
  expect_error([&] { RecordPlan(test_device(), p, {"bitonic"}); }, ErrorCode::unsupported,
               {"bitonic", "stable"});
  const RecordProblem first{.count = 1009,
                            .columns = {{10, Moved::out}},
                            .key = {{.type = FieldType::bytes(10)}},
                            .limit = 5};
  expect_error([&] { RecordPlan(test_device(), first, {on_host() ? "sample" : "merge"}); },
               ErrorCode::unsupported, {"no limit", "auto"});
  expect_error([&] { RecordPlan(test_device(), p, {"no-such"}); }, ErrorCode::not_found,
               {"no-such"});
}

TEST(Records, CeilingOfScratchMemory) {
  const RecordProblem p{.count = 1009, .columns = {{10}}, .key = {{.type = FieldType::bytes(10)}}};
  const std::uint64_t usual = RecordPlan(test_device(), p).scratch_bytes();
  EXPECT_LE(RecordPlan(test_device(), p, {.max_scratch_bytes = usual}).scratch_bytes(), usual);
  EXPECT_EQ(trial(p, 1, {.max_scratch_bytes = usual}), "");
  expect_error([&] { RecordPlan(test_device(), p, {.max_scratch_bytes = 1000}); },
               ErrorCode::invalid_argument, {"max_scratch_bytes is 1000"});
}

TEST(Records, PhasesAreNamed) {
  const RecordProblem p{.count = 1009, .columns = {{10}}, .key = {{.type = FieldType::bytes(10)}}};
  const RecordPlan plan(test_device(), p);
  const auto queue = test_device()->make_queue(true);
  const auto buffer = test_device()->allocate(10090),
             scratch = test_device()->allocate(plan.scratch_bytes());
  queue->write(buffer->memory(), std::vector<std::byte>(10090).data(), 10090);
  const Memory column = buffer->memory();
  unsigned packs = 0, gathers = 0;
  for (const auto& phase : plan.profile(*queue, {{&column, 1}, {}, {}, scratch->memory()})) {
    if (phase.name == "pack") packs = phase.launches;
    if (phase.name == "gather") gathers = phase.launches;
  }
  EXPECT_EQ(packs, on_host() ? 1u : 2u);  // cpu:0 packs the second word in the phase "ties"
  EXPECT_EQ(gathers, 1u);
}

TEST(Records, WrongProblemsAreNamed) {
  const auto bad = ErrorCode::invalid_argument;
  const auto attempt = [](const RecordProblem& p) {
    return [&p] { RecordPlan(test_device(), p); };
  };
  RecordProblem good{
      .count = 10, .columns = {{100}}, .key = {{0, 0, KeyType::u32}, {0, 90, KeyType::f32}}};
  const auto with = [&](auto&& change, std::initializer_list<std::string_view> words) {
    RecordProblem p = good;
    change(p);
    expect_error(attempt(p), bad, words);
  };
  with([](auto& p) { p.key[1].offset = 98; },
       {"key field 1 (f32 at byte 98)", "past the record's 100 bytes"});
  with([](auto& p) { p.key[1].offset = ~std::uint64_t{0}; }, {"key field 1", "100"});
  with([](auto& p) { p.key[0].column = 3; }, {"key field 0", "column is 3", "1"});
  with([](auto& p) { p.key[0].type = FieldType::bytes(33); }, {"bytes(33)", "32"});
  with([](auto& p) { p.key[0].type = FieldType::bytes(0); }, {"bytes(0)", "32"});
  with([](auto& p) { p.key[0].end_bit = 33; }, {"key field 0", "0:33"});
  with([](auto& p) { p.key[0].type = FieldType::u128(), p.key[0].end_bit = 3; }, {"u128", "0:3"});
  with([](auto& p) { p.key.clear(); }, {"0 fields"});
  with([](auto& p) { p.key.resize(33); }, {"33 fields"});
  with([](auto& p) { p.columns.clear(); }, {"0 columns"});
  with([](auto& p) { p.columns[0].bytes = 257; }, {"column 0", "257", "256"});
  with([](auto& p) { p.columns.push_back({0}); }, {"column 1", "0 bytes"});
  with([](auto& p) { p.columns.push_back({4, Moved::no}); }, {"column 1", "neither"});
  with([](auto& p) { p.columns[0].moved = Moved::no; }, {"no output"});
  with([](auto& p) { p.position_bytes = 3; }, {"position_bytes is 3"});
  with([](auto& p) { p.segments = 2, p.offset_bytes = 2; }, {"offset_bytes is 2"});
  with([](auto& p) { p.segments = 3, p.offset_bytes = 0; }, {"count is 10", "segments, 3"});
  with([](auto& p) { p.limit = 11; }, {"limit is 11", "10"});
  with([](auto& p) { p.limit = 3; }, {"column 0", "in place", "limit"});
  with([](auto& p) { p.position_bytes = 4, p.count = (std::uint64_t{1} << 32) + 1; },
       {"4294967297", "8"});
}

TEST(Records, WrongOperandsAreNamed) {
  const RecordProblem p{.count = 100,
                        .columns = {{8, Moved::no}, {8}, {8, Moved::out}},
                        .key = {{0, 0, KeyType::u32}},
                        .position_bytes = 4};
  const RecordPlan plan(test_device(), p);
  const auto queue = test_device()->make_queue();
  const std::uint64_t scratch = 16384, total = scratch + plan.scratch_bytes();
  const auto buffer = test_device()->allocate(total);
  const std::vector<std::byte> before(total, std::byte{1});
  queue->write(buffer->memory(), before.data(), total);
  const auto at = [&](std::uint64_t offset, std::uint64_t bytes) {
    return buffer->memory().slice(offset, bytes);
  };
  struct Given {
    std::vector<Memory> in, out;
    Memory positions, scratch, offsets{};
  };
  const Given good{{at(0, 800), at(1024, 800), at(2048, 800)},
                   {{}, {}, at(3072, 800)},
                   at(4096, 400),
                   at(scratch, plan.scratch_bytes())};
  const auto with = [&](auto&& change, std::initializer_list<std::string_view> words) {
    Given g = good;
    change(g);
    expect_error(
        [&] {
          plan.run(*queue, {g.in, g.out, g.positions, g.scratch, g.offsets});
        },
        ErrorCode::invalid_argument, words);
  };
  with([](auto& g) { g.in.pop_back(); }, {"columns_in", "2", "3"});
  with([](auto& g) { g.out.pop_back(); }, {"columns_out", "2", "3"});
  with([](auto& g) { g.out.clear(); }, {"columns_out[2]", "missing", "800"});
  with([](auto& g) { g.in[1] = {}; }, {"columns_in[1]", "missing"});
  with([&](auto& g) { g.in[1] = at(1024, 799); }, {"columns_in[1]", "799", "800"});
  with([&](auto& g) { g.in[1] = at(1028, 800); }, {"columns_in[1]", "multiple of 8"});
  with([&](auto& g) { g.out[0] = at(5120, 800); }, {"columns_out[0]", "does not use"});
  with([&](auto& g) { g.out[1] = at(5120, 800); }, {"columns_out[1]", "in place"});
  with([&](auto& g) { g.out[2] = at(2840, 800); }, {"columns_in[2]", "columns_out[2]", "overlap"});
  with([&](auto& g) { g.out[2] = g.in[2]; }, {"columns_in[2]", "columns_out[2]", "overlap"});
  with([&](auto& g) { g.positions = {}; }, {"positions", "400"});
  with([&](auto& g) { g.positions = at(1600, 400); }, {"positions", "columns_in[1]", "overlap"});
  with([&](auto& g) { g.scratch = {}; }, {"scratch"});
  with([&](auto& g) { g.scratch = at(0, plan.scratch_bytes()); }, {"scratch", "overlap"});
  with([&](auto& g) { g.offsets = at(5120, 8); }, {"offsets", "does not use"});
  std::vector<std::byte> after(total);
  queue->read(after.data(), buffer->memory(), total);
  EXPECT_EQ(after, before) << "nothing was written";
  plan.run(*queue, {good.in, good.out, good.positions, good.scratch});
  queue->finish();
}

// -----------------------------------------------------------------------------------------------
// Gather and scatter
// -----------------------------------------------------------------------------------------------

TEST(Permutes, EverySizeOfElement) {
  const auto& device = test_device();
  const auto queue = device->make_queue();
  for (const unsigned bytes :
       cases(up_to(256), {1, 2, 3, 4, 6, 8, 12, 16, 24, 48, 100, 255, 256}, {3, 16, 36}))
    for (const unsigned index_bytes : {4u, 8u}) {
      if (index_bytes == 8 && !on_host() && bytes != 12) continue;
      Random random(bytes);
      const std::uint64_t elements = 1500,
                          count = is_set("SORTIUM_TEST_SMALL") ? 97 : 1009;  // in, and of positions
      std::vector<std::uint64_t> positions(elements);
      std::iota(positions.begin(), positions.end(), 0u);
      for (auto i = elements; i > 1; --i) std::swap(positions[i - 1], positions[random.below(i)]);
      positions.resize(count);
      for (const auto direction : {Direction::gather, Direction::scatter}) {
        const bool gathers = direction == Direction::gather;
        std::vector<Area> areas{
            {"in", (gathers ? elements : count) * bytes, alignment_of(bytes), false},
            {"positions", count * index_bytes, index_bytes, false},
            {"out", (gathers ? count : elements) * bytes, alignment_of(bytes), true}};
        std::vector<std::byte> before(place(areas));
        for (std::uint64_t i = 0; i < before.size(); ++i)
          before[i] = static_cast<std::byte>(random.next());
        for (std::uint64_t i = 0; i < count; ++i)
          std::memcpy(before.data() + areas[1].offset + i * index_bytes, &positions[i],
                      index_bytes);
        auto should = before;
        for (std::uint64_t i = 0; i < count; ++i)
          std::memcpy(should.data() + areas[2].offset + (gathers ? i : positions[i]) * bytes,
                      before.data() + areas[0].offset + (gathers ? positions[i] : i) * bytes,
                      bytes);
        const auto buffer = device->allocate(before.size());
        queue->write(buffer->memory(), before.data(), before.size());
        const auto memory = [&](int a) {
          return buffer->memory().slice(areas[a].offset, areas[a].bytes);
        };
        Permute(device, {direction, count, bytes, index_bytes, elements})
            .run(*queue, memory(0), memory(1), memory(2));
        auto after = before;
        queue->read(after.data(), buffer->memory(), after.size());
        EXPECT_EQ(after == should, true)
            << bytes << " bytes, " << index_bytes << ", " << int(direction);
      }
    }
}

TEST(Permutes, OnHostMemory) {
  const Options options{.device = test_device()->info().id};
  const std::vector<double> values{10, 11, 12, 13};
  const std::vector<std::uint32_t> positions{2, 0, 3, 1};
  const auto gathered = gather(values, positions, options);
  EXPECT_EQ(gathered, (std::vector<double>{12, 10, 13, 11}));
  EXPECT_EQ(scatter(gathered, positions, options), values);
  EXPECT_EQ(gather(values, positions), gathered);
  EXPECT_EQ(gather(values, std::vector<std::uint64_t>{3, 3}, options),
            (std::vector<double>{13, 13}));
  EXPECT_EQ(gather(values, std::vector<std::uint64_t>{}, options), std::vector<double>{});
  if (!is_set("SORTIUM_TEST_SMALL")) {  // Oclgrind calls it the race that it is
    EXPECT_EQ(scatter(values, std::vector<std::uint32_t>{1, 1, 1, 1}, options)[0], 0);
  }
  const auto bad = ErrorCode::invalid_argument;
  expect_error(
      [&] {
        (void)gather(values, std::vector<std::uint32_t>{0, 4}, options);
      },
      bad, {"positions[1]", "4"});
  expect_error([&] { (void)gather(std::vector<double>{}, positions, options); }, bad,
               {"4 positions"});
  expect_error(
      [&] {
        (void)scatter(values, std::vector<std::uint32_t>{0, 1, 2}, options);
      },
      bad, {"4", "3"});
  expect_error([&] { Permute(test_device(), {.element_bytes = 257}); }, bad, {"257", "256"});
  expect_error([&] { Permute(test_device(), {.index_bytes = 2}); }, bad, {"index_bytes is 2"});
  std::vector<std::uint32_t> memory(100);
  expect_error(
      [&] {
        permute_host({.count = 10}, memory.data(), memory.data() + 50, memory.data() + 9, options);
      },
      bad, {"in", "out", "overlap"});
}

// -----------------------------------------------------------------------------------------------
// Host memory
// -----------------------------------------------------------------------------------------------

struct Particle {
  float mass;
  std::uint16_t cell;
  std::uint32_t id;
  double energy;
  friend bool operator==(const Particle&, const Particle&) = default;
};

std::vector<Particle> some_particles(std::size_t count) {
  Random random(3);
  std::vector<Particle> out;
  for (std::uint32_t i = 0; i < count; ++i)
    out.push_back({static_cast<float>(random.below(20)) - 10,
                   static_cast<std::uint16_t>(random.below(3)),
                   static_cast<std::uint32_t>(random.below(1000)), random.unit()});
  return out;
}

std::vector<Options> places() { return {{.device = test_device()->info().id}, {}}; }

TEST(RecordsOnHostMemory, ByMassThenId) {
  for (const auto& options : places())
    for (const std::size_t count :
         cases(Sizes{0, 1, 2, 1009, 100003}, {0, 1, 2, 1009, 100003}, {0, 97})) {
      const auto before = some_particles(count);
      auto should = before;
      std::ranges::stable_sort(should, [](const auto& a, const auto& b) {
        return a.mass != b.mass   ? a.mass > b.mass
               : a.cell != b.cell ? a.cell < b.cell
                                  : a.id < b.id;
      });
      const std::vector<Field> key{by(&Particle::mass, Order::descending), by(&Particle::cell),
                                   by(&Particle::id)};
      auto particles = before;
      const auto report = sort_records(particles, key, options);
      EXPECT_EQ(particles, should);
      EXPECT_TRUE(report.stable);
      EXPECT_FALSE(report.algorithm.empty());
      std::vector<Particle> out(count);
      sort_records(before.data(), out.data(), sizeof(Particle), count, key, options);
      EXPECT_EQ(out, should);
      const auto order = argsort_records(before, key, options);
      EXPECT_EQ(gather(before, order, options), should);
      EXPECT_TRUE(std::ranges::equal(argsort_records<std::uint64_t>(before, key, options), order));
    }
}

TEST(RecordsOnHostMemory, MemoryThatIsNotAligned) {
  for (const auto& options : places()) {
    std::vector<std::uint32_t> numbers(1009);
    Random random(5);
    for (auto& x : numbers) x = static_cast<std::uint32_t>(random.next());
    std::vector<std::byte> memory(4 * numbers.size() + 1), out(4 * numbers.size() + 3);
    std::memcpy(memory.data() + 1, numbers.data(), 4 * numbers.size());
    std::ranges::sort(numbers);
    const auto same = [&](const std::byte* p) {
      return std::memcmp(p, numbers.data(), 4 * numbers.size()) == 0;
    };
    sort_records(memory.data() + 1, out.data() + 3, 4, numbers.size(), {{.type = KeyType::u32}},
                 options);
    EXPECT_TRUE(same(out.data() + 3));
    sort_records(static_cast<void*>(memory.data() + 1), 4, numbers.size(), {{.type = KeyType::u32}},
                 options);
    EXPECT_TRUE(same(memory.data() + 1));

    // Top-k of segments: the rest of a shorter segment's output must not change.
    std::vector<std::byte> offsets(17);
    for (std::uint32_t s = 0; const std::uint32_t offset : {0u, 2u, 2u, 1009u})
      std::memcpy(offsets.data() + 1 + 4 * s++, &offset, 4);
    std::ranges::fill(out, std::byte{7});
    const void* const in = memory.data() + 1;
    void* const to = out.data() + 3;
    sort_records_host({.count = 1009,
                       .columns = {{4, Moved::out}},
                       .key = {{.order = Order::descending}},
                       .segments = 3,
                       .limit = 3},
                      {{&in, 1}, {&to, 1}, nullptr, offsets.data() + 1}, options);
    const std::uint32_t untouched = 0x07070707;
    for (std::uint32_t i = 0; const std::uint32_t should :
                              {numbers[1], numbers[0], untouched, untouched, untouched, untouched,
                               numbers[1008], numbers[1007], numbers[1006], untouched})
      EXPECT_EQ(load<std::uint32_t>(out.data() + 3 + 4 * i++), should) << i;
  }
}

template <class T>
void sorts_like_std(T (*make)(Random&)) {
  for (const auto& options : places()) {
    Random random(9);
    std::vector<T> keys;
    for (int i = 0; i < 1009; ++i) keys.push_back(make(random));
    const auto before = keys;
    auto should = keys;
    std::ranges::stable_sort(should, std::less{});
    sortium::sort(keys, options);
    EXPECT_TRUE(keys == should);
    auto down = options;
    down.order = Order::descending;
    std::vector<std::uint32_t> order(keys.size());
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::stable_sort(order, [&](auto a, auto b) { return before[b] < before[a]; });
    EXPECT_EQ(argsort(before, down), order);
    keys = before;
    std::vector<std::array<char, 3>> values;
    for (int i = 0; i < 1009; ++i) values.push_back({char(i), char(i >> 7), 'x'});
    const auto values_before = values;
    sortium::sort(keys, values, down);
    EXPECT_TRUE(keys == gather(before, order)) << "descending";
    EXPECT_EQ(values, gather(values_before, order));
  }
}

TEST(RecordsOnHostMemory, WideKeys) {
  sorts_like_std<unsigned __int128>([](Random& r) {
    return static_cast<unsigned __int128>(r.below(9)) << 64 | r.below(20) << 60;
  });
  if (on_host())
    sorts_like_std<__int128>([](Random& r) {
      return static_cast<__int128>(r.next()) * static_cast<std::int64_t>(r.next());
    });
  if (on_host())
    sorts_like_std<std::array<unsigned char, 1>>(
        [](Random& r) { return std::array{static_cast<unsigned char>(r.next())}; });
  sorts_like_std<std::array<std::byte, 11>>([](Random& r) {
    std::array<std::byte, 11> x{};
    x[r.below(11)] = static_cast<std::byte>(r.next());
    return x;
  });
  std::vector<u128> numbers{{1, 2}, {2, 1}, {0, 2}};
  sortium::sort(numbers, {.device = test_device()->info().id});
  EXPECT_EQ(numbers, (std::vector<u128>{{2, 1}, {0, 2}, {1, 2}}));
}

TEST(RecordsOnHostMemory, ValuesOfAnySize) {
  for (const auto& options : places()) {
    const auto particles = some_particles(1009);
    std::vector<std::uint32_t> ids;
    for (const auto& p : particles) ids.push_back(p.id);
    auto keys = ids;
    auto values = particles;
    sortium::sort(keys, values, options);
    const auto order = argsort(ids, options);
    EXPECT_EQ(values, gather(particles, order));
    EXPECT_EQ(keys, gather(ids, order));
    keys = ids, values = particles;
    sortium::sort(keys, values, {.begin_bit = 2, .end_bit = 5, .device = options.device});
    EXPECT_EQ(values, gather(particles, argsort(ids, {.begin_bit = 2, .end_bit = 5})));
    std::vector<std::uint8_t> bytes(1009);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i);
    const auto bytes_before = bytes;
    keys = ids;
    sortium::sort(keys, bytes, options);
    EXPECT_EQ(bytes, gather(bytes_before, order));
  }
}

// Values of these sizes with segments, top-k and unique.
template <class V>
void values_go_with_keys(const Options& options) {
  constexpr std::size_t n = 1009, k = 100;
  Random random(sizeof(V));
  std::vector<std::uint32_t> keys(n), offsets{0, 0, 7, 500, 1009};
  std::vector<V> values(n);
  for (auto& key : keys) key = static_cast<std::uint32_t>(random.below(50));
  for (auto& value : values)
    for (auto& byte : std::span(reinterpret_cast<std::byte*>(&value), sizeof value))
      byte = static_cast<std::byte>(random.next());
  const auto down = [&] {
    auto o = options;
    o.order = Order::descending;
    return o;
  }();

  const auto order = argsort_segments(keys, offsets, down);
  auto sorted_keys = keys;
  auto sorted_values = values;
  sort_segments(sorted_keys, sorted_values, offsets, down);
  EXPECT_EQ(sorted_keys, gather(keys, order));
  EXPECT_TRUE(sorted_values == gather(values, order)) << "segments, values of " << sizeof(V);

  const auto [best, values_of_best] = topk(keys, values, k, down);
  const auto where = argtopk(keys, k, down);
  EXPECT_EQ(best, gather(keys, where));
  EXPECT_TRUE(values_of_best == gather(values, where)) << "first records, values of " << sizeof(V);

  const auto ascending = argsort(keys, options);
  sorted_keys = gather(keys, ascending), sorted_values = gather(values, ascending);
  std::vector<std::uint32_t> heads, lengths(n);
  for (std::uint32_t i = 0; i < n; ++i)
    if (i == 0 || sorted_keys[i] != sorted_keys[i - 1]) heads.push_back(i);
  const auto values_should = gather(sorted_values, heads);
  const auto runs = unique(sorted_keys, sorted_values, options);
  ASSERT_EQ(runs, heads.size());
  EXPECT_TRUE(std::ranges::equal(std::span(sorted_values).first(runs), values_should))
      << "runs, values of " << sizeof(V);

  // The rest of a shorter segment's output must not change.
  const Problem p{.key = KeyType::u32,
                  .count = n,
                  .payload = Payload::values,
                  .value_bytes = sizeof(V),
                  .order = Order::descending,
                  .segments = 4,
                  .limit = 10};
  std::vector<std::uint32_t> first_keys(40, 77);
  std::vector<V> first_values(40, V{}), should(40, V{});
  for (std::size_t s = 0; s < 4; ++s)
    for (std::size_t i = 0; i < 10 && offsets[s] + i < offsets[s + 1]; ++i)
      should[10 * s + i] = values[order[offsets[s] + i]];
  sort_host(p, {keys.data(), first_keys.data(), values.data(), first_values.data(), offsets.data()},
            options);
  EXPECT_TRUE(first_values == should) << "first records of segments, values of " << sizeof(V);
  EXPECT_EQ(first_keys[0], 77u);
  EXPECT_EQ(first_keys[10], keys[order[0]]);
}

TEST(RecordsOnHostMemory, ValuesOfAnySizeWithSegmentsFirstRecordsAndRuns) {
  for (const auto& options : places()) {
    values_go_with_keys<std::array<char, 1>>(options);
    values_go_with_keys<std::array<std::uint32_t, 3>>(options);
    values_go_with_keys<std::array<std::uint64_t, 2>>(options);
    if (on_host()) values_go_with_keys<std::array<char, 256>>(options);
    if (on_host()) values_go_with_keys<std::array<std::uint16_t, 3>>(options);
  }
  std::uint32_t keys[3] = {3, 2, 1}, offsets[] = {0, 2, 4};
  char values[3 * 300];
  Problem p{.key = KeyType::u32, .count = 3, .payload = Payload::values, .value_bytes = 300};
  const HostOperands operands{keys, keys, values, values, offsets};
  const auto bad = ErrorCode::invalid_argument;
  expect_error([&] { sort_host(p, operands); }, bad, {"value_bytes is 300", "256"});
  p.value_bytes = 0;
  expect_error([&] { sort_host(p, operands); }, bad, {"value_bytes is 0"});
  expect_error([&] { UniquePlan(test_device(), p); }, bad, {"value_bytes is 0"});
  p.value_bytes = 3;
  p.segments = 2;
  expect_error([&] { sort_host(p, operands); }, bad, {"offsets[2] is 4", "3"});
  p.segments = 0;
  p.limit = 2;
  expect_error([&] { sort_host(p, operands); }, bad, {"limit", "must be separate"});
  p.limit = 0;
  expect_error([&] { sort_host(p, {keys, keys, nullptr, values}); }, bad, {"values_in is null"});
  expect_error([&] { Plan(test_device(), p); }, bad, {"value_bytes is 3", "RecordPlan"});
  EXPECT_EQ(keys[0], 3u);
}

TEST(RecordsOnHostMemory, FirstOnes) {
  const auto particles = some_particles(1009);
  const std::vector<Field> key{by(&Particle::mass, Order::descending), by(&Particle::energy)};
  for (const auto& options : places()) {
    const auto order = argsort_records(particles, key, options);
    const auto where = argtopk_records(particles, 40, key, options);
    EXPECT_TRUE(std::ranges::equal(where, std::span(order).first(40)));
    EXPECT_EQ(topk_records(particles, 40, key, options), gather(particles, where));
    EXPECT_EQ(topk_records(particles, particles.size(), key, options), gather(particles, order));
    expect_error([&] { (void)topk_records(particles, 0, key, options); },
                 ErrorCode::invalid_argument, {"k is 0", "1009"});
    expect_error([&] { (void)argtopk_records(particles, 1010, key, options); },
                 ErrorCode::invalid_argument, {"k is 1010"});
  }
}

TEST(RecordsOnHostMemory, Columns) {
  for (const auto& options : places()) {
    const auto particles = some_particles(1009);
    std::vector<float> mass;
    std::vector<std::uint32_t> id;
    std::vector<double> energy;
    for (const auto& p : particles)
      mass.push_back(p.mass), id.push_back(p.id), energy.push_back(p.energy);
    auto should = particles;
    std::ranges::stable_sort(should, [](const auto& a, const auto& b) {
      return a.mass != b.mass ? a.mass > b.mass : a.id < b.id;
    });
    sort_columns({by(mass, Order::descending), by(id)}, {column(energy)}, options);
    for (std::size_t i = 0; i < should.size(); ++i) {
      ASSERT_EQ(mass[i], should[i].mass);
      ASSERT_EQ(id[i], should[i].id);
      ASSERT_EQ(energy[i], should[i].energy);
    }
  }
  std::vector<float> a(10);
  std::vector<double> b(9);
  expect_error([&] { sort_columns({by(a)}, {column(b)}); }, ErrorCode::invalid_argument,
               {"column 1", "9", "10"});
  expect_error([&] { sort_columns({}, {column(b)}); }, ErrorCode::invalid_argument, {"no columns"});
  expect_error([&] { sort_records(a, {{.type = KeyType::f32}}, {.order = Order::descending}); },
               ErrorCode::invalid_argument, {"options.order"});
  expect_error(
      [&] {
        sort_records(a, {{0, 2, KeyType::f32}});
      },
      ErrorCode::invalid_argument, {"key field 0 (f32 at byte 2)"});
  expect_error([&] { sort_records(nullptr, 4, 3, {{.type = KeyType::f32}}); },
               ErrorCode::invalid_argument, {"columns_in[0]", "null"});
}

}  // namespace
}  // namespace sortium::test
