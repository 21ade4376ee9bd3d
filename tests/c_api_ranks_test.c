#include <sortium/distributed.h>
#include <string.h>

#include "c_api_test.h"

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

void test_ranks(const sortium_options* options) {
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
