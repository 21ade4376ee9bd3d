// Sortium: sorting on whatever device a machine has. The one include for C++.
//
//   std::vector<float> keys = …;
//   sortium::sort(keys);                                   // in place, on the best device there is
//   sortium::sort(keys, particle_ids);                     // the values move with their keys;
//   stable auto order = sortium::argsort(keys);                   // keys[order[0]] <=
//   keys[order[1]] <= … sortium::sort_segments(keys, offsets);                 // each of the
//   segments between them by itself sortium::sort(keys, {.order = sortium::Order::descending,
//   .device = "opencl:0"});
//
// On device memory, make a Plan once and run it on your own queue or stream.
//
// Every sort is stable unless its algorithm's info() says otherwise. Floats: −0.0 and +0.0 tie, NaN
// comes last in both orders, and every key keeps its bits. Bad input throws sortium::Error before
// anything is written.
//
// Thread safety: all functions may be called from several threads at once; a Plan may be run from
// several threads at once where each has its own scratch memory and its own queue or the same one.
#pragma once

#include <atomic>
#include <bit>
#include <concepts>
#include <memory>
#include <new>
#include <ranges>
#include <sortium/core.hpp>
#include <sortium/device.hpp>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sortium {

// Every algorithm there is, for `Options::algorithm`.
[[nodiscard]] std::vector<AlgorithmInfo> algorithms();

struct Method {
  std::string algorithm = "auto";
  std::string parameters{};  // "name=value,…" of that algorithm
  // A ceiling for scratch memory; 0: none. "auto" takes a slower algorithm that keeps to it (down
  // to some hundredth of the records); where none does, Error(invalid_argument) says the least that
  // would do.
  std::uint64_t max_scratch_bytes = 0;
};

class Sorter;  // a room's planned sort; internal

// A sort of one Problem on one device: planned and compiled once, run as often as one likes.
class Plan {
 public:
  // Checks the problem, chooses algorithm and parameters, and builds the kernels (from the cache:
  // tens of milliseconds; else up to seconds). Allocates no device memory. Throws Error:
  // invalid_argument, not_found (algorithm), unsupported (the device cannot), build_failed.
  Plan(std::shared_ptr<Device> device, const Problem& problem, const Method& method = {});
  Plan(Plan&&) noexcept;
  Plan& operator=(Plan&&) noexcept;
  ~Plan();

  // The scratch memory that run() must be given. The same number without any device:
  // Plan::scratch_bytes_for.
  [[nodiscard]] std::uint64_t scratch_bytes() const;
  // Touches no device. `capabilities` may be sortium::capabilities(device), or filled in by hand.
  [[nodiscard]] static std::uint64_t scratch_bytes_for(const Problem& problem,
                                                       const Capabilities& capabilities,
                                                       const Method& method = {});

  // Enqueues the sort; allocates nothing, waits for nothing. (cpu:0 sorts at once, and allocates 8
  // bytes a record where 64-bit keys with values agree in most of their bits; Error(out_of_memory)
  // leaves the input as it was.) In place: keys_out = keys_in and values_out = values_in; else the
  // input is left as it was. Any other overlap is refused. Throws Error(invalid_argument) that
  // names the operand that is missing, too small, misaligned or overlapping.
  void run(Queue& queue, const Operands& operands) const;

  struct Phase {
    std::string name;
    double seconds;  // device time
    unsigned launches;
  };
  // Runs once, waits, and says where the device time went, phase by phase in the order of their
  // first launch. The queue must be able to trace.
  [[nodiscard]] std::vector<Phase> profile(Queue& queue, const Operands& operands) const;

  [[nodiscard]] const Problem& problem() const { return problem_; }
  [[nodiscard]] const AlgorithmInfo& algorithm() const { return *algorithm_; }
  [[nodiscard]] std::string parameters() const;  // those in force
  [[nodiscard]] std::uint64_t run_length()
      const;  // of a partial sort: records in a sorted run; else 0
  // The least that run() reads and writes of keys and values in device memory, out of place, in
  // bytes; 0 where the algorithm's design does not fix it.
  [[nodiscard]] std::uint64_t bytes_moved() const;

 private:
  std::shared_ptr<Device> device_;
  Problem problem_;
  const AlgorithmInfo* algorithm_ = nullptr;
  std::unique_ptr<Sorter> sorter_;
};

