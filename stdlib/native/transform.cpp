// jit: marks functions for the compiler. (grad, vjp and their kin are rows of runtime/autodiff.)
#include "stdlib/native/transform.h"

#include <algorithm>
#include <string>
#include <vector>

#include "ir/build.h"
#include "jit/versions/executor.h"
#include "runtime/object/ops.h"

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

// One parameter of `static=`: a position or a name. False with the error.
bool add_fixed(Session& s, const ir::Function& f, const Value& which, std::vector<bool>& fixed) {
  const auto& names = f.sig.names;
  size_t at = names.size();
  int64_t i = 0;
  if (auto* name = cast<Str>(which)) {
    at = static_cast<size_t>(std::ranges::find(names, str_symbol(name)) - names.begin());
  } else if (!is_integer(which)) {
    raise_type_error(s, "jit: static is a parameter's name or position, or a tuple of such, not '%s'",
                     type_name(s, which).c_str());
    return false;
  } else if (!to_index(s, which, i, true)) {
    return false;
  } else {
    const auto n = static_cast<int64_t>(f.sig.positional);
    if (i < 0) i += n;
    if (i >= 0 && i < n) at = static_cast<size_t>(i);
  }
  if (at == names.size()) {
    raise_value_error(s, "jit: %s() has no parameter %s", std::string(f.name.text()).c_str(),
                      repr_text(s, which).c_str());
    return false;
  }
  fixed[at] = true;
  return true;
}

Value jitted(Session& s, const Value& f, const Value& fixed_names) {
  if (!is_callable(s, f)) return raise_type_error(s, "jit: '%s' object is not callable", type_name(s, f).c_str());
  const bool several = cast<Tuple>(fixed_names) || cast<List>(fixed_names);
  const bool none = several && length(s, fixed_names) == 0;
  if (!none && !cast_exact<Function>(f))
    return raise_type_error(s, "jit: static needs a function written in Ouro, not a '%s' object",
                            type_name(s, f).c_str());
  Value target = cast_exact<Function>(f) ? f : wrap_callable(s, f);
  const ir::FunctionRef& code = target.as<Function>()->code;
  std::vector<bool> fixed(code->sig.names.size());
  auto add = [&](const Value& v) { return add_fixed(s, *code, v, fixed); };
  if (several ? !for_each(s, fixed_names, add) : !add(fixed_names)) return Value::error();
  if (jit::JitExecutor* x = jit::executor_of(s)) x->mark(code, std::move(fixed));
  return target;
}

// What `@jit(static=...)` decorates with: bound to what is static.
Value decorate(Session& s, const Args& a) { return jitted(s, a[1], a[0]); }
constexpr NativeDef kDecorator{.name = "jit", .params = "f, /", .fn = decorate, .doc = "A decorator."};

// jit(f): f, compiled. A decorator; with keywords only (`@jit(static=(1,))`) it gives one.
Value native_jit(Session& s, const Args& a) {
  const Value fixed = a[1].is_unbound() ? make_tuple({}) : a[1];
  return a[0].is_unbound() ? make_native(kDecorator, fixed) : jitted(s, a[0], fixed);
}

constexpr NativeDef kRows[] = {
    {"jit", "f=None, /, *, static=()", native_jit,
     "jit(f): f as one compiled program (define-and-run). Effects and results are those of calling f; what cannot be "
     "compiled is interpreted in place. static: the name or position of a parameter, or a tuple of such: numbers in "
     "what is given for it are constants of the program, and other ones make another version of it. ValueError if f "
     "has no such parameter."},
};
constexpr NativeModule kModule{kOuro, kRows};

}  // namespace

void register_transforms(Session& s) { s.register_natives(&kModule); }

}  // namespace ouro::stdlib
