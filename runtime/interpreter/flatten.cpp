// ANF → register code (code.h).
#include "runtime/interpreter/flatten.h"

#include <algorithm>

#include "ir/effect.h"
#include "ir/prim.h"
#include "ir/walk.h"
#include "runtime/object/tensor_hooks.h"
#include "runtime/types/big_int.h"
#include "support/diag.h"
#include "support/forever.h"

namespace ouro::runtime {
using namespace ir;

namespace {

// How a primitive's let becomes an instruction (ir/prims.inc).
enum class Form : uint8_t {
  plain,   // at most two operands, in a and b
  sited,   // an operand in a, the Site in b: it carries the attribute and a cache
  listed,  // operands in the Site's list
  call,
  generic,
};
struct Lowering {
  I instr;
  Form form;
};
constexpr Lowering kLowerings[] = {
#define INTERPRET(form, instr, ...) \
  { I::instr, Form::form }
#define PRIM(id, text, n, attr, effects, location, interpreter, ...) interpreter,
#include "ir/prims.inc"
#undef INTERPRET
};

constexpr bool is_compare(Op op) { return op >= prim::eq && op <= prim::ge; }

class Flattener {
 public:
  Flattener(Session& s, const FunctionRef& ref) : s_(s), f_(*ref), code_(std::make_unique<Code>()) {
    code_->function = ref;
  }

  std::unique_ptr<Code> run() {
    order_ = reverse_postorder(f_);
    Liveness live(f_);
    live_in_ = std::move(live.live_in);
    RegisterPlan plan = assign_registers(f_, order_, live_in_);
    code_->reg_of = std::move(plan.reg_of);
    code_->nregs = plan.nregs;
    code_->nparams = static_cast<uint32_t>(f_.blocks[0].params.size());
    code_->simple = !f_.sig.varargs && !f_.sig.varkw && f_.sig.kwonly == 0;
    code_->plain = code_->simple && !f_.is_generator;
    code_->positional = f_.sig.positional;
    for (size_t i = 0; i < f_.constants.size(); ++i)
      code_->constants.push_back(constant_value(s_, f_, ConstId{static_cast<uint32_t>(i)}));
    count_uses();
    find_iterators();
    block_pc_.assign(f_.blocks.size(), 0);
    for (size_t i = 0; i < order_.size(); ++i) block(order_[i], i + 1 < order_.size() ? order_[i + 1] : BlockId::none);
    late_parts();
    join();
    patch();
    return std::move(code_);
  }

 private:
  // ---- operands
  void count_uses() {
    uses_.assign(f_.names.size(), 0);
    for (BlockId id : order_) for_each_use(f_, f_.block(id), [&](uint32_t, NameId n) { ++uses_[index(n)]; });
  }
  int32_t at(Atom a) const {
    if (a.is_const()) return ~static_cast<int32_t>(index(a.constant()));
    int32_t r = code_->reg_of[index(a.name())];
    if (r < 0) ouro_bug("name %u has no register in %s", index(a.name()), f_.name.c_str());
    return r;
  }
  int32_t extra(int32_t& r) {
    if (r < 0) r = static_cast<int32_t>(code_->nregs++);
    return r;
  }
  int32_t reg(NameId n) {
    int32_t r = n == NameId::none ? -1 : code_->reg_of[index(n)];
    return r < 0 ? extra(scratch_) : r;
  }
  Use death(NameId n) const {
    return f_.names[index(n)].hint ? Use::dies_named : iterator_[index(n)] ? Use::keep : Use::dies;
  }

