// Devices: machines beside the host that hold buffers and run kernels (OpenCL, CUDA), each behind one Backend. How
// their copies of a buffer are kept alike is in runtime/tensor/coherence.h.
//
// A client's devices belong to its thread, except open(). Counters tell what ran where: nothing is left on the host
// silently.
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

#include "runtime/machine/backend.h"
#include "runtime/machine/device_id.h"

namespace ouro::runtime {

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
  /// The client's device of that kind, opened when first asked for. Null and `error` set when it cannot be. Any
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

 private:
  mutable std::mutex lock_;
  std::atomic<bool> used_{false};
  std::shared_ptr<Device> open_[kDeviceKinds];
};

/// The buffer's copy on a device is given up.
void drop_device_copy(Buffer* b);

}  // namespace ouro::runtime
