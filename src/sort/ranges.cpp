#include "ranges.hpp"

#include <fmt/format.h>

#include <bit>
#include <map>
#include <numeric>

#include "../kernels/kernels.hpp"
#include "all_cores.hpp"
#include "element_loops.hpp"
#include "embedded.hpp"
#include "host.hpp"
#include "record_blocks.hpp"
#include "record_words.hpp"
#include "split_runs.hpp"
#include "stages.hpp"

namespace sortium {

namespace {

using Block = RecordBlocks::Block;

// Blocks of a range. With more, blocks are smaller, and partly used ones waste less memory.
constexpr std::uint64_t range_blocks = 16;
// The fewest ranges: with these, a range and the partly used blocks take 3/32 of the list.
constexpr std::uint64_t least_ranges = 32;
// The most ranges: more would make their pieces too small, and the search for them too long.
constexpr std::uint64_t most_ranges = 2048;

std::uint64_t round_up(std::uint64_t records) {
  return ceil_div(std::max<std::uint64_t>(records, 1), range_blocks) * range_blocks;
}

// The problem of one range on the device: all columns move in place, and positions are a column.
RecordProblem range_problem(const RecordProblem& whole, std::uint64_t count) {
  RecordProblem p{.count = count, .columns = whole.columns, .key = whole.key};
  for (auto& c : p.columns) c.moved = Moved::in_place;
  if (whole.position_bytes != 0) p.columns.push_back({whole.position_bytes, Moved::in_place});
  return p;
}

// The sizes of a sort in ranges.
class Shape {
 public:
  Shape(Device& device, const RecordProblem& problem, const Options& options)
      : problem_(problem),
        capabilities_(capabilities(device)),
        method_{options.algorithm, options.parameters, options.max_scratch_bytes},
        limit_(device_limit(device, options)) {
    for (const auto& c : range_problem(problem, 0).columns) {
      record_bytes_ += c.bytes;
      largest_bytes_ = std::max<std::uint64_t>(largest_bytes_, c.bytes);
    }
    const std::uint64_t least = round_up(problem.count / most_ranges);
    const std::uint64_t most =
        std::max(range_blocks,
                 std::min(problem.count / least_ranges, limit_ / (Stages::count * record_bytes_)));
    records_ = most / range_blocks * range_blocks;
    while (records_ >= least && !fits(records_))
      records_ = records_ / range_blocks * 15 / 16 * range_blocks;
    if (records_ < least) refuse(options, bytes(least));
  }

  [[nodiscard]] std::uint64_t records() const { return records_; }  // of a range
  [[nodiscard]] std::uint64_t block_records() const { return records_ / range_blocks; }
  [[nodiscard]] std::uint64_t ranges() const { return ceil_div(problem_.count, records_); }
  // Blocks for one range, which is written while its input is kept; one partly used block for each
  // run; and blocks for the list's last records, which do not fill one.
  [[nodiscard]] std::uint64_t spare_blocks() const { return range_blocks + ranges() + 2; }
  [[nodiscard]] const Method& method() const { return method_; }

 private:
  [[nodiscard]] std::uint64_t scratch_bytes(std::uint64_t records) const {
    return RecordPlan::scratch_bytes_for(range_problem(problem_, records), capabilities_, method_);
  }
  [[nodiscard]] std::uint64_t bytes(std::uint64_t records) const {
    return Stages::count * records * record_bytes_ + scratch_bytes(records);
  }
  [[nodiscard]] bool fits(std::uint64_t records) const {
    return bytes(records) <= limit_ && std::max(records * largest_bytes_, scratch_bytes(records)) <=
                                           capabilities_.max_allocation;
  }
  [[noreturn]] void refuse(const Options& options, std::uint64_t needed) const {
    const std::string need = fmt::format("{} records of {} bytes need at least {} bytes",
                                         problem_.count, record_bytes_, needed);
    if (options.max_device_bytes != 0)
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("max_device_bytes is {}; {}", options.max_device_bytes, need));
    throw Error(ErrorCode::out_of_memory,
                fmt::format("the device has {} bytes left for a sort; {}", limit_, need));
  }

  const RecordProblem& problem_;
  const Capabilities& capabilities_;
  Method method_;
  std::uint64_t limit_, record_bytes_ = 0, largest_bytes_ = 0, records_ = 0;
};

// Writes the positions first, first + 1, … of a chunk's records to device memory.
class PositionWriter {
 public:
  PositionWriter(Device& device, unsigned position_bytes, std::uint64_t most) {
    const auto& c = capabilities(device);
    work_group_ = work_group_size(c);
    work_groups_ = work_groups_for(c, most);
    kernels::Defines defines;
    defines.problem({.count = most, .payload = Payload::values, .value_bytes = position_bytes})
        .set("WG", work_group_);
    module_ = kernels::build(device, c, kernels::embedded::number_cl, defines);
    kernel_ = module_->kernel("records_number");
  }
  void enqueue(Queue& queue, Memory positions, std::uint64_t first, std::uint64_t count) const {
    const Arg args[] = {{"positions", positions}, {"first", first}, {"n", count}};
    queue.launch({*kernel_, work_groups_, work_group_, args, "number"});
  }

