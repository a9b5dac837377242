// What a machine that runs kernels looks like to the compiler: host threads, an OpenCL device and a CUDA device are
// each one Backend. The loop IR (ir/loops) goes in; memory, compiled modules and launches come out.
//
// Threads: every function may be called from any thread. A module may be launched by several threads at once; it lives
// while a reference does, also beyond its Backend. Errors are texts, never exceptions.
//
// Interrupts: what may wait for a device takes its caller's poll word (null: nothing ends it early). False without an
// error: it was asked to end and did, within milliseconds; what was launched goes on, and nothing of the host's memory
// is in use any more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/machine/client.h"

namespace ouro::ir::loops {
struct Kernel;
}

namespace ouro::runtime {

/// A run-time scalar argument: the bits of a double or an int64, as the kernel's parameter says.
union ScalarArg {
  double f;
  int64_t i;
};

/// Device kernels in flight, at most: what is asked for after an interrupt waits for them, and a driver's queue is
/// finite.
inline constexpr uint32_t kMostInFlight = 512;

/// The arguments of one launch. Extents are values: one compiled kernel serves every size.
struct KernelArgs {
  void* const* buffers = nullptr;
  const int64_t* sizes = nullptr;
  const ScalarArg* scalars = nullptr;
  /// The extent of the kernel's first parallel loop (1 if it has none).
  int64_t range = 1;
  /// Roughly how many elements one iteration of that loop touches: decides whether splitting pays.
  int64_t work = 1;
  /// Null: nothing ends it early.
  PollWord poll = nullptr;
};

class KernelModule {
 public:
  virtual ~KernelModule() = default;
  virtual size_t count() const = 0;
  /// Bytes of code.
  virtual size_t bytes() const = 0;
  /// For each kernel that the code generator does not take, why. Such a kernel runs, by evaluation, slowly.
  virtual std::vector<std::string> not_compiled() const { return {}; }
};
using KernelModuleRef = std::shared_ptr<const KernelModule>;

/// Texts of a compilation's stages, for `ouro ir`; a stage is written only where asked for.
struct KernelDump {
  bool want_loops = false, want_ir = false, want_assembly = false;
  std::string loops, ir, assembly;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  /// What the code of modules depends on besides the kernels; part of a cache key.
  virtual std::string target_key() const = 0;

  // Memory of the device, aligned to 64 bytes at least. Null when there is not enough. What is released may still be in
  // use by what was launched: it is given back when that is done.
  virtual void* allocate(size_t bytes) = 0;
  virtual void release(void* memory, size_t bytes) = 0;
  virtual bool copy_in(void* device, const void* host, size_t bytes, PollWord poll, std::string& error) = 0;
  virtual bool copy_out(void* host, const void* device, size_t bytes, PollWord poll, std::string& error) = 0;

  /// One module for all kernels of a step, in their order; equal kernels share their code. Null and `error` set on
  /// failure. On so many threads at most, of which one is this.
  virtual KernelModuleRef compile(std::span<const ir::loops::Kernel* const> kernels, std::string& error,
                                  KernelDump* dump = nullptr, int threads = 1) = 0;
  /// The module as bytes for a disk cache, and back; empty or null where the backend has no such form.
  virtual std::string save(const KernelModule& module) const = 0;
  virtual KernelModuleRef load(std::string_view bytes, std::string& error) = 0;
  /// What load() gave has the code of these kernels: later modules may share it.
  virtual void loaded(const KernelModule&, std::span<const ir::loops::Kernel* const>) {}
  /// Does what the driver would put off until a kernel is launched for the first time. On a thread beside those that
  /// launch, before the module is theirs.
  virtual void settle(const KernelModule&) {}

  /// Runs kernel `index` on at most `threads` cores; results do not depend on that number. May return before the work
  /// is done (sync() waits); launches run in their order. Where it is asked to end its results are half written.
  virtual bool launch(const KernelModule& module, size_t index, const KernelArgs& args, int threads,
                      std::string& error) = 0;
  virtual bool sync(PollWord poll, std::string& error) = 0;
};

}  // namespace ouro::runtime
