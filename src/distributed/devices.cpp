#include "devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <sortium/device.hpp>
#include <sortium/distributed.hpp>

#include "../sort/few.hpp"
#include "../sort/host.hpp"

namespace sortium::distributed {

namespace {

// Threads of one process cannot die one by one, so a rank may wait for the others as long as they
// need.
constexpr std::chrono::hours no_timeout{24 * 365};

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, message);
}

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
  explicit Reports(const std::vector<std::shared_ptr<Device>>& devices) {
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

// Calls sort(communicator, part, options) on one rank for each device of the list.
template <class Sort>
HostReport on_ranks(std::uint64_t count, const sortium::Options& options, const Sort& sort) {
  const auto devices = find_devices(options.device);
  Reports reports(devices);
  const auto ranks = static_cast<unsigned>(devices.size());
  const auto work = [&](Communicator& communicator) {
    const unsigned rank = communicator.rank();
    Options own{.sort = options};
    own.sort.device = devices[rank]->info().id;
    reports.add(rank, sort(communicator, even_part(count, rank, ranks), own));
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

// Returns the options for a list that is too short to be divided: those of its first device.
sortium::Options on_first_device(const sortium::Options& options) {
  sortium::Options first = options;
  first.device = find_devices(options.device).front()->info().id;
  return first;
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
  if (p.count <= few::records) return sortium::sort_host(p, o, on_first_device(options));
  const unsigned key_bytes = info(p.key).bytes;
  return on_ranks(p.count, options, [&](Communicator& communicator, Part part, const auto& own) {
    Problem local = p;
    local.count = part.count;
    const std::uint64_t keys = part.begin * key_bytes, values = part.begin * p.value_bytes;
    return distributed::sort_host(communicator, local,
                                  {at(o.keys_in, keys), at(o.keys_out, keys),
                                   at(o.values_in, values), at(o.values_out, values)},
                                  own);
  });
}

HostReport sort_records_on_devices(const RecordProblem& p, const RecordHostOperands& o,
                                   const sortium::Options& options) {
  check(p.segments, p.limit, options);
  if (p.count <= few::records) return sortium::sort_records_host(p, o, on_first_device(options));
  return on_ranks(p.count, options, [&](Communicator& communicator, Part part, const auto& own) {
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
        communicator, local, {in, out, at(o.positions, part.begin * p.position_bytes)}, own);
  });
}

}  // namespace sortium::distributed
