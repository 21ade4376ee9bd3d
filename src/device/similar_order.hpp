// An order of machine codes in which similar ones share a block, for a file of built kernels: each
// block is compressed on its own.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace sortium::cuda {

// Returns the numbers of `codes` in an order that fills blocks of at most `block_bytes` bytes one
// after the other. A block begins with the longest code that is left. Then follows, again and
// again, the code whose pieces (instructions, or lines of PTX) the block has the largest share of.
// Costs some seconds for a thousand codes.
[[nodiscard]] std::vector<std::size_t> similar_order(
    std::span<const std::span<const std::byte>> codes, std::size_t block_bytes);

}  // namespace sortium::cuda
