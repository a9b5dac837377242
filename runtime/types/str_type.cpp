// str: text as UTF-8. Positions are code points; ASCII text (points == bytes) is indexed directly, other text through a
// table of offsets of every 64th code point, kept for the string that was indexed last.
#include <cstring>

#include "runtime/object/interrupt.h"
#include "runtime/object/ops.h"
#include "runtime/text/quote.h"
#include "runtime/text/unicode.h"
#include "runtime/text/utf8.h"
#include "runtime/types/args.h"
#include "runtime/types/argument_name.h"
#include "runtime/types/format_spec.h"
#include "runtime/types/memory_view.h"
#include "runtime/types/numbers.h"
#include "runtime/types/register.h"
#include "runtime/types/sequence.h"
#include "runtime/types/str_type.h"
#include "runtime/types/text_format.h"
#include "runtime/types/text_methods.h"

namespace ouro::runtime {

size_t str_offset(Session& s, const Value& v, int64_t index) {
  Str* t = cast<Str>(v);
  int64_t n = str_length(t);
  if (t->ascii()) return static_cast<size_t>(index);
  if (n < 128) return text::byte_offset(t->view(), static_cast<size_t>(index));
  auto& marks = s.state<TextMarks>();
  if (!marks.text.is_object() || marks.text.object() != static_cast<Object*>(t)) {
    marks.text = Value::share(t);
    marks.offsets.clear();
    size_t at = 0;
    for (int64_t i = 0; i <= n; i += 64) {
      if (i) at = text::byte_offset(t->view(), 64, at, 0);
      marks.offsets.push_back(at);
      if (i + 64 > n) break;
    }
  }
  auto block = static_cast<size_t>(index / 64);
  return text::byte_offset(t->view(), static_cast<size_t>(index % 64), marks.offsets[block], 0);
}

namespace {

Str* text_of_self(const Value& v) { return cast<Str>(v); }

Value concat(Session& s, const Value& a, const Value& b) {
  Str *x = cast<Str>(a), *y = cast<Str>(b);
  if (x->size == 0 && kind_of(b) == ObjectKind::str) return b;
  if (y->size == 0 && kind_of(a) == ObjectKind::str) return a;
  if (x->size + y->size > UINT32_MAX / 2) return raise_memory_error(s);
  Str* r = alloc_str(x->size + y->size);
  Value made = Value::steal(r);
  copy_text(r->data, x->data, x->size);
  copy_text(r->data + x->size, y->data, y->size);
  if (x->points >= 0 && y->points >= 0) r->points = x->points + y->points;
  return made;
}

Value repeat(Session& s, const Value& v, const Value& times) {
  int64_t n;
  if (!repeat_count(s, times, n)) return Value::error();
  Str* t = cast<Str>(v);
  if (n == 1 && kind_of(v) == ObjectKind::str) return v;
  if (n <= 0 || t->size == 0) return make_str("");
  if (static_cast<uint64_t>(n) > UINT32_MAX / 2 / t->size) return raise_memory_error(s);
  size_t total = t->size * static_cast<size_t>(n);
  Str* r = alloc_str(total);
  Value made = Value::steal(r);
  copy_text(r->data, t->data, t->size);
  for (size_t done = t->size; done < total;) {
    size_t k = std::min(done, total - done);
    copy_text(r->data + done, r->data, k);
    done += k;
  }
  if (t->points >= 0) r->points = t->points * n;
  return made;
}

Value str_binary(Session& s, BinOp op, const Value& a, const Value& b) {
  Str *x = cast<Str>(a), *y = cast<Str>(b);
  switch (op) {
    case BinOp::add:
      if (x && y) return concat(s, a, b);
      if (x) return raise_type_error(s, "can only concatenate str (not \"%s\") to str", type_name(s, b).c_str());
      return Value::not_implemented();
    case BinOp::mul:
      return x ? repeat(s, a, b) : repeat(s, b, a);
    case BinOp::mod: {
      if (!x) return Value::not_implemented();
      std::string out;
      return percent_format(s, x->view(), b, false, out) ? make_str(out) : Value::error();
    }
    default:
      return Value::not_implemented();
  }
}

// s += t in place when nobody else holds s: its block grows by half each time, so a loop of appends is linear.
Value str_inplace(Session& s, BinOp op, Value& a, const Value& b) {
  Str *x = cast_exact<Str>(a), *y = cast_exact<Str>(b);
  if (op != BinOp::add || !x || !y || x->refs != 1 || x == y || x->size < 16) return Value::not_implemented();
  if (y->size == 0) return std::move(a);
  size_t total = x->size + y->size;
  if (total > UINT32_MAX / 2) return raise_memory_error(s);
  if (total > x->capacity) {
    Str* r = alloc_str(total, std::max<size_t>(total + total / 2, 64));
    std::memcpy(r->data, x->data, x->size);
    std::memcpy(r->data + x->size, y->data, y->size);
    if (x->points >= 0 && y->points >= 0) r->points = x->points + y->points;
    return Value::steal(r);
  }
  std::memcpy(x->data + x->size, y->data, y->size);
  x->points = x->points >= 0 && y->points >= 0 ? x->points + y->points : -1;
  x->size = total;
  x->data[total] = 0;
  x->hash = 0;
  x->symbol = 0;
  return std::move(a);
}

// Order of code points is order of bytes in UTF-8.
Value str_compare(Session&, CmpOp op, const Value& a, const Value& b) {
  Str *x = cast<Str>(a), *y = cast<Str>(b);
  if (!y) return Value::not_implemented();
  if (op == CmpOp::eq || op == CmpOp::ne) {
    bool same = x == y || (x->size == y->size && std::memcmp(x->data, y->data, x->size) == 0);
    return Value::boolean(same == (op == CmpOp::eq));
  }
  int c = x->view().compare(y->view());
  return Value::boolean(op == CmpOp::lt ? c < 0 : op == CmpOp::le ? c <= 0 : op == CmpOp::gt ? c > 0 : c >= 0);
}

}  // namespace

Value str_slice(Session& s, const Value& v, const SliceRange& range) {
  Str* t = text_of_self(v);
  const auto [start, step, count] = range;
  if (count == str_length(t) && step == 1 && kind_of(v) == ObjectKind::str) return v;
  if (count == 0) return make_str("");
  if (t->ascii() && count == 1) return make_char(static_cast<unsigned char>(t->data[start]));
  if (step == 1) {
    size_t from = str_offset(s, v, start), to = t->ascii()
                                                    ? from + static_cast<size_t>(count)
                                                    : text::byte_offset(t->view(), static_cast<size_t>(count), from, 0);
    Value r = make_str(t->view().substr(from, to - from));
    if (t->ascii() && kind_of(r) == ObjectKind::str) r.as<Str>()->points = count;
    return r;
  }
  uint32_t polled = 0;
  if (t->ascii()) {
    Str* out = alloc_str(static_cast<size_t>(count));
    Value r = Value::steal(out);
    out->points = count;
    for (int64_t k = 0; k < count; ++k) {
      poll_interrupt(s, polled);
      out->data[k] = t->data[start + k * step];
    }
    return r;
  }
  std::string out;
  std::vector<uint32_t> points;
  points.reserve(static_cast<size_t>(str_length(t)));
  for (uint32_t c : text::Points(t->view())) points.push_back(c);
  for (int64_t k = 0; k < count; ++k) {
    poll_interrupt(s, polled);
    text::append(out, points[static_cast<size_t>(start + k * step)]);
  }
  return make_str(out);
}

namespace {

Value str_get_item(Session& s, const Value& v, const Value& key) {
  Str* t = text_of_self(v);
  int64_t n = str_length(t);
  if (Slice* sl = cast_exact<Slice>(key)) {
    SliceRange range;
    auto length = [n] { return n; };
    return slice_range(s, *sl, length, range) ? str_slice(s, v, range) : Value::error();
  }
  int64_t i;
  if (key.is_int())
    i = key.as_int();
  else if (!sequence_index(s, key, i, "string indices must be integers, not '%s'"))
    return Value::error();
  if (i < 0) i += n;
  if (i < 0 || i >= n) return raise_text(s, ExcKind::IndexError, "string index out of range");
  if (t->ascii()) return make_char(static_cast<unsigned char>(t->data[i]));
  const char* p = t->data + str_offset(s, v, i);
  return make_char(text::decode(p));
}

int str_contains(Session& s, const Value& v, const Value& item) {
  Str* n = cast<Str>(item);
  if (!n) {
    raise_type_error(s, "'in <string>' requires string as left operand, not %s", type_name(s, item).c_str());
    return -1;
  }
  Str* h = cast<Str>(v);
  return find_bytes(h->view(), n->view()) != kNone;
}

Value str_next(Session& s, Iterator& it) {
  if (it.source.is_unbound()) return Value::end();
  Str* t = cast<Str>(it.source);
  if (static_cast<size_t>(it.index) >= t->size) {
    it.source = Value();
    return Value::end();
  }
  const char* p = t->data + it.index;
  if (auto byte = static_cast<unsigned char>(*p); byte < 0x80 && !s.ascii_chars[byte].is_unbound()) {
    ++it.index;
    return s.ascii_chars[byte];
  }
  uint32_t c = text::decode(p);
  it.index = p - t->data;
  return make_char(c);
}
const IterDef kStrIterator{"str_iterator", str_next, [](Session&, Iterator& it) {
                             if (it.source.is_unbound()) return Value::integer(0);
                             return Value::integer(static_cast<int64_t>(text::count_points(
                                 cast<Str>(it.source)->view().substr(static_cast<size_t>(it.index)))));
                           }};

}  // namespace

const IterDef kAsciiIterator{"str_ascii_iterator", str_next, kStrIterator.length_hint};

namespace {

Value str_iter(Session&, const Value& v) {
  Str* t = cast<Str>(v);
  str_length(t);
  return make_iterator(t->ascii() ? kAsciiIterator : kStrIterator, kind_of(v) == ObjectKind::str ? v : Value::share(t));
}

int64_t str_length_slot(Session&, const Value& v) { return str_length(cast<Str>(v)); }
int str_truth(Session&, const Value& v) { return cast<Str>(v)->size != 0; }
bool str_hash_slot(Session&, const Value& v, int64_t& h) {
  h = str_hash(cast<Str>(v));
  return true;
}
Value str_repr(Session&, const Value& v) { return make_str(text::quote(cast<Str>(v)->view())); }
Value str_str(Session&, const Value& v) { return kind_of(v) == ObjectKind::str ? v : Value::share(cast<Str>(v)); }

Value str_format_slot(Session& s, const Value& v, std::string_view spec_text) {
  if (spec_text.empty()) return str_str(s, unwrap(v));
  text::FormatSpec spec;
  text::TextError error;
  std::string out;
  if (!text::parse_spec(spec_text, type_name(s, v), 's', '<', spec, error) ||
      !text::format_str(out, cast<Str>(v)->view(), spec, error))
    return raise_text(s, ExcKind::ValueError, error.text);
  return make_str(out);
}

Value str_construct(Session& s, Type*, const Args& a) {
  if (a.size() == 1 && a.keywords.empty()) return str(s, a[0]);
  Value v[3];
  if (!takes_named(s, a, "str", {"object", "encoding", "errors"}, 0, 3, v, 0)) return Value::error();
  if (v[1].is_unbound() && v[2].is_unbound()) return v[0].is_unbound() ? make_str("") : str(s, v[0]);
  std::string_view part[2] = {"utf-8", "strict"};
  for (int i = 0; i < 2; ++i) {
    if (v[i + 1].is_unbound()) continue;
    Str* t = cast<Str>(v[i + 1]);
    if (!t)
      return raise_type_error(s, "str() argument '%s' must be str, not %s", i ? "errors" : "encoding",
                              argument_name(s, v[i + 1]).c_str());
    part[i] = t->view();
  }
  if (v[0].is_unbound()) return make_str("");
  if (Bytes* b = cast<Bytes>(v[0])) return decode_bytes(s, v[0], b->view(), part[0], part[1]);
  if (ByteArray* b = cast<ByteArray>(v[0])) return decode_bytes(s, make_bytes(b->data), b->data, part[0], part[1]);
  std::string_view items;
  if (memory_view_bytes(v[0], items)) return decode_bytes(s, make_bytes(items), items, part[0], part[1]);
  if (cast<Str>(v[0])) return raise_type_error(s, "decoding str is not supported");
  return raise_type_error(s, "decoding to str: need a bytes-like object, %s found", type_name(s, v[0]).c_str());
}

constexpr TypeSlots kSlots{
    .binary = str_binary,
    .binary_ops = bit(BinOp::add) | bit(BinOp::mul) | bit(BinOp::mod),
    .no_reflected = true,
    .inplace = str_inplace,
    .compare = str_compare,
    .ordered = true,
    .truth = str_truth,
    .hash = str_hash_slot,
    .repr = str_repr,
    .str = str_str,
    .format = str_format_slot,
    .iter = str_iter,
    .length = str_length_slot,
    .get_item = str_get_item,
    .contains = str_contains,
    .construct = str_construct,
};

}  // namespace

void register_str_type(Session& s) {
  static const TypeDef def{.name = "str",
                           .kind = ObjectKind::str,
                           .slots = &kSlots,
                           .methods = str_methods(),
                           .static_methods = str_static_methods(),
                           .doc = "str(object='') -> str\nstr(bytes_or_buffer[, encoding[, errors]]) -> str"};
  define_type(s, def);
}

}  // namespace ouro::runtime
