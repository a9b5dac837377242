// A session: everything one running program has. There is no mutable state outside of it, so a host runs several
// sessions in one process, each on one thread at a time (`SessionScope` says which session the thread is serving).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/demand/demand.h"
#include "runtime/machine/client.h"
#include "runtime/machine/device.h"
#include "runtime/object/exception_kinds.h"
#include "runtime/object/native.h"
#include "runtime/object/object.h"
#include "support/source.h"

namespace ouro::ir {
struct OpInfo;
}

namespace ouro::runtime {

struct Executor;      // runtime/object/executor.h: compiled code's side of the interpreter
struct CallRecorder;  // runtime/object/executor.h
struct Interpreter;   // runtime/interpreter
struct TensorHooks;   // runtime/object/tensor_hooks.h
struct LookupCache;

enum class Mode : uint8_t { eager, graph, auto_ };

struct Options {
  Mode mode = Mode::auto_;
  bool verbose = false;
  int threads = 0;       // 0: what the machine has
  size_t memory = 0;     // bytes that values may take; 0: what the machine has
  double time = 0;       // seconds that a call of the host may take (runtime/object/limits.h); 0: any
  uint64_t steps = 0;    // and visits of polling points; 0: any
  std::string cpu;       // --cpu=
  std::string device;    // --device=; a kind that Devices can open
  bool sense = false;    // the thread count follows the cores that the process may use (runtime/demand/demand.h)
  bool control = false;  // `ouro ctl` reaches the session (runtime/demand/control.h)
};

// Buffered text output (sys.stdout). Flushed at exit, before an error is printed, when full, and at each line on a
// terminal.
class Output {
 public:
  explicit Output(int fd) : fd_(fd) {}
  bool write(std::string_view text);  // false: errno tells
  [[nodiscard]] bool flush();         // the same; true also when an interrupt came first: the rest waits
  // From now on (what runs was interrupted, and ends) what nobody takes for so long is dropped.
  void hurry(int milliseconds) { patience_ = milliseconds; }
  // Instead of the descriptor, for hosts and tests.
  void redirect(std::function<void(std::string_view)> to) { sink_ = std::move(to); }
  bool waiting() const { return !buffer_.empty(); }
  int fd() const { return fd_; }
  bool is_terminal();

 private:
  bool may_wait();
  int fd_;
  int terminal_ = -1, waits_ = -1, patience_ = -1;
  std::string buffer_;
  std::function<void(std::string_view)> sink_;
};

// A table of natives that belong together. kPython: names of Python's builtins; kOuro: names only .ouro files see and
// module `ouro` exports; otherwise a native module of that name ("math", "time").
struct NativeModule {
  std::string_view name;
  std::span<const NativeDef> functions;
  // Names that are no functions, made at first use (null: none). Unbound: no such name.
  Value (*constant)(Session&, std::string_view name) = nullptr;
  std::span<const std::string_view> constants = {};  // their names, for dir() and import *
  // Names that only the module has (`ouro.nn`), never a bare name: made when first asked for. Unbound: no such name.
  Value (*attribute)(Session&, std::string_view name) = nullptr;
};
inline constexpr std::string_view kPython = "builtins";
inline constexpr std::string_view kOuro = "ouro";

class Session final : public Client {
 public:
  explicit Session(const Options& options = {});
  ~Session() override;

  Options options;
  SourceManager sources;
  Output out{1}, err{2};

  // ---- classes, by kind of their values; exception classes by ExcKind
  Type* types[static_cast<int>(ObjectKind::count_)] = {};
  Type* exceptions[static_cast<int>(ExcKind::count_)] = {};
  Type* object_type() const { return types[static_cast<int>(ObjectKind::instance)]; }
  Type* type(ObjectKind k) const { return types[static_cast<int>(k)]; }
  const TypeSlots* slots[static_cast<int>(ObjectKind::count_)] = {};  // never null after construction

  // ---- errors
  Value pending;  // the exception of the operation that just failed; unbound otherwise
  Value handled;  // sys.exc_info(): the exception being handled, or None
  bool has_error() const { return !pending.is_unbound(); }
  Value stop_value;  // the value of the last StopIteration that ended a `next`

