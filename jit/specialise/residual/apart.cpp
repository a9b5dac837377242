// Recursion over data, in a forward form that is compiled by itself (jit/specialise/residual/waiting.cpp).
//
//     def encode(self, node):                             the form's program for an inner node
//         if node.left is None: ...                         w = call_apart(form of encode, (self, node.left))
//         l = self.encode(node.left)              ──►       l, back = the parts of w
//         r = self.encode(node.right)                       ...
//         return self.cell(l, r)                            ad.wait
//                                                           what is known so far goes to the run-time shadow map
//                                                           pull_apart(back, the cotangent of l, the map)
//
// If the inner call were a part of the program, each shape of a tree would have a program of its own. As a call it has
// what encode has: a version for leaves and one for inner nodes. It is the interpreter's call of the form, which has
// its own program, so runs wait inside of each other.
//
// Compiled code does all of such a call, or nothing of it is done: then the run is left up to the first call that the
// interpreter has made, which it does from the beginning (runtime/autodiff/apart.h). So an inner call changes nothing
// that the program has read, and what it raises is raised by the interpreter.
//
// What the call gives must be known: its kinds are those that the same call gives as a part of the program. A second
// specialiser, whose program nobody keeps (`request.probes`), executes it for that, down to the first leaf; there each
// other inner call gives what the first one gave. At run time the kinds are checked, and the form's result must have
// the same ones. The pullback's contributions stay in the order of the interpreter's: those of the program so far go to
// the map before the inner pullback runs. From then on nothing can be done again, so the program is not left.
//
// No argument may have a cotangent of its own: objects, lists and dicts, numbers that are no floats, texts, functions,
// and tuples without floats and tensors, which the run looks at. A list, dict or tuple within an argument is passed on
// without being looked into (`request.shallow`), for the program of an inner node must not stand on what is below it.
#include <fmt/format.h>

#include "ir/grad/reverse.h"
#include "jit/specialise/specialiser.h"
#include "runtime/autodiff/apart.h"
#include "runtime/autodiff/autodiff.h"
#include "runtime/tensor/tensor.h"

namespace ouro::jit {

namespace ad = runtime::autodiff;
namespace prim = ir::prim;
using ir::Atom;
using runtime::cast_exact;
using runtime::kind_of;
using runtime::ObjectKind;
using Keywords = std::vector<std::pair<Symbol, AVal>>;

namespace {

// The kinds of a result; none: something that a program cannot hold without a box, or whose sizes depend on data.
std::optional<Value> kinds_of(const Specialiser& s, const AVal& v) {
  if (v.is(AKind::tuple) && !v.extends_tuple()) {
    std::vector<Value> items;
    for (const AVal& i : v.items()) {
      const auto kind = kinds_of(s, i);
      if (!kind) return {};
      items.push_back(*kind);
    }
    return runtime::make_tuple(std::span<const Value>(items));
  }
  const ir::Type* t = s.type_of(v);
  if (!t) return {};
  if (t->kind == ir::TypeKind::floating) return runtime::make_str("float");
  if (t->kind == ir::TypeKind::integer) return runtime::make_str("int");
  if (t->kind == ir::TypeKind::boolean) return runtime::make_str("bool");
  if (t->kind == ir::TypeKind::none) return runtime::make_str("None");
  if (!t->is_tensor()) return {};
  std::vector<int64_t> shape;
  for (const ir::SymDim& d : t->dims) {
    if (!d.known()) return {};
    shape.push_back(d.c);
  }
  return runtime::make_str(ad::kind_text(t->dtype, shape));
}

bool same_kinds(const Value& a, const Value& b) {
  const auto *x = cast_exact<runtime::Tuple>(a), *y = cast_exact<runtime::Tuple>(b);
  if (!x || !y) return !x && !y && a.as<runtime::Str>()->view() == b.as<runtime::Str>()->view();
  if (x->size != y->size) return false;
  for (size_t i = 0; i < x->size; ++i)
    if (!same_kinds((*x)[i], (*y)[i])) return false;
  return true;
}

}  // namespace

// What a call has been found to give: its kinds, and their types in order.
struct ApartResult {
  Value kinds;  // unbound: no kinds
  std::vector<const ir::Type*> types;

