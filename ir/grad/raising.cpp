#include "ir/grad/raising.h"

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include "ir/effect.h"
#include "ir/prim.h"

namespace ouro::ir::grad {
namespace {

bool in_try(const Let& l) {
  return l.handover != Let::kNoHandover && (l.op == prim::call || l.op == prim::call_method || l.op == prim::iter_next);
}

struct Rewriter {
  Function f;

  NameId new_name() {
    f.names.push_back({});
    return NameId{static_cast<uint32_t>(f.names.size() - 1)};
  }
  Atom none() {
    f.constants.push_back({});
    return ConstId{static_cast<uint32_t>(f.constants.size() - 1)};
  }
  BlockId new_block() {
    f.blocks.emplace_back();
    return BlockId{static_cast<uint32_t>(f.blocks.size() - 1)};
  }
  // Every let that hands over does so for itself.
  uint32_t handover_like(uint32_t of) {
    f.handovers.push_back(Handover(f.handovers[of]));
    return static_cast<uint32_t>(f.handovers.size() - 1);
  }
  uint32_t handover_to(BlockId handler) {
    f.handovers.push_back({handler, 0, 0});
    return static_cast<uint32_t>(f.handovers.size() - 1);
  }
  Let let(Op op, const std::vector<Atom>& args, uint32_t attr, Span span) {
    Let l;
    l.op = op;
    l.result = new_name();
    l.args_begin = static_cast<uint32_t>(f.atoms.size());
    l.nargs = static_cast<uint16_t>(args.size());
    l.attr = attr;
    l.span = span;
    f.atoms.insert(f.atoms.end(), args.begin(), args.end());
    return l;
  }

  // The call `l`, as the last lets of `out`, and what follows it in a block of its own, which is the result.
  BlockId caught(const Let& l, BlockId at, std::vector<Let>& out) {
    auto add = [&](Op op, const std::vector<Atom>& args, uint32_t attr) {
      out.push_back(let(op, args, attr, l.span));
      return out.back().result;
    };
    std::vector<Atom> args(f.args(l), f.args(l) + l.nargs);
    CallSig sig = f.calls[l.attr];
    if (l.op == prim::call_method) {
      args[0] = add(prim::attr_get, {args[0]}, sig.method.id());
      out.back().handover = handover_like(l.handover);
      sig.method = {};
    }
    static const Symbol module = intern("_ad"), name = intern("caught");
    const NameId caught = add(prim::attr_get, {add(prim::import_as, {}, module.id())}, name.id());
    sig.args.insert(sig.args.begin(), CallSig::Arg{});
    f.calls.push_back(std::move(sig));
    args.insert(args.begin(), caught);
    const NameId both = add(prim::call, args, static_cast<uint32_t>(f.calls.size() - 1));
    out.back().handover = l.handover;
    out.push_back(let(prim::tuple_get, {both}, 0, l.span));
    out.back().result = l.result;
    return raise_behind(l, add(prim::tuple_get, {both}, 1), at, out);
  }

  // A generator's step keeps what it raises (grad_rules.generator), which is raised behind it.
  BlockId stepped(const Let& l, BlockId at, std::vector<Let>& out) {
    const Atom it = f.args(l)[0];
    auto rule = [&](std::string_view name) {
      out.push_back(let(prim::import_as, {}, intern("ouro.grad_rules").id(), l.span));
      out.push_back(let(prim::attr_get, {out.back().result}, intern(name).id(), l.span));
      f.calls.push_back({.args = {CallSig::Arg{}}, .method = {}});
      out.push_back(let(prim::call, {out.back().result, it}, static_cast<uint32_t>(f.calls.size() - 1), l.span));
      return out.back().result;
    };
    rule("keep_errors");
    out.push_back(l);
    return raise_behind(l, rule("kept_error"), at, out);
  }

  // The end of a block whose last let raises e unless that is None, and what follows it.
  BlockId raise_behind(const Let& l, NameId e, BlockId at, std::vector<Let>& out) {
    out.push_back(let(prim::is, {e, none()}, 0, l.span));
    const NameId calm = out.back().result;

    const BlockId raises = new_block(), goes_on = new_block();
    Terminator& back = f.blocks[index(raises)].term;
    back.kind = Terminator::Kind::raise;
    back.a = e;
    back.handover = handover_like(l.handover);
    back.span = l.span;
    Block& block = f.blocks[index(at)];
    block.lets = std::exchange(out, {});
    block.term = {};
    block.term.kind = Terminator::Kind::branch;
    block.term.a = calm;
    block.term.targets = {Target{goes_on, 0, 0}, Target{raises, 0, 0}};
    block.term.span = l.span;
    return goes_on;
  }
};

}  // namespace

FunctionRef with_caught_calls(const Function& source) {
  if (std::ranges::none_of(source.blocks, [](const Block& b) { return std::ranges::any_of(b.lets, in_try); }))
    return nullptr;
  Rewriter r{source};
  for (uint32_t b = 0; b < source.blocks.size(); ++b) {
    const std::vector<Let>& lets = source.blocks[b].lets;
    if (std::ranges::none_of(lets, in_try)) continue;
    Terminator end = std::move(r.f.blocks[b].term);
    BlockId at{b};
    std::vector<Let> out;
    for (const Let& l : lets) {
      if (in_try(l))
        at = l.op == prim::iter_next ? r.stepped(l, at, out) : r.caught(l, at, out);
      else
        out.push_back(l);
    }
    r.f.blocks[index(at)].lets = std::move(out);
    r.f.blocks[index(at)].term = std::move(end);
  }
  return std::make_shared<const Function>(std::move(r.f));
}

FunctionRef catching(const Function& source) {
  Rewriter r{source};
  const BlockId handler = r.new_block();
  for (uint32_t b = 0; b < source.blocks.size(); ++b) {
    Block& block = r.f.blocks[b];
    for (Let& l : block.lets)
      if (l.handover == Let::kNoHandover && (op_effects(l.op) & kRaises)) l.handover = r.handover_to(handler);
    if (block.term.kind == Terminator::Kind::raise && block.term.handover == Let::kNoHandover)
      block.term.handover = r.handover_to(handler);
    if (block.term.kind != Terminator::Kind::return_) continue;
    const Let both = r.let(prim::tuple, {block.term.a, r.none()}, 0, block.term.span);
    block.lets.push_back(both);
    block.term.a = both.result;
  }
  const NameId e = r.new_name();
  const Let both = r.let(prim::tuple, {r.none(), e}, 0, source.span);
  Block& last = r.f.blocks[index(handler)];
  last.handler = true;
  last.params = {e};
  last.lets = {both};
  last.term.kind = Terminator::Kind::return_;
  last.term.a = both.result;
  last.term.span = source.span;
  return std::make_shared<const Function>(std::move(r.f));
}

}  // namespace ouro::ir::grad
