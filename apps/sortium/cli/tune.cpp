// `sortium tune`: searches for an algorithm's fastest parameters on a device, and keeps them.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sortium/sortium.hpp>

#include "../../../src/tuning/tuning.hpp"
#include "bench/run.hpp"
#include "bench/search.hpp"
#include "cli/algorithms.hpp"
#include "cli/command.hpp"
#include "cli/common.hpp"
#include "cli/key_options.hpp"
#include "cli/progress.hpp"
#include "io/output.hpp"
#include "protocol/distributions.hpp"
#include "protocol/sizes.hpp"

namespace app {

using sortium::Error;
using sortium::ErrorCode;
using sortium::Payload;
using sortium::Problem;
using sortium::tuning::Entry;

namespace {

constexpr double least_gain = 1.02;  // a smaller gain gets no entry in the tuning file

struct TuneOptions {
  std::string device, algorithm = "auto";
  std::vector<sortium::KeyType> types{sortium::KeyType::u32};
  std::vector<std::string> payloads{"keys", "values"};
  std::string sizes = "2^20,2^24", distribution = "uniform";
  std::string bits;     // "B:E"; empty: all
  double seconds = 30;  // for each search
  std::string out;      // empty: the user's tuning file
  bool print = false;   // print the entries, and write no file
};

std::vector<Entry> read_entries(const std::string& path) {
  std::error_code error;  // a file that does not exist yet has no entries, nor has /dev/stdout
  if (!std::filesystem::is_regular_file(path, error)) return {};
  return sortium::tuning::read(path);
}

bool same_class(const Entry& a, const Entry& b) {
  return a.device == b.device && a.backend == b.backend && a.algorithm == b.algorithm &&
         a.key_bytes == b.key_bytes && a.value_bytes == b.value_bytes &&
         a.log2_count == b.log2_count;
}

double median(std::vector<double> of) {
  std::ranges::nth_element(of, of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2));
  return of[of.size() / 2];
}

// Returns the named device. Without a name: the best one that runs the algorithm.
std::shared_ptr<sortium::Device> device_for(const TuneOptions& o) {
  if (!o.device.empty()) return sortium::find_device(o.device);
  const auto all = sortium::algorithms();
  const auto named = std::ranges::find(all, o.algorithm, &sortium::AlgorithmInfo::name);
  return named != all.end() && named->host ? sortium::find_device("cpu:0")
                                           : sortium::find_device({}, named != all.end());
}

// One problem on one device.
class Tuner {
 public:
  Tuner(std::shared_ptr<sortium::Device> device, const TuneOptions& options, const Problem& problem)
      : device_(std::move(device)),
        bench_(make_device_bench(device_)),
        options_(options),
        problem_(problem),
        algorithm_(options.algorithm) {
    // With "auto", tunes the algorithm that auto selects.
    if (algorithm_ == "auto") algorithm_ = sortium::Plan(device_, problem).algorithm().name;
  }

  // Searches, and prints a line about the result. Returns an entry for the tuning file; nothing if
  // the default parameters are as fast.
  std::optional<Entry> run(Progress& progress) {
    const Search found = search(progress);
    if (interrupted()) return std::nullopt;
    const auto [before, after] = compare(found.parameters);
    if (interrupted()) return std::nullopt;
    const double gain = before / after;
    const bool keep = gain >= least_gain;
    progress.finish();
    print(found, before, after, keep);
    if (!keep) return std::nullopt;
    const auto& c = device_->info().claimed;
    return Entry{c.model,
                 std::string(sortium::name(c.backend)),
                 algorithm_,
                 sortium::info(problem_.key).bytes,
                 problem_.payload == Payload::none ? 0 : problem_.value_bytes,
                 static_cast<unsigned>(std::bit_width(problem_.count)) - 1,
                 found.parameters,
                 gain};
  }

  [[nodiscard]] unsigned wrong() const { return wrong_; }

 private:
  struct Seconds {
    double before, after;
  };

  Search search(Progress& progress) {
    const auto all = sortium::algorithms();
    const auto& info = *std::ranges::find(all, algorithm_, &sortium::AlgorithmInfo::name);
    Stopwatch watch;
    double spent = 0;
    const auto enough = [&] { return (spent += watch.lap()) > options_.seconds || interrupted(); };
    const auto count_and_attempt = [&](const std::string& parameters) {
      progress.advance(1);
      return attempt(parameters);
    };
    return search_parameters(info, count_and_attempt, enough);
  }

