// Records that are in order are copied, and those in reverse order are reversed.
#pragma once

#include <algorithm>
#include <atomic>
#include <numeric>

#include "columns.hpp"

namespace sortium::counting {

template <class Key, class Value>
class OrderedRecords {
 public:
  OrderedRecords(const Layout& layout, const Operands& operands) : layout_(layout), o_(operands) {}

  // Returns false, with nothing written, if the records are in neither order.
  [[nodiscard]] bool write() const {
    if (begins_mixed(at<const Key>(o_.keys_in))) return false;
    Steps steps;
    look_at_all(at<const Key>(o_.keys_in), steps);
    const bool has_groups = steps.tie && steps.fall;
    if (steps.are_mixed() || (has_groups && layout_.chunks > 1)) return false;
    auto columns = input_to<Key, Value>(layout_.problem.keys_out ? at<Key>(o_.keys_out) : nullptr,
                                        at<Value>(o_.values_out), layout_.problem, o_);
    if (!steps.fall) {
      layout_.each_chunk(o_, [&](std::uint64_t, std::uint64_t begin, std::uint64_t end) {
        keep(columns, begin, end);
      });
      return true;
    }
    save_overwritten(layout_, o_, columns);
    layout_.each_chunk(o_, [&](std::uint64_t, std::uint64_t begin, std::uint64_t end) {
      reverse(columns, begin, end);
    });
    if (has_groups) turn_groups(columns);
    return true;
  }

 private:
  using Records = Columns<Key, Value>;
  struct Steps {
    std::atomic<bool> rise{false}, fall{false}, tie{false};

    [[nodiscard]] bool are_mixed() const {
      return rise.load(std::memory_order_relaxed) && fall.load(std::memory_order_relaxed);
    }
  };
  // Examines the steps from each of `count` keys, at most `block`, to the next one.
  void look(const Key* keys, std::uint64_t count, Steps& steps) const {
    std::uint16_t ranks[block + 1], rise = 0, fall = 0, tie = 0;
    layout_.ranks.of(keys, ranks, count + 1);
    for (std::uint64_t k = 0; k < count; ++k) {
      rise |= std::uint16_t{ranks[k] < ranks[k + 1]};
      fall |= std::uint16_t{ranks[k] > ranks[k + 1]};
      tie |= std::uint16_t{ranks[k] == ranks[k + 1]};
    }
    if (rise != 0) steps.rise.store(true, std::memory_order_relaxed);
    if (fall != 0) steps.fall.store(true, std::memory_order_relaxed);
    if (tie != 0) steps.tie.store(true, std::memory_order_relaxed);
  }
  void look_at_all(const Key* keys, Steps& steps) const {
    const std::uint64_t all = layout_.problem.count - 1;
    layout_.each_chunk(o_, [&](std::uint64_t, std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < std::min(end, all) && !steps.are_mixed(); i += block)
        look(keys + i, std::min({block, end - i, all - i}), steps);
    });
  }

  // Returns true for most lists: their first keys rise and fall. Takes a few nanoseconds.
  [[nodiscard]] bool begins_mixed(const Key* keys) const {
    constexpr std::uint64_t glance = 8;
    if (layout_.problem.count < glance) return false;
    std::uint16_t ranks[glance];
    layout_.ranks.of(keys, ranks, glance);
    bool rise = false, fall = false;
    for (std::uint64_t k = 1; k < glance; ++k) {
      rise |= ranks[k - 1] < ranks[k];
      fall |= ranks[k - 1] > ranks[k];
    }
    return rise && fall;
  }

  void keep(const Records& c, std::uint64_t begin, std::uint64_t end) const {
    if (c.keys_out != nullptr && c.keys_out != c.keys_in)
      std::copy(c.keys_in + begin, c.keys_in + end, c.keys_out + begin);
    if (c.values_in == nullptr)
      std::iota(c.values_out + begin, c.values_out + end, static_cast<Value>(begin));
    else if (c.values_in != c.values_out)
      std::copy(c.values_in + begin, c.values_in + end, c.values_out + begin);
  }
  // Writes the records [begin, end) in reverse order.
  void reverse(const Records& c, std::uint64_t begin, std::uint64_t end) const {
    const std::uint64_t to = layout_.problem.count - end;
    if (c.keys_out != nullptr)
      std::reverse_copy(c.keys_in + begin, c.keys_in + end, c.keys_out + to);
    if (c.values_in != nullptr)
      std::reverse_copy(c.values_in + begin, c.values_in + end, c.values_out + to);
    else
      for (std::uint64_t i = begin; i < end; ++i)
        c.values_out[to + i - begin] = static_cast<Value>(end - 1 - (i - begin));
  }
  // Reverses the records of each rank in the output: ties keep their order.
  void turn_groups(const Records& c) const {
    std::uint64_t group = 0;
    std::uint16_t before = 0;
    const auto turn = [&](std::uint64_t end) {
      if (end - group < 2) return;
      const std::uint64_t from = layout_.problem.count - end, to = layout_.problem.count - group;
      if (c.keys_out != nullptr) std::reverse(c.keys_out + from, c.keys_out + to);
      std::reverse(c.values_out + from, c.values_out + to);
    };
    layout_.each_rank(c.keys_in, [&](std::uint64_t i, std::uint16_t rank) {
      if (rank != before) turn(i), group = i;
      before = rank;
    });
    turn(layout_.problem.count);
  }

  const Layout& layout_;
  const Operands& o_;
};

}  // namespace sortium::counting
