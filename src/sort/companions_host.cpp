#ifdef SORTIUM_WITH_HOST
#include "companions_host.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <numeric>
#include <type_traits>
#include <vector>

#include "../algorithms/sample/order_words.hpp"
#include "../algorithms/sample/ranks.hpp"
#include "../algorithms/sample/select_words.hpp"
#include "../device/host_threads.hpp"
#include "companions_host_loops.hpp"

namespace sortium::on_host {

namespace {

constexpr std::uint64_t block = 1024;  // records whose ranks are computed together

}  // namespace

std::uint64_t first_unsorted(const Problem& problem, const Memory& memory) {
  const sample::Ranks ranks(problem, sample::has_codes(problem));
  std::atomic<std::uint64_t> first{problem.count};
  with_key(problem, [&](auto key, auto rank) {
    const auto* const keys = at<const decltype(key)>(memory);
    in_pieces(problem.count, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
      if (begin >= first.load(std::memory_order_relaxed)) return;
      decltype(rank) of_block[block + 1];
      for (auto b = begin; b < end; b += block) {
        const std::uint64_t some = std::min({block + 1, end + 1 - b, problem.count - b});
        ranks.of(keys + b, of_block, some);
        const auto* const found = std::adjacent_find(of_block, of_block + some, std::greater<>{});
        if (found == of_block + some) continue;
        const std::uint64_t place = b + static_cast<std::uint64_t>(found - of_block);
        auto least = first.load();
        while (place < least && !first.compare_exchange_weak(least, place)) {
        }
        return;
      }
    });
  });
  return first;
}

namespace {

// The runs that begin in one piece of the input: their number, the first one's position in the
// output, and the positions in the input at which the first and the last of them begin.
struct RunsOfPiece {
  std::uint64_t runs = 0, place = 0;
  std::uint64_t first = ~std::uint64_t{0}, last = 0;
};

// Finds where runs of equal keys begin.
template <class Key, class Rank>
class RunHeads {
 public:
  RunHeads(const Problem& problem, const Memory& keys)
      : ranks_(problem, sample::has_codes(problem)),
        count_(problem.count),
        keys_(at<const Key>(keys)) {}

  // True if ranks are codes, as wide as keys.
  static constexpr bool by_vectors = std::is_same_v<Key, Rank>;

  // Calls body(first record, ranks, the rank before them, number of records) for blocks of [begin,
  // end). Before the first record of all, the rank passed differs from that record's rank.
  template <class Body>
  void blocks(std::uint64_t begin, std::uint64_t end, const Body& body) const {
    Rank of_block[block + 1];
    for (auto b = begin; b < end; b += block) {
      const std::uint64_t some = std::min(block, end - b), first = b == 0 ? 0 : 1;
      ranks_.of(keys_ + b - first, of_block + 1 - first, some + first);
      if (b == 0) of_block[0] = static_cast<Rank>(~of_block[1]);
      body(b, static_cast<const Rank*>(of_block + 1), of_block[0], some);
    }
  }
  // Calls body(i, 1 if a run begins at record `i`, else 0) for the records of [begin, end).
  template <class Body>
  void each(std::uint64_t begin, std::uint64_t end, const Body& body) const {
    blocks(begin, end,
           [&](std::uint64_t first, const Rank* ranks, Rank before, std::uint64_t count) {
             for (std::uint64_t i = 0; i < count; before = ranks[i++])
               body(first + i, static_cast<unsigned>(ranks[i] != before));
           });
  }
  // Counts the runs of each piece, and sets the first one's position in the output. Returns the
  // number of all runs.
  std::uint64_t count(std::vector<RunsOfPiece>& pieces) const {
    in_pieces(count_, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t p) {
      std::uint64_t heads = 0;
      if constexpr (by_vectors)
        blocks(begin, end, [&](std::uint64_t, const Rank* ranks, Rank before, std::uint64_t some) {
          heads += sample::count_heads(ranks, some, before);
        });
      else
        each(begin, end, [&](std::uint64_t, unsigned is_head) { heads += is_head; });
      pieces[p].runs = heads;
    });
    std::uint64_t runs = 0;
    for (auto& p : pieces) p.place = runs, runs += p.runs;
    return runs;
  }

