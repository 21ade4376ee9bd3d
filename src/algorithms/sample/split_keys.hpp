// Sorts keys that have codes and fit a core's cache, by a few threads: the calling thread
// partitions all of them in the output into a part for each thread. If no other thread is free,
// that costs no more than the first steps of a quicksort.
#pragma once

#include "key_steps.hpp"
#include "positions.hpp"

namespace sortium::sample {

template <class Key>
class SplitKeys {
 public:
  SplitKeys(const Context& context, const KeySteps<Key>& steps)
      : context_(context),
        layout_(context.layout),
        steps_(steps),
        ends_(at<std::size_t>(layout_.ends.in(context.operands))) {}

  // Returns false, with the output equal to the input if they are the same, if floats tie that
  // differ: codes do not contain their order.
  [[nodiscard]] bool sort() {
    if (!prepare()) return false;
    if (are_floats_ && count_ < layout_.threads * Layout::split_oversampling) {  // others are NaN
      sort_floats(steps_.out, count_);
      return true;
    }
    partition();
    layout_.each(context_.operands, layout_.threads, [&](std::uint64_t part) {
      const std::size_t begin = part == 0 ? 0 : ends_[part - 1], count = ends_[part] - begin;
      if (are_floats_) return sort_floats(steps_.out + begin, count);
      sort_and_decode(steps_.out + begin, count, steps_.coding);
    });
    return true;
  }

 private:
  // Copies the keys to the output: as they are, or their codes. Returns as sort() does.
  bool prepare() {
    const std::uint64_t count = layout_.problem.count;
    if constexpr (sizeof(Key) >= 4)
      if (steps_.coding.is_float && steps_.coding.flip == 0)
        if (const auto numbers = copy_numbers(steps_.in, steps_.out, count)) {
          are_floats_ = true;
          count_ = *numbers;
          return true;
        }
    encode(steps_.in, steps_.out, count, steps_.coding);
    if (!steps_.coding.is_float || !ties_of(steps_.out, count).differ()) return true;
    if (steps_.in == steps_.out) decode(steps_.out, count, steps_.coding);
    return false;
  }

  void partition() {
    constexpr std::uint64_t samples_of_part = Layout::split_oversampling;
    const std::uint64_t count = count_, parts = layout_.threads, samples = parts * samples_of_part;
    Key* const sample = at<Key>(layout_.samples.in(context_.operands));
    Positions positions(Positions::splitters_seed);
    for (std::uint64_t i = 0; i < samples; ++i) sample[i] = steps_.out[positions.next(count)];
    sort_sample(sample, samples);
    std::size_t end = count;
    ends_[parts - 1] = count;
    for (std::uint64_t p = parts - 1; p > 0; --p)
      ends_[p - 1] = end =
          partition_in_place(steps_.out, end, sample[p * samples_of_part], are_floats_);
  }
  void sort_sample(Key* sample, std::uint64_t count) const {
    if (are_floats_) return sort_floats(sample, count);
    sort_words(sample, count);
  }
  static void sort_floats(Key* floats, std::uint64_t count) {
    if constexpr (sizeof(Key) >= 4) sort_plain_floats(floats, count);
  }

  const Context& context_;
  const Layout& layout_;
  const KeySteps<Key>& steps_;
  std::size_t* ends_;
  bool are_floats_ = false;                      // the output has floats, not codes
  std::uint64_t count_ = layout_.problem.count;  // keys to sort; NaN behind floats are not
};

}  // namespace sortium::sample
