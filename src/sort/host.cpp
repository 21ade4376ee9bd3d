// Sorting host memory: a Plan, device memory around it, and the way there and back.
#include "host.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <sortium/sortium.hpp>
#include <utility>

#include "../algorithms/catalog.hpp"
#include "out_of_memory.hpp"
#include "records.hpp"

namespace sortium {

namespace {

bool ranges_overlap(const void* a, std::uint64_t a_bytes, const void* b, std::uint64_t b_bytes) {
  const auto x = reinterpret_cast<std::uintptr_t>(a), y = reinterpret_cast<std::uintptr_t>(b);
  return a != nullptr && b != nullptr && x < y + b_bytes && y < x + a_bytes;
}

void check_operands(const Problem& p, const HostOperands& o) {
  const std::uint64_t keys = p.count * info(p.key).bytes, values = p.count * p.value_bytes;
  const std::uint64_t out = records_out(p), first_keys = out * info(p.key).bytes,
                      first_values = out * p.value_bytes;
  const auto need = [](const void* pointer, const char* name) {
    if (pointer == nullptr)
      throw Error(ErrorCode::invalid_argument, fmt::format("{} is null", name));
  };
  need(o.keys_in, "keys_in");
  if (p.keys_out) need(o.keys_out, "keys_out");
  if (p.payload == Payload::values) need(o.values_in, "values_in");
  if (p.payload != Payload::none) need(o.values_out, "values_out");
  const auto refuse = [](const char* a, const char* b) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format(
            "{} and {} overlap; only the in-place form, where they are the same, is allowed", a,
            b));
  };
  if (p.limit != 0 && ((p.keys_out && o.keys_in == o.keys_out) ||
                       (p.payload == Payload::values && o.values_in == o.values_out)))
    throw Error(ErrorCode::invalid_argument,
                "with a limit, keys_out and values_out must be memory of their own");
  if (p.keys_out && o.keys_in != o.keys_out &&
      ranges_overlap(o.keys_in, keys, o.keys_out, first_keys))
    refuse("keys_in", "keys_out");
  if (p.payload == Payload::none) return;
  if (p.payload == Payload::values) {
    if (o.values_in != o.values_out &&
        ranges_overlap(o.values_in, values, o.values_out, first_values))
      refuse("values_in", "values_out");
    if (ranges_overlap(o.keys_in, keys, o.values_in, values)) refuse("keys_in", "values_in");
    if (p.keys_out && ranges_overlap(o.keys_out, first_keys, o.values_in, values))
      refuse("keys_out", "values_in");
  }
  if (ranges_overlap(o.keys_in, keys, o.values_out, first_values)) refuse("keys_in", "values_out");
  if (p.keys_out && ranges_overlap(o.keys_out, first_keys, o.values_out, first_values))
    refuse("keys_out", "values_out");
}

template <class Offset>
void check_ascending(const Problem& p, const Offset* offsets) {
  const auto refuse = [](const std::string& message) {
    throw Error(ErrorCode::invalid_argument, message);
  };
  if (offsets[0] != 0) refuse(fmt::format("offsets[0] is {}; the first must be 0", offsets[0]));
  for (std::uint64_t s = 0; s < p.segments; ++s)
    if (offsets[s + 1] < offsets[s])
      refuse(fmt::format("offsets[{}] is {}, less than the one before, {}; they must ascend", s + 1,
                         offsets[s + 1], offsets[s]));
  if (offsets[p.segments] != p.count)
    refuse(fmt::format("offsets[{}] is {}; the last must be the number of keys, {}", p.segments,
                       offsets[p.segments], p.count));
}

