#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "../core/environment.hpp"
#include "backends.hpp"

namespace sortium {

namespace {

// Finds only the host, so that a caller who wants cpu:0 need not wait until drivers have started.
const backend::Found& host() {
  static const backend::Found& found = *new backend::Found(backend::find_host());
  return found;
}

struct Machine {
  backend::Found cuda = backend::find_cuda();
  backend::Found opencl = backend::find_opencl();
  std::vector<std::shared_ptr<Device>> all;
  Machine() {
    all = cuda.devices;
    all.insert(all.end(), opencl.devices.begin(), opencl.devices.end());
    all.insert(all.end(), host().devices.begin(), host().devices.end());
  }
};

const Machine& machine() {
  // Never destroyed: drivers shut down at exit in an order of their own.
  static const Machine& found = *new Machine;
  return found;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

[[noreturn]] void no_such_device(std::string_view spec) {
  std::string have;
  for (const auto& d : machine().all)
    have += fmt::format("\n  {:<12} {}", d->info().id, d->info().name);
  if (have.empty())
    have = fmt::format(" none (CUDA: {}; OpenCL: {}; cpu: {})", machine().cuda.why_none,
                       machine().opencl.why_none, host().why_none);
  const bool is_list = spec.find_first_of(",*") != spec.npos;
  throw Error(ErrorCode::not_found,
              fmt::format("no device '{}'; {}allowed are auto, cuda:N, opencl:N, "
                          "opencl:PLATFORM:DEVICE, cpu:0, or part of a name of:{}",
                          spec, is_list ? "only sorts of host memory take lists; " : "", have));
}

// Rank of a device for "auto"; the lowest wins.
int rank(const Device& device) {
  const auto& c = device.info().claimed;
  if (c.kind == DeviceKind::gpu) return c.backend == Backend::cuda ? 0 : 1;
  if (c.backend == Backend::host) return 2;
  return c.kind == DeviceKind::cpu ? 3 : 4;
}

std::shared_ptr<Device> best(bool runs_kernels) {
  std::shared_ptr<Device> found;
  for (const auto& d : machine().all) {
    if (runs_kernels && d->info().claimed.backend == Backend::host) continue;
    if (!found || rank(*d) < rank(*found)) found = d;
  }
  if (!found)
    throw Error(
        ErrorCode::not_found,
        fmt::format("there is no device{} (CUDA: {}; OpenCL: {}{})",
                    runs_kernels ? " that runs kernels" : "", machine().cuda.why_none,
                    machine().opencl.why_none, runs_kernels ? "" : "; cpu: " + host().why_none));
  return found;
}

}  // namespace

std::string_view name(Backend backend) {
  switch (backend) {
    case Backend::cuda:
      return "cuda";
    case Backend::host:
      return "cpu";
    default:
      return "opencl";
  }
}

std::string_view name(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::gpu:
      return "gpu";
    case DeviceKind::cpu:
      return "cpu";
    default:
      return "accelerator";
  }
}

std::string_view name(SubGroupWords words) {
  switch (words) {
    case SubGroupWords::khr:
      return "khr";
    case SubGroupWords::ptx:
      return "ptx";
    case SubGroupWords::cuda:
      return "cuda";
    default:
      return "emulated";
  }
}

const std::vector<std::shared_ptr<Device>>& devices() { return machine().all; }

std::vector<BackendStatus> backends() {
  const auto& m = machine();
  return {{Backend::cuda, m.cuda.devices.size(), m.cuda.why_none},
          {Backend::opencl, m.opencl.devices.size(), m.opencl.why_none},
          {Backend::host, host().devices.size(), host().why_none}};
}

void Queue::call(std::string_view, const std::function<void()>&) {
  throw Error(ErrorCode::unsupported,
              fmt::format("{} runs only kernels, not functions of the host", device().info().id));
}

void Queue::write_all(Memory to, std::span<const HostSource> from) {
  for (std::uint64_t at = 0; const auto& piece : from) {
    write(to.slice(at, piece.bytes), piece.data, piece.bytes);
    at += piece.bytes;
  }
}

void Queue::read_all(std::span<const HostTarget> to, Memory from) {
  for (std::uint64_t at = 0; const auto& piece : to) {
    read(piece.data, from.slice(at, piece.bytes), piece.bytes);
    at += piece.bytes;
  }
}

std::shared_ptr<Device> find_device(std::string_view spec, bool runs_kernels) {
  if (spec.empty()) {
    const char* set = environment("SORTIUM_DEVICE");
    spec = set && *set ? set : "auto";
  }
  if (spec == "auto") return best(runs_kernels);
  const auto is_part_of_a_name = [](unsigned char c) { return std::isalnum(c) != 0; };
  if (std::ranges::none_of(spec, is_part_of_a_name))
    no_such_device(spec);  // such as ' ', which every name contains
  const std::string wanted = lower(spec);
  if (wanted == "cpu:0" && !host().devices.empty()) return host().devices.front();
  const auto& all = machine().all;
  for (const auto& d : all)
    if (d->info().id == wanted) return d;
  // In "opencl:N", N counts the devices of all OpenCL platforms.
  if (wanted.starts_with("opencl:") && wanted.size() > 7 &&
      std::all_of(wanted.begin() + 7, wanted.end(),
                  [](unsigned char c) { return std::isdigit(c); })) {
    const auto& cl = machine().opencl.devices;
    const auto n = std::strtoul(wanted.c_str() + 7, nullptr, 10);
    if (n < cl.size()) return cl[n];
    no_such_device(spec);
  }
  for (const auto& d : all)
    if (lower(d->info().name) == wanted) return d;
  for (const auto& d : all)
    if (lower(d->info().name).find(wanted) != std::string::npos) return d;
  no_such_device(spec);
}

bool backend::names_device(const std::string& device) {
  if (!device.empty()) return device != "auto";
  const char* const set = environment("SORTIUM_DEVICE");
  return set != nullptr && *set != '\0' && std::string_view(set) != "auto";
}

std::shared_ptr<Device> backend::device_near(const std::string& name) {
#ifdef SORTIUM_WITH_HOST
  if (!names_device(name)) return find_device("cpu:0");
#endif
  return find_device(name);
}

std::shared_ptr<Device> backend::find_compiling_device() {
  std::shared_ptr<Device> best;
  for (const auto& device : devices()) {  // in the order CUDA, OpenCL, cpu:0
    const auto& d = device->info();
    if (!d.claimed.compiles) continue;
    if (d.claimed.kind == DeviceKind::gpu) return device;
    if (best == nullptr || d.claimed.backend == Backend::host) best = device;
  }
  return best;
}

}  // namespace sortium
