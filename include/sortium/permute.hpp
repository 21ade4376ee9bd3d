// Moves elements of any size by positions: gather and scatter.
#pragma once

#include <sortium/export.h>

#include <concepts>
#include <cstdint>
#include <memory>
#include <ranges>
#include <sortium/device.hpp>
#include <sortium/host.hpp>
#include <type_traits>
#include <vector>

namespace sortium {

template <class T>
concept Element = std::is_trivially_copyable_v<T> && sizeof(T) <= 256;
template <class R>
concept ElementRange = std::ranges::contiguous_range<R> && Element<std::ranges::range_value_t<R>>;
template <class T>
concept Index = std::same_as<T, std::uint32_t> || std::same_as<T, std::uint64_t>;

enum class Direction : std::uint8_t {
  gather,   // out[i] = in[positions[i]]
  scatter,  // out[positions[i]] = in[i]
};

struct PermuteProblem {
  Direction direction = Direction::gather;
  std::uint64_t count = 0;     // number of positions
  unsigned element_bytes = 4;  // 1 to 256
  unsigned index_bytes = 4;    // bytes of a position, 4 or 8
  // Number of elements of `in` (gather) or `out` (scatter), to which positions refer. 0: `count`.
  std::uint64_t elements = 0;
};

class Mover;  // internal

// A plan that moves elements by positions. Reads and writes every element once, and reads each
// position once.
class SORTIUM_API Permute {
 public:
  // Throws Error(invalid_argument) naming the field of `problem` that is not supported.
  Permute(std::shared_ptr<Device> device, const PermuteProblem& problem);
  Permute(Permute&&) noexcept;
  Permute& operator=(Permute&&) noexcept;
  ~Permute();

  // Only enqueues. `in` and `out` must not overlap, and are aligned as columns are
  // (RecordOperands). Positions are not checked: a position of `elements` or more reads or writes
  // out of bounds. If positions of a scatter are equal, `out` receives any one of their elements.
  void run(Queue& queue, Memory in, Memory positions, Memory out) const;
  [[nodiscard]] const PermuteProblem& problem() const { return problem_; }

 private:
  std::shared_ptr<Device> device_;
  PermuteProblem problem_;
  std::unique_ptr<Mover> mover_;
};

// ---------------------------------------------------------------------------------------------
// Host memory
// ---------------------------------------------------------------------------------------------

// Permutes elements of host memory; `in` and `out` must not overlap. Throws Error(invalid_argument)
// naming the first position out of range, before it writes anything. Without a named device, runs
// on cpu:0 if there is one.
SORTIUM_API void permute_host(const PermuteProblem& problem, const void* in, const void* positions,
                              void* out, const Options& options = {});

namespace detail {
SORTIUM_API void check_positions_of_none(std::uint64_t positions);
}  // namespace detail

// Returns values[positions[0]], values[positions[1]], … Throws as permute_host() does.
template <ElementRange Values, std::ranges::contiguous_range Positions>
requires Index<std::ranges::range_value_t<Positions>>
[[nodiscard]] auto gather(const Values& values, const Positions& positions,
                          const Options& options = {}) {
  using V = std::ranges::range_value_t<Values>;
  auto out = detail::vector_of<V>(std::ranges::size(positions));
  if (std::ranges::size(values) == 0) detail::check_positions_of_none(out.size());
  permute_host({Direction::gather, out.size(), sizeof(V),
                sizeof(std::ranges::range_value_t<Positions>), std::ranges::size(values)},
               std::ranges::data(values), std::ranges::data(positions), out.data(), options);
  return out;
}
// Returns `out` with out[positions[i]] = values[i]: the inverse of gather. It has as many elements
// as `values`; an element that no position names is V{}. Throws as permute_host() does.
template <ElementRange Values, std::ranges::contiguous_range Positions>
requires Index<std::ranges::range_value_t<Positions>>
[[nodiscard]] auto scatter(const Values& values, const Positions& positions,
                           const Options& options = {}) {
  using V = std::ranges::range_value_t<Values>;
  detail::check_lengths(std::ranges::size(positions), std::ranges::size(values));
  auto out = detail::vector_of<V>(std::ranges::size(values));
  permute_host(
      {Direction::scatter, out.size(), sizeof(V), sizeof(std::ranges::range_value_t<Positions>)},
      std::ranges::data(values), std::ranges::data(positions), out.data(), options);
  return out;
}

}  // namespace sortium
