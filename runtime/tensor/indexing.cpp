#include "runtime/tensor/indexing.h"

#include <algorithm>
#include <cstring>

#include "runtime/machine/threads.h"
#include "runtime/object/interrupt.h"
#include "runtime/object/ops.h"
#include "runtime/tensor/call.h"
#include "runtime/tensor/elementwise.h"
#include "runtime/tensor/kernels.h"
#include "runtime/tensor/move.h"
#include "runtime/tensor/reduce.h"
#include "runtime/tensor/route.h"

namespace ouro::runtime {

namespace {

bool fail(Session& s, ExcKind kind, const std::string& text) {
  raise_text(s, kind, text);
  return false;
}

// f(begin, count) for what takes long in one go.
constexpr int64_t kPiece = 1 << 18;  // elements
template <class F>
void in_pieces(int64_t n, F&& f) {
  for (int64_t at = 0; at < n; at += kPiece) {
    if (at) poll_interrupt();
    f(at, std::min(kPiece, n - at));
  }
}

struct Advanced {
  int64_t stride, size;
  int axis;                    // of x, for messages
  size_t before;               // how many kept axes stand before it
  std::vector<int64_t> shape;  // of the index
  CountedVector<int64_t> values;
};

struct KeyReader {
  Session& s;
  const Tensor* x;
  IndexMap& map;
  std::vector<int64_t> from;
  std::vector<Advanced> advanced;
  std::vector<size_t> int_positions;
  int axis = 0;
  bool separated = false, seen_advanced = false, last_advanced = false;

  // How many axes of x an item of a key stands for; -1: the ellipsis.
  int width(const Value& v) {
    if (v.is_none()) return 0;
    if (v.is(Tag::ellipsis)) return -1;
    if (v.is_bool()) return 0;
    if (auto* t = cast<Tensor>(v); t && t->dtype == DType::boolean) return t->rank;
    return 1;
  }

