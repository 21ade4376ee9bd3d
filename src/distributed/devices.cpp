#include "devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>
#include <sortium/device.hpp>
#include <sortium/distributed.hpp>

#include "../core/refuse.hpp"
#include "../sort/few.hpp"
#include "../sort/host.hpp"
#include "../sort/host_arrays.hpp"
#include "../sort/out_of_memory.hpp"
#include "../sort/ranges.hpp"
#include "agreement.hpp"
#include "short_lists.hpp"

namespace sortium::distributed {

namespace {

// Threads of one process cannot die one by one, so a rank may wait for the others as long as they
// need.
constexpr std::chrono::hours no_timeout{24 * 365};

// Returns all devices of the backend that `item` names, such as "cuda:*".
std::vector<std::shared_ptr<Device>> devices_of_backend(std::string_view list,
                                                        std::string_view item) {
  for (const auto& backend : backends()) {
    if (item != fmt::format("{}:*", name(backend.backend))) continue;
    if (backend.devices == 0)
      throw Error(ErrorCode::not_found, fmt::format("device list '{}': there is no device for {}: "
                                                    "{}",
                                                    list, item, backend.why));
    std::vector<std::shared_ptr<Device>> found;
    for (const auto& device : devices())
      if (device->info().claimed.backend == backend.backend) found.push_back(device);
    return found;
  }
  refuse(fmt::format(
      "device list '{}': '{}' is not allowed; allowed are cuda:*, opencl:*, cpu:* and devices",
      list, item));
}

// Part `rank` of `count` records that are divided evenly.
Part even_part(std::uint64_t count, unsigned rank, unsigned ranks) {
  const std::uint64_t each = count / ranks, longer = count % ranks;
  return {rank * each + std::min<std::uint64_t>(rank, longer), each + (rank < longer ? 1 : 0)};
}

using Devices = std::vector<std::shared_ptr<Device>>;

// Returns a copy of the text that lives until the process ends, for HostReport.
std::string_view kept_text(std::string text) {
  static std::mutex mutex;
  static auto& texts = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  return *texts.insert(std::move(text)).first;
}

// What all ranks did: the longest times.
class Reports {
 public:
  explicit Reports(const Devices& devices) {
    std::string names;
    for (const auto& device : devices)
      names += fmt::format("{}{}", names.empty() ? "" : " + ", device->info().name);
    report_.device = kept_text(std::move(names));
  }
  // Allocates nothing, nor does take(): the ranks have already replaced their records.
  void add(unsigned rank, Report&& report) {
    const std::lock_guard lock(mutex_);
    HostReport& local = report.local;
    if (rank == 0) {
      report_.algorithm = local.algorithm;
      report_.parameters = std::move(local.parameters);
    }
    const double moving = report.partition_seconds + report.exchange_seconds;
    report_.plan_seconds = std::max(report_.plan_seconds, local.plan_seconds);
    report_.transfer_seconds = std::max(report_.transfer_seconds, moving + local.transfer_seconds);
    report_.sort_seconds = std::max(report_.sort_seconds, local.sort_seconds);
  }
  [[nodiscard]] HostReport take() { return std::move(report_); }

