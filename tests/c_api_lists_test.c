#include <math.h>
#include <string.h>

#include "c_api_test.h"

static void host_memory(const sortium_options* options) {
  static uint32_t keys[N], before[N], values[N];
  for (int i = 0; i < N; ++i) before[i] = keys[i] = random_bits() % 1000;
  for (uint32_t i = 0; i < N; ++i) values[i] = i;
  CHECK(sortium_sort_pairs(SORTIUM_U32, keys, values, 4, N, SORTIUM_DESCENDING, options) ==
        SORTIUM_OK);
  for (int i = 0; i < N; ++i) CHECK(values[i] < N && before[values[i]] == keys[i]);
  for (int i = 1; i < N; ++i)
    CHECK(keys[i - 1] > keys[i] || (keys[i - 1] == keys[i] && values[i - 1] < values[i]));

  static double doubles[N], sorted[N];
  static uint64_t positions[N];
  for (int i = 0; i < N; ++i) doubles[i] = i % 97 == 0 ? NAN : (double)random_bits() - 2e9;
  memcpy(sorted, doubles, sizeof doubles);
  CHECK(sortium_sort(SORTIUM_F64, sorted, N, SORTIUM_ASCENDING, options) == SORTIUM_OK);
  CHECK(sortium_argsort(SORTIUM_F64, doubles, positions, 8, N, SORTIUM_ASCENDING, options) ==
        SORTIUM_OK);
  for (int i = 0; i < N; ++i)
    CHECK(positions[i] < N && memcmp(&doubles[positions[i]], &sorted[i], sizeof(double)) == 0);
  for (int i = 1; i < N; ++i) CHECK(sorted[i - 1] <= sorted[i] || isnan(sorted[i]));
  CHECK(sortium_sort(SORTIUM_F64, NULL, 0, SORTIUM_ASCENDING, options) == SORTIUM_OK);
}

static void list_of_devices(void) {
  enum { M = 40000 };
  static uint32_t keys[M], values[M], before[M];
  const sortium_options options = {.device = "cpu:0,cpu:0"}, wrong = {.device = "cpu:0,"};
  sortium_device* cpu = NULL;
  if (sortium_device_find("cpu:0", &cpu) != SORTIUM_OK) return; /* a build without oneTBB */
  sortium_device_release(cpu);
  for (uint32_t i = 0; i < M; ++i) {
    before[i] = keys[i] = random_bits() % 1000;
    values[i] = i;
  }
  CHECK(sortium_sort_pairs(SORTIUM_U32, keys, values, 4, M, SORTIUM_ASCENDING, &options) ==
        SORTIUM_OK);
  for (int i = 0; i < M; ++i) CHECK(values[i] < M && before[values[i]] == keys[i]);
  for (int i = 1; i < M; ++i)
    CHECK(keys[i - 1] < keys[i] || (keys[i - 1] == keys[i] && values[i - 1] < values[i]));
  CHECK(sortium_sort(SORTIUM_U32, keys, M, SORTIUM_ASCENDING, &wrong) == SORTIUM_INVALID_ARGUMENT);
  CHECK(strstr(sortium_last_error(), "item 1 is empty") != NULL);
}

static void first_records(const sortium_options* options) {
  static uint32_t keys[N], sorted[N], values[N], out[N], out_values[N];
  const uint64_t k = 100;
  for (uint32_t i = 0; i < N; ++i) {
    sorted[i] = keys[i] = random_bits() % 1000;
    values[i] = i;
  }
  CHECK(sortium_sort(SORTIUM_U32, sorted, N, SORTIUM_DESCENDING, options) == SORTIUM_OK);
  CHECK(sortium_topk(SORTIUM_U32, keys, N, k, out, SORTIUM_DESCENDING, options) == SORTIUM_OK);
  CHECK(memcmp(out, sorted, k * 4) == 0);
  CHECK(sortium_topk_pairs(SORTIUM_U32, keys, values, 4, N, k, out, out_values, SORTIUM_DESCENDING,
                           options) == SORTIUM_OK);
  for (uint64_t i = 0; i < k; ++i) CHECK(out[i] == sorted[i] && keys[out_values[i]] == out[i]);
  CHECK(sortium_argtopk(SORTIUM_U32, keys, out, 4, N, k, SORTIUM_DESCENDING, options) ==
        SORTIUM_OK);
  CHECK(memcmp(out, out_values, k * 4) == 0);
  CHECK(sortium_topk(SORTIUM_U32, keys, N, 0, out, SORTIUM_DESCENDING, options) ==
        SORTIUM_INVALID_ARGUMENT);
  CHECK(strstr(sortium_last_error(), "k is 0") != NULL);
  CHECK(sortium_topk(SORTIUM_U32, keys, N, N + 1, out, SORTIUM_DESCENDING, options) ==
        SORTIUM_INVALID_ARGUMENT);
}

