// Tensors made of numbers, lists and tensors: of numbers that are known a constant of the program, else put together.
#include <algorithm>

#include <fmt/format.h>

#include "jit/specialise/execute/native_table.h"
#include "runtime/tensor/tensor.h"

namespace ouro::jit {

using runtime::cast_exact;
using runtime::kind_of;
using runtime::ObjectKind;

namespace {

bool is_nested(Specialiser& s, const AVal& a) {
  return s.is_sequence(a) || (a.is(AKind::known) && kind_of(a.known) == ObjectKind::range) || a.is(AKind::range);
}

// Known numbers in lists and tuples, as tuples.
std::optional<Value> known_data(Specialiser& s, const AVal& a) {
  if (!is_nested(s, a)) {
    const auto v = s.concrete(a);
    return v && (s.is_number(a) || kind_of(*v) == ObjectKind::big_int) ? v : std::nullopt;
  }
  std::vector<Value> items;
  for (const AVal& item : s.items_of(a, "becomes a tensor")) {
    auto v = known_data(s, item);
    if (!v) return std::nullopt;
    items.push_back(std::move(*v));
  }
  return runtime::make_tuple(items);
}

// The dtype of numbers and tensors together (runtime/tensor/tensor.cpp: Nested). False: something else stands there.
struct Leaves {
  std::optional<DType> numbers, tensors;
};
bool look(Specialiser& s, const AVal& a, Leaves& out) {
  if (s.is_tensor(a)) {
    out.tensors = out.tensors ? promote(*out.tensors, a.type->dtype) : a.type->dtype;
    return true;
  }
  if (s.is_number(a)) {
    const ir::TypeKind kind = s.type_of(a)->kind;
    const DType t = kind == ir::TypeKind::boolean   ? DType::boolean
                    : kind == ir::TypeKind::integer ? DType::i64
                                                    : kDefaultFloat;
    out.numbers = out.numbers ? promote(*out.numbers, t) : t;
    return true;
  }
  if (!is_nested(s, a)) return false;
  const std::vector<AVal> items = s.items_of(a, "becomes a tensor");
  return !items.empty() && std::ranges::all_of(items, [&](const AVal& item) { return look(s, item, out); });
}

AVal put_together(Specialiser& s, const AVal& a, const AVal& dtype) {
  if (s.is_tensor(a)) return s.tensor_op("astype", {a, dtype});
  if (s.is_number(a)) return s.tensor_op("full", {AVal::tuple({}), a, dtype});
  std::vector<AVal> parts;
  for (const AVal& item : s.items_of(a, "becomes a tensor")) parts.push_back(put_together(s, item, dtype));
  for (const AVal& part : parts)
    if (part.type != parts[0].type) s.abandon(Reason::raises, "a tensor of lists of several lengths");
  return s.tensor_op("stack", {AVal::tuple(std::move(parts))});
}

}  // namespace

// A tensor that is a constant of the program. (It is held here: nothing is written in its place.)
AVal Specialiser::constant_tensor(const Value& v) {
  auto* t = v.as<runtime::Tensor>();
  std::vector<ir::SymDim> dims;
  for (int i = 0; i < t->rank; ++i) dims.push_back(ir::SymDim::number(t->dims()[i]));
  const ir::Type* type = ir::types::tensor(t->dtype, dims);
  const ir::NameId n = code.entry_param(type, intern("constant"));
  access.pool.push_back(v);
  access.pool_inputs.push_back(static_cast<int>(access.inputs++));
  return AVal::dynamic(n, type);
}

// tensor(data, dtype=): unbound where only the interpreter knows what becomes of the data.
AVal make_tensor_of(Specialiser& s, const std::vector<AVal>& a, const std::vector<std::pair<Symbol, AVal>>& k) {
  AVal data = a.empty() ? AVal() : a[0], dtype = AVal::of(Value::none());
  for (const auto& [name, v] : k) {
    if (name.text() != "dtype" && name.text() != "data") return {};
    (name.text() == "dtype" ? dtype : data) = v;
  }
  const auto asked = s.concrete(dtype);
  DType t = kDefaultFloat;
  if (!asked) return {};
  if (!asked->is_none() && !runtime::to_dtype(s.session, *asked, t))
    s.abandon(Reason::raises, "a dtype that there is not");
  const auto as_asked = [&](DType otherwise) {
    return AVal::of(runtime::make_dtype(s.session, asked->is_none() ? otherwise : t));
  };
  if (s.is_tensor(data)) return asked->is_none() ? data : s.tensor_op("astype", {data, as_asked(t)});
  s.makes_tensors = s.makes_tensors || s.is_of_script(s.span);
  if (const AVal numbers = s.numbers_of(data, /*differentiated=*/false); s.is_tensor(numbers)) {
    const DType own = numbers.type->dtype;
    return s.tensor_op("astype", {numbers, as_asked(is_float(own) ? kDefaultFloat : own)});
  }
  if (const auto known = known_data(s, data)) {
    const Value made = runtime::tensor_from(s.session, *known, asked->is_none() ? std::nullopt : std::optional(t));
    if (made.is_error()) {
      s.session.pending = Value();
      s.abandon(Reason::raises, "a tensor that cannot be made");
    }
    return s.constant_tensor(made);
  }
  Leaves of;
  if (!look(s, data, of)) return {};
  const DType settled = !of.tensors ? *of.numbers
                        : !of.numbers
                            ? *of.tensors
                            : result_type({*of.tensors, OperandKind::tensor}, {*of.numbers, OperandKind::scalar});
  return put_together(s, data, as_asked(settled));
}

// The end of such an object would come at another moment than the interpreter's.
void Specialiser::need_no_end(const runtime::Type& cls) {
  if (cls.has_del) abandon_whole(Reason::class_hook, "an object with __del__");
}

// An object of the class is made: the hooks that it has, and has not, are looked at before each call.
void Specialiser::makes_object_of(runtime::Type& cls) {
  need_no_end(cls);
  const Value t = Value::share(&cls);
  for (const char* name : {"__del__", "__getattr__", "__getattribute__", "__setattr__"})
    if (type_attr(t, intern(name)).is(AKind::unbound)) stays_absent(t, intern(name));
}

}  // namespace ouro::jit
