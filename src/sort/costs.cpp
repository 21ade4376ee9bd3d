#include "costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <sortium/records.hpp>

#include "../kernels/kernels.hpp"
#include "host.hpp"
#include "ranges.hpp"

namespace sortium::costs {

std::string Kind::text() const {
  return fmt::format("key {} few_bits {} payload {} value {} record {}", key_bytes, few_bits,
                     static_cast<int>(payload), value_bytes, record_bytes);
}

Kind kind_of(const Problem& p) {
  const unsigned bytes = info(p.key).bytes;
  return {.key_bytes = bytes,
          .few_bits = bytes > 2 && key_bits(p) <= 16,
          .payload = p.payload,
          .value_bytes = p.payload == Payload::none ? 0 : p.value_bytes};
}

Kind kind_of_records(std::uint64_t bytes) {
  return {.key_bytes = 8,
          .record_bytes =
              static_cast<unsigned>(std::bit_ceil(std::clamp<std::uint64_t>(bytes, 8, 256)))};
}

bool are_plausible(const Times& times) {
  constexpr double most = 60;
  return std::ranges::all_of(times, [](double t) { return t > 0 && t < most; }) &&
         std::ranges::is_sorted(times);
}

double seconds(const Times& times, std::uint64_t count) {
  std::size_t i = 0;
  while (i + 2 < counts.size() && count > counts[i + 1]) ++i;
  const auto at = [](std::uint64_t n) { return static_cast<double>(n); };
  const double slope = (times[i + 1] - times[i]) / at(counts[i + 1] - counts[i]);
  return std::max(0.0, times[i] + slope * (at(count) - at(counts[i])));
}

std::size_t fastest(std::span<const Candidate> candidates, std::uint64_t count) {
  std::size_t best = 0;
  double least = INFINITY;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto& c = candidates[i];
    if (!c.times) continue;
    const double time = seconds(*c.times, count) * (c.in_ranges ? 2 : 1);
    if (time < least) best = i, least = time;
  }
  return best;
}

Times measure(const Sort& prepare, const Sort& sort) {
  Times times{};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    times[i] = INFINITY;
    for (int repetition = 0; repetition < 2; ++repetition) {
      prepare(counts[i]);
      Stopwatch watch;
      sort(counts[i]);
      times[i] = std::min(times[i], watch.lap());
    }
  }
  for (std::size_t i = 1; i < counts.size(); ++i) times[i] = std::max(times[i], times[i - 1]);
  return times;
}

