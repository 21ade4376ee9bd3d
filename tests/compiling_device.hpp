// Devices that compile kernels and check their launches, but run none: for compilers of GPUs that
// are not there.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "algorithms/algorithm.hpp"
#include "checking_queue.hpp"
#include "methods.hpp"
#include "support.hpp"

namespace sortium::test {

class CompilingDevice : public Device {
 public:
  const DeviceInfo& info() const override { return info_; }
  std::unique_ptr<Module> compile(const std::string& source,
                                  std::vector<std::byte>& binary) override {
    ++compilations;
    binary.clear();  // not cached: the compiler itself is under test
    return std::make_unique<Compiled>(*this, machine_code(source));
  }
  std::unique_ptr<Buffer> allocate(std::uint64_t) override { return std::make_unique<NoBuffer>(); }
  std::unique_ptr<Buffer> adopt(void*, std::uint64_t) override { return nullptr; }
  void sync_host(Queue&, Buffer&) override { cannot(); }
  std::unique_ptr<Queue> make_queue(bool) override {
    return std::make_unique<CheckingQueue>(shared_from_this());
  }
  std::uint64_t free_memory() override { return 0; }
  std::unique_ptr<Module> load(std::span<const std::byte>) override { cannot(); }
  void* native_context() override { return nullptr; }

  unsigned compilations = 0;

 protected:
  // Throws Error(build_failed) if the compiler refuses the source.
  virtual std::vector<std::byte> machine_code(const std::string& source) = 0;
  // Returns the name by which machine code lists a kernel; a zero byte follows it there.
  virtual std::string symbol_of(const std::string& kernel) const = 0;

  DeviceInfo info_;

 private:
  class Compiled final : public Module {
   public:
    Compiled(const CompilingDevice& device, std::vector<std::byte> code)
        : device_(device), code_(std::move(code)) {}
    std::unique_ptr<Kernel> kernel(const std::string& name) override {
      const auto symbol = device_.symbol_of(name) + '\0';
      const auto name_bytes = std::as_bytes(std::span(symbol));
      if (std::search(code_.begin(), code_.end(), name_bytes.begin(), name_bytes.end()) ==
          code_.end())
        throw Error(ErrorCode::device_failed,
                    fmt::format("the machine code has no kernel {}", name));
      return std::make_unique<NamedKernel>(name);
    }

   private:
    const CompilingDevice& device_;
    std::vector<std::byte> code_;
  };

  [[noreturn]] static void cannot() {
    throw Error(ErrorCode::unsupported, "there is no such device");
  }
};

constexpr std::uint64_t few = 1000, many = std::uint64_t{1} << 33;  // 4- and 8-byte positions

inline const Problem compiled_problems[] = {
    {.key = KeyType::u32, .count = few},
    {.key = KeyType::f64,
     .count = few,
     .payload = Payload::values,
     .value_bytes = 8,
     .order = Order::descending},
    {.key = KeyType::i32,
     .count = few,
     .payload = Payload::positions,
     .keys_out = false,
     .begin_bit = 5,
     .end_bit = 25},
    {.key = KeyType::f32,
     .count = many,
     .payload = Payload::positions,
     .value_bytes = 8,
     .order = Order::descending},
};

// Plans, compiles and checks the launches of one sort; reports what fails. Returns why the
// algorithm refuses the sort on this device, or "".
inline std::string compile_sort(const MethodUnderTest& m, const Problem& problem,
                                const Capabilities& capabilities,
                                const std::shared_ptr<CompilingDevice>& device,
                                CheckingQueue& queue) {
  const auto& algorithm = find_algorithm(m.algorithm.name);
  try {
    const auto sorter =
        algorithm.plan(problem, capabilities, Parameters(m.parameters, algorithm.info()));
    sorter->build(*device, capabilities);
    sorter->enqueue(queue, some_operands(problem, sorter->scratch_bytes()));
  } catch (const Error& e) {
    if (e.code() == ErrorCode::unsupported) return e.what();
    ADD_FAILURE() << info(problem.key).name << ": " << e.what() << '\n' << e.log();
  }
  return "";
}

// Compiles a method's kernels for several problems: all of them with default parameters, a third
// with others. Returns why the algorithm refused sorts that it should support on a device without
// limits.
inline std::vector<std::string> compile_method(const MethodUnderTest& m,
                                               const std::shared_ptr<CompilingDevice>& device) {
  CheckingQueue queue(device);
  Capabilities caps = device->info().claimed;
  std::vector<std::string> refusals;
  unsigned turn = m.turn;
  caps.ordered_local_atomics = false;
  for (auto problem : compiled_problems) {
    if (++turn % 3 != 0 && !m.parameters.empty()) continue;
    if (m.algorithm.quadratic) problem.count = few;
    problem.limit = m.algorithm.limit ? problem.count / 10 : 0;
    if (m.algorithm.segments) problem.segments = 8, problem.offset_bytes = 4 * (turn / 2 % 3);
    caps.ordered_local_atomics = !caps.ordered_local_atomics;
    const auto refusal = compile_sort(m, problem, caps, device, queue);
    if (!refusal.empty() && (problem.count != many || !is_limited(m.algorithm)))
      refusals.push_back(refusal);
  }
  if (refusals.empty()) {
    EXPECT_GT(device->compilations, 0u);
    EXPECT_GT(queue.launches, 0u);
  }
  return refusals;
}

inline std::vector<MethodUnderTest> methods_of_kernels() {
  auto all = methods();
  std::erase_if(all, [](const auto& m) { return m.algorithm.host; });
  return all;
}

}  // namespace sortium::test
