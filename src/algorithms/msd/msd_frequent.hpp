// Lists that do not spread: their frequent keys are counted and not moved or, with values, encoded.
// See msd_frequent.cl.
#pragma once

#include <memory>

#include "../algorithm.hpp"
#include "../parts/radix_passes.hpp"
#include "msd_shape.hpp"

namespace sortium::msd {

class FrequentKeys {
 public:
  // Frequent keys are counted only if the word `skewed` has this bit.
  static constexpr std::uint32_t verdict = 0x20000000;

  // sort() sorts all keys.
  FrequentKeys() = default;
  // Uses the memory `unused`, which no other launch may use if the word `skewed` has the bit
  // `verdict`, or adds scratch memory to `layout` if that is too small.
  FrequentKeys(const Problem& problem, const Capabilities& device, const FrequentShape& shape,
               const ScratchLayout::Slice& unused, ScratchLayout& layout);

  // Memory for samples of the keys. The caller must fill it before sort(). Empty if frequent keys
  // are never counted.
  [[nodiscard]] Memory samples(const Operands& operands) const { return samples_.in(operands); }

  // False if the passes sort all keys: records with values in place. Codes and values need the
  // memory of the output while the input is read.
  [[nodiscard]] bool may_sort(const Operands& operands) const {
    return !shape_.encodes || !operands.in_place();
  }
  void build(Device& device, const Capabilities& capabilities);
  // Sorts a list that has not been partitioned, by `passes`. If the word `skewed` has the bit
  // `verdict`, and frequent keys are a large share, and none may tie, the passes sort only the
  // other keys. `cleared` has
  // FrequentShape::cleared_bytes(), all 0.
  void sort(Queue& queue, const Operands& operands, const RadixPasses& passes, Memory skewed,
            Memory cleared) const;

 private:
  // Writes the codes of the keys, and sorts the values by them. `rests`: words of 0, one for each
  // chunk. `scratch` and `output` have the memory to which the passes over keys write.
  void encode(Queue& queue, const Operands& operands, Memory skewed, Memory state, Memory counts,
              Memory rests, std::uint32_t least, const PingPong::Pass& scratch,
              const PingPong::Pass& output) const;

  Problem problem_;
  FrequentShape shape_;
  ScratchLayout::Slice samples_, table_, runs_;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> count_, insert_;
  std::unique_ptr<RadixPasses> code_passes_;
  // Parts of the memory that has the output of pass 0's keys, in this order.
  ScratchLayout::Slice rest_, second_codes_, masks_, code_tables_;
  bool own_code_tables_ = false;  // masks_ and code_tables_ are scratch memory of their own
};

}  // namespace sortium::msd
