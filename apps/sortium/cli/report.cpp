// `sortium report`: results of benchmarks as one page, and their plots as SVG files.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.hpp"
#include "cli/common.hpp"

namespace app {

namespace {

struct ReportOptions {
  std::vector<std::string> results;  // files and directories
  std::string out;
  std::string svg;  // a directory; empty: no SVG files
};

int report(const ReportOptions& options);

}  // namespace

void add_report(CLI::App& cli, Action& action) {
  const auto o = std::make_shared<ReportOptions>();
  auto* const command =
      cli.add_subcommand("report", "Make a web page with plots of benchmark results");
  command
      ->add_option("RESULTS", o->results,
                   "Result files of 'sortium bench --json', scripts/gpu-check or bench/peers, or "
                   "directories of such files")
      ->required()
      ->type_name("");
  command->add_option("-o,--output", o->out, "File for the page; - is standard output")
      ->required()
      ->type_name("OUT");
  command->add_option("--svg", o->svg, "Also write each plot as an SVG file into this directory")
      ->type_name("DIR");
  command->footer(
      "Examples:\n  sortium report bench/results -o report.html\n"
      "  sortium report here.json there.json -o both.html --svg pictures");
  command->callback([o, &action] { action = [o] { return report(*o); }; });
}

}  // namespace app

#ifdef SORTIUM_NO_REPORT

namespace app {

namespace {

int report(const ReportOptions&) {
  throw Failure(exit_runtime, "this build cannot make reports: " SORTIUM_NO_REPORT);
}

}  // namespace

}  // namespace app

#else

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/progress.hpp"
#include "io/output.hpp"
#include "report/data.hpp"
#include "report/embedded.hpp"
#include "report/figures.hpp"
#include "report/javascript.hpp"
#include "report/tables.hpp"

namespace app {

namespace fs = std::filesystem;

namespace {

constexpr int page_width = 620, file_width = 860;  // of a plot, in pixels

struct Section {
  const ReportRun* run;
  std::string id;
  std::vector<ReportFigure> figures;
};

// Returns the names of the run's devices.
std::string heading(const ReportRun& run) {
  std::vector<std::string> devices;
  for (const auto& r : run.rows)
    if (!r.peer && std::ranges::find(devices, r.device) == devices.end())
      devices.push_back(r.device);
  if (devices.empty()) devices.push_back(run.rows.front().device);
  return fmt::format("{}", fmt::join(devices, ", "));
}
std::string subheading(const ReportRun& run) {
  std::string out = run.name;
  if (const auto date = run.fact("date"); !date.empty()) out = date + " · " + out;
  if (const auto commit = run.fact("commit"); !commit.empty())
    out += " · commit " + commit.substr(0, 7) +
           (commit.ends_with("with changes") ? " with changes" : "");
  return out;
}

std::string devices_table(const ReportRun& run) {
  std::string out =
      "<div class=\"scroll\"><table class=\"words\">\n<thead><tr><th>device</th><th>known "
      "as</th><th>driver</th><th>compiler of kernels</th>"
      "<th>a large copy</th></tr></thead>\n<tbody>\n";
  std::set<std::string> seen;
  for (const auto& r : run.rows) {
    // Skip rows of peers' programs that repeat a device with less detail.
    if (r.device_id.empty() && std::ranges::any_of(run.rows, [&](const auto& other) {
          return other.device == r.device && other.driver == r.driver && !other.device_id.empty();
        }))
      continue;
    const auto key = fmt::format("{}|{}|{}|{}", r.device, r.device_id, r.driver, r.language);
    if (!seen.insert(key).second) continue;
    out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                       escape_html(r.device), escape_html(r.device_id), escape_html(r.driver),
                       escape_html(r.language),
                       r.copy_rate ? fmt::format("{:.4g} GB/s", *r.copy_rate * 1e-9) : "");
  }
  return out + "</tbody></table></div>\n";
}

std::string facts_table(const ReportRun& run) {
  std::string out = "<div class=\"scroll facts\"><table>\n<tbody>\n";
  for (const auto& [name, value] : run.facts)
    out += fmt::format("<tr{}><th scope=\"row\">{}</th><td>{}</td></tr>\n",
                       name == "failed steps" || name == "interrupted" ? " class=\"alarm\"" : "",
                       escape_html(name), escape_html(value));
  for (const auto& file : run.files)
    out += fmt::format("<tr><th scope=\"row\">file</th><td>{}</td></tr>\n",
                       escape_html(fs::path(file).filename().string()));
  return out + "</tbody></table></div>\n";
}

// Returns page.html with its @names@ replaced.
std::string fill(const std::map<std::string_view, std::string_view>& words) {
  std::string out;
  for (std::string_view rest = report_files::page_html;;) {
    const auto at = rest.find('@'), end = rest.find('@', at + 1);
    out += rest.substr(0, at);
    if (at == rest.npos) return out;
    out += words.at(rest.substr(at + 1, end - at - 1));
    rest.remove_prefix(end + 1);
  }
}

std::string contents(const std::vector<Section>& sections) {
  std::string out = "<nav aria-label=\"Contents\"><ul>\n";
  for (const auto& s : sections)
    out += fmt::format("<li><a href=\"#{}\">{}</a> <span class=\"muted\">{}</span></li>\n", s.id,
                       escape_html(heading(*s.run)), escape_html(subheading(*s.run)));
  return out + "</ul></nav>\n";
}

std::string figure_html(const ReportFigure& f, Javascript& javascript) {
  return fmt::format(
      "<figure id=\"{0}\">\n<figcaption><h4>{1}</h4></figcaption>\n"
      "<div class=\"still\" role=\"img\" aria-label=\"{1}\">{2}</div>\n<div "
      "class=\"live\"></div>\n{3}"
      "<details><summary>In numbers</summary><div "
      "class=\"scroll\">{4}</div></details>\n</figure>\n",
      f.id, escape_html(f.title),
      javascript.call("charts", "svg", {f.spec.dump(), "no", std::to_string(page_width), f.id}),
      f.notes, f.table);
}

std::string section_html(const Section& s, Javascript& javascript, Progress& progress) {
  std::string out = fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n<p class=\"muted\">{}</p>\n{}",
                                s.id, escape_html(heading(*s.run)), escape_html(subheading(*s.run)),
                                make_highlights(*s.run));
  out += fmt::format("<details><summary>Devices, versions, method</summary>\n{}{}</details>\n",
                     devices_table(*s.run), facts_table(*s.run));
  std::string place;
  for (const auto& f : s.figures) {
    if (f.place != place) {
      if (!place.empty()) out += "</div>\n";
      place = f.place;
      out += fmt::format("<h3>{}</h3>\n<div class=\"figures\">\n", escape_html(place));
    }
    out += figure_html(f, javascript);
    progress.advance(1);
  }
  if (!place.empty()) out += "</div>\n";
  return out + "</section>\n";
}

