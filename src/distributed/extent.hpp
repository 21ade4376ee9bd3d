// How many records each rank has and receives.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <sortium/distributed.hpp>
#include <span>
#include <vector>

#include "columns.hpp"

namespace sortium::distributed {

struct Extent {
  std::vector<std::uint64_t> counts{};
  std::uint64_t total = 0;
  unsigned rank = 0;

  [[nodiscard]] std::uint64_t begin_of_input() const {
    return std::accumulate(counts.begin(), counts.begin() + rank, std::uint64_t{0});
  }
  // For each border between two ranks' parts, how many records lie left of it.
  [[nodiscard]] std::vector<std::uint64_t> targets(Balance balance) const {
    const std::uint64_t ranks = counts.size(), each = total / ranks, more = total % ranks;
    std::vector<std::uint64_t> left(ranks);
    if (balance == Balance::kept)
      std::inclusive_scan(counts.begin(), counts.end(), left.begin());
    else
      for (std::uint64_t r = 0; r < ranks; ++r) left[r] = (r + 1) * each + std::min(r + 1, more);
    left.pop_back();
    return left;
  }
  [[nodiscard]] Part part(Balance balance) const {
    const auto left = targets(balance);
    const std::uint64_t begin = rank == 0 ? 0 : left[rank - 1];
    const std::uint64_t end = rank == left.size() ? total : left[rank];
    return {begin, end - begin};
  }
};

// Returns the elements of all ranks, in the order of the ranks.
template <class T>
[[nodiscard]] std::vector<T> gather(Communicator& communicator, std::span<const T> mine) {
  const auto bytes = communicator.all_gather(std::as_bytes(mine));
  std::vector<T> all(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(static_cast<void*>(all.data()), bytes.data(), bytes.size());
  return all;
}

// `least`: a number of this rank, which is replaced by the least of all ranks.
[[nodiscard]] inline Extent extent_of(Communicator& communicator, std::uint64_t count,
                                      std::uint64_t* least = nullptr) {
  const std::array<std::uint64_t, 2> mine{count, least == nullptr ? 0 : *least};
  Extent extent{.rank = communicator.rank()};
  const auto all = gather<std::uint64_t>(communicator, mine);
  for (std::size_t i = 0; i < all.size(); i += 2) {
    extent.counts.push_back(all[i]);
    if (least != nullptr) *least = std::min(*least, all[i + 1]);
  }
  extent.total = std::accumulate(extent.counts.begin(), extent.counts.end(), std::uint64_t{0});
  return extent;
}

// Sends every rank the same number of numbers; `numbers` has those for rank 0 first. Returns what
// the ranks sent to this one, in the order of the ranks.
[[nodiscard]] inline std::vector<std::uint64_t> exchange_numbers(
    Communicator& communicator, std::span<const std::uint64_t> numbers) {
  // In memory that outlives a broken communicator.
  const std::vector<std::uint64_t> each(communicator.size(),
                                        numbers.size_bytes() / communicator.size());
  Bytes send(numbers.size_bytes()), receive(numbers.size_bytes());
  std::memcpy(send.data(), numbers.data(), numbers.size_bytes());
  try {
    communicator.exchange({send.data(), each, receive.data(), each});
  } catch (...) {
    send.abandon();
    receive.abandon();
    throw;
  }
  std::vector<std::uint64_t> received(numbers.size());
  std::memcpy(received.data(), receive.data(), numbers.size_bytes());
  return received;
}

}  // namespace sortium::distributed
