// Every algorithm's kernels compile for GPUs of AMD without such a GPU, by Clang and AMD's device
// libraries (Debian's packages clang-15 and rocm-device-libs). No kernel runs. Clang is another
// compiler than the one in AMD's driver, but has the same back end.
//
//   SORTIUM_AMD_CLANG=PROGRAM    the compiler (default: clang-15)
//   SORTIUM_AMD_LIBRARIES=DIR    the device libraries' folder (default: Debian's)
//   SORTIUM_AMD_RESOURCES=FILE   append a line for each kernel: chip, kernel, vector registers,
//                                bytes of private memory of a work-item, bytes of local memory,
//                                waves of a SIMD unit
#include <cstdio>

#include "compiled_calls.hpp"
#include "compiler_files.hpp"

namespace sortium::test {
namespace {

struct Chip {
  const char* name;
  unsigned lanes;  // of a wavefront
};
void PrintTo(const Chip& c, std::ostream* out) { *out << c.name; }
constexpr Chip chips[] = {{"gfx90a", 64}, {"gfx1030", 32}};

// What AMD's OpenCL claims. It has no ballot and no shuffle of OpenCL, so that sub-groups are
// emulated.
class AmdCompiler final : public CompilingDevice {
 public:
  explicit AmdCompiler(const Chip& chip) : chip_(chip) {
    info_.id = "opencl:none";
    info_.name = fmt::format("a compiler for {}", chip.name);
    info_.platform = "AMD Accelerated Parallel Processing";
    auto& c = info_.claimed;
    c.compute_units = 104;
    c.max_work_group = 256;
    c.local_memory = c.local_struct = 65536;
    c.global_memory = c.max_allocation = std::uint64_t{64} << 30;
    c.atomics64 = true;
    c.sub_group_size = chip.lanes;
    c.forward_progress = true;
  }

 protected:
  std::vector<std::byte> machine_code(const std::string& source) override {
    const CompilerFiles files(source);
    const std::string command = fmt::format(
        "{} -x cl -cl-std=CL2.0 -D__OPENCL_VERSION__=200 -target amdgcn-amd-amdhsa -mcpu={} -O3 "
        "-Xclang "
        "-finclude-default-header -Rpass-analysis=kernel-resource-usage "
        "--rocm-device-lib-path={} -o {} {} >{} 2>&1",
        environment("SORTIUM_AMD_CLANG", "clang-15"), chip_.name,
        environment("SORTIUM_AMD_LIBRARIES", "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode"),
        files.code.string(), files.source.string(), files.log.string());
    const int status = std::system(command.c_str());
    const auto log = CompilerFiles::contents(files.log);
    if (status != 0)
      throw Error(ErrorCode::build_failed, fmt::format("{} refused a kernel", command), log);
    note_resources(log);
    return files.machine_code();
  }
  std::string symbol_of(const std::string& kernel) const override { return kernel + ".kd"; }

 private:
  // Reads the compiler's remarks on each kernel. A kernel must fit the local memory that it was
  // planned for.
  void note_resources(const std::string& log) const {
    const char* path = std::getenv("SORTIUM_AMD_RESOURCES");
    std::istringstream lines(log);
    std::string line, kernel, registers, bytes, waves;
    while (std::getline(lines, line)) {
      const auto after = [&line](std::string_view label) -> std::string {
        const auto at = line.find(label);
        if (at == std::string::npos) return "";
        const auto begin = at + label.size();
        return line.substr(begin, line.find(' ', begin) - begin);
      };
      if (const auto value = after("Function Name: "); !value.empty()) kernel = value;
      if (const auto value = after(" VGPRs: "); !value.empty()) registers = value;
      if (const auto value = after("ScratchSize [bytes/lane]: "); !value.empty()) bytes = value;
      if (const auto value = after("Occupancy [waves/SIMD]: "); !value.empty()) waves = value;
      const auto local = after("LDS Size [bytes/block]: ");
      if (local.empty()) continue;
      EXPECT_LE(std::stoull(local), info_.claimed.local_memory) << kernel;
      if (path)
        std::ofstream(path, std::ios::app) << fmt::format("{} {} {} {} {} {}\n", chip_.name, kernel,
                                                          registers, bytes, local, waves);
    }
    EXPECT_FALSE(kernel.empty()) << "the compiler says nothing about a kernel:\n" << log;
  }

  Chip chip_;
};

class Amd : public testing::TestWithParam<std::tuple<Chip, MethodUnderTest>> {};

TEST_P(Amd, Compiles) {
  const auto& [chip, method] = GetParam();
  const auto device = std::make_shared<AmdCompiler>(chip);
  const auto refusals = compile_method(method, device);
  if (device->compilations == 0) GTEST_SKIP() << refusals.at(0);
  for (const auto& refusal : refusals) std::printf("Not for this chip: %s\n", refusal.c_str());
}

INSTANTIATE_TEST_SUITE_P(All, Amd,
                         testing::Combine(testing::ValuesIn(chips),
                                          testing::ValuesIn(methods_of_kernels())),
                         [](const auto& instance) {
                           return fmt::format("{}_{}", std::get<0>(instance.param).name,
                                              test_name(std::get<1>(instance.param)));
                         });

class AmdCalls : public testing::TestWithParam<Chip> {};

TEST_P(AmdCalls, Compile) { compile_all_calls(std::make_shared<AmdCompiler>(GetParam())); }

INSTANTIATE_TEST_SUITE_P(All, AmdCalls, testing::ValuesIn(chips),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace sortium::test
