// Selection on the host, on all cores: Floyd, Rivest, "Expected time bounds for selection" (1975).
// A sample provides two codes between which the k-th key probably lies. One reading of the keys
// counts those below and gathers those between, and the k-th is found among the latter. Two more
// readings count and write the records. All memory is allocated before the first write to the
// output, so that a failed allocation leaves the output unchanged.
#ifdef SORTIUM_WITH_HOST
#include <algorithm>
#include <cmath>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "../device/host_threads.hpp"
#include "sample/codes.hpp"
#include "sample/positions.hpp"
#include "sample/ranks.hpp"
#include "sample/select_words.hpp"
#include "sample/words.hpp"
#include "select.hpp"

namespace sortium {

namespace {

template <class T>
T* at(const Memory& m) {
  return m ? reinterpret_cast<T*>(static_cast<std::byte*>(m.handle) + m.offset) : nullptr;
}

// Up to so many records, one thread reads them soon, and the calling thread does everything.
constexpr std::uint64_t alone = 1u << 17;
// Up to so many records, their codes are made once and kept.
constexpr std::uint64_t few_records = 1u << 15;

// `Code` is the type of the keys' codes or ranks: unsigned numbers in the order of the keys, the
// same for keys that tie.
template <class Key, class Value, class Code>
class HostSelect {
 public:
  HostSelect(const Problem& problem, const Operands& o, unsigned threads)
      : problem_(problem),
        ranks_(problem, sample::has_codes(problem)),
        keys_(at<const Key>(o.keys_in)),
        keys_out_(at<Key>(o.keys_out)),
        values_(at<const Value>(o.values_in)),
        values_out_(at<Value>(o.values_out)),
        parts_(problem.count <= alone ? 1 : std::min<std::uint64_t>(4 * threads, problem.count)),
        part_((problem.count + parts_ - 1) / parts_) {}

  void run(std::uint64_t k, std::uint64_t limit) {
    if (parts_ == 1 && limit == k && problem_.count > block) return select_alone(k);
    if (problem_.count <= few_records) return select_few(k, limit);
    const Code threshold = find(k);
    partition(threshold, limit);
  }

 private:
  static constexpr std::uint64_t most_samples = 4096, records_of_sample = 16, block = 1024;

  // Calls body(part, its first record, its end) for each part, in parallel. If oneTBB fails, calls
  // body again for parts already done; repeating a call must not change the result.
  template <class Body>
  void in_parts(const Body& body) const {
    const auto some = [&](const tbb::blocked_range<std::uint64_t>& range) {
      for (auto p = range.begin(); p != range.end(); ++p)
        body(p, std::min(p * part_, problem_.count), std::min((p + 1) * part_, problem_.count));
    };
    const tbb::blocked_range<std::uint64_t> all(0, parts_);
    if (parts_ == 1)
      some(all);
    else
      host::repeatable_for(all, some, tbb::simple_partitioner{});
  }
  // Calls body(codes, the first record, count) for the blocks of [begin, end).
  template <class Body>
  void in_blocks(std::uint64_t begin, std::uint64_t end, const Body& body) const {
    Code codes[block];
    for (std::uint64_t i = begin; i < end; i += block) {
      const std::uint64_t count = std::min(block, end - i);
      ranks_.of(keys_ + i, static_cast<Code*>(codes), count);
      body(static_cast<const Code*>(codes), i, count);
    }
  }

  // Where the next record of each kind goes.
  struct Places {
    std::uint64_t smaller = 0, ties = 0, larger = 0;
  };

  // Selects with all codes in memory.
  void select_few(std::uint64_t k, std::uint64_t limit) const {
    const std::uint64_t count = problem_.count;
    const auto memory = std::make_unique_for_overwrite<Code[]>(2 * count);
    Code *const codes = memory.get(), *const work = codes + count;
    ranks_.of(keys_, codes, count);
    std::copy_n(codes, count, work);
    const Code threshold = sample::select_word(work, count, k - 1);
    const auto [below, equal] = sample::count_around(codes, count, threshold);
    Places next{0, below, below + equal};
    const bool with_larger = limit > next.larger;
    for (std::uint64_t i = 0; i < count; i += block) {
      const std::uint64_t some = std::min(block, count - i);
      if (with_larger)
        write_all(codes + i, i, some, threshold, limit, next);
      else
        write_first(codes + i, i, some, threshold, limit, next);
    }
  }

  // ---- the k-th code ----

