#include "ir/opt/edit.h"

#include "ir/effect.h"
#include "ir/ops/registry.h"
#include "ir/prim.h"
#include "ir/type.h"
#include "ir/walk.h"

namespace ouro::ir::opt {

Edit::Edit(const FunctionRef& source) : source_(source), f_(*source), becomes_(f_.names.size()) {
  for (uint32_t n = 0; n < f_.names.size(); ++n) becomes_[n] = Atom(NameId{n});
  for (const Block& b : f_.blocks) removed_.emplace_back(b.lets.size(), false);
}

Atom Edit::resolve(Atom a) const {
  while (a.is_name() && !(becomes_[index(a.name())] == a)) a = becomes_[index(a.name())];
  return a;
}

void Edit::replace(NameId name, Atom by) {
  becomes_[index(name)] = resolve(by);
  changed_ = true;
}

void Edit::remove(BlockId block, uint32_t let) {
  removed_[index(block)][let] = true;
  changed_ = true;
}

void Edit::rewrite(BlockId block, uint32_t let, Op op, std::span<const Atom> args, uint32_t attr) {
  Let& l = f_.blocks[index(block)].lets[let];
  l.op = op;
  l.attr = attr;
  l.args_begin = static_cast<uint32_t>(f_.atoms.size());
  l.nargs = static_cast<uint32_t>(args.size());
  f_.atoms.insert(f_.atoms.end(), args.begin(), args.end());
  changed_ = true;
}

Atom Edit::constant(Constant c) {
  f_.constants.push_back(std::move(c));
  return Atom(ConstId{static_cast<uint32_t>(f_.constants.size() - 1)});
}

Atom Edit::insert(BlockId block, uint32_t before, Op op, std::span<const Atom> args, const Type* type) {
  Let l;
  l.op = op;
  l.attr = is_tensor_op(op) ? kNoAttr : 0;
  l.span = source_->block(block).lets[before].span;
  return insert(block, before, l, args, {{}, type});
}

Atom Edit::insert_copy(BlockId block, uint32_t before, const Let& of, std::span<const Atom> args) {
  return insert(block, before, of, args, source_->name_info(of.result));
}

Atom Edit::insert(BlockId block, uint32_t before, Let l, std::span<const Atom> args, NameInfo info) {
  f_.names.push_back(info);
  const NameId result{static_cast<uint32_t>(f_.names.size() - 1)};
  becomes_.push_back(Atom(result));
  l.result = result;
  l.args_begin = static_cast<uint32_t>(f_.atoms.size());
  l.nargs = static_cast<uint32_t>(args.size());
  f_.atoms.insert(f_.atoms.end(), args.begin(), args.end());
  inserted_[{index(block), before}].push_back(l);
  changed_ = true;
  return result;
}

// Blocks that nothing reaches any more go (V3); the others keep their order.
static void drop_unreachable(Function& f) {
  std::vector<BlockId> reached = reverse_postorder(f);
  if (reached.size() == f.blocks.size()) return;
  std::vector<bool> keep(f.blocks.size(), false);
  for (BlockId b : reached) keep[index(b)] = true;
  std::vector<BlockId> now(f.blocks.size(), BlockId::none);
  std::vector<Block> blocks;
  for (uint32_t b = 0; b < f.blocks.size(); ++b) {
    if (!keep[b]) continue;
    now[b] = BlockId{static_cast<uint32_t>(blocks.size())};
    blocks.push_back(std::move(f.blocks[b]));
  }
  for (Block& b : blocks)
    for (Target& t : b.term.targets) t.block = now[index(t.block)];
  for (Handover& h : f.handovers) h.handler = now[index(h.handler)];
  f.blocks = std::move(blocks);
}

FunctionRef Edit::finish() {
  if (!changed_) return source_;
  for (Atom& a : f_.atoms)
    if (!a.is_none()) a = resolve(a);
  for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
    Block& block = f_.blocks[b];
    if (!block.term.a.is_none()) block.term.a = resolve(block.term.a);
    if (!block.term.b.is_none()) block.term.b = resolve(block.term.b);
    std::vector<Let> kept;
    for (uint32_t i = 0; i < block.lets.size(); ++i) {
      if (auto added = inserted_.find({b, i}); added != inserted_.end())
        kept.insert(kept.end(), added->second.begin(), added->second.end());
      if (i >= removed_[b].size() || !removed_[b][i]) kept.push_back(block.lets[i]);
    }
    block.lets = std::move(kept);
  }
  drop_unreachable(f_);
  return std::make_shared<const Function>(std::move(f_));
}

namespace {

bool number(const Function& f, Atom a, bool& is_float) {
  if (a.is_const()) {
    auto k = f.constant(a.constant()).kind;
    is_float = k == Constant::Kind::floating;
    return is_float || k == Constant::Kind::integer || k == Constant::Kind::true_ || k == Constant::Kind::false_;
  }
  if (!a.is_name()) return false;
  const Type* t = f.name_info(a.name()).type;
  if (!t) return false;
  is_float = t->kind == TypeKind::floating;
  return is_float || t->kind == TypeKind::integer || t->kind == TypeKind::boolean;
}

// Arithmetic on numbers that gives a number without raising.
bool is_safe_arithmetic(const Function& f, const Let& l) {
  bool any_float = false;
  for (uint32_t i = 0; i < l.nargs; ++i) {
    bool fl = false;
    if (!number(f, f.args(l)[i], fl)) return false;
    any_float = any_float || fl;
  }
  (void)any_float;
  if (l.op == prim::truediv && l.nargs == 2) {  // a float by a number that is not 0
    bool is_real = false;
    const Atom by = f.args(l)[1];
    if (!number(f, f.args(l)[0], is_real) || !is_real || !by.is_const()) return false;
    const Constant& c = f.constant(by.constant());
    return c.kind == Constant::Kind::floating ? c.f != 0 : c.kind == Constant::Kind::integer && c.i != 0;
  }
  return (l.op >= prim::neg && l.op <= prim::not_) || l.op == prim::add || l.op == prim::sub || l.op == prim::mul ||
         (l.op >= prim::eq && l.op <= prim::ge) || l.op == prim::truth;
}

// Rows whose elements decide whether they raise.
bool looks_at_values(const OpInfo& op) {
  LoopKind k = op.def->loop.kind;
  return k == LoopKind::gather || k == LoopKind::scatter || op.def->integer_zero_raises || !op.def->symbol.empty();
}
constexpr std::string_view kPlainSymbols[] = {"cast",       "cast_like", "zeros",       "ones", "full",
                                              "zeros_like", "ones_like", "full_like",   "eye",  "arange",
                                              "linspace",   "argsort",   "searchsorted"};

}  // namespace

bool is_pure(const Function& f, const Let& l) {
  if (l.handover != Let::kNoHandover) return false;
  if (!is_tensor_op(l.op)) return l.op == prim::move || l.op == prim::tuple_get || is_safe_arithmetic(f, l);
  if (!f.name_info(l.result).type) return false;
  const OpInfo& op = op_info(l.op);
  if (op.def->effect != OpEffect::none) return false;
  if (!looks_at_values(op)) return true;
  for (std::string_view s : kPlainSymbols)
    if (op.def->symbol == s) return true;
  return false;
}

bool is_droppable(const Function& f, const Let& l) {
  if (is_pure(f, l)) return true;
  if (is_tensor_op(l.op) || l.handover != Let::kNoHandover) return false;
  return l.op == prim::tuple || l.op == prim::list || l.op == prim::slice || l.op == prim::cell_new ||
         deletable(effects_of(f, l));
}

}  // namespace ouro::ir::opt
