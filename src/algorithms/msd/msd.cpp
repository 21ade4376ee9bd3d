// MSD radix sort with a local sort: the records are partitioned by their leading bits into buckets,
// and one work-group sorts each bucket in local memory. Keys that do not spread over the buckets
// are sorted by radix passes instead. The device decides: it stores its decision in the word
// `skewed`, which turns off the launches that are not needed. So the host need not wait.
#include <fmt/format.h>

#include <algorithm>

#include "../../kernels/concurrently.hpp"
#include "../../kernels/kernels.hpp"
#include "../catalog.hpp"
#include "../parts/radix_passes.hpp"
#include "embedded.hpp"
#include "msd_frequent.hpp"
#include "msd_shape.hpp"

namespace sortium {
namespace {

using namespace msd;

// msd_start clears this many bytes with each work-group, and uses at most this many work-groups.
constexpr std::uint64_t cleared_at_once = 1u << 14, most_clearing_groups = 128;

// Buckets of equalized keys that a work-group sorts. More work-groups would take time in other
// lists, where they find nothing to do. Measured on an H100.
constexpr std::uint32_t equalized_buckets_of_group = 16;

RadixPassOptions pass_options(const Problem& problem, const Shape& shape) {
  const bool partitions = shape.keys.items == 0 && shape.counts_buckets();
  return {.algorithm = "msd",
          .segments = partitions ? std::uint64_t{1} << digit_bits : 0,
          .map = shape.mapped_keys.items == 0 ? shape.map : KeyMap{},
          .equalizer = shape.equalized_keys.items == 0 ? shape.equalizer : Equalizer{},
          .spread_bits = shape.spread_bits,
          .class_digits = shape.class_digits != 0,
          .stretches = shape.stretch.possible,
          .tries_leading = shape.passes_partition,
          .skewed = true,
          .lists = shape.lists_overfull(),
          .tells_few_digits = shape.samples_keys,
          .rests = shape.frequent.samples != 0,
          .cleared_bytes = Cleared(problem, shape).bytes};
}

class MsdSorter final : public Sorter {
 public:
  MsdSorter(const Problem& problem, const Capabilities& device, const Parameters& given)
      : problem_(problem),
        shape_(make_shape(problem, device, given)),
        passes_(problem, device, given, pass_options(problem, shape_), scratch_) {
    if (shape_.counts_buckets()) {
      count_shape_ = make_count_shape(problem, device, shape_, passes_.tells_few_digits());
      samples_ = scratch_.add(std::uint64_t{count_shape_.sampled} * info(problem.key).bytes);
    }
    skewed_ = scratch_.add(4);
    starts_ = scratch_.add((std::uint64_t{shape_.most_buckets()} + 1) * 4);
    frequent_ = FrequentKeys(problem, device, shape_.frequent, starts_, scratch_);
    tile_counts_ = scratch_.add(shape_.tiles.count * shape_.buckets() * 2);
    if (shape_.tiles.cells != 0) {
      edges_ =
          scratch_.add(shape_.tiles.count * (counts_floats() ? 4 : 2) * info(problem.key).bytes);
      cell_tables_ = scratch_.add(shape_.cell_table_bytes());
    }
    spread_ = scratch_.add(shape_.spread_bytes());
    gather_ = scratch_.add(shape_.spread_bytes());
    if (shape_.map.cells != 0) {
      const std::uint64_t buckets = shape_.map.buckets();
      map_ = scratch_.add(shape_.map.global_bytes(info(problem.key).bytes));
      bounds_ = scratch_.add(buckets * info(problem.key).bytes);
      most_ = scratch_.add(buckets * 4);
      if (shape_.lists_overfull()) list_ = scratch_.add((2 + 2 * buckets) * 4);
    }
    if (shape_.equalizer.possible()) entries_ = scratch_.add(shape_.equalizer.global_bytes());
  }

  std::uint64_t scratch_bytes() const override { return scratch_.bytes(); }
  std::string parameters() const override {
    if (partition_sorts(problem_, shape_)) return passes_.parameters();
    return fmt::format("bits={},local={}x{},{}", shape_.bits, shape_.local.work_group,
                       shape_.local.items, passes_.parameters());
  }
  std::uint64_t bytes_moved() const override {  // if keys spread; otherwise more
    const unsigned passes =
        (shape_.bits > digit_bits ? 2 : 1) + (partition_sorts(problem_, shape_) ? 0 : 1);
    const std::uint64_t counted =
        shape_.passes_partition ? 0 : problem_.count * info(problem_.key).bytes;
    return counted + bytes_of_passes(problem_, passes, 1);
  }

