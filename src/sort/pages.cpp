#include "pages.hpp"

#include <sys/mman.h>

#include <sortium/host.hpp>
#include <system_error>

#include "all_cores.hpp"

// Linux 5.14; older systems refuse it, and pages come when they are first touched.
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace sortium {

namespace {

// For less memory, starting threads takes longer than touching its pages.
constexpr std::uint64_t least_bytes = std::uint64_t{1} << 25;

}  // namespace

void OutputPages::add(void* memory, std::uint64_t bytes) {
  if (bytes >= least_bytes) arrays_.push_back({memory, bytes});
}

void OutputPages::start() {
  if (arrays_.empty()) return;
  try {
    thread_ = std::thread([this] {
      for (const auto& a : arrays_) detail::provide_pages(a.memory, a.bytes);
    });
  } catch (const std::exception&) {  // without a thread, pages come when they are written
  }
}

void OutputPages::wait() {
  if (thread_.joinable()) thread_.join();
}

void detail::provide_pages(void* memory, std::uint64_t bytes) noexcept {
  constexpr std::uintptr_t page = 4096, piece = std::uintptr_t{1} << 24;
  const auto first = (reinterpret_cast<std::uintptr_t>(memory) + page - 1) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / page * page;
  if (first >= end || bytes < least_bytes) return;
  ::madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
  try {
    on_all_cores((end - first + piece - 1) / piece, [&](std::uint64_t i) {
      const std::uintptr_t at = first + i * piece;
      ::madvise(reinterpret_cast<void*>(at), std::min(piece, end - at), MADV_POPULATE_WRITE);
    });
  } catch (...) {  // a hint: the pages come later
  }
}

}  // namespace sortium
