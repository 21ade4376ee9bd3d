#include "io/host_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
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
    return p.segments != 0 ? element(o.offsets, p.offset_bytes, r) : std::min(p.count, r * run);
  };
  std::vector<Entry> expected;
  for (std::uint64_t r = 0; r < runs; ++r) {
    const std::uint64_t first = begin(r), last = begin(r + 1);
    expected.clear();
    for (std::uint64_t i = first; i < last; ++i)
      expected.emplace_back(rank(p, element(o.keys_in, width, i)), i);
    constexpr std::uint64_t few = 4096;  // starting the other cores takes longer than sorting these
    if (last - first < few)
      std::ranges::sort(expected);
    else
      fast_sort(expected.begin(), expected.end());
    if (p.limit != 0 && expected.size() > p.limit)
      expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(p.limit), expected.end());
    auto mistake = stable ? checker.stable(first, expected) : checker.unstable(first, expected);
    if (mistake) return mistake;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> find_mistake(const Problem& p, const HostOperands& o, bool stable,
                                        std::uint64_t run_length) {
  const bool narrow = sortium::info(p.key).bytes <= 4 && p.count <= (std::uint64_t{1} << 32);
  return narrow ? check<Packed>(p, o, stable, run_length) : check<Wide>(p, o, stable, run_length);
}

}  // namespace app
