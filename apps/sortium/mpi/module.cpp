#include "mpi/module.hpp"

#include <mpi.h>

#include <sortium/distributed_mpi.hpp>

#define MODULE_API extern "C" __attribute__((visibility("default")))

MODULE_API const char sortium_mpi_version[];
const char sortium_mpi_version[] = SORTIUM_VERSION;

MODULE_API void sortium_mpi_start(double timeout_seconds, app::MpiProcess& process) {
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm host{};
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int local_rank = 0;
  MPI_Comm_rank(host, &local_rank);
  MPI_Comm_free(&host);
  process.local_rank = static_cast<unsigned>(local_rank);
  process.communicator = sortium::distributed::mpi_communicator(
      MPI_Comm_c2f(MPI_COMM_WORLD), std::chrono::duration<double>(timeout_seconds));
}

MODULE_API void sortium_mpi_end() { MPI_Finalize(); }

MODULE_API void sortium_mpi_abort(int code) { MPI_Abort(MPI_COMM_WORLD, code); }