  // A `for` that is left by `break` lets go of its iterator where its ways out meet, as CPython does (a generator is
  // closed there).
  void find_iterators() {
    iterator_.assign(f_.names.size(), false);
    drops_.resize(f_.blocks.size());
    size_t loops = 0;
    for (BlockId id : order_)
      for (const Let& l : f_.block(id).lets) {
        if (l.op == prim::iter && l.result != NameId::none) iterator_[index(l.result)] = true;
        if (l.op == prim::iter_next && ++loops * f_.blocks.size() < 1000000 && f_.args(l)[0].is_name())
          drop_where_ways_meet(id, f_.args(l)[0].name());
      }
  }
  void reach(BlockId from, BlockId stop, std::vector<bool>& seen) const {
    std::vector<BlockId> stack{from};
    while (!stack.empty()) {
      BlockId b = stack.back();
      stack.pop_back();
      if (b == stop || seen[index(b)]) continue;
      seen[index(b)] = true;
      for (const Target& t : f_.block(b).term.targets) stack.push_back(t.block);
    }
  }
  void drop_where_ways_meet(BlockId head, NameId iterator) {
    const Terminator& t = f_.block(head).term;
    if (t.kind != Terminator::Kind::branch) return;
    std::vector<bool> ended(f_.blocks.size(), false), left(f_.blocks.size(), false);
    reach(t.targets[0].block, head, ended);
    reach(t.targets[1].block, head, left);
    // The first such block behind the head; if there is none, the way out is straight to the head of the loop around
    // it.
    BlockId meet = BlockId::none;
    bool behind = false;
    for (BlockId id : order_) {
      if (id == head)
        behind = true;
      else if (ended[index(id)] && left[index(id)]) {
        meet = id;
        if (behind) break;
      }
    }
    if (meet == BlockId::none || live_into(meet, iterator) || code_->reg_of[index(iterator)] < 0) return;
    drops_[index(meet)].push_back(code_->reg_of[index(iterator)]);
  }
  static bool has_result(Op op) {
    for (Op o :
         {prim::global_set, prim::global_del, prim::cell_set, prim::attr_set, prim::list_append, prim::exc_leave})
      if (o == op) return false;
    return true;
  }

  // Which operands of let i (position n: the terminator) are not needed afterwards.
  void find_deaths(const Block& b) {
    size_t n = b.lets.size();
    last_use_.assign(n + 1, {});
    std::vector<bool>& live = scratch_live_;
    live.assign(f_.names.size(), false);
    for (const Target& t : b.term.targets) {
      for (NameId x : live_in_[index(t.block)]) live[index(x)] = true;
      for (uint32_t k = 0; k < t.nargs; ++k)
        if (f_.args(t)[k].is_name()) live[index(f_.args(t)[k].name())] = true;
    }
    auto use = [&](size_t pos, Atom a) {
      if (!a.is_name() || live[index(a.name())]) return;
      live[index(a.name())] = true;
      last_use_[pos].push_back(a.name());
    };
    auto hand_over = [&](uint32_t h) {
      if (h == Let::kNoHandover) return;
      const Handover& ho = f_.handovers[h];
      for (uint32_t k = 0; k < ho.nargs; ++k)
        if (f_.args(ho)[k].is_name()) live[index(f_.args(ho)[k].name())] = true;
      for (NameId x : live_in_[index(ho.handler)]) live[index(x)] = true;
    };
    hand_over(b.term.handover);
    use(n, b.term.a);
    use(n, b.term.b);
    for (size_t i = n; i-- > 0;) {
      const Let& l = b.lets[i];
      if (l.result != NameId::none) live[index(l.result)] = false;
      // An update or in-place operation leaves its operand as it was when it fails, so the handler does not keep it
      // alive.
      bool restores = l.op == prim::update || is_in_place(l.op);
      if (restores && l.nargs) use(i, f_.args(l)[0]);
      hand_over(l.handover);
      for (uint32_t k = 0; k < l.nargs; ++k) use(i, f_.args(l)[k]);
    }
  }
  Use use_at(size_t pos, Atom a) const {
    if (!a.is_name()) return Use::keep;
    for (NameId n : last_use_[pos])
      if (n == a.name()) return death(n);
    return Use::keep;
  }
  // Of several operands that are the same name only the last one dies.
  Operand operand(size_t pos, const Atom* args, uint32_t k, uint32_t n) const {
    Use u = use_at(pos, args[k]);
    for (uint32_t j = k + 1; j < n && u != Use::keep; ++j)
      if (args[j] == args[k]) u = Use::keep;
    return {at(args[k]), u};
  }

  // ---- emission
  uint32_t emit(I op, int32_t dst, int32_t a, int32_t b, Span span, uint32_t handover = UINT32_MAX, Use ua = Use::keep,
                Use ub = Use::keep) {
    code_->instrs.push_back({op, static_cast<uint8_t>(ua), static_cast<uint8_t>(ub), dst, a, b});
    code_->spans.push_back(span);
    code_->handover_of.push_back(handover == Let::kNoHandover ? UINT32_MAX : handover_index(handover));
    return static_cast<uint32_t>(code_->instrs.size() - 1);
  }
  uint32_t pc() const { return static_cast<uint32_t>(code_->instrs.size()); }

