// Tuned parameters: the file, the choice of an entry, the search, and that a Plan uses the entry.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "algorithms/algorithm.hpp"
#include "bench/search.hpp"
#include "cli/common.hpp"
#include "expect_error.hpp"
#include "support.hpp"
#include "tuning/tuning.hpp"

namespace sortium::test {
namespace {

using tuning::Entry;

constexpr const char* two = R"({"tuned": [
{"device": "A chip", "backend": "opencl", "algorithm": "lsd", "key_bytes": 4,
 "value_bytes": 0, "log2_count": 20, "parameters": "groups=8", "gain": 1.25},
{"device": "A*", "backend": "opencl", "algorithm": "lsd", "key_bytes": 4,
 "value_bytes": 4, "log2_count": 24, "parameters": "groups=16"}
]})";

Capabilities device(std::string model, Backend backend = Backend::opencl) {
  Capabilities c;
  c.backend = backend;
  c.kind = DeviceKind::cpu;
  c.model = std::move(model);
  return c;
}

TEST(TuningFile, IsReadAndPrintedAlike) {
  const auto entries = tuning::parse(two, "here");
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].device, "A chip");
  EXPECT_EQ(entries[0].parameters, "groups=8");
  EXPECT_DOUBLE_EQ(entries[0].gain, 1.25);
  EXPECT_EQ(entries[1].value_bytes, 4u);
  EXPECT_EQ(tuning::print(tuning::parse(tuning::print(entries), "again")), tuning::print(entries));
  EXPECT_TRUE(tuning::parse(tuning::print({}), "nothing").empty());
}

TEST(TuningFile, WhatIsNoneIsRefused) {
  const auto refused = [](const char* text, const char* because) {
    expect_error([&] { (void)tuning::parse(text, "F"); }, ErrorCode::invalid_argument,
                 {"tuning file F", because});
  };
  refused("{", "parse");
  refused("[]", "tuned");
  refused("{}", "tuned");
  refused(R"({"tuned": [{"device": 3}]})", "entry 0");
  for (const char* number : {"85555555555555555555", "4294967296", "-1", "4.5", "\"4\""})
    refused(fmt::format(R"({{"tuned": [{{"device": "x", "key_bytes": {}}}]}})", number).c_str(),
            "entry 0 has key_bytes");
  refused(R"({"tuned": [{"device": "x", "colour": "red"}]})", "unknown member 'colour'");
  refused(
      R"({"tuned": [{"device": "x", "backend": "cuda", "algorithm": "lsd", "log2_count": 20}]})",
      "no member 'parameters'");
}

TEST(TuningFile, TheEntryThatFitsBest) {
  auto entries = tuning::parse(two, "here");
  const auto found = [&](const Problem& p, const Capabilities& c,
                         const char* algorithm = "lsd") -> std::string {
    const Entry* e = find_tuned(entries, algorithm, p, c);
    return e == nullptr ? "none" : e->parameters;
  };
  Problem p{.key = KeyType::f32, .count = std::uint64_t{1} << 20};
  EXPECT_EQ(found(p, device("A chip")), "groups=8");
  EXPECT_EQ(found(p, device("A chip", Backend::cuda)), "none");
  EXPECT_EQ(found(p, device("A chip"), "radix"), "none");
  EXPECT_EQ(found(p, device("A chi")), "none");
  for (const auto& [count, fits] : std::map<std::uint64_t, bool>{{0, false},
                                                                 {(1u << 19) - 1, false},
                                                                 {1u << 19, true},
                                                                 {(1u << 22) - 1, true},
                                                                 {1u << 22, false}}) {
    p.count = count;
    EXPECT_EQ(found(p, device("A chip")), fits ? "groups=8" : "none") << count;
  }
  p.key = KeyType::u64;
  p.count = 1u << 20;
  EXPECT_EQ(found(p, device("A chip")), "none");

  p = {.key = KeyType::u32, .count = 1u << 24, .payload = Payload::positions};
  EXPECT_EQ(found(p, device("Anything")), "groups=16");
  p.value_bytes = 8;
  EXPECT_EQ(found(p, device("Anything")), "none");
  p.value_bytes = 4;
  entries.push_back({"Any*", "opencl", "lsd", 4, 4, 25, "groups=32"});
  EXPECT_EQ(found(p, device("Anything")), "groups=32") << "the longer name wins";
  entries.push_back({"Any*", "opencl", "lsd", 4, 4, 24, "groups=64"});
  EXPECT_EQ(found(p, device("Anything")), "groups=64") << "the nearer count wins";
}

