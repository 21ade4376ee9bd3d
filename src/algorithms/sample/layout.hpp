// The sizes of sample's chunks and parts, and the layout of its scratch memory.
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

// Lists of up to this many records are sorted by one thread: starting more would take longer.
constexpr std::uint64_t alone = 1u << 15;

template <class T>
T* at(const Memory& m) {
  return reinterpret_cast<T*>(static_cast<std::byte*>(m.handle) + m.offset);
}

struct Layout {
  // `given` may have threads, parts and chunk. At most `most_threads` threads are used.
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

  // Calls body(i) once for each i < count, in parallel in the caller's arena. Every call is made
  // even if oneTBB cannot allocate memory. `body` must not throw. `done` has a byte for each i, so
  // `count` must not exceed its size: the maximum of the number of chunks, the number of parts, the
  // number of RunFinder's pieces, and merge_parts() + 1.
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
  // True if keys have codes (words.hpp), which vector instructions compute: keys of 4 or 8 bytes
  // that are sorted by all bits, with NaN last and zeros tied. The ranks of other keys are computed
  // one at a time.
  bool coded;
  bool records;  // a key's code does not determine the record, so words hold more than the code
  bool packed;   // words hold the key's code and the value, not its rank and the position
  unsigned threads;
  std::uint64_t chunk = 0, chunks = 0;  // records of a chunk, number of chunks
  std::uint64_t parts = 1;
  std::uint64_t own_words = 0;  // size of each thread's own memory, in words

  static constexpr std::uint64_t special =
      4;  // extra parts: three splitters around the zeros and NaN, and one more
  static constexpr std::uint64_t oversampling = 64;
  // In a merge of runs: records of a part, and samples for each part.
  static constexpr std::uint64_t merge_part = 1u << 14, merge_samples = 8;
  // The most parts into which a merge of runs is divided.
  [[nodiscard]] std::uint64_t merge_parts() const {
    return ceil_div(problem.count, merge_part) + special;
  }

  ScratchLayout scratch;
  ScratchLayout::Slice keys, values, own, splitters, samples, ends, begins;
  ScratchLayout::Slice done;               // one byte for each call of the body of a parallel loop
  ScratchLayout::Slice stretches, ranges;  // for RunFinder; for find_window
  ScratchLayout::Slice merge_words, merge_cuts;

 private:
  // Chooses the sizes of chunks and parts. A chunk and its partitioned copy should fit a
  // second-level cache. By default there are at least 8 parts for each thread, so that all threads
  // finish at about the same time. For records, a part's words and values should also fit the
  // cache. From 2^25 records on, their chunks are larger, so that each chunk contributes about a
  // memory page to each part.
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
    // A thread's memory must hold a chunk's words and their copy, or the words of a part of up to
    // twice the mean size (PackedSteps: and their copy). Larger parts are rare; prepare() allocates
    // memory for them.
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

// The data that all steps of one sort use.
struct Context {
  const Layout& layout;
  const Ranks& ranks;
  const Operands& operands;
};

}  // namespace sortium::sample
