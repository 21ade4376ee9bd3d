// What the peers' programs share: `sortium bench --peers` runs them, with
//   --device ID --n LIST --type LIST --payload LIST --distribution LIST --min-time SECONDS
// They sort the same keys as it does, measure by the same protocol
// (bench/protocol/measure.hpp), have the results checked on the device by Sortium's verifier,
// and print each row as a line of JSON.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protocol/measure.hpp"

namespace peers {

struct Contender {
  std::string algorithm, version;
  std::function<app::DeviceSort(const sortium::Problem&)>
      make;  // throws Error(unsupported) for what it cannot sort
};

// A device that the program's peers sort on.
struct Place {
  std::unique_ptr<sortium::Queue> queue;
  std::vector<Contender> contenders;
};

// The program: `open` finds the device called so; nothing, where it is none of theirs. Returns the
// exit code.
int run(int argc, char** argv,
        const std::function<std::optional<Place>(const std::string& device)>& open);

// For sorts in place: makes the output the input.
void copy_to_output(sortium::Queue& queue, const sortium::Problem& problem,
                    const sortium::Operands& operands);

}  // namespace peers
