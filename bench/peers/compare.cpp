// Compares Sortium with CUB and Thrust: the same records on the same GPU, interleaved in one run.
// Each result is compared with CUB's byte for byte. Sortium sorts through its public API: on CUDA
// in this program's own context and stream and, with --opencl, on NVIDIA's OpenCL too.
//   compare [--set main|small|skew|bits|all|real] [--json FILE] [--opencl] [--graph] [--others]
//           [--algorithm NAME] [SPEC…]
//   SPEC: key:value:count:distribution[:begin-end], such as u32:u32:2^28:uniform or
//         u64:none:2^20:and3:0-24; `sortium bench --help` lists the distributions
// All times are medians. `wait` is the host's time from the first call to the end of the sort;
// `device` is the time between two events on the stream.
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

#include "cub_sorts.hpp"
#include "interleaved.hpp"
#include "protocol/distributions.hpp"
#include "records.hpp"

namespace {

using peers::check;
using peers::Contender;
using peers::DeviceArray;
using peers::median;

// ---- cases ----

struct Spec {
  std::string text;
  sortium::Problem problem;
  std::string distribution;
};

Spec parse_spec(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const bool is_file = parts.size() == 3 && text.compare(at, 5, "file:") == 0;
    const auto colon = std::min(text.find(':', is_file ? at + 5 : at), text.size());
    parts.push_back(text.substr(at, colon - at));
    at = colon + 1;
  }
  if (parts.size() != 4 && parts.size() != 5)
    throw std::runtime_error("'" + text + "' is not key:value:count:distribution[:begin-end]");
  app::check_distribution(parts[3]);
  Spec spec{text, {}, parts[3]};
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

// Distributions like those of users' lists.
std::vector<std::string> real_lists(bool of_floats) {
  std::vector<std::string> out{
      "uniform",  "normal",   "exponential", "lognormal",  "cauchy",   "mixture",
      "gamma0.1", "offset20", "timestamps",  "zipf0.75",   "zipf1.25", "distinct1000",
      "half",     "nearly",   "tail5",       "sawtooth64", "sorted"};
  if (of_floats)
    out.insert(out.end(), {"normal+nan10", "normal+zero10"});
  else
    out.insert(out.end(), {"ids22", "prefix12", "multiples12", "packed", "cells", "morton"});
  return out;
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
  if (set == "real")
    for (const char* kind : {"f32:none", "u32:none", "f32:u32", "u32:u32", "f64:none", "u64:none",
                             "f64:u32", "u64:u64"})
      for (const char* count : {"10000000", "100000000"})
        for (const auto& d : real_lists(kind[0] == 'f'))
          out.push_back(fmt::format("{}:{}:{}", kind, count, d));
  if (out.empty())
    throw std::runtime_error("--set " + set + ": there are main, small, skew, bits, all, real");
  return out;
}

// ---- measuring ----

struct Options {
  std::string algorithm = "auto", parameters;
  bool opencl = false, others = false, phases = false, graph = false;
  double seconds = 0.1;
};

// The sorts of one spec, all measured and compared.
class Comparison {
 public:
  Comparison(const Spec& spec, const Options& options, sortium::Queue& queue, cudaStream_t stream)
      : spec_(spec),
        options_(options),
        queue_(queue),
        stream_(stream),
        plan_(queue.device().shared_from_this(), spec.problem,
              {options.algorithm, options.parameters}),
        scratch_(plan_.scratch_bytes()) {}

  // If `opencl` is not null, Sortium also sorts on that device.
  nlohmann::json run(sortium::Device* opencl) {
    make_input();
    const bool by_all_bits = p_.begin_bit == 0 && p_.end_bit == 0;
    allocate_temporary_memory(options_.others && by_all_bits);
    add_cub();
#ifdef SORTIUM_CCCL
    add_newer_cub();
#endif
    add_sortium();
    if (opencl != nullptr) add_opencl(*opencl);
    if (options_.others && by_all_bits) add_others();
    if (opencl != nullptr) switch_contexts_before_sorts();

    peers::measure(all_, stream_, options_.seconds);
    nlohmann::json row = report();
    if (options_.phases) report_phases(row);
    std::fflush(stdout);
    return row;
  }

