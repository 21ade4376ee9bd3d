#include "short_lists.hpp"

#include <algorithm>
#include <vector>

#include "../sort/host.hpp"
#include "../sort/out_of_memory.hpp"
#include "agreement.hpp"
#include "turn.hpp"

namespace sortium::distributed {

std::uint64_t most_short_bytes(const Device& device, const Communicator& communicator) {
  const Capabilities& claimed = device.info().claimed;
  // Other links than copies from device to device are assumed to be slower. Ranks on CPUs may share
  // cores.
  const std::uint64_t most = claimed.kind != DeviceKind::gpu           ? std::uint64_t{1} << 16
                             : communicator.exchanges_beside_kernels() ? largest_short_list
                                                                       : std::uint64_t{1} << 23;
  return std::min(most, claimed.max_allocation / 4);  // two lists are in one block
}

unsigned record_bytes(const Problem& p) {
  return info(p.key).bytes + (p.payload == Payload::values ? p.value_bytes : 0);
}

namespace {

// Returns memory for all ranks' records, as they are received, and sorted.
Operands memory_of_all(const ShortSort& lent, const Problem& p, std::uint64_t records) {
  const auto make = [&](KeptMemory& kept, unsigned bytes, Memory* received, Memory& sorted) {
    const std::uint64_t all = records * bytes, aligned = (all + 255) / 256 * 256,
                        begin = received == nullptr ? 0 : aligned;
    const Memory both = kept.of(begin + all);
    if (received != nullptr) *received = both.slice(0, all);
    sorted = both.slice(begin, all);
  };
  Operands all;
  make(lent.keys, info(p.key).bytes, &all.keys_in, all.keys_out);
  if (p.payload != Payload::none)
    make(lent.values, p.value_bytes, p.payload == Payload::values ? &all.values_in : nullptr,
         all.values_out);
  return all;
}

// Sends this rank's records, which are in their places in `all`, to all ranks, and receives theirs.
// Returns the bytes that are sent. After an error, keeps memory for ever that other ranks may still
// read.
std::uint64_t exchange(const ShortSort& lent, const Problem& p, const Operands& all,
                       const Extent& extent) try {
  const auto ranks = lent.communicator.size();
  const Turn turn{.from = std::vector(ranks, extent.begin_of_input()),
                  .out = std::vector(ranks, p.count),
                  .in = extent.counts,
                  .stays = true};
  const auto start = [&](const Memory& column, unsigned bytes) {
    return turn.start(lent.communicator, lent.link, lent.copies, column, column, bytes);
  };
  std::uint64_t sent = start(all.keys_in, info(p.key).bytes);
  if (p.payload == Payload::values) sent += start(all.values_in, p.value_bytes);
  lent.communicator.finish_exchanges_on_device(lent.link);
  return sent;
} catch (...) {
  end_of(lent.link);
  lent.keys.abandon();
  lent.values.abandon();
  throw;
}

}  // namespace

Report sort_short(const ShortSort& lent, const Problem& p, const Operands& o, const Extent& extent,
                  const Part& part) {
  const auto on_all = [&](const auto& work) {
    together(lent.communicator, operand_bytes(p), work);
  };
  // Copies `count` elements of `bytes` bytes.
  const auto copy = [&](const Memory& to, std::uint64_t to_at, const Memory& from,
                        std::uint64_t from_at, std::uint64_t count, unsigned bytes) {
    if (count != 0)
      lent.queue.copy(elements(to, to_at, count, bytes), elements(from, from_at, count, bytes),
                      count * bytes);
  };
  const unsigned key = info(p.key).bytes, value = p.value_bytes;
  Report report{.part = part};
  report.local.device = lent.queue.device().info().name;
  Stopwatch watch;
  Operands all;
  const Plan* plan = nullptr;
  // The other ranks read copies of this rank's records, in memory that is kept after an error. So
  // the caller may then free the input.
  on_all([&] {
    plan = &lent.plans.out_of_place(extent.total);
    all = memory_of_all(lent, p, extent.total);
    all.scratch = lent.scratch.of(plan->scratch_bytes());
    const std::uint64_t begin = extent.begin_of_input();
    copy(all.keys_in, begin, o.keys_in, 0, p.count, key);
    if (p.payload == Payload::values) copy(all.values_in, begin, o.values_in, 0, p.count, value);
    lent.queue.finish();  // the exchange has a queue of its own
  });
  report.partition_seconds = report.local.plan_seconds = watch.lap();
  report.bytes_sent = exchange(lent, p, all, extent);
  report.exchange_seconds = watch.lap();
  try {
    on_all([&] {
      plan->run(lent.queue, all);
      if (p.keys_out) copy(o.keys_out, 0, all.keys_out, part.begin, part.count, key);
      if (p.payload != Payload::none)
        copy(o.values_out, 0, all.values_out, part.begin, part.count, value);
      lent.queue.finish();
    });
  } catch (...) {
    end_of(lent.queue);  // records may still be copied to the output
    throw;
  }
  report.sort_seconds = report.local.sort_seconds = watch.lap();
  report.local.algorithm = plan->algorithm().name;
  report.local.parameters = plan->parameters();
  return report;
}

}  // namespace sortium::distributed
