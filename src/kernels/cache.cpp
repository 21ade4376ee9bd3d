#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include "../core/environment.hpp"
#include "../core/warnings.hpp"
#include "kernels.hpp"

namespace sortium::kernels::cache {

namespace fs = std::filesystem;

namespace {

// The largest entry that is read. A module's machine code is many times smaller.
constexpr std::uint64_t most_entry_bytes = std::uint64_t{256} << 20;
constexpr std::size_t name_digits = 32;
constexpr std::string_view temporary_mark = ".tmp.";
constexpr std::time_t stale_seconds = 3600;

// FNV-1a. It names files and detects incomplete ones. Equal hashes do no harm: an entry also stores
// its key, which load() compares.
std::uint64_t hash(std::span<const std::byte> data, std::uint64_t seed = 0xcbf29ce484222325u) {
  for (const auto b : data) seed = (seed ^ static_cast<std::uint64_t>(b)) * 0x100000001b3u;
  return seed;
}

// An entry consists of this header, the key and the payload.
struct Header {
  char magic[8];
  std::uint64_t key_bytes, payload_bytes, checksum;  // the checksum is over key and payload
};
constexpr char magic[8] = {'S', 'O', 'R', 'T', 'I', 'U', 'M', '1'};

std::string name_of(const std::string& key) {
  const auto bytes = std::as_bytes(std::span(key));
  return fmt::format("{:016x}{:016x}", hash(bytes), hash(bytes, 0x9e3779b97f4a7c15u));
}

// An open file or directory, closed with the object.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  explicit operator bool() const { return fd_ >= 0; }
  [[nodiscard]] int get() const { return fd_; }
  bool close() { return fd_ < 0 || ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

// Returns why another user could have written the file or directory that `s` describes; empty if
// only this user could.
std::string why_not_ours(const struct stat& s) {
  if (s.st_uid != geteuid())
    return fmt::format("it belongs to user {}, and this process runs as user {}", s.st_uid,
                       geteuid());
  if ((s.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fmt::format("other users may write to it (mode {:o})", s.st_mode & 07777u);
  return {};
}

// Opens the cache directory. Returns none if it is missing, or if other users could replace its
// entries. In a directory with the sticky bit, such as /tmp, they cannot.
std::optional<Descriptor> open_directory() {
  const std::string where = directory();
  if (where.empty()) return std::nullopt;
  Descriptor fd(open(where.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat s {};
  if (!fd || fstat(fd.get(), &s) != 0) return std::nullopt;
  const std::string why = why_not_ours(s);
  if (!why.empty() && (s.st_mode & S_ISVTX) == 0) {
    warn(fmt::format("built kernels are not kept: the cache directory {} is not trusted: {}", where,
                     why));
    return std::nullopt;
  }
  return fd;
}

// Creates the directory and its parents if they are missing. Only this user may use the directory.
void make_directory(const fs::path& where) {
  std::error_code ignored;
  fs::create_directories(where.parent_path(), ignored);
  mkdir(where.c_str(), 0700);  // if this fails, open_directory finds none
}

// Returns the content of the regular file `name`, or none. Follows no symbolic link, and reads only
// this user's files.
std::optional<std::vector<std::byte>> read_own_file(const Descriptor& where,
                                                    const std::string& name) {
  const Descriptor fd(
      openat(where.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat s {};
  if (!fd || fstat(fd.get(), &s) != 0 || !S_ISREG(s.st_mode)) return std::nullopt;
  if (const auto why = why_not_ours(s); !why.empty()) {
    warn(fmt::format("the kernel cache's entry {}/{} is not trusted: {}", directory(), name, why));
    return std::nullopt;
  }
  if (static_cast<std::uint64_t>(s.st_size) > most_entry_bytes) return std::nullopt;
  std::vector<std::byte> all(static_cast<std::size_t>(s.st_size));
  for (std::size_t done = 0; done < all.size();) {
    const auto got = read(fd.get(), all.data() + done, all.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    done += static_cast<std::size_t>(got);
  }
  return all;
}

bool write_all(const Descriptor& fd, const void* data, std::size_t bytes) {
  const auto* from = static_cast<const char*>(data);
  while (bytes != 0) {
    const auto written = write(fd.get(), from, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    from += written;
    bytes -= static_cast<std::size_t>(written);
  }
  return true;
}

// "<entry's name>.tmp.<digits>": only the cache uses such names.
bool is_temporary_name(std::string_view name) {
  const auto all_of = [](std::string_view text, std::string_view allowed) {
    return !text.empty() && text.find_first_not_of(allowed) == text.npos;
  };
  return name.size() > name_digits && all_of(name.substr(0, name_digits), "0123456789abcdef") &&
         name.substr(name_digits).starts_with(temporary_mark) &&
         all_of(name.substr(name_digits + temporary_mark.size()), "0123456789.");
}

// Removes temporary files that killed processes left behind.
void remove_stale(const Descriptor& where) {
  const int listed = openat(where.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> list(listed < 0 ? nullptr : fdopendir(listed),
                                                 closedir);
  if (!list) return;
  while (const dirent* entry = readdir(list.get())) {
    struct stat s {};
    if (!is_temporary_name(entry->d_name) ||
        fstatat(where.get(), entry->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(s.st_mode) ||
        s.st_uid != geteuid() || std::time(nullptr) - s.st_mtime <= stale_seconds)
      continue;
    unlinkat(where.get(), entry->d_name, 0);
  }
}

bool write_entry(const Descriptor& file, const std::string& key,
                 std::span<const std::byte> payload) {
  Header h{};
  std::memcpy(h.magic, magic, sizeof magic);
  h.key_bytes = key.size();
  h.payload_bytes = payload.size();
  h.checksum = hash(payload, hash(std::as_bytes(std::span(key))));
  return write_all(file, &h, sizeof h) && write_all(file, key.data(), key.size()) &&
         write_all(file, payload.data(), payload.size());
}

}  // namespace

std::string directory() {
  if (const char* set = environment("SORTIUM_CACHE_DIR"))
    return std::string_view(set) == "off" ? "" : set;
  if (const char* xdg = environment("XDG_CACHE_HOME"); xdg && *xdg)
    return fmt::format("{}/sortium", xdg);
  if (const char* home = environment("HOME"); home && *home)
    return fmt::format("{}/.cache/sortium", home);
  return "";
}

std::string file_of(const std::string& key) {
  return fmt::format("{}/{}", directory(), name_of(key));
}

bool load(const std::string& key, std::vector<std::byte>& payload) {
  const auto where = open_directory();
  if (!where) return false;
  const auto all = read_own_file(*where, name_of(key));
  Header h{};
  if (!all || all->size() < sizeof h) return false;
  std::memcpy(&h, all->data(), sizeof h);
  const auto body = std::span(*all).subspan(sizeof h);
  if (std::memcmp(h.magic, magic, sizeof magic) != 0 || h.key_bytes != key.size() ||
      h.key_bytes > body.size() || h.payload_bytes != body.size() - h.key_bytes ||
      hash(body) != h.checksum || std::memcmp(body.data(), key.data(), key.size()) != 0)
    return false;
  payload.assign(body.begin() + static_cast<std::ptrdiff_t>(key.size()), body.end());
  return true;
}

void store(const std::string& key, std::span<const std::byte> payload) {
  if (directory().empty()) return;
  make_directory(directory());
  const auto where = open_directory();
  if (!where) return;
  remove_stale(*where);

  static thread_local std::mt19937_64 random{std::random_device{}()};
  const std::string name = name_of(key),
                    temporary = fmt::format("{}{}{}", name, temporary_mark, random());
  Descriptor file(openat(where->get(), temporary.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return;
  const bool written = write_entry(file, key, payload) && file.close();
  if (!written || renameat(where->get(), temporary.c_str(), where->get(), name.c_str()) != 0)
    unlinkat(where->get(), temporary.c_str(), 0);
}

}  // namespace sortium::kernels::cache
