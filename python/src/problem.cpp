// Binds problems: plain values that state what a sort has to do.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <new>

#include "module.hpp"

namespace pysortium {

namespace {

using sortium::Column, sortium::Field, sortium::FieldType, sortium::Moved, sortium::NanOrder,
    sortium::Options, sortium::Order, sortium::Payload, sortium::Problem, sortium::RecordProblem,
    sortium::ZeroOrder;

// Returns the value called `name` among `all`. Throws ValueError naming the argument and the
// allowed values.
template <class T, std::size_t N>
T chosen(std::string_view argument, std::string_view name,
         const std::array<std::pair<std::string_view, T>, N>& all) {
  std::string allowed;
  for (const auto& [word, value] : all) {
    if (word == name) return value;
    allowed += (allowed.empty() ? "'" : ", '") + std::string(word) + "'";
  }
  throw nb::value_error(
      (std::string(argument) + " is '" + std::string(name) + "'; allowed are " + allowed).c_str());
}

NanOrder nan_order(std::string_view name) {
  return chosen<NanOrder, 3>(
      "nan", name,
      {{{"last", NanOrder::last}, {"first", NanOrder::first}, {"bits", NanOrder::bits}}});
}
ZeroOrder zero_order(std::string_view name) {
  return chosen<ZeroOrder, 2>("zeros", name,
                              {{{"tied", ZeroOrder::tied}, {"distinct", ZeroOrder::distinct}}});
}
Payload payload(std::string_view name) {
  return chosen<Payload, 3>(
      "payload", name,
      {{{"none", Payload::none}, {"values", Payload::values}, {"positions", Payload::positions}}});
}
Moved moved(std::string_view name) {
  return chosen<Moved, 3>(
      "moved", name, {{{"no", Moved::no}, {"in_place", Moved::in_place}, {"out", Moved::out}}});
}
Order order(bool descending) { return descending ? Order::descending : Order::ascending; }

FieldType field_type(std::string_view name, unsigned bytes) {
  if (name == "u128") return FieldType::u128();
  if (name == "i128") return FieldType::i128();
  if (name == "bytes") return FieldType::bytes(bytes);
  return sortium::parse_key_type(name);
}

Problem problem(std::string_view key, std::uint64_t count, std::string_view payload_name,
                unsigned value_bytes, bool keys_out, bool descending, unsigned begin_bit,
                unsigned end_bit, std::string_view nan, std::string_view zeros,
                std::uint64_t segments, unsigned offset_bytes, std::uint64_t limit,
                std::uint64_t stride) {
  return {.key = sortium::parse_key_type(key),
          .count = count,
          .payload = payload(payload_name),
          .value_bytes = value_bytes,
          .keys_out = keys_out,
          .order = order(descending),
          .begin_bit = begin_bit,
          .end_bit = end_bit,
          .nan = nan_order(nan),
          .zeros = zero_order(zeros),
          .segments = segments,
          .offset_bytes = offset_bytes,
          .limit = limit,
          .stride = stride};
}

}  // namespace

void bind_problem(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Problem>(m, "Problem", "What a sort is asked to do.")
      .def(
          "__init__",
          [](Problem* p, std::string_view key, std::uint64_t count, std::string_view payload_name,
             unsigned value_bytes, bool keys_out, bool descending, unsigned begin_bit,
             unsigned end_bit, std::string_view nan, std::string_view zeros, std::uint64_t segments,
             unsigned offset_bytes, std::uint64_t limit, std::uint64_t stride) {
            new (p) Problem(problem(key, count, payload_name, value_bytes, keys_out, descending,
                                    begin_bit, end_bit, nan, zeros, segments, offset_bytes, limit,
                                    stride));
          },
          "key"_a, "count"_a, nb::kw_only(), "payload"_a = "none", "value_bytes"_a = 4,
          "keys_out"_a = true, "descending"_a = false, "begin_bit"_a = 0, "end_bit"_a = 0,
          "nan"_a = "last", "zeros"_a = "tied", "segments"_a = 0, "offset_bytes"_a = 4,
          "limit"_a = 0, "stride"_a = 1)
      .def_ro("count", &Problem::count)
      .def_ro("limit", &Problem::limit)
      .def_ro("segments", &Problem::segments)
      .def_ro("value_bytes", &Problem::value_bytes)
      .def_prop_ro("key", [](const Problem& p) { return std::string(info(p.key).name); })
      .def_prop_ro("key_bytes", [](const Problem& p) { return info(p.key).bytes; })
      .def_prop_ro("records_out", [](const Problem& p) { return records_out(p); });

  nb::class_<Field>(m, "Field", "A field of a record's key.")
      .def(
          "__init__",
          [](Field* f, std::string_view type, unsigned column, std::uint64_t offset, unsigned bytes,
             bool descending, std::string_view nan, std::string_view zeros, unsigned begin_bit,
             unsigned end_bit) {
            new (f) Field{column,
                          offset,
                          field_type(type, bytes),
                          order(descending),
                          nan_order(nan),
                          zero_order(zeros),
                          begin_bit,
                          end_bit};
          },
          "type"_a, nb::kw_only(), "column"_a = 0, "offset"_a = 0, "bytes"_a = 0,
          "descending"_a = false, "nan"_a = "last", "zeros"_a = "tied", "begin_bit"_a = 0,
          "end_bit"_a = 0);

  nb::class_<Column>(m, "Column", "A column of records.")
      .def(
          "__init__",
          [](Column* c, unsigned bytes, std::string_view how) {
            new (c) Column{bytes, moved(how)};
          },
          "bytes"_a, "moved"_a);

  nb::class_<RecordProblem>(m, "RecordProblem", "What a sort of records is asked to do.")
      .def(
          "__init__",
          [](RecordProblem* p, std::uint64_t count, std::vector<Column> columns,
             std::vector<Field> key, unsigned position_bytes, std::uint64_t segments,
             unsigned offset_bytes, std::uint64_t limit) {
            new (p) RecordProblem{count,    std::move(columns), std::move(key), position_bytes,
                                  segments, offset_bytes,       limit};
          },
          "count"_a, "columns"_a, "key"_a, nb::kw_only(), "position_bytes"_a = 0, "segments"_a = 0,
          "offset_bytes"_a = 4, "limit"_a = 0);

  nb::class_<Options>(m, "Options", "How to sort host memory.")
      .def(
          "__init__",
          [](Options* o, std::string device, std::string algorithm, std::string parameters,
             std::uint64_t max_scratch_bytes, std::uint64_t max_device_bytes) {
            new (o) Options{.device = std::move(device),
                            .algorithm = std::move(algorithm),
                            .parameters = std::move(parameters),
                            .max_scratch_bytes = max_scratch_bytes,
                            .max_device_bytes = max_device_bytes};
          },
          "device"_a = "cpu:0", "algorithm"_a = "auto", "parameters"_a = "",
          "max_scratch_bytes"_a = 0, "max_device_bytes"_a = 0);
}

}  // namespace pysortium
