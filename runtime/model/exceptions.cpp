// The hierarchy of exceptions, and tracebacks as values.
#include "runtime/model/model.h"
#include "runtime/object/ops.h"
#include "runtime/protocol/lookup.h"
#include "runtime/types/unicode_error.h"

namespace ouro::runtime {

namespace {

Exception* self_of(const Value& v) { return v.as<Exception>(); }

size_t arg_count(Exception* e) { return e->args.is_object() ? e->args.as<Tuple>()->size : 0; }

Value syntax_error_str(Session& s, Exception* e);

Value exception_str(Session& s, const Args& a) {
  auto* e = self_of(a[0]);
  const Value held = e->args;  // a __str__ may assign others
  Tuple* args = held.as<Tuple>();
  if (is_subtype(e->type, exception_type(s, ExcKind::SyntaxError))) return syntax_error_str(s, e);
  if (is_subtype(e->type, exception_type(s, ExcKind::OSError)) && args->size >= 2) {
    OURO_TRY(text, str(s, (*args)[1]));
    std::string out = "[Errno " + text_of(s, (*args)[0]) + "] " + std::string(cast<Str>(text)->view());
    if (!e->extra2.is_unbound() && !e->extra2.is_none()) out += ": " + repr_text(s, e->extra2);
    if (!e->extra1.is_unbound() && !e->extra1.is_none()) out += " -> " + repr_text(s, e->extra1);
    if (s.has_error()) return Value::error();
    return make_str(out);
  }
  if (args->size >= 4)
    if (Value text = unicode_error_text(s, e); !text.is_unbound()) return text;
  if (args->size == 0) return make_str("");
  if (args->size > 1) return repr(s, held);
  return is_subtype(e->type, exception_type(s, ExcKind::KeyError)) ? repr(s, (*args)[0]) : str(s, (*args)[0]);
}

Value exception_repr(Session& s, const Args& a) {
  auto* e = self_of(a[0]);
  std::string out(e->type->text());
  if (arg_count(e) == 1)
    out += "(" + repr_text(s, (*e->args.as<Tuple>())[0]) + ")";
  else
    out += repr_text(s, e->args);
  return s.has_error() ? Value::error() : make_str(out);
}

// Keeps what some classes take from their arguments.
void take_fields(Session& s, Exception* e, const Args& rest) {
  const auto& p = rest.positional;
  if (is_subtype(e->type, exception_type(s, ExcKind::StopIteration)) ||
      is_subtype(e->type, exception_type(s, ExcKind::SystemExit))) {
    e->extra1 = p.size() == 0                                                                     ? Value::none()
                : p.size() == 1 || is_subtype(e->type, exception_type(s, ExcKind::StopIteration)) ? p[0]
                                                                                                  : e->args;
  } else if (is_subtype(e->type, exception_type(s, ExcKind::OSError)) && p.size() >= 3 && p.size() <= 5 &&
             !p[2].is_none()) {
    if (p.size() == 5) e->extra1 = p[4];  // filename2; p[3] is Windows' error number
    e->extra2 = p[2];
    e->args = make_tuple({p[0], p[1]});
  }
  for (size_t i = 0; i < rest.keywords.size(); ++i) {
    std::string_view name = rest.names[i].as<Str>()->view();
    if (name == "name")
      e->extra1 = rest.keywords[i];
    else if (name == "obj" || name == "path")
      e->extra2 = rest.keywords[i];
  }
}

bool takes_keywords(Session& s, Type* t) {
  for (ExcKind k : {ExcKind::NameError, ExcKind::AttributeError, ExcKind::ImportError})
    if (is_subtype(t, exception_type(s, k))) return true;
  return false;
}

Value exception_init(Session& s, const Args& a) {
  auto* e = self_of(a[0]);
  Args rest = a;
  rest.positional = a.positional.subspan(1);
  if (!rest.keywords.empty() && !takes_keywords(s, e->type))
    return raise_type_error(s, "%s() takes no keyword arguments", std::string(e->type->text()).c_str());
  auto* made = cast_exact<StaticMethod>(find_dunder(s, e->type, Dunder::new_));
  if (made && !cast_exact<Native>(made->function) && is_subtype(e->type, exception_type(s, ExcKind::OSError)))
    return Value::none();  // a __new__ of its own has given it what it holds
  for (const Value& n : rest.names) {
    std::string_view name = n.as<Str>()->view();
    bool import = is_subtype(e->type, exception_type(s, ExcKind::ImportError));
    bool attribute = is_subtype(e->type, exception_type(s, ExcKind::AttributeError));
    if (name == "name" || (import && name == "path") || (attribute && name == "obj")) continue;
    return raise_type_error(s, "'%s' is an invalid keyword argument for %s", n.as<Str>()->data,
                            import      ? "ImportError()"
                            : attribute ? "AttributeError()"
                                        : "NameError()");
  }
  e->args = make_tuple(rest.positional);
  take_fields(s, e, rest);
  return Value::none();
}
Value exception_new(Session& s, const Args& a) {
  Type* t = a.size() ? cast_exact<Type>(a[0]) : nullptr;
  if (!t || !t->is_exception)
    return raise_type_error(s, "BaseException.__new__(X): X is not a subtype of BaseException");
  Args rest = a;
  rest.positional = a.positional.subspan(1);
  return construct_bare(s, t, rest);
}
Value with_traceback(Session& s, const Args& a) {
  if (!a[1].is_none() && !cast<Traceback>(a[1]))
    return raise_type_error(s, "__traceback__ must be a traceback or None");
  self_of(a[0])->traceback = a[1];
  return a[0];
}
Value add_note(Session& s, const Args& a) {
  if (!cast<Str>(a[1])) return raise_type_error(s, "note must be a str, not '%s'", type_name(s, a[1]).c_str());
  auto* e = self_of(a[0]);
  if (e->notes.is_unbound()) e->notes = make_list();
  if (!cast<List>(e->notes)) return raise_type_error(s, "Cannot add note: __notes__ is not a list");
  cast<List>(e->notes)->push(a[1]);
  return Value::none();
}
constexpr NativeDef kMethods[] = {
    {"__init__", "", exception_init, "", true},
    {"__str__", "", exception_str, ""},
    {"__repr__", "", exception_repr, ""},
    {"with_traceback", "tb, /", with_traceback, "Set self.__traceback__ to tb and return self."},
    {"add_note", "note, /", add_note, "Add a note to the exception."}};
constexpr NativeDef kStaticMethods[] = {{"__new__", "", exception_new, "", true}};

Value get_args(Session&, const Value& v) { return self_of(v)->args; }
bool set_args(Session& s, const Value& v, const Value& args) {
  if (args.is_unbound()) return !raise_type_error(s, "args may not be deleted").is_error();
  Value t = tuple_of(s, args);
  if (t.is_error()) return false;
  self_of(v)->args = t;
  return true;
}
template <Value Exception::*field>
Value get_field(Session&, const Value& v) {
  const Value& x = self_of(v)->*field;
  return x.is_unbound() ? Value::none() : x;
}
template <Value Exception::*field>
bool set_exception_field(Session& s, const Value& v, const Value& x) {
  const char* name = field == &Exception::cause ? "cause" : "context";
  if (x.is_unbound()) return !raise_type_error(s, "__%s__ may not be deleted", name).is_error();
  if (!x.is_none() && !cast<Exception>(x)) {
    raise_type_error(s, "exception %s must be None or derive from BaseException", name);
    return false;
  }
  self_of(v)->*field = x;
  if (field == &Exception::cause) self_of(v)->suppress_context = true;
  return true;
}
bool set_traceback(Session& s, const Value& v, const Value& x) {
  if (!x.is_none() && !cast<Traceback>(x)) {
    raise_type_error(s, "__traceback__ must be a traceback or None");
    return false;
  }
  self_of(v)->traceback = x;
  return true;
}
Value get_suppress(Session&, const Value& v) { return Value::boolean(self_of(v)->suppress_context); }
bool set_suppress(Session& s, const Value& v, const Value& x) {
  int t = truth(s, x);
  if (t < 0) return false;
  self_of(v)->suppress_context = t;
  return true;
}
Value get_notes(Session& s, const Value& v) {
  const Value& n = self_of(v)->notes;
  if (!n.is_unbound()) return n;
  return raise_error(s, ExcKind::AttributeError, "'%s' object has no attribute '__notes__'", type_name(s, v).c_str());
}
bool set_notes(Session&, const Value& v, const Value& x) {
  self_of(v)->notes = x;
  return true;
}
constexpr GetSetDef kGetSet[] = {
    {"args", get_args, set_args},
    {"__cause__", get_field<&Exception::cause>, set_exception_field<&Exception::cause>},
    {"__context__", get_field<&Exception::context>, set_exception_field<&Exception::context>},
    {"__traceback__", get_field<&Exception::traceback>, set_traceback},
    {"__suppress_context__", get_suppress, set_suppress},
    {"__notes__", get_notes, set_notes}};

// Fields of single classes.
template <Value Exception::*field>
bool set_any(Session&, const Value& v, const Value& x) {
  self_of(v)->*field = x;
  return true;
}
constexpr GetSetDef kValueField[] = {{"value", get_field<&Exception::extra1>, set_any<&Exception::extra1>}};
constexpr GetSetDef kCodeField[] = {{"code", get_field<&Exception::extra1>, set_any<&Exception::extra1>}};
constexpr GetSetDef kNameField[] = {{"name", get_field<&Exception::extra1>, set_any<&Exception::extra1>}};
constexpr GetSetDef kNameObjFields[] = {{"name", get_field<&Exception::extra1>, set_any<&Exception::extra1>},
                                        {"obj", get_field<&Exception::extra2>, set_any<&Exception::extra2>}};
Value get_message(Session& s, const Value& v) {
  (void)s;
  Tuple* t = self_of(v)->args.as<Tuple>();
  return t->size ? (*t)[0] : Value::none();
}
constexpr GetSetDef kImportFields[] = {{"name", get_field<&Exception::extra1>, set_any<&Exception::extra1>},
                                       {"path", get_field<&Exception::extra2>, set_any<&Exception::extra2>},
                                       {"msg", get_message}};
Value os_field(const Value& v, size_t i) {
  Tuple* t = self_of(v)->args.as<Tuple>();
  return t->size >= 2 ? (*t)[i] : Value::none();
}
Value get_errno(Session&, const Value& v) { return os_field(v, 0); }
Value get_strerror(Session&, const Value& v) { return os_field(v, 1); }
constexpr GetSetDef kOsFields[] = {{"errno", get_errno},
                                   {"strerror", get_strerror},
                                   {"filename", get_field<&Exception::extra2>, set_any<&Exception::extra2>},
                                   {"filename2", get_field<&Exception::extra1>, set_any<&Exception::extra1>}};
// SyntaxError(msg, (filename, lineno, offset, text, ...)): the fields stand in the second argument.
Value syntax_field(Exception* e, size_t i) {
  Tuple* args = e->args.as<Tuple>();
  Tuple* place = args->size > 1 ? cast<Tuple>((*args)[1]) : nullptr;
  return place && i < place->size ? (*place)[i] : Value::none();
}
template <size_t i>
Value get_syntax_field(Session&, const Value& v) {
  return syntax_field(self_of(v), i);
}
Value syntax_error_str(Session& s, Exception* e) {
  const Value held = e->args;
  Tuple* args = held.as<Tuple>();
  std::string out = text_of(s, args->size ? (*args)[0] : Value::none());
  Value file = syntax_field(e, 0), line = syntax_field(e, 1);
  std::string place;
  if (Str* name = cast<Str>(file)) place = name->view().substr(name->view().rfind('/') + 1);
  if (line.is_int()) place += (place.empty() ? "line " : ", line ") + text_of(s, line);
  if (!place.empty()) out += " (" + place + ")";
  return make_str(out);
}
constexpr GetSetDef kSyntaxFields[] = {{"msg", get_message},
                                       {"filename", get_syntax_field<0>},
                                       {"lineno", get_syntax_field<1>},
                                       {"offset", get_syntax_field<2>},
                                       {"text", get_syntax_field<3>},
                                       {"end_lineno", get_syntax_field<4>},
                                       {"end_offset", get_syntax_field<5>}};

std::span<const GetSetDef> fields_of(ExcKind k) {
  switch (k) {
    case ExcKind::BaseException:
      return kGetSet;
    case ExcKind::StopIteration:
      return kValueField;
    case ExcKind::SystemExit:
      return kCodeField;
    case ExcKind::NameError:
      return kNameField;
    case ExcKind::AttributeError:
      return kNameObjFields;
    case ExcKind::ImportError:
      return kImportFields;
    case ExcKind::OSError:
      return kOsFields;
    case ExcKind::SyntaxError:
      return kSyntaxFields;
    case ExcKind::UnicodeEncodeError:
    case ExcKind::UnicodeDecodeError:
      return unicode_error_fields(false);
    case ExcKind::UnicodeTranslateError:
      return unicode_error_fields(true);
    default:
      return {};
  }
}

struct ExceptionRow {
  const char* name;
  ExcKind kind, base;
};
constexpr ExceptionRow kRows[] = {
#define X(name, base) {#name, ExcKind::name, ExcKind::base},
    OURO_EXCEPTIONS(X)
#undef X
};

constexpr TypeSlots kExceptionSlots{};

// One TypeDef per class, for the life of the process.
const TypeDef* exception_defs() {
  static const std::vector<TypeDef>* all = [] {
    auto* v = new std::vector<TypeDef>;
    for (const ExceptionRow& r : kRows) {
      TypeDef d{.name = r.name, .kind = ObjectKind::exception, .slots = &kExceptionSlots, .getset = fields_of(r.kind)};
      if (r.kind == ExcKind::BaseException) {
        d.methods = kMethods;
        d.static_methods = kStaticMethods;
      }
      v->push_back(d);
    }
    return v;
  }();
  return all->data();
}

Value tb_next(Session&, const Value& v) { return v.as<Traceback>()->next; }
Value tb_lineno(Session& s, const Value& v) {
  auto* t = v.as<Traceback>();
  const SourceFile* f = s.sources.file(t->span.file);
  return Value::integer(f ? f->line_col(t->span.begin).line : 0);
}
Value tb_frame(Session& s, const Value& v) {
  auto* t = v.as<Traceback>();
  return make_frame(s, t->code, t->span, t->globals, Value::none());
}
constexpr GetSetDef kTracebackGetSet[] = {{"tb_next", tb_next}, {"tb_lineno", tb_lineno}, {"tb_frame", tb_frame}};
constexpr TypeSlots kTracebackSlots{};
constexpr TypeDef kTraceback{.name = "traceback",
                             .kind = ObjectKind::traceback,
                             .slots = &kTracebackSlots,
                             .getset = kTracebackGetSet,
                             .subclassable = false};

// Those that CPython keeps more in than their base does.
bool has_own_places(ExcKind k) {
  static constexpr ExcKind kOwn[] = {ExcKind::BaseException,
                                     ExcKind::SystemExit,
                                     ExcKind::StopIteration,
                                     ExcKind::AttributeError,
                                     ExcKind::ImportError,
                                     ExcKind::NameError,
                                     ExcKind::OSError,
                                     ExcKind::SyntaxError,
                                     ExcKind::UnicodeDecodeError,
                                     ExcKind::UnicodeEncodeError,
                                     ExcKind::UnicodeTranslateError};
  return std::find(std::begin(kOwn), std::end(kOwn), k) != std::end(kOwn);
}

}  // namespace

void register_exception_types(Session& s) {
  const TypeDef* defs = exception_defs();
  for (size_t i = 0; i < std::size(kRows); ++i) {
    const ExceptionRow& r = kRows[i];
    auto* t = new_object<Type>(ObjectKind::type);
    s.exceptions[static_cast<int>(r.kind)] = t;
    t->name = t->qualname = make_str(r.name);
    t->def = &defs[i];
    t->slots = &kExceptionSlots;
    t->builtin = t->is_exception = true;
    t->layout = ObjectKind::exception;
    t->has_dict = true;
    t->version = s.next_version++;
    for (Value& d : t->dunders) d = Value::end();
    Type* base = r.kind == ExcKind::BaseException ? s.object_type() : exception_type(s, r.base);
    t->bases.push_back(Value::share(base));
    t->base = base;
    t->solid = has_own_places(r.kind) ? t : base->solid;
    base->subclasses.push_back(t);
    t->mro.push_back(t);
    for (Type* m : base->mro) t->mro.push_back(m);
    auto* shape = new Shape;
    shape->type = t;
    shape->id = s.next_version++;
    t->shape = shape;
  }
  Type* base = exception_type(s, ExcKind::BaseException);
  ++base->refs;
  s.types[static_cast<int>(ObjectKind::exception)] = base;
  s.slots[static_cast<int>(ObjectKind::exception)] = base->slots;
  define_type(s, kTraceback);
}

}  // namespace ouro::runtime
