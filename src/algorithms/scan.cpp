#include "scan.hpp"

#include <algorithm>
#include <bit>

#include "../kernels/kernels.hpp"
#include "embedded.hpp"

namespace sortium {
namespace {

// What scan.cl is specialised for.
struct ScanParameters {
  unsigned work_group;  // work-items of a work-group, a power of two

  [[nodiscard]] kernels::Defines defines(const Problem& problem) const {
    return kernels::Defines().problem(problem).set("WG", work_group);
  }
};

}  // namespace

Scan::Scan(std::uint64_t length, std::uint64_t parts, std::uint64_t count,
           const Capabilities& device, ScratchLayout& layout)
    : length_(length), parts_(std::min(parts, length)), count_(count) {
  work_group_ = std::bit_floor(std::min(device.max_work_group, 256u));
  sums_ = layout.add(parts_ * kernels::index_bytes(count));
  total_ = layout.add(kernels::index_bytes(count));
}

void Scan::build(Device& device, const Capabilities& capabilities) {
  const Problem problem{.count = count_};  // its other members have no effect
  module_ = kernels::build(device, capabilities, kernels::embedded::scan_cl,
                           ScanParameters{.work_group = work_group_}.defines(problem));
  part_ = module_->kernel("scan_part");
  add_ = module_->kernel("scan_add");
}

void Scan::enqueue(Queue& queue, const Operands& operands, Memory table) const {
  const Memory sums = sums_.in(operands), total = total_.in(operands);
  const std::uint64_t part = (length_ + parts_ - 1) / parts_;
  const Arg part_args[] = {{"table", table}, {"sums", sums}, {"length", length_}, {"part", part}};
  queue.launch({*part_, parts_, work_group_, part_args, "scan"});
  if (parts_ == 1) return;
  const Arg sums_args[] = {{"table", sums}, {"sums", total}, {"length", parts_}, {"part", parts_}};
  queue.launch({*part_, 1, work_group_, sums_args, "scan"});
  const Arg add_args[] = {{"table", table}, {"sums", sums}, {"length", length_}, {"part", part}};
  queue.launch({*add_, parts_, work_group_, add_args, "scan"});
}

}  // namespace sortium
