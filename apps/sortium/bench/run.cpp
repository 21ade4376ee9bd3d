#include "bench/run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <numeric>
#include <thread>

#include "cli/common.hpp"

namespace app {

using sortium::Operands;
using sortium::Payload;
using sortium::Problem;

namespace {

class DeviceBench final : public Bench {
 public:
  explicit DeviceBench(std::shared_ptr<sortium::Device> device)
      : device_(std::move(device)),
        queue_(device_->make_queue()),
        tracing_queue_(device_->make_queue(true)) {}

  std::string id() const override { return device_->info().id; }
  std::string name() const override { return device_->info().name; }
  std::string driver() const override { return device_->info().driver; }
  std::string language() const override { return device_->info().language; }
  double copy_rate(double min_seconds) override { return app::copy_rate(*queue_, min_seconds); }

  Measurement measure(const std::string& algorithm, const std::string& parameters,
                      const Case& c) override {
    const sortium::Plan plan(device_, c.problem, {algorithm, parameters});
    DeviceSort sort;
    sort.scratch_bytes = plan.scratch_bytes();
    sort.stable = plan.algorithm().stable;
    sort.run_length = plan.run_length();
    sort.sort = [&](const Operands& o) { plan.run(*queue_, o); };
    sort.profile = [&](const Operands& o) { return plan.profile(*tracing_queue_, o); };
    Measurement m = app::measure(*queue_, sort, c);
    m.parameters = plan.parameters();
    m.bytes_moved = plan.bytes_moved();
    return m;
  }

 private:
  std::shared_ptr<sortium::Device> device_;
  std::unique_ptr<sortium::Queue> queue_;
  std::unique_ptr<sortium::Queue>
      tracing_queue_;  // separate, because profiling slows down a queue of some OpenCL drivers
};

class HostBench final : public Bench {
 public:
  std::string id() const override { return "host"; }
  std::string name() const override {
    return fmt::format("the host, {} threads", std::thread::hardware_concurrency());
  }
  std::string driver() const override { return fmt::format("libstdc++ {}", _GLIBCXX_RELEASE); }
  std::string language() const override { return fmt::format("C++, compiler {}", __VERSION__); }

  double copy_rate(double min_seconds) override {
    constexpr std::uint64_t bytes = std::uint64_t{256} << 20;
    Bytes from(bytes), to(bytes);
    std::memset(from.data(), 1, bytes);
    const auto once = [&] {
      Stopwatch watch;
      std::memcpy(to.data(), from.data(), bytes);
      return watch.lap();
    };
    once();
    const Measurement m = repeat(min_seconds, once);
    return m.repetitions == 0 ? 0 : 2.0 * static_cast<double>(bytes) / m.seconds;
  }

  Measurement measure(const std::string& algorithm, const std::string&, const Case& c) override {
    const Problem& p = c.problem;
    const Peer& peer = *find_peer(algorithm);
    const std::uint64_t keys = p.count * sortium::info(p.key).bytes;
    const std::uint64_t values = p.payload == Payload::none ? 0 : p.count * p.value_bytes;
    // The sort needs the input, the output, and as much again if it is stable.
    const std::uint64_t need = (values == 0 ? 3 : 5) * (keys + values);
    const auto have = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                      static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) / 10 * 9;
    if (need > have) out_of_memory(need, have);

    Bytes keys_in(keys), keys_out(keys), values_in(values), values_out(values);
    c.keys(0, p.count, keys_in.data());
    auto* const positions = reinterpret_cast<std::uint32_t*>(values_in.data());
    std::iota(positions, positions + values / 4, 0u);
    const auto sort = make_host_sort(
        peer, p, {keys_in.data(), keys_out.data(), values_in.data(), values_out.data()});
    sort->run();
    Measurement m = repeat(c.min_seconds, [&] { return sort->run(); });
    sort->store();
    const bool stable = p.payload != Payload::none;
    m.correct = in_order(p, keys_out, values_out, stable) &&
                checksum(p, keys_in, values_in) == checksum(p, keys_out, values_out);
    return m;
  }

 private:
  static bool in_order(const Problem& p, const Bytes& keys, const Bytes& values, bool stable) {
    const unsigned width = sortium::info(p.key).bytes;
    for (std::uint64_t i = 1; i < p.count; ++i) {
      const std::uint64_t a = rank(p, element(keys.data(), width, i - 1)),
                          b = rank(p, element(keys.data(), width, i));
      if (a > b ||
          (stable && a == b && element(values.data(), 4, i - 1) >= element(values.data(), 4, i)))
        return false;
    }
    return true;
  }

  // Returns a checksum of the records that does not depend on their order.
  static std::uint64_t checksum(const Problem& p, const Bytes& keys, const Bytes& values) {
    const unsigned width = sortium::info(p.key).bytes;
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < p.count; ++i) {
      std::uint64_t x = element(keys.data(), width, i) * 0x9e3779b97f4a7c15u;
      if (p.payload != Payload::none) x += element(values.data(), 4, i) * 0xc2b2ae3d27d4eb4fu;
      x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
      sum += x ^ x >> 32;
    }
    return sum;
  }
};

}  // namespace

std::unique_ptr<Bench> make_device_bench(std::shared_ptr<sortium::Device> device) {
  return std::make_unique<DeviceBench>(std::move(device));
}
std::unique_ptr<Bench> make_host_bench() { return std::make_unique<HostBench>(); }

}  // namespace app
