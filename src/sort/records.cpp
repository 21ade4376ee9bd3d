// Sorts of records, composed of plain sorts. A key's fields are packed into words. Stable sorts by
// each word, the least significant first, move the records' positions (Knuth, The Art of Computer
// Programming, volume 3, 5.2.5). On cpu:0, and for long lists on other devices, all records are
// sorted by the most significant word only, and those that tie by the next words (record_ties.hpp,
// device_ties.hpp). Then the columns are gathered, or computed from the words (varying_key.hpp).
#include "records.hpp"

#include "../kernels/concurrently.hpp"
#include "../kernels/kernels.hpp"
#include "element_loops.hpp"
#include "embedded.hpp"
#include "out_of_memory.hpp"
#include "profiled.hpp"
#include "record_rows.hpp"
#include "record_steps.hpp"
#include "record_ties.hpp"

namespace sortium {

namespace {

// Packs one word of every record.
class Packer {
 public:
  Packer(const Word& word, const RecordProblem& problem, unsigned position_bytes)
      : word_(word), problem_(problem), position_bytes_(position_bytes) {}

  void build(Device& device, const Capabilities& c) {
    if (c.backend == Backend::host) return;
    kernels::Defines defines;
    defines
        .problem({.key = word_.key(),
                  .count = problem_.count,
                  .payload = Payload::values,
                  .value_bytes = position_bytes_})
        .set("WG", work_group_size(c))
        .set("PACK", pack_text(word_, problem_.columns));
    module_ = kernels::build(device, c, {kernels::embedded::fields_cl, kernels::embedded::pack_cl},
                             defines);
    kernel_ = module_->kernel("records_pack");
    work_group_ = work_group_size(c);
    work_groups_ = work_groups_for(c, problem_.count);
  }

  // With `positions`, word i is that of record positions[i]; without, that of record i.
  void enqueue(Queue& queue, std::span<const Memory> columns, Memory positions,
               Memory words) const {
    if (!kernel_) {
      if (word_.key() == KeyType::u32)
        pack_on_host<std::uint32_t>(queue, columns, positions, words);
      else
        pack_on_host<std::uint64_t>(queue, columns, positions, words);
      return;
    }
    Memory c[columns_of_a_word] = {};
    for (std::size_t i = 0; i < word_.columns.size(); ++i) c[i] = columns[word_.columns[i]];
    const Arg args[] = {{"c0", c[0]},     {"c1", c[1]},         {"c2", c[2]},
                        {"c3", c[3]},     {"c4", c[4]},         {"c5", c[5]},
                        {"c6", c[6]},     {"c7", c[7]},         {"positions", positions},
                        {"words", words}, {"n", problem_.count}};
    queue.launch({*kernel_, work_groups_, work_group_, args, "pack"});
  }

 private:
  template <class W>
  void pack_on_host(Queue& queue, std::span<const Memory> columns, Memory positions,
                    Memory words) const {
    for_elements_on_host(
        queue, "pack", problem_.count, [&](std::uint64_t begin, std::uint64_t end) {
          W* const out = reinterpret_cast<W*>(at(words));
          for (std::uint64_t i = begin; i < end; ++i) out[i] = 0;
          for (const auto& part : word_.parts) {
            const std::byte* const column = at(columns[part.column]);
            const std::uint64_t stride = problem_.columns[part.column].bytes;
            const auto add = [&](const auto& record) {
              part.add_to(out + begin, end - begin,
                          [&](std::uint64_t i) { return column + record(begin + i) * stride; });
            };
            if (!positions)
              add([](std::uint64_t i) { return i; });
            else if (position_bytes_ == 4)
              add([all = reinterpret_cast<const std::uint32_t*>(at(positions))](std::uint64_t i) {
                return std::uint64_t{all[i]};
              });
            else
              add([all = reinterpret_cast<const std::uint64_t*>(at(positions))](std::uint64_t i) {
                return all[i];
              });
          }
        });
  }

  const Word& word_;
  const RecordProblem& problem_;
  unsigned position_bytes_;
  unsigned work_group_ = 0;
  std::uint64_t work_groups_ = 0;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> kernel_;
};

}  // namespace

struct RecordPlan::Implementation {
  Implementation(std::shared_ptr<Device> d, const RecordProblem& p, const Method& method)
      : device(std::move(d)), steps(p, capabilities(*device), method) {
    if (steps.varying) {
      build_varying(p);
      return;
    }
    for (const auto& s : steps.sorts) plans.emplace_back(device, s, steps.inner_method);
    for (auto w = steps.sorts_ties ? steps.words.end() - 1 : steps.words.begin();
         w != steps.words.end(); ++w) {
      packers.emplace_back(*w, steps.problem, steps.index_bytes());
      packers.back().build(*device, capabilities(*device));
    }
    MovedElements moved;
    if (p.segments != 0 && p.limit != 0 && p.stride == 1)
      moved = {MovedElements::Kind::of_segments, p.limit, p.offset_bytes, p.count / p.segments};
    build_gathers(p, moved);
  }

