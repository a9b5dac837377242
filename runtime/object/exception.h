// Raising and inspecting exceptions. A failed operation stores its exception in the session (`Session::pending`) and
// returns the error marker; the interpreter takes it out and hands it to the handler, or adds a traceback entry and
// leaves the frame.
#pragma once

#include <string>
#include <string_view>

#include "runtime/object/exception_kinds.h"
#include "runtime/object/object.h"

namespace ouro::runtime {

// All return Value::error(), so that `return raise_error(...)` reads well.
Value raise_error(Session& s, ExcKind kind, const char* format, ...) __attribute__((format(printf, 3, 4)));
Value raise_type_error(Session& s, const char* format, ...) __attribute__((format(printf, 2, 3)));
Value raise_value_error(Session& s, const char* format, ...) __attribute__((format(printf, 2, 3)));
Value raise_text(Session& s, ExcKind kind, std::string_view text);  // no formatting
Value raise_memory_error(Session& s);                               // of a std::bad_alloc that was caught
Value raise_key_error(Session& s, const Value& key);
Value raise_value(Session& s, const Value& exception,
                  const Value& cause);  // `raise exception from cause`; cause may be unbound
Value raise_stop_iteration(Session& s, Value value);
// The right subclass; "[Errno 2] No such file or directory: 'x'". `path` is a str or bytes, or unbound: of no file.
Value raise_os_error(Session& s, int error_number, const Value& path = Value());

Value make_exception(Session& s, ExcKind kind, std::string_view text);
Value make_exception(Session& s, Type* cls, Value args_tuple);
Type* exception_type(Session& s, ExcKind kind);
bool exception_is(Session& s, const Value& exc, ExcKind kind);
// Is the pending exception of that class?
bool pending_is(Session& s, ExcKind kind);
// Makes `exception` the pending one, with the handled exception as its context.
Value set_pending(Session& s, Value exception);
// Takes the pending exception out.
Value take_pending(Session& s);
void clear_pending(Session& s);
// `except cls` test: 1, 0, -1 (cls is no class).
int exception_matches(Session& s, const Value& exc, const Value& cls);

// The text Python prints for an uncaught exception: traceback, chained exceptions, class and message.
std::string format_exception(Session& s, const Value& exc);
// The class as that text names it: "ValueError", "module.Problem".
std::string exception_class_text(Session& s, Type* cls);
// Adds the frame that the exception leaves (newest first, so at the head of the list).
void add_traceback(Session& s, const Value& exc, const ir::FunctionRef& code, Span span, const Value& globals);

}  // namespace ouro::runtime
