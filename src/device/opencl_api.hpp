// The entry points of OpenCL that Sortium calls. Sortium finds them in the ICD loader with dlopen,
// so it also starts on machines without OpenCL. Their types are those of Khronos's headers. Include
// this file before CL/opencl.hpp: it redirects each OpenCL name to the entry point that was found.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/opencl.h>

#include <string>

#define SORTIUM_OPENCL_ENTRY_POINTS(X) \
  X(clBuildProgram)                    \
  X(clCreateBuffer)                    \
  X(clCreateCommandQueue)              \
  X(clCreateContext)                   \
  X(clCreateKernel)                    \
  X(clCreateProgramWithBinary)         \
  X(clCreateProgramWithSource)         \
  X(clEnqueueCopyBuffer)               \
  X(clEnqueueFillBuffer)               \
  X(clEnqueueMapBuffer)                \
  X(clEnqueueNDRangeKernel)            \
  X(clEnqueueReadBuffer)               \
  X(clEnqueueUnmapMemObject)           \
  X(clEnqueueWriteBuffer)              \
  X(clFinish)                          \
  X(clFlush)                           \
  X(clGetCommandQueueInfo)             \
  X(clGetDeviceIDs)                    \
  X(clGetDeviceInfo)                   \
  X(clGetEventProfilingInfo)           \
  X(clGetPlatformIDs)                  \
  X(clGetPlatformInfo)                 \
  X(clGetProgramBuildInfo)             \
  X(clGetProgramInfo)                  \
  X(clReleaseCommandQueue)             \
  X(clReleaseContext)                  \
  X(clReleaseDevice)                   \
  X(clReleaseEvent)                    \
  X(clReleaseKernel)                   \
  X(clReleaseMemObject)                \
  X(clReleaseProgram)                  \
  X(clRetainCommandQueue)              \
  X(clRetainContext)                   \
  X(clRetainDevice)                    \
  X(clRetainEvent)                     \
  X(clRetainKernel)                    \
  X(clRetainMemObject)                 \
  X(clRetainProgram)                   \
  X(clSetKernelArg)                    \
  X(clWaitForEvents)

namespace sortium::opencl {

struct Api {
#define SORTIUM_MEMBER(name) decltype(&::name) name;
  SORTIUM_OPENCL_ENTRY_POINTS(SORTIUM_MEMBER)
#undef SORTIUM_MEMBER
};

// Filled in by load(). Entry points may be called only after load() has returned "".
extern Api api;

// Returns "" if `api` is complete; else why the ICD loader cannot be used. Loads it once per
// process.
[[nodiscard]] const std::string& load();

// Calls an entry point. It is a function because CL/opencl.hpp takes the addresses of some OpenCL
// functions.
template <auto Member>
struct EntryPoint;
template <class Returned, class... Arguments, Returned (*Api::*Member)(Arguments...)>
struct EntryPoint<Member> {
  static Returned call(Arguments... arguments) { return (api.*Member)(arguments...); }
};

}  // namespace sortium::opencl

#ifndef SORTIUM_OPENCL_API_CPP  // opencl_api.cpp needs the names themselves
#define SORTIUM_OPENCL_ENTRY_POINT(name) \
  sortium::opencl::EntryPoint<&sortium::opencl::Api::name>::call
