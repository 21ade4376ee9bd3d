// The slices whose place in the sorted list is known before the borders between ranks are exact.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace sortium::distributed {

// A slice of a rank's part is *inner* if it consists of whole buckets that all lie within the part.
class InnerSlices {
 public:
  struct Slice {
    unsigned number;  // in the rank's part
    std::uint64_t first_bucket, end_bucket;
  };

  InnerSlices() = default;  // there are none
  // `counts` has, for rank 0, rank 1 and so on, the rank's number of records in each bucket, and
  // `all` the sums over the ranks. targets[b] is the number of records left of border b.
  // begin_of(rank, slice) returns the bucket with which slice 1, 2 ... `slices` - 1 begins.
  template <class BeginOf>
  InnerSlices(std::vector<std::uint64_t> counts, std::span<const std::uint64_t> all,
              std::span<const std::uint64_t> targets, unsigned slices, const BeginOf& begin_of)
      : counts_(std::move(counts)), before_(all.size() + 1), of_ranks_(targets.size() + 1) {
    std::inclusive_scan(all.begin(), all.end(), before_.begin() + 1);
    for (std::size_t rank = 0; rank < of_ranks_.size(); ++rank) {
      const bool is_last_rank = rank == targets.size();
      const std::uint64_t begin = rank == 0 ? 0 : targets[rank - 1];
      const std::uint64_t end = is_last_rank ? before_.back() : targets[rank];
      for (unsigned slice = 0; slice < slices; ++slice) {
        const bool is_first = slice == 0, is_last = slice + 1 == slices;
        // The list begins and ends with a bucket; other parts begin and end with borders.
        if ((is_first && rank != 0) || (is_last && !is_last_rank)) continue;
        const std::uint64_t first = is_first ? 0 : begin_of(rank, slice);
        const std::uint64_t next = is_last ? all.size() : begin_of(rank, slice + 1);
        if (first <= next && before_[first] >= begin && before_[next] <= end)
          of_ranks_[rank].push_back({slice, first, next});
      }
    }
  }

  // A rank's inner slices, ascending.
  [[nodiscard]] std::span<const Slice> of(std::size_t rank) const {
    return rank < of_ranks_.size() ? std::span<const Slice>(of_ranks_[rank])
                                   : std::span<const Slice>();
  }
  // True if every rank has an inner slice.
  [[nodiscard]] bool has_one_of_each() const {
    for (const auto& slices : of_ranks_)
      if (slices.empty()) return false;
    return !of_ranks_.empty();
  }
  // The number of a rank's records in a slice.
  [[nodiscard]] std::uint64_t records(const Slice& slice, std::size_t rank) const {
    const std::uint64_t* const first = counts_.data() + rank * (before_.size() - 1);
    return std::accumulate(first + slice.first_bucket, first + slice.end_bucket, std::uint64_t{0});
  }
  // Where a slice begins in the sorted list.
  [[nodiscard]] std::uint64_t begin(const Slice& slice) const {
    return before_[slice.first_bucket];
  }

 private:
  std::vector<std::uint64_t> counts_;  // of each rank, by bucket
  std::vector<std::uint64_t> before_;  // records of all ranks before each bucket, and in all
  std::vector<std::vector<Slice>> of_ranks_;
};

}  // namespace sortium::distributed
