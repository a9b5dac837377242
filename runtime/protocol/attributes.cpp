// Attribute access: the descriptor protocol, hidden classes, modules, super, and what built-in kinds add.
//
// Order for an instance (CPython's _PyObject_GenericGetAttrWithDict): a data descriptor of the class, the instance's
// own attribute, anything else of the class (bound), then __getattr__.
#include "runtime/object/buffer_mark.h"
#include "runtime/object/ops.h"
#include "runtime/protocol/in_ouro.h"
#include "runtime/protocol/lookup.h"
#include "runtime/protocol/metaclass.h"

namespace ouro::runtime {

namespace {

bool has_attributes(const Value& v) {
  ObjectKind k = kind_of(v);
  return k == ObjectKind::instance || k == ObjectKind::exception;
}

// The class that may say with __getattribute__, __getattr__, __setattr__ or __delattr__ what attributes of `v` are;
// null: none.
Type* hooks_of(Session& s, const Value& v) {
  if (has_attributes(v)) return v.as<Instance>()->type;
  return is_metaclassed(v) ? metaclass_of(s, v.as<Type>()) : nullptr;
}

}  // namespace

bool is_own_attribute(Session& s, Type* t, Symbol name) {
  const Value d = type_lookup(s, t, name);
  if (const auto* m = cast_exact<Member>(d)) return m->name == name && is_subtype(t, m->owner);
  return !is_data_descriptor(s, d);
}

bool is_data_descriptor(Session& s, const Value& d) {
  switch (kind_of(d)) {
    case ObjectKind::property:
    case ObjectKind::member:
    case ObjectKind::get_set:
      return true;
    case ObjectKind::instance: {
      Type* t = d.as<Instance>()->type;
      return !find_dunder(s, t, Dunder::set_).is_unbound() || !find_dunder(s, t, Dunder::delete_).is_unbound();
    }
    default:
      return false;
  }
}

static Value no_attribute(Session& s, const Value& v, Symbol name);

Value unbound_member(Session& s, Member* m, const Value& self) { return no_attribute(s, self, m->name); }

Value* instance_slot(Session& s, Instance* i, Symbol name) {
  if (!i->shape) {
    Dict* members = instance_members(i);
    Value* v = members ? dict_find_symbol(s, members, name) : nullptr;
    return v && !v->is_unbound() ? v : nullptr;
  }
  int at = i->shape->find(name);
  return at < 0 || i->slots[at].is_unbound() ? nullptr : &i->slots[at];
}

// The property is found again by its identity, as it does not know its name.
static Value raise_no_getter(Session& s, const Value& property, const Value& self) {
  std::string name;
  for (Type* t : type_of(s, self)->mro)
    for (auto& e : t->names.entries())
      if (name.empty() && e.name && e.value.same(property)) name = "'" + e.name.str() + "' ";
  return raise_error(s, ExcKind::AttributeError, "property %sof '%s' object has no getter", name.c_str(),
                     class_path(s, self).c_str());
}

// `d`, found in a class, as an attribute of `self` (unbound: of the class `owner` itself).
// A descriptor of a built-in class reads the object's memory as its own class lays it out: of another object it is an
// error.
static bool applies_to(Session& s, const Value& d, const Value& self) {
  const Member* m = cast_exact<Member>(d);
  const Type *owner = m ? m->owner : d.as<GetSet>()->owner, *t = type_of(s, self);
  if (!owner || t == owner || is_subtype(t, owner)) return true;
  raise_error(s, ExcKind::TypeError, "descriptor '%s' for '%s' objects doesn't apply to a '%s' object",
              m ? m->name.c_str() : std::string(d.as<GetSet>()->def->name).c_str(), std::string(owner->text()).c_str(),
              type_name(s, self).c_str());
  return false;
}

Value bind_descriptor(Session& s, const Value& d, const Value& self, Type* owner) {
  if (!d.is_object()) return d;
  switch (d.object()->object_kind()) {
    case ObjectKind::function:
      return self.is_unbound() ? d : make_bound_method(d, self);
    case ObjectKind::native: {
      Native* n = d.as<Native>();
      if (self.is_unbound() || !n->owner || !n->self.is_unbound()) return d;
      Value b = make_native(*n->def, self, n->owner);
      b.as<Native>()->params = n->params;
      return b;
    }
    case ObjectKind::static_method:
      return d.as<StaticMethod>()->function;
    case ObjectKind::class_method: {
      const Value& f = d.as<ClassMethod>()->function;
      Value cls = Value::share(owner);
      if (Native* n = cast_exact<Native>(f)) {
        Value b = make_native(*n->def, std::move(cls), n->owner);
        return b;
      }
      bool binds = cast_exact<Property>(f) || cast_exact<StaticMethod>(f) || cast_exact<ClassMethod>(f) ||
                   (cast_exact<Instance>(f) && !find_dunder(s, type_of(s, f), Dunder::get_).is_unbound());
      if (!binds) return make_bound_method(f, std::move(cls));
      return stack_left(s) ? bind_descriptor(s, f, cls, owner) : Value::error();
    }
    case ObjectKind::property: {
      if (self.is_unbound()) return d;
      auto* p = d.as<Property>();
      if (p->get.is_none()) return raise_no_getter(s, d, self);
      return call(s, p->get, {self});
    }
    case ObjectKind::member: {
      if (self.is_unbound()) return d;
      if (!applies_to(s, d, self)) return Value::error();
      Member* m = d.as<Member>();
      Value* slot = cast<Instance>(self) ? instance_slot(s, self.as<Instance>(), m->name) : nullptr;
      return slot ? *slot : unbound_member(s, m, self);
    }
    case ObjectKind::get_set:
      if (self.is_unbound()) return d;
      return applies_to(s, d, self) && stack_left(s) ? d.as<GetSet>()->def->get(s, self) : Value::error();
    case ObjectKind::instance: {
      Type* t = d.as<Instance>()->type;
      if (find_dunder(s, t, Dunder::get_).is_unbound()) return d;
      return call_dunder(s, d, Dunder::get_, {self.is_unbound() ? Value::none() : self, Value::share(owner)});
    }
    default:
      return d;
  }
}

namespace {

// The instance's own attribute, or unbound.
Value own_attribute(Session& s, Instance* i, Symbol name) {
  if (i->shape) {
    int at = i->shape->find(name);
    return at < 0 ? Value() : i->slots[at];
  }
  const Value hold = i->dict;  // a key of a script's class may be asked, and __dict__ assigned
  Value* v = hold.is_object() ? dict_find_symbol(s, hold.as<Dict>(), name) : nullptr;
  return v ? *v : Value();
}

Value type_attribute(Session& s, Type* t, Symbol name) {
  Type* metaclass = metaclass_of(s, t);
  Value meta = type_lookup(s, metaclass, name);  // __name__, __mro__, ...
  if (is_data_descriptor(s, meta) && kind_of(meta) == ObjectKind::get_set) {
    if (const Value* own = own_type_name(s, t, name); !own || own->is_unbound() || own->same(meta))
      return bind_descriptor(s, meta, Value::share(t), t);
    static const Symbol doc = intern("__doc__"), module = intern("__module__"), annotations = intern("__annotations__");
    if (name != doc && name != module && name != annotations) return bind_descriptor(s, meta, Value::share(t), t);
  } else if (has_metaclass(t) && !meta.is_unbound() && is_data_descriptor(s, meta)) {
    return bind_descriptor(s, meta, Value::share(t), metaclass);
  }
  Value v = type_lookup(s, t, name);
  if (!v.is_unbound()) return bind_descriptor(s, v, Value(), t);
  if (!meta.is_unbound()) return bind_descriptor(s, meta, Value::share(t), metaclass);
  return Value();
}

Value super_attribute(Session& s, Super* x, Symbol name) {
  static const Symbol class_name = intern("__class__");
  Type* start = x->type.as<Type>();
  if (x->self_type && name != class_name) {
    bool after = false;
    for (Type* t : x->self_type->mro) {
      if (!after) {
        after = t == start;
        continue;
      }
      const Value* v = own_type_name(s, t, name);
      if (!v) continue;
      Value d = *v;
      bool of_class = kind_of(x->self) == ObjectKind::type && x->self.as<Type>() == x->self_type;
      return bind_descriptor(s, d, of_class ? Value() : x->self, x->self_type);
    }
  }
  Value v = type_lookup(s, s.type(ObjectKind::super), name);
  return v.is_unbound() ? v : bind_descriptor(s, v, Value::share(x), s.type(ObjectKind::super));
}

// Without __getattr__ and __getattribute__: unbound if absent.
Value find_attribute(Session& s, const Value& v, Symbol name) {
  switch (kind_of(v)) {
    case ObjectKind::type:
      return type_attribute(s, v.as<Type>(), name);
    case ObjectKind::super:
      return super_attribute(s, v.as<Super>(), name);
    case ObjectKind::instance:
    case ObjectKind::exception:
      return generic_get_attr(s, v, name);
    default:
      break;
  }
  const TypeSlots& slots = slots_of(s, v);
  if (slots.get_attr) {
    if (!stack_left(s)) return Value::error();
    Value r = slots.get_attr(s, v, name);
    if (!r.is_unbound()) return r;
  }
  Type* t = type_of(s, v);
  Value d = type_lookup(s, t, name);
  return d.is_unbound() ? d : bind_descriptor(s, d, v, t);
}

}  // namespace

static Value no_attribute(Session& s, const Value& v, Symbol name) {
  if (auto* bound = cast_exact<BoundMethod>(v)) {
    while (auto* inner = cast_exact<BoundMethod>(bound->function)) bound = inner;
    return no_attribute(s, bound->function, name);
  }
  std::string text;
  if (Type* t = cast_exact<Type>(v))
    text = "type object '" + std::string(t->text()) + "' has no attribute '" + name.str() + "'";
  else if (Module* m = cast_exact<Module>(v))
    text = "module '" + text_of(s, m->name) + "' has no attribute '" + name.str() + "'";
  else
    text = "'" + type_name(s, v) + "' object has no attribute '" + name.str() + "'";
  Value e = make_exception(s, ExcKind::AttributeError, text);
  e.as<Exception>()->extra1 = s.str(name);
  e.as<Exception>()->extra2 = v;
  return set_pending(s, std::move(e));
}

static bool has_get(Session& s, const Value& d) {
  return !find_dunder(s, d.as<Instance>()->type, Dunder::get_).is_unbound();
}

Value generic_get_attr(Session& s, const Value& v, Symbol name) {
  Instance* i = v.as<Instance>();
  Value d = type_lookup(s, i->type, name);
  if (!d.is_unbound() && is_data_descriptor(s, d) && (kind_of(d) != ObjectKind::instance || has_get(s, d)))
    return bind_descriptor(s, d, v, i->type);
  Value own = own_attribute(s, i, name);
  if (!own.is_unbound()) return own;
  return d.is_unbound() ? d : bind_descriptor(s, d, v, i->type);
}

Value lookup_attr(Session& s, const Value& v, Symbol name) {
  Type* t = hooks_of(s, v);
  Value r;
  if (t && kProtocolByText && has_attributes(v)) {
    r = by_text(s, "load", {v, s.str(name)});
    t = nullptr;
  } else if (t && t->has_getattribute) {
    r = call_dunder(s, v, Dunder::getattribute_, {s.str(name)});
    if (r.is_error() && pending_is(s, ExcKind::AttributeError) && t->has_getattr) {
      clear_pending(s);
      r = Value();
    }
  } else {
    r = find_attribute(s, v, name);
    if (r.is_error() && t && t->has_getattr && pending_is(s, ExcKind::AttributeError)) {
      clear_pending(s);
      r = Value();
    }
  }
  if (r.is_unbound() && t && t->has_getattr) r = call_dunder(s, v, Dunder::getattr_, {s.str(name)});
  if (r.is_error() && pending_is(s, ExcKind::AttributeError)) {
    clear_pending(s);
    return Value();
  }
  return r;
}

// An AttributeError that a script raised learns what was asked of whom.
static Value with_context(Session& s, Value r, const Value& v, Symbol name) {
  if (!r.is_error() || !pending_is(s, ExcKind::AttributeError)) return r;
  auto* e = s.pending.as<Exception>();
  auto absent = [](const Value& x) { return x.is_unbound() || x.is_none(); };
  if (absent(e->extra1) && absent(e->extra2)) e->extra1 = s.str(name), e->extra2 = v;
  return r;
}

static Value attribute_of(Session& s, const Value& v, Symbol name) {
  Type* t = hooks_of(s, v);
  if (t && kProtocolByText && has_attributes(v)) return by_text(s, "load", {v, s.str(name)});
  if (!t || !(t->has_getattribute || t->has_getattr)) {
    Value r = find_attribute(s, v, name);
    return r.is_unbound() ? no_attribute(s, v, name) : r;
  }
  Value r = t->has_getattribute ? call_dunder(s, v, Dunder::getattribute_, {s.str(name)}) : find_attribute(s, v, name);
  if (r.is_error() && t->has_getattr && pending_is(s, ExcKind::AttributeError)) {
    clear_pending(s);
    r = Value();
  }
  if (!r.is_unbound()) return r;
  return t->has_getattr ? call_dunder(s, v, Dunder::getattr_, {s.str(name)}) : no_attribute(s, v, name);
}

Value get_attr(Session& s, const Value& v, Symbol name) { return with_context(s, attribute_of(s, v, name), v, name); }
Value get_attr(Session& s, const Value& v, std::string_view name) { return get_attr(s, v, intern(name)); }

Value object_getattribute(Session& s, const Value& v, Symbol name) {
  Value r = find_attribute(s, v, name);
  return r.is_unbound() ? no_attribute(s, v, name) : r;
}

// ---------------------------------------------------------------- setting

Shape* shape_with(Session& s, Shape* shape, Symbol name) {
  for (auto& [n, to] : shape->transitions)
    if (n == name) return to;
  auto* next = new Shape;
  next->type = shape->type;
  next->parent = shape;
  next->added = name;
  next->id = s.next_version++;
  next->slots = shape->slots;
  next->slots.add(name, shape->count);
  next->count = shape->count + 1;
  shape->transitions.emplace_back(name, next);
  return next;
}

void grow_slots(Instance* i, uint32_t count) {
  if (count <= i->slot_capacity) return;
  uint32_t capacity = i->slot_capacity ? i->slot_capacity * 2 : 4;
  while (capacity < count) capacity *= 2;
  auto* fresh = static_cast<Value*>(allocate_memory(capacity * sizeof(Value)));
  uint32_t n = i->shape ? i->shape->count : 0;
  if (n) std::memcpy(static_cast<void*>(fresh), i->slots, n * sizeof(Value));
  if (i->slots) free_memory(i->slots, i->slot_capacity * sizeof(Value));
  i->slots = fresh;
  i->slot_capacity = capacity;
}

// An attribute first set with a buffer (runtime/object/buffer_mark.h) is one of its class from then on: its name joins
// the tuple `_buffers` of the class, where derivatives and the library's walks over trees look.
void note_buffer(Session& s, Type* t, Symbol name) {
  static const Symbol buffers = intern("_buffers");
  Value known = type_lookup(s, t, buffers), add = s.str(name);
  Tuple* names = cast<Tuple>(known);
  std::vector<Value> all;
  if (names) all.assign(names->begin(), names->end());
  for (const Value& n : all)
    if (cast<Str>(n) && cast<Str>(n)->view() == name.text()) return;
  all.push_back(add);
  t->names.set(buffers, runtime::make_tuple(std::span<const Value>(all)));
  type_changed(s, t);
}

constexpr uint32_t kMaxShapeSlots = 256;

void set_own_attribute(Session& s, Instance* i, Symbol name, const Value& v) {
  if (has_buffer_mark(v)) [[unlikely]] {
    if (own_attribute(s, i, name).is_unbound()) note_buffer(s, i->type, name);
    return set_own_attribute(s, i, name, without_buffer_mark(v));
  }
  if (i->shape) {
    int at = i->shape->find(name);
    if (at >= 0) {
      Value old = std::move(i->slots[at]);
      i->slots[at] = v;
      return;
    }
    if (i->shape->count < kMaxShapeSlots) {
      Shape* next = shape_with(s, i->shape, name);
      grow_slots(i, next->count);
      new (i->slots + i->shape->count) Value(v);
      i->shape = next;
      return;
    }
  }
  const Value hold = Value::share(instance_dict(s, i));
  dict_set_symbol(s, hold.as<Dict>(), name, v);
}

bool has_own_attribute(Session& s, Instance* i, Symbol name) {
  return i->shape ? i->shape->find(name) >= 0 : !own_attribute(s, i, name).is_unbound();
}

// Turns the instance's attributes into a Dict, for __dict__, deletion and instances with very many attributes.
Dict* instance_dict(Session& s, Instance* i) {
  if (!i->shape) {
    if (!i->dict.is_object()) i->dict = make_dict();
    return i->dict.as<Dict>();
  }
  Value d = make_dict(), members;
  for (uint32_t k = 0; k < i->shape->count; ++k) {
    Symbol name = i->shape->slots.name(k);
    bool member = kind_of(type_lookup(s, i->type, name)) == ObjectKind::member;
    if (member && members.is_unbound()) members = make_dict();
    if (!i->slots[k].is_unbound()) dict_set_symbol(s, (member ? members : d).as<Dict>(), name, std::move(i->slots[k]));
    i->slots[k].~Value();
  }
  if (i->slots) free_memory(i->slots, i->slot_capacity * sizeof(Value));
  i->slots = nullptr;
  i->slot_capacity = 0;
  i->shape = nullptr;
  i->dict = d;
  if (!members.is_unbound()) {
    grow_slots(i, 1);
    new (i->slots) Value(std::move(members));
  }
  return d.as<Dict>();
}

// Of a name in __slots__.
static void set_member(Session& s, Instance* i, Symbol name, const Value& v) {
  if (i->shape) return set_own_attribute(s, i, name, v);
  if (!i->slots) {
    grow_slots(i, 1);
    new (i->slots) Value(make_dict());
  }
  dict_set_symbol(s, i->slots[0].as<Dict>(), name, v);
}

bool restore_shape(Session& s, Instance* i) {
  auto* d = cast_exact<Dict>(i->dict);
  if (i->shape || i->slots || !i->type->shape || i->type->shape->count != 0 || !d || d->refs != 1 ||
      d->used > kMaxShapeSlots)
    return false;
  size_t pos = 0;
  Value *k, *v;
  while (dict_next(d, pos, k, v))
    if (!cast_exact<Str>(*k)) return false;
  Value attributes = std::move(i->dict);
  i->dict = Value();
  i->shape = i->type->shape;
  for (pos = 0; dict_next(d, pos, k, v);) set_own_attribute(s, i, str_symbol(k->as<Str>()), *v);
  return true;
}

namespace {

bool no_set(Session& s, const Value& v, Symbol name, bool deletion, bool class_has) {
  std::string n = name.str(), t = type_name(s, v);
  if (deletion && !class_has) {
    Value e = make_exception(s, ExcKind::AttributeError, "'" + t + "' object has no attribute '" + n + "'");
    set_pending(s, std::move(e));
  } else if (class_has) {
    raise_error(s, ExcKind::AttributeError, "'%s' object attribute '%s' is read-only", t.c_str(), n.c_str());
  } else {
    Value e = make_exception(s, ExcKind::AttributeError, "'" + t + "' object has no attribute '" + n + "'");
    e.as<Exception>()->extra1 = s.str(name);
    e.as<Exception>()->extra2 = v;
    set_pending(s, std::move(e));
  }
  return false;
}

// Attributes that CPython keeps as members of a C struct, which refuse assignment in words of their own.
bool is_struct_member(const GetSet& g) {
  if (!g.owner) return false;
  switch (g.owner->layout) {
    case ObjectKind::range:
    case ObjectKind::slice:
    case ObjectKind::bound_method:
    case ObjectKind::property:
      return true;
    case ObjectKind::function:
      return g.def->name == "__closure__" || g.def->name == "__globals__";
    default:
      return false;
  }
}

// Runs the setter (deleter if `value` is unbound) of a data descriptor.
bool set_descriptor(Session& s, const Value& d, const Value& v, Symbol name, const Value& value) {
  bool deletion = value.is_unbound();
  switch (kind_of(d)) {
    case ObjectKind::property: {
      auto* p = d.as<Property>();
      const Value& f = deletion ? p->del : p->set;
      if (f.is_none() || f.is_unbound()) {
        raise_error(s, ExcKind::AttributeError, "property '%s' of '%s' object has no %s", name.c_str(),
                    class_path(s, v).c_str(), deletion ? "deleter" : "setter");
        return false;
      }
      return !(deletion ? call(s, f, {v}) : call(s, f, {v, value})).is_error();
    }
    case ObjectKind::member: {
      Member* m = d.as<Member>();
      if (!applies_to(s, d, v) || !cast<Instance>(v)) return false;
      if (!deletion) {
        set_member(s, v.as<Instance>(), m->name, value);
        return true;
      }
      Value* slot = instance_slot(s, v.as<Instance>(), m->name);
      if (!slot) return !raise_text(s, ExcKind::AttributeError, m->name.text()).is_error();
      Value old = std::move(*slot);
      return true;
    }
    case ObjectKind::get_set: {
      auto* g = d.as<GetSet>();
      if (!g->def->set) {
        raise_error(
            s, ExcKind::AttributeError,
            deletion || is_struct_member(*g) ? "readonly attribute" : "attribute '%s' of '%s' objects is not writable",
            name.c_str(), g->owner ? std::string(g->owner->text()).c_str() : "?");
        return false;
      }
      return applies_to(s, d, v) && stack_left(s) && g->def->set(s, v, value);
    }
    default: {
      Value r = deletion ? call_dunder(s, d, Dunder::delete_, {v}) : call_dunder(s, d, Dunder::set_, {v, value});
      if (r.is_unbound()) {
        raise_error(s, ExcKind::AttributeError, deletion ? "__delete__" : "__set__");
        return false;
      }
      return !r.is_error();
    }
  }
}

bool set_type_attribute(Session& s, Type* t, Symbol name, const Value& value) {
  if (t->builtin) {
    raise_type_error(s, "cannot set '%s' attribute of immutable type '%s'", name.c_str(),
                     std::string(t->text()).c_str());
    return false;
  }
  Value meta = type_lookup(s, metaclass_of(s, t), name);
  if (has_metaclass(t) && !cast_exact<GetSet>(meta) && !meta.is_unbound() && is_data_descriptor(s, meta))
    return set_descriptor(s, meta, Value::share(t), name, value);
  if (GetSet* g = cast_exact<GetSet>(meta); g && g->def->set) return g->def->set(s, Value::share(t), value);
  static const Symbol mro = intern("__mro__"), base = intern("__base__"), dict = intern("__dict__");
  if (name == mro || name == base || name == dict) {
    raise_text(s, ExcKind::AttributeError,
               name == dict ? "attribute '__dict__' of 'type' objects is not writable" : "readonly attribute");
    return false;
  }
  if (value.is_unbound()) {
    if (!t->names.erase(name)) {
      raise_error(s, ExcKind::AttributeError, "type object '%s' has no attribute '%s'", std::string(t->text()).c_str(),
                  name.c_str());
      return false;
    }
  } else {
    t->names.set(name, value);
  }
  type_changed(s, t);
  return true;
}

bool set_any(Session& s, const Value& v, Symbol name, const Value& value);

}  // namespace

bool write_descriptor(Session& s, const Value& d, const Value& self, const Value& value) {
  const Member* m = cast_exact<Member>(d);
  const GetSet* g = cast_exact<GetSet>(d);
  return set_descriptor(s, d, self, m ? m->name : g ? intern(g->def->name) : Symbol(), value);
}

bool generic_set_attr(Session& s, const Value& v, Symbol name, const Value& value) {
  Instance* i = v.as<Instance>();
  Value d = type_lookup(s, i->type, name);
  if (!d.is_unbound() && is_data_descriptor(s, d)) return set_descriptor(s, d, v, name, value);
  if (!i->type->has_dict) return no_set(s, v, name, value.is_unbound(), !d.is_unbound());
  if (!value.is_unbound()) {
    set_own_attribute(s, i, name, value);
    return true;
  }
  if (own_attribute(s, i, name).is_unbound()) return no_set(s, v, name, true, false);
  const Value names = Value::share(instance_dict(s, i));  // first: it may move the strings of symbols
  return dict_delete(s, names.as<Dict>(), s.str(name)) >= 0;
}

bool object_setattr(Session& s, const Value& v, Symbol name, const Value& value) { return set_any(s, v, name, value); }

namespace {

bool set_any(Session& s, const Value& v, Symbol name, const Value& value) {
  if (has_attributes(v)) return generic_set_attr(s, v, name, value);
  if (Type* t = cast_exact<Type>(v)) return set_type_attribute(s, t, name, value);
  const TypeSlots& slots = slots_of(s, v);
  Type* t = type_of(s, v);
  Value d = type_lookup(s, t, name);
  if (!d.is_unbound() && is_data_descriptor(s, d)) return set_descriptor(s, d, v, name, value);
  if (slots.set_attr) return stack_left(s) && slots.set_attr(s, v, name, value);
  return no_set(s, v, name, value.is_unbound(), !d.is_unbound());
}

}  // namespace

bool set_attr(Session& s, const Value& v, Symbol name, const Value& value) {
  if (has_attributes(v)) {
    Type* t = v.as<Instance>()->type;
    if (kProtocolByText) return !by_text(s, "store", {v, s.str(name), value}).is_error();
    if (t->has_setattr) return !call_dunder(s, v, Dunder::setattr_, {s.str(name), value}).is_error();
    return generic_set_attr(s, v, name, value);
  }
  if (is_metaclassed(v) && hooks_of(s, v)->has_setattr)
    return !call_dunder(s, v, Dunder::setattr_, {s.str(name), value}).is_error();
  return set_any(s, v, name, value);
}

bool del_attr(Session& s, const Value& v, Symbol name) {
  if (has_attributes(v)) {
    Type* t = v.as<Instance>()->type;
    if (kProtocolByText) return !by_text(s, "delete", {v, s.str(name)}).is_error();
    if (is_overridden(find_dunder(s, t, Dunder::delattr_), Dunder::delattr_))
      return !call_dunder(s, v, Dunder::delattr_, {s.str(name)}).is_error();
    return generic_set_attr(s, v, name, Value());
  }
  if (is_metaclassed(v) && is_overridden(find_dunder(s, hooks_of(s, v), Dunder::delattr_), Dunder::delattr_))
    return !call_dunder(s, v, Dunder::delattr_, {s.str(name)}).is_error();
  return set_any(s, v, name, Value());
}

}  // namespace ouro::runtime
