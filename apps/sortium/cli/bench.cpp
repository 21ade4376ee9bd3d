// `sortium bench`: sorts of many sizes, types and distributions, beside peers; a table, JSON and
// CSV.
#include <fmt/format.h>

#include <algorithm>
#include <sortium/sortium.hpp>

#include "bench/paper.hpp"
#include "bench/peers.hpp"
#include "bench/session.hpp"
#include "cli/commands.hpp"
#include "cli/common.hpp"
#include "protocol/data.hpp"

namespace app {

using sortium::Error;
using sortium::ErrorCode;
using sortium::Payload;
using sortium::Problem;

namespace {

// "radix:r=8" are r=8 for radix. Without the algorithm's name: for the only one there is.
struct ParameterSet {
  std::string algorithm, values;
};

ParameterSet parse_parameters(const std::string& text, const std::vector<std::string>& algorithms) {
  const auto colon = text.find(':'), equals = text.find('=');
  ParameterSet set{{}, text};
  if (colon < equals)
    set = {text.substr(0, colon), text.substr(colon + 1)};
  else if (algorithms.size() == 1)
    set.algorithm = algorithms.front();
  if (std::ranges::find(algorithms, set.algorithm) == algorithms.end() ||
      find_peer(set.algorithm) != nullptr || set.algorithm == "auto")
    throw Failure(
        exit_usage,
        fmt::format(
            "--params {}: it must say which of the chosen algorithms of the library it is for, "
            "as in radix:r=8, where --algorithm has not chosen exactly one",
            text));
  return set;
}

// Every set of parameters makes an algorithm of its own; one that has none is measured with its
// defaults.
std::vector<Algorithm> choose_algorithms(const BenchOptions& o) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const auto& name : o.algorithms) {
    if (name != "all") {
      check_algorithm(name);
      add(name);
    } else {
      for (const auto& a : sortium::algorithms())
        if (!a.segments && !a.limit)
          add(a.name);  // the others are made for problems that are not measured here
    }
  }
  std::vector<ParameterSet> sets;
  for (const auto& text : o.parameters) sets.push_back(parse_parameters(text, names));
  std::vector<Algorithm> out;
  for (const auto& name : names) {
    const auto before = out.size();
    for (const auto& set : sets)
      if (set.algorithm == name) out.push_back(find_algorithm(name, set.values));
    if (out.size() == before) out.push_back(find_algorithm(name));
  }
  return out;
}

std::vector<Payload> choose_payloads(const BenchOptions& o) {
  std::vector<Payload> out;
  for (const auto& name : o.payloads)
    out.push_back(name == "keys" ? Payload::none : Payload::values);
  return out;
}

// A wrong parameter should show before hours of measuring.
void check_parameters(sortium::Device& device, const Algorithm& algorithm,
                      const std::vector<sortium::KeyType>& types) {
  Problem p;
  p.key = types.front();
  p.count = 1;
  try {
    (void)sortium::Plan::scratch_bytes_for(p, sortium::capabilities(device),
                                           {algorithm.name, algorithm.parameters});
  } catch (const Error& error) {
    if (error.code() == ErrorCode::invalid_argument)
      throw;  // what this device cannot do becomes a row
  }
}

// So should a peer that this build has not.
void check_peer(const Algorithm& algorithm) {
  try {
    (void)make_host_sort(*find_peer(algorithm.name), {}, {});
  } catch (const Error&) {
    // what it cannot sort becomes a row
  }
}

using Chosen = std::pair<std::shared_ptr<sortium::Device>, std::vector<Algorithm>>;

// Each named device runs all; where none is named, every algorithm has the best that it runs on.
std::vector<Chosen> choose_devices(const BenchOptions& o,
                                   const std::vector<Algorithm>& algorithms) {
  std::vector<Chosen> out;
  if (!algorithms.empty() || !o.peers.empty())
    for (const auto& name : o.devices) out.emplace_back(sortium::find_device(name), algorithms);
  if (o.devices.empty())
    for (const auto& a : algorithms) {
      auto device =
          a.host ? sortium::find_device("cpu:0") : sortium::find_device({}, a.name != "auto");
      auto known = std::ranges::find_if(out, [&](const auto& d) { return d.first == device; });
      if (known == out.end()) known = out.insert(known, {std::move(device), {}});
      known->second.push_back(a);
    }
  for (const auto& [device, its] : out)
    for (const auto& a : its) check_parameters(*device, a, o.types);
  return out;
}

