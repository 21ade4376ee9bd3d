#include "segmented_small.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <span>
#include <vector>

#include "embedded.hpp"

namespace sortium::segmented {
namespace {

// Above, the other variants' launches cost less than this one's merges.
constexpr std::uint64_t most_records = std::uint64_t{1} << 17;
// A work-group reads the offsets of all segments that begin in its share, empty ones among them.
constexpr std::uint64_t most_segments = std::uint64_t{1} << 17;
constexpr unsigned least_share = 64;        // records of a work-group
constexpr std::uint64_t short_most = 1024;  // bins sort longer segments in less time
constexpr unsigned samples_of_item = 2;     // offsets that a work-item samples at once
// Sorts of pieces, from the fastest to the one for the longest segments.
struct PieceSort {
  unsigned work_group, items;  // work-items; records of each
};
constexpr std::array piece_sorts{PieceSort{512, 9}, PieceSort{1024, 9}, PieceSort{1024, 19}};
constexpr PieceSort only_piece_sort{1024, 9};  // on devices without a compiler
constexpr std::uint64_t alignment_gaps = 64;

// Bytes of shorts_t in segmented_small.cl with so many records.
std::uint64_t shorts_bytes(const Problem& p, const Capabilities& device, unsigned work_group,
                           std::uint64_t records) {
  const std::uint64_t ranks = 2 * info(p.key).bytes, sources = composite(p) ? 2 * 2 : 0,
                      notes_and_words = 2 * 4;
  return records * (ranks + sources + notes_and_words) +
         kernels::scan_bytes(p, device, work_group) + alignment_gaps;
}

// Bytes of found_t.
std::uint64_t found_bytes(unsigned work_group) {
  return 4 * (samples_of_item * work_group + 9) + alignment_gaps;
}

// Local memory of each of `resident` work-groups that share a compute unit. Emulated sub-groups
// need a word for each work-item.
std::uint64_t available_bytes(const Capabilities& device, unsigned work_group, unsigned resident) {
  const std::uint64_t of_one = device.local_struct / resident,
                      others = 4 * work_group + (resident > 1 ? 1024 : 0);
  return of_one > others ? of_one - others : 0;
}

// Returns the sort of pieces; none if local memory does not hold them.
std::optional<Block> piece_block(const Problem& p, const Capabilities& device, unsigned work_group,
                                 unsigned items) {
  auto block = make_block(p, device, work_group, items, false);
  if (!block) return {};
  const std::uint64_t bytes = block->bytes + found_bytes(work_group);
  while (block->resident > 1 && bytes > available_bytes(device, work_group, block->resident))
    --block->resident;
  if (bytes > available_bytes(device, work_group, block->resident)) return {};
  return block;
}

// The most work-items that local memory allows; 0 if it allows none.
unsigned work_group_for(const Problem& p, const Capabilities& device) {
  const unsigned least = std::max(device.sub_group_size, 32u);
  unsigned work_group = std::bit_floor(std::min(device.max_work_group, 1024u));
  while (work_group >= least && !piece_block(p, device, work_group, piece_sorts[0].items))
    work_group /= 2;
  return work_group >= least ? work_group : 0;
}

std::uint64_t capacity(const Block& block) { return std::uint64_t{block.work_group} * block.items; }

// Returns the fastest sort of pieces of `piece` records. If that is 0, the fastest that sorts all
// records at once, so that nothing is merged; or else segments somewhat longer than the average.
Block choose_block(const Problem& p, const Capabilities& device, unsigned largest_work_group,
                   std::uint64_t piece) {
  std::vector<Block> blocks;
  for (const auto [work_group, items] :
       device.compiles ? std::span(piece_sorts) : std::span(&only_piece_sort, 1))
    if (const auto block = piece_block(p, device, std::min(work_group, largest_work_group), items))
      blocks.push_back(*block);
  const bool one_fits_all = p.count <= capacity(blocks.back());
  const auto is_enough = [&](const Block& block) {
    if (piece != 0) return piece <= capacity(block);
    const bool is_largest = block.work_group == largest_work_group;
    // find_segments in segmented_small.cl needs one step if there is a sample for each segment.
    if (!is_largest && p.segments > samples_of_item * block.work_group) return false;
    if (one_fits_all) return p.count <= capacity(block);
    const std::uint64_t average = p.count / p.segments;
    // Short segments are sorted in less time if each record has its own work-item.
    if (!is_largest && average > block.work_group && average <= short_most) return false;
    return average <= (is_largest ? capacity(block) : capacity(block) * 2 / 3);
  };
  for (const auto& block : blocks)
    if (is_enough(block)) return block;
  return blocks[std::min<std::size_t>(1, blocks.size() - 1)];  // segments have several pieces
}

// find_segments in segmented_small.cl takes samples, and then a work-item for each segment near a
// sample.
std::uint64_t segments_found(const Problem& p, const Capabilities& device) {
  const std::uint64_t work_group = work_group_for(p, device);
  return std::min(most_segments, samples_of_item * work_group * work_group);
}

// Chooses short segments, the share, and local memory for shape.block and shape.piece. If shares
// may be long enough, each compute unit has one work-group. With several, some compute units would
// sort two segments while others have none.
void choose_share(const Problem& p, const Capabilities& device, SmallShape& shape) {
  const unsigned work_group = shape.block.work_group;
  const std::uint64_t even_share =
      std::max<std::uint64_t>(ceil_div(p.count, std::max(device.compute_units, 1u)), least_share);
  std::uint64_t most = std::min<std::uint64_t>(short_most, shape.piece);
  if (even_share <= most) shape.block.resident = 1;
  const std::uint64_t available =
      available_bytes(device, work_group, shape.block.resident) - found_bytes(work_group);
  for (;; most /= 2) {
    shape.share = std::min(even_share, most);
    shape.short_items = static_cast<unsigned>(ceil_div(2 * most, work_group));
    shape.bytes = shorts_bytes(p, device, work_group, work_group * shape.short_items);
    if (shape.bytes <= available) break;
  }
  shape.short_most = static_cast<unsigned>(most);
  // A work-item searches up to four pieces at once.
  const std::uint64_t piece_bytes = shape.piece * info(p.key).bytes;
  shape.together = static_cast<unsigned>(std::clamp<std::uint64_t>(available / piece_bytes, 1, 4));
  shape.bytes = std::max({shape.bytes, shape.block.bytes, shape.together * piece_bytes}) +
                found_bytes(work_group);
}

class SmallSorter final : public Sorter {
 public:
  SmallSorter(const Problem& problem, SmallShape shape) : problem_(problem), shape_(shape) {
    if (!shape_.merges(problem)) return;
    edges_ = scratch_.add(16 * ceil_div(problem.count, shape_.share));
    keys_spare_ = scratch_.add(problem.count * info(problem.key).bytes);
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
    module_ = kernels::build(device, capabilities,
                             {segmented_ranks_cl, bins_cl, segmented_block_bins_cl,
                              segmented_block_sort_cl, segmented_small_cl},
                             shape_.defines(problem_));
    sort_ = module_->kernel("segmented_small_sort");
    merge_ = module_->kernel("segmented_small_merge");
  }

