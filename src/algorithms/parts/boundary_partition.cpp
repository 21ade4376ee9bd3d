#include "boundary_partition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "../../kernels/kernels.hpp"
#include "embedded.hpp"

namespace sortium {
namespace {

// What tile_ranks.cl and boundary_partition.cl are specialised for.
struct PartitionParameters {
  unsigned work_group;  // work-items of a work-group, a power of two
  unsigned items;       // records of a work-item in a tile
  unsigned resident;    // work-groups that share a compute unit
  unsigned digit_bits;  // log2 of the number of buckets

  [[nodiscard]] kernels::Defines defines(const Problem& problem) const {
    return kernels::Defines()
        .problem(problem)
        .set("WG", work_group)
        .set("ITEMS", items)
        .resident(resident, work_group)
        .set("DIGIT_BITS", digit_bits);
  }
};

std::uint64_t record_bytes(const Problem& p) {
  return info(p.key).bytes + (p.payload == Payload::none ? 0 : p.value_bytes);
}

}  // namespace

// There are kernels for 4, 8, 16, 32 and 256 buckets: fewer buckets are found and counted faster.
unsigned BoundaryPartition::boundaries_of_kernels(std::uint64_t boundaries) {
  for (const unsigned buckets : {4u, 8u, 16u, 32u})
    if (boundaries < buckets) return buckets - 1;
  return max_boundaries;
}

BoundaryPartition::BoundaryPartition(const Problem& problem, const Capabilities& device,
                                     unsigned boundaries, ScratchLayout& layout)
    : problem_(problem),
      digit_bits_(static_cast<unsigned>(std::bit_width(boundaries_of_kernels(boundaries)))) {
  work_group_ = std::bit_floor(std::min(device.max_work_group, 256u));
  choose_items(device);
  const std::uint64_t tile = std::uint64_t{work_group_} * items_;
  const std::uint64_t tiles = ceil_div(problem.count, tile);
  const std::uint64_t wanted = std::clamp<std::uint64_t>(8 * std::uint64_t{device.compute_units}, 1,
                                                         std::max<std::uint64_t>(tiles, 1));
  part_ = ceil_div(tiles, wanted) * tile;
  groups_ = ceil_div(problem.count, std::max<std::uint64_t>(part_, 1));
  counts_ = layout.add(buckets() * groups_ * kernels::index_bytes(problem.count));
  boundaries_ = layout.add(buckets() * info(problem.key).bytes);
  places_ = layout.add(2 * buckets() * kernels::index_bytes(problem.count));
  scan_ = Scan(buckets() * groups_, device.compute_units, problem.count, device, layout);
}

void BoundaryPartition::choose_items(const Capabilities& device) {
  // As many records for each work-item as local memory and registers hold. More work-items of fewer
  // records spill registers: 16 keys of 4 bytes took 4.7 ms, 12 took 6.3, 8 took 7.6 (2^30, H100).
  const std::uint64_t record = record_bytes(problem_);
  const unsigned most_items = record <= 4 ? 16 : record <= 8 ? 12 : 8;
  resident_ = record <= 4 ? 4 : record <= 8 ? 3 : 2;
  const std::uint64_t index = kernels::index_bytes(problem_.count), key = info(problem_.key).bytes;
  const bool emulated = device.sub_group_words == SubGroupWords::emulated;
  const std::uint64_t fixed = kernels::rank_bytes(device, work_group_, buckets() + 1) +
                              buckets() * (2 * index + key + 1) +
                              2 * std::min<std::uint64_t>(work_group_, buckets()) * index +
                              (emulated ? 4 * work_group_ : 0) + 64;
  const std::uint64_t of_item = (record + 1) * work_group_;  // and its bucket
  const std::uint64_t most =
      device.local_memory > fixed ? (device.local_memory - fixed) / of_item : 0;
  items_ = static_cast<unsigned>(std::min<std::uint64_t>(most, most_items));
  if (items_ == 0)
    throw Error(ErrorCode::unsupported,
                fmt::format("a partition into {} buckets needs {} bytes of local memory; the "
                            "device has {}",
                            buckets(), fixed + of_item, device.local_memory));
}

void BoundaryPartition::build(Device& device, const Capabilities& capabilities) {
  const PartitionParameters parameters{
      .work_group = work_group_, .items = items_, .resident = resident_, .digit_bits = digit_bits_};
  module_ =
      kernels::build(device, capabilities,
                     {kernels::embedded::tile_ranks_cl, kernels::embedded::boundary_partition_cl},
                     parameters.defines(problem_));
  count_ = module_->kernel("partition_count");
  scatter_ = module_->kernel("partition_scatter");
  scan_.build(device, capabilities);
}

// No key has a rank beyond the type's largest number, so boundaries beyond it divide nothing.
std::uint32_t BoundaryPartition::used(std::span<const std::uint64_t> boundaries) const {
  const std::uint64_t largest = ~std::uint64_t{0} >> (64 - 8 * info(problem_.key).bytes);
  return static_cast<std::uint32_t>(std::ranges::upper_bound(boundaries, largest) -
                                    boundaries.begin());
}

void BoundaryPartition::write_numbers(Queue& queue, const Memory& to,
                                      std::span<const std::uint64_t> numbers,
                                      unsigned bytes) const {
  std::vector<std::byte> packed(numbers.size() * bytes);
  for (std::size_t i = 0; i < numbers.size(); ++i)  // hosts are little-endian
    std::memcpy(packed.data() + i * bytes, &numbers[i], bytes);
  queue.write(to, packed.data(), packed.size());
}

std::vector<std::uint64_t> BoundaryPartition::count(
    Queue& queue, const Operands& o, std::span<const std::uint64_t> boundaries) const {
  const std::uint32_t used = this->used(boundaries);
  const std::uint64_t none[] = {0};
  write_numbers(queue, boundaries_.in(o),
                used == 0 ? std::span<const std::uint64_t>(none) : boundaries.first(used),
                info(problem_.key).bytes);
  const Arg args[] = {
      {"keys", o.keys_in},   {"counts", counts_.in(o)}, {"boundaries", boundaries_.in(o)},
      {"n", problem_.count}, {"part", part_},           {"used", std::max(used, 1u)}};
  queue.launch({*count_, groups_, work_group_, args, "histogram"});
  scan_.enqueue(queue, o, counts_.in(o));

  // A bucket begins where its first work-group's records do.
  const unsigned index = kernels::index_bytes(problem_.count);
  std::vector<std::byte> starts(buckets() * groups_ * index);
  queue.read(starts.data(), counts_.in(o), starts.size());
  std::vector<std::uint64_t> begins(boundaries.size() + 2, problem_.count);
  for (std::uint64_t b = 0; b <= used; ++b) {
    begins[b] = 0;
    std::memcpy(&begins[b], starts.data() + b * groups_ * index, index);
  }
  return begins;
}

bool BoundaryPartition::reaches(std::uint64_t records) const {
  return kernels::index_bytes(records) <= kernels::index_bytes(problem_.count);
}

void BoundaryPartition::scatter(Queue& queue, const Operands& o,
                                std::span<const std::uint64_t> boundaries,
                                std::span<const std::uint64_t> begins, std::uint64_t first_position,
                                const Apart& apart) const {
  const std::uint32_t used = std::max(this->used(boundaries), 1u);  // as the kernels have it
  // For each bucket, how far from its place it goes, and then whether it goes apart.
  std::vector<std::uint64_t> places(2 * buckets());
  for (std::uint64_t b = 0; b < apart.places.size() && b <= used; ++b) {
    if (apart.places[b] == nowhere) continue;
    places[b] = apart.places[b] - begins[b];
    places[buckets() + b] = 1;
  }
  write_numbers(queue, places_.in(o), places, kernels::index_bytes(problem_.count));
  const bool positions = problem_.payload == Payload::positions;
  const Arg args[] = {{"keys_in", o.keys_in},
                      {"keys_out", o.keys_out},
                      {"keys_apart", apart.keys ? apart.keys : o.keys_out},
                      {"values_in", o.values_in},
                      {"values_out", o.values_out},
                      {"values_apart", apart.values ? apart.values : o.values_out},
                      {"starts", counts_.in(o)},
                      {"places", places_.in(o)},
                      {"boundaries", boundaries_.in(o)},
                      {"n", problem_.count},
                      {"part", part_},
                      {"first_position", first_position},
                      {"used", used},
                      {"values_are_positions", positions ? 1u : 0u}};
  queue.launch({*scatter_, groups_, work_group_, args, "partition"});
}

}  // namespace sortium
