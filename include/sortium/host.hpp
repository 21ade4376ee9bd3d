// What all calls on host memory share: options, operands, the report, and the ranges they accept.
#pragma once

#include <sortium/export.h>

#include <atomic>
#include <concepts>
#include <cstdint>
#include <new>
#include <ranges>
#include <sortium/problem.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sortium {

class Device;

// How to sort host memory. Calls that do not sort (search.hpp, permute.hpp) throw
// Error(invalid_argument) if algorithm, parameters, max_scratch_bytes or max_device_bytes is given.
struct Options {
  Order order = Order::ascending;
  unsigned begin_bit = 0, end_bit = 0;  // as in Problem
  NanOrder nan = NanOrder::last;
  ZeroOrder zeros = ZeroOrder::tied;
  // As for find_device(); "": auto. Sorts also take several devices: see find_devices() in
  // distributed.hpp.
  std::string device{};
  std::string algorithm = "auto";
  std::string parameters{};
  std::uint64_t max_scratch_bytes = 0;  // as in Method
  // The most device memory that the sort may use, scratch memory included; 0: seven eighths of what
  // is free. A list that needs more is sorted in ranges, see sort_host(). No limit for cpu:0, which
  // has no memory of its own.
  std::uint64_t max_device_bytes = 0;
  // Set it to true, from any thread or a signal handler, to end the call with Error(cancelled).
  const std::atomic<bool>* stop = nullptr;
};

// What sort_host() did, and how long it took.
struct HostReport {
  std::string_view device, algorithm;  // names; valid until the process ends
  std::string parameters;  // of the algorithm; empty if the calling thread sorted few records
  bool stable = true;
  std::uint64_t run_length = 0;  // for a partial sort: records in a sorted run; else 0
  double plan_seconds = 0;       // finding the device, building kernels
  double transfer_seconds = 0;   // allocating, copying to the device and back
  double sort_seconds = 0;       // from enqueueing to the end; 0 for few records (not timed)
};

// Arrays in host memory, of any alignment. Two of them must not overlap, except that keys_out may
// be keys_in and values_out may be values_in. An array that the problem does not use must be null.
struct HostOperands {
  const void* keys_in = nullptr;
  void* keys_out = nullptr;  // may be keys_in
  const void* values_in = nullptr;
  void* values_out = nullptr;     // may be values_in
  const void* offsets = nullptr;  // for segments: Problem::segments + 1 numbers of offset_bytes;
                                  // null if offset_bytes is 0
};

// Sorts host memory as `problem` says; the templates of sort.hpp, segments.hpp and topk.hpp call
// it. Waits for the result. If it throws, memory is as it was before, with the two exceptions
// below. Throws Error: invalid_argument naming the field or operand, out_of_memory, cancelled, and
// what find_device() and Plan's constructor throw.
//
// Values have 1 to 256 bytes. Values of 4 and 8 bytes move with their keys; others move once, at
// the end (records.hpp). A CPU sorts arrays in place, without a copy, if they are aligned to their
// elements' size. Other arrays, and arrays for other devices, are copied to the device and back.
//
// If neither device nor algorithm is named, the calling thread sorts few records, since a GPU's
// copies and launches take longer: up to 2^15 records, up to 2^18 bytes of keys of 2, 4 or 8 bytes
// without values, and up to 2^16 positions by keys of 1 or 2 bytes. On machines with four cores and
// more, the first two limits are a quarter of that (half for 2-byte keys with values; 1-byte keys
// keep theirs). It sorts up to 16 records even if SORTIUM_DEVICE is set.
//
// cpu:0 keeps one sort's scratch memory for the next, up to an eighth of the machine's memory. A
// CUDA device keeps up to an eighth of its own, as long as a quarter of it is free.
//
// Cost: that of the algorithm (AlgorithmInfo::cost), and of the copies.
//
// A list that needs more than options.max_device_bytes is sorted in ranges: first chunks are
// sorted, then ranges of the whole order, each of which fits. Sorts with segments or a limit do not
// use ranges. Ranges need more host memory: an eighth of all records' bytes, and a copy of keys
// that are only read.
//
// Two failures change memory. If a sort in ranges fails after it has begun, an array that is sorted
// in place holds the same records in another order. If a device fails while the result is copied
// back, an array that is written holds part of it.
SORTIUM_API HostReport sort_host(const Problem& problem, const HostOperands& operands,
                                 const Options& options = {});

// A measured time of a sort of u32 keys in host memory, copies included.
struct HostSortTime {
  std::uint64_t count;
  double seconds;
};
// Returns the device's times for lists of 2^16, 2^20 and 2^23 keys; empty if it cannot sort. `auto`
// compares such times, also of other types and payloads, to choose between cpu:0 and GPUs for lists
// of at least 2^16 records. They are measured when they are first needed (0.1 to 0.5 s for each
// device); the cache directory keeps them.
[[nodiscard]] SORTIUM_API std::vector<HostSortTime> host_sort_times(Device& device);

template <class T>
concept Key = requires {
  key_type_of<std::remove_const_t<T>>::value;
};
template <class T>
concept Value = std::is_trivially_copyable_v<T> && sizeof(T) <= 256;
template <class R>
concept KeyRange = std::ranges::contiguous_range<R> && Key<std::ranges::range_value_t<R>>;
template <class R>
concept ValueRange = std::ranges::contiguous_range<R> && Value<std::ranges::range_value_t<R>>;

namespace detail {
template <class K>
Problem problem_of(std::uint64_t count, const Options& options) {
  return {.key = key_type_of<K>::value,
          .count = count,
          .order = options.order,
          .begin_bit = options.begin_bit,
          .end_bit = options.end_bit,
          .nan = options.nan,
          .zeros = options.zeros};
}
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
// Throws Error(invalid_argument) if the lengths differ.
SORTIUM_API void check_lengths(std::uint64_t keys, std::uint64_t values);
// Throws Error(out_of_memory) naming the bytes that could not be allocated.
[[noreturn]] SORTIUM_API void out_of_host_memory(std::uint64_t elements,
                                                 std::uint64_t element_bytes);
// Makes the system provide the pages of new memory, on all cores and as large pages: one thread
// that touches them first takes several times as long. A hint; it may do nothing.
SORTIUM_API void provide_pages(void* memory, std::uint64_t bytes) noexcept;
template <class T>
std::vector<T> vector_of(std::uint64_t count) {
  constexpr std::uint64_t large = std::uint64_t{1} << 25;  // bytes; malloc maps such blocks anew
  if (count <= std::vector<T>().max_size()) try {
      std::vector<T> out;
      out.reserve(count);
      if (count * sizeof(T) >= large) provide_pages(out.data(), count * sizeof(T));
      out.resize(count);
      return out;
    } catch (const std::bad_alloc&) {
    }
  out_of_host_memory(count, sizeof(T));
}
// Throws Error(invalid_argument) unless 1 <= k <= count.
SORTIUM_API void check_k(std::uint64_t k, std::uint64_t count);
// Throws Error(invalid_argument) naming a field of `options` that `call` does not use but that the
// caller has set: algorithm, parameters, max_scratch_bytes, max_device_bytes.
SORTIUM_API void refuse_method(const Options& options, std::string_view call);
}  // namespace detail

}  // namespace sortium
