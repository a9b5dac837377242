// Functions, methods, natives, generators and cells as values.
#include <algorithm>

#include "runtime/interpreter/frame.h"
#include "runtime/interpreter/interpreter.h"
#include "runtime/model/model.h"
#include "runtime/model/native_help.h"
#include "runtime/object/bind.h"
#include "runtime/object/ops.h"
#include "runtime/protocol/slot_wrappers.h"

namespace ouro::runtime {

namespace {

std::string address(const Value& v) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "0x%012llx", static_cast<unsigned long long>(v.bits()));
  return buffer;
}
std::string text(const Value& v) {
  Str* t = cast<Str>(v);
  return t ? std::string(t->view()) : "";
}

// ---------------------------------------------------------------- function

Function* fn(const Value& v) { return v.as<Function>(); }

Value function_repr(Session&, const Value& v) {
  return make_str("<function " + text(fn(v)->qualname) + " at " + address(v) + ">");
}
Value function_get_attr(Session& s, const Value& v, Symbol name) {
  Function* f = fn(v);
  const Value names = f->dict;
  Value* x = names.is_object() ? dict_find_symbol(s, names.as<Dict>(), name) : nullptr;
  return x ? *x : Value();
}
bool function_set_attr(Session& s, const Value& v, Symbol name, const Value& x) {
  Function* f = fn(v);
  if (!f->dict.is_object()) f->dict = make_dict();
  const Value names = f->dict;
  if (!x.is_unbound()) {
    dict_set_symbol(s, names.as<Dict>(), name, x);
    return true;
  }
  if (dict_delete(s, names.as<Dict>(), s.str(name)) == 1) return true;
  raise_error(s, ExcKind::AttributeError, "'function' object has no attribute '%s'", name.c_str());
  return false;
}
template <Value Function::*field>
Value get_field(Session&, const Value& v) {
  const Value& x = fn(v)->*field;
  return x.is_unbound() ? Value::none() : x;
}
template <Value Function::*field>
bool set_field(Session&, const Value& v, const Value& x) {
  fn(v)->*field = x.is_unbound() ? Value::none() : x;
  return true;
}
template <Value Function::*field>
bool set_defaults(Session& s, const Value& v, const Value& x) {
  constexpr bool kw = field == &Function::kwdefaults;
  bool fits = x.is_unbound() || x.is_none() || (kw ? cast<Dict>(x) != nullptr : cast<Tuple>(x) != nullptr);
  if (!fits) {
    raise_type_error(s, "%s must be set to a %s object", kw ? "__kwdefaults__" : "__defaults__", kw ? "dict" : "tuple");
    return false;
  }
  return set_field<field>(s, v, x);
}
bool set_annotations(Session& s, const Value& v, const Value& x) {
  if (x.is_unbound() || x.is_none() || cast<Dict>(x)) return set_field<&Function::annotations>(s, v, x);
  raise_type_error(s, "__annotations__ must be set to a dict object");
  return false;
}
bool set_str_field(Session& s, const Value& x, Value& field, const char* name) {
  if (!cast<Str>(x)) {
    raise_type_error(s, "%s must be set to a string object", name);
    return false;
  }
  field = x;
  return true;
}
bool set_name(Session& s, const Value& v, const Value& x) { return set_str_field(s, x, fn(v)->name, "__name__"); }
bool set_qualname(Session& s, const Value& v, const Value& x) {
  return set_str_field(s, x, fn(v)->qualname, "__qualname__");
}
Value get_module(Session&, const Value& v) {
  Function* f = fn(v);
  if (!f->module_name.is_unbound()) return f->module_name;
  Module* m = cast<Module>(f->globals);
  static const Symbol name = intern("__name__");
  Value* n = m ? m->names.find(name) : nullptr;
  return n && !n->is_unbound() ? *n : m ? m->name : Value::none();
}
Value get_dict(Session&, const Value& v) {
  Function* f = fn(v);
  if (!f->dict.is_object()) f->dict = make_dict();
  return f->dict;
}
bool set_dict(Session& s, const Value& v, const Value& d) {
  if (!d.is_unbound() && cast<Dict>(d)) return fn(v)->dict = unwrap(d), true;
  if (d.is_unbound())
    raise_type_error(s, "cannot delete __dict__");
  else
    raise_type_error(s, "__dict__ must be set to a dictionary, not a '%s'", type_name(s, d).c_str());
  return false;
}
Value get_annotations(Session&, const Value& v) {
  Function* f = fn(v);
  if (!f->annotations.is_object()) f->annotations = make_dict();
  return f->annotations;
}
Value get_globals(Session& s, const Value& v) {
  static const Symbol dict = intern("__dict__");
  return get_attr(s, fn(v)->globals, dict);
}
Value get_closure(Session&, const Value& v) {
  Function* f = fn(v);
  if (f->captures.empty()) return Value::none();
  std::vector<Value> cells;
  for (const Value& c : f->captures) cells.push_back(cast_exact<Cell>(c) ? c : make_cell(c));
  return make_tuple_moved(cells);
}
// __code__: what scripts look at, as a record of its own.
Value get_code(Session& s, const Value& v);
constexpr GetSetDef kFunctionGetSet[] = {
    {"__name__", get_field<&Function::name>, set_name},
    {"__qualname__", get_field<&Function::qualname>, set_qualname},
    {"__doc__", get_field<&Function::doc>, set_field<&Function::doc>},
    {"__module__", get_module, set_field<&Function::module_name>},
    {"__defaults__", get_field<&Function::defaults>, set_defaults<&Function::defaults>},
    {"__kwdefaults__", get_field<&Function::kwdefaults>, set_defaults<&Function::kwdefaults>},
    {"__annotations__", get_annotations, set_annotations},
    {"__dict__", get_dict, set_dict},
    {"__globals__", get_globals},
    {"__closure__", get_closure},
    {"__code__", get_code},
};
Value function_call(Session& s, const Value& f, const Args& a) { return call_function(s, f, a); }
Value function_get(Session& s, const Args& a) {
  if (!a[1].is_none()) return make_bound_method(a[0], a[1]);
  const bool of_class = a.size() > 2 && !a[2].is_none() && !a[2].is_unbound();
  return of_class ? a[0] : raise_type_error(s, "__get__(None, None) is invalid");
}
constexpr NativeDef kFunctionMethods[] = {{"__get__", "instance, owner=None, /", function_get, ""}};
constexpr TypeSlots kFunctionSlots{
    .repr = function_repr, .get_attr = function_get_attr, .set_attr = function_set_attr, .call = function_call};
