// cpu:0 with a bounded buffer: chunks by the sample sort, in scratch memory for one chunk, merged
// in place by all cores: Kim, Kutzner, "Stable Minimum Storage Merging by Symmetric Comparisons"
// (2004).
#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "../merge_in_place/chunks.hpp"
#include "../rooms.hpp"

namespace sortium {
namespace {

template <class T>
T* at(const Memory& m) {
  return reinterpret_cast<T*>(static_cast<std::byte*>(m.handle) + m.offset);
}

class SampleInPlaceSorter final : public Sorter {
 public:
  SampleInPlaceSorter(const Problem& problem, const Capabilities& device, const Parameters& given)
      : problem_(problem), rank_(problem), threads_(device.compute_units) {
    chunk_ = given.number(
        "chunk", std::max<std::uint64_t>(buffered, std::bit_ceil((problem.count + 7) / 8)));
    chunks_ = std::make_unique<Chunks>(problem, chunk_, layout_, [&](const Problem& part) {
      return rooms::sample().plan(part, device, {});
    });
    const std::uint64_t record =
        info(problem.key).bytes + (problem.payload == Payload::none ? 0 : problem.value_bytes);
    if (problem.count > chunk_) buffers_ = layout_.add(threads_ * buffered * record);
  }

  std::uint64_t scratch_bytes() const override { return layout_.bytes(); }
  std::string parameters() const override { return fmt::format("chunk={}", chunk_); }
  void build(Device& device, const Capabilities& capabilities) override {
    chunks_->build(device, capabilities);
    arena_ = std::make_unique<tbb::task_arena>(static_cast<int>(threads_));
  }

  void enqueue(Queue& queue, const Operands& o) override {
    const Memory keys = chunks_->keys(o);
    chunks_->bring(queue, o);
    if (problem_.payload == Payload::positions) make_positions(queue, o);
    chunks_->sort(queue, o);
    queue.call("merge", [&] {
      arena_->execute([&] {
        switch (info(problem_.key).bytes) {
          case 1:
            return merge_all<std::uint8_t>(o, keys);
          case 2:
            return merge_all<std::uint16_t>(o, keys);
          case 4:
            return merge_all<std::uint32_t>(o, keys);
          default:
            return merge_all<std::uint64_t>(o, keys);
        }
      });
    });
  }

 private:
  static constexpr std::uint64_t buffered =
      1u << 12;  // records of a run that is merged through a thread's buffer

  void make_positions(Queue& queue, const Operands& o) const {
    queue.call("positions", [&] {
      tbb::parallel_for(tbb::blocked_range<std::uint64_t>(0, problem_.count, 1 << 16),
                        [&](const auto& range) {
                          for (auto i = range.begin(); i != range.end(); ++i) {
                            if (problem_.value_bytes == 4)
                              at<std::uint32_t>(o.values_out)[i] = static_cast<std::uint32_t>(i);
                            else
                              at<std::uint64_t>(o.values_out)[i] = i;
                          }
                        });
    });
  }

  template <class Key>
  void merge_all(const Operands& o, const Memory& keys) const {
    if (problem_.payload == Payload::none)
      return merge_runs<Key, std::uint8_t>(o, at<Key>(keys), nullptr);
    if (problem_.value_bytes == 4)
      return merge_runs<Key>(o, at<Key>(keys), at<std::uint32_t>(o.values_out));
    merge_runs<Key>(o, at<Key>(keys), at<std::uint64_t>(o.values_out));
  }

  template <class Key, class Value>
  struct Records {
    Key* keys;
    Value* values;  // nullptr: keys alone

    void rotate(std::uint64_t from, std::uint64_t middle, std::uint64_t to) const {
      std::rotate(keys + from, keys + middle, keys + to);
      if (values != nullptr) std::rotate(values + from, values + middle, values + to);
    }
    void move(std::uint64_t to, const Records& source, std::uint64_t from) const {
      keys[to] = source.keys[from];
      if (values != nullptr) values[to] = source.values[from];
    }
  };

