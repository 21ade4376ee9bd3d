#ifdef SORTIUM_WITH_HOST
#include "companions_host.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

namespace sortium::on_host {

namespace {

constexpr std::uint64_t piece = 1u << 16;  // records that a core takes at a time

template <class T>
T* at(const Memory& m) {
  return m ? reinterpret_cast<T*>(static_cast<std::byte*>(m.handle) + m.offset) : nullptr;
}

// Body(begin, end, piece): pieces of `count`, side by side where there is more than one.
template <class Body>
void in_pieces(std::uint64_t count, const Body& body) {
  const auto one = [&](std::uint64_t p) { body(p * piece, std::min((p + 1) * piece, count), p); };
  const std::uint64_t pieces = (count + piece - 1) / piece;
  if (pieces <= 1) return pieces == 0 ? void() : one(0);
  tbb::parallel_for(std::uint64_t{0}, pieces, one);
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

std::uint64_t unique(const Problem& problem, const UniquePlan::Operands& o, unsigned length_bytes) {
  const KeyRank rank(problem);
  const std::uint64_t n = problem.count;
  struct Piece {
    std::uint64_t place = 0, first = ~std::uint64_t{0},
                  last = 0;  // of its first run; where its first and its last run begin
    std::uint64_t runs = 0;
  };
  std::vector<Piece> pieces((n + piece - 1) / piece);
  std::uint64_t runs = 0;
  with_key(problem, [&](auto key) {
    using Key = decltype(key);
    const auto* const keys = at<const Key>(o.keys_in);
    const auto head = [&](std::uint64_t i) { return i == 0 || rank(keys[i]) != rank(keys[i - 1]); };
    in_pieces(n, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t p) {
      for (auto i = begin; i < end; ++i) pieces[p].runs += head(i);
    });
    for (auto& p : pieces) p.place = runs, runs += p.runs;
    with_number(problem.value_bytes, [&](auto value) {
      using Value = decltype(value);
      with_number(length_bytes, [&](auto length) {
        using Length = decltype(length);
        auto* const keys_out = at<Key>(o.keys_out);
        const auto* const values_in = at<const Value>(o.values_in);
        auto* const values_out = at<Value>(o.values_out);
        auto* const lengths = at<Length>(o.lengths);
        const auto copy = [&](std::uint64_t to, std::uint64_t from) {
          const auto bytes = problem.value_bytes;
          if (bytes == sizeof(Value))
            values_out[to] = values_in != nullptr ? values_in[from] : static_cast<Value>(from);
          else
            std::memcpy(at<std::byte>(o.values_out) + to * bytes,
                        at<std::byte>(o.values_in) + from * bytes, bytes);
        };
        in_pieces(n, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t p) {
          auto& mine = pieces[p];
          std::uint64_t to = mine.place;
          for (auto i = begin; i < end; ++i) {
            if (!head(i)) continue;
            if (keys_out != nullptr) keys_out[to] = keys[i];
            if (values_out != nullptr) copy(to, i);
            if (to == mine.place)
              mine.first = i;
            else if (lengths != nullptr)
              lengths[to - 1] = static_cast<Length>(i - mine.last);
            mine.last = i;
            ++to;
          }
        });
        // A piece's last run ends where a later piece's first begins.
        std::uint64_t end = n;
        for (auto p = pieces.rbegin(); lengths != nullptr && p != pieces.rend(); ++p) {
          if (p->runs == 0) continue;
          lengths[p->place + p->runs - 1] = static_cast<Length>(end - p->last);
          end = p->first;
        }
      });
    });
  });
  return runs;
}

void merge(const Problem& problem, std::uint64_t a_count, const MergePlan::Operands& o) {
  const KeyRank rank(problem);
  const std::uint64_t b_count = problem.count - a_count;
  with_key(problem, [&](auto key) {
    using Key = decltype(key);
    const auto *const a = at<const Key>(o.a_keys), *const b = at<const Key>(o.b_keys);
    auto* const keys_out = at<Key>(o.keys_out);
    // How many of a there are among the first of the merged order.
    const auto cut = [&](std::uint64_t diagonal) {
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
    };
    with_number(problem.value_bytes, [&](auto value) {
      using Value = decltype(value);
      const bool has_values = problem.payload != Payload::none;
      const auto *const a_values = at<const Value>(o.a_values), *const b_values =
                                                                    at<const Value>(o.b_values);
      auto* const values_out = at<Value>(o.values_out);
      in_pieces(problem.count, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
        std::uint64_t left = cut(begin), right = begin - left;
        for (auto to = begin; to < end; ++to) {
          const bool from_a =
              left < a_count && (right == b_count || rank(a[left]) <= rank(b[right]));
          keys_out[to] = from_a ? a[left] : b[right];
          if (has_values) values_out[to] = from_a ? a_values[left] : b_values[right];
          left += from_a;
          right += !from_a;
        }
      });
    });
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
