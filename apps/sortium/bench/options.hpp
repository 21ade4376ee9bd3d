// Options of `sortium bench`.
#pragma once

#include <sortium/core.hpp>
#include <string>
#include <vector>

namespace app {

struct BenchOptions {
  std::string sizes;  // empty: 2^8:2^28, or those of the paper
  std::vector<std::string> algorithms{"auto"};
  std::vector<std::string> parameters;  // "K=V,..." of the only algorithm, or "NAME:K=V,..."
  std::vector<std::string> devices;
  std::vector<std::string> payloads{"keys", "values"};
  std::vector<sortium::KeyType> types{sortium::KeyType::u32};
  std::vector<std::string> distributions{"uniform"};
  sortium::NanOrder nan = sortium::NanOrder::last;  // for float types
  sortium::ZeroOrder zeros = sortium::ZeroOrder::tied;
  double min_seconds = 0.5;
  bool phases = false;
  std::string peers;  // a directory of peers' programs
  std::string paper;  // "000" or "003": the experiments of that document, at `sizes` if given
  std::string json, csv;
};

}  // namespace app
