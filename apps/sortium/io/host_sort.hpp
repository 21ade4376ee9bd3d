// std::sort and its kin, and vqsort, to compare the library with.
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
  std::string version;  // of the library that it is from
  bool stable;          // for keys alone
  bool records;         // it sorts keys with values, too, and then always stably
};

[[nodiscard]] const std::vector<Peer>& peers();
// nullptr: it is not the name of a peer.
[[nodiscard]] const Peer* find_peer(std::string_view name);

// A sort of host memory, in the library's order of keys.
class HostSort {
 public:
  virtual ~HostSort() = default;
  // Sorts a fresh copy of the input, and returns the seconds that the sort alone took.
  virtual double run() = 0;
  // Puts the result of the last run where the caller wants it.
  virtual void store() {}
};

// Throws Failure where this build has no parallel algorithms or no Highway, Error(unsupported) for
// what vqsort cannot sort.
[[nodiscard]] std::unique_ptr<HostSort> make_host_sort(const Peer& peer,
                                                       const sortium::Problem& problem,
                                                       const sortium::HostOperands& operands);

// On all cores, where the build has a library for that. For the program's own checks.
template <class Iterator, class Less = std::less<>>
void fast_sort(Iterator first, Iterator last, const Less& less = {}) {
#ifdef SORTIUM_TBB
  std::sort(std::execution::par, first, last, less);
#else
  std::sort(first, last, less);
#endif
}

}  // namespace app
