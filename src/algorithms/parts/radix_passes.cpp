#include "radix_passes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <future>

#include "../../kernels/concurrently.hpp"
#include "../../kernels/kernels.hpp"
#include "embedded.hpp"
#include "tile_items.hpp"

namespace sortium {
namespace {

constexpr std::uint64_t radix_size = 256;
constexpr std::uint64_t head_bytes = 256;  // HEAD_BYTES of radix_pass_tiles.cl
constexpr std::uint64_t gap_bytes = 64;    // alignment gaps between the structure's arrays
// Above this many records without values, two work-groups share a compute unit; measured on an
// H200.
constexpr std::uint64_t shared_from = std::uint64_t{1} << 21;
// Above this many records with values, small tiles are faster for keys that do not spread; measured
// on an H200. In shorter lists all tiles begin at once, and tiles half as large look back twice as
// far.
constexpr std::uint64_t small_tiles_from = std::uint64_t{1} << 21;
constexpr std::uint64_t small_tiles_from_codes = std::uint64_t{1} << 23;
// has_much_local() is true above this.
constexpr std::uint64_t much_local_bytes = 128 * 1024;
// In longer lists, tiles look back.
constexpr std::uint64_t short_to = std::uint64_t{1} << 22;
// The fewest records of a work-item. With 1 instead of 3, look-back would have three times as many
// tiles.
constexpr std::uint64_t least_items = 3;

std::uint64_t value_bytes(const Problem& p) {
  return p.payload == Payload::none ? 0 : p.value_bytes;
}

// Tickets and counts of tiles that are done: two for each pass, for the histograms, for gathering,
// and two for settling. Then what samples tell, and three words (radix_passes.cl).
std::uint64_t state_bytes(std::uint64_t passes) { return (2 * (2 * passes + 4) + 68 + 3) * 4; }

unsigned count_bits(const Parameters& given) {
  return static_cast<unsigned>(given.number("count_bits", 30));
}

// Bytes of `counts` in radix_rows.cl.
std::uint64_t group_count_bytes(std::uint64_t tiles, std::uint64_t passes) {
  constexpr std::uint64_t group = 16;  // ROW_GROUP
  return (passes + 1) * ceil_div(tiles, group) * radix_size * 4;
}

// Returns how many keys the work-groups of `shape` sample to choose low digits that no pass sorts;
// 0: all digits are sorted. Keys of up to 32 bits have few passes, and the code takes registers
// from them: lists with 100 different keys became slower. Packages have no kernels for this.
unsigned sample_count(const Problem& problem, const Capabilities& device,
                      const RadixPassShape& shape, bool long_counts) {
  constexpr std::uint64_t samples = 1024;
  constexpr std::uint64_t find_items = 8;  // FIND_ITEMS of radix_settle.cl
  if (!device.compiles || long_counts || key_bits(problem) <= 32 || problem.count < 4 * samples)
    return 0;
  const std::uint64_t key = info(problem.key).bytes,
                      sample_bytes = samples * key + shape.work_group * (2 * key + 8),
                      found_bytes = shape.work_group * find_items * 4;
  return shape.local_bytes >= head_bytes + std::max(sample_bytes, found_bytes) ? samples : 0;
}

[[noreturn]] void unsupported(const RadixPassOptions& options, const std::string& why) {
  throw Error(ErrorCode::unsupported, fmt::format("{}: {}", options.algorithm, why));
}

void check_device(const Problem& problem, const Capabilities& device,
                  const RadixPassOptions& options) {
  if (device.kind == DeviceKind::cpu)
    unsupported(options,
                "made for GPUs; a CPU does better with lsd (and PoCL's compiler fails at barriers "
                "inside conditions)");
  if (!device.forward_progress)
    unsupported(options, "the device promises no forward progress to waiting work-groups");
  // A work-group counts its keys in 32 bits, and may count more of them than other work-groups.
  if (problem.count / device.compute_units >> 28 != 0)
    unsupported(options, fmt::format("count is {}; with {} compute units fewer than {} are allowed",
                                     problem.count, device.compute_units,
                                     std::uint64_t{device.compute_units} << 28));
}

// Bytes of onesweep_memory_t (radix_pass_tiles.cl) without the tile's keys and values.
std::uint64_t fixed_local_bytes(const Problem& problem, const Capabilities& device,
                                const RadixPassShape& s, bool segmented, std::uint64_t map_bytes) {
  const std::uint64_t index = kernels::index_bytes(problem.count);
  const bool rotated = value_bytes(problem) != 0 && !s.alternating;
  const std::uint64_t first_or_segments = (radix_size + 1) * index;
  const std::uint64_t first_tiles = segmented ? radix_size * 4 + 16 : 0;
  const std::uint64_t runs = rotated ? radix_size * 4 : 0;
  const std::uint64_t to_out = radix_size * index;
  const std::uint64_t scratch = kernels::scan_bytes(problem, device, radix_size);
  const std::uint64_t ranks = kernels::rank_bytes(device, s.work_group, radix_size);
  const std::uint64_t sums = s.work_group * 4;
  return head_bytes + first_or_segments + first_tiles + runs + to_out + scratch + ranks + sums +
         map_bytes + gap_bytes;
}

// True if a kernel copies the map of its keys to local memory.
bool has_local_map(RadixPassKind kind, const RadixPassShape& s) {
  return kind == RadixPassKind::mapped && !s.alternating;
}

// Bytes of a record in the tile. With a map or equalized keys, a tile keeps a byte for each digit.
std::uint64_t tile_record_bytes(const Problem& problem, const RadixPassShape& s,
                                RadixPassKind kind) {
  const std::uint64_t key = info(problem.key).bytes, value = value_bytes(problem);
  if (kind == RadixPassKind::equalized)
    return (s.alternating ? std::max(key, value) : key + value) + 1;
  if (s.alternating) return std::max(key, value);
  return key + value + (kind == RadixPassKind::mapped ? 1 : 0);
}

// Records of a work-item that registers allow; a key or value of 8 bytes takes two of them. The
// digits of four mapped or equalized keys take one.
std::uint64_t most_items_in_registers(const Problem& problem, bool alternating,
                                      RadixPassKind kind) {
  const std::uint64_t key = info(problem.key).bytes, value = value_bytes(problem);
  if (kind == RadixPassKind::mapped || kind == RadixPassKind::equalized)
    return key + value <= 4    ? 47
           : key + value <= 8  ? (alternating ? 21 : 33)
           : key + value <= 12 ? 23
                               : 17;
  if (value == 0) return key == 8 ? 33 : 55;
  if (key + value <= 8) return alternating ? 21 : 37;  // 29 spill on an H100
  if (alternating) return 17;
  return key + value <= 12 ? 27 : 19;
}

// Sets work_group, alternating and resident.
void choose_work_group(const Problem& problem, const Capabilities& device, const Parameters& given,
                       const RadixPassOptions& options, RadixPassKind kind, RadixPassShape& s) {
  const bool small_tiles = kind == RadixPassKind::small_tiles;
  // Without values, two work-groups share a compute unit: one ranks while the other waits. With
  // values tiles would be too small then, and short lists have too few tiles.
  const bool much_local = has_much_local(device);
  const bool halves = much_local && problem.payload == Payload::none && problem.count > shared_from;
  const bool large = much_local && !halves && !small_tiles;
  s.work_group =
      static_cast<unsigned>(given.number("work_group", large ? 2 * radix_size : radix_size));
  if (!std::has_single_bit(s.work_group) || s.work_group < radix_size ||
      s.work_group > device.max_work_group)
    unsupported(options, fmt::format("work_group={} is not a power of two between 256 and {}",
                                     s.work_group, device.max_work_group));
  // With little local memory, keys and values alternate in it, so that tiles are larger, and
  // work-groups share a compute unit, so that one works while another waits.
  s.alternating = !much_local && problem.payload != Payload::none;
  const bool shares =
      s.work_group == radix_size ? !much_local || halves || small_tiles : much_local && small_tiles;
  s.resident = static_cast<unsigned>(given.number("resident", shares ? 2 : 1));
}

// Sets items and local_bytes: a tile as large as local memory and registers allow, since long runs
// of a digit make whole memory transactions.
void choose_items(const Problem& problem, const Capabilities& device, const Parameters& given,
                  const RadixPassOptions& options, RadixPassKind kind, RadixPassShape& s) {
  const bool equalized = kind == RadixPassKind::equalized;
  const std::uint64_t map = has_local_map(kind, s)
                                ? options.map.local_bytes(info(problem.key).bytes)
                            : equalized ? options.equalizer.local_bytes()
                                        : 0;
  const bool segmented = options.segments != 0 || kind == RadixPassKind::mapped || equalized;
  const std::uint64_t fixed = fixed_local_bytes(problem, device, s, segmented, map);
  const std::uint64_t of_item = tile_record_bytes(problem, s, kind) * s.work_group;
  const std::uint64_t available = has_much_local(device) && s.resident > 1
                                      ? device.local_struct / s.resident - 1024
                                      : device.local_struct;
  // A place in the tile has 16 bits of a word of ranks, or 15 bits of a word of runs.
  const std::uint64_t most_places =
      (std::uint64_t{1} << (problem.payload == Payload::none ? 16 : 15)) - 1;
  const std::uint64_t most =
      available > fixed ? std::min((available - fixed) / of_item, most_places / s.work_group) : 0;
  const std::uint64_t at_once = std::uint64_t{device.compute_units} * s.resident * s.work_group;
  const std::uint64_t bound = std::min(most, most_items_in_registers(problem, s.alternating, kind));
  s.items = static_cast<unsigned>(
      given.number("items", cheapest_items(problem.count, at_once, {least_items, bound}, device)));
  s.local_bytes = static_cast<unsigned>(fixed + s.items * of_item);
  if (s.items > most)
    unsupported(options,
                fmt::format("items={} with work_group={} needs {} bytes of local memory; the "
                            "device allows {}, which is items up to {}",
                            s.items, s.work_group, s.local_bytes, available, most));
}

// The most records of a work-item in tiles that do not look back: more are slower than looking
// back. Measured on an H200.
constexpr unsigned most_items_of_rows = 45;

// Returns whether tiles look back. A short list of keys of up to 32 bits uses a table of all tiles'
// counts instead, if all its tiles can be sorted at the same time. (Passes over longer keys leave
// out low digits, which need the counts of all digits.)
bool looks_back(const Problem& problem, const Capabilities& device, const Parameters& given,
                const RadixPassOptions& options, RadixPassKind kind, const RadixPassShape& s) {
  const bool small_counts = problem.count >> count_bits(given) == 0;
  const bool possible = kind == RadixPassKind::plain && options.segments == 0 && !options.lists &&
                        !options.rests && !s.alternating && small_counts;
  const bool all_at_once =
      ceil_div(problem.count, s.tile()) <= std::uint64_t{device.compute_units} * s.resident;
  const bool useful = possible && all_at_once && problem.count <= short_to &&
                      key_bits(problem) <= 32 && s.items <= most_items_of_rows &&
                      given.number("count_bits", 0) == 0 && given.number("groups", 0) == 0;
  const bool looks = given.number("look_back", useful ? 0 : 1) != 0;
  if (!looks && !small_counts)
    unsupported(options, fmt::format("look_back=0 needs fewer than 2^{} records, not {}",
                                     count_bits(given), problem.count));
  if (!looks && !possible)
    unsupported(options,
                fmt::format("look_back=0 with values needs more than {} bytes of local memory; the "
                            "device allows {}",
                            much_local_bytes, device.local_struct));
  return looks;
}

}  // namespace

bool has_much_local(const Capabilities& device) { return device.local_struct > much_local_bytes; }

RadixPassShape radix_pass_shape(const Problem& problem, const Capabilities& device,
                                const Parameters& given, const RadixPassOptions& options,
                                RadixPassKind kind) {
  RadixPassShape s;
  const bool small_tiles = kind == RadixPassKind::small_tiles;
  choose_work_group(problem, device, given, options, kind, s);
  choose_items(problem, device, given, options, kind, s);
  s.common_share = small_tiles ? 40 : 8;  // measured on an H200
  s.looks_back = looks_back(problem, device, given, options, kind, s);

  const std::uint64_t tiles = ceil_div(problem.count, s.tile());
  s.tiles = tiles + (small_tiles ? 0  // partition() has no small tiles
                     : kind == RadixPassKind::mapped || kind == RadixPassKind::equalized
                         ? radix_size
                         : options.segments);
  const std::uint64_t mark_tiles = (std::uint64_t{1} << (count_bits(given) - 1)) / s.tile();
  if (mark_tiles == 0)
    unsupported(options, fmt::format("count_bits={} are too few for tiles of {} records",
                                     count_bits(given), s.tile()));
  s.mark_rows = (tiles + radix_size) / mark_tiles + 1;
  const auto groups_of_unit = given.number("groups", has_much_local(device) ? s.resident : 4);
  s.groups = std::min<std::uint64_t>(s.tiles, device.compute_units * groups_of_unit);

  // The histograms take the place of all that follows the structure's head.
  const std::uint64_t segment_bytes = options.segments != 0 ? radix_size * 4 + 16 : 0;
  const std::uint64_t histogram_bytes = digits(problem, 8).size() * radix_size * 4;
  const std::uint64_t most_copies =
      (s.local_bytes - head_bytes - gap_bytes - segment_bytes) / histogram_bytes;
  s.copies = static_cast<unsigned>(std::bit_floor(std::clamp<std::uint64_t>(most_copies, 1, 32)));
  return s;
}

RadixPasses::RadixPasses(const Problem& problem, const Capabilities& device,
                         const Parameters& given, const RadixPassOptions& options,
                         ScratchLayout& layout)
    : problem_(problem),
      digits_(digits(problem, 8)),
      buffers_(options.between ? PingPong()
                               : PingPong(problem, static_cast<unsigned>(digits_.size()), layout)),
      map_(options.map),
      equalizer_(options.equalizer),
      spread_bits_(options.spread_bits),
      class_digits_(options.class_digits),
      stretches_(options.stretches),
      count_bits_(count_bits(given)),
      segmented_(options.segments != 0),
      lists_(options.lists),
      long_counts_(problem.count >> count_bits_ != 0) {
  check_device(problem, device, options);
  // With NanOrder::first, orders and codes have different bits. So if only some bits are compared,
  // keys are sorted without codes.
  codes_ = info(problem.key).is_float &&
           (problem.nan != NanOrder::first || key_bits(problem) == info(problem.key).bits());
  may_tie_ = codes_ && (problem.nan != NanOrder::bits || problem.zeros != ZeroOrder::distinct);
  choose_shapes(device, given, options);
  tries_leading_ = options.tries_leading;
  rests_ = options.rests;
  between_ = options.between;
  lay_out(options, layout);
}

bool RadixPasses::may_partition(const Problem& problem, const Capabilities& device,
                                const Parameters& given) {
  if (problem.count > short_to || key_bits(problem) > 32 || device.kind == DeviceKind::cpu)
    return false;
  try {
    return !radix_pass_shape(problem, device, given, {.algorithm = "msd"}, RadixPassKind::plain)
                .looks_back;
  } catch (const Error&) {
    return false;  // the device cannot run the passes
  }
}

void RadixPasses::choose_shapes(const Capabilities& device, const Parameters& given,
                                const RadixPassOptions& options) {
  shape_ = radix_pass_shape(problem_, device, given, options,
                            options.between ? RadixPassKind::small_tiles : RadixPassKind::plain);
  if (map_.cells != 0)
    mapped_shape_ = radix_pass_shape(problem_, device, given, options, RadixPassKind::mapped);
  if (equalizer_.possible())
    mapped_shape_ = radix_pass_shape(problem_, device, given, options, RadixPassKind::equalized);
  // Keys with values that do not spread are faster with small tiles and two work-groups on a
  // compute unit. In long lists only if digits have few values: otherwise runs are too short.
  const bool small_tiles = options.skewed && !options.tries_leading &&
                           problem_.payload != Payload::none && shape_.resident == 1 &&
                           shape_.work_group == 2 * radix_size &&
                           problem_.count > (codes_ ? small_tiles_from_codes : small_tiles_from);
  const bool always_small =
      small_tiles && !options.tells_few_digits && problem_.count <= small_tiles_to;
  if (!always_small) sorts_.push_back({.shape = shape_});
  if (small_tiles && (options.tells_few_digits || always_small))
    sorts_.push_back(
        {.shape = radix_pass_shape(problem_, device, given, options, RadixPassKind::small_tiles)});
}

// Memory that one fill clears is contiguous: the histograms, the passes' states, the algorithm's
// extension, the marks of long counts, and the look-back table.
void RadixPasses::lay_out(const RadixPassOptions& options, ScratchLayout& layout) {
  std::uint64_t tiles = std::max(shape_.tiles, mapped_shape_.tiles),
                mark_rows = std::max(shape_.mark_rows, mapped_shape_.mark_rows);
  for (const auto& sort : sorts_) {
    tiles = std::max(tiles, sort.shape.tiles);
    mark_rows = std::max(mark_rows, sort.shape.mark_rows);
  }
  const std::uint64_t passes = digits_.size();
  const auto add_counts = [&] {
    const std::uint64_t histograms = passes * radix_size * kernels::index_bytes(problem_.count);
    return Counts{
        layout.add(shape_.looks_back ? histograms : group_count_bytes(shape_.tiles, passes)),
        layout.add(state_bytes(passes))};
  };
  counts_ = add_counts();
  if (may_tie_) tie_counts_ = add_counts();
  partition_state_ = layout.add(state_bytes(2));
  ties_ = layout.add(4);
  if (options.cleared_bytes != 0) extension_ = layout.add(options.cleared_bytes);
  const std::uint64_t mark_bytes = std::max<std::uint64_t>(2, passes) * mark_rows * radix_size * 4;
  marks_ = layout.add(long_counts_ ? mark_bytes : 0);
  look_ = layout.add(tiles * (radix_size + (shape_.looks_back ? 0 : 1)) * 4);
  const std::uint64_t begin = counts_.histograms.offset;
  cleared_ = {begin, look_.offset + look_.bytes - begin};
}

std::string RadixPasses::parameters() const {
  return fmt::format("work_group={},items={},resident={}", shape_.work_group, shape_.items,
                     shape_.resident);
}

std::shared_ptr<Module> RadixPasses::build_kernel(Device& device, const Capabilities& capabilities,
                                                  const RadixPassShape& shape, Build what) const {
  const bool by_map = what == Build::partition_mapped,
             by_equalizer = what == Build::partition_equalized;
  const bool segmented = what == Build::partition || by_map || by_equalizer;
  const unsigned spread_bits = what == Build::partition ? spread_bits_ : 0;
  kernels::Defines defines;
  defines.problem(radix_problem(problem_))
      .set("WG", shape.work_group)
      .set("ITEMS", shape.items)
      .resident(shape.resident, shape.work_group)
      .set("PASSES", segmented ? 2 : digits_.size())
      .set("COUNT_BITS", count_bits_)
      .set("LONG_COUNTS", int{long_counts_})
      .set("COPIES", shape.copies)
      .set("LOOKS_BACK", int{shape.looks_back})
      .set("ALTERNATING", int{shape.alternating})
      .set("SEGMENTED", int{segmented})
      .set("COMMON_SHARE", shape.common_share)
      .set("CODES", int{what == Build::sort_with_codes || spread_bits != 0})
      .set("ALL_BITS", int{key_bits(problem_) == info(problem_.key).bits()})
      .set("LISTED", int{what == Build::sort_listed})
      .set("SPREAD_BITS", spread_bits)
      .set("CLASS_DIGITS", int{spread_bits != 0 && class_digits_})
      .set("STRETCHES", int{what == Build::partition && stretches_})
      .set("MAP_LOCAL", int{by_map && !shape.alternating})
      .local_struct("onesweep_memory_t", shape.local_bytes);
  (by_map ? map_ : KeyMap{}).set(defines);
  (by_equalizer ? equalizer_ : Equalizer{}).set(defines);
  using namespace kernels::embedded;
  if (!shape.looks_back) {
    defines.set("TRIES_LEADING", int{tries_leading_ && what == Build::sort});
    return kernels::build(
        device, capabilities,
        {key_map_cl, equalize_cl, stretch_cl, columns_cl, radix_pass_tiles_cl, radix_rows_cl},
        defines);
  }
  const Build main_sort = codes_ ? Build::sort_with_codes : Build::sort;
  defines.set("SAMPLES", segmented ? 0 : sample_count(problem_, capabilities, shape, long_counts_))
      .set("RESTS", int{rests_ && what == main_sort})
      .set("BETWEEN", int{between_});
  return kernels::build(
      device, capabilities,
      {key_map_cl, equalize_cl, stretch_cl, columns_cl, radix_pass_tiles_cl, radix_settle_cl,
       shape.alternating ? radix_pass_alternating_cl : radix_pass_pipelined_cl, radix_passes_cl},
      defines);
}

void RadixPasses::build(Device& device, const Capabilities& capabilities) {
  // Concurrently: the first use waits for them.
  std::vector<std::future<void>> builds;
  const auto build_one = [&](const RadixPassShape& shape, Build what,
                             std::shared_ptr<Module>& module, std::unique_ptr<Kernel>& kernel) {
    builds.push_back(kernels::concurrently([&, what] {
      module = build_kernel(device, capabilities, shape, what);
      kernel = module->kernel(shape.looks_back ? "onesweep" : "radix_rows");
    }));
  };
  for (auto& sort : sorts_)
    build_one(sort.shape, codes_ ? Build::sort_with_codes : Build::sort, sort.module, sort.kernel);
  if (may_tie_) build_one(tie_shape(), Build::sort, ties_module_, sort_ties_);
  if (lists_) build_one(sorts_[0].shape, Build::sort_listed, listed_module_, sort_listed_);
  if (segmented_) build_one(shape_, Build::partition, segmented_module_, partition_);
  if (map_.cells != 0)
    build_one(mapped_shape_, Build::partition_mapped, mapped_module_, partition_mapped_);
  if (equalizer_.possible())
    build_one(mapped_shape_, Build::partition_equalized, mapped_module_, partition_mapped_);
  for (auto& one : builds) one.get();
}

const RadixPassShape& RadixPasses::tie_shape() const {
  return problem_.count <= small_tiles_to ? sorts_.back().shape : sorts_.front().shape;
}

void RadixPasses::sort(Queue& queue, const Operands& o, Gate gate, Memory rest_state) const {
  for (std::size_t i = 0; i < sorts_.size(); ++i) {
    Gate own = gate;
    own.most = std::min(own.most, mapped - 1);
    if (tells_few_digits() && i == 0) own.most = few_digits - 1;
    if (tells_few_digits() && i != 0) own.least = few_digits;
    sort_all(queue, o, *sorts_[i].kernel, sorts_[i].shape, counts_, own, {}, rest_state);
  }
  if (may_tie_)
    sort_all(queue, o, *sort_ties_, tie_shape(), tie_counts_, {ties_.in(o), 1, ~0u}, {}, {});
}

void RadixPasses::sort_between(Queue& queue, const Operands& o, const PingPong::Pass& first,
                               const PingPong::Pass& second, Gate gate, Memory rest_state) const {
  launch(queue, o, *sorts_[0].kernel, sorts_[0].shape, counts_.histograms.in(o),
         counts_.state.in(o), digits_, gate, "sort",
         {.rest_state = rest_state, .first = &first, .second = &second});
}

void RadixPasses::sort_or_partition(Queue& queue, const Operands& o, std::uint32_t shift,
                                    std::uint32_t capacity, Memory starts, Memory skewed) const {
  sort_all(queue, o, *sorts_[0].kernel, sorts_[0].shape, counts_, {},
           {.shift = shift, .capacity = capacity, .starts = starts, .skewed = skewed}, {});
}

void RadixPasses::sort_listed(Queue& queue, const Operands& o, Memory gate, Memory list) const {
  launch(queue, o, *sort_listed_, sorts_[0].shape, counts_.histograms.in(o), counts_.state.in(o),
         digits_, {gate, listed, listed}, "sort", {.list = list});
}

void RadixPasses::partition(Queue& queue, const Operands& o, Memory starts, Memory spread,
                            Memory stretch, const std::vector<Digit>& digits, Gate gate) const {
  launch(queue, o, *partition_, shape_, starts, partition_state_.in(o), digits, gate, "partition",
         {.spread = spread, .stretch = stretch});
}

void RadixPasses::partition_mapped(Queue& queue, const Operands& o, Memory starts, Memory map,
                                   const std::vector<Digit>& digits, Memory gate) const {
  launch(queue, o, *partition_mapped_, mapped_shape_, starts, partition_state_.in(o), digits,
         {gate, mapped, listed}, "partition", {.map = map});
}

void RadixPasses::partition_equalized(Queue& queue, const Operands& o, Memory starts,
                                      Memory entries, const std::vector<Digit>& digits,
                                      Memory gate) const {
  launch(queue, o, *partition_mapped_, mapped_shape_, starts, partition_state_.in(o), digits,
         {gate, mapped, mapped}, "partition", {.entries = entries});
}

void RadixPasses::sort_all(Queue& queue, const Operands& o, Kernel& kernel,
                           const RadixPassShape& shape, const Counts& counts, Gate gate,
                           Leading leading, Memory rest_state) const {
  if (shape.looks_back)
    launch(queue, o, kernel, shape, counts.histograms.in(o), counts.state.in(o), digits_, gate,
           "sort", {.rest_state = rest_state});
  else
    launch_rows(queue, o, kernel, shape, counts, gate, leading);
}

void RadixPasses::launch_rows(Queue& queue, const Operands& o, Kernel& kernel,
                              const RadixPassShape& shape, const Counts& counts, Gate gate,
                              Leading leading) const {
  const auto [shifts, widths] = packed(digits_);
  const auto a = buffers_.pass(0, o);
  const auto b = digits_.size() > 1 ? buffers_.pass(1, o) : PingPong::Pass{};
  const Arg args[] = {{"keys_in", a.keys_in},
                      {"keys_a", a.keys_out},
                      {"keys_b", b.keys_out},
                      {"values_in", a.values_in},
                      {"values_a", a.values_out},
                      {"values_b", b.values_out},
                      {"counts", counts.histograms.in(o)},
                      {"table", look_.in(o)},
                      {"state", counts.state.in(o)},
                      {"in_place", std::uint32_t{o.in_place()}},
                      {"n", problem_.count},
                      {"shifts", shifts},
                      {"widths", widths},
                      {"values_are_positions", std::uint32_t{a.make_positions}},
                      {"last_keys", std::uint32_t{problem_.keys_out}},
                      {"ties", ties_.in(o)},
                      {"gate", gate.word},
                      {"gate_least", gate.least},
                      {"gate_most", gate.most},
                      {"lead", leading.shift},
                      {"capacity", leading.capacity},
                      {"starts", leading.starts},
                      {"skewed", leading.skewed}};
  queue.launch({kernel, shape.groups, shape.work_group, args, "sort"});
}

void RadixPasses::launch(Queue& queue, const Operands& o, Kernel& kernel,
                         const RadixPassShape& shape, Memory starts, Memory state,
                         const std::vector<Digit>& digits, Gate gate, std::string_view phase,
                         Extra extra) const {
  const auto [shifts, widths] = packed(digits);
  const auto a = extra.first != nullptr ? *extra.first : buffers_.pass(0, o);
  const auto b = extra.second != nullptr ? *extra.second
                 : digits_.size() > 1    ? buffers_.pass(1, o)
                                         : PingPong::Pass{};
  const bool last_keys = problem_.keys_out || digits.size() < digits_.size();
  const bool make_positions = a.make_positions && extra.list.bytes == 0;
  const Arg args[] = {{"keys_in", a.keys_in},
                      {"keys_a", a.keys_out},
                      {"keys_b", b.keys_out},
                      {"values_in", a.values_in},
                      {"values_a", a.values_out},
                      {"values_b", b.values_out},
                      {"starts", starts},
                      {"look", look_.in(o)},
                      {"marks", marks_.in(o)},
                      {"state", state},
                      {"in_place", std::uint32_t{o.in_place()}},
                      {"n", problem_.count},
                      {"shifts", shifts},
                      {"widths", widths},
                      {"passes", static_cast<std::uint32_t>(digits.size())},
                      {"values_are_positions", std::uint32_t{make_positions}},
                      {"last_keys", std::uint32_t{last_keys}},
                      {"ties", ties_.in(o)},
                      {"map", extra.map},
                      {"entries", extra.entries},
                      {"spread", extra.spread},
                      {"stretch", extra.stretch},
                      {"gate", gate.word},
                      {"gate_least", gate.least},
                      {"gate_most", gate.most},
                      {"list", extra.list},
                      {"rest_state", extra.rest_state}};
  queue.launch({kernel, shape.groups, shape.work_group, args, phase});
}

}  // namespace sortium
