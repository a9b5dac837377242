#include "stdlib/native/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/object/interrupt.h"

namespace ouro::stdlib {
namespace {

std::string folder_of(const std::string& path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// A name beside `path` that nobody has; `attempt` makes the next one.
std::string name_beside(const std::string& path, int attempt) {
  size_t slash = path.rfind('/');
  size_t start = slash == std::string::npos ? 0 : slash + 1;
  return path.substr(0, start) + "." + path.substr(start) + "." + std::to_string(getpid()) + "-" +
         std::to_string(attempt);
}

constexpr int kAttempts = 1000;

// Keeps SIGXFSZ from the thread: a write beyond RLIMIT_FSIZE is then EFBIG alone.
class HoldFileSizeSignal {
 public:
  HoldFileSizeSignal() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  ~HoldFileSizeSignal() {
    int error_number = errno;
    if (!sigismember(&before_, SIGXFSZ)) {
      timespec now{};
      while (sigtimedwait(&set_, nullptr, &now) > 0) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error_number;
  }

 private:
  sigset_t set_, before_;
};

}  // namespace

FileProblem AtomicFile::open(const std::string& path) {
  discard();
  path_ = path;
  struct stat st {};
  if (lstat(path.c_str(), &st) == 0 && S_ISLNK(st.st_mode)) {
    char real[PATH_MAX];
    if (realpath(path.c_str(), real)) path_ = real;
  }
  if (stat(path_.c_str(), &st) == 0) {
    if (S_ISDIR(st.st_mode)) return FileProblem::os(EISDIR);
    if (S_ISREG(st.st_mode) && access(path_.c_str(), W_OK) != 0) return FileProblem::os(errno);
  }
  fd_ = ::open(folder_of(path_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (fd_ >= 0) return {};
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL && errno != ENOENT) return FileProblem::os(errno);
  for (int i = 0; i < kAttempts; ++i) {
    temporary_ = name_beside(path_, i);
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ >= 0) return {};
    if (errno != EEXIST) break;
  }
  temporary_.clear();
  return FileProblem::os(errno);
}

FileProblem AtomicFile::write(const void* data, size_t size) {
  HoldFileSizeSignal hold;
  const char* p = static_cast<const char*>(data);
  while (size > 0) {
    runtime::poll_interrupt();
    ssize_t n = ::write(fd_, p, std::min(size, size_t{1} << 24));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return FileProblem::os(n < 0 ? errno : ENOSPC);
    p += n;
    size -= static_cast<size_t>(n);
  }
  return {};
}

FileProblem AtomicFile::commit() {
  if (fsync(fd_) != 0) return FileProblem::os(errno);
  if (temporary_.empty()) {
    std::string self = "/proc/self/fd/" + std::to_string(fd_);
    int i = 0;
    for (; i < kAttempts; ++i) {
      temporary_ = name_beside(path_, i);
      if (linkat(AT_FDCWD, self.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) == 0) break;
      int error_number = errno;
      temporary_.clear();
      if (error_number != EEXIST) return FileProblem::os(error_number);
    }
    if (i == kAttempts) return FileProblem::os(EEXIST);
  }
  if (close(fd_) != 0) {
    fd_ = -1;
    return FileProblem::os(errno);
  }
  fd_ = -1;
  if (rename(temporary_.c_str(), path_.c_str()) != 0) return FileProblem::os(errno);
  temporary_.clear();
  int folder = ::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    fsync(folder);
    close(folder);
  }
  return {};
}

void AtomicFile::discard() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  if (!temporary_.empty()) unlink(temporary_.c_str());
  temporary_.clear();
}

}  // namespace ouro::stdlib
