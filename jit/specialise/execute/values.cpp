// Objects of script classes that extend int or str, as members of an IntEnum are: objects with attributes, which
// operators take for the number or text that they are. A class that changes what an operator does is asked by the text
// of the protocol, as any other.
//
// One that extends dict has a dict of its own in the abstract heap, which stands in the slot without a name: what its
// class leaves to dict is done with that.
#include <algorithm>

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

AVal Specialiser::dict_within(const AVal& a) {
  if (!a.is(AKind::ref) || kind_at(a.heap) != AObject::Kind::instance) return {};
  const AObject& o = one_side(read(a.heap));
  const auto at = std::ranges::find(o.slots, Symbol{}, &AObject::Slot::name);
  if (at == o.slots.end()) return {};
  const AVal dict = at->value;
  ensure(dict);
  return dict;
}

AVal Specialiser::new_extended_dict(const Value& cls) {
  AObject o;
  o.kind = AObject::Kind::instance;
  o.cls = cls;
  o.slots.push_back({.value = new_dict({}, {})});
  return AVal::of_heap(allocate(std::move(o)));
}

AVal Specialiser::as_dict(const AVal& a, std::string_view special) {
  const AVal within = dict_within(a);
  return within.is(AKind::unbound) || overrides(a, special) ? a : within;
}

// Does its class have that special method otherwise than by the built-in class that it extends?
bool Specialiser::overrides(const AVal& a, std::string_view special) {
  const Value cls = a.extends_tuple() ? a.known : class_of(a);
  const AVal m = type_attr(cls, intern(special));
  if (m.is(AKind::unbound)) return false;
  auto* n = m.is(AKind::known) ? runtime::cast_exact<runtime::Native>(m.known) : nullptr;
  return !n || n->owner != session.type(cls.as<runtime::Type>()->layout);
}

// dict's item of an object that extends dict: of a key that is not there, what the class says.
AVal Specialiser::item_within(const AVal& a, const AVal& key) {
  const AVal within = dict_within(a);
  const int at = dict_position(within.heap, key);
  if (at >= 0) return read(within.heap).items[static_cast<size_t>(at)];
  const AVal missing = special_method(a, "__missing__");
  if (missing.is(AKind::unbound)) abandon(Reason::raises, "KeyError");
  return call(missing, {key});
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

// A method of dict on what extends it. (`|=` gives the object, and what is not there is asked of its class.)
bool Specialiser::dict_method(const runtime::Native& n, std::vector<AVal>& args) {
  const AVal within = dict_within(args[0]);
  if (within.is(AKind::unbound)) return false;
  for (std::string_view name :
       {"__format__", "__str__", "__repr__", "__reduce__", "__reduce_ex__", "__ior__", "__getitem__"})
    if (n.def->name == name) return false;
  if (overrides(args[0], "__iter__"))
    for (std::string_view copies : {"copy", "__or__", "__ror__"})  // by what its class says that it holds
      if (n.def->name == copies) return false;
  args[0] = within;
  return true;
}

}  // namespace ouro::jit
