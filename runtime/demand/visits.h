// Visits: somebody at another terminal has statements run in the program, between two of its steps (`ouro attach`).
//
// The control thread leaves the text here and asks for a safe point; the session's thread runs it there, outside of
// compiled calls, transforms and the library's optimizers, whose work must not be seen half done.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

namespace ouro::runtime {

class Session;

struct Visit {
  std::string text, answer;
  std::atomic<bool> done{false};      // the answer is there
  std::atomic<bool> given_up{false};  // nobody waits for it any more
};

class Visits {
 public:
  /// Runs the text of a visit and gives what it printed. Of whoever has the frontend.
  using Host = std::string (*)(Session& s, const std::string& text);
  void receive_with(Host host) { host_ = host; }
  bool received() const { return host_ != nullptr; }

  /// Any thread. The caller asks for a safe point.
  std::shared_ptr<Visit> leave(std::string text);
  bool waiting() const { return waiting_.load(std::memory_order_acquire); }
  /// At a safe point, on the session's thread: all that wait.
  void receive(Session& s);

 private:
  Host host_ = nullptr;
  std::mutex lock_;
  std::deque<std::shared_ptr<Visit>> queue_;
  std::atomic<bool> waiting_{false};
  bool busy_ = false;  // a visit runs: what it does is no place for another one
};

}  // namespace ouro::runtime
