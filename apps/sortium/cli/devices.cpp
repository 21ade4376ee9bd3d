// `sortium devices`: lists devices, builds their kernels, tests them.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>
#include <mutex>
#include <sortium/sortium.hpp>
#include <system_error>
#include <thread>

#include "cli/command.hpp"
#include "cli/common.hpp"
#include "cli/progress.hpp"

namespace app {

namespace {

void print_capabilities(const sortium::Capabilities& c) {
  fmt::print("  kind              {}, {} compute units\n", sortium::name(c.kind), c.compute_units);
  fmt::print("  memory            {}, largest buffer {}\n", human_bytes(c.global_memory),
             human_bytes(c.max_allocation));
  fmt::print("  work-groups       up to {} work-items, {} of local memory\n", c.max_work_group,
             human_bytes(c.local_memory));
  fmt::print("  sub-groups        {} lanes, {}\n", c.sub_group_size,
             sortium::name(c.sub_group_words));
  fmt::print("  64-bit atomics    {}\n", c.atomics64 ? "yes" : "no");
  fmt::print("  forward progress  {}\n", c.forward_progress ? "yes" : "no");
  if (c.cluster_groups > 1)
    fmt::print("  clusters          up to {} work-groups\n", c.cluster_groups);
}

void print_times(sortium::Device& device) {
  std::string line;
  for (const auto& [count, seconds] : sortium::host_sort_times(device))
    line += fmt::format("{}2^{} in {:.3g} ms", line.empty() ? "" : ", ", std::bit_width(count) - 1,
                        seconds * 1e3);
  fmt::print("  host memory       {}\n",
             line.empty() ? "cannot be sorted" : "sorts u32 keys: " + line);
}

// Returns false if the device cannot be used.
bool print_device(sortium::Device& device, bool is_auto) {
  const auto& i = device.info();
  fmt::print("{}  {}{}\n", i.id, i.name, is_auto ? "  (auto)" : "");
  fmt::print("  vendor            {}\n  platform          {}\n", i.vendor, i.platform);
  fmt::print("  driver            {}\n  kernels           {}\n", i.driver, i.language);
  try {
    print_capabilities(sortium::capabilities(device));
    print_times(device);
    return true;
  } catch (const sortium::Error& error) {
    fmt::print("  cannot be used: {}\n", error.what());
    print_error(error.log());
    return false;
  }
}

int list_devices() {
  const auto& all = sortium::devices();
  const std::string best = all.empty() ? "" : sortium::find_device("auto")->info().id;
  int code = exit_success;
  for (const auto& device : all)
    if (!print_device(*device, device->info().id == best)) code = exit_runtime;
  for (const auto& backend : sortium::backends())
    if (backend.devices == 0)
      fmt::print("{}  no devices: {}\n", sortium::name(backend.backend), backend.why);
  return code;
}

// ---------------------------------------------------------------------------------------------
// --warm
// ---------------------------------------------------------------------------------------------

// One problem for each set of kernels that a sort with default options may need.
std::vector<sortium::Problem> default_problems() {
  using sortium::Payload;
  std::vector<sortium::Problem> out;
  for (const auto key : sortium::all_key_types)
    for (const auto order : {sortium::Order::ascending, sortium::Order::descending})
      for (const auto& [payload, bytes] : {std::pair{Payload::none, 4u},
                                           {Payload::values, 4u},
                                           {Payload::values, 8u},
                                           {Payload::positions, 4u}})
        // At least one number of records for each algorithm that `auto` selects.
        for (const unsigned log2_count : {12, 20, 24, 28}) {
          sortium::Problem p;
          p.key = key;
          p.order = order;
          p.payload = payload;
          p.value_bytes = bytes;
          p.keys_out = payload != Payload::positions;
          p.count = std::uint64_t{1} << log2_count;
          out.push_back(p);
        }
  return out;
}

// Builds the kernels of all problems, on all cores. Returns an error's message; empty: none.
std::string build_kernels(const std::shared_ptr<sortium::Device>& device,
                          const std::vector<sortium::Problem>& problems, Progress& progress) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::string failure;
  const auto work = [&] {
    for (std::size_t i; (i = next++) < problems.size();) {
      try {
        (void)sortium::Plan(device, problems[i]);
      } catch (const sortium::Error& e) {
        const std::lock_guard lock(mutex);
        failure = e.what();
      }
      progress.advance(1);
    }
  };
  std::vector<std::jthread> threads;
  try {
    for (unsigned t = 1; t < std::thread::hardware_concurrency(); ++t) threads.emplace_back(work);
  } catch (const std::system_error&) {  // no more threads: those that run do all
  }
  work();
  threads.clear();  // joins
  return failure;
}

int warm_devices() {
  const auto problems = default_problems();
  int code = exit_success;
  for (const auto& device : sortium::devices()) {
    const auto& i = device->info();
    if (i.claimed.backend == sortium::Backend::host) continue;
    Progress progress(true);
    progress.phase(fmt::format("building kernels for {}", i.id), problems.size());
    Stopwatch watch;
    const std::string failure = build_kernels(device, problems, progress);
    progress.finish();
    if (failure.empty()) {
      fmt::print("{}  {}: built the kernels of {} kinds of default sorts in {:.1f} s\n", i.id,
                 i.name, problems.size(), watch.lap());
    } else {
      fmt::print("{}  {}: {}\n", i.id, i.name, failure);
      code = exit_runtime;
    }
    flush_output();
  }
  return code;
}

// ---------------------------------------------------------------------------------------------
// --self-test
// ---------------------------------------------------------------------------------------------

// What the self-tests of one algorithm found.
struct Tested {
  std::string algorithm, absent;  // `absent`: why the device does not support it
  unsigned passed = 0, all = 0;

