// Where a tensor's elements are, when devices hold some.
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
#pragma once

#include <memory>
#include <span>

#include "runtime/machine/buffer.h"
#include "runtime/machine/device.h"
#include "runtime/object/value.h"
#include "support/dtype.h"

namespace ouro::runtime {

class Session;

/// The elements are in the host's memory, too. False with RuntimeError, MemoryError, or KeyboardInterrupt while it
/// waits for the device.
[[nodiscard]] bool to_host(Session& s, Buffer* b);
/// As to_host() where no error can be told: ends the process when the device does not answer, throws Interrupted.
void fetch(Buffer* b);
/// Where they are on the device; brought there if need be. Null with the exception pending.
void* to_device(Session& s, const std::shared_ptr<Device>& d, Buffer* b);
/// A kernel is about to write the device's copy: the host's is void.
void written_on_device(Buffer* b);
/// A tensor with undefined elements on the device only; error with MemoryError.
Value make_device_tensor(Session& s, const std::shared_ptr<Device>& d, DType dtype, std::span<const int64_t> shape);

}  // namespace ouro::runtime
