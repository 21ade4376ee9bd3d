// What `sortium report` shows: the results in files of `sortium bench --json`, scripts/gpu-check
// and bench/peers.
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

// One algorithm, once, on one list: what it took, or why there is no such figure.
struct ReportRow {
  enum class Outcome : std::uint8_t { verified, wrong, failed, skipped };

  std::string device, device_id, driver, language;
  std::string algorithm, parameters;
  // Which list: rows that agree in these and in `n` sorted the same.
  std::string type, payload, distribution, bits;
  std::uint64_t n = 0;
  // Who measured, where it was not `sortium bench`: figures of different methods share no plot.
  std::string method;
  bool peer = false;

  Outcome outcome = Outcome::skipped;
  std::string why;     // failed or skipped
  double seconds = 0;  // 0 where there is no figure
  std::optional<double> median_seconds, low_seconds, high_seconds, device_seconds;
  std::optional<double> copy_rate;  // bytes per second
  std::optional<double> bound;  // records per second: each record moved once at the rate of a copy
  std::optional<double> bytes_moved;  // by the algorithm, at least
  std::optional<double> ratio_to_best_peer;
  std::string published;  // what stands in the table that was measured anew; empty: there is none
  std::uint64_t run_length = 0;  // of a partial sort; 0: the whole list
  std::vector<ReportPhase> phases;

  [[nodiscard]] bool measured() const { return seconds > 0; }
  [[nodiscard]] double rate() const { return measured() ? static_cast<double>(n) / seconds : 0; }
};

// What was measured at one commit on one machine: one file, or several that say so.
struct ReportRun {
  std::string name;  // of its first file, without directories and extension
  std::vector<std::string> files;
  std::vector<std::pair<std::string, std::string>>
      facts;  // date, commit, versions, in the order to be shown
  std::vector<ReportRow> rows;

  [[nodiscard]] std::string fact(const std::string& name) const;  // empty where there is none
};

struct ReportData {
  std::vector<ReportRun> runs;
  std::vector<std::string> left_out;  // files of a directory that are JSON, and no results
};

// Of files, and of directories' *.json. Throws Failure, with the file and the member, where one is
// not what it should be, and where there is nothing to show.
[[nodiscard]] ReportData read_results(const std::vector<std::string>& paths);

}  // namespace app
