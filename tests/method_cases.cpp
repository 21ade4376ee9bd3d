#include "method_cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <tuple>

#include "algorithms/algorithm.hpp"
#include "conformance_trials.hpp"
#include "support.hpp"
#include "switch_points.hpp"

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
    list->erase(std::unique(list->begin(), list->end()), list->end());
    if (m.algorithm.quadratic) std::erase_if(*list, [](auto n) { return n > 4096; });
    // These methods compile different kernels for nearby sizes. Oclgrind tests more sizes.
    if (is_limited(m.algorithm) && builds_slowly() && !on_host())
      std::erase_if(*list, [](auto n) { return n > 300 || (n > 97 && n < 257); });
  }
  return s;
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

// Gives three of four shapes a narrow key. The others show that bit ranges of wide keys are sorted.
void use_narrow_keys(std::vector<Shape>& shapes) {
  constexpr KeyType narrow[] = {KeyType::u8,  KeyType::i8,  KeyType::u16,
                                KeyType::i16, KeyType::f16, KeyType::bf16};
  for (std::size_t i = 0; i < shapes.size(); ++i)
    if (i % 4 != 3) shapes[i].key = narrow[(i - i / 4) % std::size(narrow)];
}

}  // namespace

bool has_many_kernels(const MethodUnderTest& m) {
  return !on_host() && (is_limited(m.algorithm) || (m.algorithm.segments && !m.parameters.empty()));
}

MethodCases cases_of(const MethodUnderTest& m) {
  const std::uint64_t typical = m.algorithm.max_count != 0 ? 1000
                                : m.algorithm.segments     ? 1u << 17  // small ones have a variant
                                                           : 1u << 18;
  const Plan plan(test_device(), problem_for(m.algorithm, typical),
                  {m.algorithm.name, m.parameters});
  const Sizes sizes = sizes_for(plan, m);

  const Depth depth = depth_for(m);
  auto some = shapes(depth, m.turn, m.algorithm.comparison || m.algorithm.segments);
  if (m.algorithm.max_key_bits != 0) use_narrow_keys(some);
  if (has_few_shapes(m) && capabilities(*test_device()).backend == Backend::opencl)
    some.resize(std::min<std::size_t>(some.size(), 2));
  auto table = make_table(some, sizes, m.turn);
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
  return {std::move(table.cases), table.pairs, depth == Depth::few ? 0 : table.missing, is_part};
}

}  // namespace sortium::test
