// `sortium sort --memory`: every kind of file against the sort in memory; errors, faults, kills.
#include <sched.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <tuple>

#include "cli.hpp"
#include "support.hpp"

namespace {

using sortium::test::Random;

class External : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    // What a merge needs grows with the cores. With two, every machine needs what these tests give.
    ASSERT_EQ(::sched_getaffinity(0, sizeof all_cores_, &all_cores_), 0);
    cpu_set_t two;
    CPU_ZERO(&two);
    for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&two) < 2; ++core)
      if (CPU_ISSET(core, &all_cores_)) CPU_SET(core, &two);
    ASSERT_EQ(::sched_setaffinity(0, sizeof two, &two), 0);
    std::printf("SORTIUM_TEST_SEED=%#llx\n",
                static_cast<unsigned long long>(sortium::test::run_seed()));
    const Result r = run("sort /dev/null --type u32 -o none --device cpu:0 --memory 1M");
    EXPECT_EQ(r.code, 2);
    const auto at = r.err.rfind("at least ");
    ASSERT_NE(at, std::string::npos) << r.err;
    least_ = std::stoull(r.err.substr(at + 9));
  }
  void TearDown() override {
    EXPECT_EQ(::sched_setaffinity(0, sizeof all_cores_, &all_cores_), 0);
    Cli::TearDown();
  }
  // The options of a sort with little memory: data of more than 8 MiB need several runs.
  [[nodiscard]] std::string little() const {
    return fmt::format(" --device cpu:0 --memory {}", least_ + (2 << 20));
  }
  [[nodiscard]] static std::string random_bytes(std::size_t count, unsigned kinds = 0) {
    Random random(sortium::test::run_seed() + count);
    std::string out(count, '\0');
    for (std::size_t i = 0; i < count; i += 8) {
      const std::uint64_t x =
          kinds == 0 ? random.next() : random.below(kinds) * 0x9e3779b97f4a7c15u;
      std::memcpy(out.data() + i, &x, std::min<std::size_t>(8, count - i));
    }
    return out;
  }
  // Sorts with and without --memory, and compares the outputs. `outputs` are named "%-name".
  void agrees(const std::string& command, const std::vector<std::string>& outputs) const {
    const auto with = [&](const std::string& prefix) {
      std::string line = command;
      for (std::size_t at; (at = line.find('%')) != line.npos;) line.replace(at, 1, prefix);
      return line;
    };
    const Result r = run(with("few") + little());
    ASSERT_EQ(r.code, 0) << command << r.err;
    EXPECT_NE(r.err.find(" runs, "), std::string::npos) << r.err;
    const Result all = run(with("all") + " --device cpu:0");
    ASSERT_EQ(all.code, 0) << command << all.err;
    for (const auto& name : outputs) {
      EXPECT_GT(read("all" + name).size(), 0u);
      EXPECT_TRUE(read("few" + name) == read("all" + name)) << command << ": " << name;
    }
  }

  std::uint64_t least_ = 0;
  cpu_set_t all_cores_;
};

constexpr std::size_t megabyte = 1 << 20;

std::string shape(std::size_t count) { return fmt::format("({},)", count); }

TEST_F(External, Keys) {
  write("k.u64", random_bytes(20 * megabyte));
  agrees("sort k.u64 --type u64 -o %.out", {".out"});
  agrees("sort k.u64 --type f32 --descending --nan first -o %.out", {".out"});
  agrees("sort k.u64 --type u16 --bits 3:12 -o %.npy", {".npy"});
  agrees("sort k.u64 --type i64 --argsort --index-bytes 8 -o %.npy", {".npy"});
}

TEST_F(External, NpyInBothByteOrders) {
  const std::string data = random_bytes(16 * megabyte);
  write("k.npy", npy("'<i4'", shape(4 * megabyte), data));
  write("s.npy", npy("'>f8'", shape(2 * megabyte), data));
  agrees("sort k.npy -o %.npy", {".npy"});
  agrees("sort s.npy -o %.npy --descending", {".npy"});
  agrees("sort s.npy -o %.raw", {".raw"});
}

