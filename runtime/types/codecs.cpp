// Text to bytes and back: UTF-8, ASCII, Latin-1, UTF-16, UTF-32, with the error handlers strict, ignore, replace,
// backslashreplace, xmlcharrefreplace, surrogateescape and surrogatepass.
#include "runtime/object/interrupt.h"
#include "runtime/object/ops.h"
#include "runtime/text/quote.h"
#include "runtime/text/utf8.h"
#include "runtime/types/text_format.h"

namespace ouro::runtime {
namespace {

enum class Codec { unknown, utf8, ascii, latin1, utf16, utf16le, utf16be, utf32, utf32le, utf32be };

struct Named {
  Codec codec;
  const char* shown;
};

Named find_codec(std::string_view given) {
  constexpr size_t kLongestName = 16;
  std::string n;
  if (given.size() > kLongestName) return {Codec::unknown, ""};
  for (char c : given) n += c == '_' || c == ' ' ? '-' : c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  static constexpr struct {
    std::string_view name;
    Named codec;
  } kCodecs[] = {
      {"utf-8", {Codec::utf8, "utf-8"}},
      {"utf8", {Codec::utf8, "utf-8"}},
      {"u8", {Codec::utf8, "utf-8"}},
      {"ascii", {Codec::ascii, "ascii"}},
      {"us-ascii", {Codec::ascii, "ascii"}},
      {"646", {Codec::ascii, "ascii"}},
      {"latin-1", {Codec::latin1, "latin-1"}},
      {"latin1", {Codec::latin1, "latin-1"}},
      {"iso-8859-1", {Codec::latin1, "latin-1"}},
      {"iso8859-1", {Codec::latin1, "latin-1"}},
      {"l1", {Codec::latin1, "latin-1"}},
      {"cp819", {Codec::latin1, "latin-1"}},
      {"utf-16", {Codec::utf16, "utf-16"}},
      {"utf16", {Codec::utf16, "utf-16"}},
      {"utf-16-le", {Codec::utf16le, "utf-16-le"}},
      {"utf-16-be", {Codec::utf16be, "utf-16-be"}},
      {"utf-32", {Codec::utf32, "utf-32"}},
      {"utf32", {Codec::utf32, "utf-32"}},
      {"utf-32-le", {Codec::utf32le, "utf-32-le"}},
      {"utf-32-be", {Codec::utf32be, "utf-32-be"}},
  };
  for (auto& k : kCodecs)
    if (k.name == n) return k.codec;
  return {Codec::unknown, ""};
}

bool is_surrogate(uint32_t c) { return c >= 0xD800 && c <= 0xDFFF; }

bool encodable(Codec codec, uint32_t c) {
  if (codec == Codec::ascii) return c < 128;
  if (codec == Codec::latin1) return c < 256;
  return !is_surrogate(c);
}

void put(Codec codec, uint32_t c, std::string& out) {
  auto units = [&](uint32_t u, int size, bool big) {
    for (int i = 0; i < size; ++i) out += static_cast<char>(u >> 8 * (big ? size - 1 - i : i));
  };
  switch (codec) {
    case Codec::utf8:
      text::append(out, c);
      break;
    case Codec::utf16:
    case Codec::utf16le:
    case Codec::utf16be: {
      bool big = codec == Codec::utf16be;
      if (c < 0x10000) return units(c, 2, big);
      units(0xD800 + ((c - 0x10000) >> 10), 2, big);
      return units(0xDC00 + (c & 0x3FF), 2, big);
    }
    case Codec::utf32:
    case Codec::utf32le:
    case Codec::utf32be:
      return units(c, 4, codec == Codec::utf32be);
    default:
      out += static_cast<char>(c);
  }
}

Value codec_error(Session& s, ExcKind kind, const char* encoding, const Value& object, size_t start, size_t end,
                  std::string_view reason) {
  Value args = make_tuple({make_str(encoding), object, Value::integer(static_cast<int64_t>(start)),
                           Value::integer(static_cast<int64_t>(end)), make_str(reason)});
  return raise_value(s, make_exception(s, exception_type(s, kind), args), Value());
}

// What text is made of grows: between two looks at memory and interrupts.
void grow(const Session& s, const std::string& out, uint32_t& polls) {
  poll_interrupt(s, polls);
  if ((polls & 0xfff) == 0 || out.capacity() - out.size() < 16) require_memory(3 * out.size());
}

bool known_handler(std::string_view e) {
  for (std::string_view k : {"strict", "ignore", "replace", "backslashreplace", "xmlcharrefreplace", "namereplace",
                             "surrogateescape", "surrogatepass"})
    if (k == e) return true;
  return false;
}

}  // namespace

bool encode_text(Session& s, const Value& str, std::string_view encoding, std::string_view errors, std::string& out) {
  Named named = find_codec(encoding);
  require_memory(4 * (encoding.size() + errors.size()));  // for messages
  if (named.codec == Codec::unknown) {
    raise_error(s, ExcKind::LookupError, "unknown encoding: %s", std::string(encoding).c_str());
    return false;
  }
  std::string_view t = cast<Str>(str)->view();
  require_memory(3 * t.size());  // for the text, and the bytes made of it
  bool utf8 = named.codec == Codec::utf8;
  if (utf8 ? text::check_utf8(t).what.empty()
           : (named.codec == Codec::ascii || named.codec == Codec::latin1) && text::is_ascii(t)) {
    out = t;
    return true;
  }
  if (named.codec == Codec::utf16) put(named.codec, 0xFEFF, out);
  if (named.codec == Codec::utf32) put(named.codec, 0xFEFF, out);
  uint32_t polls = 0;
  CountedVector<uint32_t> points;
  for (uint32_t c : text::Points(t)) {
    poll_interrupt(s, polls);
    points.push_back(c);
  }
  const char* reason = named.codec == Codec::ascii    ? "ordinal not in range(128)"
                       : named.codec == Codec::latin1 ? "ordinal not in range(256)"
                                                      : "surrogates not allowed";
  for (size_t i = 0; i < points.size(); ++i) {
    grow(s, out, polls);
    uint32_t c = points[i];
    if (encodable(named.codec, c)) {
      put(named.codec, c, out);
      continue;
    }
    std::string one;
    text::append(one, c);
    if (errors == "ignore") continue;
    if (errors == "replace") {
      put(named.codec, '?', out);
    } else if (errors == "backslashreplace" || errors == "namereplace") {
      for (char e : text::escape_non_ascii(one)) put(named.codec, static_cast<unsigned char>(e), out);
    } else if (errors == "xmlcharrefreplace") {
      for (char e : "&#" + std::to_string(c) + ";") put(named.codec, static_cast<unsigned char>(e), out);
    } else if (errors == "surrogatepass" && is_surrogate(c) && named.codec != Codec::ascii &&
               named.codec != Codec::latin1) {
      put(named.codec, c, out);
    } else if (errors == "surrogateescape" && c >= 0xDC80 && c <= 0xDCFF &&
               (utf8 || named.codec == Codec::ascii || named.codec == Codec::latin1)) {
      out += static_cast<char>(c - 0xDC00);
    } else if (!known_handler(errors)) {
      raise_error(s, ExcKind::LookupError, "unknown error handler name '%s'", std::string(errors).c_str());
      return false;
    } else {
      size_t end = i + 1;
      while (end < points.size() && !encodable(named.codec, points[end])) ++end;
      codec_error(s, ExcKind::UnicodeEncodeError, named.shown, str, i, end, reason);
      return false;
    }
  }
  return true;
}

bool system_text(Session& s, const Value& name, std::string& out) {
  if (Bytes* b = cast<Bytes>(name))
    out = b->view();
  else if (!encode_text(s, name, "utf-8", "surrogateescape", out))
    return false;
  if (out.find('\0') == std::string::npos) return true;
  raise_value_error(s, "embedded null byte");
  return false;
}

namespace {

// What the handler puts for the bytes [start, end); false: strict.
bool handle_decode(Session& s, std::string_view errors, std::string_view raw, size_t start, size_t end,
                   std::string& out, bool& handled) {
  handled = true;
  if (errors == "ignore") return true;
  if (errors == "replace") return text::append(out, 0xFFFD), true;
  if (errors == "backslashreplace") {
    char buffer[8];
    for (size_t i = start; i < end; ++i) {
      std::snprintf(buffer, sizeof buffer, "\\x%02x", static_cast<unsigned char>(raw[i]));
      out += buffer;
    }
    return true;
  }
  if (errors == "surrogateescape") {
    for (size_t i = start; i < end; ++i) text::append(out, 0xDC00 + static_cast<unsigned char>(raw[i]));
    return true;
  }
  handled = false;
  if (known_handler(errors)) return true;
  raise_error(s, ExcKind::LookupError, "unknown error handler name '%s'", std::string(errors).c_str());
  return false;
}

Value decode_units(Session& s, const Value& object, std::string_view raw, Named named, std::string_view errors) {
  bool wide = named.codec == Codec::utf32 || named.codec == Codec::utf32le || named.codec == Codec::utf32be;
  size_t size = wide ? 4 : 2, i = 0;
  bool big = named.codec == Codec::utf16be || named.codec == Codec::utf32be;
  auto unit = [&](size_t at) {
    uint32_t u = 0;
    for (size_t k = 0; k < size; ++k)
      u |= static_cast<uint32_t>(static_cast<unsigned char>(raw[at + k])) << 8 * (big ? size - 1 - k : k);
    return u;
  };
  if ((named.codec == Codec::utf16 || named.codec == Codec::utf32) && raw.size() >= size) {
    if (unit(0) == 0xFEFF)
      i = size;
    else if (unit(0) == (wide ? 0xFFFE0000u : 0xFFFEu))
      big = true, i = size;
  }
  std::string out;
  uint32_t count = 0;
  while (i < raw.size()) {
    grow(s, out, count);
    std::string_view why;
    size_t end = std::min(i + size, raw.size());
    uint32_t c = 0;
    if (raw.size() - i < size) {
      why = "truncated data";
    } else {
      c = unit(i);
      if (!wide && c >= 0xD800 && c < 0xDC00) {
        if (i + 4 > raw.size())
          why = "unexpected end of data", end = raw.size();
        else if (uint32_t low = unit(i + 2); low >= 0xDC00 && low < 0xE000)
          c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00), end = i + 4;
        else
          why = "illegal UTF-16 surrogate";
      } else if (is_surrogate(c)) {
        why = wide ? "code point in surrogate code point range(0xd800, 0xe000)" : "illegal encoding";
      } else if (c > 0x10FFFF) {
        why = "code point not in range(0x110000)";
      }
    }
    if (why.empty()) {
      text::append(out, c);
    } else {
      bool handled;
      if (!handle_decode(s, errors, raw, i, end, out, handled)) return Value::error();
      if (!handled) return codec_error(s, ExcKind::UnicodeDecodeError, named.shown, object, i, end, why);
    }
    i = end;
  }
  return make_str(out);
}

}  // namespace

