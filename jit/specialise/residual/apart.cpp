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
// The types of what the call gives must be known. A second specialiser, whose program nobody keeps (`request.probes`),
// executes the call for that, down to the first leaf; there each other inner call gives what the first one gave. The
// run checks each result, and the form itself must give the same types.
//
// Sums have the bits of the interpreter's: what the program has contributed so far goes to the shadow map before an
// inner pullback runs. From then on nothing can be done again, so the program is not left.
//
// No argument may have a cotangent of its own: objects, lists and dicts, numbers that are no floats, texts, functions,
// and tuples without floats and tensors, which the run checks. A list, dict or tuple within an argument is passed on
// without being looked into (`request.shallow`): the program of an inner node must not stand on what is below it.
#include "jit/specialise/residual/apart.h"

#include "ir/grad/reverse.h"
#include "jit/specialise/specialiser.h"
#include "runtime/autodiff/apart.h"
#include "runtime/autodiff/autodiff.h"

namespace ouro::jit {

namespace ad = runtime::autodiff;
namespace prim = ir::prim;
using runtime::cast_exact;
using runtime::kind_of;
using runtime::ObjectKind;

// ---------------------------------------------------------------- what a call gives

// None: the program cannot hold it without a box, or its sizes depend on data.
std::optional<Value> Apart::pattern_of(const AVal& v, std::vector<const ir::Type*>& types) const {
  if (v.is(AKind::tuple) && !v.extends_tuple()) {
    std::vector<Value> items;
    for (const AVal& i : v.items()) {
      const auto item = pattern_of(i, types);
      if (!item) return {};
      items.push_back(*item);
    }
    return runtime::make_tuple(std::span<const Value>(items));
  }
  const ir::Type* t = s_.type_of(v);
  if (!t) return {};
  types.push_back(t);
  switch (t->kind) {
    case ir::TypeKind::floating:
      return Value::floating(0);
    case ir::TypeKind::integer:
      return Value::integer(0);
    case ir::TypeKind::boolean:
      return Value::boolean(false);
    case ir::TypeKind::none:
      return Value::none();
    case ir::TypeKind::tensor:
      break;
    default:
      return {};
  }
  std::vector<int64_t> shape;
  for (const ir::SymDim& d : t->dims) {
    if (!d.known()) return {};
    shape.push_back(d.c);
  }
  return ad::like_tensor(t->dtype, std::move(shape));
}

std::optional<Apart::Result> Apart::result_of(const AVal& v) const {
  Result out;
  const auto pattern = pattern_of(v, out.types);
  if (!pattern) return {};
  out.pattern = *pattern;
  return out;
}

// The call of the probe has these arguments.
std::optional<Value> Apart::value_in_call(const AVal& v) const {
  if (v.is(AKind::known)) return v.known;
  if (v.is(AKind::ref)) {
    const AObject& o = s_.read(v.heap);
    return o.external && !o.concrete.is_unbound() ? std::optional(o.concrete) : std::nullopt;
  }
  if (!v.is(AKind::dynamic)) return {};
  const auto at = s_.unfollowed_.find(v.node);
  return !v.type && at != s_.unfollowed_.end() ? std::optional(at->second) : s_.witness(v);
}

std::optional<Apart::Result> Apart::probe(const Value& form, const std::vector<AVal>& args) const {
  SpecialiseRequest request;
  request.function = form;
  for (const AVal& v : args) request.args.push_back(*value_in_call(v));
  request.constants = true;
  request.probes = true;
  Specialiser other(s_.session, request);
  (void)other.run();
  return std::move(other.apart_->gives_);
}

void Apart::check(const AVal& value) const {
  const auto at = results_.find(s_.request_.function.as<runtime::Function>()->code.get());
  if (at == results_.end() || !at->second) return;
  const std::optional<Result> own = result_of(value);
  if (!own || own->types != at->second->types || !ad::is_alike(own->pattern, at->second->pattern))
    s_.abandon(Reason::recursion, "a function that calls itself and gives another kind of value then");
}

// ---------------------------------------------------------------- which calls stand apart

bool Apart::has_no_cotangent(const AVal& v) const {
  if (v.is(AKind::ref)) return true;
  if (v.is(AKind::known) && v.known.is_object())
    return kind_of(v.known) != ObjectKind::tensor && kind_of(v.known) != ObjectKind::tuple;
  const ir::Type* t = s_.type_of(v);
  if (t) return t->kind != ir::TypeKind::floating && !t->is_tensor();
  return v.is(AKind::dynamic) && s_.unfollowed_.contains(v.node);  // the run looks at it
}

bool Apart::may_stand_apart(const AVal& form, const std::vector<AVal>& args) const {
  const ir::FunctionRef& fn = form.parts->code;
  if (!(s_.request_.waits || s_.request_.probes) || s_.in_try_ || s_.recording_ || s_.session.devices.used())
    return false;
  if (!ir::grad::is_forward_form(*fn) || !s_.is_of_script(fn->span)) return false;
  // The form of this very function is a constant of the program; one that captures something may be made anew.
  const auto* source = cast_exact<runtime::Function>(source_of_form(form).parts->function);
  if (!source || !source->captures.empty()) return false;
  if (fn->sig.varargs || fn->sig.varkw || fn->sig.kwonly || fn->sig.count() != args.size()) return false;
  return std::ranges::any_of(s_.frames_, [&](const AFrame* f) { return f->code == fn; }) &&
         std::ranges::all_of(
             args, [&](const AVal& v) { return has_no_cotangent(v) && s_.can_be_made(v) && value_in_call(v); });
}

// Down to the first leaf it is executed; what it gives there, all others give.
AVal Apart::call_of_probe(const AVal& form, const std::vector<AVal>& args) {
  const ir::Function* fn = form.parts->code.get();
  if (const auto known = results_.find(fn); known != results_.end() && known->second) {
    const ir::Type* const* type = known->second->types.data();
    return AVal::tuple({taken_apart(s_.code.none(), known->second->pattern, type), none()});
  }
  const AVal pair = s_.exec_function(form.parts->code, s_.bind_arguments(form, args, {}), form.parts->globals, s_.span);
  results_.try_emplace(fn, result_of(one_side(s_.settle(s_.items_of(pair, "is a pair").at(0)))));
  return pair;
}

AVal Apart::call(const AVal& form, const std::vector<AVal>& args,
                 const std::vector<std::pair<Symbol, AVal>>& keywords) {
  if (!keywords.empty() || !may_stand_apart(form, args)) return {};
  if (s_.request_.probes) return call_of_probe(form, args);
  const Value of = ad::forward_form(s_.session, source_of_form(form).parts->function);
  if (of.is_error()) {
    s_.session.pending = Value();
    return {};
  }
  auto known = results_.find(form.parts->code.get());
  if (known == results_.end()) known = results_.emplace(form.parts->code.get(), probe(of, args)).first;
  if (!known->second) return {};
  any_ = true;
  return s_.adapter("apart", {AVal::of(of), AVal::tuple(args), AVal::of(known->second->pattern)});
}

// ---------------------------------------------------------------- the program

// The value in a register, as what the pattern says.
AVal Apart::taken_apart(ir::Atom value, const Value& pattern, const ir::Type* const*& type) {
  const auto* of = cast_exact<runtime::Tuple>(pattern);
  if (!of) return AVal::dynamic(value, *type++);
  std::vector<AVal> items;
  for (uint32_t i = 0; i < of->size; ++i) {
    const ir::Type* leaf = cast_exact<runtime::Tuple>((*of)[i]) ? nullptr : *type;
    items.push_back(taken_apart(s_.code.let(prim::tuple_get, {value}, i, leaf, s_.span), (*of)[i], type));
  }
  return AVal::tuple(std::move(items));
}

AVal Apart::emit_call(const AVal& form, const AVal& args, const AVal& pattern) {
  const std::optional<Result>& result = results_.at(form.known.as<runtime::Function>()->code.get());
  const ir::Atom pair = s_.emit_call(s_.rules_value("call_apart"), {form, args, pattern}, {}, nullptr).atom;
  const ir::Type* const* type = result->types.data();
  const bool one = !cast_exact<runtime::Tuple>(result->pattern);
  const ir::Atom y = s_.code.let(prim::tuple_get, {pair}, 0, one ? *type : nullptr, s_.span);
  const ir::Atom pullback = s_.code.let(prim::tuple_get, {pair}, 1, nullptr, s_.span);
  return AVal::tuple({taken_apart(y, result->pattern, type), AVal::dynamic(pullback, nullptr)});
}

void Apart::emit_pull(const AVal& pullback, const AVal& dy, const AVal& env) {
  if (s_.cotangent_is_zero(dy)) return;
  if (map_.is_none()) s_.abandon_crossing();
  s_.code.effect(true);
  const AVal map = AVal::dynamic(map_, nullptr);
  for (const auto& [object, slot, d] : s_.take_sent(env))
    s_.emit_call(s_.rules_value("acc"), {map, object, slot, Specialiser::as_given(d)}, {}, nullptr);
  s_.emit_call(s_.rules_value("pull_apart"), {pullback, Specialiser::as_given(dy), map}, {}, nullptr);
  s_.code.effect(false);
}

}  // namespace ouro::jit
