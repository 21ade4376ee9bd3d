// Counting sort for the host: Seward, 1954; Knuth, "The Art of Computer Programming", volume 3,
// section 5.2, algorithm D. At most 16 bits of a key are significant, so there are at most 65,536
// ranks. Keys are only compared to find lists that are in order.
//
// Long lists of 8- or 16-bit keys without values are read once, to count each key, and written
// once, from the counts. All other lists are partitioned stably by digits of the rank, the low
// digit first; by several threads by the high digit first, and each part then by the low one. A
// digit has at most 8 bits: ranks of up to 8 bits need one pass, others two. Each thread counts and
// moves the records of a chunk, so frequent keys do not unbalance the threads. The positions of few
// records are sorted without their keys: words of a digit and a position move.
//
// The sort cannot fail after it has begun to write the output: all its memory is scratch memory.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <numeric>

#include "../../device/host_threads.hpp"
#include "../catalog.hpp"
#include "../run_alone.hpp"
#include "../sample/few_keys.hpp"
#include "lines.hpp"
#include "ranks.hpp"

namespace sortium {
namespace {

// Returns the most records that one of `threads` threads sorts alone.
std::uint64_t most_alone(const Problem& problem, unsigned threads) {
  if (problem.payload == Payload::positions && !problem.keys_out) return 1u << 16;
  const bool by_one_digit = key_bits(problem) <= 8;
  return 1u << (by_one_digit || threads < 4 ? 15 : 14);
}
constexpr unsigned most_key_bits = counting::most_key_bits, most_digit_bits = 8;
constexpr unsigned position_bits = 32 - most_digit_bits;  // in a word with a digit
constexpr std::uint64_t block = 512;  // records whose ranks are computed together

template <class T>
T* at(const Memory& m) {
  return m ? reinterpret_cast<T*>(static_cast<std::byte*>(m.handle) + m.offset) : nullptr;
}

class CountingSorter final : public Sorter {
 public:
  CountingSorter(const Problem& problem, unsigned most_threads)
      : problem_(problem),
        ranks_(problem),
        key_bytes_(info(problem.key).bytes),
        digit_bits_(std::min(key_bits(problem), most_digit_bits)),
        passes_(key_bits(problem) > most_digit_bits ? 2 : 1),
        threads_(problem.count <= most_alone(problem, most_threads) ? 1 : useful(most_threads)) {
    constexpr std::uint64_t most_chunk = std::uint64_t{1} << 31;  // counters have 32 bits
    chunks_ = std::max<std::uint64_t>(threads_.count(), ceil_div(problem.count, most_chunk));
    chunk_ = ceil_div(problem.count, chunks_);
    const std::uint64_t digits = std::uint64_t{1} << most_digit_bits;
    counters_ = counts_keys() ? std::uint64_t{1} << 8 * key_bytes_ : digits;
    counts_ = layout_.add(chunks_ * counters_ * sizeof(std::uint32_t));
    if (counts_keys()) {
      begins_ = layout_.add((counters_ + 1) * sizeof(std::uint64_t));
      key_of_rank_ = layout_.add(ranks_.is_flip() ? 0 : counters_ * sizeof(std::uint16_t));
    }
    places_ = layout_.add(chunks_ * digits * sizeof(std::uint64_t));
    done_ = layout_.add(std::max(chunks_, pieces));
    if (counts_keys() && ranks_.is_flip()) return;
    keys_ = layout_.add(problem.count * key_bytes_);
    if (problem.payload != Payload::none)
      values_ = layout_.add_apart(problem.count * problem.value_bytes);
  }

  std::uint64_t scratch_bytes() const override { return layout_.bytes(); }
  std::string parameters() const override { return fmt::format("threads={}", threads_.count()); }
  void build(Device&, const Capabilities&) override { threads_.start(); }

  void enqueue(Queue& queue, const Operands& o) override {
    threads_.run([&] { sort_on(queue, o); });
  }

  // Sorts in the caller's arena, which must have at least as many threads as the sorter.
  template <class Q>
  void sort_on(Q& queue, const Operands& o) const {
    switch (key_bytes_) {
      case 1:
        return sort<std::uint8_t>(queue, o);
      case 2:
        return sort<std::uint16_t>(queue, o);
      case 4:
        return sort<std::uint32_t>(queue, o);
      default:
        return sort<std::uint64_t>(queue, o);
    }
  }

