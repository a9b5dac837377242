#include "runtime/demand/control.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/demand/cores.h"
#include "runtime/demand/demand.h"
#include "runtime/demand/loop.h"
#include "runtime/demand/report.h"
#include "runtime/machine/memory_left.h"
#include "runtime/text/foreign.h"
#include "support/signals.h"

namespace ouro::runtime {

namespace {

constexpr size_t kLongestRequest = 1 << 16;
constexpr int kPatience = 2000;  // milliseconds for a request, and for its answer
constexpr int kSensePeriod = 250;
constexpr unsigned kMemoryEvery = 4;                     // sensings: its files take ten times as long to read
constexpr int kVisitPatience = 60000, kVisitPeriod = 5;  // for a safe point, and how often it is looked for
constexpr std::string_view kRun = "run ";
constexpr size_t kMostConnections = 64;
constexpr size_t kLongestReply = 1 << 20;

std::string folder() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  return runtime && *runtime == '/' ? std::string(runtime) + "/ouro" : fmt::format("/tmp/ouro-{}", ::getuid());
}

// Is it ours, and may nobody else enter? Empty, or what is wrong with it.
std::string problem_of(const std::string& folder) {
  struct stat st {};
  if (::lstat(folder.c_str(), &st) != 0) return fmt::format("{}: {}", folder, std::strerror(errno));
  if (!S_ISDIR(st.st_mode)) return fmt::format("{} is not a folder", folder);
  if (st.st_uid != ::getuid()) return fmt::format("{} belongs to another user ({})", folder, st.st_uid);
  if (st.st_mode & 077) return fmt::format("{} is open to other users (mode {:04o})", folder, st.st_mode & 07777);
  return {};
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

std::string set(Demands& demands, std::span<const std::string> words) {
  std::vector<Wish> wishes;
  for (const std::string& w : words) {
    const size_t at = w.find('=');
    if (at == std::string::npos || at == 0) return fmt::format("'{}' is not NAME=VALUE", w);
    if (w.starts_with("of=") && !wishes.empty()) {  // what the demand before it is asked of
      wishes.back().value += ":" + w.substr(at + 1);
      continue;
    }
    wishes.push_back({w.substr(0, at), w.substr(at + 1)});
  }
  return demands.set(wishes, DemandOrigin::ctl);
}

constexpr std::pair<std::string_view, Loop::Order> kOrders[] = {{"veto", Loop::Order::veto},
                                                                {"pin", Loop::Order::pin},
                                                                {"allow", Loop::Order::allow},
                                                                {"do", Loop::Order::carry_out}};

std::string order_response(Demands& demands, std::string_view word, const std::string& name, Loop::Order order) {
  std::string wrong = demands.loop().order(name, order);
  if (wrong.empty()) demands.log(fmt::format("ctl asked to {} {}", word, name));
  return wrong;
}

std::string respond(Demands& demands, std::string_view line) {
  const std::vector<std::string> w = words(line);
  auto done = [](const std::string& wrong) { return wrong.empty() ? std::string("ok\n") : "error: " + wrong + "\n"; };
  if (w.size() == 1 && w[0] == "get") return "ok\n" + demands.text();
  if (w.size() == 2 && w[0] == "get" && w[1] == "--json") return "ok\n" + whole_report(demands).dump() + "\n";
  if (w.size() == 1 && w[0] == "log") return "ok\n" + decisions_text(demands, false);
  if (w.size() == 2 && w[0] == "log" && w[1] == "--json") return "ok\n" + decisions_text(demands, true);
  if (w.size() >= 2 && w[0] == "set") return done(set(demands, std::span(w).subspan(1)));
  if (w.size() == 2)
    for (const auto& [name, order] : kOrders) {
      if (w[0] != name) continue;
      const std::string wrong = order_response(demands, name, w[1], order);
      if (!wrong.empty() || order != Loop::Order::carry_out) return done(wrong);
      return fmt::format("ok\n{} is ordered for the next place between two steps; the log tells what comes of it\n",
                         w[1]);
    }
  return "error: a request is `get`, `log` (both also with `--json`), `set NAME=VALUE...`, `run \"TEXT\"`, or `veto`, "
         "`pin`, `allow` or `do` and a response\n";
}

}  // namespace

std::string control_path(int pid) { return fmt::format("{}/{}.sock", folder(), pid); }

// Takes away what killed processes have left: nobody answers there, and no process has the number. One that is about to
// listen (in another container, whose numbers are not ours) has only just made its own.
static void sweep(const std::string& folder) {
  constexpr time_t kYoung = 10;
  DIR* d = ::opendir(folder.c_str());
  if (!d) return;
  while (dirent* e = ::readdir(d)) {
    int pid = 0;
    const std::string_view name = e->d_name;
    auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || pid < 1 || std::string_view(end) != ".sock" || ::kill(pid, 0) == 0 || errno != ESRCH)
      continue;
    const std::string path = folder + "/" + e->d_name;
    struct stat st {};
    sockaddr_un a;
    if (::lstat(path.c_str(), &st) != 0 || !S_ISSOCK(st.st_mode) || ::time(nullptr) - st.st_mtime < kYoung ||
        !address(path, a))
      continue;
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) break;
    if (::connect(fd, reinterpret_cast<sockaddr*>(&a), sizeof a) != 0 && errno == ECONNREFUSED) ::unlink(path.c_str());
    ::close(fd);
  }
  ::closedir(d);
}

