// `sortium report` as a user runs it, on invented results: the content of the page and the
// pictures, and the files that it refuses.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

std::string contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

// Returns why `text` is not well-formed XML (without a DTD); empty if it is.
std::string xml_mistake(std::string_view text) {
  std::vector<std::string> open;
  std::size_t roots = 0;
  const auto name_end = [&](std::size_t at) {
    while (at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 ||
                                std::strchr("_:-.", text[at]) != nullptr))
      ++at;
    return at;
  };
  const auto bad_reference = [](std::string_view part) {
    static const std::regex good("&(amp|lt|gt|quot|apos|#[0-9]+|#x[0-9a-fA-F]+);");
    for (std::size_t at = 0; (at = part.find('&', at)) != part.npos; ++at)
      if (!std::regex_search(part.begin() + static_cast<std::ptrdiff_t>(at), part.end(), good,
                             std::regex_constants::match_continuous))
        return true;
    return false;
  };
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '<') {
      const auto end = std::min(text.find('<', at), text.size());
      const auto part = text.substr(at, end - at);
      if (bad_reference(part)) return fmt::format("a bare & in '{}'", part);
      if (open.empty() && part.find_first_not_of(" \n\t\r") != part.npos)
        return fmt::format("'{}' outside of the root", part);
      at = end;
      continue;
    }
    if (text.substr(at, 9) == "<![CDATA[") {
      at = text.find("]]>", at);
      if (at == text.npos) return "an open CDATA";
      at += 3;
      continue;
    }
    const bool closes = text.substr(at, 2) == "</";
    const std::size_t begin = at + (closes ? 2 : 1), end = name_end(begin);
    const std::string name(text.substr(begin, end - begin));
    if (name.empty()) return fmt::format("a bare < before '{}'", text.substr(at, 30));
    at = end;
    std::vector<std::string> attributes;
    while (true) {
      const auto next = text.find_first_not_of(" \n\t\r", at);
      if (next == text.npos) return name + " does not end";
      if (text[next] == '>' || text.substr(next, 2) == "/>") {
        at = next;
        break;
      }
      const auto equals = name_end(next);
      if (closes || next == at || equals == next || text.substr(equals, 2) != "=\"")
        return fmt::format("{}: bad attribute before '{}'", name, text.substr(next, 30));
      attributes.emplace_back(text.substr(next, equals - next));
      if (std::ranges::count(attributes, attributes.back()) > 1)
        return name + " has twice " + attributes.back();
      const auto quote = text.find('"', equals + 2);
      if (quote == text.npos) return name + " has an open attribute";
      const auto value = text.substr(equals + 2, quote - equals - 2);
      if (value.find('<') != value.npos || bad_reference(value))
        return fmt::format("{}: bad value '{}'", name, value);
      at = quote + 1;
    }
    const bool empty = text[at] == '/';
    at += empty ? 2 : 1;
    if (closes) {
      if (open.empty() || open.back() != name)
        return fmt::format("</{}> closes {}", name, open.empty() ? "nothing" : open.back());
      open.pop_back();
    } else {
      if (open.empty()) ++roots;
      if (!empty) open.push_back(name);
    }
  }
  if (!open.empty()) return open.back() + " is not closed";
  return roots == 1 ? "" : fmt::format("{} roots", roots);
}

TEST(XmlMistake, IsFound) {
  EXPECT_EQ(xml_mistake("<a b=\"1\"><c/>x &amp; y</a>"), "");
  for (const char* bad :
       {"<a>", "<a></b>", "<a b=1/>", "<a b=\"<\"/>", "<a>&</a>", "<a>&nbsp;</a>", "<a/><a/>",
        "x<a/>", "<a b=\"1\" b=\"2\"/>", "<a b=\"1/>", "<a", "< a/>", ""})
    EXPECT_NE(xml_mistake(bad), "") << bad;
}

struct Result {
  int code;
  std::string err;
};