static void companions(const sortium_options* options) {
  static const uint32_t a[] = {1, 3, 3, 9}, b[] = {0, 3, 10}, needles[] = {3, 4};
  uint32_t merged[7], distinct[7], lengths[7], places[2];
  uint64_t number = 0;
  sortium_problem problem;
  sortium_problem_init(&problem);
  problem.count = 7;
  CHECK(sortium_merge(&problem, 4, a, b, merged, NULL, NULL, NULL, options) == SORTIUM_OK);
  CHECK(merged[0] == 0 && merged[1] == 1 && merged[2] == 3 && merged[4] == 3 && merged[5] == 9 &&
        merged[6] == 10);
  CHECK(sortium_is_sorted(&problem, merged, &number, options) == SORTIUM_OK && number == 7);
  CHECK(sortium_unique(&problem, merged, distinct, NULL, NULL, lengths, 4, &number, options) ==
        SORTIUM_OK);
  CHECK(number == 5 && distinct[2] == 3 && lengths[2] == 3 && lengths[4] == 1);
  CHECK(sortium_search(&problem, merged, needles, 2, places, SORTIUM_UPPER_BOUND, options) ==
        SORTIUM_OK);
  CHECK(places[0] == 5 && places[1] == 5);
  merged[0] = 100;
  CHECK(sortium_is_sorted(&problem, merged, &number, options) == SORTIUM_OK && number == 0);
  CHECK(sortium_nth_element(&problem, 6, merged, merged, NULL, NULL, options) == SORTIUM_OK &&
        merged[6] == 100);
  CHECK(sortium_nth_element(&problem, 7, merged, merged, NULL, NULL, options) ==
        SORTIUM_INVALID_ARGUMENT);

  /* On device memory. */
  sortium_device* device = NULL;
  sortium_queue* queue = NULL;
  sortium_companion* companion = NULL;
  sortium_buffer *first = NULL, *second = NULL, *out = NULL, *scratch = NULL;
  CHECK(sortium_device_find(test_device(), &device) == SORTIUM_OK);
  CHECK(sortium_queue_create(device, 0, &queue) == SORTIUM_OK);
  CHECK(sortium_companion_merge(device, &problem, 4, &companion) == SORTIUM_OK);
  CHECK(sortium_buffer_create(device, sizeof a, &first) == SORTIUM_OK);
  CHECK(sortium_buffer_create(device, sizeof b, &second) == SORTIUM_OK);
  CHECK(sortium_buffer_create(device, sizeof merged, &out) == SORTIUM_OK);
  CHECK(sortium_buffer_create(device, sortium_companion_scratch_bytes(companion) + 16, &scratch) ==
        SORTIUM_OK);
  sortium_companion_operands o;
  memset(&o, 0, sizeof o);
  o.keys_in = sortium_buffer_memory(first);
  o.b_keys = sortium_buffer_memory(second);
  o.keys_out = sortium_buffer_memory(out);
  o.scratch = sortium_buffer_memory(scratch);
  CHECK(sortium_queue_write(queue, o.keys_in, a, sizeof a) == SORTIUM_OK);
  CHECK(sortium_queue_write(queue, o.b_keys, b, sizeof b) == SORTIUM_OK);
  CHECK(sortium_companion_run(companion, queue, &o) == SORTIUM_OK);
  CHECK(sortium_queue_read(queue, merged, o.keys_out, sizeof merged) == SORTIUM_OK);
  CHECK(merged[0] == 0 && merged[1] == 1 && merged[4] == 3 && merged[6] == 10);
  CHECK(sortium_companion_search(device, &problem, 2, (sortium_bound)2, &companion) ==
        SORTIUM_INVALID_ARGUMENT);
  sortium_companion_release(companion);
  sortium_buffer_release(first);
  sortium_buffer_release(second);
  sortium_buffer_release(out);
  sortium_buffer_release(scratch);
  sortium_queue_release(queue);
  sortium_device_release(device);
}

