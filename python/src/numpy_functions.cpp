// Selections, searches and sets of plain NumPy arrays: one call from Python.
#include <algorithm>
#include <cstring>
#include <sortium/search.hpp>
#include <vector>

#include "numpy_records.hpp"

namespace pysortium {

namespace {

using sortium::Payload, sortium::Problem;

// Makes `p` a problem with positions of 8 bytes.
void with_positions(Problem& p, bool keys_out) {
  p.payload = Payload::positions;
  p.value_bytes = 8;
  p.keys_out = keys_out;
}

nb::object partition_plain(nb::handle x, nb::handle kth, nb::handle descending, bool positions) {
  const Keys keys(x, is_true(descending));
  if (!keys.is_plain() || keys.have_nat() || !PyLong_CheckExact(kth.ptr())) return nb::none();
  int overflow = 0;
  const std::int64_t given = PyLong_AsLongLongAndOverflow(kth.ptr(), &overflow);
  const auto count = static_cast<std::int64_t>(keys.count());
  if (overflow != 0 || given < -count || given >= count) return nb::none();
  const auto place = static_cast<std::uint64_t>(given < 0 ? given + count : given);
  if (!keys) return partition_records(x, place, is_true(descending), positions);
  Problem p = keys.problem;
  if (positions) with_positions(p, false);
  nb::object result = positions ? empty_positions(p.count) : keys.empty(p.count);
  without_gil(p.count, [&] {
    void *const to = data_of(result), *const none = nullptr;
    sortium::nth_element_host(
        p, place, {keys.data(), positions ? none : to, nullptr, positions ? to : none}, host);
  });
  return result;
}

template <class Key>
bool have_nan_above(const Keys& keys, Key infinity) {
  const auto magnitude = static_cast<Key>(~Key{0}) >> 1;
  const auto* const first = static_cast<const Key*>(keys.data());
  return std::count_if(first, first + keys.count(),
                       [=](Key key) { return (key & magnitude) > infinity; }) != 0;
}
bool have_nan(const Keys& keys) {
  const auto& type = sortium::info(keys.problem.key);
  if (!type.is_float) return false;
  if (type.bytes == 2) return have_nan_above(keys, static_cast<std::uint16_t>(type.infinity));
  if (type.bytes == 4) return have_nan_above(keys, static_cast<std::uint32_t>(type.infinity));
  return have_nan_above(keys, type.infinity);
}

// Returns an array of the keys at places `first` and `last` of the sorted order, of which the
// second is the same or the next one. None also if there is a NaN.
nb::object select_plain(nb::handle x, std::uint64_t first, std::uint64_t last) {
  const Keys keys(x, false);
  if (!keys || keys.are_times() || PyTypeNum_ISBOOL(keys.type()) || last >= keys.count() ||
      last - first > 1 || have_nan(keys))
    return nb::none();
  const std::uint64_t bytes = keys.element_bytes();
  nb::object result = keys.empty(2);
  auto* const selected = static_cast<std::byte*>(data_of(result));
  without_gil(keys.count(), [&] {
    std::vector<std::byte> parted(keys.count() * bytes), behind;
    Problem p = keys.problem;
    sortium::nth_element_host(p, first, {keys.data(), parted.data()}, host);
    std::memcpy(selected, parted.data() + first * bytes, bytes);
    std::memcpy(selected + bytes, selected, bytes);
    if (last == first) return;
    p.count -= last;
    behind.resize(p.count * bytes);
    sortium::nth_element_host(p, 0, {parted.data() + last * bytes, behind.data()}, host);
    std::memcpy(selected + bytes, behind.data(), bytes);
  });
  return result;
}

// Returns a tuple of keys and positions.
nb::object topk_plain(nb::handle x, std::uint64_t k, nb::handle largest) {
  const Keys keys(x, is_true(largest));
  if (!keys || keys.have_nat() || k == 0 || k > keys.count()) return nb::none();
  Problem p = keys.problem;
  with_positions(p, true);
  p.limit = k;
  nb::object values = keys.empty(k), positions = empty_positions(k);
  without_gil(p.count, [&] {
    sortium::sort_host(p, {keys.data(), data_of(values), nullptr, data_of(positions)}, on_host);
  });
  return nb::make_tuple(values, positions);
}

// Returns how many of the sorted keys come before NaN.
std::uint64_t count_before_nan(const Problem& p, const void* sorted) {
  const auto& type = sortium::info(p.key);
  if (!type.is_float) return p.count;
  const auto is_nan = [&](std::uint64_t i) {
    std::uint64_t key = 0;
    std::memcpy(&key, static_cast<const std::byte*>(sorted) + i * type.bytes, type.bytes);
    return (key & (~std::uint64_t{0} >> (65 - type.bits()))) > type.infinity;
  };
  std::uint64_t low = 0, high = p.count;
  if (high != 0 && !is_nan(high - 1)) return high;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (is_nan(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

// The runs of sorted keys with their positions.
struct Runs {
  const std::int64_t* positions;
  const std::int64_t* lengths;
  std::uint64_t count;
};

// Stores the number of each key's run.
void store_inverse(const Runs& runs, std::int64_t* to) {
  const std::int64_t* position = runs.positions;
  for (std::uint64_t run = 0; run < runs.count; ++run)
    for (std::int64_t i = 0; i < runs.lengths[run]; ++i)
      to[*position++] = static_cast<std::int64_t>(run);
}

// Stores the position of each run's first key.
void store_firsts(const Runs& runs, std::int64_t* to) {
  const std::int64_t* position = runs.positions;
  for (std::uint64_t run = 0; run < runs.count; ++run) {
    to[run] = *position;
    position += runs.lengths[run];
  }
}

// Stores the sorted keys, and their positions unless `positions` is empty.
void sort_with_positions(const Keys& keys, void* sorted, std::vector<std::int64_t>& positions) {
  Problem p = keys.problem;
  // Two sorts by counting take less time than one that moves keys and positions.
  const bool apart = keys.element_bytes() <= 2;
  if (positions.empty() || apart) sortium::sort_host(p, {keys.data(), sorted}, on_host);
  if (positions.empty()) return;
  with_positions(p, !apart);
  sortium::sort_host(p, {keys.data(), apart ? nullptr : sorted, nullptr, positions.data()},
                     on_host);
}

// Returns a tuple of the distinct keys, sorted, the position of each one's first occurrence, for
// each key the number of its equal, and the numbers of occurrences. Those that are not wanted are
// None. All NaN are one or, without `equal_nan`, each is distinct.
nb::object unique_plain(nb::handle x, nb::handle equal_nan, nb::handle indices, nb::handle inverse,
                        nb::handle counts) {
  const Keys keys(x, false);
  const bool splits_nan = !is_true(equal_nan), with_firsts = is_true(indices),
             with_inverse = is_true(inverse), with_lengths = is_true(counts);
  if (!keys) return unique_records(x, with_firsts, with_inverse, with_lengths);
  if (keys.count() == 0 || keys.have_nat()) return nb::none();
  const std::uint64_t n = keys.count();
  const bool moves = with_firsts || with_inverse;
  nb::object values = keys.empty(n), firsts = nb::none(), where = nb::none(), lengths = nb::none();
  if (with_firsts) firsts = empty_positions(n);
  if (with_inverse) where = empty_positions(n);
  if (moves || with_lengths) lengths = empty_positions(n);
  void* const sorted = data_of(values);
  auto* const of_runs = lengths.is_none() ? nullptr : static_cast<std::int64_t*>(data_of(lengths));
  const std::uint64_t runs = without_gil(n, [&] {
    std::vector<std::int64_t> positions(moves ? n : 0);
    sort_with_positions(keys, sorted, positions);
    Problem p = keys.problem;
    if (splits_nan) p.count = count_before_nan(p, sorted);
    std::uint64_t distinct =
        p.count == 0 ? 0 : sortium::unique_host(p, {sorted, sorted}, of_runs, 8, host);
    // Each NaN is a run.
    const std::uint64_t bytes = keys.element_bytes(), nans = n - p.count;
    std::memmove(static_cast<std::byte*>(sorted) + distinct * bytes,
                 static_cast<const std::byte*>(sorted) + p.count * bytes, nans * bytes);
    if (of_runs != nullptr) std::fill_n(of_runs + distinct, nans, std::int64_t{1});
    distinct += nans;
    const Runs found{positions.data(), of_runs, distinct};
    if (with_inverse) store_inverse(found, static_cast<std::int64_t*>(data_of(where)));
    if (with_firsts) store_firsts(found, static_cast<std::int64_t*>(data_of(firsts)));
    return found.count;
  });
  for (const auto& array : {values, firsts, lengths})
    if (!array.is_none()) shorten(array, runs);
  return nb::make_tuple(values, firsts, where, with_lengths ? lengths : nb::none());
}

nb::object merge_plain(nb::handle x1, nb::handle x2, nb::handle descending) {
  const Keys a(x1, is_true(descending)), b(x2, is_true(descending));
  if (!a || !b || !a.has_type_of(b) || a.end_with_nat() || b.end_with_nat()) return nb::none();
  Problem p = a.problem;
  p.count = a.count() + b.count();
  if (p.count == 0 || p.count >= many_records) return nb::none();
  nb::object result = a.empty(p.count);
  without_gil(p.count, [&] {
    sortium::merge_host(p, a.count(), {a.data(), b.data(), data_of(result)}, host);
  });
  return result;
}

nb::object search_plain(nb::handle x1, nb::handle x2, bool upper, nb::handle descending) {
  const Keys keys(x1, is_true(descending)), needles(x2, is_true(descending));
  if (!keys || keys.count() == 0 || keys.end_with_nat() || !needles || needles.count() == 0 ||
      needles.have_nat() || !keys.has_type_of(needles))
    return nb::none();
  Problem p = keys.problem;
  p.value_bytes = 8;
  nb::object result = empty_positions(needles.count());
  without_gil(needles.count(), [&] {
    sortium::search_host(p, keys.data(), needles.data(), needles.count(), data_of(result),
                         upper ? sortium::Bound::upper : sortium::Bound::lower, host);
  });
  return result;
}

// Returns the positions that sort by several keys, the last of which is the most significant.
nb::object lexsort_plain(const nb::tuple& given) {
  RecordKeys keys;
  for (std::size_t i = given.size(); i-- > 0;)
    if (!keys.add(given[i])) return nb::none();
  if (keys.count() == 0) return nb::none();
  nb::object result = empty_positions(keys.count());
  without_gil(keys.count(), [&] { keys.argsort(static_cast<std::int64_t*>(data_of(result))); });
  return result;
}

}  // namespace

void bind_numpy_functions(nb::module_& m) {
  using namespace nb::literals;
  m.def("partition_plain", &partition_plain, "x"_a, "kth"_a, "descending"_a, "positions"_a);
  m.def("select_plain", &select_plain, "x"_a, "first"_a, "last"_a);
  m.def("topk_plain", &topk_plain, "x"_a, "k"_a, "largest"_a);
  m.def("unique_plain", &unique_plain, "x"_a, "equal_nan"_a, "indices"_a, "inverse"_a, "counts"_a);
  m.def("merge_plain", &merge_plain, "x1"_a, "x2"_a, "descending"_a);
  m.def("search_plain", &search_plain, "x1"_a, "x2"_a, "upper"_a, "descending"_a);
  m.def("lexsort_plain", &lexsort_plain, "keys"_a);
}

}  // namespace pysortium
