// Packs the key of records into words that leave out leading bits in which no records differ. The
// device finds these bits. A key of several fields is often one word then, because ids, kinds and
// times use few of their bits, and a common prefix of strings takes no bits.
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
  // True if the kernels take as many parts and columns as this key has.
  [[nodiscard]] bool is_supported() const;
  // Words that hold the key if all its bits differ.
  [[nodiscard]] unsigned words() const { return (bits_ + 63) / 64; }
  [[nodiscard]] unsigned bits() const { return bits_; }
  // True if the key has all bits of this column's elements; unpack() needs this.
  [[nodiscard]] bool has_all_of(unsigned column) const;
  // True if, in addition, the first word alone always determines the element.
  [[nodiscard]] bool always_tells(unsigned column) const;

  // Bytes of a `table`: what the device finds out about the key (varying_t of varying.cl).
  [[nodiscard]] std::uint64_t table_bytes() const;
  // Returns the u32 of `table` that is 1 if word w has bits, else 0.
  [[nodiscard]] Memory used(Memory table, unsigned w) const;

  void build(Device& device, const Capabilities& capabilities);
  // Finds the bits in which records differ, and stores the records' first words. The functions
  // below need the table.
  void pack(Queue& queue, std::span<const Memory> columns, Memory table, Memory words) const;
  // Stores word `w` of the records at the first *count `positions` (`count`: a u64 on the device),
  // or of all records if both are empty.
  void pack_word(Queue& queue, std::span<const Memory> columns, Memory table, unsigned w,
                 Memory words, Memory positions, Memory count) const;
  // Stores the sorted elements of a column. `words` are the sorted records' first words. `out`
  // may be `in` only if always_tells(column).
  void unpack(Queue& queue, unsigned column, Memory in, Memory out, Memory words, Memory positions,
              Memory table) const;

 private:
  [[nodiscard]] std::string load_text() const;
  [[nodiscard]] std::string full_word_text() const;
  [[nodiscard]] std::string store_text() const;
  [[nodiscard]] std::string store_text(unsigned column) const;

  const RecordProblem& problem_;
  unsigned position_bytes_, bits_ = 0;
  std::vector<WordPart> parts_;    // the most significant first
  std::vector<unsigned> columns_;  // of the parts
  unsigned work_group_ = 0;
  std::uint64_t groups_ = 0;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> differ_, places_, pack_, unpack_;
};

}  // namespace sortium
