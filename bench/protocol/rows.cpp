#include "protocol/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace app {

using sortium::Payload;
using sortium::Problem;

namespace {

double number(const Row& row, const char* field) { return row.value(field, 0.0); }
std::string text(const Row& row, const char* field) { return row.value(field, std::string{}); }
bool is_measured(const Row& row) { return row.contains("seconds"); }

// Returns the members that must be equal in comparable rows.
std::string problem_of(const Row& row) {
  return fmt::format("{:>11} {:<4} {:<14} {}", row.value("n", std::uint64_t{0}), text(row, "type"),
                     text(row, "payload"), text(row, "distribution"));
}

// Returns the fastest peer for each problem.
std::map<std::string, const Row*> best_peers(const std::vector<Row>& rows) {
  std::map<std::string, const Row*> best;
  for (const auto& row : rows) {
    if (!row.value("peer", false) || !is_whole_and_right(row)) continue;
    auto& known = best[problem_of(row)];
    if (known == nullptr || number(row, "median_seconds") < number(*known, "median_seconds"))
      known = &row;
  }
  return best;
}

std::string percent(const Row& row, const char* field) {
  return row.contains(field) && row[field].is_number()
             ? fmt::format("{:.2g} %", 100 * row[field].get<double>())
             : "-";
}

// Returns the algorithm's name, with the parameters that the user chose: "lsd",
// "bitonic(schedule=A)".
std::string title(const Row& row) {
  const std::string asked = text(row, "asked_parameters");
  return asked.empty() ? text(row, "algorithm")
                       : fmt::format("{}({})", text(row, "algorithm"), asked);
}

std::string quoted(const std::string& cell) {
  if (cell.find_first_of(",\"\n") == std::string::npos) return cell;
  std::string out;
  for (const char c : cell) out.append(c == '"' ? 2 : 1, c);
  return fmt::format("\"{}\"", out);
}

}  // namespace

std::string_view payload_name(Payload payload) {
  return payload == Payload::none     ? "keys"
         : payload == Payload::values ? "keys+values"
                                      : "keys+positions";
}

Row new_row(const std::string& algorithm, bool peer, const Problem& problem,
            const std::string& distribution) {
  Row row{{"algorithm", algorithm},
          {"peer", peer},
          {"type", sortium::info(problem.key).name},
          {"payload", payload_name(problem.payload)},
          {"n", problem.count},
          {"distribution", distribution}};
  if (problem.nan != sortium::NanOrder::last)
    row["nan"] = problem.nan == sortium::NanOrder::first ? "first" : "bits";
  if (problem.zeros != sortium::ZeroOrder::tied) row["zeros"] = "distinct";
  return row;
}

void set_device(Row& row, const std::string& id, const std::string& name, const std::string& driver,
                const std::string& language) {
  row["device_id"] = id;
  row["device"] = name;
  row["driver"] = driver;
  row["language"] = language;
}

void set_measurement(Row& row, const Measurement& m) {
  const auto known = [](auto x) { return x != 0 ? Row(x) : Row(nullptr); };
  const double n = row["n"].get<double>();
  row.update({{"parameters", m.parameters},
              {"seconds", m.seconds},
              {"median_seconds", m.median},
              {"low_seconds", m.low},
              {"high_seconds", m.high},
              {"device_seconds", known(m.device_seconds)},
              {"mkeys_per_second", m.seconds > 0 ? n / m.seconds * 1e-6 : 0},
              {"repetitions", m.repetitions},
              {"bytes_moved", known(m.bytes_moved)},
              {"verified", m.correct},
              {"run_length", m.run_length}});
  if (!m.phases.empty()) row["phases"] = Row::array();
  for (const auto& p : m.phases)
    row["phases"].push_back({{"name", p.name}, {"seconds", p.seconds}, {"launches", p.launches}});
}

void set_copy_rate(Row& row, double bytes_per_second) {
  const double n = row["n"].get<double>(),
               key = sortium::info(sortium::parse_key_type(text(row, "type"))).bytes;
  const std::string payload = text(row, "payload");
  const double bytes = payload == "keys"          ? 2 * key
                       : payload == "keys+values" ? 2 * (key + 4)
                                                  : 2 * key + 4;  // bytes of a record
  const double bound = bytes_per_second / bytes;
  row["copy_gb_per_second"] = bytes_per_second * 1e-9;
  row["bound_mkeys_per_second"] = bound * 1e-6;
  if (!is_measured(row)) return;
  const double seconds = number(row, "median_seconds");
  row["of_floor"] = seconds > 0 && bound > 0 ? Row(n / seconds / bound) : Row(nullptr);
  row["of_bound"] =
      seconds > 0 && bytes_per_second > 0 && row.value("bytes_moved", Row()).is_number()
          ? Row(row["bytes_moved"].get<double>() / bytes_per_second / seconds)
          : Row(nullptr);
}

bool is_whole_and_right(const Row& row) {
  const auto run = row.value("run_length", std::uint64_t{0});
  return is_measured(row) && row.value("verified", false) && number(row, "median_seconds") > 0 &&
         (run == 0 || run >= row.value("n", std::uint64_t{0}));
}

