#include "strided.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "../core/refuse.hpp"
#include "../kernels/kernels.hpp"
#include "element_loops.hpp"
#include "embedded.hpp"

namespace sortium {

namespace {

// Matrices that lie one after the other. `length` is that of a segment, and is used only for
// positions.
struct Matrices {
  std::uint64_t count, rows, columns, length;
};

unsigned log2_up(std::uint64_t x) { return static_cast<unsigned>(std::bit_width(x - 1)); }

// How matrices are cut into tiles of 2^tile_bits elements: nearly square, unless the matrices have
// few rows or columns. A tile has several matrices if they are small.
struct Tiles {
  unsigned row_bits, column_bits, matrix_bits;
  std::uint64_t down, across;

  Tiles(const Matrices& m, unsigned tile_bits)
      : row_bits(std::min(tile_bits / 2, log2_up(m.rows))),
        column_bits(std::min(tile_bits - row_bits, log2_up(m.columns))) {
    row_bits = std::min(tile_bits - column_bits, log2_up(m.rows));
    matrix_bits = std::min(tile_bits - row_bits - column_bits, log2_up(m.count));
    down = ceil_div(m.rows, std::uint64_t{1} << row_bits);
    across = ceil_div(m.columns, std::uint64_t{1} << column_bits);
  }
};

// Transposes elements of one size: column c of each matrix becomes row c of its result. Each
// element is read and written once.
class Transposition {
 public:
  // `of_positions`: elements are positions in the array of rows; positions in the strided input
  // replace them.
  Transposition(unsigned element_bytes, bool of_positions)
      : bytes_(element_bytes), of_positions_(of_positions) {}

  void build(Device& device, const Capabilities& c) {
    if (c.backend == Backend::host) return;
    work_group_ = std::bit_floor(work_group_size(c));
    // Rows and columns of a tile have 128 bytes or more, as far as local memory allows it.
    constexpr std::uint64_t wanted = 1u << 14;
    std::uint64_t tile = wanted / bytes_;
    while (tile > work_group_ && 4 * tile_bytes(tile) > c.local_struct) tile /= 2;
    while (tile_bytes(tile) > c.local_struct) tile /= 2;
    work_group_ = static_cast<unsigned>(std::min<std::uint64_t>(work_group_, tile));
    tile_bits_ = log2_up(tile);
    compute_units_ = c.compute_units;
    kernels::Defines defines;
    defines.problem({})
        .set("WG", work_group_)
        .set("TILE", tile)
        .set("UNIT_BYTES", bytes_)
        .set("POSITIONS", int{of_positions_})
        .local_struct("transpose_memory_t", tile_bytes(tile));
    module_ = kernels::build(
        device, c, {kernels::embedded::unit_cl, kernels::embedded::transpose_cl}, defines);
    kernel_ = module_->kernel("transpose");
  }

  void enqueue(Queue& queue, Memory in, Memory out, const Matrices& m) const {
    if (!kernel_) return transpose_on_host(queue, at(in), at(out), m);
    const Tiles tiles(m, tile_bits_);
    const std::uint64_t of_matrix = tiles.down * tiles.across,
                        all = ceil_div(m.count, std::uint64_t{1} << tiles.matrix_bits) * of_matrix;
    constexpr std::uint64_t groups_of_unit = 32;
    const Arg args[] = {{"in", in},
                        {"out", out},
                        {"matrices", m.count},
                        {"rows", m.rows},
                        {"columns", m.columns},
                        {"tiles", all},
                        {"tiles_across", tiles.across},
                        {"tiles_of_matrix", of_matrix},
                        {"row_bits", std::uint32_t{tiles.row_bits}},
                        {"column_bits", std::uint32_t{tiles.column_bits}},
                        {"matrix_bits", std::uint32_t{tiles.matrix_bits}},
                        {"length", m.length}};
    queue.launch({*kernel_, std::min<std::uint64_t>(all, groups_of_unit * compute_units_),
                  work_group_, args, phase});
  }

 private:
  static constexpr std::string_view phase = "transpose";

  // Bytes of transpose_memory_t.
  [[nodiscard]] std::uint64_t tile_bytes(std::uint64_t tile) const {
    return (tile + tile / 32) * bytes_;
  }

