// The radix sort of P. Helluy, "A portable implementation of the radix sort algorithm in OpenCL"
// (2011).
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "../../kernels/kernels.hpp"
#include "../catalog.hpp"
#include "../scan.hpp"
#include "embedded.hpp"

namespace sortium {
namespace {

// Returns the problem that the passes solve. With permutation=on, the passes move positions instead
// of values, and the values are gathered once after the last pass.
Problem carried(Problem problem, const Parameters& given) {
  if (const auto b = given.number("b", 0); b != 0) {
    if (problem.begin_bit + b > info(problem.key).bits())
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("radix: b={} from bit {} is more than the {} bits of the key", b,
                              problem.begin_bit, info(problem.key).bits()));
    problem.end_bit = problem.begin_bit + static_cast<unsigned>(b);
  }
  if (problem.payload == Payload::values && given.word("permutation", "off") == "on") {
    problem.payload = Payload::positions;
    problem.value_bytes = kernels::index_bytes(problem.count);
  }
  return problem;
}

// What radix.cl is specialised for.
struct RadixParameters {
  std::uint64_t items;             // I, the work-items of a group; each has a part of the list
  unsigned digit_bits;             // r, the bits of a digit
  bool transposed;                 // 1: the records are stored transposed, see place_of
  unsigned gather_group;           // work-items of a work-group that gathers
  unsigned transpose_side;         // side of the squares in which a matrix is transposed
  std::string_view gathered_type;  // type of the values that are gathered: u32 or u64

  [[nodiscard]] kernels::Defines defines(const Problem& problem) const {
    return kernels::Defines()
        .problem(radix_problem(problem))
        .set("ITEMS", items)
        .set("DIGIT_BITS", digit_bits)
        .set("TRANSPOSED", int{transposed})
        .set("GATHER_WG", gather_group)
        .set("TRANSPOSE_SIDE", transpose_side)
        .set("GATHER_T", gathered_type);
  }
};

class RadixSorter final : public Sorter {
 public:
  RadixSorter(const Problem& problem, const Capabilities& device, const Parameters& given)
      : problem_(problem), carried_(carried(problem, given)) {
    const bool cpu = device.kind == DeviceKind::cpu;
    transposed_ = given.word("transpose", cpu ? "off" : "on") == "on";
    permuted_ = problem.payload != carried_.payload;
    r_ = static_cast<unsigned>(given.number("r", cpu ? 8 : 5));
    groups_ = given.number(
        "groups", cpu ? 4 * device.compute_units : std::max(2 * device.compute_units, 128u));

    choose_items(device, given, cpu);
    gather_group_ = std::bit_floor(std::min(device.max_work_group, 256u));
    side_ = gather_group_ >= 256 ? 16 : 8;
    rows_ = groups_ * items_;
    columns_ = ceil_div(problem.count, rows_);
    histogram_length_ = (std::uint64_t{1} << r_) * rows_;

    digits_ = digits(carried_, r_);
    histogram_ = layout_.add(histogram_length_ * kernels::index_bytes(problem.count));
    scan_ = Scan(histogram_length_, given.number("splits", cpu ? 8 : 512), problem.count, device,
                 layout_);
    lay_out_copies();
  }

  std::uint64_t scratch_bytes() const override { return layout_.bytes(); }
  std::string parameters() const override {
    const unsigned end = carried_.end_bit == 0 ? info(carried_.key).bits() : carried_.end_bit;
    return fmt::format("b={},r={},items={},groups={},splits={},transpose={},permutation={}",
                       end - carried_.begin_bit, r_, items_, groups_, scan_.parts(),
                       transposed_ ? "on" : "off",
                       carried_.payload == Payload::positions ? "on" : "off");
  }
  std::uint64_t bytes_moved() const override {
    const std::uint64_t keys = problem_.count * info(problem_.key).bytes;
    const std::uint64_t carried =
        carried_.payload == Payload::none ? 0 : problem_.count * carried_.value_bytes;
    std::uint64_t bytes = bytes_of_passes(carried_, digits_.size(), 2);
    if (transposed_) {  // the last pass always writes the keys; without keys_out they are not
                        // transposed back
      bytes += 4 * keys + (carried_.payload == Payload::values ? 4 : 2) * carried;
      if (!carried_.keys_out) bytes -= keys;
    }
    if (permuted_) bytes += carried + 4 * problem_.count * problem_.value_bytes;
    return bytes;
  }

