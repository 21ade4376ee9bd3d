#include <algorithm>
#include <cstring>
#include <sortium/verify.hpp>

#include "../kernels/kernels.hpp"
#include "embedded.hpp"

#ifdef SORTIUM_WITH_HOST
#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>
#endif

namespace sortium {

namespace {

// Does on the host's cores what verify.cl does on a device.
Verdict verify_on_host(Queue& queue, const Problem& problem, Memory keys, Memory values,
                       std::uint64_t run_length) {
  Verdict verdict{0, problem.count, 0};
#ifdef SORTIUM_WITH_HOST
  const auto get = [](const Memory& m, unsigned bytes, std::uint64_t i) {
    std::uint64_t element = 0;
    std::memcpy(&element, static_cast<const std::byte*>(m.handle) + m.offset + i * bytes, bytes);
    return element;
  };
  const auto mixed = [](std::uint64_t x) {
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdu;
    x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53u;
    return x ^ (x >> 33);
  };
  const unsigned key_bytes = info(problem.key).bytes;
  const KeyRank rank(problem);
  const bool has_values = problem.payload != Payload::none;
  const auto value = [&](std::uint64_t i) {
    return !has_values                ? 0
           : values                   ? get(values, problem.value_bytes, i)
           : problem.value_bytes == 4 ? static_cast<std::uint32_t>(i)
                                      : i;
  };
  queue.call("verify", [&] {
    verdict = tbb::parallel_reduce(
        tbb::blocked_range<std::uint64_t>(0, problem.count, 1 << 16), verdict,
        [&](const auto& range, Verdict v) {
          for (auto i = range.begin(); i != range.end(); ++i) {
            const std::uint64_t key = get(keys, key_bytes, i);
            v.checksum += mixed(mixed(key + 1) + value(i));
            if (i + 1 == problem.count || (run_length != 0 && (i + 1) % run_length == 0)) continue;
            const std::uint64_t a = rank(key), b = rank(get(keys, key_bytes, i + 1));
            if (a < b ||
                (a == b && !(problem.payload == Payload::positions && value(i) >= value(i + 1))))
              continue;
            ++v.unsorted;
            v.first_unsorted = std::min(v.first_unsorted, i);
          }
          return v;
        },
        [](const Verdict& a, const Verdict& b) {
          return Verdict{a.unsorted + b.unsorted, std::min(a.first_unsorted, b.first_unsorted),
                         a.checksum + b.checksum};
        });
  });
#else
  (void)queue, (void)problem, (void)keys, (void)values, (void)run_length;
#endif
  return verdict;
}

// The parameters of verify.cl.
struct VerifyParameters {
  unsigned work_group;  // work-items of a work-group
  bool check_ties;      // the values of ties must ascend

  [[nodiscard]] kernels::Defines defines(const Problem& problem) const {
    return kernels::Defines()
        .problem(problem)
        .set("WG", work_group)
        .set("CHECK_TIES", int{check_ties});
  }
};

}  // namespace

Verdict verify(Queue& queue, const Problem& problem, Memory keys, Memory values,
               std::uint64_t run_length) {
  Verdict verdict{0, problem.count, 0};
  if (problem.count == 0) return verdict;
  if (!keys) throw Error(ErrorCode::invalid_argument, "verify: keys is missing");
  if (!values && problem.payload == Payload::values)
    throw Error(ErrorCode::invalid_argument, "verify: values is missing");

  auto& device = queue.device();
  if (device.info().claimed.backend == Backend::host)
    return verify_on_host(queue, problem, keys, values, run_length);
  const auto& c = capabilities(device);
  const unsigned work_group = std::min(c.max_work_group, 64u);
  const std::uint64_t work_groups = c.compute_units * (c.kind == DeviceKind::cpu ? 1u : 16u);
  const VerifyParameters parameters{.work_group = work_group,
                                    .check_ties = problem.payload == Payload::positions};
  const auto kernel =
      kernels::build(device, c, kernels::embedded::verify_cl, parameters.defines(problem))
          ->kernel("verify_records");

  std::vector<std::uint64_t> results(3 * work_groups * work_group);
  const auto buffer = device.allocate(results.size() * 8);
  const Arg args[] = {{"keys", keys},
                      {"values", values},
                      {"results", buffer->memory()},
                      {"n", problem.count},
                      {"run", run_length}};
  queue.launch({*kernel, work_groups, work_group, args, "verify"});
  queue.read(results.data(), buffer->memory(), results.size() * 8);
  for (std::size_t i = 0; i < results.size(); i += 3) {
    verdict.unsorted += results[i];
    verdict.first_unsorted = std::min(verdict.first_unsorted, results[i + 1]);
    verdict.checksum += results[i + 2];
  }
  return verdict;
}

}  // namespace sortium
