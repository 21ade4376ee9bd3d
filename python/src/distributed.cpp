// Distributed sorts, by address, over a communicator that is a Python object or the library's own.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <sortium/distributed_nccl.hpp>
#include <span>

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

// A communicator that the library made, for Python: a rank of run_ranks(), or one over NCCL.
class Ranks {
 public:
  explicit Ranks(distributed::Communicator& communicator) : communicator_(&communicator) {}
  // `host` carries host memory: a Python object or Ranks.
  Ranks(nb::handle host, const std::string& device, double timeout);

  // Runs work(communicator) without the GIL. If a Python object raised, raises the same exception.
  template <class Work>
  auto run(const Work& work) {
    if (communicator_ == nullptr)
      throw sortium::Error(sortium::ErrorCode::invalid_argument,
                           "the communicator's run_ranks() has ended");
    if (python_ != nullptr) return python_->run([&] { return work(*communicator_); });
    const nb::gil_scoped_release released;
    return work(*communicator_);
  }
  // Called when the communicator ends.
  void end() { communicator_ = nullptr; }

 private:
  std::unique_ptr<PythonCommunicator> python_;  // what `made_` uses, if it is a Python object
  std::unique_ptr<distributed::Communicator> made_;
  distributed::Communicator* communicator_;
};

// Calls work(communicator) without the GIL.
template <class Work>
auto with_ranks(nb::handle object, const Work& work) {
  if (nb::isinstance<Ranks>(object)) return nb::cast<Ranks&>(object).run(work);
  PythonCommunicator ranks(object);
  return ranks.run([&] { return work(static_cast<distributed::Communicator&>(ranks)); });
}

Ranks::Ranks(nb::handle host, const std::string& device, double timeout) {
  const auto make = [&](distributed::Communicator& ranks) {
    made_ = distributed::nccl_communicator(ranks, device, std::chrono::duration<double>(timeout));
  };
  if (nb::isinstance<Ranks>(host)) {
    nb::cast<Ranks&>(host).run(make);
  } else {
    python_ = std::make_unique<PythonCommunicator>(host);
    python_->run([&] { make(*python_); });
  }
  communicator_ = made_.get();
}

nb::bytes all_gather(Ranks& ranks, const nb::bytes& mine) {
  const std::span sent(reinterpret_cast<const std::byte*>(mine.c_str()), mine.size());
  const auto all = ranks.run([&](auto& communicator) { return communicator.all_gather(sent); });
  return nb::bytes(all.data(), all.size());
}

// Calls work(communicator) on threads. Returns the results. Raises what the first rank raised.
nb::list run_ranks(unsigned ranks, const nb::object& work, double timeout) {
  std::vector<nb::object> results(ranks);
  std::optional<nb::python_error> raised;
  const auto on_rank = [&](distributed::Communicator& communicator) {
    const nb::gil_scoped_acquire acquired;
    const auto mine = std::make_shared<Ranks>(communicator);
    try {
      results[communicator.rank()] = work(mine);
    } catch (nb::python_error& error) {
      mine->end();
      const std::string message = error.what();
      if (!raised) raised.emplace(std::move(error));
      throw sortium::Error(sortium::ErrorCode::device_failed, message);
    }
    mine->end();
  };
  try {
    const nb::gil_scoped_release released;
    distributed::run_ranks(ranks, on_rank, std::chrono::duration<double>(timeout));
  } catch (const sortium::Error&) {
    if (!raised) throw;
    nb::python_error error = std::move(*raised);
    raised.reset();
    throw error;
  }
  nb::list all;
  for (auto& result : results) all.append(result);
  return all;
}

Balance balance_of(bool even) { return even ? Balance::even : Balance::kept; }

std::uint64_t part_count(nb::handle communicator, std::uint64_t count, bool even) {
  return with_ranks(communicator,
                    [&](auto& ranks) { return part_of(ranks, count, balance_of(even)).count; });
}

void sort(nb::handle communicator, const sortium::Problem& p, const sortium::Options& options,
          bool even, Address keys_in, Address keys_out, Address values_in, Address values_out) {
  with_ranks(communicator, [&](auto& ranks) {
    distributed::sort_host(ranks, p, {in(keys_in), out(keys_out), in(values_in), out(values_out)},
                           {options, balance_of(even)});
  });
}

void sort_on_device(nb::handle communicator, sortium::Queue& queue, const sortium::Problem& p,
                    const std::string& algorithm, std::uint64_t max_scratch,
                    std::uint64_t max_bytes, bool even, const sortium::Memory& keys_in,
                    const sortium::Memory& keys_out, const sortium::Memory& values_in,
                    const sortium::Memory& values_out) {
  with_ranks(communicator, [&](auto& ranks) {
    distributed::DeviceSorter sorter(ranks, queue.device().shared_from_this());
    sorter.sort(queue, p, {keys_in, keys_out, values_in, values_out},
                {.balance = balance_of(even),
                 .method = {algorithm, "", max_scratch},
                 .max_bytes = max_bytes});
  });
}

void sort_records(nb::handle communicator, const sortium::RecordProblem& p,
                  const sortium::Options& options, bool even,
                  const std::vector<Address>& columns_in, const std::vector<Address>& columns_out) {
  std::vector<const void*> from(columns_in.size());
  std::vector<void*> to(columns_out.size());
  std::ranges::transform(columns_in, from.begin(), in);
  std::ranges::transform(columns_out, to.begin(), out);
  with_ranks(communicator, [&](auto& ranks) {
    distributed::sort_records_host(ranks, p, {from, to}, {options, balance_of(even)});
  });
}

}  // namespace

void bind_distributed(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Ranks>(m, "Ranks", "A rank of the library's own communicators.")
      .def(nb::init<nb::handle, const std::string&, double>(), "host"_a, "device"_a, "timeout"_a,
           nb::keep_alive<1, 2>())
      .def_prop_ro("rank", [](Ranks& r) { return r.run([](auto& c) { return c.rank(); }); })
      .def_prop_ro("size", [](Ranks& r) { return r.run([](auto& c) { return c.size(); }); })
      .def("all_gather", &all_gather, "mine"_a);
  m.def("run_ranks", &run_ranks, "ranks"_a, "work"_a, "timeout"_a);
  m.def("distributed_part_count", &part_count, "communicator"_a, "count"_a, "even"_a,
        "Returns the number of records that this rank receives.");
  m.def("distributed_sort", &sort, "communicator"_a, "problem"_a, "options"_a, "even"_a,
        "keys_in"_a, "keys_out"_a = 0, "values_in"_a = 0, "values_out"_a = 0);
  m.def("distributed_sort_on_device", &sort_on_device, "communicator"_a, "queue"_a, "problem"_a,
        "algorithm"_a, "max_scratch_bytes"_a, "max_bytes"_a, "even"_a, "keys_in"_a, "keys_out"_a,
        "values_in"_a, "values_out"_a);
  m.def("distributed_sort_records", &sort_records, "communicator"_a, "problem"_a, "options"_a,
        "even"_a, "columns_in"_a, "columns_out"_a);
}

}  // namespace pysortium