  void transpose_on_host(Queue& queue, const std::byte* in, std::byte* out,
                         const Matrices& m) const {
    switch (bytes_) {
      case 1:
        return transpose_on_host<std::uint8_t>(queue, in, out, m);
      case 2:
        return transpose_on_host<std::uint16_t>(queue, in, out, m);
      case 4:
        return transpose_on_host<std::uint32_t>(queue, in, out, m);
      default:
        return transpose_on_host<std::uint64_t>(queue, in, out, m);
    }
  }
  template <class Unit>
  void transpose_on_host(Queue& queue, const std::byte* in, std::byte* out,
                         const Matrices& m) const {
    // A tile of 16 KB and its result fit the first-level cache.
    constexpr unsigned cache_bits = std::bit_width((1u << 14) / sizeof(Unit)) - 1;
    const Tiles tiles(m, cache_bits);
    const std::uint64_t of_matrix = tiles.down * tiles.across;
    constexpr std::uint64_t together = 4;  // tiles of a thread at a time
    for_elements_on_host(
        queue, phase, m.count * of_matrix,
        [&](std::uint64_t begin, std::uint64_t end) {
          for (std::uint64_t t = begin; t < end; ++t) {
            const std::uint64_t matrix = t / of_matrix, inside = t % of_matrix;
            const std::uint64_t row = inside / tiles.across << tiles.row_bits,
                                column = inside % tiles.across << tiles.column_bits;
            transpose_tile<Unit>(in, out, m, matrix, row,
                                 std::min(m.rows, row + (1u << tiles.row_bits)), column,
                                 std::min(m.columns, column + (1u << tiles.column_bits)));
          }
        },
        together);
  }
  // Host memory need not be aligned.
  template <class Unit>
  void transpose_tile(const std::byte* in, std::byte* out, const Matrices& m, std::uint64_t matrix,
                      std::uint64_t row_begin, std::uint64_t row_end, std::uint64_t column_begin,
                      std::uint64_t column_end) const {
    const std::uint64_t first = matrix * m.rows * m.columns;
    for (std::uint64_t column = column_begin; column < column_end; ++column)
      for (std::uint64_t row = row_begin; row < row_end; ++row) {
        Unit unit;
        std::memcpy(&unit, in + (first + row * m.columns + column) * sizeof unit, sizeof unit);
        if (of_positions_) {
          const std::uint64_t j = unit - (matrix * m.rows + row) * m.length;
          unit = static_cast<Unit>((matrix * m.length + j) * m.rows + row);
        }
        std::memcpy(out + (first + column * m.rows + row) * sizeof unit, &unit, sizeof unit);
      }
  }

  unsigned bytes_;
  bool of_positions_;
  unsigned work_group_ = 0, tile_bits_ = 0, compute_units_ = 0;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> kernel_;
};

class StridedSorter final : public Sorter {
 public:
  StridedSorter(const Problem& problem, std::unique_ptr<Sorter> rows)
      : problem_(problem), rows_(std::move(rows)), keys_(info(problem.key).bytes, false) {
    if (problem.payload != Payload::none)
      values_.emplace(problem.value_bytes, problem.payload == Payload::positions);
    if (problem.payload == Payload::values) values_in_.emplace(problem.value_bytes, false);
    lay_out();
    inner_ = layout_.add(rows_->scratch_bytes());
  }

  std::uint64_t scratch_bytes() const override { return layout_.bytes(); }
  std::string parameters() const override { return rows_->parameters(); }
  std::uint64_t bytes_moved() const override {
    const std::uint64_t rows = rows_->bytes_moved(), twice = 2;
    return rows == 0 ? 0 : rows + twice * bytes_of_passes(problem_, 1, 1);
  }

  void build(Device& device, const Capabilities& capabilities) override {
    keys_.build(device, capabilities);
    if (values_in_) values_in_->build(device, capabilities);
    if (values_) values_->build(device, capabilities);
    rows_->build(device, capabilities);
  }

