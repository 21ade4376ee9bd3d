// x86-simd-sort with AVX2; see short_sorts_avx512.cpp.
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

HWY_PUSH_ATTRIBUTES("avx2,bmi,bmi2,popcnt,lzcnt")
namespace {
// In this order, which they need:
#include <xss-common-includes.h>
//
#include <xss-common-qsort.h>
//
#include <xss-common-keyvaluesort.hpp>
//
#include <avx2-32bit-qsort.hpp>
#include <avx2-64bit-qsort.hpp>

template <class Word>
void sort(Word* words, std::size_t count) {
  avx2_qsort(words, count);
}
template <class Word>
void select(Word* words, std::size_t count, std::size_t n) {
  avx2_qselect(words, n, count);
}
template <class Word>
std::size_t partition(Word* words, std::size_t count, Word pivot) {
  using Vector = avx2_vector<Word>;
  Word lowest = Vector::type_max(), highest = Vector::type_min();
  return partition_unrolled<Vector, Comparator<Vector, false>, Vector::partition_unroll_factor>(
      words, 0, count, pivot, &lowest, &highest);
}

#include "short_sorts_floats.inl"
}  // namespace
HWY_POP_ATTRIBUTES

// Measured on an Intel Xeon, restricted to AVX2.
const sortium::sample::ShortSorts sortium::sample::avx2_sorts{
    .of_16 = {},
    .of_32 = {sort, partition, select, 1 << 20},
    .of_64 = {sort, partition, select, 256},
    .of_floats = {sort_floats, partition_floats, nullptr, ~std::size_t{0}},
    .of_doubles = {sort_floats, partition_floats, nullptr, ~std::size_t{0}}};
#endif
