#include "report/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <set>
#include <tuple>

namespace app {

using nlohmann::json;
using Outcome = ReportRow::Outcome;

namespace {

using Rows = std::vector<const ReportRow*>;

// Rounds to four digits: enough for a plot, and they keep the page small.
double rounded(double x) { return std::strtod(fmt::format("{:.3e}", x).c_str(), nullptr); }

std::string grouped(std::uint64_t n) {
  std::string out = std::to_string(n);
  for (std::size_t i = out.size(); i > 3; i -= 3) out.insert(i - 3, "\u202f");
  return out;
}
std::string size_html(std::uint64_t n) {
  return std::has_single_bit(n) ? fmt::format("2<sup>{}</sup>", std::countr_zero(n)) : grouped(n);
}
std::string size_text(std::uint64_t n) {
  if (!std::has_single_bit(n)) return grouped(n);
  static const char* const digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string out = "2";
  for (const char c : std::to_string(std::countr_zero(n))) out += digits[c - '0'];
  return out;
}

// The sorted records, apart from the distribution of their keys.
struct Subject {
  std::string type, payload, bits;
  auto operator<=>(const Subject&) const = default;
  [[nodiscard]] std::string text() const {
    std::string out = type + " " + payload;
    if (payload == "keys+values")
      out = type + " keys + 4-byte values";
    else if (payload.starts_with("keys+u"))
      out = fmt::format("{} keys + {} values", type, payload.substr(5));
    else if (payload == "keys+argsort")
      out = type + " argsort";
    return bits.empty() ? out : fmt::format("{}, bits {}", out, bits);
  }
};
Subject subject_of(const ReportRow& r) { return {r.type, r.payload, r.bits}; }

struct Series {
  std::string name;
  bool peer = false, runs_only = false;
  Rows rows;
};

// Splits "b=4,items=17" into its items.
std::vector<std::string> items_of(const std::string& parameters) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < parameters.size();) {
    const std::size_t end = std::min(parameters.find(',', i), parameters.size());
    out.push_back(parameters.substr(i, end - i));
    i = end + 1;
  }
  return out;
}
std::string name_of_item(const std::string& item) { return item.substr(0, item.find('=')); }

// Returns one line of a plot for every algorithm. If an algorithm sorted the same list with
// several parameters, it gets a line for each of their values (only for parameters that
// differ on the same list: others may follow from its size), and one for each repetition.
// `list` returns the identity of a row's list.
template <class List>
std::vector<Series> series_of(const Rows& rows, const List& list) {
  std::vector<std::pair<std::string, bool>> names;
  for (const bool peer : {false, true})
    for (const auto* r : rows)
      if (r->peer == peer && std::ranges::find(names, std::pair(r->algorithm, peer)) == names.end())
        names.emplace_back(r->algorithm, peer);
  std::stable_partition(names.begin(), names.end(),
                        [](const auto& name) { return name.first == "auto"; });

  std::vector<Series> out;
  for (const auto& [name, peer] : names) {
    Rows its;
    for (const auto* r : rows)
      if (r->algorithm == name && r->peer == peer) its.push_back(r);
    std::set<std::string> telling;  // names of parameters
    for (const auto* a : its)
      for (const auto* b : its)
        if (a->measured() && b->measured() && list(*a) == list(*b) &&
            a->parameters != b->parameters) {
          const auto of_a = items_of(a->parameters), of_b = items_of(b->parameters);
          for (const auto& item : of_a)
            if (std::ranges::find(of_b, item) == of_b.end()) telling.insert(name_of_item(item));
        }
    std::vector<Series> found;
    for (const auto* r : its) {
      std::string full = name;
      for (const auto& item : items_of(r->parameters))
        if (telling.contains(name_of_item(item))) full += (full == name ? " " : ",") + item;
      for (std::size_t times = 1;; ++times) {
        const std::string wanted = times == 1 ? full : fmt::format("{} #{}", full, times);
        auto s = std::ranges::find(found, wanted, &Series::name);
        if (s == found.end()) s = found.insert(s, {wanted, peer, false, {}});
        if (std::ranges::any_of(s->rows,
                                [&](const auto* other) { return list(*other) == list(*r); }))
          continue;
        s->rows.push_back(r);
        s->runs_only |= r->run_length != 0;
        break;
      }
    }
    for (auto& s : found) {
      if (s.runs_only) s.name += " (runs only)";
      out.push_back(std::move(s));
    }
  }
  return out;
}

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

