// Checks of arguments that the templates of the public headers make.
#include <fmt/format.h>

#include <sortium/segments.hpp>

namespace sortium {

void detail::out_of_host_memory(std::uint64_t elements, std::uint64_t element_bytes) {
  throw Error(ErrorCode::out_of_memory,
              fmt::format("out of host memory: cannot allocate {} elements of {} bytes", elements,
                          element_bytes));
}

void detail::refuse_method(const Options& options, std::string_view call) {
  const char* const named = options.algorithm != "auto"      ? "algorithm"
                            : !options.parameters.empty()    ? "parameters"
                            : options.max_scratch_bytes != 0 ? "max_scratch_bytes"
                            : options.max_device_bytes != 0  ? "max_device_bytes"
                                                             : nullptr;
  if (named != nullptr)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("options.{} is given, but {} does not sort and has only one method",
                            named, call));
}

void detail::check_lengths(std::uint64_t keys, std::uint64_t values) {
  if (keys != values)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} values for {} keys; the numbers must be equal", values, keys));
}

std::uint64_t detail::segments_of(std::uint64_t offsets, std::uint64_t first, std::uint64_t keys) {
  if (offsets == 0)
    throw Error(ErrorCode::invalid_argument,
                "offsets is empty; there must be one more than segments");
  if (offsets == 1 && (first != 0 || keys != 0))
    throw Error(ErrorCode::invalid_argument,
                fmt::format("offsets has one number, {}, which says that there are no segments, "
                            "but there are {} keys",
                            first, keys));
  return offsets - 1;
}

std::uint64_t detail::rows_of(std::uint64_t keys, std::uint64_t row_length) {
  if (row_length == 0 || keys % row_length != 0)
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("row_length is {}; it must be at least 1, and the number of keys, {}, a "
                    "multiple of it",
                    row_length, keys));
  return keys / row_length;
}

void detail::check_columns(std::uint64_t keys, std::uint64_t columns) {
  if (columns == 0 || keys % columns != 0)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("columns is {}; it must be at least 1, and the number of keys, {}, a "
                            "multiple of it",
                            columns, keys));
}

}  // namespace sortium
