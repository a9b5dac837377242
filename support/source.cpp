#include "support/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace ouro {
inline namespace support {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\f'; }

// The name in `# -*- coding: name -*-`, or empty: PEP 263's  ^[ \t\f]*#.*?coding[:=][
// \t]*([-_.a-zA-Z0-9]+)
std::string find_cookie(std::string_view line) {
  size_t i = 0;
  while (i < line.size() && is_blank(line[i])) ++i;
  if (i == line.size() || line[i] != '#') return {};
  for (size_t at = line.find("coding", i); at != line.npos; at = line.find("coding", at + 1)) {
    size_t p = at + 6;
    if (p >= line.size() || (line[p] != ':' && line[p] != '=')) continue;
    ++p;
    while (p < line.size() && (line[p] == ' ' || line[p] == '\t')) ++p;
    size_t start = p;
    auto part = [](char c) { return isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.'; };
    while (p < line.size() && part(line[p])) ++p;
    if (p > start) return std::string(line.substr(start, p - start));
  }
  return {};
}

std::string normal_encoding(std::string name) {
  for (char& c : name) c = c == '_' ? '-' : static_cast<char>(tolower(static_cast<unsigned char>(c)));
  auto is = [&](std::string_view stem) { return name == stem || name.starts_with(std::string(stem) + "-"); };
  if (is("utf-8") || name == "utf8" || name == "u8") return "utf-8";
  if (is("windows-1252") || is("cp1252") || is("1252")) return "windows-1252";
  if (is("iso-8859-15") || is("latin-9") || is("latin9")) return "iso-8859-15";
  if (is("latin-1") || is("iso-8859-1") || is("iso-latin-1") || name == "latin1") return "latin-1";
  if (name == "ascii" || name == "us-ascii") return "ascii";
  return name;
}

// What a byte stands for in an encoding of one byte a character.
char32_t of_byte(std::string_view encoding, unsigned char c) {
  static constexpr char32_t kWindows[32] = {0x20AC, 0x81,   0x201A, 0x192,  0x201E, 0x2026, 0x2020, 0x2021,
                                            0x2C6,  0x2030, 0x160,  0x2039, 0x152,  0x8D,   0x17D,  0x8F,
                                            0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                            0x2DC,  0x2122, 0x161,  0x203A, 0x153,  0x9D,   0x17E,  0x178};
  if (encoding == "windows-1252") return c >= 0x80 && c < 0xA0 ? kWindows[c - 0x80] : c;
  if (encoding == "iso-8859-15") switch (c) {
      case 0xA4:
        return 0x20AC;
      case 0xA6:
        return 0x160;
      case 0xA8:
        return 0x161;
      case 0xB4:
        return 0x17D;
      case 0xB8:
        return 0x17E;
      case 0xBC:
        return 0x152;
      case 0xBD:
        return 0x153;
      case 0xBE:
        return 0x178;
    }
  return c;
}

// The cookie counts in line 1, or in line 2 when line 1 is blank or a comment.
std::string declared_encoding(std::string_view bytes) {
  for (int line_no = 0; line_no < 2; ++line_no) {
    size_t end = bytes.find_first_of("\r\n");
    std::string_view line = bytes.substr(0, end);
    if (std::string found = find_cookie(line); !found.empty()) return found;
    size_t i = 0;
    while (i < line.size() && is_blank(line[i])) ++i;
    if ((i < line.size() && line[i] != '#') || end == bytes.npos) return {};
    bytes.remove_prefix(end + (bytes.substr(end).starts_with("\r\n") ? 2 : 1));
  }
  return {};
}

std::string normal_newlines(std::string_view bytes) {
  std::string out;
  if (bytes.find('\r') == bytes.npos) return std::string(bytes);
  out.reserve(bytes.size());
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != '\r') {
      out += bytes[i];
      continue;
    }
    out += '\n';
    if (i + 1 < bytes.size() && bytes[i + 1] == '\n') ++i;
  }
  return out;
}

size_t first_bad_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    if (static_cast<unsigned char>(text[i]) < 0x80) {
      ++i;
      continue;
    }
    size_t at = i;
    uint32_t cp = next_code_point(text, i);
    if (cp == 0xFFFFFFFF || (cp >= 0xD800 && cp < 0xE000)) return at;
  }
  return text.npos;
}

}  // namespace

