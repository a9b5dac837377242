// Built-in functions about objects: attributes, classes, identity, namespaces.
#include "runtime/interpreter/frame.h"
#include "runtime/object/ops.h"
#include "runtime/protocol/metaclass.h"
#include "runtime/types/args.h"
#include "runtime/types/argument_name.h"
#include "runtime/types/big_int.h"
#include "runtime/types/iterator_types.h"
#include "runtime/types/sequence.h"
#include "stdlib/native/namespaces.h"
#include "stdlib/native/tables.h"

namespace ouro::stdlib {
namespace {

using namespace runtime;

// The attribute name of argument i; the default Symbol with TypeError set.
Symbol attribute_name(Session& s, const Value& v) {
  if (Str* t = cast<Str>(v)) return str_symbol(t);
  raise_type_error(s, "attribute name must be string, not '%s'", type_name(s, v).c_str());
  return Symbol();
}

Value f_getattr(Session& s, const Args& a) {
  if (!takes(s, a, "getattr", 2, 3, 0)) return Value::error();
  Symbol name = attribute_name(s, a[1]);
  if (!name) return Value::error();
  if (a.size() == 2) return get_attr(s, a[0], name);
  Value v = lookup_attr(s, a[0], name);
  return v.is_unbound() ? a[2] : v;
}
Value f_hasattr(Session& s, const Args& a) {
  if (!takes(s, a, "hasattr", 2, 2, 0)) return Value::error();
  Symbol name = attribute_name(s, a[1]);
  if (!name) return Value::error();
  Value v = lookup_attr(s, a[0], name);
  return v.is_error() ? v : Value::boolean(!v.is_unbound());
}
Value f_setattr(Session& s, const Args& a) {
  if (!takes(s, a, "setattr", 3, 3, 0)) return Value::error();
  Symbol name = attribute_name(s, a[1]);
  return name && set_attr(s, a[0], name, a[2]) ? Value::none() : Value::error();
}
Value f_delattr(Session& s, const Args& a) {
  if (!takes(s, a, "delattr", 2, 2, 0)) return Value::error();
  Symbol name = attribute_name(s, a[1]);
  return name && del_attr(s, a[0], name) ? Value::none() : Value::error();
}
Value f_isinstance(Session& s, const Args& a) {
  if (!takes(s, a, "isinstance", 2, 2, 0)) return Value::error();
  int r = is_instance(s, a[0], a[1]);
  return r < 0 ? Value::error() : Value::boolean(r);
}
Value isinstance_plain(Session& s, const Value& v, const Value& t) {
  if (kind_of(t) != ObjectKind::type) return {};
  if (has_metaclass(t.as<Type>())) return {};
  if (is_a(s, v, t.as<Type>())) return Value::boolean(true);
  return t.as<Type>()->builtin && type_of(s, v)->builtin ? Value::boolean(false) : Value();
}
Value f_issubclass(Session& s, const Args& a) {
  if (!takes(s, a, "issubclass", 2, 2, 0)) return Value::error();
  int r = is_subclass(s, a[0], a[1]);
  return r < 0 ? Value::error() : Value::boolean(r);
}
Value f_callable(Session& s, const Args& a) {
  if (!takes_one(s, a, "callable", 0)) return Value::error();
  return Value::boolean(is_callable(s, a[0]));
}
// Unboxed values have no address: theirs is made of the tag and the bits, so that equal ones are identical.
Value f_id(Session& s, const Args& a) {
  if (!takes_one(s, a, "id", 0)) return Value::error();
  auto bits = static_cast<uint64_t>(a[0].bits());
  if (a[0].is_object()) return int_from_u64(bits);
  OURO_TRY(high, int_shift_left(s, int_from_u64(bits), Value::integer(8)));
  return int_add(s, high, Value::integer(static_cast<int64_t>(a[0].tag())));
}
Value f_hash(Session& s, const Args& a) {
  if (!takes_one(s, a, "hash", 0)) return Value::error();
  int64_t h;
  return runtime::hash(s, a[0], h) ? Value::integer(h) : Value::error();
}
Value f_repr(Session& s, const Args& a) {
  if (!takes_one(s, a, "repr", 0)) return Value::error();
  return runtime::repr(s, a[0]);
}
Value f_ascii(Session& s, const Args& a) {
  if (!takes_one(s, a, "ascii", 0)) return Value::error();
  return runtime::ascii(s, a[0]);
}
Value f_format(Session& s, const Args& a) {
  if (!takes(s, a, "format", 1, 2, 0)) return Value::error();
  if (a.size() == 1) return runtime::format(s, a[0], "");
  Str* spec = cast<Str>(a[1]);
  if (!spec) return raise_type_error(s, "format() argument 2 must be str, not %s", argument_name(s, a[1]).c_str());
  return runtime::format(s, a[0], spec->view());
}

Value f_globals(Session& s, const Args& a) {
  if (!takes_none(s, a, "globals", 0)) return Value::error();
  return global_namespace(s);
}
Value f_locals(Session& s, const Args& a) {
  if (!takes_none(s, a, "locals", 0)) return Value::error();
  return local_namespace(s);
}
Value f_vars(Session& s, const Args& a) {
  if (!takes(s, a, "vars", 0, 1, 0)) return Value::error();
  if (a.size() == 0) return local_namespace(s);
  static const Symbol dict = intern("__dict__");
  Value d = lookup_attr(s, a[0], dict);
  return d.is_unbound() ? raise_type_error(s, "vars() argument must have __dict__ attribute") : d;
}
Value f_dir(Session& s, const Args& a) {
  if (!takes(s, a, "dir", 0, 1, 0)) return Value::error();
  Value names;
  if (a.size() == 0) {
    OURO_TRY(d, local_namespace(s));
    names = list_of(s, d);
  } else {
    static const Symbol dir = intern("__dir__");
    Module* m = cast<Module>(a[0]);
    Value* own = m ? m->names.find(dir) : nullptr;  // PEP 562
    names = own && !own->is_unbound() ? call(s, Value(*own), std::initializer_list<Value>{})
                                      : call_dunder(s, a[0], Dunder::dir_);
    if (!names.is_error() && !cast_exact<List>(names)) names = list_of(s, names);
  }
  if (names.is_error()) return names;
  return sort_list(s, names.as<List>(), Value(), false) ? names : Value::error();
}

Value f_iter(Session& s, const Args& a) {
  if (!takes(s, a, "iter", 1, 2, 0)) return Value::error();
  if (a.size() == 1) return runtime::iter(s, a[0]);
  if (!is_callable(s, a[0])) return raise_type_error(s, "iter(v, w): v must be callable");
  return make_callable_iterator(a[0], a[1]);
}
Value f_next(Session& s, const Args& a) {
  if (!takes(s, a, "next", 1, 2, 0)) return Value::error();
  s.stop_value = Value();
  Value v = runtime::next(s, a[0]);
  if (!v.is_end()) return v;
  return a.size() == 2 ? a[1] : raise_stop_iteration(s, std::move(s.stop_value));
}
Value f_import(Session& s, const Args& a) {
  if (!cast<Str>(a[0])) return raise_type_error(s, "module name must be a string");
  if (!a[4].is_unbound() && !a[4].same(Value::integer(0)))
    return raise_type_error(s, "__import__() of a relative name: level must be 0");
  const Symbol name = str_symbol(cast<Str>(a[0]));
  const Value& wanted = a[3];
  const int any = wanted.is_unbound() || wanted.is_none() ? 0 : truth(s, wanted);
  if (any < 0) return Value::error();
  if (!any) return import_top(s, name);
  // With names: the module itself, and what of a package are modules that nobody has imported yet.
  OURO_TRY(module, import_module(s, name));
  if (Module* m = cast<Module>(module); !m || !m->is_package) return module;
  const bool done = for_each(s, wanted, [&](const Value& v) {
    Str* text = cast<Str>(v);
    if (!text) {
      raise_type_error(s, "Item in ``from list'' must be str, not %s", type_name(s, v).c_str());
      return false;
    }
    if (text->view() == "*") return true;
    Value found = import_from(s, module, str_symbol(text));
    if (!found.is_error()) return true;
    if (!pending_is(s, ExcKind::ImportError)) return false;
    clear_pending(s);
    return true;
  });
  return done ? module : Value::error();
}

constexpr NativeDef kFunctions[] = {
    {.name = "getattr", .fn = f_getattr, .doc = "Get a named attribute from an object."},
    {.name = "hasattr",
     .fn = f_hasattr,
     .doc = "Return whether the object has an attribute with the given name.",
     .effect = NativeEffect::pure},
    {.name = "setattr", .fn = f_setattr, .doc = "Sets the named attribute on the given object to the specified value."},
    {.name = "delattr", .fn = f_delattr, .doc = "Deletes the named attribute from the given object."},
    {.name = "isinstance",
     .fn = f_isinstance,
     .doc = "Return whether an object is an instance of a class or of a subclass thereof.",
     .effect = NativeEffect::pure,
     .two = isinstance_plain},
    {.name = "issubclass",
     .fn = f_issubclass,
     .doc = "Return whether 'cls' is derived from another class or is the same class.",
     .effect = NativeEffect::pure},
    {.name = "callable",
     .fn = f_callable,
     .doc = "Return whether the object is callable (i.e., some kind of function).",
     .effect = NativeEffect::pure},
    {.name = "id", .fn = f_id, .doc = "Return the identity of an object."},
    {.name = "hash", .fn = f_hash, .doc = "Return the hash value for the given object.", .effect = NativeEffect::pure},
    {.name = "repr",
     .fn = f_repr,
     .doc = "Return the canonical string representation of the object.",
     .effect = NativeEffect::pure},
    {.name = "ascii",
     .fn = f_ascii,
     .doc = "Return an ASCII-only representation of an object.",
     .effect = NativeEffect::pure},
    {.name = "format",
     .fn = f_format,
     .doc = "Return type(value).__format__(value, format_spec).",
     .effect = NativeEffect::pure},
    {.name = "globals",
     .fn = f_globals,
     .doc = "Return the dictionary containing the current scope's global variables.",
     .effect = NativeEffect::frames},
    {.name = "locals",
     .fn = f_locals,
     .doc = "Return a dictionary containing the current scope's local variables.",
     .effect = NativeEffect::frames},
    {.name = "vars",
     .fn = f_vars,
     .doc = "Without arguments, equivalent to locals(). With an argument, equivalent to object.__dict__.",
     .effect = NativeEffect::frames},
    {.name = "dir", .fn = f_dir, .doc = "Show attributes of an object.", .effect = NativeEffect::frames},
    {.name = "iter", .fn = f_iter, .doc = "Get an iterator from an object."},
    {.name = "next", .fn = f_next, .doc = "Return the next item from the iterator."},
    {.name = "__import__",
     .params = "name, globals=None, locals=None, fromlist=None, level=None",
     .fn = f_import,
     .doc = "Import a module."},
};

}  // namespace

std::span<const NativeDef> object_functions() { return kFunctions; }

// What the frontend makes of locals() in a function (frontend/lower_locals.cpp): names and what they stand for, a value
// or a cell, or nothing yet.
Value dict_of_locals(Session& s, const Args& a) {
  Value d = make_dict();
  for (size_t i = 0; i + 1 < a.size(); i += 2) {
    Cell* cell = cast_exact<Cell>(a[i + 1]);
    const Value& v = cell ? cell->value : a[i + 1];
    if (!v.is_unbound()) dict_set_symbol(s, d.as<Dict>(), str_symbol(a[i].as<Str>()), v);
  }
  return d;
}

}  // namespace ouro::stdlib