  uint32_t handover_index(uint32_t h) {
    if (handover_map_.empty()) handover_map_.assign(f_.handovers.size(), UINT32_MAX);
    uint32_t& mapped = handover_map_[h];
    if (mapped == UINT32_MAX) {
      const Handover& ho = f_.handovers[h];
      const Block& to = f_.block(ho.handler);
      HandoverTo out;
      out.pc = index(ho.handler);  // patched
      out.exception = reg(to.params[0]);
      for (uint32_t k = 0; k < ho.nargs; ++k) {
        int32_t d = code_->reg_of[index(to.params[k + 1])], x = at(f_.args(ho)[k]);
        if (d >= 0 && d != x) out.moves.push_back({d, {x, Use::keep}});
      }
      mapped = static_cast<uint32_t>(code_->handovers.size());
      code_->handovers.push_back(std::move(out));
    }
    return mapped;
  }

  // `skip`: operands that the instruction itself has.
  uint32_t site(const Let& l, size_t pos, uint32_t skip = 0) {
    Site x;
    x.op = l.op;
    x.attr = l.attr;
    x.first = static_cast<uint32_t>(code_->operands.size());
    x.count = l.nargs - skip;
    for (uint32_t k = skip; k < l.nargs; ++k) code_->operands.push_back(operand(pos, f_.args(l), k, l.nargs));
    code_->sites.push_back(x);
    return static_cast<uint32_t>(code_->sites.size() - 1);
  }

  void let(const Let& l, size_t pos) {
    int32_t dst = reg(l.result);
    bool unused = l.result == NameId::none || uses_[index(l.result)] == 0;
    if (is_tensor_op(l.op)) {
      emit(I::tensor_op, dst, static_cast<int32_t>(site(l, pos)), 0, l.span, l.handover);
    } else if (l.op == prim::call || l.op == prim::call_method || l.op == prim::ad_try_call) {
      const CallSig& sig = f_.calls[l.attr];
      bool method = l.op == prim::call_method;
      I op = sig.simple() ? (method ? I::call_method : I::call) : (method ? I::call_method_full : I::call_full);
      emit(op, dst, static_cast<int32_t>(site(l, pos)), 0, l.span, l.handover);
    } else if (l.op == prim::call_loaded) {
      Operand loaded = operand(pos, f_.args(l), 0, l.nargs);
      emit(f_.calls[l.attr].simple() ? I::call_loaded : I::call_loaded_full, dst, static_cast<int32_t>(site(l, pos, 1)),
           loaded.at, l.span, l.handover, Use::keep, loaded.use);
    } else {
      Lowering low = kLowerings[static_cast<uint16_t>(l.op)];
      const Atom* args = f_.args(l);
      switch (low.form) {
        case Form::plain: {
          Operand a = l.nargs > 0 ? operand(pos, args, 0, l.nargs) : Operand{},
                  b = l.nargs > 1 ? operand(pos, args, 1, l.nargs) : Operand{};
          if (l.op != prim::move || a.at != dst) emit(low.instr, dst, a.at, b.at, l.span, l.handover, a.use, b.use);
          break;
        }
        case Form::sited: {
          Operand a = l.nargs > 0 ? operand(pos, args, 0, l.nargs) : Operand{};
          emit(low.instr, dst, a.at, static_cast<int32_t>(site(l, pos)), l.span, l.handover, a.use);
          break;
        }
        case Form::listed:
          emit(low.instr, dst, static_cast<int32_t>(site(l, pos)), 0, l.span, l.handover);
          break;
        case Form::call:
        case Form::generic:
          emit(I::generic, dst, static_cast<int32_t>(site(l, pos)), 0, l.span, l.handover);
          break;
      }
    }
    if (unused && dst != scratch_ && has_result(l.op) && !f_.names[index(l.result)].hint)
      emit(I::drop, dst, 0, 0, l.span);
  }

