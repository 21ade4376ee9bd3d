// The one-sweep passes, for the two rooms that are made of them: onesweep, and msd, which sorts by
// the leading digits first and falls back on all of onesweep where that does not part the keys.
#pragma once

#include "../algorithm.hpp"

namespace sortium {

class OnesweepSorter final : public Sorter {
 public:
  // What msd has more of: up to this many segments in a pass (0: there is no partition), bytes of
  // its own that are cleared before a sort, spread orders by so many leading bits (0: keys stay as
  // they are), and whether lists are only sorted whose keys do not spread, and the gate's word
  // tells which of them have few digits.
  struct Extension {
    std::uint64_t segments = 0, cleared_bytes = 0;
    unsigned spread_bits = 0;
    bool skewed = false, tells_few_digits = false;
  };
  // A word on the device that decides whether launches do anything: only if it is at least `least`
  // and at most `most`. None: they do.
  struct Gate {
    Memory word{};
    std::uint32_t least = 0, most = 0;
  };
  // A gate's word that says of skewed lists that most of their digits are few, too
  // (Extension::skewed): from here on. And up to so many records that matters where keys only
  // repeat.
  static constexpr std::uint32_t few_digits = 0x80000000;
  static constexpr std::uint64_t narrow_to = std::uint64_t{1} << 25;

  OnesweepSorter(const Problem& problem, const Capabilities& device, const Parameters& given)
      : OnesweepSorter(problem, device, given, {}) {}
  OnesweepSorter(const Problem& problem, const Capabilities& device, const Parameters& given,
                 Extension extension);

  std::uint64_t scratch_bytes() const override { return scratch_.bytes(); }
  std::string parameters() const override;
  std::uint64_t bytes_moved() const override {
    return problem_.count * info(problem_.key).bytes + bytes_of_passes(problem_, digits_.size(), 1);
  }
  void build(Device& device, const Capabilities& capabilities) override;
  void enqueue(Queue& queue, const Operands& operands) override;

  // The parts of enqueue: what comes before any pass, which ends with clearing `cleared`, and all
  // passes from the last digit to the first.
  void start(Queue& queue, const Operands& operands) const { passes_.start(queue, operands); }
  [[nodiscard]] Memory cleared(const Operands& operands) const { return cleared_.in(operands); }
  void clear(Queue& queue, const Operands& operands) const {
    queue.fill(cleared(operands), 0, cleared_.bytes, "clear");
  }
  void sort(Queue& queue, const Operands& operands, Gate gate) const;
  // Instead: one or two passes from the leading digit on, the second within each of the first one's
  // segments. `starts`: where each value of the two digits together begins, and the end. `spread`:
  // the table, where orders are spread.
  void partition(Queue& queue, const Operands& operands, Memory starts, Memory spread,
                 const std::vector<Digit>& digits, Gate gate) const;

  [[nodiscard]] const PingPong& passes() const { return passes_; }
  // Whether lists of few digits are sorted in another way than others, so that the gate has to
  // tell.
  [[nodiscard]] bool tells_few_digits() const { return sorts_.size() > 1; }
  [[nodiscard]] Memory extension(const Operands& operands) const { return extension_.in(operands); }

 private:
  // How a launch is shaped.
  struct Shape {
    unsigned work_group = 0, items = 0, resident = 0, copies = 1, local_bytes = 0, common_share = 8;
    std::uint64_t tiles = 0, groups = 0, mark_rows = 0;
    bool turns = false;  // onesweep_turns.cl, not onesweep_pipelined.cl

    [[nodiscard]] std::uint64_t tile() const { return std::uint64_t{work_group} * items; }
  };
  struct Sort {
    Shape shape;
    std::shared_ptr<Module> module = nullptr;
    std::unique_ptr<Kernel> kernel = nullptr;
  };
  [[nodiscard]] Shape shape(const Capabilities& device, const Parameters& given,
                            std::uint64_t segments, bool narrow) const;
  void launch(Queue& queue, const Operands& operands, Kernel& kernel, const Shape& shape,
              Memory starts, Memory state, Memory spread, const std::vector<Digit>& digits,
              Gate gate, std::string_view phase) const;

  Problem problem_;
  std::vector<Digit> digits_;
  ScratchLayout scratch_;
  PingPong passes_;
  unsigned spread_bits_ = 0;
  bool segmented_ = false, codes_ = false, may_tie_ = false;
  unsigned count_bits_ = 0;  // of the look-back table
  bool long_counts_ = false;
  Shape shape_;  // of the partition, and of the sort that parameters() tells of
  std::vector<Sort> sorts_;
  struct Counts {
    ScratchLayout::Slice histograms, state;
  };
  Counts counts_[2];  // of the launch with codes or of integers; of the one without codes
  ScratchLayout::Slice partition_state_, ties_, marks_, look_, extension_, cleared_;
  std::shared_ptr<Module> ties_module_, segmented_module_;
  std::unique_ptr<Kernel> sort_ties_, partition_;
};

}  // namespace sortium
