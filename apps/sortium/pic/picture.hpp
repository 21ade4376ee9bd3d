// A picture of particles, coloured by their place in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "pic/pic.hpp"

namespace app {

struct Image {
  unsigned width = 0, height = 0;
  std::vector<std::uint8_t> pixels;   // row by row, each a colour's number
  std::vector<std::uint8_t> colours;  // red, green and blue of each
};

// Two samples side by side, and below them the next two. Each is the unit square with x to the
// right and y upwards; a particle is a dot. Below them all is the row of colours, that of the first
// particle in memory on the left.
[[nodiscard]] Image paint(const std::vector<Sample>& samples);

// Throws Failure where this build has no libpng.
void check_png();
[[nodiscard]] std::vector<std::uint8_t> png(const Image& image);

}  // namespace app