  // ---- edges
  bool has_moves(const Target& t) const {
    const Block& to = f_.block(t.block);
    for (uint32_t k = 0; k < t.nargs; ++k) {
      int32_t d = code_->reg_of[index(to.params[k])];
      if (d >= 0 && d != at(f_.args(t)[k])) return true;
    }
    return false;
  }
  bool live_into(BlockId b, NameId n) const {
    const auto& l = live_in_[index(b)];
    return std::find(l.begin(), l.end(), n) != l.end();
  }
  void edge_moves(const Target& t, Span span, int32_t sent = -1) {
    const Block& to = f_.block(t.block);
    std::vector<MoveTo> moves;
    for (uint32_t k = 0; k < t.nargs; ++k) {
      Atom a = f_.args(t)[k];
      int32_t d = code_->reg_of[index(to.params[k])], x = at(a);
      if (d < 0 || d == x) continue;
      Use u = Use::keep;
      if (a.is_name() && !live_into(t.block, a.name())) {
        u = death(a.name());
        for (uint32_t j = 0; j < t.nargs; ++j)
          if (j != k && f_.args(t)[j] == a) u = Use::keep;
      }
      moves.push_back({d, {x, u}});
    }
    if (sent >= 0 && !to.params.empty()) {
      int32_t d = code_->reg_of[index(to.params.back())];
      if (d >= 0) moves.push_back({d, {sent, Use::dies}});
    }
    while (!moves.empty()) {
      bool progress = false;
      for (size_t i = 0; i < moves.size(); ++i) {
        bool blocked = false;
        for (size_t j = 0; j < moves.size(); ++j) blocked |= j != i && moves[j].src.at == moves[i].dst;
        if (blocked) continue;
        emit(moves[i].src.use == Use::dies ? I::take : I::move, moves[i].dst, moves[i].src.at, 0, span, UINT32_MAX,
             moves[i].src.use);
        moves.erase(moves.begin() + static_cast<ptrdiff_t>(i));
        progress = true;
        break;
      }
      if (progress) continue;
      int32_t blocked = moves[0].dst;  // a cycle: put what stands in the way aside
      emit(I::take, extra(scratch_), blocked, 0, span, UINT32_MAX, Use::dies);
      for (MoveTo& m : moves)
        if (m.src.at == blocked) m.src = {scratch_, Use::dies};
    }
  }
  bool back_edge(BlockId, BlockId to) const { return f_.block(to).loop_head && block_done_[index(to)]; }

  // Ctrl-C at a back edge is raised as if it had come a moment later, at the first operation behind the head that does
  // anything: a jump has no handover of its own. The values handed over must be there at the head already.
  uint32_t first_handover(BlockId head) const {
    std::vector<NameId> later;
    for (size_t steps = 0; steps < f_.blocks.size(); ++steps) {
      const Block& b = f_.block(head);
      if (steps) later.insert(later.end(), b.params.begin(), b.params.end());
      for (const Let& l : b.lets) {
        if (l.handover != Let::kNoHandover) return if_known_before(l.handover, later);
        if (op_effects(l.op) & ~(uint32_t{kAlloc} | kReads)) return Let::kNoHandover;
        later.push_back(l.result);
      }
      if (b.term.kind != Terminator::Kind::jump) return if_known_before(b.term.handover, later);
      head = b.term.targets[0].block;
    }
    return Let::kNoHandover;  // goes round and does nothing
  }
  uint32_t if_known_before(uint32_t handover, const std::vector<NameId>& later) const {
    if (handover == Let::kNoHandover) return handover;
    const Handover& h = f_.handovers[handover];
    auto is_later = [&](NameId n) { return std::find(later.begin(), later.end(), n) != later.end(); };
    for (uint32_t k = 0; k < h.nargs; ++k)
      if (Atom a = f_.args(h)[k]; a.is_name() && is_later(a.name())) return Let::kNoHandover;
    for (NameId n : live_in_[index(h.handler)])
      if (is_later(n)) return Let::kNoHandover;
    return handover;
  }

  // Jumps to the target; falls through when it comes next.
  void go(BlockId from, const Target& t, BlockId next, Span span, int32_t sent = -1) {
    edge_moves(t, span, sent);
    if (back_edge(from, t.block)) {
      emit(I::jump_back, 0, 0, 0, span, first_handover(t.block));
      jumps_.push_back({pc() - 1, t.block});
    } else if (t.block != next) {
      emit(I::jump, 0, 0, 0, span);
      jumps_.push_back({pc() - 1, t.block});
    }
  }
  // A place that control reaches when a branch is taken: the block itself, or moves to be emitted late.
  void jump_to(uint32_t instr, BlockId from, const Target& t, Span span) {
    if (!has_moves(t) && !back_edge(from, t.block))
      jumps_.push_back({instr, t.block});
    else
      stubs_.push_back({instr, from, &t, span});
  }

