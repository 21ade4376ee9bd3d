// The input of `sortium report`: results in files of `sortium bench --json`,
// scripts/gpu-check and bench/peers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace app {

struct ReportPhase {
  std::string name;
  double seconds = 0;
  std::uint64_t launches = 0;
};

// One sort of one list by one algorithm: its times, or why there are none.
struct ReportRow {
  enum class Outcome : std::uint8_t { verified, wrong, failed, skipped };

  std::string device, device_id, driver, language;
  std::string algorithm, parameters;
  // The list: rows that agree in these members and in `n` sorted the same list.
  std::string type, payload, distribution, bits;
  std::uint64_t n = 0;
  // The method, if not that of `sortium bench`. Figures of different methods do not share a
  // plot.
  std::string method;
  bool peer = false;

  Outcome outcome = Outcome::skipped;
  std::string why;     // reason for failed or skipped
  double seconds = 0;  // 0: no figure
  std::optional<double> median_seconds, low_seconds, high_seconds, device_seconds;
  std::optional<double> copy_rate;  // bytes per second
  std::optional<double>
      bound;  // records per second, if each record were moved once at the rate of a copy
  std::optional<double> bytes_moved;  // least number that the algorithm moves
  std::optional<double> ratio_to_best_peer;
  std::string published;         // the figure in the published table; empty: none
  std::uint64_t run_length = 0;  // of a partial sort; 0: sorts the whole list
  std::vector<ReportPhase> phases;

  [[nodiscard]] bool measured() const { return seconds > 0; }
  [[nodiscard]] double rate() const { return measured() ? static_cast<double>(n) / seconds : 0; }
};

// The measurements of one commit on one machine: one file, or several files that agree in
// both.
struct ReportRun {
  std::string name;  // name of its first file, without directories and extension
  std::vector<std::string> files;
  std::vector<std::pair<std::string, std::string>>
      facts;  // date, commit, versions, in the order of the page
  std::vector<ReportRow> rows;

  [[nodiscard]] std::string fact(const std::string& name) const;  // empty: unknown
};

struct ReportData {
  std::vector<ReportRun> runs;
  std::vector<std::string> left_out;  // JSON files in a directory that have no results
};

// Reads files, and all *.json files of directories. Throws Failure, naming the file and the
// member, if a value is invalid, and if there are no results.
[[nodiscard]] ReportData read_results(const std::vector<std::string>& paths);

}  // namespace app
