#include "runtime/tensor/call.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>
#include <utility>

#include "ir/ops/param_kinds.h"
#include "ir/ops/sig_parse.h"
#include "runtime/interpreter/interpreter.h"
#include "runtime/interpreter/modules.h"
#include "runtime/object/elsewhere.h"
#include "runtime/tensor/elementwise.h"
#include "runtime/tensor/route.h"
#include "runtime/types/big_int.h"
#include "support/diag.h"
#include "support/forever.h"
#include "support/per_thread.h"

namespace ouro::runtime {

Value raise_kind(Session& s, std::string_view kind, std::string_view text) {
  constexpr std::pair<std::string_view, ExcKind> kKinds[] = {
      {"TypeError", ExcKind::TypeError},     {"RuntimeError", ExcKind::RuntimeError},
      {"IndexError", ExcKind::IndexError},   {"OverflowError", ExcKind::OverflowError},
      {"MemoryError", ExcKind::MemoryError}, {"NotImplementedError", ExcKind::NotImplementedError}};
  for (const auto& [name, k] : kKinds)
    if (name == kind) return raise_text(s, k, text);
  return raise_text(s, ExcKind::ValueError, text);
}

ir::Param to_param(Session& s, const Value& v, ir::ParamKind kind, int depth) {
  using P = ir::Param;
  if (v.is_none() || v.is_unbound()) return P::none();
  if (v.is_bool()) return P::of_bool(v.as_bool());
  if (v.is_int()) return P::of(v.as_int());
  if (v.is_float()) return P::of_float(v.as_float());
  if (auto* t = cast<Str>(v)) return P::of_text(std::string(t->view()));
  if (auto* d = cast<DTypeObject>(v)) return P::of_dtype(d->dtype);
  std::span<const Value> items;
  P p;
  if (auto* l = cast<List>(v))
    items = {l->items, l->size};
  else if (auto* t = cast<Tuple>(v))
    items = {t->items(), t->size};
  else if (auto* t = cast<Tensor>(v)) {
    const bool as_it_is = kind == ir::ParamKind::tensor || kind == ir::ParamKind::tensors ||
                          kind == ir::ParamKind::number_or_tensor || kind == ir::ParamKind::axis_or_tensor;
    if (as_it_is || t->size != 1) return P::of_kind(P::Kind::tensor);
    return to_param(s, tensor_item(s, t, 0), kind);
  } else if (cast<BigInt>(v)) {
    return P::of_float(std::ldexp(int_sign(v), 1023));
  } else if (const Value& u = unwrap(v); !u.same(v)) {
    return to_param(s, u, kind);
  } else {
    p.kind = P::Kind::object;
    p.text = type_name(s, v);
    return p;
  }
  p.kind = depth > 0 ? P::Kind::list : P::Kind::object;
  if (depth == 0) return p.text = type_name(s, v), p;
  for (const Value& i : items) p.list.push_back(to_param(s, i, kind, depth - 1));
  return p;
}

// ---------------------------------------------------------------- OpCall

std::vector<int64_t> OpCall::integers(std::string_view name) const {
  const ir::Param* p = &param(name);
  if (p->kind == ir::Param::Kind::list && p->list.size() == 1 && p->list[0].kind == ir::Param::Kind::list)
    p = &p->list[0];
  if (p->kind != ir::Param::Kind::list) return {p->integer.c};
  std::vector<int64_t> out;
  for (const ir::Param& q : p->list) out.push_back(q.integer.c);
  return out;
}
const Value& OpCall::argument(std::string_view name) const {
  static const Value kUnbound;
  for (size_t i = 0; i < op.params.size(); ++i)
    if (op.params[i].name == name) return args[i];
  return kUnbound;
}
int OpCall::axis(std::string_view name, int rank) const {
  int64_t a = integer(name);
  return static_cast<int>(a < 0 ? a + std::max(rank, 1) : a);
}
std::vector<int> OpCall::axes(int rank) const {
  std::vector<int> out;
  ir::SigCall c = sig;
  ir::resolve_axes(c, param("axis"), rank, out);
  return out;
}
Value OpCall::raise(const std::string& kind, const std::string& text) const { return raise_kind(s, kind, text); }

namespace {

// ---------------------------------------------------------------- executors

const ExecutorRow* find_executor(const ir::OpInfo& op) {
  static const std::map<std::string, const ExecutorRow*, std::less<>>& all = support::forever([] {
    std::map<std::string, const ExecutorRow*, std::less<>> m;
    for (auto rows : {reduce_executors(), view_executors(), index_executors(), make_executors(), random_executors(),
                      order_executors(), window_executors(), contract_executors(), decompose_executors(),
                      sparse_executors(), block_sparse_executors()})
      for (const ExecutorRow& r : rows) m.emplace(r.name, &r);
    return m;
  }());
  constexpr std::string_view kKinds[] = {"",     "reduce", "arg",    "scan",    "contract",
                                         "conv", "view",   "gather", "scatter", "window"};
  std::string name(op.def->symbol);
  if (name.empty()) {
    name = kKinds[static_cast<int>(op.def->loop.kind)];
    if (!op.def->loop.index.empty()) name += " " + std::string(op.def->loop.index);
  }
  auto it = all.find(name);
  return it == all.end() ? nullptr : it->second;
}

// ---------------------------------------------------------------- rows in Ouro

struct Texts {
  std::unordered_map<const ir::OpInfo*, Value> functions;
  std::map<std::string, Value, std::less<>> lambdas;
  std::unordered_map<const ir::OpInfo*, Value> natives;
  Value ouro;
};

Value text_module(Session& s, const std::string& name) {
  OURO_TRY(m, make_module(s, name));
  m.as<Module>()->ouro_names = true;
  m.as<Module>()->names.set(intern("__name__"), make_str(name));
  OURO_TRY(ouro, operation_namespace(s));
  m.as<Module>()->names.set(intern("ouro"), ouro);
  OURO_TRY(rows, import_module(s, intern("_ad_rows")));
  OURO_TRY(is_computed, get_attr(s, rows, "is_computed"));
  m.as<Module>()->names.set(intern("is_computed"), is_computed);
  m.as<Module>()->names.set(intern("inf"), Value::floating(HUGE_VAL));
  m.as<Module>()->names.set(intern("nan"), Value::floating(NAN));
  for (int i = 0; i < kDTypeCount; ++i)
    if (static_cast<DType>(i) != DType::boolean)
      m.as<Module>()->names.set(intern(kDTypes[i].name), make_dtype(s, static_cast<DType>(i)));
  m.as<Module>()->version = s.next_version++;
  return m;
}

// Runs a file of stdlib/ops, and takes its operations. What is left in its module are helpers: the operations' names
// mean the built-ins there, also where those are Python's (a row `max` that calls max).
bool load_group(Session& s, std::string_view group) {
  const std::string name = "ouro.ops." + std::string(group);
  const Session::Embedded* library = s.find_embedded ? s.find_embedded(name) : nullptr;
  if (!library) return raise_error(s, ExcKind::RuntimeError, "there is no %s", name.c_str()), false;
  Value module = text_module(s, name);
  if (module.is_error() || run_embedded(s, *library, module).is_error()) return false;
  Module& m = *module.as<Module>();
  for (const ir::OpInfo* op : ir::all_ops()) {
    if (op->def->source != group) continue;
    Value* made = m.names.find(intern(op->name));
    if (!made || made->is_unbound()) ouro_bug("%s has no operation %s", name.c_str(), op->name.c_str());
    s.state<Texts>().functions[op] = std::exchange(*made, Value());
  }
  m.version = s.next_version++;
  return true;
}

// The function that a row in Ouro is. Its parameters say nothing of what they take: that is checked before.
Value source_function(Session& s, const ir::OpInfo& op) {
  auto& functions = s.state<Texts>().functions;
  auto it = functions.find(&op);
  if (it != functions.end()) return it->second;
  return load_group(s, op.def->source) ? functions.at(&op) : Value::error();
}

// ---------------------------------------------------------------- calls

const std::string& canonical(const ir::OpInfo& op, std::string_view name, std::string& keep) {
  keep = name;
  auto has = [&](std::string_view n) {
    return std::any_of(op.params.begin(), op.params.end(), [&](const ir::OpParam& p) { return p.name == n; });
  };
  if (has(name)) return keep;
  constexpr std::pair<std::string_view, std::string_view> kAliases[] = {
      {"dim", "axis"},   {"dims", "axis"},        {"axis", "dim"},         {"axes", "dims"},
      {"dims", "dims"},  {"keepdims", "keepdim"}, {"fill_value", "value"}, {"size", "shape"},
      {"shape", "size"}, {"other", "y"},          {"end", "stop"},         {"split_size_or_sections", "size"},
      {"axis1", "dim0"}, {"axis2", "dim1"}};
  for (const auto& [from, to] : kAliases)
    if (from == name && has(to)) return keep = to, keep;
  if ((name == "input" || name == "self" || name == "tensors" || name == "a") && !op.params.empty())
    keep = op.params[0].name;
  return keep;
}

Value bad_call(Session& s, const ir::OpInfo& op, const std::string& text) {
  return raise_text(s, ExcKind::TypeError, op.shown + "() " + text);
}

// Python's binding of a call to the row's parameters; `out` has one place per parameter, unbound where absent. A row in
// Ouro takes every parameter by position, so that rules need not know which are keyword-only.
bool bind(Session& s, const ir::OpInfo& op, const Args& args, std::vector<Value>& out) {
  const bool by_position = !op.def->source.empty();
  out.assign(op.params.size(), Value());
  size_t at = 0, i = 0;
  for (; i < op.params.size() && at < args.size(); ++i) {
    const ir::OpParam& p = op.params[i];
    if (p.variadic) {
      out[i] = make_tuple(args.positional.subspan(at));
      at = args.size();
      ++i;
      break;
    }
    if (p.keyword_only && !by_position) break;
    out[i] = args[at++];
  }
  if (at < args.size()) {
    size_t most = 0;
    for (const ir::OpParam& p : op.params) most += !p.keyword_only || by_position;
    bad_call(
        s, op,
        "takes at most " + std::to_string(most) + " positional arguments (" + std::to_string(args.size()) + " given)");
    return false;
  }
  for (size_t k = 0; k < args.keywords.size(); ++k) {
    std::string keep;
    std::string_view name = args.names[k].as<Str>()->view();
    const std::string& want = canonical(op, name, keep);
    size_t j = 0;
    while (j < op.params.size() && op.params[j].name != want) ++j;
    if (j == op.params.size())
      return bad_call(s, op,
                      "got an unexpected keyword argument '" + std::string(name) + "'" + of_another_argument(name)),
             false;
    if (!out[j].is_unbound())
      return bad_call(s, op, "got multiple values for argument '" + std::string(name) + "'"), false;
    out[j] = args.keywords[k];
  }
  for (size_t j = 0; j < op.params.size(); ++j) {
    if (!out[j].is_unbound()) continue;
    if (op.params[j].variadic) {
      out[j] = make_tuple();
      continue;
    }
    if (!op.params[j].has_default)
      return bad_call(s, op,
                      "missing required argument: '" + op.params[j].name + "'" + of_a_missing_argument(op.shown)),
             false;
  }
  return true;
}

Value default_value(Session& s, const ir::OpParam& p) {
  ir::Param d = ir::default_of(p);
  using K = ir::Param::Kind;
  switch (d.kind) {
    case K::boolean:
      return Value::boolean(d.integer.c != 0);
    case K::integer:
      return Value::integer(d.integer.c);
    case K::floating:
      return Value::floating(d.floating);
    case K::text:
      return make_str(d.text);
    case K::dtype:
      return make_dtype(s, static_cast<DType>(d.integer.c));
    case K::list:
      return make_tuple();
    default:
      return Value::none();
  }
}

bool is_number(const Value& v) { return v.is_int() || v.is_float() || v.is_bool() || cast<BigInt>(v); }

// A tensor input: a tensor, or a number that becomes a 0-d tensor, a float one with all its digits.
Value as_input(Session& s, const ir::OpInfo& op, const Value& given) {
  const Value& v = unwrap(given);
  if (cast<Tensor>(v)) return v;
  if (v.is_float()) return tensor_from(s, v, DType::f64);
  if (is_number(v)) return tensor_from(s, v, {});
  return bad_call(s, op, "expects a tensor, not '" + type_name(s, v) + "'");
}

ir::TensorType type_of_input(const Value& original, const Tensor* t) {
  ir::TensorType out;
  out.dtype = unwrap(original).is_float() ? kDefaultFloat : t->dtype;
  out.scalar = !cast<Tensor>(original);
  for (int i = 0; i < t->rank; ++i) out.dims.push_back(ir::dim(t->dim(i)));
  return out;
}

// `place` and `place_like`: nothing moves before an operation needs it.
Value run_place(Session& s, const ir::OpInfo& op, std::span<Value> args) {
  if (!cast<Tensor>(args[0])) return bad_call(s, op, "expects a tensor, not '" + type_name(s, args[0]) + "'");
  uint8_t place = 0;
  if (auto* like = cast<Tensor>(args[1])) {
    place = like->place;
  } else {
    auto* name = cast<Str>(args[1]);
    auto id = name ? find_device(name->view()) : std::nullopt;
    if (!id) return bad_call(s, op, "expects the name of a device");
    std::string error;
    if (*id != DeviceId::cpu && !s.devices.open(*id, error)) return raise_text(s, ExcKind::RuntimeError, error);
    place = place_on(*id);
  }
  return placed(unwrap(args[0]), place);
}

Value run_row_on_host(Session& s, const ir::OpInfo& op, std::span<Value> args);

Value run_general(Session& s, const ir::OpInfo& op, std::span<Value> args) {
  if (!s.devices.used()) [[likely]]
    return run_row_on_host(s, op, args);
  if (op.inputs == 0) return placed(run_row_on_host(s, op, args), s.row_texts > 0 ? kAnywhere : 0);
  // What only looks at the shape needs no elements.
  if (op.def->effect == ir::OpEffect::place ||
      (op.def->loop.kind == ir::LoopKind::view && ir::view::only_shape(op.def->loop.map)))
    return run_row_on_host(s, op, args);
  return run_anywhere(s, op, args, [&] { return run_row_on_host(s, op, args); });
}

Value run_row_on_host(Session& s, const ir::OpInfo& op, std::span<Value> args) {
  if (op.def->effect == ir::OpEffect::place) return run_place(s, op, args);
  struct Known {
    std::unordered_map<const ir::OpInfo*, const ExecutorRow*> rows;
  };
  const ExecutorRow*& row = support::PerThread<Known>::get().rows[&op];
  if (!row && !(row = find_executor(op)))
    return raise_error(s, ExcKind::NotImplementedError, "operation '%s' has no kernel", op.name.c_str());
  OpCall c{s, op, args, {}, {}, {}, {}, {}};
  const ir::Sig& sig = *op.sig;
  for (int k = 0; k < op.inputs; ++k) {
    Value& v = args[op.input_at[k]];
    if (sig.inputs[k].many) {
      OURO_TRY(list, tuple_of(s, v));
      for (const Value& part : *list.as<Tuple>()) {
        OURO_TRY(t, as_input(s, op, part));
        c.types.emplace_back(type_of_input(part, t.as<Tensor>()));
        c.inputs.push_back(std::move(t));
      }
    } else if (sig.inputs[k].optional && (v.is_none() || v.is_unbound())) {
      c.types.emplace_back();
      c.inputs.emplace_back();
    } else {
      OURO_TRY(t, as_input(s, op, v));
      c.types.emplace_back(type_of_input(v, t.as<Tensor>()));
      c.inputs.push_back(std::move(t));
    }
  }
  for (int p : op.param_at) {
    const Value& v = args[p];
    if (op.params[p].name == "dtype" && !v.is_none() && !v.is_unbound()) {
      DType d;
      if (!to_dtype(s, v, d)) return Value::error();
      c.params.push_back(ir::Param::of_dtype(d));
    } else {
      c.params.push_back(v.is_unbound() ? ir::default_of(op.params[p]) : to_param(s, v, op.params[p].kind));
    }
  }
  c.sig.op = &op;
  c.sig.inputs = c.types;
  c.sig.params = c.params;
  if (!ir::infer(c.sig)) return raise_kind(s, c.sig.error->kind, c.sig.error->text);
  if (row->infers)
    for (const ir::Dim& d : c.sig.results[0].dims) c.shape.push_back(d.c);
  // Inputs in their promoted types (a list's parts alike; `a` inputs as they are).
  bool keep_type = op.def->shape == "cast_like" || op.def->symbol == "cast";
  for (size_t i = 0; i < c.inputs.size() && !keep_type; ++i) {
    if (c.inputs[i].is_unbound() || sig.inputs[std::min(i, sig.inputs.size() - 1)].cls == 'a') continue;
    if (c.in(i)->dtype != c.sig.input_types[i]) {
      c.inputs[i] = cast_tensor(s, c.inputs[i], c.sig.input_types[i]);
      if (c.inputs[i].is_error()) return Value::error();
    }
  }
  return row->run(c);
}

// The dims of the inputs, where the signature states some.
bool check_dims(Session& s, ir::SigCall& call, std::span<const Value> args) {
  std::vector<std::optional<ir::TensorType>> inputs;
  for (int at : call.op->input_at) {
    const Value& v = args[static_cast<size_t>(at)];
    std::optional<ir::TensorType>& in = inputs.emplace_back();
    auto* t = cast<Tensor>(v);
    if (!t && !is_number(v)) continue;
    in.emplace();
    in->scalar = !t;
    if (t)
      for (int64_t n : t->shape()) in->dims.push_back(ir::dim(n));
  }
  call.inputs = inputs;
  const bool right = ir::check_dims(call);
  call.inputs = {};
  if (!right) raise_kind(s, call.error->kind, call.error->text);
  return right;
}

// The arguments that are given, as the row states them: of rows that are not inferred as a whole.
bool check_arguments(Session& s, const ir::OpInfo& op, std::span<const Value> args) {
  ir::SigCall call;
  call.op = &op;
  if (op.sig->states_dims && !op.def->source.empty() && !check_dims(s, call, args)) return false;
  const int input = ir::axis_input(op);
  const Value* x = input < 0 ? nullptr : &args[static_cast<size_t>(op.input_at[static_cast<size_t>(input)])];
  if (x && op.sig->inputs[static_cast<size_t>(input)].many) {
    std::span<const Value> parts;
    if (auto* l = cast<List>(*x))
      parts = {l->items, l->size};
    else if (auto* t = cast<Tuple>(*x))
      parts = {t->items(), t->size};
    x = parts.empty() ? nullptr : &parts[0];
  }
  auto* t = x ? cast<Tensor>(*x) : nullptr;
  const int rank = t ? t->rank : -1;
  for (int i : op.param_at) {
    const ir::OpParam& p = op.params[static_cast<size_t>(i)];
    const Value& v = args[static_cast<size_t>(i)];
    if (v.is_unbound() || p.kind == ir::ParamKind::any || p.kind == ir::ParamKind::key) continue;
    if (p.kind == ir::ParamKind::dtype && !v.is_none()) {
      DType d;
      if (!to_dtype(s, v, d)) return false;
      continue;
    }
    const bool usual = (p.kind == ir::ParamKind::number && (v.is_float() || v.is_int())) ||
                       (p.kind == ir::ParamKind::flag && v.is_bool());
    ir::Dims shape;
    if (t && p.kind == ir::ParamKind::last_axes)
      for (int64_t n : t->shape()) shape.push_back(ir::dim(n));
    if (usual || ir::check_param(call, p, to_param(s, v, p.kind), rank, shape)) continue;
    raise_kind(s, call.error->kind, call.error->text);
    return false;
  }
  return true;
}

Value run_elementwise_row(Session& s, const ir::OpInfo& op, std::span<Value> args, bool may_reuse) {
  Value inputs[5], params[16];
  for (int k = 0; k < op.inputs; ++k) {
    Value& v = args[op.input_at[k]];
    if (!cast<Tensor>(v) && !is_number(unwrap(v)))
      return bad_call(s, op, "expects a tensor or a number, not '" + type_name(s, v) + "'");
    inputs[k] = may_reuse && unwrap(v).same(v) ? std::move(v) : unwrap(v);
  }
  if (!op.param_at.empty() && !check_arguments(s, op, args)) return Value::error();
  size_t n = 0;
  for (int p : op.param_at) {
    const Value& v = args[p];
    params[n++] = v.is_unbound() ? default_value(s, op.params[p]) : v;
  }
  return run_elementwise(s, op, std::span<const Value>(inputs, op.inputs), std::span<const Value>(params, n),
                         may_reuse);
}

}  // namespace

// Runs a row's text. What it makes of nothing on the way (arange, zeros) goes along with the tensors it was called
// with.
static Value call_text(Session& s, const Value& f, const Args& args) {
  if (!s.devices.used()) [[likely]]
    return call(s, f, args);
  ++s.row_texts;
  Value r = call(s, f, args);
  auto* t = cast<Tensor>(r);
  if (--s.row_texts == 0 && t && t->place == kAnywhere) r = placed(std::move(r), 0);
  return r;
}

Value run_operation(Session& s, const ir::OpInfo& op, std::span<Value> args) {
  if (op.elementwise()) return run_elementwise_row(s, op, args, true);
  if (!op.def->source.empty()) {
    if (!check_arguments(s, op, args)) return Value::error();
    OURO_TRY(f, source_function(s, op));
    std::vector<Value> positional, keywords, names;
    for (size_t i = 0; i < args.size(); ++i) {
      const ir::OpParam& p = op.params[i];
      if (p.variadic) {
        if (auto* t = cast<Tuple>(args[i])) positional.insert(positional.end(), t->begin(), t->end());
      } else if (args[i].is_unbound()) {
        continue;
      } else if (positional.size() != i || (i > 0 && op.params[i - 1].variadic)) {
        keywords.push_back(args[i]);
        names.push_back(make_str(p.name));
      } else {
        positional.push_back(args[i]);
      }
    }
    return call_text(s, f, Args{positional, keywords, names});
  }
  return run_general(s, op, args);
}

Value run_operation(Session& s, std::string_view name, std::initializer_list<Value> args) {
  const ir::OpInfo* op = ir::find_op(name);
  std::vector<Value> all(args);
  all.resize(op->params.size());
  for (size_t i = args.size(); i < all.size(); ++i)
    if (op->params[i].variadic) all[i] = make_tuple();
  return run_operation(s, *op, all);
}

Value call_operation(Session& s, const ir::OpInfo& op, const Args& args) {
  if (op.elementwise() && args.keywords.empty() && args.size() == op.params.size() &&
      op.input_at.size() == op.params.size()) {
    bool plain = true;
    for (const Value& v : args.positional) {
      if (!cast<Tensor>(v) && !is_number(unwrap(v)))
        return bad_call(s, op, "expects a tensor or a number, not '" + type_name(s, v) + "'");
      plain = plain && unwrap(v).same(v);
    }
    if (plain) return run_elementwise(s, op, args.positional, {}, false);
    std::vector<Value> inputs;
    for (const Value& v : args.positional) inputs.push_back(unwrap(v));
    return run_elementwise(s, op, inputs, {}, false);
  }
  if (!op.def->source.empty()) {
    if (!op.param_at.empty() || op.sig->states_dims || (op.shown != op.name && args.size() != op.params.size())) {
      std::vector<Value> bound;
      if (!bind(s, op, args, bound) || !check_arguments(s, op, bound)) return Value::error();
    }
    OURO_TRY(f, source_function(s, op));
    if (args.keywords.empty()) return call_text(s, f, args);
    std::vector<Value> names;
    for (const Value& n : args.names) {
      std::string keep;
      names.push_back(make_str(canonical(op, n.as<Str>()->view(), keep)));
    }
    return call_text(s, f, Args{args.positional, args.keywords, names});
  }
  std::vector<Value> bound;
  if (!bind(s, op, args, bound)) return Value::error();
  return op.elementwise() ? run_elementwise_row(s, op, bound, false) : run_general(s, op, bound);
}

// ---------------------------------------------------------------- rows as functions

namespace {

// One native per row: its function knows which.
template <int I>
Value call_row(Session& s, const Args& args) {
  return call_operation(s, *ir::all_ops()[I], args);
}
constexpr int kMaxRows = 1024;
template <int... I>
constexpr std::array<NativeFn, sizeof...(I)> row_functions(std::integer_sequence<int, I...>) {
  return {call_row<I>...};
}
constexpr auto kRowFunctions = row_functions(std::make_integer_sequence<int, kMaxRows>());

// The parameters of a row, also where it leaves them to its signature (for documentation; rows bind on their own).
std::string_view params_of(const ir::OpDef& row) {
  if (!row.params.empty()) return row.params;
  const std::string_view inputs = row.sig.substr(0, row.sig.find("->"));
  constexpr std::string_view kPlain[] = {"", "x", "x, y", "x, y, z"};
  return kPlain[std::min<size_t>(static_cast<size_t>(std::ranges::count(inputs, '[')), 3)];
}

}  // namespace

std::span<const NativeDef> operation_natives() {
  static const std::vector<NativeDef>& rows = support::forever([] {
    std::vector<NativeDef> v;
    auto ops = ir::op_rows();
    if (ops.size() > kMaxRows) ouro_bug("more rows than row functions");
    for (size_t i = 0; i < ops.size(); ++i)
      v.push_back({.name = ops[i]->name,
                   .params = params_of(*ops[i]),
                   .fn = kRowFunctions[i],
                   .doc = ops[i]->doc,
                   .raw = true});
    return v;
  }());
  return rows;
}
std::span<const OperationAlias> operation_aliases() {
  static const std::vector<OperationAlias>& rows = support::forever([] {
    std::vector<OperationAlias> v;
    auto ops = ir::op_rows();
    for (size_t i = 0; i < ops.size(); ++i) {
      std::string_view rest = ops[i]->alias;
      while (!rest.empty()) {
        size_t space = rest.find(' ');
        NativeDef d = operation_natives()[i];
        d.name = rest.substr(0, space);
        v.push_back({d, ops[i]});
        rest = space == std::string_view::npos ? "" : rest.substr(space + 1);
      }
    }
    return v;
  }());
  return rows;
}

bool has_alias_alone(const ir::OpDef& row) {
  const std::string_view alias = row.alias.substr(0, row.alias.find(' '));
  return !alias.empty() && std::ranges::any_of(ir::op_rows(), [&](const ir::OpDef* r) { return r->name == alias; });
}

const ir::OpInfo* operation_of(const NativeDef* def) {
  if (!def) return nullptr;
  static const std::unordered_map<NativeFn, const ir::OpInfo*>& by_function = support::forever([] {
    std::unordered_map<NativeFn, const ir::OpInfo*> m;
    auto ops = ir::all_ops();
    for (size_t i = 0; i < ops.size(); ++i) m.emplace(kRowFunctions[i], ops[i]);
    return m;
  }());
  auto it = by_function.find(def->fn);
  return it == by_function.end() ? nullptr : it->second;
}

Value operation_function(Session& s, const ir::OpInfo& op) {
  Value& v = s.state<Texts>().natives[&op];
  if (v.is_unbound()) {
    auto ops = ir::all_ops();
    size_t i = static_cast<size_t>(op.op) - ir::kFirstTensorOp;
    if (i >= ops.size() || ops[i] != &op)
      return raise_error(s, ExcKind::RuntimeError, "operation '%s' is no function", op.name.c_str());
    v = make_native(operation_natives()[i]);
  }
  return v;
}

Value operation_namespace(Session& s) {
  Texts& t = s.state<Texts>();
  if (t.ouro.is_unbound()) {
    t.ouro = make_module(s, "ouro");
    t.ouro.as<Module>()->load = [](Session& s, Module&, Symbol name) -> Value {
      if (const ir::OpInfo* op = ir::find_op(name.text())) {
        if (static_cast<size_t>(op->op) - ir::kFirstTensorOp < ir::all_ops().size()) return operation_function(s, *op);
      }
      return builtin(s, name, true);
    };
  }
  return t.ouro;
}

bool check_operation(Session& s, const ir::OpInfo& op, const Args& args) {
  std::vector<Value> params;
  return bind(s, op, args, params) && check_arguments(s, op, params);
}

bool bind_operation(Session& s, const ir::OpInfo& op, const Args& args, std::vector<Value>& params,
                    std::vector<std::pair<int, int>>* at) {
  if (!bind(s, op, args, params)) return false;
  for (size_t i = 0; i < params.size(); ++i)
    if (params[i].is_unbound()) params[i] = default_value(s, op.params[i]);
  if (!at) return true;
  at->clear();
  size_t variadic = 0;
  while (variadic < op.params.size() && !op.params[variadic].variadic) ++variadic;
  for (size_t i = 0; i < args.size(); ++i) {
    if (i < variadic)
      at->push_back({static_cast<int>(i), -1});
    else
      at->push_back({static_cast<int>(variadic), static_cast<int>(i - variadic)});
  }
  for (const Value& n : args.names) {
    std::string keep;
    const std::string& name = canonical(op, n.as<Str>()->view(), keep);
    for (size_t j = 0; j < op.params.size(); ++j)
      if (op.params[j].name == name) at->push_back({static_cast<int>(j), -1});
  }
  return true;
}
Value default_argument(Session& s, const ir::OpInfo& op, size_t i) { return default_value(s, op.params[i]); }
std::string operation_keyword(const ir::OpInfo& op, std::string_view name) {
  std::string keep;
  return canonical(op, name, keep);
}

Value operation_globals(Session& s) { return text_module(s, "ouro.rules"); }

Value operation_source(Session& s, const ir::OpInfo& op) { return source_function(s, op); }

Value operation_text(Session& s, std::string_view text) {
  auto& known = s.state<Texts>().lambdas;
  if (auto it = known.find(text); it != known.end()) return it->second;
  OURO_TRY(module, operation_globals(s));
  OURO_TRY_DO(run_source(s, "ouro/rule", "rule = " + std::string(text) + "\n", module));
  Value f = *module.as<Module>()->names.find(intern("rule"));
  known.emplace(text, f);
  return f;
}

}  // namespace ouro::runtime
