// The companions on arrays in host memory: makes a plan and its device memory, and copies both
// ways. The calling thread does the work for few records.
#include <algorithm>
#include <initializer_list>
#include <memory>
#include <sortium/search.hpp>
#include <utility>

#include "../algorithms/select.hpp"
#include "companion_checks.hpp"
#include "companions_host.hpp"
#include "host.hpp"
#include "host_arrays.hpp"
#include "out_of_memory.hpp"
#include "records.hpp"
#include "validate.hpp"

namespace sortium {

using namespace companions;

namespace {

// One call on host memory: the device, its queue, and the caller's arrays on the device.
class HostCall {
 public:
  explicit HostCall(const std::string& name)
      : device(backend::device_near(name)), queue(device->make_queue()), arrays_(*device) {}

  // Returns device memory for a caller's array that the device reads.
  Memory in(const void* from, std::uint64_t bytes, unsigned element_bytes) {
    return arrays_.add(from, nullptr, bytes, arrays_.can_adopt(from, element_bytes));
  }
  // Returns device memory for a caller's array that the device writes. If that array is also the
  // input `in`, returns other memory, which run() copies to the array.
  Memory out(void* to, std::uint64_t bytes, unsigned element_bytes, const void* in = nullptr) {
    const bool adopts = to != in && arrays_.can_adopt(to, element_bytes);
    return arrays_.add(nullptr, to, bytes, adopts);
  }
  Memory scratch(std::uint64_t bytes) { return arrays_.scratch(bytes); }

  // Copies the inputs to the device, runs `work`, and copies the outputs back.
  template <class Work>
  void run(const Work& work) {
    start(work);
    arrays_.read(*queue);
  }
  // The same without copying the outputs back.
  template <class Work>
  void start(const Work& work) {
    arrays_.write(*queue);
    arrays_.run(*queue, work);
  }
  std::uint64_t number(const Memory& from) {
    std::uint64_t n = 0;
    queue->read(&n, from, 8);
    return n;
  }

  std::shared_ptr<Device> device;
  std::unique_ptr<Queue> queue;

