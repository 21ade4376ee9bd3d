/* What the tests of the C interface share. Each file tests one part of it, in one function. */
#pragma once

#include <sortium/sortium.h>
#include <stdint.h>
#include <stdio.h>

extern int c_api_failures;

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      printf("%s:%d: %s does not hold (%s)\n", __FILE__, __LINE__, #condition, \
             sortium_last_error());                                            \
      ++c_api_failures;                                                        \
    }                                                                          \
  } while (0)

enum { N = 10007 }; /* records of a long list */

uint32_t random_bits(void);
/* The name of the device under test; NULL: the default device. */
const char* test_device(void);
/* Returns whether that device is cpu:0, which has algorithms of its own. */
int on_host(void);

/* Lists in host memory: sorts, top-k, companions, segments, rows. */
void test_lists(const sortium_options* options);
/* Records in host memory and in device memory; values of any size. */
void test_records(const sortium_options* options);
/* Sorts that are distributed among ranks. */
void test_ranks(const sortium_options* options);
