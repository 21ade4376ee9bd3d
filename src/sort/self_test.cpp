#include "self_test.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <numeric>
#include <set>

#include "../core/environment.hpp"
#include "../kernels/kernels.hpp"
#include "embedded.hpp"

namespace sortium {

namespace {

void put(std::vector<std::byte>& to, std::uint64_t i, unsigned bytes, std::uint64_t value) {
  std::memcpy(to.data() + i * bytes, &value, bytes);
}
std::uint64_t get(const std::vector<std::byte>& from, std::uint64_t i, unsigned bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, from.data() + i * bytes, bytes);
  return value;
}

// Returns keys in blocks of 97: random keys, ties, special keys at the limits of the type, and
// sorted keys, in turn.
std::vector<std::uint64_t> keys_for(const Problem& p) {
  const auto& type = info(p.key);
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - type.bits()), sign = all ^ all >> 1;
  const std::uint64_t special[] = {
      0, sign, all, sign - 1, type.infinity, type.infinity | sign, type.infinity + 1, 1};
  std::vector<std::uint64_t> keys(p.count);
  std::uint64_t state = 0x9e3779b97f4a7c15u;
  for (std::uint64_t i = 0; i < p.count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t random = state ^ state >> 29;
    switch (i / 97 % 4) {
      case 0:
        keys[i] = random & all;
        break;
      case 1:
        keys[i] = (random >> 60) * (all / 16);
        break;
      case 2:
        keys[i] = special[random >> 61];
        break;
      default:
        keys[i] = i * (all / p.count);
        break;
    }
  }
  return keys;
}

// Returns where each segment begins, and the end of the last one. With offsets, lengths vary from 0
// to 4096.
std::vector<std::uint64_t> offsets_for(const Problem& p) {
  std::vector<std::uint64_t> offsets{0};
  for (std::uint64_t s = 1; s < p.segments; ++s) {
    const std::uint64_t length =
        p.offset_bytes == 0 ? p.count / p.segments : (std::uint64_t{1} << s % 13) - (s % 13 == 0);
    offsets.push_back(std::min(p.count, offsets.back() + length));
  }
  offsets.push_back(p.count);
  return offsets;
}

std::string describe(const Problem& p) {
  return fmt::format("{} {} keys{}{}{}{}", p.count, info(p.key).name,
                     p.payload == Payload::none
                         ? ""
                         : fmt::format(" with {}-byte {}", p.value_bytes,
                                       p.payload == Payload::values ? "values" : "positions"),
                     p.order == Order::descending ? ", descending" : "",
                     p.segments == 0 ? "" : fmt::format(", {} segments", p.segments),
                     p.limit == 0 ? "" : fmt::format(", the first {}", p.limit));
}

bool is_off() {
  const char* const set = environment("SORTIUM_SELF_TEST");
  return set != nullptr && std::string_view(set) == "off";
}

// Returns a problem of the same kind with `count` records.
Problem small(const Problem& problem, std::uint64_t count) {
  Problem p = problem;
  p.count = count;
  if (p.segments != 0 && p.offset_bytes == 0) {  // keeps the length, on which kernels depend
    const std::uint64_t length = std::min(problem.count / problem.segments, count);
    p.segments =
        std::clamp<std::uint64_t>(count / std::max<std::uint64_t>(length, 1), 1, problem.segments);
    p.count = p.segments * length;
  } else if (p.segments != 0) {
    p.segments = 50;
  }
  if (p.limit != 0 && p.segments != 0 && p.offset_bytes == 0)
    p.limit = std::clamp<std::uint64_t>(p.count / p.segments, 1, p.limit);
  else if (p.limit != 0)
    p.limit = std::max<std::uint64_t>(p.count / 3, 1);
  return p;
}

// The sorted records, as read from the device; empty where the problem has none.
struct Sorted {
  std::vector<std::byte> keys, values;
};