  void read(const Specialiser& s, const AVal& v) {
    if (const auto found = kinds_of(s, v)) {
      kinds = *found;
      types.clear();
      add_types(s, v);
    }
  }
  // The value whose parts are these.
  AVal value(const std::vector<AVal>& parts) const {
    size_t next = 0;
    return value_of(kinds, parts, next);
  }

 private:
  void add_types(const Specialiser& s, const AVal& v) {
    if (v.is(AKind::tuple))
      for (const AVal& i : v.items()) add_types(s, i);
    else
      types.push_back(s.type_of(v));
  }
  static AVal value_of(const Value& kinds, const std::vector<AVal>& parts, size_t& next) {
    const auto* of = cast_exact<runtime::Tuple>(kinds);
    if (!of) return parts[next++];
    std::vector<AVal> items;
    for (size_t i = 0; i < of->size; ++i) items.push_back(value_of((*of)[i], parts, next));
    return AVal::tuple(std::move(items));
  }
};

// An object outside, or what a program may hold; its value as the call of the version has it.
std::optional<Value> Specialiser::seen_value(const AVal& v) const {
  if (v.is(AKind::known)) return v.known;
  if (v.is(AKind::ref) && read(v.heap).external && !read(v.heap).concrete.is_unbound()) return read(v.heap).concrete;
  if (!v.is(AKind::dynamic)) return {};
  if (const auto at = unfollowed_.find(v.node); !v.type && at != unfollowed_.end()) return at->second;
  return witness(v);
}

// Does the function of this form call itself, and can the call stand apart?
bool Specialiser::may_stand_apart(const AVal& form, const std::vector<AVal>& args) const {
  const ir::FunctionRef& fn = form.parts->code;
  if (!(request_.waits || request_.probes) || in_try_ || recording_ || session.devices.used()) return false;
  if (!ir::grad::is_forward_form(*fn) || !is_of_script(fn->span)) return false;
  // The form of this very function is a constant of the program; one that captures something may be made anew.
  const auto* source = cast_exact<runtime::Function>(source_of_form(form).parts->function);
  if (!source || !source->captures.empty()) return false;
  if (fn->sig.varargs || fn->sig.varkw || fn->sig.kwonly || fn->sig.count() != args.size()) return false;
  const bool active = std::ranges::any_of(frames_, [&](const AFrame* f) { return f->code == fn; });
  return active && std::ranges::all_of(args, [&](const AVal& v) {
           const ir::Type* t = type_of(v);
           const bool object =
               v.is(AKind::ref) || (v.is(AKind::known) && v.known.is_object() &&
                                    kind_of(v.known) != ObjectKind::tensor && kind_of(v.known) != ObjectKind::tuple);
           const bool container = v.is(AKind::dynamic) && !t && unfollowed_.contains(v.node);
           return (object || container || (t && t->kind != ir::TypeKind::floating && !t->is_tensor())) &&
                  can_be_made(v) && seen_value(v);
         });
}

// The pair of the call; unbound: it is a part of the program.
AVal Specialiser::call_apart(const AVal& form, const std::vector<AVal>& args, const Keywords& keywords) {
  if (!keywords.empty() || !may_stand_apart(form, args)) return {};
  const ir::Function* fn = form.parts->code.get();
  const auto known = apart_.find(fn);
  if (request_.probes) {
    if (known != apart_.end() && !known->second->kinds.is_unbound()) {
      std::vector<AVal> parts;
      for (const ir::Type* t : known->second->types)
        parts.push_back(AVal::dynamic(code.let(prim::tuple_get, {code.none()}, 0, t, span), t));
      return AVal::tuple({known->second->value(parts), AVal::of(Value::none())});
    }
    const AVal pair = exec_function(form.parts->code, bind_arguments(form, args, keywords), form.parts->globals, span);
    auto result = std::make_shared<ApartResult>();
    result->read(*this, one_side(settle(items_of(pair, "is a pair").at(0))));
    apart_.try_emplace(fn, std::move(result));
    return pair;
  }
  const Value of = ad::forward_form(session, source_of_form(form).parts->function);
  if (of.is_error()) {
    session.pending = Value();
    return {};
  }
  if (known == apart_.end()) apart_[fn] = probe(of, args);
  if (apart_[fn]->kinds.is_unbound()) return {};
  return adapter("apart", {AVal::of(of), AVal::tuple(args)});
}

// What the form gives for these arguments.
std::shared_ptr<ApartResult> Specialiser::probe(const Value& form, const std::vector<AVal>& args) const {
  SpecialiseRequest request;
  request.function = form;
  for (const AVal& v : args) request.args.push_back(*seen_value(v));
  request.constants = true;
  request.probes = true;
  Specialiser other(session, request);
  auto result = std::make_shared<ApartResult>();
  other.probed_ = result.get();
  (void)other.run();
  return result;
}

void Specialiser::read_probed(const AVal& pair) {
  probed_->read(*this, one_side(settle(items_of(pair, "is a pair").at(0))));
}

// `call_apart` of the rules (stdlib/grad_rules/calls.ouro).
AVal Specialiser::emit_apart(const AVal& form, const AVal& args) {
  const auto* f = form.is(AKind::known) ? cast_exact<runtime::Function>(form.known) : nullptr;
  const auto at = f ? apart_.find(f->code.get()) : apart_.end();
  if (at == apart_.end()) abandon(Reason::internal, "a call apart that was not looked at");
  const ApartResult& result = *at->second;
  const AVal t = emit_call(rules_value("call_apart_as"), {form, args, AVal::of(result.kinds)}, {}, nullptr);
  std::vector<AVal> parts;
  uint32_t i = 0;
  for (const ir::Type* type : result.types)
    parts.push_back(AVal::dynamic(code.let(prim::tuple_get, {t.atom}, i++, type, span), type));
  const AVal back = AVal::dynamic(code.let(prim::tuple_get, {t.atom}, i, nullptr, span), nullptr);
  calls_apart_ = true;
  return AVal::tuple({result.value(parts), back});
}

// The form's result is what its own inner calls were taken to give.
void Specialiser::check_apart(const AVal& value) const {
  const auto* f = request_.function.as<runtime::Function>();
  const auto at = apart_.find(f->code.get());
  if (at == apart_.end() || at->second->kinds.is_unbound()) return;
  const auto kinds = kinds_of(*this, value);
  if (!kinds || !same_kinds(*kinds, at->second->kinds))
    throw Abandon{{Reason::recursion, "a function that calls itself and gives another kind of value then"}, span};
}

// `pull_apart` of the rules.
void Specialiser::emit_pull(const AVal& back, const AVal& dy, const AVal& env) {
  if (cotangent_is_zero(dy)) return;
  if (!env.is(AKind::ref) || env.heap != sent_env_ || map_.is_none())
    abandon(Reason::derivative, "a derivative that crosses the interpreter");
  code.effect(true);
  const AVal map = AVal::dynamic(map_, nullptr);
  const AObject sums = read(env.heap);
  AObject rest = sums;
  rest.keys.clear();
  rest.items.clear();
  for (size_t i = 0; i < sums.keys.size(); ++i) {
    if (!sums.keys[i].known.is_int()) {  // of an object that nobody sees any more
      rest.keys.push_back(sums.keys[i]);
      rest.items.push_back(sums.items[i]);
      continue;
    }
    if (cotangent_is_zero(sums.items[i])) continue;
    auto [object, slot] = sent_places_.at(static_cast<size_t>(sums.keys[i].known.as_int()));
    if (object.is(AKind::ref) && kind_at(object.heap) == AObject::Kind::globals)
      object = AVal::of(read(object.heap).concrete);
    emit_call(rules_value("acc"), {map, object, slot, as_given(sums.items[i])}, {}, nullptr);
  }
  write(env.heap) = rest;
  emit_call(rules_value("pull_apart"), {back, as_given(dy), map}, {}, nullptr);
  code.effect(false);
}

}  // namespace ouro::jit
