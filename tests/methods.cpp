#include "methods.hpp"

#include <algorithm>
#include <cctype>
#include <map>

namespace sortium::test {

namespace {

struct Tried {
  std::string parameters;
  bool wide = false, heavy = false;
};

const std::map<std::string, std::vector<Tried>>& tried() {
  static const std::map<std::string, std::vector<Tried>> all{
      {"bitonic",
       {{""},
        {"schedule=A"},
        {"schedule=B2,work_group=32"},
        {"schedule=B2+B4"},
        {"schedule=B2+B4+B8"},
        {"schedule=B2+B4+B8+B16"},
        {"schedule=C2pre+B*,work_group=16"},
        {"schedule=C2+B*,work_group=32"},
        {"schedule=C4+B*,work_group=16", true},
        {"schedule=C4+B*,work_group=8,small_stages=together"}}},
      {"bitonic-local", {{"", true}, {"work_group=1"}, {"work_group=1024"}}},
      {"counting", {{"", true}, {"threads=1", true}, {"threads=3", true}}},
      {"lsd", {{"", true}, {"variant=gpu,work_group=64,items=2", true}, {"variant=gpu,items=3"}}},
      {"odd-even", {{"", true}, {"rounds=1", true}, {"rounds=7"}, {"rounds=64"}}},
      {"msd", {{"", true}, {"bits=11", true}, {"bits=16", false, true}}},
      {"one-cluster", {{"", true}, {"work_group=256,groups=4"}}},
      {"one-group", {{"", true}, {"work_group=512"}}},
      {"onesweep",
       {{"", true},
        {"items=5,look_back=1"},
        {"work_group=256,items=9,look_back=0", true},
        {"items=3,resident=2,look_back=1", true}}},
      {"merge",
       {{"", true},
        {"tier1=1,tier2=64,sample=16,work_group=32", true},
        {"tier1=4,tier2=1,sample=8,work_group=8"},
        {"tier1=2,tier2=256,work_group=256"}}},
      {"merge-in-place", {{""}, {"chunk=64,tile=16", true}}},
      {"merge-local", {{"", true}, {"work_group=1"}, {"work_group=1024"}}},
      {"radix",
       {{"", false, true},
        {"r=3,items=4,groups=5,splits=4,transpose=on"},
        {"r=5,items=8,groups=3,splits=3,transpose=on,permutation=on"},
        {"r=6,items=2,groups=4,splits=4,transpose=off"},
        {"r=11,transpose=off", false, true},
        {"splits=7", false, true}}},
      {"radix-simd", {{""}, {"digit_bits=2,work_group=32"}, {"work_group=256"}}},
      {"sample",
       {{"", true},
        {"threads=8", true},
        {"parts=5,chunk=100,threads=1", true},
        {"parts=64,chunk=1000,threads=2", true}}},
      {"sample-in-place", {{"", true}, {"chunk=100", true}}},
      {"segmented",
       {{"", true},
        {"variant=gpu"},
        {"variant=gpu,blocks=1,groups=3"},
        {"variant=small,piece=64", true}}},
      {"segmented-host", {{"", true}, {"threads=1"}}},
      {"selection-blocks",
       {{"", true},
        {"block_factor=1,work_group=32"},
        {"block_factor=8,work_group=100"},
        {"block_factor=32,work_group=1"}}},
      {"selection-local", {{"", true}, {"work_group=1"}, {"work_group=100"}, {"work_group=1024"}}},
      {"topk",
       {{""},
        {"method=select"},
        {"method=select,work_group=64,items=3"},
        {"method=select,items=2,groups=3"},
        {"method=sample"},
        // The samples are so few that the bound is often wrong.
        {"method=sample,samples=1"},
        {"method=sample,samples=40,work_group=64"}}},
      {"topk-host", {{"", true}, {"method=select", true}, {"method=select,threads=1", true}}},
  };
  return all;
}

}  // namespace

std::vector<MethodUnderTest> methods() {
  std::vector<MethodUnderTest> out;
  for (const auto& a : algorithms()) {
    const auto known = tried().find(a.name);
    for (const auto& t : known == tried().end() ? std::vector<Tried>{{}} : known->second)
      out.push_back({a, t.parameters, t.wide, static_cast<unsigned>(out.size()), t.heavy});
  }
  return out;
}

bool is_limited(const AlgorithmInfo& a) {
  return a.needs_clusters || a.needs_progress || a.max_count != 0 || a.max_key_bits != 0;
}

std::string test_name(const MethodUnderTest& m) {
  std::string out = m.algorithm.name + (m.parameters.empty() ? "" : "_" + m.parameters);
  std::ranges::replace_if(
      out, [](unsigned char ch) { return !std::isalnum(ch); }, '_');
  return out;
}

void PrintTo(const MethodUnderTest& m, std::ostream* out) {
  *out << m.algorithm.name << ' ' << m.parameters;
}

}  // namespace sortium::test
