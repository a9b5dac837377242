// repr, str, format, ascii, hash, and the guards of recursion.
#include <cstdio>

#include "runtime/object/interrupt.h"
#include "runtime/object/ops.h"
#include "runtime/protocol/in_ouro.h"
#include "runtime/protocol/scripted.h"

namespace ouro::runtime {

namespace {

bool by_text_of(const Value& v) {
  return kProtocolByText && (kind_of(v) == ObjectKind::instance || kind_of(v) == ObjectKind::exception);
}

Value need_str(Session& s, Value r, const char* method) {
  if (r.is_error() || cast<Str>(r)) return r;
  return raise_type_error(s, "%s returned non-string (type %s)", method, type_name(s, r).c_str());
}

Value default_repr(Session& s, const Value& v) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, " object at 0x%012llx>", static_cast<unsigned long long>(v.bits()));
  return make_str("<" + type_name(s, v) + buffer);
}

}  // namespace

void DepthGuard::fail(const char* where) {
  ok_ = false;
  raise_error(s_, ExcKind::RecursionError, "maximum recursion depth exceeded%s", where);
}
bool no_stack_left(Session& s) {
  raise_text(s, ExcKind::RecursionError, "maximum recursion depth exceeded");
  return false;
}

ReprGuard::ReprGuard(Session& s, const Value& v) : s_(s), entered_(true) {
  const void* o = v.object();
  for (const void* p : s.repr_stack)
    if (p == o) entered_ = false;
  if (entered_) s.repr_stack.push_back(o);
}
ReprGuard::~ReprGuard() {
  if (entered_) s_.repr_stack.pop_back();
}

Value repr(Session& s, const Value& v) {
  if (!v.is_object()) {
    auto f = slots_of(s, v).repr;
    return f ? f(s, v) : default_repr(s, v);
  }
  DepthGuard depth(s, " while getting the repr of an object");
  if (!depth.ok()) return Value::error();
  const Value hold = v;  // where it stands, a script may put something else
  if (by_text_of(v)) return by_text(s, "repr_of", {v});
  if (scripted(v)) {
    Value r = call_dunder(s, v, Dunder::repr_);
    if (!r.is_unbound()) return need_str(s, std::move(r), "__repr__");
  }
  auto f = slots_of(s, v).repr;
  return f ? f(s, v) : default_repr(s, v);
}

Value str(Session& s, const Value& v) {
  if (cast_exact<Str>(v)) return v;
  const Value hold = v;
  if (scripted(v)) {
    DepthGuard depth(s, " while getting the str of an object");
    if (!depth.ok()) return Value::error();
    if (by_text_of(v)) return by_text(s, "str_of", {v});
    Value r = call_dunder(s, v, Dunder::str_);
    if (!r.is_unbound()) return need_str(s, std::move(r), "__str__");
    return repr(s, v);
  }
  auto f = slots_of(s, v).str;
  if (!f) return repr(s, v);
  DepthGuard depth(s, " while getting the str of an object");
  return depth.ok() ? f(s, v) : Value::error();
}

Value ascii(Session& s, const Value& v) {
  OURO_TRY(r, repr(s, v));
  Str* text = cast<Str>(r);
  str_length(text);
  if (text->ascii()) return r;
  std::string out;
  char buffer[16];
  for (size_t i = 0; i < text->size;) {
    uint32_t c = next_code_point(text->view(), i);
    if (c < 0x80)
      out += static_cast<char>(c);
    else {
      std::snprintf(buffer, sizeof buffer, c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x", c);
      out += buffer;
    }
  }
  return make_str(out);
}

Value format(Session& s, const Value& v, std::string_view spec) {
  const Value hold = v;
  if (by_text_of(v)) return by_text(s, "formatted", {v, make_str(spec)});
  if (scripted(v)) {
    Value r = call_dunder(s, v, Dunder::format_, {make_str(spec)});
    if (r.is_error()) return r;
    if (!r.is_unbound()) {
      if (cast<Str>(r)) return r;
      return raise_type_error(s, "__format__ must return a str, not %s", type_name(s, r).c_str());
    }
  }
  if (auto f = slots_of(s, v).format) return stack_left(s) ? f(s, v, spec) : Value::error();
  if (!spec.empty())
    return raise_type_error(s, "unsupported format string passed to %s.__format__", type_name(s, v).c_str());
  return str(s, v);
}

std::string text_of(Session& s, const Value& v) {
  Value t = str(s, v);
  Str* text = t.is_error() ? nullptr : cast<Str>(t);
  return text ? std::string(text->view()) : std::string();
}
std::string repr_text(Session& s, const Value& v) {
  Value t = repr(s, v);
  Str* text = t.is_error() ? nullptr : cast<Str>(t);
  return text ? std::string(text->view()) : std::string();
}

bool hash(Session& s, const Value& v, int64_t& out) {
  if (Str* text = cast_exact<Str>(v)) {
    out = str_hash(text);
    return true;
  }
  if (v.is_int()) {
    out = hash_int(v.as_int());
    return true;
  }
  poll_interrupt(s);
  DepthGuard depth(s, "");
  if (!depth.ok()) return false;
  if (scripted(v)) {
    const Value& m = find_dunder(s, type_of(s, v), Dunder::hash_);
    if (!m.is_unbound() && !m.is_none()) {
      Value r = call_dunder(s, v, Dunder::hash_);
      if (r.is_error()) return false;
      if (r.is_int()) {
        out = r.as_int() == -1 ? -2 : r.as_int();
        return true;
      }
      if (is_integer(r)) return hash(s, r.is_bool() ? Value::integer(r.as_bool()) : unwrap(r), out);
      raise_type_error(s, "__hash__ method should return an integer");
      return false;
    }
    if (m.is_none()) {
      raise_type_error(s, "unhashable type: '%s'", type_name(s, v).c_str());
      return false;
    }
  }
  const TypeSlots& t = slots_of(s, v);
  if (t.hash) return t.hash(s, v, out);
  if (t.unhashable) {
    raise_type_error(s, "unhashable type: '%s'", type_name(s, v).c_str());
    return false;
  }
  uint64_t bits = static_cast<uint64_t>(v.bits()) + static_cast<uint64_t>(v.tag()) * 0x9E3779B9u * !v.is_object();
  out = static_cast<int64_t>(bits >> 4 | bits << 60);
  if (out == -1) out = -2;
  return true;
}

}  // namespace ouro::runtime
