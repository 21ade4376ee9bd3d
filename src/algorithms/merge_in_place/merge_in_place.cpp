// Merge sort with bounded scratch memory. The algorithm that "auto" selects for a chunk sorts one
// chunk after the other, with scratch memory for one chunk. Then the sorted chunks are merged in
// place: Kim, Kutzner, "Stable Minimum Storage Merging by Symmetric Comparisons" (2004).
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "../../kernels/kernels.hpp"
#include "../catalog.hpp"
#include "chunks.hpp"
#include "embedded.hpp"

namespace sortium {
namespace {

// What merge_in_place.cl is specialised for.
struct MergeInPlaceParameters {
  unsigned work_group;  // work-items of a work-group
  std::uint64_t tile;   // records of a segment that is merged in local memory, a power of two

  [[nodiscard]] kernels::Defines defines(const Problem& problem) const {
    return kernels::Defines().problem(problem).set("WG", work_group).set("TILE", tile);
  }
};

class MergeInPlaceSorter final : public Sorter {
 public:
  MergeInPlaceSorter(const Problem& problem, const Capabilities& device, const Parameters& given)
      : problem_(problem) {
    work_group_ = std::bit_floor(
        std::min(device.max_work_group, device.kind == DeviceKind::cpu ? 64u : 256u));
    const std::uint64_t record =
        info(problem.key).bytes + (problem.payload == Payload::none ? 0 : problem.value_bytes);
    const std::uint64_t most = std::bit_floor(device.local_memory / record);
    tile_ = given.number("tile", std::min<std::uint64_t>(most, 1024));
    chunk_ = given.number("chunk", std::max(tile_, std::bit_ceil(ceil_div(problem.count, 8))));
    for (const auto& [name, value] : {std::pair{"tile", tile_}, {"chunk", chunk_}})
      if (!std::has_single_bit(value))
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("merge-in-place: {}={} is not a power of two", name, value));
    if (tile_ > most)
      throw Error(ErrorCode::unsupported,
                  fmt::format("merge-in-place: tile={} needs {} bytes of local memory; the device "
                              "has {}",
                              tile_, tile_ * record, device.local_memory));
    if (chunk_ < tile_)
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("merge-in-place: chunk={} is less than a tile's {} records", chunk_, tile_));

    chunks_ = std::make_unique<Chunks>(problem, chunk_, layout_, [&](const Problem& part) {
      return plan_auto(part, device).sorter;
    });
    if (problem.count > chunk_)
      for (auto& b : bounds_)
        b = layout_.add((ceil_div(problem.count, tile_) + 2) * kernels::index_bytes(problem.count));
  }

  std::uint64_t scratch_bytes() const override { return layout_.bytes(); }
  std::string parameters() const override { return fmt::format("chunk={},tile={}", chunk_, tile_); }

  void build(Device& device, const Capabilities& capabilities) override {
    chunks_->build(device, capabilities);
    const MergeInPlaceParameters parameters{.work_group = work_group_, .tile = tile_};
    module_ = kernels::build(device, capabilities, kernels::embedded::merge_in_place_cl,
                             parameters.defines(problem_));
    positions_ = module_->kernel("merge_in_place_positions");
    split_ = module_->kernel("merge_in_place_split");
    reverse_ = module_->kernel("merge_in_place_reverse");
    merge_tile_ = module_->kernel("merge_in_place_tile");
  }

  void enqueue(Queue& queue, const Operands& o) override {
    const std::uint64_t n = problem_.count;
    const Memory keys = chunks_->keys(o), values = o.values_out;
    chunks_->copy_input(queue, o);
    if (problem_.payload == Payload::positions) {
      const Arg args[] = {{"values", values}, {"n", n}};
      queue.launch({*positions_, groups(n), work_group_, args, "positions"});
    }
    chunks_->sort(queue, o);
    for (std::uint64_t run = chunk_; run < n; run *= 2) {
      Memory bounds = bounds_[0].in(o), halves = bounds_[1].in(o);
      for (std::uint64_t length = 2 * run; length > tile_; length /= 2) {
        const Arg split[] = {
            {"keys", keys},     {"bounds", bounds},
            {"halves", halves}, {"n", n},
            {"length", length}, {"run", length == 2 * run ? run : std::uint64_t{0}}};
        queue.launch({*split_, groups(ceil_div(n, length)), work_group_, split, "split"});
        for (const std::uint32_t whole : {0u, 1u}) {
          const Arg reverse[] = {{"keys", keys},     {"values", values}, {"bounds", bounds},
                                 {"halves", halves}, {"n", n},           {"length", length},
                                 {"whole", whole}};
          queue.launch({*reverse_, groups(n), work_group_, reverse, "rotate"});
        }
        std::swap(bounds, halves);
      }
      const Arg merge[] = {{"keys", keys}, {"values", values}, {"bounds", bounds}, {"n", n}};
      queue.launch({*merge_tile_, ceil_div(n, tile_), work_group_, merge, "merge"});
    }
  }

 private:
  [[nodiscard]] std::uint64_t groups(std::uint64_t work_items) const {
    return ceil_div(work_items, work_group_);
  }

  Problem problem_;
  unsigned work_group_ = 0;
  std::uint64_t tile_ = 0, chunk_ = 0;
  ScratchLayout layout_;
  std::unique_ptr<Chunks> chunks_;
  ScratchLayout::Slice bounds_[2];
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> positions_, split_, reverse_, merge_tile_;
};

class MergeInPlace final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "merge-in-place",
        .title =
            "merge sort in place: chunks by the fast sort, merged by rotations; scratch memory for "
            "one chunk",
        .source = "Kim, Kutzner 2004",
        .stable = true,
        .comparison = true,
        .cost =
            "a sort of each chunk, then log2(N/chunk) merges, each of up to log2(N/tile) splits "
            "that read and write the records on the wrong side twice; 3 launches a split",
        .parameters = {{"chunk",
                        "records that are sorted together, in scratch memory; a power of two",
                        1,
                        std::uint64_t{1} << 40,
                        {}},
                       {"tile",
                        "records that a work-group merges in local memory; a power of two",
                        2,
                        1u << 16,
                        {}}}};
    return info;
  }

  bool trades_memory() const override { return true; }

  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    return std::make_unique<MergeInPlaceSorter>(problem, device, given);
  }
};

}  // namespace

const Algorithm& catalog::merge_in_place() {
  static const MergeInPlace algorithm;
  return algorithm;
}

}  // namespace sortium
