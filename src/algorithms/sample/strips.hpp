// Sorts keys without values that are partly in order: a few runs, interleaved runs, keys that
// ascend but for a few, or keys not far from their places. Each chunk becomes a few runs, by
// itself. Splitters cut the runs into slices. A part consists of slices of some runs, which one
// thread merges. Unlike Partition, no chunk is partitioned, and most parts are copied or merged
// from a few slices.
#pragma once

#include <algorithm>
#include <cstring>
#include <numeric>

#include "key_steps.hpp"
#include "positions.hpp"

namespace sortium::sample {

template <class Key>
class Strips {
 public:
  Strips(const Context& context, KeySteps<Key>& steps)
      : layout_(context.layout),
        operands_(context.operands),
        steps_(steps),
        splitters_(at<Key>(layout_.splitters.in(operands_))),
        chunks_(at<Chunk>(layout_.strip_chunks.in(operands_))),
        slices_(at<Slice>(layout_.strip_slices.in(operands_))),
        of_parts_(at<Slice>(layout_.strip_order.in(operands_))),
        begins_(at<Begin>(layout_.strip_begins.in(operands_))) {}

  // True if samples show that chunks hold few runs each, or keys of few parts of the output. The
  // second does not help lists that SplitKeys sorts in a core's cache.
  [[nodiscard]] bool are_worth_it() const {
    return windows_are(is_ordered) || windows_are(is_interleaved) ||
           (!is_split_in_cache() && chunks_are_narrow());
  }

  // Returns false, with nothing written to the output, if floats tie that differ: runs of codes do
  // not contain their order.
  template <class Q>
  bool run(Q& queue) {
    bool ties_differ = false;
    host::call(queue, "runs", [&] {
      choose_splitters();
      layout_.each_chunk(operands_, [&](std::uint64_t c, std::uint64_t begin, std::uint64_t count) {
        make_chunk(c, begin, count);
      });
      ties_differ = do_ties_differ();
      if (!ties_differ) collect_slices();
    });
    if (ties_differ) return false;
    host::call(queue, "merge",
               [&] { layout_.each(operands_, parts_, [&](std::uint64_t p) { make_part(p); }); });
    return true;
  }

 private:
  using Slice = Layout::StripSlice;
  using Begin = Layout::StripBegin;
  using Chunk = Layout::StripChunk;

  static constexpr std::size_t most_natural_runs = 16;  // of a chunk; more are sorted again
  static constexpr std::size_t most_stride = 64;
  static constexpr std::size_t stray_share = 16;  // at most one of so many keys is out of order
  // Runs of a part: at most this many can be longer than a 64th of it; more than these are sorted.
  static constexpr std::size_t most_long = 64, most_merged = 32;

  // ---- is there order? ----

  static constexpr std::uint64_t windows = 16, samples = 32, window = 512;
  static constexpr std::uint64_t glance = 128;  // keys of a window that are tested first
  static constexpr std::uint64_t strays = 2;  // so many of the samples, at either end, may be apart

