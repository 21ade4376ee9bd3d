#include <stddef.h>
#include <string.h>

#include "c_api_test.h"

typedef struct particle {
  float mass;
  uint32_t id;
  double x[3];
} particle;

static int in_order(const particle* p) {
  for (int i = 1; i < N; ++i)
    if (p[i - 1].mass < p[i].mass || (p[i - 1].mass == p[i].mass && p[i - 1].id > p[i].id))
      return 0;
  for (int i = 0; i < N; ++i)
    if (p[i].x[2] != p[i].id + p[i].mass) return 0;
  return 1;
}

/* By mass descending, then id; in host memory and in device memory. */
static void records(const sortium_options* options) {
  static particle before[N], particles[N], out[N];
  for (int i = 0; i < N; ++i) {
    before[i].mass = (float)(random_bits() % 30) - 15;
    before[i].id = random_bits() % 1000;
    before[i].x[2] = before[i].id + before[i].mass;
  }
  sortium_field key[2];
  for (int i = 0; i < 2; ++i) sortium_field_init(&key[i]);
  key[0].offset = offsetof(particle, mass);
  key[0].type = SORTIUM_F32;
  key[0].order = SORTIUM_DESCENDING;
  key[1].offset = offsetof(particle, id);
  memcpy(particles, before, sizeof before);
  CHECK(sortium_sort_records(particles, sizeof *particles, N, key, 2, options) == SORTIUM_OK);
  CHECK(in_order(particles));

  sortium_column column = {sizeof(particle), SORTIUM_NOT_MOVED};
  sortium_record_problem problem;
  sortium_record_problem_init(&problem);
  problem.count = N;
  problem.columns = &column;
  problem.column_count = 1;
  problem.key = key;
  problem.field_count = 2;
  problem.position_bytes = 4;
  static uint32_t positions[N];
  const void* const in = before;
  CHECK(sortium_sort_records_host(&problem, &in, NULL, positions, options) == SORTIUM_OK);
  CHECK(sortium_gather(before, positions, out, N, sizeof *before, 4, N, options) == SORTIUM_OK);
  CHECK(memcmp(out, particles, sizeof out) == 0);
  CHECK(sortium_scatter(particles, positions, out, N, sizeof *before, 4, N, options) == SORTIUM_OK);
  CHECK(memcmp(out, before, sizeof out) == 0);

  sortium_device* device = NULL;
  sortium_queue* queue = NULL;
  sortium_record_plan* plan = NULL;
  sortium_permute* permute = NULL;
  sortium_buffer *from = NULL, *to = NULL, *order = NULL, *scratch = NULL;
  column.moved = SORTIUM_MOVED_OUT;
  CHECK(sortium_device_find(options->device, &device) == SORTIUM_OK);
  CHECK(sortium_queue_create(device, 1, &queue) == SORTIUM_OK);
  CHECK(sortium_record_plan_create(device, &problem, options, &plan) == SORTIUM_OK);
  CHECK(strlen(sortium_record_plan_algorithm(plan)) > 0);
  sortium_capabilities capabilities;
  uint64_t bytes = 0;
  CHECK(sortium_device_capabilities(device, &capabilities) == SORTIUM_OK);
  CHECK(sortium_record_plan_scratch_bytes_for(&problem, &capabilities, options, &bytes) ==
        SORTIUM_OK);
  CHECK(bytes == sortium_record_plan_scratch_bytes(plan));
  CHECK(sortium_buffer_create(device, sizeof before, &from) == SORTIUM_OK);
  CHECK(sortium_buffer_create(device, sizeof before, &to) == SORTIUM_OK);
  CHECK(sortium_buffer_create(device, sizeof positions, &order) == SORTIUM_OK);
  CHECK(sortium_buffer_create(device, bytes, &scratch) == SORTIUM_OK);
  CHECK(sortium_queue_write(queue, sortium_buffer_memory(from), before, sizeof before) ==
        SORTIUM_OK);
  const sortium_memory memory_in = sortium_buffer_memory(from),
                       memory_out = sortium_buffer_memory(to);
  sortium_record_operands operands = {&memory_in, &memory_out, sortium_buffer_memory(order),
                                      sortium_buffer_memory(scratch)};
  CHECK(sortium_record_plan_run(plan, queue, &operands) == SORTIUM_OK);
  memset(out, 0, sizeof out);
  CHECK(sortium_queue_read(queue, out, memory_out, sizeof out) == SORTIUM_OK);
  CHECK(memcmp(out, particles, sizeof out) == 0);
  sortium_phase phases[16];
  size_t count = 0;
  CHECK(sortium_record_plan_profile(plan, queue, &operands, phases, 16, &count) == SORTIUM_OK);
  CHECK(count >= 3 && strcmp(phases[0].name, "pack") == 0);
  operands.columns_out = NULL;
  CHECK(sortium_record_plan_run(plan, queue, &operands) == SORTIUM_INVALID_ARGUMENT);
  CHECK(strstr(sortium_last_error(), "columns_out[0]") != NULL);

  const sortium_permute_problem back = {SORTIUM_SCATTER, N, sizeof(particle), 4, 0};
  CHECK(sortium_permute_create(device, &back, &permute) == SORTIUM_OK);
  CHECK(sortium_permute_run(permute, queue, memory_out, operands.positions, memory_in) ==
        SORTIUM_OK);
  CHECK(sortium_queue_read(queue, out, memory_in, sizeof out) == SORTIUM_OK);
  CHECK(memcmp(out, before, sizeof out) == 0);

  key[1].offset = 37;
  CHECK(sortium_sort_records(particles, sizeof *particles, N, key, 2, options) ==
        SORTIUM_INVALID_ARGUMENT);
  CHECK(strstr(sortium_last_error(), "key field 1 (u32 at byte 37)") != NULL);
  key[1].offset = 0;
  key[1].type = 40;
  CHECK(sortium_sort_records(particles, sizeof *particles, N, key, 2, options) ==
        SORTIUM_INVALID_ARGUMENT);
  key[1].type = SORTIUM_FIELD_BYTES;
  key[1].length = 8;
  CHECK(sortium_sort_records(particles, sizeof *particles, N, key, 2, options) == SORTIUM_OK);
  CHECK(sortium_sort_records(particles, sizeof *particles, N, NULL, 2, options) ==
        SORTIUM_INVALID_ARGUMENT);
  positions[7] = N;
  CHECK(sortium_gather(before, positions, out, N, sizeof *before, 4, N, options) ==
        SORTIUM_INVALID_ARGUMENT);
  CHECK(strstr(sortium_last_error(), "positions[7]") != NULL);

  sortium_buffer_release(from);
  sortium_buffer_release(to);
  sortium_buffer_release(order);
  sortium_buffer_release(scratch);
  sortium_record_plan_release(plan);
  sortium_permute_release(permute);
  sortium_queue_release(queue);
  sortium_device_release(device);
}

