// The parameters and local memory of bin_sort.cl, for the algorithms that sort by bins.
#pragma once

#include <algorithm>

#include "../../kernels/kernels.hpp"
#include "../algorithm.hpp"

namespace sortium {

// Bytes of bin_sort_t for `work_group` work-items with `items` items of `sort_bits` bits each.
inline std::uint64_t bin_sort_bytes(const Problem& problem, const Capabilities& device,
                                    std::uint64_t work_group, unsigned items, unsigned sort_bits,
                                    unsigned bin_share = 16) {
  return std::max(bin_share / 2 * work_group * 4, kernels::rank_bytes(device, work_group, 256)) +
         work_group * items * sort_bits / 8 + kernels::scan_bytes(problem, device, work_group) + 28;
}

// What bins.cl and bin_sort.cl are specialised for.
struct BinSortParameters {
  unsigned work_group;         // work-items of a work-group, a power of two
  unsigned items;              // items of a work-item; odd, more than 8
  unsigned sort_bits;          // bits of an item: 32 or 64
  bool with_positions;         // an item holds the compared bits and, below them, its position
  unsigned position_bits;      // bits of that position
  unsigned bin_shift;          // the lowest of an item's bits that select its bin
  unsigned bin_share = 16;     // bins for each work-item: 16 or 32
  bool bins_by_place = false;  // see BY_PLACE in bin_sort.cl
  bool refines = false;        // see REFINES there

  void set(kernels::Defines& defines) const {
    defines.set("WG", work_group)
        .set("ITEMS", items)
        .set("BIN_SHARE", bin_share)
        .set("SORT_BITS", sort_bits)
        .set("COMPOSITE", int{with_positions})
        .set("POSITION_BITS", position_bits)
        .set("WINDOW_HIGH", int{bin_shift >= 32})
        .set("BY_PLACE", int{bins_by_place})
        .set("REFINES", int{refines});
  }
};

}  // namespace sortium
