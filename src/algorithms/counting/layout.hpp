// The sizes of a counting sort, its parallel loops, and the layout of its scratch memory.
#pragma once

#include <algorithm>
#include <cstdint>

#include "../../device/host_threads.hpp"
#include "../algorithm.hpp"
#include "ranks.hpp"

namespace sortium::counting {

constexpr unsigned most_digit_bits = 8;
constexpr std::size_t digits = std::size_t{1} << most_digit_bits;
constexpr std::uint64_t block = 512;  // records whose ranks are computed together

// Returns the most records that one of `threads` threads sorts alone.
[[nodiscard]] inline std::uint64_t most_alone(const Problem& problem, unsigned threads) {
  if (problem.payload == Payload::positions && !problem.keys_out) return 1u << 16;
  const bool by_one_digit = key_bits(problem) <= 8;
  return 1u << (by_one_digit || threads < 4 ? 15 : 14);
}

template <class T>
T* at(const Memory& m) {
  return m ? reinterpret_cast<T*>(static_cast<std::byte*>(m.handle) + m.offset) : nullptr;
}

// A digit of ranks. Loops use a local copy: a store to a byte could change a Layout, as far as
// compilers know, so they would load shift and mask again.
struct Digit {
  unsigned shift;
  std::size_t mask;
  [[nodiscard]] std::size_t operator()(std::uint16_t rank) const { return rank >> shift & mask; }
};

struct Layout {
  Layout(const Problem& sorted, unsigned most_threads)
      : problem(sorted),
        ranks(problem),
        key_bytes(info(problem.key).bytes),
        digit_bits(std::min(key_bits(problem), most_digit_bits)),
        passes(key_bits(problem) > most_digit_bits ? 2 : 1),
        threads(problem.count <= most_alone(problem, most_threads) ? 1 : useful(most_threads)) {
    constexpr std::uint64_t most_chunk = std::uint64_t{1} << 31;  // counters have 32 bits
    chunks = std::max<std::uint64_t>(threads, ceil_div(problem.count, most_chunk));
    chunk = ceil_div(problem.count, chunks);
    counters = counts_keys() ? std::uint64_t{1} << 8 * key_bytes : digits;
    counts = scratch.add(chunks * counters * sizeof(std::uint32_t));
    if (counts_keys()) {
      begins = scratch.add((counters + 1) * sizeof(std::uint64_t));
      key_of_rank = scratch.add(ranks.is_flip() ? 0 : counters * sizeof(std::uint16_t));
    }
    places = scratch.add(chunks * digits * sizeof(std::uint64_t));
    done = scratch.add(std::max(chunks, most_pieces));
    if (counts_keys() && ranks.is_flip()) return;
    keys = scratch.add(problem.count * key_bytes);
    if (problem.payload != Payload::none)
      values = scratch.add_apart(problem.count * problem.value_bytes);
  }

  // True if the sort counts the keys and writes them from the counts, instead of moving them. That
  // is faster if there are many more keys than counters. For floats the limit is higher, because
  // the rank of every counter must be computed.
  [[nodiscard]] bool counts_keys() const {
    if (problem.payload != Payload::none || key_bits(problem) != 8 * key_bytes) return false;
    const std::uint64_t different = std::uint64_t{1} << 8 * key_bytes;
    return problem.count >= different * (ranks.is_flip() ? 2 : 8) || key_bytes == 1;
  }

  // host::once_for_each(). `count` is at most the larger of most_pieces and chunks.
  void each(const Operands& o, std::uint64_t count, FunctionRef<void(std::uint64_t)> body) const {
    host::once_for_each(threads, count, at<std::uint8_t>(done.in(o)), body);
  }
  // Calls body(chunk, its first record, its end) for each chunk.
  void each_chunk(const Operands& o,
                  FunctionRef<void(std::uint64_t, std::uint64_t, std::uint64_t)> body) const {
    each(o, chunks, [&](std::uint64_t c) {
      body(c, std::min(c * chunk, problem.count), std::min((c + 1) * chunk, problem.count));
    });
  }

  // Calls body(i, rank of list[i]) for each key.
  template <class Key, class Body>
  void each_rank(const Key* list, const Body& body) const {
    for (std::uint64_t first = 0; first < problem.count; first += block) {
      const std::uint64_t some = std::min(block, problem.count - first);
      std::uint16_t rank[block];
      ranks.of(list + first, rank, some);
      for (std::uint64_t k = 0; k < some; ++k) body(first + k, rank[k]);
    }
  }

  // The digit by which pass 0 (the low one) or 1 partitions.
  [[nodiscard]] Digit digit(unsigned pass) const {
    return {pass == 0 ? 0 : digit_bits, (std::size_t{1} << digit_bits) - 1};
  }

  // The most pieces of the output that are written, or sorted, each by itself.
  static constexpr std::uint64_t most_pieces = digits;

  Problem problem;
  BlockRanks ranks;
  unsigned key_bytes, digit_bits, passes;
  unsigned threads;
  std::uint64_t chunks = 0, chunk = 0;  // number of chunks, records of a chunk
  std::uint64_t counters = 0;           // of each chunk
  ScratchLayout scratch;
  ScratchLayout::Slice counts, begins, key_of_rank, places, done, keys, values;

 private:
  // Returns how many threads make the sort faster. A thread that counts keys must clear its
  // counters, and all counters are added up. A thread that moves records should fill whole cache
  // lines: threads that write to the same line wait for each other.
  [[nodiscard]] unsigned useful(unsigned most) const {
    constexpr std::uint64_t line = 64, keys_of_counter = 4;
    const std::uint64_t least =
        counts_keys() ? keys_of_counter << 8 * key_bytes : (line << most_digit_bits) / key_bytes;
    return host::threads_for(problem.count, least, most);
  }
};

}  // namespace sortium::counting
