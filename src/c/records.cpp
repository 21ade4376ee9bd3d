// Records and permutations for C.
#include "convert.hpp"

using namespace sortium;
using namespace sortium::c;

struct sortium_record_plan {
  RecordPlan plan;
  std::vector<Plan::Phase> phases;
};
struct sortium_permute {
  Permute permute;
};

namespace {

FieldType field_type_of_c(const sortium_field& f) {
  switch (f.type) {
    case SORTIUM_FIELD_U128:
      return FieldType::u128();
    case SORTIUM_FIELD_I128:
      return FieldType::i128();
    case SORTIUM_FIELD_BYTES:
      return FieldType::bytes(f.length);
    default:
      break;
  }
  if (f.type >= all_key_types.size())
    throw Error(ErrorCode::invalid_argument,
                "the type of a field is " + std::to_string(f.type) +
                    "; a sortium_key_type or SORTIUM_FIELD_… is allowed");
  return static_cast<KeyType>(f.type);
}

// Throws Error(invalid_argument) if `count` exceeds `most`, the most elements that the array may
// have.
void bound(size_t count, size_t most, const char* name) {
  if (count > most)
    throw Error(ErrorCode::invalid_argument, std::string(name) + " is " + std::to_string(count) +
                                                 "; 1 to " + std::to_string(most) + " are allowed");
}

std::vector<Field> fields_of(const sortium_field* key, size_t count) {
  bound(count, max_fields, "field_count");
  std::vector<Field> fields;
  for (const auto& f : many(key, count, "key"))
    fields.push_back({f.column, f.offset, field_type_of_c(f),
                      enumerated<Order>(f.order, 1, "order"), enumerated<NanOrder>(f.nan, 2, "nan"),
                      enumerated<ZeroOrder>(f.zeros, 1, "zeros"), f.begin_bit, f.end_bit});
  return fields;
}

PermuteProblem permute_problem_of(const sortium_permute_problem* given) {
  const auto& c = need(given, "problem");
  return {enumerated<Direction>(c.direction, 1, "direction"), c.count, c.element_bytes,
          c.index_bytes, c.elements};
}

}  // namespace

RecordProblem sortium::c::record_problem_of(const sortium_record_problem* given) {
  const auto& c = need(given, "problem");
  bound(c.column_count, max_columns, "column_count");
  RecordProblem p{.count = c.count,
                  .key = fields_of(c.key, c.field_count),
                  .position_bytes = c.position_bytes,
                  .segments = c.segments,
                  .offset_bytes = c.offset_bytes,
                  .limit = c.limit,
                  .stride = c.stride == 0 ? 1 : c.stride};
  for (const auto& column : many(c.columns, c.column_count, "columns"))
    p.columns.push_back({column.bytes, enumerated<Moved>(column.moved, 2, "moved")});
  return p;
}

