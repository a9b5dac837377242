// Autodiff's primitives on abstract values: what runtime/autodiff does with values, done now. Pullbacks, rules, shadow
// maps and residual sequences are structure, so differentiated code leaves nothing of them in the residual program.
#include <fmt/format.h>

#include "ir/effect.h"
#include "ir/grad/reverse.h"
#include "jit/specialise/execute/prims.h"
#include "jit/specialise/execute/recording.h"
#include "jit/specialise/states/join.h"
#include "runtime/autodiff/forms.h"
#include "runtime/autodiff/special.h"
#include "runtime/autodiff/state.h"
#include "runtime/protocol/in_ouro.h"
#include "runtime/protocol/metaclass.h"
#include "runtime/tensor/tensor.h"

namespace ouro::jit {

namespace prim = ir::prim;
namespace ad = runtime::autodiff;
using runtime::cast_exact;
using runtime::kind_of;
using runtime::ObjectKind;
using Args_ = std::vector<AVal>;
using Keywords = std::vector<std::pair<Symbol, AVal>>;

namespace {

bool is_zero(const AVal& a) {
  return a.is(AKind::zero) || is_none(a) || (a.is(AKind::known) && a.known.is(runtime::Tag::zero_cotangent));
}

bool all_zero(const AVal& a) {
  if (is_zero(a)) return true;
  if (!a.is(AKind::tuple)) return false;
  for (const AVal& i : a.items())
    if (!all_zero(i)) return false;
  return true;
}

}  // namespace

// ---------------------------------------------------------------- forward forms

AVal Specialiser::adapter(std::string_view name, const Args_& args) {
  Value f = ad::rules_function(session, name);
  if (f.is_error() || f.is_unbound()) {
    session.pending = Value();
    abandon(Reason::internal, fmt::format("the rule {} is not there", name));
  }
  return call(concrete_function(f), args);
}

// Has it no cotangent as a value? What an object or a function holds has slots, which do not ask who leads to it.
static bool is_no_number(Specialiser& s, const AVal& v) {
  if (v.is(AKind::tuple))
    return std::ranges::all_of(v.items(), [&](const AVal& item) { return is_no_number(s, item); });
  if (v.is(AKind::closure) || v.is(AKind::bound) || v.is(AKind::ref)) return true;
  if (v.is(AKind::known))
    return !v.known.is_float() && kind_of(v.known) != ObjectKind::tensor && kind_of(v.known) != ObjectKind::tuple;
  const ir::Type* t = v.is(AKind::dynamic) ? v.type : nullptr;
  return t && (t->kind == ir::TypeKind::integer || t->kind == ir::TypeKind::boolean || t->kind == ir::TypeKind::string);
}
// Cotangents of default values that differentiated code has computed are not followed.
void Specialiser::need_plain_defaults(const AVal& f) {
  const auto plain = [&](const AVal& v) { return is_no_number(*this, v); };
  if (!f.is(AKind::closure) || !std::ranges::all_of(f.parts->defaults, plain) ||
      !std::ranges::all_of(f.parts->kwdefaults, [&](const auto& k) { return plain(k.second); }))
    abandon(Reason::derivative, "default values that differentiated code computes");
}

AVal Specialiser::forward_of_closure(const AVal& f, bool flat) {
  const auto* made = cast_exact<runtime::Function>(f.parts->function);
  if (made && made->flags & ad::kComputedDefaults) need_plain_defaults(f);
  ad::State::Pair& p = ad::state(session).pairs[f.parts->code.get()];
  if (!p.source) p.source = f.parts->code;
  ir::FunctionRef& form = flat ? p.flat : p.forward;
  if (!form && p.error.empty())
    form = ir::grad::reverse(*f.parts->code, flat, &p.error, ad::follows_tests(session, *f.parts->code));
  if (!form) return AVal::compound(AKind::plain_form, {f});
  auto parts = std::make_shared<AParts>(*f.parts);
  parts->code = form;
  parts->identity = AParts::next_identity++;
  parts->function = Value();
  parts->annotations.clear();
  parts->items.push_back(f);
  if (flat) {
    parts->defaults.clear();
    parts->kwdefaults.clear();
  }
  AVal out = AVal::marker(AKind::closure);
  out.parts = std::move(parts);
  return out;
}

AVal Specialiser::forward_of_native(const Value& f) {
  auto* n = f.as<runtime::Native>();
  if (ad::rules_module(session).is_error()) {
    session.pending = Value();
    abandon(Reason::internal, "the rules of differentiation are not there");
  }
  auto& natives = ad::state(session).natives;
  auto at = natives.find(n->def);
  if (at == natives.end()) {
    // The form of a tensor operation is made when it is first asked for.
    if (ad::forward_form(session, f).is_error()) session.pending = Value();
    at = natives.find(n->def);
  }
  if (at == natives.end()) return AVal::compound(AKind::plain_form, {AVal::of(f)});
  AVal form = concrete_function(at->second);
  if (n->self.is_unbound()) return form;
  return adapter("with_holder", {form, AVal::of(n->self), AVal::of(f)});
}

Value Specialiser::model_class(const AVal& a) {
  if (a.is(AKind::ref) && kind_at(a.heap) == AObject::Kind::record) return read(a.heap).cls;
  return a.is(AKind::known) ? ad::model_class(session, a.known) : class_of(a);
}

AVal Specialiser::parts_of_gradient(const AVal& a) {
  if (!a.is(AKind::ref) || kind_at(a.heap) != AObject::Kind::record) return a;
  const Value cls = read(a.heap).cls;
  const Value f = runtime::type_lookup(session, cls.as<runtime::Type>(), intern(ad::kParts));
  return f.is_unbound() ? a : call(concrete_function(f), {a});
}

AVal Specialiser::forward_form(const AVal& given) {
  need_stack("calls nested too deeply");
  const AVal f = one_side(settle(given));
  switch (f.kind) {
    case AKind::closure:
      return forward_of_closure(f, false);
    case AKind::kept:
      return forward_form(f.items()[0]);
    case AKind::bound:
      return adapter("with_holder", {forward_form(f.items()[0]), f.items()[1], f});
    case AKind::known: {
      ObjectKind k = kind_of(f.known);
      if (k == ObjectKind::none) return f;
      if (k == ObjectKind::native) return forward_of_native(f.known);
      if (k == ObjectKind::function) return forward_form(concrete_function(f.known));
      if (k == ObjectKind::static_method)
        return forward_form(concrete_function(f.known.as<runtime::StaticMethod>()->function));
      if (k == ObjectKind::type) {
        auto* t = f.known.as<runtime::Type>();
        if (runtime::called_by_metaclass(session, t))
          return adapter("with_self", {forward_form(called_by(f.known)), f});
        ad::rules_module(session);
        auto& classes = ad::state(session).classes;
        if (auto at = classes.find(t); at != classes.end()) return concrete_function(at->second);
        const bool extends = t->layout == ObjectKind::tuple || t->layout == ObjectKind::dict;
        if (t->builtin || t->is_exception || (t->layout != ObjectKind::instance && !extends))
          return AVal::compound(AKind::plain_form, {f});
        AVal init = type_attr(f.known, intern("__init__"));
        if (extends || has_own_new(f.known))
          return adapter("with_self", {forward_form(protocol_function("construct")), f});
        if (!init.is(AKind::closure)) return AVal::compound(AKind::plain_form, {f});
        return adapter("constructor", {f, init});
      }
      return AVal::compound(AKind::plain_form, {f});
    }
    case AKind::ref:
      if (kind_at(f.heap) == AObject::Kind::instance) {
        auto asked = [&](std::string_view name) {  // a script's __getattr__ is not
          const bool there =
              !class_lookup(f, intern(name)).is(AKind::unbound) || !load_slot(f.heap, intern(name)).is(AKind::unbound);
          return there ? lookup_attr(f, intern(name)) : AVal{};
        };
        if (AVal rule = asked("__forward_form__"); !rule.is(AKind::unbound)) return rule;
        if (AVal as = asked("__differentiates_as__"); !as.is(AKind::unbound)) return forward_form(as);
        AVal method = class_lookup(f, intern("__call__"));
        if (method.is(AKind::closure)) return adapter("with_self", {forward_form(method), f});
      }
      return AVal::compound(AKind::plain_form, {f});
    case AKind::plain_form:
    case AKind::plain_pullback:
      return AVal::compound(AKind::plain_form, {f});
    default:
      abandon(Reason::derivative, "the derivative of a function that is not followed");
  }
}

AVal Specialiser::forward_method(const AVal& receiver, Symbol name) {
  if (is_instance(receiver)) {
    AVal method = class_lookup(receiver, name);
    if (method.is(AKind::closure) && own_attribute(receiver, name).is(AKind::unbound))
      return forward_of_closure(method, false);
  } else if (!(receiver.is(AKind::known) &&
               (kind_of(receiver.known) == ObjectKind::module || kind_of(receiver.known) == ObjectKind::type)) &&
             !receiver.is(AKind::super) && !receiver.is(AKind::closure)) {
    Value cls = class_of(receiver);
    Value method = runtime::type_lookup(session, cls.as<runtime::Type>(), name);
    if (kind_of(method) == ObjectKind::native && method.as<runtime::Native>()->self.is_unbound())
      return forward_of_native(method);
  }
  const AVal f = get_attr(receiver, name);
  if (f.extends_tuple() && class_lookup(f, intern("__call__")).is(AKind::closure))
    return forward_form(adapter("attribute_caller", {AVal::of(runtime::make_str(name.text()))}));
  return adapter("without_self", {forward_form(f)});
}

AVal Specialiser::recorded(const AVal& of, const AVal& f, const Args_& args, const Keywords& keywords) {
  Recording recording(*this);
  AVal y = call(f, args, keywords);
  std::vector<AVal> items{of};
  items.insert(items.end(), recording.pullbacks.begin(), recording.pullbacks.end());
  return AVal::tuple({y, AVal::compound(AKind::plain_pullback, std::move(items))});
}

AVal Specialiser::recorded_call(const AVal& f, const Args_& args, const Keywords& keywords) {
  if (!keywords.empty())
    abandon(Reason::derivative, "a call by keyword from a built-in function in differentiated code");
  Recording& recording = *recording_;
  const RecordingSet outside(*this, recording.set.before);  // while the function's form runs
  const AVal pair = call(forward_form(f), args);
  recording.pullbacks.push_back(items_of(pair, "is a pair").at(1));
  return items_of(pair, "is a pair").at(0);
}

// A forward form or pullback of something without a rule is called.
AVal Specialiser::call_plain(const AVal& f, const Args_& args, const Keywords& keywords) {
  if (f.is(AKind::plain_form)) {
    const AVal& what = f.items()[0];
    if (!what.is(AKind::closure)) return recorded(what, what, args, keywords);
    AVal y = call(what, args, keywords);
    return AVal::tuple({y, AVal::compound(AKind::plain_pullback, {what})});
  }
  for (size_t i = f.items().size(); i-- > 1;)
    if (!all_zero(call(f.items()[i], {zero(), args.at(1)})))
      abandon(Reason::derivative, "the derivative of a value that a built-in function hands to a function");
  if (is_none(f.items()[0]) || all_zero(args.at(0))) return none();
  // A pullback that gave zero is the constant zero to the next order.
  const AVal* inner = &f.items()[0];
  while (inner->is(AKind::plain_form)) inner = &inner->items()[0];
  if (inner->is(AKind::plain_pullback)) return none();
  abandon(Reason::derivative, fmt::format("'{}' is not differentiable", callee_name(f.items()[0])));
}

// ---------------------------------------------------------------- cotangents

AVal Specialiser::like_of(const AVal& of) {
  const AVal v = native_of(of).is(AKind::unbound) ? of : native_of(of);
  const ir::Type* t = type_of(v);
  if (t && t->kind == ir::TypeKind::floating) return AVal::of(Value::floating(0));
  if (is_tensor(v)) {
    if (!is_float(v.type->dtype)) return none();
    AVal out = AVal::marker(AKind::like);
    out.type = v.type;
    return out;
  }
  if (is_set_of_keys(v)) return none();
  if (v.is(AKind::dynamic) && !v.type) abandon(Reason::derivative, "the derivative of a value whose type is not known");
  if (v.is(AKind::known) && (!v.known.is_object() || kind_of(v.known) == ObjectKind::str)) return none();
  if (t) return none();
  return v;
}

bool Specialiser::cotangent_is_zero(const AVal& a) {
  if (a.is(AKind::dynamic) && !a.type) abandon(Reason::derivative, "a cotangent whose type is not known");
  return is_zero(a);
}

// dy as a cotangent of what `kept` stands for: summed over broadcast dims, in its dtype and kind.
AVal Specialiser::fit(const AVal& dy, const AVal& kept) {
  if (is_none(kept) || cotangent_is_zero(dy)) return zero();
  const ir::Type* t = type_of(kept);
  if (t && t->kind == ir::TypeKind::floating) {
    const ir::Type* d = type_of(dy);
    if (d && d->kind == ir::TypeKind::floating) return dy;
    if (d && (d->kind == ir::TypeKind::integer || d->kind == ir::TypeKind::boolean))
      return binary(prim::truediv, dy, AVal::of(Value::integer(1)));
    if (!is_tensor(dy)) return dy;
    AVal total = dy.type->rank() ? tensor_op("sum", {dy}) : dy;
    return tensor_item(total);
  }
  if (kept.is(AKind::dynamic) && !t) abandon(Reason::derivative, "what was kept of an operand comes from outside");
  if (!kept.is(AKind::like)) return dy;
  AVal dtype = AVal::of(runtime::make_dtype(session, kept.type->dtype));
  std::vector<AVal> shape;
  for (const ir::SymDim& d : kept.type->dims) shape.push_back(size(d));
  if (!is_tensor(dy)) return tensor_op("full", {AVal::tuple(std::move(shape)), dy, dtype});
  AVal out = dy;
  if (out.type->dims != kept.type->dims) {
    size_t extra = out.type->rank() > kept.type->rank() ? out.type->rank() - kept.type->rank() : 0;
    std::vector<AVal> axes;
    for (size_t i = 0; i < out.type->rank(); ++i) {
      bool repeated = i < extra || (kept.type->dims[i - extra] == ir::SymDim::number(1) &&
                                    out.type->dims[i] != ir::SymDim::number(1));
      if (repeated) axes.push_back(AVal::of(Value::integer(static_cast<int64_t>(i))));
    }
    if (!axes.empty()) out = tensor_op("sum", {out, AVal::tuple(std::move(axes))});
    if (out.type->dims != kept.type->dims) {
      bool same_rank = out.type->rank() == kept.type->rank();
      out = tensor_op(same_rank ? "expand" : "reshape", {out, AVal::tuple(std::move(shape))});
    }
  }
  if (out.type->dtype != kept.type->dtype) out = tensor_op("astype", {out, dtype});
  return out;
}

AVal Specialiser::cotangent_add(const AVal& a, const AVal& b) {
  if (cotangent_is_zero(a) || a.is(AKind::unbound)) return cotangent_is_zero(b) ? zero() : b;
  if (cotangent_is_zero(b)) return a;
  const auto is_tuple = [](const AVal& v) {  // of numbers that are known, it may be known as a whole
    return v.is(AKind::tuple) || (v.is(AKind::known) && cast_exact<runtime::Tuple>(v.known));
  };
  if (is_tuple(a) && is_tuple(b)) {
    const std::vector<AVal> x = items_of(a, "is a cotangent"), y = items_of(b, "is a cotangent");
    std::vector<AVal> out;
    for (size_t i = 0; i < std::max(x.size(), y.size()); ++i)
      out.push_back(cotangent_add(i < x.size() ? x[i] : zero(), i < y.size() ? y[i] : zero()));
    return AVal::tuple(std::move(out));
  }
  if (a.is(AKind::kept) || a.is(AKind::closure)) return a;
  return binary(prim::add, a, b);
}

AVal Specialiser::cotangent_item(const AVal& t, int64_t i) {
  if (cotangent_is_zero(t)) return zero();
  if (t.is(AKind::tuple)) {
    if (static_cast<size_t>(i) >= t.items().size()) return zero();
    const AVal& v = t.items()[static_cast<size_t>(i)];
    return is_none(v) ? zero() : v;
  }
  if (t.is(AKind::known) && cast_exact<runtime::Tuple>(t.known)) {
    std::vector<AVal> items = items_of(t, "is a cotangent");
    return static_cast<size_t>(i) < items.size() && !is_none(items[static_cast<size_t>(i)])
               ? items[static_cast<size_t>(i)]
               : zero();
  }
  return zero();
}

AVal Specialiser::cotangent_add_item(const AVal& sum, const AVal& dy, const AVal& index, const AVal& kept,
                                     const AVal& env) {
  if (is_none(kept) || kept.is(AKind::kept) || cotangent_is_zero(dy)) return sum;
  if (kept.is(AKind::like)) {
    AVal base = is_zero(sum) ? zero_of(kept.type, kept) : sum;
    return add_at(base, index, dy);
  }
  if (kept.is(AKind::tuple)) {
    std::vector<AVal> d(kept.items().size(), zero());
    if (index.is(AKind::slice)) {
      Value sl = concrete_slice(index);
      int64_t start, stop, step;
      int64_t n =
          runtime::slice_indices(session, *sl.as<runtime::Slice>(), static_cast<int64_t>(d.size()), start, stop, step);
      for (int64_t k = 0; k < n; ++k) d[static_cast<size_t>(start + k * step)] = cotangent_item(dy, k);
    } else {
      int64_t i = need_int(index, "is an index");
      if (i < 0) i += static_cast<int64_t>(d.size());
      d.at(static_cast<size_t>(i)) = dy;
    }
    return cotangent_add(sum, AVal::tuple(std::move(d)));
  }
  if (kept.is(AKind::dynamic)) abandon(Reason::derivative, "what was kept of an operand comes from outside");
  if (kept.is(AKind::ref)) shadow_add(env, kept, index, dy);
  return sum;
}

// ---------------------------------------------------------------- shadow maps

const AVal& source_of_form(const AVal& f) {
  const AVal* at = &f;
  while (at->is(AKind::closure) && ir::grad::is_forward_form(*at->parts->code) && !at->items().empty() &&
         at->items().back().is(AKind::closure))
    at = &at->items().back();
  return *at;
}

std::string Specialiser::identity_text(const AVal& a) {
  switch (a.kind) {
    case AKind::ref: {
      const AVal dict = dict_within(a);  // an object that extends dict has its slots
      return fmt::format("h{}", dict.is(AKind::unbound) ? a.heap : dict.heap);
    }
    case AKind::closure: {
      const AParts& f = *source_of_form(a).parts;
      if (!f.function.is_unbound()) return fmt::format("f{:x}", reinterpret_cast<uintptr_t>(f.function.object()));
      return fmt::format("c{}", f.identity);
    }
    case AKind::bound:
      if (a.items()[1].is(AKind::ref))
        return fmt::format("b({})({})", identity_text(a.items()[0]), identity_text(a.items()[1]));
      return fmt::format("m{}", a.parts->identity);  // of a value
    case AKind::known:
      if (auto* s = cast_exact<runtime::Str>(a.known)) return fmt::format("s{}:{}", s->size, s->view());
      if (a.known.is_int() || a.known.is_bool()) return fmt::format("i{}", a.known.as_int());
      if (a.known.is_object() && kind_of(a.known) != ObjectKind::tuple)
        return fmt::format("k{:x}", reinterpret_cast<uintptr_t>(a.known.object()));
      if (kind_of(a.known) == ObjectKind::tuple) {
        std::string out = "t(";
        for (const AVal& i : items_of(a, "is a key")) out += identity_text(i) + ",";
        return out + ")";
      }
      return {};
    case AKind::tuple: {
      std::string out = "t(";
      for (const AVal& i : a.items()) out += identity_text(i) + ",";
      return out + ")";
    }
    case AKind::dynamic:
      if (a.type && a.type->kind == ir::TypeKind::integer) return fmt::format("i{}", need_int(a, "is a key"));
      abandon(Reason::derivative, "the derivative through an object that is not followed");
    case AKind::slice:  // two that are equal are still two
    case AKind::range:
      return fmt::format("l{}", a.parts->identity);
    default:
      abandon(Reason::derivative, "the derivative through an object that is not followed");
  }
}

// Who the object is, and the slot: a key as it is, for a dict compares keys as the interpreter's shadow maps do, else
// who it is.
Value Specialiser::shadow_key(const AVal& object, const AVal& at) {
  const AVal slot = as_value(at);
  if (!native_of(slot).is(AKind::unbound))
    abandon(Reason::class_hook, "a place by an object that extends a built-in class");
  const Value who = runtime::make_str(identity_text(object));
  const bool of_shadow = object.is(AKind::ref) && kind_at(object.heap) == AObject::Kind::shadow;
  if (of_shadow && slot.is(AKind::tuple) && slot.items().size() == 2)
    return runtime::make_tuple({who, shadow_key(slot.items()[0], slot.items()[1])});
  if (slot.is(AKind::known) || slot.is(AKind::tuple) || slot.is(AKind::dynamic))
    return runtime::make_tuple({who, need_key(slot, "is a key")});
  return runtime::make_tuple({who, runtime::make_str(identity_text(slot)), Value::none()});
}

void Specialiser::shadow_add(const AVal& env, const AVal& object, const AVal& slot, const AVal& d) {
  if (cotangent_is_zero(d) || all_zero(d)) return;  // of a tensor's shape, too, which is a tuple
  if (object.is(AKind::known) && slot.is(AKind::known) && runtime::autodiff::is_zero_global(object.known, slot.known))
    return;
  if (is_sent(env, object)) return send(env, object, slot, d);
  shadow_put(env, object, slot, cotangent_add(shadow_peek(env, object, slot), d));
}

AVal Specialiser::shadow_peek(const AVal& env, const AVal& object, const AVal& slot) {
  need_map(env, object);
  const int i = key_position(read(env.heap).keys, shadow_key(object, slot));
  if (i < 0) return zero();
  const AVal& v = read(env.heap).items[static_cast<size_t>(i)];
  return v;
}

AVal Specialiser::shadow_take(const AVal& env, const AVal& object, const AVal& slot) {
  AVal v = shadow_peek(env, object, slot);
  if (!is_zero(v)) shadow_put(env, object, slot, zero());
  return v;
}

void Specialiser::shadow_put(const AVal& env, const AVal& object, const AVal& slot, const AVal& d) {
  need_map(env, object);
  const Value key = shadow_key(object, slot);
  AObject& e = write(env.heap);
  const int i = key_position(e.keys, key);
  if (i >= 0) {
    e.items.edit(static_cast<size_t>(i)) = d;
  } else if (!is_zero(d)) {
    e.keys.push_back(AVal::of(key));
    e.items.push_back(d);
  }
}

// The place of the list's item that a key stands for; -1: of another object, or no item.
static int64_t place_of_key(const Value& key, const Value& who) {
  const auto* pair = cast_exact<runtime::Tuple>(key);
  if (!pair || pair->size != 2 || !(*pair)[1].is_int()) return -1;
  const auto *a = cast_exact<runtime::Str>((*pair)[0]), *b = cast_exact<runtime::Str>(who);
  return a && b && a->view() == b->view() ? (*pair)[1].as_int() : -1;
}

void Specialiser::shadow_move(const AVal& env, const AVal& list, int64_t at, bool open) {
  need_map(env, list);
  const Value who = runtime::make_str(identity_text(list));
  const AObject before = read(env.heap);
  AObject& e = write(env.heap);
  e.keys.clear();
  e.items.clear();
  for (size_t k = 0; k < before.keys.size(); ++k) {
    AVal key = before.keys[k];
    const int64_t i = place_of_key(key.known, who);
    if (!open && i == at) continue;
    if (i >= (open ? at : at + 1)) key = AVal::of(runtime::make_tuple({who, Value::integer(open ? i + 1 : i - 1)}));
    e.keys.push_back(std::move(key));
    e.items.push_back(before.items[k]);
  }
}

int64_t Specialiser::shadow_count(const AVal& env, const AVal& list) {
  need_map(env, list);
  const Value who = runtime::make_str(identity_text(list));
  int64_t n = 0;
  for (const AVal& key : read(env.heap).keys) n = std::max(n, place_of_key(key.known, who) + 1);
  return n;
}

// ---------------------------------------------------------------- the table

namespace {

using S = Specialiser;
using L = ir::Let;

AVal g_rule(S& s, const L& l, const Args_& a, bool always) {
  for (size_t i = 1; i < a.size(); ++i)
    if (a[i].is(AKind::kept)) return s.rules_value("special_caller");
  if (!always && is_zero(a[0])) return none();
  Value rule = ad::find_rule(s.session, Symbol::from_id(l.attr).text());
  if (rule.is_error()) {
    s.session.pending = Value();
    s.abandon(Reason::raises, "a rule that raises");
  }
  if (!rule.is_unbound()) return kind_of(rule) == ObjectKind::function ? s.concrete_function(rule) : AVal::of(rule);
  if (always && is_zero(a[0])) return none();
  s.abandon(Reason::derivative, fmt::format("operation '{}' has no derivative", Symbol::from_id(l.attr).text()));
}

AVal pair_item(S& s, const AVal& pair, size_t i) {
  if (is_none(pair)) return none();
  return s.items_of(pair, "is a pair").at(i);
}

AVal g_keep(S& s, const Args_& a) {
  if (is_none(a[0])) return a[1];
  return AVal::compound(AKind::kept, {pair_item(s, a[0], 1)});
}

AVal g_try_call(S& s, AFrame& f, const L& l, const Args_& a) {
  if (is_none(a[0])) return none();
  return s.exec_call(f, l);
}

}  // namespace

bool Specialiser::is_rule(const ir::Function& code) const {
  const SourceFile* file = session.sources.file(code.span.file);
  return file && file->name().starts_with("ouro/grad_rules/");
}
bool Specialiser::is_derived(const ir::Function& code) const {
  return is_rule(code) || ir::grad::is_forward_form(code) || code.name.text().ends_with("'");
}

AVal Specialiser::rules_value(std::string_view name) {
  Value f = ad::rules_function(session, name);
  if (f.is_error() || f.is_unbound()) {
    session.pending = Value();
    abandon(Reason::internal, fmt::format("the rule {} is not there", name));
  }
  return kind_of(f) == ObjectKind::function ? concrete_function(f) : AVal::of(f);
}

namespace handlers {

AVal ad_forward(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) { return s.forward_form(a[0]); }
AVal ad_method(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) {
  return s.forward_method(a[0], Symbol::from_id(l.attr));
}
AVal ad_special(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) {
  return s.forward_special(Symbol::from_id(l.attr).text(), a);
}
AVal ad_try_call(Specialiser& s, AFrame& f, const ir::Let& l, std::vector<AVal>& a) { return g_try_call(s, f, l, a); }
AVal ad_value(Specialiser& s, AFrame& f, const ir::Let& l, std::vector<AVal>& a) {
  if (!is_none(a[0])) return pair_item(s, a[0], 0);
  const std::string_view name = Symbol::from_id(l.attr).text();
  const auto op = ir::op_by_name(name);
  if (!op || (!ir::is_test(*op) && *op != prim::format)) return s.plain_primitive(f, name, {a.begin() + 1, a.end()});
  Specialiser::Recording recording(s);
  AVal y = s.plain_primitive(f, name, {a.begin() + 1, a.end()});
  if (!recording.pullbacks.empty())
    s.abandon(Reason::derivative, "an operation that asks objects in a container, in differentiated code");
  return y;
}
AVal ad_bind(Specialiser& s, AFrame& f, const ir::Let& l, std::vector<AVal>& a) {
  return s.bind_call(f.code->calls[l.attr], a);
}
AVal ad_unbind(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) {
  return s.unbind_call(a[0], a[1], a[2]);
}
AVal ad_flat(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) { return s.flat_form(a[0]); }
AVal ad_part(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) { return pair_item(s, a[0], l.attr); }
AVal ad_keep(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) { return g_keep(s, a); }
AVal ad_like(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) {
  return is_none(a[0]) ? s.like_of(a[1]) : g_keep(s, a);
}
AVal ad_select(Specialiser&, AFrame&, const ir::Let& l, std::vector<AVal>& a) {
  return is_none(a[0]) == (l.attr == 0) ? a[1] : zero();
}
AVal ad_rule(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) { return g_rule(s, l, a, false); }
AVal ad_always(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) { return g_rule(s, l, a, true); }
AVal ad_get(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) { return s.cotangent_item(a[0], l.attr); }
AVal ad_one_hot(Specialiser&, AFrame&, const ir::Let& l, std::vector<AVal>& a) {
  if (is_zero(a[0])) return zero();
  std::vector<AVal> t(l.attr, zero());
  t.push_back(a[0]);
  return AVal::tuple(std::move(t));
}
AVal ad_add(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) { return s.cotangent_add(a[0], a[1]); }
AVal ad_item(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) {
  return s.cotangent_add_item(a[0], a[1], a[2], a[3], a[4]);
}
AVal ad_index(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) { return s.list_index(a[0], a[1]); }
AVal ad_acc(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) {
  s.shadow_add(a[0], a[1], a[2], a[3]);
  return none();
}
AVal ad_take(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) { return s.shadow_take(a[0], a[1], a[2]); }
AVal ad_peek(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) { return s.shadow_peek(a[0], a[1], a[2]); }
AVal ad_put(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) {
  s.shadow_put(a[0], a[1], a[2], a[3]);
  return none();
}
AVal ad_source(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) { return s.iterator_source(a[0]); }
AVal ad_places(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) { return s.places_of(a[0]); }
AVal ad_globals(Specialiser&, AFrame& f, const ir::Let&, std::vector<AVal>&) { return AVal::of(f.globals); }
AVal ad_enters_tensor(Specialiser& s, AFrame& f, const ir::Let& l, std::vector<AVal>& a) {
  return AVal::of(Value::boolean(s.enters_tensor(f.code->paths[l.attr], f.globals, a)));
}
AVal ad_place(Specialiser& s, AFrame& f, const ir::Let& l, std::vector<AVal>& a) {
  return s.place_of(f.code->paths[l.attr], f.globals, a);
}
AVal ad_update(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) {
  return s.update_back(a[0], a[1], a[2]);
}
AVal ad_fail(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) {
  if (is_zero(a[0])) return none();
  s.abandon(Reason::derivative, fmt::format("operation '{}' has no derivative", Symbol::from_id(l.attr).text()));
}
}  // namespace handlers

AVal Specialiser::flat_form(const AVal& form) {
  if (!form.is(AKind::closure) || !ir::grad::is_forward_form(*form.parts->code)) return form;
  const AVal& source = form.items().back();  // rules of natives have it as it is
  return forward_of_closure(source.is(AKind::closure) ? source : concrete_function(source.known), true);
}

AVal Specialiser::list_index(const AVal& container, const AVal& at) {
  const AVal index = as_value(at);
  if (is_computed_index(index)) return index;  // a place that no cotangent may have
  if (container.is(AKind::ref) && kind_at(container.heap) == AObject::Kind::list && is_number(index)) {
    int64_t i = need_int(index, "is an index");
    if (i < 0) i += static_cast<int64_t>(read(container.heap).items.size());
    return AVal::of(Value::integer(i));
  }
  return index;
}

}  // namespace ouro::jit
