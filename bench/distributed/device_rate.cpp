// The rate of distributed sorts of device memory, and of a plain sort on one of the devices in the
// same run. Every result is verified, outside of the timed regions.
//
//   distributed-device-rate [OPTION…]
//     --devices LIST     a rank, which is a thread, for each device; default cuda:*
//     --ranks N --rank R --id FILE   instead: this process is rank R of N and uses cuda:R. FILE,
//                        which must not exist before, carries rank 0's NCCL id to the others.
//     --log2 LIST        log2 of each rank's records; default 28,30
//     --cases LIST       of u32, u64 and u32+u32; default: all
//     --keys LIST        of uniform, zipf and sorted; default: all
//     --slices N         DeviceOptions::slices; default 0
//     --runs N           sorts that are timed, after 2 that are not; default 5
//     --json FILE        writes the table there, too
//
// CUDA devices exchange records by NCCL, others through host memory. Rank 0 prints medians. A sort
// begins when all ranks are ready and ends when the last one has finished. The ratio is that of all
// records per second to those of rank 0's device alone, which sorts as many records as a rank has.
// Positions are the values of u32+u32, so a result that is verified is stable.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <sortium/distributed_nccl.hpp>
#include <sortium/sort.hpp>
#include <string>
#include <thread>
#include <vector>

