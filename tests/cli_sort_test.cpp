// The program `sortium` as a user runs it: the options of `sort`.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "cli.hpp"

namespace {

TEST_F(Cli, ValuesMoveWithTheirKeys) {
  const auto keys = random_keys(5000, 0xff);
  std::vector<std::uint64_t> values(keys.size());
  std::iota(values.begin(), values.end(), std::uint64_t{1} << 40);
  auto order = values;
  std::ranges::stable_sort(order,
                           [&](auto a, auto b) { return keys[a & 0xffff] > keys[b & 0xffff]; });
  write("k.bin", bytes_of(keys));
  write("v.npy", npy("'>M8[ns]'", "(5000,)", bytes_of(values)));
  const Result r =
      run("sort k.bin --type u32 -o k2.bin --values v.npy -o2 v2.npy --descending --verify");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(npy_data(read("v2.npy")), bytes_of(order));
  EXPECT_NE(read("v2.npy").find("'>M8[ns]'"), std::string::npos);
  EXPECT_NE(r.err.find("verified"), std::string::npos);

  // Raw values of 4 bytes. The host's sort must give the same result.
  std::vector<std::uint32_t> small(keys.size());
  std::iota(small.begin(), small.end(), 0u);
  write("v.bin", bytes_of(small));
  ASSERT_EQ(
      run("sort k.bin --type u32 -o a.bin --values v.bin --value-bytes 4 -o2 av.bin --bits 2:5")
          .code,
      0);
  ASSERT_EQ(run("sort k.bin --type u32 -o b.bin --values v.bin --value-bytes 4 -o2 bv.bin --bits "
                "2:5 --verify "
                "--algorithm std::sort")
                .code,
            0);
  EXPECT_EQ(read("a.bin"), read("b.bin"));
  EXPECT_EQ(read("av.bin"), read("bv.bin"));
  EXPECT_NE(read("av.bin"), read("v.bin"));
}

TEST_F(Cli, SeveralDevices) {
  const auto keys = random_keys(50'000, 0xfff);
  write("k.bin", bytes_of(keys));
  std::vector<std::uint32_t> numbers(keys.size());
  std::iota(numbers.begin(), numbers.end(), 0u);
  write("v.bin", bytes_of(numbers));
  const std::string values = " --values v.bin --value-bytes 4 -o2 ";
  for (const std::string device : {"cpu:0", "cpu:0,cpu:0,opencl:0"}) {
    const std::string on = " --type u32 --verify --device " + device, name = device.substr(0, 6);
    const Result r = run("sort k.bin -o " + name + "k" + on + values + name + "v");
    ASSERT_EQ(r.code, 0) << r.err;
    ASSERT_EQ(run("sort k.bin --argsort -o " + name + "p" + on).code, 0);
    ASSERT_EQ(
        run("sort k.bin -o " + name + "r --record 8 --key u16@2,u32@4:desc --device " + device)
            .code,
        0);
  }
  for (const std::string file : {"k", "v", "p", "r"})
    EXPECT_EQ(read("cpu:0," + file), read("cpu:0" + file)) << file;

  const std::string sort = "sort k.bin --type u32 -o bad.bin --device ";
  refuses(sort + "cpu:0,,cpu:0", 2, {"cpu:0,,cpu:0", "item 1 is empty"});
  refuses(sort + "cpu:0,none", 2, {"no device 'none'"});
  refuses(sort + "'gpu:*'", 2, {"gpu:*", "cuda:*"});
  refuses("topk 5 k.bin --type u32 -o bad.bin --device cpu:0,cpu:0", 2, {"one device"});
}

// mpirun and taskset bind processes to cores; oneTBB warns if more threads are asked for.
TEST_F(Cli, UsesTheCoresThatItMay) {
  write("k.bin", bytes_of(random_keys(100'000)));
  const Result r = shell("taskset -c 0 $S sort k.bin --type u32 -o out.bin --device cpu:0");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.err.find("threads=1,"), std::string::npos) << r.err;
  EXPECT_EQ(r.err.find("Warning"), std::string::npos) << r.err;
}

TEST_F(Cli, BadValues) {
  write("k.bin", bytes_of<std::uint32_t>({1, 2, 3}));
  write("v.bin", bytes_of<std::uint32_t>({1, 2}));
  const std::string sort = "sort k.bin --type u32 -o bad.bin ";
  refuses(sort + "--values v.bin --value-bytes 4 -o2 bad2.bin", 2, {"v.bin", "2 records", "3"});
  refuses(sort + "--values v.bin -o2 bad2.bin", 2, {"v.bin", "--value-bytes", "1 to 256"});
  refuses(sort + "--values v.bin --value-bytes 5 -o2 bad2.bin", 2,
          {"v.bin", "truncated", "multiple of 5"});
  refuses(sort + "--values v.bin --value-bytes 0 -o2 bad2.bin", 2, {"--value-bytes", "0"});
  refuses(sort + "--values v.bin --value-bytes 257 -o2 bad2.bin", 2, {"--value-bytes", "257"});
  refuses(sort + "--values v.bin --value-bytes 4", 2, {"--values", "-o2"});
  refuses(sort + "-o2 bad2.bin", 2, {"--values", "-o2"});
  refuses(sort + "--values v.bin --value-bytes 4 -o2 ./bad.bin", 2, {"same file"});
  refuses(sort + "--values v.bin --value-bytes 4 -o2 bad2.bin --argsort", 2,
          {"--argsort", "--values"});
  refuses(sort + "--values none.bin --value-bytes 4 -o2 bad2.bin", 2, {"none.bin", "No such file"});
  write("v.npy", npy("'|S300'", "(3,)", std::string(900, 'x')));
  refuses(sort + "--values v.npy -o2 bad2.npy", 2, {"v.npy", "|S300", "1 to 256"});
  write("o.npy", npy("'|O8'", "(3,)", std::string(24, 'x')));
  refuses(sort + "--values o.npy -o2 bad2.npy", 2, {"o.npy", "|O8"});
}

TEST_F(Cli, Argsort) {
  const auto keys = random_keys(4000, 0x3f);
  std::vector<std::uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, {}, [&](auto i) { return keys[i]; });
  write("k.npy", npy("'>u4'", "(4000,)", bytes_of(keys, true)));
  ASSERT_EQ(run("sort k.npy --argsort -o p.npy --verify").code, 0);
  EXPECT_EQ(npy_data(read("p.npy")), bytes_of(order));
  EXPECT_NE(read("p.npy").find("'<u4'"), std::string::npos);
  EXPECT_EQ(npy_data(read("k.npy")), bytes_of(keys, true));

  ASSERT_EQ(run("sort k.npy --argsort --index-bytes 8 -o p8.bin --verify").code, 0);
  EXPECT_EQ(read("p8.bin"), bytes_of(std::vector<std::uint64_t>(order.begin(), order.end())));
  ASSERT_EQ(run("sort k.npy --argsort -o peer.npy --verify --algorithm std::sort").code, 0);
  EXPECT_EQ(read("peer.npy"), read("p.npy"));
  EXPECT_EQ(shell("printf '30\\n10\\n20\\n' | $S sort - --text --type u32 --argsort -o -").out,
            "1\n2\n0\n");
  refuses("sort k.npy --argsort --index-bytes 2 -o bad.npy", 2, {"--index-bytes", "2", "4"});
}

TEST_F(Cli, DescendingIsStable) {
  const auto keys = random_keys(4000, 0xf);
  std::vector<std::uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, std::greater<>{}, [&](auto i) { return keys[i]; });
  write("k.bin", bytes_of(keys));
  ASSERT_EQ(run("sort k.bin --type u32 --descending --argsort -o p.bin").code, 0);
  EXPECT_EQ(read("p.bin"), bytes_of(order));
}

TEST_F(Cli, BitRange) {
  auto keys = random_keys(4000);
  write("k.bin", bytes_of(keys));
  std::ranges::stable_sort(keys, {}, [](auto k) { return k >> 4 & 0xff; });
  ASSERT_EQ(run("sort k.bin --type u32 --bits 4:12 -o out.bin --verify").code, 0);
  EXPECT_EQ(read("out.bin"), bytes_of(keys));
  EXPECT_EQ(run("check out.bin --type u32 --bits 4:12").code, 0);
  EXPECT_EQ(run("check out.bin --type u32").code, 1);
  for (const char* bits : {"5:3", "4:4", "0", "a:b", "0:8x", "-1:8", ":8", "0:99999999999"})
    refuses(std::string("sort k.bin --type u32 -o bad.bin --bits=") + bits, 2, {"--bits", bits});
  refuses("sort k.bin --type u32 -o bad.bin --bits 0:33", 2, {"--bits", "0:33", "0:32"});
  refuses("check k.bin --type u32 --bits 5:3", 2, {"--bits", "5:3"});
}

TEST_F(Cli, AlgorithmsAndParameters) {
  write("k.bin", bytes_of(random_keys(10000)));
  const Result r =
      run("sort k.bin --type u32 -o out.bin --algorithm lsd --params groups=3 --verify");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.err.find("lsd("), std::string::npos);
  EXPECT_NE(r.err.find("groups=3"), std::string::npos);
  EXPECT_EQ(run("check out.bin --type u32").code, 0);
  EXPECT_EQ(run("check out.bin k.bin --type u32").code, 0);
  const std::string sort = "sort k.bin --type u32 -o bad.bin ";
  refuses(sort + "--algorithm quick", 2, {"--algorithm", "quick", "lsd", "radix", "std::sort"});
  refuses(sort + "--algorithm lsd --params speed=9", 2, {"speed", "groups"});
  refuses(sort + "--algorithm lsd --params groups=0", 2, {"groups=0", "1 to"});
  refuses(sort + "--algorithm lsd --params groups", 2, {"groups", "name=value"});
  refuses(sort + "--algorithm std::sort --params groups=1", 2, {"--params", "std::sort"});
  refuses(sort + "--device nowhere:9", 2, {"nowhere:9"});
}

TEST_F(Cli, KeepsToACeilingForTemporaryMemory) {
  write("k.bin",
        bytes_of(random_keys(300'000)));  // too many for the sorts without scratch memory
  const Result r = run("sort k.bin --type u32 -o out.bin --max-scratch 900000 --verify");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.err.find("-in-place("), std::string::npos) << r.err;
  EXPECT_EQ(run("check out.bin k.bin --type u32").code, 0);
  refuses("sort k.bin --type u32 -o bad.bin --max-scratch 1", 2,
          {"max_scratch_bytes is 1", "are needed"});
  refuses("sort k.bin --type u32 -o bad.bin --max-scratch 0", 2, {"--max-scratch"});
  refuses("sort k.bin --type u32 -o bad.bin --max-scratch 1000000 --algorithm std::sort", 2,
          {"--max-scratch", "std::sort"});
}

TEST_F(Cli, KeepsToALimitOfDeviceMemory) {
  write("k.bin", bytes_of(random_keys(300'000)));
  const Result r = run("sort k.bin --type u32 -o out.bin --max-device-bytes 400000 --verify");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(run("check out.bin k.bin --type u32").code, 0);
  refuses("sort k.bin --type u32 -o bad.bin --max-device-bytes 0", 2, {"--max-device-bytes"});
  refuses("sort k.bin --type u32 -o bad.bin --max-device-bytes 9 --algorithm std::sort", 2,
          {"--max-device-bytes 9", "std::sort"});
  // The default device may be cpu:0, which the limit does not concern; merge needs another one.
  refuses("sort k.bin --type u32 -o bad.bin --max-device-bytes 9 --algorithm merge", 2,
          {"max_device_bytes is 9", "300000 records"});
}

TEST_F(Cli, PartialSortSaysSo) {
  write("k.bin", bytes_of(random_keys(5000)));
  Result r = run("sort k.bin --type u32 -o out.bin --algorithm selection-local --verify");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.err.find("SORTED RUNS of"), std::string::npos) << r.err;
  EXPECT_EQ(run("check out.bin --type u32").code, 1);
  r = run("sort k.bin --type u32 -o out.bin --algorithm selection-local --quiet");
  EXPECT_NE(r.err.find("SORTED RUNS of"), std::string::npos) << r.err;
}

TEST_F(Cli, ParallelPeer) {
  write("k.bin", bytes_of(random_keys(100000)));
  const Result r = run("sort k.bin --type u32 -o out.bin --algorithm std::sort-parallel --verify");
  if (r.code == 2) {
    EXPECT_NE(r.err.find("TBB"), std::string::npos) << r.err;
    EXPECT_FALSE(exists("out.bin"));
    return;
  }
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(run("check out.bin --type u32").code, 0);
  EXPECT_EQ(run("check out.bin k.bin --type u32").code, 0);
}

TEST_F(Cli, Summary) {
  write("k.bin", bytes_of(random_keys(1000)));
  const Result r = run("sort k.bin --type u32 -o out.bin");
  EXPECT_EQ(std::ranges::count(r.err, '\n'), 1) << r.err;
  for (const char* word : {"1000 u32 keys", "reading", "transfer", "sorting", "writing", "Mkey/s"})
    EXPECT_NE(r.err.find(word), std::string::npos) << r.err;
  EXPECT_EQ(r.err.find('\r'), std::string::npos) << "a bar in a pipe";
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(run("sort k.bin --type u32 -o out.bin --quiet").err, "");
}

}  // namespace