  void enqueue(Queue& queue, const Operands& o) override {
    const auto spare = [&](const ScratchLayout::Slice& s) {
      return s.bytes == 0 ? Memory{} : s.in(o);
    };
    const Memory keys_spare = spare(keys_spare_), values_spare = spare(values_spare_),
                 edges = spare(edges_);
    const std::uint64_t groups = ceil_div(problem_.count, shape_.share);
    const auto segments = static_cast<std::uint32_t>(problem_.segments),
               n = static_cast<std::uint32_t>(problem_.count), words = problem_.offset_bytes / 4,
               length = static_cast<std::uint32_t>(problem_.count / problem_.segments),
               share = static_cast<std::uint32_t>(shape_.share), begin_bit = problem_.begin_bit;
    const Arg sort_args[] = {{"keys_in", o.keys_in},
                             {"keys_out", o.keys_out},
                             {"keys_spare", keys_spare},
                             {"values_in", o.values_in},
                             {"values_out", o.values_out},
                             {"values_spare", values_spare},
                             {"edges", edges},
                             {"offsets", o.offsets},
                             {"words", words},
                             {"length", length},
                             {"segments", segments},
                             {"n", n},
                             {"share", share},
                             {"begin_bit", begin_bit},
                             {"rank_mask", rank_mask(problem_)}};
    queue.launch({*sort_, groups, shape_.block.work_group, sort_args, "pieces"});
    if (!shape_.merges(problem_)) return;
    const Arg merge_args[] = {{"keys_spare", keys_spare},
                              {"values_spare", values_spare},
                              {"keys_out", o.keys_out},
                              {"values_out", o.values_out},
                              {"edges", edges},
                              {"n", n},
                              {"share", share},
                              {"begin_bit", begin_bit},
                              {"rank_mask", rank_mask(problem_)}};
    queue.launch({*merge_, groups, shape_.block.work_group, merge_args, "merge"});
  }

 private:
  Problem problem_;
  SmallShape shape_;
  ScratchLayout scratch_;
  ScratchLayout::Slice keys_spare_, values_spare_, edges_;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> sort_, merge_;
};

}  // namespace

kernels::Defines SmallShape::defines(const Problem& problem) const {
  kernels::Defines d;
  d.problem(radix_problem(problem))
      .set("SAMPLES", samples_of_item)
      .set("SHORT", short_most)
      .set("SHORT_ITEMS", short_items)
      .set("WHOLE", whole)
      .set("PIECE", piece)
      .set("TOGETHER", together)
      .set("GATHERS", int{gathers})
      .local_struct("segmented_small_memory_t", bytes);
  block.set(d);
  d.resident(block.resident, block.work_group);
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
  const unsigned work_group = work_group_for(problem, device);
  if (work_group == 0)
    refuse(
        fmt::format("variant=small needs more than {} bytes of local memory", device.local_struct));
  const std::uint64_t segments = segments_found(problem, device);
  if (problem.count > most_records || problem.segments == 0 || problem.segments > segments)
    refuse(fmt::format("variant=small sorts up to {} records in up to {} segments, not {} in {}",
                       most_records, segments, problem.count, problem.segments));
  const auto piece = static_cast<unsigned>(given.number("piece", 0));
  SmallShape shape{.block = choose_block(problem, device, work_group, piece),
                   .gathers = composite(problem)};
  const auto most = static_cast<unsigned>(capacity(shape.block));
  if (piece != 0 && !std::has_single_bit(piece))
    refuse(fmt::format("piece={} is not a power of two", piece));
  if (piece > most)
    refuse(
        fmt::format("piece={} is more than the {} records that local memory holds", piece, most));
  shape.whole = piece != 0 ? piece : most;
  shape.piece = std::bit_floor(shape.whole);
  choose_share(problem, device, shape);
  return shape;
}

std::unique_ptr<Sorter> make_small_sorter(const Problem& problem, SmallShape shape) {
  return std::make_unique<SmallSorter>(problem, shape);
}

}  // namespace sortium::segmented
