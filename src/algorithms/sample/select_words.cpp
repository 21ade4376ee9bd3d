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

// Codes as vectors. Those at `whole` and behind it do not fill a vector.
template <class Code>
struct Lanes {
  explicit Lanes(Codes<Code> c) : codes(c), lanes(hn::Lanes(d)), whole(c.count / lanes * lanes) {}

  [[nodiscard]] HWY_INLINE auto vector(std::size_t i) const {
    return hn::Xor(hn::LoadU(d, codes.words + i), hn::Set(d, codes.flip));
  }
  [[nodiscard]] Code code(std::size_t i) const {
    return static_cast<Code>(codes.words[i] ^ codes.flip);
  }

  hn::ScalableTag<Code> d;
  Codes<Code> codes;
  std::size_t lanes, whole;
};

// Writes the lanes of the mask to `to`, and after them what is there until the vector ends.
template <class D, class V, class M>
HWY_INLINE std::size_t store_lanes(D d, V v, M mask, hn::TFromD<D>* to) {
  hn::StoreU(hn::Compress(v, mask), d, to);
  return hn::CountTrue(d, mask);
}

template <class Code>
Counts collect_all_within(Codes<Code> codes, Code lowest, Code highest, Code* HWY_RESTRICT to) {
  const Lanes<Code> in(codes);
  const auto d = in.d;
  const auto low = hn::Set(d, lowest), span = hn::Set(d, static_cast<Code>(highest - lowest));
  Counts found;
  for (std::size_t i = 0; i < in.whole; i += in.lanes) {
    const auto v = in.vector(i);
    found.below += hn::CountTrue(d, hn::Lt(v, low));
    const auto within = hn::Le(hn::Sub(v, low), span);
    if (hn::AllFalse(d, within)) continue;
    found.second += store_lanes(d, v, within, to + found.second);
  }
  for (std::size_t i = in.whole; i < codes.count; ++i) {
    const Code code = in.code(i);
    found.below += code < lowest;
    if (static_cast<Code>(code - lowest) <= static_cast<Code>(highest - lowest))
      to[found.second++] = code;
  }
  return found;
}

template <class Code>
Counts count_all_around(Codes<Code> codes, Code code) {
  const Lanes<Code> in(codes);
  const auto d = in.d;
  const auto middle = hn::Set(d, code);
  Counts found;
  for (std::size_t i = 0; i < in.whole; i += in.lanes) {
    const auto v = in.vector(i);
    found.below += hn::CountTrue(d, hn::Lt(v, middle));
    found.second += hn::CountTrue(d, hn::Eq(v, middle));
  }
  for (std::size_t i = in.whole; i < codes.count; ++i) {
    found.below += in.code(i) < code;
    found.second += in.code(i) == code;
  }
  return found;
}

template <class Code>
std::size_t all_places_up_to(Codes<Code> codes, Code code, std::uint32_t* HWY_RESTRICT places) {
  const Lanes<Code> in(codes);
  const auto d = in.d;
  const auto most = hn::Set(d, code);
  std::size_t found = 0;
  for (std::size_t i = 0; i < in.whole; i += in.lanes) {
    const auto wanted = hn::Le(in.vector(i), most);
    if (hn::AllFalse(d, wanted)) continue;
    if constexpr (sizeof(Code) == 4) {
      found += store_lanes(d, hn::Iota(d, i), wanted, places + found);
      continue;
    }
    std::uint8_t bytes[8] = {};  // a bit for each lane, the first lane the lowest
    hn::StoreMaskBits(d, wanted, bytes);
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes, sizeof bits);
    for (; bits != 0; bits &= bits - 1)
      places[found++] = static_cast<std::uint32_t>(i + hwy::Num0BitsBelowLS1Bit_Nonzero64(bits));
  }
  for (std::size_t i = in.whole; i < codes.count; ++i) {
    places[found] = static_cast<std::uint32_t>(i);
    found += in.code(i) <= code;
  }
  return found;
}

// Where elements of the three kinds go.
template <class Code>
struct Outputs {
  Output<Code>&below, &equal, &above;
};

