// Boost.Compute on Sortium's OpenCL devices. It sorts in place; restoring the input is not timed.
#include <sortium/sortium.hpp>

#include "boost_sorts.hpp"
#include "peer.hpp"

namespace {

std::optional<peers::Place> open(const std::string& id) {
  const auto device = sortium::find_device(id);
  if (device->info().claimed.backend != sortium::Backend::opencl) return std::nullopt;
  peers::Place place{device->make_queue(), {}};
  auto& queue = *place.queue;
  place.contenders.push_back(
      {"Boost.Compute", peers::boost_version(), [&queue](const sortium::Problem& p) {
         app::DeviceSort sort;
         sort.stable = false;
         sort.prepare = [&queue, p](const sortium::Operands& o) {
           peers::copy_to_output(queue, p, o);
         };
         sort.sort = [&queue, p](const sortium::Operands& o) {
           peers::boost_sort(queue.native(), p.key, p.count, o.keys_out.handle,
                             o.values_out.handle);
         };
         return sort;
       }});
  return place;
}

}  // namespace

int main(int argc, char** argv) { return peers::run(argc, argv, open); }
