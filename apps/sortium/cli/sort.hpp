// Options of `sortium sort` and `sortium topk`.
#pragma once

#include "cli/key_options.hpp"

namespace sortium {
struct HostReport;
}

namespace app {

class Output;

struct SortOptions : KeyOptions {
  std::string in, out;
  std::string values, values_out;
  std::optional<unsigned> value_bytes;
  bool argsort = false;
  unsigned index_bytes = 4;
  std::uint64_t limit = 0;  // records of the result; 0: all
  std::string device, algorithm = "auto", parameters;
  std::uint64_t max_scratch_bytes = 0;  // 0: no limit
  std::uint64_t max_device_bytes = 0;   // 0: 7/8 of what is free
  std::string memory;                   // "8G"; empty: the whole file is read into memory
  std::vector<std::string> temporary_directories;  // for sorts with `memory`
  bool in_place = false;                           // likewise: the input gives up its space
  bool lines = false;                              // the file has lines of text
  std::string field;                               // the key of a line; empty: the whole line
  std::optional<std::string> separator;            // of fields; none: blanks
  bool numeric = false, unique = false;            // of lines
  bool verify = false, quiet = false;
  bool distributed = false;
  double timeout = 600;  // seconds that a process waits for the others
};

// Checks the options of `sortium sort` and `sortium topk`. Throws Failure.
void check_sort_usage(const SortOptions& options);

// Throws Failure if an output replaces a file without which it is useless: the records to which
// positions refer, or the offsets of the segments.
void spare_inputs(const SortOptions& options, const Output& output);

// Returns the part of a summary that states how long each step took, and the rate.
[[nodiscard]] std::string times(const sortium::HostReport& report, std::uint64_t count,
                                double reading, double writing);

}  // namespace app
