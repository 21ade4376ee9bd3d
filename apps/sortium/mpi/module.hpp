// What the program and its MPI module have in common. The program loads the module when it runs, so
// that it does not depend on an MPI.
#pragma once

#include <memory>
#include <sortium/distributed.hpp>

namespace app {

// One process among those that mpirun has started.
struct MpiProcess {
  std::unique_ptr<sortium::distributed::Communicator> communicator;
  unsigned local_rank = 0;  // its number among the processes of its host
};

// The module's functions, by the names below.
using MpiStart = void(double timeout_seconds, MpiProcess& process);
using MpiEnd = void();            // waits for all processes; the communicator must be gone
using MpiAbort = void(int code);  // ends all processes
constexpr const char* mpi_start_name = "sortium_mpi_start";
constexpr const char* mpi_end_name = "sortium_mpi_end";
constexpr const char* mpi_abort_name = "sortium_mpi_abort";
// A string: the version of Sortium that the module belongs to.
constexpr const char* mpi_version_name = "sortium_mpi_version";

}  // namespace app
