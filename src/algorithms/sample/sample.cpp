// Sample sort for the host, with vector instructions and all cores: Frazer, McKellar, "Samplesort"
// (1970); the parts are sorted by Highway's vqsort (words.hpp). Chunks that fit a core's cache are
// partitioned by splitters from a sample; each part is then gathered from all chunks and sorted by
// itself.
//
// What is sorted are words without a payload. Keys alone: their codes. Records: the key's rank
// above the record's position, which makes the sort stable and says where the rest of the record
// is. Integers of 4 bytes with values of 4 are a word together; parts of those are sorted digit by
// digit, stably.
//
// Input that is sorted already is found by looking, piece by piece until one is not; and input that
// is a few runs up or down (runs.hpp) is merged.
#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include "../rooms.hpp"
#include "digits.hpp"
#include "ranks.hpp"
#include "runs.hpp"

namespace sortium {
namespace {

using sample::Coding;
using sample::coding_of;
using sample::RunFinder;
using sample::Ties;
using sample::Window;
using Runs = std::vector<sample::Run>;

constexpr std::uint64_t alone =
    1u << 15;  // up to so many records, one thread is done before others have woken

template <class T>
T* at(const Memory& m) {
  return reinterpret_cast<T*>(static_cast<std::byte*>(m.handle) + m.offset);
}

class SampleSorter final : public Sorter {
 public:
  SampleSorter(const Problem& problem, const Capabilities& device, const Parameters& given)
      : problem_(problem),
        key_bytes_(info(problem.key).bytes),
        all_bits_(key_bits(problem) == info(problem.key).bits()),
        coded_(all_bits_ && key_bytes_ >= 4 && problem.nan == NanOrder::last &&
               problem.zeros == ZeroOrder::tied),
        ranks_(problem, coded_) {
    records_ = problem.payload != Payload::none || !coded_;
    packed_ = problem.payload != Payload::none && problem.value_bytes == 4 && key_bytes_ == 4 &&
              !info(problem.key).is_float && all_bits_ && problem.count > alone &&
              problem.count < std::uint64_t{1} << 32;
    threads_ = static_cast<unsigned>(given.number("threads", device.compute_units));
    const std::uint64_t word = records_ ? 8 : key_bytes_, n = problem.count;
    // Chunks and their partition fit a second-level cache; parts are enough for all threads to end
    // at the same time. Of records, a part's words and values should fit, too; and of many, each
    // chunk should have a page's worth for each part.
    const bool many = records_ && !packed_ && n >= std::uint64_t{1} << 25;
    chunk_ = std::max<std::uint64_t>(given.number("chunk", std::uint64_t{1} << (many ? 17 : 16)),
                                     ceil_div(n, 4096));
    const std::uint64_t parts =
        std::clamp<std::uint64_t>(records_ ? n >> (packed_ ? 17 : 18) : 0, 8 * threads_, 1024);
    parts_ = n <= alone ? 1 : std::min(given.number("parts", parts), n);
    if (n <= alone) threads_ = 1, chunk_ = n;
    chunks_ = ceil_div(n, std::max<std::uint64_t>(chunk_, 1));
    keys_ = scratch_.add(n * key_bytes_ + (packed_ ? n * 4 : 0));
    if (packed_)
      values_ = {keys_.offset + n * 4, n * 4};
    else if (problem.payload != Payload::none)
      values_ = scratch_.add(n * problem.value_bytes);
    // Of records, each thread has a chunk's words and as much to spare, or a part's: those that are
    // twice the usual are rare.
    own_words_ = std::max(2 * chunk_, (packed_ ? 4 : 2) * ceil_div(n, parts_));
    if (records_) own_ = scratch_.add(threads_ * own_words_ * word);
    if (n <= alone && !info(problem.key).is_float) return;
    splitters_ = scratch_.add((parts_ + special) * word);
    samples_ = scratch_.add(parts_ == 1 ? 0 : parts_ * oversampling * word);
    ends_ = scratch_.add(chunks_ * (parts_ + special) * sizeof(std::size_t));
    begins_ = scratch_.add((parts_ + special + 1) * sizeof(std::size_t));
  }

