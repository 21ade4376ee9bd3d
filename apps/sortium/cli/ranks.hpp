// The processes of one call of `sortium sort --distributed`.
#pragma once

#include <functional>
#include <string>

#include "cli/common.hpp"
#include "mpi/module.hpp"

namespace app {

// An error that all processes throw alike: one message is enough.
class CommonFailure : public Failure {
 public:
  using Failure::Failure;
};

// This process and the others. Loads the MPI module. Without mpirun, the process is alone.
class Ranks {
 public:
  // Throws Failure if there is no MPI module, or if it does not fit the program.
  explicit Ranks(double timeout_seconds);
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  [[nodiscard]] sortium::distributed::Communicator& communicator() { return *mpi_.communicator; }
  [[nodiscard]] unsigned rank() const { return mpi_.communicator->rank(); }
  [[nodiscard]] unsigned size() const { return mpi_.communicator->size(); }
  [[nodiscard]] unsigned local_rank() const { return mpi_.local_rank; }

  // Runs `work` on every process. If it throws on any of them, all throw the CommonFailure of the
  // first one. If the processes cannot reach each other any more, throws what `work` threw.
  void together(const std::function<void()>& work);
  // Returns the text of process 0.
  [[nodiscard]] std::string from_first(const std::string& text);

  // Leaves MPI. All processes call it.
  void end();
  // Ends all processes, this one too.
  [[noreturn]] void abort(Exit code);

 private:
  template <class Function>
  Function* function(const char* name) const;

  std::string file_;
  void* module_ = nullptr;  // never closed: MPI's libraries do not survive that
  MpiProcess mpi_;
};

}  // namespace app
