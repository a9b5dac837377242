// A session: a program of its own, with its modules, objects, compiled code and output. A process may have many.
//
// Threads. A session serves one thread at a time, any thread: calls from several need no lock of the host's, but one
// that comes while another thread is inside fails with RuntimeError instead of waiting. Sessions share nothing that a
// host has to guard. `interrupt` alone may be called at any time from any thread. A thread whose stack is small (under
// 256 kB) gets RecursionError early.
//
// Signals, standard streams, the locale, the working directory: the library changes none of them. It starts threads
// (kernels, compiler) when first needed; they run only the library's code.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "ouro/value.h"

namespace ouro {
inline namespace v0 {

enum class Mode : uint8_t {
  eager,      ///< interpret; nothing is compiled
  graph,      ///< compile a function of tensors at its first call, and wait for that
  automatic,  ///< compile what is hot in the background
};

struct Options {
  Mode mode = Mode::automatic;
  int threads = 0;  ///< of kernels; 0: the cores this process may use
  /// Bytes that the values of scripts may take (objects, texts, containers, tensors), at least 4 MiB: more is a
  /// MemoryError in the script. 0: what the machine, or the process's control group, still has.
  size_t memory = 0;
  /// Seconds, and steps, that a call of the host may take, with all that it calls: 0, as many as it wants. What is over
  /// its limit ends as by stop(), with an Error whose end() says so; the session can be used again, each call has the
  /// whole again. A step is one iteration of a loop or one call that is interpreted, one item of a native that goes
  /// through many (of very short ones a few thousand), one polling point of compiled code: in Mode::eager the same
  /// number in each run.
  double time = 0;
  uint64_t steps = 0;
  /// How deep calls of scripts may nest before RecursionError; sys.setrecursionlimit() changes it.
  int recursion = 1000;
  std::string cpu;  ///< compiled code has no newer instructions than that ("x86-64-v3"); empty: this one's
  /// Compiled code is kept in the user's cache folder and found there by later processes; OURO_CACHE=on|off in the
  /// environment has the last word, OURO_CACHE_BYTES bounds it (docs/cache.md). A folder that cannot be used is no
  /// error.
  bool disk_cache = false;
  std::vector<std::string> path;  ///< folders that `import` searches
  std::vector<std::string> argv;  ///< sys.argv
};

/// A response to a goal that was asked for (docs/demand.md).
struct Decision {
  uint64_t step = 0;     ///< steps that had ended
  double seconds = 0;    ///< since the session began
  std::string goal;      ///< for which it was taken; empty: it takes something back
  std::string response;  ///< "recompute"
  std::string value;     ///< "temporaries=12M"
  std::string outcome;   ///< "taking effect", then what was measured
};

class Session;

/// A call of a host function by a script.
class OURO_API Call {
 public:
  Session& session() const { return session_; }
  size_t size() const { return positional_.size(); }  ///< of positional arguments
  const Value& operator[](size_t i) const { return positional_[i]; }
  std::span<const Value> positional() const { return positional_; }
  std::span<const std::pair<std::string_view, Value>> keywords() const { return keywords_; }
  const Value* keyword(std::string_view name) const;  ///< null: not given

 private:
  Call(Session& session, std::span<const Value> positional,
       std::span<const std::pair<std::string_view, Value>> keywords)
      : session_(session), positional_(positional), keywords_(keywords) {}
  Session& session_;
  std::span<const Value> positional_;
  std::span<const std::pair<std::string_view, Value>> keywords_;
  friend struct Access;
};

/// What a host function does. It runs on the thread that called the script and may call the session again. A returned
/// Error is raised in the script, the very exception when it came out of a call of this session. A C++ exception
/// becomes RuntimeError with its what().
using HostFunction = std::function<Result<Value>(const Call&)>;

class OURO_API Session {
 public:
  /// With options that mean nothing (`threads = -3`) every call fails with the ValueError that names the option;
  /// check() tells at once.
  explicit Session(const Options& options = {});
  /// Runs what waits (`__del__` of what the program still held, output), within the limits of a call. Any thread; a
  /// script that another thread runs is stopped, and waited for; not from a host function that a script of it called.
  /// Values that are left stay readable; memory lent by the host is given back when the last tensor over it goes.
  ~Session();
  /// What was moved from is no session: its calls fail with RuntimeError.
  Session(Session&& other) noexcept
      : core_(std::exchange(other.core_, nullptr)), wrong_(std::exchange(other.wrong_, nullptr)) {}
  Session& operator=(Session&& other) noexcept {
    std::swap(core_, other.core_);
    std::swap(wrong_, other.wrong_);
    return *this;
  }
  Result<void> check() const;  ///< is it a session, made with options that mean something?

  // ---- running. Statements run in the module __main__, which stays from one to the next. `exit()` in a script ends no
  // process: it is an Error of type SystemExit.
  /// `name` is what tracebacks call the text. The text is kept as long as a function of it.
  Result<void> run(std::string_view text, std::string_view name = "<string>");
  /// Its folder is then searched by `import`, before the others.
  Result<void> run_file(const std::string& path);
  Result<Value> import(std::string_view module);  ///< "math", "ouro.nn", a file on the path

  // ---- names of __main__
  Result<Value> get(std::string_view name) const;
  template <class T>
  Result<void> set(std::string_view name, T&& value) {
    if constexpr (std::convertible_to<T, std::string_view>) {
      Result<Value> text = str(value);
      return text ? put(name, *text) : Result<void>(text.error());
    } else {
      return put(name, Value(std::forward<T>(value)));
    }
  }

  // ---- making values. None, bool, int and float are made by Value's constructors.
  /// Of what is no UTF-8 ValueError names the byte and its place, here as in names and arguments.
  Result<Value> str(std::string_view utf8);
  Result<Value> bytes(std::string_view raw);
  Result<Value> list(std::span<const Value> items);
  Result<Value> tuple(std::span<const Value> items);
  Result<Value> dict(std::span<const std::pair<Value, Value>> items);

  /// A tensor over the host's memory, without a copy: contiguous, row-major, aligned for its elements (64 bytes are
  /// fastest). Scripts never write to it: what updates the tensor gets memory of its own first. The memory must stay,
  /// and must not change, while a tensor over it lives; a script may keep one (in a list, as an attribute, as a result
  /// that is a reshape). `owner` tells: it is copied, and let go when the last such tensor goes, on a thread that calls
  /// the session. Without an owner the host knows by itself, for instance because the memory outlives the session.
  Result<Value> tensor(DType dtype, std::span<const int64_t> shape, const void* data,
                       std::shared_ptr<const void> owner = nullptr);
  template <class T>
  Result<Value> tensor(std::initializer_list<int64_t> shape, const T* data,
                       std::shared_ptr<const void> owner = nullptr) {
    static_assert(dtype_of<T>.has_value(), "no dtype has these elements");
    return tensor(*dtype_of<T>, {shape.begin(), shape.size()}, data, std::move(owner));
  }
  /// A tensor of its own, filled from the memory.
  Result<Value> tensor_copy(DType dtype, std::span<const int64_t> shape, const void* data);

  // ---- host functions
  /// A callable value. `name` is what error texts and repr() call it.
  Result<Value> function(std::string_view name, HostFunction f);
  /// Gives scripts the function: `define("log", f)` as a name of __main__, `define("host.log", f)` in a module `host`,
  /// made when first named, that every file can import.
  Result<void> define(std::string_view name, HostFunction f);

  // ---- text of any value, as str() and repr() of scripts
  Result<std::string> text(const Value& value);
  Result<std::string> repr(const Value& value);

  // ---- output. Instead of the process's standard output and error, pieces of text as scripts write them. Called on
  // the thread that is inside; must not call the session. An empty function goes back to the streams.
  Result<void> on_output(std::function<void(std::string_view)> to);
  Result<void> on_error_output(std::function<void(std::string_view)> to);

  // ---- from other threads
  /// KeyboardInterrupt in the script, at its next loop head or call, or in the next call when none is running. Any
  /// thread, also a signal handler. Not within one kernel.
  void interrupt() noexcept;
  void clear_interrupt() noexcept;  ///< forgets one that has not been seen yet
  /// Ends the call that runs, for scripts that nobody trusts: like interrupt(), but no `except`, `finally` or `with` of
  /// the script is run on the way out. The call's Error is KeyboardInterrupt with End::stopped, whatever the script
  /// raised meanwhile, and nothing of it stays: the session can be used again. Nothing running: nothing happens. Any
  /// thread.
  void stop() noexcept;

  // ---- demands: what the running program must meet (docs/demand.md)
  /// Any thread, also while the session runs something: "threads" ("1" to "1024"), "precision" ("f32", "bf16"),
  /// "device" ("cpu", "opencl", "cuda"); "auto" takes it back. ValueError tells what there is; then nothing is changed.
  Result<void> set_demand(std::string_view name, std::string_view value);
  /// What was asked and by whom, what runs now, and a log, as text. Any thread.
  std::string demands() const;
  /// Called with each decision that the session takes to meet its goals, and again when it is known what came of it:
  /// on the thread that is inside; must not call the session. An empty function: no longer.
  Result<void> on_decision(std::function<void(const Decision&)> told);
  /// Threads of kernels from the next operation on; 0: the cores this process may use. Changes no bit of a result.
  Result<void> set_threads(int threads);
  int threads() const;  ///< what that comes to

 private:
  explicit Session(Core* core) : core_(core) {}
  Result<void> put(std::string_view name, const Value& value);
  Core* core_ = nullptr;
  std::shared_ptr<const Error> wrong_;  // with its options
  friend struct Access;
};

}  // namespace v0
}  // namespace ouro
