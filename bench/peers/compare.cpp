// Sortium beside CUB and Thrust: the same records, on the same GPU, by turns in one run, each
// result compared with CUB's byte for byte. Sortium sorts through its public API: on CUDA in this
// program's own context and stream, and on NVIDIA's OpenCL where --opencl is given.
//   compare [--set main|small|skew|bits|all] [--json FILE] [--opencl] [--graph] [--others]
//   [--algorithm NAME] [SPEC…] SPEC: key:value:count:distribution[:begin-end], such as
//   u32:u32:2^28:uniform or u64:none:2^20:and3:0-24
// Times are medians of sorts that are waited for (`wait`, host clock) and of device time between
// events (`device`).
#include <fmt/format.h>
#include <thrust/version.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cub/version.cuh>
#include <functional>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sortium/sortium.hpp>
#include <sortium/verify.hpp>
#include <thread>

#include "by_turns.hpp"
#include "cub_sorts.hpp"
#include "records.hpp"

namespace {

using peers::check;
using peers::Contender;
using peers::DeviceArray;
using peers::Distribution;
using peers::Kind;
using peers::median;

Distribution parse_distribution(const std::string& name) {
  const auto starts = [&](const char* word) { return name.rfind(word, 0) == 0; };
  const auto number = [&](std::size_t from) { return std::stod(name.substr(from)); };
  if (name == "uniform") return {Kind::uniform, 0};
  if (name == "bits") return {Kind::bits, 0};
  if (name == "sorted") return {Kind::sorted, 0};
  if (name == "reversed") return {Kind::reversed, 0};
  if (name == "nearly") return {Kind::nearly, 0};
  if (name == "constant") return {Kind::constant, 0};
  if (name == "alternating") return {Kind::alternating, 0};
  if (starts("distinct")) return {Kind::few, number(8)};
  if (starts("low")) return {Kind::low, number(3)};
  if (starts("and")) return {Kind::conjunction, number(3)};
  if (starts("zipf")) return {Kind::zipf, number(4)};
  if (starts("bucket")) return {Kind::buckets, number(6)};
  throw std::runtime_error("distribution '" + name +
                           "' is none of uniform, bits, sorted, reversed, nearly, constant, "
                           "alternating, distinctK, lowB, andW, zipfS, bucketK");
}

// ---- what is compared ----

struct Spec {
  std::string text;
  sortium::Problem problem;
  Distribution distribution{};
};

Spec parse_spec(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const auto colon = std::min(text.find(':', at), text.size());
    parts.push_back(text.substr(at, colon - at));
    at = colon + 1;
  }
  if (parts.size() != 4 && parts.size() != 5)
    throw std::runtime_error("'" + text + "' is not key:value:count:distribution[:begin-end]");
  Spec spec{text, {}, parse_distribution(parts[3])};
  constexpr const char* names[] = {"u32", "i32", "f32", "u64", "i64", "f64"};
  const auto name = std::find(std::begin(names), std::end(names), parts[0]);
  if (name == std::end(names)) throw std::runtime_error("no key type '" + parts[0] + "'");
  constexpr sortium::KeyType types[] = {sortium::KeyType::u32, sortium::KeyType::i32,
                                        sortium::KeyType::f32, sortium::KeyType::u64,
                                        sortium::KeyType::i64, sortium::KeyType::f64};
  spec.problem.key = types[name - std::begin(names)];
  spec.problem.count = parts[2].rfind("2^", 0) == 0
                           ? std::uint64_t{1} << std::stoul(parts[2].substr(2))
                           : std::stoull(parts[2]);
  if (spec.problem.count == 0 || spec.problem.count >= std::uint64_t{1} << 32)
    throw std::runtime_error("count " + parts[2]);
  if (parts[1] != "none") {
    spec.problem.payload =
        parts[1] == "argsort" ? sortium::Payload::positions : sortium::Payload::values;
    spec.problem.value_bytes = parts[1] == "u64" ? 8 : 4;
    if (parts[1] != "argsort" && parts[1] != "u32" && parts[1] != "u64")
      throw std::runtime_error("no value type '" + parts[1] + "'");
  }
  if (parts.size() == 5) {
    const auto dash = parts[4].find('-');
    spec.problem.begin_bit = static_cast<unsigned>(std::stoul(parts[4].substr(0, dash)));
    spec.problem.end_bit = static_cast<unsigned>(std::stoul(parts[4].substr(dash + 1)));
  }
  return spec;
}

