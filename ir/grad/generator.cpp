#include "ir/grad/generator.h"

#include <initializer_list>
#include <string>
#include <vector>

#include "ir/build.h"
#include "ir/effect.h"
#include "ir/prim.h"
#include "ir/walk.h"

namespace ouro::ir::grad {
namespace {

struct Steps {
  Function f;
  NameId frame{}, at{}, sent{}, error{};
  bool guarded = false;          // a yield stands inside of a try: whoever leaves it there runs its handler
  std::vector<BlockId> goes_on;  // by number of the yield; [0] is the start

  explicit Steps(const Function& source) : f(source) {}

  NameId new_name(Symbol hint = {}) {
    f.names.push_back({});
    f.names.back().hint = hint;
    return NameId{static_cast<uint32_t>(f.names.size() - 1)};
  }
  Atom constant(Constant::Kind kind, int64_t i = 0) {
    f.constants.push_back({.kind = kind, .i = i});
    return ConstId{static_cast<uint32_t>(f.constants.size() - 1)};
  }
  Atom none() { return constant(Constant::Kind::none); }
  uint32_t pool(const std::vector<Atom>& args) {
    const auto begin = static_cast<uint32_t>(f.atoms.size());
    f.atoms.insert(f.atoms.end(), args.begin(), args.end());
    return begin;
  }
  Let make(Op op, const std::vector<Atom>& args, uint32_t attr, Span span) {
    Let l;
    l.op = op;
    l.result = new_name();
    l.args_begin = pool(args);
    l.nargs = static_cast<uint32_t>(args.size());
    l.attr = attr;
    l.span = span;
    return l;
  }
  static uint32_t text(std::string_view name) { return intern(name).id(); }
  Let load(std::string_view name, Span span) { return make(prim::attr_get, {frame}, text(name), span); }
  Let store(std::string_view name, Atom v, Span span) { return make(prim::attr_set, {frame, v}, text(name), span); }

  BlockId new_block() {
    f.blocks.emplace_back();
    return BlockId{static_cast<uint32_t>(f.blocks.size() - 1)};
  }
  Block& block(BlockId b) { return f.blocks[index(b)]; }
  Target target(BlockId to, const std::vector<Atom>& args) {
    return {to, pool(args), static_cast<uint32_t>(args.size())};
  }
  void jump(BlockId from, BlockId to, const std::vector<Atom>& args, Span span) {
    Terminator& t = block(from).term;
    t.kind = Terminator::Kind::jump;
    t.targets = {target(to, args)};
    t.span = span;
  }
  void branch(BlockId from, Atom condition, BlockId yes, const std::vector<Atom>& with, BlockId no, Span span) {
    Terminator& t = block(from).term;
    t.kind = Terminator::Kind::branch;
    t.a = condition;
    t.targets = {target(yes, with), target(no, {})};
    t.span = span;
  }
  void leave(BlockId b, int64_t number, Atom value, Span span) {
    const Atom n = constant(Constant::Kind::integer, number);
    block(b).lets.push_back(store("at", n, span));
    Terminator& t = block(b).term;
    t = {};
    t.kind = Terminator::Kind::return_;
    t.a = value;
    t.span = span;
  }

  void within(BlockId b, const Terminator& yield) {
    if (!guarded) return;
    const bool inside = yield.handover != Let::kNoHandover;
    block(b).lets.push_back(
        store("within", constant(inside ? Constant::Kind::true_ : Constant::Kind::false_), yield.span));
  }

  // What goes on behind a yield: `k` with what was sent, or the error that was thrown there.
  void yield(BlockId b) {
    const Terminator term = block(b).term;
    const auto number = static_cast<int64_t>(goes_on.size());
    const BlockId behind = new_block(), calm = new_block(), thrown = new_block();
    goes_on.push_back(behind);
    within(b, term);
    leave(b, number, term.a, term.span);
    const Let quiet = make(prim::is, {error, none()}, kNoAttr, term.span);
    block(behind).lets.push_back(quiet);
    branch(behind, quiet.result, calm, {}, thrown, term.span);
    std::vector<Atom> args(f.args(term.targets[0]), f.args(term.targets[0]) + term.targets[0].nargs);
    args.push_back(sent);
    jump(calm, term.targets[0].block, args, term.span);
    Terminator& raise = block(thrown).term;
    raise.kind = Terminator::Kind::raise;
    raise.a = error;
    raise.handover = term.handover;
    raise.span = term.span;
  }

