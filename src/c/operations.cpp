// Operations on sorted keys, for C: is_sorted, unique, merge, search, nth_element.
#include <variant>

#include "convert.hpp"

using namespace sortium;
using namespace sortium::c;

struct sortium_companion {
  std::variant<IsSortedPlan, UniquePlan, MergePlan, SearchPlan, NthElementPlan> plan;
};

namespace {

// Returns the device of the options. Throws if another option is set.
std::string device_of(const sortium_options* o) {
  const Options options = options_of(o);
  detail::refuse_method(options, "this function");
  return options.device;
}

template <class Plan, class... Rest>
sortium_status create(sortium_companion** companion, sortium_device* device,
                      const sortium_problem* problem, Rest... rest) {
  return guarded([&] {
    need(companion, "companion");
    *companion =
        new sortium_companion{Plan(need(device, "device").device, problem_of(problem), rest...)};
  });
}

}  // namespace

extern "C" {

sortium_status sortium_is_sorted(const sortium_problem* problem, const void* keys,
                                 uint64_t* first_unsorted, const sortium_options* options) {
  return guarded([&] {
    auto& out = need(first_unsorted, "first_unsorted");  // before anything is done
    out = first_unsorted_host(problem_of(problem), keys, device_of(options));
  });
}

sortium_status sortium_unique(const sortium_problem* problem, const void* keys_in, void* keys_out,
                              const void* values_in, void* values_out, void* lengths,
                              unsigned length_bytes, uint64_t* runs,
                              const sortium_options* options) {
  return guarded([&] {
    auto& out = need(runs, "runs");  // before anything is written
    out = unique_host(problem_of(problem), {keys_in, keys_out, values_in, values_out}, lengths,
                      length_bytes, device_of(options));
  });
}

sortium_status sortium_merge(const sortium_problem* problem, uint64_t a_count, const void* a_keys,
                             const void* b_keys, void* keys_out, const void* a_values,
                             const void* b_values, void* values_out,
                             const sortium_options* options) {
  return guarded([&] {
    merge_host(problem_of(problem), a_count,
               {a_keys, b_keys, keys_out, a_values, b_values, values_out}, device_of(options));
  });
}

sortium_status sortium_search(const sortium_problem* problem, const void* keys, const void* needles,
                              uint64_t needle_count, void* places, sortium_bound bound,
                              const sortium_options* options) {
  return guarded([&] {
    search_host(problem_of(problem), keys, needles, needle_count, places,
                enumerated<Bound>(bound, 1, "bound"), device_of(options));
  });
}

sortium_status sortium_nth_element(const sortium_problem* problem, uint64_t n, const void* keys_in,
                                   void* keys_out, const void* values_in, void* values_out,
                                   const sortium_options* options) {
  return guarded([&] {
    nth_element_host(problem_of(problem), n, {keys_in, keys_out, values_in, values_out},
                     device_of(options));
  });
}

sortium_status sortium_companion_is_sorted(sortium_device* device, const sortium_problem* problem,
                                           sortium_companion** companion) {
  return create<IsSortedPlan>(companion, device, problem);
}

sortium_status sortium_companion_unique(sortium_device* device, const sortium_problem* problem,
                                        unsigned length_bytes, sortium_companion** companion) {
  return create<UniquePlan>(companion, device, problem, length_bytes);
}

sortium_status sortium_companion_merge(sortium_device* device, const sortium_problem* problem,
                                       uint64_t a_count, sortium_companion** companion) {
  return create<MergePlan>(companion, device, problem, a_count);
}

sortium_status sortium_companion_search(sortium_device* device, const sortium_problem* problem,
                                        uint64_t needle_count, sortium_bound bound,
                                        sortium_companion** companion) {
  Bound b{};
  if (const auto status = guarded([&] { b = enumerated<Bound>(bound, 1, "bound"); });
      status != SORTIUM_OK)
    return status;
  return create<SearchPlan>(companion, device, problem, needle_count, b);
}

sortium_status sortium_companion_nth_element(sortium_device* device, const sortium_problem* problem,
                                             uint64_t n, sortium_companion** companion) {
  return create<NthElementPlan>(companion, device, problem, n);
}

uint64_t sortium_companion_scratch_bytes(const sortium_companion* c) {
  return c == nullptr ? 0
                      : std::visit([](const auto& plan) { return plan.scratch_bytes(); }, c->plan);
}

sortium_status sortium_companion_run(sortium_companion* companion, sortium_queue* queue,
                                     const sortium_companion_operands* operands) {
  return guarded([&] {
    auto& q = *need(queue, "queue").queue;
    const auto& c = need(operands, "operands");
    const auto m = [](const sortium_memory& memory) { return memory_of(memory); };
    struct Run {
      Queue& q;
      const sortium_companion_operands& c;
      decltype(m)& m;
      void operator()(const IsSortedPlan& p) const {
        p.run(q, {m(c.keys_in), m(c.result), m(c.scratch)});
      }
      void operator()(const UniquePlan& p) const {
        p.run(q, {m(c.keys_in), m(c.keys_out), m(c.values_in), m(c.values_out), m(c.lengths),
                  m(c.result), m(c.scratch)});
      }
      void operator()(const MergePlan& p) const {
        p.run(q, {m(c.keys_in), m(c.b_keys), m(c.keys_out), m(c.values_in), m(c.b_values),
                  m(c.values_out), m(c.scratch)});
      }
      void operator()(const SearchPlan& p) const {
        p.run(q, {m(c.keys_in), m(c.needles), m(c.result)});
      }
      void operator()(const NthElementPlan& p) const {
        p.run(q, {m(c.keys_in), m(c.keys_out), m(c.values_in), m(c.values_out), m(c.scratch), {}});
      }
    };
    std::visit(Run{q, c, m}, need(companion, "companion").plan);
  });
}

void sortium_companion_release(sortium_companion* companion) { delete companion; }

}  // extern "C"