class Report : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "sortium-report-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    dir_ = name;
  }
  void TearDown() override { fs::remove_all(dir_); }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((dir_ / name).parent_path());
    std::ofstream(dir_ / name, std::ios::binary) << text;
  }
  void write(const std::string& name, const json& value) const { write(name, value.dump()); }
  [[nodiscard]] std::string read(const std::string& name) const { return contents(dir_ / name); }

  // `arguments` are split by a shell.
  [[nodiscard]] Result run(const std::string& arguments) const {
    const int status = std::system(fmt::format("cd '{}' && '{}' report {} >out.txt 2>err.txt",
                                               dir_.string(), SORTIUM_CLI, arguments)
                                       .c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read("err.txt")};
  }

  // Returns the figures of a page by their titles.
  [[nodiscard]] json figures(const std::string& page) const {
    const std::string all = read(page), begin = "<script type=\"application/json\" id=\"figures\">";
    const auto at = all.find(begin) + begin.size();
    json out;
    for (const auto& figure : json::parse(all.substr(at, all.find("</script>", at) - at)))
      out[figure.at("title").get<std::string>()] = figure;
    return out;
  }

  fs::path dir_;
};

// Returns a file like those of `sortium bench --json`.
json bench(const std::vector<json>& rows) {
  return {{"sortium", "0.1.0"},        {"protocol", "as ever"}, {"min_seconds", 0.1},
          {"distribution", "uniform"}, {"interrupted", false},  {"results", rows}};
}
json row(const std::string& algorithm, std::uint64_t n, double mkeys) {
  return {{"device", "A GPU"},
          {"device_id", "cuda:0"},
          {"driver", "driver 7"},
          {"language", "NVRTC"},
          {"algorithm", algorithm},
          {"type", "u32"},
          {"payload", "keys"},
          {"n", n},
          {"copy_gb_per_second", 4000.0},
          {"bound_mkeys_per_second", 500000.0},
          {"parameters", "b=4"},
          {"seconds", static_cast<double>(n) / mkeys * 1e-6},
          {"mkeys_per_second", mkeys},
          {"repetitions", 31},
          {"verified", true},
          {"run_length", 0}};
}
json with(json value, const json& more) {
  value.update(more);
  return value;
}
json without_figure(json value, const json& more) {
  for (const char* name :
       {"seconds", "mkeys_per_second", "repetitions", "parameters", "run_length"})
    value.erase(name);
  return with(with(value, {{"verified", false}}), more);
}
const json& series(const json& figure, const std::string& name) {
  for (const auto& s : figure.at("series"))
    if (s.at("name") == name) return s;
  throw std::runtime_error("there is no series " + name + " in " +
                           figure.at("title").get<std::string>());
}
std::vector<double> values(const json& one) {
  std::vector<double> out;
  for (const auto& p : one.at("points")) out.push_back(p.at(1));
  return out;
}

TEST_F(Report, HasEveryRowItsPlotAndItsTable) {
  write("r/a.json",
        bench({row("auto", 1024, 1000), row("auto", 1 << 20, 50000), row("auto", 3000, 1500),
               row("radix", 1024, 100), row("radix", 1 << 20, 400)}));
  ASSERT_EQ(run("r -o page.html --svg pictures").code, 0) << read("err.txt");
  const json all = figures("page.html");
  ASSERT_EQ(all.size(), 1U);
  const json& f = all.at("Throughput: u32 keys, uniform");
  EXPECT_EQ(values(series(f, "auto")), (std::vector<double>{1e9, 1.5e9, 5e10}));
  EXPECT_EQ(series(f, "radix").at("points").at(1).at(0), 1 << 20);
  ASSERT_EQ(f.at("marks").size(), 1U);
  EXPECT_EQ(f.at("marks").at(0).at("value"), 5e11);

  const std::string page = read("page.html");
  for (const char* expected : {"<th scope=\"row\">2<sup>20</sup></th>", "<td>50000</td>",
                               "<td>400</td>", "A GPU", "driver 7", "as ever", "4000 GB/s"})
    EXPECT_NE(page.find(expected), page.npos) << expected;

  const auto picture = read("pictures/a-cuda-0-throughput-u32-keys.svg");
  EXPECT_EQ(xml_mistake(picture), "");
  for (const char* expected : {"Throughput: u32 keys, uniform", "A GPU", "auto", "radix", "bound"})
    EXPECT_NE(picture.find(expected), picture.npos) << expected;
  EXPECT_EQ(picture.find("var("), picture.npos) << "what is not a browser knows no variables";
  EXPECT_EQ(picture.find("NaN"), picture.npos);
}

