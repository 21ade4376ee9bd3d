// Segments, each sorted by itself. The device sorts the segments out by their lengths, and every
// class of lengths has its own way: short ones in the registers of a few lanes, longer ones in a
// work-group's local memory, and those that no work-group holds are parted by their leading bits
// into segments that one does. Nobody waits for the device to say what there is: every launch has
// as many work-groups as may find work, and they go through lists whose lengths they read. Hou,
// Liu, Feng, "Fast segmented sort on GPUs" (2017), for the classes; Stehle, Jacobsen (2017) for
// segments sorted in local memory, and for long ones parted until they can be; Satish, Harris,
// Garland (2009) for the tiles of long ones.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <future>
#include <vector>

#include "../../kernels/kernels.hpp"
#include "../rooms.hpp"
#include "embedded.hpp"

namespace sortium {
namespace {

constexpr unsigned digit_bits = 8, block_items = 19, spread_items = 9, most_blocks = 6;
constexpr std::uint64_t radix_size = 1u << digit_bits;

std::uint64_t rank_mask(const Problem& p) { return ~std::uint64_t{0} >> (64 - key_bits(p)); }

// The classes of lengths, as segmented_lists.cl has them, and the lists of their segments in
// scratch memory.
struct Lists {
  unsigned row = 8, tiny = 0, blocks = 0;  // records of a lane; classes of either kind
  bool spread = false;  // the first of these is for segments of the last of those
  std::uint64_t block_least =
      0;  // the longest segment of the first class that work-groups alone sort
  std::uint64_t part =
      0;  // records of a part of a long segment, but for those that had more parts than
  unsigned most_parts_of_one = ~0u;
  unsigned levels = 1;       // of long segments
  std::uint64_t merged = 0;  // records of digits that a partition leaves together; 0: there is none

  // The lists of long segments of all levels take turns in two, and those that are parted as far as
  // can be have the third.
  struct Longs {
    ScratchLayout::Slice longs, parts;
  };
  ScratchLayout::Slice counters, tasks;
  Longs longs[3];
  std::vector<std::uint64_t> begins;  // of the classes' lists, in tasks
  std::uint64_t pieces = 0, most_longs = 0, most_parts = 0;

  [[nodiscard]] std::uint64_t capacity(unsigned k) const {
    if (spread && k == tiny) return std::uint64_t{row} << (k - 1);
    return k < tiny ? std::uint64_t{row} << k : block_least << (k - tiny - spread);
  }
  [[nodiscard]] std::uint64_t longest() const { return capacity(tiny + blocks - 1); }
  [[nodiscard]] std::uint64_t room(unsigned k, const Problem& p) const {  // list_room
    const unsigned shorter = spread && k == tiny ? k - 2 : k - 1;
    const std::uint64_t as_n_records = p.count / (k == 0 ? 2 : std::bit_floor(capacity(shorter)));
    const std::uint64_t most_pieces = k + 1 < tiny    ? 0
                                      : k + 1 == tiny ? pieces
                                                      : std::min(pieces, as_n_records);
    return std::min(p.segments, as_n_records) + most_pieces;
  }

