// The program `sortium` as a whole: errors of usage, outputs that cannot be written, progress.
#include <poll.h>
#include <pty.h>
#include <sys/stat.h>

#include "cli.hpp"

namespace {

class Program : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    write("k.bin", bytes_of<std::uint32_t>({3, 1, 2}));
  }
};

// ---------------------------------------------------------------------------------------------
// Errors of usage
// ---------------------------------------------------------------------------------------------

TEST_F(Program, MissingArgumentsNameTheHelpOfTheirCommand) {
  refuses("sort -o x", 2, {"IN is required", "'sortium sort --help'"});
  refuses("draw -o x", 2, {"WHAT is required", "'sortium draw --help'"});
  refuses("", 2, {"a command is needed", "'sortium --help'"});
}

TEST_F(Program, UnknownArgumentsAreListedInTheirOrder) {
  refuses("sort k.bin -o o.bin --zig --zag=3 --zog", 2,
          {"unknown arguments: --zig --zag=3 --zog\n"});
  refuses("frobnicate --zig", 2, {"frobnicate --zig", "'sortium --help'"});
}

// What an unset variable of a shell leaves must not change what is done.
TEST_F(Program, EmptyAndMissingValuesAreRefused) {
  const std::string sort = "sort k.bin --type u32 -o o.bin ";
  refuses(sort + "--segments ''", 2, {"--segments: its value is empty", "'sortium sort --help'"});
  refuses(sort + "--values '' -o2 ''", 2, {": its value is empty"});
  refuses(sort + "--bits ''", 2, {"--bits: its value is empty"});
  refuses("sort '' --type u32 -o o.bin", 2, {"IN: its value is empty"});
  refuses("sort k.bin --type u32 -o ''", 2, {"--output: its value is empty"});
  refuses("check ''", 2, {"its value is empty"});
  refuses("sort k.bin --type u32 -o --quiet", 2, {"--output: its value is missing before --quiet"});
  refuses("sort k.bin --type u32 -o o.bin --values -o2 x", 2,
          {"--values: its value is missing before --output2"});
  // A file may have such a name.
  ASSERT_EQ(run("sort k.bin --type u32 -o ./--quiet").code, 0);
  EXPECT_TRUE(exists("--quiet"));
}

// A program that runs with the rights of another user.
TEST_F(Program, ObeysNoVariablesOfAUserWithFewerRights) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make such a program";
  std::error_code error;
  fs::copy_file(SORTIUM_CLI, dir_ / "privileged", error);
  ASSERT_FALSE(error) << error.message();
  ASSERT_EQ(::chown((dir_ / "privileged").c_str(), 1234, 1234), 0);
  ASSERT_EQ(::chmod((dir_ / "privileged").c_str(), 04755), 0);
  ASSERT_EQ(::chmod(dir_.c_str(), 0755), 0);
  write("many.bin", bytes_of(random_keys(1000)));
  ASSERT_EQ(::chmod((dir_ / "many.bin").c_str(), 0644), 0);
  const std::string sort = " sort many.bin --type u32 --quiet -o - > o.bin";
  ASSERT_EQ(shell("SORTIUM_DEVICE=nonsense $S" + sort).code, 2);
  const Result r = shell("SORTIUM_DEVICE=nonsense ./privileged" + sort);
  if (r.err.find("shared librar") != std::string::npos || r.code == 126)
    GTEST_SKIP() << "another user cannot run the program here: " << r.err;
  EXPECT_EQ(r.code, 0) << r.err;
}

TEST_F(Program, NoMoreThreadsIsAnErrorWithAMessage) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can run it as a user without other processes";
  ASSERT_EQ(::chmod(dir_.c_str(), 0777), 0);
  write("many.bin", bytes_of(random_keys(1'000'000)));
  ASSERT_EQ(::chmod((dir_ / "many.bin").c_str(), 0644), 0);
  // Without OpenCL: PoCL ends the process if it can start no threads.
  const std::string as =
      "OCL_ICD_VENDORS=/nonexistent HOME=/nonexistent SORTIUM_CACHE_DIR=off "
      "setpriv --reuid=7531 --regid=7531 --clear-groups prlimit --nproc={} ";
  if (shell(fmt::format(fmt::runtime(as), 1) + "$S --version").code != 0)
    GTEST_SKIP() << "another user cannot run the program here";
  for (const char* how : {"--device cpu:0", "--device cpu:0 --memory 500M"})
    for (const int threads : {1, 2, 3, 4, 50}) {
      const Result r = shell(fmt::format(fmt::runtime(as), threads) +
                             fmt::format("$S sort many.bin --type u32 --quiet {} -o out.bin", how));
      EXPECT_TRUE(r.code == 3 || (r.code == 0 && threads > 1)) << r.code << r.err;
      if (r.code == 3) {
        EXPECT_NE(r.err.find("threads"), std::string::npos) << r.err;
        EXPECT_FALSE(exists("out.bin"));
      } else {
        EXPECT_EQ(run("check out.bin --type u32 --quiet").code, 0);
      }
      fs::remove(dir_ / "out.bin");
      EXPECT_EQ(files(), (std::vector<std::string>{"io", "k.bin", "many.bin"}));
    }
}

