// A stand-in for NVIDIA's driver (libcuda.so.1): it runs PTX on the host, so that everything above the driver is tested
// where no GPU is. Found by LD_LIBRARY_PATH. Kernels run when they are launched; what a GPU would tell later (an access
// outside of memory) is told at the next call that waits, and from then on by every call, as a GPU's context does.
//
// OURO_STAND_IN_MEMORY: bytes of global memory. OURO_STAND_IN_CAPABILITY: 10 * major + minor (90).
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>

#include "backends/cuda/api.h"
#include "block.h"

namespace {
using namespace ouro::backends::cuda;

enum : CUresult {
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kInvalidContext = 201,
  kInvalidPtx = 218,
  kNotFound = 500,
  kIllegalAddress = 700,
};

struct Gpu {
  std::mutex lock;
  gpu::Memory memory;
  bool faulted = false;
  int capability = 90;
  Gpu() {
    if (const char* bytes = std::getenv("OURO_STAND_IN_MEMORY")) memory.limit = std::strtoull(bytes, nullptr, 10);
    if (const char* number = std::getenv("OURO_STAND_IN_CAPABILITY")) capability = std::atoi(number);
  }
};
Gpu& the_gpu() {
  static auto* const g = new Gpu;
  return *g;
}

thread_local CUcontext current = nullptr;
char the_context, the_stream;

// What every call that needs a context begins with.
CUresult state() {
  if (!current) return kInvalidContext;
  return the_gpu().faulted ? kIllegalAddress : CUDA_SUCCESS;
}

CUresult transfer(CUdeviceptr address, size_t bytes, char*& at) {
  if (CUresult e = state(); e != CUDA_SUCCESS) return e;
  at = the_gpu().memory.at(address, bytes);
  return at ? CUDA_SUCCESS : kInvalidValue;
}

}  // namespace

struct ouro::backends::cuda::CUfunc_st {
  const gpu::Function* f;
};
struct ouro::backends::cuda::CUmod_st {
  gpu::Program program;
  std::map<std::string, CUfunc_st, std::less<>> functions;
};

extern "C" {
#define EXPORT __attribute__((visibility("default"))) CUresult

EXPORT cuInit(unsigned) { return CUDA_SUCCESS; }
EXPORT cuDriverGetVersion(int* v) {
  *v = 12000;
  return CUDA_SUCCESS;
}
EXPORT cuGetErrorString(CUresult code, const char** text) {
  switch (code) {
    case CUDA_SUCCESS:
      *text = "no error";
      break;
    case kInvalidValue:
      *text = "invalid argument";
      break;
    case kOutOfMemory:
      *text = "out of memory";
      break;
    case kInvalidContext:
      *text = "invalid device context";
      break;
    case kInvalidPtx:
      *text = "a PTX JIT compilation failed";
      break;
    case kNotFound:
      *text = "named symbol not found";
      break;
    case kIllegalAddress:
      *text = "an illegal memory access was encountered";
      break;
    default:
      *text = nullptr;
      return kInvalidValue;
  }
  return CUDA_SUCCESS;
}
EXPORT cuDeviceGetCount(int* n) {
  *n = 1;
  return CUDA_SUCCESS;
}
EXPORT cuDeviceGet(CUdevice* d, int) {
  *d = 0;
  return CUDA_SUCCESS;
}
EXPORT cuDeviceGetName(char* name, int size, CUdevice) {
  std::snprintf(name, static_cast<size_t>(size), "stand-in (PTX on the host)");
  return CUDA_SUCCESS;
}
EXPORT cuDeviceGetAttribute(int* v, CUdevice_attribute what, CUdevice) {
  switch (what) {
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
      *v = 48 << 10;
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *v = 1;
      break;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
      *v = 1000000;
      break;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
      *v = 64;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *v = the_gpu().capability / 10;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *v = the_gpu().capability % 10;
      break;
    default:
      return kInvalidValue;
  }
  return CUDA_SUCCESS;
}
EXPORT cuDeviceTotalMem_v2(size_t* bytes, CUdevice) {
  *bytes = the_gpu().memory.limit;
  return CUDA_SUCCESS;
}
EXPORT cuDevicePrimaryCtxRetain(CUcontext* c, CUdevice) {
  *c = reinterpret_cast<CUcontext>(&the_context);
  return CUDA_SUCCESS;
}
EXPORT cuDevicePrimaryCtxRelease_v2(CUdevice) { return CUDA_SUCCESS; }
EXPORT cuCtxSetCurrent(CUcontext c) {
  current = c;
  return CUDA_SUCCESS;
}
EXPORT cuStreamCreate(CUstream* s, unsigned) {
  *s = reinterpret_cast<CUstream>(&the_stream);
  return state();
}
EXPORT cuStreamDestroy_v2(CUstream) { return CUDA_SUCCESS; }
EXPORT cuStreamQuery(CUstream) {
  std::lock_guard hold(the_gpu().lock);
  return state();
}
EXPORT cuStreamSynchronize(CUstream) {
  std::lock_guard hold(the_gpu().lock);
  return state();
}

EXPORT cuMemAlloc_v2(CUdeviceptr* p, size_t bytes) {
  std::lock_guard hold(the_gpu().lock);
  if (CUresult e = state(); e != CUDA_SUCCESS) return e;
  *p = the_gpu().memory.allocate(bytes);
  return *p ? CUDA_SUCCESS : kOutOfMemory;
}
EXPORT cuMemFree_v2(CUdeviceptr p) {
  std::lock_guard hold(the_gpu().lock);
  if (CUresult e = state(); e != CUDA_SUCCESS) return e;
  return the_gpu().memory.release(p) ? CUDA_SUCCESS : kInvalidValue;
}
EXPORT cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream) {
  std::lock_guard hold(the_gpu().lock);
  char* at = nullptr;
  if (CUresult e = transfer(to, bytes, at); e != CUDA_SUCCESS) return e;
  std::memcpy(at, from, bytes);
  return CUDA_SUCCESS;
}
EXPORT cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream) {
  std::lock_guard hold(the_gpu().lock);
  char* at = nullptr;
  if (CUresult e = transfer(from, bytes, at); e != CUDA_SUCCESS) return e;
  std::memcpy(to, at, bytes);
  return CUDA_SUCCESS;
}
EXPORT cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream) {
  std::lock_guard hold(the_gpu().lock);
  char *target = nullptr, *source = nullptr;
  if (CUresult e = transfer(to, bytes, target); e != CUDA_SUCCESS) return e;
  if (CUresult e = transfer(from, bytes, source); e != CUDA_SUCCESS) return e;
  std::memmove(target, source, bytes);
  return CUDA_SUCCESS;
}

