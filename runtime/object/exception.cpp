#include "runtime/object/exception.h"

#include "runtime/object/os_error.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <new>

#include "runtime/object/interrupt.h"
#include "runtime/object/ops.h"
#include "runtime/text/foreign.h"

namespace ouro::runtime {

namespace {

std::string format_text(const char* format, va_list args) {
  char small[512];
  va_list again;
  va_copy(again, args);
  int n = std::vsnprintf(small, sizeof small, format, args);
  std::string text;
  if (n < static_cast<int>(sizeof small)) {
    text.assign(small, static_cast<size_t>(n < 0 ? 0 : n));
  } else {
    text.resize(static_cast<size_t>(n));
    std::vsnprintf(text.data(), text.size() + 1, format, again);
  }
  va_end(again);
  return text;
}

#define OURO_FORMATTED(kind)                    \
  va_list args;                                 \
  va_start(args, format);                       \
  std::string text = format_text(format, args); \
  va_end(args);                                 \
  return raise_text(s, kind, text)

// `from` must not reach `exc` by contexts, or the chain would be a cycle. A script may have made one without `exc`:
// `slow` goes half as fast and meets `e` in it (Floyd).
void cut_context_cycle(Exception* exc, Exception* from) {
  Exception* slow = from;
  bool step = false;
  for (Exception* e = from; cast<Exception>(e->context); step = !step) {
    Exception* next = e->context.as<Exception>();
    if (next == exc) {
      e->context = Value::none();
      return;
    }
    e = next;
    if (e == slow) return;
    if (step) slow = slow->context.as<Exception>();
  }
}

}  // namespace

Value raise_error(Session& s, ExcKind kind, const char* format, ...) { OURO_FORMATTED(kind); }
Value raise_type_error(Session& s, const char* format, ...) { OURO_FORMATTED(ExcKind::TypeError); }
Value raise_value_error(Session& s, const char* format, ...) { OURO_FORMATTED(ExcKind::ValueError); }

Type* exception_type(Session& s, ExcKind kind) { return s.exceptions[static_cast<int>(kind)]; }

Value make_exception(Session& s, Type* cls, Value args) {
  auto* e = new_object<Exception>(ObjectKind::exception);
  ++cls->refs;
  e->type = cls;
  e->shape = cls->shape;
  e->args = args.is_unbound() ? make_tuple() : std::move(args);
  e->cause = e->context = e->traceback = Value::none();
  (void)s;
  return Value::steal(e);
}

Value make_exception(Session& s, ExcKind kind, std::string_view text) {
  return make_exception(s, exception_type(s, kind), make_tuple({make_str(text)}));
}

Value set_pending(Session& s, Value exception) {
  Exception* e = cast<Exception>(exception);
  if (Exception* handled = cast<Exception>(s.handled); handled && handled != e) {
    cut_context_cycle(e, handled);
    e->context = s.handled;
  }
  s.pending = std::move(exception);
  return Value::error();
}

Value raise_text(Session& s, ExcKind kind, std::string_view text) {
  return set_pending(s, make_exception(s, kind, text));
}

Value raise_memory_error(Session& s) {
  MemoryUnlimited unlimited(s.memory);
  auto raise = [&] { return set_pending(s, make_exception(s, exception_type(s, ExcKind::MemoryError), Value())); };
  try {
    return raise();
  } catch (const std::bad_alloc&) {  // the system has no more memory, not only this session
    s.memory.use_spare();
    s.make_room();
  }
  return raise();
}

Value raise_key_error(Session& s, const Value& key) {
  return set_pending(s, make_exception(s, exception_type(s, ExcKind::KeyError), make_tuple({key})));
}

Value raise_stop_iteration(Session& s, Value value) {
  Value args = value.is_none() || value.is_unbound() ? make_tuple() : make_tuple({value});
  Value e = make_exception(s, exception_type(s, ExcKind::StopIteration), std::move(args));
  e.as<Exception>()->extra1 = value.is_unbound() ? Value::none() : std::move(value);
  return set_pending(s, std::move(e));
}

namespace {

Value raised_instance(Session& s, const Value& v, const char* complaint) {
  if (cast<Exception>(v)) return v;
  if (Type* t = cast<Type>(v); t && t->is_exception) {
    OURO_TRY(e, call(s, v, std::span<const Value>()));
    if (cast<Exception>(e)) return e;
    return raise_type_error(s, "calling %s should have returned an instance of BaseException, not %s",
                            repr_text(s, v).c_str(), repr_text(s, Value::share(type_of(s, e))).c_str());
  }
  return raise_type_error(s, "%s", complaint);
}

}  // namespace

Value raise_value(Session& s, const Value& exception, const Value& cause) {
  OURO_TRY(e, raised_instance(s, exception, "exceptions must derive from BaseException"));
  if (!cause.is_unbound()) {
    auto* x = e.as<Exception>();
    if (cause.is_none()) {
      x->cause = Value::none();
    } else {
      OURO_TRY(c, raised_instance(s, cause, "exception causes must derive from BaseException"));
      x->cause = c;
    }
    x->suppress_context = true;
  }
  return set_pending(s, std::move(e));
}

ExcKind os_error_kind(int number) {
  switch (number) {
    case ENOENT:
      return ExcKind::FileNotFoundError;
    case EEXIST:
      return ExcKind::FileExistsError;
    case EACCES:
    case EPERM:
      return ExcKind::PermissionError;
    case EISDIR:
      return ExcKind::IsADirectoryError;
    case ENOTDIR:
      return ExcKind::NotADirectoryError;
    case EINTR:
      return ExcKind::InterruptedError;
    case EPIPE:
    case ESHUTDOWN:
      return ExcKind::BrokenPipeError;
    case ETIMEDOUT:
      return ExcKind::TimeoutError;
    case ECONNREFUSED:
      return ExcKind::ConnectionRefusedError;
    case ECONNRESET:
      return ExcKind::ConnectionResetError;
    case EAGAIN:
      return ExcKind::BlockingIOError;
    case ECHILD:
      return ExcKind::ChildProcessError;
    case ESRCH:
      return ExcKind::ProcessLookupError;
    default:
      return ExcKind::OSError;
  }
}

Value raise_os_error(Session& s, int number, const Value& path) {
  if (number == EINTR) poll_interrupt(s);  // the signal was Ctrl-C
  const std::string words = text::from_system(std::strerror(number));
  Value e = make_exception(s, exception_type(s, os_error_kind(number)),
                           make_tuple({Value::integer(number), make_str(words)}));
  if (!path.is_unbound()) e.as<Exception>()->extra2 = path;
  return set_pending(s, std::move(e));
}

bool exception_is(Session& s, const Value& exc, ExcKind kind) {
  Exception* e = cast<Exception>(exc);
  return e && is_subtype(e->type, exception_type(s, kind));
}
bool pending_is(Session& s, ExcKind kind) { return exception_is(s, s.pending, kind); }
Value take_pending(Session& s) { return std::move(s.pending); }
void clear_pending(Session& s) { s.pending = Value(); }

int exception_matches(Session& s, const Value& exc, const Value& cls) {
  if (Tuple* t = cast_exact<Tuple>(cls)) {  // of classes alone: a tuple among them is refused like anything else
    int found = 0;
    for (size_t i = 0; i < t->size; ++i) {
      int m =
          cast_exact<Tuple>((*t)[i]) ? exception_matches(s, exc, Value::none()) : exception_matches(s, exc, (*t)[i]);
      if (m < 0) return m;
      found |= m;
    }
    return found;
  }
  Type* c = cast<Type>(cls);
  if (!c || !c->is_exception) {
    raise_type_error(s, "catching classes that do not inherit from BaseException is not allowed");
    return -1;
  }
  Exception* e = cast<Exception>(exc);
  return e && is_subtype(e->type, c);
}

void add_traceback(Session& s, const Value& exc, const ir::FunctionRef& code, Span span, const Value& globals) {
  Exception* e = cast<Exception>(exc);
  if (!e) return;
  MemoryUnlimited unlimited(s.memory);
  auto* t = new_object<Traceback>(ObjectKind::traceback);
  t->next = e->traceback.is_unbound() ? Value::none() : std::move(e->traceback);
  t->code = code;
  t->span = span;
  t->globals = globals;
  e->traceback = Value::steal(t);
}

}  // namespace ouro::runtime