// Sorts the keys on the device; record i has the value i. Waits.
Sorted sort_on(Device& device, Sorter& sorter, const Problem& p,
               const std::vector<std::uint64_t>& keys, const std::vector<std::uint64_t>& offsets) {
  const auto queue = device.make_queue();
  std::vector<std::unique_ptr<Buffer>> buffers;
  const auto allocate = [&](std::uint64_t bytes) {
    buffers.push_back(device.allocate(std::max<std::uint64_t>(bytes, 16)));
    return buffers.back()->memory();
  };
  const auto send = [&](const std::vector<std::uint64_t>& numbers, unsigned bytes) {
    std::vector<std::byte> packed(numbers.size() * bytes);
    for (std::uint64_t i = 0; i < numbers.size(); ++i) put(packed, i, bytes, numbers[i]);
    const Memory memory = allocate(packed.size());
    queue->write(memory, packed.data(), packed.size());
    return memory;
  };
  Sorted sorted{std::vector<std::byte>(records_out(p) * info(p.key).bytes),
                std::vector<std::byte>(records_out(p) * p.value_bytes)};

  Operands operands{.keys_in = send(keys, info(p.key).bytes),
                    .scratch = allocate(sorter.scratch_bytes())};
  if (p.keys_out) operands.keys_out = allocate(sorted.keys.size());
  if (p.payload != Payload::none) operands.values_out = allocate(sorted.values.size());
  if (p.payload == Payload::values) {
    std::vector<std::uint64_t> values(p.count);
    std::iota(values.begin(), values.end(), std::uint64_t{0});
    operands.values_in = send(values, p.value_bytes);
  }
  if (p.segments != 0 && p.offset_bytes != 0) operands.offsets = send(offsets, p.offset_bytes);
  sorter.enqueue(*queue, operands);

  if (p.keys_out) queue->read(sorted.keys.data(), operands.keys_out, sorted.keys.size());
  if (p.payload != Payload::none)
    queue->read(sorted.values.data(), operands.values_out, sorted.values.size());
  queue->finish();
  return sorted;
}

}  // namespace

std::string first_wrong_record(Device& device, Sorter& sorter, const Problem& p,
                               const AlgorithmInfo& algorithm) {
  const auto keys = keys_for(p);
  const auto offsets = p.segments == 0 ? std::vector<std::uint64_t>{0, p.count} : offsets_for(p);
  const Sorted sorted = sort_on(device, sorter, p, keys, offsets);

  // Compare with the host's sort. Sorted pieces are segments, or the runs of a partial sort.
  const KeyRank rank(p);
  const std::uint64_t capacity = p.limit != 0 ? p.limit : p.count;  // of a segment's output
  std::vector<std::uint64_t> order(p.count);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  std::string wrong;
  const auto check = [&](std::uint64_t begin, std::uint64_t end, std::uint64_t to) {
    const auto first = order.begin() + static_cast<std::ptrdiff_t>(begin),
               last = order.begin() + static_cast<std::ptrdiff_t>(end);
    std::stable_sort(first, last, [&](auto a, auto b) { return rank(keys[a]) < rank(keys[b]); });
    for (std::uint64_t i = 0; i < std::min(end - begin, capacity) && wrong.empty(); ++i) {
      const auto source = order[begin + i];
      const auto differs = [&](const char* what, std::uint64_t is, std::uint64_t should) {
        wrong = fmt::format("{}: {}[{}] is {:#x}, should be {:#x}", describe(p), what, to + i, is,
                            should);
      };
      if (p.keys_out)
        if (const auto is = get(sorted.keys, to + i, info(p.key).bytes);
            algorithm.stable ? is != keys[source] : rank(is) != rank(keys[source]))
          differs("keys", is, keys[source]);
      if (p.payload != Payload::none)
        if (const auto is = get(sorted.values, to + i, p.value_bytes);
            algorithm.stable ? is != source : is >= p.count || rank(keys[is]) != rank(keys[source]))
          differs("values", is, source);
    }
  };
  const std::uint64_t run = sorter.run() == 0 ? p.count : sorter.run();
  if (p.segments != 0)
    for (std::uint64_t s = 0; s < p.segments; ++s)
      check(offsets[s], offsets[s + 1], p.limit != 0 ? s * p.limit : offsets[s]);
  else
    for (std::uint64_t begin = 0; begin < p.count; begin += run)
      check(begin, std::min(begin + run, p.count), begin);
  return wrong;
}