 private:
  sample::Ranks ranks_;
  std::uint64_t count_;
  const Key* keys_;
};

// Copies the first key of each run of [begin, end) to the output, from `place` on. Returns their
// number.
template <class Key>
std::uint64_t copy_keys_of(std::uint64_t begin, std::uint64_t end, const UniquePlan::Operands& o,
                           const RunHeads<Key, Key>& heads, std::uint64_t place) {
  const auto* const keys = at<const Key>(o.keys_in);
  Key *const first = at<Key>(o.keys_out) + place, *next = first;
  heads.blocks(begin, end, [&](std::uint64_t i, const Key* ranks, Key before, std::uint64_t count) {
    next += sample::copy_heads(ranks, keys + i, count, before, next);
  });
  return static_cast<std::uint64_t>(next - first);
}

// Copies the first key of each run to the output.
template <class Key, class Rank>
void copy_keys(const Problem& problem, const UniquePlan::Operands& o,
               const RunHeads<Key, Rank>& heads, const std::vector<RunsOfPiece>& pieces) {
  const auto* const keys = at<const Key>(o.keys_in);
  auto* const keys_out = at<Key>(o.keys_out);
  in_pieces(problem.count, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t p) {
    if (pieces[p].runs == 0) return;
    if constexpr (RunHeads<Key, Rank>::by_vectors) {
      copy_keys_of(begin, end, o, heads, pieces[p].place);
      return;
    }
    // Writes every key to the place of the run that it may begin. Only the first of a run stays.
    std::uint64_t to = pieces[p].place;
    const std::uint64_t last = to + pieces[p].runs - 1;
    heads.each(begin, end, [&](std::uint64_t i, unsigned is_head) {
      if (to <= last) keys_out[to] = keys[i];
      to += is_head;
    });
  });
}

// Copies the value of record `from`, or writes its position. `Value` is the type of values of 4 and
// 8 bytes.
template <class Value>
void copy_value(const Problem& problem, const UniquePlan::Operands& o, std::uint64_t from,
                std::uint64_t to) {
  const auto bytes = problem.value_bytes;
  if (bytes == sizeof(Value))
    at<Value>(o.values_out)[to] =
        o.values_in ? at<const Value>(o.values_in)[from] : static_cast<Value>(from);
  else
    std::memcpy(at<std::byte>(o.values_out) + to * bytes, at<std::byte>(o.values_in) + from * bytes,
                bytes);
}

// Copies the first record of each run, with its value, to the output, and writes the lengths of the
// runs that end within their piece.
template <class Value, class Length, class Key, class Rank>
void copy_heads(const Problem& problem, const UniquePlan::Operands& o,
                const RunHeads<Key, Rank>& heads, std::vector<RunsOfPiece>& pieces) {
  const auto* const keys = at<const Key>(o.keys_in);
  auto* const keys_out = at<Key>(o.keys_out);
  auto* const lengths = at<Length>(o.lengths);
  in_pieces(problem.count, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t p) {
    auto& mine = pieces[p];
    std::uint64_t to = mine.place;
    heads.each(begin, end, [&](std::uint64_t i, unsigned is_head) {
      if (is_head == 0) return;
      if (keys_out != nullptr) keys_out[to] = keys[i];
      copy_value<Value>(problem, o, i, to);
      if (to == mine.place)
        mine.first = i;
      else if (lengths != nullptr)
        lengths[to - 1] = static_cast<Length>(i - mine.last);
      mine.last = i;
      ++to;
    });
  });
}

