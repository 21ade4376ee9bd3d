// Makes and compares the records on the device.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <sortium/types.hpp>
#include <string>

namespace peers {

// Copies the keys of a distribution (protocol/distributions.hpp) to the device. Keeps the last list
// on the host, because the next sort of a run often has the same keys.
void make_keys(void* keys, sortium::KeyType type, std::uint64_t count,
               const std::string& distribution);
// Sets the upper 16 bits of the 4-byte keys of each segment to the same value. Segment s has the
// keys from offsets[s] to offsets[s + 1].
void share_upper_bits(std::uint32_t* keys, const std::int32_t* offsets, std::uint64_t segments,
                      cudaStream_t stream);
// Makes values 0, 1, 2 …
void make_positions(void* values, unsigned bytes, std::uint64_t count, cudaStream_t stream);
// Compares two arrays. Waits for the device.
bool equal(const void* a, const void* b, std::uint64_t bytes);

}  // namespace peers
