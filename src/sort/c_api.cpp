#include <sortium/sortium.h>

#include <algorithm>
#include <exception>
#include <utility>
#include <variant>

#include <sortium/sortium.hpp>
#include <sortium/verify.hpp>

using namespace sortium;

struct sortium_device {
  std::shared_ptr<Device> device;
};
struct sortium_buffer {
  std::shared_ptr<Device> device;  // must outlive its memory
  std::unique_ptr<Buffer> buffer;
};
struct sortium_queue {
  std::unique_ptr<Queue> queue;
};
struct sortium_plan {
  Plan plan;
  std::string parameters;
  std::vector<Plan::Phase> phases;
};
struct sortium_companion {
  std::variant<IsSortedPlan, UniquePlan, MergePlan, SearchPlan, NthElementPlan> plan;
};
struct sortium_record_plan {
  RecordPlan plan;
  std::vector<Plan::Phase> phases;
};
struct sortium_permute {
  Permute permute;
};

namespace {

thread_local std::string last_error, last_log;

sortium_status status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument: return SORTIUM_INVALID_ARGUMENT;
    case ErrorCode::unsupported: return SORTIUM_UNSUPPORTED;
    case ErrorCode::not_found: return SORTIUM_NOT_FOUND;
    case ErrorCode::out_of_memory: return SORTIUM_OUT_OF_MEMORY;
    case ErrorCode::build_failed: return SORTIUM_BUILD_FAILED;
    case ErrorCode::device_failed: return SORTIUM_DEVICE_FAILED;
  }
  return SORTIUM_INTERNAL_ERROR;
}

// No exception leaves the library through its C functions.
template <class F>
sortium_status guarded(F&& body) {
  try {
    body();
    return SORTIUM_OK;
  } catch (const Error& e) {
    last_error = e.what();
    last_log = e.log();
    return status_of(e.code());
  } catch (const std::exception& e) {
    last_error = e.what();
    last_log.clear();
    return SORTIUM_INTERNAL_ERROR;
  }
}

template <class T>
T& need(T* pointer, const char* name) {
  if (pointer == nullptr) throw Error(ErrorCode::invalid_argument, std::string(name) + " is null");
  return *pointer;
}

template <class To, class From>
To enumerated(From value, int last, const char* name) {
  const int v = static_cast<int>(value);
  if (v < 0 || v > last)
    throw Error(ErrorCode::invalid_argument,
                std::string(name) + " is " + std::to_string(v) + "; 0 to " + std::to_string(last) + " are allowed");
  return static_cast<To>(v);
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
          c.limit};
}

sortium_problem c_problem(const Problem& p) {
  return {static_cast<sortium_key_type>(p.key), p.count, static_cast<sortium_payload>(p.payload), p.value_bytes,
          p.keys_out, static_cast<sortium_order>(p.order), p.begin_bit, p.end_bit, static_cast<sortium_nan_order>(p.nan),
          static_cast<sortium_zero_order>(p.zeros), p.segments, p.offset_bytes, p.limit};
}

std::string text(const char* given, const char* otherwise) { return given ? given : otherwise; }

Method method_of(const sortium_options* o) {
  if (o == nullptr) return {};
  return {text(o->algorithm, "auto"), text(o->parameters, ""), o->max_scratch_bytes};
}

Options options_of(const sortium_options* o) {
  Options options;
  if (o != nullptr) options.device = text(o->device, "");
  const auto method = method_of(o);
  options.algorithm = method.algorithm;
  options.parameters = method.parameters;
  options.max_scratch_bytes = method.max_scratch_bytes;
  return options;
}

Memory memory_of(const sortium_memory& m) { return {m.handle, m.offset, m.bytes}; }

Operands operands_of(const sortium_operands* o) {
  const auto& c = need(o, "operands");
  return {memory_of(c.keys_in), memory_of(c.keys_out), memory_of(c.values_in), memory_of(c.values_out),
          memory_of(c.scratch), memory_of(c.offsets)};
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
          c.async_copy != 0,
          c.ordered_local_atomics != 0,
          std::string(c.model, std::find(c.model, std::end(c.model), '\0'))};
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
                           c.async_copy,
                           c.ordered_local_atomics,
                           {}};
  c.model.copy(out.model, sizeof out.model - 1);
  return out;
}