TEST_F(Report, NeedsNothingElse) {
  write("a.json",
        bench({row("auto", 1024, 1000), row("auto", 2048, 2000), row("auto", 4096, 2500)}));
  ASSERT_EQ(run("a.json -o page.html").code, 0) << read("err.txt");
  std::string page = read("page.html");
  EXPECT_NE(
      page.find(
          "content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\""),
      page.npos);
  // The text of scripts is not markup.
  std::size_t scripts = 0;
  for (std::size_t at = 0; (at = page.find("<script", at)) != page.npos; ++scripts) {
    const auto text = page.find('>', at) + 1, end = page.find("</script>", text);
    ASSERT_NE(end, page.npos);
    page.erase(text, end - text);
    at = text;
  }
  EXPECT_EQ(scripts, 4U);
  for (const char* fetches :
       {"<link", "<img", "<iframe", "<object", "<embed", " src=", "@import", "<base"})
    EXPECT_EQ(page.find(fetches), page.npos) << fetches;
  const std::regex reference("(href=\"|url\\()(?!#)");
  EXPECT_FALSE(std::regex_search(page, reference));
  // The pictures that the page shows without scripts.
  std::size_t pictures = 0;
  for (std::size_t at = 0; (at = page.find("<svg", at)) != page.npos; ++at, ++pictures) {
    const auto end = page.find("</svg>", at) + 6;
    EXPECT_EQ(xml_mistake(std::string_view(page).substr(at, end - at)), "");
  }
  EXPECT_EQ(pictures, 1U);
}

TEST_F(Report, ShowsWhatIsWrongFailedOrSkipped) {
  write("a.json",
        bench({row("radix", 1024, 100), with(row("radix", 2048, 200), {{"verified", false}}),
               without_figure(row("radix", 4096, 1),
                              {{"failed", "it burned <!--<script></script> & <b>out"}}),
               without_figure(row("odd-even", 1024, 1), {{"skipped", "takes too long"}}),
               with(row("merge-local", 1024, 900), {{"run_length", 256}})}));
  ASSERT_EQ(run("a.json -o page.html --svg .").code, 0) << read("err.txt");
  const std::string page = read("page.html");
  for (const char* expected :
       {"<td class=\"WRONG\">200 WRONG</td>", "1 WRONG", "1 failed", "1 skipped", "takes too long",
        "it burned &lt;!--&lt;script&gt;&lt;/script&gt; &amp; &lt;b&gt;out",
        "merge-local (runs only)", "title=\"takes too long\""})
    EXPECT_NE(page.find(expected), page.npos) << expected;
  const json f = figures("page.html").at("Throughput: u32 keys, uniform");
  EXPECT_EQ(series(f, "radix").at("points").at(1).at(2), 1);
  EXPECT_EQ(series(f, "radix").at("lost").at(0).at(1), "it burned <!--<script></script> & <b>out");
  const auto picture = read("a-cuda-0-throughput-u32-keys.svg");
  EXPECT_EQ(xml_mistake(picture), "");
  EXPECT_NE(picture.find("failed"), picture.npos);
}

TEST_F(Report, ComparesWithTheBestPeerOfTheSameList) {
  const json host{{"device", "the host"}, {"device_id", "host"}};
  write("a.json",
        bench({row("auto", 1024, 300), row("auto", 2048, 500),
               with(row("std::sort", 1024, 10), host), with(row("std::sort", 2048, 20), host),
               with(row("vqsort", 1024, 100), {{"peer", true}}),
               with(row("vqsort", 2048, 900), {{"peer", true}, {"verified", false}}),
               with(row("auto", 4096, 500), {{"ratio_to_best_peer", 7.5}}),
               with(row("vqsort", 4096, 1), {{"type", "u64"}, {"peer", true}})}));
  ASSERT_EQ(run("a.json -o page.html").code, 0) << read("err.txt");
  const json all = figures("page.html");
  const json& ratio = all.at("Ratio to the best peer: u32 keys, uniform");
  EXPECT_EQ(ratio.at("series").size(), 1U);
  EXPECT_EQ(values(series(ratio, "auto")), (std::vector<double>{3, 25, 7.5}));
  const json& rates = all.at("Throughput: u32 keys, uniform");
  EXPECT_TRUE(series(rates, "std::sort").at("peer"));
  EXPECT_EQ(series(rates, "vqsort").at("points").size(), 2U);
}