Control::Control(Demands& demands, bool sense, bool listen) : demands_(demands), sense_(sense) {
  if (listen) problem_ = this->listen();
  if ((socket_ < 0 && !sense_) || ::pipe2(stop_, O_CLOEXEC) != 0) return;
  thread_ = support::start_thread([this] { serve(); });
}

// Opens the socket. Empty, or why there is none.
std::string Control::listen() {
  const std::string in = folder(), path = control_path(::getpid());
  if (::mkdir(in.c_str(), 0700) != 0 && errno != EEXIST) return fmt::format("{}: {}", in, std::strerror(errno));
  if (std::string why = problem_of(in); !why.empty()) return why;
  sockaddr_un a;
  if (!address(path, a)) return fmt::format("{}: the name is too long for a socket", path);
  sweep(in);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  ::unlink(path.c_str());  // of a process that had our number
  // The folder keeps others out until the mode is set.
  if (fd >= 0 && ::bind(fd, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0 && ::chmod(path.c_str(), 0600) == 0 &&
      ::listen(fd, SOMAXCONN) == 0) {
    socket_ = fd;
    path_ = path;
    return {};
  }
  std::string why = fmt::format("{}: {}", path, std::strerror(errno));
  if (fd >= 0) ::close(fd);
  return why;
}

Control::~Control() {
  if (stop_[1] >= 0) ::close(stop_[1]);
  if (thread_.joinable()) thread_.join();
  for (Connection& c : connections_) {  // what has run is told, where it fits into the socket
    if (c.visit) look_at_visit(c);
    if (c.answering) (void)speak(c);
  }
  if (stop_[0] >= 0) ::close(stop_[0]);
  if (socket_ >= 0) ::close(socket_);
  if (!path_.empty()) ::unlink(path_.c_str());
  for (const Connection& c : connections_) ::close(c.fd);
}

int Control::patience() const {
  int least = sense_ ? kSensePeriod : -1;
  for (const Connection& c : connections_) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(c.end - Clock::now()).count();
    const int wait = std::clamp<int>(static_cast<int>(left), 0, kPatience);
    least = least < 0 ? wait : std::min(least, wait);
    if (c.visit) least = std::min(least, kVisitPeriod);
  }
  return least;
}

void Control::serve() {
  unsigned sensings = 0;
  auto sensed = Clock::now() - std::chrono::milliseconds(kSensePeriod);
  std::vector<pollfd> p;
  for (;;) {
    p.assign({{stop_[0], POLLIN, 0}, {socket_, POLLIN, 0}});  // a negative one is passed over
    for (const Connection& c : connections_)
      p.push_back({c.fd, c.answering ? short{POLLOUT} : c.visit ? short{0} : short{POLLIN}, 0});
    const int n = ::poll(p.data(), p.size(), patience());
    if (n < 0 && errno != EINTR) return;
    if (n > 0 && p[0].revents) return;
    if (sense_ && Clock::now() - sensed >= std::chrono::milliseconds(kSensePeriod)) {
      demands_.sense_cores(available_cores());
      if (sensings++ % kMemoryEvery == 0) demands_.sense_memory(memory_left());
      sensed = Clock::now();
    }
    std::vector<Connection> kept;
    for (size_t i = 0; i < connections_.size(); ++i) {
      Connection& c = connections_[i];
      bool goes_on = true;
      if (c.visit) {
        look_at_visit(c);
        if (c.visit && n > 0 && p[i + 2].revents & (POLLHUP | POLLERR)) {
          c.visit->given_up.store(true, std::memory_order_release);
          goes_on = false;
        }
      } else if (n > 0 && p[i + 2].revents) {
        goes_on = c.answering ? speak(c) : hear(c);
      }
      if (goes_on && Clock::now() >= c.end) {
        goes_on = !c.answering;
        if (c.visit) {
          c.visit->given_up.store(true, std::memory_order_release);
          c.visit.reset();
          reply(c, "error: the program has come to no place between two steps for a minute\n");
        } else if (goes_on) {
          reply(c, "error: no request came\n");
        }
      }
      if (goes_on)
        kept.push_back(std::move(c));
      else
        ::close(c.fd);
    }
    connections_ = std::move(kept);
    if (n > 0 && p[1].revents & POLLIN) accept();
  }
}

