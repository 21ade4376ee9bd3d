// The search for an algorithm's best parameters, separate from the measuring.
#pragma once

#include <functional>
#include <optional>
#include <sortium/core.hpp>
#include <string>

namespace app {

struct Trial {
  double seconds = 0;
  std::string in_force;  // all parameters in use, given or default: Plan::parameters()
};

// Measures one sort with these parameters ("name=value,…"; empty: the defaults). Returns
// nothing if the device or the algorithm does not support them.
using TryParameters = std::function<std::optional<Trial>(const std::string& parameters)>;

struct Search {
  std::string parameters;  // the best; empty: the defaults
  unsigned tried = 0, refused = 0;
};

// Hill climbing. Sets one parameter at a time to near and far values, as long as the sort gets
// faster by more than the noise. Repeats until no change helps or enough() returns true. Changes
// only parameters that the algorithm uses. Throws what `attempt` throws, and Failure if the default
// parameters are refused.
[[nodiscard]] Search search_parameters(const sortium::AlgorithmInfo& algorithm,
                                       const TryParameters& attempt,
                                       const std::function<bool()>& enough);

}  // namespace app
