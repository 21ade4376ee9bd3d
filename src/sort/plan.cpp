#include <fmt/format.h>

#include <algorithm>
#include <sortium/plan.hpp>

#include "../algorithms/algorithm.hpp"
#include "../core/refuse.hpp"
#include "out_of_memory.hpp"
#include "profiled.hpp"
#include "self_test.hpp"
#include "strided.hpp"
#include "validate.hpp"
#include "wide_positions.hpp"

namespace sortium {

namespace {

Planned plan(const Problem& problem, const Capabilities& capabilities, const Method& method,
             const std::vector<const Algorithm*>& except = {}) {
  validate_problem(problem);
  validate_capabilities(capabilities);
  if (problem.stride != 1)
    return plan_strided(problem, capabilities, method.max_scratch_bytes, [&](std::uint64_t most) {
      return plan(without_stride(problem), capabilities,
                  {method.algorithm, method.parameters, most}, except);
    });
  if (method.algorithm == "auto") {
    if (!method.parameters.empty())
      refuse(fmt::format("parameters '{}' are given without the algorithm that they belong to",
                         method.parameters));
    return plan_with_positions(problem, capabilities, method.max_scratch_bytes,
                               [&](const Problem& p, std::uint64_t most) {
                                 return plan_auto(p, capabilities, most, except);
                               });
  }
  const auto& algorithm = find_algorithm(method.algorithm);
  const bool on_host = capabilities.backend == Backend::host;
  if (algorithm.info().host != on_host)
    throw Error(
        ErrorCode::unsupported,
        on_host
            ? fmt::format(
                  "{}: consists of kernels, which cpu:0 does not run; use auto or another device",
                  method.algorithm)
            : fmt::format("{}: runs on cpu:0 only", method.algorithm));
  const auto& can = algorithm.info();
  if (can.segments != (problem.segments != 0) || can.limit != (problem.limit != 0))
    throw Error(
        ErrorCode::unsupported,
        fmt::format("{}: solves problems with {} and {}; this one has segments {} and limit "
                    "{} (0: none); use auto",
                    method.algorithm, can.segments ? "segments" : "no segments",
                    can.limit ? "a limit" : "no limit", problem.segments, problem.limit));
  Planned planned = plan_algorithm(algorithm, problem, capabilities, method.parameters);
  if (method.max_scratch_bytes != 0 && planned.sorter->scratch_bytes() > method.max_scratch_bytes)
    refuse(fmt::format("max_scratch_bytes is {}; {} ({}) needs {}", method.max_scratch_bytes,
                       method.algorithm, planned.sorter->parameters(),
                       planned.sorter->scratch_bytes()));
  return planned;
}

}  // namespace

Planned plan_judged(const Problem& problem, const Capabilities& capabilities, const Method& method,
                    const Judge& judge) {
  std::vector<const Algorithm*> failed;
  std::string why;
  for (;;) {
    Planned planned;
    try {
      planned = plan(problem, capabilities, method, failed);
    } catch (const Error& e) {
      throw why.empty() ? e : Error(e.code(), why + "\n" + e.what());
    }
    const std::string verdict = judge(planned);
    if (verdict.empty()) return planned;
    why += (why.empty() ? "" : "\n") + verdict;
    if (method.algorithm != "auto") throw Error(ErrorCode::unsupported, why);
    failed.push_back(planned.algorithm);
  }
}

std::vector<AlgorithmInfo> algorithms() {
  std::vector<AlgorithmInfo> out;
  for (const auto* a : registry()) out.push_back(a->info());
  return out;
}

Plan::Plan(std::shared_ptr<Device> device, const Problem& problem, const Method& method) try
    : device_(std::move(device)), problem_(problem) {
  const auto& found = capabilities(*device_);
  auto planned = plan_judged(problem, found, method, [&](const Planned& p) -> std::string {
    try {
      p.sorter->build(*device_, found);
      return self_test(*device_, found, p);
    } catch (const Error& e) {
      // The package lacks kernels of this algorithm; it may have those of the next.
      if (e.code() != ErrorCode::unsupported || found.compiles) throw;
      return fmt::format("{}: {}", p.algorithm->info().name, e.what());
    }
  });
  algorithm_ = &planned.algorithm->info();
  sorter_ = std::move(planned.sorter);
} catch (const std::bad_alloc&) {
  throw_out_of_memory("Plan", operand_bytes(problem));
}
Plan::Plan(Plan&&) noexcept = default;
Plan& Plan::operator=(Plan&&) noexcept = default;
Plan::~Plan() = default;

std::uint64_t Plan::scratch_bytes() const { return sorter_->scratch_bytes(); }
std::string Plan::parameters() const { return sorter_->parameters(); }
std::uint64_t Plan::run_length() const { return sorter_->run(); }
std::uint64_t Plan::bytes_moved() const { return sorter_->bytes_moved(); }

std::uint64_t Plan::scratch_bytes_for(const Problem& problem, const Capabilities& capabilities,
                                      const Method& method) {
  return plan(problem, capabilities, method).sorter->scratch_bytes();
}

void Plan::run(Queue& queue, const Operands& operands) const {
  if (problem_.count == 0) return;
  validate_queue(queue, *device_);
  validate_sort_operands(problem_, operands, scratch_bytes(),
                         space_of(device_->info().claimed.backend));
  sorter_->enqueue(queue, operands);
}

std::vector<Plan::Phase> Plan::profile(Queue& queue, const Operands& operands) const {
  return profiled(queue, [&] { run(queue, operands); });
}

}  // namespace sortium
