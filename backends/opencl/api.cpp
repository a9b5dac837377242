#include "backends/opencl/api.h"

#include <dlfcn.h>

#include <fmt/format.h>

namespace ouro::backends::opencl {

const Api* open_api(std::string& error) {
  struct Opened {
    Api api;
    std::string error;
    Opened() {
      void* library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
      if (!library) {
        error = "there is no OpenCL loader (libOpenCL.so.1; Debian: ocl-icd-libopencl1)";
        return;
      }
#define X(name)                                                           \
  api.name = reinterpret_cast<decltype(api.name)>(dlsym(library, #name)); \
  if (!api.name && error.empty()) error = "the OpenCL loader is too old: it has no " #name;
      OURO_OPENCL_FUNCTIONS(X)
#undef X
    }
  };
  static const Opened& opened = *new Opened;  // never destroyed, as its users are not
  error = opened.error;
  return opened.error.empty() ? &opened.api : nullptr;
}

std::string error_text(cl_int code) {
  constexpr struct {
    cl_int code;
    const char* text;
  } kTexts[] = {{CL_DEVICE_NOT_FOUND, "no device"},
                {CL_DEVICE_NOT_AVAILABLE, "the device is not available"},
                {CL_COMPILER_NOT_AVAILABLE, "the driver has no compiler"},
                {CL_MEM_OBJECT_ALLOCATION_FAILURE, "not enough device memory"},
                {CL_OUT_OF_RESOURCES, "the device is out of resources"},
                {CL_OUT_OF_HOST_MEMORY, "the driver is out of memory"},
                {CL_BUILD_PROGRAM_FAILURE, "the program does not compile"},
                {CL_INVALID_WORK_GROUP_SIZE, "the device does not run groups of this size"},
                {CL_INVALID_KERNEL_ARGS, "arguments of the kernel are missing"}};
  for (const auto& t : kTexts)
    if (t.code == code) return t.text;
  return fmt::format("OpenCL error {}", code);
}

}  // namespace ouro::backends::opencl
