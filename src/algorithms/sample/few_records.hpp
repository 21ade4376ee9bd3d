// Sorts few records whose keys have codes of 4 or 8 bytes, or finds the first ones, on the calling
// thread. It orders the codes' places in the list, and then fetches keys and values, all from the
// core's cache. Lists of a few runs are merged. Others are partitioned once if they are long or
// floats of both signs. Words of 4 bytes order a part's places if they separate its codes; else
// words of 8 bytes do.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "insert_tail.hpp"
#include "layout.hpp"
#include "merge_pieces.hpp"
#include "merge_tags.hpp"
#include "place_order.hpp"
#include "positions.hpp"
#include "select_words.hpp"

namespace sortium::sample {

template <class Key, class Value>
class FewRecords {
 public:
  // Memory for `count` records, and the words of their order.
  struct Space {
    Key* codes;
    Value* values;       // may be null if values are not sorted in place
    std::uint64_t* own;  // two words of 8 bytes for each record
  };

  FewRecords(const Problem& problem, const Operands& o, const Space& space)
      : problem_(problem),
        count_(problem.count),
        limit_(records_out(problem)),
        in_(at<const Key>(o.keys_in)),
        values_in_(problem.payload == Payload::values ? at<const Value>(o.values_in) : nullptr),
        keys_out_(problem.keys_out ? at<Key>(o.keys_out) : nullptr),
        values_out_(problem.payload == Payload::none ? nullptr : at<Value>(o.values_out)),
        codes_(space.codes),
        values_(space.values),
        own_(space.own),
        coding_(coding_of<Key>(problem)) {}

  // Sorts all records.
  // Returns false, with nothing written to the output, if floats tie that differ: codes do not
  // contain their order.
  [[nodiscard]] bool sort() {
    if (sort_by_whole_order()) return true;
    Run runs[most_runs];
    const std::size_t found = find_runs(runs);
    if (found != 0 && !ties_fall(runs, found)) {
      merge(runs, found);
      return true;
    }
    encode(in_, codes_, count_, coding_);
    if (coding_.is_float && ties_of(codes_, count_).differ()) return false;
    save_values();
    const CodeRange range = range_of_codes(codes_, count_);
    if (found != 0)
      merge_by_places(runs, found, range);
    else if (count_ <= most_short_order && !are_sparse(range))
      write_part(0, count_, codes_, nullptr, range);
    else {
      std::iota(places(), places() + count_, 0u);
      partition(range);
    }
    return true;
  }

  // Writes the first problem.limit records of the sorted order. The output must not overlap the
  // input. Allocates memory for a sample.
  void sort_first() {
    const bool has_places = values_out_ != nullptr || coding_.is_float;
    for (unsigned attempt = 0;; ++attempt) {
      const Key bound = bound_of_first(attempt);
      const Coded<Key> all{in_, problem_.count, coding_};
      count_ = collect_within(all, Key{0}, bound, codes_).second;
      if (count_ < limit_) continue;
      if (has_places) places_up_to(all, bound, places());
      break;
    }
    if (coding_.is_float && ties_of(codes_, count_).differ()) {
      for (std::uint64_t i = 0; i < count_; ++i) codes_[i] = Ties<Key>::shared(codes_[i]);
      fetches_input_ = true;
    } else if (values_out_ == nullptr) {
      sort_and_decode(codes_, count_, coding_);
      std::memcpy(keys_out_, codes_, limit_ * sizeof(Key));
      return;
    }
    const CodeRange range = range_of_codes(codes_, count_);
    if (count_ <= most_short_order && !are_sparse(range))
      write_part(0, count_, codes_, places(), range);
    else
      partition(range);
  }

 private:
  static constexpr std::size_t most_runs = 8;
  static constexpr Key zero = Ties<Key>::first_zero;

  [[nodiscard]] std::uint32_t* places() const { return reinterpret_cast<std::uint32_t*>(own_); }

  // ---- the first records ----

