// Kernels on devices: an OpenCL device where there is one, the stand-in for NVIDIA's driver (tests/gpu), its assembler
// where it is installed.
#pragma once

#include <dlfcn.h>

#include <catch2/catch.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "../host/kernel_fixture.h"
#include "backends/cuda/cuda_backend.h"
#include "backends/opencl/opencl_backend.h"
#include "backends/ptx/ptx.h"

namespace ouro::test {

/// Null and why there is none.
inline std::shared_ptr<runtime::Backend> opencl_device(std::string& error) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  error = "an OpenCL driver's own compiler is not built for sanitizers";
  return nullptr;
#endif
  setenv("OURO_OPENCL_OPTIONS", "-cl-opt-disable", 0);  // PoCL compiles ten times as fast
  return backends::make_opencl_backend(error);
}

/// With OURO_REAL_GPU in the environment the machine's own driver, else the stand-in.
inline std::shared_ptr<runtime::Backend> cuda_device(std::string& error) {
  // A library of that name that is loaded is the one that is opened.
  if (!std::getenv("OURO_REAL_GPU") && !dlopen(OURO_STAND_IN_CUDA, RTLD_NOW | RTLD_LOCAL)) {
    error = dlerror();
    return nullptr;
  }
  return backends::make_cuda_backend(error);
}

// A case's buffers on the device, for one launch.
struct OnDevice {
  runtime::Backend& b;
  std::vector<void*> pointers;
  std::vector<size_t> bytes;
  std::string error;

  OnDevice(runtime::Backend& backend, const KernelCase& c) : b(backend) {
    for (const auto& data : c.before) {
      bytes.push_back(data.size());
      pointers.push_back(b.allocate(data.size()));
      if (!pointers.back() || !b.copy_in(pointers.back(), data.data(), data.size(), nullptr, error))
        throw std::runtime_error(error);
    }
  }
  ~OnDevice() {
    for (size_t i = 0; i < pointers.size(); ++i) b.release(pointers[i], bytes[i]);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  std::vector<char> read(size_t i) {
    std::vector<char> out(bytes[i]);
    if (!b.copy_out(out.data(), pointers[i], bytes[i], nullptr, error)) throw std::runtime_error(error);
    return out;
  }
};

/// A launch of kernel `index` leaves the case's bytes.
inline void check_on_device(runtime::Backend& backend, const runtime::KernelModule& module, size_t index,
                            KernelCase c) {
  std::string error;
  OnDevice on(backend, c);
  runtime::KernelArgs args{on.pointers.data(), c.sizes.data(), c.scalars.data(), 1, 1};
  INFO(print(c.kernel));
  REQUIRE(backend.launch(module, index, args, 1, error));
  REQUIRE(backend.sync(nullptr, error));
  for (size_t i = 0; i < c.after.size(); ++i) {
    std::vector<char> got = on.read(i);
    canonical_nans(c.kernel.buffers[i].type, got);
    canonical_nans(c.kernel.buffers[i].type, c.after[i]);
    size_t first = 0;
    while (first < got.size() && got[first] == c.after[i][first]) ++first;
    INFO("buffer " << i << ", first difference at byte " << first);
    CHECK((got == c.after[i]));
  }
}

/// They become PTX, and NVIDIA's assembler takes it.
inline void check_ptx(const std::vector<const ir::loops::Kernel*>& kernels) {
  std::string ptxas = "/usr/local/cuda/bin/ptxas";
  if (std::system("command -v ptxas > /dev/null") == 0) ptxas = "ptxas";
  bool installed = std::system((ptxas + " --version > /dev/null 2>&1").c_str()) == 0;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  installed = false;  // half a minute in a program that is not instrumented
#endif
  for (std::string target : {"sm_80", "sm_90"}) {
    std::string error, text = backends::ptx::assembly(kernels, target, error);
    INFO(error);
    REQUIRE(text.find(".target " + target) != std::string::npos);
    REQUIRE(text.find(".entry k" + std::to_string(kernels.size() - 1)) != std::string::npos);
    if (!installed) continue;
    std::string file = std::tmpnam(nullptr);
    std::ofstream(file) << text;
    int status = std::system((ptxas + " -arch=" + target + " " + file + " -o /dev/null").c_str());
    std::remove(file.c_str());
    CHECK(status == 0);
  }
  if (!installed) WARN("skipped: ptxas is not installed, or not run beside sanitizers");
}

}  // namespace ouro::test
