// Parallel loops for cpu:0, on oneTBB's threads. They always finish, even if memory runs out.
//
// oneTBB allocates memory for its tasks while a loop runs, and throws if there is none. A sort that
// has begun to write its output must not stop then. So the calling thread runs the rest of the
// loop.
//
// oneTBB 2021.8 does not survive a failed allocation of two kinds: of an arena (it crashes or
// hangs), and of the first task that a thread spawns in an arena (it hangs). So arenas are reused,
// and one is made only while there is enough memory.
//
// Every loop has its own context. If loops shared one, a failing loop would cancel the loops inside
// its bodies: these would return with half of their work undone, and without an exception.
#pragma once

#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <sortium/device.hpp>

namespace sortium::host {

// Runs `work` as a phase of `queue`. Allocates nothing: std::function keeps a reference inline.
template <class AnyQueue, class Work>
void call(AnyQueue& queue, std::string_view phase, const Work& work) {
  queue.call(phase, std::cref(work));
}

// Calls body(range) for subranges of `range`, in parallel. If oneTBB fails, the calling thread
// calls body for the whole range again. So `body` may run twice for an index, which must not change
// the result. Throws what `body` throws.
template <class Range, class Body, class Partitioner = tbb::auto_partitioner>
void repeatable_for(const Range& range, const Body& body, const Partitioner& partitioner = {}) {
  tbb::task_group_context own(tbb::task_group_context::isolated);
  try {
    return tbb::parallel_for(range, body, partitioner, own);
  } catch (...) {  // oneTBB lacks memory or threads; or `body` threw, and throws again below
  }
  body(range);
}

// Calls body(begin, end) for ranges that together cover [0, count), each index once, in parallel.
// `done` has space for `count` bytes. `body` must not throw.
template <class Body, class Partitioner>
void once_for(std::uint64_t count, std::uint8_t* done, const Partitioner& partitioner,
              const Body& body) {
  std::memset(done, 0, count);
  const auto run = [&](const tbb::blocked_range<std::uint64_t>& range) {
    body(range.begin(), range.end());
    std::memset(done + range.begin(), 1, range.size());
  };
  tbb::task_group_context own(tbb::task_group_context::isolated);
  try {
    return tbb::parallel_for(tbb::blocked_range<std::uint64_t>(0, count), run, partitioner, own);
  } catch (...) {  // oneTBB lacks memory or threads; some indices are not done, no body is running
  }
  for (std::uint64_t i = 0; i < count; ++i)
    if (done[i] == 0) body(i, i + 1);
}

// Calls body(i) once for each i < count: in parallel in the caller's arena, or in turn if `threads`
// is 1. Every call is made even if oneTBB lacks memory. `body` must not throw. `done` has space for
// `count` bytes.
template <class Body>
void once_for_each(unsigned threads, std::uint64_t count, std::uint8_t* done, const Body& body) {
  const auto range = [&](std::uint64_t begin, std::uint64_t end) {
    for (auto i = begin; i != end; ++i) body(i);
  };
  if (threads == 1)
    range(0, count);
  else
    once_for(count, done, tbb::simple_partitioner{}, range);
}

// Calls both functions, each once, in parallel. They must not throw.
template <class First, class Second>
void both_once(const First& first, const Second& second) {
  bool first_ran = false, second_ran = false;
  tbb::task_group_context own(tbb::task_group_context::isolated);
  try {
    return tbb::parallel_invoke([&] { first_ran = true, first(); },
                                [&] { second_ran = true, second(); }, own);
  } catch (...) {  // oneTBB lacks memory or threads
  }
  if (!first_ran) first();
  if (!second_ran) second();
}

using Arena = std::unique_ptr<tbb::task_arena>;
[[nodiscard]] Arena take_arena(unsigned count);  // with `count` threads; throws std::bad_alloc
void give_back(Arena arena, unsigned count) noexcept;
// Registers the calling thread with oneTBB, which makes an arena for it. Throws std::bad_alloc.
// Returns at once if the thread is registered.
void register_thread();
// The number of hardware threads that the process may use.
[[nodiscard]] unsigned all_threads();

// Returns how many threads should share `count` records, so that each has at least `least` of them:
// a power of two, or `most` if that is less. At least 1.
[[nodiscard]] inline unsigned threads_for(std::uint64_t count, std::uint64_t least, unsigned most) {
  const std::uint64_t useful = std::bit_floor(std::max<std::uint64_t>(1, count / least));
  return static_cast<unsigned>(std::min<std::uint64_t>(useful, most));
}

// An arena that limits a sort to `count` threads. If `count` is 1, the calling thread runs the
// sort.
class Threads {
 public:
  explicit Threads(unsigned count = 1) : count_(count) {}
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() {
    if (arena_) give_back(std::move(arena_), count_);
  }

  // Makes run() use the arena. Throws std::bad_alloc.
  void start() {
    if (count_ > 1 && !arena_) arena_ = take_arena(count_);
  }
  // Runs `work` in the arena if start() was called, else on the calling thread. Throws
  // std::bad_alloc before `work` begins, and what `work` throws.
  template <class Work>
  void run(const Work& work) const {
    if (!arena_) return work();
    register_thread();
    arena_->execute(work);
  }
  [[nodiscard]] unsigned count() const { return count_; }
  // The calling thread's number in the arena, less than count().
  [[nodiscard]] std::uint64_t index() const {
    return count_ == 1 ? 0
                       : static_cast<std::uint64_t>(tbb::this_task_arena::current_thread_index());
  }

 private:
  unsigned count_;
  Arena arena_;
};

// repeatable_for() in an arena with all threads.
template <class Range, class Body>
void repeatable_for_all(const Range& range, const Body& body) {
  Threads threads(all_threads());
  try {
    threads.start();
    register_thread();
  } catch (const std::bad_alloc&) {
    return body(range);
  }
  if (threads.count() == 1) return body(range);
  threads.run([&] { repeatable_for(range, body); });
}

}  // namespace sortium::host
