// Work on blocks of a file on all cores, with reading and writing in the file's order.
#pragma once

#include <cstddef>
#include <vector>
#ifdef SORTIUM_TBB
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>
#endif

namespace app {

// Calls fill(block) until it returns false, and for each filled block work(block) and then
// drain(block). The calls of fill() are one after the other, and so are those of drain(), which has
// the blocks in the order of fill(). Calls of work() run on all cores if the build has TBB. Blocks
// are reused, so fill() finds the contents of an earlier block. An exception ends all.
template <class Block, class Fill, class Work, class Drain>
void process_in_order(const Fill& fill, const Work& work, const Drain& drain) {
#ifdef SORTIUM_TBB
  // Twice the threads: a thread finds a block to work on while another reads or writes.
  const auto in_flight = 2 * static_cast<std::size_t>(tbb::this_task_arena::max_concurrency());
  std::vector<Block> blocks(in_flight);
  std::size_t filled = 0;
  const auto source = tbb::make_filter<void, Block*>(
      tbb::filter_mode::serial_in_order, [&](tbb::flow_control& control) {
        Block* const block = &blocks[filled++ % in_flight];
        if (!fill(*block)) control.stop();
        return block;
      });
  const auto worker =
      tbb::make_filter<Block*, Block*>(tbb::filter_mode::parallel, [&](Block* block) {
        work(*block);
        return block;
      });
  const auto sink = tbb::make_filter<Block*, void>(tbb::filter_mode::serial_in_order,
                                                   [&](Block* block) { drain(*block); });
  tbb::parallel_pipeline(in_flight, source & worker & sink);
#else
  for (Block block; fill(block);) {
    work(block);
    drain(block);
  }
#endif
}

}  // namespace app
