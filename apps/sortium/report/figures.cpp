#include "report/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <tuple>

#include "report/tables.hpp"

namespace app {

using nlohmann::json;
using Outcome = ReportRow::Outcome;

namespace {

// Rounds to four digits: enough for a plot, and they keep the page small.
double rounded(double x) { return std::strtod(fmt::format("{:.3e}", x).c_str(), nullptr); }

std::string duration(double seconds) {
  for (const auto& [unit, name] : {std::pair(1.0, "s"), {1e-3, "ms"}, {1e-6, "µs"}})
    if (seconds >= unit) return fmt::format("{:.3g} {}", seconds / unit, name);
  return fmt::format("{:.3g} ns", seconds * 1e9);
}

// Returns the lines of a figure's tooltip, beside its rate.
json details(const ReportRow& r, std::optional<double> ratio) {
  json out = json::array();
  const auto line = [&](const char* name, const std::string& value) {
    out.push_back(json::array({name, value}));
  };
  line("time of a sort", duration(r.seconds));
  if (ratio) line("times the best peer", fmt::format("{:.3g}", *ratio));
  if (r.median_seconds) line("median", duration(*r.median_seconds));
  if (r.low_seconds && r.high_seconds)
    line("middle half", duration(*r.low_seconds) + " to " + duration(*r.high_seconds));
  if (r.device_seconds) line("on the device", duration(*r.device_seconds));
  if (r.bound) line("of one copy's rate", fmt::format("{:.3g} %", 100 * r.rate() / *r.bound));
  if (r.bytes_moved && r.copy_rate)
    line("of its own bound",
         fmt::format("{:.3g} %", 100 * *r.bytes_moved / r.seconds / *r.copy_rate));
  if (!r.published.empty()) line("published", r.published);
  if (r.run_length != 0) line("sorted runs of", grouped(r.run_length));
  if (!r.parameters.empty()) line("parameters", r.parameters);
  if (r.outcome == Outcome::wrong) line("result", "WRONG");
  return out;
}

json series_json(const Series& s, SeriesStyles& styles) {
  return {{"name", s.name}, {"style", s.name == "auto" ? -1 : styles.of(s.name)}, {"peer", s.peer}};
}

double mkeys(const ReportRow& r) { return r.rate() * 1e-6; }

// Makes the figures of one device and one method of measuring. They include the peers that sorted
// the same lists.
class Place {
 public:
  Place(const ReportRun& run, SeriesStyles& styles, const ReportRow& first, Rows rows)
      : run_(run), styles_(styles), rows_(std::move(rows)), first_(first) {
    name_ = first.device;
    if (!first.device_id.empty()) name_ += " · " + first.device_id;
    if (!first.method.empty()) name_ += " · " + first.method;
    about_ = name_;
    if (const auto commit = run.fact("commit"); !commit.empty())
      about_ += " · " + commit.substr(0, 7);
    if (const auto date = run.fact("date"); !date.empty()) about_ += " · " + date.substr(0, 10);
  }

  std::vector<ReportFigure> figures() {
    std::vector<Subject> subjects;
    for (const auto* r : rows_)
      if (std::ranges::find(subjects, subject_of(*r)) == subjects.end())
        subjects.push_back(subject_of(*r));
    Rows few;
    for (const auto& subject : subjects) {
      Rows its;
      for (const auto* r : rows_)
        if (subject_of(*r) == subject) its.push_back(r);
      const std::string main = main_distribution(its);
      Rows plain;
      for (const auto* r : its)
        if (r->distribution == main) plain.push_back(r);
      const auto shown = distributions(subject, its);
      const bool line = count_sizes(plain) > 2;  // two points do not make a line
      if (line) {
        throughput(subject, main, plain);
        ratios(subject, main, plain);
      }
      for (const auto* r : its)
        if (!shown.contains(r->n) && !(line && r->distribution == main)) few.push_back(r);
      phases(subject, main, plain);
    }
    if (!few.empty()) few_sizes(few);
    std::ranges::stable_sort(out_, {}, [](const auto& f) { return f.first; });
    std::vector<ReportFigure> out;
    for (auto& [unused, figure] : out_) out.push_back(std::move(figure));
    return out;
  }