  struct Bounds {
    Code lowest, highest;
    Code middle = 0;        // the most probable code
    bool frequent = false;  // many keys have it
  };
  // Returns codes between which the k-th code lies, but for a small chance. Each `attempt` is more
  // careful than the one before it; the last is certain.
  Bounds guess(std::uint64_t k, unsigned attempt) const {
    const Code all = static_cast<Code>(~Code{0});
    if (attempt == 2) return Bounds{0, all};
    std::vector<Key> keys(std::min(problem_.count / records_of_sample, most_samples));
    sample::Positions positions(attempt);
    for (auto& key : keys) key = keys_[positions.next(problem_.count)];
    std::vector<Code> sample(keys.size());
    ranks_.of(keys.data(), sample.data(), sample.size());
    sample::sort_words(sample.data(), sample.size());
    const auto samples = static_cast<double>(sample.size());
    const double share = static_cast<double>(k) / static_cast<double>(problem_.count);
    const double place = std::min(share * samples, samples - 1);
    const double slack = (attempt == 0 ? 4 : 16) * (2 + std::sqrt(place * (1 - share)));
    const auto code_at = [&](double at) { return sample[static_cast<std::size_t>(at)]; };
    const Code middle = code_at(place);
    const auto [first, last] = std::equal_range(sample.begin(), sample.end(), middle);
    return {place - slack < 0 ? Code{0} : code_at(place - slack),
            place + slack >= samples ? all : code_at(place + slack), middle,
            static_cast<double>(last - first) > samples / 64};
  }

  // Returns how many keys are below the code, and how many are equal to it.
  sample::Counts count_around(Code code) const {
    std::vector<sample::Counts> of_part(parts_);
    in_parts([&](std::uint64_t p, std::uint64_t begin, std::uint64_t end) {
      sample::Counts found;
      in_blocks(begin, end, [&](const Code* codes, std::uint64_t, std::uint64_t count) {
        const auto [below, equal] = sample::count_around(codes, count, code);
        found.below += below;
        found.second += equal;
      });
      of_part[p] = found;
    });
    sample::Counts all;
    for (const auto& found : of_part) all.below += found.below, all.second += found.second;
    return all;
  }

  [[nodiscard]] Code find(std::uint64_t k) const {
    for (unsigned attempt = 0;; ++attempt) {
      const Bounds bounds = guess(k, attempt);
      if (bounds.frequent) {
        const auto [below, equal] = count_around(bounds.middle);
        if (k > below && k <= below + equal) return bounds.middle;
      }
      std::vector<std::vector<Code>> within(parts_);
      std::vector<std::uint64_t> below(parts_);
      in_parts([&](std::uint64_t p, std::uint64_t begin, std::uint64_t end) {
        below[p] = 0;
        within[p].clear();
        in_blocks(begin, end, [&](const Code* codes, std::uint64_t, std::uint64_t count) {
          Code some[block];
          const auto found =
              sample::collect_within(codes, count, bounds.lowest, bounds.highest, some);
          below[p] += found.below;
          within[p].insert(within[p].end(), some, some + found.second);
        });
      });
      std::uint64_t before = 0, between = 0;
      for (const auto count : below) before += count;
      for (const auto& codes : within) between += codes.size();
      if (k <= before || k > before + between) continue;  // not between the bounds
      std::vector<Code> all;
      all.reserve(between);
      for (const auto& codes : within) all.insert(all.end(), codes.begin(), codes.end());
      return sample::select_word(all.data(), all.size(), k - before - 1);
    }
  }

  // Selects the first k records on the calling thread, with one reading of the keys: collects the
  // records that may be among them, and selects among these.
  void select_alone(std::uint64_t k) const {
    std::vector<Code> candidates, between;
    std::vector<std::uint32_t> places;
    for (unsigned attempt = 0;; ++attempt) {
      const Bounds bounds = guess(k, attempt);
      candidates.clear(), places.clear();
      in_blocks(
          0, problem_.count, [&](const Code* codes, std::uint64_t first, std::uint64_t count) {
            Code some[block];
            std::uint32_t from[block];
            const auto found = sample::collect_within(codes, count, Code{0}, bounds.highest, some);
            sample::places_up_to(codes, count, bounds.highest, from);
            candidates.insert(candidates.end(), some, some + found.second);
            for (std::size_t i = 0; i < found.second; ++i)
              places.push_back(static_cast<std::uint32_t>(first + from[i]));
          });
      between.resize(candidates.size());
      const auto [below, count] = sample::collect_within(
          candidates.data(), candidates.size(), bounds.lowest, bounds.highest, between.data());
      if (k <= below || k > below + count) continue;  // the k-th is not between the bounds
      sample::sort_words(between.data(), count);
      const Code threshold = between[k - below - 1];
      const auto first_tie = std::lower_bound(
          between.begin(), between.begin() + static_cast<std::ptrdiff_t>(count), threshold);
      Places next;
      next.ties = below + static_cast<std::uint64_t>(first_tie - between.begin());
      for (std::size_t i = 0; i < places.size(); ++i) {
        if (candidates[i] > threshold) continue;
        const std::uint64_t to = candidates[i] < threshold ? next.smaller++ : next.ties++;
        if (to < k) write(places[i], to);
      }
      return;
    }
  }

