#include "planned_sources.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <sortium/sortium.hpp>

#include "algorithms/algorithm.hpp"
#include "kernels/probe.hpp"
#include "sort/self_test.hpp"

namespace builder {

namespace {

using namespace sortium;

class NoKernel final : public Kernel {
 public:
  std::string_view name() const override { return "none"; }
};

class NoModule final : public Module {
 public:
  std::unique_ptr<Kernel> kernel(const std::string&) override {
    return std::make_unique<NoKernel>();
  }
};

class NoBuffer final : public Buffer {
 public:
  Memory memory() const override { return {}; }
};

// A queue that runs nothing. It reads zeros, which most kernels of the probe store if they find no
// error.
class NoQueue final : public Queue {
 public:
  explicit NoQueue(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  Device& device() const override { return *device_; }
  void launch(const Launch&) override {}
  void copy(Memory, Memory, std::uint64_t, std::string_view) override {}
  void fill(Memory, std::uint32_t, std::uint64_t, std::string_view) override {}
  void flush() override {}
  void write(Memory, const void*, std::uint64_t) override {}
  void read(void* to, Memory, std::uint64_t bytes) override { std::memset(to, 0, bytes); }
  void finish() override {}
  void begin_trace() override {}
  std::vector<TraceEntry> end_trace() override { return {}; }
  void* native() const override { return nullptr; }

 private:
  std::shared_ptr<Device> device_;
};

// Collects the sources that it is asked to compile.
class NotingDevice final : public Device {
 public:
  explicit NotingDevice(const Architecture& architecture) {
    info_.id = "cuda:none";
    info_.platform = "CUDA";
    info_.claimed = claimed_by(architecture);
  }
  const DeviceInfo& info() const override { return info_; }
  std::unique_ptr<Module> compile(const std::string& source, std::vector<std::byte>&) override {
    const std::lock_guard lock(mutex_);  // plans build their modules at the same time
    sources.insert(source);
    return std::make_unique<NoModule>();
  }
  std::unique_ptr<Buffer> allocate(std::uint64_t) override { return std::make_unique<NoBuffer>(); }
  std::unique_ptr<Buffer> adopt(void*, std::uint64_t) override { return nullptr; }
  void sync_host(Queue&, Buffer&) override {}
  std::unique_ptr<Queue> make_queue(bool) override {
    return std::make_unique<NoQueue>(shared_from_this());
  }
  std::uint64_t free_memory() override { return info_.claimed.global_memory; }
  std::unique_ptr<Module> load(std::span<const std::byte>) override {
    return std::make_unique<NoModule>();
  }
  void* native_context() override { return nullptr; }

  std::set<std::string> sources;

