// Sorts of other libraries on devices. They are separate programs (bench/peers), which use the same
// protocol and print rows, so that Sortium does not need those libraries.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "protocol/rows.hpp"

namespace app {

// The sorts that a peer's program measures: all combinations of these members.
struct PeerRequest {
  std::vector<std::uint64_t> sizes;
  std::vector<std::string> types, payloads,
      distributions;  // payloads as in rows: "keys", "keys+values"
  double min_seconds = 0.5;
};

// Returns the programs called peer_… in `directory`, sorted by name. Throws Failure if there
// are none.
[[nodiscard]] std::vector<std::filesystem::path> find_peer_programs(const std::string& directory);

// Runs a program on the device called `device_id` and calls `take` for each row. The program
// prints no rows for a device that it does not support. Ends the program if the user
// interrupts. Throws Failure if a row is malformed or was not requested, or if the program
// fails.
void run_peer_program(const std::filesystem::path& program, const std::string& device_id,
                      const PeerRequest& request, const std::function<void(Row)>& take);

}  // namespace app