TEST(TuningFile, TheBuiltInTableIsRight) {
  // Every entry must name an existing algorithm and its parameters.
  std::stringstream text;
  text << std::ifstream(SORTIUM_SOURCE_DIR "/src/tuning/tuned.json").rdbuf();
  for (const auto& e : tuning::parse(text.str(), "tuned.json")) {
    const auto& info = find_algorithm(e.algorithm).info();
    EXPECT_NO_THROW(Parameters(e.parameters, info)) << e.parameters;
    EXPECT_GT(e.gain, 1) << e.parameters;
  }
}

AlgorithmInfo made_up() {
  AlgorithmInfo a;
  a.name = "made-up";
  a.parameters = {{"kind", "", 0, 0, {"slow", "fast"}},
                  {"items", "", 1, 64, {}},
                  {"other", "", 1, 100, {}},
                  {"bits", "", 1, 64, {}, true}};
  return a;
}

TEST(TuningSearch, FindsTheBestThatIsAllowed) {
  const auto info = made_up();
  std::vector<std::string> asked;
  const auto attempt = [&](const std::string& text) -> std::optional<app::Trial> {
    asked.push_back(text);
    const Parameters p(text, info);  // throws if the search leaves the limits
    const auto items = p.number("items", 4);
    const bool fast = p.word("kind", "slow") == "fast";
    if (items > 24) return std::nullopt;  // more than the device supports
    const double seconds =
        (fast ? 1 : 2) * (1 + std::abs(std::log2(static_cast<double>(items) / 20)));
    return app::Trial{seconds, "kind=" + std::string(fast ? "fast" : "slow") +
                                   ",items=" + std::to_string(items) + ",bits=32"};
  };
  const auto found = app::search_parameters(info, attempt, [] { return false; });
  const Parameters best(found.parameters, info);
  EXPECT_EQ(best.word("kind", ""), "fast");
  EXPECT_NEAR(static_cast<double>(best.number("items", 0)), 20, 1) << found.parameters;
  EXPECT_GT(found.tried, 5u);
  EXPECT_GT(found.refused, 0u);
  for (const auto& text : asked) {
    EXPECT_EQ(text.find("other"), std::string::npos) << "not in force: " << text;
    EXPECT_EQ(text.find("bits"), std::string::npos) << "changes the result: " << text;
  }
}

TEST(TuningSearch, LeavesWellAloneAndStopsInTime) {
  const auto info = made_up();
  unsigned calls = 0;
  const auto flat = [&](const std::string&) -> std::optional<app::Trial> {
    ++calls;
    return app::Trial{1, "items=8"};
  };
  EXPECT_EQ(app::search_parameters(info, flat, [] { return false; }).parameters, "");
  calls = 0;
  EXPECT_EQ(app::search_parameters(info, flat, [] { return true; }).parameters, "");
  EXPECT_EQ(calls, 1u);
  EXPECT_THROW(
      (void)app::search_parameters(
          info, [](const auto&) { return std::optional<app::Trial>(); }, [] { return false; }),
      app::Failure);
}

// The program and the library read the file when they start, so each case needs a process.
struct TunedSort : testing::Test {
  std::string directory = [] {
    char name[] = "/tmp/sortium-tune-XXXXXX";
    return std::string(::mkdtemp(name));
  }();
  ~TunedSort() override { std::filesystem::remove_all(directory); }

  struct Result {
    int code;
    std::string said;
  };
  Result run(const std::string& arguments) const {
    const std::string command = "cd " + directory + " && SORTIUM_TUNING=" + directory +
                                "/tuned.json " SORTIUM_CLI " " + arguments + " >said 2>&1";
    const int status = std::system(command.c_str());
    std::stringstream said;
    said << std::ifstream(directory + "/said").rdbuf();
    return {WEXITSTATUS(status), said.str()};
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(directory + "/" + name) << text;
  }
};

