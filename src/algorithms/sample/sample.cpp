// Sample sort for the host, with vector instructions and all cores: Frazer, McKellar, "Samplesort" (1970); the parts are
// sorted by Highway's vqsort (words.hpp). Chunks that fit a core's cache are partitioned by splitters from a sample; each
// part is then gathered from all chunks and sorted by itself.
//
// What is sorted are words without a payload. Keys alone: their codes. Records: the key's rank above the record's
// position, which makes the sort stable and says where the rest of the record is.
#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "../rooms.hpp"
#include "words.hpp"

namespace sortium {
namespace {

using sample::Coding;

constexpr std::uint64_t alone = 1u << 15;  // up to so many records, one thread is done before others have woken

std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

template <class T>
T* at(const Memory& m) {
  return reinterpret_cast<T*>(static_cast<std::byte*>(m.handle) + m.offset);
}

template <class Word>
Coding<Word> coding_of(const Problem& p) {
  const auto& type = info(p.key);
  const Word sign = Word{1} << (sizeof(Word) * 8 - 1);
  const Word down = p.order == Order::descending ? ~Word{0} : Word{0};
  if (type.is_float) return {down, static_cast<Word>(sizeof(Word) == 4 ? 0x7fffffu : 0xfffffffffffffu), true};
  return {static_cast<Word>(type.is_signed ? sign ^ down : down), 0, false};
}

// The codes of floats that tie: those of the zeros, first_zero and the next, and all from first_nan on.
template <class Word>
struct Ties {
  static constexpr Word infinity = static_cast<Word>(sizeof(Word) == 4 ? 0x7f800000u : 0x7ff0000000000000u);
  static constexpr Word first_zero = infinity;
  static constexpr Word first_nan = 2 * infinity + 2;
};

class SampleSorter final : public Sorter {
 public:
  SampleSorter(const Problem& problem, const Capabilities& device, const Parameters& given)
      : problem_(problem), key_bytes_(info(problem.key).bytes) {
    const unsigned bits = info(problem.key).bits();
    all_bits_ = problem.begin_bit == 0 && (problem.end_bit == 0 || problem.end_bit == bits);
    records_ = problem.payload != Payload::none || !all_bits_;
    threads_ = static_cast<unsigned>(given.number("threads", device.compute_units));
    const std::uint64_t word = records_ ? 8 : key_bytes_, n = problem.count;
    // Chunks and their partition fit a second-level cache; parts are enough for all threads to end at the same time.
    chunk_ = std::max<std::uint64_t>(given.number("chunk", std::uint64_t{1} << 16), ceil_div(n, 4096));
    // Of records, a part's words and values should fit, too.
    const std::uint64_t parts = std::clamp<std::uint64_t>(records_ ? n >> 17 : 0, 8 * threads_, 1024);
    parts_ = n <= alone ? 1 : std::min(given.number("parts", parts), n);
    chunks_ = ceil_div(n, chunk_);
    if (n <= alone) chunks_ = std::min<std::uint64_t>(n, 1), chunk_ = n;
    words_[0] = scratch_.add(n * word);
    // A word holds the whole key only of integers of 32 bits.
    keeps_keys_ = records_ && (key_bytes_ == 8 || !all_bits_ || info(problem.key).is_float || n > std::uint64_t{1} << 32);
    if (records_) words_[1] = scratch_.add(n * word);
    if (keeps_keys_) keys_ = scratch_.add(n * key_bytes_);
    if (problem.payload != Payload::none) values_ = scratch_.add(n * problem.value_bytes);
    splitters_ = scratch_.add((parts_ + special) * word);
    samples_ = scratch_.add(parts_ == 1 ? 0 : parts_ * oversampling * word);
    ends_ = scratch_.add(chunks_ * (parts_ + special) * sizeof(std::size_t));
    begins_ = scratch_.add((parts_ + special + 1) * sizeof(std::size_t));
  }

