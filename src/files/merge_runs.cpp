// The second phase of an external sort: one merge of all runs.
//
// The runs are divided into blocks. They are read in the order of their first keys, which are
// known, so that every block is read just before its records are needed (Knuth, The Art of Computer
// Programming, volume 3, 5.4.6: forecasting). When a group of blocks has arrived, the records that
// come before the next block's first key are final. They are gathered in the order of the runs and
// sorted stably on the device: for the library's sorts that takes less time than a merge with
// comparisons. Reading, sorting and writing go on at the same time, each for another group.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <sortium/problem.hpp>

#include "../sort/all_cores.hpp"
#include "../sort/host.hpp"
#include "../sort/stages.hpp"
#include "key_bytes.hpp"
#include "stream.hpp"

namespace sortium::files {

namespace {

constexpr std::uint64_t most_grains = 16;  // of a block: 1 MiB

// How many records a block has, and how many blocks a group.
struct Shape {
  std::uint64_t block = 0, group = 0;

  // Blocks in memory: those of the groups that the stages work on, and one of each run that is not
  // yet used up.
  [[nodiscard]] std::uint64_t slots(std::uint64_t runs) const {
    return runs + Stages::count * group;
  }
  // The most records of one gathered group.
  [[nodiscard]] std::uint64_t gathered(std::uint64_t runs) const { return (runs + group) * block; }
};

std::uint64_t bytes_for(const Stream& stream, std::uint64_t runs, const Shape& s) {
  return s.slots(runs) * Records::bytes_for(stream.widths(), s.block) +
         Stages::count * Records::bytes_for(stream.widths(), s.gathered(runs)) +
         stream.scratch_bytes(s.gathered(runs), true);
}

// The bytes of the keys that Runs keeps, and of the list of blocks.
std::uint64_t key_bytes(const Stream& stream, std::uint64_t runs, std::uint64_t records) {
  const std::uint64_t grains = records / Runs::grain(stream.widths()) + runs;
  return grains * (KeyBytes(stream.key(), stream.widths()).size() + 16);
}

std::uint64_t least_group(std::uint64_t runs) { return runs / 2 + 1; }

// Prefers large blocks, then large groups; but there should be several groups.
std::optional<Shape> shape_for(const Stream& stream, std::uint64_t runs, std::uint64_t records) {
  const std::uint64_t keys = key_bytes(stream, runs, records);
  const std::uint64_t grain = Runs::grain(stream.widths());
  const auto fits = [&](const Shape& s) {
    return keys + bytes_for(stream, runs, s) <= stream.memory();
  };
  for (std::uint64_t grains = most_grains; grains > 0; grains /= 2) {
    Shape shape{grains * grain, least_group(runs)};
    if (!fits(shape)) continue;
    const std::uint64_t most = records / shape.block / 8 + 1;
    while (shape.group < most && fits({shape.block, shape.group + shape.group / 4 + 1}))
      shape.group += shape.group / 4 + 1;
    return shape;
  }
  return std::nullopt;
}

class Merge {
 public:
  Merge(const Stream& stream, const Runs& runs) : stream_(stream), runs_(runs) {
    check_merge_fits(stream, runs.count(), runs.records());
    shape_ = *shape_for(stream, runs.count(), runs.records());
    list_blocks();
    slots_.resize(shape_.slots(runs.count()));
    for (std::size_t s = 0; s < slots_.size(); ++s) free_.push_back(s);
    waiting_.resize(runs.count());
  }

  void run() {
    const std::uint64_t groups = (blocks_.size() + shape_.group - 1) / shape_.group;
    Stages::run(groups, {[this](std::uint64_t job) { read(job); },
                         [this](std::uint64_t job) { gather_and_sort(job); },
                         [this](std::uint64_t job) { write(job); }});
  }

 private:
  struct Block {
    std::uint32_t run;
    std::uint64_t grain;  // the block's first
  };
  // A block in memory, of which the records before `begin` are used up.
  struct Loaded {
    std::size_t slot, run;
    std::uint64_t begin, end;
  };

  [[nodiscard]] const std::byte* first_key(const Block& b) const {
    return runs_.first_key(b.run, b.grain);
  }

  void list_blocks() {
    const std::uint64_t grains = shape_.block / runs_.grain();
    for (std::uint32_t run = 0; run < runs_.count(); ++run)
      for (std::uint64_t g = 0; g * runs_.grain() < runs_.records(run); g += grains)
        blocks_.push_back({run, g});
    std::ranges::stable_sort(blocks_, [&](const Block& a, const Block& b) {
      return std::memcmp(first_key(a), first_key(b), runs_.key().size()) < 0;
    });
  }

  void read(std::uint64_t job) {
    if (!stream_.releases()) stream_.check_stop();
    auto& group = groups_[job % Stages::count];
    group.clear();
    std::vector<RunStore::Transfer> transfers;
    const std::uint64_t end = std::min<std::uint64_t>(blocks_.size(), (job + 1) * shape_.group);
    for (std::uint64_t b = job * shape_.group; b < end; ++b) {
      const auto& block = blocks_[b];
      const std::uint64_t first = block.grain * runs_.grain();
      const std::uint64_t count = std::min(shape_.block, runs_.records(block.run) - first);
      const std::size_t slot = take_slot();
      runs_.append_reads(block.run, first, count, slots_[slot], transfers);
      group.push_back({slot, block.run, 0, count});
    }
    runs_.store().read(transfers);
    if (stream_.releases()) runs_.store().discard(transfers);
  }

