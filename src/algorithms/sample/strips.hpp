// Sorts keys without values that are partly in order: a few runs, interleaved runs, keys that
// ascend but for a few, or keys not far from their places. Each chunk becomes a few runs, by
// itself. Splitters cut the runs into sections. A part consists of sections of some runs, which one
// thread merges. Unlike Partition, no chunk is partitioned, and most parts are copied or merged
// from a few sections.
#pragma once

#include <algorithm>
#include <cstring>
#include <numeric>

#include "chunk_runs.hpp"
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
    return excerpts_are([](Key* codes, std::size_t count) {
             return Runs::runs_of_sample(codes, count, excerpt / Runs::least_run);
           }) ||
           excerpts_are(
               [](Key* codes, std::size_t n) { return stride_of(codes, n) != 0 ? 1 : 0; }) ||
           (!is_split_in_cache() && chunks_are_narrow());
  }

  // Returns false, with nothing written to the output, if floats tie that differ: runs of codes do
  // not contain their order.
  bool run(const host::Phases& queue) {
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
  using Runs = ChunkRuns<Key>;

  static constexpr std::size_t most_cut = 64;  // runs of all chunks; more are merged in the chunks
  static constexpr std::size_t most_merged = Runs::most;  // runs of a part
  static constexpr std::size_t least_merged = 32;  // keys of a run; shorter ones are sorted at once

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
  // runs_of(codes, count) returns how many runs a sample is; 0: too many. True if most excerpts are
  // few runs, and merges of the list take less time than a sort: one of keys of 8 bytes takes
  // longer.
  template <class RunsOf>
  [[nodiscard]] bool excerpts_are(const RunsOf& runs_of) const {
    constexpr std::uint64_t least_mean_run = sizeof(Key) == 4 ? 1u << 11 : 1u << 8;
    constexpr std::uint64_t most_breaks = excerpts * excerpt / least_mean_run;
    Key codes[excerpt];
    std::uint64_t found = 0, breaks = 0;
    for (std::uint64_t w = 0; w < excerpts && found + 2 >= w && breaks <= most_breaks; ++w) {
      const std::uint64_t begin = excerpt_begin(w);
      steps_.make(codes, begin, glance);
      if (runs_of(codes, glance) == 0) continue;
      steps_.make(codes, begin, excerpt);
      const std::uint64_t runs = runs_of(codes, excerpt);
      found += runs != 0;
      breaks += std::max<std::uint64_t>(runs, 1) - 1;
    }
    return found >= excerpts - 2 && breaks <= most_breaks;
  }

  // ---- chunks become runs, and runs sections ----

  void make_chunk(std::uint64_t c, std::uint64_t begin, std::uint64_t count) const {
    Key* const codes = steps_.chunk(begin);
    steps_.make(codes, begin, count);
    if (steps_.coding.is_float) sections_.note_ties(c, ties_of(codes, count));
    std::size_t ends[Runs::most];
    std::size_t runs = Runs::make(codes, count, own(), ends);
    if (runs == 0) {
      sort_codes(codes, count);
      ends[0] = count;
      runs = 1;
    }
    // The first run and the last one may continue in the chunks beside this one.
    if (runs <= 2 || (runs - 2) * layout_.chunks <= most_cut)
      if (sections_.cut(c, begin, codes, ends, runs)) return;
    Runs::merge(codes, count, own(), ends, runs);
    sections_.cut(c, begin, codes, ends, 1);
  }

  // ---- parts ----

  // Sections [begin, end) of a part, each not above the next.
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
    if (2 * all.count > layout_.own_words * 8 / sizeof(Key)) return false;
    const std::uint64_t least =
        std::max<std::uint64_t>(all.count / (2 * most_merged), least_merged);
    Run runs[most_merged];
    std::size_t found = 0;
    std::uint64_t rest = all.count;
    for_runs(all.begin, all.end, [&](const Run& run) {
      if (run.count <= least) return;
      if (found < most_merged) runs[found] = run, rest -= run.count;
      ++found;
    });
    if (found == 1 && rest == 0) return gather(runs[0], out), true;
    if (found > most_merged || rest > all.count / 4) return false;

    Piece<Key> pieces[most_merged + 1];
    std::size_t count = 0;
    Key* gathered = own() + all.count;
    if (rest != 0) {
      Key* const words = gathered;
      for_runs(all.begin, all.end, [&](const Run& run) {
        if (run.count <= least) gather(run, gathered), gathered += run.count;
      });
      sort_codes(words, rest);
      pieces[count++] = {words, rest};
    }
    for (std::size_t r = 0; r < found; ++r) pieces[count++] = piece_of(runs[r], gathered);
    MergeTree<Key>(pieces).merge(0, count, all.count, out, own());
    return true;
  }
  // Returns the run's words where they are, if its sections are neighbours. Else gathers them.
  Piece<Key> piece_of(const Run& run, Key*& gathered) const {
    const Section& last = run.end[-1];
    if (last.from + last.count - run.begin->from == run.count)
      return {steps_.chunked + run.begin->from, run.count};
    gather(run, gathered);
    gathered += run.count;
    return {gathered - run.count, run.count};
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