namespace {

using sortium::Memory;
using sortium::distributed::Communicator;
using sortium::distributed::Reduction;
using sortium::distributed::Report;
using Clock = std::chrono::steady_clock;

struct Settings {
  std::string devices = "cuda:*", id, json;
  unsigned ranks = 0, rank = 0, slices = 0, runs = 5;
  std::vector<std::string> log2{"28", "30"}, cases{"u32", "u64", "u32+u32"},
      keys{"uniform", "zipf", "sorted"};
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> all) {
  std::ranges::sort(all);
  return all[all.size() / 2];
}

std::uint64_t hash(std::uint64_t x) {  // SplitMix64
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Calls work(begin, end) for pieces of 0 to count on this rank's share of the cores.
template <class Work>
void in_parallel(std::uint64_t count, unsigned ranks, const Work& work) {
  const std::uint64_t threads = std::max(1u, std::thread::hardware_concurrency() / ranks);
  std::vector<std::jthread> all;
  for (std::uint64_t t = 0; t < threads; ++t)
    all.emplace_back([&, t] { work(count * t / threads, count * (t + 1) / threads); });
}

// The key of record i of the whole list, which has `total` records.
template <class K>
K key_of(std::uint64_t i, std::uint64_t total, const std::string& kind) {
  constexpr unsigned bits = 8 * sizeof(K);
  if (kind == "sorted") return static_cast<K>(static_cast<unsigned __int128>(i) * (~K{0}) / total);
  const std::uint64_t random = hash(i);
  if (kind == "uniform") return static_cast<K>(random);
  // Zipf's law with exponent 1: the key's logarithm is uniform.
  const double unit = static_cast<double>(random >> 11) * 0x1p-53;
  return static_cast<K>(std::exp2(unit * std::min(bits - 1, 40u)));
}

// Why a rank's result is wrong; empty if it is right.
struct Check {
  std::atomic<bool> out_of_order{false}, unstable{false}, wrong_key{false};
  std::atomic<std::uint64_t> sum{0};

  [[nodiscard]] std::string text(bool same_sum) const {
    return out_of_order ? "not sorted"
           : unstable   ? "not stable"
           : wrong_key  ? "a value does not belong to its key"
           : !same_sum  ? "records were lost"
                        : "";
  }
};

// Host memory for the next case. It is not initialised: threads touch it first.
class HostMemory {
 public:
  std::byte* of(std::uint64_t bytes) {
    if (bytes > bytes_) {
      memory_.reset();
      memory_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
      bytes_ = bytes;
    }
    return memory_.get();
  }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::uint64_t bytes_ = 0;
};

struct Row {
  std::string case_name, keys;
  unsigned log2 = 0, ranks = 0, rounds = 0;
  double seconds = 0, alone_seconds = 0, partition = 0, exchange = 0, sort = 0;
  std::string wrong{};

  [[nodiscard]] double rate() const {
    return static_cast<double>(ranks) * std::exp2(log2) / seconds;
  }
  [[nodiscard]] double ratio() const { return ranks * alone_seconds / seconds; }
};

// One rank: its queue, and host memory that all cases share.
class Rank {
 public:
  Rank(Communicator& communicator, const std::string& device, const Settings& settings)
      : communicator_(communicator),
        settings_(settings),
        device_(sortium::find_device(device)),
        queue_(device_->make_queue()) {}

  std::vector<Row> run() {
    std::vector<Row> rows;
    for (const auto& log2 : settings_.log2)
      for (const auto& name : settings_.cases)
        for (const auto& keys : settings_.keys) {
          const auto exponent = static_cast<unsigned>(std::stoul(log2));
          rows.push_back(name == "u64" ? measure<std::uint64_t>(name, keys, exponent)
                                       : measure<std::uint32_t>(name, keys, exponent));
          if (communicator_.rank() == 0) print(rows.back());
        }
    return rows;
  }

 private:
  static void print(const Row& r) {
    const double all = r.partition + r.exchange + r.sort;
    fmt::print(
        "{:8} {:8} 2^{:<3} {:>9.3f} {:>9.2f} {:>7.2f} {:>5.0f} {:>5.0f} {:>5.0f} {:>4}  {}\n",
        r.case_name, r.keys, r.log2, r.seconds * 1e3, r.rate() * 1e-9, r.ratio(),
        100 * r.partition / all, 100 * r.exchange / all, 100 * r.sort / all, r.rounds,
        r.wrong.empty() ? "verified" : "WRONG: " + r.wrong);
    std::fflush(stdout);
  }

  template <class K>
  Row measure(const std::string& name, const std::string& keys, unsigned log2) {
    const bool has_values = name == "u32+u32";
    const std::uint64_t count = std::uint64_t{1} << log2, ranks = communicator_.size();
    const std::uint64_t first = communicator_.rank() * count, total = ranks * count;
    const std::uint64_t key_bytes = count * sizeof(K), value_bytes = has_values ? count * 4 : 0;
    auto* const key = reinterpret_cast<K*>(keys_.of(key_bytes));
    auto* const value = reinterpret_cast<std::uint32_t*>(values_.of(value_bytes));
    std::atomic<std::uint64_t> sum{0};
    in_parallel(count, communicator_.size(), [&](std::uint64_t begin, std::uint64_t end) {
      std::uint64_t mine = 0;
      for (std::uint64_t i = begin; i < end; ++i) {
        key[i] = key_of<K>(first + i, total, keys);
        if (has_values) value[i] = static_cast<std::uint32_t>(first + i);
        mine += hash(has_values ? first + i : key[i]);
      }
      sum += mine;
    });

    const auto memory = [&](std::uint64_t bytes) {
      return bytes == 0 ? nullptr : device_->allocate(bytes);
    };
    const auto at = [](const auto& buffer) { return buffer ? buffer->memory() : Memory{}; };
    const auto keys_in = memory(key_bytes), keys_out = memory(key_bytes);
    const auto values_in = memory(value_bytes), values_out = memory(value_bytes);
    queue_->write(at(keys_in), key, key_bytes);
    if (has_values) queue_->write(at(values_in), value, value_bytes);
    const sortium::Operands operands{at(keys_in), at(keys_out), at(values_in), at(values_out)};
    sortium::Problem problem{.key = sortium::key_type_of<K>::value, .count = count};
    if (has_values) problem.payload = sortium::Payload::values;

    Row row{.case_name = name, .keys = keys, .log2 = log2, .ranks = communicator_.size()};
    row.alone_seconds = time_alone(problem, operands);
    time_together(problem, operands, row);

    queue_->read(key, at(keys_out), key_bytes);
    if (has_values) queue_->read(value, at(values_out), value_bytes);
    row.wrong = check(key, has_values ? value : nullptr, count, sum, total, keys);
    return row;
  }

  double time_alone(const sortium::Problem& problem, sortium::Operands operands) {
    std::vector<double> times{0};
    if (communicator_.rank() == 0) {
      const sortium::Plan plan(device_, problem);
      const auto scratch = device_->allocate(std::max<std::uint64_t>(plan.scratch_bytes(), 1));
      operands.scratch = scratch->memory();
      times.clear();
      for (unsigned run = 0; run < settings_.runs + 2; ++run) {
        const auto start = Clock::now();
        plan.run(*queue_, operands);
        queue_->finish();
        if (run >= 2) times.push_back(seconds_since(start));
      }
    }
    wait_for_all();
    return median(times);
  }

  void time_together(const sortium::Problem& problem, const sortium::Operands& operands, Row& row) {
    sortium::distributed::DeviceSorter sorter(communicator_, device_);
    std::vector<std::pair<double, Report>> runs;
    for (unsigned run = 0; run < settings_.runs + 2; ++run) {
      wait_for_all();
      const auto start = Clock::now();
      const Report report = sorter.sort(*queue_, problem, operands, {.slices = settings_.slices});
      wait_for_all();
      if (run >= 2) runs.emplace_back(seconds_since(start), report);
    }
    std::ranges::sort(runs, {}, [](const auto& run) { return run.first; });
    const auto& [seconds, report] = runs[runs.size() / 2];
    row.seconds = seconds;
    row.partition = report.partition_seconds;
    row.exchange = report.exchange_seconds;
    row.sort = report.sort_seconds;
    row.rounds = report.rounds;
  }

  // Compares the sum of the records' hashes with that of the input, and every record with the next.
  template <class K>
  std::string check(const K* key, const std::uint32_t* value, std::uint64_t count,
                    std::uint64_t input_sum, std::uint64_t total, const std::string& keys) {
    Check check;
    in_parallel(count, communicator_.size(), [&](std::uint64_t begin, std::uint64_t end) {
      std::uint64_t sum = 0;
      for (std::uint64_t i = begin; i < end; ++i) {
        if (i + 1 < count && key[i + 1] < key[i]) check.out_of_order = true;
        if (value != nullptr) {
          if (i + 1 < count && key[i] == key[i + 1] && value[i + 1] <= value[i])
            check.unstable = true;
          if (key[i] != key_of<K>(value[i], total, keys)) check.wrong_key = true;
        }
        sum += hash(value != nullptr ? value[i] : key[i]);
      }
      check.sum += sum;
    });
    // The last record of each rank must not come after the first of the next rank.
    const std::uint64_t ends[] = {key[0], value != nullptr ? value[0] : 0, key[count - 1],
                                  value != nullptr ? value[count - 1] : 0};
    const auto bytes = communicator_.all_gather(std::as_bytes(std::span(ends)));
    std::vector<std::uint64_t> all(bytes.size() / 8);
    std::memcpy(all.data(), bytes.data(), bytes.size());
    for (std::size_t r = 4; r < all.size(); r += 4) {
      if (all[r] < all[r - 2]) check.out_of_order = true;
      if (value != nullptr && all[r] == all[r - 2] && all[r + 1] <= all[r - 1])
        check.unstable = true;
    }
    std::uint64_t difference = check.sum - input_sum;
    communicator_.all_reduce({&difference, 1}, Reduction::sum);
    std::string text = check.text(difference == 0);
    const auto texts = communicator_.all_gather(std::as_bytes(std::span(text)));
    return {reinterpret_cast<const char*>(texts.data()), texts.size()};
  }

  void wait_for_all() {
    std::uint64_t nothing = 0;
    communicator_.all_reduce({&nothing, 1}, Reduction::max);
  }

  Communicator& communicator_;
  const Settings& settings_;
  std::shared_ptr<sortium::Device> device_;
  std::unique_ptr<sortium::Queue> queue_;
  HostMemory keys_, values_;
};

void write_json(const std::vector<Row>& rows, const std::string& device, const char* mode,
                const Settings& settings) {
  if (settings.json.empty()) return;
  std::ofstream out(settings.json);
  out << fmt::format("{{\"device\": \"{}\", \"ranks_are\": \"{}\", \"slices\": {}, \"rows\": [",
                     device, mode, settings.slices);
  const char* separator = "\n";
  for (const auto& r : rows) {
    out << separator
        << fmt::format(
               "{{\"case\": \"{}\", \"keys\": \"{}\", \"ranks\": {}, \"records_of_a_rank\": {}, "
               "\"seconds\": {:.6g}, \"one_device_seconds\": {:.6g}, \"records_per_second\": "
               "{:.5g}, "
               "\"ratio\": {:.4g}, \"partition_seconds\": {:.4g}, \"exchange_seconds\": {:.4g}, "
               "\"sort_seconds\": {:.4g}, \"rounds\": {}, \"verified\": {}}}",
               r.case_name, r.keys, r.ranks, std::uint64_t{1} << r.log2, r.seconds, r.alone_seconds,
               r.rate(), r.ratio(), r.partition, r.exchange, r.sort, r.rounds, r.wrong.empty());
    separator = ",\n";
  }
  out << "\n]}\n";
}

void print_head(const std::string& device, unsigned ranks, const char* mode) {
  fmt::print("{} ranks, {}, {}\n", ranks, mode, device);
  fmt::print("{:8} {:8} {:5} {:>9} {:>9} {:>7} {:>17}\n", "case", "keys", "each", "ms", "Grec/s",
             "ratio", "part/exch/sort %");
}

// Returns 0 if all results are right.
int report(const std::vector<Row>& rows, const std::string& device, const char* mode,
           const Settings& settings) {
  write_json(rows, device, mode, settings);
  return std::ranges::any_of(rows, [](const Row& r) { return !r.wrong.empty(); }) ? 1 : 0;
}

int run_threads(const Settings& settings) {
  const auto devices = sortium::distributed::find_devices(settings.devices);
  const std::string name = devices.front()->info().name;
  constexpr const char* mode = "threads of one process";
  print_head(name, static_cast<unsigned>(devices.size()), mode);
  std::vector<Row> rows;
  sortium::distributed::run_ranks(
      static_cast<unsigned>(devices.size()), [&](Communicator& threads) {
        const auto& device = devices[threads.rank()]->info();
        std::unique_ptr<Communicator> nccl;
        if (device.claimed.backend == sortium::Backend::cuda && threads.size() > 1)
          nccl = sortium::distributed::nccl_communicator(threads, device.id);
        auto mine = Rank(nccl ? *nccl : threads, device.id, settings).run();
        if (threads.rank() == 0) rows = std::move(mine);
      });
  return report(rows, name, mode, settings);
}

// Returns rank 0's id, which travels in a file that appears by rename.
sortium::distributed::NcclId exchange_id(const Settings& settings) {
  sortium::distributed::NcclId id{};
  if (settings.rank == 0) {
    id = sortium::distributed::nccl_id();
    const std::string temporary = settings.id + ".new";
    std::ofstream(temporary, std::ios::binary)
        .write(reinterpret_cast<const char*>(id.data()), static_cast<std::streamsize>(id.size()));
    std::filesystem::rename(temporary, settings.id);
    return id;
  }
  const auto start = Clock::now();
  while (!std::filesystem::exists(settings.id)) {
    if (seconds_since(start) > 60)
      throw sortium::Error(sortium::ErrorCode::device_failed,
                           fmt::format("--id {}: rank 0 has not written it in 60 s", settings.id));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::ifstream(settings.id, std::ios::binary)
      .read(reinterpret_cast<char*>(id.data()), static_cast<std::streamsize>(id.size()));
  return id;
}

int run_process(const Settings& settings) {
  const std::string device = fmt::format("cuda:{}", settings.rank);
  const auto nccl = sortium::distributed::nccl_communicator(exchange_id(settings), settings.rank,
                                                            settings.ranks, device);
  const std::string name = sortium::find_device(device)->info().name;
  constexpr const char* mode = "processes";
  if (settings.rank == 0) print_head(name, settings.ranks, mode);
  const auto rows = Rank(*nccl, device, settings).run();
  return settings.rank == 0 ? report(rows, name, mode, settings) : 0;
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> items;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    items.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return items;
}

Settings parse(int argc, char** argv) {
  Settings s;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i], value = argv[i + 1];
    const auto number = [&] { return static_cast<unsigned>(std::stoul(value)); };
    if (option == "--devices")
      s.devices = value;
    else if (option == "--ranks")
      s.ranks = number();
    else if (option == "--rank")
      s.rank = number();
    else if (option == "--id")
      s.id = value;
    else if (option == "--log2")
      s.log2 = split(value);
    else if (option == "--cases")
      s.cases = split(value);
    else if (option == "--keys")
      s.keys = split(value);
    else if (option == "--slices")
      s.slices = number();
    else if (option == "--runs")
      s.runs = number();
    else if (option == "--json")
      s.json = value;
    else
      throw sortium::Error(sortium::ErrorCode::invalid_argument,
                           fmt::format("unknown option {}", option));
  }
  if (argc % 2 == 0 || (s.ranks != 0 && s.id.empty()) || s.runs == 0)
    throw sortium::Error(sortium::ErrorCode::invalid_argument,
                         "an option without a value, --ranks without --id, or no runs; the "
                         "source's first comment has the options");
  return s;
}

}  // namespace

int main(int argc, char** argv) try {
  const Settings settings = parse(argc, argv);
  return settings.ranks == 0 ? run_threads(settings) : run_process(settings);
} catch (const std::exception& e) {
  fmt::print(stderr, "distributed-device-rate: {}\n", e.what());
  return 2;
}
