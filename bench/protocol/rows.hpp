// The rows of a benchmark. A row is a JSON object for one sort of one problem that was measured,
// was skipped or failed. docs/benchmarks.md describes their fields. The peers' programs
// (bench/peers) print one row a line.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "protocol/measure.hpp"

namespace app {

using Row = nlohmann::json;

[[nodiscard]] std::string_view payload_name(
    sortium::Payload payload);  // "keys", "keys+values", "keys+positions"

// Returns a row with the problem and the algorithm.
[[nodiscard]] Row new_row(const std::string& algorithm, bool peer, const sortium::Problem& problem,
                          const std::string& distribution);
void set_device(Row& row, const std::string& id, const std::string& name, const std::string& driver,
                const std::string& language);
void set_measurement(Row& row, const Measurement& m);
// Adds to `row` the rate of a copy on its device, the upper bound of a sort's rate that follows
// from the copy's rate, and the ratios of the row's rate to that bound and to the algorithm's own
// bound.
void set_copy_rate(Row& row, double bytes_per_second);

// Returns true if the row was measured, its result was verified, and the whole list was
// sorted.
[[nodiscard]] bool is_whole_and_right(const Row& row);

// Sets ratio_to_best_peer of every measured row; null if no peer has sorted the same problem.
void set_ratios(std::vector<Row>& rows);

// Text for a terminal: a heading of two lines, and a line for a row.
[[nodiscard]] std::string table_heading();
[[nodiscard]] std::string table_line(const Row& row);
// Returns a line with the device time of each phase; empty if the row has no phases.
[[nodiscard]] std::string phases_line(const Row& row);
// Returns a line for each problem with its fastest peer, and the ratios of the other sorts' rates
// to that peer's rate. Empty if there are no peers.
[[nodiscard]] std::string ratio_lines(const std::vector<Row>& rows);

[[nodiscard]] std::string csv(const std::vector<Row>& rows);

}  // namespace app
