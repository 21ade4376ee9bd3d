/* A library that tests preload into a process of MPI: SIGNAL_AT="RANK:N:SIGNAL" sends that process
 * a signal at its N-th reduction (from 1). The processes reduce at the end of each phase. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

int MPI_Iallreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op operation,
                   MPI_Comm comm, MPI_Request* request) {
  static int calls;
  int rank = -1, wanted = -1, n = 0, signal = 0;
  const char* plan = getenv("SIGNAL_AT");
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (plan != NULL && sscanf(plan, "%d:%d:%d", &wanted, &n, &signal) == 3 && rank == wanted &&
      ++calls == n)
    raise(signal);
  return PMPI_Iallreduce(send, receive, count, type, operation, comm, request);
}
