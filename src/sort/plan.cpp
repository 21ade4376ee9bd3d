#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sortium/sortium.hpp>

#include "../algorithms/algorithm.hpp"
#include "operands.hpp"
#include "self_test.hpp"

namespace sortium {

namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, message);
}

}  // namespace

void check(const Problem& p) {
  const auto& key = info(p.key);
  const unsigned end = p.end_bit == 0 ? key.bits() : p.end_bit;
  if (p.begin_bit >= end || end > key.bits())
    refuse(fmt::format("bits {}:{} are not a range of the {} bits of a {} key", p.begin_bit,
                       p.end_bit, key.bits(), key.name));
  if (p.payload != Payload::none && p.value_bytes != 4 && p.value_bytes != 8)
    refuse(
        fmt::format("value_bytes is {}; 4 and 8 are allowed (values of other sizes are columns of "
                    "a RecordPlan)",
                    p.value_bytes));
  if (p.payload == Payload::positions && p.value_bytes == 4 && p.count > (std::uint64_t{1} << 32))
    refuse(fmt::format("count is {}; 4-byte positions reach 2^32 records (take 8)", p.count));
  if (!p.keys_out && p.payload != Payload::positions)
    refuse("keys_out is false, which only an argsort (Payload::positions) may ask for");
  if (p.segments != 0 && p.offset_bytes != 4 && p.offset_bytes != 8)
    refuse(fmt::format("offset_bytes is {}; 4 and 8 are allowed", p.offset_bytes));
  if (p.segments != 0 && p.offset_bytes == 4 && p.count >= (std::uint64_t{1} << 32))
    refuse(fmt::format("count is {}; 4-byte offsets of segments reach 2^32 - 1 records (take 8)",
                       p.count));
  if (p.segments > (std::uint64_t{1} << 40))
    refuse(fmt::format("segments is {}; up to 2^40 is allowed", p.segments));
  if (p.segments != 0 && p.limit > (std::uint64_t{1} << 40) / p.segments)
    refuse(fmt::format("limit is {}; with {} segments up to {} is allowed, 2^40 records in all",
                       p.limit, p.segments, (std::uint64_t{1} << 40) / p.segments));
  if (p.limit > p.count)
    refuse(fmt::format("limit is {}; it is at most the count, {}", p.limit, p.count));
  if (p.count > (std::uint64_t{1} << 40))
    refuse(fmt::format("count is {}; up to 2^40 is allowed", p.count));
}

namespace {

Planned plan(const Problem& problem, const Capabilities& capabilities, const Method& method,
             const std::vector<const Algorithm*>& except = {}) {
  check(problem);
  if (method.algorithm == "auto") {
    if (!method.parameters.empty())
      refuse(fmt::format("parameters '{}' are given, but no algorithm that they belong to",
                         method.parameters));
    return plan_auto(problem, capabilities, method.max_scratch_bytes, except);
  }
  const auto& algorithm = find_algorithm(method.algorithm);
  const bool on_host = capabilities.backend == Backend::host;
  if (algorithm.info().host != on_host)
    throw Error(
        ErrorCode::unsupported,
        on_host ? fmt::format(
                      "{}: made of kernels, which cpu:0 does not run; take auto, or another device",
                      method.algorithm)
                : fmt::format("{}: made for cpu:0, and for no other device", method.algorithm));
  const auto& can = algorithm.info();
  if (can.segments != (problem.segments != 0) || can.limit != (problem.limit != 0))
    throw Error(ErrorCode::unsupported,
                fmt::format("{}: made for problems with {} and {}; this one has {} segments (0: it "
                            "is one sequence) and limit {} (0: "
                            "all records are wanted); take auto",
                            method.algorithm, can.segments ? "segments" : "no segments",
                            can.limit ? "a limit" : "no limit", problem.segments, problem.limit));
  Planned planned = plan_algorithm(algorithm, problem, capabilities, method.parameters);
  if (method.max_scratch_bytes != 0 && planned.sorter->scratch_bytes() > method.max_scratch_bytes)
    refuse(fmt::format("max_scratch_bytes is {}; {} ({}) needs {}", method.max_scratch_bytes,
                       method.algorithm, planned.sorter->parameters(),
                       planned.sorter->scratch_bytes()));
  return planned;
}

}  // namespace

