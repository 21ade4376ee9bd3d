#include "bench_run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <thread>
#include <vector>

#include <sortium/verify.hpp>

#include "bench_data.hpp"
#include "common.hpp"

namespace app {

using sortium::Memory;
using sortium::Payload;
using sortium::Problem;

namespace {

volatile std::sig_atomic_t signalled = 0;

struct Repeated {
  double seconds = 0;
  std::uint64_t count = 0;
};

// 1, 2, 4, 8 … sorts until `min_seconds` have passed, as in document 000. `one` sorts once, waits for the end, and
// returns the seconds that count.
template <class Sort>
Repeated repeat(double min_seconds, const Sort& one) {
  Repeated r;
  for (std::uint64_t batch = 1; r.seconds < min_seconds && !interrupted(); batch *= 2)
    for (std::uint64_t i = 0; i < batch && !interrupted(); ++i) {
      r.seconds += one();
      ++r.count;
    }
  return r;
}

[[noreturn]] void out_of_memory(std::uint64_t need, std::uint64_t have) {
  throw sortium::Error(sortium::ErrorCode::out_of_memory,
                       fmt::format("needs {}, there are {}", human_bytes(need), human_bytes(have)));
}

std::uint64_t key_bytes(const Problem& p) { return p.count * sortium::info(p.key).bytes; }
std::uint64_t value_bytes(const Problem& p) { return p.payload == Payload::none ? 0 : p.count * p.value_bytes; }

class DeviceBench final : public Bench {
 public:
  explicit DeviceBench(std::shared_ptr<sortium::Device> device)
      : device_(std::move(device)), queue_(device_->make_queue()) {}

  std::string id() const override { return device_->info().id; }
  std::string name() const override { return device_->info().name; }
  std::string driver() const override { return device_->info().driver; }
  std::string language() const override { return device_->info().language; }
  sortium::Device* device() override { return device_.get(); }

  double copy_rate() override {
    const auto& c = device_->info().claimed;
    // Far more than caches hold, far less than memory.
    const std::uint64_t bytes =
        std::min({std::uint64_t{256} << 20, c.max_allocation, device_->free_memory() / 4}) / 512 * 512;
    const auto from = device_->allocate(bytes), to = device_->allocate(bytes);
    queue_->fill(from->memory(), 1, bytes);
    const auto once = [&] {
      Stopwatch watch;
      queue_->copy(to->memory(), from->memory(), bytes);
      queue_->finish();
      return watch.lap();
    };
    once();
    const Repeated r = repeat(0.2, once);
    return r.count == 0 ? 0 : 2.0 * static_cast<double>(bytes * r.count) / r.seconds;
  }

  Measurement measure(const std::string& algorithm, const std::string& parameters, const Case& c) override {
    const Problem& p = c.problem;
    const sortium::Plan plan(device_, p, {algorithm, parameters});
    const std::uint64_t keys = key_bytes(p), values = value_bytes(p);
    const std::uint64_t need = 2 * (keys + values) + plan.scratch_bytes(), have = device_->free_memory();
    if (need > have) out_of_memory(need, have);
    const auto most = device_->info().claimed.max_allocation;
    if (const auto largest = std::max({keys, values, plan.scratch_bytes()}); largest > most) out_of_memory(largest, most);

    const auto keys_in = device_->allocate(keys), keys_out = device_->allocate(keys);
    const auto values_in = values == 0 ? nullptr : device_->allocate(values);
    const auto values_out = values == 0 ? nullptr : device_->allocate(values);
    const auto scratch = device_->allocate(plan.scratch_bytes());
    const auto memory = [](const auto& buffer) { return buffer ? buffer->memory() : Memory{}; };
    const sortium::Operands operands{memory(keys_in), memory(keys_out), memory(values_in), memory(values_out),
                                     memory(scratch)};
    fill(c, operands);

    // From the same input to the same output again and again: every sort gets unsorted records, and no copy is made.
    const auto once = [&] {
      Stopwatch watch;
      plan.run(*queue_, operands);
      queue_->finish();
      return watch.lap();
    };
    once();
    // What the sort above left must not pass for the result of those that are timed.
    queue_->fill(operands.keys_out, 0xa5a5a5a5, keys);
    queue_->finish();
    const Repeated r = repeat(c.min_seconds, once);
    return {r.count == 0 ? 0 : r.seconds / static_cast<double>(r.count), r.count,
            r.count != 0 && correct(plan, operands), plan.parameters(), plan.run_length()};
  }