  void build(Device& device, const Capabilities& capabilities) override {
    // Build concurrently: the first use of a module waits for it.
    auto passes = kernels::concurrently([&] { passes_.build(device, capabilities); });
    auto count = kernels::concurrently([&] {
      if (!shape_.passes_partition) build_count(device, capabilities);
    });
    auto partition = kernels::concurrently([&] {
      if (shape_.keys.items != 0) build_partition(device, capabilities);
    });
    auto frequent = kernels::concurrently([&] { frequent_.build(device, capabilities); });
    if (!partition_sorts(problem_, shape_)) build_local_sorts(device, capabilities);
    count.get();
    partition.get();
    frequent.get();
    passes.get();
  }

  void enqueue(Queue& queue, const Operands& o) override {
    passes_.start(queue, o);
    if (shape_.passes_partition) {
      passes_.clear(queue, o);
      passes_.sort_or_partition(queue, o, bucket_bit(), capacity(), starts_.in(o), skewed_.in(o));
      sort_buckets(queue, o);
      return;
    }
    if (shape_.tiles.count != 0) {
      count_tiles(queue, o);
      if (counts_floats())
        count_cells(queue, o);
      else
        partition_tiles(queue, o);
    } else {
      clear_and_sample(queue, o);
      count_buckets(queue, o);
      partition(queue, o);
    }
    if (!partition_sorts(problem_, shape_)) sort_buckets(queue, o);
    const Cleared at(problem_, shape_);
    frequent_.sort(queue, o, passes_, skewed_.in(o),
                   passes_.extension(o).slice(at.frequent, at.frequent_bytes));
    if (shape_.lists_overfull()) passes_.sort_listed(queue, o, skewed_.in(o), list_.in(o));
  }

 private:
  void build_count(Device& device, const Capabilities& capabilities) {
    using namespace kernels::embedded;
    if (shape_.tiles.count != 0) {
      count_module_ = kernels::build(device, capabilities, {columns_cl, msd_cells_cl, msd_tiles_cl},
                                     shape_.tiles.defines(problem_));
      count_ = count_module_->kernel("msd_count_tiles");
      partition_ =
          count_module_->kernel(counts_floats() ? "msd_count_cells" : "msd_partition_tiles");
      return;
    }
    count_module_ = kernels::build(
        device, capabilities,
        {key_map_cl, equalize_cl, msd_set_aside_cl, stretch_cl, msd_samples_cl, msd_spread_cl,
         msd_make_map_cl, msd_make_equalizer_cl, msd_verdict_cl, msd_count_cl},
        count_shape_.defines(problem_, shape_));
    count_ = count_module_->kernel("msd_count");
    start_ = count_module_->kernel("msd_start");
  }

  void build_partition(Device& device, const Capabilities& capabilities) {
    const auto build_for = [&](const KeyPartition& keys) {
      using namespace kernels::embedded;
      return kernels::build(
          device, capabilities,
          {key_map_cl, equalize_cl, msd_set_aside_cl, stretch_cl, msd_partition_cl},
          keys.defines(problem_, shape_));
    };
    if (shape_.mapped_keys.items != 0) {
      partition_mapped_module_ = build_for(shape_.mapped_keys);
      partition_mapped_ = partition_mapped_module_->kernel("msd_partition");
    }
    if (shape_.equalizer.possible()) {
      partition_mapped_module_ = build_for(shape_.equalized_keys);
      partition_mapped_ = partition_mapped_module_->kernel("msd_partition");
    }
    if (shape_.aside_tile != 0) {
      aside_module_ = build_for(shape_.keys_beside_aside);
      partition_aside_ = aside_module_->kernel("msd_partition");
    }
    partition_module_ = build_for(shape_.keys);
    partition_ = partition_module_->kernel("msd_partition");
  }

