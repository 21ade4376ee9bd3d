// Provides the memory pages of new output arrays while the device works.
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

  // Adds an array that will be written. It may also be an old one.
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
