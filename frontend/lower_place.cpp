// Assignment targets and places (docs/design/rules.md C16). A target `root[i][j]` or `object.attr[i][j]` is
// written by one `update`, whose result becomes the root's value again: tensors are values, so
// writing an item gives the variable (cell, global, attribute) a new one. Anything else is written
// through a reference: attr.set, item.set.
#include <algorithm>

#include "frontend/lowerer.h"

namespace ouro::frontend {
using namespace ast;
using ir::PlacePath;

void Lowerer::store(const ExprNode* target, Atom value) {
  switch (target->kind) {
    case Kind::Name:
      return assign(mangled(as<Name>(target).id), value, target->span);
    case Kind::Attribute: {
      auto& a = as<Attribute>(target);
      Atom object = expr(a.value);
      let(target->span, prim::attr_set, {object, value}, mangled(a.attr));
      return;
    }
    case Kind::Subscript:
      return store_item(as<Subscript>(target), value);
    case Kind::Tuple:
      return unpack(*target, as<Tuple>(target).elts, value);
    case Kind::List:
      return unpack(*target, as<List>(target).elts, value);
    case Kind::Starred:
      return store(as<Starred>(target).value, value);
    default:
      ouro_bug("%s is no target", kind_name(target->kind));
  }
}

void Lowerer::unpack(const ExprNode& target, Exprs elts, Atom value) {
  size_t n = elts.size(), star = n;
  for (size_t i = 0; i < n; ++i)
    if (is<Starred>(elts[i])) star = i;
  NameId items = star == n ? let(target.span, prim::unpack, {value}, static_cast<uint32_t>(n))
                           : let(target.span, prim::unpack_star, {value}, ir::star_attr(star, n - star - 1));
  for (size_t i = 0; i < n; ++i) store(elts[i], let(elts[i]->span, prim::tuple_get, {items}, static_cast<uint32_t>(i)));
}

static PlacePath item_path(size_t items, Symbol attr) {
  PlacePath p;
  if (attr) p.steps.push_back({false, attr});
  for (size_t i = 0; i < items; ++i) p.steps.push_back({true, {}});
  return p;
}

// Is the variable's value the root of an update (else a cell, or a global)?
bool Lowerer::is_value(Symbol name) {
  const Variable& v = scope_.vars[var_index(name)];
  return v.storage == Storage::local || (v.storage == Storage::class_name && v.has(Variable::kBound));
}

// The root is a variable: its value is replaced by the update's result.
void Lowerer::update_variable(const Name& root, PlacePath path, const Atoms& items, Atom value, Span span) {
  Symbol name = mangled(root.id);
  uint32_t i = var_index(name);
  const Variable& v = scope_.vars[i];
  Atoms args;
  path.name = name;
  bool is_value = false;
  switch (v.storage) {
    case Storage::global:
      path.root = PlacePath::Root::global;
      break;
    case Storage::cell:
      path.root = PlacePath::Root::cell;
      args.push_back(slots_[i].cell);
      break;
    case Storage::captured:
      path.root = PlacePath::Root::cell;
      args.push_back(captures_[v.slot]);
      break;
    case Storage::class_name:
      if (!v.has(Variable::kBound)) {  // a global, seen from a class body
        path.root = PlacePath::Root::global;
        break;
      }
      [[fallthrough]];
    case Storage::local:
      args.push_back(load(name, root.span));
      is_value = true;
  }
  args.append(items.begin(), items.end());
  args.push_back(value);
  b_.set_span(span);
  NameId result = b_.update(std::move(path), view(args));
  if (is_value) assign(name, result, span);
}

// What is between reading a place and writing it may run a script.
static bool indices_call(const PlaceChain& chain) { return std::ranges::any_of(chain.indices, may_call); }

// The containers of a place's items, loaded in CPython's order: each before the next index.
struct Lowerer::HeldPlace {
  Atom base;         // of an attribute: its object
  Atoms containers;  // of the items
  Atoms items;
};

Lowerer::HeldPlace Lowerer::hold_place(const Subscript& target, const PlaceChain& chain) {
  HeldPlace p;
  const Name* root = chain.root_name();
  if (!root) p.base = expr(chain.base);
  p.containers.push_back(root ? load(mangled(root->id), root->span)
                              : Atom(let(chain.attr->span, prim::attr_get, {p.base}, mangled(chain.attr->attr))));
  SmallVec<Span, 2> spans;
  const ExprNode* step = &target;
  for (size_t i = 0; i < chain.indices.size(); ++i, step = as<Subscript>(step).value) spans.push_back(step->span);
  for (size_t i = 0; i < chain.indices.size(); ++i) {
    p.items.push_back(expr(chain.indices[i]));
    if (i + 1 < chain.indices.size())
      p.containers.push_back(let(spans[spans.size() - 1 - i], prim::item_get, {p.containers.back(), p.items.back()}));
  }
  return p;
}

// Writes to an item of what is held; the root of a local variable is the variable itself.
void Lowerer::update_held(const PlaceChain& chain, const HeldPlace& place, PlacePath path, Atom value, Span span) {
  const Name* root = chain.root_name();
  const bool own_root = root && is_value(mangled(root->id));
  Atoms args;
  if (!root) args.push_back(place.base);
  args.append(place.items.begin(), place.items.end());
  args.append(place.containers.begin() + own_root, place.containers.end());
  path.held = place.containers.size() > own_root;
  if (root) return update_variable(*root, std::move(path), args, value, span);
  args.push_back(value);
  b_.set_span(span);
  b_.update(std::move(path), view(args));
}

void Lowerer::store_item(const Subscript& target, Atom value) {
  PlaceChain chain = place_chain(target);
  if (!chain.is_place()) {
    Atom object = expr(target.value);
    Atom index = expr(target.slice);
    let(target.span, prim::item_set, {object, index, value});
    return;
  }
  const Name* root = chain.root_name();
  PlacePath path = item_path(chain.indices.size(), root ? Symbol() : mangled(chain.attr->attr));
  if (indices_call(chain)) return update_held(chain, hold_place(target, chain), std::move(path), value, target.span);
  Atoms items;
  if (root) {
    // An unbound variable is noticed before the index is evaluated.
    const Variable& v = scope_.vars[var_index(mangled(root->id))];
    if (v.storage == Storage::local) load(mangled(root->id), root->span);
    for (const ExprNode* i : chain.indices) items.push_back(expr(i));
    update_variable(*root, std::move(path), items, value, target.span);
    return;
  }
  Atoms args;
  args.push_back(expr(chain.base));
  for (const ExprNode* i : chain.indices) args.push_back(expr(i));
  args.push_back(value);
  b_.set_span(target.span);
  b_.update(std::move(path), view(args));
}

// ---- augmented ---------------------------------------------------------------------------------------------------
// CPython: load the target, evaluate the value, operate, store. Where the value is quiet an `update` does it all: it
// loads the target last, and nobody can tell. Else what was loaded first is an argument of the update.

// Evaluating it neither raises nor runs a script.
bool Lowerer::is_quiet(const ExprNode* e) {
  if (e->kind == Kind::Constant || is_negative_number(e)) return true;
  if (e->kind != Kind::Name) return false;
  const uint32_t i = var_index(mangled(as<Name>(e).id));
  return scope_.vars[i].storage == Storage::local && assigned_.has(i);
}

void Lowerer::aug_assign(const AugAssign& s) {
  switch (s.target->kind) {
    case Kind::Name:
      return aug_assign_name(s, as<Name>(s.target));
    case Kind::Attribute:
      return aug_assign_attribute(s, as<Attribute>(s.target));
    default:
      return aug_assign_item(s, as<Subscript>(s.target));
  }
}

void Lowerer::aug_assign_name(const AugAssign& s, const Name& target) {
  Symbol name = mangled(target.id);
  Storage where = scope_.vars[var_index(name)].storage;
  if (where == Storage::global || where == Storage::cell || where == Storage::captured) {
    PlacePath path;
    path.augmented = true;
    path.in_place = op_of(s.op);
    path.loaded = !is_quiet(s.value);
    Atoms before;
    if (path.loaded) before.push_back(load(name, target.span));
    Atom value = expr(s.value);
    return update_variable(target, std::move(path), before, value, s.span);
  }
  Atom old = load(name, target.span);
  Atom value = expr(s.value);
  assign(name, let(s.span, in_place_op_of(s.op), {old, value}), s.span);
}

void Lowerer::aug_assign_attribute(const AugAssign& s, const Attribute& target) {
  Atom object = expr(target.value);
  Symbol attr = mangled(target.attr);
  PlacePath path = item_path(0, attr);
  path.augmented = true;
  path.in_place = op_of(s.op);
  path.loaded = !is_quiet(s.value);
  Atoms args;
  args.push_back(object);
  if (path.loaded) args.push_back(let(target.span, prim::attr_get, {object}, attr));
  args.push_back(expr(s.value));
  b_.set_span(s.span);
  b_.update(std::move(path), view(args));
}

void Lowerer::aug_assign_item(const AugAssign& s, const Subscript& target) {
  PlaceChain chain = place_chain(target);
  ir::Op op = in_place_op_of(s.op);
  if (!chain.is_place()) {
    Atom object = expr(target.value);
    Atom index = expr(target.slice);
    Atom old = let(target.span, prim::item_get, {object, index});
    Atom value = expr(s.value);
    Atom result = let(s.span, op, {old, value});
    let(target.span, prim::item_set, {object, index, result});
    return;
  }
  const Name* root = chain.root_name();
  PlacePath path = item_path(chain.indices.size(), root ? Symbol() : mangled(chain.attr->attr));
  const bool quiet = is_quiet(s.value);
  if (quiet) {
    path.augmented = true;
    path.in_place = op_of(s.op);
  }
  if (!quiet || indices_call(chain)) {
    const HeldPlace place = hold_place(target, chain);
    if (quiet) return update_held(chain, place, std::move(path), expr(s.value), s.span);
    Atom old = let(target.span, prim::item_get, {place.containers.back(), place.items.back()});
    Atom value = expr(s.value);
    return update_held(chain, place, std::move(path), let(s.span, op, {old, value}), target.span);
  }
  Atoms args;
  if (!root) args.push_back(expr(chain.base));
  // An unbound variable is noticed before the index is evaluated.
  if (root && scope_.vars[var_index(mangled(root->id))].storage == Storage::local) load(mangled(root->id), root->span);
  for (const ExprNode* i : chain.indices) args.push_back(expr(i));
  Atom value = expr(s.value);
  if (root) return update_variable(*root, std::move(path), args, value, s.span);
  args.push_back(value);
  b_.set_span(s.span);
  b_.update(std::move(path), view(args));
}

void Lowerer::delete_target(const ExprNode* target) {
  switch (target->kind) {
    case Kind::Name:
      return remove(mangled(as<Name>(target).id), target->span);
    case Kind::Attribute: {
      auto& a = as<Attribute>(target);
      Atom object = expr(a.value);
      let(target->span, prim::attr_del, {object}, mangled(a.attr));
      return;
    }
    case Kind::Subscript: {
      auto& x = as<Subscript>(target);
      Atom object = expr(x.value);
      Atom index = expr(x.slice);
      let(target->span, prim::item_del, {object, index});
      return;
    }
    case Kind::Tuple:
      for (const ExprNode* t : as<Tuple>(target).elts) delete_target(t);
      return;
    case Kind::List:
      for (const ExprNode* t : as<List>(target).elts) delete_target(t);
      return;
    default:
      ouro_bug("%s cannot be deleted", kind_name(target->kind));
  }
}

}  // namespace ouro::frontend
