// The world outside: when what a version has written to it is carried out.
//
// On a way through the program everything that was written is still to be carried out, or nothing is. As long as the
// program has done nothing that shows (`Effects::done`), its writes wait: they are the version's results, and whatever
// raises leaves, so that the interpreter does the call again from its beginning. Before the first operation that shows,
// a print or a call of the interpreter, all of them are carried out, and from then on each one at the end of the step
// that made it: what raises there finds the world as the interpreter would have left it. Where two ways meet and one of
// them has done something, the other carries out its writes before it gets there (join.cpp); so does a loop before its
// first iteration when an iteration does something (execute/control.cpp). What escapes (materialise.cpp) is written at
// once.
#include <algorithm>

#include <fmt/format.h>

#include "jit/specialise/specialiser.h"
#include "runtime/interpreter/modules.h"
#include "runtime/interpreter/names_set.h"
#include "runtime/protocol/in_ouro.h"

namespace ouro::jit {

namespace prim = ir::prim;
using ir::Atom;
using runtime::kind_of;
using runtime::ObjectKind;

// ---------------------------------------------------------------- changes

AObject& Specialiser::change(HeapId id) {
  if (heap_[id]->attributes != kNoHeap) abandon(Reason::container, "the __dict__ of an object is written to");
  AObject& o = write(id);
  o.dirty = true;
  if (o.outside()) unwritten_.push_back(id);
  return o;
}

// A slot of an object, variable or module. (What stood in it before was loaded, if anybody knows.)
void Specialiser::assign(HeapId id, Symbol name, AVal v) {
  AObject& o = write(id);
  AObject::Slot* s = o.find(name);
  if (!s) s = &o.slots.emplace_back(AObject::Slot{.name = name});
  s->value = std::move(v);
  s->dirty = true;
  if (o.outside()) unwritten_.push_back(id);
}

bool Specialiser::changed_inside(const AObject& o) const {
  const auto differ = [&](const PersistentArray<AVal>& a, const PersistentArray<AVal>& b) {
    bool differ = a.size() != b.size();
    PersistentArray<AVal>::each_difference(a, b, [&](size_t i) { differ = differ || !same(a[i], b[i]); });
    return differ;
  };
  return o.stale || o.poisoned || differ(o.items, o.loaded) || differ(o.keys.array(), o.loaded_keys.array()) ||
         std::ranges::any_of(o.slots, [&](const AObject::Slot& s) { return !same(s.value, s.loaded); });
}

// ---------------------------------------------------------------- writing

Atom Specialiser::place_of_object(HeapId id) {
  const AObject& o = as_left(id);
  const Atom place = o.escaped ? o.boxed : o.kind == AObject::Kind::globals ? pool(o.concrete) : node_input(o.node);
  if (o.kind == AObject::Kind::list && place.is_name()) code.name(place.name()).list = true;
  return place;
}

void Specialiser::write_items(HeapId id, Atom place) {
  const AObject o = as_left(id);
  const bool list = o.kind == AObject::Kind::list;
  const size_t before = o.memory.size();
  auto set = [&](Atom key, const AVal& v) {
    const Atom value = materialise(v);
    code.let(prim::item_set, {place, key, value}, 0, nullptr, span);
  };
  if (list && o.items.size() < before) {
    const AVal none = AVal::of(Value::none());
    return set(materialise(AVal::compound(AKind::slice, {none, none, none})), new_list(o.items.items()));
  }
  if (!list && !o.only_adds_keys()) {
    const Value clear = runtime::type_lookup(session, session.type(ObjectKind::dict), intern("clear"));
    emit_call(AVal::of(clear), {AVal::dynamic(place, nullptr)}, {});
    for (const AVal& v : o.loaded) note_written(v);
    for (size_t i = 0; i < o.items.size(); ++i) set(materialise(o.keys[i]), o.items[i]);
    return;
  }
  std::vector<size_t> differing;
  PersistentArray<AVal>::each_difference(o.items, o.memory, [&](size_t i) { differing.push_back(i); });
  for (size_t i : differing) {
    if (i >= o.items.size() || (i < before && same(o.items[i], o.memory[i]))) continue;
    if (i < o.loaded.size()) note_written(o.loaded[i]);
    if (!list)
      set(materialise(o.keys[i]), o.items[i]);
    else if (i < before)
      set(code.integer(static_cast<int64_t>(i)), o.items[i]);
    else
      code.let(prim::list_append, {place, materialise(o.items[i])}, 0, nullptr, span);
  }
}

void Specialiser::write_object(HeapId id) {
  if (!as_left(id).dirty && std::ranges::none_of(as_left(id).slots, [](const AObject::Slot& s) { return s.dirty; }))
    return;
  if (as_left(id).poisoned) abandon_torn(as_left(id), "an object");
  const Atom place = place_of_object(id);
  const AObject o = as_left(id);
  const bool hook = o.kind == AObject::Kind::instance && o.cls.as<runtime::Type>()->has_setattr;
  for (size_t i = 0; i < o.slots.size(); ++i) {
    const AObject::Slot& s = o.slots[i];
    if (!s.dirty) continue;
    if (s.value.is(AKind::poison))
      abandon_parted(s.value, fmt::format("attribute {} differs between branches", s.name.text()));
    if (s.value.is(AKind::unbound)) abandon(Reason::language, fmt::format("attribute {} is deleted", s.name.text()));
    if (!same(s.value, s.memory)) {
      note_written(o, s);
      if (o.kind == AObject::Kind::cell)
        code.let(prim::cell_set, {place, materialise(s.value)}, 0, nullptr, span);
      else if (hook)  // it was executed
        emit_call(protocol_native("set_own"), {AVal::dynamic(place, nullptr), AVal::of(session.str(s.name)), s.value},
                  {});
      else
        code.let(prim::attr_set, {place, materialise(s.value)}, s.name.id(), nullptr, span);
    }
    AObject::Slot& written = write(id).slots[i];
    written.dirty = false;
    written.memory = written.value;
  }
  if (!o.dirty) return;
  write_items(id, place);
  AObject& w = write(id);
  w.dirty = false;
  w.memory = w.items;
  w.memory_keys = w.keys;
}

void Specialiser::write_all() {
  if (effects_.done) return write_pending();
  code.effect(true);
  for (HeapId id = 0; id < heap_.size(); ++id)
    if (heap_[id] && heap_[id]->outside()) write_object(id);
  code.effect(false);
  unwritten_.clear();
  effects_.done = true;
}

void Specialiser::write_pending() {
  if (unwritten_.empty()) return;
  const std::vector<HeapId> ids = std::move(unwritten_);
  unwritten_.clear();
  for (HeapId id : ids) {
    if (id >= heap_.size() || !heap_[id]) continue;
    const AObject& o = *heap_[id];
    if (!o.escaped && !(o.external && effects_.done)) continue;
    code.effect(effects_.done);
    write_object(id);
    code.effect(false);
  }
}

// ---------------------------------------------------------------- what is not known

void Specialiser::before_unknown() {
  if (in_try_) abandon(Reason::effects, "an operation of the interpreter inside try");
  write_all();
  code.effect(true);
}

void Specialiser::forget(AObject& o) const {
  static const Symbol class_name = intern("__class__");
  o.stale = true;
  const bool holds_dict = o.kind == AObject::Kind::instance && o.find(Symbol{});
  o.slots.clear();
  if (o.kind == AObject::Kind::list || o.kind == AObject::Kind::dict) o.poisoned = true;
  o.attributes = kNoHeap;
  if (o.kind == AObject::Kind::instance)
    o.any_class = o.any_class || holds_dict || runtime::is_set_by_functions(session, class_name);
}

// The interpreter may have changed anything that is reachable from outside: it is read again, as boxed values.
void Specialiser::after_unknown() {
  effects_.unknown = true;
  code.effect(false);
  const auto is_outside = [&](HeapId id) { return id != kNoHeap && heap_[id] && heap_[id]->outside(); };
  for (HeapId id = 0; id < heap_.size(); ++id)  // and the __dict__ of what is outside
    if (is_outside(id) || (heap_[id] && is_outside(heap_[id]->attributes))) forget(heap_.own(id));
}

// Could an operation on `a` run code of scripts, or reach what they see? Not on numbers, texts and tensors.
bool Specialiser::may_run_scripts(const AVal& a) const {
  if (a.extends_tuple()) return true;
  if (a.is(AKind::tuple) || a.is(AKind::slice))
    return std::ranges::any_of(a.items(), [&](const AVal& i) { return may_run_scripts(i); });
  if (a.is(AKind::dynamic)) return !a.type;
  if (!a.is(AKind::known)) return true;
  switch (kind_of(a.known)) {
    case ObjectKind::none:
    case ObjectKind::ellipsis:
    case ObjectKind::boolean:
    case ObjectKind::integer:
    case ObjectKind::big_int:
    case ObjectKind::floating:
    case ObjectKind::str:
    case ObjectKind::bytes:
    case ObjectKind::range:
    case ObjectKind::dtype:
    case ObjectKind::device:
      return false;
    case ObjectKind::tuple:
      return std::any_of(a.known.as<runtime::Tuple>()->begin(), a.known.as<runtime::Tuple>()->end(),
                         [&](const Value& v) { return may_run_scripts(AVal::of(v)); });
    default:
      return true;
  }
}

// Could the text of `a`?
bool Specialiser::shown_by_scripts(const AVal& a, int depth) const {
  const auto any = [&](const auto& items) {
    return std::ranges::any_of(items, [&](const AVal& i) { return shown_by_scripts(i, depth - 1); });
  };
  if (depth == 0) return true;
  if (a.is(AKind::tuple)) return a.extends_tuple() || any(a.items());
  if (!a.is(AKind::ref)) return may_run_scripts(a);
  const AObject& o = as_left(a.heap);
  const bool plain = o.kind == AObject::Kind::list || o.kind == AObject::Kind::dict;
  return !plain || o.poisoned || any(o.items) || any(o.keys);
}

// Does print() write to something that a script has put in the place of sys.stdout? Guarded.
bool Specialiser::output_is_replaced() {
  const Value sys = runtime::import_module(session, intern("sys"));
  auto* m = runtime::cast_exact<runtime::Module>(sys);
  if (!m) return true;
  const Symbol name = intern("stdout");
  AccessNode n;
  n.step = AccessNode::Step::global;
  n.object = sys;
  n.name = name;
  const Value* stream = m->names.find(name);
  if (stream && !stream->is_unbound()) {
    const AVal v = wrap(*stream, n);
    return !v.is(AKind::known) || kind_of(v.known) != ObjectKind::opaque;
  }
  bool fresh;
  access.nodes[add_node(n, &fresh)].guard = AccessNode::Guard::absent;
  return false;
}

}  // namespace ouro::jit
