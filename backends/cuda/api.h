// NVIDIA's driver interface, opened when first needed: the program starts, and runs, where no driver is installed, and
// is built without NVIDIA's headers. Names, types and numbers are those of the CUDA Driver API reference; functions
// whose meaning has changed carry the version in their name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ouro::backends::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = uint64_t;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;

inline constexpr CUresult CUDA_SUCCESS = 0;
inline constexpr CUresult CUDA_ERROR_NOT_READY = 600;
inline constexpr unsigned CU_STREAM_NON_BLOCKING = 1;

enum CUdevice_attribute : int {
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,        // kHz
  CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,  // bits
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
};
enum CUjit_option : int {
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
};

// The functions used: symbol in the library, name here, parameters.
#define OURO_CUDA_FUNCTIONS(X)                                                                         \
  X(cuInit, cuInit, (unsigned))                                                                        \
  X(cuDriverGetVersion, cuDriverGetVersion, (int*))                                                    \
  X(cuGetErrorString, cuGetErrorString, (CUresult, const char**))                                      \
  X(cuDeviceGetCount, cuDeviceGetCount, (int*))                                                        \
  X(cuDeviceGet, cuDeviceGet, (CUdevice*, int))                                                        \
  X(cuDeviceGetName, cuDeviceGetName, (char*, int, CUdevice))                                          \
  X(cuDeviceGetAttribute, cuDeviceGetAttribute, (int*, CUdevice_attribute, CUdevice))                  \
  X(cuDeviceTotalMem_v2, cuDeviceTotalMem, (size_t*, CUdevice))                                        \
  X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (CUcontext*, CUdevice))                        \
  X(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease, (CUdevice))                               \
  X(cuCtxSetCurrent, cuCtxSetCurrent, (CUcontext))                                                     \
  X(cuStreamCreate, cuStreamCreate, (CUstream*, unsigned))                                             \
  X(cuStreamDestroy_v2, cuStreamDestroy, (CUstream))                                                   \
  X(cuStreamQuery, cuStreamQuery, (CUstream))                                                          \
  X(cuStreamSynchronize, cuStreamSynchronize, (CUstream))                                              \
  X(cuMemAlloc_v2, cuMemAlloc, (CUdeviceptr*, size_t))                                                 \
  X(cuMemFree_v2, cuMemFree, (CUdeviceptr))                                                            \
  X(cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync, (CUdeviceptr, const void*, size_t, CUstream))             \
  X(cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync, (void*, CUdeviceptr, size_t, CUstream))                   \
  X(cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync, (CUdeviceptr, CUdeviceptr, size_t, CUstream))             \
  X(cuModuleLoadDataEx, cuModuleLoadDataEx, (CUmodule*, const void*, unsigned, CUjit_option*, void**)) \
  X(cuModuleUnload, cuModuleUnload, (CUmodule))                                                        \
  X(cuModuleGetFunction, cuModuleGetFunction, (CUfunction*, CUmodule, const char*))                    \
  X(cuLaunchKernel, cuLaunchKernel,                                                                    \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void**, void**))

struct Api {
#define X(symbol, name, parameters) CUresult(*name) parameters = nullptr;
  OURO_CUDA_FUNCTIONS(X)
#undef X

  /// An error in the driver's words.
  std::string error_text(CUresult code) const;
};

/// Null and a text in `error` when there is no driver (libcuda.so.1), when it is too old, or finds no GPU.
const Api* open_api(std::string& error);

}  // namespace ouro::backends::cuda
