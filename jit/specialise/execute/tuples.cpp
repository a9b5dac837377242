// Objects of script classes that extend tuple, named tuples before all. Such a one is a tuple with a class: a value
// whose items are known one by one, as reverse mode has it, too. What its class overrides is asked as of any object
// (execute/protocol.cpp), the rest is the tuple's. One that has attributes of its own is the interpreter's.
#include "runtime/object/ops.h"

#include <fmt/format.h>

#include "jit/specialise/specialiser.h"
#include "runtime/protocol/lookup.h"

namespace ouro::jit {

namespace prim = ir::prim;
using runtime::cast_exact;
using runtime::kind_of;
using runtime::ObjectKind;

bool Specialiser::is_plain_extension(const Value& v) {
  auto* i = v.as<runtime::Instance>();
  if (!cast_exact<runtime::Tuple>(i->native)) return false;
  if (!i->shape) runtime::restore_shape(session, i);
  return i->shape && i->shape->count == 0 && !i->type->has_del;
}

AVal Specialiser::wrap_extension(const Value& v, uint32_t node) {
  auto* i = v.as<runtime::Instance>();
  AccessNode& n = access.nodes[node];
  n.guard = AccessNode::Guard::shape;
  n.shape = i->shape;
  n.type_version = i->type->version;
  n.expected = Value::share(i->type);
  AccessNode inside;
  inside.step = AccessNode::Step::native;
  inside.parent = node;
  AVal out = wrap(i->native, inside);
  if (!out.is(AKind::tuple)) return out;
  out.known = Value::share(i->type);
  return out;
}

// Another value than the object, with parts of its own: it is told by them.
AVal Specialiser::items_alone(const AVal& a) const { return AVal::tuple(a.items()); }

AVal Specialiser::new_extension(const Value& cls, const std::vector<AVal>& args) {
  if (args.size() > 1) abandon(Reason::raises, "tuple.__new__ with other arguments than it takes");
  AVal out = AVal::tuple(args.empty() ? std::vector<AVal>{} : sized_items_of(args[0], "becomes a tuple"));
  out.known = cls;
  AObject self;
  self.kind = AObject::Kind::identity;
  out.heap = allocate(std::move(self));
  return out;
}

// Is it a call of __new__ for a script class that extends the built-in class of that layout?
bool Specialiser::makes(ObjectKind layout, const runtime::Native& n, const std::vector<AVal>& args) const {
  if (n.owner || n.def->name != "__new__" || args.empty() || !args[0].is(AKind::known)) return false;
  auto* t = cast_exact<runtime::Type>(args[0].known);
  return t && !t->builtin && t->layout == layout && !t->has_del && !t->is_abc;
}

// The operators of tuples, as the special method's name says; unbound: not known here.
AVal Specialiser::tuple_operator(std::string_view special, const AVal& a, const AVal& b) {
  const bool sequence = b.is(AKind::tuple) || (b.is(AKind::known) && cast_exact<runtime::Tuple>(b.known));
  const AVal other = b.extends_tuple() ? items_alone(b) : b;
  if (special == "__add__" && sequence) return binary(prim::add, a, other);
  if ((special == "__mul__" || special == "__rmul__") && is_number(b) && type_of(b)->kind != ir::TypeKind::floating)
    return binary(prim::mul, a, b);
  constexpr std::pair<std::string_view, ir::Op> kComparisons[] = {{"__eq__", prim::eq}, {"__ne__", prim::ne},
                                                                  {"__lt__", prim::lt}, {"__le__", prim::le},
                                                                  {"__gt__", prim::gt}, {"__ge__", prim::ge}};
  for (const auto& [name, op] : kComparisons) {
    if (special != name) continue;
    if (sequence) return compare(op, a, other);
    if (b.is(AKind::dynamic) && !b.type)
      abandon(Reason::computed_test, "a tuple compared with a value that is not known");
    return AVal::of(Value::not_implemented());
  }
  return {};
}

// A method of tuple itself, on what extends it.
AVal Specialiser::tuple_method(const AVal& f, const std::vector<AVal>& args) {
  const auto& n = *f.known.as<runtime::Native>();
  if (n.owner != session.type(ObjectKind::tuple) || args.empty()) return {};
  if (n.def->name == "__contains__" && args.size() == 2 && args[0].is(AKind::tuple) && !args[0].extends_tuple())
    return compare(prim::in, args[1], args[0]);
  if (!args[0].extends_tuple()) return {};
  const AVal a = items_alone(args[0]);
  const std::string_view name = n.def->name;
  if (args.size() == 1) {
    if (name == "__len__") return length(a);
    if (name == "__iter__") return make_iterator(a);
  }
  if (args.size() == 2) {
    if (name == "__getitem__") return get_item(a, args[1]);
    if (name == "__contains__") return compare(prim::in, args[1], a);
    if (AVal y = tuple_operator(name, a, args[1]); !y.is(AKind::unbound)) return y;
  }
  const bool of_items =
      name == "count" || name == "index" || name == "__hash__" || name == "__repr__" || name == "__getnewargs__";
  if (!of_items) return {};
  std::vector<AVal> all = args;
  all[0] = a;
  return call_native(f, all, {});
}

}  // namespace ouro::jit