  void build(Device& device, const Capabilities& capabilities) override {
    const unsigned value_bytes = carried_.payload == Payload::none ? 0 : carried_.value_bytes;
    const RadixParameters parameters{.items = items_,
                                     .digit_bits = r_,
                                     .transposed = transposed_,
                                     .gather_group = gather_group_,
                                     .transpose_side = side_,
                                     .gathered_type = problem_.value_bytes == 8 ? "u64" : "u32"};
    module_ = kernels::build(device, capabilities, kernels::embedded::radix_cl,
                             parameters.defines(carried_));
    count_ = module_->kernel("radix_histogram");
    reorder_ = module_->kernel("radix_reorder");
    transpose_keys_ = module_->kernel("radix_transpose_keys");
    if (value_bytes != 0) {
      transpose_values_ = module_->kernel("radix_transpose_values");
      gather_ = module_->kernel("radix_gather");
    }
    scan_.build(device, capabilities);
  }

  void enqueue(Queue& queue, const Operands& given) override {
    Operands o = given;
    if (permuted_) {
      o.values_in = {};
      o.values_out = permutation_.in(o);
    }
    if (transposed_)
      transpose_in(queue, o);
    else
      passes_.start(queue, o);
    for (unsigned p = 0; p < digits_.size(); ++p)
      run_pass(queue, o, transposed_ ? matrices(p, o) : passes_.pass(p, o), digits_[p]);
    if (transposed_) transpose_out(queue, o);
    if (permuted_) gather_values(queue, given, o.values_out);
  }

 private:
  void choose_items(const Capabilities& device, const Parameters& given, bool cpu) {
    // A work-group has its histogram in local memory: 2^r counters for each of its work-items.
    const std::uint64_t per_item = (std::uint64_t{1} << r_) * kernels::index_bytes(problem_.count);
    const std::uint64_t most =
        std::min<std::uint64_t>(device.local_memory / per_item, device.max_work_group);
    items_ = given.number("items", cpu ? 1 : std::min<std::uint64_t>(std::bit_floor(most), 128));
    if (items_ < 1 || items_ > most)
      throw Error(ErrorCode::unsupported,
                  fmt::format("radix: items={} with r={} needs {} bytes of local memory and a "
                              "work-group of {}; the "
                              "device has {} bytes and {} work-items, which allows items up to {}",
                              std::max<std::uint64_t>(items_, 1), r_,
                              std::max<std::uint64_t>(items_, 1) * per_item, items_,
                              device.local_memory, device.max_work_group, most));
  }

  // Scratch memory for the passes' buffers and for values that are gathered.
  void lay_out_copies() {
    if (transposed_) {
      const std::uint64_t matrix = rows_ * columns_;
      for (auto& m : key_matrix_) m = layout_.add(matrix * info(problem_.key).bytes);
      if (carried_.payload != Payload::none)
        for (auto& m : value_matrix_) m = layout_.add(matrix * carried_.value_bytes);
    } else {
      passes_ = PingPong(carried_, static_cast<unsigned>(digits_.size()), layout_);
    }
    if (permuted_) {
      permutation_ = layout_.add(problem_.count * carried_.value_bytes);
      values_copy_ = layout_.add(problem_.count * problem_.value_bytes);
    }
  }

  void transpose_in(Queue& queue, const Operands& o) {
    transpose(queue, *transpose_keys_, o.keys_in, key_matrix_[0].in(o), 0);
    if (carried_.payload == Payload::values)
      transpose(queue, *transpose_values_, o.values_in, value_matrix_[0].in(o), 0);
  }

  void transpose_out(Queue& queue, const Operands& o) {
    const unsigned last = digits_.size() % 2;
    if (o.keys_out) transpose(queue, *transpose_keys_, key_matrix_[last].in(o), o.keys_out, 1);
    if (carried_.payload != Payload::none)
      transpose(queue, *transpose_values_, value_matrix_[last].in(o), o.values_out, 1);
  }

