#include "runtime/text/unicode.h"

#include "runtime/text/utf8.h"

namespace ouro::runtime::text {
namespace {

#include "runtime/text/unicode_tables.inc"

constexpr int32_t kLongCase = 1 << 24;

void append_mapped(std::string& out, uint32_t c, int32_t mapping) {
  if (mapping < kLongCase) {
    append(out, c + static_cast<uint32_t>(mapping));
    return;
  }
  const uint32_t* entry = kLongCases + (mapping - kLongCase);
  for (uint32_t i = 1; i <= entry[0]; ++i) append(out, entry[i]);
}

// Is the sigma at `p` the last letter of a word (Unicode's Final_Sigma condition)?
bool is_final_sigma(std::string_view s, const char* p) {
  const char* begin = s.data();
  const char* end = begin + s.size();
  const char* q = p;
  bool cased = false;
  while (q > begin) {
    uint32_t c = decode_before(q);
    if (has(c, kCaseIgnorable)) continue;
    cased = has(c, kCased);
    break;
  }
  if (!cased) return false;
  for (q = p + 2; q < end;) {
    uint32_t c = decode(q);
    if (has(c, kCaseIgnorable)) continue;
    return !has(c, kCased);
  }
  return true;
}

void append_lower(std::string& out, std::string_view s, const char* at, uint32_t c) {
  if (c == 0x3A3)
    append(out, is_final_sigma(s, at) ? 0x3C2 : 0x3C3);
  else
    append_mapped(out, c, char_record(c).lower);
}

char ascii_upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; }
char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

template <class F>
std::string map_ascii(std::string_view s, F f) {
  std::string out;
  out.reserve(s.size());
  for (; !s.empty(); s.remove_prefix(std::min(kPiece, s.size()))) {
    poll_interrupt();
    const size_t from = out.size();
    out += s.substr(0, kPiece);
    for (size_t i = from; i < out.size(); ++i) out[i] = f(out[i]);
  }
  return out;
}

}  // namespace

const CharRecord& char_record(uint32_t c) {
  if (c > 0x10FFFF) c = 0xE000;
  return kRecords[kRecordOf[kBlockOf[c >> 7]][c & 127]];
}

bool is_line_break(uint32_t c) {
  return (c >= 10 && c <= 13) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

bool is_identifier(std::string_view s) {
  bool first = true;
  for (uint32_t c : Points(s)) {
    if (!has(c, first ? kIdStart : kIdContinue)) return false;
    first = false;
  }
  return !first;
}

std::string to_upper(std::string_view s) {
  if (is_ascii(s)) return map_ascii(s, ascii_upper);
  std::string out;
  for (uint32_t c : Points(s)) append_mapped(out, c, char_record(c).upper);
  return out;
}

std::string to_lower(std::string_view s) {
  if (is_ascii(s)) return map_ascii(s, ascii_lower);
  std::string out;
  const char* end = s.data() + s.size();
  uint32_t count = 0;
  for (const char* p = s.data(); p < end;) {
    if ((++count & 0xffff) == 0) poll_interrupt();
    const char* at = p;
    uint32_t c = decode(p);
    append_lower(out, s, at, c);
  }
  return out;
}

std::string to_title(std::string_view s) {
  std::string out;
  bool in_word = false;
  const char* end = s.data() + s.size();
  uint32_t count = 0;
  for (const char* p = s.data(); p < end;) {
    if ((++count & 0xffff) == 0) poll_interrupt();
    const char* at = p;
    uint32_t c = decode(p);
    if (in_word)
      append_lower(out, s, at, c);
    else
      append_mapped(out, c, char_record(c).title);
    in_word = has(c, kCased);
  }
  return out;
}

std::string capitalize(std::string_view s) {
  std::string out;
  const char* end = s.data() + s.size();
  uint32_t count = 0;
  for (const char* p = s.data(); p < end;) {
    if ((++count & 0xffff) == 0) poll_interrupt();
    const char* at = p;
    uint32_t c = decode(p);
    if (at == s.data())
      append_mapped(out, c, char_record(c).title);
    else
      append_lower(out, s, at, c);
  }
  return out;
}

std::string casefold(std::string_view s) {
  if (is_ascii(s)) return map_ascii(s, ascii_lower);
  std::string out;
  for (uint32_t c : Points(s)) append_mapped(out, c, char_record(c).fold);
  return out;
}

std::string swapcase(std::string_view s) {
  std::string out;
  const char* end = s.data() + s.size();
  uint32_t count = 0;
  for (const char* p = s.data(); p < end;) {
    if ((++count & 0xffff) == 0) poll_interrupt();
    const char* at = p;
    uint32_t c = decode(p);
    const CharRecord& r = char_record(c);
    if (r.flags & kUpper)
      append_lower(out, s, at, c);
    else if (r.flags & kLower)
      append_mapped(out, c, r.upper);
    else
      append(out, c);
  }
  return out;
}

}  // namespace ouro::runtime::text
