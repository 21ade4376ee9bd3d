// Sorts a list that is divided among ranks: threads of one process, or processes of several hosts.
//
//   // On every rank, with that rank's keys:
//   std::vector<float> part = sortium::distributed::sort(communicator, keys);
//
// The sort is stable over the whole list: records that tie keep the order of their ranks and,
// within a rank, of their positions. Every rank must call the same function with the same types and
// options; otherwise all ranks throw the same Error(invalid_argument). Ranks may be empty.
//
// The input is only read, unless a call sorts in place. If a call throws, host memory is unchanged,
// also in place, unless a device fails while it copies results back. If one rank fails, all ranks
// throw an Error that names it. docs/scale.md explains design and costs.
#pragma once

#include <sortium/export.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <sortium/device.hpp>
#include <sortium/host.hpp>
#include <sortium/plan.hpp>
#include <sortium/records.hpp>
#include <span>
#include <vector>

namespace sortium::distributed {

// ---------------------------------------------------------------------------------------------
// Communicator
// ---------------------------------------------------------------------------------------------

// What one rank sends to every rank and receives from every rank, in host memory. Both arrays hold
// the ranks' bytes in the order of the ranks, without gaps. They must not overlap.
struct Exchange {
  const std::byte* send = nullptr;
  std::span<const std::uint64_t> send_bytes{};  // for each rank, this one included
  std::byte* receive = nullptr;
  std::span<const std::uint64_t> receive_bytes{};  // from each rank, this one included
};

enum class Reduction : std::uint8_t { sum, max };

// How ranks exchange data. Derive from it to use another transport; all_gather() and exchange() are
// enough. All ranks call the same members in the same order, each from one thread at a time.
//
// Every member throws Error(device_failed) if another rank has failed or does not call the same
// member within the implementation's timeout. After that the communicator is broken, and memory
// that was passed to exchange() may still be accessed: it must remain allocated.
class SORTIUM_API Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  [[nodiscard]] virtual unsigned rank() const = 0;
  [[nodiscard]] virtual unsigned size() const = 0;
  // Returns the bytes of all ranks in the order of the ranks. Their numbers may differ.
  [[nodiscard]] virtual std::vector<std::byte> all_gather(std::span<const std::byte> mine) = 0;
  virtual void exchange(const Exchange& exchange) = 0;

  // The same for memory of queue.device(): send[r] goes to rank r, and receive[r] comes from it.
  // Begins after the commands that are enqueued on `queue`; returns when this rank's memory has
  // been sent and received. This implementation copies through host memory, by exchange().
  virtual void exchange_on_device(Queue& queue, std::span<const Memory> send,
                                  std::span<const Memory> receive);

  // The two halves of exchange_on_device(). All ranks call both, and may call other members between
  // them. start_exchange_on_device() does not wait for `queue`: commands that use the memory must
  // have ended before. It may be called several times for one queue. finish_exchanges_on_device()
  // returns when all of these exchanges have ended. If the start throws, the communicator is
  // broken. Unless a derived class overrides them, start_exchange_on_device() exchanges everything
  // and finish_exchanges_on_device() does nothing.
  virtual void start_exchange_on_device(Queue& queue, std::span<const Memory> send,
                                        std::span<const Memory> receive);
  virtual void finish_exchanges_on_device(Queue& queue);

  // True if kernels run at their full speed during exchange_on_device(). Then a DeviceSorter sorts
  // some records while others arrive. All ranks return the same.
  [[nodiscard]] virtual bool exchanges_beside_kernels() const { return false; }

  // Replaces each number by the sum or maximum of all ranks' numbers. All ranks pass equally many.
  virtual void all_reduce(std::span<std::uint64_t> numbers, Reduction reduction);
  // Replaces each number by the sum of the lower ranks' numbers.
  virtual void exclusive_sum(std::span<std::uint64_t> numbers);
};

inline constexpr std::chrono::duration<double> default_timeout = std::chrono::minutes(10);

// Runs `work` on `ranks` threads, each with a communicator of its own, and waits for all. If a rank
// throws, every other rank's next or current call of its communicator throws, too. Then run_ranks()
// throws the exception of the rank that threw first. A rank waits at most `timeout` for the others.
SORTIUM_API void run_ranks(unsigned ranks, const std::function<void(Communicator&)>& work,
                           std::chrono::duration<double> timeout = default_timeout);

// ---------------------------------------------------------------------------------------------
// Sorts
// ---------------------------------------------------------------------------------------------

enum class Balance : std::uint8_t {
  kept,  // each rank receives as many records as it has
  even,  // all ranks receive equally many; the first ones one more if the division has a remainder
};