  void build_local_sorts(Device& device, const Capabilities& capabilities) {
    using namespace kernels::embedded;
    const bool equalizes = shape_.equalizer.possible();
    std::vector<kernels::Source> sources{msd_set_aside_cl, stretch_cl, bins_cl, bin_sort_cl,
                                         msd_local_cl};
    if (equalizes) sources.insert(sources.end(), {equalize_cl, msd_local_equalized_cl});
    const bool cells = shape_.tiles.cells != 0;
    if (cells) sources.insert(sources.end(), {columns_cl, msd_cells_cl, msd_cell_sort_cl});
    local_module_ =
        kernels::build(device, capabilities, sources, shape_.local.defines(problem_, shape_));
    sort_local_ = local_module_->kernel(cells ? "msd_local_or_cells" : "msd_local");
    if (equalizes) sort_local_equalized_ = local_module_->kernel("msd_local_equalized");
    if (shape_.map.cells == 0) return;
    local_mapped_module_ = kernels::build(device, capabilities,
                                          {key_map_cl, bins_cl, bin_sort_cl, msd_local_mapped_cl},
                                          shape_.mapped_local.mapped_defines(problem_, shape_));
    sort_local_mapped_ = local_mapped_module_->kernel("msd_local_mapped");
  }

  // Returns the lowest bit of a key's order bits that is part of a bucket's number.
  [[nodiscard]] std::uint32_t bucket_bit() const {
    return problem_.begin_bit + key_bits(problem_) - shape_.bits;
  }
  // Returns the most records of a bucket by leading bits.
  [[nodiscard]] std::uint32_t capacity() const {
    return static_cast<std::uint32_t>(bucket_capacity(problem_, shape_));
  }
  // Returns the most records of a mapped bucket that is not listed.
  [[nodiscard]] std::uint32_t mapped_capacity() const {
    return static_cast<std::uint32_t>(shape_.mapped_local.capacity());
  }
  [[nodiscard]] Memory spread_table(const Operands& o) const {
    return shape_.spread_bits != 0 ? spread_.in(o) : Memory{};
  }
  // Returns the memory of a slice that only maps need, or empty memory if no map is made.
  [[nodiscard]] Memory of_map(const ScratchLayout::Slice& slice, const Operands& o) const {
    return shape_.map.cells != 0 ? slice.in(o) : Memory{};
  }
  // The same for memory that only equalized keys need.
  [[nodiscard]] Memory of_equalizer(const ScratchLayout::Slice& slice, const Operands& o) const {
    return shape_.equalizer.possible() ? slice.in(o) : Memory{};
  }
  [[nodiscard]] Memory gather_table(const Operands& o) const {
    return shape_.spread_bits != 0 ? gather_.in(o) : Memory{};
  }

  // True for short lists of floats that are sorted by cells, never by leading bits.
  [[nodiscard]] bool counts_floats() const {
    return shape_.tiles.cells != 0 && info(problem_.key).is_float;
  }

  // Returns the edges of all tiles (msd_cells.cl), or empty memory without cells.
  [[nodiscard]] Memory edges(const Operands& o) const {
    return shape_.tiles.cells != 0 ? edges_.in(o) : Memory{};
  }
  // Returns the counts of the cells, with their state before them, or empty memory without cells.
  [[nodiscard]] Memory cells(const Operands& o) const {
    const Cleared at(problem_, shape_);
    return shape_.tiles.cells != 0 ? passes_.extension(o).slice(at.cells, at.cells_bytes)
                                   : Memory{};
  }

  // Short lists: counts the digits of each tile and clears memory, in one launch.
  void count_tiles(Queue& queue, const Operands& o) const {
    const Memory cleared = passes_.cleared(o);
    const Arg args[] = {{"keys", o.keys_in},   {"table", tile_counts_.in(o)},
                        {"n", problem_.count}, {"shift", bucket_bit()},
                        {"cleared", cleared},  {"words", cleared.bytes / 4},
                        {"edges", edges(o)}};
    queue.launch({*count_, shape_.tiles.count, count_work_group, args, "count"});
  }

