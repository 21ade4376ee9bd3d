// The rate of distributed sorts of device memory, and of a plain sort on one of the devices in the
// same run. Every result is verified on the devices, outside of the timed regions.
//
//   distributed-device-rate [OPTION…] KEY:VALUE:COUNT:KEYS…
//     --devices LIST     a rank, which is a thread, for each device; default cuda:*
//     --ranks N --rank R --id FILE   instead: this process is rank R of N and uses cuda:R. FILE,
//                        which must not exist before, carries rank 0's NCCL id to the others.
//     --exchange WAY     how threads' CUDA devices exchange records: nccl, the default, or peer, by
//                        copies from device to device
//     --slices N         DeviceOptions::slices; default 0
//     --runs N           sorts that are timed, after one that is not; default 5. Five times as many
//                        below 2^24 records.
//     --json FILE        writes the table there, too, anew after every row
// Each argument is a row: a list of COUNT records on every rank. KEY is u32, f32 or u64. VALUE is
// none, or u32 (u64 if KEY is u64). COUNT is a power of two such as 2^28, and KEYS is
// uniform, normal, zipf, constant, sorted or reversed.
//
// Devices that are not CUDA's exchange records through host memory. Rank 0 prints medians. A sort
// begins when all ranks are ready and ends when the last one has finished. The ratio is that of all
// records per second to those of rank 0's device alone, which sorts as many records as a rank has.
// Positions are the values, so a result that is verified is stable. A row for which a device has
// too little memory says so instead.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sortium/distributed_nccl.hpp>
#include <sortium/sort.hpp>
#include <sortium/verify.hpp>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace {

using sortium::Memory;
using sortium::distributed::Communicator;
using sortium::distributed::Reduction;
using sortium::distributed::Report;
using Clock = std::chrono::steady_clock;

enum class Keys { uniform, normal, zipf, constant, sorted, reversed };
constexpr const char* keys_names[] = {"uniform",  "normal", "zipf",
                                      "constant", "sorted", "reversed"};

// What one row sorts.
struct Sort {
  std::string name;  // as in the arguments
  sortium::KeyType key = sortium::KeyType::u32;
  unsigned log2 = 0;
  bool has_values = false;
  Keys keys = Keys::uniform;

  [[nodiscard]] std::uint64_t count() const { return std::uint64_t{1} << log2; }
};

struct Settings {
  std::string devices = "cuda:*", exchange = "nccl", id, json;
  unsigned ranks = 0, rank = 0, slices = 0, runs = 5;
  std::vector<Sort> sorts;

  [[nodiscard]] unsigned runs_of(const Sort& sort) const {
    return sort.log2 < 24 ? 5 * runs : runs;
  }
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

// The key of record i of the whole list, which has `total` records: an integer.
template <class K>
K integer_of(std::uint64_t i, std::uint64_t total, Keys keys) {
  constexpr unsigned bits = 8 * sizeof(K);
  const std::uint64_t random = hash(i);
  switch (keys) {
    case Keys::uniform:
      return static_cast<K>(random);
    case Keys::normal: {  // the mean of four random numbers
      K sum = static_cast<K>(random) / 4;
      for (std::uint64_t n = 1; n < 4; ++n) sum += static_cast<K>(hash(i + n * total)) / 4;
      return sum;
    }
    // Zipf's law with exponent 1: the key's logarithm is uniform.
    case Keys::zipf:
      return static_cast<K>(
          std::exp2(static_cast<double>(random >> 11) * 0x1p-53 * std::min(bits - 1, 40u)));
    case Keys::constant:
      return 42;
    case Keys::sorted:
      return static_cast<K>(i * std::max<std::uint64_t>(~K{0} / total, 1));
    case Keys::reversed:
      return static_cast<K>((total - 1 - i) * std::max<std::uint64_t>(~K{0} / total, 1));
  }
  return 0;
}

// The same for any type. Floats are between 0 and 1; Zipf's law covers 40 powers of two.
template <class K>
K key_of(std::uint64_t i, std::uint64_t total, Keys keys) {
  if constexpr (std::is_integral_v<K>)
    return integer_of<K>(i, total, keys);
  else
    return static_cast<K>(static_cast<double>(integer_of<std::uint64_t>(i, total, keys)) * 0x1p-64);
}

struct Row {
  Sort sort;
  unsigned ranks = 0;
  Report report{};
  double seconds = 0, alone_seconds = 0;
  double all_seconds = 0;   // with the generation of keys and the verification
  std::string skipped{};    // why there are no figures
  std::string alone_why{};  // why rank 0's device did not sort alone
  std::string wrong{};      // what is wrong with the result

