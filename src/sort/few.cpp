#include "few.hpp"

#include "host.hpp"
#include "validate.hpp"

namespace sortium {

constinit std::atomic<const detail::FewNames*> detail::few_names{nullptr};

#ifdef SORTIUM_WITH_HOST
namespace {

bool begins_aligned(const void* m, unsigned bytes) {
  return (reinterpret_cast<std::uintptr_t>(m) & (bytes - 1)) == 0;
}

bool overlap(const void* a, std::uint64_t a_bytes, const void* b, std::uint64_t b_bytes) {
  const auto x = reinterpret_cast<std::uintptr_t>(a), y = reinterpret_cast<std::uintptr_t>(b);
  return x < y + b_bytes && y < x + a_bytes;
}

HostReport report() {
  // Written only once: a write in every call would make threads contend for its cache line.
  static const detail::FewNames& names = []() -> const detail::FewNames& {
    static const detail::FewNames made{
        find_device("cpu:0")->info().name,
        catalog::sample().info().name};  // devices are never destroyed
    detail::few_names.store(&made, std::memory_order_release);
    return made;
  }();
  return detail::few_report(names);
}

HostReport report_of_counting() {
  static const detail::FewNames names{find_device("cpu:0")->info().name,
                                      catalog::counting().info().name};
  return detail::few_report(names);
}

HostReport sort_by_network(const Problem& p, const HostOperands& o) {
  HostReport made = report();
  catalog::sample_fewest(p, o.keys_in, o.keys_out, o.values_in, o.values_out);
  return made;
}

}  // namespace

bool few::suits(const Problem& p, const HostOperands& o) {
  const unsigned key = info(p.key).bytes;
  if (!begins_aligned(o.keys_in, key) || !begins_aligned(o.keys_out, key)) return false;
  if (p.payload == Payload::none) return true;
  if (p.value_bytes != 4 && p.value_bytes != 8) return true;  // an error that sort() reports
  if (!begins_aligned(o.values_in, p.value_bytes) || !begins_aligned(o.values_out, p.value_bytes))
    return false;
  return p.payload == Payload::positions ||
         (o.keys_in == o.keys_out) == (o.values_in == o.values_out);
}

HostReport few::sort(const Problem& p, const HostOperands& o) {
  validate_problem(p);
  if (p.count == 0) return report();
  const Operands operands{host_memory(o.keys_in),
                          host_memory(o.keys_out),
                          host_memory(o.values_in),
                          host_memory(o.values_out),
                          {},
                          host_memory(o.offsets)};
  validate_sort_operands(p, operands, 0, Space::host);
  if (p.count <= network_records) return sort_by_network(p, o);
  const bool counts = catalog::counting_suits(p);
  HostReport made = counts ? report_of_counting() : report();
  const auto sort_few = counts ? catalog::counting_few : catalog::sample_few;
  if (p.count <= untimed_records) {
    sort_few(p, operands);
  } else {
    Stopwatch watch;
    sort_few(p, operands);
    made.sort_seconds = watch.lap();
  }
  return made;
}
#else
bool few::suits(const Problem&, const HostOperands&) { return false; }
HostReport few::sort(const Problem&, const HostOperands&) { return {}; }
#endif

HostReport detail::sort_few_by_default(KeyType key, std::uint64_t count, void* keys,
                                       unsigned value_bytes, void* values) {
  Problem p{.key = key, .count = count};
  if (value_bytes != 0) p.payload = Payload::values, p.value_bytes = value_bytes;
#ifdef SORTIUM_WITH_HOST
  // Invalid or misaligned arguments take the slow path: sort_host() reports or copies them.
  const unsigned key_bytes = info(key).bytes;
  const bool right =
      keys != nullptr && begins_aligned(keys, key_bytes) &&
      (value_bytes == 0 || ((value_bytes == 4 || value_bytes == 8) && values != nullptr &&
                            begins_aligned(values, value_bytes) &&
                            !overlap(keys, count * key_bytes, values, count * value_bytes)));
  if (right && count < 2) return report();
  if (right && count <= few::network_records)
    return sort_by_network(p, {keys, keys, values, values});
#endif
  return sort_host(p, {keys, keys, values, values});
}

}  // namespace sortium
