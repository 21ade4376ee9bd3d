#include "report/data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/common.hpp"

namespace app {

namespace fs = std::filesystem;
using nlohmann::json;
using Outcome = ReportRow::Outcome;

namespace {

// A JSON object and its path, for messages. Members that are null count as absent.
class Object {
 public:
  Object(const json& value, std::string where) : value_(value), where_(std::move(where)) {
    if (!value_.is_object()) fail("is not an object");
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Failure(exit_usage, fmt::format("{} {}", where_, what));
  }
  [[nodiscard]] const json* find(const char* name) const {
    const auto it = value_.find(name);
    return it == value_.end() || it->is_null() ? nullptr : &*it;
  }
  [[nodiscard]] std::string member(const char* name) const {
    return fmt::format("{}{}{}", where_, where_.ends_with(':') ? " " : ".", name);
  }

  [[nodiscard]] std::string text(const char* name) const {
    const json* const j = find(name);
    if (j == nullptr) fail(fmt::format("has no member '{}'", name));
    return text_or(name, {});
  }
  [[nodiscard]] std::string text_or(const char* name, const std::string& otherwise) const {
    const json* const j = find(name);
    if (j == nullptr) return otherwise;
    if (!j->is_string()) wrong(name, *j, "text");
    return j->get<std::string>();
  }
  [[nodiscard]] std::optional<double> number(const char* name) const {
    const json* const j = find(name);
    if (j == nullptr) return {};
    // Within these limits, all quotients and products of figures are finite.
    constexpr double least = 1e-30, most = 1e30;
    const double value = j->is_number() ? j->get<double>() : -1;
    if (value != 0 && !(value >= least && value <= most))
      wrong(name, *j, fmt::format("0, or a number from {:g} to {:g}", least, most));
    return value;
  }
  [[nodiscard]] std::optional<std::uint64_t> count(const char* name) const {
    const json* const j = find(name);
    if (j == nullptr) return {};
    if (!j->is_number_unsigned()) wrong(name, *j, "a whole number that is not negative");
    return j->get<std::uint64_t>();
  }
  [[nodiscard]] bool flag(const char* name, bool otherwise) const {
    const json* const j = find(name);
    if (j == nullptr) return otherwise;
    if (!j->is_boolean()) wrong(name, *j, "true or false");
    return j->get<bool>();
  }
  // Returns the objects of a list; an empty list if it is absent.
  [[nodiscard]] std::vector<Object> list(const char* name) const {
    std::vector<Object> out;
    const json* const j = find(name);
    if (j == nullptr) return out;
    if (!j->is_array()) wrong(name, *j, "a list");
    for (std::size_t i = 0; i < j->size(); ++i)
      out.emplace_back((*j)[i], fmt::format("{}[{}]", member(name), i));
    return out;
  }

 private:
  [[noreturn]] void wrong(const char* name, const json& found, const std::string& allowed) const {
    std::string text = found.dump(-1, ' ', false, json::error_handler_t::replace);
    if (text.size() > 60) text = text.substr(0, 57) + "...";
    throw Failure(exit_usage, fmt::format("{} is {}: it must be {}", member(name), text, allowed));
  }

