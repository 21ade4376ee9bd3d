// Floor 2: parameters that `sortium tune` found by measuring, by device and kind of problem. The
// user's file wins over the built-in table. A user's file that is broken is ignored with a warning.
#pragma once

#include <sortium/core.hpp>
#include <sortium/device.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sortium::tuning {

struct Entry {
  std::string device;   // Capabilities::model; a '*' at its end matches any rest
  std::string backend;  // "cuda", "opencl", "host"
  std::string algorithm;
  unsigned key_bytes = 4;
  unsigned value_bytes = 0;  // 0: keys alone
  unsigned log2_count = 0;   // of the measured problem; serves counts from half to twice as large
  std::string parameters;    // "name=value,…"
  double gain = 1;           // time with the algorithm's own parameters / time with these
};

// Returns the entries of a tuning file: {"tuned": [{…}, …]}, whose members are those of Entry.
// `origin` names the file in messages. Throws Error(invalid_argument) naming the entry and what is
// wrong with it.
[[nodiscard]] std::vector<Entry> parse(std::string_view json, const std::string& origin);
// Returns the text of a tuning file with these entries.
[[nodiscard]] std::string print(const std::vector<Entry>& entries);

// Returns the entry that fits best: the longest device name, then the nearest count, then the later
// entry. Returns nullptr if none fits.
[[nodiscard]] const Entry* find(const std::vector<Entry>& entries, std::string_view algorithm,
                                const Problem& problem, const Capabilities& device);

// Returns the parameters for an algorithm for which the caller named none; empty: the algorithm's
// own. Files are read once a process.
[[nodiscard]] std::string parameters_for(std::string_view algorithm, const Problem& problem,
                                         const Capabilities& device);

// Returns the path of the user's file: SORTIUM_TUNING, else sortium/tuned.json in XDG_CONFIG_HOME
// or
// ~/.config. Empty: there is no such place, or SORTIUM_TUNING is "off", which turns the built-in
// table off, too.
[[nodiscard]] std::string user_file();

}  // namespace sortium::tuning
