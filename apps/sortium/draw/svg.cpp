#include "draw/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string_view>
#include <vector>

#include "../../../src/algorithms/networks.hpp"
#include "cli/common.hpp"

namespace app {
namespace {

namespace networks = sortium::networks;

// Pictures have their own background, so that they are readable on a dark page too.
constexpr const char* ground = "#ffffff";
constexpr const char* frame = "#d5d9de";
constexpr std::array<const char*, 2> bands{"#edf2f8", "#f8f9fb"};
constexpr const char* ink = "#1d2530";
constexpr const char* pale_ink = "#5d6876";
constexpr const char* wire = "#a9b2bd";
constexpr const char* down = "#1b62ad";  // the comparator moves the later record down
constexpr const char* up = "#c4500b";    // or up

constexpr double margin = 20;
constexpr double title_size = 17, text_size = 12;

// Returns a width in pixels that suffices for the text in any sans-serif font.
double width_of(std::string_view text, double size) {
  return 0.6 * size * static_cast<double>(text.size());
}

enum class Anchor { start, middle, end };

class Svg {
 public:
  void rect(double x, double y, double width, double height, const char* fill,
            const char* stroke = nullptr, double radius = 0) {
    add(R"(<rect x="{:g}" y="{:g}" width="{:g}" height="{:g}" fill="{}")", x, y, width, height,
        fill);
    if (radius > 0) add(R"( rx="{:g}")", radius);
    if (stroke != nullptr) add(R"( stroke="{}")", stroke);
    add("/>\n");
  }
  void line(double x1, double y1, double x2, double y2, const char* stroke, double width = 1,
            const char* dashes = nullptr) {
    add(R"(<path d="M{:g} {:g}L{:g} {:g}" stroke="{}" stroke-width="{:g}")", x1, y1, x2, y2, stroke,
        width);
    if (dashes != nullptr) add(R"( stroke-dasharray="{}")", dashes);
    add("/>\n");
  }
  // Draws a line from a dot to an arrow head.
  void arrow(double x, double from, double to, const char* colour) {
    const double head = to > from ? 7 : -7;
    add(R"(<g fill="{0}"><path d="M{1:g} {2:g}V{3:g}" stroke="{0}" stroke-width="1.6"/>)", colour,
        x, from, to - head / 2);
    add(R"(<circle cx="{:g}" cy="{:g}" r="2.4"/><path d="M{:g} {:g}l-3.6 {:g}h7.2z"/></g>)", x,
        from, x, to, -head);
    add("\n");
  }
  void text(double x, double y, std::string_view words, Anchor anchor = Anchor::start,
            double size = text_size, const char* fill = ink, bool bold = false) {
    static constexpr std::array<const char*, 3> anchors{"start", "middle", "end"};
    add(R"(<text x="{:g}" y="{:g}" text-anchor="{}" font-size="{:g}" fill="{}"{}>{}</text>)", x, y,
        anchors[static_cast<std::size_t>(anchor)], size, fill, bold ? R"( font-weight="bold")" : "",
        words);
    add("\n");
  }
  [[nodiscard]] std::string finish(double width, double height, std::string_view title) const {
    return fmt::format(R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0:g}" height="{1:g}" )"
                       R"(viewBox="0 0 {0:g} {1:g}" role="img" )"
                       R"(font-family="Helvetica, Arial, sans-serif">
<title>{2}</title>
<rect x="0.5" y="0.5" width="{3:g}" height="{4:g}" rx="6" fill="{5}" stroke="{6}"/>
{7}</svg>
)",
                       width, height, title, width - 1, height - 1, ground, frame, body_);
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(body_), format, std::forward<Args>(args)...);
  }
  std::string body_;
};

// Returns a column number for each comparator of a step. Comparators that overlap get
// different columns.
std::vector<unsigned> columns_of(const networks::Step& step) {
  std::vector<unsigned> out;
  std::vector<unsigned> free_from;  // for each column: the first record below its last comparator
  for (const auto& c : step) {
    const auto column =
        std::ranges::find_if(free_from, [&](unsigned from) { return from <= c.top; });
    out.push_back(static_cast<unsigned>(column - free_from.begin()));
    if (column == free_from.end()) free_from.push_back(0);
    free_from[out.back()] = c.bottom + 1;
  }
  return out;
}

