#include "stdlib/native/system_path.h"

#include <climits>

#include "runtime/text/foreign.h"
#include "runtime/types/big_int.h"
#include "runtime/types/numbers.h"
#include "runtime/types/text_format.h"

namespace ouro::stdlib {

using namespace runtime;

namespace {

constexpr const char* kForms[] = {"string, bytes or os.PathLike", "string, bytes, os.PathLike or integer",
                                  "string, bytes, os.PathLike or None", "string, bytes, os.PathLike, integer or None"};

bool has(PathForms forms, PathForms one) { return static_cast<unsigned>(forms) & static_cast<unsigned>(one); }

// v.__fspath__(), checked; unbound: it has none.
Value asked_text(Session& s, const Value& v) {
  Value text = call_dunder(s, v, Dunder::fspath_);
  if (text.is_error() || text.is_unbound() || cast<Str>(text) || cast<Bytes>(text)) return text;
  return raise_type_error(s, "expected %s.__fspath__() to return str or bytes, not %s", type_name(s, v).c_str(),
                          type_name(s, text).c_str());
}

}  // namespace

bool int_argument(Session& s, const Value& v, int& out) {
  const Value n = to_index_value(s, v);
  if (n.is_error()) return false;
  if (!is_word(n) || n.bits() != static_cast<int>(n.bits())) {
    raise_error(s, ExcKind::OverflowError, "Python int too large to convert to C int");
    return false;
  }
  out = static_cast<int>(n.bits());
  return true;
}

bool path_argument(Session& s, const Value& v, const char* function, SystemPath& out, PathForms forms,
                   const char* parameter) {
  if (v.is_none() || v.is_unbound()) {
    if (has(forms, PathForms::or_none)) {
      out.name = ".";
      return true;
    }
  } else if (cast<Str>(v) || cast<Bytes>(v)) {
    out.object = v;
    out.as_bytes = cast<Bytes>(v);
    return system_text(s, v, out.name);
  } else if (has(forms, PathForms::or_fd) &&
             (is_integer(v) || !find_dunder(s, type_of(s, v), Dunder::index_).is_unbound())) {
    out.object = v;
    const Value n = to_index_value(s, v);
    if (n.is_error()) return false;
    if (int_compare(n, Value::integer(INT_MAX)) > 0 || int_compare(n, Value::integer(INT_MIN)) < 0) {
      raise_error(s, ExcKind::OverflowError, "fd is %s",
                  int_sign(n) > 0 ? "greater than maximum" : "less than minimum");
      return false;
    }
    out.fd = static_cast<int>(n.bits());
    if (out.fd >= 0) return true;
    errno = EBADF;
    raise_os_error(s, errno, v);
    return false;
  } else {
    out.object = asked_text(s, v);
    if (out.object.is_error()) return false;
    if (!out.object.is_unbound()) {
      out.as_bytes = cast<Bytes>(out.object);
      return system_text(s, out.object, out.name);
    }
  }
  raise_type_error(s, "%s: %s should be %s, not %s", function, parameter, kForms[static_cast<unsigned>(forms)],
                   type_name(s, v).c_str());
  return false;
}

Value path_text(Session& s, const Value& v) {
  Value text = asked_text(s, v);
  if (!text.is_unbound()) return text;
  return raise_type_error(s, "expected str, bytes or os.PathLike object, not %s", type_name(s, v).c_str());
}

bool fs_text(Session& s, const Value& v, std::string& out) {
  if (cast<Str>(v) || cast<Bytes>(v)) return system_text(s, v, out);
  const Value text = path_text(s, v);
  return !text.is_error() && system_text(s, text, out);
}

Value system_name(const SystemPath& asked, std::string_view name) {
  return asked.as_bytes ? make_bytes(name) : make_str(text::from_system(name));
}

Value raise_for(Session& s, const SystemPath& p) { return raise_os_error(s, errno, p.object); }
Value raise_for(Session& s, const SystemPath& from, const SystemPath& to) {
  raise_os_error(s, errno, from.object);
  s.pending.as<Exception>()->extra1 = to.object;  // filename2
  return Value::error();
}

}  // namespace ouro::stdlib
