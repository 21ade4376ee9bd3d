// Conversions between the structures of C and C++, and the last error.
#include "convert.hpp"

#include <new>

namespace sortium::c {

namespace {
thread_local std::string last_error, last_log;

sortium_status status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return SORTIUM_INVALID_ARGUMENT;
    case ErrorCode::unsupported:
      return SORTIUM_UNSUPPORTED;
    case ErrorCode::not_found:
      return SORTIUM_NOT_FOUND;
    case ErrorCode::out_of_memory:
      return SORTIUM_OUT_OF_MEMORY;
    case ErrorCode::build_failed:
      return SORTIUM_BUILD_FAILED;
    case ErrorCode::device_failed:
      return SORTIUM_DEVICE_FAILED;
    case ErrorCode::cancelled:
      return SORTIUM_CANCELLED;
  }
  return SORTIUM_INTERNAL_ERROR;
}
}  // namespace

sortium_status failed(const std::exception& error) noexcept try {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    last_error = "out of host memory";
    last_log.clear();
    return SORTIUM_OUT_OF_MEMORY;
  }
  const auto* const known = dynamic_cast<const Error*>(&error);
  last_error = error.what();
  last_log = known != nullptr ? known->log() : "";
  return known != nullptr ? status_of(known->code()) : SORTIUM_INTERNAL_ERROR;
} catch (const std::bad_alloc&) {  // there is no memory for the message
  last_error = "no memory left";   // short enough to need none
  return SORTIUM_OUT_OF_MEMORY;
}

Problem problem_of(const sortium_problem* p) {
  const auto& c = need(p, "problem");
  return {enumerated<KeyType>(c.key, static_cast<int>(all_key_types.size()) - 1, "key"),
          c.count,
          enumerated<Payload>(c.payload, 2, "payload"),
          c.value_bytes,
          c.keys_out != 0,
          enumerated<Order>(c.order, 1, "order"),
          c.begin_bit,
          c.end_bit,
          enumerated<NanOrder>(c.nan, 2, "nan"),
          enumerated<ZeroOrder>(c.zeros, 1, "zeros"),
          c.segments,
          c.offset_bytes,
          c.limit,
          c.stride == 0 ? 1 : c.stride};
}

sortium_problem c_problem(const Problem& p) {
  return {static_cast<sortium_key_type>(p.key),
          p.count,
          static_cast<sortium_payload>(p.payload),
          p.value_bytes,
          p.keys_out,
          static_cast<sortium_order>(p.order),
          p.begin_bit,
          p.end_bit,
          static_cast<sortium_nan_order>(p.nan),
          static_cast<sortium_zero_order>(p.zeros),
          p.segments,
          p.offset_bytes,
          p.limit,
          p.stride};
}

sortium_problem c_problem(sortium_key_type key, uint64_t count, sortium_order order) {
  sortium_problem p = c_problem(Problem{});
  p.key = key;
  p.count = count;
  p.order = order;
  return p;
}

Method method_of(const sortium_options* o) {
  if (o == nullptr) return {};
  return {text(o->algorithm, "auto"), text(o->parameters, ""), o->max_scratch_bytes};
}

// C callers have a plain byte for Options::stop.
static_assert(sizeof(std::atomic<bool>) == 1 && std::atomic<bool>::is_always_lock_free);

Options options_of(const sortium_options* o) {
  Options options;
  if (o != nullptr) options.device = text(o->device, "");
  const auto method = method_of(o);
  options.algorithm = method.algorithm;
  options.parameters = method.parameters;
  options.max_scratch_bytes = method.max_scratch_bytes;
  if (o != nullptr) {
    options.max_device_bytes = o->max_device_bytes;
    options.stop =
        reinterpret_cast<const std::atomic<bool>*>(const_cast<const unsigned char*>(o->stop));
  }
  return options;
}

Capabilities capabilities_of(const sortium_capabilities* given) {
  const auto& c = need(given, "capabilities");
  return {enumerated<Backend>(c.backend, 2, "backend"),
          enumerated<DeviceKind>(c.kind, 2, "kind"),
          c.compute_units,
          c.max_work_group,
          c.local_memory,
          c.local_struct,
          c.global_memory,
          c.max_allocation,
          c.atomics64 != 0,
          enumerated<SubGroupWords>(c.sub_group_words, 3, "sub_group_words"),
          c.sub_group_size,
          c.forward_progress != 0,
          c.cluster_groups,
          c.ordered_local_atomics != 0,
          std::string(c.model, std::find(c.model, std::end(c.model), '\0')),
          c.compiles != 0};
}

sortium_capabilities c_capabilities(const Capabilities& c) {
  sortium_capabilities out{static_cast<sortium_backend>(c.backend),
                           static_cast<sortium_device_kind>(c.kind),
                           c.compute_units,
                           c.max_work_group,
                           c.local_memory,
                           c.local_struct,
                           c.global_memory,
                           c.max_allocation,
                           c.atomics64,
                           static_cast<sortium_sub_group_words>(c.sub_group_words),
                           c.sub_group_size,
                           c.forward_progress,
                           c.cluster_groups,
                           c.ordered_local_atomics,
                           {},
                           c.compiles};
  c.model.copy(out.model, sizeof out.model - 1);
  return out;
}

}  // namespace sortium::c

using namespace sortium;

extern "C" {

const char* sortium_last_error(void) { return c::last_error.c_str(); }
const char* sortium_last_log(void) { return c::last_log.c_str(); }

void sortium_problem_init(sortium_problem* p) {
  if (p != nullptr) *p = c::c_problem(Problem{});
}

void sortium_capabilities_init(sortium_capabilities* capabilities) {
  if (capabilities != nullptr) *capabilities = c::c_capabilities({});
}

}  // extern "C"
