// Language primitives of a typed function on values: arithmetic on numbers, tuples, and what stayed boxed.
#include "ir/prim.h"
#include "jit/plan/plan_program.h"
#include "runtime/interpreter/on_values.h"
#include "runtime/object/ops.h"
#include "runtime/object/tensor_hooks.h"
#include "runtime/tensor/tensor.h"

namespace ouro::jit {
namespace {

using runtime::Session;
using runtime::Value;
namespace prim = ir::prim;

// Positional and keyword arguments; a spread makes the specialiser give up before it gets here.
Value call_of(Session& s, const ir::Function& f, ir::Op op, uint32_t attr, std::span<const Value> a) {
  const ir::CallSig& sig = f.calls[attr];
  std::vector<Value> positional, keywords, names;
  const bool loaded = op == prim::call_loaded, method = op == prim::call_method || loaded;
  for (size_t k = 0; k < sig.args.size(); ++k) {
    const Value& v = a[k + ir::call_lead(op)];
    if (sig.args[k].kind == ir::CallSig::Kind::positional) {
      positional.push_back(v);
    } else {
      keywords.push_back(v);
      names.push_back(s.str(sig.args[k].name));
    }
  }
  runtime::Args args{positional, keywords, names};
  if (method && !(loaded && !a[0].is_unbound())) return runtime::call_method(s, a[loaded ? 1 : 0], sig.method, args);
  return runtime::call(s, a[0], args);
}
bool is_call(ir::Op op) { return op == prim::call || op == prim::call_method || op == prim::call_loaded; }

// Gives what was written: a container itself, or, since tensors are values, the tensor that now stands in its place.
Value written(Session& s, std::span<const Value> a) {
  Value changed = a[0];
  const bool tensor = changed.is_object() && runtime::kind_of(changed) == runtime::ObjectKind::tensor;
  const bool ok =
      tensor ? s.tensors->set_item(s, changed, {&a[1], 1}, a[2]) : runtime::set_item(s, changed, a[1], a[2]);
  return ok ? changed : Value::error();
}

// int and float arithmetic without a detour; anything that may raise or leave 64 bits goes the usual way.
bool quick(ir::Op op, const Value& a, const Value& b, Value& out) {
  if (a.is_float() && b.is_float()) {
    double x = a.as_float(), y = b.as_float();
    if (op == prim::add) return out = Value::floating(x + y), true;
    if (op == prim::sub) return out = Value::floating(x - y), true;
    if (op == prim::mul) return out = Value::floating(x * y), true;
    if (op == prim::truediv && y != 0) return out = Value::floating(x / y), true;
    return false;
  }
  if (!a.is_int() || !b.is_int()) return false;
  int64_t x = a.as_int(), y = b.as_int(), r = 0;
  if (op == prim::add && !__builtin_add_overflow(x, y, &r)) return out = Value::integer(r), true;
  if (op == prim::sub && !__builtin_sub_overflow(x, y, &r)) return out = Value::integer(r), true;
  if (op == prim::mul && !__builtin_mul_overflow(x, y, &r)) return out = Value::integer(r), true;
  if (op == prim::lt) return out = Value::boolean(x < y), true;
  if (op == prim::eq) return out = Value::boolean(x == y), true;
  return false;
}

}  // namespace

bool is_runnable(ir::Op op) {
  return is_call(op) || op == prim::tensor_item || op == prim::tensor_size || runtime::is_boxable(op);
}

Value run_primitive(Session& s, const ir::Function& f, ir::Op op, uint32_t attr, std::span<Value> args) {
  Value out;
  if (args.size() == 2 && quick(op, args[0], args[1], out)) return out;
  if (is_call(op)) return call_of(s, f, op, attr, args);
  if (op == prim::item_set) return written(s, args);
  if (op == prim::tensor_item) return runtime::tensor_item(s, args[0].as<runtime::Tensor>(), 0);
  if (op == prim::tensor_size) return Value::integer(args[0].as<runtime::Tensor>()->dim(static_cast<int>(attr)));
  return runtime::run_on_values(s, op, attr, args);
}

}  // namespace ouro::jit
