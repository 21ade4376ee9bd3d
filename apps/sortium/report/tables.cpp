#include "report/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

namespace app {

using Outcome = ReportRow::Outcome;

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

std::string figure(double value) {
  return value >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

namespace {

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

}  // namespace

namespace {

// Returns the reasons why rows of one series and outcome have no figure.
std::string reasons_of(const Rows& its, Outcome outcome) {
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
  if (outcome == Outcome::wrong) return text + ": the result is not sorted correctly";
  text += ": " + escape_html(*reasons.begin());
  if (reasons.size() > 1) text += fmt::format(" (and {} similar errors)", reasons.size() - 1);
  return text;
}

}  // namespace

std::string notes_of(const std::vector<Series>& all) {
  struct Line {
    std::string reasons, outcome, who;
  };
  std::vector<Line> lines;
  for (const auto outcome : {Outcome::wrong, Outcome::failed, Outcome::skipped})
    for (const auto& s : all) {
      Rows its;
      for (const auto* r : s.rows)
        if (r->outcome == outcome) its.push_back(r);
      if (its.empty()) continue;
      const std::string text = reasons_of(its, outcome);
      const auto same = std::ranges::find(lines, text, &Line::reasons);
      if (same == lines.end())
        lines.push_back({text, outcome_name(outcome), escape_html(s.name)});
      else
        same->who += ", " + escape_html(s.name);
    }
  std::string out;
  for (const auto& line : lines)
    out +=
        fmt::format("<li class=\"{}\"><b>{}</b> {}</li>\n", line.outcome, line.who, line.reasons);
  if (std::ranges::any_of(all, &Series::runs_only))
    out +=
        "<li class=\"partial\"><b>(runs only)</b>: sorts runs of that many records each, not the "
        "whole list</li>\n";
  return out.empty() ? out : "<ul class=\"notes\">\n" + out + "</ul>\n";
}

std::string table_of(const std::vector<Series>& all, const Pivot& pivot) {
  Rows lists;
  for (const auto& s : all)
    for (const auto* r : s.rows)
      if (std::ranges::none_of(
              lists, [&](const auto* other) { return is_same_list(pivot.less, *other, *r); }))
        lists.push_back(r);
  std::ranges::stable_sort(lists, [&](const auto* a, const auto* b) { return pivot.less(*a, *b); });
  std::string out =
      fmt::format("<table>\n<caption>{}</caption>\n<thead><tr>{}", pivot.unit, pivot.head);
  for (const auto& s : all) out += fmt::format("<th scope=\"col\">{}</th>", escape_html(s.name));
  out += "</tr></thead>\n<tbody>\n";
  for (const auto* at : lists) {
    out += "<tr>" + pivot.label(*at);
    for (const auto& s : all) {
      const auto r = std::ranges::find_if(
          s.rows, [&](const auto* x) { return is_same_list(pivot.less, *x, *at); });
      out += r == s.rows.end() ? "<td></td>" : cell(*r, pivot.value(**r));
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table>\n";
}

std::string size_head() { return "<th scope=\"col\">records</th>"; }
std::string size_label(const ReportRow& r) {
  return fmt::format("<th scope=\"row\">{}</th>", size_html(r.n));
}

}  // namespace app
