#include "segmented_rows.hpp"

#include <fmt/format.h>

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
constexpr unsigned lane_step =
    8;  // otherwise a multiple of this many, so that there are few kernels

std::uint64_t value_bytes(const Problem& p) {
  return p.payload == Payload::none ? 0 : p.value_bytes;
}

// Bytes of segmented_rows_memory_t (segmented_rows.cl).
std::uint64_t rows_bytes(const Problem& p, const Capabilities& device, const RowsShape& s) {
  const std::uint64_t sub_group = std::min(device.sub_group_size, 32u),
                      slots = sub_group / s.lanes * (s.lanes * s.items.longest + 1);
  const std::uint64_t key = info(p.key).bytes, value = value_bytes(p),
                      record = s.values_wait ? std::max(key, value) : key + value,
                      source = s.items.composite ? 1 : 0, alignment_gaps = 24;
  return s.work_group / sub_group * (slots * (record + source) + alignment_gaps);
}

// Work-groups that sort all short rows.
std::uint64_t groups_of(const Problem& p, const RowsShape& s) {
  return ceil_div(p.count, s.length * (s.work_group / s.lanes));
}

// Returns the shape of short rows; none if rows are not short, local memory has too little room for
// them, or they need too many work-groups for a launch.
std::optional<RowsShape> short_rows(const Problem& p, const Capabilities& device) {
  RowsShape shape{.length = p.count / p.segments};
  // A lane sorts several tiny rows, as the parts of one row.
  constexpr unsigned tiny = 4, of_parts = 16;  // records of a tiny row, and of all parts at most
  shape.part = p.limit == 0 && shape.length <= tiny ? static_cast<unsigned>(shape.length) : 0;
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
  shape.by_rows = shape.lanes > 1 && composite && shape.items.longest <= 32 &&
                  shape.lanes * shape.items.longest <= together * sub_group;
  if (sub_group < shape.lanes) return {};
  shape.work_group = std::max(std::min(device.max_work_group, 128u), sub_group);
  // Emulated sub-groups need a word for each work-item.
  const auto bytes = [&] { return rows_bytes(p, device, shape) + 4 * shape.work_group; };
  while (shape.work_group > sub_group && 4 * bytes() > device.local_struct) shape.work_group /= 2;
  constexpr std::uint64_t most_groups = 0x7fffffff;
  if (bytes() > device.local_struct || groups_of(p, shape) > most_groups) return {};
  shape.bytes = rows_bytes(p, device, shape);
  // As many work-items as have registers for the items, for values that wait, and for the rest.
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
  RowsSorter(const Problem& problem, const Capabilities& device)
      : problem_(problem),
        shape_(make_rows_shape(problem, device)),
        compute_units_(device.compute_units) {}

  std::uint64_t scratch_bytes() const override { return 0; }
  std::string parameters() const override { return "variant=rows"; }
  std::uint64_t bytes_moved() const override { return bytes_of_passes(problem_, 1, 1); }

  void build(Device& device, const Capabilities& capabilities) override {
    using namespace kernels::embedded;
    const bool is_short = shape_.lanes != 0;
    module_ = is_short
                  ? kernels::build(device, capabilities, {segmented_items_cl, segmented_rows_cl},
                                   shape_.defines(problem_))
                  : kernels::build(device, capabilities,
                                   {segmented_lists_cl, bins_cl, segmented_block_cl},
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
  [[nodiscard]] std::uint64_t mask() const {
    return ~std::uint64_t{0} >> (64 - key_bits(problem_));
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
                        {"rank_mask", mask()}};
    const std::uint64_t groups = groups_of(problem_, shape_);
    queue.launch({*sort_, groups, shape_.work_group, args, "rows"});
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
                        {"equal", problem_.segments},
                        {"equal_length", length()},
                        {"wanted", wanted()},
                        {"begin_bit", std::uint32_t{problem_.begin_bit}},
                        {"rank_mask", mask()},
                        {"others", Memory{}},
                        {"others_length", Memory{}}};
    const Block& block = shape_.block;
    const auto groups =
        std::min<std::uint64_t>(problem_.segments, std::uint64_t{block.resident} * compute_units_);
    queue.launch({*sort_, groups, block.work_group, args, "rows"});
  }

  Problem problem_;
  RowsShape shape_;
  unsigned compute_units_;
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
      .set("VALUES_WAIT", int{values_wait})
      .local_struct("segmented_rows_memory_t", bytes);
  set(d, items);
  return d;
}

bool are_rows(const Problem& problem, const Capabilities& device) {
  if (problem.segments == 0 || problem.count == 0 || problem.offset_bytes != 0 ||
      device.kind != DeviceKind::gpu)
    return false;
  const std::uint64_t length = problem.count / problem.segments;
  if (problem.limit > length) return false;
  return short_rows(problem, device).has_value() || row_block(problem, device, length).has_value();
}

RowsShape make_rows_shape(const Problem& problem, const Capabilities& device) {
  if (!are_rows(problem, device))
    throw Error(ErrorCode::unsupported,
                fmt::format("segmented: variant=rows sorts segments of equal length, without "
                            "offsets, that fit a work-group of a GPU; {} segments of {} records "
                            "in all do not",
                            problem.segments, problem.count));
  if (auto shape = short_rows(problem, device)) return *shape;
  RowsShape shape{.length = problem.count / problem.segments};
  shape.block = *row_block(problem, device, shape.length);
  shape.lists = make_gpu_shape(problem, device, {}).lists;
  return shape;
}

std::unique_ptr<Sorter> make_rows_sorter(const Problem& problem, const Capabilities& device) {
  return std::make_unique<RowsSorter>(problem, device);
}

}  // namespace sortium::segmented
