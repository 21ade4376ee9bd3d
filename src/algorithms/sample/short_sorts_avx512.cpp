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
// Comparisons must see denormal numbers, and raise no exception, whatever the caller's thread has
// set.
template <class Float>
void sort_floats(Float* floats, std::size_t count) {
  const unsigned control = _mm_getcsr();
  _mm_setcsr((control & ~unsigned{_MM_DENORMALS_ZERO_MASK}) | _MM_MASK_MASK);
  sort(floats, count);
  _mm_setcsr(control);
}
}  // namespace
HWY_POP_ATTRIBUTES

// Measured on an Intel Xeon (Sapphire Rapids). One network sorts up to 256 words of 8 bytes.
const sortium::sample::ShortSorts sortium::sample::avx512_sorts{
    .of_16 = {sort, 1 << 16},
    .of_32 = {sort, 1 << 16},
    .of_64 = {sort, 256},
    .of_floats = {sort_floats, ~std::size_t{0}},
    .of_doubles = {sort_floats, ~std::size_t{0}}};
#endif
