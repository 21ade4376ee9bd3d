// Records of plain NumPy arrays: complex numbers, strings of bytes, and rows of several arrays.
#pragma once

#include <span>
#include <vector>

#include "numpy.hpp"

namespace pysortium {

// The keys of records as words of up to 64 bits that compare as the records do, the most
// significant word first. Records are sorted by the first word; those that tie, by the next one.
class RecordKeys {
 public:
  // Adds a key that is less significant than those before it. Returns false if the array needs the
  // general path: it is not plain, has another number of elements, elements of another kind, or a
  // NaN or NaT, or there are too many words.
  bool add(nb::handle x);
  [[nodiscard]] std::uint64_t count() const { return count_; }
  void descend() { descending_ = true; }

  // Stores the positions of the sorted records; the sort is stable.
  void argsort(std::int64_t* positions) const;
  // Stores the positions of all records. The one at `place` is the one that a sort would put there:
  // those of smaller records come before it, in their order, and of larger ones after it. Records
  // that tie with it in the first word are sorted.
  void argpartition(std::uint64_t place, std::int64_t* positions) const;
  // Returns for each record of this order 1 if it differs from the record before it, else 0.
  [[nodiscard]] std::vector<std::uint8_t> heads(const std::int64_t* positions) const;

 private:
  // A part of an element that is compared as a number, or as up to 8 bytes.
  struct Part {
    const std::byte* data;
    std::uint64_t stride;
    unsigned bits;
    sortium::KeyType type;
    bool is_bytes;
  };
  // Neighbouring parts that fill one word.
  struct Word {
    std::size_t first, end;
    unsigned bits;
  };

  bool add_parts(const Plain& x);
  void add_part(const Part& part);
  template <class Bits>
  void pack(const Word& word, const std::int64_t* positions, std::span<Bits> to) const;
  template <class Bits>
  void add_to(std::span<Bits> words, const Part& part, const std::int64_t* positions) const;
  template <class Work>
  void with_first_words(const Work& work) const;
  template <class Bits>
  void sort_ties(std::span<const Bits> sorted, std::int64_t* positions, std::size_t word) const;
  void sort_run(std::span<std::int64_t> positions, std::size_t word) const;

  std::vector<Part> parts_;
  std::vector<Word> words_;
  std::uint64_t count_ = 0;
  bool descending_ = false;
};

// The functions of complex numbers and strings of bytes. They return None if RecordKeys::add()
// does not take `x`.
[[nodiscard]] nb::object sort_records(nb::handle x, bool descending);
[[nodiscard]] nb::object argsort_records(nb::handle x, bool descending);
[[nodiscard]] nb::object partition_records(nb::handle x, std::uint64_t place, bool descending,
                                           bool positions);
[[nodiscard]] nb::object unique_records(nb::handle x, bool indices, bool inverse, bool counts);

}  // namespace pysortium