  void lay_out(const Problem& p, ScratchLayout& layout) {
    const std::uint64_t index = kernels::index_bytes(p.count), task = 2 * index;
    most_longs = p.count / (longest() + 1);
    if (merged == 0) {
      most_longs = std::min(most_longs, p.segments);
    } else if (most_longs != 0) {
      // Wherever a block of digits has more than `merged` records, it is divided in two: at most 8
      // times for as many records, and so a long segment into at most 9 buckets for as many.
      pieces = levels * std::min(radix_size * most_longs, 9 * (p.count / merged));
    }
    begins.push_back(0);
    for (unsigned k = 0; k < tiny + blocks; ++k) begins.push_back(begins.back() + room(k, p));
    most_parts = most_longs == 0 ? 0 : most_longs + p.count / part;
    counters = layout.add((2 * tiny + blocks + 2 * (levels + 1)) * 4);
    tasks = layout.add(std::max<std::uint64_t>(begins.back(), 1) * task);
    for (auto& l : longs)
      if (merged != 0 || &l == longs)
        l = {layout.add(std::max<std::uint64_t>(most_longs, 1) * (2 * index + 16)),
             layout.add(std::max<std::uint64_t>(most_parts, 1) * 3 * index)};
  }
  [[nodiscard]] Memory list(unsigned k, const Operands& o, const Problem& p) const {
    const std::uint64_t task = 2 * kernels::index_bytes(p.count);
    return tasks.in(o).slice(begins[k] * task, (begins[k + 1] - begins[k]) * task);
  }
  [[nodiscard]] Memory length(unsigned k, const Operands& o) const {
    return counters.in(o).slice(4 * k, 4);
  }
  // How many long segments the level has, and how many parts; `levels`: those that are parted as
  // far as can be.
  [[nodiscard]] Memory longs_lengths(unsigned level, const Operands& o) const {
    return counters.in(o).slice(4 * (tiny + blocks + 2 * level), 8);
  }
  // Of the classes of short segments, how many are to be sorted once more.
  [[nodiscard]] Memory again_lengths(const Operands& o) const {
    return counters.in(o).slice(4 * (tiny + blocks + 2 * (levels + 1)), 4 * tiny);
  }
  [[nodiscard]] const Longs& of(unsigned level) const {
    return longs[level == levels ? 2 : level % 2];
  }
  [[nodiscard]] kernels::Defines defines(const Problem& p) const {
    kernels::Defines d;
    d.problem(radix_problem(p))
        .set("ROW", row)
        .set("TINY_CLASSES", tiny)
        .set("BLOCK_CLASSES", blocks)
        .set("BLOCK_LEAST", block_least)
        .set("SPREAD", int{spread});
    return d;
  }
};

// What both variants share: the lists, and memory for long segments.
class SegmentedSorter : public Sorter {
 public:
  std::uint64_t scratch_bytes() const override { return scratch_.bytes(); }
  std::uint64_t bytes_moved() const override {
    return bytes_of_passes(problem_, 1, 1);
  }  // where no segment is long

 protected:
  SegmentedSorter(const Problem& problem, const Capabilities& device)
      : problem_(problem),
        digits_(digits(problem, digit_bits)),
        compute_units_(device.compute_units) {
    if (problem.segments == 0 || problem.segments >= std::uint64_t{1} << 32)
      throw Error(
          ErrorCode::unsupported,
          fmt::format("segmented: {} segments; 1 to 2^32 - 1 are sorted", problem.segments));
    classify_work_group_ = std::bit_floor(std::min(device.max_work_group, 256u));
  }

  // Once lists_ has its classes. `spare`: there are passes even where no segment is long.
  void lay_out(bool spare) {
    lists_.lay_out(problem_, scratch_);
    if (lists_.most_longs != 0)
      counts_ = scratch_.add(lists_.most_parts * radix_size * kernels::index_bytes(problem_.count));
    if (lists_.most_longs == 0 && !spare) return;
    const std::uint64_t keys = problem_.count * info(problem_.key).bytes;
    keys_spare_ = scratch_.add(keys);
    if (!problem_.keys_out) keys_work_ = scratch_.add(keys);
    if (problem_.payload != Payload::none)
      values_spare_ = scratch_.add(problem_.count * problem_.value_bytes);
  }

  void build_lists(Device& device, const Capabilities& capabilities) {
    auto defines = lists_.defines(problem_);
    defines.set("WG", classify_work_group_)
        .set("OFFSET_BITS", 8 * problem_.offset_bytes)
        .resident(std::max(1u, (short_.sort_bits == 64 ? 768u : 1024u) / classify_work_group_),
                  classify_work_group_);
    if (short_.longest != 0) define(short_, defines.set("SHORT", short_.longest));
    using namespace kernels::embedded;
    lists_module_ = kernels::build_joined(
        device, capabilities, {segmented_lists_cl, segmented_items_cl, segmented_classify_cl},
        defines);
    classify_ = lists_module_->kernel("segmented_classify");
  }

