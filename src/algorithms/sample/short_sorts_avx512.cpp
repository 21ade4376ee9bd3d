// x86-simd-sort with AVX-512 (Ice Lake and newer). The headers of the standard library that it uses
// are included first: they must not be compiled for these instructions, nor in its namespace. That
// is unnamed, so that no other copy of x86-simd-sort in the program, for other instructions, is
// linked instead.
#ifdef SORTIUM_X86_SIMD_SORT
#include <hwy/base.h>
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "short_sorts.hpp"

HWY_PUSH_ATTRIBUTES("avx512f,avx512vl,avx512dq,avx512bw,avx512vbmi2,bmi,bmi2,popcnt,lzcnt")
namespace {
// In this order, which they need:
#include <xss-common-includes.h>
//
#include <xss-common-qsort.h>
//
#include <xss-common-keyvaluesort.hpp>
//
#include <avx512-16bit-qsort.hpp>
#include <avx512-32bit-qsort.hpp>
#include <avx512-64bit-qsort.hpp>

template <class Word>
void sort(Word* words, std::size_t count) {
  avx512_qsort(words, count);
}
template <class Word>
void select(Word* words, std::size_t count, std::size_t n) {
  avx512_qselect(words, n, count);
}
template <class Word>
std::size_t partition(Word* words, std::size_t count, Word pivot) {
  using Vector = zmm_vector<Word>;
  Word lowest = Vector::type_max(), highest = Vector::type_min();
  return partition_unrolled<Vector, Comparator<Vector, false>, Vector::partition_unroll_factor>(
      words, 0, count, pivot, &lowest, &highest);
}

#include "short_sorts_floats.inl"
}  // namespace
HWY_POP_ATTRIBUTES

// Measured on an Intel Xeon (Sapphire Rapids). vqsort sorts words of 8 bytes as fast from 1024 on.
const sortium::sample::ShortSorts sortium::sample::avx512_sorts{
    .of_16 = {sort, partition, select, 1 << 16},
    .of_32 = {sort, partition, select, 1 << 16},
    .of_64 = {sort, partition, select, 2048},
    .of_floats = {sort_floats, partition_floats, nullptr, ~std::size_t{0}},
    .of_doubles = {sort_floats, partition_floats, nullptr, ~std::size_t{0}}};
#endif
