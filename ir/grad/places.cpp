#include "ir/grad/places.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/effect.h"
#include "ir/grad/rewriter.h"
#include "ir/prim.h"

namespace ouro::ir::grad {
namespace {

struct Places : Rewriter {
  // `place op= v` whose derivative needs what the place held: loaded, operated on and stored. (What `+=` and `-=` keep
  // of a place has no derivative, so that they can stay one update.)
  static bool loads(const PlacePath& p) {
    return p.augmented && !p.loaded && !p.steps.empty() && p.in_place != prim::add && p.in_place != prim::sub;
  }
  // An item of what a longer path leads to.
  static bool leads_on(const PlacePath& p) { return p.steps.size() > 1 && p.steps.back().is_item; }
  static bool taken_apart(const PlacePath& p) {
    if (loads(p)) return true;
    if (p.steps.size() > 1) return false;
    if (p.steps.empty()) return p.augmented && p.root != PlacePath::Root::value;
    return !p.steps[0].is_item || p.root != PlacePath::Root::value;
  }

  // A let in the place of `of`, which may go to its handler.
  NameId emit(const Let& of, Op op, std::vector<Atom> args, uint32_t attr = 0, NameId result = NameId::none) {
    out.push_back(let(op, args, attr, of.span));
    Let& l = out.back();
    if (result != NameId::none) l.result = result;
    if (may_fail(op_facts(op).effects)) l.handover = handover_like(of.handover);
    return l.result;
  }

  // What the first steps of a path lead to.
  Atom read(const Let& l, const PlacePath& path, const std::vector<Atom>& args, size_t steps) {
    using Root = PlacePath::Root;
    size_t key = path.root == Root::global ? 0 : 1;
    Atom v = path.root == Root::global ? Atom() : args[0];
    if (path.root == Root::cell) v = emit(l, prim::cell_get, {args[0]}, path.name.id());
    if (path.root == Root::global) v = emit(l, prim::global_get, {}, path.name.id());
    for (size_t i = 0; i < steps; ++i) {
      const PlacePath::Step& step = path.steps[i];
      v = step.is_item ? emit(l, prim::item_get, {v, args[key++]}) : emit(l, prim::attr_get, {v}, step.attr.id());
    }
    return v;
  }

  // The value of a place with the operation done: what is to be assigned.
  Atom loaded_value(const Let& l, const PlacePath& path, const std::vector<Atom>& args) {
    return emit(l, in_place_form(path.in_place), {read(l, path, args, path.steps.size()), args.back()});
  }

  void take_apart(const Let& l) {
    using Root = PlacePath::Root;
    PlacePath path = f.paths[l.attr];
    std::vector<Atom> args(f.atoms.begin() + l.args_begin, f.atoms.begin() + l.args_begin + l.nargs);
    if (loads(path)) {
      args.back() = loaded_value(l, path, args);
      path.augmented = false;
      path.in_place = {};
      if (!taken_apart(path)) {
        emit(l, prim::update, args, add_path(path), l.result);
        return;
      }
    }
    const Atom value = args.back(), before = path.loaded ? args[args.size() - 2] : Atom();
    Atom root = path.root == Root::global ? Atom() : args[0];
    const bool reads = !path.loaded || !path.steps.empty();  // else the variable is only written
    if (path.root == Root::cell && reads) root = emit(l, prim::cell_get, {args[0]}, path.name.id());
    if (path.root == Root::global && reads) root = emit(l, prim::global_get, {}, path.name.id());
    if (!path.steps.empty() && !path.steps[0].is_item) {
      const uint32_t name = path.steps[0].attr.id();
      Atom v = value;
      if (path.augmented)
        v = emit(l, in_place_form(path.in_place),
                 {path.loaded ? before : Atom(emit(l, prim::attr_get, {root}, name)), value});
      emit(l, prim::attr_set, {root, v}, name);
      emit(l, prim::move, {root}, 0, l.result);
      return;
    }
    if (path.steps.empty()) {
      emit(l, in_place_form(path.in_place), {path.loaded ? before : root, value}, 0, l.result);
    } else {
      PlacePath inner = path;
      inner.root = Root::value;
      inner.name = {};
      const Atom key = args[path.root == Root::global ? 0 : 1];
      emit(l, prim::update, {root, key, value}, add_path(inner), l.result);
    }
    if (path.root == Root::cell) emit(l, prim::cell_set, {args[0], l.result});
    if (path.root == Root::global) emit(l, prim::global_set, {l.result}, path.name.id());
  }

  // root.a[k] = v: where root.a holds no tensor, a read of it and an update of one item. A tensor is written where it
  // stands, as one update, so that nobody else holds it then; one that a script gave is written and put back.
  void by_container(const Let& l) {
    const PlacePath path = f.paths[l.attr];
    const std::vector<Atom> args(f.atoms.begin() + l.args_begin, f.atoms.begin() + l.args_begin + l.nargs);
    const Atom root = path.root == PlacePath::Root::value ? args[0] : none();
    const BlockId stands = new_block(), read_first = new_block(), put_back = new_block(), done = new_block(),
                  goes_on = new_block();
    const NameId direct = emit(l, prim::ad_enters_tensor, args, l.attr);
    branch(at, out, direct, stands, read_first, l.span);

    Let part = l;
    part.result = new_name();
    part.handover = handover_like(l.handover);
    at = stands;
    if (taken_apart(path))
      take_apart(part);
    else
      out.push_back(part);
    jump(at, out, goes_on, part.result, l.span);

    at = read_first;
    PlacePath item;
    item.steps = {path.steps.back()};
    item.in_place = path.in_place;
    item.augmented = path.augmented;
    const std::vector<Atom> operands{read(l, path, args, path.steps.size() - 1), args[args.size() - 2], args.back()};
    Let update = let(prim::update, operands, add_path(item), l.span);
    update.handover = l.handover;
    const NameId tensor = emit(l, prim::ad_enters_tensor, operands, update.attr);
    rewrite(update);
    branch(at, out, tensor, put_back, done, l.span);

    at = put_back;
    PlacePath outer = path;
    outer.steps.pop_back();
    outer.augmented = false;
    outer.in_place = {};
    std::vector<Atom> put(args.begin(), args.end() - 2);
    put.push_back(update.result);
    Let store = let(prim::update, put, add_path(outer), l.span);
    store.handover = l.handover;
    rewrite(store);
    jump(at, out, goes_on, store.result, l.span);

    jump(done, out, goes_on, root, l.span);
    f.blocks[index(goes_on)].params = {l.result};
    at = goes_on;
  }

  static bool rewrites(const PlacePath& p) { return leads_on(p) || taken_apart(p); }

  void rewrite(const Let& l) {
    const PlacePath& path = f.paths[l.attr];
    if (leads_on(path))
      by_container(l);
    else if (taken_apart(path))
      take_apart(l);
    else
      out.push_back(l), out.back().handover = handover_like(l.handover);
  }
};

}  // namespace

FunctionRef with_simple_places(const Function& source) {
  Places r;
  return r.replace(
      source, [&](const Let& l) { return l.op == prim::update && Places::rewrites(source.paths[l.attr]); },
      [&](const Let& l) { r.rewrite(l); });
}

}  // namespace ouro::ir::grad
