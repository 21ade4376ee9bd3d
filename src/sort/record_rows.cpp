#include "record_rows.hpp"

#ifdef SORTIUM_WITH_HOST
#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "../algorithms/catalog.hpp"
#include "../algorithms/rows.hpp"
#include "element_copy.hpp"
#include "element_loops.hpp"
#include "record_ties.hpp"
#endif

namespace sortium {

#ifdef SORTIUM_WITH_HOST
namespace {

constexpr unsigned most_row_bytes = 32;  // longer rows gain little, and need much scratch memory
// Fewer records are gathered faster. For a packed key, and for a key that is a column
// (docs/lab-notebook/records.md).
constexpr std::uint64_t least_packed = 1u << 20, least_plain = 1u << 23;

class RecordRows final : public Rows {
 public:
  // `words` are those of the problem's key, least significant first. With empty spans, only
  // count(), row_bytes() and words() may be called.
  RecordRows(const RecordProblem& problem, const std::vector<Word>& words,
             std::span<const Memory> inputs, std::span<const Memory> outputs)
      : RecordRows(problem, words, columns_of(problem, words), inputs, outputs) {}

  void first_words(std::uint64_t begin, std::uint64_t records, std::uint64_t* to) const override {
    std::fill_n(to, records, 0);
    for (const auto& part : key_words_.back().parts) {
      const std::uint64_t stride = problem_.columns[part.column].bytes;
      const std::byte* const from = at(inputs_[part.column]) + begin * stride;
      part.add_to(to, records, [=](std::uint64_t i) { return from + i * stride; });
    }
  }
  void load(std::uint64_t begin, const std::uint32_t* places, std::uint64_t records,
            std::byte* rows) const override {
    in_blocks(records,
              [&](std::uint64_t first, std::uint64_t last, const RowColumn& c, const auto& copy) {
                const std::byte* const from = at(inputs_[c.column]) + begin * copy.size;
                std::byte* const to = rows + c.offset;
                for (std::uint64_t i = first; i < last; ++i)
                  copy(to + i * row_bytes(), from + places[i] * copy.size);
              });
  }
  void words_of(unsigned word, const std::byte* rows, const std::uint32_t* places,
                std::uint64_t records, std::uint64_t* to) const override {
    std::fill_n(to, records, 0);
    for (const auto& part : key_words_[key_words_.size() - 1 - word].parts) {
      const std::byte* const from = rows + offsets_[part.column];
      part.add_to(to, records, [=, stride = std::uint64_t{row_bytes()}](std::uint64_t i) {
        return from + places[i] * stride;
      });
    }
  }
  void store(std::uint64_t begin, const std::byte* rows, const std::uint32_t* places,
             std::uint64_t records) const override {
    in_blocks(records,
              [&](std::uint64_t first, std::uint64_t last, const RowColumn& c, const auto& copy) {
                if (!outputs_[c.column]) return;
                const std::byte* const from = rows + c.offset;
                std::byte* const to = at(outputs_[c.column]) + begin * copy.size;
                for (std::uint64_t i = first; i < last; ++i)
                  copy(to + i * copy.size, from + std::uint64_t{places[i]} * row_bytes());
              });
  }

 private:
  struct RowColumn {
    unsigned column;
    std::uint64_t offset;  // in a row
  };

  RecordRows(const RecordProblem& problem, const std::vector<Word>& words,
             std::vector<RowColumn> columns, std::span<const Memory> inputs,
             std::span<const Memory> outputs)
      : Rows(problem.count,
             static_cast<unsigned>(columns.back().offset +
                                   problem.columns[columns.back().column].bytes),
             static_cast<unsigned>(words.size())),
        problem_(problem),
        key_words_(words),
        columns_(std::move(columns)),
        inputs_(inputs),
        outputs_(outputs) {
    for (const auto& c : columns_) offsets_[c.column] = c.offset;
  }

  // A row has the columns that are moved, and those of which words after the first are made.
  static std::vector<RowColumn> columns_of(const RecordProblem& problem,
                                           const std::vector<Word>& words) {
    std::vector<RowColumn> columns;
    std::uint64_t offset = 0;
    for (unsigned c = 0; c < problem.columns.size(); ++c) {
      bool is_needed = problem.columns[c].moved != Moved::no;
      for (std::size_t w = 0; w + 1 < words.size(); ++w)
        is_needed = is_needed || std::ranges::count(words[w].columns, c) != 0;
      if (!is_needed) continue;
      columns.push_back({c, offset});
      offset += problem.columns[c].bytes;
    }
    return columns;
  }

  // Calls body(first, last, column, copy of an element) for blocks of records and each column. A
  // block of rows stays in the nearest cache.
  template <class Body>
  void in_blocks(std::uint64_t records, const Body& body) const {
    constexpr std::uint64_t together = 512;
    for (std::uint64_t first = 0; first < records; first += together)
      for (const auto& c : columns_)
        with_copy(problem_.columns[c.column].bytes, [&](const auto& copy) {
          body(first, std::min(first + together, records), c, copy);
        });
  }

  const RecordProblem& problem_;
  const std::vector<Word>& key_words_;
  std::vector<RowColumn> columns_;
  std::array<std::uint64_t, 64> offsets_{};  // of each column in a row
  std::span<const Memory> inputs_, outputs_;
};

}  // namespace

bool record_rows::suits(const RecordProblem& problem, const Capabilities& device,
                        const Method& method) {
  if (!record_ties::suits(problem, device, method) || problem.position_bytes != 0) return false;
  if (problem.count < (plain_column(problem) < 0 ? least_packed : least_plain)) return false;
  const auto words = words_of(problem.key);
  return (words.size() > 1 || words[0].bits > most_counted_bits) &&
         RecordRows(problem, words, {}, {}).row_bytes() <= most_row_bytes;
}

std::uint64_t record_rows::scratch_bytes(const RecordProblem& problem) {
  const auto words = words_of(problem.key);
  return catalog::sample_rows_scratch(RecordRows(problem, words, {}, {}), host::all_threads());
}

bool record_rows::sort(Queue& queue, const RecordProblem& problem, std::span<const Memory> inputs,
                       std::span<const Memory> outputs, Memory scratch) {
  host::Threads threads(host::all_threads());
  std::vector<Word> words;
  std::optional<RecordRows> rows;
  try {
    threads.start();
    host::register_thread();
    words = words_of(problem.key);
    rows.emplace(problem, words, inputs, outputs);
  } catch (const std::exception&) {  // no memory or no threads
    return false;
  }
  bool sorted = false;
  threads.run([&] { sorted = catalog::sample_rows(queue, *rows, threads.count(), scratch); });
  return sorted;
}
#else
bool record_rows::suits(const RecordProblem&, const Capabilities&, const Method&) { return false; }
std::uint64_t record_rows::scratch_bytes(const RecordProblem&) { return 0; }
bool record_rows::sort(Queue&, const RecordProblem&, std::span<const Memory>,
                       std::span<const Memory>, Memory) {
  return false;
}
#endif

}  // namespace sortium