#define clBuildProgram SORTIUM_OPENCL_ENTRY_POINT(clBuildProgram)
#define clCreateBuffer SORTIUM_OPENCL_ENTRY_POINT(clCreateBuffer)
#define clCreateCommandQueue SORTIUM_OPENCL_ENTRY_POINT(clCreateCommandQueue)
#define clCreateContext SORTIUM_OPENCL_ENTRY_POINT(clCreateContext)
#define clCreateKernel SORTIUM_OPENCL_ENTRY_POINT(clCreateKernel)
#define clCreateProgramWithBinary SORTIUM_OPENCL_ENTRY_POINT(clCreateProgramWithBinary)
#define clCreateProgramWithSource SORTIUM_OPENCL_ENTRY_POINT(clCreateProgramWithSource)
#define clEnqueueCopyBuffer SORTIUM_OPENCL_ENTRY_POINT(clEnqueueCopyBuffer)
#define clEnqueueFillBuffer SORTIUM_OPENCL_ENTRY_POINT(clEnqueueFillBuffer)
#define clEnqueueMapBuffer SORTIUM_OPENCL_ENTRY_POINT(clEnqueueMapBuffer)
#define clEnqueueNDRangeKernel SORTIUM_OPENCL_ENTRY_POINT(clEnqueueNDRangeKernel)
#define clEnqueueReadBuffer SORTIUM_OPENCL_ENTRY_POINT(clEnqueueReadBuffer)
#define clEnqueueUnmapMemObject SORTIUM_OPENCL_ENTRY_POINT(clEnqueueUnmapMemObject)
#define clEnqueueWriteBuffer SORTIUM_OPENCL_ENTRY_POINT(clEnqueueWriteBuffer)
#define clFinish SORTIUM_OPENCL_ENTRY_POINT(clFinish)
#define clFlush SORTIUM_OPENCL_ENTRY_POINT(clFlush)
#define clGetCommandQueueInfo SORTIUM_OPENCL_ENTRY_POINT(clGetCommandQueueInfo)
#define clGetDeviceIDs SORTIUM_OPENCL_ENTRY_POINT(clGetDeviceIDs)
#define clGetDeviceInfo SORTIUM_OPENCL_ENTRY_POINT(clGetDeviceInfo)
#define clGetEventProfilingInfo SORTIUM_OPENCL_ENTRY_POINT(clGetEventProfilingInfo)
#define clGetPlatformIDs SORTIUM_OPENCL_ENTRY_POINT(clGetPlatformIDs)
#define clGetPlatformInfo SORTIUM_OPENCL_ENTRY_POINT(clGetPlatformInfo)
#define clGetProgramBuildInfo SORTIUM_OPENCL_ENTRY_POINT(clGetProgramBuildInfo)
#define clGetProgramInfo SORTIUM_OPENCL_ENTRY_POINT(clGetProgramInfo)
#define clReleaseCommandQueue SORTIUM_OPENCL_ENTRY_POINT(clReleaseCommandQueue)
#define clReleaseContext SORTIUM_OPENCL_ENTRY_POINT(clReleaseContext)
#define clReleaseDevice SORTIUM_OPENCL_ENTRY_POINT(clReleaseDevice)
#define clReleaseEvent SORTIUM_OPENCL_ENTRY_POINT(clReleaseEvent)
#define clReleaseKernel SORTIUM_OPENCL_ENTRY_POINT(clReleaseKernel)
#define clReleaseMemObject SORTIUM_OPENCL_ENTRY_POINT(clReleaseMemObject)
#define clReleaseProgram SORTIUM_OPENCL_ENTRY_POINT(clReleaseProgram)
#define clRetainCommandQueue SORTIUM_OPENCL_ENTRY_POINT(clRetainCommandQueue)
#define clRetainContext SORTIUM_OPENCL_ENTRY_POINT(clRetainContext)
#define clRetainDevice SORTIUM_OPENCL_ENTRY_POINT(clRetainDevice)
#define clRetainEvent SORTIUM_OPENCL_ENTRY_POINT(clRetainEvent)
#define clRetainKernel SORTIUM_OPENCL_ENTRY_POINT(clRetainKernel)
#define clRetainMemObject SORTIUM_OPENCL_ENTRY_POINT(clRetainMemObject)
#define clRetainProgram SORTIUM_OPENCL_ENTRY_POINT(clRetainProgram)
#define clSetKernelArg SORTIUM_OPENCL_ENTRY_POINT(clSetKernelArg)
#define clWaitForEvents SORTIUM_OPENCL_ENTRY_POINT(clWaitForEvents)
#endif
