// The figures of `sortium report`: which results stand together, and what each plot and table of
// them says.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/data.hpp"

namespace app {

struct ReportFigure {
  std::string id;       // of the element in the page and of the SVG file
  std::string place;    // the device, and the method where it is not the benchmark's
  std::string title;    // plain text
  nlohmann::json spec;  // what report/charts.js draws
  std::string notes;    // HTML: what has no figure, and why
  std::string table;    // HTML: the same in numbers
};

// The same algorithm has the same colour and symbol in all plots of a page.
class SeriesStyles {
 public:
  [[nodiscard]] int of(const std::string& name) {
    return known_.try_emplace(name, static_cast<int>(known_.size())).first->second;
  }

 private:
  std::map<std::string, int> known_;
};

[[nodiscard]] std::vector<ReportFigure> make_figures(const ReportRun& run, SeriesStyles& styles);

// The fastest sorts, and how many results there are of each outcome. HTML.
[[nodiscard]] std::string make_highlights(const ReportRun& run);

[[nodiscard]] std::string escape_html(const std::string& text);
// Lower-case letters, digits and dashes.
[[nodiscard]] std::string slug(const std::string& text);

}  // namespace app
