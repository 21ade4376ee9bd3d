#include "host_arrays.hpp"

#include <algorithm>

#include "host.hpp"
#include "validate.hpp"

namespace sortium {

bool HostArrays::can_adopt(const void* host, unsigned element_bytes) const {
  return device_.info().claimed.kind == DeviceKind::cpu &&
         reinterpret_cast<std::uintptr_t>(host) % unit_of(element_bytes) == 0;
}

bool HostArrays::keeps_input() const { return device_.info().claimed.backend == Backend::opencl; }

Memory HostArrays::add(const void* from, void* to, std::uint64_t bytes, bool adopt) {
  if (bytes == 0) return {};
  if (from == nullptr && to != nullptr && !adopt) pages_.add(to, bytes);
  void* const host = to != nullptr ? to : const_cast<void*>(from);
  all_.push_back(
      {from, to, bytes, adopt, adopt ? device_.adopt(host, bytes) : device_.allocate(bytes)});
  return all_.back().buffer->memory();
}

HostArrays::InOut HostArrays::add_sorted(const Problem& p, const void* in, void* out,
                                         unsigned element_bytes, bool adopt) {
  const bool in_place = out != nullptr && (adopt ? in == out && !keeps_input() : p.limit == 0);
  Memory input;
  if (in != nullptr) input = add(in, in_place ? out : nullptr, p.count * element_bytes, adopt);
  if (out == nullptr) return {input, {}};
  if (in_place && input) return {input, input};
  // Segments shorter than the limit leave some of the output unwritten, which must keep its
  // contents.
  const bool is_partly_written = p.segments != 0 && p.limit != 0;
  return {input, add(is_partly_written ? out : nullptr, out, records_out(p) * element_bytes,
                     adopt && in != out)};
}

Memory HostArrays::scratch(std::uint64_t bytes) {
#ifdef SORTIUM_WITH_HOST
  // The C library itself keeps smaller blocks.
  constexpr std::uint64_t kept_from = std::uint64_t{1} << 21;  // bytes
  const auto& c = device_.info().claimed;
  if (c.kind == DeviceKind::cpu && c.backend == Backend::opencl && bytes >= kept_from) {
    kept_.push_back(find_device("cpu:0")->allocate(bytes));
    return add(kept_.back()->memory().handle, nullptr, bytes, true);
  }
#endif
  return add(nullptr, nullptr, bytes, false);
}

void HostArrays::write(Queue& queue, const Options& options) {
  pages_.start();
  constexpr std::uint64_t piece = std::uint64_t{1} << 28;  // bytes: some 10 ms
  for (const auto& a : all_) {
    if (a.adopted || a.from == nullptr) continue;
    for (std::uint64_t at = 0; at < a.bytes; at += piece) {
      check_stop(options);
      const std::uint64_t bytes = std::min(piece, a.bytes - at);
      queue.write(a.buffer->memory().slice(at, bytes), static_cast<const std::byte*>(a.from) + at,
                  bytes);
    }
  }
  check_stop(options);
}

void HostArrays::run(Queue& queue, const std::function<void()>& enqueue) const try {
  enqueue();
  for (const auto& a : all_)
    if (a.adopted && a.to != nullptr) device_.sync_host(queue, *a.buffer);
  queue.finish();
} catch (...) {
  try {
    queue.finish();
  } catch (const Error&) {  // the first error says more
  }
  throw;
}

void HostArrays::read(Queue& queue) {
  pages_.wait();
  for (const auto& a : all_)
    if (!a.adopted && a.to != nullptr) queue.read(a.to, a.buffer->memory(), a.bytes);
}

}  // namespace sortium
