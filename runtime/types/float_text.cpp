#include "runtime/types/float_text.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "runtime/machine/memory.h"
#include "runtime/object/interrupt.h"
#include "runtime/text/unicode.h"
#include "runtime/text/utf8.h"

namespace ouro::runtime::text {
namespace {

// float("nan") makes a new object in CPython each time, and lists, sets and dicts compare by identity first. Floats are
// told apart by their bits here, so each such NaN has its own.
double fresh_nan() {
  static std::atomic<uint64_t> made{0};
  // Quiet, and the number in the lower half, which the conversion to f32 drops.
  return std::bit_cast<double>(0x7FF8000000000000u | (1 + made.fetch_add(1, std::memory_order_relaxed) % 0x1FFFFFFF));
}

// Digits d1 d2 ... and where the point stands: 0.d1d2... * 10^point.
struct Decimal {
  std::string digits;
  int point = 0;
};

Decimal split_scientific(const char* first, const char* last) {
  Decimal d;
  const char* e = last - 1;
  while (e != first && *e != 'e') --e;
  for (const char* p = first; p != e; ++p)
    if (*p != '.') d.digits += *p;
  int exponent = 0;
  std::from_chars(e[1] == '+' ? e + 2 : e + 1, last, exponent);
  d.point = exponent + 1;
  return d;
}

Decimal shortest(double x) {
  char buffer[40];
  auto r = std::to_chars(buffer, buffer + sizeof buffer, x, std::chars_format::scientific);
  return split_scientific(buffer, r.ptr);
}

// No double has more digits: what follows them are zeros.
constexpr int kMostDigits = 800, kMostDecimals = 1100;

Decimal with_digits(double x, int ndigits) {
  ndigits = std::min(ndigits, kMostDigits);
  std::string buffer(static_cast<size_t>(ndigits) + 32, '\0');
  auto r = std::to_chars(buffer.data(), buffer.data() + buffer.size(), x, std::chars_format::scientific, ndigits - 1);
  return split_scientific(buffer.data(), r.ptr);
}

void strip_zeros(std::string& digits) {
  while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
}

std::string exponent_text(int e, bool upper) {
  std::string out = upper ? "E" : "e";
  out += e < 0 ? '-' : '+';
  std::string n = std::to_string(std::abs(e));
  if (n.size() < 2) out += '0';
  return out + n;
}

// Lays the digits out; `keep` digits are wanted in all (the rest are zeros), or as many as there are.
std::string lay_out(Decimal d, bool exponent, int keep, bool upper, unsigned flags) {
  std::string& g = d.digits;
  if (static_cast<int>(g.size()) < keep) runtime::append_fill(g, static_cast<size_t>(keep) - g.size(), '0');
  std::string out;
  if (exponent) {
    out = g.substr(0, 1);
    if (g.size() > 1 || (flags & kFloatAlt)) out += '.';
    out += g.substr(1);
    return out + exponent_text(d.point - 1, upper);
  }
  if (d.point <= 0) {
    out = "0." + std::string(static_cast<size_t>(-d.point), '0') + g;
  } else if (d.point >= static_cast<int>(g.size())) {
    out = g + std::string(static_cast<size_t>(d.point) - g.size(), '0');
    if (flags & kFloatAddDot0)
      out += ".0";
    else if (flags & kFloatAlt)
      out += '.';
  } else {
    out = g.substr(0, static_cast<size_t>(d.point)) + "." + g.substr(static_cast<size_t>(d.point));
  }
  return out;
}

std::string fixed(double x, int precision, unsigned flags) {
  const int exact = std::min(precision, kMostDecimals);
  std::string buffer(static_cast<size_t>(exact) + 330, '\0');
  auto r = std::to_chars(buffer.data(), buffer.data() + buffer.size(), x, std::chars_format::fixed, exact);
  buffer.resize(static_cast<size_t>(r.ptr - buffer.data()));
  runtime::append_fill(buffer, static_cast<size_t>(precision - exact), '0');
  if (precision == 0) {
    if (flags & kFloatAlt)
      buffer += '.';
    else if (flags & kFloatAddDot0)
      buffer += ".0";
  }
  return buffer;
}

std::string general(double x, int precision, bool upper, unsigned flags) {
  if (precision == 0) precision = 1;
  // More digits than a double has are zeros: 767 significant ones at most.
  Decimal d = with_digits(x, precision);
  if (!(flags & kFloatAlt)) strip_zeros(d.digits);
  if (x == 0) d.point = 1;
  bool exponent = d.point <= -4 || d.point > precision - ((flags & kFloatAddDot0) ? 1 : 0);
  return lay_out(std::move(d), exponent, (flags & kFloatAlt) ? precision : 0, upper,
                 exponent ? flags & ~kFloatAddDot0 : flags);
}

}  // namespace

std::string format_double(double x, char code, int precision, unsigned flags) {
  bool upper = code == 'E' || code == 'F' || code == 'G';
  if (std::isnan(x)) return upper ? "NAN" : "nan";
  std::string sign = std::signbit(x) ? "-" : "";
  x = std::fabs(x);
  if (std::isinf(x)) return sign + (upper ? "INF" : "inf");
  switch (code) {
    case 'r': {
      Decimal d = x == 0 ? Decimal{"0", 1} : shortest(x);
      bool exponent = d.point <= -4 || d.point > 16;
      return sign + lay_out(std::move(d), exponent, 0, false, flags);
    }
    case 'e':
    case 'E': {
      Decimal d = with_digits(x, precision + 1);
      if (x == 0) d.point = 1;
      return sign + lay_out(std::move(d), true, precision + 1, upper, flags);
    }
    case 'f':
    case 'F':
      return sign + fixed(x, precision, flags);
    default:
      return sign + general(x, precision, upper, flags);
  }
}

std::string to_ascii_digits(std::string_view s) {
  if (is_ascii(s)) return std::string(s);
  std::string out;
  for (uint32_t c : Points(s)) {
    if (c < 128)
      out += static_cast<char>(c);
    else if (is_space(c))
      out += ' ';
    else if (int v = char_record(c).decimal; v >= 0)
      out += static_cast<char>('0' + v);
    else
      out += '?';
  }
  return out;
}

std::optional<double> parse_float(std::string_view source) {
  std::string folded;
  if (!is_ascii(source)) {
    folded = to_ascii_digits(source);
    source = folded;
  }
  while (!source.empty() && is_space(static_cast<unsigned char>(source.front()))) source.remove_prefix(1);
  while (!source.empty() && is_space(static_cast<unsigned char>(source.back()))) source.remove_suffix(1);
  std::string plain;
  if (source.find('_') != std::string_view::npos) {  // only between digits
    for (size_t i = 0; i < source.size(); ++i) {
      if (source[i] != '_') {
        plain += source[i];
        continue;
      }
      auto digit = [&](size_t k) { return k < source.size() && source[k] >= '0' && source[k] <= '9'; };
      if (i == 0 || !digit(i - 1) || !digit(i + 1)) return {};
    }
    source = plain;
  }
  bool negative = false;
  if (!source.empty() && (source[0] == '+' || source[0] == '-')) {
    negative = source[0] == '-';
    source.remove_prefix(1);
  }
  if (source.empty()) return {};
  auto is_word = [&](std::string_view w) {
    if (w.size() != source.size()) return false;
    for (size_t i = 0; i < w.size(); ++i)
      if ((source[i] | 32) != w[i]) return false;
    return true;
  };
  if (is_word("inf") || is_word("infinity")) return negative ? -HUGE_VAL : HUGE_VAL;
  if (is_word("nan")) return std::copysign(fresh_nan(), negative ? -1.0 : 1.0);
  if (source[0] != '.' && (source[0] < '0' || source[0] > '9')) return {};
  double x = 0;
  auto r = std::from_chars(source.data(), source.data() + source.size(), x, std::chars_format::general);
  if (r.ptr != source.data() + source.size()) return {};
  if (r.ec == std::errc::result_out_of_range)
    x = std::strtod(std::string(source).c_str(), nullptr);  // 0 or infinity
  else if (r.ec != std::errc())
    return {};
  return negative ? -x : x;
}

double round_to_digits(double x, long ndigits) {
  if (!std::isfinite(x) || x == 0) return x;
  if (ndigits > 323) return x;
  if (ndigits < -308) return std::copysign(0.0, x);
  double m = std::fabs(x), result = 0;
  std::string text;
  if (ndigits >= 0) {
    text = fixed(m, static_cast<int>(ndigits), 0);
  } else {
    int point = shortest(m).point;                   // m < 10^point
    int digits = point + static_cast<int>(ndigits);  // significant digits that stay
    if (digits < 0) return std::copysign(0.0, x);
    if (digits == 0) {  // 0 or 10^-ndigits: a tie goes to 0, which is even
      Decimal half{"5", point};
      Decimal exact = with_digits(m, 780);
      strip_zeros(exact.digits);
      if (exact.digits <= half.digits) return std::copysign(0.0, x);
      text = "1e" + std::to_string(-ndigits);
    } else {
      Decimal d = with_digits(m, digits);
      text = d.digits + "e" + std::to_string(d.point - static_cast<int>(d.digits.size()));
    }
  }
  auto r = std::from_chars(text.data(), text.data() + text.size(), result);
  if (r.ec == std::errc::result_out_of_range) result = std::strtod(text.c_str(), nullptr);
  return std::copysign(result, x);
}

std::string float_hex(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
  std::string sign = std::signbit(x) ? "-" : "";
  if (x == 0) return sign + "0x0.0p+0";
  uint64_t bits;
  std::memcpy(&bits, &x, 8);
  uint64_t fraction = bits & 0xFFFFFFFFFFFFFull;
  int exponent = static_cast<int>(bits >> 52 & 0x7FF);
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "0x%d.%013llxp%+d", exponent ? 1 : 0, static_cast<unsigned long long>(fraction),
                exponent ? exponent - 1023 : -1022);
  return sign + buffer;
}

