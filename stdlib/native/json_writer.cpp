// The writer. Its text is CPython's: separators, repr of floats, keys of other types as texts, and what it says of
// values that have no form.
#include <algorithm>
#include <array>

#include "runtime/machine/memory.h"
#include "runtime/object/ops.h"
#include "runtime/text/utf8.h"
#include "runtime/types/float_text.h"
#include "runtime/types/numbers.h"
#include "stdlib/native/json_text.h"

namespace ouro::stdlib::json {
namespace {

using namespace runtime;

constexpr char kHex[] = "0123456789abcdef";

void append_unit(CountedText& out, uint32_t unit) {
  const char escape[] = {'\\', 'u', kHex[unit >> 12 & 15], kHex[unit >> 8 & 15], kHex[unit >> 4 & 15], kHex[unit & 15]};
  out.append(escape, sizeof escape);
}

// Characters that stand for themselves.
constexpr auto kPlain = [] {
  std::array<bool, 256> plain{};
  for (int c = ' '; c < 256; ++c) plain[static_cast<size_t>(c)] = c != '"' && c != '\\';
  return plain;
}();

void append_quoted(CountedText& out, std::string_view text, bool ascii) {
  const char *p = text.data(), *const end = p + text.size();
  auto stands = [ascii](char c) {
    return kPlain[static_cast<unsigned char>(c)] && !(ascii && (c & 0x80 || c == 0x7f));
  };
  out += '"';
  for (uint32_t polls = 0; p != end;) {
    const char* run = p;
    const char* piece = p + std::min<ptrdiff_t>(end - p, ptrdiff_t{text::kPiece});
    while (p != piece && stands(*p)) ++p;
    out.append(run, p);
    if (p == piece) {
      if (p != end) poll_interrupt();
      continue;
    }
    if ((++polls & 0xffff) == 0) poll_interrupt();
    const uint32_t c = text::decode(p);
    static constexpr std::string_view kLetters = "\"\\\n\r\t\b\f", kNamed = "\"\\nrtbf";
    if (size_t at; c < 0x80 && (at = kLetters.find(static_cast<char>(c))) != kLetters.npos) {
      out += '\\';
      out += kNamed[at];
    } else if (c < 0x10000) {
      append_unit(out, c);
    } else {
      append_unit(out, 0xd800 + ((c - 0x10000) >> 10));
      append_unit(out, 0xdc00 + ((c - 0x10000) & 0x3ff));
    }
  }
  out += '"';
}

class Writer {
 public:
  Writer(Session& s, const Style& style) : s_(s), style_(style), one_line_(style.indent.is_none()) {}

  bool write(const Value& v);
  CountedText out;
  // Gives what is written to the sink.
  bool drain() {
    if (out.empty()) return true;
    Value piece = make_str(out);
    out.clear();
    return !call(s_, style_.sink, {piece}).is_error();
  }

 private:
  static constexpr size_t kDrain = 1 << 16;

  bool write_float(double d);
  bool write_sequence(const Value& v);
  bool write_dict(const Value& v);
  bool write_member(const Value& key, const Value& value, bool& first);
  bool write_fallback(const Value& v);
  void separate() {
    out += style_.item;
    if (!one_line_) new_line();
  }
  void new_line() {
    out += '\n';
    for (size_t i = 0; i < level_; ++i) out += cast<Str>(style_.indent)->view();
  }
  bool full() { return !style_.sink.is_none() && out.size() >= kDrain; }

  // An object that is being written: it may not come again inside of itself.
  class Inside {
   public:
    Inside(Writer& w, const Value& v) : w_(w), guard_(w.s_, " while encoding a JSON object"), ok_(guard_.ok()) {
      if (!ok_ || !w.style_.check_circular || !v.is_object()) return;
      if (std::find(w.open_.begin(), w.open_.end(), v.object()) != w.open_.end()) {
        raise_value_error(w.s_, "Circular reference detected");
        ok_ = false;
        return;
      }
      w.open_.push_back(v.object());
      pushed_ = true;
    }
    ~Inside() {
      if (pushed_) w_.open_.pop_back();
    }
    bool ok() const { return ok_; }

   private:
    Writer& w_;
    DepthGuard guard_;
    bool ok_, pushed_ = false;
  };

