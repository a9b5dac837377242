// Loading what exists outside: a concrete value, reached by an access path, becomes an abstract one. Structure is
// guarded and taken apart (objects lazily, attribute by attribute), numbers become inputs of the typed program.
#include <algorithm>

#include <fmt/format.h>

#include "jit/specialise/specialiser.h"
#include "runtime/autodiff/autodiff.h"
#include "runtime/interpreter/names_set.h"
#include "runtime/protocol/lookup.h"
#include "runtime/tensor/tensor.h"

namespace ouro::jit {

using ir::index;
using runtime::kind_of;
using runtime::ObjectKind;

namespace {
// A longer list is data: passed on boxed. One of numbers is data much earlier than one of layers or tensors, as deep
// models have them.
constexpr size_t kMaxNumbers = 1024, kMaxItems = 32 * 1024;
// So is what stands deeper in what is nested.
constexpr uint32_t kMaxSteps = 256;

std::array<uint64_t, 5> key_of(const AccessNode& n) {
  return {static_cast<uint64_t>(n.step), n.parent, n.index, n.name.id(), static_cast<uint64_t>(n.object.bits())};
}
bool number_or_text(const Value& v) {
  return v.is_int() || v.is_float() || v.is_bool() || runtime::cast_exact<runtime::Str>(v);
}
// Of what a class extends: a value that nobody can change.
bool extends_value(const Value& native) { return native.is_int() || runtime::cast_exact<runtime::Str>(native); }
// A number, a text, or a tuple of such: equal ones mean the same, and no script compares them.
bool plain_key(const Value& k, int depth = 4) {
  if (auto* t = runtime::cast_exact<runtime::Tuple>(k))
    return depth > 0 && std::all_of(t->begin(), t->end(), [=](const Value& v) { return plain_key(v, depth - 1); });
  return k.is_int() || k.is_bool() || runtime::cast_exact<runtime::Str>(k);
}
// Does the program know the dict's items one by one? One with other keys than numbers and texts, or with many numbers,
// is data.
bool taken_apart(const runtime::Dict& d) {
  if (d.used > kMaxItems) return false;
  bool data = d.used > kMaxNumbers;
  for (uint32_t i = 0; i < d.filled; ++i) {
    if (d.entries[i].key.is_unbound()) continue;
    if (!plain_key(d.entries[i].key)) return false;
    data &= number_or_text(d.entries[i].value);
  }
  return !data;
}
}  // namespace

uint32_t Specialiser::find_node(const AccessNode& n) const {
  auto at = node_index_.find(key_of(n));
  return at == node_index_.end() ? kNoNode : at->second;
}

uint32_t Specialiser::steps_to(uint32_t node) const {
  if (node == kNoNode) return 0;
  uint32_t n = 1;
  for (; access.nodes[node].has_parent(); node = access.nodes[node].parent) ++n;
  return n;
}

uint32_t Specialiser::add_node(AccessNode n, bool* fresh) {
  auto [at, added] = node_index_.try_emplace(key_of(n), static_cast<uint32_t>(access.nodes.size()));
  *fresh = added;
  if (added) {
    access.nodes.push_back(std::move(n));
    node_values_.emplace_back();
  }
  return at->second;
}

AVal Specialiser::input(const ir::Type* type, uint32_t node, const Value& witness) {
  if (!type && request_.holes) abandon_whole(Reason::unknown_object, "a value of which nothing is known");
  ir::NameId n = code.entry_param(type, intern(access.nodes[node].text()));
  access.nodes[node].input = static_cast<int>(access.inputs++);
  if (type && !type->is_tensor()) {
    code.name(n).witness = witness;
    code.name(n).leaves = {node};
  }
  AVal v = AVal::dynamic(n, type);
  v.node = node;
  return v;
}

// Does it stand in an argument that the program is made for (`jit(static=)`)?
bool Specialiser::is_fixed(uint32_t id) const {
  using Step = AccessNode::Step;
  for (const AccessNode* n = &access.nodes[id];; n = &access.nodes[n->parent]) {
    if (n->step == Step::argument) return n->index < request_.fixed.size() && request_.fixed[n->index];
    if (n->step == Step::function || n->step == Step::global || n->step == Step::class_attr) return false;
  }
}

// Is it an argument, or an item of one?
bool Specialiser::is_data(uint32_t id) const {
  using Step = AccessNode::Step;
  const AccessNode* n = &access.nodes[id];
  while (n->step == Step::item || n->step == Step::dict_value || n->step == Step::field || n->step == Step::native)
    n = &access.nodes[n->parent];
  return n->step == Step::argument;
}

// Of a frozen set: numbers, texts, classes and the like.
bool Specialiser::holds_plain(const Value& set) {
  Value* key = nullptr;
  for (size_t at = 0; runtime::set_next(set.as<runtime::Set>(), at, key);)
    if (!plain_result(*key)) return false;
  return true;
}

// A set from outside that nobody can have changed since: whoever asks what is in it, or in which order, has it guarded
// by that.
const runtime::Set* Specialiser::set_outside(const AVal& a, bool in_order) {
  constexpr size_t kMostKeys = 64;  // looked at before each call
  if (!is_set_outside(a) || effects_.unknown || request_.holes || request_.varying.count(access.path(a.node)))
    return nullptr;
  const Value& v = sets_.at(a.node);
  auto* set = v.as<runtime::Set>();
  if (set->used > kMostKeys || !holds_plain(v)) return nullptr;
  AccessNode& n = access.nodes[a.node];
  n.guard = AccessNode::Guard::keys;
  n.count |= in_order;
  n.keys.clear();
  Value* key = nullptr;
  for (size_t i = 0; runtime::set_next(set, i, key);) n.keys.push_back(*key);
  return set;
}

// A set from outside of whole numbers and texts: nothing in it has a derivative.
bool Specialiser::is_set_of_keys(const AVal& a) {
  if (!is_set_outside(a)) return false;
  Value* key = nullptr;
  for (size_t at = 0; runtime::set_next(sets_.at(a.node).as<runtime::Set>(), at, key);)
    if (!key->is_int() && !key->is_bool() && !cast_exact<runtime::Str>(*key)) return false;
  return set_outside(a, /*in_order=*/true) != nullptr;
}

AVal Specialiser::wrap(const Value& v, AccessNode step) {
  need_stack("values nested too deeply");
  bool fresh = false;
  uint32_t id = add_node(std::move(step), &fresh);
  if (!fresh && !node_values_[id].is(AKind::unbound)) {
    ensure(node_values_[id]);
    return node_values_[id];
  }
  using G = AccessNode::Guard;
  AVal out;
  const ObjectKind kind = kind_of(v);
  const bool nests = kind == ObjectKind::list || kind == ObjectKind::tuple || kind == ObjectKind::dict ||
                     kind == ObjectKind::instance || kind == ObjectKind::cell || kind == ObjectKind::record;
  const bool container = kind == ObjectKind::list || kind == ObjectKind::tuple || kind == ObjectKind::dict;
  const bool inner = container && access.nodes[id].step != AccessNode::Step::argument && is_data(id);
  result_->holds_containers = result_->holds_containers || inner;
  if (inner && request_.shallow) unfollowed_[id] = v;
  if (nests && (steps_to(id) > kMaxSteps || (inner && request_.shallow))) {
    access.nodes[id].guard = G::any;
    out = input(nullptr, id, Value());
    out.node = id;
    return node_values_[id] = out;
  }
  // `object()`: there is nothing in it but what it is.
  if (kind == ObjectKind::instance && !v.as<runtime::Instance>()->shape && runtime::type_of(session, v)->builtin) {
    access.nodes[id].guard = G::same;
    access.nodes[id].expected = v;
    out = AVal::of(v);
    out.node = id;
    return node_values_[id] = out;
  }
  // A table of a module, as long as nobody puts another one there.
  if (kind == ObjectKind::frozenset && access.nodes[id].step == AccessNode::Step::global && holds_plain(v)) {
    access.nodes[id].guard = G::same;
    access.nodes[id].expected = v;
    out = AVal::of(v);
    out.node = id;
    return node_values_[id] = out;
  }
  if (kind == ObjectKind::instance && is_plain_extension(v)) {
    out = wrap_extension(v, id);
    out.node = id;
    return node_values_[id] = out;
  }
  switch (kind) {
    case ObjectKind::integer:
    case ObjectKind::floating:
    case ObjectKind::boolean:
    case ObjectKind::none:
    case ObjectKind::str:
      out = wrap_plain(v, id);
      break;
    case ObjectKind::tensor:
      out = wrap_tensor(v, id);
      break;
    case ObjectKind::function:
      out = wrap_function(v, id);
      break;
    case ObjectKind::list:
    case ObjectKind::dict:
    case ObjectKind::instance:
    case ObjectKind::cell:
    case ObjectKind::record:
      out = wrap_object(v, id);
      break;
    case ObjectKind::tuple: {
      auto* t = v.as<runtime::Tuple>();
      access.nodes[id].guard = G::length;
      access.nodes[id].count = static_cast<uint32_t>(t->size);
      std::vector<AVal> items;
      for (size_t i = 0; i < t->size; ++i) {
        AccessNode n;
        n.step = AccessNode::Step::item;
        n.parent = id;
        n.index = static_cast<uint32_t>(i);
        items.push_back(wrap((*t)[i], n));
      }
      out = AVal::tuple(std::move(items));
      break;
    }
    case ObjectKind::bound_method: {
      auto* m = v.as<runtime::BoundMethod>();
      access.nodes[id].guard = G::bound;
      AccessNode fn, self;
      fn.step = AccessNode::Step::method_function;
      self.step = AccessNode::Step::method_self;
      fn.parent = self.parent = id;
      AVal f = wrap(m->function, fn), s = wrap(m->self, self);
      out = AVal::compound(AKind::bound, {f, s});
      break;
    }
    case ObjectKind::slice: {
      access.nodes[id].guard = G::slice;
      std::vector<AVal> bounds;
      for (uint32_t i = 0; i < 3; ++i) {
        AccessNode n;
        n.step = AccessNode::Step::slice_bound;
        n.parent = id;
        n.index = i;
        bounds.push_back(wrap(access_step(session, n, v, {}, {}), n));
      }
      out = AVal::compound(AKind::slice, std::move(bounds));
      break;
    }
    case ObjectKind::zero_cotangent:
      access.nodes[id].guard = G::same;
      access.nodes[id].expected = v;
      out = AVal::marker(AKind::zero);
      break;
    case ObjectKind::ellipsis:
    case ObjectKind::not_implemented:
    case ObjectKind::bytes:
    case ObjectKind::native:
    case ObjectKind::type:
    case ObjectKind::module:
    case ObjectKind::dtype:
    case ObjectKind::device:
    case ObjectKind::range:
    case ObjectKind::property:
    case ObjectKind::member:
    case ObjectKind::get_set:
    case ObjectKind::static_method:
    case ObjectKind::class_method:
    case ObjectKind::opaque:
    case ObjectKind::generic_alias:
      access.nodes[id].guard = G::same;
      access.nodes[id].expected = v;
      out = AVal::of(v);
      break;
    case ObjectKind::set:
    case ObjectKind::frozenset:
      sets_[id] = v;
      access.nodes[id].guard = G::set;
      out = input(nullptr, id, Value());
      break;
    default:
      access.nodes[id].guard = G::any;
      out = input(nullptr, id, Value());
  }
  out.node = id;
  if (node_values_[id].is(AKind::unbound)) node_values_[id] = out;
  return out;
}

// External objects that a value refers to are in the present state (a branch that was undone may have loaded them
// first).
void Specialiser::ensure(const AVal& a) {
  if (a.is(AKind::ref)) {
    if (a.heap < heap_.size() && heap_[a.heap]) return;
    reach(a.heap);
    return;
  }
  if (!a.parts) return;
  for (const AVal& i : a.parts->items) ensure(i);
  for (const AVal& i : a.parts->defaults) ensure(i);
  for (const auto& [name, v] : a.parts->kwdefaults) ensure(v);
}

void Specialiser::reach(HeapId id) {
  if (id < heap_.size() && heap_[id]) return;
  const auto at = external_info_.find(id);
  if (at == external_info_.end()) return;
  const auto [v, node] = at->second;
  if (kind_of(v) == ObjectKind::module)
    module_object(v);
  else
    wrap_object(v, node);
}

// Is a number, bool, text or None a constant of this version? (Defaults, what stands in classes and static arguments
// are part of the program, not of its data, if there are to be no other constants.)
bool Specialiser::is_constant(uint32_t node, const Value& v) const {
  using Step = AccessNode::Step;
  const AccessNode& n = access.nodes[node];
  if (v.is_none() || is_fixed(node)) return true;
  if (!request_.varying.empty() && request_.varies(access.path(node))) return false;
  const bool number = v.is_int() || v.is_float();
  if (v.is_bool() || (!number && !request_.constants)) return true;
  if (n.step == Step::default_ || n.step == Step::kwdefault || n.step == Step::class_attr) return true;
  if (!request_.constants || (v.is_float() && is_data(node))) return false;
  return (n.step != Step::attribute && n.step != Step::global) || !written_names_.count(n.name);
}

AVal Specialiser::wrap_plain(const Value& v, uint32_t node) {
  using G = AccessNode::Guard;
  AccessNode& n = access.nodes[node];
  if (is_constant(node, v)) {
    n.guard = G::same;
    n.expected = v;
    if (!is_fixed(node)) n.pin = AccessNode::Pin::first;
    return AVal::of(v);
  }
  switch (kind_of(v)) {
    case ObjectKind::integer:
      n.guard = G::integer;
      return input(ir::types::integer(), node, v);
    case ObjectKind::floating:
      n.guard = G::floating;
      return input(ir::types::floating(), node, v);
    case ObjectKind::boolean:
      n.guard = G::boolean;
      return input(ir::types::boolean(), node, v);
    default:
      n.guard = G::text;
      return input(ir::types::string(), node, v);
  }
}

AVal Specialiser::wrap_tensor(const Value& v, uint32_t node) {
  const auto* t = v.as<runtime::Tensor>();
  std::vector<ir::SymDim> dims;
  auto wanted = request_.symbolic.empty() ? request_.symbolic.end() : request_.symbolic.find(access.path(node));
  for (int i = 0; i < t->rank; ++i) {
    int64_t n = t->dims()[i];
    bool symbolic = wanted != request_.symbolic.end() && wanted->second.count(i);
    if (!symbolic) {
      dims.push_back(ir::SymDim::number(n));
      continue;
    }
    uint32_t cls = wanted->second.at(i);
    auto [at, fresh] = symbol_classes_.try_emplace(cls, 0u);
    if (fresh) at->second = ir::fresh_symbol();
    dims.push_back(ir::SymDim::of(at->second));
    if (!extents_.count(at->second)) {
      ir::NameId p = code.entry_param(ir::types::integer(), intern(fmt::format("size{}", at->second)));
      code.name(p).witness = Value::integer(n);
      code.name(p).leaves = {node};
      extents_.emplace(at->second, p);
      dims_of_names_.emplace(index(p), ir::SymDim::of(at->second));
      access.extents.push_back({at->second, node, i, static_cast<int>(access.inputs++)});
    }
  }
  access.nodes[node].guard = AccessNode::Guard::tensor;
  access.nodes[node].type = ir::types::tensor(t->dtype, dims);
  return input(access.nodes[node].type, node, Value());
}

AVal Specialiser::size(ir::SymDim d) {
  if (d.known()) return AVal::of(Value::integer(d.c));
  AVal v;
  if (const auto at = extents_.find(d.symbol); at != extents_.end()) {
    v = AVal::dynamic(at->second, ir::types::integer());
  } else {
    const auto found = found_sizes_.find(d.symbol);
    if (found == found_sizes_.end()) abandon(Reason::computed_length, "a size that depends on data");
    const auto& [of, axis] = found->second;
    v = of.type->is_tensor() ? emit(ir::prim::tensor_size, {of}, ir::types::integer(), axis) : of;
    dims_of_names_[index(v.atom.name())] = ir::SymDim::of(d.symbol);
  }
  if (d.m != 1) v = binary(ir::prim::mul, v, AVal::of(Value::integer(d.m)));
  if (d.c != 0) v = binary(ir::prim::add, v, AVal::of(Value::integer(d.c)));
  if (v.is(AKind::dynamic) && v.atom.is_name()) dims_of_names_[index(v.atom.name())] = d;
  return v;
}

AVal Specialiser::wrap_function(const Value& v, uint32_t node) {
  auto* fn = v.as<runtime::Function>();
  AccessNode& n = access.nodes[node];
  n.guard = AccessNode::Guard::code;
  n.code = fn->code.get();
  n.code_ref = fn->code;
  auto parts = std::make_shared<AParts>();
  parts->code = fn->code;
  parts->function = v;
  parts->globals = fn->globals;
  for (size_t i = 0; i < fn->captures.size(); ++i) {
    AccessNode c;
    c.step = AccessNode::Step::capture;
    c.parent = node;
    c.index = static_cast<uint32_t>(i);
    parts->items.push_back(wrap(fn->captures[i], c));
  }
  if (auto* d = runtime::cast_exact<runtime::Tuple>(fn->defaults))
    for (size_t i = 0; i < d->size; ++i) {
      AccessNode c;
      c.step = AccessNode::Step::default_;
      c.parent = node;
      c.index = static_cast<uint32_t>(i);
      parts->defaults.push_back(wrap((*d)[i], c));
    }
  if (auto* d = runtime::cast_exact<runtime::Dict>(fn->kwdefaults))
    for (uint32_t i = 0; i < d->filled; ++i) {
      if (d->entries[i].key.is_unbound()) continue;
      const Symbol name = keyword_name(AVal::of(d->entries[i].key));
      AccessNode c;
      c.step = AccessNode::Step::kwdefault;
      c.parent = node;
      c.name = name;
      parts->kwdefaults.push_back({name, wrap(d->entries[i].value, c)});
    }
  AVal out = AVal::marker(AKind::closure);
  out.parts = std::move(parts);
  return out;
}

// list, dict, instance, cell, gradient of an object
AVal Specialiser::wrap_object(const Value& v, uint32_t node) {
  using G = AccessNode::Guard;
  using S = AccessNode::Step;
  auto known = external_.find(v.object());
  if (known != external_.end() && known->second < heap_.size() && heap_[known->second]) {
    uint32_t first = heap_[known->second]->node;
    if (first != node) {
      access.nodes[node].guard = G::alias;
      access.nodes[node].count = first;
    }
    AVal out = AVal::of_heap(known->second);
    out.node = first;
    return out;
  }
  auto boxed = [&] {
    const bool list = kind_of(v) == ObjectKind::list;
    access.nodes[node].guard = list ? G::list : G::any;
    const AVal out = input(nullptr, node, Value());
    code.name(out.atom.name()).list = list;
    if (list) boxed_lists_[node] = v;
    return out;
  };
  auto o = std::make_shared<AObject>();
  o->external = true;
  o->complete = false;
  o->node = node;
  o->concrete = v;
  ObjectKind kind = kind_of(v);
  const bool is_list = kind == ObjectKind::list || kind == ObjectKind::dict;
  const bool varies = is_list && !request_.varying.empty() && request_.varying.count(access.path(node));
  const auto is_it = [&](const auto& list) { return list.second.same(v); };
  if (varies || std::ranges::any_of(boxed_lists_, is_it)) return boxed();
  if (kind == ObjectKind::list) {
    auto* l = v.as<runtime::List>();
    const bool data = l->size > kMaxNumbers && std::all_of(l->begin(), l->end(), number_or_text);
    if (data || l->size > kMaxItems) return boxed();
  }
  if (kind == ObjectKind::dict && !taken_apart(*v.as<runtime::Dict>())) return boxed();
  if (kind == ObjectKind::instance) {
    auto* i = v.as<runtime::Instance>();
    if (!i->shape) runtime::restore_shape(session, i);  // somebody had asked for __dict__
    const auto* dict = runtime::cast_exact<runtime::Dict>(i->native);
    const bool followed =
        i->native.is_unbound() || extends_value(i->native) ||
        (dict && taken_apart(*dict) && !request_.varying.count(access.path_before(node)) && steps_to(node) < kMaxSteps);
    if (!i->shape || !followed) return boxed();
    need_no_end(*i->type);
  }
  HeapId id;
  if (known != external_.end()) {
    id = known->second;
    heap_.put(id, o);
  } else {
    id = static_cast<HeapId>(next_heap_++);
    heap_.put(id, o);
    external_.emplace(v.object(), id);
  }
  external_info_[id] = {v, node};
  access.nodes[node].distinct = true;
  AVal out = AVal::of_heap(id);
  out.node = node;
  node_values_[node] = out;
  switch (kind) {
    case ObjectKind::list: {
      auto* l = v.as<runtime::List>();
      o->kind = AObject::Kind::list;
      access.nodes[node].guard = G::length;
      access.nodes[node].count = static_cast<uint32_t>(l->size);
      for (size_t i = 0; i < l->size; ++i) {
        AccessNode n;
        n.step = S::item;
        n.parent = node;
        n.index = static_cast<uint32_t>(i);
        AVal item = wrap(l->items[i], n);
        o->items.push_back(item);
      }
      o->memory = o->loaded = o->items;
      break;
    }
    case ObjectKind::dict: {
      auto* d = v.as<runtime::Dict>();
      o->kind = AObject::Kind::dict;
      access.nodes[node].guard = G::keys;
      access.nodes[node].keys.clear();  // it may have been loaded on a way that was given up
      for (uint32_t i = 0; i < d->filled; ++i) {
        if (d->entries[i].key.is_unbound()) continue;
        access.nodes[node].keys.push_back(d->entries[i].key);
        AccessNode n;
        n.step = S::dict_value;
        n.parent = node;
        n.object = d->entries[i].key;
        o->keys.push_back(AVal::of(d->entries[i].key));
        AVal item = wrap(d->entries[i].value, n);
        o->items.push_back(item);
      }
      o->memory = o->loaded = o->items;
      o->memory_keys = o->loaded_keys = o->keys;
      break;
    }
    case ObjectKind::record: {
      const auto* r = v.as<runtime::autodiff::Record>();
      o->kind = AObject::Kind::record;
      o->cls = r->cls;
      access.nodes[node].guard = G::fields;
      access.nodes[node].expected = r->cls;
      access.nodes[node].fields.clear();
      for (const auto& e : r->fields.entries()) {
        if (!e.name) continue;
        access.nodes[node].fields.push_back(e.name);
        AccessNode n;
        n.step = S::field;
        n.parent = node;
        n.name = e.name;
        const AVal value = wrap(e.value, n);
        o->slots.push_back({.name = e.name, .value = value, .memory = value, .loaded = value});
      }
      break;
    }
    case ObjectKind::cell:
      o->kind = AObject::Kind::cell;
      access.nodes[node].guard = G::cell;
      break;
    default: {
      auto* i = v.as<runtime::Instance>();
      o->kind = AObject::Kind::instance;
      o->cls = Value::share(i->type);
      access.nodes[node].guard = G::shape;
      access.nodes[node].shape = i->shape;
      access.nodes[node].type_version = i->type->version;
      access.nodes[node].expected = o->cls;  // kept alive: its version is compared
      if (i->native.is_unbound()) break;
      AccessNode n;
      n.step = S::native;
      n.parent = node;
      const AVal native = wrap(i->native, n);
      if (i->type->layout == ObjectKind::dict)
        o->slots.push_back({.name = {}, .value = native, .memory = native, .loaded = native});
      else
        o->native = native;
    }
  }
  if (effects_.unknown) forget(*o);  // the call found it so, but now it may be otherwise
  return out;
}

// An attribute of an external instance, or the content of an external cell; unbound if it has none.
AVal Specialiser::load_slot(HeapId id, Symbol name) {
  if (heap_[id]->poisoned) abandon_torn(*heap_[id], "an object");
  if (const AObject::Slot* s = heap_[id]->find(name)) {
    const AVal& v = s->value;
    if (v.is(AKind::either) && (v.items()[0].is(AKind::unbound) || v.items()[1].is(AKind::unbound))) one_side(v);
    return v;
  }
  if (!heap_[id]->external && !(heap_[id]->escaped && heap_[id]->stale)) return {};
  const AObject& o = *heap_[id];
  if (o.kind == AObject::Kind::globals) {
    if (o.stale) return {};
    const AVal v = global(o.concrete, name);
    write(id).slots.push_back({.name = name, .value = v, .memory = v, .loaded = v});
    return v;
  }
  if (o.stale) {
    if (o.kind == AObject::Kind::instance && o.cls.as<runtime::Type>()->has_getattribute)
      abandon(Reason::class_hook, "an object with __getattribute__ that the interpreter may have changed");
    if (o.kind == AObject::Kind::instance && o.cls.as<runtime::Type>()->has_getattr)
      return boxed(ir::prim::attr_get, {AVal::of_heap(id)}, name.id());
    if (o.kind == AObject::Kind::cell)
      return AVal::dynamic(code.let(ir::prim::cell_get, {place_of_object(id)}, 0, nullptr, span), nullptr);
    return AVal::dynamic(code.let(ir::prim::attr_get, {place_of_object(id)}, name.id(), nullptr, span), nullptr);
  }
  AccessNode n;
  n.parent = o.node;
  Value v;
  if (o.kind == AObject::Kind::cell) {
    n.step = AccessNode::Step::cell;
    v = o.concrete.as<runtime::Cell>()->value;
  } else {
    auto* inst = o.concrete.as<runtime::Instance>();
    int slot = inst->shape->find(name);
    if (slot < 0) return {};
    n.step = AccessNode::Step::attribute;
    n.name = name;
    n.index = static_cast<uint32_t>(slot);
    v = inst->slots[slot];
  }
  if (v.is_unbound()) {
    bool fresh;
    uint32_t node = add_node(n, &fresh);
    access.nodes[node].guard = AccessNode::Guard::absent;
    return {};
  }
  AVal out = wrap(v, n);
  AObject& w = write(id);
  if (!w.find(name)) w.slots.push_back({.name = name, .value = out, .memory = out, .loaded = out});
  return out;
}

std::vector<Symbol> Specialiser::field_names(HeapId id) {
  std::vector<Symbol> names;
  const AObject& o = read(id);
  if (o.stale)
    abandon(Reason::interpreter_changed, "the attributes of an object that the interpreter may have changed");
  if (o.external && o.kind == AObject::Kind::instance) {
    auto* inst = o.concrete.as<runtime::Instance>();
    for (const auto& e : inst->shape->slots.entries()) {
      const AObject::Slot* s = heap_[id]->find(e.name);
      bool there = s ? !s->value.is(AKind::unbound) : e.name && !inst->slots[e.value].is_unbound();
      if (there) names.push_back(e.name);
    }
  }
  for (const AObject::Slot& s : read(id).slots)
    if (s.name && !s.value.is(AKind::unbound) && std::find(names.begin(), names.end(), s.name) == names.end())
      names.push_back(s.name);
  return names;
}

AVal Specialiser::global(const Value& module, Symbol name) {
  auto* m = module.as<runtime::Module>();
  if (AObject::Slot* s = heap_[module_object(module)]->find(name)) {
    if (s->value.is(AKind::poison))
      abandon_parted(s->value, fmt::format("global {} differs between branches", name.text()));
    if (s->value.is(AKind::unbound)) abandon(Reason::raises, fmt::format("name {} is not defined", name.text()));
    return s->value;
  }
  AccessNode n;
  n.step = AccessNode::Step::global;
  n.object = module;
  n.name = name;
  Value* slot = m->names.find(name);
  if (is_changeable(name)) {
    if (!slot || slot->is_unbound())
      abandon(Reason::interpreter_changed, fmt::format("global {}, which the interpreter may have made", name.text()));
    return AVal::dynamic(code.let(ir::prim::global_get, {pool(module)}, name.id(), nullptr, span), nullptr);
  }
  if (slot && !slot->is_unbound()) return wrap(*slot, n);
  bool fresh;
  uint32_t node = add_node(n, &fresh);  // a new global of that name would shadow the builtin
  access.nodes[node].guard = AccessNode::Guard::absent;
  Value b = runtime::builtin(session, name, m->ouro_names);
  if (b.is_error()) session.pending = Value();
  if (b.is_unbound() || b.is_error()) abandon(Reason::raises, fmt::format("name {} is not defined", name.text()));
  return AVal::of(b);
}

// May a global or an attribute of a class of this name have been set since the call began?
bool Specialiser::is_changeable(Symbol name) { return effects_.unknown && runtime::is_set_by_functions(session, name); }

// What stands in a global, where it was read already.
AVal Specialiser::found_global(const Value& module, Symbol name) {
  AccessNode n;
  n.step = AccessNode::Step::global;
  n.object = module;
  n.name = name;
  const uint32_t node = find_node(n);
  if (node == kNoNode || heap_[module_object(module)]->stale) return {};
  ensure(node_values_[node]);
  return node_values_[node];
}

}  // namespace ouro::jit
