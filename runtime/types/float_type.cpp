// float: IEEE double with Python's division, remainder, powers and conversions.
#include <cerrno>
#include <cmath>

#include "runtime/object/ops.h"
#include "runtime/text/hash.h"
#include "runtime/text/utf8.h"
#include "runtime/types/args.h"
#include "runtime/types/big_int.h"
#include "runtime/types/float_text.h"
#include "runtime/types/memory_view.h"
#include "runtime/types/numbers.h"
#include "runtime/types/ordering.h"
#include "runtime/types/register.h"

namespace ouro::runtime {

double float_mod(double a, double b) {
  double m = std::fmod(a, b);
  if (m == 0) return std::copysign(0.0, b);
  return (b < 0) != (m < 0) ? m + b : m;
}

double float_floordiv(double a, double b) {
  double m = std::fmod(a, b), div = (a - m) / b;
  if (m != 0 && (b < 0) != (m < 0)) div -= 1;
  if (div == 0) return std::copysign(0.0, a / b);
  double f = std::floor(div);
  return div - f > 0.5 ? f + 1 : f;
}

Value float_pow(Session& s, double a, double b) {
  if (a == 0 && b < 0 && !std::isinf(b))
    return raise_text(s, ExcKind::ZeroDivisionError, "0.0 cannot be raised to a negative power");
  if (a < 0 && std::isfinite(a) && std::isfinite(b) && b != std::floor(b))
    return raise_value_error(s, "negative number cannot be raised to a fractional power");  // complex numbers are out
  double r = std::pow(a, b);
  if (std::isinf(r) && std::isfinite(a) && std::isfinite(b)) {
    Value args = make_tuple({Value::integer(ERANGE), make_str("Numerical result out of range")});
    return raise_value(s, make_exception(s, exception_type(s, ExcKind::OverflowError), args), Value());
  }
  return Value::floating(r);
}

Value round_float(Session& s, double x, const Value& ndigits) {
  if (ndigits.is_unbound() || ndigits.is_none()) {
    if (std::isnan(x)) return raise_value_error(s, "cannot convert float NaN to integer");
    if (std::isinf(x)) return raise_text(s, ExcKind::OverflowError, "cannot convert float infinity to integer");
    return int_from_double(s, std::nearbyint(x));
  }
  int64_t n;
  if (!to_index(s, ndigits, n, true)) return Value::error();
  double r = text::round_to_digits(x, n);
  if (std::isinf(r) && !std::isinf(x))
    return raise_text(s, ExcKind::OverflowError, "rounded value too large to represent");
  return Value::floating(r);
}

namespace {

double self_of(const Args& a) { return unwrap(a[0]).as_float(); }

// A float, or an int as one. 0: neither, -1: an int too large.
int operand(Session& s, const Value& v, double& out) {
  if (v.is_float()) return out = v.as_float(), 1;
  if (is_word(v)) return out = static_cast<double>(v.bits()), 1;
  if (kind_of(v) == ObjectKind::big_int) return int_to_double(s, v, out) ? 1 : -1;
  return 0;
}

Value zero_division(Session& s, const char* what) { return raise_text(s, ExcKind::ZeroDivisionError, what); }

Value float_binary(Session& s, BinOp op, const Value& a, const Value& b) {
  double x, y;
  int i = operand(s, a, x);
  if (i <= 0) return i < 0 ? Value::error() : Value::not_implemented();
  i = operand(s, b, y);
  if (i <= 0) return i < 0 ? Value::error() : Value::not_implemented();
  switch (op) {
    case BinOp::add:
      return Value::floating(x + y);
    case BinOp::sub:
      return Value::floating(x - y);
    case BinOp::mul:
      return Value::floating(x * y);
    case BinOp::truediv:
      return y == 0 ? zero_division(s, "float division by zero") : Value::floating(x / y);
    case BinOp::floordiv:
      return y == 0 ? zero_division(s, "float floor division by zero") : Value::floating(float_floordiv(x, y));
    case BinOp::mod:
      return y == 0 ? zero_division(s, "float modulo") : Value::floating(float_mod(x, y));
    case BinOp::pow:
      return float_pow(s, x, y);
    default:
      return Value::not_implemented();
  }
}

Value float_unary(Session&, UnOp op, const Value& a) {
  if (op == UnOp::invert) return Value::not_implemented();
  return Value::floating(op == UnOp::neg ? -a.as_float() : a.as_float());
}

Value float_compare(Session&, CmpOp op, const Value& a, const Value& b) {
  double x = a.as_float();
  if (b.is_float()) return Value::boolean(holds(op, x, b.as_float()));
  if (!is_int_value(b)) return Value::not_implemented();
  if (std::isnan(x)) return Value::boolean(op == CmpOp::ne);
  return Value::boolean(holds(op, -int_compare_double(b, x), 0));  // x against b
}

bool float_hash(Session&, const Value& v, int64_t& h) {
  h = text::hash_float(v.as_float());
  return true;
}
Value float_repr(Session&, const Value& v) { return make_str(text::float_repr(v.as_float())); }
int float_truth(Session&, const Value& v) { return v.as_float() != 0; }

Value float_construct(Session& s, Type*, const Args& a) {
  if (!takes(s, a, "float", 0, 1, 0)) return Value::error();
  return a.size() == 0 ? Value::floating(0) : to_float(s, a[0]);
}

Value m_is_integer(Session& s, const Args& a) {
  if (!takes_none(s, a, "float.is_integer")) return Value::error();
  double x = self_of(a);
  return Value::boolean(std::isfinite(x) && std::floor(x) == x);
}
Value m_hex(Session& s, const Args& a) {
  if (!takes_none(s, a, "float.hex")) return Value::error();
  return make_str(text::float_hex(self_of(a)));
}
Value m_conjugate(Session&, const Args& a) { return Value::floating(self_of(a)); }
Value m_ratio(Session& s, const Args& a) {
  if (!takes_none(s, a, "float.as_integer_ratio")) return Value::error();
  double x = self_of(a);
  if (std::isinf(x)) return raise_text(s, ExcKind::OverflowError, "cannot convert Infinity to integer ratio");
  if (std::isnan(x)) return raise_text(s, ExcKind::ValueError, "cannot convert NaN to integer ratio");
  int e;
  double m = std::frexp(x, &e);
  while (m != std::floor(m)) m *= 2, --e;
  Value n = Value::integer(static_cast<int64_t>(m)), d = Value::integer(1);
  if (e > 0)
    n = int_shift_left(s, n, Value::integer(e));
  else
    d = int_shift_left(s, d, Value::integer(-e));
  return make_tuple({n, d});
}
Value c_fromhex(Session& s, const Args& a) {
  if (!takes_one(s, a, "float.fromhex")) return Value::error();
  Str* t = cast<Str>(a[1]);
  if (!t) return raise_type_error(s, "bad argument type for built-in operation");
  double x = 0;
  switch (text::float_from_hex(t->view(), x)) {
    case text::HexError::invalid:
      return raise_value_error(s, "invalid hexadecimal floating-point string");
    case text::HexError::too_large:
      return raise_text(s, ExcKind::OverflowError, "hexadecimal value too large to represent as a float");
    case text::HexError::none:
      break;
  }
  Type* cls = cast<Type>(a[0]);
  if (!cls || cls == s.type(ObjectKind::floating)) return Value::floating(x);
  return call(s, a[0], {Value::floating(x)});
}
Value to_whole(Session& s, double x) {
  if (std::isnan(x)) return raise_value_error(s, "cannot convert float NaN to integer");
  if (std::isinf(x)) return raise_text(s, ExcKind::OverflowError, "cannot convert float infinity to integer");
  return int_from_double(s, x);
}
Value m_int(Session& s, const Args& a) { return to_whole(s, self_of(a)); }
Value m_floor(Session& s, const Args& a) { return to_whole(s, std::floor(self_of(a))); }
Value m_ceil(Session& s, const Args& a) { return to_whole(s, std::ceil(self_of(a))); }
Value m_float(Session&, const Args& a) { return Value::floating(self_of(a)); }
Value m_abs(Session&, const Args& a) { return Value::floating(std::fabs(self_of(a))); }
Value m_round(Session& s, const Args& a) {
  if (!takes(s, a, "__round__", 0, 1)) return Value::error();
  return round_float(s, self_of(a), argument(a, 1));
}

template <bool reflected>
Value m_divmod(Session& s, const Args& a) {
  if (!takes(s, a, "", 1, 1)) return Value::error();
  double x = self_of(a), y;
  int i = operand(s, unwrap(a[1]), y);
  if (i <= 0) return i < 0 ? Value::error() : Value::not_implemented();
  if (reflected) std::swap(x, y);
  if (y == 0) return zero_division(s, "float divmod()");
  return make_tuple({Value::floating(float_floordiv(x, y)), Value::floating(float_mod(x, y))});
}

constexpr NativeDef kMethods[] = {
    {.name = "is_integer", .fn = m_is_integer, .doc = "Return True if the float is an integer."},
    {.name = "hex", .fn = m_hex, .doc = "Return a hexadecimal representation of a floating-point number."},
    {.name = "as_integer_ratio", .fn = m_ratio, .doc = "Return integer ratio."},
    {.name = "conjugate", .fn = m_conjugate, .doc = "Return self, the complex conjugate of any float."},
    {.name = "__int__", .fn = m_int},
    {.name = "__trunc__", .fn = m_int},
    {.name = "__floor__", .fn = m_floor},
    {.name = "__ceil__", .fn = m_ceil},
    {.name = "__float__", .fn = m_float},
    {.name = "__abs__", .fn = m_abs},
    {.name = "__round__", .fn = m_round},
    {.name = "__divmod__", .fn = m_divmod<false>},
    {.name = "__rdivmod__", .fn = m_divmod<true>},
};
constexpr NativeDef kClassMethods[] = {
    {.name = "fromhex", .fn = c_fromhex, .doc = "Create a floating-point number from a hexadecimal string."},
};
constexpr GetSetDef kGetSet[] = {
    {.name = "real", .get = [](Session&, const Value& v) { return unwrap(v); }},
    {.name = "imag", .get = [](Session&, const Value&) { return Value::floating(0); }},
};
constexpr TypeSlots kSlots{
    .binary = float_binary,
    .binary_ops = bit(BinOp::add) | bit(BinOp::sub) | bit(BinOp::mul) | bit(BinOp::truediv) | bit(BinOp::floordiv) |
                  bit(BinOp::mod) | bit(BinOp::pow),
    .unary = float_unary,
    .unary_ops = bit(UnOp::neg) | bit(UnOp::pos),
    .compare = float_compare,
    .ordered = true,
    .truth = float_truth,
    .hash = float_hash,
    .repr = float_repr,
    .format = format_number,
    .construct = float_construct,
};
const TypeDef kDef{.name = "float",
                   .kind = ObjectKind::floating,
                   .slots = &kSlots,
                   .methods = kMethods,
                   .class_methods = kClassMethods,
                   .getset = kGetSet,
                   .doc = "Convert a string or number to a floating point number, if possible."};

}  // namespace

Value to_float(Session& s, const Value& v) {
  if (v.is_float()) return v;
  auto parse = [&](std::string_view t, bool utf8 = true) {
    auto x = utf8 || text::is_ascii(t) ? text::parse_float(t) : std::nullopt;
    return x ? Value::floating(*x)
             : raise_value_error(s, "could not convert string to float: %s", repr_text(s, v).c_str());
  };
  double d;
  if (is_int_value(v)) return int_to_double(s, v, d) ? Value::floating(d) : Value::error();
  if (Str* t = cast_exact<Str>(v)) return parse(t->view());
  Value r = call_dunder(s, v, Dunder::float_);
  if (r.is_error()) return r;
  if (!r.is_unbound()) {
    if (unwrap(r).is_float()) return unwrap(r);
    return raise_type_error(s, "%s.__float__ returned non-float (type %s)", type_name(s, v).c_str(),
                            type_name(s, r).c_str());
  }
  r = call_dunder(s, v, Dunder::index_);
  if (r.is_error()) return r;
  if (!r.is_unbound()) return int_to_double(s, unwrap(r), d) ? Value::floating(d) : Value::error();
  if (Str* t = cast<Str>(v)) return parse(t->view());
  if (Bytes* t = cast<Bytes>(v)) return parse(t->view(), false);
  if (ByteArray* t = cast<ByteArray>(v)) return parse(t->data, false);
  if (std::string_view t; memory_view_bytes(v, t)) return parse(t, false);
  return raise_type_error(s, "float() argument must be a string or a real number, not '%s'", type_name(s, v).c_str());
}

void register_float_type(Session& s) { define_type(s, kDef); }

}  // namespace ouro::runtime
