// Temporary files that a later run recognises if the process that made them has died. Their names
// are ".sortium-PID-TIME" and a suffix.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sortium::files {

inline constexpr std::string_view temporary_suffix = ".tmp";
// Of a record of two replacements, which names temporary files that are still needed
// (apps/sortium/io/replacement.hpp).
inline constexpr std::string_view record_suffix = ".commit";

// Returns a name that no other run of this user makes.
[[nodiscard]] std::string unique_name(std::string_view suffix);
// Returns true if unique_name() makes such names.
[[nodiscard]] bool is_own_name(std::string_view name, std::string_view suffix);
// Returns the files in a directory whose names unique_name() made with this suffix.
[[nodiscard]] std::vector<std::filesystem::path> own_files(const std::filesystem::path& directory,
                                                           std::string_view suffix);

// Returns true if an open file is this user's own, and no other name or link leads to it.
[[nodiscard]] bool is_private(const struct stat& file);
// Returns true if `path` leads to the open file.
[[nodiscard]] bool is_there(const std::filesystem::path& path, int fd);
// Writes the names in a directory to the disk, if its file system can.
void sync_directory(const std::filesystem::path& directory);

struct TemporaryFile {
  std::filesystem::path path;
  int fd = -1;  // open for writing
};

// Creates a temporary file beside `target`, locked until its descriptor is closed. Calls `announce`
// with its path before the file exists, perhaps for several paths; the last one counts. On failure,
// the descriptor is -1 and errno has the reason.
[[nodiscard]] TemporaryFile create_temporary(
    const std::filesystem::path& target, mode_t mode,
    const std::function<void(const std::filesystem::path&)>& announce);

// Removes the temporary files in `directory` that a process of this user left when it died, but for
// those with the names `needed`.
void remove_stale_temporaries(const std::filesystem::path& directory,
                              const std::set<std::string>& needed);

}  // namespace sortium::files