TEST_F(TunedSort, TakesWhatTheFileSays) {
  const auto& d = test_device()->info();
  if (on_host()) GTEST_SKIP() << "the parameters below are of lsd, which is made of kernels";
  std::ofstream(directory + "/keys.u32") << std::string(4 << 16, 'x');
  const std::string sort = "sort keys.u32 --type u32 -o out.u32 --algorithm radix --device " + d.id;
  write("tuned.json", tuning::print({}));
  const auto own = run(sort);
  EXPECT_EQ(own.code, 0) << own.said;
  EXPECT_EQ(own.said.find("r=3"), std::string::npos) << own.said;

  Entry e{d.name, std::string(name(d.claimed.backend)), "radix", 4, 0, 16, "r=3"};
  write("tuned.json", tuning::print({e}));
  const auto tuned = run(sort);
  EXPECT_EQ(tuned.code, 0) << tuned.said;
  EXPECT_NE(tuned.said.find("r=3"), std::string::npos) << tuned.said;
  EXPECT_EQ(run(sort + " --params r=4").said.find("r=3"), std::string::npos)
      << "what the caller says wins";

  for (const auto* not_this : {"items=4096,groups=65536,r=12", "b=8", "of_another_version=1"}) {
    e.parameters = not_this;
    write("tuned.json", tuning::print({e}));
    const auto passed_over = run(sort + " --verify");
    EXPECT_EQ(passed_over.code, 0) << not_this << ": " << passed_over.said;
    EXPECT_EQ(passed_over.said.find(not_this), std::string::npos) << passed_over.said;
    EXPECT_NE(passed_over.said.find("b=32"), std::string::npos) << passed_over.said;
  }
}

// Sorts do not need tuned parameters: a broken or missing file is ignored, with a warning that
// names it and what is wrong.
TEST_F(TunedSort, ABrokenFileIsIgnoredWithAWarning) {
  std::ofstream(directory + "/keys.u32") << std::string(4 << 10, 'x');
  const std::string sort =
      "sort keys.u32 --type u32 -o out.u32 --device " + test_device()->info().id;
  const auto ignored = [&](const std::string& because) {
    const auto sorted = run(sort);
    EXPECT_EQ(sorted.code, 0) << sorted.said;
    EXPECT_NE(sorted.said.find("warning"), std::string::npos) << sorted.said;
    EXPECT_NE(sorted.said.find("tuning file " + directory + "/tuned.json"), std::string::npos)
        << sorted.said;
    EXPECT_NE(sorted.said.find(because), std::string::npos) << sorted.said;
  };
  ignored("cannot be read");
  write("tuned.json", "{}");
  ignored("is not {\"tuned\"");
  write("tuned.json", "{\"tuned\": [");
  ignored("parse error");
  write("tuned.json", R"({"tuned": [{"device": 3}]})");
  ignored("entry 0");
  std::filesystem::resize_file(directory + "/tuned.json", std::uintmax_t{1} << 40);
  ignored("up to 16777216 are read");
  std::filesystem::remove(directory + "/tuned.json");
  ASSERT_EQ(::mkfifo((directory + "/tuned.json").c_str(), 0600), 0);
  ignored("is not a regular file");
  std::filesystem::remove(directory + "/tuned.json");
  write("tuned.json", tuning::print({}));
  EXPECT_EQ(run(sort).said.find("warning"), std::string::npos);
}

TEST_F(TunedSort, TheTunerWritesAndKeepsOthers) {
  Entry other{"Another", "cuda", "onesweep", 4, 0, 28, "items=9", 1.1};
  write("tuned.json", tuning::print({other}));
  const auto algorithm = on_host() ? "sample" : "radix";
  const std::string tune = std::string("tune --n 2^12 --payload keys --seconds 1.5 --device ") +
                           test_device()->info().id + " --algorithm " + algorithm;
  const auto printed = run(tune + " --export");
  EXPECT_EQ(printed.code, 0) << printed.said;
  EXPECT_NE(printed.said.find("{\"tuned\": ["), std::string::npos) << printed.said;
  const auto done = run(tune);
  EXPECT_EQ(done.code, 0) << done.said;
  std::stringstream text;
  text << std::ifstream(directory + "/tuned.json").rdbuf();
  const auto entries = tuning::parse(text.str(), "the result");
  ASSERT_GE(entries.size(), 1u);
  EXPECT_EQ(entries[0].device, "Another");
  for (const auto& e : entries) EXPECT_TRUE(e.algorithm == "onesweep" || e.algorithm == algorithm);

  EXPECT_EQ(run(tune + " --bits 0:9").code, 2) << "files are for whole keys";
  EXPECT_EQ(run(tune + " --bits 9:0 --export").code, 2);
  EXPECT_EQ(run(tune + " --bits 0:33 --export").code, 2);
  EXPECT_EQ(run(tune + " --bits 0:9 --export").code, 0);
  EXPECT_EQ(run("tune --algorithm std::sort").code, 2);
  EXPECT_EQ(run("tune --algorithm nonsense").code, 2);
  write("tuned.json", "nonsense");
  EXPECT_EQ(run(tune).code, 2);
  EXPECT_EQ(std::filesystem::file_size(directory + "/tuned.json"), 8u)
      << "a file that is not understood is left alone";
}

}  // namespace
}  // namespace sortium::test
