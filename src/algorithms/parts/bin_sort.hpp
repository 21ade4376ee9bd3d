// The host's side of bin_sort.cl, for the algorithms that sort by bins.
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
         work_group * items * sort_bits / 8 + kernels::scan_bytes(problem, device, work_group) + 16;
}

// Sets the knobs of bins.cl and bin_sort.cl except BY_PLACE. `with_positions`: items have their
// position in the lowest `position_bits` bits. `bin_shift`: the bits of an item from here on choose
// its bin. `bin_share`: bins for each work-item, 16 or 32.
inline void set_bin_sort(kernels::Defines& defines, unsigned work_group, unsigned items,
                         unsigned sort_bits, bool with_positions, unsigned position_bits,
                         unsigned bin_shift, unsigned bin_share = 16) {
  defines.set("WG", work_group)
      .set("ITEMS", items)
      .set("BIN_SHARE", bin_share)
      .set("SORT_BITS", sort_bits)
      .set("COMPOSITE", int{with_positions})
      .set("POSITION_BITS", position_bits)
      .set("WINDOW_HIGH", int{bin_shift >= 32});
}

}  // namespace sortium
