/* A library that tests preload into the program, to make one of its transfers fail, to see its peak
 * memory, and to let it see more cores than there are.
 *
 * FAIL_IO="CALL:N:HOW:END" concerns the N-th call (from 1) of CALL on a file whose name ends with
 * END. CALL is pread or pwrite; or read or write, of which only calls for at least 64 KiB count.
 * HOW is short, when the call transfers half of what it should, or the number that errno gets. A
 * name is that of /proc/self/fd: files without a name end with "(deleted)".
 *
 * PEAK_TO names a file that gets the line of /proc/self/status with the peak of the resident memory
 * (VmHWM) when the program ends.
 *
 * CORES is the number of cores that the program sees. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int name_ends_with(int fd, const char* end) {
  char link[32], name[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, name, sizeof name);
  const ssize_t wanted = (ssize_t)strlen(end);
  return length >= wanted && memcmp(name + length - wanted, end, (size_t)wanted) == 0;
}

/* Returns how many of `bytes` to transfer; -1 if the call must fail, and errno is set. */
static ssize_t allowed(const char* call, int fd, size_t bytes) {
  static int calls;
  const char* plan = getenv("FAIL_IO");
  char wanted[16] = "", how[16] = "", end[64] = "";
  int n = 0;
  if (plan == NULL || sscanf(plan, "%15[^:]:%d:%15[^:]:%63s", wanted, &n, how, end) != 4 ||
      strcmp(wanted, call) != 0 || !name_ends_with(fd, end))
    return (ssize_t)bytes;
  if (__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) != n) return (ssize_t)bytes;
  /* Direct transfers need multiples of a block of the disk. */
  if (strcmp(how, "short") == 0)
    return (ssize_t)(bytes < 8192 ? bytes / 2 : bytes / 2 / 4096 * 4096);
  errno = atoi(how);
  return -1;
}

ssize_t read(int fd, void* to, size_t bytes) {
  ssize_t (*real)(int, void*, size_t) = dlsym(RTLD_NEXT, "read");
  const ssize_t n = bytes < 65536 ? (ssize_t)bytes : allowed("read", fd, bytes);
  return n < 0 ? -1 : real(fd, to, (size_t)n);
}

ssize_t write(int fd, const void* from, size_t bytes) {
  ssize_t (*real)(int, const void*, size_t) = dlsym(RTLD_NEXT, "write");
  const ssize_t n = bytes < 65536 ? (ssize_t)bytes : allowed("write", fd, bytes);
  return n < 0 ? -1 : real(fd, from, (size_t)n);
}

ssize_t pread(int fd, void* to, size_t bytes, off_t at) {
  ssize_t (*real)(int, void*, size_t, off_t) = dlsym(RTLD_NEXT, "pread");
  const ssize_t n = allowed("pread", fd, bytes);
  return n < 0 ? -1 : real(fd, to, (size_t)n, at);
}

ssize_t pwrite(int fd, const void* from, size_t bytes, off_t at) {
  ssize_t (*real)(int, const void*, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite");
  const ssize_t n = allowed("pwrite", fd, bytes);
  return n < 0 ? -1 : real(fd, from, (size_t)n, at);
}

static long cores(void) {
  const char* number = getenv("CORES");
  return number == NULL ? 0 : atol(number);
}

int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t* set) {
  int (*real)(pid_t, size_t, cpu_set_t*) = dlsym(RTLD_NEXT, "sched_getaffinity");
  if (cores() == 0) return real(pid, bytes, set);
  CPU_ZERO_S(bytes, set);
  for (long core = 0; core < cores(); ++core) CPU_SET_S((size_t)core, bytes, set);
  return 0;
}

/* oneTBB binds its threads to no cores, but asks how many there are. */
long sysconf(int name) {
  long (*real)(int) = dlsym(RTLD_NEXT, "sysconf");
  const int is_cores = name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF;
  return is_cores && cores() != 0 ? cores() : real(name);
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
