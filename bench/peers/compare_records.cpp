// Compares Sortium's sort of records with what CUB offers: the same records on the same GPU,
// interleaved in one run. All sorts write the sorted columns elsewhere. Sortium's results are
// compared with CUB's byte for byte, also after a launch of the sort from a CUDA graph.
//   compare_records [--n COUNT] [--seconds S] [--json FILE] [--phases] [NAME[:COUNT]…]
// record_lists.hpp names the lists. Prints two medians for each sort: the host's time from the call
// to the end of the sort, and the time between two events on the stream. "x" is the time of CUB's
// faster sort divided by Sortium's.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sortium/sortium.hpp>

#include "interleaved.hpp"
#include "record_lists.hpp"

namespace {

using peers::check;
using peers::Contender;
using peers::DeviceArray;

// The columns of a list in device memory.
struct Columns {
  Columns(const std::vector<unsigned>& column_bytes, std::uint64_t count) {
    for (const unsigned b : column_bytes) {
      arrays.push_back(std::make_unique<DeviceArray>(b * count));
      memory.push_back({arrays.back()->data});
      pointers.push_back(arrays.back()->data);
    }
  }
  [[nodiscard]] bool equals(const Columns& other) const {
    for (std::size_t c = 0; c < arrays.size(); ++c)
      if (!arrays[c]->equals(*other.arrays[c])) return false;
    return true;
  }
  std::vector<std::unique_ptr<DeviceArray>> arrays;
  std::vector<sortium::Memory> memory;
  std::vector<void*> pointers;
};

// Returns the key of the list `name`; must agree with record_lists.cu.
std::vector<sortium::Field> key_of(const std::string& name) {
  using sortium::FieldType, sortium::KeyType, sortium::Order;
  if (name == "hundred") return {{.type = FieldType::bytes(10)}};
  if (name == "pair")
    return {{.column = 0, .type = KeyType::u32}, {.column = 1, .type = KeyType::u32}};
  if (name == "strings" || name == "prefix") return {{.type = FieldType::bytes(16)}};
  return {{.column = 0, .type = KeyType::f32, .order = Order::descending},
          {.column = 1, .type = KeyType::u16},
          {.column = 2, .type = KeyType::u64}};
}

class Comparison {
 public:
  Comparison(std::uint64_t count, double seconds, bool phases)
      : given_count_(count), seconds_(seconds), phases_(phases) {}

  nlohmann::json run(const std::string& name) {
    const auto parts = CLI::detail::split(name, ':');
    const std::uint64_t count = parts.size() == 2 ? std::stoull(parts[1]) : given_count_;
    const auto list = peers::record_list(parts[0]);
    const auto bytes = list->column_bytes();
    const cudaStream_t stream = gpu_.stream;
    const auto wait = [&] { check(cudaStreamSynchronize(stream)); };
    Columns in(bytes, count), expected(bytes, count), got(bytes, count);
    list->make(in.pointers, count, stream);
    wait();

    DeviceArray indices(count * 4), others(count * 4), words(count * 8), more_words(count * 8);
    auto* const positions = static_cast<std::uint32_t*>(indices.data);
    std::uint32_t* both[2] = {positions, static_cast<std::uint32_t*>(others.data)};
    std::uint64_t* word_arrays[2] = {static_cast<std::uint64_t*>(words.data),
                                     static_cast<std::uint64_t*>(more_words.data)};
    std::size_t merge_bytes = 0, radix_bytes = 0;
    list->merge_sort(nullptr, merge_bytes, in.pointers, positions, count, stream);
    list->radix_sort(nullptr, radix_bytes, in.pointers, word_arrays, both, count, stream);
    DeviceArray temp(std::max(merge_bytes, radix_bytes));
    const auto gather = [&](const std::uint32_t* by, Columns& out) {
      for (std::size_t c = 0; c < bytes.size(); ++c)
        peers::gather(in.pointers[c], by, out.pointers[c], bytes[c], count, stream);
    };
    const auto merge = [&] {
      std::size_t given = merge_bytes;
      list->merge_sort(temp.data, given, in.pointers, positions, count, stream);
      gather(positions, expected);
    };
    const auto radix = [&] {
      std::size_t given = radix_bytes;
      gather(list->radix_sort(temp.data, given, in.pointers, word_arrays, both, count, stream),
             got);
    };

    sortium::RecordProblem problem{.count = count, .key = key_of(parts[0])};
    for (const unsigned b : bytes) problem.columns.push_back({b, sortium::Moved::out});
    const auto began = std::chrono::steady_clock::now();
    const sortium::RecordPlan plan(gpu_.queue->device().shared_from_this(), problem);
    const double prepared =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    DeviceArray scratch(plan.scratch_bytes());
    const sortium::RecordOperands operands{in.memory, got.memory, {}, {scratch.data}};
    const auto ours = [&] { plan.run(*gpu_.queue, operands); };
    const auto matches = [&](const std::function<void()>& enqueue) {
      for (const auto& a : got.arrays) check(cudaMemsetAsync(a->data, 0xa5, a->bytes, stream));
      enqueue();
      wait();
      return got.equals(expected);
    };
    peers::Graph graph;
    graph.capture(stream, ours);
    const auto captured = [&] { check(cudaGraphLaunch(graph.ready, stream)); };

    // The first contender is the reference for the others.
    std::vector<Contender> all{
        {"cub-merge", merge, wait, [] { return true; }},
        {"cub-radix", radix, wait, [&] { return matches(radix); }},
        {"sortium", ours, wait, [&] { return matches(ours) && matches(captured); }}};
    peers::measure(all, stream, seconds_);
    auto row = measured(name, count, all);
    row["prepared_seconds"] = prepared;
    row["scratch_bytes"] = plan.scratch_bytes();
    if (phases_)
      for (const auto& phase : plan.profile(*gpu_.queue, operands))
        fmt::print("    {:<24} {:8.1f} us\n", phase.name, phase.seconds * 1e6);
    return row;
  }