// Copies the first key of each run of [begin, end) to the output from `to` on, unless it has no
// keys, and writes to `starts` how far the runs' first keys are from `begin`.
template <class Length, class Key, class Rank>
void copy_starts(std::uint64_t begin, std::uint64_t end, const UniquePlan::Operands& o,
                 const RunHeads<Key, Rank>& heads, std::uint64_t to, Length* starts) {
  const auto* const keys = at<const Key>(o.keys_in);
  auto* const keys_out = at<Key>(o.keys_out);
  if constexpr (RunHeads<Key, Rank>::by_vectors) {
    Key places[block], of_heads[block];
    std::iota(places, places + block, Key{0});
    heads.blocks(
        begin, end, [&](std::uint64_t i, const Rank* ranks, Rank before, std::uint64_t count) {
          const std::uint64_t found = sample::copy_heads(ranks, places, count, before, of_heads);
          if (keys_out != nullptr)
            sample::copy_heads(ranks, keys + i, count, before, keys_out + to);
          for (std::uint64_t k = 0; k < found; ++k)
            starts[k] = static_cast<Length>(i - begin + of_heads[k]);
          to += found, starts += found;
        });
  } else {
    heads.each(begin, end, [&](std::uint64_t i, unsigned is_head) {
      if (is_head == 0) return;
      if (keys_out != nullptr) keys_out[to++] = keys[i];
      *starts++ = static_cast<Length>(i - begin);
    });
  }
}

// The same as copy_heads() for keys without values.
template <class Length, class Key, class Rank>
void copy_keys_and_lengths(const Problem& problem, const UniquePlan::Operands& o,
                           const RunHeads<Key, Rank>& heads, std::vector<RunsOfPiece>& pieces) {
  in_pieces(problem.count, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t p) {
    if (pieces[p].runs == 0) return;
    Length* const starts = at<Length>(o.lengths) + pieces[p].place;
    copy_starts(begin, end, o, heads, pieces[p].place, starts);
    const std::uint64_t last = pieces[p].runs - 1;
    pieces[p].first = begin + starts[0];
    pieces[p].last = begin + starts[last];
    for (std::uint64_t run = 0; run < last; ++run) starts[run] = starts[run + 1] - starts[run];
  });
}

// Writes the length of each piece's last run, which ends where the next run begins, in a later
// piece.
template <class Length>
void write_last_lengths(const std::vector<RunsOfPiece>& pieces, std::uint64_t count,
                        Length* lengths) {
  std::uint64_t end = count;
  for (auto p = pieces.rbegin(); p != pieces.rend(); ++p) {
    if (p->runs == 0) continue;
    lengths[p->place + p->runs - 1] = static_cast<Length>(end - p->last);
    end = p->first;
  }
}

}  // namespace

namespace {

// From this number of 8-bit keys on, a search for each run's end takes less time than comparing all
// neighbours.
constexpr std::uint64_t many_bytes = 1u << 12;

// Returns where the runs of keys of 8 bits end. Searches for each end. Returns nothing if a search
// may have failed: if the keys are not sorted, or if different bytes tie.
std::vector<std::uint64_t> ends_of_sorted_bytes(const Problem& problem, const std::uint8_t* keys) {
  const KeyRank rank(problem);
  constexpr std::size_t most = 256;  // different bytes
  std::vector<std::uint64_t> ends;
  ends.reserve(most);
  for (std::uint64_t run = 0; run != problem.count; run = ends.back()) {
    const std::uint8_t byte = keys[run];
    const auto* const end = std::partition_point(keys + run, keys + problem.count,
                                                 [=](std::uint8_t key) { return key == byte; });
    std::uint8_t differences = 0;
    for (const auto* key = keys + run; key != end; ++key) differences |= *key ^ byte;
    if (differences != 0 || ends.size() == most ||
        (end != keys + problem.count && rank(*end) == rank(byte)))
      return {};
    ends.push_back(static_cast<std::uint64_t>(end - keys));
  }
  return ends;
}

// Does the same as unique() for keys of 8 bits whose runs end at `ends`.
template <class Value, class Length>
void copy_heads_of_bytes(const Problem& problem, const UniquePlan::Operands& o,
                         const std::vector<std::uint64_t>& ends) {
  std::uint64_t begin = 0;
  for (std::size_t run = 0; run < ends.size(); begin = ends[run++]) {
    if (o.keys_out) at<std::uint8_t>(o.keys_out)[run] = at<const std::uint8_t>(o.keys_in)[begin];
    if (o.values_out) copy_value<Value>(problem, o, begin, run);
    if (o.lengths) at<Length>(o.lengths)[run] = static_cast<Length>(ends[run] - begin);
  }
}

}  // namespace

