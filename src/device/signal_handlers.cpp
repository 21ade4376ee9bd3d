#include "signal_handlers.hpp"

#include <dlfcn.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <exception>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

namespace sortium {

namespace {

constexpr std::array signals{SIGINT, SIGTERM};
constexpr std::chrono::milliseconds period{1};

// Returns where the library that contains `address` is loaded; null if none does.
const void* library_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

const void* handler_of(const struct sigaction& action) {
  return reinterpret_cast<const void*>(action.sa_handler);
}

// What the objects share.
struct Shared {
  std::mutex mutex;
  std::condition_variable_any ended;
  int objects = 0;
  const void* library = nullptr;
  std::array<struct sigaction, signals.size()> before{};
  std::jthread watcher;

  void save() {
    for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], nullptr, &before[i]);
  }

  void restore() {
    for (std::size_t i = 0; i < signals.size(); ++i) {
      struct sigaction now {};
      ::sigaction(signals[i], nullptr, &now);
      const bool replaced = library != nullptr && library_of(handler_of(now)) == library;
      const bool lost_flags =
          handler_of(now) == handler_of(before[i]) && now.sa_flags != before[i].sa_flags;
      if (replaced || lost_flags) ::sigaction(signals[i], &before[i], nullptr);
    }
  }

  void watch(const std::stop_token& stop) {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);  // the process's handlers run in its own threads
    std::unique_lock lock(mutex);
    while (!ended.wait_for(lock, stop, period, [&] { return stop.stop_requested(); })) restore();
  }
};

Shared& shared() {
  static Shared one;
  return one;
}

}  // namespace

KeepSignalHandlers::KeepSignalHandlers(const void* address) {
  auto& s = shared();
  const std::lock_guard lock(s.mutex);
  if (s.objects++ > 0) return;
  s.library = library_of(address);
  s.save();
  try {
    s.watcher = std::jthread([&s](const std::stop_token& stop) { s.watch(stop); });
  } catch (const std::exception&) {  // no memory or no more threads: the caller's work matters more
  }
}

KeepSignalHandlers::~KeepSignalHandlers() {
  auto& s = shared();
  std::jthread watcher;  // stopped and joined after the lock is released
  const std::lock_guard lock(s.mutex);
  if (--s.objects > 0) return;
  s.restore();
  watcher = std::move(s.watcher);
}

}  // namespace sortium
