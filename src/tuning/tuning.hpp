// Floor 2: parameters that were found by measuring (`sortium tune`), by device and by kind of
// problem. The user's file wins over the table that the library has built in.
#pragma once

#include <sortium/core.hpp>
#include <sortium/device.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sortium::tuning {

struct Entry {
  std::string device;   // Capabilities::model; a '*' at its end stands for any rest
  std::string backend;  // "cuda", "opencl", "host"
  std::string algorithm;
  unsigned key_bytes = 4;
  unsigned value_bytes = 0;  // 0: keys alone
  unsigned log2_count = 0;   // of the measured problem; for counts from a half to twice as large
  std::string parameters;    // "name=value,…"
  double gain = 1;           // time with the room's own parameters / time with these
};

// The entries of a tuning file: {"tuned": [{…}, …]}, whose members are those of Entry. `origin` is
// for messages. Throws Error(invalid_argument) that names the entry and what is wrong with it.
[[nodiscard]] std::vector<Entry> parse(std::string_view json, const std::string& origin);
[[nodiscard]] std::string print(const std::vector<Entry>& entries);

// The entry that fits best: the longest device name, then the nearest count, then the later one.
// nullptr: none fits.
[[nodiscard]] const Entry* find(const std::vector<Entry>& entries, std::string_view algorithm,
                                const Problem& problem, const Capabilities& device);

// The parameters to take for an algorithm where the caller gave none; empty: the room's own. Files
// are read once.
[[nodiscard]] std::string parameters_for(std::string_view algorithm, const Problem& problem,
                                         const Capabilities& device);

// The user's file: SORTIUM_TUNING, else sortium/tuned.json in XDG_CONFIG_HOME or ~/.config. Empty:
// there is no such place, or SORTIUM_TUNING is "off", which turns the built-in table off as well.
[[nodiscard]] std::string user_file();

}  // namespace sortium::tuning
