// libFuzzer: any text at all is run by a session with limits of memory, recursion and time, which can be used
// afterwards. Nothing may crash, hang or leak.
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>

#include "ouro/ouro.h"

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kTime = std::chrono::milliseconds(200);

// Stops a session that works for too long.
class Watch {
 public:
  Watch() : thread_([this] { serve(); }) {}
  ~Watch() {
    {
      std::lock_guard hold(lock_);
      ended_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  void begin(ouro::Session& session) { set(&session); }
  void end() { set(nullptr); }

 private:
  void set(ouro::Session* session) {
    {
      std::lock_guard hold(lock_);
      session_ = session;
      until_ = Clock::now() + kTime;
    }
    changed_.notify_one();
  }
  void serve() {
    std::unique_lock hold(lock_);
    while (!ended_) {
      if (!session_) {
        changed_.wait(hold);
      } else if (changed_.wait_until(hold, until_) == std::cv_status::timeout && session_ && Clock::now() >= until_) {
        session_->stop();
        until_ += std::chrono::milliseconds(5);  // a finalizer may begin after the first time
      }
    }
  }

  std::mutex lock_;
  std::condition_variable changed_;
  ouro::Session* session_ = nullptr;
  Clock::time_point until_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Watch watch;
  ouro::Options options;
  options.mode = ouro::Mode::eager;
  options.threads = 1;
  options.memory = size_t{64} << 20;
  options.recursion = 200;
  ouro::Session session(options);
  session.on_output([](std::string_view) {}).value();
  session.on_error_output([](std::string_view) {}).value();
  auto none = [](const ouro::Call&) -> ouro::Result<ouro::Value> { return ouro::Error("OSError", "no files here"); };
  session.define("open", none).value();
  watch.begin(session);
  if (auto done = session.run({reinterpret_cast<const char*>(data), size}, "fuzz"); !done) done.error().traceback();
  watch.end();
  if (auto done = session.run("_ = [1, 2]"); !done) __builtin_trap();  // it cannot be used any more
  return 0;
}
