// Distributed sorts for C.
#include <sortium/distributed.h>

#include <cstring>
#include <numeric>
#include <sortium/distributed.hpp>

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

}  // extern "C"

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
      const sortium_communicator c{&forwarded,           communicator.rank(), communicator.size(),
                                   all_gather_forwarded, exchange_forwarded,  failure_forwarded};
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

}  // extern "C"
