// Compares Sortium's operations on sorted keys with CUB's and Thrust's: the same keys on the same
// GPU, interleaved in one run. Sortium's results are compared with theirs byte for byte.
//   compare_companions [--seconds S] [--json FILE] [OPERATION:KEY:DISTRIBUTION[:COUNT]…]
// OPERATION  unique, unique-pairs (with u32 values), run-lengths, merge, merge-pairs, is-sorted;
//            search (the needles are the keys as they were before they were sorted),
//            search-sorted (the needles are the sorted keys)
// KEY        u32, f32, u64, f64
// For a merge, each half is sorted by itself. Prints two medians for each: the host's time from the
// call to the end of the work, and the time between two events on the stream. "x" is the peer's
// time of the first kind, divided by Sortium's.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sortium/sortium.hpp>

#include "cub_companions.hpp"
#include "interleaved.hpp"
#include "records.hpp"

namespace {

using peers::check;
using peers::Contender;
using peers::DeviceArray;
using sortium::Memory, sortium::Payload, sortium::Problem;

struct Case {
  std::string operation, distribution;
  sortium::KeyType key;
  std::uint64_t count;
};

const std::vector<std::string> operations{"unique",        "unique-pairs", "run-lengths",
                                          "merge",         "merge-pairs",  "search",
                                          "search-sorted", "is-sorted"};

Case parsed(const std::string& text) {
  const auto parts = CLI::detail::split(text, ':');
  if (parts.size() < 3 || parts.size() > 4)
    throw std::runtime_error(
        fmt::format("'{}' is not OPERATION:KEY:DISTRIBUTION[:COUNT], as unique:f32:normal", text));
  if (std::ranges::find(operations, parts[0]) == operations.end())
    throw std::runtime_error(fmt::format("there is no operation '{}'; there are {}", parts[0],
                                         fmt::join(operations, ", ")));
  return {parts[0], parts[2], sortium::parse_key_type(parts[1]),
          parts.size() == 4 ? std::stoull(parts[3]) : std::uint64_t{1} << 24};
}

class Comparison {
 public:
  explicit Comparison(double seconds) : seconds_(seconds) {}

  nlohmann::json run(const std::string& name) {
    const Case c = parsed(name);
    const bool pairs = c.operation.ends_with("-pairs");
    const unsigned key = sortium::info(c.key).bytes;
    DeviceArray in(c.count * key), expected(c.count * key), got(c.count * key), values(c.count * 4),
        expected_values(c.count * 4), got_values(c.count * 4), result(8), expected_result(8);
    peers::make_keys(in.data, c.key, c.count, c.distribution);
    peers::make_positions(values.data, 4, c.count, gpu_.stream);
    const std::uint64_t a_count = c.operation.starts_with("merge") ? c.count / 2 : c.count;
    DeviceArray needles(c.count * key);
    check(cudaMemcpyAsync(needles.data, in.data, needles.bytes, cudaMemcpyDeviceToDevice,
                          gpu_.stream));
    sort(in, c.key, 0, a_count);
    sort(in, c.key, a_count, c.count - a_count);
    if (c.operation == "search-sorted") sort(needles, c.key, 0, c.count);

    const peers::CompanionCall theirs{c.key,         c.count,
                                      in.data,       pairs ? values.data : nullptr,
                                      expected.data, expected_values.data};
    auto* const runs = static_cast<std::uint64_t*>(expected_result.data);
    auto* const lengths = static_cast<std::uint32_t*>(expected_values.data);
    const auto peer = [&](void* temp, std::size_t& bytes) {
      if (c.operation.starts_with("unique"))
        peers::cub_unique(temp, bytes, theirs, runs, gpu_.stream);
      else if (c.operation == "run-lengths")
        peers::cub_run_lengths(temp, bytes, theirs, lengths, runs, gpu_.stream);
      else if (c.operation.starts_with("merge"))
        peers::cub_merge(temp, bytes, theirs, a_count, gpu_.stream);
      else if (temp == nullptr)
        bytes = 1;
      else if (c.operation.starts_with("search"))
        peers::thrust_lower_bound(theirs, needles.data, c.count, lengths, gpu_.stream);
      else
        peers::thrust_sorted_until(theirs, gpu_.stream);
    };
    std::size_t temp_bytes = 0;
    peer(nullptr, temp_bytes);
    DeviceArray temp(temp_bytes);
    const auto theirs_once = [&] { peer(temp.data, temp_bytes); };

    const Memory no_values{}, values_out{got_values.data};
    const auto device = gpu_.queue->device().shared_from_this();
    Problem problem{.key = c.key, .count = c.count};
    std::function<void()> ours;
    std::unique_ptr<DeviceArray> scratch;
    const auto prepare = [&](const auto& plan, auto enqueue) {
      scratch = std::make_unique<DeviceArray>(std::max<std::uint64_t>(plan->scratch_bytes(), 16));
      ours = [plan, enqueue, this, memory = Memory{scratch->data}] {
        enqueue(*plan, *gpu_.queue, memory);
      };
    };
    if (c.operation.starts_with("unique") || c.operation == "run-lengths") {
      const unsigned length_bytes = c.operation == "run-lengths" ? 4 : 0;
      if (pairs) problem.payload = Payload::values;
      prepare(std::make_shared<sortium::UniquePlan>(device, problem, length_bytes),
              [&, length_bytes](const auto& plan, auto& queue, Memory memory) {
                plan.run(queue, {{in.data},
                                 {got.data},
                                 pairs ? Memory{values.data} : no_values,
                                 pairs ? values_out : no_values,
                                 length_bytes != 0 ? values_out : no_values,
                                 {result.data},
                                 memory});
              });
    } else if (c.operation.starts_with("merge")) {
      if (pairs) problem.payload = Payload::values;
      prepare(std::make_shared<sortium::MergePlan>(device, problem, a_count),
              [&](const auto& plan, auto& queue, Memory memory) {
                plan.run(queue,
                         {{in.data},
                          {static_cast<char*>(in.data) + a_count * key},
                          {got.data},
                          pairs ? Memory{values.data} : no_values,
                          pairs ? Memory{static_cast<char*>(values.data) + a_count * 4} : no_values,
                          pairs ? values_out : no_values,
                          memory});
              });
    } else if (c.operation.starts_with("search")) {
      problem.value_bytes = 4;
      prepare(
          std::make_shared<sortium::SearchPlan>(device, problem, c.count, sortium::Bound::lower),
          [&](const auto& plan, auto& queue, Memory) {
            plan.run(queue, {{in.data}, {needles.data}, values_out});
          });
    } else {
      prepare(std::make_shared<sortium::IsSortedPlan>(device, problem),
              [&](const auto& plan, auto& queue, Memory memory) {
                plan.run(queue, {{in.data}, {result.data}, memory});
              });
    }

    const auto wait = [&] { check(cudaStreamSynchronize(gpu_.stream)); };
    const auto matches = [&] {
      for (auto* a : {&expected, &expected_values, &expected_result, &got, &got_values, &result})
        check(cudaMemsetAsync(a->data, 0, a->bytes, gpu_.stream));
      theirs_once();
      if (c.operation == "is-sorted") {
        const std::uint64_t until = peers::thrust_sorted_until(theirs, gpu_.stream);
        check(cudaMemcpy(expected_result.data, &until, 8, cudaMemcpyHostToDevice));
      }
      ours();
      wait();
      return got.equals(expected) && got_values.equals(expected_values) &&
             result.equals(expected_result);
    };
    std::vector<Contender> all{{"peer", theirs_once, wait, [] { return true; }},
                               {"sortium", [&] { ours(); }, wait, matches}};
    peers::measure(all, gpu_.stream, seconds_);
    return measured(name, c.count, all);
  }

