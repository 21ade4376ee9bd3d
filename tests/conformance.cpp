// Compares every algorithm, with several sets of parameters, with std::stable_sort. All use one
// table of cases: table.hpp describes its design, and trial.hpp what a single case checks. An
// algorithm that is new in the registry is tested without further work, with its default
// parameters. Each run draws new random inputs.
//
//   SORTIUM_TEST_SEED=n   the inputs of the run that printed n
//   SORTIUM_TEST_FULL=1   many more shapes and sizes: for GPUs, whose kernels compile fast
//   SORTIUM_TEST_SMALL=1  a few small cases, each operand in its own allocation: for Oclgrind
//   SORTIUM_TEST_CASES=n  at most n cases of each method
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <span>
#include <stdexcept>
#include <tuple>

#include "algorithms/algorithm.hpp"
#include "methods.hpp"
#include "support.hpp"
#include "switch_points.hpp"
#include "table.hpp"
#include "trial.hpp"

namespace sortium::test {
namespace {

// Returns the numeric parameters of a text like "work_group=64,items=2".
std::map<std::string, std::uint64_t> numbers(std::string_view parameters) {
  std::map<std::string, std::uint64_t> out;
  while (!parameters.empty()) {
    const auto item = parameters.substr(0, parameters.find(','));
    parameters.remove_prefix(std::min(parameters.size(), item.size() + 1));
    const auto equals = item.find('=');
    std::uint64_t value = 0;
    if (equals != std::string_view::npos &&
        std::from_chars(item.data() + equals + 1, item.data() + item.size(), value).ec ==
            std::errc{})
      out.emplace(item.substr(0, equals), value);
  }
  return out;
}

// Returns the lengths of the pieces (tiles, runs) that the method divides the records into.
std::vector<std::uint64_t> pieces(const Plan& plan) {
  auto n = numbers(plan.parameters());
  std::vector<std::uint64_t> out{n["work_group"] * n["items"], n["groups"] * n["items"],
                                 plan.run_length()};
  std::erase_if(out, [](auto piece) { return piece < 4 || piece > 70'000; });
  return out;
}

bool is_simulated() { return test_device()->info().platform == "Oclgrind"; }

// True if the device's compiler takes seconds for a kernel, as those of CPUs do.
bool builds_slowly() {
  return capabilities(*test_device()).sub_group_words == SubGroupWords::emulated;
}

// True if the method compiles different kernels for nearby sizes, or many kernels for each type.
bool has_many_kernels(const MethodUnderTest& m) {
  return !on_host() && (is_limited(m.algorithm) || (m.algorithm.segments && !m.parameters.empty()));
}

// Oclgrind compiles these kernels in seconds; a CPU's compiler would take a minute in every run.
constexpr auto left_to_oclgrind =
    "kernels for GPUs, of which there are many: Oclgrind's tests run them; SORTIUM_TEST_FULL=1 "
    "does it here";
bool is_left_to_oclgrind() {
  return builds_slowly() && !is_simulated() && !is_set("SORTIUM_TEST_FULL");
}

// True if the method is tested with only a few types and payloads, which differ from method to
// method. More would take too long: compilers for CPUs are slow, and NVIDIA's OpenCL builds one
// program at a time.
bool has_few_shapes(const MethodUnderTest& m) {
  return !m.parameters.empty() && !on_host() && !is_simulated() && !is_set("SORTIUM_TEST_FULL");
}

Depth depth_for(const MethodUnderTest& m) {
  const bool many_kernels = has_many_kernels(m);
  if (is_set("SORTIUM_TEST_SMALL") || (many_kernels && builds_slowly()) || has_few_shapes(m))
    return Depth::few;
  int depth = static_cast<int>(m.wide ? Depth::wide : Depth::narrow);
  depth += is_set("SORTIUM_TEST_FULL");
  depth -= builds_slowly() || (capabilities(*test_device()).backend == Backend::opencl &&
                               !is_set("SORTIUM_TEST_FULL"));
  return static_cast<Depth>(depth);
}

// Returns a problem of the kind that the method solves.
Problem problem_for(const AlgorithmInfo& algorithm, std::uint64_t count) {
  Problem p;
  p.count = count;
  p.limit = algorithm.limit ? 1 : 0;
  p.segments = algorithm.segments ? 1 : 0;
  p.end_bit = algorithm.max_key_bits;
  return p;
}

// Returns the counts at which the parameters change: the last count with one choice, and the first
// count with the next.
std::vector<std::uint64_t> switch_points(const MethodUnderTest& m) {
  const auto& algorithm = find_algorithm(m.algorithm.name);
  const auto& device = capabilities(*test_device());
  const auto parameters = [&](std::uint64_t count) -> std::string {
    try {
      return plan_algorithm(algorithm, problem_for(m.algorithm, count), device, m.parameters)
          .sorter->parameters();
    } catch (const Error& e) {
      if (e.code() != ErrorCode::unsupported) throw;
      return "";
    }
  };
  std::vector<std::uint64_t> out;
  for (const auto& [first, choice] :
       runs_of(parameters, is_set("SORTIUM_TEST_FULL") ? 1 << 20 : 1 << 16))
    if (first > 1) out.insert(out.end(), {first - 1, first});
  return out;
}

Sizes sizes_for(const Plan& plan, const MethodUnderTest& m) {
  Sizes s{{0, 1, 2, 3, 5, 64, 97, 255, 256, 257, 511, 1009, 1023, 1025, 2049, 4095, 4096},
          {10007, (1u << 18) + 3}};
  if (is_set("SORTIUM_TEST_FULL")) {
    s.often.insert(s.often.end(),
                   {4, 7, 8, 9, 31, 32, 33, 63, 65, 127, 129, 512, 2047, 8191, 10007});
    s.seldom = {16385, 65535, 65536, 65537, 100'003, (1u << 18) + 3, (1u << 20) - 1};
  }
  // Skewed keys overfill a work-group's part only if there are many keys.
  if (m.algorithm.needs_clusters) s.seldom.insert(s.seldom.end(), {20'011, 70'001, 130'003});
  // Counts at which segmented uses two launches instead of one, or another variant.
  if (m.algorithm.segments) s.seldom.insert(s.seldom.end(), {1024, 1025, 1u << 17, (1u << 17) + 1});
  if (is_set("SORTIUM_TEST_SMALL")) s = {{1, 2, 97, 300}, {}};
  if (is_set("SORTIUM_TEST_SMALL") && m.algorithm.segments)
    s.often.push_back(1300);  // longer than a class of segments
  for (const auto n : switch_points(m))
    if (!is_set("SORTIUM_TEST_SMALL") || n <= 1100) s.seldom.push_back(n);
  for (const auto piece : pieces(plan))
    for (const auto n : {piece - 1, piece, piece + 1})
      if (!is_set("SORTIUM_TEST_SMALL") || n <= 1100) (n < 5'000 ? s.often : s.seldom).push_back(n);
  for (auto* list : {&s.often, &s.seldom}) {
    std::ranges::sort(*list);
    const auto tail = std::ranges::unique(*list);
    list->erase(tail.begin(), tail.end());
    if (m.algorithm.quadratic) std::erase_if(*list, [](auto n) { return n > 4096; });
    // These methods compile different kernels for nearby sizes. Oclgrind tests more sizes.
    if (is_limited(m.algorithm) && builds_slowly() && !on_host())
      std::erase_if(*list, [](auto n) { return n > 300 || (n > 97 && n < 257); });
  }
  return s;
}

// Keeps at most SORTIUM_TEST_CASES cases: divides the list into that many parts and keeps the last
// case of each, because sizes grow from case to case.
void thin_out(std::vector<Case>& cases) {
  const char* text = std::getenv("SORTIUM_TEST_CASES");
  const std::size_t most = text == nullptr ? 0 : std::strtoul(text, nullptr, 10),
                    all = cases.size();
  if (most == 0 || most >= all) return;
  for (std::size_t i = 0; i < most; ++i) cases[i] = cases[(i + 1) * all / most - 1];
  cases.resize(most);
}

// With SORTIUM_TEST_PART=i/n, keeps the i-th of n parts of a table, so that n processes can share
// the work. Cases with the same key type, value size and order use the same kernels and are in the
// same part. `first` differs from method to method, so that the parts have similar sizes.
bool take_part(std::vector<Case>& cases, unsigned first) {
  const char* text = std::getenv("SORTIUM_TEST_PART");
  if (text == nullptr) return false;
  unsigned part = 0, parts = 0;
  if (std::sscanf(text, "%u/%u", &part, &parts) != 2 || part >= parts)
    throw std::runtime_error(fmt::format("SORTIUM_TEST_PART={}: not i/n, with i below n", text));
  std::map<std::tuple<KeyType, unsigned, Order>, std::size_t> turns;
  std::erase_if(cases, [&](const Case& c) {
    const unsigned value_bytes = c.problem.payload == Payload::none ? 0 : c.problem.value_bytes;
    const auto turn = turns.try_emplace({c.problem.key, value_bytes, c.problem.order}, turns.size())
                          .first->second;
    return (first + turn) % parts != part;
  });
  return true;
}

// Makes all cases out of place and gives each a limit: 1, 2, half of the records, about all
// records, or the length of a piece.
void set_limits(std::vector<Case>& cases, const Sizes& sizes) {
  std::erase_if(cases, [](const auto& c) { return c.problem.count == 0; });
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::uint64_t n = cases[i].problem.count;
    const std::uint64_t limits[] = {1, 2, n / 2, n - 1, n, sizes.often[i / 6 % sizes.often.size()]};
    cases[i].in_place = false;
    cases[i].problem.limit = std::clamp<std::uint64_t>(limits[(i + i / 6) % 6], 1, n);
    if (cases[i].problem.segments != 0)
      cases[i].problem.limit = std::min<std::uint64_t>(n, i % 2 == 0 ? 3 : 50);
  }
}

// Divides the records of every case into segments. Each kind of segment lengths occurs with every
// value of the other factors.
void cut(std::vector<Case>& cases) {
  // The lengths at which another method sorts a segment: lanes of a sub-group, capacities of
  // work-groups, limits for one thread.
  const std::vector<std::uint64_t> small{1, 2, 8, 16, 32, 64}, middle{32, 128, 256, 608},
      large{608, 1024, 1216, 2432, 4864, 9728, 1u << 15};
  unsigned turn = 0;
  for (auto& c : cases) {
    const auto lengths = all_lengths[turn % all_lengths.size()];
    const auto& typical = c.problem.count <= 600      ? small
                          : c.problem.count <= 10'000 ? (turn % 5 == 0 ? small : middle)
                                                      : large;
    set_segments(c, lengths, typical, turn / 3 % 2 == 0 ? 4 : 8);
    ++turn;
  }
}

// True if the device is allowed to refuse the method: its algorithm needs special hardware or a
// limited count, or its parameters may be too large for this device.
bool is_unsupported(const Error& e, const MethodUnderTest& m) {
  return e.code() == ErrorCode::unsupported && (!m.parameters.empty() || is_limited(m.algorithm));
}

// Sorts by a stable method. Returns a description of the first error in the result, or nothing.
std::string run_stable(Trial& trial, const Case& c, const Method& method) {
  const Plan plan(test_device(), c.problem, method);
  return trial.run(c, {plan.scratch_bytes(), plan.run_length(), true,
                       [&](Queue& q, const Operands& o) { plan.run(q, o); }});
}

// Runs some cases with one stable method. Skips the test if the device supports none of them.
void expect_stable(std::vector<Case> cases, const Method& method) {
  if (on_host()) GTEST_SKIP() << "kernels run on devices";
  Trial trial(test_device(), Placement::guarded);
  thin_out(cases);
  std::size_t unsupported = 0;
  std::string why;
  for (const auto& c : cases) {
    try {
      EXPECT_EQ(run_stable(trial, c, method), "") << describe(c) << ", " << method.parameters;
    } catch (const Error& e) {
      if (e.code() != ErrorCode::unsupported) throw;
      ++unsupported;
      why = e.what();
    }
  }
  if (unsupported == cases.size()) GTEST_SKIP() << why;
}

// Gives three of four shapes a narrow key. The others show that bit ranges of wide keys are sorted.
void use_narrow_keys(std::vector<Shape>& shapes) {
  constexpr KeyType narrow[] = {KeyType::u8,  KeyType::i8,  KeyType::u16,
                                KeyType::i16, KeyType::f16, KeyType::bf16};
  for (std::size_t i = 0; i < shapes.size(); ++i)
    if (i % 4 != 3) shapes[i].key = narrow[(i - i / 4) % std::size(narrow)];
}

class Conformance : public testing::TestWithParam<MethodUnderTest> {};

TEST_P(Conformance, SortsAsTheReferenceDoes) {
  const auto& m = GetParam();
  if (m.heavy && is_simulated())
    GTEST_SKIP() << "minutes a case in a simulator: tens of thousands of work-items";
  if (m.algorithm.needs_clusters && is_simulated())
    GTEST_SKIP() << "OpenCL's work-groups cannot reach each other's local memory";
  if (m.algorithm.host != on_host())
    GTEST_SKIP() << "kernels run on devices, and cpu:0's algorithm on cpu:0";
  if (has_many_kernels(m) && !m.parameters.empty() && is_left_to_oclgrind())
    GTEST_SKIP() << left_to_oclgrind;
  const Method method{m.algorithm.name, m.parameters};
  const std::uint64_t typical = m.algorithm.max_count != 0 ? 1000
                                : m.algorithm.segments     ? 1u << 17  // small ones have a variant
                                                           : 1u << 18;
  Sizes sizes;
  try {
    sizes = sizes_for(Plan(test_device(), problem_for(m.algorithm, typical), method), m);
  } catch (const Error& e) {
    if (is_unsupported(e, m) && !is_simulated()) GTEST_SKIP() << e.what();
    throw;
  }

  const bool small = is_set("SORTIUM_TEST_SMALL");
  const Depth depth = depth_for(m);
  auto some = shapes(depth, m.turn, m.algorithm.comparison || m.algorithm.segments);
  if (m.algorithm.max_key_bits != 0) use_narrow_keys(some);
  if (has_few_shapes(m) && capabilities(*test_device()).backend == Backend::opencl)
    some.resize(std::min<std::size_t>(some.size(), 2));
  auto table = make_table(some, sizes, m.turn);
  if (depth != Depth::few) {
    EXPECT_EQ(table.missing, 0u) << "of " << table.pairs << " pairs never occur";
  }
  if (m.algorithm.segments) cut(table.cases);
  if (m.algorithm.limit) set_limits(table.cases, sizes);
  // Compilers for CPUs take many seconds for the GPU kernels of segmented, so test one shape.
  // Oclgrind and GPUs test more.
  if (m.algorithm.segments && !m.parameters.empty() && builds_slowly() && !is_simulated() &&
      !on_host())
    std::erase_if(table.cases, [first = table.cases.front().problem](const auto& c) {
      return c.problem.key != first.key || c.problem.payload != first.payload ||
             c.problem.begin_bit != first.begin_bit;
    });
  thin_out(table.cases);
  const bool is_part = take_part(table.cases, m.turn);

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
    ADD_FAILURE() << m.algorithm.name << " '" << m.parameters << "' (" << in_force << "), "
                  << describe(c) << ":\n  " << what;
    if (++wrong == 5) break;  // enough to see what is wrong
  }
  if (!is_set("SORTIUM_TEST_CASES") && !is_part) {  // the device may refuse all of so few cases
    EXPECT_LT(unsupported, table.cases.size());
  }
  fmt::print("{} cases, {} pairs of factors, {} cases beyond this device\n", table.cases.size(),
             table.pairs, unsupported);
}

// Segments that are partitioned several times, and segments whose keys are all equal. Uses the
// variant for GPUs on every device, with only the smallest local sort, so that segments of few
// records already are long segments. Tests one segment with all records, and segments of mixed
// lengths.
TEST(LongSegments, ArePartedUntilTheyAreShort) {
  if (on_host()) GTEST_SKIP() << "kernels run on devices";
  if (is_left_to_oclgrind()) GTEST_SKIP() << left_to_oclgrind;
  std::vector<Problem> problems{{.key = KeyType::u32, .payload = Payload::values}};
  if (is_set("SORTIUM_TEST_FULL") || !builds_slowly()) {
    problems.push_back({.key = KeyType::f32,
                        .payload = Payload::positions,
                        .keys_out = false,
                        .order = Order::descending});
    problems.push_back({.key = KeyType::u64,
                        .payload = Payload::values,
                        .value_bytes = 8,
                        .begin_bit = 3,
                        .end_bit = 61});
    problems.push_back({.key = KeyType::i16});
  }
  const bool small = is_set("SORTIUM_TEST_SMALL");
  Trial trial(test_device(), small ? Placement::exact : Placement::guarded);
  for (auto problem : problems) {
    std::vector<Case> cases;
    for (const auto d : all_distributions)
      for (const auto lengths : {Lengths::one, Lengths::log_uniform}) {
        problem.count = small ? 1500 : lengths == Lengths::one ? 100'003 : 50'021;
        const bool in_place =
            problem.keys_out && cases.size() / 2 % 2 == (lengths == Lengths::one ? 0u : 1u);
        Case c{problem, in_place, d, problem.count + cases.size()};
        set_segments(c, lengths, {608}, 4);
        cases.push_back(c);
      }
    thin_out(cases);
    for (const auto& c : cases) try {
        EXPECT_EQ(run_stable(trial, c, {"segmented", "variant=gpu,blocks=1,groups=7"}), "")
            << describe(c);
      } catch (const Error& e) {
        if (e.code() != ErrorCode::unsupported) throw;
        GTEST_SKIP() << e.what();  // too little local memory
      }
  }
}

// Segments just below the length from which digits have fewer bits: the most buckets.
TEST(LongSegments, HaveAsManyBucketsAsThereMayBe) {
  if (on_host()) GTEST_SKIP() << "kernels run on devices";
  if (is_left_to_oclgrind() || is_set("SORTIUM_TEST_SMALL")) GTEST_SKIP() << left_to_oclgrind;
  Trial trial(test_device(), Placement::guarded);
  for (const auto key : {KeyType::u32, KeyType::f32})
    for (const auto d : all_distributions) {
      const Problem problem{.key = key, .count = 480'003};
      Case c{problem, false, d, problem.count + static_cast<unsigned>(d)};
      set_segments(c, Lengths::one, {608}, 4);
      EXPECT_EQ(run_stable(trial, c, {"segmented", "variant=gpu"}), "") << describe(c);
    }
}

// Neighbouring short segments are sorted at once, by some bits of their keys or, if they are floats
// without values, by all bits: keys that differ in their lowest bits, and floats that tie or not.
TEST(ShortSegments, AreSortedAtOnce) {
  if (is_left_to_oclgrind()) GTEST_SKIP() << left_to_oclgrind;
  const bool small = is_set("SORTIUM_TEST_SMALL");
  std::vector<Case> cases;
  for (const std::uint64_t length : {8, 31, 64, 128}) {
    if (small && length < 64) continue;
    const auto add = [&](Problem problem, Distribution d) {
      problem.count = small ? 1'003 : 50'021;
      Case c{problem, cases.size() % 2 == 0, d, length};
      set_segments(c, Lengths::borders, {length - 1}, 4);
      cases.push_back(std::move(c));
    };
    add({.key = KeyType::f32}, Distribution::numbers);
    if (small && length > 64) continue;  // only these are sorted by four lanes
    add({.key = KeyType::u64, .payload = Payload::values, .value_bytes = 8},
        Distribution::clusters);
    add({.key = KeyType::i64, .order = Order::descending}, Distribution::clusters);
    add({.key = KeyType::f32}, Distribution::special);
    add({.key = KeyType::f32, .payload = Payload::values}, Distribution::numbers);
  }
  expect_stable(std::move(cases), {"segmented", "variant=gpu"});
}

// Rows: segments of equal lengths without offsets. Short ones are sorted in the registers of one to
// four lanes, others by work-groups of suitable sizes, in one launch, all or the first records of
// each.
struct RowCases {
  std::vector<Case> sorts, firsts;
};
RowCases row_cases(std::span<const std::uint64_t> lengths) {
  const bool small = is_set("SORTIUM_TEST_SMALL");
  RowCases cases;
  std::uint64_t turn = 0;
  for (const std::uint64_t length : lengths) {
    const auto add = [&](Problem problem, Distribution d) {
      ++turn;
      if (small && (turn + length) % 4 != 0) return;
      problem.count = small ? std::max<std::uint64_t>(1'307, length) : 60'013;
      Case c{problem, turn % 2 == 0, d, length + turn};
      set_segments(c, Lengths::rows, {length}, 0);
      cases.sorts.push_back(c);
      if (turn % 3 != 0) return;
      c.in_place = false;
      c.problem.limit = 1 + turn % length;
      cases.firsts.push_back(std::move(c));
    };
    add({.key = KeyType::f32}, Distribution::numbers);
    add({.key = KeyType::f32}, Distribution::special);
    add({.key = KeyType::u32, .payload = Payload::values}, Distribution::clusters);
    add({.key = KeyType::i64, .order = Order::descending}, Distribution::clusters);
    add({.key = KeyType::f32, .payload = Payload::values, .nan = NanOrder::first},
        Distribution::special);
    add({.key = KeyType::f32,
         .payload = Payload::positions,
         .value_bytes = 8,
         .keys_out = false,
         .order = Order::descending},
        Distribution::classes);
    add({.key = KeyType::f64, .payload = Payload::values, .value_bytes = 8}, Distribution::special);
    add({.key = KeyType::u64, .payload = Payload::values}, Distribution::numbers);
    add({.key = KeyType::u16, .order = Order::descending}, Distribution::random);
    add({.key = KeyType::f16, .payload = Payload::values}, Distribution::classes);
    add({.key = KeyType::u32, .begin_bit = 3, .end_bit = 19}, Distribution::random);
    add({.key = KeyType::f32, .nan = NanOrder::bits, .zeros = ZeroOrder::distinct},
        Distribution::classes);
  }
  return cases;
}
std::span<const std::uint64_t> short_rows() {
  static constexpr std::array<std::uint64_t, 23> all{
      1, 2, 3, 4, 5, 7, 8, 9, 10, 16, 17, 31, 33, 63, 64, 65, 79, 97, 100, 128, 129, 200, 256};
  static constexpr std::array<std::uint64_t, 8> some{200, 128, 100, 64, 33, 10, 3, 2};
  if (is_set("SORTIUM_TEST_SMALL")) return some;
  return all;
}
std::span<const std::uint64_t> long_rows() {
  static constexpr std::array<std::uint64_t, 14> all{257, 288,  289,  544,  545,  609,  704,
                                                     705, 1088, 1217, 2177, 4096, 9729, 19456};
  static constexpr std::array<std::uint64_t, 3> some{300, 540, 605};
  if (is_set("SORTIUM_TEST_SMALL")) return some;
  return all;
}

TEST(Rows, ShortOnes) {
  if (is_left_to_oclgrind()) GTEST_SKIP() << left_to_oclgrind;
  expect_stable(row_cases(short_rows()).sorts, {"segmented", "variant=rows"});
}
TEST(Rows, LongOnes) {
  if (is_left_to_oclgrind()) GTEST_SKIP() << left_to_oclgrind;
  expect_stable(row_cases(long_rows()).sorts, {"segmented", "variant=rows"});
}
TEST(Rows, FirstRecordsOfShortOnes) {
  if (is_left_to_oclgrind()) GTEST_SKIP() << left_to_oclgrind;
  expect_stable(row_cases(short_rows()).firsts, {"topk-segmented"});
}
TEST(Rows, FirstRecordsOfLongOnes) {
  if (is_left_to_oclgrind()) GTEST_SKIP() << left_to_oclgrind;
  expect_stable(row_cases(long_rows()).firsts, {"topk-segmented"});
}
// Rows that no work-group can sort: the first records of their pieces are sorted again.
TEST(Rows, FirstRecordsOfPieces) {
  if (is_left_to_oclgrind()) GTEST_SKIP() << left_to_oclgrind;
  std::vector<Case> cases;
  std::vector<std::uint64_t> lengths{50'257, 65'536, 19'457, 20'000};
  if (is_set("SORTIUM_TEST_SMALL")) lengths = {20'000};
  for (const std::uint64_t length : lengths)
    for (const std::uint64_t limit : {1, 31, 700}) {
      const auto add = [&](Problem problem, Distribution d) {
        problem.count = length == 20'000 ? length : 3 * length;
        Case c{problem, false, d, length + limit};
        set_segments(c, Lengths::rows, {length}, 0);
        c.problem.limit = limit;
        cases.push_back(std::move(c));
      };
      add({.key = KeyType::u32, .payload = Payload::values}, Distribution::few_distinct);
      add({.key = KeyType::f32}, Distribution::special);
      add({.key = KeyType::f32,
           .payload = Payload::positions,
           .value_bytes = 8,
           .keys_out = false,
           .order = Order::descending},
          Distribution::numbers);
    }
  expect_stable(std::move(cases), {"topk-segmented"});
}

// Only the bins of the first records are sorted; but if a bin is crowded, all records tell whether
// bins have sorted the row: here with a few neighbouring keys, in many rows.
TEST(Rows, FirstRecordsOfCrowdedOnes) {
  if (is_left_to_oclgrind()) GTEST_SKIP() << left_to_oclgrind;
  std::vector<Case> cases;
  for (const std::uint64_t limit : {60, 90, 120, 150}) {
    Case c{{.key = KeyType::f32,
            .count = is_set("SORTIUM_TEST_SMALL") ? 9'000u : 30'000u,
            .nan = NanOrder::bits,
            .zeros = ZeroOrder::distinct},
           false,
           Distribution::classes,
           limit};
    set_segments(c, Lengths::rows, {300}, 0);
    c.problem.limit = limit;
    cases.push_back(std::move(c));
  }
  expect_stable(std::move(cases), {"topk-segmented"});
}

// Segments that a work-group sorts by bins, by cells or by radix passes: keys that crowd the bins,
// and floats without values, of which those that tie get their own bits again.
TEST(MiddleSegments, AreSortedByBins) {
  if (is_left_to_oclgrind()) GTEST_SKIP() << left_to_oclgrind;
  const bool small = is_set("SORTIUM_TEST_SMALL");
  std::vector<Case> cases;
  for (const std::uint64_t length : {200, 607, 2'001, 4'864}) {
    if (small && length != 607) continue;
    const auto add = [&](Problem problem, Distribution d) {
      problem.count = small ? 2'503 : 60'013;
      Case c{problem, cases.size() % 2 == 0, d, length + cases.size()};
      set_segments(c, Lengths::borders, {length}, 4);
      cases.push_back(std::move(c));
    };
    for (const auto d : {Distribution::numbers, Distribution::classes, Distribution::special,
                         Distribution::clusters, Distribution::few_distinct}) {
      add({.key = KeyType::f32}, d);
      add({.key = KeyType::f64, .order = Order::descending, .nan = NanOrder::first}, d);
      add({.key = KeyType::f32, .payload = Payload::values}, d);
    }
    add({.key = KeyType::f32, .nan = NanOrder::bits, .zeros = ZeroOrder::distinct},
        Distribution::classes);
    add({.key = KeyType::f16}, Distribution::classes);
    add({.key = KeyType::u32}, Distribution::clusters);
    add({.key = KeyType::i64}, Distribution::clusters);
    add({.key = KeyType::u64, .payload = Payload::values}, Distribution::clusters);
  }
  expect_stable(std::move(cases), {"segmented", "variant=gpu"});
}

// On short lists, msd counts the digits of each tile separately. The lists here have more tiles
// than the device has compute units.
TEST(CountedTiles, AreAddedUp) {
  const bool small = is_set("SORTIUM_TEST_SMALL");
  std::vector<Case> cases;
  for (const auto d : {Distribution::random, Distribution::few_distinct, Distribution::sorted})
    for (const std::uint64_t count : {small ? 3'001 : 1'300'007, small ? 12'007 : (1 << 21) - 5}) {
      cases.push_back({{.key = KeyType::u64, .count = count}, true, d, count});
      cases.push_back({{.key = KeyType::i32,
                        .count = count,
                        .payload = Payload::values,
                        .value_bytes = 8,
                        .order = Order::descending},
                       false,
                       d,
                       count});
    }
  expect_stable(std::move(cases), {"msd", "bits=8"});
}

// msd samples the keys of long lists to estimate whether keys repeat and whether there are few
// distinct digits. A parameter makes it sample these short lists.
TEST(SampledKeys, TellTheWay) {
  const bool small = is_set("SORTIUM_TEST_SMALL");
  const std::uint64_t count = small ? 5'003 : 1'300'007;
  std::vector<Case> cases;
  for (const auto d : {Distribution::few_distinct, Distribution::random, Distribution::zipf,
                       Distribution::sorted}) {
    if (small && cases.size() == 4) break;
    cases.push_back(
        {{.key = KeyType::u32, .count = count, .payload = Payload::values}, true, d, count});
    cases.push_back({{.key = KeyType::u64, .count = count}, false, d, count});
  }
  expect_stable(std::move(cases), {"msd", "bits=9,sample=1"});
}

// If the leading bits of keys crowd few buckets, msd builds a map from samples of the keys. A
// parameter makes it do so for these short lists. Some are smooth. Some have outliers, equal keys
// that fill a bucket, and a cluster that overfills other buckets, which msd then sorts separately.
// On some the map fails, and msd falls back.
TEST(SampledKeys, AreMapped) {
  const bool small = is_set("SORTIUM_TEST_SMALL");
  const std::uint64_t count = small ? 9'001 : 1'300'007;
  std::vector<Case> cases;
  for (const auto payload : {Payload::none, Payload::values, Payload::positions})
    for (const auto key : {KeyType::u64, KeyType::i64, KeyType::f64})
      for (const auto d : {Distribution::clusters, Distribution::numbers, Distribution::leads,
                           Distribution::few_distinct, Distribution::zipf, Distribution::sorted,
                           Distribution::peaks}) {
        const auto turn = cases.size();
        // Few lists: clusters, and another for each payload and type.
        if (small && turn % 7 != 0 && turn % 7 != turn / 7 % 7) {
          cases.emplace_back();
          continue;
        }
        Problem p{.key = key, .count = count, .payload = payload};
        p.order = turn % 3 == 0 ? Order::descending : Order::ascending;
        if (payload == Payload::values) p.value_bytes = turn % 2 == 0 ? 4 : 8;
        cases.push_back({p, turn % 4 < 2, d, small ? 2 * turn : turn});
      }
  std::erase_if(cases, [](const Case& c) { return c.problem.count == 0; });
  expect_stable(std::move(cases), {"msd", "bits=9,sample=1"});
}

// Integers in a range that leaves most buckets empty are stretched. With 9 bits, stretched keys
// have more buckets than others.
TEST(SampledKeys, AreStretched) {
  const bool small = is_set("SORTIUM_TEST_SMALL");
  const std::uint64_t count = small ? 9'001 : 1'300'007;
  for (const auto* parameters : {"bits=9,sample=1", "bits=8,sample=1"}) {
    std::vector<Case> cases;
    for (const auto payload : {Payload::none, Payload::values, Payload::positions})
      for (const auto key : {KeyType::u32, KeyType::i32, KeyType::u64, KeyType::i64})
        for (std::uint64_t i = 0; i < (small ? 1 : 5); ++i) {
          const auto turn = cases.size();
          Problem p{.key = key, .count = count, .payload = payload};
          p.order = turn % 3 == 0 ? Order::descending : Order::ascending;
          if (payload == Payload::values) p.value_bytes = turn % 2 == 0 ? 4 : 8;
          cases.push_back({p, turn % 4 < 2, Distribution::range, turn});
        }
    if (small) cases.resize(2);
    expect_stable(std::move(cases), {"msd", parameters});
  }
}

// Lists with more records than a count in onesweep's look-back table can hold; the parameter
// count_bits makes these counts small.
TEST(LongCounts, AreTold) {
  const bool small = is_set("SORTIUM_TEST_SMALL");
  std::vector<Case> cases;
  for (const auto d : {Distribution::random, Distribution::constant, Distribution::few_distinct,
                       Distribution::sorted})
    for (const std::uint64_t count : {small ? 2'101 : 1'300'007, small ? 2'561 : 100'003}) {
      if (small && cases.size() == 6) break;
      cases.push_back(
          {{.key = KeyType::u32, .count = count, .payload = Payload::values}, true, d, count});
      cases.push_back({{.key = KeyType::f64, .count = count}, false, d, count});
    }
  expect_stable(std::move(cases), {"onesweep", "items=1,work_group=256,count_bits=11"});
}

// onesweep skips passes over digits that are equal in all keys. Tests even and odd numbers of
// skipped passes.
TEST(SkippedPasses, OfAnyNumber) {
  std::vector<Case> cases;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const auto payload = seed % 2 == 0 ? Payload::none : Payload::values;
    cases.push_back({{.key = KeyType::u32, .count = 2'101, .payload = payload},
                     seed % 3 == 0,
                     Distribution::digits,
                     seed});
  }
  expect_stable(std::move(cases), {"onesweep", "items=1,work_group=256"});
}

// Lists that leave some rows of the work-group partly empty. The table has only a few such sizes.
TEST(OneGroup, RowsInPart) {
  if (on_host()) GTEST_SKIP() << "kernels run on devices";
  if (is_left_to_oclgrind()) GTEST_SKIP() << left_to_oclgrind;
  Trial trial(test_device(), Placement::guarded);
  std::vector<Case> cases;
  for (const auto key : {KeyType::u16, KeyType::u32})
    for (const auto distribution : {Distribution::random, Distribution::few_distinct})
      for (const std::uint64_t count : {257, 600, 2'500})
        cases.push_back({{.key = key,
                          .count = count,
                          .payload = key == KeyType::u16 ? Payload::none : Payload::values},
                         true,
                         distribution,
                         count});
  thin_out(cases);
  for (const auto& c : cases) {
    EXPECT_EQ(run_stable(trial, c, {"one-group", ""}), "") << describe(c);
  }
}

// msd uses counts of 4 or 8 bits if local memory is too small for wider counts of all buckets. Here
// such counts overflow.
TEST(NarrowCounts, Overflow) {
  const std::uint64_t count = is_set("SORTIUM_TEST_SMALL") ? 9'001 : 500'009;
  for (const char* const parameters : {"bits=15", "bits=16"})
    expect_stable(
        {{{.key = KeyType::u32, .count = count}, true, Distribution::leads, count},
         {{.key = KeyType::u64, .count = count, .payload = Payload::values, .value_bytes = 8},
          false,
          Distribution::leads,
          count}},
        {"msd", parameters});
}

// Lists of a few sorted runs, with ties in and between runs: cpu:0 merges them.
TEST(Runs, AreMerged) {
  if (!on_host()) GTEST_SKIP() << "sample is cpu:0's";
  Trial trial(test_device(), Placement::guarded);
  unsigned turn = 0;
  for (const auto key : {KeyType::u32, KeyType::f64, KeyType::i16})
    for (const auto payload : {Payload::values, Payload::positions, Payload::none})
      for (const std::uint64_t runs : {1, 2, 3, 7, 8, 9})
        for (const std::uint64_t count : {40'000, 100'003}) {
          Case c;
          c.problem = {.key = key,
                       .count = count,
                       .payload = payload,
                       .value_bytes = turn % 2 == 0 ? 4u : 8u,
                       .order = turn % 4 < 2 ? Order::ascending : Order::descending,
                       .nan = NanOrder::first};
          c.in_place = turn % 3 == 0;
          c.distribution = Distribution::runs;
          c.seed = 9 * ++turn + runs - 1;
          EXPECT_EQ(run_stable(trial, c, {"sample"}), "") << describe(c) << ", " << runs << " runs";
        }
}

// Runs of keys without values, which are merged by their codes. Zeros and NaN have several codes.
TEST(Runs, OfKeysAloneAreMerged) {
  if (!on_host()) GTEST_SKIP() << "sample is cpu:0's";
  Trial trial(test_device(), Placement::guarded);
  unsigned turn = 0;
  for (const auto key :
       {KeyType::u32, KeyType::i32, KeyType::f32, KeyType::u64, KeyType::i64, KeyType::f64})
    for (const auto order : {Order::ascending, Order::descending})
      for (const bool in_place : {false, true})
        for (const std::uint64_t runs : {1, 2, 3, 7, 8, 9})
          for (const std::uint64_t count : {32'769, 100'003}) {
            const Case c{{.key = key, .count = count, .order = order},
                         in_place,
                         Distribution::runs,
                         9 * ++turn + runs - 1};
            EXPECT_EQ(run_stable(trial, c, {"sample"}), "")
                << describe(c) << ", " << runs << " runs";
          }
}

// Checks that Oclgrind runs every algorithm with at least one set of parameters, and leaves out
// only the four heavy sets. With the options in tests/CMakeLists.txt, Oclgrind supports every
// algorithm but the one that needs clusters.
TEST(Simulator, RunsEveryAlgorithm) {
  std::map<std::string, unsigned> run;
  unsigned heavy = 0;
  for (const auto& m : methods()) {
    run[m.algorithm.name] += m.heavy ? 0 : 1;
    heavy += m.heavy;
  }
  EXPECT_EQ(heavy, 4u);
  for (const auto& [algorithm, times] : run) EXPECT_GT(times, 0u) << algorithm;
}

// Floats like those of programs: msd uses spread orders for them. The table has few such lists.
// Some of the floats here have no space in the table of spread orders.
TEST(Floats, SpreadByTheirExponents) {
  const auto known = algorithms();
  const auto& msd = *std::ranges::find(known, "msd", &AlgorithmInfo::name);
  Trial trial(test_device(), Placement::guarded);
  const std::vector<std::uint64_t> counts =
      is_set("SORTIUM_TEST_SMALL") ? std::vector<std::uint64_t>{97, 3000}
                                   : std::vector<std::uint64_t>{97, 100'003, 5'000'000};
  unsigned turn = 0;  // varies the order, for which the kernels are compiled
  for (const auto key : {KeyType::f32, KeyType::f64})
    for (const auto payload : {Payload::none, Payload::values, Payload::positions}) {
      Case c;
      c.problem = {.key = key,
                   .payload = payload,
                   .order = std::array{Order::ascending, Order::descending}[turn % 2],
                   .nan = std::array{NanOrder::last, NanOrder::first, NanOrder::bits}[turn % 3]};
      for (const auto count : counts) {
        c.problem.count = count;
        c.distribution = count < 1000    ? Distribution::random
                         : turn % 2 == 0 ? Distribution::numbers
                                         : Distribution::peaks;
        c.seed = 100 * turn + turn / 2;
        ++turn;
        if (is_simulated() && turn % 3 != 1) continue;
        try {
          const Plan plan(test_device(), c.problem, {"msd", count < 1000 ? "bits=12" : ""});
          const auto what = trial.run(c, {plan.scratch_bytes(), plan.run_length(), msd.stable,
                                          [&](Queue& q, const Operands& o) { plan.run(q, o); }});
          EXPECT_EQ(what, "") << describe(c) << " (" << plan.parameters() << ")";
        } catch (const Error& e) {
          if (e.code() != ErrorCode::unsupported) throw;
          GTEST_SKIP() << e.what();
        }
      }
    }
}

// Keys of different bits that are equal, NaN and ±0: msd sets them aside while it partitions keys
// without values, by one digit or two, whose buckets have one exponent or several. NanOrder and
// ZeroOrder decide which keys these are. Without the parameter only long lists have a launch for
// that.
TEST(Floats, SetAsideIfTheyTie) {
  const bool small = is_set("SORTIUM_TEST_SMALL");
  const std::vector<std::uint64_t> counts = small ? std::vector<std::uint64_t>{97, 3'000}
                                                  : std::vector<std::uint64_t>{97, 30'011, 700'001};
  const std::array policies{
      std::pair{NanOrder::last, ZeroOrder::tied}, std::pair{NanOrder::first, ZeroOrder::tied},
      std::pair{NanOrder::last, ZeroOrder::distinct}, std::pair{NanOrder::bits, ZeroOrder::tied}};
  for (const auto* parameters : {"bits=8", "bits=9", "bits=12"}) {
    std::vector<Case> cases;
    for (const auto key : {KeyType::f32, KeyType::f64})
      for (const auto payload : {Payload::none, Payload::none, Payload::values})
        for (const auto count : counts)
          for (unsigned share = 0; share < 4; ++share) {
            const auto i = static_cast<unsigned>(cases.size());  // everything meets everything
            const auto [nan, zeros] = policies[(i + i / 4) % 4];
            cases.push_back(
                {{.key = key,
                  .count = count,
                  .payload = payload,
                  .order = (i / 2 + i / 8) % 2 == 0 ? Order::ascending : Order::descending,
                  .nan = nan,
                  .zeros = zeros},
                 (i + i / 16) % 2 == 0,
                 Distribution::classes,
                 i % 3 * 4 + share + 12 * std::uint64_t{i}});
          }
    expect_stable(std::move(cases), {"msd", parameters});
  }
}

// Sorts with "auto" just below, at, and just above each count from which "auto" selects another
// algorithm.
TEST(Auto, SortsAroundItsSwitchPoints) {
  Trial trial(test_device(), Placement::guarded);
  const auto& device = capabilities(*test_device());
  unsigned turn = 0;
  for (const auto key : {KeyType::u32, KeyType::f64, KeyType::u16})
    for (const auto payload : {Payload::none, Payload::values}) {
      Problem problem{.key = key, .payload = payload};
      const auto algorithm = [&](std::uint64_t count) {
        problem.count = count;
        return plan_auto(problem, device).algorithm->info().name;
      };
      for (const auto& [first, choice] : runs_of(algorithm, std::uint64_t{1} << 22)) {
        if (first == 1) continue;  // no switch
        for (const auto count : {first - 1, first, first + 1}) {
          problem.count = count;
          const Case c{problem, turn % 2 == 0, all_distributions[turn % all_distributions.size()],
                       ++turn};
          EXPECT_EQ(run_stable(trial, c, {}), "") << describe(c);
        }
      }
    }
  if (turn == 0) GTEST_SKIP() << "auto takes one algorithm for any number of records here";
}

INSTANTIATE_TEST_SUITE_P(Table, Conformance, testing::ValuesIn(methods()),
                         [](const auto& instance) { return test_name(instance.param); });

// Properties of other devices that the test imitates on this one: emulated sub-groups of other
// sizes, or no ordered atomics. (Half of a sub-group of 64 lanes is one sub-group of the dialect.)
struct Gifts {
  std::string name;
  unsigned emulated_lanes = 0;  // 0: the device's own sub-groups
};
void PrintTo(const Gifts& g, std::ostream* out) { *out << g.name; }

class OtherDevices : public testing::TestWithParam<Gifts> {};

TEST_P(OtherDevices, SortAlike) {
  Capabilities caps = capabilities(*test_device());
  caps.ordered_local_atomics = false;
  if (GetParam().emulated_lanes != 0) {
    if (caps.backend == Backend::cuda)
      GTEST_SKIP() << "CUDA always has the sub-group words: nothing is emulated";
    caps.sub_group_words = SubGroupWords::emulated;
    caps.sub_group_size = GetParam().emulated_lanes;
  }
  const auto& lsd = find_algorithm("lsd");
  const Parameters parameters("variant=gpu,work_group=64,items=2", lsd.info());
  Trial trial(test_device(), is_set("SORTIUM_TEST_SMALL") ? Placement::exact : Placement::guarded);
  std::vector<Case> cases;
  for (const auto d : {Distribution::random, Distribution::few_distinct, Distribution::special})
    for (const std::uint64_t count : {1, 63, 64, 65, 127, 129, 1009})
      cases.push_back(
          {{.key = KeyType::f32, .count = count, .payload = Payload::values}, false, d, count});
  thin_out(cases);
  for (const auto& c : cases) {
    const auto sorter = lsd.plan(c.problem, caps, parameters);
    sorter->build(*test_device(), caps);
    const auto what = trial.run(c, {sorter->scratch_bytes(), sorter->run(), true,
                                    [&](Queue& q, const Operands& o) { sorter->enqueue(q, o); }});
    ASSERT_EQ(what, "") << describe(c);
  }
}

INSTANTIATE_TEST_SUITE_P(With, OtherDevices,
                         testing::Values(Gifts{"unordered_atomics"}, Gifts{"8_lanes", 8},
                                         Gifts{"16_lanes", 16}, Gifts{"32_lanes", 32},
                                         Gifts{"64_lanes", 64}),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace sortium::test
