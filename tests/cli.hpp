// Shared by tests of the program `sortium`. They run it as a user does, in a directory of their
// own.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace fs = std::filesystem;

inline std::string contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

// Returns the bytes of numbers, in the machine's byte order or the other one.
template <class T>
std::string bytes_of(const std::vector<T>& numbers, bool swapped = false) {
  std::string out(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T));
  if (swapped)
    for (std::size_t i = 0; i < out.size(); i += sizeof(T))
      std::reverse(out.begin() + static_cast<std::ptrdiff_t>(i),
                   out.begin() + static_cast<std::ptrdiff_t>(i + sizeof(T)));
  return out;
}

template <class T>
std::vector<T> numbers_of(std::string_view bytes) {
  std::vector<T> out(bytes.size() / sizeof(T));
  std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
  return out;
}

inline std::vector<std::uint32_t> random_keys(std::size_t count, std::uint32_t mask = ~0u) {
  std::mt19937 random(7);
  std::vector<std::uint32_t> out(count);
  for (auto& k : out) k = random() & mask;
  return out;
}

inline std::string npy(const std::string& descr, const std::string& shape, const std::string& data,
                       int version = 1) {
  std::string header = "{'descr': " + descr + ", 'fortran_order': False, 'shape': " + shape + ", }";
  while ((header.size() + (version == 1 ? 10 : 12) + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string out = "\x93NUMPY";
  out += static_cast<char>(version);
  out += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    out += static_cast<char>(header.size() >> 8 * i & 0xff);
  return out + header + data;
}

// Returns the content after the header of an .npy file that the program has written (format version
// 1).
inline std::string npy_data(const std::string& file) {
  const auto length =
      static_cast<unsigned char>(file.at(8)) | static_cast<unsigned char>(file.at(9)) << 8;
  return file.substr(10 + static_cast<std::size_t>(length));
}

struct Result {
  int code;
  std::string out, err;
};

class Cli : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "sortium-cli-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    dir_ = name;
    fs::create_directory(dir_ / "io");
  }
  void TearDown() override { fs::remove_all(dir_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(dir_ / name, std::ios::binary) << text;
  }
  std::string read(const std::string& name) const { return contents(dir_ / name); }
  bool exists(const std::string& name) const { return fs::exists(dir_ / name); }

  // Runs a shell command in the test's directory. $S is the program.
  Result shell(const std::string& command) const {
    const std::string line =
        fmt::format("cd '{}' && S='{}' && {{ {}; }} > io/out 2> io/err < /dev/null", dir_.string(),
                    SORTIUM_CLI, command);
    const int status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read("io/out"), read("io/err")};
  }
  Result run(const std::string& arguments) const { return shell("$S " + arguments); }

  // Checks that the command fails with `code`, prints each of `words` on standard error, and leaves
  // no new file.
  void refuses(const std::string& arguments, int code,
               const std::vector<std::string>& words) const {
    const auto before = files();
    const Result r = run(arguments);
    EXPECT_EQ(r.code, code) << arguments << "\n" << r.err;
    for (const auto& word : words)
      EXPECT_NE(r.err.find(word), std::string::npos)
          << arguments << "\nsays: " << r.err << "\nlacks: " << word;
    EXPECT_EQ(files(), before) << arguments;
  }

  std::vector<std::string> files() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(dir_))
      out.push_back(entry.path().filename().string());
    std::ranges::sort(out);
    return out;
  }

  fs::path dir_;
};

// A run of the program that waits for its standard input. Its standard error is `terminal`.
class Waiting {
 public:
  Waiting(const fs::path& dir, const std::vector<std::string>& arguments, int standard_error) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
    input_ = ends[1];
    pid_ = ::fork();
    if (pid_ == 0) {
      if (::chdir(dir.c_str()) != 0) ::_exit(126);
      ::dup2(ends[0], 0);
      ::dup2(standard_error, 2);
      std::vector<char*> argv{const_cast<char*>(SORTIUM_CLI)};
      for (const auto& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
      argv.push_back(nullptr);
      ::execv(SORTIUM_CLI, argv.data());
      ::_exit(127);
    }
    ::close(ends[0]);
  }
  ~Waiting() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      wait();
    }
  }
  void feed(std::string_view text) const {
    if (::write(input_, text.data(), text.size()) < 0) std::abort();
  }
  void signal(int number) const { ::kill(pid_, number); }
  int wait() {
    if (input_ >= 0) ::close(input_);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    input_ = pid_ = -1;
    return status;
  }

 private:
  int input_ = -1;
  pid_t pid_ = -1;
};

// The tests' main().
inline int run_cli_tests(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  // All runs share a cache of kernels, which is not the user's.
  std::string cache;
  if (std::getenv("SORTIUM_CACHE_DIR") == nullptr) {
    cache = (fs::temp_directory_path() / "sortium-cli-cache-XXXXXX").string();
    if (mkdtemp(cache.data()) == nullptr) return 1;
    ::setenv("SORTIUM_CACHE_DIR", cache.c_str(), 1);
  }
  const int code = RUN_ALL_TESTS();
  if (!cache.empty()) fs::remove_all(cache);
  return code;
}