static void segments(const sortium_options* options) {
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
  CHECK(sortium_sort_segments_host(&problem, keys, keys, NULL, positions, offsets, options) ==
        SORTIUM_OK);
  CHECK(memcmp(keys, wanted, sizeof keys) == 0);
  CHECK(positions[0] == 1 && positions[2] == 2 && positions[3] == 6 && positions[6] == 3);
  offsets[3] = 8;
  CHECK(sortium_sort_segments_host(&problem, keys, keys, NULL, positions, offsets, options) ==
        SORTIUM_INVALID_ARGUMENT);
  CHECK(strstr(sortium_last_error(), "offsets[4] is 7") != NULL);
  CHECK(sortium_sort_host(&problem, keys, keys, NULL, positions, options) ==
        SORTIUM_INVALID_ARGUMENT);
}

/* Segments without offsets: all have equally many records. */
static void rows(const sortium_options* options) {
  uint64_t keys[6] = {6, 5, 4, 1, 2, 3};
  const uint64_t wanted[6] = {4, 5, 6, 1, 2, 3};
  uint32_t positions[6], offsets[] = {0, 3, 6};
  sortium_problem problem;
  sortium_problem_init(&problem);
  problem.key = SORTIUM_U64;
  problem.count = 6;
  problem.segments = 2;
  problem.offset_bytes = 0;
  problem.payload = SORTIUM_POSITIONS;
  CHECK(sortium_sort_segments_host(&problem, keys, keys, NULL, positions, offsets, options) ==
        SORTIUM_INVALID_ARGUMENT);
  CHECK(strstr(sortium_last_error(), "offsets") != NULL);
  CHECK(sortium_sort_segments_host(&problem, keys, keys, NULL, positions, NULL, options) ==
        SORTIUM_OK);
  CHECK(memcmp(keys, wanted, sizeof keys) == 0);
  CHECK(positions[0] == 2 && positions[2] == 0 && positions[3] == 3 && positions[5] == 5);
  problem.limit = 1;
  CHECK(sortium_sort_segments_host(&problem, wanted, keys, NULL, positions, NULL, options) ==
        SORTIUM_OK);
  CHECK(keys[0] == 4 && keys[1] == 1 && positions[0] == 0 && positions[1] == 3);
  CHECK(sortium_sort_host(&problem, wanted, keys, NULL, positions, options) == SORTIUM_OK);
  problem.segments = 4;
  CHECK(sortium_sort_segments_host(&problem, wanted, keys, NULL, positions, NULL, options) ==
        SORTIUM_INVALID_ARGUMENT);
  CHECK(strstr(sortium_last_error(), "multiple of segments, 4") != NULL);
}

/* The columns of a matrix of 2 rows. */
static void columns(const sortium_options* options) {
  uint64_t keys[6] = {6, 5, 4, 1, 7, 3};
  const uint64_t wanted[6] = {1, 5, 3, 6, 7, 4};
  uint32_t positions[6];
  sortium_problem problem;
  sortium_problem_init(&problem);
  CHECK(problem.stride == 1);
  problem.key = SORTIUM_U64;
  problem.count = 6;
  problem.segments = problem.stride = 3;
  problem.offset_bytes = 0;
  problem.payload = SORTIUM_POSITIONS;
  CHECK(sortium_sort_host(&problem, keys, keys, NULL, positions, options) == SORTIUM_OK);
  CHECK(memcmp(keys, wanted, sizeof keys) == 0);
  CHECK(positions[0] == 3 && positions[1] == 1 && positions[2] == 5 && positions[3] == 0);
  problem.stride = 0; /* rows */
  CHECK(sortium_sort_host(&problem, wanted, keys, NULL, positions, options) == SORTIUM_OK);
  CHECK(keys[1] == 5 && keys[2] == 3 && keys[4] == 4 && keys[5] == 7);
  problem.stride = 2;
  CHECK(sortium_sort_host(&problem, keys, keys, NULL, positions, options) ==
        SORTIUM_INVALID_ARGUMENT);
  CHECK(strstr(sortium_last_error(), "stride is 2") != NULL);
}

void test_lists(const sortium_options* options) {
  host_memory(options);
  list_of_devices();
  first_records(options);
  companions(options);
  segments(options);
  rows(options);
  columns(options);
}
