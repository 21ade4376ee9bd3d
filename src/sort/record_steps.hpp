// What a sort of records does, step by step: computed from the problem, without a device.
#pragma once

#include <sortium/records.hpp>
#include <vector>

#include "../algorithms/algorithm.hpp"
#include "record_words.hpp"

namespace sortium {

// What is done for a problem, known without a device.
struct RecordSteps {
  RecordProblem problem;
  std::vector<Word> words;     // least significant first; none where a column is sorted as it is
  std::vector<Problem> sorts;  // one a word, or the column's
  int key = -1;                // that column
  int value = -1;              // the column that moves with the keys, if there is one
  bool has_positions = true;   // the sorts make the permutation; else nothing is left to gather
  std::vector<unsigned> gathered;  // columns that are
  ScratchLayout layout;
  ScratchLayout::Slice keys, positions, column, inner;
  // Of a limit on several words: the permutation by all but the last word, of all records, and the
  // last word's sorted ones.
  ScratchLayout::Slice all_positions, first_keys;
  Method inner_method;  // of the sorts

  // Throws Error(invalid_argument) for a problem that is not valid, and Error(unsupported) for a
  // method that does not sort records.
  RecordSteps(const RecordProblem& problem, const Capabilities& device, const Method& method);
  RecordSteps(const RecordSteps&) = delete;  // words point into the problem
  RecordSteps& operator=(const RecordSteps&) = delete;

  // Bytes of a position in the permutation.
  [[nodiscard]] unsigned index_bytes() const;

 private:
  void choose_columns();
  [[nodiscard]] Problem sort_of_column() const;
  [[nodiscard]] Problem sort_of_word(std::size_t w) const;
  void lay_out(const Capabilities& device);
  void limit_inner_scratch(std::uint64_t sorting_bytes, std::uint64_t column_bytes);
};

}  // namespace sortium
