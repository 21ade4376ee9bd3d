// Every algorithm's kernels compile for CUDA without a GPU. NVRTC compiles them to machine code;
// the code must contain the kernels that the algorithm launches; their structures must fit the
// local memory that the host provides; and every launch must pass the arguments that the kernel
// declares. Conformance tests the results, on a GPU.
//
//   SORTIUM_REQUIRE_NVRTC=1   fail if NVRTC is not found, instead of skipping
//   SORTIUM_TEST_OPTIMIZED=1  compile as for users, which takes more than twice as long
//   SORTIUM_NVRTC_CODE=FILE   the same, and append a hash of each module's machine code to FILE. A
//                             refactoring that leaves this file unchanged (sorted) has changed no
//                             machine code.
#include "device/nvrtc.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "compiled_calls.hpp"
#include "kernels/probe.hpp"
#include "methods.hpp"
#include "pic/pic.hpp"
#include "support.hpp"

namespace sortium::test {
namespace {

class CudaCompiler final : public CompilingDevice {
 public:
  static constexpr int arch = 90;

  CudaCompiler() {
    info_.id = "cuda:none";
    info_.name = "a compiler for sm_90";
    info_.platform = "CUDA";
    auto& c = info_.claimed;
    c.backend = Backend::cuda;
    c.compute_units = 132;
    c.max_work_group = 1024;
    c.local_memory = 49152;
    c.global_memory = c.max_allocation = std::uint64_t{139} << 30;
    c.atomics64 = true;
    c.sub_group_words = SubGroupWords::cuda;
    c.sub_group_size = 32;
    c.forward_progress = true;
    c.local_struct = 232448;
    c.cluster_groups = 16;
  }

 protected:
  std::vector<std::byte> machine_code(const std::string& source) override {
    const bool optimized = is_set("SORTIUM_TEST_OPTIMIZED") || is_set("SORTIUM_NVRTC_CODE");
    auto code = cuda::compile_for(source, {arch}, optimized);
    note_code(code);
    return code;
  }
  std::string symbol_of(const std::string& kernel) const override {
    return ".text." + kernel;  // the section that holds a kernel's code
  }

