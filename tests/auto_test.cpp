// The choice of "auto" for a table of problems and devices. To change a choice on purpose, change a
// line of auto_choices.txt; the failure prints the new line.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "algorithms/algorithm.hpp"
#include "switch_points.hpp"

namespace sortium::test {
namespace {

const std::map<std::string, Capabilities>& table_devices() {
  static const std::map<std::string, Capabilities> all = [] {
    Capabilities hopper{.backend = Backend::cuda,
                        .compute_units = 132,
                        .max_work_group = 1024,
                        .local_memory = 49152,
                        .local_struct = 232448,
                        .global_memory = std::uint64_t{140} << 30,
                        .max_allocation = std::uint64_t{140} << 30,
                        .atomics64 = true,
                        .sub_group_words = SubGroupWords::cuda,
                        .sub_group_size = 32,
                        .forward_progress = true,
                        .cluster_groups = 16,
                        .ordered_local_atomics = true};
    std::map<std::string, Capabilities> out{{"cuda-clusters", hopper}};
    auto ampere = hopper;
    ampere.compute_units = 108;
    ampere.local_struct = 166912;
    ampere.cluster_groups = 1;
    out["cuda"] = ampere;
    auto opencl = hopper;
    opencl.backend = Backend::opencl;
    opencl.local_struct = 49152;
    opencl.sub_group_words = SubGroupWords::ptx;
    opencl.cluster_groups = 1;
    out["opencl-nvidia"] = opencl;
    auto wide = opencl;
    wide.sub_group_words = SubGroupWords::khr;
    wide.sub_group_size = 64;
    wide.compute_units = 60;
    wide.local_memory = wide.local_struct = 65536;
    wide.ordered_local_atomics = false;
    out["opencl-64-lanes"] = wide;
    auto waits = wide;
    waits.forward_progress = false;
    waits.max_work_group = 256;
    waits.local_memory = waits.local_struct = 32768;
    out["opencl-no-progress"] = waits;
    auto cpu = waits;
    cpu.kind = DeviceKind::cpu;
    cpu.compute_units = 8;
    cpu.max_work_group = 4096;
    cpu.sub_group_words = SubGroupWords::emulated;
    cpu.sub_group_size = 32;
    cpu.local_memory = cpu.local_struct = 524288;
    out["opencl-cpu"] = cpu;
#ifdef SORTIUM_WITH_HOST
    auto host = cpu;
    host.backend = Backend::host;
    out["host"] = host;
#endif
    return out;
  }();
  return all;
}

const std::map<std::string, Problem>& table_problems() {
  using enum KeyType;
  constexpr auto none = Payload::none, values = Payload::values, positions = Payload::positions;
  static const std::map<std::string, Problem> all{
      {"u32", {.key = u32, .payload = none}},
      {"u32+4", {.key = u32, .payload = values, .value_bytes = 4}},
      {"u32+8", {.key = u32, .payload = values, .value_bytes = 8}},
      {"i64", {.key = i64, .payload = none}},
      {"u64+8", {.key = u64, .payload = values, .value_bytes = 8}},
      {"f32", {.key = f32, .payload = none}},
      {"f64-positions", {.key = f64, .payload = positions, .value_bytes = 4, .keys_out = false}},
      {"u8", {.key = u8, .payload = none}},
      {"u16+4", {.key = u16, .payload = values, .value_bytes = 4}},
      {"f16", {.key = f16, .payload = none}},
      {"u32-16-bits", {.key = u32, .payload = none, .begin_bit = 8, .end_bit = 24}},
      {"u32-22-bits+4", {.key = u32, .payload = values, .end_bit = 22}},
      {"u32-24-bits+4", {.key = u32, .payload = values, .end_bit = 24}},
      {"segments", {.key = u32, .payload = values, .segments = 7}},
      {"first", {.key = f32, .payload = values, .limit = 1}},
      {"first-of-segments", {.key = f32, .payload = none, .segments = 7, .limit = 1}},
  };
  return all;
}

std::string choices(Problem problem, const Capabilities& device, std::uint64_t ceiling = 0) {
  const auto name = [&](std::uint64_t count) -> std::string {
    problem.count = count;
    try {
      return plan_auto(problem, device, ceiling).algorithm->info().name;
    } catch (const Error& e) {
      return std::string(sortium::name(e.code()));
    }
  };
  std::string out;
  for (const auto& [first, choice] : runs_of(name, std::uint64_t{1} << 34))
    out += fmt::format(" {} {}", first, choice);
  return out;
}

// Returns the expected lines: "DEVICE PROBLEM FIRST ALGORITHM FIRST ALGORITHM …". ALGORITHM is
// chosen from FIRST records on.
std::map<std::string, std::string> expected() {
  std::ifstream file(SORTIUM_AUTO_CHOICES);
  std::map<std::string, std::string> out;
  for (std::string line; std::getline(file, line);) {
    const auto end = line.find(' ', line.find(' ') + 1);
    out.emplace(line.substr(0, end), line.substr(end));
  }
  return out;
}

TEST(Auto, ChoosesAsTheTableSays) {
  const auto table = expected();
  std::size_t lines = 0;
  const auto check = [&](const std::string& what, const std::string& is) {
    const auto line = table.find(what);
    EXPECT_EQ(what + (line == table.end() ? " (no line)" : line->second), what + is);
    ++lines;
  };
  for (const auto& [device_name, device] : table_devices()) {
    for (const auto& [problem_name, problem] : table_problems())
      check(device_name + ' ' + problem_name, choices(problem, device));
    check(device_name + " u32+4-ceiling-2^20",
          choices(table_problems().at("u32+4"), device, 1 << 20));
  }
#ifdef SORTIUM_WITH_HOST
  EXPECT_EQ(lines, table.size()) << "lines that no problem and device has";
#endif
}

// If an algorithm fails its self-test, auto takes the next one; in the end none is left.
TEST(Auto, TakesTheNextOne) {
  std::vector<const Algorithm*> failed;
  std::string taken;
  for (;;) {
    try {
      const auto planned = plan_auto({.key = KeyType::u32, .count = 1000},
                                     table_devices().at("cuda-clusters"), 0, failed);
      taken += planned.algorithm->info().name + ' ';
      failed.push_back(planned.algorithm);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::unsupported);
      break;
    }
  }
  EXPECT_EQ(taken, "one-group one-cluster msd onesweep lsd merge ");
}

}  // namespace
}  // namespace sortium::test
