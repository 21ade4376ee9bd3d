// A progress bar on standard error.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace app {

// Shows the phase, how much of it is done, and an estimate of the time left. Shows nothing during
// the first second, and nothing at all if standard error is not a terminal.
class Progress {
 public:
  explicit Progress(bool wanted);
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Begins a new phase. With a `total` of 0, only the elapsed time is shown.
  void phase(std::string name, std::uint64_t total = 0);
  // Renames the phase.
  void label(std::string name);
  // Writes to standard output, above the bar. Throws ReaderGone or Failure.
  void print(const std::string& text);
  void advance(std::uint64_t amount) { done_.fetch_add(amount, std::memory_order_relaxed); }
  // Removes the bar for good.
  void finish();

 private:
  void draw();
  // Draws the bar again and again.
  void paint(const std::stop_token& stop);

  using Clock = std::chrono::steady_clock;
  std::mutex mutex_;  // guards all members but done_
  std::condition_variable_any changed_;
  std::string name_;
  std::uint64_t total_ = 0;
  Clock::time_point begin_ = Clock::now(), phase_begin_ = begin_;
  bool drawn_ = false;
  std::atomic<std::uint64_t> done_{0};
  std::jthread painter_;
};

}  // namespace app