  // Sorts with one thread, without a queue.
  void run_alone(const Operands& o) const {
    Now now;
    sort_on(now, o);
  }

 private:
  static constexpr std::uint64_t pieces = 256;  // of the output; write_keys() writes each by itself

  struct Now {
    template <class Work>
    void call(std::string_view, const Work& work) const {
      work();
    }
  };

  // Returns how many threads make the sort faster. A thread that counts keys must clear its
  // counters, and all counters are added up. A thread that moves records should fill whole cache
  // lines: threads that write to the same line wait for each other.
  [[nodiscard]] unsigned useful(unsigned threads) const {
    constexpr std::uint64_t line = 64, keys_of_counter = 4;
    const std::uint64_t least =
        counts_keys() ? keys_of_counter << 8 * key_bytes_ : (line << most_digit_bits) / key_bytes_;
    return host::threads_for(problem_.count, least, threads);
  }
  // True if the sort counts the keys and writes them from the counts, instead of moving them. That
  // is faster if there are many more keys than counters. For floats the limit is higher, because
  // the rank of every counter must be computed.
  [[nodiscard]] bool counts_keys() const {
    if (problem_.payload != Payload::none || key_bits(problem_) != 8 * key_bytes_) return false;
    const std::uint64_t counters = std::uint64_t{1} << 8 * key_bytes_;
    return problem_.count >= counters * (ranks_.is_flip() ? 2 : 8) || key_bytes_ == 1;
  }

  // Calls body(i) for each i < count, in parallel in the caller's arena.
  template <class Body>
  void each(const Operands& o, std::uint64_t count, const Body& body) const {
    const auto range = [&](std::uint64_t begin, std::uint64_t end) {
      for (auto i = begin; i != end; ++i) body(i);
    };
    if (threads_.count() == 1)
      range(0, count);
    else
      host::once_for(count, at<std::uint8_t>(done_.in(o)), tbb::simple_partitioner{}, range);
  }
  // Calls body(chunk, its first record, its end) for each chunk.
  template <class Body>
  void each_chunk(const Operands& o, const Body& body) const {
    each(o, chunks_, [&](std::uint64_t c) {
      body(c, std::min(c * chunk_, problem_.count), std::min((c + 1) * chunk_, problem_.count));
    });
  }

  template <class Key, class Q>
  void sort(Q& queue, const Operands& o) const {
    if constexpr (sizeof(Key) <= 2)
      if (counts_keys()) {
        bool are_ranks_keys = true;
        host::call(queue, "count", [&] {
          count_keys<Key>(o);
          are_ranks_keys = find_begins<Key>(o);
        });
        if (are_ranks_keys) return host::call(queue, "write", [&] { write_keys<Key>(o); });
      }
    if (problem_.payload == Payload::none || problem_.value_bytes == 4)
      sort_records<Key, std::uint32_t>(queue, o);
    else
      sort_records<Key, std::uint64_t>(queue, o);
  }
  template <class Key, class Value, class Q>
  void sort_records(Q& queue, const Operands& o) const {
    bool written = false;
    if (problem_.payload != Payload::none)
      host::call(queue, "look", [&] { written = write_ordered<Key, Value>(o); });
    if (written) return;
    if (is_short_argsort())
      return host::call(queue, "move", [&] { write_positions<Key, Value>(o); });
    move<Key, Value>(queue, o);
  }

  // ---- Keys without values: write them from their counts ----

  template <class Key>
  void count_keys(const Operands& o) const {
    const auto* const keys = at<const Key>(o.keys_in);
    each_chunk(o, [&](std::uint64_t c, std::uint64_t begin, std::uint64_t end) {
      auto* const counts = at<std::uint32_t>(counts_.in(o)) + c * counters_;
      if constexpr (sizeof(Key) == 1)
        count_bytes(keys + begin, end - begin, counts);
      else
        count_words(keys + begin, end - begin, counts);
    });
  }

