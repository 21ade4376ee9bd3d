#include <bit>

#include "algorithm.hpp"

namespace sortium {

PingPong::PingPong(const Problem& problem, unsigned passes, ScratchLayout& layout)
    : problem_(problem), passes_(passes) {
  const std::uint64_t key_bytes = problem.count * info(problem.key).bytes;
  const std::uint64_t value_bytes = problem.count * problem.value_bytes;
  keys_[0] = layout.add(key_bytes);
  if (!problem.keys_out && passes > 2) keys_[1] = layout.add(key_bytes);
  if (problem.payload != Payload::none) values_ = layout.add(value_bytes);
}

void PingPong::start(Queue& queue, const Operands& o) const {
  if (!o.in_place() || passes_ % 2 == 0) return;
  queue.copy(keys_[0].in(o), o.keys_in, problem_.count * info(problem_.key).bytes);
  if (problem_.payload == Payload::values)
    queue.copy(values_.in(o), o.values_in, problem_.count * problem_.value_bytes);
}

PingPong::Pass PingPong::pass(unsigned index, const Operands& o) const {
  const bool copied = o.in_place() && passes_ % 2 == 1;
  // The buffer that holds pass k's output; k = -1 is the input.
  const auto keys = [&](int k) -> Memory {
    if (k < 0) return copied ? keys_[0].in(o) : o.keys_in;
    const bool to_out = (passes_ - 1 - static_cast<unsigned>(k)) % 2 == 0;
    if (problem_.keys_out) return to_out ? o.keys_out : keys_[0].in(o);
    if (k == static_cast<int>(passes_) - 1)
      return {};  // an argsort without keys_out: nothing reads the last pass's keys
    return keys_[to_out ? 1 : 0].in(o);
  };
  const auto values = [&](int k) -> Memory {
    if (problem_.payload == Payload::none) return {};
    if (k < 0) return copied && problem_.payload == Payload::values ? values_.in(o) : o.values_in;
    return (passes_ - 1 - static_cast<unsigned>(k)) % 2 == 0 ? o.values_out : values_.in(o);
  };
  const int k = static_cast<int>(index);
  return {keys(k - 1), keys(k), values(k - 1), values(k),
          problem_.payload == Payload::positions && index == 0};
}

std::uint64_t bytes_of_passes(const Problem& p, std::uint64_t passes, unsigned key_readings) {
  const std::uint64_t keys = p.count * info(p.key).bytes;
  const std::uint64_t values = p.payload == Payload::none ? 0 : p.count * p.value_bytes;
  return passes * ((key_readings + 1) * keys + 2 * values) -
         (p.payload == Payload::positions ? values : 0) - (p.keys_out ? 0 : keys);
}

std::vector<Digit> digits(const Problem& problem, unsigned digit_bits) {
  const unsigned end = problem.end_bit == 0 ? info(problem.key).bits() : problem.end_bit;
  const unsigned bits = end - problem.begin_bit;
  const unsigned passes = (bits + digit_bits - 1) / digit_bits;
  std::vector<Digit> out;
  unsigned shift = problem.begin_bit;
  for (unsigned p = 0; p < passes; ++p) {
    const unsigned width = (end - shift + (passes - p) - 1) / (passes - p);
    out.push_back({shift, (1u << width) - 1});
    shift += width;
  }
  return out;
}

PackedDigits packed(const std::vector<Digit>& digits) {
  PackedDigits out;
  for (std::size_t p = 0; p < digits.size(); ++p) {
    out.shifts |= std::uint64_t{digits[p].shift} << (8 * p);
    out.widths |= static_cast<std::uint64_t>(std::bit_width(digits[p].mask)) << (8 * p);
  }
  return out;
}

}  // namespace sortium
