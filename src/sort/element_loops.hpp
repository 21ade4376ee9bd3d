// Loops over the elements of an array: how a kernel is launched for them, and how cpu:0 runs them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <sortium/device.hpp>
#include <string_view>

#include "../algorithms/algorithm.hpp"

#ifdef SORTIUM_WITH_HOST
#include "../device/host_threads.hpp"
#endif

namespace sortium {

// The launch of a kernel that loops over `items`. On a GPU, at most as many work-groups are
// launched as fill the device, and each work-item handles several items. A CPU runs work-items one
// after the other: there each work-item handles one item, so that memory is accessed in order.
inline unsigned work_group_size(const Capabilities& c) { return std::min(c.max_work_group, 256u); }
inline std::uint64_t work_groups_for(const Capabilities& c, std::uint64_t items) {
  const std::uint64_t all = ceil_div(items, work_group_size(c));
  return c.kind == DeviceKind::cpu ? all : std::min<std::uint64_t>(all, c.compute_units * 32u);
}

inline std::byte* at(const Memory& m) { return static_cast<std::byte*>(m.handle) + m.offset; }

// Calls work(begin, end) for ranges that together cover [0, count), on all cores of cpu:0. If no
// thread can be started, the calling thread calls it for all ranges again. So a second call for the
// same range must have the same result. A range of `grain` elements is not divided.
template <class Work>
void for_elements_on_host(Queue& queue, std::string_view phase, std::uint64_t count,
                          const Work& work, std::uint64_t grain = 1 << 14) {
#ifdef SORTIUM_WITH_HOST
  host::call(queue, phase, [&] {
    if (count <= grain) return work(std::uint64_t{0}, count);
    host::repeatable_for_all(tbb::blocked_range<std::uint64_t>(0, count, grain),
                             [&](const auto& range) { work(range.begin(), range.end()); });
  });
#else
  static_cast<void>(grain);
  queue.call(phase, [&] { work(std::uint64_t{0}, count); });
#endif
}

}  // namespace sortium
