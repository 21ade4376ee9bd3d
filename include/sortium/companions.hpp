// What goes with a sort: is it sorted, the first records, unique, merge, searches, nth_element. All
// of them in the order of a Problem: key, order, begin_bit and end_bit, nan, zeros. Two keys are
// equal where that order ties them.
//
//   auto best = sortium::topk(scores, 10, {.order = sortium::Order::descending});
//   sortium::sort(keys);
//   keys.resize(sortium::unique(keys));
//   auto places = sortium::lower_bound(keys, needles);
//
// On host memory they run where Options::device says; where it says nothing, on cpu:0: each reads
// its input once or a few times, which takes less than a copy to a GPU. On device memory there is
// an object for each, made once as a Plan is: its constructor builds the kernels, run() only
// enqueues (cpu:0 does it at once). All throw sortium::Error as Plan does.
#pragma once

#include <memory>
#include <sortium/sortium.hpp>
#include <string>
#include <utility>
#include <vector>

namespace sortium {

// ---------------------------------------------------------------------------------------------
// Device memory
// ---------------------------------------------------------------------------------------------

class CompanionPlan {
 public:
  // Bytes of device memory that run() must be given as scratch.
  [[nodiscard]] std::uint64_t scratch_bytes() const;
  [[nodiscard]] const Problem& problem() const;

  struct Impl;  // internal