Span cover(Span a, Span b) {
  if (!a.known()) return b;
  if (!b.known()) return a;
  return {a.file, std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

SourceFile::SourceFile(uint32_t id, std::string name, std::string_view bytes) : id_(id), name_(std::move(name)) {
  bool bom = bytes.starts_with("\xEF\xBB\xBF");
  if (bom) bytes.remove_prefix(3);
  std::string cookie = declared_encoding(bytes);
  std::string encoding = cookie.empty() ? "utf-8" : normal_encoding(cookie);
  text_ = normal_newlines(bytes);
  if (bom && encoding != "utf-8") {
    decode_error_ = "encoding problem: " + cookie + " with BOM";
  } else if (encoding == "latin-1" || encoding == "windows-1252" || encoding == "iso-8859-15") {
    std::string wide;
    for (unsigned char c : text_) append_utf8(wide, of_byte(encoding, c));
    text_ = std::move(wide);
  } else if (encoding != "utf-8" && encoding != "ascii") {
    decode_error_ = "encoding problem: " + cookie;
  }
  line_starts_.push_back(0);
  for (size_t i = text_.find('\n'); i != text_.npos; i = text_.find('\n', i + 1))
    line_starts_.push_back(static_cast<uint32_t>(i + 1));
  size_t bad = decode_error_.empty() ? first_bad_utf8(text_) : text_.npos;
  if (bad == text_.npos) return;
  const uint32_t line = line_col(static_cast<uint32_t>(bad)).line;
  char hex[8];
  std::snprintf(hex, sizeof hex, "\\x%02x", static_cast<unsigned char>(text_[bad]));
  decode_error_ = std::string("Non-UTF-8 code starting with '") + hex + "' in file " + name_ + " on line " +
                  std::to_string(line) +
                  ", but no encoding declared; see https://peps.python.org/pep-0263/ for details";
}

std::string_view SourceFile::text(Span s) const {
  if (s.begin >= text_.size() || s.end < s.begin) return {};
  return std::string_view(text_).substr(s.begin, s.end - s.begin);
}

LineCol SourceFile::line_col(uint32_t offset) const {
  auto it = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  uint32_t line = static_cast<uint32_t>(it - line_starts_.begin());
  return {line, offset - line_starts_[line - 1]};
}

uint32_t SourceFile::line_start(uint32_t line) const {
  if (line == 0) return 0;
  if (line > line_starts_.size()) return size();
  return line_starts_[line - 1];
}

std::string_view SourceFile::line_text(uint32_t line) const {
  if (line == 0 || line > line_starts_.size()) return {};
  size_t begin = line_starts_[line - 1];
  size_t end = line < line_starts_.size() ? line_starts_[line] - 1 : text_.size();
  return std::string_view(text_).substr(begin, end - begin);
}

const SourceFile& SourceManager::add(std::string name, std::string_view bytes) {
  auto file = std::make_unique<SourceFile>(last_ + 1, std::move(name), bytes);
  std::lock_guard guard(lock_);
  return *(files_[++last_].file = std::move(file));
}

uint32_t SourceManager::add_later(std::string name, std::string_view text) {
  std::lock_guard guard(lock_);
  files_[++last_] = {nullptr, std::move(name), text};
  return last_;
}

void SourceManager::drop(uint32_t id) {
  std::lock_guard guard(lock_);
  files_.erase(id);
}

const SourceFile* SourceManager::load(const std::string& path) {
  std::string bytes;
  return read_file(path, bytes) ? &add(path, bytes) : nullptr;
}

const SourceFile* SourceManager::file(uint32_t id) const {
  std::lock_guard guard(lock_);
  const auto at = files_.find(id);
  if (at == files_.end()) return nullptr;
  Entry& e = at->second;
  if (!e.file) e.file = std::make_unique<SourceFile>(id, std::move(e.name), e.text);
  return e.file.get();
}

std::string_view SourceManager::text(Span s) const {
  const SourceFile* f = file(s.file);
  return f ? f->text(s) : std::string_view();
}

bool read_file(const std::string& path, std::string& out) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat st {};
  if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) out.reserve(static_cast<size_t>(st.st_size));
  char buffer[65536];
  ssize_t n;
  while ((n = read(fd, buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR))
    if (n > 0) out.append(buffer, static_cast<size_t>(n));
  int saved = errno;
  close(fd);
  errno = saved;
  return n == 0;
}

uint32_t utf8_length(std::string_view text) {
  uint32_t n = 0;
  for (char c : text) n += (c & 0xC0) != 0x80;
  return n;
}

void append_utf8(std::string& out, uint32_t cp) {
  auto put = [&](uint32_t b) { out += static_cast<char>(b); };
  if (cp < 0x80) return put(cp);
  if (cp < 0x800) {
    put(0xC0 | cp >> 6);
  } else if (cp < 0x10000) {
    put(0xE0 | cp >> 12);
    put(0x80 | (cp >> 6 & 0x3F));
  } else {
    put(0xF0 | cp >> 18);
    put(0x80 | (cp >> 12 & 0x3F));
    put(0x80 | (cp >> 6 & 0x3F));
  }
  put(0x80 | (cp & 0x3F));
}

uint32_t next_code_point(std::string_view text, size_t& i) {
  constexpr uint32_t kBad = 0xFFFFFFFF;
  auto byte = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
  unsigned char c = byte(i);
  if (c < 0x80) return text[i++];
  size_t n = c >= 0xF0 && c < 0xF5 ? 4 : c >= 0xE0 && c < 0xF0 ? 3 : c >= 0xC2 && c < 0xE0 ? 2 : 0;
  if (n == 0 || i + n > text.size()) return ++i, kBad;
  uint32_t cp = c & (0xFF >> (n + 1));
  for (size_t k = 1; k < n; ++k) {
    if ((byte(i + k) & 0xC0) != 0x80) return ++i, kBad;
    cp = cp << 6 | (byte(i + k) & 0x3F);
  }
  if ((n == 3 && cp < 0x800) || (n == 4 && (cp < 0x10000 || cp > 0x10FFFF))) return ++i, kBad;
  i += n;
  return cp;
}

}  // namespace support
}  // namespace ouro
