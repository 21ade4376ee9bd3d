// Every algorithm, with several sets of parameters, against std::stable_sort: one table for all (table.hpp says how it
// is designed, trial.hpp what a single case checks). An algorithm that is new in the registry is here at once, with
// its default parameters.
//
//   SORTIUM_TEST_FULL=1   many more shapes and sizes: for GPUs, where kernels are compiled once and cases are cheap
//   SORTIUM_TEST_SMALL=1  a few small cases, each operand in an allocation of its own: for Oclgrind and the like
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "algorithms/algorithm.hpp"
#include "support.hpp"
#include "table.hpp"
#include "trial.hpp"

namespace sortium::test {
namespace {

// What is tried with each algorithm besides its defaults. `wide`: with every key type and size of value.
struct Tried {
  std::string parameters;
  bool wide = false;
};
const std::map<std::string, std::vector<Tried>>& tried() {
  static const std::map<std::string, std::vector<Tried>> all{
      {"lsd", {{"", true}, {"variant=gpu,work_group=64,items=2", true}, {"variant=gpu,items=3"}}},
      {"radix",
       {{""},
        {"r=3,items=4,groups=5,transpose=on"},
        {"r=5,items=8,groups=3,transpose=on,permutation=on"},
        {"r=11,transpose=off"},
        {"splits=7"}}},
  };
  return all;
}

struct MethodUnderTest {
  AlgorithmInfo algorithm;
  Tried tried;
  unsigned turn;
};
void PrintTo(const MethodUnderTest& m, std::ostream* out) { *out << m.algorithm.name << ' ' << m.tried.parameters; }

std::vector<MethodUnderTest> methods() {
  std::vector<MethodUnderTest> out;
  for (const auto& a : algorithms()) {
    const auto known = tried().find(a.name);
    for (const auto& t : known == tried().end() ? std::vector<Tried>{{}} : known->second)
      out.push_back({a, t, static_cast<unsigned>(out.size())});
  }
  return out;
}

// Names of tests have letters and digits only.
std::string test_name(const MethodUnderTest& m) {
  std::string out = m.algorithm.name + (m.tried.parameters.empty() ? "" : "_" + m.tried.parameters);
  std::ranges::replace_if(out, [](unsigned char ch) { return !std::isalnum(ch); }, '_');
  return out;
}

// The numbers among the parameters in force: "work_group=64,items=2".
std::map<std::string, std::uint64_t> numbers(std::string_view parameters) {
  std::map<std::string, std::uint64_t> out;
  while (!parameters.empty()) {
    const auto item = parameters.substr(0, parameters.find(','));
    parameters.remove_prefix(std::min(parameters.size(), item.size() + 1));
    const auto equals = item.find('=');
    std::uint64_t value = 0;
    if (equals != std::string_view::npos &&
        std::from_chars(item.data() + equals + 1, item.data() + item.size(), value).ec == std::errc{})
      out.emplace(item.substr(0, equals), value);
  }
  return out;
}

// Tiles, and whatever else the method divides the records by: where one piece ends and the next begins.
std::vector<std::uint64_t> pieces(const Plan& plan) {
  auto n = numbers(plan.parameters());
  std::vector<std::uint64_t> out{n["work_group"] * n["items"], n["groups"] * n["items"], plan.run_length()};
  std::erase_if(out, [](auto piece) { return piece < 4 || piece > 70'000; });
  return out;
}

Sizes sizes_for(const Plan& plan, const MethodUnderTest& m) {
  Sizes s{{0, 1, 2, 3, 5, 64, 97, 255, 256, 257, 511, 1009, 1023, 1025, 2049, 4095, 4096}, {10007, (1u << 18) + 3}};
  if (is_set("SORTIUM_TEST_FULL")) {
    s.often.insert(s.often.end(), {4, 7, 8, 9, 31, 32, 33, 63, 65, 127, 129, 512, 2047, 8191, 10007});
    s.seldom = {16385, 65535, 65536, 65537, 100'003, (1u << 18) + 3, (1u << 20) - 1};
  }
  if (is_set("SORTIUM_TEST_SMALL")) s = {{1, 2, 97, 300}, {}};
  for (const auto piece : pieces(plan))
    for (const auto n : {piece - 1, piece, piece + 1})
      if (!is_set("SORTIUM_TEST_SMALL") || n <= 1100) (n < 5'000 ? s.often : s.seldom).push_back(n);
  for (auto* list : {&s.often, &s.seldom}) {
    std::ranges::sort(*list);
    const auto tail = std::ranges::unique(*list);
    list->erase(tail.begin(), tail.end());
    if (m.algorithm.quadratic) std::erase_if(*list, [](auto n) { return n > 4096; });
  }
  return s;
}

// The device says what it cannot do with parameters that were written down here for all devices.
bool is_unsupported(const Error& e, const MethodUnderTest& m) {
  return e.code() == ErrorCode::unsupported && !m.tried.parameters.empty();
}

class Conformance : public testing::TestWithParam<MethodUnderTest> {};

TEST_P(Conformance, SortsAsTheReferenceDoes) {
  const auto& m = GetParam();
  const Method method{m.algorithm.name, m.tried.parameters};
  Problem probe;
  probe.count = 1u << 18;
  Sizes sizes;
  try {
    sizes = sizes_for(Plan(test_device(), probe, method), m);
  } catch (const Error& e) {
    if (is_unsupported(e, m)) GTEST_SKIP() << e.what();
    throw;
  }

  const bool small = is_set("SORTIUM_TEST_SMALL");
  const Depth depth = small                           ? Depth::narrow
                      : is_set("SORTIUM_TEST_FULL") ? (m.tried.wide ? Depth::full : Depth::wide)
                                                    : (m.tried.wide ? Depth::wide : Depth::narrow);
  auto some = shapes(depth, m.turn, m.algorithm.comparison);
  if (small) some.resize(2);
  const auto table = make_table(some, sizes, m.turn);
  if (!small) {
    EXPECT_EQ(table.missing, 0u) << "of " << table.pairs << " pairs never occur";
  }

  Trial trial(test_device(), small ? Placement::exact : Placement::guarded);
  unsigned wrong = 0, unsupported = 0;
  for (const auto& c : table.cases) {
    std::string what;
    std::string in_force;
    try {
      const Plan plan(test_device(), c.problem, method);
      in_force = plan.parameters();
      what = trial.run(c, {plan.scratch_bytes(), plan.run_length(), plan.algorithm().stable,
                           [&](Queue& q, const Operands& o) { plan.run(q, o); }});
    } catch (const Error& e) {
      if (is_unsupported(e, m)) {
        ++unsupported;
        continue;
      }
      what = fmt::format("threw {}: {}\n{}", name(e.code()), e.what(), e.log());
    }
    if (what.empty()) continue;
    ADD_FAILURE() << m.algorithm.name << " '" << m.tried.parameters << "' (" << in_force << "), " << describe(c)
                  << ":\n  " << what;
    if (++wrong == 5) break;  // more of the same would say no more
  }
  EXPECT_LT(unsupported, table.cases.size());
  fmt::print("{} cases, {} pairs of factors, {} cases beyond this device\n", table.cases.size(), table.pairs, unsupported);
}

INSTANTIATE_TEST_SUITE_P(Table, Conformance, testing::ValuesIn(methods()),
                         [](const auto& instance) { return test_name(instance.param); });

// Sub-groups of sizes that the device does not have, spoken through local memory. 64 lanes: a sub-group of the
// dialect is then half of one.
class EmulatedSubGroups : public testing::TestWithParam<unsigned> {};

TEST_P(EmulatedSubGroups, RankAsHardwareDoes) {
  Capabilities caps = capabilities(*test_device());
  if (caps.backend == Backend::cuda) GTEST_SKIP() << "CUDA always has the sub-group words: nothing is emulated";
  caps.sub_group_words = SubGroupWords::emulated;
  caps.sub_group_size = GetParam();
  const auto& lsd = find_algorithm("lsd");
  const Parameters parameters("variant=gpu,work_group=64,items=2", lsd.info());
  Trial trial(test_device(), is_set("SORTIUM_TEST_SMALL") ? Placement::exact : Placement::guarded);
  for (const std::uint64_t count : {1, 63, 64, 65, 127, 129, 1009})
    for (const auto d : {Distribution::random, Distribution::few_distinct, Distribution::special}) {
      Case c{{.key = KeyType::f32, .count = count, .payload = Payload::values}, false, d, count};
      const auto sorter = lsd.plan(c.problem, caps, parameters);
      sorter->build(*test_device(), caps);
      const auto what = trial.run(c, {sorter->scratch_bytes(), sorter->run(), true,
                                      [&](Queue& q, const Operands& o) { sorter->enqueue(q, o); }});
      ASSERT_EQ(what, "") << GetParam() << " lanes, " << describe(c);
    }
}

INSTANTIATE_TEST_SUITE_P(Lanes, EmulatedSubGroups, testing::Values(8, 16, 32, 64),
                         [](const auto& instance) { return std::to_string(instance.param); });

}  // namespace
}  // namespace sortium::test