struct Options {
  sortium::Options sort{};  // of each rank's own sort; `device` may differ between ranks
  Balance balance = Balance::kept;
};

// A contiguous range of the sorted list.
struct Part {
  std::uint64_t begin = 0, count = 0;
};

struct Report {
  Part part{};                   // this rank's part of the sorted list
  unsigned rounds = 0;           // global histograms that the search for exact borders took
  std::uint64_t bytes_sent = 0;  // records sent to other ranks
  // Seconds of this rank, including its waiting for others.
  double partition_seconds = 0;  // finding the borders, and dividing the records by rank
  double exchange_seconds = 0, sort_seconds = 0;
  HostReport local{};  // of this rank's own sort
};

// Returns the part of the sorted list that a rank with `count` records receives. All ranks call it.
[[nodiscard]] SORTIUM_API Part part_of(Communicator& communicator, std::uint64_t count,
                                       Balance balance);

// Sorts host memory; the templates below call it. As sortium::sort_host(), except that
// `problem.count` is the number of this rank's records, and that outputs have as many elements as
// the rank's part (part_of()). Positions count from the first rank's first record; those of 4 bytes
// serve up to 2^32 records of all ranks. Segments, limits and unstable or partial algorithms are
// refused. Sorts in place only with Balance::kept.
//
// Beside its operands, a rank needs memory for its records twice: those that it sends and those
// that it receives. The first are freed before the rank's own sort, which needs scratch memory.
SORTIUM_API Report sort_host(Communicator& communicator, const Problem& problem,
                             const HostOperands& operands, const Options& options = {});

// The same for records, as sortium::sort_records_host().
SORTIUM_API Report sort_records_host(Communicator& communicator, const RecordProblem& problem,
                                     const RecordHostOperands& operands,
                                     const Options& options = {});

// Returns this rank's part of the sorted keys.
template <KeyRange Keys>
[[nodiscard]] auto sort(Communicator& communicator, const Keys& keys, const Options& options = {}) {
  using K = sortium::detail::element<Keys>;
  auto out = sortium::detail::vector_of<K>(
      part_of(communicator, std::ranges::size(keys), options.balance).count);
  sort_host(communicator, sortium::detail::problem_of_range(keys, options.sort),
            {std::ranges::data(keys), out.data()}, options);
  return out;
}

template <class K, class V>
struct Sorted {
  std::vector<K> keys;
  std::vector<V> values;
};
// Returns this rank's part of the sorted keys, and the values that move with them.
template <KeyRange Keys, ValueRange Values>
[[nodiscard]] auto sort(Communicator& communicator, const Keys& keys, const Values& values,
                        const Options& options = {}) {
  using K = sortium::detail::element<Keys>;
  using V = sortium::detail::element<Values>;
  sortium::detail::check_lengths(std::ranges::size(keys), std::ranges::size(values));
  const auto count = part_of(communicator, std::ranges::size(keys), options.balance).count;
  Sorted<K, V> out{sortium::detail::vector_of<K>(count), sortium::detail::vector_of<V>(count)};
  sort_host(
      communicator, sortium::detail::problem_with_values(keys, sizeof(V), options.sort),
      {std::ranges::data(keys), out.keys.data(), std::ranges::data(values), out.values.data()},
      options);
  return out;
}

// Returns the global positions of the records in this rank's part of the sorted list. Positions
// count from the first rank's first key.
template <KeyRange Keys>
[[nodiscard]] std::vector<std::uint64_t> argsort(Communicator& communicator, const Keys& keys,
                                                 const Options& options = {}) {
  Problem problem = sortium::detail::problem_of_range(keys, options.sort);
  problem.payload = Payload::positions;
  problem.value_bytes = 8;
  problem.keys_out = false;
  auto out = sortium::detail::vector_of<std::uint64_t>(
      part_of(communicator, std::ranges::size(keys), options.balance).count);
  sort_host(communicator, problem, {std::ranges::data(keys), nullptr, nullptr, out.data()},
            options);
  return out;
}

// Returns this rank's part of the sorted records.
template <ElementRange Records>
[[nodiscard]] auto sort_records(Communicator& communicator, const Records& records,
                                const std::vector<Field>& key, const Options& options = {}) {
  using R = sortium::detail::element<Records>;
  auto out = sortium::detail::vector_of<R>(
      part_of(communicator, std::ranges::size(records), options.balance).count);
  const void* const from = std::ranges::data(records);
  void* const to = out.data();
  sort_records_host(
      communicator,
      {.count = std::ranges::size(records), .columns = {{sizeof(R), Moved::out}}, .key = key},
      {{&from, 1}, {&to, 1}}, options);
  return out;
}