  std::uint64_t scratch_bytes() const override { return scratch_.bytes(); }
  std::string parameters() const override {
    if (problem_.count <= alone) return "threads=1";
    return fmt::format("threads={},parts={},chunk={}", threads_, parts_, chunk_);
  }
  void build(Device&, const Capabilities& capabilities) override {
    if (threads_ < capabilities.compute_units) arena_ = std::make_unique<tbb::task_arena>(static_cast<int>(threads_));
  }

  void enqueue(Queue& queue, const Operands& o) override {
    const auto all = [&] {
      if (key_bytes_ == 4) sort<std::uint32_t>(queue, o);
      else sort<std::uint64_t>(queue, o);
    };
    if (arena_) arena_->execute(all);
    else all();
  }

 private:
  static constexpr std::uint64_t special = 4;  // splitters that floats need, and one to spare
  static constexpr std::uint64_t oversampling = 64;

  template <class Body>
  void parallel(std::uint64_t count, const Body& body) const {
    if (problem_.count <= alone || threads_ == 1)
      for (std::uint64_t i = 0; i < count; ++i) body(i);
    else
      tbb::parallel_for(tbb::blocked_range<std::uint64_t>(0, count, 1), [&](const auto& range) {
        for (auto i = range.begin(); i != range.end(); ++i) body(i);
      }, tbb::simple_partitioner{});
  }

  template <class Key>
  void sort(Queue& queue, const Operands& o) const {
    if (records_) sort_records<Key>(queue, o);
    else sort_keys<Key>(queue, o);
  }

  // Keys alone, which their codes can be turned back into.
  template <class Key>
  void sort_keys(Queue& queue, const Operands& o) const {
    const Key* const in = at<const Key>(o.keys_in);
    Key* const out = at<Key>(o.keys_out);
    const auto coding = coding_of<Key>(problem_);
    if (problem_.count <= alone && !coding.is_float) {
      queue.call("sort", [&] {
        sample::encode(in, out, problem_.count, coding);
        sample::sort_words(out, problem_.count);
        sample::decode(out, problem_.count, coding);
      });
      return;
    }
    const auto make = [&](Key* to, std::uint64_t begin, std::uint64_t count) { sample::encode(in + begin, to, count, coding); };
    Key* const chunked = at<Key>(words_[0].in(o));
    const auto settle = [](std::uint64_t, std::uint64_t) {};
    const auto gather = [&](Key* to, std::uint64_t from, std::uint64_t count) {
      std::memcpy(to, chunked + from, count * sizeof(Key));
    };
    const auto finish = [&](Key* part, std::uint64_t, std::uint64_t count) {
      // Floats that tie but differ are a part of their own, and keep the order of the input.
      if (!coding.is_float || !is_tie(part[0])) sample::sort_words(part, count);
      sample::decode(part, count, coding);
    };
    sort_words<Key>(queue, o, make, settle, gather, finish, out, static_cast<Key>(~Key{0}), coding.is_float);
  }

  template <class Key>
  static bool is_tie(Key code) {
    return code - Ties<Key>::first_zero < 2 || code >= Ties<Key>::first_nan;
  }

  // Records: words of rank and position. Values, and keys that a word does not hold, go along as far as the chunk's
  // partition, so that a part fetches what belongs to its words from memory that it has in cache.
  template <class Key>
  void sort_records(Queue& queue, const Operands& o) const {
    if (problem_.value_bytes == 4 || problem_.payload == Payload::none) sort_records<Key, std::uint32_t>(queue, o);
    else sort_records<Key, std::uint64_t>(queue, o);
  }

