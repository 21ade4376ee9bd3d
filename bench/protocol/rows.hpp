// The rows of a benchmark: JSON objects, each of one sort of one problem, measured, skipped or
// failed. docs/benchmarks.md says what their fields are. Shared with the peers' programs
// (bench/peers), which print them one a line.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "protocol/measure.hpp"

namespace app {

using Row = nlohmann::json;

[[nodiscard]] std::string_view payload_name(
    sortium::Payload payload);  // "keys", "keys+values", "keys+positions"

// What is sorted, and by whom.
[[nodiscard]] Row new_row(const std::string& algorithm, bool peer, const sortium::Problem& problem,
                          const std::string& distribution);
void set_device(Row& row, const std::string& id, const std::string& name, const std::string& driver,
                const std::string& language);
void set_measurement(Row& row, const Measurement& m);
// With how fast a copy on the row's device is: the bound, and how near the row comes to it.
void set_copy_rate(Row& row, double bytes_per_second);

// Whether it is a whole list that the row says to be sorted, and rightly.
[[nodiscard]] bool is_whole_and_right(const Row& row);

// Sets ratio_to_best_peer of every measured row for whose problem there is a peer; null elsewhere.
void set_ratios(std::vector<Row>& rows);

// For a terminal: two lines of headings, and one for a row.
[[nodiscard]] std::string table_heading();
[[nodiscard]] std::string table_line(const Row& row);
// The device time of each phase, one line; empty where the row has none.
[[nodiscard]] std::string phases_line(const Row& row);
// Each problem's best peer, and how many times faster everything else is; empty where there is no
// peer.
[[nodiscard]] std::string ratio_lines(const std::vector<Row>& rows);

[[nodiscard]] std::string csv(const std::vector<Row>& rows);

}  // namespace app