  // ---- limits
  int depth = 0;  // of script calls and of C++ recursion that scripts drive
  int recursion_limit = 1000;
  std::vector<const void*> repr_stack;  // containers being printed
  uintptr_t stack_limit = 0;            // lowest address C++ frames may use
  // Is the caller's frame above it?
  [[gnu::always_inline]] bool has_stack() const {
    return reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) >= stack_limit;
  }
  // Client::poll, at back edges and calls: nonzero means look at the bits (interrupt, finalizers, collection, compiled
  // code ready).
  enum : uint32_t {
    kInterrupt = kStopBits,
    kFinalizers = 2,
    kCollect = 4,
    kTranslated = 8,  // loops that run have better machine code now
    kDemand = 16,
    kLeftovers = 32,
    kStop = 64,  // with kInterrupt: the call ends, and why (runtime/object/limits.h)
    kTimeOver = 128,
    kStepsSpent = 256,
    kCountSteps = 512,  // polling points are counted
    kEnding = kStop | kTimeOver | kStepsSpent,
  };
  // Ends the call that is running. Any thread, and in one operation: who looks sees all of it or nothing.
  void end(uint32_t why) { poll.fetch_or(kInterrupt | why); }
  bool ending() const { return poll.load(std::memory_order_relaxed) & kEnding; }
  bool met_end = false;     // a polling point has seen it
  uint64_t steps_left = 0;  // while kCountSteps is set
  // Sets a bit; other threads set theirs at the same time.
  void ask(uint32_t bit) {
    if (!(poll.load(std::memory_order_relaxed) & bit)) poll.fetch_or(bit, std::memory_order_relaxed);
  }
  bool may_stop() const override;
  void look() const override;
  void collection_due() override { ask(kCollect); }
  void make_room() override;

  Devices devices;
  Demands demands;

  // ---- names
  const Value& str(Symbol name);  // the one Str of a symbol
  std::vector<Value> symbol_strs;
  Value ascii_chars[128];                     // the one Str of each, once made
  uint32_t next_version = 1;                  // of classes, shapes and modules
  std::shared_ptr<LookupCache> lookup_cache;  // runtime/protocol/types.cpp

  // ---- modules
  NameTable<Value> modules;                           // sys.modules, by dotted name
  void register_natives(const NativeModule* module);  // static storage
  const NativeModule* find_natives(std::string_view name) const;
  std::vector<const NativeModule*> native_modules;
  std::span<const NativeDef> intrinsics;  // what only lowered code calls (prim builtin.get); no script can name them
  std::vector<std::string> path;  // folders searched by import: the script's, OUROPATH; as the system names them
  std::vector<std::string> argv;  // the system's bytes, too
  // Where embedded modules come from (stdlib/embedded.h stands to the right of this layer).
  struct Embedded {
    std::string_view path, text;
    std::string_view packed;  // the module's code, as ir/pack.h reads it
    bool is_package;
  };
  const Embedded* (*find_embedded)(std::string_view dotted) = nullptr;

  // ---- those who run code
  Interpreter* interpreter = nullptr;    // owned
  Executor* executor = nullptr;          // the compiler, when there is one (jit sets it); not owned
  CallRecorder* recorder = nullptr;      // of calls of script functions from C++, while there is one; not owned
  const TensorHooks* tensors = nullptr;  // set by register_tensor_types
  // Runs a row on a device (jit sets it): arguments as run_operation() takes them, bound. False in `done`: the row has
  // no kernel there, or not for these arguments.
  Value (*run_row)(Session&, Device&, uint8_t place, const ir::OpInfo&, std::span<const Value> args,
                   bool& done) = nullptr;
  int row_texts = 0;  // rows written in Ouro that are running
  // A primitive of differentiated code (set by register_autodiff_types).
  Value (*gradient_primitive)(Session&, const ir::Function&, const Value& globals, ir::Op, uint32_t attr,
                              std::span<Value> args) = nullptr;

  // ---- the cycle collector and finalizers (runtime/object/collect.cpp)
  GcObject* gc_objects = nullptr;
  size_t gc_count = 0, gc_threshold = 20000;
  bool any_del = false;           // a class has a __del__, or had
  std::vector<Value> finalizers;  // objects whose __del__ waits for the next safe point

  // ---- places for the other rooms' per-session state, by their own key
  template <class T>
  T& state() {
    static const char key = 0;
    std::shared_ptr<void>& p = states_[&key];
    if (!p) p = std::make_shared<T>();
    return *static_cast<T*>(p.get());
  }

 private:
  std::unordered_map<const void*, std::shared_ptr<void>> states_;
};

// The session this thread is serving. Only memory management (which has no session argument) asks.
Session* current_session();
class SessionScope {
 public:
  explicit SessionScope(Session& s);
  ~SessionScope();

 private:
  Session* before_;
  Client* client_before_;
};

}  // namespace ouro::runtime
