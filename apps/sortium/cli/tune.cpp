// `sortium tune`: searches an algorithm's parameters on a device, and keeps what was faster.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sortium/sortium.hpp>
#include <sstream>

#include "../../../src/tuning/tuning.hpp"
#include "bench/run.hpp"
#include "bench/search.hpp"
#include "cli/commands.hpp"
#include "cli/common.hpp"
#include "cli/progress.hpp"
#include "io/output.hpp"
#include "protocol/data.hpp"

namespace app {

using sortium::Error;
using sortium::ErrorCode;
using sortium::Payload;
using sortium::Problem;
using sortium::tuning::Entry;

namespace {

constexpr double least_gain = 1.02;  // below that, it is not worth an entry

std::vector<Entry> read_entries(const std::string& path) {
  std::ifstream in(path);
  if (!in) {
    if (std::filesystem::exists(path))
      throw Failure(exit_usage, fmt::format("{} cannot be read", path));
    return {};
  }
  std::stringstream text;
  text << in.rdbuf();
  return sortium::tuning::parse(text.str(), path);
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

// Where none is named, the best that runs the algorithm.
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
    // What auto takes is what its parameters belong to.
    if (algorithm_ == "auto") algorithm_ = sortium::Plan(device_, problem).algorithm().name;
  }

  // Nothing: the room's own parameters stand.
  std::optional<Entry> run(Progress& progress) {
    const auto all = sortium::algorithms();
    const auto& info = *std::ranges::find(all, algorithm_, &sortium::AlgorithmInfo::name);
    Stopwatch watch;
    double spent = 0;
    const auto enough = [&] { return (spent += watch.lap()) > options_.seconds || interrupted(); };
    const Search found = search_parameters(
        info,
        [&](const std::string& p) {
          progress.advance(1);
          return attempt(p);
        },
        enough);
    if (interrupted()) return std::nullopt;

    // By turns, since what disturbs the machine should disturb both.
    std::vector<double> own, best;
    for (int round = 0; round < 5 && !found.parameters.empty(); ++round) {
      own.push_back(measure("").median);
      best.push_back(measure(found.parameters).median);
    }
    if (interrupted()) return std::nullopt;
    const double before = own.empty() ? measure("").median : median(own),
                 after = best.empty() ? before : median(best);
    const double gain = before / after;
    const bool keep = gain >= least_gain;
    progress.finish();
    fmt::print(
        "{:<10} {:<4} {:<6} {:>11} {:>11.1f} {:>11.1f} {:>6.2f}  {:>4} tried, {:>3} refused{}  "
        "{}\n",
        algorithm_, sortium::info(problem_.key).name,
        problem_.payload == Payload::none ? "keys" : "values", problem_.count,
        static_cast<double>(problem_.count) / before * 1e-6,
        static_cast<double>(problem_.count) / after * 1e-6, gain, found.tried, found.refused,
        wrong_ == 0 ? "" : fmt::format(", {} WRONG", wrong_),
        keep ? found.parameters : "its own parameters stand");
    std::fflush(stdout);
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
  Measurement measure(const std::string& parameters) {
    const MakeKeys keys = [&](std::uint64_t first, std::uint64_t count, void* out) {
      make_keys(options_.distribution, problem_.key, problem_.count, first, count, out);
    };
    return bench_->measure(algorithm_, parameters, {problem_, keys, 0.05});
  }

  std::optional<Trial> attempt(const std::string& parameters) {
    try {
      const Measurement m = measure(parameters);
      if (interrupted()) return std::nullopt;
      if (!m.correct) {  // never a candidate, and not to be passed over
        fmt::print(stderr, "sortium: {} {} sorted WRONGLY on {}\n", algorithm_, parameters,
                   device_->info().name);
        ++wrong_;
        return std::nullopt;
      }
      return Trial{m.median, m.parameters};
    } catch (const Error& e) {
      if (e.code() == ErrorCode::build_failed || e.code() == ErrorCode::device_failed)
        fmt::print(stderr, "sortium: {} {}: {}\n", algorithm_, parameters, e.what());
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

}  // namespace

int tune(const TuneOptions& options) {
  if (options.algorithm != "auto") check_algorithm(options.algorithm);
  if (find_peer(options.algorithm) != nullptr)
    throw Failure(
        exit_usage,
        fmt::format("--algorithm {}: only the library's algorithms have parameters to tune",
                    options.algorithm));
  KeyOptions key;
  key.bits = options.bits;
  key.check_bits();
  if (!options.bits.empty() && !options.print)
    throw Failure(exit_usage,
                  fmt::format("--bits {}: it needs --export, as a tuning file is for whole keys",
                              options.bits));
  const std::string path = options.out.empty() ? sortium::tuning::user_file() : options.out;
  if (path.empty() && !options.print)
    throw Failure(exit_usage,
                  "there is no place for the tuning file (SORTIUM_TUNING is off, or there is no "
                  "HOME); name one with -o, or "
                  "print the result with --export");
  std::vector<Entry> entries;
  std::optional<Output> file;
  if (!options.print) {
    entries = read_entries(path);
    if (const auto directory = std::filesystem::path(path).parent_path(); !directory.empty())
      std::filesystem::create_directories(directory);
    file.emplace(path);
  }
  ::setenv("SORTIUM_TUNING", "off", 1);  // what is compared with are the rooms' own parameters

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

  if (options.print) {
    fmt::print("{}", sortium::tuning::print(found));
  } else {
    for (const auto& e : found) {
      std::erase_if(entries, [&](const Entry& old) { return same_class(old, e); });
      entries.push_back(e);
    }
    if (!found.empty()) {
      const std::string text = sortium::tuning::print(entries);
      file->write(text.data(), text.size());
      file->publish();
      fmt::print("{} of {} entries of {} are new\n", found.size(), entries.size(), path);
    }
  }
  return wrong == 0 ? exit_success : exit_wrong;
}

}  // namespace app
