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

constexpr std::uint64_t alone = 1u << 15;  // records that one thread sorts
constexpr std::uint64_t block = 1u << 14;  // records whose groups a thread takes at a time
constexpr std::uint64_t inserted = 16;     // insertion sort up to this many records

Problem problem_of_group(std::uint64_t count, unsigned position_bytes) {
  return {.key = KeyType::u64,
          .count = count,
          .payload = Payload::values,
          .value_bytes = position_bytes};
}

std::uint64_t few_bytes(unsigned position_bytes) {
  return ceil_div(catalog::sample_few_scratch(problem_of_group(alone, position_bytes)), 64) * 64;
}
// A thread's own memory: the words of a group, and what its sort needs.
std::uint64_t own_bytes(unsigned position_bytes) { return alone * 8 + few_bytes(position_bytes); }

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
    if (problem_.count <= alone) return sort_groups(queue, 0, problem_.count, words_.size() - 1);
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
  // Records [begin, end) are in the order of all words but the `left` lowest. first_ has the last
  // word by which they were sorted. Sorts each group in which it is the same by the other words.
  void sort_groups(Queue& queue, std::uint64_t begin, std::uint64_t end, std::size_t left) {
    if (left == 0) return;
    const auto in_block = [&](std::uint64_t b) {
      sort_short_groups(begin, begin + b * block, std::min(begin + (b + 1) * block, end), end,
                        left);
    };
    host::call(queue, "ties", [&] { each(ceil_div(end - begin, block), in_block); });
    // A group of more than `alone` records has one of every `alone` records. Sorting it overwrites
    // its words in first_, so that only records behind it are searched then.
    std::uint64_t from = begin;
    for (std::uint64_t i = begin; i < end; i += alone) {
      if (i < from) continue;
      const auto [low, high] = std::equal_range(first_ + from, first_ + end, first_[i]);
      if (static_cast<std::uint64_t>(high - low) <= alone) continue;
      from = static_cast<std::uint64_t>(high - first_);
      sort_long_group(queue, static_cast<std::uint64_t>(low - first_), from, left);
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

  void sort_long_group(Queue& queue, std::uint64_t begin, std::uint64_t end, std::size_t left) {
    host::call(queue, "pack", [&] {
      each(ceil_div(end - begin, block), [&](std::uint64_t b) {
        const std::uint64_t from = begin + b * block;
        pack(positions_ + from, std::min(block, end - from), left, first_ + from);
      });
    });
    const Memory words = operands_.first_words.slice(begin * 8, (end - begin) * 8);
    const Memory positions =
        operands_.positions.slice(begin * sizeof(Position), (end - begin) * sizeof(Position));
    catalog::sample_in_arena(queue, problem_of_group(end - begin, sizeof(Position)), threads_,
                             {words, words, positions, positions, operands_.scratch});
    sort_groups(queue, begin, end, left - 1);
  }

  // Sorts the groups of at most `alone` records that begin in [begin, end). The records from
  // `first` to `last` are sorted. Does not change first_, which other threads read.
  void sort_short_groups(std::uint64_t first, std::uint64_t begin, std::uint64_t end,
                         std::uint64_t last, std::size_t left) const {
    std::uint64_t i = begin;
    while (i != first && i < end && first_[i] == first_[i - 1]) ++i;  // of the group before
    for (std::uint64_t next = 0; i < end; i = next) {
      const std::uint64_t most = std::min(last, i + alone + 1);
      for (next = i + 1; next < most && first_[next] == first_[i];) ++next;
      if (next - i > 1 && next - i <= alone)
        sort_group(positions_ + i, next - i, left, reinterpret_cast<std::uint64_t*>(own()));
    }
  }

  // Sorts records that tie by the `left` lowest words. `words` has space for a word of each.
  void sort_group(Position* positions, std::uint64_t count, std::size_t left,
                  std::uint64_t* words) const {
    pack(positions, count, left, words);
    if (count <= inserted)
      insert(words, positions, count);
    else
      catalog::sample_few(problem_of_group(count, sizeof(Position)),
                          {host_memory(words), host_memory(words), host_memory(positions),
                           host_memory(positions), host_memory(own() + alone * 8)});
    if (left == 1) return;
    for (std::uint64_t i = 0, next = 0; i < count; i = next) {
      for (next = i + 1; next < count && words[next] == words[i];) ++next;
      if (next - i > 1) sort_group(positions + i, next - i, left - 1, words + i);
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

  // Writes the highest of the `left` lowest words of each record.
  void pack(const Position* positions, std::uint64_t count, std::size_t left,
            std::uint64_t* to) const {
    std::fill_n(to, count, 0);
    for (const auto& part : words_[left - 1].parts) {
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
  if (count <= alone) return own_bytes(position_bytes);
  // A group that is shorter than all records may be divided into one part less, so that its parts
  // are larger: by less than an eighth, because there are at least eight parts.
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
