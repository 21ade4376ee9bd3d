/* The C interface, from C: it keeps the promises of sortium.hpp, and failures return a status and a
 * message. This file tests devices, plans and errors; c_api_test.h names the other parts. */
#include "c_api_test.h"

#include <stdlib.h>
#include <string.h>

int c_api_failures = 0;

uint32_t random_bits(void) {
  static uint32_t state = 12345;
  state = state * 1664525u + 1013904223u;
  return state >> 7 ^ state << 11;
}

const char* test_device(void) {
  const char* device = getenv("SORTIUM_TEST_DEVICE");
  return device && *device ? device : NULL;
}

int on_host(void) {
  sortium_device* device = NULL;
  sortium_capabilities capabilities;
  CHECK(sortium_device_find(test_device(), &device) == SORTIUM_OK);
  CHECK(sortium_device_capabilities(device, &capabilities) == SORTIUM_OK);
  sortium_device_release(device);
  return capabilities.backend == SORTIUM_HOST;
}

/* Tests one algorithm that runs on the device: compilers for CPUs take seconds for kernels. */
static void self_tests(const sortium_options* options) {
  sortium_device* device = NULL;
  const sortium_self_test_result* results = NULL;
  size_t count = 0;
  CHECK(sortium_device_find(options->device, &device) == SORTIUM_OK);
  const char* const name = on_host() ? "sample" : "lsd";
  CHECK(sortium_self_test(device, name, &results, &count) == SORTIUM_OK);
  CHECK(count >= 3);
  for (size_t i = 0; i < count; ++i) {
    CHECK(strcmp(results[i].algorithm, name) == 0 && results[i].problem.count > 0);
    CHECK(results[i].supported && strcmp(results[i].failure, "") == 0);
  }
  CHECK(results[0].problem.key == SORTIUM_U32 && results[1].problem.payload == SORTIUM_VALUES);
  CHECK(sortium_self_test(device, "no such algorithm", &results, &count) == SORTIUM_NOT_FOUND);
  CHECK(sortium_self_test(device, name, NULL, &count) == SORTIUM_INVALID_ARGUMENT);
  CHECK(sortium_self_test(NULL, name, &results, &count) == SORTIUM_INVALID_ARGUMENT);
  sortium_device_release(device);
}

/* Algorithms for segments and top-k declare so. */
static void algorithms(void) {
  sortium_algorithm algorithm;
  CHECK(sortium_algorithm_count() > 1);
  for (size_t i = 0; i < sortium_algorithm_count(); ++i) {
    CHECK(sortium_algorithm_at(i, &algorithm) == SORTIUM_OK && strlen(algorithm.name) > 0);
    CHECK(algorithm.segments == (strstr(algorithm.name, "segmented") != NULL));
    CHECK(algorithm.limit == (strstr(algorithm.name, "topk") != NULL));
  }
  CHECK(sortium_algorithm_at(1000, &algorithm) == SORTIUM_NOT_FOUND);
}

static void device_memory(const sortium_options* options) {
  sortium_device* device = NULL;
  sortium_queue* queue = NULL;
  sortium_plan* plan = NULL;
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
  CHECK(sortium_verify(queue, &problem, sortium_buffer_memory(keys), none, 0, &before) ==
        SORTIUM_OK);
  CHECK(before.unsorted > 0);

  sortium_operands operands = {sortium_buffer_memory(keys), sortium_buffer_memory(out), none,
                               sortium_buffer_memory(positions), sortium_buffer_memory(scratch)};
  CHECK(sortium_plan_run(plan, queue, &operands) == SORTIUM_OK);
  CHECK(sortium_queue_finish(queue) == SORTIUM_OK);
  CHECK(sortium_verify(queue, &problem, operands.keys_out, operands.values_out, 0, &after) ==
        SORTIUM_OK);
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

static void limits_and_stops(void) {
  static uint64_t keys[N];
  sortium_options options = {.device = test_device(), .max_device_bytes = 40000};
  for (unsigned i = 0; i < N; ++i) keys[i] = i * 0x9e3779b97f4a7c15u;
  CHECK(sortium_sort(SORTIUM_U64, keys, N, SORTIUM_ASCENDING, &options) == SORTIUM_OK);
  for (unsigned i = 1; i < N; ++i) CHECK(keys[i - 1] < keys[i]);
  options.max_device_bytes = 1;
  CHECK(sortium_sort(SORTIUM_U64, keys, N, SORTIUM_DESCENDING, &options) ==
        (on_host() ? SORTIUM_OK : SORTIUM_INVALID_ARGUMENT));
  CHECK(on_host() || strstr(sortium_last_error(), "max_device_bytes is 1") != NULL);
  volatile unsigned char stop = 1;
  options = (sortium_options){
      .device = test_device(), .algorithm = on_host() ? "sample" : "lsd", .stop = &stop};
  CHECK(sortium_argsort(SORTIUM_U64, keys, keys + N / 2, 8, N / 2, SORTIUM_ASCENDING, &options) ==
        SORTIUM_CANCELLED);
}

static void failures_say_why(void) {
  uint32_t key = 1;
  sortium_options options = {"no such device", NULL, NULL};
  CHECK(sortium_sort(SORTIUM_U32, &key, 1, SORTIUM_ASCENDING, &options) == SORTIUM_NOT_FOUND);
  CHECK(strstr(sortium_last_error(), "no such device") != NULL);
  options = (sortium_options){test_device(), "no such algorithm", NULL};
  CHECK(sortium_sort(SORTIUM_U32, &key, 1, SORTIUM_ASCENDING, &options) == SORTIUM_NOT_FOUND);
  options = (sortium_options){test_device(), on_host() ? "sample" : "lsd",
                              on_host() ? "threads=0" : "items=0"};
  CHECK(sortium_sort(SORTIUM_U32, &key, 1, SORTIUM_ASCENDING, &options) ==
        SORTIUM_INVALID_ARGUMENT);
  CHECK(strstr(sortium_last_error(), "s=0") != NULL);
  options = (sortium_options){test_device(), NULL, NULL};
  CHECK(sortium_sort((sortium_key_type)77, &key, 1, SORTIUM_ASCENDING, &options) ==
        SORTIUM_INVALID_ARGUMENT);
  CHECK(sortium_sort_pairs(SORTIUM_U32, &key, &key, 257, 1, SORTIUM_ASCENDING, &options) ==
        SORTIUM_INVALID_ARGUMENT);
  CHECK(strstr(sortium_last_error(), "value_bytes is 257") != NULL);
  CHECK(sortium_sort(SORTIUM_U32, NULL, 1, SORTIUM_ASCENDING, &options) ==
        SORTIUM_INVALID_ARGUMENT);
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
  CHECK(sortium_device_count() > 0);
  algorithms();
  self_tests(&options);
  test_lists(&options);
  test_ranks(&options);
  device_memory(&options);
  test_records(&options);
  limits_and_stops();
  failures_say_why();
  if (c_api_failures == 0) printf("the C API holds\n");
  return c_api_failures != 0;
}
