// ouro.native.os: files by the numbers that the system gives them when it opens them.
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/machine/memory.h"
#include "runtime/types/memory_view.h"
#include "stdlib/native/file_handle.h"
#include "stdlib/native/os_tables.h"
#include "stdlib/native/system_path.h"

namespace ouro::stdlib {
namespace {

using namespace runtime;

Value answer(Session& s, int r) { return r < 0 ? raise_os_error(s, errno) : Value::none(); }

Value f_open(Session& s, const Args& a) {
  SystemPath p;
  int flags, mode = 0777;
  if (!path_argument(s, a[0], "open", p) || !int_argument(s, a[1], flags) ||
      (!a[2].is_unbound() && !int_argument(s, a[2], mode)))
    return Value::error();
  if (!a[3].is_unbound() && !a[3].is_none())
    return raise_error(s, ExcKind::NotImplementedError, "open: dir_fd unavailable on this platform");
  const int fd = open_waiting(s, p.name.c_str(), flags, static_cast<unsigned>(mode));
  return fd < 0 ? raise_for(s, p) : Value::integer(fd);
}
// The number is free after an error, too: closed once, whatever the answer is.
Value f_close(Session& s, const Args& a) {
  int fd;
  if (!int_argument(s, a[0], fd)) return Value::error();
  return close(fd) == 0 || errno == EINTR ? Value::none() : raise_os_error(s, errno);
}
Value f_read(Session& s, const Args& a) {
  int fd;
  int64_t count;
  if (!int_argument(s, a[0], fd) || !to_index(s, a[1], count)) return Value::error();
  if (count < 0) return raise_os_error(s, EINVAL);
  count = std::min<int64_t>(count, 0x7ffff000);  // the most that the system reads at once
  struct stat st;
  if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))  // no more room than there is to read
    count = std::min<int64_t>(count, std::max<int64_t>(st.st_size - lseek(fd, 0, SEEK_CUR), 0) + 1);
  else
    count = std::min<int64_t>(count, 1 << 20);
  CountedText raw(static_cast<size_t>(count), '\0');
  if (fd >= 0 && !(fcntl(fd, F_GETFL) & O_NONBLOCK)) wait_ready(s, fd, POLLIN);
  const ssize_t n = uninterrupted(s, [&] { return read(fd, raw.data(), raw.size()); });
  return n < 0 ? raise_os_error(s, errno) : make_bytes(std::string_view(raw).substr(0, static_cast<size_t>(n)));
}
bool bytes_argument(Session& s, const Value& v, std::string_view& raw) {
  if (Bytes* b = cast<Bytes>(v))
    raw = b->view();
  else if (ByteArray* b = cast<ByteArray>(v))
    raw = b->data;
  else if (!memory_view_bytes(v, raw))
    return raise_type_error(s, "a bytes-like object is required, not '%s'", type_name(s, v).c_str()), false;
  return true;
}
// In pieces, with a look for interrupts between them; of what a pipe takes at once where there is room (PIPE_BUF).
Value f_write(Session& s, const Args& a) {
  int fd;
  std::string_view raw;
  if (!int_argument(s, a[0], fd) || !bytes_argument(s, a[1], raw)) return Value::error();
  const bool at_once = !may_wait(fd);
  const size_t piece = at_once ? size_t{1} << 20 : 4096;
  const bool waits = !at_once && !(fcntl(fd, F_GETFL) & O_NONBLOCK);
  size_t done = 0;
  do {
    if (waits && fd >= 0) wait_ready(s, fd, POLLOUT);
    const std::string_view part = raw.substr(done, piece);
    const ssize_t n = uninterrupted(s, [&] { return write(fd, part.data(), part.size()); });
    if (n < 0 && done == 0) return raise_os_error(s, errno);
    if (n <= 0) break;
    done += static_cast<size_t>(n);
    poll_interrupt(s);
  } while (done < raw.size());
  return Value::integer(static_cast<int64_t>(done));
}
Value f_lseek(Session& s, const Args& a) {
  int fd, how;
  int64_t to;
  if (!int_argument(s, a[0], fd) || !to_index(s, a[1], to) || !int_argument(s, a[2], how)) return Value::error();
  const off_t at = lseek(fd, to, how);
  return at < 0 ? raise_os_error(s, errno) : Value::integer(at);
}
Value f_ftruncate(Session& s, const Args& a) {
  int fd;
  int64_t n;
  if (!int_argument(s, a[0], fd) || !to_index(s, a[1], n)) return Value::error();
  return answer(s, uninterrupted(s, [&] { return ftruncate(fd, n); }));
}
Value f_fsync(Session& s, const Args& a) {
  Value number = a[0];
  if (!is_integer(number)) {  // an object with fileno(), too
    const Value method = lookup_attr(s, number, intern("fileno"));
    if (method.is_error()) return method;
    if (method.is_unbound()) return raise_type_error(s, "argument must be an int, or have a fileno() method.");
    number = call(s, method, std::initializer_list<Value>{});
    if (number.is_error()) return number;
  }
  int fd;
  if (!int_argument(s, number, fd)) return Value::error();
  return answer(s, uninterrupted(s, [&] { return fsync(fd); }));
}
Value f_dup(Session& s, const Args& a) {
  int fd;
  if (!int_argument(s, a[0], fd)) return Value::error();
  const int made = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  return made < 0 ? raise_os_error(s, errno) : Value::integer(made);
}
Value f_dup2(Session& s, const Args& a) {
  int from, to;
  bool inherited = true;
  if (!int_argument(s, a[0], from) || !int_argument(s, a[1], to)) return Value::error();
  if (!a[2].is_unbound()) {
    const int t = truth(s, a[2]);
    if (t < 0) return Value::error();
    inherited = t;
  }
  if (from < 0 || to < 0) return raise_os_error(s, EBADF);
  const int made =
      uninterrupted(s, [&] { return inherited || from == to ? dup2(from, to) : dup3(from, to, O_CLOEXEC); });
  return made < 0 ? raise_os_error(s, errno) : Value::integer(made);
}
Value f_pipe(Session& s, const Args&) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return raise_os_error(s, errno);
  return make_tuple({Value::integer(ends[0]), Value::integer(ends[1])});
}
Value f_isatty(Session& s, const Args& a) {
  int fd;
  return int_argument(s, a[0], fd) ? Value::boolean(isatty(fd)) : Value::error();
}
Value f_terminal_size(Session& s, const Args& a) {
  int fd = STDOUT_FILENO;
  if (!a[0].is_unbound() && !int_argument(s, a[0], fd)) return Value::error();
  winsize w{};
  if (ioctl(fd, TIOCGWINSZ, &w) != 0) return raise_os_error(s, errno);
  return make_tuple({Value::integer(w.ws_col), Value::integer(w.ws_row)});
}

constexpr NativeDef kFunctions[] = {
    {"open", "path, flags, mode=511, *, dir_fd=None", f_open, "Opens a file: its number."},
    {"close", "fd", f_close, "Closes it."},
    {"read", "fd, length, /", f_read, "At most so many bytes of it; none at its end."},
    {"write", "fd, data, /", f_write, "Writes bytes: how many."},
    {"lseek", "fd, position, how, /", f_lseek, "Moves to a position: which."},
    {"ftruncate", "fd, length, /", f_ftruncate, "Cuts or extends it to a length."},
    {"fsync", "fd", f_fsync, "Waits until what was written is on the disk."},
    {"dup", "fd, /", f_dup, "Another number of the same open file."},
    {"dup2", "fd, fd2, inheritable=True", f_dup2, "Makes another number one of the same open file."},
    {"pipe", "", f_pipe, "The numbers of a new pipe's ends: to read, to write."},
    {"isatty", "fd, /", f_isatty, "Whether it is a terminal."},
    {"terminal_size", "fd=1, /", f_terminal_size, "Its columns and lines."},
};

}  // namespace

const NativeModule kOpenFilesModule{.name = kOsModule, .functions = kFunctions};

}  // namespace ouro::stdlib