EXPORT cuModuleLoadDataEx(CUmodule* m, const void* image, unsigned count, CUjit_option* options, void** values) {
  if (CUresult e = state(); e != CUDA_SUCCESS) return e;
  auto module = std::make_unique<CUmod_st>();
  try {
    module->program = gpu::read(static_cast<const char*>(image));
  } catch (const gpu::Refused& refused) {
    char* log = nullptr;
    size_t size = 0;
    for (unsigned i = 0; i < count; ++i) {
      if (options[i] == CU_JIT_ERROR_LOG_BUFFER) log = static_cast<char*>(values[i]);
      if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) size = reinterpret_cast<size_t>(values[i]);
    }
    if (log && size) std::snprintf(log, size, "%s", refused.what());
    return kInvalidPtx;
  }
  for (const auto& [name, f] : module->program.functions) module->functions[name] = CUfunc_st{&f};
  *m = module.release();
  return CUDA_SUCCESS;
}
EXPORT cuModuleUnload(CUmodule m) {
  delete m;
  return CUDA_SUCCESS;
}
EXPORT cuModuleGetFunction(CUfunction* f, CUmodule m, const char* name) {
  auto it = m->functions.find(std::string_view(name));
  if (it == m->functions.end()) return kNotFound;
  *f = &it->second;
  return CUDA_SUCCESS;
}

EXPORT cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                      unsigned, CUstream, void** arguments, void** extra) {
  std::lock_guard hold(the_gpu().lock);
  if (CUresult e = state(); e != CUDA_SUCCESS) return e;
  const gpu::Function& f = *function->f;
  bool one_dimension = gy == 1 && gz == 1 && by == 1 && bz == 1 && gx > 0 && bx > 0;
  if (!one_dimension || extra || bx > gpu::kLanes || (f.threads && f.threads != bx)) return kInvalidValue;
  std::vector<char> parameters(f.parameter_bytes);
  for (size_t i = 0; i < f.parameters.size(); ++i)
    std::memcpy(parameters.data() + f.parameters[i].offset, arguments[i], f.parameters[i].bytes);
  try {
    gpu::Block block(f, the_gpu().memory, parameters.data(), gx, bx);
    for (unsigned n = 0; n < gx; ++n) block.run(n);
  } catch (const gpu::Fault& fault) {
    std::fprintf(stderr, "stand-in GPU: %s: %s\n", f.name.c_str(), fault.what());
    the_gpu().faulted = true;
  }
  return CUDA_SUCCESS;
}
}
