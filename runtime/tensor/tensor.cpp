#include "runtime/tensor/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "runtime/machine/threads.h"
#include "runtime/object/buffer_mark.h"
#include "runtime/object/interrupt.h"
#include "runtime/object/ops.h"
#include "runtime/tensor/coherence.h"
#include "runtime/tensor/kernels.h"
#include "runtime/types/big_int.h"
#include "support/per_thread.h"

namespace ouro::runtime {

namespace {
struct TensorState {
  TensorCounters counters;
  Value offered;
};
}  // namespace

TensorCounters& tensor_counters(Session& s) { return s.state<TensorState>().counters; }

ResultOffer::ResultOffer(Session& s, Value tensor) : session_(s) { s.state<TensorState>().offered = std::move(tensor); }
ResultOffer::~ResultOffer() { session_.state<TensorState>().offered = Value(); }

int session_threads(Session& s) { return s.demands.threads(); }

// ---------------------------------------------------------------- making tensors

int64_t element_count(std::span<const int64_t> shape) {
  int64_t n = 1;
  bool empty = false;
  for (int64_t d : shape) empty |= d == 0;
  if (empty) return 0;
  for (int64_t d : shape)
    if (__builtin_mul_overflow(n, d, &n) || n > (int64_t{1} << 62)) return -1;
  return n;
}

std::string shape_text(std::span<const int64_t> shape) {
  std::string s = "(";
  for (size_t i = 0; i < shape.size(); ++i) s += (i ? ", " : "") + std::to_string(shape[i]);
  return s + (shape.size() == 1 ? ",)" : ")");
}

namespace {

Tensor* new_tensor(DType dtype, std::span<const int64_t> shape, int64_t size, Buffer* buffer) {
  auto* t = new (allocate_memory(sizeof(Tensor) + shape.size() * sizeof(int64_t))) Tensor;
  t->kind = static_cast<uint8_t>(ObjectKind::tensor);
  t->dtype = dtype;
  t->rank = static_cast<uint8_t>(shape.size());
  t->buffer = buffer;
  t->size = size;
  if (!shape.empty()) std::memcpy(t->dims(), shape.data(), shape.size() * sizeof(int64_t));
  return t;
}

}  // namespace

void destroy_tensor(Object* o) {
  auto* t = static_cast<Tensor*>(o);
  release_buffer(t->buffer);
  free_memory(t, sizeof(Tensor) + t->rank * sizeof(int64_t));
}

Value make_tensor(Session& s, DType dtype, std::span<const int64_t> shape) {
  if (shape.size() > kMaxRank)
    return raise_value_error(s, "a tensor has at most %d dimensions, not %zu", kMaxRank, shape.size());
  auto& state = s.state<TensorState>();
  if (state.offered.is_object()) [[unlikely]] {
    auto* t = state.offered.as<Tensor>();
    if (t->dtype == dtype && std::ranges::equal(t->shape(), shape)) {
      t->place = 0;
      return std::move(state.offered);
    }
  }
  int64_t n = element_count(shape);
  const bool fits = n >= 0 && static_cast<uint64_t>(n) <= (uint64_t{1} << 62) / size_of(dtype);
  Buffer* b = fits ? allocate_buffer(static_cast<size_t>(n) * size_of(dtype)) : nullptr;
  if (!b)
    return raise_text(
        s, ExcKind::MemoryError,
        "not enough memory for a tensor of shape " + shape_text(shape) + " and dtype " + std::string(name(dtype)));
  ++state.counters.allocations;
  return Value::steal(new_tensor(dtype, shape, n, b));
}

Value share_tensor(const Tensor* t, std::span<const int64_t> shape) {
  ++t->buffer->refs;
  Tensor* view = new_tensor(t->dtype, shape, t->size, t->buffer);
  view->place = t->place;
  return Value::steal(view);
}
Value wrap_buffer(DType dtype, std::span<const int64_t> shape, Buffer* buffer) {
  ++buffer->refs;
  return Value::steal(new_tensor(dtype, shape, element_count(shape), buffer));
}

bool store_number(DType t, void* at, const Value& v) {
  double f = 0;
  int64_t i = 0;
  bool integral = true;
  if (v.is_int() || v.is_bool())
    i = v.as_int();
  else if (v.is_float())
    f = v.as_float(), integral = false;
  else if (cast<BigInt>(v)) {
    int64_t e;
    double m = int_frexp(v, e);
    f = std::ldexp(m, static_cast<int>(std::min<int64_t>(e, 5000))), integral = false;
  } else
    return false;
  const KernelTable& k = kernels();
  if (integral)
    k.cast[static_cast<int>(DType::i64)][static_cast<int>(t)](at, &i, 1);
  else
    k.cast[static_cast<int>(DType::f64)][static_cast<int>(t)](at, &f, 1);
  return true;
}

Value make_filled(Session& s, DType dtype, std::span<const int64_t> shape, double value) {
  OURO_TRY(t, make_tensor(s, dtype, shape));
  auto* x = t.as<Tensor>();
  uint64_t bits = 0;
  store_number(dtype, &bits, Value::floating(value));
  if (bits == 0)
    std::memset(x->data(), 0, x->nbytes());
  else
    kernels().fill[__builtin_ctz(static_cast<unsigned>(size_of(dtype)))](x->data(), bits, x->size);
  return t;
}
Value cast_tensor(Session& s, const Value& v, DType to) {
  auto* x = v.as<Tensor>();
  if (x->dtype == to) return v;
  OURO_TRY(r, make_tensor(s, to, x->shape()));
  auto* y = r.as<Tensor>();
  CastKernel f = kernels().cast[static_cast<int>(x->dtype)][static_cast<int>(to)];
  constexpr int64_t part = 65536;
  char* out = y->bytes();
  const char* in = x->bytes();
  y->place = x->place;
  parallel_for_or_stop(x->size > part ? session_threads(s) : 1, (x->size + part - 1) / part, [&](int64_t p) {
    f(out + p * part * size_of(to), in + p * part * size_of(x->dtype), std::min(part, x->size - p * part));
  });
  return r;
}

bool make_unique(Session& s, Value& v) {
  auto* x = v.as<Tensor>();
  if (x->unshared()) return true;
  Value r = make_tensor(s, x->dtype, x->shape());
  if (r.is_error()) return false;
  copy_in_pieces(r.as<Tensor>()->data(), x->data(), x->nbytes());
  r.as<Tensor>()->place = x->place;
  ++tensor_counters(s).copies;
  v = std::move(r);
  return true;
}

Value tensor_item(Session&, const Tensor* t, int64_t at) {
  const char* p = t->bytes() + at * static_cast<int64_t>(size_of(t->dtype));
  if (t->dtype == DType::boolean) return Value::boolean(*p != 0);
  if (is_float(t->dtype)) {
    double f;
    kernels().cast[static_cast<int>(t->dtype)][static_cast<int>(DType::f64)](&f, p, 1);
    return Value::floating(f);
  }
  int64_t i;
  kernels().cast[static_cast<int>(t->dtype)][static_cast<int>(DType::i64)](&i, p, 1);
  return Value::integer(i);
}

// ---------------------------------------------------------------- tensor(nested list)

namespace {

struct Nested {
  Session& s;
  std::vector<int64_t> shape;
  int category = -1;  // of Python numbers: 0 bool, 1 int, 2 float
  std::optional<DType> from_tensors;

