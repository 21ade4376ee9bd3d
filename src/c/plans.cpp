// Plans, algorithms, self-tests and verification, for C.
#include <sortium/verify.hpp>
#include <utility>

#include "convert.hpp"

using namespace sortium;
using namespace sortium::c;

struct sortium_plan {
  Plan plan;
  std::string parameters;
  std::vector<Plan::Phase> phases;
};

namespace {

// The list never changes and is never destroyed, so callers may keep pointers to its strings.
const std::vector<AlgorithmInfo>& all_algorithms() {
  static const auto& all = *new std::vector<AlgorithmInfo>(algorithms());
  return all;
}

}  // namespace

extern "C" {

const char* sortium_version(void) { return version().data(); }

sortium_status sortium_plan_create(sortium_device* device, const sortium_problem* problem,
                                   const sortium_options* options, sortium_plan** plan) {
  return guarded([&] {
    need(plan, "plan");
    Plan made(need(device, "device").device, problem_of(problem), method_of(options));
    auto parameters = made.parameters();
    *plan = new sortium_plan{std::move(made), std::move(parameters), {}};
  });
}

uint64_t sortium_plan_scratch_bytes(const sortium_plan* plan) {
  return plan ? plan->plan.scratch_bytes() : 0;
}

sortium_status sortium_plan_scratch_bytes_for(const sortium_problem* problem,
                                              const sortium_capabilities* c,
                                              const sortium_options* options, uint64_t* bytes) {
  return guarded([&] {
    need(bytes, "bytes") =
        Plan::scratch_bytes_for(problem_of(problem), capabilities_of(c), method_of(options));
  });
}

const char* sortium_plan_algorithm(const sortium_plan* plan) {
  return plan ? plan->plan.algorithm().name.c_str() : "";
}
const char* sortium_plan_parameters(const sortium_plan* plan) {
  return plan ? plan->parameters.c_str() : "";
}
uint64_t sortium_plan_run_length(const sortium_plan* plan) {
  return plan ? plan->plan.run_length() : 0;
}

sortium_status sortium_plan_run(sortium_plan* plan, sortium_queue* queue,
                                const sortium_operands* operands) {
  return guarded(
      [&] { need(plan, "plan").plan.run(*need(queue, "queue").queue, operands_of(operands)); });
}

sortium_status sortium_plan_profile(sortium_plan* plan, sortium_queue* queue,
                                    const sortium_operands* operands, sortium_phase* phases,
                                    size_t capacity, size_t* count) {
  return guarded([&] {
    auto& p = need(plan, "plan");
    need(count, "count");
    if (capacity > 0) need(phases, "phases");
    p.phases = p.plan.profile(*need(queue, "queue").queue, operands_of(operands));
    write_phases(p.phases, phases, capacity, count);
  });
}

void sortium_plan_release(sortium_plan* plan) { delete plan; }

size_t sortium_algorithm_count(void) { return all_algorithms().size(); }

sortium_status sortium_algorithm_at(size_t index, sortium_algorithm* algorithm) {
  return guarded([&] {
    need(algorithm, "algorithm");
    if (index >= all_algorithms().size())
      throw Error(ErrorCode::not_found, "algorithm " + std::to_string(index) + " of " +
                                            std::to_string(all_algorithms().size()));
    const auto& a = all_algorithms()[index];
    *algorithm = {a.name.c_str(), a.title.c_str(), a.source.c_str(), a.cost.c_str(),
                  a.stable,       a.partial,       a.comparison,     a.quadratic,
                  a.host,         a.segments,      a.limit};
  });
}

sortium_status sortium_self_test(sortium_device* device, const char* algorithm,
                                 const sortium_self_test_result** results, size_t* count) {
  return guarded([&] {
    need(results, "results");
    need(count, "count");
    thread_local std::vector<SelfTest> tests;
    thread_local std::vector<sortium_self_test_result> of_tests;
    tests = self_test(*need(device, "device").device, text(algorithm, ""));
    of_tests.clear();
    for (const auto& t : tests)
      of_tests.push_back(
          {std::ranges::find(all_algorithms(), t.algorithm, &AlgorithmInfo::name)->name.c_str(),
           c_problem(t.problem), t.supported, t.failure.c_str()});
    *results = of_tests.data();
    *count = of_tests.size();
  });
}

sortium_status sortium_verify(sortium_queue* queue, const sortium_problem* problem,
                              sortium_memory keys, sortium_memory values, uint64_t run_length,
                              sortium_verdict* verdict) {
  return guarded([&] {
    need(verdict, "verdict");
    const auto v = verify(*need(queue, "queue").queue, problem_of(problem), memory_of(keys),
                          memory_of(values), run_length);
    *verdict = {v.unsorted, v.first_unsorted, v.checksum};
  });
}

}  // extern "C"