TEST_F(External, Values) {
  write("k.u32", random_bytes(4 * megabyte, 1000));
  write("v.raw", random_bytes(12 * megabyte));
  write("v.npy", npy("[('a', '<f4'), ('b', '>i8')]", shape(megabyte), random_bytes(12 * megabyte)));
  agrees("sort k.u32 --type u32 -o %.k --values v.raw --value-bytes 12 -o2 %.v", {".k", ".v"});
  agrees("sort k.u32 --type u32 -o %.npy --values v.npy -o2 %v.npy", {".npy", "v.npy"});
}

TEST_F(External, Records) {
  write("lines", random_bytes(100 * 200'003, 5000));
  write("r.npy", npy("[('id', '>u4'), ('x', '<f8'), ('y', '<f4')]", shape(megabyte),
                     random_bytes(16 * megabyte, 3000)));
  agrees("sort lines --record 100 --key 'bytes[0:10]' -o %.out", {".out"});
  agrees("sort lines --record 100 --key f32@12:desc,u16@40 -o %.out", {".out"});
  agrees("sort r.npy --by x:desc,id -o %.npy", {".npy"});
  agrees("sort r.npy --by id -o %.npy --argsort", {".npy"});
}

TEST_F(External, Text) {
  Random random(sortium::test::run_seed());
  std::string text;
  for (int i = 0; i < 2'000'000; ++i)
    text +=
        std::to_string(static_cast<std::int32_t>(random.next())) + (i % 1000 == 7 ? " \r\n" : "\n");
  write("k.txt", text + "\n\n  \n");
  agrees("sort k.txt --text --type i64 -o %.txt", {".txt"});
  agrees("sort k.txt --text --type f32 --descending -o %.txt", {".txt"});
  // The number of the wrong line, beyond the first part that is parsed.
  write("bad.txt", text + "\n17\n");
  refuses("sort bad.txt --text --type i64 -o out" + little(), 2, {"line 2000001", "is empty"});
  write("bad.txt", text + "x7\n");
  refuses("sort bad.txt --text --type i64 -o out" + little(), 2, {"line 2000001", "'x7'"});
}

TEST_F(External, PipesAndInPlace) {
  const std::string data = random_bytes(20 * megabyte);
  write("k", data);
  ASSERT_EQ(run("sort k --type u64 -o sorted --device cpu:0").code, 0);
  const Result r =
      shell("cat k | $S sort - --type u64 -o - --temp ." + little() + " | cmp - sorted");
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_NE(r.err.find(" runs, "), std::string::npos) << r.err;
  const Result in_place = run("sort k --type u64 -o k" + little());
  EXPECT_EQ(in_place.code, 0) << in_place.err;
  EXPECT_TRUE(read("k") == read("sorted"));
  // An .npy file through a pipe: its header tells the length.
  write("k.npy", npy("'<u8'", shape(data.size() / 8), data));
  EXPECT_EQ(shell("cat k.npy | $S sort - -o out.npy" + little()).code, 0);
  EXPECT_TRUE(npy_data(read("out.npy")) == read("sorted"));
  write("short.npy", npy("'<u8'", shape(data.size() / 8 + 1), data));
  EXPECT_NE(shell("cat short.npy | $S sort - -o out2.npy" + little()).err.find("truncated"),
            std::string::npos);
  write("long.npy", npy("'<u8'", shape(data.size() / 8 - 1), data));
  EXPECT_NE(shell("cat long.npy | $S sort - -o out2.npy" + little()).err.find("more bytes follow"),
            std::string::npos);
  EXPECT_FALSE(exists("out2.npy"));
}

// ---- in place ----

TEST_F(External, InPlaceAgrees) {
  const std::string data = random_bytes(16 * megabyte);
  write("k", data);
  write("k.npy", npy("'>f8'", shape(2 * megabyte), data));
  write("r.npy", npy("[('id', '>u4'), ('x', '<f8'), ('y', '<f4')]", shape(megabyte),
                     random_bytes(16 * megabyte, 3000)));
  write("v.npy", npy("[('a', '<f4'), ('b', '>i8')]", shape(megabyte), random_bytes(12 * megabyte)));
  write("few", random_bytes(800));
  struct Case {
    const char *files, *key;
  };
  for (const auto& [names, key] :
       {Case{"k", "--type i64"}, Case{"k.npy", "--descending"}, Case{"r.npy", "--by id:desc,x"},
        Case{"few", "--type u32"}, Case{"k v.npy", "--type f64"}}) {
    const std::string name = std::string(names).substr(0, std::string(names).find(' '));
    const bool has_values = name != names;
    // As many keys as there are values.
    if (has_values) write("k", data.substr(0, 8 * megabyte));
    const auto values = [&](const char* out) {
      return has_values ? fmt::format(" --values v.npy -o2 {}", out) : "";
    };
    const bool is_npy = name.ends_with(".npy");
    const std::string expected = is_npy ? "expected.npy" : "expected";
    ASSERT_EQ(run(fmt::format("sort {} {} -o {} --device cpu:0{}", name, key, expected,
                              values("values.npy")))
                  .code,
              0);
    const Result r = run(
        fmt::format("sort {0} {1} -o {0} --in-place{2}{3}", name, key, values("v.npy"), little()));
    ASSERT_EQ(r.code, 0) << r.err;
    EXPECT_TRUE(read(name) == read(expected)) << name;
    if (has_values) {
      EXPECT_TRUE(read("v.npy") == read("values.npy"));
    }
  }
}

// A disk that has no space for two copies.
TEST_F(External, InPlaceOnASmallDisk) {
  const std::string mounted =
      "unshare -rm sh -c \"mount -t tmpfs -o size=32m tmpfs disk && cp k disk/k && {}\"";
  fs::create_directory(dir_ / "disk");
  write("k", random_bytes(24 * megabyte));
  if (shell(fmt::format(fmt::runtime(mounted), "true")).code != 0)
    GTEST_SKIP() << "no file system may be mounted here";
  ASSERT_EQ(run("sort k --type u64 -o sorted --device cpu:0").code, 0);
  const std::string sort = "$S sort disk/k --type u64 -o disk/k" + little();
  const Result full = shell(fmt::format(
      fmt::runtime(mounted), sort + "; code=\\$?; cmp k disk/k && ls -A disk; exit \\$code"));
  EXPECT_EQ(full.code, 3) << full.err;
  EXPECT_EQ(full.out, "k\n");
  for (const char* word : {"No space left", "--in-place"})
    EXPECT_NE(full.err.find(word), std::string::npos) << full.err;
  const Result r = shell(
      fmt::format(fmt::runtime(mounted), sort + " --in-place && cmp sorted disk/k && ls -A disk"));
  EXPECT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_EQ(r.out, "k\n");
  EXPECT_NE(r.err.find(" runs, "), std::string::npos) << r.err;
}

// A disk error before the merge: all records are there, in another order.
TEST_F(External, InPlacePutsRecordsBack) {
  const std::string data = random_bytes(24 * megabyte);
  ASSERT_EQ((write("k", data), run("sort k --type u64 -o sorted --device cpu:0").code), 0);
  for (const auto& [call, file, error] :
       {std::tuple{"pread", "/k", EIO}, {"pwrite", "(deleted)", ENOSPC}})
    for (const int n : {1, 9, 20}) {
      write("k", data);
      const Result r = shell(
          fmt::format("ASAN_OPTIONS=verify_asan_link_order=0 FAIL_IO={}:{}:{}:'{}' LD_PRELOAD={} "
                      "$S sort k --type u64 -o k --in-place{}",
                      call, n, error, file, FAIL_IO, little()));
      EXPECT_EQ(r.code, 3) << call << n << r.err;
      EXPECT_NE(r.err.find(std::strerror(error)), std::string::npos) << r.err;
      EXPECT_EQ(files(), (std::vector<std::string>{"io", "k", "sorted"}));
      ASSERT_EQ(run("sort k --type u64 -o again --device cpu:0").code, 0);
      EXPECT_TRUE(read("again") == read("sorted")) << call << n;
      fs::remove(dir_ / "again");
    }
}

TEST_F(External, InPlaceUsage) {
  write("k", random_bytes(64));
  write("v", random_bytes(64));
  const std::string with = " --memory 1G --in-place";
  refuses("sort k --type u32 -o k --in-place", 2, {"--in-place", "--memory"});
  refuses("sort k --type u32 -o out" + with, 2, {"--in-place", "out is not the input k"});
  refuses("sort k --type u32 -o k --argsort" + with, 2, {"--argsort", "--in-place"});
  refuses("sort k --text --type u32 -o k" + with, 2, {"--text", "--in-place"});
  refuses("sort - --type u32 -o -" + with, 2, {"--in-place", "- is not a regular file"});
  refuses("sort k --type u32 -o k --values v --value-bytes 4 -o2 w" + with, 2,
          {"w is not the input v"});
}

// Holes are read as zeros. More than 2^32 records need 64-bit counts everywhere.
TEST_F(External, SparseFiles) {
  write("k", random_bytes(megabyte));
  fs::resize_file(dir_ / "k", 13 * megabyte + 4);
  std::ofstream(dir_ / "k", std::ios::binary | std::ios::app) << random_bytes(megabyte);
  fs::resize_file(dir_ / "k", 20 * megabyte);
  agrees("sort k --type i32 -o %.out", {".out"});
  agrees("sort k --type f64 -o %.out --descending", {".out"});
}

TEST_F(External, DISABLED_MoreThan2To32Records) {  // one of the slow tests
  constexpr std::uint64_t count = (std::uint64_t{1} << 32) + 5;
  write("k", "");
  fs::resize_file(dir_ / "k", count);
  std::fstream file(dir_ / "k", std::ios::binary | std::ios::in | std::ios::out);
  char value = 9;
  for (const std::uint64_t at : {std::uint64_t{0}, count / 2, count - 6, count - 5, count - 1}) {
    file.seekp(static_cast<std::streamoff>(at)).put(value);
    value = static_cast<char>(value - 2);
  }
  file.close();
  const Result sorted = run("sort k --type u8 -o out --device cpu:0 --memory 1G");
  ASSERT_EQ(sorted.code, 0) << sorted.err;
  EXPECT_EQ(fs::file_size(dir_ / "out"), count);
  EXPECT_EQ(run("check out --type u8").code, 0);
  std::ifstream out(dir_ / "out", std::ios::binary);
  std::string end(6, 'x');
  out.seekg(-6, std::ios::end).read(end.data(), 6);
  EXPECT_EQ(end, std::string("\0\1\3\5\7\11", 6));  // all before are zeros: they are sorted
}

TEST_F(External, FewRecords) {
  for (const std::string& data :
       {std::string(), std::string("dcba"), std::string("\4\0\0\0\3\0\0\0", 8)}) {
    write("k", data);
    EXPECT_EQ(run("sort k --type u32 -o o.npy --device cpu:0").code, 0);
    const Result r = run("sort k --type u32 -o e.npy --quiet" + little());
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(r.err, "");
    EXPECT_EQ(read("e.npy"), read("o.npy"));
  }
}

// The kernel's own figure of the process's memory, with few and many cores.
TEST_F(External, PeakMemoryIsWithinTheLimit) {
  write("k", random_bytes(48 * megabyte));
  for (const int cores : {2, 16, 64})
    for (const std::uint64_t more : {1, 8, 32})
      for (const char* type : {"--type u64", "--record 24 --key f64@8"}) {
        std::uint64_t limit = least_ + more * megabyte;
        const auto sort = [&] {
          return shell(fmt::format(
              "CORES={} ASAN_OPTIONS=verify_asan_link_order=0 PEAK_TO=peak LD_PRELOAD={} $S sort k "
              "{} -o out --device cpu:0 --memory {}",
              cores, FAIL_IO, type, limit));
        };
        Result r = sort();
        // Many cores need more. What the process has before it begins differs from run to run.
        for (int tries = 0; tries < 4 && r.code == 2; ++tries) {
          const auto at = r.err.rfind("at least ");
          ASSERT_NE(at, std::string::npos) << r.err;
          limit = std::stoull(r.err.substr(at + 9)) + 2 * megabyte;
          r = sort();
        }
        ASSERT_EQ(r.code, 0) << r.err;
        const std::uint64_t peak = std::stoull(read("peak").substr(6)) * 1024;
        EXPECT_LE(peak, limit) << type << " with " << limit << " on " << cores << " cores";
        // Not with many cores: the memory of their threads may not be needed.
        if (cores == 2) {
          EXPECT_GT(peak, limit / 3) << type << " with " << limit;
        }
      }
}

TEST_F(External, Usage) {
  write("k", random_bytes(64));
  refuses("sort k --type u32 -o out --memory 8Q", 2, {"--memory '8Q'", "8G"});
  refuses("sort k --type u32 -o out --memory 0", 2, {"--memory '0'"});
  refuses("sort k --type u32 -o out --memory 1M --device cpu:0", 2, {"--memory 1M", "at least"});
  refuses("sort k --type u32 -o out --temp /tmp", 2, {"--temp", "--memory"});
  refuses("sort k --type u32 -o out --memory 1G --verify", 2, {"--verify", "sortium check"});
  refuses("sort k --type u32 -o out --memory 1G --segments k", 2, {"--segments"});
  refuses("sort k --type u32 -o out --memory 1G --algorithm std::sort", 2, {"std::sort"});
  refuses("sort k --type u32 -o out --memory 1G --device cpu:0,cpu:0", 2, {"one device"});
  refuses("sort k --type u32 -o out --memory 1G --temp /absent", 3, {"/absent"});
  write("v", random_bytes(12));
  refuses("sort k --type u32 -o o --values v --value-bytes 4 -o2 o2 --memory 1G", 2,
          {"3 records", "16"});
  write("k3", random_bytes(67));
  refuses("sort k3 --type u32 -o out --memory 1G", 2, {"not a multiple of 4"});
}

// ---- faults ----

// The n-th transfer fails or is short.
TEST_F(External, TransfersThatFail) {
  const std::string data = random_bytes(24 * megabyte);
  write("k", data);
  ASSERT_EQ(run("sort k --type u64 -o sorted --device cpu:0").code, 0);
  const auto sort = [&](const std::string& plan) {
    return shell(
        fmt::format("ASAN_OPTIONS=verify_asan_link_order=0 FAIL_IO={} LD_PRELOAD={} $S "
                    "sort k --type u64 -o k{}",
                    plan, FAIL_IO, little()));
  };
  const std::pair<std::string, std::string> transfers[] = {
      {"pread", "/k"}, {"pwrite", "(deleted)"}, {"pread", "(deleted)"}, {"pwrite", ".tmp"}};
  for (const auto& [call, file] : transfers)
    for (const int n : {1, 2, 5}) {
      const auto where = fmt::format("{}:{}", call, n);
      const int error = call.ends_with("write") ? ENOSPC : EIO;
      const Result r = sort(fmt::format("{}:{}:'{}'", where, error, file));
      EXPECT_EQ(r.code, 3) << where << r.err;
      EXPECT_NE(r.err.find(std::strerror(error)), std::string::npos) << where << r.err;
      EXPECT_TRUE(read("k") == data) << where;
      EXPECT_EQ(files(), (std::vector<std::string>{"io", "k", "sorted"})) << where;
      for (const std::string& how : {std::string("short"), std::to_string(EINTR)}) {
        const Result continued = sort(fmt::format("{}:{}:'{}'", where, how, file));
        EXPECT_EQ(continued.code, 0) << where << how << continued.err;
        EXPECT_TRUE(read("k") == read("sorted")) << where << how;
        write("k", data);
      }
    }
}

// Likewise for records of the sort benchmark, which are made, written, read and checked in blocks.
TEST_F(External, TransfersOfBenchmarkRecordsThatFail) {
  ASSERT_EQ(run("gen 40000 -o whole").code, 0);
  const auto before = files();
  const auto with_plan = [&](const std::string& plan, const std::string& arguments) {
    return shell(fmt::format("ASAN_OPTIONS=verify_asan_link_order=0 FAIL_IO={} LD_PRELOAD={} $S {}",
                             plan, FAIL_IO, arguments));
  };
  for (const int n : {1, 3}) {
    const Result full = with_plan(fmt::format("pwrite:{}:{}:.tmp", n, ENOSPC), "gen 40000 -o part");
    EXPECT_EQ(full.code, 3) << full.err;
    EXPECT_NE(full.err.find("cannot write part: No space left"), std::string::npos) << full.err;
    EXPECT_EQ(files(), before);
    EXPECT_EQ(with_plan(fmt::format("pwrite:{}:short:.tmp", n), "gen 40000 -o part").code, 0);
    EXPECT_TRUE(read("part") == read("whole"));
    fs::remove(dir_ / "part");

    const std::string check = "check whole --records --summary part";
    const Result lost = with_plan(fmt::format("pread:{}:{}:/whole", n, EIO), check);
    EXPECT_EQ(lost.code, 3) << lost.err;
    EXPECT_NE(lost.err.find("cannot read whole: Input/output error"), std::string::npos)
        << lost.err;
    EXPECT_EQ(files(), before);
    const Result halved = with_plan(fmt::format("pread:{}:short:/whole", n), check);
    EXPECT_EQ(halved.code, 1) << halved.err;
    EXPECT_EQ(halved.out, run("check whole --records").out);
    fs::remove(dir_ / "part");
  }
}

// The input changes its length while it is read. A pipe as temporary limit is not possible, so a
// thread changes the file soon after the start; the sort must then fail or have been faster.
TEST_F(External, InputThatChangesItsLength) {
  const std::string data = random_bytes(64 * megabyte);
  int refused = 0;
  for (int trial = 0; trial < 6; ++trial) {
    write("k", data);
    const int log =
        ::open((dir_ / "io" / "err").c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    Waiting program(dir_,
                    {"sort", "k", "--type", "u64", "-o", "out", "--device", "cpu:0", "--memory",
                     std::to_string(least_ + 2 * megabyte), "--quiet"},
                    log);
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + 5 * trial));
    fs::resize_file(dir_ / "k", trial % 2 == 0 ? 8 : data.size() + 8);
    const int status = program.wait();
    ::close(log);
    ASSERT_TRUE(WIFEXITED(status));
    if (WEXITSTATUS(status) == 0) {
      EXPECT_EQ(fs::file_size(dir_ / "out") % 8, 0u);
      fs::remove(dir_ / "out");
      continue;
    }
    const std::string err = read("io/err");
    refused += err.find("while it was read") != err.npos ? 1 : 0;
    EXPECT_FALSE(exists("out")) << err;
  }
  EXPECT_GT(refused, 0);
}

// ---- kills ----

class ExternalKills : public External {
 protected:
  // Kills sorts whose output is the input at random moments: the input is intact or the result
  // complete, and the next sort leaves no temporary file. With --in-place, a signal that can be
  // caught leaves all records in the file.
  void kill_many(int kills, bool in_place = false) const {
    const std::string data = random_bytes(24 * megabyte);
    write("k", data);
    ASSERT_EQ(run("sort k --type u64 -o sorted --device cpu:0").code, 0);
    const std::string sorted = read("sorted");
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_EQ(run("sort k --type u64 -o again" + little()).code, 0);
    const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::steady_clock::now() - begin);
    fs::remove(dir_ / "again");
    Random random(sortium::test::run_seed());
    int killed = 0;
    for (int i = 0; i < kills; ++i) {
      if (read("k") != data) write("k", data);
      const auto left = files();  // perhaps with a temporary file of one that was killed
      const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
      std::vector<std::string> arguments{
          "sort", "k",        "--type", "u64",      "-o",
          "k",    "--device", "cpu:0",  "--memory", std::to_string(least_ + 2 * megabyte)};
      if (in_place) arguments.emplace_back("--in-place");
      Waiting program(dir_, arguments, null);
      std::this_thread::sleep_for(
          std::chrono::microseconds(random.below(static_cast<std::uint64_t>(whole.count()))));
      const int number = std::array{SIGTERM, SIGINT, SIGKILL}[random.below(in_place ? 2 : 3)];
      program.signal(number);
      const int status = program.wait();
      ::close(null);
      const bool died = WIFSIGNALED(status) && WTERMSIG(status) == number;
      EXPECT_TRUE(died || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) << status;
      killed += died ? 1 : 0;
      std::string now = read("k");
      if (in_place) {
        ASSERT_EQ(run("sort k --type u64 -o again --device cpu:0").code, 0);
        now = read("again");
        fs::remove(dir_ / "again");
      }
      EXPECT_TRUE(now == data || now == sorted) << "kill " << i << " with " << number;
      if (died && number != SIGKILL) {
        EXPECT_TRUE(std::ranges::includes(left, files())) << number;
      }
    }
    EXPECT_EQ(run("sort k --type u64 -o k" + little()).code, 0);
    EXPECT_EQ(files(), (std::vector<std::string>{"io", "k", "sorted"}));
    EXPECT_GT(killed, 0);
    std::printf("%d of %d runs were killed\n", killed, kills);
  }
};

TEST_F(ExternalKills, AFew) {
  kill_many(12);
  kill_many(12, true);
}
TEST_F(ExternalKills, DISABLED_Many) {  // one of the slow tests
  kill_many(200);
  kill_many(200, true);
}

}  // namespace

int main(int argc, char** argv) { return run_cli_tests(argc, argv); }
