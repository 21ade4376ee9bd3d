// Partitions records stably into buckets whose boundaries are arbitrary. Reads the keys twice, and
// writes every record once.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "../algorithm.hpp"
#include "../scan.hpp"

namespace sortium {

class BoundaryPartition {
 public:
  static constexpr unsigned max_boundaries = 255;
  // The most boundaries that the kernels for so many (1 to max_boundaries) take.
  [[nodiscard]] static unsigned boundaries_of_kernels(std::uint64_t boundaries);

  // For up to `boundaries` boundaries (1 to max_boundaries). Of the problem, types, order, count
  // and payload matter. Adds its scratch memory to `layout`. Throws Error(unsupported) if the
  // device's local memory is too small.
  BoundaryPartition(const Problem& problem, const Capabilities& device, unsigned boundaries,
                    ScratchLayout& layout);
  void build(Device& device, const Capabilities& capabilities);

  // Counts the records of each bucket. Bucket b has the records with b boundaries at or before
  // their rank (KeyRank); `boundaries` ascend. Waits. Returns where each bucket begins, and the end
  // of the last one.
  [[nodiscard]] std::vector<std::uint64_t> count(Queue& queue, const Operands& operands,
                                                 std::span<const std::uint64_t> boundaries) const;

  // Where some buckets go instead. Bucket b goes to record places[b] of these arrays and the next
  // ones, or stays with the others if that is `nowhere`.
  struct Apart {
    Memory keys, values;
    std::span<const std::uint64_t> places;
  };
  static constexpr std::uint64_t nowhere = ~std::uint64_t{0};
  // True if buckets may go to an array of so many records.
  [[nodiscard]] bool reaches(std::uint64_t records) const;

  // Writes the buckets, out of place. count() comes first, with the same operands and boundaries;
  // `begins` is its result. The value of record i is first_position + i if the payload is
  // positions. Does not wait.
  void scatter(Queue& queue, const Operands& operands, std::span<const std::uint64_t> boundaries,
               std::span<const std::uint64_t> begins, std::uint64_t first_position,
               const Apart& apart = {}) const;

 private:
  void choose_items(const Capabilities& device);
  [[nodiscard]] std::uint64_t buckets() const { return std::uint64_t{1} << digit_bits_; }
  [[nodiscard]] std::uint32_t used(std::span<const std::uint64_t> boundaries) const;
  void write_numbers(Queue& queue, const Memory& to, std::span<const std::uint64_t> numbers,
                     unsigned bytes) const;

  Problem problem_;
  unsigned digit_bits_, work_group_ = 0, items_ = 0, resident_ = 0;
  std::uint64_t part_ = 0, groups_ = 0;  // records of a work-group's part; number of work-groups
  ScratchLayout::Slice counts_, boundaries_, places_;
  Scan scan_;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> count_, scatter_;
};

}  // namespace sortium
