// Which device sorts a list in host memory fastest: measured times of small sorts, interpolated.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <sortium/device.hpp>
#include <sortium/host.hpp>
#include <span>
#include <string>
#include <vector>

namespace sortium::costs {

// Sorts that take about the same time for each record.
struct Kind {
  unsigned key_bytes = 4;  // 1, 2, 4, 8; for records 8
  bool few_bits =
      false;  // at most 16 bits of the key are significant: cpu:0 sorts such keys by counting
  Payload payload = Payload::none;
  unsigned value_bytes = 0;   // 4 or 8; 0: no payload
  unsigned record_bytes = 0;  // bytes of a record, if records are sorted: a power of two from 8 to
                              // 256; 0: keys and values
  [[nodiscard]] std::string text() const;
  bool operator==(const Kind&) const = default;
};
[[nodiscard]] Kind kind_of(const Problem& problem);
[[nodiscard]] Kind kind_of_records(std::uint64_t bytes_of_a_record);

// The numbers of records that are measured. Shorter lists are sorted on cpu:0.
inline constexpr std::array<std::uint64_t, 3> counts{1u << 16, 1u << 20, 1u << 23};
// Seconds for lists of these lengths, from host memory back to host memory.
using Times = std::array<double, counts.size()>;

// True if the times could come from a measurement: finite, positive, at most a minute, and
// ascending.
[[nodiscard]] bool are_plausible(const Times& times);
// Returns the seconds for `count` records, interpolated linearly between the measured times.
[[nodiscard]] double seconds(const Times& times, std::uint64_t count);

// What is known about one device.
struct Candidate {
  std::optional<Times> times;  // none: the device failed
  bool in_ranges = false;      // the list needs more memory than the device has
};
// Returns the index of the candidate that sorts `count` records in the shortest time; the first one
// of equals. A sort in ranges is assumed to take twice as long. A candidate without times is
// selected only if no candidate has times.
[[nodiscard]] std::size_t fastest(std::span<const Candidate> candidates, std::uint64_t count);

// Sorts `count` random records of this kind in host memory.
using Sort = std::function<void(std::uint64_t count)>;
// Measures each of the times as the minimum of two sorts. `prepare` makes the input of the next
// sort.
[[nodiscard]] Times measure(const Sort& prepare, const Sort& sort);

// Returns the device's times for this kind, from the cache. If the cache has none, measures them
// and stores them there. Returns no times if the device cannot sort such records.
[[nodiscard]] std::optional<Times> kept_times_of(Device& device, const Kind& kind);
// Like kept_times_of(), but also remembers the result until the process ends.
[[nodiscard]] std::optional<Times> times_of(Device& device, const Kind& kind);

// Returns the device that sorts fastest: cpu:0 or a GPU. `operand_bytes` are those of the whole
// list.
[[nodiscard]] std::shared_ptr<Device> fastest_device(const Kind& kind, std::uint64_t count,
                                                     std::uint64_t operand_bytes,
                                                     const Options& options);

}  // namespace sortium::costs