 private:
  HostArrays arrays_;
};

// The bytes of the keys, and of the values (0 without a payload), of `records` records.
std::uint64_t key_bytes(const Problem& p, std::uint64_t records) {
  return records * info(p.key).bytes;
}
std::uint64_t value_bytes(const Problem& p, std::uint64_t records) {
  return p.payload == Payload::none ? 0 : records * p.value_bytes;
}

// True if the calling thread should do the work itself, as cpu:0 would: there are few records (of a
// search, needles), the arrays are aligned, and no other device is named. A plan, a queue and
// buffers would take longer than the work.
bool suits_calling_thread(std::uint64_t records, const std::string& device,
                          std::initializer_list<std::pair<const void*, unsigned>> arrays) {
#ifdef SORTIUM_WITH_HOST
  constexpr std::uint64_t few_records = 1u << 14;
  return records <= few_records && (device == "cpu:0" || !backend::names_device(device)) &&
         std::ranges::all_of(arrays, [](const auto& array) {
           return reinterpret_cast<std::uintptr_t>(array.first) % unit_of(array.second) == 0;
         });
#else
  (void)records, (void)device, (void)arrays;
  return false;
#endif
}

// Makes an operand of a caller's array. The address of an empty array is ignored.
Operand host_operand(const char* name, const void* array, std::uint64_t bytes, bool written,
                     const char* in_place_of = nullptr) {
  return {name, host_memory(bytes == 0 ? nullptr : array), bytes, 1, written, -1, in_place_of};
}

// Throws Error(invalid_argument) naming the operand that is null or overlaps another one. Outputs
// may be the inputs.
void validate_in_place_operands(const Problem& p, const HostOperands& h, void* lengths,
                                std::uint64_t length_bytes) {
  const Operand all[] = {
      host_operand("keys_in", h.keys_in, key_bytes(p, p.count), false),
      host_operand("keys_out", h.keys_out, p.keys_out ? key_bytes(p, p.count) : 0, true, "keys_in"),
      host_operand("values_in", h.values_in,
                   p.payload == Payload::values ? value_bytes(p, p.count) : 0, false),
      host_operand("values_out", h.values_out, value_bytes(p, p.count), true, "values_in"),
      host_operand("lengths", lengths, p.count * length_bytes, true)};
  validate_operands(all, Space::host);
}

}  // namespace

void detail::check_k(std::uint64_t k, std::uint64_t count) {
  if (k == 0 || k > count)
    refuse(fmt::format("k is {}; 1 to {}, the number of records, is allowed", k, count));
}

std::uint64_t first_unsorted_host(const Problem& p, const void* keys,
                                  const std::string& device) try {
  HostCall call(device);
  const IsSortedPlan plan(call.device, p);
  const Operand all[] = {host_operand("keys", keys, key_bytes(p, p.count), false)};
  validate_operands(all, Space::host);
  const IsSortedPlan::Operands o{call.in(keys, key_bytes(p, p.count), info(p.key).bytes),
                                 call.out(nullptr, 8, 8), call.scratch(plan.scratch_bytes())};
  call.start([&] { plan.run(*call.queue, o); });
  return call.number(o.result);
} catch (const std::bad_alloc&) {
  throw_out_of_memory("first_unsorted_host", operand_bytes(p));
}

std::uint64_t unique_host(const Problem& p, const HostOperands& h, void* lengths,
                          unsigned length_bytes, const std::string& device) try {
  HostCall call(device);
  if (lengths == nullptr) length_bytes = 0;
  const UniquePlan plan(call.device, p, length_bytes);
  validate_in_place_operands(p, h, lengths, length_bytes);
  UniquePlan::Operands o;
  o.keys_in = call.in(h.keys_in, key_bytes(p, p.count), info(p.key).bytes);
  if (p.payload == Payload::values)
    o.values_in = call.in(h.values_in, value_bytes(p, p.count), p.value_bytes);
  if (p.keys_out) o.keys_out = call.scratch(key_bytes(p, p.count));
  o.values_out = call.scratch(value_bytes(p, p.count));
  o.lengths = call.scratch(p.count * length_bytes);
  o.runs = call.scratch(8);
  o.scratch = call.scratch(plan.scratch_bytes());
  call.start([&] { plan.run(*call.queue, o); });

  const std::uint64_t runs = call.number(o.runs);
  const auto read = [&](void* to, const Memory& from, std::uint64_t bytes) {
    if (bytes != 0) call.queue->read(to, from, bytes);
  };
  if (p.keys_out) read(h.keys_out, o.keys_out, key_bytes(p, runs));
  read(h.values_out, o.values_out, value_bytes(p, runs));
  read(lengths, o.lengths, runs * length_bytes);
  return runs;
} catch (const std::bad_alloc&) {
  throw_out_of_memory("unique_host", operand_bytes(p));
}

void merge_host(const Problem& p, std::uint64_t a_count, const HostMergeOperands& h,
                const std::string& device) try {
  HostCall call(device);
  const MergePlan plan(call.device, p, a_count);
  const std::uint64_t b_count = p.count - a_count;
  const unsigned key = info(p.key).bytes;
  const Operand all[] = {host_operand("a_keys", h.a_keys, key_bytes(p, a_count), false),
                         host_operand("b_keys", h.b_keys, key_bytes(p, b_count), false),
                         host_operand("keys_out", h.keys_out, key_bytes(p, p.count), true),
                         host_operand("a_values", h.a_values, value_bytes(p, a_count), false),
                         host_operand("b_values", h.b_values, value_bytes(p, b_count), false),
                         host_operand("values_out", h.values_out, value_bytes(p, p.count), true)};
  validate_operands(all, Space::host);
  MergePlan::Operands o;
  o.a_keys = call.in(h.a_keys, key_bytes(p, a_count), key);
  o.b_keys = call.in(h.b_keys, key_bytes(p, b_count), key);
  o.keys_out = call.out(h.keys_out, key_bytes(p, p.count), key);
  o.a_values = call.in(h.a_values, value_bytes(p, a_count), p.value_bytes);
  o.b_values = call.in(h.b_values, value_bytes(p, b_count), p.value_bytes);
  o.values_out = call.out(h.values_out, value_bytes(p, p.count), p.value_bytes);
  o.scratch = call.scratch(plan.scratch_bytes());
  call.run([&] { plan.run(*call.queue, o); });
} catch (const std::bad_alloc&) {
  throw_out_of_memory("merge_host", operand_bytes(p));
}

void search_host(const Problem& p, const void* keys, const void* needles,
                 std::uint64_t needle_count, void* places, Bound bound,
                 const std::string& device) try {
  checked(with_places(p));
  check_search(needle_count, bound);
  const std::uint64_t place_bytes = needle_count * p.value_bytes;
  const Operand all[] = {host_operand("keys", keys, key_bytes(p, p.count), false),
                         host_operand("needles", needles, key_bytes(p, needle_count), false),
                         host_operand("places", places, place_bytes, true)};
#ifdef SORTIUM_WITH_HOST
  const unsigned key = info(p.key).bytes;
  if (suits_calling_thread(needle_count, device,
                           {{keys, key}, {needles, key}, {places, p.value_bytes}})) {
    validate_operands(all, Space::host);
    return on_host::search(p, needle_count, bound,
                           {host_memory(keys), host_memory(needles), host_memory(places)});
  }
#endif
  HostCall call(device);
  const SearchPlan plan(call.device, p, needle_count, bound);
  validate_operands(all, Space::host);
  const SearchPlan::Operands o{call.in(keys, key_bytes(p, p.count), info(p.key).bytes),
                               call.in(needles, key_bytes(p, needle_count), info(p.key).bytes),
                               call.out(places, place_bytes, p.value_bytes)};
  call.run([&] { plan.run(*call.queue, o); });
} catch (const std::bad_alloc&) {
  throw_out_of_memory("search_host", (p.count + needle_count) * info(p.key).bytes);
}

void nth_element_host(const Problem& p, std::uint64_t n, const HostOperands& h,
                      const std::string& device) try {
  check_nth(checked(p), n);
#ifdef SORTIUM_WITH_HOST
  const unsigned key = info(p.key).bytes, value = std::max(p.value_bytes, 1u);
  const bool in_place =
      h.keys_out == h.keys_in || (h.values_in != nullptr && h.values_out == h.values_in);
  if (!in_place &&
      suits_calling_thread(
          p.count, device,
          {{h.keys_in, key}, {h.keys_out, key}, {h.values_in, value}, {h.values_out, value}})) {
    validate_in_place_operands(p, h, nullptr, 0);
    const bool has_values = p.payload != Payload::none;
    const Operands o{host_memory(h.keys_in),
                     host_memory(p.keys_out ? h.keys_out : nullptr),
                     host_memory(p.payload == Payload::values ? h.values_in : nullptr),
                     host_memory(has_values ? h.values_out : nullptr),
                     {},
                     {}};
    return select_on_host(p, o, 1, n + 1, p.count);
  }
#endif
  HostCall call(device);
  const NthElementPlan plan(call.device, p, n);
  validate_in_place_operands(p, h, nullptr, 0);
  Operands o;
  o.keys_in = call.in(h.keys_in, key_bytes(p, p.count), info(p.key).bytes);
  if (p.payload == Payload::values)
    o.values_in = call.in(h.values_in, value_bytes(p, p.count), p.value_bytes);
  if (p.keys_out)
    o.keys_out = call.out(h.keys_out, key_bytes(p, p.count), info(p.key).bytes, h.keys_in);
  o.values_out = call.out(h.values_out, value_bytes(p, p.count), p.value_bytes, h.values_in);
  o.scratch = call.scratch(plan.scratch_bytes());
  call.run([&] { plan.run(*call.queue, o); });
} catch (const std::bad_alloc&) {
  throw_out_of_memory("nth_element_host", operand_bytes(p));
}

}  // namespace sortium
