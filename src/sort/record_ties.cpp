#include "record_ties.hpp"

#ifdef SORTIUM_WITH_HOST
#include <algorithm>

#include "../algorithms/catalog.hpp"
#include "element_loops.hpp"
#include "validate.hpp"
#endif

namespace sortium {

#ifdef SORTIUM_WITH_HOST
namespace {

constexpr std::uint64_t single_thread_records = 1u
                                                << 15;  // records of a group that one thread sorts
constexpr std::uint64_t block = 1u << 14;  // records whose groups a thread takes at a time
constexpr std::uint64_t inserted = 16;     // insertion sort up to this many records

Problem problem_of_group(std::uint64_t count, unsigned position_bytes) {
  return {.key = KeyType::u64,
          .count = count,
          .payload = Payload::values,
          .value_bytes = position_bytes};
}

std::uint64_t sort_scratch_bytes(unsigned position_bytes) {
  return ceil_div(
             catalog::sample_few_scratch(problem_of_group(single_thread_records, position_bytes)),
             64) *
         64;
}
// Bytes of a thread's own memory: for the words of a group, and for the scratch memory of its sort.
std::uint64_t own_bytes(unsigned position_bytes) {
  return single_thread_records * 8 + sort_scratch_bytes(position_bytes);
}

template <class Position>
class TieSort {
 public:
  TieSort(const RecordProblem& problem, const std::vector<Word>& words,
          const record_ties::Operands& o)
      : problem_(problem),
        words_(words),
        operands_(o),
        first_(reinterpret_cast<std::uint64_t*>(at(o.first_words))),
        positions_(reinterpret_cast<Position*>(at(o.positions))) {}

  void run(Queue& queue) {
    if (problem_.count <= single_thread_records)
      return sort_groups(queue, 0, problem_.count, words_.size() - 1);
    host::Threads threads(host::all_threads());
    try {
      threads.start();
      host::register_thread();
      threads_ = threads.count();
    } catch (const std::exception&) {  // no memory or no threads: the calling thread sorts
      return sort_groups(queue, 0, problem_.count, words_.size() - 1);
    }
    threads.run([&] { sort_groups(queue, 0, problem_.count, words_.size() - 1); });
  }

 private:
  // Records [begin, end) are sorted by all words but the `words_left` least significant ones.
  // first_ has the last word by which they were sorted: records in which it is equal are a group.
  // Sorts each group by the words that are left.
  void sort_groups(Queue& queue, std::uint64_t begin, std::uint64_t end, std::size_t words_left) {
    if (words_left == 0) return;
    const auto in_block = [&](std::uint64_t b) {
      sort_short_groups(begin, begin + b * block, std::min(begin + (b + 1) * block, end), end,
                        words_left);
    };
    host::call(queue, "ties", [&] { each(ceil_div(end - begin, block), in_block); });
    // A longer group contains one of every `single_thread_records` records, so only these are
    // looked at. Sorting the group overwrites its words in first_; the search goes on behind it.
    std::uint64_t from = begin;
    for (std::uint64_t i = begin; i < end; i += single_thread_records) {
      if (i < from) continue;
      const auto [low, high] = std::equal_range(first_ + from, first_ + end, first_[i]);
      if (static_cast<std::uint64_t>(high - low) <= single_thread_records) continue;
      from = static_cast<std::uint64_t>(high - first_);
      sort_long_group(queue, static_cast<std::uint64_t>(low - first_), from, words_left);
    }
  }

  // Calls body(i) for each i < count, in parallel if there are several threads. It may call it
  // twice for the same i.
  template <class Body>
  void each(std::uint64_t count, const Body& body) const {
    const auto some = [&](const tbb::blocked_range<std::uint64_t>& range) {
      for (auto i = range.begin(); i != range.end(); ++i) body(i);
    };
    const tbb::blocked_range<std::uint64_t> all(0, count);
    if (threads_ == 1)
      some(all);
    else
      host::repeatable_for(all, some);
  }

  void sort_long_group(Queue& queue, std::uint64_t begin, std::uint64_t end,
                       std::size_t words_left) {
    host::call(queue, "pack", [&] {
      each(ceil_div(end - begin, block), [&](std::uint64_t b) {
        const std::uint64_t from = begin + b * block;
        pack(positions_ + from, std::min(block, end - from), words_left, first_ + from);
      });
    });
    const Memory words = operands_.first_words.slice(begin * 8, (end - begin) * 8);
    const Memory positions =
        operands_.positions.slice(begin * sizeof(Position), (end - begin) * sizeof(Position));
    catalog::sample_in_arena(queue, problem_of_group(end - begin, sizeof(Position)), threads_,
                             {words, words, positions, positions, operands_.scratch});
    sort_groups(queue, begin, end, words_left - 1);
  }

