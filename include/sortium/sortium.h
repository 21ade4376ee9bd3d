/* Sortium for C, and for every language that can call C. Each function does what its C++
 * counterpart does; sortium.hpp and the headers it includes document meaning, thread safety and the
 * order of floats.
 *
 * Every function that can fail returns a sortium_status; the message of the calling thread's last
 * failure is sortium_last_error(). Functions whose names contain _create, _find or
 * _wrap return objects; release each with its _release function, which also accepts NULL.
 * Initialise a structure with its _init function, so that fields which later versions add have
 * their defaults. */
#ifndef SORTIUM_H
#define SORTIUM_H

#include <sortium/export.h>
#include <stddef.h>
#include <stdint.h>

/* The release. sortium_version() has that of the library which the program runs with. */
#define SORTIUM_VERSION_MAJOR 0
#define SORTIUM_VERSION_MINOR 1
#define SORTIUM_VERSION_PATCH 0
/* The binary interface, the number behind libsortium.so. It is raised when a program that was built
 * with an older header would not run correctly any more; tests/abi has the rules. */
#define SORTIUM_ABI 0

#ifdef __cplusplus
extern "C" {
#endif

/* In C, a caller may pass any number for an enumeration; the library checks it. In C++, other
 * numbers are valid only if the enumeration has a fixed type. */
#ifdef __cplusplus
#define SORTIUM_ENUM_TYPE : unsigned
#else
#define SORTIUM_ENUM_TYPE
#endif

typedef enum sortium_status SORTIUM_ENUM_TYPE {
  SORTIUM_OK = 0,
  SORTIUM_INVALID_ARGUMENT,
  SORTIUM_UNSUPPORTED,
  SORTIUM_NOT_FOUND,
  SORTIUM_OUT_OF_MEMORY,
  SORTIUM_BUILD_FAILED,
  SORTIUM_DEVICE_FAILED,
  SORTIUM_INTERNAL_ERROR, /* anything else: a defect of the library */
  SORTIUM_CANCELLED       /* the caller set options.stop */
} sortium_status;

/* The message and the device compiler's log of this thread's last failure; valid until its next
 * call. Never NULL. */
SORTIUM_API const char* sortium_last_error(void);
SORTIUM_API const char* sortium_last_log(void);
SORTIUM_API const char* sortium_version(void);

/* ---- problem and options ---- */

typedef enum sortium_key_type SORTIUM_ENUM_TYPE {
  SORTIUM_U32,
  SORTIUM_I32,
  SORTIUM_F32,
  SORTIUM_U64,
  SORTIUM_I64,
  SORTIUM_F64,
  SORTIUM_U8,
  SORTIUM_I8,
  SORTIUM_U16,
  SORTIUM_I16,
  SORTIUM_F16,
  SORTIUM_BF16
} sortium_key_type;
typedef enum sortium_order SORTIUM_ENUM_TYPE {
  SORTIUM_ASCENDING,
  SORTIUM_DESCENDING
} sortium_order;
typedef enum sortium_nan_order SORTIUM_ENUM_TYPE {
  SORTIUM_NAN_LAST,
  SORTIUM_NAN_FIRST,
  SORTIUM_NAN_BITS
} sortium_nan_order;
typedef enum sortium_zero_order SORTIUM_ENUM_TYPE {
  SORTIUM_ZEROS_TIED,
  SORTIUM_ZEROS_DISTINCT
} sortium_zero_order;
typedef enum sortium_payload SORTIUM_ENUM_TYPE {
  SORTIUM_NO_PAYLOAD,
  SORTIUM_VALUES,
  SORTIUM_POSITIONS /* argsort */
} sortium_payload;

typedef struct sortium_problem {
  sortium_key_type key;
  uint64_t count; /* records */
  sortium_payload payload;
  unsigned value_bytes; /* 4 or 8; for values in host memory, and of unique, 1 to 256 */
  int keys_out;         /* 0: write only positions, not the sorted keys */
  sortium_order order;
  unsigned begin_bit, end_bit; /* end_bit 0: up to the highest bit */
  sortium_nan_order nan;       /* for floats */
  sortium_zero_order zeros;
  uint64_t segments;     /* number of segments, each sorted by itself; 0: one list */
  unsigned offset_bytes; /* bytes of an offset: 4 or 8; 0: no offsets, all segments have
                            count / segments records */
  uint64_t limit;        /* number of sorted records to return (from each segment); 0: all */
  uint64_t stride;       /* records from one record of a segment to the next, if there are no
                            offsets; 0, 1: rows; more: another axis of an array (problem.hpp) */
} sortium_problem;
SORTIUM_API void sortium_problem_init(
    sortium_problem* problem); /* 0 keys, u32, ascending, all bits */

typedef struct sortium_options {
  const char* device;         /* NULL: SORTIUM_DEVICE's, or "auto". Sorts take lists: "cuda:*" */
  const char* algorithm;      /* NULL: "auto" */
  const char* parameters;     /* NULL or "name=value,…" */
  uint64_t max_scratch_bytes; /* the most scratch memory; 0: no limit */
  uint64_t max_device_bytes;  /* host memory: the most device memory; 0: 7/8 of what is free */
  /* Host memory: NULL, or a byte that is 0. Set it to 1, from any thread or a signal handler, to
   * end the call with SORTIUM_CANCELLED. */
  const volatile unsigned char* stop;
} sortium_options;

/* ---- host memory ---- */

/* Sorts `count` keys in place. `options` may be NULL. */
SORTIUM_API sortium_status sortium_sort(sortium_key_type key, void* keys, uint64_t count,
                                        sortium_order order, const sortium_options* options);
/* The same, and moves `values`, of value_bytes (1 to 256) each, with the keys; stable. */
SORTIUM_API sortium_status sortium_sort_pairs(sortium_key_type key, void* keys, void* values,
                                              unsigned value_bytes, uint64_t count,
                                              sortium_order order, const sortium_options* options);
/* Stores in `positions` the positions of the keys in sorted order: positions[0] is that of the
 * first key. index_bytes is 4 (uint32_t) or 8 (uint64_t). */
SORTIUM_API sortium_status sortium_argsort(sortium_key_type key, const void* keys, void* positions,
                                           unsigned index_bytes, uint64_t count,
                                           sortium_order order, const sortium_options* options);
/* Sorts host memory as `problem` says. keys_out may be keys_in, and values_out may be values_in.
 * After a failure, memory is as it was before; sort_host in host.hpp has the exceptions. */
SORTIUM_API sortium_status sortium_sort_host(const sortium_problem* problem, const void* keys_in,
                                             void* keys_out, const void* values_in,
                                             void* values_out, const sortium_options* options);
/* The same with problem->segments segments. `offsets` has one number more than there are segments,
 * each of problem->offset_bytes (4 or 8); they ascend from 0 to problem->count. NULL if
 * offset_bytes is 0. */
SORTIUM_API sortium_status sortium_sort_segments_host(const sortium_problem* problem,
                                                      const void* keys_in, void* keys_out,
                                                      const void* values_in, void* values_out,
                                                      const void* offsets,
                                                      const sortium_options* options);

/* ---- devices ---- */

typedef struct sortium_device sortium_device;

typedef enum sortium_backend SORTIUM_ENUM_TYPE {
  SORTIUM_OPENCL,
  SORTIUM_CUDA,
  SORTIUM_HOST
} sortium_backend;
typedef enum sortium_device_kind SORTIUM_ENUM_TYPE {
  SORTIUM_GPU,
  SORTIUM_CPU,
  SORTIUM_ACCELERATOR
} sortium_device_kind;
typedef enum sortium_sub_group_words SORTIUM_ENUM_TYPE {
  SORTIUM_EMULATED,
  SORTIUM_KHR,
  SORTIUM_PTX,
  SORTIUM_CUDA_WORDS
} sortium_sub_group_words;

typedef struct sortium_capabilities {
  sortium_backend backend;
  sortium_device_kind kind;
  unsigned compute_units;
  unsigned max_work_group;
  uint64_t local_memory, local_struct, global_memory, max_allocation; /* bytes */
  int atomics64;
  sortium_sub_group_words sub_group_words;
  unsigned sub_group_size;
  int forward_progress;
  unsigned cluster_groups;
  int ordered_local_atomics;
  char model[128]; /* the device's name, truncated; tuned parameters are looked up by it */
  int compiles;    /* 0: only the package's built kernels run; plans use their parameters */
} sortium_capabilities;
SORTIUM_API void sortium_capabilities_init(sortium_capabilities* capabilities);

SORTIUM_API size_t sortium_device_count(void);
SORTIUM_API sortium_status sortium_device_at(size_t index, sortium_device** device);
SORTIUM_API sortium_status sortium_device_find(
    const char* spec, sortium_device** device); /* as find_device; NULL: the default */
SORTIUM_API void sortium_device_release(sortium_device* device);
SORTIUM_API const char* sortium_device_id(
    const sortium_device* device); /* "cuda:0"; valid while the device is held */
SORTIUM_API const char* sortium_device_name(const sortium_device* device);
SORTIUM_API sortium_status sortium_device_capabilities(sortium_device* device,
                                                       sortium_capabilities* capabilities);

/* ---- device memory and queues ---- */

/* A range of device memory: a cl_mem or a CUdeviceptr, an offset from its start in bytes, and a
 * length. bytes 0: the length is unknown. */
typedef struct sortium_memory {
  void* handle;
  uint64_t offset, bytes;
} sortium_memory;

typedef struct sortium_buffer sortium_buffer;
SORTIUM_API sortium_status sortium_buffer_create(sortium_device* device, uint64_t bytes,
                                                 sortium_buffer** buffer);
SORTIUM_API sortium_memory sortium_buffer_memory(const sortium_buffer* buffer);
SORTIUM_API void sortium_buffer_release(sortium_buffer* buffer);

typedef struct sortium_queue sortium_queue;
SORTIUM_API sortium_status sortium_queue_create(sortium_device* device, int tracing,
                                                sortium_queue** queue);
SORTIUM_API sortium_status sortium_queue_wrap_opencl(void* cl_context, void* cl_command_queue,
                                                     sortium_queue** queue);
SORTIUM_API sortium_status sortium_queue_wrap_cuda(void* cu_context, void* cu_stream,
                                                   sortium_queue** queue);
/* Returns the queue's device. A plan for a wrapped queue needs it. Release it, too. */
SORTIUM_API sortium_status sortium_queue_device(sortium_queue* queue, sortium_device** device);
SORTIUM_API sortium_status sortium_queue_write(sortium_queue* queue, sortium_memory to,
                                               const void* from, uint64_t bytes);
SORTIUM_API sortium_status sortium_queue_read(sortium_queue* queue, void* to, sortium_memory from,
                                              uint64_t bytes);
SORTIUM_API sortium_status sortium_queue_finish(sortium_queue* queue);
SORTIUM_API void sortium_queue_release(sortium_queue* queue);

/* ---- plans ---- */

typedef struct sortium_operands {
  sortium_memory keys_in, keys_out, values_in, values_out, scratch;
  sortium_memory offsets; /* for segments: segments + 1 numbers */
} sortium_operands;

typedef struct sortium_phase {
  const char* name; /* valid until the next profile of this plan */
  double seconds;
  unsigned launches;
} sortium_phase;

typedef struct sortium_plan sortium_plan;
/* Uses algorithm, parameters and max_scratch_bytes. */
SORTIUM_API sortium_status sortium_plan_create(sortium_device* device,
                                               const sortium_problem* problem,
                                               const sortium_options* options, sortium_plan** plan);
SORTIUM_API uint64_t sortium_plan_scratch_bytes(const sortium_plan* plan);
/* Computes the same number without a device. */
SORTIUM_API sortium_status sortium_plan_scratch_bytes_for(const sortium_problem* problem,
                                                          const sortium_capabilities* capabilities,
                                                          const sortium_options* options,
                                                          uint64_t* bytes);
SORTIUM_API const char* sortium_plan_algorithm(const sortium_plan* plan);
SORTIUM_API const char* sortium_plan_parameters(const sortium_plan* plan);
SORTIUM_API uint64_t
sortium_plan_run_length(const sortium_plan* plan); /* for a partial sort; else 0 */
/* Only enqueues. */
SORTIUM_API sortium_status sortium_plan_run(sortium_plan* plan, sortium_queue* queue,
                                            const sortium_operands* operands);
/* Runs once and waits. Stores at most `capacity` phases, and in `count` how many there are. Needs a
 * queue with tracing. */
SORTIUM_API sortium_status sortium_plan_profile(sortium_plan* plan, sortium_queue* queue,
                                                const sortium_operands* operands,
                                                sortium_phase* phases, size_t capacity,
                                                size_t* count);
SORTIUM_API void sortium_plan_release(sortium_plan* plan);

/* ---- records (records.hpp) ---- */

/* The type of a field: a sortium_key_type, or one of these. */
enum {
  SORTIUM_FIELD_U128 = 64, /* little-endian */
  SORTIUM_FIELD_I128,
  SORTIUM_FIELD_BYTES /* a string of `length` bytes, 1 to 32, in memcmp's order */
};
typedef struct sortium_field {
  unsigned column; /* the index of the column that holds it */
  uint64_t offset; /* bytes from the start of the column's element */
  unsigned type;
  unsigned length; /* for SORTIUM_FIELD_BYTES */
  sortium_order order;
  sortium_nan_order nan; /* for floats */
  sortium_zero_order zeros;
  unsigned begin_bit, end_bit; /* for numbers of a key type; end_bit 0: up to the highest bit */
} sortium_field;

typedef enum sortium_moved SORTIUM_ENUM_TYPE {
  SORTIUM_NOT_MOVED,      /* read only: it holds fields of the key */
  SORTIUM_MOVED_IN_PLACE, /* sorted in place */
  SORTIUM_MOVED_OUT       /* the sorted column is written elsewhere */
} sortium_moved;
typedef struct sortium_column {
  unsigned bytes; /* bytes of an element: 1 to 256 */
  sortium_moved moved;
} sortium_column;

typedef struct sortium_record_problem {
  uint64_t count; /* records */
  const sortium_column* columns;
  size_t column_count;      /* 1 to 64 */
  const sortium_field* key; /* the most significant field first */
  size_t field_count;       /* 1 to 32 */
  unsigned position_bytes;  /* bytes of a position: 4 or 8; 0: no positions are written */
  uint64_t segments;        /* as in sortium_problem; with a limit, no column is moved in place */
  unsigned offset_bytes;
  uint64_t limit;
  uint64_t stride; /* as in sortium_problem */
} sortium_record_problem;
SORTIUM_API void sortium_field_init(
    sortium_field* field); /* a u32 at the start of column 0, ascending */
SORTIUM_API void sortium_record_problem_init(
    sortium_record_problem* problem); /* no records, one list */

/* Sorts `count` records of record_bytes (1 to 256) in host memory in place, by `field_count` fields
 * of column 0. */
SORTIUM_API sortium_status sortium_sort_records(void* records, unsigned record_bytes,
                                                uint64_t count, const sortium_field* key,
                                                size_t field_count, const sortium_options* options);
/* Sorts columns in host memory as `problem` says. columns_in and columns_out have one entry for
 * each column. columns_out may be NULL if no column is SORTIUM_MOVED_OUT; so may its entries for
 * columns that are not. positions may be NULL if position_bytes is 0. */
SORTIUM_API sortium_status sortium_sort_records_host(const sortium_record_problem* problem,
                                                     const void* const* columns_in,
                                                     void* const* columns_out, void* positions,
                                                     const sortium_options* options);

/* The same with problem->segments segments, as sortium_sort_segments_host. */
SORTIUM_API sortium_status sortium_sort_record_segments_host(const sortium_record_problem* problem,
                                                             const void* const* columns_in,
                                                             void* const* columns_out,
                                                             void* positions, const void* offsets,
                                                             const sortium_options* options);
/* Stores the first k (1 to count) of the sorted records in records_out, which must not overlap
 * `records`. */
SORTIUM_API sortium_status sortium_topk_records(const void* records, unsigned record_bytes,
                                                uint64_t count, const sortium_field* key,
                                                size_t field_count, uint64_t k, void* records_out,
                                                const sortium_options* options);

typedef struct sortium_record_operands {
  const sortium_memory* columns_in;  /* one entry for each column */
  const sortium_memory* columns_out; /* the same, or NULL if no column is moved out */
  sortium_memory positions, scratch;
  sortium_memory offsets; /* for segments */
} sortium_record_operands;

typedef struct sortium_record_plan sortium_record_plan;
/* Uses all options but `device`. */
SORTIUM_API sortium_status sortium_record_plan_create(sortium_device* device,
                                                      const sortium_record_problem* problem,
                                                      const sortium_options* options,
                                                      sortium_record_plan** plan);
SORTIUM_API uint64_t sortium_record_plan_scratch_bytes(const sortium_record_plan* plan);
/* Computes the same number without a device. */
SORTIUM_API sortium_status sortium_record_plan_scratch_bytes_for(
    const sortium_record_problem* problem, const sortium_capabilities* capabilities,
    const sortium_options* options, uint64_t* bytes);
SORTIUM_API const char* sortium_record_plan_algorithm(
    const sortium_record_plan* plan); /* of the last inner sort */
/* Only enqueues. */
SORTIUM_API sortium_status sortium_record_plan_run(sortium_record_plan* plan, sortium_queue* queue,
                                                   const sortium_record_operands* operands);
/* As sortium_plan_profile. */
SORTIUM_API sortium_status sortium_record_plan_profile(sortium_record_plan* plan,
                                                       sortium_queue* queue,
                                                       const sortium_record_operands* operands,
                                                       sortium_phase* phases, size_t capacity,
                                                       size_t* count);
SORTIUM_API void sortium_record_plan_release(sortium_record_plan* plan);

typedef enum sortium_direction SORTIUM_ENUM_TYPE {
  SORTIUM_GATHER, /* out[i] = in[positions[i]] */
  SORTIUM_SCATTER /* out[positions[i]] = in[i] */
} sortium_direction;
typedef struct sortium_permute_problem {
  sortium_direction direction;
  uint64_t count;         /* number of positions */
  unsigned element_bytes; /* 1 to 256 */
  unsigned index_bytes;   /* bytes of a position, 4 or 8 */
  uint64_t elements;      /* elements that positions may name; 0: `count` */
} sortium_permute_problem;
/* On host memory. Fails with SORTIUM_INVALID_ARGUMENT, naming the first position out of range. */
SORTIUM_API sortium_status sortium_gather(const void* in, const void* positions, void* out,
                                          uint64_t count, unsigned element_bytes,
                                          unsigned index_bytes, uint64_t elements,
                                          const sortium_options* options);
SORTIUM_API sortium_status sortium_scatter(const void* in, const void* positions, void* out,
                                           uint64_t count, unsigned element_bytes,
                                           unsigned index_bytes, uint64_t elements,
                                           const sortium_options* options);
/* On device memory. Positions are not checked. */
typedef struct sortium_permute sortium_permute;
SORTIUM_API sortium_status sortium_permute_create(sortium_device* device,
                                                  const sortium_permute_problem* problem,
                                                  sortium_permute** permute);
SORTIUM_API sortium_status sortium_permute_run(sortium_permute* permute, sortium_queue* queue,
                                               sortium_memory in, sortium_memory positions,
                                               sortium_memory out); /* only enqueues */
SORTIUM_API void sortium_permute_release(sortium_permute* permute);

/* ---- algorithms ---- */

typedef struct sortium_algorithm {
  const char *name, *title, *source, *cost; /* valid until the process ends */
  int stable, partial, comparison, quadratic, host;
  int segments, limit; /* 1: solves such problems, and no others */
} sortium_algorithm;
SORTIUM_API size_t sortium_algorithm_count(void);
SORTIUM_API sortium_status sortium_algorithm_at(size_t index, sortium_algorithm* algorithm);

/* A small sort with a known answer. */
typedef struct sortium_self_test_result {
  const char* algorithm; /* valid until the process ends */
  sortium_problem problem;
  int supported;       /* 0: the device cannot run this algorithm; `failure` says why */
  const char* failure; /* "": passed */
} sortium_self_test_result;
/* Tests the algorithm named `algorithm`, or, if it is NULL, every algorithm that runs on the
 * device. The results and their strings are valid until this thread's next self-test. A failed test
 * is a result: the status is SORTIUM_OK. */
SORTIUM_API sortium_status sortium_self_test(sortium_device* device, const char* algorithm,
                                             const sortium_self_test_result** results,
                                             size_t* count);

/* ---- top-k (topk.hpp) and operations on sorted keys (search.hpp) ---- */

/* Stores the first k (1 to count) of the sorted keys in keys_out, which must not overlap `keys`. */
SORTIUM_API sortium_status sortium_topk(sortium_key_type key, const void* keys, uint64_t count,
                                        uint64_t k, void* keys_out, sortium_order order,
                                        const sortium_options* options);
/* Values of 1 to 256 bytes. */
SORTIUM_API sortium_status sortium_topk_pairs(sortium_key_type key, const void* keys,
                                              const void* values, unsigned value_bytes,
                                              uint64_t count, uint64_t k, void* keys_out,
                                              void* values_out, sortium_order order,
                                              const sortium_options* options);
SORTIUM_API sortium_status sortium_argtopk(sortium_key_type key, const void* keys, void* positions,
                                           unsigned index_bytes, uint64_t count, uint64_t k,
                                           sortium_order order, const sortium_options* options);

typedef enum sortium_bound SORTIUM_ENUM_TYPE {
  SORTIUM_LOWER_BOUND,
  SORTIUM_UPPER_BOUND
} sortium_bound;

/* On host memory. Of the options, only `device` may be set; others fail with
 * SORTIUM_INVALID_ARGUMENT. Values may be NULL with SORTIUM_NO_PAYLOAD; those of sortium_unique may
 * have 1 to 256 bytes. */
SORTIUM_API sortium_status
sortium_is_sorted(const sortium_problem* problem, const void* keys, uint64_t* first_unsorted,
                  const sortium_options* options); /* problem->count if the keys are sorted */
SORTIUM_API sortium_status sortium_unique(
    const sortium_problem* problem, const void* keys_in, void* keys_out, const void* values_in,
    void* values_out, void* lengths, unsigned length_bytes, uint64_t* runs,
    const sortium_options* options); /* lengths may be NULL; in place is fine */
SORTIUM_API sortium_status sortium_merge(
    const sortium_problem* problem, uint64_t a_count, const void* a_keys, const void* b_keys,
    void* keys_out, const void* a_values, const void* b_values, void* values_out,
    const sortium_options* options); /* problem->count: of both together */
SORTIUM_API sortium_status
sortium_search(const sortium_problem* problem, const void* keys, const void* needles,
               uint64_t needle_count, void* places, sortium_bound bound,
               const sortium_options* options); /* places of problem->value_bytes each */
SORTIUM_API sortium_status sortium_nth_element(const sortium_problem* problem, uint64_t n,
                                               const void* keys_in, void* keys_out,
                                               const void* values_in, void* values_out,
                                               const sortium_options* options);

/* On device memory. Create once; run any number of times. */
typedef struct sortium_companion sortium_companion;
SORTIUM_API sortium_status sortium_companion_is_sorted(sortium_device* device,
                                                       const sortium_problem* problem,
                                                       sortium_companion** companion);
SORTIUM_API sortium_status sortium_companion_unique(
    sortium_device* device, const sortium_problem* problem, unsigned length_bytes,
    sortium_companion** companion); /* length_bytes 0: no lengths */
SORTIUM_API sortium_status sortium_companion_merge(sortium_device* device,
                                                   const sortium_problem* problem, uint64_t a_count,
                                                   sortium_companion** companion);
SORTIUM_API sortium_status sortium_companion_search(sortium_device* device,
                                                    const sortium_problem* problem,
                                                    uint64_t needle_count, sortium_bound bound,
                                                    sortium_companion** companion);
SORTIUM_API sortium_status sortium_companion_nth_element(sortium_device* device,
                                                         const sortium_problem* problem, uint64_t n,
                                                         sortium_companion** companion);
SORTIUM_API uint64_t sortium_companion_scratch_bytes(const sortium_companion* companion);
/* Each operation uses these operands; set the others to zero.
 *   is_sorted: keys_in, result.
 *   unique: keys_in, keys_out, values_in, values_out, lengths, result (the number of runs).
 *   merge: keys_in and values_in (those of a), b_keys, b_values, keys_out, values_out.
 *   search: keys_in, needles, result (the places).
 *   nth_element: keys_in, keys_out, values_in, values_out. */
typedef struct sortium_companion_operands {
  sortium_memory keys_in, keys_out, values_in, values_out, b_keys, b_values, needles, lengths,
      result, scratch;
} sortium_companion_operands;
SORTIUM_API sortium_status
sortium_companion_run(sortium_companion* companion, sortium_queue* queue,
                      const sortium_companion_operands* operands); /* only enqueues */
SORTIUM_API void sortium_companion_release(sortium_companion* companion);

/* ---- checking on the device ---- */

typedef struct sortium_verdict {
  uint64_t unsorted, first_unsorted, checksum;
} sortium_verdict;
/* As sortium::verify. values.handle may be NULL if the payload is not SORTIUM_VALUES; run_length 0:
 * all records are one run. */
SORTIUM_API sortium_status sortium_verify(sortium_queue* queue, const sortium_problem* problem,
                                          sortium_memory keys, sortium_memory values,
                                          uint64_t run_length, sortium_verdict* verdict);

#ifdef __cplusplus
}
#endif
#endif