struct NetworkWords {
  std::string title, counts;
  std::vector<std::array<std::string, 2>> stages;  // two lines of text above each stage
  std::string caption;  // the meaning of those lines if each is one number
  bool distances;       // print the distances below the steps
};

std::string draw_network(unsigned n, const std::vector<networks::Stage>& stages,
                         const NetworkWords& words) {
  const double pitch = n <= 32 ? 24 : 16, column_pitch = 13, step_gap = 26, stage_gap = 30;
  const double names =
      std::max(words.distances ? 54.0 : 0.0, width_of(words.caption, text_size)) + 10;
  const double results = 62;
  const std::string legend = "the arrow points to the later record";

  // Horizontal positions, from left to right.
  struct PlacedStep {
    double x, width;
    std::vector<unsigned> columns;
  };
  struct PlacedStage {
    double x, width;
    std::vector<PlacedStep> steps;
  };
  std::vector<PlacedStage> placed;
  double total = 0;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    PlacedStage stage{total, 0, {}};
    for (const auto& step : stages[s]) {
      auto columns = columns_of(step);
      const unsigned most = columns.empty() ? 0 : *std::ranges::max_element(columns);
      stage.steps.push_back({stage.width, most * column_pitch, std::move(columns)});
      stage.width += most * column_pitch + step_gap;
    }
    stage.width += stage_gap - step_gap;
    const double needed =
        std::max(width_of(words.stages[s][0], text_size), width_of(words.stages[s][1], text_size)) +
        8;
    const double spare = std::max(needed - stage.width, 0.0);
    for (auto& step : stage.steps) step.x += stage.x + (stage_gap + spare) / 2;
    stage.width += spare;
    total += stage.width;
    placed.push_back(std::move(stage));
  }
  const double content = names + total + results;
  const double width = std::ceil(2 * margin + std::max({content, width_of(words.title, title_size),
                                                        32 + width_of(legend, text_size)}));
  const double x0 = (width - content) / 2 + names;
  const double y_title = margin + 16, y_stages = y_title + 48;
  const double y0 = y_stages + (words.stages[0][1].empty() ? 0 : 16) + 24;
  const double y_end = y0 + (n - 1) * pitch;
  const double y_distances = y_end + 30,
               y_legend = (words.distances ? y_distances : y_end + 10) + 34;

  Svg svg;
  svg.text(margin, y_title, words.title, Anchor::start, title_size, ink, true);
  svg.text(margin, y_title + 20, words.counts, Anchor::start, text_size, pale_ink);

  // Bands, wires, labels.
  for (std::size_t s = 0; s < placed.size(); ++s) {
    const double middle = x0 + placed[s].x + placed[s].width / 2;
    svg.rect(x0 + placed[s].x, y_stages - 15, placed[s].width,
             (words.distances ? y_distances + 10 : y_end + 16) - (y_stages - 15), bands[s % 2]);
    svg.text(middle, y_stages, words.stages[s][0], Anchor::middle);
    svg.text(middle, y_stages + 15, words.stages[s][1], Anchor::middle, text_size, pale_ink);
    if (words.distances)
      for (std::size_t k = 0; k < placed[s].steps.size(); ++k) {
        const auto& c = stages[s][k];
        if (!c.empty())
          svg.text(x0 + placed[s].steps[k].x + placed[s].steps[k].width / 2, y_distances,
                   fmt::format("{}", c[0].bottom - c[0].top), Anchor::middle, text_size, pale_ink);
      }
  }
  svg.text(x0 - 10, y_stages, words.caption, Anchor::end, text_size, pale_ink);
  if (words.distances) svg.text(x0 - 10, y_distances, "distance", Anchor::end, text_size, pale_ink);
  for (unsigned i = 0; i < n; ++i) {
    const double y = y0 + i * pitch;
    svg.line(x0, y, x0 + total, y, wire);
    svg.text(x0 - 10, y + 4, fmt::format("{}", i), Anchor::end, pitch < 20 ? 10 : text_size);
  }
  svg.text(x0 + total + 10, y0 + 4, "first", Anchor::start, text_size, pale_ink);
  svg.text(x0 + total + 10, y_end + 4, "last", Anchor::start, text_size, pale_ink);

  bool any_reverse = false;
  for (std::size_t s = 0; s < placed.size(); ++s)
    for (std::size_t k = 0; k < placed[s].steps.size(); ++k)
      for (std::size_t c = 0; c < stages[s][k].size(); ++c) {
        const auto& it = stages[s][k][c];
        const double x = x0 + placed[s].steps[k].x + placed[s].steps[k].columns[c] * column_pitch;
        const double top = y0 + it.top * pitch, bottom = y0 + it.bottom * pitch;
        any_reverse = any_reverse || it.reverse;
        if (it.reverse)
          svg.arrow(x, bottom, top, up);
        else
          svg.arrow(x, top, bottom, down);
      }

  svg.arrow(margin + 4, y_legend - 13, y_legend + 5, down);
  if (any_reverse) svg.arrow(margin + 18, y_legend + 5, y_legend - 13, up);
  svg.text(margin + (any_reverse ? 32 : 18), y_legend, legend, Anchor::start, text_size, pale_ink);
  return svg.finish(width, y_legend + margin, words.title);
}

