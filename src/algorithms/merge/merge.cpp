// Merge sort in three tiers, by the size of the merges: "CUDA (vi). Understanding parallel thinking
// from the parallel sort method" (document 004); its third tier is that of Satish, Harris, Garland
// (2009).
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "../../kernels/kernels.hpp"
#include "../catalog.hpp"
#include "embedded.hpp"

namespace sortium {
namespace {

// What merge.cl is specialised for.
struct MergeParameters {
  unsigned serial_work_group;  // work-items of a work-group in tier 1
  unsigned work_group;         // work-items of a work-group in tiers 2 and 3
  std::uint64_t capacity;  // records that a work-group can merge in local memory, a multiple of WG
  std::uint64_t sample;    // records between samples, a power of two

  [[nodiscard]] kernels::Defines defines(const Problem& problem) const {
    return kernels::Defines()
        .problem(problem)
        .set("SERIAL_WG", serial_work_group)
        .set("WG", work_group)
        .set("CAPACITY", capacity)
        .set("SAMPLE", sample);
  }
};

class MergeSorter final : public Sorter {
 public:
  MergeSorter(const Problem& problem, const Capabilities& device, const Parameters& given)
      : problem_(problem) {
    const bool cpu = device.kind == DeviceKind::cpu;
    const unsigned largest = std::bit_floor(std::min(device.max_work_group, 1024u));
    work_group_ =
        static_cast<unsigned>(given.number("work_group", std::min(largest, cpu ? 16u : 128u)));
    if (!std::has_single_bit(work_group_) || work_group_ > largest)
      throw Error(ErrorCode::unsupported,
                  fmt::format("merge: work_group={} is not a power of two up to {}, the "
                              "device's largest work-group",
                              work_group_, largest));
    serial_group_ = std::min(largest, cpu ? 1u : 64u);

    choose_tiers(device, given, cpu);
    const std::uint64_t in_tiers = std::max(tier1_, tier2_);
    // At least 1: a single record is merged with an empty run, which writes it to the output.
    levels_ = 1;
    while (std::uint64_t{1} << levels_ < problem.count) ++levels_;
    passes_ = PingPong(problem, levels_, layout_);
    if (std::uint64_t{1} << (levels_ - 1) > in_tiers)
      for (auto& c : cuts_)
        c = layout_.add(ceil_div(problem.count, sample_) * kernels::index_bytes(problem.count));
  }

  std::uint64_t scratch_bytes() const override { return layout_.bytes(); }
  std::string parameters() const override {
    return fmt::format("tier1={},tier2={},sample={},work_group={}", tier1_, tier2_, sample_,
                       work_group_);
  }
  std::uint64_t bytes_moved() const override { return bytes_of_passes(problem_, levels_, 1); }

  void build(Device& device, const Capabilities& capabilities) override {
    const std::uint64_t capacity = 2 * std::max(tier2_, sample_);
    const MergeParameters parameters{.serial_work_group = serial_group_,
                                     .work_group = work_group_,
                                     .capacity = std::max<std::uint64_t>(capacity, work_group_),
                                     .sample = sample_};
    module_ = kernels::build(device, capabilities, kernels::embedded::merge_cl,
                             parameters.defines(problem_));
    serial_ = module_->kernel("merge_serial");
    middle_ = module_->kernel("merge_middle");
    rank_samples_ = module_->kernel("merge_rank_samples");
    pieces_ = module_->kernel("merge_pieces");
  }

