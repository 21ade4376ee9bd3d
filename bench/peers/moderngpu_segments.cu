#include <moderngpu/kernel_segsort.hxx>
#include <vector>

#include "cub_segments.hpp"

namespace peers {
namespace {

// Keeps temporary memory from sort to sort. The i-th request of every sort receives the same block,
// which grows if necessary.
class KeptMemory : public mgpu::standard_context_t {
 public:
  explicit KeptMemory(cudaStream_t stream) : standard_context_t(false, stream) {}
  void begin() { next_ = 0; }
  void* alloc(std::size_t size, mgpu::memory_space_t space) override {
    if (space != mgpu::memory_space_device) return standard_context_t::alloc(size, space);
    if (size == 0) return nullptr;
    if (next_ == blocks_.size()) blocks_.push_back({});
    Block& block = blocks_[next_++];
    if (block.bytes < size) {
      cudaFree(block.data);
      block = {standard_context_t::alloc(size, space), size};
    }
    return block.data;
  }
  void free(void* data, mgpu::memory_space_t space) override {
    if (space != mgpu::memory_space_device) standard_context_t::free(data, space);
  }

 private:
  struct Block {
    void* data = nullptr;
    std::size_t bytes = 0;
  };
  std::vector<Block> blocks_;
  std::size_t next_ = 0;
};

}  // namespace

void moderngpu_segmented_sort(const SegmentedSort& s, cudaStream_t stream) {
  static KeptMemory context(stream);
  context.begin();
  const auto less = mgpu::less_t<std::uint32_t>();
  const int count = static_cast<int>(s.count), segments = static_cast<int>(s.segments);
  if (s.values_out == nullptr)
    mgpu::segmented_sort(s.keys_out, count, s.offsets, segments, less, context);
  else
    mgpu::segmented_sort(s.keys_out, s.values_out, count, s.offsets, segments, less, context);
}

}  // namespace peers
