// Floor 2: parameters that `sortium tune` has measured, by device and kind of problem. The user's
// file takes precedence over the built-in table. If the user's file is invalid, it is ignored with
// a warning.
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
  // Of the measured problem, rounded down. The entry applies from 2^(log2_count - 1) records to
  // below 2^(log2_count + 2).
  unsigned log2_count = 0;
  std::string parameters;  // "name=value,…"
  double gain = 1;         // time with the default parameters / time with these
};

// Reads a tuning file: {"tuned": [{…}, …]}; the members of an entry are those of Entry. `origin`
// names the file in messages. Throws Error(invalid_argument) naming the entry and what is wrong
// with it.
[[nodiscard]] std::vector<Entry> parse(std::string_view json, const std::string& origin);
// The same with the file's name. Reads regular files only: to open a pipe could wait for ever, and
// a device may have no end.
[[nodiscard]] std::vector<Entry> read(const std::string& file);
// Returns the text of a tuning file with these entries.
[[nodiscard]] std::string print(const std::vector<Entry>& entries);

struct Tables {
  std::vector<Entry> users, built_in;
};
// Returns the entries of the user's file and of the library. Reads the files once per process.
[[nodiscard]] const Tables& tables();

// Returns the path of the user's file: SORTIUM_TUNING, else sortium/tuned.json in XDG_CONFIG_HOME
// or ~/.config. Empty if none of these variables is set, or if SORTIUM_TUNING is "off", which also
// turns the built-in table off.
[[nodiscard]] std::string user_file();

}  // namespace sortium::tuning
