// `sortium draw`: a picture of an algorithm as SVG.
#include "cli/draw.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.hpp"
#include "cli/common.hpp"
#include "draw/svg.hpp"
#include "io/output.hpp"

namespace app {

int draw(const DrawOptions& options) {
  remove_temporaries_on_signals();
  const std::string svg = draw_svg(options.what, options.n);
  Output out(options.out);
  out.write(svg.data(), svg.size());
  out.publish();
  return exit_success;
}

void add_draw(CLI::App& cli, Action& action) {
  const auto o = std::make_shared<DrawOptions>();
  auto* const command =
      cli.add_subcommand("draw", "Draw a sorting network, or the tiers of merge sort, as SVG");
  command->add_option("WHAT", o->what, "bitonic, odd-even or merge")
      ->required()
      ->check(CLI::IsMember({"bitonic", "odd-even", "merge"}))
      ->type_name("");
  command->add_option("-n", o->n, "Number of records: 2 to 64")
      ->check(CLI::Range(draw_least, draw_most))
      ->type_name("")
      ->capture_default_str();
  command->add_option("-o,--output", o->out, "File for the picture; - is standard output")
      ->required()
      ->type_name("OUT");
  command->footer("Example:\n  sortium draw bitonic -n 16 -o net.svg");
  command->callback([o, &action] { action = [o] { return draw(*o); }; });
}

}  // namespace app
