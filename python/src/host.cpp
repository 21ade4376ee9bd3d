// Operations on host memory, by address.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>

#include "module.hpp"

namespace pysortium {

namespace {

using sortium::Options, sortium::Problem;

// Calls `work(options)` without the GIL. If the list is long, Python's signal handlers run
// meanwhile: `work` then has a thread of its own. If a handler raises, the sort is asked to stop,
// and the exception is thrown when it has.
template <class Work>
void stoppable(std::uint64_t records, Options options, const Work& work) {
  if (records < many_records) return without_gil(records, [&] { work(options); });
  std::atomic<bool> stop{false};
  options.stop = &stop;
  auto sorted = std::async(std::launch::async, [&] { work(options); });
  for (;;) {
    {
      const nb::gil_scoped_release released;
      constexpr std::chrono::milliseconds until_signals{20};
      if (sorted.wait_for(until_signals) == std::future_status::ready) break;
    }
    if (PyErr_CheckSignals() == 0) continue;
    const nb::python_error raised;
    stop = true;
    const nb::gil_scoped_release released;
    sorted.wait();
    throw raised;
  }
  sorted.get();
}

void sort(const Problem& p, const Options& options, Address keys_in, Address keys_out,
          Address values_in, Address values_out, Address offsets) {
  stoppable(p.count, options, [&](const Options& o) {
    sortium::sort_host(p, {in(keys_in), out(keys_out), in(values_in), out(values_out), in(offsets)},
                       o);
  });
}

void sort_records(const sortium::RecordProblem& p, const Options& options,
                  const std::vector<Address>& columns_in, const std::vector<Address>& columns_out,
                  Address positions, Address offsets) {
  std::vector<const void*> from(columns_in.size());
  std::vector<void*> to(columns_out.size());
  std::ranges::transform(columns_in, from.begin(), in);
  std::ranges::transform(columns_out, to.begin(), out);
  stoppable(p.count, options, [&](const Options& o) {
    sortium::sort_records_host(p, {from, to, out(positions), in(offsets)}, o);
  });
}

std::uint64_t unique(const Problem& p, Address keys_in, Address keys_out, Address values_out,
                     Address lengths, unsigned length_bytes, const std::string& device) {
  return without_gil(p.count, [&] {
    return sortium::unique_host(p, {in(keys_in), out(keys_out), nullptr, out(values_out)},
                                out(lengths), length_bytes, device);
  });
}

}  // namespace

void bind_host(nb::module_& m) {
  using namespace nb::literals;
  m.def("sort", &sort, "problem"_a, "options"_a, "keys_in"_a, "keys_out"_a = 0, "values_in"_a = 0,
        "values_out"_a = 0, "offsets"_a = 0, "Sorts host memory at these addresses (0: none).");
  m.def("sort_records", &sort_records, "problem"_a, "options"_a, "columns_in"_a, "columns_out"_a,
        "positions"_a = 0, "offsets"_a = 0);
  m.def("unique", &unique, "problem"_a, "keys_in"_a, "keys_out"_a, "values_out"_a = 0,
        "lengths"_a = 0, "length_bytes"_a = 8, "device"_a = "cpu:0");
  m.def(
      "merge",
      [](const Problem& p, std::uint64_t a_count, Address a_keys, Address b_keys, Address keys_out,
         Address a_values, Address b_values, Address values_out, const std::string& device) {
        without_gil(p.count, [&] {
          sortium::merge_host(
              p, a_count,
              {in(a_keys), in(b_keys), out(keys_out), in(a_values), in(b_values), out(values_out)},
              device);
        });
      },
      "problem"_a, "a_count"_a, "a_keys"_a, "b_keys"_a, "keys_out"_a, "a_values"_a = 0,
      "b_values"_a = 0, "values_out"_a = 0, "device"_a = "cpu:0");
  m.def(
      "search",
      [](const Problem& p, Address keys, Address needles, std::uint64_t needle_count,
         Address places, bool upper, const std::string& device) {
        without_gil(needle_count, [&] {
          sortium::search_host(p, in(keys), in(needles), needle_count, out(places),
                               upper ? sortium::Bound::upper : sortium::Bound::lower, device);
        });
      },
      "problem"_a, "keys"_a, "needles"_a, "needle_count"_a, "places"_a, "upper"_a,
      "device"_a = "cpu:0");
  m.def(
      "first_unsorted",
      [](const Problem& p, Address keys, const std::string& device) {
        return without_gil(p.count,
                           [&] { return sortium::first_unsorted_host(p, in(keys), device); });
      },
      "problem"_a, "keys"_a, "device"_a = "cpu:0");
  m.def(
      "nth_element",
      [](const Problem& p, std::uint64_t n, Address keys_in, Address keys_out, Address values_out,
         const std::string& device) {
        without_gil(p.count, [&] {
          sortium::nth_element_host(p, n, {in(keys_in), out(keys_out), nullptr, out(values_out)},
                                    device);
        });
      },
      "problem"_a, "n"_a, "keys_in"_a, "keys_out"_a = 0, "values_out"_a = 0, "device"_a = "cpu:0");
  m.def(
      "gather",
      [](std::uint64_t count, unsigned element_bytes, unsigned index_bytes, std::uint64_t elements,
         Address from, Address positions, Address to, const std::string& device) {
        without_gil(count, [&] {
          sortium::permute_host(
              {sortium::Direction::gather, count, element_bytes, index_bytes, elements}, in(from),
              in(positions), out(to), {.device = device});
        });
      },
      "count"_a, "element_bytes"_a, "index_bytes"_a, "elements"_a, "from_"_a, "positions"_a, "to"_a,
      "device"_a = "cpu:0");
}

}  // namespace pysortium
