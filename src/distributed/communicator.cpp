// What a Communicator inherits: reductions by all_gather().
#include <algorithm>
#include <cstring>
#include <sortium/distributed.hpp>

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

}  // namespace sortium::distributed
