// Sorts keys without values that are partly in order: a few runs, interleaved runs, keys that
// ascend but for a few, or keys not far from their places. Each chunk becomes a few runs, by
// itself. Splitters cut the runs into sections. A part consists of sections of some runs, which one
// thread merges. Unlike Partition, no chunk is partitioned, and most parts are copied or merged
// from a few sections.
#pragma once

#include <algorithm>
#include <cstring>
#include <numeric>

#include "key_steps.hpp"
#include "merge_pieces.hpp"
#include "positions.hpp"
#include "strip_sections.hpp"

namespace sortium::sample {

template <class Key>
class Strips {
 public:
  Strips(const Context& context, KeySteps<Key>& steps)
      : layout_(context.layout),
        operands_(context.operands),
        steps_(steps),
        sections_(layout_, operands_, at<Key>(layout_.splitters.in(operands_)),
                  at<Key>(layout_.samples.in(operands_))) {}

  // True if samples show that chunks hold few runs each, or keys of few parts of the output. The
  // second does not help lists that SplitKeys sorts in a core's cache.
  [[nodiscard]] bool are_worth_it() const {
    return excerpts_are(is_ordered) || excerpts_are(is_interleaved) ||
           (!is_split_in_cache() && chunks_are_narrow());
  }

  // Returns false, with nothing written to the output, if floats tie that differ: runs of codes do
  // not contain their order.
  template <class Q>
  bool run(Q& queue) {
    bool ties_differ = false;
    host::call(queue, "runs", [&] {
      sections_.choose_splitters(Positions(2),
                                 [&](Key* to, std::uint64_t i) { steps_.make_sample(to, i); });
      layout_.each_chunk(operands_, [&](std::uint64_t c, std::uint64_t begin, std::uint64_t count) {
        make_chunk(c, begin, count);
      });
      ties_differ = steps_.coding.is_float && sections_.do_ties_differ();
      if (!ties_differ) sections_.collect();
    });
    if (ties_differ) return false;
    host::call(queue, "merge", [&] {
      layout_.each(operands_, sections_.parts(), [&](std::uint64_t p) { make_part(p); });
    });
    return true;
  }

 private:
  using Section = Layout::StripSection;

  static constexpr std::size_t most_natural_runs = 16;  // of a chunk; more are sorted again
  static constexpr std::size_t most_stride = 64;
  static constexpr std::size_t stray_share = 16;  // at most one of so many keys is out of order
  // Runs of a part: at most this many can be longer than a 64th of it; more than these are sorted.
  static constexpr std::size_t most_long = 64, most_merged = 32;

  // ---- is there order? ----

  // Consecutive keys that are examined: their number, samples of each chunk, keys of each.
  static constexpr std::uint64_t excerpts = 16, samples = 32, excerpt = 512;
  static constexpr std::uint64_t glance = 128;  // keys of an excerpt that are tested first
  static constexpr std::uint64_t strays = 2;  // so many of the samples, at either end, may be apart

  [[nodiscard]] bool is_split_in_cache() const {
    constexpr std::uint64_t cache = 1u << 21;  // bytes
    return layout_.is_split && layout_.problem.count * sizeof(Key) <= cache;
  }
  [[nodiscard]] std::uint64_t excerpt_begin(std::uint64_t w) const {
    return w * (layout_.problem.count - excerpt) / (excerpts - 1);
  }
  // True if in most chunks nearly all keys lie within a quarter of the list's sorted order.
  [[nodiscard]] bool chunks_are_narrow() const {
    Key codes[excerpts][samples], sorted[excerpts * samples];
    const std::uint64_t n = layout_.problem.count, near = std::min(layout_.chunk, n);
    Positions positions(1);
    for (std::uint64_t w = 0; w < excerpts; ++w)
      for (auto& code : codes[w])
        steps_.make_sample(&code, w * (n - near) / (excerpts - 1) + positions.next(near));
    std::memcpy(sorted, codes, sizeof sorted);
    sort_words(sorted, excerpts * samples);
    std::uint64_t narrow = 0;
    for (auto& chunk : codes) {
      sort_words(chunk, samples);
      const Key low = chunk[strays], high = chunk[samples - 1 - strays];
      narrow += std::upper_bound(sorted, sorted + excerpts * samples, high) -
                    std::lower_bound(sorted, sorted + excerpts * samples, low) <=
                static_cast<std::ptrdiff_t>(excerpts * samples / 4);
    }
    return narrow >= excerpts - 2;
  }
  [[nodiscard]] bool excerpts_are(bool (*ordered)(Key*, std::size_t)) const {
    Key codes[excerpt];
    std::uint64_t found = 0;
    for (std::uint64_t w = 0; w < excerpts && found + 2 >= w; ++w) {
      const std::uint64_t begin = excerpt_begin(w);
      steps_.make(codes, begin, glance);
      if (!ordered(codes, glance)) continue;
      steps_.make(codes, begin, excerpt);
      found += ordered(codes, excerpt);
    }
    return found >= excerpts - 2;
  }
  static bool is_ordered(Key* codes, std::size_t count) {
    Key strays[excerpt / stray_share];
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

  // ---- chunks become runs, and runs sections ----

  void make_chunk(std::uint64_t c, std::uint64_t begin, std::uint64_t count) const {
    Key* const codes = steps_.chunk(begin);
    steps_.make(codes, begin, count);
    if (steps_.coding.is_float) sections_.note_ties(c, ties_of(codes, count));
    std::size_t ends[most_stride];
    std::size_t runs = natural_runs(codes, count, ends);
    if (runs == 0) runs = interleaved_runs(codes, count, ends);
    if (runs == 0) runs = runs_without_strays(codes, count, ends);
    if (runs == 0 || !sections_.cut(c, begin, codes, ends, runs)) {
      sort_codes(codes, count);
      ends[0] = count;
      sections_.cut(c, begin, codes, ends, 1);
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

  // ---- parts ----

  // Slices [begin, end) of a part, each not above the next.
  struct Run {
    const Section *begin, *end;
    std::uint64_t count;
  };
  // Calls body(run) for all runs of the sections.
  template <class Body>
  void for_runs(const Section* begin, const Section* end, const Body& body) const {
    const Key* const codes = steps_.chunked;
    while (begin != end) {
      Run run{begin, begin + 1, begin->count};
      for (; run.end != end; ++run.end) {
        const Section& last = run.end[-1];
        if (codes[last.from + last.count - 1] > codes[run.end->from]) break;
        run.count += run.end->count;
      }
      body(run);
      begin = run.end;
    }
  }
  void gather(const Run& run, Key* to) const {
    for (const Section* s = run.begin; s != run.end; ++s) {
      std::memcpy(to, steps_.chunked + s->from, s->count * sizeof(Key));
      to += s->count;
    }
  }

  void make_part(std::uint64_t p) const {
    const auto part = sections_.part(p);
    const Run all{part.begin, part.end, part.count};
    if (all.count == 0) return;
    Key* const out = steps_.out + part.first;
    if (!merge_part(all, out)) {
      gather(all, out);
      sort_codes(out, all.count);
    }
    decode(out, all.count, steps_.coding);
  }

  // Merges the long runs of the sections, and sorts the short ones together. Returns false if
  // sorting all of them takes less time.
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
  [[nodiscard]] Key* own() const {
    return reinterpret_cast<Key*>(at<std::uint64_t>(layout_.own.in(operands_)) +
                                  layout_.thread() * layout_.own_words);
  }

  const Layout& layout_;
  const Operands& operands_;
  KeySteps<Key>& steps_;
  StripSections<Key> sections_;
};

}  // namespace sortium::sample
