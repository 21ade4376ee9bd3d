#include "probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <sortium/capabilities.hpp>

#include "device_modules.hpp"
#include "embedded.hpp"
#include "kernels.hpp"

namespace sortium::kernels {

namespace {

constexpr unsigned work_group = 128;  // several sub-groups, whatever their size
constexpr std::uint32_t atomic_rounds = 256;
// Mesa's llvmpipe ends loops after 65535 rounds. A simulator still runs this many in a second.
constexpr std::uint32_t loop_rounds = 100'000;

std::shared_ptr<Module> build_probe(Device& device, const Capabilities& c) {
  // Declare all local memory, so that each work-group of a cluster needs a compute unit of its own.
  return build(device, c, embedded::probe_cl,
               Defines()
                   .problem({})
                   .set("WG", work_group)
                   .local_struct("probe_cluster_memory_t", c.local_struct));
}

// Runs the kernel `name`. Returns true if every work-item stores 0 in its first argument, `wrong`;
// `more` are the other arguments.
bool stores_zeros(Device& device, const Capabilities& c, const char* name, unsigned groups,
                  const std::vector<Arg>& more, unsigned cluster = 1) {
  const auto kernel = build_probe(device, c)->kernel(name);
  const auto queue = device.make_queue();
  std::vector<std::uint32_t> wrong(groups * work_group, ~0u);
  const auto buffer = device.allocate(wrong.size() * 4);
  queue->write(buffer->memory(), wrong.data(), wrong.size() * 4);
  std::vector<Arg> args{{"wrong", buffer->memory()}};
  args.insert(args.end(), more.begin(), more.end());
  queue->launch({*kernel, groups, work_group, args, "probe", cluster});
  queue->read(wrong.data(), buffer->memory(), wrong.size() * 4);
  return std::ranges::all_of(wrong, [](auto w) { return w == 0; });
}

// The same, for what a device need not have: returns false if the kernel cannot run.
bool nothing_wrong(Device& device, const Capabilities& c, const char* name, unsigned groups,
                   const std::vector<Arg>& more, unsigned cluster = 1) {
  try {
    return stores_zeros(device, c, name, groups, more, cluster);
  } catch (const Error& e) {
    if (e.code() == ErrorCode::invalid_argument)
      throw;       // a mismatch of host and kernel: our own error
    return false;  // the compiler does not support the words, or the device failed
  }
}

// Returns false if the device ends long loops too early: it would sort long lists wrongly, and a
// self-test of few records would not see it. A device that has no kernel of the probe is not asked.
bool ends_loops_in_time(Device& device, const Capabilities& c) {
  std::uint32_t last = 1;
  for (std::uint32_t round = 0; round < loop_rounds; ++round) {
    last = last * 1664525u + 1013904223u;
    last ^= last >> 15;
  }
  try {
    return stores_zeros(device, c, "probe_loop", 1, {{"rounds", loop_rounds}, {"last", last}});
  } catch (const Error& e) {
    if (e.code() != ErrorCode::build_failed && e.code() != ErrorCode::unsupported) throw;
    return true;
  }
}

bool work_groups_progress(Device& device, const Capabilities& c) {
  try {
    const auto module = build_probe(device, c);
    const auto kernel = module->kernel("probe_progress");
    const auto queue = device.make_queue();
    const std::uint32_t groups = 8 * c.compute_units;  // more than most devices run concurrently
    std::uint32_t state[2] = {0, 0};
    const auto buffer = device.allocate(sizeof state);
    queue->write(buffer->memory(), state, sizeof state);
    const Arg args[] = {{"state", buffer->memory()}, {"spins", std::uint32_t{1} << 20}};
    queue->launch({*kernel, groups, work_group, args, "probe"});
    queue->read(state, buffer->memory(), sizeof state);
    return state[1] == groups;
  } catch (const Error& e) {
    if (e.code() == ErrorCode::invalid_argument) throw;
    return false;
  }
}

// The probe's results as the cache stores them.
struct Kept {
  std::uint32_t words, size, progress, ordered, cluster;
};

std::vector<std::byte> keep(const Capabilities& found) {
  const Kept k{static_cast<std::uint32_t>(found.sub_group_words), found.sub_group_size,
               found.forward_progress, found.ordered_local_atomics, found.cluster_groups};
  std::vector<std::byte> out(sizeof k);
  std::memcpy(out.data(), &k, sizeof k);
  return out;
}

// Returns false if the bytes are not from keep().
bool restore(std::span<const std::byte> kept, Capabilities& found) {
  Kept k{};
  if (kept.size() != sizeof k) return false;
  std::memcpy(&k, kept.data(), sizeof k);
  found.sub_group_words = static_cast<SubGroupWords>(k.words);
  found.sub_group_size = k.size;
  found.forward_progress = k.progress != 0;
  found.ordered_local_atomics = k.ordered != 0;
  found.cluster_groups = k.cluster;
  return true;
}

}  // namespace

Capabilities probe(Device& device) {
  Capabilities c = device.info().claimed;
  if (c.sub_group_words != SubGroupWords::emulated &&
      (c.max_work_group < work_group || !nothing_wrong(device, c, "probe_words", 4, {}))) {
    c.sub_group_words = SubGroupWords::emulated;
    c.sub_group_size = Capabilities{}.sub_group_size;
  }
  if (c.max_work_group >= work_group && !ends_loops_in_time(device, c))
    throw Error(ErrorCode::unsupported,
                fmt::format("{}, {}, ends loops of {} rounds too early, so it would sort wrongly; "
                            "another driver may work",
                            device.info().name, device.info().id, loop_rounds));
  c.forward_progress = c.max_work_group >= work_group && work_groups_progress(device, c);
  // Additions can have a lane order only if the lanes of a sub-group run in lockstep. The test's 30
  // million additions take a GPU one millisecond.
  c.ordered_local_atomics = c.kind == DeviceKind::gpu &&
                            c.sub_group_words != SubGroupWords::emulated &&
                            nothing_wrong(device, c, "probe_atomic_order", 8 * c.compute_units,
                                          {{"rounds", atomic_rounds}});
  // On some chips no part has enough compute units for the largest cluster.
  while (c.cluster_groups > 1 &&
         !nothing_wrong(device, c, "probe_cluster", c.cluster_groups,
                        {{"groups", std::uint32_t{c.cluster_groups}}}, c.cluster_groups))
    c.cluster_groups /= 2;
  return c;
}

}  // namespace sortium::kernels

namespace sortium {

const Capabilities& capabilities(Device& device) {
  if (device.info().claimed.backend == Backend::host)
    return device.info().claimed;  // cpu:0 runs no kernels, so there is nothing to probe
  auto& m = kernels::modules(device);
  std::call_once(m.probed, [&] {
    const std::string key =
        "probe\n" + kernels::device_key(device) + std::string(kernels::embedded::probe_cl.text);
    std::vector<std::byte> kept;
    m.found = device.info().claimed;
    if (!kernels::cache::load(key, kept) || !kernels::restore(kept, m.found)) {
      m.found = kernels::probe(device);
      kernels::cache::store(key, kernels::keep(m.found));
    }
    // Emulated sub-groups exchange values through a word for each work-item, beside a kernel's
    // struct (SUB_GROUP in dialect_opencl.h).
    const std::uint64_t words = std::min(m.found.max_work_group, 1024u);
    if (m.found.sub_group_words == SubGroupWords::emulated)
      m.found.local_struct -= std::min(m.found.local_struct / 2, 4 * words);
  });
  return m.found;
}

std::string cache_directory() { return kernels::cache::directory(); }

}  // namespace sortium
