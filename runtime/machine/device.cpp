#include "runtime/machine/device.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "runtime/machine/buffer.h"
#include "support/diag.h"
#include "support/trace.h"

namespace ouro::runtime {

namespace {

std::atomic<DeviceOpener> openers[kDeviceKinds];
constexpr size_t kKeepOfDevice = size_t{512} << 20;

// Size classes as those of the host's buffers: powers of two in four steps.
size_t class_of(size_t bytes) {
  if (bytes <= 256) return 256;
  size_t step = size_t{1} << (63 - __builtin_clzll(bytes - 1) - 2);
  return (bytes + step - 1) / step * step;
}

}  // namespace

void register_device(DeviceId id, DeviceOpener open) {
  openers[static_cast<size_t>(id)].store(open, std::memory_order_release);
}

// ---------------------------------------------------------------- Device

Device::~Device() {
  for (auto& [bytes, blocks] : free_)
    for (void* p : blocks) backend->release(p, bytes);
}

void* Device::take(size_t& bytes) {
  bytes = class_of(bytes);
  if (auto& blocks = free_[bytes]; !blocks.empty()) {
    void* p = blocks.back();
    blocks.pop_back();
    kept_ -= bytes;
    return p;
  }
  if (void* p = backend->allocate(bytes)) return p;
  for (auto& [size, blocks] : free_) {
    for (void* p : blocks) backend->release(p, size);
    blocks.clear();
  }
  kept_ = 0;
  return backend->allocate(bytes);
}

void Device::give(void* memory, size_t bytes) {
  if (kept_ + bytes > kKeepOfDevice) return backend->release(memory, bytes);
  kept_ += bytes;
  free_[bytes].push_back(memory);
}

void Device::cannot_build(const std::string& why) {
  std::lock_guard guard(telling_);
  if (told_.insert(why).second)
    notice("device", fmt::format("'{}' runs less than was asked, the host the rest: {}", device_name(id), why));
}

// ---------------------------------------------------------------- Devices

std::shared_ptr<Device> Devices::open(DeviceId id, std::string& error) {
  if (id == DeviceId::cpu) ouro_bug("the host is no device to open");
  std::lock_guard guard(lock_);
  std::shared_ptr<Device>& d = open_[static_cast<size_t>(id)];
  if (d) return d;
  DeviceOpener opener = openers[static_cast<size_t>(id)].load(std::memory_order_acquire);
  std::string why = "this build of Ouro has none of that kind";
  std::shared_ptr<Backend> backend = opener ? opener(why) : nullptr;
  if (!backend) {
    error = fmt::format("device '{}': {}", device_name(id), why);
    return nullptr;
  }
  d = std::make_shared<Device>(id, std::move(backend));
  used_.store(true, std::memory_order_release);
  return d;
}

// ---------------------------------------------------------------- buffers

void drop_device_copy(Buffer* b) {
  if (!b->device) return;
  b->device->on->give(b->device->data, b->device->bytes);
  delete b->device;
  b->device = nullptr;
}

}  // namespace ouro::runtime
