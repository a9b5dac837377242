#include "backends/cuda/api.h"

#include <dlfcn.h>

#include <fmt/format.h>

namespace ouro::backends::cuda {

std::string Api::error_text(CUresult code) const {
  const char* text = nullptr;
  if (cuGetErrorString(code, &text) == CUDA_SUCCESS && text) return text;
  return fmt::format("CUDA error {}", code);
}

const Api* open_api(std::string& error) {
  struct Opened {
    Api api;
    std::string error;
    Opened() {
      void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
      if (!library) {
        error = "there is no NVIDIA driver (libcuda.so.1)";
        return;
      }
#define X(symbol, name, parameters)                                         \
  api.name = reinterpret_cast<decltype(api.name)>(dlsym(library, #symbol)); \
  if (!api.name && error.empty()) error = "the NVIDIA driver is too old: it has no " #symbol;
      OURO_CUDA_FUNCTIONS(X)
#undef X
      if (!error.empty()) return;
      if (CUresult code = api.cuInit(0); code != CUDA_SUCCESS) error = "NVIDIA driver: " + api.error_text(code);
    }
  };
  static const Opened& opened = *new Opened;  // never destroyed, as its users are not
  error = opened.error;
  return opened.error.empty() ? &opened.api : nullptr;
}

}  // namespace ouro::backends::cuda
