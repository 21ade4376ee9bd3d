// A device that forwards every call to another one. Derived classes change the device's properties
// or make calls fail.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <functional>
#include <memory>
#include <sortium/device.hpp>
#include <utility>

namespace sortium::test {

class WrappedDevice : public Device {
 public:
  explicit WrappedDevice(std::shared_ptr<Device> real) : real_(std::move(real)) {}

  [[nodiscard]] int buffers() const { return memory_->buffers; }  // buffers that exist
  // The most bytes that its buffers had at a time since the last call.
  [[nodiscard]] std::uint64_t take_peak_bytes() { return memory_->peak.exchange(memory_->bytes); }
  [[nodiscard]] Device& real() const { return *real_; }

  const DeviceInfo& info() const override { return real_->info(); }
  std::unique_ptr<Buffer> allocate(std::uint64_t bytes) override {
    pass(ErrorCode::out_of_memory, fmt::format("an allocation of {} bytes", bytes));
    return std::make_unique<CountedBuffer>(real_->allocate(bytes), memory_);
  }
  std::unique_ptr<Buffer> adopt(void* host, std::uint64_t bytes) override {
    pass(ErrorCode::out_of_memory, "adopt");
    return real_->adopt(host, bytes);
  }
  void sync_host(Queue& queue, Buffer& adopted) override {
    pass(ErrorCode::device_failed, "sync_host");
    real_->sync_host(static_cast<WrappedQueue&>(queue).real(), adopted);
  }
  std::unique_ptr<Queue> make_queue(bool tracing = false) override {
    pass(ErrorCode::device_failed, "make_queue");
    return std::make_unique<WrappedQueue>(
        std::static_pointer_cast<WrappedDevice>(shared_from_this()), real_->make_queue(tracing));
  }
  std::uint64_t free_memory() override { return real_->free_memory(); }
  std::unique_ptr<Module> compile(const std::string& source,
                                  std::vector<std::byte>& binary) override {
    pass(ErrorCode::build_failed, "compile");
    return real_->compile(source, binary);
  }
  std::unique_ptr<Module> load(std::span<const std::byte> binary) override {
    pass(ErrorCode::build_failed, "load");
    return real_->load(binary);
  }
  void* native_context() override { return real_->native_context(); }

 private:
  // The buffers that exist.
  struct Allocated {
    std::atomic<int> buffers{0};
    std::atomic<std::uint64_t> bytes{0}, peak{0};

    void add(std::uint64_t more) {
      ++buffers;
      const std::uint64_t now = bytes += more;
      for (auto before = peak.load(); before < now && !peak.compare_exchange_weak(before, now);) {
      }
    }
  };

  class CountedBuffer final : public Buffer {
   public:
    CountedBuffer(std::unique_ptr<Buffer> real, std::shared_ptr<Allocated> memory)
        : real_(std::move(real)), memory_(std::move(memory)), bytes_(real_->memory().bytes) {
      memory_->add(bytes_);
    }
    ~CountedBuffer() override {
      --memory_->buffers;
      memory_->bytes -= bytes_;
    }
    Memory memory() const override { return real_->memory(); }

   private:
    std::unique_ptr<Buffer> real_;
    std::shared_ptr<Allocated> memory_;
    std::uint64_t bytes_;
  };

  class WrappedQueue final : public Queue {
   public:
    WrappedQueue(std::shared_ptr<WrappedDevice> device, std::unique_ptr<Queue> real)
        : device_(std::move(device)), real_(std::move(real)) {}
    Queue& real() { return *real_; }
    Device& device() const override { return *device_; }
    void launch(const Launch& launch) override {
      pass("launch");
      real_->launch(launch);
    }
    void copy(Memory to, Memory from, std::uint64_t bytes, std::string_view phase) override {
      pass("copy");
      real_->copy(to, from, bytes, phase);
    }
    void fill(Memory to, std::uint32_t pattern, std::uint64_t bytes,
              std::string_view phase) override {
      pass("fill");
      real_->fill(to, pattern, bytes, phase);
    }
    void flush() override { real_->flush(); }
    void call(std::string_view phase, const std::function<void()>& work) override {
      pass("call");
      real_->call(phase, work);
    }
    void write(Memory to, const void* from, std::uint64_t bytes) override {
      pass("write");
      real_->write(to, from, bytes);
    }
    void read(void* to, Memory from, std::uint64_t bytes) override {
      pass("read");
      real_->read(to, from, bytes);
    }
    void finish() override {
      pass("finish");
      real_->finish();
    }
    void begin_trace() override { real_->begin_trace(); }
    std::vector<TraceEntry> end_trace() override { return real_->end_trace(); }
    void* native() const override { return real_->native(); }

   private:
    void pass(const char* what) { device_->pass(ErrorCode::device_failed, what); }
    std::shared_ptr<WrappedDevice> device_;
    std::unique_ptr<Queue> real_;
  };

  // Called before each call is forwarded. An override may throw an Error with this code.
  virtual void pass(ErrorCode code, const std::string& what) { (void)code, (void)what; }

  std::shared_ptr<Device> real_;
  std::shared_ptr<Allocated> memory_ = std::make_shared<Allocated>();
};

}  // namespace sortium::test
