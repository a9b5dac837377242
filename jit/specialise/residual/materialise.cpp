// From abstract values to residual atoms: numbers as they are, structure by making it, external objects by their access
// path.
#include <algorithm>

#include <fmt/format.h>

#include "ir/effect.h"
#include "jit/plan/plan_program.h"
#include "jit/specialise/residual/describe.h"
#include "jit/specialise/residual/output.h"
#include "jit/specialise/specialiser.h"
#include "jit/specialise/states/join.h"
#include "runtime/object/dict.h"
#include "runtime/tensor/tensor.h"

namespace ouro::jit {

namespace prim = ir::prim;
using ir::Atom;
using runtime::cast_exact;
using runtime::kind_of;
using runtime::ObjectKind;
using Keywords = std::vector<std::pair<Symbol, AVal>>;

const ir::Type* Specialiser::type_of(const AVal& given) const {
  const AVal& a = one_side(given);
  if (a.is(AKind::dynamic)) return a.type;
  if (!a.is(AKind::known)) return nullptr;
  switch (a.known.tag()) {
    case runtime::Tag::integer:
      return ir::types::integer();
    case runtime::Tag::floating:
      return ir::types::floating();
    case runtime::Tag::boolean:
      return ir::types::boolean();
    case runtime::Tag::none:
      return ir::types::none();
    default:
      return kind_of(a.known) == ObjectKind::str ? ir::types::string() : nullptr;
  }
}

bool Specialiser::is_tensor(const AVal& a) const { return a.is(AKind::dynamic) && a.type && a.type->is_tensor(); }

bool Specialiser::is_number(const AVal& a) const {
  const ir::Type* t = type_of(a);
  return t &&
         (t->kind == ir::TypeKind::integer || t->kind == ir::TypeKind::floating || t->kind == ir::TypeKind::boolean);
}

std::optional<Value> Specialiser::concrete(const AVal& a) const {
  if (a.is(AKind::known) || (a.is(AKind::position) && !a.parts)) return a.known;
  if (a.is(AKind::tuple) && !a.extends_tuple()) {
    std::vector<Value> items;
    for (const AVal& i : a.items()) {
      auto v = concrete(i);
      if (!v) return std::nullopt;
      items.push_back(*v);
    }
    return runtime::make_tuple(items);
  }
  if (a.is(AKind::slice)) {
    auto x = concrete(a.items()[0]), y = concrete(a.items()[1]), z = concrete(a.items()[2]);
    if (x && y && z) return runtime::make_slice(*x, *y, *z);
  }
  return std::nullopt;
}

Value Specialiser::concrete_slice(const AVal& a) {
  return runtime::make_slice(need_constant(a.items()[0], "is a slice's bound"),
                             need_constant(a.items()[1], "is a slice's bound"),
                             need_constant(a.items()[2], "is a slice's step"));
}

// ---------------------------------------------------------------- heap

AObject& Specialiser::write(HeapId id) {
  if (heap_[id]->poisoned) abandon_torn(*heap_[id], "an object");
  return heap_.own(id);
}

HeapId Specialiser::allocate(AObject o) {
  HeapId id = next_heap_++;
  heap_.put(id, std::make_shared<AObject>(std::move(o)));
  return id;
}

AVal Specialiser::new_list(std::vector<AVal> items) {
  AObject o;
  o.kind = AObject::Kind::list;
  o.items = std::move(items);
  return AVal::of_heap(allocate(std::move(o)));
}

AVal Specialiser::new_dict(std::vector<AVal> keys, std::vector<AVal> values) {
  AObject o;
  o.kind = AObject::Kind::dict;
  o.keys = std::move(keys);
  o.items = std::move(values);
  return AVal::of_heap(allocate(std::move(o)));
}

AVal Specialiser::new_set(const std::vector<AVal>& items) {
  AObject o;
  o.kind = AObject::Kind::set;
  o.concrete = runtime::make_set();
  AVal set = AVal::of_heap(allocate(std::move(o)));
  for (const AVal& v : items) set_add(set, v);
  return set;
}

// Of equal items the first stays.
void Specialiser::set_add(const AVal& set, const AVal& item) {
  const Value key = need_key(item, "is in a set");
  if (!set.is(AKind::ref)) abandon(Reason::container, "a set that is not followed");
  if (read(set.heap).poisoned) abandon_torn(read(set.heap), "a set");
  if (key_position(read(set.heap).keys, key) >= 0) return;
  change(set.heap).keys.push_back(AVal::of(key));
  if (runtime::set_add(session, &own_table(set.heap), key) < 0) abandon_raises();
}

void Specialiser::set_discard(const AVal& set, const AVal& item) {
  const Value key = need_key(item, "is in a set");
  if (!set.is(AKind::ref)) abandon(Reason::container, "a set that is not followed");
  if (read(set.heap).poisoned) abandon_torn(read(set.heap), "a set");
  if (key_position(read(set.heap).keys, key) < 0) return;
  change(set.heap).keys.erase_if([&](const AVal& k) { return is_key(k, key); });
  if (runtime::set_discard(session, &own_table(set.heap), key) < 0) abandon_raises();
}

runtime::Set& Specialiser::own_table(HeapId id) {
  AObject& o = write(id);
  if (o.concrete.object()->refs > 1) o.concrete = runtime::set_clone(o.concrete.as<runtime::Set>());
  return *o.concrete.as<runtime::Set>();
}

std::vector<AVal> Specialiser::items_of_set(const AObject& o) const {
  std::vector<AVal> out;
  Value* key = nullptr;
  for (size_t at = 0; runtime::set_next(o.concrete.as<runtime::Set>(), at, key);) out.push_back(AVal::of(*key));
  return out;
}

void Specialiser::set_update(const AVal& set, const AVal& items) {
  if (!set.is(AKind::ref)) abandon(Reason::container, "a set that is not followed");
  if (items.is(AKind::ref) &&
      (kind_at(items.heap) == AObject::Kind::set || kind_at(items.heap) == AObject::Kind::dict)) {
    const AObject from = read(items.heap);  // it is asked for its size first, which decides the order
    if (from.poisoned) abandon_torn(from, "a set");
    if (read(set.heap).poisoned) abandon_torn(read(set.heap), "a set");
    Value source = from.concrete;
    if (from.kind == AObject::Kind::dict) {
      source = runtime::make_dict();
      for (const AVal& key : from.keys)
        if (!runtime::set_item(session, source, key.known, Value::none())) abandon_raises();
    }
    for (const AVal& key : from.keys)
      if (key_position(read(set.heap).keys, key.known) < 0) change(set.heap).keys.push_back(key);
    if (!runtime::set_update(session, &own_table(set.heap), source)) abandon_raises();
    return;
  }
  each_item(items, "becomes a set", [&](const AVal& v) {
    set_add(set, v);
    return true;
  });
}

AVal Specialiser::new_iterator(AObject::Iter kind, AVal source) {
  AObject o;
  o.kind = AObject::Kind::iterator;
  o.iter = kind;
  o.source = std::move(source);
  return AVal::of_heap(allocate(std::move(o)));
}

// ---------------------------------------------------------------- atoms

constexpr int64_t kOfParts = int64_t{1} << 40;

void Specialiser::stays_inside(const Value& v) {
  if (!v.is_int()) return;
  const auto in = [&](int64_t from, size_t n) {
    return v.as_int() >= from && v.as_int() < from + static_cast<int64_t>(n);
  };
  if (in(kIds, heap_.size()) || in(kIds + kOfParts, ids_of_parts_.size()))
    abandon_whole(Reason::identity, "the id of an object");
}

int64_t Specialiser::id_of_parts(const std::shared_ptr<const AParts>& parts) {
  return ids_of_parts_.try_emplace(parts, kIds + kOfParts + static_cast<int64_t>(ids_of_parts_.size())).first->second;
}

Atom Specialiser::constant_atom(const Value& v) {
  stays_inside(v);
  switch (kind_of(v)) {
    case ObjectKind::none:
      return code.none();
    case ObjectKind::boolean:
      return code.boolean(v.as_bool());
    case ObjectKind::integer:
      return code.integer(v.as_int());
    case ObjectKind::floating:
      return code.floating(v.as_float());
    case ObjectKind::str:
      return code.string(v.as<runtime::Str>()->view());
    case ObjectKind::dtype:
      return code.dtype(v.as<runtime::DTypeObject>()->dtype);
    case ObjectKind::tuple: {
      std::vector<Atom> items;
      for (Value& i : *v.as<runtime::Tuple>()) {
        Atom a = constant_atom(i);
        if (a.is_none()) return {};
        items.push_back(a);
      }
      return code.tuple(items);
    }
    default:
      return {};
  }
}

Atom Specialiser::pool(const Value& v) {
  auto [at, fresh] = pooled_.try_emplace(v.is_object() ? v.object() : nullptr, Atom{});
  if (fresh || !v.is_object()) {
    ir::NameId n = code.entry_param(nullptr, intern("constant"));
    access.pool.push_back(v);
    access.pool_inputs.push_back(static_cast<int>(access.inputs++));
    at->second = n;
    return n;
  }
  return at->second;
}

Atom Specialiser::atom(const AVal& a) {
  if (a.is(AKind::dynamic)) return a.atom;
  return materialise(a);
}

// As an operand of a boxed operation. Mutable things made inside are made for good: from here on they live outside.
Atom Specialiser::materialise(const AVal& a) {
  switch (a.kind) {
    case AKind::known: {
      Atom c = constant_atom(a.known);
      return c.is_none() ? pool(a.known) : c;
    }
    case AKind::dynamic:
      return a.atom;
    case AKind::tuple: {
      if (a.node != kNoNode) return node_input(a.node);  // the same one
      if (is_known_outside(a)) return read(a.heap).boxed;
      if (auto v = concrete(a))
        if (Atom c = constant_atom(*v); !c.is_none()) return c;
      std::vector<Atom> items;
      if (std::map<HeapId, bool> seen; !is_plain(a, seen)) return made_by_recipe(a);
      for (const AVal& i : a.items()) items.push_back(materialise(i));
      return code.let(prim::tuple, items, 0, nullptr, span);
    }
    case AKind::slice: {
      if (a.node != kNoNode) return node_input(a.node);
      std::vector<Atom> items;
      for (const AVal& i : a.items()) items.push_back(materialise(i));
      return code.let(prim::slice, items, 0, nullptr, span);
    }
    case AKind::closure:
      if (!a.parts->function.is_unbound() && a.node != kNoNode) return node_input(a.node);
      if (!a.parts->function.is_unbound()) return pool(a.parts->function);
      if (a.heap != kNoHeap && read(a.heap).escaped) return read(a.heap).boxed;
      return made_by_recipe(a);
    case AKind::either:
      return materialise_either(a);
    case AKind::bound:
    case AKind::range:
    case AKind::view:
      return made_by_recipe(a);
    case AKind::ref: {
      const AObject& o = read(a.heap);
      if (o.lost()) return place_of_object(a.heap);
      if (o.poisoned) abandon_torn(o, "an object");
      if (o.escaped) return o.boxed;
      if (o.external && o.kind != AObject::Kind::globals) return node_input(o.node);
      if (o.kind == AObject::Kind::iterator) return made_iterator(a.heap);
      std::map<HeapId, bool> seen;
      return is_plain(a, seen) ? made_object(a.heap) : made_by_recipe(a);
    }
    default:
      abandon(Reason::crossing, "a value that cannot be passed to the interpreter");
  }
}

// An object that extends tuple: was it there, or has it been made real?
bool Specialiser::is_known_outside(const AVal& a) const {
  return a.node != kNoNode || (a.heap != kNoHeap && read(a.heap).escaped);
}

// Lists, dicts and tuples of what is there already, or is made of such, and none that holds itself: there are
// operations that make them.
bool Specialiser::is_plain(const AVal& a, std::map<HeapId, bool>& seen) const {
  const auto plain = [&](const AVal& i) { return is_plain(i, seen); };
  if (a.extends_tuple()) return is_known_outside(a);
  if (a.is(AKind::tuple) || a.is(AKind::slice)) return std::ranges::all_of(a.items(), plain);
  if (a.is(AKind::closure)) return !a.parts->function.is_unbound() || (a.heap != kNoHeap && read(a.heap).escaped);
  if (!a.is(AKind::ref)) return a.is(AKind::known) || a.is(AKind::dynamic);
  const AObject& o = as_left(a.heap);
  if (o.outside()) return true;
  if (o.poisoned || (o.kind != AObject::Kind::list && o.kind != AObject::Kind::dict)) return false;
  if (const auto [at, fresh] = seen.try_emplace(a.heap, false); !fresh) return at->second;
  return seen[a.heap] = std::ranges::all_of(o.items, plain);
}

// A plain list or dict.
Atom Specialiser::made_object(HeapId id) {
  const AObject o = read(id);
  if (o.attributes != kNoHeap) abandon(Reason::crossing, "the __dict__ of an object leaves");
  const bool list = o.kind == AObject::Kind::list;
  std::vector<Atom> items;
  for (size_t i = 0; i < o.items.size(); ++i) {
    if (!list) items.push_back(materialise(o.keys[i]));
    items.push_back(materialise(o.items[i]));
  }
  const Atom made = code.let(list ? prim::list : prim::dict, items, 0, nullptr, span);
  escape(id, made);
  return made;
}

// Of a list or tuple, before its first item.
Atom Specialiser::made_iterator(HeapId id) {
  const AVal source = read(id).source;
  const bool outside = source.is(AKind::ref) && read(source.heap).external && !read(source.heap).lost();
  const bool pending = outside && read(source.heap).dirty;  // the interpreter is to see what was changed
  if (!is_at_start(read(id)) || (pending && (request_.holes || in_try_)))
    abandon(Reason::crossing, "an iterator that exists only here");
  if (pending) {
    before_unknown();
    code.effect(false);
  }
  const Atom made = code.let(prim::iter, {materialise(source)}, 0, nullptr, span);
  escape(id, made);
  return made;
}

// From here on it lives outside, and is there as it is now.
void Specialiser::escape(HeapId id, Atom made) {
  AObject& w = write(id);
  w.escaped = true;
  w.boxed = made;
  w.memory = w.items;
  w.memory_keys = w.keys;
  w.dirty = false;
  for (AObject::Slot& s : w.slots) s.memory = s.value, s.dirty = false;
}

// Any value, with all that it holds and that is not there yet.
Atom Specialiser::made_by_recipe(const AVal& a) {
  Describer d(*this, Describer::For::operand);
  Recipe recipe;
  recipe.value = d.tree(a);
  if (d.is_outdated()) return made_by_recipe(a);
  for (HeapId id : d.made) recipe.made.push_back(Describer::share_of(id));
  std::vector<Atom> atoms{pool(recipe_native(session, std::move(recipe)))};
  ir::CallSig sig;
  for (const Atom part : d.outputs) {
    atoms.push_back(part);
    sig.args.push_back({ir::CallSig::Kind::positional, {}});
  }
  const Atom made = code.let_call(prim::call, atoms, std::move(sig), nullptr, span);
  for (size_t i = 0; i < d.made.size(); ++i)
    escape(d.made[i], code.let(prim::tuple_get, {made}, static_cast<uint32_t>(i + 1), nullptr, span));
  return code.let(prim::tuple_get, {made}, 0, nullptr, span);
}

// The boxed input that holds an access node's value.
Atom Specialiser::node_input(uint32_t node) {
  auto [at, fresh] = node_inputs_.try_emplace(node, Atom{});
  if (fresh) {
    if (access.nodes[node].input >= 0) ouro_bug("specialise: node %u is passed twice", node);
    at->second = code.entry_param(nullptr, intern(access.nodes[node].text()));
    access.nodes[node].input = static_cast<int>(access.inputs++);
  }
  return at->second;
}

AVal Specialiser::emit(ir::Op op, const std::vector<AVal>& args, const ir::Type* type, uint32_t attr) {
  std::vector<Atom> atoms;
  for (const AVal& a : args) atoms.push_back(atom(a));
  return AVal::dynamic(code.let(op, atoms, attr, type, span), type);
}

// ---------------------------------------------------------------- the runtime's operations

void Specialiser::note_hole(Because why, const AVal& out, const std::vector<AVal>& operands) {
  if (raising_ > 0) return;
  const auto unknown = [](const AVal& v) { return v.is(AKind::dynamic) && !v.type && v.atom.is_name(); };
  SpecialiseNote note{std::move(why), script_span(), current_function(), span};
  for (const AVal& v : operands) {
    if (!unknown(v)) continue;
    const uint32_t name = index(v.atom.name());
    const auto item = items_of_lists_.find(name);
    if (const auto at = hole_of_.find(name);
        item != items_of_lists_.end() && (at == hole_of_.end() || at->second >= fallbacks_.size())) {
      hole_of_[name] = static_cast<uint32_t>(fallbacks_.size());
      fallbacks_.push_back(item->second);
    }
    if (const auto at = hole_of_.find(name);
        at != hole_of_.end() && at->second < fallbacks_.size())  // the rest was rolled back
      note.cause = at->second;
  }
  if (unknown(out))
    hole_of_[index(out.atom.name())] =
        note.cause == SpecialiseNote::kNone ? static_cast<uint32_t>(fallbacks_.size()) : note.cause;
  fallbacks_.push_back(std::move(note));
}

AVal Specialiser::boxed(ir::Op op, const std::vector<AVal>& args, uint32_t attr, const ir::Type* type) {
  const bool iterates = op == prim::iter || op == prim::iter_next || op == prim::is_end;
  if (!is_runnable(op) || (iterates && !request_.holes))
    abandon(Reason::unknown_value, fmt::format("{} on values whose types are not known", ir::op_name(op)));
  if (request_.holes) need_plain(args);
  const bool touches_objects =
      !request_.holes && std::ranges::any_of(args, [&](const AVal& a) { return may_run_scripts(a); });
  check_recorded(args);
  if (touches_objects) before_unknown();
  std::vector<Atom> atoms;
  for (const AVal& a : args) atoms.push_back(materialise(a));
  AVal out = AVal::dynamic(code.let(op, atoms, attr, type, span), type);
  std::string_view name = "operation";
  for (const ir::PrimDef& p : ir::kPrims)
    if (p.op == op) name = p.name;
  const bool reads = reads_list(op, args);
  if (reads && op == prim::item_get && args[1].is(AKind::slice)) code.name(out.atom.name()).list = true;
  if (!reads)
    note_hole({Reason::unknown_value, fmt::format("{} on values whose types are not known", name)}, out, args);
  else if (!type)
    note_item(out);
  if (reads)
    code.effect(false);
  else if (touches_objects)
    after_unknown();
  if (request_.holes) forget_made();
  return out;
}

bool is_at_start(const AObject& iterator) {
  const bool plain = iterator.iter == AObject::Iter::list || iterator.iter == AObject::Iter::tuple;
  const AVal& at = iterator.cursor;
  return plain && !iterator.external && !iterator.poisoned &&
         (at.is(AKind::unbound) || (at.is(AKind::known) && at.known.is_int() && at.known.as_int() == 0));
}

// Is it there outside, or can be?
bool Specialiser::can_be_made(const AVal& a) const {
  if (a.is(AKind::either)) return can_be_made(a.items()[0]) && can_be_made(a.items()[1]);
  if (a.is(AKind::closure))
    return !a.parts->function.is_unbound() || (a.heap != kNoHeap && !is_derived(*a.parts->code));
  if (a.is(AKind::ref)) {
    using Kind = AObject::Kind;
    const AObject& o = read(a.heap);
    const bool made = o.kind == Kind::list || o.kind == Kind::dict || o.kind == Kind::set || o.kind == Kind::instance ||
                      o.kind == Kind::cell || o.kind == Kind::record;
    if (o.kind == Kind::iterator && !o.lost()) return is_at_start(o) && can_be_made(o.source);
    return o.lost() || (!o.poisoned && (o.external || made));
  }
  return a.is(AKind::known) || a.is(AKind::dynamic) || a.is(AKind::tuple) || a.is(AKind::slice) || a.is(AKind::bound) ||
         a.is(AKind::range) || a.is(AKind::view);
}

bool Specialiser::can_box(const AVal& f, const std::vector<AVal>& args, const Keywords& keywords) const {
  const auto made = [&](const AVal& a) { return can_be_made(a); };
  return !in_try_ && made(f) && std::ranges::all_of(args, made) &&
         std::ranges::all_of(keywords, [&](const auto& k) { return made(k.second); });
}

// What the runtime does by itself is not recorded.
void Specialiser::check_recorded(const std::vector<AVal>& args) {
  if (recording_ && std::ranges::any_of(args, [&](const AVal& a) { return shown_by_scripts(a); }))
    abandon(Reason::derivative, "a built-in function that may call scripts, in differentiated code");
}

AVal Specialiser::boxed_call(const AVal& f, const std::vector<AVal>& args, const Keywords& keywords,
                             const ir::Type* type) {
  if (!can_box(f, args, keywords))
    abandon(Reason::crossing,
            fmt::format("call of {} by the interpreter with values that exist only here", callee_name(f)));
  check_recorded(args);
  if (request_.holes)
    need_plain_call(f, args, keywords);
  else
    before_unknown();
  AVal out = emit_call(f, args, keywords, type);
  note_hole({Reason::call, fmt::format("call of {}", callee_name(f))}, out, {f});
  request_.holes ? forget_made() : after_unknown();
  return out;
}

// A call that only writes output, unless scripts say what the output is.
AVal Specialiser::boxed_output(const AVal& f, const std::vector<AVal>& args, const Keywords& keywords) {
  const bool scripts = effects_.unknown || output_is_replaced() ||
                       std::ranges::any_of(args, [&](const AVal& a) { return shown_by_scripts(a); }) ||
                       std::ranges::any_of(keywords, [&](const auto& k) { return may_run_scripts(k.second); });
  if (scripts) return boxed_call(f, args, keywords);
  AVal out = output_call(f, args, keywords, nullptr);
  note_hole({Reason::call, fmt::format("call of {}", callee_name(f))}, out, {});
  return out;
}

AVal Specialiser::output_call(const AVal& f, const std::vector<AVal>& args, const Keywords& keywords,
                              const ir::Type* type) {
  if (!can_box(f, args, keywords))
    abandon(Reason::crossing,
            fmt::format("call of {} by the interpreter with values that exist only here", callee_name(f)));
  if (request_.holes && callee_name(f) != "print") abandon_whole(Reason::call, "a call that may give anything");
  before_unknown();
  AVal out = emit_call(f, args, keywords, type);
  code.effect(false);
  return out;
}

AVal Specialiser::pure_call(const AVal& f, const std::vector<AVal>& args, const Keywords& keywords,
                            const ir::Type* type) {
  AVal out = emit_call(f, args, keywords, type);
  std::vector<Value> values, of_keywords, names;
  std::vector<const AVal*> from;
  const auto seen = [&](const AVal& a, std::vector<Value>& into) {
    from.push_back(&a);
    if (auto v = witness(a)) into.push_back(std::move(*v));
  };
  for (const AVal& a : args) seen(a, values);
  for (const auto& [name, v] : keywords) {
    seen(v, of_keywords);
    names.push_back(session.str(name));
  }
  if (!type || values.size() + of_keywords.size() != from.size()) return out;
  Value v = runtime::call(session, f.known, runtime::Args{values, of_keywords, names});
  if (v.is_error())
    session.pending = Value();
  else
    derive_witness(out, from, std::move(v));
  return out;
}

AVal Specialiser::of_builtin(std::string_view name, const std::vector<AVal>& args, const ir::Type* type) {
  return pure_call(AVal::of(runtime::builtin(session, intern(name), false)), args, {}, type);
}

AVal Specialiser::emit_call(const AVal& f, const std::vector<AVal>& args, const Keywords& keywords,
                            const ir::Type* type) {
  std::vector<Atom> atoms{materialise(f)};
  ir::CallSig sig;
  for (const AVal& a : args) {
    atoms.push_back(materialise(a));
    sig.args.push_back({ir::CallSig::Kind::positional, {}});
  }
  for (const auto& [name, v] : keywords) {
    atoms.push_back(materialise(v));
    sig.args.push_back({ir::CallSig::Kind::keyword, name});
  }
  return AVal::dynamic(code.let_call(prim::call, atoms, std::move(sig), type, span), type);
}

AVal Specialiser::boxed_method(const AVal& a, Symbol name, const std::vector<AVal>& args, const Keywords& keywords,
                               const AVal* loaded) {
  std::vector<AVal> all{a};
  all.insert(all.end(), args.begin(), args.end());
  if (!can_box(a, args, keywords))
    abandon(Reason::crossing,
            fmt::format("call of {} by the interpreter with values that exist only here", name.text()));
  check_recorded(all);
  if (request_.holes) {
    need_plain(all);
    for (const auto& k : keywords) need_plain({k.second});
  } else {
    before_unknown();
  }
  std::vector<Atom> atoms;
  ir::CallSig sig;
  sig.method = name;
  if (loaded) atoms.push_back(materialise(*loaded));
  for (const AVal& v : all) atoms.push_back(materialise(v));
  for (size_t i = 0; i < args.size(); ++i) sig.args.push_back({ir::CallSig::Kind::positional, {}});
  for (const auto& [k, v] : keywords) {
    atoms.push_back(materialise(v));
    sig.args.push_back({ir::CallSig::Kind::keyword, k});
  }
  ir::Op op = loaded ? prim::call_loaded : prim::call_method;
  AVal out = AVal::dynamic(code.let_call(op, atoms, std::move(sig), nullptr, span), nullptr);
  note_hole({Reason::call, fmt::format("method {}", name.text())}, out, {a});
  request_.holes ? forget_made() : after_unknown();
  return out;
}

std::string Specialiser::callee_name(const AVal& f) {
  if (f.is(AKind::closure)) return std::string(f.parts->code->name.text());
  if (f.is(AKind::known)) {
    if (auto* n = cast_exact<runtime::Native>(f.known)) return std::string(n->def->name);
    if (auto* t = cast_exact<runtime::Type>(f.known)) return std::string(t->text());
  }
  return "a value that is not known";
}

Symbol Specialiser::current_function() const { return frames_.empty() ? function_name : frames_.back()->code->name; }

void Specialiser::abandon_raises() {
  session.pending = Value();
  abandon(Reason::raises, "an operation that raises");
}
void Specialiser::abandon(Reason reason, std::string text) { throw Abandon{{reason, std::move(text)}, script_span()}; }
void Specialiser::abandon_whole(Reason reason, std::string text) {
  throw Abandon{{reason, std::move(text)}, script_span(), true};
}

Span Specialiser::script_span() const {
  Span at = span;
  for (size_t i = frames_.size(); i-- > 0; at = frames_[i]->call_site)
    if (is_of_script(at)) return at;
  return span;
}

}  // namespace ouro::jit
