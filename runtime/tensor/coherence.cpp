#include "runtime/tensor/coherence.h"

#include <optional>
#include <string>

#include <fmt/format.h>

#include "runtime/object/exception.h"
#include "runtime/object/interrupt.h"
#include "runtime/object/session.h"
#include "runtime/tensor/tensor.h"
#include "support/diag.h"

namespace ouro::runtime {

namespace {

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
