// One rank of a test over MPI; mpi_test.cpp starts it by mpirun. Prints what failed, as one line.
//
//   mpi_ranks cases N    N cases of the conformance table, and others, on cpu:0; also in its memory
//   mpi_ranks device ID  a few cases on a device, of host memory and of the device's
//   mpi_ranks type       rank 1 sorts another type than the others
//   mpi_ranks late       rank 1 does not take part
//   mpi_ranks throw N    rank 1 gives up at its n-th call of the communicator
//   mpi_ranks kill N     rank 1 is killed there
#include <mpi.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <sortium/distributed_mpi.hpp>
#include <string>
#include <thread>

#include "distributed_cases.hpp"
#include "support.hpp"

namespace sortium::test {
namespace {

using distributed::Communicator;

// Forwards to a communicator; ends this rank at its n-th call.
class Ending final : public Communicator {
 public:
  Ending(Communicator& real, unsigned calls, bool killed)
      : real_(real), calls_(calls), killed_(killed) {}
  [[nodiscard]] unsigned rank() const override { return real_.rank(); }
  [[nodiscard]] unsigned size() const override { return real_.size(); }
  [[nodiscard]] std::vector<std::byte> all_gather(std::span<const std::byte> mine) override {
    count();
    return real_.all_gather(mine);
  }
  void all_reduce(std::span<std::uint64_t> numbers, distributed::Reduction reduction) override {
    count();
    real_.all_reduce(numbers, reduction);
  }
  void exclusive_sum(std::span<std::uint64_t> numbers) override {
    count();
    real_.exclusive_sum(numbers);
  }
  void exchange(const distributed::Exchange& e) override {
    count();
    real_.exchange(e);
  }

 private:
  void count() {
    if (calls_-- != 0) return;
    if (killed_) std::raise(SIGKILL);
    throw std::runtime_error("this rank gives up");
  }
  Communicator& real_;
  unsigned calls_;
  bool killed_;
};

std::uint64_t common_seed(Communicator& communicator) {
  std::uint64_t seed = communicator.rank() == 0 ? run_seed() : 0;
  communicator.all_reduce({&seed, 1}, distributed::Reduction::max);
  return seed;
}

std::string run_all(Communicator& communicator, unsigned cases) {
  const std::uint64_t seed = common_seed(communicator);
  if (auto wrong = run_cases(communicator, cases, seed, "cpu:0"); !wrong.empty()) return wrong;
  const auto queue = find_device("cpu:0")->make_queue();
  return run_device_cases(communicator, *queue, cases / 2, seed);
}

std::string run_on_device(Communicator& communicator, const std::string& device) {
  const auto queue = find_device(device)->make_queue();
  distributed::DeviceSorter sorter(communicator, queue->device().shared_from_this());
  for (const auto division : {Division::random, Division::one_has_all})
    for (const auto distribution : {Distribution::random, Distribution::few_distinct}) {
      const Case c{
          {.key = KeyType::f32, .count = 5000, .payload = Payload::values}, false, distribution, 5};
      auto wrong = run_case(communicator, c, division, distributed::Balance::even, device);
      wrong += run_device_case(communicator, sorter, *queue, c, division,
                               {.balance = distributed::Balance::even, .slices = 2});
      if (!wrong.empty()) return wrong;
    }
  return {};
}

// Sorts, and returns the error. The input must be unchanged.
std::string run_fault(Communicator& real, const std::string& mode, unsigned calls) {
  const bool is_first = real.rank() == 1;
  if (mode == "late" && is_first) return "late";
  Ending ending(real, calls, mode == "kill");
  Communicator& communicator = is_first && mode != "type" ? ending : real;
  std::vector<std::uint64_t> keys(20'000, real.rank());
  const auto before = keys;
  const KeyType type = mode == "type" && is_first ? KeyType::f64 : KeyType::u64;
  try {
    distributed::sort_host(communicator, {.key = type, .count = keys.size()},
                           {keys.data(), keys.data()});
    return "no error";
  } catch (const std::exception& e) {
    return keys == before ? e.what() : std::string("the input has changed");
  }
}

int run(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const bool is_fault = mode != "cases" && mode != "device";
  const std::chrono::milliseconds timeout(is_fault && mode != "type" ? 500 : 60'000);
  const auto communicator = distributed::mpi_communicator(MPI_Comm_c2f(MPI_COMM_WORLD), timeout);
  if (is_fault) {
    const auto error =
        run_fault(*communicator, mode, argc > 2 ? static_cast<unsigned>(std::stoi(argv[2])) : 0);
    fmt::print("rank {}: {}\n", communicator->rank(), error);
    std::fflush(stdout);
    // Time for the others to print: mpirun ends them when it sees that this rank has ended.
    std::this_thread::sleep_for(std::chrono::seconds(2));
    ::_exit(0);  // MPI_Finalize() would wait for ranks that are gone
  }
  const auto wrong = mode == "cases"
                         ? run_all(*communicator, static_cast<unsigned>(std::stoi(argv[2])))
                         : run_on_device(*communicator, argv[2]);
  fmt::print("rank {}: {}\n", communicator->rank(), wrong.empty() ? "passed" : wrong);
  std::fflush(stdout);
  return wrong.empty() ? 0 : 1;
}

}  // namespace
}  // namespace sortium::test

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int result = sortium::test::run(argc, argv);
  MPI_Finalize();
  return result;
}
