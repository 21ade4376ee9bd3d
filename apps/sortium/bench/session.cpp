#include "bench/session.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>

#include "cli/algorithms.hpp"
#include "cli/common.hpp"
#include "commit.hpp"

namespace app {

using sortium::Error;
using sortium::ErrorCode;

namespace {

constexpr double patience = 10;  // longest time that one sort may take, in seconds

std::string processor() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);)
    if (const auto colon = line.find(": ");
        line.starts_with("model name") && colon != std::string::npos)
      return line.substr(colon + 2);
  return "unknown";
}

Row about_this_run(const BenchOptions& options) {
#ifdef __clang__
  const std::string compiler = fmt::format("Clang {}", __clang_version__);
#else
  const std::string compiler = fmt::format("GCC {}", __VERSION__);
#endif
  return {
      {"sortium", sortium::version()},
      {"commit", commit},
      {"compiler", compiler},
      {"date",
       fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(
                                                std::chrono::system_clock::now())))},
      {"processor", processor()},
      {"protocol",
       "1, 2, 4, 8 ... sorts until min_seconds have passed, waiting for the end of each; records "
       "stay on the device; seconds = total / repetitions"},
      {"min_seconds", options.min_seconds}};
}

void write_file(std::optional<Output>& file, const std::string& text) {
  if (!file) return;
  file->write(text.data(), text.size());
  file->publish();
}

}  // namespace

Algorithm find_algorithm(const std::string& name, const std::string& parameters) {
  check_algorithm(name);
  Algorithm a{name, parameters, false, find_peer(name) != nullptr};
  for (const auto& known : sortium::algorithms())
    if (known.name == name) a.quadratic = known.quadratic, a.host = known.host;
  return a;
}

Session::Session(const BenchOptions& options, std::uint64_t rows)
    : options_(options), about_(about_this_run(options)), progress_(true) {
  if (!options.json.empty()) json_.emplace(options.json);
  if (!options.csv.empty()) csv_.emplace(options.csv);
  if (json_ && csv_ && json_->same_file(*csv_))
    throw Failure(exit_usage, fmt::format("--json {} and --csv {} are the same file", options.json,
                                          options.csv));
  progress_.phase("measuring", rows);
}

void Session::begin(Bench& bench) {
  print(
      fmt::format("{}  {}\n  {}; {}\n  copies of a large buffer: {:.1f} GB/s read and written\n"
                  "  of floor: share of the rate at which a copy moves each record once\n"
                  "  of own bound: the same, for all data that the algorithm must move\n{}",
                  bench.id(), bench.name(), bench.driver(), bench.language(),
                  copy_rate(bench) * 1e-9, table_heading()));
}

double Session::copy_rate(Bench& bench) {
  const auto [rate, is_new] = copy_rates_.try_emplace(bench.id());
  if (is_new) rate->second = bench.copy_rate(std::min(0.2, options_.min_seconds));
  return rate->second;
}

double Session::expected_seconds(Bench& bench, const Algorithm& algorithm, const Case& c,
                                 Last& last) {
  const std::uint64_t count = c.problem.count;
  // The first size of a series may be large: measure a small one first.
  if (algorithm.quadratic && last.count == 0 && count > quadratic_probe) {
    Case probe = c;
    probe.problem.count = quadratic_probe;
    probe.min_seconds = 1e-9;
    last = {quadratic_probe, bench.measure(algorithm.name, algorithm.parameters, probe).seconds};
  }
  if (last.count == 0) return 0;
  if (algorithm.quadratic) return quadratic_seconds(last.seconds, last.count, count);
  return last.seconds * static_cast<double>(count) / static_cast<double>(last.count);
}

Row* Session::measure(Bench& bench, const Algorithm& algorithm, const Case& c,
                      const std::string& distribution, bool impatient) {
  Row row = new_row(algorithm.name, algorithm.peer, c.problem, distribution);
  set_device(row, bench.id(), bench.name(), bench.driver(), bench.language());
  if (!algorithm.parameters.empty()) row["asked_parameters"] = algorithm.parameters;
  if (algorithm.peer) row["version"] = find_peer(algorithm.name)->version;
  progress_.label(fmt::format("{}, {} {} {}", algorithm.name, c.problem.count,
                              std::string(sortium::info(c.problem.key).name),
                              payload_name(c.problem.payload)));
  auto& last = last_[fmt::format("{} {} {} {} {} {}", bench.id(), algorithm.name,
                                 algorithm.parameters, sortium::info(c.problem.key).name,
                                 payload_name(c.problem.payload), distribution)];
  try {
    const double expected =
        algorithm.quadratic || impatient ? expected_seconds(bench, algorithm, c, last) : 0;
    if (expected > patience) {
      row["skipped"] = fmt::format("one sort would take about {:.0f} s", expected);
    } else {
      const Measurement m = bench.measure(algorithm.name, algorithm.parameters, c);
      if (interrupted()) return nullptr;
      last = {c.problem.count, m.seconds};
      set_measurement(row, m);
      if (!options_.phases && options_.paper.empty()) row.erase("phases");
    }
  } catch (const Error& error) {
    // A sort that the device does not support, or that fails, gets a row that says so. Other errors
    // end the benchmark.
    if (error.code() == ErrorCode::unsupported || error.code() == ErrorCode::out_of_memory) {
      row["skipped"] = error.what();
    } else if (error.code() == ErrorCode::build_failed ||
               error.code() == ErrorCode::device_failed) {
      row["failed"] = error.what();
      print_error(error.log());
    } else {
      throw;
    }
  }
  return keep(bench, std::move(row));
}

Row* Session::keep(Bench& bench, Row row) {
  set_copy_rate(row, copy_rate(bench));
  if (row.contains("skipped") || row.contains("failed")) row["verified"] = false;
  if (row.contains("failed"))
    worse(exit_runtime);
  else if (!row.contains("skipped") && !row["verified"].get<bool>())
    code_ = exit_wrong;
  if (options_.paper.empty())
    print(table_line(row) + phases_line(row));  // a paper's tables are printed as a whole
  progress_.advance(1);
  return &rows_.emplace_back(std::move(row));
}

void Session::take(Bench& bench, Row row) {
  row["device_id"] = bench.id();
  if (!row.contains("device")) row["device"] = bench.name();
  keep(bench, std::move(row));
}

void Session::take_failure(const std::string& message) {
  print(message + "\n");
  about_["peers_failed"].push_back(message);
  worse(exit_runtime);
}

void Session::finish() {
  progress_.finish();
  set_ratios(rows_);
  if (options_.paper.empty()) print(ratio_lines(rows_));
  about_["interrupted"] = interrupted();
  about_["results"] = rows_;
  write_file(json_, about_.dump(2) + "\n");
  write_file(csv_, csv(rows_));
}

}  // namespace app
