/* A library that tests preload into the program, to show it another machine: /dev/nvidia*, the PCI
 * devices and the NVIDIA driver's version are files below the directory OTHER_MACHINE. Access is
 * decided by the files' permissions for others, because root may open everything. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns the path on the other machine. `there` has room for it. */
static const char* moved(const char* path, char* there) {
  const char* root = getenv("OTHER_MACHINE");
  if (root == NULL || path == NULL ||
      (strncmp(path, "/dev/nvidia", 11) != 0 && strncmp(path, "/sys/bus/pci/", 13) != 0 &&
       strncmp(path, "/proc/driver/nvidia/", 20) != 0))
    return path;
  snprintf(there, PATH_MAX, "%s%s", root, path);
  return there;
}

int stat(const char* path, struct stat* out) {
  char there[PATH_MAX];
  int (*real)(const char*, struct stat*) = dlsym(RTLD_NEXT, "stat");
  return real(moved(path, there), out);
}

int stat64(const char* path, struct stat64* out) {
  char there[PATH_MAX];
  int (*real)(const char*, struct stat64*) = dlsym(RTLD_NEXT, "stat64");
  return real(moved(path, there), out);
}

int access(const char* path, int mode) {
  char there[PATH_MAX];
  struct stat file;
  int (*real)(const char*, int) = dlsym(RTLD_NEXT, "access");
  const char* at = moved(path, there);
  if (at == path) return real(path, mode);
  if (stat(path, &file) != 0) return -1;
  if ((file.st_mode & (mode_t)mode) == (mode_t)mode) return 0;
  errno = EACCES;
  return -1;
}

int openat(int directory, const char* path, int flags, ...) {
  char there[PATH_MAX];
  int (*real)(int, const char*, int, ...) = dlsym(RTLD_NEXT, "openat");
  va_list more;
  mode_t mode;
  va_start(more, flags);
  mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return real(directory, moved(path, there), flags, mode);
}

FILE* fopen(const char* path, const char* mode) {
  char there[PATH_MAX];
  FILE* (*real)(const char*, const char*) = dlsym(RTLD_NEXT, "fopen");
  return real(moved(path, there), mode);
}

FILE* fopen64(const char* path, const char* mode) {
  char there[PATH_MAX];
  FILE* (*real)(const char*, const char*) = dlsym(RTLD_NEXT, "fopen64");
  return real(moved(path, there), mode);
}