TEST_F(Program, DeviceNamesMustHaveALetter) {
  refuses("sort k.bin --type u32 -o o.bin --device ' '", 2, {"device"});
}

TEST_F(Program, OutOfHostMemoryNamesTheSize) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer reserves more memory than the limit allows";
#endif
  fs::resize_file(dir_ / "k.bin", std::uintmax_t{64} << 30);  // without blocks on the disk
  const Result r = shell("ulimit -v 2000000; $S check k.bin --type u32");
  EXPECT_EQ(r.code, 3);
  EXPECT_EQ(r.err, "sortium: out of host memory: 64 GiB are needed\n");
  // Whatever fails to be allocated, the message has a size.
  unsigned failed = 0;
  for (const char* command :
       {"gen 1000000 -o o.bin --quiet", "sort k.bin --lines -o o.bin --quiet",
        "check k.bin --records", "sort k.bin --type u32 --memory 100M --device cpu:0 -o o.bin"})
    for (const int kilobytes : {20000, 30000, 40000, 50000}) {
      fs::resize_file(dir_ / "k.bin", 12'000'000);
      const Result limited = shell(fmt::format("ulimit -v {}; $S {}", kilobytes, command));
      if (limited.err.find("memory") == std::string::npos) continue;
      ++failed;
      EXPECT_EQ(limited.code, 3) << limited.err;
      EXPECT_TRUE(limited.err.find("iB") != std::string::npos ||
                  limited.err.find(" bytes") != std::string::npos)
          << command << ": " << limited.err;
    }
  EXPECT_GT(failed, 0u);
}

// ---------------------------------------------------------------------------------------------
// Libraries that are found at run time
// ---------------------------------------------------------------------------------------------

// Empty files hide the loader of OpenCL and NVIDIA's driver from dlopen.
TEST_F(Program, StartsWithoutOpenClAndCuda) {
  for (const char* library : {"libOpenCL.so.1", "libOpenCL.so", "libcuda.so.1", "libcuda.so"})
    write(library, "");
  const Result listed = shell("LD_LIBRARY_PATH=$PWD $S devices");
  EXPECT_EQ(listed.code, 0) << listed.err;
  EXPECT_NE(
      listed.out.find("\nopencl  no devices: no OpenCL loader: libOpenCL.so.1 was not found\n"),
      std::string::npos)
      << listed.out;
  EXPECT_NE(listed.out.find("\ncuda  no devices: no NVIDIA driver: libcuda.so.1 was not found\n"),
            std::string::npos)
      << listed.out;
  const Result sorted = shell("LD_LIBRARY_PATH=$PWD $S sort k.bin --type u32 -o o.bin");
  EXPECT_EQ(sorted.code, 0) << sorted.err;
  EXPECT_EQ(read("o.bin"), bytes_of<std::uint32_t>({1, 2, 3}));
}

// ---------------------------------------------------------------------------------------------
// Outputs that cannot be written
// ---------------------------------------------------------------------------------------------

TEST_F(Program, SortsIfStandardErrorCannotBeWritten) {
  for (const char* closed : {"2> /dev/full", "2>&-", "2> gone"}) {
    // A reader that opens the pipe and then leaves.
    const std::string reader =
        std::string_view(closed) == "2> gone" ? "mkfifo gone; (sleep 0.2 < gone) & " : "";
    const std::string wait = reader.empty() ? "" : "sleep 0.5; ";
    Result r = shell(fmt::format("{}{{ {}$S sort k.bin --type u32 --device cpu:0 -o o.bin; }} {}",
                                 reader, wait, closed));
    EXPECT_EQ(r.code, 0) << closed;
    EXPECT_EQ(read("o.bin"), bytes_of<std::uint32_t>({1, 2, 3})) << closed;
    fs::remove(dir_ / "o.bin");
    fs::remove(dir_ / "gone");
    r = shell(
        fmt::format("{}{{ {}$S sort absent.bin --type u32 -o o.bin; }} {}", reader, wait, closed));
    EXPECT_EQ(r.code, 2) << closed;
    fs::remove(dir_ / "gone");
  }
}

