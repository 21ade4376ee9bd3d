// Fuzzes the recovery of interrupted replacements. Whatever a commit record contains, the recovery
// may change a file only if a temporary file of this program is beside it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "fuzz.hpp"
#include "io/replacement.hpp"

namespace fs = std::filesystem;

namespace {

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
}

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A directory of this process, removed with the object.
struct Directory {
  Directory() {
    std::string name = (fs::temp_directory_path() / "sortium-fuzz-XXXXXX").string();
    fuzz::require(::mkdtemp(name.data()) != nullptr, "a directory is made");
    path = name;
    fs::create_directory(path / "sub");
  }
  ~Directory() { fs::remove_all(path); }
  fs::path path;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Directory directory;
  const fs::path here = directory.path / "sub";
  for (const auto& folder : {directory.path, here}) write(folder / "bystander", "mine");
  write(here / "old", "old");
  write(here / ".sortium-1-a.tmp", "new");
  write(here / ".sortium-1-b.tmp", "new");
  write(here / ".sortium-1-c.commit", std::string(reinterpret_cast<const char*>(data), size));
  fuzz::may_refuse([&] { app::finish_replacements(here / "old"); });
  app::remove_stale_temporaries(here);
  fuzz::require(read(here / "bystander") == "mine", "no other file is changed");
  fuzz::require(read(directory.path / "bystander") == "mine", "nor one in another directory");
  fuzz::require(read(here / "old") == "old", "a file of another state is not replaced");
  fs::remove_all(here);
  fs::create_directory(here);
  return 0;
}
