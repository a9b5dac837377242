// A session's insides as its handles share them, and the gate through which threads enter.
//
// `state` is the thread that is inside (0: nobody), with kLeft when other threads have left values to be dropped:
// whoever leaves drops those first, so a thread touches the core only while it is inside or holds a counted handle. A
// thread that came only to drop a value has set kDropping: others wait for it, where a thread in a call refuses them.
// Counts are not atomic: they change only inside.
#pragma once

#include <atomic>
#include <mutex>
#include <new>
#include <optional>
#include <vector>

#include "runtime/interpreter/modules.h"
#include "runtime/object/limits.h"
#include "runtime/object/ops.h"
#include "runtime/tensor/tensor.h"

namespace ouro::runtime {
using ElementType = DType;  // behind the next line, ouro::DType is the API's too
}
#include "ouro/session.h"

namespace ouro {
inline namespace v0 {

// A host function, and what scripts hold of it.
struct HostRow {
  Core* core;
  HostFunction function;
};

struct Core {
  explicit Core(const Options& options);
  ~Core();

  runtime::Session session;
  runtime::Value main;  // the module __main__
  uint32_t refs = 1;    // handles: the Session, and Values of objects
  bool ended = false;   // the Session is gone
  // The exception that a call out of a host function ended with: raised again if the host function returns its error.
  runtime::Value passing;
  uint64_t passing_serial = 0;
  std::vector<std::weak_ptr<HostRow>> rows;

  bool inside() const;                // this thread is
  bool try_enter(uintptr_t why = 0);  // false: another thread is in a call
  void enter_stopping();              // ends what another thread runs, and waits for it
  void leave();                       // the last use of the core: it may be gone afterwards
  void drop(runtime::Value v);        // of a handle, from any thread

 private:
  void drop_left();
  std::atomic<uintptr_t> state_{0};
  std::mutex lock_;
  std::vector<runtime::Value> left_;  // by threads that could not enter
};

// This thread serves the session while it lives.
class Entry {
 public:
  explicit Entry(Core* core);
  explicit Entry(const Session& session);
  ~Entry();
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  bool ok() const { return scope_.has_value(); }
  Error refusal() const;  // why it is not ok

 private:
  Core* core_;
  bool outermost_ = false;
  std::optional<Error> why_;
  std::optional<runtime::SessionScope> scope_;
  std::optional<runtime::CallScope> call_;
};

// What the library's files may see of the public classes. All but `raw` and `drop` need an Entry.
struct Access {
  static runtime::Value& raw(Value& v) { return *std::launder(reinterpret_cast<runtime::Value*>(v.storage_)); }
  static const runtime::Value& raw(const Value& v) {
    return *std::launder(reinterpret_cast<const runtime::Value*>(v.storage_));
  }
  static Core* core(const Value& v) { return v.core_; }
  static Core* core(const Session& s) { return s.core_; }
  // May the value be given to that session?
  static bool fits(const Core& core, const Value& v) { return !v.core_ || v.core_ == &core; }
  static Value wrap(Core& core, runtime::Value v);
  // Why calls of a session cannot be served, if that is known without entering it.
  static std::optional<Error> refusal(const Session& s);
  // A value, or for the error marker the pending exception.
  static Result<Value> result(Core& core, runtime::Value v);
  static Result<void> done(Core& core, bool good);
  // False, with KeyboardInterrupt pending, when one was asked for before the script started.
  static bool may_start(Core& core);
  static Error take_error(Core& core);
  static void raise(Core& core, const Error& error);
  // The session of a core, for the time of a call.
  struct Borrowed {
    Session session;
    explicit Borrowed(Core* core) : session(core) {}
    ~Borrowed() { session.core_ = nullptr; }
  };
  static runtime::Value call_host(runtime::Session& s, const runtime::Args& args);
  static Error foreign_value();
  // What a host gives as text is UTF-8.
  static std::optional<Error> wrong_text(std::initializer_list<std::string_view> texts);
};

}  // namespace v0
}  // namespace ouro
