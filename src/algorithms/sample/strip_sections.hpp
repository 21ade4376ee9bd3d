// The sections of sorts by strips: splitters cut the ascending runs of all chunks, and the sections
// between two splitters are a part of the output. Strips and RecordStrips share it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "layout.hpp"
#include "positions.hpp"

namespace sortium::sample {

template <class Key>
class StripSections {
 public:
  using Section = Layout::StripSection;
  using Begin = Layout::StripBegin;
  using Chunk = Layout::StripChunk;

  // `splitters` and `samples` are memory for the splitters and for the keys to choose them from.
  StripSections(const Layout& layout, const Operands& operands, Key* splitters, Key* samples)
      : layout_(layout),
        splitters_(splitters),
        samples_(samples),
        chunks_(at<Chunk>(layout.strip_chunks.in(operands))),
        sections_(at<Section>(layout.strip_sections.in(operands))),
        of_parts_(at<Section>(layout.strip_order.in(operands))),
        begins_(at<Begin>(layout.strip_begins.in(operands))) {}

  [[nodiscard]] std::uint64_t parts() const { return parts_; }

  // `make_sample(to, i)` stores the code of record i.
  template <class MakeSample>
  void choose_splitters(Positions positions, const MakeSample& make_sample) {
    const std::uint64_t wanted = layout_.strip_parts * Layout::strip_samples;
    for (std::uint64_t i = 0; i < wanted; ++i)
      make_sample(samples_ + i, positions.next(layout_.problem.count));
    sort_words(samples_, wanted);
    std::uint64_t count = 0;
    for (std::uint64_t i = Layout::strip_samples; i < wanted; i += Layout::strip_samples)
      if (count == 0 || samples_[i] != splitters_[count - 1]) splitters_[count++] = samples_[i];
    parts_ = count + 1;
  }

  // Cuts the runs of chunk c, which begins at record `begin`: run r ends before codes[ends[r]].
  // Returns false if there are too many sections.
  bool cut(std::uint64_t c, std::uint64_t begin, const Key* codes, const std::size_t* ends,
           std::size_t runs) const {
    Section* const mine = sections_ + c * layout_.strip_sections_of_chunk;
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
        if (count == layout_.strip_sections_of_chunk) return false;
        mine[count++] = {begin + from, static_cast<std::uint32_t>(part),
                         static_cast<std::uint32_t>(to - from)};
        from = to;
      }
    }
    chunks_[c].sections = count;
    return true;
  }

  void note_ties(std::uint64_t c, const CodeTies& ties) const { chunks_[c].ties = ties; }
  // True if floats of any chunks tie that differ. The ties of all chunks must be noted.
  [[nodiscard]] bool do_ties_differ() const {
    CodeTies all;
    for (std::uint64_t c = 0; c < layout_.chunks; ++c) all.add(chunks_[c].ties);
    return all.differ();
  }

  // Orders the sections by part, those of a part in the order of the input, and computes where each
  // part begins.
  void collect() const {
    std::fill_n(begins_, parts_ + 1, Begin{});
    for_sections([&](const Section& s) {
      begins_[s.part + 1].record += s.count;
      ++begins_[s.part + 1].section;
    });
    for (std::uint64_t p = 0; p < parts_; ++p) {
      begins_[p + 1].record += begins_[p].record;
      begins_[p + 1].section += begins_[p].section;
    }
    for_sections([&](const Section& s) { of_parts_[begins_[s.part].section++] = s; });
    for (std::uint64_t p = parts_; p > 0; --p) begins_[p].section = begins_[p - 1].section;
    begins_[0].section = 0;
  }

  // After collect(): a part's sections, and where its records begin in the output.
  struct Part {
    const Section *begin, *end;
    std::uint64_t first, count;
  };
  [[nodiscard]] Part part(std::uint64_t p) const {
    const Begin &now = begins_[p], &next = begins_[p + 1];
    return {of_parts_ + now.section, of_parts_ + next.section, now.record,
            next.record - now.record};
  }

 private:
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
  template <class Body>
  void for_sections(const Body& body) const {
    for (std::uint64_t c = 0; c < layout_.chunks; ++c) {
      const Section* const mine = sections_ + c * layout_.strip_sections_of_chunk;
      std::for_each(mine, mine + chunks_[c].sections, body);
    }
  }

  const Layout& layout_;
  Key *splitters_, *samples_;
  Chunk* chunks_;
  Section *sections_, *of_parts_;
  Begin* begins_;
  std::uint64_t parts_ = 1;
};

}  // namespace sortium::sample
