// Distributed sorts of host memory, by address, over a communicator that is a Python object.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <sortium/distributed.hpp>

#include "module.hpp"

namespace pysortium {

namespace {

namespace distributed = sortium::distributed;
using distributed::Balance;

// Forwards to a Python object with `rank`, `size`, `all_gather` and `exchange`. The sort runs
// without the GIL, which each call acquires.
class PythonCommunicator final : public distributed::Communicator {
  // The library must not see Python's exceptions: they are destroyed where the GIL is released.
  template <class Work>
  auto with_gil(const Work& work) {
    const nb::gil_scoped_acquire acquired;
    try {
      return work();
    } catch (nb::python_error& error) {
      const std::string message = error.what();
      raised_.emplace(std::move(error));
      throw sortium::Error(sortium::ErrorCode::device_failed, message);
    }
  }

 public:
  explicit PythonCommunicator(nb::handle object)
      : object_(object),
        rank_(nb::cast<unsigned>(object.attr("rank"))),
        size_(nb::cast<unsigned>(object.attr("size"))) {}

  [[nodiscard]] unsigned rank() const override { return rank_; }
  [[nodiscard]] unsigned size() const override { return size_; }

  [[nodiscard]] std::vector<std::byte> all_gather(std::span<const std::byte> mine) override {
    return with_gil([&] {
      const nb::bytes sent(reinterpret_cast<const char*>(mine.data()), mine.size());
      return bytes_of(object_.attr("all_gather")(sent));
    });
  }
  void exchange(const distributed::Exchange& e) override {
    with_gil([&] {
      object_.attr("exchange")(view(e.send, e.send_bytes, PyBUF_READ), numbers(e.send_bytes),
                               view(e.receive, e.receive_bytes, PyBUF_WRITE),
                               numbers(e.receive_bytes));
    });
  }

  // Runs `work` without the GIL. If the Python object raised, raises the same exception.
  template <class Work>
  auto run(const Work& work) {
    try {
      const nb::gil_scoped_release released;
      return work();
    } catch (const sortium::Error&) {
      if (!raised_) throw;
    }
    nb::python_error error = std::move(*raised_);
    raised_.reset();
    throw error;
  }

 private:
  static std::uint64_t sum(std::span<const std::uint64_t> bytes) {
    std::uint64_t total = 0;
    for (const auto n : bytes) total += n;
    return total;
  }
  static nb::object view(const std::byte* data, std::span<const std::uint64_t> bytes, int access) {
    static char nothing = 0;  // a view of no bytes needs an address
    auto* const begin =
        data == nullptr ? &nothing : reinterpret_cast<char*>(const_cast<std::byte*>(data));
    return nb::steal(PyMemoryView_FromMemory(begin, static_cast<Py_ssize_t>(sum(bytes)), access));
  }
  static nb::list numbers(std::span<const std::uint64_t> bytes) {
    nb::list out;
    for (const auto n : bytes) out.append(n);
    return out;
  }
  static std::vector<std::byte> bytes_of(const nb::object& object) {
    const nb::bytes bytes(object);
    std::vector<std::byte> out(bytes.size());
    if (!out.empty()) std::memcpy(out.data(), bytes.c_str(), out.size());
    return out;
  }

  nb::handle object_;
  unsigned rank_, size_;
  std::optional<nb::python_error> raised_;
};

distributed::Options options_of(const sortium::Options& options, bool even) {
  return {options, even ? Balance::even : Balance::kept};
}

std::uint64_t part_count(nb::handle communicator, std::uint64_t count, bool even) {
  PythonCommunicator ranks(communicator);
  return ranks.run(
      [&] { return part_of(ranks, count, even ? Balance::even : Balance::kept).count; });
}

void sort(nb::handle communicator, const sortium::Problem& p, const sortium::Options& options,
          bool even, Address keys_in, Address keys_out, Address values_in, Address values_out) {
  PythonCommunicator ranks(communicator);
  ranks.run([&] {
    distributed::sort_host(ranks, p, {in(keys_in), out(keys_out), in(values_in), out(values_out)},
                           options_of(options, even));
  });
}

void sort_records(nb::handle communicator, const sortium::RecordProblem& p,
                  const sortium::Options& options, bool even,
                  const std::vector<Address>& columns_in, const std::vector<Address>& columns_out) {
  std::vector<const void*> from(columns_in.size());
  std::vector<void*> to(columns_out.size());
  std::ranges::transform(columns_in, from.begin(), in);
  std::ranges::transform(columns_out, to.begin(), out);
  PythonCommunicator ranks(communicator);
  ranks.run([&] {
    distributed::sort_records_host(ranks, p, {from, to}, options_of(options, even));
  });
}

}  // namespace

void bind_distributed(nb::module_& m) {
  using namespace nb::literals;
  m.def("distributed_part_count", &part_count, "communicator"_a, "count"_a, "even"_a,
        "Returns the number of records that this rank receives.");
  m.def("distributed_sort", &sort, "communicator"_a, "problem"_a, "options"_a, "even"_a,
        "keys_in"_a, "keys_out"_a = 0, "values_in"_a = 0, "values_out"_a = 0);
  m.def("distributed_sort_records", &sort_records, "communicator"_a, "problem"_a, "options"_a,
        "even"_a, "columns_in"_a, "columns_out"_a);
}

}  // namespace pysortium
