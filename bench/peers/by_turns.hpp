// What the programs share that measure Sortium and others by turns on the same GPU.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <sortium/device.hpp>
#include <string>
#include <vector>

namespace peers {

void check(cudaError_t error);  // throws

// The first GPU: the runtime's context, and a stream of it that Sortium shares.
struct Gpu {
  Gpu();
  cudaStream_t stream = nullptr;
  std::unique_ptr<sortium::Queue> queue;
};

struct DeviceArray {
  explicit DeviceArray(std::size_t size);
  ~DeviceArray() { cudaFree(data); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  [[nodiscard]] bool equals(const DeviceArray& other) const;  // as far as this one goes; waits
  void* data = nullptr;
  std::size_t bytes;
};

// What is enqueued, as a CUDA graph.
struct Graph {
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() {
    if (ready != nullptr) cudaGraphExecDestroy(ready);
    if (captured != nullptr) cudaGraphDestroy(captured);
  }
  void capture(cudaStream_t stream, const std::function<void()>& enqueue) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    enqueue();
    check(cudaStreamEndCapture(stream, &captured));
    check(cudaGraphInstantiate(&ready, captured, 0));
  }
  cudaGraph_t captured = nullptr;
  cudaGraphExec_t ready = nullptr;
};

struct Contender {
  std::string name;
  std::function<void()> enqueue;
  std::function<void()> wait;
  std::function<bool()> correct;  // empties the output, sorts, compares
  bool on_stream = true;          // device time can be had by events
  std::function<void()> prepare;  // enqueued first, not timed: for what sorts in place
  std::vector<double> waited{}, device{};
};

// Sorts that are waited for, by the host's clock, and others between events: by turns, so that what
// disturbs one disturbs all. At least `least` rounds.
void measure(std::vector<Contender>& all, cudaStream_t stream, double seconds, int least = 5);

double median(std::vector<double>& times);

void write_json(const std::string& path, const nlohmann::json& json);

}  // namespace peers
