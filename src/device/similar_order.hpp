// An order of machine codes in which similar ones share a block, for a file of built kernels: each
// block is compressed on its own.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace sortium::cuda {

// Returns the indices of `codes` in an order that fills blocks of at most `block_bytes` bytes one
// after the other. A code consists of pieces: instructions, or lines of PTX. Each block begins with
// the longest remaining code. Then codes that fit are added, one at a time: always the code of
// whose pieces the block already has the largest share.
// Costs some seconds for a thousand codes.
[[nodiscard]] std::vector<std::size_t> similar_order(
    std::span<const std::span<const std::byte>> codes, std::size_t block_bytes);

}  // namespace sortium::cuda
