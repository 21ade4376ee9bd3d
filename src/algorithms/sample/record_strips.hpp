// Sorts records that are partly in order: each chunk is at most 64 ascending runs. Splitters
// cut the runs into sections. A part of the output is gathered from the sections of all chunks, in
// the order of the input, and sorted. Unlike Partition, no chunk is partitioned, so parts can be
// short. `Steps` is PairSteps.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "layout.hpp"
#include "positions.hpp"
#include "strip_sections.hpp"

namespace sortium::sample {

template <class Steps>
class RecordStrips {
  using Key = typename Steps::Code;

 public:
  RecordStrips(const Context& context, Steps& steps)
      : layout_(context.layout),
        operands_(context.operands),
        steps_(steps),
        sections_(layout_, operands_, at<Key>(layout_.strip_splitters.in(operands_)),
                  at<Key>(layout_.strip_samples_of_all.in(operands_))) {}

  // True if at most two of 16 excerpts have more than `most_descents` descents.
  [[nodiscard]] bool are_worth_it() const {
    constexpr std::uint64_t excerpts = 16, excerpt = 256;
    std::uint64_t broken = 0;
    for (std::uint64_t w = 0; w < excerpts && broken <= 2; ++w) {
      const std::uint64_t begin = w * (layout_.problem.count - excerpt) / (excerpts - 1);
      Key codes[excerpt];
      encode(steps_.in + begin, codes, excerpt, steps_.coding);
      std::uint64_t descents = 0;
      for (std::uint64_t i = 1; i < excerpt; ++i) descents += codes[i] < codes[i - 1];
      broken += descents > most_descents;
    }
    return broken <= 2;
  }

  // Returns false, with nothing written to the output, if chunks have too many runs, if floats tie
  // that differ, or if there is too little memory.
  bool run(const host::Phases& queue) {
    bool are_cut = false;
    host::call(queue, "runs", [&] {
      sections_.choose_splitters(Positions(Positions::splitters_seed),
                                 [&](Key* to, std::uint64_t i) { steps_.make_sample(to, i); });
      are_cut = cut_chunks() && !(steps_.coding.is_float && sections_.do_ties_differ());
      if (are_cut) sections_.collect();
    });
    if (!are_cut || !has_memory()) return false;
    host::call(queue, "merge", [&] {
      layout_.each(operands_, sections_.parts(), [&](std::uint64_t p) { make_part(p); });
    });
    return true;
  }

 private:
  static constexpr std::uint64_t most_descents = 4;  // in an excerpt
  static constexpr std::size_t most_runs = 64;       // of a chunk

  // Returns false if a chunk has too many runs or sections.
  bool cut_chunks() const {
    std::atomic<bool> given_up = false;
    layout_.each_chunk(operands_, [&](std::uint64_t c, std::uint64_t begin, std::uint64_t count) {
      if (given_up.load(std::memory_order_relaxed)) return;
      steps_.load(begin, count);
      if (steps_.coding.is_float) sections_.note_ties(c, ties_of(steps_.codes + begin, count));
      if (!cut(c, begin, count)) given_up.store(true, std::memory_order_relaxed);
    });
    return !given_up;
  }
  bool cut(std::uint64_t c, std::uint64_t begin, std::uint64_t count) const {
    const Key* const codes = steps_.codes + begin;
    std::size_t ends[most_runs], runs = 0;
    for (std::size_t end = 0; end < count; ends[runs++] = end) {
      if (runs == most_runs) return false;
      end += ascending(codes + end, count - end, Coding<Key>{});
    }
    return sections_.cut(c, begin, codes, ends, runs);
  }
  bool has_memory() const {
    std::uint64_t largest = 0;
    for (std::uint64_t p = 0; p < sections_.parts(); ++p)
      largest = std::max(largest, sections_.part(p).count);
    steps_.prepare(largest);
    return steps_.has_memory_for(largest);
  }

  void make_part(std::uint64_t p) const {
    const auto sections = sections_.part(p);
    if (sections.count == 0) return;
    const auto part = steps_.part(sections.first, sections.count);
    std::uint64_t gathered = 0;
    for (const auto* s = sections.begin; s != sections.end; ++s) {
      steps_.gather(part, gathered, s->from, s->count);
      gathered += s->count;
    }
    steps_.finish(part, sections.first, sections.count);
  }

  const Layout& layout_;
  const Operands& operands_;
  Steps& steps_;
  StripSections<Key> sections_;
};

}  // namespace sortium::sample
