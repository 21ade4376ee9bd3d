#ifdef SORTIUM_WITH_HOST
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <type_traits>

#include "companions_host.hpp"
#include "companions_host_loops.hpp"

namespace sortium::on_host {

namespace {

// Searches sorted keys for several needles at once: while one search waits for a key from memory,
// the others go on. No step has a branch that depends on keys.
template <class Key, class IsBefore, class Needle, class Place>
void search_together(const Key* keys, std::uint64_t count, const Needle* needles,
                     std::uint64_t needle_count, const IsBefore& is_before, Place* places) {
  constexpr std::uint64_t together = 16;
  std::uint64_t at[together];
  const auto search = [&](std::uint64_t first, auto some) {
    std::fill_n(at, some, 0);
    std::uint64_t left = count;
    for (; left > 1; left -= left / 2)
      for (std::uint64_t i = 0; i < some; ++i)
        at[i] += (left / 2) &
                 (0 - std::uint64_t{is_before(keys[at[i] + left / 2 - 1], needles[first + i])});
    for (std::uint64_t i = 0; i < some; ++i)
      places[first + i] = static_cast<Place>(
          at[i] + std::uint64_t{left == 1 && is_before(keys[at[i]], needles[first + i])});
  };
  std::uint64_t first = 0;
  for (; first + together <= needle_count; first += together)
    search(first, std::integral_constant<std::uint64_t, together>{});
  search(first, needle_count - first);
}

// The places of needles in keys that the processor compares as `Number`: integers, and floats with
// NaN last and tied zeros. `Number` has the size of Key.
template <class Number, class Key, class Place>
void search_numbers(const Problem& problem, const Key* keys, const Key* needles,
                    std::uint64_t count, Bound bound, Place* places) {
  const auto number = [](Key key) { return std::bit_cast<Number>(key); };
  const bool down = problem.order == Order::descending;
  const auto find = [&](const auto& is_before) {
    search_together(
        keys, problem.count, needles, count,
        [&](Key key, Key needle) { return is_before(number(key), number(needle)); }, places);
  };
  if (bound == Bound::lower && !down) find([](Number x, Number y) { return x < y; });
  if (bound == Bound::lower && down) find([](Number x, Number y) { return x > y; });
  if (bound == Bound::upper && !down) find([](Number x, Number y) { return x <= y; });
  if (bound == Bound::upper && down) find([](Number x, Number y) { return x >= y; });
  if constexpr (std::is_floating_point_v<Number>) {
    // All numbers come before a NaN, which compares as false.
    const auto numbers = std::partition_point(keys, keys + problem.count,
                                              [&](Key key) { return !std::isnan(number(key)); }) -
                         keys;
    for (std::uint64_t i = 0; i < count; ++i)
      if (std::isnan(number(needles[i])))
        places[i] = static_cast<Place>(bound == Bound::lower ? static_cast<std::uint64_t>(numbers)
                                                             : problem.count);
  }
}

// True if the processor compares such keys as numbers: search_numbers().
bool are_numbers(const Problem& problem) {
  const auto& type = info(problem.key);
  return type.is_float ? sample::has_codes(problem) && type.bytes >= 4
                       : key_bits(problem) == type.bits();
}

template <class Key, class Place>
void search_numbers_of(const Problem& problem, const Key* keys, const Key* needles,
                       std::uint64_t count, Bound bound, Place* places) {
  const auto& type = info(problem.key);
  if constexpr (sizeof(Key) >= 4)
    if (type.is_float) {
      using Float = std::conditional_t<sizeof(Key) == 4, float, double>;
      return search_numbers<Float>(problem, keys, needles, count, bound, places);
    }
  if (type.is_signed)
    search_numbers<std::make_signed_t<Key>>(problem, keys, needles, count, bound, places);
  else
    search_numbers<Key>(problem, keys, needles, count, bound, places);
}

// Stores the places of needles, by the ranks of keys and needles.
template <class Key, class Place, class Rank>
void search_ranks(const Key* keys, std::uint64_t key_count, const Key* needles, std::uint64_t count,
                  Bound bound, const Rank& rank_of, Place* places) {
  constexpr std::uint64_t step = 256;
  std::uint64_t ranks[step];
  for (std::uint64_t i = 0; i < count; i += step) {
    const std::uint64_t some = std::min(step, count - i);
    std::transform(needles + i, needles + i + some, ranks, rank_of);
    search_together(
        keys, key_count, static_cast<const std::uint64_t*>(ranks), some,
        [&](Key key, std::uint64_t rank) {
          return bound == Bound::upper ? rank_of(key) <= rank : rank_of(key) < rank;
        },
        places + i);
  }
}

// Stores the places of needles of 16 bits that have codes, as floats do.
template <class Place>
void search_codes(const Problem& problem, const std::uint16_t* keys, const std::uint16_t* needles,
                  std::uint64_t count, Bound bound, Place* places) {
  using Key = std::uint16_t;
  constexpr std::uint64_t few_keys = 2048, needle_keys = 4;
  const auto coding = sample::coding_of<Key>(problem);
  const auto code = [=](Key key) {
    return sample::Ties<Key>::shared(sample::code_of(key, coding));
  };
  if (problem.count > std::min(few_keys, needle_keys * count))
    return search_ranks(keys, problem.count, needles, count, bound, code, places);
  Key codes[few_keys];
  sample::encode_tied(keys, static_cast<Key*>(codes), problem.count, coding);
  const Problem of_codes{.key = KeyType::u16, .count = problem.count};
  constexpr std::uint64_t step = 1024;
  Key wanted[step];
  for (std::uint64_t i = 0; i < count; i += step) {
    const std::uint64_t some = std::min(step, count - i);
    sample::encode_tied(needles + i, static_cast<Key*>(wanted), some, coding);
    search_numbers<Key>(of_codes, static_cast<const Key*>(codes), static_cast<const Key*>(wanted),
                        some, bound, places + i);
  }
}

template <class Key, class Place>
void search_keys(const Problem& problem, const Key* keys, const Key* needles, std::uint64_t count,
                 Bound bound, Place* places) {
  if (are_numbers(problem)) return search_numbers_of(problem, keys, needles, count, bound, places);
  if constexpr (sizeof(Key) == 2)
    if (sample::has_codes(problem))
      return search_codes(problem, keys, needles, count, bound, places);
  search_ranks(keys, problem.count, needles, count, bound, KeyRank(problem), places);
}

// From this number of 8-bit needles on, the places of all 256 possible keys are found first.
constexpr std::uint64_t many_needle_bytes = 256;

// Stores the place of each key, by counting the keys.
template <class Place>
void count_places(const Problem& problem, const std::uint8_t* keys, Bound bound, Place* place_of) {
  const KeyRank rank_of(problem);
  std::uint64_t up_to[257] = {};  // summed up, how many keys have a lower rank
  for (std::uint64_t i = 0; i < problem.count; ++i) ++up_to[rank_of(keys[i]) + 1];
  std::partial_sum(std::begin(up_to), std::end(up_to), std::begin(up_to));
  for (unsigned key = 0; key < 256; ++key)
    place_of[key] = static_cast<Place>(up_to[rank_of(key) + (bound == Bound::upper ? 1 : 0)]);
}

template <class Place>
void search_bytes(const Problem& problem, const std::uint8_t* keys, const std::uint8_t* needles,
                  std::uint64_t count, Bound bound, Place* places) {
  constexpr std::uint64_t few_keys = 1024;
  Place place_of[256];
  if (problem.count <= few_keys) {
    count_places(problem, keys, bound, place_of);
  } else {
    std::uint8_t all[256];
    std::iota(std::begin(all), std::end(all), std::uint8_t{0});
    search_keys(problem, keys, static_cast<const std::uint8_t*>(all), 256, bound, place_of);
  }
  std::transform(needles, needles + count, places,
                 [&](std::uint8_t needle) { return place_of[needle]; });
}

}  // namespace

void search(const Problem& problem, std::uint64_t needle_count, Bound bound,
            const SearchPlan::Operands& o) {
  with_key(problem, [&](auto key, auto) {
    using Key = decltype(key);
    const auto *const keys = at<const Key>(o.keys), *const needles = at<const Key>(o.needles);
    with_number(problem.value_bytes, [&](auto place) {
      auto* const places = at<decltype(place)>(o.places);
      in_pieces(needle_count, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
        const std::uint64_t count = end - begin;
        if constexpr (sizeof(Key) == 1)
          if (count >= many_needle_bytes)
            return search_bytes(problem, keys, needles + begin, count, bound, places + begin);
        search_keys(problem, keys, needles + begin, count, bound, places + begin);
      });
    });
  });
}

}  // namespace sortium::on_host
#endif
