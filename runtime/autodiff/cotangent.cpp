// Arithmetic of cotangents.
#include "runtime/autodiff/autodiff.h"
#include "runtime/autodiff/tensor_access.h"
#include "runtime/object/tensor_hooks.h"

namespace ouro::runtime::autodiff {

bool is_tensor(const Value& v) { return kind_of(v) == ObjectKind::tensor; }

bool is_float_tensor(Session& s, const Value& v) {
  TensorInfo t;
  return is_tensor(v) && tensor_info(s, v, t) && is_float(t.dtype);
}

bool active(Session& s, const Value& v) {
  if (v.is_float()) return true;
  if (is_tensor(v)) return is_float_tensor(s, v);
  return kind_of(v) == ObjectKind::tuple;
}

// Sum of two tuples of cotangents: the shorter one's missing ones are zero.
static Value add_tuples(Session& s, const Value& a, const Value& b) {
  DepthGuard depth(s, " while adding cotangents");
  if (!depth.ok()) return Value::error();
  Tuple *x = a.as<Tuple>(), *y = b.as<Tuple>();
  size_t n = std::max(x->size, y->size);
  Value sum = alloc_tuple(n);
  for (size_t i = 0; i < n; ++i) {
    Value v = i < x->size ? (*x)[i] : Value::zero_cotangent();
    if (i < y->size) v = add(s, std::move(v), (*y)[i]);
    if (v.is_error()) return v;
    (*sum.as<Tuple>())[i] = std::move(v);
  }
  return sum;
}

Value add(Session& s, Value a, const Value& b) {
  if (is_zero(a) || a.is_unbound()) return is_zero(b) ? Value::zero_cotangent() : b;
  if (is_zero(b)) return a;
  if (a.is_float() && b.is_float()) return Value::floating(a.as_float() + b.as_float());
  if (cast_exact<Tuple>(a) && cast_exact<Tuple>(b)) return add_tuples(s, a, b);
  if (is_tensor(a) || is_tensor(b)) {
    if (is_tensor(a) && is_tensor(b) && same_tensor_type(s, a, b)) return inplace(s, BinOp::add, std::move(a), b);
    return binary(s, BinOp::add, a, b);
  }
  if (kind_of(a) == ObjectKind::pullback || kind_of(a) == ObjectKind::function) return a;  // nothing by value
  return binary(s, BinOp::add, a, b);
}

Value like(Session& s, const Value& v) {
  if (v.is_float()) return Value::floating(0);
  if (!v.is_object()) return Value::none();
  if (is_tensor(v)) {
    TensorInfo t;
    if (!tensor_info(s, v, t)) return Value::error();
    if (!is_float(t.dtype)) return Value::none();
    Like* l = new_object<Like>(ObjectKind::opaque_zero);
    l->dtype = t.dtype;
    l->dims = std::move(t.dims);
    return Value::steal(l);
  }
  if (kind_of(v) == ObjectKind::str) return Value::none();
  return v;
}

Value fit(Session& s, const Value& dy, const Value& kept) {
  if (is_zero(dy) || kept.is_none()) return Value::zero_cotangent();
  if (kept.is_float()) {
    if (dy.is_float()) return dy;
    if (dy.is_int() || dy.is_bool()) return Value::floating(static_cast<double>(dy.as_int()));
    if (is_tensor(dy)) return tensor_to_float(s, dy);
    return dy;
  }
  Like* l = cast_exact<Like>(kept);
  if (!l) return dy;
  if (!is_tensor(dy)) return full_tensor(s, l->dims, l->dtype, dy);
  return reduce_to(s, dy, l->dims, l->dtype);
}

Value item(const Value& tuple, int64_t i) {
  if (is_zero(tuple)) return Value::zero_cotangent();
  Tuple* t = cast_exact<Tuple>(tuple);
  if (!t || static_cast<size_t>(i) >= t->size) return Value::zero_cotangent();
  const Value& v = (*t)[static_cast<size_t>(i)];
  return v.is_none() ? Value::zero_cotangent() : v;
}

Value one_hot(const Value& v, int64_t i) {
  if (is_zero(v) || i < 0) return Value::zero_cotangent();
  Value t = alloc_tuple(static_cast<size_t>(i) + 1);
  for (int64_t k = 0; k < i; ++k) (*t.as<Tuple>())[static_cast<size_t>(k)] = Value::zero_cotangent();
  (*t.as<Tuple>())[static_cast<size_t>(i)] = v;
  return t;
}

static Value add_tuple_item(Session& s, const Value& sum, const Value& dy, const Value& index, Tuple* source) {
  int64_t n = static_cast<int64_t>(source->size);
  if (index.is_int()) {
    int64_t i = index.as_int() < 0 ? index.as_int() + n : index.as_int();
    return add(s, sum, one_hot(dy, i));
  }
  Slice* slice = cast<Slice>(index);
  if (!slice) return sum;
  int64_t start, stop, step, count = slice_indices(s, *slice, n, start, stop, step);
  if (count < 0) return Value::error();
  Value d = alloc_tuple(source->size);
  for (size_t i = 0; i < source->size; ++i) (*d.as<Tuple>())[i] = Value::zero_cotangent();
  for (int64_t k = 0; k < count; ++k) (*d.as<Tuple>())[static_cast<size_t>(start + k * step)] = item(dy, k);
  return add(s, sum, d);
}

Value add_item(Session& s, Value sum, const Value& dy, const Value& index, const Value& kept, const Value& env) {
  if (is_zero(dy) || kept.is_none() || kind_of(kept) == ObjectKind::pullback) return sum;
  if (Like* l = cast_exact<Like>(kept)) {
    if (is_zero(sum)) sum = full_tensor(s, l->dims, l->dtype, Value::integer(0));
    if (sum.is_error()) return sum;
    return add_at(s, std::move(sum), index, dy);
  }
  if (Tuple* t = cast<Tuple>(kept)) return add_tuple_item(s, sum, dy, index, t);
  const ObjectKind k = kind_of(unwrap(kept));
  const bool names = k == ObjectKind::opaque && !slot_owner(kept).same(kept);  // globals()
  if (k == ObjectKind::list || k == ObjectKind::dict || is_dict_proxy(kept) || names)
    return shadow_add(s, env, kept, index, dy) ? sum : Value::error();
  return raise_error(s, ExcKind::TypeError, "cannot differentiate through the items of a '%s' yet",
                     type_name(s, kept).c_str());
}

Value dense(Session& s, const Value& dy, const Value& y) {
  if (!is_zero(dy)) return dy;
  if (y.is_float()) return Value::floating(0);
  if (is_tensor(y)) {
    TensorInfo t;
    if (!tensor_info(s, y, t)) return Value::error();
    return full_tensor(s, t.dims, t.dtype, Value::integer(0));
  }
  if (Like* l = cast_exact<Like>(y)) return full_tensor(s, l->dims, l->dtype, Value::integer(0));
  if (Tuple* t = cast_exact<Tuple>(y)) {
    DepthGuard depth(s, " while making a cotangent");
    if (!depth.ok()) return Value::error();
    Value d = alloc_tuple(t->size);
    for (size_t i = 0; i < t->size; ++i) (*d.as<Tuple>())[i] = Value::none();
    for (size_t i = 0; i < t->size; ++i) {
      OURO_TRY(v, dense(s, dy, (*t)[i]));
      (*d.as<Tuple>())[i] = std::move(v);
    }
    return d;
  }
  return Value::none();
}

}  // namespace ouro::runtime::autodiff
