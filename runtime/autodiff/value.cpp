// Primitives by name on plain operands: what ad.value does where no script is called.
#include <unordered_map>

#include "ir/effect.h"
#include "ir/prim.h"
#include "runtime/autodiff/autodiff.h"
#include "support/diag.h"

namespace ouro::runtime::autodiff {
namespace {

using Fn = Value (*)(Session&, std::span<Value>);

template <BinOp op>
Value bin(Session& s, std::span<Value> a) {
  return binary(s, op, a[0], a[1]);
}
template <BinOp op>
Value in(Session& s, std::span<Value> a) {
  return inplace(s, op, std::move(a[0]), a[1]);
}
template <UnOp op>
Value un(Session& s, std::span<Value> a) {
  return unary(s, op, a[0]);
}

Value done(bool ok) { return ok ? Value::none() : Value::error(); }
Symbol name_of(const Value& v) { return str_symbol(v.as<Str>()); }

const std::unordered_map<std::string_view, Fn>& table() {
  static const auto* t = new std::unordered_map<std::string_view, Fn>{
#define OURO_ROW(op) {"op." #op, bin<BinOp::op>}, {"iop." #op, in<BinOp::op>}
      OURO_ROW(add),
      OURO_ROW(sub),
      OURO_ROW(mul),
      OURO_ROW(matmul),
      OURO_ROW(truediv),
      OURO_ROW(floordiv),
      OURO_ROW(mod),
      OURO_ROW(pow),
      OURO_ROW(lshift),
      OURO_ROW(rshift),
#undef OURO_ROW
      {"op.and", bin<BinOp::and_>},
      {"op.or", bin<BinOp::or_>},
      {"op.xor", bin<BinOp::xor_>},
      {"iop.and", in<BinOp::and_>},
      {"iop.or", in<BinOp::or_>},
      {"iop.xor", in<BinOp::xor_>},
      {"op.neg", un<UnOp::neg>},
      {"op.pos", un<UnOp::pos>},
      {"op.invert", un<UnOp::invert>},
      {"attr.get", [](Session& s, std::span<Value> a) { return get_attr(s, a[0], name_of(a[1])); }},
      {"attr.set", [](Session& s, std::span<Value> a) { return done(set_attr(s, a[0], name_of(a[1]), a[2])); }},
      {"item.get", [](Session& s, std::span<Value> a) { return get_item(s, a[0], a[1]); }},
      {"item.set", [](Session& s, std::span<Value> a) { return done(set_item(s, a[0], a[1], a[2])); }},
      {"item.del", [](Session& s, std::span<Value> a) { return done(del_item(s, a[0], a[1])); }},
      {"move", [](Session&, std::span<Value> a) { return a[0]; }},
      {"format",
       [](Session& s, std::span<Value> a) {
         const int64_t conversion = a[2].as_int();
         Value x = conversion == 'r'   ? repr(s, a[0])
                   : conversion == 's' ? str(s, a[0])
                   : conversion == 'a' ? ascii(s, a[0])
                                       : a[0];
         if (x.is_error()) return x;
         auto* spec = cast<Str>(a[1]);
         return format(s, x, spec ? spec->view() : "");
       }},
      {"with.methods", [](Session& s, std::span<Value> a) { return context_methods(s, a[0]); }},
      {"iter", [](Session& s, std::span<Value> a) { return iter(s, a[0]); }},
      {"iter.next", [](Session& s, std::span<Value> a) { return next(s, a[0]); }},
  };
  return *t;
}

}  // namespace

Value plain_primitive(Session& s, std::string_view prim, std::span<Value> args) {
  // Numbers first: this is what a scalar loop spends its time on.
  auto it = table().find(prim);
  if (it == table().end()) ouro_bug("ad.value of '%s'", std::string(prim).c_str());
  return it->second(s, args);
}

}  // namespace ouro::runtime::autodiff