// All problems that the options ask for, on one device or on the host.
void measure_all(Session& session, Bench& bench, const std::vector<Algorithm>& algorithms,
                 const BenchOptions& o, const std::vector<std::uint64_t>& sizes) {
  session.begin(bench);
  for (const auto& distribution : o.distributions)
    for (const auto type : o.types)
      for (const std::uint64_t n : sizes)
        for (const auto payload : choose_payloads(o))
          for (const auto& algorithm : algorithms) {
            if (interrupted()) return;
            Problem p;
            p.key = type;
            p.count = n;
            p.payload = payload;
            if (sortium::info(type).is_float) {
              p.nan = o.nan;
              p.zeros = o.zeros;
            }
            const auto keys = [&](std::uint64_t first, std::uint64_t count, void* out) {
              make_keys(distribution, type, n, first, count, out);
            };
            session.measure(bench, algorithm, {p, keys, o.min_seconds}, distribution);
          }
}

void measure_peers(Session& session, Bench& bench,
                   const std::vector<std::filesystem::path>& programs, const PeerRequest& request) {
  for (const auto& program : programs) {
    if (interrupted()) return;
    try {
      run_peer_program(program, bench.id(), request,
                       [&](Row row) { session.take(bench, std::move(row)); });
    } catch (const Failure& failure) {
      session.take_failure(failure.what());
    }
  }
}

void check_policies(const BenchOptions& o) {
  for (const auto type : o.types)
    if (!o.peers.empty() && sortium::info(type).bytes < 4)
      throw Failure(
          exit_usage,
          fmt::format("--type {}: the peers' programs (--peers) sort keys of 4 and 8 bytes",
                      sortium::info(type).name));
  std::string asked;
  if (o.nan != sortium::NanOrder::last) asked = fmt::format("--nan {}", name(o.nan));
  if (o.zeros != sortium::ZeroOrder::tied) asked = fmt::format("--zeros {}", name(o.zeros));
  if (asked.empty()) return;
  if (std::ranges::none_of(o.types, [](auto type) { return sortium::info(type).is_float; }))
    throw Failure(exit_usage, fmt::format("{}: there are no floats among the types", asked));
  if (!o.peers.empty())
    throw Failure(exit_usage,
                  fmt::format("{}: the peers' programs (--peers) have no such choice", asked));
}

int bench_algorithms(const BenchOptions& options) {
  check_policies(options);
  const auto payloads = choose_payloads(options);
  const bool values = std::ranges::find(payloads, Payload::values) != payloads.end();
  const auto sizes = parse_sizes(options.sizes.empty() ? "2^8:2^28" : options.sizes,
                                 values ? most_records : most_keys);
  for (const auto& distribution : options.distributions) check_distribution(distribution);
  auto algorithms = choose_algorithms(options);
  const auto first_peer = std::stable_partition(algorithms.begin(), algorithms.end(),
                                                [](const Algorithm& a) { return !a.peer; });
  const std::vector<Algorithm> host_algorithms(first_peer, algorithms.end());
  algorithms.erase(first_peer, algorithms.end());
  for (const auto& a : host_algorithms) check_peer(a);
  const auto devices = choose_devices(options, algorithms);
  const auto programs = options.peers.empty() ? std::vector<std::filesystem::path>{}
                                              : find_peer_programs(options.peers);

  PeerRequest request{sizes, {}, {}, options.distributions, options.min_seconds};
  for (const auto type : options.types) request.types.emplace_back(sortium::info(type).name);
  for (const auto payload : payloads) request.payloads.emplace_back(payload_name(payload));
  const std::uint64_t problems =
      sizes.size() * options.types.size() * options.payloads.size() * options.distributions.size();
  std::uint64_t rows = host_algorithms.size() * problems;
  for (const auto& [device, its] : devices) rows += (its.size() + programs.size()) * problems;

  Session session(options, rows);
  keep_results_on_signals();
  try {
    for (const auto& [device, its] : devices) {
      if (interrupted()) break;
      const auto bench = make_device_bench(device);
      measure_all(session, *bench, its, options, sizes);
      measure_peers(session, *bench, programs, request);
    }
    if (!host_algorithms.empty() && !interrupted())
      measure_all(session, *make_host_bench(), host_algorithms, options, sizes);
  } catch (const Error& error) {
    // The rows before are worth keeping, unless nothing could be right about them.
    if (error.code() != ErrorCode::invalid_argument) session.finish();
    throw;
  }
  session.finish();
  return session.code();
}

}  // namespace

int bench(const BenchOptions& options) {
  return options.paper.empty() ? bench_algorithms(options) : bench_paper(options);
}

}  // namespace app
