// The commands of the program: what main.cpp reads from the command line, and what carries it out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sortium/core.hpp>

namespace app {

// Which keys there are in a file, and what order they are to have.
struct KeyOptions {
  bool text = false;
  std::optional<sortium::KeyType> type;
  bool descending = false;
  std::string bits;  // "B:E"; empty: all

  // Throws Failure where `bits` is not a range of the type's.
  [[nodiscard]] sortium::Problem problem(sortium::KeyType key, std::uint64_t count) const;
  // As far as `bits` can be checked without knowing the type.
  void check_bits() const;
};

struct SortOptions : KeyOptions {
  std::string in, out;
  std::string values, values_out;
  std::optional<unsigned> value_bytes;
  bool argsort = false;
  unsigned index_bytes = 4;
  std::string device, algorithm = "auto", parameters;
  bool verify = false, quiet = false;
};

struct CheckOptions : KeyOptions {
  std::vector<std::string> files;  // one or two
  bool quiet = false;
};

struct BenchOptions {
  std::string sizes = "2^8:2^28";
  std::vector<std::string> algorithms{"auto"};
  std::string parameters;
  std::vector<std::string> devices;
  std::vector<std::string> payloads{"keys", "values"};
  std::vector<sortium::KeyType> types{sortium::KeyType::u32};
  std::string distribution = "uniform";
  double min_seconds = 0.5;
  std::string json;
};

struct DrawOptions {
  std::string what;  // "bitonic", "odd-even", "merge"
  unsigned n = 16;
  std::string out;
};

struct ReportOptions {
  std::vector<std::string> results;  // files and directories
  std::string out;
  std::string svg;  // a directory; empty: no SVG files
};

// Each returns the program's exit code, or throws Failure or sortium::Error.
int devices();
int algorithms();
int sort(const SortOptions& options);
int check(const CheckOptions& options);
int bench(const BenchOptions& options);
int draw(const DrawOptions& options);
int report(const ReportOptions& options);

// Throws Failure, with the names there are, where `name` is neither an algorithm of the library nor a peer.
void check_algorithm(const std::string& name);

}  // namespace app
