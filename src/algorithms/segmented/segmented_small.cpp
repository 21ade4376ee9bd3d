#include "segmented_small.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "embedded.hpp"

namespace sortium::segmented {
namespace {

// Above, the other variants' launches cost less than this one's merges.
constexpr std::uint64_t most_records = std::uint64_t{1} << 17;
// A work-group reads the offsets of all segments that begin in its share, empty ones among them.
constexpr std::uint64_t most_segments = std::uint64_t{1} << 17;
constexpr unsigned default_piece = 1024, least_share = 64;

// Bytes of segmented_small_memory_t with a number of work-items, and of records for each.
std::uint64_t small_bytes(const Problem& p, const Capabilities& device, unsigned work_group,
                          unsigned items) {
  const std::uint64_t ranks = 2 * info(p.key).bytes, sources = composite(p) ? 2 * 2 : 0,
                      notes_and_pieces = 2 * 4, alignment_gaps = 64, found = 9 * 4;
  return std::uint64_t{work_group} * items * (ranks + sources + notes_and_pieces) +
         kernels::scan_bytes(p, device, work_group) + 4 * (work_group + 1) + found + alignment_gaps;
}

// The most work-items that local memory allows; 0 if it allows none.
unsigned work_group_for(const Problem& p, const Capabilities& device) {
  unsigned work_group = std::bit_floor(std::min(device.max_work_group, 1024u));
  while (work_group != 0 && small_bytes(p, device, work_group, 1) > device.local_struct)
    work_group /= 2;
  return work_group;
}

// find_segments in segmented_small.cl takes a sample for each work-item, and then a work-item for
// each segment near the sample.
std::uint64_t segments_found(const Problem& p, const Capabilities& device) {
  const std::uint64_t samples = work_group_for(p, device);
  return std::min(most_segments, samples * samples);
}

class SmallSorter final : public Sorter {
 public:
  SmallSorter(const Problem& problem, SmallShape shape) : problem_(problem), shape_(shape) {
    if (!shape_.merges(problem)) return;
    keys_spare_ = scratch_.add(problem.count * info(problem.key).bytes);
    ranks_spare_ = scratch_.add(keys_spare_.bytes);
    if (problem.payload != Payload::none)
      values_spare_ = scratch_.add(problem.count * problem.value_bytes);
  }

  std::uint64_t scratch_bytes() const override { return scratch_.bytes(); }
  std::string parameters() const override {
    return fmt::format("variant=small,piece={}", shape_.piece);
  }
  std::uint64_t bytes_moved() const override { return bytes_of_passes(problem_, 1, 1); }

  void build(Device& device, const Capabilities& capabilities) override {
    using namespace kernels::embedded;
    module_ = kernels::build(device, capabilities, {offsets_cl, segmented_small_cl},
                             shape_.defines(problem_));
    sort_ = module_->kernel("segmented_small_sort");
    merge_ = module_->kernel("segmented_small_merge");
  }

  void enqueue(Queue& queue, const Operands& o) override {
    const auto spare = [&](const ScratchLayout::Slice& s) {
      return s.bytes == 0 ? Memory{} : s.in(o);
    };
    const Memory keys_spare = spare(keys_spare_), ranks_spare = spare(ranks_spare_),
                 values_spare = spare(values_spare_);
    const std::uint64_t groups = ceil_div(problem_.count, shape_.share);
    const auto segments = static_cast<std::uint32_t>(problem_.segments),
               n = static_cast<std::uint32_t>(problem_.count),
               length = static_cast<std::uint32_t>(problem_.count / problem_.segments),
               share = static_cast<std::uint32_t>(shape_.share);
    const Arg sort_args[] = {{"keys_in", o.keys_in},
                             {"keys_out", o.keys_out},
                             {"keys_spare", keys_spare},
                             {"ranks_spare", ranks_spare},
                             {"values_in", o.values_in},
                             {"values_out", o.values_out},
                             {"values_spare", values_spare},
                             {"offsets", o.offsets},
                             {"length", length},
                             {"segments", segments},
                             {"n", n},
                             {"share", share}};
    queue.launch({*sort_, groups, shape_.work_group, sort_args, "pieces"});
    if (!shape_.merges(problem_)) return;
    const Arg merge_args[] = {{"keys_spare", keys_spare},
                              {"ranks_spare", ranks_spare},
                              {"values_spare", values_spare},
                              {"keys_out", o.keys_out},
                              {"values_out", o.values_out},
                              {"offsets", o.offsets},
                              {"length", length},
                              {"segments", segments},
                              {"n", n},
                              {"share", share}};
    queue.launch({*merge_, groups, shape_.work_group, merge_args, "merge"});
  }

 private:
  Problem problem_;
  SmallShape shape_;
  ScratchLayout scratch_;
  ScratchLayout::Slice keys_spare_, ranks_spare_, values_spare_;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> sort_, merge_;
};

}  // namespace

kernels::Defines SmallShape::defines(const Problem& problem) const {
  kernels::Defines d;
  d.problem(problem)
      .set("OFFSET_BITS", 8 * problem.offset_bytes)
      .set("WG", work_group)
      .set("ITEMS", items)
      .set("PIECE", piece)
      .set("GATHERS", int{gathers})
      .local_struct("segmented_small_memory_t", bytes);
  return d;
}

bool is_small(const Problem& problem, const Capabilities& device) {
  return device.kind == DeviceKind::gpu && problem.count <= most_records &&
         problem.segments <= segments_found(problem, device);
}

SmallShape make_small_shape(const Problem& problem, const Capabilities& device,
                            const Parameters& given) {
  const auto refuse = [](const std::string& why) -> void {
    throw Error(ErrorCode::unsupported, "segmented: " + why);
  };
  SmallShape shape{.work_group = work_group_for(problem, device), .gathers = composite(problem)};
  const std::uint64_t segments = segments_found(problem, device);
  if (shape.work_group == 0)
    refuse(
        fmt::format("variant=small needs more than {} bytes of local memory", device.local_struct));
  if (problem.count > most_records || problem.segments == 0 || problem.segments > segments)
    refuse(fmt::format("variant=small sorts up to {} records in up to {} segments, not {} in {}",
                       most_records, segments, problem.count, problem.segments));
  shape.piece = static_cast<unsigned>(given.number("piece", default_piece));
  if (!std::has_single_bit(shape.piece))
    refuse(fmt::format("piece={} is not a power of two", shape.piece));
  for (;; shape.piece /= 2) {
    // A work-group's pieces begin in its share; the last one may extend over the share's end.
    shape.items = static_cast<unsigned>(ceil_div(shape.piece + shape.piece / 2, shape.work_group));
    shape.bytes = small_bytes(problem, device, shape.work_group, shape.items);
    if (shape.bytes <= device.local_struct) break;
    if (given.has("piece"))
      refuse(fmt::format("piece={} needs {} bytes of local memory; the device has {}", shape.piece,
                         shape.bytes, device.local_struct));
  }
  const std::uint64_t most_share =
      std::min(shape.piece, shape.work_group * shape.items - shape.piece);
  const std::uint64_t even_share =
      ceil_div(std::max<std::uint64_t>(problem.count, 1), std::max(device.compute_units, 1u));
  shape.share = std::min(std::max<std::uint64_t>(even_share, least_share), most_share);
  return shape;
}

std::unique_ptr<Sorter> make_small_sorter(const Problem& problem, SmallShape shape) {
  return std::make_unique<SmallSorter>(problem, shape);
}

}  // namespace sortium::segmented