constexpr TypeDef kFunction{.name = "function",
                            .kind = ObjectKind::function,
                            .slots = &kFunctionSlots,
                            .methods = kFunctionMethods,
                            .getset = kFunctionGetSet,
                            .subclassable = false};

// ---------------------------------------------------------------- code

struct CodeObject {
  ir::FunctionRef f;
};
const ir::Function& code_function(const Value& v) { return *static_cast<CodeObject*>(v.as<Opaque>()->data.get())->f; }
Value code_name(Session& s, const Value& v) { return s.str(code_function(v).name); }
Value code_qualname(Session& s, const Value& v) { return s.str(code_function(v).qualname); }
Value code_argcount(Session&, const Value& v) { return Value::integer(code_function(v).sig.positional); }
Value code_kwonly(Session&, const Value& v) { return Value::integer(code_function(v).sig.kwonly); }
Value code_posonly(Session&, const Value& v) { return Value::integer(code_function(v).sig.posonly); }
Value code_line(Session& s, const Value& v) {
  const SourceFile* f = s.sources.file(code_function(v).span.file);
  return Value::integer(f ? f->line_col(code_function(v).span.begin).line : 0);
}
Value code_file(Session& s, const Value& v) {
  const SourceFile* f = s.sources.file(code_function(v).span.file);
  return make_str(f ? f->name() : "<unknown>");
}
// CPython's order: positional, keyword-only, *args, **kw, then locals.
Value code_varnames(Session& s, const Value& v) {
  const ir::Function& f = code_function(v);
  const ir::Signature& g = f.sig;
  std::vector<Symbol> names(g.names.begin(), g.names.begin() + g.positional);
  for (size_t i = 0; i < g.kwonly; ++i) names.push_back(g.names[g.positional + g.varargs + i]);
  if (g.varargs) names.push_back(g.names[g.positional]);
  if (g.varkw) names.push_back(g.names.back());
  names.insert(names.end(), f.locals.begin(), f.locals.end());
  std::vector<Value> out;
  for (Symbol n : names) out.push_back(s.str(n));
  return make_tuple_moved(out);
}
// CPython's bits: a function with names of its own (3), *args, **kw, of another function, a generator.
Value code_flags(Session&, const Value& v) {
  const ir::Function& f = code_function(v);
  return Value::integer(3 | 4 * f.sig.varargs | 8 * f.sig.varkw | 16 * !f.captures.empty() | 32 * f.is_generator);
}
constexpr GetSetDef kCodeGetSet[] = {{"co_name", code_name},
                                     {"co_qualname", code_qualname},
                                     {"co_argcount", code_argcount},
                                     {"co_kwonlyargcount", code_kwonly},
                                     {"co_posonlyargcount", code_posonly},
                                     {"co_firstlineno", code_line},
                                     {"co_filename", code_file},
                                     {"co_varnames", code_varnames},
                                     {"co_flags", code_flags}};
