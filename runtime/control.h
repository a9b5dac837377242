// The door to a running program: one thread that listens on a Unix socket (`ouro ctl PID ...`) and looks at the machine
// from time to time (the sensor of cores). It touches the session's Demands only.
//
// Socket: $XDG_RUNTIME_DIR/ouro/PID.sock, or /tmp/ouro-UID/PID.sock; folder 0700, socket 0600, and only the same user's
// processes are answered. A request is one line, `get` or `set NAME=VALUE...`, of at most 4 KiB; the answer is text
// that starts with "ok" or "error", then the end.
#pragma once

#include <string>
#include <thread>

namespace ouro::runtime {

class Demands;

class Control {
 public:
  Control(Demands& demands, bool sense, bool listen);
  ~Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

 private:
  void serve();
  void answer(int connection);

  Demands& demands_;
  const bool sense_;
  std::string path_;  // empty: does not listen
  int socket_ = -1;
  int stop_[2] = {-1, -1};  // a pipe: its end tells the thread to end
  std::thread thread_;
};

/// Where process `pid` of this user listens.
std::string control_path(int pid);
/// Sends a request to a running program. False: `reply` says why none came.
bool control_request(int pid, const std::string& request, std::string& reply);

}  // namespace ouro::runtime
