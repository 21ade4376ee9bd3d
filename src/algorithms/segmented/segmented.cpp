// Sorts each segment by itself. The device puts segments on lists by their lengths, and sorts each
// class of lengths in its own way: short segments in the registers of a few lanes, longer ones in a
// work-group's local memory. Segments that fit no work-group are partitioned by their leading bits
// until they do.
//
// The host does not wait for the lengths. Every launch has enough work-groups for the most work
// possible; they read the lists' lengths and process the lists in a loop.
// Sources: Hou, Liu, Feng, "Fast segmented sort on GPUs" (2017), for the classes; Stehle, Jacobsen
// (2017) for local sorts and partition; Satish, Harris, Garland (2009) for the tiles of long
// segments.
#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <vector>

#include "../../kernels/concurrently.hpp"
#include "../../kernels/kernels.hpp"
#include "../catalog.hpp"
#include "embedded.hpp"
#include "segmented_rows.hpp"
#include "segmented_shape.hpp"
#include "segmented_small.hpp"

namespace sortium {
namespace {

using namespace segmented;

// Shared by both variants: the launch that makes the lists, and memory for long segments.
class SegmentedSorter : public Sorter {
 public:
  std::uint64_t scratch_bytes() const override { return scratch_.bytes(); }
  std::uint64_t bytes_moved() const override {  // if no segment is long
    return bytes_of_passes(problem_, 1, 1);
  }

 protected:
  // If `always_spare` is true, reserves scratch memory for a copy of the records even if no segment
  // can be long. Otherwise only long segments need it.
  SegmentedSorter(const Problem& problem, Lists lists, const Classify& classify, bool always_spare)
      : problem_(problem), lists_(std::move(lists)), classify_(classify) {
    lists_.lay_out(problem, scratch_);
    if (lists_.most_longs != 0)
      counts_ =
          scratch_.add(lists_.most_parts * lists_.digits() * kernels::index_bytes(problem.count));
    if (lists_.most_longs == 0 && !always_spare) return;
    const std::uint64_t keys = problem.count * info(problem.key).bytes;
    keys_spare_ = scratch_.add(keys);
    if (!problem.keys_out) keys_work_ = scratch_.add(keys);
    if (problem.payload != Payload::none)
      values_spare_ = scratch_.add(problem.count * problem.value_bytes);
  }

  void build_lists(Device& device, const Capabilities& capabilities) {
    using namespace kernels::embedded;
    lists_module_ =
        kernels::build(device, capabilities,
                       {offsets_cl, segmented_lists_cl, segmented_ranks_cl, segmented_items_cl,
                        segmented_neighbours_cl, segmented_classify_cl},
                       classify_.defines(problem_, lists_));
    make_lists_ = lists_module_->kernel("segmented_classify");
  }

  // Returns 0 if records that need no sorting are already in the output, so that copying them would
  // do nothing.
  [[nodiscard]] std::uint32_t copies(const Operands& o) const {
    return !o.in_place() || problem_.payload == Payload::positions;
  }
  // Returns the buffer that the partition's passes use alternately with the spare memory.
  [[nodiscard]] Memory keys_work(const Operands& o) const {
    return problem_.keys_out ? o.keys_out : keys_work_.in(o);
  }
  [[nodiscard]] Memory keys_spare(const Operands& o) const {
    return keys_spare_.bytes == 0 ? Memory{} : keys_spare_.in(o);
  }
  [[nodiscard]] Memory values_spare(const Operands& o) const {
    return values_spare_.bytes == 0 ? Memory{} : values_spare_.in(o);
  }