  bool is_used(NameId name) const {
    bool used = false;
    for (const Block& b : f.blocks) for_each_use(f, b, [&](uint32_t, NameId n) { used |= n == name; });
    return used;
  }

  // yield from, where nothing is sent or thrown.
  bool plain_yield_from(BlockId b) {
    const Terminator term = block(b).term;
    if (is_used(block(term.targets[0].block).params.back())) return false;
    const auto number = static_cast<int64_t>(goes_on.size());
    const BlockId ask = new_block(), out = new_block(), ended = new_block();
    goes_on.push_back(ask);
    block(b).lets.push_back(store("inner", term.a, term.span));  // an iterator
    block(b).term = {};
    jump(b, ask, {}, term.span);
    const Let from = load("inner", term.span);
    Let given = make(prim::iter_next, {from.result}, kNoAttr, term.span);
    given.handover = term.handover;
    const Let end = make(prim::is_end, {given.result}, kNoAttr, term.span);
    for (const Let& l : {from, given, end}) block(ask).lets.push_back(l);
    const NameId v = new_name();
    block(out).params = {v};
    branch(ask, end.result, ended, {}, out, term.span);
    block(ask).term.targets[1] = target(out, {given.result});
    leave(out, number, v, term.span);
    std::vector<Atom> args(f.args(term.targets[0]), f.args(term.targets[0]) + term.targets[0].nargs);
    args.push_back(none());
    jump(ended, term.targets[0].block, args, term.span);
    return true;
  }

  // yield from: object.inner is asked by grad_rules.delegated until it ends; its result goes on.
  void yield_from(BlockId b) {
    const Terminator term = block(b).term;
    const auto number = static_cast<int64_t>(goes_on.size());
    const BlockId behind = new_block(), ask = new_block(), out = new_block(), ended = new_block();
    goes_on.push_back(behind);
    block(b).lets.push_back(store("inner", term.a, term.span));  // an iterator
    block(b).term = {};
    jump(b, ask, {none(), none()}, term.span);
    jump(behind, ask, {sent, error}, term.span);
    const NameId s = new_name(), e = new_name(), v = new_name();
    block(ask).params = {s, e};
    const Let rules = make(prim::import_as, {}, text("ouro.grad_rules"), term.span);
    const Let delegated = make(prim::attr_get, {rules.result}, text("delegated"), term.span);
    f.calls.push_back({.args = {CallSig::Arg{}, CallSig::Arg{}, CallSig::Arg{}}, .method = {}});
    Let given = make(prim::call, {delegated.result, frame, s, e}, static_cast<uint32_t>(f.calls.size() - 1), term.span);
    given.handover = term.handover;
    const Let goes = load("delegates", term.span);
    const Let truth = make(prim::truth, {goes.result}, kNoAttr, term.span);
    for (const Let& l : {rules, delegated, given, goes, truth}) block(ask).lets.push_back(l);
    branch(ask, truth.result, out, {given.result}, ended, term.span);
    block(out).params = {v};
    within(out, term);
    leave(out, number, v, term.span);
    const Let result = load("value", term.span);
    block(ended).lets.push_back(result);
    std::vector<Atom> args(f.args(term.targets[0]), f.args(term.targets[0]) + term.targets[0].nargs);
    args.push_back(result.result);
    jump(ended, term.targets[0].block, args, term.span);
  }

