// A running benchmark: prints a line for every row, keeps the rows, and writes them at the
// end.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/options.hpp"
#include "bench/run.hpp"
#include "cli/common.hpp"
#include "cli/progress.hpp"
#include "io/output.hpp"
#include "protocol/rows.hpp"

namespace app {

// An algorithm with one set of parameters.
struct Algorithm {
  std::string name, parameters;
  bool quadratic = false;
  bool peer = false;
  bool host = false;  // the library's algorithm for cpu:0
};
// Throws Failure, listing the known names.
[[nodiscard]] Algorithm find_algorithm(const std::string& name, const std::string& parameters = {});

class Session {
 public:
  // Creates the output files, so that a path that cannot be written shows before hours of
  // measuring. `rows` is the expected number of rows, for the estimate of the time left.
  Session(const BenchOptions& options, std::uint64_t rows);

  // Prints the device, the rate of a copy there, and the table's heading.
  void begin(Bench& bench);
  // Measures a sort, then prints and keeps its row. A sort that the device does not support, or
  // that would take too long, is skipped, and its row says why. Only O(N^2) algorithms can take too
  // long; with `impatient`, all can. Returns nullptr if interrupted.
  Row* measure(Bench& bench, const Algorithm& algorithm, const Case& c,
               const std::string& distribution, bool impatient = false);
  // Prints and keeps a row that a peer's program has measured on this device, or its error.
  void take(Bench& bench, Row row);
  void take_failure(const std::string& message);
  // Prints other text.
  void print(const std::string& text) { progress_.print(text); }

  // Adds a member to the JSON file, beside the rows.
  void note(const std::string& name, Row what) { about_[name] = std::move(what); }
  // Computes the ratios to peers, and writes the files.
  void finish();
  [[nodiscard]] int code() const { return code_; }

 private:
  struct Last {
    std::uint64_t count = 0;
    double seconds = 0;
  };
  double expected_seconds(Bench& bench, const Algorithm& algorithm, const Case& c, Last& last);
  Row* keep(Bench& bench, Row row);
  double copy_rate(Bench& bench);
  void worse(int code) { code_ = code_ == exit_success ? code : code_; }

  const BenchOptions& options_;
  Row about_;
  std::vector<Row> rows_;
  std::map<std::string, double> copy_rates_;  // by device
  std::map<std::string, Last>
      last_;  // last size of each series, to predict the time of the next one
  std::optional<Output> json_, csv_;
  int code_ = exit_success;
  Progress progress_;
};

}  // namespace app
