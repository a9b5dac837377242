#include "ir/verify.h"

#include <cstdlib>
#include <utility>

#include "ir/effect.h"
#include "ir/print.h"
#include "ir/walk.h"
#include "support/diag.h"

namespace ouro::ir {
namespace {

class Verifier {
 public:
  explicit Verifier(const Function& f) : f_(f), bound_(f.names.size()) {}

  std::string run() {
    if (f_.blocks.empty()) return fail(0, "V3", "no blocks"), errors_;
    bind();
    for (block_ = 0; block_ < f_.blocks.size(); ++block_) structure(f_.blocks[block_]);
    if (!errors_.empty()) return errors_;  // what follows needs sound indices
    dominance();
    loop_heads();
    for (const Constant& c : f_.constants)
      if (c.kind == Constant::Kind::code)
        errors_ += c.code ? verify(*c.code) : "V4 in " + f_.name.str() + ": code without function\n";
    return errors_;
  }

 private:
  void fail(uint32_t block, const char* rule, const std::string& text) {
    errors_ += std::string(rule) + " in " + f_.name.str() + ", ^" + std::to_string(block) + ": " + text + "\n";
  }
  static std::string show(NameId n) { return "%" + std::to_string(index(n)); }

  void bind_one(uint32_t block, NameId n, int32_t position) {
    if (index(n) >= f_.names.size()) return fail(block, "V1", show(n) + " is no name of this function");
    Binding& b = bound_[index(n)];
    if (b.block != BlockId::none) return fail(block, "V1", show(n) + " is bound twice");
    b = {BlockId{block}, position};
  }
  void bind() {
    for (uint32_t i = 0; i < f_.blocks.size(); ++i) {
      for (NameId p : f_.blocks[i].params) bind_one(i, p, Binding::kParam);
      for (size_t k = 0; k < f_.blocks[i].lets.size(); ++k)
        bind_one(i, f_.blocks[i].lets[k].result, static_cast<int32_t>(k));
    }
    size_t expected = f_.sig.count() + f_.captures.size();
    if (f_.blocks[0].params.size() != expected)
      fail(0, "V4",
           "the entry has " + std::to_string(f_.blocks[0].params.size()) +
               " parameters, the signature and captures say " + std::to_string(expected));
  }

  void atom(Atom a, bool may_be_none = false) {
    if (a.is_none() && may_be_none) return;
    if (a.is_name() ? index(a.name()) >= f_.names.size() : !a.is_const() || index(a.constant()) >= f_.constants.size())
      fail(block_, "V2", "an atom is no name or constant of this function");
  }
  bool pool(uint32_t begin, uint32_t n) {
    if (uint64_t{begin} + n > f_.atoms.size()) return fail(block_, "V4", "arguments lie outside the pool"), false;
    for (uint32_t k = 0; k < n; ++k) atom(f_.atoms[begin + k]);
    return true;
  }

  void handover(uint32_t h) {
    if (h == Let::kNoHandover) return;
    if (h >= f_.handovers.size()) return fail(block_, "V5", "no such handover");
    const Handover& ho = f_.handovers[h];
    if (index(ho.handler) >= f_.blocks.size()) return fail(block_, "V5", "the handler is no block");
    const Block& b = f_.block(ho.handler);
    if (!b.handler) fail(block_, "V5", "^" + std::to_string(index(ho.handler)) + " is no handler block");
    if (b.params.size() != ho.nargs + size_t{1})
      fail(block_, "V5",
           "handler ^" + std::to_string(index(ho.handler)) + " takes an exception and " +
               std::to_string(b.params.empty() ? 0 : b.params.size() - 1) + " values, not " + std::to_string(ho.nargs));
    pool(ho.args_begin, ho.nargs);
  }

  void let(const Let& l) {
    OpFacts info = op_facts(l.op);
    pool(l.args_begin, l.nargs);
    std::string op(info.name);
    if (info.nargs >= 0 && std::cmp_not_equal(l.nargs, info.nargs))
      fail(block_, "V4", op + " takes " + std::to_string(info.nargs) + " arguments, not " + std::to_string(l.nargs));
    switch (info.attr) {
      case AttrKind::call: {
        size_t lead = call_lead(l.op);
        if (l.attr >= f_.calls.size())
          fail(block_, "V4", op + " has no call signature");
        else if (f_.calls[l.attr].args.size() + lead != l.nargs)
          fail(block_, "V4", op + ": the call signature does not fit the arguments");
        break;
      }
      case AttrKind::path:
        path(l, op);
        break;
      case AttrKind::constant:
        if (l.attr == kNoAttr ? !is_tensor_op(l.op) : l.attr >= f_.constants.size())
          fail(block_, "V4", op + " has no constant");
        else if (l.op == prim::function)
          closure(l);
        break;
      default:
        break;
    }
    if (l.handover != Let::kNoHandover && !may_fail(info.effects))
      fail(block_, "V5", op + " never raises, yet hands over");
    handover(l.handover);
  }

