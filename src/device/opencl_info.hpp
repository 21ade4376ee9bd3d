// What an OpenCL device reports about itself. Also includes OpenCL's C++ classes, configured for
// the backend.
#pragma once

#include "opencl_api.hpp"

#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#define CL_HPP_ENABLE_EXCEPTIONS
#include <fmt/format.h>

#include <CL/opencl.hpp>
#include <algorithm>
#include <cstdio>
#include <sortium/device.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sortium {

// Queries of vendor extensions that the Khronos headers do not name.
inline constexpr cl_device_info nv_warp_size = 0x4003;
inline constexpr cl_device_info amd_wavefront_width = 0x4043;
inline constexpr cl_device_info intel_sub_group_sizes = 0x4108;

// Returns the value, or `otherwise` if the device does not support the query.
template <class T>
[[nodiscard]] T query(const cl::Device& device, cl_device_info what, T otherwise) {
  T value{};
  std::size_t size = 0;
  if (clGetDeviceInfo(device(), what, sizeof value, &value, &size) != CL_SUCCESS ||
      size != sizeof value)
    return otherwise;
  return value;
}

struct OpenClVersion {
  unsigned major = 1, minor = 2;
};

inline OpenClVersion version_of(const cl::Device& device) {
  OpenClVersion v;  // "OpenCL 3.0 CUDA"
  std::sscanf(device.getInfo<CL_DEVICE_VERSION>().c_str(), "OpenCL %u.%u", &v.major, &v.minor);
  return v;
}

// Claims native sub-groups only if the driver reports a single size, or lets a kernel require one.
inline void claim_sub_groups(const cl::Device& device, Capabilities& c) {
  const auto extensions = fmt::format(" {} ", device.getInfo<CL_DEVICE_EXTENSIONS>());
  const auto has = [&](std::string_view e) {
    return extensions.find(fmt::format(" {} ", e)) != std::string::npos;
  };
  if (has("cl_nv_device_attribute_query")) {
    c.sub_group_words = SubGroupWords::ptx;
    c.sub_group_size = query<cl_uint>(device, nv_warp_size, 32);
  } else if ((has("cl_khr_subgroups") || has("cl_intel_subgroups")) &&
             has("cl_khr_subgroup_ballot") && has("cl_khr_subgroup_shuffle")) {
    unsigned size = query<cl_uint>(device, amd_wavefront_width, 0);
    std::size_t bytes = 0;
    if (clGetDeviceInfo(device(), intel_sub_group_sizes, 0, nullptr, &bytes) == CL_SUCCESS &&
        bytes > 0) {
      std::vector<std::size_t> sizes(bytes / sizeof(std::size_t));
      clGetDeviceInfo(device(), intel_sub_group_sizes, bytes, sizes.data(), nullptr);
      for (const auto s : {32u, 16u, 8u, 64u})
        if (size == 0 && std::ranges::find(sizes, s) != sizes.end()) size = s;
    }
    if (size != 0) {
      c.sub_group_words = SubGroupWords::khr;
      c.sub_group_size = size;
    }
  }
}

inline DeviceInfo describe(const cl::Device& device, std::string id) {
  DeviceInfo d;
  d.id = std::move(id);
  d.name = device.getInfo<CL_DEVICE_NAME>();
  d.vendor = device.getInfo<CL_DEVICE_VENDOR>();
  d.platform = cl::Platform(device.getInfo<CL_DEVICE_PLATFORM>()).getInfo<CL_PLATFORM_NAME>();
  d.driver = device.getInfo<CL_DRIVER_VERSION>();
  d.language = device.getInfo<CL_DEVICE_VERSION>();
  auto& c = d.claimed;
  c.model = d.name;
  c.backend = Backend::opencl;
  const auto kind = device.getInfo<CL_DEVICE_TYPE>();
  c.kind = kind & CL_DEVICE_TYPE_GPU   ? DeviceKind::gpu
           : kind & CL_DEVICE_TYPE_CPU ? DeviceKind::cpu
                                       : DeviceKind::accelerator;
  c.compute_units = device.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>();
  c.max_work_group = static_cast<unsigned>(device.getInfo<CL_DEVICE_MAX_WORK_GROUP_SIZE>());
  c.local_memory = c.local_struct = device.getInfo<CL_DEVICE_LOCAL_MEM_SIZE>();
  c.global_memory = device.getInfo<CL_DEVICE_GLOBAL_MEM_SIZE>();
  c.max_allocation = device.getInfo<CL_DEVICE_MAX_MEM_ALLOC_SIZE>();
  // NVIDIA's driver 580 allows larger buffers. But its fills across byte 2^33 of a buffer write to
  // wrong addresses, and kernels that read tables or keys there may hang.
  constexpr std::uint64_t most_of_nvidia = std::uint64_t{1} << 33;
  if (d.vendor.find("NVIDIA") != std::string::npos)
    c.max_allocation = std::min<std::uint64_t>(c.max_allocation, most_of_nvidia);
  c.atomics64 =
      device.getInfo<CL_DEVICE_EXTENSIONS>().find("cl_khr_int64_base_atomics") != std::string::npos;
  claim_sub_groups(device, c);
  return d;
}

}  // namespace sortium
