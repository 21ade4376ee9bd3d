// The commands of the program: what main.cpp reads from the command line, and what carries it out.
#pragma once

#include <optional>
#include <sortium/core.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sortium {
struct HostReport;
}

namespace app {

class Progress;

// Which keys there are in a file, and what order they are to have.
struct KeyOptions {
  bool text = false;
  std::optional<sortium::KeyType> type;
  bool descending = false;
  std::string bits;  // "B:E"; empty: all
  std::optional<sortium::NanOrder> nan;
  std::optional<sortium::ZeroOrder> zeros;
  std::string by;                  // fields of an .npy file's records
  std::string key;                 // fields of raw records,
  std::optional<unsigned> record;  // of so many bytes
  std::string segments;            // a file of offsets
  std::optional<unsigned> offset_bytes;

  // Throws Failure where `bits` is not a range of the type's, or the type has neither NaN nor zeros
  // of two signs.
  [[nodiscard]] sortium::Problem problem(sortium::KeyType key_type, std::uint64_t count) const;
  // As far as `bits` can be checked without knowing the type.
  void check_bits() const;
  [[nodiscard]] bool are_records() const {
    return !by.empty() || !key.empty() || record.has_value();
  }
  // As far as `by`, `key` and `record` can be checked without knowing the file. `descends` is the
  // option of that name. Throws Failure.
  void check_records(std::string_view descends = "--descending") const;
};

struct SortOptions : KeyOptions {
  std::string in, out;
  std::string values, values_out;
  std::optional<unsigned> value_bytes;
  bool argsort = false;
  unsigned index_bytes = 4;
  std::uint64_t limit = 0;  // only the first so many; 0: all
  std::string device, algorithm = "auto", parameters;
  std::uint64_t max_scratch_bytes = 0;  // 0: no ceiling
  bool verify = false, quiet = false;
};

struct CheckOptions : KeyOptions {
  std::vector<std::string> files;  // one or two
  bool quiet = false;
};

struct BenchOptions {
  std::string sizes;  // empty: 2^8:2^28, or a paper's
  std::vector<std::string> algorithms{"auto"};
  std::vector<std::string> parameters;  // "K=V,…" of the one algorithm, or "NAME:K=V,…"
  std::vector<std::string> devices;
  std::vector<std::string> payloads{"keys", "values"};
  std::vector<sortium::KeyType> types{sortium::KeyType::u32};
  std::vector<std::string> distributions{"uniform"};
  sortium::NanOrder nan = sortium::NanOrder::last;  // of those types that are floats
  sortium::ZeroOrder zeros = sortium::ZeroOrder::tied;
  double min_seconds = 0.5;
  bool phases = false;
  std::string peers;  // a folder of peers' programs
  std::string paper;  // "000", "003": that document's experiments, at `sizes` where they are given
  std::string json, csv;
};

struct TuneOptions {
  std::string device, algorithm = "auto";
  std::vector<sortium::KeyType> types{sortium::KeyType::u32};
  std::vector<std::string> payloads{"keys", "values"};
  std::string sizes = "2^20,2^24", distribution = "uniform";
  std::string bits;     // "B:E"; empty: all
  double seconds = 30;  // of each search
  std::string out;      // empty: the user's tuning file
  bool print = false;   // to standard output, and no file is written
};

struct DrawOptions {
  std::string what;  // "bitonic", "odd-even", "merge"
  unsigned n = 16;
  std::string out;
};

struct PicOptions {
  std::string particles = "2^23";
  unsigned grid = 32, steps = 1;
  std::optional<double> dt;  // by default, that of a cell
  std::string device, algorithm = "auto", parameters;
  double min_seconds = 0.1;
  std::string picture, json;
};

struct ReportOptions {
  std::vector<std::string> results;  // files and directories
  std::string out;
  std::string svg;  // a directory; empty: no SVG files
};

// Each returns the program's exit code, or throws Failure or sortium::Error.
int devices();
// Builds the default sorts' kernels for every device that runs kernels, so that no later call has
// to.
int warm();
int self_test();
int algorithms();
int sort(const SortOptions& options);
int sort_records(const SortOptions& options);
int check(const CheckOptions& options);
int check_records(const CheckOptions& options, Progress& progress);
int bench(const BenchOptions& options);
int tune(const TuneOptions& options);
int draw(const DrawOptions& options);
int pic(const PicOptions& options);
int report(const ReportOptions& options);

// Throws Failure, with the names there are, where `name` is neither an algorithm of the library nor
// a peer.
void check_algorithm(const std::string& name);

// How long each part of a sort took, for its summary.
[[nodiscard]] std::string times(const sortium::HostReport& report, std::uint64_t count,
                                double reading, double writing);

// What the options --nan and --zeros call them: "last", "first", "bits"; "tied", "distinct".
[[nodiscard]] std::string_view name(sortium::NanOrder nan);
[[nodiscard]] std::string_view name(sortium::ZeroOrder zeros);

}  // namespace app
