// Sortium: sorting on GPUs, OpenCL devices and CPUs. Includes the headers for sorts in memory.
// Files, lines of text, ranks, and verify() have headers of their own: file.hpp, lines.hpp,
// distributed.hpp, verify.hpp.
//
//   std::vector<float> keys = …;
//   sortium::sort(keys);                      // in place, on the best device
//   sortium::sort(keys, particle_ids);        // moves the values with their keys; stable
//   auto order = sortium::argsort(keys);      // keys[order[0]] <= keys[order[1]] <= …
//   sortium::sort_segments(keys, offsets);    // sorts each segment by itself
//   sortium::sort_rows(keys, 100);            // sorts each row of 100 keys by itself
//   sortium::sort(keys, {.order = sortium::Order::descending, .device = "opencl:0"});
//
// On device memory, make a Plan once and run it on your own queue or stream.
//
// Every sort is stable unless its algorithm's info() says otherwise. Floats: −0.0 and +0.0 tie, NaN
// comes last in both orders, and every key keeps its bits. Invalid arguments throw sortium::Error
// before anything is written. Host memory may have any alignment: arrays that a device cannot use
// directly are copied.
//
// Thread safety: all functions may be called from several threads at once. Several threads may run
// one Plan at once if each has its own scratch memory; they may share a queue.
#pragma once

#include <sortium/algorithm_info.hpp>
#include <sortium/capabilities.hpp>
#include <sortium/device.hpp>
#include <sortium/order.hpp>
#include <sortium/permute.hpp>
#include <sortium/plan.hpp>
#include <sortium/problem.hpp>
#include <sortium/records.hpp>
#include <sortium/search.hpp>
#include <sortium/segments.hpp>
#include <sortium/sort.hpp>
#include <sortium/topk.hpp>
#include <sortium/types.hpp>