  // Returns median times with the default parameters and with these. The runs are interleaved, so
  // that a disturbance of the machine affects both.
  Seconds compare(const std::string& parameters) {
    std::vector<double> own, best;
    for (int round = 0; round < 5 && !parameters.empty(); ++round) {
      own.push_back(measure("").median);
      best.push_back(measure(parameters).median);
    }
    if (interrupted()) return {};
    const double before = own.empty() ? measure("").median : median(own);
    return {before, best.empty() ? before : median(best)};
  }

  void print(const Search& found, double before, double after, bool keep) const {
    const auto mkeys = static_cast<double>(problem_.count) * 1e-6;
    fmt::print(
        "{:<10} {:<4} {:<6} {:>11} {:>11.1f} {:>11.1f} {:>6.2f}  {:>4} tried, {:>3} refused{}  "
        "{}\n",
        algorithm_, sortium::info(problem_.key).name,
        problem_.payload == Payload::none ? "keys" : "values", problem_.count, mkeys / before,
        mkeys / after, before / after, found.tried, found.refused,
        wrong_ == 0 ? "" : fmt::format(", {} WRONG", wrong_),
        keep ? found.parameters : "keeps its default parameters");
    flush_output();
  }

  Measurement measure(const std::string& parameters) {
    const MakeKeys keys = [&](std::uint64_t first, std::uint64_t count, void* out) {
      make_keys(options_.distribution, problem_.key, problem_.count, first, count, out);
    };
    return bench_->measure(algorithm_, parameters, {problem_, keys, 0.05});
  }

  // Measures one sort. Returns nothing if the result is wrong, or if the device or the algorithm
  // does not support the parameters.
  std::optional<Trial> attempt(const std::string& parameters) {
    try {
      const Measurement m = measure(parameters);
      // Not nothing: the search would report parameters that it did not measure as unsupported. It
      // ends now, and run() ignores its result.
      if (interrupted()) return Trial{m.median, m.parameters};
      if (!m.correct) {
        print_message(fmt::format("{} {} sorted WRONGLY on {}", algorithm_, parameters,
                                  device_->info().name));
        ++wrong_;
        return std::nullopt;
      }
      return Trial{m.median, m.parameters};
    } catch (const Error& e) {
      if (e.code() == ErrorCode::build_failed || e.code() == ErrorCode::device_failed)
        print_message(fmt::format("{} {}: {}", algorithm_, parameters, e.what()));
      else if ((e.code() != ErrorCode::unsupported && e.code() != ErrorCode::invalid_argument) ||
               parameters.empty())
        throw;
      return std::nullopt;
    }
  }

  std::shared_ptr<sortium::Device> device_;
  std::unique_ptr<Bench> bench_;
  const TuneOptions& options_;
  Problem problem_;
  std::string algorithm_;
  unsigned wrong_ = 0;
};

void check_usage(const TuneOptions& o) {
  if (o.algorithm != "auto") check_algorithm(o.algorithm);
  if (find_peer(o.algorithm) != nullptr)
    throw Failure(
        exit_usage,
        fmt::format("--algorithm {}: only the library's algorithms have parameters to tune",
                    o.algorithm));
  if (!o.bits.empty() && !o.print)
    throw Failure(
        exit_usage,
        fmt::format("--bits {}: it needs --export, as a tuning file is for whole keys", o.bits));
}

// The tuning file: read at the beginning, so that a broken one is refused then, and replaced at the
// end.
class TuningFile {
 public:
  explicit TuningFile(const std::string& path) : path_(path) {
    if (path.empty())
      throw Failure(exit_usage,
                    "there is no place for the tuning file (SORTIUM_TUNING is off, or HOME is not "
                    "set); name one with -o, or print the result with --export");
    (void)read_entries(path);
    if (const auto directory = std::filesystem::path(path).parent_path(); !directory.empty())
      std::filesystem::create_directories(directory);
    file_.emplace(path);
  }

  // New entries replace those of the same device, algorithm and kind of records.
  void add(const std::vector<Entry>& found) {
    if (found.empty()) return;
    auto entries = read_entries(path_);  // again: another run may have added some
    for (const auto& e : found) {
      std::erase_if(entries, [&](const Entry& old) { return same_class(old, e); });
      entries.push_back(e);
    }
    const std::string text = sortium::tuning::print(entries);
    file_->write(text.data(), text.size());
    file_->publish();
    fmt::print("{} of {} entries of {} are new\n", found.size(), entries.size(), path_);
  }

