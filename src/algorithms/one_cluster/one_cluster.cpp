// The sort of a list that fits the local memories of one cluster of work-groups.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "../../kernels/kernels.hpp"
#include "../rooms.hpp"
#include "embedded.hpp"

namespace sortium {
namespace {

constexpr std::uint64_t radix_size = 256;
constexpr unsigned few_items = 4, most_items = 16;

// Bytes of one_cluster_memory_t.
std::uint64_t local_bytes(const Problem& problem, const Capabilities& device, unsigned work_group, unsigned items,
                          unsigned groups) {
  const std::uint64_t value = problem.payload == Payload::none ? 0 : problem.value_bytes;
  const std::uint64_t record = std::max(4u, info(problem.key).bytes) + value;
  const std::uint64_t rank_words = (device.ordered_local_atomics ? 1 : 2) * radix_size;  // SG_RANK_WORDS
  const std::uint64_t lanes = std::min(device.sub_group_size, 32u);
  return 2 * record * work_group * items + (1 + 2 * groups) * radix_size * 2 +
         2 * radix_size * kernels::index_bytes(problem.count) + work_group / lanes * rank_words * 4 + work_group * 4 +
         radix_size * 4 + 128;
}

class OneClusterSorter final : public Sorter {
 public:
  OneClusterSorter(const Problem& problem, const Capabilities& device, const Parameters& given)
      : problem_(problem), digits_(digits(problem, 8)) {
    const auto unsupported = [](const std::string& why) { throw Error(ErrorCode::unsupported, "one-cluster: " + why); };
    if (device.cluster_groups < 2) unsupported("this device's work-groups cannot reach each other's local memory");
    // Few work-groups, which have less to tell each other, until each has so many records that this matters less; then few
    // work-items, whose barriers are faster.
    const std::uint64_t n = std::clamp<std::uint64_t>(problem.count, 1, std::uint64_t{1} << 24);
    const auto wanted = static_cast<unsigned>(std::bit_ceil(ceil_div(n, few_items * radix_size)));
    groups_ = static_cast<unsigned>(given.number("groups", std::clamp(wanted, 2u, device.cluster_groups)));
    if (!std::has_single_bit(groups_) || groups_ > device.cluster_groups)
      unsupported(fmt::format("groups={} is not a power of two up to the device's {}", groups_, device.cluster_groups));
    const auto largest = std::bit_floor(std::min(device.max_work_group, 1024u));
    const std::uint64_t tile = ceil_div(n, groups_);
    auto enough = static_cast<unsigned>(radix_size);
    while (enough * (enough == radix_size ? most_items / 2 : most_items) < tile && enough < largest) enough *= 2;
    work_group_ = static_cast<unsigned>(given.number("work_group", enough));
    if (!std::has_single_bit(work_group_) || work_group_ < radix_size || work_group_ > largest)
      unsupported(fmt::format("work_group={} is not a power of two between {} and {}", work_group_, radix_size, largest));
    // Fewer kernels to build: items are powers of two.
    items_ = static_cast<unsigned>(std::bit_ceil(ceil_div(tile, work_group_)));
    local_bytes_ = local_bytes(problem, device, work_group_, items_, groups_);
    if (items_ > most_items || local_bytes_ > device.local_struct) {
      unsigned fits = most_items;
      while (fits > 1 && local_bytes(problem, device, work_group_, fits, groups_) > device.local_struct) fits /= 2;
      unsupported(fmt::format("{} records do not fit {} work-groups of {}; with {} bytes of local memory each the device "
                              "sorts up to {}", problem.count, groups_, work_group_, device.local_struct,
                              std::uint64_t{fits} * work_group_ * groups_));
    }
  }

  std::uint64_t scratch_bytes() const override { return 0; }
  std::string parameters() const override {
    return fmt::format("groups={},work_group={},items={}", groups_, work_group_, items_);
  }
  std::uint64_t bytes_moved() const override { return bytes_of_passes(problem_, 1, 1); }

  void build(Device& device, const Capabilities& capabilities) override {
    kernels::Defines defines;
    defines.problem(radix_problem(problem_)).set("WG", work_group_).set("ITEMS", items_).set("GROUPS", groups_);
    module_ = kernels::build(device, capabilities, kernels::embedded::one_cluster_cl, defines);
    sort_ = module_->kernel("one_cluster_sort");
  }

  void enqueue(Queue& queue, const Operands& o) override {
    const auto [shifts, widths] = packed(digits_);
    const Arg args[] = {o.keys_in, o.keys_out, o.values_in, o.values_out, problem_.count, shifts, widths,
                        static_cast<std::uint32_t>(digits_.size())};
    queue.launch({*sort_, groups_, work_group_, args, "sort", static_cast<unsigned>(local_bytes_), groups_});
  }

 private:
  Problem problem_;
  std::vector<Digit> digits_;
  unsigned groups_ = 0, work_group_ = 0, items_ = 0;
  std::uint64_t local_bytes_ = 0;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> sort_;
};

class OneCluster final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "one-cluster",
        .title = "the work-groups of a cluster sort a list in their local memories, LSD radix with 8-bit digits",
        .source = "Sortium; Satish, Harris, Garland 2009 (tiles sorted before they are scattered)",
        .stable = true,
        .cost = "one launch; every record is read once and written once; bits/8 passes between local memories",
        .parameters = {{"groups", "work-groups of the cluster", 2, 16, {}}, {"work_group", "work-items", 256, 1024, {}}}};
    return info;
  }

  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    return std::make_unique<OneClusterSorter>(problem, device, given);
  }
};

}  // namespace

const Algorithm& rooms::one_cluster() {
  static const OneCluster room;
  return room;
}

}  // namespace sortium
