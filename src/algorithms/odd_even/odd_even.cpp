// Odd-even transposition sort, the parallel form of bubble sort (document 004).
#include <fmt/format.h>

#include <algorithm>

#include "../../kernels/kernels.hpp"
#include "../catalog.hpp"
#include "embedded.hpp"

namespace sortium {
namespace {

// What odd_even.cl is specialised for.
struct OddEvenParameters {
  unsigned work_group;  // work-items of a work-group

  [[nodiscard]] kernels::Defines defines(const Problem& problem) const {
    return kernels::Defines().problem(problem).set("WG", work_group);
  }
};

// What odd_even_blocks.cl is specialised for.
struct OddEvenBlocksParameters {
  unsigned work_group;   // work-items of a work-group
  std::uint64_t rounds;  // rounds of a launch; the last launch may have fewer

  [[nodiscard]] kernels::Defines defines(const Problem& problem) const {
    return kernels::Defines().problem(problem).set("WG", work_group).set("ROUNDS", rounds);
  }
};

class OddEvenSorter final : public Sorter {
 public:
  OddEvenSorter(const Problem& problem, const Capabilities& device, const Parameters& given)
      : problem_(problem) {
    const bool cpu = device.kind == DeviceKind::cpu;
    const std::uint64_t record =
        info(problem.key).bytes + (problem.payload == Payload::none ? 0 : problem.value_bytes);
    const std::uint64_t most = device.local_memory / (4 * record);
    rounds_ = given.number("rounds", std::min<std::uint64_t>(most, 256));
    if (rounds_ > most)
      throw Error(
          ErrorCode::unsupported,
          fmt::format(
              "odd-even: rounds={} needs {} bytes of local memory; the device has {}, which allows "
              "rounds up to {}",
              rounds_, 4 * rounds_ * record, device.local_memory, most));
    launches_ = ceil_div(problem.count, rounds_);
    if (launches_ > 0xffffffffu)
      throw Error(ErrorCode::unsupported,
                  fmt::format("odd-even: {} records in launches of {} rounds are more than "
                              "2^32 launches",
                              problem.count, rounds_));
    // A CPU is fastest if one work-item has the whole tile: compilers vectorise its rounds.
    const std::uint64_t items =
        rounds_ == 1 ? (cpu ? 64 : 256) : (cpu ? 1 : std::min<std::uint64_t>(2 * rounds_, 256));
    work_group_ = static_cast<unsigned>(std::min<std::uint64_t>(device.max_work_group, items));
    passes_ = PingPong(problem, static_cast<unsigned>(launches_), layout_);
  }

  std::uint64_t scratch_bytes() const override { return layout_.bytes(); }
  std::string parameters() const override { return fmt::format("rounds={}", rounds_); }
  std::uint64_t bytes_moved() const override { return bytes_of_passes(problem_, launches_, 1); }

  void build(Device& device, const Capabilities& capabilities) override {
    if (rounds_ == 1) {
      module_ = kernels::build(device, capabilities, kernels::embedded::odd_even_cl,
                               OddEvenParameters{work_group_}.defines(problem_));
      kernel_ = module_->kernel("odd_even_round");
    } else {
      const OddEvenBlocksParameters blocks{.work_group = work_group_, .rounds = rounds_};
      module_ = kernels::build(device, capabilities, kernels::embedded::odd_even_blocks_cl,
                               blocks.defines(problem_));
      kernel_ = module_->kernel("odd_even_blocks");
    }
  }

  void enqueue(Queue& queue, const Operands& o) override {
    passes_.start(queue, o);
    for (unsigned launch = 0; launch < launches_; ++launch) {
      const std::uint64_t done = launch * rounds_;
      const auto odd = static_cast<std::uint32_t>(done % 2);
      const auto b = passes_.pass(launch, o);
      if (rounds_ == 1) {
        const Arg args[] = {{"keys_in", b.keys_in},     {"keys_out", b.keys_out},
                            {"values_in", b.values_in}, {"values_out", b.values_out},
                            {"n", problem_.count},      {"odd", odd}};
        queue.launch({*kernel_, ceil_div(problem_.count / 2 + 1, work_group_), work_group_, args,
                      "exchange"});
      } else {
        const auto rounds = static_cast<std::uint32_t>(std::min(rounds_, problem_.count - done));
        const Arg args[] = {{"keys_in", b.keys_in},
                            {"keys_out", b.keys_out},
                            {"values_in", b.values_in},
                            {"values_out", b.values_out},
                            {"n", problem_.count},
                            {"rounds", rounds},
                            {"odd", odd}};
        queue.launch(
            {*kernel_, ceil_div(problem_.count, 2 * rounds_), work_group_, args, "exchange"});
      }
      if (launch % 64 == 0)
        queue.flush();  // lets the device start while more launches are enqueued
    }
  }

 private:
  Problem problem_;
  ScratchLayout layout_;
  PingPong passes_;
  std::uint64_t rounds_ = 0, launches_ = 0;  // rounds of a launch; launches
  unsigned work_group_ = 0;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> kernel_;
};

class OddEven final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "odd-even",
        .title = "odd-even transposition: N rounds in which neighbours are compared and exchanged",
        .source =
            "Understanding parallel thinking from the parallel sort method (document 004), after "
            "Kornerup 1996",
        .stable = true,
        .comparison = true,
        .quadratic = true,
        .cost =
            "N²/2 comparisons (twice that with rounds > 1); N/rounds launches; each writes the "
            "records once and "
            "reads them once (twice with rounds > 1)",
        .parameters = {{"rounds",
                        "rounds of a launch; 1: in global memory, more: in local memory",
                        1,
                        65536,
                        {}}}};
    return info;
  }

  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    return std::make_unique<OddEvenSorter>(problem, device, given);
  }
};

}  // namespace

const Algorithm& catalog::odd_even() {
  static const OddEven algorithm;
  return algorithm;
}

}  // namespace sortium
