// Devices, memory and queues for C.
#include "convert.hpp"

using namespace sortium;
using namespace sortium::c;

struct sortium_buffer {
  std::shared_ptr<Device> device;  // must outlive its memory
  std::unique_ptr<Buffer> buffer;
};

extern "C" {

size_t sortium_device_count(void) {
  size_t count = 0;
  (void)guarded([&] { count = devices().size(); });
  return count;
}

sortium_status sortium_device_at(size_t index, sortium_device** device) {
  return guarded([&] {
    need(device, "device");
    if (index >= devices().size())
      throw Error(ErrorCode::not_found,
                  "device " + std::to_string(index) + " of " + std::to_string(devices().size()));
    *device = new sortium_device{devices()[index]};
  });
}

sortium_status sortium_device_find(const char* spec, sortium_device** device) {
  return guarded([&] {
    need(device, "device");
    *device = new sortium_device{find_device(text(spec, ""))};
  });
}

void sortium_device_release(sortium_device* device) { delete device; }
const char* sortium_device_id(const sortium_device* d) {
  return d ? d->device->info().id.c_str() : "";
}
const char* sortium_device_name(const sortium_device* d) {
  return d ? d->device->info().name.c_str() : "";
}

sortium_status sortium_device_capabilities(sortium_device* device, sortium_capabilities* out) {
  return guarded([&] {
    need(out, "capabilities") = c_capabilities(capabilities(*need(device, "device").device));
  });
}

sortium_status sortium_buffer_create(sortium_device* device, uint64_t bytes,
                                     sortium_buffer** buffer) {
  return guarded([&] {
    need(buffer, "buffer");
    auto& d = need(device, "device").device;
    *buffer = new sortium_buffer{d, d->allocate(bytes)};
  });
}

sortium_memory sortium_buffer_memory(const sortium_buffer* buffer) {
  if (buffer == nullptr) return {};
  const auto m = buffer->buffer->memory();
  return {m.handle, m.offset, m.bytes};
}

void sortium_buffer_release(sortium_buffer* buffer) { delete buffer; }

sortium_status sortium_queue_create(sortium_device* device, int tracing, sortium_queue** queue) {
  return guarded([&] {
    need(queue, "queue");
    *queue = new sortium_queue{need(device, "device").device->make_queue(tracing != 0)};
  });
}

sortium_status sortium_queue_wrap_opencl(void* cl_context, void* cl_command_queue,
                                         sortium_queue** queue) {
  return guarded([&] {
    need(queue, "queue");
    *queue = new sortium_queue{wrap_opencl(cl_context, cl_command_queue)};
  });
}

sortium_status sortium_queue_wrap_cuda(void* cu_context, void* cu_stream, sortium_queue** queue) {
  return guarded([&] {
    need(queue, "queue");
    *queue = new sortium_queue{wrap_cuda(cu_context, cu_stream)};
  });
}

sortium_status sortium_queue_device(sortium_queue* queue, sortium_device** device) {
  return guarded([&] {
    need(device, "device");
    *device = new sortium_device{need(queue, "queue").queue->device().shared_from_this()};
  });
}

sortium_status sortium_queue_write(sortium_queue* queue, sortium_memory to, const void* from,
                                   uint64_t bytes) {
  return guarded([&] {
    auto& q = *need(queue, "queue").queue;
    if (bytes != 0) need(from, "from");
    q.write(memory_of(to, bytes, "to"), from, bytes);
  });
}

sortium_status sortium_queue_read(sortium_queue* queue, void* to, sortium_memory from,
                                  uint64_t bytes) {
  return guarded([&] {
    auto& q = *need(queue, "queue").queue;
    if (bytes != 0) need(to, "to");
    q.read(to, memory_of(from, bytes, "from"), bytes);
  });
}

sortium_status sortium_queue_finish(sortium_queue* queue) {
  return guarded([&] { need(queue, "queue").queue->finish(); });
}

void sortium_queue_release(sortium_queue* queue) { delete queue; }

}  // extern "C"