  void print() const {
    if (!algorithm.empty())
      fmt::print("  {:<18} {}\n", algorithm,
                 all != 0 ? fmt::format("{} of {} passed", passed, all) : absent);
  }
};

// Returns false if a test failed.
bool self_test_device(sortium::Device& device) {
  const auto& i = device.info();
  fmt::print("{}  {}, driver {}\n", i.id, i.name, i.driver);
  bool passed = true;
  Tested tested;
  for (const auto& test : sortium::self_test(device)) {
    if (test.algorithm != tested.algorithm) {
      tested.print();
      tested = {test.algorithm, {}, 0, 0};
    }
    if (!test.supported) {
      tested.absent = "not on this device: " + test.failure;
      continue;
    }
    ++tested.all;
    if (test.failure.empty()) {
      ++tested.passed;
    } else {
      print_error(fmt::format("{}: {} FAILED: {}", i.id, test.algorithm, test.failure));
      passed = false;
    }
  }
  tested.print();
  return passed;
}

int self_test_devices() {
  int code = exit_success;
  for (const auto& device : sortium::devices())
    if (!self_test_device(*device)) code = exit_runtime;
  return code;
}

}  // namespace

void add_devices(CLI::App& cli, Action& action) {
  struct Options {
    bool warm = false, self_test = false;
  };
  const auto o = std::make_shared<Options>();
  auto* const command = cli.add_subcommand("devices", "List all devices and their capabilities");
  command->add_flag("--warm", o->warm,
                    "Build the kernels of default sorts for every device and keep them, so that "
                    "later sorts do not wait for a compiler");
  command
      ->add_flag("--self-test", o->self_test,
                 "Run small sorts with known results through every algorithm of every device")
      ->excludes("--warm");
  command->footer(
      "Examples:\n  sortium devices\n  sortium devices --warm\n  sortium devices --self-test");
  command->callback([o, &action] {
    action = o->warm ? warm_devices : o->self_test ? self_test_devices : list_devices;
  });
}

}  // namespace app