  [[nodiscard]] bool is_split_in_cache() const {
    constexpr std::uint64_t cache = 1u << 21;  // bytes
    return layout_.is_split && layout_.problem.count * sizeof(Key) <= cache;
  }
  [[nodiscard]] std::uint64_t window_begin(std::uint64_t w) const {
    return w * (layout_.problem.count - window) / (windows - 1);
  }
  // True if in most chunks nearly all keys lie within a quarter of the list's sorted order.
  [[nodiscard]] bool chunks_are_narrow() const {
    Key codes[windows][samples], sorted[windows * samples];
    const std::uint64_t n = layout_.problem.count, near = std::min(layout_.chunk, n);
    Positions positions(1);
    for (std::uint64_t w = 0; w < windows; ++w)
      for (auto& code : codes[w])
        steps_.make_sample(&code, w * (n - near) / (windows - 1) + positions.next(near));
    std::memcpy(sorted, codes, sizeof sorted);
    sort_words(sorted, windows * samples);
    std::uint64_t narrow = 0;
    for (auto& chunk : codes) {
      sort_words(chunk, samples);
      const Key low = chunk[strays], high = chunk[samples - 1 - strays];
      narrow += std::upper_bound(sorted, sorted + windows * samples, high) -
                    std::lower_bound(sorted, sorted + windows * samples, low) <=
                static_cast<std::ptrdiff_t>(windows * samples / 4);
    }
    return narrow >= windows - 2;
  }
  [[nodiscard]] bool windows_are(bool (*ordered)(Key*, std::size_t)) const {
    Key codes[window];
    std::uint64_t found = 0;
    for (std::uint64_t w = 0; w < windows && found + 2 >= w; ++w) {
      const std::uint64_t begin = window_begin(w);
      steps_.make(codes, begin, glance);
      if (!ordered(codes, glance)) continue;
      steps_.make(codes, begin, window);
      found += ordered(codes, window);
    }
    return found >= windows - 2;
  }
  static bool is_ordered(Key* codes, std::size_t count) {
    Key strays[window / stray_share];
    return descending(codes, count, Coding<Key>{}) == count ||
           move_strays(codes, count, strays, count / stray_share) != 0;
  }
  static bool is_interleaved(Key* codes, std::size_t count) { return stride_of(codes, count) != 0; }
  // Returns the least number of interleaved ascending runs, or 0.
  static std::size_t stride_of(const Key* codes, std::size_t count) {
    for (std::size_t stride = 2; stride <= most_stride && 2 * stride <= count; ++stride)
      if (may_ascend_by(codes, count - stride, stride) && ascends_by(codes, count, stride))
        return stride;
    return 0;
  }
  // Rejects most strides after a few comparisons.
  static bool may_ascend_by(const Key* codes, std::size_t count, std::size_t stride) {
    bool ascends = true;
    for (std::size_t i = 0; i < count; i += 1 + count / 8) ascends &= codes[i] <= codes[i + stride];
    return ascends;
  }

  // ---- chunks become runs, and runs slices ----

  void choose_splitters() {
    const std::uint64_t n = layout_.problem.count;
    const std::uint64_t wanted = layout_.strip_parts * Layout::strip_samples;
    Key* const all = at<Key>(layout_.samples.in(operands_));
    Positions positions(2);
    for (std::uint64_t i = 0; i < wanted; ++i) steps_.make_sample(all + i, positions.next(n));
    sort_words(all, wanted);
    std::uint64_t count = 0;
    for (std::uint64_t i = Layout::strip_samples; i < wanted; i += Layout::strip_samples)
      if (count == 0 || all[i] != splitters_[count - 1]) splitters_[count++] = all[i];
    parts_ = count + 1;
  }

  void make_chunk(std::uint64_t c, std::uint64_t begin, std::uint64_t count) const {
    Key* const codes = steps_.chunk(begin);
    steps_.make(codes, begin, count);
    auto& mine = chunks_[c];
    if (steps_.coding.is_float) mine.ties = ties_of(codes, count);
    std::size_t ends[most_stride];
    std::size_t runs = natural_runs(codes, count, ends);
    if (runs == 0) runs = interleaved_runs(codes, count, ends);
    if (runs == 0) runs = runs_without_strays(codes, count, ends);
    if (runs == 0 || !cut(c, begin, ends, runs)) {
      sort_codes(codes, count);
      ends[0] = count;
      cut(c, begin, ends, 1);
    }
  }

  // Finds the ascending and descending runs, and reverses the latter. Returns their number; 0 if
  // there are too many.
  static std::size_t natural_runs(Key* codes, std::size_t count, std::size_t* ends) {
    std::size_t runs = 0;
    for (std::size_t begin = 0; begin < count;) {
      std::size_t length = ascending(codes + begin, count - begin, Coding<Key>{});
      if (length == 1) {
        length = descending(codes + begin, count - begin, Coding<Key>{});
        std::reverse(codes + begin, codes + begin + length);
      }
      if (runs != 0 && codes[begin - 1] <= codes[begin])
        --runs;  // continues the run before it
      else if (runs == most_natural_runs)
        return 0;
      begin += length;
      ends[runs++] = begin;
    }
    return runs;
  }

