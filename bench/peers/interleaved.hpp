// Shared by the programs that measure Sortium and other libraries interleaved on the same GPU.
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

// Throws std::runtime_error if `error` is not cudaSuccess.
void check(cudaError_t error);

// The first GPU: the CUDA runtime's context, and a stream that Sortium shares.
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
  // Compares the bytes of this array with the beginning of `other`. Waits for the device.
  [[nodiscard]] bool equals(const DeviceArray& other) const;
  void* data = nullptr;
  std::size_t bytes;
};

// A CUDA graph of work that was enqueued on a stream.
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
  std::function<bool()> correct;    // overwrites the output, sorts, compares with the reference
  bool on_stream = true;            // events on the stream can measure the device time
  std::function<void()> prepare{};  // enqueued and waited for before each sort, not timed
  std::vector<double> waited{}, device{};
};

// Measures all contenders in rounds: at least `least` rounds, then more until `seconds` seconds
// have passed, at most 200. In a round, each contender sorts once timed by the host's clock and, if
// on_stream, once between two events. The contenders are interleaved, so that a disturbance affects
// all of them.
void measure(std::vector<Contender>& all, cudaStream_t stream, double seconds, int least = 5);

double median(std::vector<double>& times);

void write_json(const std::string& path, const nlohmann::json& json);

// Runs each case, which returns a row with the member `correct`, and appends the row to
// out["cases"]. Writes `out` to the file `json`, if that is not empty. Returns the program's exit
// code: 1 if a result is wrong.
int run_cases(nlohmann::json out, const std::vector<std::string>& names,
              const std::function<nlohmann::json(const std::string&)>& run,
              const std::string& json);

}  // namespace peers