  void make_lists(Queue& queue, const Operands& o) const {
    queue.fill(lists_.counters.in(o), 0, lists_.counters.bytes, "classify");
    const Arg args[] = {{"offsets", o.offsets},
                        {"length", problem_.count / problem_.segments},
                        {"segments", problem_.segments},
                        {"n", problem_.count},
                        {"pieces", lists_.pieces},
                        {"counters", lists_.counters.in(o)},
                        {"tasks", lists_.tasks.in(o)},
                        {"longs", lists_.of(0).longs.in(o)},
                        {"parts", lists_.of(0).parts.in(o)},
                        {"part", lists_.part},
                        {"most_parts", std::uint32_t{lists_.most_parts_of_one}},
                        {"levels", std::uint32_t{lists_.levels}},
                        {"open", std::uint32_t{key_bits(problem_)}},
                        {"keys_in", o.keys_in},
                        {"keys_out", o.keys_out},
                        {"values_in", o.values_in},
                        {"values_out", o.values_out},
                        {"copy_singles", copies(o)},
                        {"begin_bit", std::uint32_t{problem_.begin_bit}},
                        {"rank_mask", rank_mask(problem_)}};
    const std::uint64_t chunks = ceil_div(problem_.segments, classify_.work_group);
    queue.launch({*make_lists_,
                  classify_.most_groups != 0 ? std::min(chunks, classify_.most_groups) : chunks,
                  classify_.work_group, args, "classify"});
  }

  Problem problem_;
  Lists lists_;
  Classify classify_;
  ScratchLayout scratch_;
  ScratchLayout::Slice counts_, keys_spare_, keys_work_, values_spare_;
  std::shared_ptr<Module> lists_module_, long_module_;
  std::unique_ptr<Kernel> make_lists_;
};

class GpuSorter final : public SegmentedSorter {
 public:
  GpuSorter(const Problem& problem, const Capabilities& device, GpuShape shape)
      : SegmentedSorter(problem, shape.lists, shape.classify, false),
        shape_(std::move(shape)),
        compute_units_(device.compute_units),
        blocks_(shape_.blocks.size()) {
    const std::uint64_t task = 2 * kernels::index_bytes(problem.count);
    if (shape_.tiny_drops)
      again_ = scratch_.add(std::max<std::uint64_t>(lists_.begins[lists_.tiny], 1) * task);
    if (lists_.most_longs == 0) return;
    differs_ = scratch_.add(lists_.most_parts * info(problem.key).bytes);
    buckets_ = scratch_.add(lists_.most_longs * lists_.digits());
  }

  std::string parameters() const override {
    const std::uint64_t given = classify_.most_groups;
    return fmt::format("variant=gpu,blocks={},groups={}{}", blocks_.size() - lists_.spread,
                       shape_.groups, given != 0 ? fmt::format(",classify_groups={}", given) : "");
  }

  void build(Device& device, const Capabilities& capabilities) override {
    // Builds concurrently: the first use waits for the result.
    const auto build_with = [&](const std::vector<kernels::Source>& sources,
                                const kernels::Defines& defines) {
      return kernels::concurrently([&device, &capabilities, sources, defines] {
        return kernels::build(device, capabilities, sources, defines);
      });
    };
    using namespace kernels::embedded;
    const std::vector<kernels::Source> tiny_sources{segmented_lists_cl, segmented_ranks_cl,
                                                    segmented_items_cl, segmented_tiny_cl};
    auto tiny_all =
        build_with(tiny_sources, shape_.tiny_defines(problem_, shape_.tiny_items, false));
    Future tiny;
    if (shape_.tiny_drops)
      tiny = build_with(tiny_sources,
                        shape_.tiny_defines(problem_, {.composite = true, .gathers = true}, true));
    std::vector<Future> blocks;
    for (const auto& b : shape_.blocks)
      blocks.push_back(
          build_with({segmented_lists_cl, segmented_ranks_cl, bins_cl, segmented_block_bins_cl,
                      segmented_block_sort_cl, segmented_block_cl},
                     b.defines(problem_, lists_)));
    Future longs;
    if (lists_.most_longs != 0)
      longs = build_with({segmented_lists_cl, segmented_ranks_cl, segmented_partition_cl},
                         shape_.partition_defines(problem_, lists_));
    build_lists(device, capabilities);

    tiny_all_ = take(tiny_all, tiny_all_module_, "segmented_tiny");
    if (shape_.tiny_drops) tiny_ = take(tiny, tiny_module_, "segmented_tiny");
    for (std::size_t b = 0; b < blocks.size(); ++b)
      blocks_[b].sort = take(blocks[b], blocks_[b].module, "segmented_block");
    if (lists_.most_longs == 0) return;
    count_ = take(longs, long_module_, "segmented_count");
    split_ = long_module_->kernel("segmented_split");
    scatter_ = long_module_->kernel("segmented_scatter");
    settle_ = long_module_->kernel("segmented_settle");
  }

