// Distributed sorts over MPI: starts mpi_ranks by mpirun and reads what its ranks print.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "support.hpp"

namespace sortium::test {
namespace {

struct Outcome {
  std::string output;
  double seconds;
};

// mpirun may be root here, with more ranks than cores; and containers forbid reading another
// process' memory.
Outcome mpirun(unsigned ranks, const std::string& arguments) {
  for (const char* variable : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
                               "OMPI_MCA_rmaps_base_oversubscribe", "OMPI_MCA_mpi_yield_when_idle"})
    ::setenv(variable, "1", 1);
  ::setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 1);
  ::setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 1);
  const auto start = std::chrono::steady_clock::now();
  std::FILE* const pipe = ::popen(fmt::format("timeout 120 {} -n {} {} {} 2>&1", SORTIUM_MPIRUN,
                                              ranks, SORTIUM_MPI_RANKS, arguments)
                                      .c_str(),
                                  "r");
  if (pipe == nullptr) throw std::runtime_error("mpirun does not start");
  Outcome outcome{};
  char text[4096];
  while (std::fgets(text, sizeof text, pipe) != nullptr) outcome.output += text;
  ::pclose(pipe);
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

unsigned times_in(const std::string& text, const std::string& words) {
  unsigned times = 0;
  for (auto at = text.find(words); at != text.npos; at = text.find(words, at + 1)) ++times;
  return times;
}

class Mpi : public testing::TestWithParam<unsigned> {};
TEST_P(Mpi, AgreesWithAStableSort) {
  const auto outcome = mpirun(GetParam(), "cases 60");
  EXPECT_EQ(times_in(outcome.output, ": passed\n"), GetParam()) << outcome.output;
}
INSTANTIATE_TEST_SUITE_P(Processes, Mpi, testing::Values(1, 2, 3, 4, 7));

TEST(Mpi, SortsOnADeviceWithKernels) {
  const auto outcome = mpirun(2, "device " + test_device()->info().id);
  EXPECT_EQ(times_in(outcome.output, ": passed\n"), 2u) << outcome.output;
}

TEST(MpiFaults, OtherTypeIsAnErrorOnAllRanks) {
  const auto outcome = mpirun(3, "type");
  EXPECT_EQ(times_in(outcome.output, "rank 0: u64 keys"), 3u) << outcome.output;
  EXPECT_EQ(times_in(outcome.output, "rank 1: f64 keys"), 3u) << outcome.output;
}

TEST(MpiFaults, ALateRankIsATimeout) {
  const auto outcome = mpirun(3, "late");
  EXPECT_EQ(times_in(outcome.output, "of 3 had no answer from all others within 0.5"), 2u)
      << outcome.output;
  EXPECT_LT(outcome.seconds, 20);
}

// A sort makes some 20 calls: these are in different phases.
class MpiPhases : public testing::TestWithParam<unsigned> {};
TEST_P(MpiPhases, ARankThatThrowsEndsTheOthers) {
  const auto outcome = mpirun(3, fmt::format("throw {}", GetParam()));
  EXPECT_EQ(times_in(outcome.output, "rank 1: this rank gives up"), 1u) << outcome.output;
  EXPECT_EQ(times_in(outcome.output, "had no answer from all others within 0.5"), 2u)
      << outcome.output;
  EXPECT_LT(outcome.seconds, 20);
}
TEST_P(MpiPhases, ARankThatIsKilledEndsTheOthers) {
  const auto outcome = mpirun(3, fmt::format("kill {}", GetParam()));
  EXPECT_NE(outcome.output.find("signal 9"), outcome.output.npos) << outcome.output;
  EXPECT_LT(outcome.seconds, 20);
}
INSTANTIATE_TEST_SUITE_P(Calls, MpiPhases, testing::Values(0, 4, 8, 10));

}  // namespace
}  // namespace sortium::test
