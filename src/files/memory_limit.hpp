// What a sort may use of the memory that its caller allows.
#pragma once

#include <cstdint>
#include <string>

namespace sortium::files {

// Returns the name of the device for sorts within `memory_bytes`: `device`, or if that names none,
// cpu:0 unless a GPU is faster for records of so many bytes. Call it before usable_memory(): it
// loads the device's driver. With less than 1 GiB it does not look for GPUs, whose drivers, and the
// comparison with cpu:0, would take much of that.
[[nodiscard]] std::string device_within(std::uint64_t memory_bytes, const std::string& device,
                                        const std::string& algorithm, unsigned record_bytes);

// Bytes of host memory.
struct HostMemory {
  std::uint64_t used = 0;    // by the process now, and what allocators, drivers and threads keep
  std::uint64_t usable = 0;  // by buffers and sorts together
};

// Returns what buffers and sorts may use if the process may use `memory_bytes` in all: no more than
// the machine has. Throws Error(invalid_argument), naming the least memory_bytes that suffices, if
// that is less than `least`.
[[nodiscard]] HostMemory usable_memory(std::uint64_t memory_bytes, std::uint64_t least);

// Returns to the system what the allocator keeps of freed memory. Call it between sorts: what is
// kept would add to what the next one needs.
void return_free_memory();

}  // namespace sortium::files
