// `sortium sort`: read, sort, perhaps verify, write.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <sortium/records.hpp>

#include "bench/run.hpp"
#include "cli/commands.hpp"
#include "cli/common.hpp"
#include "cli/progress.hpp"
#include "io/files.hpp"
#include "io/host_check.hpp"
#include "io/host_sort.hpp"
#include "io/output.hpp"
#include "protocol/data.hpp"

namespace app {

using sortium::HostOperands;
using sortium::HostReport;
using sortium::Payload;
using sortium::Problem;

namespace {

struct Bits {
  unsigned begin = 0, end = 0;
};

Bits parse_bits(const std::string& text) {
  Bits bits;
  const char* const last = text.data() + text.size();
  const auto first = std::from_chars(text.data(), last, bits.begin);
  const bool colon = first.ec == std::errc{} && first.ptr != last && *first.ptr == ':';
  const auto second = std::from_chars(colon ? first.ptr + 1 : last, last, bits.end);
  if (!colon || second.ec != std::errc{} || second.ptr != last)
    throw Failure(exit_usage,
                  fmt::format("--bits {}: it must be of the form B:E, such as 0:16", text));
  return bits;
}

HostReport sort_with_peer(const Peer& peer, const Problem& problem, const HostOperands& operands) {
  Stopwatch watch;
  const auto sorter = make_host_sort(peer, problem, operands);
  sorter->run();
  sorter->store();
  HostReport report;
  report.device = "host";
  report.algorithm = peer.name;
  report.sort_seconds = watch.lap();
  report.stable = peer.stable || problem.payload != Payload::none;
  return report;
}

// A quadratic sort that takes minutes should not come as a surprise: says so where it is one.
void warn_of_minutes(const SortOptions& options, const Problem& problem) {
  const auto algorithms = sortium::algorithms();
  const auto a = std::ranges::find(algorithms, options.algorithm, &sortium::AlgorithmInfo::name);
  if (a == algorithms.end() || !a->quadratic || problem.count <= quadratic_probe) return;
  Problem probe;  // of keys alone: the comparisons are what takes the time
  probe.key = problem.key;
  probe.count = quadratic_probe;
  const auto bench = make_device_bench(sortium::find_device(options.device, true));
  const auto keys = [&](std::uint64_t first, std::uint64_t count, void* out) {
    make_keys("uniform", probe.key, probe.count, first, count, out);
  };
  const double known =
      bench->measure(options.algorithm, options.parameters, {probe, keys, 1e-9}).seconds;
  const double seconds = quadratic_seconds(known, probe.count, problem.count);
  if (seconds > 60)
    fmt::print(stderr,
               "sortium: warning: {} makes N^2 comparisons, and with {} records will take some "
               "{:.0f} minutes; "
               "Ctrl-C ends it, and the default algorithm would take seconds\n",
               options.algorithm, problem.count, seconds / 60);
}

void check_usage(const SortOptions& o) {
  const auto refuse = [](const std::string& message) { throw Failure(exit_usage, message); };
  if (o.values.empty() != o.values_out.empty())
    refuse(
        "--values and -o2 belong together: the values are read from one file and written to the "
        "other");
  if (o.argsort && !o.values.empty())
    refuse(
        "--argsort and --values exclude each other: the positions are what is moved with the keys");
  if (o.in == "-" && o.values == "-")
    refuse("keys and values cannot both come from standard input");
  check_algorithm(o.algorithm);
  if (o.max_scratch_bytes != 0 && find_peer(o.algorithm) != nullptr)
    refuse(
        fmt::format("--max-scratch {}: {} has no such ceiling", o.max_scratch_bytes, o.algorithm));
  if (find_peer(o.algorithm) == nullptr) {
    (void)sortium::find_device(o.device);  // it is there, before any file is read
  } else if (!o.parameters.empty()) {
    refuse(fmt::format("--params {}: {} has no parameters", o.parameters, o.algorithm));
  } else if (!o.segments.empty() || o.limit != 0) {
    refuse(
        fmt::format("--algorithm {}: it sorts whole files, neither segments nor the first records",
                    o.algorithm));
  }
  if (o.in == "-" && o.segments == "-")
    refuse("keys and offsets of segments cannot both come from standard input");
  if (!o.values.empty() && o.values == o.segments)
    refuse(fmt::format("{} cannot be both --values and --segments", o.values));
  o.check_bits();
}

bool leaves_runs(const Problem& p, const HostReport& r) {
  return r.run_length != 0 && r.run_length < p.count;
}

std::string summary(const Problem& p, const HostReport& r, unsigned value_bytes, double reading,
                    double writing) {
  std::string line = fmt::format("{} {} keys", p.count, sortium::info(p.key).name);
  if (p.segments != 0) line += fmt::format(" in {} segments", p.segments);
  if (p.limit != 0) line = fmt::format("the first {} of {}", p.limit, line);
  if (value_bytes != 0)
    line += fmt::format(" + {}-byte values", value_bytes);
  else if (p.payload == Payload::positions)
    line += fmt::format(" to {}-byte positions", p.value_bytes);
  line += fmt::format(", {}, {}", r.device, r.algorithm);
  if (!r.parameters.empty()) line += fmt::format("({})", r.parameters);
  if (leaves_runs(p, r)) line += fmt::format(", leaving SORTED RUNS of {} records", r.run_length);
  return line + times(r, p.count, reading, writing);
}

// Values of sizes that no sort moves: positions are sorted in their place, and the values gathered
// by them.
void gather(const Column& values, const Column& positions, Column& out) {
  const sortium::PermuteProblem problem{sortium::Direction::gather, positions.count, values.width,
                                        positions.width, values.count};
  sortium::permute_host(problem, values.data.data(), positions.data.data(), out.data.data());
}

void check_gathered(const Column& values, const Column& positions, const Column& gathered) {
  for (std::uint64_t i = 0; i < positions.count; ++i)
    if (const auto from = element(positions.data.data(), positions.width, i);
        std::memcmp(gathered.data.data() + i * values.width,
                    values.data.data() + from * values.width, values.width) != 0)
      throw Failure(
          exit_wrong,
          fmt::format(
              "WRONG result, nothing is written: value {} is not the input's value {}, which "
              "belongs there",
              i, from));
}

}  // namespace

std::string times(const HostReport& r, std::uint64_t count, double reading, double writing) {
  std::string out = fmt::format(
      ": reading {:.3f} s, preparing {:.3f} s, transfer {:.3f} s, sorting {:.4f} s, writing {:.3f} "
      "s",
      reading, r.plan_seconds, r.transfer_seconds, r.sort_seconds, writing);
  if (r.sort_seconds > 0)
    out += fmt::format(", {:.1f} Mkey/s", static_cast<double>(count) / r.sort_seconds * 1e-6);
  return out;
}

std::string_view name(sortium::NanOrder nan) {
  using enum sortium::NanOrder;
  return nan == last ? "last" : nan == first ? "first" : "bits";
}

std::string_view name(sortium::ZeroOrder zeros) {
  return zeros == sortium::ZeroOrder::tied ? "tied" : "distinct";
}

void KeyOptions::check_bits() const {
  if (bits.empty()) return;
  const auto [begin, end] = parse_bits(bits);
  if (begin >= end)
    throw Failure(exit_usage,
                  fmt::format("--bits {}: the range is empty; B must be less than E", bits));
}

Problem KeyOptions::problem(sortium::KeyType key_type, std::uint64_t count) const {
  Problem p;
  p.key = key_type;
  p.count = count;
  p.order = descending ? sortium::Order::descending : sortium::Order::ascending;
  const auto need_float = [&](std::string_view option, std::string_view value) {
    if (!sortium::info(key_type).is_float)
      throw Failure(exit_usage, fmt::format("{} {}: {} keys are no floats", option, value,
                                            sortium::info(key_type).name));
  };
  if (nan) {
    need_float("--nan", name(*nan));
    p.nan = *nan;
  }
  if (zeros) {
    need_float("--zeros", name(*zeros));
    p.zeros = *zeros;
  }
  if (bits.empty()) return p;
  check_bits();
  const auto [begin, end] = parse_bits(bits);
  const auto& t = sortium::info(key_type);
  if (end > t.bits())
    throw Failure(exit_usage,
                  fmt::format("--bits {}: {} keys have the bits 0:{}", bits, t.name, t.bits()));
  p.begin_bit = begin;
  p.end_bit = end;
  return p;
}

int sort(const SortOptions& options) {
  if (options.are_records()) return sort_records(options);
  check_usage(options);
  remove_temporaries_on_signals();
  Progress progress(!options.quiet);
  Stopwatch watch;

  // Outputs first: that they cannot be written should not come out after a minute of sorting.
  Output out(options.out);
  std::optional<Output> out2;
  if (!options.values_out.empty()) {
    out2.emplace(options.values_out);
    if (out2->same_file(out))
      throw Failure(exit_usage, fmt::format("-o {} and -o2 {} are the same file", options.out,
                                            options.values_out));
  }

  Keys keys = read_keys(options.in, options.text, options.type, progress);
  if (!options.argsort) check_npy_can_hold(options.out, keys.type);
  Problem problem = options.problem(keys.type, keys.count);
  if (options.limit > keys.count)
    throw Failure(exit_usage,
                  fmt::format("K {}: {} has {} records", options.limit, options.in, keys.count));
  problem.limit = options.limit;
  const Column offsets =
      options.segments.empty()
          ? Column{}
          : read_offsets(options.segments, options.offset_bytes, keys.count, progress);
  if (offsets.count > 1) {  // a single one is of no records at all
    problem.segments = offsets.count - 1;
    problem.offset_bytes = offsets.width;
  }
  Column values;
  unsigned index_bytes = options.index_bytes;
  if (!options.values.empty()) {
    values = read_values(options.values, options.value_bytes, progress);
    if (values.count != keys.count)
      throw Failure(exit_usage,
                    fmt::format("--values {} has {} records, {} has {}; as many are needed",
                                options.values, values.count, options.in, keys.count));
    problem.payload = Payload::values;
    problem.value_bytes = values.width;
  }
  const bool gathers = problem.payload == Payload::values && values.width != 4 && values.width != 8;
  if (gathers) index_bytes = keys.count <= std::uint64_t{1} << 32 ? 4 : 8;
  if (gathers || options.argsort) {
    problem.payload = Payload::positions;
    problem.value_bytes = index_bytes;
    problem.keys_out = !options.argsort;
  }
  // In place, but for what a check of the result needs the input for, and where there is less out
  // than in.
  const bool apart = options.verify || problem.limit != 0,
             moves_values = problem.payload == Payload::values;
  const std::uint64_t count_out = records_out(problem);
  const auto index_type = index_bytes == 4 ? sortium::KeyType::u32 : sortium::KeyType::u64;
  Column sorted_keys, sorted_values, positions;
  if (apart && problem.keys_out) sorted_keys = keys.empty_copy(count_out);
  if (gathers || (apart && moves_values)) sorted_values = values.empty_copy(count_out);
  if (problem.payload == Payload::positions)
    positions = Column::make(descr_of(index_type), index_bytes, count_out);
  Column& keys_result = apart ? sorted_keys : keys;
  Column& values_result = gathers || apart ? sorted_values : values;
  const Kind kind = kind_of(options.out, options.text, options.in, keys),
             values_kind = kind_of(options.values_out, false, options.values, values);
  reserve_column(out, kind, options.argsort ? positions : keys_result);
  if (out2) reserve_column(*out2, values_kind, values_result);
  const double reading = watch.lap();

  HostOperands operands;
  operands.keys_in = keys.data.data();
  if (problem.keys_out) operands.keys_out = keys_result.data.data();
  if (moves_values) operands.values_in = values.data.data();
  if (moves_values)
    operands.values_out = values_result.data.data();
  else if (problem.payload == Payload::positions)
    operands.values_out = positions.data.data();
  if (problem.segments != 0) operands.offsets = offsets.data.data();

  warn_of_minutes(options, problem);
  progress.phase("sorting");
  const Peer* const peer = find_peer(options.algorithm);
  const HostReport report =
      peer != nullptr ? sort_with_peer(*peer, problem, operands)
                      : sortium::sort_host(problem, operands,
                                           {.order = problem.order,
                                            .begin_bit = problem.begin_bit,
                                            .end_bit = problem.end_bit,
                                            .device = options.device,
                                            .algorithm = options.algorithm,
                                            .parameters = options.parameters,
                                            .max_scratch_bytes = options.max_scratch_bytes});
  if (gathers) gather(values, positions, values_result);
  double verifying = 0;
  if (options.verify) {
    progress.phase("verifying");
    watch.lap();
    if (const auto mistake = find_mistake(problem, operands, report.stable, report.run_length))
      throw Failure(exit_wrong, fmt::format("WRONG result of {} on {}, nothing is written: {}",
                                            report.algorithm, report.device, *mistake));
    if (gathers) check_gathered(values, positions, values_result);
    verifying = watch.lap();
  }

  watch.lap();
  if (options.argsort) {
    write_column(out, kind, positions, index_type, progress);
  } else {
    write_column(out, kind, keys_result, keys.type, progress);
    if (out2) write_column(*out2, values_kind, values_result, keys.type, progress);
  }
  if (out2)
    Output::publish(out, *out2);
  else
    out.publish();
  const double writing = watch.lap();

  progress.finish();
  if (!options.quiet) {
    std::string line =
        summary(problem, report, options.values.empty() ? 0 : values.width, reading, writing);
    if (options.verify) line += fmt::format(", verified in {:.3f} s", verifying);
    fmt::print(stderr, "{}\n", line);
  } else if (leaves_runs(problem, report)) {
    fmt::print(stderr, "sortium: {} is partial: the result has SORTED RUNS of {} records\n",
               report.algorithm, report.run_length);
  }
  return exit_success;
}

}  // namespace app
