#include "runtime/object/session.h"

#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "runtime/interpreter/interpreter.h"
#include "runtime/interpreter/modules.h"
#include "runtime/machine/buffer.h"
#include "runtime/object/collect.h"
#include "runtime/object/executor.h"
#include "runtime/object/leftovers.h"
#include "runtime/object/ops.h"
#include "runtime/object/pool.h"
#include "runtime/protocol/in_ouro.h"
#include "support/process_end.h"

namespace ouro::runtime {

void register_core_kinds();  // runtime/object/kinds.cpp
uintptr_t lowest_stack_address();

bool Output::write(std::string_view text) {
  if (sink_) return sink_(text), true;
  buffer_.append(text);
  if (buffer_.size() >= 8192 || fd_ == 2 || (is_terminal() && text.find('\n') != text.npos)) return flush();
  return true;
}

// Where a reader may keep it waiting it looks for interrupts in between, and writes what a pipe takes at once where
// there is room (PIPE_BUF). An interrupt in a script is the script's; one behind its end means that nobody will read.
bool Output::flush() {
  constexpr int kWait = 20;  // milliseconds
  const Session* s = current_session();
  waits_ = -1;  // the number may stand for another file by now (os.dup2)
  const size_t piece = may_wait() ? 4096 : size_t{1} << 20;
  size_t done = 0;
  for (int waited = 0; done < buffer_.size();) {
    pollfd ready{fd_, POLLOUT, 0};
    const bool full = may_wait() && ::poll(&ready, 1, kWait) <= 0;
    ssize_t n = full ? 0 : ::write(fd_, buffer_.data() + done, std::min(piece, buffer_.size() - done));
    const bool asked = s && s->poll.load(std::memory_order_relaxed) & Session::kInterrupt && (n >= 0 || errno == EINTR);
    if (asked && s->memory.in_script()) {
      buffer_.erase(0, done + static_cast<size_t>(std::max<ssize_t>(n, 0)));
      return true;
    }
    if (full) {
      waited += kWait;
      if (!asked && (patience_ < 0 || waited < patience_)) continue;
      buffer_.clear();
      return true;
    }
    waited = 0;
    if (n < 0) {
      if (errno == EINTR) continue;
      int saved = errno;
      buffer_.clear();
      errno = saved;
      return false;
    }
    done += static_cast<size_t>(n);
  }
  buffer_.clear();
  return true;
}

bool Output::may_wait() {
  struct stat st {};
  if (waits_ < 0) waits_ = ::fstat(fd_, &st) != 0 || !(S_ISREG(st.st_mode) || S_ISBLK(st.st_mode));
  return waits_ > 0;
}

bool Output::is_terminal() {
  if (terminal_ < 0) terminal_ = ::isatty(fd_);
  return terminal_ > 0;
}

// The lowest address that C++ frames of this thread may use: what the system grants, less room for natives and for
// handling errors. The main thread's stack grows up to its limit, but Linux keeps at least 128 MiB free below it, no
// more.
uintptr_t lowest_stack_address() {
  constexpr size_t kMost = size_t{96} << 20;
  char here;
  size_t size = size_t{8} << 20;
  if (getpid() == gettid()) {
    rlimit limit{};
    if (getrlimit(RLIMIT_STACK, &limit) == 0) size = limit.rlim_cur == RLIM_INFINITY ? kMost : limit.rlim_cur;
    size = std::min(size, kMost);
    return reinterpret_cast<uintptr_t>(&here) - size + size / 8 + (256u << 10);
  }
  pthread_attr_t attributes;
  void* lowest = nullptr;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return reinterpret_cast<uintptr_t>(&here) - size / 2;
  pthread_attr_getstack(&attributes, &lowest, &size);
  pthread_attr_destroy(&attributes);
  return reinterpret_cast<uintptr_t>(lowest) + size / 8 + (64u << 10);
}

bool Session::may_stop() const { return memory.in_script() && !interrupts_held(); }
void Session::look() const { poll_interrupt(*this); }
void Session::make_room() {
  drop_all_leftovers(*this);
  if (executor) executor->make_room(*this);
  trim_buffer_cache();
  release_free_chunks();
  give_back_frames(*this);
}

Session::Session(const Options& o)
    : Client(o.memory), options(o), demands({o.threads, o.device, o.sense, o.control}, devices, poll, kDemand) {
  SessionScope scope(*this);
  watch_process_end();
  static const bool registered = (register_core_kinds(), register_generator_kind(), true);
  (void)registered;
  gc_objects = new GcObject;
  gc_objects->gc_next = gc_objects->gc_prev = gc_objects;
  handled = Value::none();
  static const TypeSlots kNoSlots;
  for (const TypeSlots*& t : slots) t = &kNoSlots;
  register_model_types(*this);
  register_builtin_types(*this);
  register_tensor_types(*this);
  register_protocol_natives(*this);
  register_autodiff_types(*this);
  interpreter = make_interpreter(*this);
}

Session::~Session() {
  SessionScope scope(*this);
  finalizers.clear();
  if (executor) executor = nullptr;
  handled = pending = stop_value = Value();
  poll = 0;
  drop_modules(*this);
  drop_all_leftovers(*this);
  states_.clear();
  collect(*this);
  destroy_interpreter(interpreter);
  interpreter = nullptr;
  symbol_strs.clear();
  for (Type*& t : exceptions)
    if (t) Value drop = Value::steal(std::exchange(t, nullptr));
  for (Type*& t : types)
    if (t) Value drop = Value::steal(std::exchange(t, nullptr));
  collect(*this);
  GcObject* head = gc_objects;
  gc_objects = nullptr;
  for (GcObject* x = head->gc_next; x != head;) {
    GcObject* next = x->gc_next;
    x->flags &= static_cast<uint8_t>(~kFlagTracked);
    x = next;
  }
  delete head;
  release_free_chunks();
}

const Value& Session::str(Symbol name) {
  uint32_t id = name.id();
  if (id >= symbol_strs.size()) symbol_strs.resize(std::max<size_t>(id + 1, symbol_strs.size() * 2));
  Value& v = symbol_strs[id];
  if (v.is_unbound()) {
    v = make_str(name.text());
    v.as<Str>()->symbol = id;
  }
  return v;
}

void Session::register_natives(const NativeModule* module) { native_modules.push_back(module); }

const NativeModule* Session::find_natives(std::string_view name) const {
  for (const NativeModule* m : native_modules)
    if (m->name == name) return m;
  return nullptr;
}

}  // namespace ouro::runtime
