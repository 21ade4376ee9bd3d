// Exclusive scan (prefix sum) of a table on the device, in three launches. Algorithms scan their
// tables of digit counts with it.
#pragma once

#include <memory>

#include "algorithm.hpp"

namespace sortium {

class Scan {
 public:
  Scan() = default;
  // Scans a table of `length` numbers of index_bytes(count) bytes each, with up to `parts`
  // work-groups. Each work-group scans one contiguous part of the table.
  Scan(std::uint64_t length, std::uint64_t parts, std::uint64_t count, const Capabilities& device,
       ScratchLayout& layout);

  void build(Device& device, const Capabilities& capabilities);
  void enqueue(Queue& queue, const Operands& operands, Memory table) const;
  [[nodiscard]] std::uint64_t parts() const { return parts_; }

 private:
  std::uint64_t length_ = 0, parts_ = 0, count_ = 0;
  unsigned work_group_ = 0;
  ScratchLayout::Slice sums_, total_;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> part_, add_;
};

}  // namespace sortium