 private:
  void make_input() {
    peers::make_keys(keys_.data, p_.key, p_.count, spec_.distribution);
    if (has_values()) peers::make_positions(values_.data, p_.value_bytes, p_.count, stream_);
    wait();
  }

  void allocate_temporary_memory(bool for_merge) {
    std::size_t radix_bytes = 0, wide_bytes = 0;
    peers::cub_radix(nullptr, radix_bytes, sort_into(expected_keys_, expected_values_), stream_);
    peers::cub_radix(nullptr, wide_bytes, sort_into(expected_keys_, expected_values_), stream_,
                     true);
    radix_bytes_ = std::max(radix_bytes, wide_bytes);
    if (for_merge)
      peers::cub_merge(nullptr, merge_bytes_, sort_into(expected_keys_, expected_values_), stream_);
    temporary_.emplace(std::max(radix_bytes_, merge_bytes_));
  }

  // CUB's radix sort, with counts of 32 and 64 bits: the reference for all others.
  void add_cub() {
    const auto radix = [this](bool wide_count) {
      std::size_t bytes = radix_bytes_;
      peers::cub_radix(temporary_->data, bytes, sort_into(expected_keys_, expected_values_),
                       stream_, wide_count);
    };
    all_.push_back({"cub", [radix] { radix(false); }, [this] { wait(); },
                    [this] { return reference_is_sorted(); }});
    all_.push_back(
        {"cub-64-bit-count", [radix] { radix(true); }, [this] { wait(); }, [] { return true; }});
    all_[0].enqueue();
    wait();
  }

#ifdef SORTIUM_CCCL
  void add_newer_cub() {
    for (const bool wide_count : {false, true})
      peers::newer_cub_radix(nullptr, newer_bytes_[wide_count], sort_into(got_keys_, got_values_),
                             stream_, wide_count);
    newer_temporary_.emplace(std::max(newer_bytes_[0], newer_bytes_[1]));
    for (const bool wide_count : {false, true})
      add(wide_count ? "newer-cub-64-bit-count" : "newer-cub", [this, wide_count] {
        std::size_t bytes = newer_bytes_[wide_count];
        peers::newer_cub_radix(newer_temporary_->data, bytes, sort_into(got_keys_, got_values_),
                               stream_, wide_count);
      });
  }
#endif

  void add_sortium() {
    operands_ = {{keys_.data},
                 {got_keys_.data},
                 {p_.payload == sortium::Payload::values ? values_.data : nullptr},
                 {has_values() ? got_values_.data : nullptr},
                 {scratch_.data}};
    const auto sort = [this] { plan_.run(queue_, operands_); };
    add("sortium", sort);
    if (!options_.graph) return;
    graph_.capture(stream_, sort);  // one call launches all kernels
    add("sortium-graph", [this] { check(cudaGraphLaunch(graph_.ready, stream_)); });
  }

  void add_opencl(sortium::Device& device) {
    cl_plan_.emplace(device.shared_from_this(), p_,
                     sortium::Method{options_.algorithm, options_.parameters});
    cl_queue_ = device.make_queue();
    const auto make = [&](std::size_t bytes) {
      return cl_buffers_.emplace_back(device.allocate(bytes))->memory();
    };
    std::vector<char> host(std::max(key_bytes_, value_bytes_));
    cl_operands_ = {make(key_bytes_), make(key_bytes_), {}, {}, make(cl_plan_->scratch_bytes())};
    check(cudaMemcpy(host.data(), keys_.data, key_bytes_, cudaMemcpyDeviceToHost));
    cl_queue_->write(cl_operands_.keys_in, host.data(), key_bytes_);
    if (has_values()) cl_operands_.values_out = make(value_bytes_);
    if (p_.payload == sortium::Payload::values) {
      cl_operands_.values_in = make(value_bytes_);
      check(cudaMemcpy(host.data(), values_.data, value_bytes_, cudaMemcpyDeviceToHost));
      cl_queue_->write(cl_operands_.values_in, host.data(), value_bytes_);
    }
    all_.push_back({"sortium-opencl", [this] { cl_plan_->run(*cl_queue_, cl_operands_); },
                    [this] { cl_queue_->finish(); }, [this] { return opencl_matches(); }, false});
  }

