// After CPython's Python/formatter_unicode.c, whose checks and their order decide which error a wrong spec gets.
#include "runtime/types/format_spec.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <vector>

#include "runtime/machine/memory.h"
#include "runtime/object/interrupt.h"
#include "runtime/text/unicode.h"
#include "runtime/text/utf8.h"
#include "runtime/types/float_text.h"

namespace ouro::runtime::text {
namespace {

bool is_align(uint32_t c) { return c == '<' || c == '>' || c == '=' || c == '^'; }

bool grouping_error(uint32_t grouping, uint32_t type, TextError& error) {
  std::string g(1, static_cast<char>(grouping));
  if (type > 32 && type < 128)
    return error.set("ValueError", "Cannot specify '" + g + "' with '" + static_cast<char>(type) + "'.");
  char hex[16];
  std::snprintf(hex, sizeof hex, "\\x%x", type);
  return error.set("ValueError", "Cannot specify '" + g + "' with '" + hex + "'.");
}

// A decimal number at `i`; -1 when there is none, false when it is too large.
bool read_number(const std::vector<uint32_t>& c, size_t& i, long& out, TextError& error) {
  long n = 0;
  size_t start = i;
  for (; i < c.size(); ++i) {
    int d = c[i] < 128 ? (c[i] >= '0' && c[i] <= '9' ? static_cast<int>(c[i] - '0') : -1) : char_record(c[i]).decimal;
    if (d < 0) break;
    if (n > (LONG_MAX - d) / 10) return error.set("ValueError", "Too many decimal digits in format string");
    n = n * 10 + d;
  }
  out = i == start ? -1 : n;
  return true;
}

bool read_grouping(const std::vector<uint32_t>& c, size_t& i, FormatSpec& f, TextError& error) {
  auto at = [&](char x) { return i < c.size() && c[i] == static_cast<uint32_t>(x); };
  if (at(',')) {
    f.grouping = ',';
    ++i;
  }
  if (at('_')) {
    if (f.grouping) return error.set("ValueError", "Cannot specify both ',' and '_'.");
    f.grouping = '_';
    ++i;
  }
  if (at(',') && f.grouping == '_') return error.set("ValueError", "Cannot specify both ',' and '_'.");
  return true;
}

// Digits with separators, at least `min_width` wide by leading zeros. (CPython's _PyUnicode_InsertThousandsGrouping.)
std::string group_digits(std::string_view digits, char separator, int group, long min_width) {
  std::string reversed;
  long remaining = static_cast<long>(digits.size());
  require_memory(4 * static_cast<size_t>(std::max(min_width, 0L)));
  bool first = true;
  if (!separator) group = INT_MAX;
  while (true) {
    long l = std::min<long>(group, std::max<long>(std::max(remaining, min_width), 1));
    long chars = std::max<long>(0, std::min(remaining, l)), zeros = std::max<long>(0, l - remaining);
    if (!first) reversed += separator;
    first = false;
    for (long i = 0; i < chars; ++i) reversed += digits[static_cast<size_t>(remaining - 1 - i)];
    runtime::append_fill(reversed, static_cast<size_t>(zeros), '0');
    remaining -= chars;
    min_width -= l;
    if (remaining <= 0 && min_width <= 0) break;
    min_width -= 1;
  }
  std::reverse(reversed.begin(), reversed.end());
  return reversed;
}

void append_fill(std::string& out, uint32_t fill, long n) {
  if (fill < 128) {
    if (n > 0) runtime::append_fill(out, static_cast<size_t>(n), static_cast<char>(fill));
    return;
  }
  std::string piece;
  append(piece, fill);
  append_repeated(out, static_cast<size_t>(std::max(n, 0L)), piece);
}

// Text of `width` columns with fill on the sides.
void append_aligned(std::string& out, std::string_view s, long columns, char align, uint32_t fill, long width) {
  long pad = std::max<long>(0, width - columns);
  long left = align == '>' ? pad : align == '^' ? pad / 2 : 0;
  append_fill(out, fill, left);
  out += s;
  append_fill(out, fill, pad - left);
}

// sign, prefix, grouped digits, and what stands after them ("." fraction, exponent, "%").
void compose_number(std::string& out, bool negative, std::string_view prefix, std::string_view digits,
                    std::string_view rest, int group, const FormatSpec& f) {
  std::string head;
  if (negative)
    head = "-";
  else if (f.sign == '+' || f.sign == ' ')
    head = std::string(1, f.sign);
  head += prefix;
  long others = static_cast<long>(head.size() + rest.size());
  long min_width = f.fill == '0' && f.align == '=' ? f.width - others : 0;
  std::string body = digits.empty() ? std::string() : group_digits(digits, f.grouping, group, min_width);
  if (f.align == '=') {
    out += head;
    append_fill(out, f.fill, f.width - others - static_cast<long>(body.size()));
    out += body;
    out += rest;
    return;
  }
  std::string whole = head + body;
  whole += rest;
  append_aligned(out, whole, static_cast<long>(whole.size()), f.align, f.fill, f.width);
}

}  // namespace

bool unknown_code(uint32_t code, std::string_view type_name, TextError& error) {
  std::string shown;
  if (code > 32 && code < 128)
    shown = std::string(1, static_cast<char>(code));
  else {
    char hex[16];
    std::snprintf(hex, sizeof hex, "\\x%x", code);
    shown = hex;
  }
  return error.set("ValueError",
                   "Unknown format code '" + shown + "' for object of type '" + std::string(type_name) + "'");
}

bool parse_spec(std::string_view text, std::string_view type_name, char default_type, char default_align, FormatSpec& f,
                TextError& error) {
  std::vector<uint32_t> c;
  c.reserve(text.size());
  for (uint32_t p : Points(text)) c.push_back(p);
  size_t i = 0;
  auto at = [&](char x) { return i < c.size() && c[i] == static_cast<uint32_t>(x); };
  f.align = default_align;
  f.type = static_cast<uint32_t>(default_type);
  bool fill_given = false;
  if (c.size() >= 2 && is_align(c[1])) {
    f.fill = c[0];
    f.align = static_cast<char>(c[1]);
    fill_given = f.align_given = true;
    i = 2;
  } else if (!c.empty() && is_align(c[0])) {
    f.align = static_cast<char>(c[0]);
    f.align_given = true;
    i = 1;
  }
  if (at('+') || at('-') || at(' ')) f.sign = static_cast<char>(c[i++]);
  if (at('z')) {
    f.zero_negative = true;
    ++i;
  }
  if (at('#')) {
    f.alternate = true;
    ++i;
  }
  if (!fill_given && at('0')) {
    f.fill = '0';
    if (!f.align_given && default_align == '>') f.align = '=';
    ++i;
  }
  if (!read_number(c, i, f.width, error)) return false;
  if (!read_grouping(c, i, f, error)) return false;
  if (at('.')) {
    ++i;
    if (!read_number(c, i, f.precision, error)) return false;
    if (f.precision < 0) return error.set("ValueError", "Format specifier missing precision");
  }
  if (c.size() - i > 1) {
    return error.set("ValueError", "Invalid format specifier '" + std::string(text) + "' for object of type '" +
                                       std::string(type_name) + "'");
  }
  if (c.size() - i == 1) f.type = c[i];
  if (f.type == 0 && i < c.size() && type_name != "float")  // (a float's type that is not given is a NUL in CPython)
    return unknown_code(0, type_name, error);
  if (f.grouping) {
    switch (f.type) {
      case 'd':
      case 'e':
      case 'f':
      case 'g':
      case 'E':
      case 'G':
      case '%':
      case 'F':
      case 0:
        break;
      case 'b':
      case 'o':
      case 'x':
      case 'X':
        if (f.grouping == '_') break;
        [[fallthrough]];
      default:
        return grouping_error(static_cast<uint32_t>(f.grouping), f.type, error);
    }
  }
  return true;
}

bool format_str(std::string& out, std::string_view s, const FormatSpec& f, TextError& error) {
  if (f.type != 's') return unknown_code(f.type, "str", error);
  if (f.sign == ' ') return error.set("ValueError", "Space not allowed in string format specifier");
  if (f.sign) return error.set("ValueError", "Sign not allowed in string format specifier");
  if (f.zero_negative)
    return error.set("ValueError", "Negative zero coercion (z) not allowed in string format specifier");
  if (f.alternate) return error.set("ValueError", "Alternate form (#) not allowed in string format specifier");
  if (f.align == '=') return error.set("ValueError", "'=' alignment not allowed in string format specifier");
  long columns = static_cast<long>(count_points(s));
  if (f.precision >= 0 && f.precision < columns) {
    s = s.substr(0, byte_offset(s, static_cast<size_t>(f.precision)));
    columns = f.precision;
  }
  append_aligned(out, s, columns, f.align, f.fill, f.width);
  return true;
}

bool format_float(std::string& out, double x, const FormatSpec& f, std::string_view type_name, TextError& error) {
  uint32_t type = f.type;
  switch (type) {
    case 0:
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
    case 'n':
    case '%':
      break;
    default:
      return unknown_code(type, type_name, error);
  }
  if (f.precision > INT_MAX) return error.set("ValueError", "precision too big");
  int precision = static_cast<int>(f.precision);
  unsigned flags = f.alternate ? unsigned{kFloatAlt} : 0;
  bool percent = type == '%';
  char code = static_cast<char>(type);
  if (type == 0) {
    flags |= kFloatAddDot0;
    code = precision < 0 ? 'r' : 'g';
  } else if (type == 'n') {
    code = 'g';
  } else if (percent) {
    code = 'f';
    x *= 100;
  }
  if (precision < 0) precision = 6;
  std::string text = format_double(x, code, precision, flags);
  bool negative = text[0] == '-';
  if (negative) text.erase(0, 1);
  if (negative && f.zero_negative) {  // a zero after rounding loses its sign
    size_t end = text.find_first_of("eE");
    if (text.substr(0, end).find_first_of("123456789in") == std::string::npos) negative = false;
  }
  if (percent) text += '%';
  size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  std::string_view view = text;
  compose_number(out, negative, "", view.substr(0, digits), view.substr(digits), 3, f);
  return true;
}

int int_spec_base(const FormatSpec& f, std::string_view type_name, TextError& error) {
  int base;
  switch (f.type) {
    case 'b':
      base = 2;
      break;
    case 'o':
      base = 8;
      break;
    case 'x':
    case 'X':
      base = 16;
      break;
    case 'd':
    case 'n':
    case 0:
      base = 10;
      break;
    case 'c':
      base = 1;
      break;
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
    case '%':
      return 0;
    default:
      unknown_code(f.type, type_name, error);
      return -1;
  }
  if (f.precision >= 0)
    error.set("ValueError", "Precision not allowed in integer format specifier");
  else if (f.zero_negative)
    error.set("ValueError", "Negative zero coercion (z) not allowed in integer format specifier");
  else if (base == 1 && f.sign)
    error.set("ValueError", "Sign not allowed with integer format specifier 'c'");
  else if (base == 1 && f.alternate)
    error.set("ValueError", "Alternate form (#) not allowed with integer format specifier 'c'");
  return error.kind ? -1 : base;
}

void format_int(std::string& out, bool negative, std::string digits, const FormatSpec& f) {
  std::string prefix;
  int group = 3;
  switch (f.type) {
    case 'b':
      prefix = "0b";
      group = 4;
      break;
    case 'o':
      prefix = "0o";
      group = 4;
      break;
    case 'x':
      prefix = "0x";
      group = 4;
      break;
    case 'X':
      prefix = "0X";
      group = 4;
      for (char& c : digits) c = c >= 'a' && c <= 'f' ? static_cast<char>(c - 32) : c;
      break;
    case 'c': {
      if (f.align == '=') {
        append_fill(out, f.fill, f.width - 1);
        out += digits;
      } else {
        append_aligned(out, digits, 1, f.align, f.fill, f.width);
      }
      return;
    }
    default:
      break;
  }
  if (!f.alternate) prefix.clear();
  compose_number(out, negative, prefix, digits, "", group, f);
}

}  // namespace ouro::runtime::text
