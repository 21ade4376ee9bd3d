// One launch sorts rows that fit a work-group, and writes only their first records. Longer rows are
// divided into pieces of equal length. The first records of a row's pieces contain those of the
// row; they are a shorter row, which is sorted in the same way. Pieces keep the order of the input,
// so ties do, too.
#include "topk_rows.hpp"

#include "../catalog.hpp"
#include "../segmented/segmented_rows.hpp"

namespace sortium {
namespace {

// The first records of a problem's rows, as rows.
Problem first_of_pieces(const Problem& p, std::uint64_t piece) {
  Problem first = p;
  first.segments = p.count / piece;
  first.keys_out = true;  // they are sorted again
  return first;
}

// Returns the length of pieces. Returns 0 if no suitable length divides that of the rows.
std::uint64_t piece_of(const Problem& p, const Capabilities& device) {
  // Short pieces are sorted in registers. Of longer ones, those of a small work-group are sorted
  // faster. A piece must be several times as long as what is kept of it.
  struct Choice {
    std::uint64_t longest, times;
  };
  constexpr Choice choices[] = {{128, 4}, {4864, 4}, {19456, 2}};
  const std::uint64_t length = p.count / p.segments;
  for (const auto& choice : choices)
    for (std::uint64_t piece = choice.longest; piece >= choice.times * p.limit && piece > 1;
         --piece)
      if (length % piece == 0 && segmented::rows_shape(first_of_pieces(p, piece), device))
        return piece;
  return 0;
}

class PiecesSorter final : public Sorter {
 public:
  PiecesSorter(const Problem& problem, std::uint64_t piece, const Capabilities& device)
      : problem_(problem) {
    const Problem first = first_of_pieces(problem, piece);
    pieces_ = segmented::make_rows_sorter(first, *segmented::rows_shape(first, device));
    Problem rest = first;
    rest.count = records_out(first);
    rest.segments = problem.segments;
    if (problem.payload != Payload::none) rest.payload = Payload::values;
    rest_ = catalog::topk_segmented().plan(rest, device, {});
    piece_keys_ = scratch_.add(rest.count * info(rest.key).bytes);
    if (rest.payload != Payload::none) piece_values_ = scratch_.add(rest.count * rest.value_bytes);
    if (!problem.keys_out) keys_ = scratch_.add(records_out(rest) * info(rest.key).bytes);
    inner_ = scratch_.add(rest_->scratch_bytes());
  }

  std::uint64_t scratch_bytes() const override { return scratch_.bytes(); }
  std::string parameters() const override { return rest_->parameters(); }
  std::uint64_t bytes_moved() const override { return bytes_of_passes(problem_, 1, 0); }
  void build(Device& device, const Capabilities& capabilities) override {
    pieces_->build(device, capabilities);
    rest_->build(device, capabilities);
  }

  void enqueue(Queue& queue, const Operands& o) override {
    const bool has_values = problem_.payload != Payload::none;
    const Memory keys = piece_keys_.in(o), values = has_values ? piece_values_.in(o) : Memory{};
    pieces_->enqueue(
        queue,
        {.keys_in = o.keys_in, .keys_out = keys, .values_in = o.values_in, .values_out = values});
    rest_->enqueue(queue, {.keys_in = keys,
                           .keys_out = problem_.keys_out ? o.keys_out : keys_.in(o),
                           .values_in = values,
                           .values_out = o.values_out,
                           .scratch = inner_.in(o)});
  }

 private:
  Problem problem_;
  std::unique_ptr<Sorter> pieces_, rest_;
  ScratchLayout scratch_;
  ScratchLayout::Slice piece_keys_, piece_values_, keys_, inner_;
};

}  // namespace

std::unique_ptr<Sorter> make_topk_rows(const Problem& problem, const Capabilities& device) {
  if (!device.compiles || device.kind != DeviceKind::gpu || problem.offset_bytes != 0 ||
      problem.count == 0)
    return nullptr;
  if (const auto shape = segmented::rows_shape(problem, device))
    return segmented::make_rows_sorter(problem, *shape);
  if (const std::uint64_t piece = piece_of(problem, device); piece != 0)
    return std::make_unique<PiecesSorter>(problem, piece, device);
  return nullptr;
}

}  // namespace sortium