SelfTestPlan plan_self_test(const Planned& planned, const Capabilities& capabilities) {
  const auto& algorithm = planned.algorithm->info();
  for (const std::uint64_t count : {std::uint64_t{10007}, std::uint64_t{1009}, std::uint64_t{97}}) {
    if (algorithm.quadratic && count > 1009) continue;
    const Problem p = small(planned.sorted, count);
    try {
      return {p, planned.algorithm->plan(p, capabilities,
                                         Parameters(planned.sorter->parameters(), algorithm))};
    } catch (const Error&) {
      // The plan's parameters include some that callers cannot set, or they need more records. Use
      // the defaults.
      try {
        return {p, planned.algorithm->plan(p, capabilities, {})};
      } catch (const Error& e) {
        if (e.code() != ErrorCode::unsupported) throw;
      }
    }
  }
  return {};
}

std::string self_test(Device& device, const Capabilities& capabilities, const Planned& planned) {
  if (capabilities.backend == Backend::host || is_off())
    return "";  // the compiler of cpu:0's code also built this test
  const auto& d = device.info();
  const auto& algorithm = planned.algorithm->info();
  const std::string parameters = planned.sorter->parameters();
  const Problem& problem = planned.sorted;
  const Problem kind = small(problem, 0);
  const std::uint64_t equal_length =
      kind.segments != 0 && kind.offset_bytes == 0 ? problem.count / problem.segments : 0;
  const std::string key = fmt::format(
      "self-test\n{}|{}|{}|{}|{}\n{}|{}\n{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}\n", version(),
      name(d.claimed.backend), d.name, d.driver, d.language, kernels::embedded::fingerprint,
      algorithm.name, parameters, info(kind.key).name, static_cast<int>(kind.payload),
      kind.value_bytes, kind.keys_out, static_cast<int>(kind.order), static_cast<int>(kind.nan),
      static_cast<int>(kind.zeros), kind.begin_bit, kind.end_bit, kind.segments != 0, equal_length,
      kind.limit != 0);
  static std::mutex mutex;
  static std::set<std::string> passed;
  {
    const std::lock_guard lock(mutex);
    if (passed.contains(key)) return "";
  }
  std::vector<std::byte> kept;
  std::string wrong;
  if (!kernels::cache::load(key, kept)) {
    const auto [small_problem, sorter] = plan_self_test(planned, capabilities);
    if (sorter == nullptr) return "";  // nothing was tested
    sorter->build(device, capabilities);
    wrong = first_wrong_record(device, *sorter, small_problem, algorithm);
    if (!wrong.empty())
      return fmt::format("{} ({}) on {}, driver {}: its self-test failed: {}", algorithm.name,
                         sorter->parameters(), d.name, d.driver, wrong);
    const std::byte yes{1};
    kernels::cache::store(key, {&yes, 1});
  }
  const std::lock_guard lock(mutex);
  passed.insert(key);
  return "";
}

std::vector<SelfTest> self_test(Device& device, std::string_view algorithm) {
  if (!algorithm.empty()) (void)find_algorithm(algorithm);
  std::vector<SelfTest> out;
  const auto& found = capabilities(device);
  const bool on_host = found.backend == Backend::host;
  const Problem kinds[] = {
      {.key = KeyType::u32},
      {.key = KeyType::f32, .payload = Payload::values, .order = Order::descending},
      {.key = KeyType::i64, .payload = Payload::values, .value_bytes = 8},
      {.key = KeyType::f64, .payload = Payload::positions, .nan = NanOrder::first},
      {.key = KeyType::u16, .payload = Payload::values},
  };
  for (const auto* candidate : registry()) {
    const auto& declared = candidate->info();
    if (declared.host != on_host || (!algorithm.empty() && declared.name != algorithm)) continue;
    for (const auto& kind : kinds) {
      SelfTest test{.algorithm = declared.name, .problem = kind, .supported = true, .failure = {}};
      test.problem.segments = declared.segments;
      test.problem.limit = declared.limit;
      const bool one_work_group = declared.max_count != 0 && !declared.needs_clusters;
      test.problem = small(test.problem, declared.quadratic || one_work_group ? 1009 : 10007);
      try {
        const auto sorter = candidate->plan(test.problem, found, {});
        sorter->build(device, found);
        test.failure = first_wrong_record(device, *sorter, test.problem, declared);
      } catch (const Error& e) {
        test.supported = e.code() != ErrorCode::unsupported;
        test.failure = e.what();
      }
      out.push_back(std::move(test));
    }
  }
  return out;
}

}  // namespace sortium
