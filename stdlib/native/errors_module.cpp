// ouro.native.errors: the text of an exception with its traceback, as the end of a program shows it (for logging).
#include "stdlib/native/errors_module.h"

#include "runtime/object/ops.h"
#include "runtime/text/foreign.h"
#include "stdlib/native/tables.h"

namespace ouro::stdlib {

using namespace runtime;

namespace {

Value f_text(Session& s, const Args& a) {
  if (!cast<Exception>(a[0])) return raise_type_error(s, "not an exception: '%s'", type_name(s, a[0]).c_str());
  return make_str(text::shown_text(format_exception(s, a[0])));
}

constexpr NativeDef kFunctions[] = {
    {"exception_text", "exception, /", f_text,
     "The exception with its traceback and those that led to it, lines of text."},
};
constexpr NativeModule kErrorsModule{.name = "ouro.native.errors", .functions = kFunctions};

}  // namespace

void register_errors_module(Session& s) { s.register_natives(&kErrorsModule); }

}  // namespace ouro::stdlib
