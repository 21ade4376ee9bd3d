// Sorts segments on the host's cores. First, each core sorts short segments by itself, with cpu:0's
// single-threaded sorts. Then all cores together sort the long segments, one after the other. All
// threads are of one oneTBB arena, which limits their number. The sort must not fail after it has
// begun to write the output, so all its memory is scratch memory.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>

#include "../../device/host_threads.hpp"
#include "../catalog.hpp"
#include "../sample/codes.hpp"
#include "../sample/order_words.hpp"
#include "../sample/ranks.hpp"
#include "group_records.hpp"
#include "host_offsets.hpp"

namespace sortium {
namespace {

constexpr std::uint64_t alone = 1u << 15;      // a segment of at most this many records is short
constexpr std::uint64_t least_of_floats = 32;  // in shorter segments, codes are sorted faster
constexpr std::uint64_t group = 1u << 12;      // records of neighbouring segments sorted together

template <class T>
T* at(const Memory& m) {
  return reinterpret_cast<T*>(static_cast<std::byte*>(m.handle) + m.offset);
}

template <class F>
void with_unsigned(unsigned bytes, const F& f) {
  if (bytes == 1)
    f(std::uint8_t{});
  else if (bytes == 2)
    f(std::uint16_t{});
  else if (bytes == 4)
    f(std::uint32_t{});
  else
    f(std::uint64_t{});
}

class SegmentedHostSorter final : public Sorter {
 public:
  SegmentedHostSorter(const Problem& problem, const Capabilities& device, const Parameters& given)
      : problem_(problem),
        ranks_(problem, sample::has_codes(problem)),
        threads_(problem.count <= alone
                     ? 1
                     : static_cast<unsigned>(given.number("threads", device.compute_units))) {
    if (problem.segments == 0)
      throw Error(ErrorCode::unsupported, "segmented-host: sorts segments, and there are none");
    const Problem longest = segment(std::min(problem.count, alone));
    few_bytes_ = catalog::sample_few_scratch(longest);
    if (catalog::counting_suits(longest))
      few_bytes_ = std::max(few_bytes_, catalog::counting_few_scratch(longest));
    few_bytes_ = (few_bytes_ + 63) / 64 * 64;
    std::uint64_t bytes = threads_.count() * few_bytes_;
    // Add a quarter. A segment that is shorter than the list may have one part less. Then its parts
    // are larger, and need more memory: by at most a quarter, because there are four parts or more.
    if (problem.count > alone) {
      const Problem all = segment(problem.count);
      const std::uint64_t whole = catalog::counting_suits(all)
                                      ? catalog::counting_in_arena_scratch(all, threads_.count())
                                      : catalog::sample_in_arena_scratch(all, threads_.count());
      bytes = std::max(bytes, whole + whole / 4);
    }
    scratch_ = layout_.add(bytes);
    if (threads_.count() > 1) done_ = layout_.add(problem.segments);
    offsets_ = layout_.add(segmented::spare_offset_bytes(problem));
  }

  std::uint64_t scratch_bytes() const override { return layout_.bytes(); }
  std::string parameters() const override { return fmt::format("threads={}", threads_.count()); }
  void build(Device&, const Capabilities&) override { threads_.start(); }

  void enqueue(Queue& queue, const Operands& o) override {
    threads_.run([&] {
      segmented::with_offsets(problem_, o.offsets, offsets_.in(o),
                              [&](const auto* offsets) { sort(queue, o, offsets); });
    });
  }

 private:
  [[nodiscard]] Problem segment(std::uint64_t count) const {
    Problem p = problem_;
    p.segments = 0;
    p.count = count;
    return p;
  }

  template <class Offset>
  void sort(Queue& queue, const Operands& o, const Offset* offsets) const {
    host::call(queue, "short", [&] { sort_short(o, offsets); });
    if (problem_.count <= alone) return;
    for (std::uint64_t s = 0; s < problem_.segments; ++s) {
      const std::uint64_t begin = offsets[s], count = offsets[s + 1] - begin;
      if (count > alone) sort_long(queue, slice(o, begin, count, scratch_.in(o)), begin, count);
    }
  }