  template <class Key, class Value>
  void sort_records(Queue& queue, const Operands& o) const {
    const std::uint64_t n = problem_.count;
    const Key* const in = at<const Key>(o.keys_in);
    const unsigned position_bits = std::max(1u, static_cast<unsigned>(std::bit_width(n - 1)));
    const unsigned rank_bits = 64 - position_bits;
    const std::uint64_t mask = ~std::uint64_t{0} >> rank_bits;
    Window window;
    if (rank_bits < sizeof(Key) * 8) queue.call("range", [&] { window = find_window(in, rank_bits); });

    std::uint64_t* const chunked = at<std::uint64_t>(words_[0].in(o));
    Key* const keys = keeps_keys_ ? at<Key>(keys_.in(o)) : nullptr;
    Value* const values = problem_.payload == Payload::none ? nullptr : at<Value>(values_.in(o));
    const Value* const values_in = problem_.payload == Payload::values ? at<const Value>(o.values_in) : nullptr;
    Key* const keys_out = problem_.keys_out ? at<Key>(o.keys_out) : nullptr;
    Value* const values_out = values == nullptr ? nullptr : at<Value>(o.values_out);
    const Key flip = coding_of<Key>(problem_).flip;

    const auto make = [&](std::uint64_t* to, std::uint64_t begin, std::uint64_t count) {
      ranks(in + begin, to, count);
      for (std::uint64_t i = 0; i < count; ++i) to[i] = (to[i] - window.lowest) >> window.shift << position_bits | (begin + i);
    };
    const auto settle = [&](std::uint64_t begin, std::uint64_t count) {
      for (std::uint64_t i = begin; i < begin + count; ++i) {
        const std::uint64_t from = chunked[i] & mask;
        if (keys != nullptr) keys[i] = in[from];
        if (values != nullptr) values[i] = values_in != nullptr ? values_in[from] : static_cast<Value>(from);
      }
    };
    const auto gather = [&](std::uint64_t* to, std::uint64_t from, std::uint64_t count) {
      for (std::uint64_t i = 0; i < count; ++i) to[i] = (chunked[from + i] & ~mask) | (from + i);
    };
    const auto finish = [&](std::uint64_t* part, std::uint64_t begin, std::uint64_t count) {
      sample::sort_words(part, count);
      if (window.shift != 0) sort_ties(keys, part, count, position_bits);
      if (values != nullptr) fetch(part, count, mask, values, values_out + begin);
      if (keys_out == nullptr) return;
      if (keys != nullptr) fetch(part, count, mask, keys, keys_out + begin);
      else
        for (std::uint64_t i = 0; i < count; ++i) keys_out[begin + i] = static_cast<Key>(part[i] >> position_bits) ^ flip;
    };
    // What ties in its window must not be parted by its position: the rest of the rank comes first.
    const std::uint64_t deciding = window.shift == 0 ? ~std::uint64_t{0} : ~mask;
    sort_words<std::uint64_t>(queue, o, make, settle, gather, finish, at<std::uint64_t>(words_[1].in(o)), deciding, false);
  }

  template <class T>
  static void fetch(const std::uint64_t* words, std::uint64_t count, std::uint64_t mask, const T* from, T* to) {
    constexpr std::uint64_t ahead = 16;  // a part that is too large for the cache should have many on their way
    for (std::uint64_t i = 0; i < count; ++i) {
      if (i + ahead < count) __builtin_prefetch(from + (words[i + ahead] & mask));
      to[i] = from[words[i] & mask];
    }
  }

  // Ranks fall into [lowest, lowest + 2^bits << shift).
  struct Window {
    std::uint64_t lowest = 0;
    unsigned shift = 0;
  };
  static Window window_of(std::uint64_t lowest, std::uint64_t highest, unsigned bits) {
    const unsigned needed = static_cast<unsigned>(std::bit_width(highest - lowest));
    return {lowest, needed > bits ? needed - bits : 0};
  }

  template <class Key>
  Window find_window(const Key* keys, unsigned bits) const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> found(chunks_);
    parallel(chunks_, [&](std::uint64_t c) {
      constexpr std::uint64_t step = 512;
      std::uint64_t rank[step], lowest = ~std::uint64_t{0}, highest = 0;
      const std::uint64_t end = std::min((c + 1) * chunk_, problem_.count);
      for (std::uint64_t i = c * chunk_; i < end; i += step) {
        const std::uint64_t count = std::min(step, end - i);
        ranks(keys + i, rank, count);
        for (std::uint64_t k = 0; k < count; ++k) {
          lowest = std::min(lowest, rank[k]);
          highest = std::max(highest, rank[k]);
        }
      }
      found[c] = {lowest, highest};
    });
    auto [lowest, highest] = found[0];
    for (const auto& [a, b] : found) lowest = std::min(lowest, a), highest = std::max(highest, b);
    return window_of(lowest, highest, bits);
  }

