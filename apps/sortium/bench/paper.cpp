#include "bench/paper.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "bench/session.hpp"
#include "cli/common.hpp"
#include "paper_tables.hpp"
#include "protocol/distributions.hpp"
#include "protocol/sizes.hpp"

namespace app {

using sortium::KeyType;
using sortium::Payload;
using sortium::Problem;

namespace {

// Returns the published tables, as in paper_tables.json.
const Row& documents() {
  static const Row all = Row::parse(paper_tables);
  return all;
}

// Formats a table. Columns are as wide as needed; the first one is left-aligned.
class Text {
 public:
  void add(std::vector<std::string> cells) { lines_.push_back(std::move(cells)); }
  [[nodiscard]] std::string text() const {
    std::vector<std::size_t> width;
    for (const auto& line : lines_) {
      width.resize(std::max(width.size(), line.size()));
      for (std::size_t i = 0; i < line.size(); ++i) width[i] = std::max(width[i], line[i].size());
    }
    std::string out;
    for (const auto& line : lines_) {
      out += fmt::format("  {:<{}}", line[0], width[0]);
      for (std::size_t i = 1; i < line.size(); ++i)
        out += fmt::format("  {:>{}}", line[i], width[i]);
      out += '\n';
    }
    return out;
  }

 private:
  std::vector<std::vector<std::string>> lines_;
};

std::string published(const Row& cell) {
  if (cell.is_null()) return "-";
  return cell.is_string() ? cell.get<std::string>() : fmt::format("{:.4g}", cell.get<double>());
}

// Returns why a row has no valid figure; empty if it has one.
std::string trouble(const Row& row) {
  for (const char* what : {"skipped", "failed"})
    if (row.contains(what)) return fmt::format("{}: {}", what, row[what].get<std::string>());
  return row["verified"].get<bool>() ? "" : "WRONG";
}

Problem problem_of(std::uint64_t n, Payload payload) {
  Problem p;
  p.count = n;
  p.payload = payload;
  return p;
}

// One document on one device.
class Paper {
 public:
  Paper(std::unique_ptr<Bench> bench, Bench& host, const BenchOptions& options, bool cpu)
      : bench_(std::move(bench)),
        host_(&host),
        options_(&options),
        cpu_(cpu),
        document_(&documents()[options.paper]) {
    if (!options.sizes.empty()) sizes_ = parse_sizes(options.sizes);
  }

  // Returns how many rows run() will make.
  [[nodiscard]] std::uint64_t rows() const {
    std::uint64_t count = 0;
    for (const auto& table : (*document_)["tables"]) {
      if (options_->paper == "003") {
        const bool particles =
            table["name"] == "Table 7";  // two figures for each variant, no std::sort
        if (chosen(table["n"])) count += particles ? 2 * variants().size() : variants().size() + 1;
        continue;
      }
      for (const auto& row : table["rows"])
        for (std::size_t i = 1; i < row.size(); ++i)
          if (!row[i].is_null()) count += sizes_of(table, row).size();
    }
    return count;
  }

  void run(Session& session) {
    session_ = &session;
    session_->print(fmt::format(
        "\n{}  {}\nDocument {}: {}; published: {}\n", bench_->id(), bench_->name(), options_->paper,
        (*document_)["title"].get<std::string>(), (*document_)["hardware"].get<std::string>()));
    for (const auto& table : (*document_)["tables"]) {
      if (interrupted()) return;
      notes_.clear();
      if (options_->paper == "000")
        rates(table);
      else if (table["name"] == "Table 7")
        particles(table);
      else
        phases(table);
    }
  }

 private:
  [[nodiscard]] bool chosen(std::uint64_t n) const {
    return sizes_.empty() || std::ranges::find(sizes_, n) != sizes_.end();
  }

  // Measures the sort that belongs to a published cell.
  const Row* measure(Bench& bench, const Algorithm& algorithm, const Case& c,
                     const std::string& distribution, const Row& table, const std::string& row,
                     const std::string& column, const Row& figure) {
    Row* const measured = session_->measure(bench, algorithm, c, distribution, true);
    if (measured == nullptr) return nullptr;
    (*measured)["paper"] = {
        {"document", options_->paper}, {"table", table["name"]}, {"row", row}, {"column", column},
        {"published", figure},         {"unit", table["unit"]}};
    if (const auto what = trouble(*measured); !what.empty())
      notes_.push_back(fmt::format("{}{}{}, {} records: {}", row, column.empty() ? "" : ", ",
                                   column, c.problem.count, what));
    return measured;
  }

