// Floor 2: parameters that `sortium tune` has measured, by device and kind of problem. The user's
// file takes precedence over the built-in table. A broken user's file is ignored with a warning.
#pragma once

#include <sortium/core.hpp>
#include <sortium/device.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sortium::tuning {

struct Entry {
  std::string device;   // Capabilities::model; a '*' at the end matches any rest
  std::string backend;  // "cuda", "opencl", "host"
  std::string algorithm;
  unsigned key_bytes = 4;
  unsigned value_bytes = 0;  // 0: keys alone
  unsigned log2_count = 0;   // of the measured problem; serves counts from half to twice as large
  std::string parameters;    // "name=value,…"
  double gain = 1;           // time with the default parameters / time with these
};

// Reads a tuning file: {"tuned": [{…}, …]}; the members of an entry are those of Entry. `origin`
// names the file in messages. Throws Error(invalid_argument) naming the entry and what is wrong
// with it.
[[nodiscard]] std::vector<Entry> parse(std::string_view json, const std::string& origin);
// Returns the text of a tuning file with these entries.
[[nodiscard]] std::string print(const std::vector<Entry>& entries);

// Returns the best match: the entry with the longest device name, then the nearest count, then the
// last one. Returns nullptr if no entry matches.
[[nodiscard]] const Entry* find(const std::vector<Entry>& entries, std::string_view algorithm,
                                const Problem& problem, const Capabilities& device);

// Returns the tuned parameters for an algorithm; empty: use the algorithm's defaults. Reads the
// files once per process. Call it only if the caller of the sort named no parameters.
[[nodiscard]] std::string parameters_for(std::string_view algorithm, const Problem& problem,
                                         const Capabilities& device);

// Returns the path of the user's file: SORTIUM_TUNING, else sortium/tuned.json in XDG_CONFIG_HOME
// or ~/.config. Empty if there is no such place, or if SORTIUM_TUNING is "off", which also turns
// the built-in table off.
[[nodiscard]] std::string user_file();

}  // namespace sortium::tuning
