// What the C functions share: handles, errors, and conversions between the structures of C and C++.
#pragma once

#include <sortium/sortium.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <sortium/sortium.hpp>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

struct sortium_device {
  std::shared_ptr<sortium::Device> device;
};
struct sortium_queue {
  std::unique_ptr<sortium::Queue> queue;
};

namespace sortium::c {

// Stores the message and log that sortium_last_error and sortium_last_log return.
sortium_status failed(const std::exception& error) noexcept;

// Runs the body of a C function, and turns exceptions into a status: none may reach C.
template <class F>
sortium_status guarded(F&& body) {
  try {
    body();
    return SORTIUM_OK;
  } catch (const std::exception& e) {
    return failed(e);
  }
}

inline void need(const void* pointer, const std::string& name) {
  if (pointer == nullptr) throw Error(ErrorCode::invalid_argument, name + " is null");
}
template <class T>
requires(!std::is_void_v<T>) T& need(T* pointer, const char* name) {
  need(static_cast<const void*>(pointer), std::string(name));
  return *pointer;
}

template <class To, class From>
To enumerated(From value, int last, const char* name) {
  const int v = static_cast<int>(value);
  if (v < 0 || v > last)
    throw Error(ErrorCode::invalid_argument, std::string(name) + " is " + std::to_string(v) +
                                                 "; 0 to " + std::to_string(last) + " are allowed");
  return static_cast<To>(v);
}

Problem problem_of(const sortium_problem* problem);
RecordProblem record_problem_of(const sortium_record_problem* problem);
sortium_problem c_problem(const Problem& problem);
// Sets the other fields as sortium_problem_init does.
sortium_problem c_problem(sortium_key_type key, uint64_t count, sortium_order order);
Method method_of(const sortium_options* options);
Options options_of(const sortium_options* options);
Capabilities capabilities_of(const sortium_capabilities* capabilities);
sortium_capabilities c_capabilities(const Capabilities& capabilities);

inline std::string text(const char* given, const char* otherwise) {
  return given ? given : otherwise;
}
inline Memory memory_of(const sortium_memory& m) { return {m.handle, m.offset, m.bytes}; }
// The same, for memory that needs `bytes` bytes. Throws Error(invalid_argument) if it has none or
// fewer.
inline Memory memory_of(const sortium_memory& m, uint64_t bytes, const std::string& name) {
  if (bytes != 0) need(m.handle, name + ".handle");
  if (m.bytes != 0 && bytes > m.bytes)
    throw Error(ErrorCode::invalid_argument, name + " has " + std::to_string(m.bytes) + " bytes; " +
                                                 std::to_string(bytes) + " are needed");
  return memory_of(m);
}

inline Operands operands_of(const sortium_operands* o) {
  const auto& c = need(o, "operands");
  return {memory_of(c.keys_in),    memory_of(c.keys_out), memory_of(c.values_in),
          memory_of(c.values_out), memory_of(c.scratch),  memory_of(c.offsets)};
}

// A span of `count` elements. `first` may be null if `count` is 0.
template <class T>
std::span<const T> many(const T* first, size_t count, const char* name) {
  if (count != 0) need(first, name);
  return {first, count};
}

// Holds the columns' memory in the form that RecordOperands needs.
struct DeviceColumns {
  DeviceColumns(const sortium_record_operands* given, const RecordProblem& p) {
    const auto& c = need(given, "operands");
    for (const auto& m : many(c.columns_in, p.columns.size(), "columns_in"))
      in.push_back(memory_of(m));
    if (c.columns_out != nullptr)
      for (const auto& m : std::span(c.columns_out, p.columns.size())) out.push_back(memory_of(m));
    operands = {in, out, memory_of(c.positions), memory_of(c.scratch), memory_of(c.offsets)};
  }
  std::vector<Memory> in, out;
  RecordOperands operands;
};

// Stores the first `capacity` phases (or all, if there are fewer) in `phases`, and the number of
// all phases in *count.
inline void write_phases(const std::vector<Plan::Phase>& from, sortium_phase* phases,
                         size_t capacity, size_t* count) {
  *count = from.size();
  for (size_t i = 0; i < std::min(capacity, from.size()); ++i)
    phases[i] = {from[i].name.c_str(), from[i].seconds, from[i].launches};
}

}  // namespace sortium::c
