// This file includes itself: so Highway compiles it once for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "algorithms/sample/select_words.cpp"
#include "select_words.hpp"

#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <cstring>

#include "codes.hpp"

HWY_BEFORE_NAMESPACE();
namespace sortium::sample::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Stores the lanes of `mask`, one after the other, and returns their number. Writes nothing else:
// what lies behind them may be another thread's.
template <class D, class V, class M>
HWY_INLINE std::size_t store_selected(D d, V v, M mask, hn::TFromD<D>* to) {
#if HWY_ARCH_X86
  return hn::CompressBlendedStore(v, mask, d, to);
#else
  // Arm's instruction sets would load, blend and store a whole vector.
  hn::TFromD<D> selected[hn::MaxLanes(D())];
  const std::size_t count = hn::CountTrue(d, mask);
  hn::StoreU(hn::Compress(v, mask), d, selected);
  std::memcpy(to, selected, count * sizeof *to);
  return count;
#endif
}

// Codes as vectors, computed from the keys: code_of(). Those at `whole` and behind it do not fill a
// vector.
template <class Word, bool are_floats>
struct Lanes {
  explicit Lanes(Coded<Word> c) : in(c), lanes(hn::Lanes(d)), whole(c.count / lanes * lanes) {}

  [[nodiscard]] HWY_INLINE auto vector(std::size_t i) const {
    const auto key = hn::LoadU(d, in.keys + i);
    const Word flip = in.coding.flip;
    if constexpr (!are_floats) return hn::Xor(key, hn::Set(d, flip));
    constexpr int top = sizeof(Word) * 8 - 1;
    const hn::RebindToSigned<decltype(d)> as_signed;
    const auto is_negative = hn::BitCast(d, hn::ShiftRight<top>(hn::BitCast(as_signed, key)));
    const auto flips = hn::IfVecThenElse(is_negative, hn::Set(d, static_cast<Word>(~flip)),
                                         hn::Set(d, static_cast<Word>(flip ^ Word{1} << top)));
    return hn::Sub(hn::Xor(key, flips), hn::Set(d, in.coding.below));
  }
  [[nodiscard]] Word code(std::size_t i) const { return code_of(in.keys[i], in.coding); }

  hn::ScalableTag<Word> d;
  Coded<Word> in;
  std::size_t lanes, whole;
};

// Calls body(lanes) with the codes of keys of this kind.
template <class Word, class Body>
HWY_INLINE auto with_lanes(Coded<Word> in, const Body& body) {
  return in.coding.is_float ? body(Lanes<Word, true>(in)) : body(Lanes<Word, false>(in));
}

// Writes the lanes that `mask` selects to `to`. Overwrites a whole vector there: the elements
// behind these lanes become arbitrary.
template <class D, class V, class M>
HWY_INLINE void store_lanes(D d, V v, M mask, hn::TFromD<D>* to) {
  hn::StoreU(hn::Compress(v, mask), d, to);
}

template <class Word>
Counts collect_all_within(Coded<Word> keys, Word lowest, Word highest, Word* HWY_RESTRICT to) {
  return with_lanes(keys, [=](const auto& in) HWY_ATTR {
    const auto d = in.d;
    const std::size_t lanes = in.lanes;
    const auto low = hn::Set(d, lowest), span = hn::Set(d, static_cast<Word>(highest - lowest));
    Counts found;
    const auto store = [&](auto v, auto within) HWY_ATTR {
      store_lanes(d, v, within, to + found.second);
      found.second += hn::CountTrue(d, within);
    };
    std::size_t i = 0;
    // Few branches, because a processor predicts badly which vectors have such codes.
    for (; i + 4 * lanes <= in.whole; i += 4 * lanes) {
      const auto a = in.vector(i), b = in.vector(i + lanes), c = in.vector(i + 2 * lanes),
                 e = in.vector(i + 3 * lanes);
      found.below += hn::CountTrue(d, hn::Lt(a, low)) + hn::CountTrue(d, hn::Lt(b, low)) +
                     hn::CountTrue(d, hn::Lt(c, low)) + hn::CountTrue(d, hn::Lt(e, low));
      const auto within_a = hn::Le(hn::Sub(a, low), span), within_b = hn::Le(hn::Sub(b, low), span),
                 within_c = hn::Le(hn::Sub(c, low), span), within_e = hn::Le(hn::Sub(e, low), span);
      if (hn::AllFalse(d, hn::Or(hn::Or(within_a, within_b), hn::Or(within_c, within_e)))) continue;
      store(a, within_a);
      store(b, within_b);
      store(c, within_c);
      store(e, within_e);
    }
    for (; i < in.whole; i += lanes) {
      const auto v = in.vector(i);
      found.below += hn::CountTrue(d, hn::Lt(v, low));
      store(v, hn::Le(hn::Sub(v, low), span));
    }
    for (; i < in.in.count; ++i) {
      const Word code = in.code(i);
      found.below += code < lowest;
      if (static_cast<Word>(code - lowest) <= static_cast<Word>(highest - lowest))
        to[found.second++] = code;
    }
    return found;
  });
}