  void enqueue(Queue& queue, const Operands& o) override {
    make_lists(queue, o);
    if (lists_.most_longs != 0) partition_longs(queue, o);
    if (lists_.spread) sort_block(queue, o, 0);  // passes some segments on to the tiny classes
    const Memory tasks = lists_.tasks.in(o), lengths = lists_.counters.in(o);
    if (shape_.tiny_drops) {
      const Memory again = again_.in(o), again_lengths = lists_.again_lengths(o);
      sort_tiny(queue, o, *tiny_, tasks, lengths, again, again_lengths, "short");
      sort_tiny(queue, o, *tiny_all_, again, again_lengths, {}, {}, "short: ties");
    } else {
      sort_tiny(queue, o, *tiny_all_, tasks, lengths, {}, {}, "short");
    }
    for (unsigned b = lists_.spread; b < blocks_.size(); ++b) sort_block(queue, o, b);
  }

 private:
  using Future = std::future<std::shared_ptr<Module>>;
  static std::unique_ptr<Kernel> take(Future& built, std::shared_ptr<Module>& module,
                                      const char* name) {
    module = built.get();
    return module->kernel(name);
  }

  // Returns keys_work for the local sorts. Returns empty memory if there is no partition: no
  // segment is then in keys_work.
  [[nodiscard]] Memory partitioned_keys(const Operands& o) const {
    return keys_spare_.bytes == 0 ? Memory{} : keys_work(o);
  }

  // Sorts the segments on the lists of the tiny classes. Puts segments that `kernel` cannot sort on
  // the list `again`.
  void sort_tiny(Queue& queue, const Operands& o, Kernel& kernel, Memory tasks, Memory lengths,
                 Memory again, Memory again_lengths, std::string_view phase) const {
    const Arg args[] = {{"keys_in", o.keys_in},
                        {"keys_spare", keys_spare(o)},
                        {"keys_work", partitioned_keys(o)},
                        {"keys_out", o.keys_out},
                        {"values_in", o.values_in},
                        {"values_spare", values_spare(o)},
                        {"values_out", o.values_out},
                        {"tasks", tasks},
                        {"counters", lengths},
                        {"again", again},
                        {"again_counters", again_lengths},
                        {"n", problem_.count},
                        {"segments", problem_.segments},
                        {"pieces", lists_.pieces},
                        {"begin_bit", std::uint32_t{problem_.begin_bit}},
                        {"rank_mask", rank_mask(problem_)}};
    const auto groups = std::min<std::uint64_t>(ceil_div(problem_.count, shape_.tiny_work_group),
                                                16 * compute_units_);
    queue.launch({kernel, groups, shape_.tiny_work_group, args, phase});
  }

  // Sorts the list of block class b.
  void sort_block(Queue& queue, const Operands& o, unsigned b) const {
    const Block& block = shape_.blocks[b];
    const unsigned k = lists_.tiny + b, last_tiny = lists_.tiny - 1;
    const Arg args[] = {{"keys_in", o.keys_in},
                        {"keys_spare", keys_spare(o)},
                        {"keys_work", partitioned_keys(o)},
                        {"keys_out", o.keys_out},
                        {"values_in", o.values_in},
                        {"values_spare", values_spare(o)},
                        {"values_out", o.values_out},
                        {"tasks", lists_.list(k, o, problem_)},
                        {"length", lists_.length(k, o)},
                        {"equal_segments", std::uint64_t{0}},
                        {"equal_length", std::uint32_t{0}},
                        {"wanted", std::uint32_t{0}},
                        {"begin_bit", std::uint32_t{problem_.begin_bit}},
                        {"rank_mask", rank_mask(problem_)},
                        {"others", lists_.list(last_tiny, o, problem_)},
                        {"others_length", lists_.length(last_tiny, o)}};
    const auto groups =
        std::min<std::uint64_t>(lists_.capacity(k, problem_), block.resident * compute_units_);
    queue.launch(
        {*blocks_[b].sort, groups, block.work_group, args, block.leaves ? "spread" : "local"});
  }