  // Uses four tables in turn: two additions in a row to the same counter would wait for each other.
  static void count_bytes(const std::uint8_t* keys, std::uint64_t count, std::uint32_t* counts) {
    constexpr unsigned tables = 4;
    std::uint32_t table[tables][256] = {};
    std::uint64_t i = 0;
    for (; i + 8 <= count; i += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, keys + i, 8);
      for (unsigned b = 0; b < 8; ++b) ++table[b % tables][word >> (8 * b) & 0xff];
    }
    for (; i < count; ++i) ++table[0][keys[i]];
    for (unsigned k = 0; k < 256; ++k)
      counts[k] = table[0][k] + table[1][k] + table[2][k] + table[3][k];
  }
  static void count_words(const std::uint16_t* keys, std::uint64_t count, std::uint32_t* counts) {
    std::memset(counts, 0, sizeof(std::uint32_t) << 16);
    std::uint64_t i = 0;
    for (; i + 4 <= count; i += 4) {
      std::uint64_t word = 0;
      std::memcpy(&word, keys + i, 8);
      for (unsigned k = 0; k < 4; ++k) ++counts[word >> (16 * k) & 0xffff];
    }
    for (; i < count; ++i) ++counts[keys[i]];
  }

  // Adds up the chunks' counts, and computes where each rank begins in the output. Returns false if
  // two different keys have the same rank (zeros or NaN of different bits): such keys must keep the
  // order of the input, which counts do not contain.
  template <class Key>
  bool find_begins(const Operands& o) const {
    auto* const counts = at<std::uint32_t>(counts_.in(o));
    auto* const begins = at<std::uint64_t>(begins_.in(o));
    if (ranks_.is_flip()) {
      const auto flip = static_cast<Key>(ranks_.flip());
      std::uint64_t sum = 0;
      for (std::uint64_t rank = 0; rank < counters_; ++rank) {
        begins[rank] = sum;
        for (std::uint64_t c = 0; c < chunks_; ++c) sum += counts[c * counters_ + (rank ^ flip)];
      }
      begins[counters_] = sum;
      return true;
    }
    auto* const key_of_rank = at<std::uint16_t>(key_of_rank_.in(o));
    std::memset(begins, 0, (counters_ + 1) * sizeof *begins);
    for (std::uint64_t first = 0; first < counters_; first += block) {
      std::uint16_t keys[block], ranks[block];
      for (std::uint64_t k = 0; k < block; ++k) keys[k] = static_cast<std::uint16_t>(first + k);
      ranks_.of(keys, ranks, std::min(block, counters_));
      for (std::uint64_t k = 0; k < std::min(block, counters_); ++k) {
        std::uint64_t sum = 0;
        for (std::uint64_t c = 0; c < chunks_; ++c) sum += counts[c * counters_ + keys[k]];
        if (sum == 0) continue;
        if (begins[ranks[k]] != 0) return false;
        begins[ranks[k]] = sum;
        key_of_rank[ranks[k]] = keys[k];
      }
    }
    std::uint64_t sum = 0;
    for (std::uint64_t rank = 0; rank <= counters_; ++rank) sum += std::exchange(begins[rank], sum);
    return true;
  }

  template <class Key>
  void write_keys(const Operands& o) const {
    auto* const out = at<Key>(o.keys_out);
    const auto* const begins = at<const std::uint64_t>(begins_.in(o));
    const auto* const key_of_rank = at<const std::uint16_t>(key_of_rank_.in(o));
    const std::uint64_t piece = ceil_div(problem_.count, threads_.count() == 1 ? 1 : pieces);
    each(o, ceil_div(problem_.count, piece), [&](std::uint64_t p) {
      const std::uint64_t first = p * piece, last = std::min(first + piece, problem_.count);
      auto rank = static_cast<std::uint64_t>(
          std::upper_bound(begins, begins + counters_ + 1, first) - begins - 1);
      for (std::uint64_t begin = first; begin < last; ++rank) {
        const std::uint64_t end = std::min(begins[rank + 1], last);
        const auto key =
            static_cast<Key>(ranks_.is_flip() ? rank ^ ranks_.flip() : key_of_rank[rank]);
        std::fill(out + begin, out + end, key);
        begin = end;
      }
    });
  }

  template <class Key, class Value>
  struct Columns {
    const Key* keys_in;
    const Value* values_in;  // null: the values are positions, or there are no values
    Key* keys_out;           // null: an argsort that writes only positions
    Value* values_out;       // null: there are no values
  };

