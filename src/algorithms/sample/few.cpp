// Up to 16 records, for whom to set anything up would take longer than to sort: Batcher, "Sorting networks and their
// applications" (1968), in words as sample.cpp has them.
#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "../rooms.hpp"
#include "codes.hpp"

namespace sortium {
namespace {

// Batcher's odd-even merge sort of N words, comparator by comparator: no branch depends on what the words are.
template <std::size_t N>
constexpr auto comparators() {
  std::array<std::pair<std::uint8_t, std::uint8_t>, N == 4 ? 5 : N == 8 ? 19 : 63> out{};
  std::size_t count = 0;
  for (std::size_t run = 1; run < N; run *= 2)
    for (std::size_t distance = run; distance >= 1; distance /= 2)
      for (std::size_t begin = distance % run; begin + distance < N; begin += 2 * distance)
        for (std::size_t i = begin; i < begin + distance && i + distance < N; ++i)
          if (i / (2 * run) == (i + distance) / (2 * run))
            out[count++] = {static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(i + distance)};
  return out;
}

template <std::size_t N, class Word, std::size_t... I>
void run_network(Word* words, std::uint64_t count, std::index_sequence<I...>) {
  constexpr auto pairs = comparators<N>();
  Word w[N];
  for (std::size_t i = 0; i < N; ++i) w[i] = i < count ? words[i] : static_cast<Word>(~Word{0});
  const auto order = [&](std::size_t low, std::size_t high) {
    const Word x = w[low], y = w[high];
    const Word change = static_cast<Word>((x ^ y) & (Word{0} - Word{y < x}));  // compilers make a branch of a minimum
    w[low] = x ^ change;
    w[high] = y ^ change;
  };
  (order(pairs[I].first, pairs[I].second), ...);
  for (std::size_t i = 0; i < N; ++i) words[i] = w[i];  // there is room for N
}
template <std::size_t N, class Word>
void run_network(Word* words, std::uint64_t count) {
  run_network<N>(words, count, std::make_index_sequence<comparators<N>().size()>());
}

template <class Word>
void sort_few_words(Word* words, std::uint64_t count) {
  if (count <= 4) run_network<4>(words, count);
  else if (count <= 8) run_network<8>(words, count);
  else run_network<16>(words, count);
}

// Keys whose code is all there is of them.
template <class Key>
void sort_few_keys(const Key* in, Key* out, std::uint64_t count, Key flip) {
  Key codes[rooms::fewest];
  for (std::uint64_t i = 0; i < count; ++i) codes[i] = in[i] ^ flip;
  sort_few_words(codes, count);
  for (std::uint64_t i = 0; i < count; ++i) out[i] = codes[i] ^ flip;
}

template <class T>
void gather_few(const std::uint64_t* words, const T* in, T* out, std::uint64_t count) {
  T gathered[rooms::fewest];
  for (std::uint64_t i = 0; i < count; ++i) gathered[i] = in != nullptr ? in[words[i] % 256] : static_cast<T>(words[i] % 256);
  for (std::uint64_t i = 0; i < count; ++i) out[i] = gathered[i];
}

template <class Key>
void sort_by_network(const Problem& p, const Key* keys, Key* keys_out, const void* values, void* values_out, bool codes_do) {
  if (codes_do) return sort_few_keys(keys, keys_out, p.count, sample::coding_of<Key>(p).flip);
  // Words of the rank, of 32 bits at most, and the position below.
  const KeyRank rank(p);
  std::uint64_t words[rooms::fewest];
  for (std::uint64_t i = 0; i < p.count; ++i) words[i] = rank(keys[i]) << 8 | i;
  sort_few_words(words, p.count);
  if (p.keys_out) gather_few(words, keys, keys_out, p.count);
  if (p.payload == Payload::none) return;
  if (p.payload == Payload::positions) values = nullptr;
  if (p.value_bytes == 4)
    gather_few(words, static_cast<const std::uint32_t*>(values), static_cast<std::uint32_t*>(values_out), p.count);
  else
    gather_few(words, static_cast<const std::uint64_t*>(values), static_cast<std::uint64_t*>(values_out), p.count);
}

}  // namespace

bool rooms::sample_fewest(const Problem& p, const void* keys_in, void* keys_out, const void* values_in, void* values_out) {
  const auto& type = info(p.key);
  const bool codes_do = p.payload == Payload::none && !type.is_float && key_bits(p) == type.bits();
  if (p.count > fewest || (!codes_do && key_bits(p) > 32)) return false;
  const auto sort = [&]<class Key>(Key) {
    sort_by_network(p, static_cast<const Key*>(keys_in), static_cast<Key*>(keys_out), values_in, values_out, codes_do);
  };
  switch (type.bytes) {
    case 1: sort(std::uint8_t{}); break;
    case 2: sort(std::uint16_t{}); break;
    case 4: sort(std::uint32_t{}); break;
    default: sort(std::uint64_t{}); break;
  }
  return true;
}

}  // namespace sortium