  Session& s_;
  const Style& style_;
  const bool one_line_;
  size_t level_ = 0;
  CountedVector<const Object*> open_;
};

bool Writer::write(const Value& v) {
  if (full() && !drain()) return false;
  const Value& u = unwrap(v);
  switch (kind_of(u)) {
    case ObjectKind::none:
      out += "null";
      return true;
    case ObjectKind::boolean:
      out += u.as_bool() ? "true" : "false";
      return true;
    case ObjectKind::str:
      append_quoted(out, u.as<Str>()->view(), style_.ascii);
      return true;
    case ObjectKind::integer: {
      const int64_t i = u.as_int();
      out += std::to_string(i);
      return true;
    }
    case ObjectKind::big_int: {
      Value digits = int_str(s_, u);
      if (digits.is_error()) return false;
      out += digits.as<Str>()->view();
      return true;
    }
    case ObjectKind::floating:
      return write_float(u.as_float());
    case ObjectKind::list:
    case ObjectKind::tuple:
      return write_sequence(v);
    case ObjectKind::dict:
      return write_dict(v);
    default:
      return write_fallback(v);
  }
}

bool Writer::write_float(double d) {
  const bool finite = d - d == 0;
  if (finite) {
    out += text::float_repr(d);
    return true;
  }
  std::string_view name = d != d ? "NaN" : d > 0 ? "Infinity" : "-Infinity";
  if (style_.allow_nan) {
    out += name;
    return true;
  }
  const std::string what = one_line_ && style_.sink.is_none() ? "" : ": " + text::float_repr(d);
  raise_text(s_, ExcKind::ValueError, "Out of range float values are not JSON compliant" + what);
  return false;
}

bool Writer::write_sequence(const Value& v) {
  Value u = v;
  if (!cast_exact<List>(v) && !cast_exact<Tuple>(v) && (u = list_of(s_, v)).is_error()) return false;  // as it iterates
  List* list = cast<List>(u);
  Tuple* tuple = cast<Tuple>(u);
  auto size = [&] { return list ? list->size : tuple->size; };  // a list may change meanwhile
  if (size() == 0) {
    out += "[]";
    return true;
  }
  Inside inside(*this, v);
  if (!inside.ok()) return false;
  size_t before = out.size();
  out += '[';
  ++level_;
  if (!one_line_) new_line();
  for (size_t i = 0; i < size(); ++i) {
    poll_interrupt(s_);
    if (i) {
      before = out.size();
      separate();
    }
    const Value item = list ? (*list)[i] : (*tuple)[i];
    if (write(item)) continue;
    // A number that has no text is told before what stands between it and the last item goes to the sink.
    if (unwrap(item).is_float() || is_integer(item)) out.resize(std::min(before, out.size()));
    return false;
  }
  --level_;
  if (!one_line_) new_line();
  out += ']';
  return true;
}

bool Writer::write_dict(const Value& v) {
  static const Symbol items_name = intern("items"), sort_name = intern("sort");
  Dict* dict = cast_exact<Dict>(v);
  if (cast<Dict>(v)->used == 0) {
    out += "{}";
    return true;
  }
  Inside inside(*this, v);
  if (!inside.ok()) return false;
  out += '{';
  ++level_;
  if (!one_line_) new_line();
  bool first = true;
  if (dict && !style_.sort_keys) {
    // A script that is asked for a value may change the dict. CPython writes the items that there were at first, or,
    // where its text in Python does it, finds that the size has changed.
    const bool copies = one_line_ && style_.sink.is_none();
    const uint32_t used = dict->used;
    Value copy;
    size_t pos = 0, written = 0;
    for (Value *k, *x; dict_next(dict, pos, k, x); ++written) {
      if (copies && copy.is_unbound() && x->is_object() && !cast_exact<Str>(*x)) {
        copy = dict_copy(dict);
        dict = copy.as<Dict>();
        pos = written;  // nothing is deleted there
        dict_next(dict, pos, k, x);
      }
      const Value key = *k, value = *x;
      if (!write_member(key, value, first)) return false;
      if (dict->used == used) continue;
      raise_text(s_, ExcKind::RuntimeError, "dictionary changed size during iteration");
      return false;
    }
  } else {
    Value items = call_method(s_, v, items_name);
    if (!items.is_error()) items = list_of(s_, items);
    if (items.is_error()) return false;
    if (style_.sort_keys && call_method(s_, items, sort_name).is_error()) return false;
    for (size_t i = 0; i < items.as<List>()->size; ++i) {
      const Value item = (*items.as<List>())[i];
      Tuple* pair = cast<Tuple>(item);
      if (!pair || pair->size != 2) {
        raise_value_error(s_, "items must return 2-tuples");
        return false;
      }
      if (!write_member((*pair)[0], (*pair)[1], first)) return false;
    }
  }
  --level_;
  if (!one_line_) new_line();
  out += '}';
  return true;
}

bool Writer::write_member(const Value& key, const Value& value, bool& first) {
  poll_interrupt(s_);
  Value name = key;
  if (!cast<Str>(key)) {
    const Value& u = unwrap(key);
    if (u.is_float()) {
      CountedText before = std::move(out);
      out.clear();
      const bool ok = write_float(u.as_float());
      name = make_str(out);
      out = std::move(before);
      if (!ok) return false;
    } else if (u.is_none()) {
      name = make_str("null");
    } else if (u.is_bool()) {
      name = make_str(u.as_bool() ? "true" : "false");
    } else if (is_integer(u)) {
      name = int_str(s_, u);
      if (name.is_error()) return false;
    } else if (style_.skip_keys) {
      return true;
    } else {
      raise_type_error(s_, "keys must be str, int, float, bool or None, not %s", type_name(s_, key).c_str());
      return false;
    }
  }
  if (!first) separate();
  first = false;
  append_quoted(out, cast<Str>(name)->view(), style_.ascii);
  out += style_.key;
  return write(value);
}

bool Writer::write_fallback(const Value& v) {
  Inside inside(*this, v);
  if (!inside.ok()) return false;
  const Value other = call(s_, style_.fallback, {v});
  return !other.is_error() && write(other);
}

}  // namespace

Value encode(Session& s, const Value& v, const Style& style) {
  Writer writer(s, style);
  const bool ok = writer.write(v);
  if (style.sink.is_none()) return ok ? make_str(writer.out) : Value::error();
  if (ok) return writer.drain() ? Value::none() : Value::error();
  Value problem = take_pending(s);  // what was written until then goes to the sink
  if (writer.drain()) s.pending = std::move(problem);
  return Value::error();
}

Value quoted(Session&, std::string_view text, bool ascii) {
  CountedText out;
  append_quoted(out, text, ascii);
  return make_str(out);
}

}  // namespace ouro::stdlib::json
