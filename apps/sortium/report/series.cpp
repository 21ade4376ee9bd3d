#include "report/series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace app {

std::string Subject::text() const {
  std::string out = type + " " + payload;
  if (payload == "keys+values")
    out = type + " keys + 4-byte values";
  else if (payload.starts_with("keys+u"))
    out = fmt::format("{} keys + {} values", type, payload.substr(5));
  else if (payload == "keys+argsort")
    out = type + " argsort";
  return bits.empty() ? out : fmt::format("{}, bits {}", out, bits);
}
Subject subject_of(const ReportRow& r) { return {r.type, r.payload, r.bits}; }

namespace {

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

using Name = std::pair<std::string, bool>;  // an algorithm's name, and true if it is a peer

// Returns the algorithms' names: "auto" first, peers last.
std::vector<Name> names_of(const Rows& rows) {
  std::vector<Name> names;
  for (const bool peer : {false, true})
    for (const auto* r : rows)
      if (r->peer == peer && std::ranges::find(names, Name(r->algorithm, peer)) == names.end())
        names.emplace_back(r->algorithm, peer);
  std::stable_partition(names.begin(), names.end(),
                        [](const auto& name) { return name.first == "auto"; });
  return names;
}

// Returns the names of the parameters that differ between results for the same list.
std::set<std::string> telling_parameters(const Rows& rows, const ListOrder& less) {
  std::set<std::string> telling;
  for (const auto* a : rows)
    for (const auto* b : rows)
      if (a->measured() && b->measured() && is_same_list(less, *a, *b) &&
          a->parameters != b->parameters) {
        const auto of_a = items_of(a->parameters), of_b = items_of(b->parameters);
        for (const auto& item : of_a)
          if (std::ranges::find(of_b, item) == of_b.end()) telling.insert(name_of_item(item));
      }
  return telling;
}

// Adds `row` to the series `name`. If that series already has a row for the same list, adds
// `row` to the series "name #2" instead, or to "name #3", and so on.
void add_row(std::vector<Series>& found, const ReportRow& row, const std::string& name,
             const ListOrder& less) {
  for (std::size_t times = 1;; ++times) {
    const std::string wanted = times == 1 ? name : fmt::format("{} #{}", name, times);
    auto s = std::ranges::find(found, wanted, &Series::name);
    if (s == found.end()) s = found.insert(s, {wanted, row.peer, false, {}});
    if (std::ranges::any_of(s->rows,
                            [&](const auto* other) { return is_same_list(less, *other, row); }))
      continue;
    s->rows.push_back(&row);
    s->runs_only |= row.run_length != 0;
    return;
  }
}

}  // namespace

std::vector<Series> series_of(const Rows& rows, const ListOrder& less) {
  std::vector<Series> out;
  for (const auto& [name, peer] : names_of(rows)) {
    Rows its;
    for (const auto* r : rows)
      if (r->algorithm == name && r->peer == peer) its.push_back(r);
    const auto telling = telling_parameters(its, less);
    std::vector<Series> found;
    for (const auto* r : its) {
      std::string full = name;
      for (const auto& item : items_of(r->parameters))
        if (telling.contains(name_of_item(item))) full += (full == name ? " " : ",") + item;
      add_row(found, *r, full, less);
    }
    for (auto& s : found) {
      if (s.runs_only) s.name += " (runs only)";
      out.push_back(std::move(s));
    }
  }
  return out;
}

}  // namespace app
