// Lists of keys without values that are in order, in reverse order, or in order except for a tail.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>

#include "layout.hpp"

namespace sortium::sample {

template <class Key>
class WholeOrder {
 public:
  explicit WholeOrder(const Context& c)
      : layout_(c.layout),
        operands_(c.operands),
        count_(c.layout.problem.count),
        in_(at<const Key>(c.operands.keys_in)),
        out_(at<Key>(c.operands.keys_out)),
        saved_(at<Key>(layout_.keys.in(operands_))),
        pieces_(at<Piece>(layout_.tail_cuts.in(operands_))),
        coding_(coding_of<Key>(c.layout.problem)) {}

  // Returns how many of the first keys are in order; 0 if they are fewer than 8.
  [[nodiscard]] std::uint64_t in_order() const {
    if (!begins_in_order<false>(in_, count_, coding_)) return 0;
    return length_of([&](const Key* keys, std::uint64_t n) { return ascending(keys, n, coding_); });
  }
  // Returns how many of the first keys are in reverse order; 0 if they are fewer than 8.
  [[nodiscard]] std::uint64_t in_reverse() const {
    if (!begins_in_order<true>(in_, count_, coding_)) return 0;
    return length_of(
        [&](const Key* keys, std::uint64_t n) { return descending(keys, n, coding_); });
  }

  // Copies the input to the output, if they are not the same.
  void keep() const {
    if (in_ == out_) return;
    blocks(count_, [&](std::uint64_t begin, std::uint64_t end) {
      std::memcpy(out_ + begin, in_ + begin, (end - begin) * sizeof(Key));
    });
  }
  void reverse() const {
    if (in_ != out_)
      return blocks(count_, [&](std::uint64_t begin, std::uint64_t end) {
        std::reverse_copy(in_ + count_ - end, in_ + count_ - begin, out_ + begin);
      });
    const std::uint64_t half = count_ / 2;
    blocks(half, [&](std::uint64_t begin, std::uint64_t end) {
      swap_reversed(out_ + begin, out_ + count_ - end, end - begin);
    });
  }

  // Merges the output's first `sorted` keys with its other keys, at most layout.most_tail(). Both
  // are sorted. All threads move keys in place, each those of a piece of the output, the last
  // first.
  void insert_tail(std::uint64_t sorted) const {
    const std::uint64_t tail = count_ - sorted;
    std::memcpy(saved_, out_ + sorted, tail * sizeof(Key));
    // The heads that pieces save are together at most pieces - 1 times the tail.
    const std::uint64_t pieces = std::min<std::uint64_t>(layout_.tail_pieces(), count_ / tail);
    layout_.each(operands_, pieces + 1,
                 [&](std::uint64_t p) { pieces_[p] = cut(sorted, tail, p * count_ / pieces); });
    std::uint64_t head = tail;
    for (std::uint64_t p = 0; p < pieces; ++p) pieces_[p].head = head, head += pieces_[p].tail;
    layout_.each(operands_, pieces, [&](std::uint64_t p) { save_head(p); });
    layout_.each(operands_, pieces, [&](std::uint64_t p) { insert(p); });
  }

 private:
  using Piece = Layout::TailPiece;
  static constexpr std::uint64_t block = RunFinder::piece;

  // Calls body(begin, end) for blocks of `count` keys, in parallel.
  template <class Body>
  void blocks(std::uint64_t count, const Body& body) const {
    layout_.each(operands_, ceil_div(count, block),
                 [&](std::uint64_t b) { body(b * block, std::min((b + 1) * block, count)); });
  }

