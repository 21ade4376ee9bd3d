// Checks the arguments of DeviceSorter::sort().
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <sortium/distributed.hpp>

#include "../core/refuse.hpp"
#include "../sort/validate.hpp"

namespace sortium::distributed {

inline constexpr unsigned most_given_slices = 64;

// What sorts of keys and of records have in common. `p`: a valid Problem or RecordProblem.
template <class AnyProblem>
void validate_options(const AnyProblem& p, const DeviceOptions& options, const Queue& queue,
                      Device& device) {
  validate_enumeration(options.balance, Balance::even, "balance");
  validate_method(options.method.algorithm);
  validate_queue(queue, device);
  if (p.segments != 0 || p.limit != 0) refuse("a distributed sort takes no segments and no limit");
}

inline void validate(const Problem& p, const DeviceOptions& options, const Queue& queue,
                     Device& device) {
  validate_problem(p);
  validate_options(p, options, queue, device);
  if (options.slices > most_given_slices)
    refuse(fmt::format("slices is {}; up to {} are allowed", options.slices, most_given_slices));
}

// `part` is the number of records in the rank's part.
inline void validate_operands_of(const Problem& p, const Operands& o, std::uint64_t part,
                                 Balance balance, Space space) {
  const unsigned key = info(p.key).bytes;
  const bool reads = p.payload == Payload::values, writes = p.payload != Payload::none;
  if (o.scratch || o.offsets)
    refuse("scratch or offsets is given; a DeviceSorter has its own memory");
  if (o.in_place() && balance != Balance::kept)
    refuse("a sort in place needs Balance::kept: another part may be longer than the input");
  const Operand all[] = {
      {"keys_in", o.keys_in, p.count * key, key, false},
      {"values_in", o.values_in, reads ? p.count * p.value_bytes : 0, p.value_bytes, false},
      {"keys_out", o.keys_out, p.keys_out ? part * key : 0, key, true, -1, "keys_in"},
      {"values_out", o.values_out, writes ? part * p.value_bytes : 0, p.value_bytes, true, -1,
       "values_in"}};
  validate_operands(all, space);
}

}  // namespace sortium::distributed
