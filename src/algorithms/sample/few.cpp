// Sorts up to 16 records. Setting up `sample` would take longer than sorting them. A sorting
// network sorts integers without values: Batcher, "Sorting networks and their applications" (1968).
// Comparison counting sorts all other records; it is stable and can compare ranks of 64 bits:
// Knuth, "The Art of Computer Programming", volume 3, section 5.2, algorithm C.
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "../catalog.hpp"

namespace sortium {
namespace {

// Returns the comparators of Batcher's odd-even merge sort of N codes.
template <std::size_t N>
constexpr auto comparators() {
  std::array<std::pair<std::uint8_t, std::uint8_t>, N == 2   ? 1
                                                    : N == 4 ? 5
                                                    : N == 8 ? 19
                                                             : 63>
      out{};
  std::size_t count = 0;
  for (std::size_t run = 1; run < N; run *= 2)
    for (std::size_t distance = run; distance >= 1; distance /= 2)
      for (std::size_t begin = distance % run; begin + distance < N; begin += 2 * distance)
        for (std::size_t i = begin; i < begin + distance && i + distance < N; ++i)
          if (i / (2 * run) == (i + distance) / (2 * run))
            out[count++] = {static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(i + distance)};
  return out;
}

template <std::size_t N, class Key, std::size_t... I>
void run_network(const Key* in, Key* out, std::uint64_t count, Key flip,
                 std::index_sequence<I...>) {
  constexpr auto pairs = comparators<N>();
  std::array<Key, N> codes;
  for (std::size_t i = 0; i < N; ++i)
    codes[i] = static_cast<Key>(i < count ? in[i] ^ flip : ~Key{0});
  const auto order = [&](std::size_t low, std::size_t high) {
    const Key x = codes[low], y = codes[high];
    const Key change = static_cast<Key>(
        (x ^ y) & (Key{0} - Key{y < x}));  // without min(), which compilers turn into a branch
    codes[low] = x ^ change;
    codes[high] = y ^ change;
  };
  (order(pairs[I].first, pairs[I].second), ...);
  for (std::size_t i = 0; i < N; ++i)
    if (i < count) out[i] = codes[i] ^ flip;
}
template <std::size_t N, class Key>
void run_network(const Key* in, Key* out, std::uint64_t count, Key flip) {
  run_network<N>(in, out, count, flip, std::make_index_sequence<comparators<N>().size()>());
}

// Sorts keys without values whose code is key ^ flip.
template <class Key>
void sort_few_codes(const Key* in, Key* out, std::uint64_t count, Key flip) {
  if (count <= 2)
    run_network<2>(in, out, count, flip);
  else if (count <= 4)
    run_network<4>(in, out, count, flip);
  else if (count <= 8)
    run_network<8>(in, out, count, flip);
  else
    run_network<16>(in, out, count, flip);
}

template <class T, std::size_t N>
void place_few(const std::array<std::size_t, N>& places, const T* in, T* out, std::uint64_t count) {
  std::array<T, N> placed;  // in may be out
  for (std::size_t i = 0; i < N; ++i)
    if (i < count) placed[places[i]] = in != nullptr ? in[i] : static_cast<T>(i);
  for (std::size_t i = 0; i < N; ++i)
    if (i < count) out[i] = placed[i];
}

// Returns the position of each record: the number of records before it. Compares each pair of
// records without a branch.
template <std::size_t N>
std::array<std::size_t, N> places_of(const std::array<std::uint64_t, N>& ranks) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto place = [&](std::size_t i) {
      return (std::size_t{0} + ... +
              std::size_t{I < i ? ranks[I] <= ranks[i] : ranks[I] < ranks[i]});
    };
    return std::array<std::size_t, N>{place(I)...};
  }
  (std::make_index_sequence<N>{});
}

template <std::size_t N, class Key>
void sort_few_by_rank(const Problem& p, const KeyRank& rank, const Key* keys, Key* keys_out,
                      const void* values, void* values_out) {
  std::array<std::uint64_t, N> ranks;
  for (std::size_t i = 0; i < N; ++i) ranks[i] = i < p.count ? rank(keys[i]) : ~std::uint64_t{0};
  const auto places = places_of(ranks);
  if (p.keys_out) place_few(places, keys, keys_out, p.count);
  if (p.payload == Payload::none) return;
  if (p.payload == Payload::positions) values = nullptr;
  const auto place = [&]<class Value>(Value) {
    place_few(places, static_cast<const Value*>(values), static_cast<Value*>(values_out), p.count);
  };
  if (p.value_bytes == 4)
    place(std::uint32_t{});
  else
    place(std::uint64_t{});
}

template <class Key>
void sort_fewest(const Problem& p, const void* keys_in, void* keys_out, const void* values_in,
                 void* values_out) {
  const auto in = static_cast<const Key*>(keys_in);
  const auto out = static_cast<Key*>(keys_out);
  const auto& type = info(p.key);
  if (p.payload == Payload::none && !type.is_float && key_bits(p) == type.bits())
    return sort_few_codes(in, out, p.count, static_cast<Key>(order_bits(0, p)));
  const KeyRank rank(p);
  if (p.count <= 4)
    sort_few_by_rank<4>(p, rank, in, out, values_in, values_out);
  else if (p.count <= 8)
    sort_few_by_rank<8>(p, rank, in, out, values_in, values_out);
  else
    sort_few_by_rank<16>(p, rank, in, out, values_in, values_out);
}

}  // namespace

void catalog::sample_fewest(const Problem& p, const void* keys_in, void* keys_out,
                            const void* values_in, void* values_out) {
  switch (info(p.key).bytes) {
    case 1:
      return sort_fewest<std::uint8_t>(p, keys_in, keys_out, values_in, values_out);
    case 2:
      return sort_fewest<std::uint16_t>(p, keys_in, keys_out, values_in, values_out);
    case 4:
      return sort_fewest<std::uint32_t>(p, keys_in, keys_out, values_in, values_out);
    default:
      return sort_fewest<std::uint64_t>(p, keys_in, keys_out, values_in, values_out);
  }
}

}  // namespace sortium