  void show(const Row& table, const std::string& heading, const Text& text) {
    std::string out =
        fmt::format("\n{}{}\n{}", table["name"].get<std::string>(), heading, text.text());
    if (table.contains("note")) out += fmt::format("  {}\n", table["note"].get<std::string>());
    for (const auto& note : notes_) out += fmt::format("  {}\n", note);
    session_->print(out);
  }

  static bool by_size(const Row& table) { return table["rows_are"] == "log2 N"; }
  // Returns the sizes to measure for a row of document 000. If the rows are sizes, returns the
  // row's size, or nothing if --n excludes it. Else returns several sizes, of which the best result
  // counts.
  [[nodiscard]] std::vector<std::uint64_t> sizes_of(const Row& table, const Row& row) const {
    if (!by_size(table))
      return sizes_.empty() ? std::vector<std::uint64_t>{1u << 16, 1u << 20, 1u << 22} : sizes_;
    const auto n = std::uint64_t{1} << std::stoul(row[0].get<std::string>());
    return chosen(n) ? std::vector<std::uint64_t>{n} : std::vector<std::uint64_t>{};
  }

  // Document 000's tables: Mkey/s by the number of records, or by a parameter. For a
  // parameter, the best result of several sizes counts.
  void rates(const Row& table) {
    const std::string columns_are = table["columns_are"];
    Text text;
    std::vector<std::string> heading{table["rows_are"]};
    for (const std::string column : table["columns"]) {
      const std::string title = columns_are == "payload" ? column : columns_are + "=" + column;
      heading.push_back(title);
      heading.emplace_back("here");
    }
    text.add(heading);
    bool any = false;
    for (const auto& row : table["rows"]) {
      const std::string name = row[0];
      const auto sizes = sizes_of(table, row);
      if (sizes.empty() || interrupted()) continue;
      any = true;
      std::vector<std::string> line{name};
      for (std::size_t i = 0; i < table["columns"].size(); ++i) {
        const std::string column = table["columns"][i];
        const auto& figure = row[i + 1];
        line.push_back(published(figure));
        line.push_back(figure.is_null() ? "-" : best_rate(table, name, column, figure, sizes));
      }
      text.add(line);
    }
    if (any)
      show(table,
           fmt::format(" (\"{}\"), Mkey/s{}", table["page"].get<std::string>(),
                       by_size(table) ? "" : ", the best of all sizes"),
           text);
    else
      session_->print(fmt::format("\n{}: skipped, none of its sizes is in --n {}\n",
                                  table["name"].get<std::string>(), options_->sizes));
  }

  std::string best_rate(const Row& table, const std::string& row, const std::string& column,
                        const Row& figure, const std::vector<std::uint64_t>& sizes) {
    std::string parameters = table.value("parameters", ""), payload = table.value("payload", "");
    const auto axis = [&](const std::string& what, const std::string& value) {
      if (what == "payload")
        payload = value;
      else if (what != "log2 N")
        parameters += fmt::format("{}{}={}", parameters.empty() ? "" : ",", what, value);
    };
    axis(table["rows_are"], row);
    axis(table["columns_are"], column);
    const Algorithm algorithm = find_algorithm(table["algorithm"].get<std::string>(), parameters);
    double best = 0;
    for (const auto n : sizes) {
      const auto keys = [n](std::uint64_t first, std::uint64_t count, void* out) {
        make_keys("uniform", KeyType::u32, n, first, count, out);
      };
      const Problem p = problem_of(n, payload == "keys" ? Payload::none : Payload::values);
      const Row* const measured = measure(*bench_, algorithm, {p, keys, options_->min_seconds},
                                          "uniform", table, row, column, figure);
      if (measured == nullptr) break;
      if (trouble(*measured).empty())
        best = std::max(best, (*measured)["mkeys_per_second"].get<double>());
    }
    return best == 0 ? "-" : fmt::format("{:.4g}", best);
  }

