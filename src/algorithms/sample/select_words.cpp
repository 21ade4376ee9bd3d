// This file includes itself: so Highway compiles it once for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "algorithms/sample/select_words.cpp"
#include "select_words.hpp"

#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace sortium::sample::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class Code>
Counts collect_all_within(const Code* HWY_RESTRICT codes, std::size_t count, Code lowest,
                          Code highest, Code* HWY_RESTRICT to) {
  const hn::ScalableTag<Code> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto low = hn::Set(d, lowest), span = hn::Set(d, static_cast<Code>(highest - lowest));
  Counts found;
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto v = hn::LoadU(d, codes + i);
    found.below += hn::CountTrue(d, hn::Lt(v, low));
    const auto within = hn::Le(hn::Sub(v, low), span);
    if (hn::AllFalse(d, within)) continue;
    found.second += hn::CompressBlendedStore(v, within, d, to + found.second);
  }
  for (; i < count; ++i) {
    found.below += codes[i] < lowest;
    if (static_cast<Code>(codes[i] - lowest) <= static_cast<Code>(highest - lowest))
      to[found.second++] = codes[i];
  }
  return found;
}

template <class Code>
Counts count_all_around(const Code* HWY_RESTRICT codes, std::size_t count, Code code) {
  const hn::ScalableTag<Code> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto middle = hn::Set(d, code);
  Counts found;
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto v = hn::LoadU(d, codes + i);
    found.below += hn::CountTrue(d, hn::Lt(v, middle));
    found.second += hn::CountTrue(d, hn::Eq(v, middle));
  }
  for (; i < count; ++i) {
    found.below += codes[i] < code;
    found.second += codes[i] == code;
  }
  return found;
}

template <class Code>
std::size_t all_places_up_to(const Code* HWY_RESTRICT codes, std::size_t count, Code code,
                             std::uint32_t* HWY_RESTRICT places) {
  const hn::ScalableTag<Code> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto most = hn::Set(d, code);
  std::size_t found = 0, i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto wanted = hn::Le(hn::LoadU(d, codes + i), most);
    if (hn::AllFalse(d, wanted)) continue;
    if constexpr (sizeof(Code) == 4) {
      found += hn::CompressBlendedStore(hn::Iota(d, i), wanted, d, places + found);
      continue;
    }
    std::uint8_t bytes[8] = {};  // a bit for each lane, the first lane the lowest
    hn::StoreMaskBits(d, wanted, bytes);
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes, sizeof bits);
    for (; bits != 0; bits &= bits - 1)
      places[found++] = static_cast<std::uint32_t>(i + hwy::Num0BitsBelowLS1Bit_Nonzero64(bits));
  }
  for (; i < count; ++i) {
    places[found] = static_cast<std::uint32_t>(i);
    found += codes[i] <= code;
  }
  return found;
}

template <class Code>
Counts split_all_places(const Code* HWY_RESTRICT codes, std::size_t count, Code code,
                        Code* HWY_RESTRICT places) {
  const Counts counts = count_all_around(codes, count, code);
  Code *below = places, *equal = below + counts.below, *above = equal + counts.second;
  const hn::ScalableTag<Code> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto middle = hn::Set(d, code), step = hn::Set(d, static_cast<Code>(lanes));
  auto at = hn::Iota(d, 0);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes, at = hn::Add(at, step)) {
    const auto v = hn::LoadU(d, codes + i);
    below += hn::CompressBlendedStore(at, hn::Lt(v, middle), d, below);
    above += hn::CompressBlendedStore(at, hn::Gt(v, middle), d, above);
    const auto is_equal = hn::Eq(v, middle);
    if (!hn::AllFalse(d, is_equal)) equal += hn::CompressBlendedStore(at, is_equal, d, equal);
  }
  for (; i < count; ++i)
    *(codes[i] < code ? below : codes[i] == code ? equal : above)++ = static_cast<Code>(i);
  return counts;
}

