// Checks of records on the host that share nothing with the kernels but the definition of the order
// of numbers.
#pragma once

#include <optional>
#include <sortium/records.hpp>
#include <string>
#include <vector>

namespace app {

// The order of a problem's records, field by field.
class RecordOrder {
 public:
  RecordOrder(const sortium::RecordProblem& problem, std::span<const void* const> columns);
  // Less than 0: record `a` comes before record `b`; 0: they tie.
  [[nodiscard]] int compare(std::uint64_t a, std::uint64_t b) const;

 private:
  struct Key {
    const std::byte* first;  // of record 0
    unsigned stride;
    sortium::FieldType type;
    sortium::Problem number;  // of a number
  };
  std::vector<Key> keys_;
};

// What is wrong with a sort of records whose columns are moved out, or whose positions are wanted:
// nothing, if every one is where a stable sort puts it. The problem has no segments. Costs a sort
// on the host and 8 bytes a record.
[[nodiscard]] std::optional<std::string> find_record_mistake(
    const sortium::RecordProblem& problem, const sortium::RecordHostOperands& operands);

}  // namespace app