 private:
  static std::string main_distribution(const Rows& rows) {
    std::map<std::string, std::size_t> uses;
    for (const auto* r : rows) ++uses[r->distribution];
    if (uses.contains("uniform")) return "uniform";
    return std::ranges::max_element(uses, {}, [](const auto& use) { return use.second; })->first;
  }
  static std::size_t count_sizes(const Rows& rows) {
    std::set<std::uint64_t> sizes;
    for (const auto* r : rows) sizes.insert(r->n);
    return sizes.size();
  }

  // Ordered as on the page.
  enum class Kind : std::uint8_t { rates, few_sizes, distributions, phases };

  void add(Kind kind, const std::string& word, const Subject& subject, const std::string& title,
           json spec, const std::vector<Series>& all, std::string table) {
    ReportFigure f;
    f.place = name_;
    f.title = title;
    f.id = slug(fmt::format(
        "{} {} {} {}", run_.name,
        first_.device_id.empty() ? first_.device + " " + first_.method : first_.device_id, word,
        subject.type.empty() ? "" : subject.type + " " + subject.payload + " " + subject.bits));
    spec["title"] = title;
    spec["about"] = about_;
    f.spec = std::move(spec);
    f.notes = notes_of(all);
    f.table = std::move(table);
    out_.emplace_back(kind, std::move(f));
  }

  // Makes series of points over the number of records. A failed sort is a point without a
  // value.
  template <class Value>
  json lines(const std::vector<Series>& all, const Value& value) {
    json list = json::array();
    for (const auto& s : all) {
      json one = series_json(s, styles_);
      one["points"] = one["lost"] = json::array();
      Rows its = s.rows;
      std::ranges::sort(its, {}, &ReportRow::n);
      for (const auto* r : its) {
        if (r->measured())
          one["points"].push_back({r->n, rounded(value(*r)), r->outcome == Outcome::wrong ? 1 : 0,
                                   details(*r, ratio(*r))});
        else if (r->outcome == Outcome::failed)
          one["lost"].push_back({r->n, r->why});
      }
      list.push_back(std::move(one));
    }
    return list;
  }

  void throughput(const Subject& subject, const std::string& distribution, const Rows& rows) {
    const auto size = [](const ReportRow& r) { return r.n; };
    const auto all = series_of(rows, ordered_by(size));
    json list = lines(all, [](const ReportRow& r) { return r.rate(); });
    json spec{{"kind", "lines"},
              {"unit", "key/s"},
              {"log", true},
              {"series", std::move(list)},
              {"marks", json::array()}};
    for (const auto* r : rows)
      if (!r->peer && r->bound) {
        spec["marks"].push_back(
            {{"name", "bound: each record copied once"}, {"value", rounded(*r->bound)}});
        break;
      }
    add(Kind::rates, "throughput", subject,
        fmt::format("Throughput: {}, {}", subject.text(), distribution), std::move(spec), all,
        table_of(all, {size_head(), "Mkey/s", ordered_by(size), size_label, mkeys}));
  }

  // Returns the ratio of the row's rate to that of the best peer that sorted the same list. Returns
  // nothing for peers and for partial sorts.
  [[nodiscard]] std::optional<double> ratio(const ReportRow& r) const {
    if (r.peer || !r.measured() || r.run_length != 0) return {};
    if (r.ratio_to_best_peer) return r.ratio_to_best_peer;
    double best = 0;
    for (const auto* other : rows_)
      if (other->peer && other->outcome == Outcome::verified && other->n == r.n &&
          other->distribution == r.distribution && subject_of(*other) == subject_of(r))
        best = std::max(best, other->rate());
    if (best == 0) return {};
    return r.rate() / best;
  }

  void ratios(const Subject& subject, const std::string& distribution, const Rows& rows) {
    Rows compared;
    for (const auto* r : rows)
      if (ratio(*r)) compared.push_back(r);
    if (compared.empty()) return;
    const auto size = [](const ReportRow& r) { return r.n; };
    const auto all = series_of(compared, ordered_by(size));
    json list = lines(all, [&](const ReportRow& r) { return *ratio(r); });
    json spec{{"kind", "lines"},
              {"unit", "×"},
              {"log", false},
              {"series", std::move(list)},
              {"marks", json::array({json{{"name", "the best peer"}, {"value", 1}}})}};
    add(Kind::rates, "ratio", subject,
        fmt::format("Ratio to the best peer: {}, {}", subject.text(), distribution),
        std::move(spec), all,
        table_of(all, {size_head(), "times the best peer's rate", ordered_by(size), size_label,
                       [&](const ReportRow& r) { return *ratio(r); }}));
  }

