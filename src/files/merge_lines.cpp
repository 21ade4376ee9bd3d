// The second phase of an external sort of lines: one merge of all runs.
//
// Units of the runs are read in the order in which their lines are needed: the next units of the
// runs whose lines in memory end first (Knuth, The Art of Computer Programming, volume 3, 5.4.6:
// forecasting). Then the lines up to the end of the run that ends first are final. They are
// gathered in the order of the runs and sorted stably. Reading, sorting and writing go on at the
// same time, each for another group of lines.
#include <fmt/format.h>

#include <algorithm>
#include <array>
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

// How the memory is divided.
struct LineMergeShape {
  std::uint64_t unit = 0;    // bytes of a run that are read at a time, unless a line has more
  std::uint64_t held = 0;    // bytes of the texts of all units
  std::uint64_t group = 0;   // cost of the lines of a group, of which there are three
  std::uint64_t needed = 0;  // bytes of memory
  bool fits = false;

  // `largest` has the bytes of the largest grain of each run.
  LineMergeShape(const LineCosts& costs, const std::vector<std::uint64_t>& largest) {
    const std::uint64_t runs = largest.size();
    const std::uint64_t most = *std::ranges::max_element(largest);
    held = costs.memory() / 3;
    // Two units of each run.
    unit = std::max(std::min(largest_unit, held / (2 * runs)), costs.grain());
    std::uint64_t least_held = most;
    for (const std::uint64_t grain : largest) least_held += std::max(unit, grain) + 2 * alignment;
    needed = least_held + Stages::count * costs.of(std::max(most, unit), 1);
    fits = needed <= costs.memory();
    held = std::max(held, least_held);
    group = (costs.memory() - std::min(costs.memory(), held)) / Stages::count;
  }
};

// Lines of a run in memory, without those that are used up.
struct Unit {
  PageMemory memory;
  std::string_view text;
};

struct Run {
  std::size_t number = 0, next_grain = 0;
  bool is_read = false;  // to its end
  std::deque<Unit> units{};
  // The last line that has been read, and the last one of the unit before.
  std::optional<std::string> last{}, before_last{};
};

// A line of a run. It and the lines that precede it in the result are final.
struct Bound {
  std::string_view line;  // of the run's units, if it is there
  std::size_t run;
};

// Final bytes at the beginning of each run.
struct Final {
  std::vector<std::uint64_t> bytes;
  std::uint64_t all = 0;
};

class LineMerge {
 public:
  LineMerge(const LineRuns& runs, const LineOptions& options, const LineWriter& write,
            const LineMergeShape& shape)
      : stored_(runs),
        o_(options),
        order_(options),
        write_(write),
        shape_(shape),
        runs_(runs.runs().size()) {
    for (std::size_t r = 0; r < runs_.size(); ++r) runs_[r].number = r;
  }

  std::uint64_t run() {
    Stages::run([this](std::uint64_t job) { return gather(groups_[job % Stages::count]); },
                [this](std::uint64_t job) { sort(groups_[job % Stages::count]); },
                [this](std::uint64_t job) { write(groups_[job % Stages::count]); });
    return written_;
  }

 private:
  struct Group {
    PageMemory memory;
    std::uint64_t bytes = 0;
    std::unique_ptr<SortedLines> sorted;
  };

  // ---- read and gather ----

  // Returns false if no line is left.
  bool gather(Group& group) {
    check_stop({.stop = o_.stop});
    fill();
    const Final final = find_final();
    if (final.all == 0) return false;
    take(final, group);
    return true;
  }

  // Reads units until there is no memory for more.
  void fill() {
    constexpr std::size_t at_once = 4;
    for (;;) {
      std::vector<Run*> next;  // in the order in which they end
      for (auto& run : runs_)
        if (!run.is_read) next.push_back(&run);
      const auto some = next.begin() + static_cast<std::ptrdiff_t>(std::min(at_once, next.size()));
      std::partial_sort(next.begin(), some, next.end(),
                        [&](const Run* a, const Run* b) { return ends_before(*a, *b); });
      std::erase_if(next, [&, i = std::size_t{0}](const Run*) mutable { return i++ >= at_once; });
      std::vector<RunStore::Transfer> transfers;
      for (Run* const run : next) {
        const bool is_first = run == next.front();
        // Another unit of a run that has two would only take memory.
        if (!is_first && run->before_last && is_behind(*run->before_last, *next.front())) continue;
        const std::uint64_t bytes = mapped_bytes(*run);
        const bool is_needed = is_first && run->units.empty();
        if (is_needed || held_ + bytes <= shape_.held) transfers.push_back(add_unit(*run));
      }
      if (transfers.empty()) return;
      stored_.store().read(transfers);
      for (Run* const run : next)
        if (!run->units.empty()) find_last(*run);
    }
  }
  [[nodiscard]] bool ends_before(const Run& a, const Run& b) const {
    if (!a.last || !b.last) return a.last.has_value() < b.last.has_value();
    const int order = order_.compare(*a.last, *b.last);
    return order != 0 ? order < 0 : a.number < b.number;
  }
  [[nodiscard]] bool is_behind(const std::string& line, const Run& run) const {
    return !run.last || order_.compare(line, *run.last) > 0;
  }

