#include "ir/grad/raising.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/effect.h"
#include "ir/grad/rewriter.h"
#include "ir/prim.h"

namespace ouro::ir::grad {
namespace {

bool is_call(Op op) { return op == prim::call || op == prim::call_method || op == prim::call_loaded; }

// Which operand is taken apart at once: a list, or what its items are drawn from.
std::optional<uint32_t> taken_apart(Op op) {
  if (op == prim::list_extend || op == prim::set_update) return 1;
  if (op == prim::unpack || op == prim::unpack_star) return 0;
  return std::nullopt;
}

// What may call a script's methods, which is found out when it runs (ad.special).
bool may_call(const Function& f, const Let& l) {
  constexpr Op kOps[] = {prim::attr_get,    prim::attr_set,  prim::item_get,     prim::item_set,   prim::item_del,
                         prim::iter,        prim::iter_next, prim::with_methods, prim::match_keys, prim::match_rest,
                         prim::match_class, prim::format,    prim::attr_del};
  if (l.op == prim::update) {
    const PlacePath& path = f.paths[l.attr];
    return path.root == PlacePath::Root::value && path.steps.size() == 1 && path.steps[0].is_item;
  }
  if (!is_operator(l.op) && !is_test(l.op) && !taken_apart(l.op) && std::ranges::find(kOps, l.op) == std::end(kOps))
    return false;
  return std::any_of(f.args(l), f.args(l) + l.nargs, [](Atom a) { return a.is_name(); });
}

bool in_try(const Function& f, const Let& l) {
  return l.handover != Let::kNoHandover && (is_call(l.op) || l.op == prim::method_get || may_call(f, l));
}

struct Raising : Rewriter {
  uint32_t handover_to(BlockId handler) {
    f.handovers.push_back({handler, 0, 0});
    return static_cast<uint32_t>(f.handovers.size() - 1);
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
    }
    if (l.op == prim::call_loaded) args.erase(args.begin() + 1);  // what was loaded is bound to its receiver
    sig.method = {};
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

  // A method that is loaded before the arguments of its call are computed, bound to its receiver.
  void loaded(const Let& l, std::vector<Let>& out) {
    out.push_back(l);
    out.back().op = prim::attr_get;
  }

  // The operands of l as ad.special and ad.value take them: a name second, a number last.
  std::vector<Atom> operands(const Let& l) {
    std::vector<Atom> args(f.args(l), f.args(l) + l.nargs);
    const AttrKind attr = op_facts(l.op).attr;
    if (attr == AttrKind::symbol) args.insert(args.begin() + 1, string(Symbol::from_id(l.attr).text()));
    if (attr == AttrKind::integer) args.push_back(constant({.kind = Constant::Kind::integer, .i = l.attr}));
    return args;
  }

  // In the place of l, with its handler.
  NameId handed(const Let& l, Op op, const std::vector<Atom>& args, uint32_t attr, std::vector<Let>& out) {
    out.push_back(let(op, args, attr, l.span));
    out.back().handover = handover_like(l.handover);
    return out.back().result;
  }
  NameId special(const Let& l, std::string_view name, const std::vector<Atom>& args, std::vector<Let>& out) {
    return handed(l, prim::ad_special, args, intern("caught." + std::string(name)).id(), out);
  }
  NameId try_call(const Let& l, NameId callee, std::vector<Atom> args, std::vector<Let>& out) {
    CallSig sig;
    sig.args.resize(args.size());
    f.calls.push_back(std::move(sig));
    args.insert(args.begin(), callee);
    return handed(l, prim::ad_try_call, args, static_cast<uint32_t>(f.calls.size() - 1), out);
  }

  // Primitive `name` on these operands: what it calls, or itself.
  NameId asked(const Let& l, std::string_view name, std::vector<Atom> args, std::vector<Let>& out) {
    const NameId both = try_call(l, special(l, name, args, out), args, out);
    args.insert(args.begin(), both);
    return handed(l, prim::ad_value, args, intern(name).id(), out);
  }

  // Drawing the items, and then l on the list of them.
  void drawn(const Let& l, uint32_t operand, std::vector<Let>& out) {
    std::vector<Atom> args(f.args(l), f.args(l) + l.nargs);
    args[operand] = asked(l, op_name(prim::move), {args[operand]}, out);
    out.push_back(let(l.op, args, l.attr, l.span));
    out.back().result = l.result;
    out.back().handover = l.handover;
  }

  // root[key] = v and root[key] op= v: a call, or the update itself; what follows is in a block of its own.
  BlockId updated(const Let& l, BlockId at, std::vector<Let>& out) {
    const PlacePath& path = f.paths[l.attr];
    const std::vector<Atom> args{f.args(l)[0], f.args(l)[1], f.args(l)[2],
                                 string(path.augmented ? op_name(path.in_place) : "")};
    const NameId callee = special(l, op_name(prim::update), args, out);
    const NameId plain = handed(l, prim::is, {callee, none()}, 0, out);
    out.back().handover = Let::kNoHandover;
    const BlockId itself = new_block(), called = new_block(), goes_on = new_block();
    branch(at, out, plain, itself, called, l.span);

    out.push_back(l);
    out.back().result = new_name();
    const NameId updated = out.back().result;
    jump(itself, out, goes_on, updated, l.span);

    const NameId both = try_call(l, callee, args, out);
    handed(l, prim::ad_value, {both, args[0]}, intern(op_name(prim::move)).id(), out);  // raises what was raised
    jump(called, out, goes_on, args[0], l.span);
    f.blocks[index(goes_on)].params = {l.result};
    return goes_on;
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
    branch(at, out, calm, goes_on, raises, l.span);
    return goes_on;
  }
};

}  // namespace

FunctionRef with_caught_calls(const Function& source) {
  Raising r;
  return r.replace(
      source, [&](const Let& l) { return in_try(source, l); },
      [&](const Let& l) {
        if (is_call(l.op)) {
          r.at = r.caught(l, r.at, r.out);
        } else if (l.op == prim::method_get) {
          r.loaded(l, r.out);
        } else if (l.op == prim::update) {
          r.at = r.updated(l, r.at, r.out);
        } else if (const auto operand = taken_apart(l.op)) {
          r.drawn(l, *operand, r.out);
        } else {
          r.asked(l, op_name(l.op), r.operands(l), r.out);
          r.out.back().result = l.result;
        }
      });
}

FunctionRef catching(const Function& source) {
  Raising r{{source}};
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