  // Makes a frame: points of the series in rows with these labels.
  template <class Label>
  json dots(const std::vector<Series>& all, const Rows& rows, const Label& label) {
    json frame{{"categories", json::array()}, {"series", json::array()}};
    std::vector<std::string> labels;
    for (const auto* r : rows)
      if (std::ranges::find(labels, label(*r)) == labels.end()) labels.push_back(label(*r));
    for (const auto& l : labels) frame["categories"].push_back(l);
    for (const auto& s : all) {
      json one = series_json(s, styles_);
      one["points"] = one["lost"] = json::array();
      for (const auto* r : s.rows) {
        if (std::ranges::find(rows, r) == rows.end()) continue;
        const auto place = std::ranges::find(labels, label(*r)) - labels.begin();
        if (r->measured())
          one["points"].push_back({place, rounded(r->rate()), r->outcome == Outcome::wrong ? 1 : 0,
                                   details(*r, ratio(*r))});
        else if (r->outcome == Outcome::failed)
          one["lost"].push_back({place, r->why});
      }
      if (!one["points"].empty() || !one["lost"].empty()) frame["series"].push_back(std::move(one));
    }
    return frame;
  }

  // Adds a figure of the sizes that were sorted with several distributions. Returns these sizes.
  std::set<std::uint64_t> distributions(const Subject& subject, const Rows& rows) {
    std::map<std::uint64_t, std::set<std::string>> by_size;
    for (const auto* r : rows)
      if (r->outcome != Outcome::skipped) by_size[r->n].insert(r->distribution);
    std::erase_if(by_size, [](const auto& entry) { return entry.second.size() < 2; });
    if (by_size.empty()) return {};
    Rows its;
    for (const auto* r : rows)
      if (by_size.contains(r->n)) its.push_back(r);
    const auto list = [](const ReportRow& r) { return std::tuple(r.n, r.distribution); };
    const auto all = series_of(its, ordered_by(list));
    json spec{{"kind", "dots"}, {"unit", "key/s"}, {"frames", json::array()}};
    for (const auto& [n, unused] : by_size) {
      Rows frame_rows;
      for (const auto* r : its)
        if (r->n == n) frame_rows.push_back(r);
      json frame = dots(all, frame_rows, [](const ReportRow& r) { return r.distribution; });
      frame["label"] = size_text(n) + " records";
      spec["frames"].push_back(std::move(frame));
    }
    add(Kind::distributions, "distributions", subject,
        fmt::format("Distributions: {}", subject.text()), std::move(spec), all,
        table_of(all,
                 {size_head() + "<th scope=\"col\">distribution</th>", "Mkey/s", ordered_by(list),
                  [](const ReportRow& r) {
                    return size_label(r) +
                           fmt::format("<th scope=\"row\">{}</th>", escape_html(r.distribution));
                  },
                  mkeys}));
    std::set<std::uint64_t> sizes;
    for (const auto& [n, unused] : by_size) sizes.insert(n);
    return sizes;
  }

  void few_sizes(const Rows& rows) {
    const auto label = [](const ReportRow& r) {
      return fmt::format("{}, {}{}", subject_of(r).text(), size_text(r.n),
                         r.distribution == "uniform" ? "" : ", " + r.distribution);
    };
    const auto all = series_of(rows, ordered_by(label));
    json frame = dots(all, rows, label);
    frame["label"] = "";
    add(Kind::few_sizes, "sizes", {}, "Throughput at one or two sizes",
        {{"kind", "dots"}, {"unit", "key/s"}, {"frames", json::array({std::move(frame)})}}, all,
        table_of(all, {"<th scope=\"col\">list</th>", "Mkey/s", ordered_by(label),
                       [&](const ReportRow& r) {
                         return fmt::format("<th scope=\"row\">{}</th>", escape_html(label(r)));
                       },
                       mkeys}));
  }

