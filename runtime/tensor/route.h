// Where an operation runs: told by where its tensors are placed (runtime/machine/device.h).
#pragma once

#include <span>

#include "runtime/machine/device_id.h"
#include "runtime/tensor/tensor.h"

namespace ouro::runtime {

/// Tensor::place of tensors that go along with any other: what differentiation fills in.
constexpr uint8_t kAnywhere = 255;

struct Route {
  DeviceId device = DeviceId::cpu;
  uint8_t place = 0;  // of the results
};
/// Of the tensors in `args` (and in tuples and lists there), which are `op`'s if that is given: what stands in a
/// subscript goes along then. A tensor without axes that nobody placed goes along with
/// placed ones. False with RuntimeError, which names both devices, when they are placed on different ones.
[[nodiscard]] bool find_route(Session& s, const ir::OpInfo* op, std::span<const Value> args, Route& out);

/// Unbound: to be run on the host, where all arguments are then.
Value run_on_device(Session& s, const ir::OpInfo& op, std::span<const Value> args, const Route& route);
/// Results of an operation are placed.
Value placed(Value result, uint8_t place);

/// Runs the row where its arguments are: on their device if it has a kernel for it, else on the host, counted there.
/// `on_host` runs it on the host. The session uses a device.
template <class OnHost>
Value run_anywhere(Session& s, const ir::OpInfo& op, std::span<const Value> args, const OnHost& on_host) {
  Route route;
  if (!find_route(s, &op, args, route)) return Value::error();
  Value r = run_on_device(s, op, args, route);
  return r.is_unbound() ? placed(on_host(), route.place) : r;
}

}  // namespace ouro::runtime
