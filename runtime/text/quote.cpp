#include "runtime/text/quote.h"

#include <cstdio>

#include "runtime/text/unicode.h"
#include "runtime/text/utf8.h"

namespace ouro::runtime::text {
namespace {

void append_escape(std::string& out, uint32_t c) {
  char buffer[16];
  std::snprintf(buffer, sizeof buffer, c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x", c);
  out += buffer;
}

// The quote sign: ' unless the text has ' and no ".
char choose_quote(std::string_view s) {
  return s.find('\'') != std::string_view::npos && s.find('"') == std::string_view::npos ? '"' : '\'';
}

// \t, \n, \r, the quote and the backslash; false if the character is none of these.
bool append_simple(std::string& out, uint32_t c, char sign) {
  switch (c) {
    case '\t':
      out += "\\t";
      return true;
    case '\n':
      out += "\\n";
      return true;
    case '\r':
      out += "\\r";
      return true;
    case '\\':
      out += "\\\\";
      return true;
    default:
      if (c != static_cast<uint32_t>(sign)) return false;
      out += '\\';
      out += sign;
      return true;
  }
}

}  // namespace

std::string quote(std::string_view s, bool ascii_only) {
  char sign = choose_quote(s);
  std::string out;
  out.reserve(s.size() + 2);
  out += sign;
  for (uint32_t c : Points(s)) {
    if (append_simple(out, c, sign)) continue;
    if (c < 128 ? c >= 32 && c != 127 : !ascii_only && has(c, kPrintable))
      append(out, c);
    else
      append_escape(out, c);
  }
  out += sign;
  return out;
}

std::string quote_bytes(std::string_view s, bool apostrophes) {
  char sign = choose_quote(s);
  std::string out = "b";
  out += sign;
  uint32_t count = 0;
  for (unsigned char c : s) {
    if ((++count & 0xffff) == 0) poll_interrupt();
    if (apostrophes && (c == '\'' || c == '"')) {
      if (c == '\'') out += '\\';
      out += static_cast<char>(c);
      continue;
    }
    if (append_simple(out, c, sign)) continue;
    if (c >= 32 && c < 127)
      out += static_cast<char>(c);
    else
      append_escape(out, c);
  }
  out += sign;
  return out;
}

std::string escape_non_ascii(std::string_view s) {
  std::string out;
  for (uint32_t c : Points(s)) {
    if (c < 128)
      out += static_cast<char>(c);
    else
      append_escape(out, c);
  }
  return out;
}

}  // namespace ouro::runtime::text
