// Conversions to machine numbers, and slice arithmetic.
#include "runtime/object/ops.h"
#include "runtime/types/sequence.h"

namespace ouro::runtime {

bool is_integer(const Value& v) {
  ObjectKind k = kind_of(unwrap(v));
  return k == ObjectKind::integer || k == ObjectKind::boolean || k == ObjectKind::big_int;
}

namespace {

// An int (boolean, integer or big_int value) from anything with __index__; error otherwise.
Value index_value(Session& s, const Value& v) {
  const Value& u = unwrap(v);
  if (is_integer(u)) return u;
  ObjectKind k = kind_of(v);
  if (k == ObjectKind::instance || k == ObjectKind::opaque || k == ObjectKind::tensor) {
    Value r = call_dunder(s, v, Dunder::index_);
    if (r.is_error()) return r;
    if (!r.is_unbound()) {
      if (is_integer(r)) return unwrap(r);
      return raise_type_error(s, "__index__ returned non-int (type %s)", type_name(s, r).c_str());
    }
  }
  return raise_type_error(s, "'%s' object cannot be interpreted as an integer", type_name(s, v).c_str());
}

}  // namespace

bool to_index(Session& s, const Value& v, int64_t& out, bool clamp) {
  if (v.is_int()) {
    out = v.as_int();
    return true;
  }
  Value i = index_value(s, v);
  if (i.is_error()) return false;
  if (!i.is_object()) {
    out = i.bits();
    return true;
  }
  if (clamp) {
    Value negative = compare(s, CmpOp::lt, i, Value::integer(0));
    out = negative.is_bool() && negative.as_bool() ? INT64_MIN : INT64_MAX;
    return true;
  }
  raise_error(s, ExcKind::OverflowError, "Python int too large to convert to C ssize_t");
  return false;
}

bool to_double(Session& s, const Value& v, double& out) {
  const Value& u = unwrap(v);
  if (u.is_float()) {
    out = u.as_float();
    return true;
  }
  if (u.is_int() || u.is_bool()) {
    out = static_cast<double>(u.bits());
    return true;
  }
  if (kind_of(u) == ObjectKind::big_int) {
    Value f = binary(s, BinOp::truediv, u, Value::integer(1));
    if (f.is_error()) {
      clear_pending(s);
      raise_error(s, ExcKind::OverflowError, "int too large to convert to float");
      return false;
    }
    out = f.as_float();
    return true;
  }
  Value r = call_dunder(s, v, Dunder::float_);
  if (r.is_unbound()) {
    r = call_dunder(s, v, Dunder::index_);
    if (!r.is_error() && !r.is_unbound()) return to_double(s, r, out);
  }
  if (r.is_error()) return false;
  if (unwrap(r).is_float()) {
    out = unwrap(r).as_float();
    return true;
  }
  if (r.is_unbound())
    raise_type_error(s, "must be real number, not %s", type_name(s, v).c_str());
  else
    raise_type_error(s, "%s.__float__ returned non-float (type %s)", type_name(s, v).c_str(), type_name(s, r).c_str());
  return false;
}

bool slice_bounds(Session& s, const Slice& slice, int64_t& start, int64_t& stop, int64_t& step) {
  auto part = [&](const Value& v, int64_t& out) {
    if (!is_integer(v) && find_dunder(s, type_of(s, v), Dunder::index_).is_unbound()) {
      raise_type_error(s, "slice indices must be integers or None or have an __index__ method");
      return false;
    }
    return to_index(s, v, out, true);
  };
  step = 1;
  if (!slice.step.is_none()) {
    if (!part(slice.step, step)) return false;
    if (step == 0) {
      raise_value_error(s, "slice step cannot be zero");
      return false;
    }
    if (step < -INT64_MAX) step = -INT64_MAX;
  }
  start = step < 0 ? INT64_MAX : 0;
  stop = step < 0 ? INT64_MIN : INT64_MAX;
  if (!slice.start.is_none() && !part(slice.start, start)) return false;
  return slice.stop.is_none() || part(slice.stop, stop);
}

int64_t adjust_slice(int64_t n, int64_t& start, int64_t& stop, int64_t step) {
  auto adjust = [&](int64_t& x) {
    if (x < 0) {
      x += n;
      if (x < 0) x = step < 0 ? -1 : 0;
    } else if (x >= n) {
      x = step < 0 ? n - 1 : n;
    }
  };
  adjust(start);
  adjust(stop);
  if (step < 0) return stop < start ? (start - stop - 1) / -step + 1 : 0;
  return start < stop ? (stop - start - 1) / step + 1 : 0;
}

int64_t slice_indices(Session& s, const Slice& slice, int64_t n, int64_t& start, int64_t& stop, int64_t& step) {
  return slice_bounds(s, slice, start, stop, step) ? adjust_slice(n, start, stop, step) : -1;
}

}  // namespace ouro::runtime
