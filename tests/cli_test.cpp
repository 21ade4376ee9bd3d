// The program `sortium`, run as a user runs it: devices, algorithms, help. And main().
#include "cli.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace {

TEST_F(Cli, DevicesAndAlgorithms) {
  Result r = run("devices");
  EXPECT_EQ(r.code, 0) << r.err;
  for (const char* word : {"opencl", "cuda", "memory", "sub-groups", "forward progress"})
    EXPECT_NE(r.out.find(word), std::string::npos) << r.out;
  r = run("algorithms");
  EXPECT_EQ(r.code, 0);
  for (const char* word : {"lsd", "radix", "std::sort-parallel", "stable", "work_group", "Satish"})
    EXPECT_NE(r.out.find(word), std::string::npos) << r.out;
}

TEST_F(Cli, HelpAndUsage) {
  EXPECT_EQ(run("--version").out, "sortium 0.1.0\n");
  const Result r = run("--help");
  EXPECT_EQ(r.code, 0);
  for (const char* command :
       {"devices", "algorithms", "sort", "topk", "check", "gen", "bench", "pic"}) {
    EXPECT_NE(r.out.find(command), std::string::npos);
    const Result help = run(std::string(command) + " --help");
    EXPECT_EQ(help.code, 0);
    EXPECT_NE(help.out.find("Example"), std::string::npos) << help.out;
    EXPECT_NE(help.out.find(std::string("sortium ") + command), std::string::npos) << help.out;
  }
  refuses("", 2, {"command", "devices", "sort"});
  refuses("frobnicate", 2, {"frobnicate"});
  refuses("sort", 2, {"IN"});
  refuses("sort in.npy", 2, {"--output"});
  refuses("sort in.npy -o out.npy --sideways", 2, {"--sideways"});
}

}  // namespace

int main(int argc, char** argv) { return run_cli_tests(argc, argv); }
