// The interface of host and kernel is checked when a kernel is built and launched. Every mistake
// must cause an Error that names the kernel and the mistake.
#include "kernels/interface.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "device/backends.hpp"
#include "device/nvrtc.hpp"
#include "support.hpp"

namespace sortium::test {
namespace {

using kernels::Defines;
using kernels::Source;

// Checks that `f` throws, and that the message has all of `parts`.
void expect_error(const std::function<void()>& f, ErrorCode code,
                  const std::vector<std::string>& parts) {
  try {
    f();
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    const std::string all = std::string(e.what()) + e.log();
    for (const auto& part : parts) EXPECT_NE(all.find(part), std::string::npos) << all;
  }
}

constexpr std::string_view add_cl = R"(// Adds.

PARAMETER(WG)     // work-items of a work-group
PARAMETER(ITEMS)  // numbers of a work-item

typedef struct {
  u32 sums[WG * ITEMS];
} add_memory_t;

KERNEL(WG) void add_numbers(GLOBAL const u32* from, GLOBAL u32* to, u64 n, u32 number) {
  LOCAL_STRUCT(add_memory_t, mine);
  const u64 i = (u64)group_id() * WG + local_id();
  mine->sums[local_id()] = number;
  if (i < n) to[i] = from[i] + mine->sums[local_id()];
}
)";
constexpr Source add{"add.cl", add_cl};
constexpr unsigned work_group = 64, items = 2, local_bytes = work_group * items * 4;

Defines all_defines() {
  Defines d;
  d.problem({}).set("WG", work_group).set("ITEMS", items).local_struct("add_memory_t", local_bytes);
  return d;
}

class NamedKernel final : public Kernel {
 public:
  std::string_view name() const override { return "add_numbers"; }
};

class Launches : public testing::Test {
 protected:
  Launches() { kernel.declare(kernels::signatures({add}, all_defines()).at("add_numbers")); }
  void launch(const std::vector<Arg>& args) {
    backend::check_arguments({kernel, 1, work_group, args, "test"});
  }
  NamedKernel kernel;
  char cells[2] = {};
  Memory from{&cells[0]}, to{&cells[1]};
  std::uint64_t n = 10;
  std::uint32_t number = 3;
};

TEST_F(Launches, MatchingArgumentsAreAccepted) {
  EXPECT_NO_THROW(launch({{"from", from}, {"to", to}, {"n", n}, {"number", number}}));
}

// A launch that was accepted once compares addresses of names, not their text.
TEST_F(Launches, AnAcceptedLaunchDoesNotHideALaterMistake) {
  static constexpr char same_name[] = "from";  // at an address of its own
  for (int i = 0; i < 2; ++i) {
    EXPECT_NO_THROW(launch({{"from", from}, {"to", to}, {"n", n}, {"number", number}}));
    EXPECT_NO_THROW(launch({{same_name, from}, {"to", to}, {"n", n}, {"number", number}}));
    expect_error(
        [&] {
          launch({{"to", to}, {"from", from}, {"n", n}, {"number", number}});
        },
        ErrorCode::invalid_argument, {"argument 1", "'to'", "'from'"});
    expect_error(
        [&] {
          launch({{"from", from}, {"to", n}, {"n", n}, {"number", number}});
        },
        ErrorCode::invalid_argument, {"'to'", "a number of 8 bytes"});
  }
}

TEST_F(Launches, SwappedArgumentsAreNamed) {
  expect_error(
      [&] {
        launch({{"to", to}, {"from", from}, {"n", n}, {"number", number}});
      },
      ErrorCode::invalid_argument, {"add_numbers", "argument 1", "'to'", "'from'"});
  expect_error(
      [&] {
        launch({{"from", from}, {"to", to}, {"number", number}, {"n", n}});
      },
      ErrorCode::invalid_argument, {"add_numbers", "argument 3", "'number'", "'n'"});
}

TEST_F(Launches, CountKindAndWidthAreChecked) {
  expect_error(
      [&] {
        launch({{"from", from}, {"to", to}, {"n", n}});
      },
      ErrorCode::invalid_argument, {"add_numbers", "3 arguments", "from, to, n, number"});
  expect_error(
      [&] {
        launch({{"from", from}, {"to", n}, {"n", n}, {"number", number}});
      },
      ErrorCode::invalid_argument, {"add_numbers", "'to'", "a number of 8 bytes"});
  expect_error(
      [&] {
        launch({{"from", from}, {"to", to}, {"n", number}, {"number", number}});
      },
      ErrorCode::invalid_argument, {"add_numbers", "'n'", "4 bytes", "8 bytes"});
}

TEST_F(Launches, ClustersDivideTheWorkGroups) {
  const std::vector<Arg> args{{"from", from}, {"to", to}, {"n", n}, {"number", number}};
  EXPECT_NO_THROW(backend::check_arguments({kernel, 6, work_group, args, "test", 3}));
  for (const unsigned cluster : {0u, 4u, 1000u})
    expect_error(
        [&] {
          backend::check_arguments({kernel, 6, work_group, args, "test", cluster});
        },
        ErrorCode::invalid_argument, {"add_numbers", "clusters", "6"});
}

TEST_F(Launches, AKernelWithoutSignatureIsRefused) {
  NamedKernel other;
  expect_error(
      [&] {
        backend::check_arguments({other, 1, work_group, {}, "test"});
      },
      ErrorCode::invalid_argument, {"add_numbers", "kernels::build"});
}

TEST(Signatures, AreReadFromTheSource) {
  const auto found = kernels::signatures({add}, all_defines());
  ASSERT_EQ(found.size(), 1u);
  const auto& s = *found.at("add_numbers");
  ASSERT_EQ(s.parameters.size(), 4u);
  EXPECT_EQ(s.parameters[1].name, "to");
  EXPECT_EQ(s.parameters[1].bytes, 0u);
  EXPECT_EQ(s.parameters[2].bytes, 8u);
  EXPECT_EQ(s.parameters[3].bytes, 4u);
  EXPECT_EQ(s.local_bytes, local_bytes);
}

TEST(Signatures, RefuseWhatTheyCannotCheck) {
  const auto read = [](std::string_view text) {
    (void)kernels::signatures({{"some.cl", text}}, Defines());
  };
  expect_error([&] { read("KERNEL(WG) void k(GLOBAL u32* p, value_t v) {}"); },
               ErrorCode::build_failed, {"some.cl", "kernel k", "value_t v"});
  expect_error([&] { read("KERNEL(WG) void k(RECORDS) {}"); }, ErrorCode::build_failed,
               {"kernel k", "RECORDS"});
  expect_error([&] { read("KERNEL(WG) void k##R(u32 n) {}"); }, ErrorCode::build_failed,
               {"k##R", "written out"});
  expect_error(
      [&] { read("KERNEL(WG) void k(u32 n) { LOCAL_STRUCT(a, x); LOCAL_STRUCT(b, y); }"); },
      ErrorCode::build_failed, {"kernel k", "LOCAL_STRUCT"});
}

TEST(Parameters, AMissingOneIsNamed) {
  const Capabilities c;
  Defines d;
  d.problem({}).set("WG", work_group).local_struct("add_memory_t", local_bytes);
  expect_error([&] { (void)kernels::full_text(c, {add}, d); }, ErrorCode::build_failed,
               {"add.cl", "ITEMS", "not defined"});
  Defines without_problem;
  without_problem.set("WG", work_group).set("ITEMS", items);
  expect_error([&] { (void)kernels::full_text(c, {add}, without_problem); },
               ErrorCode::build_failed, {"primitives.cl", "KEY_BITS", "not defined"});
}

TEST(Parameters, AnUnknownOrSecondOneIsNamed) {
  const Capabilities c;
  Defines d = all_defines();
  d.set("ITEM", 2);
  expect_error([&] { (void)kernels::full_text(c, {add}, d); }, ErrorCode::build_failed,
               {"add.cl", "ITEM is", "WG, ITEMS"});
  expect_error([&] { d.set("WG", 1); }, ErrorCode::invalid_argument, {"WG", "twice"});
}

// Every kernel source must declare its parameters, so that a missing define is an error: a compiler
// silently reads an unknown name in #if as 0. Each name must be a parameter, a word of the dialect,
// or defined in the sources.
TEST(Parameters, EveryConditionIsDefined) {
  const std::filesystem::path root = SORTIUM_SOURCE_DIR;
  std::map<std::string, std::string> texts;
  for (const auto* folder : {"src/kernels", "src/algorithms"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      const auto extension = entry.path().extension();
      if (extension != ".cl" && extension != ".h") continue;
      std::stringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      texts[entry.path().filename().string()] = text.str();
    }
  ASSERT_GT(texts.size(), 30u);
  std::set<std::string> known{
      "defined",      "SG_LANES",    "SG_HARDWARE", "SG_NATIVE", "ORDERED_LOCAL_ATOMICS",
      "SG_WORDS_PTX", "SG_WORDS_KHR"};
  const std::regex defined("#\\s*define\\s+(\\w+)|\\bPARAMETER\\(\\s*(\\w+)\\)");
  known.insert("SPREAD_BITS");                                     // primitives.cl works without it
  known.insert({"__has_builtin", "__builtin_nontemporal_store"});  // the compiler's own
  std::string own = Defines().problem({}).text();
  for (const auto& [name, text] : texts) own += text;
  for (std::sregex_iterator it(own.begin(), own.end(), defined), end; it != end; ++it)
    known.insert((*it)[1].matched ? (*it)[1] : (*it)[2]);
  const std::regex condition("(?:^|\n)\\s*#\\s*(?:el)?if(?:n?def)?([^\n]*)"), word("[A-Za-z_]\\w*");
  for (const auto& [name, text] : texts) {
    if (text.find("\nPARAMETER(") == text.npos) continue;
    for (std::sregex_iterator it(text.begin(), text.end(), condition), end; it != end; ++it) {
      const std::string line = std::regex_replace((*it)[1].str(), std::regex("//.*"), "");
      for (std::sregex_iterator w(line.begin(), line.end(), word); w != end; ++w)
        EXPECT_TRUE(known.contains(w->str())) << name << ": #if" << line << " reads " << w->str();
    }
  }
}

// The device's compiler refuses a structure that is larger than the host says.
Defines one_byte_less() {
  Defines d;
  d.problem({}).set("WG", work_group).set("ITEMS", items);
  return d.local_struct("add_memory_t", local_bytes - 1);
}
constexpr auto why_too_large = "add_memory_t_is_larger_than_the_host_says";

TEST(LocalMemory, DeviceCompilerRefusesALargerStructure) {
  const auto device = test_device();
  const auto& c = capabilities(*device);
  EXPECT_NO_THROW((void)kernels::build(*device, c, add, all_defines()));
  expect_error([&] { (void)kernels::build(*device, c, add, one_byte_less()); },
               ErrorCode::build_failed, {why_too_large});
}

TEST(LocalMemory, NvrtcRefusesALargerStructure) {
  Capabilities c;
  c.backend = Backend::cuda;
  c.sub_group_words = SubGroupWords::cuda;
  const auto compile = [&](const Defines& d) {
    (void)cuda::compile_for(kernels::full_text(c, {add}, d), {90});
  };
  try {
    compile(all_defines());
  } catch (const Error& e) {
    if (e.code() != ErrorCode::unsupported || is_set("SORTIUM_REQUIRE_NVRTC")) throw;
    GTEST_SKIP() << "NOTHING WAS COMPILED FOR CUDA: " << e.what();
  }
  expect_error([&] { compile(one_byte_less()); }, ErrorCode::build_failed, {why_too_large});
}

TEST(LocalMemory, LaunchesOnTheDevice) {
  const auto device = test_device();
  const auto module = kernels::build(*device, capabilities(*device), add, all_defines());
  const auto kernel = module->kernel("add_numbers");
  const auto queue = device->make_queue();
  const std::vector<std::uint32_t> in{1, 2, 3, 4};
  std::vector<std::uint32_t> out(in.size());
  const auto from = device->allocate(16), to = device->allocate(16);
  queue->write(from->memory(), in.data(), 16);
  const Arg args[] = {{"from", from->memory()},
                      {"to", to->memory()},
                      {"n", std::uint64_t{4}},
                      {"number", std::uint32_t{10}}};
  queue->launch({*kernel, 1, work_group, args, "test"});
  queue->read(out.data(), to->memory(), 16);
  EXPECT_EQ(out, (std::vector<std::uint32_t>{11, 12, 13, 14}));
}

}  // namespace
}  // namespace sortium::test