TEST_F(Report, DrawsDistributionsAndPhases) {
  std::vector<json> rows;
  for (const char* d : {"uniform", "sorted", "zipf"})
    for (const std::uint64_t n : {1024, 2048, 4096})
      rows.push_back(with(row("radix", n, 100),
                          {{"distribution", d},
                           {"median_seconds", 1e-5},
                           {"low_seconds", 0.9e-5},
                           {"high_seconds", 1.2e-5},
                           {"device_seconds", nullptr},
                           {"bytes_moved", 36.0 * static_cast<double>(n)},
                           {"phases",
                            {{{"name", "histogram"}, {"seconds", 1e-6}, {"launches", 4}},
                             {{"name", "reorder"}, {"seconds", 3e-6}, {"launches", 8}}}}}));
  write("a.json", bench(rows));
  ASSERT_EQ(run("a.json -o page.html --svg .").code, 0) << read("err.txt");
  const json all = figures("page.html");
  const json& d = all.at("Distributions: u32 keys");
  ASSERT_EQ(d.at("frames").size(), 3U);
  EXPECT_EQ(d.at("frames").at(1).at("categories"), json({"uniform", "sorted", "zipf"}));
  EXPECT_EQ(d.at("frames").at(1).at("series").at(0).at("points").size(), 3U);
  const json& p = all.at("Time by phases: u32 keys, uniform");
  EXPECT_EQ(p.at("frames").at(0).at("series").at(1).at("values"), json::parse("[[3e-6, 8]]"));
  EXPECT_TRUE(all.contains("Throughput: u32 keys, uniform"));
  EXPECT_EQ(all.size(), 3U);
  for (const char* kind : {"throughput", "distributions", "phases"})
    EXPECT_EQ(xml_mistake(read(fmt::format("a-cuda-0-{}-u32-keys.svg", kind))), "") << kind;
  EXPECT_NE(read("page.html").find("middle half"), std::string::npos);
}

TEST_F(Report, KeepsParametersAndRepetitionsApart) {
  write("a.json", bench({with(row("radix", 1024, 100), {{"parameters", "b=4,work_group=256"}}),
                         with(row("radix", 1024, 200), {{"parameters", "b=8,work_group=256"}}),
                         with(row("radix", 2048, 150), {{"parameters", "b=4,work_group=128"}}),
                         row("auto", 4096, 7), row("merge", 1024, 10), row("merge", 1024, 11)}));
  ASSERT_EQ(run("a.json -o page.html").code, 0) << read("err.txt");
  const json f = figures("page.html").at("Throughput: u32 keys, uniform");
  EXPECT_EQ(values(series(f, "radix b=4")), (std::vector<double>{1e8, 1.5e8}));
  EXPECT_EQ(values(series(f, "radix b=8")), (std::vector<double>{2e8}));
  EXPECT_EQ(values(series(f, "merge")), (std::vector<double>{1e7}));
  EXPECT_EQ(values(series(f, "merge #2")), (std::vector<double>{1.1e7}));
}

