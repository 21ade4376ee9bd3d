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

  // Partitions out of place. Bucket b has the records with b boundaries at or before their rank
  // (KeyRank); `boundaries` ascend. The value of record i is first_position + i if the payload is
  // positions. Waits. Returns where each bucket begins, and the end of the last one.
  [[nodiscard]] std::vector<std::uint64_t> run(Queue& queue, const Operands& operands,
                                               std::span<const std::uint64_t> boundaries,
                                               std::uint64_t first_position) const;

 private:
  void choose_items(const Capabilities& device);
  [[nodiscard]] std::uint64_t buckets() const { return std::uint64_t{1} << digit_bits_; }

  Problem problem_;
  unsigned digit_bits_, work_group_ = 0, items_ = 0, resident_ = 0;
  std::uint64_t part_ = 0, groups_ = 0;  // records of a work-group's part; number of work-groups
  ScratchLayout::Slice counts_, boundaries_;
  Scan scan_;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> count_, scatter_;
};

}  // namespace sortium
