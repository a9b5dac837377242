// Module ouro.native.tensors: what the library and the tests need of tensors that is no operation.
#include "ir/ops/sig.h"
#include "runtime/object/alloc.h"
#include "runtime/object/buffer_mark.h"
#include "runtime/object/exception.h"
#include "runtime/object/native.h"
#include "runtime/object/ops.h"
#include "runtime/tensor/philox.h"
#include "runtime/tensor/tensor.h"
#include "stdlib/native/tables.h"

namespace ouro::stdlib {

using namespace runtime;

namespace {

Value mark_buffer(Session& s, const Args& a) {
  if (!cast<Tensor>(a[0]))
    return raise_type_error(s, "nn.buffer: a tensor is expected, not %s", type_name(s, a[0]).c_str());
  return with_buffer_mark(a[0]);
}

// What an attribute does that is first set with a marked tensor: for compiled code, which sets it without the mark.
Value note_buffer_of(Session& s, const Args& a) {
  if (!cast<Type>(a[0]) || !cast_exact<Str>(a[1]))
    return raise_type_error(s, "note_buffer: a class and a str are expected, not %s and %s", type_name(s, a[0]).c_str(),
                            type_name(s, a[1]).c_str());
  note_buffer(s, a[0].as<Type>(), str_symbol(a[1].as<Str>()));
  return Value::none();
}

// Where the random numbers stand, as numbers alone: programs have them in registers (ouro/autodiff, checkpoint).
Value random_seed(Session& s, const Args&) { return Value::integer(static_cast<int64_t>(s.state<RandomState>().seed)); }
Value random_counter(Session& s, const Args&) {
  return Value::integer(static_cast<int64_t>(s.state<RandomState>().counter));
}
Value set_random(Session& s, const Args& a) {
  if (!a[0].is_int() || !a[1].is_int()) return raise_type_error(s, "set_random: two ints are expected");
  s.state<RandomState>() = {static_cast<uint64_t>(a[0].as_int()), static_cast<uint64_t>(a[1].as_int()), 0};
  return Value::integer(0);
}

Value text(std::string_view t) { return make_str(t); }

// One row as tests see it: what is written there.
Value row(const ir::OpInfo& op) {
  std::vector<Value> inputs, domains;
  for (int k = 0; k < op.inputs; ++k) {
    inputs.push_back(text(op.params[static_cast<size_t>(op.input_at[static_cast<size_t>(k)])].name));
    const ir::Range r = k < 4 ? op.def->test.domain[k] : ir::Range{};
    domains.push_back(make_tuple({Value::floating(r.lo), Value::floating(r.hi)}));
  }
  const bool differentiable = ir::has_float_input(op.def->sig) && op.def->nondiff.empty();
  return make_tuple({text(op.name), text(op.def->sig), text(op.def->params), make_list(inputs), make_list(domains),
                     Value::floating(op.def->test.tol), text(op.def->test.cases), Value::boolean(differentiable)});
}

Value rows(Session&, const Args&) {
  std::vector<Value> out;
  for (const ir::OpInfo* op : ir::all_ops()) out.push_back(row(*op));
  return make_list(out);
}

// What a page of documentation says of a row beside its text and parameters, by the name that scripts call it by; those
// in Ouro, which have some other row's name, come last.
Value documentation(Session& s, const Args&) {
  Value out = make_dict();
  for (const ir::OpInfo* op : ir::all_ops()) {
    const bool differentiable = ir::has_float_input(op->def->sig) && op->def->nondiff.empty();
    Value one = make_tuple({text(op->def->sig), text(op->def->alias), Value::boolean(op->def->function),
                            Value::boolean(op->def->method && ir::has_inputs(*op->def)), Value::boolean(differentiable),
                            text(op->def->nondiff), make_str(op->name)});
    if (!dict_set(s, out.as<Dict>(), make_str(op->shown), one)) return Value::error();
  }
  return out;
}

Value tangent_rules(Session& s, const Args&) {
  Value out = make_dict();
  for (const ir::OpInfo* op : ir::all_ops()) {
    if (op->def->jvp.empty()) continue;
    OURO_TRY(rule, operation_text(s, op->def->jvp));
    if (!dict_set(s, out.as<Dict>(), make_str(op->name), rule)) return Value::error();
  }
  return out;
}

Value operations(Session& s, const Args&) { return operation_namespace(s); }

constexpr NativeDef kFunctions[] = {
    {"mark_buffer", "x, /", mark_buffer, "x, marked: the attribute that is first set with it is a buffer."},
    {"note_buffer", "owner, name, /", note_buffer_of, "The attribute `name` of class `owner` is a buffer."},
    {.name = "random_seed",
     .params = "",
     .fn = random_seed,
     .doc = "The seed of the random numbers.",
     .effect = NativeEffect::hidden,
     .gives = NativeGives::integer},
    {.name = "random_counter",
     .params = "",
     .fn = random_counter,
     .doc = "How many random operations there were since the seed was set.",
     .effect = NativeEffect::hidden,
     .gives = NativeGives::integer},
    {.name = "set_random",
     .params = "seed: int, counter: int, /",
     .fn = set_random,
     .doc = "Sets both; gives 0.",
     .effect = NativeEffect::hidden,
     .gives = NativeGives::integer},
    {"rows", "", rows,
     "The rows of tensor operations: (name, signature, parameters, inputs, their domains in tests, tolerance, test "
     "cases, is it differentiable)."},
    {"documentation", "", documentation,
     "By the name of an operation: (signature, further names separated by spaces, is it a function, is it a method, is "
     "it differentiable, else why not)."},
    {"tangent_rules", "", tangent_rules,
     "The forward-mode rules of the rows that are not linear, by name: rule(tangent, result, arguments...)."},
    {"operations", "", operations, "Every operation by name, also those that scripts cannot name."},
};

}  // namespace

const NativeModule kTensorsModule{.name = "ouro.native.tensors", .functions = kFunctions};

}  // namespace ouro::stdlib
