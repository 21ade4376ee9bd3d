// Writes the first k records of the sorted order. A selection copies the first k records, unsorted,
// and perhaps some more. Then another algorithm sorts the copies. If k is a large share of the
// count, all records are sorted; the sort writes the first k, or they are copied. On GPUs, a sample
// tells which records to copy; elsewhere a radix select finds the rank of the k-th record.
#include <fmt/format.h>

#include <algorithm>

#include "../catalog.hpp"
#include "../select.hpp"
#include "sample_select.hpp"
#ifdef SORTIUM_WITH_HOST
#include "../sample/few_records.hpp"
#endif

namespace sortium {
namespace {

void refuse_segments(const Problem& problem) {
  if (problem.segments != 0)
    throw Error(ErrorCode::unsupported,
                fmt::format("topk: segments is {}; topk-segmented sorts segments with a limit",
                            problem.segments));
}

// The base class of topk and topk-host: sorts the selected records or all.
class TopkSorter : public Sorter {
 public:
  // The selection writes `selected` records, of which the first ones of the sorted order are the
  // result. 0: there is no selection, and all records are sorted.
  TopkSorter(const Problem& problem, const Capabilities& device, std::uint64_t selected)
      : problem_(problem), limit_(records_out(problem)), selects_(selected != 0) {
    inner_problem_ = problem;
    inner_problem_.limit = 0;
    if (selects_) {
      inner_problem_.count = selected;
      inner_problem_.limit = selected > limit_ ? limit_ : 0;
      inner_problem_.keys_out = true;
      if (problem.payload == Payload::positions)
        inner_problem_.payload = Payload::values;  // the compaction stores the positions as values
    }
    inner_ = plan_auto(inner_problem_, device);
    const std::uint64_t key = info(problem.key).bytes, key_bytes = inner_problem_.count * key;
    copies_ = !selects_ && limit_ != problem.count && !inner_.sorter->write_first(limit_);
    if (selects_ || copies_) keys_ = scratch_.add(inner_problem_.keys_out ? key_bytes : 0);
    if (selects_ && !problem.keys_out) sorted_keys_ = scratch_.add(limit_ * key);
    if ((selects_ || copies_) && problem.payload != Payload::none)
      values_ = scratch_.add(inner_problem_.count * problem.value_bytes);
    inner_scratch_ = scratch_.add(inner_.sorter->scratch_bytes());
  }

  std::uint64_t scratch_bytes() const override { return scratch_.bytes(); }
  std::string parameters() const override { return selects_ ? select_parameters() : "method=sort"; }
  std::uint64_t bytes_moved() const override {
    const std::uint64_t sort = inner_.sorter->bytes_moved(), key = info(problem_.key).bytes;
    const std::uint64_t value = problem_.payload == Payload::none ? 0 : problem_.value_bytes;
    if (sort == 0) return 0;
    if (!selects_)
      return copies_ ? sort + 2 * limit_ * ((problem_.keys_out ? key : 0) + value)
                     : sort - (problem_.count - limit_) * ((problem_.keys_out ? key : 0) + value);
    return sort + key_readings() * problem_.count * key +
           inner_problem_.count * (key + value + (problem_.payload == Payload::values ? value : 0));
  }

  void build(Device& device, const Capabilities& capabilities) override {
    inner_.sorter->build(device, capabilities);
  }

  void enqueue(Queue& queue, const Operands& o) override {
    Operands sort = o;
    sort.scratch = inner_scratch_.in(o);
    const bool has_values = problem_.payload != Payload::none;
    if (selects_) {
      Operands select = o;
      select.keys_out = keys_.in(o);
      if (has_values) select.values_out = values_.in(o);
      this->select(queue, select);
      sort.keys_in = select.keys_out;
      sort.values_in = select.values_out;
      if (!problem_.keys_out) sort.keys_out = sorted_keys_.in(o);
      inner_.sorter->enqueue(queue, sort);
      return;
    }
    if (copies_ && problem_.keys_out) sort.keys_out = keys_.in(o);
    if (copies_ && has_values) sort.values_out = values_.in(o);
    inner_.sorter->enqueue(queue, sort);
    if (!copies_) return;
    if (problem_.keys_out) queue.copy(o.keys_out, sort.keys_out, limit_ * info(problem_.key).bytes);
    if (has_values) queue.copy(o.values_out, sort.values_out, limit_ * problem_.value_bytes);
  }

