// Built-in functions about numbers and characters.
#include <cmath>

#include "runtime/object/ops.h"
#include "runtime/text/utf8.h"
#include "runtime/types/args.h"
#include "runtime/types/big_int.h"
#include "runtime/types/numbers.h"
#include "stdlib/native/tables.h"

namespace ouro::stdlib {
namespace {

using namespace runtime;

Value f_abs(Session& s, const Args& a) {
  if (!takes_one(s, a, "abs", 0)) return Value::error();
  if (a[0].is_float()) return Value::floating(std::fabs(a[0].as_float()));
  if (is_int_value(a[0])) return int_abs(s, a[0]);
  Value r = call_dunder(s, a[0], Dunder::abs_);
  return r.is_unbound() ? raise_type_error(s, "bad operand type for abs(): '%s'", type_name(s, a[0]).c_str()) : r;
}

Value f_divmod(Session& s, const Args& a) {
  if (!takes(s, a, "divmod", 2, 2, 0)) return Value::error();
  if (is_int_value(a[0]) && is_int_value(a[1])) {
    Value q, r;
    if (!int_divmod(s, a[0], a[1], &q, &r, "integer division or modulo by zero")) return Value::error();
    return make_tuple({q, r});
  }
  Type *ta = type_of(s, a[0]), *tb = type_of(s, a[1]);
  bool right_first = ta != tb && is_subtype(tb, ta);
  for (int side = 0; side < 2; ++side) {
    bool right = right_first ? side == 0 : side == 1;
    Value r = right ? call_dunder(s, a[1], Dunder::rdivmod_, {a[0]}) : call_dunder(s, a[0], Dunder::divmod_, {a[1]});
    if (!r.is_unbound() && !r.is(Tag::not_implemented)) return r;
  }
  return raise_type_error(s, "unsupported operand type(s) for divmod(): '%s' and '%s'", type_name(s, a[0]).c_str(),
                          type_name(s, a[1]).c_str());
}

Value f_pow(Session& s, const Args& a) {
  Value v[3];
  if (!takes_named(s, a, "pow", {"base", "exp", "mod"}, 2, 3, v, 0)) return Value::error();
  if (v[2].is_unbound() || v[2].is_none()) return binary(s, BinOp::pow, v[0], v[1]);
  const Value &x = unwrap(v[0]), &y = unwrap(v[1]), &m = unwrap(v[2]);
  bool own = cast_exact<Instance>(v[0]) && !cast_exact<Native>(find_dunder(s, type_of(s, v[0]), Dunder::pow_));
  if (!own && is_int_value(x) && is_int_value(y) && is_int_value(m)) return int_pow_mod(s, x, y, m);
  if (kind_of(v[0]) == ObjectKind::instance) {
    Value r = call_dunder(s, v[0], Dunder::pow_, {v[1], v[2]});
    if (!r.is_unbound() && !r.is(Tag::not_implemented)) return r;
  }
  if (x.is_float() || y.is_float() || m.is_float())
    return raise_type_error(s, "pow() 3rd argument not allowed unless all arguments are integers");
  return raise_type_error(s, "unsupported operand type(s) for ** or pow(): '%s', '%s', '%s'",
                          type_name(s, v[0]).c_str(), type_name(s, v[1]).c_str(), type_name(s, v[2]).c_str());
}

Value f_round(Session& s, const Args& a) {
  Value v[2];
  if (!takes_named(s, a, "round", {"number", "ndigits"}, 1, 2, v, 0)) return Value::error();
  if (v[0].is_float()) return round_float(s, v[0].as_float(), v[1]);
  Value r = v[1].is_unbound() || v[1].is_none() ? call_dunder(s, v[0], Dunder::round_)
                                                : call_dunder(s, v[0], Dunder::round_, {v[1]});
  return r.is_unbound() ? raise_type_error(s, "type %s doesn't define __round__ method", type_name(s, v[0]).c_str())
                        : r;
}

template <int base>
Value f_radix(Session& s, const Args& a) {
  constexpr const char* name = base == 2 ? "bin" : base == 8 ? "oct" : "hex";
  constexpr const char* prefix = base == 2 ? "0b" : base == 8 ? "0o" : "0x";
  if (!takes_one(s, a, name, 0)) return Value::error();
  OURO_TRY(i, to_index_value(s, a[0]));
  return make_str(int_text(i, base, prefix));
}

Value f_chr(Session& s, const Args& a) {
  if (!takes_one(s, a, "chr", 0)) return Value::error();
  OURO_TRY(i, to_index_value(s, a[0]));
  if (!is_word(i) || i.bits() != static_cast<int32_t>(i.bits()))
    return raise_text(s, ExcKind::OverflowError, "Python int too large to convert to C int");
  if (i.bits() < 0 || i.bits() > 0x10FFFF) return raise_value_error(s, "chr() arg not in range(0x110000)");
  return make_char(static_cast<uint32_t>(i.bits()));
}

Value chr_plain(Session&, const Value& v) {
  if (kind_of(v) != ObjectKind::integer || v.bits() < 0 || v.bits() > 0x10FFFF) return {};
  return make_char(static_cast<uint32_t>(v.bits()));
}

Value ord_plain(Session&, const Value& v) {
  if (kind_of(v) != ObjectKind::str || v.as<Str>()->size != 1) return {};
  return Value::integer(v.as<Str>()->data[0]);  // one byte of UTF-8: below 128
}

Value f_ord(Session& s, const Args& a) {
  if (!takes_one(s, a, "ord", 0)) return Value::error();
  int64_t n;
  if (Str* t = cast<Str>(a[0])) {
    n = str_length(t);
    if (n == 1) {
      const char* p = t->data;
      return Value::integer(text::decode(p));
    }
  } else if (Bytes* b = cast<Bytes>(a[0])) {
    n = static_cast<int64_t>(b->size);
    if (n == 1) return Value::integer(static_cast<unsigned char>(b->data[0]));
  } else if (ByteArray* b = cast<ByteArray>(a[0])) {
    n = static_cast<int64_t>(b->data.size());
    if (n == 1) return Value::integer(static_cast<unsigned char>(b->data[0]));
  } else {
    return raise_type_error(s, "ord() expected string of length 1, but %s found", type_name(s, a[0]).c_str());
  }
  return raise_type_error(s, "ord() expected a character, but string of length %lld found", static_cast<long long>(n));
}

constexpr NativeDef kFunctions[] = {
    {.name = "abs", .fn = f_abs, .doc = "Return the absolute value of the argument.", .effect = NativeEffect::pure},
    {.name = "divmod", .fn = f_divmod, .doc = "Return the tuple (x//y, x%y).", .effect = NativeEffect::pure},
    {.name = "pow",
     .fn = f_pow,
     .doc = "Equivalent to base**exp with 2 arguments or base**exp % mod with 3 arguments.",
     .effect = NativeEffect::pure},
    {.name = "round",
     .fn = f_round,
     .doc = "Round a number to a given precision in decimal digits.",
     .effect = NativeEffect::pure},
    {.name = "bin",
     .fn = f_radix<2>,
     .doc = "Return the binary representation of an integer.",
     .effect = NativeEffect::pure},
    {.name = "oct",
     .fn = f_radix<8>,
     .doc = "Return the octal representation of an integer.",
     .effect = NativeEffect::pure},
    {.name = "hex",
     .fn = f_radix<16>,
     .doc = "Return the hexadecimal representation of an integer.",
     .effect = NativeEffect::pure},
    {.name = "chr",
     .fn = f_chr,
     .doc = "Return a Unicode string of one character with ordinal i.",
     .effect = NativeEffect::pure,
     .one = chr_plain},
    {.name = "ord",
     .fn = f_ord,
     .doc = "Return the Unicode code point for a one-character string.",
     .effect = NativeEffect::pure,
     .one = ord_plain},
};

}  // namespace

std::span<const NativeDef> number_functions() { return kFunctions; }

}  // namespace ouro::stdlib
