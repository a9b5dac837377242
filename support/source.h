// Source text and places in it.
//
// A SourceFile is immutable text in UTF-8 with a table of line starts. A Span is a half-open byte
// range [begin, end) of one file: 12 bytes, cheap to store on every node. Line and column are
// computed only when a message is printed.
//
// Bytes become text as in CPython (PEP 263): a UTF-8 byte order mark is dropped, an encoding cookie
// in the first two lines is obeyed (utf-8, latin-1, ascii), and \r\n and \r become \n. A file that
// cannot be decoded still gets a SourceFile; the parser reports decode_error() as SyntaxError.
//
// Threads: a SourceManager belongs to a session and only its thread adds files; SourceFiles may be
// read by any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ouro {
inline namespace support {

/// A byte range of a source file. File 0 is no file: a default Span means "no place known".
struct Span {
  uint32_t file = 0;
  uint32_t begin = 0;
  uint32_t end = 0;

  bool known() const { return file != 0; }
  uint32_t size() const { return end - begin; }
  friend bool operator==(const Span&, const Span&) = default;
};
static_assert(sizeof(Span) == 12);

/// The smallest span that covers both; an unknown one is ignored.
Span cover(Span a, Span b);

/// Line counts from 1; column counts bytes from 0, as Python's `lineno` and `col_offset`.
struct LineCol {
  uint32_t line = 0;
  uint32_t col = 0;
  friend bool operator==(const LineCol&, const LineCol&) = default;
};

class SourceFile {
 public:
  /// `bytes` are as read from disk; they are decoded here.
  SourceFile(uint32_t id, std::string name, std::string_view bytes);

  uint32_t id() const { return id_; }
  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }
  std::string_view text(Span s) const;
  uint32_t size() const { return static_cast<uint32_t>(text_.size()); }

  uint32_t line_count() const { return static_cast<uint32_t>(line_starts_.size()); }
  LineCol line_col(uint32_t offset) const;
  /// Text of line `line` (from 1) without its newline; empty if there is no such line.
  std::string_view line_text(uint32_t line) const;
  /// Offset of the first byte of line `line` (from 1).
  uint32_t line_start(uint32_t line) const;
  Span span(uint32_t begin, uint32_t end) const { return {id_, begin, end}; }

  /// Message of a SyntaxError when the bytes could not be decoded, else empty.
  const std::string& decode_error() const { return decode_error_; }
  /// Line of decode_error().

 private:
  uint32_t id_;
  std::string name_;
  std::string text_;
  std::string decode_error_;
  std::vector<uint32_t> line_starts_;
};

/// Owns the files of a session. References stay valid until the file is dropped.
class SourceManager {
 public:
  SourceManager() = default;
  SourceManager(const SourceManager&) = delete;
  SourceManager& operator=(const SourceManager&) = delete;

  /// Adds a file under a display name ("f.ouro", "<string>", "<stdin>").
  const SourceFile& add(std::string name, std::string_view bytes);
  /// The number of a file that is made only when somebody asks for it: the library's, of which only
  /// a traceback needs the text. `text` lives as long as the manager.
  uint32_t add_later(std::string name, std::string_view text);
  /// Reads a file from disk; null if it cannot be read (errno tells why).
  const SourceFile* load(const std::string& path);
  /// The file with this id, or null (id 0, or unknown).
  const SourceFile* file(uint32_t id) const;
  /// Forgets a file: no span of it is asked for again.
  void drop(uint32_t id);
  /// Text of a span; empty if the span is unknown.
  std::string_view text(Span s) const;

 private:
  struct Entry {
    std::unique_ptr<SourceFile> file;  // null: to be made of what follows
    std::string name;
    std::string_view text;
  };
  mutable std::mutex lock_;  // compile threads ask too
  mutable std::unordered_map<uint32_t, Entry> files_;
  uint32_t last_ = 0;
};

/// Reads a whole file; false if it cannot be read (errno tells why).
bool read_file(const std::string& path, std::string& out);

/// Length in code points of valid or invalid UTF-8 (counts bytes that are not continuation bytes).
uint32_t utf8_length(std::string_view text);
/// Appends a code point in UTF-8; surrogates get their three-byte form (WTF-8).
void append_utf8(std::string& out, uint32_t code_point);
/// Decodes the code point at text[i] and moves i behind it; a malformed byte gives 0xFFFFFFFF and
/// moves by 1.
uint32_t next_code_point(std::string_view text, size_t& i);

}  // namespace support
}  // namespace ouro
