// Lines are sorted by words of 64 bits, each with the place of its key: first by a word of the
// beginning of every key. Ties are sorted again, by words of what follows; all ties together are
// one sort of segments. Ties of few lines are sorted by comparisons instead. A round first skips
// what all keys of a tie have in common, so identical and nearly identical lines need few rounds.
#include "line_sort.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "../sort/all_cores.hpp"
#include "../sort/host.hpp"

namespace sortium::files {

namespace {

using Place = LineText::Place;

// Lines that one thread works on at a time.
constexpr std::uint64_t piece_lines = std::uint64_t{1} << 15;
// Ties of up to this many lines are sorted by comparisons.
constexpr std::uint64_t few_lines = 16;
// Lines whose text is fetched into the cache before it is needed.
constexpr std::uint64_t ahead = 16;

// A contiguous part of the sorted lines whose keys agree up to `depth`.
struct Tie {
  std::uint64_t begin, count, depth;
};

// Ties, whose lines are numbered one tie after the other.
class Ties {
 public:
  explicit Ties(std::vector<Tie> ties) : ties_(std::move(ties)), offsets_(ties_.size() + 1) {
    for (std::size_t t = 0; t < ties_.size(); ++t) offsets_[t + 1] = offsets_[t] + ties_[t].count;
  }

  [[nodiscard]] std::size_t size() const { return ties_.size(); }
  [[nodiscard]] const Tie& operator[](std::size_t t) const { return ties_[t]; }
  [[nodiscard]] Tie& operator[](std::size_t t) { return ties_[t]; }
  [[nodiscard]] std::uint64_t lines() const { return offsets_.back(); }
  // Where the lines of each tie begin, and where the last ones end.
  [[nodiscard]] const std::vector<std::uint64_t>& offsets() const { return offsets_; }

  [[nodiscard]] std::uint64_t pieces() const { return (lines() + piece_lines - 1) / piece_lines; }
  // Calls body(tie, begin, end) for the parts of the ties, by the numbers of their lines, in a
  // piece.
  template <class Body>
  void for_each_part(std::uint64_t piece, const Body& body) const {
    std::uint64_t at = piece * piece_lines;
    const std::uint64_t last = std::min(lines(), at + piece_lines);
    auto tie = static_cast<std::size_t>(std::upper_bound(offsets_.begin(), offsets_.end(), at) -
                                        offsets_.begin()) -
               1;
    for (; at < last; ++tie) {
      const std::uint64_t end = std::min(last, offsets_[tie + 1]);
      body(tie, at, end);
      at = end;
    }
  }

 private:
  std::vector<Tie> ties_;
  std::vector<std::uint64_t> offsets_;
};

std::uint64_t* words_of(const Records& lines) {
  return reinterpret_cast<std::uint64_t*>(lines.columns()[0]);
}
Place* places_of(const Records& lines) { return reinterpret_cast<Place*>(lines.columns()[1]); }

Records make_lines(std::uint64_t count) {
  Records lines({sizeof(std::uint64_t), sizeof(Place)}, count);
  lines.count = count;
  return lines;
}

template <class Keys>
class LineSorter {
 public:
  // `lines` has the places of all lines.
  LineSorter(const LineText& text, Records& lines, const LineOptions& options)
      : text_(text), lines_(lines), o_(options) {}

  HostReport run() {
    Ties ties({{0, lines_.count, 0}});
    make_words(lines_, ties);
    const HostReport report = sort_records(lines_, ties, o_.algorithm, o_.parameters);
    for (ties = find_ties(ties); ties.size() != 0; ties = find_ties(ties)) {
      Records some = take(ties);
      make_words(some, ties);
      (void)sort_records(some, ties, "auto", {});
      put_back(some, ties);
    }
    return report;
  }

 private:
  // Calls body(tie, begin, end) for all parts of the ties, in parallel.
  template <class Body>
  void for_each_part(const Ties& ties, const Body& body) const {
    on_all_cores(ties.pieces(), [&](std::uint64_t piece) {
      check_stop({.stop = o_.stop});
      ties.for_each_part(piece, body);
    });
  }