  // if_not_* and for_iter: the instruction jumps for one target, the other follows.
  void two_ways(BlockId from, uint32_t instr, const Target& jump, const Target& fall, BlockId next, Span span) {
    jump_to(instr, from, jump, span);
    go(from, fall, next, span);
  }

  void terminator(BlockId id, BlockId next) {
    const Block& b = f_.block(id);
    const Terminator& t = b.term;
    size_t n = b.lets.size();
    switch (t.kind) {
      case Terminator::Kind::return_:
        emit(I::return_, 0, at(t.a), 0, t.span, t.handover, returned_use(t.a));
        break;
      case Terminator::Kind::jump:
        go(id, t.targets[0], next, t.span);
        break;
      case Terminator::Kind::branch:
        branch(id, next);
        break;
      case Terminator::Kind::switch_: {
        std::vector<int32_t> table;
        uint32_t instr = emit(I::switch_, static_cast<int32_t>(code_->switches.size()), at(t.a), 0, t.span);
        code_->switches.emplace_back(t.targets.size(), 0);
        for (size_t i = 0; i < t.targets.size(); ++i) {
          if (!has_moves(t.targets[i]) && !back_edge(id, t.targets[i].block))
            switch_jumps_.push_back({code_->instrs[instr].dst, i, t.targets[i].block});
          else
            switch_stubs_.push_back({code_->instrs[instr].dst, i, id, &t.targets[i], t.span});
        }
        break;
      }
      case Terminator::Kind::raise:
        if (t.a.is_none())
          emit(I::reraise, 0, 0, 0, t.span, t.handover);
        else if (t.b.is_const() && f_.constant(t.b.constant()).kind == Constant::Kind::unbound)
          emit(I::raise_again, 0, at(t.a), 0, t.span, t.handover);
        else
          emit(I::raise, t.b.is_none() ? 0 : 1, at(t.a), t.b.is_none() ? 0 : at(t.b), t.span, t.handover);
        break;
      case Terminator::Kind::yield:
      case Terminator::Kind::yield_from:
        emit(t.kind == Terminator::Kind::yield ? I::yield : I::yield_from, extra(sent_), at(t.a), 0, t.span, t.handover,
             use_at(n, t.a));
        go(id, t.targets[0], next, t.span, extra(sent_));
        break;
      default:
        emit(I::unreachable, 0, 0, 0, t.span);
        break;
    }
  }
  Use returned_use(Atom a) const { return a.is_name() ? Use::dies : Use::keep; }

  void branch(BlockId id, BlockId next) {
    const Terminator& t = f_.block(id).term;
    uint32_t instr = emit(I::branch_not, 0, at(t.a), 0, t.span);
    two_ways(id, instr, t.targets[1], t.targets[0], next, t.span);
  }

  // The lets at the end of a block that become one instruction with its branch: how many (0: none).
  struct Fusion {
    uint32_t lets = 0;
    I op = I::branch_not;
    Atom a{}, b{};
    uint32_t a_pos = 0;
    bool jump_on_true = false;
    const Let* from = nullptr;
    int32_t dst = 0;
  };
  bool only_use(Atom a, NameId n) const { return a.is_name() && a.name() == n && uses_[index(n)] == 1; }
  Fusion find_fusion(const Block& b) {
    Fusion x;
    size_t n = b.lets.size();
    if (b.term.kind != Terminator::Kind::branch || n == 0) return x;
    const Let& last = b.lets[n - 1];
    if (!only_use(b.term.a, last.result)) return x;
    const Atom* args = f_.args(last);
    auto compare = [&](const Let& c, uint32_t lets) {
      x.lets = lets;
      x.a = f_.args(c)[0];
      x.b = f_.args(c)[1];
      x.from = &c;
      x.a_pos = static_cast<uint32_t>(n - lets);
      if (is_compare(c.op))
        x.op = static_cast<I>(static_cast<uint16_t>(I::if_not_eq) + static_cast<uint16_t>(c.op) -
                              static_cast<uint16_t>(prim::eq));
      else
        x.op = c.op == prim::is ? I::if_not_is : I::if_is;
    };
    if (is_compare(last.op) || last.op == prim::is || last.op == prim::is_not) {
      compare(last, 1);
    } else if (last.op == prim::truth) {
      if (n >= 2 && is_compare(b.lets[n - 2].op) && only_use(args[0], b.lets[n - 2].result) &&
          b.lets[n - 2].handover == last.handover)
        compare(b.lets[n - 2], 2);
      else {
        x.lets = 1;
        x.op = I::if_not_truth;
        x.a = args[0];
        x.a_pos = static_cast<uint32_t>(n - 1);
        x.from = &last;
      }
    } else if (last.op == prim::not_) {
      x.lets = 1;
      x.op = I::if_truth;
      x.a = args[0];
      x.a_pos = static_cast<uint32_t>(n - 1);
      x.from = &last;
    } else if (last.op == prim::is_end && n >= 2 && b.lets[n - 2].op == prim::iter_next && args[0].is_name() &&
               args[0].name() == b.lets[n - 2].result) {
      x.lets = 2;
      x.op = I::for_iter;
      x.from = &b.lets[n - 2];
      x.a = f_.args(*x.from)[0];
      x.a_pos = static_cast<uint32_t>(n - 2);
      x.dst = reg(x.from->result);
    }
    return x;
  }

