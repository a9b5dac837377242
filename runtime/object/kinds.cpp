// Memory rows of the kinds of object.h: how each is destroyed, what it refers to (for the cycle collector), how its
// references are dropped to break a cycle.
#include <cstdlib>

#include "runtime/object/alloc.h"
#include "runtime/object/dict.h"
#include "runtime/object/leftovers.h"
#include "runtime/object/session.h"
#include "runtime/object/type_slots.h"

namespace ouro::runtime {

namespace {

using V = Visitor;

void destroy_str(Object* o) {
  auto* s = static_cast<Str*>(o);
  free_memory(s, str_memory(s));
}
void destroy_bytes(Object* o) { free_memory(o, bytes_memory(static_cast<Bytes*>(o)->size)); }

void destroy_tuple(Object* o) {
  auto* t = static_cast<Tuple*>(o);
  untrack(t);
  size_t n = t->size;
  drop_items<false>(t->items(), n, t, sizeof(Tuple) + n * sizeof(Value));
}
// Items of containers: numbers are passed over without a call, but for one in many, which lets an interrupt in.
inline void visit_item(V& v, size_t i, const Value& x) {
  if (x.is_object())
    v.visit(x.object());
  else if ((i & 0xffff) == 0xffff)
    v.visit(static_cast<Object*>(nullptr));
}
void visit_tuple(Object* o, V& v) {
  auto* t = static_cast<Tuple*>(o);
  for (size_t i = 0; i < t->size; ++i) visit_item(v, i, t->items()[i]);
}

void visit_list(Object* o, V& v) {
  auto* l = static_cast<List*>(o);
  for (size_t i = 0; i < l->size; ++i) visit_item(v, i, l->items[i]);
}
void clear_list(Object* o) { static_cast<List*>(o)->clear(); }

void visit_dict(Object* o, V& v) {
  auto* d = static_cast<Dict*>(o);
  for (uint32_t i = 0; i < d->filled; ++i) {
    visit_item(v, i, d->entries[i].key);
    visit_item(v, i, d->entries[i].value);
  }
}
void clear_dict(Object* o) { dict_clear(static_cast<Dict*>(o)); }

void visit_set(Object* o, V& v) {
  auto* t = static_cast<Set*>(o);
  if (!t->table) return;
  for (size_t i = 0; i <= t->mask; ++i) visit_item(v, i, t->table[i].key);
}
void clear_set(Object* o) { set_clear(static_cast<Set*>(o)); }

void visit_slice(Object* o, V& v) {
  auto* x = static_cast<Slice*>(o);
  v.visit(x->start), v.visit(x->stop), v.visit(x->step);
}
void visit_view(Object* o, V& v) { v.visit(static_cast<DictView*>(o)->dict); }

void visit_iterator(Object* o, V& v) {
  auto* x = static_cast<Iterator*>(o);
  v.visit(x->source), v.visit(x->aux);
  for (Value& m : x->more) v.visit(m);
}
void clear_iterator(Object* o) {
  auto* x = static_cast<Iterator*>(o);
  Value a = std::move(x->source), b = std::move(x->aux);
  auto more = std::move(x->more);
}

void visit_function(Object* o, V& v) {
  auto* f = static_cast<Function*>(o);
  for (Value* x :
       {&f->globals, &f->name, &f->qualname, &f->doc, &f->defaults, &f->kwdefaults, &f->annotations, &f->dict})
    v.visit(*x);
  for (Value& x : f->captures) v.visit(x);
}
void clear_function(Object* o) {
  auto* f = static_cast<Function*>(o);
  Value a = std::move(f->defaults), b = std::move(f->kwdefaults), c = std::move(f->annotations), d = std::move(f->dict);
  for (Value& x : f->captures) x = Value();
}

void visit_native(Object* o, V& v) { v.visit(static_cast<Native*>(o)->self); }
void visit_bound(Object* o, V& v) {
  auto* m = static_cast<BoundMethod*>(o);
  v.visit(m->function), v.visit(m->self);
}
void visit_cell(Object* o, V& v) { v.visit(static_cast<Cell*>(o)->value); }
void clear_cell(Object* o) { Value a = std::move(static_cast<Cell*>(o)->value); }

// With a shape the attributes; without one, what stands in __slots__ is a Dict in the only slot (instance_dict).
uint32_t slot_count(const Instance& i) { return i.shape ? i.shape->count : i.slots ? 1 : 0; }

void visit_instance(Object* o, V& v) {
  auto* i = static_cast<Instance*>(o);
  v.visit(i->type);
  for (uint32_t k = 0; k < slot_count(*i); ++k) v.visit(i->slots[k]);
  v.visit(i->dict), v.visit(i->native);
}
void clear_instance(Object* o) {
  auto* i = static_cast<Instance*>(o);
  for (uint32_t k = 0; k < slot_count(*i); ++k) Value gone = std::move(i->slots[k]);
  Value a = std::move(i->dict), b = std::move(i->native);
  if (!i->shape && a.is_object()) i->dict = make_dict();  // still an instance while others finish with it
}
void visit_exception(Object* o, V& v) {
  visit_instance(o, v);
  auto* e = static_cast<Exception*>(o);
  for (Value* x : {&e->args, &e->cause, &e->context, &e->traceback, &e->notes, &e->extra1, &e->extra2}) v.visit(*x);
}
void clear_exception(Object* o) {
  clear_instance(o);
  auto* e = static_cast<Exception*>(o);
  Value a = std::move(e->cause), b = std::move(e->context), c = std::move(e->traceback), d = std::move(e->notes);
}

void visit_type(Object* o, V& v) {
  auto* t = static_cast<Type*>(o);
  v.visit(t->name), v.visit(t->qualname);
  for (Value& b : t->bases) v.visit(b);
  for (auto& e : t->names.entries()) v.visit(e.value);
  for (Value& d : t->dunders) v.visit(d);
}
void clear_type(Object* o) {
  auto* t = static_cast<Type*>(o);
  for (Value& d : t->dunders) d = Value::end();
  for (auto& e : t->names.entries()) Value gone = std::move(e.value);
}

void visit_module(Object* o, V& v) {
  auto* m = static_cast<Module*>(o);
  v.visit(m->name), v.visit(m->file), v.visit(m->doc);
  for (auto& e : m->names.entries()) v.visit(e.value);
}
void clear_module(Object* o) {
  for (auto& e : static_cast<Module*>(o)->names.entries()) Value gone = std::move(e.value);
}

void visit_property(Object* o, V& v) {
  auto* p = static_cast<Property*>(o);
  v.visit(p->get), v.visit(p->set), v.visit(p->del), v.visit(p->doc);
}
void visit_static(Object* o, V& v) { v.visit(static_cast<StaticMethod*>(o)->function); }
void visit_class_method(Object* o, V& v) { v.visit(static_cast<ClassMethod*>(o)->function); }
void visit_super(Object* o, V& v) {
  auto* x = static_cast<Super*>(o);
  v.visit(x->type), v.visit(x->self), v.visit(x->self_type);
}
void destroy_super(Object* o) {
  Type* t = static_cast<Super*>(o)->self_type;
  destroy_object<Super>(o);
  if (t) Value drop = Value::steal(t);
}
template <class T>
void visit_owner(Object* o, V& v) {
  v.visit(static_cast<T*>(o)->keeps_owner);
}
void visit_traceback(Object* o, V& v) {
  v.visit(static_cast<Traceback*>(o)->next), v.visit(static_cast<Traceback*>(o)->globals);
}
void visit_alias(Object* o, V& v) {
  auto* a = static_cast<GenericAlias*>(o);
  v.visit(a->origin), v.visit(a->args), v.visit(a->parameters);
}
void visit_opaque(Object* o, V& v) {
  auto* x = static_cast<Opaque*>(o);
  v.visit(x->type);
  for (Value& i : x->values) v.visit(i);
}
void destroy_opaque(Object* o) {
  Type* t = static_cast<Opaque*>(o)->type;
  destroy_object<Opaque>(o);
  Value drop = Value::steal(t);
}
void clear_opaque(Object* o) { auto gone = std::move(static_cast<Opaque*>(o)->values); }

// An instance whose class has __del__ is kept alive until the finalizer ran, at the next safe point.
template <class T>
void destroy_instance(Object* o) {
  auto* i = static_cast<T*>(o);
  Session* s = current_session();
  if (i->type && i->type->has_del && !(i->flags & kFlagFinalized) && s) {
    i->flags |= kFlagFinalized;
    i->refs = 1;
    s->finalizers.push_back(Value::steal(i));
    s->ask(Session::kFinalizers);
    return;
  }
  Type* t = i->type;
  destroy_object<T>(o);
  if (t) Value drop = Value::steal(t);
}

}  // namespace

Instance::~Instance() {
  if (slots) {
    for (uint32_t i = 0, n = slot_count(*this); i < n; ++i) slots[i].~Value();
    free_memory(slots, slot_capacity * sizeof(Value));
  }
}

void register_core_kinds() {
  using K = ObjectKind;
  register_kind(K::str, {destroy_str});
  register_kind(K::bytes, {destroy_bytes});
  register_kind(K::bytearray, {destroy_object<ByteArray>});
  register_kind(K::list, {destroy_object<List>, visit_list, clear_list});
  register_kind(K::tuple, {destroy_tuple, visit_tuple});
  register_kind(K::dict, {destroy_object<Dict>, visit_dict, clear_dict});
  register_kind(K::set, {destroy_object<Set>, visit_set, clear_set});
  register_kind(K::frozenset, {destroy_object<Set>, visit_set, clear_set});
  register_kind(K::range, {destroy_object<Range>});
  register_kind(K::slice, {destroy_object<Slice>, visit_slice});
  for (K k : {K::dict_keys, K::dict_values, K::dict_items, K::mapping_proxy})
    register_kind(k, {destroy_object<DictView>, visit_view});
  for (K k : {K::iterator, K::enumerate, K::zip, K::map, K::filter, K::reversed})
    register_kind(k, {destroy_object<Iterator>, visit_iterator, clear_iterator});
  register_kind(K::function, {destroy_object<Function>, visit_function, clear_function});
  register_kind(K::native, {destroy_object<Native>, visit_native});
  register_kind(K::bound_method, {destroy_object<BoundMethod>, visit_bound});
  register_kind(K::cell, {destroy_object<Cell>, visit_cell, clear_cell});
  register_kind(K::instance, {destroy_instance<Instance>, visit_instance, clear_instance});
  register_kind(K::exception, {destroy_instance<Exception>, visit_exception, clear_exception});
  register_kind(K::type, {destroy_object<Type>, visit_type, clear_type});
  register_kind(K::module, {destroy_object<Module>, visit_module, clear_module});
  register_kind(K::property, {destroy_object<Property>, visit_property});
  register_kind(K::static_method, {destroy_object<StaticMethod>, visit_static});
  register_kind(K::class_method, {destroy_object<ClassMethod>, visit_class_method});
  register_kind(K::super, {destroy_super, visit_super});
  register_kind(K::member, {destroy_object<Member>, visit_owner<Member>});
  register_kind(K::get_set, {destroy_object<GetSet>, visit_owner<GetSet>});
  register_kind(K::traceback, {destroy_object<Traceback>, visit_traceback});
  register_kind(K::generic_alias, {destroy_object<GenericAlias>, visit_alias});
  register_kind(K::opaque, {destroy_opaque, visit_opaque, clear_opaque});
}

}  // namespace ouro::runtime
