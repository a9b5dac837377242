#include <algorithm>
#include <cmath>
#include <string>

#include "runtime/object/exception.h"
#include "runtime/object/interrupt.h"
#include "runtime/types/big_int_parts.h"

// Big integers as digits in any base and as bytes.
namespace ouro::runtime {

namespace {

constexpr size_t kBetweenLooks = 1 << 18;  // characters

// The digits of a magnitude that is not 0, behind `head`. They are made from the last on.
std::string with_digits(std::string head, const mp_int& v, int base) {
  static constexpr char kDigits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
  const auto bits =
      static_cast<size_t>(v.used - 1) * kDigitBits + static_cast<size_t>(std::bit_width(v.dp[v.used - 1]));
  const bool power = std::has_single_bit(static_cast<unsigned>(base));
  const auto per = static_cast<size_t>(std::countr_zero(static_cast<unsigned>(base)));
  const size_t before = head.size(), most = power
                                                ? (bits + per - 1) / per
                                                : static_cast<size_t>(static_cast<double>(bits) / std::log2(base)) + 2;
  append_fill(head, most, '0');
  size_t at = head.size();
  auto put = [&](uint64_t digit) {
    if (at % kBetweenLooks == 0) poll_interrupt();
    head[--at] = kDigits[digit];
  };
  if (power) {
    for (size_t bit = 0; bit < bits; bit += per) {
      const size_t i = bit / kDigitBits;
      unsigned __int128 w = v.dp[i];
      if (i + 1 < static_cast<size_t>(v.used)) w |= static_cast<unsigned __int128>(v.dp[i + 1]) << kDigitBits;
      put(static_cast<uint64_t>(w >> bit % kDigitBits) & static_cast<uint64_t>(base - 1));
    }
    return head;
  }
  int count = 1;  // of digits that a chunk of below 2^60 has
  auto chunk = static_cast<uint64_t>(base);
  for (; chunk <= MP_MASK / static_cast<uint64_t>(base); ++count) chunk *= static_cast<uint64_t>(base);
  CountedVector<mp_digit> d(v.dp, v.dp + v.used);
  for (int n = v.used; n > 0;) {
    poll_interrupt();
    uint64_t rest = divide_by_digit(d.data(), n, chunk);
    while (n > 0 && d[static_cast<size_t>(n - 1)] == 0) --n;
    for (int k = 0; k < count && (n > 0 || rest); ++k, rest /= static_cast<uint64_t>(base))
      put(rest % static_cast<uint64_t>(base));
  }
  head.erase(before, at - before);
  return head;
}

int digit_value(char c) { return c <= '9' ? c - '0' : (c | 32) - 'a' + 10; }

// m = m * factor + add on the digits.
bool multiply_add(mp_int& m, uint64_t factor, uint64_t add) {
  unsigned __int128 carry = add;
  for (int i = 0; i < m.used; ++i) {
    carry += static_cast<unsigned __int128>(m.dp[i]) * factor;
    m.dp[i] = static_cast<mp_digit>(carry) & MP_MASK;
    carry >>= kDigitBits;
  }
  while (carry) {
    if (m.used == m.alloc && mp_grow(&m, m.used + 2) != MP_OKAY) return false;
    m.dp[m.used++] = static_cast<mp_digit>(carry) & MP_MASK;
    carry >>= kDigitBits;
  }
  return true;
}

// n digits of `bits` each, the most significant one first: in linear time, as they are the number's bits.
template <class DigitAt>
Value from_bits(Session& s, size_t n, int bits, bool negative, DigitAt digit_at) {
  Mp m(static_cast<int>(n * static_cast<size_t>(bits) / kDigitBits) + 2);
  if (!m.ok) return raise_memory_error(s);
  unsigned __int128 low = 0;
  int have = 0, used = 0;
  uint32_t count = 0;
  for (size_t i = n; i-- > 0;) {
    poll_interrupt(s, count);
    low |= static_cast<unsigned __int128>(digit_at(i)) << have;
    have += bits;
    if (have < kDigitBits) continue;
    m.v.dp[used++] = static_cast<mp_digit>(low) & MP_MASK;
    low >>= kDigitBits;
    have -= kDigitBits;
  }
  if (low) m.v.dp[used++] = static_cast<mp_digit>(low);
  m.v.used = used;
  mp_clamp(m);
  m.v.sign = negative && m.v.used ? MP_NEG : MP_ZPOS;
  return int_of_digits(m);
}

}  // namespace

std::string int_text(const Value& a, int base, std::string_view prefix) {
  if (base == 10 && prefix.empty() && is_word(a)) return std::to_string(word_of(a));
  IntDigits x(a);
  std::string head(x.v.sign == MP_NEG ? "-" : "");
  head += prefix;
  return x.v.used == 0 ? head + '0' : with_digits(std::move(head), x.v, base);
}
std::string int_digits(const Value& a, int base) {
  IntDigits x(a);
  return x.v.used == 0 ? "0" : with_digits({}, x.v, base);
}

Value int_from_digits(Session& s, std::string_view digits, int base, bool negative) {
  uint64_t word = 0;
  bool fits = true;
  for (char c : digits) {
    if (__builtin_mul_overflow(word, static_cast<uint64_t>(base), &word) ||
        __builtin_add_overflow(word, static_cast<uint64_t>(digit_value(c)), &word)) {
      fits = false;
      break;
    }
  }
  if (fits) return negative ? int_neg(s, int_from_u64(word)) : int_from_u64(word);
  if ((base & (base - 1)) == 0)
    return from_bits(s, digits.size(), std::countr_zero(static_cast<unsigned>(base)), negative,
                     [&](size_t i) { return static_cast<unsigned>(digit_value(digits[i])); });
  // As many digits at a time as fit a word below 2^60.
  int per = 1;
  for (uint64_t p = static_cast<uint64_t>(base); p <= (uint64_t{1} << 60) / static_cast<uint64_t>(base);
       p *= static_cast<uint64_t>(base))
    ++per;
  Mp m(static_cast<int>(static_cast<double>(digits.size()) * std::log2(base) / kDigitBits) + 3);
  if (!m.ok) return raise_memory_error(s);
  for (size_t i = 0; i < digits.size();) {
    uint64_t factor = 1, chunk = 0;
    for (int k = 0; k < per && i < digits.size(); ++k, ++i) {
      factor *= static_cast<uint64_t>(base);
      chunk = chunk * static_cast<uint64_t>(base) + static_cast<uint64_t>(digit_value(digits[i]));
    }
    poll_interrupt(s);
    if (!multiply_add(m.v, factor, chunk)) return raise_memory_error(s);
  }
  m.v.sign = negative ? MP_NEG : MP_ZPOS;
  return int_of_digits(m);
}

bool int_to_bytes(const Value& a, size_t size, bool is_signed, std::string& out) {
  int sign = int_sign(a);
  if (sign < 0 && !is_signed) return false;
  size_t bits = int_bit_length(a);
  if (is_signed) {
    // -2^(8n-1) fits in n bytes.
    bool power = sign < 0 && int_bit_count(a) == 1;
    if (sign != 0 && bits + (power ? 0 : 1) > size * 8) return false;
  } else if (bits > size * 8) {
    return false;
  }
  out.clear();
  append_fill(out, size, '\0');
  IntDigits x(a);
  size_t n = (bits + 7) / 8;
  for (size_t k = 0; k < n; ++k) {
    if (k % kBetweenLooks == 0) poll_interrupt();
    size_t at = k * 8, i = at / kDigitBits, off = at % kDigitBits;
    unsigned __int128 w = x.v.dp[i];
    if (i + 1 < static_cast<size_t>(x.v.used)) w |= static_cast<unsigned __int128>(x.v.dp[i + 1]) << kDigitBits;
    out[size - 1 - k] = static_cast<char>(w >> off);
  }
  if (sign < 0) {
    bool carry = true;
    for (size_t k = size; k-- > 0;) {
      if ((k & 0xfffff) == 0) poll_interrupt();
      auto b = static_cast<unsigned char>(~out[k]);
      if (carry) carry = ++b == 0;
      out[k] = static_cast<char>(b);
    }
  }
  return true;
}

Value int_from_bytes(Session& s, std::string_view bytes, bool is_signed) {
  bool negative = is_signed && !bytes.empty() && (bytes[0] & 0x80);
  Value v = from_bits(s, bytes.size(), 8, false, [&](size_t i) { return static_cast<unsigned char>(bytes[i]); });
  if (!negative || v.is_error()) return v;
  Value one = int_shift_left(s, Value::integer(1), Value::integer(static_cast<int64_t>(bytes.size() * 8)));
  if (one.is_error()) return one;
  return int_sub(s, v, one);
}

}  // namespace ouro::runtime