HexError float_from_hex(std::string_view s, double& out) {
  while (!s.empty() && is_space(static_cast<unsigned char>(s.front()))) s.remove_prefix(1);
  while (!s.empty() && is_space(static_cast<unsigned char>(s.back()))) s.remove_suffix(1);
  std::string t(s);
  for (char& c : t) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  size_t i = !t.empty() && (t[0] == '+' || t[0] == '-') ? 1 : 0;
  bool negative = i && t[0] == '-';
  std::string_view body = std::string_view(t).substr(i);
  if (body == "inf" || body == "infinity" || body == "nan") {
    out = body == "nan" ? fresh_nan() : HUGE_VAL;
    if (negative) out = -out;
    return HexError::none;
  }
  if (body.substr(0, 2) == "0x") body.remove_prefix(2);
  // digits [. digits] [p exponent], with a digit somewhere: then strtod reads it, correctly rounded.
  size_t k = 0, digits = 0;
  auto hex = [&](size_t j) { return j < body.size() && std::isxdigit(static_cast<unsigned char>(body[j])); };
  for (; hex(k); ++k) ++digits;
  if (k < body.size() && body[k] == '.')
    for (++k; hex(k); ++k) ++digits;
  if (!digits) return HexError::invalid;
  if (k < body.size()) {
    if (body[k] != 'p') return HexError::invalid;
    ++k;
    if (k < body.size() && (body[k] == '+' || body[k] == '-')) ++k;
    if (k == body.size()) return HexError::invalid;
    for (; k < body.size(); ++k)
      if (body[k] < '0' || body[k] > '9') return HexError::invalid;
  }
  out = std::strtod(("0x" + std::string(body)).c_str(), nullptr);
  if (std::isinf(out)) return HexError::too_large;
  if (negative) out = -out;
  return HexError::none;
}

}  // namespace ouro::runtime::text