  // Partitions level by level, until all segments are short enough for the local sorts or have only
  // equal keys.
  void partition_longs(Queue& queue, const Operands& o) const {
    for (unsigned level = 0; level < lists_.levels; ++level) {
      count_parts(queue, o, level);
      choose_buckets(queue, o, level);
      move_parts(queue, o, level);
    }
    copy_ended(queue, o);
  }
  [[nodiscard]] std::uint64_t part_groups() const {
    return std::min(lists_.most_parts, shape_.groups);
  }

  void count_parts(Queue& queue, const Operands& o, unsigned level) const {
    const Arg args[] = {{"keys_in", o.keys_in},
                        {"keys_spare", keys_spare(o)},
                        {"keys_work", keys_work(o)},
                        {"longs", lists_.of(level).longs.in(o)},
                        {"parts", lists_.of(level).parts.in(o)},
                        {"lengths", lists_.longs_lengths(level, o)},
                        {"counts", counts_.in(o)},
                        {"differs", differs_.in(o)},
                        {"begin_bit", std::uint32_t{problem_.begin_bit}},
                        {"rank_mask", rank_mask(problem_)}};
    queue.launch({*count_, part_groups(), shape_.long_work_group, args, "long: histogram"});
  }

  void choose_buckets(Queue& queue, const Operands& o, unsigned level) const {
    const Lists::Longs &next = lists_.longs[(level + 1) % 2], &ended = lists_.of(lists_.levels);
    const Arg args[] = {{"longs", lists_.of(level).longs.in(o)},
                        {"lengths", lists_.longs_lengths(level, o)},
                        {"counts", counts_.in(o)},
                        {"differs", differs_.in(o)},
                        {"buckets", buckets_.in(o)},
                        {"counters", lists_.counters.in(o)},
                        {"tasks", lists_.tasks.in(o)},
                        {"next_longs", next.longs.in(o)},
                        {"next_parts", next.parts.in(o)},
                        {"ended", ended.longs.in(o)},
                        {"ended_parts", ended.parts.in(o)},
                        {"level", std::uint32_t{level + 1}},
                        {"levels", std::uint32_t{lists_.levels}},
                        {"part", lists_.part},
                        {"most_parts", std::uint32_t{lists_.most_parts_of_one}},
                        {"n", problem_.count},
                        {"segments", problem_.segments},
                        {"pieces", lists_.pieces}};
    queue.launch({*split_, std::min(lists_.most_longs, shape_.groups), shape_.split_work_group,
                  args, "long: buckets"});
  }

  void move_parts(Queue& queue, const Operands& o, unsigned level) const {
    const Arg args[] = {{"keys_in", o.keys_in},
                        {"keys_spare", keys_spare(o)},
                        {"keys_work", keys_work(o)},
                        {"values_in", o.values_in},
                        {"values_spare", values_spare(o)},
                        {"values_work", o.values_out},
                        {"longs", lists_.of(level).longs.in(o)},
                        {"parts", lists_.of(level).parts.in(o)},
                        {"lengths", lists_.longs_lengths(level, o)},
                        {"counts", counts_.in(o)},
                        {"buckets", buckets_.in(o)},
                        {"begin_bit", std::uint32_t{problem_.begin_bit}},
                        {"rank_mask", rank_mask(problem_)}};
    queue.launch({*scatter_, part_groups(), shape_.long_work_group, args, "long: reorder"});
  }

  void copy_ended(Queue& queue, const Operands& o) const {
    const Lists::Longs& ended = lists_.of(lists_.levels);
    const Arg args[] = {{"keys_in", o.keys_in},
                        {"keys_spare", keys_spare(o)},
                        {"keys_out", o.keys_out},
                        {"values_in", o.values_in},
                        {"values_spare", values_spare(o)},
                        {"values_out", o.values_out},
                        {"longs", ended.longs.in(o)},
                        {"parts", ended.parts.in(o)},
                        {"lengths", lists_.longs_lengths(lists_.levels, o)},
                        {"copy_in", copies(o)}};
    queue.launch({*settle_, part_groups(), shape_.long_work_group, args, "long: alike"});
  }