  bool read(std::span<const Value> items) {
    int used = 0, ellipses = 0;
    for (const Value& v : items) {
      int w = width(v);
      if (w < 0)
        ++ellipses;
      else
        used += w;
    }
    if (ellipses > 1) return fail(s, ExcKind::IndexError, "an index can only have a single ellipsis ('...')");
    if (used > x->rank)
      return fail(
          s, ExcKind::IndexError,
          "too many indices for a tensor of " + std::to_string(x->rank) + " dimensions: " + std::to_string(used));
    bool any = false;
    for (const Value& v : items) any |= cast<Tensor>(v) || cast<List>(v) || v.is_bool();
    for (const Value& v : items) {
      if (v.is(Tag::ellipsis)) {
        for (int k = x->rank - used; k > 0; --k) keep_all();
        last_advanced = false;
      } else if (!item(v, any)) {
        return false;
      }
    }
    while (axis < x->rank) keep_all();
    return finish();
  }
  void keep_all() {
    map.dims.push_back(x->dim(axis));
    map.strides.push_back(from[axis]);
    ++axis;
  }
  bool item(const Value& v, bool any_advanced) {
    if (v.is_none()) {
      map.dims.push_back(1), map.strides.push_back(0);
      last_advanced = false;
      return true;
    }
    if (auto* sl = cast<Slice>(v)) {
      int64_t start, stop, step, n = slice_indices(s, *sl, x->dim(axis), start, stop, step);
      if (n < 0) return false;
      map.offset += n > 0 ? start * from[axis] : 0;
      map.dims.push_back(n), map.strides.push_back(n > 1 ? from[axis] * step : 0);  // a step may be huge
      ++axis;
      last_advanced = false;
      return true;
    }
    if (v.is_bool()) {  // a new axis of size 1 or 0
      add_advanced({0, 1, axis, map.dims.size(), {v.as_bool() ? 1 : 0}, CountedVector<int64_t>(v.as_bool() ? 1 : 0)});
      return true;
    }
    if (cast<List>(v)) {
      Value t = tensor_from(s, v, {});
      if (t.is_error()) return false;
      if (t.as<Tensor>()->size == 0 && is_float(t.as<Tensor>()->dtype)) t = cast_tensor(s, t, DType::i64);
      return !t.is_error() && tensor(t);
    }
    if (cast<Tensor>(v)) {
      auto* t = cast<Tensor>(v);
      if (t->rank == 0 && is_integer(t->dtype) && !any_other_advanced)
        return integer(tensor_item(s, t, 0).as_int(), false);
      return tensor(unwrap(v));
    }
    int64_t i;
    if (!to_index(s, v, i)) {
      clear_pending(s);
      return fail(
          s, ExcKind::IndexError,
          "tensor indices must be integers, slices, None, ..., tensors or lists, not '" + type_name(s, v) + "'");
    }
    return integer(i, any_advanced);
  }
  bool any_other_advanced = true;
  uint32_t polled = 0;
  bool integer(int64_t i, bool as_advanced) {
    int64_t n = x->dim(axis);
    if (i < -n || i >= n)
      return fail(s, ExcKind::IndexError,
                  "index " + std::to_string(i) + " is out of bounds for dimension " + std::to_string(axis) +
                      " with size " + std::to_string(n));
    if (i < 0) i += n;
    if (as_advanced) {
      add_advanced({from[axis], n, axis, map.dims.size(), {}, {i}});
    } else {
      map.offset += i * from[axis];
    }
    ++axis;
    return true;
  }
  void add_advanced(Advanced a) {
    if (seen_advanced && !last_advanced) separated = true;
    seen_advanced = last_advanced = true;
    advanced.push_back(std::move(a));
  }
  bool tensor(const Value& v) {
    auto* t = v.as<Tensor>();
    std::vector<int64_t> shape(t->dims(), t->dims() + t->rank);
    if (t->dtype == DType::boolean) {
      if (t->rank == 0)
        return add_advanced(
                   {0, 1, axis, map.dims.size(), {*t->bytes() ? 1 : 0}, CountedVector<int64_t>(*t->bytes() ? 1 : 0)}),
               true;
      for (int k = 0; k < t->rank; ++k)
        if (t->dim(k) != x->dim(axis + k))
          return fail(s, ExcKind::IndexError,
                      "the shape of the mask " + shape_text(t->shape()) + " at index " + std::to_string(k) +
                          " does not match the shape of the indexed tensor " + shape_text(x->shape()) + " at index " +
                          std::to_string(axis + k));
      CountedVector<int64_t> hits;
      size_t count = 0;
      in_pieces(t->size, [&](int64_t at, int64_t n) {
        count +=
            static_cast<size_t>(std::count_if(t->bytes() + at, t->bytes() + at + n, [](char b) { return b != 0; }));
      });
      hits.reserve(count);
      for (int64_t i = 0; i < t->size; ++i) {
        poll_interrupt(s, polled);
        if (t->bytes()[i]) hits.push_back(i);
      }
      std::vector<int64_t> steps = row_major(t->shape());
      for (int k = 0; k < t->rank; ++k) {
        Advanced a{from[axis], x->dim(axis), axis, map.dims.size(), {static_cast<int64_t>(count)}, {}};
        if (t->rank == 1) {
          a.values = std::move(hits);
        } else {
          a.values.reserve(count);
          for (int64_t h : hits) {
            poll_interrupt(s, polled);
            a.values.push_back(h / steps[k] % t->dim(k));
          }
        }
        add_advanced(std::move(a));
        ++axis;
      }
      return true;
    }
    if (!is_integer(t->dtype))
      return fail(s, ExcKind::IndexError,
                  "tensors used as indices must be of an integer dtype or bool, not " + std::string(name(t->dtype)));
    Advanced a{from[axis], x->dim(axis), axis, map.dims.size(), shape, {}};
    a.values.reserve(static_cast<size_t>(t->size));
    in_pieces(t->size, [&](int64_t at, int64_t n) {
      a.values.resize(static_cast<size_t>(at + n));
      kernels().cast[static_cast<int>(t->dtype)][static_cast<int>(DType::i64)](
          a.values.data() + at, t->bytes() + at * static_cast<int64_t>(size_of(t->dtype)), n);
    });
    for (int64_t& i : a.values) {
      poll_interrupt(s, polled);
      if (i < -a.size || i >= a.size)
        return fail(s, ExcKind::IndexError,
                    "index " + std::to_string(i) + " is out of bounds for dimension " + std::to_string(axis) +
                        " with size " + std::to_string(a.size));
      if (i < 0) i += a.size;
    }
    add_advanced(std::move(a));
    ++axis;
    return true;
  }
  bool finish() {
    if (advanced.empty()) return true;
    map.advanced = true;
    for (const Advanced& a : advanced)
      if (!broadcast_shapes(map.broadcast, a.shape, map.broadcast)) {
        std::string text;
        for (const Advanced& b : advanced) text += (text.empty() ? "" : ", ") + shape_text(b.shape);
        return fail(s, ExcKind::IndexError,
                    "shape mismatch: indexing tensors could not be broadcast together with shapes " + text);
      }
    map.at = separated ? 0 : advanced[0].before;
    int64_t n = element_count(map.broadcast);
    // The first index that needs no spreading becomes the places themselves.
    auto whole = [&](const Advanced& a) { return a.shape == map.broadcast; };
    const auto first = std::ranges::find_if(advanced, whole);
    if (first == advanced.end()) {
      map.places.assign(n, 0);
    } else {
      map.places = std::move(first->values);
      for (int64_t& p : map.places) {
        poll_interrupt(s, polled);
        p *= first->stride;
      }
    }
    CountedVector<int64_t> spread;
    for (auto at = advanced.begin(); at != advanced.end(); ++at) {
      const Advanced& a = *at;
      if (n == 0 || at == first) continue;
      if (whole(a)) {
        for (int64_t i = 0; i < n; ++i) {
          poll_interrupt(s, polled);
          map.places[i] += a.values[i] * a.stride;
        }
        continue;
      }
      spread.resize(n);
      BroadcastReader r(a.shape, map.broadcast, 8);
      if (r.single())
        std::fill(spread.begin(), spread.end(), a.values[0]);
      else
        r.read(spread.data(), reinterpret_cast<const char*>(a.values.data()), 0, n);
      for (int64_t i = 0; i < n; ++i) {
        poll_interrupt(s, polled);
        map.places[i] += spread[i] * a.stride;
      }
    }
    return true;
  }
};

// Calls row(place in x, place in the result) for every innermost run of kept axes behind B; the run is inner_dims over
// inner_strides.
struct Walk {
  const IndexMap& m;
  std::span<const int64_t> outer_dims, outer_strides, inner_dims, inner_strides;
  int64_t inner = 1, outer = 1;
  explicit Walk(const IndexMap& map) : m(map) {
    size_t at = map.advanced ? map.at : map.dims.size();
    if (!map.advanced) at = 0;
    outer_dims = std::span(map.dims).first(at), outer_strides = std::span(map.strides).first(at);
    inner_dims = std::span(map.dims).subspan(at), inner_strides = std::span(map.strides).subspan(at);
    for (int64_t d : inner_dims) inner *= d;
    for (int64_t d : outer_dims) outer *= d;
  }
  template <class F>
  void each(F&& row) const {
    if (inner == 0) return;
    std::vector<int64_t> index(outer_dims.size());
    int64_t to = 0;
    for (int64_t o = 0; o < outer; ++o) {
      int64_t base = m.offset;
      for (size_t i = 0; i < index.size(); ++i) base += index[i] * outer_strides[i];
      if (!m.advanced) {
        row(base, to);
        to += inner;
      } else {
        for (int64_t p : m.places) {
          poll_interrupt();
          row(base + p, to);
          to += inner;
        }
      }
      for (size_t i = index.size(); i-- > 0;) {
        if (++index[i] < outer_dims[i]) break;
        index[i] = 0;
      }
    }
  }
};

template <class T>
void gather_elements(T* out, const T* x, const IndexMap& m) {
  constexpr size_t kPiece = 1 << 18;  // each from anywhere in memory
  for (size_t at = 0; at < m.places.size(); at += kPiece) {
    poll_interrupt();
    const size_t end = std::min(m.places.size(), at + kPiece);
    for (size_t i = at; i < end; ++i) out[i] = x[m.offset + m.places[i]];
  }
}

void read_map(char* out, const char* x, const IndexMap& m, size_t z, int threads) {
  Walk w(m);
  if (m.advanced && w.inner == 1 && w.outer == 1) {
    switch (z) {
      case 1:
        return gather_elements(reinterpret_cast<uint8_t*>(out), reinterpret_cast<const uint8_t*>(x), m);
      case 2:
        return gather_elements(reinterpret_cast<uint16_t*>(out), reinterpret_cast<const uint16_t*>(x), m);
      case 4:
        return gather_elements(reinterpret_cast<uint32_t*>(out), reinterpret_cast<const uint32_t*>(x), m);
      default:
        return gather_elements(reinterpret_cast<uint64_t*>(out), reinterpret_cast<const uint64_t*>(x), m);
    }
  }
  std::vector<int64_t> to_strides = row_major(w.inner_dims);
  bool whole = std::equal(to_strides.begin(), to_strides.end(), w.inner_strides.begin());
  w.each([&](int64_t place, int64_t to) {
    if (whole)
      copy_in_pieces(out + to * z, x + place * static_cast<int64_t>(z), w.inner * z);
    else
      copy_nd(w.inner_dims, out + to * z, to_strides.data(), x + place * static_cast<int64_t>(z),
              w.inner_strides.data(), z, threads);
  });
}

// `single`: v is one element, which goes everywhere.
void write_map(char* x, const char* v, const IndexMap& m, size_t z, bool single = false) {
  Walk w(m);
  std::vector<int64_t> from_strides = row_major(w.inner_dims);
  if (single) std::ranges::fill(from_strides, 0);
  w.each([&](int64_t place, int64_t from) {
    copy_nd(w.inner_dims, x + place * static_cast<int64_t>(z), w.inner_strides.data(), single ? v : v + from * z,
            from_strides.data(), z);
  });
}

// `single`: v is one element again and again, a piece of it.
void accumulate_map(char* x, const char* v, const IndexMap& m, DType t, bool single) {
  Walk w(m);
  size_t z = size_of(t);
  LeafKernel add = kernels().leaf[static_cast<int>(ir::Leaf::add)][static_cast<int>(t)];
  std::vector<int64_t> v_strides = row_major(w.inner_dims);
  bool whole = std::equal(v_strides.begin(), v_strides.end(), w.inner_strides.begin());
  Scratch row(whole ? 0 : w.inner * z);
  w.each([&](int64_t place, int64_t from) {
    char* p = x + place * static_cast<int64_t>(z);
    char* to = whole ? p : row.data();
    if (!whole) copy_nd(w.inner_dims, to, v_strides.data(), p, w.inner_strides.data(), z);
    in_pieces(w.inner,
              [&](int64_t i, int64_t n) { add(to + i * z, to + i * z, single ? v : v + (from + i) * z, nullptr, n); });
    if (!whole) copy_nd(w.inner_dims, p, w.inner_strides.data(), to, v_strides.data(), z);
  });
}

}  // namespace

std::vector<int64_t> IndexMap::shape() const {
  std::vector<int64_t> s(dims.begin(), dims.begin() + static_cast<int64_t>(advanced ? at : 0));
  if (advanced) s.insert(s.end(), broadcast.begin(), broadcast.end());
  s.insert(s.end(), dims.begin() + static_cast<int64_t>(advanced ? at : 0), dims.end());
  return s;
}
bool IndexMap::basic_whole(const Tensor* x) const {
  if (advanced || offset != 0) return false;
  std::vector<int64_t> d, st;
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] != 1) d.push_back(dims[i]), st.push_back(strides[i]);
  int64_t n = 1;
  for (size_t i = d.size(); i-- > 0;) {
    if (st[i] != n) return false;
    n *= d[i];
  }
  return n == x->size;
}

