// A layer of OpenCL's loader: devices say that they are GPUs with memory of their own, and copies
// between a device and host memory are counted. So the copies of such devices are tested on a CPU.
// OPENCL_LAYERS names the file of the layer.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl_layer.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>

namespace {

const cl_icd_dispatch* next = nullptr;
cl_icd_dispatch ours;

std::mutex mutex;
std::map<std::uintptr_t, std::size_t> mapped;  // bytes of each block that the driver has mapped
std::atomic<std::uint64_t> pageable_copies{0}, copies_until_failure{0};

bool is_mapped(const void* memory, std::size_t bytes) {
  const auto at = reinterpret_cast<std::uintptr_t>(memory);
  const std::lock_guard lock(mutex);
  auto block = mapped.upper_bound(at);
  return block != mapped.begin() && at + bytes <= (--block)->first + block->second;
}

// Counts a copy. Returns true if it shall fail.
bool note_copy(const void* memory, std::size_t bytes) {
  if (!is_mapped(memory, bytes)) ++pageable_copies;
  return copies_until_failure != 0 && --copies_until_failure == 0;
}

cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info what, std::size_t bytes,
                                   void* value, std::size_t* bytes_out) {
  const cl_int result = next->clGetDeviceInfo(device, what, bytes, value, bytes_out);
  if (result != CL_SUCCESS || value == nullptr) return result;
  constexpr cl_device_type gpu = CL_DEVICE_TYPE_GPU;
  constexpr cl_bool no = CL_FALSE;
  if (what == CL_DEVICE_TYPE) std::memcpy(value, &gpu, sizeof gpu);
  if (what == CL_DEVICE_HOST_UNIFIED_MEMORY) std::memcpy(value, &no, sizeof no);
  return result;
}

void* CL_API_CALL map(cl_command_queue queue, cl_mem buffer, cl_bool waits, cl_map_flags flags,
                      std::size_t offset, std::size_t bytes, cl_uint events, const cl_event* list,
                      cl_event* event, cl_int* error) {
  void* const memory = next->clEnqueueMapBuffer(queue, buffer, waits, flags, offset, bytes, events,
                                                list, event, error);
  const std::lock_guard lock(mutex);
  if (memory != nullptr) mapped[reinterpret_cast<std::uintptr_t>(memory)] = bytes;
  return memory;
}

cl_int CL_API_CALL unmap(cl_command_queue queue, cl_mem buffer, void* memory, cl_uint events,
                         const cl_event* list, cl_event* event) {
  {
    const std::lock_guard lock(mutex);
    mapped.erase(reinterpret_cast<std::uintptr_t>(memory));
  }
  return next->clEnqueueUnmapMemObject(queue, buffer, memory, events, list, event);
}

cl_int CL_API_CALL write(cl_command_queue queue, cl_mem buffer, cl_bool waits, std::size_t offset,
                         std::size_t bytes, const void* from, cl_uint events, const cl_event* list,
                         cl_event* event) {
  if (note_copy(from, bytes)) return CL_OUT_OF_RESOURCES;
  return next->clEnqueueWriteBuffer(queue, buffer, waits, offset, bytes, from, events, list, event);
}

cl_int CL_API_CALL read(cl_command_queue queue, cl_mem buffer, cl_bool waits, std::size_t offset,
                        std::size_t bytes, void* to, cl_uint events, const cl_event* list,
                        cl_event* event) {
  if (note_copy(to, bytes)) return CL_OUT_OF_RESOURCES;
  return next->clEnqueueReadBuffer(queue, buffer, waits, offset, bytes, to, events, list, event);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

// How often the driver has copied memory that it has not mapped itself.
std::uint64_t discrete_opencl_pageable_copies() { return pageable_copies; }
// Lets the n-th copy from now on fail. 0: none.
void discrete_opencl_fail_at(std::uint64_t n) { copies_until_failure = n; }
// How many blocks are mapped.
std::uint64_t discrete_opencl_mapped() {
  const std::lock_guard lock(mutex);
  return mapped.size();
}

cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, std::size_t bytes, void* value,
                                  std::size_t* bytes_out) {
  constexpr cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  if (what != CL_LAYER_API_VERSION || (value != nullptr && bytes < sizeof version))
    return CL_INVALID_VALUE;
  if (value != nullptr) std::memcpy(value, &version, sizeof version);
  if (bytes_out != nullptr) *bytes_out = sizeof version;
  return CL_SUCCESS;
}

cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch* target, cl_uint* entries_out,
                               const cl_icd_dispatch** layer) {
  if (entries < sizeof ours / sizeof(void*)) return CL_INVALID_VALUE;
  next = target;
  ours = *target;
  ours.clGetDeviceInfo = get_device_info;
  ours.clEnqueueMapBuffer = map;
  ours.clEnqueueUnmapMemObject = unmap;
  ours.clEnqueueWriteBuffer = write;
  ours.clEnqueueReadBuffer = read;
  *entries_out = sizeof ours / sizeof(void*);
  *layer = &ours;
  return CL_SUCCESS;
}
}
#pragma GCC visibility pop
