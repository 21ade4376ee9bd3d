#include "similar_order.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "built_kernels.hpp"

namespace sortium::cuda {

namespace {

// The different pieces of a code, by their hashes.
std::unordered_set<std::size_t> pieces_of(std::span<const std::byte> code) {
  const std::string_view text(reinterpret_cast<const char*>(code.data()), code.size());
  std::unordered_set<std::size_t> pieces;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end) {
    constexpr std::size_t instruction = 16;  // bytes
    end = is_machine_code(code) ? at + instruction : std::min(text.find('\n', at), text.size()) + 1;
    pieces.insert(std::hash<std::string_view>{}(text.substr(at, end - at)));
  }
  return pieces;
}

struct Candidate {
  std::size_t bytes = 0, pieces = 0;
  std::size_t shared = 0;  // pieces that the current block has
  bool is_taken = false;
  [[nodiscard]] double share() const {
    return pieces == 0 ? 0 : static_cast<double>(shared) / static_cast<double>(pieces);
  }
};

}  // namespace

std::vector<std::size_t> similar_order(std::span<const std::span<const std::byte>> codes,
                                       std::size_t block_bytes) {
  std::vector<Candidate> candidates;
  std::vector<std::unordered_set<std::size_t>> pieces;
  std::unordered_map<std::size_t, std::vector<std::size_t>> owners;  // the codes that have a piece
  for (const auto& code : codes) {
    pieces.push_back(pieces_of(code));
    for (const auto piece : pieces.back()) owners[piece].push_back(candidates.size());
    candidates.push_back({.bytes = code.size(), .pieces = pieces.back().size()});
  }

  std::vector<std::size_t> order;
  std::unordered_set<std::size_t> in_block;
  std::size_t block = 0;  // its bytes
  while (order.size() < codes.size()) {
    std::size_t best = codes.size();
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const Candidate& c = candidates[i];
      if (c.is_taken || (block > 0 && block + c.bytes > block_bytes)) continue;
      const bool is_better =
          best == codes.size() ||
          (block == 0 ? c.bytes > candidates[best].bytes : c.share() > candidates[best].share());
      if (is_better) best = i;
    }
    if (best == codes.size()) {  // nothing fits any more: the next block
      block = 0;
      in_block.clear();
      for (auto& c : candidates) c.shared = 0;
      continue;
    }
    order.push_back(best);
    candidates[best].is_taken = true;
    block += candidates[best].bytes;
    for (const auto piece : pieces[best])
      if (in_block.insert(piece).second)
        for (const auto owner : owners[piece]) ++candidates[owner].shared;
  }
  return order;
}

}  // namespace sortium::cuda
