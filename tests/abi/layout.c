/* The layout of the C interface's structures on 64-bit systems: sizes, and where the last members
 * lie. If an assertion fails, README.md says what to do. */
#include <sortium/distributed.h>
#include <sortium/sortium.h>
#include <stddef.h>

#define LAYOUT(type, bytes, last, offset)                             \
  _Static_assert(sizeof(type) == (bytes), #type " has another size"); \
  _Static_assert(offsetof(type, last) == (offset), #type " has another layout")

LAYOUT(sortium_problem, 80, stride, 72);
LAYOUT(sortium_options, 48, stop, 40);
LAYOUT(sortium_capabilities, 208, compiles, 200);
LAYOUT(sortium_memory, 24, bytes, 16);
LAYOUT(sortium_operands, 144, offsets, 120);
LAYOUT(sortium_phase, 24, launches, 16);
LAYOUT(sortium_field, 48, end_bit, 40);
LAYOUT(sortium_column, 8, moved, 4);
LAYOUT(sortium_record_problem, 80, stride, 72);
LAYOUT(sortium_record_operands, 88, offsets, 64);
LAYOUT(sortium_permute_problem, 32, elements, 24);
LAYOUT(sortium_algorithm, 64, limit, 56);
LAYOUT(sortium_self_test_result, 104, failure, 96);
LAYOUT(sortium_companion_operands, 240, scratch, 216);
LAYOUT(sortium_verdict, 24, checksum, 16);
LAYOUT(sortium_communicator, 48, exchange_on_device, 40);
