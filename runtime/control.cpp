#include "runtime/control.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "runtime/cores.h"
#include "runtime/demand.h"
#include "support/signals.h"

namespace ouro::runtime {

namespace {

constexpr size_t kLongestRequest = 4096;
constexpr int kPatience = 2000;  // milliseconds for one request
constexpr int kSensePeriod = 250;

std::string folder() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  return runtime && *runtime == '/' ? std::string(runtime) + "/ouro" : fmt::format("/tmp/ouro-{}", ::getuid());
}

// Is it ours, and may nobody else enter?
bool is_own_folder(const std::string& path) {
  struct stat st {};
  return ::lstat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == ::getuid() && (st.st_mode & 077) == 0;
}

bool address(const std::string& path, sockaddr_un& a) {
  std::memset(&a, 0, sizeof a);
  a.sun_family = AF_UNIX;
  if (path.size() >= sizeof a.sun_path) return false;
  std::memcpy(a.sun_path, path.data(), path.size());
  return true;
}

bool same_user(int connection) {
  ucred who{};
  socklen_t n = sizeof who;
  return ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0 && who.uid == ::getuid();
}

bool wait_for(int fd, short what, int milliseconds) {
  pollfd p{fd, what, 0};
  int n;
  do n = ::poll(&p, 1, milliseconds);
  while (n < 0 && errno == EINTR);
  return n > 0;
}

void send_all(int fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t n = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (n <= 0 && errno == EINTR) continue;
    if (n <= 0) return;
    text.remove_prefix(static_cast<size_t>(n));
  }
}

std::vector<std::string> words(std::string_view line) {
  std::vector<std::string> out;
  for (size_t i = 0; i < line.size();) {
    size_t end = std::min(line.find(' ', i), line.size());
    if (end > i) out.emplace_back(line.substr(i, end - i));
    i = end + 1;
  }
  return out;
}

std::string respond(Demands& demands, std::string_view line) {
  std::vector<std::string> w = words(line);
  if (w.size() == 1 && w[0] == "get") return "ok\n" + demands.text();
  if (w.size() < 2 || w[0] != "set") return "error: a request is `get` or `set NAME=VALUE...`\n";
  std::vector<Wish> wishes;
  for (size_t i = 1; i < w.size(); ++i) {
    size_t at = w[i].find('=');
    if (at == std::string::npos || at == 0) return fmt::format("error: '{}' is not NAME=VALUE\n", w[i]);
    wishes.push_back({w[i].substr(0, at), w[i].substr(at + 1)});
  }
  std::string wrong = demands.set(wishes, DemandOrigin::ctl);
  return wrong.empty() ? "ok\n" : "error: " + wrong + "\n";
}

}  // namespace

std::string control_path(int pid) { return fmt::format("{}/{}.sock", folder(), pid); }

Control::Control(Demands& demands, bool sense, bool listen) : demands_(demands), sense_(sense) {
  if (listen && (::mkdir(folder().c_str(), 0700) == 0 || errno == EEXIST) && is_own_folder(folder())) {
    std::string path = control_path(::getpid());
    sockaddr_un a;
    int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ::unlink(path.c_str());  // of a process that had our number
    // The folder keeps others out until the mode is set.
    if (fd >= 0 && address(path, a) && ::bind(fd, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0 &&
        ::chmod(path.c_str(), 0600) == 0 && ::listen(fd, 8) == 0) {
      socket_ = fd;
      path_ = path;
    } else if (fd >= 0) {
      ::close(fd);
    }
  }
  if ((socket_ < 0 && !sense_) || ::pipe2(stop_, O_CLOEXEC) != 0) return;
  thread_ = support::start_thread([this] { serve(); });
}

Control::~Control() {
  if (stop_[1] >= 0) ::close(stop_[1]);
  if (thread_.joinable()) thread_.join();
  if (stop_[0] >= 0) ::close(stop_[0]);
  if (socket_ >= 0) ::close(socket_);
  if (!path_.empty()) ::unlink(path_.c_str());
}

void Control::serve() {
  for (;;) {
    pollfd p[2] = {{stop_[0], POLLIN, 0}, {socket_, POLLIN, 0}};
    int n = ::poll(p, socket_ >= 0 ? 2 : 1, sense_ ? kSensePeriod : -1);
    if (n < 0 && errno != EINTR) return;
    if (n > 0 && p[0].revents) return;
    if (sense_) demands_.sense_cores(available_cores());
    if (n <= 0 || !(p[1].revents & POLLIN)) continue;
    int connection = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    if (same_user(connection)) answer(connection);
    ::close(connection);
  }
}

void Control::answer(int connection) {
  timeval patience{kPatience / 1000, 0};
  ::setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  std::string line;
  char buffer[512];
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatience);
  while (line.find('\n') == line.npos) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    if (left <= 0 || !wait_for(connection, POLLIN, static_cast<int>(left)))
      return send_all(connection, "error: no request came\n");
    ssize_t n = ::recv(connection, buffer, sizeof buffer, 0);
    if (n <= 0) break;
    line.append(buffer, static_cast<size_t>(n));
    if (line.size() > kLongestRequest) return send_all(connection, "error: the request is too long\n");
  }
  line.resize(std::min(line.find('\n'), line.size()));
  for (char c : line)
    if (static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) > '~')
      return send_all(connection, "error: the request has a character that no demand has\n");
  send_all(connection, respond(demands_, line));
}

bool control_request(int pid, const std::string& request, std::string& reply) {
  std::string path = control_path(pid);
  sockaddr_un a;
  int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct Close {
    int fd;
    ~Close() {
      if (fd >= 0) ::close(fd);
    }
  } close_it{fd};
  errno = 0;
  if (fd < 0 || !is_own_folder(folder()) || !address(path, a) ||
      ::connect(fd, reinterpret_cast<sockaddr*>(&a), sizeof a) != 0) {
    if (errno == ECONNREFUSED) ::unlink(path.c_str());  // left by one that was killed
    bool there = ::kill(pid, 0) == 0 || errno == EPERM;
    reply = there ? fmt::format(
                        "process {} does not listen: it is no Ouro program of this user, or has made no tensor "
                        "yet",
                        pid)
                  : fmt::format("there is no process {}", pid);
    return false;
  }
  send_all(fd, request + "\n");
  char buffer[4096];
  while (wait_for(fd, POLLIN, 2 * kPatience)) {
    ssize_t n = ::recv(fd, buffer, sizeof buffer, 0);
    if (n <= 0) break;
    reply.append(buffer, static_cast<size_t>(n));
  }
  if (!reply.empty()) return true;
  reply = fmt::format("process {} does not answer", pid);
  return false;
}

}  // namespace ouro::runtime
