// The networks sort, the algorithms execute exactly these networks, and their pictures are correct.
#include "cli/draw.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sortium/sortium.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "algorithms/networks.hpp"
#include "cli/common.hpp"
#include "draw/svg.hpp"
#include "support.hpp"

namespace {

using namespace sortium;
using networks::Stage;

struct Network {
  const char* name;
  std::vector<Stage> (*make)(unsigned);
};
constexpr Network both[]{{"bitonic", networks::bitonic}, {"odd-even", networks::odd_even}};

// The 0-1 principle: a network that sorts every sequence of zeros and ones sorts everything.
TEST(Network, SortsEverySequenceOfZerosAndOnes) {
  for (const auto& network : both)
    for (unsigned n = 1; n <= 16; ++n) {
      const auto stages = network.make(n);
      for (std::uint32_t input = 0; input < 1u << n; ++input) {
        std::uint32_t bits = input;  // bit i is record i
        for (const auto& stage : stages)
          for (const auto& step : stage)
            for (const auto& c : step) {
              const std::uint32_t top = bits >> c.top & 1, bottom = bits >> c.bottom & 1;
              if (c.reverse ? top < bottom : bottom < top) bits ^= 1u << c.top | 1u << c.bottom;
            }
        const std::uint32_t ones = bits >> (n - static_cast<unsigned>(std::popcount(input)));
        ASSERT_TRUE(std::popcount(bits) == std::popcount(input) &&
                    std::popcount(ones) == std::popcount(input))
            << network.name << " of " << n << " records, input " << input << " became " << bits;
      }
    }
}

TEST(Network, NoRecordIsTwiceInAStep) {
  for (const auto& network : both)
    for (unsigned n = 1; n <= 64; ++n)
      for (const auto& stage : network.make(n))
        for (const auto& step : stage) {
          std::vector<bool> busy(n);
          for (const auto& c : step) {
            ASSERT_LT(c.top, c.bottom);
            ASSERT_LT(c.bottom, n);
            ASSERT_FALSE(busy[c.top] || busy[c.bottom]) << network.name << " of " << n;
            busy[c.top] = busy[c.bottom] = true;
          }
        }
}

TEST(Network, MergesEndWithOneRun) {
  for (unsigned n = 2; n <= 64; ++n) {
    std::vector<unsigned> ends(n);  // of the runs; at first each record is one
    std::iota(ends.begin(), ends.end(), 1u);
    for (const auto& level : networks::merges(n)) {
      std::vector<unsigned> next;
      unsigned at = 0;
      for (const auto& m : level) {
        ASSERT_EQ(m.begin, at);
        for (const unsigned end : {m.middle, m.end})
          ASSERT_NE(std::ranges::find(ends, end), ends.end());
        next.push_back(at = m.end);
      }
      ends = next;
    }
    ASSERT_EQ(ends, std::vector<unsigned>{n});
  }
}

// Each network leaves records with equal keys in another order, so this order shows which network
// an algorithm executes.
TEST(Network, IsTheOneThatTheAlgorithmDoes) {
  const std::pair<const char*, std::vector<std::string>> methods[]{
      {"bitonic",
       {"schedule=A", "schedule=B2", "schedule=B2+B4", "schedule=B2+B4+B8", "schedule=B2+B4+B8+B16",
        "schedule=C2pre+B*,work_group=4", "schedule=C2+B*,work_group=4",
        "schedule=C4+B*,work_group=4", "schedule=C2+B*,work_group=8,small_stages=together",
        "schedule=C4+B*,work_group=4,small_stages=together"}},
      {"odd-even", {""}}};
  for (unsigned k = 0; k < 2; ++k)
    for (const auto& parameters : methods[k].second)
      for (const unsigned n : {2u, 13u, 16u, 37u, 64u, 100u}) {
        test::Random random(n);
        std::vector<std::uint32_t> keys(n), expected(n);
        for (auto& key : keys) key = static_cast<std::uint32_t>(random.below(3));
        std::iota(expected.begin(), expected.end(), 0u);
        for (const auto& stage : both[k].make(n))
          for (const auto& step : stage)
            for (const auto& c : step) {
              auto &top = expected[c.top], &bottom = expected[c.bottom];
              if (c.reverse ? keys[top] < keys[bottom] : keys[bottom] < keys[top])
                std::swap(top, bottom);
            }
        const Options options{
            .device = test::device_spec(), .algorithm = methods[k].first, .parameters = parameters};
        ASSERT_EQ(argsort(keys, options), expected)
            << methods[k].first << " " << parameters << " of " << n;
      }
}

// ---------------------------------------------------------------------------------------------

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++found;
  return found;
}

