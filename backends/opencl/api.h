// OpenCL, opened when first needed: the program starts, and runs, where no driver is installed.
#pragma once

#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>

#include <string>

namespace ouro::backends::opencl {

// The functions used, by name. OpenCL 2.0 for shared virtual memory: device memory has addresses.
#define OURO_OPENCL_FUNCTIONS(X)        \
  X(clGetPlatformIDs)                   \
  X(clGetPlatformInfo)                  \
  X(clGetDeviceIDs)                     \
  X(clGetDeviceInfo)                    \
  X(clCreateContext)                    \
  X(clReleaseContext)                   \
  X(clCreateCommandQueueWithProperties) \
  X(clReleaseCommandQueue)              \
  X(clCreateProgramWithSource)          \
  X(clBuildProgram)                     \
  X(clGetProgramBuildInfo)              \
  X(clReleaseProgram)                   \
  X(clCreateKernel)                     \
  X(clReleaseKernel)                    \
  X(clSetKernelArg)                     \
  X(clSetKernelArgSVMPointer)           \
  X(clEnqueueNDRangeKernel)             \
  X(clEnqueueSVMMemcpy)                 \
  X(clEnqueueMarkerWithWaitList)        \
  X(clSetEventCallback)                 \
  X(clReleaseEvent)                     \
  X(clFlush)                            \
  X(clSVMAlloc)                         \
  X(clEnqueueSVMFree)                   \
  X(clFinish)

struct Api {
#define X(name) decltype(&::name) name = nullptr;
  OURO_OPENCL_FUNCTIONS(X)
#undef X
};

/// Null and a text in `error` when there is no loader (libOpenCL.so.1) or it is too old.
const Api* open_api(std::string& error);

/// An OpenCL error code in words.
std::string error_text(cl_int code);

}  // namespace ouro::backends::opencl