  [[nodiscard]] double rate() const { return static_cast<double>(ranks * sort.count()) / seconds; }
  [[nodiscard]] double ratio() const { return ranks * alone_seconds / seconds; }
  [[nodiscard]] std::string verdict() const {
    return !skipped.empty() ? "skipped:" + skipped
           : !wrong.empty() ? "WRONG: " + wrong
                            : "verified" + (alone_why.empty() ? "" : "; alone:" + alone_why);
  }
};

void print(const Row& row) {
  const Report& r = row.report;
  const double all = r.partition_seconds + r.exchange_seconds + r.sort_seconds;
  fmt::print("{:22}", row.sort.name);
  if (row.skipped.empty())
    fmt::print(" {:>9.3f} {:>9.3f} {:>9.2f} {:>7.2f} {:>5.0f} {:>5.0f} {:>5.0f} {:>6} {:>5.1f}",
               row.seconds * 1e3, row.alone_seconds * 1e3, row.rate() * 1e-9, row.ratio(),
               100 * r.partition_seconds / all, 100 * r.exchange_seconds / all,
               100 * r.sort_seconds / all, r.rounds, row.all_seconds);
  fmt::print("  {}\n", row.verdict());
  std::fflush(stdout);
}

void print_head(const std::string& device, unsigned ranks, const char* mode) {
  fmt::print("{} ranks, {}, {}\n", ranks, mode, device);
  fmt::print("{:22} {:>9} {:>9} {:>9} {:>7} {:>17} {:>6} {:>5}\n", "sort", "ms", "alone ms",
             "Grec/s", "ratio", "part/exch/sort %", "rounds", "all s");
  std::fflush(stdout);
}

std::string json(const Row& row) {
  nlohmann::ordered_json j{{"sort", row.sort.name},
                           {"ranks", row.ranks},
                           {"records_of_a_rank", row.sort.count()},
                           {"seconds_with_verification", row.all_seconds}};
  if (!row.skipped.empty()) {
    j["skipped"] = row.skipped;
    return j.dump();
  }
  const Report& r = row.report;
  j["seconds"] = row.seconds;
  j["records_per_second"] = row.rate();
  j["partition_seconds"] = r.partition_seconds;
  j["exchange_seconds"] = r.exchange_seconds;
  j["sort_seconds"] = r.sort_seconds;
  j["bytes_sent_by_rank_0"] = r.bytes_sent;
  j["rounds"] = r.rounds;
  if (row.alone_why.empty()) {
    j["one_device_seconds"] = row.alone_seconds;
    j["ratio"] = row.ratio();
  } else {
    j["one_device"] = row.alone_why;
  }
  j["verified"] = row.wrong.empty();
  if (!row.wrong.empty()) j["wrong"] = row.wrong;
  return j.dump();
}

// The rows of one run, printed and written as they come.
class Table {
 public:
  Table(const Settings& settings, std::string device, const char* mode)
      : settings_(settings), device_(std::move(device)), mode_(mode) {}

  void add(const Row& row) {
    print(row);
    all_right_ = all_right_ && row.wrong.empty();
    rows_ += (rows_.empty() ? "\n" : ",\n") + json(row);
    if (settings_.json.empty()) return;
    // By rename: the program may be ended at any time.
    const std::string temporary = settings_.json + ".new";
    std::ofstream(temporary) << fmt::format(
        "{{\"device\": \"{}\", \"ranks_are\": \"{}\", \"slices\": {}, \"rows\": [{}\n]}}\n",
        device_, mode_, settings_.slices, rows_);
    std::filesystem::rename(temporary, settings_.json);
  }
  [[nodiscard]] bool all_right() const { return all_right_; }