TEST_F(Report, ReadsWhatTheOtherProgramsWrite) {
  const json compare{
      {"device", "A GPU"},
      {"driver", "7"},
      {"cub", 300001},
      {"thrust", 300001},
      {"cuda", 13000},
      {"rows",
       {{{"spec", "u32:u32:2^20:uniform"},
         {"count", 1 << 20},
         {"algorithm", "msd"},
         {"parameters", "x=1"},
         {"correct", true},
         {"results",
          {{{"name", "cub"}, {"wait_seconds", 2e-4}, {"device_seconds", 1e-4}, {"correct", true}},
           {{"name", "sortium"},
            {"wait_seconds", 1e-4},
            {"device_seconds", 5e-5},
            {"correct", true}}}}},
        {{"spec", "u32:u32:2^22:uniform:0-24"},
         {"count", 1 << 22},
         {"algorithm", "msd"},
         {"parameters", "x=1"},
         {"correct", true},
         {"results", json::array({{{"name", "sortium"},
                                   {"wait_seconds", 1e-4},
                                   {"device_seconds", 5e-5},
                                   {"correct", true}}})}}}}};
  const json boost{{"peer", "Boost.Compute 1.83"},
                   {"device", "A GPU"},
                   {"driver", "7"},
                   {"results", json::array({{{"keys", "u32"},
                                             {"payload", "none"},
                                             {"count", 1024},
                                             {"seconds", 1e-5},
                                             {"mkeys_per_second", 102.4},
                                             {"repetitions", 3},
                                             {"correct", true}}})}};
  write("gpu.json",
        {{"device", "A GPU"},
         {"commit", "0123456789abcdef"},
         {"date", "2026-01-02"},
         {"failures", "other tests on cuda"},
         {"tests-cuda",
          {{"conformance_cases", 9}, {"conformance_passed", 8}, {"conformance_failed", 1}}},
         {"compute-sanitizer", {{"memcheck", "clean"}}},
         {"bench-cuda",
          bench({row("auto", 1024, 500), row("auto", 2048, 800), row("auto", 4096, 900)})},
         {"peer", boost},
         {"beside-cub", compare}});
  write("cpu.json", {{"processor", "A CPU"},
                     {"threads", 2},
                     {"boost", "1_74"},
                     {"highway", "1.3"},
                     {"results",
                      {{{"n", 1024},
                        {"type", "u64"},
                        {"payload", "values"},
                        {"distribution", "uniform"},
                        {"sort", "sortium"},
                        {"threads", 2},
                        {"seconds", 1e-5},
                        {"mkeys_per_second", 102.4},
                        {"correct", true}},
                       {{"n", 1024},
                        {"type", "u64"},
                        {"payload", "values"},
                        {"distribution", "uniform"},
                        {"sort", "std::sort, parallel"},
                        {"threads", 2},
                        {"seconds", 2e-5},
                        {"mkeys_per_second", 51.2},
                        {"correct", true}}}}});
  ASSERT_EQ(run("gpu.json cpu.json -o page.html --svg pictures").code, 0) << read("err.txt");
  const json all = figures("page.html");
  EXPECT_EQ(values(series(all.at("Throughput: u32 keys, uniform"), "Boost.Compute 1.83")),
            (std::vector<double>{1.024e8}));
  EXPECT_EQ(values(series(all.at("Ratio to the best peer: u32 keys, uniform"), "auto")).at(0),
            4.883);
  const std::string page = read("page.html");
  for (const char* expected :
       {"A CPU · interleaved with CPU sorts, 2 threads", "A GPU · interleaved with CUB",
        "commit 0123456", "8 passed, 1 failed", "other tests on cuda",
        "u32 keys + 4-byte values, bits 0-24", "std::sort, parallel", "3.0.1", "CUB radix"})
    EXPECT_NE(page.find(expected), page.npos) << expected;
  for (const auto& entry : fs::directory_iterator(dir_ / "pictures"))
    EXPECT_EQ(xml_mistake(contents(entry.path())), "") << entry.path();
}

TEST_F(Report, KeepsPublishedTablesApart) {
  std::vector<json> rows;
  for (const std::uint64_t n : {1024, 2048, 4096}) {
    rows.push_back(row("radix", n, 100));
    rows.push_back(
        with(row("radix", n, 50),
             {{"paper",
               {{"document", "003"}, {"table", "Table 4"}, {"published", 12.5}, {"unit", "ms"}}}}));
  }
  write("a.json", bench(rows));
  ASSERT_EQ(run("a.json -o page.html").code, 0) << read("err.txt");
  const std::string page = read("page.html");
  EXPECT_NE(page.find("<h3>A GPU · cuda:0</h3>"), page.npos);
  EXPECT_NE(page.find("<h3>A GPU · cuda:0 · document 003, Table 4</h3>"), page.npos);
  EXPECT_NE(page.find("[\"published\",\"12.5 ms\"]"), page.npos);
}

TEST_F(Report, PutsFilesOfOneRunTogether) {
  const json run_of{{"commit", "abc1234"}, {"processor", "P"}, {"date", "2026-01-02"}};
  write("r/a.json", with(bench({row("auto", 1024, 100)}), run_of));
  write("r/b.json", with(bench({row("auto", 2048, 300), row("auto", 4096, 400)}), run_of));
  write("r/notes.json", json{{"something", "else"}});
  const auto result = run("r r/a.json -o page.html");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.err.find("notes.json has no results and is not shown"), std::string::npos);
  EXPECT_EQ(values(series(figures("page.html").at("Throughput: u32 keys, uniform"), "auto")),
            (std::vector<double>{1e8, 3e8, 4e8}));
  EXPECT_NE(read("page.html").find("notes.json"), std::string::npos);
}

