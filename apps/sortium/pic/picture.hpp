// A picture of particles, coloured by their place in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "pic/pic.hpp"

namespace app {

struct Image {
  unsigned width = 0, height = 0;
  std::vector<std::uint8_t> pixels;   // row by row: the number of a colour
  std::vector<std::uint8_t> colours;  // red, green and blue of each colour
};

// Paints two samples side by side, and the next two below. Each shows the unit square, with x
// to the right and y upwards; a particle is a dot. The bar at the bottom shows the colours;
// the first particle's colour is on the left.
[[nodiscard]] Image paint(const std::vector<Sample>& samples);

// Throws Failure if this build has no libpng.
void check_png();
[[nodiscard]] std::vector<std::uint8_t> png(const Image& image);

}  // namespace app
