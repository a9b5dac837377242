// Attributes of abstract values.
#include <algorithm>

#include <fmt/format.h>

#include "jit/specialise/specialiser.h"
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
  AVal v = type_attr(cls, name);
  // The class of an object from outside is compared with the object's shape; that of one that is made here is not.
  if (v.is(AKind::unbound) && a.is(AKind::ref) && !read(a.heap).external && is_instance(a)) stays_absent(cls, name);
  return v;
}

// A class of scripts may get the attribute later.
void Specialiser::stays_absent(const Value& cls, Symbol name) {
  if (cls.as<runtime::Type>()->builtin) return;
  AccessNode n;
  n.step = AccessNode::Step::class_attr;
  n.object = cls;
  n.name = name;
  bool fresh;
  const uint32_t node = add_node(n, &fresh);
  access.nodes[node].guard = AccessNode::Guard::absent;
}

AVal Specialiser::type_attr(const Value& cls, Symbol name) {
  Value v = runtime::type_lookup(session, cls.as<runtime::Type>(), name);
  if (name == intern("_buffers") && std::ranges::find(learnt_buffers_, cls.object()) != learnt_buffers_.end())
    abandon_whole(Reason::interpreter_changed, "the buffers of a class that gets one here");
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
    if (n == "__dict__" && cls_attr.is(AKind::known) && runtime::cast_exact<runtime::GetSet>(cls_attr.known))
      return attributes_of(a);
    // Data descriptors of the class come first.
    if (cls_attr.is(AKind::known)) {
      if (runtime::cast_exact<runtime::Property>(cls_attr.known))  // whose AttributeError __getattr__ may answer
        return t->has_getattr ? loaded_by_text(a, name) : bind_descriptor(cls_attr, a);
      if (runtime::cast_exact<runtime::Member>(cls_attr.known))  // one that stands here under another name reads that
        return runtime::is_own_attribute(session, const_cast<runtime::Type*>(t), name) ? own_attribute(a, name)
                                                                                       : loaded_by_text(a, name);
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
    if (n == "__dict__") return attributes_of_gradient(o);
    const Value method = runtime::autodiff::function_of_gradients(session, n);
    if (method.is_error()) abandon_raises();
    if (!method.is_unbound()) return bind(concrete_function(method), a);
    if (!runtime::autodiff::is_method_of_parts(n)) return {};
    const AVal parts = parts_of_gradient(a);
    return parts.is(AKind::ref) && kind_at(parts.heap) == AObject::Kind::dict ? lookup_attr(parts, name) : AVal{};
  }
  if (a.is(AKind::closure)) {
    // One that exists outside may have been given another name, or may be at any time.
    const bool known_outside = !a.parts->function.is_unbound() || (a.heap != kNoHeap && read(a.heap).escaped);
    const auto text_at = std::ranges::find(kFunctionTexts, n);
    if (text_at != std::end(kFunctionTexts) && known_outside) {
      const bool has_text = a.node != kNoNode && !a.parts->function.is_unbound() && !is_derived(*a.parts->code);
      if (!has_text || effects_.unknown) return boxed(prim::attr_get, {a}, name.id());
      AccessNode text;
      text.step = AccessNode::Step::function_text;
      text.parent = a.node;
      text.index = static_cast<uint32_t>(text_at - std::begin(kFunctionTexts));
      return wrap(access_step(session, text, a.parts->function, {}, {}), text);
    }
    if (is_rule(*a.parts->code)) abandon(Reason::internal, "the name of a method that grad has replaced by its rule");
    if (n == "__name__" || n == "__qualname__")
      return AVal::of(runtime::make_str(n == "__name__" ? a.parts->code->name.text() : a.parts->code->qualname.text()));
    if (n == "__doc__") {
      const ir::ConstId doc = a.parts->code->doc;
      if (doc == ir::ConstId::none) return AVal::of(Value::none());
      return AVal::of(runtime::make_str(a.parts->code->constant(doc).text));
    }
    if (const AVal dict = dict_of_function(a, name); !dict.is(AKind::unbound))
      return get_item(dict, AVal::of(session.str(name)));
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

// Of a gradient it is a dict of its own.
AVal Specialiser::attributes_of_gradient(const AObject& o) {
  std::vector<AVal> keys, values;
  for (const AObject::Slot& s : o.slots) {
    if (s.value.is(AKind::unbound)) continue;
    keys.push_back(AVal::of(session.str(s.name)));
    values.push_back(s.value);
  }
  return new_dict(std::move(keys), std::move(values));
}

// Under a derivative the __dict__ of an object would have to have the object's cotangents.
void Specialiser::check_attributes(HeapId dict) {
  if (heap_[dict]->attributes != kNoHeap &&
      std::ranges::any_of(frames_, [&](const AFrame* f) { return is_derived(*f->code); }))
    abandon(Reason::derivative, "the __dict__ of an object under grad");
}

// The __dict__ of an object: a dict that is read inside of the program, and changes with the object's attributes.
AVal Specialiser::attributes_of(const AVal& a) {
  if (std::ranges::any_of(frames_, [&](const AFrame* f) { return is_derived(*f->code); }) || a.extends_tuple() ||
      !native_of(a).is(AKind::unbound) || read(a.heap).any_class)
    abandon(Reason::unknown_object, "attribute __dict__");
  const HeapId known = read(a.heap).attributes;
  if (known != kNoHeap && heap_[known] && heap_[known]->attributes == a.heap) return AVal::of_heap(known);
  std::vector<AVal> keys, values;
  for (const Symbol name : field_names(a.heap)) {
    if (!class_lookup(a, name).is(AKind::unbound)) abandon(Reason::unknown_object, "attribute __dict__");
    values.push_back(own_attribute(a, name));
    if (values.back().is(AKind::poison))
      abandon_parted(values.back(), fmt::format("attribute {} differs between branches", name.text()));
    keys.push_back(AVal::of(session.str(name)));
  }
  const AVal dict = new_dict(std::move(keys), std::move(values));
  write(dict.heap).attributes = a.heap;
  write(a.heap).attributes = dict.heap;
  return dict;
}

// An attribute was set: so is the item of the __dict__ that was asked for.
void Specialiser::keep_attributes(HeapId id, Symbol name, const AVal& v) {
  const HeapId dict = heap_[id]->attributes;
  if (dict == kNoHeap || !heap_[dict] || heap_[dict]->attributes != id) return;
  const AVal key = AVal::of(session.str(name));
  const int at = dict_position(dict, key);
  AObject& o = write(dict);
  if (at >= 0) {
    o.items.edit(static_cast<size_t>(at)) = v;
  } else {
    o.keys.push_back(key);
    o.items.push_back(v);
  }
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
    assign(a.heap, name, std::move(v));
    return;
  }
  if (const AVal dict = dict_of_function(a, name); !dict.is(AKind::unbound)) {
    set_item(dict, AVal::of(session.str(name)), std::move(v));
    return;
  }
  if (a.is(AKind::closure) && can_box(a, {}, {})) {
    boxed(prim::attr_set, {a, v}, name.id());
    return;
  }
  // What is executed behind it would go by the method that was there.
  const bool is_class = a.is(AKind::known) && kind_of(a.known) == ObjectKind::type;
  if (is_class && (v.is(AKind::closure) || v.is(AKind::bound) || (v.is(AKind::known) && v.known.is_object())))
    abandon_whole(Reason::interpreter_changed, "a class that gets a method");
  if (!a.is(AKind::ref) || kind_at(a.heap) != AObject::Kind::instance)
    abandon(Reason::unknown_object, fmt::format("assignment to attribute {}", name.text()));
  auto* t = read(a.heap).cls.as<runtime::Type>();
  AVal d = class_lookup(a, name);
  const bool moved = d.is(AKind::known) && kind_of(d.known) == ObjectKind::member &&
                     !runtime::is_own_attribute(session, const_cast<runtime::Type*>(t), name);
  if (t->has_setattr || is_instance(d) || moved) {
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
  store_slot(a.heap, name, without_mark(a.heap, name, std::move(v)));
}

// The dict of a function from outside that has the attribute. Unbound: it is for the interpreter to say.
AVal Specialiser::dict_of_function(const AVal& f, Symbol name) {
  if (!f.is(AKind::closure) || f.node == kNoNode || !name || name.text().starts_with("__")) return {};
  auto* fn = runtime::cast_exact<runtime::Function>(f.parts->function);
  auto* dict = fn ? runtime::cast_exact<runtime::Dict>(fn->dict) : nullptr;
  if (!dict) return {};
  auto at = function_dicts_.find(fn);
  if (at == function_dicts_.end()) {
    const Value* v = runtime::dict_find(session, dict, session.str(name));
    if (!v || effects_.unknown) return {};
    AccessNode n;
    n.step = AccessNode::Step::function_dict;
    n.parent = f.node;
    at = function_dicts_.emplace(fn, wrap(fn->dict, n)).first;
  }
  ensure(at->second);
  const AVal& out = at->second;
  if (!out.is(AKind::ref) || kind_at(out.heap) != AObject::Kind::dict || read(out.heap).lost()) return {};
  return key_position(read(out.heap).keys, session.str(name)) >= 0 ? out : AVal{};
}

// What an attribute gets that is set with nn.buffer(x): x. Where it is the first of its class, the class learns it.
AVal Specialiser::without_mark(HeapId id, Symbol name, AVal v) {
  if (!v.is(AKind::dynamic) || !v.atom.is_name()) return v;
  const ir::Atom bare = code.name(v.atom.name()).unmarked;
  if (bare.is_none()) return v;
  const AVal object = AVal::of_heap(id);
  if (read(id).poisoned || read(id).stale) return v;
  const Value cls = read(id).cls;
  if (load_slot(id, name).is(AKind::unbound) && !has_buffer(object, name)) {
    learnt_buffers_.push_back(cls.object());
    const Value note =
        runtime::get_attr(session, runtime::import_module(session, intern("ouro.native.tensors")), "note_buffer");
    boxed_call(AVal::of(note), {AVal::of(cls), AVal::of(session.str(name))}, {});
  }
  return AVal::dynamic(bare, v.type);
}

bool Specialiser::has_buffer(const AVal& object, Symbol name) {
  if (std::ranges::find(learnt_buffers_, class_of(object).object()) != learnt_buffers_.end()) return false;
  const auto names = concrete(class_lookup(object, intern("_buffers")));
  auto* list = names ? cast_exact<runtime::Tuple>(*names) : nullptr;
  return list && std::any_of(list->begin(), list->end(), [&](const Value& n) {
           auto* text = cast_exact<runtime::Str>(n);
           return text && text->view() == name.text();
         });
}

// Of an object that is made inside, and that no class has a say about.
void Specialiser::delete_attr(const AVal& a, Symbol name) {
  const auto refuse = [&] { abandon(Reason::language, "an attribute is deleted"); };
  if (!a.is(AKind::ref) || kind_at(a.heap) != AObject::Kind::instance || !class_lookup(a, name).is(AKind::unbound) ||
      class_lookup(a, intern("__delattr__")).is(AKind::closure))
    refuse();
  const AObject& o = read(a.heap);
  if (o.outside() || o.poisoned || !o.tag.is_none() || o.attributes != kNoHeap) refuse();
  std::vector<AObject::Slot>& slots = write(a.heap).slots;
  const auto at = std::ranges::find(slots, name, &AObject::Slot::name);
  if (at == slots.end() || at->value.is(AKind::unbound)) refuse();
  slots.erase(at);
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
  keep_attributes(id, name, v);
  assign(id, name, std::move(v));
}

}  // namespace ouro::jit