  template <class Key, class Value>
  Columns<Key, Value> input_to(Key* keys_out, Value* values_out, const Operands& o) const {
    return {at<const Key>(o.keys_in),
            problem_.payload == Payload::values ? at<const Value>(o.values_in) : nullptr, keys_out,
            values_out};
  }
  template <class Key, class Value>
  static bool is_in_place(const Columns<Key, Value>& c) {
    return c.keys_in == c.keys_out || (c.values_in != nullptr && c.values_in == c.values_out);
  }
  // For a sort in place with one pass: copies the keys or values that the pass would overwrite to
  // scratch memory, and makes `columns` read the copies.
  template <class Key, class Value>
  void save_overwritten(const Operands& o, Columns<Key, Value>& columns) const {
    const auto save = [&]<class T>(const T*& in, const T* out, T* to) {
      if (in == nullptr || in != out) return;
      each_chunk(o, [&](std::uint64_t, std::uint64_t begin, std::uint64_t end) {
        std::copy(in + begin, in + end, to + begin);
      });
      in = to;
    };
    save(columns.keys_in, columns.keys_out, at<Key>(keys_.in(o)));
    save(columns.values_in, columns.values_out, at<Value>(values_.in(o)));
  }

  // ---- Records that are in order, or in reverse order ----

  struct Steps {
    std::atomic<bool> rise{false}, fall{false}, tie{false};

    [[nodiscard]] bool are_mixed() const {
      return rise.load(std::memory_order_relaxed) && fall.load(std::memory_order_relaxed);
    }
  };
  // Examines the steps from each of `count` keys, at most `block`, to the next one.
  template <class Key>
  void look(const Key* keys, std::uint64_t count, Steps& steps) const {
    std::uint16_t ranks[block + 1], rise = 0, fall = 0, tie = 0;
    ranks_.of(keys, ranks, count + 1);
    for (std::uint64_t k = 0; k < count; ++k) {
      rise |= std::uint16_t{ranks[k] < ranks[k + 1]};
      fall |= std::uint16_t{ranks[k] > ranks[k + 1]};
      tie |= std::uint16_t{ranks[k] == ranks[k + 1]};
    }
    if (rise != 0) steps.rise.store(true, std::memory_order_relaxed);
    if (fall != 0) steps.fall.store(true, std::memory_order_relaxed);
    if (tie != 0) steps.tie.store(true, std::memory_order_relaxed);
  }
  template <class Key>
  void look_at_all(const Operands& o, const Key* keys, Steps& steps) const {
    const std::uint64_t all = problem_.count - 1;
    each_chunk(o, [&](std::uint64_t, std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < std::min(end, all) && !steps.are_mixed(); i += block)
        look(keys + i, std::min({block, end - i, all - i}), steps);
    });
  }

  // Returns true for most lists: their first keys rise and fall. Takes a few nanoseconds.
  template <class Key>
  [[nodiscard]] bool begins_mixed(const Key* keys) const {
    constexpr std::uint64_t glance = 8;
    if (problem_.count < glance) return false;
    std::uint16_t ranks[glance];
    ranks_.of(keys, ranks, glance);
    bool rise = false, fall = false;
    for (std::uint64_t k = 1; k < glance; ++k) {
      rise |= ranks[k - 1] < ranks[k];
      fall |= ranks[k - 1] > ranks[k];
    }
    return rise && fall;
  }

