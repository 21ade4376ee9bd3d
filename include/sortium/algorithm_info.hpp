// What an algorithm says of itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sortium {

struct Parameter {
  std::string name;
  std::string meaning;
  std::uint64_t minimum = 0, maximum = 0;  // of a number
  std::vector<std::string> choices;        // of a word; then there are no limits
  bool changes_result = false;             // it says what is sorted, or how far: never tuned
};

struct AlgorithmInfo {
  std::string name;
  std::string title;   // a line: what it does
  std::string source;  // the paper or document that it comes from
  bool stable = true;
  bool partial = false;  // leaves sorted runs of `run` records, not one sorted whole
  bool comparison = false;
  bool quadratic = false;       // O(N²) work
  bool host = false;            // made for cpu:0, and for it alone; the others are made of kernels
  bool segments = false;        // sorts segments (Problem::segments), and nothing else
  bool limit = false;           // finds the first records (Problem::limit), and nothing else
  bool needs_clusters = false;  // runs only where work-groups reach each other's local memory
  bool needs_progress = false;  // runs only where a work-group may wait for an earlier one
  std::uint64_t max_count = 0;  // records that it sorts at most, on any device; 0: no limit
  std::string cost;             // passes over the data, launches, bytes moved
  std::vector<Parameter> parameters{};
};

}  // namespace sortium
