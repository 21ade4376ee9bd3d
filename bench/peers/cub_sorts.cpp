#include "cub_sorts.hpp"

namespace peers {
#define DECLARE(name)                                                               \
  void cub_radix_##name(void*, std::size_t&, const Sort&, cudaStream_t, bool);      \
  void cub_merge_##name(void*, std::size_t&, const Sort&, cudaStream_t);            \
  void thrust_##name(const Sort&, cudaStream_t);
DECLARE(u32) DECLARE(i32) DECLARE(f32) DECLARE(u64) DECLARE(i64) DECLARE(f64)
#define BY_KEY(f, ...)                                                                                              \
  constexpr decltype(&f##u32) table[] = {f##u32, f##i32, f##f32, f##u64, f##i64, f##f64};                           \
  table[static_cast<int>(s.key)](__VA_ARGS__)
void cub_radix(void* temp, std::size_t& bytes, const Sort& s, cudaStream_t q, bool wide_count) {
  BY_KEY(cub_radix_, temp, bytes, s, q, wide_count);
}
void cub_merge(void* temp, std::size_t& bytes, const Sort& s, cudaStream_t q) { BY_KEY(cub_merge_, temp, bytes, s, q); }
void thrust_sort(const Sort& s, cudaStream_t q) { BY_KEY(thrust_, s, q); }
}  // namespace peers
