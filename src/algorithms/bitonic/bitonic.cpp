// Batcher's bitonic network by the kernels of E. Bainville, "OpenCL Sorting" (2011; document 000):
// A, B2 … B16, C2, C4. Stage s (0, 1, …) makes sorted sequences of 2^(s+1) records by comparing at
// the distances 2^s, 2^(s-1) … 1.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "../../kernels/kernels.hpp"
#include "../catalog.hpp"
#include "embedded.hpp"

namespace sortium {
namespace {

struct Schedule {
  std::string_view name;
  unsigned most;  // most distances that a launch of a B kernel handles; 0: kernel A, one distance
  unsigned tile_records;    // records of a work-item in the C kernel, which handles all distances
                            // below a tile's length; 0: no C kernel
  std::string_view kernel;  // the C kernel's name
};
constexpr std::array<Schedule, 8> schedules{{{"A", 0, 0, ""},
                                             {"B2", 1, 0, ""},
                                             {"B2+B4", 2, 0, ""},
                                             {"B2+B4+B8", 3, 0, ""},
                                             {"B2+B4+B8+B16", 4, 0, ""},
                                             {"C2pre+B*", 4, 2, "bitonic_c2pre"},
                                             {"C2+B*", 4, 2, "bitonic_c2"},
                                             {"C4+B*", 4, 4, "bitonic_c4"}}};

// What bitonic.cl is specialised for.
struct BitonicParameters {
  unsigned work_group;  // work-items of a work-group
  unsigned most;        // most distances that a launch of a B kernel handles; 0: schedule A

  [[nodiscard]] kernels::Defines defines(const Problem& problem) const {
    return kernels::Defines().problem(problem).set("WG", work_group).set("MOST", most);
  }
};

// What bitonic_tile.cl is specialised for.
struct BitonicTileParameters {
  unsigned work_group;  // work-items of a work-group
  unsigned records;     // records of a work-item: 2 for the C2 kernels, 4 for C4
  unsigned log_tile;    // base-2 logarithm of a tile's records, which are records * work_group

  [[nodiscard]] kernels::Defines defines(const Problem& problem) const {
    return kernels::Defines()
        .problem(problem)
        .set("WG", work_group)
        .set("RECORDS", records)
        .set("LOG_TILE", log_tile);
  }
};

class BitonicSorter final : public Sorter {
 public:
  BitonicSorter(const Problem& problem, const Capabilities& device, const Parameters& given)
      : problem_(problem), stages_(problem.count <= 2 ? 1 : std::bit_width(problem.count - 1)) {
    const bool cpu = device.kind == DeviceKind::cpu;
    schedule_ = *std::ranges::find(schedules, given.word("schedule", cpu ? "B2+B4+B8" : "C4+B*"),
                                   &Schedule::name);
    const unsigned records = schedule_.tile_records;
    together_ = given.word("small_stages", "apart") == "together";
    if (given.has("small_stages") && records == 0)
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("bitonic: small_stages is for the schedules with a C kernel, not for {}",
                      schedule_.name));

    const std::uint64_t record =
        info(problem.key).bytes + (problem.payload == Payload::none ? 0 : problem.value_bytes);
    std::uint64_t largest = std::min(device.max_work_group, 1024u);
    if (schedule_.kernel == "bitonic_c2" || schedule_.kernel == "bitonic_c4")
      largest = std::min(largest, device.local_memory / (records * record));
    largest = std::bit_floor(largest);
    const std::uint64_t usual = cpu && records != 0 ? 64 : 256;  // barriers are slow on CPUs
    work_group_ = static_cast<unsigned>(given.number("work_group", std::min(largest, usual)));
    if (!std::has_single_bit(work_group_) || work_group_ > largest)
      throw Error(ErrorCode::unsupported,
                  fmt::format("bitonic: work_group={} with schedule={} is not a power of two from "
                              "1 to {}, the most that "
                              "the device allows (work-groups of {}, {} bytes of local memory)",
                              work_group_, schedule_.name, largest, device.max_work_group,
                              device.local_memory));
    log_tile_ = records == 0 ? 0 : std::countr_zero(records * work_group_);

