// Variables: what reading, writing and deleting a name means for each storage.
#include <algorithm>

#include "frontend/lowerer.h"

namespace ouro::frontend {

uint32_t Lowerer::var_index(Symbol name) const {
  Variable* v = scope_.find(name);
  if (!v) ouro_bug("name '%s' was not resolved", name.c_str());
  return static_cast<uint32_t>(v - scope_.vars.data());
}

Atom Lowerer::load(Symbol name, Span span) {
  uint32_t i = var_index(name);
  const Variable& v = scope_.vars[i];
  switch (v.storage) {
    case Storage::local: {
      Atom a = b_.read_var(slots_[i].var);
      if (assigned_.has(i) || !b_.reachable()) return a;
      return let(span, prim::check_bound, {a}, name);
    }
    case Storage::cell:
      return let(span, prim::cell_get, {slots_[i].cell}, name);
    case Storage::captured:
      return scope_.captures[v.slot].cell() ? let(span, prim::cell_get, {captures_[v.slot]}, name) : captures_[v.slot];
    case Storage::global:
      return let(span, prim::global_get, {}, name);
    case Storage::class_name:
      return let(span, prim::class_get, {namespace_}, name);
  }
  return {};
}

void Lowerer::assign(Symbol name, Atom value, Span span) {
  uint32_t i = var_index(name);
  const Variable& v = scope_.vars[i];
  switch (v.storage) {
    case Storage::local:
      if (may_hold(i) && !b_.is_nameless(value)) value = let(span, prim::move, {value});
      b_.write_var(slots_[i].var, value);
      assigned_.add(i);
      written_.add(i);
      return;
    case Storage::cell:
      let(span, prim::cell_set, {slots_[i].cell, value});
      return;
    case Storage::captured:
      let(span, prim::cell_set, {captures_[v.slot], value});
      return;
    case Storage::global:
      let(span, prim::global_set, {value}, name);
      return;
    case Storage::class_name:
      let(span, prim::class_set, {namespace_, value}, name);
      return;
  }
}

// A constant, or the value of another variable, has a place of its own: it is moved where the old value stands if there
// may be one, which is let go of there and then.
bool Lowerer::may_hold(uint32_t i) const {
  auto is_loop = [](const Frame* f) { return f->kind == Frame::Kind::loop; };
  return written_.has(i) || scope_.vars[i].has(Variable::kParam) ||
         std::any_of(frames_.begin(), frames_.end(), is_loop);
}

void Lowerer::remove(Symbol name, Span span) {
  const Variable& v = scope_.vars[var_index(name)];
  if (v.storage == Storage::global) {
    let(span, prim::global_del, {}, name);
  } else if (v.storage == Storage::class_name) {
    let(span, prim::class_del, {namespace_}, name);
  } else {
    load(name, span);  // raises if there is nothing to delete
    forget(name);
  }
}

void Lowerer::forget(Symbol name) {
  uint32_t i = var_index(name);
  const Variable& v = scope_.vars[i];
  switch (v.storage) {
    case Storage::local:
      b_.write_var(slots_[i].var, let(b_.span(), prim::move, {b_.unbound()}));
      assigned_.remove(i);
      return;
    case Storage::cell:
      b_.let(prim::cell_set, {slots_[i].cell, b_.unbound()});
      return;
    case Storage::captured:
      b_.let(prim::cell_set, {captures_[v.slot], b_.unbound()});
      return;
    default:  // None first, so that deleting cannot fail
      assign(name, b_.none(), b_.span());
      remove(name, b_.span());
  }
}

// What a closure made here captures: the cell or the value of one of our variables, or what we
// captured ourselves.
Atom Lowerer::captured(const ScopeCapture& c) {
  if (c.owner == &scope_) {
    if (c.owner_var == ScopeCapture::kClassCell) return class_cell_;
    const Slot& s = slots_[c.owner_var];
    return scope_.vars[c.owner_var].storage == Storage::cell ? s.cell : b_.read_var(s.var);
  }
  const ScopeCapture* own = scope_.find_capture(c.name);
  if (!own) ouro_bug("no capture of '%s'", c.name.c_str());
  return captures_[static_cast<size_t>(own - scope_.captures.data())];
}

}  // namespace ouro::frontend