  void enqueue(Queue& queue, const Operands& o) override {
    const std::uint64_t matrices = problem_.segments / problem_.stride, all = length(),
                        wanted = problem_.limit == 0 ? all : problem_.limit;
    const Matrices in{matrices, all, problem_.stride, all},
        out{matrices, problem_.stride, wanted, all};
    Operands rows{.keys_in = key_rows_.in(o), .scratch = inner_.in(o)};
    keys_.enqueue(queue, o.keys_in, rows.keys_in, in);
    if (values_in_) {
      rows.values_in = value_rows_.in(o);
      values_in_->enqueue(queue, o.values_in, rows.values_in, in);
    }
    if (problem_.keys_out) rows.keys_out = problem_.limit == 0 ? rows.keys_in : first_keys_.in(o);
    if (values_) rows.values_out = problem_.limit == 0 ? value_rows_.in(o) : first_values_.in(o);
    rows_->enqueue(queue, rows);
    if (problem_.keys_out) keys_.enqueue(queue, rows.keys_out, o.keys_out, out);
    if (values_) values_->enqueue(queue, rows.values_out, o.values_out, out);
  }

 private:
  [[nodiscard]] std::uint64_t length() const { return problem_.count / problem_.segments; }

  void lay_out() {
    const std::uint64_t key = info(problem_.key).bytes, value = problem_.value_bytes;
    const bool sorts_all = problem_.limit == 0;
    key_rows_ = layout_.add(problem_.count * key);
    if (values_in_ || (values_ && sorts_all)) value_rows_ = layout_.add(problem_.count * value);
    if (sorts_all) return;
    if (problem_.keys_out) first_keys_ = layout_.add(records_out(problem_) * key);
    if (values_) first_values_ = layout_.add(records_out(problem_) * value);
  }

  Problem problem_;
  std::unique_ptr<Sorter> rows_;
  Transposition keys_;
  std::optional<Transposition> values_in_, values_;  // input to rows; results to the output
  ScratchLayout layout_;
  // key_rows_ and value_rows_ hold all records, each segment as a row. first_keys_ and
  // first_values_ hold the first `limit` records of each row.
  ScratchLayout::Slice key_rows_, value_rows_, first_keys_, first_values_, inner_;
};

}  // namespace

void validate_stride(const Problem& p) {
  if (p.stride == 1) return;
  if (p.segments == 0 || p.offset_bytes != 0)
    refuse(
        fmt::format("stride is {}; it is 1 unless there are segments without offsets; segments "
                    "is {}, offset_bytes {}",
                    p.stride, p.segments, p.offset_bytes));
  if (p.stride == 0 || p.segments % p.stride != 0)
    refuse(fmt::format("stride is {}; it must divide segments, {}", p.stride, p.segments));
  if (p.limit > p.count / p.segments)
    refuse(fmt::format("limit is {}; with a stride it is at most the records of a segment, {}",
                       p.limit, p.count / p.segments));
}

std::unique_ptr<Sorter> make_strided_sorter(const Problem& problem, const Capabilities& device,
                                            std::unique_ptr<Sorter> rows) {
  if (auto direct = rows->with_stride(problem, device)) return direct;
  return std::make_unique<StridedSorter>(problem, std::move(rows));
}

Planned plan_strided(const Problem& problem, const Capabilities& device,
                     std::uint64_t max_scratch_bytes,
                     const std::function<Planned(std::uint64_t)>& plan_rows) {
  Planned planned = plan_rows(0);
  const std::uint64_t of_rows = planned.sorter->scratch_bytes();
  planned.sorter = make_strided_sorter(problem, device, std::move(planned.sorter));
  const std::uint64_t all = planned.sorter->scratch_bytes();
  if (max_scratch_bytes == 0 || all <= max_scratch_bytes) return planned;
  const std::uint64_t copies = all - of_rows;
  const auto of_copies = fmt::format("max_scratch_bytes is {}; stride {} needs {} bytes for copies",
                                     max_scratch_bytes, problem.stride, copies);
  if (copies >= max_scratch_bytes) refuse(of_copies + ", and the sort of rows needs more");
  try {
    planned = plan_rows(max_scratch_bytes - copies);
  } catch (const Error& e) {
    throw Error(e.code(), fmt::format("{}; for the sort of rows, {}", of_copies, e.what()));
  }
  planned.sorter = make_strided_sorter(problem, device, std::move(planned.sorter));
  return planned;
}

}  // namespace sortium
