// sample's vector code: codes, and words made of them. It is compiled once for each instruction
// set; the program selects one at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace sortium::sample {

// The bits of a rank that a word holds: (rank - lowest) >> shift.
struct Window {
  std::uint64_t lowest = 0;
  unsigned shift = 0;
};

// Maps a key's bits to a code and back. A code is an unsigned number in the key's order. The map is
// invertible: the two zeros have neighbouring codes (see Ties), NaN have the highest codes, and
// each NaN has its own.
//   integers:  key ^ flip;
//   floats:    invert all bits of negative keys, and the sign bit of others; then ^ flip; then
//              subtract `below`, the number of NaN codes that precede all numbers at this point.
//              These codes wrap around and become the highest.
template <class Word>
struct Coding {
  Word flip = 0, below = 0;
  bool is_float = false;
};

// Codes that tie, from the first to the last one.
template <class Word>
struct Tied {
  Word first = 0, last = 0;
};

// The functions exist for words of 2, 4 and 8 bytes; range_of_codes() and what makes or partitions
// words of records, for 4 and 8.

template <class Word>
void encode(const Word* keys, Word* codes, std::size_t count, Coding<Word> coding);
// The same, with one code for all keys that tie: Ties::shared().
template <class Word>
void encode_tied(const Word* keys, Word* codes, std::size_t count, Coding<Word> coding);
// Decodes in place.
template <class Word>
void decode(Word* codes, std::size_t count, Coding<Word> coding);

// Writes words of the keys' codes, in the upper halves, and `values`. If `values` is null, the
// lower halves are first, first + 1, …
void pack(const std::uint32_t* keys, const std::uint32_t* values, std::uint32_t first,
          std::uint64_t* words, std::size_t count, Coding<std::uint32_t> coding);
// Writes the keys and values of such words. `keys` may be null. Values have 4 or 8 bytes.
template <class Value>
void unpack(const std::uint64_t* words, std::uint32_t* keys, Value* values, std::size_t count,
            Coding<std::uint32_t> coding);

// Returns the lowest and the highest of at least one code.
struct CodeRange {
  std::uint64_t lowest, highest;
};
template <class Code>
[[nodiscard]] CodeRange range_of_codes(const Code* codes, std::size_t count);

// Writes words of (code - window.lowest) >> window.shift, above the code's place in the list, which
// has `place_bits` bits. Words have 4 or 8 bytes.
template <class Code, class Word>
void make_words(const Code* codes, Word* words, std::size_t count, Window window,
                unsigned place_bits);

// Sorts in ascending order, not stably. Highway's vqsort: Wassenberg, Blacher, Giesen, Sanders,
// "Vectorized and performance-portable Quicksort" (2022).
template <class Word>
void sort_words(Word* words, std::size_t count);
// Returns the word that a sort would put at position n. Changes the order of the words.
template <class Word>
[[nodiscard]] Word select_word(Word* words, std::size_t count, std::size_t n);
// Sorts words. If all words of 8 bytes lie within 2^32, sorts their differences, of 4 bytes, in
// half of the time.
template <class Code>
void sort_codes(Code* codes, std::size_t count);
// Sorts codes and decodes them. Codes that tie must be equal. Floats of 4 and 8 bytes are sorted as
// such if that is faster (short_sorts.hpp).
template <class Code>
void sort_and_decode(Code* codes, std::size_t count, Coding<Code> coding);
// How floats of 4 or 8 bytes can be sorted without codes.
//
// Copies floats. Returns true if they can be sorted as such, and that is faster: there are neither
// NaN nor zeros of both signs.
template <class Word>
[[nodiscard]] bool copy_plain_floats(const Word* in, Word* out, std::size_t count);
// Copies floats that may have NaN. If all NaN have the same bits, moves them behind the others.
// Returns the number of the others, which can be sorted as floats. Returns nothing if they cannot,
// or if codes are faster. If `in` and `out` are one list, it has then not changed.
template <class Word>
[[nodiscard]] std::optional<std::size_t> copy_numbers(const Word* in, Word* out, std::size_t count);
// Sorts such floats in ascending order.
template <class Word>
void sort_plain_floats(Word* floats, std::size_t count);

// True if partition_in_place() exists on this processor.
[[nodiscard]] bool partitions_in_place();
// Moves the words below `pivot` to the front, not stably, and returns how many they are. If
// `are_floats`, compares plain floats.
template <class Word>
[[nodiscard]] std::size_t partition_in_place(Word* words, std::size_t count, Word pivot,
                                             bool are_floats);

// Stably partitions words by ascending splitters: part k has the words w with splitters[k - 1] <= w
// < splitters[k], and ends at ends[k]. There is one more part than splitters. `spare` has space for
// `count` words. Makes log2(parts) passes over the words, which should fit a core's cache.
template <class Word>
void partition_words(Word* words, std::size_t count, const Word* splitters,
                     std::size_t splitter_count, std::size_t* ends, Word* spare);
// The same for codes with values.
template <class Code, class Value>
void partition_pairs(Code* codes, Value* values, std::size_t count, const Code* splitters,
                     std::size_t splitter_count, std::size_t* ends, Code* spare_codes,
                     Value* spare_values);

}  // namespace sortium::sample