  // What decides a record's place: its key's code, where ties have one and the same, or the bits that were asked for.
  template <class Key>
  void ranks(const Key* keys, std::uint64_t* to, std::uint64_t count) const {
    if (!all_bits_) {
      const unsigned end = problem_.end_bit == 0 ? info(problem_.key).bits() : problem_.end_bit;
      const unsigned begin = problem_.begin_bit;
      const std::uint64_t mask = ~std::uint64_t{0} >> (64 - (end - begin));
      for (std::uint64_t i = 0; i < count; ++i) to[i] = order_bits(keys[i], problem_.key, problem_.order) >> begin & mask;
      return;
    }
    const auto coding = coding_of<Key>(problem_);
    constexpr std::uint64_t step = 256;
    Key code[step];
    for (std::uint64_t i = 0; i < count; i += step) {
      const std::uint64_t some = std::min(step, count - i);
      sample::encode(keys + i, code, some, coding);
      if (coding.is_float)
        for (std::uint64_t k = 0; k < some; ++k)
          code[k] = std::min<Key>(code[k] - (code[k] == Ties<Key>::first_zero + 1), Ties<Key>::first_nan);
      for (std::uint64_t k = 0; k < some; ++k) to[i + k] = code[k];
    }
  }

  // Sorted words whose windows were too narrow for the ranks: runs of equal ones, sorted by the ranks themselves.
  template <class Key>
  void sort_ties(const Key* keys, std::uint64_t* words, std::uint64_t count, unsigned position_bits) const {
    const std::uint64_t mask = (std::uint64_t{1} << position_bits) - 1;
    for (std::uint64_t begin = 0, end = 0; begin < count; begin = end) {
      for (end = begin + 1; end < count && words[end] >> position_bits == words[begin] >> position_bits;) ++end;
      if (end - begin > 1) sort_run(keys, words + begin, end - begin, position_bits, mask);
    }
  }

  template <class Key>
  void sort_run(const Key* keys, std::uint64_t* words, std::uint64_t count, unsigned position_bits, std::uint64_t mask) const {
    const auto rank = [&](std::uint64_t word) {
      std::uint64_t r = 0;
      ranks(keys + (word & mask), &r, 1);
      return r;
    };
    // Narrower ranks, narrower windows: each round settles 64 - position_bits bits more.
    std::uint64_t lowest = ~std::uint64_t{0}, highest = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t r = rank(words[i]);
      lowest = std::min(lowest, r);
      highest = std::max(highest, r);
    }
    if (lowest == highest) return;
    const Window window = window_of(lowest, highest, 64 - position_bits);
    for (std::uint64_t i = 0; i < count; ++i)
      words[i] = (rank(words[i]) - window.lowest) >> window.shift << position_bits | (words[i] & mask);
    sample::sort_words(words, count);
    if (window.shift != 0) sort_ties(keys, words, count, position_bits);
  }

