// Distributed sorts for C.
#include <sortium/distributed.h>

#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <sortium/distributed_nccl.hpp>

#include "convert.hpp"

using namespace sortium;
using namespace sortium::c;
using distributed::Balance, distributed::Communicator;

namespace {

// A communicator of C's functions.
class CCommunicator final : public Communicator {
 public:
  explicit CCommunicator(const sortium_communicator* given)
      : c_(need(given, "communicator")), eight_bytes_(c_.size, sizeof(std::uint64_t)) {
    if (c_.rank >= c_.size)
      throw Error(ErrorCode::invalid_argument, "communicator->rank is " + std::to_string(c_.rank) +
                                                   ", communicator->size is " +
                                                   std::to_string(c_.size));
    if (c_.all_gather == nullptr || c_.exchange == nullptr)
      throw Error(ErrorCode::invalid_argument,
                  "communicator->all_gather or communicator->exchange is null");
  }

  [[nodiscard]] unsigned rank() const override { return c_.rank; }
  [[nodiscard]] unsigned size() const override { return c_.size; }

  [[nodiscard]] std::vector<std::byte> all_gather(std::span<const std::byte> mine) override {
    const std::uint64_t bytes = mine.size();
    std::vector<std::uint64_t> lengths(c_.size);
    check(c_.all_gather(c_.context, &bytes, lengths.data(), eight_bytes_.data()), "all_gather");
    std::vector<std::byte> all(std::accumulate(lengths.begin(), lengths.end(), std::uint64_t{0}));
    if (!all.empty())
      check(c_.all_gather(c_.context, mine.data(), all.data(), lengths.data()), "all_gather");
    return all;
  }
  void exchange(const distributed::Exchange& e) override {
    check(c_.exchange(c_.context, e.send, e.send_bytes.data(), e.receive, e.receive_bytes.data()),
          "exchange");
  }
  void exchange_on_device(Queue& queue, std::span<const Memory> send,
                          std::span<const Memory> receive) override {
    if (c_.exchange_on_device == nullptr)
      return Communicator::exchange_on_device(queue, send, receive);
    std::vector<sortium_memory> from, to;
    for (const auto& m : send) from.push_back({m.handle, m.offset, m.bytes});
    for (const auto& m : receive) to.push_back({m.handle, m.offset, m.bytes});
    sortium_queue lent{std::unique_ptr<Queue>(&queue)};
    const int result = c_.exchange_on_device(c_.context, &lent, from.data(), to.data());
    (void)lent.queue.release();  // the caller owns it
    check(result, "exchange_on_device");
  }

 private:
  void check(int result, const char* function) const {
    if (result == 0) return;
    const char* const message = c_.failure == nullptr ? nullptr : c_.failure(c_.context);
    throw Error(ErrorCode::device_failed, std::string("communicator->") + function + " returned " +
                                              std::to_string(result) +
                                              (message == nullptr ? "" : ": ") + text(message, ""));
  }
  const sortium_communicator& c_;
  std::vector<std::uint64_t> eight_bytes_;
};

// The other direction: C's functions for a Communicator.
struct Forwarded {
  Communicator& communicator;
  std::string failure;