  void block(BlockId id, BlockId next) {
    block_done_.resize(f_.blocks.size(), false);
    block_done_[index(id)] = true;
    const Block& b = f_.block(id);
    block_pc_[index(id)] = pc();
    find_deaths(b);
    Fusion x = find_fusion(b);
    size_t n = b.lets.size();
    for (int32_t r : drops_[index(id)]) emit(I::drop, r, 0, 0, b.term.span);
    for (size_t i = 0; i + x.lets < n; ++i) {
      let(b.lets[i], i);
    }
    if (!x.lets) return terminator(id, next);
    const Terminator& t = b.term;
    bool two = !x.b.is_none();
    Operand oa = {at(x.a), use_at(x.a_pos, x.a)}, ob = two ? Operand{at(x.b), use_at(x.a_pos, x.b)} : Operand{};
    if (two && x.a == x.b) oa.use = Use::keep;
    if (x.op == I::for_iter) oa.use = Use::keep;
    if (x.op == I::for_iter) {  // ends: jump to targets[0]
      uint32_t instr = emit(x.op, 0, oa.at, x.dst, x.from->span, x.from->handover);
      two_ways(id, instr, t.targets[0], t.targets[1], next, t.span);
    } else {
      uint32_t instr = emit(x.op, 0, oa.at, ob.at, x.from->span, x.from->handover, oa.use, ob.use);
      two_ways(id, instr, t.targets[1], t.targets[0], next, t.span);
    }
  }

  void late_parts() {
    for (size_t i = 0; i < stubs_.size(); ++i) {
      Stub x = stubs_[i];
      code_->instrs[x.instr].dst = static_cast<int32_t>(pc());
      go(x.from, *x.target, BlockId::none, x.span);
    }
    for (size_t i = 0; i < switch_stubs_.size(); ++i) {
      SwitchStub x = switch_stubs_[i];
      code_->switches[static_cast<size_t>(x.table)][x.entry] = static_cast<int32_t>(pc());
      go(x.from, *x.target, BlockId::none, x.span);
    }
  }

  // Operations that do the work of those behind them where they can.
  void join() {
    auto gets = [&](const Instr& in, const Instr& from, uint32_t item, Use use) {
      return in.op == I::tuple_get && in.a == from.dst && in.use_a == static_cast<uint8_t>(use) && in.dst != from.a &&
             code_->sites[static_cast<size_t>(in.b)].attr == item;
    };
    for (size_t i = 0; i + 2 < code_->instrs.size(); ++i) {
      Instr& in = code_->instrs[i];
      if (in.op == I::unpack && in.a >= 0 && code_->sites[static_cast<size_t>(in.b)].attr == 2 &&
          gets(code_->instrs[i + 1], in, 0, Use::keep) && gets(code_->instrs[i + 2], in, 1, Use::dies))
        in.op = I::unpack_two;
      const Instr& next = code_->instrs[i + 1];
      if (in.op == I::slice && next.op == I::item_get && next.b == in.dst && next.a != in.dst &&
          next.use_b == static_cast<uint8_t>(Use::dies))
        in.op = I::slice_get;
    }
  }

