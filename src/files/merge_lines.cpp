// The second phase of an external sort of lines: one merge of all runs.
//
// Units of the runs are read in the order in which their lines are needed: always the next unit of
// the run whose lines in memory end first (Knuth, The Art of Computer Programming, volume 3, 5.4.6:
// forecasting). When a group of units has arrived, the lines up to the end of the run that now ends
// first are final. They are gathered in the order of the runs and sorted stably. Reading, sorting
// and writing go on at the same time, each for another group.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "../sort/all_cores.hpp"
#include "../sort/host.hpp"
#include "../sort/stages.hpp"
#include "line_runs.hpp"
#include "line_sort.hpp"
#include "memory_limit.hpp"
#include "page_memory.hpp"

namespace sortium::files {

namespace {

constexpr std::uint64_t largest_unit = std::uint64_t{1} << 20;

// What units and groups may cost.
struct Shape {
  std::uint64_t unit = 0, group = 0;

  // Memory holds the texts of a unit of each run and of three groups; and three gathered groups,
  // each of which may have all of these units, one of them while it is sorted.
  static constexpr std::uint64_t units_of_run = 1 + Stages::count, groups = 2 * Stages::count;

  Shape(const LineCosts& costs, const std::vector<std::uint64_t>& largest) {
    const std::uint64_t runs = largest.size();
    unit = std::max(std::min(largest_unit, costs.memory() / (16 * runs)), costs.grain());
    std::uint64_t held = 0;
    for (const std::uint64_t grain : largest) held += units_of_run * std::max(unit, grain);
    // At least one unit is read for a group.
    const std::uint64_t least = std::max(unit, *std::ranges::max_element(largest));
    needed_ = held + groups * least;
    group = needed_ > costs.memory() ? 0 : (costs.memory() - held) / groups;
  }
  [[nodiscard]] bool fits() const { return group != 0; }
  [[nodiscard]] std::uint64_t needed() const { return needed_; }

 private:
  std::uint64_t needed_ = 0;
};

// Lines of a run in memory, without those that are used up.
struct Unit {
  std::size_t run = 0;
  PageMemory memory;
  std::string_view text;
};

// A line of a run. The lines that precede it in the result are final.
struct Bound {
  std::string line;
  std::size_t run = 0;
};

class LineMerge {
 public:
  LineMerge(const LineRuns& runs, const LineOptions& options, const LineWriter& write,
            const Shape& shape)
      : runs_(runs), o_(options), order_(options), write_(write), shape_(shape) {
    for (std::size_t r = 0; r < runs.runs().size(); ++r) heads_.push_back({r});
    waiting_.resize(heads_.size());
  }

  std::uint64_t run() {
    Stages::run([this](std::uint64_t job) { return read(groups_[job % Stages::count]); },
                [this](std::uint64_t job) { gather_and_sort(groups_[job % Stages::count]); },
                [this](std::uint64_t job) { write(groups_[job % Stages::count]); });
    return written_;
  }

 private:
  // What read() knows of a run.
  struct Head {
    std::size_t run;
    std::size_t next_grain = 0;
    std::optional<std::string> last{};  // the last line that has been read
  };
  struct Group {
    std::vector<Unit> units;     // that read() has read
    std::optional<Bound> bound;  // none: all lines are final
    PageMemory memory;           // of the final lines
    std::unique_ptr<SortedLines> sorted;
  };

  // ---- read ----

  // Returns false if there is no other group.
  bool read(Group& group) {
    if (has_ended_) return false;
    group.units.clear();
    std::uint64_t cost = 0;
    auto head = first_to_end();
    for (; head != heads_.end() && (cost == 0 || cost < shape_.group); head = first_to_end()) {
      check_stop({.stop = o_.stop});
      group.units.push_back(read_unit(*head, cost));
    }
    group.bound.reset();
    has_ended_ = head == heads_.end();
    if (!has_ended_ && head->last) group.bound = Bound{*head->last, head->run};
    return true;
  }
  // Returns the run with unread lines whose lines in memory end first: one of which none has been
  // read, if there is one.
  std::vector<Head>::iterator first_to_end() {
    std::erase_if(heads_, [&](const Head& head) {
      return head.next_grain == runs_.runs()[head.run].grains.size();
    });
    return std::ranges::min_element(heads_, [&](const Head& a, const Head& b) {
      if (!a.last || !b.last) return a.last < b.last;
      const int order = order_.compare(*a.last, *b.last);
      return order != 0 ? order < 0 : a.run < b.run;
    });
  }
  Unit read_unit(Head& head, std::uint64_t& cost) {
    const auto& run = runs_.runs()[head.run];
    const std::uint64_t begin = head.next_grain == 0 ? 0 : run.grains[head.next_grain - 1].end;
    std::uint64_t end = begin, of_unit = 0;
    for (; head.next_grain < run.grains.size(); ++head.next_grain) {
      const auto& grain = run.grains[head.next_grain];
      const std::uint64_t more = runs_.costs().of(grain.end - end, grain.lines);
      if (of_unit != 0 && of_unit + more > shape_.unit) break;
      of_unit += more;
      end = grain.end;
    }
    cost += of_unit;
    Unit unit = read_text(head.run, run.begin + begin, end - begin);
    const auto lines = unit.text.substr(0, unit.text.size() - 1);
    head.last.emplace(LineText::line_begin(lines, lines.data() + lines.size()),
                      lines.data() + lines.size());
    return unit;
  }
  Unit read_text(std::size_t run, std::uint64_t at, std::uint64_t bytes) const {
    const std::uint64_t first = at / alignment * alignment, length = aligned_up(at + bytes) - first;
    Unit unit{run, PageMemory(length), {}};
    runs_.store().read({{first, reinterpret_cast<std::byte*>(unit.memory.data()), length}});
    unit.text = {unit.memory.data() + (at - first), bytes};
    return unit;
  }