  // A sort to measure: with the parameters that table 3 has for a device of this kind (CPU or GPU),
  // or with the default parameters.
  struct Variant {
    std::string title, parameters;
  };
  [[nodiscard]] std::vector<Variant> variants() const {
    const auto& theirs = (*document_)["parameters"][cpu_ ? "cpu" : "gpu"];
    return {{fmt::format("{}, table 3's {}", bench_->id(), theirs["device"].get<std::string>()),
             theirs["values"]},
            {fmt::format("{}, defaults", bench_->id()), ""}};
  }

  static std::vector<std::string> published_line(const Row& row) {
    std::vector<std::string> line{row[0].get<std::string>() + ", published"};
    for (std::size_t i = 1; i < row.size(); ++i) line.push_back(published(row[i]));
    return line;
  }

  [[nodiscard]] bool left_out(const Row& table) const {
    if (chosen(table["n"])) return false;
    session_->print(fmt::format("\n{}: skipped, its {} records are not in --n {}\n",
                                table["name"].get<std::string>(), table["n"].get<std::uint64_t>(),
                                options_->sizes));
    return true;
  }

  // Document 003's tables 4 to 6: seconds of each phase and in total, for keys of 30 bits.
  void phases(const Row& table) {
    if (left_out(table)) return;
    const std::uint64_t n = table["n"];
    const auto keys = [n](std::uint64_t first, std::uint64_t count, void* out) {
      make_keys("uniform", KeyType::u32, n, first, count, out);
      auto* const key = static_cast<std::uint32_t*>(out);
      for (std::uint64_t i = 0; i < count; ++i) key[i] >>= 32 - bits_;
    };
    const std::string distribution = "uniform below 2^30";
    Text text;
    std::vector<std::string> heading{"seconds"};
    for (const std::string column : table["columns"]) heading.push_back(column);
    text.add(heading);
    for (const auto& row : table["rows"]) text.add(published_line(row));

    const Row* const reference =
        measure(*host_, find_algorithm("std::sort"),
                {problem_of(n, Payload::none), keys, options_->min_seconds}, distribution, table,
                "STL C++ sort (optim.)", "total", nullptr);
    const double standard = reference != nullptr && trouble(*reference).empty()
                                ? (*reference)["median_seconds"].get<double>()
                                : 0;
    if (standard > 0)
      text.add({"std::sort, this host", "", "", "", "", fmt::format("{:.4g}", standard), "1"});
    for (const auto& [title, parameters] : variants()) {
      Problem p = problem_of(n, Payload::none);
      p.end_bit = bits_;
      const Row* const measured =
          measure(*bench_, find_algorithm("radix", parameters), {p, keys, options_->min_seconds},
                  distribution, table, title, "", nullptr);
      if (measured == nullptr) break;
      if (!trouble(*measured).empty()) continue;
      std::vector<std::string> line{title};
      for (const char* phase : {"transpose", "histogram", "scan", "reorder"}) {
        double seconds = 0;
        for (const auto& one : measured->value("phases", Row::array()))
          if (one["name"] == phase) seconds = one["seconds"];
        line.push_back(seconds == 0 ? "-" : fmt::format("{:.4g}", seconds));
      }
      const double total = (*measured)["median_seconds"];
      line.push_back(fmt::format("{:.4g}", total));
      line.push_back(standard > 0 ? fmt::format("{:.3g}", standard / total) : "-");
      text.add(line);
    }
    show(table,
         fmt::format(", {} keys; phases by the device's clock, total (median) by the host's; "
                     "speedup: over the STL's sort, not optimized; here over this host's std::sort",
                     n),
         text);
  }

