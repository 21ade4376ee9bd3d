/* The C interface, from C: it keeps the promises of sortium.hpp, and failures return a status and a
 * message. */
#include <math.h>
#include <sortium/distributed.h>
#include <sortium/sortium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      printf("%s:%d: %s does not hold (%s)\n", __FILE__, __LINE__, #condition, \
             sortium_last_error());                                            \
      ++failures;                                                              \
    }                                                                          \
  } while (0)

enum { N = 10007 };

static uint32_t random_bits(void) {
  static uint32_t state = 12345;
  state = state * 1664525u + 1013904223u;
  return state >> 7 ^ state << 11;
}

static const char* test_device(void) {
  const char* device = getenv("SORTIUM_TEST_DEVICE");
  return device && *device ? device : NULL;
}

/* cpu:0 has algorithms of its own. */
static int on_host(void) {
  sortium_device* device = NULL;
  sortium_capabilities capabilities;
  CHECK(sortium_device_find(test_device(), &device) == SORTIUM_OK);
  CHECK(sortium_device_capabilities(device, &capabilities) == SORTIUM_OK);
  sortium_device_release(device);
  return capabilities.backend == SORTIUM_HOST;
}

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

/* What the ranks of a test share: rank r has the keys from r * M on. */
enum { RANKS = 3, M = 5000 };
typedef struct shared_lists {
  uint32_t keys[RANKS * M], sorted[RANKS * M], values[RANKS * M], positions[RANKS * M];
  sortium_options options;
} shared_lists;

static int sort_on_rank(const sortium_communicator* communicator, void* user) {
  shared_lists* all = user;
  const size_t begin = (size_t)communicator->rank * M;
  uint64_t part_begin = 0, part_count = 0;
  if (sortium_distributed_part(communicator, M, SORTIUM_BALANCE_EVEN, &part_begin, &part_count) !=
          SORTIUM_OK ||
      part_begin != begin || part_count != M)
    return 1;
  sortium_problem problem;
  sortium_problem_init(&problem);
  problem.count = M;
  problem.payload = SORTIUM_POSITIONS;
  problem.value_bytes = 4;
  if (sortium_distributed_sort_host(communicator, &problem, SORTIUM_BALANCE_KEPT, all->keys + begin,
                                    all->sorted + begin, NULL, all->positions + begin,
                                    &all->options) != SORTIUM_OK)
    return 2;

  sortium_field field;
  sortium_field_init(&field);
  const sortium_column columns[] = {{4, SORTIUM_NOT_MOVED}, {4, SORTIUM_MOVED_OUT}};
  sortium_record_problem records;
  sortium_record_problem_init(&records);
  records.count = M;
  records.columns = columns;
  records.column_count = 2;
  records.key = &field;
  records.field_count = 1;
  const void* const in[] = {all->keys + begin, all->keys + begin};
  void* const out[] = {NULL, all->values + begin};
  return sortium_distributed_sort_records_host(communicator, &records, SORTIUM_BALANCE_EVEN, in,
                                               out, NULL, &all->options) == SORTIUM_OK
             ? 0
             : 3;
}

/* Sorts device memory: keys in place, and the global positions of the keys. */
static int sort_on_device_of_rank(const sortium_communicator* communicator, void* user) {
  shared_lists* all = user;
  const size_t begin = (size_t)communicator->rank * M;
  sortium_device* device = NULL;
  sortium_queue* queue = NULL;
  sortium_buffer *keys = NULL, *positions = NULL;
  sortium_device_sorter* sorter = NULL;
  if (sortium_device_find("cpu:0", &device) != SORTIUM_OK) return 1;
  int failed = sortium_queue_create(device, 0, &queue) != SORTIUM_OK ||
               sortium_buffer_create(device, M * 4, &keys) != SORTIUM_OK ||
               sortium_buffer_create(device, M * 4, &positions) != SORTIUM_OK ||
               sortium_device_sorter_create(communicator, device, &sorter) != SORTIUM_OK;
  if (!failed) {
    const sortium_memory key = sortium_buffer_memory(keys),
                         position = sortium_buffer_memory(positions);
    sortium_problem problem;
    sortium_problem_init(&problem);
    problem.count = M;
    problem.payload = SORTIUM_POSITIONS;
    problem.value_bytes = 4;
    const sortium_operands operands = {.keys_in = key, .keys_out = key, .values_out = position};
    failed = sortium_queue_write(queue, key, all->keys + begin, M * 4) != SORTIUM_OK ||
             sortium_device_sorter_sort(sorter, queue, &problem, SORTIUM_BALANCE_KEPT, &operands,
                                        &all->options) != SORTIUM_OK ||
             sortium_queue_read(queue, all->sorted + begin, key, M * 4) != SORTIUM_OK ||
             sortium_queue_read(queue, all->positions + begin, position, M * 4) != SORTIUM_OK ||
             sortium_device_sorter_memory_bytes(sorter) == 0;
    /* The sorted list as records, in descending order. */
    sortium_field field;
    sortium_field_init(&field);
    field.order = SORTIUM_DESCENDING;
    const sortium_column column = {4, SORTIUM_MOVED_IN_PLACE};
    sortium_record_problem records;
    sortium_record_problem_init(&records);
    records.count = M;
    records.columns = &column;
    records.column_count = 1;
    records.key = &field;
    records.field_count = 1;
    const sortium_record_operands columns = {.columns_in = &key};
    failed = failed ||
             sortium_device_sorter_sort_records(sorter, queue, &records, SORTIUM_BALANCE_KEPT,
                                                &columns, &all->options) != SORTIUM_OK ||
             sortium_queue_read(queue, all->values + begin, key, M * 4) != SORTIUM_OK;
  }
  sortium_device_sorter_release(sorter);
  sortium_buffer_release(positions);
  sortium_buffer_release(keys);
  sortium_queue_release(queue);
  sortium_device_release(device);
  return failed ? 2 : 0;
}