  // Names that are used in another block than they are bound in become attributes of the object.
  void spill() {
    const std::vector<Binding> bound = bindings(f);
    std::vector<bool> kept(f.names.size(), false);
    for (uint32_t b = 0; b < f.blocks.size(); ++b)
      for_each_use(f, f.blocks[b], [&](uint32_t, NameId n) {
        const Binding& at = bound[index(n)];
        if (at.block != BlockId::none && index(at.block) != b && index(at.block) != 0) kept[index(n)] = true;
      });
    const auto attribute = [](NameId n) { return "%" + std::to_string(index(n)); };
    const size_t count = kept.size();
    for (uint32_t b = 1; b < f.blocks.size(); ++b) {
      std::vector<Let> lets;
      std::vector<NameId> here(count, NameId::none);
      const Span first = f.blocks[b].lets.empty() ? f.blocks[b].term.span : f.blocks[b].lets[0].span;
      const auto stored = [&](NameId n, Span span) {
        if (index(n) >= count || !kept[index(n)]) return;
        here[index(n)] = n;
        lets.push_back(store(attribute(n), n, span));
      };
      const auto loaded = [&](Atom& a, Span span) {
        if (!a.is_name() || index(a.name()) >= count || !kept[index(a.name())]) return;
        NameId& now = here[index(a.name())];
        if (now == NameId::none) {
          lets.push_back(load(attribute(a.name()), span));
          now = lets.back().result;
        }
        a = now;
      };
      // The pool of atoms may be shared between lets: each gets arguments of its own.
      const auto replaced = [&](uint32_t begin, uint32_t n, Span span) {
        std::vector<Atom> args(f.atoms.begin() + begin, f.atoms.begin() + begin + n);
        for (Atom& a : args) loaded(a, span);
        return pool(args);
      };
      const auto handed = [&](uint32_t& handover, Span span) {
        if (handover == Let::kNoHandover) return;
        Handover h = f.handovers[handover];
        h.args_begin = replaced(h.args_begin, h.nargs, span);
        f.handovers.push_back(h);
        handover = static_cast<uint32_t>(f.handovers.size() - 1);
      };
      for (NameId p : f.blocks[b].params) stored(p, first);
      const std::vector<Let> old = f.blocks[b].lets;
      for (Let l : old) {
        l.args_begin = replaced(l.args_begin, l.nargs, l.span);
        handed(l.handover, l.span);
        lets.push_back(l);
        stored(l.result, l.span);
      }
      Terminator term = f.blocks[b].term;
      loaded(term.a, term.span);
      loaded(term.b, term.span);
      for (Target& t : term.targets) t.args_begin = replaced(t.args_begin, t.nargs, term.span);
      handed(term.handover, term.span);
      f.blocks[b].lets = std::move(lets);
      f.blocks[b].term = std::move(term);
    }
  }

  // A loop whose every way round passes a yield is none any more.
  bool returns_to_itself(BlockId head) {
    std::vector<bool> seen(f.blocks.size(), false);
    std::vector<BlockId> work{head};
    while (!work.empty()) {
      const Block& b = block(work.back());
      work.pop_back();
      const auto go = [&](BlockId to) {
        if (!seen[index(to)]) work.push_back(to);
        seen[index(to)] = true;
      };
      for (const Target& t : b.term.targets) go(t.block);
      for_each_handover(f, b, [&](uint32_t, const Handover& h) { go(h.handler); });
    }
    return seen[index(head)];
  }