  // Document 003's table 7: the second argsort of particles by cell, by all 30 bits and by the 10
  // bits of the cell's number.
  void particles(const Row& table) {
    if (left_out(table)) return;
    const auto cells = moved_cells(table["n"]);
    const auto keys = [&](std::uint64_t first, std::uint64_t count, void* out) {
      std::copy_n(cells.begin() + static_cast<std::ptrdiff_t>(first), count,
                  static_cast<std::uint32_t*>(out));
    };
    Text text;
    std::vector<std::string> heading{"seconds"};
    for (const std::string column : table["columns"]) heading.push_back(column);
    text.add(heading);
    for (const auto& row : table["rows"]) text.add(published_line(row));
    for (auto [title, parameters] : variants()) {
      // The published sorts make six or two passes, so their digits have 5 bits. Table 3's
      // parameters for CPUs have digits of 6 bits.
      if (!parameters.empty()) {
        const auto digit = parameters.find("r=6");
        if (digit != std::string::npos) parameters.replace(digit, 3, "r=5"), title += ", r = 5";
      }
      std::vector<std::string> line{title};
      for (const unsigned bits : {bits_, 10u}) {
        Problem p = problem_of(cells.size(), Payload::positions);
        p.end_bit = bits;
        const std::string column = bits == bits_ ? "p = 6" : "p = 2";
        const Row* const measured =
            measure(*bench_, find_algorithm("radix", parameters), {p, keys, options_->min_seconds},
                    "particles", table, title, column, nullptr);
        line.push_back(measured != nullptr && trouble(*measured).empty()
                           ? fmt::format("{:.4g}", (*measured)["median_seconds"].get<double>())
                           : "-");
      }
      line.emplace_back("-");
      text.add(line);
    }
    show(table,
         fmt::format(", {} particles, sorted by cell, moved, and sorted again; the second sort",
                     cells.size()),
         text);
  }

  // Van der Corput's sequence: the digits of i, mirrored at the point.
  static double radical_inverse(std::uint64_t i, unsigned base) {
    double value = 0, digit = 1;
    for (; i != 0; i /= base) value += static_cast<double>(i % base) * (digit /= base);
    return value;
  }

  // Returns the cell numbers of particles on a 32 x 32 grid after one time step. Before the step,
  // the particles were sorted by cell. In x and in y, a particle moves by less than a cell's side.
  // Positions (x, y) and velocities (u, v) are van der Corput sequences of the bases 2, 3, 5 and 7.
  static std::vector<std::uint32_t> moved_cells(std::uint64_t count) {
    constexpr std::uint32_t side = 32;
    const auto cell = [](double x, double y) {
      return side * static_cast<std::uint32_t>(x * side) + static_cast<std::uint32_t>(y * side);
    };
    const auto moved = [](double x, double u) { return std::fmod(x + u / side, 1.0); };
    std::vector<std::uint32_t> before(count), after(count), starts(side * side + 1), sorted(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      const double x = radical_inverse(i, 2), y = radical_inverse(i, 3), u = radical_inverse(i, 5),
                   v = radical_inverse(i, 7);
      before[i] = cell(x, y);
      after[i] = cell(moved(x, u), moved(y, v));
      ++starts[before[i] + 1];
    }
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    for (std::uint64_t i = 0; i < count; ++i) sorted[starts[before[i]]++] = after[i];
    return sorted;
  }

  static constexpr unsigned bits_ = 30;  // b in document 003's table 3

  Session* session_ = nullptr;  // set by run()
  std::unique_ptr<Bench> bench_;
  Bench* host_;
  const BenchOptions* options_;
  bool cpu_;
  const Row* document_;
  std::vector<std::uint64_t> sizes_;
  std::vector<std::string> notes_;  // of the current table
};

}  // namespace

const std::vector<std::string>& papers() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names;
    for (const auto& [name, document] : documents().items()) names.push_back(name);
    return names;
  }();
  return all;
}

int bench_paper(const BenchOptions& options) {
  std::vector<std::shared_ptr<sortium::Device>> devices;
  for (const auto& name : options.devices) devices.push_back(sortium::find_device(name));
  if (devices.empty()) devices.push_back(sortium::find_device({}, true));
  const auto host = make_host_bench();
  std::vector<Paper> papers;
  std::uint64_t rows = 0;
  for (const auto& device : devices) {
    papers.emplace_back(make_device_bench(device), *host, options,
                        device->info().claimed.kind == sortium::DeviceKind::cpu);
    rows += papers.back().rows();
  }
  Session session(options, rows);
  session.note("paper", documents()[options.paper]);
  keep_results_on_signals();
  for (auto& paper : papers)
    if (!interrupted()) paper.run(session);
  session.finish();
  return session.code();
}

}  // namespace app