 private:
  std::mutex mutex_;
  HostReport report_;
};

// Calls sort(communicator, device, part) on one rank for each device.
template <class Sort>
HostReport on_ranks(const Devices& devices, std::uint64_t count, const sortium::Options& options,
                    const Sort& sort) {
  Reports reports(devices);
  const auto ranks = static_cast<unsigned>(devices.size());
  const auto work = [&](Communicator& communicator) {
    const unsigned rank = communicator.rank();
    reports.add(rank, sort(communicator, devices[rank], even_part(count, rank, ranks)));
  };
  try {
    run_ranks(ranks, work, no_timeout);
  } catch (const Error& e) {
    throw Error(e.code(),
                fmt::format("{} (device '{}': a rank for each device)", e.what(), options.device),
                e.log());
  }
  return reports.take();
}

// Returns the options of a rank's sort in host memory.
Options of_rank(const sortium::Options& options, const Device& device) {
  Options own{.sort = options};
  own.sort.device = device.info().id;
  return own;
}

// Returns the options for a list that is not divided: those of the first device.
sortium::Options on_first_device(const Devices& devices, const sortium::Options& options) {
  sortium::Options first = options;
  first.device = devices.front()->info().id;
  return first;
}
bool is_undivided(const Devices& devices, std::uint64_t count) {
  return devices.size() == 1 || count <= few::records;
}

void check(std::uint64_t segments, std::uint64_t limit, const sortium::Options& options) {
  if (segments != 0 || limit != 0)
    refuse(
        fmt::format("device is '{}', a list; sorts of segments and of the first records take "
                    "one device",
                    options.device));
  check_stop(options);
}

const void* at(const void* array, std::uint64_t offset) {
  return array == nullptr ? nullptr : static_cast<const std::byte*>(array) + offset;
}
void* at(void* array, std::uint64_t offset) {
  return array == nullptr ? nullptr : static_cast<std::byte*>(array) + offset;
}

// The most memory of each rank's device for DeviceSorter beside the rank's records; 0: no bound.
// Nothing if the records do not fit, or if DeviceSorter does not sort such a problem, or sorts it
// no faster: cpu:0 has no memory of its own.
std::optional<std::vector<std::uint64_t>> memory_of_ranks(const Devices& devices, const Problem& p,
                                                          const sortium::Options& options) {
  const bool has_values = p.payload != Payload::none;
  if (has_values && p.value_bytes != 4 && p.value_bytes != 8) return {};
  if (std::ranges::all_of(devices, [](const auto& device) {
        return device->info().claimed.backend == Backend::host;
      }))
    return {};
  const auto ranks = static_cast<unsigned>(devices.size());
  std::vector<std::uint64_t> most;
  bool is_ample = true;
  for (unsigned rank = 0; rank < ranks; ++rank) {
    const auto& device = devices[rank];
    const std::uint64_t limit = device_limit(*device, options);
    const auto sharing = static_cast<std::uint64_t>(std::ranges::count(devices, device));
    const std::uint64_t count = even_part(p.count, rank, ranks).count;
    const std::uint64_t bytes = count * (info(p.key).bytes + (has_values ? p.value_bytes : 0));
    constexpr std::uint64_t others = 1 << 20;  // plans' scratch memory for few records, samples
    const std::uint64_t all = limit / sharing, least = bytes + bytes / 8 + others;
    if (all < bytes + least) return {};
    if (count * std::max(info(p.key).bytes, p.value_bytes) > device->info().claimed.max_allocation)
      return {};
    most.push_back(all - bytes);
    // Of a short list, a rank has all records twice, and scratch memory for them.
    const std::uint64_t of_short = 4 * std::min(ranks * (bytes + 16), largest_short_list);
    is_ample = is_ample && all - bytes >= std::max(2 * bytes, of_short) + others;
  }
  if (is_ample) std::ranges::fill(most, 0);
  return most;
}

// Sorts host memory on one rank, in its device's memory. Writes no output before all ranks have
// sorted.
Report sort_in_device_memory(Communicator& communicator, const std::shared_ptr<Device>& device,
                             Problem p, const HostOperands& o, const sortium::Options& options,
                             std::uint64_t max_bytes) {
  Stopwatch watch;
  HostArrays arrays(*device);
  const std::uint64_t bytes = operand_bytes(p);
  std::unique_ptr<Queue> queue;
  HostArrays::InOut keys, values;
  together(communicator, bytes, [&] {
    queue = device->make_queue();
    keys = arrays.add_sorted(p, o.keys_in, p.keys_out ? o.keys_out : nullptr, info(p.key).bytes,
                             false);
    if (p.payload != Payload::none)
      values = arrays.add_sorted(p, p.payload == Payload::values ? o.values_in : nullptr,
                                 o.values_out, p.value_bytes, false);
    arrays.write(*queue, options);
  });
  p.keys_out = true;
  const double written = watch.lap();
  Report report;
  {
    DeviceSorter sorter(communicator, device);
    report =
        sorter.sort(*queue, p, {keys.in, keys.in, values.in, values.out},
                    {.method = {options.algorithm, options.parameters, options.max_scratch_bytes},
                     .max_bytes = max_bytes});
  }
  together(communicator, bytes, [&] { check_stop(options); });
  watch.lap();
  arrays.read(*queue);
  report.local.transfer_seconds = written + watch.lap();
  return report;
}

}  // namespace

std::vector<std::shared_ptr<Device>> find_devices(std::string_view list) {
  std::vector<std::shared_ptr<Device>> found;
  for (std::size_t begin = 0, item = 0; begin <= list.size(); ++item) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string_view name = list.substr(begin, end - begin);
    if (name.empty() && list.find(',') != list.npos)
      refuse(fmt::format("device list '{}': item {} is empty", list, item));
    if (name.find('*') != name.npos)
      std::ranges::copy(devices_of_backend(list, name), std::back_inserter(found));
    else
      found.push_back(find_device(name));
    begin = end + 1;
  }
  return found;
}

HostReport sort_on_devices(const Problem& p, const HostOperands& o,
                           const sortium::Options& options) {
  check(p.segments, p.limit, options);
  const Devices devices = find_devices(options.device);
  if (is_undivided(devices, p.count))
    return sortium::sort_host(p, o, on_first_device(devices, options));
  const unsigned key_bytes = info(p.key).bytes;
  const auto memory = memory_of_ranks(devices, p, options);
  return on_ranks(
      devices, p.count, options, [&](Communicator& communicator, const auto& device, Part part) {
        Problem local = p;
        local.count = part.count;
        const std::uint64_t keys = part.begin * key_bytes, values = part.begin * p.value_bytes;
        const HostOperands operands{at(o.keys_in, keys), at(o.keys_out, keys),
                                    at(o.values_in, values), at(o.values_out, values)};
        if (memory)
          return sort_in_device_memory(communicator, device, local, operands, options,
                                       (*memory)[communicator.rank()]);
        return distributed::sort_host(communicator, local, operands, of_rank(options, *device));
      });
}

HostReport sort_records_on_devices(const RecordProblem& p, const RecordHostOperands& o,
                                   const sortium::Options& options) {
  check(p.segments, p.limit, options);
  const Devices devices = find_devices(options.device);
  if (is_undivided(devices, p.count))
    return sortium::sort_records_host(p, o, on_first_device(devices, options));
  return on_ranks(
      devices, p.count, options, [&](Communicator& communicator, const auto& device, Part part) {
        RecordProblem local = p;
        local.count = part.count;
        std::vector<const void*> in;
        std::vector<void*> out;
        for (std::size_t c = 0; c < p.columns.size(); ++c) {
          const std::uint64_t offset = part.begin * p.columns[c].bytes;
          in.push_back(at(o.columns_in[c], offset));
          if (!o.columns_out.empty()) out.push_back(at(o.columns_out[c], offset));
        }
        return distributed::sort_records_host(
            communicator, local, {in, out, at(o.positions, part.begin * p.position_bytes)},
            of_rank(options, *device));
      });
}

}  // namespace sortium::distributed
