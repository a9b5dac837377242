// Calls of forward forms that are no part of the compiled program they stand in (jit/specialise/residual/apart.cpp).
#include "runtime/autodiff/apart.h"

#include <algorithm>

#include "runtime/autodiff/autodiff.h"
#include "runtime/interpreter/code.h"
#include "runtime/object/alloc.h"
#include "runtime/object/exception.h"
#include "runtime/object/executor.h"
#include "runtime/object/ops.h"
#include "runtime/tensor/tensor.h"

namespace ouro::runtime::autodiff {

Value like_tensor(DType dtype, std::vector<int64_t> shape) {
  Like* l = new_object<Like>(ObjectKind::opaque_zero);
  l->dtype = dtype;
  l->dims = std::move(shape);
  return Value::steal(l);
}

bool is_alike(const Value& v, const Value& pattern) {
  if (const auto* like = cast_exact<Like>(pattern)) {
    if (const auto* other = cast_exact<Like>(v)) return other->dtype == like->dtype && other->dims == like->dims;
    const auto* t = cast_exact<Tensor>(v);
    return t && !t->place && t->dtype == like->dtype && std::ranges::equal(t->shape(), like->dims);
  }
  auto *of = cast_exact<Tuple>(pattern), *t = cast_exact<Tuple>(v);
  if (!of || !t) return !of && !v.is_object() && v.tag() == pattern.tag();
  return std::ranges::equal(*t, *of, is_alike);
}

namespace {

// Has it a cotangent of its own? (What a list, a dict or another object holds has slots.)
bool has_cotangent(Session& s, const Value& v) {
  if (auto* t = cast_exact<Tuple>(v))
    return std::any_of(t->begin(), t->end(), [&](const Value& i) { return has_cotangent(s, i); });
  const bool is_value = kind_of(v) == ObjectKind::instance && type_of(s, v)->layout != ObjectKind::instance &&
                        type_of(s, v)->layout != ObjectKind::list && type_of(s, v)->layout != ObjectKind::dict;
  return is_value || v.is_float() || is_tensor(v);
}

}  // namespace

Value raise_not_compiled(Session& s) {
  return raise_text(s, ExcKind::RuntimeError, "a form that a compiled program calls is not compiled");
}

Value call_apart(Session& s, const Args& a) {
  const auto* f = cast_exact<Function>(a[0]);
  if (!f || !s.executor || !code_of(s, f->code)->entry) return raise_not_compiled(s);
  auto* args = a[1].as<Tuple>();
  const std::vector<Value> values(args->begin(), args->end());
  if (std::ranges::any_of(values, [&](const Value& v) { return has_cotangent(s, v); }))
    return raise_text(s, ExcKind::RuntimeError, "an argument that a compiled program takes for one without cotangents");
  s.executor->must_serve = true;
  const Value pair = call(s, a[0], Args{values, {}, {}});
  s.executor->must_serve = false;
  if (!pair.is_error() && !is_alike((*pair.as<Tuple>())[0], a[2]))
    return raise_text(s, ExcKind::RuntimeError, "a form gave another kind of value than the compiled program has seen");
  return pair;
}

Value pull_apart(Session& s, const Args& a) {
  OURO_TRY(d, call(s, a[0], {a[1], a[2]}));
  return Value::none();
}

}  // namespace ouro::runtime::autodiff