template <class Word>
Counts count_all_around(Coded<Word> keys, Tied<Word> tied) {
  return with_lanes(keys, [=](const auto& in) HWY_ATTR {
    const auto d = in.d;
    const auto first = hn::Set(d, tied.first),
               span = hn::Set(d, static_cast<Word>(tied.last - tied.first));
    Counts found;
    for (std::size_t i = 0; i < in.whole; i += in.lanes) {
      const auto v = in.vector(i);
      found.below += hn::CountTrue(d, hn::Lt(v, first));
      found.second += hn::CountTrue(d, hn::Le(hn::Sub(v, first), span));
    }
    for (std::size_t i = in.whole; i < in.in.count; ++i) {
      const Word code = in.code(i);
      found.below += code < tied.first;
      found.second += code >= tied.first && code <= tied.last;
    }
    return found;
  });
}

template <class Word>
std::size_t all_places_up_to(Coded<Word> keys, Word most, std::uint32_t* HWY_RESTRICT places) {
  return with_lanes(keys, [=](const auto& in) HWY_ATTR {
    const auto d = in.d;
    std::size_t found = 0;
    for (std::size_t i = 0; i < in.whole; i += in.lanes) {
      const auto wanted = hn::Le(in.vector(i), hn::Set(d, most));
      if (hn::AllFalse(d, wanted)) continue;
      if constexpr (sizeof(Word) == 4) {
        store_lanes(d, hn::Iota(d, i), wanted, places + found);
        found += hn::CountTrue(d, wanted);
        continue;
      }
      std::uint8_t bytes[8] = {};  // a bit for each lane, the first lane the lowest
      hn::StoreMaskBits(d, wanted, bytes);
      std::uint64_t bits = 0;
      std::memcpy(&bits, bytes, sizeof bits);
      for (; bits != 0; bits &= bits - 1)
        places[found++] = static_cast<std::uint32_t>(i + hwy::Num0BitsBelowLS1Bit_Nonzero64(bits));
    }
    for (std::size_t i = in.whole; i < in.in.count; ++i) {
      places[found] = static_cast<std::uint32_t>(i);
      found += in.code(i) <= most;
    }
    return found;
  });
}

// Appends each element to the output of its code's range. element(i) returns a vector, tail(i) one
// element.
template <class In, class Word, class Element, class Tail>
HWY_INLINE void split(const In& in, Tied<Word> tied, const Element& element, const Tail& tail,
                      Outputs<Word>& outputs) {
  const auto d = in.d;
  const std::size_t lanes = in.lanes;
  // Copies whose address is not taken, so that the compiler keeps them in registers.
  Word *below = outputs.below.next, *equal = outputs.equal.next, *above = outputs.above.next;
  Word *const below_end = outputs.below.end, *const equal_end = outputs.equal.end,
              *const above_end = outputs.above.end;
  const auto put = [=](auto v, auto mask, Word* to, Word* end) HWY_ATTR {
    // A whole vector may be written where later elements of the same kind will be.
    if (HWY_LIKELY(lanes <= static_cast<std::size_t>(end - to)))
      store_lanes(d, v, mask, to);
    else
      store_selected(d, v, mask, to);
  };
  const auto first = hn::Set(d, tied.first),
             span = hn::Set(d, static_cast<Word>(tied.last - tied.first));
  for (std::size_t i = 0; i < in.whole; i += lanes) {
    const auto v = in.vector(i), e = element(i);
    const auto is_below = hn::Lt(v, first), is_equal = hn::Le(hn::Sub(v, first), span);
    const std::size_t count_below = hn::CountTrue(d, is_below);
    put(e, is_below, below, below_end);
    below += count_below;
    if (HWY_LIKELY(hn::AllFalse(d, is_equal))) {
      put(e, hn::Not(is_below), above, above_end);
      above += lanes - count_below;
      continue;
    }
    const std::size_t count_equal = hn::CountTrue(d, is_equal);
    put(e, is_equal, equal, equal_end);
    equal += count_equal;
    put(e, hn::Not(hn::Or(is_below, is_equal)), above, above_end);
    above += lanes - count_below - count_equal;
  }
  for (std::size_t i = in.whole; i < in.in.count; ++i) {
    const Word code = in.code(i);
    if (code < tied.first)
      *below++ = tail(i);
    else if (code <= tied.last)
      *equal++ = tail(i);
    else
      *above++ = tail(i);
  }
  outputs.below.next = below, outputs.equal.next = equal, outputs.above.next = above;
}