// What is no number and has no __index__ stays: where it is read it is an error.
static bool settle_number(Session& s, Value& v) {
  if (kind_of(v) != ObjectKind::instance || is_integer(v) || cast<List>(v)) return true;
  Value i = call_dunder(s, v, Dunder::index_);
  if (i.is_error()) return false;
  if (!i.is_unbound() && !is_integer(i))
    return fail(s, ExcKind::TypeError, "__index__ returned non-int (type " + type_name(s, i) + ")");
  if (!i.is_unbound()) v = unwrap(i);
  return true;
}
static bool settle_item(Session& s, Value& v) {
  Slice* sl = cast_exact<Slice>(v);
  if (!sl) return settle_number(s, v);
  Value start = sl->start, stop = sl->stop, step = sl->step;
  if (!settle_number(s, step) || !settle_number(s, start) || !settle_number(s, stop)) return false;
  if (!start.same(sl->start) || !stop.same(sl->stop) || !step.same(sl->step))
    v = make_slice(std::move(start), std::move(stop), std::move(step));
  return true;
}
bool settle_index(Session& s, Value& key) {
  Tuple* t = cast<Tuple>(key);
  if (!t) return settle_item(s, key);
  std::vector<Value> items(t->begin(), t->end());
  for (Value& item : items)
    if (!settle_item(s, item)) return false;
  if (!std::ranges::equal(items, *t, [](const Value& a, const Value& b) { return a.same(b); }))
    key = make_tuple_moved(items);
  return true;
}