  // Where the run's next unit lies in it.
  struct Place {
    std::uint64_t begin, end;
    std::size_t next_grain;  // behind it
  };
  [[nodiscard]] Place next_place(const Run& run) const {
    const auto& grains = stored_.runs()[run.number].grains;
    std::size_t g = run.next_grain;
    const std::uint64_t begin = g == 0 ? 0 : grains[g - 1];
    std::uint64_t end = grains[g++];
    for (; g < grains.size() && grains[g] - begin <= shape_.unit; ++g) end = grains[g];
    return {begin, end, g};
  }
  [[nodiscard]] RunStore::Transfer transfer_of(const Run& run, const Place& place) const {
    const std::uint64_t at = stored_.runs()[run.number].begin + place.begin;
    const std::uint64_t first = at / alignment * alignment;
    return {first, nullptr, aligned_up(at + (place.end - place.begin)) - first};
  }
  [[nodiscard]] std::uint64_t mapped_bytes(const Run& run) const {
    return transfer_of(run, next_place(run)).bytes;
  }
  // Adds the run's next unit, which the transfer will read.
  RunStore::Transfer add_unit(Run& run) {
    const Place place = next_place(run);
    RunStore::Transfer transfer = transfer_of(run, place);
    Unit unit{PageMemory(transfer.bytes), {}};
    transfer.memory = reinterpret_cast<std::byte*>(unit.memory.data());
    const std::uint64_t skipped = stored_.runs()[run.number].begin + place.begin - transfer.at;
    unit.text = {unit.memory.data() + skipped, place.end - place.begin};
    held_ += unit.memory.size();
    run.units.push_back(std::move(unit));
    run.next_grain = place.next_grain;
    run.is_read = run.next_grain == stored_.runs()[run.number].grains.size();
    return transfer;
  }
  static void find_last(Run& run) {
    const auto text = run.units.back().text;
    const auto lines = text.substr(0, text.size() - 1);
    const char* const end = lines.data() + lines.size();
    run.before_last = std::exchange(run.last, std::string(LineText::line_begin(lines, end), end));
  }

