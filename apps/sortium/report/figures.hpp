// The figures of `sortium report`: which results are shown together, and the contents of each
// plot and table.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/data.hpp"

namespace app {

struct ReportFigure {
  std::string id;       // id of the element in the page, and name of the SVG file
  std::string place;    // the device, and the method if it is not that of `sortium bench`
  std::string title;    // plain text
  nlohmann::json spec;  // input of report/charts.js
  std::string notes;    // HTML: sorts without a figure, with reasons
  std::string table;    // HTML: the figures as numbers
};

// Gives each algorithm the same colour and symbol in all plots of a page.
class SeriesStyles {
 public:
  [[nodiscard]] int of(const std::string& name) {
    return known_.try_emplace(name, static_cast<int>(known_.size())).first->second;
  }

 private:
  std::map<std::string, int> known_;
};

[[nodiscard]] std::vector<ReportFigure> make_figures(const ReportRun& run, SeriesStyles& styles);

// Returns the fastest sorts, and the number of results of each outcome, as HTML.
[[nodiscard]] std::string make_highlights(const ReportRun& run);

}  // namespace app
