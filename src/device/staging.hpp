// Copies between pageable host memory and a device at the speed of the link.
//
// A driver copies pageable memory through one thread and one small buffer, at 3 to 6 GB/s. Here
// several threads copy pieces of the caller's memory to or from pinned blocks of memory, the slots,
// while the device copies other slots. A thread has two slots: it fills one while the device
// empties the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <sortium/device.hpp>
#include <span>
#include <vector>

namespace sortium {

class Staging {
 public:
  static constexpr std::uint64_t slot_bytes = std::uint64_t{2} << 20;
  // The least transfer worth staging. For shorter ones the caller lets the driver copy.
  static constexpr std::uint64_t least_bytes = std::uint64_t{2} << 20;

  // A block of `slot_bytes` of pinned memory, and what the backend needs to wait for its last copy.
  class Slot {
   public:
    virtual ~Slot() = default;
    [[nodiscard]] virtual std::byte* data() = 0;
    // Waits until the last copy from or to this slot has ended.
    virtual void wait() = 0;
  };
  // Returns a new slot. Throws Error(out_of_memory).
  using MakeSlot = std::function<std::unique_ptr<Slot>()>;
  // Enqueues a copy between the slot and `bytes` bytes of device memory at `offset`. Called from
  // several threads concurrently.
  using Start = std::function<void(Slot& slot, std::uint64_t offset, std::uint64_t bytes)>;

  // Allocates slots when a transfer first needs them, and keeps them: two for each of up to
  // `max_threads` threads.
  Staging(MakeSlot make_slot, unsigned max_threads);

  // Copy all bytes to or from the device, and return when all of them have arrived. One
  // transfer runs at a time; others wait. They throw what `start` or a slot throws, after every
  // thread has stopped; the destination may then be partly written. The arrays follow one another
  // in device memory.
  void write(std::span<const HostSource> from, const Start& start);
  void read(std::span<const HostTarget> to, const Start& start);

 private:
  struct Pieces;
  // The work of one thread, with its two slots.
  using Work = std::function<void(Pieces& pieces, const std::unique_ptr<Slot>* slots)>;
  void run(std::uint64_t bytes, const Work& work);

  MakeSlot make_slot_;
  unsigned max_threads_;
  std::mutex busy_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

// The slots of a device, one set for each direction, so that one sort can read while another
// writes.
struct HostCopies {
  explicit HostCopies(const Staging::MakeSlot& make_slot);
  Staging write, read;
};

}  // namespace sortium