  void phases(const Subject& subject, const std::string& distribution, const Rows& rows) {
    Rows its;
    for (const auto* r : rows)
      if (!r->phases.empty()) its.push_back(r);
    if (its.empty()) return;
    const auto size = [](const ReportRow& r) { return r.n; };
    const auto all = series_of(its, ordered_by(size));
    std::vector<std::string> names;
    std::set<std::uint64_t> sizes;
    for (const auto* r : its) {
      sizes.insert(r->n);
      for (const auto& p : r->phases)
        if (std::ranges::find(names, p.name) == names.end()) names.push_back(p.name);
    }
    json spec{{"kind", "stacks"}, {"unit", "s"}, {"frames", json::array()}};
    std::string table = "<table>\n<caption>µs (launches)</caption>\n<thead><tr>" + size_head() +
                        "<th scope=\"col\">algorithm</th>";
    for (const auto& name : names)
      table += fmt::format("<th scope=\"col\">{}</th>", escape_html(name));
    table += "</tr></thead>\n<tbody>\n";
    for (const std::uint64_t n : sizes) {
      json frame{{"label", size_text(n) + " records"},
                 {"categories", json::array()},
                 {"series", json::array()}};
      for (std::size_t p = 0; p < names.size(); ++p)
        frame["series"].push_back({{"name", names[p]}, {"style", p}, {"values", json::array()}});
      for (const auto& s : all)
        for (const auto* r : s.rows) {
          if (r->n != n) continue;
          frame["categories"].push_back(s.name);
          table +=
              fmt::format("<tr>{}<th scope=\"row\">{}</th>", size_label(*r), escape_html(s.name));
          for (std::size_t p = 0; p < names.size(); ++p) {
            double seconds = 0;
            std::uint64_t launches = 0;
            for (const auto& phase : r->phases)
              if (phase.name == names[p]) seconds += phase.seconds, launches += phase.launches;
            frame["series"][p]["values"].push_back({rounded(seconds), launches});
            table += launches == 0 && seconds == 0
                         ? "<td></td>"
                         : fmt::format("<td>{} ({})</td>", figure(seconds * 1e6), launches);
          }
          table += "</tr>\n";
        }
      spec["frames"].push_back(std::move(frame));
    }
    table += "</tbody></table>\n";
    add(Kind::phases, "phases", subject,
        fmt::format("Time by phases: {}, {}", subject.text(), distribution), std::move(spec), {},
        std::move(table));
  }

  const ReportRun& run_;
  SeriesStyles& styles_;
  Rows rows_;
  const ReportRow& first_;
  std::string name_, about_;
  std::vector<std::pair<Kind, ReportFigure>> out_;
};

}  // namespace

std::vector<ReportFigure> make_figures(const ReportRun& run, SeriesStyles& styles) {
  const auto place = [](const ReportRow& r) { return std::tie(r.device, r.device_id, r.method); };
  const auto list = [](const ReportRow& r) {
    return std::tie(r.type, r.payload, r.bits, r.distribution, r.method);
  };
  // Peers are shown with every device that sorted the same lists. Peers' lists that no device
  // sorted get their own place.
  Rows firsts, lonely;
  for (const auto& r : run.rows) {
    if (r.peer && std::ranges::any_of(run.rows, [&](const auto& other) {
          return !other.peer && list(other) == list(r);
        }))
      continue;
    if (r.peer) lonely.push_back(&r);
    if (std::ranges::none_of(firsts, [&](const auto* other) { return place(*other) == place(r); }))
      firsts.push_back(&r);
  }
  std::vector<ReportFigure> out;
  for (const auto* first : firsts) {
    std::set<decltype(list(*first))> lists;
    for (const auto& r : run.rows)
      if (!r.peer && place(r) == place(*first)) lists.insert(list(r));
    Rows rows;
    for (const auto& r : run.rows) {
      const bool own =
          place(r) == place(*first) && (!r.peer || std::ranges::find(lonely, &r) != lonely.end());
      if (own || (r.peer && lists.contains(list(r)))) rows.push_back(&r);
    }
    for (auto& figure : Place(run, styles, *first, std::move(rows)).figures())
      out.push_back(std::move(figure));
  }
  return out;
}

}  // namespace app