  void closure(const Let& l) {
    const Constant& c = f_.constants[l.attr];
    if (c.kind != Constant::Kind::code || !c.code) return fail(block_, "V4", "function needs a code constant");
    if (l.nargs != 3 + c.code->captures.size())
      fail(block_, "V4",
           "function of " + c.code->name.str() + " takes defaults, keyword defaults, annotations and " +
               std::to_string(c.code->captures.size()) + " captures, not " + std::to_string(l.nargs) + " arguments");
  }

  void path(const Let& l, const std::string& op) {
    if (l.attr >= f_.paths.size()) return fail(block_, "V4", op + " has no path");
    const PlacePath& p = f_.paths[l.attr];
    if (l.nargs != p.arguments())
      fail(block_, "V4",
           op + ": the path wants " + std::to_string(p.arguments()) + " arguments, not " + std::to_string(l.nargs));
    if (p.loaded && (!p.augmented || p.steps.size() > 1 || (p.steps.size() == 1 && p.steps[0].is_item)))
      fail(block_, "V4", op + ": only an augmented path without items is loaded");
    if (p.held && (p.loaded || p.items() == 0 || p.containers() == 0))
      fail(block_, "V4", op + ": a path that holds no container is held");
  }

  void terminator(const Terminator& t) {
    using K = Terminator::Kind;
    size_t targets = 0;
    bool value = false, resumes = t.kind == K::yield || t.kind == K::yield_from;
    switch (t.kind) {
      case K::none:
        return fail(block_, "V3", "no terminator");
      case K::return_:
        value = true;
        break;
      case K::jump:
        targets = 1;
        break;
      case K::branch:
        targets = 2, value = true;
        break;
      case K::switch_:
        targets = t.targets.size(), value = true;
        break;
      case K::yield:
      case K::yield_from:
        targets = 1, value = true;
        break;
      case K::raise:
      case K::unreachable:
        break;
    }
    atom(t.a, !value);
    atom(t.b, true);
    if (t.targets.size() != targets) fail(block_, "V3", "wrong number of targets");
    for (const Target& to : t.targets) {
      if (index(to.block) >= f_.blocks.size()) return fail(block_, "V2", "jump to no block");
      if (to.block == BlockId{0}) fail(block_, "V3", "jump to the entry");
      const Block& b = f_.block(to.block);
      if (b.handler) fail(block_, "V5", "jump to handler ^" + std::to_string(index(to.block)));
      if (to.nargs + (resumes ? size_t{1} : 0) != b.params.size())
        fail(block_, "V2",
             "^" + std::to_string(index(to.block)) + " takes " + std::to_string(b.params.size()) + " values, not " +
                 std::to_string(to.nargs));
      pool(to.args_begin, to.nargs);
    }
    handover(t.handover);
  }

  void structure(const Block& b) {
    for (const Let& l : b.lets) let(l);
    terminator(b.term);
  }

  void dominance() {
    Dominators dom(f_);
    for (uint32_t i = 0; i < f_.blocks.size(); ++i) {
      if (!dom.reachable(BlockId{i})) {
        fail(i, "V3", "nothing reaches this block");
        continue;
      }
      for_each_use(f_, f_.blocks[i], [&](uint32_t pos, NameId n) {
        if (!dom.available(bound_[index(n)], BlockId{i}, pos))
          fail(i, "V2", show(n) + " is used where it is not bound");
      });
    }
    if (!errors_.empty()) return;
    for (uint32_t i = 0; i < f_.blocks.size(); ++i)
      for (const Target& t : f_.blocks[i].term.targets)
        if (dom.dominates(t.block, BlockId{i}) && !f_.block(t.block).loop_head)
          fail(i, "V6", "^" + std::to_string(index(t.block)) + " is jumped back to and no loop_head");
  }

  // A mark without a back edge: some path leads from the head to itself, or the mark is wrong.
  void loop_heads() {
    if (!errors_.empty()) return;
    for (uint32_t h = 0; h < f_.blocks.size(); ++h) {
      if (!f_.blocks[h].loop_head) continue;
      std::vector<bool> seen(f_.blocks.size(), false);
      std::vector<uint32_t> work{h};
      bool loops = false;
      while (!work.empty() && !loops) {
        const Block& b = f_.blocks[work.back()];
        work.pop_back();
        auto go = [&](BlockId to) {
          if (index(to) == h) loops = true;
          if (seen[index(to)]) return;
          seen[index(to)] = true;
          work.push_back(index(to));
        };
        for (const Target& t : b.term.targets) go(t.block);
        for_each_handover(f_, b, [&](uint32_t, const Handover& ho) { go(ho.handler); });
      }
      if (!loops) fail(h, "V6", "loop_head, but nothing jumps back");
    }
  }

  const Function& f_;
  std::vector<Binding> bound_;
  uint32_t block_ = 0;
  std::string errors_;
};

}  // namespace

std::string verify(const Function& f) { return Verifier(f).run(); }

void check(const Function& f) {
  std::string errors = verify(f);
  if (!errors.empty()) ouro_bug("broken function:\n%s%s", errors.c_str(), print(f).c_str());
}

void check_if_asked(const Function& f) {
#ifdef OURO_ASSERTS
  check(f);
#else
  static const bool asked = std::getenv("OURO_CHECK_PLANS") != nullptr;
  if (asked) check(f);
#endif
}

}  // namespace ouro::ir
