#include "runtime/session.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "runtime/collect.h"
#include "runtime/interpreter/interpreter.h"
#include "runtime/leftovers.h"
#include "runtime/ops.h"
#include "runtime/pool.h"
#include "support/process_end.h"

namespace ouro::runtime {

void register_core_kinds();  // runtime/kinds.cpp
uintptr_t lowest_stack_address();

bool Output::write(std::string_view text) {
  if (sink_) return sink_(text), true;
  buffer_.append(text);
  if (buffer_.size() >= 8192 || fd_ == 2 || (is_terminal() && text.find('\n') != text.npos)) return flush();
  return true;
}

bool Output::flush() {
  constexpr size_t kPiece = size_t{1} << 20;
  const Session* s = current_session();
  size_t done = 0;
  while (done < buffer_.size()) {
    ssize_t n = ::write(fd_, buffer_.data() + done, std::min(kPiece, buffer_.size() - done));
    if (s && s->memory.in_script() && s->poll.load(std::memory_order_relaxed) & Session::kInterrupt &&
        (n >= 0 || errno == EINTR)) {
      buffer_.erase(0, done + static_cast<size_t>(std::max<ssize_t>(n, 0)));
      return true;
    }
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

Session::Session(const Options& o) : options(o), memory(*this, o.memory), demands(o, devices, poll, kDemand) {
  SessionScope scope(*this);
  watch_process_end();
  static const bool registered = (register_core_kinds(), true);
  (void)registered;
  gc_objects = new GcObject;
  gc_objects->gc_next = gc_objects->gc_prev = gc_objects;
  handled = Value::none();
  static const TypeSlots kNoSlots;
  for (const TypeSlots*& t : slots) t = &kNoSlots;
  register_model_types(*this);
  register_builtin_types(*this);
  register_tensor_types(*this);
  register_autodiff_types(*this);
  interpreter = make_interpreter(*this);
}

Session::~Session() {
  SessionScope scope(*this);
  finalizers.clear();
  if (executor) executor = nullptr;
  handled = pending = stop_value = Value();
  poll = 0;
  modules.clear();
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
