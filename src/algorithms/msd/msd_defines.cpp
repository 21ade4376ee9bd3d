// The parameters of msd's kernels, from their dimensions.
#include <bit>

#include "../../kernels/kernels.hpp"
#include "../parts/bin_sort.hpp"
#include "../parts/radix_passes.hpp"
#include "msd_frequent.hpp"
#include "msd_shape.hpp"

namespace sortium::msd {
namespace {

// Sets the values of `skewed` that say that keys are mapped.
void set_verdicts(kernels::Defines& defines) {
  defines.set("VERDICT_MAPPED", RadixPasses::mapped).set("VERDICT_LISTED", RadixPasses::listed);
}

}  // namespace

kernels::Defines LocalSort::defines(const Problem& problem, const Shape& shape) const {
  const unsigned spread = shape.spread_bits;
  kernels::Defines defines;
  defines.problem(radix_problem(problem))
      .resident(resident, work_group)
      .set("VALUES_LATE", int{values_late})
      .set("GATHER_KEYS", int{gathers_keys(problem)})
      .set("KEEP_KEYS", int{keep_keys})
      .set("SPREAD_BITS", spread)
      .set("ONE_LEAD", int{spread != 0 && shape.bits >= spread})
      .set("STRETCHES", int{shape.stretch.possible})
      .set("SETS_ASIDE", shape.aside_tile)
      .set("CLASS_DIGITS", shape.class_digits)
      .set("CELLS", shape.tiles.cells)
      .local_struct(shape.tiles.cells != 0 ? "local_or_cells_t" : "msd_local_memory_t", bytes);
  if (shape.equalizer.possible()) {
    shape.equalizer.set(defines);
    set_verdicts(defines);
  }
  if (shape.tiles.cells != 0) defines.set("VERDICT_MAPPED", RadixPasses::mapped);
  BinSortParameters{.work_group = work_group,
                    .items = items,
                    .sort_bits = sort_bits,
                    .with_positions = sorts_positions(problem),
                    .position_bits = position_bits,
                    .bin_shift = bin_shift,
                    .bin_share = bin_share,
                    .bins_by_place = bins_by_place}
      .set(defines);
  return defines;
}

kernels::Defines LocalSort::mapped_defines(const Problem& problem, const Shape& shape) const {
  kernels::Defines defines;
  defines.problem(radix_problem(problem))
      .resident(resident, work_group)
      .set("VALUES_LATE", int{values_late})
      .set("JOINED", joined)
      .set("SHARES", shares)
      .local_struct("msd_mapped_memory_t", bytes);
  shape.map.set(defines);
  set_verdicts(defines);
  BinSortParameters{.work_group = work_group,
                    .items = items,
                    .sort_bits = sort_bits,
                    .with_positions = sorts_positions(problem),
                    .position_bits = 0,
                    .bin_shift = sort_bits - 1,
                    .refines = true}
      .set(defines);
  return defines;
}

kernels::Defines TilePartition::defines(const Problem& problem) const {
  kernels::Defines defines;
  defines.problem(radix_problem(problem))
      .set("COUNT_WG", count_work_group)
      .set("COUNT_ITEMS", tile_count_items)
      .set("CELLS", cells)
      .set("WG", work_group)
      .set("ITEMS", items)
      .local_struct("msd_tile_memory_t", bytes);
  return defines;
}

kernels::Defines KeyPartition::defines(const Problem& problem, const Shape& shape) const {
  kernels::Defines defines;
  defines.problem(radix_problem(problem))
      .set("WG", work_group)
      .set("ITEMS", items)
      .resident(resident, work_group)
      .set("RUN", run)
      .set("SECTOR_BYTES", sector_bytes)
      .set("SPREAD_BITS", mapped ? 0 : shape.spread_bits)
      .set("STRETCHES", int{!mapped && !equalized && shape.stretch.possible})
      .set("SETS_ASIDE", sets_aside ? shape.aside_tile : 0)
      .set("CLASS_DIGITS", sets_aside || mapped || equalized ? 0 : shape.class_digits)
      .set("MAP_LOCAL", int{local_map})
      .local_struct("msd_partition_memory_t", bytes);
  (mapped ? shape.map : KeyMap{}).set(defines);
  (equalized ? shape.equalizer : Equalizer{}).set(defines);
  set_verdicts(defines);
  return defines;
}

kernels::Defines CountShape::defines(const Problem& problem, const Shape& shape) const {
  kernels::Defines defines;
  defines.problem(radix_problem(problem))
      .set("WG", work_group)
      .resident(resident, work_group)
      .set("ITEMS", count_items)
      .set("START_WG", count_work_group)
      .set("SAMPLES", judged / work_group)
      .set("GATHERED", sampled / work_group)
      .set("LISTS", int{shape.lists_overfull()})
      .set("ITEM_BITS", sorts_positions(problem) ? shape.mapped_local.sort_bits : 0)
      .set("TIES_MATTER", int{has_classes(problem) && !sorts_positions(problem)})
      .set("BUCKETS", shape.buckets())
      .set("COUNT_BITS", bits)
      .set("COUNT_WORDS", words)
      .set("TELLS_REPEATS", int{tells_repeats})
      .set("FREQUENT", shape.frequent.samples != 0 ? FrequentKeys::verdict : 0)
      .set("FREQUENT_LEAST", judged / (shape.frequent.encodes         ? 3
                                       : info(problem.key).bytes == 8 ? 5
                                                                      : 4))
      .set("FREQUENT_ALL", judged / 5 * 4)
      .set("FREQUENT_SINGLES", shape.frequent.most_singles(judged))
      .set("FEW_DIGITS", tells_few_digits ? RadixPasses::few_digits : 0)
      .set("SPREAD_BITS", shape.spread_bits)
      .set("STRETCHES", int{shape.stretch.possible})
      .set("STRETCH_MOST", shape.stretch.most)
      .set("STRETCH_DIGITS", stretch_digits)
      .set("MAP_DIGITS", map_digits)
      .set("BUCKET_BITS", shape.bits)
      .set("SETS_ASIDE", shape.aside_tile)
      .set("CLASS_DIGITS", shape.class_digits)
      .set("EQUALIZED_BINS", sorts_positions(problem) ? 0 : std::bit_width(shape.local.bins()) - 1)
      .local_struct("msd_count_memory_t", bytes);
  shape.map.set(defines);
  shape.equalizer.set(defines);
  set_verdicts(defines);
  return defines;
}

}  // namespace sortium::msd