 private:
  unsigned work_group_ = 0;
  std::uint64_t work_groups_ = 0;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> kernel_;
};

// Sorted records in blocks.
struct Run {
  std::vector<Block> blocks;
  std::uint64_t count = 0;
};

// The keys of runs, as split_runs() needs them.
class RunKeys {
 public:
  RunKeys(const RecordProblem& problem, const RecordBlocks& blocks, const std::vector<Run>& runs)
      : words_(words_of(problem.key)), blocks_(blocks), runs_(runs) {}

  [[nodiscard]] std::size_t count() const { return runs_.size(); }
  [[nodiscard]] std::vector<std::uint64_t> key(std::size_t run, std::uint64_t index) const {
    std::vector<std::uint64_t> words(words_.size());
    for (std::size_t w = 0; w < words.size(); ++w) words[w] = word(w, run, index);
    return words;
  }
  [[nodiscard]] bool before(std::size_t run, std::uint64_t index,
                            const std::vector<std::uint64_t>& key, bool or_equal) const {
    for (std::size_t w = words_.size(); w-- > 0;)  // the last word is the most significant
      if (const std::uint64_t own = word(w, run, index); own != key[w]) return own < key[w];
    return or_equal;
  }

 private:
  [[nodiscard]] std::uint64_t word(std::size_t w, std::size_t run, std::uint64_t index) const {
    const std::uint64_t records = blocks_.block_records();
    std::uint64_t word = 0;
    for (const auto& part : words_[w].parts)
      part.add_to(&word, 1, [&](std::uint64_t) {
        return blocks_.at(part.column, runs_[run].blocks[index / records], index % records);
      });
    return word;
  }

  std::vector<Word> words_;
  const RecordBlocks& blocks_;
  const std::vector<Run>& runs_;
};

class RangeSort {
 public:
  RangeSort(const std::shared_ptr<Device>& device, const RecordProblem& problem,
            const RecordHostOperands& operands, const Options& options)
      : device_(device), problem_(problem), options_(options), shape_(*device, problem, options) {
    make_plans();
    make_blocks(operands);
    send_queue_ = device->make_queue();
    sort_queue_ = device->make_queue();
    receive_queue_ = device->make_queue();
  }

  HostReport run() {
    HostReport report;
    const RecordPlan& plan = plans_.at(shape_.records());
    report.device = device_->info().name;
    report.algorithm = plan.algorithm().name;
    report.parameters = plan.parameters();
    report.plan_seconds = watch_.lap();
    try {
      sort_chunks();
      split();
      sort_ranges();
      blocks_->finish(result_.blocks);
    } catch (...) {
      find_live();
      blocks_->restore(live_);
      throw;
    }
    report.sort_seconds = sort_seconds_;
    report.transfer_seconds = watch_.lap() - sort_seconds_;
    return report;
  }

 private:
  struct Slot {
    std::vector<std::unique_ptr<Buffer>> columns;
  };

  void make_plans() {
    const std::uint64_t last = problem_.count - (shape_.ranges() - 1) * shape_.records();
    std::uint64_t scratch = 0;
    for (const auto count : {shape_.records(), last}) {
      const auto made =
          plans_.try_emplace(count, device_, range_problem(problem_, count), shape_.method()).first;
      scratch = std::max(scratch, made->second.scratch_bytes());
    }
    if (problem_.position_bytes != 0)
      position_writer_.emplace(*device_, problem_.position_bytes, shape_.records());
    scratch_ = device_->allocate(scratch);
    for (auto& slot : slots_)
      for (const auto& c : range_problem(problem_, 0).columns)
        slot.columns.push_back(device_->allocate(shape_.records() * c.bytes));
  }

  void make_blocks(const RecordHostOperands& o) {
    std::vector<RecordBlocks::Array> arrays;
    for (std::size_t c = 0; c < problem_.columns.size(); ++c) {
      const auto& column = problem_.columns[c];
      const auto* const from = static_cast<const std::byte*>(o.columns_in[c]);
      std::byte* to = nullptr;
      if (column.moved == Moved::no) {
        copies_.push_back(
            std::make_unique_for_overwrite<std::byte[]>(problem_.count * column.bytes));
        to = copies_.back().get();
      } else {
        to = column.moved == Moved::in_place ? const_cast<std::byte*>(from)
                                             : static_cast<std::byte*>(o.columns_out[c]);
      }
      arrays.push_back({column.bytes, from, to});
    }
    if (problem_.position_bytes != 0)
      arrays.push_back({problem_.position_bytes, nullptr, static_cast<std::byte*>(o.positions)});
    blocks_.emplace(std::move(arrays), problem_.count, shape_.block_records(),
                    shape_.spare_blocks());
    live_.reserve(2 * shape_.ranges() * range_blocks);  // pieces of all runs, and the result
  }

