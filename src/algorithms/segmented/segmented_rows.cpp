#include "segmented_rows.hpp"

#include <algorithm>
#include <bit>
#include <optional>

#include "embedded.hpp"

namespace sortium::segmented {
namespace {

// The most records of a row that one, two and four lanes sort. Four lanes have 32 or 64 items each.
// Limits with positions are lower: items need more registers then, and values more local memory.
// Fewer records a lane let enough work-groups share a compute unit. (docs/lab-notebook/segments.md)
struct Limits {
  unsigned one_lane, two_lanes, four_lanes;
};
constexpr Limits of_keys{64, 112, 256}, with_positions{24, 96, 128};
// With one or two lanes, a lane has a multiple of this many items, so that there are few kernels.
constexpr unsigned lane_step = 8;

// Bytes of segmented_rows_memory_t (segmented_rows.cl).
std::uint64_t rows_bytes(const Problem& p, const Capabilities& device, const RowsShape& s) {
  const std::uint64_t sub_group = std::min(device.sub_group_size, 32u),
                      slots = sub_group / s.lanes * (s.lanes * s.items.longest + 1);
  const std::uint64_t key = info(p.key).bytes, value = value_bytes(p),
                      record = s.values_wait ? std::max(key, value) : key + value,
                      source = s.items.composite ? 1 : 0, alignment_gaps = 24;
  return s.work_group / sub_group * (slots * (record + source) + alignment_gaps);
}

// Returns the shape of short rows. Returns none if rows are not short, local memory is too small,
// sub-groups have too few lanes, or a launch cannot have so many work-groups.
std::optional<RowsShape> short_rows(const Problem& p, const Capabilities& device) {
  RowsShape shape{.length = p.count / p.segments};
  // A lane sorts several tiny rows, as the parts of one row.
  constexpr unsigned tiny = 4, of_parts = 16;  // records of a tiny row, and of all parts at most
  shape.part = p.limit == 0 && p.stride == 1 && shape.length <= tiny
                   ? static_cast<unsigned>(shape.length)
                   : 0;
  if (shape.part != 0) shape.length = of_parts / shape.part * shape.part;
  // Floats in parts need positions: restore_tied() handles only whole rows.
  const bool composite = p.payload != Payload::none || key_bits(p) != info(p.key).bits() ||
                         info(p.key).bits() > 32 || (shape.part != 0 && info(p.key).is_float);
  const Limits limits = composite ? with_positions : of_keys;
  if (shape.length > limits.four_lanes) return {};
  shape.lanes = shape.length <= limits.one_lane ? 1 : shape.length <= limits.two_lanes ? 2 : 4;
  const std::uint64_t of_lane = ceil_div(shape.length, shape.lanes * lane_step) * lane_step;
  shape.items = {.longest = shape.lanes < 4       ? static_cast<unsigned>(of_lane)
                            : shape.length <= 128 ? 32u
                                                  : 64u,
                 .sort_bits = 32,
                 .composite = composite,
                 .gathers = composite};
  shape.values_wait = shape.lanes == 1 && value_bytes(p) == 4;
  const unsigned sub_group = std::min(device.sub_group_size, 32u);
  constexpr unsigned together = 8;  // records that a lane moves at once in segmented_rows.cl
  shape.by_rows = shape.lanes > 1 && composite && shape.items.longest <= 32 && p.stride == 1 &&
                  shape.lanes * shape.items.longest <= together * sub_group;
  if (sub_group < shape.lanes) return {};
  shape.work_group = std::max(std::min(device.max_work_group, 128u), sub_group);
  // Emulated sub-groups need a word for each work-item.
  const auto bytes = [&] { return rows_bytes(p, device, shape) + 4 * shape.work_group; };
  while (shape.work_group > sub_group && 4 * bytes() > device.local_struct) shape.work_group /= 2;
  constexpr std::uint64_t most_groups = 0x7fffffff;
  shape.stride = p.stride;
  shape.rounds = ceil_div(p.stride, sub_group / shape.lanes);
  shape.groups = p.stride == 1
                     ? ceil_div(p.count, shape.length * (shape.work_group / shape.lanes))
                     : ceil_div(p.segments / p.stride * shape.rounds, shape.work_group / sub_group);
  if (bytes() > device.local_struct || shape.groups > most_groups) return {};
  shape.bytes = rows_bytes(p, device, shape);
  // A compute unit holds as many work-items as it has registers for: for items, for values that
  // wait, and for the rest.
  constexpr unsigned all_registers = 1u << 16, most_work_items = 1024;
  const unsigned registers =
      shape.items.longest * (shape.values_wait ? 2 : 1) + (composite ? 32 : 16);
  const auto by_local = static_cast<unsigned>(device.local_struct / (shape.bytes + 1024));
  const unsigned by_registers =
      std::min(most_work_items, all_registers / registers) / shape.work_group;
  shape.resident = std::max(1u, std::min(by_registers, by_local));
  return shape;
}

class RowsSorter final : public Sorter {
 public:
  RowsSorter(const Problem& problem, const RowsShape& shape) : problem_(problem), shape_(shape) {}

  std::uint64_t scratch_bytes() const override { return 0; }
  std::string parameters() const override { return "variant=rows"; }
  std::uint64_t bytes_moved() const override { return bytes_of_passes(problem_, 1, 1); }

