// The key of records as words that hold only the bits in which the records differ. A device finds
// these bits in the records. So a key of several fields is often one word, because ids, kinds and
// times use few of their bits, and a common prefix of strings takes no place.
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
  // True if the key has all bits of this column's elements. Only then unpack() takes it.
  [[nodiscard]] bool has_all_of(unsigned column) const;
  // True if in addition the first word always tells the element, without the record's position.
  [[nodiscard]] bool always_tells(unsigned column) const;

  // Bytes of what the device finds out about the key.
  [[nodiscard]] std::uint64_t table_bytes() const;
  // Where a table says whether word w has bits: a u32.
  [[nodiscard]] Memory used(Memory table, unsigned w) const;

  void build(Device& device, const Capabilities& capabilities);
  // Finds the bits in which records differ, and stores the records' first words. The functions
  // below need the table.
  void pack(Queue& queue, std::span<const Memory> columns, Memory table, Memory words) const;
  // Stores word `w` of the records at `positions`, whose number is the u64 `count`; without these,
  // of all records.
  void pack_some(Queue& queue, std::span<const Memory> columns, Memory table, unsigned w,
                 Memory words, Memory positions, Memory count) const;
  // Stores the sorted elements of a column. `words` are the sorted records' first words. Not in
  // place, unless the first word always tells the element.
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
