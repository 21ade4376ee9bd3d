#include "memory_limit.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sortium/types.hpp>

#include "../algorithms/algorithm.hpp"
#include "../device/backends.hpp"
#include "../device/cores.hpp"
#include "../sort/costs.hpp"

namespace sortium::files {

namespace {

// For what allocators and drivers keep, buffers of transfers (block_io.hpp), and the stacks and
// caches of one thread for each core.
std::uint64_t reserve() {
  return (std::uint64_t{12} << 20) + usable_cores() * (std::uint64_t{256} << 10);
}

// Bytes of memory that this process has now.
std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t machine_bytes() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

std::string device_within(std::uint64_t memory_bytes, const std::string& device,
                          const std::string& algorithm, unsigned record_bytes) {
  const auto host = backend::device_near(device);  // throws if a device is named that is not there
  if (backend::names_device(device) || host->info().claimed.backend != Backend::host) return device;
  if (algorithm != "auto")
    return (find_algorithm(algorithm).info().host ? host : find_device(device, true))->info().id;
  constexpr std::uint64_t least_for_others = std::uint64_t{1} << 30;
  if (memory_bytes < least_for_others) return host->info().id;
  const std::uint64_t bytes = memory_bytes / 4;
  const auto fastest =
      costs::fastest_device(costs::kind_of_records(record_bytes), bytes / record_bytes, bytes, {});
  return fastest->info().claimed.backend == Backend::host ? host->info().id : device;
}

void return_free_memory() {
#ifdef __GLIBC__
  (void)::malloc_trim(0);
#endif
}

HostMemory usable_memory(std::uint64_t memory_bytes, std::uint64_t least) {
  const std::uint64_t used = resident_bytes() + reserve();
  if (memory_bytes < used + least)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("memory_bytes is {}; this process needs at least {}", memory_bytes,
                            used + least));
  return {used, std::min(memory_bytes, std::max(machine_bytes(), used + least)) - used};
}

}  // namespace sortium::files