Planned plan_judged(const Problem& problem, const Capabilities& capabilities, const Method& method,
                    const Judge& judge) {
  std::vector<const Algorithm*> failed;
  std::string why;
  for (;;) {
    Planned planned;
    try {
      planned = plan(problem, capabilities, method, failed);
    } catch (const Error& e) {
      throw why.empty() ? e : Error(e.code(), why + "\n" + e.what());
    }
    const std::string verdict = judge(planned);
    if (verdict.empty()) return planned;
    why += (why.empty() ? "" : "\n") + verdict;
    if (method.algorithm != "auto") throw Error(ErrorCode::unsupported, why);
    failed.push_back(planned.algorithm);
  }
}

std::vector<AlgorithmInfo> algorithms() {
  std::vector<AlgorithmInfo> out;
  for (const auto* a : registry()) out.push_back(a->info());
  return out;
}

Plan::Plan(std::shared_ptr<Device> device, const Problem& problem, const Method& method)
    : device_(std::move(device)), problem_(problem) {
  const auto& found = capabilities(*device_);
  auto planned = plan_judged(problem, found, method, [&](const Planned& p) {
    p.sorter->build(*device_, found);
    return self_test(*device_, found, p, problem);
  });
  algorithm_ = &planned.algorithm->info();
  sorter_ = std::move(planned.sorter);
}

Plan::Plan(Plan&&) noexcept = default;
Plan& Plan::operator=(Plan&&) noexcept = default;
Plan::~Plan() = default;

std::uint64_t Plan::scratch_bytes() const { return sorter_->scratch_bytes(); }
std::string Plan::parameters() const { return sorter_->parameters(); }
std::uint64_t Plan::run_length() const { return sorter_->run(); }
std::uint64_t Plan::bytes_moved() const { return sorter_->bytes_moved(); }

std::uint64_t Plan::scratch_bytes_for(const Problem& problem, const Capabilities& capabilities,
                                      const Method& method) {
  return plan(problem, capabilities, method).sorter->scratch_bytes();
}

void Plan::check(const Queue& queue, const Operands& o) const {
  check_queue(queue, *device_);
  const unsigned key = info(problem_.key).bytes;
  const bool values = problem_.payload != Payload::none;
  const std::uint64_t out = records_out(problem_);
  const std::array<Operand, 6> all{{
      {"keys_in", o.keys_in, problem_.count * key, key},
      {"keys_out", o.keys_out, problem_.keys_out ? out * key : 0, key},
      {"values_in", o.values_in,
       problem_.payload == Payload::values ? problem_.count * problem_.value_bytes : 0,
       problem_.value_bytes},
      {"values_out", o.values_out, values ? out * problem_.value_bytes : 0, problem_.value_bytes},
      {"scratch", o.scratch, scratch_bytes(), 16},
      {"offsets", o.offsets,
       problem_.segments == 0 ? 0 : (problem_.segments + 1) * problem_.offset_bytes,
       problem_.offset_bytes},
  }};
  const auto backend = device_->info().claimed.backend;
  check_places(all, backend);

  const bool keys_in_place = same(o.keys_in, o.keys_out);
  const bool values_in_place = same(o.values_in, o.values_out);
  if (problem_.limit != 0 && (keys_in_place || (values_in_place && o.values_in)))
    refuse("with a limit, keys_out and values_out must be memory of their own");
  if (problem_.payload == Payload::values && keys_in_place != values_in_place)
    refuse("keys and values must both be sorted in place or both out of place");
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = i + 1; j < all.size(); ++j) {
      if (all[i].bytes == 0 || all[j].bytes == 0 || !overlap(all[i], all[j], backend)) continue;
      if ((i == 0 && j == 1 && keys_in_place) || (i == 2 && j == 3 && values_in_place)) continue;
      refuse(fmt::format(
          "{} and {} overlap; only the in-place form, where they are the same, is allowed",
          all[i].name, all[j].name));
    }
}

void Plan::run(Queue& queue, const Operands& operands) const {
  if (problem_.count == 0) return;
  check(queue, operands);
  sorter_->enqueue(queue, operands);
}

std::vector<Plan::Phase> Plan::profile(Queue& queue, const Operands& operands) const {
  return profiled(queue, [&] { run(queue, operands); });
}

}  // namespace sortium
