// Sorts of host memory on several devices of this process: one rank, a thread, for each device.
#pragma once

#include <sortium/host.hpp>
#include <sortium/records.hpp>
#include <string>

namespace sortium::distributed {

// True if Options::device is a list: "cuda:*", "cuda:0,cuda:1".
[[nodiscard]] inline bool is_device_list(const std::string& device) {
  return device.find_first_of(",*") != std::string::npos;
}

// As sortium::sort_host() and sort_records_host(), which call them if options.device is a list. The
// arguments must be valid for a sort on one device. Refuse segments and limits.
[[nodiscard]] HostReport sort_on_devices(const Problem& problem, const HostOperands& operands,
                                         const sortium::Options& options);
[[nodiscard]] HostReport sort_records_on_devices(const RecordProblem& problem,
                                                 const RecordHostOperands& operands,
                                                 const sortium::Options& options);

}  // namespace sortium::distributed
