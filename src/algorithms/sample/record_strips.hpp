// Sorts records that are partly in order: each chunk is at most 64 ascending runs. Splitters
// cut the runs into slices. A part of the output is gathered from the slices of all chunks, in the
// order of the input, and sorted. Unlike Partition, no chunk is partitioned, so parts can be short.
// `Steps` is PairSteps.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "layout.hpp"
#include "positions.hpp"

namespace sortium::sample {

template <class Steps>
class RecordStrips {
  using Key = typename Steps::Code;

 public:
  RecordStrips(const Context& context, Steps& steps)
      : layout_(context.layout),
        operands_(context.operands),
        steps_(steps),
        splitters_(at<Key>(layout_.strip_splitters.in(operands_))),
        chunks_(at<Chunk>(layout_.strip_chunks.in(operands_))),
        slices_(at<Slice>(layout_.strip_slices.in(operands_))),
        of_parts_(at<Slice>(layout_.strip_order.in(operands_))),
        begins_(at<Begin>(layout_.strip_begins.in(operands_))) {}

  // True if at most two of 16 windows have more than `most_descents` descents.
  [[nodiscard]] bool are_worth_it() const {
    constexpr std::uint64_t windows = 16, window = 256;
    std::uint64_t broken = 0;
    for (std::uint64_t w = 0; w < windows && broken <= 2; ++w) {
      const std::uint64_t begin = w * (layout_.problem.count - window) / (windows - 1);
      Key codes[window];
      encode(steps_.in + begin, codes, window, steps_.coding);
      std::uint64_t descents = 0;
      for (std::uint64_t i = 1; i < window; ++i) descents += codes[i] < codes[i - 1];
      broken += descents > most_descents;
    }
    return broken <= 2;
  }

  // Returns false, with nothing written to the output, if chunks have too many runs, if floats tie
  // that differ, or if there is too little memory.
  template <class Q>
  bool run(Q& queue) {
    bool are_cut = false;
    host::call(queue, "runs", [&] {
      choose_splitters();
      are_cut = cut_chunks() && !do_ties_differ();
      if (are_cut) collect_slices();
    });
    if (!are_cut || !has_memory()) return false;
    host::call(queue, "merge",
               [&] { layout_.each(operands_, parts_, [&](std::uint64_t p) { make_part(p); }); });
    return true;
  }

 private:
  using Slice = Layout::StripSlice;
  using Begin = Layout::StripBegin;
  using Chunk = Layout::StripChunk;
  static constexpr std::uint64_t most_descents = 4;  // in a window
  static constexpr std::size_t most_runs = 64;       // of a chunk

  void choose_splitters() {
    const std::uint64_t n = layout_.problem.count;
    const std::uint64_t wanted = layout_.strip_parts * Layout::strip_samples;
    Key* const all = at<Key>(layout_.strip_samples_of_all.in(operands_));
    Positions positions(Positions::splitters_seed);
    for (std::uint64_t i = 0; i < wanted; ++i) steps_.make_sample(all + i, positions.next(n));
    sort_words(all, wanted);
    std::uint64_t count = 0;
    for (std::uint64_t i = Layout::strip_samples; i < wanted; i += Layout::strip_samples)
      if (count == 0 || all[i] != splitters_[count - 1]) splitters_[count++] = all[i];
    parts_ = count + 1;
  }

  // Returns false if a chunk has too many runs or slices.
  bool cut_chunks() const {
    std::atomic<bool> given_up = false;
    layout_.each_chunk(operands_, [&](std::uint64_t c, std::uint64_t begin, std::uint64_t count) {
      if (given_up.load(std::memory_order_relaxed)) return;
      steps_.load(begin, count);
      if (steps_.coding.is_float) chunks_[c].ties = ties_of(steps_.codes + begin, count);
      if (!cut(c, begin, count)) given_up.store(true, std::memory_order_relaxed);
    });
    return !given_up;
  }
  bool cut(std::uint64_t c, std::uint64_t begin, std::uint64_t count) const {
    const Key* const codes = steps_.codes + begin;
    chunks_[c].slices = 0;
    std::size_t runs = 0;
    for (std::uint64_t from = 0, end = 0; from < count; from = end) {
      end = from + ascending(codes + from, count - from, Coding<Key>{});
      if (runs++ == most_runs || !cut_run(c, begin + from, begin + end)) return false;
    }
    return true;
  }
  // Cuts the run [from, end) by the splitters.
  bool cut_run(std::uint64_t c, std::uint64_t from, std::uint64_t end) const {
    const Key* const codes = steps_.codes;
    Slice* const mine = slices_ + c * layout_.strip_slices_of_chunk;
    std::uint64_t& count = chunks_[c].slices;
    auto part = static_cast<std::uint64_t>(
        std::upper_bound(splitters_, splitters_ + parts_ - 1, codes[from]) - splitters_);
    for (; from < end; ++part) {
      const std::uint64_t to =
          part + 1 == parts_
              ? end
              : static_cast<std::uint64_t>(
                    std::lower_bound(codes + from, codes + end, splitters_[part]) - codes);
      if (from == to) continue;
      if (count == layout_.strip_slices_of_chunk) return false;
      mine[count++] = {from, static_cast<std::uint32_t>(part),
                       static_cast<std::uint32_t>(to - from)};
      from = to;
    }
    return true;
  }
  [[nodiscard]] bool do_ties_differ() const {
    if (!steps_.coding.is_float) return false;
    CodeTies all;
    for (std::uint64_t c = 0; c < layout_.chunks; ++c) all.add(chunks_[c].ties);
    return all.differ();
  }

  // Orders the slices by part, those of a part in the order of the input, and computes where each
  // part begins.
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
  bool has_memory() const {
    std::uint64_t largest = 0;
    for (std::uint64_t p = 0; p < parts_; ++p)
      largest = std::max(largest, begins_[p + 1].record - begins_[p].record);
    steps_.prepare(largest);
    return steps_.has_memory_for(largest);
  }

  void make_part(std::uint64_t p) const {
    const std::uint64_t begin = begins_[p].record, count = begins_[p + 1].record - begin;
    if (count == 0) return;
    const auto part = steps_.part(begin, count);
    std::uint64_t gathered = 0;
    for (std::uint64_t s = begins_[p].slice; s < begins_[p + 1].slice; ++s) {
      steps_.gather(part, gathered, of_parts_[s].from, of_parts_[s].count);
      gathered += of_parts_[s].count;
    }
    steps_.finish(part, begin, count);
  }

  const Layout& layout_;
  const Operands& operands_;
  Steps& steps_;
  Key* splitters_;
  Chunk* chunks_;
  Slice *slices_, *of_parts_;
  Begin* begins_;
  std::uint64_t parts_ = 1;
};

}  // namespace sortium::sample
