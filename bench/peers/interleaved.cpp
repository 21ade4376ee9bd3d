#include "interleaved.hpp"

#include <cuda.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <sortium/sortium.hpp>
#include <stdexcept>

#include "protocol/distributions.hpp"
#include "records.hpp"

namespace peers {

void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

Gpu::Gpu() {
  check(cudaSetDevice(0));
  check(cudaFree(nullptr));  // creates the runtime's context
  CUcontext context = nullptr;
  cuCtxGetCurrent(&context);
  check(cudaStreamCreate(&stream));
  queue = sortium::wrap_cuda(context, stream);
}

DeviceArray::DeviceArray(std::size_t size) : bytes(size) {
  check(cudaMalloc(&data, std::max<std::size_t>(size, 16)));
  // New memory is usually zero, which would hide missing initialization.
  check(cudaMemset(data, 0xa5, size));
}

void make_keys(void* keys, sortium::KeyType type, std::uint64_t count,
               const std::string& distribution) {
  struct List {
    sortium::KeyType type;
    std::uint64_t count;
    std::string distribution;
    bool operator==(const List&) const = default;
  };
  static List last{};
  static std::vector<char> made;
  const List wanted{type, count, distribution};
  if (last != wanted) {
    last = {};
    made.resize(count * sortium::info(type).bytes);
    app::make_keys(distribution, type, count, 0, count, made.data());
    last = wanted;
  }
  check(cudaMemcpy(keys, made.data(), made.size(), cudaMemcpyHostToDevice));
}

bool DeviceArray::equals(const DeviceArray& other) const { return equal(data, other.data, bytes); }

double median(std::vector<double>& times) {
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                   times.end());
  return times[times.size() / 2];
}

void measure(std::vector<Contender>& all, cudaStream_t stream, double seconds, int least) {
  cudaEvent_t start, stop;
  check(cudaEventCreate(&start));
  check(cudaEventCreate(&stop));
  const auto prepare = [](const Contender& c) {
    if (c.prepare) c.prepare(), c.wait();
  };
  for (auto& c : all)
    for (int i = 0; i < 2; ++i) prepare(c), c.enqueue(), c.wait();
  const auto began = std::chrono::steady_clock::now();
  const auto since = [](auto then) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
  };
  for (int round = 0; round < least || (round < 200 && since(began) < seconds); ++round)
    for (auto& c : all) {
      prepare(c);
      const auto then = std::chrono::steady_clock::now();
      c.enqueue();
      c.wait();
      c.waited.push_back(since(then));
      if (!c.on_stream) continue;
      prepare(c);
      check(cudaEventRecord(start, stream));
      c.enqueue();
      check(cudaEventRecord(stop, stream));
      check(cudaEventSynchronize(stop));
      float ms = 0;
      check(cudaEventElapsedTime(&ms, start, stop));
      c.device.push_back(ms * 1e-3);
    }
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
}

void write_json(const std::string& path, const nlohmann::json& json) {
  std::FILE* f = std::fopen(path.c_str(), "w");
  if (f == nullptr) throw std::runtime_error("cannot write " + path);
  fmt::print(f, "{}\n", json.dump(1));
  std::fclose(f);
}

int run_cases(nlohmann::json out, const std::vector<std::string>& names,
              const std::function<nlohmann::json(const std::string&)>& run,
              const std::string& json) {
  bool correct = true;
  for (const auto& name : names) {
    out["cases"].push_back(run(name));
    correct = correct && out["cases"].back()["correct"];
  }
  if (!json.empty()) write_json(json, out);
  return correct ? 0 : 1;
}

}  // namespace peers