void Control::accept() {
  const int fd = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    // Without a free descriptor the one that waits would wake us again and again.
    if (errno == EMFILE || errno == ENFILE) ::poll(nullptr, 0, kSensePeriod);
    return;
  }
  if (!same_user(fd)) {
    ::close(fd);
    return;
  }
  if (connections_.size() == kMostConnections) {
    ::close(connections_.front().fd);
    connections_.erase(connections_.begin());
  }
  connections_.push_back({fd, Clock::now() + std::chrono::milliseconds(kPatience), {}});
}

void Control::reply(Connection& c, std::string text) {
  c.answering = true;
  c.text = std::move(text);
  c.end = Clock::now() + std::chrono::milliseconds(kPatience);
}

// A refused request is in the log of the program.
void Control::answer(Connection& c, std::string text) {
  constexpr size_t kShown = 60;
  if (text.starts_with("error: ")) {
    std::string_view asked = std::string_view(c.text).substr(0, c.text.find('\n'));
    const bool longer = asked.size() > kShown;
    demands_.log(fmt::format("ctl: refused \"{}\"{}: {}", text::shown_text(asked.substr(0, kShown)),
                             longer ? "..." : "", std::string_view(text).substr(7, text.find('\n') - 7)));
  }
  reply(c, std::move(text));
}

bool Control::hear(Connection& c) {
  char buffer[512];
  const ssize_t n = ::recv(c.fd, buffer, sizeof buffer, 0);
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  c.text.append(buffer, static_cast<size_t>(n));
  const size_t end = std::min(c.text.find('\n'), c.text.size());
  if (end > kLongestRequest) return answer(c, "error: the request is too long\n"), true;
  if (n > 0 && end == c.text.size()) return true;
  c.text.resize(end);
  for (char x : c.text)
    if (static_cast<unsigned char>(x) < ' ' || static_cast<unsigned char>(x) > '~')
      return answer(c, "error: the request has a character that no demand has\n"), true;
  if (std::string_view(c.text).starts_with(kRun))
    begin_visit(c);
  else
    answer(c, respond(demands_, c.text));
  return true;
}

// `run "TEXT"`, the text as JSON writes it.
void Control::begin_visit(Connection& c) {
  const nlohmann::json text = nlohmann::json::parse(c.text.substr(kRun.size()), nullptr, /*allow_exceptions=*/false);
  if (!text.is_string()) return answer(c, "error: `run` takes the text as a JSON string\n");
  if (!demands_.visits().received()) return answer(c, "error: this program takes no statements\n");
  c.visit = demands_.visit(text.get<std::string>());
  c.end = Clock::now() + std::chrono::milliseconds(kVisitPatience);
}

void Control::look_at_visit(Connection& c) {
  if (!c.visit->done.load(std::memory_order_acquire)) return;
  const std::string answer = std::move(c.visit->answer);
  c.visit.reset();
  reply(c, "ok\n" + answer);
}

bool Control::speak(Connection& c) {
  const ssize_t n = ::send(c.fd, c.text.data(), c.text.size(), MSG_NOSIGNAL);
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  c.text.erase(0, static_cast<size_t>(n));
  return !c.text.empty();
}

bool control_request(int pid, const std::string& request, std::string& reply) {
  const std::string in = folder(), path = control_path(pid);
  sockaddr_un a;
  if (::kill(pid, 0) != 0 && errno == ESRCH) {
    if (problem_of(in).empty()) sweep(in);
    reply = fmt::format("there is no process {}", pid);
    return false;
  }
  std::string why = problem_of(in);
  if (struct stat st; !why.empty() && ::lstat(in.c_str(), &st) == 0) {
    reply = fmt::format("nothing listens there: {}", why);
    return false;
  }
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct Close {
    int fd;
    ~Close() {
      if (fd >= 0) ::close(fd);
    }
  } close_it{fd};
  // One that is stopped leaves connections and requests waiting.
  const int wait = std::string_view(request).starts_with(kRun) ? kVisitPatience + kPatience : 2 * kPatience;
  const timeval patience{2 * kPatience / 1000, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (fd < 0 || !address(path, a) || ::connect(fd, reinterpret_cast<sockaddr*>(&a), sizeof a) != 0) {
    if (errno == ECONNREFUSED) ::unlink(path.c_str());  // left by one that was killed
    if (errno == EAGAIN)
      reply = fmt::format("process {} does not answer", pid);
    else
      reply =
          fmt::format("process {} does not listen: it is no Ouro program of this user, or has made no tensor yet", pid);
    return false;
  }
  send_all(fd, request + "\n");
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait);
  char buffer[4096];
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    if (left <= 0 || !wait_for(fd, POLLIN, static_cast<int>(left))) break;
    ssize_t n = ::recv(fd, buffer, sizeof buffer, 0);
    if (n <= 0) break;
    reply.append(buffer, static_cast<size_t>(n));
    if (reply.size() > kLongestReply) break;
  }
  if (!reply.empty()) return true;
  reply = fmt::format("process {} does not answer", pid);
  return false;
}

}  // namespace ouro::runtime
