// What the C functions share: handles, errors, and conversions between the structures of C and C++.
#pragma once

#include <sortium/sortium.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <sortium/sortium.hpp>
#include <span>
#include <string>
#include <vector>

struct sortium_device {
  std::shared_ptr<sortium::Device> device;
};
struct sortium_queue {
  std::unique_ptr<sortium::Queue> queue;
};

namespace sortium::c {

// Stores the message and log that sortium_last_error and sortium_last_log return.
sortium_status failed(const std::exception& error);

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

template <class T>
T& need(T* pointer, const char* name) {
  if (pointer == nullptr) throw Error(ErrorCode::invalid_argument, std::string(name) + " is null");
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

// A span of `count` elements. `first` may be null if `count` is 0.
template <class T>
std::span<const T> many(const T* first, size_t count, const char* name) {
  if (count != 0) need(first, name);
  return {first, count};
}

// Stores the first `capacity` phases (or all, if there are fewer) in `phases`, and the number of
// all phases in *count.
inline void write_phases(const std::vector<Plan::Phase>& from, sortium_phase* phases,
                         size_t capacity, size_t* count) {
  *count = from.size();
  for (size_t i = 0; i < std::min(capacity, from.size()); ++i)
    phases[i] = {from[i].name.c_str(), from[i].seconds, from[i].launches};
}

}  // namespace sortium::c