  // Writes such records to the output. Returns false, with nothing written, if they are neither.
  template <class Key, class Value>
  bool write_ordered(const Operands& o) const {
    if (begins_mixed(at<const Key>(o.keys_in))) return false;
    Steps steps;
    look_at_all(o, at<const Key>(o.keys_in), steps);
    const bool has_groups = steps.tie && steps.fall;
    if (steps.are_mixed() || (has_groups && chunks_ > 1)) return false;
    auto columns = input_to<Key, Value>(problem_.keys_out ? at<Key>(o.keys_out) : nullptr,
                                        at<Value>(o.values_out), o);
    if (!steps.fall) {
      each_chunk(o, [&](std::uint64_t, std::uint64_t begin, std::uint64_t end) {
        keep(columns, begin, end);
      });
      return true;
    }
    save_overwritten(o, columns);
    each_chunk(o, [&](std::uint64_t, std::uint64_t begin, std::uint64_t end) {
      reverse(columns, begin, end);
    });
    if (has_groups) turn_groups(columns);
    return true;
  }
  template <class Key, class Value>
  void keep(const Columns<Key, Value>& c, std::uint64_t begin, std::uint64_t end) const {
    if (c.keys_out != nullptr && c.keys_out != c.keys_in)
      std::copy(c.keys_in + begin, c.keys_in + end, c.keys_out + begin);
    if (c.values_in == nullptr)
      std::iota(c.values_out + begin, c.values_out + end, static_cast<Value>(begin));
    else if (c.values_in != c.values_out)
      std::copy(c.values_in + begin, c.values_in + end, c.values_out + begin);
  }
  // Writes the records [begin, end) in reverse order.
  template <class Key, class Value>
  void reverse(const Columns<Key, Value>& c, std::uint64_t begin, std::uint64_t end) const {
    const std::uint64_t to = problem_.count - end;
    if (c.keys_out != nullptr)
      std::reverse_copy(c.keys_in + begin, c.keys_in + end, c.keys_out + to);
    if (c.values_in != nullptr)
      std::reverse_copy(c.values_in + begin, c.values_in + end, c.values_out + to);
    else
      for (std::uint64_t i = begin; i < end; ++i)
        c.values_out[to + i - begin] = static_cast<Value>(end - 1 - (i - begin));
  }
  // Reverses the records of each rank in the output: ties keep their order.
  template <class Key, class Value>
  void turn_groups(const Columns<Key, Value>& c) const {
    std::uint64_t group = 0;
    std::uint16_t before = 0;
    const auto turn = [&](std::uint64_t end) {
      if (end - group < 2) return;
      const std::uint64_t from = problem_.count - end, to = problem_.count - group;
      if (c.keys_out != nullptr) std::reverse(c.keys_out + from, c.keys_out + to);
      std::reverse(c.values_out + from, c.values_out + to);
    };
    each_rank(c.keys_in, [&](std::uint64_t i, std::uint16_t rank) {
      if (rank != before) turn(i), group = i;
      before = rank;
    });
    turn(problem_.count);
  }

  // ---- Positions of few records, by two digits ----

  [[nodiscard]] bool is_short_argsort() const {
    return problem_.payload == Payload::positions && !problem_.keys_out && passes_ == 2 &&
           chunks_ == 1 && problem_.count <= std::uint64_t{1} << position_bits;
  }

  // The first pass writes words of the high digit and the position, and the second the positions:
  // one store a record each, instead of two (2^12 u16 keys: 19.6 -> 14.3 µs). Both digits are
  // counted in one reading.
  template <class Key, class Position>
  void write_positions(const Operands& o) const {
    const auto* const keys = at<const Key>(o.keys_in);
    auto* const words = at<std::uint32_t>(values_.in(o));
    std::array<std::uint32_t, 1u << most_digit_bits> low = {}, high = {};
    each_rank(keys, [&](std::uint64_t, std::uint16_t rank) {
      ++low[digit(rank, 0)];
      ++high[digit(rank, 1)];
    });
    std::exclusive_scan(low.begin(), low.end(), low.begin(), 0u);
    std::exclusive_scan(high.begin(), high.end(), high.begin(), 0u);
    each_rank(keys, [&](std::uint64_t i, std::uint16_t rank) {
      words[low[digit(rank, 0)]++] =
          static_cast<std::uint32_t>(digit(rank, 1) << position_bits | i);
    });
    auto* const positions = at<Position>(o.values_out);
    constexpr std::uint32_t position_mask = (1u << position_bits) - 1;
    for (std::uint64_t i = 0; i < problem_.count; ++i)
      positions[high[words[i] >> position_bits]++] = words[i] & position_mask;
  }

  // Calls body(i, rank of keys[i]) for each key.
  template <class Key, class Body>
  void each_rank(const Key* keys, const Body& body) const {
    for (std::uint64_t first = 0; first < problem_.count; first += block) {
      const std::uint64_t count = std::min(block, problem_.count - first);
      std::uint16_t ranks[block];
      ranks_.of(keys + first, ranks, count);
      for (std::uint64_t k = 0; k < count; ++k) body(first + k, ranks[k]);
    }
  }

  // ---- Stable partitions by digit ----

