// A benchmark as it goes: prints a line for every row, keeps the rows, and writes them at the end.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/run.hpp"
#include "cli/commands.hpp"
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
  bool host = false;  // the library's, for cpu:0
};
// Throws Failure, with the names there are.
[[nodiscard]] Algorithm find_algorithm(const std::string& name, const std::string& parameters = {});

class Session {
 public:
  // Makes the files' places, so that what cannot be written shows before hours of measuring.
  // `rows`: how many there will be, for the estimate of the time left.
  Session(const BenchOptions& options, std::uint64_t rows);

  // Prints what is measured on, how fast a copy is there, and the table's heading.
  void begin(Bench& bench);
  // Measures, prints and keeps a row; what a device cannot do, or not within reasonable time, is a
  // row as well. With `impatient`, that goes for every algorithm and not only for those that take
  // N^2 comparisons. nullptr: interrupted.
  Row* measure(Bench& bench, const Algorithm& algorithm, const Case& c,
               const std::string& distribution, bool impatient = false);
  // Keeps and prints what a peer's program on this device has measured, or why it did not.
  void take(Bench& bench, Row row);
  void take_failure(const std::string& message);
  // Something that is not a row.
  void print(const std::string& text) { progress_.print(text); }

  // Goes into the JSON file, beside the rows.
  void note(const std::string& name, Row what) { about_[name] = std::move(what); }
  // Ratios to peers, and the files.
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
  std::map<std::string, Last> last_;          // of each series, for what its next size would take
  std::optional<Output> json_, csv_;
  int code_ = exit_success;
  Progress progress_;
};

}  // namespace app