  void build_gathers(const RecordProblem& p, const MovedElements& moved) {
    for (const auto c : steps.gathered)
      gathers.emplace_back(*device,
                           PermuteProblem{Direction::gather, records_out(p), p.columns[c].bytes,
                                          steps.index_bytes(), p.count},
                           moved);
  }

  // Compilers take long, so all kernels are built at once.
  void build_varying(const RecordProblem& p) {
    auto key = kernels::concurrently([&] { steps.varying->build(*device, capabilities(*device)); });
    auto sort_of_ties = kernels::concurrently([&] {
      return steps.varying->words() > 1 ? std::make_unique<DeviceTies>(device, *steps.ties)
                                        : nullptr;
    });
    plans.emplace_back(device, steps.sorts[0], steps.inner_method);
    build_gathers(p, {});
    key.get();
    ties = sort_of_ties.get();
  }

  void enqueue(Queue& queue, const RecordOperands& o) const {
    if (steps.varying) return sort_by_varying(queue, o);
    if (steps.moves_rows && sort_as_rows(queue, o)) return;
    if (steps.key >= 0) sort_by_column(queue, o);
    for (std::size_t w = 0; w < packers.size(); ++w) sort_by_word(queue, o, w);
    if (steps.sorts_ties)
      record_ties::sort(queue, steps.problem, steps.words, steps.index_bytes(),
                        {o.columns_in, slice(o, steps.keys), positions(o), slice(o, steps.inner)});
    for (std::size_t g = 0; g < gathers.size(); ++g) gather(queue, o, g);
  }

  static Memory slice(const RecordOperands& o, const ScratchLayout::Slice& s) {
    return s.bytes == 0 ? Memory{} : o.scratch.slice(s.offset, s.bytes);
  }
  static Memory in(const RecordOperands& o, int column) {
    return o.columns_in[static_cast<unsigned>(column)];
  }
  // Returns the memory for the sorted column; empty if the column is not moved.
  [[nodiscard]] Memory out(const RecordOperands& o, int column) const {
    const auto moved = steps.problem.columns[static_cast<unsigned>(column)].moved;
    return moved == Moved::no         ? Memory{}
           : moved == Moved::in_place ? in(o, column)
                                      : o.columns_out[static_cast<unsigned>(column)];
  }
  [[nodiscard]] Memory positions(const RecordOperands& o) const {
    return steps.problem.position_bytes != 0 ? o.positions : slice(o, steps.positions);
  }

  [[nodiscard]] bool sort_as_rows(Queue& queue, const RecordOperands& o) const {
    std::array<Memory, 64> outputs;
    const std::size_t columns = steps.problem.columns.size();
    for (std::size_t c = 0; c < columns; ++c) outputs[c] = out(o, static_cast<int>(c));
    return record_rows::sort(queue, steps.problem, o.columns_in, std::span(outputs).first(columns),
                             o.scratch);
  }

  void sort_by_column(Queue& queue, const RecordOperands& o) const {
    Operands a{.keys_in = in(o, steps.key),
               .keys_out = out(o, steps.key),
               .scratch = slice(o, steps.inner),
               .offsets = o.offsets};
    if (steps.value >= 0)
      a.values_in = in(o, steps.value), a.values_out = out(o, steps.value);
    else if (steps.has_positions)
      a.values_out = positions(o);
    plans[0].run(queue, a);
  }

  // Copies the value column, whose values move with the keys, to its output. The sort moves the
  // values there. Returns the output.
  Memory copied_value(Queue& queue, const RecordOperands& o, const Problem& sort) const {
    const Memory value = out(o, steps.value);
    if (!same(value, in(o, steps.value)))
      queue.copy(value, in(o, steps.value), sort.count * sort.value_bytes);
    return value;
  }

  void sort_by_varying(Queue& queue, const RecordOperands& o) const {
    const VaryingKey& key = *steps.varying;
    const Memory table = slice(o, steps.table), words = slice(o, steps.keys),
                 inner = slice(o, steps.inner),
                 values = steps.has_positions ? positions(o) : Memory{};
    key.pack(queue, o.columns_in, table, words, values);
    Operands sort{.keys_in = words,
                  .keys_out = steps.sorts[0].keys_out ? words : Memory{},
                  .values_in = key.may_have_tails() ? values : Memory{},
                  .values_out = values,
                  .scratch = inner};
    if (steps.value >= 0) sort.values_in = sort.values_out = copied_value(queue, o, steps.sorts[0]);
    plans[0].run(queue, sort);
    if (ties) ties->enqueue(queue, key, o.columns_in, table, words, values, inner);
    std::vector<VaryingKey::Unpacked> unpacked;
    for (const unsigned c : steps.unpacked) {
      const int column = static_cast<int>(c);
      if (steps.problem.columns[c].moved == Moved::in_place && !key.is_in_first_word(c)) {
        const VaryingKey::Unpacked elsewhere{c, in(o, column), slice(o, steps.column)};
        key.unpack(queue, {&elsewhere, 1}, words, values, table);
        queue.copy(in(o, column), elsewhere.out,
                   steps.problem.count * steps.problem.columns[c].bytes);
      } else {
        unpacked.push_back({c, in(o, column), out(o, column)});
      }
    }
    if (!unpacked.empty()) key.unpack(queue, unpacked, words, values, table);
    for (std::size_t g = 0; g < gathers.size(); ++g) gather(queue, o, g);
  }