  [[nodiscard]] const sortium::DeviceInfo& device() const { return gpu_.queue->device().info(); }

 private:
  // Checks and prints the results of all contenders. The last one is Sortium.
  static nlohmann::json measured(const std::string& name, std::uint64_t count,
                                 std::vector<Contender>& all) {
    nlohmann::json row{{"case", name}, {"count", count}, {"correct", true}};
    double best = INFINITY;
    for (std::size_t i = 0; i + 1 < all.size(); ++i)
      best = std::min(best, peers::median(all[i].waited));
    std::string line = fmt::format("{:<14} {:>10}", name, count);
    for (auto& c : all) {
      const bool correct = c.correct();
      const double waited = peers::median(c.waited), on_device = peers::median(c.device);
      row["results"].push_back({{"name", c.name},
                                {"wait_seconds", waited},
                                {"device_seconds", on_device},
                                {"correct", correct},
                                {"wait_ratio", best / waited}});
      line += fmt::format("  {} {:.1f}/{:.1f} us{}", c.name, waited * 1e6, on_device * 1e6,
                          correct ? "" : " WRONG");
      if (!correct) row["correct"] = false;
      if (&c == &all.back()) line += fmt::format(" x{:.2f}", best / waited);
    }
    fmt::print("{}\n", line);
    std::fflush(stdout);
    return row;
  }

  peers::Gpu gpu_;
  std::uint64_t given_count_;
  double seconds_;
  bool phases_;
};

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app{"Sortium's sort of records beside CUB's sorts on the same GPU"};
  std::uint64_t count = std::uint64_t{1} << 24;
  double seconds = 0.2;
  bool phases = false;
  std::string json;
  std::vector<std::string> names;
  app.add_option("--n", count, "number of records")
      ->check(CLI::Range(std::uint64_t{1}, (std::uint64_t{1} << 31) - 1));
  app.add_option("--seconds", seconds, "seconds to measure each list");
  app.add_option("--json", json, "also write the results to this file");
  app.add_flag("--phases", phases, "also print the device time of each phase");
  app.add_option("list", names, "NAME or NAME:COUNT (default: all lists)");
  CLI11_PARSE(app, argc, argv);
  if (names.empty()) names = peers::record_list_names();

  Comparison comparison(count, seconds, phases);
  const auto& device = comparison.device();
  nlohmann::json out{{"device", device.name}, {"driver", device.driver}, {"cuda", CUDART_VERSION}};
  return peers::run_cases(
      std::move(out), names, [&](const std::string& name) { return comparison.run(name); }, json);
} catch (const std::exception& e) {
  fmt::print(stderr, "compare_records: {}\n", e.what());
  return 1;
}
