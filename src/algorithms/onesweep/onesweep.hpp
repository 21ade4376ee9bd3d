// The one-sweep passes, for the two rooms that are made of them: onesweep, and msd, which sorts by the leading digits
// first and falls back on all of onesweep where that does not part the keys.
#pragma once

#include "../algorithm.hpp"

namespace sortium {

class OnesweepSorter final : public Sorter {
 public:
  // What msd has more of: up to this many segments in a pass, bytes of its own that are cleared before a sort, spread
  // orders by so many leading bits (0: keys stay as they are), and, where there is one partition, whether `tile_table` has the
  // tiles' counts.
  struct Extension {
    std::uint64_t segments = 0, cleared_bytes = 0;
    unsigned spread_bits = 0;
    bool counted = false;
  };
  // A word on the device that decides whether launches do anything: only if (word != 0) == open. None: they do.
  struct Gate {
    Memory word{};
    std::uint32_t open = 0;
  };

  OnesweepSorter(const Problem& problem, const Capabilities& device, const Parameters& given)
      : OnesweepSorter(problem, device, given, {}) {}
  OnesweepSorter(const Problem& problem, const Capabilities& device, const Parameters& given, Extension extension);

  std::uint64_t scratch_bytes() const override { return scratch_.bytes(); }
  std::string parameters() const override;
  std::uint64_t bytes_moved() const override {
    return problem_.count * info(problem_.key).bytes + bytes_of_passes(problem_, digits_.size(), 1);
  }
  void build(Device& device, const Capabilities& capabilities) override;
  void enqueue(Queue& queue, const Operands& operands) override;

  // The parts of enqueue: what comes before any pass, which ends with clearing `cleared`, and all passes from the last digit to
  // the first.
  void start(Queue& queue, const Operands& operands) const { passes_.start(queue, operands); }
  [[nodiscard]] Memory cleared(const Operands& operands) const { return cleared_.in(operands); }
  void clear(Queue& queue, const Operands& operands) const { queue.fill(cleared(operands), 0, cleared_.bytes, "clear"); }
  void sort(Queue& queue, const Operands& operands, Gate gate) const;
  // Instead: one or two passes from the leading digit on, the second within each of the first one's segments. `starts`:
  // where each value of the two digits together begins, and the end. `spread`: the table, where orders are spread.
  // With Extension::counted: one pass, which writes `starts`, and if a digit has more than `capacity` records, only sets the
  // gate's word.
  void partition(Queue& queue, const Operands& operands, Memory starts, Memory spread, const std::vector<Digit>& digits,
                 Gate gate, std::uint32_t capacity) const;

  [[nodiscard]] const PingPong& passes() const { return passes_; }
  [[nodiscard]] std::uint64_t tile() const { return std::uint64_t{work_group_} * items_; }
  // With Extension::counted, to be written before the partition: for each tile of the list, how many records it has of each of
  // 256 digits; 32-bit words.
  [[nodiscard]] Memory tile_table(const Operands& operands) const { return look_[1].in(operands); }
  [[nodiscard]] Memory extension(const Operands& operands) const { return extension_.in(operands); }

 private:
  void launch(Queue& queue, const Operands& operands, Kernel& kernel, Memory starts, Memory state,
              Memory spread, const std::vector<Digit>& digits, Gate gate, std::string_view phase, std::uint32_t capacity = 0) const;

  Problem problem_;
  std::vector<Digit> digits_;
  ScratchLayout scratch_;
  PingPong passes_;
  unsigned spread_bits_ = 0;
  bool async_ = false, segmented_ = false, counted_ = false, codes_ = false, may_tie_ = false;
  unsigned work_group_ = 0, items_ = 0, resident_ = 0, look_bits_ = 0, local_bytes_ = 0, copies_ = 1;
  std::uint64_t tiles_ = 0, groups_ = 0;
  struct Counts {
    ScratchLayout::Slice histograms, state;
  };
  Counts counts_[2];  // of the launch with codes or of integers; of the one without codes
  ScratchLayout::Slice partition_state_, ties_, look_[2], extension_, cleared_;
  std::shared_ptr<Module> module_, ties_module_, segmented_module_;
  std::unique_ptr<Kernel> sort_, sort_ties_, partition_;
};

}  // namespace sortium