  FunctionRef step(bool plain) {
    const std::vector<NameId> params = f.blocks[0].params;
    const size_t own = f.sig.count();
    const size_t blocks = f.blocks.size();
    frame = new_name(intern("generator")), at = new_name(intern("at"));
    sent = new_name(intern("sent")), error = new_name(intern("error"));
    // The entry becomes a block like the others, in another place; the new one goes on where it has to.
    const BlockId start = new_block();
    f.blocks[index(start)] = f.blocks[0];
    block(start).params.clear();
    f.blocks[0] = {};
    goes_on = {start};
    for (const Block& b : f.blocks)
      guarded = guarded || ((b.term.kind == Terminator::Kind::yield || b.term.kind == Terminator::Kind::yield_from) &&
                            b.term.handover != Let::kNoHandover);
    for (uint32_t b = 1; b <= blocks; ++b) {
      const Terminator::Kind kind = f.blocks[b].term.kind;
      if (kind == Terminator::Kind::yield) {
        yield(BlockId{b});
      } else if (kind == Terminator::Kind::yield_from) {
        if (!plain)
          yield_from(BlockId{b});
        else if (!plain_yield_from(BlockId{b}))
          return nullptr;
      } else if (kind == Terminator::Kind::return_) {
        const Terminator term = f.blocks[b].term;
        f.blocks[b].lets.push_back(store("value", term.a, term.span));
        leave(BlockId{b}, -1, none(), term.span);
      }
    }
    Block& entry = f.blocks[0];
    entry.params = {frame, at, sent, error};
    entry.params.insert(entry.params.end(), params.begin() + static_cast<ptrdiff_t>(own), params.end());
    entry.params.insert(entry.params.end(), params.begin(), params.begin() + static_cast<ptrdiff_t>(own));
    entry.term.kind = Terminator::Kind::switch_;
    entry.term.a = at;
    entry.term.span = f.span;
    for (BlockId b : goes_on) f.blocks[0].term.targets.push_back({b, 0, 0});
    spill();
    for (uint32_t b = 0; b < f.blocks.size(); ++b)
      f.blocks[b].loop_head = f.blocks[b].loop_head && returns_to_itself(BlockId{b});
    for (Symbol name : f.sig.names) f.captures.push_back({name, false});
    f.sig = {};
    f.sig.positional = 4;
    f.sig.names = {intern("generator"), intern("at"), intern("sent"), intern("error")};
    f.is_generator = false;
    f.is_method = false;
    f.kind = Function::Kind::function;
    return std::make_shared<const Function>(std::move(f));
  }
};

}  // namespace

static FunctionRef made_of_steps(const Function& source, bool plain) {
  Steps steps(source);
  const FunctionRef step = steps.step(plain);
  if (!step) return nullptr;
  Function f;
  f.name = source.name, f.qualname = source.qualname;
  f.is_method = source.is_method;
  f.sig = source.sig;
  f.captures = source.captures;
  f.doc = ConstId::none;
  f.span = source.span;
  f.blocks.resize(1);
  Block& b = f.blocks[0];
  for (NameId p : source.blocks[0].params) {
    f.names.push_back(source.name_info(p));
    b.params.push_back(NameId{static_cast<uint32_t>(f.names.size() - 1)});
  }
  const auto let = [&](Op op, const std::vector<Atom>& args, uint32_t attr) {
    f.names.push_back({});
    Let l;
    l.op = op;
    l.result = NameId{static_cast<uint32_t>(f.names.size() - 1)};
    l.args_begin = static_cast<uint32_t>(f.atoms.size());
    l.nargs = static_cast<uint32_t>(args.size());
    l.attr = attr;
    l.span = source.span;
    f.atoms.insert(f.atoms.end(), args.begin(), args.end());
    b.lets.push_back(l);
    return l.result;
  };
  f.constants.push_back({.kind = Constant::Kind::code, .code = step});
  f.constants.push_back({.kind = Constant::Kind::none});
  f.constants.push_back({.kind = Constant::Kind::tuple});
  const Atom none = ConstId{1}, nothing = ConstId{2};
  std::vector<Atom> captured{nothing, none, none};
  const size_t own = f.sig.count();
  for (size_t i = own; i < b.params.size(); ++i) captured.push_back(b.params[i]);
  for (size_t i = 0; i < own; ++i) captured.push_back(b.params[i]);
  const NameId made = let(prim::function, captured, 0);
  const NameId rules = let(prim::import_as, {}, intern("ouro.grad_rules").id());
  const NameId generator = let(prim::attr_get, {rules}, intern(steps.guarded ? "guarded_generator" : "generator").id());
  f.calls.push_back({.args = {CallSig::Arg{}}, .method = {}});
  b.term.a = let(prim::call, {generator, made}, 0);
  b.term.kind = Terminator::Kind::return_;
  b.term.span = source.span;
  return std::make_shared<const Function>(std::move(f));
}

FunctionRef as_steps(const Function& source) { return made_of_steps(source, false); }
FunctionRef as_plain_steps(const Function& source) { return made_of_steps(source, true); }

}  // namespace ouro::ir::grad
