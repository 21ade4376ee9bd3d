#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/figures.hpp"
#include "report/tables.hpp"

namespace app {

using Outcome = ReportRow::Outcome;

std::string make_highlights(const ReportRun& run) {
  std::string out;
  const auto tile = [&](const std::string& value, const std::string& text, bool alarm = false) {
    out += fmt::format("<li{}><b>{}</b>{}</li>\n", alarm ? " class=\"alarm\"" : "", value, text);
  };
  // Show the fastest whole sort of each of the two kinds of records that have the most results.
  std::map<Subject, std::size_t> uses;
  for (const auto& r : run.rows) ++uses[subject_of(r)];
  std::vector<Subject> subjects;
  for (const auto& [subject, unused] : uses) subjects.push_back(subject);
  std::ranges::stable_sort(subjects, std::ranges::greater{},
                           [&](const Subject& s) { return uses[s]; });
  if (subjects.size() > 2) subjects.resize(2);
  std::ranges::sort(subjects);
  for (const auto& subject : subjects) {
    const ReportRow* best = nullptr;
    for (const auto& r : run.rows)
      if (subject_of(r) == subject && !r.peer && r.outcome == Outcome::verified &&
          r.run_length == 0 && r.distribution == "uniform" &&
          (best == nullptr || r.rate() > best->rate()))
        best = &r;
    if (best == nullptr) continue;
    const double rate = best->rate();
    tile(rate >= 1e9 ? fmt::format("{:.1f} Gkey/s", rate * 1e-9)
                     : fmt::format("{:.3g} Mkey/s", rate * 1e-6),
         fmt::format("{}, {} uniform records, <i>{}</i>, {}", escape_html(subject.text()),
                     size_html(best->n), escape_html(best->algorithm),
                     escape_html(best->device_id.empty() ? best->device : best->device_id)));
  }
  std::map<Outcome, std::size_t> outcomes;
  for (const auto& r : run.rows) ++outcomes[r.outcome];
  tile(fmt::format("{}", outcomes[Outcome::verified]), "results measured and verified");
  if (outcomes[Outcome::wrong] != 0)
    tile(fmt::format("{} WRONG", outcomes[Outcome::wrong]), "results are not sorted correctly",
         true);
  if (outcomes[Outcome::failed] != 0)
    tile(fmt::format("{} failed", outcomes[Outcome::failed]), "sorts ended with an error", true);
  if (outcomes[Outcome::skipped] != 0)
    tile(fmt::format("{} skipped", outcomes[Outcome::skipped]),
         "not supported by the device, or too slow");
  return "<ul class=\"tiles\">\n" + out + "</ul>\n";
}

}  // namespace app
