#include <fmt/format.h>

#include "algorithm.hpp"
#include "catalog.hpp"

namespace sortium {

const std::vector<const Algorithm*>& registry() {
  static const std::vector<const Algorithm*> algorithms{
      &catalog::bitonic(),
      &catalog::bitonic_local(),
#ifdef SORTIUM_WITH_HOST
      &catalog::counting(),
#endif
      &catalog::lsd(),
      &catalog::merge(),
      &catalog::merge_in_place(),
      &catalog::merge_local(),
      &catalog::msd(),
      &catalog::odd_even(),
      &catalog::one_cluster(),
      &catalog::one_group(),
      &catalog::onesweep(),
      &catalog::radix(),
      &catalog::radix_simd(),
#ifdef SORTIUM_WITH_HOST
      &catalog::sample(),
      &catalog::sample_in_place(),
#endif
      &catalog::segmented(),
#ifdef SORTIUM_WITH_HOST
      &catalog::segmented_host(),
#endif
      &catalog::selection(),
      &catalog::selection_blocks(),
      &catalog::selection_local(),
      &catalog::topk(),
      &catalog::topk_segmented(),
#ifdef SORTIUM_WITH_HOST
      &catalog::topk_host(),
      &catalog::topk_segmented_host(),
#endif
  };
  return algorithms;
}

const Algorithm& find_algorithm(std::string_view name) {
  std::string names = "auto";
  for (const auto* a : registry()) {
    if (a->info().name == name) return *a;
    names += ", " + a->info().name;
  }
  throw Error(ErrorCode::not_found, fmt::format("no algorithm '{}'; there are {}", name, names));
}

}  // namespace sortium
