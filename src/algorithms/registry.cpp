#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>

#include "../tuning/tuning.hpp"
#include "algorithm.hpp"
#include "catalog.hpp"

namespace sortium {

const std::vector<const Algorithm*>& registry() {
  static const std::vector<const Algorithm*> algorithms{
      &catalog::bitonic(),
      &catalog::bitonic_local(),
#ifdef SORTIUM_WITH_HOST
      &catalog::counting(),
#endif
      &catalog::lsd(),
      &catalog::merge(),
      &catalog::merge_in_place(),
      &catalog::merge_local(),
      &catalog::msd(),
      &catalog::odd_even(),
      &catalog::one_cluster(),
      &catalog::one_group(),
      &catalog::onesweep(),
      &catalog::radix(),
      &catalog::radix_simd(),
#ifdef SORTIUM_WITH_HOST
      &catalog::sample(),
      &catalog::sample_in_place(),
#endif
      &catalog::segmented(),
#ifdef SORTIUM_WITH_HOST
      &catalog::segmented_host(),
#endif
      &catalog::selection(),
      &catalog::selection_blocks(),
      &catalog::selection_local(),
      &catalog::topk(),
      &catalog::topk_segmented(),
#ifdef SORTIUM_WITH_HOST
      &catalog::topk_host(),
      &catalog::topk_segmented_host(),
#endif
  };
  return algorithms;
}

const Algorithm& find_algorithm(std::string_view name) {
  std::string names = "auto";
  for (const auto* a : registry()) {
    if (a->info().name == name) return *a;
    names += ", " + a->info().name;
  }
  throw Error(ErrorCode::not_found, fmt::format("no algorithm '{}'; there are {}", name, names));
}

namespace {

// Returns the plan with tuned parameters. Returns null if there are none, or if the algorithm
// rejects them: they were measured with another problem of the same kind, or by another version.
std::unique_ptr<Sorter> plan_tuned(const Algorithm& algorithm, const Problem& problem,
                                   const Capabilities& device) {
  const auto& info = algorithm.info();
  const std::string tuned = tuning::parameters_for(info.name, problem, device);
  if (tuned.empty()) return nullptr;
  try {
    const Parameters parameters(tuned, info);
    for (const auto& known : info.parameters)
      if (known.changes_result && parameters.has(known.name)) return nullptr;
    return algorithm.plan(problem, device, parameters);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::unsupported && e.code() != ErrorCode::invalid_argument) throw;
    return nullptr;
  }
}

}  // namespace

bool is_made_for(const Algorithm& algorithm, const Problem& problem, const Capabilities& device) {
  const auto& info = algorithm.info();
  return info.host == (device.backend == Backend::host) &&
         info.segments == (problem.segments != 0) && info.limit == (problem.limit != 0);
}

Planned plan_algorithm(const Algorithm& algorithm, const Problem& problem,
                       const Capabilities& device, std::string_view text) {
  if (text.empty())
    if (auto sorter = plan_tuned(algorithm, problem, device))
      return {&algorithm, std::move(sorter)};
  return {&algorithm, algorithm.plan(problem, device, Parameters(text, algorithm.info()))};
}

