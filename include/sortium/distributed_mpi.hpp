// A communicator over MPI. Link with sortium::mpi; mpi.h is not needed here.
//
//   MPI_Init(&argc, &argv);
//   const auto ranks = sortium::distributed::mpi_communicator(MPI_Comm_c2f(MPI_COMM_WORLD));
//   auto part = sortium::distributed::sort(*ranks, keys);
#pragma once

#include <memory>
#include <sortium/distributed.hpp>

namespace sortium::distributed {

// Returns a communicator over a duplicate of an MPI communicator, which is named by its Fortran
// handle: MPI_Comm_c2f(comm), or comm.py2f() of mpi4py. All ranks call it. MPI must be initialised,
// and the communicator must be destroyed before MPI_Finalize(). All calls must come from threads
// that MPI's thread level allows.
//
// A rank waits at most `timeout` for the others. MPI usually ends all processes itself if one dies.
[[nodiscard]] std::unique_ptr<Communicator> mpi_communicator(
    int fortran_handle, std::chrono::duration<double> timeout = default_timeout);

}  // namespace sortium::distributed