  [[nodiscard]] const sortium::DeviceInfo& device() const { return gpu_.queue->device().info(); }

 private:
  // Sorts `count` keys from `first` on in place.
  void sort(DeviceArray& keys, sortium::KeyType type, std::uint64_t first, std::uint64_t count) {
    if (count == 0) return;
    const sortium::Plan plan(gpu_.queue->device().shared_from_this(),
                             {.key = type, .count = count});
    DeviceArray scratch(std::max<std::uint64_t>(plan.scratch_bytes(), 16));
    const Memory there{static_cast<char*>(keys.data) + first * sortium::info(type).bytes};
    plan.run(*gpu_.queue, {there, there, {}, {}, {scratch.data}, {}});
    check(cudaStreamSynchronize(gpu_.stream));
  }

  // Checks and prints the results. The last contender is Sortium.
  static nlohmann::json measured(const std::string& name, std::uint64_t count,
                                 std::vector<Contender>& all) {
    nlohmann::json row{{"case", name}, {"count", count}, {"correct", all.back().correct()}};
    std::string line = fmt::format("{:<34} {:>10}", name, count);
    for (auto& c : all) {
      const double waited = peers::median(c.waited), on_device = peers::median(c.device);
      row["results"].push_back(
          {{"name", c.name}, {"wait_seconds", waited}, {"device_seconds", on_device}});
      line += fmt::format("  {} {:.1f}/{:.1f} us", c.name, waited * 1e6, on_device * 1e6);
    }
    const double ratio = peers::median(all.front().waited) / peers::median(all.back().waited);
    row["wait_ratio"] = ratio;
    fmt::print("{}  x{:.2f}{}\n", line, ratio, row["correct"] ? "" : " WRONG");
    std::fflush(stdout);
    return row;
  }

  peers::Gpu gpu_;
  double seconds_;
};

std::vector<std::string> all_cases() {
  std::vector<std::string> cases;
  for (const auto& operation : operations)
    for (const auto* list : {"f32:normal", "u32:distinct1000", "u64:uniform"})
      for (const auto* count : {"4096", "1048576", "16777216", "67108864"})
        cases.push_back(fmt::format("{}:{}:{}", operation, list, count));
  return cases;
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app{"Sortium's operations on sorted keys beside CUB's and Thrust's on the same GPU"};
  double seconds = 0.1;
  std::string json;
  std::vector<std::string> names;
  app.add_option("--seconds", seconds, "seconds to measure each case");
  app.add_option("--json", json, "also write the results to this file");
  app.add_option("case", names, "OPERATION:KEY:DISTRIBUTION[:COUNT] (default: a list of cases)");
  CLI11_PARSE(app, argc, argv);
  if (names.empty()) names = all_cases();

  Comparison comparison(seconds);
  const auto& device = comparison.device();
  nlohmann::json out{{"device", device.name}, {"driver", device.driver}, {"cuda", CUDART_VERSION}};
  return peers::run_cases(
      std::move(out), names, [&](const std::string& name) { return comparison.run(name); }, json);
} catch (const std::exception& e) {
  fmt::print(stderr, "compare_companions: {}\n", e.what());
  return 1;
}
