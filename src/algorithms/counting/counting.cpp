// Counting sort for the host: Seward, 1954; Knuth, "The Art of Computer Programming", volume 3,
// section 5.2, algorithm D. At most 16 bits of a key are significant, so there are at most 65,536
// ranks. Keys are only compared to find lists that are in order.
//
// Long lists of 8- or 16-bit keys without values are read once, to count each key, and written
// once, from the counts. All other lists are partitioned stably by digits of the rank, the low
// digit first; by several threads by the high digit first, and each part then by the low one. A
// digit has at most 8 bits: ranks of up to 8 bits need one pass, others two. Each thread counts and
// moves the records of a chunk, so frequent keys do not unbalance the threads. The positions of few
// records are sorted without their keys: words of a digit and a position move.
//
// The sort cannot fail after it has begun to write the output: all its memory is scratch memory.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "../catalog.hpp"
#include "../run_alone.hpp"
#include "../sample/few_keys.hpp"
#include "counted_keys.hpp"
#include "ordered_records.hpp"
#include "partition.hpp"

namespace sortium {
namespace {

class CountingSorter final : public Sorter {
 public:
  CountingSorter(const Problem& problem, unsigned most_threads)
      : layout_(problem, most_threads), threads_(layout_.threads) {}

  std::uint64_t scratch_bytes() const override { return layout_.scratch.bytes(); }
  std::string parameters() const override { return fmt::format("threads={}", threads_.count()); }
  void build(Device&, const Capabilities&) override { threads_.start(); }

  void enqueue(Queue& queue, const Operands& o) override {
    threads_.run([&] { sort_on(queue, o); });
  }

  // Sorts in the caller's arena, which must have at least as many threads as the sorter.
  void sort_on(const host::Phases& queue, const Operands& o) const {
    switch (layout_.key_bytes) {
      case 1:
        return sort<std::uint8_t>(queue, o);
      case 2:
        return sort<std::uint16_t>(queue, o);
      case 4:
        return sort<std::uint32_t>(queue, o);
      default:
        return sort<std::uint64_t>(queue, o);
    }
  }

  // Sorts with one thread, without a queue.
  void run_alone(const Operands& o) const { sort_on(host::Phases(), o); }

 private:
  template <class Key>
  void sort(const host::Phases& queue, const Operands& o) const {
    if constexpr (sizeof(Key) <= 2)
      if (layout_.counts_keys()) {
        const counting::CountedKeys<Key> counted(layout_, o);
        bool are_ranks_keys = true;
        host::call(queue, "count", [&] { are_ranks_keys = counted.count(); });
        if (are_ranks_keys) return host::call(queue, "write", [&] { counted.write(); });
      }
    const Problem& problem = layout_.problem;
    if (problem.payload == Payload::none || problem.value_bytes == 4)
      sort_records<Key, std::uint32_t>(queue, o);
    else
      sort_records<Key, std::uint64_t>(queue, o);
  }
  template <class Key, class Value>
  void sort_records(const host::Phases& queue, const Operands& o) const {
    bool written = false;
    if (layout_.problem.payload != Payload::none)
      host::call(queue, "look",
                 [&] { written = counting::OrderedRecords<Key, Value>(layout_, o).write(); });
    if (!written) counting::Partition<Key, Value>(layout_, o).sort(queue);
  }

  counting::Layout layout_;
  host::Threads threads_;
};

class Counting final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "counting",
        .title = "counting sort on the host's cores, by at most 16 bits",
        .source = "Seward 1954; Knuth, volume 3, 5.2",
        .stable = true,
        .host = true,
        .max_key_bits = counting::most_key_bits,
        .cost =
            "keys: one reading and one writing; records: one stable partition for up to "
            "8 bits, two for more",
        .parameters = {{"threads", "that take part at most", 1, 1024, {}}}};
    return info;
  }

  Rank suits(const Problem& problem, const Capabilities&) const override {
    return catalog::counting_suits(problem) ? Rank::counts_keys : Rank::unsuited;
  }

  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    if (key_bits(problem) > counting::most_key_bits)
      throw Error(ErrorCode::unsupported,
                  fmt::format("counting: at most {} bits may decide a key's place, and {} do",
                              counting::most_key_bits, key_bits(problem)));
    return std::make_unique<CountingSorter>(
        problem, static_cast<unsigned>(given.number("threads", device.compute_units)));
  }
};

}  // namespace

// Below `least` records, sorting takes less time than clearing and scanning 256 counters. Keys of
// 16 bits without values have 65,536 counters, so `sample` sorts up to 2^17 of them.
bool catalog::counting_suits(const Problem& problem) {
  if (key_bits(problem) > counting::most_key_bits) return false;
  std::uint64_t least = 256;
  if (problem.payload == Payload::none) {
    if (sample::has_codes(problem)) least = catalog::sample_alone(problem, 1) + 1;
    if (info(problem.key).bytes == 1 && key_bits(problem) == 8) least = sample::most_byte_keys + 1;
  }
  return problem.count >= least;
}

std::uint64_t catalog::counting_alone(const Problem& problem, unsigned threads) {
  return counting_suits(problem) ? counting::most_alone(problem, threads) : 0;
}

void catalog::counting_few(const Problem& problem, const Operands& operands) {
  host::run_alone(CountingSorter(problem, 1), operands);
}

std::uint64_t catalog::counting_few_scratch(const Problem& problem) {
  return CountingSorter(problem, 1).scratch_bytes();
}

void catalog::counting_in_arena(Queue& queue, const Problem& problem, unsigned threads,
                                const Operands& operands) {
  CountingSorter(problem, threads).sort_on(queue, operands);
}

std::uint64_t catalog::counting_in_arena_scratch(const Problem& problem, unsigned threads) {
  return CountingSorter(problem, threads).scratch_bytes();
}

const Algorithm& catalog::counting() {
  static const Counting algorithm;
  return algorithm;
}

}  // namespace sortium
