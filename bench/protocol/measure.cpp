#include "protocol/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <numeric>
#include <sortium/verify.hpp>

#include "protocol/basics.hpp"

namespace app {

using sortium::Memory;
using sortium::Operands;
using sortium::Payload;
using sortium::Problem;
using sortium::Queue;

namespace {

volatile std::sig_atomic_t signalled = 0;

double sum_of(const std::vector<sortium::Plan::Phase>& phases) {
  return std::accumulate(phases.begin(), phases.end(), 0.0,
                         [](double sum, const auto& p) { return sum + p.seconds; });
}

void fill(Queue& queue, const Case& c, const Operands& operands) {
  const Problem& p = c.problem;
  const unsigned width = sortium::info(p.key).bytes;
  constexpr std::uint64_t step = std::uint64_t{1} << 22;
  std::vector<std::uint64_t> part(std::min(step, p.count));
  for (std::uint64_t first = 0; first < p.count; first += step) {
    const std::uint64_t n = std::min(step, p.count - first);
    c.keys(first, n, part.data());
    queue.write(operands.keys_in.slice(first * width, n * width), part.data(), n * width);
    if (!operands.values_in) continue;
    auto* const values = reinterpret_cast<std::uint32_t*>(part.data());
    std::iota(values, values + n, static_cast<std::uint32_t>(first));
    queue.write(operands.values_in.slice(first * 4, n * 4), values, n * 4);
  }
}

bool correct(Queue& queue, const DeviceSort& sort, Problem p, const Operands& o) {
  // Values are positions, so the verifier can see whether ties kept their order. Only a
  // stable sort must keep it.
  if (p.payload != Payload::none) p.payload = sort.stable ? Payload::positions : Payload::values;
  // An argsort has no input values. For verify(), absent positions are 0, 1, 2, …
  Problem input = p;
  if (p.payload != Payload::none && !o.values_in) input.payload = Payload::positions;
  const auto before = verify(queue, input, o.keys_in, o.values_in);
  const auto after = verify(queue, p, o.keys_out, o.values_out, sort.run_length);
  return after.unsorted == 0 && before.checksum == after.checksum;
}

// Profiles several sorts, because other work may disturb one, and keeps the phases of the sort with
// the median time.
void add_device_time(Measurement& m, const DeviceSort& sort, const Operands& operands,
                     double enough) {
  constexpr unsigned most = 9;
  std::vector<std::vector<sortium::Plan::Phase>> all;
  double spent = 0;
  while (!interrupted() && all.size() < most && spent < enough) {
    if (sort.prepare) sort.prepare(operands);
    Stopwatch watch;
    all.push_back(sort.profile(operands));
    spent += watch.lap();
  }
  if (all.empty()) return;
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end(),
                   [](const auto& a, const auto& b) { return sum_of(a) < sum_of(b); });
  m.device_seconds = sum_of(*middle);
  m.phases = *middle;
}

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

Measurement repeat(double min_seconds, const std::function<double()>& once) {
  std::vector<double> times;
  double total = 0;
  for (std::uint64_t batch = 1; total < min_seconds && !interrupted(); batch *= 2)
    for (std::uint64_t i = 0; i < batch && !interrupted(); ++i) {
      times.push_back(once());
      total += times.back();
    }
  Measurement m;
  m.repetitions = times.size();
  if (times.empty()) return m;
  std::ranges::sort(times);
  const auto quantile = [&](double q) {  // interpolates between the two nearest times
    const double at = q * static_cast<double>(times.size() - 1);
    const auto i = static_cast<std::size_t>(at);
    const double next = times[std::min(i + 1, times.size() - 1)];
    return times[i] + (at - static_cast<double>(i)) * (next - times[i]);
  };
  m.seconds = total / static_cast<double>(times.size());
  m.low = quantile(0.25);
  m.median = quantile(0.5);
  m.high = quantile(0.75);
  return m;
}

void out_of_memory(std::uint64_t need, std::uint64_t have) {
  throw sortium::Error(sortium::ErrorCode::out_of_memory,
                       fmt::format("needs {}, there are {}", human_bytes(need), human_bytes(have)));
}

Measurement measure(Queue& queue, const DeviceSort& sort, const Case& c) {
  const Problem& p = c.problem;
  auto& device = queue.device();
  const std::uint64_t keys = p.count * sortium::info(p.key).bytes,
                      values_out = p.payload == Payload::none ? 0 : p.count * p.value_bytes,
                      values_in = p.payload == Payload::values ? values_out : 0;
  const std::uint64_t need = 2 * keys + values_in + values_out + sort.scratch_bytes,
                      have = device.free_memory();
  if (need > have) out_of_memory(need, have);
  const auto most = device.info().claimed.max_allocation;
  if (const auto largest = std::max({keys, values_out, sort.scratch_bytes}); largest > most)
    out_of_memory(largest, most);

  const auto allocate = [&](std::uint64_t bytes) {
    return bytes == 0 ? nullptr : device.allocate(bytes);
  };
  const auto memory = [](const auto& buffer) { return buffer ? buffer->memory() : Memory{}; };
  const auto buffers = {allocate(keys), allocate(keys), allocate(values_in), allocate(values_out),
                        allocate(sort.scratch_bytes)};
  const auto* const b = buffers.begin();
  const Operands operands{memory(b[0]), memory(b[1]), memory(b[2]), memory(b[3]), memory(b[4])};
  fill(queue, c, operands);

  // Every sort reads the same input and writes the same output, so the input stays unsorted and
  // need not be copied.
  const auto once = [&] {
    if (sort.prepare) sort.prepare(operands);
    Stopwatch watch;
    sort.sort(operands);
    queue.finish();
    return watch.lap();
  };
  once();
  // Overwrite the result of the first sort, in the output and in scratch memory, so that it cannot
  // be mistaken for the result of the timed sorts.
  queue.fill(operands.keys_out, 0xa5a5a5a5, keys);
  if (operands.values_out) queue.fill(operands.values_out, 0xa5a5a5a5, values_out);
  if (operands.scratch) queue.fill(operands.scratch, 0xa5a5a5a5, sort.scratch_bytes / 4 * 4);
  queue.finish();
  Measurement m = repeat(c.min_seconds, once);
  m.run_length = sort.run_length;
  m.correct = m.repetitions != 0 && correct(queue, sort, p, operands);
  if (sort.profile) add_device_time(m, sort, operands, c.min_seconds / 2);
  return m;
}

double copy_rate(Queue& queue, double min_seconds) {
  auto& device = queue.device();
  // Much more than fits the caches, much less than the device memory.
  const std::uint64_t bytes =
      std::min({std::uint64_t{256} << 20, device.info().claimed.max_allocation,
                device.free_memory() / 4}) /
      512 * 512;
  const auto from = device.allocate(bytes), to = device.allocate(bytes);
  queue.fill(from->memory(), 1, bytes);
  const auto once = [&] {
    Stopwatch watch;
    queue.copy(to->memory(), from->memory(), bytes);
    queue.finish();
    return watch.lap();
  };
  once();
  const Measurement m = repeat(min_seconds, once);
  return m.repetitions == 0 ? 0 : 2.0 * static_cast<double>(bytes) / m.seconds;
}

}  // namespace app
