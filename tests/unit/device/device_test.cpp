#include "recorded_kernels.h"

#include <cstdlib>

#include "backends/ptx/ptx.h"
#include "on_device.h"

namespace {
using namespace ouro;
using namespace ouro::test;

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
  std::shared_ptr<runtime::Backend> backend = opencl_device(error);
  if (!backend) {
    WARN("skipped: " << error);
    return;
  }
  auto [kernels, which] = distinct(std::getenv("OURO_ALL_KERNELS") ? 1 : 12);
  REQUIRE(kernels.size() > 60);
  auto module = backend->compile(kernels, error);
  INFO(error);
  REQUIRE(module);
  for (size_t n = 0; n < recorded_kernels().size(); ++n)
    if (which[n] != SIZE_MAX) check_on_device(*backend, *module, which[n], recorded_kernels()[n]);
}

TEST_CASE("cuda_gives_the_evaluators_bits", "[device]") {
  std::string error;
  std::shared_ptr<runtime::Backend> backend = cuda_device(error);
  INFO(error);
  REQUIRE(backend);
  auto [kernels, which] = distinct(1);
  auto module = backend->compile(kernels, error);
  INFO(error);
  REQUIRE(module);
  CHECK(module->count() == kernels.size());
  for (size_t n = 0; n < recorded_kernels().size(); ++n)
    check_on_device(*backend, *module, which[n], recorded_kernels()[n]);
}

// Where NVIDIA's assembler is installed, it takes every kernel.
TEST_CASE("ptxas_takes_every_kernel", "[device]") {
  std::vector<const ir::loops::Kernel*> kernels = distinct(1).kernels;
  check_ptx(kernels);
}

TEST_CASE("a_gpu_gets_the_newest_code_it_can_run", "[device]") {
  CHECK(backends::ptx::target_for(6, 1).empty());
  CHECK(backends::ptx::target_for(7, 5) == "sm_75");
  CHECK(backends::ptx::target_for(8, 7) == "sm_86");
  CHECK(backends::ptx::target_for(9, 0) == "sm_90");
  CHECK(backends::ptx::target_for(12, 0) == "sm_90");
}

TEST_CASE("an_unknown_gpu_is_an_error", "[device]") {
  std::string error;
  CHECK(backends::ptx::assembly(distinct(1).kernels, "sm_7", error).empty());
  CHECK(error == "no NVIDIA target 'sm_7'");
}