std::vector<std::string> specs_of(const std::string& set) {
  std::vector<std::string> out;
  const bool all = set == "all";
  if (all || set == "main") {
    for (const char* key : {"u32", "i32", "f32", "u64", "i64", "f64"})
      out.push_back(fmt::format("{}:none:2^28:uniform", key));
    for (const char* s :
         {"f32:none:2^28:bits", "f64:none:2^28:bits", "u32:u32:2^28:uniform",
          "u32:argsort:2^28:uniform", "u64:u32:2^28:uniform", "u64:u64:2^28:uniform"})
      out.emplace_back(s);
    for (const char* kind : {"u32:none", "u64:none", "u32:u32"})
      for (int log = 20; log <= 26; log += 2)
        out.push_back(fmt::format("{}:2^{}:uniform", kind, log));
  }
  if (all || set == "small")
    for (const char* kind : {"u32:none", "u32:u32"})
      for (int log = 8; log <= 18; log += 2)
        out.push_back(fmt::format("{}:2^{}:uniform", kind, log));
  if (all || set == "skew")
    for (const char* kind : {"u32:none", "u32:u32"})
      for (int log : {20, 24, 28})
        for (const char* d : {"sorted", "reversed", "nearly", "constant", "distinct2",
                              "distinct1024", "and2", "and3", "and4", "and5", "zipf0.5", "zipf1",
                              "zipf1.5", "bucket1", "bucket2", "alternating"})
          out.push_back(fmt::format("{}:2^{}:{}", kind, log, d));
  if (all || set == "bits")
    for (const char* kind : {"u32:none", "u32:u32"})
      for (int log : {23, 28})
        for (int end : {10, 16, 24})
          out.push_back(fmt::format("{}:2^{}:uniform:0-{}", kind, log, end));
  if (out.empty())
    throw std::runtime_error("--set " + set + ": there are main, small, skew, bits, all");
  return out;
}

// ---- measuring ----

struct Options {
  std::string algorithm = "auto", parameters;
  bool opencl = false, others = false, phases = false, graph = false;
  double seconds = 0.1;
};

