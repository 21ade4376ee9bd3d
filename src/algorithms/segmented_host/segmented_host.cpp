// Segments on the host's cores: every core sorts short ones by itself, with sample's sort for the
// calling thread; long ones are then sorted one after the other by all cores. Bounded by one arena
// of threads at any time.
#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <memory>
#include <type_traits>

#include "../rooms.hpp"

namespace sortium {
namespace {

constexpr std::uint64_t alone = 1u << 15;  // up to so many records, a segment is one thread's
constexpr std::uint64_t inserted = 24;     // up to so many, records are inserted one by one

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
      : problem_(problem), device_(device) {
    if (problem.segments == 0)
      throw Error(ErrorCode::unsupported, "segmented-host: sorts segments, and there are none");
    threads_ = static_cast<unsigned>(given.number("threads", device.compute_units));
    if (problem.count <= alone) threads_ = 1;
    device_.compute_units = threads_;
    few_bytes_ =
        (rooms::sample_few_scratch(segment(std::min(problem.count, alone))) + 63) / 64 * 64;
    std::uint64_t bytes = threads_ * few_bytes_;
    // A smaller problem may take a little more than a larger one, where the number of parts grows
    // by one: of no fewer than eight, less than an eighth more for each.
    if (problem.count > alone) {
      const std::uint64_t whole =
          rooms::sample().plan(segment(problem.count), device_, {})->scratch_bytes();
      bytes = std::max(bytes, whole + whole / 8);
    }
    scratch_ = layout_.add(bytes);
  }

  std::uint64_t scratch_bytes() const override { return layout_.bytes(); }
  std::string parameters() const override { return fmt::format("threads={}", threads_); }
  void build(Device&, const Capabilities&) override {
    if (threads_ > 1) arena_ = std::make_unique<tbb::task_arena>(static_cast<int>(threads_));
  }

  void enqueue(Queue& queue, const Operands& o) override {
    if (problem_.offset_bytes == 4)
      sort(queue, o, at<const std::uint32_t>(o.offsets));
    else
      sort(queue, o, at<const std::uint64_t>(o.offsets));
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
    std::uint64_t longs = 0;
    queue.call("short", [&] {
      if (threads_ == 1)
        sort_short(o, offsets, 0, problem_.segments);
      else
        arena_->execute([&] {
          tbb::parallel_for(
              tbb::blocked_range<std::uint64_t>(0, problem_.segments),
              [&](const auto& range) { sort_short(o, offsets, range.begin(), range.end()); });
        });
      if (problem_.count > alone)
        for (std::uint64_t s = 0; s < problem_.segments; ++s)
          longs += offsets[s + 1] - offsets[s] > alone;
    });
    for (std::uint64_t s = 0; longs != 0; ++s) {
      const std::uint64_t begin = offsets[s], count = offsets[s + 1] - begin;
      if (count <= alone) continue;
      --longs;
      const auto sorter = rooms::sample().plan(segment(count), device_, {});
      sorter->build(queue.device(), device_);
      const Operands mine = slice(o, begin, count, scratch_.in(o));
      sorter->enqueue(queue, mine);
      if (problem_.payload == Payload::positions)
        queue.call("positions", [&] { add_begin(mine, begin, count); });
    }
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

  // Positions in a segment become positions among all records.
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
    const auto thread =
        threads_ == 1 ? 0
                      : static_cast<std::uint64_t>(tbb::this_task_arena::current_thread_index());
    const Memory scratch = scratch_.in(o).slice(thread * few_bytes_, few_bytes_);
    for (std::uint64_t s = first; s < last; ++s) {
      const std::uint64_t begin = offsets[s], count = offsets[s + 1] - begin;
      if (count == 0 || count > alone) continue;
      const Operands mine = slice(o, begin, count, scratch);
      if (count <= inserted) {
        with_unsigned(info(problem_.key).bytes, [&](auto key) {
          if (problem_.value_bytes == 4 || problem_.payload == Payload::none)
            insert<decltype(key), std::uint32_t>(mine, begin, count);
          else
            insert<decltype(key), std::uint64_t>(mine, begin, count);
        });
        continue;
      }
      rooms::sample_few(segment(count), mine);
      if (problem_.payload == Payload::positions) add_begin(mine, begin, count);
    }
  }

  template <class Key, class Value>
  void insert(const Operands& o, std::uint64_t begin, std::uint64_t count) const {
    struct Record {
      std::uint64_t rank;
      Key key;
      Value value;
    } sorted[inserted];
    const unsigned bits = info(problem_.key).bits(),
                   end = problem_.end_bit == 0 ? bits : problem_.end_bit;
    const std::uint64_t mask = ~std::uint64_t{0} >> (64 - (end - problem_.begin_bit));
    const Key* const keys = at<const Key>(o.keys_in);
    const Value* const values =
        problem_.payload == Payload::values ? at<const Value>(o.values_in) : nullptr;
    for (std::uint64_t i = 0; i < count; ++i) {
      const Record r{order_bits(keys[i], problem_) >> problem_.begin_bit & mask, keys[i],
                     values != nullptr ? values[i] : static_cast<Value>(begin + i)};
      std::uint64_t to = i;
      for (; to > 0 && sorted[to - 1].rank > r.rank; --to) sorted[to] = sorted[to - 1];
      sorted[to] = r;
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      if (problem_.keys_out) at<Key>(o.keys_out)[i] = sorted[i].key;
      if (problem_.payload != Payload::none) at<Value>(o.values_out)[i] = sorted[i].value;
    }
  }

  Problem problem_;
  Capabilities device_;
  unsigned threads_ = 1;
  std::uint64_t few_bytes_ = 0;  // of a thread's own scratch memory
  ScratchLayout layout_;
  ScratchLayout::Slice scratch_;
  std::unique_ptr<tbb::task_arena> arena_;
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
        .parameters = {{"threads", "that take part at most", 1, 1024, {}}}};
    return info;
  }

  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    return std::make_unique<SegmentedHostSorter>(problem, device, given);
  }
};

}  // namespace

const Algorithm& rooms::segmented_host() {
  static const SegmentedHost room;
  return room;
}

}  // namespace sortium