// A small sort with a known answer. The first Plan of its kind on a device and driver runs one by
// itself (once; the cache keeps that it passed; SORTIUM_SELF_TEST=off leaves it out): where the
// device's compiler got a kernel wrong, "auto" takes the next algorithm that passes, and a named
// one is refused with the case that failed.
struct SelfTest {
  std::string algorithm;
  Problem problem;
  bool supported;       // false: the device cannot run this algorithm; `failure` says why
  std::string failure;  // empty: passed
};
// Every algorithm that the device has, or the one that is named, with keys of several types, with
// and without values, now. Throws Error(not_found) for a name that no algorithm has.
[[nodiscard]] std::vector<SelfTest> self_test(Device& device, std::string_view algorithm = {});

// ---------------------------------------------------------------------------------------------
// Host memory
// ---------------------------------------------------------------------------------------------

struct Options {
  Order order = Order::ascending;
  unsigned begin_bit = 0, end_bit = 0;  // as in Problem
  NanOrder nan = NanOrder::last;
  ZeroOrder zeros = ZeroOrder::tied;
  std::string device{};  // as for find_device; "" and "auto": one that has the algorithm
  std::string algorithm = "auto";
  std::string parameters{};
  std::uint64_t max_scratch_bytes = 0;  // as in Method
};

// What sort_host did, and how long it took.
struct HostReport {
  std::string_view device, algorithm;  // names; valid for ever
  std::string
      parameters;  // those in force; none where few records are sorted on the calling thread
  bool stable = true;
  std::uint64_t run_length = 0;  // of a partial sort: records in a sorted run; else 0
  double plan_seconds = 0;       // finding the device, building kernels
  double transfer_seconds =
      0;  // allocating, copying to the device and back; 0 on a CPU, which sorts in place
  double sort_seconds =
      0;  // from enqueueing to the end; 0 where a sort of few records was not timed
};

struct HostOperands {
  const void* keys_in = nullptr;
  void* keys_out = nullptr;  // may be keys_in
  const void* values_in = nullptr;
  void* values_out = nullptr;     // may be values_in
  const void* offsets = nullptr;  // of segments: Problem::segments + 1 numbers of offset_bytes
};

// The sort of host memory that the templates below are made of; waits for the result. Where it
// throws, memory is as it was before: in particular with Error(out_of_memory), which says how much
// was asked for. Values may have 1 to 256 bytes: those of other than 4 and 8 are moved once, at the
// end (records.hpp). Where neither device nor algorithm is named, up to 2^14 records are sorted by
// the calling thread, as the way to a GPU and back takes longer; up to 16 whatever SORTIUM_DEVICE
// says. cpu:0 keeps the scratch memory of one sort for the next one, where it is no more than an
// eighth of the machine's.
HostReport sort_host(const Problem& problem, const HostOperands& operands,
                     const Options& options = {});

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
template <class R>  // of segments: where each begins, and where the last one ends
concept OffsetRange = std::ranges::contiguous_range<R> &&
    (std::same_as<std::ranges::range_value_t<R>, std::uint32_t> ||
     std::same_as<std::ranges::range_value_t<R>, std::uint64_t>);

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
void check_lengths(std::uint64_t keys, std::uint64_t values);
// A span may lie over the member of a packed struct.
template <class K>
bool is_aligned(const K* keys) {
  return reinterpret_cast<std::uintptr_t>(keys) % sizeof(K) == 0;
}
// Throws Error(out_of_memory) that says how many bytes the host does not have.
[[noreturn]] void out_of_host_memory(std::uint64_t elements, std::uint64_t element_bytes);
template <class T>
std::vector<T> vector_of(std::uint64_t count) {
  if (count <= std::vector<T>().max_size()) try {
      return std::vector<T>(count);
    } catch (const std::bad_alloc&) {
    }
  out_of_host_memory(count, sizeof(T));
}
// What the report of a sort of few records says; null until one has been made.
struct FewNames {
  std::string_view device, algorithm;
};
extern std::atomic<const FewNames*> few_names;
inline HostReport few_report(const FewNames& names) {
  HostReport report;  // without an initializer, for which compilers clear all of it first: that
                      // takes 10 ns
  report.device = names.device;
  report.algorithm = names.algorithm;
  return report;
}
// Three keys or fewer are sorted right here: a call would take longer.
constexpr std::uint64_t fewest = 3;
template <std::uint64_t N, class K>
void sort_here(K* keys) {
  using Bits = std::conditional_t<
      sizeof(K) == 1, std::uint8_t,
      std::conditional_t<sizeof(K) == 2, std::uint16_t,
                         std::conditional_t<sizeof(K) == 4, std::uint32_t, std::uint64_t>>>;
  using Code = std::conditional_t<std::is_unsigned_v<K>, Bits, std::make_signed_t<Bits>>;
  Bits key[N];
  Code code[N];
  for (std::uint64_t i = 0; i < N; ++i) {
    key[i] = std::bit_cast<Bits>(keys[i]);
    constexpr auto& type = info(key_type_of<K>::value);
    if constexpr (type.is_float) {
      code[i] = static_cast<Code>(signed_default_order(key[i], type.infinity, type.bits()));
    } else {
      code[i] = static_cast<Code>(key[i]);
    }
  }
  const auto order = [&](std::uint64_t i) {  // neighbours, so that ties stay in order
    const bool swap = code[i + 1] < code[i];
    const auto [k, c] = std::pair(key[i], code[i]);
    key[i] = swap ? key[i + 1] : k;
    code[i] = swap ? code[i + 1] : c;
    key[i + 1] = swap ? k : key[i + 1];
    code[i + 1] = swap ? c : code[i + 1];
  };
  order(0);
  if constexpr (N == 3) order(1), order(0);
  for (std::uint64_t i = 0; i < N; ++i) keys[i] = std::bit_cast<K>(key[i]);
}
// sort_host in place, with no options but the default ones: to make them, and a Problem, and to
// look at what they say, takes longer than to sort a few records. value_bytes is 0 where there are
// no values.
HostReport sort_by_default(KeyType key, std::uint64_t count, void* keys, unsigned value_bytes = 0,
                           void* values = nullptr);
