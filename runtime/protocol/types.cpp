// Classes: which class a value has, lookup along the MRO with its caches, built-in classes from their rows, class
// tests.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "runtime/object/interrupt.h"
#include "runtime/object/ops.h"
#include "runtime/protocol/lookup.h"
#include "runtime/protocol/metaclass.h"
#include "runtime/protocol/sequence_operators.h"
#include "runtime/protocol/slot_wrappers.h"

namespace ouro::runtime {

namespace {

struct IteratorTypes {
  std::unordered_map<const IterDef*, Value> by_def;
};

Type* iterator_type(Session& s, const IterDef* def) {
  Value& v = s.state<IteratorTypes>().by_def[def];
  if (v.is_unbound()) {
    auto* t = new_object<Type>(ObjectKind::type);
    v = Value::steal(t);
    Type* base = s.type(ObjectKind::iterator);
    t->name = t->qualname = make_str(def->type_name);
    t->bases = {Value::share(s.object_type())};
    t->base = s.object_type();
    t->solid = t;
    t->def = base->def;
    t->slots = base->slots;
    t->layout = ObjectKind::iterator;
    t->builtin = true;
    t->has_dict = false;
    t->version = s.next_version++;
    t->mro = {t, s.object_type()};
    for (Value& d : t->dunders) d = Value::end();
  }
  return v.as<Type>();
}

void add_wrapper(void* context, const NativeDef& row) {
  Type* t = static_cast<Type*>(context);
  if (t->def->kind == ObjectKind::type && row.name == "__getitem__") return;  // list[int]: __class_getitem__'s
  t->names.add(intern(row.name), make_native(row, Value(), t));
}

}  // namespace

Type* type_of(Session& s, const Value& v) {
  ObjectKind k = kind_of(v);
  switch (k) {
    case ObjectKind::instance:
    case ObjectKind::exception:
      return v.as<Instance>()->type;
    case ObjectKind::opaque:
      return v.as<Opaque>()->type;
    case ObjectKind::type:
      return metaclass_of(s, v.as<Type>());
    case ObjectKind::iterator:
      if (v.as<Iterator>()->def) return iterator_type(s, v.as<Iterator>()->def);
      break;
    default:
      break;
  }
  Type* t = s.type(k);
  return t ? t : s.object_type();
}

std::string type_name(Session& s, const Value& v) { return std::string(type_of(s, v)->text()); }

std::string class_path(Session& s, const Value& v) { return std::string(type_of(s, v)->qualname.as<Str>()->view()); }

bool is_subtype(const Type* t, const Type* of) {
  if (t == of) return true;
  for (const Type* m : t->mro)
    if (m == of) return true;
  return false;
}
bool is_a(Session& s, const Value& v, const Type* of) { return is_subtype(type_of(s, v), of); }

Type* define_type(Session& s, const TypeDef& def) {
  auto* t = new_object<Type>(ObjectKind::type);
  t->name = make_str(def.name);
  t->qualname = t->name;
  t->def = &def;
  t->builtin = true;
  t->layout = def.kind;
  t->slots = def.slots;
  t->has_dict = false;
  t->version = s.next_version++;
  for (Value& d : t->dunders) d = Value::end();
  t->mro.push_back(t);
  if (def.kind != ObjectKind::instance) {
    Type* base = s.type(def.base);
    t->bases.push_back(Value::share(base));
    t->base = base;
    t->solid = t;
    base->subclasses.push_back(t);
    for (Type* m : base->mro) t->mro.push_back(m);
    if (!t->slots) t->slots = base->slots;
  }
  static const TypeSlots kNone;
  if (!t->slots) t->slots = &kNone;
  t->sequence_operators = sequence_operators(*t->slots);
  Type*& at = s.types[static_cast<int>(def.kind)];
  if (!at) {
    at = t;
    s.slots[static_cast<int>(def.kind)] = t->slots;
  }
  return t;
}

// A built-in class's namespace is made when it is first looked at, so that a session starts quickly.
void ready_type(Session& s, Type* t) {
  if (t->ready || !t->builtin || !t->def) {
    t->ready = true;
    return;
  }
  MemoryUnlimited unlimited(s.memory);  // whole or not at all
  t->ready = true;
  const TypeDef& def = *t->def;
  for (const NativeDef& row : def.methods) t->names.add(intern(row.name), make_native(row, Value(), t));
  auto wrapped = [&](const NativeDef& row, auto* object, ObjectKind kind) {
    auto* x = new_object<std::remove_pointer_t<decltype(object)>>(kind);
    x->function = make_native(row);
    t->names.add(intern(row.name), Value::steal(x));
  };
  for (const NativeDef& row : def.class_methods)
    wrapped(row, static_cast<ClassMethod*>(nullptr), ObjectKind::class_method);
  for (const NativeDef& row : def.static_methods)
    wrapped(row, static_cast<StaticMethod*>(nullptr), ObjectKind::static_method);
  for (const GetSetDef& row : def.getset) {
    auto* g = new_object<GetSet>(ObjectKind::get_set);
    g->def = &row;
    g->owner = t;
    t->names.add(intern(row.name), Value::steal(g));
  }
  bool inherits = t->mro.size() > 1 && t->mro[1]->slots == t->slots;
  if (!inherits) for_each_slot_wrapper(*t->slots, def.kind == ObjectKind::instance, add_wrapper, t);
  static const Symbol hash_name = intern("__hash__"), doc = intern("__doc__"), module = intern("__module__");
  if (t->slots->unhashable && !inherits) t->names.set(hash_name, Value::none());
  t->names.add(doc, def.doc.empty() ? Value::none() : make_str(def.doc));
  t->names.add(module, make_str(def.module));
}

const Value* own_type_name(Session& s, Type* t, Symbol name) {
  if (!t->ready) ready_type(s, t);
  return t->names.find(name);
}

// What lookups found, by the class's version (which moves with every change of it or a base) and the name: CPython's
// method cache. The values are borrowed: they stay where they are as long as the version does.
struct LookupCache {
  struct Entry {
    uint32_t version = 0;
    Symbol name{};
    Object* object = nullptr;  // null: there is no such name
  };
  Entry entries[1024];
};

Value type_lookup(Session& s, Type* t, Symbol name) {
  if (t->version == 0) {  // being made
    for (Type* m : t->mro)
      if (const Value* v = own_type_name(s, m, name)) return *v;
    return Value();
  }
  if (!s.lookup_cache) s.lookup_cache = std::make_shared<LookupCache>();
  LookupCache::Entry& e = s.lookup_cache->entries[(t->version * 31 + name.id()) % 1024];
  if (e.version == t->version && e.name == name) return e.object ? Value::share(e.object) : Value();
  for (Type* m : t->mro)
    if (const Value* v = own_type_name(s, m, name)) {
      if (v->is_object()) e = {t->version, name, v->object()};
      return *v;
    }
  e = {t->version, name, nullptr};
  return Value();
}

const Value& find_dunder(Session& s, Type* t, Dunder d) {
  Value& cached = t->dunders[static_cast<int>(d)];
  if (cached.is_end()) cached = type_lookup(s, t, dunder_symbol(d));
  return cached;
}

bool is_overridden(const Value& m, Dunder d) {
  if (m.is_unbound()) return false;
  Native* n = cast_exact<Native>(m);
  return !n || !takes_receiver(n) || n->def->name != dunder_symbol(d).text();
}

// Depth first; the order in which classes are left, backwards. Lines of classes may be long, and diamonds may stand on
// diamonds.
std::vector<Type*> with_subclasses(Type* t) {
  struct Visit {
    Type* of;
    size_t next;
  };
  std::vector<Visit> path{{t, 0}};
  std::vector<Type*> left;
  std::unordered_set<Type*> seen{t};
  while (!path.empty()) {
    auto& [of, next] = path.back();
    if (next < of->subclasses.size()) {
      Type* const below = of->subclasses[next++];
      if (seen.insert(below).second) path.push_back({below, 0});
    } else {
      left.push_back(of);
      path.pop_back();
    }
  }
  std::reverse(left.begin(), left.end());
  return left;
}

static void forget_lookups(Session& s, Type* t) {
  t->version = s.next_version++;
  for (int d = 0; d < kDunderCount; ++d) t->dunders[d] = Value::end();
  auto scripted = [&](Dunder d) { return is_overridden(find_dunder(s, t, d), d); };
  t->has_getattr = scripted(Dunder::getattr_);
  t->has_getattribute = scripted(Dunder::getattribute_);
  t->has_setattr = scripted(Dunder::setattr_);
  t->has_del = scripted(Dunder::del_);
  s.any_del |= t->has_del;
  t->sequence_operators = sequence_operators(s, t);
}

void type_changed(Session& s, Type* t) {
  if (t->subclasses.empty()) return forget_lookups(s, t);
  for (Type* of : with_subclasses(t)) forget_lookups(s, of);
}

Value call_dunder(Session& s, const Value& v, Dunder d, std::initializer_list<Value> args) {
  Type* t = type_of(s, v);
  Value m = find_dunder(s, t, d);
  if (m.is_unbound()) return m;
  ObjectKind k = kind_of(m);
  if (k == ObjectKind::function || (k == ObjectKind::native && takes_receiver(m.as<Native>()))) {
    Value all[4];
    size_t n = 0;
    all[n++] = v;
    for (const Value& a : args) all[n++] = a;
    return call(s, m, std::span<const Value>(all, n));
  }
  if (m.is_none()) return raise_type_error(s, "'NoneType' object is not callable");
  OURO_TRY(bound, bind_descriptor(s, m, v, t));
  return call(s, bound, std::span<const Value>(args.begin(), args.size()));
}

namespace {

// The classes that a test is against: a class, a tuple of them (nested), or a union made with `|`.
// An object may answer for itself (`hook`): typing's List does.
template <class F>
int any_class(Session& s, const Value& cls, const Value& of, Dunder hook, const char* complaint, F&& test) {
  if (Type* t = cast_exact<Type>(cls)) return test(t);
  if (Tuple* tuple = cast_exact<Tuple>(cls)) {
    DepthGuard depth(s, hook == Dunder::instancecheck_ ? " in __instancecheck__" : " in __subclasscheck__");
    if (!depth.ok()) return -1;
    poll_interrupt(s);
    for (size_t i = 0; i < tuple->size; ++i)
      if (int r = any_class(s, (*tuple)[i], of, hook, complaint, test)) return r;
    return 0;
  }
  if (auto* alias = cast_exact<GenericAlias>(cls)) {
    if (alias->origin.is_none()) return any_class(s, alias->args, of, hook, complaint, test);
    raise_type_error(s, "%s argument 2 cannot be a parameterized generic",
                     hook == Dunder::instancecheck_ ? "isinstance()" : "issubclass()");
    return -1;
  }
  if (cast_exact<Instance>(cls))
    if (Value r = call_dunder(s, cls, hook, {of}); !r.is_unbound()) return r.is_error() ? -1 : truth(s, r);
  raise_type_error(s, "%s", complaint);
  return -1;
}

int class_hook(Session& s, Type* cls, const Value& v, Dunder d) {
  if (cls->builtin) return -2;
  if (asks_metaclass(s, cls, d)) {
    Value r = call_dunder(s, Value::share(cls), d, {v});
    return r.is_error() ? -1 : truth(s, r);
  }
  const Value hook = find_dunder(s, cls, d);
  if (hook.is_unbound() || !cast_exact<ClassMethod>(hook)) return -2;
  Value bound = bind_descriptor(s, hook, Value(), cls);
  if (bound.is_error()) return -1;
  Value r = call(s, bound, {v});
  return r.is_error() ? -1 : truth(s, r);
}

}  // namespace

namespace {

// What an object says its class is, if that is not what it is of: proxies answer for what they stand for.
Value claimed_class(Session& s, const Value& v) {
  static const Symbol name = intern("__class__");
  Type* t = type_of(s, v);
  if (t->builtin || kind_of(v) == ObjectKind::type) return {};
  if (!t->has_getattribute && cast_exact<GetSet>(type_lookup(s, t, name))) return {};
  return lookup_attr(s, v, name);
}

}  // namespace

int is_instance(Session& s, const Value& v, const Value& cls) {
  return any_class(s, cls, v, Dunder::instancecheck_, "isinstance() arg 2 must be a type, a tuple of types, or a union",
                   [&](Type* t) {
                     if (type_of(s, v) == t) return 1;
                     if (is_a(s, v, t) && !asks_metaclass(s, t, Dunder::instancecheck_)) return 1;
                     int hook = class_hook(s, t, v, Dunder::instancecheck_);
                     if (hook != -2) return hook;
                     const Value claimed = claimed_class(s, v);
                     Type* of = cast_exact<Type>(claimed);
                     return claimed.is_error() ? -1 : static_cast<int>(of && is_subtype(of, t));
                   });
}

int is_subclass(Session& s, const Value& c, const Value& cls) {
  Type* sub = cast_exact<Type>(c);
  return any_class(
      s, cls, c, Dunder::subclasscheck_,
      sub ? "issubclass() arg 2 must be a class, a tuple of classes, or a union" : "issubclass() arg 1 must be a class",
      [&](Type* t) {
        if (!sub) {
          raise_type_error(s, "issubclass() arg 1 must be a class");
          return -1;
        }
        if (is_subtype(sub, t) && !asks_metaclass(s, t, Dunder::subclasscheck_)) return 1;
        int hook = class_hook(s, t, c, Dunder::subclasscheck_);
        return hook == -2 ? 0 : hook;
      });
}

namespace {

void delete_shapes(Shape* root) {
  std::vector<Shape*> stack{root};
  while (!stack.empty()) {
    Shape* x = stack.back();
    stack.pop_back();
    for (auto& [name, next] : x->transitions) stack.push_back(next);
    delete x;
  }
}

}  // namespace

Type::~Type() {
  if (shape && shape->type == this) delete_shapes(shape);
  for (Value& b : bases)
    if (Type* t = cast_exact<Type>(b)) std::erase(t->subclasses, this);
}

}  // namespace ouro::runtime