std::uint64_t unique(const Problem& problem, const UniquePlan::Operands& o, unsigned length_bytes) {
  std::vector<RunsOfPiece> pieces((problem.count + piece - 1) / piece);
  std::uint64_t runs = 0;
  if (info(problem.key).bytes == 1 && problem.count >= many_bytes) {
    if (const auto ends = ends_of_sorted_bytes(problem, at<const std::uint8_t>(o.keys_in));
        !ends.empty()) {
      with_number(problem.value_bytes, [&](auto value) {
        with_number(length_bytes, [&](auto length) {
          copy_heads_of_bytes<decltype(value), decltype(length)>(problem, o, ends);
        });
      });
      return ends.size();
    }
  }
  with_key(problem, [&](auto key, auto rank) {
    const RunHeads<decltype(key), decltype(rank)> heads(problem, o.keys_in);
    if constexpr (heads.by_vectors)
      if (pieces.size() == 1 && !o.values_out && !o.lengths) {
        runs = copy_keys_of(0, problem.count, o, heads, 0);
        return;
      }
    runs = heads.count(pieces);
    if (!o.values_out && !o.lengths) return copy_keys(problem, o, heads, pieces);
    with_number(problem.value_bytes, [&](auto value) {
      with_number(length_bytes, [&](auto length) {
        using Length = decltype(length);
        if (o.values_out)
          copy_heads<decltype(value), Length>(problem, o, heads, pieces);
        else
          copy_keys_and_lengths<Length>(problem, o, heads, pieces);
        if (o.lengths) write_last_lengths(pieces, problem.count, at<Length>(o.lengths));
      });
    });
  });
  return runs;
}

