// The main steps of the sort. A sample of the input provides splitters. Each chunk is partitioned
// by the splitters. Then each part is gathered from all chunks and sorted. `Steps` defines what a
// word is and where it is stored: KeySteps, PackedSteps, PairSteps or RecordSteps.
//
// A key so frequent that it is a splitter twice has a part of its own, as in M. Axtmann, S. Witt,
// D. Ferizovic, P. Sanders, "In-place Parallel Super Scalar Samplesort" (2017). Such a part is in
// order after the partition; its records are only moved, by several threads.
#pragma once

#include <algorithm>
#include <numeric>

#include "layout.hpp"
#include "positions.hpp"

namespace sortium::sample {

template <class Steps>
class Partition {
  using Word = typename Steps::Word;
  using Task = Layout::Task;

 public:
  Partition(const Context& context, Steps& steps)
      : context_(context),
        layout_(context.layout),
        steps_(steps),
        splitters_(at<Word>(layout_.splitters.in(context.operands))),
        ends_(at<std::size_t>(layout_.ends.in(context.operands))),
        begins_(at<std::uint64_t>(layout_.begins.in(context.operands))),
        tasks_(at<Task>(layout_.tasks.in(context.operands))) {}

  void run(const host::Phases& queue) {
    divide(queue);
    sort(queue);
  }

  // Partitions the chunks. Then the steps know if they have memory for the largest part, and the
  // output is not yet written.
  void divide(const host::Phases& queue) {
    host::call(queue, "partition", [&] {
      choose_splitters();
      partition_chunks();
      find_begins();
      make_tasks();
    });
  }
  // Sorts the parts into the output.
  void sort(const host::Phases& queue) const {
    host::call(queue, "sort", [&] {
      layout_.each(context_.operands, task_count_, [&](std::uint64_t t) { run_task(tasks_[t]); });
    });
  }

 private:
  void choose_splitters() {
    std::uint64_t count = layout_.parts > 1 ? choose_from_sample() : 0;
    if constexpr (Steps::has_codes)
      if (steps_.has_ties()) count = add_ties(count);
    parts_ =
        1 + static_cast<std::uint64_t>(std::unique(splitters_, splitters_ + count) - splitters_);
  }

  // Chooses splitters in ascending order, some of which may be equal. Returns how many: less than
  // layout_.parts.
  std::uint64_t choose_from_sample() {
    Word* const samples = at<Word>(layout_.samples.in(context_.operands));
    const std::uint64_t wanted = layout_.parts * layout_.oversampling;
    Positions positions(Positions::splitters_seed);
    for (std::uint64_t i = 0; i < wanted; ++i)
      steps_.make_sample(samples + i, positions.next(layout_.problem.count));
    sort_words(samples, wanted);
    std::uint64_t count = 0;
    for (std::uint64_t i = 1; i < layout_.parts; ++i) {
      const Word word = samples[i * layout_.oversampling] & steps_.deciding_bits();
      if (count == 0 || word > splitters_[count - 1])
        splitters_[count++] = word;
      else if constexpr (Steps::has_codes)
        if (word == splitters_[count - 1] && after(word) != 0) splitters_[count++] = after(word);
    }
    return count;
  }
  // Returns the splitter above all words of the code in `word`; 0 if there is none.
  static Word after(Word word) { return static_cast<Word>(word + Steps::word_of(1)); }

  // Adds splitters so that both zeros are in one part, and all NaN in one. Returns the number of
  // splitters.
  std::uint64_t add_ties(std::uint64_t count) {
    using Code = typename Steps::Code;
    for (const Code c : Ties<Code>::splitters) splitters_[count++] = Steps::word_of(c);
    std::sort(splitters_, splitters_ + count);
    const auto divides_ties = [](Word w) {
      return w == Steps::word_of(Ties<Code>::first_zero + 1) ||
             w > Steps::word_of(Ties<Code>::first_nan);
    };
    return static_cast<std::uint64_t>(std::remove_if(splitters_, splitters_ + count, divides_ties) -
                                      splitters_);
  }

  // True if all keys of part `p` tie. The part has one code, or it holds the zeros or the NaN.
  [[nodiscard]] bool is_tied(std::uint64_t p) const {
    if constexpr (Steps::has_codes) {
      const Word from = p == 0 ? Word{0} : splitters_[p - 1];
      const Word to = p + 1 == parts_ ? Word{0} : splitters_[p];
      if (to == after(from)) return true;
      return steps_.has_ties() && p != 0 && Ties<typename Steps::Code>::has(Steps::code_of(from));
    }
    return false;
  }

  void partition_chunks() const {
    layout_.each_chunk(context_.operands,
                       [&](std::uint64_t c, std::uint64_t begin, std::uint64_t count) {
                         steps_.partition(begin, count, splitters_, parts_ - 1, ends_ + c * parts_);
                       });
  }

