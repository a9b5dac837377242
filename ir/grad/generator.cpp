#include "ir/grad/generator.h"

#include "ir/prim.h"

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
};

}  // namespace

FunctionRef run_generator_at_once(const Function& source) {
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
  f.blocks[0].lets.insert(f.blocks[0].lets.begin(), make);
  return std::make_shared<const Function>(std::move(f));
}

}  // namespace ouro::ir::grad
