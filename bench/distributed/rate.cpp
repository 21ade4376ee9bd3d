// The rate of a distributed sort over MPI, and of one process with the same number of keys.
//
//   mpirun -n 2 distributed-rate LOG2_KEYS_OF_A_RANK   each rank sorts 2^LOG2 random keys on cpu:0
//   distributed-rate LOG2_KEYS                         one process, all cores
//
// Prints the fastest and the median of 9 sorts, after 2 that are not counted. A sort begins when
// all ranks are ready and ends when the last one has finished.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <random>
#include <sortium/distributed_mpi.hpp>
#include <sortium/sort.hpp>
#include <string>
#include <vector>

namespace {

using sortium::distributed::Communicator;
using sortium::distributed::Report;

void wait_for_all(Communicator& communicator) {
  std::uint64_t nothing = 0;
  communicator.all_reduce({&nothing, 1}, sortium::distributed::Reduction::max);
}

struct Lists {
  std::vector<std::uint32_t> keys, values, keys_out, values_out;
};

Report sort(Communicator& communicator, Lists& lists, bool has_values) {
  sortium::Problem problem{.key = sortium::KeyType::u32, .count = lists.keys.size()};
  if (has_values) problem.payload = sortium::Payload::values;
  const sortium::HostOperands operands{lists.keys.data(), lists.keys_out.data(),
                                       has_values ? lists.values.data() : nullptr,
                                       has_values ? lists.values_out.data() : nullptr};
  if (communicator.size() > 1)
    return sortium::distributed::sort_host(communicator, problem, operands, {{.device = "cpu:0"}});
  sortium::sort_host(problem, operands, {.device = "cpu:0"});
  return {};
}

void measure(Communicator& communicator, Lists& lists, bool has_values) {
  std::vector<std::pair<double, Report>> runs;
  for (int run = 0; run < 11; ++run) {
    wait_for_all(communicator);
    const auto start = std::chrono::steady_clock::now();
    const Report report = sort(communicator, lists, has_values);
    wait_for_all(communicator);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    if (run >= 2) runs.emplace_back(time.count(), report);
  }
  std::ranges::sort(runs, {}, [](const auto& run) { return run.first; });
  const auto total =
      static_cast<double>(lists.keys.size()) * static_cast<double>(communicator.size());
  if (communicator.rank() != 0) return;
  const auto& [median, report] = runs[runs.size() / 2];
  fmt::print(
      "{} ranks, {}: fastest {:.1f} ms, median {:.1f} ms, {:.0f} Mrecords/s; of the median "
      "run: partition {:.1f} ms, exchange {:.1f}, sort {:.1f}, {} histograms\n",
      communicator.size(), has_values ? "u32 + u32" : "u32", runs[0].first * 1e3, median * 1e3,
      total / median * 1e-6, report.partition_seconds * 1e3, report.exchange_seconds * 1e3,
      report.sort_seconds * 1e3, report.rounds);
}

int run(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: [mpirun -n RANKS] distributed-rate LOG2_KEYS_OF_A_RANK\n");
    return 2;
  }
  const auto communicator = sortium::distributed::mpi_communicator(MPI_Comm_c2f(MPI_COMM_WORLD));
  const std::size_t count = std::size_t{1} << std::stoul(argv[1]);
  Lists lists{std::vector<std::uint32_t>(count), std::vector<std::uint32_t>(count),
              std::vector<std::uint32_t>(count), std::vector<std::uint32_t>(count)};
  std::mt19937 random(communicator->rank());
  for (auto& key : lists.keys) key = static_cast<std::uint32_t>(random());
  for (auto& value : lists.values) value = static_cast<std::uint32_t>(random());
  for (const bool has_values : {false, true}) measure(*communicator, lists, has_values);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int result = run(argc, argv);
  MPI_Finalize();
  return result;
}