bool make_index_map(Session& s, const Tensor* x, const Value& key, IndexMap& map) {
  KeyReader r{s, x, map, row_major(x->shape()), {}, {}};
  std::span<const Value> items(&key, 1);
  if (auto* t = cast<Tuple>(key)) items = {t->items(), t->size};
  int tensors = 0;
  for (const Value& v : items) {
    auto* t = cast<Tensor>(v);
    tensors += (t && !(t->rank == 0 && is_integer(t->dtype))) || cast<List>(v) || v.is_bool();
  }
  r.any_other_advanced = tensors > 0;
  return r.read(items);
}

static Value get_on_host(Session& s, const Value& v, const Value& key) {
  auto* x = v.as<Tensor>();
  if (key.is_int() && x->rank > 0) {  // the usual case
    int64_t i = key.as_int(), n = x->dim(0);
    if (i < -n || i >= n)
      return raise_error(s, ExcKind::IndexError, "index %lld is out of bounds for dimension 0 with size %lld",
                         static_cast<long long>(i), static_cast<long long>(n));
    if (i < 0) i += n;
    OURO_TRY(r, make_tensor(s, x->dtype, x->shape().subspan(1)));
    size_t bytes = r.as<Tensor>()->nbytes();
    copy_in_pieces(r.as<Tensor>()->data(), x->bytes() + i * static_cast<int64_t>(bytes), bytes);
    return r;
  }
  IndexMap map;
  if (!make_index_map(s, x, key, map)) return Value::error();
  std::vector<int64_t> shape = map.shape();
  if (map.basic_whole(x)) return share_tensor(x, shape);
  OURO_TRY(r, make_tensor(s, x->dtype, shape));
  if (r.as<Tensor>()->size) read_map(r.as<Tensor>()->bytes(), x->bytes(), map, size_of(x->dtype), session_threads(s));
  return r;
}

