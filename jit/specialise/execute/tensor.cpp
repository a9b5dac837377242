// Rows of tensor operations on abstract values: arguments are bound to the row's parameters, its signature infers the
// result's type (the same inference that eager calls use), and one typed residual operation is written.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ir/ops/param_kinds.h"
#include "ir/ops/registry.h"
#include "ir/ops/sig.h"
#include "ir/ops/sig_parse.h"
#include "jit/specialise/specialiser.h"
#include "runtime/tensor/call.h"
#include "runtime/tensor/tensor.h"

namespace ouro::jit {

namespace prim = ir::prim;
using runtime::cast_exact;
using runtime::kind_of;
using runtime::ObjectKind;
using Keywords = std::vector<std::pair<Symbol, AVal>>;

namespace {

ir::TensorType tensor_type(const ir::Type& t) {
  ir::TensorType out;
  out.dtype = t.dtype;
  out.dims.assign(t.dims.begin(), t.dims.end());
  return out;
}

}  // namespace

const ir::Type* Specialiser::result_type(const ir::TensorType& t) { return ir::types::tensor(t.dtype, t.dims); }

ir::SymDim Specialiser::dim_of(const AVal& a) {
  if (auto v = concrete(a)) {
    if (v->is_int()) return ir::SymDim::number(v->as_int());
    if (v->is_bool()) return ir::SymDim::number(v->as_bool());
    abandon(Reason::raises, "a size that is no int");
  }
  if (a.is(AKind::dynamic) && a.atom.is_name())
    if (auto at = dims_of_names_.find(ir::index(a.atom.name())); at != dims_of_names_.end()) return at->second;
  if (const auto sum = sum_of(a); sum && sum->base.is_none() && sum->rest.m > 0 && sum->rest.c >= 0) return sum->rest;
  return ir::SymDim::number(need_int(a, "is a size"));
}

// May a number that the program computes be a parameter of that kind? It is a size then, of what the row makes, which
// looks at the number itself when it is run. In a loop that has a size for each turn, it is known in the turns written
// out.
static bool names_size(ir::ParamKind kind) {
  return kind == ir::ParamKind::size || kind == ir::ParamKind::sizes || kind == ir::ParamKind::positive ||
         kind == ir::ParamKind::positives;
}
bool Specialiser::may_name_size(const AVal& a) const {
  return is_computed(a) && a.type == ir::types::integer() && !code.name(a.atom.name()).turns;
}

// A number that the program computes, as a size: that of a tensor without elements which the program makes for it. It
// is made once in a block, since what is made in a branch is not there behind it. Below 0 it is no size, and the
// interpreter raises that.
ir::SymDim Specialiser::named_size(const AVal& a) {
  AVal& extent = named_sizes_[ir::index(a.atom.name())];
  if (extent.is(AKind::unbound) || !code.makes_here(extent.atom.name())) {
    if (effects_.done) abandon(Reason::computed_number, "a computed number is a size, after an effect");
    leave_if(compare(prim::lt, a, AVal::of(Value::integer(0))), "a size is below 0");
    extent = tensor_op("extent", {a});
  }
  return extent.type->dims[0];
}

std::optional<Sum> Specialiser::sum_of(const AVal& a) const {
  if (const auto v = concrete(a))
    return v->is_int() ? std::optional(Sum{{}, ir::SymDim::number(v->as_int())}) : std::nullopt;
  if (!a.is(AKind::dynamic) || a.type != ir::types::integer() || !a.atom.is_name()) return std::nullopt;
  if (const auto at = dims_of_names_.find(ir::index(a.atom.name())); at != dims_of_names_.end())
    return Sum{{}, at->second};
  if (const auto at = sums_.find(ir::index(a.atom.name())); at != sums_.end()) return at->second;
  return Sum{a.atom, ir::SymDim::number(0)};
}

void Specialiser::note_sum(const AVal& out, const AVal& a, const AVal& b, int64_t sign) {
  const auto x = sum_of(a), y = sum_of(b);
  if (!x || !y || (!y->base.is_none() && (sign < 0 || !x->base.is_none()))) return;
  if (!x->rest.known() && !y->rest.known() && x->rest.symbol != y->rest.symbol) return;
  sums_[ir::index(out.atom.name())] = {x->base.is_none() ? y->base : x->base,
                                       ir::add(x->rest, ir::multiply(y->rest, ir::SymDim::number(sign)))};
}

// arange(past, past + n) has n elements, whatever `past` is: arange(n) + past, converted. Unbound: nobody knows how
// many.
AVal Specialiser::arange_of_sums(const std::vector<AVal>& params) {
  const auto start = sum_of(params[0]), stop = sum_of(params[1]), step = sum_of(params[2]);
  const auto dtype = concrete(params[3]);
  if (!start || !stop || !step || !dtype || start->base != stop->base || !(step->rest == ir::SymDim::number(1)))
    return {};
  if (start->base.is_none() && start->rest.known() && (start->rest.c == 0 || stop->rest.known())) return {};
  if (!start->rest.known() && !stop->rest.known() && start->rest.symbol != stop->rest.symbol) return {};
  const ir::SymDim n = ir::add(stop->rest, ir::multiply(start->rest, ir::SymDim::number(-1)));
  const AVal count = n.known() ? AVal::of(Value::integer(std::max<int64_t>(n.c, 0))) : size(n);
  const AVal none = AVal::of(Value::none());
  const AVal made = tensor_op("add", {tensor_op("arange", {count, none, params[2], none}), params[0]});
  return dtype->is_none() ? made : tensor_op("astype", {made, params[3]});
}

// What operations take as several: a tuple or a list.
bool Specialiser::is_sequence(const AVal& a) const {
  return a.is(AKind::tuple) || (a.is(AKind::ref) && kind_at(a.heap) == AObject::Kind::list) ||
         (a.is(AKind::known) && cast_exact<runtime::Tuple>(a.known));
}

bool Specialiser::holds_list(const AVal& a) const {
  if (a.is(AKind::tuple)) return std::ranges::any_of(a.items(), [&](const AVal& i) { return holds_list(i); });
  return a.is(AKind::ref) && kind_at(a.heap) == AObject::Kind::list;
}

// A parameter that is no tensor, as inference sees it. Its atom is a constant, or a name where the row takes run-time
// numbers.
ir::Param Specialiser::to_param(const AVal& given, ir::ParamKind kind, int depth) {
  if (depth == 0) abandon(Reason::language, "lists in lists as a parameter");
  const AVal a = as_value(given);
  if (is_sequence(a) && !a.is(AKind::known)) {
    ir::Param p;
    p.kind = ir::Param::Kind::list;
    for (const AVal& i : items_of(a, "is a parameter")) p.list.push_back(to_param(i, kind, depth - 1));
    return p;
  }
  if (a.is(AKind::dynamic)) {
    if (!a.type) abandon(Reason::unknown_value, "a parameter that is not known");
    if (a.type->kind == ir::TypeKind::integer)
      return ir::Param::of_dim(names_size(kind) && may_name_size(a) ? named_size(a) : dim_of(a));
    if (a.type->kind == ir::TypeKind::floating) {
      ir::Param p = ir::Param::of_float(std::nan(""));
      p.later = true;
      return p;
    }
    if (a.type->kind == ir::TypeKind::boolean) return to_param(AVal::of(need_constant(a, "is a flag of an operation")));
    abandon(Reason::unknown_value, "a tensor where an operation takes a number");
  }
  auto v = concrete(a);
  if (!v) abandon(Reason::unknown_value, "a parameter that is not known");
  switch (kind_of(*v)) {
    case ObjectKind::none:
      return ir::Param::none();
    case ObjectKind::boolean:
      return ir::Param::of_bool(v->as_bool());
    case ObjectKind::integer:
      return ir::Param::of(v->as_int());
    case ObjectKind::floating:
      return ir::Param::of_float(v->as_float());
    case ObjectKind::str:
      return ir::Param::of_text(std::string(v->as<runtime::Str>()->view()));
    case ObjectKind::dtype:
      return ir::Param::of_dtype(v->as<runtime::DTypeObject>()->dtype);
    case ObjectKind::tuple: {
      ir::Param p;
      p.kind = ir::Param::Kind::list;
      for (Value& i : *v->as<runtime::Tuple>()) p.list.push_back(to_param(AVal::of(i), kind, depth - 1));
      return p;
    }
    default:
      abandon(Reason::raises, "a parameter of an unexpected kind");
  }
}

AVal Specialiser::from_param(const ir::Param& p) {
  switch (p.kind) {
    case ir::Param::Kind::boolean:
      return AVal::of(Value::boolean(p.integer.c != 0));
    case ir::Param::Kind::integer:
      return AVal::of(Value::integer(p.integer.c));
    case ir::Param::Kind::floating:
      return AVal::of(Value::floating(p.floating));
    case ir::Param::Kind::text:
      return AVal::of(runtime::make_str(p.text));
    case ir::Param::Kind::dtype:
      return AVal::of(runtime::make_dtype(session, static_cast<DType>(p.integer.c)));
    case ir::Param::Kind::list: {
      std::vector<AVal> items;
      for (const ir::Param& i : p.list) items.push_back(from_param(i));
      return AVal::tuple(std::move(items));
    }
    default:
      return AVal::of(Value::none());
  }
}

// A number that is known when the program runs; now, if what comes out is made of other operations for another number.
ir::Param Specialiser::seen_number(const AVal& a, ir::ParamKind kind) {
  using P = ir::Param;
  switch (kind) {
    case ir::ParamKind::flag:
    case ir::ParamKind::axis:
    case ir::ParamKind::new_axis:
    case ir::ParamKind::axes:
    case ir::ParamKind::repeated_axes:
    case ir::ParamKind::axis_or_tensor:
    case ir::ParamKind::probability:
      return runtime::to_param(session, need_constant(a, "is an argument of an operation"), kind);
    default:
      break;
  }
  P p = P::of_kind(a.type->kind == ir::TypeKind::floating ? P::Kind::floating : P::Kind::integer);
  // A number that has a name as a size is looked at in each call (access.checks). Any other one that becomes a size is
  // known by then, so what it is now is looked at.
  const auto size = a.atom.is_name() ? dims_of_names_.find(ir::index(a.atom.name())) : dims_of_names_.end();
  const auto now = size == dims_of_names_.end() ? witness(a) : std::nullopt;
  p.integer = size != dims_of_names_.end() ? size->second
              : now && now->is_int()       ? ir::SymDim::number(now->as_int())
                                           : ir::unknown_dim();
  p.floating = std::nan("");
  p.later = true;
  return p;
}

// A parameter as far as it can be seen now; of lists in lists, the first levels.
ir::Param Specialiser::seen_param(const AVal& a, ir::ParamKind kind, int depth) {
  using P = ir::Param;
  if (is_tensor(a)) return P::of_kind(P::Kind::tensor);
  if (is_sequence(a) && !a.is(AKind::known)) {
    P p = P::of_kind(depth > 0 ? P::Kind::list : P::Kind::object);
    if (depth == 0) return p.text = a.is(AKind::tuple) ? "tuple" : "list", p;
    for (const AVal& i : items_of(a, "is a parameter")) p.list.push_back(seen_param(i, kind, depth - 1));
    return p;
  }
  if (a.is(AKind::ref) && (kind_at(a.heap) == AObject::Kind::dict || kind_at(a.heap) == AObject::Kind::set)) {
    P p = P::of_kind(P::Kind::object);
    p.text = kind_at(a.heap) == AObject::Kind::dict ? "dict" : "set";
    return p;
  }
  if (a.is(AKind::dynamic) && !a.type)
    abandon(Reason::unknown_value, "an argument of an operation whose type is not known");
  if (a.is(AKind::dynamic)) return seen_number(a, kind);
  auto v = concrete(a);
  if (!v) abandon(Reason::unknown_value, "an argument of an operation whose type is not known");
  return runtime::to_param(session, *v, kind, depth);
}

static bool has_symbols(const ir::Param& p) {
  return (p.kind == ir::Param::Kind::integer && !p.integer.known()) ||
         std::ranges::any_of(p.list, [](const ir::Param& item) { return has_symbols(item); });
}
static bool has_symbols(const ir::TensorType& t) {
  return std::ranges::any_of(t.dims, [](ir::Dim d) { return !d.known(); });
}

// The sizes that a caller gives the last axes of a tensor. One that is not that axis' size by its name is a number that
// must be known, and so must be the axis.
ir::Param Specialiser::last_sizes(const AVal& a, std::span<const ir::Dim> shape) {
  ir::Param out;
  out.kind = ir::Param::Kind::list;
  const bool several = a.is(AKind::tuple) || (a.is(AKind::ref) && kind_at(a.heap) == AObject::Kind::list);
  const std::vector<AVal> items = several ? items_of(a, "is a shape") : std::vector<AVal>{a};
  for (size_t i = 0; i < items.size(); ++i) {
    const ir::Dim axis = items.size() <= shape.size() ? shape[shape.size() - items.size() + i] : ir::dim(0);
    ir::Param one = seen_param(items[i], ir::ParamKind::last_axes);
    if (items[i].is(AKind::dynamic) && items[i].type && items[i].type->kind == ir::TypeKind::integer)
      one = ir::Param::of_dim(dim_of(items[i]));
    if (one.kind == ir::Param::Kind::integer && one.integer != axis) {
      if (!axis.known()) {
        abandon_symbol_ = true;  // ask for a version with numbers
        abandon(Reason::computed_test, "a size is compared");
      }
      if (!one.integer.known()) one = to_param(AVal::of(need_constant(items[i], "is compared with a size")));
    }
    out.list.push_back(std::move(one));
  }
  return out;
}

// Of a row in Ouro: what it states of its parameters, before its text is looked at.
void Specialiser::check_arguments(const ir::OpInfo& info, const std::vector<AVal>& params) {
  ir::SigCall call;
  call.op = &info;
  std::vector<std::optional<ir::TensorType>> inputs;
  std::vector<ir::Param> others;
  bool varies = false;  // with sizes, or numbers, that another call may have otherwise
  if (info.sig->states_dims) {
    for (int at : info.input_at) inputs.push_back(input_type(info, params[static_cast<size_t>(at)]));
    call.inputs = inputs;
    if (!ir::check_dims(call)) abandon(Reason::raises, fmt::format("{} raises: {}", info.name, call.error->text));
    call.inputs = {};
    varies = std::ranges::any_of(inputs, [&](const auto& t) { return t && has_symbols(*t); });
  }
  const int input = ir::axis_input(info);
  int rank = -1;
  std::span<const ir::Dim> shape;
  AVal x;
  if (input >= 0) x = params[static_cast<size_t>(info.input_at[static_cast<size_t>(input)])];
  if (input >= 0 && info.sig->inputs[static_cast<size_t>(input)].many && !is_tensor(x)) {
    const std::vector<AVal> parts = items_of(x, "is a list of tensors");
    x = parts.empty() ? AVal() : parts[0];
  }
  if (is_tensor(x)) shape = x.type->dims, rank = static_cast<int>(shape.size());
  for (int i : info.param_at) {
    const ir::OpParam& p = info.params[static_cast<size_t>(i)];
    const AVal& a = params[static_cast<size_t>(i)];
    if (p.kind == ir::ParamKind::any || p.kind == ir::ParamKind::key || p.kind == ir::ParamKind::dtype) {
      others.push_back(ir::Param::of_kind(ir::Param::Kind::unknown));
      continue;
    }
    ir::Param seen = seen_param(a, p.kind);
    if (p.kind == ir::ParamKind::last_axes && rank >= 0) seen = last_sizes(a, shape);
    if (!ir::check_param(call, p, seen, rank, shape))
      abandon(Reason::raises, fmt::format("{} raises: {}", info.name, call.error->text));
    varies = varies || has_symbols(seen);
    others.push_back(std::move(seen));
  }
  if (varies) access.checks.push_back({&info, std::move(inputs), std::move(others), {}});
}

AVal Specialiser::tensor_op(std::string_view row, std::vector<AVal> params) {
  const ir::OpInfo* op = ir::find_op(row);
  if (!op) ouro_bug("specialise: no row %.*s", static_cast<int>(row.size()), row.data());
  return tensor_op(op->op, std::move(params));
}

// Is it an int that becomes an element, and no size? (How many elements `arange` has is of its numbers.)
static bool is_value(const ir::OpInfo& info, size_t param, const AVal& a) {
  return info.params[param].kind == ir::ParamKind::number && info.def->shape != "arange" && a.is(AKind::dynamic) &&
         a.type && a.type->kind == ir::TypeKind::integer;
}

// x.to("cpu"), x.to(y) where all tensors are on the host: a version for that.
AVal Specialiser::placed_on_host(const ir::OpInfo& info, const std::vector<AVal>& params) {
  const auto where = concrete(params[1]);
  auto* name = where ? runtime::cast_exact<runtime::Str>(*where) : nullptr;
  const bool host = is_tensor(params[1]) || (name && runtime::find_device(name->view()) == runtime::DeviceId::cpu);
  if (!host || session.devices.used() || !is_tensor(params[0]))
    abandon_whole(Reason::placement, "a tensor is placed on a device");
  places = true;
  return pure_call(AVal::of(runtime::operation_function(session, info)), params, {}, type_of(params[0]));
}

AVal Specialiser::tensor_op(ir::Op op, std::vector<AVal> params) {
  const ir::OpInfo& info = ir::op_info(op);
  for (AVal& p : params) p = as_value(p);
  for (size_t i = params.size(); i < info.params.size(); ++i) {
    if (!info.params[i].has_default)
      abandon(Reason::raises, fmt::format("{}: {} is missing", info.name, info.params[i].name));
    params.push_back(from_param(ir::default_of(info.params[i])));
  }
  // An iterator of tensors is gone through once.
  for (size_t i = 0; i < info.sig->inputs.size() && i < info.input_at.size(); ++i) {
    AVal& p = params[static_cast<size_t>(info.input_at[i])];
    if (info.sig->inputs[i].many && p.is(AKind::ref) && kind_at(p.heap) == AObject::Kind::iterator)
      p = new_list(items_of(p, "is a list of tensors"));
  }
  if (!info.def->source.empty()) {
    check_arguments(info, params);
    return call_source(info, params);
  }
  if (info.def->effect == ir::OpEffect::place) return placed_on_host(info, params);
  for (size_t i = 0; i < params.size(); ++i)  // a list as an index is no tuple of indices, which parameters become
    if (info.params[i].kind == ir::ParamKind::key && holds_list(params[i])) {
      const Value f = runtime::operation_function(session, info);
      if (!f.is_error()) return boxed_call(AVal::of(f), params, {});
      session.pending = Value();
      abandon(Reason::container, fmt::format("{} of a list", info.name));
    }
  for (size_t i = 0; i < params.size(); ++i)  // by its name, or as Python's type
    if (info.params[i].name == "dtype")
      if (auto v = concrete(params[i]); v && !v->is_none()) {
        DType t;
        if (!runtime::to_dtype(session, *v, t))
          abandon(Reason::raises, fmt::format("{}: a dtype that there is not", info.name));
        params[i] = AVal::of(runtime::make_dtype(session, t));
      }
  const bool counts = info.def->shape == "arange";
  if (counts)
    if (AVal made = arange_of_sums(params); !made.is(AKind::unbound)) return made;
  std::vector<std::optional<ir::TensorType>> inputs;
  std::vector<ir::Param> others;
  for (size_t i = 0, input = 0; i < params.size(); ++i) {
    if (!info.params[i].input)
      others.push_back(is_value(info, i, params[i])
                           ? ir::Param::of_dim(ir::unknown_dim())
                           : to_param(params[i], counts ? ir::ParamKind::size : info.params[i].kind));
    else if (info.sig->inputs[input++].many)
      for (const AVal& part : items_of(params[i], "is a list of tensors")) inputs.push_back(input_type(info, part));
    else
      inputs.push_back(input_type(info, params[i]));
  }
  // Of numbers alone an operation gives a number, in double precision: now, or as the interpreter does it.
  if (!inputs.empty() && std::ranges::all_of(inputs, [](const auto& t) { return t && t->scalar; }) &&
      info.elementwise())
    return on_numbers(info, params);
  // Among tensors a Python float is of the default type, by itself it is a double.
  if (!info.elementwise() || std::ranges::any_of(inputs, [](const auto& t) { return t && !t->scalar; }))
    for (auto& t : inputs)
      if (t && t->scalar && t->dtype == DType::f64) t->dtype = kDefaultFloat;
  ir::SigCall call;
  call.op = &info;
  call.inputs = inputs;
  call.params = others;
  if (!ir::infer(call))
    abandon(Reason::raises, fmt::format("{} raises: {}", info.name, call.error ? call.error->text : ""));
  if (std::ranges::any_of(inputs, [&](const auto& t) { return t && has_symbols(*t); }) ||
      std::ranges::any_of(call.results, [](const ir::TensorType& t) { return has_symbols(t); })) {
    ShapeCheck check{&info, inputs, others, {}};
    for (const ir::TensorType& t : call.results) check.results.push_back(t.dims);
    access.checks.push_back(std::move(check));
  }
  need_no_one(call);
  std::vector<ir::Atom> atoms;
  for (size_t i = 0; i < params.size(); ++i) atoms.push_back(parameter_atom(params[i]));
  std::vector<const ir::Type*> types;
  for (const ir::TensorType& t : call.results) types.push_back(result_type(t));
  if (types.size() == 1) {
    const AVal made = AVal::dynamic(code.let(op, atoms, 0, types[0], span), types[0]);
    note_sizes(made);
    return made;
  }
  const ir::Type* pack = ir::types::tuple(types);
  ir::NameId all = code.let(op, atoms, 0, pack, span);
  std::vector<AVal> parts;
  for (uint32_t i = 0; i < types.size(); ++i)
    parts.push_back(AVal::dynamic(code.let(prim::tuple_get, {all}, i, types[i], span), types[i]));
  for (const AVal& part : parts) note_sizes(part);
  return AVal::tuple(std::move(parts));
}

// Inference takes it that a size which is a symbol is not 1. Of those that a call brings, that is looked at before the
// program runs (AccessProgram::checks); a size that is found while it runs is compared with 1 here, where the result
// would have another shape, and the program is left if it is 1.
void Specialiser::need_no_one(const ir::SigCall& call) {
  std::set<uint32_t> given, found;
  for (const auto& t : call.inputs)
    for (size_t i = 0; t && i < t->dims.size(); ++i)
      if (!t->dims[i].known()) given.insert(t->dims[i].symbol);
  std::ranges::copy_if(given, std::inserter(found, found.end()), [&](uint32_t s) { return !extents_.count(s); });
  for (const uint32_t symbol : found) {
    const auto as_one = [symbol](ir::Dim& d) {
      if (!d.known() && d.symbol == symbol) d = ir::dim(d.m + d.c);
    };
    std::vector<std::optional<ir::TensorType>> inputs(call.inputs.begin(), call.inputs.end());
    for (auto& t : inputs)
      for (size_t i = 0; t && i < t->dims.size(); ++i) as_one(t->dims[i]);
    ir::SigCall other{.op = call.op, .inputs = inputs, .params = call.params};
    bool same = ir::infer(other) && other.results.size() == call.results.size();
    for (size_t r = 0; same && r < call.results.size(); ++r) {
      ir::Dims want = call.results[r].dims;
      for (ir::Dim& d : want) as_one(d);
      const auto alike = [&](ir::Dim a, ir::Dim b) {
        return a == b || (!a.known() && !b.known() && !given.count(a.symbol) && !given.count(b.symbol));
      };
      same = std::ranges::equal(want, other.results[r].dims, alike);
    }
    if (!same) leave_if(compare(prim::eq, size(ir::SymDim::of(symbol)), AVal::of(Value::integer(1))), "a size is 1");
  }
}

// Nothing has been done yet that shows, so that the interpreter can do the call again.
void Specialiser::leave_if(const AVal& condition, std::string_view why) {
  if (effects_.done) abandon(Reason::effects, fmt::format("{}, after an effect", why));
  ++redone_;
  const ir::BlockId leaves = code.new_block(), goes_on = code.new_block();
  code.branch(condition.atom, leaves, goes_on);
  code.switch_to(leaves);
  code.leave(why);
  code.switch_to(goes_on);
}

AVal Specialiser::on_numbers(const ir::OpInfo& info, const std::vector<AVal>& params) {
  std::vector<Value> values;
  for (const AVal& p : params)
    if (auto v = concrete(p)) values.push_back(*v);
  Value f = runtime::operation_function(session, info);
  if (f.is_error()) {
    session.pending = Value();
    abandon(Reason::computed_number, fmt::format("{} of numbers", info.name));
  }
  if (values.size() < params.size()) return boxed_call(AVal::of(f), params, {});
  Value out = runtime::run_operation(session, info, values);
  if (!out.is_error()) return AVal::of(out);
  session.pending = Value();
  abandon(Reason::raises, fmt::format("{} raises", info.name));
}

std::optional<ir::TensorType> Specialiser::input_type(const ir::OpInfo& info, const AVal& p) {
  if (p.is(AKind::poison)) abandon(Reason::branches, "a value that differs between branches");
  if (p.is(AKind::known) && p.known.is_none()) return std::nullopt;
  if (is_tensor(p)) return tensor_type(*p.type);
  if (!is_number(p)) abandon(Reason::unknown_value, fmt::format("{} of a value whose type is not known", info.name));
  ir::TensorType t;
  t.scalar = true;
  const ir::Type* st = type_of(p);
  t.dtype = st->kind == ir::TypeKind::floating  ? DType::f64
            : st->kind == ir::TypeKind::integer ? DType::i64
                                                : DType::boolean;
  return t;
}

// Tuples of sizes may hold symbols: then they are made by a tuple operation, otherwise they are constants.
ir::Atom Specialiser::parameter_atom(const AVal& given) {
  const AVal a = as_value(given);
  if (a.is(AKind::dynamic)) return a.atom;
  if (auto v = concrete(a))
    if (ir::Atom c = constant_atom(*v); !c.is_none()) return c;
  std::vector<ir::Atom> items;
  std::vector<const ir::Type*> types;
  for (const AVal& i : items_of(a, "is a parameter")) {
    items.push_back(parameter_atom(i));
    types.push_back(type_of(i));
  }
  bool all_const = true;
  for (ir::Atom i : items) all_const &= i.is_const();
  if (all_const) return code.tuple(items);
  return code.let(prim::tuple, items, 0, ir::types::tuple(types), span);
}

// Arguments → parameters of a row, defaults filled in; `places`: the parameter of each argument, and its place in a
// variadic one (else -1).
std::vector<AVal> Specialiser::bind_row(const ir::OpInfo& op, const std::vector<AVal>& args, const Keywords& keywords,
                                        std::vector<std::pair<int, int>>* places) {
  std::vector<AVal> params(op.params.size());
  size_t at = 0;
  for (size_t i = 0; i < op.params.size(); ++i) {
    if (op.params[i].variadic) {
      // f(x, 2, 3) and f(x, (2, 3)) are the same.
      for (size_t k = at; places && k < args.size(); ++k)
        places->push_back({static_cast<int>(i), static_cast<int>(k - at)});
      std::vector<AVal> rest(args.begin() + static_cast<long>(std::min(at, args.size())), args.end());
      at = args.size();
      bool one_sequence = rest.size() == 1 && is_sequence(rest[0]);
      if (one_sequence) {
        std::vector<AVal> items = items_of(rest[0], "is a shape");
        if (std::ranges::any_of(items, [&](const AVal& item) { return is_sequence(item); }))
          abandon(Reason::computed_number, "sizes in a list of lists");
        params[i] = AVal::tuple(std::move(items));
      } else if (!rest.empty() || !op.params[i].has_default)
        params[i] = AVal::tuple(std::move(rest));
    } else if (!op.params[i].keyword_only && at < args.size()) {
      params[i] = args[at++];
      if (places) places->push_back({static_cast<int>(i), -1});
    }
  }
  if (at < args.size()) abandon(Reason::raises, fmt::format("{}: too many arguments", op.name));
  for (const auto& [name, v] : keywords) {
    std::string n = runtime::operation_keyword(op, name.text());
    bool found = false;
    for (size_t i = 0; i < op.params.size(); ++i)
      if (op.params[i].name == n && params[i].is(AKind::unbound)) {
        params[i] = v;
        if (places) places->push_back({static_cast<int>(i), -1});
        found = true;
      }
    if (!found) abandon(Reason::raises, fmt::format("{}: no argument {}", op.name, name.text()));
  }
  for (size_t i = 0; i < params.size(); ++i) {
    if (!params[i].is(AKind::unbound)) continue;
    if (op.params[i].variadic && !op.params[i].has_default) {
      params[i] = AVal::tuple({});
      continue;
    }
    if (!op.params[i].has_default)
      abandon(Reason::raises, fmt::format("{}: argument {} is missing", op.name, op.params[i].name));
    params[i] = from_param(ir::default_of(op.params[i]));
  }
  return params;
}

AVal Specialiser::call_row(const ir::OpInfo& op, const std::vector<AVal>& args, const Keywords& keywords) {
  if (op.inputs == 0) makes_tensors = makes_tensors || is_of_script(span);
  return tensor_op(op.op, bind_row(op, args, keywords, nullptr));
}

AVal Specialiser::zero_of(const ir::Type* t, const AVal&) {
  if (t->kind == ir::TypeKind::floating) return AVal::of(Value::floating(0.0));
  if (t->kind == ir::TypeKind::integer) return AVal::of(Value::integer(0));
  if (!t->is_tensor()) abandon(Reason::derivative, "a zero of a value that is no number");
  std::vector<AVal> shape;
  for (const ir::SymDim& d : t->dims) shape.push_back(size(d));
  return tensor_op("zeros", {AVal::tuple(std::move(shape)), AVal::of(runtime::make_dtype(session, t->dtype))});
}

AVal Specialiser::tensor_item(const AVal& a) {
  for (const ir::SymDim& d : a.type->dims)
    if (d != ir::SymDim::number(1)) abandon(Reason::raises, "the number in a tensor of several elements");
  const ir::Type* t = is_float(a.type->dtype)           ? ir::types::floating()
                      : a.type->dtype == DType::boolean ? ir::types::boolean()
                                                        : ir::types::integer();
  return emit(ir::prim::tensor_item, {a}, t);
}

AVal Specialiser::tensor_attr(const AVal& a, Symbol name) {
  std::string_view n = name.text();
  if (n == "shape") {
    std::vector<AVal> dims;
    for (const ir::SymDim& d : a.type->dims) dims.push_back(size(d));
    return AVal::tuple(std::move(dims));
  }
  if (n == "ndim") return AVal::of(Value::integer(static_cast<int64_t>(a.type->rank())));
  if (n == "dtype") return AVal::of(runtime::make_dtype(session, a.type->dtype));
  if (n == "T" || n == "mT" || n == "H") {
    std::vector<AVal> order;
    int64_t r = static_cast<int64_t>(a.type->rank());
    if (n == "mT" ? r < 2 : n == "H" && r != 2 && r != 0) abandon(Reason::raises, "an operation that raises");
    for (int64_t i = 0; i < r; ++i) {
      int64_t axis = n != "mT" ? r - 1 - i : i < r - 2 ? i : i == r - 2 ? r - 1 : r - 2;
      order.push_back(AVal::of(Value::integer(axis)));
    }
    return tensor_op("permute", {a, AVal::tuple(std::move(order))});
  }
  Value v = runtime::type_lookup(session, session.type(ObjectKind::tensor), name);
  if (v.is_unbound()) return {};
  if (cast_exact<runtime::Native>(v)) return bind(AVal::of(v), a);
  return boxed(prim::attr_get, {a}, name.id());
}

}  // namespace ouro::jit
