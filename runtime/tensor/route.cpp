#include "runtime/tensor/route.h"

#include <fmt/format.h>

#include "runtime/object/ops.h"
#include "runtime/tensor/coherence.h"
#include "support/trace.h"

namespace ouro::runtime {

namespace {

// Calls f(tensor) for the tensors of an argument, two levels of tuples and lists deep, until it says false.
template <class F>
bool each_tensor(const Value& v, const F& f, int depth = 2) {
  switch (kind_of(v)) {
    case ObjectKind::tensor:
      return f(*v.as<Tensor>());
    case ObjectKind::tuple:
      if (depth > 0)
        for (Value& i : *v.as<Tuple>())
          if (!each_tensor(i, f, depth - 1)) return false;
      return true;
    case ObjectKind::list: {
      auto* l = v.as<List>();
      for (size_t i = 0; depth > 0 && i < l->size; ++i)
        if (!each_tensor(l->items[i], f, depth - 1)) return false;
      return true;
    }
    default:
      return true;
  }
}

}  // namespace

bool find_route(Session& s, const ir::OpInfo* op, std::span<const Value> args, Route& out) {
  uint8_t place = 0;
  bool follows = false;   // some tensor with axes that nobody placed
  bool anywhere = false;  // some that goes along
  bool others = false;
  bool mixed = false;
  DeviceId other{};
  for (size_t i = 0; i < args.size(); ++i) {
    if (op && op->params[i].name == "key") continue;
    each_tensor(args[i], [&](const Tensor& t) {
      if (t.place == kAnywhere) return anywhere = true;
      others = true;
      if (t.place == 0) {
        follows |= t.rank > 0;
      } else if (place == 0) {
        place = t.place;
      } else if (place != t.place) {
        mixed = true;
        other = placed_device(t.place);
      }
      return !mixed;
    });
  }
  const DeviceId plan = s.demands.plan().device;
  if (!mixed && place != 0 && follows && plan != placed_device(place)) {
    mixed = true;
    other = plan;
  }
  if (mixed) {
    raise_text(s, ExcKind::RuntimeError,
               fmt::format("{}: tensors on '{}' and on '{}'; bring one to the other's device with x.to('{}')",
                           op ? op->name : "", device_name(placed_device(place)), device_name(other),
                           device_name(placed_device(place))));
    return false;
  }
  out.place = place;
  out.device = place ? placed_device(place) : plan;
  if (anywhere && !others) out.place = kAnywhere;
  return true;
}

Value run_on_device(Session& s, const ir::OpInfo& op, std::span<const Value> args, const Route& route) {
  bool any = false;
  for (const Value& v : args)
    each_tensor(v, [&](const Tensor&) {
      any = true;
      return false;
    });
  if (any && route.device != DeviceId::cpu) {
    std::string error;
    std::shared_ptr<Device> d = s.devices.open(route.device, error);
    if (!d) return raise_text(s, ExcKind::RuntimeError, error);
    bool done = false;
    Value r = s.run_row ? s.run_row(s, *d, route.place, op, args, done) : Value();
    if (done) return r;
    if (++d->counters.on_host[op.name] == 1)
      notice("device", fmt::format("'{}' has no kernel for {}, which runs on the host", device_name(d->id), op.name));
  }
  bool there = true;
  for (const Value& v : args) there = there && each_tensor(v, [&](const Tensor& t) { return to_host(s, t.buffer); });
  if (any) ++s.devices.host.launches;
  return there ? Value() : Value::error();
}

Value placed(Value result, uint8_t place) {
  if (!result.is_object()) return result;
  if (auto* t = cast<Tensor>(result)) {
    if (t->place == place) return result;
    if (t->refs > 1) result = share_tensor(t, t->shape());
    result.as<Tensor>()->place = place;
  } else if (auto* tuple = cast<Tuple>(result)) {
    for (Value& v : *tuple) v = placed(std::move(v), place);
  }
  return result;
}

}  // namespace ouro::runtime