  std::size_t take_slot() {
    const std::lock_guard lock(mutex_);
    const std::size_t slot = free_.back();
    free_.pop_back();
    if (!slots_[slot]) slots_[slot] = Records(stream_.widths(), shape_.block);
    return slot;
  }

  void gather_and_sort(std::uint64_t job) {
    for (const auto& loaded : groups_[job % Stages::count]) waiting_[loaded.run].push_back(loaded);
    const std::uint64_t next = (job + 1) * shape_.group;
    auto& out = gathered_[job % Stages::count];
    if (!out) out = Records(stream_.widths(), shape_.gathered(runs_.count()));
    gather(next < blocks_.size() ? &blocks_[next] : nullptr, out);
    if (out.count != 0) (void)stream_.sort(out, true);
  }

  // Moves the records that come before the block `bound` from the loaded blocks to `out`; all
  // records if `bound` is null.
  void gather(const Block* bound, Records& out) {
    struct Copy {
      const std::byte* from;
      std::byte* to;
      std::uint64_t bytes;
    };
    std::vector<Copy> copies;
    std::vector<std::size_t> used_up;
    out.count = 0;
    for (auto& run : waiting_)
      while (!run.empty()) {
        auto& loaded = run.front();
        const std::uint64_t end = bound == nullptr ? loaded.end : find(loaded, *bound);
        for (std::size_t c = 0; c < stream_.widths().size(); ++c)
          copies.push_back({slots_[loaded.slot].at(c, loaded.begin), out.at(c, out.count),
                            (end - loaded.begin) * stream_.widths()[c]});
        out.count += end - loaded.begin;
        loaded.begin = end;
        if (end < loaded.end) break;
        used_up.push_back(loaded.slot);
        run.pop_front();
      }
    on_all_cores(copies.size(), [&](std::uint64_t i) {
      std::memcpy(copies[i].to, copies[i].from, copies[i].bytes);
    });
    const std::lock_guard lock(mutex_);
    free_.insert(free_.end(), used_up.begin(), used_up.end());
  }

  // Returns the end of the records of `loaded` that come before those of the block `bound`. Equal
  // keys come in the order of their runs.
  [[nodiscard]] std::uint64_t find(const Loaded& loaded, const Block& bound) const {
    const bool before_equals = loaded.run <= bound.run;
    const auto comes_before = [&](std::uint64_t i) {
      std::array<std::byte, max_fields * 32> key;
      runs_.key().encode(slots_[loaded.slot].columns().data(), i, key.data());
      const int order = std::memcmp(key.data(), first_key(bound), runs_.key().size());
      return before_equals ? order <= 0 : order < 0;
    };
    std::uint64_t begin = loaded.begin, end = loaded.end;
    while (begin < end) {
      const std::uint64_t middle = begin + (end - begin) / 2;
      if (comes_before(middle))
        begin = middle + 1;
      else
        end = middle;
    }
    return begin;
  }

  void write(std::uint64_t job) {
    const auto& out = gathered_[job % Stages::count];
    stream_.write(out);
    written_ += out.count;
    stream_.report_progress(FileProgress::Phase::merge, written_);
  }

  const Stream& stream_;
  const Runs& runs_;
  Shape shape_;
  std::vector<Block> blocks_;  // in the order in which they are read
  std::vector<Records> slots_;
  std::mutex mutex_;  // guards free_ and the allocation of slots
  std::vector<std::size_t> free_;
  std::array<std::vector<Loaded>, Stages::count> groups_;  // what read() has loaded
  std::vector<std::deque<Loaded>> waiting_;                // for each run, blocks not used up
  std::array<Records, Stages::count> gathered_;
  std::uint64_t written_ = 0;
};

}  // namespace

void check_merge_fits(const Stream& stream, std::uint64_t runs, std::uint64_t records) {
  if (shape_for(stream, runs, records)) return;
  // Runs grow with the memory, so there are fewer of them.
  const std::uint64_t grain = Runs::grain(stream.widths());
  double memory = static_cast<double>(stream.memory());
  for (double needed = memory + 1; needed > memory;) {
    memory *= 1.1;
    const auto fewer = static_cast<std::uint64_t>(
        std::ceil(static_cast<double>(runs) * static_cast<double>(stream.memory()) / memory));
    const Shape shape{grain, least_group(fewer)};
    needed =
        static_cast<double>(key_bytes(stream, fewer, records) + bytes_for(stream, fewer, shape));
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("memory_bytes is {}; to merge {} records it must be at least {}",
                          stream.options().memory_bytes, records,
                          stream.memory_bytes_for(static_cast<std::uint64_t>(memory * 1.05))));
}

void merge_runs(const Stream& stream, const Runs& runs) { Merge(stream, runs).run(); }

}  // namespace sortium::files
