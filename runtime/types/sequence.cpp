#include "runtime/types/sequence.h"

#include "runtime/object/ops.h"

namespace ouro::runtime {

bool sequence_index(Session& s, const Value& key, int64_t& out, const char* wrong) {
  if (!is_integer(key) && find_dunder(s, type_of(s, key), Dunder::index_).is_unbound()) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
    raise_type_error(s, wrong, type_name(s, key).c_str());
#pragma GCC diagnostic pop
    return false;
  }
  if (to_index(s, key, out)) return true;
  if (pending_is(s, ExcKind::OverflowError)) {
    clear_pending(s);
    raise_error(s, ExcKind::IndexError, "cannot fit '%s' into an index-sized integer", type_name(s, key).c_str());
  }
  return false;
}

bool repeat_count(Session& s, const Value& v, int64_t& out) {
  if (!is_integer(v) && find_dunder(s, type_of(s, v), Dunder::index_).is_unbound()) {
    raise_type_error(s, "can't multiply sequence by non-int of type '%s'", type_name(s, v).c_str());
    return false;
  }
  if (to_index(s, v, out)) return true;
  if (pending_is(s, ExcKind::OverflowError)) {
    clear_pending(s);
    raise_error(s, ExcKind::OverflowError, "cannot fit '%s' into an index-sized integer", type_name(s, v).c_str());
  }
  return false;
}

}  // namespace ouro::runtime
