#include "backends/cuda/cuda_backend.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "backends/cuda/api.h"
#include "backends/device/device_module.h"
#include "backends/host/distinct_kernels.h"
#include "backends/ptx/ptx.h"
#include "support/trace.h"

namespace ouro::backends {
namespace {
using ir::loops::Kernel;
using namespace cuda;
using runtime::KernelArgs;
using runtime::KernelDump;
using runtime::KernelModule;
using runtime::KernelModuleRef;
using runtime::PollWord;

// A GPU with its context and its one stream, in which everything runs in order. Modules keep it alive.
struct Gpu {
  const Api* api = nullptr;
  CUdevice id = 0;
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  std::string name, target;

  // Released while something may have used it; given back when nothing runs.
  std::mutex lock;
  std::vector<CUdeviceptr> released;
  std::atomic<uint32_t> in_flight{0};

  ~Gpu() {
    if (!context) return;
    if (!released.empty() && enter() && api->cuStreamSynchronize(stream) == CUDA_SUCCESS) give_back(released);
    if (stream && enter()) api->cuStreamDestroy(stream);
    api->cuDevicePrimaryCtxRelease(id);
  }

  // Which context calls mean is a property of the thread.
  bool enter() const { return api->cuCtxSetCurrent(context) == CUDA_SUCCESS; }
  // Nothing uses these any more.
  void give_back(const std::vector<CUdeviceptr>& all) const {
    for (CUdeviceptr p : all) api->cuMemFree(p);
  }
  int attribute(CUdevice_attribute what) const {
    int v = 0;
    api->cuDeviceGetAttribute(&v, what, id);
    return v;
  }
};

class CudaModule final : public device::DeviceModule<CUfunction> {
 public:
  CudaModule(std::shared_ptr<Gpu> gpu, std::vector<uint32_t> where, size_t text_bytes)
      : DeviceModule(std::move(where), text_bytes), gpu_(std::move(gpu)) {}
  ~CudaModule() override {
    if (module && gpu_->enter()) gpu_->api->cuModuleUnload(module);
  }
  CUmodule module = nullptr;

 private:
  std::shared_ptr<Gpu> gpu_;
};

CUdeviceptr address(const void* p) { return reinterpret_cast<CUdeviceptr>(p); }

class Cuda final : public runtime::Backend {
 public:
  explicit Cuda(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)), api_(*gpu_->api) {}

  std::string_view name() const override { return "cuda"; }
  std::string target_key() const override { return fmt::format("cuda/{}/{}", gpu_->name, gpu_->target); }

  void* allocate(size_t bytes) override {
    CUdeviceptr p = 0;
    if (!gpu_->enter()) return nullptr;
    CUresult code = api_.cuMemAlloc(&p, std::max<size_t>(bytes, 1));
    std::string ignored;
    if (code != CUDA_SUCCESS && sync(nullptr, ignored)) code = api_.cuMemAlloc(&p, std::max<size_t>(bytes, 1));
    return code == CUDA_SUCCESS ? reinterpret_cast<void*>(p) : nullptr;
  }
  void release(void* memory, size_t) override {
    std::scoped_lock hold(gpu_->lock);
    gpu_->released.push_back(address(memory));
  }
  // Memory of the host that is not locked: the call returns when it has been read, or written. A few bytes go along
  // with the command; more wait for what runs.
  bool copy_in(void* device, const void* host, size_t bytes, PollWord poll, std::string& e) override {
    if (bytes == 0) return true;
    if (poll && bytes > kWithCommand && !sync(poll, e)) return false;
    return in_pieces(bytes, poll, e, [&](size_t at, size_t n) {
      return api_.cuMemcpyHtoDAsync(address(device) + at, static_cast<const char*>(host) + at, n, gpu_->stream);
    });
  }
  bool copy_out(void* host, const void* device, size_t bytes, PollWord poll, std::string& e) override {
    if (bytes == 0) return true;
    if (poll && !sync(poll, e)) return false;
    return in_pieces(bytes, poll, e, [&](size_t at, size_t n) {
      CUresult code = api_.cuMemcpyDtoHAsync(static_cast<char*>(host) + at, address(device) + at, n, gpu_->stream);
      return code == CUDA_SUCCESS ? api_.cuStreamSynchronize(gpu_->stream) : code;
    });
  }

