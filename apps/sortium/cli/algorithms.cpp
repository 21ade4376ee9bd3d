// `sortium algorithms`: lists every algorithm.
#include "cli/algorithms.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <sortium/sortium.hpp>

#include "cli/command.hpp"
#include "cli/common.hpp"
#include "io/host_sort.hpp"

namespace app {

namespace {

void print_algorithm(const sortium::AlgorithmInfo& a) {
  fmt::print("{}\n  {}\n", a.name, a.title);
  fmt::print("  {}{}{}{}{}{}\n", a.stable ? "stable" : "not stable",
             a.comparison ? ", by comparison" : "", a.quadratic ? ", O(N^2)" : "",
             a.partial ? ", partial: leaves sorted runs" : "", a.host ? ", for cpu:0" : "",
             a.segments ? ", for segments" : "");
  fmt::print("  cost: {}\n  from: {}\n", a.cost, a.source);
  if (!a.parameters.empty()) fmt::print("  parameters:\n");
  for (const auto& p : a.parameters)
    fmt::print("    {:<12} {}; {}\n", p.name, p.meaning,
               p.choices.empty() ? fmt::format("{} to {}", p.minimum, p.maximum)
                                 : fmt::format("{}", fmt::join(p.choices, ", ")));
}

int list_algorithms() {
  fmt::print("auto\n  selects the fastest algorithm for the records and the device\n");
  for (const auto& a : sortium::algorithms()) print_algorithm(a);
  for (const auto& peer : peers())
    fmt::print("{}\n  {}; for comparison\n  {}{}\n", peer.name, peer.title,
               peer.stable ? "stable" : "not stable",
               peer.records ? " (with values or positions: stable)" : "");
  return exit_success;
}

}  // namespace

void add_algorithms(CLI::App& cli, Action& action) {
  auto* const command =
      cli.add_subcommand("algorithms", "List all algorithms and their parameters");
  command->footer("Example:\n  sortium algorithms");
  command->callback([&action] { action = list_algorithms; });
}

void check_algorithm(const std::string& name) {
  if (name == "auto" || find_peer(name) != nullptr) return;
  std::string names = "auto";
  for (const auto& a : sortium::algorithms()) {
    if (a.name == name) return;
    names += ", " + a.name;
  }
  for (const auto& peer : peers()) names += fmt::format(", {}", peer.name);
  throw Failure(exit_usage, fmt::format("--algorithm {}: there is no such algorithm; there are {}",
                                        name, names));
}

}  // namespace app
