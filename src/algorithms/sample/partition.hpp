// The main steps of the sort. A sample of the input provides splitters. Each chunk is partitioned
// by the splitters. Then each part is gathered from all chunks and sorted. `Steps` defines what a
// word is and where it is stored: KeySteps, PackedSteps or RecordSteps.
#pragma once

#include <algorithm>
#include <numeric>

#include "layout.hpp"

namespace sortium::sample {

template <class Steps>
class Partition {
  using Word = typename Steps::Word;

 public:
  Partition(const Context& context, Steps& steps)
      : context_(context),
        layout_(context.layout),
        steps_(steps),
        splitters_(at<Word>(layout_.splitters.in(context.operands))),
        ends_(at<std::size_t>(layout_.ends.in(context.operands))),
        begins_(at<std::size_t>(layout_.begins.in(context.operands))) {}

  template <class Q>
  void run(Q& queue) {
    host::call(queue, "partition", [&] {
      choose_splitters();
      partition_chunks();
      find_begins();
    });
    host::call(queue, "sort", [&] {
      layout_.each(context_.operands, parts_, [&](std::uint64_t p) { sort_part(p); });
    });
  }

 private:
  void choose_splitters() {
    std::uint64_t count = layout_.parts > 1 ? choose_from_sample() : 0;
    if (steps_.has_ties()) count = add_ties(count);
    parts_ =
        1 + static_cast<std::uint64_t>(std::unique(splitters_, splitters_ + count) - splitters_);
  }

  // Chooses splitters, some of which may be equal. Returns how many.
  std::uint64_t choose_from_sample() {
    Word* const samples = at<Word>(layout_.samples.in(context_.operands));
    const std::uint64_t wanted = layout_.parts * Layout::oversampling;
    // Seed of pseudo-random positions: equally spaced ones may match a pattern of the input.
    std::uint64_t state = 0x9e3779b97f4a7c15u;
    for (std::uint64_t i = 0; i < wanted; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      steps_.make(samples + i, (state >> 20) % layout_.problem.count, 1);
    }
    sort_words(samples, wanted);
    std::uint64_t count = 0;
    for (; count + 1 < layout_.parts; ++count)
      splitters_[count] = samples[(count + 1) * Layout::oversampling] & steps_.deciding_bits();
    return count;
  }

  // Adds splitters so that both zeros are in one part, and all NaN in one. Returns the number of
  // splitters.
  std::uint64_t add_ties(std::uint64_t count) {
    for (const Word w : Ties<Word>::splitters) splitters_[count++] = w;
    std::sort(splitters_, splitters_ + count);
    const auto divides_ties = [](Word w) {
      return w == Ties<Word>::first_zero + 1 || w > Ties<Word>::first_nan;
    };
    return static_cast<std::uint64_t>(std::remove_if(splitters_, splitters_ + count, divides_ties) -
                                      splitters_);
  }

  void partition_chunks() const {
    layout_.each_chunk(context_.operands,
                       [&](std::uint64_t c, std::uint64_t begin, std::uint64_t count) {
                         Word* const chunk = steps_.chunk(begin);
                         steps_.make(chunk, begin, count);
                         partition_words(chunk, count, splitters_, parts_ - 1, ends_ + c * parts_,
                                         steps_.spare(begin));
                         steps_.settle(chunk, begin, count);
                       });
  }

  // Computes where each part begins in the output.
  void find_begins() {
    std::fill_n(begins_, parts_ + 1, 0);
    for (std::uint64_t c = 0; c < layout_.chunks; ++c)
      for (std::uint64_t p = 0; p < parts_; ++p) begins_[p + 1] += size_of(ends_ + c * parts_, p);
    steps_.prepare(*std::max_element(begins_, begins_ + parts_ + 1));
    std::partial_sum(begins_, begins_ + parts_ + 1, begins_);
  }

  void sort_part(std::uint64_t p) const {
    const std::uint64_t total = begins_[p + 1] - begins_[p];
    if (total == 0) return;
    if constexpr (Steps::may_lack_memory)
      if (!steps_.has_memory_for(total)) {
        sort_slices(p, 0, layout_.chunks, begins_[p]);
        return;
      }
    Word* const part = steps_.part(begins_[p], total);
    Word* to = part;
    for (std::uint64_t c = 0; c < layout_.chunks; ++c) to += gather_slice(p, c, to);
    steps_.finish(part, begins_[p], total);
  }

  // Gathers the records of part `p` from chunk `c`. Returns the number of words.
  std::size_t gather_slice(std::uint64_t p, std::uint64_t c, Word* to) const {
    const std::size_t* const mine = ends_ + c * parts_;
    const std::size_t count = size_of(mine, p);
    steps_.gather(to, c * layout_.chunk + mine[p] - count, count);
    return count;
  }

  // For a part that is too large for the available memory: sorts the part's records of each of the
  // chunks [first, last) into the output from `begin` on, and merges these runs in place. Slow, but
  // needs no more memory. Returns the number of records.
  std::uint64_t sort_slices(std::uint64_t p, std::uint64_t first, std::uint64_t last,
                            std::uint64_t begin) const {
    if (last - first == 1) {
      Word* const slice = steps_.part(begin, size_of(ends_ + first * parts_, p));
      const std::uint64_t count = gather_slice(p, first, slice);
      if (count != 0) steps_.finish(slice, begin, count);
      return count;
    }
    const std::uint64_t middle = first + (last - first) / 2;
    const std::uint64_t left = sort_slices(p, first, middle, begin);
    const std::uint64_t right = sort_slices(p, middle, last, begin + left);
    steps_.merge(begin, begin + left, begin + left + right);
    return left + right;
  }

  static std::size_t size_of(const std::size_t* ends, std::uint64_t part) {
    return ends[part] - (part == 0 ? 0 : ends[part - 1]);
  }

  const Context& context_;
  const Layout& layout_;
  Steps& steps_;
  Word* splitters_;
  std::size_t *ends_,
      *begins_;  // where each part ends in each chunk; where each part begins in the output
  std::uint64_t parts_ = 1;
};

}  // namespace sortium::sample