  KernelModuleRef compile(std::span<const Kernel* const> kernels, std::string& error, KernelDump* dump,
                          int threads) override;
  std::string save(const KernelModule&) const override { return {}; }
  KernelModuleRef load(std::string_view, std::string& error) override {
    error = "CUDA programs are kept by the driver";
    return nullptr;
  }
  bool launch(const KernelModule& module, size_t index, const KernelArgs& args, int, std::string& error) override;
  bool sync(PollWord poll, std::string& error) override;

 private:
  static constexpr size_t kWithCommand = size_t{64} << 10;  // as the driver's documentation says
  bool wait(PollWord poll, std::string& error) const;
  // f(at, n) for pieces that take milliseconds each.
  template <class F>
  bool in_pieces(size_t bytes, PollWord poll, std::string& error, const F& f) {
    constexpr size_t kPiece = size_t{32} << 20;
    if (!entered(error)) return false;
    for (size_t at = 0; at < bytes; at += kPiece) {
      if (at && runtime::stop_asked(poll)) return false;
      if (!ok(f(at, std::min(kPiece, bytes - at)), error)) return false;
    }
    return true;
  }
  bool entered(std::string& error) const { return ok(api_.cuCtxSetCurrent(gpu_->context), error); }
  bool ok(CUresult code, std::string& error) const {
    if (code == CUDA_SUCCESS) return true;
    error = api_.error_text(code);
    return false;
  }
  bool assemble(CudaModule& module, const std::string& text, std::string& error) const;

