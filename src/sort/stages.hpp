// Three stages that work on a sequence of jobs at the same time, each on its own thread: while one
// job is copied to the device, another is sorted and a third one is copied back.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <sortium/types.hpp>
#include <thread>

namespace sortium {

class Stages {
 public:
  static constexpr std::size_t count = 3;
  using Stage = std::function<void(std::uint64_t job)>;

  // Calls each stage for jobs 0 to jobs - 1, in order. A stage begins a job when the stage before
  // it has ended that job. The first stage begins job j when the last stage has ended job j -
  // count. So job j may use slot j % count of every resource. If a stage throws, no stage begins
  // another job; run() throws the exception after all threads have ended.
  static void run(std::uint64_t jobs, const std::array<Stage, count>& stages) {
    const First first = [&](std::uint64_t job) { return job < jobs && (stages[0](job), true); };
    run(first, stages[1], stages[2]);
  }
  // The same if the number of jobs is not known before: the first stage returns false if there is
  // no such job. It runs in the calling thread.
  using First = std::function<bool(std::uint64_t job)>;
  static void run(const First& first, const Stage& second, const Stage& third) {
    const auto no_thread = std::make_exception_ptr(
        Error(ErrorCode::out_of_memory, "the system can start no more threads"));
    Stages all;
    const std::array<const Stage*, count> stages{nullptr, &second, &third};
    std::array<std::thread, count - 1> others;
    for (std::size_t s = 1; s < count; ++s) try {
        others[s - 1] = std::thread([&, s] { all.work(s, *stages[s]); });
      } catch (const std::exception&) {  // no memory or no more threads
        all.fail(no_thread);
      }
    all.begin(first);
    for (auto& other : others)
      if (other.joinable()) other.join();
    if (all.error_) std::rethrow_exception(all.error_);
  }

 private:
  // The first stage.
  void begin(const First& first) try {
    for (std::uint64_t job = 0; wait([&] { return job < ended_[count - 1] + count; }); ++job) {
      if (!first(job)) return finish(job);
      end(0, job);
    }
  } catch (...) {
    fail(std::current_exception());
  }
  // The others.
  void work(std::size_t stage, const Stage& call) try {
    for (std::uint64_t job = 0;; ++job) {
      bool is_there = false;
      const auto knows = [&] {
        is_there = job < ended_[stage - 1];
        return is_there || job == jobs_;
      };
      if (!wait(knows) || !is_there) return;
      call(job);
      end(stage, job);
    }
  } catch (...) {
    fail(std::current_exception());
  }
  // Waits until ready() is true. Returns false if a stage has failed.
  template <class Ready>
  [[nodiscard]] bool wait(const Ready& ready) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return error_ || ready(); });
    return !error_;
  }
  void end(std::size_t stage, std::uint64_t job) {
    const std::lock_guard lock(mutex_);
    ended_[stage] = job + 1;
    changed_.notify_all();
  }
  void finish(std::uint64_t jobs) {
    const std::lock_guard lock(mutex_);
    jobs_ = jobs;
    changed_.notify_all();
  }
  void fail(const std::exception_ptr& error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = error;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<std::uint64_t, count> ended_{};  // jobs that each stage has ended
  std::uint64_t jobs_ = ~std::uint64_t{0};    // set when the first stage has found no more
  std::exception_ptr error_;
};

}  // namespace sortium
