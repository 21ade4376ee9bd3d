#include "numpy_records.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <sortium/search.hpp>

namespace pysortium {

namespace {

using sortium::KeyType, sortium::Payload, sortium::Problem;

constexpr unsigned word_bits = 64;
constexpr std::size_t most_words = 8;

template <class Float>
bool have_nan(const Plain& x) {
  const auto* const numbers = static_cast<const Float*>(x.data());
  return std::count_if(numbers, numbers + 2 * x.count(),
                       [](Float number) { return std::isnan(number); }) != 0;
}

template <class Bits>
constexpr KeyType type_of = sizeof(Bits) == 1   ? KeyType::u8
                            : sizeof(Bits) == 2 ? KeyType::u16
                            : sizeof(Bits) == 4 ? KeyType::u32
                                                : KeyType::u64;

// Calls body(i, positions[i]) for each i, or body(i, i) if `positions` is null.
template <class Body>
void each(std::size_t count, const std::int64_t* positions, const Body& body) {
  if (positions == nullptr)
    for (std::size_t i = 0; i < count; ++i) body(i, i);
  else
    for (std::size_t i = 0; i < count; ++i) body(i, static_cast<std::size_t>(positions[i]));
}

// Returns `word` moved up by `bits` bits, with `rank` below it.
template <class Bits>
Bits appended(Bits word, std::uint64_t rank, unsigned bits) {
  if (bits >= sizeof(Bits) * 8) return static_cast<Bits>(rank);
  return static_cast<Bits>(static_cast<Bits>(word << bits) | static_cast<Bits>(rank));
}

template <class Key, class Bits>
void append_numbers(std::span<Bits> words, const std::byte* data, std::uint64_t stride,
                    const sortium::KeyTypeInfo& type, const std::int64_t* positions) {
  const auto key_at = [&](std::size_t i) {
    Key key;
    std::memcpy(&key, data + i * stride, sizeof key);
    return key;
  };
  constexpr unsigned bits = sizeof(Key) * 8;
  const auto sign = static_cast<Key>(Key{1} << (bits - 1));
  if (type.is_float) {
    each(words.size(), positions, [&](std::size_t to, std::size_t from) {
      const auto rank = static_cast<Key>(
          sortium::detail::signed_default_order(key_at(from), type.infinity, bits) ^ sign);
      words[to] = appended(words[to], rank, bits);
    });
    return;
  }
  const Key flip = type.is_signed ? sign : Key{0};
  each(words.size(), positions, [&](std::size_t to, std::size_t from) {
    words[to] = appended(words[to], static_cast<Key>(key_at(from) ^ flip), bits);
  });
}

}  // namespace

bool RecordKeys::add(nb::handle x) {
  const Plain array(x);
  if (!array || array.count() == 0 || array.count() >= many_records) return false;
  if (parts_.empty()) count_ = array.count();
  return array.count() == count_ && add_parts(array) && words_.size() <= most_words;
}

bool RecordKeys::add_parts(const Plain& x) {
  const auto* const data = static_cast<const std::byte*>(x.data());
  const std::uint64_t bytes = x.element_bytes();
  if (x.type() == NPY_CFLOAT || x.type() == NPY_CDOUBLE) {
    const bool is_double = x.type() == NPY_CDOUBLE;
    if (is_double ? have_nan<double>(x) : have_nan<float>(x)) return false;
    for (const std::uint64_t part : {std::uint64_t{0}, bytes / 2})
      add_part({data + part, bytes, static_cast<unsigned>(4 * bytes),
                is_double ? KeyType::f64 : KeyType::f32, false});
    return true;
  }
  if (x.type() == NPY_STRING) {
    constexpr std::uint64_t of_word = word_bits / 8;
    if (bytes == 0 || bytes > most_words * of_word) return false;
    for (std::uint64_t at = 0; at < bytes; at += of_word)
      add_part({data + at, bytes, static_cast<unsigned>(8 * std::min(of_word, bytes - at)),
                KeyType::u64, true});
    return true;
  }
  const Keys keys(x, false);
  if (!keys || keys.have_nat()) return false;
  add_part({data, bytes, static_cast<unsigned>(8 * bytes), keys.problem.key, false});
  return true;
}

void RecordKeys::add_part(const Part& part) {
  if (words_.empty() || words_.back().bits + part.bits > word_bits)
    words_.push_back({parts_.size(), parts_.size(), 0});
  parts_.push_back(part);
  words_.back().end = parts_.size();
  words_.back().bits += part.bits;
}

template <class Bits>
void RecordKeys::pack(const Word& word, const std::int64_t* positions, std::span<Bits> to) const {
  std::ranges::fill(to, Bits{0});
  for (std::size_t p = word.first; p < word.end; ++p) add_to(to, parts_[p], positions);
  if (descending_)
    for (auto& w : to) w = static_cast<Bits>(~w);
}

template <class Bits>
void RecordKeys::add_to(std::span<Bits> words, const Part& part,
                        const std::int64_t* positions) const {
  if (part.is_bytes) {
    each(words.size(), positions, [&](std::size_t to, std::size_t from) {
      std::uint64_t text = 0;
      std::memcpy(&text, part.data + from * part.stride, part.bits / 8);
      if constexpr (std::endian::native == std::endian::little) text = __builtin_bswap64(text);
      words[to] = appended(words[to], text >> (word_bits - part.bits), part.bits);
    });
    return;
  }
  const auto& type = sortium::info(part.type);
  switch (type.bytes) {
    case 1:
      return append_numbers<std::uint8_t>(words, part.data, part.stride, type, positions);
    case 2:
      return append_numbers<std::uint16_t>(words, part.data, part.stride, type, positions);
    case 4:
      return append_numbers<std::uint32_t>(words, part.data, part.stride, type, positions);
    default:
      return append_numbers<std::uint64_t>(words, part.data, part.stride, type, positions);
  }
}

// Calls work(words) with the first word of all records, of a type that holds their bits.
template <class Work>
void RecordKeys::with_first_words(const Work& work) const {
  const auto call = [&](auto bits) {
    std::vector<decltype(bits)> words(count_);
    pack(words_[0], nullptr, std::span(words));
    work(words);
  };
  const unsigned bits = words_[0].bits;
  if (bits <= 8)
    call(std::uint8_t{});
  else if (bits <= 16)
    call(std::uint16_t{});
  else if (bits <= 32)
    call(std::uint32_t{});
  else
    call(std::uint64_t{});
}

void RecordKeys::argsort(std::int64_t* positions) const {
  with_first_words([&](auto& words) {
    using Bits = typename std::decay_t<decltype(words)>::value_type;
    const bool may_tie = words_.size() > 1;
    std::vector<Bits> sorted(may_tie ? count_ : 0);
    const Problem p{.key = type_of<Bits>,
                    .count = count_,
                    .payload = Payload::positions,
                    .value_bytes = 8,
                    .keys_out = may_tie};
    sortium::sort_host(p, {words.data(), sorted.data(), nullptr, positions}, on_host);
    if (may_tie) sort_ties(std::span<const Bits>(sorted), positions, 1);
  });
}

void RecordKeys::argpartition(std::uint64_t place, std::int64_t* positions) const {
  with_first_words([&](auto& words) {
    using Bits = typename std::decay_t<decltype(words)>::value_type;
    const Problem p{.key = type_of<Bits>,
                    .count = count_,
                    .payload = Payload::positions,
                    .value_bytes = 8,
                    .keys_out = false};
    sortium::nth_element_host(p, place, {words.data(), nullptr, nullptr, positions}, host);
    if (words_.size() == 1) return;
    const auto word_at = [&](std::uint64_t i) {
      return words[static_cast<std::size_t>(positions[i])];
    };
    std::uint64_t begin = place, end = place + 1;
    while (begin > 0 && word_at(begin - 1) == word_at(place)) --begin;
    while (end < count_ && word_at(end) == word_at(place)) ++end;
    if (end - begin > 1) sort_run({positions + begin, positions + end}, 1);
  });
}

std::vector<std::uint8_t> RecordKeys::heads(const std::int64_t* positions) const {
  std::vector<std::uint8_t> heads(count_);
  std::vector<std::uint64_t> words(count_);
  heads[0] = 1;
  for (const Word& word : words_) {
    pack(word, positions, std::span(words));
    for (std::uint64_t i = 1; i < count_; ++i) heads[i] |= words[i] != words[i - 1];
  }
  return heads;
}

template <class Bits>
void RecordKeys::sort_ties(std::span<const Bits> sorted, std::int64_t* positions,
                           std::size_t word) const {
  for (std::size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
    for (end = begin + 1; end < sorted.size() && sorted[end] == sorted[begin];) ++end;
    if (end - begin > 1) sort_run({positions + begin, positions + end}, word);
  }
}

// Sorts records that tie in all words before `word`.
void RecordKeys::sort_run(std::span<std::int64_t> positions, std::size_t word) const {
  std::array<std::uint64_t, 64> few;
  std::vector<std::uint64_t> many(positions.size() > few.size() ? positions.size() : 0);
  const std::span words(many.empty() ? few.data() : many.data(), positions.size());
  pack(words_[word], positions.data(), words);
  if (words.size() == 2) {  // most runs, if there are few ties
    if (words[1] < words[0]) std::swap(words[0], words[1]), std::swap(positions[0], positions[1]);
  } else {
    const Problem p{
        .key = KeyType::u64, .count = words.size(), .payload = Payload::values, .value_bytes = 8};
    sortium::sort_host(p, {words.data(), words.data(), positions.data(), positions.data()},
                       on_host);
  }
  if (word + 1 < words_.size())
    sort_ties(std::span<const std::uint64_t>(words), positions.data(), word + 1);
}

namespace {

// Stores element positions[i] of `x` at place `i`.
template <class Element>
void take_as(const Plain& x, std::span<const std::int64_t> positions, void* to) {
  const auto* const from = static_cast<const Element*>(x.data());
  std::ranges::transform(positions, static_cast<Element*>(to), [&](std::int64_t position) {
    return from[static_cast<std::size_t>(position)];
  });
}
void take(const Plain& x, std::span<const std::int64_t> positions, void* to) {
  if (x.type() == NPY_CFLOAT) return take_as<std::array<float, 2>>(x, positions, to);
  if (x.type() == NPY_CDOUBLE) return take_as<std::array<double, 2>>(x, positions, to);
  const std::uint64_t bytes = x.element_bytes();
  const auto* const from = static_cast<const std::byte*>(x.data());
  auto* next = static_cast<std::byte*>(to);
  for (const std::int64_t position : positions) {
    std::memcpy(next, from + static_cast<std::uint64_t>(position) * bytes, bytes);
    next += bytes;
  }
}

std::span<std::int64_t> positions_in(const nb::object& array, std::uint64_t count) {
  return {static_cast<std::int64_t*>(data_of(array)), count};
}

}  // namespace

nb::object sort_records(nb::handle x, bool descending) {
  RecordKeys keys;
  if (!keys.add(x)) return nb::none();
  if (descending) keys.descend();
  const Plain array(x);
  nb::object result = array.empty(keys.count());
  without_gil(keys.count(), [&] {
    std::vector<std::int64_t> positions(keys.count());
    keys.argsort(positions.data());
    take(array, positions, data_of(result));
  });
  return result;
}

nb::object argsort_records(nb::handle x, bool descending) {
  RecordKeys keys;
  if (!keys.add(x)) return nb::none();
  if (descending) keys.descend();
  nb::object result = empty_positions(keys.count());
  without_gil(keys.count(), [&] { keys.argsort(positions_in(result, keys.count()).data()); });
  return result;
}

nb::object partition_records(nb::handle x, std::uint64_t place, bool descending, bool positions) {
  RecordKeys keys;
  if (!keys.add(x)) return nb::none();
  if (descending) keys.descend();
  const Plain array(x);
  nb::object result = positions ? empty_positions(keys.count()) : array.empty(keys.count());
  without_gil(keys.count(), [&] {
    if (positions) return keys.argpartition(place, positions_in(result, keys.count()).data());
    std::vector<std::int64_t> order(keys.count());
    keys.argpartition(place, order.data());
    take(array, order, data_of(result));
  });
  return result;
}

nb::object unique_records(nb::handle x, bool indices, bool inverse, bool counts) {
  RecordKeys keys;
  if (!keys.add(x)) return nb::none();
  const Plain array(x);
  const std::uint64_t n = keys.count();
  nb::object values = array.empty(n), firsts = empty_positions(n), where = nb::none(),
             lengths = nb::none();
  if (inverse) where = empty_positions(n);
  if (counts) lengths = empty_positions(n);
  std::uint64_t runs = 0;
  without_gil(n, [&] {
    std::vector<std::int64_t> positions(n);
    keys.argsort(positions.data());
    const auto heads = keys.heads(positions.data());
    const auto first = positions_in(firsts, n);
    std::uint64_t run_begin = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
      if (heads[i] != 0) {
        if (counts && i != 0)
          positions_in(lengths, n)[runs - 1] = static_cast<std::int64_t>(i - run_begin);
        run_begin = i;
        first[runs++] = positions[i];
      }
      if (inverse)
        positions_in(where, n)[static_cast<std::size_t>(positions[i])] =
            static_cast<std::int64_t>(runs - 1);
    }
    if (counts) positions_in(lengths, n)[runs - 1] = static_cast<std::int64_t>(n - run_begin);
    take(array, first.first(runs), data_of(values));
  });
  for (const auto& made : {values, firsts, lengths})
    if (!made.is_none()) shorten(made, runs);
  return nb::make_tuple(values, indices ? firsts : nb::none(), where, lengths);
}

}  // namespace pysortium
