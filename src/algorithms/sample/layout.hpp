// The sizes of sample's chunks and parts, and the layout of its scratch memory.
#pragma once

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "../../device/host_threads.hpp"
#include "../algorithm.hpp"
#include "codes.hpp"
#include "order_words.hpp"
#include "ranks.hpp"
#include "runs.hpp"

namespace sortium::sample {

// Lists of at least this many keys are searched for order that Strips uses.
constexpr std::uint64_t least_strips = 1u << 16;

// The form in which records are moved. A code is an unsigned number that determines the key
// (words.hpp).
enum class Form : std::uint8_t {
  codes,    // codes of keys without values
  packed,   // codes of 4 bytes above values or positions of 4 bytes
  paired,   // codes, and values or positions beside them
  windows,  // windows of ranks above positions: few records, and keys without codes
};

// Returns the most records that one thread sorts alone if `threads` are available: waking others
// for so few takes longer than it saves. Keys that have codes are sorted in place, and such lists
// fit a core's cache.
[[nodiscard]] inline std::uint64_t most_alone(const Problem& p, unsigned threads) {
  const unsigned share = threads < 4 ? 1 : 4;  // two or three gain too little
  const std::uint64_t records = (1u << 15) / share, bytes_of_keys = (1u << 18) / share;
  return p.payload == Payload::none && has_codes(p) ? bytes_of_keys / info(p.key).bytes : records;
}
// Each thread should get at least this many records.
constexpr std::uint64_t records_of_thread = 1u << 11;

// True if lists of so many bytes of keys with codes are sorted by SplitKeys: first one thread
// partitions the whole list. The keys should fit the processor's cache.
[[nodiscard]] inline bool is_split_among(unsigned threads, std::uint64_t bytes) {
  constexpr std::uint64_t for_two_threads = 1u << 25, for_four_threads = 1u << 19;
  return partitions_in_place() &&
         (threads <= 2 ? bytes <= for_two_threads : threads <= 4 && bytes <= for_four_threads);
}

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
        coded(has_codes(problem)),
        moved_bytes(problem.payload == Payload::none ? 0
                    : problem.payload == Payload::positions && problem.count < most_small
                        ? 4
                        : problem.value_bytes),
        threads(static_cast<unsigned>(given.number("threads", most_threads))),
        alone(most_alone(problem, threads)),
        form(choose_form()) {
    choose_sizes(given);
    lay_out();
  }

