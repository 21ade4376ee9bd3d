// Selection by a sample, for topk: one reading of the keys copies few more records than are wanted.
#pragma once

#include <memory>

#include "../algorithm.hpp"

namespace sortium {

class SampleSelect {
 public:
  SampleSelect() = default;
  // Selects the first `k` records of the sorted order, and some more. `given` may have work_group
  // and samples. Throws Error(unsupported) if the device does not support such a work-group.
  SampleSelect(const Problem& problem, const Capabilities& device, const Parameters& given,
               std::uint64_t k);

  // Reserves scratch memory.
  void lay_out(ScratchLayout& layout);
  void build(Device& device, const Capabilities& capabilities);

  // Writes selected() records to keys_out and values_out: first, in the order of the input, records
  // among which are the first k; then others that sort after these k. Reads keys_in and values_in
  // (empty: positions). Enqueues five launches.
  void enqueue(Queue& queue, const Operands& operands) const;

  [[nodiscard]] std::uint64_t selected() const { return capacity_; }
  [[nodiscard]] std::string parameters() const;

 private:
  Problem problem_;
  std::uint64_t k_ = 0, capacity_ = 0;
  unsigned work_group_ = 1, bound_work_group_ = 1, words_ = 1;
  std::uint32_t samples_ = 1, stride_ = 1, wanted_ = 0;
  std::uint64_t tiles_ = 0;
  ScratchLayout::Slice keys_, bound_, marks_, counts_, starts_;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> sample_, find_bound_, mark_, check_, collect_;
};

}  // namespace sortium