  std::shared_ptr<Gpu> gpu_;
  const Api& api_;
};

bool Cuda::sync(PollWord poll, std::string& error) {
  if (!entered(error)) return false;
  gpu_->in_flight = 0;
  std::vector<CUdeviceptr> released;
  {
    std::scoped_lock hold(gpu_->lock);
    released.swap(gpu_->released);
  }
  bool done = wait(poll, error);
  if (done) {
    gpu_->give_back(released);
  } else {
    std::scoped_lock hold(gpu_->lock);
    gpu_->released.insert(gpu_->released.end(), released.begin(), released.end());
  }
  return done;
}

// Short waits are waited out, as the driver does it; in longer ones the thread sleeps between two looks.
bool Cuda::wait(PollWord poll, std::string& error) const {
  if (!poll) return ok(api_.cuStreamSynchronize(gpu_->stream), error);
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begun = Clock::now();
  CUresult code = CUDA_SUCCESS;
  while ((code = api_.cuStreamQuery(gpu_->stream)) == CUDA_ERROR_NOT_READY) {
    if (runtime::stop_asked(poll)) return false;
    if (Clock::now() - begun > std::chrono::milliseconds(1)) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return ok(code, error);
}

// The driver turns PTX into the GPU's code (and keeps the result in a cache of its own).
bool Cuda::assemble(CudaModule& module, const std::string& text, std::string& error) const {
  std::array<char, 8192> log{};
  std::array<CUjit_option, 2> options{CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(log.size() - 1)};
  if (ok(api_.cuModuleLoadDataEx(&module.module, text.c_str(), static_cast<unsigned>(options.size()), options.data(),
                                 values.data()),
         error))
    return true;
  if (log[0]) error += std::string("\n") + log.data();
  return false;
}

KernelModuleRef Cuda::compile(std::span<const Kernel* const> kernels, std::string& error, KernelDump* dump, int) {
  Timer timer("kernels: CUDA");
  if (!entered(error)) return nullptr;
  auto [distinct, texts, where] = backends::distinct(kernels, dump);
  std::string text = ptx::assembly(distinct, gpu_->target, error);
  if (text.empty()) return nullptr;
  if (dump && dump->want_assembly) dump->assembly += text;
  auto module = std::make_shared<CudaModule>(gpu_, std::move(where), text.size());
  if (!assemble(*module, text, error)) return nullptr;
  for (size_t i = 0; i < distinct.size(); ++i) {
    CUfunction f = nullptr;
    if (!ok(api_.cuModuleGetFunction(&f, module->module, ("k" + std::to_string(i)).c_str()), error)) return nullptr;
    module->add(*distinct[i], f);
  }
  return module;
}

bool Cuda::launch(const KernelModule& module, size_t index, const KernelArgs& args, int, std::string& error) {
  const CudaModule::Entry& e = static_cast<const CudaModule&>(module).kernel(index);
  int64_t n = device::iterations(e.ir, e.grid, args.sizes);
  if (n <= 0) return true;
  constexpr int64_t kMostBlocks = INT32_MAX;  // along x
  int64_t blocks = e.grid.grouped ? n : (n + device::kGroup - 1) / device::kGroup;
  if (blocks > kMostBlocks) {
    error = fmt::format("{} blocks of threads are more than a GPU takes", blocks);
    return false;
  }
  if (++gpu_->in_flight > runtime::kMostInFlight && !sync(args.poll, error)) return false;
  if (!entered(error)) return false;
  // Addresses of the arguments, in the order of the kernel's parameters; scalars are 8 bytes of their own type.
  std::vector<void*> parameters;
  parameters.reserve(e.ir.buffers.size() + e.ir.sizes + e.ir.scalars.size());
  for (size_t i = 0; i < e.ir.buffers.size(); ++i) parameters.push_back(const_cast<void**>(&args.buffers[i]));
  for (uint32_t i = 0; i < e.ir.sizes; ++i) parameters.push_back(const_cast<int64_t*>(&args.sizes[i]));
  for (size_t i = 0; i < e.ir.scalars.size(); ++i)
    parameters.push_back(const_cast<runtime::ScalarArg*>(&args.scalars[i]));
  return ok(api_.cuLaunchKernel(e.function, static_cast<unsigned>(blocks), 1, 1, device::kGroup, 1, 1, 0, gpu_->stream,
                                parameters.data(), nullptr),
            error);
}

}  // namespace

std::shared_ptr<runtime::Backend> make_cuda_backend(std::string& error) {
  const Api* api = open_api(error);
  if (!api) return nullptr;
  int count = 0;
  if (api->cuDeviceGetCount(&count) != CUDA_SUCCESS || count == 0) {
    error = "the NVIDIA driver finds no GPU";
    return nullptr;
  }
  auto gpu = std::make_shared<Gpu>();
  gpu->api = api;
  auto ok = [&](CUresult code) {
    if (code != CUDA_SUCCESS) error = api->error_text(code);
    return code == CUDA_SUCCESS;
  };
  if (!ok(api->cuDeviceGet(&gpu->id, 0))) return nullptr;
  std::array<char, 256> name{};
  api->cuDeviceGetName(name.data(), static_cast<int>(name.size()) - 1, gpu->id);
  gpu->name = name.data();
  int major = gpu->attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  int minor = gpu->attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  gpu->target = ptx::target_for(major, minor);
  if (gpu->target.empty()) {
    error = fmt::format("{} is of compute capability {}.{}, which is too old", gpu->name, major, minor);
    return nullptr;
  }
  if (!ok(api->cuDevicePrimaryCtxRetain(&gpu->context, gpu->id)) || !ok(api->cuCtxSetCurrent(gpu->context)) ||
      !ok(api->cuStreamCreate(&gpu->stream, CU_STREAM_NON_BLOCKING)))
    return nullptr;
  return std::make_shared<Cuda>(std::move(gpu));
}

}  // namespace ouro::backends
