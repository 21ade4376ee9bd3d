// `sortium pic`: the particle-in-cell experiment of document 003, section 4.2.
#include "pic/pic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <sortium/sortium.hpp>

#include "cli/commands.hpp"
#include "cli/common.hpp"
#include "io/output.hpp"
#include "pic/picture.hpp"
#include "protocol/data.hpp"
#include "protocol/measure.hpp"

namespace app {

namespace {

using Bits = Pic::Bits;

constexpr std::uint64_t most_drawn = 150000;  // particles

// Document 003, table 7: seconds of a sort, 8M particles in 32 x 32 cells.
struct Published {
  const char* device;
  double two_passes, six_passes;  // of 5 bits: 10 bits, which the cells' numbers have, and 30
};
constexpr std::uint64_t published_particles = 1 << 23;
constexpr unsigned published_grid = 32;
constexpr Published table_7[]{{"GeForce 320M", 1.42335, 6.7084},
                              {"GeForce GTX 470", 0.04502, 0.0679951},
                              {"Radeon HD 5850", 0.109055, 0.18143},
                              {"Phenom II X4 945, 4 cores", 0.0838514, 0.175059},
                              {"Phenom II X4 945, 1 core", 0.169612, 0.49917}};

// What a step took, in seconds, and found.
struct StepResult {
  double disorder = 0;  // the part of neighbours in memory that were out of order before the sort
  double find_cells = 0, sort_cell_bits = 0, sort_all_bits = 0, gather = 0, deposit_unsorted = 0,
         deposit_sorted = 0;
  std::string flaw;  // of the invariants; empty: all hold

