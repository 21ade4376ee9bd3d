#include "staging.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

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
  } catch (const std::system_error&) {
    // The system can start no more threads. The running threads transfer all pieces.
  }
  work_of(0);
  for (auto& other : others) other.join();
  if (pieces.error) std::rethrow_exception(pieces.error);
}

void Staging::write(const void* from, std::uint64_t bytes, const Start& start) {
  const auto* const source = static_cast<const std::byte*>(from);
  run(bytes, [&](Pieces& pieces, const std::unique_ptr<Slot>* slots) {
    unsigned used = 0;  // pieces that this thread has taken
    for (auto piece = pieces.take(); piece.bytes != 0; piece = pieces.take(), ++used) {
      Slot& slot = *slots[used % slots_per_thread];
      if (used >= slots_per_thread) slot.wait();
      std::memcpy(slot.data(), source + piece.offset, piece.bytes);
      start(slot, piece.offset, piece.bytes);
    }
    for (unsigned s = 0; s < std::min(used, slots_per_thread); ++s) slots[s]->wait();
  });
}

void Staging::read(void* to, std::uint64_t bytes, const Start& start) {
  auto* const target = static_cast<std::byte*>(to);
  run(bytes, [&](Pieces& pieces, const std::unique_ptr<Slot>* slots) {
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
      std::memcpy(target + piece.offset, slot.data(), piece.bytes);
      piece = following;
    }
  });
}

}  // namespace sortium
