#include "stdlib/native/struct_sequence.h"

#include "runtime/ops.h"

namespace ouro::stdlib {
namespace {

using namespace runtime;

Value show(Session& s, const Args& a) {
  static const Symbol names = intern("__match_args__"), module = intern("__module__");
  Type* t = type_of(s, a[0]);
  Tuple *fields = cast<Tuple>(type_lookup(s, t, names)), *values = cast<Tuple>(a[0]);
  std::string out = text_of(s, type_lookup(s, t, module)) + "." + std::string(t->text()) + "(";
  for (size_t i = 0; fields && i < fields->size && i < values->size; ++i)
    out += (i ? ", " : "") + text_of(s, (*fields)[i]) + "=" + repr_text(s, (*values)[i]);
  return s.has_error() ? Value::error() : make_str(out + ")");
}
constexpr NativeDef kShow{.name = "__repr__", .fn = show};

}  // namespace

Value struct_sequence_class(Session& s, const char* module, const char* name) {
  Value ns = make_dict();
  dict_set_str(s, ns.as<Dict>(), "__module__", make_str(module));
  OURO_TRY(cls, make_class(s, make_str(name), make_tuple({Value::share(s.type(ObjectKind::tuple))}), ns, Args{}));
  Type* t = cls.as<Type>();
  t->names.set(dunder_symbol(Dunder::repr_), make_native(kShow, Value(), t));
  type_changed(s, t);
  return cls;
}

Value struct_sequence(Session& s, const Value& cls, Fields fields) {
  static const Symbol names = intern("__match_args__");
  std::vector<Value> items, labels;
  for (auto& [n, v] : fields) items.push_back(v), labels.push_back(make_str(n));
  if (type_lookup(s, cls.as<Type>(), names).is_unbound() && !set_attr(s, cls, names, make_tuple_moved(labels)))
    return Value::error();
  OURO_TRY(v, call(s, cls, {make_tuple_moved(items)}));
  for (auto& [n, x] : fields)
    if (!set_attr(s, v, intern(n), x)) return Value::error();
  return v;
}

}  // namespace ouro::stdlib