  // What short segments' records are sorted by (segmented_items.cl), with so many bits of a
  // record's position.
  struct Items {
    unsigned longest = 0;  // segment; 0: there are none
    unsigned sort_bits = 32;
    bool composite = false, wide = false, gathers = false;
  };
  [[nodiscard]] Items items_of(unsigned longest, unsigned position_bits) const {
    const bool with_positions = composite(problem_);
    const unsigned needed = key_bits(problem_) + (with_positions ? position_bits : 0);
    return {longest, needed > 32 ? 64u : 32u, with_positions, needed > 64, gathers_keys(problem_)};
  }
  static kernels::Defines& define(const Items& items, kernels::Defines& defines) {
    return defines.set("COMPOSITE", int{items.composite})
        .set("WIDE", int{items.wide})
        .set("SORT_BITS", items.sort_bits)
        .set("GATHER_KEYS", int{items.gathers});
  }
  // A key's order does not say the key.
  static bool gathers_keys(const Problem& p) {
    return info(p.key).is_float || key_bits(p) != info(p.key).bits();
  }

  // What is in place already is not copied there.
  [[nodiscard]] std::uint32_t copies(const Operands& o) const {
    return !o.in_place() || problem_.payload == Payload::positions;
  }
  // Where passes put what they do not put into spare memory.
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
    const Arg args[] = {o.offsets,
                        problem_.segments,
                        problem_.count,
                        lists_.pieces,
                        lists_.counters.in(o),
                        lists_.tasks.in(o),
                        lists_.of(0).longs.in(o),
                        lists_.of(0).parts.in(o),
                        lists_.part,
                        std::uint32_t{lists_.most_parts_of_one},
                        std::uint32_t{lists_.levels},
                        std::uint32_t{key_bits(problem_)},
                        o.keys_in,
                        o.keys_out,
                        o.values_in,
                        o.values_out,
                        copies(o),
                        std::uint32_t{problem_.begin_bit},
                        rank_mask(problem_)};
    queue.launch({*classify_, ceil_div(problem_.segments, classify_work_group_),
                  classify_work_group_, args, "classify",
                  static_cast<unsigned>(classify_bytes(short_, classify_work_group_))});
  }

  // Bytes of segmented_classify_memory_t.
  [[nodiscard]] std::uint64_t classify_bytes(const Items& items, unsigned work_group) const {
    const std::uint64_t slots =
        items.longest == 0 ? 0 : std::uint64_t{work_group} * items.longest * 33 / 32;
    const std::uint64_t values = problem_.payload == Payload::none ? 0 : problem_.value_bytes;
    return slots * (items.sort_bits / 8 + (items.wide ? 4 : 0) +
                    (items.gathers ? info(problem_.key).bytes : 0) + values) +
           16 * work_group + 64;
  }