  [[nodiscard]] std::uint64_t first_of(std::uint64_t job) const { return job * shape_.records(); }
  [[nodiscard]] std::uint64_t count_of(std::uint64_t job) const {
    return std::min(shape_.records(), problem_.count - first_of(job));
  }
  [[nodiscard]] Memory memory(std::uint64_t job, std::size_t column) const {
    return slots_[job % Stages::count].columns[column]->memory();
  }

  void sort_chunks() {
    Stages::run(shape_.ranges(), {[this](std::uint64_t job) { send_chunk(job); },
                                  [this](std::uint64_t job) { sort(job, true); },
                                  [this](std::uint64_t job) {
                                    Run run;
                                    receive(job, run, true);
                                    runs_.push_back(std::move(run));
                                    blocks_->release_input(first_of(job) + count_of(job));
                                  }});
  }

  void send_chunk(std::uint64_t job) {
    check_stop(options_);
    for (std::size_t a = 0; a < blocks_->arrays().size(); ++a) {
      const auto& array = blocks_->arrays()[a];
      if (array.from == nullptr) continue;
      const std::uint64_t bytes = count_of(job) * array.bytes;
      send_queue_->write(memory(job, a).slice(0, bytes), blocks_->input(a, first_of(job)), bytes);
    }
  }

  void sort(std::uint64_t job, bool is_chunk) {
    check_stop(options_);
    Stopwatch watch;
    std::vector<Memory> columns;
    for (std::size_t a = 0; a < blocks_->arrays().size(); ++a) columns.push_back(memory(job, a));
    if (is_chunk && position_writer_)
      position_writer_->enqueue(*sort_queue_, columns.back(), first_of(job), count_of(job));
    plans_.at(count_of(job))
        .run(*sort_queue_, {.columns_in = columns, .scratch = scratch_->memory()});
    sort_queue_->finish();
    sort_seconds_ += watch.lap();
  }

  // Copies the job's sorted records to free blocks, which become blocks of `run`.
  void receive(std::uint64_t job, Run& run, bool is_chunk) {
    check_stop(options_);
    const std::uint64_t records = blocks_->block_records();
    std::vector<Block> taken;
    for (std::uint64_t first = 0; first < count_of(job); first += records)
      taken.push_back(blocks_->take((first_of(job) + first) / records));
    for (std::size_t a = 0; a < blocks_->arrays().size(); ++a) {
      const auto& array = blocks_->arrays()[a];
      // Keys that the caller does not want are not needed after the last sort.
      if (!is_chunk && a < problem_.columns.size() && problem_.columns[a].moved == Moved::no)
        continue;
      std::vector<HostTarget> to;
      for (std::size_t b = 0; b < taken.size(); ++b)
        to.push_back({blocks_->at(a, taken[b], 0),
                      std::min(records, count_of(job) - b * records) * array.bytes});
      receive_queue_->read_all(to, memory(job, a).slice(0, count_of(job) * array.bytes));
    }
    run.blocks.insert(run.blocks.end(), taken.begin(), taken.end());
    run.count += count_of(job);
  }

  // Finds where each range begins in each run.
  void split() {
    splits_.resize(shape_.ranges() + 1);
    splits_.front().assign(runs_.size(), 0);
    for (const auto& run : runs_) splits_.back().push_back(run.count);
    const RunKeys keys(problem_, *blocks_, runs_);
    // Each round finds the splits in the middle between those that are known.
    const std::uint64_t ranges = shape_.ranges();
    for (std::uint64_t step = std::bit_ceil(ranges) / 2; step != 0; step /= 2)
      on_all_cores(ceil_div(ranges, 2 * step), [&](std::uint64_t i) {
        const std::uint64_t range = (2 * i + 1) * step;
        if (range >= ranges) return;
        check_stop(options_);
        splits_[range] = split_runs(keys, first_of(range), splits_[range - step],
                                    splits_[std::min(range + step, ranges)]);
      });
  }

  void sort_ranges() {
    Stages::run(shape_.ranges(), {[this](std::uint64_t job) { send_range(job); },
                                  [this](std::uint64_t job) { sort(job, false); },
                                  [this](std::uint64_t job) {
                                    receive(job, result_, false);
                                    ranges_done_ = job + 1;
                                    release_pieces(job);
                                  }});
  }