  template <class Offset>
  void sort_short(const Operands& o, const Offset* offsets) const {
    const auto some = [&](std::uint64_t first, std::uint64_t last) {
      sort_short(o, offsets, first, last);
    };
    if (threads_.count() == 1)
      some(0, problem_.segments);
    else
      host::once_for(problem_.segments, at<std::uint8_t>(done_.in(o)), false, some);
  }

  void sort_long(Queue& queue, const Operands& o, std::uint64_t begin, std::uint64_t count) const {
    const Problem p = segment(count);
    (catalog::counting_suits(p) ? catalog::counting_in_arena : catalog::sample_in_arena)(
        queue, p, threads_.count(), o);
    if (problem_.payload == Payload::positions)
      host::call(queue, "positions", [&] { add_begin(o, begin, count); });
  }

  [[nodiscard]] Operands slice(const Operands& o, std::uint64_t begin, std::uint64_t count,
                               const Memory& scratch) const {
    const auto part = [&](const Memory& m, unsigned bytes) {
      return m ? m.slice(begin * bytes, count * bytes) : m;
    };
    const unsigned key = info(problem_.key).bytes, value = problem_.value_bytes;
    return {part(o.keys_in, key), part(o.keys_out, key), part(o.values_in, value),
            part(o.values_out, value), scratch};
  }

  // Adds `begin`, where the segment begins, to its positions, so that they refer to the whole
  // input.
  void add_begin(const Operands& o, std::uint64_t begin, std::uint64_t count) const {
    with_unsigned(problem_.value_bytes, [&](auto zero) {
      using Value = decltype(zero);
      Value* const values = at<Value>(o.values_out);
      for (std::uint64_t i = 0; i < count; ++i) values[i] = static_cast<Value>(values[i] + begin);
    });
  }

  template <class Offset>
  void sort_short(const Operands& o, const Offset* offsets, std::uint64_t first,
                  std::uint64_t last) const {
    for (std::uint64_t s = first, end = 0; s < last; s = end) {
      end = s + 1;
      if (offsets[end] - offsets[s] > alone) continue;
      while (end < last && offsets[end + 1] - offsets[s] <= group) ++end;
      if (!sort_by_codes(o, offsets, s, end)) sort_records(o, offsets, s, end);
    }
  }

  // Sorts short neighbouring segments: in groups or, if they are longer than a group, alone.
  template <class Offset>
  void sort_records(const Operands& o, const Offset* offsets, std::uint64_t first,
                    std::uint64_t last) const {
    constexpr std::uint64_t most = segmented::GroupRecords<std::uint32_t, std::uint32_t>::most;
    for (std::uint64_t s = first, end = 0; s < last; s = end) {
      end = s + 1;
      while (end < last && offsets[end + 1] - offsets[s] <= most) ++end;
      const std::uint64_t begin = offsets[s], count = offsets[end] - begin;
      const Problem p = segment(count);
      const bool counts = end == s + 1 && catalog::counting_suits(p);
      if (count > most || counts) {
        const Memory scratch = scratch_.in(o).slice(threads_.index() * few_bytes_, few_bytes_);
        const Operands mine = slice(o, begin, count, scratch);
        (counts ? catalog::counting_few : catalog::sample_few)(p, mine);
        if (problem_.payload == Payload::positions) add_begin(mine, begin, count);
        continue;
      }
      with_unsigned(info(problem_.key).bytes, [&](auto key) {
        if (problem_.value_bytes == 8 && problem_.payload != Payload::none)
          sort_group<decltype(key), std::uint64_t>(o, offsets, s, end);
        else
          sort_group<decltype(key), std::uint32_t>(o, offsets, s, end);
      });
    }
  }
  template <class Key, class Value, class Offset>
  void sort_group(const Operands& o, const Offset* offsets, std::uint64_t first,
                  std::uint64_t last) const {
    using Group = segmented::GroupRecords<Key, Value>;
    const std::uint64_t begin = offsets[first];
    const bool has_values = problem_.payload != Payload::none;
    const typename Group::Arrays arrays{
        at<const Key>(o.keys_in) + begin, problem_.keys_out ? at<Key>(o.keys_out) + begin : nullptr,
        problem_.payload == Payload::values ? at<const Value>(o.values_in) + begin : nullptr,
        has_values ? at<Value>(o.values_out) + begin : nullptr, begin};
    Group(problem_, ranks_).sort(arrays, std::span(offsets + first, last - first + 1));
  }