void check_segments(const Problem& p, const HostOperands& o) {
  check_offsets(p, o.offsets);
  const std::uint64_t offsets = (p.segments + 1) * p.offset_bytes;
  const auto refuse = [](const char* what) {
    throw Error(ErrorCode::invalid_argument, fmt::format("offsets and {} overlap", what));
  };
  if (p.keys_out &&
      ranges_overlap(o.offsets, offsets, o.keys_out, records_out(p) * info(p.key).bytes))
    refuse("keys_out");
  if (p.payload != Payload::none &&
      ranges_overlap(o.offsets, offsets, o.values_out, records_out(p) * p.value_bytes))
    refuse("values_out");
}

// Values of sizes that no sort moves: with their keys, a problem of two columns.
HostReport sort_elements(const Problem& p, const HostOperands& o, const Options& options) {
  check_element_bytes(p.value_bytes);
  Problem small = p;
  small.value_bytes = 4;
  check(small);
  if (p.count != 0) check_operands(p, o);
  const auto moved = [](const void* in, const void* out) {
    return in == out ? Moved::in_place : Moved::out;
  };
  const RecordProblem records{
      .count = p.count,
      .columns = {{info(p.key).bytes, moved(o.keys_in, o.keys_out)},
                  {p.value_bytes, moved(o.values_in, o.values_out)}},
      .key = {{0, 0, p.key, p.order, p.nan, p.zeros, p.begin_bit, p.end_bit}},
      .segments = p.segments,
      .offset_bytes = p.offset_bytes,
      .limit = p.limit};
  const void* const in[] = {o.keys_in, o.values_in};
  void* const out[] = {o.keys_out, o.values_out};
  return sort_records_host(records, {in, out, nullptr, o.offsets},
                           {.device = options.device,
                            .algorithm = options.algorithm,
                            .parameters = options.parameters,
                            .max_scratch_bytes = options.max_scratch_bytes});
}

// On a CPU, OpenCL's memory is the host's, too, of which cpu:0 keeps some from sort to sort
// (`kept`): to touch new memory for the first time takes as long as to sort in it. Less than that
// the C library keeps.
constexpr std::uint64_t kept_from = std::uint64_t{1} << 21;  // bytes
std::unique_ptr<Buffer> scratch_for(Device& device, std::uint64_t bytes,
                                    [[maybe_unused]] std::unique_ptr<Buffer>& kept) {
#ifdef SORTIUM_WITH_HOST
  const auto& c = device.info().claimed;
  if (c.kind == DeviceKind::cpu && c.backend == Backend::opencl && bytes >= kept_from) {
    kept = find_device("cpu:0")->allocate(bytes);
    return device.adopt(kept->memory().handle, bytes);
  }
#endif
  return device.allocate(bytes);
}

#ifdef SORTIUM_WITH_HOST
HostReport report_of_few() {
  static const detail::FewNames& names =
      []() -> const detail::FewNames& {  // told once: threads that sort few would share the line
    static const detail::FewNames made{find_device("cpu:0")->info().name,
                                       catalog::sample().info().name};  // devices live for ever
    detail::few_names.store(&made, std::memory_order_release);
    return made;
  }();
  return detail::few_report(names);
}

HostReport sort_fewest(const Problem& p, const HostOperands& o) {
  HostReport report = report_of_few();
  catalog::sample_fewest(p, o.keys_in, o.keys_out, o.values_in, o.values_out);
  return report;
}

HostReport sort_few(const Problem& p, const HostOperands& o) {
  check(p);
  if (p.count == 0) return report_of_few();
  check_operands(p, o);
  if (p.count <= catalog::fewest) return sort_fewest(p, o);
  HostReport report = report_of_few();
  const auto memory = [](const void* m) { return Memory{const_cast<void*>(m), 0, 0}; };
  const Operands operands{
      memory(o.keys_in), memory(o.keys_out), memory(o.values_in), memory(o.values_out), {}};
  if (p.count < 256) {  // to ask for the time would take as long
    catalog::sample_few(p, operands);
  } else {
    Stopwatch watch;
    catalog::sample_few(p, operands);
    report.sort_seconds = watch.lap();
  }
  return report;
}
#endif

}  // namespace