  std::uint64_t scratch_bytes() const override { return scratch_.bytes(); }
  std::string parameters() const override {
    if (threads_ == 1 && parts_ == 1) return "threads=1";
    return fmt::format("threads={},parts={},chunk={}", threads_, parts_, chunk_);
  }
  void build(Device&, const Capabilities&) override {
    if (threads_ > 1) arena_ = std::make_unique<tbb::task_arena>(static_cast<int>(threads_));
  }

  void enqueue(Queue& queue, const Operands& o) override {
    if (arena_)
      arena_->execute([&] { sort_on(queue, o); });
    else
      sort_on(queue, o);
  }

  // With no more than `alone` records: the same, with no queue.
  void run_alone(const Operands& o) const {
    Now now;
    sort_on(now, o);
  }

 private:
  static constexpr std::uint64_t special = 4;  // splitters that floats need, and one to spare
  static constexpr std::uint64_t oversampling = 64;

  struct Now {
    template <class Work>
    void call(std::string_view, const Work& work) const {
      work();
    }
  };

  template <class Body>
  void parallel(std::uint64_t count, const Body& body) const {
    if (threads_ == 1)
      for (std::uint64_t i = 0; i < count; ++i) body(i);
    else
      tbb::parallel_for(
          tbb::blocked_range<std::uint64_t>(0, count, 1),
          [&](const auto& range) {
            for (auto i = range.begin(); i != range.end(); ++i) body(i);
          },
          tbb::simple_partitioner{});
  }

