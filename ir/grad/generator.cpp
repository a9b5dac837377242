#include "ir/grad/generator.h"

#include <initializer_list>
#include <vector>

#include "ir/effect.h"
#include "ir/prim.h"
#include "ir/walk.h"

namespace ouro::ir::grad {
namespace {

struct Rewriter {
  Function f;
  NameId list{};
  ConstId none{};

  NameId new_name() {
    f.names.push_back({});
    return NameId{static_cast<uint32_t>(f.names.size() - 1)};
  }
  Let let(Op op, std::initializer_list<Atom> args, const Terminator& at) {
    Let l;
    l.op = op;
    l.result = new_name();
    l.args_begin = static_cast<uint32_t>(f.atoms.size());
    l.nargs = static_cast<uint16_t>(args.size());
    l.span = at.span;
    f.atoms.insert(f.atoms.end(), args);
    return l;
  }
  void yield(Block& b) {
    Let l =
        let(b.term.kind == Terminator::Kind::yield ? prim::ad_yielded : prim::list_extend, {list, b.term.a}, b.term);
    l.handover = b.term.handover;
    b.lets.push_back(l);
    Target& t = b.term.targets[0];
    std::vector<Atom> args(f.atoms.begin() + t.args_begin, f.atoms.begin() + t.args_begin + t.nargs);
    args.push_back(none);
    t.args_begin = static_cast<uint32_t>(f.atoms.size());
    t.nargs = static_cast<uint32_t>(args.size());
    f.atoms.insert(f.atoms.end(), args.begin(), args.end());
    b.term.kind = Terminator::Kind::jump;
    b.term.a = {};
    b.term.handover = Let::kNoHandover;
  }

  // A handler around all of it, which gives an iterator over what was yielded before, and then raises.
  void raise_late() {
    const BlockId handler{static_cast<uint32_t>(f.blocks.size())};
    auto handover = [&] {
      f.handovers.push_back({handler, 0, 0});
      return static_cast<uint32_t>(f.handovers.size() - 1);
    };
    for (Block& b : f.blocks) {
      for (Let& l : b.lets)
        if (l.handover == Let::kNoHandover && (op_effects(l.op) & kRaises)) l.handover = handover();
      if (b.term.kind == Terminator::Kind::raise && b.term.handover == Let::kNoHandover) b.term.handover = handover();
    }
    Block last;
    last.handler = true;
    const NameId e = new_name();
    last.params = {e};
    last.term.kind = Terminator::Kind::return_;
    last.term.span = f.span;
    auto add = [&](Op op, std::initializer_list<Atom> args, uint32_t attr) {
      last.lets.push_back(let(op, args, last.term));
      last.lets.back().attr = attr;
      return last.lets.back().result;
    };
    const NameId rules = add(prim::import_as, {}, intern("ouro.grad_rules").id());
    const NameId late = add(prim::attr_get, {rules}, intern("late").id());
    f.calls.push_back({.args = {CallSig::Arg{}, CallSig::Arg{}}, .method = {}});
    last.term.a = add(prim::call, {late, list, e}, static_cast<uint32_t>(f.calls.size() - 1));
    f.blocks.push_back(std::move(last));
  }
};

// Is what is sent to it, or what it delegates to returns, used?
bool wants_answers(const Function& f) {
  std::vector<bool> used(f.names.size(), false);
  for (const Block& b : f.blocks) for_each_use(f, b, [&](uint32_t, NameId n) { used[index(n)] = true; });
  for (const Block& b : f.blocks)
    if (b.term.kind == Terminator::Kind::yield || b.term.kind == Terminator::Kind::yield_from)
      if (used[index(f.block(b.term.targets[0].block).params.back())]) return true;
  return false;
}

}  // namespace

FunctionRef run_generator_at_once(const Function& source) {
  if (wants_answers(source)) return nullptr;
  Rewriter r{source};
  Function& f = r.f;
  f.is_generator = false;
  f.kind = Function::Kind::function;
  f.constants.push_back({.kind = Constant::Kind::none});
  r.none = ConstId{static_cast<uint32_t>(f.constants.size() - 1)};
  Let make = r.let(prim::list, {}, f.blocks[0].term);
  r.list = make.result;
  for (Block& b : f.blocks) {
    if (b.term.kind == Terminator::Kind::yield || b.term.kind == Terminator::Kind::yield_from) {
      r.yield(b);
    } else if (b.term.kind == Terminator::Kind::return_) {
      Let l = r.let(prim::iter, {r.list}, b.term);
      b.lets.push_back(l);
      b.term.a = l.result;
    }
  }
  if (source.kind == Function::Kind::function) r.raise_late();
  f.blocks[0].lets.insert(f.blocks[0].lets.begin(), make);
  return std::make_shared<const Function>(std::move(f));
}

}  // namespace ouro::ir::grad
