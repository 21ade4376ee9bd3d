// Moves elements by positions: gathers and scatters.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "../kernels/kernels.hpp"
#include "element_copy.hpp"
#include "element_loops.hpp"
#include "embedded.hpp"
#include "out_of_memory.hpp"
#include "records.hpp"
#include "validate.hpp"

namespace sortium {

Mover::Mover(Device& device, const PermuteProblem& problem, const MovedElements& moved)
    : problem_(problem), moved_(moved) {
  const auto& c = capabilities(device);
  const unsigned unit = unit_of(problem.element_bytes);
  units_ = problem.element_bytes / unit;
  work_group_ = work_group_size(c);
  // A CPU moves one unit after the other.
  const unsigned items = c.kind == DeviceKind::cpu ? 1 : 4;
  work_groups_ = work_groups_for(c, ceil_div(problem.count * units_, items));
  if (c.backend == Backend::host) return;
  kernels::Defines defines;
  defines
      .problem({.count = problem.count * units_,
                .payload = Payload::values,
                .value_bytes = problem.index_bytes})
      .set("WG", work_group_)
      .set("ITEMS", items)
      .set("UNIT_BYTES", unit)
      .set("ONE_UNIT", int{units_ == 1})
      .set("SCATTER", int{problem.direction == Direction::scatter})
      .set("PLACES", static_cast<int>(moved.kind))
      .set("OFFSET_BITS",
           moved.kind == MovedElements::Kind::of_segments ? 8 * moved.offset_bytes : 64);
  module_ = kernels::build(
      device, c,
      {kernels::embedded::offsets_cl, kernels::embedded::unit_cl, kernels::embedded::permute_cl},
      defines);
  kernel_ = module_->kernel("records_permute");
}

namespace {

std::uint64_t number_at(const Memory& m, std::uint64_t i, unsigned bytes) {
  std::uint64_t x = 0;
  std::memcpy(&x, at(m) + i * bytes, bytes);
  return x;
}

// Moves elements [begin, end). Prefetches the element some places ahead, because the processor
// cannot foresee random positions.
template <class Index, class CopyOne>
void move_elements(bool gathers, const std::byte* in, const Index* positions, std::byte* out,
                   std::uint64_t begin, std::uint64_t end, CopyOne copy) {
  constexpr std::uint64_t ahead = 32, line = 64;
  const std::byte* const random = gathers ? in : out;
  for (std::uint64_t i = begin; i < end; ++i) {
    const std::byte* const next = random + positions[std::min(i + ahead, end - 1)] * copy.size;
    for (std::uint64_t b = 0; b < copy.size; b += line) __builtin_prefetch(next + b);
    __builtin_prefetch(next + copy.size - 1);
    const std::uint64_t other = positions[i];
    if (gathers)
      copy(out + i * copy.size, in + other * copy.size);
    else
      copy(out + other * copy.size, in + i * copy.size);
  }
}

template <class Index>
void move_elements(const PermuteProblem& p, const std::byte* in, const Index* positions,
                   std::byte* out, std::uint64_t begin, std::uint64_t end) {
  const auto all = [&](auto copy) {
    move_elements(p.direction == Direction::gather, in, positions, out, begin, end, copy);
  };
  with_copy(p.element_bytes, all);
}

}  // namespace

void Mover::move_on_host(Queue& queue, Memory in, Memory positions, Memory out,
                         Memory count_or_offsets) const {
  const auto move = [&](std::uint64_t begin, std::uint64_t end) {
    if (problem_.index_bytes == 4)
      move_elements(problem_, at(in), reinterpret_cast<const std::uint32_t*>(at(positions)),
                    at(out), begin, end);
    else
      move_elements(problem_, at(in), reinterpret_cast<const std::uint64_t*>(at(positions)),
                    at(out), begin, end);
  };
  const std::string_view phase = problem_.direction == Direction::gather ? "gather" : "scatter";
  switch (moved_.kind) {
    case MovedElements::Kind::all:
      return for_elements_on_host(queue, phase, problem_.count, move);
    case MovedElements::Kind::counted:
      return for_elements_on_host(queue, phase, number_at(count_or_offsets, 0, 8), move);
    case MovedElements::Kind::of_segments:
      return for_elements_on_host(
          queue, phase, problem_.count, [&](std::uint64_t begin, std::uint64_t end) {
            const auto offset = [&](std::uint64_t s) {
              return moved_.offset_bytes == 0 ? s * moved_.length
                                              : number_at(count_or_offsets, s, moved_.offset_bytes);
            };
            for (auto i = begin; i < end;) {
              const std::uint64_t s = i / moved_.limit, skipped = i - s * moved_.limit,
                                  length = offset(s + 1) - offset(s);
              const std::uint64_t count = std::min(moved_.limit - skipped, end - i);
              if (skipped < length) move(i, i + std::min(count, length - skipped));
              i += count;
            }
          });
  }
}

void Mover::enqueue(Queue& queue, Memory in, Memory positions, Memory out,
                    Memory count_or_offsets) const {
  if (!kernel_) return move_on_host(queue, in, positions, out, count_or_offsets);
  const bool needs_memory =
      moved_.kind == MovedElements::Kind::counted ||
      (moved_.kind == MovedElements::Kind::of_segments && moved_.offset_bytes != 0);
  const Memory places = needs_memory ? count_or_offsets : Memory{};
  const Arg args[] = {{"in", in},
                      {"positions", positions},
                      {"out", out},
                      {"places", places},
                      {"n", problem_.count * units_},
                      {"units", units_},
                      {"limit", moved_.limit},
                      {"length", moved_.length}};
  queue.launch({*kernel_, work_groups_, work_group_, args,
                problem_.direction == Direction::gather ? "gather" : "scatter"});
}

Permute::Permute(std::shared_ptr<Device> device, const PermuteProblem& problem) try
    : device_(std::move(device)), problem_(problem) {
  validate_permute_problem(problem_);
  mover_ = std::make_unique<Mover>(*device_, problem_);
} catch (const std::bad_alloc&) {
  throw_out_of_memory("Permute", problem.count * problem.element_bytes);
}

Permute::Permute(Permute&&) noexcept = default;
Permute& Permute::operator=(Permute&&) noexcept = default;
Permute::~Permute() = default;

void Permute::run(Queue& queue, Memory in, Memory positions, Memory out) const {
  if (problem_.count == 0) return;
  const bool gathers = problem_.direction == Direction::gather;
  const std::uint64_t elements = problem_.elements == 0 ? problem_.count : problem_.elements;
  const unsigned unit = unit_of(problem_.element_bytes);
  const Operand all[] = {
      {"in", in, (gathers ? elements : problem_.count) * problem_.element_bytes, unit, false},
      {"positions", positions, problem_.count * problem_.index_bytes, problem_.index_bytes, false},
      {"out", out, (gathers ? problem_.count : elements) * problem_.element_bytes, unit}};
  validate_queue(queue, *device_);
  validate_operands(all, space_of(device_->info().claimed.backend));
  mover_->enqueue(queue, in, positions, out);
}

}  // namespace sortium
