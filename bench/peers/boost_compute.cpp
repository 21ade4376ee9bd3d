// Boost.Compute's sort and sort_by_key of u32, on memory that is on the device already, by the protocol of
// `sortium bench`: repetitions are doubled until half a second has been spent sorting.
//   boost_compute [PLATFORM [COUNT,…]]      PLATFORM: part of an OpenCL platform's name; COUNT: 1000, 2^20
// Prints JSON. Exits with 1 where a result is not sorted.
#define CL_TARGET_OPENCL_VERSION 120
#include <boost/compute.hpp>
#include <boost/version.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace compute = boost::compute;
using Words = std::vector<std::uint32_t>;

namespace {

compute::device find_device(const std::string& platform_name) {
  for (const auto& platform : compute::system::platforms())
    if (platform.name().find(platform_name) != std::string::npos && platform.device_count() > 0)
      return platform.devices().front();
  throw std::runtime_error("no OpenCL platform is called '" + platform_name + "'");
}

std::vector<std::size_t> parse_counts(std::string text) {
  std::vector<std::size_t> counts;
  while (!text.empty()) {
    const std::string item = text.substr(0, text.find(','));
    text.erase(0, item.size() + 1);
    const bool power = item.rfind("2^", 0) == 0;
    const auto number = std::stoul(power ? item.substr(2) : item);
    counts.push_back(power ? std::size_t{1} << number : number);
  }
  return counts;
}

// Whether `keys` is `input` in order, and `values`, where there are some, say where each key was.
bool sorted(const Words& input, const Words& keys, const Words& values) {
  if (values.empty()) {
    Words expected = input;
    std::sort(expected.begin(), expected.end());
    return keys == expected;
  }
  std::vector<bool> seen(input.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i > 0 && keys[i] < keys[i - 1]) return false;
    if (values[i] >= input.size() || seen[values[i]] || input[values[i]] != keys[i]) return false;
    seen[values[i]] = true;
  }
  return true;
}

struct Result {
  double seconds;
  std::size_t repetitions;
  bool correct;
};

Result measure(compute::command_queue& queue, std::size_t count, bool pairs) {
  Words input(count), positions(pairs ? count : 0);
  std::mt19937 random(1);
  for (auto& key : input) key = random();
  for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = static_cast<std::uint32_t>(i);
  const compute::vector<std::uint32_t> fresh(input.begin(), input.end(), queue);
  const compute::vector<std::uint32_t> fresh_positions(positions.begin(), positions.end(), queue);
  compute::vector<std::uint32_t> keys(count, queue.get_context()), values(positions.size(), queue.get_context());

  // It sorts in place: every repetition needs the input again, and only the sort is timed.
  const auto once = [&] {
    compute::copy(fresh.begin(), fresh.end(), keys.begin(), queue);
    if (pairs) compute::copy(fresh_positions.begin(), fresh_positions.end(), values.begin(), queue);
    queue.finish();
    const auto start = std::chrono::steady_clock::now();
    if (pairs)
      compute::sort_by_key(keys.begin(), keys.end(), values.begin(), queue);
    else
      compute::sort(keys.begin(), keys.end(), queue);
    queue.finish();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };

  once();  // compiles
  double total = 0;
  std::size_t repetitions = 0;
  for (std::size_t batch = 1; total < 0.5; batch *= 2)
    for (std::size_t i = 0; i < batch; ++i, ++repetitions) total += once();

  Words out(count), out_values(positions.size());
  compute::copy(keys.begin(), keys.end(), out.begin(), queue);
  if (pairs) compute::copy(values.begin(), values.end(), out_values.begin(), queue);
  return {total / static_cast<double>(repetitions), repetitions, sorted(input, out, out_values)};
}

}  // namespace

int main(int argc, char** argv) try {
  const auto device = find_device(argc > 1 ? argv[1] : "NVIDIA");
  const auto counts = parse_counts(argc > 2 ? argv[2] : "2^20,2^22,2^24");
  const compute::context context(device);
  compute::command_queue queue(context, device);

  std::printf("{\"peer\": \"Boost.Compute %d.%d\", \"device\": \"%s\", \"driver\": \"%s\", \"results\": [",
              BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000, device.name().c_str(),
              device.driver_version().c_str());
  bool all_correct = true;
  const char* separator = "";
  for (const bool pairs : {false, true})
    for (const auto count : counts) {
      const Result r = measure(queue, count, pairs);
      all_correct = all_correct && r.correct;
      std::printf("%s\n  {\"keys\": \"u32\", \"payload\": \"%s\", \"count\": %zu, \"seconds\": %.9g, "
                  "\"mkeys_per_second\": %.6g, \"repetitions\": %zu, \"correct\": %s}",
                  separator, pairs ? "u32" : "none", count, r.seconds, static_cast<double>(count) / r.seconds * 1e-6,
                  r.repetitions, r.correct ? "true" : "false");
      separator = ",";
    }
  std::printf("\n]}\n");
  return all_correct ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "boost_compute: %s\n", error.what());
  return 1;
}