Value index_get(Session& s, const Value& v, const Value& key) {
  if (!s.devices.used()) [[likely]]
    return get_on_host(s, v, key);
  static const ir::OpInfo& row = *ir::find_op("getitem");
  const Value args[2] = {v, key};
  return run_anywhere(s, row, args, [&] { return get_on_host(s, v, key); });
}

static bool set_on_host(Session& s, Value& target, const Value& key, const Value& v, bool accumulate) {
  auto* x = target.as<Tensor>();
  IndexMap map;
  if (!make_index_map(s, x, key, map)) return false;
  std::vector<int64_t> shape = map.shape();
  // The value in the type and shape of x[key].
  Value w = tensor_from(s, v, cast<Tensor>(v) ? std::optional<DType>() : std::optional<DType>(x->dtype));
  if (w.is_error()) return false;
  w = cast_tensor(s, w, x->dtype);
  if (w.is_error()) return false;
  auto* t = w.as<Tensor>();
  std::span<const int64_t> have = t->shape();
  while (have.size() > shape.size() && have[0] == 1) have = have.subspan(1);
  std::vector<int64_t> joined;
  if (have.size() > shape.size() || !broadcast_shapes(have, shape, joined) || joined != shape)
    return fail(s, ExcKind::ValueError,
                "x[...] = v: " + shape_text(t->shape()) + " does not fit into " + shape_text(shape));
  int64_t n = element_count(shape);
  size_t z = size_of(x->dtype);
  const char* data = t->bytes();
  // One element goes everywhere: it is written as it is, and added from a piece of it.
  const bool single = t->size == 1 && n > 1;
  int64_t given = single ? (accumulate ? std::min(n, kPiece) : 1) : n;
  Scratch spread(given == t->size ? 0 : given * z);
  if (given != t->size && n > 0) {
    BroadcastReader r(have, shape, z);
    in_pieces(given, [&](int64_t at, int64_t count) {
      char* to = spread.data() + at * static_cast<int64_t>(z);
      if (r.single()) {
        uint64_t bits = 0;
        std::memcpy(&bits, data, z);
        kernels().fill[__builtin_ctz(static_cast<unsigned>(z))](to, bits, count);
      } else {
        r.read(to, data, at, count);
      }
    });
    data = spread.data();
  }
  if (!make_unique(s, target)) return false;
  if (n == 0) return true;
  InterruptGrace grace(s);
  x = target.as<Tensor>();
  if (!accumulate) {
    write_map(x->bytes(), data, map, z, single);
    return true;
  }
  DType compute = ir::compute_type(x->dtype);
  if (compute == x->dtype) {
    accumulate_map(x->bytes(), data, map, x->dtype, single);
    return true;
  }
  Value wide = cast_tensor(s, target, compute), addend = make_tensor(s, compute, std::span<const int64_t>(&given, 1));
  if (wide.is_error() || addend.is_error()) return false;
  const CastKernel cast = kernels().cast[static_cast<int>(x->dtype)][static_cast<int>(compute)];
  in_pieces(given, [&](int64_t at, int64_t count) {
    cast(addend.as<Tensor>()->bytes() + at * static_cast<int64_t>(size_of(compute)),
         data + at * static_cast<int64_t>(z), count);
  });
  accumulate_map(wide.as<Tensor>()->bytes(), addend.as<Tensor>()->bytes(), map, compute, single);
  wide = cast_tensor(s, wide, x->dtype);
  if (wide.is_error()) return false;
  target = std::move(wide);
  return true;
}