  Problem problem_;
  std::vector<Digit> digits_;
  unsigned compute_units_, classify_work_group_ = 0;
  Items short_;  // that are sorted when they are classified
  Lists lists_;
  ScratchLayout scratch_;
  ScratchLayout::Slice counts_, keys_spare_, keys_work_, values_spare_;
  std::shared_ptr<Module> lists_module_, long_module_;
  std::unique_ptr<Kernel> classify_;
};

class GpuSorter final : public SegmentedSorter {
 public:
  GpuSorter(const Problem& problem, const Capabilities& device, const Parameters& given)
      : SegmentedSorter(problem, device) {
    const auto largest = std::bit_floor(std::min(device.max_work_group, 1024u));
    lanes_ = std::min(device.sub_group_size, 32u);
    if (largest < radix_size || device.sub_group_size > largest || !std::has_single_bit(lanes_))
      throw Error(
          ErrorCode::unsupported,
          fmt::format("segmented: work-groups of {} and sub-groups of {}; {} work-items are needed",
                      device.max_work_group, device.sub_group_size, radix_size));
    lists_.tiny = static_cast<unsigned>(std::bit_width(lanes_));

    gathers_ = gathers_keys(problem);

    // As many neighbours as leave room for others on the compute unit.
    const auto with_short = [&](unsigned work_group) {
      return items_of(longest_short,
                      static_cast<unsigned>(std::bit_width(work_group * longest_short) - 1));
    };
    while (classify_work_group_ > 64 &&
           4 * classify_bytes(with_short(classify_work_group_), classify_work_group_) >
               device.local_struct)
      classify_work_group_ /= 2;
    if (classify_bytes(with_short(classify_work_group_), classify_work_group_) <=
        device.local_struct)
      short_ = with_short(classify_work_group_);

    // The longest of the short segments: where their keys' leading bits tell them apart, bins take
    // fewer steps than a network.
    const unsigned least_work_group = std::max(device.sub_group_size, 32u);
    if (least_work_group * spread_items >= lists_.capacity(lists_.tiny - 1))
      lists_.spread = add_block(device, least_work_group, true);
    // Work-groups double from class to class, as far as local memory goes.
    const auto wanted = given.number("blocks", most_blocks) + lists_.spread;
    for (unsigned work_group = least_work_group; work_group <= largest && blocks_.size() < wanted;
         work_group *= 2)
      if (!add_block(device, work_group, false)) break;
    lists_.blocks = static_cast<unsigned>(blocks_.size());
    lists_.block_least = std::uint64_t{least_work_group} * block_items;

    // Tiles of long segments: as many records a work-item as local memory holds, but no more than
    // registers do.
    long_work_group_ = device.local_struct > 64 * 1024 ? std::min(largest, 512u) : 256;
    long_resident_ = device.local_struct > 64 * 1024 ? 1024 / long_work_group_ : 1;
    const std::uint64_t index = kernels::index_bytes(problem.count);
    const std::uint64_t fixed = kernels::rank_bytes(device, long_work_group_, radix_size + 1) +
                                (4 * radix_size + 2) * index + radix_size + 64;
    const std::uint64_t key = info(problem.key).bytes;
    const std::uint64_t record = key + (problem.payload == Payload::none ? 0 : problem.value_bytes);
    const std::uint64_t room =
        device.local_struct / long_resident_ - (long_resident_ > 1 ? 1024 : 0);
    const std::uint64_t most = room > fixed ? (room - fixed) / (record * long_work_group_) : 0;
    items_ = static_cast<unsigned>(std::min<std::uint64_t>(most, key == 8 ? 10 : 16));
    if (items_ == 0)
      throw Error(ErrorCode::unsupported,
                  fmt::format("segmented: {} bytes of local memory are needed; the device has {}",
                              fixed + record * long_work_group_, room));
    const std::uint64_t tile = std::uint64_t{long_work_group_} * items_;
    scatter_bytes_ = static_cast<unsigned>(fixed + tile * record);
    groups_ = given.number("groups", 8 * device.compute_units);
    split_work_group_ = std::min(largest, 512u);
    lists_.part = tiles_of_part * tile;
    lists_.most_parts_of_one =
        static_cast<unsigned>(std::min<std::uint64_t>(groups_, 2 * device.compute_units));
    lists_.levels = static_cast<unsigned>(digits_.size());
    lists_.merged = std::min(merged_from * lists_.block_least, lists_.longest());
    lay_out(false);
    tiny_drops_ = key_bits(problem) + (composite(problem) ? tiny_position_bits : 0) > 32;
    if (tiny_drops_)
      again_ = scratch_.add(std::max<std::uint64_t>(lists_.begins[lists_.tiny], 1) * 2 * index);
    if (lists_.most_longs == 0) return;
    differs_ = scratch_.add(lists_.most_parts * key);
    buckets_ = scratch_.add(lists_.most_longs * radix_size);
  }

  std::string parameters() const override {
    return fmt::format("variant=gpu,blocks={},groups={}", blocks_.size() - lists_.spread, groups_);
  }

