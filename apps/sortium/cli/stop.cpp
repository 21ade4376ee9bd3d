#include "cli/stop.hpp"

#include <unistd.h>

#include <string_view>

namespace app {

namespace {

constexpr std::array signals{SIGINT, SIGTERM, SIGHUP};
constexpr unsigned seconds_to_stop = 1;

// Signal handlers may access only such fixed memory, and call only functions that are safe there:
// sigaction, alarm and raise are.
std::atomic<bool> stop{false};
static_assert(std::atomic<bool>::is_always_lock_free);
volatile std::sig_atomic_t caught = 0;  // the signal; 0: none
volatile std::sig_atomic_t is_patient = 0;
std::array<struct sigaction, signals.size()> before;
struct sigaction alarm_before;

void restore_handlers() {
  for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &before[i], nullptr);
}

extern "C" void end_now(int) { ::raise(caught); }

extern "C" void ask_to_stop(int signal) {
  caught = signal;
  stop = true;
  restore_handlers();
  if (is_patient == 0) {
    ::alarm(seconds_to_stop);
    return;
  }
  constexpr std::string_view text =
      "\nsortium: ending as soon as no record can be lost; another signal would lose records\n";
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

}  // namespace

StopOnSignals::StopOnSignals(bool patient) {
  is_patient = patient ? 1 : 0;
  stop = false;
  caught = 0;
  struct sigaction end {};
  end.sa_handler = end_now;
  ::sigaction(SIGALRM, &end, &alarm_before);
  for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], nullptr, &before[i]);
  for (std::size_t i = 0; i < signals.size(); ++i) {
    if (before[i].sa_handler == SIG_IGN) continue;  // nohup's signals stay ignored
    struct sigaction ask {};
    ask.sa_handler = ask_to_stop;
    for (const int other : signals) ::sigaddset(&ask.sa_mask, other);
    ::sigaction(signals[i], &ask, nullptr);
  }
}

StopOnSignals::~StopOnSignals() {
  restore_handlers();
  ::alarm(0);
  ::sigaction(SIGALRM, &alarm_before, nullptr);
  if (caught != 0) ::raise(caught);
}

const std::atomic<bool>* StopOnSignals::flag() { return &stop; }

}  // namespace app
