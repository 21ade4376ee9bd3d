// Every algorithm's kernels compile for GPUs of Intel without such a GPU, by Intel's offline
// compiler (ocloc, in Debian's package intel-opencl-icd). No kernel runs. The compiler is that of
// Intel's driver.
//
//   SORTIUM_OCLOC=COMMAND    the compiler (default: ocloc)
#include <cstdio>

#include "compiled_calls.hpp"
#include "compiler_files.hpp"

namespace sortium::test {
namespace {

struct Target {
  const char* chip;
  SubGroupWords words;
};
void PrintTo(const Target& t, std::ostream* out) { *out << t.chip; }
// Arc with OpenCL's words for sub-groups, and an older integrated GPU whose sub-groups are
// emulated.
constexpr Target targets[] = {{"dg2", SubGroupWords::khr}, {"tgllp", SubGroupWords::emulated}};

class IntelCompiler final : public CompilingDevice {
 public:
  explicit IntelCompiler(const Target& target) : target_(target) {
    info_.id = "opencl:none";
    info_.name = fmt::format("a compiler for {}", target.chip);
    info_.platform = "Intel(R) OpenCL HD Graphics";
    auto& c = info_.claimed;
    c.compute_units = 96;
    c.max_work_group = 512;
    c.local_memory = c.local_struct = 65536;
    c.global_memory = c.max_allocation = std::uint64_t{12} << 30;
    c.atomics64 = true;
    c.sub_group_size = 16;
    c.sub_group_words = target.words;
    c.forward_progress = true;
  }

 protected:
  std::vector<std::byte> machine_code(const std::string& source) override {
    const CompilerFiles files(source);
    const auto& out = files.code;
    const std::string command = fmt::format(
        "{} compile -q -file {} -device {} -options -cl-std=CL3.0 -output_no_suffix -output {} "
        "-out_dir {} >{} 2>&1",
        environment("SORTIUM_OCLOC", "ocloc"), files.source.string(), target_.chip,
        out.filename().string(), out.parent_path().string(), files.log.string());
    const int status = std::system(command.c_str());
    const auto log = CompilerFiles::contents(files.log);
    if (status != 0)
      throw Error(ErrorCode::build_failed, fmt::format("{} refused a kernel", command), log);
    return files.machine_code();
  }
  std::string symbol_of(const std::string& kernel) const override { return kernel; }

 private:
  Target target_;
};

class IntelGpu : public testing::TestWithParam<std::tuple<Target, MethodUnderTest>> {};

TEST_P(IntelGpu, Compiles) {
  const auto& [target, method] = GetParam();
  const auto device = std::make_shared<IntelCompiler>(target);
  const auto refusals = compile_method(method, device);
  if (device->compilations == 0) GTEST_SKIP() << refusals.at(0);
  for (const auto& refusal : refusals) std::printf("Not for this chip: %s\n", refusal.c_str());
}

INSTANTIATE_TEST_SUITE_P(All, IntelGpu,
                         testing::Combine(testing::ValuesIn(targets),
                                          testing::ValuesIn(methods_of_kernels())),
                         [](const auto& instance) {
                           return fmt::format("{}_{}", std::get<0>(instance.param).chip,
                                              test_name(std::get<1>(instance.param)));
                         });

class IntelGpuCalls : public testing::TestWithParam<Target> {};

TEST_P(IntelGpuCalls, Compile) { compile_all_calls(std::make_shared<IntelCompiler>(GetParam())); }

INSTANTIATE_TEST_SUITE_P(All, IntelGpuCalls, testing::ValuesIn(targets),
                         [](const auto& instance) { return std::string(instance.param.chip); });

}  // namespace
}  // namespace sortium::test
