#include "boost_sorts.hpp"

#define CL_TARGET_OPENCL_VERSION 120
#include <boost/compute.hpp>
#include <boost/version.hpp>

namespace peers {

namespace compute = boost::compute;

namespace {

template <class K>
void sort(compute::command_queue& queue, std::uint64_t count, const compute::buffer& keys,
          void* values) {
  const auto first = compute::make_buffer_iterator<K>(keys);
  const auto last = first + static_cast<std::ptrdiff_t>(count);
  if (values == nullptr) return compute::sort(first, last, queue);
  compute::sort_by_key(
      first, last,
      compute::make_buffer_iterator<compute::uint_>(compute::buffer(static_cast<cl_mem>(values))),
      queue);
}

}  // namespace

std::string boost_version() {
  return "Boost " + std::to_string(BOOST_VERSION / 100000) + "." +
         std::to_string(BOOST_VERSION / 100 % 1000);
}

void boost_sort(void* cl_command_queue, sortium::KeyType key, std::uint64_t count, void* keys,
                void* values) {
  compute::command_queue queue(static_cast<::cl_command_queue>(cl_command_queue));
  const compute::buffer buffer(static_cast<cl_mem>(keys));
  switch (key) {
    case sortium::KeyType::u32:
      return sort<compute::uint_>(queue, count, buffer, values);
    case sortium::KeyType::i32:
      return sort<compute::int_>(queue, count, buffer, values);
    case sortium::KeyType::f32:
      return sort<compute::float_>(queue, count, buffer, values);
    case sortium::KeyType::u64:
      return sort<compute::ulong_>(queue, count, buffer, values);
    case sortium::KeyType::i64:
      return sort<compute::long_>(queue, count, buffer, values);
    case sortium::KeyType::f64:
      return sort<compute::double_>(queue, count, buffer, values);
  }
}

}  // namespace peers
