/* Distributed sorts for C: a list that is divided among ranks, which are threads, or processes of
 * several hosts. distributed.hpp documents meaning, stability, memory and errors. */
#ifndef SORTIUM_DISTRIBUTED_H
#define SORTIUM_DISTRIBUTED_H

#include <sortium/sortium.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How ranks exchange data: functions of the caller. All ranks call the same functions in the same
 * order, each rank from one thread at a time. The functions return 0, or another number if they
 * failed; the sort then returns SORTIUM_DEVICE_FAILED. They may not access the memory afterwards.
 * `…bytes` has a number for each rank. */
typedef struct sortium_communicator {
  void* context; /* the functions' first argument */
  unsigned rank, size;
  /* Stores the bytes of all ranks in `all`, in the order of the ranks and without gaps. Rank r has
   * bytes[r] bytes, and this rank's are `mine`. */
  int (*all_gather)(void* context, const void* mine, void* all, const uint64_t* bytes);
  /* Sends send_bytes[r] bytes to each rank r, and receives receive_bytes[r] bytes from it; this
   * rank is one of them. Both arrays are in the order of the ranks, without gaps. */
  int (*exchange)(void* context, const void* send, const uint64_t* send_bytes, void* receive,
                  const uint64_t* receive_bytes);
  /* NULL, or returns a message about the failure. */
  const char* (*failure)(void* context);
  /* NULL: memory of devices is copied to the host and sent by `exchange`. Else sends send[r] to
   * each rank r, and receives receive[r] from it, in memory of the queue's device. Begins after
   * what is enqueued on `queue`, and returns when this rank's memory has been sent and received.
   * Memory of 0 bytes is not sent. */
  int (*exchange_on_device)(void* context, sortium_queue* queue, const sortium_memory* send,
                            const sortium_memory* receive);
} sortium_communicator;
SORTIUM_API void sortium_communicator_init(
    sortium_communicator* communicator); /* one rank, no functions */

/* Calls work(communicator, user) on `ranks` threads, each with a communicator of its own, and waits
 * for all. If `work` returns another number than 0, the other ranks' calls fail, and this function
 * returns SORTIUM_DEVICE_FAILED. A rank waits at most `timeout` seconds for the others. */
SORTIUM_API sortium_status sortium_run_ranks(unsigned ranks,
                                             int (*work)(const sortium_communicator* communicator,
                                                         void* user),
                                             void* user, double timeout);

/* Makes a communicator of the same ranks whose CUDA devices exchange memory by NCCL. Host memory
 * travels by `host`, which must outlive it. All ranks call it, each with another device, such as
 * "cuda:0". Release it when the sorts have ended; that does not release `host`. */
SORTIUM_API sortium_status sortium_nccl_communicator_create(const sortium_communicator* host,
                                                            const char* device, double timeout,
                                                            sortium_communicator* communicator);
SORTIUM_API void sortium_nccl_communicator_release(sortium_communicator* communicator);

typedef enum sortium_balance SORTIUM_ENUM_TYPE {
  SORTIUM_BALANCE_KEPT, /* each rank receives as many records as it has */
  SORTIUM_BALANCE_EVEN  /* all ranks receive equally many, the first ones perhaps one more */
} sortium_balance;

/* Stores which part of the sorted list a rank with `count` records receives. All ranks call it. */
SORTIUM_API sortium_status sortium_distributed_part(const sortium_communicator* communicator,
                                                    uint64_t count, sortium_balance balance,
                                                    uint64_t* part_begin, uint64_t* part_count);

/* As sortium_sort_host, on each rank with its records. Outputs have the rank's part. */
SORTIUM_API sortium_status sortium_distributed_sort_host(const sortium_communicator* communicator,
                                                         const sortium_problem* problem,
                                                         sortium_balance balance,
                                                         const void* keys_in, void* keys_out,
                                                         const void* values_in, void* values_out,
                                                         const sortium_options* options);

/* As sortium_sort_records_host, on each rank with its records. Outputs have the rank's part. */
SORTIUM_API sortium_status sortium_distributed_sort_records_host(
    const sortium_communicator* communicator, const sortium_record_problem* problem,
    sortium_balance balance, const void* const* columns_in, void* const* columns_out,
    void* positions, const sortium_options* options);

/* ---- device memory ---- */

/* Sorts memory of one device on each rank. Keeps plans and memory for the next sort. */
typedef struct sortium_device_sorter sortium_device_sorter;
/* `communicator` must outlive the object. */
SORTIUM_API sortium_status sortium_device_sorter_create(const sortium_communicator* communicator,
                                                        sortium_device* device,
                                                        sortium_device_sorter** sorter);
/* Waits for the result. operands->scratch stays empty. Outputs have the rank's part. Of the
 * options, algorithm, parameters and max_scratch_bytes are used, and max_device_bytes, which bounds
 * the memory beside the operands (DeviceOptions::max_bytes). */
SORTIUM_API sortium_status sortium_device_sorter_sort(
    sortium_device_sorter* sorter, sortium_queue* queue, const sortium_problem* problem,
    sortium_balance balance, const sortium_operands* operands, const sortium_options* options);
/* The same for records. */
SORTIUM_API sortium_status sortium_device_sorter_sort_records(
    sortium_device_sorter* sorter, sortium_queue* queue, const sortium_record_problem* problem,
    sortium_balance balance, const sortium_record_operands* operands,
    const sortium_options* options);
/* The device memory that it keeps, in bytes. */
SORTIUM_API uint64_t sortium_device_sorter_memory_bytes(const sortium_device_sorter* sorter);
SORTIUM_API void sortium_device_sorter_release(sortium_device_sorter* sorter);

#ifdef __cplusplus
}
#endif

#endif
