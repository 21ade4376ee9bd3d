// Completes a sort of records on a device. After the sort by the first word of the key, the records
// that tie are put side by side, and a segmented sort orders each group of them by the next word.
// Other records need no further words. (record_ties.hpp does so on cpu:0.)
#pragma once

#include <memory>
#include <sortium/plan.hpp>

#include "../algorithms/scan.hpp"
#include "records.hpp"
#include "varying_key.hpp"

namespace sortium {

// What the sort of ties needs, computed without using the device.
struct TieSteps {
  std::uint64_t count;
  unsigned position_bytes, words;
  Problem group_sort;   // sorts each group by a word
  std::uint64_t parts;  // of the sorted records; a work-group counts and collects a part's ties
  ScratchLayout layout;
  ScratchLayout::Slice offsets, counts, sizes, word, inner;
  // The records that tie in one round. If there are several rounds, they use the two alternately.
  struct Tied {
    ScratchLayout::Slice values, places, heads;
  } tied[2];
  Scan scan;

  // For keys of up to `bits` bits; for up to 64, nothing is needed.
  TieSteps(std::uint64_t count, unsigned position_bytes, unsigned bits, const Capabilities& device);
};

class DeviceTies {
 public:
  // `steps` must outlive this object.
  DeviceTies(const std::shared_ptr<Device>& device, TieSteps& steps);
  // `first_words` and `values` are those of the sorted records. Reorders the values of ties.
  void enqueue(Queue& queue, const VaryingKey& key, std::span<const Memory> columns, Memory table,
               Memory first_words, Memory values, Memory scratch) const;

 private:
  [[nodiscard]] Memory count_of(unsigned round, Memory scratch) const;
  void collect(Queue& queue, const VaryingKey& key, unsigned round, Memory table,
               Memory first_words, Memory values, Memory scratch) const;

  TieSteps& steps_;
  unsigned work_group_;
  Plan group_sort_;
  std::unique_ptr<Mover> mover_;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> count_, collect_;
};

}  // namespace sortium