  void build(Device& device, const Capabilities& capabilities) override {
    // Side by side: a first use waits for them.
    using namespace kernels::embedded;
    const auto with = [&](const std::vector<kernels::Source>& sources,
                          const kernels::Defines& defines) {
      return std::async(std::launch::async, [&device, &capabilities, sources, defines] {
        return kernels::build_joined(device, capabilities, sources, defines);
      });
    };
    auto tiny_defines = lists_.defines(problem_);
    tiny_defines.set("WG", tiny_work_group(capabilities));
    auto all_defines = tiny_defines;
    const std::vector<kernels::Source> tiny_sources{segmented_lists_cl, segmented_items_cl,
                                                    segmented_tiny_cl};
    Items all = items_of(lists_.capacity(lists_.tiny - 1), tiny_position_bits);
    all.gathers |= all.wide;
    auto tiny_all = with(tiny_sources, define(all, all_defines.set("DROPS", 0)));
    std::future<std::shared_ptr<Module>> tiny;
    if (tiny_drops_)
      tiny = with(tiny_sources, define({.sort_bits = 32, .composite = true, .gathers = true},
                                       tiny_defines.set("DROPS", 1)));
    std::vector<std::future<std::shared_ptr<Module>>> blocks;
    for (const auto& b : blocks_) {
      auto defines = lists_.defines(problem_);
      defines.set("WG", b.work_group)
          .set("ITEMS", b.items)
          .set("BIN_SHARE", 16)
          .resident(b.resident, b.work_group)
          .set("COMPOSITE", int{composite(problem_)})
          .set("SORT_BITS", b.sort_bits)
          .set("POSITION_BITS", b.position_bits)
          .set("DROPS", int{b.drops})
          .set("GATHER_KEYS", int{b.gathers})
          .set("LEAVES", int{b.leaves});
      blocks.push_back(with({segmented_lists_cl, bins_cl, segmented_block_cl}, defines));
    }
    std::future<std::shared_ptr<Module>> longs;
    if (lists_.most_longs != 0) {
      auto defines = lists_.defines(problem_);
      defines.set("WG", long_work_group_)
          .set("ITEMS", items_)
          .resident(long_resident_, long_work_group_)
          .set("TEAMS", split_work_group_ / radix_size)
          .set("MERGED", lists_.merged);
      longs = with({segmented_lists_cl, segmented_partition_cl}, defines);
    }
    build_lists(device, capabilities);
    tiny_work_group_ = tiny_work_group(capabilities);
    tiny_all_module_ = tiny_all.get();
    tiny_all_ = tiny_all_module_->kernel("segmented_tiny");
    if (tiny_drops_) {
      tiny_module_ = tiny.get();
      tiny_ = tiny_module_->kernel("segmented_tiny");
    }
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      blocks_[b].module = blocks[b].get();
      blocks_[b].sort = blocks_[b].module->kernel("segmented_block");
    }
    if (lists_.most_longs == 0) return;
    long_module_ = longs.get();
    count_ = long_module_->kernel("segmented_count");
    split_ = long_module_->kernel("segmented_split");
    scatter_ = long_module_->kernel("segmented_scatter");
    settle_ = long_module_->kernel("segmented_settle");
  }