  // Short lists: adds up the tiles' counts, decides whether the keys spread, and partitions.
  void partition_tiles(Queue& queue, const Operands& o) const {
    const auto pass = passes_.buffers().pass(0, o);
    const Arg args[] = {{"keys_in", pass.keys_in},
                        {"keys_out", pass.keys_out},
                        {"values_in", pass.make_positions ? Memory{} : pass.values_in},
                        {"values_out", pass.values_out},
                        {"table", tile_counts_.in(o)},
                        {"starts", starts_.in(o)},
                        {"skewed", skewed_.in(o)},
                        {"n", problem_.count},
                        {"shift", bucket_bit()},
                        {"tiles", static_cast<std::uint32_t>(shape_.tiles.count)},
                        {"capacity", capacity()},
                        {"edges", edges(o)},
                        {"cells", cells(o)}};
    queue.launch({*partition_, shape_.tiles.count, shape_.tiles.work_group, args, "partition"});
  }

  // Short lists of floats: counts the keys of each cell.
  void count_cells(Queue& queue, const Operands& o) const {
    const Arg args[] = {
        {"keys_in", o.keys_in},   {"skewed", skewed_.in(o)},
        {"n", problem_.count},    {"tiles", static_cast<std::uint32_t>(shape_.tiles.count)},
        {"edges", edges(o)},      {"cells", cells(o)},
        {"ties", passes_.ties(o)}};
    queue.launch({*partition_, shape_.tiles.count, shape_.tiles.work_group, args, "count"});
  }

  // Returns how keys are stretched (stretch.cl), or empty memory if they never are.
  [[nodiscard]] Memory stretch(const Operands& o) const {
    return shape_.stretch.possible ? passes_.extension(o).slice(Cleared::stretch, Stretch::bytes)
                                   : Memory{};
  }

  // Returns the memory `aside` (msd_set_aside.cl), or empty memory if keys have no classes.
  [[nodiscard]] Memory aside(const Operands& o) const {
    const Cleared at(problem_, shape_);
    return at.aside_bytes != 0 ? passes_.extension(o).slice(at.aside, at.aside_bytes) : Memory{};
  }

  // Clears the memory that later launches need zeroed, and copies samples of the keys into one
  // array.
  void clear_and_sample(Queue& queue, const Operands& o) const {
    const Memory cleared = passes_.cleared(o);
    const Arg args[] = {{"keys", o.keys_in},
                        {"samples", samples_.in(o)},
                        {"sampled", count_shape_.sampled},
                        {"apart", count_shape_.sample_stride},
                        {"others", frequent_.samples(o)},
                        {"others_sampled", shape_.frequent.samples},
                        {"others_apart", shape_.frequent.apart},
                        {"skewed", skewed_.in(o)},
                        {"cleared", cleared},
                        {"words", cleared.bytes / 4}};
    const auto groups = std::clamp<std::uint64_t>(ceil_div(cleared.bytes, cleared_at_once), 1,
                                                  most_clearing_groups);
    queue.launch({*start_, groups, count_work_group, args, "start"});
  }

  // Counts the keys of each bucket, and decides whether they spread.
  void count_buckets(Queue& queue, const Operands& o) const {
    const SampleLimits limits = make_sample_limits(problem_, shape_, count_shape_);
    const Memory own = passes_.extension(o);
    const Cleared at(problem_, shape_);
    const Arg args[] = {{"keys", o.keys_in},
                        {"samples", samples_.in(o)},
                        {"counts", own.slice(at.counts, at.counts_bytes)},
                        {"skewed", skewed_.in(o)},
                        {"ties", passes_.ties(o)},
                        {"n", problem_.count},
                        {"shift", bucket_bit()},
                        {"crowd", limits.crowd},
                        {"pairs_most", limits.pairs},
                        {"map_crowd", limits.map_crowd},
                        {"map_crowded", limits.map_crowded},
                        {"pivot", limits.pivot},
                        {"repeats_most", limits.repeats},
                        {"rare_most", limits.rare},
                        {"lead_most", limits.lead},
                        {"coarse", limits.coarse},
                        {"stretch_coarse", limits.stretch_coarse},
                        {"equalized_crowd", limits.equalized_crowd},
                        {"may_be_frequent", std::uint32_t{frequent_.may_sort(o)}},
                        {"spread", spread_table(o)},
                        {"back", gather_table(o)},
                        {"stretch", stretch(o)},
                        {"equalizer", of_equalizer(entries_, o)},
                        {"map", of_map(map_, o)},
                        {"bounds", of_map(bounds_, o)},
                        {"most", of_map(most_, o)},
                        {"list", of_map(list_, o)},
                        {"most_listed", static_cast<std::uint32_t>(most_listed(problem_, shape_))},
                        {"done", own.slice(at.done, 8)},
                        {"starts", starts_.in(o)},
                        {"capacity", capacity()},
                        {"mapped_capacity", mapped_capacity()},
                        {"aside", aside(o)}};
    queue.launch({*count_, count_shape_.groups, count_shape_.work_group, args, "count"});
  }