    if (schedule_.most == 0)
      ping_pong_ = PingPong(problem, stages_ * (stages_ + 1) / 2, layout_);
    else if (!problem.keys_out)
      keys_ = layout_.add(problem.count * info(problem.key).bytes);
  }

  std::uint64_t scratch_bytes() const override { return layout_.bytes(); }
  std::string parameters() const override {
    const std::string small =
        log_tile_ == 0 ? "" : fmt::format(",small_stages={}", together_ ? "together" : "apart");
    return fmt::format("schedule={},work_group={}{}", schedule_.name, work_group_, small);
  }
  std::uint64_t bytes_moved() const override { return bytes_of_passes(problem_, launches(), 1); }

  void build(Device& device, const Capabilities& capabilities) override {
    const BitonicParameters steps{.work_group = work_group_, .most = schedule_.most};
    module_ = kernels::build(device, capabilities, kernels::embedded::bitonic_cl,
                             steps.defines(problem_));
    if (schedule_.most == 0) a_ = module_->kernel("bitonic_a");
    for (unsigned m = 1; m <= schedule_.most; ++m)
      b_[m] = module_->kernel(fmt::format("bitonic_b{}", 1u << m));
    if (log_tile_ == 0) return;

    const BitonicTileParameters tile{
        .work_group = work_group_, .records = schedule_.tile_records, .log_tile = log_tile_};
    tile_module_ = kernels::build(device, capabilities, kernels::embedded::bitonic_tile_cl,
                                  tile.defines(problem_));
    c_ = tile_module_->kernel(std::string(schedule_.kernel));
    if (schedule_.kernel == "bitonic_c4") c4_last_ = tile_module_->kernel("bitonic_c4_last");
  }

  void enqueue(Queue& queue, const Operands& given) override {
    if (schedule_.most == 0) return enqueue_a(queue, given);
    Operands o = given;
    if (!problem_.keys_out) o.keys_out = keys_.in(o);

    unsigned stage = 0;
    if (together_) {
      stage = std::min(stages_, log_tile_);
      launch_c(queue, o, 0, stage - 1);
    }
    for (; stage < stages_; ++stage) {
      unsigned left = stage + 1;  // remaining distances: 2^(left-1) … 1
      while (left > log_tile_) {
        const unsigned m = std::min(schedule_.most, left - log_tile_);
        left -= m;
        launch_b(queue, o, m, std::uint64_t{2} << stage, std::uint64_t{1} << left);
      }
      if (left > 0) launch_c(queue, o, stage, stage);
    }
  }

 private:
  [[nodiscard]] std::uint64_t launches() const {
    if (schedule_.most == 0) return std::uint64_t{stages_} * (stages_ + 1) / 2;
    std::uint64_t count = together_ ? 1 : 0;
    for (unsigned distances = together_ ? log_tile_ + 1 : 1; distances <= stages_; ++distances)
      count += ceil_div(distances - std::min(distances, log_tile_), schedule_.most) +
               (log_tile_ > 0 ? 1 : 0);
    return count;
  }

  void enqueue_a(Queue& queue, const Operands& o) {
    ping_pong_.start(queue, o);
    unsigned pass = 0;
    for (unsigned stage = 0; stage < stages_; ++stage)
      for (unsigned left = stage + 1; left-- > 0;) {
        const auto p = ping_pong_.pass(pass++, o);
        const Arg args[] = {{"keys_in", p.keys_in},
                            {"values_in", p.values_in},
                            {"keys_out", p.keys_out},
                            {"values_out", p.values_out},
                            {"n", problem_.count},
                            {"length", std::uint64_t{2} << stage},
                            {"distance", std::uint64_t{1} << left}};
        queue.launch({*a_, ceil_div(problem_.count, work_group_), work_group_, args, "A"});
      }
  }

