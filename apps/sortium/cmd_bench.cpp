// `sortium bench`: sorts of many sizes, timed by the protocol of document 000; a table and JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include <sortium/sortium.hpp>

#include "bench_data.hpp"
#include "bench_run.hpp"
#include "commands.hpp"
#include "common.hpp"
#include "host_sort.hpp"
#include "output.hpp"

namespace app {

using sortium::Error;
using sortium::ErrorCode;
using sortium::Payload;
using sortium::Problem;

namespace {

constexpr double patience = 10;  // seconds that one sort may take

struct Algorithm {
  std::string name, parameters;
  bool quadratic = false;
  bool peer = false;
  bool host = false;  // the library's, for cpu:0
};

std::vector<Algorithm> choose_algorithms(const BenchOptions& o) {
  std::vector<Algorithm> out;
  const auto add = [&](const std::string& name) {
    check_algorithm(name);
    if (std::ranges::find(out, name, &Algorithm::name) != out.end()) return;
    Algorithm a{name, {}, false, find_peer(name) != nullptr};
    for (const auto& known : sortium::algorithms())
      if (known.name == name) a.quadratic = known.quadratic, a.host = known.host;
    out.push_back(a);
  };
  for (const auto& name : o.algorithms) {
    if (name != "all") add(name);
    else
      for (const auto& a : sortium::algorithms()) add(a.name);
  }
  if (!o.parameters.empty()) {
    if (out.size() != 1 || out.front().peer)
      throw Failure(exit_usage, fmt::format("--params {}: one algorithm of the library must be chosen for it, with "
                                            "--algorithm", o.parameters));
    out.front().parameters = o.parameters;
  }
  return out;
}

std::vector<Payload> choose_payloads(const BenchOptions& o) {
  std::vector<Payload> out;
  for (const auto& name : o.payloads) out.push_back(name == "keys" ? Payload::none : Payload::values);
  return out;
}

const char* payload_name(Payload p) { return p == Payload::none ? "keys" : "keys+values"; }

std::uint64_t record_bytes(const Problem& p) {
  return sortium::info(p.key).bytes + (p.payload == Payload::none ? 0 : p.value_bytes);
}

// The benchmark as it goes: prints a line for every result and collects them for --json.
class Session {
 public:
  explicit Session(const BenchOptions& options) : options_(options) {
    json_ = {{"sortium", sortium::version()},
             {"protocol", "1, 2, 4, 8 ... sorts until min_seconds have passed, waiting for the end of each; records "
                          "stay on the device; seconds = total / repetitions"},
             {"min_seconds", options.min_seconds},
             {"distribution", options.distribution},
             {"results", nlohmann::json::array()}};
  }

  void run(Bench& bench, const std::vector<Algorithm>& algorithms, const std::vector<std::uint64_t>& sizes) {
    const double copy_rate = bench.copy_rate();
    fmt::print("{}  {}\n  {}; {}\n", bench.id(), bench.name(), bench.driver(), bench.language());
    fmt::print("  a large copy: {:.1f} GB/s read and written; 'of bound' compares with moving each record once at that "
               "rate\n", copy_rate * 1e-9);
    fmt::print("{:>11}  {:<18} {:<4} {:<12} {:>11} {:>10} {:>9} {:>8}  {}\n", "records", "algorithm", "type", "payload",
               "seconds", "Mkey/s", "of bound", "sorts", "result");
    std::map<std::string, Last> last;  // of each series, for what the next size would take
    for (const auto type : options_.types)
      for (const std::uint64_t n : sizes)
        for (const auto payload : choose_payloads(options_))
          for (const auto& algorithm : algorithms) {
            if (interrupted()) return;
            Problem p;
            p.key = type;
            p.count = n;
            p.payload = payload;
            row(bench, algorithm, p, copy_rate,
                last[fmt::format("{} {} {}", algorithm.name, sortium::info(type).name, payload_name(payload))]);
          }
  }

  [[nodiscard]] std::string json() {
    json_["interrupted"] = interrupted();
    return json_.dump(2) + "\n";
  }
  [[nodiscard]] int code() const { return code_; }

 private:
  struct Last {
    std::uint64_t count = 0;
    double seconds = 0;
  };

