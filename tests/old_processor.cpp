// SORTIUM_TEST_OLD_PROCESSOR=1: cpu:0 uses the instructions of a processor without AVX2. It then
// has none of the sorts of x86-simd-sort, as on AMD's first processors with AVX-512.
#include <hwy/targets.h>

#include "support.hpp"

namespace {

[[maybe_unused]] const bool is_old = [] {
  if (!sortium::test::is_set("SORTIUM_TEST_OLD_PROCESSOR")) return false;
  hwy::DisableTargets(~HWY_SSE2);
  return true;
}();

}  // namespace
