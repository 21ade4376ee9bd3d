#include "faults.hpp"

#include <dlfcn.h>
#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

namespace sortium::test {
namespace {

thread_local std::uint64_t until_failure = 0;
thread_local bool failed = false, lasts = false;
std::atomic<std::int64_t> allocated{0};

[[gnu::noinline]] void this_one_fails() { failed = true; }  // for a breakpoint

bool fails() {
  if (until_failure == 0 || --until_failure != 0) return false;
  if (lasts) until_failure = 1;
  this_one_fails();
  return true;
}

}  // namespace

void fail_allocation(std::uint64_t n, bool lasting) {
  failed = false;
  lasts = lasting;
  until_failure = n;
}

bool stop_failing() {
  until_failure = 0;
  return failed;
}

std::int64_t allocated_bytes() { return allocated; }

}  // namespace sortium::test

using sortium::test::allocated;
using sortium::test::fails;

#ifdef __SANITIZE_ADDRESS__

// The sanitizer has its own allocator: make operator new fail, not malloc.
namespace {
void* allocate(std::size_t bytes, std::size_t boundary) {
  if (fails()) throw std::bad_alloc();
  void* memory = nullptr;
  if (::posix_memalign(&memory, boundary < sizeof(void*) ? sizeof(void*) : boundary, bytes) != 0)
    throw std::bad_alloc();
  return memory;
}
}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void* operator new[](std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t boundary) {
  return allocate(bytes, static_cast<std::size_t>(boundary));
}
void* operator new[](std::size_t bytes, std::align_val_t boundary) {
  return allocate(bytes, static_cast<std::size_t>(boundary));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

#else

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
}

namespace {

template <class Allocate>
void* counted(const Allocate& allocate) {
  void* const memory = fails() ? nullptr : allocate();
  if (memory == nullptr)
    errno = ENOMEM;
  else
    allocated += static_cast<std::int64_t>(::malloc_usable_size(memory));
  return memory;
}

}  // namespace

// Every allocation of the program and its libraries comes here, also those of operator new.
#pragma GCC visibility push(default)
extern "C" {

void* malloc(std::size_t bytes) {
  return counted([=] { return __libc_malloc(bytes); });
}
void* calloc(std::size_t count, std::size_t bytes) {
  return counted([=] { return __libc_calloc(count, bytes); });
}
void* realloc(void* old, std::size_t bytes) {
  const std::size_t before = old == nullptr ? 0 : ::malloc_usable_size(old);
  void* const memory = counted([=] { return __libc_realloc(old, bytes); });
  if (memory != nullptr || bytes == 0) allocated -= static_cast<std::int64_t>(before);
  return memory;
}
void* memalign(std::size_t boundary, std::size_t bytes) {
  return counted([=] { return __libc_memalign(boundary, bytes); });
}
void* aligned_alloc(std::size_t boundary, std::size_t bytes) { return memalign(boundary, bytes); }
int posix_memalign(void** memory, std::size_t boundary, std::size_t bytes) {
  *memory = memalign(boundary, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}
void free(void* memory) {
  if (memory != nullptr) allocated -= static_cast<std::int64_t>(::malloc_usable_size(memory));
  __libc_free(memory);
}

// oneTBB allocates from libtbbmalloc if it can load it. Otherwise it uses malloc, which can fail
// here.
void* dlopen(const char* file, int mode) {
  using Open = void* (*)(const char*, int);
  static const Open open = reinterpret_cast<Open>(::dlsym(RTLD_NEXT, "dlopen"));
  if (file != nullptr && std::strstr(file, "libtbbmalloc") != nullptr) return nullptr;
  return open(file, mode);
}

}  // extern "C"
#pragma GCC visibility pop

#endif
