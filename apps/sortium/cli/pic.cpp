// `sortium pic`: the particle-in-cell experiment of document 003, section 4.2.
#include "cli/pic.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sortium/sortium.hpp>

#include "cli/command.hpp"
#include "cli/common.hpp"
#include "io/output.hpp"
#include "pic/pic.hpp"
#include "pic/picture.hpp"
#include "protocol/measure.hpp"
#include "protocol/sizes.hpp"

namespace app {

namespace {

using Bits = Pic::Bits;

constexpr std::uint64_t most_drawn = 150000;  // particles

// Document 003, table 7: seconds of a sort of 8M particles in 32 x 32 cells.
struct Published {
  const char* device;
  double two_passes, six_passes;  // of 5 bits each: the 10 bits of a cell's number, and 30 bits
};
constexpr std::uint64_t published_particles = 1 << 23;
constexpr unsigned published_grid = 32;
constexpr Published table_7[]{{"GeForce 320M", 1.42335, 6.7084},
                              {"GeForce GTX 470", 0.04502, 0.0679951},
                              {"Radeon HD 5850", 0.109055, 0.18143},
                              {"Phenom II X4 945, 4 cores", 0.0838514, 0.175059},
                              {"Phenom II X4 945, 1 core", 0.169612, 0.49917}};

// The times of a step, in seconds, and the results of its checks.
struct StepResult {
  double disorder = 0;  // fraction of neighbours in memory that were out of order before the sort
  double find_cells = 0, sort_cell_bits = 0, sort_all_bits = 0, gather = 0, deposit_unsorted = 0,
         deposit_sorted = 0;
  std::string flaw;  // the invariant that is violated; empty: all hold

  // The time of all work that orders the particles.
  [[nodiscard]] double reorder() const { return find_cells + sort_cell_bits + gather; }
};

// Runs `work` once without timing, then until `min_seconds` have passed. Returns the median time of
// a run in seconds.
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

// Converts from units of 2^-24. Only the last rounding is not exact.
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

// One call of the command.
class Experiment {
 public:
  // Opens the output files and prepares the device. Throws Failure or sortium::Error.
  explicit Experiment(const PicOptions& options)
      : options_(options), problem_(problem_of(options)) {
    open_files();
    device_ = sortium::find_device(options.device, true);
    pic_ = std::make_unique<Pic>(device_, problem_);
    start_ = pic_->tally_before();
  }

  // Returns the program's exit code.
  int run() {
    print_heading();
    nlohmann::json json = about();
    std::vector<Sample> samples;
    std::optional<StepResult> last;
    int code = exit_success;
    for (unsigned step = 0; step <= options_.steps && code == exit_success; ++step) {
      if (step != 0) pic_->move();
      const bool drawn = picture_file_ && (step == 0 || step == options_.steps);
      StepResult r = run_step(*pic_, options_.min_seconds, start_, drawn ? &samples : nullptr);
      if (step == 0 && r.flaw.empty())
        r.flaw = flaw_of("at the start", flaw_at_start(start_, problem_.particles));
      if (interrupted()) break;
      print_step(step, r);
      json["steps"].push_back(to_json(step, r));
      if (!r.flaw.empty()) code = exit_wrong;
      last = std::move(r);
    }
    print_footing(last);
    save_files(json, samples);
    return code;
  }

 private:
  void open_files() {
    if (!options_.json.empty()) json_file_.emplace(options_.json);
    if (options_.picture.empty()) return;
    check_png();
    if (options_.picture == "-")
      throw Failure(exit_usage, "--picture -: standard output has the table; name a file");
    picture_file_.emplace(options_.picture);
    if (json_file_ && json_file_->same_file(*picture_file_))
      throw Failure(exit_usage, fmt::format("--picture and --json both name {}", options_.picture));
  }

  void print_heading() const {
    const auto& d = device_->info();
    const auto count = static_cast<double>(problem_.particles);
    fmt::print("{}  {}\n  {}; {}\n", d.id, d.name, d.driver, d.language);
    fmt::print("  {} particles in {} x {} cells; the time step is {:.6g}\n", problem_.particles,
               problem_.grid, problem_.grid, problem_.dt);
    fmt::print("  sort by the {} bits of a cell's number: {}\n  sort by all 32 bits: {}\n",
               cell_bits(), method_words(pic_->plan(Bits::cell)),
               method_words(pic_->plan(Bits::all)));
    fmt::print("  mean velocity ({:.6f}, {:.6f}), mean of its square {:.6f}\n",
               in_units(start_.momentum_x) / count, in_units(start_.momentum_y) / count,
               energy(start_) / count);
    fmt::print("{:>4} {:>9} | {:>31} | {:>9} {:>9} | {:>28} |\n", "", "", "sort, seconds",
               "gather,", "", "charge onto the grid, s");
    fmt::print("{:>4} {:>9} | {:>10} {:>10} {:>9} | {:>9} {:>9} | {:>9} {:>9} {:>8} | {}\n", "step",
               "disorder", fmt::format("{} bits", cell_bits()), "32 bits", "ratio", "seconds",
               "Mpart/s", "unsorted", "sorted", "ratio", "invariants");
  }

  void print_step(unsigned step, const StepResult& r) const {
    fmt::print(
        "{:>4} {:>7.3f} % | {:>10.3e} {:>10.3e} {:>9.2f} | {:>9.3e} {:>9.4g} | {:>9.3e} {:>9.3e} "
        "{:>8.2f} | {}\n",
        step, 100 * r.disorder, r.sort_cell_bits, r.sort_all_bits,
        r.sort_all_bits / r.sort_cell_bits, r.gather, rate(r), r.deposit_unsorted, r.deposit_sorted,
        r.deposit_unsorted / r.deposit_sorted, r.flaw.empty() ? "hold" : "WRONG: " + r.flaw);
    flush_output();
  }