  // Of all that brings the particles into order.
  [[nodiscard]] double reorder() const { return find_cells + sort_cell_bits + gather; }
};

// The median of the seconds that `work` takes; runs until `min_seconds` have passed, after a first
// time that does not count.
template <class Work>
double seconds_of(Pic& pic, double min_seconds, const Work& work) {
  work();
  pic.finish();
  std::vector<double> times;
  double total = 0;
  do {
    Stopwatch watch;
    work();
    pic.finish();
    times.push_back(watch.lap());
    total += times.back();
  } while (total < min_seconds && !interrupted());
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

std::string flaw_of(const std::string& what, const std::string& flaw) {
  return flaw.empty() ? "" : fmt::format("{}: {}", what, flaw);
}

StepResult run_step(Pic& pic, double min_seconds, const Tally& start,
                    std::vector<Sample>* samples) {
  const auto timed = [&](const auto& work) { return seconds_of(pic, min_seconds, work); };
  const std::uint64_t n = pic.problem().particles;
  StepResult r;
  const Tally before = pic.tally_before();
  r.disorder = n < 2 ? 0 : static_cast<double>(before.disorder) / static_cast<double>(n - 1);
  r.flaw = flaw_of("before the sort", flaw_of_move(start, before));
  if (samples != nullptr) samples->push_back(pic.sample(most_drawn));

  r.find_cells = timed([&] { pic.find_cells(); });
  const auto sort = [&](Bits bits, const char* name) {
    pic.forget_order();
    const double seconds = timed([&] { pic.sort(bits); });
    pic.gather();
    if (r.flaw.empty()) r.flaw = flaw_of(name, flaw_of_sort(before, pic.tally_after()));
    return seconds;
  };
  r.sort_all_bits = sort(Bits::all, "after the sort by all bits");
  r.sort_cell_bits = sort(Bits::cell, "after the sort");
  r.gather = timed([&] { pic.gather(); });

  r.deposit_unsorted = timed([&] { pic.deposit_before(); });
  r.deposit_sorted = timed([&] { pic.deposit_after(); });
  if (r.flaw.empty())
    r.flaw = flaw_of("charge", flaw_of_charges(pic.compare_charges(), n * pic.charge()));
  pic.end_step();
  if (samples != nullptr) samples->push_back(pic.sample(most_drawn));
  return r;
}

// Exact, as units of 2^-24 are, but for the last rounding.
double in_units(std::uint64_t sum) { return static_cast<double>(sum) * 0x1p-24; }
double energy(const Tally& t) { return in_units(t.energy_high) + in_units(t.energy_low) * 0x1p-24; }

std::string method_words(const sortium::Plan& plan) {
  const std::string parameters = plan.parameters();
  return parameters.empty() ? plan.algorithm().name
                            : fmt::format("{} ({})", plan.algorithm().name, parameters);
}

double mega_per_second(std::uint64_t particles, double seconds) {
  return seconds > 0 ? static_cast<double>(particles) / seconds * 1e-6 : 0;
}

void print_published(const StepResult& last, const std::string& device) {
  fmt::print("\nDocument 003, table 7: seconds of a sort of 8M particles in 32 x 32 cells\n");
  fmt::print("{:<32} {:>14} {:>14} {:>7}\n", "", "10 bits, p = 2", "30 bits, p = 6", "ratio");
  for (const auto& p : table_7)
    fmt::print("{:<32} {:>14.4g} {:>14.4g} {:>7.2f}\n", p.device, p.two_passes, p.six_passes,
               p.six_passes / p.two_passes);
  fmt::print("{:<32} {:>14.4g} {:>14.4g} {:>7.2f}  (10 and 32 bits, the last step)\n", device,
             last.sort_cell_bits, last.sort_all_bits, last.sort_all_bits / last.sort_cell_bits);
}

PicProblem problem_of(const PicOptions& o) {
  PicProblem p{parse_size(o.particles, "--particles " + o.particles),
               o.grid,
               o.dt.value_or(1.0 / o.grid),
               {o.algorithm, o.parameters}};
  if (p.particles == 0) throw Failure(exit_usage, "--particles 0: 1 to 2^32 are allowed");
  if (!(p.dt >= 0 && p.dt <= 1))
    throw Failure(exit_usage, fmt::format("--dt {}: 0 to 1 is allowed", p.dt));
  return p;
}

void save(Output& file, const void* data, std::uint64_t bytes) {
  file.write(data, bytes);
  file.publish();
}

}  // namespace

int pic(const PicOptions& options) {
  const PicProblem problem = problem_of(options);
  std::optional<Output> json_file, picture_file;
  if (!options.json.empty()) json_file.emplace(options.json);
  if (!options.picture.empty()) {
    check_png();
    if (options.picture == "-")
      throw Failure(exit_usage, "--picture -: standard output has the table; name a file");
    picture_file.emplace(options.picture);
    if (json_file && json_file->same_file(*picture_file))
      throw Failure(exit_usage, fmt::format("--picture and --json both name {}", options.picture));
  }
  const auto device = sortium::find_device(options.device, true);
  Pic pic(device, problem);
  keep_results_on_signals();

  const auto& d = device->info();
  const unsigned bits = pic.plan(Bits::cell).problem().end_bit;
  const std::string by_cell = method_words(pic.plan(Bits::cell)),
                    by_all = method_words(pic.plan(Bits::all));
  const Tally start = pic.tally_before();
  const auto count = static_cast<double>(problem.particles);
  fmt::print("{}  {}\n  {}; {}\n", d.id, d.name, d.driver, d.language);
  fmt::print("  {} particles in {} x {} cells; a step is {:.6g}\n", problem.particles, problem.grid,
             problem.grid, problem.dt);
  fmt::print("  by the {} bits of a cell's number: {}\n  by all 32 bits: {}\n", bits, by_cell,
             by_all);
  fmt::print("  mean velocity ({:.6f}, {:.6f}), mean of its square {:.6f}\n",
             in_units(start.momentum_x) / count, in_units(start.momentum_y) / count,
             energy(start) / count);
  fmt::print("{:>4} {:>9} | {:>31} | {:>9} {:>9} | {:>28} |\n", "", "", "sort, seconds", "gather,",
             "", "charge onto the grid, s");
  fmt::print("{:>4} {:>9} | {:>10} {:>10} {:>9} | {:>9} {:>9} | {:>9} {:>9} {:>8} | {}\n", "step",
             "disorder", fmt::format("{} bits", bits), "32 bits", "ratio", "seconds", "Mpart/s",
             "unsorted", "sorted", "ratio", "invariants");

  nlohmann::json json{{"sortium", sortium::version()},
                      {"device", d.name},
                      {"device_id", d.id},
                      {"driver", d.driver},
                      {"language", d.language},
                      {"particles", problem.particles},
                      {"grid", problem.grid},
                      {"dt", problem.dt},
                      {"cell_bits", bits},
                      {"sort_cell_bits", by_cell},
                      {"sort_all_bits", by_all},
                      {"min_seconds", options.min_seconds},
                      {"momentum", {in_units(start.momentum_x), in_units(start.momentum_y)}},
                      {"energy", energy(start)},
                      {"steps", nlohmann::json::array()}};
  int code = exit_success;
  std::vector<Sample> samples;
  std::optional<StepResult> last;
  for (unsigned step = 0; step <= options.steps && code == exit_success; ++step) {
    if (step != 0) pic.move();
    const bool drawn = picture_file && (step == 0 || step == options.steps);
    StepResult r = run_step(pic, options.min_seconds, start, drawn ? &samples : nullptr);
    if (step == 0 && r.flaw.empty())
      r.flaw = flaw_of("at the start", flaw_at_start(start, problem.particles));
    if (interrupted()) break;
    const double rate = mega_per_second(problem.particles, r.reorder());
    fmt::print(
        "{:>4} {:>7.3f} % | {:>10.3e} {:>10.3e} {:>9.2f} | {:>9.3e} {:>9.4g} | {:>9.3e} {:>9.3e} "
        "{:>8.2f} | {}\n",
        step, 100 * r.disorder, r.sort_cell_bits, r.sort_all_bits,
        r.sort_all_bits / r.sort_cell_bits, r.gather, rate, r.deposit_unsorted, r.deposit_sorted,
        r.deposit_unsorted / r.deposit_sorted, r.flaw.empty() ? "hold" : "WRONG: " + r.flaw);
    std::fflush(stdout);
    json["steps"].push_back({{"step", step},
                             {"disorder", r.disorder},
                             {"find_cells_seconds", r.find_cells},
                             {"sort_cell_bits_seconds", r.sort_cell_bits},
                             {"sort_all_bits_seconds", r.sort_all_bits},
                             {"gather_seconds", r.gather},
                             {"mparticles_per_second", rate},
                             {"deposit_unsorted_seconds", r.deposit_unsorted},
                             {"deposit_sorted_seconds", r.deposit_sorted},
                             {"invariants_hold", r.flaw.empty()},
                             {"flaw", r.flaw}});
    if (!r.flaw.empty()) code = exit_wrong;
    last = std::move(r);
  }
  fmt::print(
      "  disorder: neighbours in memory that are in the wrong order before the sort; Mpart/s: "
      "finding the cells,\n"
      "  sorting by their bits and gathering\n");
  if (interrupted()) fmt::print("interrupted\n");
  if (last && problem.particles == published_particles && problem.grid == published_grid)
    print_published(*last, d.name);

  if (json_file) {
    json["interrupted"] = interrupted();
    const std::string text = json.dump(2) + "\n";
    save(*json_file, text.data(), text.size());
  }
  if (picture_file && !samples.empty()) {
    const auto bytes = png(paint(samples));
    save(*picture_file, bytes.data(), bytes.size());
  }
  return code;
}

}  // namespace app
