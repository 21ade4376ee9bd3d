// `sortium devices` and `sortium algorithms`: what there is.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <sortium/sortium.hpp>
#include <thread>

#include "cli/commands.hpp"
#include "cli/common.hpp"
#include "io/host_sort.hpp"

namespace app {

int devices() {
  std::string best;
  if (!sortium::devices().empty()) best = sortium::find_device("auto")->info().id;
  int code = exit_success;
  for (const auto& device : sortium::devices()) {
    const auto& i = device->info();
    fmt::print("{}  {}{}\n", i.id, i.name, i.id == best ? "  (auto)" : "");
    fmt::print(
        "  vendor            {}\n  platform          {}\n  driver            {}\n  kernels         "
        "  {}\n",
        i.vendor, i.platform, i.driver, i.language);
    try {
      const auto& c = sortium::capabilities(*device);
      fmt::print("  kind              {}, {} compute units\n", sortium::name(c.kind),
                 c.compute_units);
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
    } catch (const sortium::Error& error) {
      fmt::print("  cannot be used: {}\n", error.what());
      if (!error.log().empty()) fmt::print(stderr, "{}\n", error.log());
      code = exit_runtime;
    }
  }
  for (const auto& backend : sortium::backends())
    if (backend.devices == 0)
      fmt::print("{}  no devices: {}\n", sortium::name(backend.backend), backend.why);
  return code;
}

int warm() {
  using sortium::Payload;
  std::vector<sortium::Problem> problems;
  for (const auto key : sortium::all_key_types)
    for (const auto order : {sortium::Order::ascending, sortium::Order::descending})
      for (const auto& [payload, bytes] : {std::pair{Payload::none, 4u},
                                           {Payload::values, 4u},
                                           {Payload::values, 8u},
                                           {Payload::positions, 4u}})
        for (const unsigned log2_count :
             {12, 20, 24, 28}) {  // small, and each size that `auto` treats in its own way
          sortium::Problem p;
          p.key = key;
          p.order = order;
          p.payload = payload;
          p.value_bytes = bytes;
          p.keys_out = payload != Payload::positions;
          p.count = std::uint64_t{1} << log2_count;
          problems.push_back(p);
        }
  int code = exit_success;
  for (const auto& device : sortium::devices()) {
    if (device->info().claimed.backend == sortium::Backend::host) continue;
    Stopwatch watch;
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
      }
    };
    {
      std::vector<std::jthread> threads;
      for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t)
        threads.emplace_back(work);
    }
    if (failure.empty()) {
      fmt::print(
          "{}  {}: the kernels of {} kinds of default sorts are built and kept, in {:.1f} s\n",
          device->info().id, device->info().name, problems.size(), watch.lap());
    } else {
      fmt::print("{}  {}: {}\n", device->info().id, device->info().name, failure);
      code = exit_runtime;
    }
  }
  return code;
}

int self_test() {
  int code = exit_success;
  for (const auto& device : sortium::devices()) {
    fmt::print("{}  {}, driver {}\n", device->info().id, device->info().name,
               device->info().driver);
    std::string name, absent;
    unsigned passed = 0, all = 0;
    const auto report = [&] {
      if (!name.empty())
        fmt::print("  {:<18} {}\n", name,
                   all != 0 ? fmt::format("{} of {} passed", passed, all) : absent);
      passed = all = 0;
    };
    for (const auto& test : sortium::self_test(*device)) {
      if (test.algorithm != name) report();
      name = test.algorithm;
      absent = test.supported ? "" : "not on this device: " + test.failure;
      all += test.supported;
      passed += test.supported && test.failure.empty();
      if (!test.supported || test.failure.empty()) continue;
      fmt::print(stderr, "{}: {} FAILED: {}\n", device->info().id, test.algorithm, test.failure);
      code = exit_runtime;
    }
    report();
  }
  return code;
}

int algorithms() {
  fmt::print("auto\n  the best for the records and the device\n");
  for (const auto& a : sortium::algorithms()) {
    fmt::print("{}\n  {}\n", a.name, a.title);
    fmt::print("  {}{}{}{}{}{}\n", a.stable ? "stable" : "not stable",
               a.comparison ? ", by comparison" : "", a.quadratic ? ", O(N^2)" : "",
               a.partial ? ", partial: leaves sorted runs, not one sorted whole" : "",
               a.host ? ", for cpu:0" : "", a.segments ? ", for segments" : "");
    fmt::print("  cost: {}\n  from: {}\n", a.cost, a.source);
    if (!a.parameters.empty()) fmt::print("  parameters:\n");
    for (const auto& p : a.parameters)
      fmt::print("    {:<12} {}; {}\n", p.name, p.meaning,
                 p.choices.empty() ? fmt::format("{} to {}", p.minimum, p.maximum)
                                   : fmt::format("{}", fmt::join(p.choices, ", ")));
  }
  for (const auto& peer : peers())
    fmt::print("{}\n  {}; to compare with\n  {}{}\n", peer.name, peer.title,
               peer.stable ? "stable" : "not stable",
               peer.records ? " (with values or positions: stable)" : "");
  return exit_success;
}

void check_algorithm(const std::string& name) {
  if (name == "auto" || find_peer(name) != nullptr) return;
  std::string names = "auto";
  for (const auto& a : sortium::algorithms()) {
    if (a.name == name) return;
    names += ", " + a.name;
  }
  for (const auto& peer : peers()) names += fmt::format(", {}", peer.name);
  throw Failure(exit_usage, fmt::format("--algorithm {}: there is no such algorithm; there are {}",
                                        name, names));
}

}  // namespace app
