// One exchange between ranks of slices in device memory.
#pragma once

#include <cstdint>
#include <numeric>
#include <sortium/distributed.hpp>
#include <vector>

namespace sortium::distributed {

inline Memory elements(const Memory& m, std::uint64_t begin, std::uint64_t count, unsigned bytes) {
  return m ? m.slice(begin * bytes, count * bytes) : Memory{};
}

// Waits for the queue after an error.
inline void end_of(Queue& queue) noexcept try {
  queue.finish();
} catch (...) {  // the first error counts
}

// In one turn, each rank receives one slice of its part. out[r] records from record from[r] of the
// divided records are sent to rank r, and in[r] are received from it. The received
// records are stored from record `to` of the output on, in the order of the ranks.
struct Turn {
  std::vector<std::uint64_t> from{}, out{}, in{};
  std::uint64_t to = 0;
  bool stays = false;  // what this rank would send to itself is in its place already

  [[nodiscard]] std::uint64_t received() const {
    return std::accumulate(in.begin(), in.end(), std::uint64_t{0});
  }

  // Starts the exchange of one column, whose elements have `bytes` bytes. What stays on the device
  // is copied by `copies` while the others' records arrive by `link`. Returns the bytes that are
  // sent to other ranks.
  std::uint64_t start(Communicator& communicator, Queue& link, Queue& copies, const Memory& divided,
                      const Memory& output, unsigned bytes) const {
    std::vector<Memory> send, receive;
    std::uint64_t place = to, sent = 0;
    for (unsigned r = 0; r < communicator.size(); ++r) {
      const bool is_mine = r == communicator.rank();
      const Memory source = out[r] == 0 ? Memory{} : elements(divided, from[r], out[r], bytes);
      const Memory target = in[r] == 0 ? Memory{} : elements(output, place, in[r], bytes);
      if (is_mine && source.bytes != 0 && !stays) copies.copy(target, source, source.bytes);
      send.push_back(is_mine ? Memory{} : source);
      receive.push_back(is_mine ? Memory{} : target);
      place += in[r];
      if (!is_mine) sent += out[r] * bytes;
    }
    copies.flush();
    communicator.start_exchange_on_device(link, send, receive);
    return sent;
  }
};

}  // namespace sortium::distributed