  std::size_t interleaved_runs(Key* codes, std::size_t count, std::size_t* ends) const {
    const std::size_t stride = stride_of(codes, count);
    if (stride == 0) return 0;
    Key* const apart = own();
    std::size_t to = 0;
    for (std::size_t r = 0; r < stride; ++r) {
      for (std::size_t i = r; i < count; i += stride) apart[to++] = codes[i];
      ends[r] = to;
    }
    std::memcpy(codes, apart, count * sizeof(Key));
    return stride;
  }

  // If all keys ascend except for a few, makes a run of these and a run of the others.
  std::size_t runs_without_strays(Key* codes, std::size_t count, std::size_t* ends) const {
    const std::size_t kept = move_strays(codes, count, own(), count / stray_share);
    if (kept == 0) return 0;
    sort_codes(codes + kept, count - kept);
    ends[0] = kept;
    ends[1] = count;
    return 2;
  }

  // Cuts the chunk's runs by the splitters. Returns false if there are too many slices.
  bool cut(std::uint64_t c, std::uint64_t begin, const std::size_t* ends, std::size_t runs) const {
    const Key* const codes = steps_.chunk(begin);
    Slice* const mine = slices_ + c * layout_.strip_slices_of_chunk;
    std::uint64_t count = 0;
    std::size_t from = 0;
    for (std::size_t r = 0; r < runs; ++r) {
      auto part = static_cast<std::uint64_t>(
          std::upper_bound(splitters_, splitters_ + parts_ - 1, codes[from]) - splitters_);
      for (; from < ends[r]; ++part) {
        const std::size_t to =
            part + 1 == parts_ ? ends[r]
                               : from + words_below(codes + from, ends[r] - from, splitters_[part]);
        if (from == to) continue;
        if (count == layout_.strip_slices_of_chunk) return false;
        mine[count++] = {begin + from, static_cast<std::uint32_t>(part),
                         static_cast<std::uint32_t>(to - from)};
        from = to;
      }
    }
    chunks_[c].slices = count;
    return true;
  }
  // Returns how many of the sorted words are below the splitter. Without a branch on words, which
  // would be mispredicted half of the times.
  static std::size_t words_below(const Key* words, std::size_t count, Key splitter) {
    const Key* from = words;
    while (count > 1) {
      const std::size_t half = count / 2;
      from += from[half - 1] < splitter ? half : 0;
      count -= half;
    }
    return static_cast<std::size_t>(from - words) + (count == 1 && *from < splitter ? 1 : 0);
  }

  [[nodiscard]] bool do_ties_differ() const {
    if (!steps_.coding.is_float) return false;
    CodeTies all;
    for (std::uint64_t c = 0; c < layout_.chunks; ++c) all.add(chunks_[c].ties);
    return all.differ();
  }

  // ---- parts ----

  // Orders the slices by part, and computes where each part begins.
  void collect_slices() {
    std::fill_n(begins_, parts_ + 1, Begin{});
    for_slices([&](const Slice& s) {
      begins_[s.part + 1].record += s.count;
      ++begins_[s.part + 1].slice;
    });
    for (std::uint64_t p = 0; p < parts_; ++p) {
      begins_[p + 1].record += begins_[p].record;
      begins_[p + 1].slice += begins_[p].slice;
    }
    for_slices([&](const Slice& s) { of_parts_[begins_[s.part].slice++] = s; });
    for (std::uint64_t p = parts_; p > 0; --p) begins_[p].slice = begins_[p - 1].slice;
    begins_[0].slice = 0;
  }
  template <class Body>
  void for_slices(const Body& body) const {
    for (std::uint64_t c = 0; c < layout_.chunks; ++c) {
      const Slice* const mine = slices_ + c * layout_.strip_slices_of_chunk;
      std::for_each(mine, mine + chunks_[c].slices, body);
    }
  }