Value decode_bytes(Session& s, const Value& object, std::string_view raw, std::string_view encoding,
                   std::string_view errors) {
  Named named = find_codec(encoding);
  require_memory(4 * (encoding.size() + errors.size()));  // for messages
  std::string out;
  uint32_t polls = 0;
  bool handled;
  switch (named.codec) {
    case Codec::unknown:
      return raise_error(s, ExcKind::LookupError, "unknown encoding: %s", std::string(encoding).c_str());
    case Codec::latin1:
      require_memory(4 * raw.size());
      for (uint32_t count = 0; unsigned char c : raw) {
        poll_interrupt(s, count);
        text::append(out, c);
      }
      return make_str(out);
    case Codec::ascii:
      if (text::is_ascii(raw)) return make_str(raw);
      for (size_t i = 0; i < raw.size(); ++i) {
        grow(s, out, polls);
        if (!(raw[i] & 0x80)) {
          out += raw[i];
          continue;
        }
        if (!handle_decode(s, errors, raw, i, i + 1, out, handled)) return Value::error();
        if (!handled)
          return codec_error(s, ExcKind::UnicodeDecodeError, "ascii", object, i, i + 1, "ordinal not in range(128)");
      }
      return make_str(out);
    case Codec::utf8: {
      size_t done = 0;
      for (;;) {
        text::Utf8Problem p = text::check_utf8(raw, done, errors == "surrogatepass");
        if (p.what.empty()) break;
        grow(s, out, polls);
        append_text(out, raw.substr(done, p.start - done));
        if (!handle_decode(s, errors, raw, p.start, p.end, out, handled)) return Value::error();
        if (!handled) return codec_error(s, ExcKind::UnicodeDecodeError, "utf-8", object, p.start, p.end, p.what);
        done = p.end;
      }
      if (done == 0) return make_str(raw);
      append_text(out, raw.substr(done));
      return make_str(out);
    }
    default:
      return decode_units(s, object, raw, named, errors);
  }
}

}  // namespace ouro::runtime