  // Finds the lines of the next group.
  [[nodiscard]] Final find_final() {
    const Run* ends_first = nullptr;
    for (const auto& run : runs_)
      if (!run.is_read && (ends_first == nullptr || ends_before(run, *ends_first)))
        ends_first = &run;
    std::optional<Bound> bound;
    if (ends_first != nullptr) bound = Bound{*ends_first->last, ends_first->number};
    Final final = up_to(bound);
    // If these are too many: those before the least line that is in the same part of its run.
    double cost = cost_of_byte_ * static_cast<double>(final.all);
    for (bool is_counted = false; final.all != 0;) {
      if (const double most = static_cast<double>(shape_.group); cost > most) {
        Final fewer = up_to(least_line(final, 0.9 * most / cost));
        if (fewer.all == final.all) break;  // one line
        final = std::move(fewer);
      } else if (is_counted) {
        break;
      }
      cost = static_cast<double>(stored_.costs().of(final.all, count_lines(final)));
      cost_of_byte_ = cost / static_cast<double>(final.all);
      is_counted = true;
    }
    return final;
  }
  [[nodiscard]] Final up_to(const std::optional<Bound>& bound) const {
    Final final{std::vector<std::uint64_t>(runs_.size())};
    on_all_cores(runs_.size(), [&](std::uint64_t r) {
      for (const auto& unit : runs_[r].units) {
        const std::uint64_t end = bound ? final_bytes(unit.text, r, *bound) : unit.text.size();
        final.bytes[r] += end;
        if (end < unit.text.size()) break;
      }
    });
    final.all = std::accumulate(final.bytes.begin(), final.bytes.end(), std::uint64_t{0});
    return final;
  }
  [[nodiscard]] std::uint64_t count_lines(const Final& final) const {
    std::vector<std::uint64_t> lines(runs_.size());
    on_all_cores(runs_.size(), [&](std::uint64_t r) {
      std::uint64_t left = final.bytes[r];
      for (auto unit = runs_[r].units.begin(); left > 0; ++unit) {
        const auto text = unit->text.substr(0, left);
        lines[r] += static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
        left -= text.size();
      }
    });
    return std::accumulate(lines.begin(), lines.end(), std::uint64_t{0});
  }
  // Returns where the lines of a run end in the text that do not come behind the bound. Equal keys
  // come in the order of their runs.
  [[nodiscard]] std::uint64_t final_bytes(std::string_view text, std::size_t run,
                                          const Bound& bound) const {
    const char* const line = bound.line.data();
    if (run == bound.run && line >= text.data() && line < text.data() + text.size())
      return static_cast<std::uint64_t>(line - text.data()) + bound.line.size() + 1;
    std::uint64_t begin = 0, end = text.size();  // both are beginnings of lines
    while (begin < end) {
      const char* const middle = text.data() + begin + (end - begin) / 2;
      const char* const at = LineText::line_begin(text.substr(begin), middle);
      const auto from = static_cast<std::uint64_t>(at - text.data());
      const std::uint64_t newline = text.find('\n', from);
      const int order = order_.compare(text.substr(from, newline - from), bound.line);
      if (order < 0 || (order == 0 && run <= bound.run))
        begin = newline + 1;
      else
        end = from;
    }
    return begin;
  }
  // Takes from each run the line at this part of its final bytes. Returns the least one.
  [[nodiscard]] Bound least_line(const Final& final, double part) const {
    std::optional<Bound> least;
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      if (final.bytes[r] == 0) continue;
      auto at = static_cast<std::uint64_t>(static_cast<double>(final.bytes[r]) * part);
      auto unit = runs_[r].units.begin();
      for (; at >= unit->text.size(); ++unit) at -= unit->text.size();
      const char* const begin = LineText::line_begin(unit->text, unit->text.data() + at);
      const char* const end =
          std::find(unit->text.data() + at, unit->text.data() + unit->text.size(), '\n');
      const Bound line{{begin, static_cast<std::size_t>(end - begin)}, r};
      if (!least || order_.compare(line.line, least->line) < 0) least = line;
    }
    return *least;
  }

  // Moves the final lines to the group.
  void take(const Final& final, Group& group) {
    struct Copy {
      std::string_view from;
      std::uint64_t to;
    };
    std::vector<Copy> copies;
    group.bytes = 0;
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      std::uint64_t left = final.bytes[r];
      for (auto unit = runs_[r].units.begin(); left > 0; ++unit) {
        const std::uint64_t n = std::min<std::uint64_t>(left, unit->text.size());
        copies.push_back({unit->text.substr(0, n), group.bytes});
        unit->text.remove_prefix(n);
        group.bytes += n;
        left -= n;
      }
    }
    group.memory = PageMemory(group.bytes + SortedLines::extra_bytes);
    on_all_cores(copies.size(), [&](std::uint64_t i) {
      const auto& [from, to] = copies[i];
      std::copy(from.begin(), from.end(), group.memory.data() + to);
    });
    for (auto& run : runs_)
      while (!run.units.empty() && run.units.front().text.empty()) {
        held_ -= run.units.front().memory.size();
        run.units.pop_front();
      }
  }

  // ---- sort ----

  void sort(Group& group) const {
    group.sorted =
        std::make_unique<SortedLines>(std::string_view(group.memory.data(), group.bytes), o_);
    return_free_memory();
  }

  // ---- write ----

  void write(Group& group) {
    written_ += group.sorted->write(write_, last_ ? &*last_ : nullptr);
    if (o_.unique) last_.emplace(group.sorted->last_key());
    group.sorted.reset();
    group.memory = {};
    return_free_memory();
  }

  const LineRuns& stored_;
  const LineOptions& o_;
  LineOrder order_;
  const LineWriter& write_;
  LineMergeShape shape_;
  std::vector<Run> runs_;
  std::uint64_t held_ = 0;   // bytes of memory of all units
  double cost_of_byte_ = 1;  // of the lines of the last group
  std::array<Group, Stages::count> groups_;
  std::optional<std::string> last_;  // the key of the last line of a group; if `unique`
  std::uint64_t written_ = 0;
};

}  // namespace

void check_line_merge_fits(const LineCosts& costs, const std::vector<std::uint64_t>& largest) {
  const LineMergeShape shape(costs, largest);
  if (shape.fits) return;
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("memory_bytes is {}; to merge {} runs of lines it must be at least {}",
                  costs.memory_bytes(), largest.size(), costs.memory_bytes_for(shape.needed)));
}

std::uint64_t merge_line_runs(const LineRuns& runs, const LineOptions& options,
                              const LineWriter& write) {
  std::vector<std::uint64_t> largest;
  for (const auto& run : runs.runs()) largest.push_back(run.largest);
  check_line_merge_fits(runs.costs(), largest);
  return LineMerge(runs, options, write, LineMergeShape(runs.costs(), largest)).run();
}

}  // namespace sortium::files
