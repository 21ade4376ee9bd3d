// The few functions of the CUDA driver and of NVRTC that Sortium calls. They are declared here and
// found with dlopen, so Sortium builds and starts without CUDA. Names and values are the driver's
// ABI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace sortium::cuda {

using Result = int;
using DeviceId = int;
using DevicePtr = std::uint64_t;
using Context = struct CUctx_st*;
using Stream = struct CUstream_st*;
using ModuleHandle = struct CUmod_st*;
using Function = struct CUfunc_st*;
using Event = struct CUevent_st*;
using Program = struct _nvrtcProgram*;

constexpr Result success = 0, error_invalid_value = 1, error_out_of_memory = 2,
                 error_no_device = 100, error_not_ready = 600;

constexpr int function_max_dynamic_shared = 8, function_any_cluster_size = 14;
constexpr int pointer_memory_type = 2;  // an attribute of a pointer; 0 for unknown memory

enum Attribute : int {
  max_threads_per_block = 1,
  max_shared_memory_per_block = 8,
  max_shared_memory_per_block_optin = 97,
  multiprocessor_count = 16,
  warp_size = 10,
  compute_capability_major = 75,
  compute_capability_minor = 76,
};

// CUlaunchConfig and CUlaunchAttribute, with the two attributes that are used here.
struct LaunchAttribute {
  int id;
  int padding;
  union {
    int flag;
    unsigned dimensions[3];
    char whole[64];
  } value;
};
constexpr int cluster_dimension = 4, programmatic_stream_serialization = 6;
struct LaunchConfig {
  unsigned grid[3], block[3], shared_bytes;
  Stream stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

struct Driver {
  Result (*init)(unsigned);
  Result (*driver_version)(int*);
  Result (*device_count)(int*);
  Result (*device_get)(DeviceId*, int);
  Result (*device_name)(char*, int, DeviceId);
  Result (*device_attribute)(int*, int, DeviceId);
  Result (*device_total_mem)(std::size_t*, DeviceId);
  Result (*primary_retain)(Context*, DeviceId);
  Result (*ctx_current)(Context*);
  Result (*ctx_push)(Context);
  Result (*ctx_pop)(Context*);
  Result (*ctx_device)(DeviceId*);
  Result (*ctx_sync)();
  Result (*ctx_enable_peer_access)(Context, unsigned);
  Result (*mem_info)(std::size_t*, std::size_t*);
  Result (*mem_alloc)(DevicePtr*, std::size_t);
  Result (*mem_free)(DevicePtr);
  Result (*host_alloc)(void**, std::size_t, unsigned);  // pinned host memory
  Result (*host_free)(void*);
  Result (*pointer_attributes)(unsigned, int*, void**, DevicePtr);
  Result (*copy_to_device)(DevicePtr, const void*, std::size_t, Stream);
  Result (*copy_to_host)(void*, DevicePtr, std::size_t, Stream);
  Result (*copy_on_device)(DevicePtr, DevicePtr, std::size_t, Stream);
  Result (*copy_from_peer)(DevicePtr, Context, DevicePtr, Context, std::size_t, Stream);
  Result (*fill32)(DevicePtr, unsigned, std::size_t, Stream);
  Result (*module_load)(ModuleHandle*, const void*);
  Result (*module_unload)(ModuleHandle);
  Result (*module_function)(Function*, ModuleHandle, const char*);
  Result (*function_set)(Function, int, int);
  Result (*launch)(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   Stream, void**, void**);
  Result (*launch_with)(const LaunchConfig*, Function, void**, void**);  // nullptr before CUDA 11.8
  Result (*stream_create)(Stream*, unsigned);
  Result (*stream_create_with_priority)(Stream*, unsigned, int);
  Result (*stream_destroy)(Stream);
  Result (*stream_sync)(Stream);
  Result (*stream_query)(Stream);
  Result (*event_create)(Event*, unsigned);
  Result (*event_destroy)(Event);
  Result (*event_record)(Event, Stream);
  Result (*event_sync)(Event);
  Result (*event_elapsed)(float*, Event, Event);
  Result (*error_name)(Result, const char**);
};

struct Nvrtc {
  Result (*version)(int*, int*);
  Result (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  Result (*destroy)(Program*);
  Result (*compile)(Program, int, const char* const*);
  Result (*cubin_size)(Program, std::size_t*);
  Result (*cubin)(Program, char*);
  Result (*ptx_size)(Program, std::size_t*);
  Result (*ptx)(Program, char*);
  Result (*log_size)(Program, std::size_t*);
  Result (*log)(Program, char*);
  Result (*supported_arch_count)(int*);
  Result (*supported_archs)(int*);
};

// Returns nullptr, and the reason in `why`, if the library is missing. Loads it once per process.
[[nodiscard]] const Driver* driver(std::string& why);
[[nodiscard]] const Nvrtc* nvrtc(std::string& why);

}  // namespace sortium::cuda