  void enqueue(Queue& queue, const Operands& o) override {
    const std::uint32_t begin_bit = problem_.begin_bit;
    const std::uint64_t mask = rank_mask(problem_);
    make_lists(queue, o);
    if (lists_.most_longs != 0) part_longs(queue, o);
    const Memory keys_from_spare = keys_spare(o),
                 keys_from_work = keys_spare_.bytes == 0 ? Memory{} : keys_work(o);
    const auto sort_tiny = [&](Kernel& kernel, Memory tasks, Memory lengths, Memory again,
                               Memory again_lengths, std::string_view phase) {
      const Arg args[] = {o.keys_in,         keys_from_spare, keys_from_work, o.keys_out,
                          o.values_in,       values_spare(o), o.values_out,   tasks,
                          lengths,           again,           again_lengths,  problem_.count,
                          problem_.segments, lists_.pieces,   begin_bit,      mask};
      queue.launch(
          {kernel,
           std::min<std::uint64_t>(ceil_div(problem_.count, tiny_work_group_), 16 * compute_units_),
           tiny_work_group_, args, phase});
    };
    const auto sort_block = [&](unsigned b) {
      const auto& block = blocks_[b];
      const unsigned k = lists_.tiny + b, left = lists_.tiny - 1;
      const Arg args[] = {o.keys_in,
                          keys_from_spare,
                          keys_from_work,
                          o.keys_out,
                          o.values_in,
                          values_spare(o),
                          o.values_out,
                          lists_.list(k, o, problem_),
                          lists_.length(k, o),
                          begin_bit,
                          mask,
                          lists_.list(left, o, problem_),
                          lists_.length(left, o)};
      queue.launch(
          {*block.sort,
           std::min<std::uint64_t>(lists_.room(k, problem_), block.resident * compute_units_),
           block.work_group, args, block.leaves ? "spread" : "local",
           static_cast<unsigned>(block.bytes)});
    };
    if (lists_.spread) sort_block(0);  // leaves some to those that follow
    const Memory tasks = lists_.tasks.in(o), lengths = lists_.counters.in(o);
    if (tiny_drops_) {
      const Memory again = again_.in(o), again_lengths = lists_.again_lengths(o);
      sort_tiny(*tiny_, tasks, lengths, again, again_lengths, "short");
      sort_tiny(*tiny_all_, again, again_lengths, {}, {}, "short: ties");
    } else {
      sort_tiny(*tiny_all_, tasks, lengths, {}, {}, "short");
    }
    for (unsigned b = lists_.spread; b < blocks_.size(); ++b) sort_block(b);
  }

 private:
  // A class more, if local memory holds its segments. One of short segments leaves those that bins
  // do not sort to the network, and so can do with items of 32 bits, which may leave out some of
  // the key's.
  bool add_block(const Capabilities& device, unsigned work_group, bool leaves) {
    Block b{
        .work_group = work_group, .items = leaves ? spread_items : block_items, .leaves = leaves};
    b.position_bits = static_cast<unsigned>(std::bit_width(work_group * b.items - 1));
    const unsigned needed = key_bits(problem_) + (composite(problem_) ? b.position_bits : 0);
    b.sort_bits = needed > 32 && !(leaves && composite(problem_)) ? 64 : 32;
    b.drops = needed > b.sort_bits;
    b.gathers = gathers_ || b.drops;
    const std::uint64_t bins = std::max<std::uint64_t>(
        8 * work_group * 4, kernels::rank_bytes(device, work_group, radix_size));
    const std::uint64_t item =
        std::max({b.sort_bits / 8, b.gathers ? info(problem_.key).bytes : 0u,
                  problem_.payload == Payload::none ? 0u : problem_.value_bytes});
    b.bytes = work_group * b.items * item + bins +
              2 * work_group * kernels::index_bytes(problem_.count) + 32;
    if (b.bytes + 4 * work_group > device.local_struct)
      return false;  // emulated sub-groups have a word for each work-item
    b.resident = std::max(
        1u, std::min<unsigned>((b.sort_bits == 64 ? 768 : 1024) / work_group,
                               static_cast<unsigned>(device.local_struct / (b.bytes + 1024))));
    blocks_.push_back(std::move(b));
    return true;
  }