// ---------------------------------------------------------------------------------------------
// Device memory
// ---------------------------------------------------------------------------------------------

struct DeviceOptions {
  Balance balance = Balance::kept;
  Method method{};  // of each rank's own sorts; stable, not partial
  // The number of slices that a rank's part is divided into, by keys: one slice is sorted while the
  // next one arrives. All ranks must pass the same number, up to 64. 0 lets the library choose: up
  // to 16 if max_bytes is not 0; else one for each 512 MiB of a rank, up to 4 (7 if keys have 64
  // bits), if Communicator::exchanges_beside_kernels(); else one. Short lists are not divided at
  // all (DeviceSorter).
  unsigned slices = 0;
  // The most device memory in bytes that the DeviceSorter may have beside the operands, on this
  // rank; 0: no bound. All ranks must give a bound, or none. For 2^20 records and more on each
  // rank, 9/8 of the bytes of the rank's records suffice, and the bytes of the part's keys in
  // addition if the problem does not write keys. With a bound there are more slices, and slower
  // algorithms if needed.
  std::uint64_t max_bytes = 0;
};

// Sorts device memory that is divided among ranks. Records stay in device memory, and travel by
// Communicator::exchange_on_device(). Keeps plans and memory for the next sort.
//
// Beside its operands, a rank needs device memory for:
// - a copy of its input;
// - the scratch memory of a sort in place, of one slice or of the records near borders (some
//   percent of the list), whichever is larger;
// - the keys of its part, if the problem does not write keys;
// - on cpu:0, and with more than about 60 ranks: the scratch memory of a sort of its input;
// - samples: at most 64 KiB for each rank of the communicator.
// DeviceOptions::max_bytes bounds all of these but the samples.
//
// Short lists are sorted in another way: each rank receives all records, and needs memory for them
// twice, and the scratch memory of their sort. A list is short if all ranks' keys and values have
// at most 8 MiB; 128 MiB if Communicator::exchanges_beside_kernels(); 64 KiB if a rank's device is
// a CPU. No list is short if DeviceOptions::slices or max_bytes is given.
class SORTIUM_API DeviceSorter {
 public:
  // The communicator must outlive the object.
  DeviceSorter(Communicator& communicator, std::shared_ptr<Device> device);
  DeviceSorter(DeviceSorter&&) noexcept;
  DeviceSorter& operator=(DeviceSorter&&) noexcept;
  ~DeviceSorter();

  // Sorts; all ranks call it. As Plan::run(), but waits for the result. `problem.count` is the
  // number of this rank's records. Outputs have as many elements as the rank's part (part_of()); in
  // place only with Balance::kept. Leave operands.scratch empty. Positions count from the first
  // rank's first record. Segments and limits are refused. After an error, outputs are undefined,
  // also a list that was to be sorted in place.
  Report sort(Queue& queue, const Problem& problem, const Operands& operands,
              const DeviceOptions& options = {});

  // The same for records, as RecordPlan::run(), with keys of any width. Leave operands.scratch
  // empty. Records are exchanged in one slice: options.slices must be 0 or 1. Each rank sorts its
  // records before and after the exchange. So it needs device memory for a copy of its records, for
  // columns of its part that the problem does not move, and for the scratch memory of the larger
  // sort (RecordPlan).
  Report sort_records(Queue& queue, const RecordProblem& problem, const RecordOperands& operands,
                      const DeviceOptions& options = {});

  // Returns the bytes of device memory that the object keeps.
  [[nodiscard]] std::uint64_t memory_bytes() const;

 private:
  struct State;
  class Run;
  std::unique_ptr<State> state_;
};

// ---------------------------------------------------------------------------------------------
// Several devices of one process
// ---------------------------------------------------------------------------------------------

// Returns the devices of a list, in the list's order. Its items are separated by commas. Each names
// a device as for find_device(), or all devices of a backend: "cuda:*", "opencl:*". A device may
// occur several times. Throws Error: invalid_argument naming the wrong item, and what find_device()
// throws.
//
// sortium::Options::device may be such a list in sorts of host memory: sort(), argsort(),
// sort_records(), sort_columns(). The list of records is then divided evenly among ranks, one for
// each device, as by run_ranks(). Up to 2^14 records are sorted on the first device alone. Segments
// and limits are refused. Keys, alone or with values of 4 or 8 bytes, are sorted in the devices'
// memory if that has space for 17/8 of their bytes, and travel from device to device; records, and
// lists that do not fit, are exchanged in host memory. If such a sort fails, inputs are as they
// were, also in place, unless a device fails while it copies results back.
[[nodiscard]] SORTIUM_API std::vector<std::shared_ptr<Device>> find_devices(std::string_view list);

}  // namespace sortium::distributed
