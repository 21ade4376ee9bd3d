// Selects the algorithm for a problem and a device, and its parameters.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "../tuning/tuning.hpp"
#include "algorithm.hpp"

namespace sortium {

namespace {

bool fits(const std::string& pattern, std::string_view model) {
  if (pattern.ends_with('*'))
    return model.starts_with(std::string_view(pattern).substr(0, pattern.size() - 1));
  return pattern == model;
}

unsigned distance(unsigned a, unsigned b) { return a > b ? a - b : b - a; }

}  // namespace

const tuning::Entry* find_tuned(const std::vector<tuning::Entry>& entries,
                                std::string_view algorithm, const Problem& problem,
                                const Capabilities& device) {
  if (problem.count == 0) return nullptr;
  const auto log2_count = static_cast<unsigned>(std::bit_width(problem.count)) - 1;
  const tuning::Entry* best = nullptr;
  for (const auto& e : entries) {
    if (e.algorithm != algorithm || e.backend != name(device.backend) ||
        !fits(e.device, device.model) || e.key_bytes != info(problem.key).bytes ||
        e.value_bytes != (problem.payload == Payload::none ? 0 : problem.value_bytes) ||
        distance(e.log2_count, log2_count) > 1)
      continue;
    if (best == nullptr || e.device.size() > best->device.size() ||
        (e.device.size() == best->device.size() &&
         distance(e.log2_count, log2_count) <= distance(best->log2_count, log2_count)))
      best = &e;
  }
  return best;
}

namespace {

std::string tuned_parameters(std::string_view algorithm, const Problem& problem,
                             const Capabilities& device) {
  const auto& [users, built_in] = tuning::tables();
  const tuning::Entry* e = find_tuned(users, algorithm, problem, device);
  if (e == nullptr) e = find_tuned(built_in, algorithm, problem, device);
  return e == nullptr ? std::string() : e->parameters;
}

// Returns the plan with tuned parameters. Returns null if no parameters were tuned, or if the
// algorithm rejects them. It may reject them because they were tuned for a similar problem, or by
// another version of Sortium.
std::unique_ptr<Sorter> plan_tuned(const Algorithm& algorithm, const Problem& problem,
                                   const Capabilities& device) {
  const auto& info = algorithm.info();
  const std::string tuned = tuned_parameters(info.name, problem, device);
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
      return {&algorithm, std::move(sorter), problem};
  return {&algorithm, algorithm.plan(problem, device, Parameters(text, algorithm.info())), problem};
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

// Finds a plan that needs less scratch memory: it sorts chunks one after the other and merges them
// in place. Larger chunks are faster and need more memory, so chunks are tried from large to small.
// Returns the first plan that needs at most `max_scratch_bytes`, else the plan that needs the least
// memory.
Planned plan_under_ceiling(Planned planned, const Problem& problem, const Capabilities& device,
                           std::uint64_t max_scratch_bytes) {
  constexpr std::uint64_t least_chunk = 1u << 12;  // records; smaller chunks save too little memory
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

}  // namespace sortium