  // Returns a code that is probably at or above that of the last wanted record. Each `attempt` is
  // more careful; attempt 2 returns the highest code.
  Key bound_of_first(unsigned attempt) const {
    constexpr Key all = static_cast<Key>(~Key{0});
    const double n = static_cast<double>(problem_.count), share = static_cast<double>(limit_) / n;
    const double samples = std::floor(3 * std::sqrt(n)), place = share * samples;
    const double slack = (attempt == 0 ? 2.5 : 16) * (2 + std::sqrt(place * (1 - share)));
    if (attempt == 2 || place + slack >= samples) return all;
    std::vector<Key> sample(static_cast<std::size_t>(samples));
    Positions positions(attempt);
    for (Key& code : sample) code = in_[positions.next(problem_.count)];
    encode(sample.data(), sample.data(), sample.size(), coding_);
    const Key bound =
        select_word(sample.data(), sample.size(), static_cast<std::size_t>(place + slack));
    return coding_.is_float ? Ties<Key>::with(bound).last : bound;
  }

  // ---- one run ----

  // Sorts lists that are in order, in reverse order, or in order except for a tail. Returns false,
  // with nothing written, for others.
  [[nodiscard]] bool sort_by_whole_order() {
    if (begins_in_order<false>(in_, count_, coding_)) {
      const std::uint64_t sorted = ascending(in_, count_, coding_);
      if (sorted == count_) {
        keep();
        return true;
      }
      if (count_ - sorted <= count_ / tail_share) {
        insert_tail(sorted);
        return true;
      }
    }
    if (!begins_in_order<true>(in_, count_, coding_) || falling(in_, count_, coding_) != count_)
      return false;
    reverse();
    return true;
  }
  void keep() const {
    if (keys_out_ != nullptr && keys_out_ != in_) std::memcpy(keys_out_, in_, count_ * sizeof(Key));
    if (values_out_ == nullptr) return;
    if (values_in_ == nullptr)
      std::iota(values_out_, values_out_ + count_, Value{0});
    else if (values_in_ != values_out_)
      std::memcpy(values_out_, values_in_, count_ * sizeof(Value));
  }
  void reverse() const {
    reverse_list(in_, keys_out_);
    if (values_in_ != nullptr) return reverse_list(values_in_, values_out_);
    for (std::uint64_t i = 0; values_out_ != nullptr && i < count_; ++i)
      values_out_[i] = static_cast<Value>(count_ - 1 - i);
  }
  template <class T>
  void reverse_list(const T* in, T* out) const {
    if (in == out)
      swap_reversed(out, out + (count_ + 1) / 2, count_ / 2);
    else if (out != nullptr)
      std::reverse_copy(in, in + count_, out);
  }
  void insert_tail(std::uint64_t sorted) {
    save_values();
    const Key* const keys = saved_keys();
    const std::uint64_t tail = count_ - sorted;
    std::uint64_t *const words = own_, *const cuts = words + tail;
    auto* const codes = reinterpret_cast<Key*>(cuts + tail);
    encode_tied(in_ + sorted, codes, tail, coding_);
    const PlaceOrder<Key, std::uint64_t> order(codes, tail, range_of_codes(codes, tail));
    order.sort(words);
    const InsertTail<Key, Value> insert({keys, values_in_, keys_out_, values_out_}, sorted, tail,
                                        words, order.mask(), cuts, coding_);
    insert.cut(0, tail);
    insert.write(0, count_);
  }
  // Returns the keys of the input, or a copy if they are sorted in place.
  [[nodiscard]] const Key* saved_keys() const {
    if (in_ != keys_out_) return in_;
    std::memcpy(codes_, in_, count_ * sizeof(Key));
    return codes_;
  }
  // If values are sorted in place, copies them; all later steps read the copy.
  void save_values() {
    if (values_in_ == nullptr || values_in_ != values_out_) return;
    std::memcpy(values_, values_in_, count_ * sizeof(Value));
    values_in_ = values_;
  }

  // ---- runs ----