  void partition(Queue& queue, const Operands& o) const {
    const unsigned second = shape_.second_digit_bits(problem_), bits = shape_.bits;
    std::vector<Digit> digits{{bucket_bit() + second, (1u << (bits - second)) - 1}};
    if (second != 0) digits.push_back({bucket_bit(), (1u << second) - 1});
    if (shape_.keys.items == 0)
      passes_.partition(queue, o, starts_.in(o), spread_table(o), stretch(o), digits,
                        {skewed_.in(o), 0, 0});
    else
      partition_keys(queue, o, *partition_, shape_.keys, digits);
    if (shape_.aside_tile != 0)
      partition_keys(queue, o, *partition_aside_, shape_.keys_beside_aside, digits);
    if (shape_.map.cells != 0) partition_mapped(queue, o);
    if (shape_.equalizer.possible()) partition_equalized(queue, o);
  }

  void partition_equalized(Queue& queue, const Operands& o) const {
    const unsigned second = shape_.equalizer.bits - digit_bits;  // width of the second digit
    const std::vector<Digit> digits{{second, (1u << digit_bits) - 1},
                                    {shape_.equalizer.distance_bits(), (1u << second) - 1}};
    if (shape_.equalized_keys.items == 0)
      passes_.partition_equalized(queue, o, starts_.in(o), entries_.in(o), digits, skewed_.in(o));
    else
      partition_keys(queue, o, *partition_mapped_, shape_.equalized_keys, digits);
  }

  void partition_mapped(Queue& queue, const Operands& o) const {
    const unsigned second = shape_.map.bits - digit_bits;  // width of the second digit
    std::vector<Digit> digits{{second, (1u << digit_bits) - 1}};
    if (second != 0) digits.push_back({0, (1u << second) - 1});
    if (shape_.mapped_keys.items == 0)
      passes_.partition_mapped(queue, o, starts_.in(o), map_.in(o), digits, skewed_.in(o));
    else
      partition_keys(queue, o, *partition_mapped_, shape_.mapped_keys, digits);
  }

  // Partitions keys without values. Not stable: the order of ties is not visible in the output.
  void partition_keys(Queue& queue, const Operands& o, Kernel& kernel, const KeyPartition& keys,
                      const std::vector<Digit>& digits) const {
    const Memory own = passes_.extension(o);
    const Cleared at(problem_, shape_);
    const auto a = passes_.buffers().pass(0, o), b = passes_.buffers().pass(1, o);
    const auto [shifts, widths] = packed(digits);
    const Arg args[] = {{"keys_in", a.keys_in},
                        {"keys_a", a.keys_out},
                        {"keys_b", b.keys_out},
                        {"starts", starts_.in(o)},
                        {"reserved", own.slice(at.reserved, at.reserved_bytes)},
                        {"state", own.slice(at.partition_state, 12)},
                        {"skewed", skewed_.in(o)},
                        {"n", problem_.count},
                        {"passes", static_cast<std::uint32_t>(digits.size())},
                        {"shifts", static_cast<std::uint32_t>(shifts)},
                        {"widths", static_cast<std::uint32_t>(widths)},
                        {"map", of_map(map_, o)},
                        {"entries", of_equalizer(entries_, o)},
                        {"spread", spread_table(o)},
                        {"stretch", stretch(o)},
                        {"aside", aside(o)}};
    queue.launch({kernel, keys.groups, keys.work_group, args, "partition"});
  }

  // Returns the arguments of a local sort: first those that all of them have, then `others`.
  [[nodiscard]] std::vector<Arg> local_args(const Operands& o, const PingPong::Pass& partitioned,
                                            const std::vector<Arg>& others) const {
    std::vector<Arg> args{{"keys_in", partitioned.keys_out},
                          {"keys_out", o.keys_out},
                          {"values_in", partitioned.values_out},
                          {"values_out", o.values_out},
                          {"starts", starts_.in(o)},
                          {"skewed", skewed_.in(o)}};
    args.insert(args.end(), others.begin(), others.end());
    return args;
  }