 protected:
  // Writes the selected records to keys_out and values_out, unsorted. Keeps tied records in the
  // order of the input, so that a stable sort of them begins with the result.
  virtual void select(Queue& queue, const Operands& operands) = 0;
  virtual std::string select_parameters() const = 0;
  virtual unsigned key_readings() const = 0;

  Problem problem_;
  std::uint64_t limit_;
  bool selects_;
  ScratchLayout scratch_;

 private:
  Problem inner_problem_;
  Planned inner_{};
  bool copies_ = false;  // the sort of all records cannot write the first ones alone
  ScratchLayout::Slice keys_, sorted_keys_, values_, inner_scratch_;
};

// How the device selects.
struct ChosenMethod {
  std::string method;   // "sample", "select" or "sort"
  SampleSelect sample;  // of method "sample"
  std::uint64_t selected = 0;
};

ChosenMethod chosen_method(const Problem& problem, const Capabilities& device,
                           const Parameters& given) {
  // A single work-group can sort this many records (one-group); a GPU sorts so many almost as fast
  // as it selects.
  constexpr std::uint64_t few = std::uint64_t{1} << 13, few_for_gpu = std::uint64_t{1} << 17;
  refuse_segments(problem);
  const std::uint64_t n = problem.count, limit = records_out(problem);
  const bool samples = device.kind != DeviceKind::cpu;
  const std::string_view usual = limit > n / 4 || n <= (samples ? few_for_gpu : few) ? "sort"
                                 : samples                                           ? "sample"
                                                                                     : "select";
  ChosenMethod s{.method = given.word("method", usual), .sample = {}, .selected = 0};
  if (s.method == "select") s.selected = limit;
  if (s.method == "sample") {
    s.sample = SampleSelect(problem, device, given, limit);
    s.selected = s.sample.selected();
  }
  return s;
}

class DeviceTopk final : public TopkSorter {
 public:
  DeviceTopk(const Problem& problem, const Capabilities& device, const Parameters& given,
             ChosenMethod chosen)
      : TopkSorter(problem, device, chosen.selected), chosen_(std::move(chosen)) {
    if (by_sample()) chosen_.sample.lay_out(scratch_);
    if (by_digits()) select_ = RadixSelect(problem, device, given, scratch_);
  }
  void build(Device& device, const Capabilities& capabilities) override {
    TopkSorter::build(device, capabilities);
    if (by_sample()) chosen_.sample.build(device, capabilities);
    if (by_digits()) select_.build(device, capabilities);
  }

 private:
  [[nodiscard]] bool by_sample() const { return chosen_.method == "sample"; }
  [[nodiscard]] bool by_digits() const { return chosen_.method == "select"; }
  void select(Queue& queue, const Operands& o) override {
    if (by_sample())
      chosen_.sample.enqueue(queue, o);
    else
      select_.enqueue(queue, o, limit_, limit_);
  }
  std::string select_parameters() const override {
    return by_sample() ? "method=sample," + chosen_.sample.parameters()
                       : "method=select," + select_.parameters();
  }
  unsigned key_readings() const override { return by_sample() ? 1 : select_.key_readings(); }
  ChosenMethod chosen_;
  RadixSelect select_;
};

class Topk final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "topk",
        .title =
            "the first k records, sorted: those up to a sampled bound, or a radix select by 11-bit "
            "digits; then a sort of the selected records",
        .source = "Alabi, Blanchard, Gordon, Steinbach 2012; Zhang et al. 2023",
        .stable = true,
        .limit = true,
        .cost =
            "with a sample, one read of the keys, a sort of a few more than k records, and 5 "
            "launches; else bits/11 + 2 reads of the keys, a sort of k records, and 2 launches for "
            "each digit and 3 more",
        .parameters = {
            {"method",
             "select the records by a sample or by digits, or sort all; the default depends on the "
             "device and on the share that is wanted",
             0,
             0,
             {"sample", "select", "sort"}},
            {"samples", "samples (method sample)", 1, 1 << 20, {}},
            {"work_group", "work-items of a work-group", 1, 1024, {}},
            {"items", "neighbouring records of a work-item in a tile", 1, 64, {}},
            {"groups", "the most work-groups", 1, 1 << 20, {}}}};
    return info;
  }

  Rank suits(const Problem&, const Capabilities&) const override { return Rank::only_one; }
  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    return std::make_unique<DeviceTopk>(problem, device, given,
                                        chosen_method(problem, device, given));
  }
};