std::string plural(std::size_t n, const std::string& noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

std::string draw_bitonic(unsigned n) {
  const auto stages = networks::bitonic(n);
  NetworkWords words{fmt::format("Bitonic sorting network, {} records", n), "", {}, "", true};
  std::size_t comparators = 0, steps = 0;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    words.stages.push_back({fmt::format("stage {}", s + 1),
                            (2u << s) < n ? fmt::format("runs of {}", 2u << s) : "sorted"});
    steps += stages[s].size();
    for (const auto& step : stages[s]) comparators += step.size();
  }
  words.counts = fmt::format("{}, {}, {}", plural(stages.size(), "stage"), plural(steps, "step"),
                             plural(comparators, "comparator"));
  return draw_network(n, stages, words);
}

std::string draw_odd_even(unsigned n) {
  const auto rounds = networks::odd_even(n);
  NetworkWords words{fmt::format("Odd-even transposition, {} records", n), "", {}, "round", false};
  std::size_t comparators = 0;
  for (std::size_t r = 0; r < rounds.size(); ++r) {
    words.stages.push_back({fmt::format("{}", r + 1), ""});
    comparators += rounds[r][0].size();
  }
  words.counts = fmt::format("{}, {}", plural(n, "round"), plural(comparators, "comparator"));
  return draw_network(n, rounds, words);
}

// The picture of a merge sort: a row of runs for each level, in bands for the three tiers.
class MergePicture {
 public:
  explicit MergePicture(unsigned n)
      : n_(n),
        levels_(networks::merges(n)),
        unit_(n <= 16   ? 34
              : n <= 32 ? 22
                        : 15) {
    content_ = names + n * unit_ + tiers;
    width_ = std::ceil(2 * margin + std::max({content_, width_of(title(), title_size),
                                              width_of(limits, text_size)}));
    x0_ = (width_ - content_) / 2 + names;
  }