constexpr TypeSlots kCodeSlots{};
constexpr TypeDef kCode{
    .name = "code", .kind = ObjectKind::code, .slots = &kCodeSlots, .getset = kCodeGetSet, .subclassable = false};
Value get_code(Session& s, const Value& v) { return code_object(s, fn(v)->code); }

// ---------------------------------------------------------------- natives

Native* native(const Value& v) { return v.as<Native>(); }

Value native_repr(Session& s, const Value& v) {
  Native* n = native(v);
  std::string name(n->def->name);
  if (!n->self.is_unbound())
    return make_str((is_slot_wrapper(name) ? "<method-wrapper '" + name + "'" : "<built-in method " + name) + " of " +
                    type_name(s, n->self) + " object at " + address(n->self) + ">");
  if (n->owner)
    return make_str((is_slot_wrapper(name) ? "<slot wrapper '" : "<method '") + name + "' of '" +
                    std::string(n->owner->text()) + "' objects>");
  return make_str("<built-in function " + name + ">");
}
Value native_name(Session&, const Value& v) { return make_str(native(v)->def->name); }
Value native_qualname(Session& s, const Value& v) {
  Native* n = native(v);
  std::string name(n->def->name);
  if (n->owner)
    name = std::string(n->owner->text()) + "." + name;
  else if (!n->self.is_unbound() && !cast_exact<Module>(n->self))
    name = (cast_exact<Type>(n->self) ? std::string(n->self.as<Type>()->text()) : type_name(s, n->self)) + "." + name;
  return make_str(name);
}
// The type or module that a native is from, as runtime/model/native_help knows it: "" of built-in functions.
std::string owner_name(Session& s, Native* n) {
  if (n->owner) return std::string(n->owner->text());
  if (auto* m = cast_exact<Module>(n->self)) return cast<Str>(m->name) ? text(m->name) : std::string();
  if (!n->self.is_unbound())
    return cast_exact<Type>(n->self) ? std::string(n->self.as<Type>()->text()) : type_name(s, n->self);
  return cast<Str>(n->module_name) ? text(n->module_name) : std::string();
}
Value native_doc(Session& s, const Value& v) {
  Native* n = native(v);
  if (!n->def->doc.empty()) return make_str(n->def->doc);
  const std::string_view known = native_help_doc(owner_name(s, n), n->def->name);
  return known.empty() ? Value::none() : make_str(known);
}
// Position of `c` in `text` outside of brackets and quotes, or npos.
size_t find_outside(std::string_view text, char c) {
  int depth = 0;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!quote && depth == 0 && text[i] == c) return i;
    if (text[i] == quote)
      quote = 0;
    else if (!quote && (text[i] == '\'' || text[i] == '"'))
      quote = text[i];
    else if (!quote)
      depth += text[i] == '(' || text[i] == '[' ? 1 : text[i] == ')' || text[i] == ']' ? -1 : 0;
  }
  return text.npos;
}
std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}
// "*@x: sizes = 0" → "*x=0": without what a row says about the kind of a parameter.
std::string plain_parameter(std::string_view text) {
  const size_t equals = find_outside(text, '=');
  std::string_view name = trimmed(text.substr(0, std::min(find_outside(text, ':'), equals)));
  std::string out;
  for (char c : name)
    if (c != '@') out += c;
  if (equals != text.npos) out += "=" + std::string(trimmed(text.substr(equals + 1)));
  return out;
}
// As CPython writes it: "($module, x, /)", "($module, /, x, y=1)", "($self, /, axis=None)"; None where the function
// parses its arguments itself. What is raw with a list is a tensor operation, whose list has the receiver in it.
Value native_text_signature(Session& s, const Value& v) {
  Native* n = native(v);
  const bool is_method = n->owner || (!n->self.is_unbound() && !cast_exact<Module>(n->self));
  std::vector<std::string> parts{is_method ? "$self" : "$module"};
  std::string_view rest = n->def->params;
  if (rest.empty()) {
    const std::string_view known = native_help_signature(owner_name(s, n), n->def->name);
    if (known.empty()) return Value::none();
    rest = known.substr(1, known.size() - 2);
  }
  bool slash = false;
  for (bool first = true; !rest.empty(); first = false) {
    const size_t comma = find_outside(rest, ',');
    std::string one = plain_parameter(rest.substr(0, comma));
    rest = comma == rest.npos ? "" : rest.substr(comma + 1);
    if (first && is_method && (n->def->raw || one == "self")) continue;
    slash = slash || one == "/";
    parts.push_back(std::move(one));
  }
  if (!slash) parts.insert(parts.begin() + 1, "/");
  std::string out = "(";
  for (const std::string& p : parts) out += (out.size() > 1 ? ", " : "") + p;
  return make_str(out + ")");
}
Value native_module(Session&, const Value& v) {
  Native* n = native(v);
  if (!n->module_name.is_unbound()) return n->module_name;
  return n->owner || !n->self.is_unbound() ? Value::none() : make_str("builtins");
}
Value native_self(Session&, const Value& v) { return native(v)->self.is_unbound() ? Value::none() : native(v)->self; }
Value native_compare(Session&, CmpOp op, const Value& a, const Value& b) {
  if (kind_of(b) != ObjectKind::native || (op != CmpOp::eq && op != CmpOp::ne)) return Value::not_implemented();
  Native *x = native(a), *y = native(b);
  bool same = x->def == y->def && x->self.same(y->self);
  return Value::boolean(same == (op == CmpOp::eq));
}
bool native_hash(Session&, const Value& v, int64_t& out) {
  Native* n = native(v);
  out = static_cast<int64_t>(reinterpret_cast<uintptr_t>(n->def) >> 4 ^ static_cast<uintptr_t>(n->self.bits()));
  if (out == -1) out = -2;
  return true;
}
constexpr GetSetDef kNativeGetSet[] = {{"__name__", native_name},     {"__qualname__", native_qualname},
                                       {"__doc__", native_doc},       {"__text_signature__", native_text_signature},
                                       {"__module__", native_module}, {"__self__", native_self}};