 private:
  const Settings& settings_;
  std::string device_;
  const char* mode_;
  std::string rows_;
  bool all_right_ = true;
};

// The memory of one row's records on a rank.
struct Records {
  std::unique_ptr<sortium::Buffer> keys_in, keys_out, values_in, values_out;

  Records(sortium::Device& device, std::uint64_t key_bytes, std::uint64_t value_bytes)
      : keys_in(device.allocate(key_bytes)), keys_out(device.allocate(key_bytes)) {
    if (value_bytes == 0) return;
    values_in = device.allocate(value_bytes);
    values_out = device.allocate(value_bytes);
  }
  [[nodiscard]] sortium::Operands operands() const {
    const auto at = [](const auto& buffer) { return buffer ? buffer->memory() : Memory{}; };
    return {at(keys_in), at(keys_out), at(values_in), at(values_out)};
  }
};

class Rank {
 public:
  Rank(Communicator& communicator, const std::string& device, const Settings& settings)
      : communicator_(communicator),
        settings_(settings),
        device_(sortium::find_device(device)),
        queue_(device_->make_queue()) {}

  // Rank 0 has the table.
  void run(Table* table) {
    for (const auto& sort : settings_.sorts) {
      const auto start = Clock::now();
      Row row{.sort = sort, .ranks = communicator_.size()};
      if (sort.key == sortium::KeyType::u64)
        measure<std::uint64_t, std::uint64_t>(row);
      else if (sort.key == sortium::KeyType::f32)
        measure<float, std::uint32_t>(row);
      else
        measure<std::uint32_t, std::uint32_t>(row);
      row.all_seconds = seconds_since(start);
      if (table != nullptr) table->add(row);
    }
  }

 private:
  // Keys are K, values are V.
  template <class K, class V>
  void measure(Row& row) {
    const Sort& sort = row.sort;
    sortium::Problem problem{.key = sortium::key_type_of<K>::value, .count = sort.count()};
    if (sort.has_values) {
      problem.payload = sortium::Payload::values;
      problem.value_bytes = sizeof(V);
    }
    std::optional<Records> records;
    row.skipped = unless_memory_lacks([&] {
      records.emplace(*device_, sort.count() * sizeof(K),
                      sort.has_values * sort.count() * sizeof(V));
    });
    if (!row.skipped.empty()) return;
    const sortium::Operands operands = records->operands();
    generate<K, V>(sort, operands);
    const std::uint64_t sum = verdict(problem, operands.keys_in, operands.values_in).checksum;
    time_alone(problem, operands, row);
    row.skipped = time_together(problem, operands, row);
    if (row.skipped.empty()) row.wrong = check<K, V>(problem, operands, sum);
  }

  // Calls `work` on every rank. Returns the messages of the ranks whose memory does not suffice.
  template <class Work>
  std::string unless_memory_lacks(const Work& work) {
    std::string mine;
    try {
      work();
    } catch (const sortium::Error& e) {
      if (e.code() != sortium::ErrorCode::out_of_memory) throw;
      mine = fmt::format(" rank {}: {}.", communicator_.rank(), e.what());
    }
    const auto all = communicator_.all_gather(std::as_bytes(std::span(mine)));
    return {reinterpret_cast<const char*>(all.data()), all.size()};
  }

  // Writes keys, and positions as values, piece by piece: fresh pages for all of them would take
  // longer than the numbers.
  template <class K, class V>
  void generate(const Sort& sort, const sortium::Operands& operands) {
    const std::uint64_t piece = std::min<std::uint64_t>(sort.count(), 1 << 25);
    const std::uint64_t first = communicator_.rank() * sort.count();
    const std::uint64_t total = communicator_.size() * sort.count();
    numbers_.resize(piece * sizeof(std::uint64_t));
    const auto write = [&](const Memory& to, const auto& number) {
      using T = decltype(number(0));
      auto* const numbers = reinterpret_cast<T*>(numbers_.data());
      for (std::uint64_t begin = 0; begin < sort.count(); begin += piece) {
        in_parallel(piece, communicator_.size(), [&](std::uint64_t from, std::uint64_t end) {
          for (std::uint64_t i = from; i < end; ++i) numbers[i] = number(first + begin + i);
        });
        queue_->write(to.slice(begin * sizeof(T), piece * sizeof(T)), numbers, piece * sizeof(T));
      }
    };
    write(operands.keys_in, [&](std::uint64_t i) { return key_of<K>(i, total, sort.keys); });
    if (sort.has_values)
      write(operands.values_in, [](std::uint64_t i) { return static_cast<V>(i); });
  }

