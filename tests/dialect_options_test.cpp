// Tests that options for OpenCL's compiler reach it: those in a source's first line, and those of
// the environment.
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "kernels/kernels.hpp"
#include "support.hpp"

namespace sortium::test {
namespace {

// Options in a source's first line reach the compiler, also when it compiles a cached binary.
TEST(Options, OfAFirstLine) {
  const auto device = test_device();
  if (capabilities(*device).backend != Backend::opencl)
    GTEST_SKIP() << "CUDA's kernels say it themselves";
  const std::string kernel = "__kernel void answer(__global uint *to) { to[0] = ANSWER; }\n";
  std::vector<std::byte> binary;
  EXPECT_NE(device->compile("//! -DANSWER=42\n" + kernel, binary)->kernel("answer"), nullptr);
  if (!binary.empty()) {
    EXPECT_NE(device->load(binary)->kernel("answer"), nullptr);
  }
  EXPECT_THROW((void)device->compile(kernel, binary), Error);
}

// A value of SORTIUM_OPENCL_OPTIONS, as long as this lives.
class OpenClOptions {
 public:
  explicit OpenClOptions(const char* value) {
    if (const char* before = std::getenv(name)) before_ = before;
    *value == '\0' ? ::unsetenv(name) : ::setenv(name, value, 1);
  }
  ~OpenClOptions() { before_ ? ::setenv(name, before_->c_str(), 1) : ::unsetenv(name); }

 private:
  static constexpr const char* name = "SORTIUM_OPENCL_OPTIONS";
  std::optional<std::string> before_;
};

// Returns the text of a kernel for OpenCL, with the defines of `resident` work-groups of
// `work_items`; 0: no bound.
std::string bounded_text(SubGroupWords words, unsigned resident, unsigned work_items) {
  Capabilities c;
  c.backend = Backend::opencl;
  c.sub_group_words = words;
  kernels::Defines defines;
  defines.problem({});
  if (resident == 0)
    defines.set("WG", work_items);
  else
    defines.resident(resident, work_items);
  const auto* const source = resident == 0 ? "\nPARAMETER(WG)\n" : "\nPARAMETER(RESIDENT)\n";
  return kernels::full_text(c, {kernels::Source{"some.cl", source}}, defines);
}

// NVIDIA's OpenCL has no attribute for the number of work-groups that share a compute unit. A
// compiler option bounds the registers instead.
TEST(Options, BoundRegistersOnNvidiasOpenCl) {
  const OpenClOptions none("");
  using enum SubGroupWords;
  EXPECT_TRUE(bounded_text(ptx, 2, 256).starts_with("//! -cl-nv-maxrregcount=128\n"));
  EXPECT_TRUE(bounded_text(ptx, 1, 128).starts_with("//! -cl-nv-maxrregcount=255\n"));
  EXPECT_TRUE(bounded_text(ptx, 0, 256).starts_with("#define"));
  EXPECT_TRUE(bounded_text(khr, 2, 256).starts_with("#define"));
}

TEST(Options, OfTheEnvironmentFollow) {
  const OpenClOptions more("-cl-opt-disable -w");
  using enum SubGroupWords;
  EXPECT_TRUE(
      bounded_text(ptx, 2, 256).starts_with("//! -cl-nv-maxrregcount=128 -cl-opt-disable -w\n"));
  EXPECT_TRUE(bounded_text(khr, 0, 256).starts_with("//! -cl-opt-disable -w\n"));
}

}  // namespace
}  // namespace sortium::test
