// Sorts two keys of each rank, and checks the rank's part. It also runs as a single process.
#include <mpi.h>

#include <sortium/distributed_mpi.hpp>
#include <vector>

namespace {

bool sorts() {
  const auto ranks = sortium::distributed::mpi_communicator(MPI_Comm_c2f(MPI_COMM_WORLD));
  const auto rank = static_cast<float>(ranks->rank()), size = static_cast<float>(ranks->size());
  // All ranks together have 0, 1, 2 …, the largest on the first rank.
  const std::vector<float> keys{2 * (size - rank) - 1, 2 * (size - rank) - 2};
  return sortium::distributed::sort(*ranks, keys) == std::vector<float>{2 * rank, 2 * rank + 1};
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const bool sorted = sorts();
  MPI_Finalize();
  return sorted ? 0 : 1;
}