 private:
  void fill(const Case& c, const sortium::Operands& operands) {
    const Problem& p = c.problem;
    const unsigned width = sortium::info(p.key).bytes;
    constexpr std::uint64_t step = std::uint64_t{1} << 22;
    Bytes part(std::min(step, p.count) * 8);
    for (std::uint64_t first = 0; first < p.count; first += step) {
      const std::uint64_t n = std::min(step, p.count - first);
      make_keys(c.distribution, p.key, p.count, first, n, part.data());
      queue_->write(operands.keys_in.slice(first * width, n * width), part.data(), n * width);
      if (!operands.values_in) continue;
      auto* const values = reinterpret_cast<std::uint32_t*>(part.data());
      for (std::uint64_t i = 0; i < n; ++i) values[i] = static_cast<std::uint32_t>(first + i);
      queue_->write(operands.values_in.slice(first * 4, n * 4), values, n * 4);
    }
  }

  bool correct(const sortium::Plan& plan, const sortium::Operands& o) {
    Problem p = plan.problem();
    // The values are positions, so that one can see whether ties kept their order.
    if (p.payload == Payload::values && plan.algorithm().stable) p.payload = Payload::positions;
    const auto before = verify(*queue_, p, o.keys_in, o.values_in);
    const auto after = verify(*queue_, p, o.keys_out, o.values_out, plan.run_length());
    return after.unsorted == 0 && before.checksum == after.checksum;
  }

  std::shared_ptr<sortium::Device> device_;
  std::unique_ptr<sortium::Queue> queue_;
};

class HostBench final : public Bench {
 public:
  std::string id() const override { return "host"; }
  std::string name() const override {
    return fmt::format("the host, {} threads", std::thread::hardware_concurrency());
  }
  std::string driver() const override { return fmt::format("libstdc++ {}", _GLIBCXX_RELEASE); }
  std::string language() const override { return fmt::format("C++, compiler {}", __VERSION__); }

  double copy_rate() override {
    constexpr std::uint64_t bytes = std::uint64_t{256} << 20;
    Bytes from(bytes), to(bytes);
    std::memset(from.data(), 1, bytes);
    const auto once = [&] {
      Stopwatch watch;
      std::memcpy(to.data(), from.data(), bytes);
      return watch.lap();
    };
    once();
    const Repeated r = repeat(0.2, once);
    return r.count == 0 ? 0 : 2.0 * static_cast<double>(bytes * r.count) / r.seconds;
  }

  Measurement measure(const std::string& algorithm, const std::string&, const Case& c) override {
    const Problem& p = c.problem;
    const Peer& peer = *find_peer(algorithm);
    const std::uint64_t keys = key_bytes(p), values = value_bytes(p);
    // Records beside the input and the output, and as many again for a stable sort.
    const std::uint64_t need = (values == 0 ? 3 : 5) * (keys + values);
    const auto have = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                      static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) / 10 * 9;
    if (need > have) out_of_memory(need, have);

    Bytes keys_in(keys), keys_out(keys), values_in(values), values_out(values);
    make_keys(c.distribution, p.key, p.count, 0, p.count, keys_in.data());
    for (std::uint64_t i = 0; i < values / 4; ++i)
      reinterpret_cast<std::uint32_t*>(values_in.data())[i] = static_cast<std::uint32_t>(i);
    const auto sort = make_host_sort(peer, p, {keys_in.data(), keys_out.data(), values_in.data(), values_out.data()});
    sort->run();
    const Repeated r = repeat(c.min_seconds, [&] { return sort->run(); });
    sort->store();
    const bool stable = p.payload != Payload::none;
    return {r.count == 0 ? 0 : r.seconds / static_cast<double>(r.count), r.count,
            in_order(p, keys_out, values_out, stable) &&
                checksum(p, keys_in, values_in) == checksum(p, keys_out, values_out),
            {}, 0};
  }

 private:
  static bool in_order(const Problem& p, const Bytes& keys, const Bytes& values, bool stable) {
    const unsigned width = sortium::info(p.key).bytes;
    for (std::uint64_t i = 1; i < p.count; ++i) {
      const std::uint64_t a = rank(p, element(keys.data(), width, i - 1)), b = rank(p, element(keys.data(), width, i));
      if (a > b || (stable && a == b && element(values.data(), 4, i - 1) >= element(values.data(), 4, i))) return false;
    }
    return true;
  }

  // Of the records, whatever their order.
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

bool interrupted() { return signalled != 0; }

void keep_results_on_signals() {
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction action {};
    action.sa_handler = [](int) { signalled = 1; };
    action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
    ::sigaction(signal, &action, nullptr);
  }
}

std::unique_ptr<Bench> make_device_bench(std::shared_ptr<sortium::Device> device) {
  return std::make_unique<DeviceBench>(std::move(device));
}
std::unique_ptr<Bench> make_host_bench() { return std::make_unique<HostBench>(); }

}  // namespace app
