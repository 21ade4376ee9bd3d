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

#define SORTIUM_SELECT_TARGET(bits)                                                            \
  Counts collect##bits(const std::uint##bits##_t* codes, std::size_t count,                    \
                       std::uint##bits##_t lowest, std::uint##bits##_t highest,                \
                       std::uint##bits##_t* to) {                                              \
    return collect_all_within(codes, count, lowest, highest, to);                              \
  }                                                                                            \
  Counts around##bits(const std::uint##bits##_t* codes, std::size_t count,                     \
                      std::uint##bits##_t code) {                                              \
    return count_all_around(codes, count, code);                                               \
  }                                                                                            \
  std::size_t places##bits(const std::uint##bits##_t* codes, std::size_t count,                \
                           std::uint##bits##_t code, std::uint32_t* places) {                  \
    return all_places_up_to(codes, count, code, places);                                       \
  }
SORTIUM_SELECT_TARGET(32)
SORTIUM_SELECT_TARGET(64)

}  // namespace sortium::sample::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sortium::sample {

#define SORTIUM_SELECT_DISPATCH(bits)                                                          \
  HWY_EXPORT(collect##bits);                                                                   \
  HWY_EXPORT(around##bits);                                                                    \
  HWY_EXPORT(places##bits);                                                                    \
  Counts collect_within(const std::uint##bits##_t* codes, std::size_t count,                   \
                        std::uint##bits##_t lowest, std::uint##bits##_t highest,               \
                        std::uint##bits##_t* to) {                                             \
    return HWY_DYNAMIC_DISPATCH(collect##bits)(codes, count, lowest, highest, to);             \
  }                                                                                            \
  Counts count_around(const std::uint##bits##_t* codes, std::size_t count,                     \
                      std::uint##bits##_t code) {                                              \
    return HWY_DYNAMIC_DISPATCH(around##bits)(codes, count, code);                             \
  }                                                                                            \
  std::size_t places_up_to(const std::uint##bits##_t* codes, std::size_t count,                \
                           std::uint##bits##_t code, std::uint32_t* places) {                  \
    return HWY_DYNAMIC_DISPATCH(places##bits)(codes, count, code, places);                     \
  }
SORTIUM_SELECT_DISPATCH(32)
SORTIUM_SELECT_DISPATCH(64)

}  // namespace sortium::sample
#endif  // HWY_ONCE