void set_ratios(std::vector<Row>& rows) {
  std::map<std::string, double> best;
  for (const auto& [problem, row] : best_peers(rows))
    best[problem] = number(*row, "median_seconds");
  for (auto& row : rows) {
    if (!is_measured(row)) continue;
    const auto it = best.find(problem_of(row));
    const bool comparable = it != best.end() && is_whole_and_right(row);
    row["ratio_to_best_peer"] =
        comparable ? Row(it->second / number(row, "median_seconds")) : Row(nullptr);
  }
}

std::string table_heading() {
  return fmt::format(
             "{:>10}  {:<22} {:<4} {:<11} {:<12} {:>10} {:>9} {:>10} {:>13} {:>10} {:>8} {:>8} "
             "{:>6}\n",
             "", "", "", "", "", "seconds", "", "", "quartiles", "device", "of", "of own", "") +
         fmt::format(
             "{:>10}  {:<22} {:<4} {:<11} {:<12} {:>10} {:>9} {:>10} {:>13} {:>10} {:>8} {:>8} "
             "{:>6}  {}\n",
             "records", "algorithm", "type", "payload", "keys", "a sort", "Mkey/s", "median", "",
             "seconds", "floor", "bound", "sorts", "result");
}

std::string table_line(const Row& row) {
  std::string line =
      fmt::format("{:>10}  {:<22} {:<4} {:<11} {:<12} ", row.value("n", std::uint64_t{0}),
                  title(row), text(row, "type"), text(row, "payload"), text(row, "distribution"));
  for (const char* what : {"skipped", "failed"})
    if (row.contains(what)) return line + fmt::format("{}: {}\n", what, text(row, what));
  const double median = number(row, "median_seconds");
  const auto from_median = [&](const char* field) {
    return median > 0 ? 100 * (number(row, field) / median - 1) : 0;
  };
  const auto run = row.value("run_length", std::uint64_t{0});
  return line + fmt::format("{:>10.3e} {:>9.4g} {:>10.3e} {:>13} {:>10} {:>8} {:>8} {:>6}  {}{}\n",
                            number(row, "seconds"), number(row, "mkeys_per_second"), median,
                            fmt::format("{:+.1f} {:+.1f} %", from_median("low_seconds"),
                                        from_median("high_seconds")),
                            row.value("device_seconds", Row()).is_number()
                                ? fmt::format("{:.3e}", row["device_seconds"].get<double>())
                                : "-",
                            percent(row, "of_floor"), percent(row, "of_bound"),
                            row.value("repetitions", std::uint64_t{0}),
                            row.value("verified", false) ? "verified" : "WRONG",
                            run != 0 && run < row.value("n", std::uint64_t{0})
                                ? fmt::format(", sorted runs of {} only", run)
                                : "");
}

std::string phases_line(const Row& row) {
  std::string line;
  for (const auto& p : row.value("phases", Row::array()))
    line += fmt::format("{}{} {:.3e} s ({})", line.empty() ? "            " : ", ", text(p, "name"),
                        number(p, "seconds"), p.value("launches", 0));
  return line.empty() ? line : line + "\n";
}

std::string ratio_lines(const std::vector<Row>& rows) {
  const auto best = best_peers(rows);
  if (best.empty()) return {};
  std::string out =
      "Ratios to the best peer (its median time / theirs; more than 1: faster than the peer)\n";
  for (const auto& [problem, peer] : best) {
    out += fmt::format("{}: {} on {}, {:.4g} Mkey/s;", problem, title(*peer),
                       text(*peer, "device_id"), number(*peer, "mkeys_per_second"));
    const char* separator = " ";
    for (const auto& row : rows) {
      if (&row == peer || problem_of(row) != problem ||
          !row.value("ratio_to_best_peer", Row()).is_number())
        continue;
      out += fmt::format("{}{} on {} {:.3g}", separator, title(row), text(row, "device_id"),
                         row["ratio_to_best_peer"].get<double>());
      separator = ", ";
    }
    out += '\n';
  }
  return out;
}

std::string csv(const std::vector<Row>& rows) {
  // Fields that may contain commas come last, so that simple tools can split the others.
  constexpr const char* fields[] = {"n",
                                    "type",
                                    "payload",
                                    "distribution",
                                    "algorithm",
                                    "peer",
                                    "device_id",
                                    "seconds",
                                    "median_seconds",
                                    "low_seconds",
                                    "high_seconds",
                                    "device_seconds",
                                    "mkeys_per_second",
                                    "repetitions",
                                    "verified",
                                    "run_length",
                                    "bytes_moved",
                                    "of_bound",
                                    "of_floor",
                                    "copy_gb_per_second",
                                    "bound_mkeys_per_second",
                                    "ratio_to_best_peer",
                                    "version",
                                    "device",
                                    "driver",
                                    "language",
                                    "parameters",
                                    "skipped",
                                    "failed"};
  std::string out;
  out += fmt::format("{}\n", fmt::join(fields, ","));
  for (const auto& row : rows) {
    std::vector<std::string> cells;
    for (const char* field : fields) {
      const Row cell = row.value(field, Row());
      cells.push_back(
          cell.is_null() ? "" : quoted(cell.is_string() ? cell.get<std::string>() : cell.dump()));
    }
    out += fmt::format("{}\n", fmt::join(cells, ","));
  }
  return out;
}

}  // namespace app