  template <class Key, class Value, class Q>
  void move(Q& queue, const Operands& o) const {
    const bool has_values = problem_.payload != Payload::none;
    const auto in = input_to<Key, Value>(at<Key>(keys_.in(o)),
                                         has_values ? at<Value>(values_.in(o)) : nullptr, o);
    const auto from_scratch = [&] {
      return Columns<Key, Value>{in.keys_out, in.values_out,
                                 problem_.keys_out ? at<Key>(o.keys_out) : nullptr,
                                 has_values ? at<Value>(o.values_out) : nullptr};
    };
    if (passes_ == 2) {
      if (sorts_parts() && sort_by_parts(queue, o, in, from_scratch())) return;
      partition(queue, o, in, 0);
      return partition(queue, o, from_scratch(), 1);
    }
    auto only = in;
    only.keys_out = from_scratch().keys_out;
    only.values_out = from_scratch().values_out;
    if (is_in_place(only)) host::call(queue, "copy", [&] { save_overwritten(o, only); });
    partition(queue, o, only, 0);
  }

  using Counts = std::array<std::uint32_t, std::size_t{1} << most_digit_bits>;

  // ---- Several threads: parts of the high digit, which are then sorted by the low one ----

  // A part fits the first-level cache. So this is faster than a second pass over the whole list
  // while other programs use the machine's caches, and as fast while none does. One thread gains
  // nothing by parts.
  [[nodiscard]] bool sorts_parts() const { return chunks_ > 1; }
  // Returns false, with nothing written to the output, if a part would keep a thread busy alone.
  template <class Key, class Value, class Q>
  bool sort_by_parts(Q& queue, const Operands& o, const Columns<Key, Value>& in,
                     const Columns<Key, Value>& parts) const {
    constexpr std::size_t digits = std::size_t{1} << most_digit_bits;
    std::array<std::uint64_t, digits + 1> begins;
    std::uint64_t largest = 0;
    host::call(queue, "count", [&] {
      count(o, in.keys_in, 1);
      std::copy_n(at<const std::uint64_t>(places_.in(o)), digits, begins.begin());
      begins[digits] = problem_.count;
      for (std::size_t d = 0; d < digits; ++d)
        largest = std::max(largest, begins[d + 1] - begins[d]);
    });
    if (largest > problem_.count / (std::uint64_t{2} * threads_.count())) return false;
    move_all(queue, o, in, 1);
    host::call(queue, "sort", [&] {
      each(o, digits, [&](std::uint64_t d) {
        if (begins[d] != begins[d + 1]) sort_part(parts, begins[d], begins[d + 1]);
      });
    });
    return true;
  }
  template <class Key, class Value>
  void sort_part(Columns<Key, Value> columns, std::uint64_t begin, std::uint64_t end) const {
    Counts counts;
    count_digits(columns.keys_in, begin, end, 0, counts);
    std::array<std::uint64_t, std::tuple_size_v<Counts>> places;
    std::exclusive_scan(counts.begin(), counts.end(), places.begin(), begin);
    if (columns.keys_out != nullptr && ranks_.is_flip()) {
      fill_keys(columns.keys_in[begin], counts, columns.keys_out + begin);
      columns.keys_out = nullptr;
    }
    if (columns.values_out == nullptr)
      store_records<false, false>(columns, begin, end, 0, places.data());
    else
      store_records<true, false>(columns, begin, end, 0, places.data());
  }
  // Writes the keys of a part by their counts. `any` is one of them.
  template <class Key>
  void fill_keys(Key any, const Counts& counts, Key* to) const {
    std::uint16_t rank = 0;
    ranks_.of(&any, &rank, 1);
    for (std::size_t d = 0; d < std::size_t{1} << digit_bits_; ++d) {
      const auto key = static_cast<Key>((rank >> digit_bits_ << digit_bits_ | d) ^ ranks_.flip());
      to = std::fill_n(to, counts[d], key);
    }
  }

  // ---- One pass ----