  // The functions that have `some` work on the lines of the ties, one tie after the other.

  void make_words(const Records& some, Ties& ties) const {
    skip_common(some, ties);
    for_each_part(ties, [&](std::size_t t, std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) {
        fetch(places_of(some)[std::min(i + ahead, end - 1)], ties[t].depth);
        words_of(some)[i] = Keys::word(text_.key(places_of(some)[i]), ties[t].depth);
      }
    });
  }

  // Increases the depth of each tie to one up to which all of its keys agree.
  void skip_common(const Records& some, Ties& ties) const {
    const auto common = [&](std::uint64_t a, std::uint64_t b, std::uint64_t depth) {
      return Keys::common(text_.key(places_of(some)[a]), text_.key(places_of(some)[b]), depth);
    };
    std::vector<std::uint64_t> depths(ties.size());
    for (std::size_t t = 0; t < ties.size(); ++t) depths[t] = sample_common(ties, t, common);
    for_each_part(ties, [&](std::size_t t, std::uint64_t begin, std::uint64_t end) {
      const std::uint64_t depth = ties[t].depth;
      std::atomic_ref least(depths[t]);
      std::uint64_t now = least;
      for (std::uint64_t i = begin; i < end && now > depth; ++i) {
        fetch(places_of(some)[std::min(i + ahead, end - 1)], depth);
        now = std::min(now, common(ties.offsets()[t], i, depth));
      }
      for (std::uint64_t old = least; now < old && !least.compare_exchange_weak(old, now);) {
      }
    });
    for (std::size_t t = 0; t < ties.size(); ++t) ties[t].depth = depths[t];
  }
  // Returns an upper bound of the depth up to which the keys of a tie agree, from some of its
  // lines. Returns the tie's depth if it is not worth the time to find out.
  template <class Common>
  [[nodiscard]] static std::uint64_t sample_common(const Ties& ties, std::size_t t,
                                                   const Common& common) {
    constexpr std::uint64_t samples = 8, worth = 3;
    const Tie& tie = ties[t];
    if (tie.count < 2) return tie.depth;
    const std::uint64_t first = ties.offsets()[t];
    std::uint64_t depth = ~std::uint64_t{0};
    for (std::uint64_t s = 1; s <= samples && depth >= tie.depth + worth; ++s)
      depth = std::min(depth, common(first, first + s * (tie.count - 1) / samples, tie.depth));
    return depth < tie.depth + worth ? tie.depth : depth;
  }

  HostReport sort_records(const Records& some, const Ties& ties, const std::string& algorithm,
                          const std::string& parameters) const {
    RecordProblem problem{.count = ties.lines(),
                          .columns = {{sizeof(std::uint64_t)}, {sizeof(Place)}},
                          .key = {{.type = KeyType::u64, .order = o_.order}}};
    RecordHostOperands operands;
    const void* const columns[] = {words_of(some), places_of(some)};
    operands.columns_in = columns;
    if (ties.size() > 1) {
      problem.segments = ties.size();
      problem.offset_bytes = sizeof(std::uint64_t);
      operands.offsets = ties.offsets().data();
    }
    return sort_records_host(
        problem, operands,
        {.device = o_.device, .algorithm = algorithm, .parameters = parameters, .stop = o_.stop});
  }

  [[nodiscard]] Records take(const Ties& ties) const {
    Records some = make_lines(ties.lines());
    for_each_part(ties, [&](std::size_t t, std::uint64_t begin, std::uint64_t end) {
      const Place* const from = places_of(lines_) + ties[t].begin - ties.offsets()[t];
      std::copy(from + begin, from + end, places_of(some) + begin);
    });
    return some;
  }
  void put_back(const Records& some, const Ties& ties) const {
    for_each_part(ties, [&](std::size_t t, std::uint64_t begin, std::uint64_t end) {
      const std::uint64_t to = ties[t].begin + begin - ties.offsets()[t];
      std::copy(places_of(some) + begin, places_of(some) + end, places_of(lines_) + to);
      std::copy(words_of(some) + begin, words_of(some) + end, words_of(lines_) + to);
    });
  }