const char* outcome_name(Outcome o) {
  switch (o) {
    case Outcome::verified:
      return "verified";
    case Outcome::wrong:
      return "WRONG";
    case Outcome::failed:
      return "failed";
    case Outcome::skipped:
      return "skipped";
  }
  return "";
}

// Returns the rows without a verified figure, with the reasons. Rows with the same reason at
// the same sizes share a line.
std::string notes_of(const std::vector<Series>& all) {
  std::vector<std::pair<std::string, std::pair<std::string, std::string>>>
      lines;  // reasons, and the rows that they concern
  for (const auto outcome : {Outcome::wrong, Outcome::failed, Outcome::skipped})
    for (const auto& s : all) {
      Rows its;
      for (const auto* r : s.rows)
        if (r->outcome == outcome) its.push_back(r);
      if (its.empty()) continue;
      std::ranges::sort(its, {}, &ReportRow::n);
      std::set<std::uint64_t> sizes;
      std::set<std::string> reasons, distributions;
      for (const auto* r : its) {
        sizes.insert(r->n);
        distributions.insert(r->distribution);
        // The algorithm's name stands before the reason already.
        const std::string who = r->algorithm + ": ";
        reasons.insert(r->why.starts_with(who) ? r->why.substr(who.size()) : r->why);
      }
      std::string text = fmt::format("{} at {}", outcome_name(outcome), size_html(*sizes.begin()));
      if (sizes.size() > 1)
        text += fmt::format(" to {} ({} sizes)", size_html(*sizes.rbegin()), sizes.size());
      if (distributions.size() > 1) text += fmt::format(", {} distributions", distributions.size());
      if (outcome == Outcome::wrong)
        text += ": the result is not sorted correctly";
      else
        text +=
            ": " + escape_html(*reasons.begin()) +
            (reasons.size() > 1 ? fmt::format(" (and {} similar errors)", reasons.size() - 1) : "");
      const auto same =
          std::ranges::find_if(lines, [&](const auto& line) { return line.first == text; });
      if (same == lines.end())
        lines.push_back({text, {outcome_name(outcome), escape_html(s.name)}});
      else
        same->second.second += ", " + escape_html(s.name);
    }
  std::string out;
  for (const auto& [text, who] : lines)
    out += fmt::format("<li class=\"{}\"><b>{}</b> {}</li>\n", who.first, who.second, text);
  if (std::ranges::any_of(all, &Series::runs_only))
    out +=
        "<li class=\"partial\"><b>(runs only)</b>: sorts runs of that many records each, not the "
        "whole list</li>\n";
  return out.empty() ? out : "<ul class=\"notes\">\n" + out + "</ul>\n";
}

