// The classes `tensor` and `dtype`: operators, attributes, methods; and the hooks of the interpreter for places
// (docs/design/rules.md C16).
#include <cmath>
#include <cstring>

#include "runtime/object/elsewhere.h"
#include "runtime/object/interrupt.h"
#include "runtime/object/ops.h"
#include "runtime/object/tensor_hooks.h"
#include "runtime/tensor/call.h"
#include "runtime/tensor/elementwise.h"
#include "runtime/tensor/indexing.h"
#include "runtime/tensor/print.h"
#include "runtime/tensor/route.h"
#include "runtime/tensor/tensor.h"
#include "runtime/types/big_int.h"
#include "support/forever.h"

namespace ouro::runtime {

void destroy_tensor(Object* o);

namespace {

bool is_number(const Value& v) { return v.is_int() || v.is_float() || v.is_bool() || cast<BigInt>(v); }
bool is_operand(const Value& v) { return cast<Tensor>(v) || is_number(v); }

// ---------------------------------------------------------------- operators

const ir::OpInfo& row_of(BinOp op) {
  static const ir::OpInfo* const rows[] = {
#define BINARY(id, ast, symbol, special, row, ...) ir::find_op(row),
#include "ir/operators.inc"
  };
  return *rows[static_cast<int>(op)];
}
// None: the tensor itself.
const ir::OpInfo* row_of(UnOp op) {
  static const ir::OpInfo* const rows[] = {
#define UNARY(id, ast, symbol, special, row, ...) *row ? ir::find_op(row) : nullptr,
#include "ir/operators.inc"
  };
  return rows[static_cast<int>(op)];
}
const ir::OpInfo& row_of(CmpOp op) {
  static const ir::OpInfo* const rows[] = {
#define COMPARE(id, ast, symbol, special, ...) ir::find_op(#special),
#include "ir/operators.inc"
  };
  return *rows[static_cast<int>(op)];
}

Value binary_slot(Session& s, BinOp op, const Value& a, const Value& b) {
  if (!is_operand(a) || !is_operand(b)) return Value::not_implemented();
  Value pair[2] = {a, b};
  if (op == BinOp::matmul) return run_operation(s, row_of(op), pair);
  return run_elementwise(s, row_of(op), pair, {}, false);
}
Value inplace_slot(Session& s, BinOp op, Value& a, const Value& b) {
  if (!is_operand(b) || !cast_exact<Tensor>(a)) return Value::not_implemented();
  if (op == BinOp::matmul) {
    Value pair[2] = {std::move(a), b};
    return run_operation(s, row_of(op), pair);
  }
  if (!update_elementwise(s, row_of(op), a, b)) return Value::error();
  return std::move(a);
}
Value unary_slot(Session& s, UnOp op, const Value& v) {
  const ir::OpInfo* row = row_of(op);
  if (!row) return unwrap(v);
  Value one[1] = {unwrap(v)};
  return run_elementwise(s, *row, one, {}, false);
}
Value compare_slot(Session& s, CmpOp op, const Value& a, const Value& b) {
  if (!is_operand(b)) return Value::not_implemented();
  Value pair[2] = {unwrap(a), unwrap(b)};
  return run_elementwise(s, row_of(op), pair, {}, false);
}

// ---------------------------------------------------------------- protocols

Value single(Session& s, const Value& v, const char* what) {
  auto* t = cast<Tensor>(v);
  if (t->size != 1)
    return raise_value_error(s, "only one element tensors can be converted to %s; this one has shape %s", what,
                             shape_text(t->shape()).c_str());
  return tensor_item(s, t, 0);
}
int truth_slot(Session& s, const Value& v) {
  auto* t = v.as<Tensor>();
  if (t->size != 1) {
    raise_error(s, ExcKind::RuntimeError,
                t->size ? "Boolean value of Tensor with more than one value is ambiguous"
                        : "Boolean value of Tensor with no values is ambiguous");
    return -1;
  }
  return truth(s, tensor_item(s, t, 0));
}
Value repr_slot(Session& s, const Value& v) { return make_str(tensor_text(s, v.as<Tensor>())); }
Value format_slot(Session& s, const Value& v, std::string_view spec) {
  auto* t = v.as<Tensor>();
  if (t->rank == 0) return format(s, tensor_item(s, t, 0), spec);
  if (spec.empty()) return repr_slot(s, v);
  return raise_type_error(s, "unsupported format string passed to tensor.__format__");
}
int64_t length_slot(Session& s, const Value& v) {
  auto* t = v.as<Tensor>();
  if (t->rank == 0) return raise_type_error(s, "len() of a 0-d tensor"), -1;
  return t->dim(0);
}
Value iterator_next(Session& s, Iterator& it) {
  if (it.index >= it.stop) return Value::end();
  return index_get(s, it.source, Value::integer(it.index++));
}
constexpr IterDef kTensorIterator{.type_name = "tensor_iterator", .next = iterator_next};
Value iter_slot(Session& s, const Value& v) {
  auto* t = v.as<Tensor>();
  if (t->rank == 0) return raise_type_error(s, "iteration over a 0-d tensor");
  return make_iterator(kTensorIterator, v, 0, t->dim(0));
}
Value get_item_slot(Session& s, const Value& v, const Value& key) { return index_get(s, unwrap(v), key); }
bool set_item_slot(Session& s, const Value&, const Value&, const Value&) {
  raise_type_error(s,
                   "tensors are values: x[...] = v needs a place (a variable, attribute or element), not the result of "
                   "an expression");
  return false;
}
int contains_slot(Session& s, const Value& v, const Value& item) {
  if (!is_operand(item)) return 0;
  Value same = compare_slot(s, CmpOp::eq, v, item);
  if (same.is_error()) return -1;
  auto* t = same.as<Tensor>();
  return t->size && std::memchr(t->data(), 1, t->size) != nullptr;
}
Value construct_slot(Session& s, Type*, const Args& args) {
  std::optional<DType> dtype;
  Value data = args.size() > 0 ? args[0] : Value();
  for (size_t i = 0; i < args.keywords.size(); ++i) {
    std::string_view name = args.names[i].as<Str>()->view();
    if (name == "dtype") {
      DType t;
      if (args.keywords[i].is_none()) continue;
      if (!to_dtype(s, args.keywords[i], t)) return Value::error();
      dtype = t;
    } else if (name == "data") {
      data = args.keywords[i];
    } else {
      return raise_type_error(s, "tensor() got an unexpected keyword argument '%s'%s", std::string(name).c_str(),
                              of_another_argument(name).c_str());
    }
  }
  if (args.size() > 1)
    return raise_type_error(s, "tensor() takes one positional argument, the data (%zu given)", args.size());
  if (data.is_unbound()) return raise_type_error(s, "tensor() missing required argument: 'data'");
  return tensor_from(s, data, dtype);
}

constexpr uint32_t kAllBinary = (1u << kBinOps) - 1, kAllUnary = (1u << kUnOps) - 1;
constexpr TypeSlots kTensorSlots{.binary = binary_slot,
                                 .binary_ops = kAllBinary,
                                 .inplace = inplace_slot,
                                 .inplace_ops = kAllBinary,
                                 .unary = unary_slot,
                                 .unary_ops = kAllUnary,
                                 .compare = compare_slot,
                                 .ordered = true,
                                 .truth = truth_slot,
                                 .unhashable = true,
                                 .repr = repr_slot,
                                 .format = format_slot,
                                 .iter = iter_slot,
                                 .length = length_slot,
                                 .get_item = get_item_slot,
                                 .set_item = set_item_slot,
                                 .contains = contains_slot,
                                 .construct = construct_slot};

// ---------------------------------------------------------------- attributes

Value shape_tuple(const Tensor* t) {
  Value r = alloc_tuple(t->rank);
  for (int i = 0; i < t->rank; ++i) (*r.as<Tuple>())[i] = Value::integer(t->dim(i));
  return r;
}
Value get_shape(Session&, const Value& v) { return shape_tuple(cast<Tensor>(v)); }
Value get_dtype(Session& s, const Value& v) { return make_dtype(s, cast<Tensor>(v)->dtype); }
Value get_ndim(Session&, const Value& v) { return Value::integer(cast<Tensor>(v)->rank); }
Value get_device(Session& s, const Value& v) {
  const uint8_t place = cast<Tensor>(v)->place;
  bool follows = place == 0 || place == kAnywhere;
  return make_str(device_name(follows ? s.demands.plan().device : placed_device(place)));
}
Value get_t(Session& s, const Value& v) { return run_operation(s, "t", {unwrap(v)}); }
Value get_h(Session& s, const Value& v) {
  const size_t rank = unwrap(v).as<Tensor>()->rank;
  if (rank != 2 && rank != 0)
    return raise_error(s, ExcKind::RuntimeError, "x.H is of matrices, not of a tensor of %zu axes: write x.mT", rank);
  return get_t(s, v);
}
Value get_mt(Session& s, const Value& v) {
  return run_operation(s, "transpose", {unwrap(v), Value::integer(-2), Value::integer(-1)});
}
Value get_nbytes(Session&, const Value& v) { return Value::integer(static_cast<int64_t>(cast<Tensor>(v)->nbytes())); }
Value get_itemsize(Session&, const Value& v) {
  return Value::integer(static_cast<int64_t>(size_of(cast<Tensor>(v)->dtype)));
}
constexpr GetSetDef kAttributes[] = {
    {"shape", get_shape, nullptr, "The sizes of the axes, a tuple."},
    {"dtype", get_dtype, nullptr, "The element type."},
    {"ndim", get_ndim, nullptr, "The number of axes."},
    {"device", get_device, nullptr, "Where operations on the tensor run: its device, or the one that the plan names."},
    {"T", get_t, nullptr, "The axes in reverse order."},
    {"mT", get_mt, nullptr, "The last two axes exchanged."},
    {"H", get_h, nullptr, "The transpose of a matrix: tensors are real."},
    {"nbytes", get_nbytes, nullptr, "Bytes of all elements."},
    {"itemsize", get_itemsize, nullptr, "Bytes of one element."}};

// ---------------------------------------------------------------- methods that are no rows

Value m_item(Session& s, const Args& a) {
  auto* t = cast<Tensor>(a[0]);
  if (t->size != 1)
    return raise_error(s, ExcKind::RuntimeError, "a Tensor with %lld elements cannot be converted to Scalar",
                       static_cast<long long>(t->size));
  return tensor_item(s, t, 0);
}
Value list_of_tensor(Session& s, const Tensor* t, int axis, int64_t row) {
  if (axis == t->rank) return tensor_item(s, t, row);
  Value l = make_list_reserved(static_cast<size_t>(t->dim(axis)));
  uint32_t count = 0;
  for (int64_t i = 0; i < t->dim(axis); ++i) {
    poll_interrupt(s, count);
    l.as<List>()->push(list_of_tensor(s, t, axis + 1, row * t->dim(axis) + i));
  }
  return l;
}
Value m_tolist(Session& s, const Args& a) { return list_of_tensor(s, cast<Tensor>(a[0]), 0, 0); }
Value m_numel(Session&, const Args& a) { return Value::integer(cast<Tensor>(a[0])->size); }
Value m_dim(Session&, const Args& a) { return Value::integer(cast<Tensor>(a[0])->rank); }
Value m_size(Session& s, const Args& a) {
  auto* t = cast<Tensor>(a[0]);
  if (a[1].is_unbound() || a[1].is_none()) return shape_tuple(t);
  int64_t i;
  if (!to_index(s, a[1], i)) return Value::error();
  if (i < -t->rank || i >= t->rank)
    return raise_error(s, ExcKind::IndexError, "size: axis %lld is out of range for a tensor of %d dimensions",
                       static_cast<long long>(i), t->rank);
  return Value::integer(t->dim(static_cast<int>(i < 0 ? i + t->rank : i)));
}
Value m_is_floating(Session&, const Args& a) { return Value::boolean(is_float(cast<Tensor>(a[0])->dtype)); }
Value m_float(Session& s, const Args& a) {
  OURO_TRY(v, single(s, a[0], "Python scalars"));
  return Value::floating(v.is_float() ? v.as_float() : static_cast<double>(v.as_int()));
}
Value m_int(Session& s, const Args& a) {
  OURO_TRY(v, single(s, a[0], "Python scalars"));
  if (!v.is_float()) return Value::integer(v.as_int());
  double f = v.as_float();
  if (std::isnan(f)) return raise_value_error(s, "cannot convert float NaN to integer");
  if (std::isinf(f)) return raise_error(s, ExcKind::OverflowError, "cannot convert float infinity to integer");
  return int_from_double(s, f);
}
Value m_index(Session& s, const Args& a) {
  auto* t = cast<Tensor>(a[0]);
  if (t->size != 1 || is_float(t->dtype))
    return raise_type_error(s, "only integer tensors of a single element can be converted to an index");
  return Value::integer(tensor_item(s, t, 0).as_int());
}
Value m_abs(Session& s, const Args& a) { return run_operation(s, "abs", {unwrap(a[0])}); }
Value m_round(Session& s, const Args& a) {
  return run_operation(s, "round",
                       {unwrap(a[0]), a[1].is_none() || a[1].is_unbound() ? Value::integer(0) : unwrap(a[1])});
}

constexpr NativeDef kMethods[] = {
    {"item", "self, /", m_item, "The one element, as a Python number."},
    {"tolist", "self, /", m_tolist, "Nested lists of Python numbers."},
    {"numel", "self, /", m_numel, "The number of elements."},
    {"nelement", "self, /", m_numel, "The number of elements, as numel."},
    {"dim", "self, /", m_dim, "The number of axes."},
    {"size", "self, dim=None", m_size, "The shape, or the size of one axis."},
    {"is_floating_point", "self, /", m_is_floating, "Is the dtype a float."},
    {"__float__", "self, /", m_float, ""},
    {"__int__", "self, /", m_int, ""},
    {"__index__", "self, /", m_index, ""},
    {"__abs__", "self, /", m_abs, ""},
    {"__round__", "self, ndigits=None", m_round, ""},
    {"__trunc__", "self, /", m_int, ""},
};

std::span<const NativeDef> all_methods() {
  static const std::vector<NativeDef>& rows = support::forever([] {
    std::vector<NativeDef> v(std::begin(kMethods), std::end(kMethods));
    auto ops = ir::op_rows();
    for (size_t i = 0; i < ops.size(); ++i)
      if (ops[i]->method && ir::has_inputs(*ops[i]) && ops[i]->name != "t" && !has_alias_alone(*ops[i]))
        v.push_back(operation_natives()[i]);
    for (const OperationAlias& a : operation_aliases())
      if (a.row->method && ir::has_inputs(*a.row)) v.push_back(a.native);
    for (size_t i = 0; i < ops.size(); ++i)  // behind an alias of that name
      if (ops[i]->name == "t") v.push_back(operation_natives()[i]);
    return v;
  }());
  return rows;
}

// ---------------------------------------------------------------- dtypes

Value dtype_repr(Session&, const Value& v) { return make_str(name(v.as<DTypeObject>()->dtype)); }
Value dtype_compare(Session&, CmpOp op, const Value& a, const Value& b) {
  if (op != CmpOp::eq && op != CmpOp::ne) return Value::not_implemented();
  std::optional<DType> other;
  if (auto* d = cast<DTypeObject>(b))
    other = d->dtype;
  else if (auto* t = cast<Str>(b))
    other = dtype_from_name(t->view());
  else
    return Value::not_implemented();
  return Value::boolean((other == a.as<DTypeObject>()->dtype) == (op == CmpOp::eq));
}
bool dtype_hash(Session&, const Value& v, int64_t& out) {
  return out = static_cast<int64_t>(v.as<DTypeObject>()->dtype) + 77, true;
}
Value dtype_itemsize(Session&, const Value& v) {
  return Value::integer(static_cast<int64_t>(size_of(cast<DTypeObject>(v)->dtype)));
}
Value dtype_is_float(Session&, const Value& v) { return Value::boolean(is_float(cast<DTypeObject>(v)->dtype)); }
constexpr TypeSlots kDTypeSlots{.compare = dtype_compare, .hash = dtype_hash, .repr = dtype_repr};
constexpr GetSetDef kDTypeAttributes[] = {{"itemsize", dtype_itemsize, nullptr, "Bytes of one element."},
                                          {"is_floating_point", dtype_is_float, nullptr, "Is it a float."}};

// ---------------------------------------------------------------- places

bool hook_settle(Session& s, std::span<Value> keys, Value& v) {
  for (Value& k : keys)
    if (!settle_index(s, k)) return false;
  return settle_data(s, v);
}
bool hook_set_item(Session& s, Value& tensor, std::span<const Value> keys, const Value& v) {
  if (keys.size() == 1) return index_set(s, tensor, keys[0], v, false);
  Value part = index_get(s, tensor, keys[0]);
  if (part.is_error() || !hook_set_item(s, part, keys.subspan(1), v)) return false;
  return index_set(s, tensor, keys[0], part, false);
}
bool hook_update_item(Session& s, Value& tensor, std::span<const Value> keys, BinOp op, const Value& v) {
  if (keys.empty()) {
    if (!is_operand(v)) {  // a list, to an element
      unsupported_inplace(s, op, tensor, v);
      return false;
    }
    if (op == BinOp::matmul) {
      Value r = binary_slot(s, op, tensor, v);
      if (r.is_error()) return false;
      return tensor = std::move(r), true;
    }
    return update_elementwise(s, row_of(op), tensor, v);
  }
  Value part = index_get(s, tensor, keys[0]);
  if (part.is_error() || !hook_update_item(s, part, keys.subspan(1), op, v)) return false;
  return index_set(s, tensor, keys[0], part, false);
}
Value hook_operation(Session& s, ir::Op op, std::span<Value> args, const Value& statics) {
  const ir::OpInfo& row = ir::op_info(op);
  if (args.size() == row.params.size()) return run_operation(s, row, args);
  std::vector<Value> all(row.params.size());
  size_t given = std::min(args.size(), all.size());
  for (size_t i = 0; i < given; ++i) all[i] = std::move(args[i]);
  if (auto* t = cast<Tuple>(statics))  // the parameters behind the tensors
    for (size_t i = 0; i < t->size && given + i < all.size(); ++i) all[given + i] = (*t)[i];
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].is_unbound() && row.params[i].variadic) all[i] = make_tuple();
  return run_operation(s, row, all);
}
Value hook_make_dtype(Session& s, int64_t dtype) { return make_dtype(s, static_cast<DType>(dtype)); }
constexpr TensorHooks kHooks{.settle = hook_settle,
                             .set_item = hook_set_item,
                             .is_operand = is_operand,
                             .update_item = hook_update_item,
                             .operation = hook_operation,
                             .make_dtype = hook_make_dtype};

}  // namespace

void register_tensor_types(Session& s) {
  static const bool registered = [] {
    register_kind(ObjectKind::tensor, {.destroy = destroy_tensor});
    register_kind(ObjectKind::dtype, {.destroy = destroy_object<DTypeObject>});
    return true;
  }();
  (void)registered;
  static const TypeDef kTensor{
      .name = "tensor",
      .kind = ObjectKind::tensor,
      .slots = &kTensorSlots,
      .methods = all_methods(),
      .getset = kAttributes,
      .subclassable = false,
      .doc = "tensor(data, dtype=None): numbers in a box of any shape. A value: no two names share one.",
      .module = kOuro};
  static const TypeDef kDType{.name = "dtype",
                              .kind = ObjectKind::dtype,
                              .slots = &kDTypeSlots,
                              .getset = kDTypeAttributes,
                              .subclassable = false,
                              .doc = "An element type.",
                              .module = kOuro};
  define_type(s, kTensor);
  define_type(s, kDType);
  s.tensors = &kHooks;
}

}  // namespace ouro::runtime
