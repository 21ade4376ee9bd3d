// Pictures of the algorithms, as SVG.
#pragma once

#include <string>

namespace app {

inline constexpr unsigned draw_least = 2, draw_most = 64;  // records of a picture

// Draws "bitonic" or "odd-even" (comparator networks), or "merge" (tiers). Throws Failure for
// other words, and if n is not in the range above.
[[nodiscard]] std::string draw_svg(const std::string& what, unsigned n);

}  // namespace app
