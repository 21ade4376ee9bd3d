// Pages of new output arrays, provided while the device is at work.
#pragma once

#include <cstdint>
#include <thread>
#include <vector>

namespace sortium {

class OutputPages {
 public:
  OutputPages() = default;
  ~OutputPages() { wait(); }
  OutputPages(const OutputPages&) = delete;
  OutputPages& operator=(const OutputPages&) = delete;

  // Names an array that will be written, and need not be new.
  void add(void* memory, std::uint64_t bytes);
  void start();  // a thread provides the pages of all arrays; the arrays must live until wait()
  void wait();

 private:
  struct Array {
    void* memory;
    std::uint64_t bytes;
  };
  std::vector<Array> arrays_;
  std::thread thread_;
};

}  // namespace sortium
