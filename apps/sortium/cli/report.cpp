// `sortium report`: results of benchmarks as one page, and their plots as SVG files.
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/common.hpp"

#ifdef SORTIUM_NO_REPORT

int app::report(const ReportOptions&) {
  throw Failure(exit_runtime, "this build makes no reports: " SORTIUM_NO_REPORT);
}

#else

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "io/output.hpp"
#include "report/data.hpp"
#include "report/embedded.hpp"
#include "report/figures.hpp"
#include "report/javascript.hpp"

namespace app {

namespace fs = std::filesystem;

namespace {

constexpr int page_width = 620, file_width = 860;  // pixels of a picture

struct Section {
  const ReportRun* run;
  std::string id;
  std::vector<ReportFigure> figures;
};

// The words of a run that tell it from others.
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
    // Peers' programs do not say all of it.
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

// page.html with these words in the places of their @names@.
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

std::string page(const ReportData& data, const std::vector<Section>& sections,
                 Javascript& javascript) {
  std::string body;
  nlohmann::json figures = nlohmann::json::object();
  if (sections.size() > 1) {
    body += "<nav aria-label=\"Contents\"><ul>\n";
    for (const auto& s : sections)
      body += fmt::format("<li><a href=\"#{}\">{}</a> <span class=\"muted\">{}</span></li>\n", s.id,
                          escape_html(heading(*s.run)), escape_html(subheading(*s.run)));
    body += "</ul></nav>\n";
  }
  for (const auto& s : sections) {
    body += fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n<p class=\"muted\">{}</p>\n{}", s.id,
                        escape_html(heading(*s.run)), escape_html(subheading(*s.run)),
                        make_highlights(*s.run));
    body += fmt::format("<details><summary>Devices, versions, method</summary>\n{}{}</details>\n",
                        devices_table(*s.run), facts_table(*s.run));
    std::string place;
    for (const auto& f : s.figures) {
      if (f.place != place) {
        if (!place.empty()) body += "</div>\n";
        place = f.place;
        body += fmt::format("<h3>{}</h3>\n<div class=\"figures\">\n", escape_html(place));
      }
      const std::string text = f.spec.dump();
      body += fmt::format(
          "<figure id=\"{0}\">\n<figcaption><h4>{1}</h4></figcaption>\n"
          "<div class=\"still\" role=\"img\" aria-label=\"{1}\">{2}</div>\n<div "
          "class=\"live\"></div>\n{3}"
          "<details><summary>In numbers</summary><div "
          "class=\"scroll\">{4}</div></details>\n</figure>\n",
          f.id, escape_html(f.title),
          javascript.call("charts", "svg", {text, "no", std::to_string(page_width), f.id}), f.notes,
          f.table);
      figures[f.id] = f.spec;
    }
    if (!place.empty()) body += "</div>\n";
    body += "</section>\n";
  }
  std::string footer =
      fmt::format("Made by sortium {} report; drawn by Apache ECharts.", sortium::version());
  for (const auto& file : data.left_out)
    footer += fmt::format("<br>Not shown, since it has no results: {}",
                          escape_html(fs::path(file).filename().string()));

  // In a script element some words that begin with < are special, and none in JSON need to.
  std::string numbers;
  for (const char c : figures.dump())
    if (c == '<')
      numbers += "\\u003c";
    else
      numbers += c;
  const std::string title = escape_html(heading(*sections.front().run)),
                    colours = javascript.call("charts", "css", {});
  return fill({{"title", title},
               {"colours", colours},
               {"css", report_files::page_css},
               {"body", body},
               {"footer", footer},
               {"figures", numbers},
               {"echarts", report_files::echarts_js},
               {"charts", report_files::charts_js},
               {"script", report_files::page_js}});
}

void write_file(Output& out, const std::string& text) {
  out.write(text.data(), text.size());
  out.publish();
}

}  // namespace

int report(const ReportOptions& options) {
  const ReportData data = read_results(options.results);
  for (const auto& run : data.runs)
    for (const auto& file : run.files) {
      std::error_code absent;
      if (fs::equivalent(file, options.out, absent))
        throw Failure(exit_usage,
                      fmt::format("the page would replace {}, which it is made of", file));
    }
  Output out(options.out);

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

  Javascript javascript;
  javascript.run("echarts.min.js", std::string(report_files::echarts_js));
  javascript.run("charts.js", std::string(report_files::charts_js));
  const std::string html = page(data, sections, javascript);

  // All is drawn before the first file is written.
  std::vector<std::pair<fs::path, std::string> > pictures;
  if (!options.svg.empty())
    for (const auto& s : sections)
      for (const auto& f : s.figures)
        pictures.emplace_back(
            fs::path(options.svg) / (f.id + ".svg"),
            javascript.call("charts", "svg",
                            {f.spec.dump(), "yes", std::to_string(file_width), "p"}));
  if (!options.svg.empty()) {
    std::error_code error;
    fs::create_directories(options.svg, error);
    if (error)
      throw Failure(exit_usage,
                    fmt::format("cannot make the directory {}: {}", options.svg, error.message()));
  }
  for (const auto& [path, text] : pictures) {
    Output picture(path.string());
    write_file(picture, text);
  }
  write_file(out, html);
  for (const auto& file : data.left_out)
    fmt::print(stderr, "sortium: {} has no results and is not shown\n", file);
  return exit_success;
}

}  // namespace app

#endif
