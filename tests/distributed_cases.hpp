// Distributed sorts that every rank of a communicator runs and compares with a stable sort of the
// whole list. The same cases run over threads and over MPI.
#pragma once

#include <cstdint>
#include <sortium/distributed.hpp>
#include <string>

#include "trial.hpp"

namespace sortium::test {

// How a list is divided among ranks.
enum class Division : std::uint8_t {
  even,
  random,       // unequal
  one_has_all,  // the last rank; the others are empty
  first_has_most,
};

// Sorts the case's keys, of which every rank takes its share. Returns what is wrong with this
// rank's result, or nothing. All ranks must pass the same arguments.
[[nodiscard]] std::string run_case(distributed::Communicator& communicator, const Case& c,
                                   Division division, distributed::Balance balance,
                                   const std::string& device);

// The same in memory of queue.device(), with the sorter of that device.
[[nodiscard]] std::string run_device_case(distributed::Communicator& communicator,
                                          distributed::DeviceSorter& sorter, Queue& queue,
                                          const Case& c, Division division,
                                          const distributed::DeviceOptions& options);

// Runs `cases` of them, of all types, which `seed` selects. Returns the first error.
[[nodiscard]] std::string run_device_cases(distributed::Communicator& communicator, Queue& queue,
                                           unsigned cases, std::uint64_t seed);

// Sorts records with keys of several words in memory of queue.device(). Returns what is wrong.
[[nodiscard]] std::string run_device_records(distributed::Communicator& communicator,
                                             distributed::DeviceSorter& sorter, Queue& queue,
                                             std::uint64_t count, Division division,
                                             const distributed::DeviceOptions& options,
                                             std::uint64_t seed);

// Runs `cases` cases that `seed` selects from the conformance table, and sorts of records, of keys
// with wide values and of few keys. Returns the first error.
[[nodiscard]] std::string run_cases(distributed::Communicator& communicator, unsigned cases,
                                    std::uint64_t seed, const std::string& device);

}  // namespace sortium::test
