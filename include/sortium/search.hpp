// Operations on keys in the order of a Problem (key, order, begin_bit, end_bit, nan, zeros):
// is_sorted, unique, merge, lower_bound, upper_bound, nth_element. Two keys are equal if that order
// ties them.
//
//   sortium::sort(keys);
//   keys.resize(sortium::unique(keys));
//   auto places = sortium::lower_bound(keys, needles);
//
// On host memory, they run on Options::device. If it is empty, they run on cpu:0: each reads its
// input once or a few times, which takes less time than a copy to a GPU. On device memory, each
// operation has a class. Its constructor builds the kernels, and run() only enqueues (on cpu:0 it
// also does the work). All throw sortium::Error as Plan does.
#pragma once

#include <sortium/export.h>

#include <concepts>
#include <cstdint>
#include <memory>
#include <ranges>
#include <sortium/device.hpp>
#include <sortium/host.hpp>
#include <string>
#include <vector>

namespace sortium {

// ---------------------------------------------------------------------------------------------
// Device memory
// ---------------------------------------------------------------------------------------------

class SORTIUM_API OperationPlan {
 public:
  // Bytes of scratch memory that run() needs.
  [[nodiscard]] std::uint64_t scratch_bytes() const;
  [[nodiscard]] const Problem& problem() const;

  struct Impl;  // internal

