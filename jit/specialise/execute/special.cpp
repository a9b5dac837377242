// What primitives call in scripts' classes, on abstract values (runtime/autodiff/special.h), and the primitives
// themselves.
#include <fmt/format.h>

#include "ir/effect.h"
#include "jit/specialise/execute/prims.h"
#include "runtime/autodiff/special.h"
#include "runtime/autodiff/state.h"
#include "runtime/protocol/in_ouro.h"

namespace ouro::jit {

namespace prim = ir::prim;
namespace ad = runtime::autodiff;
using runtime::cast_exact;
using runtime::kind_of;
using runtime::ObjectKind;
using Args_ = std::vector<AVal>;

namespace {

// What runtime/autodiff/special.h asks of abstract values.
struct Operands {
  Specialiser& s;
  const Args_& args;

  bool is_a(size_t i, AObject::Kind kind) const {
    return i < args.size() && args[i].is(AKind::ref) && s.kind_at(args[i].heap) == kind;
  }
  const AVal& at(size_t i) const {
    if (i >= args.size()) s.abandon(Reason::internal, "a rule with too few operands");
    return args[i];
  }
  Symbol name() const { return s.need_name(at(1)); }
  const runtime::Type* type() const { return s.class_of_instance(at(0)); }
  // Does the class say how this attribute is had: by a property, a descriptor?
  bool computed(const AVal& found) const {
    return (found.is(AKind::known) && kind_of(found.known) == ObjectKind::property) || s.is_instance(found);
  }

