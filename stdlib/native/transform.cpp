// jit: marks functions for the compiler. (grad, vjp and their kin are rows of runtime/autodiff.)
#include "stdlib/native/transform.h"

#include "ir/build.h"
#include "jit/executor.h"
#include "runtime/ops.h"

namespace ouro::stdlib {

using namespace runtime;

namespace {

// A script function `(*args, **kwargs) -> f(*args, **kwargs)` around any callable, so that the compiler can follow it.
Value wrap_callable(Session& s, const Value& f) {
  ir::FunctionBuilder b(intern("jit"));
  ir::Function& h = b.head();
  h.qualname = h.name;
  h.sig.varargs = h.sig.varkw = true;
  h.sig.names = {intern("args"), intern("kwargs")};
  h.captures = {{intern("f"), false}};
  ir::NameId args = b.entry_param(h.sig.names[0]), kwargs = b.entry_param(h.sig.names[1]),
             callee = b.entry_param(intern("f"));
  ir::CallSig sig;
  sig.args = {{ir::CallSig::Kind::star, {}}, {ir::CallSig::Kind::double_star, {}}};
  ir::Atom atoms[] = {args, kwargs};
  b.return_(b.call(callee, atoms, sig));
  auto* fn = new_object<Function>(ObjectKind::function);
  Value out = Value::steal(fn);
  fn->code = b.finish();
  fn->captures = {f};
  fn->name = fn->qualname = s.str(intern("jit"));
  fn->doc = fn->defaults = fn->kwdefaults = Value::none();
  Value* main = s.modules.find(intern("__main__"));
  fn->globals = main ? *main : make_module(s, "__main__");
  return out;
}

// jit(f): f, compiled. A decorator; with keywords only (`@jit(static=(1,))`) it gives one.
Value native_jit(Session& s, const Args& a) {
  const Value& f = a[0];
  if (f.is_unbound()) return builtin(s, intern("jit"), true);
  if (!is_callable(s, f)) return raise_type_error(s, "jit: '%s' object is not callable", type_name(s, f).c_str());
  Value target = cast_exact<Function>(f) ? f : wrap_callable(s, f);
  if (jit::JitExecutor* x = jit::executor_of(s)) x->mark(target.as<Function>()->code);
  return target;
}

constexpr NativeDef kRows[] = {
    {"jit", "f=None, /, *, static=()", native_jit,
     "jit(f): f as one compiled program (define-and-run). Effects and results are those of calling f; what cannot be "
     "compiled is interpreted in place."},
};
constexpr NativeModule kModule{kOuro, kRows};

}  // namespace

void register_transforms(Session& s) { s.register_natives(&kModule); }

}  // namespace ouro::stdlib