// Copies the elements from(i), vectors, and tail(i), single ones, by their codes.
template <class Code, class From, class Tail>
HWY_INLINE void split(Codes<Code> codes, Code code, const From& from, const Tail& tail,
                      Outputs<Code> to) {
  const Lanes<Code> in(codes);
  const auto d = in.d;
  Output<Code> below = to.below, equal = to.equal, above = to.above;
  const auto put = [&](auto v, auto mask, Output<Code>& out) HWY_ATTR {
    // A whole vector may be written where later elements of the same kind will be.
    if (HWY_LIKELY(in.lanes <= static_cast<std::size_t>(out.end - out.next)))
      out.next += store_lanes(d, v, mask, out.next);
    else
      out.next += hn::CompressBlendedStore(v, mask, d, out.next);
  };
  const auto middle = hn::Set(d, code);
  for (std::size_t i = 0; i < in.whole; i += in.lanes) {
    const auto v = in.vector(i), element = from(i);
    const auto is_equal = hn::Eq(v, middle);
    put(element, hn::Lt(v, middle), below);
    put(element, hn::Gt(v, middle), above);
    if (!hn::AllFalse(d, is_equal)) put(element, is_equal, equal);
  }
  for (std::size_t i = in.whole; i < codes.count; ++i) {
    const Code other = in.code(i);
    *(other < code ? below : other == code ? equal : above).next++ = tail(i);
  }
  to.below = below, to.equal = equal, to.above = above;
}

template <class Code>
void split_all_keys(Codes<Code> codes, const Code* keys, Code code, Output<Code>& below,
                    Output<Code>& equal, Output<Code>& above) {
  const hn::ScalableTag<Code> d;
  split(
      codes, code, [&](std::size_t i) HWY_ATTR { return hn::LoadU(d, keys + i); },
      [&](std::size_t i) { return keys[i]; }, {below, equal, above});
}

template <class Code>
Counts split_all_places(Codes<Code> codes, Code code, Code* places) {
  const hn::ScalableTag<Code> d;
  const Counts counts = count_all_around(codes, code);
  Output<Code> below{places, places + counts.below},
      equal{below.end, below.end + counts.second}, above{equal.end, places + codes.count};
  split(
      codes, code, [&](std::size_t i) HWY_ATTR { return hn::Iota(d, i); },
      [](std::size_t i) { return static_cast<Code>(i); }, Outputs<Code>{below, equal, above});
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
Counts collect_within(Codes<Code> codes, Code lowest, Code highest, Code* to) {
  HWY_EXPORT_T(CollectWithin, collect_all_within<Code>);
  return HWY_DYNAMIC_DISPATCH_T(CollectWithin)(codes, lowest, highest, to);
}
template <class Code>
Counts count_around(Codes<Code> codes, Code code) {
  HWY_EXPORT_T(CountAround, count_all_around<Code>);
  return HWY_DYNAMIC_DISPATCH_T(CountAround)(codes, code);
}
template <class Code>
std::size_t places_up_to(Codes<Code> codes, Code code, std::uint32_t* places) {
  HWY_EXPORT_T(PlacesUpTo, all_places_up_to<Code>);
  return HWY_DYNAMIC_DISPATCH_T(PlacesUpTo)(codes, code, places);
}
template <class Code>
void split_keys(Codes<Code> codes, const Code* keys, Code code, Output<Code>& below,
                Output<Code>& equal, Output<Code>& above) {
  HWY_EXPORT_T(SplitKeys, split_all_keys<Code>);
  HWY_DYNAMIC_DISPATCH_T(SplitKeys)(codes, keys, code, below, equal, above);
}
template <class Code>
Counts split_places(Codes<Code> codes, Code code, Code* places) {
  HWY_EXPORT_T(SplitPlaces, split_all_places<Code>);
  return HWY_DYNAMIC_DISPATCH_T(SplitPlaces)(codes, code, places);
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

#define SORTIUM_SELECT_WORDS(Code)                                                               \
  template Counts collect_within(Codes<Code>, Code, Code, Code*);                                \
  template Counts count_around(Codes<Code>, Code);                                               \
  template std::size_t places_up_to(Codes<Code>, Code, std::uint32_t*);                          \
  template void split_keys(Codes<Code>, const Code*, Code, Output<Code>&, Output<Code>&,         \
                           Output<Code>&);                                                       \
  template Counts split_places(Codes<Code>, Code, Code*);
SORTIUM_SELECT_WORDS(std::uint16_t)
SORTIUM_SELECT_WORDS(std::uint32_t)
SORTIUM_SELECT_WORDS(std::uint64_t)
#define SORTIUM_HEADS(Code)                                                                      \
  template std::size_t count_heads(const Code*, std::size_t, Code);                              \
  template std::size_t copy_heads(const Code*, const Code*, std::size_t, Code, Code*);
SORTIUM_HEADS(std::uint32_t)
SORTIUM_HEADS(std::uint64_t)

}  // namespace sortium::sample
#endif  // HWY_ONCE