 private:
  std::mutex mutex_;
  DeviceInfo info_;
};

// Payloads, each with the bytes of a value.
using Payloads = std::vector<std::pair<Payload, unsigned>>;

// Returns the numbers of records for which kernels are built. A device without a compiler chooses
// among few parameters. They change so seldom with the number of records that these numbers meet
// all of them below 2^30.
// tests/built_kernels_test.cpp tries others. Longer lists have kernels of their own, for counts of
// more bits.
std::vector<std::uint64_t> walked_counts() {
  constexpr unsigned most_log2 = 30, of_octave = 4;
  std::vector<std::uint64_t> counts{1};
  for (unsigned log2 = 1; log2 < most_log2; ++log2) {
    const std::uint64_t from = std::uint64_t{1} << log2;
    counts.push_back(from);
    counts.push_back(from + 1);
    for (unsigned i = 1; i < of_octave && from > 4096; ++i)
      counts.push_back(from + from / of_octave * i);
  }
  counts.push_back((std::uint64_t{1} << most_log2) - 1);
  return counts;
}
// Numbers of records in segments, and of each segment on average: few of them have other kernels.
constexpr std::uint64_t segmented_counts[] = {1u << 12, 1u << 16, 1u << 20, 1u << 24, 1u << 28};
constexpr std::uint64_t records_of_segment[] = {10, 100};
// Numbers of records of which the first ones are selected: powers of two.
constexpr std::uint64_t least_topk = 1u << 4, most_topk = 1u << 30;
constexpr std::uint64_t limits[] = {1, 10, 100, 1000, 10'000};

Problem kind_of(KeyType type, std::pair<Payload, unsigned> payload, Order order) {
  return {.key = type,
          .payload = payload.first,
          .value_bytes = payload.second,
          .keys_out = payload.first != Payload::positions,
          .order = order};
}

void build(NotingDevice& device, const Capabilities& found, const Planned& planned) {
  planned.sorter->build(device, found);
  if (const auto test = plan_self_test(planned, found); test.sorter != nullptr)
    test.sorter->build(device, found);
}

// Builds the kernels of the algorithms that `auto` selects: for sorts, segments and first records.
void build_auto(NotingDevice& device, const Capabilities& found, KeyType type) {
  const auto accept = [](const Planned&) { return std::string(); };
  const auto build_one = [&](const Problem& p) {
    build(device, found, plan_judged(p, found, {}, accept));
  };
  const auto build_columns = [&](Problem p) {
    p.stride = p.segments;
    build_one(p);
  };
  const Payloads payloads{{Payload::none, 4},
                          {Payload::values, 4},
                          {Payload::values, info(type).bytes},
                          {Payload::positions, 4}};
  for (const auto& payload : payloads) {
    Problem problem = kind_of(type, payload, Order::ascending);
    for (const auto count : walked_counts()) {
      problem.count = count;
      build_one(problem);
    }
    for (const auto count : segmented_counts)
      for (const auto records : records_of_segment)
        for (const unsigned offset_bytes : {0, 4, 8}) {
          problem.segments = count / records;
          problem.count = offset_bytes == 0 ? problem.segments * records : count;
          problem.offset_bytes = offset_bytes;
          build_one(problem);
          if (offset_bytes == 0) build_columns(problem);
        }
    problem.segments = 0;
    for (problem.count = least_topk; problem.count <= most_topk; problem.count *= 2)
      for (const auto limit : limits) {
        problem.limit = std::min(limit, problem.count);
        build_one(problem);
      }
  }
  // Positions of 8 bytes are made from those of 4 bytes.
  Problem wide = kind_of(type, {Payload::positions, 8}, Order::ascending);
  wide.count = least_topk;
  build_one(wide);
  wide.segments = segmented_counts[0] / records_of_segment[0];
  wide.count = wide.segments * records_of_segment[0];
  wide.offset_bytes = 0;
  build_columns(wide);
}

// Builds the kernels of lsd. They are few, and fit all counts and GPUs. A machine without NVRTC
// uses lsd if the package lacks the kernels of faster algorithms.
void build_lsd(NotingDevice& device, const Capabilities& found, KeyType type) {
  const auto& lsd = find_algorithm("lsd");
  const Payloads payloads{{Payload::none, 4}, {Payload::values, 4}, {Payload::values, 8}};
  for (const auto& payload : payloads)
    for (const auto order : {Order::ascending, Order::descending}) {
      Problem problem = kind_of(type, payload, order);
      problem.count = 1u << 20;
      build(device, found, plan_algorithm(lsd, problem, found));
    }
}

}  // namespace

Capabilities claimed_by(const Architecture& architecture) {
  Capabilities c;  // as in src/device/cuda.cpp
  c.backend = Backend::cuda;
  c.kind = DeviceKind::gpu;
  c.compute_units = architecture.compute_units;
  c.max_work_group = 1024;
  c.local_memory = 49152;
  c.local_struct = architecture.local_struct;
  c.cluster_groups = architecture.cluster_groups;
  c.global_memory = c.max_allocation = std::uint64_t{1} << 40;
  c.atomics64 = true;
  c.sub_group_words = SubGroupWords::cuda;
  c.sub_group_size = 32;
  c.compiles = false;
  return c;
}

std::set<std::string> planned_sources(const Architecture& architecture,
                                      const std::vector<KeyType>& types) {
  const auto device = std::make_shared<NotingDevice>(architecture);
  Capabilities found = kernels::probe(*device);
  found.forward_progress = true;
  for (const auto type : types) {
    build_auto(*device, found, type);
    build_lsd(*device, found, type);
  }
  return device->sources;
}

}  // namespace builder
