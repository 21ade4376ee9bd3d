// The number of records that each work-item of a tile sorts.
#pragma once

#include <cstdint>

#include "../algorithm.hpp"

namespace sortium {

struct ItemsRange {
  std::uint64_t least, most;
};

// Returns the number of records for each work-item with which the tiles of a list cost least: the
// last round of tiles should keep all compute units busy. The number is odd, because an even one
// puts equal runs of digits, which sorted input has, into one bank of local memory.
//
// Without a compiler it is one that built kernels have: the least of a few with which one round
// suffices, else the largest. Numbers near the largest are left out.
[[nodiscard]] inline unsigned cheapest_items(std::uint64_t count, std::uint64_t work_items_at_once,
                                             ItemsRange range, const Capabilities& device) {
  // What a tile costs beside its records: as much as this many records for each work-item.
  constexpr std::uint64_t tile_cost = 10;
  const std::uint64_t largest = range.most == 0 ? 1 : (range.most - 1) | 1;
  if (!device.compiles) {
    for (const std::uint64_t items : {1u, 3u, 5u, 9u, 17u, 33u})
      if (items >= range.least && items * 3 / 2 <= largest && count <= work_items_at_once * items)
        return static_cast<unsigned>(items);
    return static_cast<unsigned>(largest);
  }
  std::uint64_t cheapest = largest, least_cost = ~std::uint64_t{0};
  for (std::uint64_t items = range.least; items <= largest; items += 2) {
    const std::uint64_t rounds = ceil_div(count, work_items_at_once * items);
    const std::uint64_t cost = rounds * (items + tile_cost);
    if (cost <= least_cost) cheapest = items, least_cost = cost;
  }
  return static_cast<unsigned>(cheapest);
}

}  // namespace sortium
