#include "jit/specialise/residual/residual.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "jit/specialise/abstract/value.h"

namespace ouro::jit {

using ir::Atom;
using ir::BlockId;
using ir::Constant;
using ir::NameId;

Residual::Residual() { current_ = new_block(); }

NameId Residual::new_name(const ir::Type* type, Symbol hint) {
  names_.push_back({.type = type, .hint = hint});
  return NameId{static_cast<uint32_t>(names_.size() - 1)};
}
// These stay when what was written is taken back: inputs that were loaded once are loaded.
NameId Residual::entry_param(const ir::Type* type, Symbol hint) {
  NameId n = new_name(type, hint);
  names_.back().input = true;
  blocks_[0].params.push_back(n);
  return n;
}
BlockId Residual::new_block() {
  Facts here = blocks_.empty() ? Facts() : facts();
  blocks_.emplace_back();
  blocks_.back().facts = std::move(here);
  return BlockId{static_cast<uint32_t>(blocks_.size() - 1)};
}
NameId Residual::block_param(BlockId b, const ir::Type* type, Symbol hint) {
  NameId n = new_name(type, hint);
  blocks_[ir::index(b)].params.push_back(n);
  written_.push_back({Written::What::param, b});
  return n;
}
NameId Residual::let(ir::Op op, const std::vector<Atom>& args, uint32_t attr, const ir::Type* type, Span span) {
  if (args.size() > UINT16_MAX)
    throw Abandon{{Reason::internal, "an operation with more than 65535 operands"}, span, true};
  NameId n = new_name(type, {});
  names_.back().turns =
      std::ranges::any_of(args, [&](Atom a) { return a.is_name() && names_[ir::index(a.name())].turns; });
  blocks_[ir::index(current_)].lets.push_back({op, n, args, attr, -1, span, effect_, number_of_call()});
  written_.push_back({Written::What::let, current_});
  ++let_count_;
  return n;
}
void Residual::enter_call(ir::InlinedCalls::Call call) { open_calls_.push_back({std::move(call), std::nullopt}); }

uint32_t Residual::number_of_call() {
  size_t i = open_calls_.size();
  while (i > 0 && !open_calls_[i - 1].number) --i;
  for (; i < open_calls_.size(); ++i) {
    OpenCall& open = open_calls_[i];
    open.call.caller = i > 0 ? *open_calls_[i - 1].number : 0;
    open.number = static_cast<uint32_t>(inlined_.calls.size());
    inlined_.calls.push_back(open.call);
  }
  return open_calls_.empty() ? 0 : *open_calls_.back().number;
}

NameId Residual::let_call(ir::Op op, const std::vector<Atom>& args, ir::CallSig sig, const ir::Type* type, Span span) {
  NameId n = let(op, args, 0, type, span);
  blocks_[ir::index(current_)].lets.back().call = static_cast<int>(calls_.size());
  calls_.push_back(std::move(sig));
  return n;
}
void Residual::end_block(ir::Terminator::Kind kind) {
  auto& b = blocks_[ir::index(current_)];
  if (b.term == ir::Terminator::Kind::none) written_.push_back({Written::What::terminator, current_});
  b.term = kind;
}
void Residual::jump(BlockId to, const std::vector<Atom>& args) {
  end_block(ir::Terminator::Kind::jump);
  auto& b = blocks_[ir::index(current_)];
  b.a = {};
  b.targets = {{to, args}};
}
void Residual::branch(Atom condition, BlockId if_true, BlockId if_false) {
  end_block(ir::Terminator::Kind::branch);
  auto& b = blocks_[ir::index(current_)];
  b.a = condition;
  b.targets = {{if_true, {}}, {if_false, {}}};
}
void Residual::return_(Atom value) {
  end_block(ir::Terminator::Kind::return_);
  auto& b = blocks_[ir::index(current_)];
  b.a = value;
}
void Residual::leave(std::string_view why) {
  Atom reason = string(why);
  end_block(ir::Terminator::Kind::raise);
  auto& b = blocks_[ir::index(current_)];
  b.a = reason;
}
void Residual::assume(Atom condition, bool holds) {
  Facts& f = blocks_[ir::index(current_)].facts;
  f = std::make_shared<const Fact>(condition, holds, f, bit_of(condition) | assumed_conditions());
}
std::optional<bool> Residual::assumed(Atom condition) const {
  if (!(assumed_conditions() & bit_of(condition))) return std::nullopt;
  for (const Fact* f = facts().get(); f; f = f->before.get())
    if (f->condition == condition) return f->holds;
  return std::nullopt;
}
bool Residual::makes_here(NameId n) const {
  return std::ranges::any_of(blocks_[ir::index(current_)].lets, [n](const RLet& l) { return l.result == n; });
}
void Residual::mark_loop_head(BlockId b) { blocks_[ir::index(b)].loop_head = true; }

Atom Residual::constant(Constant c) {
  std::string key(1, static_cast<char>(c.kind));
  key += std::to_string(c.i) + ":" + std::to_string(std::bit_cast<uint64_t>(c.f)) + ":" + c.text;
  for (ir::ConstId i : c.items) key += "," + std::to_string(ir::index(i));
  if (c.code) key += "@" + std::to_string(reinterpret_cast<uintptr_t>(c.code.get()));
  auto [at, fresh] = constant_index_.try_emplace(key, static_cast<uint32_t>(constants_.size()));
  if (fresh) constants_.push_back(std::move(c));
  return ir::ConstId{at->second};
}
Atom Residual::integer(int64_t v) {
  Constant c;
  c.kind = Constant::Kind::integer;
  c.i = v;
  return constant(std::move(c));
}
Atom Residual::floating(double v) {
  Constant c;
  c.kind = Constant::Kind::floating;
  c.f = v;
  return constant(std::move(c));
}
Atom Residual::boolean(bool v) {
  Constant c;
  c.kind = v ? Constant::Kind::true_ : Constant::Kind::false_;
  return constant(std::move(c));
}
Atom Residual::none() { return constant(Constant{}); }
Atom Residual::string(std::string_view s) {
  Constant c;
  c.kind = Constant::Kind::string;
  c.text = s;
  return constant(std::move(c));
}
Atom Residual::dtype(DType t) {
  Constant c;
  c.kind = Constant::Kind::dtype;
  c.i = static_cast<int64_t>(t);
  return constant(std::move(c));
}
Atom Residual::tuple(const std::vector<Atom>& constants) {
  Constant c;
  c.kind = Constant::Kind::tuple;
  for (Atom a : constants) c.items.push_back(a.constant());
  return constant(std::move(c));
}

Residual::Mark Residual::mark() const { return {blocks_.size(), let_count_, written_.size(), current_}; }

void Residual::rollback(const Mark& m) {
  for (; written_.size() > m.written; written_.pop_back()) {
    if (ir::index(written_.back().block) >= m.blocks) continue;
    RBlock& b = blocks_[ir::index(written_.back().block)];
    switch (written_.back().what) {
      case Written::What::let:
        b.lets.pop_back();
        break;
      case Written::What::param:
        b.params.pop_back();
        break;
      case Written::What::terminator:
        b.term = ir::Terminator::Kind::none;
        b.targets.clear();
    }
  }
  blocks_.resize(m.blocks);
  let_count_ = m.lets;
  effect_ = false;
  current_ = m.current;
}

bool Residual::is_left_since(const Mark& m) const {
  return std::any_of(blocks_.begin() + static_cast<ptrdiff_t>(m.blocks), blocks_.end(),
                     [](const RBlock& b) { return b.term == ir::Terminator::Kind::raise; });
}

ir::FunctionRef Residual::finish(Symbol name, Span span) {
  auto f = std::make_shared<ir::Function>();
  f->name = f->qualname = name;
  f->span = span;
  std::vector<NameId> renumber(names_.size(), NameId::none);
  auto define = [&](NameId n) {
    renumber[ir::index(n)] = NameId{static_cast<uint32_t>(f->names.size())};
    f->names.push_back({names_[ir::index(n)].hint, names_[ir::index(n)].type, names_[ir::index(n)].optional});
    return renumber[ir::index(n)];
  };
  for (const RBlock& b : blocks_) {
    for (NameId p : b.params) define(p);
    for (const RLet& l : b.lets) define(l.result);
  }
  auto use = [&](Atom a) {
    if (!a.is_name()) return a;
    auto constant = replaced_.find(ir::index(a.name()));
    return constant != replaced_.end() ? constant->second : Atom(renumber[ir::index(a.name())]);
  };
  auto pool = [&](const std::vector<Atom>& args) {
    uint32_t begin = static_cast<uint32_t>(f->atoms.size());
    for (Atom a : args) f->atoms.push_back(use(a));
    return begin;
  };
  for (const RBlock& b : blocks_) {
    ir::Block out;
    out.loop_head = b.loop_head;
    for (NameId p : b.params) out.params.push_back(renumber[ir::index(p)]);
    for (const RLet& l : b.lets) {
      ir::Let let;
      let.op = l.op;
      let.result = renumber[ir::index(l.result)];
      let.args_begin = pool(l.args);
      let.nargs = static_cast<uint32_t>(l.args.size());
      let.attr = l.call >= 0 ? static_cast<uint32_t>(l.call) : ir::is_tensor_op(l.op) ? ir::kNoAttr : l.attr;
      let.span = l.span;
      let.effect = l.effect;
      let.inlined = l.inlined;
      out.lets.push_back(let);
    }
    out.term.kind = b.term == ir::Terminator::Kind::none ? ir::Terminator::Kind::unreachable : b.term;
    if (!b.a.is_none()) out.term.a = use(b.a);
    for (const RTarget& t : b.targets)
      out.term.targets.push_back({t.block, pool(t.args), static_cast<uint32_t>(t.args.size())});
    f->blocks.push_back(std::move(out));
  }
  f->sig.positional = static_cast<uint32_t>(blocks_[0].params.size());
  for (size_t i = 0; i < blocks_[0].params.size(); ++i) f->sig.names.push_back(intern("x" + std::to_string(i)));
  f->constants = constants_;
  f->calls = calls_;
  f->inlined = std::make_shared<const ir::InlinedCalls>(inlined_);
  return f;
}

}  // namespace ouro::jit