  // Returns the length of the list's beginning for which `length` accepts every block, each with
  // the first key of the next block.
  template <class Length>
  std::uint64_t length_of(const Length& length) const {
    std::atomic<std::uint64_t> least{count_};
    const auto look = [&](std::uint64_t b) {
      const std::uint64_t begin = b * block, end = std::min(begin + block + 1, count_);
      if (begin >= least.load(std::memory_order_relaxed)) return;
      const std::uint64_t found = begin + length(in_ + begin, end - begin);
      if (found == end) return;
      std::uint64_t known = least.load();
      while (found < known && !least.compare_exchange_weak(known, found)) {
      }
    };
    look(0);  // usually ends the search before another thread is woken
    if (least == count_)
      layout_.each(operands_, ceil_div(count_, block) - 1, [&](std::uint64_t b) { look(b + 1); });
    return least;
  }

  [[nodiscard]] Key deciding(Key key) const { return tied_code_of(key, coding_); }

  // Returns how many of the first `place` keys of the merged list are of the sorted keys, and how
  // many of the tail: Green, McColl, Bader, "GPU merge path" (2012).
  [[nodiscard]] Piece cut(std::uint64_t sorted, std::uint64_t tail, std::uint64_t place) const {
    std::uint64_t low = place > tail ? place - tail : 0, high = std::min(place, sorted);
    while (low < high) {
      const std::uint64_t middle = (low + high) / 2;
      if (deciding(out_[middle]) <= deciding(saved_[place - 1 - middle]))
        low = middle + 1;
      else
        high = middle;
    }
    return {low, place - low, 0};
  }
  // The piece before this one overwrites as many of this piece's first keys as keys of the tail
  // come before it.
  [[nodiscard]] std::uint64_t head_of(std::uint64_t p) const {
    return std::min(pieces_[p].tail, pieces_[p + 1].sorted - pieces_[p].sorted);
  }
  void save_head(std::uint64_t p) const {
    std::memcpy(saved_ + pieces_[p].head, out_ + pieces_[p].sorted, head_of(p) * sizeof(Key));
  }

  void insert(std::uint64_t p) const {
    const std::uint64_t begin = pieces_[p].sorted, here = begin + head_of(p);
    const Key* const head = saved_ + pieces_[p].head;
    const auto key = [&](std::uint64_t i) { return i < here ? head[i - begin] : out_[i]; };
    // Moves the sorted keys [from, to) behind `by` keys of the tail.
    const auto move_up = [&](std::uint64_t from, std::uint64_t to, std::uint64_t by) {
      const std::uint64_t middle = std::clamp(here, from, to);
      std::memmove(out_ + middle + by, out_ + middle, (to - middle) * sizeof(Key));
      std::memcpy(out_ + from + by, head + (from - begin), (middle - from) * sizeof(Key));
    };
    std::uint64_t right = pieces_[p + 1].sorted;
    for (std::uint64_t t = pieces_[p + 1].tail; t > pieces_[p].tail; --t) {
      const Key next = saved_[t - 1];
      const std::uint64_t place = place_of(deciding(next), begin, right, key);
      move_up(place, right, t);
      out_[place + t - 1] = next;
      right = place;
    }
    if (pieces_[p].tail != 0) move_up(begin, right, pieces_[p].tail);
  }
  // Returns the end of the sorted keys in [begin, end) that are not above the code. Searches from
  // the end in steps that double.
  template <class KeyAt>
  std::uint64_t place_of(Key code, std::uint64_t begin, std::uint64_t end, const KeyAt& key) const {
    std::uint64_t low = end, step = 1;
    while (low > begin && deciding(key(low - 1)) > code) {
      end = low - 1;
      low = end - begin > step ? end - step : begin;
      step *= 2;
    }
    while (low < end) {
      const std::uint64_t middle = low + (end - low) / 2;
      if (deciding(key(middle)) <= code)
        low = middle + 1;
      else
        end = middle;
    }
    return end;
  }

  const Layout& layout_;
  const Operands& operands_;
  std::uint64_t count_;
  const Key* in_;
  Key* out_;
  Key* saved_;  // the tail, then the heads
  Piece* pieces_;
  Coding<Key> coding_;
};

}  // namespace sortium::sample
