// The door to a running program: one thread that listens on a Unix socket (`ouro ctl PID ...`) and looks at the machine
// from time to time (the sensor of cores). It touches the session's Demands only.
//
// Socket: $XDG_RUNTIME_DIR/ouro/PID.sock, or /tmp/ouro-UID/PID.sock; folder 0700, socket 0600, and only the same user's
// processes are answered. A request is one line of at most 64 KiB (`get`, `set NAME=VALUE...`, `run "TEXT"`, …); the
// answer is text that starts with "ok" or "error", then the end.
//
// The thread waits for all connections at once: each has two seconds for its request and two for its answer (a minute
// for text that is run between two steps). Where there are too many, the oldest is closed, so that a silent connection
// blocks nobody. The next process that listens removes the socket that a killed process has left.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace ouro::runtime {

class Demands;
struct Visit;

class Control {
 public:
  Control(Demands& demands, bool sense, bool listen);
  ~Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  /// Why nothing listens, where it should; else empty.
  const std::string& problem() const { return problem_; }

 private:
  using Clock = std::chrono::steady_clock;
  // One that is heard (a line grows), then answered (the answer shrinks).
  struct Connection {
    int fd;
    Clock::time_point end;
    std::string text;
    bool answering = false;
    std::shared_ptr<Visit> visit{};  // that it waits for
  };
  std::string listen();
  void serve();
  void accept();
  bool hear(Connection& c);  // false: it is over
  bool speak(Connection& c);
  void begin_visit(Connection& c);
  void look_at_visit(Connection& c);
  void reply(Connection& c, std::string text);
  void answer(Connection& c, std::string text);
  int patience() const;  // milliseconds until something is to be done without being asked

  Demands& demands_;
  const bool sense_;
  std::string path_;  // empty: does not listen
  std::string problem_;
  std::vector<Connection> connections_;  // the oldest first
  int socket_ = -1;
  int stop_[2] = {-1, -1};  // a pipe: its end tells the thread to end
  std::thread thread_;
};

/// Where process `pid` of this user listens.
std::string control_path(int pid);
/// Sends a request to a running program. False: `reply` says why none came.
bool control_request(int pid, const std::string& request, std::string& reply);

}  // namespace ouro::runtime
