// Selection on the host, on all cores: Floyd, Rivest, "Expected time bounds for selection" (1975).
// A sample provides two codes between which the k-th key probably lies. One reading of the keys
// counts those below and gathers those between, and the k-th is found among the latter. Another
// reading writes the records. All memory is allocated before the first write to the
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

// The calling thread selects from up to so many records: starting others takes longer.
constexpr std::uint64_t alone = 1u << 17;

// Codes of one part, in their order.
template <class Code>
struct Collected {
  std::unique_ptr<Code[]> codes;
  std::size_t count = 0, capacity = 0;

  // Returns space for `more` codes behind those that are there.
  Code* space(std::size_t more) {
    if (count + more > capacity) {
      capacity = count + std::max(more, count);
      auto larger = std::make_unique_for_overwrite<Code[]>(capacity);
      std::copy_n(codes.get(), count, larger.get());
      codes = std::move(larger);
    }
    return codes.get() + count;
  }
};

// `Code` is an unsigned type that compares as the keys do. With `are_codes` it has codes, which may
// differ for keys that tie; else ranks, which are equal for them.
template <class Key, class Value, class Code, bool are_codes>
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
        part_((problem.count + parts_ - 1) / parts_) {
    if constexpr (are_codes) coding_ = sample::coding_of<Code>(problem);
  }

  void run(std::uint64_t k, std::uint64_t limit) {
    if (parts_ == 1 && limit == k && problem_.count > few) return select_alone(k);
    std::vector<Places> kinds(parts_);
    const Tied kth = find(k, kinds);
    write_records(kth, limit, kinds);
  }

 private:
  using Coded = sample::Coded<Code>;
  using Tied = sample::Tied<Code>;
  // Up to so many records, a sample saves no time.
  static constexpr std::uint64_t few = 1024;
  static constexpr std::uint64_t block = 1024;

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
  // Calls body(codes, the first record) for the blocks of [begin, end).
  template <class Body>
  void in_blocks(std::uint64_t begin, std::uint64_t end, const Body& body) const {
    for (std::uint64_t i = begin; i < end; i += block) {
      const std::uint64_t count = std::min(block, end - i);
      if constexpr (are_codes) {
        body(Coded{keys_ + i, count, coding_}, i);
      } else {
        Code ranks[block];
        ranks_.of(keys_ + i, static_cast<Code*>(ranks), count);
        body(Coded{ranks, count}, i);
      }
    }
  }
  // Returns the codes that tie with `code`.
  Tied tied_with(Code code) const {
    return coding_.is_float ? sample::Ties<Code>::with(code) : Tied{code, code};
  }

  // How many records of each kind there are, or where the next one goes.
  struct Places {
    std::uint64_t smaller = 0, ties = 0, larger = 0;
  };

  // ---- the k-th code ----

  struct Bounds {
    Code lowest, highest;
    Tied middle = {};       // the most probable codes
    bool frequent = false;  // many keys have them
  };
  // Returns codes between which the k-th code lies, but for a small chance. Each `attempt` is more
  // careful than the one before it; the last is certain.
  Bounds guess(std::uint64_t k, unsigned attempt) const {
    const Code all = static_cast<Code>(~Code{0});
    if (attempt == 2 || problem_.count <= few) return Bounds{0, all};
    // So the sample is sorted in less time than the keys are read.
    const double samples = std::floor(3 * std::sqrt(static_cast<double>(problem_.count)));
    std::vector<Key> keys(static_cast<std::size_t>(samples));
    sample::Positions positions(attempt);
    for (auto& key : keys) key = keys_[positions.next(problem_.count)];
    std::vector<Code> sample(keys.size());
    if constexpr (are_codes)
      sample::encode(keys.data(), sample.data(), sample.size(), coding_);
    else
      ranks_.of(keys.data(), sample.data(), sample.size());
    sample::sort_words(sample.data(), sample.size());
    const double share = static_cast<double>(k) / static_cast<double>(problem_.count);
    const double place = std::min(share * samples, samples - 1);
    const double slack = (attempt == 0 ? 2.5 : 16) * (2 + std::sqrt(place * (1 - share)));
    const auto tied_at = [&](double at) { return tied_with(sample[static_cast<std::size_t>(at)]); };
    const Tied middle = tied_at(place);
    const auto first = std::lower_bound(sample.begin(), sample.end(), middle.first),
               last = std::upper_bound(first, sample.end(), middle.last);
    return {place - slack < 0 ? Code{0} : tied_at(place - slack).first,
            place + slack >= samples ? all : tied_at(place + slack).last, middle,
            static_cast<double>(last - first) > samples / 64};
  }

  // Counts the codes of each part around `tied`. Returns true if the k-th code is one of these.
  bool have_kth(std::uint64_t k, Tied tied, std::vector<Places>& kinds) const {
    in_parts([&](std::uint64_t p, std::uint64_t begin, std::uint64_t end) {
      Places found;
      in_blocks(begin, end, [&](Coded codes, std::uint64_t) {
        const auto [below, equal] = sample::count_around(codes, tied);
        found.smaller += below;
        found.ties += equal;
      });
      found.larger = end - begin - found.smaller - found.ties;
      kinds[p] = found;
    });
    std::uint64_t below = 0, equal = 0;
    for (const auto& found : kinds) below += found.smaller, equal += found.ties;
    return k > below && k <= below + equal;
  }

  // Returns the codes that tie with the k-th one, and counts the records of each part around them.
  Tied find(std::uint64_t k, std::vector<Places>& kinds) const {
    std::vector<Collected<Code>> within(parts_);
    for (unsigned attempt = 0;; ++attempt) {
      const Bounds bounds = guess(k, attempt);
      if (bounds.frequent && have_kth(k, bounds.middle, kinds)) return bounds.middle;
      in_parts([&](std::uint64_t p, std::uint64_t begin, std::uint64_t end) {
        auto& codes_of_part = within[p];
        codes_of_part.count = 0;
        std::uint64_t below = 0;
        in_blocks(begin, end, [&](Coded codes, std::uint64_t) {
          const auto found = sample::collect_within(codes, bounds.lowest, bounds.highest,
                                                    codes_of_part.space(codes.count));
          below += found.below;
          codes_of_part.count += found.second;
        });
        kinds[p] = {below, 0, end - begin - below};
      });
      std::uint64_t below = 0, between = 0;
      for (const auto& found : kinds) below += found.smaller;
      for (const auto& codes : within) between += codes.count;
      if (k <= below || k > below + between) continue;  // not between the bounds
      const auto all = std::make_unique_for_overwrite<Code[]>(between);
      Code* next = all.get();
      for (const auto& codes : within) next = std::copy_n(codes.codes.get(), codes.count, next);
      const Tied kth = tied_with(sample::select_word(all.get(), between, k - below - 1));
      for (std::uint64_t p = 0; p < parts_; ++p) {
        const auto found = sample::count_around(Coded{within[p].codes.get(), within[p].count}, kth);
        kinds[p].smaller += found.below;
        kinds[p].ties = found.second;
        kinds[p].larger -= found.below + found.second;
      }
      return kth;
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
      in_blocks(0, problem_.count, [&](Coded codes, std::uint64_t first) {
        Code some[block];
        std::uint32_t from[block];
        const auto found = sample::collect_within(codes, Code{0}, bounds.highest, some);
        sample::places_up_to(codes, bounds.highest, from);
        candidates.insert(candidates.end(), some, some + found.second);
        for (std::size_t i = 0; i < found.second; ++i)
          places.push_back(static_cast<std::uint32_t>(first + from[i]));
      });
      between.resize(candidates.size());
      const auto [below, count] =
          sample::collect_within(Coded{candidates.data(), candidates.size()}, bounds.lowest,
                                 bounds.highest, between.data());
      if (k <= below || k > below + count) continue;  // the k-th is not between the bounds
      sample::sort_words(between.data(), count);
      const Tied kth = tied_with(between[k - below - 1]);
      const auto first_tie = std::lower_bound(
          between.begin(), between.begin() + static_cast<std::ptrdiff_t>(count), kth.first);
      Places next;
      next.ties = below + static_cast<std::uint64_t>(first_tie - between.begin());
      for (std::size_t i = 0; i < places.size(); ++i) {
        if (candidates[i] > kth.last) continue;
        const std::uint64_t to = candidates[i] < kth.first ? next.smaller++ : next.ties++;
        if (to < k) write(places[i], to);
      }
      return;
    }
  }

  // ---- the records ----

  // Writes all records or, if `limit` is less than their number, the first `limit`, none of which
  // is above `kth`. `kinds` has the numbers of records of each kind in each part.
  void write_records(Tied kth, std::uint64_t limit, const std::vector<Places>& kinds) const {
    std::vector<Places> places = kinds;
    std::uint64_t place = 0;
    for (const auto kind : {&Places::smaller, &Places::ties, &Places::larger})
      for (auto& n : places) place += std::exchange(n.*kind, place);
    in_parts([&](std::uint64_t p, std::uint64_t begin, std::uint64_t end) {
      Places next = places[p];
      if (limit < problem_.count) return write_first(begin, end, kth, limit, next);
      if constexpr (are_codes)
        if (values_out_ == nullptr) return write_alone(begin, end, kth, kinds[p], next, keys_out_);
      if constexpr (sizeof(Value) == sizeof(Code))
        if (keys_out_ == nullptr && values_ == nullptr)
          return write_alone(begin, end, kth, kinds[p], next, values_out_);
      write_all(begin, end, kth, next);
    });
  }

  void write(std::uint64_t from, std::uint64_t to) const {
    if (keys_out_ != nullptr) keys_out_[to] = keys_[from];
    if (values_out_ != nullptr)
      values_out_[to] = values_ != nullptr ? values_[from] : static_cast<Value>(from);
  }
  // Writes the keys, or the positions, of a part: vectors, straight to the output.
  template <class Element>
  void write_alone(std::uint64_t begin, std::uint64_t end, Tied kth, const Places& counts,
                   const Places& next, Element* to) const {
    const auto output = [&](std::uint64_t first, std::uint64_t count) {
      return sample::Output<Element>{to + first, to + first + count};
    };
    sample::Outputs<Element> outputs{output(next.smaller, counts.smaller),
                                     output(next.ties, counts.ties),
                                     output(next.larger, counts.larger)};
    in_blocks(begin, end, [&](Coded codes, std::uint64_t first) {
      if (keys_out_ != nullptr)
        sample::split_keys(codes, kth, outputs);
      else
        sample::split_positions(codes, kth, static_cast<Code>(first), outputs);
    });
  }
  void write_all(std::uint64_t begin, std::uint64_t end, Tied kth, Places& next) const {
    in_blocks(begin, end, [&](Coded codes, std::uint64_t first) {
      Code smaller[block], ties[block], larger[block];
      sample::Outputs<Code> places{
          {smaller, smaller + block}, {ties, ties + block}, {larger, larger + block}};
      sample::split_positions(codes, kth, Code{0}, places);
      write_run(smaller, places.below.next, first, next.smaller);
      write_run(ties, places.equal.next, first, next.ties);
      write_run(larger, places.above.next, first, next.larger);
    });
  }
  // Writes the records first + places[i] from place `to` of the output on, and advances `to`.
  void write_run(const Code* places, const Code* end, std::uint64_t first,
                 std::uint64_t& to) const {
    const auto count = static_cast<std::uint64_t>(end - places);
    if (keys_out_ != nullptr)
      for (std::uint64_t i = 0; i < count; ++i) keys_out_[to + i] = keys_[first + places[i]];
    if (values_ != nullptr)
      for (std::uint64_t i = 0; i < count; ++i) values_out_[to + i] = values_[first + places[i]];
    else if (values_out_ != nullptr)
      for (std::uint64_t i = 0; i < count; ++i)
        values_out_[to + i] = static_cast<Value>(first + places[i]);
    to += count;
  }
  void write_first(std::uint64_t begin, std::uint64_t end, Tied kth, std::uint64_t limit,
                   Places& next) const {
    in_blocks(begin, end, [&](Coded codes, std::uint64_t first) {
      std::uint32_t places[block];
      const std::size_t found = sample::places_up_to(codes, kth.last, places);
      for (std::size_t i = 0; i < found; ++i) {
        const Code code = sample::code_of(codes.keys[places[i]], codes.coding);
        const std::uint64_t to = code < kth.first ? next.smaller++ : next.ties++;
        if (to < limit) write(first + places[i], to);
      }
    });
  }

  const Problem& problem_;
  sample::Ranks ranks_;
  const Key* keys_;
  Key* keys_out_;
  const Value* values_;
  Value* values_out_;
  std::uint64_t parts_, part_;
  sample::Coding<Code> coding_ = {};
};

