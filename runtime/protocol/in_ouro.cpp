#include "runtime/protocol/in_ouro.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>

#include "runtime/object/ops.h"
#include "runtime/protocol/lookup.h"
#include "runtime/protocol/metaclass.h"
#include "runtime/protocol/sequence_operators.h"

namespace ouro::runtime {

namespace {

struct ProtocolText {
  std::unordered_map<std::string, Value> functions;
  std::unordered_map<const NativeDef*, Value> natives;  // what methods of `object` are
};

bool is_scripted(const Value& v) {
  const ObjectKind k = kind_of(v);
  return k == ObjectKind::instance || k == ObjectKind::exception || is_metaclassed(v);
}
Symbol name_of(const Value& v) { return str_symbol(v.as<Str>()); }

// An operator by the name of its method, plain or reflected.
bool operator_of(const Value& name, BinOp& op) {
  const int d = static_cast<int>(dunder_of(name_of(name)));
  if (d >= 2 * kBinOps) return false;
  op = static_cast<BinOp>(d % kBinOps);
  return true;
}
bool comparison_of(const Value& name, CmpOp& op) {
  const int d = static_cast<int>(dunder_of(name_of(name))) - static_cast<int>(Dunder::eq_);
  op = static_cast<CmpOp>(d);
  return d >= 0 && d <= static_cast<int>(CmpOp::ge);
}
// A computed attribute only fits objects of its class. (Methods look at their receiver themselves.)
bool belongs(Session& s, const Value& f, const Value& a) {
  auto* g = cast_exact<GetSet>(f);
  return !g || !g->owner || is_subtype(type_of(s, a), g->owner);
}
Value no_object(Session& s, const Value& a) {
  return raise_type_error(s, "an object of a script class is expected, not '%s'", type_name(s, a).c_str());
}

Value n_find(Session& s, const Args& a) {
  Value v = type_lookup(s, a[0].as<Type>(), name_of(a[1]));
  return v.is_unbound() ? a[2] : v;
}
Value n_own(Session& s, const Args& a) {
  auto* i = cast<Instance>(a[0]);
  Value* v = nullptr;
  if (!i) return a[2];
  if (i->shape) {
    const int at = i->shape->find(name_of(a[1]));
    if (at >= 0) v = &i->slots[at];
  } else {
    if (auto* d = cast<Dict>(i->dict)) v = dict_find_symbol(s, d, name_of(a[1]));
    if (!v) v = instance_slot(s, i, name_of(a[1]));
  }
  return v && !v->is_unbound() ? *v : a[2];
}
Value n_native_store(Session& s, const Args& a) {
  return object_setattr(s, a[0], name_of(a[1]), a[2]) ? Value::none() : Value::error();
}
Value n_set_own(Session& s, const Args& a) {
  if (!is_scripted(a[0])) return no_object(s, a[0]);
  if (is_metaclassed(a[0])) return n_native_store(s, a);
  return generic_set_attr(s, a[0], name_of(a[1]), a[2]) ? Value::none() : Value::error();
}
Value n_put_back(Session& s, const Args& a) {
  if (a[2].same(a[3])) return Value::none();
  if (auto* m = cast_exact<Module>(a[0])) return m->names.set(name_of(a[1]), Value(a[3])), Value::none();
  if (auto* c = cast_exact<Cell>(a[0])) return c->value = a[3], Value::none();
  return n_set_own(s, {{std::array{a[0], a[1], a[3]}}, {}, {}});
}
Value n_drop_own(Session& s, const Args& a) {
  if (!is_scripted(a[0])) return no_object(s, a[0]);
  return generic_set_attr(s, a[0], name_of(a[1]), Value()) ? Value::none() : Value::error();
}
Value n_bare(Session& s, const Args& a) {
  auto* t = a[0].as<Type>();
  if (t->builtin || t->layout != ObjectKind::instance)
    return raise_type_error(s, "bare() argument must be a script class with attributes only, not %s",
                            std::string(t->text()).c_str());
  return new_instance(s, t);
}
Value n_native_load(Session& s, const Args& a) { return object_getattribute(s, a[0], name_of(a[1])); }
Value n_scripted(Session&, const Args& a) { return Value::boolean(is_scripted(a[0])); }
Value n_bound(Session& s, const Args& a) {
  if (!belongs(s, a[0], a[1]))
    return raise_type_error(s, "what is bound is no attribute of a '%s' object", type_name(s, a[1]).c_str());
  return bind_descriptor(s, a[0], a[1], a[2].as<Type>());
}
Value n_is_builtin_data(Session& s, const Args& a) {
  return Value::boolean(!is_scripted(a[0]) && is_data_descriptor(s, a[0]));
}
Value n_concatenates(Session& s, const Args& a) {
  return Value::boolean(is_of_sequence(type_of(s, a[0]), dunder_of(name_of(a[1]))));
}
Value n_sequence(Session& s, const Args& a) {
  auto* t = a[0].as<Type>();
  if (t->builtin) return raise_type_error(s, "sequence() takes a class that a script made");
  t->is_sequence = true;
  type_changed(s, t);
  return a[0];
}
// The built-in type's special method of that name, where it is no operator of the slots (divmod).
Value by_name(Session& s, const Value& self, const Value& name, const Value& other) {
  Value m = type_lookup(s, type_of(s, self), name_of(name));
  return m.is_unbound() ? Value::not_implemented() : call(s, m, {self, other});
}
Value n_left(Session& s, const Args& a) {
  BinOp op{};
  if (!operator_of(a[0], op)) return by_name(s, a[1], a[0], a[2]);
  auto f = slots_of(s, a[1]).binary;
  return f ? f(s, op, a[1], operand_for(op, a[1], a[2])) : Value::not_implemented();
}
Value n_right(Session& s, const Args& a) {
  BinOp op{};
  if (!operator_of(a[0], op)) {
    const std::string_view name = a[0].as<Str>()->view();
    return name.starts_with("__") ? by_name(s, a[2], make_str("__r" + std::string(name.substr(2))), a[1])
                                  : Value::not_implemented();
  }
  auto f = slots_of(s, a[2]).binary;
  return f ? f(s, op, operand_for(op, a[2], a[1]), a[2]) : Value::not_implemented();
}
Value n_in_place(Session& s, const Args& a) {
  BinOp op{};
  auto f = slots_of(s, a[1]).inplace;
  if (!operator_of(a[0], op) || !f) return Value::not_implemented();
  Value self = a[1];
  return f(s, op, self, a[2]);
}
Value n_compare(Session& s, const Args& a) {
  CmpOp op{};
  auto f = slots_of(s, a[1]).compare;
  return comparison_of(a[0], op) && f ? f(s, op, a[1], unwrap(a[2])) : Value::not_implemented();
}
Value n_to_length(Session& s, const Args& a) {
  int64_t n;
  if (!is_integer(a[0]))
    return raise_type_error(s, "'%s' object cannot be interpreted as an integer", type_name(s, a[0]).c_str());
  if (!to_index(s, a[0], n)) {
    clear_pending(s);
    return raise_error(s, ExcKind::OverflowError, "cannot fit 'int' into an index-sized integer");
  }
  return n < 0 ? raise_value_error(s, "__len__() should return >= 0") : Value::integer(n);
}
Value n_is_iterator(Session& s, const Args& a) {
  return Value::boolean(kind_of(a[0]) == ObjectKind::generator || cast_iterator(a[0]) || slots_of(s, a[0]).next);
}
Value n_raise_from(Session& s, const Args& a) { return raise_value(s, a[0], a[1]); }
Value n_raise_unbound(Session& s, const Args& a) {
  return raise_text(
      s, ExcKind::UnboundLocalError,
      "cannot access local variable '" + name_of(a[0]).str() + "' where it is not associated with a value");
}
Value n_index_iterator(Session&, const Args& a) { return index_iterator(a[0]); }
Value n_text_of(Session& s, const Args& a) {
  auto* n = cast_exact<Native>(a[0]);
  if (!n || !cast_exact<Function>(a[1])) return raise_type_error(s, "text_of() takes a built-in method and a function");
  s.state<ProtocolText>().natives[n->def] = a[1];
  return Value::none();
}

constexpr NativeDef kFunctions[] = {
    {.name = "find",
     .params = "of: type, name: str, otherwise, /",
     .fn = n_find,
     .doc = "An attribute of a class by its line of bases, as it stands there."},
    {.name = "own", .params = "a, name: str, otherwise, /", .fn = n_own, .doc = "The object's own attribute."},
    {.name = "set_own",
     .params = "a, name: str, value, /",
     .fn = n_set_own,
     .doc = "Set the object's own attribute; AttributeError where it can have none."},
    {.name = "put_back",
     .params = "place, name: str, before, changed, /",
     .fn = n_put_back,
     .doc = "Set the variable or attribute to what a write changed, if that is another object than before."},
    {.name = "drop_own", .params = "a, name: str, /", .fn = n_drop_own, .doc = "Delete the object's own attribute."},
    {.name = "bare",
     .params = "of: type, /",
     .fn = n_bare,
     .doc = "An object without attributes: object.__new__(cls)."},
    {.name = "native_store",
     .params = "a, name: str, value, /",
     .fn = n_native_store,
     .doc = "Set an attribute of a built-in object, or one that a built-in descriptor of the class takes."},
    {.name = "native_load",
     .params = "a, name: str, /",
     .fn = n_native_load,
     .doc = "An attribute of a built-in object; AttributeError where it is not there."},
    {.name = "scripted", .params = "x, /", .fn = n_scripted, .doc = "Is x an object of a class that a script made?"},
    {.name = "bound",
     .params = "f, a, of: type, /",
     .fn = n_bound,
     .doc = "f, found in cls, as an attribute of a: methods are bound, built-in descriptors asked."},
    {.name = "is_builtin_data",
     .params = "f, /",
     .fn = n_is_builtin_data,
     .doc = "Is f a property, or another built-in data descriptor?"},
    {.name = "concatenates",
     .params = "x, name: str, /",
     .fn = n_concatenates,
     .doc = "Is x's method for +, *, += or *= a sequence's, which comes after those of numbers?"},
    {.name = "sequence",
     .params = "of: type, /",
     .fn = n_sequence,
     .doc = "Let the class's + and * be a sequence's, as those of list are; a decorator."},
    {.name = "native_left",
     .params = "name: str, a, b, /",
     .fn = n_left,
     .doc = "a's built-in operator on (a, b); NotImplemented if it declines."},
    {.name = "native_right",
     .params = "name: str, a, b, /",
     .fn = n_right,
     .doc = "b's built-in operator on (a, b); NotImplemented if it declines."},
    {.name = "native_in_place",
     .params = "name: str, a, b, /",
     .fn = n_in_place,
     .doc = "a's built-in in-place operator; NotImplemented if it has none or declines."},
    {.name = "native_compare",
     .params = "name: str, a, b, /",
     .fn = n_compare,
     .doc = "a's built-in comparison with b; NotImplemented if it declines."},
    {.name = "to_length", .params = "n, /", .fn = n_to_length, .doc = "What __len__ gave, if it is a length."},
    {.name = "is_iterator", .params = "x, /", .fn = n_is_iterator, .doc = "Is x a built-in iterator?"},
    {.name = "raise_from",
     .params = "exception, cause=None, /",
     .fn = n_raise_from,
     .doc = "raise exception, or raise exception from cause."},
    {.name = "raise_unbound",
     .params = "name: str, /",
     .fn = n_raise_unbound,
     .doc = "The UnboundLocalError of a local variable."},
    {.name = "index_iterator",
     .params = "a, /",
     .fn = n_index_iterator,
     .doc = "An iterator over a[0], a[1], ... until IndexError."},
    {.name = "text_of", .params = "native, f, /", .fn = n_text_of, .doc = "Say that f is what a built-in method does."},
};
constexpr NativeModule kModule{"_protocol", kFunctions};

}  // namespace

std::string name_in_protocol(std::string_view prim) {
  static constexpr std::pair<std::string_view, std::string_view> kNamed[] = {{"with.methods", "manager"},
                                                                             {"match.class", "class_pattern"},
                                                                             {"match.keys", "mapping_pattern"},
                                                                             {"match.rest", "mapping_rest"},
                                                                             {"format", "field"}};
  for (const auto& [op, name] : kNamed)
    if (op == prim) return std::string(name);
  const std::string_view mark = prim.starts_with("iop.") ? "__i" : "__";
  return std::string(mark) + std::string(prim.substr(prim.find('.') + 1)) + "__";
}

Value protocol_function(Session& s, std::string_view name) {
  auto& known = s.state<ProtocolText>().functions;
  if (auto it = known.find(std::string(name)); it != known.end()) return it->second;
  OURO_TRY(module, import_module(s, intern("ouro.protocol")));
  OURO_TRY(f, get_attr(s, module, name));
  s.state<ProtocolText>().functions.emplace(name, f);
  return f;
}

Value text_of_native(Session& s, const NativeDef* def) {
  auto& known = s.state<ProtocolText>().natives;
  auto it = known.find(def);
  return it == known.end() ? Value() : it->second;
}

const bool kProtocolByText = [] {
  const char* v = std::getenv("OURO_PROTOCOL");
  return v && std::strcmp(v, "text") == 0;
}();

Value by_text(Session& s, std::string_view name, std::initializer_list<Value> args) {
  OURO_TRY(f, protocol_function(s, name));
  return call(s, f, args);
}

void register_protocol_natives(Session& s) { s.register_natives(&kModule); }

}  // namespace ouro::runtime
