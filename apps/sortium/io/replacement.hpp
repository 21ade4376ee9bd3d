// Replaces files on the disk, one or two together, even if the program or the machine stops in
// between.
//
// A temporary file lies beside its target, is locked by the process that writes it, and is renamed
// at the end. When a process has died, the lock is gone: the next run removes the temporary file.
//
// A commit record makes two files change together. It lies beside the first target and names both
// renames. While it exists, both must be done: the next run that finds it completes them. If the
// targets lie in two directories, a copy of the record lies beside the second target.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>

namespace app {

// A temporary file and the file that it replaces, in one directory.
struct Replacement {
  std::filesystem::path temporary, target;
  std::string before;  // state_of(target) when the run began
};

// Returns the state of a file, to detect whether it has changed: "absent", or its inode, size and
// time of change.
[[nodiscard]] std::string state_of(const std::filesystem::path& path);

// Renames the temporary file. Throws Failure, and changes nothing, if that fails.
void replace(const Replacement& one);

// Renames both temporary files, whose contents must be on the disk. Throws Failure if that fails,
// or if another process has changed one of the targets since the run began: two runs at once must
// not leave the keys of one with the values of the other. With `committed` false, nothing was
// replaced, and the caller must remove the temporary files. With `committed` true, the first file
// was replaced, and the next run replaces the second.
void replace_both(const Replacement& first, const Replacement& second, bool& committed);

// Completes replacements in the directory of `file` that a process began before it died. Throws
// Failure if one of them concerns `file` and cannot be completed.
void finish_replacements(const std::filesystem::path& file);

// Removes the temporary files in `directory` that a process of this user left when it died.
void remove_stale_temporaries(const std::filesystem::path& directory);

}  // namespace app