  // Launches the B kernel for m distances: `distance`, 2 * `distance`, … Starts no work-item whose
  // 2^m records are all past the end of the list.
  void launch_b(Queue& queue, Operands& o, unsigned m, std::uint64_t length,
                std::uint64_t distance) {
    static constexpr std::array<std::string_view, 5> phases{"", "B2", "B4", "B8", "B16"};
    const std::uint64_t span = distance << m;
    const std::uint64_t items =
        problem_.count / span * distance + std::min(problem_.count % span, distance);
    const Arg args[] = {{"keys_in", o.keys_in},   {"values_in", o.values_in},
                        {"keys_out", o.keys_out}, {"values_out", o.values_out},
                        {"n", problem_.count},    {"length", length},
                        {"distance", distance}};
    queue.launch({*b_[m], ceil_div(items, work_group_), work_group_, args, phases[m]});
    go_on_in_place(o);
  }

  // Handles all distances below a tile's length, in one stage or several.
  void launch_c(Queue& queue, Operands& o, std::uint32_t first_stage, std::uint32_t last_stage) {
    const std::uint64_t tiles = ceil_div(problem_.count, std::uint64_t{1} << log_tile_);
    const bool is_last = c4_last_ && first_stage == last_stage && first_stage + 1 >= log_tile_;
    std::vector<Arg> args{{"keys_in", o.keys_in},
                          {"values_in", o.values_in},
                          {"keys_out", o.keys_out},
                          {"values_out", o.values_out},
                          {"n", problem_.count}};
    if (is_last) {
      args.insert(args.end(), {{"stage", first_stage}});
      queue.launch({*c4_last_, tiles, work_group_, args, "C4"});
    } else {
      args.insert(args.end(), {{"first_stage", first_stage}, {"last_stage", last_stage}});
      queue.launch({*c_, tiles, work_group_, args, c4_last_ ? "C4" : "C2"});
    }
    go_on_in_place(o);
  }

  // The first launch reads the input; all others read the output.
  static void go_on_in_place(Operands& o) {
    o.keys_in = o.keys_out;
    o.values_in = o.values_out;
  }

  Problem problem_;
  unsigned stages_;
  Schedule schedule_{};
  bool together_ = false;
  unsigned work_group_ = 0, log_tile_ = 0;
  ScratchLayout layout_;
  PingPong ping_pong_;         // for schedule A
  ScratchLayout::Slice keys_;  // for an argsort without keys_out
  std::shared_ptr<Module> module_, tile_module_;
  std::unique_ptr<Kernel> a_, c_, c4_last_;
  std::array<std::unique_ptr<Kernel>, 5> b_;  // [m] handles m distances
};

class Bitonic final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "bitonic",
        .title = "Batcher's bitonic network, in global memory, registers and local memory",
        .source =
            "E. Bainville, OpenCL Sorting, 2011 (document 000); documents 002 and 004 have the "
            "same network",
        .stable = false,
        .comparison = true,
        .cost =
            "L(L+1)/2 steps for L = log2(N) rounded up; every launch reads and writes all records "
            "once. Launches: A "
            "and B2 one a step; B4, B8, B16 at most 2, 3, 4 steps each; C kernels all steps of a "
            "stage inside of a "
            "tile (2 or 4 times work_group records)",
        .parameters = {
            {"schedule",
             "kernels that do the steps; B* is B2+B4+B8+B16 for the distances above a tile",
             0,
             0,
             {"A", "B2", "B2+B4", "B2+B4+B8", "B2+B4+B8+B16", "C2pre+B*", "C2+B*", "C4+B*"}},
            {"work_group", "work-items of a work-group, a power of two", 1, 1024, {}},
            {"small_stages",
             "with a C kernel: a launch for every stage that lies inside of tiles, or one for "
             "all of them",
             0,
             0,
             {"apart", "together"}}}};
    return info;
  }

  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    return std::make_unique<BitonicSorter>(problem, device, given);
  }
};

}  // namespace

const Algorithm& catalog::bitonic() {
  static const Bitonic algorithm;
  return algorithm;
}

}  // namespace sortium