  // CUDA and OpenCL have a context each on the GPU, and a switch from one to the other takes some
  // 150 us. Lets every contender switch to its own before the time is taken.
  void switch_contexts_before_sorts() {
    for (auto& c : all_)
      if (c.on_stream)
        c.prepare = [this] { check(cudaMemsetAsync(got_keys_.data, 0, 4, stream_)); };
      else
        c.prepare = [this] { cl_queue_->fill(cl_operands_.keys_out, 0, 4); };
  }

  void add_others() {
    add("cub-merge", [this] {
      std::size_t bytes = merge_bytes_;
      peers::cub_merge(temporary_->data, bytes, sort_into(got_keys_, got_values_), stream_);
    });
    add("thrust", [this] { peers::thrust_sort(sort_into(got_keys_, got_values_), stream_); });
  }

  // Adds a sort that `enqueue` enqueues on the stream, with its output in got_keys_ and
  // got_values_.
  void add(const std::string& name, const std::function<void()>& enqueue) {
    all_.push_back(
        {name, enqueue, [this] { wait(); }, [this, enqueue] { return matches(enqueue); }});
  }

  [[nodiscard]] bool reference_is_sorted() const {
    auto problem = p_;
    if (has_values()) problem.payload = sortium::Payload::positions;  // ties must keep their order
    return sortium::verify(queue_, problem, {expected_keys_.data},
                           {has_values() ? expected_values_.data : nullptr})
               .unsorted == 0;
  }

  // Runs the sort and compares its result with CUB's. Overwrites the output first, so that an old
  // result cannot pass for a new one.
  [[nodiscard]] bool matches(const std::function<void()>& enqueue) const {
    check(cudaMemsetAsync(got_keys_.data, 0xa5, key_bytes_, stream_));
    if (has_values()) check(cudaMemsetAsync(got_values_.data, 0xa5, value_bytes_, stream_));
    enqueue();
    wait();
    return got_is_expected();
  }

  [[nodiscard]] bool opencl_matches() {
    cl_queue_->fill(cl_operands_.keys_out, 0xa5a5a5a5, key_bytes_);
    cl_plan_->run(*cl_queue_, cl_operands_);
    std::vector<char> out(std::max(key_bytes_, value_bytes_));
    cl_queue_->read(out.data(), cl_operands_.keys_out, key_bytes_);
    check(cudaMemcpy(got_keys_.data, out.data(), key_bytes_, cudaMemcpyHostToDevice));
    if (has_values()) {
      cl_queue_->read(out.data(), cl_operands_.values_out, value_bytes_);
      check(cudaMemcpy(got_values_.data, out.data(), value_bytes_, cudaMemcpyHostToDevice));
    }
    return got_is_expected();
  }

  [[nodiscard]] bool got_is_expected() const {
    return got_keys_.equals(expected_keys_) &&
           (!has_values() || got_values_.equals(expected_values_));
  }

