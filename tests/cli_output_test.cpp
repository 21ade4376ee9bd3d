// The program `sortium` as a user runs it: output is complete or absent; interruptions; progress.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "cli.hpp"

namespace {

TEST_F(Cli, InPlaceAndThroughLinks) {
  auto keys = random_keys(1000);
  write("k.bin", bytes_of(keys));
  fs::permissions(dir_ / "k.bin", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("k.bin", dir_ / "link.bin");
  ASSERT_EQ(run("sort k.bin --type u32 -o link.bin").code, 0);
  std::ranges::sort(keys);
  EXPECT_EQ(read("k.bin"), bytes_of(keys));
  EXPECT_TRUE(fs::is_symlink(dir_ / "link.bin"));
  EXPECT_EQ(fs::status(dir_ / "k.bin").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(files(), (std::vector<std::string>{"io", "k.bin", "link.bin"}));
}

TEST_F(Cli, OutputThatCannotBe) {
  write("k.bin", bytes_of(random_keys(100)));
  refuses("sort k.bin --type u32 -o none/out.bin", 2, {"none/out.bin", "No such file"});
  refuses("sort k.bin --type u32 -o /dev/full/out.bin", 2,
          {"/dev/full/out.bin", "Not a directory"});
  refuses("sort k.bin --type u32 -o io", 2, {"io", "directory"});
  refuses("sort k.bin --type u32 -o /dev/full", 3, {"/dev/full", "No space left"});
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  const Result r = shell("$S sort k.bin --type u32 -o - > /dev/full");
  EXPECT_EQ(r.code, 3);
  EXPECT_NE(r.err.find("No space left"), std::string::npos) << r.err;
}

TEST_F(Cli, DiskThatFillsUp) {
  write("k.bin", bytes_of(random_keys(1 << 20)));
  write("out.bin", "what was there");
  // A limit on the file's size stands in for a full disk.
  std::string lines;
  for (int i = 0; i < 200'000; ++i) lines += std::to_string(i * 7919 % 200'000) + "\n";
  write("k.txt", lines);
  for (const char* arguments :
       {"k.bin --type u32 -o out.bin", "k.txt --type u32 --text --argsort -o out.txt",
        "k.bin --type u32 -o out.npy --values k.bin --value-bytes 4 -o2 v.npy"}) {
    const auto before = files();
    const Result r = shell(std::string("ulimit -f 100; $S sort ") + arguments);
    EXPECT_EQ(r.code, 3) << r.err;
    EXPECT_NE(r.err.find("cannot write"), std::string::npos) << r.err;
    EXPECT_EQ(files(), before);
  }
  EXPECT_EQ(read("out.bin"), "what was there");
}

TEST_F(Cli, FailureLeavesOldOutput) {
  write("bad.txt", "x\n");
  write("out.txt", "old");
  EXPECT_EQ(run("sort bad.txt --text --type u32 -o out.txt").code, 2);
  EXPECT_EQ(read("out.txt"), "old");
  EXPECT_EQ(files(), (std::vector<std::string>{"bad.txt", "io", "out.txt"}));
}

TEST_F(Cli, SignalsRemoveTheTemporary) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    Waiting run(dir_, {"sort", "-", "--text", "--type", "u32", "-o", "out.txt"}, null);
    run.feed("1\n");
    const auto has_temporary = [&] {
      return std::ranges::any_of(files(),
                                 [](const auto& name) { return name.starts_with(".sortium-"); });
    };
    for (int i = 0; i < 6000 && !has_temporary(); ++i) ::usleep(10'000);
    ASSERT_TRUE(has_temporary());
    run.signal(number);
    const int status = run.wait();
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), number);
    EXPECT_EQ(files(), std::vector<std::string>{"io"});
    ::close(null);
  }
}