  void time_alone(const sortium::Problem& problem, sortium::Operands operands, Row& row) {
    row.alone_why = unless_memory_lacks([&] {
      if (communicator_.rank() != 0) return;
      const sortium::Plan plan(device_, problem);
      const auto scratch = device_->allocate(std::max<std::uint64_t>(plan.scratch_bytes(), 1));
      operands.scratch = scratch->memory();
      std::vector<double> times;
      for (unsigned run = 0; run <= settings_.runs_of(row.sort); ++run) {
        const auto start = Clock::now();
        plan.run(*queue_, operands);
        queue_->finish();
        if (run > 0) times.push_back(seconds_since(start));
      }
      row.alone_seconds = median(times);
    });
  }

  // Returns why there was not enough memory, or nothing.
  std::string time_together(const sortium::Problem& problem, const sortium::Operands& operands,
                            Row& row) {
    sortium::distributed::DeviceSorter sorter(communicator_, device_);
    std::vector<std::pair<double, Report>> runs;
    for (unsigned run = 0; run <= settings_.runs_of(row.sort); ++run) {
      wait_for_all();
      const auto start = Clock::now();
      Report report;
      try {  // all ranks throw the same
        report = sorter.sort(*queue_, problem, operands, {.slices = settings_.slices});
      } catch (const sortium::Error& e) {
        if (e.code() != sortium::ErrorCode::out_of_memory) throw;
        return fmt::format(" {}", e.what());
      }
      wait_for_all();
      if (run > 0) runs.emplace_back(seconds_since(start), report);
    }
    std::ranges::sort(runs, {}, [](const auto& run) { return run.first; });
    std::tie(row.seconds, row.report) = runs[runs.size() / 2];
    return {};
  }

  // What the device finds. Values must ascend where keys tie: they are positions.
  sortium::Verdict verdict(sortium::Problem problem, const Memory& keys, const Memory& values) {
    if (problem.payload == sortium::Payload::values) problem.payload = sortium::Payload::positions;
    return sortium::verify(*queue_, problem, keys, values);
  }

  // Compares neighbours, and the checksum of all records with that of the input.
  template <class K, class V>
  std::string check(const sortium::Problem& problem, const sortium::Operands& operands,
                    std::uint64_t input_sum) {
    const auto found = verdict(problem, operands.keys_out, operands.values_out);
    // The last record of each rank must not come after the first of the next rank.
    struct Ends {
      K first, last;
      V first_value, last_value;
    };
    Ends ends{};
    const std::uint64_t last = problem.count - 1;
    const auto read = [&](const Memory& from, auto* first_to, auto* last_to) {
      queue_->read(first_to, from.slice(0, sizeof *first_to), sizeof *first_to);
      queue_->read(last_to, from.slice(last * sizeof *last_to, sizeof *last_to), sizeof *last_to);
    };
    read(operands.keys_out, &ends.first, &ends.last);
    if (operands.values_out) read(operands.values_out, &ends.first_value, &ends.last_value);
    const auto bytes = communicator_.all_gather(std::as_bytes(std::span(&ends, 1)));
    std::vector<Ends> all(bytes.size() / sizeof(Ends));
    std::memcpy(all.data(), bytes.data(), bytes.size());
    std::uint64_t unsorted = found.unsorted;
    for (std::size_t r = 1; r < all.size(); ++r)
      if (all[r].first < all[r - 1].last ||
          (operands.values_out && all[r].first == all[r - 1].last &&
           all[r].first_value <= all[r - 1].last_value))
        ++unsorted;
    std::array<std::uint64_t, 2> sums{unsorted, found.checksum - input_sum};
    communicator_.all_reduce(sums, Reduction::sum);
    return sums[0] != 0   ? fmt::format("{} neighbours are out of order", sums[0])
           : sums[1] != 0 ? "records were lost or changed"
                          : "";
  }

