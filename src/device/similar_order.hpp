// An order of machine codes in which similar ones share a block, for a file of built kernels: each
// block is compressed on its own.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace sortium::cuda {

// Returns the indices of `codes` in an order that fills blocks of at most `block_bytes` bytes one
// after the other. Each block begins with the longest remaining code. Then the next code is always
// the one that fits and has the largest share of its pieces (instructions, or lines of PTX) in the
// block already.
// Costs some seconds for a thousand codes.
[[nodiscard]] std::vector<std::size_t> similar_order(
    std::span<const std::span<const std::byte>> codes, std::size_t block_bytes);

}  // namespace sortium::cuda