 protected:
  explicit OperationPlan(std::unique_ptr<Impl> impl);
  OperationPlan(OperationPlan&&) noexcept;
  OperationPlan& operator=(OperationPlan&&) noexcept;
  ~OperationPlan();
  std::unique_ptr<Impl> impl_;
};

// The problem of each class below must have no segments and no limit. A class ignores payload and
// keys_out unless its comment mentions them.

// Stores a u64 in `result`: the first i for which key i sorts after key i + 1, or problem.count if
// the keys are sorted. Reads the keys once.
class SORTIUM_API IsSortedPlan : public OperationPlan {
 public:
  IsSortedPlan(std::shared_ptr<Device> device, const Problem& problem);
  struct Operands {
    Memory keys, result, scratch;
  };
  void run(Queue& queue, const Operands& operands) const;
};

// Copies the first record of each run of equal keys, in the order of the input. So from sorted keys
// it copies each distinct key once.
//
// keys_out and values_out have capacity for `count` records. With Payload::positions, values_in is
// not read, and values_out receives the position where each run begins. Values have 1 to 256 bytes,
// and are aligned as columns are (RecordOperands). `runs`, a u64, receives the number of runs. If
// length_bytes (4 or 8) is not 0, `lengths` receives the length of each run; it has capacity for
// `count` numbers. Reads the keys twice; writes the runs.
class SORTIUM_API UniquePlan : public OperationPlan {
 public:
  UniquePlan(std::shared_ptr<Device> device, const Problem& problem, unsigned length_bytes = 0);
  struct Operands {
    Memory keys_in, keys_out, values_in, values_out, lengths, runs, scratch;
  };
  void run(Queue& queue, const Operands& operands) const;
};

// Merges two sorted ranges, a and b, into one. Stable; of equal keys, those of a come first.
// problem.count is the length of both together, a_count that of a. Payload none or values. Reads
// and writes each record once. Green, McColl, Bader, "GPU merge path" (2012).
class SORTIUM_API MergePlan : public OperationPlan {
 public:
  MergePlan(std::shared_ptr<Device> device, const Problem& problem, std::uint64_t a_count);
  struct Operands {
    Memory a_keys, b_keys, keys_out, a_values, b_values, values_out, scratch;
  };
  void run(Queue& queue, const Operands& operands) const;
};

enum class Bound : std::uint8_t {
  lower,  // the number of sorted keys before the needle
  upper,  // the number of sorted keys before the needle or equal to it
};
// Finds the place of each needle in problem.count sorted keys. Writes numbers of
// problem.value_bytes (4 or 8), one for each needle. Reads log2(count) keys per needle.
class SORTIUM_API SearchPlan : public OperationPlan {
 public:
  SearchPlan(std::shared_ptr<Device> device, const Problem& problem, std::uint64_t needles,
             Bound bound);
  struct Operands {
    Memory keys, needles, places;
  };
  void run(Queue& queue, const Operands& operands) const;
};

// Partitions the records around the one that a sort would put at place n (0 ≤ n < count): first
// those that sort before it, then those that tie with it, then those that sort after it. Each of
// the three keeps the order of the input. Takes all payloads; keys_out may be false with positions.
// Out of place. Reads the keys bits/11 + 2 times, and writes each record once.
class SORTIUM_API NthElementPlan : public OperationPlan {
 public:
  NthElementPlan(std::shared_ptr<Device> device, const Problem& problem, std::uint64_t n);
  void run(Queue& queue, const Operands& operands) const;  // operands.offsets must be empty
};

// ---------------------------------------------------------------------------------------------
// Host memory. The templates below call these functions, which wait for the result. `device` is as
// in Options::device.
// ---------------------------------------------------------------------------------------------

// Returns the first i for which key i sorts after key i + 1; count if the keys are sorted.
[[nodiscard]] SORTIUM_API std::uint64_t first_unsorted_host(const Problem& problem,
                                                            const void* keys,
                                                            const std::string& device = {});
// As UniquePlan. `lengths` may be null. keys_out may be keys_in, and values_out values_in. Returns
// the number of runs.
SORTIUM_API std::uint64_t unique_host(const Problem& problem, const HostOperands& operands,
                                      void* lengths = nullptr, unsigned length_bytes = 4,
                                      const std::string& device = {});
struct HostMergeOperands {
  const void *a_keys = nullptr, *b_keys = nullptr;
  void* keys_out = nullptr;
  const void *a_values = nullptr, *b_values = nullptr;
  void* values_out = nullptr;
};
// As MergePlan.
SORTIUM_API void merge_host(const Problem& problem, std::uint64_t a_count,
                            const HostMergeOperands& operands, const std::string& device = {});
// As SearchPlan: writes `needle_count` numbers of problem.value_bytes to `places`.
SORTIUM_API void search_host(const Problem& problem, const void* keys, const void* needles,
                             std::uint64_t needle_count, void* places, Bound bound,
                             const std::string& device = {});
// As NthElementPlan; keys_out may be keys_in, and values_out values_in.
SORTIUM_API void nth_element_host(const Problem& problem, std::uint64_t n,
                                  const HostOperands& operands, const std::string& device = {});

// Returns true if no key sorts after the next one. Reads the keys once.
template <KeyRange Keys>
[[nodiscard]] bool is_sorted(const Keys& keys, const Options& options = {}) {
  detail::refuse_method(options, "is_sorted");
  const auto p = detail::problem_of_range(keys, options);
  return first_unsorted_host(p, std::ranges::data(keys), options.device) == p.count;
}

// Moves the first key of each run of equal keys to the front of `keys`. Returns the number of runs.
// The keys behind them are unspecified.
template <KeyRange Keys>
std::uint64_t unique(Keys&& keys, const Options& options = {}) {
  detail::refuse_method(options, "unique");
  auto* const k = std::ranges::data(keys);
  return unique_host(detail::problem_of_range(keys, options), {k, k}, nullptr, 4, options.device);
}
// The same, and moves the values of those keys, of any size up to 256 bytes.
template <KeyRange Keys, ValueRange Values>
std::uint64_t unique(Keys&& keys, Values&& values, const Options& options = {}) {
  detail::refuse_method(options, "unique");
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

// Returns the merge of two sorted ranges; of equal keys, those of the first come first.
template <KeyRange A, KeyRange B>
requires std::same_as<detail::element<A>, detail::element<B>>
[[nodiscard]] std::vector<detail::element<A>> merge(const A& a, const B& b,
                                                    const Options& options = {}) {
  detail::refuse_method(options, "merge");
  auto p = detail::problem_of_range(a, options);
  const std::uint64_t a_count = p.count;
  p.count += std::ranges::size(b);
  auto out = detail::vector_of<detail::element<A>>(p.count);
  merge_host(p, a_count, {std::ranges::data(a), std::ranges::data(b), out.data()}, options.device);
  return out;
}

// Returns, for each needle, the first place in `sorted` where inserting it keeps the order. With
// std::uint32_t, `sorted` has up to 2^32 - 1 keys.
template <class Index = std::uint32_t, KeyRange Keys, KeyRange Needles>
requires std::same_as<detail::element<Keys>, detail::element<Needles>> &&
    (std::same_as<Index, std::uint32_t> || std::same_as<Index, std::uint64_t>)
        [[nodiscard]] std::vector<Index> lower_bound(const Keys& sorted, const Needles& needles,
                                                     const Options& options = {}) {
  detail::refuse_method(options, "lower_bound");
  auto p = detail::problem_of_range(sorted, options);
  p.value_bytes = sizeof(Index);
  auto out = detail::vector_of<Index>(std::ranges::size(needles));
  search_host(p, std::ranges::data(sorted), std::ranges::data(needles), out.size(), out.data(),
              Bound::lower, options.device);
  return out;
}
// Returns, for each needle, the last place in `sorted` where inserting it keeps the order. Index as
// for lower_bound.
template <class Index = std::uint32_t, KeyRange Keys, KeyRange Needles>
requires std::same_as<detail::element<Keys>, detail::element<Needles>> &&
    (std::same_as<Index, std::uint32_t> || std::same_as<Index, std::uint64_t>)
        [[nodiscard]] std::vector<Index> upper_bound(const Keys& sorted, const Needles& needles,
                                                     const Options& options = {}) {
  detail::refuse_method(options, "upper_bound");
  auto p = detail::problem_of_range(sorted, options);
  p.value_bytes = sizeof(Index);
  auto out = detail::vector_of<Index>(std::ranges::size(needles));
  search_host(p, std::ranges::data(sorted), std::ranges::data(needles), out.size(), out.data(),
              Bound::upper, options.device);
  return out;
}

// The same for two ranges of one type. With `using namespace sortium`, the overloads above alone
// would be ambiguous with std::lower_bound(first, last, value).
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

// Partially sorts `keys`: keys[n] becomes the key that a sort would put there. Keys that sort
// before it move in front of it, keys that sort after it move behind it. Keys on one side, and
// ties, keep their order.
template <KeyRange Keys>
void nth_element(Keys&& keys, std::uint64_t n, const Options& options = {}) {
  detail::refuse_method(options, "nth_element");
  auto* const k = std::ranges::data(keys);
  nth_element_host(detail::problem_of_range(keys, options), n, {k, k}, options.device);
}
template <KeyRange Keys, ValueRange Values>
void nth_element(Keys&& keys, Values&& values, std::uint64_t n, const Options& options = {}) {
  detail::refuse_method(options, "nth_element");
  detail::check_lengths(std::ranges::size(keys), std::ranges::size(values));
  auto* const k = std::ranges::data(keys);
  auto* const v = std::ranges::data(values);
  nth_element_host(detail::problem_with_values(keys, sizeof(*v), options), n, {k, k, v, v},
                   options.device);
}

}  // namespace sortium