TEST_F(Report, RefusesDeepJson) {
  std::ofstream(dir_ / "deep.json")
      << "{\"results\": " << std::string(300000, '[') << std::string(300000, ']') << "}";
  const auto result = run("deep.json -o page.html");
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.err.find("deep.json is no file of results: its JSON is nested more than 32"),
            std::string::npos)
      << result.err.substr(0, 300);
}

TEST_F(Report, ReadsAPipe) {
  write("a.json", bench({row("auto", 1024, 100)}));
  const std::string in = fmt::format("cd '{}' && cat a.json | '{}' report /dev/stdin -o page.html",
                                     dir_.string(), SORTIUM_CLI);
  EXPECT_EQ(std::system(in.c_str()), 0);
  EXPECT_EQ(figures("page.html").size(), 1u);
}

TEST_F(Report, RefusesFiguresOfNoUse) {
  for (const char* member : {"seconds", "median_seconds", "bound_mkeys_per_second"})
    for (const double value : {1e308, 1e-320, -1.0}) {
      write("a.json", bench({with(row("auto", 1024, 100), {{member, value}})}));
      const auto result = run("a.json -o page.html");
      EXPECT_EQ(result.code, 2) << member << " " << value;
      EXPECT_NE(result.err.find(fmt::format("a.json: results[0].{} is", member)), std::string::npos)
          << result.err;
      EXPECT_NE(result.err.find("a number from 1e-30 to 1e+30"), std::string::npos) << result.err;
    }
}

TEST_F(Report, RefusesWhatHasNoResults) {
  const json good = row("auto", 1024, 100);
  const auto broken = [&](const json& more) { return bench({good, with(good, more)}); };
  json nameless = good;
  nameless.erase("algorithm");
  json empty = good;
  empty.erase("seconds");
  write("cut.json", bench({good}).dump().substr(0, 200));
  write("other.json", json{{"a", 1}});
  write("list.json", json::array({1, 2}));
  write("none.json", bench({}));
  write("n.json", broken({{"n", -3}}));
  write("zero.json", broken({{"n", 0}}));
  write("seconds.json", broken({{"seconds", "fast"}}));
  write("nameless.json", bench({nameless}));
  write("empty.json", bench({empty}));
  write("phases.json", broken({{"phases", 3}}));
  write("barren/readme.txt", std::string("nothing"));
  write("others/x.json", json{{"a", 1}});
  write("page.html", std::string("the old page"));
  const std::pair<const char*, std::vector<const char*>> cases[] = {
      {"cut.json", {"cut.json is not JSON, or only a part of it"}},
      {"other.json", {"other.json has no results"}},
      {"list.json", {"list.json has no results"}},
      {"none.json", {"none.json has no results"}},
      {"n.json", {"n.json: results[1].n is -3: it must be a whole number"}},
      {"zero.json", {"zero.json: results[1] has no number of records"}},
      {"seconds.json", {"seconds.json: results[1].seconds is \"fast\": it must be 0, or a number"}},
      {"nameless.json", {"nameless.json: results[0] has no member 'algorithm'"}},
      {"empty.json", {"empty.json: results[0] has no time, 'seconds'"}},
      {"phases.json", {"phases.json: results[1].phases is 3: it must be a list"}},
      {"barren", {"the directory barren has no results"}},
      {"others", {"the directory others has no results"}},
      {"absent.json", {"absent.json", "no such file"}},
  };
  for (const auto& [input, messages] : cases) {
    const auto result = run(fmt::format("{} -o page.html --svg pictures", input));
    EXPECT_EQ(result.code, 2) << input;
    for (const char* message : messages)
      EXPECT_NE(result.err.find(message), std::string::npos) << result.err;
    EXPECT_EQ(read("page.html"), "the old page") << input;
    EXPECT_FALSE(fs::exists(dir_ / "pictures")) << input;
  }
}

TEST_F(Report, ReplacesNoResult) {
  write("a.json", bench({row("auto", 1024, 100)}));
  const std::string before = read("a.json");
  const auto result = run("a.json -o ./a.json");
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.err.find("would replace a.json"), std::string::npos) << result.err;
  EXPECT_EQ(read("a.json"), before);
  write("file", std::string("x"));
  const auto no_directory = run("a.json -o page.html --svg file");
  EXPECT_EQ(no_directory.code, 2);
  EXPECT_NE(no_directory.err.find("--svg file: cannot make the directory"), std::string::npos)
      << no_directory.err;
  EXPECT_FALSE(fs::exists(dir_ / "page.html"));
}

}  // namespace
