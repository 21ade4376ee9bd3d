// Compiled twice, as cub_sorts.cu is: with the toolkit's CUB and, with NEWER_CUB, with another one.
#include "cub_sorts.hpp"
#ifdef NEWER_CUB
#include <cub/version.cuh>
#endif

namespace peers {
#define DECLARE_ALL(f, ...) \
  void f##u32(__VA_ARGS__); \
  void f##i32(__VA_ARGS__); \
  void f##f32(__VA_ARGS__); \
  void f##u64(__VA_ARGS__); \
  void f##i64(__VA_ARGS__); \
  void f##f64(__VA_ARGS__);
#define BY_KEY(f, ...)                                                                    \
  constexpr decltype(&f##u32) table[] = {f##u32, f##i32, f##f32, f##u64, f##i64, f##f64}; \
  table[static_cast<int>(s.key)](__VA_ARGS__)
#ifdef NEWER_CUB
DECLARE_ALL(newer_cub_radix_, void*, std::size_t&, const Sort&, cudaStream_t, bool)
void newer_cub_radix(void* temp, std::size_t& bytes, const Sort& s, cudaStream_t q,
                     bool wide_count) {
  BY_KEY(newer_cub_radix_, temp, bytes, s, q, wide_count);
}
int newer_cub_version() { return CUB_VERSION; }
#else
DECLARE_ALL(cub_radix_, void*, std::size_t&, const Sort&, cudaStream_t, bool)
DECLARE_ALL(cub_merge_, void*, std::size_t&, const Sort&, cudaStream_t)
DECLARE_ALL(thrust_, const Sort&, cudaStream_t)
void cub_radix(void* temp, std::size_t& bytes, const Sort& s, cudaStream_t q, bool wide_count) {
  BY_KEY(cub_radix_, temp, bytes, s, q, wide_count);
}
void cub_merge(void* temp, std::size_t& bytes, const Sort& s, cudaStream_t q) {
  BY_KEY(cub_merge_, temp, bytes, s, q);
}
void thrust_sort(const Sort& s, cudaStream_t q) { BY_KEY(thrust_, s, q); }
#endif
}  // namespace peers
