/* The C API from C: what sortium.hpp promises holds here too, and failures leave a status and a message. */
#include <math.h>
#include <sortium/sortium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

#define CHECK(condition)                                                                                   \
  do {                                                                                                     \
    if (!(condition)) {                                                                                    \
      printf("%s:%d: %s does not hold (%s)\n", __FILE__, __LINE__, #condition, sortium_last_error());      \
      ++failures;                                                                                          \
    }                                                                                                      \
  } while (0)

enum { N = 10007 };

static uint32_t random_bits(void) {
  static uint32_t state = 12345;
  state = state * 1664525u + 1013904223u;
  return state >> 7 ^ state << 11;
}

static const char *test_device(void) {
  const char *device = getenv("SORTIUM_TEST_DEVICE");
  return device && *device ? device : NULL;
}

static void host_memory(const sortium_options *options) {
  static uint32_t keys[N], before[N], values[N];
  for (int i = 0; i < N; ++i) before[i] = keys[i] = random_bits() % 1000;
  for (uint32_t i = 0; i < N; ++i) values[i] = i;
  CHECK(sortium_sort_pairs(SORTIUM_U32, keys, values, 4, N, SORTIUM_DESCENDING, options) == SORTIUM_OK);
  for (int i = 0; i < N; ++i) CHECK(values[i] < N && before[values[i]] == keys[i]);
  for (int i = 1; i < N; ++i)
    CHECK(keys[i - 1] > keys[i] || (keys[i - 1] == keys[i] && values[i - 1] < values[i]));

  static double doubles[N], sorted[N];
  static uint64_t positions[N];
  for (int i = 0; i < N; ++i) doubles[i] = i % 97 == 0 ? NAN : (double)random_bits() - 2e9;
  memcpy(sorted, doubles, sizeof doubles);
  CHECK(sortium_sort(SORTIUM_F64, sorted, N, SORTIUM_ASCENDING, options) == SORTIUM_OK);
  CHECK(sortium_argsort(SORTIUM_F64, doubles, positions, 8, N, SORTIUM_ASCENDING, options) == SORTIUM_OK);
  for (int i = 0; i < N; ++i)
    CHECK(positions[i] < N && memcmp(&doubles[positions[i]], &sorted[i], sizeof(double)) == 0);
  for (int i = 1; i < N; ++i) CHECK(sorted[i - 1] <= sorted[i] || isnan(sorted[i]));
  CHECK(sortium_sort(SORTIUM_F64, NULL, 0, SORTIUM_ASCENDING, options) == SORTIUM_OK);
}

static void segments(const sortium_options *options) {
  uint64_t keys[7] = {7, 6, 5, 4, 3, 2, 1};
  const uint64_t wanted[7] = {6, 7, 5, 1, 2, 3, 4};
  uint32_t positions[7], offsets[] = {0, 2, 2, 3, 7};
  sortium_problem problem;
  sortium_problem_init(&problem);
  problem.key = SORTIUM_U64;
  problem.count = 7;
  problem.segments = 4;
  problem.offset_bytes = 4;
  problem.payload = SORTIUM_POSITIONS;
  CHECK(sortium_sort_segments_host(&problem, keys, keys, NULL, positions, offsets, options) == SORTIUM_OK);
  CHECK(memcmp(keys, wanted, sizeof keys) == 0);
  CHECK(positions[0] == 1 && positions[2] == 2 && positions[3] == 6 && positions[6] == 3);
  offsets[3] = 8;
  CHECK(sortium_sort_segments_host(&problem, keys, keys, NULL, positions, offsets, options) == SORTIUM_INVALID_ARGUMENT);
  CHECK(strstr(sortium_last_error(), "offsets[4] is 7") != NULL);
  CHECK(sortium_sort_host(&problem, keys, keys, NULL, positions, options) == SORTIUM_INVALID_ARGUMENT);
}

static void device_memory(const sortium_options *options) {
  sortium_device *device = NULL;
  sortium_queue *queue = NULL;
  sortium_plan *plan = NULL;
  sortium_buffer *keys = NULL, *out = NULL, *positions = NULL, *scratch = NULL;
  sortium_problem problem;
  sortium_problem_init(&problem);
  problem.count = N;
  problem.payload = SORTIUM_POSITIONS;

  CHECK(sortium_device_find(options->device, &device) == SORTIUM_OK);
  CHECK(sortium_queue_create(device, 1, &queue) == SORTIUM_OK);
  CHECK(sortium_plan_create(device, &problem, options, &plan) == SORTIUM_OK);
  CHECK(sortium_plan_run_length(plan) == 0);
  CHECK(strlen(sortium_plan_parameters(plan)) > 0);

  sortium_capabilities capabilities;
  sortium_capabilities_init(&capabilities);
  CHECK(sortium_device_capabilities(device, &capabilities) == SORTIUM_OK);
  uint64_t bytes = 0;
  CHECK(sortium_plan_scratch_bytes_for(&problem, &capabilities, options, &bytes) == SORTIUM_OK);
  CHECK(bytes == sortium_plan_scratch_bytes(plan));

  CHECK(sortium_buffer_create(device, 4 * N, &keys) == SORTIUM_OK);
  CHECK(sortium_buffer_create(device, 4 * N, &out) == SORTIUM_OK);
  CHECK(sortium_buffer_create(device, 4 * N, &positions) == SORTIUM_OK);
  CHECK(sortium_buffer_create(device, bytes, &scratch) == SORTIUM_OK);
  static uint32_t host[N];
  for (int i = 0; i < N; ++i) host[i] = random_bits();
  CHECK(sortium_queue_write(queue, sortium_buffer_memory(keys), host, sizeof host) == SORTIUM_OK);

  sortium_verdict before, after;
  const sortium_memory none = {NULL, 0, 0};
  CHECK(sortium_verify(queue, &problem, sortium_buffer_memory(keys), none, 0, &before) == SORTIUM_OK);
  CHECK(before.unsorted > 0);

  sortium_operands operands = {sortium_buffer_memory(keys), sortium_buffer_memory(out), none,
                               sortium_buffer_memory(positions), sortium_buffer_memory(scratch)};
  CHECK(sortium_plan_run(plan, queue, &operands) == SORTIUM_OK);
  CHECK(sortium_queue_finish(queue) == SORTIUM_OK);
  CHECK(sortium_verify(queue, &problem, operands.keys_out, operands.values_out, 0, &after) == SORTIUM_OK);
  CHECK(after.unsorted == 0 && after.first_unsorted == N && after.checksum == before.checksum);

  static uint32_t at[N], sorted[N];
  CHECK(sortium_queue_read(queue, at, operands.values_out, sizeof at) == SORTIUM_OK);
  CHECK(sortium_queue_read(queue, sorted, operands.keys_out, sizeof sorted) == SORTIUM_OK);
  for (int i = 0; i < N; ++i) CHECK(at[i] < N && host[at[i]] == sorted[i]);

  sortium_phase phases[8];
  size_t count = 0;
  CHECK(sortium_plan_profile(plan, queue, &operands, phases, 8, &count) == SORTIUM_OK);
  CHECK(count >= 1 && phases[0].launches > 0 && strlen(phases[0].name) > 0);

  operands.values_out = none;
  CHECK(sortium_plan_run(plan, queue, &operands) == SORTIUM_INVALID_ARGUMENT);
  CHECK(strstr(sortium_last_error(), "values_out") != NULL);

  sortium_buffer_release(keys);
  sortium_buffer_release(out);
  sortium_buffer_release(positions);
  sortium_buffer_release(scratch);
  sortium_plan_release(plan);
  sortium_queue_release(queue);
  sortium_device_release(device);
}

static void failures_say_why(void) {
  uint32_t key = 1;
  sortium_options options = {"no such device", NULL, NULL};
  CHECK(sortium_sort(SORTIUM_U32, &key, 1, SORTIUM_ASCENDING, &options) == SORTIUM_NOT_FOUND);
  CHECK(strstr(sortium_last_error(), "no such device") != NULL);
  options = (sortium_options){test_device(), "no such algorithm", NULL};
  CHECK(sortium_sort(SORTIUM_U32, &key, 1, SORTIUM_ASCENDING, &options) == SORTIUM_NOT_FOUND);
  options = (sortium_options){test_device(), "lsd", "items=0"};
  CHECK(sortium_sort(SORTIUM_U32, &key, 1, SORTIUM_ASCENDING, &options) == SORTIUM_INVALID_ARGUMENT);
  CHECK(strstr(sortium_last_error(), "items=0") != NULL);
  options = (sortium_options){test_device(), NULL, NULL};
  CHECK(sortium_sort((sortium_key_type)77, &key, 1, SORTIUM_ASCENDING, &options) == SORTIUM_INVALID_ARGUMENT);
  CHECK(sortium_sort_pairs(SORTIUM_U32, &key, &key, 3, 1, SORTIUM_ASCENDING, &options) == SORTIUM_INVALID_ARGUMENT);
  CHECK(strstr(sortium_last_error(), "3") != NULL);
  CHECK(sortium_sort(SORTIUM_U32, NULL, 1, SORTIUM_ASCENDING, &options) == SORTIUM_INVALID_ARGUMENT);
  CHECK(sortium_device_find(NULL, NULL) == SORTIUM_INVALID_ARGUMENT);
  CHECK(sortium_queue_wrap_opencl(NULL, NULL, NULL) == SORTIUM_INVALID_ARGUMENT);
  CHECK(key == 1);
  sortium_plan_release(NULL);
  sortium_queue_release(NULL);
  sortium_buffer_release(NULL);
  sortium_device_release(NULL);
}

int main(void) {
  sortium_options options = {test_device(), NULL, NULL};
  sortium_algorithm algorithm;
  CHECK(sortium_device_count() > 0);
  CHECK(sortium_algorithm_count() > 1);
  CHECK(sortium_algorithm_at(0, &algorithm) == SORTIUM_OK && strlen(algorithm.name) > 0);
  CHECK(sortium_algorithm_at(1000, &algorithm) == SORTIUM_NOT_FOUND);
  host_memory(&options);
  segments(&options);
  device_memory(&options);
  failures_say_why();
  if (failures == 0) printf("the C API holds\n");
  return failures != 0;
}