  // Short lists: sorts the buckets by leading bits, or the list by cells.
  void sort_buckets_or_by_cells(Queue& queue, const Operands& o) const {
    const auto pass = passes_.buffers().pass(0, o);
    const auto args = local_args(o, pass,
                                 {{"low_bits", bucket_bit()},
                                  {"shift", shape_.local.bin_shift},
                                  {"n", problem_.count},
                                  {"keys_from", pass.keys_in},
                                  {"edges", edges(o)},
                                  {"parts", static_cast<std::uint32_t>(shape_.tiles.count)},
                                  {"cells", cells(o)},
                                  {"tables", cell_tables_.in(o)},
                                  {"ties", passes_.ties(o)}});
    queue.launch({*sort_local_, shape_.buckets(), shape_.local.work_group, args, "local"});
  }

  void sort_buckets(Queue& queue, const Operands& o) const {
    if (shape_.tiles.cells != 0) return sort_buckets_or_by_cells(queue, o);
    const bool two_digits = shape_.second_digit_bits(problem_) != 0;
    const auto first = passes_.buffers().pass(0, o);
    const auto partitioned = two_digits ? passes_.buffers().pass(1, o) : first;
    const auto args = local_args(o, partitioned,
                                 {{"back", gather_table(o)},
                                  {"begin_bit", std::uint32_t{problem_.begin_bit}},
                                  {"low_bits", bucket_bit() - problem_.begin_bit},
                                  {"shift", shape_.local.bin_shift},
                                  {"n", problem_.count},
                                  {"stretched_by", stretch(o)},
                                  {"aside", aside(o)},
                                  {"aside_keys", first.keys_out},
                                  {"aside_values", first.values_out},
                                  {"has_gap", std::uint32_t{two_digits}}});
    queue.launch({*sort_local_, shape_.buckets(), shape_.local.work_group, args, "local"});
    if (shape_.map.cells != 0) sort_mapped_buckets(queue, o);
    if (shape_.equalizer.possible()) sort_equalized_buckets(queue, o);
  }

  void sort_equalized_buckets(Queue& queue, const Operands& o) const {
    const auto partitioned = passes_.buffers().pass(1, o);  // equalized keys have two digits
    const Cleared at(problem_, shape_);
    const auto args =
        local_args(o, partitioned,
                   {{"equalizer", entries_.in(o)},
                    {"origins", passes_.extension(o).slice(at.counts, at.counts_bytes)},
                    {"own", equalized_buckets_of_group}});
    const auto groups = ceil_div(shape_.equalizer.buckets(), equalized_buckets_of_group);
    queue.launch({*sort_local_equalized_, groups, shape_.local.work_group, args, "local"});
  }

  // Launches as many work-groups as run concurrently. Each sorts several groups of mapped buckets.
  void sort_mapped_buckets(Queue& queue, const Operands& o) const {
    const auto partitioned = passes_.buffers().pass(shape_.map.bits > digit_bits ? 1 : 0, o);
    const Cleared at(problem_, shape_);
    const auto args = local_args(
        o, partitioned,
        {{"bounds", bounds_.in(o)}, {"ticket", passes_.extension(o).slice(at.local_ticket, 4)}});
    const LocalSort& local = shape_.mapped_local;
    queue.launch({*sort_local_mapped_, local.groups, local.work_group, args, "local"});
  }

