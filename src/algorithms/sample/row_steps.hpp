// The steps of a sort of rows (rows.hpp). In a chunk, the first words of its records are
// partitioned with the records' places, and the rows are written in the order of their parts. A
// part is sorted by its first words; rows that tie, by the next words. All this happens in a core's
// cache.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>

#include "../rows.hpp"
#include "layout.hpp"
#include "place_order.hpp"

namespace sortium::sample {

// The sizes of such a sort, and the layout of its scratch memory.
struct RowLayout {
  RowLayout(const Rows& rows, unsigned most_threads)
      : sizes({.key = KeyType::u64,
               .count = rows.count(),
               .payload = Payload::positions,
               .value_bytes = sizeof(std::uint32_t)},
              most_threads, {}),
        row_bytes(rows.row_bytes()),
        own_bytes(std::max(whole_lines(sizes.chunk * bytes_of_partition),
                           bytes_of_part(2 * ceil_div(rows.count(), sizes.parts)))) {
    ScratchLayout& scratch = sizes.scratch;
    all_rows = scratch.add_apart(rows.count() * row_bytes);
    own = scratch.add_apart(sizes.threads * own_bytes);
  }

  // A thread's own memory serves both steps in turn. The partition needs a word and a place for
  // each record of a chunk; a part needs its rows, and three words and two places for each of them.
  static constexpr std::uint64_t bytes_of_partition = 12;
  [[nodiscard]] std::uint64_t bytes_of_part(std::uint64_t records) const {
    return whole_lines(records * (row_bytes + 3 * 8 + 2 * 4));
  }
  static std::uint64_t whole_lines(std::uint64_t bytes) {
    constexpr std::uint64_t line = 64;
    return ceil_div(bytes, line) * line;
  }

  Layout sizes;
  std::uint64_t row_bytes, own_bytes;
  ScratchLayout::Slice all_rows, own;
};

// If keys have one word, a part in which all words are equal needs no sort.
template <bool has_one_word>
class RowSteps {
  using Place = std::uint32_t;

 public:
  using Word = std::uint64_t;
  using Code = std::uint64_t;
  static constexpr bool may_lack_memory = false, has_codes = has_one_word;
  static Word word_of(Code code) { return code; }
  static Code code_of(Word word) { return word; }

  RowSteps(const Rows& rows, const RowLayout& layout, const Context& context)
      : rows_(rows),
        layout_(layout),
        sizes_(layout.sizes),
        words_(at<Word>(sizes_.keys.in(context.operands))),
        places_(at<Place>(sizes_.values.in(context.operands))),
        all_rows_(at<std::byte>(layout.all_rows.in(context.operands))),
        own_(at<std::byte>(layout.own.in(context.operands))) {}

  [[nodiscard]] Word deciding_bits() const { return ~Word{0}; }
  [[nodiscard]] bool has_ties() const { return false; }  // as floats have: tied words are equal

  void make_sample(Word* to, std::uint64_t i) const { rows_.first_words(i, 1, to); }
  void partition(std::uint64_t begin, std::uint64_t count, const Word* splitters,
                 std::uint64_t splitter_count, std::size_t* ends) const {
    Place* const places = places_ + begin;
    rows_.first_words(begin, count, words_ + begin);
    std::iota(places, places + count, Place{0});
    Word* const spare = reinterpret_cast<Word*>(mine(0));
    partition_pairs(words_ + begin, places, count, splitters, splitter_count, ends, spare,
                    reinterpret_cast<Place*>(spare + count));
    rows_.load(begin, places, count, all_rows_ + begin * layout_.row_bytes);
  }

  struct Part {
    Word *first, *placed, *next;  // first words, as gathered; words of places; words of ties
    Place *order, *spare;
    std::byte* rows;
  };
  // Allocates memory if a part is too large for a thread's own memory. This is rare, and may fail:
  // see has_memory().
  void prepare(std::uint64_t largest) {
    large_bytes_ = layout_.bytes_of_part(largest);
    if (large_bytes_ > layout_.own_bytes)
      large_.reset(static_cast<std::byte*>(std::malloc(sizes_.threads * large_bytes_)));
  }
  [[nodiscard]] bool has_memory() const {
    return large_bytes_ <= layout_.own_bytes || large_ != nullptr;
  }
  [[nodiscard]] Part part(std::uint64_t, std::uint64_t count) const {
    std::byte* const memory = mine(layout_.bytes_of_part(count));
    Word* const words = reinterpret_cast<Word*>(memory);
    Place* const order = reinterpret_cast<Place*>(words + 3 * count);
    return {words, words + count, words + 2 * count,
            order, order + count, reinterpret_cast<std::byte*>(order + 2 * count)};
  }
  void gather(const Part& part, std::uint64_t gathered, std::uint64_t from,
              std::uint64_t count) const {
    const std::uint64_t bytes = layout_.row_bytes;
    std::memcpy(part.first + gathered, words_ + from, count * sizeof(Word));
    std::memcpy(part.rows + gathered * bytes, all_rows_ + from * bytes, count * bytes);
  }
  void finish(const Part& part, std::uint64_t begin, std::uint64_t count) const {
    sort_by(part.first, count, part.placed, part.order);
    if constexpr (!has_one_word)
      sort_ties(part, 0, count, 1, [&](std::uint64_t i) { return part.first[part.order[i]]; });
    rows_.store(begin, part.rows, part.order, count);
  }
  // Writes rows [from, from + count) of the partitioned chunks to the output, in their order.
  void move(std::uint64_t from, std::uint64_t to, std::uint64_t count) const {
    constexpr std::uint64_t block = 1024;
    Place places[block];
    std::iota(places, places + block, Place{0});
    for (std::uint64_t i = 0; i < count; i += block)
      rows_.store(to + i, all_rows_ + (from + i) * layout_.row_bytes, places,
                  std::min(block, count - i));
  }

