// A progress bar on standard error, for a person who waits.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace app {

// With how long the phase will go on, once a part of it is done. Shows nothing where standard error
// is not a terminal, and nothing in the first second.
class Progress {
 public:
  explicit Progress(bool wanted);
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // A new phase begins. `total` 0: how far it is cannot be known, only for how long it has run.
  void phase(std::string name, std::uint64_t total = 0);
  // The phase goes on under another name.
  void label(std::string name);
  // Writes to standard output, above the bar.
  void print(const std::string& text);
  void advance(std::uint64_t amount) { done_.fetch_add(amount, std::memory_order_relaxed); }
  // Takes the bar away, for good.
  void finish();

 private:
  void draw();

  using Clock = std::chrono::steady_clock;
  std::mutex mutex_;  // of all but done_
  std::condition_variable_any changed_;
  std::string name_;
  std::uint64_t total_ = 0;
  Clock::time_point begin_ = Clock::now(), phase_begin_ = begin_;
  bool drawn_ = false;
  std::atomic<std::uint64_t> done_{0};
  std::jthread painter_;
};

}  // namespace app
