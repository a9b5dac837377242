#include "recorded_kernels.h"

#include <cstdlib>
#include <fstream>

#include "backends/opencl/opencl_backend.h"
#include "backends/ptx/ptx.h"

namespace {
using namespace ouro;
using namespace ouro::test;

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
      if (!pointers.back() || !b.copy_in(pointers.back(), data.data(), data.size(), error))
        throw std::runtime_error(error);
    }
  }
  ~OnDevice() {
    for (size_t i = 0; i < pointers.size(); ++i) b.release(pointers[i], bytes[i]);
  }
  std::vector<char> read(size_t i) {
    std::vector<char> out(bytes[i]);
    if (!b.copy_out(out.data(), pointers[i], bytes[i], error)) throw std::runtime_error(error);
    return out;
  }
};

// Different kernels of the host's tests. A driver compiles each for a good part of a second, so of the many that only
// map elements through one leaf, every `nth` one is taken.
struct Distinct {
  std::vector<const ir::loops::Kernel*> kernels;
  std::vector<size_t> which;  // of each case; SIZE_MAX where it is left out
};
Distinct distinct(size_t nth) {
  Distinct d;
  std::map<std::string, size_t> seen;
  size_t maps = 0;
  for (const KernelCase& c : recorded_kernels()) {
    std::string text = print(c.kernel);
    bool map = text.find("reduce") == std::string::npos && c.kernel.nodes.size() < 8;
    auto [it, fresh] = seen.try_emplace(text, d.kernels.size());
    if (fresh && map && maps++ % nth != 0) it->second = SIZE_MAX;
    if (fresh && it->second != SIZE_MAX) d.kernels.push_back(&c.kernel);
    d.which.push_back(it->second);
  }
  return d;
}
}  // namespace

// In one program. OURO_ALL_KERNELS: none is left out.
TEST_CASE("opencl_gives_the_evaluators_bits", "[device]") {
  std::string error;
  setenv("OURO_OPENCL_OPTIONS", "-cl-opt-disable", 0);  // PoCL compiles ten times as fast
  std::shared_ptr<runtime::Backend> backend = backends::make_opencl_backend(error);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  backend = nullptr;
  error = "an OpenCL driver's own compiler is not built for sanitizers";
#endif
  if (!backend) {
    WARN("skipped: " << error);
    return;
  }
  auto [kernels, which] = distinct(std::getenv("OURO_ALL_KERNELS") ? 1 : 12);
  REQUIRE(kernels.size() > 60);
  auto module = backend->compile(kernels, error);
  INFO(error);
  REQUIRE(module);
  for (size_t n = 0; n < recorded_kernels().size(); ++n) {
    if (which[n] == SIZE_MAX) continue;
    KernelCase c = recorded_kernels()[n];
    OnDevice on(*backend, c);
    runtime::KernelArgs args{on.pointers.data(), c.sizes.data(), c.scalars.data(), 1, 1};
    INFO(print(c.kernel));
    REQUIRE(backend->launch(*module, which[n], args, 1, error));
    REQUIRE(backend->sync(error));
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
}

// Where NVIDIA's assembler is installed, it takes every kernel.
TEST_CASE("ptxas_takes_every_kernel", "[device]") {
  std::vector<const ir::loops::Kernel*> kernels = distinct(1).kernels;
  std::string ptxas = "/usr/local/cuda/bin/ptxas";
  if (std::system("command -v ptxas > /dev/null") == 0) ptxas = "ptxas";
  bool installed = std::system((ptxas + " --version > /dev/null 2>&1").c_str()) == 0;
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
  if (!installed) WARN("skipped: ptxas is not installed");
}

TEST_CASE("an_unknown_gpu_is_an_error", "[device]") {
  std::string error;
  CHECK(backends::ptx::assembly(distinct(1).kernels, "sm_7", error).empty());
  CHECK(error == "no NVIDIA target 'sm_7'");
}
