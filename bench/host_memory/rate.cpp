// The rate of sorts of host memory on a GPU, on cpu:0, and where `auto` sorts them. Every result is
// verified, outside of the timed regions.
//
//   host-memory-rate [OPTION…]
//     --device ID        default: cuda:0; a second column has cpu:0, unless ID is cpu:0
//     --log2 LIST        log2 of the records; default 28,30
//     --cases LIST       of u32, u32+u32, argsort, argsort-new, u64-ranges; default: all
//     --memory LIST      of pageable and pinned; default: both on CUDA, else pageable
//     --runs N           sorts that are timed, after 1 that is not; default 3
//
//   u32, u32+u32    sorted in place
//   argsort         of u32 keys, u32 positions go to memory that was written before
//   argsort-new     the same with a new vector: sortium::argsort(keys)
//   u64-ranges      u64 keys, sorted in place with a quarter of their bytes as device memory
//
// Keys are random. The sorts take turns; a figure is the median. GB/s are those of the operands
// that go in and of those that come out, divided by two. "of best" is the time of the faster of
// both devices divided by that of `auto`. Pinned memory is sorted on the device only.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <sortium/sortium.hpp>
#include <string>
#include <vector>

#include "device/cuda_api.hpp"
#include "protocol/basics.hpp"
#include "protocol/distributions.hpp"
#include "sort/all_cores.hpp"