extern "C" {

void sortium_field_init(sortium_field* f) {
  if (f != nullptr) *f = {};
}
void sortium_record_problem_init(sortium_record_problem* p) {
  if (p == nullptr) return;
  *p = {};
  p->offset_bytes = RecordProblem{}.offset_bytes;
  p->stride = RecordProblem{}.stride;
}

sortium_status sortium_sort_records(void* records, unsigned record_bytes, uint64_t count,
                                    const sortium_field* key, size_t field_count,
                                    const sortium_options* options) {
  return guarded([&] {
    sort_records(records, record_bytes, count, fields_of(key, field_count), options_of(options));
  });
}

sortium_status sortium_sort_records_host(const sortium_record_problem* problem,
                                         const void* const* columns_in, void* const* columns_out,
                                         void* positions, const sortium_options* options) {
  return sortium_sort_record_segments_host(problem, columns_in, columns_out, positions, nullptr,
                                           options);
}

sortium_status sortium_sort_record_segments_host(const sortium_record_problem* problem,
                                                 const void* const* columns_in,
                                                 void* const* columns_out, void* positions,
                                                 const void* offsets,
                                                 const sortium_options* options) {
  return guarded([&] {
    const auto p = record_problem_of(problem);
    RecordHostOperands o{many(columns_in, p.columns.size(), "columns_in"), {}, positions, offsets};
    if (columns_out != nullptr) o.columns_out = {columns_out, p.columns.size()};
    sort_records_host(p, o, options_of(options));
  });
}

sortium_status sortium_topk_records(const void* records, unsigned record_bytes, uint64_t count,
                                    const sortium_field* key, size_t field_count, uint64_t k,
                                    void* records_out, const sortium_options* options) {
  return guarded([&] {
    detail::check_k(k, count);
    const RecordProblem p{.count = count,
                          .columns = {{record_bytes, Moved::out}},
                          .key = fields_of(key, field_count),
                          .limit = k};
    sort_records_host(p, {{&records, 1}, {&records_out, 1}}, options_of(options));
  });
}

sortium_status sortium_record_plan_create(sortium_device* device,
                                          const sortium_record_problem* problem,
                                          const sortium_options* options,
                                          sortium_record_plan** plan) {
  return guarded([&] {
    need(plan, "plan");
    *plan = new sortium_record_plan{
        RecordPlan(need(device, "device").device, record_problem_of(problem), method_of(options)),
        {}};
  });
}

uint64_t sortium_record_plan_scratch_bytes(const sortium_record_plan* plan) {
  return plan ? plan->plan.scratch_bytes() : 0;
}

sortium_status sortium_record_plan_scratch_bytes_for(const sortium_record_problem* problem,
                                                     const sortium_capabilities* c,
                                                     const sortium_options* options,
                                                     uint64_t* bytes) {
  return guarded([&] {
    need(bytes, "bytes") = RecordPlan::scratch_bytes_for(record_problem_of(problem),
                                                         capabilities_of(c), method_of(options));
  });
}

const char* sortium_record_plan_algorithm(const sortium_record_plan* plan) {
  return plan ? plan->plan.algorithm().name.c_str() : "";
}

sortium_status sortium_record_plan_run(sortium_record_plan* plan, sortium_queue* queue,
                                       const sortium_record_operands* operands) {
  return guarded([&] {
    const auto& p = need(plan, "plan").plan;
    p.run(*need(queue, "queue").queue, DeviceColumns(operands, p.problem()).operands);
  });
}

sortium_status sortium_record_plan_profile(sortium_record_plan* plan, sortium_queue* queue,
                                           const sortium_record_operands* operands,
                                           sortium_phase* phases, size_t capacity, size_t* count) {
  return guarded([&] {
    auto& p = need(plan, "plan");
    need(count, "count");
    if (capacity > 0) need(phases, "phases");
    p.phases = p.plan.profile(*need(queue, "queue").queue,
                              DeviceColumns(operands, p.plan.problem()).operands);
    write_phases(p.phases, phases, capacity, count);
  });
}

void sortium_record_plan_release(sortium_record_plan* plan) { delete plan; }

sortium_status sortium_gather(const void* in, const void* positions, void* out, uint64_t count,
                              unsigned element_bytes, unsigned index_bytes, uint64_t elements,
                              const sortium_options* options) {
  return guarded([&] {
    permute_host({Direction::gather, count, element_bytes, index_bytes, elements}, in, positions,
                 out, options_of(options));
  });
}

sortium_status sortium_scatter(const void* in, const void* positions, void* out, uint64_t count,
                               unsigned element_bytes, unsigned index_bytes, uint64_t elements,
                               const sortium_options* options) {
  return guarded([&] {
    permute_host({Direction::scatter, count, element_bytes, index_bytes, elements}, in, positions,
                 out, options_of(options));
  });
}

sortium_status sortium_permute_create(sortium_device* device,
                                      const sortium_permute_problem* problem,
                                      sortium_permute** permute) {
  return guarded([&] {
    need(permute, "permute");
    *permute =
        new sortium_permute{Permute(need(device, "device").device, permute_problem_of(problem))};
  });
}

sortium_status sortium_permute_run(sortium_permute* permute, sortium_queue* queue,
                                   sortium_memory in, sortium_memory positions,
                                   sortium_memory out) {
  return guarded([&] {
    need(permute, "permute")
        .permute.run(*need(queue, "queue").queue, memory_of(in), memory_of(positions),
                     memory_of(out));
  });
}

void sortium_permute_release(sortium_permute* permute) { delete permute; }

}  // extern "C"
