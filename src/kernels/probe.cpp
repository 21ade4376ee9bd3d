#include "probe.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "embedded.hpp"
#include "kernels.hpp"

namespace sortium::kernels {

namespace {

constexpr unsigned work_group = 128;  // several sub-groups of every size there is
constexpr std::uint32_t atomic_rounds = 256;

// Runs a kernel whose work-items each leave 0 where they saw nothing wrong; `number` is its other
// argument.
bool nothing_wrong(Device& device, const Capabilities& c, const char* name, unsigned groups,
                   std::optional<std::uint32_t> number, unsigned local_struct = 0,
                   unsigned cluster = 1) {
  try {
    const auto kernel =
        build(device, c, embedded::probe_cl, Defines().problem({}).set("WG", work_group))
            ->kernel(name);
    const auto queue = device.make_queue();
    std::vector<std::uint32_t> wrong(groups * work_group, ~0u);
    const auto buffer = device.allocate(wrong.size() * 4);
    queue->write(buffer->memory(), wrong.data(), wrong.size() * 4);
    const Arg args[] = {buffer->memory(), number.value_or(0)};
    queue->launch({*kernel, groups, work_group, std::span(args, number ? 2 : 1), "probe",
                   local_struct, cluster});
    queue->read(wrong.data(), buffer->memory(), wrong.size() * 4);
    return std::ranges::all_of(wrong, [](auto w) { return w == 0; });
  } catch (const Error&) {
    return false;  // the compiler does not know the words, or the device failed at them
  }
}

bool work_groups_progress(Device& device, const Capabilities& c) {
  try {
    const auto module =
        build(device, c, embedded::probe_cl, Defines().problem({}).set("WG", work_group));
    const auto kernel = module->kernel("probe_progress");
    const auto queue = device.make_queue();
    const std::uint32_t groups = 8 * c.compute_units;  // more than run at once, on most devices
    std::uint32_t state[2] = {0, 0};
    const auto buffer = device.allocate(sizeof state);
    queue->write(buffer->memory(), state, sizeof state);
    const Arg args[] = {buffer->memory(), std::uint32_t{1} << 20};
    queue->launch({*kernel, groups, work_group, args, "probe"});
    queue->read(state, buffer->memory(), sizeof state);
    return state[1] == groups;
  } catch (const Error&) {
    return false;
  }
}

struct Kept {
  std::uint32_t words, size, progress, ordered, cluster;
};

}  // namespace

Capabilities probe(Device& device) {
  Capabilities c = device.info().claimed;
  if (c.sub_group_words != SubGroupWords::emulated &&
      (c.max_work_group < work_group || !nothing_wrong(device, c, "probe_words", 4, {}))) {
    c.sub_group_words = SubGroupWords::emulated;
    c.sub_group_size = Capabilities{}.sub_group_size;
  }
  c.forward_progress = c.max_work_group >= work_group && work_groups_progress(device, c);
  // Only where sub-groups run in step does the question make sense; 30 million draws on a GPU take
  // a millisecond.
  c.ordered_local_atomics =
      c.kind == DeviceKind::gpu && c.sub_group_words != SubGroupWords::emulated &&
      nothing_wrong(device, c, "probe_atomic_order", 8 * c.compute_units, atomic_rounds);
  // With as much local memory as there is, so that each needs a compute unit of its own; parts of a
  // chip may have too few.
  while (c.cluster_groups > 1 &&
         !nothing_wrong(device, c, "probe_cluster", c.cluster_groups, c.cluster_groups,
                        static_cast<unsigned>(c.local_struct), c.cluster_groups))
    c.cluster_groups /= 2;
  return c;
}

std::vector<std::byte> keep(const Capabilities& found) {
  const Kept k{static_cast<std::uint32_t>(found.sub_group_words), found.sub_group_size,
               found.forward_progress, found.ordered_local_atomics, found.cluster_groups};
  std::vector<std::byte> out(sizeof k);
  std::memcpy(out.data(), &k, sizeof k);
  return out;
}

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

}  // namespace sortium::kernels
