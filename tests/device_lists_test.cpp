// Sorts of host memory on a list of devices: they must agree with one device's stable sort.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>
#include <sortium/distributed.hpp>

#include "expect_error.hpp"
#include "support.hpp"
#include "table.hpp"

namespace sortium::test {
namespace {

using distributed::find_devices;
using Bytes = std::vector<std::byte>;

// cpu:0 twice, and a device with kernels.
std::string mixed() { return "cpu:0,cpu:0," + test_device()->info().id; }

struct Arrays {
  Bytes keys, values;
  bool operator==(const Arrays&) const = default;
};

// Sorts the case's keys with this device or list of devices.
Arrays sorted_by(const std::string& device, const Case& c) {
  const Problem& p = c.problem;
  const unsigned key_bytes = info(p.key).bytes;
  const auto keys = make_keys(c.distribution, p, c.seed);
  const unsigned value_bytes = p.payload == Payload::none ? 0 : p.value_bytes;
  const bool reads_values = p.payload == Payload::values;
  Arrays in{Bytes(p.count * key_bytes), Bytes(reads_values ? p.count * value_bytes : 0)};
  for (std::uint64_t i = 0; i < p.count; ++i)
    std::memcpy(in.keys.data() + i * key_bytes, &keys[i], key_bytes);
  Random random(c.seed);
  for (auto& byte : in.values) byte = static_cast<std::byte>(random.next());
  Arrays out{Bytes(p.keys_out ? in.keys.size() : 0), Bytes(p.count * value_bytes)};
  const bool in_place = c.in_place && p.keys_out;
  if (in_place) out.keys = in.keys;
  if (in_place && reads_values) out.values = in.values;
  const Arrays before = in;
  sortium::sort_host(
      p,
      {in_place ? out.keys.data() : in.keys.data(), p.keys_out ? out.keys.data() : nullptr,
       !reads_values ? nullptr
       : in_place    ? out.values.data()
                     : in.values.data(),
       value_bytes != 0 ? out.values.data() : nullptr},
      {.device = device});
  EXPECT_EQ(in, before) << describe(c);
  return out;
}

TEST(DeviceLists, AgreeWithOneDevice) {
  Random random(run_seed());
  const auto table = make_table(shapes(Depth::full, static_cast<unsigned>(run_seed() % 97), false),
                                {{1, 1000, 40'000}, {}}, 0)
                         .cases;
  for (unsigned i = 0; i < 80; ++i) {
    Case c = table[random.below(table.size())];
    if (c.problem.payload == Payload::values && i % 4 == 0)
      c.problem.value_bytes = static_cast<unsigned>(1 + random.below(20));
    c.seed = random.next();
    const std::string list = i % 40 == 0 ? mixed() : "cpu:0,cpu:0,cpu:0";
    ASSERT_EQ(sorted_by(list, c), sorted_by("cpu:0", c)) << list << ": " << describe(c);
  }
}

struct Particle {
  float mass;
  std::array<unsigned char, 5> name;
  std::uint32_t index;
};

TEST(DeviceLists, SortRecordsAndColumns) {
  Random random(run_seed());
  std::vector<Particle> particles(50'000);
  for (std::uint32_t i = 0; i < particles.size(); ++i) {
    std::memset(static_cast<void*>(&particles[i]), 0, sizeof(Particle));
    particles[i].mass = static_cast<float>(random.below(50));
    particles[i].name[4] = static_cast<unsigned char>(random.below(3));
    particles[i].index = i;
  }
  const std::vector<Field> key{by(&Particle::mass, Order::descending), by(&Particle::name)};
  for (const auto& device : {mixed(), std::string("cpu:0,cpu:0")}) {
    auto expected = particles, found = particles;
    sort_records(expected, key, {.device = "cpu:0"});
    sort_records(found, key, {.device = device});
    for (std::size_t i = 0; i < found.size(); ++i)
      ASSERT_EQ(found[i].index, expected[i].index) << device << ", record " << i;
    const auto positions = argsort_records<std::uint32_t>(particles, key, {.device = device});
    for (std::size_t i = 0; i < found.size(); ++i)
      ASSERT_EQ(positions[i], expected[i].index) << device << ", record " << i;

    std::vector<std::int16_t> first(particles.size());
    std::vector<double> second(particles.size());
    std::vector<std::uint32_t> values(particles.size());
    std::ranges::generate(first, [&] { return static_cast<std::int16_t>(random.below(9)); });
    std::ranges::generate(second, [&] { return random.unit(); });
    std::iota(values.begin(), values.end(), 0u);
    auto order = values;
    std::ranges::stable_sort(order, {}, [&](auto i) { return std::pair(first[i], second[i]); });
    sort_columns({by(first), by(second)}, {column(values)}, {.device = device});
    EXPECT_EQ(values, order) << device;
  }
}

TEST(DeviceLists, SortTheCallsOfSortHpp) {
  std::vector<std::uint32_t> keys(100'000);
  Random random(run_seed());
  for (auto& key : keys) key = static_cast<std::uint32_t>(random.below(30'000));
  std::vector<std::uint64_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, std::greater{}, [&](auto i) { return keys[i]; });
  const Options options{.order = Order::descending, .device = "cpu:*,cpu:0"};
  EXPECT_EQ(argsort<std::uint64_t>(keys, options), order);
  std::vector<std::uint32_t> expected;
  for (const auto i : order) expected.push_back(keys[i]);
  auto values = std::vector<std::uint64_t>(keys.size());
  std::iota(values.begin(), values.end(), 0u);
  auto pairs = keys;
  sort(pairs, values, options);
  EXPECT_EQ(pairs, expected);
  EXPECT_EQ(values, order);
  sort(keys, options);
  EXPECT_EQ(keys, expected);
}

TEST(DeviceLists, ReportAllDevices) {
  std::vector<std::uint32_t> keys(100'000);
  const std::string name = find_device("cpu:0")->info().name;
  for (const std::size_t count : {keys.size(), std::size_t{10}}) {
    const auto report = sort_host({.key = KeyType::u32, .count = count}, {keys.data(), keys.data()},
                                  {.device = "cpu:0,cpu:0"});
    EXPECT_EQ(report.device, count == 10 ? name : name + " + " + name);
    EXPECT_FALSE(report.algorithm.empty());
    EXPECT_TRUE(report.stable);
  }
}

TEST(DeviceLists, AreParsed) {
  const auto cpu = find_device("cpu:0");
  EXPECT_EQ(find_devices("cpu:0"), std::vector{cpu});
  EXPECT_EQ(find_devices("cpu:0,cpu:*,cpu:0"), (std::vector{cpu, cpu, cpu}));
  EXPECT_EQ(find_devices(mixed()).back(), find_device(test_device()->info().id));
  const auto opencl = find_devices("opencl:*");
  EXPECT_FALSE(opencl.empty());
  for (const auto& device : opencl) EXPECT_EQ(device->info().claimed.backend, Backend::opencl);

  const auto code = ErrorCode::invalid_argument;
  for (const auto* list : {",", "cpu:0,", ",cpu:0", "cpu:0,,cpu:0"})
    expect_error([&] { (void)find_devices(list); }, code, {list, "is empty"});
  for (const auto* list : {"*", "cuda*", "cpu:0,gpu:*", "opencl:0:*"})
    expect_error([&] { (void)find_devices(list); }, code, {list, "cuda:*, opencl:*, cpu:*"});
  expect_error([] { (void)find_devices("cpu:0,nonsense"); }, ErrorCode::not_found, {"nonsense"});
  for (const auto& backend : backends())
    if (backend.backend == Backend::cuda && backend.devices == 0)
      expect_error([] { (void)find_devices("cuda:*"); }, ErrorCode::not_found,
                   {"cuda:*", backend.why});
  expect_error([] { (void)find_device("cpu:0,cpu:0"); }, ErrorCode::not_found,
               {"cpu:0,cpu:0", "only sorts of host memory take lists"});
}

TEST(DeviceLists, ErrorsNameTheListAndLeaveTheInput) {
  std::vector<std::uint32_t> keys(50'000);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<std::uint32_t>(~i * 77);
  const auto before = keys;
  const auto sorts = [&](Problem problem, Options options) {
    options.device = "cpu:0,cpu:0";
    return [&keys, problem, options] {
      sortium::sort_host(problem, {keys.data(), keys.data()}, options);
    };
  };
  const auto code = ErrorCode::invalid_argument;
  const Problem problem{.key = KeyType::u32, .count = keys.size()};
  Problem wrong = problem;
  wrong.end_bit = 33;
  expect_error(sorts(wrong, {}), code, {"bits 0:33"});
  expect_error(sorts(problem, {.algorithm = "std::sort"}), ErrorCode::not_found,
               {"std::sort", "cpu:0,cpu:0"});
  expect_error(sorts(problem, {.algorithm = "bitonic"}), code, {"bitonic", "cpu:0,cpu:0"});
  expect_error([&] { (void)topk(keys, 3, {.device = "cpu:0,cpu:0"}); }, code,
               {"cpu:0,cpu:0", "one device"});
  const std::vector<std::uint64_t> offsets{0, 5, keys.size()};
  expect_error([&] { sort_segments(keys, offsets, {.device = "cpu:0,cpu:0"}); }, code,
               {"cpu:0,cpu:0", "one device"});
  const std::atomic<bool> stop = true;
  expect_error(sorts(problem, {.stop = &stop}), ErrorCode::cancelled, {"options.stop"});
  // The second device fails, after the records were exchanged. cpu:0 has no memory of its own to
  // limit.
  if (test_device()->info().claimed.backend == Backend::host) return;
  const std::string failing = "cpu:0," + test_device()->info().id;
  expect_error(
      [&] {
        sort_host(problem, {keys.data(), keys.data()},
                  {.device = failing, .max_device_bytes = 100});
      },
      code, {"rank 1 of 2", "max_device_bytes is 100", failing});
  EXPECT_EQ(keys, before);
}

}  // namespace
}  // namespace sortium::test
