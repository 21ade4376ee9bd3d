// How sample cuts a problem into chunks and parts, and what its scratch memory holds.
#pragma once

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "../../device/host_threads.hpp"
#include "../algorithm.hpp"
#include "codes.hpp"
#include "ranks.hpp"
#include "runs.hpp"

namespace sortium::sample {

// Up to this many records, one thread is done before others have woken.
constexpr std::uint64_t alone = 1u << 15;

template <class T>
T* at(const Memory& m) {
  return reinterpret_cast<T*>(static_cast<std::byte*>(m.handle) + m.offset);
}

struct Layout {
  // Parameters of `given`: threads, parts, chunk. The number of threads is at most `most_threads`.
  Layout(const Problem& sorted, unsigned most_threads, const Parameters& given)
      : problem(sorted),
        key_bytes(info(problem.key).bytes),
        all_bits(key_bits(problem) == info(problem.key).bits()),
        coded(all_bits && key_bytes >= 4 && problem.nan == NanOrder::last &&
              problem.zeros == ZeroOrder::tied),
        records(problem.payload != Payload::none || !coded),
        packed(problem.payload != Payload::none && problem.value_bytes == 4 && key_bytes == 4 &&
               !info(problem.key).is_float && all_bits && problem.count > alone &&
               problem.count < std::uint64_t{1} << 32),
        threads(static_cast<unsigned>(given.number("threads", most_threads))) {
    choose_sizes(given);
    lay_out();
  }

  // Calls body(i) for each i < count, in parallel in the arena that the caller is in. `body` must
  // not throw. Every i has its turn even if oneTBB has no memory. `count`: at most that of the
  // chunks, parts, pieces of RunFinder or parts of a merge.
  template <class Body>
  void each(const Operands& o, std::uint64_t count, const Body& body) const {
    const auto range = [&](std::uint64_t begin, std::uint64_t end) {
      for (auto i = begin; i != end; ++i) body(i);
    };
    if (threads == 1)
      range(0, count);
    else
      host::once_for(count, at<std::uint8_t>(done.in(o)), tbb::simple_partitioner{}, range);
  }
  // Calls body(chunk, its first record, its number of records) for each chunk.
  template <class Body>
  void each_chunk(const Operands& o, const Body& body) const {
    each(o, chunks,
         [&](std::uint64_t c) { body(c, c * chunk, std::min(chunk, problem.count - c * chunk)); });
  }
  // The calling thread's number, less than `threads`.
  [[nodiscard]] std::uint64_t thread() const {
    return threads == 1 ? 0
                        : static_cast<std::uint64_t>(tbb::this_task_arena::current_thread_index());
  }

  Problem problem;
  unsigned key_bytes;
  bool all_bits;
  // Codes exist for 4- and 8-byte keys in the default order of floats. Other keys are ranked one by
  // one.
  bool coded;
  bool records;  // words have a position, because a key's code is not all there is to a record
  bool packed;   // words have the key and the value
  unsigned threads;
  std::uint64_t chunk = 0, chunks = 0;  // records of a chunk, number of chunks
  std::uint64_t parts = 1;
  std::uint64_t own_words = 0;  // of each thread's memory

  static constexpr std::uint64_t special = 4;  // splitters around ties of floats, and one spare
  static constexpr std::uint64_t oversampling = 64;
  static constexpr std::uint64_t merge_part = 1u << 14, merge_samples = 8;  // of a merge of runs
  // At most this many parts has a merge of runs.
  [[nodiscard]] std::uint64_t merge_parts() const {
    return ceil_div(problem.count, merge_part) + special;
  }

  ScratchLayout scratch;
  ScratchLayout::Slice keys, values, own, splitters, samples, ends, begins;
  ScratchLayout::Slice done;               // a byte for each body of a loop
  ScratchLayout::Slice stretches, ranges;  // of RunFinder; of find_window
  ScratchLayout::Slice merge_words, merge_cuts;

 private:
  // Chunks and their partition fit a second-level cache; parts are enough for all threads to end at
  // the same time. Of records, a part's words and values should fit, too; and of many, each chunk
  // should have a page's worth for each part.
  void choose_sizes(const Parameters& given) {
    const std::uint64_t n = problem.count;
    const bool many = records && !packed && n >= std::uint64_t{1} << 25;
    chunk = std::max<std::uint64_t>(given.number("chunk", std::uint64_t{1} << (many ? 17 : 16)),
                                    ceil_div(n, 4096));
    const std::uint64_t wanted =
        std::clamp<std::uint64_t>(records ? n >> (packed ? 17 : 18) : 0, 8 * threads, 1024);
    parts = n <= alone ? 1 : std::min(given.number("parts", wanted), n);
    if (n <= alone) threads = 1, chunk = n;
    chunks = ceil_div(n, std::max<std::uint64_t>(chunk, 1));
    // A thread has memory for a chunk's words and as many to spare, or for a part's words: parts of
    // more than twice the mean are rare.
    own_words = std::max(2 * chunk, (packed ? 4 : 2) * ceil_div(n, parts));
  }

  void lay_out() {
    const std::uint64_t n = problem.count, word = records ? 8 : key_bytes;
    keys = scratch.add(n * key_bytes + (packed ? n * 4 : 0));
    if (packed)
      values = {keys.offset + n * 4, n * 4};
    else if (problem.payload != Payload::none)
      values = scratch.add(n * problem.value_bytes);
    if (records) own = scratch.add(threads * own_words * word);
    if (n <= alone && !info(problem.key).is_float) return;
    splitters = scratch.add((parts + special) * word);
    samples = scratch.add(parts == 1 ? 0 : parts * oversampling * word);
    ends = scratch.add(chunks * (parts + special) * sizeof(std::size_t));
    begins = scratch.add((parts + special + 1) * sizeof(std::size_t));
    if (n <= alone) return;
    const std::uint64_t pieces = RunFinder::pieces_of(n);
    stretches = scratch.add(pieces * sizeof(RunFinder::Stretches));
    ranges = scratch.add(chunks * 2 * sizeof(std::uint64_t));
    merge_words = scratch.add(merge_parts() * (merge_samples + 1) * word);
    merge_cuts = scratch.add((merge_parts() + 1) * (RunFinder::most + 1) * sizeof(std::uint64_t));
    done = scratch.add(std::max({chunks, parts + special, pieces, merge_parts() + 1}));
  }
};

// What the steps of one sort share.
struct Context {
  const Layout& layout;
  const Ranks& ranks;
  const Operands& operands;
};

}  // namespace sortium::sample