  size_t count() const { return args.size(); }
  bool scripted(size_t i) const { return s.is_instance(at(i)); }
  bool holds_dict(size_t i) const { return i < args.size() && !s.dict_within(args[i]).is(AKind::unbound); }
  bool written(size_t i, std::string_view special) const {  // by a script
    return s.class_lookup(at(i), intern(special)).is(AKind::closure);
  }
  bool extends_container(size_t i) const {  // others than tuples and dicts are the interpreter's
    return i < args.size() && (args[i].extends_tuple() || holds_dict(i)) && !s.overrides(args[i], "__iter__");
  }
  bool list(size_t i) const { return is_a(i, AObject::Kind::list); }
  bool tuple(size_t i) const { return i < args.size() && args[i].is(AKind::tuple); }
  bool dict(size_t i) const { return is_a(i, AObject::Kind::dict) || holds_dict(i); }
  bool set(size_t i) const { return is_a(i, AObject::Kind::set); }
  bool gradient(size_t i) const { return is_a(i, AObject::Kind::record); }
  bool slice(size_t i) const { return i < args.size() && args[i].is(AKind::slice); }
  bool tensor(size_t i) const { return s.is_tensor(at(i)); }
  bool asks(size_t i, std::string_view special) const { return scripted(i) && (!holds_dict(i) || written(i, special)); }
  bool holds_objects(size_t) const { return false; }  // ad_value looks
  bool by_index() const { return false; }             // an object there is the interpreter's
  bool has(size_t i, std::string_view special) const { return asks(i, special); }  // else the text looks
  bool asked_as_key(size_t i) const { return scripted(i) && (written(i, "__hash__") || written(i, "__eq__")); }
  bool drawn(size_t i) const {
    if (s.is_set_of_keys(at(i))) return true;
    if (at(i).is(AKind::known) && kind_of(at(i).known) == runtime::ObjectKind::frozenset) return true;
    if (at(i).is(AKind::dynamic) && !at(i).type)
      s.abandon(Reason::unknown_value, "items of a value whose type is not known");
    return (scripted(i) && !extends_container(i)) || is_a(i, AObject::Kind::iterator) || dict(i) ||
           is_a(i, AObject::Kind::set) || at(i).is(AKind::view);
  }
  // A generator in differentiated code; next() reads the protocol of others itself.
  bool iterator_of_script(size_t i) const {
    return s.is_instance(at(i)) && s.class_of(at(i)).same(ad::rules_function(s.session, "generator"));
  }
  std::string_view text(size_t i) const {
    auto* t = i < args.size() ? cast_exact<runtime::Str>(s.need_constant(args[i], "is an attribute's name")) : nullptr;
    return t ? t->view() : std::string_view();
  }
  bool value_method() const {
    if (count() > 0 && args[0].extends_tuple()) {
      const AVal m = s.class_lookup(args[0], name());
      return m.is(AKind::closure) || (m.is(AKind::known) && kind_of(m.known) == ObjectKind::native);
    }
    const ir::Type* t = s.type_of(at(0));
    const bool floating = t && t->kind == ir::TypeKind::floating;
    if (!floating && !s.is_tensor(at(0))) return false;
    runtime::Type* cls = s.session.type(floating ? runtime::ObjectKind::floating : runtime::ObjectKind::tensor);
    return kind_of(runtime::type_lookup(s.session, cls, name())) == ObjectKind::native;
  }
  bool called_value() const { return count() > 0 && args[0].extends_tuple() && written(0, "__call__"); }
  // Classes are made and written to by the interpreter; what extends a built-in class is its, too.
  bool identified() const { return false; }
  bool data_of_class() const { return false; }
  bool load_of_class_asks() const { return false; }
  bool stores_in_class() const { return false; }
  bool missing() const { return holds_dict(0) && written(0, "__missing__"); }
  bool slots_by_item() const { return holds_dict(0); }
  bool dict_of_class() const { return false; }
  bool made_generic() const { return false; }
  bool computed() const {
    const ir::Type* t = s.type_of(at(0));
    return t && t->kind == ir::TypeKind::floating;
  }
  bool load_asks() const {
    if (!scripted(0)) return false;
    AVal found = s.class_lookup(at(0), name());
    return computed(found) || type()->has_getattribute ||
           (type()->has_getattr && found.is(AKind::unbound) && s.own_attribute(at(0), name()).is(AKind::unbound));
  }
  bool delete_asks() const {
    return scripted(0) &&
           (computed(s.class_lookup(at(0), name())) || s.class_lookup(at(0), intern("__delattr__")).is(AKind::closure));
  }
  bool store_asks() const { return scripted(0) && (computed(s.class_lookup(at(0), name())) || type()->has_setattr); }
};

}  // namespace

bool Specialiser::load_is_called(const AVal& object, Symbol name) {
  const Args_ operands{object, AVal::of(session.str(name))};
  return ad::called_by(prim::attr_get, Operands{*this, operands}).by != ad::Called::By::nothing;
}

bool Specialiser::update_is_called(const Args_& operands) {
  return ad::called_by(prim::update, Operands{*this, operands}).by != ad::Called::By::nothing;
}

AVal Specialiser::forward_special(std::string_view name, const Args_& args) {
  const bool caught = name.starts_with(ad::kCaught);
  if (caught) name.remove_prefix(ad::kCaught.size());
  const auto op = ir::op_by_name(name);
  if (!op || ir::is_tensor_op(*op)) return none();
  Args_ operands = args;
  if (ir::is_operator(*op) || ir::is_test(*op) || *op == prim::item_get || *op == prim::iter)
    for (AVal& a : operands) a = as_value(a);
  const ad::Called called = ad::called_by(*op, Operands{*this, operands});
  const auto form_of = [&](const AVal& f) {
    return caught ? AVal::compound(AKind::bound, {rules_value("caught"), f}) : forward_form(f);
  };
  switch (called.by) {
    case ad::Called::By::nothing:
      return none();
    case ad::Called::By::text:
      return form_of(protocol_function(called.function));
    case ad::Called::By::form:
      return caught ? adapter("formed", {rules_value(called.function)}) : rules_value(called.function);
    case ad::Called::By::rule:
      return form_of(rules_value(called.function));
    case ad::Called::By::recorded:
      abandon(Reason::derivative, "an operation that may call scripts, in differentiated code");
  }
  return none();
}

// A primitive by name, as ad.value has it: an attribute stands among the operands, a name second, a number last.
AVal Specialiser::plain_primitive(AFrame& f, std::string_view name, Args_ a) {
  const auto op = ir::op_by_name(name);
  if (!op || ir::is_tensor_op(*op) || !handler_of(*op).execute)
    abandon(Reason::derivative, fmt::format("{} in differentiated code", name));
  ir::Let let{};
  let.op = *op;
  const ir::AttrKind attr = ir::kPrims[static_cast<size_t>(*op)].attr;
  if (attr == ir::AttrKind::symbol) {
    let.attr = need_name(a[1]).id();
    a.erase(a.begin() + 1);
  } else if (attr == ir::AttrKind::integer) {
    let.attr = static_cast<uint32_t>(need_int(a.back(), "is a conversion"));
    a.pop_back();
  }
  return handler_of(*op).execute(*this, f, let, a);
}

}  // namespace ouro::jit