 private:
  std::string path_;
  std::optional<Output> file_;
};

int tune(const TuneOptions& options) {
  check_usage(options);
  KeyOptions key;
  key.bits = options.bits;
  key.check_bits();
  remove_temporaries_on_signals();  // until there are results to keep
  std::optional<TuningFile> file;
  if (!options.print)
    file.emplace(options.out.empty() ? sortium::tuning::user_file() : options.out);
  ::setenv("SORTIUM_TUNING", "off", 1);  // compare with the algorithms' default parameters

  keep_results_on_signals();
  const auto device = device_for(options);
  fmt::print("{}  {}\n", device->info().id, device->info().name);
  fmt::print("{:<10} {:<4} {:<6} {:>11} {:>11} {:>11} {:>6}\n", "algorithm", "type", "", "records",
             "own Mkey/s", "tuned", "gain");
  std::vector<Entry> found;
  unsigned wrong = 0;
  for (const auto type : options.types)
    for (const auto& payload : options.payloads)
      for (const auto n : parse_sizes(options.sizes)) {
        if (interrupted()) break;
        Problem problem = key.problem(type, n);
        problem.payload = payload == "keys" ? Payload::none : Payload::values;
        Progress progress(true);
        progress.phase(fmt::format("tuning for {} {} {}", n, sortium::info(type).name, payload));
        Tuner tuner(device, options, problem);
        if (auto entry = tuner.run(progress)) found.push_back(std::move(*entry));
        wrong += tuner.wrong();
      }
  if (file)
    file->add(found);
  else
    fmt::print("{}", sortium::tuning::print(found));
  return wrong == 0 ? exit_success : exit_wrong;
}

constexpr const char* tune_footer = R"(Examples:
  sortium tune --device cuda:0          what auto selects for u32, with and without values
  sortium tune --algorithm lsd --type u32,u64 --n 2^16,2^20,2^24 --seconds 60
  sortium tune --algorithm radix --payload keys --bits 0:30 --n 2^20,2^23,2^25 --export
                                        the sorts of document 003, table 3 (docs/benchmarks.md)

The result of every candidate is checked. Parameters that are at least 2 % faster than the
algorithm's default parameters are written to the tuning file: SORTIUM_TUNING, else
sortium/tuned.json in XDG_CONFIG_HOME or ~/.config. Later sorts on that device use them if no
parameters are given. SORTIUM_TUNING=off turns tuned parameters off.)";

}  // namespace

void add_tune(CLI::App& cli, Action& action) {
  const auto t = std::make_shared<TuneOptions>();
  auto* const command = cli.add_subcommand(
      "tune", "Find and keep the fastest parameters of an algorithm on a device");
  command
      ->add_option("--algorithm", t->algorithm,
                   "Algorithm to tune; auto: the one that '--algorithm auto' selects")
      ->type_name("NAME")
      ->capture_default_str();
  command
      ->add_option("--device", t->device, "Device (default: the best one that runs the algorithm)")
      ->type_name("NAME");
  add_types_option(*command, t->types);
  command
      ->add_option("--payload", t->payloads,
                   "keys, values (keys with 4-byte values), or both (default)")
      ->delimiter(',')
      ->check(CLI::IsMember({"keys", "values"}))
      ->type_name("PAYLOAD");
  command
      ->add_option(
          "--n", t->sizes,
          "Numbers of records, as for bench; the result for N also serves sizes from N/2 to "
          "below 4N")
      ->type_name("LIST")
      ->capture_default_str();
  command->add_option("--distribution", t->distribution, "Distribution of the keys, as for bench")
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--bits", t->bits, "Sort by bits B to E-1 only; needs --export")
      ->type_name("B:E");
  command
      ->add_option("--seconds", t->seconds,
                   "Time of the search for each type, payload and number of records")
      ->check(CLI::Range(0.01, 1e6).description(""))
      ->type_name("SECONDS")
      ->capture_default_str();
  auto* const tuned =
      command->add_option("-o,--output", t->out, "Tuning file (default: the user's own; see below)")
          ->type_name("FILE");
  command->add_flag("--export", t->print, "Print the entries and write no file")->excludes(tuned);
  command->footer(tune_footer);
  command->callback([t, &action] { action = [t] { return tune(*t); }; });
}

}  // namespace app
