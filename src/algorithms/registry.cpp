#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>

#include "../tuning/tuning.hpp"
#include "algorithm.hpp"
#include "rooms.hpp"

namespace sortium {

const std::vector<const Algorithm*>& registry() {
  static const std::vector<const Algorithm*> rooms{
      &rooms::bitonic(),
      &rooms::bitonic_local(),
      &rooms::lsd(),
      &rooms::merge(),
      &rooms::merge_in_place(),
      &rooms::merge_local(),
      &rooms::msd(),
      &rooms::odd_even(),
      &rooms::one_cluster(),
      &rooms::one_group(),
      &rooms::onesweep(),
      &rooms::radix(),
      &rooms::radix_simd(),
#ifdef SORTIUM_WITH_HOST
      &rooms::sample(),
      &rooms::sample_in_place(),
#endif
      &rooms::segmented(),
#ifdef SORTIUM_WITH_HOST
      &rooms::segmented_host(),
#endif
      &rooms::selection(),
      &rooms::selection_blocks(),
      &rooms::selection_local(),
      &rooms::topk(),
      &rooms::topk_segmented(),
#ifdef SORTIUM_WITH_HOST
      &rooms::topk_host(),
      &rooms::topk_segmented_host(),
#endif
  };
  return rooms;
}

const Algorithm& find_algorithm(std::string_view name) {
  std::string names = "auto";
  for (const auto* a : registry()) {
    if (a->info().name == name) return *a;
    names += ", " + a->info().name;
  }
  throw Error(ErrorCode::not_found, fmt::format("no algorithm '{}'; there are {}", name, names));
}

Planned plan_room(const Algorithm& room, const Problem& problem, const Capabilities& device,
                  std::string_view text) {
  if (text.empty()) {
    const std::string tuned = tuning::parameters_for(room.info().name, problem, device);
    try {
      const Parameters p(tuned, room.info());
      const bool harmless = std::ranges::none_of(room.info().parameters, [&](const auto& known) {
        return known.changes_result && p.has(known.name);
      });
      if (!tuned.empty() && harmless) return {&room, room.plan(problem, device, p)};
    } catch (const Error& e) {
      // They were found with another problem of the kind, or another version, and need not suit.
      if (e.code() != ErrorCode::unsupported && e.code() != ErrorCode::invalid_argument) throw;
    }
  }
  return {&room, room.plan(problem, device, Parameters(text, room.info()))};
}

namespace {

using Rooms = std::vector<const Algorithm*>;

constexpr std::uint64_t least_chunk =
    1u << 12;  // records, under a ceiling; smaller ones save nothing worth it

Planned plan_fastest(const Problem& problem, const Capabilities& device, const Rooms& except) {
  // Best first; the first whose needs the device meets.
  Rooms candidates;
  const bool limit = problem.limit != 0, segments = problem.segments != 0;
  if (device.backend == Backend::host) {
#ifdef SORTIUM_WITH_HOST
    candidates.push_back(limit && segments ? &rooms::topk_segmented_host()
                         : limit           ? &rooms::topk_host()
                         : segments        ? &rooms::segmented_host()
                                           : &rooms::sample());
#endif
  } else if (limit || segments) {
    candidates.push_back(limit && segments ? &rooms::topk_segmented()
                         : limit           ? &rooms::topk()
                                           : &rooms::segmented());
  } else {
    if (device.kind == DeviceKind::gpu) {
      // One work-group is the faster up to some 2^12 records, one cluster up to some 2^17: they pay
      // for one launch and no look-back. Buckets by leading bits move the records less often than
      // onesweep does.
      const auto passes = digits(problem, 8).size();
      const std::uint64_t moves = problem.count * passes;
      const std::uint64_t record =
          info(problem.key).bytes + (problem.payload == Payload::none ? 0 : problem.value_bytes);
      const bool cluster = device.cluster_groups >= 8,
                 parts = cluster && rooms::one_cluster_parts(problem, device);
      if (problem.count <= std::uint64_t{1} << (parts ? 12 : cluster ? 11 : 13))
        candidates.push_back(&rooms::one_group());
      if (parts ? problem.count <= std::uint64_t{1} << 17
                : cluster && moves <= std::uint64_t{1} << 19 &&
                      moves * record <= std::uint64_t{1} << 22)
        candidates.push_back(&rooms::one_cluster());
      // Three digits are worth it where one partition does, and where all of their bits and values
      // of up to 4 bytes count; two where what is parted by them is sorted, and the list is long
      // enough for that to be faster than to go by the last digit first.
      const bool parts_alone =
          passes == 2 && composite(problem) && problem.count >= std::uint64_t{1} << 25;
      const bool three =
          passes == 3 &&
          (problem.count <= std::uint64_t{1} << 21 ||
           (problem.payload != Payload::none && record <= 8 && key_bits(problem) > 22));
      if (passes > 3 || three || parts_alone) candidates.push_back(&rooms::msd());
      candidates.push_back(&rooms::onesweep());
    }
    candidates.push_back(&rooms::lsd());
    candidates.push_back(&rooms::merge());  // where a compiler gets all of the others wrong
  }
  std::string why = "no algorithm is left for this device";
  for (const auto* a : candidates) {
    if (std::ranges::find(except, a) != except.end()) continue;
    try {
      return plan_room(*a, problem, device);
    } catch (const Error& e) {
      if (e.code() != ErrorCode::unsupported) throw;
      why = e.what();
    }
  }
  throw Error(ErrorCode::unsupported, why);
}

}  // namespace

Planned plan_auto(const Problem& problem, const Capabilities& device,
                  std::uint64_t max_scratch_bytes, const Rooms& except) {
  Planned planned = plan_fastest(problem, device, except);
  if (max_scratch_bytes == 0 || planned.sorter->scratch_bytes() <= max_scratch_bytes)
    return planned;
  const auto refuse = [&](const Planned& least) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("max_scratch_bytes is {}; the least that would do is {} ({}, {})",
                            max_scratch_bytes, least.sorter->scratch_bytes(),
                            least.algorithm->info().name, least.sorter->parameters()));
  };
  if (problem.segments != 0 || problem.limit != 0) refuse(planned);
  // The larger the chunks that are sorted before they are merged in place, the faster; and the more
  // memory.
  const auto* room = &rooms::merge_in_place();
#ifdef SORTIUM_WITH_HOST
  if (device.backend == Backend::host) room = &rooms::sample_in_place();
#endif
  for (std::uint64_t chunk = std::bit_ceil(problem.count) / 2; chunk >= least_chunk; chunk /= 2) {
    Planned other = plan_room(*room, problem, device, fmt::format("chunk={}", chunk));
    if (other.sorter->scratch_bytes() < planned.sorter->scratch_bytes()) planned = std::move(other);
    if (planned.sorter->scratch_bytes() <= max_scratch_bytes) return planned;
  }
  refuse(planned);
  return planned;
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
  // Where pass k's output lies; k = -1 stands for the input.
  const auto keys = [&](int k) -> Memory {
    if (k < 0) return copied ? keys_[0].in(o) : o.keys_in;
    const bool to_out = (passes_ - 1 - static_cast<unsigned>(k)) % 2 == 0;
    if (problem_.keys_out) return to_out ? o.keys_out : keys_[0].in(o);
    if (k == static_cast<int>(passes_) - 1)
      return {};  // positions alone: nobody reads the last pass's keys
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
