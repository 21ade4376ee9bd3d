// Sorts and top-k of host memory, for C.
#include "convert.hpp"

using namespace sortium;
using namespace sortium::c;

extern "C" {

sortium_status sortium_sort_host(const sortium_problem* problem, const void* keys_in,
                                 void* keys_out, const void* values_in, void* values_out,
                                 const sortium_options* options) {
  return guarded([&] {
    sort_host(problem_of(problem), {keys_in, keys_out, values_in, values_out}, options_of(options));
  });
}

sortium_status sortium_sort_segments_host(const sortium_problem* problem, const void* keys_in,
                                          void* keys_out, const void* values_in, void* values_out,
                                          const void* offsets, const sortium_options* options) {
  return guarded([&] {
    sort_host(problem_of(problem), {keys_in, keys_out, values_in, values_out, offsets},
              options_of(options));
  });
}

sortium_status sortium_sort(sortium_key_type key, void* keys, uint64_t count, sortium_order order,
                            const sortium_options* options) {
  sortium_problem p = c_problem(key, count, order);
  return sortium_sort_host(&p, keys, keys, nullptr, nullptr, options);
}

sortium_status sortium_sort_pairs(sortium_key_type key, void* keys, void* values,
                                  unsigned value_bytes, uint64_t count, sortium_order order,
                                  const sortium_options* options) {
  sortium_problem p = c_problem(key, count, order);
  p.payload = SORTIUM_VALUES;
  p.value_bytes = value_bytes;
  return sortium_sort_host(&p, keys, keys, values, values, options);
}

sortium_status sortium_argsort(sortium_key_type key, const void* keys, void* positions,
                               unsigned index_bytes, uint64_t count, sortium_order order,
                               const sortium_options* options) {
  sortium_problem p = c_problem(key, count, order);
  p.payload = SORTIUM_POSITIONS;
  p.value_bytes = index_bytes;
  p.keys_out = 0;
  return sortium_sort_host(&p, keys, nullptr, nullptr, positions, options);
}

sortium_status sortium_topk(sortium_key_type key, const void* keys, uint64_t count, uint64_t k,
                            void* keys_out, sortium_order order, const sortium_options* options) {
  return guarded([&] {
    auto p = c_problem(key, count, order);
    detail::check_k(p.limit = k, count);
    sort_host(problem_of(&p), {keys, keys_out}, options_of(options));
  });
}

sortium_status sortium_topk_pairs(sortium_key_type key, const void* keys, const void* values,
                                  unsigned value_bytes, uint64_t count, uint64_t k, void* keys_out,
                                  void* values_out, sortium_order order,
                                  const sortium_options* options) {
  return guarded([&] {
    auto p = c_problem(key, count, order);
    detail::check_k(p.limit = k, count);
    p.payload = SORTIUM_VALUES;
    p.value_bytes = value_bytes;
    sort_host(problem_of(&p), {keys, keys_out, values, values_out}, options_of(options));
  });
}

sortium_status sortium_argtopk(sortium_key_type key, const void* keys, void* positions,
                               unsigned index_bytes, uint64_t count, uint64_t k,
                               sortium_order order, const sortium_options* options) {
  return guarded([&] {
    auto p = c_problem(key, count, order);
    detail::check_k(p.limit = k, count);
    p.payload = SORTIUM_POSITIONS;
    p.value_bytes = index_bytes;
    p.keys_out = 0;
    sort_host(problem_of(&p), {keys, nullptr, nullptr, positions}, options_of(options));
  });
}

}  // extern "C"
