#include "runtime/devices.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "runtime/exception.h"
#include "runtime/interrupt.h"
#include "runtime/session.h"
#include "runtime/tensor.h"
#include "support/diag.h"
#include "support/trace.h"

namespace ouro::runtime {

namespace {

std::atomic<DeviceOpener> openers[kDeviceKinds];
constexpr size_t kKeep = size_t{512} << 20;

// Size classes as those of the host's buffers: powers of two in four steps.
size_t class_of(size_t bytes) {
  if (bytes <= 256) return 256;
  size_t step = size_t{1} << (63 - __builtin_clzll(bytes - 1) - 2);
  return (bytes + step - 1) / step * step;
}

enum class Copied { yes, stopped, no_memory, failed };

// The elements in new memory of the host; or why not.
Copied copy_to_host(Buffer* b, PollWord poll, std::string& error) {
  Buffer* host = allocate_buffer(b->bytes);
  if (!host) {
    error = "not enough memory for a tensor's copy on the host";
    return Copied::no_memory;
  }
  DeviceMemory& m = *b->device;
  if (b->bytes > 0 && !m.on->backend->copy_out(host->data, m.data, b->bytes, poll, error)) {
    release_buffer(host);
    if (error.empty()) return Copied::stopped;
    error = fmt::format("device '{}': {}", device_name(m.on->id), error);
    return Copied::failed;
  }
  m.on->counters.bytes_out += b->bytes;
  b->data = host->data;
  b->bin = host->bin;
  delete host;
  return Copied::yes;
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
  if (kept_ + bytes > kKeep) return backend->release(memory, bytes);
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

// ---------------------------------------------------------------- coherence

bool to_host(Session& s, Buffer* b) {
  if (b->data || !b->device) return true;
  std::string error;
  switch (copy_to_host(b, poll_word(s), error)) {
    case Copied::yes:
      return true;
    case Copied::stopped:
      raise_interrupt(s);
      return false;
    case Copied::no_memory:
      raise_text(s, ExcKind::MemoryError, error);
      return false;
    case Copied::failed:
      raise_text(s, ExcKind::RuntimeError, error);
      return false;
  }
  return false;
}

void fetch(Buffer* b) {
  if (b->data || !b->device) return;
  Session* s = current_session();
  const PollWord poll = s ? poll_word(*s) : nullptr;
  std::optional<MemoryUnlimited> unlimited;  // nobody could be told
  if (s) unlimited.emplace(s->memory);
  std::string error;
  const Copied copied = copy_to_host(b, poll, error);
  if (copied == Copied::stopped) throw Interrupted();
  if (copied != Copied::yes) ouro_bug("%s", error.c_str());
}

static bool new_device_copy(Session& s, const std::shared_ptr<Device>& d, Buffer* b) {
  size_t bytes = b->bytes;
  void* p = d->take(bytes);
  if (!p) {
    raise_text(s, ExcKind::MemoryError,
               fmt::format("not enough memory on device '{}' for {} bytes", device_name(d->id), b->bytes));
    return false;
  }
  b->device = new DeviceMemory{d, p, bytes};
  return true;
}

void* to_device(Session& s, const std::shared_ptr<Device>& d, Buffer* b) {
  const bool there = b->device && b->device->on == d;
  if (there && !b->release) return b->device->data;  // foreign memory its owner may have changed
  if (b->device && !there) {                         // of another device: by way of the host
    if (!to_host(s, b)) return nullptr;
    drop_device_copy(b);
  }
  if (!there && !new_device_copy(s, d, b)) return nullptr;
  std::string error;
  if (b->bytes > 0 && !d->backend->copy_in(b->device->data, b->data, b->bytes, poll_word(s), error)) {
    drop_device_copy(b);
    if (error.empty()) return raise_interrupt(s), nullptr;
    raise_text(s, ExcKind::RuntimeError, fmt::format("device '{}': {}", device_name(d->id), error));
    return nullptr;
  }
  d->counters.bytes_in += b->bytes;
  return b->device->data;
}

void written_on_device(Buffer* b) {
  if (b->data) drop_host_copy(b);
}

void drop_device_copy(Buffer* b) {
  if (!b->device) return;
  b->device->on->give(b->device->data, b->device->bytes);
  delete b->device;
  b->device = nullptr;
}

Value make_device_tensor(Session& s, const std::shared_ptr<Device>& d, DType dtype, std::span<const int64_t> shape) {
  int64_t n = element_count(shape);
  if (n < 0 || n > (int64_t{1} << 46))
    return raise_text(s, ExcKind::MemoryError, "not enough memory for a tensor of shape " + shape_text(shape));
  auto* b = new Buffer;
  b->bytes = static_cast<size_t>(n) * size_of(dtype);
  b->bin = kUnbinned;
  if (!new_device_copy(s, d, b)) {
    delete b;
    return Value::error();
  }
  Value v = wrap_buffer(dtype, shape, b);
  --b->refs;
  ++tensor_counters(s).allocations;
  return v;
}

}  // namespace ouro::runtime