  // host::once_for_each(). `done` has a byte for each i, so `count` is at most its size: see
  // lay_out().
  void each(const Operands& o, std::uint64_t count, FunctionRef<void(std::uint64_t)> body) const {
    host::once_for_each(threads, count, at<std::uint8_t>(done.in(o)), body);
  }
  // Calls body(chunk, its first record, its number of records) for each chunk.
  void each_chunk(const Operands& o,
                  FunctionRef<void(std::uint64_t, std::uint64_t, std::uint64_t)> body) const {
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
  bool coded;            // has_codes(problem)
  unsigned moved_bytes;  // of a value or position while it is moved
  unsigned threads;
  std::uint64_t alone;  // most_alone(problem, threads)
  Form form;
  std::uint64_t chunk = 0, chunks = 0;  // records of a chunk, number of chunks
  std::uint64_t parts = 1;
  bool is_split = false;        // by SplitKeys
  std::uint64_t own_words = 0;  // size of each thread's own memory, in words of 8 bytes

  static constexpr std::uint64_t special =
      4;  // extra parts: three splitters around the zeros and NaN, and one more
  std::uint64_t oversampling = 64;                          // samples of each part
  static constexpr std::uint64_t split_oversampling = 128;  // of SplitKeys
  // A merge of runs has parts of so many records, at most 2^14, and so many samples for each. A
  // thread's memory has space for the words of parts of twice that size, and for their copy.
  std::uint64_t merge_part = 1u << 14;
  static constexpr std::uint64_t merge_samples = 8;
  // Bytes of a splitter.
  [[nodiscard]] std::uint64_t word_bytes() const {
    return form == Form::codes || form == Form::paired ? key_bytes : 8;
  }
  // Bytes of a thread's own memory for each record of a part of twice the mean size. Larger parts
  // are rare; the steps' prepare() allocates memory for them.
  [[nodiscard]] std::uint64_t own_bytes() const {
    switch (form) {
      case Form::codes:
        return 2 * key_bytes;  // words and their copy; only Strips has them
      case Form::packed:
        return 16;  // words and their copy
      case Form::paired:
        return key_bytes + moved_bytes + 8;  // codes, values and words
      default:
        return 8;
    }
  }
  // If at most this many keys at the end of a list are not in order, they are sorted and inserted.
  [[nodiscard]] std::uint64_t most_tail() const { return problem.count / 64; }
  struct TailPiece {
    std::uint64_t sorted, tail;  // how many keys of both lists are before the piece
    std::uint64_t head;          // where its first keys are saved
  };
  [[nodiscard]] std::uint64_t tail_pieces() const { return std::uint64_t{4} * threads; }
  // The most parts into which a merge of runs is divided.
  [[nodiscard]] std::uint64_t merge_parts() const {
    return ceil_div(problem.count, merge_part) + special;
  }

  // A part, or the records of a part from some of the chunks.
  struct Task {
    std::uint64_t part, first_chunk, last_chunk;  // chunks [first, last)
    std::uint64_t begin;                          // where the records go
  };
  // Keys that are partly in order (Strips): records of a chunk that are in one part.
  struct StripSection {
    std::uint64_t from;  // in scratch memory
    std::uint32_t part, count;
  };
  struct StripBegin {  // where a part begins
    std::uint64_t record = 0, section = 0;
  };
  struct StripChunk {
    std::uint64_t sections = 0;
    CodeTies ties{};
  };
  // The intended keys of a part, and with values. Fewer if four threads or more would have fewer
  // than two parts each.
  static constexpr std::uint64_t strip_part = 1u << 14, strip_part_records = 1u << 13;
  static constexpr std::uint64_t least_strip_part = 1u << 11;
  static constexpr std::uint64_t least_sections = 256;  // of a chunk of records
  static constexpr std::uint64_t least_own = 1u << 13;  // records in a thread's own memory
  static constexpr std::uint64_t strip_samples = 16;    // of each part
  std::uint64_t strip_parts = 0;                        // 0: too few records
  std::uint64_t strip_sections_of_chunk = 0;            // at most

  // The least records of a task that has only some of the chunks.
  static constexpr std::uint64_t task_records = 1u << 16;
  [[nodiscard]] std::uint64_t most_tasks() const {
    return parts + special + problem.count / task_records;
  }

  ScratchLayout scratch;
  ScratchLayout::Slice keys, values, own, splitters, samples, ends, begins, tasks;
  ScratchLayout::Slice strip_chunks, strip_sections, strip_order, strip_begins;
  ScratchLayout::Slice strip_splitters, strip_samples_of_all;  // of records
  ScratchLayout::Slice tail, tail_cuts;    // tail: for the sort of up to most_tail() keys
  ScratchLayout::Slice done;               // one byte for each call of the body of a parallel loop
  ScratchLayout::Slice stretches, ranges;  // for RunFinder; for find_window
  ScratchLayout::Slice merge_words, merge_cuts;

 private:
  static constexpr std::uint64_t most_small = std::uint64_t{1} << 32;  // positions of 4 bytes

  [[nodiscard]] Form choose_form() const {
    if (problem.payload == Payload::none && coded) return Form::codes;
    if (!coded || key_bytes < 4 || problem.count <= alone) return Form::windows;
    if (key_bytes == 4 && moved_bytes == 4 && problem.count < most_small) return Form::packed;
    return Form::paired;
  }

  // Chooses the sizes of chunks and parts. A chunk and its partitioned copy should fit a
  // second-level cache. By default there are at least 4 chunks, unless they become too short, and 8
  // parts for each thread, so that all threads finish at about the same time, unless parts become
  // too short. For records, a part with its words should also fit the cache. From 2^25 records on,
  // chunks of windows are larger, so that each chunk contributes about a memory page to each part.
  void choose_sizes(const Parameters& given) {
    const std::uint64_t n = problem.count;
    const bool many = form == Form::windows && n >= std::uint64_t{1} << 25;
    const std::uint64_t for_all = std::clamp<std::uint64_t>(ceil_div(n, std::uint64_t{4} * threads),
                                                            1u << 11, 1u << (many ? 17 : 16));
    chunk = std::max<std::uint64_t>(given.number("chunk", for_all), ceil_div(n, 4096));
    constexpr std::uint64_t most_parts = 1024, least_part = 1u << 10;
    const std::uint64_t for_threads =
        std::clamp<std::uint64_t>(n / least_part, 1, std::uint64_t{8} * threads);
    if (n < std::uint64_t{1} << 20) oversampling = 32;  // reading more would take too long
    const std::uint64_t wanted =
        std::clamp(n >> part_exponent(), std::min(for_threads, most_parts), most_parts);
    parts = n <= alone ? 1 : std::min(given.number("parts", wanted), n);
    is_split = form == Form::codes && n > alone && is_split_among(threads, n * key_bytes) &&
               given.number("parts", 0) == 0 && given.number("chunk", 0) == 0;
    if (n <= alone) threads = 1, chunk = n;
    chunks = ceil_div(n, std::max<std::uint64_t>(chunk, 1));
    if (form == Form::codes) return choose_strips();
    // Short chunks shrink it less: parts of strips and of runs to be merged need it, too.
    const std::uint64_t held =
        given.number("chunk", 0) == 0 ? std::max(chunk, std::min(least_own, n / 8)) : chunk;
    own_words =
        std::max(2 * held, ceil_div(std::max(held, 2 * ceil_div(n, parts)) * own_bytes(), 8));
    merge_part = std::clamp<std::uint64_t>(own_words / 4, 1, merge_part);
    if (form == Form::windows) return;
    strip_parts = std::clamp<std::uint64_t>(n / strip_part_of(strip_part_records), 1, 4096);
    strip_sections_of_chunk = std::max({chunk / 32, 2 * strip_parts, least_sections});
  }
  void choose_strips() {
    const std::uint64_t n = problem.count;
    if (n < least_strips || key_bytes < 4) return;
    strip_parts = std::clamp<std::uint64_t>(n / strip_part_of(strip_part), 1, 512);
    strip_sections_of_chunk = std::max(chunk / 128, 2 * strip_parts);
    own_words = ceil_div(std::max(chunk, 4 * ceil_div(n, strip_parts)) * own_bytes(), 8);
  }
  [[nodiscard]] std::uint64_t strip_part_of(std::uint64_t most) const {
    if (threads < 4) return most;
    return std::clamp(problem.count / (std::uint64_t{2} * threads), least_strip_part, most);
  }
  // The wanted records of a part are 2 to this power.
  [[nodiscard]] unsigned part_exponent() const {
    switch (form) {
      case Form::codes:
      case Form::packed:
        return 17;
      case Form::paired:
        return 14;  // most_short_order
      default:
        return 18;
    }
  }

  void lay_out() {
    const std::uint64_t n = problem.count, word = word_bytes();
    if (form == Form::codes && n <= alone && !info(problem.key).is_float) return;
    keys = scratch.add(n * (form == Form::packed ? 8 : key_bytes));
    if (form == Form::packed)
      values = {keys.offset + n * 4, n * 4};  // not used for positions
    else if (problem.payload != Payload::none)
      values = scratch.add_apart(n * (form == Form::paired ? moved_bytes : problem.value_bytes));
    own = scratch.add_apart(threads * own_words * 8);
    if (form == Form::windows && n <= alone) return;
    const bool strips_share = form == Form::codes;
    splitters = scratch.add(std::max(parts + special, strips_share ? strip_parts : 0) * word);
    samples = scratch.add(std::max({parts == 1 ? 0 : parts * oversampling,
                                    is_split ? threads * split_oversampling : 0,
                                    strips_share ? strip_parts * strip_samples : 0}) *
                          word);
    ends = scratch.add(chunks * (parts + special) * sizeof(std::size_t));
    begins = scratch.add((parts + special + 1) * sizeof(std::uint64_t));
    tasks = scratch.add(most_tasks() * sizeof(Task));
    if (n <= alone) return;
    if (strip_parts != 0) {
      strip_chunks = scratch.add(chunks * sizeof(StripChunk));
      strip_sections = scratch.add(chunks * strip_sections_of_chunk * sizeof(StripSection));
      strip_order = scratch.add(chunks * strip_sections_of_chunk * sizeof(StripSection));
      strip_begins = scratch.add((strip_parts + 1) * sizeof(StripBegin));
      strip_splitters = scratch.add(strips_share ? 0 : strip_parts * key_bytes);
      strip_samples_of_all =
          scratch.add(strips_share ? 0 : strip_parts * strip_samples * key_bytes);
    }
    const std::uint64_t pieces = RunFinder::pieces_of(n);
    done = scratch.add(std::max(
        {chunks, most_tasks(), pieces, merge_parts() + 1, strip_parts, tail_pieces() + 1}));
    if (form == Form::codes) {
      tail_cuts = scratch.add((tail_pieces() + 1) * sizeof(TailPiece));
      Problem end = problem;
      end.count = most_tail();
      tail = scratch.add(Layout(end, threads, {}).scratch.bytes());
      return;
    }
    stretches = scratch.add(pieces * sizeof(RunFinder::Stretches));
    ranges = scratch.add(chunks * 2 * sizeof(std::uint64_t));
    merge_words = scratch.add(merge_parts() * (merge_samples + 1) * 8);
    merge_cuts = scratch.add((merge_parts() + 1) * (RunFinder::most + 1) * sizeof(std::uint64_t));
  }
};

// The data that all steps of one sort use.
struct Context {
  const Layout& layout;
  const Ranks& ranks;
  const Operands& operands;
};

}  // namespace sortium::sample