  struct BlockKernel {
    std::shared_ptr<Module> module;
    std::unique_ptr<Kernel> sort;
  };
  GpuShape shape_;
  unsigned compute_units_;
  std::vector<BlockKernel> blocks_;
  ScratchLayout::Slice
      again_;  // lists of segments of tiny classes that must be sorted a second time
  ScratchLayout::Slice differs_, buckets_;  // for long segments; see segmented_partition.cl
  std::shared_ptr<Module> tiny_module_, tiny_all_module_;
  std::unique_ptr<Kernel> tiny_, tiny_all_, count_, split_, scatter_, settle_;
};

// Each work-item sorts a whole segment (segmented_cpu.cl).
class CpuSorter final : public SegmentedSorter {
 public:
  CpuSorter(const Problem& problem, const Capabilities& device, std::uint64_t groups)
      : SegmentedSorter(problem, make_cpu_lists(problem, groups), classify_only(problem, device),
                        true),
        digits_(digits(problem, digit_bits)),
        groups_(groups) {}

  std::string parameters() const override { return fmt::format("variant=cpu,groups={}", groups_); }

  void build(Device& device, const Capabilities& capabilities) override {
    using namespace kernels::embedded;
    build_lists(device, capabilities);
    long_module_ = kernels::build(device, capabilities,
                                  {segmented_lists_cl, segmented_ranks_cl, segmented_cpu_cl},
                                  lists_.defines(problem_));
    sort_ = long_module_->kernel("segmented_cpu_sort");
    count_ = long_module_->kernel("segmented_cpu_count");
    scan_ = long_module_->kernel("segmented_cpu_scan");
    scatter_ = long_module_->kernel("segmented_cpu_scatter");
  }

  void enqueue(Queue& queue, const Operands& o) override {
    make_lists(queue, o);
    const auto [shifts, widths] = packed(digits_);
    const Arg args[] = {{"keys_in", o.keys_in},
                        {"keys_out", o.keys_out},
                        {"keys_work", keys_work(o)},
                        {"keys_spare", keys_spare_.in(o)},
                        {"values_in", o.values_in},
                        {"values_out", o.values_out},
                        {"values_spare", values_spare(o)},
                        {"tasks", lists_.list(0, o, problem_)},
                        {"length", lists_.length(0, o)},
                        {"begin_bit", std::uint32_t{problem_.begin_bit}},
                        {"rank_mask", rank_mask(problem_)},
                        {"shifts", shifts},
                        {"widths", widths},
                        {"digits", static_cast<std::uint32_t>(digits_.size())},
                        {"in_place", std::uint32_t{o.in_place()}}};
    queue.launch({*sort_,
                  std::min(std::max<std::uint64_t>(lists_.capacity(0, problem_), 1), 4 * groups_),
                  1, args, "local"});
    sort_longs(queue, o);
  }

 private:
  // Makes all passes over long segments; the last pass writes the output. A sort in place needs an
  // even number of passes. If it is odd, a pass with a digit of 0 bits is added at the beginning.
  void sort_longs(Queue& queue, const Operands& o) const {
    if (lists_.most_longs == 0) return;
    auto digits = digits_;
    if (o.in_place() && digits.size() % 2 == 1) digits.insert(digits.begin(), Digit{0, 0});
    const Memory longs = lists_.of(0).longs.in(o), parts = lists_.of(0).parts.in(o),
                 lengths = lists_.longs_lengths(0, o), counts = counts_.in(o);
    Memory keys_from = o.keys_in, values_from = o.values_in;
    for (std::size_t p = 0; p < digits.size(); ++p) {
      const bool last = p + 1 == digits.size(), to_out = (digits.size() - 1 - p) % 2 == 0;
      const Memory keys_to = !to_out ? keys_spare_.in(o) : last ? o.keys_out : keys_work(o);
      const Memory values_to = problem_.payload == Payload::none ? Memory{}
                               : to_out                          ? o.values_out
                                                                 : values_spare_.in(o);
      const auto [shift, mask] = digits[p];
      const Arg count_args[] = {{"keys", keys_from}, {"parts", parts}, {"lengths", lengths},
                                {"counts", counts},  {"shift", shift}, {"mask", mask}};
      queue.launch(
          {*count_, std::min(lists_.most_parts, groups_), 1, count_args, "long: histogram"});
      const Arg scan_args[] = {{"longs", longs}, {"lengths", lengths}, {"counts", counts}};
      queue.launch({*scan_, std::min(lists_.most_longs, groups_), 1, scan_args, "long: scan"});
      const std::uint32_t makes_positions = problem_.payload == Payload::positions && p == 0;
      const Arg scatter_args[] = {{"keys_in", keys_from},
                                  {"keys_out", keys_to},
                                  {"values_in", values_from},
                                  {"values_out", values_to},
                                  {"parts", parts},
                                  {"lengths", lengths},
                                  {"counts", counts},
                                  {"shift", shift},
                                  {"mask", mask},
                                  {"values_are_positions", makes_positions}};
      queue.launch(
          {*scatter_, std::min(lists_.most_parts, groups_), 1, scatter_args, "long: reorder"});
      keys_from = keys_to;
      values_from = values_to;
    }
  }

