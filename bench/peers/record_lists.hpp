// Lists of records on a GPU, and CUB's sorts of them. They are apart from the program, because only
// the file that implements them needs nvcc.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace peers {

// A list of records in device memory.
class RecordList {
 public:
  virtual ~RecordList() = default;
  virtual std::vector<unsigned> column_bytes() const = 0;
  // Writes the columns.
  virtual void make(const std::vector<void*>& columns, std::size_t count,
                    cudaStream_t stream) const = 0;
  // merge_sort and radix_sort write the sorted records' positions. If temp is nullptr, they only
  // store in temp_bytes how many bytes of temporary memory they need.

  // CUB's merge sort of positions, whose comparison reads the records.
  virtual void merge_sort(void* temp, std::size_t& temp_bytes, const std::vector<void*>& columns,
                          std::uint32_t* positions, std::size_t count,
                          cudaStream_t stream) const = 0;
  // CUB's radix sort by each 64-bit word of the key, the least significant first. Overwrites
  // all four arrays of `count` elements; returns the array of positions with the result.
  virtual std::uint32_t* radix_sort(void* temp, std::size_t& temp_bytes,
                                    const std::vector<void*>& columns, std::uint64_t* words[2],
                                    std::uint32_t* positions[2], std::size_t count,
                                    cudaStream_t stream) const = 0;
};

// `name` is one of the following. The key is all columns in this order, ascending, unless stated:
//   three      columns of 4, 2 and 8 bytes: f32 with ties, descending; u16 below 8; u64 below
//              2^40, all different, not in order
//   three-random  the same types, random: f32 from 1 to 2, u16 and u64 of all bits
//   hundred    records of 100 bytes by their first 10, random bytes
//   pair       two u32 columns, random numbers
//   strings    strings of 16 bytes: one of 1000 prefixes of 4 to 12 bytes, then random letters
//   prefix     strings of 16 bytes, the first 9 of which are the same
// Throws std::runtime_error for another name.
std::unique_ptr<RecordList> record_list(const std::string& name);
std::vector<std::string> record_list_names();

// out[i] = in[positions[i]] for elements of `bytes` bytes.
void gather(const void* in, const std::uint32_t* positions, void* out, unsigned bytes,
            std::size_t count, cudaStream_t stream);

}  // namespace peers
