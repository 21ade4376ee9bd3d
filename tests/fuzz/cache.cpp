// Fuzzes the kernel cache. An entry that is damaged in one byte, shortened, or anything else, must
// not be loaded; a stored one must be. The first four bytes select the damage.
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sortium/device.hpp>
#include <vector>

#include "fuzz.hpp"
#include "kernels/kernels.hpp"

namespace fs = std::filesystem;
namespace cache = sortium::kernels::cache;

namespace {

// The cache's directory: of this process, removed at its end.
struct Directory {
  Directory() {
    std::string name = (fs::temp_directory_path() / "sortium-fuzz-XXXXXX").string();
    fuzz::require(::mkdtemp(name.data()) != nullptr, "a directory is made");
    path = name;
    ::setenv("SORTIUM_CACHE_DIR", name.c_str(), 1);
  }
  ~Directory() { fs::remove_all(path); }
  fs::path path;
};

void write(const std::string& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
  ::chmod(file.c_str(), 0600);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Directory directory;
  constexpr std::size_t choice = 4;
  if (size < choice) return 0;
  const std::string key = "a key";
  const std::string content(reinterpret_cast<const char*>(data) + choice, size - choice);
  std::vector<std::byte> payload(content.size()), loaded;
  if (!content.empty()) std::memcpy(payload.data(), content.data(), content.size());

  cache::store(key, payload);
  fuzz::require(cache::load(key, loaded) && loaded == payload, "a stored entry is loaded");
  fuzz::require(!cache::load("another", loaded), "an entry belongs to its key");

  const std::string file = cache::file_of(key);
  std::ifstream in(file, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  const std::size_t at = (data[0] + 256u * data[1]) % whole.size();
  if (data[2] != 0) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ data[2]);
    write(file, damaged);
    fuzz::require(!cache::load(key, loaded), "a damaged entry is ignored");
  }
  write(file, whole.substr(0, at));
  fuzz::require(!cache::load(key, loaded), "a shortened entry is ignored");
  write(file, content);
  fuzz::require(!cache::load(key, loaded) || content == whole, "what is no entry is ignored");
  return 0;
}