TEST_F(Program, EndsQuietlyIfTheReaderOfItsOutputIsGone) {
  for (const char* arguments : {"algorithms", "--help", "sort --help", "draw bitonic -o -",
                                "sort k.bin --type u32 --device cpu:0 --quiet -o -"}) {
    const Result r =
        shell(fmt::format("{{ sleep 0.3; $S {}; echo $? > io/code; }} | true", arguments));
    EXPECT_EQ(r.err, "") << arguments;
    EXPECT_EQ(read("io/code"), fmt::format("{}\n", 128 + SIGPIPE)) << arguments;
  }
}

TEST_F(Program, SaysThatStandardOutputIsFull) {
  for (const char* arguments : {"algorithms", "--help"}) {
    const Result r = shell(fmt::format("$S {} > /dev/full", arguments));
    EXPECT_EQ(r.code, 3) << arguments;
    EXPECT_EQ(r.err, "sortium: cannot write standard output: No space left on device\n")
        << arguments;
  }
}

// ---------------------------------------------------------------------------------------------
// doctor
// ---------------------------------------------------------------------------------------------

TEST_F(Program, DoctorFindsNothingWrongHere) {
  const Result r = shell("$S doctor");
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  for (const char* said : {"\nNo problem was found.\n", "\nsystem ", "\nkernel cache ", "\ncpu:0  ",
                           "  kernels ", "Mkey/s, right"})
    EXPECT_NE(r.out.find(said), std::string::npos) << said << ":\n" << r.out;
}

TEST_F(Program, DoctorNamesADriverThatCannotBeLoaded) {
  fs::create_directory(dir_ / "vendors");
  write("vendors/broken.icd", "libno-such-driver.so\n");
  const Result r = shell("OCL_ICD_VENDORS=$PWD/vendors $S doctor");
  EXPECT_EQ(r.code, 3) << r.out;
  for (const char* said : {"PROBLEM  ", "broken.icd names libno-such-driver.so", "\nopencl  "})
    EXPECT_NE(r.out.find(said), std::string::npos) << said << ":\n" << r.out;
}

TEST_F(Program, DoctorSaysThatTheCacheIsNotTrusted) {
  fs::create_directory(dir_ / "open");
  fs::permissions(dir_ / "open", fs::perms::all);
  const Result r = shell("SORTIUM_CACHE_DIR=$PWD/open $S doctor");
  EXPECT_EQ(r.code, 3) << r.out;
  EXPECT_NE(r.out.find("PROBLEM  "), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("/open"), std::string::npos) << r.out;
}

// Machines that are not this one: other_machine.c shows their files to the program, and a fake
// driver or none is loaded.
class DoctorElsewhere : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    fs::create_directories(dir_ / "machine/dev");
    fs::create_directories(dir_ / "machine/proc/driver/nvidia");
    fs::create_directories(dir_ / "machine/sys/bus/pci/devices/0000:01:00.0");
    write("machine/sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
    write("machine/sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n");
  }
  // NVIDIA's kernel driver is loaded. Others have the permissions `others` for its devices.
  void load_kernel_driver(fs::perms others) const {
    write("machine/proc/driver/nvidia/version", "NVRM version\n");
    for (const char* device : {"nvidiactl", "nvidia0", "nvidia-uvm"}) {
      write(fmt::format("machine/dev/{}", device), "");
      fs::permissions(dir_ / "machine/dev" / device,
                      fs::perms::owner_read | fs::perms::owner_write | others);
    }
  }
  static constexpr fs::perms may_open = fs::perms::others_read | fs::perms::others_write;

  // `libraries` is a directory whose libcuda.so.1 is NVIDIA's driver.
  [[nodiscard]] Result doctor(const std::string& libraries) const {
    return shell(fmt::format(
        "ASAN_OPTIONS=verify_asan_link_order=0 OTHER_MACHINE=$PWD/machine LD_PRELOAD={} "
        "SORTIUM_NVRTC=/nonexistent/libnvrtc.so LD_LIBRARY_PATH={}:$LD_LIBRARY_PATH "
        "SORTIUM_BUILT_KERNELS=/nonexistent $S doctor",
        OTHER_MACHINE, libraries));
  }
  static void says(const Result& r, const std::string& problem) {
    EXPECT_EQ(r.code, 3) << r.out << r.err;
    EXPECT_NE(r.out.find("PROBLEM  " + problem), std::string::npos) << problem << ":\n" << r.out;
    // What works is still examined.
    EXPECT_NE(r.out.find("\ncpu:0  "), std::string::npos) << r.out;
    EXPECT_NE(r.out.find("Mkey/s, right"), std::string::npos) << r.out;
  }
};

