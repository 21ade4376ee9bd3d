// The first records of each row: of segments of equal length without offsets.
#pragma once

#include <memory>

#include "../algorithm.hpp"

namespace sortium {

// Returns a sort of the first Problem::limit records of each row. It needs no scratch memory for
// whole rows. Returns none if this device or these rows need another sort.
[[nodiscard]] std::unique_ptr<Sorter> make_topk_rows(const Problem& problem,
                                                     const Capabilities& device);

}  // namespace sortium
