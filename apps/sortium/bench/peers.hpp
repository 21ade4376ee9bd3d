// Other libraries' sorts on devices: programs of their own (bench/peers), which measure by the same
// protocol and print rows. So nobody who wants Sortium needs the libraries.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "protocol/rows.hpp"

namespace app {

// What the peers are to sort: all of it, in every combination.
struct PeerRequest {
  std::vector<std::uint64_t> sizes;
  std::vector<std::string> types, payloads,
      distributions;  // payloads as in rows: "keys", "keys+values"
  double min_seconds = 0.5;
};

// The programs called peer_… in `directory`, in the order of their names. Throws Failure where
// there are none.
[[nodiscard]] std::vector<std::filesystem::path> find_peer_programs(const std::string& directory);

// Runs one on the device called `device_id` and gives each row as it comes; none at all where the
// device is not one that the peer sorts on. Ends it where the user interrupts. Throws Failure that
// says what it did wrong: rows that are none, or that nobody asked for, or a bad end.
void run_peer_program(const std::filesystem::path& program, const std::string& device_id,
                      const PeerRequest& request, const std::function<void(Row)>& take);

}  // namespace app
