#include "runtime/types/memory_view.h"

#include <cstring>
#include <limits>

#include "runtime/object/ops.h"
#include "runtime/types/args.h"
#include "runtime/types/big_int.h"
#include "runtime/types/numbers.h"
#include "runtime/types/ordering.h"
#include "runtime/types/register.h"
#include "runtime/types/sequence.h"

namespace ouro::runtime {
namespace {

// ---- memory

std::string_view memory_of(const Value& owner) {
  if (Bytes* b = cast<Bytes>(owner)) return b->view();
  ByteArray* a = cast<ByteArray>(owner);
  return a ? std::string_view(a->data) : std::string_view();
}
const Value& owner_of(const Value& v) { return v.as<Opaque>()->values[0]; }

// Where item i lies, or null if the object has shrunk.
const char* place(const Value& v, const MemoryView& m, int64_t i) {
  std::string_view memory = memory_of(owner_of(v));
  int64_t at = m.offset + i * m.stride;
  bool inside = at >= 0 && at + m.itemsize <= static_cast<int64_t>(memory.size());
  return inside ? memory.data() + at : nullptr;
}

// Calls `f` with a value of the C type that the format names; false: there is no such format.
template <class F>
bool with_format(char format, F&& f) {
  switch (format) {
    case 'B':
    case 'c':
      return f(static_cast<unsigned char>(0)), true;
    case 'b':
      return f(static_cast<signed char>(0)), true;
    case '?':
      return f(false), true;
    case 'h':
      return f(int16_t{}), true;
    case 'H':
      return f(uint16_t{}), true;
    case 'i':
      return f(int32_t{}), true;
    case 'I':
      return f(uint32_t{}), true;
    case 'l':
    case 'q':
    case 'n':
      return f(int64_t{}), true;
    case 'L':
    case 'Q':
    case 'N':
      return f(uint64_t{}), true;
    case 'f':
      return f(float{}), true;
    case 'd':
      return f(double{}), true;
    default:
      return false;
  }
}

Value unsigned_value(uint64_t x) {
  if (x <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return Value::integer(static_cast<int64_t>(x));
  return int_from_u64(x);
}

Value item_at(Session& s, const Value& v, const MemoryView& m, int64_t i) {
  const char* from = place(v, m, i);
  if (!from) return raise_text(s, ExcKind::IndexError, "index out of bounds on dimension 1");
  if (m.format == 'c') return make_bytes(std::string_view(from, 1));
  Value out;
  with_format(m.format, [&](auto x) {
    using T = decltype(x);
    if constexpr (std::is_same_v<T, bool>) {
      out = Value::boolean(*from != 0);
    } else {
      std::memcpy(&x, from, sizeof x);
      if constexpr (std::is_floating_point_v<T>)
        out = Value::floating(x);
      else if constexpr (std::is_same_v<T, uint64_t>)
        out = unsigned_value(x);
      else
        out = Value::integer(x);
    }
  });
  return out;
}

// Writes `x` into `to`; the words are CPython's.
bool pack(Session& s, char format, const Value& x, char* to) {
  auto wrong_type = [&] { return !raise_type_error(s, "memoryview: invalid type for format '%c'", format).is_error(); };
  auto wrong_value = [&] {
    return !raise_value_error(s, "memoryview: invalid value for format '%c'", format).is_error();
  };
  if (format == 'c') {
    Bytes* b = cast<Bytes>(x);
    if (!b) return wrong_type();
    if (b->size != 1) return wrong_value();
    *to = b->data[0];
    return true;
  }
  bool done = false;
  with_format(format, [&](auto y) {
    using T = decltype(y);
    if constexpr (std::is_same_v<T, bool>) {
      int t = truth(s, x);
      done = t >= 0;
      *to = static_cast<char>(t > 0);
    } else if constexpr (std::is_floating_point_v<T>) {
      Value f = to_float(s, x);
      if (f.is_error()) return clear_pending(s), static_cast<void>(wrong_type());
      y = static_cast<T>(f.as_float());
      std::memcpy(to, &y, sizeof y);
      done = true;
    } else {
      if (!is_integer(x) && find_dunder(s, type_of(s, x), Dunder::index_).is_unbound())
        return static_cast<void>(wrong_type());
      int64_t n = 0;
      if (!to_index(s, x, n)) {
        if (!pending_is(s, ExcKind::IndexError) && !pending_is(s, ExcKind::OverflowError)) return;
        clear_pending(s);
        return static_cast<void>(wrong_value());
      }
      y = static_cast<T>(n);
      if (static_cast<int64_t>(y) != n || (std::is_unsigned_v<T> && n < 0)) return static_cast<void>(wrong_value());
      std::memcpy(to, &y, sizeof y);
      done = true;
    }
  });
  return done;
}

// ---- views

bool usable(Session& s, const Value& v) {
  if (!cast_memory_view(v)->released) return true;
  raise_value_error(s, "operation forbidden on released memoryview object");
  return false;
}

Value make_view(Type* type, const Value& owner, const MemoryView& like) {
  auto m = std::make_shared<MemoryView>(like.without_memory());
  m->held = Export(owner);
  Value v = make_opaque(type, std::move(m));
  v.as<Opaque>()->values.push_back(owner);
  return v;
}
Value make_view_like(const Value& v, const MemoryView& m) { return make_view(v.as<Opaque>()->type, owner_of(v), m); }

Value construct(Session& s, Type* type, const Args& a) {
  Value object;
  if (a.size() + a.keywords.size() > 1)
    return raise_type_error(s, "memoryview() takes at most 1 argument (%zu given)", a.size() + a.keywords.size());
  if (!takes_named(s, a, "memoryview", {"object"}, 1, 1, &object, 0)) return Value::error();
  if (MemoryView* m = cast_memory_view(object)) return usable(s, object) ? make_view_like(object, *m) : Value::error();
  const Value& owner = unwrap(object);
  if (!cast<Bytes>(owner) && !cast<ByteArray>(owner))
    return raise_type_error(s, "memoryview: a bytes-like object is required, not '%s'", type_name(s, object).c_str());
  MemoryView m;
  m.length = static_cast<int64_t>(memory_of(owner).size());
  m.readonly = cast<Bytes>(owner) != nullptr;
  return make_view(type, owner, m);
}

Value view_repr(Session&, const Value& v) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "<%smemory at 0x%012llx>", cast_memory_view(v)->released ? "released " : "",
                static_cast<unsigned long long>(v.bits()));
  return make_str(buffer);
}
int64_t view_length(Session& s, const Value& v) { return usable(s, v) ? cast_memory_view(v)->length : -1; }

bool index_of(Session& s, const MemoryView& m, const Value& key, int64_t& i) {
  if (!sequence_index(s, key, i, "memoryview: invalid slice key")) return false;
  if (i < 0) i += m.length;
  if (i >= 0 && i < m.length) return true;
  raise_text(s, ExcKind::IndexError, "index out of bounds on dimension 1");
  return false;
}
bool part_of(Session& s, const MemoryView& m, const Slice& slice, MemoryView& out) {
  int64_t start, stop, step, count = slice_indices(s, slice, m.length, start, stop, step);
  if (count < 0) return false;
  out = m.without_memory();
  out.offset = m.offset + start * m.stride;
  out.length = count;
  out.stride = m.stride * step;
  return true;
}
Value view_get_item(Session& s, const Value& v, const Value& key) {
  if (!usable(s, v)) return Value::error();
  const MemoryView& m = *cast_memory_view(v);
  if (Slice* slice = cast_exact<Slice>(key)) {
    MemoryView part;
    return part_of(s, m, *slice, part) ? make_view_like(v, part) : Value::error();
  }
  int64_t i;
  return index_of(s, m, key, i) && usable(s, v) ? item_at(s, v, m, i) : Value::error();
}

bool set_part(Session& s, const Value& v, const MemoryView& part, const Value& value) {
  std::string_view from;
  MemoryView* source = cast_memory_view(value);
  if (Bytes* b = cast<Bytes>(value))
    from = b->view();
  else if (ByteArray* a = cast<ByteArray>(value))
    from = a->data;
  else if (!source || !memory_view_bytes(value, from))
    return !raise_type_error(s, "a bytes-like object is required, not '%s'", type_name(s, value).c_str()).is_error();
  if ((source ? source->format : 'B') != part.format ||
      static_cast<int64_t>(from.size()) != part.length * part.itemsize)
    return !raise_value_error(s, "memoryview assignment: lvalue and rvalue have different structures").is_error();
  std::string fresh(from);  // the two may overlap
  for (int64_t i = 0; i < part.length; ++i)
    if (const char* to = place(v, part, i))
      std::memcpy(const_cast<char*>(to), fresh.data() + i * part.itemsize, static_cast<size_t>(part.itemsize));
  return true;
}
bool view_set_item(Session& s, const Value& v, const Value& key, const Value& value) {
  if (!usable(s, v)) return false;
  const MemoryView& m = *cast_memory_view(v);
  if (m.readonly) return !raise_type_error(s, "cannot modify read-only memory").is_error();
  if (Slice* slice = cast_exact<Slice>(key)) {
    MemoryView part;
    return part_of(s, m, *slice, part) && set_part(s, v, part, value);
  }
  int64_t i;
  char item[8];
  if (!index_of(s, m, key, i) || !pack(s, m.format, value, item)) return false;
  if (!usable(s, v)) return false;
  const char* to = place(v, m, i);
  if (!to) return !raise_text(s, ExcKind::IndexError, "index out of bounds on dimension 1").is_error();
  std::memcpy(const_cast<char*>(to), item, static_cast<size_t>(m.itemsize));
  return true;
}
bool view_del_item(Session& s, const Value& v, const Value&) {
  if (!usable(s, v)) return false;
  raise_type_error(s, cast_memory_view(v)->readonly ? "cannot modify read-only memory" : "cannot delete memory");
  return false;
}

Value view_compare(Session& s, CmpOp op, const Value& a, const Value& b) {
  if (op != CmpOp::eq && op != CmpOp::ne) return Value::not_implemented();
  const MemoryView &m = *cast_memory_view(a), *n = cast_memory_view(b);
  if (m.released || (n && n->released)) return Value::boolean(a.same(b) == (op == CmpOp::eq));
  std::string_view x, y;
  bool same = true;
  if (n && n->format != m.format) {
    same = m.length == n->length;
    for (int64_t i = 0; same && i < m.length; ++i) {
      OURO_TRY(p, item_at(s, a, m, i));
      OURO_TRY(q, item_at(s, b, *n, i));
      int e = item_equals(s, p, q);
      if (e < 0) return Value::error();
      same = e;
    }
    return Value::boolean(same == (op == CmpOp::eq));
  }
  if (Bytes* other = cast<Bytes>(b))
    y = other->view();
  else if (ByteArray* other = cast<ByteArray>(b))
    y = other->data;
  else if (!memory_view_bytes(b, y))
    return Value::not_implemented();
  memory_view_bytes(a, x);
  return Value::boolean((x == y) == (op == CmpOp::eq));
}
bool view_hash(Session& s, const Value& v, int64_t& out) {
  if (!usable(s, v)) return false;
  const MemoryView& m = *cast_memory_view(v);
  if (!m.readonly) return !raise_value_error(s, "cannot hash writable memoryview object").is_error();
  if (m.format != 'B' && m.format != 'b' && m.format != 'c')
    return !raise_value_error(s, "memoryview: hashing is restricted to formats 'B', 'b' or 'c'").is_error();
  std::string_view t;
  memory_view_bytes(v, t);
  return hash(s, make_bytes(t), out);
}

Value next_item(Session& s, Iterator& it) {
  if (it.source.is_unbound()) return Value::end();
  const MemoryView& m = *cast_memory_view(it.source);
  if (it.index < m.length) return usable(s, it.source) ? item_at(s, it.source, m, it.index++) : Value::error();
  it.source = Value();
  return Value::end();
}
const IterDef kIterator{"memory_iterator", next_item};
Value view_iter(Session& s, const Value& v) { return usable(s, v) ? make_iterator(kIterator, v) : Value::error(); }

// ---- methods

Value m_tobytes(Session& s, const Args& a) {
  if (!usable(s, a[0])) return Value::error();
  std::string_view t;
  memory_view_bytes(a[0], t);
  return make_bytes(t);
}
Value m_tolist(Session& s, const Args& a) {
  if (!usable(s, a[0])) return Value::error();
  const MemoryView& m = *cast_memory_view(a[0]);
  Value out = make_list();
  for (int64_t i = 0; i < m.length; ++i) {
    OURO_TRY(x, item_at(s, a[0], m, i));
    out.as<List>()->push(std::move(x));
  }
  return out;
}
Value m_hex(Session& s, const Args& a) {
  OURO_TRY(bytes, m_tobytes(s, a));
  Args rest = a;
  rest.positional = a.positional.subspan(1);
  return call_method(s, bytes, intern("hex"), rest);
}
Value m_cast(Session& s, const Args& a) {
  if (!usable(s, a[0])) return Value::error();
  MemoryView m = cast_memory_view(a[0])->without_memory();
  Str* name = cast<Str>(a[1]);
  if (!name) return raise_type_error(s, "memoryview: format argument must be a string");
  std::string_view format = name->view();
  if (format.starts_with('@')) format.remove_prefix(1);
  int64_t size = 0;
  if (format.size() != 1 || !with_format(format[0], [&](auto x) { size = sizeof x; }))
    return raise_value_error(s,
                             "memoryview: destination format must be a native single character format prefixed with an "
                             "optional '@'");
  if (!a[2].is_unbound())
    return raise_error(s, ExcKind::NotImplementedError, "memoryview: views have one dimension in Ouro");
  if (m.stride != m.itemsize) return raise_type_error(s, "memoryview: casts are restricted to C-contiguous views");
  if (m.itemsize != 1 && size != 1) return raise_type_error(s, "memoryview: cannot cast between two non-byte formats");
  if (m.length * m.itemsize % size) return raise_type_error(s, "memoryview: length is not a multiple of itemsize");
  m.length = m.length * m.itemsize / size;
  m.stride = m.itemsize = size;
  m.format = format[0];
  return make_view_like(a[0], m);
}
Value m_toreadonly(Session& s, const Args& a) {
  if (!usable(s, a[0])) return Value::error();
  MemoryView m = cast_memory_view(a[0])->without_memory();
  m.readonly = true;
  return make_view_like(a[0], m);
}
Value m_release(Session&, const Args& a) {
  cast_memory_view(a[0])->released = true;
  cast_memory_view(a[0])->held = {};
  return Value::none();
}
Value m_enter(Session& s, const Args& a) { return usable(s, a[0]) ? a[0] : Value::error(); }

constexpr NativeDef kMethods[] = {
    {"tobytes", "order=None", m_tobytes, "Return the data in the buffer as a byte string."},
    {"tolist", "", m_tolist, "Return the data in the buffer as a list of elements."},
    {"hex", "", m_hex, "Return the data in the buffer as a str of hexadecimal numbers.", true},
    {"cast", "format, shape=None", m_cast, "Cast a memoryview to a new format."},
    {"toreadonly", "", m_toreadonly, "Return a readonly version of the memoryview."},
    {"release", "", m_release, "Release the underlying buffer exposed by the memoryview object."},
    {"__enter__", "", m_enter, ""},
    {"__exit__", "*args", m_release, ""}};

using View = const MemoryView&;
template <Value (*of)(View)>
Value field(Session& s, const Value& v) {
  return usable(s, v) ? of(*cast_memory_view(v)) : Value::error();
}
constexpr auto kContiguous = field<[](View m) { return Value::boolean(m.stride == m.itemsize || m.length < 2); }>;
constexpr GetSetDef kGetSet[] = {
    {"obj", [](Session& s, const Value& v) { return usable(s, v) ? owner_of(v) : Value::error(); }},
    {"nbytes", field<[](View m) { return Value::integer(m.length * m.itemsize); }>},
    {"itemsize", field<[](View m) { return Value::integer(m.itemsize); }>},
    {"format", field<[](View m) { return make_str(std::string_view(&m.format, 1)); }>},
    {"readonly", field<[](View m) { return Value::boolean(m.readonly); }>},
    {"ndim", field<[](View) { return Value::integer(1); }>},
    {"shape", field<[](View m) { return make_tuple({Value::integer(m.length)}); }>},
    {"strides", field<[](View m) { return make_tuple({Value::integer(m.stride)}); }>},
    {"suboffsets", field<[](View) { return make_tuple(); }>},
    {"contiguous", kContiguous},
    {"c_contiguous", kContiguous},
    {"f_contiguous", kContiguous}};

constexpr TypeSlots kSlots{.compare = view_compare,
                           .hash = view_hash,
                           .repr = view_repr,
                           .iter = view_iter,
                           .length = view_length,
                           .get_item = view_get_item,
                           .set_item = view_set_item,
                           .del_item = view_del_item,
                           .construct = construct};
const TypeDef kDef{.name = "memoryview",
                   .kind = ObjectKind::opaque,
                   .slots = &kSlots,
                   .methods = kMethods,
                   .getset = kGetSet,
                   .subclassable = false,
                   .doc = "Create a new memoryview object which references the given object."};

}  // namespace

MemoryView* cast_memory_view(const Value& v) {
  Opaque* o = cast_exact<Opaque>(v);
  return o && o->type->def == &kDef ? static_cast<MemoryView*>(o->data.get()) : nullptr;
}

bool memory_view_bytes(const Value& v, std::string_view& out) {
  MemoryView* m = cast_memory_view(v);
  if (!m || m->released) return false;
  if (m->stride == m->itemsize) {
    std::string_view memory = memory_of(owner_of(v));
    out = memory.substr(std::min(memory.size(), static_cast<size_t>(m->offset)),
                        static_cast<size_t>(m->length * m->itemsize));
    return true;
  }
  m->packed.clear();
  for (int64_t i = 0; i < m->length; ++i)
    if (const char* from = place(v, *m, i)) m->packed.append(from, static_cast<size_t>(m->itemsize));
  out = m->packed;
  return true;
}

void register_memory_view_type(Session& s) { define_type(s, kDef); }

}  // namespace ouro::runtime
