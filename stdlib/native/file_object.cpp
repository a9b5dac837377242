// Files and the standard streams. Text is UTF-8 with universal newlines; a buffer of the C library lies below; standard
// output goes through the session, which hosts may redirect.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "runtime/machine/memory.h"
#include "runtime/object/interrupt.h"
#include "runtime/object/ops.h"
#include "runtime/text/utf8.h"
#include "runtime/types/args.h"
#include "runtime/types/argument_name.h"
#include "runtime/types/big_int.h"
#include "runtime/types/text_format.h"
#include "stdlib/native/file_handle.h"
#include "stdlib/native/system_path.h"
#include "stdlib/native/tables.h"

namespace ouro::stdlib {
namespace {

using namespace runtime;

struct File {
  std::shared_ptr<Handle> handle = std::make_shared<Handle>();
  bool text = true, read = false, write = false, universal = true;
  bool closes = true;    // the handle ends with it: not so of a `buffer`
  bool skip_lf = false;  // the last character read was a carriage return given as a newline
  Value name;
  std::string mode, newline;
  CountedText encoding = "utf-8", errors = "strict";
  ~File() {
    if (closes && handle->owned) abandon(*handle);
  }
};

struct FileState {
  Value text_type, binary_types[3];  // of bytes: that read, write, do both
  Value streams[3];
  Value unsupported;  // the class, once something raised it
};

File* file_of(const Value& v) { return static_cast<File*>(v.as<Opaque>()->data.get()); }

// io.UnsupportedOperation, which is an OSError and a ValueError.
Value unsupported_class(Session& s) {
  Value& cls = s.state<FileState>().unsupported;
  if (!cls.is_unbound()) return cls;
  Value bases = make_tuple(
      {Value::share(exception_type(s, ExcKind::OSError)), Value::share(exception_type(s, ExcKind::ValueError))});
  Value names = make_dict();
  dict_set_str(s, names.as<Dict>(), "__module__", make_str("io"));
  cls = make_class(s, make_str("UnsupportedOperation"), bases, names, {});
  return cls.is_error() ? std::exchange(cls, Value()) : cls;
}
Value raise_unsupported(Session& s, std::string_view text) {
  Value cls = unsupported_class(s);
  if (!cast<Type>(cls)) return Value::error();
  return set_pending(s, make_exception(s, cls.as<Type>(), make_tuple({make_str(text)})));
}

// The open file behind a method's receiver, or null with ValueError.
File* open_of(Session& s, const Args& a, bool reading = false, bool writing = false) {
  File* f = file_of(a[0]);
  if (f->handle->closed) {
    raise_value_error(s, f->text   ? "I/O operation on closed file."
                         : reading ? "read of closed file"
                         : writing ? "write to closed file"
                                   : "I/O operation on closed file");
    return nullptr;
  }
  if ((reading && !f->read) || (writing && !f->write)) {
    raise_unsupported(s, reading ? f->text ? "not readable" : "read" : f->text ? "not writable" : "write");
    return nullptr;
  }
  return f;
}

Value io_error(Session& s, const File* f) {
  return raise_os_error(s, errno, cast<Str>(f->name) || cast<Bytes>(f->name) ? f->name : Value());
}

// The next byte, or EOF. A signal that asks for nothing ends no read.
int get_byte(Session& s, Handle& h) {
  for (;;) {
    if (h.f->_IO_read_ptr >= h.f->_IO_read_end) [[unlikely]]
      await_bytes(s, h);
    const int c = getc_unlocked(h.f);
    if (c != EOF || !std::ferror(h.f) || errno != EINTR) return c;
    std::clearerr(h.f);
  }
}

// One byte as the reader sees it: newlines made \n.
int next_byte(Session& s, File* f) {
  int c = get_byte(s, *f->handle);
  if (f->skip_lf) {
    f->skip_lf = false;
    if (c == '\n') c = get_byte(s, *f->handle);
  }
  if (c == '\r' && f->text && f->universal) {
    f->skip_lf = true;
    return '\n';
  }
  return c;
}

Value finish_read(Session& s, File* f, std::string_view raw) {
  if (std::ferror(f->handle->f)) return io_error(s, f);
  if (!f->text) return make_bytes(raw);
  return decode_bytes(s, make_bytes(raw), raw, f->encoding, f->errors);
}

// Reads `count` characters (bytes of a binary file), everything if negative.
Value read_some(Session& s, File* f, int64_t count) {
  CountedText raw;
  if (f->handle->f == stdin) (void)s.out.flush();
  for (int64_t n = 0; count < 0 || n < count;) {
    int c = next_byte(s, f);
    if (c == EOF) break;
    raw += static_cast<char>(c);
    if (f->text && c >= 0xC0 && f->encoding == "utf-8")
      for (unsigned left = text::sequence_length(static_cast<unsigned char>(c)) - 1; left; --left) {
        c = next_byte(s, f);
        if (c == EOF) break;
        raw += static_cast<char>(c);
      }
    ++n;
  }
  return finish_read(s, f, raw);
}

// What was read ends with the end of a line: of a binary file and of one whose newlines are made \n that, of another
// what `newline` says, of newline='' any of the three.
bool ends_line(Session& s, File* f, std::string_view raw) {
  if (!f->text || f->universal || f->newline == "\n") return raw.ends_with('\n');
  if (!f->newline.empty()) return raw.ends_with(f->newline);
  if (!raw.ends_with('\r')) return raw.ends_with('\n');
  int c = get_byte(s, *f->handle);
  if (c != EOF) std::ungetc(c, f->handle->f);
  return c != '\n';
}

Value read_line(Session& s, File* f, int64_t limit = -1) {
  CountedText raw;
  while (limit < 0 || static_cast<int64_t>(raw.size()) < limit) {
    int c = next_byte(s, f);
    if (c == EOF) break;
    raw += static_cast<char>(c);
    if ((c == '\n' || c == '\r') && ends_line(s, f, raw)) break;
  }
  return finish_read(s, f, raw);
}

bool count_argument(Session& s, const Args& a, int64_t& n) {
  n = -1;
  return a.size() < 2 || a[1].is_none() || to_index(s, a[1], n);
}

Value m_read(Session& s, const Args& a) {
  if (!takes(s, a, "read", 0, 1)) return Value::error();
  int64_t n;
  if (!open_of(s, a, true) || !count_argument(s, a, n)) return Value::error();
  File* f = open_of(s, a, true);  // the number's __index__ may have closed it
  return f ? read_some(s, f, n) : Value::error();
}
Value m_readline(Session& s, const Args& a) {
  if (!takes(s, a, "readline", 0, 1)) return Value::error();
  int64_t n;
  if (!open_of(s, a, true) || !count_argument(s, a, n)) return Value::error();
  File* f = open_of(s, a, true);  // the number's __index__ may have closed it
  return f ? read_line(s, f, n) : Value::error();
}
bool is_empty(const Value& line) {
  if (Str* t = cast<Str>(line)) return t->size == 0;
  return cast<Bytes>(line)->size == 0;
}
Value m_readlines(Session& s, const Args& a) {
  if (!takes(s, a, "readlines", 0, 1)) return Value::error();
  File* f = open_of(s, a, true);
  if (!f) return Value::error();
  int64_t hint = -1, total = 0;  // no more lines once there are so many characters
  if (a.size() == 2 && !a[1].is_none() && !to_index(s, a[1], hint)) return Value::error();
  if (!open_of(s, a, true)) return Value::error();
  Value out = make_list();
  do {
    OURO_TRY(line, read_line(s, f));
    if (is_empty(line)) break;
    out.as<List>()->push(line);
    total += length(s, line);
  } while (hint <= 0 || total <= hint);
  return out;
}

Value m_write(Session& s, const Args& a) {
  File* f = file_of(a[0]);
  const char* qualified = f->text ? "TextIOWrapper.write" : "BufferedWriter.write";
  if (!takes_one(s, a, qualified)) return Value::error();
  f = open_of(s, a, false, true);
  if (!f) return Value::error();
  std::string encoded;
  std::string_view raw;
  int64_t count;
  if (f->text) {
    Str* t = cast<Str>(a[1]);
    if (!t) return raise_type_error(s, "write() argument must be str, not %s", argument_name(s, a[1]).c_str());
    Value given = unwrap(a[1]);
    if (f->newline == "\r" || f->newline == "\r\n") {
      CountedText text;
      for (char c : t->view()) c == '\n' ? text += f->newline : text += c;
      given = make_str(text);
    }
    if (!encode_text(s, given, f->encoding, f->errors, encoded)) return Value::error();
    raw = encoded;
    count = str_length(t);
  } else {
    if (Bytes* b = cast<Bytes>(a[1]))
      raw = b->view();
    else if (ByteArray* b = cast<ByteArray>(a[1]))
      raw = b->data;
    else
      return raise_type_error(s, "a bytes-like object is required, not '%s'", type_name(s, a[1]).c_str());
    count = static_cast<int64_t>(raw.size());
  }
  if (f->handle->out) {
    if (!f->handle->out->write(raw)) return io_error(s, f);
    poll_interrupt(s);
  } else if (!write_bytes(s, *f->handle, raw)) {
    return io_error(s, f);
  }
  return Value::integer(count);
}
Value m_writelines(Session& s, const Args& a) {
  if (!takes_one(s, a, "writelines")) return Value::error();
  bool ok = for_each(s, a[1], [&](Value& line) {
    Value pair[2] = {a[0], line};
    return !m_write(s, Args{pair, {}, {}}).is_error();
  });
  return ok ? Value::none() : Value::error();
}
Value m_flush(Session& s, const Args& a) {
  File* f = open_of(s, a);
  if (!f) return Value::error();
  bool ok = f->handle->out ? f->handle->out->flush() : !f->write || flush_bytes(s, *f->handle);
  return ok ? Value::none() : io_error(s, f);
}
Value m_close(Session& s, const Args& a) {
  File* f = file_of(a[0]);
  if (f->handle->closed) return Value::none();
  if (f->handle->out) {
    f->handle->closed = true;
    return f->handle->out->flush() ? Value::none() : io_error(s, f);
  }
  return close_handle(s, *f->handle) ? Value::none() : io_error(s, f);
}
Value m_seek(Session& s, const Args& a) {
  if (!takes(s, a, "seek", 1, 2)) return Value::error();
  File* f = open_of(s, a);
  int64_t offset, whence = 0;
  if (!f || !to_index(s, a[1], offset) || (a.size() == 3 && !to_index(s, a[2], whence)) || !open_of(s, a))
    return Value::error();
  if (f->text && whence != 0 && offset != 0)
    return raise_unsupported(
        s, whence == 1 ? "can't do nonzero cur-relative seeks" : "can't do nonzero end-relative seeks");
  if (whence < 0 || whence > 2)
    return raise_value_error(s, "invalid whence (%lld, should be 0, 1 or 2)", static_cast<long long>(whence));
  if (offset < 0 && whence == 0)
    return raise_value_error(s, "negative seek position %lld", static_cast<long long>(offset));
  f->skip_lf = false;
  if (f->write && f->handle->f && !flush_bytes(s, *f->handle)) return io_error(s, f);
  if (!f->handle->f || std::fseek(f->handle->f, offset, static_cast<int>(whence)) != 0) return io_error(s, f);
  return Value::integer(std::ftell(f->handle->f));
}
Value m_tell(Session& s, const Args& a) {
  File* f = open_of(s, a);
  if (!f) return Value::error();
  if (!f->handle->f) return raise_os_error(s, ESPIPE);
  return Value::integer(std::ftell(f->handle->f));
}
Value m_truncate(Session& s, const Args& a) {
  if (!takes(s, a, "truncate", 0, 1)) return Value::error();
  File* f = open_of(s, a, false, true);
  if (!f) return Value::error();
  if (!f->handle->f) return raise_os_error(s, EINVAL);
  int64_t n = std::ftell(f->handle->f);
  if (a.size() == 2 && !a[1].is_none() && !to_index(s, a[1], n)) return Value::error();
  if (!open_of(s, a, false, true)) return Value::error();
  if (!flush_bytes(s, *f->handle) || ftruncate(fileno(f->handle->f), n) != 0) return io_error(s, f);
  return Value::integer(n);
}
Value m_fileno(Session& s, const Args& a) {
  File* f = open_of(s, a);
  return f ? Value::integer(f->handle->out ? f->handle->out->fd() : fileno(f->handle->f)) : Value::error();
}
Value m_isatty(Session& s, const Args& a) {
  File* f = open_of(s, a);
  return f ? Value::boolean(isatty(f->handle->out ? f->handle->out->fd() : fileno(f->handle->f))) : Value::error();
}
Value m_readable(Session& s, const Args& a) {
  return open_of(s, a) ? Value::boolean(file_of(a[0])->read) : Value::error();
}
Value m_writable(Session& s, const Args& a) {
  return open_of(s, a) ? Value::boolean(file_of(a[0])->write) : Value::error();
}
Value m_seekable(Session& s, const Args& a) {
  return open_of(s, a) ? Value::boolean(file_of(a[0])->handle->f && file_of(a[0])->handle->owned) : Value::error();
}
Value m_enter(Session& s, const Args& a) { return open_of(s, a) ? a[0] : Value::error(); }
Value m_exit(Session& s, const Args& a) { return m_close(s, Args{a.positional.first(1), {}, {}}); }

Value file_next(Session& s, const Value& v) {
  Value self[1] = {v};
  File* f = open_of(s, Args{self, {}, {}}, true);
  if (!f) return Value::error();
  OURO_TRY(line, read_line(s, f));
  return is_empty(line) ? Value::end() : line;
}
Value file_iter(Session&, const Value& v) { return v; }
Value file_repr(Session& s, const Value& v) {
  File* f = file_of(v);
  std::string name = f->name.is_unbound() ? "None" : repr_text(s, f->name);
  if (f->text)
    return make_str("<_io.TextIOWrapper name=" + name + " mode='" + f->mode + "' encoding='" +
                    (f->encoding == "utf-8" && f->handle->owned ? "UTF-8" : std::string(f->encoding)) + "'>");
  return make_str(std::string("<_io.Buffered") +
                  (f->read && f->write ? "Random"
                   : f->read           ? "Reader"
                                       : "Writer") +
                  " name=" + name + ">");
}

Value make_file(Session& s, std::shared_ptr<File> f);

// The same stream as bytes; the C library's buffer below is shared, so that both may be read in turn.
Value get_buffer(Session& s, const Value& v) {
  File* text = file_of(v);
  auto f = std::make_shared<File>();
  f->handle = text->handle;
  f->read = text->read;
  f->write = text->write;
  f->name = text->name;
  f->mode = text->mode + "b";
  f->text = f->closes = false;
  return make_file(s, std::move(f));
}

constexpr NativeDef kMethods[] = {
    {.name = "read", .fn = m_read},
    {.name = "readline", .fn = m_readline},
    {.name = "readlines", .fn = m_readlines},
    {.name = "write", .fn = m_write},
    {.name = "writelines", .fn = m_writelines},
    {.name = "flush", .fn = m_flush},
    {.name = "close", .fn = m_close},
    {.name = "seek", .fn = m_seek},
    {.name = "tell", .fn = m_tell},
    {.name = "truncate", .fn = m_truncate},
    {.name = "fileno", .fn = m_fileno},
    {.name = "isatty", .fn = m_isatty},
    {.name = "readable", .fn = m_readable},
    {.name = "writable", .fn = m_writable},
    {.name = "seekable", .fn = m_seekable},
    {.name = "__enter__", .fn = m_enter},
    {.name = "__exit__", .fn = m_exit},
};
// A text file's mode as it was given; of a binary file what may be done with it ("w+b" is "rb+").
std::string shown_mode(const File& f) {
  if (f.text || !f.handle->owned) return f.mode;
  const char made = f.mode.find('x') != f.mode.npos ? 'x' : f.mode.find('a') != f.mode.npos ? 'a' : f.read ? 'r' : 'w';
  return std::string(1, made) + "b" + (f.read && f.write ? "+" : "");
}

constexpr GetSetDef kGetSet[] = {
    {.name = "closed", .get = [](Session&, const Value& v) { return Value::boolean(file_of(v)->handle->closed); }},
    {.name = "name", .get = [](Session&, const Value& v) { return file_of(v)->name; }},
    {.name = "mode", .get = [](Session&, const Value& v) { return make_str(shown_mode(*file_of(v))); }},
    {.name = "encoding",
     .get = [](Session&, const Value& v) { return make_str(file_of(v)->handle->owned ? "UTF-8" : "utf-8"); }},
    {.name = "errors", .get = [](Session&, const Value& v) { return make_str(std::string_view(file_of(v)->errors)); }},
    {.name = "newlines", .get = [](Session&, const Value&) { return Value::none(); }},
    {.name = "buffer", .get = get_buffer},  // of text only: the last row
};
constexpr TypeSlots kSlots{.repr = file_repr, .iter = file_iter, .next = file_next};
const TypeDef kTextDef{.name = "TextIOWrapper",
                       .kind = ObjectKind::opaque,
                       .slots = &kSlots,
                       .methods = kMethods,
                       .getset = kGetSet,
                       .subclassable = false,
                       .module = "_io"};
constexpr TypeDef binary_def(std::string_view name) {
  return {.name = name,
          .kind = ObjectKind::opaque,
          .slots = &kSlots,
          .methods = kMethods,
          .getset = std::span(kGetSet).first(std::size(kGetSet) - 1),
          .subclassable = false,
          .module = "_io"};
}
const TypeDef kBinaryDefs[] = {binary_def("BufferedReader"), binary_def("BufferedWriter"),
                               binary_def("BufferedRandom")};

Value file_class(Session& s, bool text, bool read, bool write) {
  auto& st = s.state<FileState>();
  const size_t which = !write ? 0 : read ? 2 : 1;
  Value& type = text ? st.text_type : st.binary_types[which];
  if (type.is_unbound()) type = make_late_type(s, text ? kTextDef : kBinaryDefs[which]);
  return type;
}

Value make_file(Session& s, std::shared_ptr<File> f) {
  Value cls = file_class(s, f->text, f->read, f->write);
  return make_opaque(cls.as<Type>(), std::move(f));
}

// "r+b" etc.: how the system opens it, and the C library's mode for what is open.
bool parse_mode(Session& s, std::string_view mode, File& f, int& flags, std::string& stdio) {
  char main = 0;
  bool plus = false, binary = false, text = false, valid = true;
  for (char c : mode) {
    if (c == 'r' || c == 'w' || c == 'a' || c == 'x') {
      if (main) return raise_value_error(s, "must have exactly one of create/read/write/append mode"), false;
      main = c;
    } else if (c == '+' && !plus) {
      plus = true;
    } else if (c == 'b' && !binary) {
      binary = true;
    } else if (c == 't' && !text) {
      text = true;
    } else {
      valid = false;
    }
  }
  if (!valid) return raise_value_error(s, "invalid mode: '%s'", std::string(mode).c_str()), false;
  if (binary && text) return raise_value_error(s, "can't have text and binary mode at once"), false;
  if (!main)
    return raise_value_error(s, "Must have exactly one of create/read/write/append mode and at most one plus"), false;
  f.text = !binary;
  f.read = main == 'r' || plus;
  f.write = main != 'r' || plus;
  flags = O_CLOEXEC | (plus ? O_RDWR : f.read ? O_RDONLY : O_WRONLY);
  if (main == 'w') flags |= O_CREAT | O_TRUNC;
  if (main == 'a') flags |= O_CREAT | O_APPEND;
  if (main == 'x') flags |= O_CREAT | O_EXCL;
  stdio = std::string(1, main == 'x' ? 'w' : main) + (plus ? "+" : "");
  return true;
}

// The number of the open file, as an int: the one that was given, what `opener` answers, or the system.
Value descriptor_of(Session& s, const Value& path, int flags, bool closes, const Value& opener) {
  if (is_integer(path)) {
    const Value n = unwrap(path);
    if (!is_word(n) || n.bits() != static_cast<int>(n.bits()))
      return raise_type_error(s, "expected str, bytes or os.PathLike object, not %s", type_name(s, path).c_str());
    return n.bits() < 0 ? raise_value_error(s, "negative file descriptor") : Value::integer(n.bits());
  }
  std::string name;
  if (!system_text(s, path, name)) return Value::error();
  if (!closes) return raise_value_error(s, "Cannot use closefd=False with file name");
  if (opener.is_unbound() || opener.is_none()) {
    struct stat st {};
    if (stat(name.c_str(), &st) == 0 && S_ISDIR(st.st_mode)) return raise_os_error(s, EISDIR, path);
    const int fd = open_waiting(s, name.c_str(), flags, 0666);
    return fd < 0 ? raise_os_error(s, errno, path) : Value::integer(fd);
  }
  OURO_TRY(answer, call(s, opener, {path, Value::integer(flags)}));
  if (!is_integer(answer)) return raise_type_error(s, "expected integer from opener");
  int fd;
  if (!int_argument(s, answer, fd)) return Value::error();
  return fd < 0 ? raise_value_error(s, "opener returned %d", fd) : Value::integer(fd);
}

}  // namespace

Value open_file(Session& s, const Args& a) {
  Value v[8];
  if (!takes_named(s, a, "open", {"file", "mode", "buffering", "encoding", "errors", "newline", "closefd", "opener"}, 1,
                   8, v, 0))
    return Value::error();
  auto f = std::make_shared<File>();
  int flags = 0;
  std::string stdio;
  auto option = [&](const Value& x, const char* name, auto& to) {
    if (x.is_unbound() || x.is_none()) return true;
    Str* t = cast<Str>(x);
    if (!t)
      return raise_type_error(s, "open() argument '%s' must be str or None, not %s", name, type_name(s, x).c_str()),
             false;
    to = t->view();
    return true;
  };
  f->mode = "r";
  if (!v[1].is_unbound() && !cast<Str>(v[1]))
    return raise_type_error(s, "open() argument 'mode' must be str, not %s", argument_name(s, v[1]).c_str());
  if (!option(v[1], "mode", f->mode) || !option(v[3], "encoding", f->encoding) || !option(v[4], "errors", f->errors) ||
      !option(v[5], "newline", f->newline))
    return Value::error();
  Value path = v[0];
  if (!is_integer(path) && !cast<Str>(path) && !cast<Bytes>(path)) {
    path = call_dunder(s, v[0], Dunder::fspath_);
    if (path.is_error()) return path;
    if (path.is_unbound())
      return raise_type_error(s, "expected str, bytes or os.PathLike object, not %s", type_name(s, v[0]).c_str());
    if (!cast<Str>(path) && !cast<Bytes>(path))
      return raise_type_error(s, "expected %s.__fspath__() to return str or bytes, not %s", type_name(s, v[0]).c_str(),
                              type_name(s, path).c_str());
  }
  if (!parse_mode(s, f->mode, *f, flags, stdio)) return Value::error();
  if (!f->text) {
    for (int i = 3; i < 6; ++i)
      if (!v[i].is_unbound() && !v[i].is_none())
        return raise_value_error(s, "binary mode doesn't take %s argument",
                                 i == 3   ? "an encoding"
                                 : i == 4 ? "an errors"
                                          : "a newline");
  }
  if (f->text && !f->newline.empty() && f->newline != "\n" && f->newline != "\r" && f->newline != "\r\n")
    return raise_value_error(s, "illegal newline value: %s", f->newline.c_str());
  f->universal = v[5].is_unbound() || v[5].is_none();
  f->name = path;
  int64_t buffering = -1;
  if (!v[2].is_unbound() && !to_index(s, v[2], buffering)) return Value::error();
  if (buffering == 0 && f->text) return raise_value_error(s, "can't have unbuffered text I/O");
  const int closes = v[6].is_unbound() ? 1 : truth(s, v[6]);
  if (closes < 0) return Value::error();
  OURO_TRY(number, descriptor_of(s, path, flags, closes, v[7]));
  const int fd = static_cast<int>(number.as_int());
  struct stat st {};
  const bool folder = fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
  f->handle->f = folder ? nullptr : fdopen(fd, stdio.c_str());
  f->handle->closes_fd = closes;
  if (!f->handle->f) {
    const int why = folder ? EISDIR : errno;
    if (closes && !is_integer(path)) close(fd);
    return raise_os_error(s, why, !is_integer(path) || folder ? path : Value());
  }
  if (!is_integer(path)) fcntl(fd, F_SETFD, FD_CLOEXEC);
  remember(s, f->handle);
  if (buffering == 0 && f->write) std::setvbuf(f->handle->f, nullptr, _IONBF, 0);
  if (buffering == 1 && f->text) std::setvbuf(f->handle->f, nullptr, _IOLBF, BUFSIZ);
  const bool known = !f->text || !decode_bytes(s, make_bytes(""), "", f->encoding, f->errors).is_error();
  return known ? make_file(s, std::move(f)) : Value::error();
}

static Value stream_class(Session& s, std::string_view name) {
  if (name == "UnsupportedOperation") {
    Value cls = unsupported_class(s);
    return cls.is_error() ? Value() : cls;
  }
  if (name == "TextIOWrapper") return file_class(s, true, true, true);
  if (name == "BufferedReader") return file_class(s, false, true, false);
  if (name == "BufferedWriter") return file_class(s, false, false, true);
  if (name == "BufferedRandom") return file_class(s, false, true, true);
  return Value();
}
static constexpr std::string_view kStreamClasses[] = {"BufferedRandom", "BufferedReader", "BufferedWriter",
                                                      "TextIOWrapper", "UnsupportedOperation"};

const NativeModule kStreamsModule{
    .name = "ouro.native.streams", .functions = {}, .constant = stream_class, .constants = kStreamClasses};

Value standard_stream(Session& s, Stream which) {
  Value& v = s.state<FileState>().streams[static_cast<int>(which)];
  if (v.is_unbound()) {
    auto f = std::make_shared<File>();
    f->handle->owned = false;
    f->mode = which == Stream::in ? "r" : "w";
    f->name = make_str(which == Stream::in ? "<stdin>" : which == Stream::out ? "<stdout>" : "<stderr>");
    f->read = which == Stream::in;
    f->write = !f->read;
    if (which == Stream::in)
      f->handle->f = stdin;
    else
      f->handle->out = which == Stream::out ? &s.out : &s.err;
    if (which == Stream::err) f->errors = "backslashreplace";
    v = make_file(s, std::move(f));
  }
  return v;
}

Value replaced_stream(Session& s, Stream which) {
  static const Symbol sys = intern("sys"), names[] = {intern("stdin"), intern("stdout"), intern("stderr")};
  Value* m = s.modules.find(sys);
  Module* module = m ? cast_exact<Module>(*m) : nullptr;
  Value* v = module ? module->names.find(names[static_cast<int>(which)]) : nullptr;
  if (!v || v->is_unbound() || v->same(s.state<FileState>().streams[static_cast<int>(which)])) return Value();
  return *v;
}

}  // namespace ouro::stdlib