constinit std::atomic<const detail::FewNames*> detail::few_names{nullptr};

void check_offsets(const Problem& p, const void* offsets) {
  if (offsets == nullptr)
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("offsets is null; {} segments need {} of them", p.segments, p.segments + 1));
  if (p.offset_bytes == 4)
    check_ascending(p, static_cast<const std::uint32_t*>(offsets));
  else
    check_ascending(p, static_cast<const std::uint64_t*>(offsets));
}

bool names_device(const std::string& device) {
  if (!device.empty()) return device != "auto";
  const char* const set = std::getenv("SORTIUM_DEVICE");
  return set != nullptr && *set != '\0' && std::string_view(set) != "auto";
}

std::shared_ptr<Device> device_for(const Problem& problem, const Options& options) {
  if (options.algorithm == "auto" && problem.limit != 0) return device_near(options.device);
  if (options.algorithm == "auto") return find_device(options.device);
  const bool host = find_algorithm(options.algorithm).info().host;
  return find_device(host && !names_device(options.device) ? "cpu:0" : options.device, true);
}

std::shared_ptr<Device> device_near(const std::string& name) {
#ifdef SORTIUM_WITH_HOST
  if (!names_device(name)) return find_device("cpu:0");
#endif
  return find_device(name);
}

void detail::check_lengths(std::uint64_t keys, std::uint64_t values) {
  if (keys != values)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} values for {} keys; as many are needed", values, keys));
}

std::uint64_t detail::segments_of(std::uint64_t offsets, std::uint64_t first, std::uint64_t keys) {
  if (offsets == 0)
    throw Error(ErrorCode::invalid_argument,
                "offsets is empty; there must be one more than segments");
  if (offsets == 1 && (first != 0 || keys != 0))
    throw Error(ErrorCode::invalid_argument,
                fmt::format("offsets has one number, {}, which says that there are no segments, "
                            "but there are {} keys",
                            first, keys));
  return offsets - 1;
}

HostReport detail::sort_by_default(KeyType key, std::uint64_t count, void* keys,
                                   unsigned value_bytes, void* values) {
  Problem p{.key = key, .count = count};
  if (value_bytes != 0) p.payload = Payload::values, p.value_bytes = value_bytes;
#ifdef SORTIUM_WITH_HOST
  // What is not as it should be is left to sort_host, which says what it is.
  const bool right =
      keys != nullptr &&
      (value_bytes == 0 ||
       ((value_bytes == 4 || value_bytes == 8) && values != nullptr &&
        !ranges_overlap(keys, count * info(key).bytes, values, count * value_bytes)));
  if (right && count < 2) return report_of_few();
  if (right && count <= catalog::fewest) return sort_fewest(p, {keys, keys, values, values});
#endif
  return sort_host(p, {keys, keys, values, values});
}