  const json& value_;
  std::string where_;
};

std::uint64_t records(const Object& row, const char* name) {
  const auto n = row.count(name);
  if (!n || *n == 0) row.fail(fmt::format("has no number of records, '{}'", name));
  return *n;
}

// Stores the time of a row, and whether the result is correct, which the measuring program has
// checked.
void take_figure(ReportRow& out, const Object& row, const char* seconds, bool correct) {
  out.seconds = row.number(seconds).value_or(0);
  if (out.seconds <= 0) row.fail(fmt::format("has no time, '{}'", seconds));
  out.outcome = correct ? Outcome::verified : Outcome::wrong;
}

std::vector<ReportPhase> phases(const Object& row) {
  std::vector<ReportPhase> out;
  for (const auto& p : row.list("phases"))
    out.push_back(
        {p.text("name"), p.number("seconds").value_or(0), p.count("launches").value_or(0)});
  return out;
}

std::string payload_name(const std::string& name) {
  if (name == "none" || name == "keys") return "keys";
  if (name == "values" || name == "u32") return "keys+values";
  return name.starts_with("keys") ? name : "keys+" + name;
}

void add_fact(ReportRun& run, const std::string& name, const std::string& value) {
  if (value.empty() || value == "unknown" ||
      std::ranges::find(run.facts, std::pair(name, value)) != run.facts.end())
    return;
  run.facts.emplace_back(name, value);
}

// Reads a file of `sortium bench --json`.
void read_bench(const Object& bench, ReportRun& run) {
  for (const auto& row : bench.list("results")) {
    ReportRow r;
    r.device = row.text_or("device", "unknown device");
    r.device_id = row.text_or("device_id", {});
    r.driver = row.text_or("driver", {});
    r.language = row.text_or("language", {});
    r.algorithm = row.text("algorithm");
    r.parameters = row.text_or("parameters", {});
    r.type = row.text("type");
    r.payload = payload_name(row.text_or("payload", "keys"));
    r.distribution = row.text_or("distribution", bench.text_or("distribution", "uniform"));
    r.bits = row.text_or("bits", {});
    r.n = records(row, "n");
    r.peer = row.flag("peer", r.device_id == "host");
    r.median_seconds = row.number("median_seconds");
    r.low_seconds = row.number("low_seconds");
    r.high_seconds = row.number("high_seconds");
    r.device_seconds = row.number("device_seconds");
    if (const auto rate = row.number("copy_gb_per_second"); rate && *rate > 0)
      r.copy_rate = *rate * 1e9;
    if (const auto bound = row.number("bound_mkeys_per_second"); bound && *bound > 0)
      r.bound = *bound * 1e6;
    r.bytes_moved = row.number("bytes_moved");
    r.ratio_to_best_peer = row.number("ratio_to_best_peer");
    r.run_length = row.count("run_length").value_or(0);
    if (r.run_length >= r.n) r.run_length = 0;
    r.phases = phases(row);
    if (const json* const paper = row.find("paper")) {
      const Object p(*paper, row.member("paper"));
      r.method =
          fmt::format("document {}, {}", p.text_or("document", "?"), p.text_or("table", "?"));
      if (const json* const figure = p.find("published"))
        r.published =
            fmt::format("{} {}", figure->is_string() ? figure->get<std::string>() : figure->dump(),
                        p.text_or("unit", {}));
    }
    if (const auto version = row.text_or("version", {}); r.peer && !version.empty())
      add_fact(run, r.algorithm, version);
    if (row.find("failed") != nullptr) {
      r.outcome = Outcome::failed;
      r.why = row.text("failed");
    } else if (row.find("skipped") != nullptr) {
      r.outcome = Outcome::skipped;
      r.why = row.text("skipped");
    } else {
      take_figure(r, row, "seconds", row.flag("verified", false));
    }
    run.rows.push_back(std::move(r));
  }
}

// Reads Boost.Compute's results as scripts/gpu-check stored them before it became a peer of
// `sortium bench`.
void read_boost(const Object& file, ReportRun& run) {
  for (const auto& row : file.list("results")) {
    ReportRow r;
    r.device = file.text("device");
    r.driver = file.text_or("driver", {});
    r.algorithm = file.text("peer");
    r.type = row.text("keys");
    r.payload = payload_name(row.text_or("payload", "none"));
    r.distribution = "uniform";
    r.n = records(row, "count");
    r.peer = true;
    take_figure(r, row, "seconds", row.flag("correct", false));
    run.rows.push_back(std::move(r));
  }
}

// Reads a file of bench/peers/compare: Sortium and CUB and Thrust, interleaved.
void read_compare(const Object& file, ReportRun& run) {
  for (const auto& row : file.list("rows")) {
    std::vector<std::string> spec;  // key:value:count:distribution[:begin-end]
    std::istringstream words(row.text("spec"));
    for (std::string word; std::getline(words, word, ':');) spec.push_back(word);
    if (spec.size() != 4 && spec.size() != 5)
      row.fail(fmt::format("has the spec {}, which is not key:value:count:distribution[:begin-end]",
                           row.text("spec")));
    const auto results = row.list("results");
    if (results.empty()) row.fail("has no 'results'");
    for (const auto& contender : results) {
      static const std::pair<const char*, const char*> names[] = {
          {"cub", "CUB radix"},
          {"cub-64-bit-count", "CUB radix, 64-bit count"},
          {"newer-cub", "newer CUB"},
          {"newer-cub-64-bit-count", "newer CUB, 64-bit count"},
          {"cub-merge", "CUB merge"},
          {"thrust", "Thrust"},
          {"sortium", "auto"},
          {"sortium-graph", "auto, CUDA graph"},
          {"sortium-opencl", "auto, OpenCL"}};
      const std::string name = contender.text("name");
      const auto* const known =
          std::ranges::find(names, name, [](const auto& pair) { return std::string(pair.first); });
      ReportRow r;
      r.device = file.text("device");
      r.driver = file.text_or("driver", {});
      r.algorithm = known == std::end(names) ? name : known->second;
      r.peer = !name.starts_with("sortium");
      if (!r.peer)
        r.parameters =
            fmt::format("{}: {}", row.text_or("algorithm", "?"), row.text_or("parameters", {}));
      r.type = spec[0];
      r.payload = payload_name(spec[1]);
      r.distribution = spec[3] == "nearly" ? "nearly sorted" : spec[3];
      if (spec.size() == 5) r.bits = spec[4];
      r.n = records(row, "count");
      r.method = "interleaved with CUB";
      r.device_seconds = contender.number("device_seconds");
      if (name == "sortium") r.phases = phases(row);
      take_figure(r, contender, "wait_seconds", contender.flag("correct", false));
      run.rows.push_back(std::move(r));
    }
  }
}

// Reads a file of bench/peers/cpu: Sortium and other sorts of host memory, interleaved.
void read_cpu_peers(const Object& file, ReportRun& run) {
  for (const auto& row : file.list("results")) {
    ReportRow r;
    r.device = file.text("processor");
    const auto threads = row.count("threads") ? row.count("threads") : file.count("threads");
    r.algorithm = row.text("sort");
    r.peer = !r.algorithm.starts_with("sortium");
    r.type = row.text("type");
    r.payload = payload_name(row.text_or("payload", "keys"));
    r.distribution = row.text_or("distribution", "uniform");
    r.n = records(row, "n");
    r.method = "interleaved with CPU sorts";
    if (threads) r.method += fmt::format(", {} thread{}", *threads, *threads == 1 ? "" : "s");
    take_figure(r, row, "seconds", row.flag("correct", false));
    run.rows.push_back(std::move(r));
  }
}

// Reads the rows and facts of a document. Returns false if `o` is not a document with results.
bool read_document(const Object& o, const std::string& path, ReportRun& run) {
  const auto number_fact = [&](const char* member, const char* name) {
    if (const auto value = o.count(member)) add_fact(run, name, std::to_string(*value));
  };
  if (o.find("rows") != nullptr && o.find("cub") != nullptr) {
    read_compare(o, run);
    const auto version = [&](const char* member, const char* name, unsigned major, unsigned minor,
                             unsigned patch) {
      if (const auto v = o.count(member))
        add_fact(run, name,
                 fmt::format("{}.{}.{}", *v / major, *v / minor % (major / minor),
                             *v / patch % (minor / patch)));
    };
    version("cub", "CUB", 100000, 100, 1);
    version("cuda", "CUDA toolkit", 1000, 10, 1);
  } else if (o.find("results") != nullptr && o.find("peer") != nullptr) {
    read_boost(o, run);
  } else if (o.find("results") != nullptr && o.find("boost") != nullptr &&
             o.find("processor") != nullptr) {
    read_cpu_peers(o, run);
    add_fact(run, "Boost", o.text_or("boost", {}));
    add_fact(run, "Highway", o.text_or("highway", {}));
    number_fact("threads", "threads");
  } else if (o.find("results") != nullptr) {
    read_bench(o, run);
    add_fact(run, "Sortium", o.text_or("sortium", {}));
    add_fact(run, "compiler", o.text_or("compiler", {}));
    if (const auto seconds = o.number("min_seconds"))
      add_fact(run, "sorting for each row", fmt::format("{} s at least", *seconds));
    add_fact(run, "protocol", o.text_or("protocol", {}));
    if (o.flag("interrupted", false))
      add_fact(run, "interrupted", path + " ended early: rows are missing");
  } else {
    return false;
  }
  return true;
}

// Throws Failure if the file cannot be read, is not JSON, or is nested deeper than results are: the
// parser would need as much stack as there are levels.
json parse(const std::string& path) {
  constexpr int most_levels = 32;
  const auto check_depth = [&](int depth, json::parse_event_t, json&) {
    if (depth > most_levels)
      throw Failure(exit_usage, fmt::format("{} is no file of results: its JSON is nested more "
                                            "than {} levels deep",
                                            path, most_levels));
    return true;
  };
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (in && in.peek() != std::ifstream::traits_type::eof()) text << in.rdbuf();
  if (in.bad() || !text || !in.is_open())
    throw Failure(exit_usage, fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  try {
    return json::parse(text.str(), check_depth);
  } catch (const json::exception& error) {
    throw Failure(exit_usage,
                  fmt::format("{} is not JSON, or only a part of it: {}", path, error.what()));
  }
}

// Reads the results of one file; no rows if it is something else.
ReportRun read_file(const std::string& path) {
  const json file = parse(path);
  ReportRun run;
  run.name = fs::path(path).stem().string();
  run.files.push_back(path);
  if (!file.is_object()) return run;
  const Object top(file, path + ":");
  add_fact(run, "date", top.text_or("date", {}));
  add_fact(run, "commit", top.text_or("commit", {}));
  add_fact(run, "processor", top.text_or("processor", {}));
  if (read_document(top, path, run)) return run;
  // A file of scripts/gpu-check has such documents as members, beside the results of its tests.
  for (const auto& [name, value] : file.items())
    if (value.is_object()) read_document(Object(value, top.member(name.c_str())), path, run);
  if (run.rows.empty()) return run;
  for (const char* backend : {"cuda", "opencl"})
    if (const json* const tests = top.find(fmt::format("tests-{}", backend).c_str())) {
      const Object t(*tests, top.member(fmt::format("tests-{}", backend).c_str()));
      const auto number = [&](const char* name) { return t.count(name).value_or(0); };
      add_fact(run, fmt::format("tests, {}", backend),
               fmt::format("{} cases; {} passed, {} failed", number("conformance_cases"),
                           number("conformance_passed"),
                           number("conformance_failed") + number("tests_failed")));
    }
  add_fact(run, "failed steps", top.text_or("failures", {}));
  return run;
}

bool same_run(const ReportRun& a, const ReportRun& b) {
  for (const char* name : {"commit", "processor"})
    if (a.fact(name).empty() || a.fact(name) != b.fact(name)) return false;
  return true;
}

constexpr const char* what_has_results =
    "what 'sortium bench --json', scripts/gpu-check or a program of bench/peers writes";

// Reads results, each file once.
class ResultReader {
 public:
  void read_named_file(const std::string& path) {
    if (!add(path))
      throw Failure(exit_usage,
                    fmt::format("{} has no results: it must be {}", path, what_has_results));
  }

  void read_directory(const std::string& path) {
    std::error_code error;
    fs::directory_iterator entries(path, error);
    if (error)
      throw Failure(exit_usage,
                    fmt::format("cannot read the directory {}: {}", path, error.message()));
    std::vector<std::string> files, others;
    for (const auto& entry : entries)
      if (entry.path().extension() == ".json" && entry.is_regular_file())
        files.push_back(entry.path().string());
    std::ranges::sort(files);
    for (const auto& file : files)
      if (!add(file)) others.push_back(file);
    if (others.size() == files.size())
      throw Failure(
          exit_usage,
          fmt::format(
              "the directory {} has no results: of the {} files called *.json in it none is {}",
              path, files.size(), what_has_results));
    data_.left_out.insert(data_.left_out.end(), others.begin(), others.end());
  }

  ReportData finish() && {
    // The newest run first; runs without a date last.
    std::ranges::stable_sort(data_.runs, std::ranges::greater{},
                             [](const ReportRun& r) { return r.fact("date"); });
    return std::move(data_);
  }

 private:
  // Returns true if the file has results. A file that was already read is not read again: the
  // result is then true.
  bool add(const std::string& path) {
    std::error_code error;  // a pipe has no other name
    auto real = fs::weakly_canonical(path, error);
    if (error) real = path;
    if (std::ranges::find(seen_, real) != seen_.end()) return true;
    ReportRun run = read_file(path);
    if (run.rows.empty()) return false;
    seen_.push_back(real);
    const auto same =
        std::ranges::find_if(data_.runs, [&](const ReportRun& r) { return same_run(r, run); });
    if (same == data_.runs.end()) {
      data_.runs.push_back(std::move(run));
      return true;
    }
    same->files.insert(same->files.end(), run.files.begin(), run.files.end());
    for (const auto& [name, value] : run.facts) add_fact(*same, name, value);
    same->rows.insert(same->rows.end(), std::make_move_iterator(run.rows.begin()),
                      std::make_move_iterator(run.rows.end()));
    return true;
  }

  ReportData data_;
  std::vector<fs::path> seen_;
};

}  // namespace

std::string ReportRun::fact(const std::string& wanted) const {
  for (const auto& [fact_name, value] : facts)
    if (fact_name == wanted) return value;
  return {};
}

ReportData read_results(const std::vector<std::string>& paths) {
  ResultReader reader;
  for (const auto& path : paths) {
    std::error_code error;
    const auto status = fs::status(path, error);
    if (!fs::exists(status))
      throw Failure(exit_usage,
                    fmt::format("cannot read {}: there is no such file or directory", path));
    if (fs::is_directory(status))
      reader.read_directory(path);
    else
      reader.read_named_file(path);
  }
  return std::move(reader).finish();
}

}  // namespace app
