// The natives of module `_ad`, with which the rules of reverse mode are written, on abstract values
// (runtime/autodiff/natives.cpp is the meaning).
#include <fmt/format.h>

#include "jit/specialise/execute/native_table.h"
#include "jit/specialise/execute/recording.h"
#include "jit/specialise/residual/apart.h"
#include "runtime/autodiff/autodiff.h"
#include "runtime/tensor/tensor.h"

namespace ouro::jit {

namespace ad = runtime::autodiff;
using runtime::cast_exact;
using runtime::kind_of;
using runtime::ObjectKind;
using Arguments = std::vector<AVal>;
using Keywords = std::vector<std::pair<Symbol, AVal>>;

namespace {

AVal text(std::string_view t) { return AVal::of(runtime::make_str(t)); }
AVal boolean(bool b) { return AVal::of(Value::boolean(b)); }

#define N(name) \
  AVal name([[maybe_unused]] Specialiser& s, [[maybe_unused]] const Arguments& a, [[maybe_unused]] const Keywords& k)

N(n_forward) { return s.forward_form(a.at(0)); }
N(n_computed_defaults) { return s.need_plain_defaults(a.at(0)), none(); }
// Nothing raises in compiled code: what does is done again by the interpreter.
N(n_catching) { return s.adapter("calm", {s.forward_form(a.at(0))}); }
N(n_env) {
  AObject o;
  o.kind = AObject::Kind::shadow;
  return AVal::of_heap(s.allocate(std::move(o)));
}
N(n_is_zero) { return boolean(s.cotangent_is_zero(a.at(0))); }
N(n_zero) { return zero(); }
N(n_end) { return AVal::marker(AKind::end); }
N(n_add) { return s.cotangent_add(a.at(0), a.at(1)); }
N(n_like) { return a.at(0).is(AKind::like) ? a[0] : s.like_of(a[0]); }
N(n_active) {
  const ir::Type* t = s.type_of(a.at(0));
  if (a[0].is(AKind::dynamic) && !t) s.abandon(Reason::derivative, "the derivative of a value whose type is not known");
  if (t && t->kind == ir::TypeKind::floating) return boolean(true);
  if (s.is_tensor(a[0])) return boolean(is_float(a[0].type->dtype));
  return boolean(a[0].is(AKind::tuple) || (a[0].is(AKind::known) && kind_of(a[0].known) == ObjectKind::tuple));
}
AVal kept_of(Specialiser& s, const AVal& x) { return x.is(AKind::like) ? x : s.like_of(x); }
N(n_fit) { return s.cotangent_is_zero(a.at(0)) ? zero() : s.fit(a[0], kept_of(s, a.at(1))); }
N(n_expand) {
  if (s.cotangent_is_zero(a.at(0))) return a[0];
  AVal kept = kept_of(s, a.at(1));
  if (kept.is(AKind::known) && kept.known.is_none()) return zero();
  if (!kept.is(AKind::like) || !s.is_tensor(a[0])) return s.fit(a[0], kept);
  std::vector<AVal> shape;
  for (const ir::SymDim& d : kept.type->dims) shape.push_back(s.size(d));
  AVal out = s.tensor_op("expand", {a[0], AVal::tuple(std::move(shape))});
  if (out.type->dtype != kept.type->dtype)
    out = s.tensor_op("astype", {out, AVal::of(runtime::make_dtype(s.session, kept.type->dtype))});
  return out;
}
N(n_get) { return s.cotangent_item(a.at(0), s.need_int(a.at(1), "is a position")); }
N(n_one_hot) {
  if (s.cotangent_is_zero(a.at(0))) return zero();
  std::vector<AVal> t(static_cast<size_t>(s.need_int(a.at(1), "is a position")), zero());
  t.push_back(a[0]);
  return AVal::tuple(std::move(t));
}
AVal dense(Specialiser& s, const AVal& dy, const AVal& y) {
  if (!s.cotangent_is_zero(dy)) return dy;
  if (y.is(AKind::like)) return s.zero_of(y.type, y);
  const ir::Type* t = s.type_of(y);
  if (t && t->kind == ir::TypeKind::floating) return AVal::of(Value::floating(0));
  if (s.is_tensor(y)) return s.zero_of(y.type, y);
  if (y.is(AKind::tuple)) {
    std::vector<AVal> items;
    for (const AVal& i : y.items()) items.push_back(dense(s, dy, i));
    return AVal::tuple(std::move(items));
  }
  if (!t && !y.is(AKind::ref) && !y.is(AKind::closure) && !(y.is(AKind::known) && !y.known.is_object()))
    s.abandon(Reason::derivative, "the zeros of a value that is not followed");
  return none();
}
N(n_dense) { return dense(s, a.at(0), a.at(1)); }
N(n_acc) { return s.shadow_add(a.at(0), a.at(1), a.at(2), a.at(3)), none(); }
N(n_call_apart) { return s.apart().emit_call(a.at(0), a.at(1), a.at(2)); }
N(n_pull_apart) { return s.apart().emit_pull(a.at(0), a.at(1), a.at(2)), none(); }
N(n_take) { return s.shadow_take(a.at(0), a.at(1), a.at(2)); }
N(n_peek) { return s.shadow_peek(a.at(0), a.at(1), a.at(2)); }
N(n_put) { return s.shadow_put(a.at(0), a.at(1), a.at(2), a.at(3)), none(); }
N(n_attribute_slot) {
  if (s.dict_within(a.at(0)).is(AKind::unbound)) return AVal::tuple({a[0], a.at(1)});
  const std::string slot = fmt::format("{}{}", ad::kAttribute, s.need_name(a.at(1)).text());
  return AVal::tuple({a[0], AVal::of(runtime::make_str(slot))});
}
int64_t place_in_list(Specialiser& s, const AVal& i) { return s.need_int(i, "is a place in a list"); }
N(n_open_slot) { return s.shadow_move(a.at(0), a.at(1), place_in_list(s, a.at(2)), true), none(); }
N(n_close_slot) { return s.shadow_move(a.at(0), a.at(1), place_in_list(s, a.at(2)), false), none(); }
N(n_slot_count) { return AVal::of(Value::integer(s.shadow_count(a.at(0), a.at(1)))); }
N(n_feed) { return s.feed(a.at(0), a.at(1), a.at(2)), none(); }
N(n_only_numbers) { return boolean(s.is_tensor(s.numbers_of(a.at(0), /*differentiated=*/true))); }
// The range of the loop that asks to stay a loop: it has a fourth part (make_iterator).
N(n_turns) {
  const AVal zero = AVal::of(Value::integer(0)), one = AVal::of(Value::integer(1));
  return AVal::compound(AKind::range, {zero, a.at(0), one, one});
}
N(n_is_pullback) {
  if (a.at(0).is(AKind::dynamic) && !a[0].type)
    s.abandon(Reason::unknown_value, "whether a value of no known type is a pullback");
  return boolean(a[0].is(AKind::kept));
}
N(n_inner) {
  const AVal within = s.dict_within(a.at(0));
  if (within.is(AKind::unbound) && s.is_instance(a[0]))
    s.abandon(Reason::derivative, "what an object is that extends a built-in class");
  return within.is(AKind::unbound) ? a[0] : within;
}
N(n_kind) {
  const AVal& v = a.at(0);
  if (!s.native_of(v).is(AKind::unbound)) return text("");
  if (!s.dict_within(v).is(AKind::unbound)) return text("dict");
  if (v.is(AKind::like)) return text("tensor");
  if (v.is(AKind::tuple)) return text("tuple");
  const ir::Type* t = s.type_of(v);
  if (t && t->kind == ir::TypeKind::floating) return text("float");
  if (s.is_tensor(v)) return text(is_float(v.type->dtype) ? "tensor" : "");
  if (s.is_set_outside(v) || (v.is(AKind::known) && kind_of(v.known) == ObjectKind::frozenset)) return text("set");
  if (v.is(AKind::dynamic) && !v.type) s.abandon(Reason::unknown_value, "the kind of a value whose type is not known");
  if (v.is(AKind::known) && kind_of(v.known) == ObjectKind::tuple) return text("tuple");
  if (v.is(AKind::ref)) switch (s.kind_at(v.heap)) {
      case AObject::Kind::list:
        return text("list");
      case AObject::Kind::dict:
        return text("dict");
      case AObject::Kind::set:
        return text("set");
      case AObject::Kind::instance:
        return text("object");
      case AObject::Kind::record:
        return text("record");
      default:
        break;
    }
  return text("");
}
N(n_bind) {
  ir::CallSig sig;
  std::vector<AVal> args{a.at(0)};
  for (const AVal& v : s.items_of(a.at(1), "are arguments")) {
    sig.args.push_back({ir::CallSig::Kind::positional, {}});
    args.push_back(v);
  }
  if (a.at(2).is(AKind::ref)) {
    const AObject d = s.read(a[2].heap);
    for (size_t i = 0; i < d.keys.size(); ++i) {
      sig.args.push_back({ir::CallSig::Kind::keyword, s.keyword_name(d.keys[i])});
      args.push_back(d.items[i]);
    }
  }
  return s.bind_call(sig, args);
}
N(n_unbind) { return s.unbind_call(a.at(0), a.at(1), a.at(2)); }
N(n_flat) { return s.flat_form(a.at(0)); }
N(n_bare) {
  AObject o;
  o.kind = AObject::Kind::instance;
  o.cls = s.need_constant(a.at(0), "is a class");
  if (const auto* t = cast_exact<runtime::Type>(o.cls)) s.need_no_end(*t);
  return AVal::of_heap(s.allocate(std::move(o)));
}
N(n_class_attribute) {
  AVal v = s.class_lookup(a.at(0), s.need_name(a.at(1)));
  return v.is(AKind::unbound) ? none() : v;
}
N(n_record) {
  AObject o;
  o.kind = AObject::Kind::record;
  o.cls = s.model_class(a.at(0));
  return AVal::of_heap(s.allocate(std::move(o)));
}
N(n_model_class) { return AVal::of(s.model_class(a.at(0))); }
N(n_fields) {
  std::vector<AVal> names;
  if (a.at(0).is(AKind::ref))
    for (Symbol name : s.field_names(a[0].heap)) names.push_back(AVal::of(s.session.str(name)));
  else if (a[0].is(AKind::dynamic) && !a[0].type)
    s.abandon(Reason::unknown_object, "the attributes of an object that is not followed");
  return s.new_list(std::move(names));
}
N(n_fail) { s.abandon(Reason::raises, "a rule that fails"); }
N(n_same) { return a.at(0); }
N(n_inner_iterators) {
  if (!a.at(0).is(AKind::ref)) return s.new_list({});
  const AObject it = s.read(a[0].heap);
  if (it.kind != AObject::Kind::iterator) return s.new_list({});
  if (it.iter == AObject::Iter::map) s.abandon(Reason::derivative, "the iterators of a map");
  if (it.iter == AObject::Iter::zip) return s.new_list(it.parts.items());
  return s.new_list({it.iter == AObject::Iter::enumerate ? it.source : a[0]});
}
N(n_place_source) { return s.iterator_source(a.at(0)); }
N(n_special) {
  const Value name = s.need_constant(a.at(0), "names a primitive");
  auto* text = cast_exact<runtime::Str>(name);
  if (!text) s.abandon(Reason::internal, "a primitive's name that is no text");
  return s.forward_special(text->view(), {a.begin() + 1, a.end()});
}
N(n_lost) { return none(); }  // exceptions are not made here
N(n_guarded) { return AVal::of(Value::integer(0)); }
N(n_plain) { return s.call(a.at(0), {a.begin() + 1, a.end()}, k); }
N(n_detached) {
  const Specialiser::RecordingSet unrecorded(s, nullptr);
  return s.call(a.at(0), {a.begin() + 1, a.end()}, k);
}
N(n_recorded) { return s.recorded(none(), a.at(0), {a.begin() + 1, a.end()}, k); }
N(n_add_item) { return s.cotangent_add_item(a.at(0), a.at(1), a.at(2), a.at(3), a.at(4)); }
N(n_rows_of) {
  if (!a.at(0).is(AKind::like) || a[0].type->rank() == 0) return AVal::of(Value::integer(0));
  return s.size(a[0].type->dims[0]);
}
// ---- module `_ad_rows`: operations by number
const ir::OpInfo& row_of(Specialiser& s, const AVal& id) {
  return ir::op_info(static_cast<ir::Op>(s.need_int(id, "names an operation")));
}
N(r_run) { return s.tensor_op(row_of(s, a.at(0)).op, s.items_of(a.at(1), "are parameters")); }
Keywords keywords_of(Specialiser& s, const AVal& dict) {
  Keywords keywords;
  if (dict.is(AKind::ref)) {
    const AObject d = s.read(dict.heap);
    for (size_t i = 0; i < d.keys.size(); ++i) keywords.push_back({s.keyword_name(d.keys[i]), d.items[i]});
  }
  return keywords;
}
N(r_bind) {
  const ir::OpInfo& op = row_of(s, a.at(0));
  std::vector<std::pair<int, int>> at;
  std::vector<AVal> params = s.bind_row(op, s.items_of(a.at(1), "are arguments"), keywords_of(s, a.at(2)), &at), places;
  for (auto [p, i] : at)
    places.push_back(i < 0 ? AVal::of(Value::integer(p))
                           : AVal::tuple({AVal::of(Value::integer(p)), AVal::of(Value::integer(i))}));
  return AVal::tuple({AVal::tuple(std::move(params)), AVal::tuple(std::move(places))});
}
N(r_check) {
  const ir::OpInfo& op = row_of(s, a.at(0));
  s.check_arguments(op, s.bind_row(op, s.items_of(a.at(1), "are arguments"), keywords_of(s, a.at(2)), nullptr));
  return none();
}
N(r_keywords) {
  const ir::OpInfo& op = row_of(s, a.at(0));
  AVal out = s.new_dict({}, {});
  const AObject d = s.read(a.at(1).heap);
  for (size_t i = 0; i < d.keys.size(); ++i)
    s.set_item(out, AVal::of(runtime::make_str(runtime::operation_keyword(op, s.keyword_name(d.keys[i]).text()))),
               d.items[i]);
  return out;
}
N(r_arguments) {
  const ir::OpInfo& op = row_of(s, a.at(0));
  std::vector<AVal> params = s.items_of(a.at(1), "are parameters"), out;
  for (size_t i = 0; i < params.size(); ++i) {
    if (!op.params[i].variadic) {
      out.push_back(params[i]);
      continue;
    }
    for (AVal& v : s.items_of(params[i], "is a parameter")) out.push_back(std::move(v));
  }
  return AVal::tuple(std::move(out));
}
N(r_kind) {
  const ir::OpInfo& op = row_of(s, a.at(0));
  if (!op.def->source.empty()) return text("source");
  if (!op.def->vjp.empty()) return text("vjp");
  if (op.elementwise() && op.def->nondiff.empty()) return text("leaves");
  return text("-" + op.name);
}
AVal function_value(Specialiser& s, Value f) {
  if (f.is_error()) {
    s.session.pending = Value();
    s.abandon(Reason::internal, "the text of a row");
  }
  return s.concrete_function(f);
}
N(r_source) { return function_value(s, runtime::operation_source(s.session, row_of(s, a.at(0)))); }
N(r_vjp) { return function_value(s, runtime::operation_text(s.session, row_of(s, a.at(0)).def->vjp)); }
N(r_derivative) {
  const ir::OpInfo* d =
      ir::local_derivative(row_of(s, a.at(0)).op, static_cast<int>(s.need_int(a.at(1), "names an input")));
  return d ? AVal::of(Value::integer(static_cast<int64_t>(d->op))) : none();
}
AVal numbers(const std::vector<int>& list) {
  std::vector<AVal> out;
  for (int i : list) out.push_back(AVal::of(Value::integer(i)));
  return AVal::tuple(std::move(out));
}
N(r_inputs) { return numbers(row_of(s, a.at(0)).input_at); }
N(r_others) { return numbers(row_of(s, a.at(0)).param_at); }
N(r_computed) { return AVal::of(Value::boolean(s.is_computed(a.at(0)))); }
#undef N

constexpr NativeRow kRowRows[] = {
    {"row_run", r_run},
    {"row_bind", r_bind},
    {"row_check", r_check},
    {"row_keywords", r_keywords},
    {"row_arguments", r_arguments},
    {"row_kind", r_kind},
    {"row_source", r_source},
    {"row_vjp", r_vjp},
    {"row_derivative", r_derivative},
    {"row_inputs", r_inputs},
    {"row_others", r_others},
    {"is_computed", r_computed},
};

constexpr NativeRow kRows[] = {
    {"forward", n_forward},
    {"catching", n_catching},
    {"computed_defaults", n_computed_defaults},
    {"new_env", n_env},
    {"is_zero", n_is_zero},
    {"zero", n_zero},
    {"end", n_end},
    {"add", n_add},
    {"like", n_like},
    {"active", n_active},
    {"only_numbers", n_only_numbers},
    {"fit", n_fit},
    {"expand", n_expand},
    {"get", n_get},
    {"one_hot", n_one_hot},
    {"dense", n_dense},
    {"acc", n_acc},
    {"call_apart", n_call_apart},
    {"pull_apart", n_pull_apart},
    {"take", n_take},
    {"peek", n_peek},
    {"put", n_put},
    {"open_slot", n_open_slot},
    {"close_slot", n_close_slot},
    {"slot_count", n_slot_count},
    {"feed", n_feed},
    {"turns", n_turns},
    {"is_pullback", n_is_pullback},
    {"kind", n_kind},
    {"inner", n_inner},
    {"bind", n_bind},
    {"unbind", n_unbind},
    {"flat", n_flat},
    {"bare", n_bare},
    {"class_attribute", n_class_attribute},
    {"record", n_record},
    {"model_class", n_model_class},
    {"attribute_slot", n_attribute_slot},
    {"fields", n_fields},
    {"fail", n_fail},
    {"stop_gradient", n_same},
    {"inner_iterators", n_inner_iterators},
    {"place_source", n_place_source},
    {"special", n_special},
    {"lost", n_lost},
    {"guarded", n_guarded},
    {"left_open", n_lost},
    {"plain", n_plain},
    {"reusable", n_plain},
    {"detached", n_detached},
    {"recorded", n_recorded},
    {"add_item", n_add_item},
    {"rows_of", n_rows_of},
};

}  // namespace

std::span<const NativeRow> autodiff_natives() { return kRows; }
std::span<const NativeRow> row_natives() { return kRowRows; }

}  // namespace ouro::jit