  std::string draw() {
    svg_.text(margin, y_title, title(), Anchor::start, title_size, ink, true);
    svg_.text(margin, y_title + 20, limits, Anchor::start, text_size, pale_ink);
    draw_bands();
    for (unsigned i = 0; i < n_; ++i) label_run(0, draw_run(0, i, i + 1, ground), 1);
    label_row(0, n_, 1);
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      for (const auto& m : levels_[level]) draw_merge(level, m);
      label_row(level + 1, levels_[level].size(), 2u << level);
    }
    const double levels = static_cast<double>(levels_.size());
    return svg_.finish(width_, y0 + box + levels * level_height + 14 + margin, title());
  }

 private:
  using Levels = decltype(networks::merges(0));
  using Merge = Levels::value_type::value_type;

  static constexpr unsigned pieces = 5;  // of a merge in tier 3
  static constexpr double box = 22, level_height = 62, names = 96, tiers = 176;
  static constexpr double y_title = margin + 16, y0 = y_title + 44;
  static constexpr const char* limits =
      "Runs are drawn shorter than they are, so that every tier is visible.";
  static constexpr std::array<const char*, 3> fills{"#cfe3f7", "#d3ecd3", "#fbdfc5"};

  [[nodiscard]] std::string title() const {
    return fmt::format("Merge sort in three tiers, {} records", n_);
  }
  static double row(std::size_t level) { return y0 + static_cast<double>(level) * level_height; }

  // All tiers have the same number of levels; the first ones get the remainder.
  [[nodiscard]] unsigned tier_of(std::size_t level) const {
    const std::size_t first = (levels_.size() + 2) / 3, second = first + (levels_.size() + 1) / 3;
    return level < first ? 0u : level < second ? 1u : 2u;
  }

  // Draws a band for each tier, from below the runs with which it begins.
  void draw_bands() {
    static constexpr std::array<std::array<const char*, 2>, 3> words{
        {{"one work-item", "does a merge"},
         {"one work-group", "does a merge"},
         {"many work-groups, each", "merges a piece"}}};
    const double x1 = x0_ + n_ * unit_;
    for (std::size_t level = 0, begin = 0; level < levels_.size(); ++level) {
      if (level + 1 < levels_.size() && tier_of(level + 1) == tier_of(level)) continue;
      const unsigned tier = tier_of(level);
      const double top = row(begin) + box + 8, bottom = row(level + 1) + box + 8;
      svg_.rect(x0_ - names, top, content_, bottom - top, bands[tier % 2]);
      const double y = (top + bottom) / 2;
      svg_.text(x1 + 18, y - 12, fmt::format("tier {}", tier + 1), Anchor::start, text_size + 1,
                ink, true);
      svg_.text(x1 + 18, y + 4, words[tier][0], Anchor::start, text_size, pale_ink);
      svg_.text(x1 + 18, y + 19, words[tier][1], Anchor::start, text_size, pale_ink);
      begin = level + 1;
    }
  }

  // Returns the middle of the run.
  double draw_run(std::size_t level, unsigned begin, unsigned end, const char* fill) {
    const double x = x0_ + begin * unit_ + 1.5, run_width = (end - begin) * unit_ - 3;
    svg_.rect(x, row(level), run_width, box, fill, pale_ink, 3);
    return x + run_width / 2;
  }
  void label_run(std::size_t level, double middle, unsigned length) {
    svg_.text(middle, row(level) + box / 2 + 4, fmt::format("{}", length), Anchor::middle,
              unit_ < 20 ? 10 : text_size);
  }
  void label_row(std::size_t level, std::size_t runs, unsigned longest) {
    svg_.text(x0_ - 12, row(level) + box / 2 + 4,
              runs == 1           ? std::string("sorted")
              : n_ % longest == 0 ? fmt::format("{} runs of {}", runs, longest)
                                  : fmt::format("{} runs", runs),
              Anchor::end);
  }

  // Draws a merge: the run that it writes, divided into pieces, and lines to it from the runs that
  // it reads.
  void draw_merge(std::size_t level, const Merge& m) {
    const unsigned tier = tier_of(level);
    const double middle =
        draw_run(level + 1, m.begin, m.end, m.middle < m.end ? fills[tier] : ground);
    if (tier == 2 && m.middle < m.end)
      for (unsigned piece = 1; piece < pieces; ++piece) {
        const double x =
            x0_ + (m.begin + (m.end - m.begin) * piece / static_cast<double>(pieces)) * unit_;
        svg_.line(x, row(level + 1), x, row(level + 1) + box, pale_ink, 1, "3 2");
      }
    for (const auto& [from, to] : {std::pair{m.begin, m.middle}, std::pair{m.middle, m.end}})
      if (from < to)
        svg_.line(x0_ + (from + to) / 2.0 * unit_, row(level) + box, middle, row(level + 1),
                  pale_ink, 1.2);
    label_run(level + 1, middle, m.end - m.begin);
  }

  unsigned n_;
  Levels levels_;
  double unit_, content_, width_, x0_;
  Svg svg_;
};

}  // namespace

std::string draw_svg(const std::string& what, unsigned n) {
  if (n < draw_least || n > draw_most)
    throw Failure(exit_usage,
                  fmt::format("-n {}: {} to {} records can be drawn", n, draw_least, draw_most));
  if (what == "bitonic") return draw_bitonic(n);
  if (what == "odd-even") return draw_odd_even(n);
  if (what == "merge") return MergePicture(n).draw();
  throw Failure(
      exit_usage,
      fmt::format("WHAT {}: there is no such picture; there are bitonic, odd-even, merge", what));
}

}  // namespace app
