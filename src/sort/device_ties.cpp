#include "device_ties.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "../kernels/kernels.hpp"
#include "element_loops.hpp"
#include "embedded.hpp"
#include "records.hpp"

namespace sortium {
namespace {

unsigned ties_work_group(const Capabilities& c) { return std::bit_floor(work_group_size(c)); }

// A second word that is the last one has the remaining bits at its low end.
Problem problem_of_groups(std::uint64_t count, unsigned position_bytes, unsigned bits) {
  return {.key = KeyType::u64,
          .count = count,
          .payload = Payload::values,
          .value_bytes = position_bytes,
          .end_bit = bits <= 128 ? bits - 64 : 64,
          .segments = count / 2,
          .offset_bytes = 4};
}

// The variant of `segmented` that takes segments of any length, and none behind some record. Most
// segments are usually empty. On a GPU, a few work-groups skip them faster than one for each chunk.
Method method_of_groups(const Capabilities& device) {
  if (device.kind != DeviceKind::gpu) return {"segmented", "variant=cpu"};
  return {"segmented", fmt::format("variant=gpu,classify_groups={}", 8 * device.compute_units)};
}

}  // namespace

TieSteps::TieSteps(std::uint64_t n, unsigned index_bytes, unsigned bits, const Capabilities& device)
    : count(n), position_bytes(index_bytes), words(ceil_div(bits, 64u)) {
  if (words < 2) return;
  group_sort = problem_of_groups(n, index_bytes, bits);
  constexpr std::uint64_t work_groups_of_a_unit = 16, least_part = 4096;
  parts = std::min(work_groups_of_a_unit * device.compute_units, ceil_div(n, least_part));
  offsets = layout.add((group_sort.segments + 1) * 4);
  counts = layout.add((2 * parts + 1) * kernels::index_bytes(n));
  sizes = layout.add(2 * sizeof(std::uint64_t));
  const bool rounds = words > 2;
  for (unsigned t = 0; t < (rounds ? 2u : 1u); ++t) {
    tied[t].values = layout.add(n * index_bytes);
    tied[t].places = layout.add(n * index_bytes);
    if (rounds) tied[t].heads = layout.add(n);
  }
  word = layout.add(n * 8);
  scan = Scan(2 * parts + 1, 1, n, device, layout);
  inner = layout.add(Plan::scratch_bytes_for(group_sort, device, method_of_groups(device)));
}

DeviceTies::DeviceTies(const std::shared_ptr<Device>& device, TieSteps& steps)
    : steps_(steps),
      work_group_(ties_work_group(capabilities(*device))),
      group_sort_(device, steps.group_sort, method_of_groups(capabilities(*device))) {
  const auto& c = capabilities(*device);
  kernels::Defines defines;
  defines
      .problem({.key = KeyType::u64,
                .count = steps.count,
                .payload = Payload::values,
                .value_bytes = steps.position_bytes})
      .set("WG", work_group_);
  module_ = kernels::build(*device, c, kernels::embedded::ties_cl, defines);
  count_ = module_->kernel("ties_count");
  collect_ = module_->kernel("ties_collect");
  steps_.scan.build(*device, c);
  mover_ =
      std::make_unique<Mover>(*device,
                              PermuteProblem{Direction::scatter, steps.count, steps.position_bytes,
                                             steps.position_bytes, steps.count},
                              MovedElements{MovedElements::Kind::counted});
}

// The number of records that tie after round `round`; rounds count from 1.
Memory DeviceTies::count_of(unsigned round, Memory scratch) const {
  const Operands o{.scratch = scratch};
  return steps_.sizes.in(o).slice(round % 2 * sizeof(std::uint64_t), sizeof(std::uint64_t));
}

// Puts the records side by side that tie by word `round - 1`.
void DeviceTies::collect(Queue& queue, const VaryingKey& key, unsigned round, Memory table,
                         Memory first_words, Memory values, Memory scratch) const {
  const Operands o{.scratch = scratch};
  const auto memory = [&](const ScratchLayout::Slice& s) {
    return s.bytes == 0 ? Memory{} : s.in(o);
  };
  const bool first = round == 1;
  const TieSteps::Tied &now = steps_.tied[(round - 1) % 2], &previous = steps_.tied[round % 2];
  const Memory words = first ? first_words : steps_.word.in(o);
  const Memory heads = first ? Memory{} : memory(previous.heads);
  const Memory count = first ? Memory{} : count_of(round - 1, scratch);
  const Memory counts = steps_.counts.in(o);
  const Arg count_args[] = {{"words", words},   {"heads", heads},
                            {"count", count},   {"more", key.word_has_bits(table, round)},
                            {"counts", counts}, {"n", steps_.count}};
  queue.launch({*count_, steps_.parts, work_group_, count_args, "ties"});
  steps_.scan.enqueue(queue, o, counts);
  const Arg collect_args[] = {{"words", words},
                              {"heads", heads},
                              {"count", count},
                              {"counts", counts},
                              {"values", first ? values : previous.values.in(o)},
                              {"places", first ? Memory{} : previous.places.in(o)},
                              {"new_values", now.values.in(o)},
                              {"new_places", now.places.in(o)},
                              {"new_heads", memory(now.heads)},
                              {"offsets", steps_.offsets.in(o)},
                              {"tied", count_of(round, scratch)},
                              {"n", steps_.count},
                              {"segments", steps_.group_sort.segments}};
  queue.launch({*collect_, steps_.parts, work_group_, collect_args, "ties"});
}

void DeviceTies::enqueue(Queue& queue, const VaryingKey& key, std::span<const Memory> columns,
                         Memory table, Memory first_words, Memory values, Memory scratch) const {
  const Operands o{.scratch = scratch};
  for (unsigned round = 1; round < steps_.words; ++round) {
    collect(queue, key, round, table, first_words, values, scratch);
    const TieSteps::Tied& now = steps_.tied[(round - 1) % 2];
    const Memory words = steps_.word.in(o), tied = now.values.in(o),
                 count = count_of(round, scratch);
    key.pack_word(queue, columns, table, round, words, tied, count);
    group_sort_.run(queue, {words, words, tied, tied, steps_.inner.in(o), steps_.offsets.in(o)});
    mover_->enqueue(queue, tied, now.places.in(o), values, count);
  }
}

}  // namespace sortium