template <class Word>
void split_all_keys(Coded<Word> keys, Tied<Word> tied, Outputs<Word>* to) {
  const hn::ScalableTag<Word> d;
  with_lanes(keys, [&](const auto& in) HWY_ATTR {
    split(
        in, tied, [&](std::size_t i) HWY_ATTR { return hn::LoadU(d, keys.keys + i); },
        [&](std::size_t i) { return keys.keys[i]; }, *to);
  });
}

template <class Word>
void split_all_positions(Coded<Word> keys, Tied<Word> tied, Word first, Outputs<Word>* to) {
  const hn::ScalableTag<Word> d;
  with_lanes(keys, [&](const auto& in) HWY_ATTR {
    split(
        in, tied, [&](std::size_t i) HWY_ATTR { return hn::Iota(d, first + i); },
        [&](std::size_t i) { return static_cast<Word>(first + i); }, *to);
  });
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
    found += store_selected(d, hn::LoadU(d, keys + i), is_head, to + found);
  }
  for (; i < count; ++i)
    if (codes[i] != codes[i - 1]) to[found++] = keys[i];
  return found;
}

}  // namespace sortium::sample::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sortium::sample {

template <class Word>
Counts collect_within(Coded<Word> in, Word lowest, Word highest, Word* to) {
  HWY_EXPORT_T(CollectWithin, collect_all_within<Word>);
  return HWY_DYNAMIC_DISPATCH_T(CollectWithin)(in, lowest, highest, to);
}
template <class Word>
Counts count_around(Coded<Word> in, Tied<Word> tied) {
  HWY_EXPORT_T(CountAround, count_all_around<Word>);
  return HWY_DYNAMIC_DISPATCH_T(CountAround)(in, tied);
}
template <class Word>
std::size_t places_up_to(Coded<Word> in, Word most, std::uint32_t* places) {
  HWY_EXPORT_T(PlacesUpTo, all_places_up_to<Word>);
  return HWY_DYNAMIC_DISPATCH_T(PlacesUpTo)(in, most, places);
}
template <class Word>
void split_keys(Coded<Word> in, Tied<Word> tied, Outputs<Word>& to) {
  HWY_EXPORT_T(SplitKeys, split_all_keys<Word>);
  HWY_DYNAMIC_DISPATCH_T(SplitKeys)(in, tied, &to);
}
template <class Word>
void split_positions(Coded<Word> in, Tied<Word> tied, Word first, Outputs<Word>& to) {
  HWY_EXPORT_T(SplitPositions, split_all_positions<Word>);
  HWY_DYNAMIC_DISPATCH_T(SplitPositions)(in, tied, first, &to);
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

#define SORTIUM_SELECT_WORDS(Word)                                      \
  template Counts collect_within(Coded<Word>, Word, Word, Word*);       \
  template Counts count_around(Coded<Word>, Tied<Word>);                \
  template std::size_t places_up_to(Coded<Word>, Word, std::uint32_t*); \
  template void split_keys(Coded<Word>, Tied<Word>, Outputs<Word>&);    \
  template void split_positions(Coded<Word>, Tied<Word>, Word, Outputs<Word>&);
SORTIUM_SELECT_WORDS(std::uint16_t)
SORTIUM_SELECT_WORDS(std::uint32_t)
SORTIUM_SELECT_WORDS(std::uint64_t)
#define SORTIUM_HEADS(Code)                                         \
  template std::size_t count_heads(const Code*, std::size_t, Code); \
  template std::size_t copy_heads(const Code*, const Code*, std::size_t, Code, Code*);
SORTIUM_HEADS(std::uint32_t)
SORTIUM_HEADS(std::uint64_t)

}  // namespace sortium::sample
#endif  // HWY_ONCE