void check_positions_of_none(std::uint64_t positions);
void check_k(std::uint64_t k, std::uint64_t count);  // 1 ≤ k ≤ count, or Error(invalid_argument)
// How many segments there are between so many offsets.
std::uint64_t segments_of(std::uint64_t offsets, std::uint64_t first, std::uint64_t keys);
// Gives whether there is anything to sort.
template <class Offsets>
bool set_segments(Problem& problem, const Offsets& offsets) {
  const std::uint64_t size = std::ranges::size(offsets);
  problem.segments = segments_of(size, size == 0 ? 0 : *std::ranges::data(offsets), problem.count);
  problem.offset_bytes = sizeof(std::ranges::range_value_t<Offsets>);
  return problem.segments != 0;
}
}  // namespace detail

// Sorts `keys` in place. O(N) scratch memory on the device.
template <KeyRange Keys>
HostReport sort(Keys&& keys, const Options& options) {
  using K = std::ranges::range_value_t<Keys>;
  K* const k = std::ranges::data(keys);
  return sort_host(detail::problem_of<K>(std::ranges::size(keys), options), {k, k}, options);
}
template <KeyRange Keys>
HostReport sort(Keys&& keys) {
  using K = std::ranges::range_value_t<Keys>;
  K* const k = std::ranges::data(keys);
  const std::uint64_t count = std::ranges::size(keys);
  if (const auto* names = detail::few_names.load(std::memory_order_acquire);
      count <= detail::fewest && k != nullptr && names != nullptr && detail::is_aligned(k)) {
    if (count == 2) detail::sort_here<2>(k);
    if (count == 3) detail::sort_here<3>(k);
    return detail::few_report(*names);
  }
  return detail::sort_by_default(key_type_of<K>::value, count, k);
}

// Sorts `keys` in place and moves `values` with them: of 4 or 8 bytes through the sort itself, of
// any other size (up to 256) once at its end. Throws Error(invalid_argument) where their lengths
// differ.
template <KeyRange Keys, ValueRange Values>
HostReport sort(Keys&& keys, Values&& values, const Options& options) {
  using K = std::ranges::range_value_t<Keys>;
  using V = std::ranges::range_value_t<Values>;
  detail::check_lengths(std::ranges::size(keys), std::ranges::size(values));
  K* const k = std::ranges::data(keys);
  V* const v = std::ranges::data(values);
  Problem problem = detail::problem_of<K>(std::ranges::size(keys), options);
  problem.payload = Payload::values;
  problem.value_bytes = sizeof(V);
  return sort_host(problem, {k, k, v, v}, options);
}
// The same for two ranges of one type. With `using namespace sortium`, the overload above alone
// would be ambiguous with std::sort(first, last, compare), which argument-dependent look-up finds.
// (Without options, write sortium::sort(keys, values).)
template <KeyRange Keys>
requires ValueRange<Keys> HostReport sort(Keys&& keys, Keys&& values, const Options& options) {
  return sort<Keys&, Keys&>(keys, values, options);
}
template <KeyRange Keys, ValueRange Values>
HostReport sort(Keys&& keys, Values&& values) {
  using K = std::ranges::range_value_t<Keys>;
  using V = std::ranges::range_value_t<Values>;
  detail::check_lengths(std::ranges::size(keys), std::ranges::size(values));
  K* const k = std::ranges::data(keys);
  V* const v = std::ranges::data(values);
  return detail::sort_by_default(key_type_of<K>::value, std::ranges::size(keys), k, sizeof(V), v);
}

