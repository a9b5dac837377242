// Attributes, items and places of abstract values.
#include <algorithm>

#include <fmt/format.h>

#include "jit/specialiser.h"
#include "runtime/autodiff/autodiff.h"
#include "runtime/protocol/lookup.h"
#include "runtime/protocol/metaclass.h"

namespace ouro::jit {

namespace prim = ir::prim;
using runtime::kind_of;
using runtime::ObjectKind;

// What the class of `a` says, as a known value or closure: unbound if there is nothing.
AVal Specialiser::class_lookup(const AVal& a, Symbol name) {
  Value cls = class_of(a);
  return type_attr(cls, name);
}

AVal Specialiser::type_attr(const Value& cls, Symbol name) {
  Value v = runtime::type_lookup(session, cls.as<runtime::Type>(), name);
  if (v.is_unbound()) return {};
  if (kind_of(v) == ObjectKind::instance) {
    const ObjectKind inside = runtime::type_of(session, v)->layout;
    if (inside == ObjectKind::property || inside == ObjectKind::static_method || inside == ObjectKind::class_method)
      abandon(Reason::class_hook, "an object of a class that extends a built-in descriptor");
  }
  AccessNode n;
  n.step = AccessNode::Step::class_attr;
  n.object = cls;
  n.name = name;
  return wrap(v, n);
}

Value Specialiser::class_of(const AVal& a) {
  const bool boxed = a.is(AKind::dynamic) && !a.type;
  if (boxed || (a.is(AKind::ref) && read(a.heap).any_class))
    abandon(Reason::unknown_object, "the class of a boxed value");
  switch (a.kind) {
    case AKind::known:
      return Value::share(runtime::type_of(session, a.known));
    case AKind::tuple:
      if (!a.extends_tuple()) return Value::share(session.type(ObjectKind::tuple));
      if (static const Symbol name = intern("__class__"); is_changeable(name))
        abandon(Reason::branches, "the class of an object that may be another");
      return a.known;
    case AKind::closure:
      return Value::share(session.type(ObjectKind::function));
    case AKind::bound: {
      const AVal& f = a.items()[0];
      const bool native = f.is(AKind::known) && kind_of(f.known) == ObjectKind::native;
      return Value::share(session.type(native ? ObjectKind::native : ObjectKind::bound_method));
    }
    case AKind::slice:
      return Value::share(session.type(ObjectKind::slice));
    case AKind::view:
      return a.known;
    case AKind::dynamic:
      switch (a.type->kind) {
        case ir::TypeKind::tensor:
          return Value::share(session.type(ObjectKind::tensor));
        case ir::TypeKind::integer:
          return Value::share(session.type(ObjectKind::integer));
        case ir::TypeKind::floating:
          return Value::share(session.type(ObjectKind::floating));
        case ir::TypeKind::boolean:
          return Value::share(session.type(ObjectKind::boolean));
        case ir::TypeKind::string:
          return Value::share(session.type(ObjectKind::str));
        default:
          abandon(Reason::computed_test, "the class of a computed value");
      }
    case AKind::ref: {
      const AObject& o = read(a.heap);
      switch (o.kind) {
        case AObject::Kind::instance:
          return o.cls;
        case AObject::Kind::list:
          return Value::share(session.type(ObjectKind::list));
        case AObject::Kind::dict:
          return Value::share(session.type(ObjectKind::dict));
        case AObject::Kind::record:
          return Value::share(session.type(ObjectKind::record));
        case AObject::Kind::set:
          return Value::share(session.type(ObjectKind::set));
        case AObject::Kind::iterator:
          return class_of_iterator(o);
        default:
          abandon(Reason::internal, "the class of what only the compiler has");
      }
    }
    default:
      abandon(Reason::unknown_object, "the class of a value that is not known");
  }
}

Value Specialiser::class_of_iterator(const AObject& o) {
  using Iter = AObject::Iter;
  if (o.iter == Iter::zip) return Value::share(session.type(ObjectKind::zip));
  if (o.iter == Iter::enumerate) return Value::share(session.type(ObjectKind::enumerate));
  if (o.iter == Iter::map) return Value::share(session.type(ObjectKind::map));
  const Value like = o.iter == Iter::list    ? runtime::make_list()
                     : o.iter == Iter::tuple ? runtime::make_tuple({})
                     : o.iter == Iter::range ? runtime::make_range(0, 0, 1)
                                             : Value();
  if (like.is_unbound() || !o.step.is(AKind::unbound) != (o.iter == Iter::range))
    abandon(Reason::unknown_object, "the class of an iterator");
  const Value it = runtime::iter(session, like);
  if (it.is_error()) abandon_raises();
  return Value::share(runtime::type_of(session, it));
}

AVal Specialiser::bind(const AVal& f, const AVal& self) { return AVal::compound(AKind::bound, {f, self}); }

// A class attribute as seen through an instance (descriptors).
AVal Specialiser::bind_descriptor(const AVal& d, const AVal& self) {
  if (d.is(AKind::closure)) return bind(d, self);
  if (!d.is(AKind::known)) return d;
  if (auto* p = runtime::cast_exact<runtime::Property>(d.known)) {
    if (p->get.is_unbound() || p->get.is_none()) abandon(Reason::raises, "a property without a getter");
    return call(wrapped_function(d), {self});
  }
  if (runtime::cast_exact<runtime::StaticMethod>(d.known)) return wrapped_function(d);
  if (runtime::cast_exact<runtime::ClassMethod>(d.known)) return bind(wrapped_function(d), AVal::of(class_of(self)));
  if (auto* n =
          runtime::cast_exact<runtime::Native>(d.known))  // a function of a module that stands in a class is no method
    return n->owner && n->self.is_unbound() ? bind(d, self) : d;
  if (runtime::cast_exact<runtime::GetSet>(d.known) || runtime::cast_exact<runtime::Member>(d.known))
    return AVal::marker(AKind::poison);
  return d;
}

// A function that hangs on something immutable: no path of its own is needed when it captures nothing.
AVal Specialiser::concrete_function(const Value& v) {
  auto* f = runtime::cast_exact<runtime::Function>(v);
  if (!f) return AVal::of(v);
  AccessNode n;
  n.step = AccessNode::Step::class_attr;
  auto parts = std::make_shared<AParts>();
  parts->code = f->code;
  parts->function = v;
  parts->globals = f->globals;
  if (!f->captures.empty()) {
    for (const Value& c : f->captures) {
      if (runtime::cast_exact<runtime::Cell>(c) == nullptr) {
        parts->items.push_back(AVal::of(c));
        continue;
      }
      AObject cell;
      cell.kind = AObject::Kind::cell;
      const Value& inside = c.as<runtime::Cell>()->value;
      if (kind_of(inside) != ObjectKind::type) abandon(Reason::class_hook, "a descriptor's function with captures");
      cell.slots.push_back({.value = AVal::of(inside)});
      parts->items.push_back(AVal::of_heap(allocate(std::move(cell))));
    }
  }
  if (auto* d = runtime::cast_exact<runtime::Tuple>(f->defaults))
    for (size_t i = 0; i < d->size; ++i) parts->defaults.push_back(AVal::of((*d)[i]));
  if (auto* d = runtime::cast_exact<runtime::Dict>(f->kwdefaults))
    for (uint32_t i = 0; i < d->filled; ++i)
      if (!d->entries[i].key.is_unbound())
        parts->kwdefaults.push_back({keyword_name(AVal::of(d->entries[i].key)), AVal::of(d->entries[i].value)});
  AVal out = AVal::marker(AKind::closure);
  out.parts = std::move(parts);
  return out;
}

AVal Specialiser::wrapped_function(const AVal& d) {
  AccessNode n;
  n.step = AccessNode::Step::wrapped;
  n.parent = d.node;
  const Value function = function_in(d.known);
  auto* f = runtime::cast_exact<runtime::Function>(function);
  return d.node != kNoNode && f && !f->captures.empty() ? wrap(function, n) : concrete_function(function);
}

AVal Specialiser::get_attr(const AVal& a, Symbol name) {
  AVal v = lookup_attr(a, name);
  if (v.is(AKind::unbound)) abandon(Reason::raises, fmt::format("attribute {} is not there", name.text()));
  return v;
}

// Is v, an attribute of this known object, data of it that a script or time may change? Methods of built-in classes,
// what values that nobody can change say of themselves, and names of modules and classes (which are guarded) are not.
static bool may_change(const Value& object, const Value& v) {
  const ObjectKind k = kind_of(object);
  if (k != ObjectKind::opaque && k != ObjectKind::function && k != ObjectKind::exception && k != ObjectKind::generator)
    return false;
  return !runtime::cast_exact<runtime::Native>(v) && !runtime::cast_exact<runtime::BoundMethod>(v);
}

// Does a metaclass that a script made say what this attribute of the class is?
static bool of_metaclass(runtime::Session& s, runtime::Type* t, Symbol name) {
  if (!runtime::has_metaclass(t)) return false;
  runtime::Type* m = runtime::metaclass_of(s, t);
  if (m->has_getattribute) return true;
  const Value of_class = runtime::type_lookup(s, t, name), of_meta = runtime::type_lookup(s, m, name);
  if (of_class.is_unbound()) return m->has_getattr || !of_meta.is_unbound();
  return runtime::is_data_descriptor(s, of_meta) && kind_of(of_meta) != ObjectKind::get_set;
}

// An attribute that was found in a class: read again where it is data that the interpreter may have set.
AVal Specialiser::class_data(const Value& cls, Symbol name, AVal found) {
  const bool data =
      found.is(AKind::dynamic) || found.is(AKind::tuple) || found.is(AKind::ref) ||
      (found.is(AKind::known) && (!found.known.is_object() || runtime::cast_exact<runtime::Str>(found.known)));
  if (!data || !is_changeable(name)) return found;
  return AVal::dynamic(code.let(prim::attr_get, {pool(cls)}, name.id(), nullptr, span), nullptr);
}

AVal Specialiser::lookup_attr(const AVal& a, Symbol name) {
  std::string_view n = name.text();
  if (a.is(AKind::super)) return super_attr(a, name);
  if (is_tensor(a)) return tensor_attr(a, name);
  if (a.is(AKind::known)) {
    if (auto* t = runtime::cast_exact<runtime::Type>(a.known)) {
      if (of_metaclass(session, t, name))
        abandon(Reason::class_hook, fmt::format("attribute {}, of which a metaclass says what it is", n));
      AVal v = type_attr(a.known, name);
      if (v.is(AKind::known) && runtime::cast_exact<runtime::ClassMethod>(v.known)) return bind(wrapped_function(v), a);
      if (v.is(AKind::known) && runtime::cast_exact<runtime::StaticMethod>(v.known)) return wrapped_function(v);
      if (is_instance(v) && !class_lookup(v, intern("__get__")).is(AKind::unbound))
        return by_protocol("load_of_class", prim::attr_get, {a, AVal::of(session.str(name))}, {a}, name.id());
      if (!v.is(AKind::unbound) && !(v.is(AKind::known) && runtime::cast_exact<runtime::GetSet>(v.known)))
        return class_data(a.known, name, v);
    }
    if (auto* m = runtime::cast_exact<runtime::Module>(a.known)) {
      const Value* slot = m->names.find(name);
      if (heap_[module_object(a.known)]->find(name) || (slot && !slot->is_unbound())) return global(a.known, name);
    }
    Value v = runtime::lookup_attr(session, a.known, name);
    if (v.is_error()) {
      session.pending = Value();
      abandon(Reason::raises, "an attribute that raises");
    }
    if (v.is_unbound()) return {};
    ObjectKind k = kind_of(v);
    if (k == ObjectKind::tensor || k == ObjectKind::list || k == ObjectKind::dict || k == ObjectKind::instance)
      abandon(Reason::unknown_object, fmt::format("attribute {} of an object that is not followed", n));
    if (may_change(a.known, v)) return boxed(prim::attr_get, {a}, name.id());
    return AVal::of(v);
  }
  if (is_instance(a)) {
    if (a.is(AKind::ref) && read(a.heap).poisoned) abandon_torn(read(a.heap), "an object");
    auto* t = class_of_instance(a);
    AVal cls_attr = class_lookup(a, name);
    if (t->has_getattribute || is_instance(cls_attr)) return loaded_by_text(a, name);
    // Data descriptors of the class come first.
    if (cls_attr.is(AKind::known)) {
      if (runtime::cast_exact<runtime::Property>(cls_attr.known))  // whose AttributeError __getattr__ may answer
        return t->has_getattr ? loaded_by_text(a, name) : bind_descriptor(cls_attr, a);
      if (runtime::cast_exact<runtime::Member>(cls_attr.known)) return own_attribute(a, name);
    }
    AVal own = own_attribute(a, name);
    if (!own.is(AKind::unbound)) {
      if (own.is(AKind::poison)) abandon_parted(own, fmt::format("attribute {} differs between branches", n));
      return own;
    }
    if (n == "__class__") return AVal::of(class_of(a));
    if (!cls_attr.is(AKind::unbound)) {
      AVal bound = bind_descriptor(class_data(class_of(a), name, cls_attr), a);
      if (bound.is(AKind::poison)) abandon(Reason::unknown_object, fmt::format("attribute {}", n));
      return bound;
    }
    return t->has_getattr ? loaded_by_text(a, name) : AVal{};
  }
  if (a.is(AKind::ref) && kind_at(a.heap) == AObject::Kind::record) {
    const AObject& o = read(a.heap);
    for (const AObject::Slot& s : o.slots)
      if (s.name == name) return s.value;
    if (!runtime::autodiff::is_method_of_parts(n)) return {};
    const AVal parts = parts_of_gradient(a);
    return parts.is(AKind::ref) && kind_at(parts.heap) == AObject::Kind::dict ? lookup_attr(parts, name) : AVal{};
  }
  if (a.is(AKind::closure)) {
    // One that exists outside may have been given another name, or may be at any time.
    const bool known_outside = !a.parts->function.is_unbound() || (a.heap != kNoHeap && read(a.heap).escaped);
    if ((n == "__name__" || n == "__qualname__" || n == "__doc__") && known_outside)
      return boxed(prim::attr_get, {a}, name.id());
    if (is_rule(*a.parts->code)) abandon(Reason::internal, "the name of what stands for a method under grad");
    if (n == "__name__" || n == "__qualname__")
      return AVal::of(runtime::make_str(n == "__name__" ? a.parts->code->name.text() : a.parts->code->qualname.text()));
    if (n == "__doc__") {
      const ir::ConstId doc = a.parts->code->doc;
      if (doc == ir::ConstId::none) return AVal::of(Value::none());
      return AVal::of(runtime::make_str(a.parts->code->constant(doc).text));
    }
    if (!can_box(a, {}, {})) abandon(Reason::unknown_object, fmt::format("attribute {} of a function", n));
    return boxed(prim::attr_get, {a}, name.id());
  }
  if (a.is(AKind::bound) && n == "__self__") return a.items()[1];
  if (a.is(AKind::bound) && n == "__func__") return a.items()[0];
  if (a.is(AKind::dynamic) && !a.type) return boxed(prim::attr_get, {a}, name.id());
  // Methods of built-in containers and numbers.
  Value cls = class_of(a);
  Value v = runtime::type_lookup(session, cls.as<runtime::Type>(), name);
  if (n == "__class__") return AVal::of(cls);
  if (v.is_unbound())
    return a.is(AKind::bound) ? lookup_attr(a.items()[0], name) : AVal{};  // a method's function has it
  if (kind_of(v) != ObjectKind::native) return boxed(prim::attr_get, {a}, name.id());
  return bind(AVal::of(v), a);
}

AVal Specialiser::super_attr(const AVal& a, Symbol name) {
  Value start = need_constant(a.items()[0], "is super's class");
  const AVal& self = a.items()[1];
  Value cls = self.is(AKind::known) && runtime::cast_exact<runtime::Type>(self.known) ? self.known : class_of(self);
  auto* t = cls.as<runtime::Type>();
  bool after = false;
  for (runtime::Type* m : t->mro) {
    if (after) {
      if (Value* v = m->names.find(name)) {
        if (kind_of(*v) == ObjectKind::instance &&
            !runtime::type_lookup(session, runtime::type_of(session, *v), intern("__get__")).is_unbound())
          abandon(Reason::class_hook, "a descriptor that super() finds");
        AVal d = concrete_function(*v);
        if (!self.is(AKind::known) || !self.known.same(cls)) return bind_descriptor(d, self);
        // Of a class: as an attribute of the class itself.
        if (auto* c = runtime::cast_exact<runtime::ClassMethod>(*v)) return bind(concrete_function(c->function), self);
        if (auto* m = runtime::cast_exact<runtime::StaticMethod>(*v)) return concrete_function(m->function);
        return d;
      }
    }
    if (m == start.as<runtime::Type>()) after = true;
  }
  return {};
}

void Specialiser::set_attr(const AVal& a, Symbol name, AVal v) {
  if (v.is(AKind::poison)) abandon_parted(v, "a value that differs between branches is stored");
  if (a.is(AKind::dynamic) && !a.type) {
    boxed(prim::attr_set, {a, v}, name.id());
    return;
  }
  if (a.is(AKind::ref) && kind_at(a.heap) == AObject::Kind::record) {
    AObject& o = write(a.heap);
    if (AObject::Slot* s = o.find(name))
      s->value = std::move(v);
    else
      o.slots.push_back({.name = name, .value = std::move(v)});
    return;
  }
  if (a.is(AKind::closure) && can_box(a, {}, {})) {
    boxed(prim::attr_set, {a, v}, name.id());
    return;
  }
  if (!a.is(AKind::ref) || kind_at(a.heap) != AObject::Kind::instance)
    abandon(Reason::unknown_object, fmt::format("assignment to attribute {}", name.text()));
  auto* t = read(a.heap).cls.as<runtime::Type>();
  AVal d = class_lookup(a, name);
  if (t->has_setattr || is_instance(d)) {
    by_protocol("store", prim::attr_set, {a, AVal::of(session.str(name)), v}, {a, v}, name.id());
    return;
  }
  if (d.is(AKind::known)) {
    if (auto* p = runtime::cast_exact<runtime::Property>(d.known)) {
      call(concrete_function(p->set), {a, v});
      return;
    }
    if (kind_of(d.known) == ObjectKind::get_set) abandon(Reason::language, "assignment to a computed attribute");
  }
  store_slot(a.heap, name, std::move(v));
}

AVal Specialiser::loaded_by_text(const AVal& a, Symbol name) {
  return by_protocol("load", prim::attr_get, {a, AVal::of(session.str(name))}, {a}, name.id());
}

void Specialiser::store_slot(HeapId id, Symbol name, AVal v) {
  if (v.is(AKind::poison)) abandon_parted(v, "a value that differs between branches is stored");
  if (read(id).poisoned) abandon_torn(read(id), "an object");
  auto* t = read(id).cls.as<runtime::Type>();
  if (!t->has_dict && kind_of(runtime::type_lookup(session, t, name)) != ObjectKind::member)
    abandon(Reason::raises, fmt::format("attribute {} of an object without a __dict__", name.text()));
  // What was there is not asked of an object that the interpreter may have changed: it may be nothing.
  if (!read(id).stale) load_slot(id, name);
  assign(id, name, std::move(v));
}

bool Specialiser::is_computed_index(const AVal& key) const {
  return key.is(AKind::dynamic) && key.type == ir::types::integer() && !may_pin(key);
}

// One of several numbers, texts or tensors of one type, by a number that is known when the call runs. Unbound: they
// differ.
AVal Specialiser::item_among(const std::vector<AVal>& items, const AVal& index, bool of_list) {
  const ir::Type* type = items.empty() ? nullptr : type_of(items[0]);
  if (!type || type->kind == ir::TypeKind::none ||
      !std::ranges::all_of(items, [&](const AVal& v) { return type_of(v) == type; }))
    return {};
  std::vector<ir::Atom> atoms;
  for (const AVal& v : items) atoms.push_back(atom(v));
  const ir::NameId all = code.let(of_list ? prim::list : prim::tuple, atoms, 0, nullptr, span);
  return emit(prim::item_get, {AVal::dynamic(all, nullptr), index}, type);
}

// A value whose type is not known, in a key of a tensor.
static bool has_unknown(const AVal& key) {
  if (key.is(AKind::tuple) || key.is(AKind::slice)) return std::ranges::any_of(key.items(), has_unknown);
  return key.is(AKind::dynamic) && !key.type;
}

AVal Specialiser::get_item(const AVal& from, const AVal& at) {
  const AVal a = parts_of_gradient(as_value(from));
  const bool keyed = a.is(AKind::ref) && kind_at(a.heap) == AObject::Kind::dict;
  const AVal key = keyed || is_instance(a) ? at : as_value(at);
  if (is_tensor(a)) return has_unknown(key) ? boxed(prim::item_get, {a, key}) : tensor_index(a, key);
  if (auto x = concrete(a))
    if (auto k = concrete(key)) {
      Value v = runtime::get_item(session, *x, *k);
      if (v.is_error()) {
        session.pending = Value();
        abandon(Reason::raises, "an operation that raises");
      }
      return AVal::of(v);
    }
  bool is_list = a.is(AKind::ref) && kind_at(a.heap) == AObject::Kind::list;
  if (a.extends_tuple() && overrides(a, "__getitem__")) return by_protocol("item", prim::item_get, {a, key}, {a, key});
  if (a.is(AKind::tuple) || is_list || (a.is(AKind::known) && runtime::cast_exact<runtime::Tuple>(a.known))) {
    if (is_list && read(a.heap).poisoned) abandon_torn(read(a.heap), "a list");
    if (key.is(AKind::slice)) {
      std::vector<AVal> items = items_of(a, "is indexed");
      auto sl = concrete_slice(key);
      int64_t start, stop, step;
      int64_t n = runtime::slice_indices(session, *sl.as<runtime::Slice>(), static_cast<int64_t>(items.size()), start,
                                         stop, step);
      if (n < 0) abandon(Reason::raises, "an operation that raises");
      std::vector<AVal> out;
      for (int64_t i = 0; i < n; ++i) out.push_back(items[static_cast<size_t>(start + i * step)]);
      return is_list ? new_list(std::move(out)) : AVal::tuple(std::move(out));
    }
    const int64_t n = length(a).known.as_int();
    if (is_computed_index(key))
      if (AVal chosen = item_among(items_of(a, "is indexed"), key, is_list); !chosen.is(AKind::unbound)) return chosen;
    int64_t i = need_int(key, "is an index");
    if (i < 0) i += n;
    if (i < 0 || i >= n) abandon(Reason::raises, "index out of range");
    const auto at = static_cast<size_t>(i);
    return is_list ? read(a.heap).items[at] : a.is(AKind::tuple) ? a.items()[at] : items_of(a, "is indexed")[at];
  }
  if (a.is(AKind::ref) && kind_at(a.heap) == AObject::Kind::dict) {
    int i = dict_position(a.heap, key);
    if (i < 0) abandon(Reason::raises, "KeyError");
    return read(a.heap).items[static_cast<size_t>(i)];
  }
  if (is_instance(a)) return by_protocol("item", prim::item_get, {a, key}, {a, key});
  return boxed(prim::item_get, {a, key});
}

// The key of a dict or the item of a set that is looked up: itself, or one that is equal.
bool Specialiser::is_key(const AVal& key, const Value& looked_up) {
  if (key.known.same(looked_up)) return true;
  const int equal = runtime::equals(session, key.known, looked_up);
  if (equal < 0) {
    session.pending = Value();
    abandon(Reason::raises, "keys that cannot be compared");
  }
  return equal == 1;
}

int Specialiser::dict_position(HeapId id, const AVal& key) {
  if (read(id).poisoned) abandon_torn(read(id), "a dict");
  Value k = need_key(key, "is a key");
  if (read(id).outside()) stays_inside(k);  // there it stands under another number
  return key_position(read(id).keys, k);
}

int Specialiser::key_position(const Keys<AVal>& keys, const Value& looked_up) {
  auto hash = [&](const Value& v) {
    int64_t h = 0;
    if (!runtime::hash(session, v, h)) {
      session.pending = Value();
      abandon(Reason::raises, "a key that has no hash");
    }
    return static_cast<size_t>(h);
  };
  return keys.find(
      hash(looked_up), [&](const AVal& key) { return hash(key.known); },
      [&](const AVal& key) { return is_key(key, looked_up); });
}

void Specialiser::set_item(const AVal& a, const AVal& key, AVal v) {
  if (a.is(AKind::ref)) {
    if (read(a.heap).poisoned) abandon_torn(read(a.heap), "an object");
    const AObject::Kind kind = kind_at(a.heap);
    if (kind == AObject::Kind::list) {
      if (key.is(AKind::slice)) abandon(Reason::container, "assignment to a slice of a list");
      int64_t i = need_int(key, "is an index");
      AObject& o = change(a.heap);
      if (i < 0) i += static_cast<int64_t>(o.items.size());
      if (i < 0 || i >= static_cast<int64_t>(o.items.size())) abandon(Reason::raises, "index out of range");
      o.items.edit(static_cast<size_t>(i)) = std::move(v);
      return;
    }
    if (kind == AObject::Kind::dict) {
      int i = dict_position(a.heap, key);
      AObject& w = change(a.heap);
      if (i >= 0) {
        w.items.edit(static_cast<size_t>(i)) = std::move(v);
      } else {
        w.keys.push_back(AVal::of(need_key(key, "is a key")));
        w.items.push_back(std::move(v));
      }
      return;
    }
    if (kind == AObject::Kind::instance) {
      by_protocol("set_item", prim::item_set, {a, key, v}, {a, key, v});
      return;
    }
  }
  if (a.is(AKind::dynamic) && !a.type) {
    boxed(prim::item_set, {a, key, v});
    return;
  }
  abandon(Reason::container, "assignment to an item");
}

// A write to a place (RULES C16): walk down, change the innermost tensor or container, put tensors back on the way up.
AVal Specialiser::update_path(const AVal& root, const ir::PlacePath& path, size_t step, const std::vector<AVal>& items,
                              size_t item, const AVal& value) {
  if (step == path.steps.size()) {
    AVal v = path.augmented ? binary(ir::in_place_form(path.in_place), root, value) : value;
    return v;
  }
  const ir::PlacePath::Step& st = path.steps[step];
  bool last = step + 1 == path.steps.size();
  if (!st.is_item) {
    if (last && !path.augmented) {
      set_attr(root, st.attr, value);
      return root;
    }
    AVal inner = get_attr(root, st.attr);
    if (!last && inner.is(AKind::dynamic) && !inner.type && path.steps[step + 1].is_item) {
      // Only a plain slot does not notice that a tensor is put back.
      if (!root.is(AKind::ref) || kind_at(root.heap) != AObject::Kind::instance ||
          !class_lookup(root, st.attr).is(AKind::unbound) || class_of(root).as<runtime::Type>()->has_setattr)
        abandon(Reason::container, "assignment to an item of an attribute whose type is not known");
      AVal changed = update_path(inner, path, step + 1, items, item, value);
      if (!put_back(root.heap, st.attr, inner, changed)) set_attr(root, st.attr, changed);
      return root;
    }
    AVal changed = update_path(inner, path, step + 1, items, item, value);
    if (last || (is_tensor(inner) && !same(inner, changed))) set_attr(root, st.attr, changed);
    return root;
  }
  const AVal& key = items[item];
  if (is_tensor(root)) {
    if (last && !path.augmented) return tensor_store(root, key, value);
    AVal inner = tensor_index(root, key);
    AVal changed = update_path(inner, path, step + 1, items, item + 1, value);
    return tensor_store(root, key, changed);
  }
  // What is boxed may be a tensor, which a write gives back changed, or a container, which it gives back as it is.
  const bool unknown = root.is(AKind::dynamic) && !root.type;
  if (last && !path.augmented) {
    if (unknown) return boxed(prim::item_set, {root, key, value});
    set_item(root, key, value);
    return root;
  }
  AVal inner = get_item(root, key);
  if (!last && inner.is(AKind::dynamic) && !inner.type)
    abandon(Reason::container, "assignment through an item whose type is not known");
  AVal changed = update_path(inner, path, step + 1, items, item + 1, value);
  if (unknown && last) return boxed(prim::item_set, {root, key, changed});
  if (last || (is_tensor(inner) && !same(inner, changed))) set_item(root, key, changed);
  return root;
}

AVal Specialiser::update(AFrame& f, const ir::Let& let) {
  const ir::PlacePath& path = f.code->paths[let.attr];
  std::vector<AVal> args;
  std::vector<bool> objects;  // a boxed one is no tensor
  for (uint32_t i = 0; i < let.nargs; ++i) {
    const ir::Atom a = f.code->args(let)[i];
    objects.push_back(a.is_name() && f.env[ir::index(a.name())].is(AKind::ref));
    args.push_back(atom_value(f, a));
  }
  objects.pop_back();
  AVal value = args.back();
  args.pop_back();
  if (path.loaded) {
    ir::PlacePath assigned = path;
    assigned.augmented = assigned.loaded = false;
    AVal before = std::move(args.back());
    args.pop_back();
    objects.pop_back();
    const AVal made = binary(ir::in_place_form(path.in_place), before, value);
    return assigned.held ? update_held(f, assigned, std::move(args), objects, made)
                         : update(f, assigned, std::move(args), made);
  }
  if (path.held) return update_held(f, path, std::move(args), objects, value);
  return update(f, path, std::move(args), value);
}

// The containers are the last arguments: the last that is no tensor is written to.
AVal Specialiser::update_held(AFrame& f, const ir::PlacePath& path, std::vector<AVal> args,
                              const std::vector<bool>& objects, const AVal& value) {
  using Root = ir::PlacePath::Root;
  const size_t count = path.containers();
  const std::vector<AVal> containers(args.end() - static_cast<long>(count), args.end());
  args.resize(args.size() - count);
  ir::PlacePath followed = path;
  followed.held = false;
  size_t n = count;
  while (n > 0 && is_tensor(containers[n - 1])) --n;
  // What is boxed may be a tensor.
  const bool object = n > 0 && objects[objects.size() - count + n - 1];
  const bool unknown = n > 0 && containers[n - 1].is(AKind::dynamic) && !containers[n - 1].type && !object;
  // A tensor is looked up again, a container is not.
  if (unknown && effects_.unknown &&
      (path.root == Root::cell || (path.root == Root::global && is_changeable(path.name))))
    abandon(Reason::interpreter_changed,
            "assignment to an item of a variable whose type is not known, which a script may have set meanwhile");
  if (n == 0 || unknown) return update(f, followed, std::move(args), value);
  const size_t below = count - (n - 1);
  const std::vector<AVal> items(args.end() - static_cast<long>(below), args.end());
  update_path(containers[n - 1], followed, followed.steps.size() - below, items, 0, value);
  return path.root == Root::value ? args[0] : AVal::of(Value::none());
}

AVal Specialiser::update(AFrame& f, const ir::PlacePath& path, std::vector<AVal> args, const AVal& value) {
  using Root = ir::PlacePath::Root;
  if (path.steps.empty() && !path.augmented && path.root != Root::value) {  // nobody asks what stood there
    if (path.root == Root::cell) cell_set(args[0], value);
    if (path.root == Root::global) set_global(f.globals, path.name, value);
    return value;
  }
  AVal root;
  size_t first = path.root == Root::global ? 0 : 1;
  if (path.root == Root::value) root = args[0];
  if (path.root == Root::cell) root = cell_get(args[0]);
  if (path.root == Root::global) root = global(f.globals, path.name);
  std::vector<AVal> items(args.begin() + static_cast<long>(first), args.end());
  // Drawing the items of a slice may rebind the variable. Where it holds a tensor, what it holds then is written to.
  if (path.root != Root::value && root.is(AKind::dynamic) && !root.type && may_run_scripts(value) &&
      std::ranges::any_of(items, [](const AVal& i) { return i.is(AKind::slice); }))
    abandon(Reason::container, "assignment to a slice of a variable whose type is not known");
  // So may a key that is asked for its hash.
  if (path.root != Root::value && root.is(AKind::dynamic) && !root.type &&
      std::ranges::any_of(items, [&](const AVal& i) { return is_instance(i); }))
    abandon(Reason::container, "assignment to an item of a variable whose type is not known, by an object");
  AVal changed = update_path(root, path, 0, items, 0, value);
  if (same(root, changed) || path.root == Root::value) return changed;
  const HeapId place = path.root == Root::global ? module_object(f.globals) : args[0].heap;
  if (put_back(place, path.name, root, changed)) return changed;
  if (path.root == Root::cell) cell_set(args[0], changed);
  if (path.root == Root::global) set_global(f.globals, path.name, changed);
  return changed;
}

// After a write to the items of what is boxed: a tensor is put back changed; a container is not, since what ran
// meanwhile may have put something else in its place. False: nobody else can have done so.
bool Specialiser::put_back(HeapId place, Symbol name, const AVal& before, const AVal& changed) {
  if (!before.is(AKind::dynamic) || before.type || !read(place).outside()) return false;
  before_unknown();
  emit_call(protocol_native("put_back"),
            {AVal::dynamic(place_of_object(place), nullptr), AVal::of(session.str(name)), before, changed}, {});
  after_unknown();
  return true;
}

AVal Specialiser::cell_get(const AVal& cell) {
  if (!cell.is(AKind::ref)) abandon(Reason::unknown_value, "a variable that is not followed");
  AVal v = load_slot(cell.heap, Symbol{});
  if (v.is(AKind::unbound)) abandon(Reason::raises, "a variable without a value");
  if (v.is(AKind::poison)) abandon_parted(v, "a variable that differs between branches");
  return v;
}

void Specialiser::cell_set(const AVal& cell, AVal v) {
  if (!cell.is(AKind::ref)) abandon(Reason::unknown_value, "a variable that is not followed");
  if (!read(cell.heap).stale) load_slot(cell.heap, Symbol{});
  assign(cell.heap, Symbol{}, std::move(v));
}

HeapId Specialiser::module_object(const Value& module) {
  auto [at, fresh] = modules_.try_emplace(module.object(), 0u);
  if (fresh) at->second = next_heap_++;
  if (at->second >= heap_.size()) heap_.resize(at->second + 1);
  if (!heap_[at->second]) {
    auto o = std::make_shared<AObject>();
    o->kind = AObject::Kind::globals;
    o->external = true;
    o->concrete = module;
    o->stale = effects_.unknown;
    external_info_[at->second] = {module, kNoNode};
    heap_.put(at->second, std::move(o));
  }
  return at->second;
}

void Specialiser::set_global(const Value& module, Symbol name, AVal v) {
  const HeapId id = module_object(module);
  if (!heap_[id]->find(name))
    if (const AVal found = found_global(module, name); !found.is(AKind::unbound))
      write(id).slots.push_back({.name = name, .value = found, .memory = found, .loaded = found});
  assign(id, name, std::move(v));
}

}  // namespace ouro::jit