 protected:
  explicit CompanionPlan(std::unique_ptr<Impl> impl);
  CompanionPlan(CompanionPlan&&) noexcept;
  CompanionPlan& operator=(CompanionPlan&&) noexcept;
  ~CompanionPlan();
  std::unique_ptr<Impl> impl_;
};

// Of all these the problem is one without segments and limit; payload and keys_out matter only
// where it is said.

// Reads problem.count keys once. `result`, a u64: the first position whose record sorts after the
// next one; count where the keys are sorted.
class IsSortedPlan : public CompanionPlan {
 public:
  IsSortedPlan(std::shared_ptr<Device> device, const Problem& problem);
  struct Operands {
    Memory keys, result, scratch;
  };
  void run(Queue& queue, const Operands& operands) const;
};

// The first record of each run of equal keys, in the order of the input; of sorted keys, each
// distinct one once. keys_out and values_out (with a payload; with positions values_in is not read,
// and they say where runs begin) have room for `count` records. Values have 1 to 256 bytes, and are
// aligned as columns are (RecordOperands). `runs`, a u64: how many there are. `lengths`, where
// length_bytes is not 0: for each run how many records it has, numbers of 4 or 8 bytes, room for
// `count` of them. Reads the keys twice; writes the runs.
class UniquePlan : public CompanionPlan {
 public:
  UniquePlan(std::shared_ptr<Device> device, const Problem& problem, unsigned length_bytes = 0);
  struct Operands {
    Memory keys_in, keys_out, values_in, values_out, lengths, runs, scratch;
  };
  void run(Queue& queue, const Operands& operands) const;
};

// Two sorted ranges become one: stable, and of equals those of a come first. problem.count is that
// of both together; a has a_count of them. Payload none or values. Reads and writes each record
// once. Green, McColl, Bader, "GPU merge path" (2012).
class MergePlan : public CompanionPlan {
 public:
  MergePlan(std::shared_ptr<Device> device, const Problem& problem, std::uint64_t a_count);
  struct Operands {
    Memory a_keys, b_keys, keys_out, a_values, b_values, values_out, scratch;
  };
  void run(Queue& queue, const Operands& operands) const;
};

enum class Bound : std::uint8_t {
  lower,  // how many of the sorted keys come before the needle
  upper,  // how many come before it or equal it
};
// For each of `needles` keys, its place in problem.count sorted ones: numbers of
// problem.value_bytes (4 or 8). log2(count) reads a needle.
class SearchPlan : public CompanionPlan {
 public:
  SearchPlan(std::shared_ptr<Device> device, const Problem& problem, std::uint64_t needles,
             Bound bound);
  struct Operands {
    Memory keys, needles, places;
  };
  void run(Queue& queue, const Operands& operands) const;
};

// The records in three groups: those before the one that a sort would put at place n (0 ≤ n <
// count), those that tie with it, those after it; each group in the order of the input. All
// payloads; keys_out false with positions. Out of place. Reads the keys bits/11 + 2 times, and
// writes each record once.
class NthElementPlan : public CompanionPlan {
 public:
  NthElementPlan(std::shared_ptr<Device> device, const Problem& problem, std::uint64_t n);
  void run(Queue& queue, const Operands& operands) const;  // offsets: none
};

// ---------------------------------------------------------------------------------------------
// Host memory. The functions that the templates below are made of wait for the result. `device` as
// Options::device.
// ---------------------------------------------------------------------------------------------

// The first position whose record sorts after the next one; count where the keys are sorted.
[[nodiscard]] std::uint64_t first_unsorted_host(const Problem& problem, const void* keys,
                                                const std::string& device = {});
// As UniquePlan, `lengths` null for none; keys_out may be keys_in, and values_out values_in. Gives
// the number of runs.
std::uint64_t unique_host(const Problem& problem, const HostOperands& operands,
                          void* lengths = nullptr, unsigned length_bytes = 4,
                          const std::string& device = {});
struct HostMergeOperands {
  const void *a_keys = nullptr, *b_keys = nullptr;
  void* keys_out = nullptr;
  const void *a_values = nullptr, *b_values = nullptr;
  void* values_out = nullptr;
};
void merge_host(const Problem& problem, std::uint64_t a_count, const HostMergeOperands& operands,
                const std::string& device = {});
void search_host(const Problem& problem, const void* keys, const void* needles,
                 std::uint64_t needle_count, void* places, Bound bound,
                 const std::string& device = {});
// As NthElementPlan; keys_out may be keys_in, and values_out values_in.
void nth_element_host(const Problem& problem, std::uint64_t n, const HostOperands& operands,
                      const std::string& device = {});

namespace detail {
template <class R>
using element = std::remove_cv_t<std::ranges::range_value_t<R>>;
template <class R>
Problem problem_of_range(const R& keys, const Options& options) {
  return problem_of<element<R>>(std::ranges::size(keys), options);
}
template <class R>
Problem problem_with_values(const R& keys, unsigned value_bytes, const Options& options) {
  auto p = problem_of_range(keys, options);
  p.payload = Payload::values;
  p.value_bytes = value_bytes;
  return p;
}
}  // namespace detail

template <KeyRange Keys>
[[nodiscard]] bool is_sorted(const Keys& keys, const Options& options = {}) {
  const auto p = detail::problem_of_range(keys, options);
  return first_unsorted_host(p, std::ranges::data(keys), options.device) == p.count;
}

// The first k keys of the sorted order, sorted. Throws Error(invalid_argument) where k is 0 or more
// than there are.
template <KeyRange Keys>
[[nodiscard]] std::vector<detail::element<Keys>> topk(const Keys& keys, std::uint64_t k,
                                                      const Options& options = {}) {
  auto p = detail::problem_of_range(keys, options);
  detail::check_k(k, p.count);
  p.limit = k;
  auto out = detail::vector_of<detail::element<Keys>>(k);
  sort_host(p, {std::ranges::data(keys), out.data()}, options);
  return out;
}

// The first k records: keys and their values, of any size up to 256 bytes.
template <KeyRange Keys, ValueRange Values>
[[nodiscard]] std::pair<std::vector<detail::element<Keys>>, std::vector<detail::element<Values>>>
topk(const Keys& keys, const Values& values, std::uint64_t k, const Options& options = {}) {
  detail::check_lengths(std::ranges::size(keys), std::ranges::size(values));
  auto p = detail::problem_with_values(keys, sizeof(detail::element<Values>), options);
  detail::check_k(k, p.count);
  p.limit = k;
  auto out = std::pair(detail::vector_of<detail::element<Keys>>(k),
                       detail::vector_of<detail::element<Values>>(k));
  sort_host(
      p, {std::ranges::data(keys), out.first.data(), std::ranges::data(values), out.second.data()},
      options);
  return out;
}

// The positions of the first k records.
template <class Index = std::uint32_t, KeyRange Keys>
requires std::same_as<Index, std::uint32_t> || std::same_as<Index, std::uint64_t>
[[nodiscard]] std::vector<Index> argtopk(const Keys& keys, std::uint64_t k,
                                         const Options& options = {}) {
  auto p = detail::problem_of_range(keys, options);
  detail::check_k(k, p.count);
  p.payload = Payload::positions;
  p.value_bytes = sizeof(Index);
  p.keys_out = false;
  p.limit = k;
  auto out = detail::vector_of<Index>(k);
  sort_host(p, {std::ranges::data(keys), nullptr, nullptr, out.data()}, options);
  return out;
}

// Moves the first key of each run of equal ones to the front of `keys`, and gives how many there
// are. What is behind them keeps its old bits or not.
template <KeyRange Keys>
std::uint64_t unique(Keys&& keys, const Options& options = {}) {
  auto* const k = std::ranges::data(keys);
  return unique_host(detail::problem_of_range(keys, options), {k, k}, nullptr, 4, options.device);
}
// The same, with the values of those keys, of any size up to 256 bytes.
template <KeyRange Keys, ValueRange Values>
std::uint64_t unique(Keys&& keys, Values&& values, const Options& options = {}) {
  detail::check_lengths(std::ranges::size(keys), std::ranges::size(values));
  auto* const k = std::ranges::data(keys);
  auto* const v = std::ranges::data(values);
  return unique_host(detail::problem_with_values(keys, sizeof(*v), options), {k, k, v, v}, nullptr,
                     4, options.device);
}

// The same for two ranges of one type: see sort().
template <KeyRange Keys>
requires ValueRange<Keys> std::uint64_t unique(Keys&& keys, Keys&& values, const Options& options) {
  return unique<Keys&, Keys&>(keys, values, options);
}

// Both sorted ranges as one.
template <KeyRange A, KeyRange B>
requires std::same_as<detail::element<A>, detail::element<B>>
[[nodiscard]] std::vector<detail::element<A>> merge(const A& a, const B& b,
                                                    const Options& options = {}) {
  auto p = detail::problem_of_range(a, options);
  const std::uint64_t a_count = p.count;
  p.count += std::ranges::size(b);
  auto out = detail::vector_of<detail::element<A>>(p.count);
  merge_host(p, a_count, {std::ranges::data(a), std::ranges::data(b), out.data()}, options.device);
  return out;
}

// For each needle the first place in `sorted` where it could be put and leave it sorted.
template <class Index = std::uint32_t, KeyRange Keys, KeyRange Needles>
requires std::same_as<detail::element<Keys>, detail::element<Needles>> &&
    (std::same_as<Index, std::uint32_t> || std::same_as<Index, std::uint64_t>)
        [[nodiscard]] std::vector<Index> lower_bound(const Keys& sorted, const Needles& needles,
                                                     const Options& options = {}) {
  auto p = detail::problem_of_range(sorted, options);
  p.value_bytes = sizeof(Index);
  auto out = detail::vector_of<Index>(std::ranges::size(needles));
  search_host(p, std::ranges::data(sorted), std::ranges::data(needles), out.size(), out.data(),
              Bound::lower, options.device);
  return out;
}
// The last such place.
template <class Index = std::uint32_t, KeyRange Keys, KeyRange Needles>
requires std::same_as<detail::element<Keys>, detail::element<Needles>> &&
    (std::same_as<Index, std::uint32_t> || std::same_as<Index, std::uint64_t>)
        [[nodiscard]] std::vector<Index> upper_bound(const Keys& sorted, const Needles& needles,
                                                     const Options& options = {}) {
  auto p = detail::problem_of_range(sorted, options);
  p.value_bytes = sizeof(Index);
  auto out = detail::vector_of<Index>(std::ranges::size(needles));
  search_host(p, std::ranges::data(sorted), std::ranges::data(needles), out.size(), out.data(),
              Bound::upper, options.device);
  return out;
}

// The same for ranges of one type: with `using namespace sortium`, those above alone would be
// ambiguous with std::lower_bound(first, last, value).
template <class Index = std::uint32_t, KeyRange Keys>
[[nodiscard]] std::vector<Index> lower_bound(const Keys& sorted, const Keys& needles,
                                             const Options& options) {
  return lower_bound<Index, Keys, Keys>(sorted, needles, options);
}
template <class Index = std::uint32_t, KeyRange Keys>
[[nodiscard]] std::vector<Index> upper_bound(const Keys& sorted, const Keys& needles,
                                             const Options& options) {
  return upper_bound<Index, Keys, Keys>(sorted, needles, options);
}

// Rearranges `keys` so that the n-th is the one that a sort would put there, with none after it
// before, and none before it after; each of the three groups keeps its order.
template <KeyRange Keys>
void nth_element(Keys&& keys, std::uint64_t n, const Options& options = {}) {
  auto* const k = std::ranges::data(keys);
  nth_element_host(detail::problem_of_range(keys, options), n, {k, k}, options.device);
}
template <KeyRange Keys, ValueRange Values>
void nth_element(Keys&& keys, Values&& values, std::uint64_t n, const Options& options = {}) {
  detail::check_lengths(std::ranges::size(keys), std::ranges::size(values));
  auto* const k = std::ranges::data(keys);
  auto* const v = std::ranges::data(values);
  nth_element_host(detail::problem_with_values(keys, sizeof(*v), options), n, {k, k, v, v},
                   options.device);
}

}  // namespace sortium