// Checks that every element is closed in the right order, every attribute is quoted and unique, and
// no text has a bare < or &. Returns a description of the first error, or nothing.
std::string flaw_of(const std::string& xml) {
  std::vector<std::string> open;
  for (std::size_t at = 0; at < xml.size();) {
    if (xml[at] != '<') {
      if (xml[at] == '&' || xml[at] == '>') return "a bare " + xml.substr(at, 1);
      if (open.empty() && !std::isspace(static_cast<unsigned char>(xml[at])))
        return "text outside of the root";
      ++at;
      continue;
    }
    const auto end = xml.find('>', at);
    if (end == std::string::npos) return "an element that does not end";
    std::string tag = xml.substr(at + 1, end - at - 1);
    at = end + 1;
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1))
        return "an end of " + tag.substr(1) + " that is not open";
      open.pop_back();
      continue;
    }
    const bool empty = tag.back() == '/';
    if (empty) tag.pop_back();
    std::istringstream in(tag);
    std::string name;
    in >> name;
    std::vector<std::string> attributes;
    std::string attribute, value;
    while (std::getline(in >> std::ws, attribute, '=')) {
      if (in.get() != '"' || !std::getline(in, value, '"') || value.find('<') != std::string::npos)
        return "no quoted value for " + attribute + " in " + tag;
      if (std::ranges::find(attributes, attribute) != attributes.end())
        return attribute + " twice in " + tag;
      attributes.push_back(attribute);
    }
    if (!empty) open.push_back(name);
  }
  return open.empty() ? "" : open.back() + " is not closed";
}

TEST(Drawing, TheCheckFindsFlaws) {
  EXPECT_EQ(flaw_of("<a b=\"1\"><c/>text</a>\n"), "");
  for (const auto* bad :
       {"<a>", "<a></b>", "<a b=1/>", "<a b=\"1\" b=\"2\"/>", "<a>&</a>", "<a/>text", "<a", "</a>"})
    EXPECT_NE(flaw_of(bad), "") << bad;
}

TEST(Drawing, IsWellFormedAndNeedsNothingFromElsewhere) {
  for (const auto* what : {"bitonic", "odd-even", "merge"})
    for (unsigned n = app::draw_least; n <= app::draw_most; ++n) {
      const std::string svg = app::draw_svg(what, n);
      ASSERT_EQ(flaw_of(svg), "") << what << " of " << n;
      ASSERT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
      ASSERT_EQ(count(svg, "<title>"), 1u);
      ASSERT_EQ(count(svg, "http"), 1u);  // the SVG namespace
      for (const auto* no : {"href", "url(", "@import", "nan", "inf", "\"-"})
        ASSERT_EQ(count(svg, no), 0u) << no;
    }
}

TEST(Drawing, HasEveryComparatorAndEveryRun) {
  for (unsigned n = app::draw_least; n <= app::draw_most; ++n) {
    for (const auto& network : both) {
      std::size_t comparators = 0, reversed = 0;
      for (const auto& stage : network.make(n))
        for (const auto& step : stage) {
          comparators += step.size();
          reversed += static_cast<std::size_t>(
              std::ranges::count_if(step, [](auto& c) { return c.reverse; }));
        }
      // Each comparator has one dot. The legend has one more dot for each direction.
      ASSERT_EQ(count(app::draw_svg(network.name, n), "<circle"),
                comparators + (reversed != 0 ? 2 : 1))
          << network.name << " of " << n;
    }
    std::size_t runs = n;
    for (const auto& level : networks::merges(n)) runs += level.size();
    ASSERT_EQ(count(app::draw_svg("merge", n), "rx=\"3\""), runs) << n;
  }
}

void expect_refused(const app::DrawOptions& options, const std::string& word) {
  try {
    app::draw(options);
    ADD_FAILURE() << options.what << " of " << options.n << " was drawn";
  } catch (const app::Failure& failure) {
    EXPECT_EQ(failure.code(), app::exit_usage);
    EXPECT_NE(std::string(failure.what()).find(word), std::string::npos) << failure.what();
  }
}

TEST(Drawing, BadRequestsAreRefusedAndNothingIsWritten) {
  const auto directory =
      std::filesystem::temp_directory_path() / fmt::format("sortium-draw-{}", ::getpid());
  std::filesystem::create_directory(directory);
  const std::string file = directory / "net.svg";
  std::ofstream(file) << "before";
  for (const unsigned n : {0u, 1u, 65u, 1000u})
    for (const auto* what : {"bitonic", "odd-even", "merge"})
      expect_refused({what, n, file}, fmt::format("{}", n));
  expect_refused({"bubble", 8, file}, "bubble");
  const auto contents = [&] { return (std::ostringstream() << std::ifstream(file).rdbuf()).str(); };
  EXPECT_EQ(contents(), "before");

  EXPECT_EQ(app::draw({"merge", 8, file}), app::exit_success);
  EXPECT_EQ(contents(), app::draw_svg("merge", 8));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory), {}),
            1);  // no temporary file is left
  std::filesystem::remove_all(directory);
}

}  // namespace
