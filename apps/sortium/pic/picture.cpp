#include "pic/picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#ifdef SORTIUM_PNG
#include <png.h>
#endif
#include <fmt/format.h>

#include "cli/common.hpp"

namespace app {

namespace {

constexpr unsigned side = 360, margin = 16, key_height = 10;  // pixels
constexpr unsigned first_colour = 2, shades = 64;  // few shades, so that the file stays small
constexpr std::uint8_t ground = 0, frame = 1;

// Colours from the first place in memory to the last.
constexpr std::array<std::array<double, 3>, 6> stops{
    {{30, 40, 110}, {20, 120, 190}, {40, 170, 120}, {225, 200, 50}, {230, 110, 30}, {150, 20, 60}}};

std::vector<std::uint8_t> colours() {
  std::vector<std::uint8_t> out{255, 255, 255, 190, 196, 204};
  for (unsigned i = 0; i < shades; ++i) {
    const double at = static_cast<double>(i) / (shades - 1) * (stops.size() - 1);
    const auto stop = std::min(static_cast<std::size_t>(at), stops.size() - 2);
    for (std::size_t c = 0; c < 3; ++c)
      out.push_back(static_cast<std::uint8_t>(std::lround(
          std::lerp(stops[stop][c], stops[stop + 1][c], at - static_cast<double>(stop)))));
  }
  return out;
}

std::uint8_t colour(std::size_t place, std::size_t places) {
  return static_cast<std::uint8_t>(first_colour + place * shades / places);
}

}  // namespace

Image paint(const std::vector<Sample>& samples) {
  const auto rows = static_cast<unsigned>((samples.size() + 1) / 2);
  Image image{
      2 * side + 3 * margin, rows * (side + margin) + key_height + 2 * margin, {}, colours()};
  image.pixels.assign(std::size_t{image.width} * image.height, ground);
  const auto pixel = [&](unsigned x, unsigned y) -> std::uint8_t& {
    return image.pixels[std::size_t{y} * image.width + x];
  };

  for (std::size_t s = 0; s < samples.size(); ++s) {
    const auto& [x, y] = samples[s];
    const unsigned left = margin + static_cast<unsigned>(s % 2) * (side + margin);
    const unsigned top = margin + static_cast<unsigned>(s / 2) * (side + margin);
    for (unsigned i = 0; i < side + 2; ++i) {
      pixel(left - 1 + i, top - 1) = pixel(left - 1 + i, top + side) = frame;
      pixel(left - 1, top - 1 + i) = pixel(left + side, top - 1 + i) = frame;
    }
    for (std::size_t k = 0; k < x.size(); ++k) {
      const auto along = [](float place) {
        return std::min(static_cast<unsigned>(place * side), side - 1);
      };
      if (!(x[k] >= 0 && x[k] < 1 && y[k] >= 0 && y[k] < 1))
        continue;  // the tally counts these as errors
      pixel(left + along(x[k]), top + side - 1 - along(y[k])) = colour(k, x.size());
    }
  }
  for (unsigned i = 0; i < image.width - 2 * margin; ++i)
    for (unsigned j = 0; j < key_height; ++j)
      pixel(margin + i, image.height - margin - key_height + j) =
          colour(i, image.width - 2 * margin);
  return image;
}

#ifdef SORTIUM_PNG
void check_png() {}

std::vector<std::uint8_t> png(const Image& image) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = image.width;
  header.height = image.height;
  header.format = PNG_FORMAT_RGB_COLORMAP;
  header.colormap_entries = static_cast<png_uint_32>(image.colours.size() / 3);
  std::vector<std::uint8_t> out(PNG_IMAGE_PNG_SIZE_MAX(header));
  png_alloc_size_t bytes = out.size();
  if (png_image_write_to_memory(&header, out.data(), &bytes, 0, image.pixels.data(), 0,
                                image.colours.data()) == 0)
    throw Failure(exit_runtime, fmt::format("libpng: {}", header.message));
  out.resize(bytes);
  return out;
}
#else
void check_png() { throw Failure(exit_usage, "--picture: this program was built without libpng"); }
std::vector<std::uint8_t> png(const Image&) {
  check_png();
  return {};
}
#endif

}  // namespace app
