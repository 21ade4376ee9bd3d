// Sample sort for the host, with vector instructions and all cores: Frazer, McKellar, "Samplesort"
// (1970); the parts are sorted by Highway's vqsort (words.hpp). Chunks that fit a core's cache are
// partitioned by splitters from a sample; each part is then gathered from all chunks and sorted by
// itself.
//
// The sort moves words. For keys without values, a word is the key's code. For most records, a word
// is the key's rank above the record's position; the position makes the sort stable and identifies
// the record. For 4-byte integers with 4-byte values, a word holds key and value, and a stable
// radix sort sorts the parts.
//
// First the input is searched for runs, piece by piece, until there are too many. Sorted input is
// only copied. Input that consists of a few ascending or descending runs is merged (runs.hpp).
//
// The sort cannot fail after it has begun to write the output. It only allocates memory for large
// parts, and if that fails it sorts them without that memory.
#include <fmt/format.h>

#include <cstring>
#include <memory>

#include "../catalog.hpp"
#include "../run_alone.hpp"
#include "few_keys.hpp"
#include "few_records.hpp"
#include "insert_tail.hpp"
#include "key_steps.hpp"
#include "layout.hpp"
#include "merge_runs.hpp"
#include "order.hpp"
#include "packed_steps.hpp"
#include "pair_steps.hpp"
#include "partition.hpp"
#include "record_steps.hpp"
#include "record_strips.hpp"
#include "split_keys.hpp"
#include "strips.hpp"

namespace sortium {
namespace {

using namespace sample;

class SampleSorter final : public Sorter {
 public:
  SampleSorter(const Problem& problem, unsigned most_threads, const Parameters& given)
      : layout_(problem, most_threads, given),
        ranks_(problem, layout_.coded),
        threads_(layout_.threads) {}

  std::uint64_t scratch_bytes() const override { return layout_.scratch.bytes(); }
  std::string parameters() const override {
    if (layout_.threads == 1 && layout_.parts == 1) return "threads=1";
    return fmt::format("threads={},parts={},chunk={}", layout_.threads, layout_.parts,
                       layout_.chunk);
  }
  void build(Device&, const Capabilities&) override { threads_.start(); }

  void enqueue(Queue& queue, const Operands& o) override {
    threads_.run([&] { sort_on(queue, o); });
  }

