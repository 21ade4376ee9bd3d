/* A library that tests preload into the program, to make one of its transfers fail, and to see its
 * peak memory.
 *
 * FAIL_IO="CALL:N:HOW" concerns the N-th call (from 1) of CALL: pread or pwrite; or read or write,
 * of which only calls for at least 64 KiB count. HOW is short, when the call transfers half of what
 * it should, or the number that errno gets.
 *
 * PEAK_TO names a file that gets the line of /proc/self/status with the peak of the resident memory
 * (VmHWM) when the program ends. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* Returns how many of `bytes` to transfer; -1 if the call must fail, and errno is set. */
static ssize_t allowed(const char* call, size_t bytes) {
  static int calls;
  const char* plan = getenv("FAIL_IO");
  char wanted[16] = "", how[16] = "";
  int n = 0;
  if (plan == NULL || sscanf(plan, "%15[^:]:%d:%15s", wanted, &n, how) != 3 ||
      strcmp(wanted, call) != 0)
    return (ssize_t)bytes;
  if (__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) != n) return (ssize_t)bytes;
  if (strcmp(how, "short") == 0) return (ssize_t)(bytes / 2 / 4096 * 4096);
  errno = atoi(how);
  return -1;
}

ssize_t read(int fd, void* to, size_t bytes) {
  ssize_t (*real)(int, void*, size_t) = dlsym(RTLD_NEXT, "read");
  const ssize_t n = bytes < 65536 ? (ssize_t)bytes : allowed("read", bytes);
  return n < 0 ? -1 : real(fd, to, (size_t)n);
}

ssize_t write(int fd, const void* from, size_t bytes) {
  ssize_t (*real)(int, const void*, size_t) = dlsym(RTLD_NEXT, "write");
  const ssize_t n = bytes < 65536 ? (ssize_t)bytes : allowed("write", bytes);
  return n < 0 ? -1 : real(fd, from, (size_t)n);
}

ssize_t pread(int fd, void* to, size_t bytes, off_t at) {
  ssize_t (*real)(int, void*, size_t, off_t) = dlsym(RTLD_NEXT, "pread");
  const ssize_t n = allowed("pread", bytes);
  return n < 0 ? -1 : real(fd, to, (size_t)n, at);
}

ssize_t pwrite(int fd, const void* from, size_t bytes, off_t at) {
  ssize_t (*real)(int, const void*, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite");
  const ssize_t n = allowed("pwrite", bytes);
  return n < 0 ? -1 : real(fd, from, (size_t)n, at);
}

__attribute__((destructor)) static void write_peak(void) {
  const char* path = getenv("PEAK_TO");
  FILE* status = path == NULL ? NULL : fopen("/proc/self/status", "r");
  FILE* out = status == NULL ? NULL : fopen(path, "w");
  char line[256];
  while (out != NULL && fgets(line, sizeof line, status) != NULL)
    if (strncmp(line, "VmHWM:", 6) == 0) fputs(line, out);
  if (out != NULL) fclose(out);
  if (status != NULL) fclose(status);
}
