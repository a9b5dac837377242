// Forms of what has no derivative of its own: the operation as it is, with a pullback for what scripts did that it
// called (recording.h). Where a cotangent of its result is wanted, that is an error.
#include <algorithm>
#include <optional>

#include "runtime/autodiff/forms.h"
#include "runtime/autodiff/natives.h"
#include "runtime/autodiff/recording.h"
#include "runtime/object/native.h"
#include "runtime/tensor/tensor.h"
#include "support/small_vec.h"

namespace ouro::runtime::autodiff {

namespace {

// (y, pullback) of a callable without a rule: y as it is; an error if y's cotangent is wanted, or that of an item of a
// container that it made.
Value plain_forward(Session& s, const Args& args);
Value plain_pullback(Session& s, const Args& args);
constexpr NativeDef kConstantPullback{.name = "constant'",
                                      .params = "",
                                      .fn = [](Session&, const Args&) { return Value::none(); },
                                      .doc = "",
                                      .raw = true};
constexpr NativeDef kPlainForward{.name = "plain", .params = "", .fn = plain_forward, .doc = "", .raw = true};
constexpr NativeDef kPlainPullback{.name = "plain'", .params = "", .fn = plain_pullback, .doc = "", .raw = true};
Value recorded_pullback(Session& s, const Args& args);
constexpr NativeDef kRecordedPullback{
    .name = "recorded'", .params = "", .fn = recorded_pullback, .doc = "", .raw = true};
Value plain_caught(Session& s, const Args& args);
constexpr NativeDef kPlainCaught{.name = "plain", .params = "", .fn = plain_caught, .doc = "", .raw = true};

bool holds_slots(const Value& v) {
  const ObjectKind k = kind_of(v);
  return k == ObjectKind::list || k == ObjectKind::dict;
}

// Nothing in v has a derivative: what is made of such values alone is a constant.
bool passive(const Value& v, int depth = 4) {
  switch (kind_of(v)) {
    case ObjectKind::none:
    case ObjectKind::ellipsis:
    case ObjectKind::boolean:
    case ObjectKind::integer:
    case ObjectKind::big_int:
    case ObjectKind::str:
    case ObjectKind::bytes:
    case ObjectKind::range:
    case ObjectKind::dtype:
    case ObjectKind::device:
      return true;
    case ObjectKind::list: {
      auto* l = v.as<List>();
      return depth > 0 && l->size <= 64 &&
             std::all_of(l->begin(), l->end(), [&](const Value& i) { return passive(i, depth - 1); });
    }
    case ObjectKind::tuple: {
      auto* t = v.as<Tuple>();
      return depth > 0 && t->size <= 64 &&
             std::all_of(t->begin(), t->end(), [&](const Value& i) { return passive(i, depth - 1); });
    }
    default:
      return false;
  }
}
// A built-in function of such arguments, no method of an object: the time, a random number, what a text says.
bool constant_call(const Args& args) {
  Native* n = cast_exact<Native>(args.positional[0]);
  if (!n || !n->self.is_unbound() || (n->owner && n->owner->layout == ObjectKind::instance)) return false;
  return std::all_of(args.positional.begin() + 1, args.positional.end(), [](const Value& v) { return passive(v); }) &&
         std::all_of(args.keywords.begin(), args.keywords.end(), [](const Value& v) { return passive(v); });
}

// May a script be called by what is called, so that its effects are recorded? A function of scripts is no built-in
// operation, and reverse mode's own natives call forms.
bool records(const Args& args) {
  const Value& f = args.positional[0];
  if (kind_of(f) == ObjectKind::native) return !is_of_reverse_mode(f.as<Native>()->def) && !constant_call(args);
  return kind_of(f) == ObjectKind::type;
}

bool is_made(const Value& y) { return y.is_object() && y.object()->refs == 1 && holds_slots(unwrap(y)); }

// The pullback of a built-in operation that called scripts; `caught`: what it gave stands in a pair (catching.cpp).
Value recorded(const Value& f, const Value& made, const Recording& recording, const Args& args, bool caught = false) {
  std::vector<Value> given(args.positional.begin(), args.positional.end());
  given.insert(given.end(), args.keywords.begin(), args.keywords.end());
  return make_native(
      kRecordedPullback,
      make_tuple({f, made, recording.calls(), make_tuple(std::span<const Value>(given)), Value::boolean(caught)}));
}

bool is_recorded_pullback(const Value& f);

Value plain_forward(Session& s, const Args& args) {
  const Value& f = args.positional[0];
  const Args rest{args.positional.subspan(1), args.keywords, args.names};
  std::optional<Recording> recording;
  if (records(args)) recording.emplace(s);
  OURO_TRY(y, call(s, f, rest));
  if (recording && !recording->empty()) {
    const Value made = is_made(y) || is_recorded_pullback(f) ? y : Value::none();
    return make_tuple({y, recorded(f, made, *recording, rest)});
  }
  if (y.is_none() && is_recorded_pullback(f)) return make_tuple({y, make_native(kConstantPullback, Value())});
  if (kind_of(y) == ObjectKind::generator && kind_of(f) == ObjectKind::function)
    state(s).opaque_generators.insert(y.object());
  if (constant_call(args) && (passive(y) || y.is_float() || is_tensor(y)))
    return make_tuple({y, make_native(kConstantPullback, Value())});
  const bool made = is_made(y);
  Value pullback = make_native(kPlainPullback, made ? make_tuple({f, y}) : f);
  return make_tuple({y, pullback});
}

bool all_zero(const Value& d) {
  if (is_zero(d)) return true;
  Tuple* t = cast_exact<Tuple>(d);
  if (!t) return false;
  for (const Value& v : *t)
    if (!all_zero(v)) return false;
  return true;
}

std::string callable_name(Session& s, const Value& f) {
  if (Native* n = cast_exact<Native>(f)) {
    if (n->def == &kPlainForward) return callable_name(s, n->self);
    std::string name(n->def->name);
    return n->owner ? std::string(n->owner->text()) + "." + name : name;
  }
  if (Function* g = cast_exact<Function>(f)) return g->code->qualname.str();
  if (Type* t = cast_exact<Type>(f)) return std::string(t->text());
  return repr_text(s, f);
}

// What f is, inside of forms of forms.
const Value& innermost(const Value& f) {
  const Value* inner = &f;
  while (cast_exact<Native>(*inner) && inner->as<Native>()->def == &kPlainForward) inner = &inner->as<Native>()->self;
  return *inner;
}
bool is_recorded_pullback(const Value& f) {
  Native* n = cast_exact<Native>(innermost(f));
  return n && n->def == &kRecordedPullback;
}

// The cotangent of what f gave is wanted.
Value refused(Session& s, const Value& f) {
  // A pullback that gave zero is the constant zero to the next order.
  if (Native* n = cast_exact<Native>(innermost(f)); n && (n->def == &kPlainPullback || n->def == &kConstantPullback))
    return Value::none();
  if (Function* g = cast_exact<Function>(f)) {
    auto it = state(s).pairs.find(g->code.get());
    if (it != state(s).pairs.end() && !it->second.error.empty())
      return raise_error(s, ExcKind::TypeError, "cannot differentiate through %s yet", it->second.error.c_str());
  }
  return raise_error(s, ExcKind::TypeError, "'%s' is not differentiable", callable_name(s, f).c_str());
}

// args: the callable, dy, env
Value plain_pullback(Session& s, const Args& args) {
  Tuple* with_made = cast_exact<Tuple>(args.positional[0]);
  const Value& f = with_made ? (*with_made)[0] : args.positional[0];
  const bool wanted = with_made && has_cotangents(args.positional[2], (*with_made)[1]);
  return wanted || !all_zero(args.positional[1]) ? refused(s, f) : Value::none();
}

// args: (the callable, what it made, calls, arguments, caught), dy, env
Value recorded_pullback(Session& s, const Args& args) {
  const Tuple& self = *args.positional[0].as<Tuple>();
  const Value &f = self[0], &made = self[1], &env = args.positional[2];
  const Value dy = self[4].as_bool() ? item(args.positional[1], 0) : args.positional[1];
  const bool constant = is_recorded_pullback(f) && made.is_none();  // it gave zero
  const bool wanted = holds_slots(unwrap(made)) && has_cotangents(env, made);
  if (!f.is_none() && (wanted || (!constant && !all_zero(dy)))) OURO_TRY_DO(refused(s, f));
  Tuple& given = *self[3].as<Tuple>();
  std::vector<Value> sums(given.size, Value::zero_cotangent());
  if (!run_back(s, self[2], env, {given.begin(), given.size}, sums)) return Value::error();
  return std::ranges::all_of(sums, is_zero) ? Value::none() : make_tuple(std::span<const Value>(sums));
}

// As plain_forward, of one that gives what it raises: what scripts did before has a way back.
Value plain_caught(Session& s, const Args& args) {
  const Value& f = args.positional[0];
  const Args rest{args.positional.subspan(1), args.keywords, args.names};
  Recording recording(s);
  Value y = call(s, f, rest);
  if (y.is_error() && s.ending()) return y;
  const Value made = is_made(y) ? y : Value::none();
  const Value both = y.is_error() ? make_tuple({Value::none(), take_pending(s)}) : make_tuple({y, Value::none()});
  return make_tuple({both, recorded(f, made, recording, rest, true)});
}

// A primitive that asks what stands in its operands. args: its name, operands
Value recorded_primitive(Session& s, const Args& args) {
  const Args rest{args.positional.subspan(1), args.keywords, args.names};
  SmallVec<Value, 4> operands;
  operands.append(rest.positional.begin(), rest.positional.end());
  Recording recording(s);
  OURO_TRY(y, plain_primitive(s, args.positional[0].as<Str>()->view(), {operands.data(), operands.size()}));
  if (recording.empty()) return make_tuple({y, make_native(kConstantPullback, Value())});
  return make_tuple({y, recorded(Value::none(), Value::none(), recording, rest)});
}
constexpr NativeDef kRecordedPrimitive{
    .name = "primitive", .params = "", .fn = recorded_primitive, .doc = "", .raw = true};

}  // namespace

Value plain_form(const Value& f) { return make_native(kPlainForward, f); }
Value recorded_primitive_form(std::string_view prim) { return make_native(kRecordedPrimitive, make_str(prim)); }

Value recorded_call(Session& s, const Args& args) {
  const Args rest{args.positional.subspan(1), args.keywords, args.names};
  Recording recording(s);
  OURO_TRY(y, call(s, args.positional[0], rest));
  if (recording.empty()) return make_tuple({y, make_native(kConstantPullback, Value())});
  return make_tuple({y, recorded(Value::none(), Value::none(), recording, rest)});
}

Value caught_native(const Value& f) { return make_native(kPlainCaught, f); }

}  // namespace ouro::runtime::autodiff
