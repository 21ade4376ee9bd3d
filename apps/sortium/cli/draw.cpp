// `sortium draw`: a picture of an algorithm as SVG.
#include "cli/commands.hpp"
#include "cli/common.hpp"
#include "draw/svg.hpp"
#include "io/output.hpp"

namespace app {

int draw(const DrawOptions& options) {
  const std::string svg = draw_svg(options.what, options.n);
  Output out(options.out);
  out.write(svg.data(), svg.size());
  out.publish();
  return exit_success;
}

}  // namespace app