bool index_set(Session& s, Value& target, const Value& key, const Value& v, bool accumulate) {
  if (!s.devices.used()) [[likely]]
    return set_on_host(s, target, key, v, accumulate);
  static const ir::OpInfo &put = *ir::find_op("index_put"), &add = *ir::find_op("index_accumulate");
  const ir::OpInfo& row = accumulate ? add : put;
  Route route;
  Value r;
  {
    const Value args[3] = {target, key, v};
    if (!find_route(s, &row, args, route)) return false;
    r = run_on_device(s, row, args, route);
  }
  if (r.is_error()) return false;
  if (!r.is_unbound()) return target = std::move(r), true;
  if (!set_on_host(s, target, key, v, accumulate)) return false;
  target = placed(std::move(target), route.place);
  return true;
}

// ---------------------------------------------------------------- rows

namespace {

Value row_getitem(OpCall& c) { return get_on_host(c.s, c.inputs[0], c.argument("key")); }
Value row_put(OpCall& c) {
  bool add = c.op.def->loop.index == "key add";
  Value x = std::move(c.inputs[0]);
  c.args[c.op.input_at[0]] = Value();  // so that an unshared tensor is seen as such
  if (!set_on_host(c.s, x, c.argument("key"), c.inputs[1], add)) return Value::error();
  return x;
}

}  // namespace

std::string bad_index_text(const ir::OpInfo& op, int64_t index, int64_t size) {
  if (op.def->loop.from_end)
    return op.name + ": index " + std::to_string(index) + " is out of bounds for an axis of size " +
           std::to_string(size);
  return "index " + std::to_string(index) + " is out of range: " +
         (size > 0 ? "0 to " + std::to_string(size - 1) + " expected" : "there is nothing to choose from");
}

