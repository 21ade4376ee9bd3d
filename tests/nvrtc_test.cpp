// Every algorithm's kernels compile for CUDA without a GPU. NVRTC compiles them to machine code;
// the code must contain the kernels that the algorithm launches; their structures must fit the
// local memory that the host provides; and every launch must pass the arguments that the kernel
// declares. Conformance tests the results, on a GPU.
//
//   SORTIUM_REQUIRE_NVRTC=1  fail if NVRTC is not found, instead of skipping
//   SORTIUM_NVRTC_CODE=FILE  append a hash of each module's machine code to FILE. A refactoring
//   that
//                            leaves this file unchanged (sorted) has changed no machine code.
#include "device/nvrtc.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "algorithms/parts/boundary_partition.hpp"
#include "compiling_device.hpp"
#include "distributed/device_steps.hpp"
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
    auto code = cuda::compile_for(source, {arch});
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

// The kernels of records: fields of every kind; elements of every unit; 4- and 8-byte positions.
TEST(NvrtcRecords, Compiles) {
  if (const auto why = why_no_nvrtc(); !why.empty() && !is_set("SORTIUM_REQUIRE_NVRTC"))
    GTEST_SKIP() << why;
  const auto device = std::make_shared<CudaCompiler>();
  for (const std::uint64_t count : {std::uint64_t{1000}, std::uint64_t{1} << 33}) {
    const std::vector<Field> key{
        {0, 1, KeyType::f32, Order::descending, NanOrder::first, ZeroOrder::distinct},
        {1, 0, FieldType::bytes(13)},
        {1, 2, FieldType::i128()},
        {0, 0, KeyType::f64, {}, NanOrder::bits},
        {0, 8, KeyType::u64, {}, {}, {}, 3, 40}};
    for (const unsigned bytes : {1u, 2u, 4u, 6u, 8u, 12u, 16u, 48u})
      for (const auto direction : {Direction::gather, Direction::scatter}) {
        try {
          const Permute permute(device, {direction, count, bytes, count == 1000 ? 4u : 8u});
        } catch (const Error& e) {
          ADD_FAILURE() << bytes << " bytes: " << e.what() << '\n' << e.log();
        }
      }
    try {
      const RecordPlan plan(device, {count, {{16}, {24, Moved::out}}, key});
      EXPECT_EQ(plan.word_bits().size(), 6u);
      for (const unsigned offset_bytes : {4u, 8u})  // the first records of segments
        if (offset_bytes == 8 || count == 1000)
          const RecordPlan first(device, {.count = count,
                                          .columns = {{4, Moved::out}, {24, Moved::out}},
                                          .key = {{}},
                                          .segments = 7,
                                          .offset_bytes = offset_bytes,
                                          .limit = 3});
    } catch (const Error& e) {
      ADD_FAILURE() << e.what() << '\n' << e.log();
    }
  }
  EXPECT_GT(device->compilations, 40u);
}

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

TEST_F(NvrtcProgram, Companions) {
  const auto device = std::make_shared<CudaCompiler>();
  for (const Problem& p :
       {Problem{.key = KeyType::u32, .count = few},
        Problem{.key = KeyType::f64, .count = many, .payload = Payload::values, .value_bytes = 8},
        Problem{.key = KeyType::i16,
        .count = many,
        .payload = Payload::values,
        .value_bytes = 8,
        .begin_bit = 3,
        .end_bit = 9}}) {
    try {
      const IsSortedPlan is_sorted(device, p);
      const UniquePlan unique(device, p, 8);
      Problem elements = p;
      elements.payload = Payload::values;
      elements.value_bytes = 12;
      const UniquePlan unique_with_elements(device, elements);
      const MergePlan merge(device, p, 10);
      const SearchPlan search(device, p, 100, Bound::upper);
      const NthElementPlan nth_element(device, p, 5);
    } catch (const Error& e) {
      ADD_FAILURE() << info(p.key).name << ": " << e.what() << '\n' << e.log();
    }
  }
  EXPECT_GT(device->compilations, 0u);
}

// The kernels of distributed sorts of device memory. Their launches match them.
TEST_F(NvrtcProgram, Distributed) {
  const auto device = std::make_shared<CudaCompiler>();
  const auto queue = device->make_queue(false);
  const Memory memory{reinterpret_cast<void*>(1)};
  for (Problem p : compiled_problems) {
    p.keys_out = true;
    try {
      for (const unsigned boundaries : {31u, 255u}) {
        ScratchLayout layout;
        BoundaryPartition partition(p, device->info().claimed, boundaries, layout);
        partition.build(*device, device->info().claimed);
        if (p.count == few)
          (void)partition.run(*queue, {memory, memory, memory, memory, memory},
                              std::vector<std::uint64_t>{5, 7}, 0);
      }
      distributed::DeviceSteps steps(device, p);
      (void)steps.ranks_at(*queue, memory, std::vector<std::uint64_t>{0, 1});
      (void)steps.places(*queue, memory, std::vector<distributed::RankSearch>{{1, 0, 2}});
      steps.add_to_positions(*queue, memory, 1, 1);
    } catch (const Error& e) {
      ADD_FAILURE() << info(p.key).name << ": " << e.what() << '\n' << e.log();
    }
  }
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