  template <class Work>
  static int run(void* context, const Work& work) {
    auto& self = *static_cast<Forwarded*>(context);
    try {
      work(self.communicator);
      return 0;
    } catch (const std::exception& e) {
      self.failure = e.what();
      return 1;
    }
  }
};

extern "C" {

int all_gather_forwarded(void* context, const void* mine, void* all, const uint64_t* bytes) {
  return Forwarded::run(context, [&](Communicator& communicator) {
    const auto gathered =
        communicator.all_gather({static_cast<const std::byte*>(mine), bytes[communicator.rank()]});
    if (!gathered.empty()) std::memcpy(all, gathered.data(), gathered.size());
  });
}

int exchange_forwarded(void* context, const void* send, const uint64_t* send_bytes, void* receive,
                       const uint64_t* receive_bytes) {
  return Forwarded::run(context, [&](Communicator& communicator) {
    const std::size_t ranks = communicator.size();
    communicator.exchange({static_cast<const std::byte*>(send),
                           {send_bytes, ranks},
                           static_cast<std::byte*>(receive),
                           {receive_bytes, ranks}});
  });
}

const char* failure_forwarded(void* context) {
  return static_cast<Forwarded*>(context)->failure.c_str();
}

int exchange_on_device_forwarded(void* context, sortium_queue* queue, const sortium_memory* send,
                                 const sortium_memory* receive) {
  return Forwarded::run(context, [&](Communicator& communicator) {
    std::vector<Memory> from, to;
    for (unsigned r = 0; r < communicator.size(); ++r) {
      from.push_back(memory_of(send[r]));
      to.push_back(memory_of(receive[r]));
    }
    communicator.exchange_on_device(*queue->queue, from, to);
  });
}

}  // extern "C"

sortium_communicator forwarding(Forwarded& to) {
  return {&to,
          to.communicator.rank(),
          to.communicator.size(),
          all_gather_forwarded,
          exchange_forwarded,
          failure_forwarded,
          exchange_on_device_forwarded};
}

// What sortium_nccl_communicator_create() makes.
struct OwnedNccl {
  CCommunicator host;
  std::unique_ptr<Communicator> nccl;
  Forwarded forwarded;

  OwnedNccl(const sortium_communicator* c, const std::string& device, double timeout)
      : host(c),
        nccl(distributed::nccl_communicator(host, device, std::chrono::duration<double>(timeout))),
        forwarded{*nccl, {}} {}
};
// The objects that exist, by their `forwarded`. Never destroyed: programs may release at exit.
struct AllNccl {
  std::mutex mutex;
  std::map<void*, std::unique_ptr<OwnedNccl>> objects;
};
AllNccl& all_nccl() {
  static auto& all = *new AllNccl;
  return all;
}

}  // namespace

struct sortium_device_sorter {
  CCommunicator communicator;
  distributed::DeviceSorter sorter;

  sortium_device_sorter(const sortium_communicator* c, std::shared_ptr<Device> device)
      : communicator(c), sorter(communicator, std::move(device)) {}
};

namespace {

distributed::DeviceOptions device_options(const sortium_options* options, sortium_balance balance) {
  return {.balance = enumerated<Balance>(balance, 1, "balance"),
          .method = method_of(options),
          .max_bytes = options == nullptr ? 0 : options->max_device_bytes};
}
distributed::Options distributed_options(const sortium_options* options, sortium_balance balance) {
  return {options_of(options), enumerated<Balance>(balance, 1, "balance")};
}

}  // namespace