nlohmann::json compare(const Spec& spec, const Options& options, sortium::Queue& queue,
                       cudaStream_t stream, sortium::Device* opencl) {
  const auto& p = spec.problem;
  const auto& key = sortium::info(p.key);
  const std::size_t key_bytes = p.count * key.bytes,
                    value_bytes = p.payload == sortium::Payload::none ? 0 : p.count * p.value_bytes;
  DeviceArray keys(key_bytes), values(value_bytes), expected_keys(key_bytes),
      expected_values(value_bytes), got_keys(key_bytes), got_values(value_bytes);
  peers::make_keys(keys.data, key.bytes, key.is_float, key.is_signed, p.count, spec.distribution,
                   stream);
  if (value_bytes != 0) peers::make_positions(values.data, p.value_bytes, p.count, stream);
  check(cudaStreamSynchronize(stream));

  std::vector<Contender> all;
  const auto wait = [=] { check(cudaStreamSynchronize(stream)); };
  // What is in place must be the input once more, and what is to be written must be written.
  const auto matches = [&](const std::function<void()>& enqueue) {
    check(cudaMemsetAsync(got_keys.data, 0xa5, key_bytes, stream));
    if (value_bytes != 0) check(cudaMemsetAsync(got_values.data, 0xa5, value_bytes, stream));
    enqueue();
    wait();
    return got_keys.equals(expected_keys) &&
           (value_bytes == 0 || got_values.equals(expected_values));
  };

  // CUB's radix sort; its result is what the others are held to, and is itself checked by Sortium's
  // verifier.
  peers::Sort sort{static_cast<peers::Key>(0),
                   static_cast<unsigned>(value_bytes == 0 ? 0 : p.value_bytes),
                   p.count,
                   static_cast<int>(p.begin_bit),
                   static_cast<int>(p.end_bit == 0 ? key.bits() : p.end_bit),
                   keys.data,
                   values.data,
                   expected_keys.data,
                   expected_values.data};
  constexpr sortium::KeyType order[] = {sortium::KeyType::u32, sortium::KeyType::i32,
                                        sortium::KeyType::f32, sortium::KeyType::u64,
                                        sortium::KeyType::i64, sortium::KeyType::f64};
  sort.key = static_cast<peers::Key>(std::find(std::begin(order), std::end(order), p.key) -
                                     std::begin(order));
  std::size_t temp_bytes = 0, wide_bytes = 0, merge_bytes = 0;
  peers::cub_radix(nullptr, temp_bytes, sort, stream);
  peers::cub_radix(nullptr, wide_bytes, sort, stream, true);
  temp_bytes = std::max(temp_bytes, wide_bytes);
  const bool whole = p.begin_bit == 0 && p.end_bit == 0;
  if (options.others && whole) peers::cub_merge(nullptr, merge_bytes, sort, stream);
  DeviceArray temp(std::max(temp_bytes, merge_bytes));
  all.push_back({"cub",
                 [&, sort] {
                   std::size_t bytes = temp_bytes;
                   peers::cub_radix(temp.data, bytes, sort, stream);
                 },
                 wait,
                 [&] {
                   const auto place = [](void* at) { return sortium::Memory{at}; };
                   auto held_to = p;
                   if (value_bytes != 0)
                     held_to.payload = sortium::Payload::positions;  // ties in order of position
                   return sortium::verify(queue, held_to, place(expected_keys.data),
                                          place(value_bytes == 0 ? nullptr : expected_values.data))
                              .unsorted == 0;
                 }});
  all[0].enqueue();
  wait();
  const auto wide = [&, sort] {
    std::size_t bytes = temp_bytes;
    peers::cub_radix(temp.data, bytes, sort, stream, true);
  };
  all.push_back({"cub-64-bit-count", wide, wait, [] { return true; }});

  peers::Sort other = sort;
  other.keys_out = got_keys.data;
  other.values_out = got_values.data;
#ifdef SORTIUM_CCCL
  std::size_t newer_bytes[2] = {0, 0};
  for (const bool wide_count : {false, true})
    peers::newer_cub_radix(nullptr, newer_bytes[wide_count], other, stream, wide_count);
  DeviceArray newer_temp(std::max(newer_bytes[0], newer_bytes[1]));
  for (const bool wide_count : {false, true}) {
    const auto newer = [&, other, wide_count] {
      std::size_t bytes = newer_bytes[wide_count];
      peers::newer_cub_radix(newer_temp.data, bytes, other, stream, wide_count);
    };
    all.push_back({wide_count ? "newer-cub-64-bit-count" : "newer-cub", newer, wait,
                   [&, newer] { return matches(newer); }});
  }
#endif

  const sortium::Plan plan(queue.device().shared_from_this(), p,
                           {options.algorithm, options.parameters});
  DeviceArray scratch(plan.scratch_bytes());
  const sortium::Operands operands{{keys.data},
                                   {got_keys.data},
                                   {p.payload == sortium::Payload::values ? values.data : nullptr},
                                   {value_bytes != 0 ? got_values.data : nullptr},
                                   {scratch.data}};
  const auto ours = [&] { plan.run(queue, operands); };
  all.push_back({"sortium", ours, wait, [&] { return matches(ours); }});

  // The same sort as a CUDA graph, whose launches the driver knows ahead.
  peers::Graph graph;
  if (options.graph) {
    graph.capture(stream, ours);
    const auto launch = [&] { check(cudaGraphLaunch(graph.ready, stream)); };
    all.push_back({"sortium-graph", launch, wait, [&, launch] { return matches(launch); }});
  }

  std::optional<sortium::Plan> cl_plan;
  std::unique_ptr<sortium::Queue> cl_queue;
  std::vector<std::unique_ptr<sortium::Buffer>> cl_buffers;
  sortium::Operands cl_operands;
  if (opencl != nullptr) {
    cl_plan.emplace(opencl->shared_from_this(), p,
                    sortium::Method{options.algorithm, options.parameters});
    cl_queue = opencl->make_queue();
    const auto make = [&](std::size_t bytes) {
      return cl_buffers.emplace_back(opencl->allocate(bytes))->memory();
    };
    std::vector<char> host(std::max(key_bytes, value_bytes));
    cl_operands = {make(key_bytes), make(key_bytes), {}, {}, make(cl_plan->scratch_bytes())};
    check(cudaMemcpy(host.data(), keys.data, key_bytes, cudaMemcpyDeviceToHost));
    cl_queue->write(cl_operands.keys_in, host.data(), key_bytes);
    if (value_bytes != 0) cl_operands.values_out = make(value_bytes);
    if (p.payload == sortium::Payload::values) {
      cl_operands.values_in = make(value_bytes);
      check(cudaMemcpy(host.data(), values.data, value_bytes, cudaMemcpyDeviceToHost));
      cl_queue->write(cl_operands.values_in, host.data(), value_bytes);
    }
    const auto cl_sort = [&] { cl_plan->run(*cl_queue, cl_operands); };
    all.push_back(
        {"sortium-opencl", cl_sort, [&] { cl_queue->finish(); },
         [&, cl_sort] {
           cl_queue->fill(cl_operands.keys_out, 0xa5a5a5a5, key_bytes);
           cl_sort();
           std::vector<char> out(std::max(key_bytes, value_bytes));
           cl_queue->read(out.data(), cl_operands.keys_out, key_bytes);
           check(cudaMemcpy(got_keys.data, out.data(), key_bytes, cudaMemcpyHostToDevice));
           if (value_bytes == 0) return got_keys.equals(expected_keys);
           cl_queue->read(out.data(), cl_operands.values_out, value_bytes);
           check(cudaMemcpy(got_values.data, out.data(), value_bytes, cudaMemcpyHostToDevice));
           return got_keys.equals(expected_keys) && got_values.equals(expected_values);
         },
         false});
  }
  if (options.others && whole) {
    const auto merge = [&, other] {
      std::size_t bytes = merge_bytes;
      peers::cub_merge(temp.data, bytes, other, stream);
    };
    all.push_back({"cub-merge", merge, wait, [&, merge] { return matches(merge); }});
    const auto thrust = [=] { peers::thrust_sort(other, stream); };
    all.push_back({"thrust", thrust, wait, [&, thrust] { return matches(thrust); }});
  }

  peers::measure(all, stream, options.seconds);
  nlohmann::json row{{"spec", spec.text},
                     {"count", p.count},
                     {"algorithm", plan.algorithm().name},
                     {"parameters", plan.parameters()},
                     {"scratch_bytes", plan.scratch_bytes()},
                     {"cub_temporary_bytes", temp_bytes}};
  // CUB is another sort when its count is a 64-bit number, sometimes the faster one: ratios are to
  // the better.
  const double cub_waited = std::min(median(all[0].waited), median(all[1].waited));
  const double cub_device = std::min(median(all[0].device), median(all[1].device));
  std::string line = fmt::format("{:<28} {:<9}", spec.text, plan.algorithm().name);
  for (auto& c : all) {
    const bool correct = c.correct();
    const double waited = median(c.waited), device = c.device.empty() ? waited : median(c.device);
    row["results"].push_back({{"name", c.name},
                              {"wait_seconds", waited},
                              {"device_seconds", device},
                              {"correct", correct},
                              {"wait_ratio", cub_waited / waited},
                              {"device_ratio", cub_device / device}});
    line += fmt::format("  {} {:.1f}/{:.1f} us", c.name, waited * 1e6, device * 1e6);
    if (c.name.rfind("cub", 0) != 0)
      line += fmt::format(" x{:.2f}/{:.2f}", cub_waited / waited, cub_device / device);
    if (!correct) line += " WRONG";
    row["correct"] = row.value("correct", true) && correct;
  }
  fmt::print("{}\n", line);
  if (options.phases)
    for (const auto& phase : plan.profile(queue, operands)) {
      fmt::print("    {:<10} {} launches {:9.1f} us\n", phase.name, phase.launches,
                 phase.seconds * 1e6);
      row["phases"].push_back(
          {{"name", phase.name}, {"launches", phase.launches}, {"seconds", phase.seconds}});
    }
  std::fflush(stdout);
  return row;
}

