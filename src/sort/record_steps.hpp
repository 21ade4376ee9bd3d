// The steps of a sort of records, computed from the problem without using the device.
#pragma once

#include <optional>
#include <sortium/records.hpp>
#include <vector>

#include "../algorithms/algorithm.hpp"
#include "device_ties.hpp"
#include "record_words.hpp"
#include "varying_key.hpp"

namespace sortium {

// The steps for one problem.
struct RecordSteps {
  RecordProblem problem;
  std::vector<Word> words;  // least significant first; empty if the key is a whole column
  bool moves_rows = false;  // if that is worth it: record_rows
  bool sorts_ties = false;  // by the first word, then only records that tie: record_ties
  // If set, these sort instead of `words`, on devices and for long lists: by words of the bits in
  // which records differ, and after the first word only records that tie.
  std::optional<VaryingKey> varying;
  std::optional<TieSteps> ties;
  std::vector<Problem> sorts;      // one for each word, or one for the first word or whole column
  int key = -1;                    // the column that is the whole key; -1: none
  int value = -1;                  // the column that moves with the keys; -1: none
  bool has_positions = true;       // the sorts produce positions, by which columns are gathered
  std::vector<unsigned> gathered;  // columns to gather
  std::vector<unsigned> unpacked;  // columns to compute from the sorted words: only of `varying`
  ScratchLayout layout;
  ScratchLayout::Slice keys, positions, column, inner;  // inner: of a sort, or of the ties
  ScratchLayout::Slice table;                           // of `varying`
  // For a limit with several words: the permutation of all records after all sorts but the last,
  // and the first records of the last sort.
  ScratchLayout::Slice all_positions, first_keys;
  Method inner_method;  // algorithm and parameters of each sort

  // Throws Error(invalid_argument) for an invalid problem, and Error(unsupported) for a method that
  // does not sort records.
  RecordSteps(const RecordProblem& problem, const Capabilities& device, const Method& method);
  RecordSteps(const RecordSteps&) = delete;  // words point into the problem
  RecordSteps& operator=(const RecordSteps&) = delete;

  // Bytes of one position.
  [[nodiscard]] unsigned index_bytes() const;

 private:
  void choose_columns();
  [[nodiscard]] Problem sort_of_column() const;
  [[nodiscard]] Problem sort_of_word(std::size_t w, Backend backend) const;
  [[nodiscard]] Problem sort_of_varying() const;
  void lay_out(const Capabilities& device);
  void lay_out_varying(const Capabilities& device);
  void limit_inner_scratch(std::uint64_t sorting_bytes, std::uint64_t column_bytes);
};

}  // namespace sortium