  void print_footing(const std::optional<StepResult>& last) const {
    fmt::print(
        "  disorder: neighbours in memory that are in the wrong order before the sort\n"
        "  Mpart/s: finding the cells, sorting by their bits and gathering\n");
    if (interrupted()) fmt::print("interrupted\n");
    if (last && problem_.particles == published_particles && problem_.grid == published_grid)
      print_published(*last, device_->info().name);
  }

  [[nodiscard]] nlohmann::json about() const {
    const auto& d = device_->info();
    return {{"sortium", sortium::version()},
            {"device", d.name},
            {"device_id", d.id},
            {"driver", d.driver},
            {"language", d.language},
            {"particles", problem_.particles},
            {"grid", problem_.grid},
            {"dt", problem_.dt},
            {"cell_bits", cell_bits()},
            {"sort_cell_bits", method_words(pic_->plan(Bits::cell))},
            {"sort_all_bits", method_words(pic_->plan(Bits::all))},
            {"min_seconds", options_.min_seconds},
            {"momentum", {in_units(start_.momentum_x), in_units(start_.momentum_y)}},
            {"energy", energy(start_)},
            {"steps", nlohmann::json::array()}};
  }

  [[nodiscard]] nlohmann::json to_json(unsigned step, const StepResult& r) const {
    return {{"step", step},
            {"disorder", r.disorder},
            {"find_cells_seconds", r.find_cells},
            {"sort_cell_bits_seconds", r.sort_cell_bits},
            {"sort_all_bits_seconds", r.sort_all_bits},
            {"gather_seconds", r.gather},
            {"mparticles_per_second", rate(r)},
            {"deposit_unsorted_seconds", r.deposit_unsorted},
            {"deposit_sorted_seconds", r.deposit_sorted},
            {"invariants_hold", r.flaw.empty()},
            {"flaw", r.flaw}};
  }

  void save_files(nlohmann::json& json, const std::vector<Sample>& samples) {
    if (json_file_) {
      json["interrupted"] = interrupted();
      const std::string text = json.dump(2) + "\n";
      save(*json_file_, text.data(), text.size());
    }
    if (picture_file_ && !samples.empty()) {
      const auto bytes = png(paint(samples));
      save(*picture_file_, bytes.data(), bytes.size());
    }
  }

  [[nodiscard]] unsigned cell_bits() const { return pic_->plan(Bits::cell).problem().end_bit; }
  [[nodiscard]] double rate(const StepResult& r) const {
    return mega_per_second(problem_.particles, r.reorder());
  }

  const PicOptions& options_;
  PicProblem problem_;
  std::optional<Output> json_file_, picture_file_;
  std::shared_ptr<sortium::Device> device_;
  std::unique_ptr<Pic> pic_;
  Tally start_;
};

constexpr const char* pic_footer = R"(Examples:
  sortium pic                                    as published: 2^23 particles, 32 x 32 cells
  sortium pic --picture particles.png
  sortium pic --particles 2^28 --grid 4096 --steps 10 --device cuda:0 --json result.json

Particles (x, y, u, v, id) are created on the device at the points of a van der Corput sequence.
Each step but the first moves them by dt (u, v) through the periodic unit square. Then they are
sorted by cell: by the bits that the cells' numbers have and, for comparison, by all 32 bits; and
every particle is gathered to its new place in memory. Their charge is deposited onto the grid
before and after. Each step is checked: ids, velocities, positions, momentum, energy, order,
charge.)";

}  // namespace

int pic(const PicOptions& options) {
  remove_temporaries_on_signals();  // until there are results to keep
  Experiment experiment(options);
  keep_results_on_signals();
  return experiment.run();
}

void add_pic(CLI::App& cli, Action& action) {
  const auto o = std::make_shared<PicOptions>();
  auto* const command =
      cli.add_subcommand("pic", "Sort the particles of a particle-in-cell simulation by cell");
  command->add_option("--particles", o->particles, "Number of particles: 1000000, 2^23; up to 2^32")
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--grid", o->grid, "Cells along a side: 2 to 4096")
      ->check(CLI::Range(2u, 4096u).description(""))
      ->type_name("CELLS")
      ->capture_default_str();
  command->add_option("--steps", o->steps, "Steps after the first sort: up to 1000000")
      ->check(CLI::Range(0u, 1000000u).description(""))
      ->type_name("STEPS")
      ->capture_default_str();
  command
      ->add_option("--dt", o->dt,
                   "Time step, 0 to 1 (default: the fastest particle crosses one cell)")
      ->type_name("TIME");
  command->add_option("--device", o->device, "A device that runs kernels")->type_name("NAME");
  command->add_option("--algorithm", o->algorithm, "An algorithm that 'sortium algorithms' lists")
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--params", o->parameters, "Parameters of the algorithm")
      ->type_name("K=V,...");
  command->add_option("--min-time", o->min_seconds, "Least time for each figure")
      ->check(CLI::Range(1e-6, 1e6).description(""))
      ->type_name("SECONDS")
      ->capture_default_str();
  command
      ->add_option("--picture", o->picture,
                   "Draw the particles before and after the first and the last sort, coloured by "
                   "their place in memory")
      ->type_name("OUT.png");
  command->add_option("--json", o->json, "Also write the results to this file")->type_name("FILE");
  command->footer(pic_footer);
  command->callback([o, &action] { action = [o] { return pic(*o); }; });
}

}  // namespace app
