// Sorts rows with all cores (rows.hpp).
#include "../catalog.hpp"
#include "partition.hpp"
#include "row_steps.hpp"

namespace sortium {
namespace {

using namespace sample;

// Looks at some records. Returns false if the first words are in order or in runs, for which other
// sorts are faster, or if keys have several words and one first word is so frequent that a thread
// would sort too many rows alone.
bool rows_are_faster(const Rows& rows, unsigned threads) {
  constexpr std::uint64_t samples = 1024, together = 16;
  std::uint64_t words[samples], falls = 0;
  Positions positions(Positions::splitters_seed);
  for (std::uint64_t i = 0; i < samples; i += together) {
    rows.first_words(positions.next(rows.count() - together), together, words + i);
    for (std::uint64_t k = i + 1; k < i + together; ++k) falls += words[k] < words[k - 1] ? 1 : 0;
  }
  if (falls < samples / 8 || falls > samples - samples / 8) return false;
  if (rows.words() == 1) return true;
  sort_words(words, samples);
  std::uint64_t longest = 0;
  for (std::uint64_t i = 0, next = 0; i < samples; i = next) {
    for (next = i + 1; next < samples && words[next] == words[i];) ++next;
    longest = std::max(longest, next - i);
  }
  return longest <= std::max<std::uint64_t>(2, samples / (std::uint64_t{8} * threads));
}

template <bool has_one_word>
bool sort_rows(Queue& queue, const Rows& rows, const RowLayout& layout, Memory scratch) {
  const Ranks ranks(layout.sizes.problem, true);
  Operands operands;
  operands.scratch = scratch;
  const Context context{layout.sizes, ranks, operands};
  RowSteps<has_one_word> steps(rows, layout, context);
  Partition partition(context, steps);
  partition.divide(queue);
  if (!steps.has_memory()) return false;
  partition.sort(queue);
  return true;
}

}  // namespace

std::uint64_t catalog::sample_rows_scratch(const Rows& rows, unsigned threads) {
  return RowLayout(rows, threads).sizes.scratch.bytes();
}

bool catalog::sample_rows(Queue& queue, const Rows& rows, unsigned threads, Memory scratch) {
  bool worth_it = false;
  host::call(queue, "look", [&] { worth_it = rows_are_faster(rows, threads); });
  if (!worth_it) return false;
  const RowLayout layout(rows, threads);
  return rows.words() == 1 ? sort_rows<true>(queue, rows, layout, scratch)
                           : sort_rows<false>(queue, rows, layout, scratch);
}

}  // namespace sortium
