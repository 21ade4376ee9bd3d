#include "io/host_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <compare>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include "cli/common.hpp"
#include "io/host_sort.hpp"
#include "io/text.hpp"

namespace app {

using sortium::HostOperands;
using sortium::Payload;
using sortium::Problem;

namespace {

// An input record as one number, made of its rank and, below it, its position. To sort these
// numbers is to sort the records stably.
struct Packed {  // rank and position have 32 bits each
  std::uint64_t word;
  Packed(std::uint64_t rank, std::uint64_t position) : word(rank << 32 | position) {}
  [[nodiscard]] std::uint64_t rank() const { return word >> 32; }
  [[nodiscard]] std::uint64_t position() const { return word & 0xffffffff; }
  auto operator<=>(const Packed&) const = default;
};
struct Wide {
  std::uint64_t rank_, position_;
  Wide(std::uint64_t rank, std::uint64_t position) : rank_(rank), position_(position) {}
  [[nodiscard]] std::uint64_t rank() const { return rank_; }
  [[nodiscard]] std::uint64_t position() const { return position_; }
  auto operator<=>(const Wide&) const = default;
};

class Checker {
 public:
  Checker(const Problem& problem, const HostOperands& operands)
      : p_(problem), o_(operands), width_(sortium::info(problem.key).bytes) {}

  // Compares the output from record `first` on with the input records in the expected order.
  // Returns a description of the first difference.
  template <class Entry>
  std::optional<std::string> stable(std::uint64_t first, const std::vector<Entry>& expected) const {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const Record want = input(expected[i].position()), have = output(first + i);
      if (want != have) return differ(first + i, want, have);
    }
    return std::nullopt;
  }

  // The same as stable(), but records of equal rank may be in any order.
  template <class Entry>
  std::optional<std::string> unstable(std::uint64_t first,
                                      const std::vector<Entry>& expected) const {
    std::vector<Record> want, have;
    for (std::size_t begin = 0, end = 0; begin < expected.size(); begin = end) {
      want.clear();
      have.clear();
      for (; end < expected.size() && expected[end].rank() == expected[begin].rank(); ++end) {
        want.push_back(input(expected[end].position()));
        have.push_back(output(first + end));
      }
      std::ranges::sort(want);
      std::ranges::sort(have);
      const auto [w, h] = std::ranges::mismatch(want, have);
      if (w != want.end()) return differ(first + begin, *w, *h);
    }
    return std::nullopt;
  }

 private:
  struct Record {
    std::uint64_t key, value;
    auto operator<=>(const Record&) const = default;
  };

  Record input(std::uint64_t i) const {
    const std::uint64_t key = element(o_.keys_in, width_, i);
    if (p_.payload == Payload::none) return {key, 0};
    return {key, p_.payload == Payload::positions ? i : element(o_.values_in, p_.value_bytes, i)};
  }

  Record output(std::uint64_t i) const {
    const std::uint64_t value =
        p_.payload == Payload::none ? 0 : element(o_.values_out, p_.value_bytes, i);
    if (p_.keys_out) return {element(o_.keys_out, width_, i), value};
    // An argsort writes no keys: the position tells which key it is, if it is within the input.
    return {value < p_.count ? element(o_.keys_in, width_, value) : 0, value};
  }

  std::string differ(std::uint64_t i, const Record& want, const Record& have) const {
    const auto words = [&](const Record& r) {
      std::string out = format_key(r.key, p_.key);
      if (p_.payload == Payload::values) out += fmt::format(" with value 0x{:x}", r.value);
      if (p_.payload == Payload::positions) out += fmt::format(" from position {}", r.value);
      return out;
    };
    return fmt::format("record {} is {} where {} belongs", i, words(have), words(want));
  }

  const Problem& p_;
  const HostOperands& o_;
  unsigned width_;
};

template <class Entry>
std::optional<std::string> check(const Problem& p, const HostOperands& o, bool stable,
                                 std::uint64_t run_length) {
  const Checker checker(p, o);
  const unsigned width = sortium::info(p.key).bytes;
  const std::uint64_t run = run_length == 0 ? std::max<std::uint64_t>(p.count, 1) : run_length;
  const std::uint64_t runs = p.segments != 0 ? p.segments : (p.count + run - 1) / run;
  const auto begin = [&](std::uint64_t r) {
    return p.segments == 0       ? std::min(p.count, r * run)
           : p.offset_bytes == 0 ? r * (p.count / p.segments)
                                 : element(o.offsets, p.offset_bytes, r);
  };
  std::vector<Entry> expected;
  for (std::uint64_t r = 0; r < runs; ++r) {
    const std::uint64_t first = begin(r), last = begin(r + 1);
    expected.clear();
    expected.reserve(last - first);
    for (std::uint64_t i = first; i < last; ++i)
      expected.emplace_back(rank(p, element(o.keys_in, width, i)), i);
    constexpr std::uint64_t few = 4096;  // starting the other cores takes longer than sorting these
    if (last - first < few)
      std::ranges::sort(expected);
    else
      fast_sort(expected.begin(), expected.end());
    if (p.limit != 0 && expected.size() > p.limit)
      expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(p.limit), expected.end());
    const std::uint64_t out = p.limit != 0 ? r * p.limit : first;  // the list's first output record
    auto mistake = stable ? checker.stable(out, expected) : checker.unstable(out, expected);
    if (mistake) return mistake;
  }
  return std::nullopt;
}