  template <class Q>
  void sort_on(Q& queue, const Operands& o) const {
    switch (key_bytes_) {
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

  template <class Key, class Q>
  void sort(Q& queue, const Operands& o) const {
    Runs runs;
    if (problem_.count > alone) {
      queue.call("look", [&] { runs = find_runs(at<const Key>(o.keys_in)); });
      if (runs.size() == 1 && !runs[0].falls)
        return queue.call("copy", [&] { keep_order<Key>(o); });
    }
    if constexpr (sizeof(Key) == 4)
      if (packed_ && runs.empty()) return sort_packed(queue, o);
    const bool wide = problem_.payload != Payload::none && problem_.value_bytes == 8;
    if constexpr (sizeof(Key) >= 4)
      if (!records_) return sort_keys<Key>(queue, o, runs);
    if (wide)
      sort_records<Key, std::uint64_t>(queue, o, runs);
    else
      sort_records<Key, std::uint32_t>(queue, o, runs);
  }

  template <class Key>
  Runs find_runs(const Key* keys) const {
    RunFinder finder(problem_.count);
    const auto ranks_from = [&](std::uint64_t first, std::uint64_t* to, std::uint64_t count) {
      ranks_.of(keys + first, to, count);
    };
    finder.look(0, ranks_from);  // most often that is all: no other thread need wake for it
    if (!finder.given_up())
      parallel(finder.pieces() - 1, [&](std::uint64_t p) { finder.look(p + 1, ranks_from); });
    return finder.runs();
  }

  // The output is the input.
  template <class Key>
  void keep_order(const Operands& o) const {
    const std::uint64_t n = problem_.count, values = problem_.value_bytes;
    const auto copy = [&](const Memory& to, const Memory& from, std::uint64_t bytes,
                          std::uint64_t begin, std::uint64_t count) {
      if (at<std::byte>(to) != at<std::byte>(from))
        std::memcpy(at<std::byte>(to) + begin * bytes, at<std::byte>(from) + begin * bytes,
                    count * bytes);
    };
    parallel(chunks_, [&](std::uint64_t c) {
      const std::uint64_t begin = c * chunk_, count = std::min(chunk_, n - begin);
      if (problem_.keys_out) copy(o.keys_out, o.keys_in, sizeof(Key), begin, count);
      if (problem_.payload == Payload::values)
        copy(o.values_out, o.values_in, values, begin, count);
      if (problem_.payload != Payload::positions) return;
      for (std::uint64_t i = begin; i < begin + count; ++i) {
        if (values == 4)
          at<std::uint32_t>(o.values_out)[i] = static_cast<std::uint32_t>(i);
        else
          at<std::uint64_t>(o.values_out)[i] = i;
      }
    });
  }

  // Keys alone, which their codes can be turned back into. Scratch holds a chunk's codes, and the
  // output is where a part is sorted.
  template <class Key>
  struct KeySteps {
    const Key* in;
    Key *chunked, *out;
    Coding<Key> coding;

    Key* chunk(std::uint64_t begin) const { return chunked + begin; }
    Key* spare(std::uint64_t begin) const { return out + begin; }
    void make(Key* to, std::uint64_t begin, std::uint64_t count) const {
      sample::encode(in + begin, to, count, coding);
    }
    void settle(const Key*, std::uint64_t, std::uint64_t) const {}
    void prepare(std::uint64_t) {}
    Key* part(std::uint64_t begin, std::uint64_t) const { return out + begin; }
    void gather(Key* to, std::uint64_t from, std::uint64_t count) const {
      std::memcpy(to, chunked + from, count * sizeof(Key));
    }
    void finish(Key* part, std::uint64_t, std::uint64_t count) const {
      if (!tied(part)) sample::sort_words(part, count);
      sample::decode(part, count, coding);
    }
    // Floats that tie but differ are a part of their own, and keep the order of the input.
    bool tied(const Key* part) const { return coding.is_float && Ties<Key>::has(part[0]); }

    // Runs: a part's words are made in scratch memory and merged between there and their place in
    // the output, so any part has room, but none is left for a copy of the input.
    Key deciding(std::uint64_t i) const {
      Key code = 0;
      make(&code, i, 1);
      return coding.is_float ? Ties<Key>::shared(code) : code;
    }
    bool has_room(std::uint64_t) const { return true; }
    bool keep_input() const { return in != out; }
    void make_piece(Key* to, std::uint64_t begin, std::uint64_t count, bool falls) const {
      make(to, begin, count);
      if (falls && !tied(to)) std::reverse(to, to + count);
    }
    void place(Key* part, std::uint64_t begin, std::uint64_t count) const {
      if (part != out + begin) std::memcpy(out + begin, part, count * sizeof(Key));
      sample::decode(out + begin, count, coding);
    }
  };

  template <class Key, class Q>
  void sort_keys(Q& queue, const Operands& o, const Runs& runs) const {
    KeySteps<Key> steps{at<const Key>(o.keys_in), at<Key>(keys_.in(o)), at<Key>(o.keys_out),
                        coding_of<Key>(problem_)};
    if (problem_.count <= alone && !steps.coding.is_float) {
      queue.call("sort", [&] {
        steps.make(steps.out, 0, problem_.count);
        steps.finish(steps.out, 0, problem_.count);
      });
      return;
    }
    if (!runs.empty())
      return queue.call("merge", [&] { merge_runs<Key>(steps, runs, steps.coding.is_float); });
    sort_words<Key>(queue, o, steps, static_cast<Key>(~Key{0}), steps.coding.is_float);
  }

  // Keys and values of 4 bytes, as words that have both, the key's code above. A chunk's words are
  // partitioned in scratch memory.
  struct PackedSteps {
    const SampleSorter& sorter;
    const std::uint32_t *in, *values_in;   // values_in: nullptr where values are positions
    std::uint32_t *keys_out, *values_out;  // keys_out may be nullptr
    std::uint64_t *chunked, *own;
    std::uint32_t flip;
    std::uint64_t largest = 0;
    std::unique_ptr<std::uint64_t, decltype(&std::free)> large{nullptr, &std::free};

    // For what a part and its copy need.
    std::uint64_t room(std::uint64_t count) const {
      return 2 * count <= sorter.own_words_ ? sorter.own_words_ : 2 * largest;
    }
    std::uint64_t* mine(std::uint64_t count) const {
      const auto thread =
          sorter.threads_ == 1
              ? 0
              : static_cast<std::uint64_t>(tbb::this_task_arena::current_thread_index());
      return (2 * count <= sorter.own_words_ ? own : large.get()) + thread * room(count);
    }
    std::uint64_t* chunk(std::uint64_t begin) const { return chunked + begin; }
    std::uint64_t* spare(std::uint64_t) const { return mine(0); }
    void make(std::uint64_t* to, std::uint64_t begin, std::uint64_t count) const {
      if (values_in != nullptr)
        for (std::uint64_t i = 0; i < count; ++i)
          to[i] = std::uint64_t{in[begin + i] ^ flip} << 32 | values_in[begin + i];
      else
        for (std::uint64_t i = 0; i < count; ++i)
          to[i] = std::uint64_t{in[begin + i] ^ flip} << 32 | static_cast<std::uint32_t>(begin + i);
    }
    void settle(const std::uint64_t*, std::uint64_t, std::uint64_t) const {}
    // Nothing has been written to the output yet: a failure leaves the input as it was.
    void prepare(std::uint64_t largest_part) {
      largest = largest_part;
      if (2 * largest <= sorter.own_words_) return;
      const std::uint64_t bytes = sorter.threads_ * 2 * largest * sizeof(std::uint64_t);
      large.reset(static_cast<std::uint64_t*>(std::malloc(bytes)));
      if (!large)
        throw Error(ErrorCode::out_of_memory,
                    fmt::format("sample: asked for {} bytes, since many keys are alike", bytes));
    }
    std::uint64_t* part(std::uint64_t, std::uint64_t count) const { return mine(count); }
    void gather(std::uint64_t* to, std::uint64_t from, std::uint64_t count) const {
      std::memcpy(to, chunked + from, count * sizeof *to);
    }
    void finish(std::uint64_t* part, std::uint64_t begin, std::uint64_t count) const {
      const std::uint64_t* const sorted =
          sample::sort_upper_halves(part, part + room(count) / 2, count);
      if (keys_out != nullptr)
        for (std::uint64_t i = 0; i < count; ++i)
          keys_out[begin + i] = static_cast<std::uint32_t>(sorted[i] >> 32) ^ flip;
      for (std::uint64_t i = 0; i < count; ++i)
        values_out[begin + i] = static_cast<std::uint32_t>(sorted[i]);
    }
  };

  template <class Q>
  void sort_packed(Q& queue, const Operands& o) const {
    PackedSteps steps{.sorter = *this,
                      .in = at<const std::uint32_t>(o.keys_in),
                      .values_in = problem_.payload == Payload::values
                                       ? at<const std::uint32_t>(o.values_in)
                                       : nullptr,
                      .keys_out = problem_.keys_out ? at<std::uint32_t>(o.keys_out) : nullptr,
                      .values_out = at<std::uint32_t>(o.values_out),
                      .chunked = at<std::uint64_t>(keys_.in(o)),
                      .own = at<std::uint64_t>(own_.in(o)),
                      .flip = coding_of<std::uint32_t>(problem_).flip};
    sort_words<std::uint64_t>(queue, o, steps, ~std::uint64_t{0} << 32, false);
  }

  // Records. A chunk's words are partitioned in memory of its thread's own; what goes to scratch is
  // the records, in the order of their parts. A part's words are made anew from them, with
  // positions there: each record then is read from and written to main memory twice, and no word
  // ever is.
  template <class Key, class Value>
  struct RecordSteps {
    const SampleSorter& sorter;
    const Key* in;
    const Value* values_in;  // nullptr: values are positions
    Key *keys, *keys_out;    // keys_out may be nullptr
    Value *values, *values_out;
    std::uint64_t* own;
    unsigned position_bits;
    Window window;
    std::unique_ptr<std::uint64_t, decltype(&std::free)> large{nullptr, &std::free};

    std::uint64_t mask() const { return (std::uint64_t{1} << position_bits) - 1; }
    std::uint64_t* mine() const {
      return own +
             (sorter.threads_ == 1
                  ? 0
                  : static_cast<std::uint64_t>(tbb::this_task_arena::current_thread_index())) *
                 sorter.own_words_;
    }
    std::uint64_t* chunk(std::uint64_t) const { return mine(); }
    std::uint64_t* spare(std::uint64_t) const { return mine() + sorter.own_words_ / 2; }
    void words(const Key* from, std::uint64_t* to, std::uint64_t position,
               std::uint64_t count) const {
      sorter.ranks_.of(from, to, count);
      for (std::uint64_t i = 0; i < count; ++i)
        to[i] = (to[i] - window.lowest) >> window.shift << position_bits | (position + i);
    }
    void make(std::uint64_t* to, std::uint64_t begin, std::uint64_t count) const {
      words(in + begin, to, begin, count);
    }
    void settle(const std::uint64_t* chunk, std::uint64_t begin, std::uint64_t count) const {
      for (std::uint64_t i = 0; i < count; ++i) keys[begin + i] = in[chunk[i] & mask()];
      if (values == nullptr) return;
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t from = chunk[i] & mask();
        values[begin + i] = values_in != nullptr ? values_in[from] : static_cast<Value>(from);
      }
    }
    // Nothing has been written to the output yet: a failure leaves the input as it was.
    void prepare(std::uint64_t largest_part) {
      if (largest_part <= sorter.own_words_) return;
      large.reset(
          static_cast<std::uint64_t*>(std::malloc(sorter.problem_.count * sizeof(std::uint64_t))));
      if (!large)
        throw Error(ErrorCode::out_of_memory,
                    fmt::format("sample: asked for {} bytes, since many keys are alike",
                                sorter.problem_.count * sizeof(std::uint64_t)));
    }
    std::uint64_t* part(std::uint64_t begin, std::uint64_t count) const {
      return count <= sorter.own_words_ ? mine() : large.get() + begin;
    }
    void gather(std::uint64_t* to, std::uint64_t from, std::uint64_t count) const {
      words(keys + from, to, from, count);
    }
    void finish(std::uint64_t* part, std::uint64_t begin, std::uint64_t count) const {
      sample::sort_words(part, count);
      place(part, begin, count, keys, values);
    }
    bool tied(const std::uint64_t*) const { return false; }

    // Runs: a part's words are made and merged in memory of its thread's own.
    std::uint64_t deciding(std::uint64_t i) const {
      std::uint64_t word = 0;
      make(&word, i, 1);
      return word & ~mask();
    }
    bool has_room(std::uint64_t count) const { return count <= sorter.own_words_ / 2; }
    // What is sorted in place is read from a copy.
    bool keep_input() {
      const std::uint64_t n = sorter.problem_.count;
      const bool copy_keys = in == keys_out,
                 copy_values = values_in != nullptr && values_in == values_out;
      if (copy_keys || copy_values)
        sorter.parallel(sorter.chunks_, [&](std::uint64_t c) {
          const std::uint64_t begin = c * sorter.chunk_, count = std::min(sorter.chunk_, n - begin);
          if (copy_keys) std::memcpy(keys + begin, in + begin, count * sizeof(Key));
          if (copy_values) std::memcpy(values + begin, values_in + begin, count * sizeof(Value));
        });
      if (copy_keys) in = keys;
      if (copy_values) values_in = values;
      return true;
    }
    void make_piece(std::uint64_t* to, std::uint64_t begin, std::uint64_t count, bool falls) const {
      make(to, begin, count);
      if (falls) sample::turn(to, count, position_bits);
    }
    void place(std::uint64_t* part, std::uint64_t begin, std::uint64_t count) const {
      place(part, begin, count, in, values_in);
    }
    // The records of sorted words, from those that the words' positions are of, to the output.
    void place(std::uint64_t* part, std::uint64_t begin, std::uint64_t count, const Key* from,
               const Value* values_from) const {
      if (window.shift != 0) sorter.ranks_.sort_ties(from, part, count, position_bits);
      if (values_from != nullptr)
        sample::fetch(part, count, mask(), values_from, values_out + begin);
      else if (values_out != nullptr)
        for (std::uint64_t i = 0; i < count; ++i)
          values_out[begin + i] = static_cast<Value>(part[i] & mask());
      if (keys_out == nullptr) return;
      // A word holds the whole key only of integers, sorted by all their bits.
      if (window.shift != 0 || !sorter.all_bits_ || info(sorter.problem_.key).is_float)
        return sample::fetch(part, count, mask(), from, keys_out + begin);
      const Key flip = coding_of<Key>(sorter.problem_).flip;
      for (std::uint64_t i = 0; i < count; ++i)
        keys_out[begin + i] = static_cast<Key>(((part[i] >> position_bits) + window.lowest) ^ flip);
    }
  };

  template <class Key, class Value, class Q>
  void sort_records(Q& queue, const Operands& o, const Runs& runs) const {
    const std::uint64_t n = problem_.count;
    const bool with_values = problem_.payload != Payload::none;
    RecordSteps<Key, Value> steps{
        .sorter = *this,
        .in = at<const Key>(o.keys_in),
        .values_in = problem_.payload == Payload::values ? at<const Value>(o.values_in) : nullptr,
        .keys = at<Key>(keys_.in(o)),
        .keys_out = problem_.keys_out ? at<Key>(o.keys_out) : nullptr,
        .values = with_values ? at<Value>(values_.in(o)) : nullptr,
        .values_out = with_values ? at<Value>(o.values_out) : nullptr,
        .own = at<std::uint64_t>(own_.in(o)),
        .position_bits = std::max(1u, static_cast<unsigned>(std::bit_width(n - 1))),
        .window = {}};
    if (n <= alone) {
      queue.call("sort", [&] {
        steps.window = find_window(steps.in, 64 - steps.position_bits);
        std::memcpy(steps.keys, steps.in, n * sizeof(Key));
        for (std::uint64_t i = 0; with_values && i < n; ++i)
          steps.values[i] = steps.values_in != nullptr ? steps.values_in[i] : static_cast<Value>(i);
        steps.gather(steps.own, 0, n);
        steps.finish(steps.own, 0, n);
      });
      return;
    }
    queue.call("range", [&] { steps.window = find_window(steps.in, 64 - steps.position_bits); });
    if (!runs.empty()) {
      bool merged = false;
      queue.call("merge", [&] { merged = merge_runs<std::uint64_t>(steps, runs, false); });
      if (merged) return;
    }
    // What ties in its window must not be parted by its position: the rest of the rank comes first.
    const std::uint64_t deciding = steps.window.shift == 0 ? ~std::uint64_t{0} : ~steps.mask();
    sort_words<std::uint64_t>(queue, o, steps, deciding, false);
  }

  // Each part of the output, between two splitters, is merged by itself: the words of its piece of
  // every run. False, with nothing done, where so many keys are alike that a part would be too
  // large for a thread's memory.
  template <class Word, class Steps>
  bool merge_runs(Steps& steps, const Runs& runs, bool ties) const {
    const std::uint64_t n = problem_.count;
    constexpr std::uint64_t part_records = 1u << 14, samples_of_part = 8;
    std::vector<Word> samples(ceil_div(n, part_records) * samples_of_part), splitters;
    for (std::uint64_t i = 0; i < samples.size(); ++i)
      samples[i] = steps.deciding(i * n / samples.size());
    sample::sort_words(samples.data(), samples.size());
    for (std::uint64_t i = samples_of_part; i < samples.size(); i += samples_of_part)
      splitters.push_back(samples[i]);
    if (ties) {
      splitters.insert(splitters.end(), Ties<Word>::splitters.begin(), Ties<Word>::splitters.end());
      std::sort(splitters.begin(), splitters.end());
    }

    // How many records of each run come before each part, and of all.
    const std::uint64_t parts = splitters.size() + 1;
    std::vector<std::uint64_t> cuts((parts + 1) * runs.size()), begins(parts + 1);
    parallel(parts + 1, [&](std::uint64_t p) {
      for (std::size_t r = 0; r < runs.size(); ++r) {
        const auto [begin, end, falls] = runs[r];
        std::uint64_t low = 0, high = end - begin;
        if (p == 0) high = 0;
        if (p == parts) low = high;
        while (low < high) {
          const std::uint64_t middle = (low + high) / 2;
          if (steps.deciding(falls ? end - 1 - middle : begin + middle) < splitters[p - 1])
            low = middle + 1;
          else
            high = middle;
        }
        cuts[p * runs.size() + r] = low;
        begins[p] += low;
      }
    });
    for (std::uint64_t p = 0; p < parts; ++p)
      if (!steps.has_room(begins[p + 1] - begins[p])) return false;

    const auto make = [&](std::uint64_t p) {
      Word* to = steps.chunk(begins[p]);
      for (std::size_t r = 0; r < runs.size(); ++r) {
        const std::uint64_t low = cuts[p * runs.size() + r], high = cuts[(p + 1) * runs.size() + r];
        if (low == high) continue;
        const auto [begin, end, falls] = runs[r];
        steps.make_piece(to, falls ? end - high : begin + low, high - low, falls);
        to += high - low;
      }
    };
    const auto merge = [&](std::uint64_t p) {
      const std::uint64_t count = begins[p + 1] - begins[p];
      if (count == 0) return;
      Word* words = steps.chunk(begins[p]);
      std::size_t ends[RunFinder::most + 1] = {0}, pieces = 0;
      for (std::size_t r = 0; r < runs.size(); ++r) {
        const std::uint64_t some = cuts[(p + 1) * runs.size() + r] - cuts[p * runs.size() + r];
        if (some == 0) continue;
        ends[pieces + 1] = ends[pieces] + some;
        ++pieces;
      }
      if (!steps.tied(words))
        words = sample::merge_pieces(words, steps.spare(begins[p]), ends, pieces);
      steps.place(words, begins[p], count);
    };
    // Where the output takes the input's place, all parts' words are made before any part is
    // written.
    if (steps.keep_input()) {
      parallel(parts, [&](std::uint64_t p) {
        make(p);
        merge(p);
      });
    } else {
      parallel(parts, make);
      parallel(parts, merge);
    }
    return true;
  }

  template <class Key>
  Window find_window(const Key* keys, unsigned bits) const {
    if (bits >= sizeof(Key) * 8) return {};
    std::vector<std::pair<std::uint64_t, std::uint64_t>> found(chunks_);
    parallel(chunks_, [&](std::uint64_t c) {
      constexpr std::uint64_t step = 512;
      std::uint64_t rank[step], lowest = ~std::uint64_t{0}, highest = 0;
      const std::uint64_t end = std::min((c + 1) * chunk_, problem_.count);
      for (std::uint64_t i = c * chunk_; i < end; i += step) {
        const std::uint64_t count = std::min(step, end - i);
        ranks_.of(keys + i, rank, count);
        for (std::uint64_t k = 0; k < count; ++k) {
          lowest = std::min(lowest, rank[k]);
          highest = std::max(highest, rank[k]);
        }
      }
      found[c] = {lowest, highest};
    });
    auto [lowest, highest] = found[0];
    for (const auto& [a, b] : found) lowest = std::min(lowest, a), highest = std::max(highest, b);
    return sample::window_of(lowest, highest, bits);
  }

  // The sort itself, in the steps of the two above. `deciding`: the bits of a word that say to
  // which part it belongs.
  template <class Word, class Steps, class Q>
  void sort_words(Q& queue, const Operands& o, Steps& steps, Word deciding, bool ties) const {
    const std::uint64_t n = problem_.count;
    Word* const splitters = at<Word>(splitters_.in(o));
    std::size_t* const ends = at<std::size_t>(ends_.in(o));
    std::size_t* const begins = at<std::size_t>(begins_.in(o));
    std::uint64_t parts = 1;

    queue.call("partition", [&] {
      parts = 1 + choose_splitters(o, steps, splitters, deciding, ties);
      parallel(chunks_, [&](std::uint64_t c) {
        const std::uint64_t begin = c * chunk_, count = std::min(chunk_, n - begin);
        Word* const chunk = steps.chunk(begin);
        steps.make(chunk, begin, count);
        sample::partition_words(chunk, count, splitters, parts - 1, ends + c * parts,
                                steps.spare(begin));
        steps.settle(chunk, begin, count);
      });
      std::fill_n(begins, parts + 1, 0);
      for (std::uint64_t c = 0; c < chunks_; ++c)
        for (std::uint64_t p = 0; p < parts; ++p) begins[p + 1] += size_of(ends + c * parts, p);
      steps.prepare(*std::max_element(begins, begins + parts + 1));
      std::partial_sum(begins, begins + parts + 1, begins);
    });

    queue.call("sort", [&] {
      parallel(parts, [&](std::uint64_t p) {
        const std::uint64_t total = begins[p + 1] - begins[p];
        if (total == 0) return;
        Word* const part = steps.part(begins[p], total);
        Word* to = part;
        for (std::uint64_t c = 0; c < chunks_; ++c) {
          const std::size_t* const mine = ends + c * parts;
          const std::size_t count = size_of(mine, p);
          steps.gather(to, c * chunk_ + mine[p] - count, count);
          to += count;
        }
        steps.finish(part, begins[p], total);
      });
    });
  }

  static std::size_t size_of(const std::size_t* ends, std::uint64_t part) {
    return ends[part] - (part == 0 ? 0 : ends[part - 1]);
  }

  // Gives how many there are: of equal ones, one.
  template <class Word, class Steps>
  std::uint64_t choose_splitters(const Operands& o, const Steps& steps, Word* splitters,
                                 Word deciding, bool ties) const {
    std::uint64_t count = 0;
    if (parts_ > 1) {
      Word* const samples = at<Word>(samples_.in(o));
      const std::uint64_t wanted = parts_ * oversampling;
      std::uint64_t state =
          0x9e3779b97f4a7c15u;  // positions that no pattern of the input keeps step with
      for (std::uint64_t i = 0; i < wanted; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        steps.make(samples + i, (state >> 20) % problem_.count, 1);
      }
      sample::sort_words(samples, wanted);
      for (; count + 1 < parts_; ++count)
        splitters[count] = samples[(count + 1) * oversampling] & deciding;
    }
    if (ties) {
      for (const Word w : Ties<Word>::splitters) splitters[count++] = w;
      // Nothing may part the two zeros, nor NaN from each other.
      std::sort(splitters, splitters + count);
      count = static_cast<std::uint64_t>(std::remove_if(splitters, splitters + count,
                                                        [](Word w) {
                                                          return w == Ties<Word>::first_zero + 1 ||
                                                                 w > Ties<Word>::first_nan;
                                                        }) -
                                         splitters);
    }
    return static_cast<std::uint64_t>(std::unique(splitters, splitters + count) - splitters);
  }

  Problem problem_;
  unsigned key_bytes_, threads_ = 1;
  bool all_bits_;
  // Codes are made of 4- and 8-byte keys, and know the usual order of floats; other ranks are
  // worked out one by one.
  bool coded_;
  sample::Ranks ranks_;
  bool records_ = false, packed_ = false;
  std::uint64_t chunk_ = 0, chunks_ = 0,
                parts_ = 1;      // records of a chunk; how many there are of either
  std::uint64_t own_words_ = 0;  // of each thread's memory
  ScratchLayout scratch_;
  ScratchLayout::Slice keys_, values_, own_, splitters_, samples_, ends_, begins_;
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
        .cost =
            "keys: two readings and writings and a quicksort in cache; records: words of 8 bytes, "
            "and each record "
            "fetched from where it was; 32-bit integers with 32-bit values: words of both, radix "
            "sorted in cache",
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

void rooms::sample_few(const Problem& problem, const Operands& operands) {
  Capabilities one_core;
  const SampleSorter sorter(problem, one_core, {});
  if (operands.scratch) return sorter.run_alone(operands);
  constexpr std::size_t on_stack = 1u << 15;
  Operands o = operands;
  if (sorter.scratch_bytes() <= on_stack) {
    alignas(64) std::byte scratch[on_stack];
    o.scratch.handle = scratch;
    return sorter.run_alone(o);
  }
  const std::unique_ptr<void, decltype(&std::free)> scratch(
      std::aligned_alloc(64, (sorter.scratch_bytes() + 63) / 64 * 64), &std::free);
  if (!scratch)
    throw Error(ErrorCode::out_of_memory,
                fmt::format("cpu:0: asked for {} bytes", sorter.scratch_bytes()));
  o.scratch.handle = scratch.get();
  sorter.run_alone(o);
}

std::uint64_t rooms::sample_few_scratch(const Problem& problem) {
  return SampleSorter(problem, Capabilities{}, {}).scratch_bytes();
}

const Algorithm& rooms::sample() {
  static const Sample room;
  return room;
}

}  // namespace sortium
