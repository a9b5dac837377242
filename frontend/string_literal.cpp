#include "frontend/string_literal.h"

#include "support/source.h"

namespace ouro::frontend {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Escapes of one character, for str and bytes alike; -1 for others.
int simple_escape(char c) {
  switch (c) {
    case '\\':
      return '\\';
    case '\'':
      return '\'';
    case '"':
      return '"';
    case 'a':
      return 7;
    case 'b':
      return 8;
    case 'f':
      return 12;
    case 'n':
      return 10;
    case 'r':
      return 13;
    case 't':
      return 9;
    case 'v':
      return 11;
    default:
      return -1;
  }
}

// Up to three octal digits at body[i]; moves i.
uint32_t octal(std::string_view body, size_t& i) {
  uint32_t v = 0;
  for (int k = 0; k < 3 && i < body.size() && body[i] >= '0' && body[i] <= '7'; ++k) v = v * 8 + (body[i++] - '0');
  return v;
}

std::string codec_error(size_t from, size_t to, const char* what) {
  return "(unicode error) 'unicodeescape' codec can't decode bytes in position " + std::to_string(from) + "-" +
         std::to_string(to) + ": " + what;
}

}  // namespace

EscapeResult decode_str(std::string_view body, std::string& out) {
  size_t shown = 0;  // position as CPython counts it: it writes other characters as \UXXXXXXXX first
  for (size_t i = 0; i < body.size();) {
    unsigned char c = static_cast<unsigned char>(body[i]);
    if (c != '\\') {
      shown += c < 0x80 ? 1 : (c & 0xC0) == 0x80 ? 0 : 10;
      out += body[i++];
      continue;
    }
    size_t at = i++;
    if (i == body.size()) {  // before a field of an f-string
      out += '\\';
      break;
    }
    char e = body[i++];
    if (int s = simple_escape(e); s >= 0) {
      out += static_cast<char>(s);
    } else if (e == '\n') {
    } else if (e >= '0' && e <= '7') {
      --i;
      append_utf8(out, octal(body, i));
    } else if (e == 'x' || e == 'u' || e == 'U') {
      int digits = e == 'x' ? 2 : e == 'u' ? 4 : 8;
      uint32_t v = 0;
      for (int k = 0; k < digits; ++k, ++i) {
        int h = i < body.size() ? hex_value(body[i]) : -1;
        if (h < 0) {
          const char* what = e == 'x'   ? "truncated \\xXX escape"
                             : e == 'u' ? "truncated \\uXXXX escape"
                                        : "truncated \\UXXXXXXXX escape";
          return {EscapeFault::error, codec_error(shown, shown + static_cast<size_t>(k) + 1, what)};
        }
        v = v * 16 + static_cast<uint32_t>(h);
      }
      if (v > 0x10FFFF) return {EscapeFault::error, codec_error(shown, shown + 9, "illegal Unicode character")};
      append_utf8(out, v);
    } else if (e == 'N') {
      if (i >= body.size() || body[i] != '{' || body.find('}', i) == body.npos || body.find('}', i) == i + 1) {
        size_t close = i < body.size() && body[i] == '{' ? std::min(body.find('}', i), body.size() - 1) : at + 1;
        return {EscapeFault::error, codec_error(shown, shown + (close - at), "malformed \\N character escape")};
      }
      return {EscapeFault::named_character, {}};
    } else {
      out += '\\';
      --i;
      shown += 1;
      continue;
    }
    shown += i - at;
  }
  return {};
}

EscapeResult decode_bytes(std::string_view body, std::string& out) {
  for (size_t i = 0; i < body.size();) {
    if (body[i] != '\\' || i + 1 == body.size()) {
      out += body[i++];
      continue;
    }
    size_t at = i++;
    char e = body[i++];
    if (int s = simple_escape(e); s >= 0) {
      out += static_cast<char>(s);
    } else if (e == '\n') {
    } else if (e >= '0' && e <= '7') {
      --i;
      out += static_cast<char>(octal(body, i));
    } else if (e == 'x') {
      int hi = i < body.size() ? hex_value(body[i]) : -1, lo = i + 1 < body.size() ? hex_value(body[i + 1]) : -1;
      if (hi < 0 || lo < 0)
        return {EscapeFault::error, "(value error) invalid \\x escape at position " + std::to_string(at)};
      out += static_cast<char>(hi * 16 + lo);
      i += 2;
    } else {
      out += '\\';
      --i;
    }
  }
  return {};
}

StringParts split_string(std::string_view literal) {
  StringParts p;
  uint32_t i = 0;
  for (; literal[i] != '\'' && literal[i] != '"'; ++i) {
    char c = static_cast<char>(literal[i] | 0x20);
    p.raw |= c == 'r';
    p.bytes |= c == 'b';
    p.formatted |= c == 'f';
    p.u_prefix |= literal[i] == 'u';
  }
  bool triple = literal.size() >= i + 6 && literal[i + 1] == literal[i] && literal[i + 2] == literal[i];
  uint32_t quote = triple ? 3 : 1;
  p.begin = i + quote;
  p.end = static_cast<uint32_t>(literal.size()) - quote;
  return p;
}

}  // namespace ouro::frontend
