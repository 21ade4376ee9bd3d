// Pictures of the algorithms, as SVG.
#pragma once

#include <string>

namespace app {

inline constexpr unsigned draw_least = 2, draw_most = 64;  // records of a picture

// What there is: "bitonic", "odd-even" (the comparator networks), "merge" (the tiers). Throws
// Failure for any other word, and for an n that is not from draw_least to draw_most.
[[nodiscard]] std::string draw_svg(const std::string& what, unsigned n);

}  // namespace app
