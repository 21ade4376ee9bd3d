// Plans and kernels of a DeviceSorter, kept from sort to sort.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <sortium/capabilities.hpp>
#include <sortium/plan.hpp>
#include <utility>

#include "../algorithms/parts/boundary_partition.hpp"
#include "device_steps.hpp"

namespace sortium::distributed {

// A partition of the input.
struct Division {
  BoundaryPartition partition;
  std::uint64_t scratch_bytes;
};

// Plans and kernels for problems that differ in their count only. They are kept for the next sort.
class Plans {
 public:
  // Of the problem, the count does not matter.
  Plans(std::shared_ptr<Device> device, const Problem& problem, Method method)
      : device_(std::move(device)),
        problem_(problem),
        method_(std::move(method)),
        steps_(device_, problem_) {
    problem_.keys_out = true;
  }

  [[nodiscard]] DeviceSteps& steps() { return steps_; }
  // A sort of received or partitioned records: positions are values by then.
  const Plan& in_place(std::uint64_t count) {
    Problem p = problem_;
    if (p.payload == Payload::positions) p.payload = Payload::values;
    return plan(sorts_, p, count);
  }
  // A sort of the input into other memory.
  const Plan& out_of_place(std::uint64_t count) { return plan(whole_sorts_, problem_, count); }
  // A partition of the input by at least so many boundaries.
  const Division& division(std::uint64_t count, std::uint64_t boundaries) {
    const unsigned most = BoundaryPartition::boundaries_of_kernels(boundaries);
    const auto key = std::pair(count, most);
    if (const auto kept = divisions_.find(key); kept != divisions_.end()) return kept->second;
    Problem p = problem_;
    p.count = count;
    ScratchLayout layout;
    const auto& found = capabilities(*device_);
    BoundaryPartition partition(p, found, most, layout);
    partition.build(*device_, found);
    return divisions_.emplace(key, Division{std::move(partition), layout.bytes()}).first->second;
  }
  // Forgets plans if there are many. No reference to one may be in use.
  void trim() {
    constexpr std::size_t most_kept = 256;
    if (sorts_.size() > most_kept) sorts_.clear();
    if (whole_sorts_.size() > most_kept) whole_sorts_.clear();
    if (divisions_.size() > most_kept) divisions_.clear();
  }

 private:
  const Plan& plan(std::map<std::uint64_t, Plan>& plans, Problem p, std::uint64_t count) {
    if (const auto kept = plans.find(count); kept != plans.end()) return kept->second;
    p.count = count;
    return plans.emplace(count, Plan(device_, p, method_)).first->second;
  }

  std::shared_ptr<Device> device_;
  Problem problem_;
  Method method_;
  DeviceSteps steps_;
  std::map<std::uint64_t, Plan> sorts_, whole_sorts_;  // by count
  std::map<std::pair<std::uint64_t, unsigned>, Division> divisions_;
};

}  // namespace sortium::distributed