// The least the host functions need of the options.
std::string device_of(const sortium_options* o) { return o == nullptr ? "" : text(o->device, ""); }

sortium_problem problem_of(sortium_key_type key, uint64_t count, sortium_order order) {
  sortium_problem p;
  sortium_problem_init(&p);
  p.key = key;
  p.count = count;
  p.order = order;
  return p;
}

template <class Plan, class... Rest>
sortium_status create(sortium_companion** companion, sortium_device* device, const sortium_problem* problem, Rest... rest) {
  return guarded([&] {
    need(companion, "companion");
    *companion = new sortium_companion{Plan(need(device, "device").device, problem_of(problem), rest...)};
  });
}

// `count` elements; null is fine where there are none.
template <class T>
std::span<const T> many(const T* first, size_t count, const char* name) {
  if (count != 0) need(first, name);
  return {first, count};
}

FieldType field_type_of_c(const sortium_field& f) {
  switch (f.type) {
    case SORTIUM_FIELD_U128: return FieldType::u128();
    case SORTIUM_FIELD_I128: return FieldType::i128();
    case SORTIUM_FIELD_BYTES: return FieldType::bytes(f.length);
    default: break;
  }
  if (f.type >= all_key_types.size())
    throw Error(ErrorCode::invalid_argument, "the type of a field is " + std::to_string(f.type) +
                                                 "; a sortium_key_type or SORTIUM_FIELD_… is allowed");
  return static_cast<KeyType>(f.type);
}

std::vector<Field> fields_of(const sortium_field* key, size_t count) {
  std::vector<Field> fields;
  for (const auto& f : many(key, count, "key"))
    fields.push_back({f.column, f.offset, field_type_of_c(f), enumerated<Order>(f.order, 1, "order"),
                      enumerated<NanOrder>(f.nan, 2, "nan"), enumerated<ZeroOrder>(f.zeros, 1, "zeros"), f.begin_bit,
                      f.end_bit});
  return fields;
}

RecordProblem record_problem_of(const sortium_record_problem* given) {
  const auto& c = need(given, "problem");
  RecordProblem p{.count = c.count, .key = fields_of(c.key, c.field_count), .position_bytes = c.position_bytes,
                  .segments = c.segments, .offset_bytes = c.offset_bytes, .limit = c.limit};
  for (const auto& column : many(c.columns, c.column_count, "columns"))
    p.columns.push_back({column.bytes, enumerated<Moved>(column.moved, 2, "moved")});
  return p;
}

// Memory of columns, as a RecordOperands wants it.
struct Columns {
  Columns(const sortium_record_operands* given, const RecordProblem& p) {
    const auto& c = need(given, "operands");
    for (const auto& m : many(c.columns_in, p.columns.size(), "columns_in")) in.push_back(memory_of(m));
    if (c.columns_out != nullptr)
      for (const auto& m : std::span(c.columns_out, p.columns.size())) out.push_back(memory_of(m));
    operands = {in, out, memory_of(c.positions), memory_of(c.scratch), memory_of(c.offsets)};
  }
  std::vector<Memory> in, out;
  RecordOperands operands;
};

PermuteProblem permute_problem_of(const sortium_permute_problem* given) {
  const auto& c = need(given, "problem");
  return {enumerated<Direction>(c.direction, 1, "direction"), c.count, c.element_bytes, c.index_bytes, c.elements};
}

void write_phases(const std::vector<Plan::Phase>& from, sortium_phase* phases, size_t room, size_t* count) {
  *count = from.size();
  for (size_t i = 0; i < std::min(room, from.size()); ++i)
    phases[i] = {from[i].name.c_str(), from[i].seconds, from[i].launches};
}

// Never changes, so that names may be handed out for ever.
const std::vector<AlgorithmInfo>& all_algorithms() {
  static const auto& all = *new std::vector<AlgorithmInfo>(algorithms());
  return all;
}

}  // namespace

