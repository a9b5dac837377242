// Calls of forward forms that are no part of the compiled program they stand in (jit/specialise/residual/apart.cpp).
#include "runtime/autodiff/apart.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/autodiff/autodiff.h"
#include "runtime/autodiff/state.h"
#include "runtime/interpreter/code.h"
#include "runtime/object/alloc.h"
#include "runtime/object/exception.h"
#include "runtime/object/executor.h"
#include "runtime/object/ops.h"
#include "runtime/tensor/tensor.h"

namespace ouro::runtime::autodiff {

std::string kind_text(const Value& v) {
  if (v.is_float()) return "float";
  if (v.is_int()) return "int";
  if (v.is_bool()) return "bool";
  if (v.is_none()) return "None";
  const auto* t = cast_exact<Tensor>(v);
  return t && !t->place ? kind_text(t->dtype, t->shape()) : std::string();
}

std::string kind_text(DType dtype, std::span<const int64_t> shape) {
  return fmt::format("{}[{}]", static_cast<int>(dtype), fmt::join(shape, ","));
}

namespace {

// The parts of `v`, where it is what `kinds` says.
bool take_apart(const Value& v, const Value& kinds, std::vector<Value>& parts) {
  if (const auto* of = cast_exact<Tuple>(kinds)) {
    const auto* t = cast_exact<Tuple>(v);
    if (!t || t->size != of->size) return false;
    for (size_t i = 0; i < t->size; ++i)
      if (!take_apart((*t)[i], (*of)[i], parts)) return false;
    return true;
  }
  parts.push_back(v);
  return kind_text(v) == kinds.as<Str>()->view();
}

// Has it a cotangent of its own? (What a list or an object holds has slots.)
bool has_cotangent(const Value& v) {
  auto* t = cast_exact<Tuple>(v);
  return t ? std::any_of(t->begin(), t->end(), has_cotangent) : v.is_float() || cast_exact<Tensor>(v);
}

Value call_form(Session& s, const Value& form, const Value& args) {
  const auto* t = args.as<Tuple>();
  std::vector<Value> values;
  for (size_t i = 0; i < t->size; ++i) values.push_back((*t)[i]);
  return call(s, form, Args{values, {}, {}});
}

}  // namespace

Value raise_not_compiled(Session& s) {
  return raise_text(s, ExcKind::RuntimeError, "a form that a compiled program calls is not compiled");
}

Value call_apart(Session& s, const Args& a) { return call_form(s, a[0], a[1]); }

Value call_apart_as(Session& s, const Args& a) {
  if (has_cotangent(a[1]))
    return raise_text(s, ExcKind::RuntimeError,
                      "an argument that the compiled program takes for one without cotangents");
  const auto* f = cast_exact<Function>(a[0]);
  if (!f || !code_of(s, f->code)->entry) return raise_not_compiled(s);
  state(s).must_be_compiled = true;
  const Value pair = call_form(s, a[0], a[1]);
  state(s).must_be_compiled = false;
  if (pair.is_error()) return pair;
  std::vector<Value> parts;
  if (!take_apart((*pair.as<Tuple>())[0], a[2], parts))
    return raise_text(s, ExcKind::RuntimeError, "a form gave another kind of value than the compiled program has seen");
  parts.push_back((*pair.as<Tuple>())[1]);
  return make_tuple(std::span<const Value>(parts));
}

Value pull_apart(Session& s, const Args& a) {
  OURO_TRY(d, call(s, a[0], {a[1], a[2]}));
  return Value::none();
}

}  // namespace ouro::runtime::autodiff