  void row(Bench& bench, const Algorithm& algorithm, const Problem& p, double copy_rate, Last& last) {
    const auto& type = sortium::info(p.key);
    const double bound = copy_rate / (2 * static_cast<double>(record_bytes(p)));  // records per second
    nlohmann::json json{{"device", bench.name()},
                        {"device_id", bench.id()},
                        {"driver", bench.driver()},
                        {"language", bench.language()},
                        {"algorithm", algorithm.name},
                        {"type", type.name},
                        {"payload", payload_name(p.payload)},
                        {"n", p.count},
                        {"copy_gb_per_second", copy_rate * 1e-9},
                        {"bound_mkeys_per_second", bound * 1e-6}};
    fmt::print("{:>11}  {:<18} {:<4} {:<12} ", p.count, algorithm.name, type.name, payload_name(p.payload));
    std::fflush(stdout);
    try {
      const double expected = algorithm.quadratic ? quadratic_estimate(bench, algorithm, p, last) : 0;
      if (expected > patience) {
        skip(json, "skipped", fmt::format("one sort would take about {:.0f} s", expected));
        return;
      }
      const Measurement m = bench.measure(algorithm.name, algorithm.parameters, {p, options_.distribution, options_.min_seconds});
      if (interrupted()) {
        fmt::print("interrupted\n");
        return;
      }
      last = {p.count, m.seconds};
      const double rate = m.seconds > 0 ? static_cast<double>(p.count) / m.seconds : 0;
      const std::string runs = m.run_length != 0 && m.run_length < p.count
                                   ? fmt::format(", sorted runs of {} only", m.run_length) : "";
      fmt::print("{:>11.3e} {:>10.4g} {:>7.2g} % {:>8}  {}{}\n", m.seconds, rate * 1e-6, 100 * rate / bound,
                 m.repetitions, m.correct ? "verified" : "WRONG", runs);
      json.update({{"parameters", m.parameters},
                   {"seconds", m.seconds},
                   {"mkeys_per_second", rate * 1e-6},
                   {"repetitions", m.repetitions},
                   {"verified", m.correct},
                   {"run_length", m.run_length}});
      if (!m.correct) code_ = exit_wrong;
      json_["results"].push_back(json);
    } catch (const Error& error) {
      // What a device cannot do is a result as well; anything else is not the algorithm's fault.
      if (error.code() == ErrorCode::unsupported || error.code() == ErrorCode::out_of_memory) {
        skip(json, "skipped", error.what());
      } else if (error.code() == ErrorCode::build_failed || error.code() == ErrorCode::device_failed) {
        skip(json, "failed", error.what());
        if (!error.log().empty()) fmt::print(stderr, "{}\n", error.log());
        if (code_ == exit_success) code_ = exit_runtime;
      } else {
        fmt::print("\n");
        throw;
      }
    }
    std::fflush(stdout);
  }

  double quadratic_estimate(Bench& bench, const Algorithm& algorithm, const Problem& p, Last& last) {
    // The first size of a series may be large: a small one tells.
    if (last.count == 0 && p.count > quadratic_probe) {
      Problem probe = p;
      probe.count = quadratic_probe;
      const Measurement m = bench.measure(algorithm.name, algorithm.parameters, {probe, options_.distribution, 1e-9});
      last = {quadratic_probe, m.seconds};
    }
    return last.count == 0 ? 0 : quadratic_seconds(last.seconds, last.count, p.count);
  }

  void skip(nlohmann::json& json, const char* what, const std::string& why) {
    fmt::print("{}: {}\n", what, why);
    json[what] = why;
    json["verified"] = false;
    json_["results"].push_back(json);
  }

  const BenchOptions& options_;
  nlohmann::json json_;
  int code_ = exit_success;
};

}  // namespace

int bench(const BenchOptions& options) {
  const auto sizes = parse_sizes(options.sizes);
  auto algorithms = choose_algorithms(options);
  const auto first_peer = std::ranges::stable_partition(algorithms, [](const Algorithm& a) { return !a.peer; }).begin();
  const std::vector<Algorithm> host_algorithms(first_peer, algorithms.end());
  algorithms.erase(first_peer, algorithms.end());

  // Each named device runs all; where none is named, every algorithm has the best that it runs on.
  std::vector<std::pair<std::shared_ptr<sortium::Device>, std::vector<Algorithm>>> devices;
  if (!algorithms.empty())
    for (const auto& name : options.devices) devices.emplace_back(sortium::find_device(name), algorithms);
  if (options.devices.empty())
    for (const auto& a : algorithms) {
      auto device = a.host ? sortium::find_device("cpu:0") : sortium::find_device({}, a.name != "auto");
      auto known = std::ranges::find_if(devices, [&](const auto& d) { return d.first == device; });
      if (known == devices.end()) known = devices.insert(known, {std::move(device), {}});
      known->second.push_back(a);
    }

  std::optional<Output> file;
  if (!options.json.empty()) file.emplace(options.json);
  keep_results_on_signals();
  Session session(options);
  const auto save = [&] {
    if (!file) return;
    const std::string text = session.json();
    file->write(text.data(), text.size());
    file->close();
    file->publish();
  };
  try {
    for (const auto& [device, its] : devices)
      if (!interrupted()) session.run(*make_device_bench(device), its, sizes);
    if (!host_algorithms.empty() && !interrupted()) session.run(*make_host_bench(), host_algorithms, sizes);
  } catch (const Error& error) {
    // The rows before are worth keeping, unless nothing could be right about them.
    if (error.code() != ErrorCode::invalid_argument) save();
    throw;
  }
  save();
  return session.code();
}

}  // namespace app
