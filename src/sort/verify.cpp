#include <algorithm>

#include <sortium/verify.hpp>

#include "../kernels/kernels.hpp"
#include "embedded.hpp"

namespace sortium {

Verdict verify(Queue& queue, const Problem& problem, Memory keys, Memory values, std::uint64_t run_length) {
  Verdict verdict{0, problem.count, 0};
  if (problem.count == 0) return verdict;
  if (!keys) throw Error(ErrorCode::invalid_argument, "verify: keys is missing");
  if (!values && problem.payload == Payload::values) throw Error(ErrorCode::invalid_argument, "verify: values is missing");

  auto& device = queue.device();
  const auto& c = capabilities(device);
  const unsigned work_group = std::min(c.max_work_group, 64u);
  const std::uint64_t groups = c.compute_units * (c.kind == DeviceKind::cpu ? 1u : 16u);
  kernels::Defines defines;
  defines.problem(problem).set("WG", work_group).set("CHECK_TIES", int{problem.payload == Payload::positions});
  const auto kernel = kernels::build(device, c, kernels::embedded::verify_cl, defines)->kernel("verify_records");

  std::vector<std::uint64_t> results(3 * groups * work_group);
  const auto buffer = device.allocate(results.size() * 8);
  const Arg args[] = {keys, values, buffer->memory(), problem.count, run_length};
  queue.launch({*kernel, groups, work_group, args, "verify"});
  queue.read(results.data(), buffer->memory(), results.size() * 8);
  for (std::size_t i = 0; i < results.size(); i += 3) {
    verdict.unsorted += results[i];
    verdict.first_unsorted = std::min(verdict.first_unsorted, results[i + 1]);
    verdict.checksum += results[i + 2];
  }
  return verdict;
}

}  // namespace sortium