  // Finds the ties within sorted ties. Sorts those of few lines, and returns the others.
  [[nodiscard]] Ties find_ties(const Ties& ties) const {
    std::vector<std::vector<Tie>> found(ties.pieces());
    on_all_cores(ties.pieces(), [&](std::uint64_t piece) {
      check_stop({.stop = o_.stop});
      FewLines few(*this);
      ties.for_each_part(piece, [&](std::size_t t, std::uint64_t begin, std::uint64_t end) {
        for_each_tie(ties, t, begin, end, [&](const Tie& tie) {
          if (tie.count <= few_lines || tie.depth >= Keys::deep)
            few.add(tie);
          else
            found[piece].push_back(tie);
        });
      });
    });
    std::vector<Tie> all;
    for (const auto& some : found) all.insert(all.end(), some.begin(), some.end());
    return Ties(std::move(all));
  }
  // Calls body(tie) for the ties that begin in a part of a sorted tie.
  template <class Body>
  void for_each_tie(const Ties& ties, std::size_t t, std::uint64_t begin, std::uint64_t end,
                    const Body& body) const {
    const std::uint64_t* const words = words_of(lines_);
    const std::uint64_t first = ties[t].begin, last = first + ties[t].count;
    const std::uint64_t stop = first + end - ties.offsets()[t];
    std::uint64_t i = first + begin - ties.offsets()[t];
    while (i > first && i < stop && words[i] == words[i - 1]) ++i;
    for (std::uint64_t next = 0; i < stop; i = next) {
      next = i + 1;
      while (next < last && words[next] == words[i]) ++next;
      if (next - i > 1 && Keys::continues(words[i]))
        body(Tie{i, next - i, ties[t].depth + Keys::step});
    }
  }

  // Sorts ties by comparisons, several at a time, so that their text is fetched at the same time.
  class FewLines {
   public:
    explicit FewLines(const LineSorter& sorter) : sorter_(sorter) {}
    ~FewLines() { sort(); }
    FewLines(const FewLines&) = delete;
    FewLines& operator=(const FewLines&) = delete;

    void add(const Tie& tie) {
      const Place* const places = places_of(sorter_.lines_) + tie.begin;
      for (std::uint64_t i = 0; i < std::min(tie.count, few_lines); ++i)
        sorter_.fetch(places[i], tie.depth);
      waiting_[count_++] = tie;
      if (count_ == waiting_.size()) sort();
    }

   private:
    void sort() {
      for (std::size_t i = 0; i < count_; ++i) sorter_.sort_by_comparisons(waiting_[i]);
      count_ = 0;
    }

    const LineSorter& sorter_;
    std::array<Tie, 16> waiting_;
    std::size_t count_ = 0;
  };

  void sort_by_comparisons(const Tie& tie) const {
    Place* const places = places_of(lines_) + tie.begin;
    std::sort(places, places + tie.count, [&](Place a, Place b) {
      const int order = Keys::compare(text_.key(a), text_.key(b), tie.depth);
      if (order == 0) return a < b;
      return o_.order == Order::ascending ? order < 0 : order > 0;
    });
  }

  void fetch(Place place, std::uint64_t depth) const {
    __builtin_prefetch(text_.begin(place) + depth);
  }

  const LineText& text_;
  Records& lines_;
  const LineOptions& o_;
};

// Lets threads that prepare parts of an output write them in order.
class Turns {
 public:
  // Waits until the parts before `part` are written. Returns false if one of them has failed.
  [[nodiscard]] bool wait(std::uint64_t part) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return failed_ || next_ == part; });
    return !failed_;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    ++next_;
    changed_.notify_all();
  }
  void fail() {
    const std::lock_guard lock(mutex_);
    failed_ = true;
    changed_.notify_all();
  }
  [[nodiscard]] bool have_failed() {
    const std::lock_guard lock(mutex_);
    return failed_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t next_ = 0;
  bool failed_ = false;
};

}  // namespace

