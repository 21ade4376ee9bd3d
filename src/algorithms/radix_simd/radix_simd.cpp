// Intel's CM tutorial 13, "Kernel Deep-Dive: RadixSort" (document 001). A sub-group replaces a SIMD
// thread.
#include <fmt/format.h>

#include <algorithm>

#include "../../kernels/kernels.hpp"
#include "../catalog.hpp"
#include "../scan.hpp"
#include "embedded.hpp"

namespace sortium {
namespace {

constexpr std::uint64_t chunk = 256;  // keys of a sub-group

// What radix_simd.cl is specialised for.
struct RadixSimdParameters {
  unsigned work_group;  // work-items of a work-group
  unsigned digit_bits;  // bits of a digit

  [[nodiscard]] kernels::Defines defines(const Problem& problem) const {
    return kernels::Defines()
        .problem(radix_problem(problem))
        .set("WG", work_group)
        .set("DIGIT_BITS", digit_bits);
  }
};

class RadixSimdSorter final : public Sorter {
 public:
  RadixSimdSorter(const Problem& problem, const Capabilities& device, const Parameters& given)
      : problem_(problem) {
    const bool cpu = device.kind == DeviceKind::cpu;
    digit_bits_ = static_cast<unsigned>(given.number("digit_bits", 4));
    const unsigned most = device.max_work_group / device.sub_group_size * device.sub_group_size;
    work_group_ = static_cast<unsigned>(given.number(
        "work_group", std::min(most, std::max(device.sub_group_size, cpu ? 64u : 256u))));
    if (work_group_ == 0 || work_group_ % device.sub_group_size != 0 || work_group_ > most)
      throw Error(ErrorCode::unsupported, fmt::format("radix-simd: work_group={} is not a multiple "
                                                      "of {} (the sub-group size) up to {} (the "
                                                      "device's largest)",
                                                      work_group_, device.sub_group_size, most));

    chunks_ = ceil_div(problem.count, chunk);
    const std::uint64_t sub_groups = work_group_ / std::min(device.sub_group_size, 32u);
    groups_ = ceil_div(chunks_, sub_groups);
    digits_ = digits(problem, digit_bits_);
    passes_ = PingPong(problem, static_cast<unsigned>(digits_.size()), layout_);
    const std::uint64_t counts = chunks_ << digit_bits_;
    counts_ = layout_.add(counts * kernels::index_bytes(problem.count));
    const std::uint64_t busy = (cpu ? 4 : 8) * device.compute_units;
    scan_ = Scan(counts, std::min<std::uint64_t>(busy, ceil_div(counts, 1024)), problem.count,
                 device, layout_);
  }

  std::uint64_t scratch_bytes() const override { return layout_.bytes(); }
  std::string parameters() const override {
    return fmt::format("digit_bits={},work_group={}", digit_bits_, work_group_);
  }
  std::uint64_t bytes_moved() const override {
    return bytes_of_passes(problem_, digits_.size(), 2);
  }

  void build(Device& device, const Capabilities& capabilities) override {
    const RadixSimdParameters parameters{.work_group = work_group_, .digit_bits = digit_bits_};
    module_ = kernels::build(device, capabilities, kernels::embedded::radix_simd_cl,
                             parameters.defines(problem_));
    count_ = module_->kernel("radix_simd_count");
    bin_ = module_->kernel("radix_simd_bin");
    scan_.build(device, capabilities);
  }

  void enqueue(Queue& queue, const Operands& o) override {
    const Memory counts = counts_.in(o);
    passes_.start(queue, o);
    for (unsigned p = 0; p < digits_.size(); ++p) {
      const auto [shift, mask] = digits_[p];
      const auto b = passes_.pass(p, o);
      const Arg count_args[] = {{"keys", b.keys_in}, {"counts", counts}, {"n", problem_.count},
                                {"chunks", chunks_}, {"shift", shift},   {"mask", mask}};
      queue.launch({*count_, groups_, work_group_, count_args, "count"});
      scan_.enqueue(queue, o, counts);
      const Arg bin_args[] = {
          {"keys_in", b.keys_in},       {"keys_out", b.keys_out}, {"values_in", b.values_in},
          {"values_out", b.values_out}, {"starts", counts},       {"n", problem_.count},
          {"chunks", chunks_},          {"shift", shift},         {"mask", mask}};
      queue.launch({*bin_, groups_, work_group_, bin_args, "bin"});
    }
  }

 private:
  Problem problem_;
  unsigned digit_bits_ = 0, work_group_ = 0;
  std::uint64_t chunks_ = 0, groups_ = 0;
  std::vector<Digit> digits_;
  ScratchLayout layout_;
  PingPong passes_;
  ScratchLayout::Slice
      counts_;  // counts of each bin and chunk; after the scan, their start positions
  Scan scan_;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> count_, bin_;
};

class RadixSimd final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "radix-simd",
        .title =
            "radix sort with small digits: a sub-group counts and bins a chunk of 256 keys in its "
            "registers",
        .source = "Intel C for Metal, tutorial 13: Kernel Deep-Dive: RadixSort (document 001)",
        .stable = true,
        .cost =
            "bits/digit_bits passes; each reads the keys twice and writes the records once, and "
            "scans a table of "
            "2^digit_bits counts for every 256 keys; 5 launches a pass",
        .parameters = {
            {"digit_bits", "bits of a digit", 0, 0, {"2", "4"}},
            {"work_group", "work-items of a work-group: one or several sub-groups", 1, 1024, {}}}};
    return info;
  }

  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    return std::make_unique<RadixSimdSorter>(problem, device, given);
  }
};

}  // namespace

const Algorithm& catalog::radix_simd() {
  static const RadixSimd algorithm;
  return algorithm;
}

}  // namespace sortium
