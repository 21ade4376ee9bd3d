// The search for a room's best parameters, apart from what measures them.
#pragma once

#include <functional>
#include <optional>
#include <sortium/core.hpp>
#include <string>

namespace app {

struct Trial {
  double seconds = 0;
  std::string in_force;  // all parameters, given or chosen: Plan::parameters()
};

// Measures one sort with these parameters ("name=value,…"; empty: the room's own). Nothing where
// the device or the room refuses them.
using TryParameters = std::function<std::optional<Trial>(const std::string& parameters)>;

struct Search {
  std::string parameters;  // the best; empty: the room's own
  unsigned tried = 0, refused = 0;
};

// Hill climbing: one parameter at a time goes to other values, near ones and far ones, as long as
// the sort gets faster by more than the noise, round by round until none helps or enough() says so.
// Only parameters that are in force are touched. Throws what `attempt` throws, and Failure where
// the room's own parameters are refused.
[[nodiscard]] Search search_parameters(const sortium::AlgorithmInfo& algorithm,
                                       const TryParameters& attempt,
                                       const std::function<bool()>& enough);

}  // namespace app
