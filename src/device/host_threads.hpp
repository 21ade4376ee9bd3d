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
#include <tbb/task_arena.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <sortium/device.hpp>
#include <type_traits>

#include "../core/function_ref.hpp"

namespace sortium::host {

// Runs the phases of a sort on a queue or, without a queue, at once.
class Phases {
 public:
  Phases() = default;
  Phases(Queue& queue) : queue_(&queue) {}  // NOLINT: a queue may be given instead

 private:
  friend void call(const Phases& phases, std::string_view phase, FunctionRef<void()> work);
  Queue* queue_ = nullptr;
};

// Runs `work` as a phase. Allocates nothing: std::function keeps two pointers inline.
static_assert(std::is_trivially_copyable_v<FunctionRef<void()>> &&
              sizeof(FunctionRef<void()>) == 2 * sizeof(void*));
inline void call(const Phases& phases, std::string_view phase, FunctionRef<void()> work) {
  if (phases.queue_ != nullptr)
    phases.queue_->call(phase, work);
  else
    work();
}

// Calls body(range) for subranges of `range`, in parallel. If oneTBB fails, the calling thread
// calls body for the whole range again. So `body` may run twice for an index, which must not change
// the result. Throws what `body` throws.
template <class Range, class Partitioner = tbb::auto_partitioner>
void repeatable_for(const Range& range, FunctionRef<void(const std::type_identity_t<Range>&)> body,
                    const Partitioner& partitioner = {}) {
  tbb::task_group_context own(tbb::task_group_context::isolated);
  try {
    return tbb::parallel_for(range, body, partitioner, own);
  } catch (...) {  // oneTBB lacks memory or threads; or `body` threw, and throws again below
  }
  body(range);
}

// Calls body(begin, end) for ranges that together cover [0, count), each index once, in parallel.
// `done` has space for `count` bytes. `body` must not throw. With `one_by_one`, a range has one
// index.
void once_for(std::uint64_t count, std::uint8_t* done, bool one_by_one,
              FunctionRef<void(std::uint64_t, std::uint64_t)> body);

// Calls body(i) once for each i < count: in parallel in the caller's arena, or in turn if `threads`
// is 1. Every call is made even if oneTBB lacks memory. `body` must not throw. `done` has space for
// `count` bytes.
void once_for_each(unsigned threads, std::uint64_t count, std::uint8_t* done,
                   FunctionRef<void(std::uint64_t)> body);

// Calls both functions, each once, in parallel. They must not throw.
void both_once(FunctionRef<void()> first, FunctionRef<void()> second);

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
  void run(FunctionRef<void()> work) const {
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
template <class Range>
void repeatable_for_all(const Range& range,
                        FunctionRef<void(const std::type_identity_t<Range>&)> body) {
  Threads threads(all_threads());
  try {
    threads.start();
    register_thread();
  } catch (const std::exception&) {  // too little memory, or no more threads
    return body(range);
  }
  if (threads.count() == 1) return body(range);
  threads.run([&] { repeatable_for(range, body); });
}

}  // namespace sortium::host
