#include "bench/peers.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "cli/common.hpp"

namespace fs = std::filesystem;

namespace app {

namespace {

bool has(const std::vector<std::string>& list, const std::string& word) {
  return std::ranges::find(list, word) != list.end();
}

// Returns what is wrong with a peer's row; empty if it is valid.
std::string fault(const Row& row, const PeerRequest& request) {
  if (!row.is_object()) return "not an object";
  for (const char* field : {"algorithm", "type", "payload", "distribution"})
    if (!row.contains(field) || !row[field].is_string())
      return fmt::format("'{}' is missing, or not text", field);
  if (!row.contains("n") || !row["n"].is_number_unsigned()) return "'n' is missing, or not a count";
  if (std::ranges::find(request.sizes, row["n"].get<std::uint64_t>()) == request.sizes.end() ||
      !has(request.types, row["type"]) || !has(request.payloads, row["payload"]) ||
      !has(request.distributions, row["distribution"]))
    return "it was not requested";
  for (const char* field :
       {"skipped", "failed", "version", "device", "device_id", "driver", "language", "parameters"})
    if (row.contains(field) && !row[field].is_string())
      return fmt::format("'{}' is not text", field);
  if (row.contains("skipped") || row.contains("failed")) return {};
  for (const char* field :
       {"seconds", "median_seconds", "low_seconds", "high_seconds", "mkeys_per_second"})
    if (!row.contains(field) || !row[field].is_number() || row[field] < 0)
      return fmt::format("'{}' is missing, or not a number", field);
  if (!row.contains("repetitions") || !row["repetitions"].is_number_unsigned())
    return "'repetitions' is missing, or not a count";
  if (!row.contains("verified") || !row["verified"].is_boolean())
    return "'verified' is missing, or neither true nor false";
  if (row.contains("run_length") && !row["run_length"].is_number_unsigned())
    return "'run_length' is not a count";
  for (const char* field : {"device_seconds", "bytes_moved"})
    if (row.contains(field) && !row[field].is_number() && !row[field].is_null())
      return fmt::format("'{}' is not a number", field);
  if (row.contains("phases")) return "'phases' are only for the library";
  return {};
}

// A child process whose standard output we read.
class Child {
 public:
  explicit Child(const std::vector<std::string>& words) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      throw Failure(exit_runtime, fmt::format("a pipe: {}", std::strerror(errno)));
    out_ = ends[0];
    std::vector<char*> argv;
    for (const auto& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    const int error = ::posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    if (error != 0) {
      ::close(out_);
      throw Failure(exit_runtime, fmt::format("cannot run {}: {}", words[0], std::strerror(error)));
    }
  }
  ~Child() {
    ::close(out_);
    if (pid_ <= 0) return;
    ::kill(pid_, SIGTERM);
    wait();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Stores the next line, without its end. Returns false at the end of the output, and if the
  // user interrupts.
  bool line(std::string& out) {
    while (true) {
      if (const auto end = buffer_.find('\n'); end != std::string::npos) {
        out = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return true;
      }
      pollfd ready{out_, POLLIN, 0};
      constexpr int poll_interval = 100;  // milliseconds
      if (::poll(&ready, 1, poll_interval) == 0 || interrupted()) {
        if (interrupted()) return false;
        continue;
      }
      char part[4096];
      const ssize_t n = ::read(out_, part, sizeof part);
      if (n > 0) buffer_.append(part, static_cast<std::size_t>(n));
      if (n > 0 || (n < 0 && errno == EINTR)) continue;
      out = std::exchange(buffer_, {});  // a last line without a line end
      return !out.empty();
    }
  }

  // Returns the status, as waitpid() does.
  int wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    return status;
  }

 private:
  pid_t pid_ = 0;
  int out_ = -1;
  std::string buffer_;
};

}  // namespace

std::vector<fs::path> find_peer_programs(const std::string& directory) {
  std::vector<fs::path> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error))
    if (entry.path().filename().string().starts_with("peer_") && entry.is_regular_file() &&
        ::access(entry.path().c_str(), X_OK) == 0)
      out.push_back(fs::absolute(entry.path()));
  if (error) throw Failure(exit_usage, fmt::format("--peers {}: {}", directory, error.message()));
  if (out.empty())
    throw Failure(
        exit_usage,
        fmt::format("--peers {}: there are no programs called peer_… in it (cmake -S bench/peers "
                    "makes them)",
                    directory));
  std::ranges::sort(out);
  return out;
}

void run_peer_program(const fs::path& program, const std::string& device_id,
                      const PeerRequest& request, const std::function<void(Row)>& take) {
  const std::string name = program.filename().string();
  Child child({program.string(), "--device", device_id, "--n",
               fmt::format("{}", fmt::join(request.sizes, ",")), "--type",
               fmt::format("{}", fmt::join(request.types, ",")), "--payload",
               fmt::format("{}", fmt::join(request.payloads, ",")), "--distribution",
               fmt::format("{}", fmt::join(request.distributions, ",")), "--min-time",
               fmt::format("{}", request.min_seconds)});
  for (std::string line; child.line(line);) {
    Row row = Row::parse(line, nullptr, false);
    if (const auto what = row.is_discarded() ? "not JSON" : fault(row, request); !what.empty())
      throw Failure(exit_runtime,
                    fmt::format("{} printed an invalid row ({}): {}", name, what, line));
    row["peer"] = true;
    take(std::move(row));
  }
  if (interrupted()) return;
  const int status = child.wait();
  if (WIFSIGNALED(status))
    throw Failure(exit_runtime, fmt::format("{} was ended by signal {}", name, WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0)
    throw Failure(exit_runtime,
                  fmt::format("{} ended with exit code {}", name, WEXITSTATUS(status)));
}

}  // namespace app
