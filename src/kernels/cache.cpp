#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "kernels.hpp"

namespace sortium::kernels::cache {

namespace fs = std::filesystem;

namespace {

// FNV-1a. Names files and finds torn ones; the key that an entry carries decides whose it is.
std::uint64_t hash(std::span<const std::byte> data, std::uint64_t seed = 0xcbf29ce484222325u) {
  for (const auto b : data) seed = (seed ^ static_cast<std::uint64_t>(b)) * 0x100000001b3u;
  return seed;
}

// An entry: this header, the key, the payload.
struct Header {
  char magic[8];
  std::uint64_t key_bytes, payload_bytes, checksum;  // the checksum is over key and payload
};
constexpr char magic[8] = {'S', 'O', 'R', 'T', 'I', 'U', 'M', '1'};

// Left behind by processes that were killed while they wrote.
void remove_stale(const fs::path& directory) {
  std::error_code ignored;
  const auto now = fs::file_time_type::clock::now();
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    if (entry.path().filename().string().find(".tmp.") == std::string::npos) continue;
    if (now - fs::last_write_time(entry, ignored) > std::chrono::hours(1))
      fs::remove(entry, ignored);
  }
}

}  // namespace

std::string directory() {
  if (const char* set = std::getenv("SORTIUM_CACHE_DIR"))
    return std::string_view(set) == "off" ? "" : set;
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg)
    return fmt::format("{}/sortium", xdg);
  if (const char* home = std::getenv("HOME"); home && *home)
    return fmt::format("{}/.cache/sortium", home);
  return "";
}

std::string file_of(const std::string& key) {
  const auto bytes = std::as_bytes(std::span(key));
  return fmt::format("{}/{:016x}{:016x}", directory(), hash(bytes),
                     hash(bytes, 0x9e3779b97f4a7c15u));
}

bool load(const std::string& key, std::vector<std::byte>& payload) {
  if (directory().empty()) return false;
  std::error_code error;
  const auto size = fs::file_size(file_of(key), error);
  if (error) return false;  // there is none, or it is no file
  std::ifstream in(file_of(key), std::ios::binary);
  std::vector<std::byte> all(size);
  if (!in.read(reinterpret_cast<char*>(all.data()), static_cast<std::streamsize>(all.size())))
    return false;
  Header h{};
  if (all.size() < sizeof h) return false;
  std::memcpy(&h, all.data(), sizeof h);
  const auto body = std::span(all).subspan(sizeof h);
  if (std::memcmp(h.magic, magic, sizeof magic) != 0 || h.key_bytes != key.size() ||
      h.key_bytes > body.size() || h.payload_bytes != body.size() - h.key_bytes ||
      hash(body) != h.checksum || std::memcmp(body.data(), key.data(), key.size()) != 0)
    return false;
  payload.assign(body.begin() + static_cast<std::ptrdiff_t>(key.size()), body.end());
  return true;
}

void store(const std::string& key, std::span<const std::byte> payload) {
  const fs::path where = directory();
  if (where.empty()) return;
  std::error_code error;
  fs::create_directories(where, error);
  if (error) return;
  remove_stale(where);

  Header h{};
  std::memcpy(h.magic, magic, sizeof magic);
  h.key_bytes = key.size();
  h.payload_bytes = payload.size();
  h.checksum = hash(payload, hash(std::as_bytes(std::span(key))));

  static std::atomic<unsigned> serial{0};
  const fs::path final_name = file_of(key);
  const fs::path temporary = fmt::format("{}.tmp.{}.{}", final_name.string(), getpid(), serial++);
  {
    std::ofstream out(temporary, std::ios::binary);
    out.write(reinterpret_cast<const char*>(&h), sizeof h);
    out.write(key.data(), static_cast<std::streamsize>(key.size()));
    out.write(reinterpret_cast<const char*>(payload.data()),
              static_cast<std::streamsize>(payload.size()));
    out.close();
    if (!out) {
      fs::remove(temporary, error);
      return;
    }
  }
  fs::rename(temporary, final_name, error);
  if (error) fs::remove(temporary, error);
}

}  // namespace sortium::kernels::cache
