// The host as a backend: kernels become vector code of this CPU, launches are calls, split over threads by a pool.
#pragma once

#include <memory>
#include <string>

#include "backends/host/jit.h"
#include "runtime/machine/backend.h"

namespace ouro::backends {

/// Runs fn(context, part) for every part in [0, parts), in any order and on any threads, and returns when all are done.
using SplitFn = void (*)(void* pool, int parts, void (*fn)(void* context, int part), void* context);

struct HostOptions {
  HostTarget target;
  SplitFn split = nullptr;  // null: launches run on the calling thread
  void* pool = nullptr;
};

class HostBackend : public runtime::Backend {
 public:
  /// Null and a text in `error` when this machine's code generator cannot be set up.
  static std::unique_ptr<HostBackend> create(HostOptions options, std::string& error);
  virtual std::shared_ptr<HostJit> jit() const = 0;
};

/// The signature of a compiled kernel. It gives 1 where it was asked to end and did.
using KernelFn = uint32_t (*)(void* const* buffers, const int64_t* sizes, const runtime::ScalarArg* scalars,
                              int64_t begin, int64_t end, const std::atomic<uint32_t>* poll);

}  // namespace ouro::backends
