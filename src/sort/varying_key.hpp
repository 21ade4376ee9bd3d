// Packs the keys of records into words. The words leave out every bit that is equal in all
// records. A kernel finds these bits. Ids, kinds and times use few of their bits, and a common
// prefix of strings uses none. So one word often holds a key of several fields.
#pragma once

#include <memory>
#include <sortium/device.hpp>
#include <span>
#include <string>
#include <vector>

#include "../algorithms/algorithm.hpp"
#include "record_words.hpp"

namespace sortium {

class VaryingKey {
 public:
  // The problem must outlive this object.
  VaryingKey(const RecordProblem& problem, unsigned position_bytes);
  // True if the key has no more parts and columns than the kernels support.
  [[nodiscard]] bool is_supported() const;
  // The most words that a key needs: as many as if all its bits differed.
  [[nodiscard]] unsigned words() const { return (bits_ + 63) / 64; }
  [[nodiscard]] unsigned bits() const { return bits_; }
  // True if the key contains all bits of this column's elements; unpack() needs this.
  [[nodiscard]] bool has_all_bits_of(unsigned column) const;
  // True if, in addition, the first word always determines the element: the key has one word, and
  // no two bit patterns of the column tie.
  [[nodiscard]] bool is_in_first_word(unsigned column) const;

  // True if values may be tails: the last 32 of the bits that differ. The device decides. If the
  // first words and tails determine all elements, each value is the record's tail, and nothing is
  // gathered. Otherwise it is the record's position. Needs a key of several words that has all bits
  // of all moved columns, and u32 positions that the caller does not want.
  [[nodiscard]] bool may_have_tails() const;

  // Bytes of a `table`, which describes the words of a list: varying_t of varying.cl.
  [[nodiscard]] std::uint64_t table_bytes() const;
  // Returns the u32 within `table` that is 1 if word w has bits, else 0. Valid after pack().
  [[nodiscard]] Memory word_has_bits(Memory table, unsigned w) const;

  void build(Device& device, const Capabilities& capabilities);
  // Fills `table`, and stores the records' first words and, with may_have_tails(), their values:
  // tails or positions. The functions below read the table.
  void pack(Queue& queue, std::span<const Memory> columns, Memory table, Memory words,
            Memory values) const;
  // Stores word `w` of the records with the first *count values; `count` is a u64 on the device.
  void pack_word(Queue& queue, std::span<const Memory> columns, Memory table, unsigned w,
                 Memory words, Memory values, Memory count) const;
  // A column whose sorted elements are stored in `out`. Needs has_all_bits_of(column). `out` may be
  // `in` only if is_in_first_word(column).
  struct Unpacked {
    unsigned column;
    Memory in, out;
  };
  // Stores the sorted elements of these columns. `words` are the sorted records' first words.
  void unpack(Queue& queue, std::span<const Unpacked> columns, Memory words, Memory values,
              Memory table) const;

 private:
  [[nodiscard]] std::string load_text() const;
  [[nodiscard]] std::string full_word_text() const;
  [[nodiscard]] std::string may_tie_text() const;
  // Launches records_pack_varying (varying.cl); its arguments have these names.
  void launch_pack(Queue& queue, std::span<const Memory> columns, Memory table, unsigned w,
                   Memory words, Memory values, Memory count, Memory new_values) const;
  [[nodiscard]] std::string store_text() const;
  [[nodiscard]] std::string store_text(unsigned column) const;

  const RecordProblem& problem_;
  unsigned position_bytes_, bits_ = 0;
  std::vector<WordPart> parts_;    // the most significant first
  std::vector<unsigned> columns_;  // of the parts
  unsigned work_group_ = 0;
  std::uint64_t work_groups_ = 0;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> differ_, lay_out_, pack_, unpack_;
};

}  // namespace sortium
