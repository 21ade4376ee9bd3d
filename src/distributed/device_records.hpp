// Sorts records in device memory that are divided among ranks.
#pragma once

#include <memory>
#include <sortium/distributed.hpp>
#include <vector>

#include "device_steps.hpp"

namespace sortium::distributed {

// Device memory that is kept for the next sort of records.
struct RecordMemory {
  std::vector<KeptMemory> sorted;    // the rank's own records, sorted: a column each
  std::vector<KeptMemory> received;  // columns that are not moved: keys of the rank's part
  std::vector<KeptMemory> scratch;   // one

  [[nodiscard]] std::uint64_t bytes() const;
};

// What a sort of records needs beside its arguments.
struct RecordRank {
  Communicator& communicator;
  std::shared_ptr<Device> device;
  Queue& link;  // the exchanges' queue
  RecordMemory& memory;
};

// DeviceSorter::sort_records().
Report sort_records_on_device(const RecordRank& rank, Queue& queue, const RecordProblem& problem,
                              const RecordOperands& operands, const DeviceOptions& options);

}  // namespace sortium::distributed
