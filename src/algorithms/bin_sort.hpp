// What the host has to know of src/kernels/bin_sort.cl, for the rooms that sort by bins.
#pragma once

#include <algorithm>

#include "../kernels/kernels.hpp"
#include "algorithm.hpp"

namespace sortium {

// Bytes of bin_sort_t.
inline std::uint64_t bin_sort_bytes(const Problem& problem, const Capabilities& device, std::uint64_t work_group, unsigned items,
                                    unsigned sort_bits) {
  const std::uint64_t rank_words = (device.ordered_local_atomics ? 1 : 2) * 256;  // SG_RANK_WORDS
  const std::uint64_t bin_words = std::max(8 * work_group, work_group / std::min(device.sub_group_size, 32u) * rank_words);
  return bin_words * 4 + work_group * items * sort_bits / 8 + kernels::scan_bytes(problem, device, work_group) + 16;
}

// Its parameters. `bin_shift`: the bits of an item that choose its bin begin there.
inline void set_bin_sort(kernels::Defines& defines, unsigned work_group, unsigned items, unsigned sort_bits, bool with_positions,
                         unsigned position_bits, unsigned bin_shift) {
  defines.set("WG", work_group)
      .set("ITEMS", items)
      .set("SORT_BITS", sort_bits)
      .set("COMPOSITE", int{with_positions})
      .set("POSITION_BITS", position_bits)
      .set("WINDOW_HIGH", int{bin_shift >= 32});
}

}  // namespace sortium
