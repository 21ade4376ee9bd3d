// Sorts on cpu:0 with bounded scratch memory. `sample` sorts one chunk after the other, with
// scratch memory for one chunk. Then all cores merge the sorted chunks in place: Kim, Kutzner,
// "Stable Minimum Storage Merging by Symmetric Comparisons" (2004).
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "../../device/host_threads.hpp"
#include "../catalog.hpp"
#include "../merge_in_place/chunks.hpp"
#include "../sample/merge_in_place.hpp"

namespace sortium {
namespace {

using sample::Arrays;

template <class T>
T* at(const Memory& m) {
  return reinterpret_cast<T*>(static_cast<std::byte*>(m.handle) + m.offset);
}

class SampleInPlaceSorter final : public Sorter {
 public:
  SampleInPlaceSorter(const Problem& problem, const Capabilities& device, const Parameters& given)
      : problem_(problem), rank_(problem), threads_(device.compute_units) {
    chunk_ = given.number(
        "chunk", std::max<std::uint64_t>(most_buffered, std::bit_ceil((problem.count + 7) / 8)));
    // All threads' buffers together hold at most as many records as a chunk, unless chunks are
    // tiny.
    buffered_ = std::clamp<std::uint64_t>(chunk_ / threads_.count(), 16, most_buffered);
    chunks_ = std::make_unique<Chunks>(problem, chunk_, layout_, [&](const Problem& part) {
      return catalog::sample().plan(part, device, {});
    });
    const std::uint64_t record =
        info(problem.key).bytes + (problem.payload == Payload::none ? 0 : problem.value_bytes);
    if (problem.count > chunk_) buffers_ = layout_.add(threads_.count() * buffered_ * record);
  }

  std::uint64_t scratch_bytes() const override { return layout_.bytes(); }
  std::string parameters() const override { return fmt::format("chunk={}", chunk_); }
  void build(Device& device, const Capabilities& capabilities) override {
    chunks_->build(device, capabilities);
    threads_.start();
  }

  // Nothing may fail after copy_input(), because it overwrites the output. The sorts of `sample` do
  // not fail, and the merges finish even if oneTBB cannot allocate memory.
  void enqueue(Queue& queue, const Operands& o) override {
    threads_.run([&] {
      chunks_->copy_input(queue, o);
      if (problem_.payload == Payload::positions) make_positions(queue, o);
      chunks_->sort(queue, o);
      host::call(queue, "merge", [&] { merge_chunks(o); });
    });
  }

 private:
  // The most records of a run that is merged through a thread's buffer.
  static constexpr std::uint64_t most_buffered = 1u << 12;

  void make_positions(Queue& queue, const Operands& o) const {
    host::call(queue, "positions", [&] {
      host::repeatable_for_all(
          tbb::blocked_range<std::uint64_t>(0, problem_.count, 1 << 16), [&](const auto& range) {
            for (auto i = range.begin(); i != range.end(); ++i) {
              if (problem_.value_bytes == 4)
                at<std::uint32_t>(o.values_out)[i] = static_cast<std::uint32_t>(i);
              else
                at<std::uint64_t>(o.values_out)[i] = i;
            }
          });
    });
  }

  void merge_chunks(const Operands& o) const {
    switch (info(problem_.key).bytes) {
      case 1:
        return merge_chunks<std::uint8_t>(o);
      case 2:
        return merge_chunks<std::uint16_t>(o);
      case 4:
        return merge_chunks<std::uint32_t>(o);
      default:
        return merge_chunks<std::uint64_t>(o);
    }
  }
  template <class Key>
  void merge_chunks(const Operands& o) const {
    Key* const keys = at<Key>(chunks_->keys(o));
    if (problem_.payload == Payload::none)
      return merge_chunks(o, Arrays<Key, std::uint8_t>{keys, nullptr});
    if (problem_.value_bytes == 4)
      return merge_chunks(o, Arrays<Key, std::uint32_t>{keys, at<std::uint32_t>(o.values_out)});
    merge_chunks(o, Arrays<Key, std::uint64_t>{keys, at<std::uint64_t>(o.values_out)});
  }

  // Merges neighbouring runs in pairs until one is left.
  template <class Records>
  void merge_chunks(const Operands& o, const Records& records) const {
    const auto rank = [&](const Records& r, std::uint64_t i) { return rank_(r.keys[i]); };
    const auto buffer = [&] { return buffer_of_thread<Records>(o); };
    const auto both = [](const auto& left, const auto& right) { host::both_once(left, right); };
    const sample::InPlaceMerge merge(records, rank, buffered_, buffer, both);
    for (std::uint64_t run = chunk_; run < problem_.count; run *= 2)
      host::repeatable_for(
          tbb::blocked_range<std::uint64_t>(0, (problem_.count + 2 * run - 1) / (2 * run)),
          [&](const auto& pairs) {
            for (auto pair = pairs.begin(); pair != pairs.end(); ++pair) {
              const std::uint64_t begin = pair * 2 * run, bound = begin + run;
              if (bound < problem_.count)
                merge.merge(begin, bound, std::min(bound + run, problem_.count));
            }
          });
  }

  template <class Key, class Value>
  static Arrays<Key, Value> slice(Key* keys, Value* values, std::uint64_t from, bool has_values) {
    return {keys + from, has_values ? values + from : nullptr};
  }
  template <class Records>
  Records buffer_of_thread(const Operands& o) const {
    using Key = std::remove_pointer_t<decltype(Records::keys)>;
    using Value = std::remove_pointer_t<decltype(Records::values)>;
    const std::uint64_t keys_bytes = threads_.count() * buffered_ * sizeof(Key);
    const Memory memory = buffers_.in(o);
    return slice(at<Key>(memory), at<Value>(memory.slice(keys_bytes, 0)),
                 threads_.index() * buffered_, problem_.payload != Payload::none);
  }

  Problem problem_;
  KeyRank rank_;
  host::Threads threads_;
  std::uint64_t chunk_ = 0, buffered_ = 0;  // records
  ScratchLayout layout_;
  std::unique_ptr<Chunks> chunks_;
  ScratchLayout::Slice buffers_;
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
        .cost = "a sort of each chunk, then log2(N/chunk) merges of up to log2(chunk) rotations",
        .parameters = {{"chunk",
                        "records that are sorted at once, with scratch memory",
                        16,
                        std::uint64_t{1} << 40,
                        {}}}};
    return info;
  }

  bool trades_memory() const override { return true; }

  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    return std::make_unique<SampleInPlaceSorter>(problem, device, given);
  }
};

}  // namespace

const Algorithm& catalog::sample_in_place() {
  static const SampleInPlace algorithm;
  return algorithm;
}

}  // namespace sortium