#ifdef SORTIUM_WITH_HOST
// Finds the first records of few on the calling thread (FewRecords).
class FewTopk final : public Sorter {
 public:
  explicit FewTopk(const Problem& problem) : problem_(problem) {
    codes_ = scratch_.add(problem.count * info(problem.key).bytes);
    own_ = scratch_.add(problem.count * 2 * sizeof(std::uint64_t));
  }
  // With more threads, all of them select from fewer records. So they do if most records are
  // wanted.
  static bool suits(const Problem& problem, const Capabilities& device, const Parameters& given) {
    const bool most_wanted = 8 * records_out(problem) > 5 * problem.count;
    const std::uint64_t most = std::uint64_t{1}
                               << (device.compute_units <= 2 && !most_wanted ? 18 : 16);
    return problem.count <= most && info(problem.key).bytes >= 4 && sample::has_codes(problem) &&
           !given.has("method") && !given.has("threads");
  }

  std::uint64_t scratch_bytes() const override { return scratch_.bytes(); }
  std::string parameters() const override { return "method=select,threads=1"; }
  void build(Device&, const Capabilities&) override {}
  void enqueue(Queue& queue, const Operands& o) override {
    queue.call("select", [this, o] {
      if (info(problem_.key).bytes == 4)
        select<std::uint32_t>(o);
      else
        select<std::uint64_t>(o);
    });
  }

 private:
  template <class Key>
  void select(const Operands& o) const {
    if (problem_.payload != Payload::none && problem_.value_bytes == 8)
      select<Key, std::uint64_t>(o);
    else
      select<Key, std::uint32_t>(o);
  }
  template <class Key, class Value>
  void select(const Operands& o) const {
    using Records = sample::FewRecords<Key, Value>;
    Records(problem_, o,
            {sample::at<Key>(codes_.in(o)), nullptr, sample::at<std::uint64_t>(own_.in(o))})
        .sort_first();
  }

  Problem problem_;
  ScratchLayout scratch_;
  ScratchLayout::Slice codes_, own_;
};

class HostTopk final : public TopkSorter {
 public:
  HostTopk(const Problem& problem, const Capabilities& device, const Parameters& given)
      : TopkSorter(problem, device, selects(problem, given) ? records_out(problem) : 0),
        threads_(static_cast<unsigned>(given.number("threads", device.compute_units))) {}

 private:
  static bool selects(const Problem& problem, const Parameters& given) {
    refuse_segments(problem);
    // A counting sort of all keys takes less time than a selection.
    const bool counts = problem.payload == Payload::none && catalog::counting_suits(problem);
    const bool sorts = counts || 8 * records_out(problem) > 5 * problem.count;
    return given.word("method", sorts ? "sort" : "select") == "select";
  }
  void select(Queue& queue, const Operands& o) override {
    queue.call("select", [&] { select_on_host(problem_, o, threads_, limit_, limit_); });
  }
  std::string select_parameters() const override {
    return fmt::format("method=select,threads={}", threads_);
  }
  unsigned key_readings() const override { return 3; }
  unsigned threads_;
};

class TopkHost final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "topk-host",
        .title =
            "the first k records, sorted, on the host's cores: selection by a sample, then a sort "
            "of the selected records",
        .source = "Floyd, Rivest 1975",
        .stable = true,
        .host = true,
        .limit = true,
        .cost =
            "about 3 reads of the keys, and a sort of k records; allocates some per cent of the "
            "keys' bytes",
        .parameters = {
            {"method",
             "select the records, or sort all; the default depends on the share that is wanted",
             0,
             0,
             {"select", "sort"}},
            {"threads", "the most threads", 1, 1024, {}}}};
    return info;
  }

  Rank suits(const Problem&, const Capabilities&) const override { return Rank::only_one; }
  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    refuse_segments(problem);
    if (FewTopk::suits(problem, device, given)) return std::make_unique<FewTopk>(problem);
    return std::make_unique<HostTopk>(problem, device, given);
  }
};
#endif

}  // namespace

const Algorithm& catalog::topk() {
  static const Topk algorithm;
  return algorithm;
}

#ifdef SORTIUM_WITH_HOST
const Algorithm& catalog::topk_host() {
  static const TopkHost algorithm;
  return algorithm;
}
#endif

}  // namespace sortium
