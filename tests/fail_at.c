// A library that tests preload into the program, to stop it or make it fail at a chosen file
// operation.
//
// FAIL_AT="CALL:N:HOW" concerns the N-th call (from 1) of CALL, which is open (that creates a
// file), rename, unlink, or any of them, on a path with ".sortium-" in it. HOW is kill or term, the
// signal that the program gets before the call, or the number that errno gets. CALL created is an
// open whose signal comes when the file exists.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Returns 1 if the call must fail; errno is set then.
static int stopped(const char* call, const char* path) {
  static int calls;
  const char* plan = getenv("FAIL_AT");
  char wanted[16] = "", how[16] = "";
  int n = 0;
  if (strstr(path, ".sortium-") == NULL || plan == NULL ||
      sscanf(plan, "%15[^:]:%d:%15s", wanted, &n, how) != 3)
    return 0;
  if (strcmp(wanted, call) != 0 && (strcmp(wanted, "any") != 0 || strcmp(call, "created") == 0))
    return 0;
  if (++calls != n) return 0;
  if (strcmp(how, "kill") == 0) raise(SIGKILL);
  if (strcmp(how, "term") == 0) raise(SIGTERM);
  errno = atoi(how);
  return 1;
}

int rename(const char* from, const char* to) {
  int (*real)(const char*, const char*) = dlsym(RTLD_NEXT, "rename");
  return stopped("rename", from) ? -1 : real(from, to);
}

int unlink(const char* path) {
  int (*real)(const char*) = dlsym(RTLD_NEXT, "unlink");
  return stopped("unlink", path) ? -1 : real(path);
}

static int open_with(const char* name, const char* path, int flags, mode_t mode) {
  int (*real)(const char*, int, ...) = dlsym(RTLD_NEXT, name);
  if ((flags & O_CREAT) != 0 && stopped("open", path)) return -1;
  const int fd = real(path, flags, mode);
  if ((flags & O_CREAT) != 0 && fd >= 0) stopped("created", path);
  return fd;
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_with("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_with("open64", path, flags, mode);
}
