// `sortium doctor`: what a bug report needs, and what is wrong with this machine.
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sortium/sortium.hpp>
#include <string>
#include <thread>
#include <vector>

#include "bench/run.hpp"
#include "cli/command.hpp"
#include "cli/common.hpp"
#include "commit.hpp"
#include "protocol/distributions.hpp"

namespace app {

namespace {

namespace fs = std::filesystem;

// Prints the report, and collects what is wrong.
class Doctor {
 public:
  int examine() {
    describe_machine();
    describe_cache();
    examine_nvidia_files();
    examine_opencl_vendors();
    examine_backends();
    for (const auto& device : sortium::devices()) examine_device(*device);
    for (const auto& warning : sortium::warnings()) problem(warning);
    return conclude();
  }

 private:
  void problem(const std::string& text) { problems_.push_back(text); }

  static void line(const char* name, const std::string& text) {
    fmt::print("{:<18}  {}\n", name, text);
    flush_output();
  }

  static void describe_machine() {
    utsname system{};
    uname(&system);
    line("sortium", fmt::format("{}, commit {}", sortium::version(), commit));
    line("system", fmt::format("{} {} {}", system.sysname, system.release, system.machine));
    line("cores", std::to_string(std::thread::hardware_concurrency()));
    const auto pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
    line("memory", human_bytes(pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))));
    for (const char* variable :
         {"SORTIUM_DEVICE", "SORTIUM_CACHE_DIR", "SORTIUM_SELF_TEST", "SORTIUM_NVRTC",
          "SORTIUM_OPENCL_OPTIONS", "OCL_ICD_VENDORS", "CUDA_VISIBLE_DEVICES"})
      if (const char* value = std::getenv(variable)) line(variable, value);
  }

  static void describe_cache() {
    const std::string where = sortium::cache_directory();
    std::uint64_t entries = 0, bytes = 0;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(where, ignored)) {
      const auto size = entry.file_size(ignored);
      if (ignored) continue;
      ++entries;
      bytes += size;
    }
    line("kernel cache", where.empty()
                             ? "off"
                             : fmt::format("{}: {} files, {}", where, entries, human_bytes(bytes)));
  }

  // Reports an NVIDIA card without a driver, and device files that this user may not open.
  void examine_nvidia_files() {
    std::error_code ignored;
    bool has_card = false;
    for (const auto& card : fs::directory_iterator("/sys/bus/pci/devices", ignored)) {
      std::string vendor, kind;
      std::ifstream(card.path() / "vendor") >> vendor;
      std::ifstream(card.path() / "class") >> kind;
      has_card = has_card || (vendor == "0x10de" && kind.starts_with("0x03"));
    }
    const bool has_driver = fs::exists("/proc/driver/nvidia/version", ignored);
    if (has_card && !has_driver)
      problem("There is an NVIDIA card, and its kernel driver is not loaded: install the driver.");
    for (const char* file : {"/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm"})
      if (fs::exists(file, ignored) && access(file, R_OK | W_OK) != 0)
        problem(
            fmt::format("{} may not be opened by this user ({}): add the user to the file's "
                        "group.",
                        file, std::strerror(errno)));
  }

  // Tries to load the drivers' libraries that the files of OpenCL's loader name.
  void examine_opencl_vendors() {
    const char* set = std::getenv("OCL_ICD_VENDORS");
    const fs::path folder = set != nullptr ? set : "/etc/OpenCL/vendors";
    std::error_code ignored;
    for (const auto& vendor : fs::directory_iterator(folder, ignored)) {
      if (vendor.path().extension() != ".icd") continue;
      std::string library;
      std::getline(std::ifstream(vendor.path()), library);
      line("opencl driver", fmt::format("{}: {}", vendor.path().string(), library));
      // The library stays open: drivers may not survive being closed.
      if (dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL) == nullptr)
        problem(fmt::format("{} names {}, which cannot be loaded: {}", vendor.path().string(),
                            library, dlerror()));
    }
  }

  void examine_backends() {
    for (const auto& backend : sortium::backends()) {
      const auto name = sortium::name(backend.backend);
      line(std::string(name).c_str(), backend.devices != 0
                                          ? fmt::format("{} devices", backend.devices)
                                          : "no devices: " + backend.why);
      std::error_code ignored;
      if (backend.backend == sortium::Backend::cuda && backend.devices == 0 &&
          fs::exists("/dev/nvidiactl", ignored))
        problem(fmt::format("CUDA cannot be used: {}", backend.why));
    }
    if (sortium::devices().empty()) problem("No device can sort.");
  }

  void examine_device(sortium::Device& device) {
    const auto& i = device.info();
    fmt::print("\n{}  {}\n", i.id, i.name);
    line("  driver", fmt::format("{}, {}", i.platform, i.driver));
    line("  kernels", i.language);
    try {
      const auto& c = sortium::capabilities(device);
      line("  probe",
           fmt::format("sub-groups of {} lanes, {}; forward progress: {}; clusters of {}",
                       c.sub_group_size, sortium::name(c.sub_group_words),
                       c.forward_progress ? "yes" : "no", c.cluster_groups));
      line("  free memory", human_bytes(device.free_memory()));
      for (const auto payload : {sortium::Payload::none, sortium::Payload::values})
        sort_on(device, payload);
    } catch (const sortium::Error& error) {
      problem(fmt::format("{} cannot sort: {}", i.id, error.what()));
      print_error(error.log());
    }
  }

  // Sorts as a user would: the plan's self-test comes first, and the result is checked.
  void sort_on(sortium::Device& device, sortium::Payload payload) {
    sortium::Problem p;
    p.count = 1u << 22;
    p.payload = payload;
    const auto bench = make_device_bench(device.shared_from_this());
    Stopwatch watch;
    const auto make = [&](std::uint64_t first, std::uint64_t count, void* out) {
      make_keys("uniform", p.key, p.count, first, count, out);
    };
    const Measurement m = bench->measure("auto", "", {p, make, 0.3});
    line(payload == sortium::Payload::none ? "  u32 keys" : "  u32 keys, values",
         fmt::format("{:.0f} Mkey/s, {}; ready after {:.2f} s",
                     static_cast<double>(p.count) / m.seconds * 1e-6, m.correct ? "right" : "WRONG",
                     watch.lap()));
    if (!m.correct) problem(fmt::format("{} sorts wrongly.", device.info().id));
  }

  int conclude() const {
    fmt::print("\n");
    for (const auto& text : problems_) fmt::print("PROBLEM  {}\n", text);
    if (problems_.empty()) fmt::print("No problem was found.\n");
    return problems_.empty() ? exit_success : exit_runtime;
  }

  std::vector<std::string> problems_;
};

}  // namespace

void add_doctor(CLI::App& cli, Action& action) {
  auto* const command = cli.add_subcommand(
      "doctor", "Find out what is wrong: examine drivers and devices, and sort on each device");
  command->footer(
      "Takes a few seconds for each device. The output is what a report of a defect needs.\n"
      "Exits with 3 if there is a problem.\n\nExample:\n  sortium doctor");
  command->callback([&action] { action = [] { return Doctor().examine(); }; });
}

}  // namespace app