  // ---- gather, sort ----

  void gather_and_sort(Group& group) {
    for (auto& unit : group.units) waiting_[unit.run].push_back(std::move(unit));
    struct Copy {
      std::string_view from;
      std::uint64_t to;
    };
    std::vector<Copy> copies;
    std::vector<Unit> used_up;
    std::uint64_t bytes = 0;
    for (auto& run : waiting_)
      while (!run.empty()) {
        auto& unit = run.front();
        const std::uint64_t end = group.bound ? final_bytes(unit, *group.bound) : unit.text.size();
        copies.push_back({unit.text.substr(0, end), bytes});
        bytes += end;
        unit.text.remove_prefix(end);
        if (!unit.text.empty()) break;
        used_up.push_back(std::move(unit));
        run.pop_front();
      }
    group.memory = PageMemory(bytes + SortedLines::extra_bytes);
    on_all_cores(copies.size(), [&](std::uint64_t i) {
      const auto& [from, to] = copies[i];
      std::copy(from.begin(), from.end(), group.memory.data() + to);
    });
    used_up.clear();  // before the sort, which needs memory
    group.sorted = std::make_unique<SortedLines>(std::string_view(group.memory.data(), bytes), o_);
  }
  // Returns where the lines of the unit end that do not come behind the bound. Equal keys come in
  // the order of their runs.
  [[nodiscard]] std::uint64_t final_bytes(const Unit& unit, const Bound& bound) const {
    const auto text = unit.text;
    std::uint64_t begin = 0, end = text.size();  // both are beginnings of lines
    while (begin < end) {
      const char* const middle = text.data() + begin + (end - begin) / 2;
      const char* const line = LineText::line_begin(text.substr(begin), middle);
      const auto from = static_cast<std::uint64_t>(line - text.data());
      const std::uint64_t newline = text.find('\n', from);
      const int order = order_.compare(text.substr(from, newline - from), bound.line);
      if (order < 0 || (order == 0 && unit.run <= bound.run))
        begin = newline + 1;
      else
        end = from;
    }
    return begin;
  }

  // ---- write ----

  void write(Group& group) {
    if (group.sorted->count() != 0) {
      written_ += group.sorted->write(write_, last_ ? &*last_ : nullptr);
      if (o_.unique) last_.emplace(group.sorted->last_key());
    }
    group.sorted.reset();
    group.memory = {};
    return_free_memory();
  }

  const LineRuns& runs_;
  const LineOptions& o_;
  LineOrder order_;
  const LineWriter& write_;
  Shape shape_;
  std::vector<Head> heads_;  // of runs with unread lines
  bool has_ended_ = false;
  std::array<Group, Stages::count> groups_;
  std::vector<std::deque<Unit>> waiting_;  // for each run, units that are not used up
  std::optional<std::string> last_;        // the key of the last line of a group; if `unique`
  std::uint64_t written_ = 0;
};

}  // namespace

void check_line_merge_fits(const LineCosts& costs, const std::vector<std::uint64_t>& largest) {
  const Shape shape(costs, largest);
  if (shape.fits()) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("memory_bytes is {}; to merge {} runs of lines it must be at least {}",
                          costs.memory_bytes_for(costs.memory()), largest.size(),
                          costs.memory_bytes_for(shape.needed())));
}

std::uint64_t merge_line_runs(const LineRuns& runs, const LineOptions& options,
                              const LineWriter& write) {
  std::vector<std::uint64_t> largest;
  for (const auto& run : runs.runs()) largest.push_back(run.largest);
  check_line_merge_fits(runs.costs(), largest);
  return LineMerge(runs, options, write, Shape(runs.costs(), largest)).run();
}

}  // namespace sortium::files
