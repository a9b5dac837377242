// mappingproxy: a mapping that is read through it, and not written to.
#include "runtime/object/ops.h"
#include "runtime/types/args.h"
#include "runtime/types/dict_type.h"
#include "runtime/types/generic_alias.h"

namespace ouro::runtime {
namespace {

const Value& mapping_of(const Value& proxy) { return proxy.as<DictView>()->dict; }
const Value& behind(const Value& v) { return kind_of(v) == ObjectKind::mapping_proxy ? mapping_of(v) : v; }

Value construct(Session& s, Type*, const Args& a) {
  Value mapping;
  if (!takes_named(s, a, "mappingproxy", {"mapping"}, 1, 1, &mapping, 0)) return Value::error();
  const ObjectKind k = kind_of(unwrap(mapping));
  if (find_dunder(s, type_of(s, mapping), Dunder::getitem_).is_unbound() || k == ObjectKind::list ||
      k == ObjectKind::tuple)
    return raise_type_error(s, "mappingproxy() argument must be a mapping, not %s", type_name(s, mapping).c_str());
  return make_mapping_proxy(std::move(mapping));
}

Value proxy_repr(Session& s, const Value& v) {
  OURO_TRY(r, repr(s, mapping_of(v)));
  return make_str("mappingproxy(" + std::string(cast<Str>(r)->view()) + ")");
}
Value proxy_str(Session& s, const Value& v) { return str(s, mapping_of(v)); }
Value proxy_get_item(Session& s, const Value& v, const Value& key) { return get_item(s, mapping_of(v), key); }
Value proxy_iter(Session& s, const Value& v) { return iter(s, mapping_of(v)); }
int64_t proxy_length(Session& s, const Value& v) { return length(s, mapping_of(v)); }
int proxy_contains(Session& s, const Value& v, const Value& key) { return contains(s, mapping_of(v), key); }
Value proxy_compare(Session& s, CmpOp op, const Value& a, const Value& b) { return compare(s, op, mapping_of(a), b); }

Value proxy_binary(Session& s, BinOp op, const Value& a, const Value& b) {
  return op == BinOp::or_ ? binary(s, op, behind(a), behind(b)) : Value::not_implemented();
}
Value proxy_inplace(Session& s, BinOp op, Value& a, const Value& b) {
  if (op != BinOp::or_) return Value::not_implemented();
  (void)a, (void)b;
  return raise_type_error(s, "'|=' is not supported by mappingproxy; use '|' instead");
}

// A method of the mapping's.
template <int which>
Value m_method(Session& s, const Args& a) {
  static constexpr const char* kNames[] = {"get", "keys", "values", "items", "copy", "__reversed__"};
  Args rest = a;
  rest.positional = a.positional.subspan(1);
  return call_method(s, mapping_of(a[0]), intern(kNames[which]), rest);
}

constexpr NativeDef kMethods[] = {
    {.name = "get", .fn = m_method<0>, .doc = "Return the value for key if key is in the mapping, else default."},
    {.name = "keys", .fn = m_method<1>, .doc = "a set-like object providing a view on D's keys"},
    {.name = "values", .fn = m_method<2>, .doc = "an object providing a view on D's values"},
    {.name = "items", .fn = m_method<3>, .doc = "a set-like object providing a view on D's items"},
    {.name = "copy", .fn = m_method<4>, .doc = "a shallow copy of D"},
    {.name = "__reversed__", .fn = m_method<5>, .doc = "D.__reversed__() -> reverse iterator"}};
constexpr NativeDef kClassMethods[] = {kClassGetItem};
constexpr TypeSlots kSlots{.binary = proxy_binary,
                           .binary_ops = bit(BinOp::or_),
                           .inplace = proxy_inplace,
                           .inplace_ops = bit(BinOp::or_),
                           .compare = proxy_compare,
                           .ordered = true,
                           .unhashable = true,
                           .repr = proxy_repr,
                           .str = proxy_str,
                           .iter = proxy_iter,
                           .length = proxy_length,
                           .get_item = proxy_get_item,
                           .contains = proxy_contains,
                           .construct = construct};
const TypeDef kDef{.name = "mappingproxy",
                   .kind = ObjectKind::mapping_proxy,
                   .slots = &kSlots,
                   .methods = kMethods,
                   .class_methods = kClassMethods,
                   .subclassable = false,
                   .doc = "Read-only proxy of a mapping."};

}  // namespace

Value make_mapping_proxy(Value mapping) {
  auto* p = new_object<DictView>(ObjectKind::mapping_proxy);
  p->dict = std::move(mapping);
  return Value::steal(p);
}

void register_mapping_proxy(Session& s) {
  if (!s.type(kDef.kind)) define_type(s, kDef);
}

}  // namespace ouro::runtime
