#include "jit/specialise/residual/describe.h"

#include <algorithm>

#include <fmt/format.h>

namespace ouro::jit {

using ir::Atom;
using K = OutputTree::Kind;

namespace {
constexpr uint32_t kParts = uint32_t{1} << 31;  // from here on shares of values that have no place in the heap

OutputTree constant(Value v) {
  OutputTree t;
  t.constant = std::move(v);
  return t;
}
}  // namespace

OutputTree Describer::output(Atom a) {
  OutputTree t;
  t.kind = K::output;
  const std::pair<bool, uint32_t> place{a.is_name(), a.is_name() ? ir::index(a.name()) : ir::index(a.constant())};
  auto [at, fresh] = places_.try_emplace(place, outputs.size());
  if (fresh) outputs.push_back(a);
  t.index = static_cast<int>(at->second);
  return t;
}

OutputTree Describer::outside(uint32_t node) {
  if (for_ == For::operand) return output(s_.node_input(node));
  OutputTree t;
  t.kind = K::node;
  t.index = static_cast<int>(node);
  return t;
}

bool Describer::first(const AVal& a, OutputTree& t) {
  t.share = shares_.try_emplace(a.parts, kParts + static_cast<uint32_t>(shares_.size())).first->second;
  return ++seen_[t.share] == 1;
}

bool Describer::is_outdated() const {
  return std::ranges::any_of(made, [&](HeapId id) { return s_.as_left(id).escaped; });
}

void Describer::settle(OutputTree& t) const {
  const auto at = seen_.find(t.share);
  if (at != seen_.end() && at->second == 1) t.share = UINT32_MAX;
  for (OutputTree& p : t.parts) settle(p);
}

OutputTree Describer::tree(const AVal& a) {
  s_.need_stack("values nested too deeply");
  OutputTree t;
  const auto compound = [&](K kind) {
    t.kind = kind;
    if (first(a, t))
      for (const AVal& i : a.items()) t.parts.push_back(tree(i));
    return t;
  };
  if (a.parts && a.node != kNoNode && !a.is(AKind::closure)) return outside(a.node);
  switch (a.kind) {
    case AKind::unbound:
      return constant(Value());
    case AKind::known:
      s_.stays_inside(a.known);
      return constant(a.known);
    case AKind::dynamic:
      return output(a.atom);
    case AKind::tuple:
      return a.extends_tuple() ? extension(a) : compound(K::tuple);
    case AKind::bound:
      return compound(K::bound);
    case AKind::slice:
      return compound(K::slice);
    case AKind::range:
      return compound(K::range);
    case AKind::view:
      t.constant = a.known;
      return compound(K::view);
    case AKind::closure:
      return closure(a);
    case AKind::ref:
      return object(a.heap);
    case AKind::either:
      return output(s_.materialise(a));
    case AKind::poison:
      s_.abandon_parted(a, "value differs between branches");
    default:
      s_.abandon(Reason::crossing, "a result that exists only inside");
  }
}

OutputTree Describer::extension(const AVal& a) {
  const bool inside = a.heap != kNoHeap;
  if (inside && s_.read(a.heap).escaped) return output(s_.read(a.heap).boxed);
  OutputTree t;
  t.kind = K::tuple;
  t.constant = a.known;
  if (inside) t.share = share_of(a.heap);
  if (inside ? ++seen_[t.share] > 1 : !first(a, t)) return t;
  if (inside) made.push_back(a.heap);
  for (const AVal& i : a.items()) t.parts.push_back(tree(i));
  return t;
}

OutputTree Describer::closure(const AVal& a) {
  if (!a.parts->function.is_unbound()) return a.node != kNoNode ? outside(a.node) : constant(a.parts->function);
  if (a.heap != kNoHeap && s_.read(a.heap).escaped) return output(s_.read(a.heap).boxed);
  // What is made of forms and pullbacks here raises nothing and knows nothing of recordings and of slots that the
  // interpreter's have: it stays inside.
  if (s_.is_derived(*a.parts->code)) s_.abandon(Reason::crossing, "a function made inside for a derivative leaves");
  OutputTree t;
  t.kind = K::closure;
  if (a.heap == kNoHeap) s_.abandon(Reason::branches, "value differs between branches");
  t.share = share_of(a.heap);
  if (++seen_[t.share] > 1) return t;
  made.push_back(a.heap);
  t.code = a.parts->code;
  t.constant = a.parts->globals;
  t.parts.push_back(a.parts->defaults.empty() ? constant(Value::none()) : tree(AVal::tuple(a.parts->defaults)));
  OutputTree by_name = constant(Value::none());
  if (!a.parts->kwdefaults.empty()) {
    by_name.kind = K::dict;
    for (const auto& [name, v] : a.parts->kwdefaults) {
      by_name.keys.push_back(s_.session.str(name));
      by_name.parts.push_back(tree(v));
    }
  }
  t.parts.push_back(std::move(by_name));
  t.parts.push_back(a.parts->annotations.empty() ? constant(Value::none()) : tree(a.parts->annotations[0]));
  for (const AVal& c : a.items()) t.parts.push_back(tree(c));
  return t;
}

OutputTree Describer::object(HeapId id) {
  const AObject o = s_.as_left(id);
  if (!o.tag.is_none() && for_ == For::exit) s_.abandon_at_exit(o);
  if (o.poisoned && !o.lost()) s_.abandon_torn(o, "an object");
  if (o.escaped) return output(o.boxed);
  if (o.external && o.kind != AObject::Kind::globals) return outside(o.node);
  if (o.kind == AObject::Kind::dict && o.attributes != kNoHeap)
    s_.abandon(Reason::crossing, "the __dict__ of an object leaves");
  OutputTree t;
  t.share = share_of(id);
  const bool first = ++seen_[id] == 1;
  if (first) made.push_back(id);
  const auto with_items = [&] {
    if (!first) return;
    for (const AVal& i : o.items) t.parts.push_back(tree(i));
  };
  switch (o.kind) {
    case AObject::Kind::list:
      t.kind = K::list;
      with_items();
      return t;
    case AObject::Kind::dict:
      t.kind = K::dict;
      for (size_t i = 0; first && i < o.keys.size(); ++i) {
        s_.stays_inside(o.keys[i].known);
        t.keys.push_back(o.keys[i].known);
      }
      with_items();
      return t;
    case AObject::Kind::set:
      t.kind = K::set;
      t.constant = o.concrete;
      for (const AVal& key : o.keys) s_.stays_inside(key.known);
      return t;
    case AObject::Kind::cell:
      t.kind = K::cell;
      if (first) t.parts.push_back(tree(o.slots[0].value));
      return t;
    case AObject::Kind::record:
    case AObject::Kind::instance:
      t.kind = o.kind == AObject::Kind::record ? K::record : K::instance;
      t.constant = o.cls;
      if (!first) return t;
      for (const AObject::Slot& slot : o.slots) {
        if (slot.value.is(AKind::unbound)) continue;  // deleted
        if (slot.value.is(AKind::poison))
          s_.abandon_parted(slot.value, fmt::format("attribute {} differs between branches", slot.name.text()));
        t.names.push_back(slot.name);
        t.parts.push_back(tree(slot.value));
      }
      return t;
    default:
      s_.abandon(Reason::crossing, "a result that exists only inside");
  }
}

}  // namespace ouro::jit