HostReport sort_host(const Problem& problem, const HostOperands& o, const Options& options) try {
  if (problem.payload == Payload::values && problem.value_bytes != 4 && problem.value_bytes != 8)
    return sort_elements(problem, o, options);
  if (problem.segments != 0) {
    check(problem);
    check_segments(problem, o);
  }
  bool calling_thread = false;
#ifdef SORTIUM_WITH_HOST
  calling_thread = problem.count <= few && problem.limit == 0 && options.algorithm == "auto" &&
                   options.parameters.empty() && options.max_scratch_bytes == 0 &&
                   ((problem.count <= catalog::fewest &&
                     options.device.empty()) ||  // to look for SORTIUM_DEVICE would take longer
                    options.device == "cpu:0" ||
                    !names_device(options.device));
  if (calling_thread && problem.segments == 0) return sort_few(problem, o);
#endif
  Stopwatch watch;
  HostReport report;
  const auto device = calling_thread ? find_device("cpu:0") : device_for(problem, options);
  const Plan plan(device, problem,
                  {options.algorithm, options.parameters, options.max_scratch_bytes});
  report.device = device->info().name;
  report.algorithm = plan.algorithm().name;
  report.parameters = plan.parameters();
  report.stable = plan.algorithm().stable;
  report.run_length = plan.run_length();
  if (problem.count == 0) return report;
  check_operands(problem, o);
  const auto queue = device->make_queue();
  report.plan_seconds = watch.lap();

  // Everything is allocated before anything is written. A CPU sorts the caller's memory where it
  // lies; elsewhere the device sorts its own copy in place.
  const std::uint64_t key_bytes = problem.count * info(problem.key).bytes;
  const std::uint64_t value_bytes = problem.count * problem.value_bytes;
  const bool in_place =
      problem.limit == 0;  // a limit's output is shorter than its input, and apart from it
  const std::uint64_t out = records_out(problem), keys_out_bytes = out * info(problem.key).bytes;
  const std::uint64_t values_out_bytes = out * problem.value_bytes;
  const bool read_values = problem.payload == Payload::values;
  const bool write_values = problem.payload != Payload::none;
  const bool direct = device->info().claimed.kind == DeviceKind::cpu;
  const auto provide = [&](const void* host, std::uint64_t bytes) {
    return direct ? device->adopt(const_cast<void*>(host), bytes) : device->allocate(bytes);
  };
  const auto keys_in = provide(o.keys_in, key_bytes);
  const auto keys_out = problem.keys_out && o.keys_out != o.keys_in && (direct || !in_place)
                            ? provide(o.keys_out, keys_out_bytes)
                            : nullptr;
  const auto values_out = write_values ? provide(o.values_out, values_out_bytes) : nullptr;
  const auto values_in = read_values && o.values_in != o.values_out && (direct || !in_place)
                             ? provide(o.values_in, value_bytes)
                             : nullptr;
  const std::uint64_t offset_bytes =
      problem.segments == 0 ? 0 : (problem.segments + 1) * problem.offset_bytes;
  const auto offsets = problem.segments != 0 ? provide(o.offsets, offset_bytes) : nullptr;
  std::unique_ptr<Buffer> kept;  // what scratch memory lies in
  const auto scratch = scratch_for(*device, plan.scratch_bytes(), kept);

  Operands operands;
  operands.keys_in = keys_in->memory();
  if (problem.keys_out) operands.keys_out = keys_out ? keys_out->memory() : keys_in->memory();
  if (write_values) operands.values_out = values_out->memory();
  if (read_values) operands.values_in = values_in ? values_in->memory() : values_out->memory();
  operands.scratch = scratch->memory();
  if (offsets) operands.offsets = offsets->memory();

  if (!direct) {
    if (offsets) queue->write(operands.offsets, o.offsets, offset_bytes);
    queue->write(operands.keys_in, o.keys_in, key_bytes);
    if (read_values) queue->write(operands.values_in, o.values_in, value_bytes);
    if (problem.segments != 0 &&
        problem.limit != 0) {  // what shorter segments leave comes back as it was
      if (problem.keys_out) queue->write(operands.keys_out, o.keys_out, keys_out_bytes);
      if (write_values) queue->write(operands.values_out, o.values_out, values_out_bytes);
    }
  }
  report.transfer_seconds = watch.lap();

  plan.run(*queue, operands);
  if (direct) {
    if (problem.keys_out) device->sync_host(*queue, keys_out ? *keys_out : *keys_in);
    if (write_values) device->sync_host(*queue, *values_out);
  }
  queue->finish();
  report.sort_seconds = watch.lap();

  if (!direct) {
    if (problem.keys_out) queue->read(o.keys_out, operands.keys_out, keys_out_bytes);
    if (write_values) queue->read(o.values_out, operands.values_out, values_out_bytes);
    report.transfer_seconds += watch.lap();
  }
  return report;
} catch (const std::bad_alloc&) {
  throw_out_of_memory("sort_host", operand_bytes(problem));
}

}  // namespace sortium