namespace {

using Algorithms = std::vector<const Algorithm*>;

// The algorithms that suit the problem, fastest first.
Algorithms suited(const Problem& problem, const Capabilities& device, const Algorithms& except) {
  std::vector<std::pair<Rank, const Algorithm*>> ranked;
  for (const auto* a : registry()) {
    if (!is_made_for(*a, problem, device) || std::ranges::find(except, a) != except.end()) continue;
    if (const Rank rank = a->suits(problem, device); rank != Rank::unsuited)
      ranked.emplace_back(rank, a);
  }
  std::ranges::stable_sort(ranked, std::ranges::greater{}, [](const auto& r) { return r.first; });
  Algorithms out;
  for (const auto& [rank, algorithm] : ranked) out.push_back(algorithm);
  return out;
}

Planned plan_fastest(const Problem& problem, const Capabilities& device, const Algorithms& except) {
  std::string why = "no algorithm is left for this device";
  for (const auto* a : suited(problem, device, except)) {
    try {
      return plan_algorithm(*a, problem, device);
    } catch (const Error& e) {
      if (e.code() != ErrorCode::unsupported) throw;
      why = e.what();
    }
  }
  throw Error(ErrorCode::unsupported, why);
}

// Reduces scratch memory by smaller chunks, which are sorted one after the other and merged in
// place. Larger chunks are faster and need more memory. Returns the first plan below the ceiling,
// else the plan with the least memory.
Planned plan_under_ceiling(Planned planned, const Problem& problem, const Capabilities& device,
                           std::uint64_t max_scratch_bytes) {
  constexpr std::uint64_t least_chunk = 1u << 12;  // records; still smaller chunks save too little
  for (const auto* a : registry()) {
    if (!a->trades_memory() || !is_made_for(*a, problem, device)) continue;
    for (std::uint64_t chunk = std::bit_ceil(problem.count) / 2; chunk >= least_chunk; chunk /= 2) {
      Planned other = plan_algorithm(*a, problem, device, fmt::format("chunk={}", chunk));
      if (other.sorter->scratch_bytes() < planned.sorter->scratch_bytes())
        planned = std::move(other);
      if (planned.sorter->scratch_bytes() <= max_scratch_bytes) return planned;
    }
  }
  return planned;
}

}  // namespace

Planned plan_auto(const Problem& problem, const Capabilities& device,
                  std::uint64_t max_scratch_bytes, const Algorithms& except) {
  Planned planned = plan_fastest(problem, device, except);
  if (max_scratch_bytes == 0 || planned.sorter->scratch_bytes() <= max_scratch_bytes)
    return planned;
  planned = plan_under_ceiling(std::move(planned), problem, device, max_scratch_bytes);
  if (planned.sorter->scratch_bytes() <= max_scratch_bytes) return planned;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("max_scratch_bytes is {}; at least {} are needed ({}, {})",
                          max_scratch_bytes, planned.sorter->scratch_bytes(),
                          planned.algorithm->info().name, planned.sorter->parameters()));
}

Parameters::Parameters(std::string_view text, const AlgorithmInfo& algorithm) {
  const auto refuse = [&](const std::string& what) {
    std::string have;
    for (const auto& p : algorithm.parameters) {
      have += fmt::format("\n  {}: {}", p.name, p.meaning);
      have += p.choices.empty() ? fmt::format(" ({} to {})", p.minimum, p.maximum)
                                : fmt::format(" ({})", fmt::join(p.choices, ", "));
    }
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}; the parameters of {} are:{}", what, algorithm.name,
                            have.empty() ? " none" : have));
  };
  while (!text.empty()) {
    const auto item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const auto equals = item.find('=');
    if (equals == std::string_view::npos)
      refuse(fmt::format("parameter '{}' is not of the form name=value", item));
    const std::string name(item.substr(0, equals)), value(item.substr(equals + 1));
    const auto known = std::ranges::find(algorithm.parameters, name, &Parameter::name);
    if (known == algorithm.parameters.end()) refuse(fmt::format("no parameter '{}'", name));
    if (values_.contains(name)) refuse(fmt::format("parameter '{}' is given twice", name));
    if (known->choices.empty()) {
      std::uint64_t number = 0;
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
      if (error != std::errc{} || end != value.data() + value.size() || number < known->minimum ||
          number > known->maximum)
        refuse(fmt::format("{}={} is not allowed", name, value));
    } else if (std::ranges::find(known->choices, value) == known->choices.end()) {
      refuse(fmt::format("{}={} is not allowed", name, value));
    }
    values_.emplace(name, value);
  }
}

std::uint64_t Parameters::number(std::string_view name, std::uint64_t otherwise) const {
  const auto it = values_.find(name);
  return it == values_.end() ? otherwise : std::stoull(it->second);
}

std::string Parameters::word(std::string_view name, std::string_view otherwise) const {
  const auto it = values_.find(name);
  return it == values_.end() ? std::string(otherwise) : it->second;
}

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
