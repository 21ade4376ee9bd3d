// Ranks that are MPI processes. MPI's own calls wait for ever; these poll, so that they can time
// out. Only calls of MPI 3.0 are made, whose counts have 31 bits.
#include <mpi.h>
#if defined(OPEN_MPI) && OPEN_MPI
#include <mpi-ext.h>  // MPIX_Query_cuda_support
#endif

#include <algorithm>
#include <climits>
#include <cstring>
#include <numeric>
#include <sortium/distributed_mpi.hpp>
#include <string>
#include <thread>

#include "timeout.hpp"

namespace sortium::distributed {

namespace {

// Longer messages are sent in pieces of this many bytes.
constexpr std::uint64_t max_message_bytes = 1 << 30;

void check(int result, const char* call) {
  if (result == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(result, text, &length);
  throw Error(ErrorCode::device_failed, std::string(call) + " failed: " + text);
}

int as_count(std::uint64_t count) {
  if (count > INT_MAX)
    throw Error(ErrorCode::unsupported, "MPI gathers at most " + std::to_string(INT_MAX) +
                                            " elements at once, not " + std::to_string(count));
  return static_cast<int>(count);
}

// True if MPI says that it reads and writes memory of CUDA devices.
bool reads_cuda() {
#if defined(MPIX_CUDA_AWARE_SUPPORT) && MPIX_CUDA_AWARE_SUPPORT
  return MPIX_Query_cuda_support() == 1;
#else
  return false;
#endif
}

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator(MPI_Comm comm, std::chrono::duration<double> timeout) : timeout_(timeout) {
    check(MPI_Comm_dup(comm, &comm_), "MPI_Comm_dup");
    check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    int rank = 0, size = 0;
    check(MPI_Comm_rank(comm_, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(comm_, &size), "MPI_Comm_size");
    rank_ = static_cast<unsigned>(rank);
    size_ = static_cast<unsigned>(size);
  }
  // A broken communicator is left alone: freeing it would wait for ranks that are gone.
  ~MpiCommunicator() override {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized == 0 && !broken_) MPI_Comm_free(&comm_);
  }

  [[nodiscard]] unsigned rank() const override { return rank_; }
  [[nodiscard]] unsigned size() const override { return size_; }

  [[nodiscard]] std::vector<std::byte> all_gather(std::span<const std::byte> mine) override {
    throw_if_broken();
    Kept<std::vector<int>> lengths(*this, size_), begins(*this, size_);
    const int bytes = (*lengths)[rank_] = as_count(mine.size());
    MPI_Request request{};
    check(MPI_Iallgather(MPI_IN_PLACE, 1, MPI_INT, lengths->data(), 1, MPI_INT, comm_, &request),
          "MPI_Iallgather");
    wait({&request, 1}, "all_gather");
    const auto total = std::accumulate(lengths->begin(), lengths->end(), std::uint64_t{0});
    as_count(total);
    std::exclusive_scan(lengths->begin(), lengths->end(), begins->begin(), 0);
    Kept<std::vector<std::byte>> sent(*this, mine.begin(), mine.end()), all(*this, total);
    check(MPI_Iallgatherv(sent->data(), bytes, MPI_BYTE, all->data(), lengths->data(),
                          begins->data(), MPI_BYTE, comm_, &request),
          "MPI_Iallgatherv");
    wait({&request, 1}, "all_gather");
    return std::move(*all);
  }

  void all_reduce(std::span<std::uint64_t> numbers, Reduction reduction) override {
    throw_if_broken();
    Kept<std::vector<std::uint64_t>> sent(*this, numbers.begin(), numbers.end()),
        result(*this, numbers.size());
    MPI_Request request{};
    check(MPI_Iallreduce(sent->data(), result->data(), as_count(numbers.size()), MPI_UINT64_T,
                         reduction == Reduction::sum ? MPI_SUM : MPI_MAX, comm_, &request),
          "MPI_Iallreduce");
    wait({&request, 1}, "all_reduce");
    std::ranges::copy(*result, numbers.begin());
  }

  void exclusive_sum(std::span<std::uint64_t> numbers) override {
    throw_if_broken();
    // MPI leaves rank 0's result undefined, here 0.
    Kept<std::vector<std::uint64_t>> sent(*this, numbers.begin(), numbers.end()),
        result(*this, numbers.size());
    MPI_Request request{};
    check(MPI_Iexscan(sent->data(), result->data(), as_count(numbers.size()), MPI_UINT64_T, MPI_SUM,
                      comm_, &request),
          "MPI_Iexscan");
    wait({&request, 1}, "exclusive_sum");
    if (rank_ == 0) std::ranges::fill(*result, 0);
    std::ranges::copy(*result, numbers.begin());
  }

  // MPI reads and writes memory of cpu:0, and CUDA's if it says so. Other memory is staged.
  void exchange_on_device(Queue& queue, std::span<const Memory> send,
                          std::span<const Memory> receive) override {
    const auto backend = queue.device().info().claimed.backend;
    std::uint64_t staged = backend == Backend::host || (backend == Backend::cuda && reads_cuda())
                               ? 0
                               : 1;  // if only one rank's MPI cannot, all must stage
    all_reduce({&staged, 1}, Reduction::max);
    if (staged != 0) return Communicator::exchange_on_device(queue, send, receive);
    queue.finish();
    const auto address = [](const Memory& m) {
      return static_cast<std::byte*>(m.handle) + m.offset;
    };
    std::vector<MPI_Request> requests;
    for (unsigned r = 0; r < size_; ++r)
      if (r != rank_) this->receive(address(receive[r]), receive[r].bytes, r, requests);
    for (unsigned r = 0; r < size_; ++r)
      if (r != rank_) this->send(address(send[r]), send[r].bytes, r, requests);
    if (const Memory& own = send[rank_]; own.bytes != 0) queue.copy(receive[rank_], own, own.bytes);
    wait(requests, "exchange_on_device");
    queue.finish();
  }

  void exchange(const Exchange& e) override {
    throw_if_broken();
    std::vector<MPI_Request> requests;
    const std::byte* own_from = nullptr;
    std::byte* own_to = nullptr;
    std::byte* to = e.receive;
    for (unsigned r = 0; r < size_; to += e.receive_bytes[r], ++r)
      if (r == rank_)
        own_to = to;
      else
        receive(to, e.receive_bytes[r], r, requests);
    const std::byte* from = e.send;
    for (unsigned r = 0; r < size_; from += e.send_bytes[r], ++r)
      if (r == rank_)
        own_from = from;
      else
        send(from, e.send_bytes[r], r, requests);
    if (e.send_bytes[rank_] != 0) std::memcpy(own_to, own_from, e.send_bytes[rank_]);
    wait(requests, "exchange");
  }

 private:
  // Memory that MPI may still access after a timeout: then it is never freed.
  template <class T>
  class Kept {
   public:
    template <class... Arguments>
    explicit Kept(const MpiCommunicator& owner, Arguments... arguments)
        : owner_(owner), value_(new T(arguments...)) {}
    Kept(const Kept&) = delete;
    Kept& operator=(const Kept&) = delete;
    ~Kept() {
      if (!owner_.broken_) delete value_;
    }
    T& operator*() const { return *value_; }
    T* operator->() const { return value_; }

   private:
    const MpiCommunicator& owner_;
    T* value_;
  };

  // A broken communicator would wait for the timeout again.
  void throw_if_broken() const {
    if (broken_)
      throw Error(ErrorCode::device_failed,
                  "an earlier call of this communicator has failed: rank " + std::to_string(rank_) +
                      " cannot reach the others");
  }

  template <class Work>
  static void in_pieces(std::uint64_t bytes, const Work& work) {
    for (std::uint64_t at = 0; at < bytes; at += max_message_bytes)
      work(at, static_cast<int>(std::min(bytes - at, max_message_bytes)));
  }
  void send(const std::byte* from, std::uint64_t bytes, unsigned rank,
            std::vector<MPI_Request>& requests) {
    in_pieces(bytes, [&](std::uint64_t at, int length) {
      check(MPI_Isend(from + at, length, MPI_BYTE, static_cast<int>(rank), 0, comm_,
                      &requests.emplace_back()),
            "MPI_Isend");
    });
  }
  void receive(std::byte* to, std::uint64_t bytes, unsigned rank,
               std::vector<MPI_Request>& requests) {
    in_pieces(bytes, [&](std::uint64_t at, int length) {
      check(MPI_Irecv(to + at, length, MPI_BYTE, static_cast<int>(rank), 0, comm_,
                      &requests.emplace_back()),
            "MPI_Irecv");
    });
  }

  // Waits for all requests. First it polls, then it leaves the core to others, who may share it.
  void wait(std::span<MPI_Request> requests, const char* member) {
    constexpr int polls_before_sleep = 2000;
    const auto start = std::chrono::steady_clock::now();
    for (int polls = 0;; ++polls) {
      int done = 0;
      const int result = MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done,
                                     MPI_STATUSES_IGNORE);
      if (result != MPI_SUCCESS) broken_ = true;
      check(result, member);
      if (done != 0) return;
      if (std::chrono::steady_clock::now() - start > timeout_) {
        broken_ = true;
        throw Error(ErrorCode::device_failed,
                    std::string(member) + ": rank " + std::to_string(rank_) + " of " +
                        std::to_string(size_) + " had no answer from all others within " +
                        std::to_string(timeout_.count()) + " s");
      }
      if (polls < polls_before_sleep)
        std::this_thread::yield();
      else
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }

  std::chrono::duration<double> timeout_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  unsigned rank_ = 0, size_ = 1;
  bool broken_ = false;
};

}  // namespace

std::unique_ptr<Communicator> mpi_communicator(int fortran_handle,
                                               std::chrono::duration<double> timeout) {
  check_timeout(timeout);
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (initialized == 0)
    throw Error(ErrorCode::invalid_argument, "mpi_communicator: MPI is not initialised");
  return std::make_unique<MpiCommunicator>(MPI_Comm_f2c(fortran_handle), timeout);
}

}  // namespace sortium::distributed
