// Sorts records that are a few sorted runs. Splitters divide the output into parts. Each part
// consists of one piece of every run, and a thread merges these pieces. `Steps` is RecordSteps.
#pragma once

#include <algorithm>

#include "layout.hpp"
#include "merge_pieces.hpp"
#include "merge_tags.hpp"

namespace sortium::sample {

template <class Steps>
class MergeRuns {
  using Word = typename Steps::Word;

 public:
  MergeRuns(const Context& context, Steps& steps, const Runs& runs)
      : context_(context),
        layout_(context.layout),
        steps_(steps),
        runs_(runs),
        samples_(at<Word>(layout_.merge_words.in(context.operands))),
        splitters_(samples_ + sample_count()),
        begins_(at<std::uint64_t>(layout_.merge_cuts.in(context.operands))),
        cuts_(begins_ + layout_.merge_parts() + 1) {}

  // Returns false, with nothing written to the output, if so many keys are equal that a part is too
  // large for a thread's memory.
  bool run() {
    choose_splitters();
    cut_runs();
    for (std::uint64_t p = 0; p < parts_; ++p)
      if (!steps_.fits(begins_[p + 1] - begins_[p])) return false;

    steps_.keep_input();
    each(parts_, [&](std::uint64_t p) {
      if (merges_by_tags()) return merge_by_tags(p);
      make(p);
      merge(p);
    });
    return true;
  }

 private:
  [[nodiscard]] std::uint64_t sample_count() const {
    return ceil_div(layout_.problem.count, layout_.merge_part) * Layout::merge_samples;
  }
  template <class Body>
  void each(std::uint64_t count, const Body& body) const {
    layout_.each(context_.operands, count, body);
  }

  void choose_splitters() {
    const std::uint64_t n = layout_.problem.count, samples = sample_count();
    for (std::uint64_t i = 0; i < samples; ++i) samples_[i] = steps_.deciding(i * n / samples);
    sort_words(samples_, samples);
    std::uint64_t count = 0;
    for (std::uint64_t i = Layout::merge_samples; i < samples; i += Layout::merge_samples)
      splitters_[count++] = samples_[i];
    parts_ = count + 1;
  }

  // Computes how many records of each run, and how many of all runs, come before each part.
  void cut_runs() {
    each(parts_ + 1, [&](std::uint64_t p) {
      std::uint64_t before = 0;
      for (std::size_t r = 0; r < runs_.count; ++r) {
        const auto [begin, end, falls] = runs_.all[r];
        std::uint64_t low = 0, high = end - begin;
        if (p == 0) high = 0;
        if (p == parts_) low = high;
        while (low < high) {
          const std::uint64_t middle = (low + high) / 2;
          if (steps_.deciding(falls ? end - 1 - middle : begin + middle) < splitters_[p - 1])
            low = middle + 1;
          else
            high = middle;
        }
        cut(p, r) = low;
        before += low;
      }
      begins_[p] = before;
    });
  }

  // In a falling run, records that tie would be in the wrong order.
  [[nodiscard]] bool merges_by_tags() const {
    const bool falls =
        std::any_of(runs_.begin(), runs_.end(), [](const Run& r) { return r.falls; });
    return layout_.coded && layout_.key_bytes >= 4 && !(falls && runs_.tie) &&
           layout_.problem.count >> 32 == 0;
  }
  void merge_by_tags(std::uint64_t p) const {
    Run pieces[RunFinder::most];
    std::size_t count = 0;
    for (std::size_t r = 0; r < runs_.count; ++r) {
      const std::uint64_t low = cut(p, r), high = cut(p + 1, r);
      const auto [begin, end, falls] = runs_.all[r];
      if (low != high)
        pieces[count++] = {falls ? end - high : begin + low, falls ? end - low : begin + high,
                           falls};
    }
    if (count != 0) steps_.merge_by_tags(pieces, count, begins_[p], begins_[p + 1] - begins_[p]);
  }

  void make(std::uint64_t p) const {
    Word* to = steps_.mine();
    for (std::size_t r = 0; r < runs_.count; ++r) {
      const std::uint64_t low = cut(p, r), high = cut(p + 1, r);
      if (low == high) continue;
      const auto [begin, end, falls] = runs_.all[r];
      steps_.make_piece(to, falls ? end - high : begin + low, high - low, falls);
      to += high - low;
    }
  }

  void merge(std::uint64_t p) const {
    const std::uint64_t count = begins_[p + 1] - begins_[p];
    if (count == 0) return;
    Word* words = steps_.mine();
    std::size_t ends[RunFinder::most + 1] = {0}, pieces = 0;
    for (std::size_t r = 0; r < runs_.count; ++r) {
      const std::uint64_t some = cut(p + 1, r) - cut(p, r);
      if (some == 0) continue;
      ends[pieces + 1] = ends[pieces] + some;
      ++pieces;
    }
    words = merge_pieces<RunFinder::most>(words, steps_.spare(), ends, pieces);
    steps_.place(words, begins_[p], count);
  }

  std::uint64_t& cut(std::uint64_t part, std::size_t run) const {
    return cuts_[part * runs_.count + run];
  }

  const Context& context_;
  const Layout& layout_;
  Steps& steps_;
  const Runs& runs_;
  Word *samples_, *splitters_;
  std::uint64_t *begins_, *cuts_;
  std::uint64_t parts_ = 1;
};

}  // namespace sortium::sample