  void send_range(std::uint64_t job) {
    check_stop(options_);
    std::vector<RecordBlocks::Extent> extents;
    add_extents(splits_[job], splits_[job + 1], extents);
    for (std::size_t a = 0; a < blocks_->arrays().size(); ++a) {
      const unsigned bytes = blocks_->arrays()[a].bytes;
      std::vector<HostSource> from;
      for (const auto& e : extents)
        from.push_back({blocks_->at(a, e.block, e.first), e.count * bytes});
      send_queue_->write_all(memory(job, a).slice(0, count_of(job) * bytes), from);
    }
  }

  // Appends the runs' records from position begin[r] to end[r] of each run r.
  void add_extents(const std::vector<std::uint64_t>& begin, const std::vector<std::uint64_t>& end,
                   std::vector<RecordBlocks::Extent>& out) const {
    const std::uint64_t records = blocks_->block_records();
    for (std::size_t r = 0; r < runs_.size(); ++r)
      for (std::uint64_t i = begin[r]; i < end[r];) {
        const std::uint64_t count = std::min(records - i % records, end[r] - i);
        out.push_back({runs_[r].blocks[i / records], i % records, count});
        i += count;
      }
  }

  // Releases the blocks whose last records were in this range.
  void release_pieces(std::uint64_t job) noexcept {
    const std::uint64_t records = blocks_->block_records();
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      const auto used = [&](std::uint64_t records_used) {
        return records_used == runs_[r].count ? runs_[r].blocks.size() : records_used / records;
      };
      for (auto b = used(splits_[job][r]); b < used(splits_[job + 1][r]); ++b)
        blocks_->release(runs_[r].blocks[b]);
    }
  }

  // Sets live_ to where all records are that are not in the input any more. Allocates nothing,
  // because memory may be what has run out.
  void find_live() noexcept {
    const auto add_all = [&](const Run& run) {
      const std::uint64_t records = blocks_->block_records();
      for (std::size_t b = 0; b < run.blocks.size(); ++b)
        live_.push_back({run.blocks[b], 0, std::min(records, run.count - b * records)});
    };
    if (ranges_done_ == 0) {
      for (const auto& run : runs_) add_all(run);
    } else {
      add_extents(splits_[ranges_done_], splits_.back(), live_);
      add_all(result_);
    }
  }

  Stopwatch watch_;
  std::shared_ptr<Device> device_;
  const RecordProblem& problem_;
  const Options& options_;
  Shape shape_;
  std::map<std::uint64_t, RecordPlan> plans_;  // by count
  std::optional<PositionWriter> position_writer_;
  std::unique_ptr<Buffer> scratch_;
  std::array<Slot, Stages::count> slots_;
  std::vector<std::unique_ptr<std::byte[]>> copies_;  // of keys that are not moved
  std::optional<RecordBlocks> blocks_;
  std::unique_ptr<Queue> send_queue_, sort_queue_, receive_queue_;
  std::vector<Run> runs_;
  std::vector<std::vector<std::uint64_t>> splits_;  // for each range, where it begins in each run
  Run result_;
  std::uint64_t ranges_done_ = 0;
  std::vector<RecordBlocks::Extent> live_;  // for find_live()
  double sort_seconds_ = 0;
};

}  // namespace

std::uint64_t device_limit(Device& device, const Options& options) {
  const auto& c = device.info().claimed;
  constexpr auto unlimited = ~std::uint64_t{0};
  if (c.backend == Backend::host) return unlimited;
  if (options.max_device_bytes != 0) return options.max_device_bytes;
  return c.kind == DeviceKind::cpu ? unlimited : device.free_memory() / 8 * 7;
}

bool are_ranges_possible(std::uint64_t segments, std::uint64_t limit, const Options& options) {
  if (segments == 0 && limit == 0) return true;
  if (options.max_device_bytes != 0)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("max_device_bytes is {}, which is too little for this sort; only lists "
                            "are sorted in ranges, not {}; use cpu:0",
                            options.max_device_bytes,
                            segments != 0 ? "segments" : "the first records of a list"));
  return false;
}

HostReport sort_in_ranges(const std::shared_ptr<Device>& device, const RecordProblem& problem,
                          const RecordHostOperands& operands, const Options& options) {
  if (options.algorithm != "auto") {
    const auto& can = find_algorithm(options.algorithm).info();
    if (!can.stable || can.partial)
      throw Error(ErrorCode::unsupported,
                  fmt::format("{}: the list needs more than the device memory that it may use, and "
                              "ranges need a stable sort of the whole range",
                              options.algorithm));
  }
  return RangeSort(device, problem, operands, options).run();
}

}  // namespace sortium
