// Lists of keys alone that do not spread: their frequent keys are counted and not moved. See
// msd_frequent.cl.
#pragma once

#include <memory>

#include "../algorithm.hpp"
#include "../parts/radix_passes.hpp"
#include "msd_shape.hpp"

namespace sortium::msd {

class FrequentKeys {
 public:
  // Frequent keys are counted only if the word `skewed` has this value.
  static constexpr std::uint32_t verdict = 0x20000000;

  // sort() sorts all keys.
  FrequentKeys() = default;
  // Uses the memory `unused`, which no other launch may use if the word `skewed` is `verdict`, or
  // adds scratch memory to `layout` if that is too small.
  FrequentKeys(const Problem& problem, const FrequentShape& shape,
               const ScratchLayout::Slice& unused, ScratchLayout& layout);

  // Memory for samples of the keys. The caller must fill it before sort(). Empty if frequent keys
  // are never counted.
  [[nodiscard]] Memory samples(const Operands& operands) const { return samples_.in(operands); }

  void build(Device& device, const Capabilities& capabilities);
  // Sorts a list that has not been partitioned, by `passes`. If the word `skewed` is `verdict`, and
  // frequent keys are a large share, and none may tie, the passes sort only the other keys.
  // `cleared` has FrequentShape::cleared_bytes(), all 0.
  void sort(Queue& queue, const Operands& operands, const RadixPasses& passes, Memory skewed,
            Memory cleared) const;

 private:
  Problem problem_;
  FrequentShape shape_;
  ScratchLayout::Slice samples_, table_, runs_;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> count_, insert_;
};

}  // namespace sortium::msd