  // Slices [begin, end) of a part, each not above the next.
  struct Run {
    const Slice *begin, *end;
    std::uint64_t count;
  };
  // Calls body(run) for all runs of the slices.
  template <class Body>
  void for_runs(const Slice* begin, const Slice* end, const Body& body) const {
    const Key* const codes = steps_.chunked;
    while (begin != end) {
      Run run{begin, begin + 1, begin->count};
      for (; run.end != end; ++run.end) {
        const Slice& last = run.end[-1];
        if (codes[last.from + last.count - 1] > codes[run.end->from]) break;
        run.count += run.end->count;
      }
      body(run);
      begin = run.end;
    }
  }
  void gather(const Run& run, Key* to) const {
    for (const Slice* s = run.begin; s != run.end; ++s) {
      std::memcpy(to, steps_.chunked + s->from, s->count * sizeof(Key));
      to += s->count;
    }
  }

  void make_part(std::uint64_t p) const {
    const auto [first_record, first_slice] = begins_[p];
    const auto [last_record, last_slice] = begins_[p + 1];
    const Run all{of_parts_ + first_slice, of_parts_ + last_slice, last_record - first_record};
    if (all.count == 0) return;
    Key* const out = steps_.out + first_record;
    if (!merge_part(all, out)) {
      gather(all, out);
      sort_codes(out, all.count);
    }
    decode(out, all.count, steps_.coding);
  }

  // Merges the long runs of the slices, and sorts the short ones together. Returns false if sorting
  // all of them takes less time.
  bool merge_part(const Run& all, Key* out) const {
    const std::uint64_t least = all.count / most_long;  // records of a long run
    Run runs[most_long];
    std::size_t found = 0;
    std::uint64_t rest = all.count;
    for_runs(all.begin, all.end, [&](const Run& run) {
      if (run.count <= least) return;
      runs[found++] = run;
      rest -= run.count;
    });
    if (found == 1 && rest == 0) return gather(runs[0], out), true;
    if (found > most_merged || rest > all.count / 4) return false;
    if (2 * all.count > layout_.own_words * 8 / sizeof(Key)) return false;

    std::sort(runs, runs + found, [](const Run& a, const Run& b) { return a.count < b.count; });
    Key* const words = own();
    std::uint64_t ends[most_merged + 2], to = 0;
    std::size_t pieces = 0;
    for_runs(all.begin, all.end, [&](const Run& run) {
      if (run.count > least) return;
      gather(run, words + to);
      to += run.count;
    });
    if (to != 0) {
      sort_codes(words, to);
      ends[++pieces] = to;
    }
    for (std::size_t r = 0; r < found; ++r) {
      gather(runs[r], words + to);
      to += runs[r].count;
      ends[++pieces] = to;
    }
    ends[0] = 0;
    merge_pieces(words, words + all.count, ends, pieces, out);
    return true;
  }
  // Merges sorted pieces in pairs, at least two; piece i is [ends[i], ends[i + 1]) of `from`.
  static void merge_pieces(Key* from, Key* to, std::uint64_t* ends, std::size_t pieces, Key* out) {
    for (; pieces > 1; pieces = (pieces + 1) / 2) {
      if (pieces == 2) to = out;
      for (std::size_t i = 0; i < pieces; i += 2) {
        const std::uint64_t middle = ends[i + 1], end = ends[std::min(i + 2, pieces)];
        merge_words(from + ends[i], middle - ends[i], from + middle, end - middle, to + ends[i]);
        ends[i / 2] = ends[i];
      }
      ends[(pieces + 1) / 2] = ends[pieces];
      std::swap(from, to);
    }
  }

  [[nodiscard]] Key* own() const {
    return reinterpret_cast<Key*>(at<std::uint64_t>(layout_.own.in(operands_)) +
                                  layout_.thread() * layout_.own_words);
  }

  const Layout& layout_;
  const Operands& operands_;
  KeySteps<Key>& steps_;
  Key* splitters_;
  Chunk* chunks_;
  Slice *slices_, *of_parts_;
  Begin* begins_;
  std::uint64_t parts_ = 1;
};

}  // namespace sortium::sample
