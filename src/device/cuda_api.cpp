#include "cuda_api.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <vector>

#include "../core/environment.hpp"
#include "../core/own_file.hpp"

namespace sortium::cuda {
namespace {

void* open_first(const std::vector<std::string>& names) {
  for (const auto& n : names)
    if (void* library = dlopen(n.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  return nullptr;
}

// File names of NVRTC to try: SORTIUM_NVRTC, Python packages of NVIDIA beside the one that contains
// this library, the loader's search path, then the toolkit's usual places.
std::vector<std::string> nvrtc_names() {
  std::vector<std::string> names;
  if (const char* set = environment("SORTIUM_NVRTC"); set && *set) return {set};
  const std::vector<std::string> files{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                       "libnvrtc.so"};
  const auto packages = own_file().parent_path().parent_path() / "nvidia";
  for (const char* package : {"cu13", "cuda_nvrtc"})
    for (const auto& f : files) names.push_back(packages / package / "lib" / f);
  names.insert(names.end(), files.begin(), files.end());
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* root = environment(variable); root && *root)
      for (const auto& f : files) names.push_back(fmt::format("{}/lib64/{}", root, f));
  for (const auto& f : files) names.push_back("/usr/local/cuda/lib64/" + f);
  return names;
}

// Fills in a table's function pointers, and keeps the name of the first function that is missing.
struct Loader {
  void* library;
  std::string missing;
  template <class F>
  void operator()(F& entry, const char* name) {
    entry = reinterpret_cast<F>(dlsym(library, name));
    if (entry == nullptr && missing.empty()) missing = name;
  }
};

struct LoadedDriver {
  Driver table{};
  std::string why;
  LoadedDriver() {
    Loader load{open_first({"libcuda.so.1", "libcuda.so"}), {}};
    if (load.library == nullptr) {
      why = "no NVIDIA driver: libcuda.so.1 was not found";
      return;
    }
    load(table.init, "cuInit");
    load(table.driver_version, "cuDriverGetVersion");
    load(table.device_count, "cuDeviceGetCount");
    load(table.device_get, "cuDeviceGet");
    load(table.device_name, "cuDeviceGetName");
    load(table.device_attribute, "cuDeviceGetAttribute");
    load(table.device_total_mem, "cuDeviceTotalMem_v2");
    load(table.primary_retain, "cuDevicePrimaryCtxRetain");
    load(table.ctx_current, "cuCtxGetCurrent");
    load(table.ctx_push, "cuCtxPushCurrent_v2");
    load(table.ctx_pop, "cuCtxPopCurrent_v2");
    load(table.ctx_device, "cuCtxGetDevice");
    load(table.ctx_sync, "cuCtxSynchronize");
    load(table.ctx_enable_peer_access, "cuCtxEnablePeerAccess");
    load(table.mem_info, "cuMemGetInfo_v2");
    load(table.mem_alloc, "cuMemAlloc_v2");
    load(table.mem_free, "cuMemFree_v2");
    load(table.host_alloc, "cuMemHostAlloc");
    load(table.host_free, "cuMemFreeHost");
    load(table.pointer_attributes, "cuPointerGetAttributes");
    load(table.copy_to_device, "cuMemcpyHtoDAsync_v2");
    load(table.copy_to_host, "cuMemcpyDtoHAsync_v2");
    load(table.copy_on_device, "cuMemcpyDtoDAsync_v2");
    load(table.copy_from_peer, "cuMemcpyPeerAsync");
    load(table.fill32, "cuMemsetD32Async");
    load(table.module_load, "cuModuleLoadData");
    load(table.module_unload, "cuModuleUnload");
    load(table.module_function, "cuModuleGetFunction");
    load(table.function_set, "cuFuncSetAttribute");
    load(table.launch, "cuLaunchKernel");
    table.launch_with =
        reinterpret_cast<decltype(table.launch_with)>(dlsym(load.library, "cuLaunchKernelEx"));
    load(table.stream_create, "cuStreamCreate");
    load(table.stream_create_with_priority, "cuStreamCreateWithPriority");
    load(table.stream_destroy, "cuStreamDestroy_v2");
    load(table.stream_sync, "cuStreamSynchronize");
    load(table.stream_query, "cuStreamQuery");
    load(table.event_create, "cuEventCreate");
    load(table.event_destroy, "cuEventDestroy_v2");
    load(table.event_record, "cuEventRecord");
    load(table.event_sync, "cuEventSynchronize");
    load(table.event_elapsed, "cuEventElapsedTime");
    load(table.error_name, "cuGetErrorName");
    if (!load.missing.empty())
      why = fmt::format("the NVIDIA driver is too old: it has no {}", load.missing);
  }
};

struct LoadedNvrtc {
  Nvrtc table{};
  std::string why;
  LoadedNvrtc() {
    Loader load{open_first(nvrtc_names()), {}};
    if (load.library == nullptr) {
      why =
          "libnvrtc.so was not found (looked for versions 11.2 to 13; SORTIUM_NVRTC names another "
          "file)";
      return;
    }
    load(table.version, "nvrtcVersion");
    load(table.create, "nvrtcCreateProgram");
    load(table.destroy, "nvrtcDestroyProgram");
    load(table.compile, "nvrtcCompileProgram");
    load(table.cubin_size, "nvrtcGetCUBINSize");
    load(table.cubin, "nvrtcGetCUBIN");
    load(table.ptx_size, "nvrtcGetPTXSize");
    load(table.ptx, "nvrtcGetPTX");
    load(table.log_size, "nvrtcGetProgramLogSize");
    load(table.log, "nvrtcGetProgramLog");
    load(table.supported_arch_count, "nvrtcGetNumSupportedArchs");
    load(table.supported_archs, "nvrtcGetSupportedArchs");
    if (!load.missing.empty())
      why = fmt::format("NVRTC is too old: it has no {}", load.missing);
    else
      load_builtins();
  }

 private:
  // Loads NVRTC's library of built-ins in advance. NVRTC opens that library by its bare name when
  // it compiles. The loader finds it if it is loaded already, or if its directory is in the search
  // path. The directory is not there if pip installed NVRTC, or if ldconfig does not know the
  // toolkit.
  void load_builtins() const {
    Dl_info here{};
    int major = 0, minor = 0;
    if (dladdr(reinterpret_cast<void*>(table.version), &here) == 0 ||
        table.version(&major, &minor) != success)
      return;
    const auto file =
        std::filesystem::path(here.dli_fname)
            .replace_filename(fmt::format("libnvrtc-builtins.so.{}.{}", major, minor));
    if (file.has_parent_path()) dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
};

}  // namespace

const Driver* driver(std::string& why) {
  static const LoadedDriver loaded;
  why = loaded.why;
  return loaded.why.empty() ? &loaded.table : nullptr;
}

const Nvrtc* nvrtc(std::string& why) {
  static const LoadedNvrtc loaded;
  why = loaded.why;
  return loaded.why.empty() ? &loaded.table : nullptr;
}

}  // namespace sortium::cuda