  // Sorts in the caller's arena, which must have as many threads as the layout, unless that has 1.
  void sort_on(const host::Phases& queue, const Operands& o) const {
    switch (layout_.key_bytes) {
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

  // Sorts at most most_alone() records, without a queue.
  void run_alone(const Operands& o) const { sort_on(host::Phases(), o); }

 private:
  template <class Key>
  void sort(const host::Phases& queue, const Operands& o) const {
    const Context context{layout_, ranks_, o};
    const Problem& problem = layout_.problem;
    if constexpr (sizeof(Key) >= 2)
      if (layout_.form == Form::codes) return sort_keys<Key>(queue, context);
    Runs runs;
    std::uint64_t sorted = 0;
    if (problem.count > layout_.alone) {
      host::call(queue, "look", [&] {
        sorted = sorted_before_tail<Key>(context);
        if (sorted == 0) runs = find_runs(at<const Key>(o.keys_in), o);
      });
      if (runs.is_one_that_ascends() || sorted == problem.count)
        return host::call(queue, "copy", [&] { keep_order<Key>(o); });
      if (runs.is_one_that_falls() && !runs.tie)
        return host::call(queue, "reverse", [&] { reverse_order<Key>(o); });
    }
    const auto sort_rest = [&]<class Value>(Value) {
      if (sorted == 0 || !insert_tail_records<Key, Value>(queue, context, sorted))
        sort_records<Key, Value>(queue, context, runs);
    };
    if (problem.payload != Payload::none && problem.value_bytes == 8)
      sort_rest(std::uint64_t{});
    else
      sort_rest(std::uint32_t{});
  }

  template <class Key>
  Runs find_runs(const Key* keys, const Operands& o) const {
    if constexpr (sizeof(Key) >= 4)
      if (layout_.coded) return find_runs_of<Key>(keys, o);
    return find_runs_of<std::uint64_t>(keys, o);
  }
  template <class Rank, class Key>
  Runs find_runs_of(const Key* keys, const Operands& o) const {
    RunFinder finder(layout_.problem.count, at<RunFinder::Stretches>(layout_.stretches.in(o)));
    const auto ranks_from = [&](std::uint64_t first, Rank* to, std::uint64_t count) {
      ranks_.of(keys + first, to, count);
    };
    // Piece 0 usually has too many runs already; then no other thread is woken.
    finder.look<Rank>(0, ranks_from);
    if (!finder.given_up())
      layout_.each(o, finder.pieces() - 1,
                   [&](std::uint64_t p) { finder.look<Rank>(p + 1, ranks_from); });
    return finder.runs();
  }

  // If all records, perhaps except for a few at the end, are in order, returns their number, else
  // 0.
  template <class Key>
  std::uint64_t sorted_before_tail(const Context& context) const {
    if constexpr (sizeof(Key) >= 4) {
      if (!layout_.coded) return 0;
      const std::uint64_t n = layout_.problem.count;
      const std::uint64_t sorted = WholeOrder<Key>(context).in_order();
      return n - sorted <= n / tail_share ? sorted : 0;
    }
    return 0;
  }

  // The input is sorted: copies it to the output.
  template <class Key>
  void keep_order(const Operands& o) const {
    const Problem& problem = layout_.problem;
    const std::uint64_t values = problem.value_bytes;
    const auto copy = [&](const Memory& to, const Memory& from, std::uint64_t bytes,
                          std::uint64_t begin, std::uint64_t count) {
      if (at<std::byte>(to) != at<std::byte>(from))
        std::memcpy(at<std::byte>(to) + begin * bytes, at<std::byte>(from) + begin * bytes,
                    count * bytes);
    };
    layout_.each_chunk(o, [&](std::uint64_t, std::uint64_t begin, std::uint64_t count) {
      if (problem.keys_out) copy(o.keys_out, o.keys_in, sizeof(Key), begin, count);
      if (problem.payload == Payload::values) copy(o.values_out, o.values_in, values, begin, count);
      if (problem.payload != Payload::positions) return;
      for (std::uint64_t i = begin; i < begin + count; ++i) {
        if (values == 4)
          at<std::uint32_t>(o.values_out)[i] = static_cast<std::uint32_t>(i);
        else
          at<std::uint64_t>(o.values_out)[i] = i;
      }
    });
  }

  // The input is in reverse order: writes it to the output from its end on.
  template <class Key>
  void reverse_order(const Operands& o) const {
    const Problem& problem = layout_.problem;
    const auto values = [&]<class Value>(Value) {
      if (problem.payload == Payload::values)
        return reverse_list(o, at<const Value>(o.values_in), at<Value>(o.values_out));
      layout_.each_chunk(o, [&](std::uint64_t, std::uint64_t begin, std::uint64_t count) {
        for (std::uint64_t i = begin; i < begin + count; ++i)
          at<Value>(o.values_out)[i] = static_cast<Value>(problem.count - 1 - i);
      });
    };
    if (problem.payload != Payload::none && problem.value_bytes == 4) values(std::uint32_t{});
    if (problem.payload != Payload::none && problem.value_bytes == 8) values(std::uint64_t{});
    if (problem.keys_out) reverse_list(o, at<const Key>(o.keys_in), at<Key>(o.keys_out));
  }
  template <class T>
  void reverse_list(const Operands& o, const T* in, T* out) const {
    const std::uint64_t n = layout_.problem.count;
    layout_.each_chunk(o, [&](std::uint64_t, std::uint64_t begin, std::uint64_t count) {
      if (in != out) {
        std::reverse_copy(in + (n - begin - count), in + (n - begin), out + begin);
        return;
      }
      const std::uint64_t end = std::min(begin + count, n / 2);
      if (begin >= end) return;
      if constexpr (sizeof(T) == 1)
        for (std::uint64_t i = begin; i < end; ++i) std::swap(out[i], out[n - 1 - i]);
      else
        swap_reversed(out + begin, out + n - end, end - begin);
    });
  }

  template <class Key>
  void sort_keys(const host::Phases& queue, const Context& context) const {
    KeySteps<Key> steps(context);
    if (layout_.problem.count <= layout_.alone) {
      bool sorted = false;
      host::call(queue, "sort",
                 [&] { sorted = FewKeys<Key>(layout_.problem, steps.in, steps.out).sort(); });
      if (!sorted) Partition(context, steps).run(queue);
      return;
    }
    if (sort_by_whole_order<Key>(queue, context)) return;
    if constexpr (sizeof(Key) >= 4)
      if (layout_.strip_parts != 0) {
        Strips<Key> strips(context, steps);
        bool worth_it = false;
        host::call(queue, "look", [&] { worth_it = strips.are_worth_it(); });
        if (worth_it && strips.run(queue)) return;
      }
    bool sorted = false;
    if (layout_.is_split)
      host::call(queue, "sort", [&] { sorted = SplitKeys(context, steps).sort(); });
    if (!sorted) Partition(context, steps).run(queue);
  }

  // Sorts lists that are in order, in reverse order, or in order except for their last keys.
  // Returns false if the list is none of these.
  template <class Key>
  bool sort_by_whole_order(const host::Phases& queue, const Context& context) const {
    const WholeOrder<Key> order(context);
    const std::uint64_t n = layout_.problem.count;
    std::uint64_t in_order = 0, in_reverse = 0;
    host::call(queue, "look", [&] {
      in_order = order.in_order();
      if (in_order < 2) in_reverse = order.in_reverse();
    });
    if (in_order == n) {
      host::call(queue, "copy", [&] { order.keep(); });
      return true;
    }
    if (in_reverse == n) {
      host::call(queue, "reverse", [&] { order.reverse(); });
      return true;
    }
    if (n - in_order > layout_.most_tail()) return false;
    return insert_tail<Key>(queue, context, order, in_order);
  }

  // Returns false, with nothing written, if there is too little scratch memory.
  template <class Key>
  bool insert_tail(const host::Phases& queue, const Context& context, const WholeOrder<Key>& order,
                   std::uint64_t sorted) const {
    Problem problem = layout_.problem;
    problem.count -= sorted;
    const SampleSorter tail(problem, layout_.threads, {});
    if (tail.scratch_bytes() > layout_.tail.bytes) return false;
    host::call(queue, "copy", [&] { order.keep(); });
    const Memory keys =
        context.operands.keys_out.slice(sorted * sizeof(Key), problem.count * sizeof(Key));
    tail.sort_on(queue,
                 {.keys_in = keys, .keys_out = keys, .scratch = layout_.tail.in(context.operands)});
    host::call(queue, "insert", [&] { order.insert_tail(sorted); });
    return true;
  }

  // Writes the words of the records from `sorted` on, in their order. Places count from there.
  template <class Steps>
  void sort_tail(Steps& steps, std::uint64_t sorted, std::uint64_t* words) const {
    const auto* const keys = steps.in + sorted;
    const std::uint64_t count = layout_.problem.count - sorted;
    const Range range = range_of(keys, 0, count);
    steps.window = sample::window_of(range.lowest, range.highest, 64 - steps.position_bits);
    steps.words(keys, words, 0, count);
    sort_words(words, count);
    if (steps.window.shift != 0) ranks_.sort_ties(keys, words, count, steps.position_bits);
  }
  // Sorts records in order but for those from `sorted` on. Returns false, with nothing written, if
  // there is no memory for the tail's words.
  template <class Key, class Value>
  bool insert_tail_records(const host::Phases& queue, const Context& context,
                           std::uint64_t sorted) const {
    if constexpr (sizeof(Key) >= 4) {
      const std::uint64_t n = layout_.problem.count, tail = n - sorted;
      const std::unique_ptr<std::uint64_t, decltype(&std::free)> memory(
          static_cast<std::uint64_t*>(std::malloc(2 * tail * sizeof(std::uint64_t))), &std::free);
      if (memory == nullptr) return false;
      host::call(queue, "insert", [&] {
        RecordSteps<Key, Value> steps(context);
        std::uint64_t *const words = memory.get(), *const cuts = words + tail;
        sort_tail(steps, sorted, words);
        steps.keep_input();
        const InsertTail<Key, Value> insert(
            {steps.in, steps.values_in, steps.keys_out, steps.values_out}, sorted, tail, words,
            steps.mask(), cuts, coding_of<Key>(layout_.problem));
        const auto each_block = [&](std::uint64_t count, const auto& body) {
          constexpr std::uint64_t block = RunFinder::piece;
          layout_.each(context.operands, ceil_div(count, block),
                       [&](std::uint64_t b) { body(b * block, std::min((b + 1) * block, count)); });
        };
        each_block(tail, [&](auto begin, auto end) { insert.cut(begin, end); });
        each_block(n, [&](auto begin, auto end) { insert.write(begin, end); });
      });
      return true;
    }
    return false;
  }

  template <class Key, class Value>
  void sort_records(const host::Phases& queue, const Context& context, const Runs& runs) const {
    if constexpr (sizeof(Key) >= 4)
      if (layout_.coded && layout_.problem.count <= layout_.alone) {
        bool sorted = false;
        const typename FewRecords<Key, Value>::Space space{
            at<Key>(layout_.keys.in(context.operands)),
            at<Value>(layout_.values.in(context.operands)),
            at<std::uint64_t>(layout_.own.in(context.operands))};
        host::call(queue, "sort", [&] {
          sorted = FewRecords<Key, Value>(layout_.problem, context.operands, space).sort();
        });
        if (sorted) return;
      }
    if constexpr (sizeof(Key) >= 4)
      if (strips_suit(runs)) {
        if (layout_.moved_bytes == 4 ? sort_strips<Key, std::uint32_t, Value>(queue, context)
                                     : sort_strips<Key, std::uint64_t, Value>(queue, context))
          return;
      }
    if (runs.count != 0 && merge_records<Key, Value>(queue, context, runs)) return;
    if constexpr (sizeof(Key) == 4)
      if (layout_.form == Form::packed)
        return partition(queue, context, PackedSteps<Value>(context));
    if constexpr (sizeof(Key) >= 4)
      if (layout_.form == Form::paired) {
        if (layout_.moved_bytes == 4)
          return partition(queue, context, PairSteps<Key, std::uint32_t, Value>(context));
        return partition(queue, context, PairSteps<Key, std::uint64_t, Value>(context));
      }
    RecordSteps<Key, Value> steps(context);
    const unsigned window_bits = 64 - steps.position_bits;
    if (layout_.problem.count <= layout_.alone)
      return host::call(queue, "sort", [&] {
        steps.window = window_of_all(steps.in, window_bits);
        sort_alone(steps);
      });
    host::call(queue, "range",
               [&] { steps.window = find_window(steps.in, window_bits, context.operands); });
    Partition(context, steps).run(queue);
  }
  template <class Steps>
  static void partition(const host::Phases& queue, const Context& context, Steps steps) {
    Partition(context, steps).run(queue);
  }

  // Merges of few runs take less time; so do radix sorts of short lists of packed words.
  [[nodiscard]] bool strips_suit(const Runs& runs) const {
    constexpr std::uint64_t short_list = 1u << 17;
    return runs.count == 0 &&
           (layout_.form == Form::paired ||
            (layout_.form == Form::packed && layout_.problem.count > short_list));
  }
  // Returns false, with nothing written to the output, if chunks are not a few ascending runs.
  template <class Key, class Moved, class Value>
  bool sort_strips(const host::Phases& queue, const Context& context) const {
    PairSteps<Key, Moved, Value> steps(context);
    RecordStrips strips(context, steps);
    bool worth_it = false;
    host::call(queue, "look", [&] { worth_it = strips.are_worth_it(); });
    return worth_it && strips.run(queue);
  }

  // Returns false, with nothing written to the output, if so many keys are equal that the runs
  // cannot be merged.
  template <class Key, class Value>
  bool merge_records(const host::Phases& queue, const Context& context, const Runs& runs) const {
    RecordSteps<Key, Value> steps(context);
    bool merged = false;
    host::call(queue, "merge", [&] {
      steps.window = window_of_runs(steps.in, 64 - steps.position_bits, runs);
      merged = MergeRuns(context, steps, runs).run();
    });
    return merged;
  }

  template <class Key, class Value>
  void sort_alone(RecordSteps<Key, Value>& steps) const {
    const std::uint64_t n = layout_.problem.count;
    std::memcpy(steps.keys, steps.in, n * sizeof(Key));
    for (std::uint64_t i = 0; steps.values != nullptr && i < n; ++i)
      steps.values[i] = steps.values_in != nullptr ? steps.values_in[i] : static_cast<Value>(i);
    steps.gather(steps.own, 0, 0, n);
    steps.finish(steps.own, 0, n);
  }

  struct Range {
    std::uint64_t lowest = ~std::uint64_t{0}, highest = 0;
  };
  template <class Key>
  Range range_of(const Key* keys, std::uint64_t begin, std::uint64_t end) const {
    constexpr std::uint64_t step = 512;
    std::uint64_t rank[step], lowest = ~std::uint64_t{0}, highest = 0;
    for (std::uint64_t i = begin; i < end; i += step) {
      const std::uint64_t count = std::min(step, end - i);
      ranks_.of(keys + i, rank, count);
      for (std::uint64_t k = 0; k < count; ++k) {
        lowest = std::min(lowest, rank[k]);
        highest = std::max(highest, rank[k]);
      }
    }
    return {lowest, highest};
  }

  // Returns the window of `bits` bits that holds all ranks completely or, if they need more bits,
  // their highest bits (see Window).
  template <class Key>
  Window window_of_all(const Key* keys, unsigned bits) const {
    if (bits >= sizeof(Key) * 8) return {};
    const Range range = range_of(keys, 0, layout_.problem.count);
    return sample::window_of(range.lowest, range.highest, bits);
  }
  // Does the same as window_of_all() for records that are such runs.
  template <class Key>
  Window window_of_runs(const Key* keys, unsigned bits, const Runs& runs) const {
    Range range;
    for (const Run& run : runs)
      for (const std::uint64_t i : {run.begin, run.end - 1}) {
        const Range one = range_of(keys, i, i + 1);
        range.lowest = std::min(range.lowest, one.lowest);
        range.highest = std::max(range.highest, one.highest);
      }
    return sample::window_of(range.lowest, range.highest, bits);
  }
  // Does the same as window_of_all(), with all threads.
  template <class Key>
  Window find_window(const Key* keys, unsigned bits, const Operands& o) const {
    if (bits >= sizeof(Key) * 8) return {};
    Range* const found = at<Range>(layout_.ranges.in(o));
    layout_.each_chunk(o, [&](std::uint64_t c, std::uint64_t begin, std::uint64_t count) {
      found[c] = range_of(keys, begin, begin + count);
    });
    auto [lowest, highest] = found[0];
    for (std::uint64_t c = 1; c < layout_.chunks; ++c)
      lowest = std::min(lowest, found[c].lowest), highest = std::max(highest, found[c].highest);
    return sample::window_of(lowest, highest, bits);
  }

  Layout layout_;
  Ranks ranks_;
  host::Threads threads_;
};

class Sample final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "sample",
        .title = "sample sort on the host's cores, with vector instructions: cpu:0's own",
        .source = "Frazer, McKellar 1970; Wassenberg, Blacher, Giesen, Sanders 2022",
        .stable = true,
        .comparison = true,
        .host = true,
        .cost =
            "keys: read and written twice, and a quicksort in cache; records: also words of 8 "
            "bytes, "
            "and each record gathered once at random; 32-bit integers with 32-bit values: one word "
            "for both, radix sorted in cache",
        .parameters = {
            {"threads", "the most threads", 1, 1024, {}},
            {"parts", "number of parts of the output, each sorted by itself", 1, 4096, {}},
            {"chunk", "records that are partitioned together", 64, 1 << 24, {}}}};
    return info;
  }

