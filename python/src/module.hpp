// What the files of the module _native share. It is thin: numbers, addresses, and the library's own
// classes. Package pysortium checks arguments and knows about arrays.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <sortium/sortium.hpp>
#include <string>
#include <utility>

namespace pysortium {

namespace nb = nanobind;

using Address = std::uintptr_t;

inline const void* in(Address a) { return reinterpret_cast<const void*>(a); }
inline void* out(Address a) { return reinterpret_cast<void*>(a); }

// During a sort of so many records, Python's signal handlers run.
inline constexpr std::uint64_t many_records = 1 << 22;

// Calls `work` without the GIL if `work` takes longer than releasing the GIL.
template <class Work>
auto without_gil(std::uint64_t records, const Work& work) {
  constexpr std::uint64_t few_records = 512;
  if (records <= few_records) return work();
  const nb::gil_scoped_release released;
  return work();
}

void bind_problem(nb::module_& m);
void bind_host(nb::module_& m);
void bind_device(nb::module_& m);
void bind_numpy(nb::module_& m);
void bind_dlpack(nb::module_& m);
void bind_distributed(nb::module_& m);
void bind_jax(nb::module_& m);  // only in builds with jaxlib

}  // namespace pysortium
