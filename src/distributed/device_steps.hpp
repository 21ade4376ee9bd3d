// The steps of a distributed sort on the records of one rank in device memory. On cpu:0 they run on
// the calling thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <sortium/device.hpp>
#include <sortium/plan.hpp>
#include <span>
#include <vector>

#include "../algorithms/parts/boundary_partition.hpp"

namespace sortium::distributed {

// A rank (KeyRank) and a range of sorted keys in which it is searched.
struct RankSearch {
  std::uint64_t rank, begin, end;
};

// Device memory that is kept for the next use, and grows.
class KeptMemory {
 public:
  explicit KeptMemory(Device& device) : device_(device) {}
  // Returns memory of at least `bytes`; none for 0 bytes.
  Memory of(std::uint64_t bytes) {
    if (bytes == 0) return {};
    if (buffer_ == nullptr || buffer_->memory().bytes < bytes) {
      buffer_.reset();
      buffer_ = device_.allocate(bytes);
    }
    return buffer_->memory().slice(0, bytes);
  }
  [[nodiscard]] std::uint64_t bytes() const {
    return buffer_ == nullptr ? 0 : buffer_->memory().bytes;
  }
  // Frees the memory if it is more than `most` bytes.
  void keep_at_most(std::uint64_t most) {
    if (bytes() > most) buffer_.reset();
  }
  // Gives the memory up without ever freeing it: a broken communicator may still access it.
  void abandon() noexcept;

 private:
  Device& device_;
  std::unique_ptr<Buffer> buffer_;
};

// Kernels for keys of one problem, of any count. All functions wait for the queue.
class DeviceSteps {
 public:
  DeviceSteps(std::shared_ptr<Device> device, const Problem& problem);

  // Returns the ranks of the keys at these positions.
  std::vector<std::uint64_t> ranks_at(Queue& queue, Memory keys,
                                      std::span<const std::uint64_t> positions);
  // Returns the ranks of `count` keys, which are copied to the host.
  std::vector<std::uint64_t> read_ranks(Queue& queue, const Memory& keys,
                                        std::uint64_t count) const;
  // Returns, for each search, the position of the range's first key whose rank is not smaller.
  std::vector<std::uint64_t> places(Queue& queue, Memory keys,
                                    std::span<const RankSearch> searches);
  // Adds `first` to each of `count` positions.
  void add_to_positions(Queue& queue, Memory positions, std::uint64_t first, std::uint64_t count);

 private:
  [[nodiscard]] bool on_host() const { return found_.backend == Backend::host; }
  void launch(Queue& queue, Kernel& kernel, std::uint64_t count, std::span<const Arg> args,
              std::string_view phase) const;

  std::shared_ptr<Device> device_;
  Problem problem_;
  const Capabilities& found_;
  KeptMemory input_, output_;
  unsigned work_group_;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> ranks_, places_, add_;
};

}  // namespace sortium::distributed
