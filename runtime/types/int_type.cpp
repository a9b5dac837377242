// int and bool: words with overflow checks first, big_int.h beyond.
#include <charconv>
#include <cmath>
#include <iterator>

#include "runtime/object/interrupt.h"
#include "runtime/object/ops.h"
#include "runtime/text/unicode.h"
#include "runtime/text/utf8.h"
#include "runtime/types/args.h"
#include "runtime/types/argument_name.h"
#include "runtime/types/big_int.h"
#include "runtime/types/bytes_of.h"
#include "runtime/types/float_text.h"
#include "runtime/types/format_spec.h"
#include "runtime/types/memory_view.h"
#include "runtime/types/numbers.h"
#include "runtime/types/ordering.h"
#include "runtime/types/register.h"

namespace ouro::runtime {
namespace {

const Value& self_of(const Args& a) { return unwrap(a[0]); }

// ---- slots

Value int_binary(Session& s, BinOp op, const Value& a, const Value& b) {
  if (!is_int_value(a) || !is_int_value(b)) return Value::not_implemented();
  bool words = is_word(a) && is_word(b);
  int64_t x = a.bits(), y = b.bits(), r;
  Value v;
  switch (op) {
    case BinOp::add:
      return words && !__builtin_add_overflow(x, y, &r) ? Value::integer(r) : int_add(s, a, b);
    case BinOp::sub:
      return words && !__builtin_sub_overflow(x, y, &r) ? Value::integer(r) : int_sub(s, a, b);
    case BinOp::mul:
      return words && !__builtin_mul_overflow(x, y, &r) ? Value::integer(r) : int_mul(s, a, b);
    case BinOp::truediv:
      return int_true_divide(s, a, b);
    case BinOp::floordiv:
      return int_divmod(s, a, b, &v, nullptr, "integer division or modulo by zero") ? v : Value::error();
    case BinOp::mod:
      return int_divmod(s, a, b, nullptr, &v, "integer modulo by zero") ? v : Value::error();
    case BinOp::pow:
      return int_pow(s, a, b);
    case BinOp::lshift:
      return int_shift_left(s, a, b);
    case BinOp::rshift:
      return int_shift_right(s, a, b);
    case BinOp::and_:
    case BinOp::or_:
    case BinOp::xor_: {
      if (a.is_bool() && b.is_bool())
        return Value::boolean(op == BinOp::and_ ? x & y : op == BinOp::or_ ? x | y : x ^ y);
      return int_bits(s, op == BinOp::and_ ? BitOp::and_ : op == BinOp::or_ ? BitOp::or_ : BitOp::xor_, a, b);
    }
    case BinOp::matmul:
      break;
  }
  return Value::not_implemented();
}

Value int_unary(Session& s, UnOp op, const Value& a) {
  switch (op) {
    case UnOp::neg:
      return int_neg(s, a);
    case UnOp::pos:
      return a.is_bool() ? Value::integer(a.bits()) : a;
    case UnOp::invert:
      return int_invert(s, a);
  }
  return Value::not_implemented();
}

Value int_compare_slot(Session&, CmpOp op, const Value& a, const Value& b) {
  if (!is_int_value(b)) return Value::not_implemented();
  return Value::boolean(holds(op, int_compare(a, b), 0));
}

int int_truth(Session&, const Value& v) { return int_sign(v) != 0; }
bool int_hash_slot(Session&, const Value& v, int64_t& h) {
  h = int_hash(v);
  return true;
}
Value int_repr(Session& s, const Value& v) { return int_str(s, v); }
Value bool_repr(Session& s, const Value& v) {
  static const Symbol yes = intern("True"), no = intern("False");
  return s.str(v.as_bool() ? yes : no);
}
Value bool_format(Session& s, const Value& v, std::string_view spec) {
  return spec.empty() ? bool_repr(s, v) : format_number(s, v, spec);
}

Value int_construct(Session& s, Type* cls, const Args& a) {
  Value x = argument(a, 0), base = argument(a, 1);
  (void)cls;
  if (a.size() > 2) return raise_type_error(s, "int() takes at most 2 arguments (%zu given)", a.size());
  for (size_t k = 0; k < a.keywords.size(); ++k) {
    std::string_view name = a.names[k].as<Str>()->view();
    if (name != "base")
      return raise_type_error(s, "'%s' is an invalid keyword argument for int()", std::string(name).c_str());
    base = a.keywords[k];
  }
  if (x.is_unbound()) {
    if (!base.is_unbound()) return raise_type_error(s, "int() missing string argument");
    return Value::integer(0);
  }
  if (base.is_unbound()) return to_int(s, x);
  int64_t b;
  if (!to_index(s, base, b, true)) return Value::error();
  if (b != 0 && (b < 2 || b > 36)) return raise_value_error(s, "int() base must be >= 2 and <= 36, or 0");
  if (Str* t = cast<Str>(x)) return int_from_text(s, t->view(), static_cast<int>(b), x);
  if (Bytes* t = cast<Bytes>(x)) return int_from_text(s, t->view(), static_cast<int>(b), x);
  if (ByteArray* t = cast<ByteArray>(x)) return int_from_text(s, t->data, static_cast<int>(b), x);
  return raise_type_error(s, "int() can't convert non-string with explicit base");
}

Value bool_construct(Session& s, Type*, const Args& a) {
  if (!takes(s, a, "bool", 0, 1, 0)) return Value::error();
  if (a.size() == 0) return Value::boolean(false);
  int t = truth(s, a[0]);
  return t < 0 ? Value::error() : Value::boolean(t);
}

// ---- methods

Value plain_int(const Value& v) { return v.is_bool() ? Value::integer(v.bits()) : v; }

Value m_identity(Session&, const Args& a) { return plain_int(self_of(a)); }
Value m_bit_length(Session& s, const Args& a) {
  if (!takes_none(s, a, "int.bit_length")) return Value::error();
  return Value::integer(static_cast<int64_t>(int_bit_length(self_of(a))));
}
Value m_bit_count(Session& s, const Args& a) {
  if (!takes_none(s, a, "int.bit_count")) return Value::error();
  return Value::integer(static_cast<int64_t>(int_bit_count(self_of(a))));
}
Value m_conjugate(Session& s, const Args& a) {
  if (!takes_none(s, a, "int.conjugate")) return Value::error();
  return plain_int(self_of(a));
}
Value m_ratio(Session& s, const Args& a) {
  if (!takes_none(s, a, "int.as_integer_ratio")) return Value::error();
  return make_tuple({plain_int(self_of(a)), Value::integer(1)});
}
Value m_float(Session& s, const Args& a) {
  double d;
  return int_to_double(s, self_of(a), d) ? Value::floating(d) : Value::error();
}
Value m_abs(Session& s, const Args& a) { return int_abs(s, self_of(a)); }

template <bool reflected>
Value m_divmod(Session& s, const Args& a) {
  if (!takes(s, a, "", 1, 1)) return Value::error();
  const Value &x = self_of(a), &y = unwrap(a[1]);
  if (!is_int_value(y)) return Value::not_implemented();
  Value q, r;
  if (!int_divmod(s, reflected ? y : x, reflected ? x : y, &q, &r, "integer division or modulo by zero"))
    return Value::error();
  return make_tuple({q, r});
}

Value m_pow(Session& s, const Args& a) {
  if (!takes(s, a, "__pow__", 1, 2)) return Value::error();
  const Value &x = self_of(a), &y = unwrap(a[1]);
  if (!is_int_value(y)) return Value::not_implemented();
  if (a.size() < 3 || a[2].is_none()) return int_pow(s, x, y);
  if (!is_int_value(unwrap(a[2]))) return Value::not_implemented();
  return int_pow_mod(s, x, y, unwrap(a[2]));
}

// Rounds to a multiple of 10^n, ties to even.
Value m_round(Session& s, const Args& a) {
  if (!takes(s, a, "__round__", 0, 1)) return Value::error();
  const Value& x = self_of(a);
  if (a.size() == 1 || a[1].is_none()) return plain_int(x);
  OURO_TRY(n, to_index_value(s, a[1]));
  if (int_sign(n) >= 0) return plain_int(x);
  OURO_TRY(digits, int_neg(s, n));
  if (!is_word(digits) || digits.bits() > static_cast<int64_t>(int_bit_length(x))) return Value::integer(0);
  OURO_TRY(unit, int_pow(s, Value::integer(10), digits));
  Value q, r;
  if (!int_divmod(s, x, unit, &q, &r, "")) return Value::error();
  OURO_TRY(twice, int_add(s, r, r));
  int c = int_compare(twice, unit);
  OURO_TRY(odd, int_bits(s, BitOp::and_, q, Value::integer(1)));
  if (c > 0 || (c == 0 && odd.bits())) {
    OURO_TRY(up, int_sub(s, unit, r));
    return int_add(s, x, up);
  }
  return int_sub(s, x, r);
}

bool byte_order(Session& s, const char* function, const Value& v, bool& little) {
  little = false;
  if (v.is_unbound()) return true;
  Str* t = cast<Str>(v);
  if (!t)
    return raise_type_error(s, "%s() argument 'byteorder' must be str, not %s", function, argument_name(s, v).c_str()),
           false;
  if (t->view() != "little" && t->view() != "big")
    return raise_value_error(s, "byteorder must be either 'little' or 'big'"), false;
  little = t->view() == "little";
  return true;
}

Value m_to_bytes(Session& s, const Args& a) {
  Value v[3];
  if (!takes_named(s, a, "to_bytes", {"length", "byteorder", "signed"}, 0, 2, v)) return Value::error();
  int64_t n = 1;
  bool little;
  if (!v[0].is_unbound() && !to_index(s, v[0], n)) return Value::error();
  if (!byte_order(s, "to_bytes", v[1], little)) return Value::error();
  int is_signed = v[2].is_unbound() ? 0 : truth(s, v[2]);
  if (is_signed < 0) return Value::error();
  if (n < 0) return raise_value_error(s, "length argument must be non-negative");
  const Value& x = self_of(a);
  if (int_sign(x) < 0 && !is_signed)
    return raise_text(s, ExcKind::OverflowError, "can't convert negative int to unsigned");
  std::string out;
  if (!int_to_bytes(x, static_cast<size_t>(n), is_signed, out))
    return raise_text(s, ExcKind::OverflowError, "int too big to convert");
  if (little)
    for (size_t i = 0, j = out.size(); i + 1 < j; ++i) {
      if ((i & 0xfffff) == 0xfffff) poll_interrupt(s);
      std::swap(out[i], out[--j]);
    }
  return make_bytes(out);
}

Value c_from_bytes(Session& s, const Args& a) {
  Value v[3];
  if (!takes_named(s, a, "from_bytes", {"bytes", "byteorder", "signed"}, 1, 2, v)) return Value::error();
  bool little;
  if (!byte_order(s, "from_bytes", v[1], little)) return Value::error();
  int is_signed = v[2].is_unbound() ? 0 : truth(s, v[2]);
  if (is_signed < 0) return Value::error();
  std::string raw;
  if (!bytes_of_object(s, v[0], raw)) return Value::error();
  if (little) std::reverse(raw.begin(), raw.end());
  OURO_TRY(r, int_from_bytes(s, raw, is_signed));
  Type* cls = cast<Type>(a[0]);
  if (!cls || cls == s.type(ObjectKind::integer)) return r;
  return call(s, a[0], {r});
}

Value m_sizeof(Session&, const Args& a) { return Value::integer(static_cast<int64_t>(int_byte_size(self_of(a)))); }
Value m_getnewargs(Session&, const Args& a) { return make_tuple({plain_int(self_of(a))}); }

constexpr NativeDef kIntMethods[] = {
    {.name = "as_integer_ratio", .fn = m_ratio, .doc = "The pair (self, 1)."},
    {.name = "bit_count",
     .fn = m_bit_count,
     .doc = "Number of ones in the binary representation of the absolute value."},
    {.name = "bit_length", .fn = m_bit_length, .doc = "Number of bits necessary to represent self in binary."},
    {.name = "conjugate", .fn = m_conjugate, .doc = "Returns self, the complex conjugate of any int."},
    {.name = "to_bytes", .fn = m_to_bytes, .doc = "Return an array of bytes representing an integer."},
    {.name = "__int__", .fn = m_identity},
    {.name = "__index__", .fn = m_identity},
    {.name = "__trunc__", .fn = m_identity},
    {.name = "__floor__", .fn = m_identity},
    {.name = "__ceil__", .fn = m_identity},
    {.name = "__float__", .fn = m_float},
    {.name = "__abs__", .fn = m_abs},
    {.name = "__divmod__", .fn = m_divmod<false>},
    {.name = "__rdivmod__", .fn = m_divmod<true>},
    {.name = "__pow__", .fn = m_pow},
    {.name = "__round__", .fn = m_round},
    {.name = "__sizeof__", .fn = m_sizeof},
    {.name = "__getnewargs__", .fn = m_getnewargs},
};
constexpr NativeDef kIntClassMethods[] = {
    {.name = "from_bytes", .fn = c_from_bytes, .doc = "Return the integer represented by the given array of bytes."},
};
constexpr GetSetDef kIntGetSet[] = {
    {.name = "real", .get = [](Session&, const Value& v) { return plain_int(unwrap(v)); }},
    {.name = "imag", .get = [](Session&, const Value&) { return Value::integer(0); }},
    {.name = "numerator", .get = [](Session&, const Value& v) { return plain_int(unwrap(v)); }},
    {.name = "denominator", .get = [](Session&, const Value&) { return Value::integer(1); }},
};

constexpr uint32_t kIntOps = (1u << kBinOps) - 1 - bit(BinOp::matmul);
constexpr TypeSlots kIntSlots{
    .binary = int_binary,
    .binary_ops = kIntOps,
    .unary = int_unary,
    .unary_ops = 7,
    .compare = int_compare_slot,
    .ordered = true,
    .truth = int_truth,
    .hash = int_hash_slot,
    .repr = int_repr,
    .format = format_number,
    .construct = int_construct,
};
constexpr TypeSlots kBoolSlots{
    .binary = int_binary,
    .binary_ops = kIntOps,
    .unary = int_unary,
    .unary_ops = 7,
    .compare = int_compare_slot,
    .ordered = true,
    .truth = int_truth,
    .hash = int_hash_slot,
    .repr = bool_repr,
    .format = bool_format,
    .construct = bool_construct,
};
const TypeDef kIntDef{.name = "int",
                      .kind = ObjectKind::integer,
                      .slots = &kIntSlots,
                      .methods = kIntMethods,
                      .class_methods = kIntClassMethods,
                      .getset = kIntGetSet,
                      .doc = "int([x]) -> integer\nint(x, base=10) -> integer"};
const TypeDef kBoolDef{.name = "bool",
                       .kind = ObjectKind::boolean,
                       .base = ObjectKind::integer,
                       .slots = &kBoolSlots,
                       .subclassable = false,
                       .doc = "bool(x) -> bool"};

Value invalid_literal(Session& s, int base, const Value& shown) {
  ByteArray* bytes = cast<ByteArray>(shown);
  std::string text = repr_text(s, bytes ? make_bytes(bytes->data) : shown);
  size_t end = 0;  // CPython shows 200 characters
  for (int n = 0; end < text.size() && n < 200; ++n)
    end += text::sequence_length(static_cast<unsigned char>(text[end]));
  return raise_value_error(s, "invalid literal for int() with base %d: %s", base, text.substr(0, end).c_str());
}

}  // namespace

bool check_digit_limit(Session& s, size_t digits, bool parsing) {
  int64_t limit = s.state<IntTextLimit>().digits;
  if (limit == 0 || digits <= static_cast<size_t>(limit)) return true;
  if (parsing)
    raise_value_error(s,
                      "Exceeds the limit (%lld digits) for integer string conversion: value has %zu digits; use "
                      "sys.set_int_max_str_digits() to increase the limit",
                      static_cast<long long>(limit), digits);
  else
    raise_value_error(s,
                      "Exceeds the limit (%lld digits) for integer string conversion; use sys.set_int_max_str_digits() "
                      "to increase the limit",
                      static_cast<long long>(limit));
  return false;
}

Value int_str(Session& s, const Value& v) {
  if (v.is_int()) {
    char digits[24];
    const size_t n = static_cast<size_t>(std::to_chars(digits, std::end(digits), v.as_int()).ptr - digits);
    Value text = make_str({digits, n});
    text.as<Str>()->points = static_cast<int64_t>(n);
    return text;
  }
  if (!is_word(v)) {
    int64_t limit = s.state<IntTextLimit>().digits;
    // log2(10) > 3.32: more bits than that are certainly too many digits.
    if (limit > 0 && int_bit_length(v) > static_cast<size_t>(static_cast<double>(limit) * 3.33) + 64 &&
        !check_digit_limit(s, SIZE_MAX, false))
      return Value::error();
  }
  std::string t = int_text(v);
  if (t.size() > 300 && !check_digit_limit(s, t.size() - (t[0] == '-'), false)) return Value::error();
  return make_str(t);
}

Value int_from_text(Session& s, std::string_view source, int base, const Value& shown) {
  std::string folded;
  std::string_view t = source;
  if (!text::is_ascii(t)) t = folded = cast<Str>(shown) ? text::to_ascii_digits(t) : std::string("?");
  while (!t.empty() && text::is_space(static_cast<unsigned char>(t.front()))) t.remove_prefix(1);
  while (!t.empty() && text::is_space(static_cast<unsigned char>(t.back()))) t.remove_suffix(1);
  bool negative = false;
  if (!t.empty() && (t[0] == '+' || t[0] == '-')) {
    negative = t[0] == '-';
    t.remove_prefix(1);
  }
  int given = base;
  bool prefixed = false;
  if (t.size() >= 2 && t[0] == '0') {
    int implied = (t[1] | 32) == 'x' ? 16 : (t[1] | 32) == 'o' ? 8 : (t[1] | 32) == 'b' ? 2 : 0;
    if (implied && (base == 0 || base == implied)) {
      base = implied;
      prefixed = true;
      t.remove_prefix(2);
      if (!t.empty() && t[0] == '_') t.remove_prefix(1);
    }
  }
  bool zero_only = base == 0 && !prefixed && t.size() > 1 && t[0] == '0';  // "00" is fine, "01" is not
  if (base == 0) base = 10;
  std::string plain;  // where digits are parted by underscores: without these
  const bool parted = t.find('_') != t.npos;
  bool after_digit = false;
  uint32_t count = 0;
  for (char c : t) {
    poll_interrupt(s, count);
    if (c == '_') {
      if (!after_digit) return invalid_literal(s, given, shown);
      after_digit = false;
      continue;
    }
    int d = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'z' ? (c | 32) - 'a' + 10 : 99;
    if (d >= base || (zero_only && d != 0)) return invalid_literal(s, given, shown);
    if (parted) plain += c;
    after_digit = true;
  }
  if (!after_digit) return invalid_literal(s, given, shown);
  if (parted) t = plain;
  if ((base & (base - 1)) != 0 && t.size() > 640 && !check_digit_limit(s, t.size(), true)) return Value::error();
  return int_from_digits(s, t, base, negative);
}

Value to_index_value(Session& s, const Value& v) {
  const Value& u = unwrap(v);
  if (is_int_value(u)) return plain_int(u);
  Value r = call_dunder(s, v, Dunder::index_);
  if (r.is_unbound())
    return raise_type_error(s, "'%s' object cannot be interpreted as an integer", type_name(s, v).c_str());
  if (r.is_error()) return r;
  if (is_int_value(unwrap(r))) return plain_int(unwrap(r));
  return raise_type_error(s, "__index__ returned non-int (type %s)", type_name(s, r).c_str());
}

namespace {

Value int_of_float(Session& s, double d) {
  if (std::isnan(d)) return raise_value_error(s, "cannot convert float NaN to integer");
  if (std::isinf(d)) return raise_text(s, ExcKind::OverflowError, "cannot convert float infinity to integer");
  return int_from_double(s, d);
}

}  // namespace

Value to_int(Session& s, const Value& v) {
  if (v.is_int()) return v;
  if (v.is_bool()) return Value::integer(v.bits());
  if (v.is_float()) return int_of_float(s, v.as_float());
  if (kind_of(v) == ObjectKind::big_int) return v;
  if (Str* t = cast_exact<Str>(v)) return int_from_text(s, t->view(), 10, v);
  for (Dunder d : {Dunder::int_, Dunder::index_, Dunder::trunc_}) {
    Value r = call_dunder(s, v, d);
    if (r.is_unbound()) continue;
    if (r.is_error()) return r;
    if (is_int_value(unwrap(r))) return plain_int(unwrap(r));
    if (d == Dunder::trunc_) return to_index_value(s, r);
    return raise_type_error(s, "__%s__ returned non-int (type %s)", d == Dunder::int_ ? "int" : "index",
                            type_name(s, r).c_str());
  }
  if (Str* t = cast<Str>(v)) return int_from_text(s, t->view(), 10, v);
  if (Bytes* t = cast<Bytes>(v)) return int_from_text(s, t->view(), 10, v);
  if (ByteArray* t = cast<ByteArray>(v)) return int_from_text(s, t->data, 10, v);
  if (std::string_view t; memory_view_bytes(v, t)) return int_from_text(s, t, 10, make_bytes(t));
  return raise_type_error(s, "int() argument must be a string, a bytes-like object or a real number, not '%s'",
                          type_name(s, v).c_str());
}

Value format_number(Session& s, const Value& given, std::string_view spec_text) {
  const Value& v = unwrap(given);
  bool is_float = v.is_float();
  if (spec_text.empty()) return str(s, given);
  std::string out, name = type_name(s, given);
  text::FormatSpec spec;
  text::TextError error;
  auto fail = [&] {
    return raise_text(s, error.kind[0] == 'O' ? ExcKind::OverflowError : ExcKind::ValueError, error.text);
  };
  if (!text::parse_spec(spec_text, name, is_float ? '\0' : 'd', '>', spec, error)) return fail();
  if (is_float) return text::format_float(out, v.as_float(), spec, name, error) ? make_str(out) : fail();
  int base = text::int_spec_base(spec, name, error);
  if (base < 0) return fail();
  if (base == 0) {
    double d;
    if (!int_to_double(s, v, d)) return Value::error();
    return text::format_float(out, d, spec, name, error) ? make_str(out) : fail();
  }
  if (base == 1) {
    int64_t c;
    if (!is_word(v)) return raise_text(s, ExcKind::OverflowError, "Python int too large to convert to C long");
    c = v.bits();
    if (c < 0 || c > 0x10FFFF) return raise_text(s, ExcKind::OverflowError, "%c arg not in range(0x110000)");
    std::string one;
    text::append(one, static_cast<uint32_t>(c));
    text::format_int(out, false, one, spec);
    return make_str(out);
  }
  if (base == 10 && !is_word(v) && int_str(s, v).is_error()) return Value::error();  // too many digits
  text::format_int(out, int_sign(v) < 0, int_digits(v, base), spec);
  return make_str(out);
}

void register_int_types(Session& s) {
  static const bool registered = (register_big_int_kind(), true);  // kinds are the process's
  (void)registered;
  define_type(s, kIntDef);
  auto big = static_cast<size_t>(ObjectKind::big_int);
  s.types[big] = static_cast<Type*>(Value::share(s.type(ObjectKind::integer)).release_object());
  s.slots[big] = &kIntSlots;
  define_type(s, kBoolDef);
}

}  // namespace ouro::runtime
