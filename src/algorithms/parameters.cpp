#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "algorithm.hpp"

namespace sortium {

Parameters::Parameters(std::string_view text, const AlgorithmInfo& algorithm) {
  const auto refuse = [&](const std::string& what) {
    std::string have;
    for (const auto& p : algorithm.parameters) {
      have += fmt::format("\n  {}: {}", p.name, p.meaning);
      have += p.choices.empty() ? fmt::format(" ({} to {})", p.minimum, p.maximum)
                                : fmt::format(" ({})", fmt::join(p.choices, ", "));
    }
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}; the parameters of {} are:{}", what, algorithm.name,
                            have.empty() ? " none" : have));
  };
  while (!text.empty()) {
    const auto item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const auto equals = item.find('=');
    if (equals == std::string_view::npos)
      refuse(fmt::format("parameter '{}' is not of the form name=value", item));
    const std::string name(item.substr(0, equals)), value(item.substr(equals + 1));
    const auto known = std::ranges::find(algorithm.parameters, name, &Parameter::name);
    if (known == algorithm.parameters.end()) refuse(fmt::format("no parameter '{}'", name));
    if (values_.contains(name)) refuse(fmt::format("parameter '{}' is given twice", name));
    if (known->choices.empty()) {
      std::uint64_t number = 0;
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
      if (error != std::errc{} || end != value.data() + value.size() || number < known->minimum ||
          number > known->maximum)
        refuse(fmt::format("{}={} is not allowed", name, value));
    } else if (std::ranges::find(known->choices, value) == known->choices.end()) {
      refuse(fmt::format("{}={} is not allowed", name, value));
    }
    values_.emplace(name, value);
  }
}

std::uint64_t Parameters::number(std::string_view name, std::uint64_t otherwise) const {
  const auto it = values_.find(name);
  return it == values_.end() ? otherwise : std::stoull(it->second);
}

std::string Parameters::word(std::string_view name, std::string_view otherwise) const {
  const auto it = values_.find(name);
  return it == values_.end() ? std::string(otherwise) : it->second;
}

}  // namespace sortium