  std::vector<Digit> digits_;
  std::uint64_t groups_;
  std::unique_ptr<Kernel> sort_, count_, scan_, scatter_;
};

class Segmented final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "segmented",
        .title =
            "sorts each segment by itself, in a way that suits its length; variants for GPUs and "
            "for CPUs",
        .source = "Hou, Liu, Feng 2017; Stehle, Jacobsen 2017; Satish, Harris, Garland 2009",
        .stable = true,
        .segments = true,
        .cost =
            "every record is read and written once; those of segments longer than local memory "
            "once "
            "more for each level of partition (one, if their keys spread), whose keys are read "
            "twice; at most 12 launches and 3 for each 8 bits; at most 2 launches for small "
            "problems",
        .parameters = {
            {"variant",
             "the kernels; the default depends on the kind of device",
             0,
             0,
             {"gpu", "cpu", "small", "rows"}},
            {"blocks",
             "classes of lengths that work-groups sort; the length doubles from class to class "
             "(variant gpu)",
             1,
             most_blocks,
             {}},
            {"groups", "work-groups that process long segments", 1, 1 << 20, {}},
            {"classify_groups",
             "work-groups that put segments on lists; each takes several chunks of segments, up to "
             "the "
             "last segment that is not empty (variant gpu; default: one for each chunk)",
             1,
             1 << 20,
             {}},
            {"piece",
             "records that a work-group sorts of a longer segment: a power of two (variant small)",
             1,
             1 << 14,
             {}}}};
    return info;
  }

  Rank suits(const Problem&, const Capabilities&) const override { return Rank::only_one; }

  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    const std::string variant = given.word("variant", default_variant(problem, device, given));
    if (variant == "rows") {
      const auto shape = rows_shape(problem, device);
      if (!shape)
        throw Error(ErrorCode::unsupported,
                    fmt::format("segmented: variant=rows sorts segments of equal length, without "
                                "offsets, that fit a work-group of a GPU; {} segments of {} "
                                "records in all are not such",
                                problem.segments, problem.count));
      return make_rows_sorter(problem, *shape);
    }
    if (variant == "small")
      return make_small_sorter(problem, make_small_shape(problem, device, given));
    if (variant == "cpu")
      return std::make_unique<CpuSorter>(
          problem, device, given.number("groups", 8 * std::uint64_t{device.compute_units}));
    return std::make_unique<GpuSorter>(problem, device, make_gpu_shape(problem, device, given));
  }

 private:
  // True if rows are so few that most of the device is idle if one lane or a few sort each row.
  static bool is_small_batch(const Problem& problem, const Capabilities& device) {
    constexpr std::uint64_t most_records = 1u << 15, short_row = 32;
    return is_small(problem, device) && problem.count <= most_records &&
           problem.count / problem.segments > short_row;
  }
  static std::string_view default_variant(const Problem& problem, const Capabilities& device,
                                          const Parameters& given) {
    if (device.kind == DeviceKind::cpu) return "cpu";
    const bool of_gpu = given.has("blocks") || given.has("groups") || given.has("classify_groups");
    if (device.compiles && !of_gpu && !given.has("piece") && !is_small_batch(problem, device) &&
        rows_shape(problem, device))
      return "rows";
    return is_small(problem, device) && !of_gpu ? "small" : "gpu";
  }
};

}  // namespace

const Algorithm& catalog::segmented() {
  static const Segmented algorithm;
  return algorithm;
}

}  // namespace sortium
