// Shared by the peers' programs, which `sortium bench --peers` runs with
//   --device ID --n LIST --type LIST --payload LIST --distribution LIST --min-time SECONDS
// They sort the same keys as `sortium bench`, measure by the same protocol
// (bench/protocol/measure.hpp), check the results on the device with Sortium's verifier, and print
// each row as a line of JSON.
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
  // Throws Error(unsupported) if it cannot sort the problem.
  std::function<app::DeviceSort(const sortium::Problem&)> make;
};

// A device, and the peers of the program that sort on it.
struct Place {
  std::unique_ptr<sortium::Queue> queue;
  std::vector<Contender> contenders;
};

// The program's main(). `open` returns the device with this id and its peers, or nothing if the
// peers do not support the device. Returns the exit code.
int run(int argc, char** argv,
        const std::function<std::optional<Place>(const std::string& device)>& open);

// Copies the input to the output, for sorts in place.
void copy_to_output(sortium::Queue& queue, const sortium::Problem& problem,
                    const sortium::Operands& operands);

}  // namespace peers