  // Sorts the groups of at most `single_thread_records` records that begin in [begin, end). The
  // sorted records are [first, last). Does not change first_, which other threads read.
  void sort_short_groups(std::uint64_t first, std::uint64_t begin, std::uint64_t end,
                         std::uint64_t last, std::size_t words_left) const {
    std::uint64_t i = begin;
    while (i != first && i < end && first_[i] == first_[i - 1]) ++i;  // of the group before
    for (std::uint64_t next = 0; i < end; i = next) {
      const std::uint64_t most = std::min(last, i + single_thread_records + 1);
      for (next = i + 1; next < most && first_[next] == first_[i];) ++next;
      if (next - i > 1 && next - i <= single_thread_records)
        sort_group(positions_ + i, next - i, words_left, reinterpret_cast<std::uint64_t*>(own()));
    }
  }

  // Sorts a group by the `words_left` least significant words. `words` has space for a word of each
  // record.
  void sort_group(Position* positions, std::uint64_t count, std::size_t words_left,
                  std::uint64_t* words) const {
    pack(positions, count, words_left, words);
    if (count <= inserted)
      insert(words, positions, count);
    else
      catalog::sample_few(problem_of_group(count, sizeof(Position)),
                          {host_memory(words), host_memory(words), host_memory(positions),
                           host_memory(positions), host_memory(own() + single_thread_records * 8)});
    if (words_left == 1) return;
    for (std::uint64_t i = 0, next = 0; i < count; i = next) {
      for (next = i + 1; next < count && words[next] == words[i];) ++next;
      if (next - i > 1) sort_group(positions + i, next - i, words_left - 1, words + i);
    }
  }
  static void insert(std::uint64_t* words, Position* positions, std::uint64_t count) {
    for (std::uint64_t i = 1; i < count; ++i) {
      const std::uint64_t word = words[i];
      const Position position = positions[i];
      std::uint64_t to = i;
      for (; to > 0 && words[to - 1] > word; --to)
        words[to] = words[to - 1], positions[to] = positions[to - 1];
      words[to] = word, positions[to] = position;
    }
  }

  // Writes each record's next word: the most significant one of the `words_left` words.
  void pack(const Position* positions, std::uint64_t count, std::size_t words_left,
            std::uint64_t* to) const {
    std::fill_n(to, count, 0);
    for (const auto& part : words_[words_left - 1].parts) {
      const std::byte* const column = at(operands_.columns[part.column]);
      const std::uint64_t stride = problem_.columns[part.column].bytes;
      part.add_to(to, count, [=](std::uint64_t i) { return column + positions[i] * stride; });
    }
  }

  [[nodiscard]] std::byte* own() const {
    const int thread = threads_ == 1 ? 0 : tbb::this_task_arena::current_thread_index();
    return at(operands_.scratch) + static_cast<unsigned>(thread) * own_bytes(sizeof(Position));
  }

  const RecordProblem& problem_;
  const std::vector<Word>& words_;
  const record_ties::Operands& operands_;
  std::uint64_t* first_;
  Position* positions_;
  unsigned threads_ = 1;
};

}  // namespace

bool record_ties::suits(const RecordProblem& problem, const Capabilities& device,
                        const Method& method) {
  return device.backend == Backend::host && problem.segments == 0 && problem.limit == 0 &&
         method.algorithm == "auto" && method.max_scratch_bytes == 0;
}

std::uint64_t record_ties::scratch_bytes(std::uint64_t count, unsigned position_bytes) {
  if (count <= single_thread_records) return own_bytes(position_bytes);
  // The sort of a shorter group may use one part less, so its parts may be larger: by less than an
  // eighth, because there are at least eight parts.
  const Problem all = problem_of_group(count, position_bytes);
  const std::uint64_t largest = std::max(catalog::sample_in_arena_scratch(all, host::all_threads()),
                                         catalog::sample_in_arena_scratch(all, 1));
  return std::max(host::all_threads() * own_bytes(position_bytes), largest + largest / 8);
}

void record_ties::sort(Queue& queue, const RecordProblem& problem, const std::vector<Word>& words,
                       unsigned position_bytes, const Operands& operands) {
  if (position_bytes == 4)
    TieSort<std::uint32_t>(problem, words, operands).run(queue);
  else
    TieSort<std::uint64_t>(problem, words, operands).run(queue);
}
#else
bool record_ties::suits(const RecordProblem&, const Capabilities&, const Method&) { return false; }
std::uint64_t record_ties::scratch_bytes(std::uint64_t, unsigned) { return 0; }
void record_ties::sort(Queue&, const RecordProblem&, const std::vector<Word>&, unsigned,
                       const Operands&) {}
#endif

}  // namespace sortium