  // Moves the records to their positions in the order of digit `pass` of their ranks.
  template <class Key, class Value, class Q>
  void partition(Q& queue, const Operands& o, const Columns<Key, Value>& columns,
                 unsigned pass) const {
    host::call(queue, "count", [&] { count(o, columns.keys_in, pass); });
    move_all(queue, o, columns, pass);
  }
  template <class Key>
  void count(const Operands& o, const Key* keys, unsigned pass) const {
    each_chunk(o, [&](std::uint64_t c, std::uint64_t begin, std::uint64_t end) {
      Counts counts;
      count_digits(keys, begin, end, pass, counts);
      std::copy(counts.begin(), counts.end(),
                at<std::uint32_t>(counts_.in(o)) + (c << most_digit_bits));
    });
    find_places(o);
  }
  template <class Key, class Value, class Q>
  void move_all(Q& queue, const Operands& o, const Columns<Key, Value>& columns,
                unsigned pass) const {
    host::call(queue, "move", [&] {
      each_chunk(o, [&](std::uint64_t c, std::uint64_t begin, std::uint64_t end) {
        auto* const places = at<std::uint64_t>(places_.in(o)) + (c << most_digit_bits);
        if (columns.values_out == nullptr)
          move_chunk<false, false>(columns, begin, end, pass, places);
        else if (columns.values_in == nullptr)
          move_chunk<true, true>(columns, begin, end, pass, places);
        else
          move_chunk<true, false>(columns, begin, end, pass, places);
      });
    });
  }

  template <class Key>
  void count_digits(const Key* keys, std::uint64_t begin, std::uint64_t end, unsigned pass,
                    Counts& counts) const {
    Counts table[2] = {};
    for (std::uint64_t first = begin; first < end; first += block) {
      const std::uint64_t some = std::min(block, end - first);
      std::uint16_t ranks[block];
      ranks_.of(keys + first, ranks, some);
      for (std::uint64_t k = 0; k < some; ++k) ++table[k % 2][digit(ranks[k], pass)];
    }
    for (std::size_t d = 0; d < counts.size(); ++d) counts[d] = table[0][d] + table[1][d];
  }

  [[nodiscard]] std::size_t digit(std::uint16_t rank, unsigned pass) const {
    return pass == 0 ? rank & ((1u << digit_bits_) - 1) : rank >> digit_bits_;
  }

  // Computes where each chunk's records of each digit begin.
  void find_places(const Operands& o) const {
    const auto* const counts = at<const std::uint32_t>(counts_.in(o));
    auto* const places = at<std::uint64_t>(places_.in(o));
    std::uint64_t sum = 0;
    for (std::uint64_t d = 0; d < 1u << most_digit_bits; ++d)
      for (std::uint64_t c = 0; c < chunks_; ++c) {
        places[c << most_digit_bits | d] = sum;
        sum += counts[c << most_digit_bits | d];
      }
  }

  // True if the output is so much larger than the caches that writing lines takes less time.
  [[nodiscard]] bool writes_lines() const {
    return problem_.count >= std::uint64_t{1} << (passes_ == 2 ? 24 : 22);
  }

  template <bool has_values, bool are_positions, class Key, class Value>
  void move_chunk_by_lines(const Columns<Key, Value>& columns, std::uint64_t begin,
                           std::uint64_t end, unsigned pass, std::uint64_t* places) const {
    constexpr std::size_t digits = std::size_t{1} << most_digit_bits;
    std::uint64_t begins[digits];
    std::copy_n(places, digits, begins);
    counting::Lines<Key, digits> keys(columns.keys_out);
    counting::Lines<Value, digits> values(columns.values_out);
    for (std::uint64_t first = begin; first < end; first += block) {
      const std::uint64_t count = std::min(block, end - first);
      std::uint16_t ranks[block];
      ranks_.of(columns.keys_in + first, ranks, count);
      for (std::uint64_t k = 0; k < count; ++k) {
        const std::size_t d = digit(ranks[k], pass);
        const std::uint64_t place = places[d]++, i = first + k;
        if (columns.keys_out != nullptr) keys.put(d, place, begins[d], columns.keys_in[i]);
        if constexpr (are_positions)
          values.put(d, place, begins[d], static_cast<Value>(i));
        else if constexpr (has_values)
          values.put(d, place, begins[d], columns.values_in[i]);
      }
    }
    for (std::size_t d = 0; d < digits; ++d) {
      if (columns.keys_out != nullptr) keys.finish(d, places[d], begins[d]);
      if constexpr (has_values) values.finish(d, places[d], begins[d]);
    }
    hwy::FlushStream();
  }

