// Writes the first k records of the sorted order. A radix select finds the rank of the k-th record,
// and copies the first k records, unsorted. Then another algorithm sorts the copies. If k is a
// large share of the count, all records are sorted and the first k are copied.
#include <fmt/format.h>

#include <algorithm>

#include "../catalog.hpp"
#include "../select.hpp"

namespace sortium {
namespace {

// The base class of topk and topk-host: decides whether to select, and sorts the selected records
// or all.
class TopkSorter : public Sorter {
 public:
  // By default, all records are sorted if there are at most `few`, or if the limit is more than
  // 1/`share` of them.
  TopkSorter(const Problem& problem, const Capabilities& device, const Parameters& given,
             std::uint64_t few, unsigned share)
      : problem_(problem),
        limit_(records_out(problem)),
        selects_(given.word("method", limit_ > problem.count / share || problem.count <= few
                                          ? "sort"
                                          : "select") == "select") {
    if (problem.segments != 0)
      throw Error(ErrorCode::unsupported,
                  fmt::format("topk: segments is {}; topk-segmented sorts segments with a limit",
                              problem.segments));
    inner_problem_ = problem;
    inner_problem_.limit = 0;
    if (selects_) {
      inner_problem_.count = limit_;
      inner_problem_.keys_out = true;
      if (problem.payload == Payload::positions)
        inner_problem_.payload = Payload::values;  // the compaction stores the positions as values
    }
    inner_ = plan_auto(inner_problem_, device);
    const std::uint64_t key_bytes = inner_problem_.count * info(problem.key).bytes;
    const bool all = limit_ == problem.count && !selects_;  // the sort itself writes the output
    if (!all) keys_ = scratch_.add(inner_problem_.keys_out ? key_bytes : 0);
    if (selects_ && !problem.keys_out) sorted_keys_ = scratch_.add(key_bytes);
    if (!all && problem.payload != Payload::none)
      values_ = scratch_.add(inner_problem_.count * problem.value_bytes);
    inner_scratch_ = scratch_.add(inner_.sorter->scratch_bytes());
  }

  std::uint64_t scratch_bytes() const override { return scratch_.bytes(); }
  std::string parameters() const override {
    return selects_ ? "method=select," + select_parameters() : "method=sort";
  }
  std::uint64_t bytes_moved() const override {
    const std::uint64_t sort = inner_.sorter->bytes_moved(), key = info(problem_.key).bytes;
    const std::uint64_t value = problem_.payload == Payload::none ? 0 : problem_.value_bytes;
    if (sort == 0) return 0;
    if (!selects_)
      return sort +
             (limit_ == problem_.count ? 0 : 2 * limit_ * ((problem_.keys_out ? key : 0) + value));
    return sort + key_readings() * problem_.count * key +
           limit_ * (key + value + (problem_.payload == Payload::values ? value : 0));
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
    const bool all = limit_ == problem_.count;
    if (!all && problem_.keys_out) sort.keys_out = keys_.in(o);
    if (!all && has_values) sort.values_out = values_.in(o);
    inner_.sorter->enqueue(queue, sort);
    if (all) return;
    if (problem_.keys_out) queue.copy(o.keys_out, sort.keys_out, limit_ * info(problem_.key).bytes);
    if (has_values) queue.copy(o.values_out, sort.values_out, limit_ * problem_.value_bytes);
  }

 protected:
  // Writes the first `limit_` records of the sorted order to keys_out and values_out, unsorted.
  // Keeps tied records in the order of the input, so that a stable sort of them is the result.
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
  ScratchLayout::Slice keys_, sorted_keys_, values_, inner_scratch_;
};

class DeviceTopk final : public TopkSorter {
 public:
  DeviceTopk(const Problem& problem, const Capabilities& device, const Parameters& given)
      : TopkSorter(problem, device, given, few, 4) {
    if (selects_) select_ = RadixSelect(problem, device, given, scratch_);
  }
  void build(Device& device, const Capabilities& capabilities) override {
    TopkSorter::build(device, capabilities);
    if (selects_) select_.build(device, capabilities);
  }

 private:
  // A single work-group can sort this many records (one-group).
  static constexpr std::uint64_t few = std::uint64_t{1} << 13;
  void select(Queue& queue, const Operands& o) override {
    select_.enqueue(queue, o, limit_, limit_);
  }
  std::string select_parameters() const override { return select_.parameters(); }
  unsigned key_readings() const override { return select_.key_readings(); }
  RadixSelect select_;
};

class Topk final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "topk",
        .title =
            "the first k records, sorted: radix select by 11-bit digits, then a sort of the "
            "selected records",
        .source = "Alabi, Blanchard, Gordon, Steinbach 2012; Zhang et al. 2023",
        .stable = true,
        .limit = true,
        .cost =
            "bits/11 + 2 reads of the keys, k records written, and a sort of k records; 2 launches "
            "for each digit and 3 more",
        .parameters = {
            {"method",
             "select the records, or sort all; the default depends on the share that is wanted",
             0,
             0,
             {"select", "sort"}},
            {"work_group", "work-items of a work-group", 1, 1024, {}},
            {"items", "neighbouring records of a work-item in a tile", 1, 64, {}},
            {"groups", "the most work-groups", 1, 1 << 20, {}}}};
    return info;
  }

  Rank suits(const Problem&, const Capabilities&) const override { return Rank::only_one; }
  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    return std::make_unique<DeviceTopk>(problem, device, given);
  }
};

#ifdef SORTIUM_WITH_HOST
class HostTopk final : public TopkSorter {
 public:
  HostTopk(const Problem& problem, const Capabilities& device, const Parameters& given)
      : TopkSorter(problem, device, given, few_of(problem), 4),
        threads_(static_cast<unsigned>(given.number("threads", device.compute_units))) {}

 private:
  // A counting sort of all keys takes less time than a selection.
  static std::uint64_t few_of(const Problem& problem) {
    const bool counts = problem.payload == Payload::none && catalog::counting_suits(problem);
    return counts ? problem.count : 0;
  }
  void select(Queue& queue, const Operands& o) override {
    queue.call("select", [&] { select_on_host(problem_, o, threads_, limit_, limit_); });
  }
  std::string select_parameters() const override { return fmt::format("threads={}", threads_); }
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