Value native_call(Session& s, const Value& f, const Args& a) { return call_native(s, native(f), a); }
constexpr TypeSlots kNativeSlots{
    .compare = native_compare, .hash = native_hash, .repr = native_repr, .call = native_call};
constexpr TypeDef kNative{.name = "builtin_function_or_method",
                          .kind = ObjectKind::native,
                          .slots = &kNativeSlots,
                          .getset = kNativeGetSet,
                          .subclassable = false};

// ---------------------------------------------------------------- bound methods

BoundMethod* method(const Value& v) { return v.as<BoundMethod>(); }

Value method_repr(Session& s, const Value& v) {
  static const Symbol names[] = {intern("__qualname__"), intern("__name__")};
  auto* m = method(v);
  Value name;
  for (size_t i = 0; i < std::size(names) && name.is_unbound(); ++i) name = lookup_attr(s, m->function, names[i]);
  if (name.is_error()) return name;
  OURO_TRY(self, repr(s, m->self));
  return make_str("<bound method " + (cast<Str>(name) ? text(name) : "?") + " of " + text(self) + ">");
}
Value method_self(Session&, const Value& v) { return method(v)->self; }
Value method_func(Session&, const Value& v) { return method(v)->function; }
constexpr GetSetDef kMethodGetSet[] = {{"__self__", method_self}, {"__func__", method_func}};
// Its own go before those of the function, which may have a __self__, too.
Value method_get_attr(Session& s, const Value& v, Symbol name) {
  if (name.text() == "__class__") return Value::share(type_of(s, v));
  for (const GetSetDef& own : kMethodGetSet)
    if (own.name == name.text()) return own.get(s, v);
  return lookup_attr(s, method(v)->function, name);
}
Value method_compare(Session& s, CmpOp op, const Value& a, const Value& b) {
  if (!cast_exact<BoundMethod>(b) || (op != CmpOp::eq && op != CmpOp::ne)) return Value::not_implemented();
  int same = equals(s, method(a)->function, method(b)->function);
  if (same < 0) return Value::error();
  same = same && method(a)->self.same(method(b)->self);
  return Value::boolean((same != 0) == (op == CmpOp::eq));
}
bool method_hash(Session& s, const Value& v, int64_t& out) {
  int64_t a, b;
  if (!hash(s, method(v)->function, a)) return false;
  b = static_cast<int64_t>(static_cast<uint64_t>(method(v)->self.bits()) >> 4);
  out = a ^ b;
  if (out == -1) out = -2;
  return true;
}
Value method_call(Session& s, const Value& f, const Args& a) { return call(s, f, a); }
Value method_construct(Session& s, Type*, const Args& a) {
  if (!a.keywords.empty()) return raise_type_error(s, "method() takes no keyword arguments");
  if (a.size() != 2) return raise_type_error(s, "method expected 2 arguments, got %zu", a.size());
  if (!is_callable(s, a[0])) return raise_type_error(s, "first argument must be callable");
  if (a[1].is_none()) return raise_type_error(s, "instance must not be None");
  return make_bound_method(a[0], a[1]);
}
constexpr TypeSlots kMethodSlots{.compare = method_compare,
                                 .hash = method_hash,
                                 .repr = method_repr,
                                 .get_attr = method_get_attr,
                                 .call = method_call,
                                 .construct = method_construct};