  void enqueue(Queue& queue, const Operands& o) override {
    passes_.start(queue, o);
    for (unsigned level = 0; level < levels_; ++level) {
      const std::uint64_t n = problem_.count, run = std::uint64_t{1} << level,
                          pairs = ceil_div(n, 2 * run);
      const auto b = passes_.pass(level, o);
      const Arg args[] = {{"keys_in", b.keys_in},
                          {"keys_out", b.keys_out},
                          {"values_in", b.values_in},
                          {"values_out", b.values_out},
                          {"n", n},
                          {"run", run}};
      if (run <= tier1_) {
        queue.launch({*serial_, ceil_div(pairs, serial_group_), serial_group_, args, "tier 1"});
      } else if (run <= tier2_) {
        queue.launch({*middle_, pairs, work_group_, args, "tier 2"});
      } else {
        const std::uint64_t samples = ceil_div(n, sample_);
        const Memory left = cuts_[0].in(o), right = cuts_[1].in(o);
        const Arg rank_args[] = {{"keys", b.keys_in},
                                 {"left_cuts", left},
                                 {"right_cuts", right},
                                 {"n", n},
                                 {"run", run}};
        queue.launch({*rank_samples_, ceil_div(samples, work_group_), work_group_, rank_args,
                      "tier 3: rank samples"});
        const Arg piece_args[] = {{"keys_in", b.keys_in},
                                  {"keys_out", b.keys_out},
                                  {"values_in", b.values_in},
                                  {"values_out", b.values_out},
                                  {"left_cuts", left},
                                  {"right_cuts", right},
                                  {"n", n},
                                  {"run", run}};
        queue.launch({*pieces_, samples, work_group_, piece_args, "tier 3: merge pieces"});
      }
    }
  }

 private:
  void choose_tiers(const Capabilities& device, const Parameters& given, bool cpu) {
    // Tiers 2 and 3 merge pairs of runs, or pieces of them, in local memory.
    const std::uint64_t most = std::bit_floor(device.local_memory / (2 * info(problem_.key).bytes));
    tier1_ = given.number("tier1", cpu ? 65536 : 32);
    tier2_ = given.number("tier2", std::min<std::uint64_t>(most, cpu ? 1 : 512));
    const std::uint64_t in_tiers = std::max(tier1_, tier2_);  // tier 3 merges longer runs
    sample_ = given.number("sample", std::min<std::uint64_t>({most, 256, 2 * in_tiers}));
    for (const auto& [name, value] : {std::pair{"tier2", tier2_}, {"sample", sample_}})
      if (!std::has_single_bit(value) || value > most)
        throw Error(ErrorCode::unsupported,
                    fmt::format("merge: {}={} is not a power of two up to {}; a work-group merges "
                                "twice as many keys "
                                "of {} bytes in local memory, of which the device has {} bytes",
                                name, value, most, info(problem_.key).bytes, device.local_memory));
    if (!std::has_single_bit(tier1_))
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("merge: tier1={} is not a power of two", tier1_));
    if (sample_ > 2 * in_tiers)
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("merge: sample={} is more than {}, the shortest run that tier 3 merges",
                      sample_, 2 * in_tiers));
  }

  Problem problem_;
  unsigned work_group_ = 0, serial_group_ = 0, levels_ = 0;
  std::uint64_t tier1_ = 0, tier2_ = 0, sample_ = 0;
  ScratchLayout layout_;
  PingPong passes_;
  ScratchLayout::Slice cuts_[2];  // where each sample cuts the left and the right run of its pair
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> serial_, middle_, rank_samples_, pieces_;
};

class Merge final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "merge",
        .title =
            "merge sort in three tiers: a work-item, a work-group, or many work-groups for a merge",
        .source =
            "CUDA (vi): understanding parallel thinking from the parallel sort method (document "
            "004)",
        .stable = true,
        .comparison = true,
        .cost =
            "log2(N) passes, each reads and writes every record once; 1 launch a pass, 2 in tier 3",
        .parameters = {
            {"tier1", "longest runs that one work-item merges; a power of two", 1, 1u << 20, {}},
            {"tier2",
             "longest runs that one work-group merges; a power of two (at most tier1: no tier 2)",
             1,
             1u << 20,
             {}},
            {"sample",
             "records from one sample to the next in tier 3; a power of two",
             1,
             1u << 20,
             {}},
            {"work_group",
             "work-items of a work-group in tiers 2 and 3; a power of two",
             1,
             1024,
             {}}}};
    return info;
  }

  Rank suits(const Problem&, const Capabilities&) const override { return Rank::last_resort; }

  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    return std::make_unique<MergeSorter>(problem, device, given);
  }
};

}  // namespace

const Algorithm& catalog::merge() {
  static const Merge algorithm;
  return algorithm;
}

}  // namespace sortium