// Prints four digits, without an exponent.
std::string figure(double value) {
  return value >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

std::string cell(const ReportRow* r, double value) {
  if (r == nullptr) return "<td></td>";
  if (r->outcome == Outcome::failed)
    return fmt::format("<td class=\"failed\" title=\"{}\">failed</td>", escape_html(r->why));
  if (r->outcome == Outcome::skipped)
    return fmt::format("<td class=\"skipped\" title=\"{}\">–</td>", escape_html(r->why));
  return r->outcome == Outcome::wrong
             ? fmt::format("<td class=\"WRONG\">{} WRONG</td>", figure(value))
             : fmt::format("<td>{}</td>", figure(value));
}

// Returns a table with a row for each list and a column for each series. `head` has the
// headings of the rows' columns; `list` and `label` return their contents.
template <class List, class Label, class Value>
std::string pivot(const std::vector<Series>& all, const std::string& head, const std::string& unit,
                  const List& list, const Label& label, const Value& value) {
  std::vector<const ReportRow*> lists;
  for (const auto& s : all)
    for (const auto* r : s.rows)
      if (std::ranges::none_of(lists, [&](const auto* other) { return list(*other) == list(*r); }))
        lists.push_back(r);
  std::ranges::stable_sort(lists,
                           [&](const auto* a, const auto* b) { return list(*a) < list(*b); });
  std::string out = fmt::format("<table>\n<caption>{}</caption>\n<thead><tr>{}", unit, head);
  for (const auto& s : all) out += fmt::format("<th scope=\"col\">{}</th>", escape_html(s.name));
  out += "</tr></thead>\n<tbody>\n";
  for (const auto* at : lists) {
    out += "<tr>" + label(*at);
    for (const auto& s : all) {
      const auto r =
          std::ranges::find_if(s.rows, [&](const auto* x) { return list(*x) == list(*at); });
      out += r == s.rows.end() ? "<td></td>" : cell(*r, value(**r));
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table>\n";
}

std::string size_head() { return "<th scope=\"col\">records</th>"; }
std::string size_label(const ReportRow& r) {
  return fmt::format("<th scope=\"row\">{}</th>", size_html(r.n));
}
double mkeys(const ReportRow& r) { return r.rate() * 1e-6; }

// The figures of one device (and one method of measuring), with the peers that sorted the
// same lists.
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
    const auto all = series_of(rows, size);
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
        pivot(all, size_head(), "Mkey/s", size, size_label, mkeys));
  }

  // Ratios to the best peer that sorted the same list, for whole sorts of Sortium.
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
    const auto all = series_of(compared, size);
    json list = lines(all, [&](const ReportRow& r) { return *ratio(r); });
    json spec{{"kind", "lines"},
              {"unit", "×"},
              {"log", false},
              {"series", std::move(list)},
              {"marks", json::array({json{{"name", "the best peer"}, {"value", 1}}})}};
    add(Kind::rates, "ratio", subject,
        fmt::format("Ratio to the best peer: {}, {}", subject.text(), distribution),
        std::move(spec), all,
        pivot(all, size_head(), "times the best peer's rate", size, size_label,
              [&](const ReportRow& r) { return *ratio(r); }));
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

  // Shows the sizes that were sorted with several distributions.
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
    const auto all = series_of(its, list);
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
        pivot(
            all, size_head() + "<th scope=\"col\">distribution</th>", "Mkey/s", list,
            [](const ReportRow& r) {
              return size_label(r) +
                     fmt::format("<th scope=\"row\">{}</th>", escape_html(r.distribution));
            },
            mkeys));
    std::set<std::uint64_t> sizes;
    for (const auto& [n, unused] : by_size) sizes.insert(n);
    return sizes;
  }

  void few_sizes(const Rows& rows) {
    const auto label = [](const ReportRow& r) {
      return fmt::format("{}, {}{}", subject_of(r).text(), size_text(r.n),
                         r.distribution == "uniform" ? "" : ", " + r.distribution);
    };
    const auto all = series_of(rows, label);
    json frame = dots(all, rows, label);
    frame["label"] = "";
    add(Kind::few_sizes, "sizes", {}, "Throughput at one or two sizes",
        {{"kind", "dots"}, {"unit", "key/s"}, {"frames", json::array({std::move(frame)})}}, all,
        pivot(
            all, "<th scope=\"col\">list</th>", "Mkey/s", label,
            [&](const ReportRow& r) {
              return fmt::format("<th scope=\"row\">{}</th>", escape_html(label(r)));
            },
            mkeys));
  }

  void phases(const Subject& subject, const std::string& distribution, const Rows& rows) {
    Rows its;
    for (const auto* r : rows)
      if (!r->phases.empty()) its.push_back(r);
    if (its.empty()) return;
    const auto size = [](const ReportRow& r) { return r.n; };
    const auto all = series_of(its, size);
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

std::string escape_html(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

std::string slug(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (letter)
      out += c;
    else if (c >= 'A' && c <= 'Z')
      out += static_cast<char>(c - 'A' + 'a');
    else if (!out.empty() && !out.ends_with('-'))
      out += '-';
  }
  while (out.ends_with('-')) out.pop_back();
  return out;
}

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

std::string make_highlights(const ReportRun& run) {
  std::string out;
  const auto tile = [&](const std::string& value, const std::string& text, bool alarm = false) {
    out += fmt::format("<li{}><b>{}</b>{}</li>\n", alarm ? " class=\"alarm\"" : "", value, text);
  };
  // The fastest whole sort for each kind of records, for the two kinds that were measured
  // most.
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