extern "C" {

const char* sortium_last_error(void) { return last_error.c_str(); }
const char* sortium_last_log(void) { return last_log.c_str(); }
const char* sortium_version(void) { return version().data(); }

void sortium_problem_init(sortium_problem* p) {
  if (p != nullptr) *p = c_problem({});
}

sortium_status sortium_sort_host(const sortium_problem* problem, const void* keys_in, void* keys_out,
                                 const void* values_in, void* values_out, const sortium_options* options) {
  return guarded([&] { sort_host(problem_of(problem), {keys_in, keys_out, values_in, values_out}, options_of(options)); });
}

sortium_status sortium_sort_segments_host(const sortium_problem* problem, const void* keys_in, void* keys_out,
                                          const void* values_in, void* values_out, const void* offsets,
                                          const sortium_options* options) {
  return guarded([&] {
    sort_host(problem_of(problem), {keys_in, keys_out, values_in, values_out, offsets}, options_of(options));
  });
}

sortium_status sortium_sort(sortium_key_type key, void* keys, uint64_t count, sortium_order order,
                            const sortium_options* options) {
  sortium_problem p;
  sortium_problem_init(&p);
  p.key = key;
  p.count = count;
  p.order = order;
  return sortium_sort_host(&p, keys, keys, nullptr, nullptr, options);
}

sortium_status sortium_sort_pairs(sortium_key_type key, void* keys, void* values, unsigned value_bytes, uint64_t count,
                                  sortium_order order, const sortium_options* options) {
  sortium_problem p;
  sortium_problem_init(&p);
  p.key = key;
  p.count = count;
  p.order = order;
  p.payload = SORTIUM_VALUES;
  p.value_bytes = value_bytes;
  return sortium_sort_host(&p, keys, keys, values, values, options);
}

sortium_status sortium_argsort(sortium_key_type key, const void* keys, void* positions, unsigned index_bytes,
                               uint64_t count, sortium_order order, const sortium_options* options) {
  sortium_problem p;
  sortium_problem_init(&p);
  p.key = key;
  p.count = count;
  p.order = order;
  p.payload = SORTIUM_POSITIONS;
  p.value_bytes = index_bytes;
  p.keys_out = 0;
  return sortium_sort_host(&p, keys, nullptr, nullptr, positions, options);
}

void sortium_capabilities_init(sortium_capabilities* capabilities) {
  if (capabilities != nullptr) *capabilities = c_capabilities({});
}

size_t sortium_device_count(void) {
  size_t count = 0;
  (void)guarded([&] { count = devices().size(); });
  return count;
}

sortium_status sortium_device_at(size_t index, sortium_device** device) {
  return guarded([&] {
    need(device, "device");
    if (index >= devices().size())
      throw Error(ErrorCode::not_found, "device " + std::to_string(index) + " of " + std::to_string(devices().size()));
    *device = new sortium_device{devices()[index]};
  });
}

sortium_status sortium_device_find(const char* spec, sortium_device** device) {
  return guarded([&] {
    need(device, "device");
    *device = new sortium_device{find_device(text(spec, ""))};
  });
}

void sortium_device_release(sortium_device* device) { delete device; }
const char* sortium_device_id(const sortium_device* d) { return d ? d->device->info().id.c_str() : ""; }
const char* sortium_device_name(const sortium_device* d) { return d ? d->device->info().name.c_str() : ""; }

sortium_status sortium_device_capabilities(sortium_device* device, sortium_capabilities* out) {
  return guarded([&] { need(out, "capabilities") = c_capabilities(capabilities(*need(device, "device").device)); });
}

sortium_status sortium_buffer_create(sortium_device* device, uint64_t bytes, sortium_buffer** buffer) {
  return guarded([&] {
    need(buffer, "buffer");
    auto& d = need(device, "device").device;
    *buffer = new sortium_buffer{d, d->allocate(bytes)};
  });
}

sortium_memory sortium_buffer_memory(const sortium_buffer* buffer) {
  if (buffer == nullptr) return {};
  const auto m = buffer->buffer->memory();
  return {m.handle, m.offset, m.bytes};
}

void sortium_buffer_release(sortium_buffer* buffer) { delete buffer; }

sortium_status sortium_queue_create(sortium_device* device, int tracing, sortium_queue** queue) {
  return guarded([&] {
    need(queue, "queue");
    *queue = new sortium_queue{need(device, "device").device->make_queue(tracing != 0)};
  });
}

sortium_status sortium_queue_wrap_opencl(void* cl_context, void* cl_command_queue, sortium_queue** queue) {
  return guarded([&] {
    need(queue, "queue");
    *queue = new sortium_queue{wrap_opencl(cl_context, cl_command_queue)};
  });
}

sortium_status sortium_queue_wrap_cuda(void* cu_context, void* cu_stream, sortium_queue** queue) {
  return guarded([&] {
    need(queue, "queue");
    *queue = new sortium_queue{wrap_cuda(cu_context, cu_stream)};
  });
}

sortium_status sortium_queue_device(sortium_queue* queue, sortium_device** device) {
  return guarded([&] {
    need(device, "device");
    *device = new sortium_device{need(queue, "queue").queue->device().shared_from_this()};
  });
}

sortium_status sortium_queue_write(sortium_queue* queue, sortium_memory to, const void* from, uint64_t bytes) {
  return guarded([&] { need(queue, "queue").queue->write(memory_of(to), from, bytes); });
}

sortium_status sortium_queue_read(sortium_queue* queue, void* to, sortium_memory from, uint64_t bytes) {
  return guarded([&] { need(queue, "queue").queue->read(to, memory_of(from), bytes); });
}

sortium_status sortium_queue_finish(sortium_queue* queue) {
  return guarded([&] { need(queue, "queue").queue->finish(); });
}

void sortium_queue_release(sortium_queue* queue) { delete queue; }

sortium_status sortium_plan_create(sortium_device* device, const sortium_problem* problem,
                                   const sortium_options* options, sortium_plan** plan) {
  return guarded([&] {
    need(plan, "plan");
    Plan made(need(device, "device").device, problem_of(problem), method_of(options));
    auto parameters = made.parameters();
    *plan = new sortium_plan{std::move(made), std::move(parameters), {}};
  });
}

uint64_t sortium_plan_scratch_bytes(const sortium_plan* plan) { return plan ? plan->plan.scratch_bytes() : 0; }

sortium_status sortium_plan_scratch_bytes_for(const sortium_problem* problem, const sortium_capabilities* c,
                                              const sortium_options* options, uint64_t* bytes) {
  return guarded([&] {
    need(bytes, "bytes") = Plan::scratch_bytes_for(problem_of(problem), capabilities_of(c), method_of(options));
  });
}

const char* sortium_plan_algorithm(const sortium_plan* plan) { return plan ? plan->plan.algorithm().name.c_str() : ""; }
const char* sortium_plan_parameters(const sortium_plan* plan) { return plan ? plan->parameters.c_str() : ""; }
uint64_t sortium_plan_run_length(const sortium_plan* plan) { return plan ? plan->plan.run_length() : 0; }

sortium_status sortium_plan_run(sortium_plan* plan, sortium_queue* queue, const sortium_operands* operands) {
  return guarded([&] { need(plan, "plan").plan.run(*need(queue, "queue").queue, operands_of(operands)); });
}

sortium_status sortium_plan_profile(sortium_plan* plan, sortium_queue* queue, const sortium_operands* operands,
                                    sortium_phase* phases, size_t room, size_t* count) {
  return guarded([&] {
    auto& p = need(plan, "plan");
    need(count, "count");
    if (room > 0) need(phases, "phases");
    p.phases = p.plan.profile(*need(queue, "queue").queue, operands_of(operands));
    write_phases(p.phases, phases, room, count);
  });
}

void sortium_plan_release(sortium_plan* plan) { delete plan; }

void sortium_field_init(sortium_field* f) {
  if (f != nullptr) *f = {};
}
void sortium_record_problem_init(sortium_record_problem* p) {
  if (p == nullptr) return;
  *p = {};
  p->offset_bytes = RecordProblem{}.offset_bytes;
}

sortium_status sortium_sort_records(void* records, unsigned record_bytes, uint64_t count, const sortium_field* key,
                                    size_t field_count, const sortium_options* options) {
  return guarded([&] { sort_records(records, record_bytes, count, fields_of(key, field_count), options_of(options)); });
}

sortium_status sortium_sort_records_host(const sortium_record_problem* problem, const void* const* columns_in,
                                         void* const* columns_out, void* positions, const sortium_options* options) {
  return sortium_sort_record_segments_host(problem, columns_in, columns_out, positions, nullptr, options);
}

sortium_status sortium_sort_record_segments_host(const sortium_record_problem* problem, const void* const* columns_in,
                                                 void* const* columns_out, void* positions, const void* offsets,
                                                 const sortium_options* options) {
  return guarded([&] {
    const auto p = record_problem_of(problem);
    RecordHostOperands o{many(columns_in, p.columns.size(), "columns_in"), {}, positions, offsets};
    if (columns_out != nullptr) o.columns_out = {columns_out, p.columns.size()};
    sort_records_host(p, o, options_of(options));
  });
}

sortium_status sortium_topk_records(const void* records, unsigned record_bytes, uint64_t count, const sortium_field* key,
                                    size_t field_count, uint64_t k, void* records_out, const sortium_options* options) {
  return guarded([&] {
    detail::check_k(k, count);
    const RecordProblem p{.count = count, .columns = {{record_bytes, Moved::out}}, .key = fields_of(key, field_count), .limit = k};
    sort_records_host(p, {{&records, 1}, {&records_out, 1}}, options_of(options));
  });
}

sortium_status sortium_record_plan_create(sortium_device* device, const sortium_record_problem* problem,
                                          const sortium_options* options, sortium_record_plan** plan) {
  return guarded([&] {
    need(plan, "plan");
    *plan = new sortium_record_plan{
        RecordPlan(need(device, "device").device, record_problem_of(problem), method_of(options)), {}};
  });
}

uint64_t sortium_record_plan_scratch_bytes(const sortium_record_plan* plan) { return plan ? plan->plan.scratch_bytes() : 0; }

sortium_status sortium_record_plan_scratch_bytes_for(const sortium_record_problem* problem, const sortium_capabilities* c,
                                                     const sortium_options* options, uint64_t* bytes) {
  return guarded([&] {
    need(bytes, "bytes") = RecordPlan::scratch_bytes_for(record_problem_of(problem), capabilities_of(c), method_of(options));
  });
}

const char* sortium_record_plan_algorithm(const sortium_record_plan* plan) {
  return plan ? plan->plan.algorithm().name.c_str() : "";
}

sortium_status sortium_record_plan_run(sortium_record_plan* plan, sortium_queue* queue,
                                       const sortium_record_operands* operands) {
  return guarded([&] {
    const auto& p = need(plan, "plan").plan;
    p.run(*need(queue, "queue").queue, Columns(operands, p.problem()).operands);
  });
}

sortium_status sortium_record_plan_profile(sortium_record_plan* plan, sortium_queue* queue,
                                           const sortium_record_operands* operands, sortium_phase* phases, size_t room,
                                           size_t* count) {
  return guarded([&] {
    auto& p = need(plan, "plan");
    need(count, "count");
    if (room > 0) need(phases, "phases");
    p.phases = p.plan.profile(*need(queue, "queue").queue, Columns(operands, p.plan.problem()).operands);
    write_phases(p.phases, phases, room, count);
  });
}

void sortium_record_plan_release(sortium_record_plan* plan) { delete plan; }

sortium_status sortium_gather(const void* in, const void* positions, void* out, uint64_t count, unsigned element_bytes,
                              unsigned index_bytes, uint64_t elements, const sortium_options* options) {
  return guarded([&] {
    permute_host({Direction::gather, count, element_bytes, index_bytes, elements}, in, positions, out, options_of(options));
  });
}

sortium_status sortium_scatter(const void* in, const void* positions, void* out, uint64_t count, unsigned element_bytes,
                               unsigned index_bytes, uint64_t elements, const sortium_options* options) {
  return guarded([&] {
    permute_host({Direction::scatter, count, element_bytes, index_bytes, elements}, in, positions, out, options_of(options));
  });
}

sortium_status sortium_permute_create(sortium_device* device, const sortium_permute_problem* problem,
                                      sortium_permute** permute) {
  return guarded([&] {
    need(permute, "permute");
    *permute = new sortium_permute{Permute(need(device, "device").device, permute_problem_of(problem))};
  });
}

sortium_status sortium_permute_run(sortium_permute* permute, sortium_queue* queue, sortium_memory in,
                                   sortium_memory positions, sortium_memory out) {
  return guarded([&] {
    need(permute, "permute").permute.run(*need(queue, "queue").queue, memory_of(in), memory_of(positions), memory_of(out));
  });
}

void sortium_permute_release(sortium_permute* permute) { delete permute; }

size_t sortium_algorithm_count(void) { return all_algorithms().size(); }

sortium_status sortium_algorithm_at(size_t index, sortium_algorithm* algorithm) {
  return guarded([&] {
    need(algorithm, "algorithm");
    if (index >= all_algorithms().size())
      throw Error(ErrorCode::not_found, "algorithm " + std::to_string(index) + " of " +
                                            std::to_string(all_algorithms().size()));
    const auto& a = all_algorithms()[index];
    *algorithm = {a.name.c_str(), a.title.c_str(), a.source.c_str(), a.cost.c_str(),
                  a.stable,       a.partial,       a.comparison,     a.quadratic,       a.host,
                  a.segments,     a.limit};
  });
}

sortium_status sortium_self_test(sortium_device* device, const char* algorithm, const sortium_self_test_result** results,
                                 size_t* count) {
  return guarded([&] {
    need(results, "results");
    need(count, "count");
    thread_local std::vector<SelfTest> tests;
    thread_local std::vector<sortium_self_test_result> of_tests;
    tests = self_test(*need(device, "device").device, text(algorithm, ""));
    of_tests.clear();
    for (const auto& t : tests)
      of_tests.push_back({std::ranges::find(all_algorithms(), t.algorithm, &AlgorithmInfo::name)->name.c_str(), c_problem(t.problem), t.supported, t.failure.c_str()});
    *results = of_tests.data();
    *count = of_tests.size();
  });
}

sortium_status sortium_verify(sortium_queue* queue, const sortium_problem* problem, sortium_memory keys,
                              sortium_memory values, uint64_t run_length, sortium_verdict* verdict) {
  return guarded([&] {
    need(verdict, "verdict");
    const auto v = verify(*need(queue, "queue").queue, problem_of(problem), memory_of(keys), memory_of(values), run_length);
    *verdict = {v.unsorted, v.first_unsorted, v.checksum};
  });
}

sortium_status sortium_topk(sortium_key_type key, const void* keys, uint64_t count, uint64_t k, void* keys_out,
                            sortium_order order, const sortium_options* options) {
  return guarded([&] {
    auto p = problem_of(key, count, order);
    detail::check_k(p.limit = k, count);
    sort_host(problem_of(&p), {keys, keys_out}, options_of(options));
  });
}

sortium_status sortium_topk_pairs(sortium_key_type key, const void* keys, const void* values, unsigned value_bytes,
                                  uint64_t count, uint64_t k, void* keys_out, void* values_out, sortium_order order,
                                  const sortium_options* options) {
  return guarded([&] {
    auto p = problem_of(key, count, order);
    detail::check_k(p.limit = k, count);
    p.payload = SORTIUM_VALUES;
    p.value_bytes = value_bytes;
    sort_host(problem_of(&p), {keys, keys_out, values, values_out}, options_of(options));
  });
}

sortium_status sortium_argtopk(sortium_key_type key, const void* keys, void* positions, unsigned index_bytes, uint64_t count,
                               uint64_t k, sortium_order order, const sortium_options* options) {
  return guarded([&] {
    auto p = problem_of(key, count, order);
    detail::check_k(p.limit = k, count);
    p.payload = SORTIUM_POSITIONS;
    p.value_bytes = index_bytes;
    p.keys_out = 0;
    sort_host(problem_of(&p), {keys, nullptr, nullptr, positions}, options_of(options));
  });
}

sortium_status sortium_is_sorted(const sortium_problem* problem, const void* keys, uint64_t* first_unsorted,
                                 const sortium_options* options) {
  return guarded([&] { need(first_unsorted, "first_unsorted") = first_unsorted_host(problem_of(problem), keys, device_of(options)); });
}

sortium_status sortium_unique(const sortium_problem* problem, const void* keys_in, void* keys_out, const void* values_in,
                              void* values_out, void* lengths, unsigned length_bytes, uint64_t* runs,
                              const sortium_options* options) {
  return guarded([&] {
    need(runs, "runs") = unique_host(problem_of(problem), {keys_in, keys_out, values_in, values_out}, lengths, length_bytes, device_of(options));
  });
}

sortium_status sortium_merge(const sortium_problem* problem, uint64_t a_count, const void* a_keys, const void* b_keys,
                             void* keys_out, const void* a_values, const void* b_values, void* values_out,
                             const sortium_options* options) {
  return guarded([&] {
    merge_host(problem_of(problem), a_count, {a_keys, b_keys, keys_out, a_values, b_values, values_out}, device_of(options));
  });
}

sortium_status sortium_search(const sortium_problem* problem, const void* keys, const void* needles, uint64_t needle_count,
                              void* places, sortium_bound bound, const sortium_options* options) {
  return guarded([&] {
    search_host(problem_of(problem), keys, needles, needle_count, places, enumerated<Bound>(bound, 1, "bound"), device_of(options));
  });
}

sortium_status sortium_nth_element(const sortium_problem* problem, uint64_t n, const void* keys_in, void* keys_out,
                                   const void* values_in, void* values_out, const sortium_options* options) {
  return guarded([&] { nth_element_host(problem_of(problem), n, {keys_in, keys_out, values_in, values_out}, device_of(options)); });
}

sortium_status sortium_companion_is_sorted(sortium_device* device, const sortium_problem* problem, sortium_companion** companion) {
  return create<IsSortedPlan>(companion, device, problem);
}

sortium_status sortium_companion_unique(sortium_device* device, const sortium_problem* problem, unsigned length_bytes,
                                        sortium_companion** companion) {
  return create<UniquePlan>(companion, device, problem, length_bytes);
}

sortium_status sortium_companion_merge(sortium_device* device, const sortium_problem* problem, uint64_t a_count,
                                       sortium_companion** companion) {
  return create<MergePlan>(companion, device, problem, a_count);
}

sortium_status sortium_companion_search(sortium_device* device, const sortium_problem* problem, uint64_t needle_count,
                                        sortium_bound bound, sortium_companion** companion) {
  Bound b{};
  if (const auto status = guarded([&] { b = enumerated<Bound>(bound, 1, "bound"); }); status != SORTIUM_OK) return status;
  return create<SearchPlan>(companion, device, problem, needle_count, b);
}

sortium_status sortium_companion_nth_element(sortium_device* device, const sortium_problem* problem, uint64_t n,
                                             sortium_companion** companion) {
  return create<NthElementPlan>(companion, device, problem, n);
}

uint64_t sortium_companion_scratch_bytes(const sortium_companion* c) {
  return c == nullptr ? 0 : std::visit([](const auto& plan) { return plan.scratch_bytes(); }, c->plan);
}

sortium_status sortium_companion_run(sortium_companion* companion, sortium_queue* queue, const sortium_companion_operands* operands) {
  return guarded([&] {
    auto& q = *need(queue, "queue").queue;
    const auto& c = need(operands, "operands");
    const auto m = [](const sortium_memory& memory) { return memory_of(memory); };
    struct Run {
      Queue& q;
      const sortium_companion_operands& c;
      decltype(m)& m;
      void operator()(const IsSortedPlan& p) const { p.run(q, {m(c.keys_in), m(c.result), m(c.scratch)}); }
      void operator()(const UniquePlan& p) const {
        p.run(q, {m(c.keys_in), m(c.keys_out), m(c.values_in), m(c.values_out), m(c.lengths), m(c.result), m(c.scratch)});
      }
      void operator()(const MergePlan& p) const {
        p.run(q, {m(c.keys_in), m(c.b_keys), m(c.keys_out), m(c.values_in), m(c.b_values), m(c.values_out), m(c.scratch)});
      }
      void operator()(const SearchPlan& p) const { p.run(q, {m(c.keys_in), m(c.needles), m(c.result)}); }
      void operator()(const NthElementPlan& p) const {
        p.run(q, {m(c.keys_in), m(c.keys_out), m(c.values_in), m(c.values_out), m(c.scratch), {}});
      }
    };
    std::visit(Run{q, c, m}, need(companion, "companion").plan);
  });
}

void sortium_companion_release(sortium_companion* companion) { delete companion; }

}  // extern "C"