template <class Key, class Code, bool are_codes>
void select_keys(const Problem& problem, const Operands& o, unsigned threads, std::uint64_t k,
                 std::uint64_t limit) {
  if (problem.value_bytes == 8)
    HostSelect<Key, std::uint64_t, Code, are_codes>(problem, o, threads).run(k, limit);
  else
    HostSelect<Key, std::uint32_t, Code, are_codes>(problem, o, threads).run(k, limit);
}

}  // namespace

void select_on_host(const Problem& problem, const Operands& o, unsigned threads, std::uint64_t k,
                    std::uint64_t limit) {
  const auto all = [&] {
    const bool coded = sample::has_codes(problem);
    const auto select_coded = [&](auto key, auto rank) {
      using Key = decltype(key);
      return (coded ? select_keys<Key, Key, true>
                    : select_keys<Key, decltype(rank), false>)(problem, o, threads, k, limit);
    };
    switch (info(problem.key).bytes) {
      case 1:
        return select_keys<std::uint8_t, std::uint16_t, false>(problem, o, threads, k, limit);
      case 2:
        return select_coded(std::uint16_t{}, std::uint32_t{});
      case 4:
        return select_coded(std::uint32_t{}, std::uint64_t{});
      default:
        return select_coded(std::uint64_t{}, std::uint64_t{});
    }
  };
  if (problem.count <= alone) return all();
  host::Threads arena(threads);
  arena.start();
  arena.run(all);
}

}  // namespace sortium
#endif