  // Computes where each part begins in the output.
  void find_begins() {
    constexpr std::uint64_t together = 16;  // neighbours, which share cache lines of ends_
    begins_[0] = 0;
    layout_.each(context_.operands, ceil_div(parts_, together), [&](std::uint64_t g) {
      const std::uint64_t first = g * together, last = std::min(first + together, parts_);
      std::fill(begins_ + first + 1, begins_ + last + 1, 0);
      for (std::uint64_t c = 0; c < layout_.chunks; ++c)
        for (std::uint64_t p = first; p < last; ++p)
          begins_[p + 1] += size_of(ends_ + c * parts_, p);
    });
  }

  // A part that is not tied is one task. Then replaces the parts' sizes by their begins.
  void make_tasks() {
    std::uint64_t begin = 0, largest = 0;
    task_count_ = 0;
    for (std::uint64_t p = 0; p < parts_; ++p) {
      const std::uint64_t count = begins_[p + 1];
      if (count > Layout::task_records && is_tied(p)) {
        divide_part(p, begin);
      } else if (count != 0) {
        tasks_[task_count_++] = {p, 0, layout_.chunks, begin};
        if (!is_tied(p)) largest = std::max(largest, count);
      }
      begin += count;
    }
    steps_.prepare(largest);
  }
  void divide_part(std::uint64_t p, std::uint64_t begin) {
    std::uint64_t count = 0, first = 0;
    for (std::uint64_t c = 0; c < layout_.chunks; ++c) {
      count += size_of(ends_ + c * parts_, p);
      if (count < Layout::task_records && c + 1 != layout_.chunks) continue;
      if (count != 0) tasks_[task_count_++] = {p, first, c + 1, begin};
      begin += count;
      count = 0;
      first = c + 1;
    }
  }

  void run_task(const Task& task) const {
    if constexpr (Steps::has_codes)
      if (is_tied(task.part)) {
        std::uint64_t to = task.begin;
        for (std::uint64_t c = task.first_chunk; c < task.last_chunk; ++c) {
          const auto [from, count] = section_of(task.part, c);
          if (count != 0) steps_.move(from, to, count);
          to += count;
        }
        return;
      }
    sort_part(task.part, begins_[task.part + 1], task.begin);
  }

  void sort_part(std::uint64_t p, std::uint64_t count, std::uint64_t begin) const {
    if constexpr (Steps::may_lack_memory)
      if (!steps_.has_memory_for(count)) {
        sort_sections(p, 0, layout_.chunks, begin);
        return;
      }
    auto part = steps_.part(begin, count);
    std::uint64_t gathered = 0;
    for (std::uint64_t c = 0; c < layout_.chunks; ++c)
      gathered += gather_section(p, c, part, gathered);
    steps_.finish(part, begin, count);
  }

  struct Section {
    std::uint64_t begin, count;  // in scratch memory
  };
  // The records of part `p` in chunk `c`.
  [[nodiscard]] Section section_of(std::uint64_t p, std::uint64_t c) const {
    const std::size_t* const ends = ends_ + c * parts_;
    const std::uint64_t count = size_of(ends, p);
    return {c * layout_.chunk + ends[p] - count, count};
  }
  // Appends such records to the first `gathered` records of `part`. Returns their number.
  template <class Part>
  std::uint64_t gather_section(std::uint64_t p, std::uint64_t c, const Part& part,
                               std::uint64_t gathered) const {
    const auto [from, count] = section_of(p, c);
    if (count != 0) steps_.gather(part, gathered, from, count);
    return count;
  }

  // For a part that is too large for the available memory: sorts the part's records of each of the
  // chunks [first, last) into the output from `begin` on, and merges these runs in place. Slow, but
  // needs no more memory. Returns the number of records.
  std::uint64_t sort_sections(std::uint64_t p, std::uint64_t first, std::uint64_t last,
                              std::uint64_t begin) const {
    if (last - first == 1) {
      auto section = steps_.part(begin, size_of(ends_ + first * parts_, p));
      const std::uint64_t count = gather_section(p, first, section, 0);
      if (count != 0) steps_.finish(section, begin, count);
      return count;
    }
    const std::uint64_t middle = first + (last - first) / 2;
    const std::uint64_t left = sort_sections(p, first, middle, begin);
    const std::uint64_t right = sort_sections(p, middle, last, begin + left);
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
  std::size_t* ends_;      // where each part ends in each chunk
  std::uint64_t* begins_;  // begins_[p + 1]: the records of part p
  Task* tasks_;
  std::uint64_t parts_ = 1, task_count_ = 0;
};

}  // namespace sortium::sample
