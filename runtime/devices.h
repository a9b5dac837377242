// Devices: machines beside the host that hold tensors and run kernels (OpenCL, CUDA), each behind one Backend.
//
// Coherence. The elements of a Buffer stand in the host's memory, in a device's, or in both; copies that are there hold
// the same numbers. Who reads on the host fetches them (fetch), a kernel that reads on a device brings them there
// (to_device), and a kernel that writes makes the host's copy void (written_on_device). The host writes only buffers
// without a device copy: Tensor::unshared() is false for others. So values never depend on where they are (the protocol
// is MSI without its exclusive state; Papamarcos & Patel 1984).
//
// Place. `x.to(device)` *places* a tensor: results of operations on it are placed there, too, and operations on tensors
// placed on different devices are errors. A tensor that nobody placed *follows* the session's plan (the demand
// `device`): its elements move when an operation needs them elsewhere.
//
// A session's devices belong to the session's thread, except open(). Counters tell what ran where: nothing is left on
// the host silently.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/backend.h"
#include "runtime/device_id.h"
#include "runtime/value.h"
#include "support/dtype.h"

namespace ouro::ir {
struct OpInfo;
}

namespace ouro::runtime {

class Session;
struct Buffer;

/// Opens a device of that kind; null and `error` set when there is none. Any thread, any number of times.
using DeviceOpener = std::shared_ptr<Backend> (*)(std::string& error);
void register_device(DeviceId id, DeviceOpener open);

struct DeviceCounters {
  uint64_t launches = 0;  // kernels; on the host operations that ran eagerly, too
  uint64_t bytes_in = 0, bytes_out = 0;
  std::map<std::string, uint64_t> on_host;  // operations on tensors of the device that have no kernel for it
};

class Device {
 public:
  Device(DeviceId id, std::shared_ptr<Backend> backend) : id(id), backend(std::move(backend)) {}
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const DeviceId id;
  const std::shared_ptr<Backend> backend;
  DeviceCounters counters;

  /// Memory of at least so many bytes; `bytes` becomes its size. Freed blocks are kept: the queue is in order, so what
  /// still runs is done before the next owner's first kernel. Null: not enough.
  void* take(size_t& bytes);
  void give(void* memory, size_t bytes);

  /// A notice that kernels cannot be built for it, and why; each reason once. What needs them runs on the host, and is
  /// counted there. Any thread.
  void cannot_build(const std::string& why);

 private:
  std::map<size_t, std::vector<void*>> free_;
  size_t kept_ = 0;
  std::mutex telling_;
  std::set<std::string> told_;
};

/// A buffer's elements on a device.
struct DeviceMemory {
  std::shared_ptr<Device> on;
  void* data = nullptr;
  size_t bytes = 0;  // of the block
};

class Devices {
 public:
  /// The session's device of that kind, opened when first asked for. Null and `error` set when it cannot be. Any
  /// thread.
  std::shared_ptr<Device> open(DeviceId id, std::string& error);
  /// The device if it has been opened, else null. Any thread.
  std::shared_ptr<Device> at(DeviceId id) const {
    std::lock_guard guard(lock_);
    return open_[static_cast<size_t>(id)];
  }
  /// Has any device but the host been opened?
  bool used() const { return used_.load(std::memory_order_relaxed); }
  DeviceCounters host;
  int row_texts = 0;  // rows written in Ouro that are running

  /// Runs a row on a device (jit sets it): arguments as run_operation() takes them, bound. False in `done`: the row has
  /// no kernel there, or not for these arguments.
  using RunRow = Value (*)(Session&, Device&, uint8_t place, const ir::OpInfo&, std::span<const Value> args,
                           bool& done);
  RunRow run_row = nullptr;

 private:
  mutable std::mutex lock_;
  std::atomic<bool> used_{false};
  std::shared_ptr<Device> open_[kDeviceKinds];
};

// ---- coherence
/// The elements are in the host's memory, too. False with RuntimeError, MemoryError, or KeyboardInterrupt while it
/// waits for the device.
[[nodiscard]] bool to_host(Session& s, Buffer* b);
/// As to_host() where no error can be told: ends the process when the device does not answer, throws Interrupted.
void fetch(Buffer* b);
/// Where they are on the device; brought there if need be. Null with the exception pending.
void* to_device(Session& s, const std::shared_ptr<Device>& d, Buffer* b);
/// A kernel is about to write the device's copy: the host's is void.
void written_on_device(Buffer* b);
void drop_device_copy(Buffer* b);
/// A tensor with undefined elements on the device only; error with MemoryError.
Value make_device_tensor(Session& s, const std::shared_ptr<Device>& d, DType dtype, std::span<const int64_t> shape);

}  // namespace ouro::runtime
