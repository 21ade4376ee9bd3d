// One sort on a device, with red zones around all operands, compared with a reference.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <sortium/sortium.hpp>
#include <string>
#include <vector>

#include "keys.hpp"

namespace sortium::test {

// A planned sort, from a Plan or from an algorithm itself.
struct Planned {
  std::uint64_t scratch_bytes = 0;
  std::uint64_t run_length = 0;  // of a partial sort; else 0
  bool stable = true;
  std::function<void(Queue&, const Operands&)> run;
};

struct Case {
  Problem problem;
  bool in_place = false;
  Distribution distribution = Distribution::random;
  std::uint64_t seed = 0;                // the input follows from this and from run_seed()
  std::vector<std::uint64_t> offsets{};  // of problem.segments segments
};
[[nodiscard]] std::string describe(const Case& c);

// Lengths of segments.
enum class Lengths : std::uint8_t {
  equal,        // equal, except for the last
  log_uniform,  // lengths from 2^k to 2^(k + 1) are equally frequent for each k
  mostly_empty,
  one,         // one segment with all records
  rows,        // all equal, without offsets
  ends_empty,  // the first and the last are empty, the others equal
  borders,     // the typical lengths, one less, and one more, in turn
};
inline constexpr std::array all_lengths{
    Lengths::equal, Lengths::log_uniform, Lengths::mostly_empty, Lengths::one,
    Lengths::rows,  Lengths::ends_empty,  Lengths::borders};
// Divides the case's records into segments. `typical` has the lengths for `equal`, `rows` and
// `borders`. `rows` drops records that fill no row.
void set_segments(Case& c, Lengths lengths, const std::vector<std::uint64_t>& typical,
                  unsigned offset_bytes);

// Makes every segment a column of a matrix with `stride` columns, or with as many as there are
// segments. The case has segments of Lengths::rows. Drops segments that fill no matrix.
void set_stride(Case& c, std::uint64_t stride);

enum class Placement : std::uint8_t {
  // All operands in one allocation with canaries between them, at odd multiples of an element.
  guarded,
  exact,  // each operand in its own allocation of exactly its size: for tools that check accesses
};

class Trial {
 public:
  Trial(std::shared_ptr<Device> device, Placement placement);
  // Runs the sort. Returns a description of the first error, or nothing.
  [[nodiscard]] std::string run(const Case& c, const Planned& planned);

 private:
  struct Area {  // an operand: where it is in before_ and after_, and on the device
    std::string_view name;
    std::uint64_t offset = 0, bytes = 0;
    bool written = false;
    Memory memory{};
    std::uint64_t element = 0;  // alignment in bytes; 0: that of an allocation
  };
  void place(std::vector<Area*> areas, std::uint64_t turn);

  std::shared_ptr<Device> device_;
  std::unique_ptr<Queue> queue_;
  Placement placement_;
  std::vector<std::byte> before_, after_;  // all operands and the canaries
  std::vector<std::unique_ptr<Buffer>> buffers_;
};

}  // namespace sortium::test