  // Returns the number of runs; 0 if there are more than 8, or more than can be merged in less time
  // than sorting takes.
  std::size_t find_runs(Run* runs) const {
    constexpr std::uint64_t many = 1024, least_run = 128;
    const std::size_t most = count_ < many ? count_ / least_run : most_runs;
    if (most == 0 || !may_have_runs()) return 0;
    std::size_t found = 0;
    for (std::uint64_t begin = 0; begin < count_;) {
      if (found == most) return 0;
      const Key* const keys = in_ + begin;
      const std::uint64_t left = count_ - begin;
      const bool falls =
          left > 1 && tied_code_of(keys[0], coding_) > tied_code_of(keys[1], coding_);
      const std::uint64_t length =
          falls ? descending(keys, left, coding_) : ascending(keys, left, coding_);
      runs[found++] = {begin, begin + length, falls};
      begin += length;
    }
    return found;
  }
  // Returns false for most lists: their first 16 codes rise and fall often.
  [[nodiscard]] bool may_have_runs() const {
    constexpr std::uint64_t glance = 16, often = 3;
    std::uint64_t rises = 0, falls = 0;
    Key before = tied_code_of(in_[0], coding_);
    for (std::uint64_t i = 1; i < std::min(count_, glance); ++i) {
      const Key here = tied_code_of(in_[i], coding_);
      rises += before < here;
      falls += before > here;
      if (rises >= often && falls >= often) return false;
      before = here;
    }
    return true;
  }
  // True if keys of a falling run tie.
  [[nodiscard]] bool ties_fall(const Run* runs, std::size_t count) const {
    return std::any_of(runs, runs + count, [&](const Run& run) {
      return run.falls && step_kinds_of(in_ + run.begin, run.end - run.begin).tie;
    });
  }

  void merge(const Run* runs, std::size_t count) {
    save_values();
    const Key* const keys = saved_keys();
    const std::uint32_t* const records =
        TagMerge<Key>(keys, coding_, runs, count).merge(own_, own_ + count_);
    for (std::uint64_t i = 0; keys_out_ != nullptr && i < count_; ++i)
      keys_out_[i] = keys[records[i]];
    write_values(0, count_, [=](std::uint64_t i) { return records[i]; });
  }
  void merge_by_places(const Run* runs, std::size_t count, const CodeRange& range) const {
    const PlaceOrder<Key, std::uint64_t> order(codes_, count_, range);
    order.make(own_);
    std::size_t ends[most_runs + 1] = {0};
    for (std::size_t r = 0; r < count; ++r) {
      ends[r + 1] = runs[r].end;
      if (runs[r].falls)
        turn(own_ + runs[r].begin, runs[r].end - runs[r].begin, order.place_bits());
    }
    std::uint64_t* const words = merge_pieces<most_runs>(own_, own_ + count_, ends, count);
    order.finish(words);
    write(0, count_, codes_, [&](std::uint64_t i) { return words[i] & order.mask(); });
  }

  // ---- parts ----

  // True for 1024 or more floats of both signs. Most codes in their range belong to tiny numbers,
  // which rarely occur, so windows would separate few codes.
  [[nodiscard]] bool are_sparse(const CodeRange& range) const {
    constexpr std::uint64_t few = 1024;
    return coding_.is_float && count_ >= few && range.lowest < zero && zero < range.highest;
  }

