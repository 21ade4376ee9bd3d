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
  // The value of the word `skewed` with which count() counts frequent keys.
  static constexpr std::uint32_t verdict = 0x20000000;

  // Counts nothing.
  FrequentKeys() = default;
  // Uses the memory `unused`, which no other launch may use if the word `skewed` is `verdict`, or
  // adds scratch memory to `layout` if that is too small.
  FrequentKeys(const Problem& problem, const FrequentShape& shape,
               const ScratchLayout::Slice& unused, ScratchLayout& layout);

  // The samples that must be gathered before count(), or empty memory.
  [[nodiscard]] Memory samples(const Operands& operands) const { return samples_.in(operands); }
  // Returns the words that tell RadixPasses::sort() whether it sorts the rest.
  [[nodiscard]] static Memory rest_state(const Memory& cleared) { return cleared.slice(0, 8); }

  void build(Device& device, const Capabilities& capabilities);
  // If the word `skewed` is `verdict` and frequent keys are a large share, counts them, and copies
  // the other keys to `rest_keys`, which has room for all keys. Stores in `cleared` whether the
  // counts are valid. They are not if keys may tie. `cleared` has FrequentShape::cleared_bytes(),
  // all 0.
  void count(Queue& queue, const Operands& operands, Memory skewed, Memory rest_keys,
             Memory cleared) const;
  // If count() has counted frequent keys, writes the output. Comes after RadixPasses::sort().
  void insert(Queue& queue, const Operands& operands, Memory rest_keys, Memory cleared) const;

 private:
  Problem problem_;
  FrequentShape shape_;
  ScratchLayout::Slice samples_, table_, runs_;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> count_, insert_;
};

}  // namespace sortium::msd