TEST_F(DoctorElsewhere, NoKernelDriver) {
  write("libcuda.so.1", "");  // hides a driver of this machine
  says(doctor("$PWD"),
       "There is an NVIDIA card, and its kernel driver is not loaded: install the driver.");
}

TEST_F(DoctorElsewhere, NoLibraryOfTheDriver) {
  load_kernel_driver(may_open);
  write("libcuda.so.1", "");
  says(doctor("$PWD"), "CUDA cannot be used: no NVIDIA driver: libcuda.so.1 was not found");
}

TEST_F(DoctorElsewhere, NoPermission) {
  load_kernel_driver(fs::perms::none);
  write("libcuda.so.1", "");
  const Result r = doctor("$PWD");
  for (const char* device : {"nvidiactl", "nvidia0", "nvidia-uvm"})
    says(r, fmt::format("/dev/{} may not be opened by this user (Permission denied): add the user "
                        "to the file's group.",
                        device));
}

// A library without CUDA's functions stands for a driver from before they existed.
TEST_F(DoctorElsewhere, OldDriver) {
  load_kernel_driver(may_open);
  fs::create_symlink(OTHER_MACHINE, dir_ / "libcuda.so.1");
  says(doctor("$PWD"), "CUDA cannot be used: the NVIDIA driver is too old: it has no cuInit");
}

#ifdef FAKE_CUDA
TEST_F(DoctorElsewhere, NoNvrtc) {
  load_kernel_driver(may_open);
  says(doctor(FAKE_CUDA),
       "CUDA cannot be used: libnvrtc.so was not found (looked for versions 11.2 to 13; "
       "SORTIUM_NVRTC names another file), and there are no built kernels; use the GPU through "
       "OpenCL");
}
#endif

// ---------------------------------------------------------------------------------------------
// Progress
// ---------------------------------------------------------------------------------------------

// Runs the program with a terminal as standard error until `wanted` appears there. Returns the
// terminal's text up to then, or all of it.
std::string on_terminal_until(const fs::path& directory, const std::vector<std::string>& arguments,
                              const std::string& wanted) {
  int primary = -1, secondary = -1;
  if (::openpty(&primary, &secondary, nullptr, nullptr, nullptr) != 0)
    throw std::runtime_error("no terminal");
  std::string seen;
  {
    Waiting program(directory, arguments, secondary);
    ::close(secondary);
    constexpr int patience = 60000;  // milliseconds
    pollfd ready{primary, POLLIN, 0};
    char part[512];
    for (ssize_t n = 1; n > 0 && seen.find(wanted) == std::string::npos;) {
      if (::poll(&ready, 1, patience) <= 0) break;
      n = ::read(primary, part, sizeof part);
      if (n > 0) seen.append(part, static_cast<std::size_t>(n));
    }
  }  // ends the program
  ::close(primary);
  return seen;
}

TEST_F(Program, WarmingShowsProgress) {
  const std::string cache = std::getenv("SORTIUM_CACHE_DIR");
  ::setenv("SORTIUM_CACHE_DIR", (dir_ / "cache").c_str(), 1);
  const auto seen = on_terminal_until(dir_, {"devices", "--warm"}, "building kernels");
  ::setenv("SORTIUM_CACHE_DIR", cache.c_str(), 1);
  EXPECT_NE(seen.find("building kernels for"), std::string::npos) << seen;
  EXPECT_NE(seen.find('%'), std::string::npos) << seen;
}

TEST_F(Program, ReportShowsProgress) {
  std::string rows;
  for (int i = 0; i < 600; ++i)
    rows += fmt::format(
        R"({}{{"algorithm": "a{}", "type": "u32", "n": {}, "device": "d{}", "seconds": 1, )"
        R"("verified": true}})",
        i == 0 ? "" : ",", i % 5, 1024 << i % 10, i % 40);
  write("r.json", fmt::format(R"({{"results": [{}]}})", rows));
  const auto seen = on_terminal_until(dir_, {"report", "r.json", "-o", "r.html"}, "drawing");
  EXPECT_NE(seen.find("drawing ["), std::string::npos) << seen;
}

}  // namespace

int main(int argc, char** argv) { return run_cli_tests(argc, argv); }