namespace {

using namespace sortium;

struct Settings {
  std::string device = "cuda:0";
  std::vector<std::string> log2{"28", "30"},
      cases{"u32", "u32+u32", "argsort", "argsort-new", "u64-ranges"}, memory{"pageable", "pinned"};
  unsigned runs = 3;
};

// Calls work(begin, end) for pieces of 0 to count on all cores.
template <class Work>
void in_parallel(std::uint64_t count, const Work& work) {
  constexpr std::uint64_t piece = std::uint64_t{1} << 20;
  on_all_cores((count + piece - 1) / piece,
               [&](std::uint64_t i) { work(i * piece, std::min(count, (i + 1) * piece)); });
}

// An array in pageable or pinned memory. Its pages have been touched.
class Array {
 public:
  Array(std::uint64_t bytes, Device* pinned_by) : pinned_by_(pinned_by) {
    if (bytes == 0) return;
    if (pinned_by == nullptr) {
      pageable_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
      data_ = pageable_.get();
    } else {
      in_context([&](const cuda::Driver& driver) {
        void* memory = nullptr;
        if (driver.host_alloc(&memory, bytes, 0) != cuda::success)
          throw Error(ErrorCode::out_of_memory, fmt::format("no {} bytes of pinned memory", bytes));
        data_ = static_cast<std::byte*>(memory);
      });
    }
    in_parallel(bytes, [&](std::uint64_t begin, std::uint64_t end) {
      std::memset(data_ + begin, 0, end - begin);
    });
  }
  ~Array() {
    if (pinned_by_ != nullptr && data_ != nullptr)
      in_context([&](const cuda::Driver& driver) { driver.host_free(data_); });
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  template <class T>
  [[nodiscard]] T* as() const {
    return reinterpret_cast<T*>(data_);
  }

 private:
  template <class Call>
  void in_context(const Call& call) const {
    std::string why;
    const auto* const driver = cuda::driver(why);
    if (driver == nullptr) throw Error(ErrorCode::unsupported, why);
    cuda::Context context = static_cast<cuda::Context>(pinned_by_->native_context());
    driver->ctx_push(context);
    call(*driver);
    driver->ctx_pop(&context);
  }

  Device* pinned_by_;
  std::unique_ptr<std::byte[]> pageable_;
  std::byte* data_ = nullptr;
};

void copy_bytes(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  in_parallel(bytes, [&](std::uint64_t begin, std::uint64_t end) {
    std::memcpy(to + begin, from + begin, end - begin);
  });
}

std::uint64_t hash(std::uint64_t x) {  // the last steps of SplitMix64
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

template <class K>
std::uint64_t sum_of_hashes(const K* keys, std::uint64_t count) {
  std::atomic<std::uint64_t> sum{0};
  in_parallel(count, [&](std::uint64_t begin, std::uint64_t end) {
    std::uint64_t mine = 0;
    for (auto i = begin; i < end; ++i) mine += hash(keys[i]);
    sum += mine;
  });
  return sum;
}

// Returns true if the keys are in order, and are those of the source.
template <class K>
bool are_sorted(const K* keys, const K* source, std::uint64_t count) {
  std::atomic<bool> good{true};
  in_parallel(count - 1, [&](std::uint64_t begin, std::uint64_t end) {
    for (auto i = begin; i < end; ++i)
      if (keys[i + 1] < keys[i]) good = false;
  });
  return good && sum_of_hashes(keys, count) == sum_of_hashes(source, count);
}

// Returns true if source[positions[i]] ascends with i, ties by position.
bool are_positions(const std::uint32_t* positions, const std::uint32_t* source,
                   std::uint64_t count) {
  std::atomic<bool> good{true};
  in_parallel(count - 1, [&](std::uint64_t begin, std::uint64_t end) {
    for (auto i = begin; i < end; ++i) {
      const auto a = positions[i], b = positions[i + 1];
      if (a >= count || b >= count || source[b] < source[a] || (source[b] == source[a] && b <= a))
        good = false;
    }
  });
  return good;
}

struct Operation {
  std::uint64_t bytes = 0;  // in and out, divided by two
  std::function<void()> prepare{};
  std::function<HostReport(const Options&)> sort{};
  std::function<bool()> is_right{};
};

struct Time {
  double seconds = 0;
  std::string device;  // the one that sorted
  bool right = false;
};

// Sorts on each of the devices by turns.
std::vector<Time> measure(const Operation& operation, const std::vector<Options>& devices,
                          unsigned runs) {
  std::vector<std::vector<double>> seconds(devices.size());
  std::vector<Time> times(devices.size());
  for (unsigned run = 0; run <= runs; ++run)
    for (std::size_t d = 0; d < devices.size(); ++d) {
      operation.prepare();
      app::Stopwatch watch;
      const auto report = operation.sort(devices[d]);
      if (run != 0) seconds[d].push_back(watch.lap());
      times[d].device = report.device;
      if (run == runs) times[d].right = operation.is_right();
    }
  for (std::size_t d = 0; d < devices.size(); ++d) {
    std::ranges::sort(seconds[d]);
    times[d].seconds = seconds[d][seconds[d].size() / 2];
  }
  return times;
}

Options options_of(const std::string& device, const std::string& name, std::uint64_t bytes) {
  Options options{.device = device};
  if (name == "u64-ranges") options.max_device_bytes = bytes / 4;
  return options;
}

// Prints a row. Returns true if all results were right.
bool measure_case(const Settings& settings, const std::string& name, std::uint64_t count,
                  const std::shared_ptr<Device>& device, bool is_pinned) {
  Device* const pinned_by = is_pinned ? device.get() : nullptr;
  const bool is_wide = name == "u64-ranges", is_argsort = name.starts_with("argsort"),
             has_values = name == "u32+u32";
  const std::uint64_t key_bytes = count * (is_wide ? 8 : 4);
  const std::uint64_t value_bytes = has_values || name == "argsort" ? count * 4 : 0;
  const Array source(key_bytes, nullptr), keys(key_bytes, pinned_by),
      values(value_bytes, pinned_by);
  app::make_keys("bits", is_wide ? KeyType::u64 : KeyType::u32, count, 0, count,
                 source.as<std::byte>());
  if (is_argsort) copy_bytes(keys.as<std::byte>(), source.as<std::byte>(), key_bytes);
  auto* const u32 = keys.as<std::uint32_t>();
  auto* const u64 = keys.as<std::uint64_t>();
  auto* const positions = values.as<std::uint32_t>();
  const std::span span(u32, is_wide ? 0 : count);

  std::vector<std::uint32_t> made;
  Operation operation{.bytes = is_argsort ? count * 4 : key_bytes + value_bytes};
  operation.prepare = [&] {
    made = {};
    if (!is_argsort) copy_bytes(keys.as<std::byte>(), source.as<std::byte>(), key_bytes);
    if (has_values)
      in_parallel(count, [&](std::uint64_t begin, std::uint64_t end) {
        for (auto i = begin; i < end; ++i) positions[i] = static_cast<std::uint32_t>(i);
      });
  };
  operation.sort = [&](const Options& options) {
    if (is_wide) return sort_host({.key = KeyType::u64, .count = count}, {u64, u64}, options);
    if (has_values) return sortium::sort(span, std::span(positions, count), options);
    if (!is_argsort) return sortium::sort(span, options);
    if (name == "argsort-new") {
      made = argsort(span, options);
      return HostReport{};
    }
    return sort_host(
        {.key = KeyType::u32, .count = count, .payload = Payload::positions, .keys_out = false},
        {u32, nullptr, nullptr, positions}, options);
  };
  operation.is_right = [&] {
    const auto* const from = source.as<std::uint32_t>();
    if (is_wide) return are_sorted(u64, source.as<std::uint64_t>(), count);
    if (name == "argsort-new")
      return made.size() == count && are_positions(made.data(), from, count);
    if (is_argsort) return are_positions(positions, from, count);
    return are_sorted(u32, from, count) && (!has_values || are_positions(positions, from, count));
  };

  std::vector<Options> devices{options_of(device->info().id, name, key_bytes)};
  const bool has_second = !is_pinned && device->info().id != "cpu:0";
  if (has_second)
    for (const auto* id : {"cpu:0", "auto"}) devices.push_back(options_of(id, name, key_bytes));
  const auto times = measure(operation, devices, settings.runs);
  const auto rate = [&](const Time& time) {
    return static_cast<double>(operation.bytes) / time.seconds * 1e-9;
  };
  fmt::print("{:12} {:9} 2^{:<5.4g} {:>9.2f} {:>7.2f}", name, is_pinned ? "pinned" : "pageable",
             std::log2(count), times[0].seconds * 1e3, rate(times[0]));
  if (has_second)
    fmt::print(" {:>9.2f} {:>7.2f} {:>9.2f} {:>8.2f}  {}", times[1].seconds * 1e3, rate(times[1]),
               times[2].seconds * 1e3,
               std::min(times[0].seconds, times[1].seconds) / times[2].seconds, times[2].device);
  const bool right = std::ranges::all_of(times, &Time::right);
  fmt::print("{}\n", right ? "" : "  WRONG");
  std::fflush(stdout);
  return right;
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
    if (option == "--device")
      s.device = value;
    else if (option == "--log2")
      s.log2 = split(value);
    else if (option == "--cases")
      s.cases = split(value);
    else if (option == "--memory")
      s.memory = split(value);
    else if (option == "--runs")
      s.runs = static_cast<unsigned>(std::stoul(value));
    else
      throw Error(ErrorCode::invalid_argument, fmt::format("unknown option {}", option));
  }
  if (argc % 2 == 0 || s.runs == 0)
    throw Error(
        ErrorCode::invalid_argument,
        "an option without a value, or no runs; the source's first comment has the options");
  return s;
}

int run(const Settings& settings) {
  const auto device = find_device(settings.device);
  fmt::print("{}, {} cores, medians of {}\n", device->info().name, all_cores(), settings.runs);
  fmt::print("{:12} {:9} {:7} {:>9} {:>7} {:>9} {:>7} {:>9} {:>8}\n", "case", "memory", "records",
             "ms", "GB/s", "cpu:0 ms", "GB/s", "auto ms", "of best");
  bool all_right = true;
  for (const auto& log2 : settings.log2)
    for (const auto& name : settings.cases)
      for (const auto& memory : settings.memory) {
        const bool is_pinned = memory == "pinned";
        if (is_pinned && (device->info().claimed.backend != Backend::cuda || name == "argsort-new"))
          continue;
        const std::uint64_t count = std::uint64_t{1} << std::stoul(log2);
        all_right = measure_case(settings, name, count, device, is_pinned) && all_right;
      }
  return all_right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(parse(argc, argv));
  } catch (const std::exception& error) {
    fmt::print(stderr, "host-memory-rate: {}\n", error.what());
    return 1;
  }
}
