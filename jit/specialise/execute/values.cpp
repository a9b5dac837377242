// Objects of script classes that extend int or str, as members of an IntEnum are: objects with attributes, which
// operators take for the number or text that they are. A class that changes what an operator does is asked by the text
// of the protocol, as any other.
#include "jit/specialise/specialiser.h"
#include "runtime/object/ops.h"

namespace ouro::jit {

using runtime::Dunder;
using runtime::ObjectKind;

const AVal& Specialiser::native_of(const AVal& a) const {
  static const AVal kNone;
  if (!a.is(AKind::ref) || kind_at(a.heap) != AObject::Kind::instance) return kNone;
  return read(a.heap).native;
}

// (What it is called, shown as and hashed by are no operators. The class's version is guarded where the object is.)
static bool changes_operators(Session& s, runtime::Type* t) {
  runtime::Type* base = s.type(t->layout);
  const auto differs = [&](Dunder d) { return !runtime::find_dunder(s, t, d).same(runtime::find_dunder(s, base, d)); };
  for (int d = 0; d < static_cast<int>(Dunder::new_); ++d)
    if (differs(static_cast<Dunder>(d))) return true;
  for (Dunder d : {Dunder::bool_, Dunder::len_, Dunder::contains_, Dunder::getitem_, Dunder::iter_, Dunder::index_,
                   Dunder::int_, Dunder::float_, Dunder::round_, Dunder::trunc_, Dunder::floor_, Dunder::ceil_,
                   Dunder::abs_, Dunder::divmod_, Dunder::rdivmod_})
    if (differs(d)) return true;
  return false;
}

AVal Specialiser::as_value(const AVal& a) {
  const AVal& native = native_of(a);
  if (native.is(AKind::unbound) || read(a.heap).any_class) return a;
  return changes_operators(session, read(a.heap).cls.as<runtime::Type>()) ? a : native;
}

// Does its class replace that special method of the built-in class that it extends?
bool Specialiser::overrides(const AVal& a, std::string_view special) {
  const Value cls = a.extends_tuple() ? a.known : class_of(a);
  const AVal m = type_attr(cls, intern(special));
  if (m.is(AKind::unbound)) return false;
  auto* n = m.is(AKind::known) ? runtime::cast_exact<runtime::Native>(m.known) : nullptr;
  return !n || n->owner != session.type(cls.as<runtime::Type>()->layout);
}

// A method of int or str on what extends it: the value stands for the object, where the method does not ask for its
// class.
bool Specialiser::value_method(const runtime::Native& n, std::vector<AVal>& args) {
  if (args.empty() || !n.owner) return false;
  if (n.owner == session.type(ObjectKind::dict)) return dict_method(n, args);
  if (native_of(args[0]).is(AKind::unbound)) return false;
  if (n.owner != session.type(read(args[0].heap).cls.as<runtime::Type>()->layout)) return false;
  for (std::string_view name : {"__format__", "__str__", "__repr__", "__reduce__", "__reduce_ex__", "__init__"})
    if (n.def->name == name) return false;
  args[0] = AVal(native_of(args[0]));
  return true;
}

}  // namespace ouro::jit
