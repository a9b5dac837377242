#include "stdlib/native/struct_sequence.h"

#include "runtime/object/ops.h"

namespace ouro::stdlib {
namespace {

using namespace runtime;

Value show(Session& s, const Args& a) {
  static const Symbol names = intern("__match_args__"), module = intern("__module__");
  Type* t = type_of(s, a[0]);
  Tuple *fields = cast<Tuple>(type_lookup(s, t, names)), *values = cast<Tuple>(a[0]);
  std::string out = text_of(s, type_lookup(s, t, module)) + "." + std::string(t->text()) + "(";
  for (size_t i = 0; fields && i < fields->size && i < values->size && !s.has_error(); ++i)
    out += (i ? ", " : "") + text_of(s, (*fields)[i]) + "=" + repr_text(s, (*values)[i]);
  return s.has_error() ? Value::error() : make_str(out + ")");
}
constexpr NativeDef kShow{.name = "__repr__", .fn = show};

// The fields by their names.
Value init(Session& s, const Args& a) {
  static const Symbol names = intern("__match_args__"), module = intern("__module__");
  Type* cls = type_of(s, a[0]);
  Tuple *fields = cast<Tuple>(type_lookup(s, cls, names)), *values = cast<Tuple>(a[0]);
  if (a.size() < 2) return raise_type_error(s, "structseq() missing required argument 'sequence' (pos 1)");
  if (!fields || !values) return Value::none();
  if (values->size != fields->size)
    return raise_type_error(s, "%s.%s() takes an at least %u-sequence (%u-sequence given)",
                            text_of(s, type_lookup(s, cls, module)).c_str(), std::string(cls->text()).c_str(),
                            static_cast<unsigned>(fields->size), static_cast<unsigned>(values->size));
  for (size_t i = 0; i < values->size; ++i)
    if (!set_attr(s, a[0], intern(text_of(s, (*fields)[i])), (*values)[i])) return Value::error();
  return Value::none();
}
constexpr NativeDef kInit{.name = "__init__", .fn = init};

}  // namespace

Value struct_sequence_class(Session& s, const char* module, const char* name) {
  Value ns = make_dict();
  dict_set_str(s, ns.as<Dict>(), "__module__", make_str(module));
  OURO_TRY(cls, make_class(s, make_str(name), make_tuple({Value::share(s.type(ObjectKind::tuple))}), ns, Args{}));
  Type* t = cls.as<Type>();
  t->names.set(dunder_symbol(Dunder::repr_), make_native(kShow, Value(), t));
  t->names.set(dunder_symbol(Dunder::init_), make_native(kInit, Value(), t));
  type_changed(s, t);
  return cls;
}

Value struct_sequence(Session& s, const Value& cls, Fields fields) {
  static const Symbol names = intern("__match_args__");
  std::vector<Value> items, labels;
  for (auto& [n, v] : fields) items.push_back(v), labels.push_back(make_str(n));
  if (type_lookup(s, cls.as<Type>(), names).is_unbound() && !set_attr(s, cls, names, make_tuple_moved(labels)))
    return Value::error();
  return call(s, cls, {make_tuple_moved(items)});
}

}  // namespace ouro::stdlib