  // Level by level, until only segments are left that are short enough for the local sorts, or
  // whose keys are alike.
  void part_longs(Queue& queue, const Operands& o) const {
    const std::uint32_t begin_bit = problem_.begin_bit;
    const std::uint64_t mask = rank_mask(problem_),
                        part_groups = std::min(lists_.most_parts, groups_);
    const Memory counts = counts_.in(o), differs = differs_.in(o), buckets = buckets_.in(o);
    const Lists::Longs& ended = lists_.of(lists_.levels);
    for (unsigned level = 0; level < lists_.levels; ++level) {
      const Lists::Longs &here = lists_.of(level), &next = lists_.longs[(level + 1) % 2];
      const Memory longs = here.longs.in(o), parts = here.parts.in(o),
                   lengths = lists_.longs_lengths(level, o);
      const Arg count_args[] = {o.keys_in, keys_spare(o), keys_work(o), longs,     parts,
                                lengths,   counts,        differs,      begin_bit, mask};
      queue.launch({*count_, part_groups, long_work_group_, count_args, "long: histogram"});
      const Arg split_args[] = {longs,
                                lengths,
                                counts,
                                differs,
                                buckets,
                                lists_.counters.in(o),
                                lists_.tasks.in(o),
                                next.longs.in(o),
                                next.parts.in(o),
                                ended.longs.in(o),
                                ended.parts.in(o),
                                std::uint32_t{level + 1},
                                std::uint32_t{lists_.levels},
                                lists_.part,
                                std::uint32_t{lists_.most_parts_of_one},
                                problem_.count,
                                problem_.segments,
                                lists_.pieces};
      queue.launch({*split_, std::min(lists_.most_longs, groups_), split_work_group_, split_args,
                    "long: buckets"});
      const Arg scatter_args[] = {
          o.keys_in, keys_spare(o), keys_work(o), o.values_in, values_spare(o), o.values_out, longs,
          parts,     lengths,       counts,       buckets,     begin_bit,       mask};
      queue.launch({*scatter_, part_groups, long_work_group_, scatter_args, "long: reorder",
                    scatter_bytes_});
    }
    const Arg settle_args[] = {
        o.keys_in,         keys_spare(o),     o.keys_out,
        o.values_in,       values_spare(o),   o.values_out,
        ended.longs.in(o), ended.parts.in(o), lists_.longs_lengths(lists_.levels, o),
        copies(o)};
    queue.launch({*settle_, part_groups, long_work_group_, settle_args, "long: alike"});
  }

  static constexpr unsigned longest_short = 16, tiny_position_bits = 8;
  // Digits stay together up to the capacity of the work-groups' third class, whose sort is fast and
  // whose buckets are few.
  static constexpr std::uint64_t merged_from = 4;
  // A part is long enough for what comes before its first tile to cost little.
  static constexpr std::uint64_t tiles_of_part = 4;
  static unsigned tiny_work_group(const Capabilities& c) {
    return std::max(c.sub_group_size, 128u);
  }

  struct Block {  // how segments of a class are sorted
    unsigned work_group = 0, items = 0, position_bits = 0, sort_bits = 0, resident = 1;
    bool leaves = false, drops = false, gathers = false;
    std::uint64_t bytes = 0;  // of segmented_memory_t
    std::shared_ptr<Module> module{};
    std::unique_ptr<Kernel> sort{};
  };

  unsigned lanes_ = 32, items_ = 0, tiny_work_group_ = 0, long_work_group_ = 0, long_resident_ = 1,
           split_work_group_ = 0, scatter_bytes_ = 0;
  std::uint64_t groups_ = 0;
  std::vector<Block> blocks_;
  // Short segments are sorted by items of 32 bits, which may leave out some of a key's; those whose
  // order that does not tell are then sorted once more, by all bits.
  bool tiny_drops_ = false, gathers_ = false;
  ScratchLayout::Slice again_, differs_, buckets_;
  std::shared_ptr<Module> tiny_module_, tiny_all_module_;
  std::unique_ptr<Kernel> tiny_, tiny_all_, count_, split_, scatter_, settle_;
};

// A work-item sorts a segment (segmented_cpu.cl).
class CpuSorter final : public SegmentedSorter {
 public:
  CpuSorter(const Problem& problem, const Capabilities& device, const Parameters& given)
      : SegmentedSorter(problem, device) {
    groups_ = given.number("groups", 8 * device.compute_units);
    lists_.blocks = 1;
    lists_.block_least = std::uint64_t{1} << 16;
    lists_.part = std::max<std::uint64_t>(ceil_div(problem.count, groups_), 1 << 14);
    lay_out(true);
  }