extern "C" {

void sortium_communicator_init(sortium_communicator* communicator) {
  if (communicator == nullptr) return;
  *communicator = {};
  communicator->size = 1;
}

sortium_status sortium_run_ranks(unsigned ranks,
                                 int (*work)(const sortium_communicator* communicator, void* user),
                                 void* user, double timeout) {
  return guarded([&] {
    if (work == nullptr) throw Error(ErrorCode::invalid_argument, "work is null");
    const auto run = [&](Communicator& communicator) {
      Forwarded forwarded{communicator, {}};
      const sortium_communicator c = forwarding(forwarded);
      if (const int result = work(&c, user); result != 0)
        throw Error(ErrorCode::device_failed, "work returned " + std::to_string(result));
    };
    distributed::run_ranks(ranks, run, std::chrono::duration<double>(timeout));
  });
}

sortium_status sortium_distributed_part(const sortium_communicator* communicator, uint64_t count,
                                        sortium_balance balance, uint64_t* part_begin,
                                        uint64_t* part_count) {
  return guarded([&] {
    auto& begin = need(part_begin, "part_begin");
    auto& length = need(part_count, "part_count");
    CCommunicator ranks(communicator);
    const auto part = part_of(ranks, count, enumerated<Balance>(balance, 1, "balance"));
    begin = part.begin;
    length = part.count;
  });
}

sortium_status sortium_distributed_sort_host(const sortium_communicator* communicator,
                                             const sortium_problem* problem,
                                             sortium_balance balance, const void* keys_in,
                                             void* keys_out, const void* values_in,
                                             void* values_out, const sortium_options* options) {
  return guarded([&] {
    CCommunicator ranks(communicator);
    distributed::sort_host(ranks, problem_of(problem), {keys_in, keys_out, values_in, values_out},
                           distributed_options(options, balance));
  });
}

sortium_status sortium_distributed_sort_records_host(const sortium_communicator* communicator,
                                                     const sortium_record_problem* problem,
                                                     sortium_balance balance,
                                                     const void* const* columns_in,
                                                     void* const* columns_out, void* positions,
                                                     const sortium_options* options) {
  return guarded([&] {
    CCommunicator ranks(communicator);
    const RecordProblem p = record_problem_of(problem);
    RecordHostOperands operands{.columns_in = many(columns_in, p.columns.size(), "columns_in"),
                                .positions = positions};
    if (columns_out != nullptr) operands.columns_out = {columns_out, p.columns.size()};
    distributed::sort_records_host(ranks, p, operands, distributed_options(options, balance));
  });
}

sortium_status sortium_nccl_communicator_create(const sortium_communicator* host,
                                                const char* device, double timeout,
                                                sortium_communicator* communicator) {
  return guarded([&] {
    need(communicator, "communicator");
    need(device, "device");
    auto made = std::make_unique<OwnedNccl>(host, device, timeout);
    const auto c = forwarding(made->forwarded);
    auto& all = all_nccl();
    const std::lock_guard lock(all.mutex);
    all.objects.emplace(c.context, std::move(made));
    *communicator = c;
  });
}

void sortium_nccl_communicator_release(sortium_communicator* communicator) {
  if (communicator == nullptr) return;
  std::unique_ptr<OwnedNccl> ended;
  {
    auto& all = all_nccl();
    const std::lock_guard lock(all.mutex);
    const auto found = all.objects.find(communicator->context);
    if (found == all.objects.end()) return;
    ended = std::move(found->second);
    all.objects.erase(found);
  }
  sortium_communicator_init(communicator);
}

sortium_status sortium_device_sorter_create(const sortium_communicator* communicator,
                                            sortium_device* device,
                                            sortium_device_sorter** sorter) {
  return guarded([&] {
    need(sorter, "sorter");
    *sorter = new sortium_device_sorter(communicator, need(device, "device").device);
  });
}

sortium_status sortium_device_sorter_sort(sortium_device_sorter* sorter, sortium_queue* queue,
                                          const sortium_problem* problem, sortium_balance balance,
                                          const sortium_operands* operands,
                                          const sortium_options* options) {
  return guarded([&] {
    need(sorter, "sorter")
        .sorter.sort(*need(queue, "queue").queue, problem_of(problem), operands_of(operands),
                     device_options(options, balance));
  });
}

sortium_status sortium_device_sorter_sort_records(sortium_device_sorter* sorter,
                                                  sortium_queue* queue,
                                                  const sortium_record_problem* problem,
                                                  sortium_balance balance,
                                                  const sortium_record_operands* operands,
                                                  const sortium_options* options) {
  return guarded([&] {
    const RecordProblem p = record_problem_of(problem);
    need(sorter, "sorter")
        .sorter.sort_records(*need(queue, "queue").queue, p, DeviceColumns(operands, p).operands,
                             device_options(options, balance));
  });
}

uint64_t sortium_device_sorter_memory_bytes(const sortium_device_sorter* sorter) {
  return sorter ? sorter->sorter.memory_bytes() : 0;
}

void sortium_device_sorter_release(sortium_device_sorter* sorter) { delete sorter; }

}  // extern "C"
