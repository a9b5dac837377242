#include "ir/grad/places.h"

#include <vector>

#include "ir/effect.h"
#include "ir/prim.h"

namespace ouro::ir::grad {
namespace {

struct Rewriter {
  Function f;
  std::vector<Let> out;  // of the block

  // `place op= v` whose derivative needs what the place held: loaded, operated on and stored. (What `+=` and `-=` keep
  // of a place has no derivative, so that they can stay one update.)
  static bool loads(const PlacePath& p) {
    return p.augmented && !p.loaded && !p.steps.empty() && p.in_place != prim::add && p.in_place != prim::sub;
  }
  static bool taken_apart(const PlacePath& p) {
    if (loads(p)) return true;
    if (p.steps.size() > 1) return false;
    if (p.steps.empty()) return p.augmented && p.root != PlacePath::Root::value;
    return !p.steps[0].is_item || p.root != PlacePath::Root::value;
  }

  NameId new_name() {
    f.names.push_back({});
    return NameId{static_cast<uint32_t>(f.names.size() - 1)};
  }
  // A let in the place of `of`, which may go to its handler.
  NameId emit(const Let& of, Op op, std::vector<Atom> args, uint32_t attr = 0, NameId result = NameId::none) {
    Let l;
    l.op = op;
    l.result = result == NameId::none ? new_name() : result;
    l.args_begin = static_cast<uint32_t>(f.atoms.size());
    l.nargs = static_cast<uint32_t>(args.size());
    l.attr = attr;
    l.span = of.span;
    f.atoms.insert(f.atoms.end(), args.begin(), args.end());
    if (may_fail(op_facts(op).effects)) l.handover = of.handover;
    out.push_back(l);
    return l.result;
  }

  // The value of a place with the operation done: what is to be assigned.
  Atom loaded_value(const Let& l, const PlacePath& path, const std::vector<Atom>& args) {
    using Root = PlacePath::Root;
    size_t key = path.root == Root::global ? 0 : 1;
    Atom at = path.root == Root::global ? Atom() : args[0];
    if (path.root == Root::cell) at = emit(l, prim::cell_get, {args[0]}, path.name.id());
    if (path.root == Root::global) at = emit(l, prim::global_get, {}, path.name.id());
    for (const PlacePath::Step& step : path.steps)
      at = step.is_item ? emit(l, prim::item_get, {at, args[key++]}) : emit(l, prim::attr_get, {at}, step.attr.id());
    return emit(l, in_place_form(path.in_place), {at, args.back()});
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
        f.paths.push_back(path);
        emit(l, prim::update, args, static_cast<uint32_t>(f.paths.size() - 1), l.result);
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
      f.paths.push_back(inner);
      const Atom key = args[path.root == Root::global ? 0 : 1];
      emit(l, prim::update, {root, key, value}, static_cast<uint32_t>(f.paths.size() - 1), l.result);
    }
    if (path.root == Root::cell) emit(l, prim::cell_set, {args[0], l.result});
    if (path.root == Root::global) emit(l, prim::global_set, {l.result}, path.name.id());
  }
};

}  // namespace

FunctionRef with_simple_places(const Function& source) {
  auto is_simple = [&](const Let& l) { return l.op == prim::update && Rewriter::taken_apart(source.paths[l.attr]); };
  bool any = false;
  for (const Block& b : source.blocks)
    for (const Let& l : b.lets) any = any || is_simple(l);
  if (!any) return nullptr;
  Rewriter r{source, {}};
  for (Block& b : r.f.blocks) {
    r.out.clear();
    const std::vector<Let> lets = b.lets;
    for (const Let& l : lets) {
      if (is_simple(l))
        r.take_apart(l);
      else
        r.out.push_back(l);
    }
    b.lets = r.out;
  }
  return std::make_shared<const Function>(std::move(r.f));
}

}  // namespace ouro::ir::grad