// Kernels are compiled side by side, and kept, before the first sort is timed.
void build_all(const std::vector<Spec>& specs, const Options& options, sortium::Device& device) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::future<void>> builders;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i)
    builders.push_back(std::async(std::launch::async, [&] {
      for (std::size_t at = next++; at < specs.size(); at = next++)
        const sortium::Plan plan(device.shared_from_this(), specs[at].problem,
                                 {options.algorithm, options.parameters});
    }));
  for (auto& builder : builders) builder.get();
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app{"Sortium beside CUB and Thrust on the same GPU"};
  Options options;
  std::string set, json, algorithm;
  std::vector<std::string> texts;
  app.add_option("--set", set, "main, small, skew, bits or all of them");
  app.add_option("--json", json, "writes the table there");
  app.add_option("--algorithm", options.algorithm, "of Sortium");
  app.add_option("--params", options.parameters, "of that algorithm");
  app.add_option("--seconds", options.seconds, "spent on a row");
  app.add_flag("--opencl", options.opencl, "Sortium on NVIDIA's OpenCL, too");
  app.add_flag("--graph", options.graph, "Sortium's sort captured in a CUDA graph, too");
  app.add_flag("--phases", options.phases, "Sortium's device time phase by phase");
  app.add_flag("--others", options.others, "CUB's merge sort and Thrust, too");
  app.add_option("spec", texts, "key:value:count:distribution[:begin-end]");
  CLI11_PARSE(app, argc, argv);
  if (texts.empty() || !set.empty())
    for (const auto& s : specs_of(set.empty() ? "main" : set)) texts.push_back(s);
  std::vector<Spec> specs;
  for (const auto& t : texts) specs.push_back(parse_spec(t));

  const peers::Gpu gpu;
  const auto& queue = gpu.queue;
  sortium::Device* opencl = nullptr;
  if (options.opencl) {
    for (const auto& d : sortium::devices())
      if (d->info().claimed.backend == sortium::Backend::opencl &&
          d->info().platform.find("NVIDIA") != std::string::npos)
        opencl = d.get();
    if (opencl == nullptr) throw std::runtime_error("--opencl: NVIDIA's OpenCL has no device here");
  }
  nlohmann::json out{{"device", queue->device().info().name},
                     {"driver", queue->device().info().driver},
                     {"cub", CUB_VERSION},
                     {"thrust", THRUST_VERSION},
                     {"cuda", CUDART_VERSION}};
#ifdef SORTIUM_CCCL
  out["newer_cub"] = peers::newer_cub_version();
  fmt::print("newer CUB {}; ", peers::newer_cub_version());
#endif
  fmt::print("CUB {}, CUDA {}, {}, driver {}; wait/device medians, ratios to CUB's radix sort\n",
             CUB_VERSION, CUDART_VERSION, queue->device().info().name,
             queue->device().info().driver);
  build_all(specs, options, queue->device());
  bool correct = true;
  for (const auto& spec : specs) {
    out["rows"].push_back(compare(spec, options, *queue, gpu.stream, opencl));
    correct = correct && out["rows"].back()["correct"];
  }
  if (!json.empty()) peers::write_json(json, out);
  return correct ? 0 : 1;
} catch (const std::exception& error) {
  fmt::print(stderr, "compare: {}\n", error.what());
  return 1;
}
