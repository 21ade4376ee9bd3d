// Ctrl-C during a sort.
#pragma once

#include <array>
#include <atomic>
#include <csignal>

namespace app {

// While an object lives, SIGINT, SIGTERM and SIGHUP set flag() instead of ending the program: pass
// it as Options::stop. The destructor then ends the program by the same signal. The sort has a
// second; after that, or at the next signal, the program ends as it would without this object. One
// object may live at a time.
class StopOnSignals {
 public:
  // A `patient` object gives the sort all the time that it needs, and prints that another signal
  // would lose records.
  explicit StopOnSignals(bool patient = false);
  ~StopOnSignals();
  StopOnSignals(const StopOnSignals&) = delete;
  StopOnSignals& operator=(const StopOnSignals&) = delete;
  [[nodiscard]] static const std::atomic<bool>* flag();
};

}  // namespace app
