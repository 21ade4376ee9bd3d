// What a Communicator inherits: reductions by all_gather().
#include <algorithm>
#include <cstring>
#include <numeric>
#include <sortium/distributed.hpp>

#include "columns.hpp"

namespace sortium::distributed {

namespace {

// The numbers of all ranks, those of rank 0 first. Nothing is allocated after they have arrived: a
// rank without memory must fail before the others have its numbers.
class Gathered {
 public:
  Gathered(Communicator& communicator, std::span<const std::uint64_t> numbers)
      : bytes_(communicator.all_gather(std::as_bytes(numbers))) {
    if (bytes_.size() != communicator.size() * numbers.size_bytes())
      throw Error(ErrorCode::invalid_argument, "the ranks reduce different numbers of elements");
  }
  [[nodiscard]] std::size_t size() const { return bytes_.size() / sizeof(std::uint64_t); }
  [[nodiscard]] std::uint64_t operator[](std::size_t i) const {
    std::uint64_t number = 0;
    std::memcpy(&number, bytes_.data() + i * sizeof number, sizeof number);
    return number;
  }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace

void Communicator::all_reduce(std::span<std::uint64_t> numbers, Reduction reduction) {
  const Gathered all(*this, numbers);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::uint64_t result = 0;
    for (std::size_t at = i; at < all.size(); at += numbers.size())
      result = reduction == Reduction::sum ? result + all[at] : std::max(result, all[at]);
    numbers[i] = result;
  }
}

void Communicator::exclusive_sum(std::span<std::uint64_t> numbers) {
  const Gathered all(*this, numbers);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = 0;
    for (unsigned r = 0; r < rank(); ++r) numbers[i] += all[r * numbers.size() + i];
  }
}

void Communicator::start_exchange_on_device(Queue& queue, std::span<const Memory> send,
                                            std::span<const Memory> receive) {
  exchange_on_device(queue, send, receive);
}
void Communicator::finish_exchanges_on_device(Queue&) {}

void Communicator::exchange_on_device(Queue& queue, std::span<const Memory> send,
                                      std::span<const Memory> receive) {
  const unsigned me = rank();
  const auto bytes_of = [me](std::span<const Memory> all) {
    std::vector<std::uint64_t> bytes(all.size());
    for (std::size_t r = 0; r < all.size(); ++r) bytes[r] = r == me ? 0 : all[r].bytes;
    return bytes;
  };
  const auto sum = [](const std::vector<std::uint64_t>& bytes) {
    return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
  };
  const auto send_bytes = bytes_of(send), receive_bytes = bytes_of(receive);
  Bytes out(sum(send_bytes)), in(sum(receive_bytes));
  std::byte* at = out.data();
  for (std::size_t r = 0; r < send.size(); ++r) {
    if (send_bytes[r] != 0) queue.read(at, send[r], send_bytes[r]);
    at += send_bytes[r];
  }
  try {
    exchange({out.data(), send_bytes, in.data(), receive_bytes});
  } catch (...) {  // the transport may still access the memory
    out.abandon();
    in.abandon();
    throw;
  }
  if (send[me].bytes != 0) queue.copy(receive[me], send[me], send[me].bytes);
  at = in.data();
  for (std::size_t r = 0; r < receive.size(); ++r) {
    if (receive_bytes[r] != 0) queue.write(receive[r], at, receive_bytes[r]);
    at += receive_bytes[r];
  }
  queue.finish();
}

}  // namespace sortium::distributed
