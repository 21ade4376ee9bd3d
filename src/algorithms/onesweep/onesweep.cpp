// LSD radix sort whose passes read and write every record once (parts/radix_passes.hpp).
#include "../catalog.hpp"
#include "../parts/radix_passes.hpp"

namespace sortium {
namespace {

class OnesweepSorter final : public Sorter {
 public:
  OnesweepSorter(const Problem& problem, const Capabilities& device, const Parameters& given)
      : problem_(problem), passes_(problem, device, given, {.algorithm = "onesweep"}, scratch_) {}

  std::uint64_t scratch_bytes() const override { return scratch_.bytes(); }
  std::string parameters() const override { return passes_.parameters(); }
  std::uint64_t bytes_moved() const override {
    const std::uint64_t histogram_reads =
        passes_.looks_back() ? problem_.count * info(problem_.key).bytes : 0;
    return histogram_reads + bytes_of_passes(problem_, passes_.pass_count(), 1);
  }
  void build(Device& device, const Capabilities& capabilities) override {
    passes_.build(device, capabilities);
  }
  void enqueue(Queue& queue, const Operands& operands) override {
    passes_.start(queue, operands);
    passes_.clear(queue, operands);
    passes_.sort(queue, operands, {});
  }

 private:
  Problem problem_;
  ScratchLayout scratch_;
  RadixPasses passes_;
};

class Onesweep final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "onesweep",
        .title =
            "LSD radix sort with 8-bit digits; each pass reads and writes the records once "
            "(decoupled look-back)",
        .source = "Adinets, Merrill 2022; Merrill, Garland 2016",
        .stable = true,
        .needs_progress = true,
        .cost =
            "one read of the keys for the histograms (not in short lists), then bits/8 passes that "
            "read and write "
            "every record once; 1 launch and a fill; passes over digits that all keys share are "
            "skipped, and of long keys those over low digits that samples do not need",
        .parameters = {
            {"work_group", "work-items of a work-group", 256, 1024, {}},
            {"items", "records of a work-item in a tile", 1, 64, {}},
            {"resident",
             "work-groups that share a compute unit's registers and local memory",
             1,
             8,
             {}},
            {"count_bits",
             "bits of a count in the look-back table; more records need a second table, of marks",
             9,
             30,
             {}},
            {"groups", "work-groups launched for each compute unit", 1, 64, {}},
            {"look_back",
             "1: tiles look back at the counts of earlier ones; 0: they add up a table of all "
             "counts",
             0,
             1,
             {}}}};
    return info;
  }

  Rank suits(const Problem&, const Capabilities& device) const override {
    return device.kind == DeviceKind::gpu ? Rank::one_launch_a_digit : Rank::unsuited;
  }

  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    return std::make_unique<OnesweepSorter>(problem, device, given);
  }
};

}  // namespace

const Algorithm& catalog::onesweep() {
  static const Onesweep algorithm;
  return algorithm;
}

}  // namespace sortium