  // ---- the records ----

  void partition(Code threshold, std::uint64_t limit) const {
    std::vector<Places> next(parts_);
    in_parts([&](std::uint64_t p, std::uint64_t begin, std::uint64_t end) {
      Places found;
      in_blocks(begin, end, [&](const Code* codes, std::uint64_t, std::uint64_t count) {
        const auto [below, equal] = sample::count_around(codes, count, threshold);
        found.smaller += below;
        found.ties += equal;
      });
      found.larger = end - begin - found.smaller - found.ties;
      next[p] = found;
    });
    std::uint64_t place = 0;
    for (const auto kind : {&Places::smaller, &Places::ties, &Places::larger})
      for (auto& n : next) place += std::exchange(n.*kind, place);
    const bool with_larger = limit > next[0].larger;
    in_parts([&](std::uint64_t p, std::uint64_t begin, std::uint64_t end) {
      Places to = next[p];
      in_blocks(begin, end, [&](const Code* codes, std::uint64_t first, std::uint64_t count) {
        if (with_larger)
          write_all(codes, first, count, threshold, limit, to);
        else
          write_first(codes, first, count, threshold, limit, to);
      });
    });
  }

  void write(std::uint64_t from, std::uint64_t to) const {
    if (keys_out_ != nullptr) keys_out_[to] = keys_[from];
    if (values_out_ != nullptr)
      values_out_[to] = values_ != nullptr ? values_[from] : static_cast<Value>(from);
  }
  void write_all(const Code* codes, std::uint64_t first, std::uint64_t count, Code threshold,
                 std::uint64_t limit, Places& next) const {
    Code places[block];
    const auto [below, equal] = sample::split_places(codes, count, threshold, places);
    const Code* place = places;
    const auto write_run = [&](std::uint64_t& to, std::uint64_t records) {
      const std::uint64_t written = std::min(records, limit - std::min(to, limit));
      for (std::uint64_t i = 0; i < written; ++i) write(first + place[i], to + i);
      to += records;
      place += records;
    };
    write_run(next.smaller, below);
    write_run(next.ties, equal);
    write_run(next.larger, count - below - equal);
  }
  void write_first(const Code* codes, std::uint64_t first, std::uint64_t count, Code threshold,
                   std::uint64_t limit, Places& next) const {
    std::uint32_t places[block];
    const std::size_t found = sample::places_up_to(codes, count, threshold, places);
    for (std::size_t i = 0; i < found; ++i) {
      const std::uint64_t to = codes[places[i]] < threshold ? next.smaller++ : next.ties++;
      if (to < limit) write(first + places[i], to);
    }
  }

  const Problem& problem_;
  sample::Ranks ranks_;
  const Key* keys_;
  Key* keys_out_;
  const Value* values_;
  Value* values_out_;
  std::uint64_t parts_, part_;
};

template <class Key, class Code>
void select_keys(const Problem& problem, const Operands& o, unsigned threads, std::uint64_t k,
                 std::uint64_t limit) {
  if (problem.value_bytes == 8)
    HostSelect<Key, std::uint64_t, Code>(problem, o, threads).run(k, limit);
  else
    HostSelect<Key, std::uint32_t, Code>(problem, o, threads).run(k, limit);
}

}  // namespace

void select_on_host(const Problem& problem, const Operands& o, unsigned threads, std::uint64_t k,
                    std::uint64_t limit) {
  const auto all = [&] {
    const bool coded = sample::has_codes(problem);
    switch (info(problem.key).bytes) {
      case 1:
        return select_keys<std::uint8_t, std::uint32_t>(problem, o, threads, k, limit);
      case 2:
        return select_keys<std::uint16_t, std::uint32_t>(problem, o, threads, k, limit);
      case 4:
        return (coded ? select_keys<std::uint32_t, std::uint32_t>
                      : select_keys<std::uint32_t, std::uint64_t>)(problem, o, threads, k, limit);
      default:
        return select_keys<std::uint64_t, std::uint64_t>(problem, o, threads, k, limit);
    }
  };
  if (problem.count <= alone) return all();
  host::Threads arena(threads);
  arena.start();
  arena.run(all);
}

}  // namespace sortium
#endif