// Calls body(i) for each i < count, on all cores. Not a template: those of the parallel algorithms
// take a second to compile for each body.
void for_all(std::size_t count, const std::function<void(std::size_t)>& body) {
  std::vector<std::size_t> all(count);
  std::iota(all.begin(), all.end(), std::size_t{0});
  fast_for_each(all.begin(), all.end(), body);
}

// Calls body(first, last) for consecutive ranges of [0, count), on all cores. Returns the ranges'
// results, in their order.
template <class Body>
auto for_ranges(std::uint64_t count, const Body& body) {
  constexpr std::uint64_t length = std::uint64_t{1} << 16;
  using Result = decltype(body(count, count));
  std::vector<Result> results((count + length - 1) / length);
  for_all(results.size(),
          [&](std::size_t i) { results[i] = body(i * length, std::min(count, (i + 1) * length)); });
  return results;
}

std::uint64_t mixed(std::uint64_t x) {  // the last step of SplitMix64
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

// Sees that the result of a whole list is right without sorting the list. Keys have the unsigned
// type Key. Without values, Value is Key and is not read.
template <class Key, class Value>
class QuickCheck {
 public:
  QuickCheck(const Problem& problem, const HostOperands& o)
      : p_(problem),
        rank_(problem),
        keys_in_(static_cast<const Key*>(o.keys_in)),
        keys_out_(problem.keys_out ? static_cast<const Key*>(o.keys_out) : nullptr),
        values_in_(static_cast<const Value*>(o.values_in)),
        values_out_(static_cast<const Value*>(o.values_out)) {
    std::random_device random;
    seed_ = std::uint64_t{random()} << 32 | random();
  }

  // Returns true if the result is right. If it returns false, the result is wrong, or more than
  // half of the records would have to be sorted to know.
  [[nodiscard]] bool passes(bool stable) const {
    const bool by_position = stable && p_.payload == Payload::positions;
    Findings all;
    for (const auto& f : for_ranges(p_.count, [&](std::uint64_t first, std::uint64_t last) {
           return look(first, last, by_position);
         })) {
      all.ordered &= f.ordered;
      all.ties += f.ties;
      all.in += f.in;
      all.out += f.out;
    }
    if (!all.ordered || all.in != all.out) return false;
    if (!stable || by_position || all.ties == 0) return true;
    if (all.ties > p_.count / 2) return false;
    return narrow(p_) ? ties_keep_their_order<Packed>(all.ties)
                      : ties_keep_their_order<Wide>(all.ties);
  }

  static bool narrow(const Problem& p) {
    return sizeof(Key) <= 4 && p.count <= (std::uint64_t{1} << 32);
  }

 private:
  // Records, or marks, are loaded in blocks before any is used, so that cache misses overlap.
  static constexpr std::uint64_t block = 256;

  struct Record {
    Key key;
    Value value;
    bool operator==(const Record&) const = default;
  };
  struct Findings {
    bool ordered = true;
    std::uint64_t ties = 0;         // records that tie with a different record before them
    std::uint64_t in = 0, out = 0;  // the sum of the hashes of all records
  };

  Record input(std::uint64_t i) const {
    if (p_.payload == Payload::none) return {keys_in_[i], 0};
    return {keys_in_[i], p_.payload == Payload::positions ? static_cast<Value>(i) : values_in_[i]};
  }
  Record output(std::uint64_t i) const {
    if (p_.payload == Payload::none) return {keys_out_[i], 0};
    const Value value = values_out_[i];
    if (keys_out_) return {keys_out_[i], value};
    // An argsort: a position past the end matches no input record's hash.
    return {value < p_.count ? keys_in_[value] : Key{}, value};
  }

  std::uint64_t hash(const Record& r) const {
    const std::uint64_t key = mixed(r.key ^ seed_);
    return p_.payload == Payload::none ? key : mixed(key + r.value);
  }

  // With `by_position`, ties must be in the order of their positions.
  Findings look(std::uint64_t first, std::uint64_t last, bool by_position) const {
    Findings f;
    Record before = output(first == 0 ? 0 : first - 1);
    std::uint64_t rank_before = rank_(before.key);
    std::array<Record, block> records;
    for (std::uint64_t begin = first; begin < last; begin += block) {
      const std::uint64_t count = std::min(block, last - begin);
      for (std::uint64_t i = 0; i < count; ++i) records[i] = output(begin + i);
      for (std::uint64_t i = 0; i < count; ++i) {
        const Record now = records[i];
        const std::uint64_t rank = rank_(now.key);
        const bool ties = rank_before == rank && now != before;
        f.ordered &= rank_before <= rank && !(by_position && ties && now.value < before.value);
        f.ties += ties;
        f.in += hash(input(begin + i));
        f.out += hash(now);
        before = now;
        rank_before = rank;
      }
    }
    return f;
  }

  // Returns true if output record `i` ties with a neighbour.
  bool ties(std::uint64_t i) const {
    const std::uint64_t rank = rank_(output(i).key);
    return (i > 0 && rank_(output(i - 1).key) == rank) ||
           (i + 1 < p_.count && rank_(output(i + 1).key) == rank);
  }

  // The ranks that several output records have are marked in a table of bits, at a place that a
  // hash of the rank says. The input records whose place is marked are those of these ranks, and
  // some that no other record ties with. Sorts them, drops the latter, and compares the rest with
  // the output records that tie.
  template <class Entry>
  bool ties_keep_their_order(std::uint64_t number_of_ties) const {
    const std::uint64_t words = std::bit_ceil(number_of_ties / 4 + 1);  // 16 bits for each
    std::vector<std::atomic<std::uint64_t>> marks(words);
    const auto place = [&](std::uint64_t rank) { return mixed(rank + seed_) % (words * 64); };
    const auto of_output = for_ranges(p_.count, [&](std::uint64_t first, std::uint64_t last) {
      std::vector<std::uint64_t> places;
      for (std::uint64_t i = first; i < last; ++i) {
        if (!ties(i)) continue;
        places.push_back(i);
        const auto at = place(rank_(output(i).key));
        marks[at / 64].fetch_or(std::uint64_t{1} << at % 64, std::memory_order_relaxed);
      }
      return places;
    });
    const auto of_input = for_ranges(p_.count, [&](std::uint64_t first, std::uint64_t last) {
      std::vector<Entry> marked;
      std::array<bool, block> is_marked{};
      for (std::uint64_t begin = first; begin < last; begin += block) {
        const std::uint64_t count = std::min(block, last - begin);
        for (std::uint64_t i = 0; i < count; ++i) {
          const auto at = place(rank_(keys_in_[begin + i]));
          is_marked[i] = (marks[at / 64].load(std::memory_order_relaxed) >> at % 64 & 1) != 0;
        }
        for (std::uint64_t i = 0; i < count; ++i)
          if (is_marked[i]) marked.emplace_back(rank_(keys_in_[begin + i]), begin + i);
      }
      return marked;
    });
    std::vector<Entry> expected;
    for (const auto& part : of_input) expected.insert(expected.end(), part.begin(), part.end());
    fast_sort(expected.begin(), expected.end());
    std::size_t next = 0;
    const auto next_that_ties = [&] {
      for (;; ++next) {
        if (next == expected.size()) return false;
        const auto rank = expected[next].rank();
        if ((next > 0 && expected[next - 1].rank() == rank) ||
            (next + 1 < expected.size() && expected[next + 1].rank() == rank))
          return true;
      }
    };
    for (const auto& part : of_output)
      for (const std::uint64_t i : part) {
        if (!next_that_ties() || input(expected[next].position()) != output(i)) return false;
        ++next;
      }
    return !next_that_ties();
  }

  const Problem& p_;
  sortium::KeyRank rank_;
  const Key *keys_in_, *keys_out_;
  const Value *values_in_, *values_out_;
  std::uint64_t seed_ = 0;
};

// Returns true if the result is right and that is seen without a sort of the whole list.
bool passes_quickly(const Problem& p, const HostOperands& o, bool stable) {
  bool passed = false;
  with_word(sortium::info(p.key).bytes, [&](auto key) {
    using Key = decltype(key);
    if (p.payload == Payload::none)
      passed = QuickCheck<Key, Key>(p, o).passes(stable);
    else
      with_word(p.value_bytes, [&](auto value) {
        passed = QuickCheck<Key, decltype(value)>(p, o).passes(stable);
      });
  });
  return passed;
}

}  // namespace

std::optional<std::string> find_mistake(const Problem& p, const HostOperands& o, bool stable,
                                        std::uint64_t run_length) {
  const bool whole = p.segments == 0 && p.limit == 0 && (run_length == 0 || run_length >= p.count);
  const bool has_keys = p.keys_out || p.payload == Payload::positions;
  if (whole && has_keys && passes_quickly(p, o, stable)) return std::nullopt;
  const bool narrow = sortium::info(p.key).bytes <= 4 && p.count <= (std::uint64_t{1} << 32);
  return narrow ? check<Packed>(p, o, stable, run_length) : check<Wide>(p, o, stable, run_length);
}

}  // namespace app
