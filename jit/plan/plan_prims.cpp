// Language primitives of a typed function on values: arithmetic on numbers, tuples, and what stayed boxed.
#include "ir/effect.h"
#include "ir/prim.h"
#include "jit/plan/plan_program.h"
#include "runtime/object/ops.h"
#include "runtime/object/tensor_hooks.h"
#include "runtime/tensor/tensor.h"
#include "support/diag.h"

namespace ouro::jit {
namespace {

using runtime::Session;
using runtime::Value;
namespace prim = ir::prim;

struct Call {
  Session& s;
  const ir::Function& f;
  ir::Op op;
  uint32_t attr;
  std::span<const Value> a;
  uint16_t offset(ir::Op first) const {
    return static_cast<uint16_t>(static_cast<uint16_t>(op) - static_cast<uint16_t>(first));
  }
  Symbol symbol() const { return Symbol::from_id(attr); }
};
using Handler = Value (*)(const Call&);

Value flag(int truth) { return truth < 0 ? Value::error() : Value::boolean(truth == 1); }
Value done(bool ok) { return ok ? Value::none() : Value::error(); }

Value h_binary(const Call& c) {
  return runtime::binary(c.s, static_cast<runtime::BinOp>(c.offset(prim::add)), c.a[0], c.a[1]);
}
Value h_inplace(const Call& c) {
  return runtime::inplace(c.s, static_cast<runtime::BinOp>(c.offset(prim::iadd)), c.a[0], c.a[1]);
}
Value h_unary(const Call& c) { return runtime::unary(c.s, static_cast<runtime::UnOp>(c.offset(prim::neg)), c.a[0]); }
Value h_compare(const Call& c) {
  return runtime::compare(c.s, static_cast<runtime::CmpOp>(c.offset(prim::eq)), c.a[0], c.a[1]);
}
Value h_not(const Call& c) {
  int t = runtime::truth(c.s, c.a[0]);
  return t < 0 ? Value::error() : Value::boolean(t == 0);
}
Value h_truth(const Call& c) { return flag(runtime::truth(c.s, c.a[0])); }
Value h_is(const Call& c) { return Value::boolean(runtime::is_same(c.a[0], c.a[1]) == (c.op == prim::is)); }
Value h_in(const Call& c) {
  int t = runtime::contains(c.s, c.a[1], c.a[0]);
  return t < 0 ? Value::error() : Value::boolean((t == 1) == (c.op == prim::in));
}
Value h_move(const Call& c) { return c.a[0]; }
Value h_attr_get(const Call& c) { return runtime::get_attr(c.s, c.a[0], c.symbol()); }
Value h_method_get(const Call& c) { return runtime::method_before_call(c.s, c.a[0], c.symbol()); }
Value h_attr_set(const Call& c) { return done(runtime::set_attr(c.s, c.a[0], c.symbol(), c.a[1])); }
Value h_item_get(const Call& c) { return runtime::get_item(c.s, c.a[0], c.a[1]); }
// Gives what was written: a container itself, or, since tensors are values, the tensor that now stands in its place.
Value h_item_set(const Call& c) {
  Value changed = c.a[0];
  const bool tensor = changed.is_object() && runtime::kind_of(changed) == runtime::ObjectKind::tensor;
  const bool ok = tensor ? c.s.tensors->set_item(c.s, changed, {&c.a[1], 1}, c.a[2])
                         : runtime::set_item(c.s, changed, c.a[1], c.a[2]);
  return ok ? changed : Value::error();
}
Value h_slice(const Call& c) { return runtime::make_slice(c.a[0], c.a[1], c.a[2]); }
Value h_tuple(const Call& c) { return runtime::make_tuple(c.a); }
Value h_list(const Call& c) { return runtime::make_list(c.a); }
Value h_dict(const Call& c) {
  Value d = runtime::make_dict();
  for (size_t k = 0; k + 1 < c.a.size(); k += 2)
    if (!runtime::set_item(c.s, d, c.a[k], c.a[k + 1])) return Value::error();
  return d;
}
Value h_list_append(const Call& c) { return runtime::call_method(c.s, c.a[0], intern("append"), {c.a[1]}); }
Value h_list_to_tuple(const Call& c) { return runtime::tuple_of(c.s, c.a[0]); }
Value h_tuple_get(const Call& c) {
  auto* t = c.a[0].as<runtime::Tuple>();
  if (!c.a[0].is_object() || runtime::kind_of(c.a[0]) != runtime::ObjectKind::tuple || c.attr >= t->size)
    return runtime::get_item(c.s, c.a[0], Value::integer(c.attr));
  return (*t)[c.attr];
}
Value h_unpack(const Call& c) {
  OURO_TRY(t, runtime::tuple_of(c.s, c.a[0]));
  size_t n = t.as<runtime::Tuple>()->size;
  if (n == c.attr) return t;
  if (n < c.attr)
    return runtime::raise_value_error(c.s, "not enough values to unpack (expected %u, got %zu)", c.attr, n);
  return runtime::raise_value_error(c.s, "too many values to unpack (expected %u)", c.attr);
}
Value h_with_methods(const Call& c) { return runtime::context_methods(c.s, c.a[0]); }
Value h_length(const Call& c) {
  int64_t n = runtime::length(c.s, c.a[0]);
  return n < 0 ? Value::error() : Value::integer(n);
}
Value h_format(const Call& c) {
  Value v = c.a[0];
  if (c.attr == 'r')
    v = runtime::repr(c.s, v);
  else if (c.attr == 's')
    v = runtime::str(c.s, v);
  else if (c.attr == 'a')
    v = runtime::ascii(c.s, v);
  if (v.is_error()) return v;
  return runtime::format(c.s, v, c.a[1].is_object() ? c.a[1].as<runtime::Str>()->view() : std::string_view());
}
Value h_tensor_item(const Call& c) { return runtime::tensor_item(c.s, c.a[0].as<runtime::Tensor>(), 0); }
Value h_str_concat(const Call& c) {
  std::string text;
  for (const Value& v : c.a) text += v.as<runtime::Str>()->view();
  return runtime::make_str(text);
}

// Positional and keyword arguments; a spread makes the specialiser give up before it gets here.
Value h_call(const Call& c) {
  const ir::CallSig& sig = c.f.calls[c.attr];
  std::vector<Value> positional, keywords, names;
  const bool loaded = c.op == prim::call_loaded, method = c.op == prim::call_method || loaded;
  for (size_t k = 0; k < sig.args.size(); ++k) {
    const Value& v = c.a[k + (loaded ? 2 : 1)];
    if (sig.args[k].kind == ir::CallSig::Kind::positional) {
      positional.push_back(v);
    } else {
      keywords.push_back(v);
      names.push_back(c.s.str(sig.args[k].name));
    }
  }
  runtime::Args args{positional, keywords, names};
  if (method && !(loaded && !c.a[0].is_unbound()))
    return runtime::call_method(c.s, c.a[loaded ? 1 : 0], sig.method, args);
  return runtime::call(c.s, c.a[0], args);
}

struct Row {
  ir::Op first, last;
  Handler run;
};
constexpr Row kHandlers[] = {
    {prim::neg, prim::invert, h_unary},
    {prim::not_, prim::not_, h_not},
    {prim::add, prim::xor_, h_binary},
    {prim::iadd, prim::ixor, h_inplace},
    {prim::eq, prim::ge, h_compare},
    {prim::is, prim::is_not, h_is},
    {prim::in, prim::not_in, h_in},
    {prim::truth, prim::truth, h_truth},
    {prim::move, prim::move, h_move},
    {prim::method_get, prim::method_get, h_method_get},
    {prim::call, prim::call_loaded, h_call},
    {prim::attr_get, prim::attr_get, h_attr_get},
    {prim::attr_set, prim::attr_set, h_attr_set},
    {prim::item_get, prim::item_get, h_item_get},
    {prim::item_set, prim::item_set, h_item_set},
    {prim::slice, prim::slice, h_slice},
    {prim::tuple, prim::tuple, h_tuple},
    {prim::list, prim::list, h_list},
    {prim::dict, prim::dict, h_dict},
    {prim::list_append, prim::list_append, h_list_append},
    {prim::list_to_tuple, prim::list_to_tuple, h_list_to_tuple},
    {prim::tuple_get, prim::tuple_get, h_tuple_get},
    {prim::unpack, prim::unpack, h_unpack},
    {prim::length, prim::length, h_length},
    {prim::with_methods, prim::with_methods, h_with_methods},
    {prim::format, prim::format, h_format},
    {prim::tensor_item, prim::tensor_item, h_tensor_item},
    {prim::str_concat, prim::str_concat, h_str_concat},
};

Handler handler_of(ir::Op op) {
  for (const Row& r : kHandlers)
    if (r.first <= op && op <= r.last) return r.run;
  return nullptr;
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

bool is_runnable(ir::Op op) { return handler_of(op) != nullptr; }

Value run_primitive(Session& s, const ir::Function& f, ir::Op op, uint32_t attr, std::span<const Value> args) {
  Value out;
  if (args.size() == 2 && quick(op, args[0], args[1], out)) return out;
  Handler h = handler_of(op);
  if (!h) ouro_bug("a plan cannot run %s", std::string(ir::loops::name_of(op)).c_str());
  return h({s, f, op, attr, args});
}

}  // namespace ouro::jit
