// Selection on the device: finds the k-th record of the sorted order and the records before it.
// topk and nth_element call it. The method is radix select: Alabi, Blanchard, Gordon, Steinbach,
// "Fast k-selection algorithms for graphics processing units" (2012). A kernel picks each digit of
// the k-th record's rank, so the host never waits for the device: Zhang et al., "Parallel top-k
// algorithms on GPU" (SC'23).
#pragma once

#include <memory>

#include "algorithm.hpp"
#include "scan.hpp"

namespace sortium {

class RadixSelect {
 public:
  RadixSelect() = default;
  // `given` may have work_group, items and groups. Throws Error(unsupported) if the device does not
  // support such a work-group.
  RadixSelect(const Problem& problem, const Capabilities& device, const Parameters& given,
              ScratchLayout& layout);

  void build(Device& device, const Capabilities& capabilities);

  // Partitions the records into those before the k-th of the sorted order (1 ≤ k ≤ count), those
  // that tie with it, and those after it. Each part keeps the order of the input. Reads keys_in and
  // values_in (empty: positions); writes the first `limit` records to keys_out and values_out.
  // Enqueues two launches for each digit, and three more.
  void enqueue(Queue& queue, const Operands& operands, std::uint64_t k, std::uint64_t limit) const;

  [[nodiscard]] std::string parameters() const;
  // How many times the keys are read in total.
  [[nodiscard]] unsigned key_readings() const { return static_cast<unsigned>(digits_.size()) + 2; }

 private:
  Problem problem_;
  std::vector<Digit> digits_;  // the most significant first
  std::uint64_t bits_ = 0;     // the compared bits of key_order
  unsigned work_group_ = 1, items_ = 1;
  std::uint64_t part_ = 0, groups_ = 0;  // records of a work-group's part; number of work-groups
  ScratchLayout::Slice tables_, picks_, counts_;
  Scan scan_;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> count_, pick_, tally_, partition_;
};

// Does the same as RadixSelect::enqueue on the host, with up to `threads` threads and without
// scratch memory. Returns when the records are written.
void select_on_host(const Problem& problem, const Operands& operands, unsigned threads,
                    std::uint64_t k, std::uint64_t limit);

}  // namespace sortium
