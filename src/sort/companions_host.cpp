#ifdef SORTIUM_WITH_HOST
#include "companions_host.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "../device/host_threads.hpp"

namespace sortium::on_host {

namespace {

constexpr std::uint64_t piece = 1u << 16;  // records that a thread takes at a time

template <class T>
T* at(const Memory& m) {
  return m ? reinterpret_cast<T*>(static_cast<std::byte*>(m.handle) + m.offset) : nullptr;
}

// Calls body(begin, end, piece) for each piece of `count` records, in parallel if there are
// several. It may call it twice for the same piece.
template <class Body>
void in_pieces(std::uint64_t count, const Body& body) {
  const auto some = [&](const tbb::blocked_range<std::uint64_t>& range) {
    for (auto p = range.begin(); p != range.end(); ++p)
      body(p * piece, std::min((p + 1) * piece, count), p);
  };
  const tbb::blocked_range<std::uint64_t> all(0, (count + piece - 1) / piece);
  if (all.size() <= 1)
    some(all);
  else
    host::repeatable_for_all(all, some);
}

template <class Body>
auto with_key(const Problem& p, const Body& body) {
  switch (info(p.key).bytes) {
    case 1:
      return body(std::uint8_t{});
    case 2:
      return body(std::uint16_t{});
    case 4:
      return body(std::uint32_t{});
    default:
      return body(std::uint64_t{});
  }
}

template <class Body>
void with_number(unsigned bytes, const Body& body) {
  if (bytes == 8)
    body(std::uint64_t{});
  else
    body(std::uint32_t{});
}

}  // namespace

std::uint64_t first_unsorted(const Problem& problem, const Memory& memory) {
  const KeyRank rank(problem);
  std::atomic<std::uint64_t> first{problem.count};
  with_key(problem, [&](auto key) {
    const auto* const keys = at<const decltype(key)>(memory);
    in_pieces(problem.count, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
      if (begin >= first.load(std::memory_order_relaxed)) return;
      for (auto i = begin; i < std::min(end, problem.count - 1); ++i) {
        if (rank(keys[i + 1]) >= rank(keys[i])) continue;
        auto least = first.load();
        while (i < least && !first.compare_exchange_weak(least, i)) {
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

template <class Key>
class RunHeads {
 public:
  RunHeads(const Problem& problem, const Memory& keys)
      : rank_(problem), count_(problem.count), keys_(at<const Key>(keys)) {}

  // True if a run of equal keys begins at record `i`.
  bool operator()(std::uint64_t i) const {
    return i == 0 || rank_(keys_[i]) != rank_(keys_[i - 1]);
  }
  // Counts the runs of each piece, and sets the first one's position in the output. Returns the
  // number of all runs.
  std::uint64_t count(std::vector<RunsOfPiece>& pieces) const {
    in_pieces(count_, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t p) {
      std::uint64_t heads = 0;
      for (auto i = begin; i < end; ++i) heads += (*this)(i);
      pieces[p].runs = heads;
    });
    std::uint64_t runs = 0;
    for (auto& p : pieces) p.place = runs, runs += p.runs;
    return runs;
  }

 private:
  KeyRank rank_;
  std::uint64_t count_;
  const Key* keys_;
};

// Copies the first record of each run to the output, and writes the lengths of the runs that end
// within their piece.
template <class Key, class Value, class Length>
void copy_heads(const Problem& problem, const UniquePlan::Operands& o, const RunHeads<Key>& is_head,
                std::vector<RunsOfPiece>& pieces) {
  const auto* const keys = at<const Key>(o.keys_in);
  auto* const keys_out = at<Key>(o.keys_out);
  const auto* const values_in = at<const Value>(o.values_in);
  auto* const values_out = at<Value>(o.values_out);
  auto* const lengths = at<Length>(o.lengths);
  const auto copy_value = [&](std::uint64_t to, std::uint64_t from) {
    const auto bytes = problem.value_bytes;
    if (bytes == sizeof(Value))
      values_out[to] = values_in != nullptr ? values_in[from] : static_cast<Value>(from);
    else
      std::memcpy(at<std::byte>(o.values_out) + to * bytes,
                  at<std::byte>(o.values_in) + from * bytes, bytes);
  };
  in_pieces(problem.count, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t p) {
    auto& mine = pieces[p];
    std::uint64_t to = mine.place;
    for (auto i = begin; i < end; ++i) {
      if (!is_head(i)) continue;
      if (keys_out != nullptr) keys_out[to] = keys[i];
      if (values_out != nullptr) copy_value(to, i);
      if (to == mine.place)
        mine.first = i;
      else if (lengths != nullptr)
        lengths[to - 1] = static_cast<Length>(i - mine.last);
      mine.last = i;
      ++to;
    }
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

std::uint64_t unique(const Problem& problem, const UniquePlan::Operands& o, unsigned length_bytes) {
  std::vector<RunsOfPiece> pieces((problem.count + piece - 1) / piece);
  std::uint64_t runs = 0;
  with_key(problem, [&](auto key) {
    const RunHeads<decltype(key)> is_head(problem, o.keys_in);
    runs = is_head.count(pieces);
    with_number(problem.value_bytes, [&](auto value) {
      with_number(length_bytes, [&](auto length) {
        using Length = decltype(length);
        copy_heads<decltype(key), decltype(value), Length>(problem, o, is_head, pieces);
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

template <class Key, class Value>
void merge(const Problem& problem, std::uint64_t a_count, const MergePlan::Operands& o) {
  const KeyRank rank(problem);
  const std::uint64_t b_count = problem.count - a_count;
  const bool has_values = problem.payload != Payload::none;
  const auto *const a = at<const Key>(o.a_keys), *const b = at<const Key>(o.b_keys);
  const auto *const a_values = at<const Value>(o.a_values), *const b_values =
                                                                at<const Value>(o.b_values);
  auto* const keys_out = at<Key>(o.keys_out);
  auto* const values_out = at<Value>(o.values_out);
  in_pieces(problem.count, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
    std::uint64_t left = merge_path(rank, a, a_count, b, b_count, begin), right = begin - left;
    for (auto to = begin; to < end; ++to) {
      const bool from_a = left < a_count && (right == b_count || rank(a[left]) <= rank(b[right]));
      keys_out[to] = from_a ? a[left] : b[right];
      if (has_values) values_out[to] = from_a ? a_values[left] : b_values[right];
      left += from_a;
      right += !from_a;
    }
  });
}

}  // namespace

void merge(const Problem& problem, std::uint64_t a_count, const MergePlan::Operands& o) {
  with_key(problem, [&](auto key) {
    with_number(problem.value_bytes,
                [&](auto value) { merge<decltype(key), decltype(value)>(problem, a_count, o); });
  });
}

void search(const Problem& problem, std::uint64_t needle_count, Bound bound,
            const SearchPlan::Operands& o) {
  const KeyRank rank(problem);
  with_key(problem, [&](auto key) {
    using Key = decltype(key);
    const auto *const keys = at<const Key>(o.keys), *const needles = at<const Key>(o.needles);
    with_number(problem.value_bytes, [&](auto place) {
      using Place = decltype(place);
      auto* const places = at<Place>(o.places);
      in_pieces(needle_count, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
        for (auto i = begin; i < end; ++i) {
          const std::uint64_t needle = rank(needles[i]);
          const auto before = [&](Key other) {
            const std::uint64_t r = rank(other);
            return bound == Bound::upper ? r <= needle : r < needle;
          };
          places[i] =
              static_cast<Place>(std::partition_point(keys, keys + problem.count, before) - keys);
        }
      });
    });
  });
}

}  // namespace sortium::on_host
#endif
