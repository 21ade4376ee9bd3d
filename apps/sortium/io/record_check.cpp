#include "io/record_check.hpp"

#include <fmt/format.h>

#include <cstring>
#include <numeric>

#include "cli/common.hpp"
#include "io/host_sort.hpp"

namespace app {

using sortium::FieldType;
using sortium::Order;

namespace {

template <class T>
T load(const std::byte* from) {
  T out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

template <class T>
int compare_numbers(T a, T b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

}  // namespace

RecordOrder::RecordOrder(const sortium::RecordProblem& problem,
                         std::span<const void* const> columns) {
  for (const auto& f : problem.key) {
    Key key{static_cast<const std::byte*>(columns[f.column]) + f.offset,
            problem.columns[f.column].bytes,
            f.type,
            {}};
    key.number.order = f.order;
    if (f.type.kind() == FieldType::Kind::number) {
      key.number.key = f.type.key();
      key.number.nan = f.nan;
      key.number.zeros = f.zeros;
      key.number.begin_bit = f.begin_bit;
      key.number.end_bit = f.end_bit;
    }
    keys_.push_back(key);
  }
}

// Compares two fields that are not numbers of up to 64 bits, in ascending order.
int RecordOrder::compare_ascending(const Key& key, const std::byte* x, const std::byte* y) {
  if (key.type.kind() == FieldType::Kind::bytes) return std::memcmp(x, y, key.type.size());
  constexpr unsigned high = 8;  // bytes before the upper half of a 128-bit number
  const int upper =
      key.type.kind() == FieldType::Kind::i128
          ? compare_numbers(load<std::int64_t>(x + high), load<std::int64_t>(y + high))
          : compare_numbers(load<std::uint64_t>(x + high), load<std::uint64_t>(y + high));
  return upper != 0 ? upper : compare_numbers(load<std::uint64_t>(x), load<std::uint64_t>(y));
}

int RecordOrder::compare(std::uint64_t a, std::uint64_t b) const {
  for (const auto& key : keys_) {
    const std::byte *const x = key.first + a * key.stride, *const y = key.first + b * key.stride;
    int order = 0;
    if (key.type.kind() == FieldType::Kind::number) {
      with_word(key.type.size(), [&](auto word) {
        using Word = decltype(word);
        order = compare_numbers(rank(key.number, load<Word>(x)), rank(key.number, load<Word>(y)));
      });
    } else {
      order = compare_ascending(key, x, y);
      if (key.number.order == Order::descending) order = -order;
    }
    if (order != 0) return order;
  }
  return 0;
}

std::optional<std::string> find_record_mistake(const sortium::RecordProblem& p,
                                               const sortium::RecordHostOperands& o) {
  const RecordOrder order(p, o.columns_in);
  std::vector<std::uint64_t> expected(p.count);
  std::iota(expected.begin(), expected.end(), std::uint64_t{0});
  fast_sort(expected.begin(), expected.end(), [&](std::uint64_t a, std::uint64_t b) {
    const int c = order.compare(a, b);
    return c != 0 ? c < 0 : a < b;
  });
  for (std::uint64_t i = 0; i < records_out(p); ++i) {
    for (std::size_t c = 0; c < p.columns.size(); ++c) {
      const std::uint64_t bytes = p.columns[c].bytes;
      if (p.columns[c].moved == sortium::Moved::out &&
          std::memcmp(static_cast<const std::byte*>(o.columns_out[c]) + i * bytes,
                      static_cast<const std::byte*>(o.columns_in[c]) + expected[i] * bytes,
                      bytes) != 0)
        return fmt::format("record {} is not the input's record {}, which belongs there", i,
                           expected[i]);
    }
    if (p.position_bytes == 0) continue;
    if (const auto have = element(o.positions, p.position_bytes, i); have != expected[i])
      return fmt::format("position {} is {} where {} belongs", i, have, expected[i]);
  }
  return std::nullopt;
}

}  // namespace app