// Returns the specifications of all figures as JSON that may stand in a script element: there, some
// words that begin with < are special.
std::string figures_json(const std::vector<Section>& sections) {
  nlohmann::json figures = nlohmann::json::object();
  for (const auto& s : sections)
    for (const auto& f : s.figures) figures[f.id] = f.spec;
  std::string out;
  for (const char c : figures.dump())
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  return out;
}

std::string page(const ReportData& data, const std::vector<Section>& sections,
                 Javascript& javascript, Progress& progress) {
  std::string body = sections.size() > 1 ? contents(sections) : "";
  for (const auto& s : sections) body += section_html(s, javascript, progress);
  std::string footer =
      fmt::format("Made by sortium {} report; drawn by Apache ECharts.", sortium::version());
  for (const auto& file : data.left_out)
    footer += fmt::format("<br>Not shown, because it has no results: {}",
                          escape_html(fs::path(file).filename().string()));
  const std::string title = escape_html(heading(*sections.front().run)),
                    colours = javascript.call("charts", "css", {}),
                    figures = figures_json(sections);
  return fill({{"title", title},
               {"colours", colours},
               {"css", report_files::page_css},
               {"body", body},
               {"footer", footer},
               {"figures", figures},
               {"echarts", report_files::echarts_js},
               {"charts", report_files::charts_js},
               {"script", report_files::page_js}});
}

void write_file(Output& out, const std::string& text) {
  out.write(text.data(), text.size());
  out.publish();
}

void check_is_no_input(const std::string& out, const ReportData& data) {
  for (const auto& run : data.runs)
    for (const auto& file : run.files) {
      std::error_code absent;
      if (fs::equivalent(file, out, absent))
        throw Failure(exit_usage, fmt::format("-o {}: the page would replace {}, a file of results",
                                              out, file));
    }
}

std::vector<Section> make_sections(const ReportData& data) {
  SeriesStyles styles;
  std::set<std::string> ids;
  const auto unique = [&](const std::string& id) {
    std::string free = id;
    for (int i = 2; !ids.insert(free).second; ++i) free = fmt::format("{}-{}", id, i);
    return free;
  };
  std::vector<Section> sections;
  for (const auto& run : data.runs) {
    Section& s = sections.emplace_back(
        Section{&run, unique("run-" + slug(run.name)), make_figures(run, styles)});
    for (auto& f : s.figures) f.id = unique(f.id);
  }
  return sections;
}

using Pictures = std::vector<std::pair<fs::path, std::string> >;

Pictures make_pictures(const fs::path& directory, const std::vector<Section>& sections,
                       Javascript& javascript, Progress& progress) {
  Pictures out;
  for (const auto& s : sections)
    for (const auto& f : s.figures) {
      out.emplace_back(directory / (f.id + ".svg"),
                       javascript.call("charts", "svg",
                                       {f.spec.dump(), "yes", std::to_string(file_width), "p"}));
      progress.advance(1);
    }
  return out;
}

void write_pictures(const std::string& directory, const Pictures& pictures) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error)
    throw Failure(exit_usage, fmt::format("--svg {}: cannot make the directory: {}", directory,
                                          error.message()));
  for (const auto& [path, text] : pictures) {
    Output picture(path.string());
    write_file(picture, text);
  }
}

int report(const ReportOptions& options) {
  remove_temporaries_on_signals();
  Progress progress(true);
  progress.phase("reading results");
  const ReportData data = read_results(options.results);
  check_is_no_input(options.out, data);
  Output out(options.out);

  const auto sections = make_sections(data);
  std::uint64_t figures = 0;
  for (const auto& s : sections) figures += s.figures.size();
  progress.phase("drawing", options.svg.empty() ? figures : 2 * figures);
  Javascript javascript;
  javascript.run("echarts.min.js", std::string(report_files::echarts_js));
  javascript.run("charts.js", std::string(report_files::charts_js));

  // Draw everything before the first file is written.
  const std::string html = page(data, sections, javascript, progress);
  const Pictures pictures =
      options.svg.empty() ? Pictures{} : make_pictures(options.svg, sections, javascript, progress);
  if (!options.svg.empty()) write_pictures(options.svg, pictures);
  write_file(out, html);
  progress.finish();
  for (const auto& file : data.left_out)
    print_message(fmt::format("{} has no results and is not shown", file));
  return exit_success;
}

}  // namespace

}  // namespace app

#endif