namespace {

struct AxisIndex {
  int64_t outer = 1, n = 1, inner = 1;  // of the indexed tensor
};
AxisIndex split_at(const Tensor* x, int axis) {
  AxisIndex a;
  for (int i = 0; i < x->rank; ++i) (i < axis ? a.outer : i == axis ? a.n : a.inner) *= x->dim(i);
  return a;
}
// index values as checked, non-negative i64.
bool read_index(OpCall& c, const Tensor* index, int64_t n, CountedVector<int64_t>& out) {
  const int64_t* p = index->data<int64_t>();
  const bool from_end = c.op.def->loop.from_end;
  out.reserve(static_cast<size_t>(index->size));
  constexpr int64_t kPiece = 1 << 16;  // new memory, too
  for (int64_t at = 0; at < index->size; at += kPiece) {
    poll_interrupt(c.s);
    const int64_t end = std::min(index->size, at + kPiece);
    out.insert(out.end(), p + at, p + end);
    for (int64_t k = at; k < end; ++k) {
      int64_t& i = out[static_cast<size_t>(k)];
      if (i < (from_end ? -n : 0) || i >= n) return c.raise("IndexError", bad_index_text(c.op, i, n)), false;
      if (i < 0) i += n;
    }
  }
  return true;
}

// Places in x of each element of an index tensor that replaces `axis` (gather, scatter).
bool axis_places(OpCall& c, const Tensor* x, const Tensor* index, CountedVector<int64_t>& places) {
  int axis = c.axis("axis", x->rank);
  if (!read_index(c, index, x->rank ? x->dim(axis) : 1, places)) return false;
  if (x->rank == 0) return true;
  std::vector<int64_t> steps = row_major(x->shape()), at(index->rank);
  uint32_t polled = 0;
  for (int64_t i = 0; i < index->size; ++i) {
    poll_interrupt(c.s, polled);
    int64_t p = places[i] * steps[axis];
    for (int d = 0; d < index->rank; ++d)
      if (d != axis) p += at[d] * steps[d];
    places[i] = p;
    for (int d = index->rank - 1; d >= 0 && ++at[d] == index->dim(d); --d) at[d] = 0;
  }
  return true;
}
IndexMap places_map(CountedVector<int64_t> places) {
  IndexMap m;
  m.advanced = true;
  m.broadcast = {static_cast<int64_t>(places.size())};
  m.places = std::move(places);
  return m;
}
Value row_gather(OpCall& c) {
  const Tensor *x = c.in(0), *index = c.in(1);
  CountedVector<int64_t> places;
  if (!axis_places(c, x, index, places)) return Value::error();
  OURO_TRY(r, c.result());
  read_map(r.as<Tensor>()->bytes(), x->bytes(), places_map(std::move(places)), size_of(x->dtype), 1);
  return r;
}
// out = x with src written or added at the places.
Value scatter_at(OpCall& c, CountedVector<int64_t> places, const Value& src, bool add) {
  Value x = std::move(c.inputs[0]);
  c.args[c.op.input_at[0]] = Value();
  Value v = cast_tensor(c.s, src, x.as<Tensor>()->dtype);
  if (v.is_error() || !make_unique(c.s, x)) return Value::error();
  DType t = x.as<Tensor>()->dtype;
  IndexMap m = places_map(std::move(places));
  if (!add) {
    write_map(x.as<Tensor>()->bytes(), v.as<Tensor>()->bytes(), m, size_of(t));
    return x;
  }
  DType compute = ir::compute_type(t);
  x = cast_tensor(c.s, x, compute), v = cast_tensor(c.s, v, compute);
  if (x.is_error() || v.is_error()) return Value::error();
  uint32_t polled = 0;
  auto go = [&]<class T>(T) {
    T* out = x.as<Tensor>()->data<T>();
    const T* in = v.as<Tensor>()->data<T>();
    for (size_t i = 0; i < m.places.size(); ++i) {
      poll_interrupt(c.s, polled);
      out[m.places[i]] = static_cast<T>(out[m.places[i]] + in[i]);
    }
    if (t == DType::boolean)  // a sum of truths is one
      for (int64_t at : m.places) {
        poll_interrupt(c.s, polled);
        out[at] = static_cast<T>(out[at] != T{});
      }
  };
  visit_type(compute, go);
  return cast_tensor(c.s, x, t);
}
Value row_scatter(OpCall& c) {
  const Tensor *x = c.in(0), *index = c.in(1);
  CountedVector<int64_t> places;
  if (!axis_places(c, x, index, places)) return Value::error();
  Value src = c.inputs[2];
  auto* t = src.as<Tensor>();
  if (t->rank == 0) {
    src = cast_tensor(c.s, src, x->dtype);
    if (src.is_error()) return src;
    uint64_t bits = 0;
    std::memcpy(&bits, src.as<Tensor>()->data(), size_of(x->dtype));
    OURO_TRY(full, make_tensor(c.s, x->dtype, index->shape()));
    kernels().fill[__builtin_ctz(static_cast<unsigned>(size_of(x->dtype)))](full.as<Tensor>()->data(), bits,
                                                                            index->size);
    src = std::move(full);
  } else if (t->size != index->size) {
    OURO_TRY(cut, make_tensor(c.s, t->dtype, index->shape()));
    copy_nd(index->shape(), cut.as<Tensor>()->bytes(), row_major(index->shape()).data(), t->bytes(),
            row_major(t->shape()).data(), size_of(t->dtype));
    src = std::move(cut);
  }
  return scatter_at(c, std::move(places), src, c.op.def->loop.index == "axis add");
}
// x with src combined into the places that index names, in order: prod, amax or amin (NaN wins).
Value row_scatter_combine(OpCall& c) {
  const Tensor *x = c.in(0), *index = c.in(1);
  CountedVector<int64_t> places;
  if (!axis_places(c, x, index, places)) return Value::error();
  if (c.in(2)->size != index->size)
    return c.raise("RuntimeError", c.op.name + ": index " + shape_text(index->shape()) + " and src " +
                                       shape_text(c.in(2)->shape()) + " must have one shape");
  const DType t = c.dtype(), compute = ir::compute_type(t);
  Value target = cast_tensor(c.s, c.inputs[0], compute), source = cast_tensor(c.s, c.inputs[2], compute);
  if (target.is_error() || source.is_error() || !make_unique(c.s, target)) return Value::error();
  const std::string how = c.param("reduce").text;
  uint32_t polled = 0;
  visit_type(compute, [&]<class T>(T) {
    T* out = target.as<Tensor>()->data<T>();
    const T* in = source.as<Tensor>()->data<T>();
    std::vector<bool, CountedAllocator<bool>> written(
        c.flag("include_self") ? 0 : static_cast<size_t>(target.as<Tensor>()->size));
    for (size_t i = 0; i < places.size(); ++i) {
      poll_interrupt(c.s, polled);
      const size_t at = static_cast<size_t>(places[i]);
      T &o = out[at], v = in[i];
      if (!written.empty() && !written[at])
        written[at] = true, o = v;
      else if (how == "prod")
        o = static_cast<T>(o * v);
      else if (v != v || (how == "amax" ? v > o : v < o))
        o = v;
    }
  });
  return cast_tensor(c.s, target, t);
}
Value row_select(OpCall& c) {
  const Tensor* x = c.in(0);
  int axis = c.axis("axis", x->rank);
  AxisIndex a = split_at(x, axis);
  CountedVector<int64_t> index;
  if (!read_index(c, c.in(1), a.n, index)) return Value::error();
  OURO_TRY(r, c.result());
  char* out = r.as<Tensor>()->bytes();
  size_t run = a.inner * size_of(x->dtype);
  int64_t m = static_cast<int64_t>(index.size());
  parallel_for_or_stop(r.as<Tensor>()->size > 131072 ? session_threads(c.s) : 1, a.outer * ((m + 255) / 256),
                       [&](int64_t p) {
                         int64_t o = p / ((m + 255) / 256), b = p % ((m + 255) / 256) * 256;
                         for (int64_t i = b; i < std::min(m, b + 256); ++i)
                           std::memcpy(out + (o * m + i) * run, x->bytes() + (o * a.n + index[i]) * run, run);
                       });
  return r;
}
Value row_index_add(OpCall& c) {
  const Tensor* x = c.in(0);
  int axis = c.axis("axis", x->rank);
  AxisIndex a = split_at(x, axis);
  CountedVector<int64_t> index;
  if (!read_index(c, c.in(1), a.n, index)) return Value::error();
  int64_t m = static_cast<int64_t>(index.size());
  Value target = std::move(c.inputs[0]);
  c.args[c.op.input_at[0]] = Value();
  DType t = target.as<Tensor>()->dtype, compute = ir::compute_type(t);
  target = cast_tensor(c.s, target, compute);
  Value v = cast_tensor(c.s, c.inputs[2], compute);
  if (target.is_error() || v.is_error() || !make_unique(c.s, target)) return Value::error();
  LeafKernel add = kernels().leaf[static_cast<int>(ir::Leaf::add)][static_cast<int>(compute)];
  size_t run = a.inner * size_of(compute);
  char* out = target.as<Tensor>()->bytes();
  for (int64_t o = 0; o < a.outer; ++o)
    for (int64_t i = 0; i < m; ++i) {
      poll_interrupt(c.s);
      char* p = out + (o * a.n + index[i]) * run;
      const char* from = v.as<Tensor>()->bytes() + (o * m + i) * run;
      in_pieces(a.inner, [&](int64_t at, int64_t n) {
        const size_t skip = static_cast<size_t>(at) * size_of(compute);
        add(p + skip, p + skip, from + skip, nullptr, n);
      });
    }
  return cast_tensor(c.s, target, t);
}

constexpr ExecutorRow kRows[] = {
    {"gather key", row_getitem, false}, {"scatter key set", row_put},          {"scatter key add", row_put},
    {"gather axis", row_gather},        {"scatter axis set", row_scatter},     {"scatter axis add", row_scatter},
    {"gather select", row_select},      {"scatter select add", row_index_add}, {"scatter_combine", row_scatter_combine},
};

}  // namespace

std::span<const ExecutorRow> index_executors() { return kRows; }

}  // namespace ouro::runtime
