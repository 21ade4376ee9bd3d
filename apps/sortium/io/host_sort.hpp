// Sorts of other libraries on the host, to compare with: std::sort, std::stable_sort, vqsort.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>
#ifdef SORTIUM_TBB
#include <execution>
#endif

#include <sortium/sortium.hpp>

namespace app {

struct Peer {
  std::string_view name, title;
  std::string version;  // version of the library that it belongs to
  bool stable;          // keys alone are sorted stably
  bool records;         // it also sorts keys with values, always stably
};

[[nodiscard]] const std::vector<Peer>& peers();
// Returns nullptr if no peer has this name.
[[nodiscard]] const Peer* find_peer(std::string_view name);

// A sort of host memory, in the library's order of keys.
class HostSort {
 public:
  virtual ~HostSort() = default;
  // Sorts a fresh copy of the input, and returns the seconds that the sort alone took.
  virtual double run() = 0;
  // Writes the result of the last run to the operands.
  virtual void store() {}
};

// Makes a sort of these operands. Throws Failure if this build has no parallel algorithms (TBB) or
// no Highway, and Error(unsupported) if vqsort cannot sort the problem.
[[nodiscard]] std::unique_ptr<HostSort> make_host_sort(const Peer& peer,
                                                       const sortium::Problem& problem,
                                                       const sortium::HostOperands& operands);

// Sorts on all cores if the build has TBB, else on one. For the program's own checks.
template <class Iterator, class Less = std::less<>>
void fast_sort(Iterator first, Iterator last, const Less& less = {}) {
#ifdef SORTIUM_TBB
  std::sort(std::execution::par, first, last, less);
#else
  std::sort(first, last, less);
#endif
}

// Calls body(element) for every element, likewise.
template <class Iterator, class Body>
void fast_for_each(Iterator first, Iterator last, const Body& body) {
#ifdef SORTIUM_TBB
  std::for_each(std::execution::par, first, last, body);
#else
  std::for_each(first, last, body);
#endif
}

}  // namespace app