  std::string parameters() const override { return fmt::format("variant=cpu,groups={}", groups_); }

  void build(Device& device, const Capabilities& capabilities) override {
    using namespace kernels::embedded;
    build_lists(device, capabilities);
    long_module_ = kernels::build_joined(
        device, capabilities, {segmented_lists_cl, segmented_cpu_cl}, lists_.defines(problem_));
    sort_ = long_module_->kernel("segmented_cpu_sort");
    count_ = long_module_->kernel("segmented_cpu_count");
    scan_ = long_module_->kernel("segmented_cpu_scan");
    scatter_ = long_module_->kernel("segmented_cpu_scatter");
  }

  void enqueue(Queue& queue, const Operands& o) override {
    make_lists(queue, o);
    const auto [shifts, widths] = packed(digits_);
    const Arg args[] = {o.keys_in,
                        o.keys_out,
                        keys_work(o),
                        keys_spare_.in(o),
                        o.values_in,
                        o.values_out,
                        values_spare(o),
                        lists_.list(0, o, problem_),
                        lists_.length(0, o),
                        std::uint32_t{problem_.begin_bit},
                        rank_mask(problem_),
                        shifts,
                        widths,
                        static_cast<std::uint32_t>(digits_.size()),
                        std::uint32_t{o.in_place()}};
    queue.launch({*sort_,
                  std::min(std::max<std::uint64_t>(lists_.room(0, problem_), 1), 4 * groups_), 1,
                  args, "local"});
    sort_longs(queue, o);
  }

 private:
  // All passes over long segments; the last one writes the output. In place they must be even in
  // number: one that sorts by no bit at all then comes first.
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
      const Arg count_args[] = {keys_from, parts, lengths, counts, shift, mask};
      queue.launch(
          {*count_, std::min(lists_.most_parts, groups_), 1, count_args, "long: histogram"});
      const Arg scan_args[] = {longs, lengths, counts};
      queue.launch({*scan_, std::min(lists_.most_longs, groups_), 1, scan_args, "long: scan"});
      const std::uint32_t makes_positions = problem_.payload == Payload::positions && p == 0;
      const Arg scatter_args[] = {keys_from, keys_to, values_from, values_to, parts,
                                  lengths,   counts,  shift,       mask,      makes_positions};
      queue.launch(
          {*scatter_, std::min(lists_.most_parts, groups_), 1, scatter_args, "long: reorder"});
      keys_from = keys_to;
      values_from = values_to;
    }
  }

  std::uint64_t groups_ = 0;
  std::unique_ptr<Kernel> sort_, count_, scan_, scatter_;
};

class Segmented final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "segmented",
        .title =
            "segments, each sorted by itself in the way that suits its length; variants for GPUs "
            "and for CPUs",
        .source = "Hou, Liu, Feng 2017; Stehle, Jacobsen 2017; Satish, Harris, Garland 2009",
        .stable = true,
        .segments = true,
        .cost =
            "every record is read and written once; of segments longer than local memory, once "
            "more for each level of "
            "partition that they need (one, where their keys spread), whose keys are read twice; "
            "at most 12 launches "
            "and 3 for each 8 bits",
        .parameters = {{"variant",
                        "which kernels: the device's kind decides by default",
                        0,
                        0,
                        {"gpu", "cpu"}},
                       {"blocks",
                        "classes of lengths that work-groups sort; from class to class they double "
                        "(variant gpu)",
                        1,
                        most_blocks,
                        {}},
                       {"groups", "work-groups that go through long segments", 1, 1 << 20, {}}}};
    return info;
  }

  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    if (given.word("variant", device.kind == DeviceKind::cpu ? "cpu" : "gpu") == "cpu")
      return std::make_unique<CpuSorter>(problem, device, given);
    return std::make_unique<GpuSorter>(problem, device, given);
  }
};

}  // namespace

const Algorithm& rooms::segmented() {
  static const Segmented room;
  return room;
}

}  // namespace sortium
