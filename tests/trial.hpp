// One sort, run on a device with red zones all around, and compared with a reference.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <sortium/sortium.hpp>
#include <string>
#include <vector>

#include "keys.hpp"

namespace sortium::test {

// A planned sort, however it was planned.
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
  std::uint64_t seed = 0;
  std::vector<std::uint64_t> offsets{};  // of problem.segments segments
};
[[nodiscard]] std::string describe(const Case& c);

// How long segments are.
enum class Lengths : std::uint8_t {
  equal,        // all of them, but for the last
  log_uniform,  // as often between 1 and 2 as between 2^k and 2^(k + 1)
  mostly_empty,
  one,         // which has all the records
  ends_empty,  // the first and the last; those between are equal
  borders,     // what is given, one less, and one more, in turn
};
inline constexpr std::array all_lengths{Lengths::equal, Lengths::log_uniform, Lengths::mostly_empty,
                                        Lengths::one,   Lengths::ends_empty,  Lengths::borders};
// Makes segments of the case's records. `typical`: the length of equal ones, or those whose
// neighbours are tried.
void set_segments(Case& c, Lengths lengths, const std::vector<std::uint64_t>& typical,
                  unsigned offset_bytes);

enum class Placement : std::uint8_t {
  guarded,  // all operands in one allocation, with canaries between them, some elements behind
            // multiples of 512 bytes
  exact,  // an allocation of its own for each, no byte too long: for tools that watch every access
};

class Trial {
 public:
  Trial(std::shared_ptr<Device> device, Placement placement);
  // What is wrong with the sort; empty where nothing is.
  [[nodiscard]] std::string run(const Case& c, const Planned& planned);

 private:
  struct Area {  // of the image, and where it lies on the device
    std::string_view name;
    std::uint64_t offset = 0, bytes = 0;
    bool written = false;
    Memory memory{};
    std::uint64_t element = 0;  // bytes: where it begins is a multiple of this, and of no more; 0:
                                // of as much as an allocation
  };
  void place(std::vector<Area*> areas, std::uint64_t turn);

  std::shared_ptr<Device> device_;
  std::unique_ptr<Queue> queue_;
  Placement placement_;
  std::vector<std::byte> before_, after_;  // of all operands, and what lies between them
  std::vector<std::unique_ptr<Buffer>> buffers_;
};

}  // namespace sortium::test