template <class Code>
std::size_t count_all_heads(const Code* HWY_RESTRICT codes, std::size_t count, Code before) {
  if (count == 0) return 0;
  const hn::ScalableTag<Code> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t found = codes[0] != before, i = 1;
  for (; i + lanes <= count; i += lanes)
    found += hn::CountTrue(d, hn::Ne(hn::LoadU(d, codes + i), hn::LoadU(d, codes + i - 1)));
  for (; i < count; ++i) found += codes[i] != codes[i - 1];
  return found;
}

template <class Code>
std::size_t copy_all_heads(const Code* HWY_RESTRICT codes, const Code* HWY_RESTRICT keys,
                           std::size_t count, Code before, Code* HWY_RESTRICT to) {
  if (count == 0) return 0;
  const hn::ScalableTag<Code> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t found = 0, i = 1;
  if (codes[0] != before) to[found++] = keys[0];
  for (; i + lanes <= count; i += lanes) {
    const auto is_head = hn::Ne(hn::LoadU(d, codes + i), hn::LoadU(d, codes + i - 1));
    found += hn::CompressBlendedStore(hn::LoadU(d, keys + i), is_head, d, to + found);
  }
  for (; i < count; ++i)
    if (codes[i] != codes[i - 1]) to[found++] = keys[i];
  return found;
}

}  // namespace sortium::sample::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sortium::sample {

template <class Code>
Counts collect_within(const Code* codes, std::size_t count, Code lowest, Code highest, Code* to) {
  HWY_EXPORT_T(CollectWithin, collect_all_within<Code>);
  return HWY_DYNAMIC_DISPATCH_T(CollectWithin)(codes, count, lowest, highest, to);
}
template <class Code>
Counts count_around(const Code* codes, std::size_t count, Code code) {
  HWY_EXPORT_T(CountAround, count_all_around<Code>);
  return HWY_DYNAMIC_DISPATCH_T(CountAround)(codes, count, code);
}
template <class Code>
std::size_t places_up_to(const Code* codes, std::size_t count, Code code, std::uint32_t* places) {
  HWY_EXPORT_T(PlacesUpTo, all_places_up_to<Code>);
  return HWY_DYNAMIC_DISPATCH_T(PlacesUpTo)(codes, count, code, places);
}
template <class Code>
Counts split_places(const Code* codes, std::size_t count, Code code, Code* places) {
  HWY_EXPORT_T(SplitPlaces, split_all_places<Code>);
  return HWY_DYNAMIC_DISPATCH_T(SplitPlaces)(codes, count, code, places);
}

template <class Code>
std::size_t count_heads(const Code* codes, std::size_t count, Code before) {
  HWY_EXPORT_T(CountHeads, count_all_heads<Code>);
  return HWY_DYNAMIC_DISPATCH_T(CountHeads)(codes, count, before);
}
template <class Code>
std::size_t copy_heads(const Code* codes, const Code* keys, std::size_t count, Code before,
                       Code* to) {
  HWY_EXPORT_T(CopyHeads, copy_all_heads<Code>);
  return HWY_DYNAMIC_DISPATCH_T(CopyHeads)(codes, keys, count, before, to);
}

#define SORTIUM_SELECT_WORDS(bits)                                                                \
  template Counts collect_within(const std::uint##bits##_t*, std::size_t, std::uint##bits##_t,    \
                                 std::uint##bits##_t, std::uint##bits##_t*);                      \
  template Counts count_around(const std::uint##bits##_t*, std::size_t, std::uint##bits##_t);     \
  template std::size_t places_up_to(const std::uint##bits##_t*, std::size_t, std::uint##bits##_t, \
                                    std::uint32_t*);                                              \
  template Counts split_places(const std::uint##bits##_t*, std::size_t, std::uint##bits##_t,      \
                               std::uint##bits##_t*);                                             \
  template std::size_t count_heads(const std::uint##bits##_t*, std::size_t, std::uint##bits##_t); \
  template std::size_t copy_heads(const std::uint##bits##_t*, const std::uint##bits##_t*,         \
                                  std::size_t, std::uint##bits##_t, std::uint##bits##_t*);
SORTIUM_SELECT_WORDS(32)
SORTIUM_SELECT_WORDS(64)

}  // namespace sortium::sample
#endif  // HWY_ONCE