  template <class Key, class Value>
  void merge_runs(const Operands& o, Key* keys, Value* values) const {
    const Records<Key, Value> records{keys, values};
    for (std::uint64_t run = chunk_; run < problem_.count; run *= 2)
      tbb::parallel_for(std::uint64_t{0}, (problem_.count + 2 * run - 1) / (2 * run),
                        [&](std::uint64_t pair) {
                          const std::uint64_t begin = pair * 2 * run, bound = begin + run;
                          if (bound < problem_.count)
                            merge(o, records, begin, bound, std::min(bound + run, problem_.count));
                        });
  }

  // [begin, bound) and [bound, end) are sorted.
  template <class Key, class Value>
  void merge(const Operands& o, const Records<Key, Value>& r, std::uint64_t begin,
             std::uint64_t bound, std::uint64_t end) const {
    if (begin == bound || bound == end) return;
    const auto rank = [&](std::uint64_t i) { return rank_(r.keys[i]); };
    if (rank(bound - 1) <= rank(bound)) return;
    if (bound - begin <= buffered) return merge_buffered(o, r, begin, bound, end);

    // How many of the first half's records come from the first run.
    const std::uint64_t middle = begin + (end - begin) / 2, wanted = middle - begin;
    std::uint64_t low = wanted > end - bound ? wanted - (end - bound) : 0,
                  high = std::min(wanted, bound - begin);
    while (low < high) {
      const std::uint64_t left = (low + high) / 2;
      if (rank(begin + left) <= rank(bound + (wanted - 1 - left)))
        low = left + 1;
      else
        high = left;
    }
    const std::uint64_t from = begin + low, to = bound + (wanted - low);
    r.rotate(from, bound, to);
    tbb::parallel_invoke([&] { merge(o, r, begin, from, middle); },
                         [&] { merge(o, r, middle, to, end); });
  }

  // The first run waits in the thread's buffer.
  template <class Key, class Value>
  void merge_buffered(const Operands& o, const Records<Key, Value>& r, std::uint64_t begin,
                      std::uint64_t bound, std::uint64_t end) const {
    const auto mine =
        static_cast<std::uint64_t>(tbb::this_task_arena::current_thread_index()) * buffered;
    const Memory memory = buffers_.in(o);
    const std::uint64_t keys_bytes = threads_ * buffered * sizeof(Key);
    const Records<Key, Value> waiting{
        at<Key>(memory) + mine,
        r.values == nullptr ? nullptr : at<Value>(memory.slice(keys_bytes, 0)) + mine};
    const std::uint64_t count = bound - begin;
    for (std::uint64_t i = 0; i < count; ++i) waiting.move(i, r, begin + i);
    std::uint64_t left = 0, right = bound, to = begin;
    while (left < count && right < end) {
      if (rank_(waiting.keys[left]) <= rank_(r.keys[right]))
        r.move(to++, waiting, left++);
      else
        r.move(to++, r, right++);
    }
    while (left < count) r.move(to++, waiting, left++);
  }

  Problem problem_;
  KeyRank rank_;
  unsigned threads_;
  std::uint64_t chunk_ = 0;
  ScratchLayout layout_;
  std::unique_ptr<Chunks> chunks_;
  ScratchLayout::Slice buffers_;
  std::unique_ptr<tbb::task_arena> arena_;
};

class SampleInPlace final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "sample-in-place",
        .title =
            "cpu:0 with a bounded buffer: chunks by sample, merged by rotations; scratch memory "
            "for one chunk",
        .source = "Kim, Kutzner 2004",
        .stable = true,
        .comparison = true,
        .host = true,
        .cost = "a sort of each chunk, then log2(N/chunk) mergings of up to log2(chunk) rotations",
        .parameters = {{"chunk",
                        "records that are sorted together: what scratch memory is for",
                        16,
                        std::uint64_t{1} << 40,
                        {}}}};
    return info;
  }

  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    return std::make_unique<SampleInPlaceSorter>(problem, device, given);
  }
};

}  // namespace

const Algorithm& rooms::sample_in_place() {
  static const SampleInPlace room;
  return room;
}

}  // namespace sortium
