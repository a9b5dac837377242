// Module `_ad_rows`: tensor operations as the rules in Ouro see them (stdlib/grad_rules, "rows"). An operation is
// passed by its number. And what rows in Ouro ask of the compiler (is_computed).
#include "ir/ops/registry.h"
#include "runtime/autodiff/natives.h"
#include "runtime/autodiff/state.h"
#include "runtime/tensor/tensor.h"

namespace ouro::runtime {
using namespace autodiff;

namespace {

// The row of a number, which a script may have made up.
const ir::OpInfo* row_of(Session& s, const Value& id) {
  const ir::OpInfo* op = ir::op_numbered(id.as_int());
  if (!op) raise_value_error(s, "no tensor operation has the number %lld", static_cast<long long>(id.as_int()));
  return op;
}
#define OURO_ROW(op, id)                      \
  const ir::OpInfo* op##_row = row_of(s, id); \
  if (!op##_row) return Value::error();       \
  const ir::OpInfo& op = *op##_row

// The parameters of a row: as many as it has.
bool is_parameters(Session& s, const ir::OpInfo& op, Tuple* params) {
  if (params->size == op.params.size()) return true;
  raise_value_error(s, "%s has %zu parameters, not %zu", op.name.c_str(), op.params.size(), params->size);
  return false;
}

Value numbers(const std::vector<int>& list) {
  Value t = alloc_tuple(list.size());
  for (size_t i = 0; i < list.size(); ++i) (*t.as<Tuple>())[i] = Value::integer(list[i]);
  return t;
}

// row_run(op, params): the operation on its parameters in the row's order.
Value n_run(Session& s, const Args& a) {
  OURO_ROW(op, a[0]);
  Tuple* params = cast<Tuple>(a[1]);
  if (!is_parameters(s, op, params)) return Value::error();
  std::vector<Value> args(params->begin(), params->end());
  return run_operation(s, op, args);
}

// row_bind(op, args, kw): (parameters in the row's order, for each argument the position of its parameter, or
// (position, i) in a variadic one).
Value n_bind(Session& s, const Args& a) {
  OURO_ROW(op, a[0]);
  std::vector<Value> names, keywords;
  if (Dict* d = cast<Dict>(a[2])) {
    size_t pos = 0;
    Value *k, *v;
    while (dict_next(d, pos, k, v)) names.push_back(*k), keywords.push_back(*v);
  }
  Tuple* positional = cast<Tuple>(a[1]);
  std::vector<Value> params;
  std::vector<std::pair<int, int>> at;
  Args args{std::span<const Value>(positional->items(), positional->size), keywords, names};
  if (!bind_operation(s, op, args, params, &at)) return Value::error();
  Value places = alloc_tuple(at.size());
  for (size_t i = 0; i < at.size(); ++i)
    (*places.as<Tuple>())[i] = at[i].second < 0
                                   ? Value::integer(at[i].first)
                                   : make_tuple({Value::integer(at[i].first), Value::integer(at[i].second)});
  return make_tuple({make_tuple(std::span<const Value>(params)), places});
}

// row_check(op, args, kw): is the call what the row states?
Value n_check(Session& s, const Args& a) {
  OURO_ROW(op, a[0]);
  std::vector<Value> names, keywords;
  size_t pos = 0;
  Value *k, *v;
  while (dict_next(cast<Dict>(a[2]), pos, k, v)) names.push_back(*k), keywords.push_back(*v);
  Tuple* positional = cast<Tuple>(a[1]);
  const Args args{std::span<const Value>(positional->items(), positional->size), keywords, names};
  return check_operation(s, op, args) ? Value::none() : Value::error();
}

// row_keywords(op, kw): kw with the row's own names.
Value n_keywords(Session& s, const Args& a) {
  OURO_ROW(op, a[0]);
  Value out = make_dict();
  size_t pos = 0;
  Value *k, *v;
  while (dict_next(cast<Dict>(a[1]), pos, k, v)) {
    Str* name = cast<Str>(*k);
    if (!name) return raise_type_error(s, "keywords must be strings");
    if (!dict_set(s, out.as<Dict>(), make_str(operation_keyword(op, name->view())), *v)) return Value::error();
  }
  return out;
}
// row_arguments(op, params): as the texts of rules take them, variadic ones spread.
Value n_arguments(Session& s, const Args& a) {
  OURO_ROW(op, a[0]);
  Tuple* params = cast<Tuple>(a[1]);
  if (!is_parameters(s, op, params)) return Value::error();
  std::vector<Value> out;
  for (size_t i = 0; i < params->size; ++i) {
    Tuple* rest = op.params[i].variadic ? cast<Tuple>((*params)[i]) : nullptr;
    if (rest)
      out.insert(out.end(), rest->begin(), rest->end());
    else
      out.push_back((*params)[i]);
  }
  return make_tuple(std::span<const Value>(out));
}

// row_kind(op): "source", "vjp", "leaves", or the reason why there is no derivative (with a leading "-").
Value n_kind(Session& s, const Args& a) {
  OURO_ROW(op, a[0]);
  if (!op.def->source.empty()) return make_str("source");
  if (!op.def->vjp.empty()) return make_str("vjp");
  if (op.elementwise() && op.def->nondiff.empty()) return make_str("leaves");
  return make_str("-" + op.name + ": " + (op.def->nondiff.empty() ? "integers" : std::string(op.def->nondiff)));
}
Value n_source(Session& s, const Args& a) {
  OURO_ROW(op, a[0]);
  if (op.def->source.empty()) return raise_value_error(s, "%s has no source", op.name.c_str());
  return operation_source(s, op);
}
Value n_vjp(Session& s, const Args& a) {
  OURO_ROW(op, a[0]);
  if (op.def->vjp.empty()) return raise_value_error(s, "%s has no rule", op.name.c_str());
  return operation_text(s, op.def->vjp);
}
// row_derivative(op, i): the operation dy/dx_i over (inputs..., y, other parameters...), or None where it is zero
// everywhere.
Value n_derivative(Session& s, const Args& a) {
  OURO_ROW(op, a[0]);
  const int64_t i = a[1].as_int();
  if (!op.elementwise() || i < 0 || i >= op.inputs)
    return raise_value_error(s, "%s has no local derivative by input %lld", op.name.c_str(), static_cast<long long>(i));
  const ir::OpInfo* d = ir::local_derivative(op.op, static_cast<int>(i));
  return d ? Value::integer(static_cast<int64_t>(d->op)) : Value::none();
}
Value n_inputs(Session& s, const Args& a) {
  OURO_ROW(op, a[0]);
  return numbers(op.input_at);
}
Value n_computed(Session&, const Args&) { return Value::boolean(false); }  // jit/specialise/execute/ad_natives.cpp
Value n_others(Session& s, const Args& a) {
  OURO_ROW(op, a[0]);
  return numbers(op.param_at);
}
#undef OURO_ROW

constexpr NativeDef kFunctions[] = {
    {.name = "row_run",
     .params = "op: int, params: tuple, /",
     .fn = n_run,
     .doc = "A tensor operation on its parameters."},
    {.name = "row_bind",
     .params = "op: int, args: tuple, kw: dict, /",
     .fn = n_bind,
     .doc = "A call's arguments as parameters, and where each went."},
    {.name = "row_check",
     .params = "op: int, args: tuple, kw: dict, /",
     .fn = n_check,
     .doc = "Raise what a call raises that is not as the row states."},
    {.name = "row_keywords",
     .params = "op: int, kw: dict, /",
     .fn = n_keywords,
     .doc = "Keywords under the row's names."},
    {.name = "row_arguments",
     .params = "op: int, params: tuple, /",
     .fn = n_arguments,
     .doc = "Parameters as a rule's arguments."},
    {.name = "row_kind", .params = "op: int, /", .fn = n_kind, .doc = "How an operation is differentiated."},
    {.name = "row_source", .params = "op: int, /", .fn = n_source, .doc = "The function of a row in Ouro."},
    {.name = "row_vjp", .params = "op: int, /", .fn = n_vjp, .doc = "The rule of a row."},
    {.name = "row_derivative",
     .params = "op: int, i: int, /",
     .fn = n_derivative,
     .doc = "The local derivative of an elementwise row."},
    {.name = "row_inputs", .params = "op: int, /", .fn = n_inputs, .doc = "Which parameters are tensors."},
    {.name = "is_computed",
     .params = "number, /",
     .fn = n_computed,
     .doc = "False; true in compiled code for a number that the program computes."},
    {.name = "row_others", .params = "op: int, /", .fn = n_others, .doc = "Which parameters are not."},
};
constexpr NativeModule kModule{"_ad_rows", kFunctions};

}  // namespace

void register_row_natives(Session& s) { s.register_natives(&kModule); }

}  // namespace ouro::runtime
