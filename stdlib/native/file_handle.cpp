#include "stdlib/native/file_handle.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio_ext.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>
#include <vector>

#include "runtime/object/interrupt.h"
#include "stdlib/start.h"

namespace ouro::stdlib {

using namespace runtime;

namespace {

constexpr size_t kAtOnce = 4096;  // what a pipe takes without waiting where there is room (PIPE_BUF)
constexpr int kLook = 20;         // milliseconds between looks

struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

// Writes what the C library holds; it itself would wait in the kernel. `ready(fd)` waits until there is room: false
// drops the rest.
template <class Ready>
bool drain(FILE* f, Ready ready) {
  const int fd = fileno(f);
  while (const size_t n = __fpending(f)) {
    if (!ready(fd)) {
      __fpurge(f);
      return true;
    }
    const ssize_t done = ::write(fd, f->_IO_write_base, std::min(n, kAtOnce));
    if (done < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    std::memmove(f->_IO_write_base, f->_IO_write_base + done, n - static_cast<size_t>(done));
    f->_IO_write_ptr -= done;
  }
  return true;
}

// Without an exception, as nobody could take it up: until an interrupt is asked for, and at most `patience`
// milliseconds without room for a byte (negative: any time).
class Ready {
 public:
  explicit Ready(int patience) : patience_(patience) {}
  bool operator()(int fd) {
    const Session* s = current_session();
    for (pollfd p{fd, POLLOUT, 0};; waited_ += kLook) {
      if (::poll(&p, 1, kLook) > 0) return true;
      if (s && s->poll.load(std::memory_order_relaxed) & Session::kInterrupt) return false;
      if (patience_ >= 0 && waited_ >= patience_) return false;
    }
  }

 private:
  int patience_, waited_ = 0;
};

// Nothing is written any more.
bool release(Handle& h) {
  h.closed = true;
  FILE* f = std::exchange(h.f, nullptr);
  if (!f) return true;
  __fpurge(f);
  if (h.closes_fd) return std::fclose(f) == 0;
  f->_fileno = -1;  // the number is another's: only the buffer goes
  std::fclose(f);
  return true;
}

struct OpenFiles {
  std::vector<std::weak_ptr<Handle>> handles;
  size_t sweep_at = 64;
};

}  // namespace

bool may_wait(int fd) {
  struct stat st {};
  return fstat(fd, &st) != 0 || !(S_ISREG(st.st_mode) || S_ISBLK(st.st_mode) || S_ISDIR(st.st_mode));
}

// A writer of a named pipe that finds no reader is told so at once (ENXIO) and asks again. A reader is there at once;
// whether there is a writer shows in what tee(2), which takes nothing out, answers: EAGAIN, where it would be the end
// of the file.
int open_waiting(Session& s, const char* name, int flags, unsigned mode) {
  flags |= O_CLOEXEC;
  struct stat st {};
  const int how = flags & O_ACCMODE;
  if (flags & (O_NONBLOCK | O_PATH) || how == O_RDWR || stat(name, &st) != 0 || !S_ISFIFO(st.st_mode)) {
    int fd;
    while ((fd = ::open(name, flags, mode)) < 0 && errno == EINTR) poll_interrupt(s);
    return fd;
  }
  constexpr timespec kPiece{0, 5'000'000};
  Descriptor d, end[2];
  while ((d.fd = ::open(name, flags | O_NONBLOCK, mode)) < 0) {
    if (errno != ENXIO && errno != EINTR) return -1;
    poll_interrupt(s);
    nanosleep(&kPiece, nullptr);
  }
  if (how == O_RDONLY) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return -1;
    end[0].fd = ends[0];
    end[1].fd = ends[1];
    for (pollfd p{d.fd, POLLIN, 0}; ::poll(&p, 1, 0) <= 0; nanosleep(&kPiece, nullptr)) {
      if (tee(d.fd, ends[1], 1, SPLICE_F_NONBLOCK) < 0 && errno == EAGAIN) break;
      poll_interrupt(s);
    }
  }
  if (!(flags & O_NONBLOCK) && fcntl(d.fd, F_SETFL, fcntl(d.fd, F_GETFL) & ~O_NONBLOCK) < 0) return -1;
  return std::exchange(d.fd, -1);
}

void await_bytes(Session& s, Handle& h) {
  poll_interrupt(s);
  const int fd = fileno(h.f);
  if (!may_wait(fd)) return;
  if (__fpending(h.f) && !flush_bytes(s, h)) return;  // the read that follows tells
  wait_ready(s, fd, POLLIN);
}

bool write_bytes(Session& s, Handle& h, std::string_view raw) {
  const int fd = fileno(h.f);
  bool waits = true;
  auto fits = [&](size_t n) { return !__flbf(h.f) && __fpending(h.f) + n < __fbufsize(h.f); };
  if (!fits(raw.size())) waits = may_wait(fd);
  const size_t piece = waits ? kAtOnce : size_t{1} << 20;
  while (!raw.empty()) {
    poll_interrupt(s);
    const size_t now = std::min(piece, raw.size());
    if (waits && !fits(now)) {
      if (__fpending(h.f) && !flush_bytes(s, h)) return false;
      wait_ready(s, fd, POLLOUT);
    }
    const size_t n = std::fwrite(raw.data(), 1, now, h.f);
    raw.remove_prefix(n);
    if (!std::ferror(h.f)) continue;
    const int why = errno;
    std::clearerr(h.f);
    if (why == EINTR) continue;
    errno = why;
    return false;
  }
  return true;
}

bool flush_bytes(Session& s, Handle& h) {
  if (__fpending(h.f) && may_wait(fileno(h.f)) && !drain(h.f, [&](int fd) {
        wait_ready(s, fd, POLLOUT);
        return true;
      }))
    return false;
  while (std::fflush(h.f) != 0) {
    if (errno != EINTR) return false;
    std::clearerr(h.f);
    poll_interrupt(s);
  }
  return true;
}

bool close_handle(Session& s, Handle& h) {
  struct Released {
    Handle& h;
    ~Released() {
      if (h.f) release(h);
    }
  } released{h};
  h.closed = true;
  if (h.f && __fpending(h.f) && !flush_bytes(s, h)) {
    const int why = errno;
    release(h);
    errno = why;
    return false;
  }
  return release(h);
}

void abandon(Handle& h) {
  constexpr int kPatience = 1000;
  if (!h.f || h.closed) return;
  const Session* s = current_session();
  if (__fpending(h.f) && may_wait(fileno(h.f)))
    (void)drain(h.f, Ready(s && s->memory.in_script() ? -1 : kPatience));
  else
    std::fflush(h.f);
  release(h);
}

void remember(Session& s, const std::shared_ptr<Handle>& h) {
  auto& open = s.state<OpenFiles>();
  if (open.handles.size() >= open.sweep_at) {
    std::erase_if(open.handles, [](const auto& row) { return row.expired(); });
    open.sweep_at = 2 * open.handles.size() + 64;
  }
  open.handles.push_back(h);
}

void settle_files(Session& s, int patience) {
  for (const std::weak_ptr<Handle>& row : s.state<OpenFiles>().handles) {
    const std::shared_ptr<Handle> h = row.lock();
    if (!h || !h->f || h->closed || !__fpending(h->f)) continue;
    if (may_wait(fileno(h->f)))
      (void)drain(h->f, Ready(patience));
    else
      std::fflush(h->f);
  }
}

}  // namespace ouro::stdlib
