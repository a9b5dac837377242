#include "tools/prompt/display.h"

#include "runtime/object/ops.h"
#include "runtime/object/session.h"
#include "tools/prompt/style.h"

namespace ouro::tools {

using namespace runtime;

namespace {

// As sys.__displayhook__, but for the text: `_` is set once that is known.
Value display(Session& s, const Args& a) {
  static const Symbol prompt = intern("ouro.prompt"), shown = intern("shown"), sys = intern("sys"),
                      out = intern("stdout"), write = intern("write"), main = intern("__main__"), last = intern("_");
  if (a[0].is_none()) return Value::none();
  OURO_TRY(module, import_module(s, prompt));
  OURO_TRY(text, call_method(s, module, shown, {a[0], Value::integer(terminal_width())}));
  if (Value* m = s.modules.find(main); m && !m->is_unbound() && !set_attr(s, *m, last, a[0])) return Value::error();
  OURO_TRY(system, import_module(s, sys));
  OURO_TRY(stream, get_attr(s, system, out));
  return call_method(s, stream, write, {text});
}

constexpr NativeDef kDisplay{
    .name = "displayhook", .params = "value, /", .fn = display, .doc = "Show the value of a statement at the prompt."};

}  // namespace

void show_results(Session& s) {
  const Value sys = import_module(s, intern("sys"));
  if (sys.is_error() || !set_attr(s, sys, intern("displayhook"), make_native(kDisplay))) clear_pending(s);
}

}  // namespace ouro::tools
