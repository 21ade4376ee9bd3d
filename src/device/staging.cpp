#include "staging.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <thread>
#include <type_traits>
#include <utility>

#include "cores.hpp"

namespace sortium {
namespace {

constexpr unsigned slots_per_thread = 2;
// With fewer bytes per thread, starting a thread takes longer than its copies save.
constexpr std::uint64_t least_bytes_per_thread = std::uint64_t{4} << 20;

// Waits for a failed thread's copies, so that the next transfer may use its slots. Ignores errors:
// the cause is reported already.
void wait_for(const std::unique_ptr<Staging::Slot>* slots) {
  for (unsigned s = 0; s < slots_per_thread; ++s) {
    try {
      slots[s]->wait();
    } catch (...) {
    }
  }
}

}  // namespace

// The pieces of one transfer. Each thread takes the next one until none is left, or until another
// thread has failed.
struct Staging::Pieces {
  struct Piece {
    std::uint64_t offset = 0, bytes = 0;  // bytes is 0: no piece is left
  };

  explicit Pieces(std::uint64_t bytes) : all(bytes) {}

  Piece take() {
    if (failed.load(std::memory_order_relaxed)) return {};
    const std::uint64_t offset = next.fetch_add(1, std::memory_order_relaxed) * slot_bytes;
    return offset >= all ? Piece{} : Piece{offset, std::min(slot_bytes, all - offset)};
  }
  void fail() {
    const std::lock_guard lock(mutex);
    if (!error) error = std::current_exception();
    failed = true;
  }

  const std::uint64_t all;
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  std::exception_ptr error;
};

Staging::Staging(MakeSlot make_slot, unsigned max_threads)
    : make_slot_(std::move(make_slot)), max_threads_(std::max(1u, max_threads)) {}

void Staging::run(std::uint64_t bytes, const Work& work) {
  const std::lock_guard lock(busy_);
  const auto threads = static_cast<unsigned>(
      std::clamp<std::uint64_t>(bytes / least_bytes_per_thread, 1, max_threads_));
  while (slots_.size() < std::size_t{threads} * slots_per_thread) slots_.push_back(make_slot_());

  Pieces pieces(bytes);
  const auto work_of = [&](unsigned thread) {
    const auto* const slots = &slots_[std::size_t{thread} * slots_per_thread];
    try {
      work(pieces, slots);
    } catch (...) {
      pieces.fail();
      wait_for(slots);
    }
  };
  std::vector<std::thread> others;
  try {
    for (unsigned t = 1; t < threads; ++t) others.emplace_back(work_of, t);
  } catch (const std::exception&) {
    // There is no memory for more threads, or the system can start none. The running threads
    // transfer all pieces.
  }
  work_of(0);
  for (auto& other : others) other.join();
  if (pieces.error) std::rethrow_exception(pieces.error);
}

namespace {

// Arrays as one sequence of bytes.
template <class Array>
class Sequence {
 public:
  explicit Sequence(std::span<const Array> arrays) : arrays_(arrays) {
    for (const auto& a : arrays) ends_.push_back(bytes() + a.bytes);
  }
  [[nodiscard]] std::uint64_t bytes() const { return ends_.empty() ? 0 : ends_.back(); }
  // Calls part(data, done, bytes) for the parts of [offset, offset + bytes) that lie in one array;
  // `done` bytes precede the part.
  template <class Part>
  void for_parts(std::uint64_t offset, std::uint64_t bytes, const Part& part) const {
    auto i = static_cast<std::size_t>(std::ranges::upper_bound(ends_, offset) - ends_.begin());
    for (std::uint64_t done = 0; done < bytes; ++i) {
      const std::uint64_t at = offset + done;
      const std::uint64_t begin = ends_[i] - arrays_[i].bytes;
      const std::uint64_t some = std::min(bytes - done, ends_[i] - at);
      if (some != 0) part(static_cast<Byte*>(arrays_[i].data) + (at - begin), done, some);
      done += some;
    }
  }

 private:
  using Byte = std::conditional_t<std::is_same_v<Array, HostSource>, const std::byte, std::byte>;
  std::span<const Array> arrays_;
  std::vector<std::uint64_t> ends_;
};

// Eight threads saturate a link of 55 GB/s. Half of the cores are left to the caller.
unsigned copying_threads() { return std::clamp(usable_cores() / 2, 1u, 8u); }

}  // namespace

void Staging::write(std::span<const HostSource> from, const Start& start) {
  const Sequence source(from);
  run(source.bytes(), [&](Pieces& pieces, const std::unique_ptr<Slot>* slots) {
    unsigned used = 0;  // pieces that this thread has taken
    for (auto piece = pieces.take(); piece.bytes != 0; piece = pieces.take(), ++used) {
      Slot& slot = *slots[used % slots_per_thread];
      if (used >= slots_per_thread) slot.wait();
      source.for_parts(piece.offset, piece.bytes,
                       [&](const std::byte* data, std::uint64_t done, std::uint64_t some) {
                         std::memcpy(slot.data() + done, data, some);
                       });
      start(slot, piece.offset, piece.bytes);
    }
    for (unsigned s = 0; s < std::min(used, slots_per_thread); ++s) slots[s]->wait();
  });
}

void Staging::read(std::span<const HostTarget> to, const Start& start) {
  const Sequence target(to);
  run(target.bytes(), [&](Pieces& pieces, const std::unique_ptr<Slot>* slots) {
    const auto next = [&](unsigned turn) {
      const auto piece = pieces.take();
      if (piece.bytes != 0) start(*slots[turn % slots_per_thread], piece.offset, piece.bytes);
      return piece;
    };
    auto piece = next(0);
    for (unsigned turn = 0; piece.bytes != 0; ++turn) {
      const auto following = next(turn + 1);
      Slot& slot = *slots[turn % slots_per_thread];
      slot.wait();
      target.for_parts(piece.offset, piece.bytes,
                       [&](std::byte* data, std::uint64_t done, std::uint64_t some) {
                         std::memcpy(data, slot.data() + done, some);
                       });
      piece = following;
    }
  });
}

HostCopies::HostCopies(const Staging::MakeSlot& make_slot)
    : write(make_slot, copying_threads()), read(make_slot, copying_threads()) {}

}  // namespace sortium