  void sort_by_word(Queue& queue, const RecordOperands& o, std::size_t w) const {
    const bool apart = steps.all_positions.bytes != 0;
    const Memory words = slice(o, steps.keys), inner = slice(o, steps.inner);
    const Memory all = apart ? slice(o, steps.all_positions) : positions(o);
    packers[w].enqueue(queue, o.columns_in, w == 0 ? Memory{} : all, words);
    if (steps.value >= 0) {
      const Memory value = copied_value(queue, o, steps.sorts[w]);
      plans[w].run(queue, {words, words, value, value, inner, o.offsets});
    } else if (w == 0) {
      plans[w].run(queue, {words, steps.sorts_ties ? words : Memory{}, {}, all, inner, o.offsets});
    } else if (apart && w + 1 == packers.size()) {
      plans[w].run(queue, {words, slice(o, steps.first_keys), all, positions(o), inner, o.offsets});
    } else {
      plans[w].run(queue, {words, words, all, all, inner, o.offsets});
    }
  }

  void gather(Queue& queue, const RecordOperands& o, std::size_t g) const {
    const unsigned c = steps.gathered[g];
    const auto& column = steps.problem.columns[c];
    const int index = static_cast<int>(c);
    const bool in_place = column.moved == Moved::in_place;
    const Memory to = in_place ? slice(o, steps.column) : out(o, index);
    gathers[g].enqueue(queue, in(o, index), positions(o), to, o.offsets);
    if (in_place) queue.copy(in(o, index), to, steps.problem.count * column.bytes);
  }

  std::shared_ptr<Device> device;
  RecordSteps steps;
  std::vector<Plan> plans;
  std::vector<Packer> packers;
  std::unique_ptr<DeviceTies> ties;
  std::vector<Mover> gathers;
};

std::uint64_t column_bytes(const RecordProblem& problem) {
  std::uint64_t bytes = 0;
  for (const auto& c : problem.columns) bytes += problem.count * c.bytes;
  return bytes;
}

RecordPlan::RecordPlan(std::shared_ptr<Device> device, const RecordProblem& problem,
                       const Method& method) try
    : implementation_(std::make_unique<Implementation>(std::move(device), problem, method)) {
} catch (const std::bad_alloc&) {
  throw_out_of_memory("RecordPlan", column_bytes(problem));
}
RecordPlan::RecordPlan(RecordPlan&&) noexcept = default;
RecordPlan& RecordPlan::operator=(RecordPlan&&) noexcept = default;
RecordPlan::~RecordPlan() = default;

std::uint64_t RecordPlan::scratch_bytes() const { return implementation_->steps.layout.bytes(); }
std::uint64_t RecordPlan::scratch_bytes_for(const RecordProblem& problem,
                                            const Capabilities& capabilities,
                                            const Method& method) {
  return RecordSteps(problem, capabilities, method).layout.bytes();
}
const RecordProblem& RecordPlan::problem() const { return implementation_->steps.problem; }
const AlgorithmInfo& RecordPlan::algorithm() const {
  return implementation_->plans.back().algorithm();
}
std::string RecordPlan::parameters() const { return implementation_->plans.back().parameters(); }
std::vector<unsigned> RecordPlan::word_bits() const {
  std::vector<unsigned> bits;
  if (implementation_->steps.varying) {
    for (unsigned left = implementation_->steps.varying->bits(); left > 0;
         left -= std::min(left, 64u))
      bits.push_back(std::min(left, 64u));
    return bits;
  }
  for (auto w = implementation_->steps.words.rbegin(); w != implementation_->steps.words.rend();
       ++w)
    bits.push_back(w->bits);
  return bits;
}

void RecordPlan::run(Queue& queue, const RecordOperands& operands) const {
  if (problem().count == 0) return;
  validate_queue(queue, *implementation_->device);
  validate_record_operands(problem(), operands, scratch_bytes(),
                           space_of(implementation_->device->info().claimed.backend));
  implementation_->enqueue(queue, operands);
}

std::vector<Plan::Phase> RecordPlan::profile(Queue& queue, const RecordOperands& operands) const {
  return profiled(queue, [&] { run(queue, operands); });
}

}  // namespace sortium