constexpr TypeDef kMethod{.name = "method",
                          .kind = ObjectKind::bound_method,
                          .slots = &kMethodSlots,
                          .getset = kMethodGetSet,
                          .subclassable = false};

// ---------------------------------------------------------------- generators, cells

Generator* gen(const Value& v) { return v.as<Generator>(); }

Value generator_repr(Session&, const Value& v) {
  return make_str("<generator object " + text(gen(v)->qualname) + " at " + address(v) + ">");
}
Value generator_iter(Session&, const Value& v) { return v; }
Value generator_next(Session& s, const Value& v) { return next_of_generator(s, gen(v)); }
Value end_to_stop(Session& s, Value r) { return r.is_end() ? raise_stop_iteration(s, std::move(s.stop_value)) : r; }
Value generator_send(Session& s, const Args& a) {
  return end_to_stop(s, resume_generator(s, gen(a[0]), ResumeMode::send, a[1]));
}
// The instance that `throw(cls, value)` raises.
Value thrown_instance(Session& s, Type* cls, const Value& value) {
  if (Exception* e = cast<Exception>(value); e && is_subtype(e->type, cls)) return value;
  Value f = Value::share(cls);
  Tuple* parts = cast_exact<Tuple>(value);
  OURO_TRY(e, value.is_none() ? call(s, f, std::span<const Value>())
              : parts         ? call(s, f, std::span<const Value>(parts->items(), parts->size))
                              : call(s, f, {value}));
  if (cast<Exception>(e)) return e;
  return raise_type_error(s, "calling %s should have returned an instance of BaseException, not %s",
                          repr_text(s, f).c_str(), type_name(s, e).c_str());
}
Value generator_throw(Session& s, const Args& a) {
  Value exc = a[1], value = a[2].is_unbound() ? Value::none() : a[2];
  if (!a[3].is_unbound() && !a[3].is_none() && !cast<Traceback>(a[3]))
    return raise_type_error(s, "throw() third argument must be a traceback object");
  if (Type* t = cast_exact<Type>(exc); t && t->is_exception) {
    exc = thrown_instance(s, t, value);
    if (exc.is_error()) exc = take_pending(s);
  } else if (!cast<Exception>(exc)) {
    return raise_type_error(s, "exceptions must be classes or instances deriving from BaseException, not %s",
                            type_name(s, exc).c_str());
  } else if (!value.is_none()) {
    return raise_type_error(s, "instance exception may not have a separate value");
  }
  return end_to_stop(s, resume_generator(s, gen(a[0]), ResumeMode::raise, exc));
}
Value generator_close(Session& s, const Args& a) {
  return resume_generator(s, gen(a[0]), ResumeMode::close, Value::none());
}
constexpr NativeDef kGeneratorMethods[] = {
    {"send", "value, /", generator_send, "Resume the generator with a value."},
    {"throw", "typ, val=None, tb=None, /", generator_throw, "Raise an exception in the generator."},
    {"close", "", generator_close, "Raise GeneratorExit inside the generator."}};