  template <bool has_values, bool are_positions, class Key, class Value>
  void move_chunk(const Columns<Key, Value>& columns, std::uint64_t begin, std::uint64_t end,
                  unsigned pass, std::uint64_t* places) const {
    if (writes_lines())
      move_chunk_by_lines<has_values, are_positions>(columns, begin, end, pass, places);
    else
      store_records<has_values, are_positions>(columns, begin, end, pass, places);
  }
  template <bool has_values, bool are_positions, class Key, class Value>
  void store_records(const Columns<Key, Value>& columns, std::uint64_t begin, std::uint64_t end,
                     unsigned pass, std::uint64_t* places) const {
    for (std::uint64_t first = begin; first < end; first += block) {
      const std::uint64_t count = std::min(block, end - first);
      std::uint16_t ranks[block];
      ranks_.of(columns.keys_in + first, ranks, count);
      for (std::uint64_t k = 0; k < count; ++k) {
        const std::uint64_t place = places[digit(ranks[k], pass)]++, i = first + k;
        if (columns.keys_out != nullptr) columns.keys_out[place] = columns.keys_in[i];
        if constexpr (are_positions)
          columns.values_out[place] = static_cast<Value>(i);
        else if constexpr (has_values)
          columns.values_out[place] = columns.values_in[i];
      }
    }
  }

  Problem problem_;
  counting::BlockRanks ranks_;
  unsigned key_bytes_, digit_bits_, passes_;
  std::uint64_t chunks_ = 0, chunk_ = 0;  // number of chunks, records of a chunk
  std::uint64_t counters_ = 0;            // of each chunk
  ScratchLayout layout_;
  ScratchLayout::Slice counts_, begins_, key_of_rank_, places_, done_, keys_, values_;
  host::Threads threads_;
};

class Counting final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "counting",
        .title = "counting sort on the host's cores, by at most 16 bits",
        .source = "Seward 1954; Knuth, volume 3, 5.2",
        .stable = true,
        .host = true,
        .max_key_bits = most_key_bits,
        .cost =
            "keys: one reading and one writing; records: one stable partition for up to "
            "8 bits, two for more",
        .parameters = {{"threads", "that take part at most", 1, 1024, {}}}};
    return info;
  }

  Rank suits(const Problem& problem, const Capabilities&) const override {
    return catalog::counting_suits(problem) ? Rank::counts_keys : Rank::unsuited;
  }

  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    if (key_bits(problem) > most_key_bits)
      throw Error(ErrorCode::unsupported,
                  fmt::format("counting: at most {} bits may decide a key's place, and {} do",
                              most_key_bits, key_bits(problem)));
    return std::make_unique<CountingSorter>(
        problem, static_cast<unsigned>(given.number("threads", device.compute_units)));
  }
};

}  // namespace

// Below `least` records, sorting takes less time than clearing and scanning 256 counters; of keys
// of 16 bits without values, 65,536.
bool catalog::counting_suits(const Problem& problem) {
  if (key_bits(problem) > most_key_bits) return false;
  std::uint64_t least = 256;
  if (problem.payload == Payload::none) {
    if (sample::has_codes(problem)) least = catalog::sample_alone(problem, 1) + 1;
    if (info(problem.key).bytes == 1 && key_bits(problem) == 8) least = sample::most_byte_keys + 1;
  }
  return problem.count >= least;
}

std::uint64_t catalog::counting_alone(const Problem& problem, unsigned threads) {
  return counting_suits(problem) ? most_alone(problem, threads) : 0;
}

void catalog::counting_few(const Problem& problem, const Operands& operands) {
  host::run_alone(CountingSorter(problem, 1), operands);
}

std::uint64_t catalog::counting_few_scratch(const Problem& problem) {
  return CountingSorter(problem, 1).scratch_bytes();
}

void catalog::counting_in_arena(Queue& queue, const Problem& problem, unsigned threads,
                                const Operands& operands) {
  CountingSorter(problem, threads).sort_on(queue, operands);
}

std::uint64_t catalog::counting_in_arena_scratch(const Problem& problem, unsigned threads) {
  return CountingSorter(problem, threads).scratch_bytes();
}

const Algorithm& catalog::counting() {
  static const Counting algorithm;
  return algorithm;
}

}  // namespace sortium