/* Values of 12 bytes with segments, top-k and unique; records with segments and a limit. */
static void values_of_any_size(const sortium_options* options) {
  typedef struct {
    char bytes[12];
  } value;
  uint32_t keys[7] = {7, 6, 5, 4, 3, 3, 1}, sorted[7], offsets[] = {0, 2, 2, 3, 7};
  value values[7], moved[7], out[7];
  for (int i = 0; i < 7; ++i) memset(values[i].bytes, 'a' + i, sizeof(value));
  const char* const as_segments = "bacgefd";
  sortium_problem problem;
  sortium_problem_init(&problem);
  problem.count = 7;
  problem.payload = SORTIUM_VALUES;
  problem.value_bytes = sizeof(value);
  problem.segments = 4;
  CHECK(sortium_sort_segments_host(&problem, keys, sorted, values, moved, offsets, options) ==
        SORTIUM_OK);
  for (int i = 0; i < 7; ++i)
    CHECK(moved[i].bytes[0] == as_segments[i] && moved[i].bytes[11] == as_segments[i]);
  CHECK(sorted[0] == 6 && sorted[3] == 1 && sorted[4] == 3);

  CHECK(sortium_topk_pairs(SORTIUM_U32, keys, values, sizeof(value), 7, 3, sorted, moved,
                           SORTIUM_ASCENDING, options) == SORTIUM_OK);
  CHECK(sorted[0] == 1 && sorted[2] == 3 && moved[0].bytes[5] == 'g' && moved[1].bytes[0] == 'e' &&
        moved[2].bytes[11] == 'f');

  memcpy(sorted, keys, sizeof keys);
  memcpy(moved, values, sizeof values);
  CHECK(sortium_sort_pairs(SORTIUM_U32, sorted, moved, sizeof(value), 7, SORTIUM_ASCENDING,
                           options) == SORTIUM_OK);
  CHECK(moved[0].bytes[0] == 'g' && moved[1].bytes[0] == 'e' && moved[6].bytes[11] == 'a');
  uint64_t runs = 0;
  problem.segments = 0;
  CHECK(sortium_unique(&problem, sorted, sorted, moved, out, NULL, 0, &runs, options) ==
        SORTIUM_OK);
  /* Refused before anything is written. */
  uint32_t ones[3] = {1, 1, 2};
  problem.count = 3;
  problem.payload = SORTIUM_NO_PAYLOAD;
  CHECK(sortium_unique(&problem, ones, ones, NULL, NULL, NULL, 0, NULL, options) ==
        SORTIUM_INVALID_ARGUMENT);
  CHECK(strstr(sortium_last_error(), "runs is null") != NULL);
  CHECK(ones[0] == 1 && ones[1] == 1 && ones[2] == 2);
  CHECK(runs == 6 && out[1].bytes[3] == 'e' && out[2].bytes[3] == 'd' && out[5].bytes[11] == 'a');

  /* Columns with segments and a limit, in host memory and in device memory. */
  sortium_column columns[2] = {{4, SORTIUM_NOT_MOVED}, {sizeof(value), SORTIUM_MOVED_OUT}};
  sortium_field key;
  sortium_field_init(&key);
  sortium_record_problem records;
  sortium_record_problem_init(&records);
  records.count = 7;
  records.columns = columns;
  records.column_count = 2;
  records.key = &key;
  records.field_count = 1;
  records.segments = 4;
  records.limit = 1;
  const void* const in[] = {keys, values};
  void* const to[] = {NULL, out};
  memset(out, '?', sizeof out);
  CHECK(sortium_sort_record_segments_host(&records, in, to, NULL, offsets, options) == SORTIUM_OK);
  const char* const first = "b?cg???";
  for (int i = 0; i < 7; ++i) CHECK(out[i].bytes[7] == first[i]);
  CHECK(sortium_sort_records_host(&records, in, to, NULL, options) == SORTIUM_INVALID_ARGUMENT);
  CHECK(strstr(sortium_last_error(), "offsets is null") != NULL);
  records.segments = 7;
  records.offset_bytes = 0;
  CHECK(sortium_sort_record_segments_host(&records, in, to, NULL, NULL, options) == SORTIUM_OK);
  CHECK(memcmp(out, values, sizeof values) == 0);
  records.segments = 4;
  records.offset_bytes = 4;
  /* Too many columns or fields: refused before they are read. */
  records.column_count = (size_t)1 << 40;
  CHECK(sortium_sort_records_host(&records, in, to, NULL, options) == SORTIUM_INVALID_ARGUMENT);
  CHECK(strstr(sortium_last_error(), "column_count is 1099511627776") != NULL);
  records.column_count = 2;
  records.field_count = (size_t)1 << 40;
  CHECK(sortium_sort_records_host(&records, in, to, NULL, options) == SORTIUM_INVALID_ARGUMENT);
  CHECK(strstr(sortium_last_error(), "field_count is 1099511627776") != NULL);
  records.field_count = 1;

  sortium_device* device = NULL;
  sortium_queue* queue = NULL;
  sortium_record_plan* plan = NULL;
  sortium_buffer *buffers[4] = {NULL, NULL, NULL, NULL}, *scratch = NULL;
  const size_t sizes[4] = {sizeof keys, sizeof values, sizeof out, sizeof offsets};
  CHECK(sortium_device_find(options->device, &device) == SORTIUM_OK);
  CHECK(sortium_queue_create(device, 0, &queue) == SORTIUM_OK);
  CHECK(sortium_record_plan_create(device, &records, options, &plan) == SORTIUM_OK);
  sortium_memory memory[4];
  const void* const from[4] = {keys, values, out, offsets};
  memset(out, '?', sizeof out);
  for (int i = 0; i < 4; ++i) {
    CHECK(sortium_buffer_create(device, sizes[i], &buffers[i]) == SORTIUM_OK);
    memory[i] = sortium_buffer_memory(buffers[i]);
    CHECK(sortium_queue_write(queue, memory[i], from[i], sizes[i]) == SORTIUM_OK);
  }
  CHECK(sortium_buffer_create(device, sortium_record_plan_scratch_bytes(plan), &scratch) ==
        SORTIUM_OK);
  const sortium_memory none = {NULL, 0, 0}, memory_out[2] = {none, memory[2]};
  const sortium_record_operands operands = {memory, memory_out, none,
                                            sortium_buffer_memory(scratch), memory[3]};
  CHECK(sortium_record_plan_run(plan, queue, &operands) == SORTIUM_OK);
  CHECK(sortium_queue_read(queue, out, memory[2], sizeof out) == SORTIUM_OK);
  for (int i = 0; i < 7; ++i) CHECK(out[i].bytes[7] == first[i]);
  for (int i = 0; i < 4; ++i) sortium_buffer_release(buffers[i]);
  sortium_buffer_release(scratch);
  sortium_record_plan_release(plan);
  sortium_queue_release(queue);
  sortium_device_release(device);

  key.type = SORTIUM_FIELD_BYTES;
  key.length = 3;
  key.offset = 4;
  key.order = SORTIUM_DESCENDING;
  CHECK(sortium_topk_records(values, sizeof(value), 7, &key, 1, 2, out, options) == SORTIUM_OK);
  CHECK(out[0].bytes[0] == 'g' && out[1].bytes[0] == 'f');
  CHECK(sortium_topk_records(values, sizeof(value), 7, &key, 1, 8, out, options) ==
        SORTIUM_INVALID_ARGUMENT);
}

void test_records(const sortium_options* options) {
  records(options);
  values_of_any_size(options);
}