 private:
  // Writes one line for each module: the test, the module's number in the test, and a hash of its
  // machine code.
  void note_code(std::span<const std::byte> code) const {
    const char* path = std::getenv("SORTIUM_NVRTC_CODE");
    if (!path) return;
    std::uint64_t hash = 14695981039346656037u;  // FNV-1a
    for (const std::byte b : code)
      hash = (hash ^ std::to_integer<std::uint64_t>(b)) * 1099511628211u;
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    std::ofstream(path, std::ios::app) << fmt::format("{}.{} {} {:016x}\n", test->test_suite_name(),
                                                      test->name(), compilations, hash);
  }
};

// Returns the reason why NVRTC is missing, or "".
std::string why_no_nvrtc() {
  try {
    (void)cuda::compile_for("", {CudaCompiler::arch});
    return "";
  } catch (const Error& e) {
    return e.code() == ErrorCode::unsupported ? e.what() : "";
  }
}

void need_nvrtc() {
  static const std::string why = why_no_nvrtc();
  if (why.empty()) return;
  if (is_set("SORTIUM_REQUIRE_NVRTC")) FAIL() << why;
  GTEST_SKIP() << "NO KERNEL WAS COMPILED FOR CUDA: " << why;
}

class Nvrtc : public testing::TestWithParam<MethodUnderTest> {
 protected:
  void SetUp() override { need_nvrtc(); }
};

TEST_P(Nvrtc, Compiles) {
  EXPECT_EQ(compile_method(GetParam(), std::make_shared<CudaCompiler>()),
            std::vector<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(All, Nvrtc, testing::ValuesIn(methods_of_kernels()),
                         [](const auto& instance) { return test_name(instance.param); });

// The kernels of the program.
class NvrtcProgram : public testing::Test {
 protected:
  void SetUp() override { need_nvrtc(); }
};

TEST_F(NvrtcProgram, Pic) {
  CudaCompiler device;
  for (const std::uint64_t particles : {std::uint64_t{1000}, std::uint64_t{1} << 32})
    for (const unsigned grid : {2u, 37u, 4096u}) {
      try {
        const app::PicKernels kernels(device, device.info().claimed, {particles, grid, 1.0 / grid});
      } catch (const Error& e) {
        ADD_FAILURE() << particles << " particles, grid of " << grid << ": " << e.what() << '\n'
                      << e.log();
      }
    }
  EXPECT_EQ(device.compilations, 6u);
}

class NvrtcCalls : public NvrtcProgram {
 protected:
  std::shared_ptr<CudaCompiler> device = std::make_shared<CudaCompiler>();
};

TEST_F(NvrtcCalls, Records) {
  compile_records(device);
  compile_varying_records(device);
  compile_strides(device);
  EXPECT_GT(device->compilations, 40u);
}
// Lists that radix passes sort without look-back, or partition.
TEST_F(NvrtcCalls, ShortLists) {
  CheckingQueue queue(device);
  const auto compiles = [&](const char* algorithm, const char* parameters, const Problem& p) {
    return compile_sort({find_algorithm(algorithm).info(), parameters}, p, device->info().claimed,
                        device, queue);
  };
  for (const auto key : {KeyType::u32, KeyType::i32, KeyType::f32})
    for (const std::uint64_t count : {100'003, 2'000'003, 3'000'000})
      for (const auto payload : {Payload::none, Payload::values, Payload::positions}) {
        const Problem p{.key = key, .count = count, .payload = payload};
        EXPECT_EQ(compiles("onesweep", "", p), "");
        EXPECT_EQ(compiles("onesweep", "look_back=0", p), "");
        EXPECT_EQ(compiles("msd", "", p), "");
      }
  EXPECT_EQ(compiles("msd", "bits=8", {.count = 2'300'000, .payload = Payload::values}), "");
}
// Long keys, of which passes may leave out low digits.
TEST_F(NvrtcCalls, LowDigits) {
  CheckingQueue queue(device);
  for (const Problem& p : {Problem{.key = KeyType::u64, .count = 1'000'003},
                           Problem{.key = KeyType::f64,
                           .count = 10'000'019,
                           .payload = Payload::values,
                           .value_bytes = 8,
                           .order = Order::descending},
                           Problem{.key = KeyType::i64,
                           .count = 100'003,
                           .payload = Payload::positions,
                           .keys_out = false,
                           .begin_bit = 4,
                           .end_bit = 44}})
    for (const bool ordered_atomics : {false, true}) {
      auto capabilities = device->info().claimed;
      capabilities.ordered_local_atomics = ordered_atomics;
      EXPECT_EQ(
          compile_sort({find_algorithm("onesweep").info(), ""}, p, capabilities, device, queue),
          "");
    }
  EXPECT_EQ(device->compilations, 8u);  // two kernels for floats, because they may tie
}
// Lists whose frequent keys may be counted or, with values or positions, encoded.
TEST_F(NvrtcCalls, FrequentKeys) {
  CheckingQueue queue(device);
  const auto compile = [&](const Problem& p) {
    EXPECT_EQ(
        compile_sort({find_algorithm("msd").info(), ""}, p, device->info().claimed, device, queue),
        "");
  };
  for (const auto key : {KeyType::u32, KeyType::i64, KeyType::f32, KeyType::f64}) {
    for (const std::uint64_t count : {9'000'011, 100'000'007})
      compile({.key = key, .count = count});
    compile({.key = key, .count = 100'000'007, .payload = Payload::values, .value_bytes = 4});
    compile({.key = key,
             .count = 100'000'007,
             .payload = Payload::positions,
             .value_bytes = 8,
             .keys_out = false});
  }
}
TEST_F(NvrtcCalls, Companions) {
  compile_companions(device);
  EXPECT_GT(device->compilations, 0u);
}
TEST_F(NvrtcCalls, Distributed) {
  compile_distributed(device);
  EXPECT_GT(device->compilations, 11u);
}

// A queue on which every launch succeeds, so the probe confirms all that the device claims. A
// launch that does not match its kernel throws.
TEST_F(NvrtcProgram, Probe) {
  const auto device = std::make_shared<CudaCompiler>();
  const Capabilities found = kernels::probe(*device);
  EXPECT_EQ(found.sub_group_words, SubGroupWords::cuda);
  EXPECT_EQ(found.cluster_groups, device->info().claimed.cluster_groups);
  EXPECT_TRUE(found.ordered_local_atomics);
}

TEST(NvrtcItself, SaysWhatIsWrong) {
  if (const auto why = why_no_nvrtc(); !why.empty()) GTEST_SKIP() << why;
  try {
    (void)cuda::compile_for("extern \"C\" __global__ void broken() { no_such_word(); }",
                            {CudaCompiler::arch});
    FAIL() << "nonsense was compiled";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::build_failed);
    EXPECT_NE(e.log().find("no_such_word"), std::string::npos) << e.log();
  }
  EXPECT_THROW((void)cuda::compile_for("", {1}), Error);
}

}  // namespace
}  // namespace sortium::test
