// A device that runs nothing: its queue checks every launch as the backends do. For tests of the
// interface between host and kernels, without a GPU.
#pragma once

#include <cstring>
#include <memory>
#include <sortium/sortium.hpp>

#include "device/backends.hpp"

namespace sortium::test {

class NamedKernel final : public Kernel {
 public:
  explicit NamedKernel(std::string name) : name_(std::move(name)) {}
  std::string_view name() const override { return name_; }

 private:
  std::string name_;
};

// Checks every launch as the backends do, and runs nothing.
class CheckingQueue final : public Queue {
 public:
  explicit CheckingQueue(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  Device& device() const override { return *device_; }
  void launch(const Launch& l) override {
    backend::check_arguments(l);
    ++launches;
  }
  void copy(Memory, Memory, std::uint64_t, std::string_view) override {}
  void fill(Memory, std::uint32_t, std::uint64_t, std::string_view) override {}
  void flush() override {}
  void write(Memory, const void*, std::uint64_t) override {}
  // Returns zeros: the kernels of the probe store 0 if they find no error.
  void read(void* to, Memory, std::uint64_t bytes) override { std::memset(to, 0, bytes); }
  void finish() override {}
  void begin_trace() override {}
  std::vector<TraceEntry> end_trace() override { return {}; }
  void* native() const override { return nullptr; }

  unsigned launches = 0;

 private:
  std::shared_ptr<Device> device_;
};

class NoBuffer final : public Buffer {
 public:
  Memory memory() const override { return {}; }
};

// Returns a range of device memory that nothing reads or writes. Different numbers return ranges a
// terabyte apart.
inline Memory somewhere(unsigned number, std::uint64_t bytes) {
  return {reinterpret_cast<void*>((number + std::uint64_t{1}) << 40), 0, bytes};
}

// Returns all operands that the problem needs, for a sort that does not run.
inline Operands some_operands(const Problem& p, std::uint64_t scratch_bytes) {
  const std::uint64_t key_bytes = p.count * info(p.key).bytes,
                      value_bytes = p.count * p.value_bytes;
  Operands o;
  o.keys_in = somewhere(0, key_bytes);
  if (p.keys_out) o.keys_out = somewhere(1, key_bytes);
  if (p.payload == Payload::values) o.values_in = somewhere(2, value_bytes);
  if (p.payload != Payload::none) o.values_out = somewhere(3, value_bytes);
  o.scratch = somewhere(4, scratch_bytes);
  if (p.segments != 0 && p.offset_bytes != 0)
    o.offsets = somewhere(5, offsets_bytes(p.segments, p.offset_bytes));
  return o;
}

}  // namespace sortium::test
