// Options of several commands: the keys in a file, and the order they are sorted in.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <sortium/core.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace app {

struct KeyOptions {
  bool text = false;
  std::optional<sortium::KeyType> type;
  bool descending = false;
  std::string bits;  // "B:E"; empty: all
  std::optional<sortium::NanOrder> nan;
  std::optional<sortium::ZeroOrder> zeros;
  std::string by;                  // fields of an .npy file's records
  std::string key;                 // fields of raw records
  std::optional<unsigned> record;  // bytes of a raw record
  std::string segments;            // a file of offsets
  std::optional<unsigned> offset_bytes;
  std::uint64_t row_length = 0;  // keys of a row, each of which is sorted by itself; 0: no rows

  // Returns the problem of sorting `count` keys of this type in this order. Throws Failure if
  // `bits` is not a range of the type's bits, or if --nan or --zeros is given and the type is no
  // float.
  [[nodiscard]] sortium::Problem problem(sortium::KeyType key_type, std::uint64_t count) const;
  // Checks `bits` as far as that is possible without the type. Throws Failure.
  void check_bits() const;
  // Throws Failure if there are both segments and rows.
  void check_lists() const;
  // Returns the number of rows of a file with `count` keys. Throws Failure if `count` is not a
  // multiple of row_length.
  [[nodiscard]] std::uint64_t rows_of(const std::string& file, std::uint64_t count) const;
  [[nodiscard]] bool are_records() const {
    return !by.empty() || !key.empty() || record.has_value();
  }
  // Checks `by`, `key` and `record` as far as that is possible without the file. `descends` is the
  // option that sets `descending`. Throws Failure.
  void check_records(std::string_view descends = "--descending") const;
};

// Each adds options to a command; they write into `options`, which must live as long as the
// command.
void add_key_options(CLI::App& command, KeyOptions& options);
void add_record_options(CLI::App& command, KeyOptions& options);
void add_segment_options(CLI::App& command, KeyOptions& options);
void add_row_option(CLI::App& command, KeyOptions& options);

// Adds --type, which takes a list of types.
CLI::Option* add_types_option(CLI::App& command, std::vector<sortium::KeyType>& types);

// Adds --nan and --zeros. If the command line has the option, its value is passed to set_nan or
// set_zeros.
struct PolicyOptions {
  CLI::Option *nan, *zeros;
};
PolicyOptions add_policy_options(CLI::App& command,
                                 const std::function<void(sortium::NanOrder)>& set_nan,
                                 const std::function<void(sortium::ZeroOrder)>& set_zeros);

// The names of --nan and --zeros: "last", "first", "bits"; "tied", "distinct".
[[nodiscard]] std::string_view name(sortium::NanOrder nan);
[[nodiscard]] std::string_view name(sortium::ZeroOrder zeros);

}  // namespace app