  // Neighbouring columns are read as rows are, if they fill most of the lanes.
  std::unique_ptr<Sorter> with_stride(const Problem& p, const Capabilities& device) const override {
    const auto shape = short_rows(p, device);
    constexpr std::uint64_t most_places = ~std::uint32_t{0};
    if (!shape || shape->length > most_places / p.stride) return nullptr;
    const std::uint64_t sub_group = std::min(device.sub_group_size, 32u);
    const bool is_wasteful = 3 * p.stride < 2 * shape->rounds * (sub_group / shape->lanes);
    return is_wasteful ? nullptr : std::make_unique<RowsSorter>(p, *shape);
  }

  void build(Device& device, const Capabilities& capabilities) override {
    using namespace kernels::embedded;
    const bool is_short = shape_.lanes != 0;
    module_ =
        is_short
            ? kernels::build(device, capabilities, {segmented_items_cl, segmented_rows_cl},
                             shape_.defines(problem_))
            : kernels::build(device, capabilities,
                             {segmented_lists_cl, segmented_ranks_cl, bins_cl,
                              segmented_block_bins_cl, segmented_block_sort_cl, segmented_block_cl},
                             shape_.defines(problem_));
    sort_ = module_->kernel(is_short ? "segmented_rows" : "segmented_block");
  }

  void enqueue(Queue& queue, const Operands& o) override {
    if (shape_.lanes != 0)
      sort_short(queue, o);
    else
      sort_blocks(queue, o);
  }

 private:
  [[nodiscard]] std::uint32_t length() const { return static_cast<std::uint32_t>(shape_.length); }
  [[nodiscard]] std::uint32_t wanted() const {
    return problem_.limit == 0 ? length() : static_cast<std::uint32_t>(problem_.limit);
  }

  void sort_short(Queue& queue, const Operands& o) const {
    constexpr std::uint32_t one = 1u << 24;  // ROW_SHIFT
    const auto inverse = [](std::uint32_t x) { return (one + x - 1) / x; };
    const Arg args[] = {{"keys_in", o.keys_in},
                        {"keys_out", o.keys_out},
                        {"values_in", o.values_in},
                        {"values_out", o.values_out},
                        {"n", problem_.count},
                        {"length", length()},
                        {"inverse", inverse(length())},
                        {"wanted", wanted()},
                        {"inverse_wanted", inverse(wanted())},
                        {"begin_bit", std::uint32_t{problem_.begin_bit}},
                        {"rank_mask", rank_mask(problem_)},
                        {"stride", static_cast<std::uint32_t>(shape_.stride)},
                        {"rounds", static_cast<std::uint32_t>(shape_.rounds)}};
    queue.launch({*sort_, shape_.groups, shape_.work_group, args, "rows"});
  }

  void sort_blocks(Queue& queue, const Operands& o) const {
    const Arg args[] = {{"keys_in", o.keys_in},
                        {"keys_spare", Memory{}},
                        {"keys_work", Memory{}},
                        {"keys_out", o.keys_out},
                        {"values_in", o.values_in},
                        {"values_spare", Memory{}},
                        {"values_out", o.values_out},
                        {"tasks", Memory{}},
                        {"length", Memory{}},
                        {"equal_segments", problem_.segments},
                        {"equal_length", length()},
                        {"wanted", wanted()},
                        {"begin_bit", std::uint32_t{problem_.begin_bit}},
                        {"rank_mask", rank_mask(problem_)},
                        {"others", Memory{}},
                        {"others_length", Memory{}}};
    queue.launch({*sort_, shape_.groups, shape_.block.work_group, args, "rows"});
  }

  Problem problem_;
  RowsShape shape_;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> sort_;
};

}  // namespace

kernels::Defines RowsShape::defines(const Problem& problem) const {
  if (lanes == 0) return block.defines(problem, lists);
  kernels::Defines d;
  d.problem(radix_problem(problem))
      .set("WG", work_group)
      .resident(resident, work_group)
      .set("SHORT", items.longest)
      .set("LANES", lanes)
      .set("PART", part)
      .set("BY_ROWS", int{by_rows})
      .set("STRIDED", int{stride != 1})
      .set("VALUES_WAIT", int{values_wait})
      .local_struct("segmented_rows_memory_t", bytes);
  set(d, items);
  return d;
}

std::optional<RowsShape> rows_shape(const Problem& problem, const Capabilities& device) {
  if (problem.segments == 0 || problem.count == 0 || problem.offset_bytes != 0 ||
      device.kind != DeviceKind::gpu)
    return {};
  RowsShape shape{.length = problem.count / problem.segments};
  if (problem.limit > shape.length) return {};
  if (const auto found = short_rows(problem, device)) return found;
  const auto block = row_block(problem, device, shape.length);
  if (!block) return {};
  shape.block = *block;
  shape.groups = std::min(problem.segments, std::uint64_t{block->resident} * device.compute_units);
  shape.lists = make_gpu_shape(problem, device, {}).lists;
  return shape;
}

std::unique_ptr<Sorter> make_rows_sorter(const Problem& problem, const RowsShape& shape) {
  return std::make_unique<RowsSorter>(problem, shape);
}

}  // namespace sortium::segmented