namespace {

// Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (2014).
void fill_with_random(std::vector<std::uint64_t>& words, std::uint64_t bytes) {
  words.resize((bytes + 7) / 8);
  std::uint64_t state = bytes;
  for (auto& word : words) {
    std::uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    word = z ^ (z >> 31);
  }
}

Times measure_keys(const std::string& device, const Kind& kind) {
  std::vector<std::uint64_t> keys, values;
  Problem p{.key = kind.key_bytes == 1   ? KeyType::u8
                   : kind.key_bytes == 2 ? KeyType::u16
                   : kind.key_bytes == 4 ? KeyType::u32
                                         : KeyType::u64,
            .payload = kind.payload,
            .keys_out = kind.payload != Payload::positions,
            .end_bit = kind.few_bits ? 16u : 0};
  if (kind.value_bytes != 0) p.value_bytes = kind.value_bytes;
  const auto prepare = [&](std::uint64_t count) {
    fill_with_random(keys, count * kind.key_bytes);
    values.resize((count * kind.value_bytes + 7) / 8);
  };
  const auto sort = [&](std::uint64_t count) {
    p.count = count;
    HostOperands o{.keys_in = keys.data()};
    if (p.keys_out) o.keys_out = keys.data();
    if (p.payload == Payload::values) o.values_in = values.data();
    if (p.payload != Payload::none) o.values_out = values.data();
    sort_host(p, o, {.device = device});
  };
  return measure(prepare, sort);
}

Times measure_records(const std::string& device, const Kind& kind) {
  std::vector<std::uint64_t> records;
  return measure([&](std::uint64_t count) { fill_with_random(records, count * kind.record_bytes); },
                 [&](std::uint64_t count) {
                   sort_records(records.data(), kind.record_bytes, count, {{.type = KeyType::u64}},
                                {.device = device});
                 });
}

// Measures, or returns none if the device fails.
std::optional<Times> measured(const std::string& device, const Kind& kind) {
  try {
    return kind.record_bytes != 0 ? measure_records(device, kind) : measure_keys(device, kind);
  } catch (const Error&) {
    return std::nullopt;
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

std::optional<Times> from_cache(const std::string& key) {
  std::vector<std::byte> kept;
  Times times{};
  if (!kernels::cache::load(key, kept) || kept.size() != sizeof times) return std::nullopt;
  std::memcpy(times.data(), kept.data(), sizeof times);
  return are_plausible(times) ? std::optional(times) : std::nullopt;
}

}  // namespace

std::optional<Times> kept_times_of(Device& device, const Kind& kind) {
  const auto& i = device.info();
  const std::string key = fmt::format("times of sorts, {}: {} {} {}, {} units: {}", version(), i.id,
                                      i.name, i.driver, i.claimed.compute_units, kind.text());
  if (const auto times = from_cache(key)) return times;
  const auto times = measured(i.id, kind);
  if (times && are_plausible(*times)) kernels::cache::store(key, std::as_bytes(std::span(*times)));
  return times;
}

std::optional<Times> times_of(Device& device, const Kind& kind) {
  // One measurement at a time: two would slow each other down.
  static std::mutex& mutex = *new std::mutex;
  static auto& known = *new std::map<std::pair<std::string, std::string>, std::optional<Times>>;
  const std::lock_guard lock(mutex);
  const std::pair key{device.info().id, kind.text()};
  if (const auto found = known.find(key); found != known.end()) return found->second;
  return known[key] = kept_times_of(device, kind);
}

namespace {

// Returns the devices that may sort host memory, cpu:0 last, as find_device("auto") ranks them. If
// CUDA and OpenCL both have a card, only CUDA's device is returned: both would take about the same
// time, so chance would choose.
std::vector<std::shared_ptr<Device>> candidates_for_host_memory() {
  std::vector<std::shared_ptr<Device>> chosen;
  const auto& all = sortium::devices();
  const auto is_of_cuda = [&](const Device& device) {
    return std::ranges::any_of(all, [&](const auto& other) {
      return other->info().claimed.backend == Backend::cuda &&
             other->info().name == device.info().name;
    });
  };
  for (const auto& device : all) {
    const auto& c = device->info().claimed;
    const bool is_gpu = c.kind != DeviceKind::cpu;
    const bool is_twice = c.backend == Backend::opencl && is_of_cuda(*device);
    if (c.backend == Backend::host || (is_gpu && !is_twice)) chosen.push_back(device);
  }
  return chosen;
}

}  // namespace

std::shared_ptr<Device> fastest_device(const Kind& kind, std::uint64_t count,
                                       std::uint64_t operand_bytes, const Options& options) {
#ifdef SORTIUM_WITH_HOST
  if (count < counts.front()) return find_device("cpu:0");  // without a look at other devices
#endif
  const auto devices = candidates_for_host_memory();
  const bool has_host = std::ranges::any_of(
      devices, [](const auto& device) { return device->info().claimed.backend == Backend::host; });
  if (!has_host || devices.size() == 1) return find_device("auto");

  std::vector<Candidate> candidates;
  for (const auto& device : devices) {
    // A sort needs about as much scratch memory as its operands have.
    const bool in_ranges = needs_ranges(*device, options, operand_bytes, operand_bytes / 2,
                                        [&] { return operand_bytes; });
    candidates.push_back({times_of(*device, kind), in_ranges});
  }
  return devices[fastest(candidates, count)];
}

}  // namespace sortium::costs

namespace sortium {

std::vector<HostSortTime> host_sort_times(Device& device) {
  std::vector<HostSortTime> out;
  if (const auto times = costs::times_of(device, costs::Kind{}))
    for (std::size_t i = 0; i < times->size(); ++i) out.push_back({costs::counts[i], (*times)[i]});
  return out;
}

}  // namespace sortium