namespace {

// Returns the number of records of `a` among the first `diagonal` records of the merged order:
// Green, McColl, Bader, "GPU merge path" (2012).
template <class Key>
std::uint64_t merge_path(const KeyRank& rank, const Key* a, std::uint64_t a_count, const Key* b,
                         std::uint64_t b_count, std::uint64_t diagonal) {
  std::uint64_t low = diagonal > b_count ? diagonal - b_count : 0,
                high = std::min(diagonal, a_count);
  while (low < high) {
    const std::uint64_t middle = (low + high) / 2;
    if (rank(a[middle]) <= rank(b[diagonal - 1 - middle]))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// Merges neighbouring records of `a` and of `b`, at most `most` together, on the calling thread.
template <class Key, class Value, class Rank>
class MergePiece {
 public:
  static constexpr std::uint64_t most = 4096;

  MergePiece(const Problem& problem, const MergePlan::Operands& o)
      : ranks_(problem, sample::has_codes(problem)),
        keys_alone_(problem.payload == Payload::none),
        is_coded_(sample::has_codes(problem)),
        operands_(o) {
    if constexpr (sizeof(Key) >= 4) coding_ = sample::coding_of<Key>(problem);
  }

  // The records of `a` and `b` from these positions on go to `to`.
  void run(std::uint64_t a, std::uint64_t a_count, std::uint64_t b, std::uint64_t b_count,
           std::uint64_t to) const {
    if constexpr (sizeof(Key) >= 4)
      if (keys_alone_ && is_coded_ && merge_codes(a, a_count, b, b_count, to)) return;
    merge_records(a, a_count, b, b_count, to);
  }

 private:
  // Returns false if floats tie that differ: codes do not contain their order.
  bool merge_codes(std::uint64_t a, std::uint64_t a_count, std::uint64_t b, std::uint64_t b_count,
                   std::uint64_t to) const {
    Key codes[most];
    sample::encode(at<const Key>(operands_.a_keys) + a, codes, a_count, coding_);
    sample::encode(at<const Key>(operands_.b_keys) + b, codes + a_count, b_count, coding_);
    if (coding_.is_float && sample::ties_of(codes, a_count + b_count).differ()) return false;
    Key* const out = at<Key>(operands_.keys_out) + to;
    sample::merge_words(codes, a_count, codes + a_count, b_count, out);
    sample::decode(out, a_count + b_count, coding_);
    return true;
  }

  void merge_records(std::uint64_t a, std::uint64_t a_count, std::uint64_t b, std::uint64_t b_count,
                     std::uint64_t to) const {
    Rank ranks[most];
    ranks_.of(at<const Key>(operands_.a_keys) + a, ranks, a_count);
    ranks_.of(at<const Key>(operands_.b_keys) + b, ranks + a_count, b_count);
    std::uint16_t order[most];
    find_order(ranks, a_count, a_count + b_count, order);
    copy<Key>(operands_.a_keys, a, a_count, operands_.b_keys, b, order, b_count + a_count,
              operands_.keys_out, to);
    if (!keys_alone_)
      copy<Value>(operands_.a_values, a, a_count, operands_.b_values, b, order, b_count + a_count,
                  operands_.values_out, to);
  }
  // Writes the positions of the merged ranks [0, middle) and [middle, end). The inner loop has no
  // branch that depends on ranks.
  static void find_order(const Rank* ranks, std::uint64_t middle, std::uint64_t end,
                         std::uint16_t* order) {
    std::uint64_t left = 0, right = middle;
    while (std::uint64_t steps = std::min(middle - left, end - right))
      for (; steps > 0; --steps) {
        const bool from_b = ranks[right] < ranks[left];
        *order++ = static_cast<std::uint16_t>(from_b ? right : left);
        right += from_b;
        left += !from_b;
      }
    while (left < middle) *order++ = static_cast<std::uint16_t>(left++);
    while (right < end) *order++ = static_cast<std::uint16_t>(right++);
  }
  template <class T>
  static void copy(const Memory& a, std::uint64_t a_begin, std::uint64_t a_count, const Memory& b,
                   std::uint64_t b_begin, const std::uint16_t* order, std::uint64_t count,
                   const Memory& out, std::uint64_t to) {
    const T *const of_a = at<const T>(a) + a_begin, *const of_b = at<const T>(b) + b_begin;
    T* const copied = at<T>(out) + to;
    for (std::uint64_t i = 0; i < count; ++i)
      copied[i] = order[i] < a_count ? of_a[order[i]] : of_b[order[i] - a_count];
  }

  sample::Ranks ranks_;
  bool keys_alone_, is_coded_;
  const MergePlan::Operands& operands_;
  sample::Coding<std::conditional_t<(sizeof(Key) >= 4), Key, std::uint32_t>> coding_{};
};

}  // namespace

void merge(const Problem& problem, std::uint64_t a_count, const MergePlan::Operands& o) {
  const KeyRank rank(problem);
  const std::uint64_t b_count = problem.count - a_count;
  with_key(problem, [&](auto key, auto rank_type) {
    with_number(problem.value_bytes, [&](auto value) {
      using Key = decltype(key);
      using Piece = MergePiece<Key, decltype(value), decltype(rank_type)>;
      const Piece merge_piece(problem, o);
      const auto path = [&](std::uint64_t place) {
        return merge_path(rank, at<const Key>(o.a_keys), a_count, at<const Key>(o.b_keys), b_count,
                          place);
      };
      in_pieces(problem.count, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
        std::uint64_t left = path(begin);
        for (std::uint64_t to = begin; to < end; to += Piece::most) {
          const std::uint64_t some = std::min(Piece::most, end - to), next = path(to + some);
          merge_piece.run(left, next - left, to - left, to + some - next - (to - left), to);
          left = next;
        }
      });
    });
  });
}

}  // namespace sortium::on_host
#endif