  static std::span<const Value> items(const Value& v, bool& is) {
    is = true;
    if (auto* l = cast<List>(v)) return {l->items, l->size};
    if (auto* t = cast<Tuple>(v)) return {t->items(), t->size};
    is = false;
    return {};
  }
  bool measure(const Value& v, size_t depth) {
    bool sequence;
    auto parts = items(v, sequence);
    if (sequence) {
      if (depth >= kMaxRank) return raise_value_error(s, "tensor: lists are nested more than %d deep", kMaxRank), false;
      if (depth == shape.size())
        shape.push_back(static_cast<int64_t>(parts.size()));
      else if (depth > shape.size() || shape[depth] != static_cast<int64_t>(parts.size()))
        return ragged(depth, parts.size());
      for (const Value& p : parts) {
        poll_interrupt(s);
        if (!measure(p, depth + 1)) return false;
      }
      if (parts.empty()) leaf_depth(depth + 1);
      return true;
    }
    if (auto* t = cast<Tensor>(v)) {
      for (int i = 0; i < t->rank; ++i) {
        if (depth + i == shape.size() && (leaf < 0))
          shape.push_back(t->dim(i));
        else if (depth + i >= shape.size() || shape[depth + i] != t->dim(i))
          return ragged(depth + i, t->dim(i));
      }
      from_tensors = from_tensors ? promote(*from_tensors, t->dtype) : t->dtype;
      return leaf_depth(depth + t->rank) || ragged(depth, 0);
    }
    int c = v.is_bool() ? 0 : v.is_int() || cast<BigInt>(v) ? 1 : v.is_float() ? 2 : -1;
    if (c < 0)
      return raise_type_error(s, "tensor: a number, list, tuple or tensor expected, not '%s'", type_name(s, v).c_str()),
             false;
    category = std::max(category, c);
    return leaf_depth(depth) || ragged(depth, 0);
  }
  int leaf = -1;  // depth of the numbers
  bool leaf_depth(size_t d) {
    if (leaf < 0) leaf = static_cast<int>(d);
    return leaf == static_cast<int>(d) && shape.size() == d;
  }
  bool ragged(size_t depth, size_t n) {
    if (depth < shape.size())
      raise_value_error(s, "tensor: expected sequence of length %lld at dim %zu (got %zu)",
                        static_cast<long long>(shape[depth]), depth, n);
    else
      raise_value_error(s, "tensor: the lists are nested to different depths");
    return false;
  }
  bool fill(const Value& v, Tensor* out, int64_t& at) {
    bool sequence;
    auto parts = items(v, sequence);
    if (sequence) {
      for (const Value& p : parts) {
        poll_interrupt(s);
        if (!fill(p, out, at)) return false;
      }
      return true;
    }
    size_t z = size_of(out->dtype);
    if (auto* t = cast<Tensor>(v)) {
      kernels().cast[static_cast<int>(t->dtype)][static_cast<int>(out->dtype)](out->bytes() + at * z, t->data(),
                                                                               t->size);
      at += t->size;
      return true;
    }
    if (auto* big = cast<BigInt>(v); big && !is_float(out->dtype))
      return raise_error(s, ExcKind::OverflowError, "Python int too large to convert to %s",
                         std::string(name(out->dtype)).c_str()),
             false;
    return store_number(out->dtype, out->bytes() + at++ * z, v);
  }
};

}  // namespace

bool settle_data(Session& s, Value& data) {
  bool sequence;
  Nested::items(data, sequence);
  if (sequence || cast<Tensor>(data) || data.is_bool() || data.is_int() || data.is_float() || cast<BigInt>(data))
    return true;
  if (!slots_of(s, data).iter && !slots_of(s, data).length) {
    raise_type_error(s, "tensor: a number, list, tuple or tensor expected, not '%s'", type_name(s, data).c_str());
    return false;
  }
  Value list = list_of(s, data);  // ranges and other iterables
  if (list.is_error()) return false;
  data = std::move(list);
  return true;
}

Value tensor_from(Session& s, const Value& data, std::optional<DType> dtype) {
  if (cast<Tensor>(data)) return dtype ? cast_tensor(s, unwrap(data), *dtype) : unwrap(data);
  Value list = data;
  if (!settle_data(s, list)) return Value::error();
  Nested n{s, {}, -1, {}};
  if (!n.measure(list, 0)) return Value::error();
  DType t = kDefaultFloat;
  if (n.category == 0) t = DType::boolean;
  if (n.category == 1) t = DType::i64;
  if (n.from_tensors)
    t = n.category < 0 ? *n.from_tensors
                       : result_type({*n.from_tensors, OperandKind::tensor}, {t, OperandKind::scalar});
  OURO_TRY(r, make_tensor(s, dtype.value_or(t), n.shape));
  int64_t at = 0;
  if (!n.fill(list, r.as<Tensor>(), at))
    return s.has_error() ? Value::error() : raise_type_error(s, "tensor: a number expected");
  return r;
}

// ---------------------------------------------------------------- dtypes

namespace {
struct DTypeObjects {
  Value of[kDTypeCount];
};
}  // namespace

Value make_dtype(Session& s, DType t) {
  Value& v = s.state<DTypeObjects>().of[static_cast<int>(t)];
  if (v.is_unbound()) {
    auto* o = new_object<DTypeObject>(ObjectKind::dtype);
    o->dtype = t;
    v = Value::steal(o);
  }
  return v;
}

bool to_dtype(Session& s, const Value& v, DType& out) {
  if (auto* d = cast<DTypeObject>(v)) return out = d->dtype, true;
  if (auto* t = cast<Str>(v)) {
    if (auto d = dtype_from_name(t->view())) return out = *d, true;
    return raise_type_error(s, "unknown dtype '%s'", std::string(t->view()).c_str()), false;
  }
  if (auto* t = cast<Type>(v)) {
    if (t == s.type(ObjectKind::floating)) return out = DType::f64, true;
    if (t == s.type(ObjectKind::integer)) return out = DType::i64, true;
    if (t == s.type(ObjectKind::boolean)) return out = DType::boolean, true;
  }
  return raise_type_error(s, "a dtype expected, not '%s'", type_name(s, v).c_str()), false;
}

// ---------------------------------------------------------------- the mark of buffers

Value with_buffer_mark(const Value& tensor) {
  Value v = without_buffer_mark(tensor);
  v.object()->flags |= kFlagBufferMark;
  return v;
}
Value without_buffer_mark(const Value& tensor) {
  const auto* t = tensor.as<Tensor>();
  return share_tensor(t, t->shape());
}

}  // namespace ouro::runtime