// The positions of the records in sorted order: keys[out[0]] comes first. `keys` is only read.
// Index is std::uint32_t (up to 2^32 records) or std::uint64_t.
template <class Index = std::uint32_t, KeyRange Keys>
requires std::same_as<Index, std::uint32_t> || std::same_as<Index, std::uint64_t>
[[nodiscard]] std::vector<Index> argsort(const Keys& keys, const Options& options = {}) {
  using K = std::ranges::range_value_t<Keys>;
  Problem problem = detail::problem_of<K>(std::ranges::size(keys), options);
  problem.payload = Payload::positions;
  problem.value_bytes = sizeof(Index);
  problem.keys_out = false;
  auto out = detail::vector_of<Index>(std::ranges::size(keys));
  sort_host(problem, {std::ranges::data(keys), nullptr, nullptr, out.data()}, options);
  return out;
}

// Sorts every segment of `keys` by itself, in place: segment s has the keys from offsets[s] to
// offsets[s + 1]. Offsets ascend from 0 to the number of keys; equal ones are an empty segment.
// O(N) scratch memory on the device. Throws Error(invalid_argument) that names the first offset
// that is wrong.
template <KeyRange Keys, OffsetRange Offsets>
HostReport sort_segments(Keys&& keys, const Offsets& offsets, const Options& options = {}) {
  using K = std::ranges::range_value_t<Keys>;
  Problem problem = detail::problem_of<K>(std::ranges::size(keys), options);
  if (!detail::set_segments(problem, offsets)) return {};
  K* const k = std::ranges::data(keys);
  return sort_host(problem, {k, k, nullptr, nullptr, std::ranges::data(offsets)}, options);
}

// The same, and moves `values`, of any size as sort() does, with their keys; stable.
template <KeyRange Keys, ValueRange Values, OffsetRange Offsets>
HostReport sort_segments(Keys&& keys, Values&& values, const Offsets& offsets,
                         const Options& options = {}) {
  using K = std::ranges::range_value_t<Keys>;
  using V = std::ranges::range_value_t<Values>;
  detail::check_lengths(std::ranges::size(keys), std::ranges::size(values));
  Problem problem = detail::problem_of<K>(std::ranges::size(keys), options);
  problem.payload = Payload::values;
  problem.value_bytes = sizeof(V);
  if (!detail::set_segments(problem, offsets)) return {};
  K* const k = std::ranges::data(keys);
  V* const v = std::ranges::data(values);
  return sort_host(problem, {k, k, v, v, std::ranges::data(offsets)}, options);
}

// The positions, among all keys, of every segment's records in sorted order: keys[out[offsets[s]]]
// is the first of segment s. `keys` is only read. Index as for argsort.
template <class Index = std::uint32_t, KeyRange Keys, OffsetRange Offsets>
requires std::same_as<Index, std::uint32_t> || std::same_as<Index, std::uint64_t>
[[nodiscard]] std::vector<Index> argsort_segments(const Keys& keys, const Offsets& offsets,
                                                  const Options& options = {}) {
  using K = std::ranges::range_value_t<Keys>;
  Problem problem = detail::problem_of<K>(std::ranges::size(keys), options);
  problem.payload = Payload::positions;
  problem.value_bytes = sizeof(Index);
  problem.keys_out = false;
  auto out = detail::vector_of<Index>(std::ranges::size(keys));
  if (!detail::set_segments(problem, offsets)) return out;
  sort_host(problem,
            {std::ranges::data(keys), nullptr, nullptr, out.data(), std::ranges::data(offsets)},
            options);
  return out;
}

}  // namespace sortium

#include <sortium/companions.hpp>
#include <sortium/records.hpp>
