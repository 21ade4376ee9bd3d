// What the C functions have in common: handles, errors, and the way from C's structures to C++'s
// and back.
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

// Keeps what sortium_last_error and sortium_last_log say.
sortium_status failed(const std::exception& error);

// No exception leaves the library through its C functions.
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
sortium_problem c_problem(const Problem& problem);
// All else as sortium_problem_init has it.
sortium_problem c_problem(sortium_key_type key, uint64_t count, sortium_order order);
Method method_of(const sortium_options* options);
Options options_of(const sortium_options* options);
Capabilities capabilities_of(const sortium_capabilities* capabilities);
sortium_capabilities c_capabilities(const Capabilities& capabilities);

inline std::string text(const char* given, const char* otherwise) {
  return given ? given : otherwise;
}
inline Memory memory_of(const sortium_memory& m) { return {m.handle, m.offset, m.bytes}; }

// `count` elements; null is fine where there are none.
template <class T>
std::span<const T> many(const T* first, size_t count, const char* name) {
  if (count != 0) need(first, name);
  return {first, count};
}

// As many as there is room for; `count` says how many there are.
inline void write_phases(const std::vector<Plan::Phase>& from, sortium_phase* phases, size_t room,
                         size_t* count) {
  *count = from.size();
  for (size_t i = 0; i < std::min(room, from.size()); ++i)
    phases[i] = {from[i].name.c_str(), from[i].seconds, from[i].launches};
}

}  // namespace sortium::c
