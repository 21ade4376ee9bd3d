// What an algorithm declares about itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sortium {

struct Parameter {
  std::string name;
  std::string meaning;
  std::uint64_t minimum = 0, maximum = 0;  // allowed range of a number
  std::vector<std::string> choices;        // allowed words; empty: the parameter is a number
  bool changes_result = false;             // changes the result, so tuning never varies it
};

struct AlgorithmInfo {
  std::string name;
  std::string title;   // one line: what it does
  std::string source;  // the paper or document that describes it
  bool stable = true;
  bool partial = false;  // leaves sorted runs, not one sorted list
  bool comparison = false;
  bool quadratic = false;  // work grows with N²
  bool host = false;       // runs on cpu:0 only; all other algorithms consist of kernels
  bool segments = false;   // sorts segments (Problem::segments), and no other problems
  bool limit = false;      // finds the first records (Problem::limit), and solves no other problems
  bool needs_clusters = false;  // needs work-groups that reach each other's local memory
  bool needs_progress = false;  // needs work-groups that may wait for an earlier one
  std::uint64_t max_count = 0;  // the most records that it can sort on any device; 0: no limit
  unsigned max_key_bits = 0;    // the most bits by which it can compare keys; 0: no limit
  std::string cost;             // passes over the data, launches, bytes moved
  std::vector<Parameter> parameters{};
};

}  // namespace sortium