  // Checks the results, prints a line, and returns the line's figures as JSON.
  [[nodiscard]] nlohmann::json report() {
    nlohmann::json row{{"spec", spec_.text},
                       {"count", p_.count},
                       {"algorithm", plan_.algorithm().name},
                       {"parameters", plan_.parameters()},
                       {"scratch_bytes", plan_.scratch_bytes()},
                       {"cub_temporary_bytes", radix_bytes_}};
    // With a 64-bit count, CUB compiles another kernel, which is sometimes faster. Ratios are to
    // the faster one.
    const double cub_waited = std::min(median(all_[0].waited), median(all_[1].waited));
    const double cub_device = std::min(median(all_[0].device), median(all_[1].device));
    std::string line = fmt::format("{:<28} {:<9}", spec_.text, plan_.algorithm().name);
    for (auto& c : all_) {
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
    return row;
  }

  void report_phases(nlohmann::json& row) const {
    for (const auto& phase : plan_.profile(queue_, operands_)) {
      fmt::print("    {:<10} {} launches {:9.1f} us\n", phase.name, phase.launches,
                 phase.seconds * 1e6);
      row["phases"].push_back(
          {{"name", phase.name}, {"launches", phase.launches}, {"seconds", phase.seconds}});
    }
  }

  [[nodiscard]] peers::Sort sort_into(const DeviceArray& keys, const DeviceArray& values) const {
    constexpr sortium::KeyType order[] = {sortium::KeyType::u32, sortium::KeyType::i32,
                                          sortium::KeyType::f32, sortium::KeyType::u64,
                                          sortium::KeyType::i64, sortium::KeyType::f64};
    const auto key = std::find(std::begin(order), std::end(order), p_.key) - std::begin(order);
    const auto end_bit = p_.end_bit == 0 ? sortium::info(p_.key).bits() : p_.end_bit;
    return {static_cast<peers::Key>(key),
            static_cast<unsigned>(has_values() ? p_.value_bytes : 0),
            p_.count,
            static_cast<int>(p_.begin_bit),
            static_cast<int>(end_bit),
            keys_.data,
            values_.data,
            keys.data,
            values.data};
  }

  void wait() const { check(cudaStreamSynchronize(stream_)); }
  [[nodiscard]] bool has_values() const { return p_.payload != sortium::Payload::none; }

  const Spec& spec_;
  const Options& options_;
  sortium::Queue& queue_;
  cudaStream_t stream_;
  const sortium::Problem& p_ = spec_.problem;
  const std::size_t key_bytes_ = p_.count * sortium::info(p_.key).bytes,
                    value_bytes_ = has_values() ? p_.count * p_.value_bytes : 0;
  DeviceArray keys_{key_bytes_}, values_{value_bytes_}, expected_keys_{key_bytes_},
      expected_values_{value_bytes_}, got_keys_{key_bytes_}, got_values_{value_bytes_};
  std::size_t radix_bytes_ = 0, merge_bytes_ = 0;  // of CUB's temporary memory
  std::optional<DeviceArray> temporary_;
#ifdef SORTIUM_CCCL
  std::size_t newer_bytes_[2] = {0, 0};
  std::optional<DeviceArray> newer_temporary_;
#endif

  sortium::Plan plan_;
  DeviceArray scratch_;
  sortium::Operands operands_;
  peers::Graph graph_;

  std::optional<sortium::Plan> cl_plan_;
  std::unique_ptr<sortium::Queue> cl_queue_;
  std::vector<std::unique_ptr<sortium::Buffer>> cl_buffers_;
  sortium::Operands cl_operands_;

  std::vector<Contender> all_;  // refer to the members above
};

// Compiles all kernels in parallel, and keeps them, before the first sort is timed.
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
  app.add_option("--set", set, "a set of specs: main, small, skew, bits, all (of these), or real");
  app.add_option("--json", json, "also write the results to this file");
  app.add_option("--algorithm", options.algorithm, "Sortium's algorithm");
  app.add_option("--params", options.parameters, "parameters of that algorithm");
  app.add_option("--seconds", options.seconds, "time for each spec");
  app.add_flag("--opencl", options.opencl, "also measure Sortium on NVIDIA's OpenCL");
  app.add_flag("--graph", options.graph, "also measure Sortium's sort captured in a CUDA graph");
  app.add_flag("--phases", options.phases, "print the device time of each phase of Sortium's sort");
  app.add_flag("--others", options.others, "also measure CUB's merge sort and Thrust");
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
    out["rows"].push_back(Comparison(spec, options, *queue, gpu.stream).run(opencl));
    correct = correct && out["rows"].back()["correct"];
  }
  if (!json.empty()) peers::write_json(json, out);
  return correct ? 0 : 1;
} catch (const std::exception& error) {
  fmt::print(stderr, "compare: {}\n", error.what());
  return 1;
}