  // The sort itself. make(to, begin, count) writes the words of `count` records, and settle(begin, count) is told when a
  // chunk's are partitioned, in the first scratch; gather(to, from, count) takes them to their part, and finish(part,
  // begin, count) sorts a part, which begins at record `begin` of the output. `out`, where the parts are put together,
  // may be what make() reads. `deciding`: the bits of a word that say to which part it belongs.
  template <class Word, class Make, class Settle, class Gather, class Finish>
  void sort_words(Queue& queue, const Operands& o, const Make& make, const Settle& settle, const Gather& gather,
                  const Finish& finish, Word* out, Word deciding, bool ties) const {
    const std::uint64_t n = problem_.count;
    Word* const chunked = at<Word>(words_[0].in(o));
    Word* const splitters = at<Word>(splitters_.in(o));
    std::size_t* const ends = at<std::size_t>(ends_.in(o));
    std::size_t* const begins = at<std::size_t>(begins_.in(o));
    std::uint64_t parts = 1;

    queue.call("partition", [&] {
      parts = 1 + choose_splitters(o, make, splitters, deciding, ties);
      parallel(chunks_, [&](std::uint64_t c) {
        const std::uint64_t begin = c * chunk_, count = std::min(chunk_, n - begin);
        make(chunked + begin, begin, count);
        sample::partition_words(chunked + begin, count, splitters, parts - 1, ends + c * parts, out + begin);
        settle(begin, count);
      });
      std::fill_n(begins, parts + 1, 0);
      for (std::uint64_t c = 0; c < chunks_; ++c)
        for (std::uint64_t p = 0; p < parts; ++p) begins[p + 1] += size_of(ends + c * parts, p);
      std::partial_sum(begins, begins + parts + 1, begins);
    });

    queue.call("sort", [&] {
      parallel(parts, [&](std::uint64_t p) {
        Word* to = out + begins[p];
        for (std::uint64_t c = 0; c < chunks_; ++c) {
          const std::size_t* const mine = ends + c * parts;
          const std::size_t count = size_of(mine, p);
          gather(to, c * chunk_ + mine[p] - count, count);
          to += count;
        }
        if (begins[p + 1] != begins[p]) finish(out + begins[p], begins[p], begins[p + 1] - begins[p]);
      });
    });
  }

  static std::size_t size_of(const std::size_t* ends, std::uint64_t part) {
    return ends[part] - (part == 0 ? 0 : ends[part - 1]);
  }

  // Gives how many there are: of equal ones, one.
  template <class Word, class Make>
  std::uint64_t choose_splitters(const Operands& o, const Make& make, Word* splitters, Word deciding, bool ties) const {
    std::uint64_t count = 0;
    if (parts_ > 1) {
      Word* const samples = at<Word>(samples_.in(o));
      const std::uint64_t wanted = parts_ * oversampling;
      std::uint64_t state = 0x9e3779b97f4a7c15u;  // positions that no pattern of the input keeps step with
      for (std::uint64_t i = 0; i < wanted; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        make(samples + i, (state >> 20) % problem_.count, 1);
      }
      sample::sort_words(samples, wanted);
      for (; count + 1 < parts_; ++count) splitters[count] = samples[(count + 1) * oversampling] & deciding;
    }
    if (ties) {
      for (const Word w : {Ties<Word>::first_zero, static_cast<Word>(Ties<Word>::first_zero + 2), Ties<Word>::first_nan})
        splitters[count++] = w;
      // Nothing may part the two zeros, nor NaN from each other.
      std::sort(splitters, splitters + count);
      count = static_cast<std::uint64_t>(std::remove_if(splitters, splitters + count, [](Word w) {
                return w == Ties<Word>::first_zero + 1 || w > Ties<Word>::first_nan;
              }) - splitters);
    }
    return static_cast<std::uint64_t>(std::unique(splitters, splitters + count) - splitters);
  }

  Problem problem_;
  unsigned key_bytes_, threads_ = 1;
  bool all_bits_ = true, records_ = false, keeps_keys_ = false;
  std::uint64_t chunk_ = 0, chunks_ = 0, parts_ = 1;  // records of a chunk; how many there are of either
  ScratchLayout scratch_;
  ScratchLayout::Slice words_[2], keys_, values_, splitters_, samples_, ends_, begins_;
  std::unique_ptr<tbb::task_arena> arena_;
};

class Sample final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "sample",
        .title = "sample sort on the host's cores, with vector instructions: cpu:0's own",
        .source = "Frazer, McKellar 1970; Wassenberg, Blacher, Giesen, Sanders 2022",
        .stable = true,
        .comparison = true,
        .host = true,
        .cost = "keys: two readings and writings and a quicksort in cache; records: words of 8 bytes, and each record "
                "fetched from where it was",
        .parameters = {{"threads", "that take part at most", 1, 1024, {}},
                       {"parts", "that are sorted each by itself", 1, 4096, {}},
                       {"chunk", "records that are partitioned together", 64, 1 << 24, {}}}};
    return info;
  }

  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    return std::make_unique<SampleSorter>(problem, device, given);
  }
};

}  // namespace

const Algorithm& rooms::sample() {
  static const Sample room;
  return room;
}

}  // namespace sortium
