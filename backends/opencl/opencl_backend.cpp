#include "backends/opencl/opencl_backend.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include <fmt/format.h>

#include "backends/device/device_module.h"
#include "backends/host/distinct_kernels.h"
#include "backends/opencl/api.h"
#include "backends/opencl/source.h"
#include "support/process_end.h"
#include "support/trace.h"

namespace ouro::backends {
namespace {
using ir::loops::Kernel;
using namespace opencl;
using runtime::KernelArgs;
using runtime::KernelDump;
using runtime::KernelModule;
using runtime::KernelModuleRef;
using runtime::PollWord;

// A device with its queue. Modules keep it alive.
struct Device {
  const Api* api = nullptr;
  cl_device_id id = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr, beside = nullptr;  // of launches; of what is settled
  std::string options, key;
  bool f64 = false;
  std::mutex launching;  // kernel objects hold their arguments

  ~Device() {
    for (cl_command_queue q : {queue, beside})
      if (q) api->clReleaseCommandQueue(q);
    if (context) api->clReleaseContext(context);
  }

  std::string text_of(cl_device_info what) const {
    size_t size = 0;
    if (api->clGetDeviceInfo(id, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return {};
    std::string s(size, '\0');
    api->clGetDeviceInfo(id, what, size, s.data(), nullptr);
    s.resize(std::strlen(s.c_str()));
    return s;
  }
  template <class T>
  T number_of(cl_device_info what) const {
    T v{};
    api->clGetDeviceInfo(id, what, sizeof v, &v, nullptr);
    return v;
  }
};

class OpenClModule final : public device::DeviceModule<cl_kernel> {
 public:
  OpenClModule(std::shared_ptr<Device> device, std::vector<uint32_t> where, size_t text_bytes)
      : DeviceModule(std::move(where), text_bytes), device_(std::move(device)) {}
  ~OpenClModule() override {
    for (auto& e : entries()) device_->api->clReleaseKernel(e->function);
    if (program) device_->api->clReleaseProgram(program);
  }
  cl_program program = nullptr;

 private:
  std::shared_ptr<Device> device_;
};

class OpenCl final : public runtime::Backend {
 public:
  explicit OpenCl(std::shared_ptr<Device> device) : device_(std::move(device)), api_(*device_->api) {}

  std::string_view name() const override { return "opencl"; }
  std::string target_key() const override { return device_->key; }

  void* allocate(size_t bytes) override {
    auto make = [&] { return api_.clSVMAlloc(device_->context, CL_MEM_READ_WRITE, std::max<size_t>(bytes, 1), 128); };
    if (void* memory = make()) return memory;
    api_.clFinish(device_->queue);  // what was released may be free then
    return make();
  }
  void release(void* memory, size_t) override {
    api_.clEnqueueSVMFree(device_->queue, 1, &memory, nullptr, nullptr, 0, nullptr, nullptr);
  }
  bool copy_in(void* device, const void* host, size_t bytes, PollWord poll, std::string& e) override {
    return copy(device, host, bytes, poll, e);
  }
  bool copy_out(void* host, const void* device, size_t bytes, PollWord poll, std::string& e) override {
    return copy(host, device, bytes, poll, e);
  }

  KernelModuleRef compile(std::span<const Kernel* const> kernels, std::string& error, KernelDump* dump,
                          int threads) override;
  std::string save(const KernelModule&) const override { return {}; }
  KernelModuleRef load(std::string_view, std::string& error) override {
    error = "OpenCL programs are kept by the driver";
    return nullptr;
  }
  void settle(const KernelModule& module) override;
  bool launch(const KernelModule& module, size_t index, const KernelArgs& args, int, std::string& error) override;
  bool sync(PollWord poll, std::string& error) override;

 private:
  bool copy(void* to, const void* from, size_t bytes, PollWord poll, std::string& error);
  cl_int set_arguments(const OpenClModule::Entry& e, const KernelArgs* args);
  cl_int set_go(const OpenClModule::Entry& e, cl_int go);
  cl_int enqueue(cl_command_queue queue, const OpenClModule::Entry& e, int64_t n);
  static bool ok(cl_int code, std::string& error) {
    if (code == CL_SUCCESS) return true;
    error = error_text(code);
    return false;
  }

  std::shared_ptr<Device> device_;
  const Api& api_;
  std::atomic<uint32_t> in_flight_{0};
};

// The driver says when a marker behind everything launched is reached; the wait looks up now and then.
bool OpenCl::sync(PollWord poll, std::string& error) {
  in_flight_ = 0;
  if (!poll) return ok(api_.clFinish(device_->queue), error);
  struct Marker {
    std::mutex lock;
    std::condition_variable reached;
    bool done = false;
    cl_int status = CL_SUCCESS;
  };
  cl_event event = nullptr;
  if (!ok(api_.clEnqueueMarkerWithWaitList(device_->queue, 0, nullptr, &event), error)) return false;
  auto marker = std::make_shared<Marker>();
  auto* held = new std::shared_ptr<Marker>(marker);  // by the callback, which may come when nobody waits any more
  auto reached = [](cl_event, cl_int status, void* data) {
    std::unique_ptr<std::shared_ptr<Marker>> to(static_cast<std::shared_ptr<Marker>*>(data));
    Marker& m = **to;
    std::scoped_lock hold(m.lock);
    m.done = true;
    m.status = std::min(status, CL_SUCCESS);
    m.reached.notify_all();
  };
  const cl_int code = api_.clSetEventCallback(event, CL_COMPLETE, reached, held);
  if (code != CL_SUCCESS) delete held;
  api_.clReleaseEvent(event);
  if (!ok(code, error) || !ok(api_.clFlush(device_->queue), error)) return false;
  std::unique_lock hold(marker->lock);
  while (!marker->done) {
    if (runtime::stop_asked(poll)) return false;
    marker->reached.wait_for(hold, std::chrono::milliseconds(5));
  }
  return ok(marker->status, error);
}

// Nothing is left in flight before it begins, so that each piece is short.
bool OpenCl::copy(void* to, const void* from, size_t bytes, PollWord poll, std::string& error) {
  if (!bytes) return true;
  constexpr size_t kPiece = size_t{32} << 20;
  if (poll && !sync(poll, error)) return false;
  for (size_t at = 0; at < bytes; at += kPiece) {
    if (at && runtime::stop_asked(poll)) return false;
    if (!ok(api_.clEnqueueSVMMemcpy(device_->queue, CL_TRUE, static_cast<char*>(to) + at,
                                    static_cast<const char*>(from) + at, std::min(kPiece, bytes - at), 0, nullptr,
                                    nullptr),
            error))
      return false;
  }
  return true;
}

KernelModuleRef OpenCl::compile(std::span<const Kernel* const> kernels, std::string& error, KernelDump* dump, int) {
  Timer timer("kernels: OpenCL");
  for (const Kernel* k : kernels)
    if (needs_f64(*k) && !device_->f64) {
      error = device_->text_of(CL_DEVICE_NAME) + " does not compute with f64";
      return nullptr;
    }
  auto [distinct, texts, where] = backends::distinct(kernels, dump);
  std::string source = opencl::source(distinct);
  if (dump && dump->want_ir) dump->ir += source;
  auto module = std::make_shared<OpenClModule>(device_, std::move(where), source.size());
  const char* text = source.c_str();
  size_t length = source.size();
  cl_int code = CL_SUCCESS;
  module->program = api_.clCreateProgramWithSource(device_->context, 1, &text, &length, &code);
  if (!ok(code, error)) return nullptr;
  code = api_.clBuildProgram(module->program, 1, &device_->id, device_->options.c_str(), nullptr, nullptr);
  if (code != CL_SUCCESS) {
    size_t size = 0;
    api_.clGetProgramBuildInfo(module->program, device_->id, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
    std::string log(size, '\0');
    api_.clGetProgramBuildInfo(module->program, device_->id, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
    error = error_text(code) + "\n" + log.c_str();
    return nullptr;
  }
  for (size_t i = 0; i < distinct.size(); ++i) {
    cl_kernel kernel = api_.clCreateKernel(module->program, ("k" + std::to_string(i)).c_str(), &code);
    if (!ok(code, error)) return nullptr;
    module->add(*distinct[i], kernel);
    if (!ok(set_go(*module->entries().back(), 1), error)) return nullptr;
  }
  return module;
}

// Some drivers (PoCL) make a kernel's machine code when it is first launched, for seconds where they do not have it on
// disk.
void OpenCl::settle(const KernelModule& module) {
  Timer timer("kernels: OpenCL, first launches");
  for (const auto& e : static_cast<const OpenClModule&>(module).entries()) {
    if (process_ends()) return;
    // Errors are told when it is launched in earnest.
    if (set_arguments(*e, nullptr) == CL_SUCCESS && set_go(*e, 0) == CL_SUCCESS) (void)enqueue(device_->beside, *e, 1);
    (void)api_.clFinish(device_->beside);
    (void)set_go(*e, 1);
  }
}

// Null: of no kernel that runs.
cl_int OpenCl::set_arguments(const OpenClModule::Entry& e, const KernelArgs* args) {
  cl_uint at = 0;
  cl_int code = CL_SUCCESS;
  for (size_t i = 0; i < e.ir.buffers.size() && code == CL_SUCCESS; ++i)
    code = api_.clSetKernelArgSVMPointer(e.function, at++, args ? args->buffers[i] : nullptr);
  const int64_t zero = 0;
  for (uint32_t i = 0; i < e.ir.sizes && code == CL_SUCCESS; ++i)
    code = api_.clSetKernelArg(e.function, at++, sizeof zero, args ? &args->sizes[i] : &zero);
  for (size_t i = 0; i < e.ir.scalars.size() && code == CL_SUCCESS; ++i)
    code =
        api_.clSetKernelArg(e.function, at++, sizeof zero, args ? static_cast<const void*>(&args->scalars[i]) : &zero);
  return code;
}

// It comes behind the others, and stays.
cl_int OpenCl::set_go(const OpenClModule::Entry& e, cl_int go) {
  const size_t at = e.ir.buffers.size() + e.ir.sizes + e.ir.scalars.size();
  return api_.clSetKernelArg(e.function, static_cast<cl_uint>(at), sizeof go, &go);
}

// `n` iterations.
cl_int OpenCl::enqueue(cl_command_queue queue, const OpenClModule::Entry& e, int64_t n) {
  const size_t local = device::kGroup, count = static_cast<size_t>(n);
  const size_t global = e.grid.grouped ? count * local : (count + local - 1) / local * local;
  return api_.clEnqueueNDRangeKernel(queue, e.function, 1, nullptr, &global, &local, 0, nullptr, nullptr);
}

bool OpenCl::launch(const KernelModule& module, size_t index, const KernelArgs& args, int, std::string& error) {
  const OpenClModule::Entry& e = static_cast<const OpenClModule&>(module).kernel(index);
  const int64_t n = device::iterations(e.ir, e.grid, args.sizes);
  if (n <= 0) return true;
  if (++in_flight_ > runtime::kMostInFlight && !sync(args.poll, error)) return false;
  std::lock_guard hold(device_->launching);
  return ok(set_arguments(e, &args), error) && ok(enqueue(device_->queue, e, n), error);
}

// Devices with shared virtual memory, GPUs first.
std::vector<cl_device_id> devices_of(const Api& api) {
  cl_uint count = 0;
  if (api.clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS) return {};
  std::vector<cl_platform_id> platforms(count);
  api.clGetPlatformIDs(count, platforms.data(), nullptr);
  std::vector<cl_device_id> all;
  for (cl_device_type type : {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_TYPE_CPU})
    for (cl_platform_id p : platforms) {
      cl_uint n = 0;
      if (api.clGetDeviceIDs(p, type, 0, nullptr, &n) != CL_SUCCESS || n == 0) continue;
      std::vector<cl_device_id> some(n);
      api.clGetDeviceIDs(p, type, n, some.data(), nullptr);
      for (cl_device_id d : some) {
        cl_device_svm_capabilities svm = 0;
        if (api.clGetDeviceInfo(d, CL_DEVICE_SVM_CAPABILITIES, sizeof svm, &svm, nullptr) == CL_SUCCESS && svm)
          all.push_back(d);
      }
    }
  return all;
}

}  // namespace

std::shared_ptr<runtime::Backend> make_opencl_backend(std::string& error) {
  // PoCL asks it for processors and memory, and ends the process where it is not.
  if (access("/sys/devices/system/cpu", R_OK) != 0) {
    error = "OpenCL needs /sys, which is not mounted here";
    return nullptr;
  }
  const Api* api = open_api(error);
  if (!api) return nullptr;
  std::vector<cl_device_id> devices = devices_of(*api);
  if (devices.empty()) {
    error = "no OpenCL device with shared virtual memory";
    return nullptr;
  }
  auto d = std::make_shared<Device>();
  d->api = api;
  d->id = devices[0];
  cl_int code = CL_SUCCESS;
  d->context = api->clCreateContext(nullptr, 1, &d->id, nullptr, nullptr, &code);
  for (cl_command_queue* q : {&d->queue, &d->beside})
    if (code == CL_SUCCESS) *q = api->clCreateCommandQueueWithProperties(d->context, d->id, nullptr, &code);
  if (code != CL_SUCCESS) {
    error = error_text(code);
    return nullptr;
  }
  d->f64 = d->number_of<cl_device_fp_config>(CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
  // Division and roots as IEEE 754 says, where the device can; no flag relaxes anything.
  d->options = "-cl-std=CL1.2";
  if (d->number_of<cl_device_fp_config>(CL_DEVICE_SINGLE_FP_CONFIG) & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT)
    d->options += " -cl-fp32-correctly-rounded-divide-sqrt";
  if (const char* more = std::getenv("OURO_OPENCL_OPTIONS")) d->options += std::string(" ") + more;
  d->key = fmt::format("opencl/{}/{}/{}", d->text_of(CL_DEVICE_NAME), d->text_of(CL_DRIVER_VERSION), d->options);
  return std::make_shared<OpenCl>(std::move(d));
}

}  // namespace ouro::backends
