// The bound is the sample with a certain number in the sorted order of all samples. How many
// samples are among the first k records, and how many records come before a sample, are at most as
// far from their means as Poisson's distribution says: each sample is taken from another range of
// positions.
#include "sample_select.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "../../kernels/kernels.hpp"
#include "embedded.hpp"

namespace sortium {
namespace {

constexpr unsigned digit_bits = 11;
constexpr std::uint64_t least_samples = 1 << 13, most_samples = 1 << 15, records_of_sample = 256;
// A work-item that finds the bound has at most this many bytes of samples in registers.
constexpr std::uint64_t held_bytes = 128;
// A tile has 32 marks for each work-item and word. There are so many words that a list has at least
// this many tiles, which keep all compute units busy; more tiles take longer to add up.
constexpr std::uint64_t least_tiles = 2048;
constexpr unsigned most_words = 4;
// The bound is wrong with a probability of at most 2 * exp(-surprise) = 2e-7. Then one work-group
// selects.
constexpr double surprise = 16;

// Chernoff's bound: the probability that Poisson's distribution of this mean has a value as far
// from the mean as `value` is at most exp(-surprise_of(mean, value)).
double surprise_of(double mean, double value) {
  return mean - value + (value == 0 ? 0 : value * std::log(value / mean));
}

// Returns the least `value` above `from` with enough(value), which stays true above.
template <class Condition>
double least(double from, const Condition& enough) {
  double step = 1;
  while (!enough(from + step)) step *= 2;
  double below = from;
  for (; step >= 1; step /= 2)
    if (!enough(below + step)) below += step;
  return std::ceil(below + 1);
}

}  // namespace

SampleSelect::SampleSelect(const Problem& problem, const Capabilities& device,
                           const Parameters& given, std::uint64_t k)
    : problem_(problem), k_(k) {
  const std::uint64_t n = problem.count;
  const auto largest = std::bit_floor(std::min(device.max_work_group, 1024u));
  const bool emulated = device.sub_group_words == SubGroupWords::emulated;
  const unsigned fewest = emulated ? 1 : std::min(device.sub_group_size, largest);
  const bool gpu = device.kind != DeviceKind::cpu;
  work_group_ =
      static_cast<unsigned>(given.number("work_group", gpu ? std::min(largest, 256u) : fewest));
  if (!std::has_single_bit(work_group_) || work_group_ < fewest || work_group_ > largest)
    throw Error(ErrorCode::unsupported,
                fmt::format("topk: work_group={} is not a power of two between {} and {}",
                            work_group_, fewest, largest));
  bound_work_group_ = gpu ? largest : work_group_;
  const std::uint64_t marks = 32 * std::uint64_t{work_group_};
  words_ = static_cast<unsigned>(
      std::bit_floor(std::clamp<std::uint64_t>(n / marks / least_tiles, 1, most_words)));
  tiles_ = ceil_div(n, marks * words_);

  const std::uint64_t by_count =
      std::clamp(std::bit_floor(n / records_of_sample), least_samples, most_samples);
  constexpr std::uint64_t largest_stride = ~std::uint32_t{0};
  samples_ = static_cast<std::uint32_t>(std::clamp(given.number("samples", by_count),
                                                   ceil_div(n, largest_stride),
                                                   std::max<std::uint64_t>(n, 1)));
  stride_ = static_cast<std::uint32_t>(std::max<std::uint64_t>(n / samples_, 1));
  // The bound is so far in the samples' order that enough records come before it, and the capacity
  // is so large that all of these fit.
  const double share = static_cast<double>(k) / stride_;
  const double number = least(share, [&](double v) { return surprise_of(share, v) >= surprise; });
  wanted_ = static_cast<std::uint32_t>(std::min<double>(number, samples_)) - 1;
  const double most =
      least(wanted_ + 1, [&](double mean) { return surprise_of(mean, wanted_) >= surprise; });
  capacity_ = std::max(k, std::min(n, static_cast<std::uint64_t>(most * stride_)));
}

void SampleSelect::lay_out(ScratchLayout& layout) {
  keys_ = layout.add(std::uint64_t{samples_} * info(problem_.key).bytes);
  bound_ = layout.add(2 * 8);
  marks_ = layout.add(ceil_div(problem_.count, 32) * 4);
  counts_ = layout.add(tiles_ * 4);
  starts_ = layout.add((tiles_ + 1) * kernels::index_bytes(problem_.count));
}

std::string SampleSelect::parameters() const {
  return fmt::format("work_group={},samples={}", work_group_, samples_);
}

void SampleSelect::build(Device& device, const Capabilities& capabilities) {
  const std::uint64_t share = ceil_div(samples_, bound_work_group_);
  const bool holds = share * info(problem_.key).bytes <= held_bytes && bound_work_group_ > 1;
  module_ = kernels::build(device, capabilities, kernels::embedded::topk_sample_cl,
                           kernels::Defines()
                               .problem(problem_)
                               .set("WG", work_group_)
                               .set("WG_ONE", bound_work_group_)
                               .set("WORDS", words_)
                               .set("HELD", holds ? share : 0)
                               .set("DIGIT_BITS", digit_bits));
  sample_ = module_->kernel("topk_sample");
  find_bound_ = module_->kernel("topk_bound");
  mark_ = module_->kernel("topk_mark");
  check_ = module_->kernel("topk_check");
  collect_ = module_->kernel("topk_collect");
}

void SampleSelect::enqueue(Queue& queue, const Operands& o) const {
  const Memory samples = keys_.in(o), bound = bound_.in(o), marks = marks_.in(o),
               counts = counts_.in(o), starts = starts_.in(o);
  const auto tiles = static_cast<std::uint32_t>(tiles_);
  const Arg sample_args[] = {
      {"keys", o.keys_in}, {"samples", samples}, {"count", samples_}, {"stride", stride_}};
  queue.launch({*sample_, ceil_div(samples_, work_group_), work_group_, sample_args, "sample"});
  const Arg bound_args[] = {{"samples", samples},
                            {"bound", bound},
                            {"count", samples_},
                            {"stride", stride_},
                            {"wanted", wanted_}};
  queue.launch({*find_bound_, 1, bound_work_group_, bound_args, "bound"});
  const Arg mark_args[] = {{"keys", o.keys_in},
                           {"marks", marks},
                           {"counts", counts},
                           {"bound", bound},
                           {"n", problem_.count}};
  queue.launch({*mark_, tiles_, work_group_, mark_args, "mark"});
  const Arg check_args[] = {{"keys", o.keys_in}, {"marks", marks},        {"counts", counts},
                            {"starts", starts},  {"bound", bound},        {"n", problem_.count},
                            {"k", k_},           {"capacity", capacity_}, {"tiles", tiles}};
  queue.launch({*check_, 1, bound_work_group_, check_args, "check"});
  const Arg collect_args[] = {{"keys_in", o.keys_in},     {"keys_out", o.keys_out},
                              {"values_in", o.values_in}, {"values_out", o.values_out},
                              {"marks", marks},           {"starts", starts},
                              {"bound", bound},           {"n", problem_.count},
                              {"capacity", capacity_}};
  queue.launch({*collect_, tiles_, work_group_, collect_args, "compact"});
}

}  // namespace sortium