SortedLines::SortedLines(std::string_view text, const LineOptions& options)
    : options_(options), text_(text, KeyFinder(options)) {
  find_lines();
  if (options.numeric)
    report_ = LineSorter<NumberKeys>(text_, lines_, options).run();
  else
    report_ = LineSorter<ByteKeys>(text_, lines_, options).run();
}

// A line belongs to the part of the text that has its newline.
void SortedLines::find_lines() {
  constexpr std::uint64_t part_bytes = std::uint64_t{1} << 20;
  const std::string_view text = text_.text();
  const std::uint64_t parts = (text.size() + part_bytes - 1) / part_bytes;
  std::vector<std::uint64_t> first(parts + 1);
  on_all_cores(parts, [&](std::uint64_t p) {
    const auto part = text.substr(p * part_bytes, part_bytes);
    first[p + 1] = static_cast<std::uint64_t>(std::count(part.begin(), part.end(), '\n'));
  });
  for (std::uint64_t p = 0; p < parts; ++p) first[p + 1] += first[p];
  lines_ = make_lines(first[parts]);
  on_all_cores(parts, [&](std::uint64_t p) {
    const char* at = LineText::line_begin(text, text.data() + p * part_bytes);
    for (std::uint64_t i = first[p]; i < first[p + 1]; ++i) {
      const auto left = static_cast<std::size_t>(text.data() + text.size() - at);
      const auto* const end = static_cast<const char*>(std::memchr(at, '\n', left));
      places()[i] = text_.place({at, static_cast<std::size_t>(end - at)});
      at = end + 1;
    }
  });
}

bool SortedLines::is_written(std::uint64_t i, const std::string* before) const {
  if (!options_.unique || (i == 0 && before == nullptr)) return true;
  if (i != 0 && words()[i] != words()[i - 1]) return true;
  const std::string_view a = i == 0 ? *before : text_.key(places()[i - 1]);
  return LineOrder(options_).compare_keys(a, text_.key(places()[i])) != 0;
}

std::uint64_t SortedLines::write(const LineWriter& write, const std::string* before) const {
  constexpr std::uint64_t part_lines = std::uint64_t{1} << 14;
  // Parts that are worked on at the same time are neighbours, so each has a buffer of its own.
  std::vector<std::vector<char>> buffers(all_cores());
  std::atomic<std::uint64_t> written{0};
  Turns turns;
  on_all_cores((count() + part_lines - 1) / part_lines, [&](std::uint64_t part) {
    // After a failure, later parts begin while earlier ones still use their buffers.
    if (turns.have_failed()) return;
    auto& buffer = buffers[part % buffers.size()];
    const auto flush = [&] {
      check_stop({.stop = options_.stop});
      if (!buffer.empty()) write(buffer.data(), buffer.size());
      buffer.clear();
    };
    const std::uint64_t begin = part * part_lines, end = std::min(count(), begin + part_lines);
    std::uint64_t lines = 0;
    try {  // the other parts would wait for ever for one that ends without its turn
      buffer.reserve(write_buffer_bytes);
      for (std::uint64_t i = begin; i < end; ++i) {
        __builtin_prefetch(text_.begin(places()[std::min(i + ahead, end - 1)]));
        if (!is_written(i, before)) continue;
        const auto line = text_.line(places()[i]);
        ++lines;
        if (buffer.size() + line.size() > write_buffer_bytes) {
          if (!turns.wait(part)) return;
          flush();
        }
        if (line.size() > write_buffer_bytes)
          write(line.data(), line.size());
        else
          buffer.insert(buffer.end(), line.begin(), line.end());
      }
      if (!turns.wait(part)) return;
      flush();
    } catch (...) {
      turns.fail();
      throw;
    }
    written += lines;
    turns.end();
  });
  return written;
}

}  // namespace sortium::files
