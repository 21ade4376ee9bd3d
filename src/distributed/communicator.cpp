// What a Communicator inherits: reductions by all_gather().
#include <algorithm>
#include <cstring>
#include <sortium/distributed.hpp>

namespace sortium::distributed {

namespace {

// Returns the numbers of all ranks, those of rank 0 first.
std::vector<std::uint64_t> gather(Communicator& communicator,
                                  std::span<const std::uint64_t> numbers) {
  const auto bytes = communicator.all_gather(std::as_bytes(numbers));
  if (bytes.size() != communicator.size() * numbers.size_bytes())
    throw Error(ErrorCode::invalid_argument, "the ranks reduce different numbers of elements");
  std::vector<std::uint64_t> all(bytes.size() / sizeof(std::uint64_t));
  if (!bytes.empty()) std::memcpy(all.data(), bytes.data(), bytes.size());
  return all;
}

}  // namespace

void Communicator::all_reduce(std::span<std::uint64_t> numbers, Reduction reduction) {
  const auto all = gather(*this, numbers);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::uint64_t result = 0;
    for (std::size_t at = i; at < all.size(); at += numbers.size())
      result = reduction == Reduction::sum ? result + all[at] : std::max(result, all[at]);
    numbers[i] = result;
  }
}

void Communicator::exclusive_sum(std::span<std::uint64_t> numbers) {
  const auto all = gather(*this, numbers);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = 0;
    for (unsigned r = 0; r < rank(); ++r) numbers[i] += all[r * numbers.size() + i];
  }
}

}  // namespace sortium::distributed