  Rank suits(const Problem&, const Capabilities&) const override { return Rank::few_moves; }

  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    const unsigned threads =
        host::threads_for(problem.count, records_of_thread, device.compute_units);
    return std::make_unique<SampleSorter>(problem, threads, given);
  }
};

}  // namespace

namespace {

template <class Key>
bool sort_few_keys(const Problem& problem, const Operands& o) {
  return FewKeys<Key>(problem, at<const Key>(o.keys_in), at<Key>(o.keys_out)).sort();
}
// Sorts keys without values, if they have codes or are few bytes. Returns false if nothing is
// sorted. A SampleSorter takes 0.1 µs to set up, as long as sorting 64 keys.
bool sort_few_keys_at_once(const Problem& problem, const Operands& o) {
  if (problem.payload != Payload::none) return false;
  const unsigned bytes = info(problem.key).bytes;
  if (bytes == 1 && key_bits(problem) == 8 && problem.count <= most_byte_keys) {
    sort_few_bytes(problem, at<const std::uint8_t>(o.keys_in), at<std::uint8_t>(o.keys_out));
    return true;
  }
  if (!has_codes(problem)) return false;
  return bytes == 2   ? sort_few_keys<std::uint16_t>(problem, o)
         : bytes == 4 ? sort_few_keys<std::uint32_t>(problem, o)
                      : sort_few_keys<std::uint64_t>(problem, o);
}

}  // namespace

void catalog::sample_few(const Problem& problem, const Operands& operands) {
  if (sort_few_keys_at_once(problem, operands)) return;
  host::run_alone(SampleSorter(problem, 1, {}), operands);
}

std::uint64_t catalog::sample_alone(const Problem& problem, unsigned threads) {
  return most_alone(problem, threads);
}

std::uint64_t catalog::sample_few_scratch(const Problem& problem) {
  return SampleSorter(problem, 1, {}).scratch_bytes();
}

void catalog::sample_in_arena(Queue& queue, const Problem& problem, unsigned threads,
                              const Operands& operands) {
  SampleSorter(problem, threads, {}).sort_on(queue, operands);
}

std::uint64_t catalog::sample_in_arena_scratch(const Problem& problem, unsigned threads) {
  return SampleSorter(problem, threads, {}).scratch_bytes();
}

const Algorithm& catalog::sample() {
  static const Sample algorithm;
  return algorithm;
}

}  // namespace sortium
