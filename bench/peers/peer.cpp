#include "peer.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "protocol/distributions.hpp"
#include "protocol/rows.hpp"
#include "protocol/sizes.hpp"

namespace peers {

namespace {

using sortium::ErrorCode;

app::Row measure(Place& place, const Contender& contender, const app::Case& c,
                 const std::string& distribution) {
  app::Row row = app::new_row(contender.algorithm, true, c.problem, distribution);
  row["version"] = contender.version;
  const auto& device = place.queue->device().info();
  app::set_device(row, device.id, device.name, device.driver, device.language);
  try {
    app::set_measurement(row, app::measure(*place.queue, contender.make(c.problem), c));
    row.erase("phases");  // a phase would be the whole sort
  } catch (const sortium::Error& error) {
    const bool cannot =
        error.code() == ErrorCode::unsupported || error.code() == ErrorCode::out_of_memory;
    row[cannot ? "skipped" : "failed"] = error.what();
  } catch (const std::exception& error) {
    row["failed"] = error.what();
  }
  return row;
}

}  // namespace

void copy_to_output(sortium::Queue& queue, const sortium::Problem& p, const sortium::Operands& o) {
  queue.copy(o.keys_out, o.keys_in, p.count * sortium::info(p.key).bytes);
  if (o.values_in) queue.copy(o.values_out, o.values_in, p.count * p.value_bytes);
  queue.finish();
}

int run(int argc, char** argv,
        const std::function<std::optional<Place>(const std::string&)>& open) try {
  CLI::App cli{"A peer of Sortium's; see bench/peers/peer.hpp"};
  std::string device, sizes;
  std::vector<std::string> types, payloads, distributions;
  double min_seconds = 0.5;
  cli.add_option("--device", device)->required();
  cli.add_option("--n", sizes)->required();
  cli.add_option("--type", types)->delimiter(',')->required();
  cli.add_option("--payload", payloads)
      ->delimiter(',')
      ->required()
      ->check(CLI::IsMember({"keys", "keys+values"}));
  cli.add_option("--distribution", distributions)->delimiter(',')->required();
  cli.add_option("--min-time", min_seconds);
  CLI11_PARSE(cli, argc, argv);
  for (const auto& distribution : distributions) app::check_distribution(distribution);
  auto place = open(device);
  if (!place) return 0;
  for (const auto& distribution : distributions)
    for (const auto& type : types)
      for (const auto n : app::parse_sizes(sizes, app::most_keys))
        for (const auto& payload : payloads)
          for (const auto& contender : place->contenders) {
            app::Case c;
            c.problem.key = sortium::parse_key_type(type);
            c.problem.count = n;
            c.problem.payload =
                payload == "keys" ? sortium::Payload::none : sortium::Payload::values;
            c.min_seconds = min_seconds;
            c.keys = [&](std::uint64_t first, std::uint64_t count, void* out) {
              app::make_keys(distribution, c.problem.key, n, first, count, out);
            };
            fmt::print("{}\n", measure(*place, contender, c, distribution).dump());
            std::fflush(stdout);
          }
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}: {}\n", argv[0], error.what());
  return 1;
}

}  // namespace peers
