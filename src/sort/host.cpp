// Sorts host memory: makes a Plan and device memory, and copies there and back.
#include "host.hpp"

#include <fmt/format.h>

#include <sortium/records.hpp>
#include <sortium/segments.hpp>

#include "../algorithms/algorithm.hpp"
#include "../device/cores.hpp"
#include "../distributed/devices.hpp"
#include "costs.hpp"
#include "few.hpp"
#include "host_arrays.hpp"
#include "out_of_memory.hpp"
#include "ranges.hpp"
#include "validate.hpp"

namespace sortium {

namespace {

Operands as_operands(const HostOperands& o) {
  return {host_memory(o.keys_in),
          host_memory(o.keys_out),
          host_memory(o.values_in),
          host_memory(o.values_out),
          {},
          host_memory(o.offsets)};
}

// True if sort_host() sorts such a problem on the calling thread: few records, without a limit, and
// neither device nor method named.
bool is_for_calling_thread(const Problem& p, const Options& options) {
#ifdef SORTIUM_WITH_HOST
  const unsigned threads = usable_cores();
  if ((p.count > catalog::sample_alone(p, threads) &&
       p.count > catalog::counting_alone(p, threads)) ||
      p.limit != 0 || options.algorithm != "auto" || !options.parameters.empty() ||
      options.max_scratch_bytes != 0)
    return false;
  // Reading SORTIUM_DEVICE takes longer than sorting so few records.
  if (p.count <= few::network_records && options.device.empty()) return true;
  return options.device == "cpu:0" || !backend::names_device(options.device);
#else
  (void)p, (void)options;
  return false;
#endif
}

// The options for sort_records_host(). They have no order and no bit range: each field has its own.
Options options_of_records(const Options& options) {
  return {.device = options.device,
          .algorithm = options.algorithm,
          .parameters = options.parameters,
          .max_scratch_bytes = options.max_scratch_bytes,
          .max_device_bytes = options.max_device_bytes,
          .stop = options.stop};
}

bool has_wide_values(const Problem& p) {
  return p.payload == Payload::values && p.value_bytes != 4 && p.value_bytes != 8;
}

void validate(const Problem& p, const HostOperands& o) {
  Problem known = p;
  if (has_wide_values(p)) {
    validate_value_bytes(p.value_bytes);
    known.value_bytes = 4;
  }
  validate_problem(known);
  if (p.count != 0) validate_sort_operands(p, as_operands(o), 0, Space::host);
}

// Sorts keys with values that are not 4 or 8 bytes wide, as records of two columns.
HostReport sort_elements(const Problem& p, const HostOperands& o, const Options& options) {
  validate(p, o);
  const void* const in[] = {o.keys_in, o.values_in};
  void* const out[] = {o.keys_out, o.values_out};
  return sort_records_host(as_records(p, o), {in, out, nullptr, o.offsets},
                           options_of_records(options));
}

// True if the device can use all operands in place. If not, it gets copies of all of them: a Plan
// sorts keys and values both in place or both out of place.
bool can_adopt(const HostArrays& arrays, const Problem& p, const HostOperands& o) {
  const unsigned key = info(p.key).bytes;
  const bool has_values = p.payload != Payload::none;
  const bool alike = p.payload != Payload::values || !p.keys_out ||
                     (o.keys_in == o.keys_out) == (o.values_in == o.values_out);
  return alike && arrays.can_adopt(o.keys_in, key) && arrays.can_adopt(o.keys_out, key) &&
         (!has_values || (arrays.can_adopt(o.values_in, p.value_bytes) &&
                          arrays.can_adopt(o.values_out, p.value_bytes))) &&
         arrays.can_adopt(o.offsets, p.offset_bytes);
}

// Returns the operands in device memory.
Operands stage(HostArrays& arrays, const Problem& p, const HostOperands& o, bool adopt) {
  const auto keys =
      arrays.add_sorted(p, o.keys_in, p.keys_out ? o.keys_out : nullptr, info(p.key).bytes, adopt);
  HostArrays::InOut values;
  if (p.payload != Payload::none)
    values = arrays.add_sorted(p, p.payload == Payload::values ? o.values_in : nullptr,
                               o.values_out, p.value_bytes, adopt);
  const Memory offsets =
      arrays.add(o.offsets, nullptr, offsets_bytes(p.segments, p.offset_bytes), adopt);
  return {keys.in, keys.out, values.in, values.out, {}, offsets};
}

HostReport report_of(const Device& device, const Plan& plan) {
  HostReport report;
  report.device = device.info().name;
  report.algorithm = plan.algorithm().name;
  report.parameters = plan.parameters();
  report.stable = plan.algorithm().stable;
  report.run_length = plan.run_length();
  return report;
}

HostReport sort_by_plan(Device& device, const Plan& plan, const HostOperands& o,
                        const Options& options) {
  Stopwatch watch;
  HostReport report = report_of(device, plan);
  if (plan.problem().count == 0) return report;
  validate_sort_operands(plan.problem(), as_operands(o), 0, Space::host);
  const auto queue = device.make_queue();
  report.plan_seconds = watch.lap();

  HostArrays arrays(device);
  const bool adopts = can_adopt(arrays, plan.problem(), o);
  Operands operands = stage(arrays, plan.problem(), o, adopts);
  operands.scratch = arrays.scratch(plan.scratch_bytes());
  arrays.write(*queue, options);
  report.transfer_seconds = watch.lap();

  arrays.run(*queue, [&] { plan.run(*queue, operands); });
  if (!adopts) check_stop(options);  // nothing is written yet
  report.sort_seconds = watch.lap();

  arrays.read(*queue);
  report.transfer_seconds += watch.lap();
  return report;
}

}  // namespace

void check_stop(const Options& options) {
  if (options.stop != nullptr && options.stop->load(std::memory_order_relaxed))
    throw Error(ErrorCode::cancelled, "cancelled: the caller set options.stop");
}

std::shared_ptr<Device> device_for(const Problem& problem, const Options& options) {
  if (options.algorithm == "auto" && problem.limit != 0)
    return backend::device_near(options.device);
  if (options.algorithm == "auto" && problem.segments == 0 &&
      !backend::names_device(options.device)) {
    const std::uint64_t bytes = operand_bytes(problem);
    return costs::fastest_device(costs::kind_of(problem), problem.count, bytes, options);
  }
  if (options.algorithm == "auto") return find_device(options.device);
  const bool host = find_algorithm(options.algorithm).info().host;
  return find_device(host && !backend::names_device(options.device) ? "cpu:0" : options.device,
                     true);
}

HostReport sort_host(const Problem& problem, const HostOperands& o, const Options& options) try {
  if (distributed::is_device_list(options.device)) {
    validate(problem, o);
    return distributed::sort_on_devices(problem, o, options);
  }
  validate_enumeration(problem.key, KeyType::bf16, "key");
  if (has_wide_values(problem)) return sort_elements(problem, o, options);
  const bool is_few = is_for_calling_thread(problem, options);
  if (is_few && problem.segments == 0 && few::suits(problem, o)) return few::sort(problem, o);
  if (problem.segments != 0) {
    validate_problem(problem);
    validate_offsets(problem, o.offsets);
  }
  check_stop(options);
  Stopwatch watch;
  return sort_on(
      is_few ? find_device("cpu:0") : device_for(problem, options), options.device,
      [&](const std::shared_ptr<Device>& device) {
        const Method method{options.algorithm, options.parameters, options.max_scratch_bytes};
        if (must_be_in_ranges(*device, problem, method, options))
          return sort_list_in_ranges(device, problem, o, options);
        const Plan plan(device, problem, method);
        const double plan_seconds = watch.lap();
        HostReport report = sort_by_plan(*device, plan, o, options);
        report.plan_seconds += plan_seconds;
        return report;
      });
} catch (const std::bad_alloc&) {
  throw_out_of_memory("sort_host", operand_bytes(problem));
}

}  // namespace sortium
