// Selection on the device: which record the k-th of the sorted order is, and the records before it,
// in three steps that what finds the first records (topk) and what parts them (nth_element) have in
// common. Alabi, Blanchard, Gordon, Steinbach, "Fast k-selection algorithms for graphics processing
// units" (2012), for radix select; Zhang et al., "Parallel top-k algorithms on GPU" (SC'23), for a
// digit that is picked on the device, so that the host waits for nothing.
#pragma once

#include <memory>

#include "algorithm.hpp"
#include "scan.hpp"

namespace sortium {

class RadixSelect {
 public:
  RadixSelect() = default;
  // `given` may have work_group, items and groups. Throws Error(unsupported) where the device has
  // no such work-group.
  RadixSelect(const Problem& problem, const Capabilities& device, const Parameters& given,
              ScratchLayout& layout);

  void build(Device& device, const Capabilities& capabilities);

  // From the operands' keys_in and values_in (none: positions) to keys_out and values_out: the
  // records before the k-th of the sorted order (1 ≤ k ≤ count), those that tie with it, those
  // after it, each in the order of the input; only the first `limit` of them are written. Enqueues
  // two launches a digit, and three.
  void enqueue(Queue& queue, const Operands& operands, std::uint64_t k, std::uint64_t limit) const;

  [[nodiscard]] std::string parameters() const;
  // How often the keys are read in all.
  [[nodiscard]] unsigned key_readings() const { return static_cast<unsigned>(digits_.size()) + 2; }

 private:
  Problem problem_;
  std::vector<Digit> digits_;  // the most significant first
  std::uint64_t bits_ = 0;     // those of key_order that decide
  unsigned work_group_ = 1, items_ = 1;
  std::uint64_t part_ = 0, groups_ = 0;  // records of a work-group's part; number of work-groups
  ScratchLayout::Slice tables_, picks_, counts_;
  Scan scan_;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> count_, pick_, tally_, partition_;
};

// The same on the host, with all its cores; scratch is of no use to it. Waits.
void select_on_host(const Problem& problem, const Operands& operands, unsigned threads,
                    std::uint64_t k, std::uint64_t limit);

}  // namespace sortium
