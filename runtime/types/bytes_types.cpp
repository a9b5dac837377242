// bytes and bytearray.
#include <cstring>

#include "runtime/object/ops.h"
#include "runtime/text/hash.h"
#include "runtime/text/quote.h"
#include "runtime/types/argument_name.h"
#include "runtime/types/big_int.h"
#include "runtime/types/bytes_of.h"
#include "runtime/types/memory_view.h"
#include "runtime/types/ordering.h"
#include "runtime/types/register.h"
#include "runtime/types/sequence.h"
#include "runtime/types/text_format.h"
#include "runtime/types/text_methods.h"

namespace ouro::runtime {
namespace {

// The bytes of a bytes-like value.
bool bytes_view(const Value& v, std::string_view& out) {
  if (Bytes* b = cast<Bytes>(v)) return out = b->view(), true;
  if (ByteArray* b = cast<ByteArray>(v)) return out = b->data, true;
  return memory_view_bytes(v, out);
}
std::string_view view_of(const Value& v) {
  std::string_view t;
  bytes_view(v, t);
  return t;
}
bool is_mutable(const Value& v) { return cast<ByteArray>(v) != nullptr; }
Value make_like(const Value& self, std::string_view t) {
  return is_mutable(self) ? make_bytearray(std::string(t)) : make_bytes(t);
}

bool byte_value(Session& s, const Value& v, char& out, const char* message = "byte must be in range(0, 256)") {
  int64_t i;
  if (!to_index(s, v, i, true)) return false;
  if (i < 0 || i > 255) {
    raise_text(s, ExcKind::ValueError, message);
    return false;
  }
  out = static_cast<char>(i);
  return true;
}

struct BytesPolicy {
  static constexpr bool kText = false;
  static constexpr const char* kName = "bytes";
  static std::string_view view(const Value& v) { return view_of(v); }
  static Value make(Session&, const Value& self, std::string_view t) { return make_like(self, t); }
  static Value part(Session&, const Value& whole, std::string_view t) { return make_like(whole, t); }
  static Value same(Session&, const Value& self) {
    const Value& u = unwrap(self);
    return is_mutable(u) ? make_bytearray(std::string(view_of(u))) : u;
  }
  static bool plain_needle(const Value& v, std::string_view& out) { return bytes_view(v, out); }
  static bool search_needle(Session& s, const Value& v, std::string_view& out, std::string& store) {
    if (bytes_view(v, out)) return true;
    if (is_integer(v) || !find_dunder(s, type_of(s, v), Dunder::index_).is_unbound()) {
      store.resize(1);
      if (!byte_value(s, v, store[0])) return false;
      out = store;
      return true;
    }
    raise_type_error(s, "argument should be integer or bytes-like object, not '%s'", type_name(s, v).c_str());
    return false;
  }
  static bool fill(Session& s, const char* name, const Value& v, std::string_view& out) {
    if (bytes_view(v, out) && out.size() == 1) return true;
    raise_type_error(s, "%s() argument 2 must be a byte string of length 1, not %s", name, type_name(s, v).c_str());
    return false;
  }
};
using M = TextMethods<BytesPolicy>;

// ---- slots shared by both

Value bytes_binary(Session& s, BinOp op, const Value& a, const Value& b) {
  std::string_view x, y;
  bool left = bytes_view(a, x), right = bytes_view(b, y);
  switch (op) {
    case BinOp::add: {
      if (!left) return Value::not_implemented();
      if (!right) return raise_type_error(s, "can't concat %s to %s", type_name(s, b).c_str(), type_name(s, a).c_str());
      std::string out;
      append_text(out, x);
      append_text(out, y);
      return make_like(a, out);
    }
    case BinOp::mul: {
      int64_t n;
      if (!repeat_count(s, left ? b : a, n)) return Value::error();
      std::string_view t = view_of(left ? a : b);  // an __index__ may have changed it
      if (n > 0 && !t.empty() && static_cast<uint64_t>(n) > (uint64_t{1} << 36) / t.size())
        return raise_memory_error(s);
      const size_t total = n > 0 ? static_cast<size_t>(n) * t.size() : 0;
      std::string out;
      append_repeated(out, total ? static_cast<size_t>(n) : 0, t);
      return make_like(left ? a : b, out);
    }
    case BinOp::mod: {
      if (!left) return Value::not_implemented();
      std::string out;
      const Value format = is_mutable(a) ? make_bytes(x) : Value();  // while scripts may change it
      return percent_format(s, format.is_unbound() ? x : view_of(format), b, true, out) ? make_like(a, out)
                                                                                        : Value::error();
    }
    default:
      return Value::not_implemented();
  }
}

Value bytes_compare(Session&, CmpOp op, const Value& a, const Value& b) {
  std::string_view y;
  bool ordering = op != CmpOp::eq && op != CmpOp::ne;
  if ((ordering && !is_mutable(a) && cast_memory_view(b)) || !bytes_view(b, y)) return Value::not_implemented();
  return Value::boolean(holds(op, view_of(a).compare(y), 0));
}

int64_t bytes_length(Session&, const Value& v) { return static_cast<int64_t>(view_of(v).size()); }

Value bytes_get_item(Session& s, const Value& v, const Value& key) {
  std::string_view t = view_of(v);
  auto n = static_cast<int64_t>(t.size());
  if (Slice* sl = cast_exact<Slice>(key)) {
    int64_t start, stop, step;
    if (!slice_bounds(s, *sl, start, stop, step)) return Value::error();
    t = view_of(v);  // an __index__ may have changed it
    const int64_t count = adjust_slice(static_cast<int64_t>(t.size()), start, stop, step);
    if (step == 1) return make_like(v, t.substr(static_cast<size_t>(start), static_cast<size_t>(count)));
    std::string out;
    for (int64_t k = 0; k < count; ++k) out += t[static_cast<size_t>(start + k * step)];
    return make_like(v, out);
  }
  int64_t i;
  const char* wrong = is_mutable(v) ? "bytearray indices must be integers or slices, not %s"
                                    : "byte indices must be integers or slices, not %s";
  if (!sequence_index(s, key, i, wrong)) return Value::error();
  t = view_of(v);
  n = static_cast<int64_t>(t.size());
  if (i < 0) i += n;
  if (i < 0 || i >= n)
    return raise_text(s, ExcKind::IndexError, is_mutable(v) ? "bytearray index out of range" : "index out of range");
  return Value::integer(static_cast<unsigned char>(t[static_cast<size_t>(i)]));
}

int bytes_contains(Session& s, const Value& v, const Value& item) {
  std::string_view n;
  if (bytes_view(item, n)) return find_bytes(view_of(v), n) != kNone;
  int64_t i = 0;
  const bool number = is_integer(item) || !find_dunder(s, type_of(s, item), Dunder::index_).is_unbound();
  if (!number || !to_index(s, item, i, true)) {  // whatever its __index__ raises
    if (number && !pending_is(s, ExcKind::Exception)) return -1;
    clear_pending(s);
    raise_type_error(s, "a bytes-like object is required, not '%s'", type_name(s, item).c_str());
    return -1;
  }
  char c;
  if (!byte_value(s, Value::integer(i), c)) return -1;
  return find_bytes(view_of(v), {&c, 1}) != kNone;
}

Value bytes_next(Session&, Iterator& it) {
  if (it.source.is_unbound()) return Value::end();
  std::string_view t = view_of(it.source);
  if (static_cast<size_t>(it.index) < t.size())
    return Value::integer(static_cast<unsigned char>(t[static_cast<size_t>(it.index++)]));
  it.source = Value();
  return Value::end();
}
Value bytes_hint(Session&, Iterator& it) {
  return Value::integer(it.source.is_unbound() ? 0 : static_cast<int64_t>(view_of(it.source).size()) - it.index);
}
const IterDef kBytesIterator{"bytes_iterator", bytes_next, bytes_hint};
const IterDef kByteArrayIterator{"bytearray_iterator", bytes_next, bytes_hint};
Value bytes_iter(Session&, const Value& v) {
  return make_iterator(is_mutable(v) ? kByteArrayIterator : kBytesIterator, v);
}

bool bytes_hash(Session&, const Value& v, int64_t& h) {
  Bytes* b = cast<Bytes>(v);
  if (b->hash == 0) b->hash = text::hash_bytes(b->data, b->size);
  h = b->hash;
  return true;
}
Value bytes_repr(Session&, const Value& v) { return make_str(text::quote_bytes(view_of(v))); }
Value bytearray_repr(Session&, const Value& v) {
  return make_str("bytearray(" + text::quote_bytes(view_of(v), true) + ")");
}

// ---- construction: bytes(n), bytes(iterable of ints), bytes(str, encoding), bytes(object with __bytes__)

// False, with BufferError, while a memoryview looks at it.
bool resizable(Session& s, const Value& v) {
  if (!cast<ByteArray>(v)->exports) return true;
  raise_text(s, ExcKind::BufferError, "Existing exports of data: object cannot be re-sized");
  return false;
}

// Adds the ints of an iterable to `out`. `refused` says that v is none; `sized`: its length is asked for; `of`: the
// bytearray whose data `out` is.
bool from_iterable(Session& s, const Value& v, std::string& out, const char* range_message, const char* refused,
                   bool sized, const Value* of = nullptr) {
  const auto refuse = [&] {
    raise_type_error(s, refused, type_name(s, v).c_str());
    return false;
  };
  Value it = iter(s, v);
  if (it.is_error()) {
    if (!pending_is(s, ExcKind::TypeError)) return false;
    clear_pending(s);
    return refuse();
  }
  if (sized && !ask_length(s, v)) return false;
  return for_each_of(s, it, [&](Value& x) {
    char c;
    if (!byte_value(s, x, c, range_message) || (of && !resizable(s, *of))) return false;
    append_text(out, {&c, 1});
    if (of) cast<ByteArray>(*of)->settle();
    return true;
  });
}

// The same for a call of bytearray, which fills `of` where it is given.
bool bytearray_items(Session& s, const Value& v, std::string& out, const Value* of = nullptr) {
  return from_iterable(s, v, of ? cast<ByteArray>(*of)->data : out, "byte must be in range(0, 256)",
                       "cannot convert '%s' object to bytearray", false, of);
}
// The same for a call of bytes.
bool bytes_items(Session& s, const Value& v, std::string& out) {
  if (!cast<Str>(v))
    return from_iterable(s, v, out, "bytes must be in range(0, 256)", "cannot convert '%s' object to bytes", true);
  raise_type_error(s, "cannot convert '%s' object to bytes", type_name(s, v).c_str());
  return false;
}

// What __bytes__ gives. on: there is none.
Go by_bytes_method(Session& s, const Value& v, std::string& out) {
  Value r = call_dunder(s, v, Dunder::bytes_);
  if (r.is_unbound()) return Go::on;
  if (r.is_error()) return Go::failed;
  std::string_view t;
  if (!bytes_view(r, t)) {
    raise_type_error(s, "__bytes__ returned non-bytes (type %s)", type_name(s, r).c_str());
    return Go::failed;
  }
  out = t;
  return Go::enough;
}

// self: the bytearray to fill. It is emptied before the source is read, whose ints go to it at once.
bool build(Session& s, const Args& a, const char* name, std::string& out, const Value* self = nullptr) {
  Value v[3];
  if (!takes_named(s, a, name, {"source", "encoding", "errors"}, 0, 3, v, 0)) return false;
  if (self) cast<ByteArray>(*self)->data.clear(), cast<ByteArray>(*self)->settle();
  auto error = [&](const Value&) { return false; };
  bool coded = !v[1].is_unbound() || !v[2].is_unbound();
  if (v[0].is_unbound()) {
    if (!coded) return true;
    return error(raise_type_error(
        s, v[1].is_unbound() ? "errors without a string argument" : "encoding without a string argument"));
  }
  for (int i = 1; i < 3; ++i)
    if (!v[i].is_unbound() && !cast<Str>(v[i]))
      return error(raise_type_error(s, "%s() argument '%s' must be str, not %s", name, i == 1 ? "encoding" : "errors",
                                    argument_name(s, v[i]).c_str()));
  if (cast<Str>(v[0])) {
    if (v[1].is_unbound()) return error(raise_type_error(s, "string argument without an encoding"));
    Str *e = cast<Str>(v[1]), *h = cast<Str>(v[2]);
    return encode_text(s, v[0], e->view(), h ? h->view() : "strict", out);
  }
  if (coded)
    return error(raise_type_error(
        s, v[1].is_unbound() ? "errors without a string argument" : "encoding without a string argument"));
  if (name[4] == 's') {  // bytes
    const Go said = by_bytes_method(s, v[0], out);
    if (said != Go::on) return said == Go::enough;
  }
  std::string_view t;
  if (bytes_view(v[0], t)) return out = t, true;
  if (is_integer(v[0]) || !find_dunder(s, type_of(s, v[0]), Dunder::index_).is_unbound()) {
    int64_t n;
    if (!to_index(s, v[0], n)) {
      if (pending_is(s, ExcKind::TypeError)) {  // it may have items
        clear_pending(s);
        return self ? bytearray_items(s, v[0], out, self) : bytes_items(s, v[0], out);
      }
      if (pending_is(s, ExcKind::OverflowError)) {
        clear_pending(s);
        raise_error(s, ExcKind::OverflowError, "cannot fit '%s' into an index-sized integer",
                    type_name(s, v[0]).c_str());
      }
      return false;
    }
    if (n < 0) return error(raise_value_error(s, "negative count"));
    if (n > int64_t{1} << 36) return error(raise_memory_error(s));
    append_fill(out, static_cast<size_t>(n), '\0');
    return true;
  }
  return self ? bytearray_items(s, v[0], out, self) : bytes_items(s, v[0], out);
}

}  // namespace

bool bytes_of_object(Session& s, const Value& v, std::string& out) {
  std::string_view t;
  if (kind_of(v) != ObjectKind::instance && bytes_view(v, t)) return out = t, true;
  const Go said = by_bytes_method(s, v, out);
  if (said != Go::on) return said == Go::enough;
  if (bytes_view(v, t)) return out = t, true;
  return bytes_items(s, v, out);
}

namespace {

Value bytes_construct(Session& s, Type* cls, const Args& a) {
  if (a.size() == 1 && a.keywords.empty() && cast_exact<Bytes>(a[0]) && cls == s.type(ObjectKind::bytes)) return a[0];
  std::string out;
  return build(s, a, "bytes", out) ? make_bytes(out) : Value::error();
}
bool bytearray_init(Session& s, const Value& self, const Args& a) {
  if (!cast<ByteArray>(self)->data.empty() && !resizable(s, self)) return false;
  ByteArray* b = cast<ByteArray>(self);
  std::string out;
  const bool done = build(s, a, "bytearray", out, &self);
  if (out.empty()) return done;
  if (b->exports) return done && resizable(s, self);
  b->data = std::move(out);
  b->settle();
  return done;
}
Value bytearray_construct(Session& s, Type*, const Args& a) {
  Value v = make_bytearray("");
  return bytearray_init(s, v, a) ? v : Value::error();
}

// ---- methods of both

Value join(Session& s, const Args& a) {
  if (!takes_one(s, a, "bytes.join")) return Value::error();
  const TypeSlots& slots = slots_of(s, a[1]);
  if (!slots.iter && !slots.next && find_dunder(s, type_of(s, a[1]), Dunder::iter_).is_unbound())
    return raise_type_error(s, "can only join an iterable");
  OURO_TRY(items, list_of_items(s, a[1]));
  std::string out;
  List* l = items.as<List>();
  for (size_t i = 0; i < l->size; ++i) {
    std::string_view t;
    if (!bytes_view((*l)[i], t))
      return raise_type_error(s, "sequence item %zu: expected a bytes-like object, %s found", i,
                              type_name(s, (*l)[i]).c_str());
    if (i) append_text(out, view_of(a[0]));
    append_text(out, t);
  }
  return make_like(a[0], out);
}

Value decode(Session& s, const Args& a) {
  Value v[2];
  if (!takes_named(s, a, "decode", {"encoding", "errors"}, 0, 2, v)) return Value::error();
  std::string_view part[2] = {"utf-8", "strict"};
  for (int i = 0; i < 2; ++i) {
    if (v[i].is_unbound()) continue;
    Str* t = cast<Str>(v[i]);
    if (!t)
      return raise_type_error(s, "decode() argument '%s' must be str, not %s", i ? "errors" : "encoding",
                              argument_name(s, v[i]).c_str());
    part[i] = t->view();
  }
  return decode_bytes(s, is_mutable(a[0]) ? make_bytes(view_of(a[0])) : unwrap(a[0]), view_of(a[0]), part[0], part[1]);
}

Value hex(Session& s, const Args& a) {
  Value v[2];
  if (!takes_named(s, a, "hex", {"sep", "bytes_per_sep"}, 0, 2, v)) return Value::error();
  std::string_view sep;
  if (!v[0].is_unbound()) {
    Str* x = cast<Str>(v[0]);
    if (x)
      sep = x->view();
    else if (!bytes_view(v[0], sep))
      return raise_type_error(s, "sep must be str or bytes.");
    if (sep.size() != 1) return raise_value_error(s, "sep must be length 1.");
  }
  const std::string between(sep);  // an __index__ may change what it is a part of
  int64_t per = 1;
  if (!v[1].is_unbound() && !to_index(s, v[1], per)) return Value::error();
  const std::string_view t = view_of(a[0]);
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  auto size = static_cast<int64_t>(t.size());
  int64_t group = per < 0 ? -per : per;
  for (int64_t i = 0; i < size; ++i) {
    if (i && group && !between.empty() && (per > 0 ? (size - i) % group == 0 : i % group == 0)) out += between;
    auto c = static_cast<unsigned char>(t[static_cast<size_t>(i)]);
    out += kDigits[c >> 4];
    out += kDigits[c & 15];
  }
  return make_str(out);
}

Value fromhex(Session& s, const Args& a) {
  if (!takes_one(s, a, "bytes.fromhex")) return Value::error();
  Str* t = cast<Str>(a[1]);
  if (!t) return raise_type_error(s, "fromhex() argument must be str, not %s", argument_name(s, a[1]).c_str());
  std::string out;
  std::string_view h = t->view();
  auto digit = [&](size_t i) {
    if (i >= h.size()) return -1;
    char c = h[i];
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
  };
  for (size_t i = 0; i < h.size();) {
    if (text::is_space(static_cast<unsigned char>(h[i]))) {
      ++i;
      continue;
    }
    int x = digit(i), y = digit(i + 1);
    if (x < 0 || y < 0)
      return raise_value_error(s, "non-hexadecimal number found in fromhex() arg at position %zu", x < 0 ? i : i + 1);
    out += static_cast<char>(x << 4 | y);
    i += 2;
  }
  Type* cls = cast<Type>(a[0]);
  if (cls == s.type(ObjectKind::bytearray)) return make_bytearray(out);
  if (!cls || cls == s.type(ObjectKind::bytes)) return make_bytes(out);
  return call(s, a[0], {make_bytes(out)});
}

Value translate(Session& s, const Args& a) {
  Value v[2];
  if (!takes_named(s, a, "translate", {"table", "delete"}, 1, 1 + 1, v)) return Value::error();
  std::string_view table, drop;
  bool mapped = !v[0].is_none();
  if (mapped && !bytes_view(v[0], table))
    return raise_type_error(s, "a bytes-like object is required, not '%s'", type_name(s, v[0]).c_str());
  if (mapped && table.size() != 256) return raise_value_error(s, "translation table must be 256 characters long");
  if (!v[1].is_unbound() && !bytes_view(v[1], drop))
    return raise_type_error(s, "a bytes-like object is required, not '%s'", type_name(s, v[1]).c_str());
  std::string out;
  for (char c : view_of(a[0]))
    if (drop.find(c) == kNone) out += mapped ? table[static_cast<unsigned char>(c)] : c;
  return make_like(a[0], out);
}
Value maketrans(Session& s, const Args& a) {
  if (!takes(s, a, "maketrans", 2, 2, 0)) return Value::error();
  std::string_view x, y;
  for (int i = 0; i < 2; ++i)
    if (!bytes_view(a[static_cast<size_t>(i)], i ? y : x))
      return raise_type_error(s, "a bytes-like object is required, not '%s'",
                              type_name(s, a[static_cast<size_t>(i)]).c_str());
  if (x.size() != y.size()) return raise_value_error(s, "maketrans arguments must have same length");
  std::string out(256, '\0');
  for (size_t i = 0; i < 256; ++i) out[i] = static_cast<char>(i);
  for (size_t i = 0; i < x.size(); ++i) out[static_cast<unsigned char>(x[i])] = y[i];
  return make_bytes(out);
}

bool up(char c) { return c >= 'A' && c <= 'Z'; }
bool low(char c) { return c >= 'a' && c <= 'z'; }
char to_up(char c) { return low(c) ? static_cast<char>(c - 32) : c; }
char to_low(char c) { return up(c) ? static_cast<char>(c + 32) : c; }

std::string title_of(std::string_view t) {
  std::string out;
  bool in_word = false;
  for (char c : t) {
    out += in_word ? to_low(c) : to_up(c);
    in_word = up(c) || low(c);
  }
  return out;
}
std::string capital_of(std::string_view t) {
  std::string out;
  for (char c : t) out += out.empty() ? to_up(c) : to_low(c);
  return out;
}
template <char (*f)(char)>
std::string mapped(std::string_view t) {
  std::string out(t);
  for (char& c : out) c = f(c);
  return out;
}
char swap_one(char c) { return up(c) ? to_low(c) : to_up(c); }
template <std::string (*f)(std::string_view)>
Value change_case(Session&, const Args& a) {
  return make_like(a[0], f(view_of(a[0])));
}

template <bool (*f)(char)>
Value all_are(Session&, const Args& a) {
  std::string_view t = view_of(a[0]);
  for (char c : t)
    if (!f(c)) return Value::boolean(false);
  return Value::boolean(!t.empty());
}
bool digit(char c) { return c >= '0' && c <= '9'; }
bool alpha(char c) { return up(c) || low(c); }
bool alnum(char c) { return digit(c) || alpha(c); }
bool space(char c) { return c == ' ' || (c >= 9 && c <= 13); }
Value is_ascii(Session&, const Args& a) { return Value::boolean(text::is_ascii(view_of(a[0]))); }
template <bool upper>
Value is_case(Session&, const Args& a) {
  bool cased = false;
  for (char c : view_of(a[0])) {
    if (upper ? low(c) : up(c)) return Value::boolean(false);
    cased |= alpha(c);
  }
  return Value::boolean(cased);
}
Value is_title(Session&, const Args& a) {
  bool cased = false, in_word = false;
  for (char c : view_of(a[0])) {
    if (up(c) ? in_word : low(c) && !in_word) return Value::boolean(false);
    in_word = alpha(c);
    cased |= in_word;
  }
  return Value::boolean(cased);
}
Value getnewargs(Session&, const Args& a) { return make_tuple({make_bytes(view_of(a[0]))}); }
Value m_bytes(Session&, const Args& a) { return make_bytes(view_of(a[0])); }
Value sizeof_bytes(Session&, const Args& a) { return Value::integer(33 + static_cast<int64_t>(view_of(a[0]).size())); }

#define OURO_BYTES_METHODS                                                                                           \
  {.name = "capitalize", .params = "self", .fn = change_case<capital_of>}, {.name = "center", .fn = M::pad<0>},      \
      {.name = "count", .fn = M::count}, {.name = "decode", .fn = decode},                                           \
      {.name = "endswith", .fn = M::affix<false>}, {.name = "expandtabs", .fn = M::expandtabs},                      \
      {.name = "find", .fn = M::search<M::Search::find>}, {.name = "hex", .fn = hex},                                \
      {.name = "index", .fn = M::search<M::Search::index>},                                                          \
      {.name = "isalnum", .params = "self", .fn = all_are<alnum>},                                                   \
      {.name = "isalpha", .params = "self", .fn = all_are<alpha>},                                                   \
      {.name = "isascii", .params = "self", .fn = is_ascii},                                                         \
      {.name = "isdigit", .params = "self", .fn = all_are<digit>},                                                   \
      {.name = "islower", .params = "self", .fn = is_case<false>},                                                   \
      {.name = "isspace", .params = "self", .fn = all_are<space>},                                                   \
      {.name = "istitle", .params = "self", .fn = is_title},                                                         \
      {.name = "isupper", .params = "self", .fn = is_case<true>}, {.name = "join", .fn = join},                      \
      {.name = "ljust", .fn = M::pad<1>}, {.name = "lower", .params = "self", .fn = change_case<mapped<to_low>>},    \
      {.name = "lstrip", .fn = M::strip<1>}, {.name = "partition", .fn = M::partition<false>},                       \
      {.name = "removeprefix", .fn = M::remove_affix<true>}, {.name = "removesuffix", .fn = M::remove_affix<false>}, \
      {.name = "replace", .fn = M::replace}, {.name = "rfind", .fn = M::search<M::Search::rfind>},                   \
      {.name = "rindex", .fn = M::search<M::Search::rindex>}, {.name = "rjust", .fn = M::pad<2>},                    \
      {.name = "rpartition", .fn = M::partition<true>}, {.name = "rsplit", .fn = M::split<true>},                    \
      {.name = "rstrip", .fn = M::strip<2>}, {.name = "split", .fn = M::split<false>},                               \
      {.name = "splitlines", .fn = M::splitlines}, {.name = "startswith", .fn = M::affix<true>},                     \
      {.name = "strip", .fn = M::strip<3>},                                                                          \
      {.name = "swapcase", .params = "self", .fn = change_case<mapped<swap_one>>},                                   \
      {.name = "title", .params = "self", .fn = change_case<title_of>}, {.name = "translate", .fn = translate},      \
      {.name = "upper", .params = "self", .fn = change_case<mapped<to_up>>}, {.name = "zfill", .fn = M::zfill}, {    \
    .name = "__sizeof__", .fn = sizeof_bytes                                                                         \
  }

constexpr NativeDef kBytesMethods[] = {
    OURO_BYTES_METHODS, {.name = "__getnewargs__", .fn = getnewargs}, {.name = "__bytes__", .fn = m_bytes}};

// ---- bytearray

// Has it an __index__, __int__ or __float__?
bool is_number(Session& s, const Value& v) {
  Type* t = type_of(s, v);
  for (Dunder d : {Dunder::index_, Dunder::int_, Dunder::float_})
    if (!find_dunder(s, t, d).is_unbound()) return true;
  return false;
}

std::string& data_of(const Args& a) { return cast<ByteArray>(a[0])->data; }

// Deletes a slice whose step is not 1. Where a view exports the bytes, even an empty slice is refused, as CPython does.
bool delete_stepped(Session& s, const Value& v, int64_t start, int64_t step, int64_t count) {
  if (!resizable(s, v)) return false;
  if (count == 0) return true;
  if (step < 0) {
    start += (count - 1) * step;
    step = -step;
  }
  std::string& d = cast<ByteArray>(v)->data;
  const auto n = static_cast<int64_t>(d.size());
  int64_t to = start;
  for (int64_t i = start; i < n; ++i) {
    const int64_t off = i - start;
    if (off % step != 0 || off / step >= count) d[static_cast<size_t>(to++)] = d[static_cast<size_t>(i)];
  }
  d.resize(static_cast<size_t>(to));
  cast<ByteArray>(v)->settle();
  return true;
}

bool bytearray_set_item(Session& s, const Value& v, const Value& key, const Value& value) {
  std::string& d = cast<ByteArray>(v)->data;
  auto n = static_cast<int64_t>(d.size());
  if (Slice* sl = cast_exact<Slice>(key)) {
    int64_t start, stop, step;
    if (!slice_bounds(s, *sl, start, stop, step)) return false;
    std::string fresh;
    std::string_view t;
    if (bytes_view(value, t))
      fresh = t;
    else if (is_number(s, value) || cast<Str>(value))
      return raise_type_error(s, "can assign only bytes, buffers, or iterables of ints in range(0, 256)"), false;
    else if (!bytearray_items(s, value, fresh))
      return false;
    // What is no bytearray becomes one, with which CPython begins anew.
    if ((!cast<ByteArray>(value) || value.same(v)) && !slice_bounds(s, *sl, start, stop, step)) return false;
    int64_t count = adjust_slice(static_cast<int64_t>(d.size()), start, stop, step);
    if (step == 1) {
      const auto gone = static_cast<size_t>(std::max(start, stop) - start);
      if (gone != fresh.size() && !resizable(s, v)) return false;
      require_memory(d.size() + fresh.size());
      d.replace(static_cast<size_t>(start), gone, fresh);
      cast<ByteArray>(v)->settle();
      return true;
    }
    if (fresh.empty()) return delete_stepped(s, v, start, step, count);
    if (static_cast<int64_t>(fresh.size()) != count) {
      raise_value_error(s, "attempt to assign bytes of size %zu to extended slice of size %lld", fresh.size(),
                        static_cast<long long>(count));
      return false;
    }
    for (int64_t k = 0; k < count; ++k) d[static_cast<size_t>(start + k * step)] = fresh[static_cast<size_t>(k)];
    return true;
  }
  int64_t i;
  char c;
  if (!sequence_index(s, key, i, "bytearray indices must be integers or slices, not %s")) return false;
  n = static_cast<int64_t>(d.size());
  if (i < 0) i += n;
  if (i < 0 || i >= n) return raise_text(s, ExcKind::IndexError, "bytearray index out of range"), false;
  if (!byte_value(s, value, c)) return false;
  if (static_cast<size_t>(i) >= d.size())
    return raise_text(s, ExcKind::IndexError, "bytearray index out of range"), false;
  d[static_cast<size_t>(i)] = c;
  return true;
}
bool bytearray_del_item(Session& s, const Value& v, const Value& key) {
  std::string& d = cast<ByteArray>(v)->data;
  auto n = static_cast<int64_t>(d.size());
  if (Slice* sl = cast_exact<Slice>(key)) {
    int64_t start, stop, step;
    if (!slice_bounds(s, *sl, start, stop, step)) return false;
    n = static_cast<int64_t>(d.size());
    int64_t count = adjust_slice(n, start, stop, step);
    if (step != 1) return delete_stepped(s, v, start, step, count);
    if (count == 0) return true;
    if (!resizable(s, v)) return false;
    d.erase(static_cast<size_t>(start), static_cast<size_t>(count));
    cast<ByteArray>(v)->settle();
    return true;
  }
  int64_t i;
  if (!sequence_index(s, key, i, "bytearray indices must be integers or slices, not %s")) return false;
  n = static_cast<int64_t>(d.size());
  if (i < 0) i += n;
  if (i < 0 || i >= n) return raise_text(s, ExcKind::IndexError, "bytearray index out of range"), false;
  if (!resizable(s, v)) return false;
  d.erase(static_cast<size_t>(i), 1);
  return true;
}
Value bytearray_inplace(Session& s, BinOp op, Value& a, const Value& b) {
  std::string& d = cast<ByteArray>(a)->data;
  if (op == BinOp::add) {
    std::string_view t;
    if (!bytes_view(b, t)) return raise_type_error(s, "can't concat %s to bytearray", type_name(s, b).c_str());
    if (!t.empty() && a.same(b))  // as CPython has it: the operand is in use while it grows
      return raise_error(s, ExcKind::BufferError, "Existing exports of data: object cannot be re-sized");
    if (!t.empty() && !resizable(s, a)) return Value::error();
    append_text(d, std::string(t));
    cast<ByteArray>(a)->settle();
    return a;
  }
  if (op != BinOp::mul) return Value::not_implemented();
  Value r = bytes_binary(s, BinOp::mul, a, b);
  if (r.is_error()) return r;
  if (cast<ByteArray>(r)->data.size() == d.size()) return a;
  if (!resizable(s, a)) return Value::error();
  d = std::move(cast<ByteArray>(r)->data);
  cast<ByteArray>(r)->settle();
  cast<ByteArray>(a)->settle();
  return a;
}

Value m_append(Session& s, const Args& a) {
  if (!takes_one(s, a, "bytearray.append")) return Value::error();
  char c;
  if (!byte_value(s, a[1], c)) return Value::error();
  if (!resizable(s, a[0])) return Value::error();
  append_text(data_of(a), {&c, 1});
  cast<ByteArray>(a[0])->settle();
  return Value::none();
}
Value m_extend(Session& s, const Args& a) {
  if (!takes_one(s, a, "bytearray.extend")) return Value::error();
  std::string_view t;
  std::string more;
  if (bytes_view(a[1], t))
    more = t;
  else if (!from_iterable(s, a[1], more, "byte must be in range(0, 256)", "can't extend bytearray with %s", true))
    return Value::error();
  if (!more.empty() && !resizable(s, a[0])) return Value::error();
  append_text(data_of(a), more);
  cast<ByteArray>(a[0])->settle();
  return Value::none();
}
Value m_insert(Session& s, const Args& a) {
  if (!takes(s, a, "insert", 2, 2)) return Value::error();
  int64_t i;
  char c;
  if (!to_index(s, a[1], i) || !byte_value(s, a[2], c)) return Value::error();
  auto n = static_cast<int64_t>(data_of(a).size());
  if (i < 0) i = std::max<int64_t>(0, i + n);
  if (!resizable(s, a[0])) return Value::error();
  data_of(a).insert(static_cast<size_t>(std::min(i, n)), 1, c);
  cast<ByteArray>(a[0])->settle();
  return Value::none();
}
Value m_pop(Session& s, const Args& a) {
  if (!takes(s, a, "pop", 0, 1)) return Value::error();
  int64_t i = -1;
  if (a.size() == 2 && !to_index(s, a[1], i)) return Value::error();
  std::string& d = data_of(a);
  auto n = static_cast<int64_t>(d.size());
  if (n == 0) return raise_text(s, ExcKind::IndexError, "pop from empty bytearray");
  if (i < 0) i += n;
  if (i < 0 || i >= n) return raise_text(s, ExcKind::IndexError, "pop index out of range");
  if (!resizable(s, a[0])) return Value::error();
  auto c = static_cast<unsigned char>(d[static_cast<size_t>(i)]);
  d.erase(static_cast<size_t>(i), 1);
  return Value::integer(c);
}
Value m_remove(Session& s, const Args& a) {
  if (!takes_one(s, a, "bytearray.remove")) return Value::error();
  char c;
  if (!byte_value(s, a[1], c)) return Value::error();
  size_t at = data_of(a).find(c);
  if (at == kNone) return raise_value_error(s, "value not found in bytearray");
  if (!resizable(s, a[0])) return Value::error();
  data_of(a).erase(at, 1);
  return Value::none();
}
Value m_clear(Session& s, const Args& a) {
  if (!data_of(a).empty() && !resizable(s, a[0])) return Value::error();
  data_of(a).clear();
  return Value::none();
}
Value m_copy(Session&, const Args& a) { return make_bytearray(data_of(a)); }
Value m_reverse(Session&, const Args& a) {
  std::reverse(data_of(a).begin(), data_of(a).end());
  return Value::none();
}

Value m_repr(Session& s, const Args& a) {
  return make_str(type_name(s, a[0]) + "(" + text::quote_bytes(data_of(a), true) + ")");
}

constexpr NativeDef kByteArrayMethods[] = {
    OURO_BYTES_METHODS,
    {.name = "__repr__", .fn = m_repr},
    {.name = "append", .fn = m_append},
    {.name = "extend", .fn = m_extend},
    {.name = "insert", .fn = m_insert},
    {.name = "pop", .fn = m_pop},
    {.name = "remove", .fn = m_remove},
    {.name = "clear", .params = "self", .fn = m_clear},
    {.name = "copy", .params = "self", .fn = m_copy},
    {.name = "reverse", .params = "self", .fn = m_reverse},
};
constexpr NativeDef kClassMethods[] = {{.name = "fromhex", .fn = fromhex}};
constexpr NativeDef kStatic[] = {
    {.name = "maketrans", .fn = maketrans, .doc = "A table for translate: of two bytes objects of one length."}};
constexpr uint32_t kOps = bit(BinOp::add) | bit(BinOp::mul) | bit(BinOp::mod);
constexpr TypeSlots kBytesSlots{.binary = bytes_binary,
                                .binary_ops = kOps,
                                .no_reflected = true,
                                .compare = bytes_compare,
                                .ordered = true,
                                .hash = bytes_hash,
                                .repr = bytes_repr,
                                .str = bytes_repr,
                                .iter = bytes_iter,
                                .length = bytes_length,
                                .get_item = bytes_get_item,
                                .contains = bytes_contains,
                                .construct = bytes_construct};
constexpr TypeSlots kByteArraySlots{.binary = bytes_binary,
                                    .binary_ops = kOps,
                                    .no_reflected = true,
                                    .inplace = bytearray_inplace,
                                    .inplace_ops = bit(BinOp::add) | bit(BinOp::mul),
                                    .compare = bytes_compare,
                                    .ordered = true,
                                    .unhashable = true,
                                    .repr = bytearray_repr,
                                    .iter = bytes_iter,
                                    .length = bytes_length,
                                    .get_item = bytes_get_item,
                                    .set_item = bytearray_set_item,
                                    .del_item = bytearray_del_item,
                                    .contains = bytes_contains,
                                    .construct = bytearray_construct,
                                    .init = bytearray_init};
const TypeDef kBytesDef{.name = "bytes",
                        .kind = ObjectKind::bytes,
                        .slots = &kBytesSlots,
                        .methods = kBytesMethods,
                        .class_methods = kClassMethods,
                        .static_methods = kStatic,
                        .doc = "bytes(iterable_of_ints) -> bytes"};
const TypeDef kByteArrayDef{.name = "bytearray",
                            .kind = ObjectKind::bytearray,
                            .slots = &kByteArraySlots,
                            .methods = kByteArrayMethods,
                            .class_methods = kClassMethods,
                            .static_methods = kStatic,
                            .doc = "bytearray(iterable_of_ints) -> bytearray"};

}  // namespace

void register_bytes_types(Session& s) {
  define_type(s, kBytesDef);
  define_type(s, kByteArrayDef);
}

}  // namespace ouro::runtime
