#include "device_steps.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>
#include <sortium/capabilities.hpp>

#include "../kernels/kernels.hpp"
#include "embedded.hpp"

namespace sortium::distributed {

namespace {

// What borders.cl is specialised for.
struct BordersParameters {
  unsigned work_group;  // work-items of a work-group

  [[nodiscard]] kernels::Defines defines(const Problem& problem) const {
    return kernels::Defines().problem(problem).set("WG", work_group);
  }
};

// Reads ranks of keys in host memory.
class HostKeys {
 public:
  HostKeys(const Problem& p, const Memory& keys)
      : keys_(static_cast<const std::byte*>(keys.handle) + keys.offset),
        bytes_(info(p.key).bytes),
        rank_(p) {}
  std::uint64_t rank(std::uint64_t i) const {
    std::uint64_t key = 0;
    std::memcpy(&key, keys_ + i * bytes_, bytes_);  // hosts are little-endian
    return rank_(key);
  }

 private:
  const std::byte* keys_;
  unsigned bytes_;
  KeyRank rank_;
};

std::uint64_t place_of(const HostKeys& keys, const RankSearch& s) {
  std::uint64_t low = s.begin, high = s.end;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (keys.rank(middle) < s.rank)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

template <class Bits>
std::vector<std::uint64_t> ranks_of(const Problem& problem, std::span<const std::byte> keys) {
  const KeyRank rank(problem);
  std::vector<std::uint64_t> ranks(keys.size() / sizeof(Bits));
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    Bits key = 0;
    std::memcpy(&key, keys.data() + i * sizeof key, sizeof key);
    ranks[i] = rank(key);
  }
  return ranks;
}

template <class T>
void add_on_host(const Memory& numbers, std::uint64_t first, std::uint64_t count) {
  auto* const all = reinterpret_cast<T*>(static_cast<std::byte*>(numbers.handle) + numbers.offset);
  for (std::uint64_t i = 0; i < count; ++i) all[i] = static_cast<T>(all[i] + first);
}

}  // namespace

void KeptMemory::abandon() noexcept try {
  // Remembered, so that tools do not report it as lost.
  static std::mutex mutex;
  static auto& abandoned = *new std::vector<std::unique_ptr<Buffer>>;
  const std::lock_guard lock(mutex);
  abandoned.push_back(std::move(buffer_));
} catch (...) {  // no memory for the list
  (void)buffer_.release();
}

DeviceSteps::DeviceSteps(std::shared_ptr<Device> device, const Problem& problem)
    : device_(std::move(device)),
      problem_(problem),
      found_(capabilities(*device_)),
      input_(*device_),
      output_(*device_),
      work_group_(std::bit_floor(std::min(found_.max_work_group, 256u))) {
  if (on_host()) return;
  module_ = kernels::build(*device_, found_, kernels::embedded::borders_cl,
                           BordersParameters{work_group_}.defines(problem_));
  ranks_ = module_->kernel("ranks_at");
  places_ = module_->kernel("places_of_ranks");
  add_ = module_->kernel("add_to_values");
}

void DeviceSteps::launch(Queue& queue, Kernel& kernel, std::uint64_t count,
                         std::span<const Arg> args, std::string_view phase) const {
  const std::uint64_t groups =
      std::min(ceil_div(count, work_group_), std::uint64_t{64} * found_.compute_units);
  queue.launch({kernel, groups, work_group_, args, phase});
}

std::vector<std::uint64_t> DeviceSteps::ranks_at(Queue& queue, Memory keys,
                                                 std::span<const std::uint64_t> positions) {
  std::vector<std::uint64_t> ranks(positions.size());
  if (ranks.empty()) return ranks;
  if (on_host()) {
    const HostKeys host(problem_, keys);
    std::ranges::transform(positions, ranks.begin(), [&](auto i) { return host.rank(i); });
    return ranks;
  }
  const Memory in = input_.of(positions.size_bytes()), out = output_.of(positions.size_bytes());
  queue.write(in, positions.data(), positions.size_bytes());
  const Arg args[] = {{"keys", keys},
                      {"positions", in},
                      {"ranks", out},
                      {"count", std::uint64_t{positions.size()}}};
  launch(queue, *ranks_, positions.size(), args, "sample");
  queue.read(ranks.data(), out, positions.size_bytes());
  return ranks;
}

std::vector<std::uint64_t> DeviceSteps::read_ranks(Queue& queue, const Memory& keys,
                                                   std::uint64_t count) const {
  const unsigned bytes = info(problem_.key).bytes;
  std::vector<std::byte> copy(count * bytes);
  if (count != 0) queue.read(copy.data(), keys, copy.size());
  switch (bytes) {
    case 1:
      return ranks_of<std::uint8_t>(problem_, copy);
    case 2:
      return ranks_of<std::uint16_t>(problem_, copy);
    case 4:
      return ranks_of<std::uint32_t>(problem_, copy);
    default:
      return ranks_of<std::uint64_t>(problem_, copy);
  }
}

std::vector<std::uint64_t> DeviceSteps::places(Queue& queue, Memory keys,
                                               std::span<const RankSearch> searches) {
  std::vector<std::uint64_t> places(searches.size());
  if (places.empty()) return places;
  if (on_host()) {
    const HostKeys host(problem_, keys);
    std::ranges::transform(searches, places.begin(),
                           [&](const auto& s) { return place_of(host, s); });
    return places;
  }
  static_assert(sizeof(RankSearch) == 3 * sizeof(std::uint64_t));
  const std::uint64_t place_bytes = places.size() * sizeof(std::uint64_t);
  const Memory in = input_.of(searches.size_bytes()), out = output_.of(place_bytes);
  queue.write(in, searches.data(), searches.size_bytes());
  const Arg args[] = {
      {"keys", keys}, {"searches", in}, {"places", out}, {"count", std::uint64_t{searches.size()}}};
  launch(queue, *places_, searches.size(), args, "search");
  queue.read(places.data(), out, place_bytes);
  return places;
}

void DeviceSteps::add_to_positions(Queue& queue, Memory positions, std::uint64_t first,
                                   std::uint64_t count) {
  if (count == 0 || first == 0) return;
  if (on_host()) {
    if (problem_.value_bytes == 4)
      add_on_host<std::uint32_t>(positions, first, count);
    else
      add_on_host<std::uint64_t>(positions, first, count);
    return;
  }
  const Arg args[] = {{"values", positions}, {"first", first}, {"count", count}};
  launch(queue, *add_, count, args, "positions");
  queue.finish();
}

}  // namespace sortium::distributed