  void gather_values(Queue& queue, const Operands& o, Memory permutation) {
    queue.copy(values_copy_.in(o), o.values_in, problem_.count * problem_.value_bytes, "gather");
    const Arg args[] = {{"in", values_copy_.in(o)},
                        {"out", o.values_out},
                        {"permutation", permutation},
                        {"n", problem_.count}};
    queue.launch(
        {*gather_, ceil_div(problem_.count, gather_group_), gather_group_, args, "gather"});
  }

  PingPong::Pass matrices(unsigned pass, const Operands& o) const {
    PingPong::Pass b{key_matrix_[pass % 2].in(o), key_matrix_[(pass + 1) % 2].in(o), {}, {}, false};
    if (carried_.payload != Payload::none) {
      b.values_in = value_matrix_[pass % 2].in(o);
      b.values_out = value_matrix_[(pass + 1) % 2].in(o);
      b.make_positions = carried_.payload == Payload::positions && pass == 0;
    }
    return b;
  }

  void run_pass(Queue& queue, const Operands& o, const PingPong::Pass& b, Digit digit) {
    const auto work_group = static_cast<unsigned>(items_);
    const Memory histogram = histogram_.in(o);
    const Arg count_args[] = {{"keys", b.keys_in},    {"histogram", histogram},
                              {"n", problem_.count},  {"columns", columns_},
                              {"shift", digit.shift}, {"mask", digit.mask}};
    queue.launch({*count_, groups_, work_group, count_args, "histogram"});

    scan_.enqueue(queue, o, histogram);

    const Arg args[] = {
        {"keys_in", b.keys_in},     {"keys_out", b.keys_out},
        {"values_in", b.values_in}, {"values_out", b.values_out},
        {"histogram", histogram},   {"n", problem_.count},
        {"columns", columns_},      {"shift", digit.shift},
        {"mask", digit.mask},       {"values_are_positions", std::uint32_t{b.make_positions}}};
    queue.launch({*reorder_, groups_, work_group, args, "reorder"});
  }

  void transpose(Queue& queue, Kernel& kernel, Memory from, Memory to, std::uint32_t back) {
    const Arg args[] = {{"in", from},    {"out", to},           {"n", problem_.count},
                        {"rows", rows_}, {"columns", columns_}, {"back", back}};
    queue.launch({kernel, ceil_div(rows_, side_) * ceil_div(columns_, side_), side_ * side_, args,
                  "transpose"});
  }

  Problem problem_, carried_;  // the caller's problem, and that of the passes
  bool transposed_ = false, permuted_ = false;
  unsigned r_ = 0, gather_group_ = 0, side_ = 0;
  std::uint64_t items_ = 0, groups_ = 0;  // I, G
  std::uint64_t rows_ = 0, columns_ = 0;  // parts (groups × items); records of a part
  std::uint64_t histogram_length_ = 0;
  std::vector<Digit> digits_;
  ScratchLayout layout_;
  PingPong passes_;
  ScratchLayout::Slice histogram_, key_matrix_[2], value_matrix_[2], permutation_, values_copy_;
  Scan scan_;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> count_, reorder_, transpose_keys_, transpose_values_, gather_;
};

class Radix final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "radix",
        .title =
            "the classic radix sort: per-item histograms, a split scan, optional transposition and "
            "permutation",
        .source =
            "P. Helluy, A portable implementation of the radix sort algorithm in OpenCL, 2011 "
            "(document 003)",
        .stable = true,
        .cost =
            "b/r passes; each reads the keys twice and writes the records once; 5 launches a pass, "
            "2 to 4 for "
            "the transpositions",
        .parameters = {
            {"b", "bits of the keys in use, from begin_bit", 1, 64, {}, true},
            {"r", "bits of a digit", 1, 12, {}},
            {"items", "work-items of a group (I)", 1, 4096, {}},
            {"groups", "groups (G)", 1, 65536, {}},
            {"splits", "parts that the scan is split in (s)", 1, 65536, {}},
            {"transpose",
             "transpose the list before the first and after the last pass",
             0,
             0,
             {"on", "off"}},
            {"permutation",
             "carry a permutation through the passes and gather the values once; an argsort "
             "always does",
             0,
             0,
             {"on", "off"}}}};
    return info;
  }

  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    return std::make_unique<RadixSorter>(problem, device, given);
  }
};

}  // namespace

const Algorithm& catalog::radix() {
  static const Radix algorithm;
  return algorithm;
}

}  // namespace sortium
