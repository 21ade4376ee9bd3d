// Tests the kernel cache on disk: kernels are correct whatever files the directory contains, and
// whoever else writes there.
//
// Built kernels also stay in the process's memory. So the tests start child processes (this
// program, with --sort) to read the directory anew.
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "core/warnings.hpp"
#include "kernels/kernels.hpp"
#include "support.hpp"

extern char** environ;

namespace sortium::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Bytes = std::vector<std::byte>;

std::string program;  // argv[0]

constexpr int right = 0, wrong = 3;

int sort_once() {
  std::vector<std::uint32_t> keys(1009);
  Random random(1);
  for (auto& k : keys) k = static_cast<std::uint32_t>(random.next());
  auto should = keys;
  std::ranges::sort(should);
  sortium::sort(keys, {.device = test_device()->info().id, .algorithm = "lsd"});
  return keys == should ? right : wrong;
}

pid_t start_child() {
  std::string flag = "--sort";
  char* const arguments[] = {program.data(), flag.data(), nullptr};
  pid_t child = 0;
  EXPECT_EQ(posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ), 0);
  return child;
}

int exit_code(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int run_child() { return exit_code(start_child()); }

Bytes read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

void write(const fs::path& file, std::span<const std::byte> bytes) {
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// An empty directory, which SORTIUM_CACHE_DIR names while the test runs.
class Cache : public testing::Test {
 protected:
  Cache() {
    std::string name = (fs::temp_directory_path() / "sortium-cache-test-XXXXXX").string();
    directory = mkdtemp(name.data());
    use(directory);
  }
  ~Cache() override {
    for (const auto& [name, value] : before_)
      value ? setenv(name, value->c_str(), 1) : unsetenv(name);
    fs::remove_all(directory);
  }
  void set(const char* name, const char* value) {
    if (!before_.contains(name)) {
      const char* now = std::getenv(name);
      before_[name] = now ? std::optional<std::string>(now) : std::nullopt;
    }
    value ? setenv(name, value, 1) : unsetenv(name);
  }
  void use(const fs::path& cache) { set("SORTIUM_CACHE_DIR", cache.c_str()); }

  // The entries and their times of writing: a rewritten entry counts as new.
  [[nodiscard]] std::map<fs::path, fs::file_time_type> entries() const {
    std::map<fs::path, fs::file_time_type> out;
    for (const auto& e : fs::directory_iterator(directory)) out[e.path()] = e.last_write_time();
    return out;
  }

  fs::path directory;

 private:
  std::map<const char*, std::optional<std::string>> before_;
};

TEST_F(Cache, DirectoryIsWhatTheEnvironmentSays) {
  EXPECT_EQ(kernels::cache::directory(), directory.string());
  use("off");
  EXPECT_EQ(kernels::cache::directory(), "");
  use("");
  EXPECT_EQ(kernels::cache::directory(), "");
  set("SORTIUM_CACHE_DIR", nullptr);
  set("XDG_CACHE_HOME", "/xdg");
  EXPECT_EQ(kernels::cache::directory(), "/xdg/sortium");
  set("XDG_CACHE_HOME", nullptr);
  set("HOME", "/home/someone");
  EXPECT_EQ(kernels::cache::directory(), "/home/someone/.cache/sortium");
  set("HOME", nullptr);
  EXPECT_EQ(kernels::cache::directory(), "");
}

TEST_F(Cache, KeepsWhatItIsGiven) {
  Bytes got;
  EXPECT_FALSE(kernels::cache::load("a", got));
  kernels::cache::store("a", bytes_of("payload of a"));
  kernels::cache::store("b", {});
  ASSERT_TRUE(kernels::cache::load("a", got));
  EXPECT_EQ(got, bytes_of("payload of a"));
  ASSERT_TRUE(kernels::cache::load("b", got));
  EXPECT_TRUE(got.empty());
  kernels::cache::store("a", bytes_of("another"));
  ASSERT_TRUE(kernels::cache::load("a", got));
  EXPECT_EQ(got, bytes_of("another"));
  EXPECT_EQ(entries().size(), 2u) << "nothing else is left behind";
}

TEST_F(Cache, OffKeepsNothing) {
  use("off");
  kernels::cache::store("a", bytes_of("payload"));
  Bytes got;
  EXPECT_FALSE(kernels::cache::load("a", got));
  EXPECT_EQ(run_child(), right);
  EXPECT_TRUE(entries().empty());
  EXPECT_FALSE(fs::exists("off"));
}

TEST_F(Cache, EveryTruncationAndEveryFlippedByteIsSeen) {
  kernels::cache::store("some key", bytes_of("and its payload"));
  const auto file = kernels::cache::file_of("some key");
  const auto whole = read(file);
  Bytes got;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    write(file, std::span(whole).first(length));
    EXPECT_FALSE(kernels::cache::load("some key", got))
        << length << " of " << whole.size() << " bytes";
  }
  for (std::size_t i = 0; i < whole.size(); ++i) {
    auto flipped = whole;
    flipped[i] ^= std::byte{0x10};
    write(file, flipped);
    EXPECT_FALSE(kernels::cache::load("some key", got)) << "byte " << i;
  }
  auto longer = whole;
  longer.push_back(std::byte{0});
  write(file, longer);
  EXPECT_FALSE(kernels::cache::load("some key", got));
  write(file, whole);
  EXPECT_TRUE(kernels::cache::load("some key", got));
}

TEST_F(Cache, AnotherKeysEntryUnderThisNameIsNotTaken) {
  kernels::cache::store("key one", bytes_of("payload"));
  fs::rename(kernels::cache::file_of("key one"), kernels::cache::file_of("key two"));
  Bytes got;
  EXPECT_FALSE(kernels::cache::load("key two", got));
}

TEST_F(Cache, ADirectoryInAnEntrysPlaceIsNoEntry) {
  fs::create_directory(kernels::cache::file_of("key"));
  Bytes got;
  EXPECT_FALSE(kernels::cache::load("key", got));
  kernels::cache::store("key", bytes_of("payload"));
  EXPECT_EQ(entries().size(), 1u) << "the temporary file is gone again";
}

TEST_F(Cache, KilledWritersLeavingsAreRemovedAfterAnHour) {
  const std::string name(32, 'a');
  const auto old_one = directory / (name + ".tmp.99999.0"),
             fresh = directory / (name + ".tmp.99999.1"), entry = directory / name;
  for (const auto& file : {old_one, fresh, entry}) write(file, bytes_of("half an ent"));
  for (const auto& file : {old_one, entry})
    fs::last_write_time(file, fs::file_time_type::clock::now() - 61min);
  fs::last_write_time(fresh, fs::file_time_type::clock::now() - 59min);
  kernels::cache::store("key", bytes_of("payload"));
  EXPECT_FALSE(fs::exists(old_one));
  EXPECT_TRUE(fs::exists(fresh)) << "its writer may still be at it";
  EXPECT_TRUE(fs::exists(entry));
}

TEST_F(Cache, OthersFilesStay) {
  const auto entry_name = std::string(32, 'a');
  const std::vector<fs::path> files{directory / "thesis.tmp.docx", directory / "0123.tmp.1.0",
                                    directory / (entry_name + ".tmp.docx"),
                                    directory / (entry_name + ".tmp."),
                                    directory / ("x" + entry_name + ".tmp.1")};
  const std::vector<fs::path> folders{directory / "empty.tmp.folder",
                                      directory / (entry_name + ".tmp.1.1")};
  const auto long_ago = fs::file_time_type::clock::now() - 100h;
  for (const auto& f : files) write(f, bytes_of("years of work"));
  for (const auto& f : folders) fs::create_directory(f);
  for (const auto& all : {files, folders})
    for (const auto& f : all) fs::last_write_time(f, long_ago);
  kernels::cache::store("key", bytes_of("payload"));
  for (const auto& all : {files, folders})
    for (const auto& f : all) EXPECT_TRUE(fs::exists(f)) << f;
}

// Returns the last of the warnings after the first `before` ones.
bool warned(std::size_t before, const std::string& part) {
  const auto all = warnings();
  return all.size() > before && all.back().find(part) != std::string::npos;
}

TEST_F(Cache, ALinkIsNoEntryAndIsNotWrittenThrough) {
  kernels::cache::store("key", bytes_of("payload"));
  const fs::path file = kernels::cache::file_of("key");
  const auto elsewhere = directory / "elsewhere";
  fs::rename(file, elsewhere);
  fs::create_symlink(elsewhere, file);
  const auto linked = read(elsewhere);
  Bytes got;
  EXPECT_FALSE(kernels::cache::load("key", got));
  kernels::cache::store("key", bytes_of("another"));
  EXPECT_EQ(read(elsewhere), linked);
  ASSERT_TRUE(kernels::cache::load("key", got));
  EXPECT_EQ(got, bytes_of("another"));
}

// A symbolic link with a temporary file's name must not be followed.
TEST_F(Cache, TemporaryNamesCannotBeGuessed) {
  const auto victim = directory / "victim";
  write(victim, bytes_of("mine"));
  const std::string entry = kernels::cache::file_of("key");
  for (unsigned serial = 0; serial < 200; ++serial)
    fs::create_symlink(victim, fmt::format("{}.tmp.{}.{}", entry, getpid(), serial));
  kernels::cache::store("key", bytes_of("payload"));
  EXPECT_EQ(read(victim), bytes_of("mine"));
  Bytes got;
  EXPECT_TRUE(kernels::cache::load("key", got));
}

TEST_F(Cache, AnEntryThatOthersMayWriteIsNotTrusted) {
  kernels::cache::store("key", bytes_of("payload"));
  const auto file = kernels::cache::file_of("key");
  Bytes got;
  for (const auto mode : {0620u, 0602u}) {
    const auto before = warnings().size();
    ASSERT_EQ(chmod(file.c_str(), mode), 0);
    EXPECT_FALSE(kernels::cache::load("key", got));
    EXPECT_TRUE(warned(before, fmt::format("mode {:o}", mode)));
  }
  ASSERT_EQ(chmod(file.c_str(), 0600), 0);
  EXPECT_TRUE(kernels::cache::load("key", got));
  if (geteuid() != 0) return;  // only root may give a file to another user
  const auto before = warnings().size();
  ASSERT_EQ(chown(file.c_str(), 12345, 12345), 0);
  EXPECT_FALSE(kernels::cache::load("key", got));
  EXPECT_TRUE(warned(before, "belongs to user 12345"));
}

TEST_F(Cache, ADirectoryThatOthersMayWriteIsNotTrusted) {
  kernels::cache::store("key", bytes_of("payload"));
  const auto before = warnings().size();
  ASSERT_EQ(chmod(directory.c_str(), 0777), 0);
  Bytes got;
  EXPECT_FALSE(kernels::cache::load("key", got));
  EXPECT_TRUE(warned(before, directory.string()));
  kernels::cache::store("other", bytes_of("payload"));
  EXPECT_EQ(entries().size(), 1u);
  EXPECT_EQ(run_child(), right) << "sorting goes on without a cache";
  ASSERT_EQ(chmod(directory.c_str(), 01777), 0);
  EXPECT_TRUE(kernels::cache::load("key", got)) << "as in /tmp: others cannot replace entries";
}

TEST_F(Cache, AHugeEntryDoesNotStopSorting) {
  EXPECT_EQ(run_child(), right);
  for (const auto& [file, time] : entries()) fs::resize_file(file, std::uint64_t{1} << 40);
  EXPECT_EQ(run_child(), right);
  for (const auto& [file, time] : entries())
    EXPECT_LT(fs::file_size(file), std::uint64_t{1} << 30) << file;
}

TEST_F(Cache, AFreshProcessUsesTheEntries) {
  EXPECT_EQ(run_child(), right);
  const auto first = entries();
  ASSERT_GE(first.size(), 2u) << "the probe's finding and the sort's kernels";
  EXPECT_EQ(run_child(), right);
  EXPECT_EQ(entries(), first) << "entries were written again, although they were there";
}

TEST_F(Cache, DamagedEntriesAreBuiltAnew) {
  EXPECT_EQ(run_child(), right);
  const auto first = entries();
  std::map<fs::path, Bytes> whole;
  for (const auto& [file, time] : first) whole[file] = read(file);
  const auto damage_all = [&](auto&& damage) {
    for (const auto& [file, bytes] : whole) write(file, damage(bytes));
  };
  const auto healed = [&] {
    Bytes got;
    for (const auto& [file, bytes] : whole)
      if (read(file).size() != bytes.size()) return false;
    return true;
  };
  damage_all([](Bytes b) {
    b.resize(b.size() / 2);
    return b;
  });
  EXPECT_EQ(run_child(), right) << "truncated";
  EXPECT_TRUE(healed());
  damage_all([](Bytes b) {
    b[b.size() / 2] ^= std::byte{1};
    return b;
  });
  EXPECT_EQ(run_child(), right) << "a flipped bit";
  damage_all([](const Bytes&) { return bytes_of("garbage"); });
  EXPECT_EQ(run_child(), right) << "garbage";
  EXPECT_TRUE(healed());
  damage_all([](const Bytes&) { return Bytes{}; });
  EXPECT_EQ(run_child(), right) << "empty files";
  EXPECT_TRUE(healed());
}

// The entry is complete and has the right key, but the driver refuses the binary, as after an
// update.
TEST_F(Cache, ABinaryThatTheDriverRefusesIsBuiltAnew) {
  EXPECT_EQ(run_child(), right);
  struct Header {
    char magic[8];
    std::uint64_t key_bytes, payload_bytes, checksum;
  };
  unsigned replaced = 0;
  for (const auto& [file, time] : entries()) {
    const auto bytes = read(file);
    Header h{};
    std::memcpy(&h, bytes.data(), sizeof h);
    const std::string key(reinterpret_cast<const char*>(bytes.data()) + sizeof h, h.key_bytes);
    ASSERT_EQ(kernels::cache::file_of(key), file.string());
    kernels::cache::store(key,
                          bytes_of("this is no machine code at all, whatever the checksum says"));
    ++replaced;
  }
  EXPECT_GE(replaced, 2u);
  EXPECT_EQ(run_child(), right);
}

TEST_F(Cache, NoDirectoryNoHarm) {
  const auto file = directory / "file";
  write(file, bytes_of("not a directory"));
  use(file / "below");
  EXPECT_EQ(run_child(), right);
  use("/proc/sortium-cannot-be-made");
  EXPECT_EQ(run_child(), right);
  Bytes got;
  kernels::cache::store("key", bytes_of("payload"));
  EXPECT_FALSE(kernels::cache::load("key", got));
}

TEST_F(Cache, ANewDirectoryIsMade) {
  use(directory / "a" / "b");
  kernels::cache::store("key", bytes_of("payload"));
  Bytes got;
  EXPECT_TRUE(kernels::cache::load("key", got));
}

TEST_F(Cache, ProcessesThatStartAtOnce) {
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) children.push_back(start_child());
  for (const auto child : children) EXPECT_EQ(exit_code(child), right);
  const auto after = entries();
  for (const auto& [file, time] : after)
    EXPECT_EQ(file.string().find(".tmp."), std::string::npos) << file;
  EXPECT_EQ(run_child(), right);
  EXPECT_EQ(entries(), after);
}

TEST_F(Cache, ProcessesThatAreKilled) {
  for (int i = 1; i <= 6; ++i) {
    const auto child = start_child();
    usleep(static_cast<useconds_t>(60'000 * i));
    kill(child, SIGKILL);
    exit_code(child);
  }
  EXPECT_EQ(run_child(), right);
  EXPECT_EQ(run_child(), right);
}

}  // namespace
}  // namespace sortium::test

int main(int count, char** arguments) {
  using namespace sortium::test;
  program = std::filesystem::read_symlink("/proc/self/exe").string();
  if (count == 2 && std::string(arguments[1]) == "--sort") {
    try {
      return sort_once();
    } catch (const std::exception& e) {
      fmt::print(stderr, "{}\n", e.what());
      return 4;
    }
  }
  testing::InitGoogleTest(&count, arguments);
  return RUN_ALL_TESTS();
}
