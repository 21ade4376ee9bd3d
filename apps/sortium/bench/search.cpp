#include "bench/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "cli/common.hpp"

namespace app {

namespace {

using Values = std::map<std::string, std::string>;

Values parse(std::string_view text) {
  Values out;
  while (!text.empty()) {
    const auto item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const auto equals = item.find('=');
    if (equals != std::string_view::npos)
      out.emplace(item.substr(0, equals), item.substr(equals + 1));
  }
  return out;
}

std::string print(const Values& values) {
  std::string out;
  for (const auto& [name, value] : values)
    out += fmt::format("{}{}={}", out.empty() ? "" : ",", name, value);
  return out;
}

// Returns other values of a parameter, near ones first.
std::vector<std::string> candidates(const sortium::Parameter& p, const std::string& value) {
  std::vector<std::string> out;
  if (!p.choices.empty()) {
    std::ranges::copy_if(p.choices, std::back_inserter(out),
                         [&](const auto& c) { return c != value; });
    return out;
  }
  std::uint64_t now = 0;
  std::from_chars(value.data(), value.data() + value.size(), now);
  for (const std::uint64_t n : {now * 2, now / 2, now + 1, now - std::min<std::uint64_t>(now, 1),
                                now * 3 / 2, now * 3 / 4, now * 5 / 4, now * 4, now / 4})
    if (n != now && n >= p.minimum && n <= p.maximum &&
        std::ranges::find(out, std::to_string(n)) == out.end())
      out.push_back(std::to_string(n));
  return out;
}

class Climb {
 public:
  Climb(const sortium::AlgorithmInfo& algorithm, const TryParameters& attempt,
        const std::function<bool()>& enough)
      : algorithm_(algorithm), attempt_(attempt), enough_(enough) {
    const auto own = attempt_("");
    if (!own)
      throw Failure(exit_runtime,
                    fmt::format("{}: its default parameters are not supported for this problem",
                                algorithm.name));
    best_ = *own;
    seen_.insert("");
  }

  Search run() {
    while (!enough_()) {
      bool better = false;
      for (const auto& p : algorithm_.parameters) better = (!p.changes_result && move(p)) || better;
      if (!better) break;
    }
    found_.parameters = print(chosen_);
    return found_;
  }

 private:
  // Changes the parameter as long as the sort gets faster.
  bool move(const sortium::Parameter& p) {
    bool better = false;
    for (bool again = true; again && !enough_();) {
      again = false;
      const auto in_force = parse(best_.in_force);
      const auto now = in_force.find(p.name);
      if (now == in_force.end()) break;
      for (const auto& value : candidates(p, now->second)) {
        if (enough_()) break;
        if (!is_better(p.name, value)) continue;
        again = better = true;
        break;
      }
    }
    return better;
  }

  bool is_better(const std::string& name, const std::string& value) {
    constexpr double noise = 0.985;
    Values values = chosen_;
    values[name] = value;
    const std::string text = print(values);
    if (!seen_.insert(text).second) return false;
    ++found_.tried;
    auto first = attempt_(text);
    if (!first) {
      ++found_.refused;
      return false;
    }
    if (first->seconds > best_.seconds * noise) return false;
    // Measure both once more: the machine may have been less disturbed than in the earlier
    // measurement.
    const auto old = attempt_(print(chosen_)), second = attempt_(text);
    if (!old || !second ||
        first->seconds + second->seconds > (best_.seconds + old->seconds) * noise)
      return false;
    best_ = {(first->seconds + second->seconds) / 2, second->in_force};
    chosen_ = values;
    return true;
  }

  const sortium::AlgorithmInfo& algorithm_;
  const TryParameters& attempt_;
  const std::function<bool()>& enough_;
  Trial best_;
  Values chosen_;  // parameters that differ from the defaults
  std::set<std::string> seen_;
  Search found_;
};

}  // namespace

Search search_parameters(const sortium::AlgorithmInfo& algorithm, const TryParameters& attempt,
                         const std::function<bool()>& enough) {
  return Climb(algorithm, attempt, enough).run();
}

}  // namespace app
