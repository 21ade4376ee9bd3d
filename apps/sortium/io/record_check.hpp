// Checks of sorted records on the host. These checks share only the definition of the order of
// numbers with the kernels.
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
  // Returns less than 0 if record `a` comes before record `b`, 0 if they tie, else more than 0.
  [[nodiscard]] int compare(std::uint64_t a, std::uint64_t b) const;

 private:
  struct Key {
    const std::byte* first;  // the field in record 0
    unsigned stride;         // bytes from one record's field to the next one's
    sortium::FieldType type;
    sortium::Problem number;  // the order; of a number, its bits and policies, too
  };
  [[nodiscard]] static int compare_ascending(const Key& key, const std::byte* x,
                                             const std::byte* y);
  std::vector<Key> keys_;
};

// Checks a sort of records whose columns are moved out, or whose positions are written: each must
// be where a stable sort puts it. The problem must have no segments.
//
// Returns a description of the first mistake; nothing if the result is right. Costs a sort on the
// host and 8 bytes a record.
[[nodiscard]] std::optional<std::string> find_record_mistake(
    const sortium::RecordProblem& problem, const sortium::RecordHostOperands& operands);

}  // namespace app