/* The same with the caller's functions only: device memory travels through host memory. */
static int sort_by_functions(const sortium_communicator* communicator, void* user) {
  sortium_communicator plain = *communicator;
  plain.exchange_on_device = NULL;
  return sort_on_device_of_rank(&plain, user);
}

static int fails_on_rank(const sortium_communicator* communicator, void* user) {
  if (communicator->rank == 1) return 7;
  CHECK(sortium_distributed_part(communicator, 1, SORTIUM_BALANCE_KEPT, user, user) ==
        SORTIUM_DEVICE_FAILED);
  CHECK(strstr(sortium_last_error(), "rank 1 of 3 failed: work returned 7") != NULL);
  return 0;
}

static int cannot_gather(void* context, const void* mine, void* all, const uint64_t* bytes) {
  (void)context, (void)mine, (void)all, (void)bytes;
  return 5;
}
static int cannot_exchange(void* context, const void* send, const uint64_t* send_bytes,
                           void* receive, const uint64_t* receive_bytes) {
  (void)context, (void)send, (void)send_bytes, (void)receive, (void)receive_bytes;
  return 6;
}

static void ranks(const sortium_options* options) {
  static shared_lists all;
  all.options = *options;
  for (int i = 0; i < RANKS * M; ++i) all.keys[i] = random_bits() % 1000;
  CHECK(sortium_run_ranks(RANKS, sort_on_rank, &all, 60) == SORTIUM_OK);
  for (int i = 0; i < RANKS * M; ++i) {
    CHECK(all.positions[i] < RANKS * M && all.keys[all.positions[i]] == all.sorted[i]);
    CHECK(all.values[i] == all.sorted[i]);
    if (i > 0)
      CHECK(all.sorted[i - 1] < all.sorted[i] ||
            (all.sorted[i - 1] == all.sorted[i] && all.positions[i - 1] < all.positions[i]));
  }

  sortium_device* cpu = NULL;
  const int has_cpu = sortium_device_find("cpu:0", &cpu) == SORTIUM_OK;
  sortium_device_release(cpu);
  for (int way = 0; has_cpu && way < 2; ++way) {
    all.options = (sortium_options){.device = NULL};
    memset(all.sorted, 0, sizeof all.sorted);
    memset(all.positions, 0, sizeof all.positions);
    CHECK(sortium_run_ranks(RANKS, way == 0 ? sort_on_device_of_rank : sort_by_functions, &all,
                            60) == SORTIUM_OK);
    for (int i = 0; i < RANKS * M; ++i) {
      CHECK(all.positions[i] < RANKS * M && all.keys[all.positions[i]] == all.sorted[i]);
      CHECK(all.values[i] == all.sorted[RANKS * M - 1 - i]);
      if (i > 0)
        CHECK(all.sorted[i - 1] < all.sorted[i] ||
              (all.sorted[i - 1] == all.sorted[i] && all.positions[i - 1] < all.positions[i]));
    }
  }

  uint64_t number = 0;
  CHECK(sortium_run_ranks(3, fails_on_rank, &number, 60) == SORTIUM_DEVICE_FAILED);
  CHECK(sortium_run_ranks(3, NULL, NULL, 60) == SORTIUM_INVALID_ARGUMENT);
  CHECK(sortium_run_ranks(0, fails_on_rank, NULL, 60) == SORTIUM_INVALID_ARGUMENT);
  sortium_communicator broken;
  sortium_communicator_init(&broken);
  CHECK(sortium_distributed_part(&broken, 1, SORTIUM_BALANCE_KEPT, &number, &number) ==
        SORTIUM_INVALID_ARGUMENT);
  CHECK(strstr(sortium_last_error(), "all_gather") != NULL);
  broken.all_gather = cannot_gather;
  broken.exchange = cannot_exchange;
  CHECK(sortium_distributed_part(&broken, 1, SORTIUM_BALANCE_KEPT, &number, &number) ==
        SORTIUM_DEVICE_FAILED);
  CHECK(strstr(sortium_last_error(), "communicator->all_gather returned 5") != NULL);
  broken.rank = 1;
  CHECK(sortium_distributed_sort_host(&broken, NULL, SORTIUM_BALANCE_KEPT, NULL, NULL, NULL, NULL,
                                      NULL) == SORTIUM_INVALID_ARGUMENT);
  CHECK(strstr(sortium_last_error(), "communicator->rank is 1") != NULL);
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
  host_memory(&options);
  list_of_devices();
  ranks(&options);
  first_records(&options);
  companions(&options);
  segments(&options);
  rows(&options);
  device_memory(&options);
  records(&options);
  values_of_any_size(&options);
  limits_and_stops();
  failures_say_why();
  if (failures == 0) printf("the C API holds\n");
  return failures != 0;
}
