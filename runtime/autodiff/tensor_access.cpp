#include "runtime/autodiff/tensor_access.h"

#include "runtime/object/tensor_hooks.h"
#include "runtime/tensor/route.h"
#include "runtime/tensor/tensor.h"

namespace ouro::runtime::autodiff {
namespace {

Symbol sym(std::string_view name) { return intern(name); }

Value dims_value(const std::vector<int64_t>& dims) {
  Value t = alloc_tuple(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) (*t.as<Tuple>())[i] = Value::integer(dims[i]);
  return t;
}

Value dtype_value(Session& s, DType t) { return s.tensors->make_dtype(s, static_cast<int64_t>(t)); }

Value call_ouro(Session& s, std::string_view name, std::initializer_list<Value> args) {
  Value f = builtin(s, sym(name), true);
  if (f.is_unbound()) return raise_error(s, ExcKind::NameError, "name '%s' is not defined", std::string(name).c_str());
  return call(s, f, args);
}

Value with_dtype(Session& s, const Value& v, DType dtype) {
  TensorInfo t;
  if (!tensor_info(s, v, t)) return Value::error();
  if (t.dtype == dtype) return v;
  OURO_TRY(d, dtype_value(s, dtype));
  return call_method(s, v, sym("to"), {d});
}

bool needs_accumulation(const Value& index) {  // integer tensors or lists may name an element twice
  if (kind_of(index) == ObjectKind::tensor || kind_of(index) == ObjectKind::list) return true;
  if (Tuple* t = cast_exact<Tuple>(index))
    for (const Value& v : *t)
      if (needs_accumulation(v)) return true;
  return false;
}

}  // namespace

bool tensor_info(Session& s, const Value& v, TensorInfo& out) {
  Value shape = get_attr(s, v, sym("shape"));
  if (shape.is_error()) return false;
  Tuple* t = cast<Tuple>(shape);
  for (size_t i = 0; t && i < t->size; ++i) out.dims.push_back((*t)[i].as_int());
  Value dtype = get_attr(s, v, sym("dtype"));
  if (dtype.is_error()) return false;
  if (auto d = dtype_from_name(text_of(s, dtype))) out.dtype = *d;
  return !s.has_error();
}

bool same_tensor_type(Session& s, const Value& a, const Value& b) {
  TensorInfo x, y;
  return tensor_info(s, a, x) && tensor_info(s, b, y) && x.dtype == y.dtype && x.dims == y.dims;
}

Value full_tensor(Session& s, const std::vector<int64_t>& dims, DType dtype, const Value& fill) {
  OURO_TRY(d, dtype_value(s, dtype));
  OURO_TRY(t, run_operation(s, "full", {dims_value(dims), fill, d}));
  return s.devices.used() ? placed(std::move(t), kAnywhere) : t;
}

Value tensor_to_float(Session& s, const Value& v) {
  OURO_TRY(sum, call_method(s, v, sym("sum")));
  OURO_TRY(number, call_method(s, sum, sym("item")));
  return number.is_float() ? number : Value::floating(number.is_int() ? static_cast<double>(number.as_int()) : 0.0);
}

Value reduce_to(Session& s, const Value& v, const std::vector<int64_t>& dims, DType dtype) {
  TensorInfo t;
  if (!tensor_info(s, v, t)) return Value::error();
  Value r = v;
  if (t.dims != dims) {
    if (t.dims.size() < dims.size()) return broadcast_like(s, v, dims, dtype);
    size_t lead = t.dims.size() - dims.size();
    Value axes = make_list();
    for (size_t i = 0; i < t.dims.size(); ++i)
      if (i < lead || (dims[i - lead] == 1 && t.dims[i] != 1))
        axes.as<List>()->push(Value::integer(static_cast<int64_t>(i)));
    if (axes.as<List>()->size) {
      OURO_TRY(axis, tuple_of(s, axes));
      r = call_method(s, r, sym("sum"), {axis});
      if (r.is_error()) return r;
    }
    Value shape = dims_value(dims);
    r = call_method(s, r, sym("reshape"), {shape});
    if (r.is_error()) return broadcast_like(s, v, dims, dtype);
  }
  return with_dtype(s, r, dtype);
}

Value broadcast_like(Session& s, const Value& v, const std::vector<int64_t>& dims, DType dtype) {
  if (kind_of(v) != ObjectKind::tensor) return full_tensor(s, dims, dtype, v);
  OURO_TRY(r, call_method(s, v, sym("expand"), {dims_value(dims)}));
  return with_dtype(s, r, dtype);
}

Value add_at(Session& s, Value sum, const Value& index, const Value& d) {
  if (needs_accumulation(index)) return call_ouro(s, "index_put_add", {sum, index, d});
  if (!s.tensors->update_item(s, sum, std::span<const Value>(&index, 1), BinOp::add, d)) return Value::error();
  return sum;
}

}  // namespace ouro::runtime::autodiff