// A sort of several minutes is announced first, also with --quiet, and Ctrl-C ends it at once.
TEST_F(Cli, AQuadraticSortWarnsAndCanBeInterrupted) {
  std::vector<std::uint32_t> keys(std::size_t{1} << 22);
  std::iota(keys.begin(), keys.end(), 0u);
  write("many.u32", bytes_of(keys));
  const auto before = files();
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  Waiting run(
      dir_,
      {"sort", "many.u32", "--type", "u32", "-o", "out.u32", "--algorithm", "selection", "--quiet"},
      ends[1]);
  ::close(ends[1]);
  std::string said;
  char part[512];
  // Drivers may print messages first.
  for (ssize_t n;
       said.find("minutes") == std::string::npos && (n = ::read(ends[0], part, sizeof part)) > 0;)
    said.append(part, static_cast<std::size_t>(n));
  EXPECT_NE(said.find("warning: selection"), std::string::npos) << said;
  EXPECT_NE(said.find("4194304 records"), std::string::npos) << said;
  EXPECT_NE(said.find("minutes"), std::string::npos) << said;
  ::usleep(300'000);    // by now it sorts
  run.signal(SIGTERM);  // not SIGINT: a shell's background jobs ignore it
  const int status = run.wait();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
  EXPECT_EQ(files(), before);
  ::close(ends[0]);
}

// A signal ends a long sort in ranges cleanly: the library gives up after at most a range.
TEST_F(Cli, ASortInRangesCanBeInterrupted) {
  std::vector<std::uint64_t> keys(std::size_t{1} << 23);
  std::iota(keys.begin(), keys.end(), 0u);
  write("many.u64", bytes_of(keys));
  const auto before = files();
  for (const int number : {SIGINT, SIGTERM}) {
    const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    Waiting run(dir_,
                {"sort", "many.u64", "--type", "u64", "-o", "out.u64", "--algorithm", "selection",
                 "--max-device-bytes", "200000", "--quiet"},
                null);
    ::usleep(700'000);  // by now it sorts, for a minute: selection compares all pairs of a range
    run.signal(number);
    const int status = run.wait();
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == number) << status;
    EXPECT_EQ(files(), before);
    ::close(null);
  }
}

TEST_F(Cli, ProgressBarOnATerminalOnly) {
  int primary = -1, secondary = -1;
  if (::openpty(&primary, &secondary, nullptr, nullptr, nullptr) != 0)
    GTEST_SKIP() << "no pseudo-terminal here (a bare chroot?): " << std::strerror(errno);
  ::fcntl(primary, F_SETFL, O_NONBLOCK);
  std::string shown;
  const auto look = [&] {
    char part[4096];
    for (ssize_t n; (n = ::read(primary, part, sizeof part)) > 0;)
      shown.append(part, static_cast<std::size_t>(n));
  };
  Waiting run(dir_, {"sort", "-", "--text", "--type", "u32", "-o", "out.txt"}, secondary);
  run.feed("2\n1\n");
  for (int i = 0; i < 6000 && shown.find("reading") == std::string::npos; ++i) {
    ::usleep(10'000);
    look();
  }
  EXPECT_NE(shown.find("\r\033[Kreading standard input"), std::string::npos) << shown;
  EXPECT_EQ(run.wait(), 0);
  EXPECT_EQ(read("out.txt"), "1\n2\n");
  look();
  EXPECT_NE(shown.find("2 u32 keys"), std::string::npos) << shown;
  ::close(primary);
  ::close(secondary);
}

TEST_F(Cli, NoProgressBarWhenQuietOrInAPipe) {
  write("k.txt", "2\n1\n");
  const Result piped = shell("(sleep 1.5; cat k.txt) | $S sort - --text --type u32 -o out.txt");
  EXPECT_EQ(piped.code, 0);
  EXPECT_EQ(piped.err.find("reading standard"), std::string::npos) << piped.err;

  int primary = -1, secondary = -1;
  if (::openpty(&primary, &secondary, nullptr, nullptr, nullptr) != 0)
    GTEST_SKIP() << "no pseudo-terminal here (a bare chroot?): " << std::strerror(errno);
  ::fcntl(primary, F_SETFL, O_NONBLOCK);
  Waiting run(dir_, {"sort", "-", "--text", "--type", "u32", "-o", "out.txt", "--quiet"},
              secondary);
  run.feed("2\n1\n");
  ::usleep(1'500'000);
  EXPECT_EQ(run.wait(), 0);
  char part[64];
  EXPECT_LE(::read(primary, part, sizeof part), 0) << std::string_view(part, 20);
  ::close(primary);
  ::close(secondary);
}

}  // namespace
