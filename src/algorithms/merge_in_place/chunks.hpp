// The first half of a merge sort in place: sorts chunks of the list one after the other, with
// scratch memory for one chunk.
#pragma once

#include <algorithm>
#include <memory>

#include "../algorithm.hpp"

namespace sortium {

class Chunks {
 public:
  // `plan` is called with the Problem of a chunk and returns its stable sort.
  template <class Plan>
  Chunks(const Problem& problem, std::uint64_t chunk, ScratchLayout& layout, const Plan& plan)
      : problem_(problem), chunk_(chunk) {
    Problem part = problem;
    part.keys_out = true;
    if (problem.payload == Payload::positions) part.payload = Payload::values;
    part.count = std::min(chunk, problem.count);
    sort_ = plan(part);
    const std::uint64_t rest = problem.count % chunk;
    if (problem.count > chunk && rest > 1) {
      part.count = rest;
      sort_rest_ = plan(part);
    }
    scratch_ =
        layout.add(std::max(sort_->scratch_bytes(), sort_rest_ ? sort_rest_->scratch_bytes() : 0));
    if (!problem.keys_out) keys_ = layout.add(problem.count * info(problem.key).bytes);
  }

  void build(Device& device, const Capabilities& capabilities) {
    sort_->build(device, capabilities);
    if (sort_rest_) sort_rest_->build(device, capabilities);
  }

  // The memory in which the keys are sorted. Values are sorted in values_out.
  [[nodiscard]] Memory keys(const Operands& o) const {
    return problem_.keys_out ? o.keys_out : keys_.in(o);
  }

  // Copies the keys to keys(o) and the values to values_out, unless the sort is in place. For an
  // argsort, the caller must store the positions in values_out.
  void copy_input(Queue& queue, const Operands& o) const {
    if (o.in_place()) return;
    queue.copy(keys(o), o.keys_in, problem_.count * info(problem_.key).bytes);
    if (problem_.payload == Payload::values)
      queue.copy(o.values_out, o.values_in, problem_.count * problem_.value_bytes);
  }

  void sort(Queue& queue, const Operands& o) const {
    const std::uint64_t key_bytes = info(problem_.key).bytes, value_bytes = problem_.value_bytes;
    for (std::uint64_t begin = 0; begin < problem_.count; begin += chunk_) {
      const std::uint64_t count = std::min(chunk_, problem_.count - begin);
      if (begin != 0 && count == 1) continue;
      Operands part;
      part.keys_in = part.keys_out = keys(o).slice(begin * key_bytes, count * key_bytes);
      if (problem_.payload != Payload::none)
        part.values_in = part.values_out =
            o.values_out.slice(begin * value_bytes, count * value_bytes);
      part.scratch = scratch_.in(o);
      (begin == 0 || count == chunk_ ? sort_ : sort_rest_)->enqueue(queue, part);
    }
  }

 private:
  Problem problem_;
  std::uint64_t chunk_;
  std::unique_ptr<Sorter> sort_,
      sort_rest_;  // sort_ sorts whole chunks, sort_rest_ the shorter one at the end
  ScratchLayout::Slice scratch_, keys_;
};

}  // namespace sortium
