// `sortium bench`: measures sorts of many sizes, types and distributions, beside peers; prints a
// table, and writes JSON and CSV.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <sortium/sortium.hpp>

#include "bench/paper.hpp"
#include "bench/peers.hpp"
#include "bench/session.hpp"
#include "cli/algorithms.hpp"
#include "cli/command.hpp"
#include "cli/common.hpp"
#include "cli/key_options.hpp"
#include "io/output.hpp"
#include "protocol/distributions.hpp"
#include "protocol/sizes.hpp"

namespace app {

using sortium::Error;
using sortium::ErrorCode;
using sortium::Payload;
using sortium::Problem;

namespace {

// "radix:r=8" means r=8 for radix. Without a name, the parameters are for the only algorithm.
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
            "--params {}: it must name one of the library's algorithms that --algorithm selects, "
            "as in radix:r=8; the name may be omitted if --algorithm selects only that one",
            text));
  return set;
}

// Each set of parameters makes a row of its own. An algorithm without a set is measured with
// its defaults.
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
          add(a.name);  // the other algorithms solve problems that are not measured here
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

// Checks parameters before hours of measuring.
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
      throw;  // other errors: the problem's row will report them
  }
}

// Checks that this build has the peer.
void check_peer(const Algorithm& algorithm) {
  try {
    (void)make_host_sort(*find_peer(algorithm.name), {}, {});
  } catch (const Error&) {
    // The build has the peer, which does not support this problem. Its row will say so.
  }
}

using Chosen = std::pair<std::shared_ptr<sortium::Device>, std::vector<Algorithm>>;

// Returns the devices and their algorithms. With --device, every device runs all algorithms.
// Without, each algorithm runs on the best device for it.
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

// Measures all problems of the options on one device or on the host.
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
                  fmt::format("{}: the peers' programs (--peers) do not support it", asked));
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

  remove_temporaries_on_signals();  // until there are results to keep
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
    // Keep the rows that are complete, unless the arguments were invalid.
    if (error.code() != ErrorCode::invalid_argument) session.finish();
    throw;
  }
  session.finish();
  return session.code();
}

// ---------------------------------------------------------------------------------------------
// The command line
// ---------------------------------------------------------------------------------------------

constexpr const char* bench_footer = R"(Examples:
  sortium bench                                  keys and key+value, u32, 2^8 to 2^28 records
  sortium bench --algorithm all --n 2^10:2^20 --device cuda:0 --device opencl:0
  sortium bench --algorithm lsd,std::sort,std::sort-parallel --n 1000000,2^24 --type f64 \
    --json result.json
  sortium bench --algorithm bitonic,radix --params radix:r=4 --params radix:r=8 --n 2^20 --phases
  sortium bench --distribution uniform,nearly,and3,distinct1000 --n 2^24 --peers build/peers \
    --csv result.csv
  sortium bench --paper 003 --json 003.json      the experiments of a published document

Records stay on the device. For each row, batches of 1, 2, 4, 8 ... sorts run from the same unsorted
input to the same output until --min-time has passed; each sort is waited for. Then the result is
checked. Ctrl-C keeps the rows that are complete. docs/benchmarks.md has the details.)";

// Adds the options that describe the rows of single algorithms. They exclude --paper: papers have
// their own algorithms and types.
std::vector<CLI::Option*> add_row_options(CLI::App& command, BenchOptions& b) {
  std::vector<CLI::Option*> out;
  out.push_back(command
                    .add_option("--algorithm", b.algorithms,
                                "Algorithms that 'sortium algorithms' lists; all: every one of the "
                                "library that sorts whole lists")
                    ->delimiter(',')
                    ->type_name("NAME,"));
  out.push_back(command
                    .add_option("--params", b.parameters,
                                "Parameters of the only algorithm, or of the named one: radix:r=8. "
                                "If repeated, each set of parameters is a row")
                    ->type_name("K=V,...")
                    ->expected(1)
                    ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll));
  out.push_back(add_types_option(command, b.types));
  out.push_back(command
                    .add_option("--payload", b.payloads,
                                "keys, values (keys with 4-byte values), or both (default)")
                    ->delimiter(',')
                    ->check(CLI::IsMember({"keys", "values"}))
                    ->type_name("PAYLOAD"));
  out.push_back(command
                    .add_option("--distribution", b.distributions,
                                "Distributions of the keys, such as uniform,normal,zipf1; listed "
                                "below")
                    ->delimiter(',')
                    ->type_name("NAME,")
                    ->capture_default_str());
  const auto policies = add_policy_options(
      command, [&b](sortium::NanOrder nan) { b.nan = nan; },
      [&b](sortium::ZeroOrder zeros) { b.zeros = zeros; });
  out.push_back(policies.nan);
  out.push_back(policies.zeros);
  out.push_back(command.add_flag("--phases", b.phases,
                                 "Print the device time of each phase of a sort below its row"));
  out.push_back(command
                    .add_option("--peers", b.peers,
                                "Run the peers' programs in this directory on the same devices "
                                "(bench/peers builds them)")
                    ->type_name("DIR"));
  return out;
}

}  // namespace

void add_bench(CLI::App& cli, Action& action) {
  const auto b = std::make_shared<BenchOptions>();
  auto* const command = cli.add_subcommand("bench", "Measure sorting rates");
  command
      ->add_option("--n", b->sizes,
                   "Numbers of records: 1000, 2^20, a range of powers of two 2^8:2^28 (default), "
                   "or several of these, separated by commas; with --paper: the sizes to repeat "
                   "from the paper's tables")
      ->type_name("LIST");
  command
      ->add_option(
          "--device", b->devices,
          "Devices, each of which runs all algorithms (default: the best one for each algorithm)")
      ->delimiter(',')
      ->type_name("NAME,");
  const auto row_options = add_row_options(*command, *b);
  command->add_option("--min-time", b->min_seconds, "Least time of sorting for each row")
      ->check(CLI::Range(1e-6, 1e6).description(""))
      ->type_name("SECONDS")
      ->capture_default_str();
  auto* const paper =
      command
          ->add_option("--paper", b->paper,
                       "Repeat the experiments of a published document (000 or 003, see "
                       "docs/benchmarks.md), and print its figures beside the measured ones")
          ->check(CLI::IsMember(papers()))
          ->type_name("NUMBER");
  for (auto* const option : row_options) paper->excludes(option);
  command->add_option("--json", b->json, "Also write the results to this file")->type_name("FILE");
  command->add_option("--csv", b->csv, "Also write them as comma-separated values")
      ->type_name("FILE");
  command->footer(fmt::format("Distributions (least to largest K; without K):\n{}\n{}",
                              distribution_help(), bench_footer));
  command->callback([b, &action] {
    action = [b] { return b->paper.empty() ? bench_algorithms(*b) : bench_paper(*b); };
  });
}

}  // namespace app
