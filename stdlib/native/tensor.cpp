#include "stdlib/native/tensor.h"

#include <vector>

#include <fmt/ranges.h>

#include "backends/contract/onednn.h"
#include "runtime/object/ops.h"
#include "runtime/object/session.h"
#include "runtime/tensor/call.h"
#include "runtime/tensor/philox.h"
#include "runtime/tensor/tensor.h"
#include "support/dtype.h"
#include "support/forever.h"

namespace ouro::stdlib {

using namespace runtime;

namespace {

Value f_is_tensor(Session&, const Args& a) { return Value::boolean(cast<Tensor>(a[0]) != nullptr); }
Value f_manual_seed(Session& s, const Args& a) {
  int64_t seed;
  if (!to_index(s, a[0], seed)) return Value::error();
  s.state<RandomState>() = RandomState{static_cast<uint64_t>(seed), 0, 0};
  return Value::none();
}
// (seed, counter): all that random operations depend on.
Value f_get_rng_state(Session& s, const Args&) {
  const RandomState& r = s.state<RandomState>();
  return make_tuple({Value::integer(static_cast<int64_t>(r.seed)), Value::integer(static_cast<int64_t>(r.counter))});
}
Value f_set_rng_state(Session& s, const Args& a) {
  OURO_TRY(pair, tuple_of(s, a[0]));
  int64_t seed, counter;
  if (pair.as<Tuple>()->size != 2) return raise_value_error(s, "set_rng_state: (seed, counter) expected");
  if (!to_index(s, (*pair.as<Tuple>())[0], seed) || !to_index(s, (*pair.as<Tuple>())[1], counter))
    return Value::error();
  s.state<RandomState>() = RandomState{static_cast<uint64_t>(seed), static_cast<uint64_t>(counter), 0};
  return Value::none();
}
bool float_type(Session& s, const Value& v, DType& t) {
  if (!to_dtype(s, v, t)) return false;
  if (!is_float(t)) return raise_type_error(s, "a float dtype expected, not %s", std::string(name(t)).c_str()), false;
  return true;
}
Value f_finfo_max(Session& s, const Args& a) {
  DType t;
  if (!float_type(s, a[0], t)) return Value::error();
  return Value::floating(t == DType::f64    ? 1.7976931348623157e308
                         : t == DType::f32  ? 0x1.fffffep127
                         : t == DType::bf16 ? 0x1.fep127
                                            : 65504.0);
}
Value f_finfo_eps(Session& s, const Args& a) {
  DType t;
  if (!float_type(s, a[0], t)) return Value::error();
  return Value::floating(t == DType::f64 ? 0x1p-52 : t == DType::f32 ? 0x1p-23 : t == DType::bf16 ? 0x1p-7 : 0x1p-10);
}
Value f_result_type(Session& s, const Args& a) {
  Promotion p;
  for (const Value& v : a.positional) {
    if (auto* t = cast<Tensor>(v)) {
      p.add({t->dtype, t->rank ? OperandKind::tensor : OperandKind::zero_dim});
    } else if (v.is_bool() || v.is_int() || v.is_float()) {
      p.add(v.is_bool() ? kBoolScalar : v.is_int() ? kIntScalar : kFloatScalar);
    } else {
      DType t;
      if (!to_dtype(s, v, t)) return Value::error();
      p.add({t, OperandKind::tensor});
    }
  }
  if (a.size() == 0) return raise_type_error(s, "result_type: at least one operand expected");
  return make_dtype(s, p.dtype());
}
Value f_index_put_add(Session& s, const Args& a) { return run_operation(s, "index_accumulate", {a[0], a[1], a[2]}); }
// What `x.to(v)` means: a dtype, or the name of a device.
Value f_dtype_or_device(Session& s, const Args& a) {
  if (auto* text = cast<Str>(a[0]); text && !dtype_from_name(text->view())) {
    if (find_device(text->view())) return a[0];
    return raise_error(s, ExcKind::RuntimeError, "no device '%s'; there are: %s", std::string(text->view()).c_str(),
                       fmt::format("{}", fmt::join(kDeviceNames, ", ")).c_str());
  }
  DType t;
  if (!to_dtype(s, a[0], t)) return Value::error();
  return make_dtype(s, t);
}
Value f_counters(Session& s, const Args&) {
  const TensorCounters& c = tensor_counters(s);
  return make_tuple(
      {Value::integer(static_cast<int64_t>(c.allocations)), Value::integer(static_cast<int64_t>(c.copies))});
}

constexpr NativeDef kBeside[] = {
    {"is_tensor", "x, /", f_is_tensor, "Is x a tensor.", false, NativeEffect::pure},
    {"manual_seed", "seed", f_manual_seed, "Starts the random numbers again from a seed."},
    {"get_rng_state", "", f_get_rng_state, "The state of the random numbers: (seed, counter)."},
    {"set_rng_state", "state", f_set_rng_state, "Puts get_rng_state() back."},
    {"finfo_max", "dtype", f_finfo_max, "The largest finite number of a float dtype.", false, NativeEffect::pure},
    {"finfo_eps", "dtype", f_finfo_eps, "The distance from 1 to the next number of a float dtype.", false,
     NativeEffect::pure},
    {"result_type", "", f_result_type, "The dtype that an operation on these operands has.", false, NativeEffect::pure},
    {"index_put_add", "x, key, v, /", f_index_put_add, "x with v added at key; places named twice get both."},
    {"dtype_or_device", "v, /", f_dtype_or_device, "The dtype that v names, or v if it is the name of a device.", false,
     NativeEffect::pure},
    {"tensor_counters", "", f_counters, "(buffers allocated, copies made because a written tensor was shared) so far."},
};

// The functions that scripts can name: Python's own names (sum, max, ...) are reached as ouro.NAME, since Python's come
// first.
std::span<const NativeDef> functions() {
  static const std::vector<NativeDef>& rows = support::forever([] {
    std::vector<NativeDef> v(std::begin(kBeside), std::end(kBeside));
    constexpr std::string_view kPythonNames[] = {"sum", "max", "min", "abs",    "round",
                                                 "pow", "any", "all", "detach", "astype"};
    auto visible = [&](const ir::OpDef& row) {
      if (row.function) return !has_alias_alone(row);
      for (std::string_view n : kPythonNames)
        if (n == row.name) return true;
      return false;
    };
    auto ops = ir::op_rows();
    for (size_t i = 0; i < ops.size(); ++i)
      if (visible(*ops[i])) v.push_back(operation_natives()[i]);
    for (const OperationAlias& a : operation_aliases())
      if (a.row->function || a.row->name == "abs" || a.row->name == "pow") v.push_back(a.native);
    return v;
  }());
  return rows;
}

constexpr std::string_view kConstants[] = {
    "bool_", "u8",    "i8",    "i16",   "i32",     "i64",      "f16",     "bf16",    "f32",    "f64",       "uint8",
    "int8",  "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "Tensor", "as_tensor", "asarray"};
Value constant(Session& s, std::string_view name) {
  // The class of tensors under its name in annotations; tensors are values, so making one of data never needs a copy.
  if (name == "Tensor" || name == "as_tensor" || name == "asarray") return Value::share(s.type(ObjectKind::tensor));
  if (name == "bool_") return make_dtype(s, DType::boolean);
  for (std::string_view n : kConstants)
    if (n == name) return make_dtype(s, *dtype_from_name(name));
  return Value();
}

}  // namespace

void register_tensor_natives(Session& s) {
  static const NativeModule module{
      .name = kOuro, .functions = functions(), .constant = constant, .constants = kConstants};
  s.register_natives(&module);
  backends::register_onednn();
}

}  // namespace ouro::stdlib