  void patch() {
    for (auto& [instr, to] : jumps_) code_->instrs[instr].dst = static_cast<int32_t>(block_pc_[index(to)]);
    for (auto& j : switch_jumps_)
      code_->switches[static_cast<size_t>(j.table)][j.entry] = static_cast<int32_t>(block_pc_[index(j.to)]);
    for (HandoverTo& h : code_->handovers) h.pc = block_pc_[h.pc];
    emit(I::unreachable, 0, 0, 0, {});
  }

  struct Jump {
    uint32_t instr;
    BlockId to;
  };
  struct Stub {
    uint32_t instr;
    BlockId from;
    const Target* target;
    Span span;
  };
  struct SwitchJump {
    int32_t table;
    size_t entry;
    BlockId to;
  };
  struct SwitchStub {
    int32_t table;
    size_t entry;
    BlockId from;
    const Target* target;
    Span span;
  };

  Session& s_;
  const ir::Function& f_;
  std::unique_ptr<Code> code_;
  std::vector<BlockId> order_;
  std::vector<std::vector<NameId>> live_in_;
  std::vector<uint32_t> uses_, block_pc_, handover_map_;
  std::vector<std::vector<NameId>> last_use_;
  std::vector<bool> scratch_live_, block_done_, iterator_;
  std::vector<std::vector<int32_t>> drops_;  // per block: registers to clear where it begins
  std::vector<Jump> jumps_;
  std::vector<Stub> stubs_;
  std::vector<SwitchJump> switch_jumps_;
  std::vector<SwitchStub> switch_stubs_;
  int32_t sent_ = -1, scratch_ = -1;  // registers beside the plan's, where they are needed
};

}  // namespace

std::unique_ptr<Code> flatten(Session& s, const FunctionRef& f) {
  std::unique_ptr<Code> code = Flattener(s, f).run();
  const SourceFile* file = s.sources.file(f->span.file);
  code->of_library = !file || file->name().starts_with("ouro/");
  return code;
}

Value constant_value(Session& s, const ir::Function& f, ConstId id) {
  const Constant& c = f.constant(id);
  using K = Constant::Kind;
  switch (c.kind) {
    case K::none:
      return Value::none();
    case K::true_:
      return Value::boolean(true);
    case K::false_:
      return Value::boolean(false);
    case K::ellipsis:
      return Value::ellipsis();
    case K::not_implemented:
      return Value::not_implemented();
    case K::unbound:
      return Value();
    case K::integer:
      return Value::integer(c.i);
    case K::big_integer: {
      bool negative = !c.text.empty() && c.text[0] == '-';
      std::string_view digits = std::string_view(c.text).substr(negative);
      const bool hexadecimal = digits.starts_with("0x");
      return int_from_digits(s, digits.substr(hexadecimal ? 2 : 0), hexadecimal ? 16 : 10, negative);
    }
    case K::floating:
      return Value::floating(c.f);
    case K::string:
      return c.text.size() <= 64 ? s.str(intern(c.text)) : make_str(c.text);
    case K::bytes:
      return make_bytes(c.text);
    case K::tuple: {
      std::vector<Value> items;
      for (ConstId i : c.items) items.push_back(constant_value(s, f, i));
      return make_tuple(std::span<const Value>(items));
    }
    case K::dtype:
      return s.tensors && s.tensors->make_dtype ? s.tensors->make_dtype(s, c.i) : Value::none();
    case K::zero:
      return Value::zero_cotangent();
    case K::code:
      return Value::none();  // used by `function` directly
  }
  return Value();
}

std::string disassemble(const Code& code) {
  static constexpr const char* kNames[] = {
#define INSTR(n) #n,
#include "runtime/interpreter/instrs.inc"
  };
  std::string out;
  for (size_t i = 0; i < code.instrs.size(); ++i) {
    const Instr& x = code.instrs[i];
    out += std::to_string(i) + ": " + kNames[static_cast<size_t>(x.op)] + " " + std::to_string(x.dst) + " " +
           std::to_string(x.a) + (x.use_a ? "!" : "") + " " + std::to_string(x.b) + (x.use_b ? "!" : "");
    if (code.handover_of[i] != UINT32_MAX) out += " handler " + std::to_string(code.handovers[code.handover_of[i]].pc);
    out += "\n";
  }
  return out;
}

}  // namespace ouro::runtime