  Problem problem_;
  Shape shape_;
  CountShape count_shape_;  // for lists that are not counted tile by tile
  ScratchLayout scratch_;
  RadixPasses passes_;
  FrequentKeys frequent_;
  ScratchLayout::Slice samples_;          // samples of the keys, which the count examines first
  ScratchLayout::Slice skewed_;           // a word: 0 if the keys spread; see msd_count
  ScratchLayout::Slice starts_;           // the index where each bucket begins, and the end
  ScratchLayout::Slice tile_counts_;      // for short lists: the digit counts of each tile
  ScratchLayout::Slice edges_;            // of each tile; see msd_cells.cl
  ScratchLayout::Slice cell_tables_;      // `tables` of msd_cell_sort.cl
  ScratchLayout::Slice map_, bounds_;     // the map, and the first order of each mapped bucket
  ScratchLayout::Slice most_;             // the most records of each mapped bucket
  ScratchLayout::Slice list_;             // mapped buckets that have more
  ScratchLayout::Slice entries_;          // from keys to equalized keys (equalize.cl)
  ScratchLayout::Slice spread_, gather_;  // tables from orders to spread orders and back
  std::shared_ptr<Module> aside_module_;  // the partition for lists with keys that are set aside
  std::unique_ptr<Kernel> partition_aside_;
  std::shared_ptr<Module> count_module_, partition_module_, partition_mapped_module_, local_module_,
      local_mapped_module_;
  std::unique_ptr<Kernel> start_, count_, partition_, partition_mapped_, sort_local_,
      sort_local_equalized_, sort_local_mapped_;
};

class Msd final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "msd",
        .title =
            "MSD radix sort by 8 to 16 leading bits, then each bucket in local memory; "
            "onesweep if keys do not spread",
        .source = "Stehle, Jacobsen 2017 (hybrid radix sort); Adinets, Merrill 2022",
        .stable = true,
        .needs_progress = true,
        .cost =
            "one read of the keys, one or two passes and, if more than 16 bits are compared, "
            "the local sort, each of which reads and writes every record once; 5 launches (2 "
            "and a fill for short lists of keys of up to 32 bits, 4 for those of longer keys, "
            "which are read once more if they are not uniform, 6 for long lists with values, 2 "
            "more for long lists of keys alone, 3 more for longer ones with values, one more for "
            "floats and another for long lists of floats "
            "alone, up to 10 where 64-bit keys may be mapped or 32-bit integers equalized), of "
            "which those for the other cases do nothing",
        .parameters = {
            {"bits", "leading bits that make a bucket", digit_bits, most_leading_bits, {}},
            {"sample",
             "1: look at a sample of the keys before counting all; default: above 2^22 records",
             0,
             1,
             {}}}};
    return info;
  }

  // If the significant bits need more than three digits, msd moves the records less often than
  // onesweep does. With three digits it is faster if one partition is enough (up to 2^21 records),
  // or with values if a record has at most 8 bytes and more than 22 bits are significant. With two
  // digits it is faster in lists of at least 2^25 records if ties must keep their order. Measured
  // on an H200.
  //
  // With little local memory, lists of up to 2^22 records are not sorted by cells, and integers are
  // not sampled: if keys do not spread by leading bits, launches are wasted. Only for integers of
  // more than 32 bits alone, up to 2^21 records, this costs less than uniform keys gain (measured
  // on an H100 through OpenCL). A failed attempt of radix passes to partition costs less.
  Rank suits(const Problem& problem, const Capabilities& device) const override {
    if (!has_much_local(device) && problem.count <= std::uint64_t{1} << 22 &&
        (problem.count > std::uint64_t{1} << 21 || problem.payload != Payload::none ||
         sortium::info(problem.key).is_float ||
         (key_bits(problem) <= 32 && !RadixPasses::may_partition(problem, device, {}))))
      return Rank::unsuited;
    // Short lists of floats do not spread by leading bits, and radix passes over them are fast.
    if (sortium::info(problem.key).is_float && sortium::info(problem.key).bytes == 4 &&
        has_much_local(device) && RadixPasses::may_partition(problem, device, {}))
      return Rank::unsuited;
    const auto passes = digits(problem, digit_bits).size();
    const std::uint64_t record = sortium::info(problem.key).bytes +
                                 (problem.payload == Payload::none ? 0 : problem.value_bytes);
    const bool two = passes == 2 && composite(problem) && problem.count >= std::uint64_t{1} << 25;
    const bool three =
        passes == 3 &&
        (problem.count <= std::uint64_t{1} << 21 ||
         (problem.payload != Payload::none && record <= 8 && key_bits(problem) > 22));
    return device.kind == DeviceKind::gpu && (passes > 3 || three || two) ? Rank::few_moves
                                                                          : Rank::unsuited;
  }

  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    return std::make_unique<MsdSorter>(problem, device, given);
  }
};

}  // namespace

const Algorithm& catalog::msd() {
  static const Msd algorithm;
  return algorithm;
}

}  // namespace sortium