  // Stably partitions codes and places(), and sorts the parts.
  void partition(const CodeRange& range) const {
    constexpr std::uint64_t wanted = most_short_order / 2, samples_of_part = 32;
    constexpr std::uint64_t most_parts = 16;  // one more if zero is a splitter
    const std::uint64_t parts = std::min(most_parts, ceil_div(count_, wanted));
    Key samples[most_parts * samples_of_part], splitters[most_parts + 1];
    Positions positions(Positions::splitters_seed);
    for (std::uint64_t i = 0; i < parts * samples_of_part; ++i)
      samples[i] = codes_[positions.next(count_)];
    sort_words(samples, parts * samples_of_part);
    std::size_t cuts = 0;
    for (std::uint64_t p = 1; p < parts; ++p) splitters[cuts++] = samples[p * samples_of_part];
    if (are_sparse(range)) splitters[cuts++] = zero;
    std::sort(splitters, splitters + cuts);
    cuts = static_cast<std::size_t>(std::unique(splitters, splitters + cuts) - splitters);

    std::size_t ends[most_parts + 2];
    partition_pairs(codes_, places(), count_, splitters, cuts, ends,
                    reinterpret_cast<Key*>(own_ + count_), places() + count_);
    for (std::size_t p = 0, begin = 0; p <= cuts && begin < limit_; begin = ends[p++])
      if (const std::size_t count = ends[p] - begin; count != 0)
        write_part(begin, count, codes_ + begin, places() + begin,
                   range_of_codes(codes_ + begin, count));
  }

  // Writes the records of `codes`, sorted, to the output at `begin`. codes[i] is that of record
  // places[i], or of record i if `places` is null.
  void write_part(std::uint64_t begin, std::uint64_t count, const Key* codes,
                  const std::uint32_t* places, const CodeRange& range) const {
    const PlaceOrder<Key, std::uint32_t> order(codes, count, range);
    if (order.separates()) return write_ordered<std::uint32_t>(order, begin, count, codes, places);
    write_ordered<std::uint64_t>(PlaceOrder<Key, std::uint64_t>(codes, count, range), begin, count,
                                 codes, places);
  }
  template <class Word>
  void write_ordered(const PlaceOrder<Key, Word>& order, std::uint64_t begin, std::uint64_t count,
                     const Key* codes, const std::uint32_t* places) const {
    auto* const words = reinterpret_cast<Word*>(own_ + count_);  // behind the places
    order.sort(words);
    const Word mask = order.mask();
    const std::uint64_t wanted = std::min(count, limit_ - begin);
    const auto from = [=](std::uint64_t i) { return words[i] & mask; };
    if (places == nullptr) return write(begin, wanted, codes, from);
    const auto record = [=](std::uint64_t i) { return places[words[i] & mask]; };
    if (fetches_input_)
      for (std::uint64_t i = 0; keys_out_ != nullptr && i < wanted; ++i)
        keys_out_[begin + i] = in_[record(i)];
    else
      write_keys(begin, wanted, codes, from);
    write_values(begin, wanted, record);
  }

  // ---- output ----

  // Writes the records at the places from(0), from(1), …
  template <class From>
  void write(std::uint64_t begin, std::uint64_t count, const Key* codes, const From& from) const {
    write_keys(begin, count, codes, from);
    write_values(begin, count, from);
  }
  template <class From>
  void write_keys(std::uint64_t begin, std::uint64_t count, const Key* codes,
                  const From& from) const {
    if (keys_out_ == nullptr) return;
    for (std::uint64_t i = 0; i < count; ++i) keys_out_[begin + i] = codes[from(i)];
    decode(keys_out_ + begin, count, coding_);
  }
  template <class From>
  void write_values(std::uint64_t begin, std::uint64_t count, const From& from) const {
    if (values_out_ == nullptr) return;
    Value* const to = values_out_ + begin;
    if (values_in_ == nullptr)
      for (std::uint64_t i = 0; i < count; ++i) to[i] = static_cast<Value>(from(i));
    else
      for (std::uint64_t i = 0; i < count; ++i) to[i] = values_in_[from(i)];
  }

  const Problem& problem_;
  std::uint64_t count_;         // of the codes
  std::uint64_t limit_;         // records that are written
  bool fetches_input_ = false;  // codes do not tell the keys
  const Key* in_;
  const Value* values_in_;  // null: values are positions
  Key* keys_out_;           // may be null
  Value* values_out_;
  Key* codes_;
  Value* values_;
  std::uint64_t* own_;
  Coding<Key> coding_;
};

}  // namespace sortium::sample