 private:
  [[nodiscard]] std::byte* mine(std::uint64_t bytes) const {
    const std::uint64_t thread = sizes_.thread();
    return bytes <= layout_.own_bytes ? own_ + thread * layout_.own_bytes
                                      : large_.get() + thread * large_bytes_;
  }

  // Writes the stable order of `count` words: the places of the words.
  static void sort_by(const Word* words, std::uint64_t count, Word* placed, Place* order) {
    if (ascending(words, count, Coding<Word>{}) == count)
      return std::iota(order, order + count, Place{0});
    const CodeRange range = range_of_codes(words, count);
    const PlaceOrder<Word, std::uint32_t> by_short_words(words, count, range);
    if (count <= most_short_order && by_short_words.separates())
      write_order(by_short_words, count, reinterpret_cast<std::uint32_t*>(placed), order);
    else
      write_order(PlaceOrder<Word, std::uint64_t>(words, count, range), count, placed, order);
  }
  template <class Order, class Placed>
  static void write_order(const Order& by, std::uint64_t count, Placed* placed, Place* order) {
    by.sort(placed);
    for (std::uint64_t i = 0; i < count; ++i) order[i] = static_cast<Place>(placed[i] & by.mask());
  }

  // The rows part.order[begin] to part.order[end - 1] are sorted by all words before `word`. The
  // last of these words, of row part.order[i], is before(i). Rows in which it is equal are a group.
  // Sorts each group by `word` and the words after it.
  template <class Before>
  void sort_ties(const Part& part, std::uint64_t begin, std::uint64_t end, unsigned word,
                 const Before& before) const {
    for (std::uint64_t i = begin, next = 0; i < end; i = next) {
      const Word same = before(i);
      for (next = i + 1; next < end && before(next) == same;) ++next;
      if (next - i > 1) sort_group(part, i, next, word);
    }
  }
  void sort_group(const Part& part, std::uint64_t begin, std::uint64_t end, unsigned word) const {
    constexpr std::uint64_t inserted = 16;  // insertion sort up to this many rows
    const std::uint64_t count = end - begin;
    Place* const order = part.order + begin;
    Word* const words = part.next + begin;
    rows_.words_of(word, part.rows, order, count, words);
    if (count <= inserted) {
      insert(words, order, count);
    } else {
      Place* const by = part.spare + begin;
      Word* const sorted = part.placed + begin;
      sort_by(words, count, sorted, by);
      for (std::uint64_t i = 0; i < count; ++i) sorted[i] = words[by[i]];
      std::memcpy(words, sorted, count * sizeof(Word));
      Place* const moved = reinterpret_cast<Place*>(sorted);
      for (std::uint64_t i = 0; i < count; ++i) moved[i] = order[by[i]];
      std::memcpy(order, moved, count * sizeof(Place));
    }
    if (word + 1 < rows_.words())
      sort_ties(part, begin, end, word + 1, [&](std::uint64_t i) { return part.next[i]; });
  }
  static void insert(Word* words, Place* order, std::uint64_t count) {
    for (std::uint64_t i = 1; i < count; ++i) {
      const Word word = words[i];
      const Place place = order[i];
      std::uint64_t to = i;
      for (; to > 0 && words[to - 1] > word; --to)
        words[to] = words[to - 1], order[to] = order[to - 1];
      words[to] = word, order[to] = place;
    }
  }

  const Rows& rows_;
  const RowLayout& layout_;
  const Layout& sizes_;
  Word* words_;    // of the partitioned chunks
  Place* places_;  // in the chunk, of the partitioned rows
  std::byte* all_rows_;
  std::byte* own_;
  std::uint64_t large_bytes_ = 0;
  std::unique_ptr<std::byte, decltype(&std::free)> large_{nullptr, &std::free};
};

}  // namespace sortium::sample