  // Sorts short neighbouring segments of keys without values: makes the codes of all of them, sorts
  // each segment's, and makes keys of them. Returns false if that is not possible. If the output is
  // the input, some segments may then be sorted.
  template <class Offset>
  bool sort_by_codes(const Operands& o, const Offset* offsets, std::uint64_t first,
                     std::uint64_t last) const {
    if (problem_.payload != Payload::none || !sample::has_codes(problem_)) return false;
    switch (info(problem_.key).bytes) {
      case 2:
        return sort_codes<std::uint16_t>(o, offsets, first, last);
      case 4:
        return sort_codes<std::uint32_t>(o, offsets, first, last);
      default:
        return sort_codes<std::uint64_t>(o, offsets, first, last);
    }
  }
  template <class Key, class Offset>
  bool sort_codes(const Operands& o, const Offset* offsets, std::uint64_t first,
                  std::uint64_t last) const {
    const std::uint64_t begin = offsets[first], count = offsets[last] - begin;
    const Key* const in = at<const Key>(o.keys_in) + begin;
    Key* const out = at<Key>(o.keys_out) + begin;
    const auto coding = sample::coding_of<Key>(problem_);
    if constexpr (sizeof(Key) >= 4)
      if (coding.is_float && problem_.order == Order::ascending &&
          count >= least_of_floats * (last - first) && sort_floats(in, out, offsets, first, last))
        return true;
    sample::encode(in, out, count, coding);
    if (coding.is_float && sample::ties_of(out, count).differ()) {
      if (in == out) sample::decode(out, count, coding);
      return false;
    }
    for (std::uint64_t s = first; s < last; ++s)
      sample::sort_words(out + (offsets[s] - begin), offsets[s + 1] - offsets[s]);
    sample::decode(out, count, coding);
    return true;
  }

  // Returns false if not all of these segments can be sorted without codes. Some are then sorted.
  template <class Key, class Offset>
  static bool sort_floats(const Key* in, Key* out, const Offset* offsets, std::uint64_t first,
                          std::uint64_t last) {
    const std::uint64_t begin = offsets[first];
    const bool are_plain = sample::copy_plain_floats(in, out, offsets[last] - begin);
    for (std::uint64_t s = first; s < last; ++s) {
      const std::uint64_t at = offsets[s] - begin, count = offsets[s + 1] - offsets[s];
      const auto numbers =
          are_plain ? std::optional(count) : sample::copy_numbers(in + at, out + at, count);
      if (!numbers) return false;
      sample::sort_plain_floats(out + at, *numbers);
    }
    return true;
  }

  Problem problem_;
  sample::Ranks ranks_;
  host::Threads threads_;
  std::uint64_t few_bytes_ = 0;  // a thread's own scratch memory
  ScratchLayout layout_;
  ScratchLayout::Slice scratch_, offsets_, done_;  // done_: a byte for each segment
};

class SegmentedHost final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "segmented-host",
        .title =
            "segments on the host's cores: short ones a core each, long ones by all of them; "
            "cpu:0's own",
        .source = "Frazer, McKellar 1970; Wassenberg, Blacher, Giesen, Sanders 2022",
        .stable = true,
        .comparison = true,
        .host = true,
        .segments = true,
        .cost = "as sample's, segment by segment",
        .parameters = {{"threads", "the most threads", 1, 1024, {}}}};
    return info;
  }

  Rank suits(const Problem&, const Capabilities&) const override { return Rank::only_one; }

  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    return std::make_unique<SegmentedHostSorter>(problem, device, given);
  }
};

}  // namespace

const Algorithm& catalog::segmented_host() {
  static const SegmentedHost algorithm;
  return algorithm;
}

}  // namespace sortium