  void wait_for_all() {
    std::uint64_t nothing = 0;
    communicator_.all_reduce({&nothing, 1}, Reduction::max);
  }

  Communicator& communicator_;
  const Settings& settings_;
  std::shared_ptr<sortium::Device> device_;
  std::unique_ptr<sortium::Queue> queue_;
  std::vector<std::byte> numbers_;  // a piece of keys or values
};

// Returns 0 if all results are right.
int run_threads(const Settings& settings) {
  const auto devices = sortium::distributed::find_devices(settings.devices);
  const std::string name = devices.front()->info().name;
  constexpr const char* mode = "threads of one process";
  print_head(name, static_cast<unsigned>(devices.size()), mode);
  Table table(settings, name, mode);
  sortium::distributed::run_ranks(
      static_cast<unsigned>(devices.size()), [&](Communicator& threads) {
        const auto& device = devices[threads.rank()]->info();
        std::unique_ptr<Communicator> nccl;
        if (device.claimed.backend == sortium::Backend::cuda && threads.size() > 1 &&
            settings.exchange == "nccl")
          nccl = sortium::distributed::nccl_communicator(threads, device.id);
        Rank(nccl ? *nccl : threads, device.id, settings)
            .run(threads.rank() == 0 ? &table : nullptr);
      });
  return table.all_right() ? 0 : 1;
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
  Table table(settings, name, mode);
  Rank(*nccl, device, settings).run(settings.rank == 0 ? &table : nullptr);
  return table.all_right() ? 0 : 1;
}

[[noreturn]] void refuse(const std::string& message) {
  throw sortium::Error(sortium::ErrorCode::invalid_argument, message);
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> items;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(':', begin), list.size());
    items.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return items;
}

Sort parse_sort(const std::string& text) {
  const auto parts = split(text);
  const auto wrong = [&] {
    refuse(
        fmt::format("'{}' is no sort such as u32:u32:2^28:uniform; the source's first comment has "
                    "what is allowed",
                    text));
  };
  if (parts.size() != 4 || !parts[2].starts_with("2^")) wrong();
  Sort sort{.name = text};
  const auto keys = std::ranges::find(keys_names, parts[3]);
  const auto exponent = parts[2].substr(2);
  const auto [end, error] =
      std::from_chars(exponent.data(), exponent.data() + exponent.size(), sort.log2);
  const bool is_number = error == std::errc() && end == exponent.data() + exponent.size();
  constexpr std::string_view types[] = {"u32", "f32", "u64"};
  if (std::ranges::find(types, parts[0]) == std::end(types) || keys == std::end(keys_names) ||
      !is_number || sort.log2 > 40)
    wrong();
  sort.key = sortium::parse_key_type(parts[0]);
  sort.has_values = parts[1] == (parts[0] == "u64" ? "u64" : "u32");
  if (!sort.has_values && parts[1] != "none") wrong();
  sort.keys = static_cast<Keys>(keys - std::begin(keys_names));
  return sort;
}

Settings parse(int argc, char** argv) {
  Settings s;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (!option.starts_with("--")) {
      s.sorts.push_back(parse_sort(option));
      continue;
    }
    if (i + 1 == argc) refuse(fmt::format("{} needs a value", option));
    const std::string value = argv[++i];
    const auto number = [&] { return static_cast<unsigned>(std::stoul(value)); };
    if (option == "--devices")
      s.devices = value;
    else if (option == "--exchange")
      s.exchange = value;
    else if (option == "--ranks")
      s.ranks = number();
    else if (option == "--rank")
      s.rank = number();
    else if (option == "--id")
      s.id = value;
    else if (option == "--slices")
      s.slices = number();
    else if (option == "--runs")
      s.runs = number();
    else if (option == "--json")
      s.json = value;
    else
      refuse(fmt::format("unknown option {}", option));
  }
  if (s.exchange != "nccl" && s.exchange != "peer")
    refuse(fmt::format("--exchange is {}; nccl and peer are allowed", s.exchange));
  if ((s.ranks != 0 && s.id.empty()) || s.runs == 0)
    refuse("--ranks without --id, or no runs; the source's first comment has the options");
  if (s.sorts.empty()) refuse("no sort is given, such as u32:u32:2^28:uniform");
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