Value generator_name(Session&, const Value& v) { return gen(v)->name; }
Value generator_qualname(Session&, const Value& v) { return gen(v)->qualname; }
bool set_generator_name(Session& s, const Value& v, const Value& x) {
  return set_str_field(s, x, gen(v)->name, "__name__");
}
bool set_generator_qualname(Session& s, const Value& v, const Value& x) {
  return set_str_field(s, x, gen(v)->qualname, "__qualname__");
}
Value generator_running(Session&, const Value& v) { return Value::boolean(gen(v)->running); }
Value generator_suspended(Session&, const Value& v) {
  return Value::boolean(gen(v)->frame && gen(v)->started && !gen(v)->running);
}
Value generator_yield_from(Session&, const Value& v) {
  const Value* d = delegate_of(gen(v));
  return d ? *d : Value::none();
}
Value generator_code(Session& s, const Value& v) {
  if (gen(v)->frame) return get_code(s, gen(v)->frame->function);
  return Value::none();
}
constexpr GetSetDef kGeneratorGetSet[] = {{"gi_code", generator_code},
                                          {"__name__", generator_name, set_generator_name},
                                          {"__qualname__", generator_qualname, set_generator_qualname},
                                          {"gi_running", generator_running},
                                          {"gi_suspended", generator_suspended},
                                          {"gi_yieldfrom", generator_yield_from}};
constexpr TypeSlots kGeneratorSlots{.repr = generator_repr, .iter = generator_iter, .next = generator_next};
constexpr TypeDef kGenerator{.name = "generator",
                             .kind = ObjectKind::generator,
                             .slots = &kGeneratorSlots,
                             .methods = kGeneratorMethods,
                             .getset = kGeneratorGetSet,
                             .subclassable = false};

Value cell_contents(Session& s, const Value& v) {
  const Value& x = v.as<Cell>()->value;
  return x.is_unbound() ? raise_value_error(s, "Cell is empty") : x;
}
bool set_cell_contents(Session&, const Value& v, const Value& x) {
  v.as<Cell>()->value = x;
  return true;
}
Value cell_construct(Session& s, Type*, const Args& a) {
  if (!a.keywords.empty()) return raise_type_error(s, "cell() takes no keyword arguments");
  if (a.size() > 1) return raise_type_error(s, "cell expected at most 1 argument, got %zu", a.size());
  auto* c = new_object<Cell>(ObjectKind::cell);
  if (a.size()) c->value = a[0];
  return Value::steal(c);
}
constexpr GetSetDef kCellGetSet[] = {{"cell_contents", cell_contents, set_cell_contents}};
constexpr TypeSlots kCellSlots{.construct = cell_construct};
constexpr TypeDef kCell{
    .name = "cell", .kind = ObjectKind::cell, .slots = &kCellSlots, .getset = kCellGetSet, .subclassable = false};

}  // namespace

Value code_object(Session& s, const ir::FunctionRef& code) {
  return make_opaque(s.type(ObjectKind::code), std::make_shared<CodeObject>(CodeObject{code}));
}

void register_function_types(Session& s) {
  for (const TypeDef* d : {&kFunction, &kCode, &kNative, &kMethod, &kGenerator, &kCell}) define_type(s, *d);
}

}  // namespace ouro::runtime
