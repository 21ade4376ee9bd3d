// Sorts of segments in host memory. Each segment is sorted by itself.
//
//   sortium::sort_segments(keys, offsets);  // segments of any lengths
//   sortium::sort_rows(keys, 100);          // segments of 100 keys: the rows of a matrix
//   sortium::sort_matrix_columns(keys, 100);  // the 100 columns of a row-major matrix
#pragma once

#include <sortium/export.h>

#include <concepts>
#include <cstdint>
#include <ranges>
#include <sortium/host.hpp>
#include <vector>

namespace sortium {

template <class R>  // offsets: where each segment begins, and where the last one ends
concept OffsetRange = std::ranges::contiguous_range<R> &&
    (std::same_as<std::ranges::range_value_t<R>, std::uint32_t> ||
     std::same_as<std::ranges::range_value_t<R>, std::uint64_t>);

namespace detail {
// Returns the number of segments, given the number of `offsets`. Throws Error(invalid_argument) if
// there is no offset, or if there is only one although there are keys.
SORTIUM_API std::uint64_t segments_of(std::uint64_t offsets, std::uint64_t first,
                                      std::uint64_t keys);
// Sets the fields of `problem`. Returns true if there is anything to sort.
template <class Offsets>
bool set_segments(Problem& problem, const Offsets& offsets) {
  const std::uint64_t size = std::ranges::size(offsets);
  problem.segments = segments_of(size, size == 0 ? 0 : *std::ranges::data(offsets), problem.count);
  problem.offset_bytes = sizeof(std::ranges::range_value_t<Offsets>);
  return problem.segments != 0;
}
// Returns the number of rows. Throws Error(invalid_argument) if `row_length` is 0, or `keys` is not
// a multiple of it.
SORTIUM_API std::uint64_t rows_of(std::uint64_t keys, std::uint64_t row_length);
// Sets segments and offset_bytes. Returns true if there is anything to sort.
inline bool set_rows(Problem& problem, std::uint64_t row_length) {
  problem.segments = rows_of(problem.count, row_length);
  problem.offset_bytes = 0;
  return problem.segments != 0;
}
// Throws Error(invalid_argument) if `columns` is 0, or `keys` is not a multiple of it.
SORTIUM_API void check_columns(std::uint64_t keys, std::uint64_t columns);
// Sets segments, offset_bytes and stride. Returns true if there is anything to sort.
inline bool set_columns(Problem& problem, std::uint64_t columns) {
  check_columns(problem.count, columns);
  problem.segments = problem.stride = columns;
  problem.offset_bytes = 0;
  return problem.count != 0;
}

// Sorts of segments of equal length: set(problem) is set_rows() or set_columns().
template <class Keys, class Set>
HostReport sort_equal(Keys& keys, const Options& options, const Set& set) {
  Problem problem = problem_of_range(keys, options);
  if (!set(problem)) return {};
  auto* const k = std::ranges::data(keys);
  return sort_host(problem, {k, k}, options);
}
template <class Keys, class Values, class Set>
HostReport sort_equal(Keys& keys, Values& values, const Options& options, const Set& set) {
  check_lengths(std::ranges::size(keys), std::ranges::size(values));
  Problem problem = problem_with_values(keys, sizeof(element<Values>), options);
  if (!set(problem)) return {};
  auto* const k = std::ranges::data(keys);
  auto* const v = std::ranges::data(values);
  return sort_host(problem, {k, k, v, v}, options);
}
template <class Index, class Keys, class Set>
std::vector<Index> argsort_equal(const Keys& keys, const Options& options, const Set& set) {
  Problem problem = problem_of_range(keys, options);
  problem.payload = Payload::positions;
  problem.value_bytes = sizeof(Index);
  problem.keys_out = false;
  auto out = vector_of<Index>(problem.count);
  if (!set(problem)) return out;
  sort_host(problem, {std::ranges::data(keys), nullptr, nullptr, out.data()}, options);
  return out;
}
}  // namespace detail

// Sorts every segment of `keys` by itself, in place: segment s has the keys from offsets[s] to
// offsets[s + 1]. Offsets ascend from 0 to the number of keys; equal offsets are an empty segment.
// Needs about as much scratch memory on the device as the keys have. Throws Error(invalid_argument)
// naming the first wrong offset, else as sort_host() does.
template <KeyRange Keys, OffsetRange Offsets>
HostReport sort_segments(Keys&& keys, const Offsets& offsets, const Options& options = {}) {
  using K = std::ranges::range_value_t<Keys>;
  Problem problem = detail::problem_of<K>(std::ranges::size(keys), options);
  if (!detail::set_segments(problem, offsets)) return {};
  K* const k = std::ranges::data(keys);
  return sort_host(problem, {k, k, nullptr, nullptr, std::ranges::data(offsets)}, options);
}

// The same, and moves `values`, of any size as sort() does, with their keys; stable.
template <KeyRange Keys, ValueRange Values, OffsetRange Offsets>
HostReport sort_segments(Keys&& keys, Values&& values, const Offsets& offsets,
                         const Options& options = {}) {
  using K = std::ranges::range_value_t<Keys>;
  using V = std::ranges::range_value_t<Values>;
  detail::check_lengths(std::ranges::size(keys), std::ranges::size(values));
  Problem problem = detail::problem_of<K>(std::ranges::size(keys), options);
  problem.payload = Payload::values;
  problem.value_bytes = sizeof(V);
  if (!detail::set_segments(problem, offsets)) return {};
  K* const k = std::ranges::data(keys);
  V* const v = std::ranges::data(values);
  return sort_host(problem, {k, k, v, v, std::ranges::data(offsets)}, options);
}

// Returns the positions, among all keys, of every segment's records in sorted order:
// keys[out[offsets[s]]] is the first of segment s. `keys` is only read. Index as for argsort.
template <class Index = std::uint32_t, KeyRange Keys, OffsetRange Offsets>
requires std::same_as<Index, std::uint32_t> || std::same_as<Index, std::uint64_t>
[[nodiscard]] std::vector<Index> argsort_segments(const Keys& keys, const Offsets& offsets,
                                                  const Options& options = {}) {
  using K = std::ranges::range_value_t<Keys>;
  Problem problem = detail::problem_of<K>(std::ranges::size(keys), options);
  problem.payload = Payload::positions;
  problem.value_bytes = sizeof(Index);
  problem.keys_out = false;
  auto out = detail::vector_of<Index>(std::ranges::size(keys));
  if (!detail::set_segments(problem, offsets)) return out;
  sort_host(problem,
            {std::ranges::data(keys), nullptr, nullptr, out.data(), std::ranges::data(offsets)},
            options);
  return out;
}

// Sorts every row of `keys` by itself, in place: the first `row_length` keys, the next ones, and so
// on. Throws Error(invalid_argument) if row_length is 0, or the number of keys is not a multiple of
// it. GPUs need no scratch memory for rows of up to 19456 records, fewer if local memory is small.
template <KeyRange Keys>
HostReport sort_rows(Keys&& keys, std::uint64_t row_length, const Options& options = {}) {
  return detail::sort_equal(keys, options,
                            [&](Problem& p) { return detail::set_rows(p, row_length); });
}

// The same, and moves `values`, of any size as sort() does, with their keys; stable. Throws alike.
template <KeyRange Keys, ValueRange Values>
HostReport sort_rows(Keys&& keys, Values&& values, std::uint64_t row_length,
                     const Options& options = {}) {
  return detail::sort_equal(keys, values, options,
                            [&](Problem& p) { return detail::set_rows(p, row_length); });
}

// Returns the positions, among all keys, of every row's records in sorted order:
// keys[out[r * row_length]] is the first key of row r. `keys` is only read. Index as for argsort.
// Throws as sort_rows() does.
template <class Index = std::uint32_t, KeyRange Keys>
requires std::same_as<Index, std::uint32_t> || std::same_as<Index, std::uint64_t>
[[nodiscard]] std::vector<Index> argsort_rows(const Keys& keys, std::uint64_t row_length,
                                              const Options& options = {}) {
  return detail::argsort_equal<Index>(keys, options,
                                      [&](Problem& p) { return detail::set_rows(p, row_length); });
}

// Sorts every column of a matrix by itself, in place. The matrix has `columns` columns and is
// row-major: key i is in row i / columns and column i % columns. Throws Error(invalid_argument) if
// columns is 0, or the number of keys is not a multiple of it. The scratch memory on the device has
// at most the bytes of keys and values, plus what sort_rows() needs for rows as long as the
// columns. Problem::stride sorts other axes of an array.
template <KeyRange Keys>
HostReport sort_matrix_columns(Keys&& keys, std::uint64_t columns, const Options& options = {}) {
  return detail::sort_equal(keys, options,
                            [&](Problem& p) { return detail::set_columns(p, columns); });
}

// The same, and moves `values`, of any size as sort() does, with their keys; stable. Throws the
// same errors.
template <KeyRange Keys, ValueRange Values>
HostReport sort_matrix_columns(Keys&& keys, Values&& values, std::uint64_t columns,
                               const Options& options = {}) {
  return detail::sort_equal(keys, values, options,
                            [&](Problem& p) { return detail::set_columns(p, columns); });
}

// Returns the positions, among all keys, of every column's records in sorted order: keys[out[c]] is
// the first key of column c, and keys[out[columns + c]] is its second key. `keys` is only read.
// Index as for argsort. Throws as sort_matrix_columns() does.
template <class Index = std::uint32_t, KeyRange Keys>
requires std::same_as<Index, std::uint32_t> || std::same_as<Index, std::uint64_t>
[[nodiscard]] std::vector<Index> argsort_matrix_columns(const Keys& keys, std::uint64_t columns,
                                                        const Options& options = {}) {
  return detail::argsort_equal<Index>(keys, options,
                                      [&](Problem& p) { return detail::set_columns(p, columns); });
}

}  // namespace sortium
